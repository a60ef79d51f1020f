"""Rows of numbers in text: comma, tab, semicolon or blanks between them, plain or compressed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from graphzero import _core
from graphzero._base.argument_errors import Setting, error_of, value_error
from graphzero._base.dtypes import DataType, numpy_dtype
from graphzero._core import FormatError
from graphzero._files.mounted import path_bytes
from graphzero._files.storage import StoredPath, size_of
from graphzero.convert.label_lookup import LabelLookup
from graphzero.convert.row_sources.blocks import Block, Columns, column_positions, id_position, refuse_ids_as_features
from graphzero.convert.text import (
    BadLine,
    FirstBytes,
    check_delimiter,
    check_text_options,
    compression_of,
    count_newlines,
    first_data,
    is_missing,
    line_blocks,
    line_ranges,
    open_text,
    refuse_doubtful_header,
)
from graphzero.ids import KINDS

_SNIFFED = 1 << 20
_SHOWN = 80
# Parts of a block per thread: enough to balance them.
_PARTS = 4


class TextFeatures:
    """A text file whose lines are rows; blank lines and comments (``#``, ``%``) are none.

    ``parse_as`` is the type numbers are rounded to, once, while they are parsed. ``part`` is one of ``ranges()``: its
    lines and rows have the numbers of the file only if it ``counts_before``, which reads what is before it.
    """

    bfloat16 = False
    num_rows: int | None = None

    def __init__(
        self,
        path: str,
        *,
        parse_as: DataType,
        columns: Columns,
        id_column: str | int | None,
        lookup: LabelLookup | None,
        header: bool | None,
        delimiter: str | None,
        skip_bad_lines: bool,
        threads: int | None,
        part: tuple[int, int] | None = None,
        counts_before: bool = False,
    ) -> None:
        check_delimiter(delimiter)
        check_text_options(header, None)
        self.name = path
        # Of a compressed file the size says little about how much is left.
        self.nbytes: int | None = None if compression_of(path) else size_of(path)
        self.dtype = numpy_dtype(parse_as)
        self._threads = threads
        form = self._sniff(header, delimiter)
        names, count = list(form.header), form.num_columns
        # A row whose values are missing is no header.
        if header is None and names and (not any(names) or any(map(is_missing, filter(None, names)))):
            refuse_doubtful_header(path, ", ".join(names))
        if names and len(names) != count:
            raise FormatError(
                f"{path}: line {self._lines_before + 1}: expected {len(names)} fields as in the header, found {count}"
            )
        if form.first_field(0).strip().isdigit():
            refuse_ids_as_features(names, columns, id_column, path)
        place = None if id_column is None else id_position(id_column, names, count, path)
        if columns is None:
            chosen = [i for i in range(count) if i != place]
        else:
            chosen = column_positions(columns, names, count, path)
        if place in chosen:
            raise value_error("columns", f"expected features only, found the id column {id_column!r}", where=path)
        self.row_shape: tuple[int, ...] = () if isinstance(columns, (str, int)) else (len(chosen),)
        self._has_header = bool(names)
        self._options = _core.FeatureTextOptions()
        self._options.name = path_bytes(path)
        self._options.delimiter = form.delimiter
        self._options.num_columns = count
        self._options.columns = chosen
        self._options.id_column = place
        self._options.id_labels = None if lookup is None else KINDS[lookup.kind]
        self._options.dtype = parse_as
        self._options.skip_bad_lines = skip_bad_lines
        self._part = part
        self.first_row = self.first_line = 0
        if part is not None and counts_before:
            self._count_before(part[0])

    def _count_before(self, begin: int) -> None:
        with open(self.name, "rb") as file:
            self.first_line = count_newlines(file, self._begin, begin)
        own, self._part = self._part, (self._begin, begin)
        with contextlib.suppress(FormatError):  # which is raised where it belongs
            self.first_row = sum(len(block.rows) for block in self.blocks(_SNIFFED))
        self._part = own

    def ranges(self, count: int) -> list[tuple[int, int]] | None:
        """Cut plain text of a disk between lines."""
        if self.nbytes is None or isinstance(self.name, StoredPath):
            return None
        return list(line_ranges(self.name, self._begin, -(-(self.nbytes - self._begin) // count)))

    def _sniff(self, header: bool | None, delimiter: str | None) -> _core.TextFormat:
        with open_text(self.name) as stream:
            form, _, before = first_data(
                line_blocks(stream, self.name, _SNIFFED),
                lambda text, lines: _core.sniff_block(
                    path_bytes(self.name), text, delimiter, header, lines_before=lines
                ),
            )
        if not form.num_columns:
            raise FormatError(f"{self.name}: expected lines of numbers, found none")
        self._begin, self._lines_before = before + form.data_begin, form.lines_before_data
        return form

    def row_name(self, line: int) -> str:
        """Return the number of the line."""
        return f"line {line}"

    def excerpts(self, lines: Iterable[int]) -> dict[int, str]:
        """Read the file up to the last of them: slow, for errors."""
        wanted = sorted(set(lines), reverse=True)
        found: dict[int, str] = {}
        if not wanted:
            return found
        before = 0
        with open_text(self.name) as stream:
            for block in line_blocks(stream, self.name, _SNIFFED):
                count = block.count(b"\n") + (not block.endswith(b"\n"))
                if wanted[-1] <= before + count:
                    texts = block.split(b"\n")
                    while wanted and wanted[-1] <= before + count:
                        shown = texts[wanted[-1] - before - 1].decode("utf-8", "replace").rstrip("\r")
                        found[wanted.pop()] = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
                before += count
                if not wanted:
                    break
        return found

    def blocks(self, block_bytes: int) -> Iterator[Block]:
        """Parse the file block by block while the next one is read."""
        lines, done = self._lines_before + self.first_line, self._begin
        pieces = self._threads or _PARTS * _core.num_threads()
        with open_text(self.name) as stream:
            source: Any = stream
            if self.nbytes is None:
                skip = self._begin
                while skip and (skipped := stream.read(skip)):
                    skip -= len(skipped)
            elif self._part is not None:
                stream.seek(self._part[0])
                source = FirstBytes(stream, self._part[1] - self._part[0])
            else:
                stream.seek(self._begin)
            for text in line_blocks(source, self.name, block_bytes):
                done += len(text)
                try:
                    parsed = _core.parse_features(np.frombuffer(text, np.uint8), lines, pieces, self._options)
                except FormatError as error:
                    raise self._with_hint(error, lines) from None
                lines += parsed.num_lines
                yield from self._rows_of(parsed, done)

    def _rows_of(self, parsed: _core.FeatureText, done: int) -> Iterator[Block]:
        bad, num_bad = [BadLine(*line) for line in parsed.bad], parsed.num_bad
        has_ids, kind = self._options.id_column is not None, self._options.id_labels
        width = len(self._options.columns) * self.dtype.itemsize
        for items, ids, texts, lines, count in parsed.take_pieces():
            rows = items.reshape(count, width).view(self.dtype) if width else np.empty((count, 0), self.dtype)
            shaped = rows.reshape(count, *self.row_shape)
            block = Block(shaped, done, None, lines if has_ids else None, num_bad, bad)
            if kind is not None:
                block.labels = texts if kind is _core.LabelKind.STRING else ids
            elif has_ids:
                block.ids = ids
            yield block
            bad, num_bad = [], 0

    def _with_hint(self, error: FormatError, lines: int) -> FormatError:
        first = f": line {self._lines_before + 1}: "
        if self._has_header or lines != self._lines_before or first not in str(error):
            return error
        return error_of(FormatError, f"{error} (if this line names the columns, pass ", Setting("header", True), ")")

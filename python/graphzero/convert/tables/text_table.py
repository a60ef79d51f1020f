"""Tables in text files: comma, tab or otherwise separated, plain or compressed. Needs pyarrow."""

from __future__ import annotations

import codecs
import csv
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Any

from graphzero import _core
from graphzero._base.argument_errors import type_error, value_error
from graphzero._core import FormatError
from graphzero._files.storage import StoredPath
from graphzero.convert.arrow_files import pyarrow
from graphzero.convert.tables.arrow_types import compute
from graphzero.convert.tables.table import Part
from graphzero.convert.text import check_delimiter, compression_of, open_text

# What is not part of a value where it stands around one, as in the texts that the core parses.
_BLANKS = " \t\r"
# Bytes that are looked at to find the delimiter, and that are parsed at a time at least.
_FIRST_BYTES = 1 << 16
_LEAST_BLOCK = 1 << 20


@dataclass(frozen=True)
class TextForm:
    """What the user said about a text. Without a header, columns are called ``0``, ``1`` and so on."""

    delimiter: str | None = None
    header: bool = True
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        check_delimiter(self.delimiter)
        if not isinstance(self.header, bool):
            raise type_error("header", f"expected true or false, found {self.header!r}")
        try:
            codecs.lookup(self.encoding)
        except (LookupError, TypeError):
            raise value_error("encoding", f"expected one such as utf-8 or latin-1, found {self.encoding!r}") from None


def text_part(path: str, form: TextForm, block: int) -> tuple[Part, list[str]]:
    """Return a text file as a part of a table, and the names of its columns. All columns are text.

    ``block`` is how many bytes are parsed at a time.
    """
    with open_text(path) as stream:
        first = stream.read(_FIRST_BYTES)
    if not first.strip():
        raise FormatError(f"{path}: expected a line with the names of the columns, found an empty file")
    text = _TextFile(path, form, form.delimiter or _guessed_delimiter(path, first), max(block, _LEAST_BLOCK))
    names = text.names()
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise FormatError(f"{path}: expected names of columns that differ, found {repeated[0]!r} twice")
    return Part(path, None, text.read, text.line_of), names


def _guessed_delimiter(path: str, first: bytes) -> str:
    if path.lower().split(".")[-1] == "tsv" or ".tsv." in os.path.basename(path).lower():
        return "\t"
    header = first.lstrip().split(b"\n", 1)[0] + b"\n"  # fields of later lines may hold line breaks
    delimiter = _core.sniff_block(os.fsencode(path), header + header, None, True, "").delimiter
    return "," if delimiter.isspace() and delimiter != "\t" else delimiter


def _without_blanks(batch: Any) -> Any:
    trim = compute().ascii_trim
    columns = [trim(column, characters=_BLANKS) for column in batch.columns]
    return pyarrow().RecordBatch.from_arrays(columns, schema=batch.schema)


@dataclass(frozen=True)
class _TextFile:
    path: str
    form: TextForm
    delimiter: str
    block: int

    def names(self) -> list[str]:
        with self._opened() as text, ExitStack() as stack:
            stack.callback(csv.field_size_limit, csv.field_size_limit(1 << 30))
            first = next(csv.reader(text, delimiter=self.delimiter), [])
        return [name.strip() for name in first] if self.form.header else [str(i) for i in range(len(first))]

    def read(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield blocks of rows, without blanks around values; how many rows a block has is up to the parser."""
        arrow = pyarrow()
        csv_module = pyarrow("pyarrow.csv")
        names = self.names()
        try:
            with self._stream() as stream:
                reader = csv_module.open_csv(
                    stream,
                    csv_module.ReadOptions(
                        block_size=self.block,
                        column_names=names,
                        skip_rows=1 if self.form.header else 0,
                        encoding=self.form.encoding,
                    ),
                    # Quoted fields of real tables hold line breaks.
                    csv_module.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                    csv_module.ConvertOptions(
                        column_types=dict.fromkeys(columns, arrow.string()),
                        include_columns=list(columns),
                        strings_can_be_null=False,
                    ),
                )
                for batch in reader:
                    yield _without_blanks(batch)
        except arrow.ArrowInvalid as error:
            if "Empty CSV" in str(error):  # nothing behind the header
                return
            hint = "; give its encoding, such as 'latin-1'" if "UTF8" in str(error) else ""
            if "straddl" in str(error):
                hint = "; give more memory, for a row that is so long"
            form = f"{len(names)} fields in {self.form.encoding}, separated by {self.delimiter!r}"
            raise FormatError(f"{self.path}: expected rows of {form}, found: {error}{hint}") from None
        except (LookupError, UnicodeError) as error:
            raise value_error("encoding", f"expected that of the text, found: {error}", where=self.path) from None

    def line_of(self, row: int) -> int:
        """Return the line that a row begins in: quoted fields may hold line breaks, and empty lines are no rows."""
        with self._opened() as text, ExitStack() as stack:
            reader = csv.reader(text, delimiter=self.delimiter)
            stack.callback(csv.field_size_limit, csv.field_size_limit(1 << 30))
            left = row + (1 if self.form.header else 0)
            begin = 1
            for fields in reader:
                if fields:
                    if left == 0:
                        return begin
                    left -= 1
                begin = reader.line_num + 1
        return begin

    def _stream(self) -> Any:
        plain = not isinstance(self.path, StoredPath) and compression_of(self.path) is None
        if plain and self.form.encoding.lower().replace("-", "") in ("utf8", "ascii"):
            return pyarrow().OSFile(self.path)
        return open_text(self.path)

    def _opened(self) -> IO[str]:
        encoding = "utf-8-sig" if self.form.encoding.lower() in ("utf-8", "utf8") else self.form.encoding
        return io.TextIOWrapper(open_text(self.path), encoding=encoding, errors="replace", newline="")

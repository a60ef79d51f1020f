"""Rows of a source, converted to their stored type and written: in their order, or each to the place it says."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.argument_errors import value_error
from graphzero._base.dtypes import DataType, name_of, numpy_dtype
from graphzero._base.integers import integer
from graphzero._base.memory_sizes import byte_text
from graphzero._core import FormatError
from graphzero._files.folder import check_free_space, free_space
from graphzero._files.mounted import path_bytes
from graphzero._files.progress import Report
from graphzero._files.storage import size_of
from graphzero.convert.feature_report import FeatureReport
from graphzero.convert.label_lookup import LabelLookup
from graphzero.convert.row_sources.blocks import Block, FeatureSource
from graphzero.convert.row_sources.sources import FileFeatures
from graphzero.convert.row_sources.text import TextFeatures
from graphzero.convert.row_sources.values import ValueConverter
from graphzero.convert.row_writer import RowWriter
from graphzero.convert.text import BadLine

QUANTISED = "int8-quantised"

_KEPT_BAD_LINES = 100


@dataclass
class RowConversion:
    """A source on its way to a file. ``is_part``: it is one of several, so that its rows need not be all."""

    source: FeatureSource
    path: str
    stored: DataType
    quantised: bool
    num_rows: int | None
    by_id: bool
    shape: tuple[int, ...] | None
    memory: int
    skip_bad_lines: bool = False
    lookup: LabelLookup | None = None
    ordered: bool = False
    is_part: bool = False
    bad: list[BadLine] = field(default_factory=list)
    num_bad: int = 0
    absent: int = 0
    peak: int = 0
    done: int = 0
    sampled: float = 0.0

    def __post_init__(self) -> None:
        self.row_shape = self._row_shape()
        self.row_bytes = numpy_dtype(self.stored).itemsize * math.prod(self.row_shape)
        source = self.source
        # NumPy has no bfloat16: uint16 that is to be stored as bfloat16 holds its bits.
        bits = source.bfloat16 or (self.stored is DataType.BFLOAT16 and source.dtype == np.uint16)
        self.values = ValueConverter(
            source.name, source.dtype, bfloat16=bits, stored=self.stored, quantised=self.quantised
        )
        if not self.by_id:
            self._check_rows(self.source.num_rows)

    @property
    def stored_name(self) -> str:
        """What users call the stored type."""
        return QUANTISED if self.quantised else name_of(self.stored)

    def _row_shape(self) -> tuple[int, ...]:
        own = tuple(self.source.row_shape)
        if self.shape is None:
            return own
        given = tuple(integer(extent, "shape") for extent in self.shape)
        if not given or min(given[1:], default=0) < 0 or given[0] < -1 or np.prod(given[1:]) != np.prod(own):
            raise value_error(
                "shape", f"expected rows (or -1), then extents of {int(np.prod(own))} items in all, found {given}"
            )
        if given[0] >= 0:
            if self.num_rows not in (None, given[0]):
                raise value_error("num_rows", f"expected {given[0]} as in shape, found {self.num_rows}")
            self.num_rows = given[0]
        return given[1:]

    def _check_rows(self, found: int | None) -> None:
        if not self.is_part and self.num_rows is not None and found is not None and found != self.num_rows:
            raise FormatError(f"{self.source.name}: expected {self.num_rows} rows, found {found}")

    def run(self, path: str, report: Report) -> None:
        """Write the rows to ``path``, which appears whole or not at all."""
        if self.by_id:
            self._place(path, report)
        else:
            known = self.source.num_rows or 0
            with RowWriter(path, self.stored, self.row_shape, quantised=self.quantised, num_rows=known) as out:
                place = self.source.bytes_at if isinstance(self.source, FileFeatures) else None
                if place is not None and self.values.is_copy:
                    self._copy(out, place, report)
                else:
                    self._append(out, report)
                self.rows = out.num_rows
        report(self.done, self.source.nbytes or self.done)

    def _append(self, out: RowWriter, report: Report) -> None:
        for block in self._blocks(report):
            named = partial(_row_after, self.source.first_row + out.num_rows)
            rows, scales = self.values.convert(block.rows, named)
            out.append(rows, scales)
        self._check_rows(out.num_rows)
        out.finish()

    def _copy(self, out: RowWriter, place: tuple[str, int], report: Report) -> None:
        path, offset = place
        total = self.source.nbytes or 0
        at_once = max(1, (64 << 20) // max(1, self.row_bytes)) * max(1, self.row_bytes)
        while self.done < total:
            part = min(at_once, total - self.done)
            out.append_from(path, offset + self.done, part)
            self.done += part
            self._tell(report)
        if not self.row_bytes:
            out.num_rows = self.source.num_rows or 0
        out.finish()

    def _place(self, path: str, report: Report) -> None:
        check_free_space(path, (self.num_rows or 0) * self.row_bytes)
        limit = self._id_limit(path)
        placer = _core.RowPlacer(path_bytes(path), self.stored, self.row_shape, self.quantised, self.memory // 2)
        try:
            for ids, lines, items, scales in self.placed(report):
                placer.add(ids, lines, items, scales, limit)
                self.note_refused(placer.take_refused())
            placer.close(self.num_rows or 0)
            while placer.write_range():
                self.note_refused(placer.take_refused())
                self._tell(report)
            placer.finish()
            self.rows = placer.num_rows
            self.absent = placer.num_rows - placer.num_given
        finally:
            del placer  # which removes what is not finished

    def placed(
        self, report: Report
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8], NDArray[np.float32] | None]]:
        """Yield blocks of rows that say their own places: ids, lines, bytes, and scales of quantised rows."""
        for block in self._blocks(report):
            if block.ids is not None and block.lines is not None:
                rows, scales = self.values.convert(block.rows, partial(self._row_at, block.lines))
                yield block.ids, block.lines, rows.reshape(-1).view(np.uint8), scales

    def _row_at(self, lines: NDArray[np.int64], at: int) -> str:
        return self.source.row_name(int(lines[at]))

    def _id_limit(self, path: str) -> int:
        """Return the number of rows the file may have: as expected, or as there is room for on the disk.

        Asked once, before anything is written: what this conversion takes meanwhile makes no id wrong.
        """
        if self.num_rows is not None:
            return self.num_rows
        return free_space(path) // max(1, self.row_bytes)

    def note_refused(self, refused: _core.RefusedRows) -> None:
        """Refuse rows that the core has left out, or count them."""
        for row in refused.first:
            self.refuse_row(row.line, row.id, is_second=row.is_second)
        self.num_bad += refused.count - len(refused.first)

    def refuse_row(self, line: int, id: int, *, is_second: bool) -> None:
        """Refuse a row whose id had one before, or is out of bounds; or count it."""
        self._refuse_line(line, self._refusal(id, is_second=is_second))

    def _refusal(self, id: int, *, is_second: bool) -> str:
        if is_second:
            name = f"id {id}" if self.lookup is None else f"label {self.lookup.label(id)!r}"
            return f"{name} was there before"
        if self.num_rows == 0:
            return f"expected no rows, found id {id}"
        if self.num_rows is not None or id < 0:
            return f"expected an id from 0 to {(self.num_rows or 2**59) - 1}, found {id}"
        needed = byte_text((id + 1) * self.row_bytes)
        return f"expected ids for which there is room on the disk, found {id}, which makes a file of {needed}"

    def _blocks(self, report: Report) -> Iterator[Block]:
        for block in self.source.blocks(self._block_bytes()):
            self.done = block.done
            self.num_bad += block.num_bad
            self.bad += block.bad[: _KEPT_BAD_LINES - len(self.bad)]
            yield block if self.lookup is None else self._numbered(block, self.lookup)
            self._tell(report)

    def _numbered(self, block: Block, lookup: LabelLookup) -> Block:
        """Turn the labels of rows into ids, and leave out rows whose label is unknown."""
        if block.labels is None or block.lines is None:
            return block
        ids = lookup.find(block.labels, self.source.name)
        known = ids >= 0
        if known.all():
            return replace(block, ids=ids)
        unknown = np.flatnonzero(~known)
        for at in unknown[:_KEPT_BAD_LINES]:
            self._refuse_line(int(block.lines[at]), lookup.missing(block.labels, at))
        self.num_bad += max(0, len(unknown) - _KEPT_BAD_LINES)
        return replace(block, rows=block.rows[known], ids=ids[known], lines=block.lines[known])

    def _block_bytes(self) -> int:
        # Text may grow fourfold when it is parsed; two blocks of it are there at a time.
        return min(max(self.memory // 24, 1 << 18), 16 << 20)

    def _tell(self, report: Report) -> None:
        now = time.perf_counter()
        if now - self.sampled > 0.1:
            self.sampled = now
            self.peak = max(self.peak, _core.memory_facts().anonymous_rss)
        report(self.done, self.source.nbytes)

    def _refuse_line(self, line: int, reason: str) -> None:
        if not self.skip_bad_lines:
            text = self.source.excerpts([line]).get(line)
            where = f"{self.source.name}: {self.source.row_name(line)}: {reason}"
            raise FormatError(where if text is None else f"{where}: {text}")
        self.num_bad += 1
        if len(self.bad) < _KEPT_BAD_LINES:
            self.bad.append(BadLine(line, "", reason))

    def _bad_lines(self) -> Iterator[BadLine]:
        """Yield the first bad lines, with the texts of those that were found only later."""
        texts = self.source.excerpts(bad.line for bad in self.bad if not bad.text)
        for bad in sorted(self.bad, key=lambda bad: bad.line):
            yield replace(bad, text=texts.get(bad.line, bad.text))

    def report(self, begin: float) -> FeatureReport:
        """Say what was done since ``begin``."""
        self.peak = max(self.peak, _core.memory_facts().anonymous_rss)
        return self._report(self.rows, os.stat(self.path).st_size, time.perf_counter() - begin, dry_run=False)

    def estimate(self, begin: float) -> FeatureReport:
        """Say what is likely, without writing anything."""
        rows = self.num_rows if self.source.num_rows is None else self.source.num_rows
        if rows is None:
            rows = self._estimated_rows()
        count = rows or 0
        size = _whole_pages(4096 + count * self.row_bytes) + (_whole_pages(4 * count) if self.quantised else 0)
        if self.ordered:
            size += _whole_pages((4 if count <= 2**31 else 8) * count)
        return self._report(count, size, time.perf_counter() - begin, dry_run=True)

    def _estimated_rows(self) -> int:
        """Count the rows of the first megabyte, and take the rest for the same."""
        seen, largest, done = 0, 0, None
        for block in self.source.blocks(1 << 20):
            if done not in (None, block.done):
                break
            done = block.done
            seen += len(block.rows)
            if block.ids is not None:
                largest = max(largest, int(block.ids.max(initial=-1)) + 1)
        total = self.source.nbytes or done or 0
        return max(largest, round(seen * total / max(1, done or 0)))

    def bytes_in(self, dry_run: bool) -> int | None:
        """Return the size of the source, if it is known."""
        if self.source.nbytes is not None:
            return self.source.nbytes
        if isinstance(self.source, TextFeatures):
            return size_of(self.source.name)
        return None if dry_run else self.done

    def _report(self, rows: int, bytes_out: int, seconds: float, *, dry_run: bool) -> FeatureReport:
        low, high = self.values.range or (None, None)
        return FeatureReport(
            source=self.source.name,
            path=self.path,
            shape=(rows, *self.row_shape),
            dtype=self.stored_name,
            bytes_in=self.bytes_in(dry_run),
            bytes_out=bytes_out,
            absent_rows=self.absent,
            num_bad_lines=self.num_bad,
            first_bad_lines=tuple(self._bad_lines()),
            minimum=low,
            maximum=high,
            loss=None if dry_run else self.values.loss,
            seconds=seconds,
            peak_memory=self.peak,
            dry_run=dry_run,
        )


def _row_after(start: int, at: int) -> str:
    return f"row {start + at}"


def _whole_pages(size: int) -> int:
    return -(-size // 4096) * 4096

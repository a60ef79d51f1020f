"""Converting feature tables of any format and any size to ``.gd`` files, in bounded memory."""

from __future__ import annotations

import errno
import math
import os
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from graphzero import _core
from graphzero._base.argument_errors import Argument, Setting, error_of, type_error, value_error
from graphzero._base.dtypes import DataType, as_data_type, name_of, numpy_dtype
from graphzero._base.integers import integer
from graphzero._base.memory_sizes import byte_text, conversion_budget
from graphzero._base.old_names import renamed_fields
from graphzero._base.visible import visible
from graphzero._core import FormatError
from graphzero._files.folder import check_free_space, free_space, hidden_folder, new_file
from graphzero._files.mounted import path_bytes
from graphzero._files.progress import Progress, Report, watching
from graphzero._files.storage import StoredPath, refuse_url_target, size_of
from graphzero._look.reports import ShownReport
from graphzero.convert.label_lookup import LabelLookup
from graphzero.convert.row_sources.blocks import Block, Columns, FeatureSource
from graphzero.convert.row_sources.sources import FileFeatures, feature_source
from graphzero.convert.row_sources.text import TextFeatures
from graphzero.convert.row_sources.values import Loss, ValueConverter
from graphzero.convert.row_writer import RowWriter
from graphzero.convert.stored import one_stored_path
from graphzero.convert.text import BadLine, is_chosen, refuse_own_file, take_on_bad_line
from graphzero.graph import Graph
from graphzero.ids import IdDictionary
from graphzero.row_order import check_order, reorder

QUANTISED = "int8-quantised"

_LEAST_MEMORY = 16 << 20
_KEPT_BAD_LINES = 100
# Types that are not stored, and those that hold all their numbers, or nearly all.
_STORED_AS = {"uint16": DataType.INT32, "uint32": DataType.INT64, "uint64": DataType.INT64}


@renamed_fields(bad_lines="num_bad_lines")
@dataclass(frozen=True)
class FeatureReport(ShownReport):
    """What a conversion read, found and wrote. Sizes are in bytes.

    Attributes:
        source: The name of the source.
        path: The file written.
        shape: The shape of the array, rows first.
        dtype: The stored type.
        bytes_in: The size of the source; ``None`` if it is not known.
        bytes_out: The size of the file.
        absent_rows: Rows that no id named; they are zero.
        num_bad_lines: Lines skipped.
        first_bad_lines: The first of them.
        minimum: The smallest number; ``None`` if numbers were copied unseen.
        maximum: The largest number; ``None`` if numbers were copied unseen.
        loss: What rounding did; ``None`` if every number is stored as it was.
        seconds: How long it took.
        peak_memory: The most memory of the process seen meanwhile.
        dry_run: Nothing was written; shape and sizes are estimates.
    """

    source: str
    path: str
    shape: tuple[int, ...]
    dtype: str
    bytes_in: int | None
    bytes_out: int
    absent_rows: int
    num_bad_lines: int
    first_bad_lines: tuple[BadLine, ...]
    minimum: float | None
    maximum: float | None
    loss: Loss | None
    seconds: float
    peak_memory: int
    dry_run: bool = False

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.shape[0]

    @property
    def columns(self) -> int:
        """The number of items in a row."""
        return int(np.prod(self.shape[1:], dtype=np.int64))

    def __str__(self) -> str:
        items = " × ".join(f"{extent:,}" for extent in self.shape[1:])
        size = "unknown size" if self.bytes_in is None else byte_text(self.bytes_in)
        about = "about " if self.dry_run else ""
        lines = [
            f"{self.source} → {self.path}" + (" (dry run)" if self.dry_run else ""),
            f"rows       {about}{self.rows:,} of {items + ' ' if items else ''}{self.dtype}",
            f"bytes      {size} in, {about}{byte_text(self.bytes_out)} out",
        ]
        if self.absent_rows:
            lines.append(f"absent     {self.absent_rows:,} rows, which are zero")
        if self.minimum is not None:
            lines.append(f"range      {self.minimum:g} to {self.maximum:g}")
        if self.loss is not None:
            lines.append(f"loss       {self.loss}")
        if self.num_bad_lines:
            lines.append(f"bad lines  {self.num_bad_lines:,} skipped")
            lines += [f"  line {bad.line}: {bad.reason}: {bad.text}" for bad in self.first_bad_lines[:5]]
        if not self.dry_run:
            rate = "" if self.bytes_in is None else f", {byte_text(self.bytes_in / max(self.seconds, 1e-9))}/s"
            lines.append(f"time       {self.seconds:.2f} s{rate}, {byte_text(self.peak_memory)} of memory at most")
        return "\n".join(map(visible, lines))


@take_on_bad_line
def convert_features(
    source: Any,
    path: str | os.PathLike[str],
    *,
    dtype: Any = None,
    shape: tuple[int, ...] | None = None,
    source_dtype: Any = None,
    key: str | None = None,
    columns: Columns = None,
    id_column: str | int | None = None,
    ids: str | os.PathLike[str] | IdDictionary | None = None,
    num_rows: int | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    bad_lines: Literal["raise", "skip"] = "raise",
    order: Any = None,
    graph: Graph | None = None,
    memory: str | int | None = None,
    threads: int | None = None,
    progress: Progress = False,
    dry_run: bool = False,
) -> FeatureReport:
    """Convert a table of numbers of any size to a ``.gd`` file, which appears whole or not at all.

    Args:
        source: A path (``.npy``, ``.npz``, ``.gd``, ``.pt``, Parquet, Arrow, text, which may be gzip or zstd, or raw
            items), an array, a tensor, a sparse matrix, a table with ``__arrow_c_stream__``, or an iterable of blocks
            of rows. Text, ``.npy``, Parquet, Arrow and raw items may be in object storage: ``s3://bucket/x.npy``.
        path: The file to write.
        dtype: The stored type; needed for text. ``"int8-quantised"`` stores int8 and a float32 scale per row. Floats
            become integers only if they are whole. Default: that of the source.
        shape: The shape of the result, rows first; ``-1`` rows are counted. Needed for a raw file.
        source_dtype: The type of the items of a raw file. Default: ``dtype``.
        key: Which array of an ``.npz``, or which entry of a ``.pt``.
        columns: The columns of a row, by name or position: a list, or one of them for a vector. Default: all.
        id_column: The column that says which row it is. Rows may come in any order; absent ones are zero, and a second
            one with the same id is a bad line.
        ids: A ``.gi`` file, or a mounted [`IdDictionary`][graphzero.IdDictionary], if ``id_column`` holds labels: row
            ``k`` of the result is that of the ``k``-th label. A label that it does not have makes a bad line.
        num_rows: The number of rows to expect. With an ``id_column``, absent rows are added.
        header: Whether a text begins with a header. Default: guessed.
        delimiter: What separates the columns of a text; ``" "`` stands for any run of blanks. Default: guessed.
        bad_lines: ``"raise"`` names file, line and text of the first malformed line, ``"skip"`` counts them in the
            report.
        order: Store rows hottest first, as [`reorder`][graphzero.reorder] does: ``"hot"`` with a ``graph``, or all ids,
            hottest first. Takes twice the size of the file on disk meanwhile.
        graph: The graph that says which rows are hot.
        memory: Bytes to hold, a number or a size such as ``"2GB"``. Default: half of what is available, at most 8 GB.
        threads: The number of threads that parse text. Default: [`num_threads`][graphzero.num_threads].
        progress: ``True`` shows bars, in a notebook as well. A function is called with bytes done and bytes in all, as
            in [`convert_edges`][graphzero.convert_edges].
        dry_run: Look at the source and estimate, but write nothing.

    Returns:
        A report.

    Raises:
        FormatError: A line is malformed, or the source has not the expected number of rows.
        TypeError: Numbers cannot be stored as ``dtype``.
        OSError: A file cannot be read or written.

    Examples:
        >>> np.save("x.npy", np.eye(3))
        >>> convert_features("x.npy", "x.gd", dtype="float16").loss
        Loss(max_error=0.0, rms_error=0.0, overflows=0)
    """
    begin = time.perf_counter()
    target = os.fsdecode(path)
    refuse_url_target(target)
    skip_bad_lines = is_chosen(bad_lines, "bad_lines", "skip", "raise")
    budget = conversion_budget(memory)
    if budget < _LEAST_MEMORY:
        raise value_error("memory", f"expected at least {byte_text(_LEAST_MEMORY)}, found {byte_text(budget)}")
    check_order(order, graph)
    quantised = isinstance(dtype, str) and dtype.lower().replace("_", "-") == QUANTISED
    wanted = DataType.INT8 if quantised else None if dtype is None else as_data_type(dtype)
    if num_rows is not None and integer(num_rows, "num_rows") < 0:
        raise value_error("num_rows", f"expected at least 0, found {num_rows}")
    if threads is not None and integer(threads, "threads") < 1:
        raise value_error("threads", f"expected at least 1, found {threads}")
    if isinstance(source, (list, tuple)) and not source:
        raise value_error("source", "expected rows, found an empty list; no rows of four numbers are np.empty((0, 4))")
    source = one_stored_path(source)
    _refuse_same_file(source, target)

    lookup = None if ids is None else LabelLookup(ids)
    if lookup is not None:
        if id_column is None:
            raise error_of(
                ValueError, Argument("ids"), ": expected ", Setting("id_column"), ", which has the labels, found none"
            )
        if num_rows not in (None, len(lookup)):
            raise value_error("num_rows", f"expected {len(lookup)}, the labels of {lookup.path}, found {num_rows}")
        num_rows = len(lookup)
    raw_dtype = source_dtype if source_dtype is not None else None if quantised else dtype
    found = feature_source(
        source, key=key, shape=shape, dtype=raw_dtype, columns=columns, id_column=id_column, lookup=lookup
    )
    if found is None:
        refuse_own_file(os.fsdecode(source))
        if wanted is None:
            such_as = Setting("dtype"), " for text, such as ", Setting("dtype", "float32")
            raise error_of(TypeError, f"{os.fsdecode(source)}: expected ", *such_as, ", found none")
        narrow = wanted in (DataType.FLOAT16, DataType.BFLOAT16) or quantised
        found = TextFeatures(
            os.fsdecode(source),
            parse_as=DataType.FLOAT64 if narrow else wanted,
            columns=columns,
            id_column=id_column,
            lookup=lookup,
            header=header,
            delimiter=delimiter,
            skip_bad_lines=skip_bad_lines,
            threads=threads,
        )
    job = _Job(found, target, _stored_type(found, wanted), quantised, num_rows, id_column is not None, shape, budget)
    job.skip_bad_lines = skip_bad_lines
    job.lookup = lookup
    job.ordered = order is not None
    if dry_run:
        return job.estimate(begin)
    with (
        new_file(target) if callable(progress) else nullcontext(target) as new_path,
        hidden_folder(target) if job.ordered else nullcontext() as waiting,
    ):
        first = new_path if waiting is None else os.path.join(waiting, "by-id.gd")
        if callable(progress):
            job.run(first, progress)
        else:
            with watching(progress, os.path.basename(target), found.nbytes, "bytes", lambda: job.done):
                job.run(first, lambda done, total: None)
        if job.ordered:
            given = None if isinstance(order, str) else order
            reorder(first, new_path, graph, order=given, memory=memory, progress=progress)
    return job.report(begin)


def convert_csv_to_gd(
    csv_path: str | os.PathLike[str] | None = None,
    out_path: str | os.PathLike[str] | None = None,
    dtype: Any = None,
    *,
    input_csv: str | os.PathLike[str] | None = None,
    output_bin: str | os.PathLike[str] | None = None,
) -> None:
    """Convert text whose first column is the node id, under GraphZero 0.2's name.

    Absent rows are zero. What 0.2 took for some other number is an error, and so is a second row for one id.
    [`convert_features`][graphzero.convert_features] has more options.

    Args:
        csv_path: The text.
        out_path: The file to write.
        dtype: The stored type.
        input_csv: Another name for ``csv_path``.
        output_bin: Another name for ``out_path``.

    Examples:
        >>> np.savetxt("x.csv", [[0, 0.5, 1.5], [2, 3, 4]], delimiter=",", fmt="%g")
        >>> convert_csv_to_gd("x.csv", "x.gd", DataType.FLOAT32)
    """
    source = [name for name in (csv_path, input_csv) if name is not None]
    target = [name for name in (out_path, output_bin) if name is not None]
    if len(source) != 1 or len(target) != 1:
        raise TypeError("expected one csv_path and one out_path")
    if dtype is None:
        raise type_error("dtype", "expected an element type such as DataType.FLOAT32, found none")
    convert_features(source[0], target[0], dtype=as_data_type(dtype), id_column=0)


@dataclass
class _Job:
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
        if self.num_rows is not None and found is not None and found != self.num_rows:
            raise FormatError(f"{self.source.name}: expected {self.num_rows} rows, found {found}")

    def run(self, path: str, report: Report) -> None:
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
            rows, scales = self.values.convert(block.rows, out.num_rows)
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
            for block in self._blocks(report):
                if block.ids is not None and block.lines is not None:
                    rows, scales = self.values.convert(block.rows, 0)
                    items = rows.reshape(-1).view(np.uint8)
                    placer.add(block.ids, block.lines, items, scales, limit)
                    self._note_refused(placer.take_refused())
            placer.close(self.num_rows or 0)
            while placer.write_range():
                self._note_refused(placer.take_refused())
                self._tell(report)
            placer.finish()
            self.rows = placer.num_rows
            self.absent = placer.num_rows - placer.num_given
        finally:
            del placer  # which removes what is not finished

    def _id_limit(self, path: str) -> int:
        """Return the number of rows the file may have: as expected, or as there is room for on the disk.

        Asked once, before anything is written: what this conversion takes meanwhile makes no id wrong.
        """
        if self.num_rows is not None:
            return self.num_rows
        return free_space(path) // max(1, self.row_bytes)

    def _note_refused(self, refused: _core.RefusedRows) -> None:
        for row in refused.first:
            self._refuse_line(row.line, self._refusal(row))
        self.num_bad += refused.count - len(refused.first)

    def _refusal(self, row: _core.RefusedRow) -> str:
        if row.is_second:
            name = f"id {row.id}" if self.lookup is None else f"label {self.lookup.label(row.id)!r}"
            return f"{name} was there before"
        if self.num_rows == 0:
            return f"expected no rows, found id {row.id}"
        if self.num_rows is not None or row.id < 0:
            return f"expected an id from 0 to {(self.num_rows or 2**59) - 1}, found {row.id}"
        needed = byte_text((row.id + 1) * self.row_bytes)
        return f"expected ids for which there is room on the disk, found {row.id}, which makes a file of {needed}"

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
        self.peak = max(self.peak, _core.memory_facts().anonymous_rss)
        return self._report(self.rows, os.stat(self.path).st_size, time.perf_counter() - begin, dry_run=False)

    def estimate(self, begin: float) -> FeatureReport:
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

    def _bytes_in(self, dry_run: bool) -> int | None:
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
            dtype=QUANTISED if self.quantised else name_of(self.stored),
            bytes_in=self._bytes_in(dry_run),
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


def _whole_pages(size: int) -> int:
    return -(-size // 4096) * 4096


def _stored_type(source: FeatureSource, wanted: DataType | None) -> DataType:
    if wanted is not None:
        return wanted
    if source.bfloat16:
        return DataType.BFLOAT16
    name = source.dtype.newbyteorder("=").name
    return _STORED_AS.get(name) or as_data_type(name)


def _refuse_same_file(source: Any, target: str) -> None:
    if isinstance(source, (str, os.PathLike)) and not isinstance(source, StoredPath):
        if os.path.isdir(source):
            raise IsADirectoryError(errno.EISDIR, "is a directory, expected a file of features", os.fsdecode(source))
        if os.path.exists(target) and os.path.samefile(source, target):
            raise ValueError(f"{target}: expected another file than the source, found the source itself")

"""Sources of edges as the converter takes them: text to the core, everything else in batches."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import IO, Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.argument_errors import Setting, error_of, parts_of, value_error
from graphzero._base.integers import integer
from graphzero._files.mounted import path_bytes
from graphzero._files.storage import StoredPath
from graphzero.convert.edge_sources import EdgeBatch, EdgeSource, edge_source
from graphzero.convert.edge_sources.batch import USUAL_ENDS, end_name, usual_ends
from graphzero.convert.label_lookup import Labels
from graphzero.convert.stored import stored_paths
from graphzero.convert.text import (
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
    refuse_open_text,
    refuse_own_file,
    text_paths,
)
from graphzero.ids import Kind

Column: TypeAlias = "int | str"

# Characters, and fields, of a line that a message shows.
_SHOWN_TEXT = 80
_SHOWN_FIELDS = 10

# What times can count.
CORE_UNITS = {
    "s": _core.TimeUnit.SECOND,
    "ms": _core.TimeUnit.MILLISECOND,
    "us": _core.TimeUnit.MICROSECOND,
    "ns": _core.TimeUnit.NANOSECOND,
}

# Bytes of a compressed text that are read to see how it begins.
_LOOKED_AT = 1 << 20

# Rows of a batch from an array, a table or an iterator: most, least, and the bytes of an edge with weight and time.
_BATCH = 1 << 20
_LEAST_BATCH = 1 << 14
_EDGE_BYTES = 32
_TEXT_EDGE_BYTES = 256  # labels are objects of Python for a while

# Where ids are text, only names can tell a header from an edge. Some names of ends are words, and may be labels, unless
# it is said that they are ids, or another name stands beside them.
_ALSO_WORDS = frozenset(["start", "head", "subject"])
_OTHER_NAMES = frozenset(["weight", "time", "timestamp", "relation", "relationship", "predicate", "type", "edge_type"])

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)")
_NUMBER = re.compile(rf"{_DECIMAL.pattern}(e[+-]?[0-9]+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE)


@dataclass(frozen=True)
class LabelBatch:
    """Edges whose ends are labels."""

    src: Labels
    dst: Labels
    weight: NDArray[np.float32] | None
    time: NDArray[np.int64] | None
    name: str  # of the file, or of what else they are from
    first_row: int = 0
    lines: NDArray[np.int64] | None = None  # where each edge stands in a text, from 1; if that was asked for
    block: bytes = b""  # the text they were parsed from, which begins behind ``lines_before`` lines
    lines_before: int = 0

    def number(self, at: int) -> int:
        """Return the number of an edge: of its line, or else of its row."""
        return self.first_row + at if self.lines is None else int(self.lines[at])

    def text(self, at: int) -> str:
        """Return the line of an edge, or as much of it as a message shows: slow, for errors."""
        if self.lines is None:
            return ""
        place = self.number(at) - self.lines_before - 1
        shown = self.block.split(b"\n", place + 1)[place].decode(errors="replace").rstrip("\r")
        return shown if len(shown) <= _SHOWN_TEXT else f"{shown[:_SHOWN_TEXT]}…"


class Feed(Protocol):
    """Hands edges to the converter, and knows beforehand what they hold."""

    name: str
    has_weight: bool
    has_time: bool
    undirected: bool
    num_nodes: int | tuple[int, int] | None
    total: int | None
    unit: str
    has_labels: bool

    @property
    def time_unit(self) -> str | None:
        """What times count, as far as that is known; of text, when it has been read."""
        ...

    @property
    def unused_columns(self) -> tuple[str, ...]: ...

    @property
    def guessed_headers(self) -> Mapping[str, tuple[str, str]]:
        """The names of both ends by file, where the first line was guessed to be a header."""
        ...

    def run(self, converter: _core.EdgeConverter) -> None:
        """Add all edges; their ids are integers."""
        ...

    def done(self, converter: _core.EdgeConverter) -> int:
        """How much of ``total`` has been read."""
        ...

    def labels(self, kinds: tuple[Kind, Kind] | None = None) -> Iterator[LabelBatch]:
        """Read all edges with their ids as labels. May be called twice.

        ``kinds`` are those of the dictionaries they will be looked up in, if these exist; lines are then known.
        """
        ...


@dataclass(frozen=True)
class TextOptions:
    """What the user said about a text."""

    src: Column | None
    dst: Column | None
    weight: Column | bool | None
    time: Column | None
    time_unit: str | None
    header: bool | None
    delimiter: str | None
    comment: str | None
    skip_bad_lines: bool

    def __post_init__(self) -> None:
        check_delimiter(self.delimiter)
        check_text_options(self.header, self.comment)

    @property
    def has_weight(self) -> bool:
        """Whether a weight column was chosen."""
        return self.weight is not None and self.weight is not False

    @property
    def has_name(self) -> bool:
        """Whether a column was chosen by its name, so that there is a header."""
        return any(isinstance(column, str) for column in (self.src, self.dst, self.weight, self.time))


def edge_feed(source: Any, target: str, options: TextOptions, *, directed: bool, tmp_dir: str, block: int) -> Feed:
    """Return what suits the source. ``block`` bounds the text, and the edges of a table, that are held at a time."""
    if isinstance(source, (list, tuple)) and not source:
        raise value_error(
            "source",
            "expected edges, or paths of files, found an empty list; a graph without edges is made of "
            "np.empty((2, 0), int)",
        )
    refuse_open_text(source)
    source = stored_paths(source)
    if hasattr(source, "read"):
        return StreamFeed([(str(getattr(source, "name", "stream")), lambda: source)], options, block, tmp_dir)
    batches = edge_source(
        source,
        src=options.src,
        dst=options.dst,
        weight=options.weight,
        time=options.time,
        time_unit=options.time_unit,
        directed=directed,
        tmp_dir=tmp_dir,
    )
    paths = text_paths(source) or []
    for path in paths:
        if os.path.exists(target) and os.path.exists(path) and os.path.samefile(path, target):
            raise ValueError(f"{path}: is both the source and the target; write the graph to another path")
    if batches is not None:
        return BatchFeed(batches, options, block)
    for path in paths:
        refuse_own_file(path)
    streams = [(path, _opener(path)) for path in paths]
    if all(os.path.isfile(path) and compression_of(path) is None for path in paths):
        return FileFeed(paths, streams, options, block)
    if all(isinstance(path, StoredPath) or os.path.isfile(path) for path in paths):
        feed = StreamFeed(streams, options, block, None)
        feed.look()
        return feed
    return StreamFeed(streams, options, block, tmp_dir)


def _opener(path: str) -> Callable[[], IO[bytes]]:
    return lambda: open_text(path)


class _Copy:
    """Opens a copy of a pipe or an open file, made in a file without a name when it is asked for first.

    The file goes with this object, so nothing here may refer to it in a circle.
    """

    def __init__(self, opener: Callable[[], IO[bytes]], folder: str) -> None:
        self._opener, self._folder = opener, folder
        self._file: IO[bytes] | None = None

    def __call__(self) -> IO[bytes]:
        if self._file is None:
            import shutil
            import tempfile  # slow to load

            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  (it is read twice)
            weakref.finalize(self, self._file.close)
            with self._opener() as stream:
                shutil.copyfileobj(stream, self._file, 1 << 20)
        self._file.seek(0)
        return os.fdopen(os.dup(self._file.fileno()), "rb")


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Name the file that has an id that is too large; if a line has it, the core names it."""
    try:
        yield
    except IndexError as error:
        raise IndexError(f"{name}: {error}") from None


class StreamFeed:
    """Text that has to be read from its beginning to its end: compressed files, pipes, open files."""

    num_nodes: int | tuple[int, int] | None = None
    undirected = False
    unit = "bytes"
    total: int | None = None
    has_labels = False  # of a pipe or an open file this is not known before it is read; the user says ids="map"

    def __init__(
        self,
        streams: list[tuple[str, Callable[[], IO[bytes]]]],
        options: TextOptions,
        block: int,
        tmp_dir: str | None,
    ) -> None:
        """``tmp_dir`` is where streams that can be read only once are copied to; ``None`` if they can be again."""
        self._streams = streams
        self._tmp_dir = tmp_dir
        self._options = options
        self._block = block
        self.name = streams[0][0]
        self.has_weight = options.has_weight
        self.has_time = options.time is not None
        self.unused_columns: tuple[str, ...] = ()
        self.guessed_headers: dict[str, tuple[str, str]] = {}
        self._is_text: bool | None = None  # whether ids are labels; not known before the first ones are read
        self._iso_times: bool | None = None  # the same of times that are no integers
        self.num_bad = 0
        self.bad: list[_core.BadLine] = []

    def run(self, converter: _core.EdgeConverter) -> None:
        for name, block, begin, lines, form, columns in self._blocks():
            if has_labels(form, columns):
                raise labels_without_map(name)
            with _naming(name):
                lines.append(converter.add_text_block(os.fsencode(name), block, begin, sum(lines), form, columns))

    def done(self, converter: _core.EdgeConverter) -> int:
        return converter.done().text_bytes

    @property
    def time_unit(self) -> str | None:
        return self._options.time_unit or ("s" if self._iso_times else None)

    def labels(self, kinds: tuple[Kind, Kind] | None = None) -> Iterator[LabelBatch]:
        self.num_bad, self.bad = 0, []
        if kinds is None and self._tmp_dir is not None:  # to number labels, and again to look them up
            self._streams = [(name, _Copy(opener, self._tmp_dir)) for name, opener in self._streams]
            self._tmp_dir = None
        if kinds is not None:
            if kinds[0] != kinds[1]:
                raise value_error("ids", f"expected dictionaries of one kind for a text, found {' and '.join(kinds)}")
            self._is_text = kinds[0] == "string"
        for name, block, begin, lines, form, columns in self._blocks():
            columns.row_lines = kinds is not None
            if kinds is None:
                self._note_kind(name, form, columns)
            parse = _core.parse_text_labels if self._is_text else _core.parse_integer_labels
            parsed = parse(os.fsencode(name), block, begin, sum(lines), form, columns, self._options.skip_bad_lines)
            before = sum(lines)
            lines.append(parsed.lines)
            self.num_bad += parsed.num_bad
            self.bad += parsed.bad
            yield LabelBatch(
                parsed.take_src(),
                parsed.take_dst(),
                parsed.take_weight(),
                parsed.take_time(),
                name,
                lines=parsed.take_row_lines(),
                block=block[begin:] if kinds is not None else b"",
                lines_before=before,
            )

    def _note_kind(self, name: str, form: _core.TextFormat, columns: _core.EdgeColumns) -> None:
        """Let the first text decide whether labels are text, and refuse another that differs."""
        is_text = has_labels(form, columns, mapped=True)
        if self._is_text is None:
            self._is_text = is_text
        if is_text and not self._is_text:
            raise ValueError(
                f"{name}: line {form.lines_before_data + 1}: expected integer ids, as in {self.name}, found labels"
            )

    def look(self) -> None:
        """Read how every text begins: what is known of plain files from the start, but for guessed headers."""
        is_text = False
        for _, _, _, _, form, columns in self._blocks(only_first=True):
            self.has_labels = self.has_labels or has_labels(form, columns)
            is_text = is_text or has_labels(form, columns, mapped=True)
        self._is_text = is_text

    @property
    def labels_are_text(self) -> bool:
        """Whether labels are text, and not numbers; to be told for a part of the texts that were looked at."""
        return self._is_text is not False

    @labels_are_text.setter
    def labels_are_text(self, value: bool) -> None:
        self._is_text = value

    def _blocks(
        self, *, only_first: bool = False
    ) -> Iterator[tuple[str, bytes, int, list[int], _core.TextFormat, _core.EdgeColumns]]:
        """Yield name, block, where its data begins, the lines before it, format and columns."""
        for name, opener in self._streams:

            def sniff(text: bytes, lines: int, name: str = name) -> _core.TextFormat:
                options = self._options
                return _core.sniff_block(
                    os.fsencode(name), text, options.delimiter, options.header, options.comment, lines
                )

            with opener() as stream:
                blocks = line_blocks(stream, name, min(self._block, _LOOKED_AT) if only_first else self._block)
                form, text, _ = first_data(blocks, sniff)
                columns = text_columns(name, form, self._options)
                if form.num_columns == 0:
                    continue
                self._check_times(name, form, columns)
                self.unused_columns = unused_columns(form, columns)
                if form.header and self._options.header is None and not self._options.has_name:
                    self.guessed_headers[name] = form.header[columns.src], form.header[columns.dst]
                lines = [form.lines_before_data]
                yield name, text, form.data_begin, lines, form, columns
                if only_first:
                    blocks.close()
                for block in blocks:
                    yield name, block, 0, lines, form, columns

    def _check_times(self, name: str, form: _core.TextFormat, columns: _core.EdgeColumns) -> None:
        """Refuse times of two forms: numbers of one file would not count what those of another do."""
        if columns.time is None or form.num_columns == 0:
            return
        is_iso = columns.iso_times is not None
        if self._iso_times not in (None, is_iso):
            words = {True: "ISO 8601 times", False: "integers"}
            field = _field(form.first_field(columns.time))
            raise value_error(
                "time",
                f"line {form.lines_before_data + 1}: expected {words[not is_iso]}, as in {self.name}, found {field!r}",
                where=name,
            )
        self._iso_times = is_iso


class FileFeed(StreamFeed):
    """Plain text files, which the core reads itself."""

    def __init__(
        self, paths: list[str], streams: list[tuple[str, Callable[[], IO[bytes]]]], options: TextOptions, block: int
    ) -> None:
        super().__init__(streams, options, block, None)
        self._paths = paths
        self._range: tuple[int, int, bool] | None = None
        longest = _core.longest_line(block)
        self._formats = [
            _core.sniff_file(path_bytes(path), options.delimiter, options.header, options.comment, longest)
            for path in paths
        ]
        self._columns = [text_columns(path, form, options) for path, form in zip(paths, self._formats, strict=True)]
        for path, form, columns in zip(paths, self._formats, self._columns, strict=True):
            self._check_times(path, form, columns)
        self.unused_columns = unused_columns(self._formats[0], self._columns[0])
        self.total = sum(os.path.getsize(path) for path in paths)
        self.has_labels = any(map(has_labels, self._formats, self._columns))
        self._is_text = any(
            has_labels(form, columns, mapped=True) for form, columns in zip(self._formats, self._columns, strict=True)
        )

    def run(self, converter: _core.EdgeConverter) -> None:
        for path, form, columns in zip(self._paths, self._formats, self._columns, strict=True):
            if form.num_columns:
                with _naming(path):
                    converter.add_text_file(path_bytes(path), form, columns)

    def ranges(self, size: int) -> Iterator[tuple[str, int, int]]:
        """Cut every file into ranges of about ``size`` bytes that hold whole lines; yield path, begin and end."""
        for path, form in zip(self._paths, self._formats, strict=True):
            for begin, end in line_ranges(path, form.data_begin, size):
                yield path, begin, end

    def keep_range(self, begin: int, end: int, *, count_lines: bool) -> None:
        """Let ``labels()`` read one of these ranges alone, of the only file; lines count as in ``run_range()``."""
        self._range = begin, end, count_lines

    def _blocks(
        self, *, only_first: bool = False
    ) -> Iterator[tuple[str, bytes, int, list[int], _core.TextFormat, _core.EdgeColumns]]:
        if self._range is None:
            yield from super()._blocks(only_first=only_first)
            return
        begin, end, count_lines = self._range
        path, form, columns = self._paths[0], self._formats[0], self._columns[0]
        with open(path, "rb") as file:
            before = count_newlines(file, form.data_begin, begin) if count_lines else 0
            file.seek(begin)
            lines = [form.lines_before_data + before]
            for block in line_blocks(cast("IO[bytes]", FirstBytes(file, end - begin)), path, self._block):
                yield path, block, 0, lines, form, columns

    def run_range(self, converter: _core.EdgeConverter, begin: int, end: int, *, count_lines: bool) -> None:
        """Add the edges of one of these ranges, of the only file.

        Only errors tell the number of a line: those before the range are counted if ``count_lines``.
        """
        path, form, columns = self._paths[0], self._formats[0], self._columns[0]
        lines = form.lines_before_data
        if count_lines:
            with open(path, "rb") as file:
                lines += count_newlines(file, form.data_begin, begin)
        with _naming(path):
            converter.add_text_part(path_bytes(path), begin, end, lines, form, columns)


class BatchFeed:
    """Anything that comes as arrays. The first batch shows whether there are weights and times.

    Without a batch, the source's ``empty`` one does, if it has one.
    """

    unit = "edges"
    guessed_headers: Mapping[str, tuple[str, str]] = {}

    def __init__(self, source: EdgeSource, options: TextOptions, block: int) -> None:
        self._source = source
        # A batch is there more than once: in pages of the file, as columns, and as what these are cast to.
        edge_bytes = _TEXT_EDGE_BYTES if getattr(source, "has_text_ends", False) else _EDGE_BYTES
        self._rows = min(_BATCH, max(_LEAST_BATCH, block // edge_bytes))
        self.unused_columns: tuple[str, ...] = getattr(source, "unused_columns", ())
        self.name = source.name
        self.num_nodes = source.num_nodes
        self.undirected = source.undirected
        self.total = source.num_edges
        batches = iter(source.batches(self._rows))
        first = next(batches, None)
        self._batches: Iterator[EdgeBatch] | None = chain([] if first is None else [first], batches)
        shape: EdgeBatch | None = getattr(source, "empty", None) if first is None else first
        self.has_weight = shape is not None and shape.weight is not None
        self.has_time = shape is not None and shape.time is not None
        self.has_labels = shape is not None and any(end.dtype.kind not in "iu" for end in (shape.src, shape.dst))
        self.time_unit: str | None = getattr(source, "time_unit", None)
        if options.time_unit is not None and not hasattr(source, "time_unit"):
            raise value_error(
                "time_unit", "expected a text or a table, whose times can be told, found times that stay as they are",
                where=source.name,
            )  # fmt: skip

    def _all(self) -> Iterator[EdgeBatch]:
        """Yield every batch; the first time starting with the one that was looked at."""
        batches, self._batches = self._batches, None
        return batches if batches is not None else iter(self._source.batches(self._rows))

    def run(self, converter: _core.EdgeConverter) -> None:
        for batch in self._all():
            if any(end.dtype.kind not in "iu" for end in (batch.src, batch.dst)):
                raise labels_without_map(self.name)
            try:
                converter.add_edges(batch.src, batch.dst, batch.weight, batch.time)
            except (IndexError, ValueError) as error:
                raise error_of(type(error), f"{self.name}: ", *parts_of(error)) from None

    def done(self, converter: _core.EdgeConverter) -> int:
        return converter.done().rows

    def labels(self, kinds: tuple[Kind, Kind] | None = None) -> Iterator[LabelBatch]:
        done = 0
        for batch in self._all():
            yield LabelBatch(
                _packed(batch.src, f"{self.name}: src"),
                _packed(batch.dst, f"{self.name}: dst"),
                batch.weight,
                batch.time,
                self.name,
                done,
            )
            done += len(batch)


def _packed(labels: NDArray[Any], name: str) -> Labels:
    if labels.dtype.kind in "iu":
        return np.ascontiguousarray(labels, dtype=np.int64)
    return _core.pack_labels(labels.tolist(), name)


def has_labels(form: _core.TextFormat, columns: _core.EdgeColumns, *, mapped: bool = False) -> bool:
    """Whether the first line of data has an id that is no number at all; a bad number is an error, not a label.

    Where ids are ``mapped``, ``1e3`` and ``nan`` are labels: a number would hardly be written like that.
    """
    if form.num_columns == 0:
        return False
    number = _DECIMAL if mapped else _NUMBER
    return not all(number.fullmatch(_field(form.first_field(end))) for end in (columns.src, columns.dst))


def labels_without_map(name: str) -> TypeError:
    """Return the error about labels where ids are to stay as they are."""
    return error_of(
        TypeError, f"{name}: expected integer ids, found labels; give ", Setting("ids", "map"), " to number them"
    )


def is_iso_time(field: bytes) -> bool:
    """Whether a field is a time in the form of ISO 8601."""
    return _core.is_iso_time(_field(field))


def _field(text: bytes) -> str:
    return text.decode(errors="replace")


def text_columns(name: str, form: _core.TextFormat, options: TextOptions) -> _core.EdgeColumns:
    """Turn the names and positions the user gave into positions."""

    def position(column: Column, role: str) -> int:
        there = f"{form.num_columns} columns" + (f": {', '.join(form.header)}" if form.header else ", without a header")
        if isinstance(column, str):
            if form.header.count(column) != 1:
                found = (
                    there if column not in form.header else f"{form.header.count(column)} of them; give its position"
                )
                raise value_error(role, f"expected a column {column!r}, found {found}", where=name)
            return form.header.index(column)
        if not 0 <= integer(column, role) < form.num_columns:
            raise value_error(role, f"expected column {column}, found {there}", where=name)
        return column

    columns = _core.EdgeColumns()
    if form.num_columns == 1:
        found = f"found 1 in line {form.lines_before_data + 1} with delimiter {form.delimiter!r}"
        raise error_of(
            ValueError,
            f"{name}: expected at least two columns, {found}; give ", Setting("delimiter"), " if it is another",
        )  # fmt: skip
    if form.num_columns == 0:
        if form.header and options.header is None and not options.has_name and not _are_names(form.header):
            refuse_doubtful_header(name, ", ".join(form.header))
        return columns
    if form.header and len(form.header) != form.num_columns:
        raise ValueError(
            f"{name}: line {form.lines_before_data + 1}: expected {len(form.header)} fields as in the header, found "
            f"{form.num_columns}"
        )
    src, dst = usual_ends(form.header) if options.src is None and options.dst is None else (0, 1)
    is_unnamed = form.num_columns > 2 and bool(form.header) and not form.header[0].strip()
    if is_unnamed and (src, dst) == (0, 1) and options.src is None:
        raise error_of(
            ValueError,
            f"{name}: the first column has no name, as if it numbered the rows: expected ",
            Setting("src"), " and ", Setting("dst"), f", two of {', '.join(form.header[1:])}, or ", Setting("src", 0),
            " if it is meant",
        )  # fmt: skip
    columns.src = position(src if options.src is None else options.src, "src")
    columns.dst = position(dst if options.dst is None else options.dst, "dst")
    if columns.src == columns.dst:
        chosen = Setting("src", options.src), ", ", Setting("dst", options.dst)
        raise error_of(
            ValueError, f"{name}: expected two columns for the ends of an edge, found one for both: ", *chosen
        )
    if options.weight is not None and options.weight is not False:
        columns.weight = position(2 if options.weight is True else options.weight, "weight")
    if options.time is not None:
        columns.time = position(options.time, "time")
        if is_iso_time(form.first_field(columns.time)):
            columns.iso_times = CORE_UNITS[options.time_unit or "s"]
    for role, column in (("weight", columns.weight), ("time", columns.time)):
        if column in (columns.src, columns.dst) or (role == "time" and column is not None and column == columns.weight):
            raise value_error(
                role, f"expected a column of its own, found {column}, which holds something else", where=name
            )
    if options.header is None and _is_header_in_doubt(form, columns, options):
        first = form.header or [_field(form.first_field(i)) for i in range(min(form.num_columns, _SHOWN_FIELDS))]
        refuse_doubtful_header(name, ", ".join(first[:_SHOWN_FIELDS]))
    if options.src is None and options.dst is None:
        _refuse_signs(name, form, columns)
    return columns


def _is_header_in_doubt(form: _core.TextFormat, columns: _core.EdgeColumns, options: TextOptions) -> bool:
    """Whether the first line may be an edge that is taken for a header, or the other way round."""
    ends = columns.src, columns.dst
    if not form.header:
        return any(
            not _NUMBER.fullmatch(_field(form.first_field(end))) and _NUMBER.fullmatch(_field(form.second_field(end)))
            for end in ends
        )
    if options.has_name or _are_names(form.header):
        return False
    # Where ids are integers, weights or times are given, a line without any of these is no edge.
    numbers = [column for column in (columns.weight, columns.time) if column is not None]
    if any(is_missing(form.header[column]) for column in (*ends, *numbers)):
        return True
    if columns.time is not None and is_iso_time(form.header[columns.time].encode()):
        return True
    if any(_is_value(form.first_field(column)) for column in numbers):
        return False
    return not all(_INTEGER.fullmatch(_field(form.first_field(end))) for end in ends)


def _is_value(field: bytes) -> bool:
    return bool(_NUMBER.fullmatch(_field(field))) or is_iso_time(field)


def _are_names(header: Sequence[str]) -> bool:
    """Whether these are names of columns, and no labels."""
    names = [name.strip().lower() for name in header]
    ends = [end_name(name) for name in names]
    has_other = not _OTHER_NAMES.isdisjoint(names)
    return any(
        src in ends and dst in ends and (src not in _ALSO_WORDS or has_other or not {src, dst}.intersection(names))
        for src, dst in USUAL_ENDS
    )


def _refuse_signs(name: str, form: _core.TextFormat, columns: _core.EdgeColumns) -> None:
    """Refuse ``1 -> 2``, where the second column would be a node."""
    for column in (columns.src, columns.dst):
        field = _field(form.first_field(column))
        if field and not any(map(str.isalnum, field)):
            raise error_of(
                ValueError,
                f"{name}: line {form.lines_before_data + 1}: expected a node, found {field!r} in column {column}; "
                "give ", Setting("src"), " and ", Setting("dst"), ", such as ", Setting("src", 0), ", ",
                Setting("dst", 2), ", or ", Setting("src", columns.src), ", ", Setting("dst", columns.dst),
                " if it is one",
            )  # fmt: skip


def unused_columns(form: _core.TextFormat, columns: _core.EdgeColumns) -> tuple[str, ...]:
    """Name the columns that hold neither ends, weight nor time."""
    used = {columns.src, columns.dst, columns.weight, columns.time}
    names = form.header or [str(i) for i in range(form.num_columns)]
    return tuple(name for i, name in enumerate(names) if i not in used)

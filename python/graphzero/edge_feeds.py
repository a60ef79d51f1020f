"""Sources of edges as the converter takes them: text to the core, everything else in batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import IO, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero.integers import integer
from graphzero.mounted import path_bytes
from graphzero.sources import EdgeBatch, EdgeSource, edge_source
from graphzero.sources.batch import usual_ends
from graphzero.text import (
    check_delimiter,
    compression_of,
    line_blocks,
    open_text,
    reading_utf8,
    refuse_open_text,
    refuse_own_file,
    text_paths,
)

Column: TypeAlias = "int | str"

# Rows of a batch from an array, a table or an iterator.
_BATCH = 1 << 20

# Where all ids are text, only familiar words tell a header from an edge.
_HEADER_NAMES = frozenset(
    [
        "src",
        "source",
        "src_id",
        "source_id",
        "from",
        "start",
        "start_id",
        "head",
        "subject",
        "u",
        "dst",
        "destination",
        "target",
        "dst_id",
        "target_id",
        "to",
        "end",
        "end_id",
        "tail",
        "object",
        "v",
        "weight",
        "time",
        "timestamp",
        "node1",
        "node2",
    ]
)

# Labels of one end of a batch: integers, or UTF-8 bytes and offsets.
Labels: TypeAlias = "NDArray[np.int64] | tuple[NDArray[np.uint8], NDArray[np.int64]]"


@dataclass(frozen=True)
class LabelBatch:
    """Edges whose ends are labels."""

    src: Labels
    dst: Labels
    weight: NDArray[np.float32] | None
    time: NDArray[np.int64] | None


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
    def unused_columns(self) -> tuple[str, ...]: ...

    def run(self, converter: _core.EdgeConverter) -> None:
        """Add all edges; their ids are integers."""
        ...

    def done(self, converter: _core.EdgeConverter) -> int:
        """How much of ``total`` has been read."""
        ...

    def labels(self) -> Iterator[LabelBatch]:
        """Read all edges with their ids as labels. May be called twice."""
        ...


@dataclass(frozen=True)
class TextOptions:
    """What the user said about a text."""

    src: Column | None
    dst: Column | None
    weight: Column | bool | None
    time: Column | None
    header: bool | None
    delimiter: str | None
    comment: str | None
    skip_bad_lines: bool

    def __post_init__(self) -> None:
        check_delimiter(self.delimiter)

    @property
    def has_weight(self) -> bool:
        """Whether a weight column was chosen."""
        return self.weight is not None and self.weight is not False

    def sniff(self, name: str, block: bytes) -> _core.TextFormat:
        """Look at the beginning of a text."""
        return _core.sniff_block(name, block, self.delimiter, self.header, self.comment)


def edge_feed(source: Any, target: str, options: TextOptions, *, tmp_dir: str, block: int) -> Feed:
    """Return what suits the source. ``block`` bounds the text that is held at a time."""
    if isinstance(source, (list, tuple)) and not source:
        raise ValueError(
            "source: expected edges, or paths of files, found an empty list; a graph without edges is made of "
            "np.empty((2, 0), int)"
        )
    refuse_open_text(source)
    if hasattr(source, "read"):
        return StreamFeed([(str(getattr(source, "name", "stream")), lambda: source)], options, block)
    batches = edge_source(
        source, src=options.src, dst=options.dst, weight=options.weight, time=options.time, tmp_dir=tmp_dir
    )
    if batches is not None:
        return BatchFeed(batches)
    paths = text_paths(source) or []
    for path in paths:
        refuse_own_file(path)
        if os.path.exists(target) and os.path.exists(path) and os.path.samefile(path, target):
            raise ValueError(f"{path}: is both the source and the target; write the graph to another path")
    streams = [(path, _opener(path)) for path in paths]
    if all(os.path.isfile(path) and compression_of(path) is None for path in paths):
        return FileFeed(paths, streams, options, block)
    return StreamFeed(streams, options, block)


def _opener(path: str) -> Callable[[], IO[bytes]]:
    return lambda: open_text(path)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Say which file has the id that is too large; about a line the core itself says so."""
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
    has_labels = False  # not known before it is read; the user says ids="map"

    def __init__(self, streams: list[tuple[str, Callable[[], IO[bytes]]]], options: TextOptions, block: int) -> None:
        self._streams = streams
        self._options = options
        self._block = block
        self.name = streams[0][0]
        self.has_weight = options.has_weight
        self.has_time = options.time is not None
        self.unused_columns: tuple[str, ...] = ()
        self.num_bad = 0
        self.bad: list[_core.BadLine] = []

    def run(self, converter: _core.EdgeConverter) -> None:
        for name, block, begin, lines, form, columns in self._blocks():
            with _naming(name):
                lines.append(converter.add_text_block(name, block, begin, sum(lines), form, columns))

    def done(self, converter: _core.EdgeConverter) -> int:
        return converter.done().text_bytes

    def labels(self) -> Iterator[LabelBatch]:
        self.num_bad, self.bad = 0, []
        for name, block, begin, lines, form, columns in self._blocks():
            parse = _core.parse_text_labels if has_labels(form, columns) else _core.parse_integer_labels
            parsed = parse(name, block, begin, sum(lines), form, columns, self._options.skip_bad_lines)
            lines.append(parsed.lines)
            self.num_bad += parsed.num_bad
            self.bad += parsed.bad
            yield LabelBatch(parsed.take_src(), parsed.take_dst(), parsed.take_weight(), parsed.take_time())

    def _blocks(self) -> Iterator[tuple[str, bytes, int, list[int], _core.TextFormat, _core.EdgeColumns]]:
        """Yield name, block, where its data begins, the lines before it, format and columns."""
        for name, opener in self._streams:
            form = columns = None
            lines: list[int] = []
            header = b""  # lines that end in one, before the first line of data
            with opener() as stream:
                for block in line_blocks(stream, name, self._block):
                    begin = 0
                    if form is None:
                        block = header + block
                        form = self._options.sniff(name, block)
                        if form.num_columns == 0:
                            header = block if form.header else b""
                            if not header:  # comments alone
                                lines.append(block.count(b"\n"))
                            form = None
                            continue
                        with reading_utf8(name):
                            columns = text_columns(name, form, self._options)
                        self.unused_columns = unused_columns(form, columns)
                        begin = form.data_begin
                        lines.append(form.lines_before_data)
                    assert columns is not None
                    yield name, block, begin, lines, form, columns


class FileFeed(StreamFeed):
    """Plain text files, which the core reads by itself."""

    def __init__(
        self, paths: list[str], streams: list[tuple[str, Callable[[], IO[bytes]]]], options: TextOptions, block: int
    ) -> None:
        super().__init__(streams, options, block)
        self._paths = paths
        self._formats = [
            _core.sniff_file(path_bytes(path), options.delimiter, options.header, options.comment) for path in paths
        ]
        self._columns = []
        for path, form in zip(paths, self._formats, strict=True):
            with reading_utf8(path):
                self._columns.append(text_columns(path, form, options))
        self.unused_columns = unused_columns(self._formats[0], self._columns[0])
        self.total = sum(os.path.getsize(path) for path in paths)
        self.has_labels = any(map(has_labels, self._formats, self._columns))

    def run(self, converter: _core.EdgeConverter) -> None:
        for path, form, columns in zip(self._paths, self._formats, self._columns, strict=True):
            if form.num_columns:
                with _naming(path):
                    converter.add_text_file(path_bytes(path), form, columns)


class BatchFeed:
    """Anything that comes as arrays. The first batch tells whether there are weights and times.

    Where there is none, the source's ``empty`` one does, if it has such a thing.
    """

    unit = "edges"
    unused_columns: tuple[str, ...] = ()

    def __init__(self, source: EdgeSource) -> None:
        self._source = source
        self.name = source.name
        self.num_nodes = source.num_nodes
        self.undirected = source.undirected
        self.total = source.num_edges
        batches = iter(source.batches(_BATCH))
        first = next(batches, None)
        self._batches: Iterator[EdgeBatch] | None = chain([] if first is None else [first], batches)
        shape: EdgeBatch | None = getattr(source, "empty", None) if first is None else first
        self.has_weight = shape is not None and shape.weight is not None
        self.has_time = shape is not None and shape.time is not None
        self.has_labels = shape is not None and shape.src.dtype.kind not in "iu"

    def _all(self) -> Iterator[EdgeBatch]:
        """Yield every batch; the first time from where the look at the first one left off."""
        batches, self._batches = self._batches, None
        return batches if batches is not None else iter(self._source.batches(_BATCH))

    def run(self, converter: _core.EdgeConverter) -> None:
        for batch in self._all():
            try:
                converter.add_edges(batch.src, batch.dst, batch.weight, batch.time)
            except (IndexError, ValueError) as error:
                raise type(error)(f"{self.name}: {error}") from None

    def done(self, converter: _core.EdgeConverter) -> int:
        return converter.done().rows

    def labels(self) -> Iterator[LabelBatch]:
        for batch in self._all():
            yield LabelBatch(
                _packed(batch.src, f"{self.name}: src"),
                _packed(batch.dst, f"{self.name}: dst"),
                batch.weight,
                batch.time,
            )


def _packed(labels: NDArray[Any], name: str) -> Labels:
    if labels.dtype.kind in "iu":
        return np.ascontiguousarray(labels, dtype=np.int64)
    return _core.pack_labels(labels.tolist(), name)


def has_labels(form: _core.TextFormat, columns: _core.EdgeColumns) -> bool:
    """Whether the first line of data has an id that is no number at all; a bad number is an error, not a label."""
    if form.num_columns == 0:
        return False
    fields = form.first_line[columns.src], form.first_line[columns.dst]
    return any(not field.lstrip("+-").replace(",", ".").replace(".", "", 1).isdigit() for field in fields)


def text_columns(name: str, form: _core.TextFormat, options: TextOptions) -> _core.EdgeColumns:
    """Turn the names and positions the user gave into positions."""

    def position(column: Column, role: str) -> int:
        there = f"{form.num_columns} columns" + (f": {', '.join(form.header)}" if form.header else ", without a header")
        if isinstance(column, str):
            if form.header.count(column) != 1:
                found = (
                    there if column not in form.header else f"{form.header.count(column)} of them; give its position"
                )
                raise ValueError(f"{name}: {role}: expected a column {column!r}, found {found}")
            return form.header.index(column)
        if not 0 <= integer(column, role) < form.num_columns:
            raise ValueError(f"{name}: {role}: expected column {column}, found {there}")
        return column

    columns = _core.EdgeColumns()
    if form.num_columns == 1:
        raise ValueError(
            f"{name}: expected at least two columns, found 1 in line {form.lines_before_data + 1} "
            f"with delimiter {form.delimiter!r}; give delimiter= if it is another"
        )
    familiar = _HEADER_NAMES.intersection(word.lower() for word in form.header)
    if form.header_in_doubt and len(familiar) < 2:  # one of them may be a label: "to,be"
        raise ValueError(
            f"{name}: cannot tell whether the first line, {', '.join(form.header or form.first_line)}, is a header: "
            "give header=True or header=False"
        )
    if form.num_columns == 0:
        return columns
    if form.header and len(form.header) != form.num_columns:
        raise ValueError(
            f"{name}: line {form.lines_before_data + 1}: expected {len(form.header)} fields as in the header, found "
            f"{form.num_columns}"
        )
    src, dst = usual_ends(form.header) if options.src is None and options.dst is None else (0, 1)
    is_unnamed = form.num_columns > 2 and bool(form.header) and not form.header[0].strip()
    if is_unnamed and (src, dst) == (0, 1) and options.src is None:
        raise ValueError(
            f"{name}: the first column has no name, as if it numbered the rows: expected src= and dst=, two of "
            f"{', '.join(form.header[1:])}, or src=0 if it is meant"
        )
    columns.src = position(src if options.src is None else options.src, "src")
    columns.dst = position(dst if options.dst is None else options.dst, "dst")
    if columns.src == columns.dst:
        chosen = f"src={options.src!r}, dst={options.dst!r}"
        raise ValueError(f"{name}: expected two columns for the ends of an edge, found one for both: {chosen}")
    if options.weight is not None and options.weight is not False:
        columns.weight = position(2 if options.weight is True else options.weight, "weight")
    if options.time is not None:
        columns.time = position(options.time, "time")
    return columns


def unused_columns(form: _core.TextFormat, columns: _core.EdgeColumns) -> tuple[str, ...]:
    """Name the columns that hold neither ends, weight nor time."""
    used = {columns.src, columns.dst, columns.weight, columns.time}
    names = form.header or [str(i) for i in range(form.num_columns)]
    return tuple(name for i, name in enumerate(names) if i not in used)

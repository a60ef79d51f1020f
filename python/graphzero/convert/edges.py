"""Edges of any kind and any number to a ``.gl`` file, in a fixed budget of memory."""

from __future__ import annotations

import contextlib
import os
import time as clock
from dataclasses import dataclass
from typing import Any, Literal

from graphzero import _core
from graphzero._base.argument_errors import Setting, check_choice, error_of, value_error
from graphzero._base.memory_sizes import byte_text, conversion_budget, peak_memory
from graphzero._base.old_names import renamed_fields, renamed_keywords
from graphzero._base.visible import visible
from graphzero._files.folder import check_free_space, hidden_folder, replace_together, spill_folder
from graphzero._files.mounted import path_bytes
from graphzero._files.progress import Progress, watching
from graphzero.convert.edge_feeds import Column, Feed, Labels, TextOptions, edge_feed, labels_without_map
from graphzero.convert.text import BadLine, is_chosen, open_text, refuse_doubtful_header, take_on_bad_line, text_paths
from graphzero.graph import graph_bytes, writer_options
from graphzero.threads import using_threads

_MEMORY_PER_THREAD = 32 << 20

# Beyond so many ids per edge the ids of an edge list are taken to be sparse.
_SPARSE = 64


@renamed_fields(bad_lines="first_bad_lines")
@dataclass(frozen=True)
class ConversionReport:
    """What a conversion read, found and wrote.

    Attributes:
        path: The file written.
        ids_path: The dictionary of labels written beside it; ``None`` if ids were used as they are.
        num_rows: Edges read.
        num_edges: Edges stored; an undirected graph stores each twice.
        num_src_nodes: The number of source nodes, which is that of all nodes unless the graph is bipartite.
        num_dst_nodes: The number of destination nodes.
        smallest_id: The smallest node id read.
        largest_id: The largest node id read.
        num_self_loops: Edges from a node to itself, dropped or not.
        num_duplicates: Edges with the same ends, and time if there are times, as another, dropped or not.
        num_bad_lines: Lines skipped.
        first_bad_lines: The first of them.
        unused_columns: Columns of the source that were not used.
        size: The size of the file in bytes.
        spilled: Bytes that went through temporary files.
        seconds: How long it took.
        peak_memory: The most memory the process has held, in bytes.
    """

    path: str
    ids_path: str | None
    num_rows: int
    num_edges: int
    num_src_nodes: int
    num_dst_nodes: int
    smallest_id: int
    largest_id: int
    num_self_loops: int
    num_duplicates: int
    num_bad_lines: int
    first_bad_lines: tuple[BadLine, ...]
    unused_columns: tuple[str, ...]
    size: int
    spilled: int
    seconds: float
    peak_memory: int

    def __str__(self) -> str:
        nodes = f"{self.num_src_nodes:,}"
        if self.num_dst_nodes != self.num_src_nodes:
            nodes += f" → {self.num_dst_nodes:,}"
        lines = [
            f"{self.path}: {self.num_edges:,} edges over {nodes} nodes, {byte_text(self.size)}",
            *([f"  labels in   {self.ids_path}"] if self.ids_path else []),
            f"  rows read   {self.num_rows:,}, ids {self.smallest_id:,} to {self.largest_id:,}",
            f"  self-loops  {self.num_self_loops:,}",
            f"  duplicates  {self.num_duplicates:,}",
            f"  time        {self.seconds:.1f} s, {self.num_rows / max(self.seconds, 1e-9) / 1e6:.1f} M edges/s",
            f"  memory      {byte_text(self.peak_memory)} at most, {byte_text(self.spilled)} spilled to disk",
        ]
        if self.unused_columns:
            lines.append(f"  not used    columns {', '.join(self.unused_columns)}")
        if self.num_bad_lines:
            lines.append(f"  bad lines   {self.num_bad_lines:,} skipped")
            lines += [f"    line {bad.line:,}: {bad.reason}: {bad.text}" for bad in self.first_bad_lines[:5]]
        return "\n".join(map(visible, lines))


@take_on_bad_line
@renamed_keywords(dedup=("duplicates", lambda wanted: "drop" if wanted else "keep"))
def convert_edges(
    source: Any,
    path: str | os.PathLike[str],
    *,
    directed: bool = True,
    index: Literal["both", "out", "in"] = "both",
    src: Column | None = None,
    dst: Column | None = None,
    weight: Column | bool | None = None,
    time: Column | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    comment: str | None = None,
    num_nodes: int | tuple[int, int] | None = None,
    duplicates: Literal["keep", "drop"] = "keep",
    self_loops: Literal["keep", "drop"] = "keep",
    edge_ids: bool = True,
    ids: Literal["auto", "dense", "map"] = "auto",
    ids_path: str | os.PathLike[str] | None = None,
    bad_lines: Literal["raise", "skip"] = "raise",
    memory: int | str | None = None,
    tmp_dir: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress = False,
) -> ConversionReport:
    r"""Convert edges from almost anything to a ``.gl`` file, which appears whole or not at all.

    The edge id of an edge is its row in the input; lines that are skipped do not count.

    Args:
        source: A text file (plain, gzip, zstd, bzip2 or xz), several of them, a glob, an open binary file, ``.npy``,
            ``.npz``, Parquet, Arrow, Matrix Market, GAP ``.sg``, arrays, a data frame, a scipy matrix, a PyG, NetworkX
            or DGL graph, or an iterator of ``(src, dst[, weight][, time])`` batches.
        path: The file to write.
        directed: ``False`` stores each edge both ways under one edge id, a self-loop twice.
        index: Which lists to store: of out-neighbours, of in-neighbours, or both.
        src: The column of sources, by name or position. Default: found by its name, else the first.
        dst: The column of destinations. Default: found by its name, else the second.
        weight: The column of weights; ``False`` ignores those that the source has. Default: the source's own, but no
            column of a text.
        time: The column of timestamps. Default: the source's own, but no column of a text.
        header: Whether a text begins with a header. Default: guessed, or refused if in doubt.
        delimiter: What separates the columns of a text; ``" "`` stands for any run of blanks. Default: guessed.
        comment: The characters that begin a line to ignore. Default: ``"#%"``.
        num_nodes: The number of nodes, or ``(sources, destinations)`` of a bipartite graph. Default: the largest id
            plus 1.
        duplicates: ``"drop"`` keeps only the first of equal edges.
        self_loops: ``"drop"`` leaves out edges from a node to itself.
        edge_ids: ``False`` saves the space of edge ids in a graph with one index.
        ids: ``"dense"`` uses integers as they are. ``"map"`` numbers labels in sorted order and keeps them in a
            dictionary; the source is then read twice. ``"auto"`` maps text only.
        ids_path: The dictionary to write, which [`IdDictionary`][graphzero.IdDictionary] opens. Default: ``path`` with
            the ending ``.gi``.
        bad_lines: ``"raise"`` names file, line and text of the first malformed line, ``"skip"`` counts them in the
            report.
        memory: Bytes to hold, a number or a size such as ``"2GB"``. Default: half of what is available, at most 8 GB.
        tmp_dir: The folder for what does not fit. Default: ``GRAPHZERO_TMPDIR``, else the folder of ``path``.
        threads: The number of threads. Default: [`num_threads`][graphzero.num_threads].
        progress: ``True`` shows bars on standard error. A function is called with what is done and all there is
            (``None``: not known) of each step in turn, maybe from another thread; what it raises ends the conversion.

    Returns:
        A report.

    Raises:
        ValueError: A line is malformed, ids look sparse, or options do not suit the source.
        OSError: A file cannot be read or written.

    Examples:
        >>> with open("edges.csv", "w") as file:
        ...     _ = file.write("src,dst\n0,1\n0,2\n3,0\n")
        >>> report = convert_edges("edges.csv", "graph.gl")
        >>> report.num_edges, report.num_src_nodes
        (3, 4)
    """
    begin = clock.perf_counter()
    target = os.fsdecode(path)
    folder = os.fsdecode(tmp_dir or spill_folder(target))
    if tmp_dir is not None and not os.path.isdir(folder):
        raise value_error("tmp_dir", f"expected a folder, found none at {folder}")
    budget = conversion_budget(memory)
    skip_bad_lines = is_chosen(bad_lines, "bad_lines", "skip", "raise")
    text = TextOptions(src, dst, weight, time, header, delimiter, comment, skip_bad_lines)
    feed = edge_feed(source, target, text, tmp_dir=folder, block=max(1 << 20, budget // 16))
    check_choice(ids, "ids", "auto", "dense", "map")
    mapped = ids == "map" or (ids == "auto" and feed.has_labels)
    if feed.has_labels and not mapped:
        raise labels_without_map(feed.name)

    known_nodes = feed.num_nodes if num_nodes is None else num_nodes
    options = writer_options(known_nodes, index, directed and not feed.undirected)
    options.memory = budget
    options.temporary_folder = path_bytes(folder)
    options.weights, options.times, options.edge_ids = feed.has_weight, feed.has_time, edge_ids
    options.drop_duplicates = is_chosen(duplicates, "duplicates", "drop", "keep")
    options.drop_self_loops = is_chosen(self_loops, "self_loops", "drop", "keep")
    options.skip_bad_lines = skip_bad_lines
    drops = options.drop_duplicates or options.drop_self_loops
    known = 0 if drops or feed.unit != "edges" else feed.total or 0
    nodes = (options.num_src_nodes or 0, options.num_dst_nodes or 0)
    check_free_space(target, graph_bytes(nodes, known, index if options.directed else "out"))
    # A thread fills some thousand blocks at once; more threads than the budget has room for would break it.
    most_threads = max(1, budget // _MEMORY_PER_THREAD)
    with using_threads(min(threads or _core.num_threads(), most_threads)), contextlib.ExitStack() as stack:
        if mapped:
            if options.bipartite:
                raise error_of(ValueError, Setting("ids", "map"), ": expected one kind of node, found num_nodes of two")
            final = os.fsdecode(ids_path) if ids_path is not None else os.path.splitext(target)[0] + ".gi"
            new_ids = os.path.join(stack.enter_context(hidden_folder(final)), "ids.gi")
            dictionary = _Dictionary(feed, new_ids, budget // 2, folder, progress)
            dictionary.refuse_headers_of_labels()
            new_graph = os.path.join(stack.enter_context(hidden_folder(target)), os.path.basename(target))
            if num_nodes is None:
                options.num_src_nodes = options.num_dst_nodes = len(dictionary)
        converter = _core.EdgeConverter(options)
        with watching(progress, "reading", feed.total, feed.unit, lambda: feed.done(converter)):
            dictionary.run(converter) if mapped else feed.run(converter)
        if known_nodes is None and not mapped:
            _refuse_sparse_ids(converter, feed.name)
        entries = converter.done().rows * (2 if index == "both" or not options.directed else 1)
        with watching(progress, "sorting and writing", entries, "edges", lambda: converter.done().entries):
            found = converter.finish(path_bytes(new_graph if mapped else target))
        if mapped:
            replace_together({new_ids: final, new_graph: target})
    num_bad, bad = (getattr(feed, "num_bad", 0), getattr(feed, "bad", [])) if mapped else (0, [])
    return ConversionReport(
        path=target,
        ids_path=final if mapped else None,
        num_rows=found.num_rows,
        num_edges=found.num_edges,
        num_src_nodes=found.num_src_nodes,
        num_dst_nodes=found.num_dst_nodes,
        smallest_id=found.smallest_id,
        largest_id=found.largest_id,
        num_self_loops=found.num_self_loops,
        num_duplicates=found.num_duplicates,
        num_bad_lines=found.num_bad_lines + num_bad,
        first_bad_lines=tuple(
            BadLine(line.line, line.text.decode(errors="replace"), line.reason.decode(errors="replace"))
            for line in [*found.bad_lines, *bad]
        ),
        unused_columns=feed.unused_columns,
        size=os.path.getsize(target),
        spilled=found.spilled_bytes,
        seconds=clock.perf_counter() - begin,
        peak_memory=peak_memory(),
    )


class _Dictionary:
    """The dictionary of a conversion: built in a first pass, used in a second."""

    def __init__(self, feed: Feed, path: str, memory: int, folder: str, progress: Progress) -> None:
        self._feed = feed
        self._path = path_bytes(path)
        self._core = self._build(memory, folder, progress)

    def _build(self, memory: int, folder: str, progress: Progress) -> _core.IdDictionary:
        builder: _core.IdBuilder | None = None
        count = 0
        with watching(progress, "collecting labels", None, "edges", lambda: count):
            for batch in self._feed.labels():
                if builder is None:
                    kind = _core.LabelKind.STRING if isinstance(batch.src, tuple) else _core.LabelKind.INTEGER
                    builder = _core.IdBuilder(self._path, kind, memory, path_bytes(folder))
                for labels in (batch.src, batch.dst):
                    if isinstance(labels, tuple):
                        builder.add_strings(*labels)
                    else:
                        builder.add_integers(labels)
                count += len(batch.src[1]) - 1 if isinstance(batch.src, tuple) else len(batch.src)
            if builder is None:
                builder = _core.IdBuilder(self._path, _core.LabelKind.STRING, memory, path_bytes(folder))
            builder.finish()
        return _core.IdDictionary(self._path)

    def __len__(self) -> int:
        return self._core.num_labels

    def refuse_headers_of_labels(self) -> None:
        """Refuse a first line that was taken for a header, but names a node: it may be an edge."""
        if self._core.kind != _core.LabelKind.STRING:
            return
        for name, ends in self._feed.guessed_headers.items():
            found = self._core.translate_strings(*_core.pack_labels(list(ends), "header"), False)
            if found.max() >= 0:
                refuse_doubtful_header(name, ", ".join(ends))

    def run(self, converter: _core.EdgeConverter) -> None:
        """Add all edges with their labels turned into ids."""
        for batch in self._feed.labels():
            converter.add_edges(self._ids(batch.src), self._ids(batch.dst), batch.weight, batch.time)

    def _ids(self, labels: Labels) -> Any:
        if isinstance(labels, tuple):
            return self._core.translate_strings(*labels, True)
        return self._core.translate_integers(labels, True)


def convert_csv_to_gl(
    csv_path: str | os.PathLike[str] | None = None,
    out_path: str | os.PathLike[str] | None = None,
    directed: bool = False,
    *,
    input_csv: str | os.PathLike[str] | None = None,
    output_bin: str | os.PathLike[str] | None = None,
) -> None:
    """Convert a text of ``source, destination[, weight]`` lines, under GraphZero 0.2's name.

    Args:
        csv_path: The text.
        out_path: The file to write.
        directed: ``False`` stores each row both ways, a self-loop twice.
        input_csv: Another name for ``csv_path``.
        output_bin: Another name for ``out_path``.
    """
    source, target = csv_path or input_csv, out_path or output_bin
    if source is None or target is None:
        raise TypeError("convert_csv_to_gl: expected csv_path (or input_csv) and out_path (or output_bin)")
    paths = text_paths(source) or []
    with open_text(paths[0]) as file:
        columns = _core.sniff_block(path_bytes(paths[0]), file.read(1 << 16)).num_columns
    convert_edges(source, target, directed=directed, weight=2 if columns > 2 else None)


def _refuse_sparse_ids(converter: _core.EdgeConverter, name: str) -> None:
    done = converter.done()
    if done.largest_id >= _SPARSE * (done.rows + 1024):
        raise error_of(
            ValueError,
            f"{name}: the largest id is {done.largest_id}, but there are only {done.rows} edges: the ids look sparse, "
            f"and an index over all of them would take {byte_text(8 * done.largest_id)}; give ",
            Setting("ids", "map"), " to number them, or ", Setting("num_nodes"), " if they are meant to be dense",
        )  # fmt: skip

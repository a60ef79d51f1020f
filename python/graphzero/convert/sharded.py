"""A conversion of edges in steps that any number of machines can run: through files in a folder that all of them see.

``plan_shards()`` once, ``partition_edges()`` for each task, ``compile_shard()`` for each index and shard, and
``commit_shards()`` once. Where ids are labels, ``collect_labels()`` for each task and ``merge_labels()`` once come
before ``partition_edges()``. The tasks of a step may run in any order, at the same time, and again: a file of theirs
appears whole or not at all. The graph is the one that ``convert_edges()`` writes, byte for byte.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import json
import os
import re
import time as clock
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from graphzero import _core
from graphzero._base.argument_errors import error_of, parts_of, type_error, value_error
from graphzero._base.integers import integer, integer_from
from graphzero._base.memory_sizes import byte_count, conversion_budget, peak_memory
from graphzero._core import FormatError
from graphzero._files.folder import (
    check_regular,
    hidden_folder,
    link_or_copy,
    lock_path,
    remove,
    replace_together,
)
from graphzero._files.manifest import (
    LARGEST_MANIFEST,
    MANIFEST,
    EdgeRecord,
    FileRecord,
    Manifest,
    NodeRecord,
    Part,
    PartsRecord,
    graph_path,
    manifest_text,
    parsed_manifest,
)
from graphzero._files.mounted import path_bytes
from graphzero._files.part_header import PartHeader
from graphzero._files.progress import Progress, watching
from graphzero._files.storage import (
    StoredPath,
    facts_of,
    is_there,
    is_url,
    located,
    read_range,
    size_of,
    write_stored,
)
from graphzero.convert.conversion_report import ConversionReport
from graphzero.convert.edge_feeds import (
    BatchFeed,
    Column,
    Feed,
    FileFeed,
    StreamFeed,
    TextOptions,
    edge_feed,
    labels_without_map,
)
from graphzero.convert.edge_labels import (
    EdgeTranslator,
    LabelCollector,
    dictionary_paths,
    refuse_headers_of_labels,
)
from graphzero.convert.edge_options import edge_options, refuse_unmapped_ids, threads_within
from graphzero.convert.edge_sources import range_source, source_ranges
from graphzero.convert.label_lookup import LabelLookup
from graphzero.convert.step_files import RecordTables, StepFiles
from graphzero.convert.stored import stored_paths
from graphzero.convert.text import is_chosen, text_paths
from graphzero.ids import IdDictionary
from graphzero.threads import using_threads

_PLAN = "plan.json"
_VERSION = 2
_TEXT_BLOCK = 1 << 20
_LABELS = ".labels.gi"  # how names of files with labels end

# Files that steps, attempts at them and drivers leave in their folder.
_STEP_FILE = re.compile(
    r"plan\.json|\.[0-9a-f]{32}\.graphzero-seen|"
    r"\.?(all|src|dst|(task|out|in)-\d{6}(-all|-src|-dst)?)\.[0-9a-f]{12}\.(records|part|labels\.gi)"
    r"(\.[0-9a-f]{16}\.graphzero-tmp)?"
)

# Where dictionaries go, as users say it.
IdsPath: TypeAlias = "str | os.PathLike[str] | tuple[str | os.PathLike[str], str | os.PathLike[str]]"

_Result = TypeVar("_Result")

# What the core is told of a graph, and a plan keeps.
_CORE_OPTIONS = (
    "directed", "bipartite", "out_index", "in_index", "edge_ids", "weights", "times", "drop_duplicates",
    "drop_self_loops", "skip_bad_lines", "num_src_nodes", "num_dst_nodes",
)  # fmt: skip
_DIRECTIONS = {"out": _core.Direction.OUT, "in": _core.Direction.IN}


@dataclass(frozen=True)
class ShardPlan:
    """The steps of a conversion in shards.

    Attributes:
        folder: The folder that holds the plan, and the files that steps exchange.
        num_tasks: How many tasks ``partition_edges()`` has.
        shards: How many parts of an index ``compile_shard()`` makes.
        indexes: Which indexes it makes them of: ``"out"``, ``"in"`` or both.
        has_labels: Whether ids are labels, so that ``collect_labels()`` and ``merge_labels()`` come first.
    """

    folder: str
    num_tasks: int
    shards: int
    indexes: tuple[Literal["out", "in"], ...]
    has_labels: bool = False


@dataclass(frozen=True)
class _Piece:
    """A file, or a range of it: of bytes of text, rows of an array, row groups of a Parquet file."""

    path: str
    size: int  # of the file, when it was planned
    begin: int | None = None
    end: int | None = None


def plan_shards(
    source: Any,
    folder: str | os.PathLike[str],
    *,
    shards: int,
    task_size: int | str = "1GB",
    directed: bool = True,
    index: Literal["both", "out", "in"] = "both",
    src: Column | None = None,
    dst: Column | None = None,
    weight: Column | bool | None = None,
    time: Column | None = None,
    time_unit: Literal["s", "ms", "us", "ns"] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    comment: str | None = None,
    num_nodes: int | tuple[int, int] | None = None,
    bipartite: bool = False,
    duplicates: Literal["keep", "drop"] = "keep",
    self_loops: Literal["keep", "drop"] = "keep",
    edge_ids: bool = True,
    ids: Literal["auto", "dense", "map"] = "auto",
    bad_lines: Literal["raise", "skip"] = "raise",
) -> ShardPlan:
    r"""Plan a conversion in shards: cut its files into tasks, and keep what every step has to know.

    What is said here in few words is the same as in [`convert_edges`][graphzero.convert_edges]. Only the first lines of
    a text, and headers and footers of other files, are read.

    Args:
        source: Files: a path, a list of paths, or a glob; or URLs, whose credentials the plan does not keep. Plain
            text, Parquet and ``.npy`` files are cut; any other file, and text in storage, is read by one task.
        folder: The folder for the plan and the files of the steps, which all machines see; it is made if missing. Or
            a URL, such as ``s3://bucket/steps``: a step then keeps what it works on in ``GRAPHZERO_TMPDIR``, or where
            the system has temporary files.
        shards: The number of parts of each index. They hold about as many edges each.
        task_size: How much of the source a task reads, in bytes or as a size such as ``"1GB"``.
        directed: ``False`` stores each edge both ways.
        index: Which lists to store.
        src: The column of sources.
        dst: The column of destinations.
        weight: The column of weights.
        time: The column of timestamps.
        time_unit: What timestamps become.
        header: Whether a text begins with a header.
        delimiter: What separates the columns of a text.
        comment: The characters that begin a line to ignore.
        num_nodes: The number of nodes, or ``(sources, destinations)``. Default: the largest id plus 1.
        bipartite: Whether sources and destinations are two kinds of node.
        duplicates: ``"drop"`` keeps only the first of equal edges.
        self_loops: ``"drop"`` leaves out edges from a node to itself.
        edge_ids: ``False`` saves the space of edge ids in a graph with one index.
        ids: ``"dense"`` uses integers as they are, ``"map"`` numbers labels, ``"auto"`` numbers text only.
        bad_lines: ``"raise"`` or ``"skip"``.

    Returns:
        The plan.

    Raises:
        ValueError: Options do not suit the source.
        TypeError: The source is not made of files, or ids are labels that are not to be numbered.

    Examples:
        >>> with open("edges.csv", "w") as file:
        ...     _ = file.write("src,dst\n0,1\n0,2\n3,0\n")
        >>> plan = plan_shards("edges.csv", "steps", shards=2)
        >>> for task in range(plan.num_tasks):
        ...     partition_edges("steps", task)
        >>> for name in plan.indexes:
        ...     for shard in range(plan.shards):
        ...         compile_shard("steps", name, shard)
        >>> commit_shards("steps", "graph.gl").num_edges
        3
    """
    shards = integer_from(shards, 1, "shards")
    size = integer_from(byte_count(task_size, "task_size"), 1, "task_size")
    text = TextOptions(
        src,
        dst,
        weight,
        time,
        time_unit,
        header,
        delimiter,
        comment,
        is_chosen(bad_lines, "bad_lines", "skip", "raise"),
    )
    paths = text_paths(stored_paths(source))
    if paths is None:
        raise type_error(
            "source", f"expected files for a conversion in shards, found {type(source).__name__}; write it to one"
        )
    files = StepFiles(folder)
    files.make()
    with files.scratch() as scratch:
        feed = edge_feed(list(paths), scratch, text, directed=directed, tmp_dir=scratch, block=_TEXT_BLOCK)
        if isinstance(feed, StreamFeed) and not isinstance(feed, FileFeed):
            for name in paths:
                if not isinstance(name, StoredPath):
                    check_regular(name)
        has_labels = ids == "map" or (ids == "auto" and feed.has_labels)
        if feed.has_labels and not has_labels:
            raise labels_without_map(feed.name)
        if has_labels and isinstance(feed, FileFeed):
            feed.look()
    if time_unit is not None and not feed.has_time:
        raise value_error("time_unit", "expected a column of times, found none")
    options = edge_options(
        feed, num_nodes=num_nodes, index=index, directed=directed, bipartite=bipartite, duplicates=duplicates,
        self_loops=self_loops, edge_ids=edge_ids, skip_bad_lines=text.skip_bad_lines,
    )  # fmt: skip
    options.memory = 1 << 30
    _core.EdgeConverter(options)  # refuses options that exclude each other, before any task runs
    pieces = list(_text_pieces(feed, size) if isinstance(feed, FileFeed) else _file_pieces(paths, size))
    plan = {
        "version": _VERSION,
        "name": feed.name,
        "modified": [_modified(path) for path in paths],
        "shards": shards,
        "directed": directed,
        "is_text": isinstance(feed, FileFeed),
        "finds_nodes": num_nodes is None and feed.num_nodes is None and not has_labels,
        "has_labels": has_labels,
        "counts_labels": has_labels and num_nodes is None,
        "labels_are_text": isinstance(feed, StreamFeed) and feed.labels_are_text,
        "guessed_headers": feed.guessed_headers,
        "time_unit": feed.time_unit if feed.has_time else None,
        "unused_columns": feed.unused_columns,
        "text": dataclasses.asdict(text),
        "options": {name: getattr(options, name) for name in _CORE_OPTIONS},
        "tasks": [[dataclasses.astuple(piece) for piece in task] for task in _tasks(pieces, size)],
    }
    files.replace(_PLAN, json.dumps(plan, indent=1).encode())
    return _Conversion(files.folder).plan


def collect_labels(
    folder: str | os.PathLike[str], task: int, *, memory: int | str | None = None, threads: int | None = None
) -> None:
    """Read the labels of one task, and write each once, in sorted order.

    Args:
        folder: The folder of the plan.
        task: Which task, from 0 on.
        memory: Bytes to hold. Default: as in [`convert_edges`][graphzero.convert_edges].
        threads: The number of threads.

    Raises:
        ValueError: A line is malformed, or a file has changed since it was planned.
        OSError: A file cannot be read or written.
    """
    conversion = _Conversion(folder)
    pieces = conversion.unchanged_pieces(task)
    budget = conversion_budget(memory)
    files, names = conversion.files, conversion.labels(task)
    with files.scratch() as scratch:

        def collect(count_lines: bool) -> None:
            labels = LabelCollector([files.written(name, scratch) for name in names], budget // 2, scratch)
            for piece in pieces:
                labels.read(conversion.label_feed(piece, budget, scratch, count_lines=count_lines))
            labels.finish()

        with using_threads(threads_within(budget, threads)):
            _counting_lines_for_errors(pieces, collect)
        for name in names:
            files.finish(name, scratch)


def merge_labels(
    folder: str | os.PathLike[str], *, memory: int | str | None = None, threads: int | None = None
) -> None:
    """Number the labels of all tasks in sorted order, and write the dictionary, or those of both ends.

    Args:
        folder: The folder of the plan.
        memory: Bytes to hold. Default: as in [`convert_edges`][graphzero.convert_edges].
        threads: The number of threads.

    Raises:
        ValueError: The labels of a task are damaged, or what was taken for a header names a node.
        OSError: A file cannot be read or written; that of a task is missing.
    """
    conversion = _Conversion(folder)
    budget = conversion_budget(memory)
    files, names, tasks = conversion.files, conversion.dictionaries(), range(conversion.plan.num_tasks)
    for task in tasks:
        for name in conversion.labels(task):
            files.expect(name, f"collect_labels(folder, {task})")
    with files.scratch() as scratch, using_threads(threads_within(budget, threads)):
        # They take their names in the end: a header that turns out to be an edge leaves nothing behind.
        with hidden_folder(os.path.join(scratch, names[0])) as hidden:
            new = [os.path.join(hidden, name) for name in names]
            merged = LabelCollector(new, budget // 2, scratch)
            for task in tasks:
                with files.held(conversion.labels(task), scratch) as paths:
                    for which, path in enumerate(paths):
                        with IdDictionary(path, verify="full") as labels:
                            if len(labels):  # those of a task without edges are of no kind
                                merged.builder(which, labels._core.kind).add_dictionary(labels._core)
            merged.finish()
            with _mounted(new) as lookups:
                refuse_headers_of_labels(conversion.told["guessed_headers"], lookups)
            for path, name in zip(new, names, strict=True):
                os.replace(path, files.written(name, scratch))
        for name in names:
            files.finish(name, scratch)


def partition_edges(
    folder: str | os.PathLike[str], task: int, *, memory: int | str | None = None, threads: int | None = None
) -> None:
    """Read the edges of one task, and write them to the folder, grouped by ranges of nodes.

    Args:
        folder: The folder of the plan.
        task: Which task, from 0 on.
        memory: Bytes to hold. Default: as in [`convert_edges`][graphzero.convert_edges].
        threads: The number of threads.

    Raises:
        ValueError: A line is malformed, or a file has changed since it was planned.
        OSError: A file cannot be read or written.
    """
    conversion = _Conversion(folder)
    pieces = conversion.unchanged_pieces(task)
    files, name = conversion.files, conversion.records(task)
    with files.scratch() as scratch:
        options = conversion.options(memory, scratch)
        with using_threads(threads_within(options.memory, threads)), conversion.lookups(scratch) as lookups:
            converter, num_bad = conversion.converter(task, pieces, options, lookups)
            converter.finish_records(path_bytes(files.written(name, scratch)), num_bad)
        files.finish(name, scratch)


def compile_shard(
    folder: str | os.PathLike[str],
    index: Literal["out", "in"],
    shard: int,
    *,
    memory: int | str | None = None,
    threads: int | None = None,
) -> None:
    """Sort the edges of one range of nodes, from the files of all tasks, into a part of an index.

    Args:
        folder: The folder of the plan.
        index: ``"out"`` or ``"in"``, one of those that the plan has.
        shard: Which range, from 0 on.
        memory: Bytes to hold. Default: as in [`convert_edges`][graphzero.convert_edges].
        threads: The number of threads.

    Raises:
        ValueError: Ids look sparse, or the file of a task is damaged.
        OSError: A file cannot be read or written; that of a task is missing.
    """
    conversion = _Conversion(folder)
    plan = conversion.plan
    if index not in plan.indexes:
        raise value_error("index", f"expected {' or '.join(map(repr, plan.indexes))}, as planned, found {index!r}")
    place = _place(shard, plan.shards, "shard")
    files, name = conversion.files, conversion.part(index, place)
    with files.scratch() as scratch:
        options = conversion.options(memory, scratch)
        with using_threads(threads_within(options.memory, threads)):
            tables = conversion.tables(scratch)
            records = conversion.record_set(tables, options)
            tables.bring(records.slices(_DIRECTIONS[index], place, plan.shards))
            _core.compile_part(
                records, _DIRECTIONS[index], place, plan.shards, path_bytes(files.written(name, scratch))
            )
        files.finish(name, scratch)


def commit_shards(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    ids_path: IdsPath | None = None,
    threads: int | None = None,
) -> ConversionReport:
    """Put all parts together as one graph, which appears whole or not at all.

    Nothing is removed from the folder.

    Args:
        folder: The folder of the plan.
        path: The ``.gl`` file to write. Or a URL, such as ``s3://bucket/name``: parts stay parts there, under a
            manifest that is written last, and ``stage`` puts them together. They are not copied if the folder of the
            plan is below this URL. A graph in parts that is there is replaced, any other data set is not.
        ids_path: The dictionary of labels to write, or those of both ends. Default: as in
            [`convert_edges`][graphzero.convert_edges]; at a URL, it is part of the data set.
        threads: The number of threads.

    Returns:
        A report. Bytes that went through files of the folder count as spilled; bad lines are counted, not shown.

    Raises:
        ValueError: A part is damaged.
        OSError: A file cannot be read or written; a part is missing.
    """
    begin = clock.perf_counter()
    conversion = _Conversion(folder)
    plan, files = conversion.plan, conversion.files
    names = {
        index: [conversion.part(index, shard) for shard in range(plan.shards)] if index in plan.indexes else []
        for index in _DIRECTIONS
    }
    conversion.check_target(path, ids_path)
    with files.scratch() as scratch, using_threads(threads):
        totals = conversion.record_set(conversion.tables(scratch), conversion.options(None, scratch)).totals
        for index, parts in names.items():
            for shard, name in enumerate(parts):
                files.expect(name, f"compile_shard(folder, {index!r}, {shard})")
                _check_graph(files.path(name), files.header(name), totals)
        if is_url(path):
            made = _commit_stored(conversion, names, located(path))
        else:
            made = _commit_here(conversion, names, os.fsdecode(path), ids_path, scratch)
    exchanged = [*map(conversion.records, range(plan.num_tasks)), *names["out"], *names["in"]]
    return ConversionReport(
        path=made.path,
        ids_path=made.ids[0] if made.ids else None,
        dst_ids_path=made.ids[1] if len(made.ids) == 2 else None,
        num_rows=totals.num_rows,
        num_edges=made.num_edges,
        num_src_nodes=totals.num_src_nodes,
        num_dst_nodes=totals.num_dst_nodes,
        smallest_id=totals.smallest_id,
        largest_id=totals.largest_id,
        num_self_loops=totals.num_self_loops,
        num_duplicates=made.num_duplicates,
        num_bad_lines=totals.num_bad_lines,
        first_bad_lines=(),
        unused_columns=tuple(conversion.told["unused_columns"]),
        size=made.size,
        spilled=totals.spilled_bytes + sum(size_of(files.path(name)) for name in exchanged),
        seconds=clock.perf_counter() - begin,
        peak_memory=peak_memory(),
        time_unit=conversion.told["time_unit"],
    )


def _check_graph(path: str, found: PartHeader, totals: Any) -> None:
    """Refuse a part of another graph, whose name somebody has changed."""
    nodes = (totals.num_src_nodes, totals.num_dst_nodes)
    if (found.num_nodes, found.num_rows) != (nodes, totals.num_rows):
        raise FormatError(
            f"{path}: expected a part of a graph of {nodes[0]} and {nodes[1]} nodes and {totals.num_rows} input edges, "
            f"found one of {found.num_nodes[0]}, {found.num_nodes[1]} and {found.num_rows}; repeat the step that wrote "
            "it"
        )


@dataclass(frozen=True)
class _Made:
    """What a commit has written."""

    path: str
    ids: list[str]
    num_edges: int
    num_duplicates: int
    size: int


def _commit_here(
    conversion: _Conversion, names: dict[str, list[str]], target: str, ids_path: IdsPath | None, scratch: str
) -> _Made:
    """Write a file, and the dictionaries of labels with it."""
    files, has_labels = conversion.files, conversion.plan.has_labels
    final_ids = dictionary_paths(ids_path, target, conversion.is_bipartite) if has_labels else []
    with contextlib.ExitStack() as stack:
        new_graph, new_ids = target, []
        if has_labels:
            new_graph = os.path.join(stack.enter_context(hidden_folder(target)), os.path.basename(target))
            new_ids = [os.path.join(stack.enter_context(hidden_folder(path)), "ids.gi") for path in final_ids]
        out_parts, in_parts = (
            [path_bytes(name) for name in files.brought(names[index], scratch)] for index in _DIRECTIONS
        )
        found = _core.assemble_graph(out_parts, in_parts, path_bytes(new_graph))
        if has_labels:
            for merged, new in zip(files.brought(conversion.dictionaries(), scratch), new_ids, strict=True):
                link_or_copy(merged, new)
            replace_together({**dict(zip(new_ids, final_ids, strict=True)), new_graph: target})
    return _Made(target, final_ids, found.num_edges, found.num_duplicates, os.path.getsize(target))


def _commit_stored(conversion: _Conversion, names: dict[str, list[str]], place: StoredPath) -> _Made:
    """Write a data set in storage whose graph is in parts, the manifest last."""
    files = conversion.files
    ends = ("src", "dst") if conversion.is_bipartite else ("node",)
    triple = (ends[0], "to", ends[-1])
    inside = files.inside(place)

    def bring(name: str, folder: str) -> str:
        """Return where a file is below the place; it is copied unless it is there."""
        if inside is not None:
            return f"{inside}{name}"
        files.copy(name, place / f"{folder}/{name}")
        return f"{folder}/{name}"

    parts, duplicates, size = [], {"out": 0, "in": 0}, 0
    for index, own in names.items():
        for name in own:
            header = files.header(name)
            target = bring(name, f"{graph_path(triple)}.parts")
            parts.append(Part(target, header.begin, header.end, header.fingerprint, index, header.edges))
            duplicates[index] += header.num_duplicates
            size += header.size
    nodes = {kind: NodeRecord(count, {}) for kind, count in zip(ends, header.num_nodes, strict=False)}
    ids = []
    if conversion.plan.has_labels:
        for kind, name in zip(ends, conversion.dictionaries(), strict=True):
            # Its name is that of the plan: one that a manifest of an older conversion names stays as it is.
            target = bring(name, f"nodes/{kind}")
            nodes[kind].ids = FileRecord(target, files.header(name).fingerprint)
            ids.append(str(place / target))
    manifest = Manifest(
        nodes=nodes,
        edges={
            triple: EdgeRecord(PartsRecord(graph_path(triple), 0, parts), {}, time_unit=conversion.told["time_unit"])
        },
    )
    write_stored(place / MANIFEST, iter([manifest_text(manifest)]))
    last = names["in"] or names["out"]
    edges = sum(part.edges or 0 for part in parts if part.file.endswith(tuple(last)))
    return _Made(str(place), ids, edges, duplicates["in" if names["in"] else "out"], size)


def check_target(folder: str | os.PathLike[str], path: str | os.PathLike[str], ids_path: IdsPath | None) -> None:
    """Refuse a target that ``commit_shards()`` would refuse, before any step runs."""
    _Conversion(folder).check_target(path, ids_path)


def _refuse_another(place: StoredPath) -> None:
    """Refuse a place that has a data set, unless a conversion in shards wrote it, and nobody added to it."""
    goal = place / MANIFEST
    if not is_there(goal):
        return
    try:
        old, _ = parsed_manifest(read_range(goal, 0, LARGEST_MANIFEST + 1), goal)
        others = [file for file in old.files() if not file.file.endswith(_LABELS)]
        ours = len(others) == len(old.edges) == 1 and isinstance(others[0], PartsRecord) and not old.metadata
    except FormatError:
        ours = False
    if not ours:
        raise FileExistsError(
            errno.EEXIST,
            f"has another data set, with more than a graph in parts; remove its {MANIFEST}, or write to another place",
            str(place),
        )


def run_shards(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    ids_path: IdsPath | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: Progress = False,
) -> ConversionReport:
    """Run the steps of a plan that are not done yet, here and one after the other.

    Args:
        folder: The folder of the plan.
        path: As in ``commit_shards()``.
        ids_path: The dictionary of labels to write, or those of both ends.
        memory: Bytes that a step may hold. Default: as in [`convert_edges`][graphzero.convert_edges].
        threads: The number of threads.
        progress: ``True`` shows bars. A function is called with what is done and all there is of each step in turn.

    Returns:
        A report, as of ``commit_shards()``.
    """
    begin = clock.perf_counter()
    check_target(folder, path, ids_path)
    for stage in stages(folder):
        done: list[Step] = []
        with watching(progress, stage.title, len(stage.steps), stage.unit, functools.partial(len, done)):
            for step in stage.steps:
                run_step(folder, step, memory=memory, threads=threads)
                done.append(step)
    report = commit_shards(folder, path, ids_path=ids_path, threads=threads)
    return dataclasses.replace(report, seconds=clock.perf_counter() - begin)


# The name of a step, and what it takes beside the folder.
Step: TypeAlias = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Stage:
    """Steps that may run at the same time, when those of the stage before are done."""

    title: str
    unit: str
    steps: list[Step]


def stages(folder: str | os.PathLike[str]) -> Iterator[Stage]:
    """Yield the stages before the last one, each when that before is done, with the steps that have no file yet."""
    conversion = _Conversion(folder)
    plan = conversion.plan
    tasks = range(plan.num_tasks)

    def are_there(*names: str) -> bool:
        return all(map(conversion.files.has, names))

    if plan.has_labels and not are_there(*conversion.dictionaries()):
        missing: list[Step] = [("collect_labels", (task,)) for task in tasks if not are_there(*conversion.labels(task))]
        yield Stage("collecting labels", "tasks", missing)
        yield Stage("numbering labels", "dictionaries", [("merge_labels", ())])
    missing = [("partition_edges", (task,)) for task in tasks if not are_there(conversion.records(task))]
    yield Stage("partitioning", "tasks", missing)
    missing = [
        ("compile_shard", (index, shard))
        for index in plan.indexes
        for shard in range(plan.shards)
        if not are_there(conversion.part(index, shard))
    ]
    yield Stage("sorting", "shards", missing)


def run_step(
    folder: str | os.PathLike[str], step: Step, *, memory: int | str | None = None, threads: int | None = None
) -> None:
    """Run one of the steps of a stage."""
    steps: dict[str, Callable[..., None]] = {
        "collect_labels": collect_labels,
        "merge_labels": merge_labels,
        "partition_edges": partition_edges,
        "compile_shard": compile_shard,
    }
    name, details = step
    steps[name](folder, *details, memory=memory, threads=threads)


@contextlib.contextmanager
def work_folder(path: str) -> Iterator[str]:
    """Make a folder for steps, which stays if the block fails: the next one goes on with the files that are there."""
    os.makedirs(path, exist_ok=True)
    locked = os.path.join(path, ".graphzero-lock")  # not the folder itself, which may be that of the target
    with open(locked, "ab"):
        pass
    lock = lock_path(locked)
    if lock is None:
        raise OSError(errno.EBUSY, "another process converts here; wait for it, or name another folder", path)
    try:
        yield path
        for name in os.listdir(path):
            if _STEP_FILE.fullmatch(name):
                remove(os.path.join(path, name))
    finally:
        os.remove(locked)
        with contextlib.suppress(OSError):  # it is not empty
            os.rmdir(path)
        lock.release()


class _Conversion:
    """A plan as it was written, and where its files are."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.files = StepFiles(folder)
        self.folder = self.files.folder
        path = self.files.expect(_PLAN, "plan_shards()")
        content = self.files.read(_PLAN)
        self.told: dict[str, Any] = json.loads(content)
        # In the names of files, so that those of another plan are never taken for ours.
        import hashlib  # slow to load

        self.fingerprint = hashlib.sha256(content).hexdigest()[:12]
        if self.told.get("version") != _VERSION:
            raise ValueError(
                f"{path}: expected a plan of version {_VERSION}, found {self.told.get('version')}; plan it again"
            )
        self.text = TextOptions(**self.told["text"])
        self.pieces = [[_Piece(*piece) for piece in task] for task in self.told["tasks"]]
        told = self.told["options"]
        indexes: list[Literal["out", "in"]] = []
        if told["out_index"] or not told["directed"]:
            indexes.append("out")
        if told["in_index"] and told["directed"]:
            indexes.append("in")
        self.is_bipartite = bool(told["bipartite"])
        self.plan = ShardPlan(
            self.folder, len(self.pieces), self.told["shards"], tuple(indexes), self.told["has_labels"]
        )

    def records(self, task: int) -> str:
        return f"task-{task:06d}.{self.fingerprint}.records"

    def part(self, index: str, shard: int) -> str:
        return f"{index}-{shard:06d}.{self.fingerprint}.part"

    def labels(self, task: int) -> list[str]:
        """Return the files with the labels of a task: of all nodes, or of sources and of destinations."""
        return [self._labels(f"task-{task:06d}-{end}") for end in self._ends]

    def dictionaries(self) -> list[str]:
        """Return those of all tasks."""
        return [self._labels(end) for end in self._ends]

    @property
    def _ends(self) -> tuple[str, ...]:
        return ("src", "dst") if self.is_bipartite else ("all",)

    def _labels(self, name: str) -> str:
        return f"{name}.{self.fingerprint}{_LABELS}"

    def lookups(self, scratch: str) -> AbstractContextManager[tuple[LabelLookup, ...]]:
        """Mount the dictionaries for a block; there are none where ids are integers."""
        if not self.plan.has_labels:
            return contextlib.nullcontext(())
        self._expect_dictionaries()
        return _mounted(self.files.brought(self.dictionaries(), scratch))

    def _expect_dictionaries(self) -> None:
        for name in self.dictionaries():
            self.files.expect(name, "merge_labels(folder)")

    def unchanged_pieces(self, task: int) -> list[_Piece]:
        """Return what a task reads, if it is as it was planned."""
        pieces = self.pieces[_place(task, len(self.pieces), "task")]
        for piece in pieces:
            if (found := size_of(_source(piece.path))) != piece.size:
                raise ValueError(
                    f"{piece.path}: expected {piece.size} bytes, as when it was planned, found {found}; plan it again"
                )
        return pieces

    def options(self, memory: int | str | None, scratch: str) -> _core.EdgeConverterOptions:
        options = _core.EdgeConverterOptions()
        for name, value in self.told["options"].items():
            setattr(options, name, value)
        options.memory = conversion_budget(memory)
        options.temporary_folder = path_bytes(scratch)
        if self.told["counts_labels"]:
            self._expect_dictionaries()
            with _mounted([self.files.with_header(name, scratch) for name in self.dictionaries()]) as lookups:
                options.num_src_nodes, options.num_dst_nodes = len(lookups[0]), len(lookups[-1])
        return options

    def converter(
        self, task: int, pieces: list[_Piece], options: _core.EdgeConverterOptions, lookups: tuple[LabelLookup, ...]
    ) -> tuple[_core.EdgeConverter, int]:
        """Return a converter that has read the edges of a task, and how many bad lines it has not seen itself."""
        try:
            return _counting_lines_for_errors(
                pieces, lambda count_lines: self._filled(pieces, options, lookups, count_lines=count_lines)
            )
        except IndexError as error:
            if task == 0:
                raise
            first = f"; edges are counted from the first one of task {task}, which begins with {pieces[0].path}"
            raise error_of(IndexError, *parts_of(error), first) from None

    def _filled(
        self,
        pieces: list[_Piece],
        options: _core.EdgeConverterOptions,
        lookups: tuple[LabelLookup, ...],
        *,
        count_lines: bool,
    ) -> tuple[_core.EdgeConverter, int]:
        converter = _core.EdgeConverter(options)
        scratch = os.fsdecode(options.temporary_folder)
        num_bad = 0
        for piece in pieces:
            if lookups:
                labels = self.label_feed(piece, options.memory, scratch, count_lines=count_lines)
                EdgeTranslator(labels, lookups, exist=False, skip_bad_lines=False).run(converter)
                num_bad += getattr(labels, "num_bad", 0)
                continue
            feed = self._feed(piece, options.memory, scratch)
            if isinstance(feed, FileFeed) and piece.begin is not None and piece.end is not None:
                feed.run_range(converter, piece.begin, piece.end, count_lines=count_lines)
            else:
                feed.run(converter)
        return converter, num_bad

    def label_feed(self, piece: _Piece, memory: int, scratch: str, *, count_lines: bool) -> Feed:
        """Return the edges of a piece, to be read with their labels."""
        feed = self._feed(piece, memory, scratch)
        if isinstance(feed, StreamFeed):
            feed.labels_are_text = self.told["labels_are_text"]
        if isinstance(feed, FileFeed) and piece.begin is not None and piece.end is not None:
            feed.keep_range(piece.begin, piece.end, count_lines=count_lines)
        return feed

    def _feed(self, piece: _Piece, memory: int, scratch: str) -> Feed:
        text, path = self.text, _source(piece.path)
        if not self.told["is_text"] and piece.begin is not None and piece.end is not None:
            source = range_source(
                path, piece.begin, piece.end, src=text.src, dst=text.dst, weight=text.weight, time=text.time,
                time_unit=text.time_unit,
            )  # fmt: skip
            return BatchFeed(source, text)
        return edge_feed(
            path, scratch, text, directed=self.told["directed"], tmp_dir=scratch, block=max(1 << 20, memory // 16)
        )

    def check_target(self, path: str | os.PathLike[str], ids_path: IdsPath | None) -> None:
        """Refuse a target that cannot be written."""
        if not is_url(path):
            return
        if ids_path is not None:
            raise value_error(
                "ids_path", "expected none, as a data set in storage has its dictionary of labels beside the graph"
            )
        if self.plan.has_labels and not self.told["counts_labels"]:
            raise value_error(
                "num_nodes",
                "expected none for labels of a data set in storage, where every node has one; plan it again",
            )
        _refuse_another(located(path))

    def tables(self, scratch: str) -> RecordTables:
        """Find what all tasks have written."""
        names = [self.records(task) for task in range(self.plan.num_tasks)]
        for task, name in enumerate(names):
            self.files.expect(name, f"partition_edges(folder, {task})")
        return self.files.tables(names, scratch)

    def record_set(self, tables: RecordTables, options: _core.EdgeConverterOptions) -> _core.RecordSet:
        """Open it."""
        records = _core.RecordSet([path_bytes(path) for path in tables.paths], options)
        if self.told["finds_nodes"]:
            refuse_unmapped_ids(records.totals.largest_id, records.totals.num_rows, self.told["name"])
        return records


@contextlib.contextmanager
def _mounted(paths: list[str]) -> Iterator[tuple[LabelLookup, ...]]:
    """Mount dictionaries for a block: Windows removes no file that is mapped."""
    with contextlib.ExitStack() as stack:
        yield tuple(LabelLookup(stack.enter_context(IdDictionary(path))) for path in paths)


def _source(path: str) -> str:
    """Return a file of the plan: URLs are found again, with the credentials of this machine."""
    return located(path) if is_url(path) else path


def _modified(path: str) -> int:
    return int(facts_of([path])[0].mtime_ns or 0) if isinstance(path, StoredPath) else os.stat(path).st_mtime_ns


def _counting_lines_for_errors(pieces: list[_Piece], read: Callable[[bool], _Result]) -> _Result:
    """Read pieces; if that fails, once more, so that the error has the number of the line in the file."""
    try:
        return read(False)
    except ValueError:
        if all(piece.begin is None for piece in pieces):
            raise
        return read(True)


def _place(value: int, count: int, name: str) -> int:
    place = integer(value, name)
    if not 0 <= place < count:
        raise value_error(name, f"expected 0 to {count - 1}, as planned, found {place}")
    return place


def _text_pieces(feed: FileFeed, size: int) -> Iterator[_Piece]:
    for path, begin, end in feed.ranges(size):
        yield _Piece(os.path.abspath(path), os.path.getsize(path), begin, end)


def _file_pieces(paths: list[str], size: int) -> Iterator[_Piece]:
    for path in paths:
        name = path if isinstance(path, StoredPath) else os.path.abspath(path)
        length = size_of(path)
        ranges = source_ranges(path, size)
        if ranges is None:
            yield _Piece(name, length)
        else:
            for begin, end in ranges:
                yield _Piece(name, length, begin, end)


def _tasks(pieces: list[_Piece], size: int) -> list[list[_Piece]]:
    """Join small files to tasks; there is always one task."""
    tasks: list[list[_Piece]] = [[]]
    held = 0
    for piece in pieces:
        length = min(piece.size, size)  # a range is as large as a task, or a small file
        if tasks[-1] and held + length > size:
            tasks.append([])
            held = 0
        tasks[-1].append(piece)
        held += length
    return tasks

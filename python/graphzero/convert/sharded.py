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
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from graphzero import _core
from graphzero._base.argument_errors import error_of, parts_of, type_error, value_error
from graphzero._base.integers import integer, integer_from
from graphzero._base.memory_sizes import byte_count, conversion_budget, peak_memory
from graphzero._files.folder import (
    check_regular,
    hidden_folder,
    link_or_copy,
    lock_path,
    remove,
    replace_file,
    replace_together,
)
from graphzero._files.mounted import path_bytes
from graphzero._files.progress import Progress, watching
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
from graphzero.convert.edge_options import edge_options, refuse_sparse_ids, threads_within
from graphzero.convert.edge_sources import range_source, source_ranges
from graphzero.convert.label_lookup import LabelLookup
from graphzero.convert.text import is_chosen, text_paths
from graphzero.ids import IdDictionary
from graphzero.threads import using_threads

_PLAN = "plan.json"
_VERSION = 2
_TEXT_BLOCK = 1 << 20

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
        source: Files: a path, a list of paths, or a glob. Plain text, Parquet and ``.npy`` files are
            cut; any other file is read by one task.
        folder: The folder for the plan and the files of the steps, which all machines see; it is made if missing.
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
    paths = text_paths(source)
    if paths is None:
        raise type_error(
            "source", f"expected files for a conversion in shards, found {type(source).__name__}; write it to one"
        )
    target = os.path.abspath(os.fsdecode(folder))
    os.makedirs(target, exist_ok=True)
    feed = edge_feed(list(paths), target, text, directed=directed, tmp_dir=target, block=_TEXT_BLOCK)
    if isinstance(feed, StreamFeed) and not isinstance(feed, FileFeed):
        for name in paths:
            check_regular(name)
        feed.look()
        if feed.has_labels and ids == "auto":  # as without shards, where nobody looks ahead
            raise labels_without_map(feed.name)
    has_labels = ids == "map" or (ids == "auto" and feed.has_labels)
    if feed.has_labels and not has_labels:
        raise labels_without_map(feed.name)
    if has_labels and isinstance(feed, StreamFeed):
        feed.look(mapped=True)
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
        "modified": [os.stat(path).st_mtime_ns for path in paths],
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
    replace_file(os.path.join(target, _PLAN), json.dumps(plan, indent=1).encode())
    return _Conversion(target).plan


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

    def collect(count_lines: bool) -> None:
        labels = LabelCollector(conversion.labels(task), budget // 2, conversion.folder)
        for piece in pieces:
            labels.read(conversion.label_feed(piece, budget, count_lines=count_lines))
        labels.finish()

    with using_threads(threads_within(budget, threads)):
        _counting_lines_for_errors(pieces, collect)


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
    paths = conversion.dictionaries()
    for task in range(conversion.plan.num_tasks):
        for path in conversion.labels(task):
            _expect(path, f"collect_labels(folder, {task})")
    with using_threads(threads_within(budget, threads)), contextlib.ExitStack() as stack:
        # They take their names in the end: a header that turns out to be an edge leaves nothing behind.
        hidden = stack.enter_context(hidden_folder(paths[0]))
        new = [os.path.join(hidden, os.path.basename(path)) for path in paths]
        merged = LabelCollector(new, budget // 2, conversion.folder)
        for task in range(conversion.plan.num_tasks):
            for which, path in enumerate(conversion.labels(task)):
                with IdDictionary(path, verify="full") as labels:
                    if len(labels):  # those of a task without edges are of no kind
                        merged.builder(which, labels._core.kind).add_dictionary(labels._core)
        merged.finish()
        refuse_headers_of_labels(conversion.told["guessed_headers"], tuple(map(LabelLookup, new)))
        for name, path in zip(new, paths, strict=True):
            os.replace(name, path)


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
    options = conversion.options(memory)
    with using_threads(threads_within(options.memory, threads)):
        try:
            converter, num_bad = _counting_lines_for_errors(
                pieces, lambda count_lines: conversion.filled(pieces, options, count_lines=count_lines)
            )
        except IndexError as error:
            if task == 0:
                raise
            first = f"; edges are counted from the first one of task {task}, which begins with {pieces[0].path}"
            raise error_of(IndexError, *parts_of(error), first) from None
        converter.finish_records(path_bytes(conversion.records(task)), num_bad)


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
    options = conversion.options(memory)
    with using_threads(threads_within(options.memory, threads)):
        records = conversion.record_set(options)
        path = path_bytes(conversion.part(index, place))
        _core.compile_part(records, _DIRECTIONS[index], place, plan.shards, path)


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
        path: The ``.gl`` file to write.
        ids_path: The dictionary of labels to write, or those of both ends. Default: as in
            [`convert_edges`][graphzero.convert_edges].
        threads: The number of threads.

    Returns:
        A report. Bytes that went through files of the folder count as spilled; bad lines are counted, not shown.

    Raises:
        ValueError: A part is damaged.
        OSError: A file cannot be read or written; a part is missing.
    """
    begin = clock.perf_counter()
    conversion = _Conversion(folder)
    plan = conversion.plan
    target = os.fsdecode(path)
    final_ids = dictionary_paths(ids_path, target, conversion.is_bipartite) if plan.has_labels else []
    with using_threads(threads), contextlib.ExitStack() as stack:
        new_graph, new_ids = target, []
        if plan.has_labels:
            new_graph = os.path.join(stack.enter_context(hidden_folder(target)), os.path.basename(target))
            new_ids = [os.path.join(stack.enter_context(hidden_folder(path)), "ids.gi") for path in final_ids]
        records = conversion.record_set(conversion.options(None))
        parts = {
            index: [conversion.part(index, shard) for shard in range(plan.shards)] if index in plan.indexes else []
            for index in _DIRECTIONS
        }
        for index, names in parts.items():
            for shard, name in enumerate(names):
                _expect(name, f"compile_shard(folder, {index!r}, {shard})")
        out_parts, in_parts = ([path_bytes(name) for name in parts[index]] for index in _DIRECTIONS)
        found = _core.assemble_graph(records, out_parts, in_parts, path_bytes(new_graph))
        if plan.has_labels:
            for merged, new in zip(conversion.dictionaries(), new_ids, strict=True):
                link_or_copy(merged, new)
            replace_together({**dict(zip(new_ids, final_ids, strict=True)), new_graph: target})
    exchanged = [*map(conversion.records, range(plan.num_tasks)), *parts["out"], *parts["in"]]
    return ConversionReport(
        path=target,
        ids_path=final_ids[0] if final_ids else None,
        dst_ids_path=final_ids[1] if len(final_ids) == 2 else None,
        num_rows=found.num_rows,
        num_edges=found.num_edges,
        num_src_nodes=found.num_src_nodes,
        num_dst_nodes=found.num_dst_nodes,
        smallest_id=found.smallest_id,
        largest_id=found.largest_id,
        num_self_loops=found.num_self_loops,
        num_duplicates=found.num_duplicates,
        num_bad_lines=found.num_bad_lines,
        first_bad_lines=(),
        unused_columns=tuple(conversion.told["unused_columns"]),
        size=os.path.getsize(target),
        spilled=found.spilled_bytes + sum(map(os.path.getsize, exchanged)),
        seconds=clock.perf_counter() - begin,
        peak_memory=peak_memory(),
        time_unit=conversion.told["time_unit"],
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
        path: The ``.gl`` file to write.
        ids_path: The dictionary of labels to write, or those of both ends.
        memory: Bytes that a step may hold. Default: as in [`convert_edges`][graphzero.convert_edges].
        threads: The number of threads.
        progress: ``True`` shows bars. A function is called with what is done and all there is of each step in turn.

    Returns:
        A report, as of ``commit_shards()``.
    """
    begin = clock.perf_counter()
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

    def are_there(*paths: str) -> bool:
        return all(map(os.path.exists, paths))

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
        os.close(lock)


class _Conversion:
    """A plan as it was written, and where its files are."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.path.abspath(os.fsdecode(folder))
        path = os.path.join(self.folder, _PLAN)
        _expect(path, "plan_shards()")
        with open(path, "rb") as file:
            content = file.read()
        self.told: dict[str, Any] = json.loads(content)
        # In the names of files, so that those of another plan are never taken for ours.
        import hashlib  # slow to load

        self._fingerprint = hashlib.sha256(content).hexdigest()[:12]
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
        return os.path.join(self.folder, f"task-{task:06d}.{self._fingerprint}.records")

    def part(self, index: str, shard: int) -> str:
        return os.path.join(self.folder, f"{index}-{shard:06d}.{self._fingerprint}.part")

    def labels(self, task: int) -> list[str]:
        """Where the labels of a task are: of all nodes, or of sources and of destinations."""
        ends = ("src", "dst") if self.is_bipartite else ("all",)
        return [self._labels(f"task-{task:06d}-{end}") for end in ends]

    def dictionaries(self) -> list[str]:
        """Where those of all tasks are."""
        return [self._labels(end) for end in (("src", "dst") if self.is_bipartite else ("all",))]

    def _labels(self, name: str) -> str:
        return os.path.join(self.folder, f"{name}.{self._fingerprint}.labels.gi")

    def lookups(self) -> tuple[LabelLookup, ...]:
        """Mount the dictionaries; there are none where ids are integers."""
        if not self.plan.has_labels:
            return ()
        for path in self.dictionaries():
            _expect(path, "merge_labels(folder)")
        return tuple(map(LabelLookup, self.dictionaries()))

    def unchanged_pieces(self, task: int) -> list[_Piece]:
        """Return what a task reads, if it is as it was planned."""
        pieces = self.pieces[_place(task, len(self.pieces), "task")]
        for piece in pieces:
            if (found := os.stat(piece.path).st_size) != piece.size:
                raise ValueError(
                    f"{piece.path}: expected {piece.size} bytes, as when it was planned, found {found}; plan it again"
                )
        return pieces

    def options(self, memory: int | str | None) -> _core.EdgeConverterOptions:
        options = _core.EdgeConverterOptions()
        for name, value in self.told["options"].items():
            setattr(options, name, value)
        options.memory = conversion_budget(memory)
        options.temporary_folder = path_bytes(self.folder)
        if self.told["counts_labels"]:
            lookups = self.lookups()
            options.num_src_nodes, options.num_dst_nodes = len(lookups[0]), len(lookups[-1])
        return options

    def filled(
        self, pieces: list[_Piece], options: _core.EdgeConverterOptions, *, count_lines: bool
    ) -> tuple[_core.EdgeConverter, int]:
        """Return a converter that has read the edges of a task, and how many bad lines it has not seen itself."""
        converter = _core.EdgeConverter(options)
        lookups = self.lookups()
        num_bad = 0
        for piece in pieces:
            if lookups:
                labels = self.label_feed(piece, options.memory, count_lines=count_lines)
                EdgeTranslator(labels, lookups, exist=False, skip_bad_lines=False).run(converter)
                num_bad += getattr(labels, "num_bad", 0)
                continue
            feed = self._feed(piece, options.memory)
            if isinstance(feed, FileFeed) and piece.begin is not None and piece.end is not None:
                feed.run_range(converter, piece.begin, piece.end, count_lines=count_lines)
            else:
                feed.run(converter)
        return converter, num_bad

    def label_feed(self, piece: _Piece, memory: int, *, count_lines: bool) -> Feed:
        """Return the edges of a piece, to be read with their labels."""
        feed = self._feed(piece, memory)
        if isinstance(feed, StreamFeed):
            feed.labels_are_text = self.told["labels_are_text"]
        if isinstance(feed, FileFeed) and piece.begin is not None and piece.end is not None:
            feed.keep_range(piece.begin, piece.end, count_lines=count_lines)
        return feed

    def _feed(self, piece: _Piece, memory: int) -> Feed:
        text = self.text
        if not self.told["is_text"] and piece.begin is not None and piece.end is not None:
            source = range_source(
                piece.path, piece.begin, piece.end, src=text.src, dst=text.dst, weight=text.weight, time=text.time,
                time_unit=text.time_unit,
            )  # fmt: skip
            return BatchFeed(source, text)
        return edge_feed(
            piece.path, self.folder, text, directed=self.told["directed"], tmp_dir=self.folder,
            block=max(1 << 20, memory // 16),
        )  # fmt: skip

    def record_set(self, options: _core.EdgeConverterOptions) -> _core.RecordSet:
        """Open what all tasks have written."""
        paths = [self.records(task) for task in range(self.plan.num_tasks)]
        for task, path in enumerate(paths):
            _expect(path, f"partition_edges(folder, {task})")
        records = _core.RecordSet([path_bytes(path) for path in paths], options)
        if self.told["finds_nodes"]:
            refuse_sparse_ids(records.totals.largest_id, records.totals.num_rows, self.told["name"])
        return records


def _counting_lines_for_errors(pieces: list[_Piece], read: Callable[[bool], _Result]) -> _Result:
    """Read pieces; if that fails, once more, so that the error has the number of the line in the file."""
    try:
        return read(False)
    except ValueError:
        if all(piece.begin is None for piece in pieces):
            raise
        return read(True)


def _expect(path: str, step: str) -> None:
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, f"is missing: expected the file of {step}, which comes first", path)


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
        name, length = os.path.abspath(path), os.stat(path).st_size
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

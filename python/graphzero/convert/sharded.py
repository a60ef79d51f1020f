"""A conversion of edges in steps that any number of machines can run: through files in a folder that all of them see.

``plan_shards()`` once, ``partition_edges()`` for each task, ``compile_shard()`` for each index and shard, and
``commit_shards()`` once. Where ids are labels, ``collect_labels()`` for each task and ``merge_labels()`` once come
before ``partition_edges()``. The tasks of a step may run in any order, at the same time, and again: a file of theirs
appears whole or not at all. The graph is the one that ``convert_edges()`` writes, byte for byte.
"""

from __future__ import annotations

import dataclasses
import os
import time as clock
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from graphzero import _core
from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.integers import integer_from
from graphzero._base.memory_sizes import byte_count, conversion_budget
from graphzero._files.folder import check_regular, hidden_folder
from graphzero._files.mounted import path_bytes
from graphzero._files.progress import Progress
from graphzero._files.renames import replace
from graphzero._files.storage import StoredPath
from graphzero.convert._shards.edge_commit import IdsPath, check_graph_target, commit_graph
from graphzero.convert._shards.edge_plan import DIRECTIONS, EdgePlan, ShardPlan, kept_options, mounted
from graphzero.convert._shards.job import Stage, Step, run_here
from graphzero.convert._shards.pieces import Piece, counting_for_errors, joined_to_tasks, pieces_of
from graphzero.convert._shards.plan import naming_steps, place
from graphzero.convert._shards.shard_count import shard_count
from graphzero.convert.conversion_report import ConversionReport
from graphzero.convert.edge_feeds import Column, Feed, FileFeed, StreamFeed, TextOptions, edge_feed, labels_without_map
from graphzero.convert.edge_labels import LabelCollector, refuse_headers_of_labels
from graphzero.convert.edge_options import edge_options, threads_within
from graphzero.convert.edge_sources import files_of, source_ranges
from graphzero.convert.step_files import StepFiles
from graphzero.convert.stored import stored_paths
from graphzero.convert.text import is_chosen, text_paths
from graphzero.ids import IdDictionary
from graphzero.threads import using_threads

__all__ = [
    "ShardPlan",
    "collect_labels",
    "commit_shards",
    "compile_shard",
    "merge_labels",
    "partition_edges",
    "plan_shards",
    "run_shards",
]

_TEXT_BLOCK = 1 << 20


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
        shards: The number of parts of each index, at most 10,000. They hold about as many edges each.
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
    shards = shard_count(shards)
    if ids not in ("auto", "dense", "map"):
        raise value_error(
            "ids",
            f"expected 'auto', 'dense' or 'map' with shards={shards}, found a dictionary; leave out shards, or give "
            "edges whose ids are numbers already",
        )
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
    if isinstance(source, (list, tuple)) and not source:
        raise value_error("source", "expected paths of files, found an empty list")
    paths = text_paths(stored_paths(source))
    if paths is None:
        raise type_error(
            "source", f"expected files for a conversion in shards, found {type(source).__name__}; write it to one"
        )
    paths = [file for path in paths for file in files_of(path)]
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
    EdgePlan.write(
        files,
        joined_to_tasks(_pieces(feed, paths, size), size),
        {
            "name": feed.name,
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
            "options": kept_options(options),
        },
    )
    return EdgePlan(files.folder).plan


def _pieces(feed: Feed, paths: list[str], size: int) -> Iterator[Piece]:
    if isinstance(feed, FileFeed):
        for path, begin, end in feed.ranges(size):
            yield from pieces_of(path, [(begin, end)])
    else:
        for path in paths:
            yield from pieces_of(path, source_ranges(path, size))


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
    conversion = EdgePlan(folder)
    budget = conversion_budget(memory)
    files, names = conversion.files, conversion.labels(task)
    with files.scratch() as scratch:
        with conversion.unchanged_pieces(task, *names) as pieces, using_threads(threads_within(budget, threads)):

            def collect(count_lines: bool) -> None:
                labels = LabelCollector([files.written(name, scratch) for name in names], budget // 2, scratch)
                for piece in pieces:
                    labels.read(conversion.label_feed(piece, budget, scratch, count_lines=count_lines))
                labels.finish()

            counting_for_errors(pieces, collect)
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
    conversion = EdgePlan(folder)
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
                with (
                    files.held(conversion.labels(task), scratch) as paths,
                    naming_steps(dict.fromkeys(paths, f"collect_labels(folder, {task})")),
                ):
                    for which, path in enumerate(paths):
                        with IdDictionary(path, verify="full") as labels:
                            if len(labels):  # those of a task without edges are of no kind
                                merged.builder(which, labels._core.kind).add_dictionary(labels._core)
            merged.finish()
            with mounted(new) as lookups:
                refuse_headers_of_labels(conversion.told["guessed_headers"], lookups)
            for path, name in zip(new, names, strict=True):
                replace(path, files.written(name, scratch))
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
    conversion = EdgePlan(folder)
    files, name = conversion.files, conversion.records(task)
    with files.scratch() as scratch:
        with conversion.unchanged_pieces(task, name) as pieces:
            options = conversion.options(memory, scratch)
            with using_threads(threads_within(options.memory, threads)), conversion.lookups(scratch) as lookups:
                converter, num_bad = conversion.converter(task, pieces, options, lookups)
                converter.finish_records(path_bytes(files.written(name, scratch)), num_bad, conversion.origin(task))
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
    conversion = EdgePlan(folder)
    plan = conversion.plan
    if index not in plan.indexes:
        raise value_error("index", f"expected {' or '.join(map(repr, plan.indexes))}, as planned, found {index!r}")
    number = place(shard, plan.shards, "shard")
    files, name = conversion.files, conversion.part(index, number)
    with files.scratch() as scratch:
        options = conversion.options(memory, scratch)
        with using_threads(threads_within(options.memory, threads)):
            tables = conversion.tables(scratch)
            records = conversion.record_set(tables, options)
            tables.bring(records.slices(DIRECTIONS[index], number, plan.shards))
            with conversion.naming_tasks(tables):
                _core.compile_part(
                    records, DIRECTIONS[index], number, plan.shards, path_bytes(files.written(name, scratch))
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
    return commit_graph(EdgePlan(folder), path, ids_path, begin=clock.perf_counter(), threads=threads)


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
    job = EdgeJob(EdgePlan(folder), path, ids_path)
    return run_here(job, begin=begin, memory=memory, threads=threads, progress=progress)


@dataclass(frozen=True)
class EdgeJob:
    """A plan of edges, and what its parts become."""

    plan: EdgePlan
    path: str | os.PathLike[str]
    ids_path: IdsPath | None = None

    @property
    def files(self) -> StepFiles:
        """The folder of the plan."""
        return self.plan.files

    def check_target(self) -> None:
        """Refuse a target that ``commit()`` would refuse."""
        check_graph_target(self.plan, self.path, self.ids_path)

    def stages(self) -> Iterator[Stage]:
        """Yield the stages before the commit, with the steps that have no file yet."""
        plan, has = self.plan, self.plan.are_there
        tasks = range(plan.plan.num_tasks)
        if plan.plan.has_labels and not has(*plan.dictionaries()):
            missing = [Step(collect_labels, (task,)) for task in tasks if not has(*plan.labels(task))]
            yield Stage("collecting labels", "tasks", missing)
            yield Stage("numbering labels", "dictionaries", [Step(merge_labels)])
        missing = [Step(partition_edges, (task,)) for task in tasks if not has(plan.records(task))]
        yield Stage("partitioning", "tasks", missing)
        missing = [
            Step(compile_shard, (index, shard))
            for index in plan.plan.indexes
            for shard in range(plan.plan.shards)
            if not has(plan.part(index, shard))
        ]
        yield Stage("sorting", "shards", missing)

    def commit(self, begin: float, threads: int | None = None) -> ConversionReport:
        """Put all parts together."""
        return commit_graph(self.plan, self.path, self.ids_path, begin=begin, threads=threads)

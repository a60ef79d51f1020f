"""The plan of a conversion of edges in shards: its files, what its tasks read, and what the core is told."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

from graphzero import _core
from graphzero._base.argument_errors import error_of, parts_of
from graphzero._base.memory_sizes import conversion_budget
from graphzero._core import FormatError
from graphzero._files.mounted import path_bytes
from graphzero.convert._shards.pieces import Piece, counting_for_errors
from graphzero.convert._shards.plan import StepPlan, naming_steps
from graphzero.convert.edge_feeds import BatchFeed, Feed, FileFeed, StreamFeed, TextOptions, edge_feed
from graphzero.convert.edge_labels import EdgeTranslator
from graphzero.convert.edge_options import refuse_unmapped_ids
from graphzero.convert.edge_sources import range_source
from graphzero.convert.label_lookup import LabelLookup
from graphzero.convert.step_files import RecordTables
from graphzero.ids import IdDictionary

LABELS = ".labels.gi"  # how names of files with labels end
DIRECTIONS = {"out": _core.Direction.OUT, "in": _core.Direction.IN}

# What the core is told of a graph, and a plan keeps.
_CORE_OPTIONS = (
    "directed", "bipartite", "out_index", "in_index", "edge_ids", "weights", "times", "drop_duplicates",
    "drop_self_loops", "skip_bad_lines", "num_src_nodes", "num_dst_nodes",
)  # fmt: skip


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


def kept_options(options: _core.EdgeConverterOptions) -> dict[str, object]:
    """Return what a plan keeps of the options of the core."""
    return {name: getattr(options, name) for name in _CORE_OPTIONS}


class EdgePlan(StepPlan):
    """What ``plan_shards()`` wrote."""

    kind = "edges"
    maker = "plan_shards"

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        super().__init__(folder)
        self.text = TextOptions(**self.told["text"])
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
        """Return the file with the edges of a task."""
        return self.name(f"task-{task:06d}", ".records")

    def origin(self, task: int) -> int:
        """Return what the core keeps in the file with the edges of a task, and in no other."""
        import hashlib  # slow to load

        return int.from_bytes(hashlib.sha256(self.records(task).encode()).digest()[:8], "little")

    def part(self, index: str, shard: int) -> str:
        """Return the file with a range of an index."""
        return self.name(f"{index}-{shard:06d}", ".part")

    def labels(self, task: int) -> list[str]:
        """Return the files with the labels of a task: of all nodes, or of sources and of destinations."""
        return [self.name(f"task-{task:06d}-{end}", LABELS) for end in self._ends]

    def dictionaries(self) -> list[str]:
        """Return those of all tasks."""
        return [self.name(end, LABELS) for end in self._ends]

    @property
    def _ends(self) -> tuple[str, ...]:
        return ("src", "dst") if self.is_bipartite else ("all",)

    @contextlib.contextmanager
    def lookups(self, scratch: str) -> Iterator[tuple[LabelLookup, ...]]:
        """Mount the dictionaries for a block; there are none where ids are integers."""
        if not self.plan.has_labels:
            yield ()
            return
        self._expect_dictionaries()
        paths = self.files.brought(self.dictionaries(), scratch)
        try:
            with mounted(paths) as lookups:
                yield lookups
        except ValueError:  # of a label that is missing, perhaps because the dictionary is damaged
            self.prove_dictionaries(paths)
            raise

    def prove_dictionaries(self, paths: Sequence[str]) -> None:
        """Read copies of the dictionaries whole, and refuse damaged ones."""
        for name, path in zip(self.dictionaries(), paths, strict=True):
            try:
                IdDictionary(path, verify="full").close()
            except FormatError as error:
                problem = str(error).removeprefix(f"{path}: ")
                place = self.files.path(name)
                raise FormatError(f"{place}: {problem}; remove it and run merge_labels(folder) again") from None

    def _expect_dictionaries(self) -> None:
        for name in self.dictionaries():
            self.files.expect(name, "merge_labels(folder)")

    def options(self, memory: int | str | None, scratch: str) -> _core.EdgeConverterOptions:
        """Return what the core is told."""
        options = _core.EdgeConverterOptions()
        for name, value in self.told["options"].items():
            setattr(options, name, value)
        options.memory = conversion_budget(memory)
        options.temporary_folder = path_bytes(scratch)
        if self.told["counts_labels"]:
            self._expect_dictionaries()
            with mounted([self.files.with_header(name, scratch) for name in self.dictionaries()]) as lookups:
                options.num_src_nodes, options.num_dst_nodes = len(lookups[0]), len(lookups[-1])
        return options

    def converter(
        self, task: int, pieces: list[Piece], options: _core.EdgeConverterOptions, lookups: tuple[LabelLookup, ...]
    ) -> tuple[_core.EdgeConverter, int]:
        """Return a converter that has read the edges of a task, and how many bad lines it has not seen itself."""
        try:
            return counting_for_errors(
                pieces, lambda count_lines: self._filled(pieces, options, lookups, count_lines=count_lines)
            )
        except IndexError as error:
            if task == 0:
                raise
            first = f"; edges are counted from the first one of task {task}, which begins with {pieces[0].source}"
            raise error_of(IndexError, *parts_of(error), first) from None

    def _filled(
        self,
        pieces: list[Piece],
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
            if isinstance(feed, FileFeed) and piece.range is not None:
                feed.run_range(converter, *piece.range, count_lines=count_lines)
            else:
                feed.run(converter)
        return converter, num_bad

    def label_feed(self, piece: Piece, memory: int, scratch: str, *, count_lines: bool) -> Feed:
        """Return the edges of a piece, to be read with their labels."""
        feed = self._feed(piece, memory, scratch)
        if isinstance(feed, StreamFeed):
            feed.labels_are_text = self.told["labels_are_text"]
        if isinstance(feed, FileFeed) and piece.range is not None:
            feed.keep_range(*piece.range, count_lines=count_lines)
        return feed

    def _feed(self, piece: Piece, memory: int, scratch: str) -> Feed:
        text, path, block = self.text, piece.source, max(1 << 20, memory // 16)
        if not self.told["is_text"] and piece.range is not None:
            source = range_source(
                path, *piece.range, src=text.src, dst=text.dst, weight=text.weight, time=text.time,
                time_unit=text.time_unit,
            )  # fmt: skip
            return BatchFeed(source, text, block)
        return edge_feed(path, scratch, text, directed=self.told["directed"], tmp_dir=scratch, block=block)

    def tables(self, scratch: str) -> RecordTables:
        """Find what all tasks have written."""
        names = [self.records(task) for task in range(self.plan.num_tasks)]
        for task, name in enumerate(names):
            self.files.expect(name, f"partition_edges(folder, {task})")
        return self.files.tables(names, scratch)

    def naming_tasks(self, tables: RecordTables) -> AbstractContextManager[None]:
        """Say in an error about the file of a task how it is written again."""
        return naming_steps({path: f"partition_edges(folder, {task})" for task, path in enumerate(tables.paths)})

    def record_set(self, tables: RecordTables, options: _core.EdgeConverterOptions) -> _core.RecordSet:
        """Open it, and refuse a file that has the name of another task or plan."""
        with self.naming_tasks(tables):
            records = _core.RecordSet([path_bytes(path) for path in tables.paths], options)
            for task, (path, origin) in enumerate(zip(tables.paths, records.origins, strict=True)):
                if origin != self.origin(task):
                    raise FormatError(f"{path}: expected the edges of task {task} of this plan, found others")
        if self.told["finds_nodes"]:
            refuse_unmapped_ids(records.totals.largest_id, records.totals.num_rows, self.told["name"])
        return records


@contextlib.contextmanager
def mounted(paths: list[str]) -> Iterator[tuple[LabelLookup, ...]]:
    """Mount dictionaries for a block: Windows removes no file that is mapped."""
    with contextlib.ExitStack() as stack:
        yield tuple(LabelLookup(stack.enter_context(IdDictionary(path))) for path in paths)

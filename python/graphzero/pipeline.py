"""Batches from disk: sampled and gathered ahead by the core, in order, inside one memory budget."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.arrays import IntArray, plain, time_vector
from graphzero._base.integers import as_seed, integer
from graphzero._base.memory_sizes import byte_text, pipeline_budget
from graphzero._base.pipeline_limits import LIMITS, plan_reason, roofline
from graphzero._files.progress import Progress, StatusLine
from graphzero._inputs.attributes import Attribute, attributes_of
from graphzero._inputs.batch_order import BatchOrder
from graphzero._inputs.edge_types import as_relations
from graphzero._inputs.fanouts import FanoutsLike, read_fanouts
from graphzero._inputs.graph_memory import has_room, read_ahead, resident_topology, topology_bytes
from graphzero._inputs.pipeline_request import LinkNegatives, PipelineRequest, as_bytes, natural
from graphzero._inputs.position import position_from
from graphzero._inputs.sample_request import Method, SampleRequest, SubgraphType, TemporalStrategy
from graphzero._inputs.seeds import LinkSeeds, NodeSeeds, read_links, read_nodes, refuse_without_edges, splits_of
from graphzero._look.stats import Stats, stats_html
from graphzero.dataset import EdgeTriple
from graphzero.features import Reader
from graphzero.graph import Direction
from graphzero.negatives import PairLaw, negative_options
from graphzero.sampling import named

if TYPE_CHECKING:
    from typing_extensions import Self

# Batches of an epoch that is worth reading the whole topology for.
_LONG_EPOCH = 32
# What the core's stats() adds up.
_COUNTS = (
    *("batches", "rows", "on_device_rows", "mapped_rows", "cached_rows", "late_rows", "dropped_rows", "shared_rows"),
    *("read_rows", "read_row_bytes", "device_reads", "device_bytes", "queue_waits", "queued_reads"),
    *("seconds_sampling", "seconds_assembling", "seconds_reading", "seconds_waited", "seconds_away"),
)

_NEGATIVES = {None: _core.Negatives.NONE, "binary": _core.Negatives.BINARY, "triplet": _core.Negatives.TRIPLET}


@dataclass(frozen=True)
class Batch:
    """A finished batch: a sample and its attributes.

    Arrays of features are yours for as long as you keep them. If you drop them before the next batch, their memory is
    used again.

    Attributes:
        sample: What [`sample_neighbors`][graphzero.sample_neighbors] returns.
        node_features: By name an array with a row per sampled node, in the order of the sample; with several types,
            dicts by node type first.
        edge_features: The same with a row per sampled edge, by edge type.
        input_id: The positions of the batch's seeds among all seeds.
        src_index: For links, the positions of their sources in ``sample.node``, then those of negatives; else ``None``.
        dst_index: The same for destinations.
        epoch: The number of the epoch.
        number: The number of the batch in its epoch.
    """

    sample: Any
    node_features: dict[Any, Any]
    edge_features: dict[Any, Any]
    input_id: IntArray
    src_index: IntArray | None
    dst_index: IntArray | None
    epoch: int
    number: int

    @property
    def num_seeds(self) -> int:
        """The number of nodes, or of links, that the batch is for."""
        return len(self.input_id)

    def __repr__(self) -> str:
        return f"Batch({self.number} of epoch {self.epoch}: {self.num_seeds:,} seeds, {self.sample!r})"


@dataclass(frozen=True)
class HostRows:
    """Rows of a batch, without those that the device has.

    ``values`` go to ``places``, which rise. ``slots`` has an entry for every row of the batch: where the device
    has it, and 0 if it is here.
    """

    values: NDArray[Any]
    slots: NDArray[np.int32]
    places: IntArray


@dataclass(frozen=True)
class Stages:
    """What the threads of a pipeline did, as arrays with an entry for each event.

    Attributes:
        stage: Values of ``_core.Stage``.
        thread: The number of the thread.
        number: The number of the batch; for reads, how many were in flight.
        begin: Nanoseconds since 1970.
        end: Nanoseconds since 1970.
        dropped: How many older events were discarded.
    """

    stage: NDArray[np.uint8]
    thread: NDArray[np.uint32]
    number: NDArray[np.uint64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    dropped: int


class Pipeline:
    """Iterates over an epoch of finished batches. Each iteration is the next epoch.

    The same ``seed`` gives the same batches for any memory, reader and number of threads. One thread at a time may
    iterate, another gets a ``RuntimeError``; it may call ``stats()``, ``status()``, ``is_ready()``, ``state_dict()``
    and ``close()``.

    Args:
        graph: As in [`sample_neighbors`][graphzero.sample_neighbors].
        seeds: Node ids; with several types ``("paper", ids)``; of a data set also the name of a split. Default: all
            nodes.
        fanouts: As in [`sample_neighbors`][graphzero.sample_neighbors].
        links: Edges instead of seeds: ``(src, dst)`` or ``(edge_type, (src, dst))``. An edge type that the graph does
            not have is not sampled.
        features: A [`FeatureStore`][graphzero.FeatureStore], which is called ``"x"``, or stores by name; with several
            types, dicts of these by type; of a data set, names of its attributes. Default: all attributes of a data
            set.
        edge_features: The same of edges, where a single store is called ``"edge_attr"``.
        batch_size: The number of seeds of a batch, or a list with the size of each batch.
        shuffle: Take the seeds in an order that depends on ``seed`` and epoch.
        drop_last: Leave out the last batch if it is smaller.
        order: Positions among the seeds, iterated anew for each epoch, such as a torch ``Sampler``.
        batches: A list of positions for each batch, such as a ``BatchSampler``.
        rank: Which of ``world_size`` processes this is. With the same ``seed``, each takes its part of the seeds, and
            all have the same number of batches, for which some of the first seeds are taken again.
        world_size: The number of processes that share the seeds of each epoch.
        drop_uneven_inputs: Leave out some of the last seeds instead of taking some of the first again.
        memory: Bytes to hold, a number or a size such as ``"4GB"``: cached rows, batches sampled and read ahead,
            finished batches. Default: half of what is available, or less if the graph would not fit beside it.
        cache: Bytes of ``memory`` for cached rows. Default: what the rest leaves.
        ahead: The most batches to prepare ahead. Default: as many as fit.
        dtype: Convert features while copying, as in [`gather`][graphzero.FeatureStore.gather]: one type for all that
            are not integers, or a dict by name. Default: as stored.
        reader: As in [`gather`][graphzero.FeatureStore.gather]. ``"auto"`` reads files that fit in memory through the
            page cache and others from the device; ``stats()`` says what and why.
        threads: The number of threads. Default: [`num_threads`][graphzero.num_threads]. If ``memory`` is too little
            for samples by all of them, fewer sample at the same time.
        direction: As in [`sample_neighbors`][graphzero.sample_neighbors], like the options up to ``layer_dependency``.
        replace: Draw with replacement.
        weighted: Draw in proportion to edge weights.
        disjoint: Give every seed a tree of its own.
        seed_time: One time per seed or link.
        node_time: Times of all nodes.
        edge_time: The edge types whose own times count.
        temporal_strategy: ``"last"`` takes the newest neighbours.
        time_window: Leave out what is older than ``seed_time - time_window``.
        subgraph_type: Which edges to return.
        method: ``"labor"`` needs fewer feature rows.
        layer_dependency: Let ``"labor"`` share neighbours across hops, too.
        negatives: ``"binary"`` draws ``num_negatives`` pairs for each link, ``"triplet"`` as many destinations for each
            source. With ``node_time`` no negative is newer than its link, whatever the ``time_window``: newer ones are
            drawn again, and after 64 draws replaced by the oldest node.
        num_negatives: The number of negatives per link.
        negatives_by: The ``by`` of [`sample_negative_pairs`][graphzero.sample_negative_pairs].
        exclude_edges: Never draw an edge of the graph as a negative.
        exclude_seed_edges: Do not sample the links of a batch.
        exclude_reverse: With ``exclude_seed_edges``, do not sample their reverses either.
        seed: The seed of order, samples and negatives. Without one every pipeline differs.
        progress: ``True`` shows a line on a terminal or in a notebook: batches/s, hit rate, reads, memory. A function
            is called after each batch with the number of batches done and that of all.

    Examples:
        >>> from graphzero import FeatureStore, Graph
        >>> pipeline = Pipeline(Graph(tiny_gl), [0, 2], [-1], features=FeatureStore(tiny_gd), batch_size=1)
        >>> for batch in pipeline:
        ...     print(batch.sample.node, batch.node_features["x"].shape)
        [0 3] (2, 3)
        [2 0 1] (3, 3)
    """

    def __init__(
        self,
        graph: Any,
        seeds: Any = None,
        fanouts: FanoutsLike = (),
        *,
        links: Any = None,
        features: Any = None,
        edge_features: Any = None,
        batch_size: int | Sequence[int] = 1024,
        shuffle: bool = False,
        drop_last: bool = False,
        order: Iterable[int] | None = None,
        batches: Iterable[Sequence[int]] | None = None,
        rank: int = 0,
        world_size: int = 1,
        drop_uneven_inputs: bool = False,
        memory: int | str | None = None,
        cache: int | str | None = None,
        ahead: int | None = None,
        dtype: Any = None,
        reader: Reader = "auto",
        threads: int | None = None,
        direction: Direction = "in",
        replace: bool = False,
        weighted: bool | Collection[EdgeTriple] = False,
        disjoint: bool = False,
        seed_time: Any = None,
        node_time: Any = None,
        edge_time: Collection[EdgeTriple] | None = None,
        temporal_strategy: TemporalStrategy = "uniform",
        time_window: int | None = None,
        subgraph_type: SubgraphType = "directional",
        method: Method = "neighbor",
        layer_dependency: bool = False,
        negatives: Literal["binary", "triplet"] | None = None,
        num_negatives: float = 1,
        negatives_by: PairLaw = "uniform",
        exclude_edges: bool = False,
        exclude_seed_edges: bool = False,
        exclude_reverse: bool = False,
        seed: int | None = None,
        progress: Progress = False,
    ) -> None:
        """Read and check everything; nothing is sampled before the first batch is asked for."""
        relations, splits = as_relations(graph), splits_of(graph)
        if seeds is not None and links is not None:
            raise ValueError("seeds, links: expected one of them, found both")
        if links is None and (negatives is not None or exclude_seed_edges):
            raise ValueError("negatives, exclude_seed_edges: expected links with them, found none")
        attributes = attributes_of(graph, relations, features, edge_features)
        sample = SampleRequest(
            relations,
            read_fanouts(fanouts, relations, "fanouts"),
            direction=direction,
            replace=replace,
            weighted=weighted,
            disjoint=disjoint,
            temporal=seed_time is not None,
            node_time=node_time,
            edge_time=edge_time,
            temporal_strategy=temporal_strategy,
            time_window=time_window,
            subgraph_type=subgraph_type,
            exclude_reverse=exclude_reverse,
            method=method,
            layer_dependency=layer_dependency,
            seed=as_seed(seed),
        )
        times = None if seed_time is None else time_vector(seed_time, "seed_time")
        wanted: NodeSeeds | LinkSeeds
        if links is None:
            node_type, ids, _ = read_nodes(seeds, relations, splits, "seeds")
            wanted = NodeSeeds(node_type, ids, times)
        else:
            wanted = LinkSeeds(*read_links(links, relations, splits, "links"), times)
        request = PipelineRequest(
            sample,
            wanted,
            attributes,
            BatchOrder(batch_size, order, batches, shuffle=shuffle, drop_last=drop_last),
            LinkNegatives(negatives, num_negatives, negatives_by, exclude_edges, exclude_seed_edges),
            dtype=dtype,
            rank=rank,
            world_size=world_size,
            drop_uneven_inputs=drop_uneven_inputs,
            memory=as_bytes(memory, "memory"),
            cache=as_bytes(cache, "cache"),
            ahead=ahead,
            reader=reader,
            threads=threads,
            progress=progress,
        )
        self._begin(request)

    @classmethod
    def _of_request(cls, request: PipelineRequest) -> Self:
        """Return a pipeline of arguments that have been read.

        Args:
            request: The arguments.
        """
        pipeline = cls.__new__(cls)
        pipeline._begin(request)
        return pipeline

    def _begin(self, request: PipelineRequest) -> None:
        self._request = request
        self._relations, self._attributes = request.sample.relations, request.attributes
        self._seed = request.sample.seed
        self._core: _core.Pipeline | None = _core_pipeline(request)
        request.order.begin(self._core)
        self._epoch = 0  # the one under way, or the next
        self._position = 0  # batches of it that have been handed out
        self._begun = False
        self._has_started = False
        self._started: tuple[float, int, dict[str, Any]] = (0.0, 0, {})  # this iteration: time, position, counts before
        self._ended: str | None = None  # the status of an epoch that is over, until another begins

    @property
    def epoch(self) -> int:
        """The number of the epoch under way, or of the next iteration."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration start at the beginning of an epoch.

        Args:
            epoch: Its number, from 0.
        """
        self._move(natural(epoch, "epoch"), 0)

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        return self._request.order.num_batches(self._open())

    def state_dict(self) -> dict[str, int]:
        """Return the position of the iteration, from which a pipeline with the same arguments can go on."""
        return {
            "seed": self._seed, "epoch": self._epoch, "batch": self._position, "batches": len(self),
            "ranks": self._request.world_size,
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Make the next iteration go on from a position.

        Args:
            state: What ``state_dict()`` returned, on any rank. Other numbers of ranks may go on at the beginning of an
                epoch, and nowhere else, as they divide it otherwise.

        Raises:
            ValueError: The state is that of a pipeline with another number of batches, or of ranks.
        """
        own = self.state_dict()
        found = {"ranks": own["ranks"], **position_from(state)}  # older ones do not say how many
        missing = [key for key in own if key not in found]
        if missing:
            raise value_error("state", f"expected what state_dict() returns, found nothing under {missing[0]!r}")
        batch = integer(found["batch"], "state['batch']")
        is_divided_alike = integer(found["ranks"], "state['ranks']") == own["ranks"]
        if not is_divided_alike and batch != 0:
            raise value_error(
                "state",
                f"expected that of {own['ranks']} ranks, as many as divide the seeds here, found {found['ranks']}: go "
                "on with as many, or change their number between epochs",
            )
        if is_divided_alike and found["batches"] != own["batches"]:
            raise value_error(
                "state",
                f"expected that of a pipeline with {own['batches']} batches an epoch, found {found['batches']}; "
                "seeds, batch_size and drop_last must be the same",
            )
        if not 0 <= batch <= own["batches"]:
            raise ValueError(f"state['batch']: expected 0 to {own['batches']}, found {batch}")
        seed = as_seed(found["seed"], "state['seed']")
        self._move(natural(found["epoch"], "state['epoch']"), batch)
        self._open().set_seed(seed)
        self._seed = seed

    def _move(self, epoch: int, position: int) -> None:
        self._open().stop()
        self._epoch, self._position, self._begun, self._ended = epoch, position, False, None

    def __iter__(self) -> Generator[Batch, None, None]:
        return self.share(0, 1)

    def share(self, worker: int, num_workers: int) -> Generator[Batch, None, None]:
        """Iterate over every ``num_workers``-th batch of an epoch.

        Args:
            worker: The number of the first batch.
            num_workers: The number of workers that share the epoch.

        Yields:
            Finished batches.
        """
        core = self._open()
        epoch, position = (self._epoch + 1, 0) if self._begun else (self._epoch, self._position)
        self._request.order.begin_epoch(core)
        before = core.stats()
        turn = self._start(core, epoch, position + worker, num_workers)  # only the latest iteration may go on
        self._epoch, self._position, self._begun, self._ended = epoch, position, True, None
        self._started = (time.perf_counter(), position, before)
        del core  # close() frees its memory, also during an iteration
        process = os.getpid()
        progress, shown, line = self._request.progress, 0.0, StatusLine()
        try:
            while True:
                if os.getpid() != process:
                    raise RuntimeError("this iteration is that of another process: begin one of this process")
                batch = self._next(turn)
                if batch is None:
                    break
                if callable(progress):
                    progress(self._position, len(self))
                elif progress and time.perf_counter() - shown > 0.5:
                    shown = time.perf_counter()
                    line.show(self.status())
                yield batch
                del batch  # its memory is wanted for the next one
            self._ended = self.status()
            self._epoch, self._position, self._begun = self._epoch + 1, 0, False
        finally:
            still_open = self._core
            if still_open is not None:
                still_open.end(turn)
            if shown:
                line.end()

    def _start(self, core: _core.Pipeline, epoch: int, first: int, stride: int) -> int:
        sample = self._request.sample
        if not self._has_started and has_room(sample, self._attributes, self._memory_of_rows(core)):
            own = weakref.ref(self)
            if len(self) >= _LONG_EPOCH:
                read_ahead(sample, self._attributes, lambda: (pipeline := own()) is None or pipeline.closed)
        try:
            turn = core.start(epoch, first, stride)
        except _core.BudgetTooSmall:
            most = pipeline_budget()
            if self._request.memory is not None or most <= core.stats()["memory"]["budget"]:
                raise
            core.set_memory(most)  # the default left room for the graph, and too little for batches
            turn = core.start(epoch, first, stride)
        self._has_started = True
        return turn

    def _memory_of_rows(self, core: _core.Pipeline) -> int:
        """Return how many bytes of its budget it will hold at most: no more than there are rows that are not mapped."""
        stats = core.stats()
        read = [kind != _core.ReaderKind.MMAP for kind, *_ in stats["sources"]]
        rows = sum(attribute.store.nbytes for attribute, is_read in zip(self._attributes, read, strict=True) if is_read)
        return min(int(stats["memory"]["budget"]), rows)

    def is_ready(self) -> bool:
        """Return whether the iteration under way would return its next batch, or end, without waiting."""
        return self._open().is_ready()

    def _next(self, turn: int) -> Batch | None:
        core = self._core
        found = False if core is None else core.next(turn)
        if isinstance(found, bool):
            raise RuntimeError(
                "this iteration is over: another one began, or the pipeline was set to another place or closed"
            )
        if found is None:
            return None
        self._position = found.number + 1
        node_features: dict[Any, Any] = {}
        edge_features: dict[Any, Any] = {}
        for attribute, rows in zip(self._attributes, found.rows, strict=True):
            group = edge_features if isinstance(attribute.of, tuple) else node_features
            if self._relations.is_hetero:
                group = group.setdefault(attribute.of, {})
            if isinstance(rows, _core.HostRows):
                group[attribute.name] = HostRows(rows.values, rows.slots, plain(rows.places))
            else:
                group[attribute.name] = plain(rows)
        is_link = isinstance(self._request.seeds, LinkSeeds)
        return Batch(
            sample=named(self._request.sample, found.types, found.relations),
            node_features=node_features,
            edge_features=edge_features,
            input_id=plain(found.input_id),
            src_index=plain(found.src) if is_link else None,
            dst_index=plain(found.dst) if is_link else None,
            epoch=self._epoch,
            number=found.number,
        )

    def _set_device_room(self, room: Mapping[Attribute, int]) -> None:
        """Give the device other room for rows, in bytes. An iteration under way goes on with its next batch."""
        self._open().set_device_room([room.get(attribute, 0) for attribute in self._attributes])

    def _num_rows_on_device(self) -> dict[Attribute, int]:
        """Return how many rows of attributes the device is to have, where it has any."""
        core = self._open()
        core.prepare()
        counts = {attribute: core.num_on_device(number) for number, attribute in enumerate(self._attributes)}
        return {attribute: count for attribute, count in counts.items() if count}

    def _rows_on_device(self, attribute: Attribute, begin: int, end: int) -> IntArray:
        """Return those of some stored rows that the device is to have; its slots are in the same order."""
        return plain(self._open().on_device(self._attributes.index(attribute), begin, end))

    def stats(self) -> dict[str, Any]:
        """Return where time, bytes and memory went since the pipeline was made.

        Returns:
            ``rows`` in finished batches. Of these, and of batches being made: ``mapped_rows`` came through the page
            cache, ``cached_rows`` from the cache, ``on_device_rows`` are on a device already, ``shared_rows`` were read
            for another batch ahead, ``read_rows`` were read, in ``device_reads`` of ``device_bytes``, and
            ``late_rows`` too, for lack of room ahead. ``hit_rate`` is the share that needed no read of its own,
            ``read_amplification`` the bytes read per byte of a row read, ``queue_depth`` the mean number of reads in
            flight, ``fill_bytes`` what was read to fill the cache. ``seconds_sampling``, ``seconds_assembling`` and
            ``seconds_reading`` are sums over threads; ``seconds_waited`` is how long the iteration waited for batches,
            ``seconds_away`` how long the caller was busy with them, ``seconds_preparing`` how long it took to choose
            cached rows. ``dropped_rows`` had to be read again for lack of memory. ``memory`` has the bytes held now, by
            purpose, and the ``budget``; ``pinned_bytes`` of them are page-locked for a device. ``plan`` is how the
            budget was divided and what was expected of it, with the reason in a sentence. ``roofline`` has the least
            seconds a batch can take because of the ``device``, the ``threads`` and the ``caller``, and which of them is
            the ``limit``. ``topology`` has the ``bytes`` of the graph that samples are drawn from, and how many are
            ``resident`` in the page cache, which takes some milliseconds to find out. ``sources`` has the reader of
            each attribute, the reason for it, and how many of its rows are cached.
        """
        sample = self._request.sample
        topology = {
            "bytes": topology_bytes(sample, self._attributes),
            "resident": resident_topology(sample, self._attributes),
        }
        return Stats(self._counts(), topology=topology)

    def _counts(self, before: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return ``stats()``, of the time since ``before``, without what the kernel would have to be asked for."""
        stats = self._open().stats()
        if before:
            for name in _COUNTS:
                stats[name] -= before[name]
        wanted, waits, queued = (stats.pop(name) for name in ("read_row_bytes", "queue_waits", "queued_reads"))
        read = stats["read_rows"] + stats["late_rows"]
        here = stats["mapped_rows"] + stats["cached_rows"] + stats["shared_rows"] + read - stats["dropped_rows"]
        rows = stats["on_device_rows"] + here
        # Rows that were dropped have been read more than once.
        stats["hit_rate"] = 1 - min(1, max(0, read - stats["dropped_rows"]) / rows) if rows else None
        stats["read_amplification"] = stats["device_bytes"] / wanted if wanted else None
        stats["queue_depth"] = queued / waits if waits else None
        stats["plan"]["reason"] = plan_reason(stats["plan"], stats["threads"])
        stats["roofline"] = roofline(stats)
        stats["sources"] = {
            (attribute.name if not self._relations.is_hetero else (attribute.of, attribute.name)): {
                "reader": kind.name.lower(),
                "reason": os.fsdecode(reason),
                "cached_rows": cached,
                "num_rows": count,
            }
            for attribute, (kind, reason, cached, count) in zip(self._attributes, stats["sources"], strict=True)
        }
        return stats

    def _log_stages(self, on: bool) -> None:
        self._open().log_stages(on)

    def _stages(self) -> Stages:
        *columns, dropped = self._open().stages()
        stage, thread, number, begin, end = map(plain, columns)
        return Stages(stage, thread, number, begin, end, dropped)

    def status(self) -> str:
        """Return the most important of ``stats()`` in one line: of this epoch, or of the one that has just ended."""
        begin, first, before = self._started
        stats = self._counts(before)
        if self._ended is not None:
            return self._ended
        seconds = max(time.perf_counter() - begin, 1e-9)
        held = sum(size for purpose, size in stats["memory"].items() if purpose != "budget")
        parts = [
            f"epoch {self._epoch} batch {self._position}/{len(self)}",
            f"{(self._position - first) / seconds:.1f} batches/s",
            f"waited {stats['seconds_waited'] / seconds:.0%}",
            "hits -" if stats["hit_rate"] is None else f"hits {stats['hit_rate']:.1%}",
            f"{stats['device_reads']:,} reads, {byte_text(stats['device_bytes'])}",
            f"{stats['batches_ahead']} ahead",
            f"{byte_text(held)} of {byte_text(stats['memory']['budget'])}",
        ]
        limit = stats["roofline"]["limit"]
        if limit is not None:
            parts.append(f"limited by {LIMITS[limit]}")
        return " · ".join(parts)

    def _open(self) -> _core.Pipeline:
        if self._core is None:
            raise ValueError("the pipeline is closed: make a new one; stats() and status() are there until close()")
        return self._core

    @property
    def closed(self) -> bool:
        """Whether ``close()`` was called."""
        return self._core is None

    def close(self) -> None:
        """End the iteration under way and free all memory. May be called again."""
        self._core = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Pipeline is not pickled: make one of its graph and stores, which are, and load_state_dict()")

    def __repr__(self) -> str:
        if self._core is None:
            return "Pipeline(closed)"
        return f"Pipeline({len(self):,} batches, {[attribute.name for attribute in self._attributes]})"

    def _repr_html_(self) -> str:
        if self._core is None:
            return stats_html("Pipeline", "closed", {})
        return stats_html("Pipeline", f"{len(self):,} batches", self._counts(), self.status())


def _core_pipeline(request: PipelineRequest) -> _core.Pipeline:
    sample, relations = request.sample, request.sample.relations
    nodes = links = None
    if isinstance(request.seeds, NodeSeeds):
        number = relations.node_types.index(request.seeds.node_type)
        nodes = _core.NodeSeeds(number, request.seeds.ids, request.seeds.times)
    else:
        links = _core_links(request, request.seeds)
    graphs, attributes = sample.core_relations(), request.core_attributes()
    return _core.Pipeline(nodes, links, sample.core_types(), graphs, attributes, request.core_options())


def _core_links(request: PipelineRequest, links: LinkSeeds) -> _core.LinkSeeds:
    relations, negatives = request.sample.relations, request.negatives
    if negatives.kind not in _NEGATIVES:
        raise value_error("negatives", f"expected 'binary', 'triplet' or None, found {negatives.kind!r}")
    sources = negatives.kind != "triplet"
    law = negative_options(negatives.by, 0.75, negatives.exclude_edges, 0, sources=sources, name="negatives_by")
    by = negatives.by if isinstance(negatives.by, tuple) else (negatives.by,)
    needing = {
        "exclude_edges": negatives.exclude_edges,
        "exclude_seed_edges": negatives.exclude_seed_edges,
        "negatives_by": any(isinstance(end, str) and end == "degree" for end in by),
    }
    refuse_without_edges(relations, links.edge_type, needing)
    triples, kinds = list(relations.graphs), relations.node_types
    return _core.LinkSeeds(
        kinds.index(links.edge_type[0]),
        kinds.index(links.edge_type[2]),
        triples.index(links.edge_type) if links.edge_type in triples else None,
        links.src,
        links.dst,
        links.times,
        _NEGATIVES[negatives.kind],
        _number(negatives.amount),
        law,
        bool(negatives.exclude_seed_edges),
    )


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise type_error("num_negatives", f"expected a number, found {value!r}") from None

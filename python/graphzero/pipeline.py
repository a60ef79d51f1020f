"""Batches from disk: sampled and gathered ahead by the core, in order, inside one memory budget."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero.arrays import plain
from graphzero.dataset import EdgeTriple
from graphzero.features import READERS, Reader
from graphzero.graph import Direction
from graphzero.integers import integer, integer_from
from graphzero.memory import byte_count, byte_text, pipeline_budget
from graphzero.negatives import PairLaw, negative_options
from graphzero.pipeline_inputs import (
    Attribute,
    attributes_of,
    check_names,
    link_seeds,
    node_seeds,
    node_types,
    wanted_dtype,
)
from graphzero.relations import as_relations
from graphzero.sampling import (
    Fanouts,
    IntArray,
    core_relations,
    hops_by_type,
    named,
    neighbor_options,
)
from graphzero.schedule import Schedule
from graphzero.seeds import as_seed

if TYPE_CHECKING:
    from typing_extensions import Self

_NEGATIVES = {None: _core.Negatives.NONE, "binary": _core.Negatives.BINARY, "triplet": _core.Negatives.TRIPLET}


@dataclass(frozen=True)
class Batch:
    """A finished batch: what was sampled, and the attributes of it.

    ``sample`` is what :func:`graphzero.sample_neighbors` returns. ``node_features["x"]`` has a row for
    each sampled node and ``edge_features["w"]`` one for each sampled edge, in the sample's order; of a
    heterogeneous graph they are dicts by type first. ``input_id`` are the places of the batch's seeds
    among all seeds. Of links, ``src_index`` and ``dst_index`` are the places of both ends in
    ``sample.node``: first those of the edges, then those of the negatives.

    The arrays of features are yours for as long as you keep them; let go of them before the next
    batch, and their memory is used again.
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
        """The number of nodes, or of edges, that the batch is for."""
        return len(self.input_id)

    def __repr__(self) -> str:
        return f"Batch({self.number} of epoch {self.epoch}: {self.num_seeds:,} seeds, {self.sample!r})"


@dataclass(frozen=True)
class HostRows:
    """Rows of a batch, without those that are on the device.

    ``values`` go to ``places``, which rise. ``slots`` has an entry for every row of the batch: its slot on the
    device, and 0 for a host row.
    """

    values: NDArray[Any]
    slots: NDArray[np.int32]
    places: IntArray


@dataclass(frozen=True)
class DeviceOptions:
    """The device that batches are copied to.

    ``pinning`` are the addresses of ``cuCtxSetCurrent``, ``cuMemHostRegister`` and ``cuMemHostUnregister``, and a
    context. ``room`` is how many bytes of rows the device has room for, by attribute: these come as
    :class:`HostRows`, without the rows of :meth:`Pipeline.rows_on_device`.
    """

    pinning: tuple[int, int, int, int] | None = None
    room: Mapping[Attribute, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Stages:
    """What the threads of a pipeline did, as arrays with an entry for each time.

    ``stage`` are values of ``_core.Stage``, ``begin`` and ``end`` nanoseconds since 1970. ``number`` is that of the
    batch, and of reads how many were in flight. ``dropped`` older ones were discarded.
    """

    stage: NDArray[np.uint8]
    thread: NDArray[np.uint32]
    number: NDArray[np.uint64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    dropped: int


class Pipeline:
    """Iterates over an epoch of finished batches.

    ``graph`` is what :func:`graphzero.sample_neighbors` takes, and so are ``fanouts`` and the options of
    the same name. Batches are made of ``seeds``, node ids (``None``: all nodes; of a heterogeneous graph
    ``("paper", ids)``; of a data set also the name of a split), or of ``links``, edges given as ``(src,
    dst)`` or ``(edge_type, (src, dst))``. Such an edge type need not be one of the graph: any between two of
    its node types will do, and its edges are then not sampled.

    ``features`` and ``edge_features`` are a :class:`FeatureStore`, which is called ``"x"`` or
    ``"edge_attr"``, or stores by name; of a heterogeneous graph, dicts of these by type. Of a data set
    they are names of its attributes, and all of them unless told.

    :param memory: What the pipeline may hold, such as ``"4GB"``: rows that stay in memory, batches that
        are sampled and read ahead, finished batches. Half of what is available unless told.
    :param cache: How much of it rows that stay in memory take. What is left over unless told.
    :param ahead: How many batches to prepare ahead at most. As many as fit unless told.
    :param dtype: What features become while they are copied, as in :meth:`FeatureStore.gather`: one for
        all that are not integers, or a dict by name. As stored unless told.
    :param reader: As in :meth:`FeatureStore.gather`. ``"auto"`` reads files that fit in memory through the
        page cache and others from the device; :meth:`stats` tells what and why.
    :param batch_size: How many seeds a batch has, or a list of sizes, one for each batch.
    :param shuffle: Take the seeds in an order that depends on ``seed`` and epoch.
    :param order: Places among the seeds, iterated anew for each epoch, such as a torch ``Sampler``; ``batches``
        are lists of places, one for each batch, such as a ``BatchSampler``.
    :param rank: Which of ``world_size`` processes this is, that share the seeds of each epoch: with the same
        ``seed`` each takes its part, and all have as many batches. For that some of the first seeds are taken
        again, or with ``drop_uneven_inputs`` some of the last are left out.
    :param negatives: ``"binary"`` draws ``num_negatives`` pairs for each link, ``"triplet"`` as many
        destinations for each source; ``negatives_by`` and ``exclude_edges`` are ``by`` and ``exclude_edges``
        of :func:`graphzero.sample_negative_pairs` and :func:`graphzero.sample_negatives`. With ``node_time``
        no negative is newer than its link, whatever ``time_window`` says: newer ones are drawn again, and
        after 64 draws replaced by the oldest node.
    :param exclude_seed_edges: Do not sample the links of a batch; with ``exclude_reverse`` nor their
        reverses.
    :param progress: Show one line on standard error: batches/s, hit rate, reads, memory.

    The same ``seed`` gives the same batches for any memory, reader and number of threads. Each iteration
    is the next epoch.

    For one thread at a time: another one that iterates meanwhile gets a ``RuntimeError``. It may look, with
    :meth:`stats`, :meth:`status`, :meth:`is_ready` and :meth:`state_dict`, and :meth:`close`.

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
        fanouts: Fanouts | Mapping[EdgeTriple, Fanouts] = (),
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
        temporal_strategy: Literal["uniform", "last"] = "uniform",
        time_window: int | None = None,
        subgraph_type: Literal["directional", "bidirectional", "induced"] = "directional",
        method: Literal["neighbor", "labor"] = "neighbor",
        layer_dependency: bool = False,
        negatives: Literal["binary", "triplet"] | None = None,
        num_negatives: float = 1,
        negatives_by: PairLaw = "uniform",
        exclude_edges: bool = False,
        exclude_seed_edges: bool = False,
        exclude_reverse: bool = False,
        seed: int | None = None,
        progress: bool = False,
        device: DeviceOptions | None = None,
    ) -> None:
        self._relations = as_relations(graph)
        self._attributes = attributes_of(graph, self._relations, features, edge_features)
        options = _core.PipelineOptions()
        self._sampling = neighbor_options(
            direction=direction,
            replace=replace,
            disjoint=disjoint,
            temporal=seed_time is not None,
            temporal_strategy=temporal_strategy,
            time_window=time_window,
            subgraph_type=subgraph_type,
            exclude_reverse=exclude_reverse,
            method=method,
            layer_dependency=layer_dependency,
            seed=seed,
        )
        self._sampling.num_hops, hops = hops_by_type(self._relations, fanouts)
        options.sampling = self._sampling
        self._schedule = Schedule(batch_size, order, batches, shuffle=shuffle, drop_last=drop_last)
        options.batch_size = self._schedule.batch_size
        options.shuffle = bool(shuffle)
        options.drop_last = bool(drop_last)
        options.world_size = integer_from(world_size, 1, "world_size")
        options.rank = _natural(rank, "rank")
        options.drop_uneven = bool(drop_uneven_inputs)
        options.memory = pipeline_budget() if memory is None else _bytes(memory, "memory")
        options.cache = None if cache is None else _bytes(cache, "cache")
        options.ahead = None if ahead is None else integer_from(ahead, 1, "ahead")
        options.threads = 0 if threads is None else integer_from(threads, 1, "threads")
        if options.threads > 4096:
            raise ValueError(f"threads: expected 1 to 4096, found {threads}")
        if reader not in READERS:
            raise ValueError(f"reader: expected one of {list(READERS)}, found {reader!r}")
        options.reader = READERS[reader]
        device = device or DeviceOptions()
        if device.pinning is not None:
            options.pin(*device.pinning)
        if seeds is not None and links is not None:
            raise ValueError("seeds, links: expected one of them, found both")
        nodes = edges = None
        if links is None:
            if negatives is not None or exclude_seed_edges:
                raise ValueError("negatives, exclude_seed_edges: expected links with them, found none")
            nodes = node_seeds(graph, self._relations, seeds, seed_time)
        else:
            if negatives not in _NEGATIVES:
                raise ValueError(f"negatives: expected 'binary', 'triplet' or None, found {negatives!r}")
            law = negative_options(
                negatives_by, 0.75, exclude_edges, 0, sources=negatives != "triplet", name="negatives_by"
            )
            by = negatives_by if isinstance(negatives_by, tuple) else (negatives_by,)
            needing = {
                "exclude_edges": exclude_edges,
                "exclude_seed_edges": exclude_seed_edges,
                "negatives_by": any(isinstance(law, str) and law == "degree" for law in by),
            }
            ends = link_seeds(self._relations, links, seed_time, needing)
            edges = (*ends, _NEGATIVES[negatives], _number(num_negatives), law, bool(exclude_seed_edges))
        kinds = node_types(self._relations, node_time, seed_time)
        timed = [name for name, (_, times) in zip(self._relations.node_types, kinds, strict=True) if times is not None]
        graphs = core_relations(self._relations, hops, self._sampling.direction, weighted, edge_time, timed)
        types = {name: number for number, name in enumerate(self._relations.node_types)}
        numbers = {triple: number for number, triple in enumerate(graphs)}
        if isinstance(dtype, Mapping):
            check_names(dtype, self._attributes, "dtype")
        wanted = []
        for attribute in self._attributes:
            of = numbers[attribute.of] if isinstance(attribute.of, tuple) else types[attribute.of]
            of_edges = isinstance(attribute.of, tuple)
            room = device.room.get(attribute, 0)
            wanted.append((attribute.store._core, of_edges, of, wanted_dtype(attribute, dtype), room))
        self._core: _core.Pipeline | None = _core.Pipeline(nodes, edges, kinds, list(graphs.values()), wanted, options)
        self._schedule.begin(self._core)
        self._is_link = links is not None
        self._progress = bool(progress)
        self._epoch = 0  # the one under way, or the next
        self._position = 0  # batches of it that have been handed out
        self._begun = False
        self._begin = (0.0, 0, 0.0)  # of this iteration: time, position, seconds waited before
        self._ended: str | None = None  # the status of an epoch that is over, until another begins

    @property
    def epoch(self) -> int:
        """The number of the epoch that is under way, or that the next iteration will be."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration that of ``epoch``, from its beginning."""
        self._move(_natural(epoch, "epoch"), 0)

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        return self._schedule.num_batches(self._open())

    def state_dict(self) -> dict[str, int]:
        """Return where the iteration is: a pipeline with the same arguments that loads it goes on right there."""
        return {"seed": self._sampling.seed, "epoch": self._epoch, "batch": self._position, "batches": len(self)}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Make the next iteration go on where ``state`` was taken."""
        missing = [key for key in self.state_dict() if key not in state]
        if missing:
            raise ValueError(f"state: expected what state_dict() returns, found nothing under {missing[0]!r}")
        if state["batches"] != len(self):
            raise ValueError(
                f"state: expected that of a pipeline with {len(self)} batches an epoch, found {state['batches']}; "
                "seeds, batch_size and drop_last must be the same"
            )
        batch = integer(state["batch"], "state['batch']")
        if not 0 <= batch <= len(self):
            raise ValueError(f"state['batch']: expected 0 to {len(self)}, found {batch}")
        seed = as_seed(state["seed"], "state['seed']")
        self._move(_natural(state["epoch"], "state['epoch']"), batch)
        self._open().set_seed(seed)
        self._sampling.seed = seed

    def _move(self, epoch: int, position: int) -> None:
        self._open().stop()
        self._epoch, self._position, self._begun, self._ended = epoch, position, False, None

    def __iter__(self) -> Generator[Batch, None, None]:
        return self.share(0, 1)

    def share(self, worker: int, num_workers: int) -> Generator[Batch, None, None]:
        """Iterate over every ``num_workers``-th batch of an epoch, the first of which is number ``worker``."""
        core = self._open()
        epoch, position = (self._epoch + 1, 0) if self._begun else (self._epoch, self._position)
        self._schedule.begin_epoch(core)
        turn = core.start(epoch, position + worker, num_workers)  # only the latest iteration may go on
        self._epoch, self._position, self._begun, self._ended = epoch, position, True, None
        self._begin = (time.perf_counter(), position, core.stats()["seconds_waited"])
        del core  # close() gives its memory back, whoever is in the middle of an iteration
        process = os.getpid()
        shown = 0.0
        try:
            while True:
                if os.getpid() != process:
                    raise RuntimeError("this iteration is that of another process: begin one of this process")
                batch = self._next(turn)
                if batch is None:
                    break
                if self._progress and time.perf_counter() - shown > 0.5:
                    shown = time.perf_counter()
                    _show(self.status())
                yield batch
                del batch  # its memory is wanted for the next one
            self._ended = self.status()
            self._epoch, self._position, self._begun = self._epoch + 1, 0, False
        finally:
            still_open = self._core
            if still_open is not None:
                still_open.end(turn)
            if shown:
                _show("\n")

    def is_ready(self) -> bool:
        """Return whether the iteration that is under way would return its next batch, or end, at once."""
        return self._open().is_ready()

    def _next(self, turn: int) -> Batch | None:
        core = self._core
        found: Any = False if core is None else core.next(turn)
        if found is False:
            raise RuntimeError(
                "this iteration is over: another one began, or the pipeline was set to another place or closed"
            )
        if found is None:
            return None
        number, (types, edges), input_id, src, dst, rows = found
        self._position = number + 1
        node_features: dict[Any, Any] = {}
        edge_features: dict[Any, Any] = {}
        for attribute, values in zip(self._attributes, rows, strict=True):
            group = edge_features if isinstance(attribute.of, tuple) else node_features
            if self._relations.is_hetero:
                group = group.setdefault(attribute.of, {})
            if isinstance(values, tuple):
                group[attribute.name] = HostRows(values[0], values[1], plain(values[2]))
            else:
                group[attribute.name] = plain(values)
        return Batch(
            sample=named(self._relations, types, edges, self._sampling),
            node_features=node_features,
            edge_features=edge_features,
            input_id=plain(input_id),
            src_index=plain(src) if self._is_link else None,
            dst_index=plain(dst) if self._is_link else None,
            epoch=self._epoch,
            number=number,
        )

    def rows_on_device(self) -> dict[Attribute, IntArray]:
        """Return the stored rows that the device is to hold, in the order of their slots. Begin an iteration first."""
        core = self._open()
        rows = {attribute: plain(core.on_device(number)) for number, attribute in enumerate(self._attributes)}
        return {attribute: found for attribute, found in rows.items() if len(found)}

    def stats(self) -> dict[str, Any]:
        """Return where time, bytes and memory went since the pipeline was made.

        ``rows`` are in finished batches. Of these, and of batches that are on their way, ``mapped_rows`` come
        through the page cache, ``cached_rows`` from rows that stay in memory, ``on_device_rows`` are on a device
        already, and the others have to be read:
        ``read_rows`` were, in ``device_reads`` of ``device_bytes``; ``shared_rows`` had been read, or were about
        to be, for another batch ahead; ``unslotted_rows`` found no room ahead. ``hit_rate`` is the part that
        needed no read of its own, ``read_amplification`` the bytes read for each byte of a row read,
        ``queue_depth`` the reads in flight on average. ``fill_bytes`` were read to fill the cache.

        ``seconds_sampling``, ``seconds_assembling`` and ``seconds_reading`` are times of the threads that do
        it, summed; ``seconds_waited`` is how long the iteration waited for its next batch, and
        ``seconds_preparing`` what came before the first: choosing rows and filling the cache.

        ``memory`` tells the bytes held now, by purpose, and the ``budget``; ``pinned_bytes`` of them a device
        reads by itself. ``sources`` tell for each attribute the reader, why it was chosen, and how many of its
        rows stay in memory.
        """
        stats = self._open().stats()
        wanted, waits, queued = (stats.pop(name) for name in ("read_row_bytes", "queue_waits", "queued_reads"))
        read = stats["read_rows"] + stats["unslotted_rows"]
        here = stats["mapped_rows"] + stats["cached_rows"] + stats["shared_rows"] + read
        rows = stats["on_device_rows"] + here
        stats["hit_rate"] = 1 - read / rows if rows else None
        stats["read_amplification"] = stats["device_bytes"] / wanted if wanted else None
        stats["queue_depth"] = queued / waits if waits else None
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
        """Return the most important of :meth:`stats` in one line: of this epoch, or of the one that has just ended."""
        stats = self.stats()
        if self._ended is not None:
            return self._ended
        begin, first, waited = self._begin
        seconds = max(time.perf_counter() - begin, 1e-9)
        held = sum(size for purpose, size in stats["memory"].items() if purpose != "budget")
        parts = [
            f"epoch {self._epoch} batch {self._position}/{len(self)}",
            f"{(self._position - first) / seconds:.1f} batches/s",
            f"waited {(stats['seconds_waited'] - waited) / seconds:.0%}",
            "hits -" if stats["hit_rate"] is None else f"hits {stats['hit_rate']:.1%}",
            f"{stats['device_reads']:,} reads, {byte_text(stats['device_bytes'])}",
            f"{stats['batches_ahead']} ahead",
            f"{byte_text(held)} of {byte_text(stats['memory']['budget'])}",
        ]
        return " · ".join(parts)

    def _open(self) -> _core.Pipeline:
        if self._core is None:
            raise ValueError("the pipeline is closed")
        return self._core

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._core is None

    def close(self) -> None:
        """End the iteration that is under way and give all memory back. May be repeated."""
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


def _natural(value: Any, name: str) -> int:
    number = integer(value, name)
    if not 0 <= number < 2**63:
        raise ValueError(f"{name}: expected 0 to 2^63 - 1, found {number}")
    return number


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"num_negatives: expected a number, found {value!r}") from None


def _bytes(size: int | str, name: str) -> int:
    count = byte_count(size, name) if isinstance(size, str) else integer(size, name)
    if not 0 <= count < 2**63:
        raise ValueError(f"{name}: expected a number of bytes, found {count}")
    return count


def _show(line: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(line if line == "\n" else f"\r\x1b[K{line}")
        sys.stderr.flush()

"""What both loaders do: epochs of a pipeline's batches, each put into the form that a model takes."""

from __future__ import annotations

import itertools
import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

from torch.utils.data import IterableDataset, get_worker_info

from graphzero import _core
from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.integers import as_seed
from graphzero._base.memory_sizes import budget_for_shares
from graphzero._inputs.attributes import Attributes
from graphzero._inputs.pipeline_request import PipelineRequest
from graphzero._inputs.position import position_from
from graphzero._inputs.sample_request import SampleRequest
from graphzero._look.stats import stats_html
from graphzero.loaders._batch.parts import OF_SAMPLE, Parts
from graphzero.loaders._data.edge_values import weighted_types
from graphzero.loaders._data.graph_data import GraphData
from graphzero.loaders._data.node_times import NodeTimes
from graphzero.loaders._data.subgraph_types import subgraph_type_of
from graphzero.loaders._device.gpu_memory import read_gpu_cache
from graphzero.loaders._device.ranges import stage
from graphzero.loaders._device.tracing import add_to_trace
from graphzero.loaders._device.transfer import as_device
from graphzero.loaders._epoch.assembly import Assembly
from graphzero.loaders._epoch.feed import Feed
from graphzero.loaders._epoch.index_calls import IndexCalls, places_of
from graphzero.loaders._exchange.service import exchange_of
from graphzero.loaders._exchange.shared_rows import SharedRows
from graphzero.loaders._process.agreement import Agreement, agreement_of
from graphzero.loaders._process.ranks import memory_of_rank, ranks_of_loader, shared_seed
from graphzero.loaders._process.request_facts import fact_of, request_facts
from graphzero.loaders._process.worker_epochs import WorkerEpochs
from graphzero.loaders.options import LoaderKeywords, LoaderOptions, read_options
from graphzero.loaders.pyg.identity import PygClassIdentity
from graphzero.loaders.pyg.loader_data import as_loader_data
from graphzero.pipeline import Batch, Pipeline, Stages
from graphzero.threads import num_threads

_log = logging.getLogger("graphzero")

# Loaders of this process whose threads are in traces.
_traced = itertools.count()


class Loader(PygClassIdentity, IterableDataset[Any]):
    """Iterates over an epoch of batches; each iteration is the next epoch.

    An iteration that begins while another is under way has a pipeline and memory of its own. ``state_dict()``,
    ``set_epoch()`` and ``stats()`` are about the one that began last. Also a data set for
    ``torch.utils.data.DataLoader(loader, batch_size=None, num_workers=...)``, which gives the same batches in the same
    order, made by processes.
    """

    num_neighbors: Any
    _sampler_options: dict[str, Any]
    _agreement: Agreement | None = None  # until the first epoch, of ranks that torch.distributed joins

    def __init__(
        self,
        given: Any,
        data: GraphData,
        options: LoaderOptions,
        seeds: Any,
        num_seeds: int,
        request: PipelineRequest,
        transform: Callable[[Any], Any] | None,
        transform_sampler_output: Callable[[Any], Any] | None,
    ) -> None:
        super().__init__()
        for name, call in (("transform", transform), ("transform_sampler_output", transform_sampler_output)):
            if call is not None and not callable(call):
                raise type_error(name, f"expected a function, found {call!r}")
        self.data = given
        self.transform = transform
        self.transform_sampler_output = transform_sampler_output
        self.dataset = range(num_seeds)
        self.batch_size = None if options.batch_sampler is not None else options.batch_size
        self.shuffle = options.shuffle
        self.drop_last = options.drop_last
        self.num_workers = 0
        self.filter_per_worker = True
        self.custom_cls = options.custom_cls
        self.input_id = options.input_id
        self._data = data
        self._options = options
        self._reads_late = transform_sampler_output is not None
        self._ranks = ranks_of_loader(options, seeds, num_seeds)
        self._seed = shared_seed(options.seed, self._ranks.world_size, options.generator)
        self._request = replace(
            request,
            sample=request.sample.with_seed(self._ranks.seed_of_draws(self._seed)),
            rank=self._ranks.rank,
            world_size=self._ranks.world_size,
            memory=memory_of_rank(request, self._ranks.world_size) if request.memory is None else request.memory,
        )
        self._prepare()
        self._worker_epochs = WorkerEpochs()
        self._state: dict[str, int] | None = None
        self._begin_at: dict[str, int] | None = None  # where the first epoch of workers begins
        self._calls: IndexCalls | None = None
        self._num_calls = 0
        self._own_sampler: Any = None
        self._older: weakref.WeakSet[Feed] = weakref.WeakSet()
        self._beginning = threading.RLock()  # held while it is decided which feed an iteration has
        self._agreeing = threading.Lock()
        self._feed: Feed | None = self._make_feed()
        for source in self._feed.pipeline.stats()["sources"].values():
            _log.info("%s", source["reason"])
        self._closed_at: dict[str, int] | None = None
        self._closed_stages: Stages | None = None
        self._trace_number: int | None = None
        if self._ranks.world_size > 1 and options.rank is None:
            facts = self._facts_of_batches() | request_facts(self._request, self._assembly.shared, self._seed)
            self._agreement = agreement_of(facts)

    def _read(
        self, data: Any, num_neighbors: Any, time_attr: str | None, weight_attr: str | None, options: LoaderKeywords
    ) -> tuple[LoaderOptions, GraphData]:
        """Read the arguments that all loaders have, before ``__init__()``."""
        read = read_options(type(self).__name__, options)
        self.num_neighbors = num_neighbors
        self._sampler_options = {"time_attr": time_attr, "weight_attr": weight_attr}
        names = {"features": read.features, "edge_features": read.edge_features}
        return read, as_loader_data(data, **names, **self._sampler_options, sample_direction=read.sample_direction)

    def _sample(
        self, read: LoaderOptions, data: GraphData, times: NodeTimes | None, subgraph_type: Any, **sampling: Any
    ) -> SampleRequest:
        """Return the sample of each batch."""
        return read._sample_request(
            data.relations,
            self.num_neighbors,
            subgraph_type=subgraph_type_of(subgraph_type, read.directed),
            node_time=None if times is None else times.node_time,
            edge_time=None if times is None else times.edge_types,
            weighted=weighted_types(self._sampler_options["weight_attr"], data),
            **sampling,
        )

    def _prepare(self) -> None:
        """Find out what belongs into batches, and where they go."""
        options = self._options
        wanted = self._data.device if options.device is None else options.device
        self._device = None if wanted is None else as_device(wanted)
        is_cuda = self._device is not None and self._device.type == "cuda"
        size = read_gpu_cache(options.gpu_cache)
        if isinstance(size, int) and wanted is None:
            raise value_error("gpu_cache", "expected device with it, such as device='cuda', found none")
        if isinstance(size, int) and not is_cuda:
            raise value_error("gpu_cache", f"expected a CUDA device with it, found device={wanted!r}")
        self._assemble(is_cuda=is_cuda)

    def _assemble(self, *, is_cuda: bool) -> None:
        self._assembly = Assembly(self._data, self._options, reads_late=self._reads_late, is_cuda=is_cuda)
        dtypes = {} if self._reads_late else self._assembly.in_core
        sample = copy(self._request.sample)
        sample.relations = self._data.relations
        self._request = replace(self._request, sample=sample, attributes=self._assembly.attributes, dtype=dtypes)
        self._shared = self._share_rows()

    def _share_rows(self) -> SharedRows | None:
        """Return what fetches rows that hosts divide; ``None`` if batches have none."""
        own = self._assembly
        used = Attributes(own.shared + own.late_shares)
        if not used:
            return None
        if isinstance(read_gpu_cache(self._options.gpu_cache), int):
            raise value_error(
                "gpu_cache", f"expected 'auto' or None, as hosts divide the rows of {used[0].name}, found a size"
            )
        shares = self._data.shares
        memory = self._request.default_memory() if self._request.memory is None else self._request.memory
        given = self._options
        exchange = exchange_of(shares, memory, given.exchange, given.exchange_timeout, self._device)
        on_host = SharedRows(used, own.attributes_of_batch, exchange, shares, own.dtypes, (), self._options.reader)
        own.fetch_late(on_host)
        return on_host

    def _make_feed(self, **changed: Any) -> Feed:
        request = replace(self._request, **changed)
        gpu_cache = read_gpu_cache(self._options.gpu_cache)
        own, shared = self._assembly, None
        if self._shared is not None and own.shared:
            shared = self._shared.of_batches(own.shared, own.host_dtypes, own.with_scales)
        return Feed(request, own, self._device, gpu_cache, self._stays, shared)

    @property
    def _stays(self) -> frozenset[str]:
        """What does not go to the device: ids and the like, if it is that of the data, where PyG leaves them behind."""
        return OF_SAMPLE if self._options.device is None else frozenset()

    def __len__(self) -> int:
        """Return the number of batches of an epoch, also of a closed loader, as trainers ask for it in the end."""
        return len(self._open().pipeline) if self._closed_at is None else self._closed_at["batches"]

    def __iter__(self) -> Iterator[Any]:
        self._refresh()
        self._data.check_open()
        worker = get_worker_info()
        if worker is None:
            self._agree()
            return self._iterate(0, 1)
        return self._iterate_in_worker(worker.id, worker.num_workers)

    def _facts_of_batches(self) -> dict[str, str]:
        """Return what of a batch follows from no file and no sample, and must be the same on all ranks."""
        given = self._options
        facts = {"form": given.form, "labels": given.labels, "dtype": given.dtype, "input_id": given.input_id}
        return {name: fact_of(value) for name, value in facts.items()}

    def _agree(self) -> None:
        """Compare what this rank has with what the others have, until it was found to be the same."""
        with self._agreeing:
            if self._agreement is not None:
                self._agreement.check()
                self._agreement = None

    def _refresh(self) -> None:
        """Take over what a user made of the data since the last iteration."""
        with self._beginning:
            data = self._data.refreshed()
            if data is self._data:
                return
            for name in filter(None, self._sampler_options.values()):
                pairs = zip(self._data.assigned(), data.assigned(), strict=False)
                if any(old.get(name) is not new.get(name) for old, new in pairs):
                    raise value_error(
                        name, "was assigned after this loader, which samples by it, was made; make a new one"
                    )
            before = self._assembly.attributes, self._device, self._data.relations.graphs
            self._data = data
            self._prepare()
            if (self._assembly.attributes, self._device, data.relations.graphs) == before:
                return
            self._calls = None
            if self._feed is not None:
                feed = self._make_feed()
                feed.move(self._feed.next_position)
                self._replace_feed(feed)

    def _iterate_in_worker(self, worker: int, num_workers: int) -> Iterator[Any]:
        if self._device is not None:
            raise value_error("device", "expected none in a worker process; move batches where they are used")
        self._refuse_workers()
        memory, threads = self._request.memory, self._request.threads
        total = self._request.default_memory() if memory is None else memory
        if threads is None:
            threads = max(1, num_threads() // num_workers)
        self._feed = self._make_feed(memory=total // num_workers, threads=threads)
        epoch = self._worker_epochs.begin(worker, num_workers)
        begin, self._begin_at = self._begin_at, None
        if begin is not None and begin["epoch"] == epoch:
            self._feed.move(begin)
        else:
            self._feed.set_epoch(epoch)
        return self._iterate_on_share(worker, num_workers, total)

    @property
    def _exchanges_rows(self) -> bool:
        return self._shared is not None and self._shared.exchange is not None

    def _refuse_workers(self) -> None:
        if self._exchanges_rows:
            raise value_error(
                "num_workers",
                "expected 0, as hosts divide rows of this data set, found more: a rank exchanges them in one process; "
                "iterate over the loader itself, whose threads make batches ahead",
            )

    def _iterate_on_share(self, worker: int, num_workers: int, total: int) -> Iterator[Any]:
        try:
            yield from self._iterate(worker, num_workers)
        except _core.BudgetTooSmall as error:
            whose = f"each of {num_workers} workers"
            raise budget_for_shares(error, total, lambda memory: memory // num_workers, whose) from None

    def _iterate(self, worker: int, num_workers: int) -> Iterator[Any]:
        with self._beginning:
            feed = self._open()
            if feed.is_under_way:
                other = self._make_feed()
                other.move(feed.next_position)
                self._replace_feed(other)
                feed = other
            own = self._assembly  # whatever is assigned to the data while this iteration is under way
            own.load_form()
            batches = feed.batches(worker, num_workers, partial(self._parts, own), partial(self._form, own))
        try:
            yield from batches
        finally:
            if feed is not self._feed:
                feed.close()

    def _replace_feed(self, feed: Feed) -> None:
        """Begin the next iteration with another feed; one that is under way goes on with its own."""
        assert self._feed is not None
        if self._feed.is_under_way:
            self._older.add(self._feed)
        else:
            self._feed.close()
        self._feed = feed

    def _parts(self, assembly: Assembly, batch: Batch) -> Parts:
        return assembly.parts(batch, self._describe_seeds, self.transform_sampler_output)

    def _form(self, assembly: Assembly, parts: Parts) -> Any:
        with stage("graphzero.form", self._device):
            is_here = self._device is None or self._device.type == "cpu"
            batch = assembly.form(parts, pin=self._options.pin_memory and is_here)
        if self.transform is None:
            return batch
        with stage("graphzero.transform", self._device):
            return self.transform(batch)

    def _describe_seeds(self, batch: Batch, parts: Parts) -> None:
        """Add what a batch has about its seeds."""
        raise NotImplementedError

    def __call__(self, index: Any) -> Any:
        """Return one batch of the seeds at these places: a list, tensor or array of them, a mask, or a slice.

        Each call draws anew; what it draws follows from the seed and the number of calls before.
        """
        if self._closed_at is not None:
            raise ValueError(f"this {type(self).__name__} is closed; make a new one")
        self._agree()
        self._refresh()
        self._data.check_open()
        places = places_of(index, len(self.dataset))
        if self._calls is None or not self._calls.is_of_this_process:
            own = {one.name for one in self._assembly.attributes}
            dtype = {name: kind for name, kind in self._assembly.dtypes.items() if name in own}
            self._calls = IndexCalls(replace(self._request, dtype=dtype), self._ranks.rank, self._num_calls)
        self._num_calls += 1
        batch = self._calls.batch(places)
        if self._shared is not None and self._assembly.shared:
            batch = self._shared.of_batches(self._assembly.shared, self._assembly.dtypes, ()).complete(batch)
        parts = self._parts(self._assembly, batch)
        if self._device is not None:
            parts.map(lambda tensor: tensor.to(self._device), stays=self._stays)
        return self._form(self._assembly, parts)

    def _sampler(self, **more: Any) -> Any:
        """Return a sampler for PyG's loaders with the arguments of this one, made when it is asked for."""
        from graphzero.loaders.pyg.sampler import NeighborSampler

        if self._own_sampler is not None:
            return self._own_sampler
        same = ("replace", "subgraph_type", "disjoint", "temporal_strategy", "time_window")
        sample = self._request.sample
        self._own_sampler = NeighborSampler(
            self._data,
            self.num_neighbors,
            **{name: getattr(sample, name) for name in same},
            **self._sampler_options,
            sample_direction=self._options.sample_direction,
            seed=self._options.seed,
            **more,
        )
        return self._own_sampler

    def collate_fn(self, index: Any) -> Any:
        """Return the batch of some seeds, as ``loader(index)`` does.

        Args:
            index: Positions among the seeds.
        """
        return self(index)

    def filter_fn(self, out: Any) -> Any:
        """Return what ``collate_fn()`` made: a batch has its rows already.

        Args:
            out: The batch.
        """
        return out

    @property
    def epoch(self) -> int:
        """The number of the epoch under way, or of the next iteration."""
        return self._open().epoch

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration start at the beginning of an epoch.

        Args:
            epoch: Its number, from 0.
        """
        self._open().set_epoch(epoch)
        self._worker_epochs.set(epoch)
        self._begin_at = None

    def state_dict(self) -> dict[str, int]:
        """Return the position of the iteration, from which a loader with the same arguments can go on.

        Also of a closed loader, because trainers write their last checkpoint after closing it.
        """
        return self._position() if self._closed_at is None else self._closed_at

    def _position(self) -> dict[str, int]:
        return {**self._open().position, "seed": self._seed}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Make the next iteration go on from a position.

        Args:
            state: What ``state_dict()`` returned, on any rank. Other numbers of ranks may go on at the beginning of an
                epoch, and nowhere else, as they divide it otherwise.
        """
        own = position_from(state)
        if "seed" in own:
            own["seed"] = self._ranks.seed_of_draws(as_seed(state["seed"], "state['seed']"))
        self._open().move(own)
        self._seed = state["seed"]
        self._request = replace(self._request, sample=self._request.sample.with_seed(own["seed"]))
        self._worker_epochs.set(state["epoch"])
        self._begin_at = own

    def stats(self) -> dict[str, Any]:
        """Return [`Pipeline.stats`][graphzero.Pipeline.stats]: where time, bytes and memory went.

        Also ``gpu_cache_rows`` that are on a GPU and the ``gpu_cache_bytes`` they take; ``gpu_cache`` says why.
        """
        return self._open().stats()

    def status(self) -> str:
        """Return the most important of ``stats()`` in one line."""
        return self._open().pipeline.status()

    def add_stages(self, path: str | os.PathLike[str]) -> None:
        """Add what the core's threads did to a trace that ``prof.export_chrome_trace(path)`` wrote.

        They sample, read and assemble batches unseen by ``torch.profiler``, and log it while batches are taken inside a
        profile. In the trace they are threads of this process: ``graphzero worker 0`` and so on, and ``graphzero
        reader``. Processes of a ``DataLoader`` are not included.

        Args:
            path: The trace, which is replaced. What it has already is not added again.
        """
        stages = self._open().pipeline._stages() if self._closed_stages is None else self._closed_stages
        if self._trace_number is None:
            self._trace_number = next(_traced)
        add_to_trace(path, stages, self._trace_number)

    def close(self) -> None:
        """End the iterations under way and free all memory. May be called again."""
        if self._feed is not None:
            self._closed_at = self.state_dict()
            if self._closed_stages is None:
                self._closed_stages = self._feed.pipeline._stages()
            self._feed.close()
        for feed in (*self._older,):
            feed.close()
        if self._calls is not None:
            self._calls.close()

    def _open(self) -> Feed:
        if self._feed is None:  # a copy in another process
            self._data.check_open()
            self._feed = self._make_feed()
            if self._state is not None:
                self._feed.move({**self._state, "seed": self._request.sample.seed})
        return self._feed

    def __getstate__(self) -> dict[str, Any]:
        own = (
            "_feed", "_calls", "_closed_stages", "_trace_number", "_beginning", "_agreeing", "_assembly", "_agreement",
            "_shared",
        )  # fmt: skip
        self._data.check_open()
        if self._exchanges_rows:
            raise TypeError(
                f"{type(self).__name__}: expected to stay in the process that made it, as hosts divide rows of its "
                "data set, which a rank exchanges in one process, found that it is pickled, as a DataLoader with "
                "num_workers=… does; iterate over it itself, whose threads make batches ahead"
            )
        feed = self._open()
        state = feed.position if feed.is_under_way else feed.next_position
        sample: Any = copy(self._request.sample)
        sample.relations = None  # those of the data: its files are to be opened once
        request = copy(self._request)
        request.sample, request.attributes = sample, Attributes()
        changed = {"_older": (), "_state": {**state, "seed": self._seed}, "_request": request}
        return {**self.__dict__, **dict.fromkeys(own), **changed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_arguments" in state:  # pickled before 0.3
            with Pipeline(**state["_arguments"]) as pipeline:
                self._request = pipeline._request
        if self._assembly is None:
            self._assemble(is_cuda=self._device is not None and self._device.type == "cuda")
        self._older = weakref.WeakSet()
        self._beginning = threading.RLock()
        self._agreeing = threading.Lock()

    def __repr__(self) -> str:
        if self._closed_at is not None:
            return f"{type(self).__name__}(closed)"
        return f"{type(self).__name__}({len(self):,} batches)"

    def _repr_html_(self) -> str:
        name = type(self).__name__
        if self._closed_at is not None:
            return stats_html(name, "closed", {})
        pipeline = self._open().pipeline
        return stats_html(name, f"{len(pipeline):,} batches", pipeline._counts(), pipeline.status())

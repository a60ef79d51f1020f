"""What both loaders do: an epoch of a pipeline's batches, each put into the form that a model takes."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any

import torch
from torch.utils.data import IterableDataset, get_worker_info

from graphzero.loaders.batch_forms import as_pyg, as_torch_batch, has_pyg
from graphzero.loaders.batch_parts import Parts, sampled_parts
from graphzero.loaders.device_rows import DeviceRows, divide_room
from graphzero.loaders.devices import CudaTransfer, Parcel, PlainTransfer, as_device, cuda_pinning
from graphzero.loaders.graph_data import GraphData
from graphzero.loaders.loader_options import LoaderOptions
from graphzero.loaders.ranges import stage
from graphzero.loaders.ranks import default_memory, ranks_of_loader, shared_seed
from graphzero.loaders.tensors import as_tensor
from graphzero.loaders.traces import add_to_trace
from graphzero.loaders.worker_epochs import WorkerEpochs
from graphzero.memory import byte_count, pipeline_budget
from graphzero.pipeline import Batch, Pipeline, RowsHere, Stages, Taker
from graphzero.pipeline_inputs import Attribute, Attributes
from graphzero.seeds import as_seed
from graphzero.threads import num_threads

_log = logging.getLogger("graphzero")

# Loaders of this process whose threads are in traces.
_traced = itertools.count()


class Loader(IterableDataset[Any]):
    """Iterates over an epoch of batches; each iteration is the next epoch.

    Also a data set for ``torch.utils.data.DataLoader(loader, batch_size=None, num_workers=...)``, which gives
    the same batches in the same order, made by processes.
    """

    def __init__(
        self,
        data: GraphData,
        options: LoaderOptions,
        seeds: Any,
        num_seeds: int,
        sampling: dict[str, Any],
        transform: Callable[[Any], Any] | None,
        transform_sampler_output: Callable[[Any], Any] | None,
    ) -> None:
        super().__init__()
        for name, call in (("transform", transform), ("transform_sampler_output", transform_sampler_output)):
            if call is not None and not callable(call):
                raise TypeError(f"{name}: expected a function, found {call!r}")
        self.data = data
        self.transform = transform
        self.transform_sampler_output = transform_sampler_output
        self._options = options
        self._uses_pyg = options.form == "pyg" or (options.form is None and has_pyg())
        if (options.custom_cls or transform_sampler_output) is not None and not self._uses_pyg:
            raise ValueError(
                "custom_cls, transform_sampler_output: expected PyG with them, found form='torch' or no PyG"
            )
        self._device = None if options.device is None else as_device(options.device)
        self._labels = _seed_labels(data) if options.labels == "seeds" else {}
        attributes = _own_attributes(data, self._labels)
        _check_names(data)
        self._late = attributes if transform_sampler_output is not None else Attributes()
        self._ranks = ranks_of_loader(options, seeds, num_seeds)
        self._seed = shared_seed(options.seed, self._ranks.world_size, options.generator)
        self._dtypes = _dtypes(attributes, options.dtype)
        is_cuda = self._device is not None and self._device.type == "cuda"
        if options.gpu_cache is not None and not is_cuda:
            raise ValueError(f"gpu_cache: expected a CUDA device with it, found device={options.device!r}")
        # A device converts rows faster than they are copied; what is stored in steps of a scale comes converted.
        self._host_dtypes = _host_dtypes(attributes, self._dtypes) if is_cuda else self._dtypes
        self._transfer: CudaTransfer | PlainTransfer | None = None
        self._arguments: dict[str, Any] = {
            **sampling,
            "graph": data.graph,
            "features": Attributes() if self._late else attributes,
            "batch_size": options.batch_size,
            "shuffle": options.shuffle,
            "drop_last": options.drop_last,
            "order": options.sampler,
            "batches": options.batch_sampler,
            "rank": self._ranks.rank,
            "world_size": self._ranks.world_size,
            "drop_uneven_inputs": options.drop_uneven_inputs,
            "memory": default_memory(self._ranks.world_size) if options.memory is None else options.memory,
            "cache": options.cache,
            "ahead": options.ahead,
            "dtype": {} if self._late else self._host_dtypes,
            "reader": options.reader,
            "threads": options.threads,
            "direction": "in" if options.sample_direction == "forward" else "out",
            "time_window": options.time_window,
            "method": options.method,
            "layer_dependency": options.layer_dependency,
            "seed": self._ranks.seed_of_draws(self._seed),
            "progress": options.progress,
        }
        self._worker_epochs = WorkerEpochs()
        self._state: dict[str, int] | None = None
        self._begin_at: dict[str, int] | None = None  # where the first epoch of workers begins
        self._ahead = 0  # batches that are on their way to the device
        self._pipeline: Pipeline | None = Pipeline(**self._arguments, taker=self._taker())
        for source in self._pipeline.stats()["sources"].values():
            _log.info("%s", source["reason"])
        self._closed_at: dict[str, int] | None = None
        self._closed_stages: Stages | None = None
        self._trace_number: int | None = None

    def _taker(self) -> Taker | None:
        if self._device is None or self._device.type != "cuda":
            return None
        room: dict[Attribute, int] = {}
        if self._options.gpu_cache is not None:
            of_nodes = [one for one in self._arguments["features"] if not isinstance(one.of, tuple)]
            room = divide_room(byte_count(self._options.gpu_cache, "gpu_cache"), of_nodes, self._host_dtypes)
        return Taker(cuda_pinning(self._device), room)

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        return len(self._open())

    def __iter__(self) -> Iterator[Any]:
        self.data.check_open()
        worker = get_worker_info()
        if worker is None:
            return self._iterate(0, 1)
        return self._iterate_in_worker(worker.id, worker.num_workers)

    def _iterate_in_worker(self, worker: int, num_workers: int) -> Iterator[Any]:
        if self._device is not None:
            raise ValueError("device: expected none in a worker process; move batches where they are used")
        memory = self._arguments["memory"]
        total = pipeline_budget() if memory is None else byte_count(memory)
        share = {"memory": total // num_workers, "threads": self._arguments["threads"]}
        if share["threads"] is None:
            share["threads"] = max(1, num_threads() // num_workers)
        self._pipeline = Pipeline(**{**self._arguments, **share})
        epoch = self._worker_epochs.begin(worker, num_workers)
        begin, self._begin_at = self._begin_at, None
        if begin is not None and begin["epoch"] == epoch:
            self._pipeline.load_state_dict(begin)
        else:
            self._pipeline.set_epoch(epoch)
        return self._iterate(worker, num_workers)

    def _iterate(self, worker: int, num_workers: int) -> Iterator[Any]:
        pipeline = self._open()
        self._ahead = 0
        with closing(_in_words_of_torch(pipeline.share(worker, num_workers))) as batches:
            arriving: Parcel | None = None
            while True:
                current = arriving if arriving is not None else self._begin(batches)
                arriving, self._ahead = None, 0
                if current is None:
                    return
                # The next batch travels while the model works on this one, if it waits for us anyway.
                if self._transfer is not None and pipeline.is_ready():
                    arriving = self._begin(batches)
                    self._ahead = 0 if arriving is None else 1
                yield self._finish(current)
                del current

    def _begin(self, batches: Iterator[Batch]) -> Parcel | None:
        """Take the next batch and send it on its way. ``None`` behind the last one."""
        pipeline = self._open()
        if not pipeline.closed:  # else the iteration says so
            pipeline._log_stages(torch.autograd._profiler_enabled())  # type: ignore[attr-defined]
        with stage("graphzero.wait", self._device):
            batch = next(batches, None)
        if batch is None:
            return None
        with stage("graphzero.collate", self._device):
            parts = self._parts(batch)
        del batch
        if self._device is None or self._device.type == "cpu":
            return Parcel(parts)
        if self._transfer is None:  # now it is known which rows stay on the device
            self._transfer = self._make_transfer(self._device)
        with stage("graphzero.copy", self._device):
            return self._transfer.send(parts)

    def _make_transfer(self, device: torch.device) -> CudaTransfer | PlainTransfer:
        if device.type != "cuda":
            return PlainTransfer(device)
        rows = None
        if self._options.gpu_cache is not None:
            rows = DeviceRows(self._open(), device, self._host_dtypes)
        return CudaTransfer(device, self._dtypes, rows)

    def _finish(self, parcel: Parcel) -> Any:
        parts = parcel.parts if self._transfer is None else self._transfer.receive(parcel)
        with stage("graphzero.form", self._device):
            batch = as_pyg(parts, self._options.custom_cls) if self._uses_pyg else as_torch_batch(parts)
            if self._options.pin_memory and self._transfer is None and torch.cuda.is_available():
                batch = batch.pin_memory()
        if self.transform is None:
            return batch
        with stage("graphzero.transform", self._device):
            return self.transform(batch)

    def _parts(self, batch: Batch) -> Parts:
        relations = self.data.relations
        node_type, edge_type = relations.node_types[0], next(iter(relations.graphs))
        parts = sampled_parts(batch.sample, node_type, edge_type)
        self._describe_seeds(batch, parts)
        if self.transform_sampler_output is not None:
            from graphzero.loaders.sampler_outputs import from_sampler_output, to_sampler_output

            parts = from_sampler_output(self.transform_sampler_output(to_sampler_output(parts)), parts)
        for by_type, features in ((parts.nodes, batch.node_features), (parts.edges, batch.edge_features)):
            if not parts.is_hetero:
                features = dict.fromkeys(by_type, features)
            for of, named in features.items():
                for name, values in named.items():
                    rows = values if isinstance(values, RowsHere) else as_tensor(values)
                    by_type[of][name] = rows
        for attribute in self._late:
            if isinstance(attribute.of, tuple):
                group, ids = parts.edges[attribute.of], "e_id"
            else:
                group, ids = parts.nodes[attribute.of], "n_id"
            gathered = attribute.store.gather(group[ids], dtype=self._dtypes.get(attribute.name))
            group[attribute.name] = as_tensor(gathered)
        for of, store in self._labels.items():
            seeds = parts.nodes[of]["n_id"][: parts.nodes[of]["num_sampled_nodes"][0]]
            parts.nodes[of]["y"] = as_tensor(store.gather(seeds))
        for of, values in parts.nodes.items():
            label = self.data.label_of(of)
            if label in values and "y" not in values:
                values["y"] = values[label]
        return parts

    def _describe_seeds(self, batch: Batch, parts: Parts) -> None:
        """Add what a batch tells of its seeds."""
        raise NotImplementedError

    @property
    def epoch(self) -> int:
        """The number of the epoch that is under way, or that the next iteration will be."""
        return self._open().epoch

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration that of ``epoch``, from its beginning."""
        self._open().set_epoch(epoch)
        self._worker_epochs.set(epoch)
        self._begin_at = None

    def state_dict(self) -> dict[str, int]:
        """Return where the iteration is: a loader with the same arguments that loads it goes on right there.

        A closed loader tells where it was: trainers write their last checkpoint when they have let go of it.
        """
        return self._place() if self._closed_at is None else self._closed_at

    def _place(self) -> dict[str, int]:
        state = self._open().state_dict()
        return {**state, "seed": self._seed, "batch": state["batch"] - self._ahead}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Make the next iteration go on where ``state`` was taken."""
        own = dict(state)
        if "seed" in own:
            own["seed"] = self._ranks.seed_of_draws(as_seed(state["seed"], "state['seed']"))
        self._open().load_state_dict(own)
        self._seed, self._arguments["seed"] = state["seed"], own["seed"]
        self._worker_epochs.set(state["epoch"])
        self._begin_at = own

    def stats(self) -> dict[str, Any]:
        """Return :meth:`graphzero.Pipeline.stats`: where time, bytes and memory went."""
        stats = self._open().stats()
        rows = getattr(self._transfer, "rows", None)
        stats["gpu_cache_bytes"], stats["gpu_cache_rows"] = (0, 0) if rows is None else (rows.nbytes, rows.count)
        return stats

    def status(self) -> str:
        """Return the most important of :meth:`stats` in one line."""
        return self._open().status()

    def add_stages(self, path: str | os.PathLike[str]) -> None:
        """Add what the core's threads did to the trace that ``prof.export_chrome_trace(path)`` wrote.

        They sample, read and assemble batches where ``torch.profiler`` does not look, and keep a log while batches
        are taken inside a profile. In the trace they are threads of this process, ``graphzero worker 0`` and so on
        and ``graphzero reader``. The file is replaced; what is in it already is not added again. Processes of a
        ``DataLoader`` are not seen.
        """
        stages = self._open()._stages() if self._closed_stages is None else self._closed_stages
        if self._trace_number is None:
            self._trace_number = next(_traced)
        add_to_trace(path, stages, self._trace_number)

    def close(self) -> None:
        """End the iteration that is under way and give all memory back. May be repeated."""
        if self._pipeline is not None:
            self._closed_at = self.state_dict()
            if self._closed_stages is None:
                self._closed_stages = self._pipeline._stages()
            self._pipeline.close()
        if self._transfer is not None:
            self._transfer.close()
            self._transfer = None

    def _open(self) -> Pipeline:
        if self._pipeline is None:  # a copy in another process
            self.data.check_open()
            self._pipeline = Pipeline(**self._arguments, taker=self._taker())
            if self._state is not None:
                self._pipeline.load_state_dict({**self._state, "seed": self._arguments["seed"]})
        return self._pipeline

    def __getstate__(self) -> dict[str, Any]:
        own = {"_pipeline": None, "_transfer": None, "_closed_stages": None, "_trace_number": None}
        return {**self.__dict__, **own, "_state": self._place()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} batches)"


def _in_words_of_torch(batches: Generator[Batch, None, None]) -> Generator[Batch, None, None]:
    """Hand batches on; what is wrong with the order is said of the argument that gave it."""
    try:
        yield from batches
    except (IndexError, TypeError, ValueError) as error:
        for name, given in (("order", "sampler"), ("batches", "batch_sampler")):
            if str(error).startswith((f"{name}:", f"{name}[")):
                raise type(error)(given + str(error).removeprefix(name)) from None
        raise


def _seed_labels(data: GraphData) -> dict[str, Any]:
    found = {}
    for node_type in data.relations.node_types:
        store = data.stores_of(node_type).get(data.label_of(node_type) or "y")
        if store is not None:
            found[node_type] = store
    if not found:
        raise ValueError("labels: expected an attribute 'y', or a data set that names its labels, found none")
    return found


def _own_attributes(data: GraphData, labels: dict[str, Any]) -> Attributes:
    return Attributes(one for one in data.attributes if labels.get(str(one.of)) is not one.store)


def _check_names(data: GraphData) -> None:
    """A homogeneous batch has one room for attributes of nodes and of edges."""
    if data.is_hetero:
        return
    names = [one.name for one in data.attributes]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"features, edge_features: expected different names, as a batch has one of each, found {twice[0]!r} twice"
        )


def _dtypes(attributes: list[Attribute], wanted: Any) -> dict[str, Any]:
    """Return what attributes become, by name."""
    if isinstance(wanted, dict):
        return wanted
    if wanted == "stored":
        return {}
    found = {}
    for one in attributes:
        narrow = one.store.quantised or one.store.dtype in ("float16", "bfloat16")
        if wanted is not None and (narrow or "float" in one.store.dtype):
            found[one.name] = wanted
        elif wanted is None and narrow:
            found[one.name] = "float32"
    return found


def _host_dtypes(attributes: list[Attribute], dtypes: dict[str, Any]) -> dict[str, Any]:
    quantised = {one.name for one in attributes if one.store.quantised}
    return {name: dtype for name, dtype in dtypes.items() if name in quantised}

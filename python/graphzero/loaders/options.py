"""The options that all loaders have: of torch's ``DataLoader``, and our own."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict

import numpy as np

from graphzero._base.argument_errors import value_error
from graphzero._files.progress import Progress
from graphzero._inputs.attributes import Attributes
from graphzero._inputs.batch_order import BatchOrder
from graphzero._inputs.edge_types import Relations
from graphzero._inputs.fanouts import read_num_neighbors
from graphzero._inputs.pipeline_request import LinkNegatives, PipelineRequest, as_bytes
from graphzero._inputs.sample_request import SampleRequest
from graphzero._inputs.seeds import LinkSeeds, NodeSeeds
from graphzero.loaders._process.notes import note_once

# What a DataLoader does with processes; here threads of this process do it.
_OF_PROCESSES = (
    "num_workers",
    "persistent_workers",
    "prefetch_factor",
    "worker_init_fn",
    "multiprocessing_context",
    "timeout",
    "in_order",
)
# Taken and of no use: samples are gathered as they are made, files are shared and sorted already.
_SILENT = ("filter_per_worker", "is_sorted", "share_memory", "dataset", "collate_fn", "pin_memory_device")

# Hosts answer in milliseconds, if they do; and sockets take no more than some weeks.
_SHORTEST_S, _LONGEST_S = 0.1, 1e6


@dataclass
class LoaderOptions:
    """The options that all loaders take as keywords: order and size of batches, memory, device.

    Attributes:
        batch_size: The number of seeds of a batch.
        shuffle: Take the seeds in another order in each epoch.
        drop_last: Leave out the last batch if it is smaller.
        sampler: Positions among the seeds, iterated anew for each epoch. Ranks do not divide them.
        batch_sampler: A list of positions for each batch.
        generator: What ``seed`` is drawn from if it is not given. Default: torch's own generator.
        pin_memory: Return batches in page-locked memory, if there is a GPU.
        seed: The same seed gives the same batches for any memory, threads and workers.
        features: The attributes of nodes that come with a batch, as in [`Pipeline`][graphzero.Pipeline].
        edge_features: The attributes of edges that come with a batch.
        labels: ``"seeds"`` returns the labels (``y``) of the seeds alone, which come first in a batch, so that others
            need not be read. A data set's labels are found whatever ``features`` says.
        dtype: Convert features as in [`Pipeline`][graphzero.Pipeline], or keep them as ``"stored"``. Default: what is
            narrower than float32 becomes float32.
        memory: Bytes to hold, as in [`Pipeline`][graphzero.Pipeline].
        cache: Bytes of ``memory`` for cached rows. Default: what the rest leaves.
        ahead: The most batches to prepare ahead. Default: as many as fit.
        reader: How to read rows, as in [`FeatureStore.gather`][graphzero.FeatureStore.gather].
        threads: The number of threads. Default: [`num_threads`][graphzero.num_threads], or fewer if ``memory`` is
            too little for them.
        progress: ``True`` shows a line, a function is called, as in
            [`Pipeline`][graphzero.Pipeline].
        method: ``"labor"`` needs fewer feature rows, as in [`sample_neighbors`][graphzero.sample_neighbors].
        layer_dependency: Let ``"labor"`` share neighbours across hops, too.
        time_window: Leave out what is older than the seed's time by more than this. Needs ``time_attr``.
        sample_direction: ``"forward"`` follows edges backwards, from a node to those that send it messages, as PyG
            calls it; ``"backward"`` the other way.
        device: Where batches go, such as ``"cuda"``: they are copied ahead on a stream of their own. Default: that of
            the data set, as set by ``data.to("cuda")``.
        gpu_cache: Bytes of a CUDA device's memory for the rows needed most, such as ``"8GB"``; ``None`` for none. They
            are neither read nor copied again. ``"auto"`` takes what is free after the first batches but a margin, and
            gives it back when the model needs it. Without a CUDA device it means nothing.
        rank: Which of ``world_size`` processes this is, that divide each epoch. If given, all need the same ``seed``.
            Default: that of ``torch.distributed``.
        world_size: The number of processes. Default: that of ``torch.distributed``.
        distributed: Whether the ranks of ``torch.distributed`` divide the seeds. Default: they divide what has a name,
            such as a split, or all nodes. Seeds given as ids, a mask or edges are all taken by every rank, as in PyG,
            and each rank draws on its own.
        drop_uneven_inputs: Leave out seeds that ranks cannot divide, instead of taking some again.
        exchange: What brings rows that hosts divide from one to another: ``"tcp"``, the default, through connections
            of its own; ``"nccl"``, from GPU to GPU, for networks that reach their memory, with a CUDA ``device``; or
            ``"gloo"``. The same on all ranks.
        exchange_timeout: Seconds of silence after which a rank that has such rows is taken for lost. Default: 60. The
            first loader of a data set says it.
        form: ``"pyg"`` returns ``Data`` and ``HeteroData``, ``"torch"`` a [`TorchBatch`][graphzero.loaders.TorchBatch].
            Default: ``"pyg"`` if it is installed.
        custom_cls: A class to use in place of ``Data`` or ``HeteroData``.
        input_id: What stands for each seed in ``batch.input_id``. Default: its position among the seeds; its node id if
            the seeds are a mask.
        directed: PyG's option before ``subgraph_type``: ``False`` is ``"induced"``.
    """

    batch_size: int = 1
    shuffle: bool = False
    drop_last: bool = False
    sampler: Iterable[int] | None = None
    batch_sampler: Iterable[Sequence[int]] | None = None
    generator: Any = None
    pin_memory: bool = False
    seed: int | None = None
    features: Any = None
    edge_features: Any = None
    labels: Literal["all", "seeds"] = "all"
    dtype: Any = None
    memory: int | str | None = None
    cache: int | str | None = None
    ahead: int | None = None
    reader: Any = "auto"
    threads: int | None = None
    progress: Progress = False
    method: Literal["neighbor", "labor"] = "neighbor"
    layer_dependency: bool = False
    time_window: int | None = None
    sample_direction: Literal["forward", "backward"] = "forward"
    device: Any = None
    gpu_cache: int | str | None = "auto"
    rank: int | None = None
    world_size: int | None = None
    distributed: bool | None = None
    drop_uneven_inputs: bool = False
    exchange: Literal["tcp", "gloo", "nccl"] | None = None
    exchange_timeout: float | None = None
    form: Literal["pyg", "torch"] | None = None
    custom_cls: Any = None
    input_id: Any = None
    directed: bool = True

    def __post_init__(self) -> None:
        for name, expected in (
            ("labels", ("all", "seeds")),
            ("sample_direction", ("forward", "backward")),
            ("form", (None, "pyg", "torch")),
            ("exchange", (None, "tcp", "gloo", "nccl")),
        ):
            if getattr(self, name) not in expected:
                raise value_error(name, f"expected one of {expected}, found {getattr(self, name)!r}")
        if self.exchange_timeout is not None:
            self.exchange_timeout = _seconds(self.exchange_timeout, "exchange_timeout")
        if self.sampler is not None and self.shuffle:
            raise value_error("shuffle", "expected False with sampler, which says what comes when")
        decided = self.batch_size != 1 or self.shuffle or self.sampler is not None or self.drop_last
        if self.batch_sampler is not None and decided:
            raise value_error(
                "batch_sampler",
                "expected neither batch_size nor shuffle, sampler or drop_last with it, which it decides",
            )

    def _sample_request(self, relations: Relations, num_neighbors: Any, **sampling: Any) -> SampleRequest:
        """Return the sample that these options ask for.

        Args:
            relations: The graphs to sample.
            num_neighbors: Neighbours per hop.
            sampling: What a loader asks for beside these options.
        """
        return SampleRequest(
            relations,
            read_num_neighbors(num_neighbors, relations),
            direction="in" if self.sample_direction == "forward" else "out",
            time_window=self.time_window,
            method=self.method,
            layer_dependency=self.layer_dependency,
            **sampling,
        )

    def _pipeline_request(
        self, sample: SampleRequest, seeds: NodeSeeds | LinkSeeds, negatives: LinkNegatives | None = None
    ) -> PipelineRequest:
        """Return what a pipeline is to make; ranks, seed and rows are added to it.

        Args:
            sample: The sample of each batch.
            seeds: The nodes or links that batches are made of.
            negatives: What is drawn beside links.
        """
        return PipelineRequest(
            sample,
            seeds,
            Attributes(),
            BatchOrder(
                self.batch_size,
                self.sampler,
                self.batch_sampler,
                shuffle=self.shuffle,
                drop_last=self.drop_last,
                names=("sampler", "batch_sampler"),
            ),
            negatives or LinkNegatives(),
            drop_uneven_inputs=self.drop_uneven_inputs,
            memory=as_bytes(self.memory, "memory"),
            cache=as_bytes(self.cache, "cache"),
            ahead=self.ahead,
            reader=self.reader,
            threads=self.threads,
            progress=self.progress,
        )


class LoaderKeywords(TypedDict, total=False):
    """The same options for type checkers, as the keywords of a loader, and what PyG's loaders take beside them.

    A test compares them with ``LoaderOptions``.
    """

    batch_size: int
    shuffle: bool
    drop_last: bool
    sampler: Iterable[int] | None
    batch_sampler: Iterable[Sequence[int]] | None
    generator: Any
    pin_memory: bool
    seed: int | None
    features: Any
    edge_features: Any
    labels: Literal["all", "seeds"]
    dtype: Any
    memory: int | str | None
    cache: int | str | None
    ahead: int | None
    reader: Any
    threads: int | None
    progress: Progress
    method: Literal["neighbor", "labor"]
    layer_dependency: bool
    time_window: int | None
    sample_direction: Literal["forward", "backward"]
    device: Any
    gpu_cache: int | str | None
    rank: int | None
    world_size: int | None
    distributed: bool | None
    drop_uneven_inputs: bool
    exchange: Literal["tcp", "gloo", "nccl"] | None
    exchange_timeout: float | None
    form: Literal["pyg", "torch"] | None
    custom_cls: Any
    input_id: Any
    directed: bool
    num_workers: int
    persistent_workers: bool
    prefetch_factor: int | None
    worker_init_fn: Any
    multiprocessing_context: Any
    timeout: float
    in_order: bool
    neighbor_sampler: None
    filter_per_worker: bool | None
    is_sorted: bool
    share_memory: bool
    dataset: Any
    collate_fn: Any
    pin_memory_device: str


def read_options(loader: str, keywords: LoaderKeywords) -> LoaderOptions:
    """Read keywords; those of a ``DataLoader`` that mean nothing here are taken with a note."""
    given: dict[str, Any] = {**keywords}
    noted = [name for name in _OF_PROCESSES if given.pop(name, None)]
    if given.pop("neighbor_sampler", None) is not None:
        raise value_error(
            "neighbor_sampler",
            f"{loader} samples by itself; give a sampler to torch_geometric.loader.{loader}, "
            "with graphzero.loaders.PyGFeatureStore and GraphStore as data",
        )
    for name in _SILENT:
        given.pop(name, None)
    known = [field.name for field in fields(LoaderOptions)]
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            raise TypeError(f"{loader}: no option {name!r}{f'; did you mean {close[0]!r}?' if close else ''}")
    if noted:
        note_once(
            "processes",
            f"{loader}: {', '.join(noted)}: taken, but of no use: batches are made ahead by threads of this process "
            "(threads=, memory=, ahead=). To have processes do it, wrap the loader: "
            "torch.utils.data.DataLoader(loader, batch_size=None, num_workers=...)",
        )
    return LoaderOptions(**given)


def _seconds(value: Any, argument: str) -> float:
    """Read how long to wait, as a number of Python or NumPy. What is less than a tenth of a second is a mistake."""
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not _SHORTEST_S <= value < _LONGEST_S:
        expected = f"expected a number of seconds, from {_SHORTEST_S} to less than {_LONGEST_S:.0f}"
        raise value_error(argument, f"{expected}, found {value!r}")
    return float(value)

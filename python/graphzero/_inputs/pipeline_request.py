"""What a pipeline is asked for: samples of which seeds, in which order, with which rows, in how much memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from graphzero import _core
from graphzero._base.argument_errors import value_error
from graphzero._base.integers import integer, integer_from
from graphzero._base.memory_sizes import byte_count, pipeline_budget
from graphzero._files.progress import Progress
from graphzero._inputs.attributes import Attribute, Attributes, check_names, wanted_dtype
from graphzero._inputs.batch_order import BatchOrder
from graphzero._inputs.graph_memory import page_cache_needed
from graphzero._inputs.sample_request import SampleRequest
from graphzero._inputs.seeds import LinkSeeds, NodeSeeds
from graphzero.features import READERS, Reader


@dataclass(frozen=True)
class LinkNegatives:
    """The pairs that are drawn beside links, and whether the links themselves may be sampled.

    ``by`` is as in ``sample_negatives`` and ``sample_negative_pairs``.
    """

    kind: Literal["binary", "triplet"] | None = None
    amount: float = 1
    by: Any = "uniform"
    exclude_edges: bool = False
    exclude_seed_edges: bool = False


@dataclass(frozen=True)
class DeviceOptions:
    """What a device that takes the batches has of its own.

    ``pinning`` are the addresses of ``cuCtxSetCurrent``, ``cuMemHostRegister`` and ``cuMemHostUnregister``, and a
    context. ``room`` is how many bytes of rows the device has room for, by attribute. ``with_scales`` are quantised
    attributes that it converts itself: their rows come as int8, the four bytes of a row's scale behind its items.
    """

    pinning: tuple[int, int, int, int] | None = None
    room: Mapping[Attribute, int] = field(default_factory=dict)
    with_scales: Collection[Attribute] = ()


@dataclass
class PipelineRequest:
    """All that a pipeline is made of, read and checked when it is made."""

    sample: SampleRequest
    seeds: NodeSeeds | LinkSeeds
    attributes: Attributes
    order: BatchOrder
    negatives: LinkNegatives = field(default_factory=LinkNegatives)
    dtype: Any = None
    rank: int = 0
    world_size: int = 1
    drop_uneven_inputs: bool = False
    memory: int | None = None
    cache: int | None = None
    ahead: int | None = None
    reader: Reader = "auto"
    threads: int | None = None
    progress: Progress = False
    device: DeviceOptions = field(default_factory=DeviceOptions)

    def __post_init__(self) -> None:
        if self.reader not in READERS:
            raise value_error("reader", f"expected one of {list(READERS)}, found {self.reader!r}")
        self.world_size = integer_from(self.world_size, 1, "world_size")
        self.rank = natural(self.rank, "rank")
        self.ahead = None if self.ahead is None else integer_from(self.ahead, 1, "ahead")
        self.threads = None if self.threads is None else integer_from(self.threads, 1, "threads")
        if self.threads is not None and self.threads > 4096:
            raise value_error("threads", f"expected 1 to 4096, found {self.threads}")
        if isinstance(self.dtype, Mapping):
            check_names(self.dtype, self.attributes, "dtype")

    def default_memory(self) -> int:
        """Return the budget of one process that was given none."""
        return pipeline_budget(page_cache_needed(self.sample, self.attributes))

    def core_options(self) -> _core.PipelineOptions:
        """Return the options as the core takes them."""
        options = _core.PipelineOptions()
        options.sampling = self.sample.core_options()
        options.batch_size = self.order.batch_size
        options.shuffle = self.order.shuffle
        options.drop_last = self.order.drop_last
        options.world_size = self.world_size
        options.rank = self.rank
        options.drop_uneven = bool(self.drop_uneven_inputs)
        options.memory = self.default_memory() if self.memory is None else self.memory
        options.cache = self.cache
        options.ahead = self.ahead
        options.threads = self.threads or 0
        options.reader = READERS[self.reader]
        if self.device.pinning is not None:
            options.pin(*self.device.pinning)
        return options

    def core_attributes(self) -> list[_core.Attribute]:
        """Return the attributes as the core takes them."""
        relations = self.sample.relations
        numbers: dict[Any, int] = {name: number for number, name in enumerate(relations.node_types)}
        numbers |= {triple: number for number, triple in enumerate(relations.graphs)}
        return [
            _core.Attribute(
                attribute.store._core,
                isinstance(attribute.of, tuple),
                numbers[attribute.of],
                wanted_dtype(attribute, self.dtype),
                self.device.room.get(attribute, 0),
                attribute in self.device.with_scales,
            )
            for attribute in self.attributes
        ]


def natural(value: Any, name: str) -> int:
    """Read an integer that is not negative."""
    number = integer(value, name)
    if not 0 <= number < 2**63:
        raise value_error(name, f"expected 0 to 2^63 - 1, found {number}")
    return number


def as_bytes(size: int | str | None, name: str) -> int | None:
    """Read a number of bytes, if there is one."""
    if size is None:
        return None
    count = byte_count(size, name) if isinstance(size, str) else integer(size, name)
    if not 0 <= count < 2**63:
        raise value_error(name, f"expected a number of bytes, found {count}")
    return count

"""Hands batches of a pipeline to the caller, copied to a device if there is one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import torch

from graphzero._base.memory_sizes import byte_count
from graphzero._inputs.attributes import Attribute
from graphzero._inputs.pipeline_request import DeviceOptions, PipelineRequest
from graphzero.loaders._batch.parts import Parts
from graphzero.loaders._device.gpu_rows import DeviceRows, divide_room
from graphzero.loaders._device.ranges import stage
from graphzero.loaders._device.transfer import CudaTransfer, InFlightBatch, PlainTransfer, cuda_pinning
from graphzero.loaders._epoch.assembly import Assembly
from graphzero.pipeline import Batch, Pipeline


class Feed:
    """A pipeline, and what brings its batches to a device. One iteration at a time is under way."""

    def __init__(
        self,
        request: PipelineRequest,
        assembly: Assembly,
        device: torch.device | None,
        gpu_cache: Any,
        stays: Collection[str],
    ) -> None:
        self._assembly = assembly
        self._device = device
        self._gpu_cache = gpu_cache
        self._stays = stays
        self._transfer: CudaTransfer | PlainTransfer | None = None
        self._ahead = 0  # batches that are on their way to the device
        self._under_way: object | None = None  # the identity of the iteration
        self._epoch_after: int | None = None  # the one after an epoch that began and did not end
        self.pipeline = Pipeline._of_request(replace(request, device=self._device_options()))

    def _device_options(self) -> DeviceOptions:
        if self._device is None or self._device.type != "cuda":
            return DeviceOptions()
        room: dict[Attribute, int] = {}
        if self._gpu_cache is not None:
            of_nodes = [one for one in self._assembly.attributes if not isinstance(one.of, tuple)]
            room = divide_room(byte_count(self._gpu_cache, "gpu_cache"), of_nodes, self._assembly.host_dtypes)
        return DeviceOptions(cuda_pinning(self._device), room)

    @property
    def is_under_way(self) -> bool:
        """Whether an iteration has begun and has neither ended nor been dropped."""
        return self._under_way is not None

    @property
    def position(self) -> dict[str, int]:
        """The position of the iteration as its caller sees it."""
        state = self.pipeline.state_dict()
        return {**state, "batch": state["batch"] - self._ahead}

    @property
    def next_position(self) -> dict[str, int]:
        """The position where the next iteration begins."""
        epoch = self._epoch_after  # read before the position: another thread may end its epoch meanwhile
        position = self.position
        return position if epoch is None else {**position, "epoch": epoch, "batch": 0}

    def move(self, state: Mapping[str, int]) -> None:
        """Make the next iteration go on from a position. The one under way ends."""
        self.pipeline.load_state_dict(state)
        self._under_way, self._epoch_after, self._ahead = None, None, 0

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration that of an epoch. The one under way ends."""
        self.pipeline.set_epoch(epoch)
        self._under_way, self._epoch_after, self._ahead = None, None, 0

    def batches(
        self,
        worker: int,
        num_workers: int,
        parts_of: Callable[[Batch], Parts],
        form: Callable[[Parts], Any],
    ) -> Iterator[Any]:
        """Return an iterator over a worker's batches of an epoch, which is under way from this call on."""
        own = self._under_way = object()
        epoch = self.pipeline.epoch if self._epoch_after is None else self._epoch_after
        self._epoch_after, self._ahead = epoch + 1, 0
        return self._batches(own, worker, num_workers, parts_of, form)

    def _batches(
        self,
        own: object,
        worker: int,
        num_workers: int,
        parts_of: Callable[[Batch], Parts],
        form: Callable[[Parts], Any],
    ) -> Iterator[Any]:
        try:
            with closing(self.pipeline.share(worker, num_workers)) as taken:
                ahead: InFlightBatch | None = None
                while True:
                    current = ahead if ahead is not None else self._begin(taken, parts_of)
                    ahead, self._ahead = None, 0
                    if current is None:
                        break
                    # The next batch is copied while the model works on this one, if it waits for us anyway.
                    if self._transfer is not None and self.pipeline.is_ready():
                        ahead = self._begin(taken, parts_of)
                        self._ahead = 0 if ahead is None else 1
                    yield self._finish(current, form)
                    del current
            self._epoch_after = None
        finally:
            if self._under_way is own:
                self._under_way = None

    def _begin(self, batches: Iterator[Batch], parts_of: Callable[[Batch], Parts]) -> InFlightBatch | None:
        """Take the next batch and start copying it; ``None`` after the last one."""
        if not self.pipeline.closed:  # else the iteration raises
            self.pipeline._log_stages(torch.autograd._profiler_enabled())  # type: ignore[attr-defined]
        with stage("graphzero.wait", self._device):
            batch = next(batches, None)
        if batch is None:
            return None
        with stage("graphzero.collate", self._device):
            parts = parts_of(batch)
        del batch
        if self._device is None or self._device.type == "cpu":
            return InFlightBatch(parts)
        if self._transfer is None:  # now it is known which rows stay on the device
            self._transfer = self._make_transfer(self._device)
        with stage("graphzero.copy", self._device):
            return self._transfer.send(parts)

    def _make_transfer(self, device: torch.device) -> CudaTransfer | PlainTransfer:
        if device.type != "cuda":
            return PlainTransfer(device, self._stays)
        rows = None
        if self._gpu_cache is not None:
            rows = DeviceRows(self.pipeline, device, self._assembly.host_dtypes)
        return CudaTransfer(device, self._assembly.dtypes, rows, self._stays)

    def _finish(self, batch: InFlightBatch, form: Callable[[Parts], Any]) -> Any:
        return form(batch.parts if self._transfer is None else self._transfer.receive(batch))

    def stats(self) -> dict[str, Any]:
        """Return where time, bytes and memory went, also on the device."""
        stats = self.pipeline.stats()
        rows = getattr(self._transfer, "rows", None)
        stats["gpu_cache_bytes"], stats["gpu_cache_rows"] = (0, 0) if rows is None else (rows.nbytes, rows.count)
        return stats

    def close(self) -> None:
        """End the iteration under way and free all memory. May be called again."""
        self.pipeline.close()
        if self._transfer is not None:
            self._transfer.close()
            self._transfer = None

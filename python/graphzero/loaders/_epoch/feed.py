"""Hands batches of a pipeline to the caller, copied to a device if there is one."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal

import torch

from graphzero import _core
from graphzero._base.memory_sizes import budget_for_shares, byte_text
from graphzero._inputs.attributes import Attribute
from graphzero._inputs.pipeline_request import DeviceOptions, PipelineRequest
from graphzero.loaders._batch.parts import Parts
from graphzero.loaders._device.gpu_memory import AutoRoom, memory_facts
from graphzero.loaders._device.gpu_rows import all_bytes, are_loaded, bytes_of_rows, divide_room
from graphzero.loaders._device.ranges import stage
from graphzero.loaders._device.transfer import CudaTransfer, InFlightBatch, PlainTransfer, cuda_pinning
from graphzero.loaders._epoch.ahead import AheadBatches, memory_of_rows, memory_of_samples
from graphzero.loaders._epoch.assembly import Assembly
from graphzero.loaders._exchange.shared_rows import SharedRows
from graphzero.loaders._process.ranks import ranks_of_device
from graphzero.pipeline import Batch, Pipeline

_log = logging.getLogger("graphzero")


class Feed:
    """A pipeline, and what brings its batches to a device. One iteration at a time is under way."""

    def __init__(
        self,
        request: PipelineRequest,
        assembly: Assembly,
        device: torch.device | None,
        gpu_cache: int | Literal["auto"] | None,
        stays: Collection[str],
        shared: SharedRows | None,
    ) -> None:
        self._assembly = assembly
        self._shared = shared
        self._made: AheadBatches | None = None  # with rows of several hosts
        self._handed: dict[str, int] | None = None  # the position of their iteration; that of the pipeline is ahead
        self._memory = request.default_memory() if request.memory is None else request.memory
        self._most_ahead = request.ahead
        if shared is not None:
            request = replace(request, memory=memory_of_samples(self._memory))
            self._row_memory: _core.RowMemory | None = _core.RowMemory(memory_of_rows(self._memory))
        self._device = device
        self._gpu_cache = gpu_cache if device is not None and device.type == "cuda" else None
        self._stays = stays
        self._of_nodes = [one for one in assembly.attributes if not isinstance(one.of, tuple)]
        self._auto: AutoRoom | None = None
        needed = all_bytes(self._of_nodes, assembly.with_scales)
        # Where hosts divide rows a thread is inside the pipeline, and what is left in it are labels and the like.
        if self._gpu_cache == "auto" and needed > 0 and shared is None:
            self._auto = AutoRoom(needed, ranks_of_device(request.world_size, torch.cuda.device_count()))
        self._transfer: CudaTransfer | PlainTransfer | None = None
        self._ahead = 0  # batches that are on their way to the device
        self._under_way: object | None = None  # the identity of the iteration
        self._beginning = threading.Lock()  # held while an iteration begins, or a feed that rests gives back rows
        self._epoch_after: int | None = None  # the one after an epoch that began and did not end
        self.pipeline = Pipeline._of_request(replace(request, device=self._device_options()))

    def _device_options(self) -> DeviceOptions:
        if self._device is None or self._device.type != "cuda":
            return DeviceOptions()
        room = self._room(self._gpu_cache) if isinstance(self._gpu_cache, int) else {}
        return DeviceOptions(cuda_pinning(self._device), room, self._assembly.with_scales)

    def _room(self, total: int) -> dict[Attribute, int]:
        return divide_room(total, self._of_nodes, self._assembly.with_scales)

    @property
    def is_under_way(self) -> bool:
        """Whether an iteration has begun and has neither ended nor been dropped."""
        return self._under_way is not None

    @property
    def position(self) -> dict[str, int]:
        """The position of the iteration as its caller sees it."""
        state = {**self.pipeline.state_dict(), **(self._handed or {})}
        return {**state, "batch": state["batch"] - self._ahead}

    @property
    def epoch(self) -> int:
        """The number of the epoch under way, or of the next iteration."""
        return self.pipeline.epoch if self._handed is None else self._handed["epoch"]

    @property
    def next_position(self) -> dict[str, int]:
        """The position where the next iteration begins."""
        epoch = self._epoch_after  # read before the position: another thread may end its epoch meanwhile
        position = self.position
        return position if epoch is None else {**position, "epoch": epoch, "batch": 0}

    def move(self, state: Mapping[str, int]) -> None:
        """Make the next iteration go on from a position. The one under way ends."""
        self._end_ahead()
        self.pipeline.load_state_dict(state)
        self._under_way, self._epoch_after, self._ahead, self._handed = None, None, 0, None

    def _end_ahead(self) -> None:
        if self._made is not None:
            self._made.close()
            self._made = None

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration that of an epoch. The one under way ends."""
        self._end_ahead()
        self.pipeline.set_epoch(epoch)
        self._under_way, self._epoch_after, self._ahead, self._handed = None, None, 0, None

    def batches(
        self,
        worker: int,
        num_workers: int,
        parts_of: Callable[[Batch], Parts],
        form: Callable[[Parts], Any],
    ) -> Iterator[Any]:
        """Return an iterator over a worker's batches of an epoch, which is under way from this call on."""
        with self._beginning:
            own = self._under_way = object()
        if self._auto is not None:
            self._auto.begin_epoch()
        epoch = self.pipeline.epoch if self._epoch_after is None else self._epoch_after
        if self._shared is not None:
            self._handed = {"epoch": epoch, "batch": self.position["batch"] if self._epoch_after is None else 0}
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
            with closing(self._taken(worker, num_workers)) as taken:
                ahead: InFlightBatch | None = None
                while True:
                    current = ahead if ahead is not None else self._begin(taken, parts_of)
                    ahead, self._ahead = None, 0
                    if current is None:
                        break
                    # The next batch is copied while the model works on this one, if it waits for us anyway.
                    if self._transfer is not None and (self._made or self.pipeline).is_ready():
                        ahead = self._begin(taken, parts_of)
                        self._ahead = 0 if ahead is None else 1
                    yield self._finish(current, form)
                    del current
                    if self._under_way is own:
                        self._tend_rows()
            self._epoch_after = self._handed = None
        except _core.BudgetTooSmall as error:
            if self._shared is None:
                raise
            raise budget_for_shares(error, self._memory, memory_of_samples, "sampling") from None
        finally:
            if self._under_way is own:
                self._under_way = None

    def _taken(self, worker: int, num_workers: int) -> Generator[Batch, None, None] | AheadBatches:
        """Begin to take batches from the pipeline, and to fetch the rows that hosts divide, if there are any."""
        batches = self.pipeline.share(worker, num_workers)
        if self._shared is None:
            return batches
        self._made = AheadBatches(batches, self._shared, self._memory, self._most_ahead)
        return self._made

    def _begin(self, batches: Iterator[Batch], parts_of: Callable[[Batch], Parts]) -> InFlightBatch | None:
        """Take the next batch and start copying it; ``None`` after the last one."""
        if not self.pipeline.closed:  # else the iteration raises
            self.pipeline._log_stages(torch.autograd._profiler_enabled())  # type: ignore[attr-defined]
        with stage("graphzero.wait", self._device):
            batch = next(batches, None)
        if batch is None:
            return None
        if self._shared is not None:
            self._handed = {"epoch": batch.epoch, "batch": batch.number + 1}
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
        transfer = CudaTransfer(device, self._assembly.dtypes, self._assembly.with_scales, self._stays)
        if isinstance(self._gpu_cache, int):
            transfer.load_rows(self.pipeline)
        elif self._auto is not None:
            _automatic.add(self)
        return transfer

    def _tend_rows(self) -> None:
        """Hold more rows on the device, or fewer, if its memory says so. The caller has done with a batch."""
        if self._auto is None or self.pipeline.closed or not isinstance(self._transfer, CudaTransfer):
            return
        device = self._transfer.device
        facts = memory_facts(device, bytes_of_rows(device))
        if facts is None:
            self._auto = None
            _log.info("gpu_cache: auto: no rows: %s does not say how much memory the model leaves", device)
            return
        held = 0 if self._transfer.rows is None else self._transfer.rows.nbytes
        more: dict[str, Any] = {}
        if self._auto.may_grow:
            is_there = are_loaded(self._of_nodes, device, self._assembly.with_scales)
            more = {"left": self._bytes_left(self._auto), "is_there": is_there}
        room = self._auto.room(facts, held, **more)
        if self._auto.missing(facts) > held:
            for other in tuple(_automatic):
                if other is not self and other._device == self._device:
                    other._give_back()
        if room is not None:
            self._hold(self._transfer, self._auto, room)

    def _bytes_left(self, auto: AutoRoom) -> float:
        """Return about how many bytes of rows the batches that are left in this epoch have."""
        stats, num_rows = self.pipeline.stats(), sum(one.store.num_rows for one in self._of_nodes)
        rows_a_batch = (stats["rows"] + stats["on_device_rows"]) / max(1, stats["batches"])
        return (len(self.pipeline) - self.position["batch"]) * float(rows_a_batch) * auto.needed / num_rows

    def _hold(self, transfer: CudaTransfer, auto: AutoRoom, room: int) -> None:
        """Let the device hold so many bytes of rows, or as many as fit. Batches go on where they are."""
        try:
            is_loaded = False
            while not is_loaded:
                transfer.drop_rows()
                self.pipeline._set_device_room(self._room(room))
                is_loaded = room == 0 or _fits(transfer, self.pipeline)
                if not is_loaded:
                    torch.cuda.empty_cache()  # of what there was room for
                    room = auto.after_shortage(room)
        except BaseException:
            self._hold_none(transfer)
            raise
        _log.info("gpu_cache: %s", auto.reason)

    def _hold_none(self, transfer: CudaTransfer) -> None:
        """Begin the next iteration without rows on the device. The one under way ends."""
        transfer.drop_rows()
        if not self.pipeline.closed:
            self.pipeline._open().stop()
            self.pipeline._set_device_room({})

    def _give_back(self) -> None:
        """Free the rows, unless an iteration is under way, for the model that works with another feed's batches."""
        with self._beginning:
            if self._under_way is None and isinstance(self._transfer, CudaTransfer) and self._transfer.rows is not None:
                self._hold_none(self._transfer)
                assert self._auto is not None
                self._auto.reason = "auto: gave back all rows, as the model needed more beside another loader"
                _log.info("gpu_cache: %s", self._auto.reason)

    def _finish(self, batch: InFlightBatch, form: Callable[[Parts], Any]) -> Any:
        return form(batch.parts if self._transfer is None else self._transfer.receive(batch))

    def stats(self) -> dict[str, Any]:
        """Return where time, bytes and memory went, also on the device."""
        stats = self.pipeline.stats()
        rows = getattr(self._transfer, "rows", None)
        stats["gpu_cache_bytes"], stats["gpu_cache_rows"] = (0, 0) if rows is None else (rows.nbytes, rows.count)
        if self._auto is not None:
            stats["gpu_cache"] = self._auto.reason
        elif isinstance(self._gpu_cache, int):
            stats["gpu_cache"] = f"{byte_text(self._gpu_cache)}, as given"
        else:
            stats["gpu_cache"] = "no rows on a GPU"
        if self._shared is not None:
            stats["exchange"] = self._shared.stats()
            waiting = 0 if self._made is None else self._made.held
            # The pipeline knows a part of the budget alone.
            stats["memory"] = {**stats["memory"], "budget": self._memory, "exchange": waiting}
        return stats

    def close(self) -> None:
        """End the iteration under way and free all memory. May be called again."""
        self._end_ahead()
        self._row_memory = None
        self.pipeline.close()
        if self._transfer is not None:
            self._transfer.close()
            self._transfer = None


# Feeds that decide by themselves how many rows they hold on a device.
_automatic: weakref.WeakSet[Feed] = weakref.WeakSet()


def _fits(transfer: CudaTransfer, pipeline: Pipeline) -> bool:
    try:
        transfer.load_rows(pipeline)
    except torch.cuda.OutOfMemoryError:
        return False  # what was loaded goes with the error
    return True

"""Copies batches to a device ahead of their use, while the model works on another."""

from __future__ import annotations

import ctypes
import logging
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch

from graphzero._base.argument_errors import value_error
from graphzero._inputs.attributes import Attribute
from graphzero.loaders._batch.late_tensor import LateTensor
from graphzero.loaders._batch.parts import Parts, Values
from graphzero.loaders._batch.tensors import as_tensor
from graphzero.loaders._device.gpu_rows import DeviceRows, dequantised
from graphzero.pipeline import HostRows, Pipeline

_log = logging.getLogger("graphzero")

# Batches whose memory the device may still be reading.
_MOST_IN_FLIGHT = 2


def as_device(device: Any) -> torch.device:
    """Read a user's ``device``, and refuse one that does not exist."""
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise value_error("device", f"expected one that torch knows, such as 'cuda', found {device!r}") from error
    if found.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (found.index or 0) >= count:
            raise value_error(
                "device",
                f"expected one of {count} CUDA devices that torch {torch.__version__} sees, found {device!r}; "
                "leave device out, or install a torch with CUDA and a driver",
            )
        if found.index is None:
            return torch.device("cuda", torch.cuda.current_device())
        return found
    try:
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError, ImportError) as error:
        raise value_error("device", f"expected one that torch {torch.__version__} can use, found {device!r}") from error
    return found


def cuda_pinning(device: torch.device) -> tuple[int, int, int, int] | None:
    """Return what the pipeline needs for the driver to pin its memory; ``None`` if it is not available."""
    torch.empty(1, device=device)  # makes the context
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        names = ("cuCtxSetCurrent", "cuMemHostRegister_v2", "cuMemHostUnregister")
        functions = [ctypes.cast(getattr(driver, name), ctypes.c_void_p).value or 0 for name in names]
        context = ctypes.c_void_p()
        with torch.cuda.device(device):
            failed = driver.cuCtxGetCurrent(ctypes.byref(context))
    except (OSError, AttributeError) as error:
        _log.info("batches are copied from pageable memory: %s", error)
        return None
    if failed or not context.value:
        _log.info("batches are copied from pageable memory: the CUDA driver names no context (error %s)", failed)
        return None
    return functions[0], functions[1], functions[2], context.value


@dataclass
class InFlightBatch:
    """A batch that is being copied to a device; ``event`` is over when it is there."""

    parts: Parts
    event: Any = None


class InFlightMemory:
    """Holds what the device still reads: the pipeline fills memory that is dropped with another batch."""

    def __init__(self) -> None:
        self._copies: deque[tuple[Any, list[Any]]] = deque()

    def add(self, event: Any, held: list[Any]) -> None:
        """Hold some memory until an event is over."""
        self._copies.append((event, held))

    def release(self, most: int) -> None:
        """Drop what has been read, and wait until fewer than ``most`` copies are on their way."""
        while self._copies and (len(self._copies) >= most or self._copies[0][0].query()):
            self._copies[0][0].synchronize()  # before the tuple is dropped, and with it the memory
            self._copies.popleft()

    def clear(self) -> None:
        """Drop everything, once the device is known to have read it."""
        self._copies.clear()


class CudaTransfer:
    """Copies batches to a CUDA device on a stream of their own."""

    def __init__(
        self,
        device: torch.device,
        dtypes: dict[str, Any],
        with_scales: Collection[Attribute],
        stays: Collection[str],
    ) -> None:
        self.device = device
        self.rows: DeviceRows | None = None
        self._with_scales = with_scales  # converted here
        self._shapes = {(one.of, one.name): one.store.shape[1:] for one in with_scales}
        self._stays = stays  # names of what is not copied
        self._dtypes = {name: getattr(torch, str(dtype).removeprefix("torch.")) for name, dtype in dtypes.items()}
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._in_flight = InFlightMemory()

    def load_rows(self, pipeline: Pipeline) -> None:
        """Load the rows that a pipeline, which has begun, leaves to the device."""
        self.rows = DeviceRows(pipeline, self.device, self._with_scales)
        self.rows.use_on(self._stream)

    def drop_rows(self) -> None:
        """Free the rows, for whoever needs the device's memory."""
        if self.rows is None:
            return
        self._stream.synchronize()  # a batch on its way may be reading them, and they are to be free now
        self.rows = None
        torch.cuda.empty_cache()

    def send(self, parts: Parts) -> InFlightBatch:
        """Begin to copy a batch."""
        self._in_flight.release(_MOST_IN_FLIGHT)
        held: list[Any] = []
        with torch.cuda.stream(self._stream):
            for by_type in (parts.nodes, parts.edges, {None: parts.whole}):
                for of, values in by_type.items():
                    self._send_values(of, values, held)
            event = self._stream.record_event()
        self._in_flight.add(event, held)
        return InFlightBatch(parts, event)

    def _send_values(self, of: Any, values: Values, held: list[Any]) -> None:
        sent: list[tuple[Any, Any]] = []  # labels have two names
        for name, value in values.items():
            again = [found for given, found in sent if given is value]
            values[name] = again[0] if again else self._sent(of, name, value, held)
            sent.append((value, values[name]))

    def _sent(self, of: Any, name: str, value: Any, held: list[Any]) -> Any:
        if isinstance(value, HostRows):
            assert self.rows is not None
            here = self._copy(as_tensor(value.values), held)
            slots, places = (self._copy(torch.from_numpy(part), held) for part in (value.slots, value.places))
            value = self.rows.join(of, name, here, slots, places)
        elif isinstance(value, LateTensor) and name not in self._stays:
            return value.then(lambda tensor: tensor.to(self.device))
        elif isinstance(value, torch.Tensor) and name not in self._stays:
            value = self._copy(value, held)
        if not isinstance(value, torch.Tensor):
            return value
        if value.dtype == torch.int8 and (of, name) in self._shapes:  # else the loader's own of this name
            return dequantised(value, self._shapes[of, name])
        dtype = self._dtypes.get(name)
        return value if dtype is None else value.to(dtype)

    def _copy(self, tensor: torch.Tensor, held: list[Any]) -> torch.Tensor:
        if tensor.device.type != "cpu":  # a user's own, which may be there already
            return tensor.to(self.device)
        if not tensor.is_pinned():
            tensor = tensor.pin_memory()
        held.append(tensor)
        return tensor.to(self.device, non_blocking=True)

    def receive(self, batch: InFlightBatch) -> Parts:
        """Have the model's stream wait for a batch."""
        current = torch.cuda.current_stream(self.device)
        current.wait_event(batch.event)
        for values in batch.parts.groups():
            for value in values.values():
                if isinstance(value, torch.Tensor) and value.is_cuda:
                    value.record_stream(current)
        return batch.parts

    def close(self) -> None:
        """Wait for copies that are under way."""
        self._stream.synchronize()
        self._in_flight.clear()


class PlainTransfer:
    """Copies batches to any other device, one after the other."""

    def __init__(self, device: torch.device, stays: Collection[str]) -> None:
        self.device = device
        self._stays = stays

    def send(self, parts: Parts) -> InFlightBatch:
        """Copy a batch."""
        parts.map(lambda tensor: tensor.to(self.device), stays=self._stays)
        return InFlightBatch(parts)

    def receive(self, batch: InFlightBatch) -> Parts:
        """Return a batch that has been copied."""
        return batch.parts

    def close(self) -> None:
        """Do nothing: copies are over when they return."""

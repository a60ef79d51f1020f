"""A wire whose rows go from GPU to GPU, where the network reaches their memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphzero.loaders._exchange.wire import ROWS, SCALES, Wire


class NcclFailed(Exception):
    """Rows did not cross. NCCL does not say which rank is the reason."""


class GpuWire(Wire):
    """Sends rows through a group of nccl, and all else through gloo. For one thread.

    Rows are collected until somebody waits for some, or for all that was sent; then all of them cross in one call. A
    rank that has neither anything to send nor to receive need not take part.
    """

    def __init__(self, rank: int, upwards: Any, downwards: Any, rows: Any, device: torch.device) -> None:
        super().__init__(rank, upwards, downwards)
        self._rows: Any = rows
        self._device = device
        # None on a CPU, where tests have a stand-in for nccl.
        is_cuda = device.type == "cuda"
        self._stream = torch.cuda.Stream(device) if is_cuda else None  # type: ignore[no-untyped-call]
        self._leaving: list[tuple[int, torch.Tensor]] = []
        self._coming: list[tuple[int, torch.Tensor, torch.Tensor]] = []

    def join(self) -> None:
        self._run(lambda: self._rows.allreduce([torch.zeros(1, device=self._device)]))

    def send(self, rank: int, kind: int, array: NDArray[Any]) -> None:
        if kind not in (ROWS, SCALES):
            super().send(rank, kind, array)
        elif array.nbytes:
            with torch.cuda.stream(self._stream):
                self._leaving.append((rank, _as_bytes(array).to(self._device)))

    def receive(self, rank: int, kind: int, into: NDArray[Any]) -> Callable[[], None]:
        if kind not in (ROWS, SCALES):
            return super().receive(rank, kind, into)
        if into.nbytes:
            with torch.cuda.stream(self._stream):
                arriving = torch.empty(into.nbytes, dtype=torch.uint8, device=self._device)
            self._coming.append((rank, _as_bytes(into), arriving))
        return self._cross

    def flush(self) -> None:
        self._cross()
        super().flush()

    def close(self) -> None:
        rows, self._rows = self._rows, None
        if rows is not None:
            rows.abort()  # ends at once, also if another rank is gone
        super().close()

    def _cross(self) -> None:
        """Send and receive all rows that were collected."""
        leaving, self._leaving = self._leaving, []
        coming, self._coming = self._coming, []
        if not leaving and not coming:
            return

        def begin() -> Any:
            self._rows._start_coalescing()
            for rank, rows in leaving:
                self._rows.send([rows], rank, ROWS)
            for rank, _, rows in coming:
                self._rows.recv([rows], rank, ROWS)
            return self._rows._end_coalescing()

        self._run(begin)
        with torch.cuda.stream(self._stream):
            for _, into, rows in coming:
                into.copy_(rows)

    def _run(self, begin: Callable[[], Any]) -> None:
        try:
            with torch.cuda.stream(self._stream):
                begin().wait()
        except RuntimeError as error:
            first, *_ = str(error).splitlines() or [""]
            raise NcclFailed(first) from None


def _as_bytes(array: NDArray[Any]) -> torch.Tensor:
    return torch.from_numpy(array.reshape(-1).view(np.uint8))

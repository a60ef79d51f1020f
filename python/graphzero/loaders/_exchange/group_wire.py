"""A wire whose rows go through a group of torch.distributed: nccl, from GPU to GPU, or gloo."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from numpy.typing import NDArray

from graphzero.loaders._exchange.wire import ROWS, SCALES, Wire

# A rank whose rows do not cross learns it when its time is over, and then asks all others. Those that wait for it must
# not take it for lost meanwhile, though their time began as early. Machines may be busy.
_LATER_S = 1.0


class GroupFailed(Exception):
    """Rows did not cross. The group does not say which rank is the reason."""


class GroupWire(Wire):
    """Sends rows through a group, from and to memory of ``device``, and all else as a wire does. For one thread.

    Rows are collected until somebody waits for some, or for all that was sent; then all of them cross together. A rank
    that has neither anything to send nor to receive need not take part.
    """

    def __init__(
        self, connections: Mapping[int, socket.socket], timeout_s: float, make: Callable[[], Any], device: torch.device
    ) -> None:
        super().__init__(connections, timeout_s)
        self._patience_s = timeout_s + _LATER_S
        self._make = make
        self._group: Any = None
        self._device = device
        self._is_cuda = device.type == "cuda"
        self._stream = torch.cuda.Stream(device) if self._is_cuda else None  # type: ignore[no-untyped-call]
        self._leaving: list[tuple[int, torch.Tensor]] = []
        self._coming: list[tuple[int, torch.Tensor, torch.Tensor]] = []

    def join(self) -> None:
        def begin() -> list[Any]:
            self._group = self._make()
            return [self._group.allreduce([torch.zeros(1, device=self._device)])]

        self._wait_for(begin)

    def send_parts(self, rank: int, kind: int, nbytes: int, parts: Iterator[NDArray[Any]]) -> None:
        if kind not in (ROWS, SCALES):
            super().send_parts(rank, kind, nbytes, parts)
        elif nbytes:
            with torch.cuda.stream(self._stream):
                copies = [torch.from_numpy(part).to(self._device, copy=True) for part in parts]
                self._leaving.append((rank, copies[0] if len(copies) == 1 else torch.cat(copies)))

    def receive(self, rank: int, kind: int, into: NDArray[Any]) -> Callable[[], None]:
        if kind not in (ROWS, SCALES):
            return super().receive(rank, kind, into)
        if into.nbytes:
            rows = torch.from_numpy(into)
            with torch.cuda.stream(self._stream):
                arriving = torch.empty_like(rows, device=self._device) if self._is_cuda else rows
            self._coming.append((rank, rows, arriving))
        return self._cross

    def flush(self) -> None:
        self._cross()
        super().flush()

    def close(self) -> None:
        group, self._group = self._group, None
        if hasattr(group, "abort"):
            group.abort()  # ends at once, also if another rank is gone
        super().close()

    def _cross(self) -> None:
        """Send and receive all rows that were collected."""
        leaving, self._leaving = self._leaving, []
        coming, self._coming = self._coming, []
        if not leaving and not coming:
            return
        super().flush()  # what others need to know before they send

        def begin() -> list[Any]:
            if self._is_cuda:  # one call of nccl: by themselves, those of two ranks may wait for each other
                self._group._start_coalescing()
            calls = [self._group.send([rows], rank, ROWS) for rank, rows in leaving]
            calls += [self._group.recv([rows], rank, ROWS) for rank, _, rows in coming]
            return [self._group._end_coalescing()] if self._is_cuda else calls

        self._wait_for(begin)
        with torch.cuda.stream(self._stream):
            for _, into, rows in coming:
                if rows is not into:
                    into.copy_(rows)

    def _wait_for(self, begin: Callable[[], list[Any]]) -> None:
        try:
            with torch.cuda.stream(self._stream):
                for work in begin():
                    work.wait()
        except RuntimeError as error:
            first, *_ = str(error).splitlines() or [""]
            raise GroupFailed(first) from None

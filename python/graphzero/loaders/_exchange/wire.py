"""Messages between ranks: every wait is for one of them, so that an error knows which."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

# What a message holds. Those of a kind arrive in the order in which they were sent.
HEADER, IDS, ROWS, SCALES = range(1, 5)


class PeerLost(Exception):
    """A rank does not answer, or its connection is closed."""

    def __init__(self, rank: int, *, is_silent: bool, problem: str) -> None:
        super().__init__(problem)
        self.rank = rank
        self.is_silent = is_silent


class Wire:
    """Sends and receives arrays through a group of gloo. For one thread."""

    def __init__(self, group: Any) -> None:
        self._group = group
        self._sent: list[tuple[int, Any, torch.Tensor]] = []

    def send(self, rank: int, kind: int, array: NDArray[Any]) -> None:
        """Begin to send an array, which must not change before ``flush()``."""
        if array.nbytes:
            tensor = torch.from_numpy(array)
            with _naming(rank):
                self._sent.append((rank, self._group.send([tensor], rank, kind), tensor))

    def receive(self, rank: int, kind: int, into: NDArray[Any]) -> Callable[[], None]:
        """Begin to receive an array; return what waits for it."""
        if not into.nbytes:
            return lambda: None
        with _naming(rank):
            work = self._group.recv([torch.from_numpy(into)], rank, kind)

        def wait() -> None:
            with _naming(rank):
                work.wait()

        return wait

    def flush(self) -> None:
        """Wait until all has been sent."""
        sent, self._sent = self._sent, []
        for rank, work, _ in sent:
            with _naming(rank):
                work.wait()


@contextmanager
def _naming(rank: int) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        problem = str(error)
        raise PeerLost(rank, is_silent="imed out" in problem, problem=problem) from None


def empty_headers(world_size: int, num_shares: int) -> NDArray[np.int64]:
    """Return a header for each rank: what the sender is up to, and how many rows of each share it asks for."""
    return np.zeros((world_size, 1 + num_shares), dtype=np.int64)

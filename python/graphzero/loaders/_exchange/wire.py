"""Messages between ranks: every wait is for one of them, so that an error knows which."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

# What a message holds. Those of a kind arrive in the order in which they were sent.
HEADER, IDS, ROWS, SCALES, NOTE = range(1, 6)

# A note: its length, then JSON.
_NOTE_BYTES = 512
# How long a note may take that was written before its sender closed a connection, on a machine that is busy.
_NOTE_S = 2.0


class PeerLost(Exception):
    """A rank does not answer, or its connection is closed."""

    def __init__(self, rank: int, *, is_silent: bool, problem: str) -> None:
        super().__init__(problem)
        self.rank = rank
        self.is_silent = is_silent


class Wire:
    """Sends and receives arrays through two groups of gloo. For one thread.

    A connection carries arrays one way only. Who sends holds gloo's lock on it, and gloo's own thread, which reads,
    polls without rest while there is something to read and it cannot have the lock.
    """

    def __init__(self, rank: int, upwards: Any, downwards: Any) -> None:
        self._rank = rank
        self._groups = [downwards, upwards]
        self._sent: list[tuple[int, Any, torch.Tensor]] = []

    def join(self) -> None:
        """Wait for all ranks, where connections are not made by the first message."""

    def send(self, rank: int, kind: int, array: NDArray[Any]) -> None:
        """Begin to send an array, which must not change before ``flush()``."""
        if array.nbytes:
            tensor = torch.from_numpy(array)
            with _naming(rank):
                self._sent.append((rank, self._groups[rank > self._rank].send([tensor], rank, kind), tensor))

    def receive(self, rank: int, kind: int, into: NDArray[Any]) -> Callable[[], None]:
        """Begin to receive an array; return what waits for it."""
        if not into.nbytes:
            return lambda: None
        with _naming(rank):
            work = self._groups[rank < self._rank].recv([torch.from_numpy(into)], rank, kind)

        def wait() -> None:
            with _naming(rank):
                work.wait()

        return wait

    def close(self) -> None:
        """Close the connections, for those who wait for this rank."""
        self._sent.clear()
        self._groups.clear()

    def flush(self) -> None:
        """Wait until all has been sent."""
        sent, self._sent = self._sent, []
        for rank, work, _ in sent:
            with _naming(rank):
                work.wait()


class Notes:
    """What a rank says to all others when it leaves: why, or whom it waited for in vain.

    They go through a group of their own: the first wait of gloo that takes too long closes all connections of a group.
    """

    def __init__(self, group: Any, rank: int, world_size: int) -> None:
        self._group = group
        self._others = [other for other in range(world_size) if other != rank]
        self._rank = rank
        self._theirs = np.zeros((world_size, _NOTE_BYTES), dtype=np.uint8)
        # Begun now, so that a sender need not wait for this rank to look.
        self._arriving = [group.recv([torch.from_numpy(self._theirs[other])], other, NOTE) for other in self._others]

    def tell(self, **note: Any) -> None:
        """Say something to all others, as far as they are there."""
        text = json.dumps(note).encode()
        if len(text) > _NOTE_BYTES - 2:
            text = json.dumps({name: str(value)[:100] for name, value in note.items()}).encode()[: _NOTE_BYTES - 2]
        data = np.zeros(_NOTE_BYTES, dtype=np.uint8)
        data[2 : 2 + len(text)] = np.frombuffer(text, dtype=np.uint8)
        data[:2].view(np.uint16)[0] = len(text)
        tensor, sent = torch.from_numpy(data), []
        for other in self._others:
            with suppress(RuntimeError):  # it is gone
                sent.append(self._group.send([tensor], other, NOTE))
        for work in sent:
            with suppress(RuntimeError):
                work.wait(timedelta(seconds=_NOTE_S))

    def culprit(self, lost: PeerLost) -> tuple[PeerLost, str]:
        """Return whom the rank that this one lost had lost before, and why that one left."""
        seen, end = {self._rank}, time.monotonic() + _NOTE_S
        found = lost
        while time.monotonic() < end and found.rank not in seen:
            note = self._of(found.rank)
            if note is None:
                time.sleep(0.02)
                continue
            if "ended" in note:
                return found, f": {note['ended']}"
            seen.add(found.rank)
            found = PeerLost(int(note["waited for"]), is_silent=bool(note["silent"]), problem="")
        return (lost if found.rank == self._rank else found), ""

    def _of(self, rank: int) -> dict[str, Any] | None:
        length = int(self._theirs[rank, :2].view(np.uint16)[0])
        try:
            found: dict[str, Any] = json.loads(self._theirs[rank, 2 : 2 + length].tobytes())
        except ValueError:  # not there, or half of it
            return None
        return found


@contextmanager
def _naming(rank: int) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        problem = str(error)
        raise PeerLost(rank, is_silent="imed out" in problem, problem=problem) from None

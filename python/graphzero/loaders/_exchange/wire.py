"""Messages between ranks: every wait is for one of them, so that an error knows which."""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from numpy.typing import NDArray

# What a message holds. Those between two ranks arrive in the order in which they were sent.
HEADER, IDS, ROWS, SCALES = range(1, 5)

# Before each message: what it holds, and its length in bytes.
_FRAME = struct.Struct("<qq")
# Messages up to this size are sent together with their frame.
_SMALL = 4096
# A rank sleeps until so much of a message has come, or its rest: being woken for each packet costs a seventh of all.
_WAKE_BYTES = 256 << 10


class PeerLost(Exception):
    """A rank has not answered for ``silent_s`` seconds, or its connection is closed if that is ``None``."""

    def __init__(self, rank: int, *, silent_s: float | None = None, problem: str = "") -> None:
        super().__init__(problem)
        self.rank = rank
        self.silent_s = silent_s


class Clock:
    """Seconds in which this process could run. While it is stopped, by Ctrl-Z or with its machine, none pass.

    Otherwise a job that is stopped as a whole and goes on would take every rank for silent.
    """

    # Whoever waits looks that often.
    LOOK_S = 0.5

    def __init__(self) -> None:
        self._looked, self._passed = time.monotonic(), 0.0

    def now(self) -> float:
        """Return them. A look that comes late counts as one on time."""
        before, self._looked = self._looked, time.monotonic()
        self._passed += min(self._looked - before, 2 * self.LOOK_S)
        return self._passed


class Wire:
    """Sends and receives arrays through connections with other ranks, all at the same time. For one thread.

    It works while somebody waits. gloo has a thread of its own for this, which polls without rest while another thread
    sends; docs/design/exchange.md has the figures.
    """

    def __init__(self, connections: Mapping[int, socket.socket], timeout_s: float) -> None:
        self._connections = dict(connections)
        self._timeout_s = timeout_s
        self._patience_s = timeout_s  # after which a rank is lost that has been silent for its time
        self._selector = selectors.DefaultSelector()
        self._watched = dict.fromkeys(self._connections, 0)
        self._wakes_at = dict.fromkeys(self._connections, 1)  # bytes that have come
        self._sending: dict[int, deque[Iterator[memoryview]]] = {rank: deque() for rank in self._connections}
        self._part = dict.fromkeys(self._connections, memoryview(b""))  # what is left of the one that is being sent
        self._receiving: dict[int, deque[_Arriving]] = {rank: deque() for rank in self._connections}
        self._moved = dict.fromkeys(self._connections, 0.0)  # when bytes of a rank came or went last
        self._clock = Clock()

    def join(self) -> None:
        """Wait for all ranks, where rows have a way of their own."""

    def send(self, rank: int, kind: int, array: NDArray[Any]) -> None:
        """Begin to send an array, which must not change before ``flush()``."""
        self.send_parts(rank, kind, array.nbytes, iter([array]))

    def send_parts(self, rank: int, kind: int, nbytes: int, parts: Iterator[NDArray[Any]]) -> None:
        """The same for an array in parts. Each may change once the next one is asked for, when it has been sent."""
        if nbytes:
            self._sending[rank].append(_sent(_FRAME.pack(kind, nbytes), parts))

    def receive(self, rank: int, kind: int, into: NDArray[Any]) -> Callable[[], None]:
        """Say where the next array from a rank goes that was not spoken of yet; return what waits for it."""
        if not into.nbytes:
            return lambda: None
        arriving = _Arriving(rank, kind, _bytes_of(into))
        self._receiving[rank].append(arriving)
        return lambda: self._move(rank, lambda: not arriving.left)

    def flush(self) -> None:
        """Wait until all has been sent."""
        for rank, sending in self._sending.items():
            self._move(rank, lambda rank=rank, sending=sending: not sending and not self._part[rank])  # type: ignore[misc]

    def close(self) -> None:
        """Close the connections, for those who wait for this rank."""
        self._selector.close()
        for connection in self._connections.values():
            connection.close()
        self._sending.clear()
        self._receiving.clear()

    def _move(self, awaited: int, is_done: Callable[[], bool]) -> None:
        """Send and receive whatever there is, until what was awaited of a rank is done."""
        begin = self._clock.now()
        ready = [awaited]
        while not is_done():
            # Those of whom something moved are tried again before the system is asked who is ready, which costs more.
            ready = [rank for rank in ready if self._read(rank) | self._write(rank)]
            quiet = self._clock.now() - max(begin, self._moved[awaited])
            if quiet >= self._patience_s:
                raise PeerLost(awaited, silent_s=self._timeout_s)
            if not ready and not is_done():
                self._watch()
                events = self._selector.select(min(Clock.LOOK_S, self._patience_s - quiet))
                ready = [key.data for key, _ in events] or [awaited]  # of whom less may have come than wakes

    def _watch(self) -> None:
        for rank, connection in self._connections.items():
            wanted = selectors.EVENT_READ * bool(self._receiving[rank])
            wanted |= selectors.EVENT_WRITE * bool(self._sending[rank] or self._part[rank])
            if self._receiving[rank]:
                self._wake_at(rank, min(_WAKE_BYTES, self._receiving[rank][0].left))
            before, self._watched[rank] = self._watched[rank], wanted
            if wanted == before:
                continue
            if not wanted:
                self._selector.unregister(connection)
            elif not before:
                self._selector.register(connection, wanted, rank)
            else:
                self._selector.modify(connection, wanted, rank)

    def _wake_at(self, rank: int, count: int) -> None:
        if count != self._wakes_at[rank]:
            self._wakes_at[rank] = count
            with suppress(OSError):  # Windows has no such option
                self._connections[rank].setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)

    def _read(self, rank: int) -> bool:
        """Receive what a rank has sent; return whether there was any."""
        receiving = self._receiving[rank]
        if not receiving:
            return False
        count = self._moving(rank, self._connections[rank].recv_into, receiving[0].place)
        if count == 0:
            raise PeerLost(rank)
        if count is None:
            return False
        receiving[0].has(count)
        if not receiving[0].left:
            receiving.popleft()
        return True

    def _write(self, rank: int) -> bool:
        """Send a rank what there is room for; return whether there was any."""
        sending = self._sending[rank]
        while sending and not self._part[rank]:
            part = next(sending[0], None)
            if part is None:
                sending.popleft()
            else:
                self._part[rank] = part
        if not self._part[rank]:
            return False
        count = self._moving(rank, self._connections[rank].send, self._part[rank])
        self._part[rank] = self._part[rank][count or 0 :]
        return count is not None

    def _moving(self, rank: int, move: Callable[[memoryview], int], data: memoryview) -> int | None:
        """Return how many bytes moved; ``None`` if the connection is not ready."""
        try:
            count = move(data)
        except BlockingIOError:
            return None
        except OSError as error:
            raise PeerLost(rank, problem=str(error)) from None
        self._moved[rank] = self._clock.now()
        return count


def _sent(frame: bytes, parts: Iterator[NDArray[Any]]) -> Iterator[memoryview]:
    """Yield what is sent of a message, small ones in one piece."""
    for part in parts:
        data = _bytes_of(part)
        if frame and data.nbytes <= _SMALL:
            yield memoryview(frame + data.tobytes())
        else:
            if frame:
                yield memoryview(frame)
            yield data
        frame = b""


class _Arriving:
    """A message on its way: ``left`` bytes of it, the next of which go to ``place``."""

    def __init__(self, rank: int, kind: int, into: memoryview) -> None:
        self._rank, self._kind, self._into = rank, kind, into
        self._frame = memoryview(bytearray(_FRAME.size))
        self.place = self._frame
        self.left = _FRAME.size + len(into)

    def has(self, count: int) -> None:
        """Go on behind bytes that have come."""
        self.left -= count
        self.place = self.place[count:]
        if not self.place and self.left:
            found, expected = _FRAME.unpack(self._frame), (self._kind, len(self._into))
            if found != expected:
                raise RuntimeError(
                    f"rank {self._rank}: expected {expected[1]} bytes of kind {expected[0]}, found {found[1]} of "
                    f"kind {found[0]}; have the same version of graphzero on all ranks"
                )
            self.place = self._into


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.data.cast("B")

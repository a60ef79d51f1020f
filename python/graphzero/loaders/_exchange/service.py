"""The exchange of rows between ranks: a thread that asks for what this process needs and answers the others.

Ranks go through rounds together. In a round, each says how many rows it wants of each other rank, perhaps none, then
sends their numbers, and gets the rows. Nobody waits for a rank that has nothing to ask for: its thread takes part in
every round, whatever its loop does, until all ranks say that they leave.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.util import Finalize
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphzero._base.argument_errors import value_error
from graphzero._base.memory_sizes import byte_text
from graphzero._dataset.feature_share import FeatureShare, RowBuffer
from graphzero.loaders._exchange.connections import Listener
from graphzero.loaders._exchange.group_wire import GroupFailed, GroupWire
from graphzero.loaders._exchange.meeting import Meeting, Peer, check_alike, share_facts
from graphzero.loaders._exchange.notes import Notes
from graphzero.loaders._exchange.wire import HEADER, IDS, ROWS, SCALES, PeerLost, Wire

# Bytes of rows that a rank sends in a round: enough that a round's messages cost little beside them.
_ROUND_BYTES = 16 << 20
# Bytes of rows that are read at a time, to be sent.
_BLOCK_BYTES = 512 << 10


def memory_to_send(total: int) -> int:
    """Return the part of a loader's budget that is for rows on their way to other hosts."""
    return min(_ROUND_BYTES, total // 8)


# Between rounds in which nobody wanted anything, ranks rest, longer and longer.
_SHORTEST_REST_S, _LONGEST_REST_S = 0.001, 0.05
# Silence after which a rank is taken for lost.
TIMEOUT_S = 60.0
# What a rank is up to, as its headers say.
_IDLE, _LEAVING, _BUSY = range(3)


@dataclass(frozen=True)
class WantedRows:
    """Rows of a share on one other host: their numbers there, and where they go, from ``begin`` on."""

    share: int
    host: int
    rows: NDArray[np.int64]
    into: RowBuffer
    begin: int


@dataclass
class Request:
    """Rows that a batch needs from other hosts."""

    wanted: list[WantedRows]
    taken: list[int] = field(default_factory=list)  # how many rows of each have been asked for
    _done: threading.Event = field(default_factory=threading.Event)
    _error: str | None = None
    _kind: type[Exception] = RuntimeError

    def __post_init__(self) -> None:
        self.taken = [0] * len(self.wanted)

    def finish(self, kind: type[Exception] = RuntimeError, error: str | None = None) -> None:
        """Say that all rows are here, or that they will not come."""
        self._kind, self._error = kind, error
        self._done.set()

    def wait(self, stopped: threading.Event | None = None) -> bool:
        """Wait until all rows are here. Returns whether they are: not if the caller was ``stopped``."""
        while not self._done.wait(0.1 if stopped is not None else None):
            if stopped is not None and stopped.is_set():
                return False
        if self._error is not None:
            raise self._kind(self._error)
        return True


@dataclass
class ExchangeCounts:
    """What went over the wire, since the exchange began."""

    rounds: int = 0
    received_rows: int = 0
    received_bytes: int = 0
    sent_rows: int = 0
    sent_bytes: int = 0
    seconds: float = 0.0  # in rounds with rows


class RowExchange:
    """Brings rows of other hosts to this process, for all its loaders of a data set, and sends its own."""

    def __init__(
        self,
        shares: dict[str, FeatureShare],
        limit: int,
        timeout_s: float,
        backend: str = "tcp",
        device: torch.device | None = None,
    ) -> None:
        self._shares = [share.reopened() for share in shares.values()]  # whoever closes theirs
        first = self._shares[0]
        self._own: dict[str, Any] = {
            "facts": share_facts(shares),
            "host": first.record.host,
            "hosts": first.num_hosts,
            "limit": limit,
            "backend": backend,
        }
        self._backend, self._device = backend, device
        self._num_hosts = first.num_hosts
        self._limit = limit
        self._timeout_s = timeout_s
        self._process = os.getpid()
        self._wake = threading.Condition()
        self._waiting: deque[Request] = deque()
        self._leaving = False
        self._stopped = False
        self._why: str | None = None  # it ends
        self._busy_last = time.monotonic()
        self._failed: tuple[type[Exception], str] | None = None
        self._peers: list[Peer] = []
        self.counts = ExchangeCounts()
        self._notes: Notes | None = None
        self._meeting = Meeting(timeout_s)
        self._met_at = _met_at()  # kept, so that its id, which is in the key of this exchange, stays its own
        self._thread = threading.Thread(target=self._run, name="graphzero exchange", daemon=True)
        self._thread.start()

    @property
    def nbytes(self) -> int:
        """The most memory that it takes for the rows that it sends."""
        return self._limit

    @property
    def was_refused(self) -> bool:
        """Whether arguments or data were wrong, on all ranks alike: others may be right."""
        return self._failed is not None and issubclass(self._failed[0], ValueError)

    def ask(self, wanted: Sequence[WantedRows]) -> Request:
        """Ask for rows of other hosts."""
        if os.getpid() != self._process:
            raise RuntimeError(
                "rows of other hosts come to the process that joined torch.distributed, and this is another"
            )
        # In the order in which owners answer.
        request = Request(sorted((each for each in wanted if len(each.rows)), key=lambda each: each.share))
        with self._wake:
            if self._failed is not None:
                request.finish(*self._failed)
            elif not request.wanted:
                request.finish()
            else:
                self._waiting.append(request)
                self._wake.notify()
        return request

    def leave(self, why: str | None) -> None:
        """End, at once if ``why`` says that this process failed; else serve the others until all leave."""
        if os.getpid() != self._process:
            return
        with self._wake:
            self._leaving, self._stopped = True, why is not None
            self._why = why or "its script had ended"
            self._busy_last = time.monotonic()
            self._wake.notify()
        notes = self._notes
        if why is None:
            self._thread.join()  # every wait in it has an end
            return
        if notes is not None and self._failed is None:
            notes.tell(ended=why)
        self._thread.join(1)

    def _run(self) -> None:
        listener: Listener | None = None
        wire: Wire | None = None
        try:
            listener = self._listener()
            addresses = self._join(listener.address)
            rows, notes = listener.join(self._rank, addresses, self._timeout_s)
            self._notes = Notes(notes, self._rank)
            wire = self._wire(rows)
            try:
                self._serve(wire, self._notes)
            except GroupFailed as failed:
                self._headers(wire, self._empty_headers())  # whoever is gone is named
                raise ConnectionError(
                    f"rows did not cross through {self._backend}: {failed}; exchange='tcp' does without"
                    + (", and NCCL_DEBUG=WARN says more" if self._backend == "nccl" else "")
                ) from None
        except PeerLost as lost:
            why = f": {lost}" if self._notes is None and lost.silent_s is None else ""
            if self._notes is not None:
                self._notes.tell(**{"waited for": lost.rank, "silent": lost.silent_s})
                lost, why = self._notes.culprit(lost)
            self._fail(*self._blame(lost, why))
        except Exception as error:
            if self._notes is not None:
                self._notes.tell(ended=f"{type(error).__name__}: {error}")
            self._fail(type(error) if isinstance(error, (ValueError, OSError)) else RuntimeError, str(error))
        finally:
            for each in (listener, wire):
                if each is not None:
                    each.close()

    def _listener(self) -> Listener:
        try:
            return Listener(self._meeting.own_address(), self._meeting.world_size)
        except Exception as error:  # others would wait for this rank
            self._meeting.end(self._own["host"], f"{type(error).__name__}: {error}")
            raise

    def _wire(self, connections: dict[int, socket.socket]) -> Wire:
        if self._backend == "tcp":
            return Wire(connections, self._timeout_s)
        make = partial(self._meeting.group, self._backend, self._timeout_s)
        return GroupWire(connections, self._timeout_s, make, self._device or torch.device("cpu"))

    def _join(self, address: dict[str, Any]) -> list[dict[str, Any]]:
        """Wait until all ranks have come, and return their addresses."""
        left = self._meeting.wait({**self._own, "address": address}, lambda: self._why)
        check_alike(left)
        self._peers = [Peer(rank, one["host"], one["node"]) for rank, one in enumerate(left)]
        self._limit = min(one["limit"] for one in left)
        self._rank, self._world_size = self._meeting.rank, self._meeting.world_size
        # Ranks of a host share its folder: those elsewhere ask them in turn.
        by_host: list[list[int]] = [[] for _ in range(self._num_hosts)]
        for peer in self._peers:
            by_host[peer.host].append(peer.rank)
        self._rank_of_host = [ranks[self._rank % len(ranks)] for ranks in by_host]
        others = max(1, self._world_size - 1)
        self._room = self._limit // others  # bytes of rows that one rank may ask another for in a round
        widest = max(_row_bytes(share) for share in self._shares)
        if self._room < widest:
            raise value_error(
                "memory",
                f"expected room for a row of {widest} bytes for each of {others} other ranks, found "
                f"{byte_text(self._limit)} for rows on the wire: an eighth of the least memory= of all ranks, and at "
                f"most {byte_text(_ROUND_BYTES)}; attributes with wider rows can be staged to all hosts, with whole=",
            )
        return [one["address"] for one in left]

    def _blame(self, lost: PeerLost, why: str) -> tuple[type[Exception], str]:
        who = str(self._peers[lost.rank])
        if lost.rank == self._rank:
            return ConnectionError, (
                f"{who}, which is this one, had not answered the others for {lost.silent_s or 0:.0f} s, and they have "
                "ended: start all ranks again, from the last state_dict()"
            )
        remedy = "start all ranks again, from the last state_dict(), as torchrun --max-restarts does"
        if lost.silent_s is not None and not why:
            return TimeoutError, (
                f"{who} has not answered for {lost.silent_s:.0f} s: rows that are there cannot be had; {remedy}"
            )
        return ConnectionError, f"{who} is gone{why}: rows that are there cannot be had; {remedy}"

    def _fail(self, kind: type[Exception], problem: str) -> None:
        with self._wake:
            self._failed = kind, problem
            waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            request.finish(kind, problem)

    def _serve(self, wire: Wire, notes: Notes) -> None:
        wire.join()
        rest = _SHORTEST_REST_S
        while not self._stopped:
            with self._wake:
                request = self._waiting[0] if self._waiting else None
            wanted = {} if request is None else self._next_part(request)
            headers = self._empty_headers()
            headers[:, 0] = _BUSY if wanted else _LEAVING if self._leaving else _IDLE
            for rank, parts in wanted.items():
                for part in parts:
                    headers[rank, 1 + part.share] = len(part.rows)
            theirs = self._headers(wire, headers)
            if (theirs[:, 0] == _BUSY).any():  # perhaps not with this rank, but there will be another round at once
                self._round(wire, wanted, theirs)
                rest = _SHORTEST_REST_S
                if request is not None and request.taken == [len(each.rows) for each in request.wanted]:
                    with self._wake:
                        self._waiting.popleft()
                    request.finish()
                continue
            if (theirs[:, 0] == _LEAVING).all():
                return
            if self._leaving and time.monotonic() - self._busy_last > self._timeout_s:
                notes.tell(ended="its script had ended")
                return
            with self._wake:
                if not self._waiting and not self._stopped:
                    self._wake.wait(rest)
            rest = min(2 * rest, _LONGEST_REST_S)

    def _empty_headers(self) -> NDArray[np.int64]:
        """Return a header for each rank: what this one is up to, and how many rows of each share it asks for."""
        return np.zeros((self._world_size, 1 + len(self._shares)), dtype=np.int64)

    def _headers(self, wire: Wire, headers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tell each rank what this one wants of it, and return what each wants of this one."""
        theirs: NDArray[np.int64] = headers.copy()
        theirs[self._rank, 1:] = 0
        others = [rank for rank in range(self._world_size) if rank != self._rank]
        for rank in others:
            wire.send(rank, HEADER, headers[rank])
        waits = [wire.receive(rank, HEADER, theirs[rank]) for rank in others]
        for wait in waits:
            wait()
        wire.flush()
        return theirs

    def _next_part(self, request: Request) -> dict[int, list[WantedRows]]:
        """Return the rows that a round brings, by rank: no more than there is room for."""
        parts: dict[int, list[WantedRows]] = {}
        room = dict.fromkeys(range(self._world_size), self._room)
        for number, each in enumerate(request.wanted):
            rank, begin = self._rank_of_host[each.host], request.taken[number]
            width = _row_bytes(self._shares[each.share])
            count = min(len(each.rows) - begin, room[rank] // width)
            if count:
                room[rank] -= count * width
                request.taken[number] += count
                rows = each.rows[begin : begin + count]
                parts.setdefault(rank, []).append(
                    WantedRows(each.share, each.host, rows, each.into, each.begin + begin)
                )
        return parts

    def _round(self, wire: Wire, wanted: dict[int, list[WantedRows]], theirs: NDArray[np.int64]) -> None:
        begin = time.perf_counter()
        for rank, parts in wanted.items():
            for part in parts:
                wire.send(rank, IDS, part.rows)
        asked = [
            (rank, share, np.empty(count, dtype=np.int64))
            for rank, counts in enumerate(theirs[:, 1:].tolist())
            for share, count in enumerate(counts)
            if count
        ]
        # Messages of a rank are spoken of in the order in which it sends them: what it asks for, then what it answers.
        arrivals = [wire.receive(rank, IDS, rows) for rank, _, rows in asked]
        waits = []
        for rank, parts in wanted.items():
            for part in parts:
                data, scales = part.into.part(part.begin, part.begin + len(part.rows))
                waits.append(wire.receive(rank, ROWS, data))
                if scales is not None:
                    waits.append(wire.receive(rank, SCALES, scales))
                self.counts.received_rows += len(part.rows)
                self.counts.received_bytes += data.nbytes
        for arrival, (rank, share, rows) in zip(arrivals, asked, strict=True):
            arrival()
            self._answer(wire, rank, share, rows)
        for wait in waits:
            wait()
        wire.flush()
        self._busy_last = time.monotonic()
        self.counts.rounds += 1
        self.counts.seconds += time.perf_counter() - begin

    def _answer(self, wire: Wire, rank: int, share: int, rows: NDArray[np.int64]) -> None:
        """Read rows in blocks that a processor's cache holds, each when the one before has been sent."""
        store = self._shares[share]
        count = max(1, _BLOCK_BYTES // max(1, store.row_bytes))
        block = RowBuffer(store, min(count, len(rows)))
        scales = np.empty(len(rows) if store.quantised else 0, dtype=np.float32)

        def data() -> Iterator[NDArray[np.uint8]]:
            for begin in range(0, len(rows), count):
                wanted = rows[begin : begin + count]
                store.read(wanted, block, 0, hot=False, reader="auto")
                items, of_items = block.part(0, len(wanted))
                if of_items is not None:
                    scales[begin : begin + count] = of_items
                yield items

        nbytes = len(rows) * store.row_bytes
        wire.send_parts(rank, ROWS, nbytes, data())
        wire.send(rank, SCALES, scales)
        self.counts.sent_rows += len(rows)
        self.counts.sent_bytes += nbytes


def _row_bytes(share: FeatureShare) -> int:
    """Return what a row takes on the wire: its number, itself, and its scale if it has one."""
    return 8 + share.row_bytes + (4 if share.quantised else 0)


_exchanges: dict[str, RowExchange] = {}
_making = threading.Lock()


def exchange_of(
    shares: dict[str, FeatureShare],
    memory: int,
    backend: str | None,
    timeout_s: float | None,
    device: torch.device | None = None,
) -> RowExchange | None:
    """Return the exchange that this process has for these shares, or begin one; ``None`` if one host has all rows."""
    first = next(iter(shares.values()))
    if first.num_hosts == 1:
        return None
    backend = backend or "tcp"
    if backend == "nccl":
        _check_nccl(device)
    if backend == "gloo" and not torch.distributed.is_gloo_available():
        raise value_error("exchange", f"expected 'tcp' or None, found 'gloo', which torch {torch.__version__} lacks")
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        raise value_error(
            "data",
            f"{next(iter(shares))}: expected the rows of all hosts, found those of host {first.record.host} of "
            f"{first.num_hosts}: ranks send each other the rest; start one on each host with torchrun, and call "
            "torch.distributed.init_process_group() before this",
        )
    shares = dict(sorted(shares.items()))
    ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    where = device if backend == "nccl" else None
    key = json.dumps([os.getpid(), id(_met_at()), *ranks, first.record.host, backend, str(where), share_facts(shares)])
    with _making:
        known = _exchanges.get(key)
        if known is None or known.was_refused:
            # Also called in processes that multiprocessing has forked, where atexit is not.
            Finalize(None, _leave, exitpriority=100)
            waited_s = TIMEOUT_S if timeout_s is None else timeout_s
            _exchanges[key] = RowExchange(shares, memory_to_send(memory), waited_s, backend, where)
        return _exchanges[key]


def _met_at() -> Any:
    """Return the store where ranks have met: another one if they have met again."""
    return torch.distributed.distributed_c10d._get_default_store()


def _check_nccl(device: torch.device | None) -> None:
    if not torch.distributed.is_nccl_available():
        raise value_error("exchange", f"expected 'tcp' or None, found 'nccl', which torch {torch.__version__} lacks")
    if device is None or device.type != "cuda":
        found = "no device" if device is None else f"device={str(device)!r}"
        raise value_error("exchange", f"expected a CUDA device with 'nccl', such as device='cuda', found {found}")


def _why_it_ends() -> str | None:
    """Return what failed, if that is why this process ends."""
    if hasattr(sys, "ps1"):  # at a prompt an error does not end the process
        return None
    # multiprocessing takes leave while the error is on its way; an interpreter keeps it, unless it is SystemExit.
    error = sys.exc_info()[1] or getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if isinstance(error, SystemExit):
        if error.code in (None, 0):
            return None
        if error.__context__ is None:  # torch.multiprocessing has written the error down, and raises this instead
            return f"it ended with exit status {error.code}"
        error = error.__context__
    return None if error is None else f"it ended with {type(error).__name__}: {error}"


def _leave() -> None:
    why = _why_it_ends()
    while _exchanges:
        _, exchange = _exchanges.popitem()
        exchange.leave(why)

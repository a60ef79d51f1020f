"""A discrete simulation of ranks that exchange rows: each has a range of them, and asks the others for the rest.

A batch of a rank is sampled, its ids go to their owners, owners gather the rows and send them back, and a step of
training takes it; meanwhile the rank gathers its own rows. Batches are made in order and several ahead. Every resource
serves one piece of work after the other: cores of a host, the thread that samples and the one that exchanges, disk, and
the link of a host in both directions. Exchanges are collective, as `all_to_all_single` is: no owner serves a batch
before all have asked for theirs.

bench/exchange_runs.py compares it with processes that do this; bench/scale_model.py --simulate prints its rates.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias

ID_BYTES = 8


@dataclass(frozen=True)
class Exchange:
    """What a batch costs. Times are seconds of a core, rates bytes a second; 0 costs and infinity limits nothing."""

    ranks: int
    rows: int  # of a batch, of one rank
    row_bytes: int
    local: float = 0.0  # the share of rows that a rank need not ask for, beside those of its own range
    sample: float = 0.0  # CPU of a batch
    gather_row: float = 0.0  # CPU of a row that is gathered, for itself or others
    wire_row: float = 0.0  # CPU of a row that is sent, and again where it is received
    call: float = 0.0  # CPU of a batch's collective calls, whatever they carry
    train: float = 0.0  # the step of a batch, which needs no core
    ahead: int = 4  # batches
    threads: int = 1  # that gather the rows of a batch
    ranks_per_host: int = 1
    cores: float = 16  # of a host
    link: float = math.inf  # of a host, in each direction
    disk: float = math.inf  # of a host; rows come from there if it is not infinite

    @property
    def asked(self) -> float:
        """The rows of a batch that come from one other rank."""
        return self.rows * (1 - self.local) / self.ranks


# What a process of the simulation waits for: a time, a place in a resource, or a signal.
Process: TypeAlias = "Generator[float | Resource | Signal, None, None]"


class Clock:
    """Runs processes in the order of time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Process]] = []
        self._count = 0

    def start(self, process: Process, after: float = 0.0) -> None:
        """Let a process begin, or go on, after some seconds."""
        self._count += 1
        heapq.heappush(self._events, (self.now + after, self._count, process))

    def run(self) -> None:
        """Run until nothing is left to do."""
        while self._events:
            self.now, _, process = heapq.heappop(self._events)
            wanted = next(process, None)
            if isinstance(wanted, float):
                self.start(process, wanted)
            elif wanted is not None:
                wanted.join(process)


class Resource:
    """Serves as many processes at a time as it has places, in the order in which they come."""

    def __init__(self, clock: Clock, places: int = 1) -> None:
        self._clock = clock
        self._free = places
        self._waiting: deque[Process] = deque()

    def join(self, process: Process) -> None:
        """Give a place to a process, now or later."""
        if self._free:
            self._free -= 1
            self._clock.start(process)
        else:
            self._waiting.append(process)

    def leave(self) -> None:
        """Give the place to the next process."""
        if self._waiting:
            self._clock.start(self._waiting.popleft())
        else:
            self._free += 1


class Signal:
    """Lets processes go on when something has happened so many times."""

    def __init__(self, clock: Clock, times: int = 1) -> None:
        self._clock = clock
        self._left = times
        self._waiting: list[Process] = []

    def join(self, process: Process) -> None:
        """Let a process go on, now or later."""
        if self._left > 0:
            self._waiting.append(process)
        else:
            self._clock.start(process)

    def give(self) -> None:
        """Tell that it happened once."""
        self._left -= 1
        if self._left == 0:
            for process in self._waiting:
                self._clock.start(process)


class Host:
    """What the ranks of a host share. A part of a core makes all of them slower."""

    def __init__(self, clock: Clock, given: Exchange) -> None:
        count = math.ceil(given.cores)
        self.cores = Resource(clock, count)
        self.speed = given.cores / count
        self.disk, self.out, self.into = Resource(clock), Resource(clock), Resource(clock)
        self.busy = 0.0

    def compute(self, seconds: float) -> Process:
        """Take a core for a while."""
        if seconds:
            self.busy += seconds
            yield self.cores
            yield seconds / self.speed
            self.cores.leave()


class Rank:
    """The signals of a rank, by batch, and what it has moved."""

    def __init__(self, clock: Clock, batches: int, others: int) -> None:
        self.sampled, self.own_rows, self.exchanged, self.done = (
            [Signal(clock) for _ in range(batches)] for _ in range(4)
        )
        self.asked, self.answered = ([Signal(clock, others) for _ in range(batches)] for _ in range(2))
        self.done_at: list[float] = []
        self.sent = self.received = self.rows_served = self.rows_got = 0.0


class Simulation:
    """All ranks, for some batches."""

    def __init__(self, given: Exchange, batches: int) -> None:
        self.given, self.batches = given, batches
        self.clock = clock = Clock()
        self.others = given.ranks - 1
        self.hosts = [Host(clock, given) for _ in range(math.ceil(given.ranks / given.ranks_per_host))]
        self.home = [self.hosts[rank // given.ranks_per_host] for rank in range(given.ranks)]
        self.ranks = [Rank(clock, batches, self.others) for _ in range(given.ranks)]
        self._steps = [Signal(clock, given.ranks) for _ in range(batches)]
        for rank in range(given.ranks):
            for process in (self.sample(rank), self.exchange(rank), self.train(rank)):
                clock.start(process)
        clock.run()

    def sample(self, number: int) -> Process:
        """Sample batches, no more than so many ahead."""
        rank, given = self.ranks[number], self.given
        for batch in range(self.batches):
            if batch >= given.ahead:
                yield rank.done[batch - given.ahead]
            yield from self.home[number].compute(given.sample)
            own = given.rows * given.local + given.asked
            self.clock.start(self.gather(number, own, rank.own_rows[batch]))
            rank.rows_got += own
            rank.sampled[batch].give()

    def gather(self, number: int, rows: float, done: Signal) -> Process:
        """Bring rows of this rank into memory."""
        given, host = self.given, self.home[number]
        self.ranks[number].rows_served += rows
        if given.disk < math.inf:
            yield host.disk
            yield rows * given.row_bytes / given.disk
            host.disk.leave()
        ended = Signal(self.clock, given.threads)
        for _ in range(given.threads):
            self.clock.start(self._piece(host, rows * given.gather_row / given.threads, ended))
        yield ended
        done.give()

    def _piece(self, host: Host, seconds: float, ended: Signal) -> Process:
        yield from host.compute(seconds)
        ended.give()

    def carry(self, source: int, target: int, size: float, done: Signal) -> Process:
        """Bring bytes from one rank to another."""
        out, into = self.home[source], self.home[target]
        if out is not into:
            self.ranks[source].sent += size
            self.ranks[target].received += size
            yield out.out
            yield into.into
            yield size / self.given.link
            into.into.leave()
            out.out.leave()
        done.give()

    def exchange(self, number: int) -> Process:
        """Ask for rows and serve those that others ask for, batch by batch."""
        rank, host, given = self.ranks[number], self.home[number], self.given
        rows = self.others * given.asked
        # Rank r sends to r + 1, r + 2, … in turn, so that links are used evenly.
        targets = [(number + step) % given.ranks for step in range(1, given.ranks)]
        for batch in range(self.batches):
            yield rank.sampled[batch]
            if targets:
                yield from host.compute(given.call)
                for target in targets:
                    there = self.ranks[target].asked[batch]
                    self.clock.start(self.carry(number, target, given.asked * ID_BYTES, there))
                yield rank.asked[batch]
                ready = Signal(self.clock)
                self.clock.start(self.gather(number, rows, ready))
                yield ready
                yield from host.compute(rows * given.wire_row)
                for target in targets:
                    there = self.ranks[target].answered[batch]
                    self.clock.start(self.carry(number, target, given.asked * given.row_bytes, there))
                yield rank.answered[batch]
                yield from host.compute(rows * given.wire_row)
                rank.rows_got += rows
            rank.exchanged[batch].give()

    def train(self, number: int) -> Process:
        """Take batches; steps end together, as they exchange gradients."""
        rank = self.ranks[number]
        for batch in range(self.batches):
            yield rank.exchanged[batch]
            yield rank.own_rows[batch]
            if self.given.train:
                yield self.given.train
                self._steps[batch].give()
                yield self._steps[batch]
            rank.done_at.append(self.clock.now)
            rank.done[batch].give()


def simulate(given: Exchange, batches: int = 64) -> dict[str, float]:
    """Return the batches/s of all ranks, what a rank sends and its cores compute for a batch, and totals."""
    made = Simulation(given, batches)
    ranks, hosts = made.ranks, made.hosts
    # Without the first batches, which find all resources free.
    first = min(batches // 4, batches - 1)
    total = max(rank.done_at[-1] for rank in ranks)
    span = total - max(rank.done_at[first] for rank in ranks)
    busy = sum(host.busy for host in hosts)
    return {
        "rate": given.ranks * (batches - 1 - first) / span if span else math.inf,
        "sent": sum(rank.sent for rank in ranks) / given.ranks / batches,
        "received": sum(rank.received for rank in ranks) / given.ranks / batches,
        "rows_served": sum(rank.rows_served for rank in ranks),
        "rows_got": sum(rank.rows_got for rank in ranks),
        "cpu": busy / given.ranks / batches,
        "cores_busy": busy / (total * given.cores * len(hosts)) if total else 0.0,
    }

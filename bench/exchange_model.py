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
from dataclasses import dataclass, field

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


class Cores:
    """Cores that run one piece of work each; a part of a core makes all of them slower."""

    def __init__(self, count: float) -> None:
        self._free = [0.0] * math.ceil(count)
        self._speed = count / len(self._free)
        self.busy = 0.0

    def run(self, ready: float, seconds: float) -> float:
        """Return when work is done that can begin at ``ready``."""
        self.busy += seconds
        begin = max(ready, heapq.heappop(self._free))
        heapq.heappush(self._free, end := begin + seconds / self._speed)
        return end

    def share(self, ready: float, seconds: float, threads: int) -> float:
        """Return when work is done that several threads divide."""
        return max(self.run(ready, seconds / threads) for _ in range(threads))


@dataclass
class Rank:
    """When a rank's threads are free, and what it has moved."""

    sampler: float = 0.0
    exchanger: float = 0.0
    own_rows: float = 0.0  # when those of the batch are gathered, which waits for nobody
    done: list[float] = field(default_factory=list)  # the end of each step
    sent: float = 0.0  # bytes to other hosts
    received: float = 0.0
    rows_served: float = 0.0
    rows_got: float = 0.0


@dataclass
class Host:
    """What the ranks of a host share."""

    cores: Cores
    disk: float = 0.0
    out: float = 0.0
    into: float = 0.0


def simulate(given: Exchange, batches: int = 64) -> dict[str, float]:
    """Return the batches/s of all ranks, what a rank sends and its cores compute for a batch, and totals."""
    hosts = [Host(Cores(given.cores)) for _ in range(math.ceil(given.ranks / given.ranks_per_host))]
    ranks = [Rank() for _ in range(given.ranks)]
    home = [hosts[rank // given.ranks_per_host] for rank in range(given.ranks)]
    others = given.ranks - 1

    def carry(source: int, target: int, ready: float, size: float) -> float:
        """Return when bytes are there that can leave at ``ready``."""
        if home[source] is home[target]:
            return ready
        ranks[source].sent += size
        ranks[target].received += size
        begin = max(ready, home[source].out, home[target].into)
        home[source].out = home[target].into = end = begin + size / given.link
        return end

    def gathered(host: Host, ready: float, rows: float) -> float:
        """Return when rows of this host are in memory, in the order of a request."""
        if given.disk < math.inf:
            host.disk = max(host.disk, ready) + rows * given.row_bytes / given.disk
            ready = host.disk
        return host.cores.share(ready, rows * given.gather_row, given.threads)

    for batch in range(batches):
        asked_at = []
        own = given.rows * given.local + given.asked
        for rank, host in zip(ranks, home, strict=True):
            room = rank.done[batch - given.ahead] if batch >= given.ahead else 0.0
            rank.sampler = host.cores.run(max(rank.sampler, room), given.sample)
            rank.own_rows = gathered(host, rank.sampler, own)
            rank.rows_served += own
            rank.rows_got += own
            asked_at.append(host.cores.run(max(rank.sampler, rank.exchanger), given.call) if others else rank.sampler)
        # Rank r sends to r + 1, r + 2, … in turn, so that links are used evenly.
        arrived = list(asked_at)
        for step in range(1, given.ranks):
            for source in range(given.ranks):
                target = (source + step) % given.ranks
                there = carry(source, target, asked_at[source], given.asked * ID_BYTES)
                arrived[target] = max(arrived[target], there)
        served = []
        for rank, host, ready in zip(ranks, home, arrived, strict=True):
            rows = others * given.asked
            served.append(host.cores.run(gathered(host, ready, rows), rows * given.wire_row) if others else ready)
            rank.rows_served += rows
        back = list(served)
        for step in range(1, given.ranks):
            for source in range(given.ranks):
                target = (source + step) % given.ranks
                there = carry(source, target, served[source], given.asked * given.row_bytes)
                back[target] = max(back[target], there)
                ranks[target].rows_got += given.asked
        for rank, host, ready in zip(ranks, home, back, strict=True):
            rank.exchanger = host.cores.run(ready, others * given.asked * given.wire_row) if others else ready
            before = rank.done[-1] if rank.done else 0.0
            rank.done.append(max(rank.exchanger, rank.own_rows, before) + given.train)
        if given.train:  # steps end together: they exchange gradients
            last = max(rank.done[-1] for rank in ranks)
            for rank in ranks:
                rank.done[-1] = last
    # Without the first batches, which find all resources free.
    first = min(batches // 4, batches - 1)
    span = max(rank.done[-1] for rank in ranks) - max(rank.done[first] for rank in ranks)
    total = max(rank.done[-1] for rank in ranks)
    return {
        "rate": given.ranks * (batches - 1 - first) / span if span else math.inf,
        "sent": sum(rank.sent for rank in ranks) / given.ranks / batches,
        "received": sum(rank.received for rank in ranks) / given.ranks / batches,
        "rows_served": sum(rank.rows_served for rank in ranks),
        "rows_got": sum(rank.rows_got for rank in ranks),
        "cpu": sum(host.cores.busy for host in hosts) / given.ranks / batches,
        "cores_busy": sum(host.cores.busy for host in hosts) / (total * given.cores * len(hosts)) if total else 0.0,
    }

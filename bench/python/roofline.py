"""What a machine allows a pipeline: what reads cost, and how many rows a cache of some size must leave to be read."""

from dataclasses import dataclass

import numpy as np
from common import answer, compiled

from graphzero._tools.page_cache import drop_from_page_cache

DEPTH = 128  # reads in flight, as many as a pipeline has
SMALL, LARGE = 4 << 10, 64 << 10


@dataclass(frozen=True)
class ReadCost:
    """Seconds of the device and of a core: so much for a read, and so much for each byte of it."""

    small_reads: float  # reads of 4 kB per second
    per_read: float
    per_byte: float
    cpu_per_read: float
    cpu_per_byte: float


def read_cost(path, folder, seconds):
    """Measure reads of 4 kB and of 64 kB at random places of a file, by a bare ring."""
    program = compiled("row_reads", folder)
    device, cpu = {}, {}
    for size in (SMALL, LARGE):
        drop_from_page_cache(path)
        found = answer([program, "ring", path, 1, DEPTH, seconds, size])
        device[size], cpu[size] = found["seconds"] / found["reads"], found["cpu"] / found["reads"]

    def line(costs):
        per_byte = max((costs[LARGE] - costs[SMALL]) / (LARGE - SMALL), 0)
        return max(costs[SMALL] - SMALL * per_byte, 0), per_byte

    return ReadCost(1 / device[SMALL], *line(device), *line(cpu))


def misses_by_degree(batches, rank, size):
    """Rows of a batch that are not among the ``size`` hottest; ``rank`` is the place of each row, hottest first."""
    return float(np.mean([np.count_nonzero(rank[nodes] >= size) for nodes in batches]))


def misses_by_next_use(batches, rank, size):
    """Rows of a batch that are not there if a cache of ``size`` rows always keeps those that are needed next.

    That is the fewest there can be (Belady: A study of replacement algorithms for a virtual-storage computer, IBM
    Systems Journal 1966). It begins with the hottest rows; of those that no batch needs again it keeps the hottest.
    Only the first half of the batches counts, since behind the last one nothing is known.
    """
    never = len(batches)
    next_use = np.full(len(rank), never, np.int64)
    uses = []
    for number in range(len(batches) - 1, -1, -1):
        uses.append(next_use[batches[number]])
        next_use[batches[number]] = number
    uses.reverse()
    kept = rank < size
    missed = 0
    counted = max(len(batches) // 2, 1)
    for nodes, after in zip(batches[:counted], uses, strict=False):
        missed += np.count_nonzero(~kept[nodes])
        kept[nodes] = True
        next_use[nodes] = after
        there = np.flatnonzero(kept)
        if len(there) > size:
            order = next_use[there] * len(rank) + rank[there]
            kept[there[np.argpartition(order, size)[size:]]] = False
    return missed / counted

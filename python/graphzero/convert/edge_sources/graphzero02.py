"""Edges of ``.gl`` files of GraphZero 0.2: lists of neighbours with 8-byte ids."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import value_error
from graphzero.convert.edge_sources.array_file import ArrayFile
from graphzero.convert.edge_sources.batch import EdgeBatch, checked_rows, edge_batch
from graphzero.convert.edge_sources.neighbor_lists import HalfOfLoops, expand, from_file
from graphzero.graph import Graph

_MAGIC = b"graphlit"
_HEADER = 64  # bytes; arrays begin at multiples of as many (docs/formats/graphzero-0.2.md)

# Factors of a hash: odd, and without a pattern (the fractions of the golden ratio and of the roots of 2 and 3).
_FACTORS = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0x6A09E667F3BCC909, 0xBB67AE8584CAA73B)))


def is_graphzero02_graph(path: str) -> bool:
    """Whether a file begins as such a graph does."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


class Graphzero02Source:
    """A ``.gl`` file of GraphZero 0.2, which does not say whether its graph is directed.

    One that was made with ``directed=False`` stores each edge in the lists of both ends. If the user says so, it comes
    once here, from its smaller end, and means both directions.
    """

    def __init__(self, path: str, *, weight: Any = None, directed: bool = True) -> None:
        self.name = path
        with Graph(path) as graph:
            self.num_nodes = graph.num_nodes
            self._num_entries = graph.num_edges
            has_weights = graph.has_weights
        if weight not in (None, True, False):
            raise value_error("weight", f"expected True or False for a graph, found {weight!r}", where=path)
        if weight is True and not has_weights:
            raise value_error("weight", "expected a graph with weights, found none", where=path)
        self._with_weights = has_weights and weight is not False
        self.undirected = not directed
        self.num_edges: int = self._num_entries if directed else self._num_entries // 2

    def batches(self, rows: int) -> Iterator[EdgeBatch]:
        """Read ``rows`` edges at a time, by source."""
        checked_rows(rows)
        indptr = self._array("<i8", self.num_nodes + 1, _HEADER)
        indices = self._array("<i8", self._num_entries, _rounded_up(indptr.offset + indptr.nbytes))
        weights = self._array("<f4", self._num_entries, _rounded_up(indices.offset + indices.nbytes))
        halves = _Halves(self.name)
        with ExitStack() as stack:
            read_weights = from_file(weights, stack) if self._with_weights else None
            read = from_file(indptr, stack), from_file(indices, stack)
            for src, dst in expand(*read, self.num_nodes, self._num_entries, rows, self.name):
                weight = None if read_weights is None else read_weights(len(dst))
                if self.undirected:
                    keep = halves.smaller(src, dst, weight)
                    src, dst = src[keep], dst[keep]
                    weight = None if weight is None else weight[keep]
                if len(src):
                    yield edge_batch(src, dst, weight, None, self.name)
        if self.undirected:
            halves.check()

    def _array(self, dtype: str, count: int, offset: int) -> ArrayFile:
        return ArrayFile(self.name, self.name, np.dtype(dtype), (count,), False, offset)


def _rounded_up(offset: int) -> int:
    return -(-offset // _HEADER) * _HEADER


class _Halves:
    """Parts the entries of an undirected graph into two halves, and proves that they hold the same edges.

    What is summed over each half is a hash of an edge's ends and weight, so that no edge has to be remembered.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._loops = HalfOfLoops()
        self._counts = [0, 0]
        self._sums = [0, 0]

    def smaller(
        self, src: NDArray[np.int64], dst: NDArray[np.int64], weight: NDArray[np.float32] | None
    ) -> NDArray[np.bool_]:
        """Return which entries are kept: those in the list of their smaller end."""
        first = (src < dst) | self._loops.keep(src, src == dst)
        code = _hash(np.minimum(src, dst), np.maximum(src, dst), weight)
        for half, chosen in enumerate((first, ~first)):
            self._counts[half] += int(np.count_nonzero(chosen))
            self._sums[half] += int(np.sum(code[chosen], dtype=np.uint64))
        return first

    def check(self) -> None:
        """Refuse a graph whose halves differ: an edge would be lost, or gain a direction."""
        if self._counts[0] == self._counts[1] and (self._sums[0] - self._sums[1]) % 2**64 == 0:
            return
        up, down = self._counts
        found = f"{up} from the smaller end and {down} from the larger" if up != down else "others from the larger end"
        raise ValueError(
            f"{self._name}: expected each edge in the lists of both its ends, as GraphZero 0.2 stored undirected "
            f"graphs, found {found}; convert it without directed=False (--undirected) to keep its edges as they are"
        )


def _hash(low: NDArray[np.int64], high: NDArray[np.int64], weight: NDArray[np.float32] | None) -> NDArray[np.uint64]:
    code = low.astype(np.uint64) * _FACTORS[0]
    code = (code ^ (code >> np.uint64(32)) ^ high.astype(np.uint64)) * _FACTORS[1]
    if weight is not None:
        code = (code ^ (code >> np.uint64(29)) ^ weight.view(np.uint32)) * _FACTORS[2]
    code = (code ^ (code >> np.uint64(31))) * _FACTORS[0]
    mixed: NDArray[np.uint64] = code ^ (code >> np.uint64(33))
    return mixed

"""Edges of GAP ``.sg`` and ``.wsg`` files: lists of neighbours with 4-byte ids."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from graphzero._base.argument_errors import value_error
from graphzero._core import FormatError
from graphzero.convert.edge_sources.array_file import ArrayFile
from graphzero.convert.edge_sources.batch import EdgeBatch, checked_rows, edge_batch
from graphzero.convert.edge_sources.neighbor_lists import HalfOfLoops, expand, from_file

_GAP_HEADER = struct.Struct("<?qq")  # directed, stored edges, nodes: 17 bytes, so nothing after it is aligned
_GAP_WEIGHTED = np.dtype([("node", "<i4"), ("weight", "<i4")])


class GapSource:
    """A GAP ``.sg`` or ``.wsg`` file.

    An undirected one stores each edge in the lists of both ends. It comes once here, from its smaller
    end, and means both directions.
    """

    def __init__(self, path: str, *, weight: Any = None) -> None:
        self.name = path
        self._entry = _GAP_WEIGHTED if path.lower().endswith(".wsg") else np.dtype("<i4")
        self._with_weights = self._entry is _GAP_WEIGHTED and weight is not False
        if self._entry is not _GAP_WEIGHTED and weight not in (None, False):
            raise value_error("weight", "expected a .wsg file, which has weights, found a .sg file", where=path)
        with open(path, "rb") as file:
            header = file.read(_GAP_HEADER.size)
            size = os.fstat(file.fileno()).st_size
        if len(header) < _GAP_HEADER.size:
            raise FormatError(f"{path}: ends too early: expected a header of 17 bytes, found {len(header)}")
        if header[0] > 1:
            raise FormatError(f"{path}: byte 0: expected 0 or 1, for undirected or directed, found {header[0]}")
        directed, self._num_entries, self.num_nodes = _GAP_HEADER.unpack(header)
        lists = 8 * (self.num_nodes + 1) + self._entry.itemsize * self._num_entries
        expected = _GAP_HEADER.size + lists * (2 if directed else 1)
        if min(self.num_nodes, self._num_entries) < 0 or size != expected:
            raise FormatError(
                f"{path}: expected {expected} bytes for {self.num_nodes} nodes and {self._num_entries} edges, "
                f"found {size}"
            )
        self.undirected = not directed
        self.num_edges: int = self._num_entries // (1 if directed else 2)

    def batches(self, rows: int) -> Iterator[EdgeBatch]:
        """Read ``rows`` edges at a time, by source."""
        checked_rows(rows)
        offsets = ArrayFile(self.name, self.name, np.dtype("<i8"), (self.num_nodes + 1,), False, _GAP_HEADER.size)
        entries = ArrayFile(
            self.name, self.name, self._entry, (self._num_entries,), False, _GAP_HEADER.size + offsets.nbytes
        )
        loops = HalfOfLoops()
        with ExitStack() as stack:
            read = from_file(offsets, stack), from_file(entries, stack)
            for src, entry in expand(*read, self.num_nodes, self._num_entries, rows, self.name):
                dst = entry["node"] if self._entry is _GAP_WEIGHTED else entry
                weight = entry["weight"] if self._with_weights else None
                if self.undirected:
                    keep = (src < dst) | loops.keep(src, src == dst)
                    src, dst = src[keep], dst[keep]
                    weight = None if weight is None else weight[keep]
                if len(src):
                    yield edge_batch(src, dst, weight, None, self.name)

"""Lists of neighbours, stored as offsets and entries, turned into edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._core import FormatError
from graphzero.convert.edge_sources.array_file import ArrayFile, read_items

Read = Callable[[int], "NDArray[Any]"]


def expand(
    read_offsets: Read, read_entries: Read, num_lists: int, num_entries: int, rows: int, name: str
) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Yield ``(owner, entry)`` of all lists, at most ``rows`` at a time, holding few offsets at once."""
    start = int(read_offsets(1)[0])
    if start != 0:
        raise FormatError(f"{name}: offset 0: expected 0, found {start}")
    for first in range(0, num_lists, rows):
        ends = read_offsets(min(rows, num_lists - first)).astype(np.int64)
        offsets = np.concatenate(([start], ends))
        counts = np.diff(offsets)
        if (counts < 0).any():
            at = int(np.argmax(counts < 0))
            raise FormatError(
                f"{name}: offset {first + at + 1}: expected at least {offsets[at]}, found {offsets[at + 1]}"
            )
        if offsets[-1] > num_entries:
            raise FormatError(f"{name}: expected offsets up to {num_entries}, found {offsets[-1]}")
        for begin in range(start, int(offsets[-1]), rows):
            end = min(begin + rows, int(offsets[-1]))
            low, high = np.searchsorted(offsets, begin, "right") - 1, np.searchsorted(offsets, end, "left")
            inside = np.diff(np.clip(offsets[low : high + 1], begin, end))
            yield np.repeat(np.arange(first + low, first + high), inside), read_entries(end - begin)
        start = int(offsets[-1])
    if start != num_entries:
        raise FormatError(f"{name}: expected offsets up to {num_entries}, found {start}")


def from_array(array: NDArray[Any]) -> Read:
    """Read an array from its start, part by part."""
    place = 0

    def read(count: int) -> NDArray[Any]:
        nonlocal place
        place += count
        return array[place - count : place]

    return read


def from_file(array: ArrayFile, stack: ExitStack) -> Read:
    """Read an array of a file the same way; the file stays open as long as ``stack``."""
    file = stack.enter_context(array.open())
    return lambda count: read_items(file, count, array.dtype, array.name)


class HalfOfLoops:
    """Keeps every other self-loop of a node: an undirected graph lists each of them twice."""

    def __init__(self) -> None:
        self._node = -1
        self._seen = 0

    def keep(self, src: NDArray[np.int64], is_loop: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of the next entries, in the order of their lists, are loops to keep."""
        nodes = src[is_loop]
        if not nodes.size:
            return is_loop
        nth = np.arange(len(nodes)) - np.searchsorted(nodes, nodes, "left")
        nth += np.where(nodes == self._node, self._seen, 0)
        self._node, self._seen = int(nodes[-1]), int(nth[-1]) + 1
        kept: NDArray[np.bool_] = is_loop.copy()
        kept[is_loop] = nth % 2 == 0
        return kept

"""Graphs as GraphZero 0.2 stores them, for that rival. docs/formats/graphzero-0.2.md has the layout."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 64
_AT_ONCE = 1 << 20


def write_graphzero02(path: str, indptr: NDArray[Any], indices: NDArray[Any]) -> None:
    """Write an out index, a part at a time."""
    at_indices = -(-(64 + 8 * len(indptr)) // _ALIGNMENT) * _ALIGNMENT
    sizes = 8 * len(indptr), 8 * len(indices), 64, at_indices, len(indptr) - 1, len(indices), 0
    with open(path, "wb") as file:
        file.write(struct.pack("<8s7Q", b"graphlit", *sizes))
        file.write(np.asarray(indptr, np.int64).tobytes())
        file.seek(at_indices)
        for first in range(0, len(indices), _AT_ONCE):
            file.write(np.asarray(indices[first : first + _AT_ONCE], np.int64).tobytes())

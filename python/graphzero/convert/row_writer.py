"""Rows on their way into a ``.gd`` file, in order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.dtypes import DataType, numpy_dtype
from graphzero._files.folder import check_free_space
from graphzero._files.mounted import path_bytes


class RowWriter:
    """Writes rows one after the other. The file appears at ``finish()``, or not at all."""

    def __init__(
        self, path: str, stored: DataType, row_shape: tuple[int, ...], *, quantised: bool, num_rows: int
    ) -> None:
        self._row_bytes = numpy_dtype(stored).itemsize * math.prod(row_shape)
        check_free_space(path, num_rows * self._row_bytes)
        self._writer = _core.GdWriter(path_bytes(path), stored, [num_rows, *row_shape])
        if quantised:  # an array without rows has scales, too
            self._writer.append_scales(np.empty(0, np.float32))
        self.num_rows = 0

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(self, *error: object) -> None:
        del self._writer  # which removes what is not finished

    def append(self, rows: NDArray[Any], scales: NDArray[np.float32] | None) -> None:
        """Write the next rows, in their stored type."""
        self._writer.append(rows.reshape(-1).view(np.uint8))
        if scales is not None:
            self._writer.append_scales(scales)
        self.num_rows += len(rows)

    def append_from(self, path: str, offset: int, length: int) -> None:
        """Write the next rows straight from another file."""
        self._writer.append_from(path_bytes(path), offset, length)
        self.num_rows += length // max(1, self._row_bytes)

    def finish(self) -> None:
        """Put the file in place."""
        self._writer.set_num_rows(self.num_rows)
        self._writer.finish()

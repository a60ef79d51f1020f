"""Rows that stay on a device: those that batches need most."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.dtypes import as_data_type, numpy_dtype
from graphzero._core import FormatError
from graphzero._inputs.attributes import Attribute
from graphzero.features import FeatureStore
from graphzero.loaders._batch.tensors import as_tensor
from graphzero.pipeline import Pipeline

_BYTES_AT_ONCE = 64 << 20


def divide_room(total: int, attributes: list[Attribute], dtypes: dict[str, Any]) -> dict[Attribute, int]:
    """Divide a device's memory among attributes: small ones whole, the others in proportion to their size."""
    sizes = [one.store.shape[0] * row_bytes(one.store, dtypes.get(one.name)) for one in attributes]
    return dict(zip(attributes, _core.divide_room(total, sizes), strict=True))


def row_bytes(store: FeatureStore, dtype: Any) -> int:
    """Return the size of a row as it is handed out."""
    kind = store.data_type if dtype is None else as_data_type(dtype)
    return int(np.prod(store.shape[1:], dtype=np.int64)) * numpy_dtype(kind).itemsize


class DeviceRows:
    """The rows that a pipeline leaves to the device, by attribute."""

    def __init__(self, pipeline: Pipeline, device: torch.device, dtypes: dict[str, Any]) -> None:
        self._rows = {
            (one.of, one.name): _load(one.store, rows, device, dtypes.get(one.name))
            for one, rows in pipeline.rows_on_device().items()
        }

    @property
    def nbytes(self) -> int:
        """The bytes they take on the device."""
        return sum(rows.nbytes for rows in self._rows.values())

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(len(rows) for rows in self._rows.values())

    def join(self, of: Any, name: str, here: torch.Tensor, slots: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Return the rows of a batch: those that are on the device, and those that were sent."""
        return self._rows[of, name].index_select(0, slots).index_copy_(0, places, here)


def _load(store: FeatureStore, rows: NDArray[np.int64], device: torch.device, dtype: Any) -> torch.Tensor:
    ids = _ids_of(store, len(rows)) if store.reordered else rows
    at_once = max(1, _BYTES_AT_ONCE // max(1, row_bytes(store, dtype)))
    loaded: torch.Tensor | None = None
    for first in range(0, len(ids), at_once):
        part = as_tensor(store.gather(ids[first : first + at_once], dtype=dtype))
        if loaded is None:
            loaded = torch.empty((len(ids), *part.shape[1:]), dtype=part.dtype, device=device)
        loaded[first : first + len(part)] = part
    assert loaded is not None
    return loaded


def _ids_of(store: FeatureStore, count: int) -> NDArray[np.int64]:
    """Return whose rows the first ``count`` stored ones are."""
    row_map = store.row_map
    assert row_map is not None
    ids = np.full(count, -1, dtype=np.int64)
    at_once = 1 << 22
    for first in range(0, len(row_map), at_once):
        places = row_map[first : first + at_once]
        among = np.flatnonzero((places >= 0) & (places < count))
        ids[places[among]] = among + first
    if (ids < 0).any():
        place = int(np.argmax(ids < 0))
        raise FormatError(f"{store.path}: corrupt row_map: expected each place once, found none for place {place}")
    return ids

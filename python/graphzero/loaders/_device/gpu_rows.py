"""Rows that stay on a device: those that batches need most."""

from __future__ import annotations

import os
import weakref
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphzero import _core
from graphzero._core import FormatError
from graphzero._inputs.attributes import Attribute
from graphzero.features import FeatureStore
from graphzero.loaders._batch.tensors import as_tensor
from graphzero.pipeline import Pipeline

_BYTES_AT_ONCE = 64 << 20
# Of 8 bytes each: a file may have more rows than numbers of them fit in memory.
_IDS_AT_ONCE = 1 << 23

_SCALE_BYTES = 4


def divide_room(total: int, attributes: list[Attribute], with_scales: Collection[Attribute]) -> dict[Attribute, int]:
    """Divide a device's memory among attributes: small ones whole, the others in proportion to their size."""
    sizes = [all_bytes([one], with_scales) for one in attributes]
    return dict(zip(attributes, _core.divide_room(total, sizes), strict=True))


def all_bytes(attributes: list[Attribute], with_scales: Collection[Attribute]) -> int:
    """Return what all rows of some attributes would take on a device."""
    return sum(one.store.num_rows * _row_bytes(one, with_scales) for one in attributes)


def _row_bytes(attribute: Attribute, with_scales: Collection[Attribute]) -> int:
    return attribute.store.row_bytes + (_SCALE_BYTES if attribute in with_scales else 0)


class DeviceRows:
    """The rows that a pipeline leaves to the device, by attribute. Those of ``with_scales`` have theirs behind them.

    If these are all rows of a file, loaders of this process share them.
    """

    def __init__(self, pipeline: Pipeline, device: torch.device, with_scales: Collection[Attribute]) -> None:
        counts = pipeline._num_rows_on_device()
        keys = {one: _key(one, device, with_scales) for one, count in counts.items() if count == one.store.num_rows}
        shared = {one: tensor for one, key in keys.items() if (tensor := _whole.get(key)) is not None}
        # All memory first: reading takes longer than finding out that there is too little.
        own = {one: _empty(one, counts[one], device, one in with_scales) for one in counts.keys() - shared.keys()}
        for one, tensor in own.items():
            _fill(tensor, pipeline, one, one in with_scales)
        rows = {**shared, **own}
        _whole.update({key: rows[one] for one, key in keys.items()})
        self.device = device
        self._rows = {(one.of, one.name): tensor for one, tensor in rows.items()}
        _loaded.add(self)

    @property
    def nbytes(self) -> int:
        """The bytes they take on the device."""
        return sum(rows.nbytes for rows in self._rows.values())

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(len(rows) for rows in self._rows.values())

    def use_on(self, stream: Any) -> None:
        """Have their memory used again only after what a stream does with them."""
        for rows in self._rows.values():
            rows.record_stream(stream)

    def join(self, of: Any, name: str, here: torch.Tensor, slots: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Return the rows of a batch: those that are on the device, and those that were sent."""
        return self._rows[of, name].index_select(0, slots).index_copy_(0, places, here)


_loaded: weakref.WeakSet[DeviceRows] = weakref.WeakSet()
# All rows of a file, for every loader of this process that has room for them.
_whole: weakref.WeakValueDictionary[tuple[Any, ...], torch.Tensor] = weakref.WeakValueDictionary()


def bytes_of_rows(device: torch.device) -> int:
    """Return the bytes of rows that loaders of this process hold on a device, shared ones counted once."""
    tensors = [tensor for rows in tuple(_loaded) if rows.device == device for tensor in rows._rows.values()]
    return sum({tensor.data_ptr(): tensor.nbytes for tensor in tensors}.values())


def are_loaded(attributes: list[Attribute], device: torch.device, with_scales: Collection[Attribute]) -> bool:
    """Return whether loaders of this process hold all rows of all these attributes on a device."""
    return all(_key(one, device, with_scales) in _whole for one in attributes)


def _key(attribute: Attribute, device: torch.device, with_scales: Collection[Attribute]) -> tuple[Any, ...]:
    store = attribute.store
    return device, os.path.abspath(store.path), store.fingerprint, attribute in with_scales


def dequantised(rows: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Return the float32 values of int8 rows of ``shape`` that have their scales behind them, as the core has them."""
    scales = rows[:, -_SCALE_BYTES:].contiguous().view(torch.float32)
    values = rows[:, :-_SCALE_BYTES].to(torch.float32).mul_(scales)
    return values.view(len(rows), *shape)


def _stored(attribute: Attribute, ids: NDArray[np.int64], with_scales: bool) -> torch.Tensor:
    store = attribute.store
    rows = store.gather(ids)
    if with_scales:
        scales = store.scales_of(ids).view(np.int8).reshape(len(ids), _SCALE_BYTES)
        rows = np.concatenate([rows.reshape(len(ids), store.feature_dim), scales], axis=1)
    return as_tensor(rows)


def _empty(attribute: Attribute, count: int, device: torch.device, with_scales: bool) -> torch.Tensor:
    like = _stored(attribute, np.empty(0, dtype=np.int64), with_scales)
    return torch.empty((count, *like.shape[1:]), dtype=like.dtype, device=device)


def _fill(tensor: torch.Tensor, pipeline: Pipeline, attribute: Attribute, with_scales: bool) -> None:
    at_once = max(1, _BYTES_AT_ONCE // max(1, attribute.store.row_bytes))
    slot = 0
    for ids in _ids_on_device(pipeline, attribute, len(tensor)):
        for first in range(0, len(ids), at_once):
            part = _stored(attribute, ids[first : first + at_once], with_scales)
            tensor[slot : slot + len(part)] = part
            slot += len(part)


def _ids_on_device(pipeline: Pipeline, attribute: Attribute, count: int) -> Iterator[NDArray[np.int64]]:
    """Return whose rows the device has, in the order of its slots."""
    store = attribute.store
    last = count if store.reordered else store.num_rows  # of a reordered file the first ones
    for begin in range(0, last, _IDS_AT_ONCE):
        end = min(begin + _IDS_AT_ONCE, last)
        yield _ids_of(store, begin, end) if store.reordered else pipeline._rows_on_device(attribute, begin, end)


def _ids_of(store: FeatureStore, begin: int, end: int) -> NDArray[np.int64]:
    """Return whose rows those stored from ``begin`` to ``end`` are."""
    row_map = store.row_map
    assert row_map is not None
    ids = np.full(end - begin, -1, dtype=np.int64)
    at_once = 1 << 22
    for first in range(0, len(row_map), at_once):
        places = row_map[first : first + at_once]
        among = np.flatnonzero((places >= begin) & (places < end))
        ids[places[among] - begin] = among + first
    if (ids < 0).any():
        place = begin + int(np.argmax(ids < 0))
        raise FormatError(f"{store.path}: corrupt row_map: expected each place once, found none for place {place}")
    return ids

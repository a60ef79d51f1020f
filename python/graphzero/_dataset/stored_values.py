"""Tensors and values of a data set that have no row per node or edge, made when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphzero._base.lazy_imports import load
from graphzero._files.manifest_records import ValueRecord
from graphzero.features import FeatureStore


class StoredValues(Mapping[str, Any]):
    """Maps names to torch tensors, which are views of files, and to the plain values of a manifest."""

    def __init__(self, entries: Mapping[str, FeatureStore | ValueRecord]) -> None:
        self._entries = entries

    def __getitem__(self, name: str) -> Any:
        entry = self._entries[name]
        if isinstance(entry, FeatureStore):
            return entry.as_torch()
        if entry.dtype is None:
            return entry.value
        torch = load("torch")
        return torch.tensor(entry.value, dtype=getattr(torch, entry.dtype))

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def stores(self) -> Iterator[FeatureStore]:
        """Iterate over the mounted files."""
        return (entry for entry in self._entries.values() if isinstance(entry, FeatureStore))

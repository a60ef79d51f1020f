"""Rows that are fetched once a batch has been sampled: from files, or from wherever a user keeps them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch

from graphzero._base.dtypes import as_data_type, name_of
from graphzero._dataset.feature_share import FeatureShare
from graphzero.dataset import TypeName
from graphzero.features import FeatureStore
from graphzero.loaders._batch.late_tensor import made
from graphzero.loaders._batch.parts import Parts
from graphzero.loaders._batch.tensors import as_tensor
from graphzero.loaders._exchange.shared_rows import SharedRows

Key = tuple[TypeName, str]  # a node type or an edge type, and the name of an attribute of it
# A type, or None for the whole graph, and what a batch has under a name.
Shown: TypeAlias = "tuple[TypeName | None, str, Any]"


class RowSource(Protocol):
    """Has rows of attributes, by node id or edge id."""

    def __contains__(self, key: Key) -> bool: ...

    def fetch(self, asked: Sequence[tuple[Key, torch.Tensor]]) -> Sequence[Any]:
        """Return the rows of each attribute that have these ids."""
        ...


class FileRows:
    """Rows of feature files. Those that hosts divide come from ``shared``."""

    def __init__(self, stores: Mapping[Key, FeatureStore], dtypes: Mapping[str, Any]) -> None:
        self._stores = dict(stores)
        self._dtypes = dtypes
        self.shared: SharedRows | None = None

    def __contains__(self, key: Key) -> bool:
        return key in self._stores

    def fetch(self, asked: Sequence[tuple[Key, torch.Tensor]]) -> Sequence[Any]:
        """Read them."""
        divided = {
            (str(of), name): ids.numpy()
            for (of, name), ids in asked
            if isinstance(self._stores[of, name], FeatureShare)
        }
        found: Mapping[Any, Any] = {}
        if divided and self.shared is not None:
            found = self.shared.fetch(divided).finish() or {}
        return [
            as_tensor(found[key] if key in found else self._stores[key].gather(ids, dtype=self._dtypes.get(key[1])))
            for key, ids in asked
        ]


class MemoryRows:
    """Rows of tensors, arrays, or whatever takes a tensor of ids as an index; each with the dimension of its rows."""

    def __init__(self, values: Mapping[Key, tuple[Any, int]]) -> None:
        self._values = dict(values)

    def __contains__(self, key: Key) -> bool:
        return key in self._values

    def fetch(self, asked: Sequence[tuple[Key, torch.Tensor]]) -> Sequence[Any]:
        """Copy them, to the device where they are."""
        return [_rows_of(self._values[key], ids) for key, ids in asked]


def _rows_of(held: tuple[Any, int], ids: torch.Tensor) -> Any:
    values, dim = held
    if isinstance(values, torch.Tensor):
        return values.index_select(dim, ids.to(values.device))
    if isinstance(values, np.ndarray):
        return torch.from_numpy(np.take(values, ids.numpy(), axis=dim))
    if isinstance(values, (list, tuple)):
        return type(values)(values[place] for place in ids.tolist())
    return values[ids]


@dataclass(frozen=True)
class UnstoredValues:
    """What batches show that no file of the data has: rows of ``columns``, and values that have no rows.

    ``rows`` may have more than is shown. ``other`` are by type; those under ``None`` belong to the whole graph. Of node
    types that are ``counted`` batches say ``num_nodes``.
    """

    rows: RowSource = field(default_factory=lambda: MemoryRows({}))
    columns: Sequence[Key] = ()
    other: Mapping[TypeName | None, Mapping[str, Any]] = field(default_factory=dict)
    counted: Collection[str] = ()


class LateRows:
    """Fetches rows of some attributes for batches; of ``labels``, those of the seeds alone, under the name ``y``."""

    def __init__(self, rows: RowSource, columns: Sequence[Key], labels: Sequence[Key], dtype: Any) -> None:
        self._rows = rows
        self._columns = columns
        self._labels = labels
        self._dtype = dtype

    def of_batch(self, parts: Parts) -> list[Shown]:
        """Fetch the rows of a batch, all at once."""
        asked, places = [], []
        for of, name in self._columns:
            group, ids = (parts.edges[of], "e_id") if isinstance(of, tuple) else (parts.nodes[of], "n_id")
            if group.get(ids) is not None:
                asked.append(((of, name), made(group[ids])))
                places.append((of, name))
        for of, name in self._labels:
            group = parts.nodes[str(of)]
            asked.append(((of, name), group["n_id"][: group["num_sampled_nodes"][0]]))
            places.append((of, "y"))
        if not asked:
            return []
        return [
            (of, name, self._converted(name, rows))
            for (of, name), rows in zip(places, self._rows.fetch(asked), strict=True)
        ]

    def _converted(self, name: str, rows: Any) -> Any:
        wanted = self._dtype.get(name) if isinstance(self._dtype, Mapping) else self._dtype
        if wanted is None or wanted == "stored" or not isinstance(rows, torch.Tensor):
            return rows
        if not isinstance(self._dtype, Mapping) and not rows.is_floating_point():
            return rows
        return rows.to(getattr(torch, name_of(as_data_type(wanted))))

"""Rows of a batch that hosts divide: those that are here are read while the others are on their way."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._dataset.feature_share import FeatureShare, RowBuffer
from graphzero._inputs.attributes import Attribute, Attributes
from graphzero.features import Reader
from graphzero.loaders._exchange.service import Request, RowExchange, WantedRows
from graphzero.pipeline import Batch

Key = tuple[str, str]  # a node type, and the name of an attribute of it


class PendingRows:
    """Rows of some nodes, of which some are on their way."""

    def __init__(self, request: Request | None) -> None:
        self._request = request
        self._buffers: list[tuple[Key, RowBuffer, NDArray[np.int64], Any, bool]] = []

    def add(self, key: Key, into: RowBuffer, places: NDArray[np.int64], dtype: Any, with_scales: bool) -> None:
        """Say what becomes of a buffer."""
        self._buffers.append((key, into, places, dtype, with_scales))

    def finish(self, stopped: threading.Event | None = None) -> dict[Key, NDArray[Any]] | None:
        """Wait for all rows, and return them in the order of their nodes; ``None`` if the caller was ``stopped``."""
        if self._request is not None and not self._request.wait(stopped):
            return None
        return {
            key: into.placed(places, dtype, with_scales=with_scales)
            for key, into, places, dtype, with_scales in self._buffers
        }


class SharedRows:
    """Fetches rows of attributes that hosts divide. ``order`` are all attributes of a batch."""

    def __init__(
        self,
        attributes: Attributes,
        order: Attributes,
        exchange: RowExchange | None,
        all_shares: Mapping[str, FeatureShare],
        dtypes: Mapping[str, Any],
        with_scales: Collection[Attribute],
        reader: Reader,
    ) -> None:
        self._shares: dict[Key, FeatureShare] = {
            (str(one.of), one.name): one.store for one in attributes if isinstance(one.store, FeatureShare)
        }
        self._all_shares, self._all = all_shares, order
        self._numbers = {key: sorted(all_shares).index(share_name(*key)) for key in self._shares}
        self._order = [(str(one.of), one.name) for one in order if not isinstance(one.of, tuple)]
        self._exchange = exchange
        self._dtypes = dict(dtypes)
        self._with_scales = {(one.of, one.name) for one in with_scales}
        self._reader: Reader = reader

    @property
    def exchange(self) -> RowExchange | None:
        """What brings rows of other hosts; ``None`` if there are none."""
        return self._exchange

    def of_batches(
        self, attributes: Attributes, dtypes: Mapping[str, Any], with_scales: Collection[Attribute]
    ) -> SharedRows:
        """Return the same for some attributes, whose rows become others."""
        return SharedRows(attributes, self._all, self._exchange, self._all_shares, dtypes, with_scales, self._reader)

    def complete(self, batch: Batch) -> Batch:
        """Return a batch with its rows, and wait for them."""
        return self.joined(batch, self.begin(batch).finish() or {})

    def stats(self) -> dict[str, Any]:
        """Return what went over the wire, for all loaders of this process."""
        return {} if self._exchange is None else vars(self._exchange.counts).copy()

    def nbytes(self, batch: Batch) -> int:
        """Return the most memory that a batch takes with its rows, also while these are on their way."""
        held = [batch.sample.node, batch.sample.edge_index, batch.node_features, batch.edge_features]
        total = sum(map(_nbytes, held))
        for (of, name), share in self._shares.items():
            dtype = self._dtypes.get(name)
            copy, _ = share.row_copy(dtype, with_scales=(of, name) in self._with_scales)
            each = share.row_bytes + 4 * share.quantised + copy.out_bytes + 2 * 8
            total += len(_nodes(batch, of)) * each
        return total

    def begin(self, batch: Batch) -> PendingRows:
        """Ask for the rows of a batch, and read those that are here."""
        return self.fetch({key: _nodes(batch, key[0]) for key in self._shares})

    def fetch(self, ids: Mapping[Key, NDArray[np.int64]]) -> PendingRows:
        """The same for any nodes, by attribute."""
        wanted: list[WantedRows] = []
        found = []
        for key, nodes in ids.items():
            share = self._shares[key]
            counts, rows, places = share.split(nodes)
            into, begin = RowBuffer(share, len(nodes)), counts[0]
            for host, count in enumerate(counts[1:]):
                if host != share.record.host:
                    part = rows[begin : begin + count]
                    wanted.append(WantedRows(self._numbers[key], host, part, into, begin))
                begin += count
            found.append((key, into, counts, rows, places))
        request = None if self._exchange is None else self._exchange.ask(wanted)
        pending = PendingRows(request)
        for key, into, counts, rows, places in found:
            share = self._shares[key]
            share.read(rows[: counts[0]], into, 0, hot=True, reader=self._reader)
            begin = sum(counts[: 1 + share.record.host])
            end = begin + counts[1 + share.record.host]
            share.read(rows[begin:end], into, begin, hot=False, reader=self._reader)
            pending.add(key, into, places, self._dtypes.get(key[1]), key in self._with_scales)
        return pending

    def joined(self, batch: Batch, rows: Mapping[Key, NDArray[Any]]) -> Batch:
        """Return a batch with these rows, its attributes in the order of the data set."""
        is_hetero = isinstance(batch.sample.node, dict)
        features: dict[Any, Any] = {}
        for of, name in self._order:
            of_type = batch.node_features.get(of, {}) if is_hetero else batch.node_features
            values = rows[of, name] if (of, name) in rows else of_type[name]
            (features.setdefault(of, {}) if is_hetero else features)[name] = values
        return replace(batch, node_features=features)


def share_name(of: str, name: str) -> str:
    """Return how messages call an attribute."""
    return f"{name} of {of!r}"


def _nodes(batch: Batch, of: str) -> NDArray[np.int64]:
    nodes = batch.sample.node
    found: NDArray[np.int64] = nodes[of] if isinstance(nodes, dict) else nodes
    return np.ascontiguousarray(found, dtype=np.int64)


def _nbytes(value: Any) -> int:
    return sum(map(_nbytes, value.values())) if isinstance(value, dict) else int(getattr(value, "nbytes", 0))

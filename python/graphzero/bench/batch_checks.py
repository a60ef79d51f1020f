"""Whether rows are those of their nodes, and batches those of their seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphzero as gz


def wrong_rows(features: str, ids: Any, rows: Any) -> str | None:
    """Return what is wrong with gathered rows, or nothing: each has to be its id's, from end to end."""
    with gz.FeatureStore(features) as store:
        expected = store.gather(ids, reader="mmap", dtype="float32" if store.dtype != str(rows.dtype) else None)
    if expected.shape != rows.shape:
        return f"rows of {rows.shape}, expected {expected.shape}"
    return None if np.array_equal(rows, expected) else "rows of other nodes"


def wrong_batch(graph: str, features: str, batch: dict[str, Any], inputs: Any) -> str | None:
    """Return what is wrong with a batch, or nothing: its seeds, its edges, its rows."""
    node, row, col = (batch[name] for name in ("node", "row", "col"))
    seeds = node[: int(batch["seeds"])]
    if len(seeds) == 0 or not np.isin(seeds, inputs).all() or len(np.unique(node)) != len(node):
        return "nodes are not the seeds and then others, each once"
    with gz.Graph(graph) as opened:
        if len(row) == 0 or not opened.has_edges(node[row], node[col]).all():
            return "an edge that is none"
    return wrong_rows(features, node, batch["x"])

"""The edges of an ``adj_t``: a sparse tensor of torch or torch-sparse whose rows are destinations."""

from __future__ import annotations

from typing import Any


def edges_of_adj_t(adj_t: Any, name: str) -> tuple[Any, Any, Any]:
    """Return sources, destinations and values, in the order they are stored; ``None`` for values that are all 1.

    torch's sparse tensors always have values, which are 1 where there were none.
    """
    if callable(getattr(adj_t, "coo", None)):  # torch-sparse
        dst, src, values = adj_t.coo()
        return src, dst, values
    layout = str(getattr(adj_t, "layout", ""))
    if "sparse" not in layout:
        raise TypeError(f"{name}: expected a sparse tensor, found {type(adj_t).__name__}")
    coo = adj_t.coalesce() if layout == "torch.sparse_coo" else adj_t.to_sparse_coo().coalesce()
    dst, src = coo.indices()[:2]
    values = coo.values()
    return src, dst, None if bool((values == 1).all()) else values

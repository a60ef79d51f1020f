"""Which edges between sampled nodes belong to a sample, in the words of PyG."""

from __future__ import annotations

from typing import Any

from graphzero._base.argument_errors import value_error
from graphzero.loaders._process.notes import warn


def subgraph_type_of(given: Any, directed: Any) -> Any:
    """Return the name of a ``SubgraphType``; ``directed=False`` is what PyG called ``"induced"`` before."""
    kind = getattr(given, "value", given)
    if directed:
        return kind
    if kind not in ("directional", "induced"):
        raise value_error("directed", f"expected True with subgraph_type={kind!r}, found False, which is 'induced'")
    warn("directed=False is deprecated: use subgraph_type='induced'", DeprecationWarning)
    return "induced"

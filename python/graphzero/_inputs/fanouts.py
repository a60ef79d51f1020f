"""How many neighbours to draw at each hop, of all edge types or by edge type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphzero._base.integers import integer
from graphzero._inputs.edge_types import Relations, by_edge_type, edge_type_of
from graphzero.dataset import EdgeTriple

Fanouts = Sequence[int]


def hops_by_type(relations: Relations, fanouts: Any) -> tuple[int, dict[EdgeTriple, list[int]]]:
    """Return the number of hops, and the fanouts of every edge type."""
    if not isinstance(fanouts, Mapping):
        hops = _hops(fanouts, "fanouts")
        return len(hops), dict.fromkeys(relations.graphs, hops)
    per_type = {triple: _hops(hops, "fanouts") for triple, hops in by_edge_type(fanouts, relations, "fanouts").items()}
    missing = [triple for triple in relations.graphs if triple not in per_type]
    if missing:
        raise ValueError(f"fanouts: expected a list for every edge type, found none for {missing[0]}")
    return len(per_type[relations.edge_type]) if per_type else 0, per_type


def fanouts_of(num_neighbors: Any, relations: Relations) -> dict[EdgeTriple, list[int]] | list[int]:
    """Return the numbers per hop of every edge type, or a list where there is none.

    ``num_neighbors`` is a list for all edge types, a dict by edge type, or PyG's ``NumNeighbors``, which has a
    default for those not named.
    """
    values, default = num_neighbors, None
    if hasattr(num_neighbors, "default") and hasattr(num_neighbors, "get_values"):
        values, default = num_neighbors.values, num_neighbors.default
    if not isinstance(values, Mapping):
        values, default = {}, _hops(values, "num_neighbors")
    elif not relations.is_hetero:
        raise TypeError("num_neighbors: expected a list for a homogeneous graph, found a dict")
    named = {
        edge_type_of(key, relations, "num_neighbors"): _hops(hops, "num_neighbors") for key, hops in values.items()
    }
    if not relations.graphs:
        return _hops(default or (), "num_neighbors")
    missing = [triple for triple in relations.graphs if triple not in named]
    if missing and default is None:
        raise ValueError(f"num_neighbors: expected numbers for every edge type, found none for {missing[0]}")
    fanouts = {
        triple: named[triple] if triple in named else _hops(default, "num_neighbors") for triple in relations.graphs
    }
    first = next(iter(fanouts))
    for triple, hops in fanouts.items():
        if len(hops) != len(fanouts[first]):
            raise ValueError(
                f"num_neighbors: expected {len(fanouts[first])} hops for every edge type, as for {first}, found "
                f"{len(hops)} for {triple}"
            )
    return fanouts


def _hops(given: Any, name: str) -> list[int]:
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise TypeError(f"{name}: expected a number for each hop, such as [10, 5], found {given!r}")
    hops = [min(integer(hop, name), 2**62) for hop in given]
    if min(hops, default=0) < -1:
        raise ValueError(f"{name}: expected -1 for all neighbours, or a number, found {min(hops)}")
    return hops

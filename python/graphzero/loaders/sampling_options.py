"""How much to sample and by which weights, in the words of PyG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphzero.dataset import EdgeTriple
from graphzero.integers import integer
from graphzero.relations import Relations


def fanouts_of(num_neighbors: Any, relations: Relations) -> dict[EdgeTriple, list[int]]:
    """Return the numbers per hop of every edge type.

    ``num_neighbors`` is a list for all edge types, a dict by edge type, or PyG's ``NumNeighbors``, which has a
    default for those not named.
    """
    values, default = num_neighbors, None
    if hasattr(num_neighbors, "default") and hasattr(num_neighbors, "get_values"):
        values, default = num_neighbors.values, num_neighbors.default
    if not isinstance(values, Mapping):
        values, default = {}, values
    elif not relations.is_hetero:
        raise TypeError("num_neighbors: expected a list for a homogeneous graph, found a dict")
    named = {edge_type_of(key, relations, "num_neighbors"): _hops(hops) for key, hops in values.items()}
    missing = [triple for triple in relations.graphs if triple not in named]
    if missing and default is None:
        raise ValueError(f"num_neighbors: expected numbers for every edge type, found none for {missing[0]}")
    fanouts = {triple: named[triple] if triple in named else _hops(default) for triple in relations.graphs}
    first = next(iter(fanouts))
    for triple, hops in fanouts.items():
        if len(hops) != len(fanouts[first]):
            raise ValueError(
                f"num_neighbors: expected {len(fanouts[first])} hops for every edge type, as for {first}, found "
                f"{len(hops)} for {triple}"
            )
    return fanouts


def _hops(given: Any) -> list[int]:
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise TypeError(f"num_neighbors: expected a number for each hop, such as [10, 5], found {given!r}")
    hops = [integer(hop, "num_neighbors") for hop in given]
    if min(hops, default=0) < -1:
        raise ValueError(f"num_neighbors: expected -1 for all neighbours, or a number, found {min(hops)}")
    return hops


def edge_type_of(key: Any, relations: Relations, name: str) -> EdgeTriple:
    """Read an edge type as PyG writes it: a triple, ``"a__to__b"``, or ``("a", "b")``.

    Such a pair is the relation ``to``, or else the only one there is. ``name`` opens the error message.
    """
    parts = tuple(key.split("__")) if isinstance(key, str) else tuple(key)
    types = list(relations.graphs)
    exact = (parts[0], "to", parts[1]) if len(parts) == 2 else parts
    close = [triple for triple in types if triple == exact]
    close = close or [triple for triple in types if (triple[0], triple[2]) == parts]
    if len(close) != 1:
        raise ValueError(f"{name}: no edge type {parts}; there are {types}")
    return close[0]


def check_weights(weight_attr: Any, relations: Relations) -> bool:
    """Return whether to draw by weight; the graphs hold them, whatever ``weight_attr`` calls them."""
    if weight_attr is None:
        return False
    for graph in relations.graphs.values():
        if not graph.has_weights:
            raise ValueError(
                f"weight_attr: {weight_attr!r} stands for the weights stored with the edges, and {graph.path} has "
                "none; write the graph with weight="
            )
    return True

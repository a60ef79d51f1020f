"""How many neighbours to sample, in the words of PyG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphzero.arrays import integer
from graphzero.dataset import EdgeTriple
from graphzero.relations import Relations


def fanouts_of(num_neighbors: Any, relations: Relations) -> dict[EdgeTriple, list[int]]:
    """Return the numbers per hop of every edge type.

    ``num_neighbors`` is a list for all edge types, a dict by edge type, whose keys may be written
    ``"user__buys__item"``, or PyG's ``NumNeighbors``, which has a default for those not named.
    """
    values, default = num_neighbors, None
    if hasattr(num_neighbors, "default") and hasattr(num_neighbors, "get_values"):
        values, default = num_neighbors.values, num_neighbors.default
    if not isinstance(values, Mapping):
        values, default = {}, values
    triples = list(relations.graphs)
    by_name = {_name(key): hops for key, hops in values.items()}
    unknown = set(by_name) - {_name(triple) for triple in triples}
    if unknown:
        raise ValueError(f"num_neighbors: no edge type {min(unknown)!r}; there are {triples}")
    fanouts = {triple: _hops(by_name.get(_name(triple), default), triple) for triple in triples}
    expected = len(fanouts[triples[0]])
    for triple, hops in fanouts.items():
        if len(hops) != expected:
            raise ValueError(
                f"num_neighbors: expected {expected} hops for every edge type, found {len(hops)} for {triple}"
            )
    return fanouts


def _name(key: Any) -> str:
    """Write an edge type as PyG does, for which a pair of node types is the relation ``to``."""
    parts = key.split("__") if isinstance(key, str) else list(key)
    return "__".join([parts[0], "to", parts[1]] if len(parts) == 2 else parts)


def _hops(given: Any, triple: EdgeTriple) -> list[int]:
    if given is None:
        raise ValueError(f"num_neighbors: expected numbers for every edge type, found none for {triple}")
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise TypeError(f"num_neighbors: expected a list with a number per hop, found {given!r}")
    hops = [integer(hop, "num_neighbors") for hop in given]
    if min(hops, default=0) < -1:
        raise ValueError(f"num_neighbors: expected -1 for all neighbours, or a number, found {min(hops)}")
    return hops

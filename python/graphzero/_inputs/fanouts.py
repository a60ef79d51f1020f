"""How many neighbours to draw at each hop, of all edge types or by edge type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.integers import integer
from graphzero._inputs.edge_types import Relations, edge_type_of
from graphzero.dataset import EdgeTriple

FanoutsLike = Sequence[int] | Mapping[EdgeTriple, Sequence[int]]


@dataclass(frozen=True)
class Fanouts:
    """The numbers of neighbours, hop by hop, of every edge type; of none where there are no edges."""

    num_hops: int
    by_type: Mapping[EdgeTriple, list[int]]


def read_fanouts(given: Any, relations: Relations, name: str) -> Fanouts:
    """Read a list for all edge types, a dict by edge type, or PyG's ``NumNeighbors``, which has a default.

    ``name`` opens the error messages.
    """
    values, default = given, None
    if hasattr(given, "default") and hasattr(given, "get_values"):
        values, default = given.values, given.default
    if not isinstance(values, Mapping):
        values, default = {}, _hops(values, name)
    elif default is not None:
        default = _hops(default, name)
    named = {edge_type_of(key, relations, name): _hops(hops, name) for key, hops in values.items()}
    missing = [triple for triple in relations.graphs if triple not in named]
    if missing and default is None:
        raise value_error(name, f"expected numbers for every edge type, found none for {missing[0]}")
    others = [] if default is None else default
    by_type = {triple: named.get(triple, others) for triple in relations.graphs}
    first = next(iter(by_type), None)
    num_hops = len(others if first is None else by_type[first])
    for triple, hops in by_type.items():
        if len(hops) != num_hops:
            raise value_error(
                name, f"expected {num_hops} hops for every edge type, as for {first}, found {len(hops)} for {triple}"
            )
    return Fanouts(num_hops, by_type)


def read_num_neighbors(given: Any, relations: Relations) -> Fanouts:
    """Read PyG's ``num_neighbors``, which has no types where the graph has none."""
    values = given.values if hasattr(given, "get_values") else given
    if isinstance(values, Mapping) and not relations.is_hetero:
        raise type_error("num_neighbors", "expected a list for a homogeneous graph, found a dict")
    return read_fanouts(given, relations, "num_neighbors")


def _hops(given: Any, name: str) -> list[int]:
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise type_error(name, f"expected a number for each hop, such as [10, 5], found {given!r}")
    hops = [min(integer(hop, name), 2**62) for hop in given]
    if min(hops, default=0) < -1:
        raise value_error(name, f"expected -1 for all neighbours, or a number, found {min(hops)}")
    return hops

"""How much to sample, and by which weights and times of edges, in the words of PyG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from graphzero.dataset import EDGE, Dataset, EdgeTriple
from graphzero.integers import integer
from graphzero.loaders.graph_data import GraphData
from graphzero.relations import Relations

Stored = Literal["weight", "time"]


def fanouts_of(num_neighbors: Any, relations: Relations) -> dict[EdgeTriple, list[int]] | list[int]:
    """Return the numbers per hop of every edge type, or a list where there is none.

    ``num_neighbors`` is a list for all edge types, a dict by edge type, or PyG's ``NumNeighbors``, which has a
    default for those not named.
    """
    values, default = num_neighbors, None
    if hasattr(num_neighbors, "default") and hasattr(num_neighbors, "get_values"):
        values, default = num_neighbors.values, num_neighbors.default
    if not isinstance(values, Mapping):
        values, default = {}, _hops(values)
    elif not relations.is_hetero:
        raise TypeError("num_neighbors: expected a list for a homogeneous graph, found a dict")
    named = {edge_type_of(key, relations, "num_neighbors"): _hops(hops) for key, hops in values.items()}
    if not relations.graphs:
        return _hops(default or ())
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
    exact = (parts[0], EDGE[1], parts[1]) if len(parts) == 2 else parts
    close = [triple for triple in types if triple == exact]
    close = close or [triple for triple in types if (triple[0], triple[2]) == parts]
    if len(close) != 1:
        raise ValueError(f"{name}: no edge type {parts}; there are {types}")
    return close[0]


def link_type_of(key: Any, relations: Relations, name: str) -> EdgeTriple:
    """Read the type of links, which may be any between two node types; else as :func:`edge_type_of`."""
    parts, kinds = tuple(key), relations.node_types
    if len(parts) == 2 and not any((triple[0], triple[2]) == parts for triple in relations.graphs):
        parts = (parts[0], EDGE[1], parts[1])
    if len(parts) == 3 and parts[0] in kinds and parts[2] in kinds:
        return (parts[0], parts[1], parts[2])
    return edge_type_of(key, relations, name)


def weighted_types(weight_attr: Any, data: GraphData) -> list[EdgeTriple]:
    """Return the edge types to draw from by weight: those whose stored weights ``weight_attr`` stands for."""
    if weight_attr is None:
        return []
    found = types_that_store(data, "weight", weight_attr)
    if data.relations.graphs and not found:
        triple, graph = next(iter(data.relations.graphs.items()))
        made_of = stored_name(data, triple, "weight")
        raise ValueError(
            f"weight_attr: {weight_attr!r} stands for the weights stored with the edges, and {graph.path} has "
            f"{'none' if made_of is None else f'those of {made_of!r}'}; write the graph with weight="
        )
    return found


def types_that_store(data: GraphData, what: Stored, attr: str) -> list[EdgeTriple]:
    """Return the edge types whose graphs store ``attr`` as their weights or times.

    Where it is not known what these were made of, any name stands for them. As in PyG, types without the attribute
    are none of these; one that has it, but does not store it, is refused, because nothing would tell.
    """
    found = []
    for triple, graph in data.relations.graphs.items():
        is_stored = graph.has_weights if what == "weight" else graph.has_times
        made_of = stored_name(data, triple, what)
        if is_stored and made_of in (None, attr):
            found.append(triple)
        elif isinstance(data.graph, Dataset):
            kind = data.graph.edges[triple]
            if attr in kind.attributes or attr in kind.in_memory:
                raise ValueError(
                    f"{what}_attr: edges of {triple} have an attribute {attr!r}, but of {what}s their graph stores "
                    f"{f'those of {made_of!r}' if is_stored else 'none'} ({graph.path}); convert the data with "
                    f"{what}={attr!r}"
                )
    return found


def stored_name(data: GraphData, triple: EdgeTriple, what: Stored) -> str | None:
    """Return the attribute that the weights or times of an edge type were made of, if that is known."""
    if not isinstance(data.graph, Dataset):
        return None
    kind = data.graph.edges[triple]
    return kind.weight if what == "weight" else kind.time

"""The weights and times of edges that ``weight_attr`` and ``time_attr`` stand for."""

from __future__ import annotations

from typing import Any, Literal

from graphzero._base.argument_errors import value_error
from graphzero.dataset import Dataset, EdgeTriple
from graphzero.loaders._data.graph_data import GraphData

Stored = Literal["weight", "time"]


def weighted_types(weight_attr: Any, data: GraphData) -> list[EdgeTriple]:
    """Return the edge types to draw from by weight: those whose stored weights ``weight_attr`` stands for."""
    if weight_attr is None:
        return []
    found = types_that_store(data, "weight", weight_attr)
    if data.relations.graphs and not found:
        triple, graph = next(iter(data.relations.graphs.items()))
        made_of = stored_name(data, triple, "weight")
        raise value_error(
            "weight_attr",
            f"{weight_attr!r} stands for the weights stored with the edges, and {graph.path} has "
            f"{'none' if made_of is None else f'those of {made_of!r}'}; write the graph with weight=",
        )
    return found


def types_that_store(data: GraphData, what: Stored, attr: str) -> list[EdgeTriple]:
    """Return the edge types whose graphs store ``attr`` as their weights or times.

    Where it is not known what these were made of, any name stands for them. As in PyG, types without the attribute
    are none of these; one that has it, but does not store it, is refused, because that would go unnoticed.
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

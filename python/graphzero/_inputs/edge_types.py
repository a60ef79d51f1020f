"""What a sampler is given to sample from: one graph, several by edge type, or a data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphzero._base.argument_errors import type_error, value_error
from graphzero.dataset import EDGE, NODE, Dataset, EdgeTriple, EdgeType
from graphzero.graph import Graph


@dataclass(frozen=True)
class Relations:
    """Graphs by edge type, of which there may be none, and the number of nodes of each type."""

    graphs: Mapping[EdgeTriple, Graph]
    num_nodes: Mapping[str, int]
    is_hetero: bool

    @property
    def edge_type(self) -> EdgeTriple:
        """The edge type of a homogeneous graph; the name that edges would have if there are none."""
        node_type = next(iter(self.num_nodes))
        return next(iter(self.graphs), (node_type, EDGE[1], node_type))

    @property
    def node_types(self) -> list[str]:
        """The names of the kinds of node, in the order of the graphs that name them."""
        return list(self.num_nodes)

    def reverse_of(self, triple: EdgeTriple) -> EdgeTriple | None:
        """Return the edge type that holds the reverses of another's edges, by PyG's rules."""
        source, relation, destination = triple
        name = relation.removeprefix("rev_") if relation.startswith("rev_") else f"rev_{relation}"
        if (destination, name, source) in self.graphs:
            return (destination, name, source)
        if source == destination:
            return triple
        candidates = [other for other in self.graphs if (other[0], other[2]) == (destination, source)]
        return candidates[0] if len(candidates) == 1 else None


def as_relations(graph: Any) -> Relations:
    """Read a user's ``graph`` argument."""
    if isinstance(graph, Graph):
        if not graph.bipartite:
            return Relations({EDGE: graph}, {NODE: graph.num_nodes}, is_hetero=False)
        raise ValueError(
            f"{graph.path}: is bipartite; name its two types of node: {{('user', 'buys', 'item'): graph}}, not graph"
        )
    if isinstance(graph, Dataset):
        graphs = {triple: kind.graph for triple, kind in graph.edges.items()}
        counts = {name: kind.num_nodes for name, kind in graph.nodes.items()}
        if not counts:
            raise ValueError(f"{graph.path}: expected at least one node type to sample from, found none")
        return Relations(graphs, counts, is_hetero=graph.is_hetero)
    if isinstance(graph, Mapping):
        return _named(graph)
    raise type_error("graph", f"expected a Graph, a Dataset or a mapping of edge types to Graphs, found {graph!r}")


def _named(graphs: Mapping[Any, Any]) -> Relations:
    counts: dict[str, int] = {}
    read: dict[EdgeTriple, Graph] = {}
    for key, graph in graphs.items():
        triple = as_triple(key)
        if isinstance(graph, EdgeType):
            graph = graph.graph
        if not isinstance(graph, Graph):
            raise TypeError(f"graph[{triple!r}]: expected a Graph, found {graph!r}")
        read[triple] = graph
        for name, found in ((triple[0], graph.num_src_nodes), (triple[2], graph.num_dst_nodes)):
            if counts.setdefault(name, found) != found:
                raise ValueError(
                    f"{graph.path}: node type {name!r} of {triple}: expected {counts[name]} nodes, as in the graphs "
                    f"before it, found {found}; write the graph with num_nodes="
                )
    if not read:
        raise value_error("graph", "expected at least one edge type, found none")
    return Relations(read, counts, is_hetero=True)


def as_triple(key: Any) -> EdgeTriple:
    """Read an edge type's name."""
    if isinstance(key, (tuple, list)) and len(key) == 3 and all(isinstance(part, str) for part in key):
        return (key[0], key[1], key[2])
    raise _no_triple(key)


def _no_triple(key: Any) -> TypeError:
    return TypeError(f"edge type: expected (source, relation, destination), found {key!r}")


def edge_type_of(key: Any, relations: Relations, name: str) -> EdgeTriple:
    """Read an edge type as PyG writes it: a triple, ``"a__to__b"``, or ``("a", "b")``.

    Such a pair is the relation ``to``, or else the only one there is. ``name`` opens the error message.
    """
    parts = key.split("__") if isinstance(key, str) else key
    if not isinstance(parts, (tuple, list)) or len(parts) not in (2, 3):
        raise _no_triple(key)
    types = list(relations.graphs)
    parts = tuple(parts)
    exact = (parts[0], EDGE[1], parts[1]) if len(parts) == 2 else parts
    close = [triple for triple in types if triple == exact]
    close = close or [triple for triple in types if (triple[0], triple[2]) == parts]
    if len(close) != 1:
        raise value_error(name, f"no edge type {parts}; there are {types}")
    return close[0]


def link_type_of(key: Any, relations: Relations, name: str) -> EdgeTriple:
    """Read the type of links, which may be any between two node types; else as ``edge_type_of()``."""
    parts, kinds = tuple(key), relations.node_types
    if len(parts) == 2 and not any((triple[0], triple[2]) == parts for triple in relations.graphs):
        parts = (parts[0], EDGE[1], parts[1])
    if len(parts) == 3 and parts[0] in kinds and parts[2] in kinds:
        return (parts[0], parts[1], parts[2])
    if len(parts) == 3:
        types = list(relations.graphs)
        raise value_error(name, f"no edge type {tuple(key)}; there are {types}, and the node types {kinds}")
    return edge_type_of(key, relations, name)


def by_edge_type(values: Mapping[Any, Any], relations: Relations, name: str) -> dict[EdgeTriple, Any]:
    """Return what a user gave by edge type, under names that the graph has. ``name`` opens the error message."""
    read = {as_triple(key): value for key, value in values.items()}
    unknown = [key for key in read if key not in relations.graphs]
    if unknown:
        raise value_error(name, f"no edge type {unknown[0]}; there are {list(relations.graphs)}")
    return read

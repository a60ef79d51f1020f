"""How to sample: from which graphs, how many neighbours, by which weights and times."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from graphzero import _core
from graphzero._base.argument_errors import check_choice, value_error
from graphzero._base.arrays import IntArray
from graphzero._base.integers import integer
from graphzero._inputs.edge_types import Relations, by_edge_type
from graphzero._inputs.fanouts import Fanouts
from graphzero._inputs.seeds import read_node_times
from graphzero.dataset import EdgeTriple
from graphzero.graph import Direction, as_direction

SubgraphType = Literal["directional", "bidirectional", "induced"]
TemporalStrategy = Literal["uniform", "last"]
Method = Literal["neighbor", "labor"]
Pairs = tuple[IntArray, IntArray, IntArray | None]  # sources, destinations, edge ids

_SUBGRAPHS = {
    "directional": _core.Subgraph.DIRECTIONAL,
    "bidirectional": _core.Subgraph.BIDIRECTIONAL,
    "induced": _core.Subgraph.INDUCED,
}


@dataclass
class SampleRequest:
    """What samplers, pipelines and loaders are asked for, without the seeds: read and checked when it is made.

    ``temporal`` is whether seeds have times. ``weighted`` and ``edge_time`` become the edge types that are drawn from
    by weight, and whose edges' times count; ``node_time`` becomes the times by node type.
    """

    relations: Relations
    fanouts: Fanouts
    direction: Direction = "in"
    replace: bool = False
    weighted: Any = False
    disjoint: bool = False
    temporal: bool = False
    node_time: Any = None
    edge_time: Any = None
    temporal_strategy: TemporalStrategy = "uniform"
    time_window: int | None = None
    subgraph_type: SubgraphType = "directional"
    exclude_reverse: bool = False
    method: Method = "neighbor"
    layer_dependency: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.node_time is not None and not self.temporal:
            raise value_error(
                "node_time", "expected seed_time with it: node times are compared with those of the seeds"
            )
        check_choice(self.temporal_strategy, "temporal_strategy", "uniform", "last")
        if self.subgraph_type not in _SUBGRAPHS:
            raise value_error("subgraph_type", f"expected one of {list(_SUBGRAPHS)}, found {self.subgraph_type!r}")
        check_choice(self.method, "method", "neighbor", "labor")
        self.disjoint = bool(self.disjoint) or self.temporal
        if self.time_window is not None:
            self.time_window = min(integer(self.time_window, "time_window"), 2**63 - 1)
        as_direction(self.direction)
        self.node_time = read_node_times(self.node_time, self.relations)
        self.weighted = self._weighted_types(self.weighted)
        self.edge_time = self._timed_types(self.edge_time)

    def _weighted_types(self, given: Any) -> Collection[EdgeTriple]:
        if isinstance(given, Collection):
            return self._known_types(given, "weighted")
        if not given:
            return ()
        having = [triple for triple, graph in self.relations.graphs.items() if graph.has_weights]
        return having or list(self.relations.graphs)  # the core says what is missing

    def _timed_types(self, given: Any) -> Collection[EdgeTriple]:
        if given is not None:
            return self._known_types(given, "edge_time")
        if not self.temporal:
            return ()
        having = [triple for triple, graph in self.relations.graphs.items() if graph.has_times]
        far = 0 if self.direction == "in" else 2
        if having or any(triple[far] in self.node_time for triple in self.relations.graphs):
            return having
        return list(self.relations.graphs)  # the core says what is missing

    def _known_types(self, given: Collection[Any], name: str) -> list[EdgeTriple]:
        return list(by_edge_type(dict.fromkeys(given), self.relations, name))

    def with_seed(self, seed: int) -> SampleRequest:
        """Return the same request, drawn by another seed."""
        other = copy(self)
        other.seed = seed
        return other

    def core_options(self) -> _core.NeighborOptions:
        """Return the options as the core takes them."""
        options = _core.NeighborOptions()
        options.num_hops = self.fanouts.num_hops
        options.direction = as_direction(self.direction)
        options.replace = bool(self.replace)
        options.disjoint = self.disjoint
        options.temporal = self.temporal
        options.last = self.temporal_strategy == "last"
        options.time_window = self.time_window
        options.subgraph = _SUBGRAPHS[self.subgraph_type]
        options.exclude_reverse = bool(self.exclude_reverse)
        options.labor = self.method == "labor"
        options.layer_dependency = bool(self.layer_dependency)
        options.seed = self.seed
        return options

    def core_types(self) -> list[_core.NodeType]:
        """Return what the core needs of each node type."""
        return [_core.NodeType(count, self.node_time.get(name)) for name, count in self.relations.num_nodes.items()]

    def core_relations(self, excluded: Mapping[EdgeTriple, Pairs] = MappingProxyType({})) -> list[_core.Relation]:
        """Return what the core needs of each graph. ``excluded`` are edges not to sample."""
        types = {name: i for i, name in enumerate(self.relations.node_types)}
        numbers = {triple: i for i, triple in enumerate(self.relations.graphs)}
        result = []
        for triple, graph in self.relations.graphs.items():
            reverse = self.relations.reverse_of(triple)
            result.append(
                _core.Relation(
                    graph._core,
                    types[triple[0]],
                    types[triple[2]],
                    self.fanouts.by_type[triple],
                    triple in self.weighted,
                    triple in self.edge_time,
                    None if reverse is None else numbers[reverse],
                    *excluded.get(triple, ()),
                )
            )
        return result

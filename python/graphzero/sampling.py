"""Neighbour sampling: the neighbourhood of some seeds, in the shape PyG's samplers return."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from graphzero import _core
from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.arrays import IntArray, int64_vector, plain, time_vector
from graphzero._base.integers import as_seed, integer
from graphzero._base.late import late, late_field, made_state
from graphzero._inputs.edge_types import Relations, as_relations, by_edge_type
from graphzero._inputs.fanouts import FanoutsLike, read_fanouts
from graphzero._inputs.sample_request import Method, Pairs, SampleRequest, SubgraphType, TemporalStrategy
from graphzero._inputs.seeds import by_node_type
from graphzero.dataset import Dataset, EdgeTriple
from graphzero.graph import Direction, Graph


@late_field("edge")
@dataclass(frozen=True)
class Neighborhood:
    """A sampled neighbourhood. Edge ``i`` leads from ``node[row[i]]`` to ``node[col[i]]``.

    Attributes:
        node: Global ids: the seeds as given, then new nodes hop by hop in order of discovery, each once.
        row: The source of each edge, as a position in ``node``. Edges are grouped by hop.
        col: The destination of each edge, as a position in ``node``.
        edge: The edge id of each edge. If the file stores them, they are read when this is first asked for.
        batch: Which seed's tree each node belongs to; ``None`` unless the sample is disjoint.
        num_sampled_nodes: The number of seeds, then of new nodes per hop.
        num_sampled_edges: The number of edges per hop; ``None`` if the sample is not directional.
    """

    node: IntArray
    row: IntArray
    col: IntArray
    edge: IntArray
    batch: IntArray | None
    num_sampled_nodes: list[int]
    num_sampled_edges: list[int] | None
    _ends: IntArray | None = field(default=None, compare=False)  # row and col as they are stored, if that is one array

    @property
    def edge_index(self) -> IntArray:
        """``row`` and ``col`` as one ``(2, n)`` array, as PyG's models take it."""
        return np.stack([self.row, self.col]) if self._ends is None else self._ends

    def __getstate__(self) -> dict[str, Any]:
        return made_state(self)

    def __repr__(self) -> str:
        return f"Neighborhood({len(self.node):,} nodes, {len(self.row):,} edges, hops {self.num_sampled_nodes})"


@late_field("edge")
@dataclass(frozen=True)
class HeteroNeighborhood:
    """A sampled neighbourhood by type: the fields of [`Neighborhood`][graphzero.Neighborhood].

    Attributes:
        node: Global ids by node type.
        row: The sources of edges by edge type, as positions in the ``node`` of their type.
        col: The destinations of edges by edge type, as positions in the ``node`` of their type.
        edge: Edge ids by edge type, read when they are first asked for.
        batch: The seed's tree of each node by node type; ``None`` unless the sample is disjoint.
        num_sampled_nodes: The number of seeds, then of new nodes per hop, by node type.
        num_sampled_edges: The number of edges per hop by edge type; ``None`` if the sample is not directional.
    """

    node: dict[str, IntArray]
    row: dict[EdgeTriple, IntArray]
    col: dict[EdgeTriple, IntArray]
    edge: dict[EdgeTriple, IntArray]
    batch: dict[str, IntArray] | None
    num_sampled_nodes: dict[str, list[int]]
    num_sampled_edges: dict[EdgeTriple, list[int]] | None
    _ends: dict[EdgeTriple, IntArray | None] = field(default_factory=dict, compare=False)

    @property
    def edge_index(self) -> dict[EdgeTriple, IntArray]:
        """``row`` and ``col`` by edge type as one ``(2, n)`` array each, as PyG's models take it."""
        joined = {triple: self._ends.get(triple) for triple in self.row}
        return {
            triple: np.stack([self.row[triple], self.col[triple]]) if ends is None else ends
            for triple, ends in joined.items()
        }

    def __getstate__(self) -> dict[str, Any]:
        return made_state(self)

    def __repr__(self) -> str:
        nodes = ", ".join(f"{name} {len(ids):,}" for name, ids in self.node.items())
        return f"HeteroNeighborhood({nodes}; {sum(map(len, self.row.values())):,} edges)"


Ids = TypeVar("Ids")
PairsLike = tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike]


@overload
def sample_neighbors(
    graph: Graph,
    seeds: ArrayLike,
    fanouts: Sequence[int],
    *,
    direction: Direction = ...,
    replace: bool = ...,
    weighted: bool | Collection[EdgeTriple] = ...,
    disjoint: bool = ...,
    seed_time: ArrayLike | None = ...,
    node_time: ArrayLike | None = ...,
    edge_time: Collection[EdgeTriple] | None = ...,
    temporal_strategy: TemporalStrategy = ...,
    time_window: int | None = ...,
    subgraph_type: SubgraphType = ...,
    exclude: PairsLike | None = ...,
    exclude_reverse: bool = ...,
    method: Method = ...,
    layer_dependency: bool = ...,
    seed: int | None = ...,
    epoch: int = ...,
    batch: int = ...,
) -> Neighborhood: ...


@overload
def sample_neighbors(
    graph: Mapping[EdgeTriple, Graph] | Dataset,
    seeds: Any,
    fanouts: FanoutsLike,
    *,
    direction: Direction = ...,
    replace: bool = ...,
    weighted: bool | Collection[EdgeTriple] = ...,
    disjoint: bool = ...,
    seed_time: Any = ...,
    node_time: Any = ...,
    edge_time: Collection[EdgeTriple] | None = ...,
    temporal_strategy: TemporalStrategy = ...,
    time_window: int | None = ...,
    subgraph_type: SubgraphType = ...,
    exclude: Any = ...,
    exclude_reverse: bool = ...,
    method: Method = ...,
    layer_dependency: bool = ...,
    seed: int | None = ...,
    epoch: int = ...,
    batch: int = ...,
) -> Any: ...


def sample_neighbors(
    graph: Any,
    seeds: Any,
    fanouts: Any,
    *,
    direction: Direction = "in",
    replace: bool = False,
    weighted: bool | Collection[EdgeTriple] = False,
    disjoint: bool = False,
    seed_time: Any = None,
    node_time: Any = None,
    edge_time: Collection[EdgeTriple] | None = None,
    temporal_strategy: TemporalStrategy = "uniform",
    time_window: int | None = None,
    subgraph_type: SubgraphType = "directional",
    exclude: Any = None,
    exclude_reverse: bool = False,
    method: Method = "neighbor",
    layer_dependency: bool = False,
    seed: int | None = None,
    epoch: int = 0,
    batch: int = 0,
) -> Neighborhood | HeteroNeighborhood:
    """Sample the neighbourhood of ``seeds``.

    Args:
        graph: A [`Graph`][graphzero.Graph]; for heterogeneous samples a data set, or a mapping of edge types to graphs.
        seeds: Node ids; with several types, a dict by node type. So are ``seed_time`` and ``node_time``.
        fanouts: Neighbours to draw per node at each hop, the first next to the seeds; -1 keeps all. With several types
            also a dict by edge type.
        direction: ``"in"`` follows edges backwards, from a node to those that send it messages, ``"out"`` forwards.
            Edges always run from ``row`` to ``col``.
        replace: Draw with replacement.
        weighted: Draw in proportion to the stored edge weights; edges of weight 0 are never drawn. Graphs without
            weights draw uniformly, but one must have some. A list of edge types says which draw by weight.
        disjoint: Give every seed a tree of its own, told apart by ``batch``.
        seed_time: One time per seed: only edges up to that time are in the seed's tree. Makes the sample disjoint.
            Graphs without times are not limited, but one must have some.
        node_time: Times of all nodes, compared with the seed's instead of the times of edges.
        edge_time: The edge types whose own times count. Default: all that have times.
        temporal_strategy: ``"last"`` takes the newest neighbours instead of random ones, where there are times.
        time_window: Leave out what is older than ``seed_time - time_window``.
        subgraph_type: ``"bidirectional"`` adds the reverse of each sampled edge, ``"induced"`` returns every edge
            between sampled nodes. The reverses of ``(a, "r", b)`` are of ``(b, "rev_r", a)``, else of the only edge
            type from ``b`` to ``a``; they have edge ids of their own, and must exist.
        exclude: Edges not to sample, as ``(src, dst)`` or ``(src, dst, edge_id)`` arrays; with several types, a dict by
            edge type.
        exclude_reverse: Also exclude the edges from ``dst`` to ``src``: all of them, or in an undirected graph the one
            with the same edge id.
        method: ``"labor"`` lets nodes that share neighbours pick the same ones, so that a batch needs fewer feature
            rows.
        layer_dependency: Let ``"labor"`` do so across hops, too.
        seed: The same seed gives the same sample for any number of threads, on any machine. Without one every call
            differs.
        epoch: Together with ``batch`` the number of the sample among those of one ``seed``.
        batch: See ``epoch``.

    Returns:
        A [`Neighborhood`][graphzero.Neighborhood], or a [`HeteroNeighborhood`][graphzero.HeteroNeighborhood] of several
        types.

    Raises:
        IndexError: A seed is not a node of the graph.
        ValueError: The graph lacks the index, weights or times that an option needs.

    Examples:
        >>> g = Graph(tiny_gl)                                  # 0→1  0→2  1→2  3→0
        >>> hood = sample_neighbors(g, [2], [-1, -1])
        >>> hood.node, hood.row, hood.col
        (array([2, 0, 1, 3]), array([1, 2, 3, 1]), array([0, 0, 1, 2]))
        >>> hood.num_sampled_nodes, hood.num_sampled_edges
        ([1, 2, 1], [2, 2])
    """
    relations = as_relations(graph)
    request = SampleRequest(
        relations,
        read_fanouts(fanouts, relations, "fanouts"),
        direction=direction,
        replace=replace,
        weighted=weighted,
        disjoint=disjoint,
        temporal=seed_time is not None,
        node_time=node_time,
        edge_time=edge_time,
        temporal_strategy=temporal_strategy,
        time_window=time_window,
        subgraph_type=subgraph_type,
        exclude_reverse=exclude_reverse,
        method=method,
        layer_dependency=layer_dependency,
        seed=as_seed(seed),
    )
    if seeds is None:
        raise type_error("seeds", "expected node ids, found None")
    return sample(
        request,
        by_node_type(seeds, relations, "seeds"),
        by_node_type(seed_time, relations, "seed_time"),
        _excluded(relations, exclude),
        as_seed(integer(epoch, "epoch"), "epoch"),
        as_seed(integer(batch, "batch"), "batch"),
    )


def sample(
    request: SampleRequest,
    seeds: Mapping[str, Any],
    seed_time: Mapping[str, Any],
    exclude: Mapping[EdgeTriple, Any] | None = None,
    epoch: int = 0,
    batch: int = 0,
) -> Neighborhood | HeteroNeighborhood:
    """Sample what was asked for around seeds, which are given by node type."""
    relations, options = request.relations, request.core_options()
    options.epoch, options.batch = epoch, batch
    given = []
    for number, name in enumerate(relations.node_types):
        ids = int64_vector(seeds.get(name, ()), f"seeds[{name!r}]" if relations.is_hetero else "seeds")
        times = time_vector(seed_time[name], "seed_time") if name in seed_time else None
        given.append(_core.NodeSeeds(number, ids, times))
    excluded = {triple: _pairs(pairs) for triple, pairs in (exclude or {}).items()}
    graphs = request.core_relations(excluded)
    return named(request, *_core.sample_neighbors(request.core_types(), given, graphs, options))


def named(
    request: SampleRequest, nodes: list[_core.SampledNodes], edges: list[_core.SampledEdges]
) -> Neighborhood | HeteroNeighborhood:
    """Put what the core sampled under its names."""
    grouped = request.subgraph_type == "directional"
    if not request.relations.is_hetero:
        return _homogeneous(request, nodes[0], edges, grouped)
    by_node = dict(zip(request.relations.node_types, nodes, strict=True))
    by_edge = dict(zip(request.relations.graphs, edges, strict=True))
    return HeteroNeighborhood(
        node={name: plain(of.ids) for name, of in by_node.items()},
        row={triple: plain(of.src) for triple, of in by_edge.items()},
        col={triple: plain(of.dst) for triple, of in by_edge.items()},
        edge=_late_ids(lambda: {triple: plain(of.ids) for triple, of in by_edge.items()}, edges),
        batch={name: plain(of.trees) for name, of in by_node.items() if of.trees is not None} or None,
        num_sampled_nodes={name: of.per_hop for name, of in by_node.items()},
        num_sampled_edges={triple: of.per_hop for triple, of in by_edge.items()} if grouped else None,
        _ends={triple: None if of.ends is None else plain(of.ends) for triple, of in by_edge.items()},
    )


def _homogeneous(
    request: SampleRequest, nodes: _core.SampledNodes, edges: list[_core.SampledEdges], grouped: bool
) -> Neighborhood:
    none = np.empty(0, np.int64)
    found = edges[0] if edges else None  # a graph without edges has no relation
    per_hop = [0] * request.fanouts.num_hops if found is None else found.per_hop
    return Neighborhood(
        node=plain(nodes.ids),
        row=none if found is None else plain(found.src),
        col=none if found is None else plain(found.dst),
        edge=none if found is None else _late_ids(lambda: plain(found.ids), edges),
        batch=None if nodes.trees is None else plain(nodes.trees),
        num_sampled_nodes=nodes.per_hop,
        num_sampled_edges=per_hop if grouped else None,
        _ends=None if found is None or found.ends is None else plain(found.ends),
    )


def _late_ids(read: Callable[[], Ids], edges: list[_core.SampledEdges]) -> Ids:
    """Return edge ids: now, unless that takes reading."""
    return read() if all(of.has_read_ids for of in edges) else late(read)


def _excluded(relations: Relations, exclude: Any) -> dict[EdgeTriple, Any]:
    """Return what is not to be sampled of each edge type."""
    if exclude is None:
        return {}
    if not relations.is_hetero:
        return {relations.edge_type: exclude}
    if not isinstance(exclude, Mapping):
        raise type_error("exclude", f"expected a dict by edge type, found {type(exclude).__name__}")
    return by_edge_type(exclude, relations, "exclude")


def _pairs(exclude: Any) -> Pairs:
    if isinstance(exclude, Mapping) or not hasattr(exclude, "__len__"):
        raise type_error("exclude", f"expected (src, dst) or (src, dst, edge_id), found {exclude!r}")
    if len(exclude) not in (2, 3):
        raise value_error("exclude", f"expected (src, dst) or (src, dst, edge_id), found {len(exclude)} arrays")
    names = ("exclude sources", "exclude destinations", "exclude edge ids")
    arrays = [int64_vector(values, name) for values, name in zip(exclude, names, strict=False)]
    return arrays[0], arrays[1], arrays[2] if len(arrays) == 3 else None

"""metapath2vec embeddings on our walks, a drop-in for ``torch_geometric.nn.MetaPath2Vec``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import torch
from torch import Tensor

from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.integers import integer_from
from graphzero._dataset.temporary_graphs import TemporaryGraphs, ends_of
from graphzero._inputs.edge_types import as_relations, as_triple
from graphzero.convert.edge_sources.in_memory import is_pyg
from graphzero.dataset import Dataset, EdgeTriple, EdgeType
from graphzero.graph import Graph
from graphzero.loaders._embedding.skip_gram import SkipGram, as_context_size, as_ids, cut_windows, one_graph
from graphzero.walks import GraphsByType, as_metapath, random_walk

if TYPE_CHECKING:
    from torch_geometric.data import HeteroData


class MetaPath2Vec(SkipGram):
    """Learns an embedding of each node of the types on a metapath (Dong, Chawla, Swami: metapath2vec, KDD 2017).

    A drop-in for ``torch_geometric.nn.MetaPath2Vec``. Walks come from the mounted files; the table of embeddings is in
    memory. Its types follow each other by name: the nodes of ``t`` are the rows ``start[t]`` to ``end[t]``. One more
    row, ``dummy_idx``, stands for steps after a dead end.

    Args:
        graph: A data set, a mapping of ``(source, relation, destination)`` to [`Graph`][graphzero.Graph], or PyG's
            ``edge_index_dict`` or ``HeteroData``, of which temporary files are written that last as long as the model.
        embedding_dim: The size of an embedding.
        metapath: The edge types that a walk follows, over and over if it ends where it began.
        walk_length: The number of steps of a walk.
        context_size: The number of nodes of a window of a walk; the first is trained against the others.
        walks_per_node: The number of walks from each node of a batch.
        num_negative_samples: The number of random windows for each window of a walk.
        num_nodes_dict: The number of nodes of each type, for an ``edge_index_dict`` whose last nodes have no edges.
        sparse: Make gradients sparse, as ``torch.optim.SparseAdam`` takes them.
        edge_index_dict: PyG's name for ``graph``.
        seed: The same seed gives the same samples. Without one torch's default generator decides.
    """

    @overload
    def __init__(
        self,
        graph: Dataset | GraphsByType | Mapping[EdgeTriple, Tensor] | HeteroData,
        embedding_dim: int,
        metapath: Sequence[EdgeTriple],
        walk_length: int,
        context_size: int,
        walks_per_node: int = 1,
        num_negative_samples: int = 1,
        num_nodes_dict: Mapping[str, int] | None = None,
        sparse: bool = False,
        *,
        seed: int | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        *,
        edge_index_dict: Dataset | GraphsByType | Mapping[EdgeTriple, Tensor] | HeteroData,
        embedding_dim: int,
        metapath: Sequence[EdgeTriple],
        walk_length: int,
        context_size: int,
        walks_per_node: int = 1,
        num_negative_samples: int = 1,
        num_nodes_dict: Mapping[str, int] | None = None,
        sparse: bool = False,
        seed: int | None = None,
    ) -> None: ...

    def __init__(
        self,
        graph: Any = None,
        embedding_dim: Any = None,
        metapath: Any = (),
        walk_length: Any = None,
        context_size: Any = None,
        walks_per_node: int = 1,
        num_negative_samples: int = 1,
        num_nodes_dict: Mapping[str, int] | None = None,
        sparse: bool = False,
        *,
        edge_index_dict: Any = None,
        seed: int | None = None,
    ) -> None:
        steps = integer_from(walk_length, 1, "walk_length")
        size = as_context_size(context_size, steps + 1)
        repeats = integer_from(walks_per_node, 1, "walks_per_node")
        negatives = integer_from(num_negative_samples, 1, "num_negative_samples")
        graph, num_nodes_dict = _plain(one_graph(graph, edge_index_dict, "edge_index_dict"), num_nodes_dict)
        path = as_metapath(metapath, _edge_types(graph), steps)
        files, graphs, counts = _mounted(graph, path, num_nodes_dict)
        random_walk(graphs, [], steps, metapath=path)  # a wrong graph is an error now
        types = [path[0][0], *(path[step % len(path)][2] for step in range(steps))]
        start, end = _rows_of({name for kind in path for name in (kind[0], kind[2])}, counts)
        num_rows = max(end.values())
        windows = _MetaPathWindows(
            {kind: graphs[kind] for kind in path},
            files,
            path,
            torch.tensor([start[name] for name in types]),
            [counts[name] for name in types],
            num_rows,
            size,
            repeats,
            negatives,
        )
        super().__init__(windows, counts[path[0][0]], num_rows + 1, embedding_dim, sparse, seed)
        self.metapath = path
        self.walk_length = steps
        self.context_size = size
        self.walks_per_node = repeats
        self.num_negative_samples = negatives
        self.num_nodes_dict = counts
        self.start = start
        self.end = end
        self.offset = windows.offset
        self.dummy_idx = num_rows

    def forward(self, node_type: str, batch: Tensor | None = None) -> Tensor:
        """Return the embeddings of some nodes of one type.

        Args:
            node_type: A type on the metapath.
            batch: Node ids. Default: all nodes of the type.

        Raises:
            ValueError: The type is not on the metapath.
        """
        if node_type not in self.start:
            raise value_error("node_type", f"expected one on the metapath, {list(self.start)}, found {node_type!r}")
        weight = self.embedding.weight[self.start[node_type] : self.end[node_type]]
        return weight if batch is None else weight.index_select(0, batch)

    def _pos_sample(self, batch: Tensor) -> Tensor:
        return self._windows.positive(as_ids(batch), self._seeds.draw())

    def _neg_sample(self, batch: Tensor) -> Tensor:
        return self._windows.negative(as_ids(batch), self._seeds.draw())

    def _sample(self, batch: Tensor | list[int]) -> tuple[Tensor, Tensor]:
        ids = as_ids(batch)
        return self._pos_sample(ids), self._neg_sample(ids)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dummy_idx}, {self.embedding_dim})"


@dataclass(frozen=True)
class _MetaPathWindows:
    graphs: Mapping[EdgeTriple, Graph]
    files: TemporaryGraphs | None  # kept for as long as a model or a loader walks on them
    metapath: Sequence[EdgeTriple]
    offset: Tensor  # of each column: the row of its type's first node
    counts: Sequence[int]  # of each column: the number of nodes of its type
    dummy: int
    context_size: int
    walks_per_node: int
    num_negative_samples: int

    def positive(self, starts: Tensor, seed: int) -> Tensor:
        first = starts.repeat(self.walks_per_node)
        found = random_walk(self.graphs, first, len(self.counts) - 1, metapath=self.metapath, seed=seed)
        walks = torch.from_numpy(found)
        rows = torch.where(walks < 0, self.dummy, walks + self.offset)
        return cut_windows(rows.to(starts.device), self.context_size)

    def negative(self, starts: Tensor, seed: int) -> Tensor:
        first = starts.repeat(self.walks_per_node * self.num_negative_samples)
        generator = torch.Generator().manual_seed(seed)
        others = [torch.randint(count, (len(first),), generator=generator) for count in self.counts[1:]]
        rows = torch.stack([first.cpu(), *others], dim=1) + self.offset
        return cut_windows(rows.to(starts.device), self.context_size)


def _rows_of(types: set[str], counts: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the first row of each type, and the row behind its last, in the order of names."""
    start: dict[str, int] = {}
    end: dict[str, int] = {}
    row = 0
    for name in sorted(types):
        if counts[name] == 0:
            raise value_error("graph", f"expected at least one node of type {name!r}, found none")
        start[name] = row
        row += counts[name]
        end[name] = row
    return start, end


def _plain(graph: Any, num_nodes: Mapping[str, int] | None) -> tuple[Any, Mapping[str, int] | None]:
    """Return what a ``HeteroData`` holds: its ``edge_index_dict`` and its numbers of nodes; all else as it is."""
    if isinstance(graph, Dataset) or not is_pyg(graph) or not hasattr(graph, "edge_types"):
        return graph, num_nodes
    there = {name: graph[name].num_nodes for name in graph.node_types} if num_nodes is None else num_nodes
    return graph.edge_index_dict, there


def _edge_types(graph: Any) -> list[EdgeTriple]:
    if not isinstance(graph, (Dataset, Mapping)):
        raise type_error(
            "graph",
            "expected a Dataset, a mapping of edge types to Graphs, an edge_index_dict or PyG's HeteroData, "
            f"found {None if graph is None else type(graph).__name__}",
        )
    edge_types = [as_triple(kind) for kind in (graph.edges if isinstance(graph, Dataset) else graph)]
    if not edge_types:
        raise value_error("graph", "expected at least one edge type, found none")
    return edge_types


def _mounted(
    graph: Any, path: Sequence[EdgeTriple], num_nodes: Mapping[str, int] | None
) -> tuple[TemporaryGraphs | None, Mapping[EdgeTriple, Graph], dict[str, int]]:
    """Return the graphs by edge type and the number of nodes by type, and the owner of the files if they are ours."""
    if isinstance(graph, Mapping) and not any(isinstance(found, (Graph, EdgeType)) for found in graph.values()):
        return _written(graph, path, num_nodes)
    relations = as_relations(graph)
    for name, count in (num_nodes or {}).items():
        if relations.num_nodes.get(name, count) != count:
            raise ValueError(
                f"num_nodes_dict[{name!r}]: expected {relations.num_nodes[name]}, as many as the graphs have, found "
                f"{count}; leave it out, or write the graphs with num_nodes="
            )
    return None, relations.graphs, dict(relations.num_nodes)


def _written(
    edges: Mapping[EdgeTriple, Any], path: Sequence[EdgeTriple], num_nodes: Mapping[str, int] | None
) -> tuple[TemporaryGraphs, Mapping[EdgeTriple, Graph], dict[str, int]]:
    ends = {as_triple(kind): ends_of(found, f"edge_index_dict[{kind!r}]") for kind, found in edges.items()}
    there: dict[str, int] = {}
    for (source, _, destination), sides in ends.items():
        for name, nodes in zip((source, destination), sides, strict=True):
            there[name] = max(there.get(name, 0), int(nodes.max()) + 1 if len(nodes) else 0)
    counts = dict(there) if num_nodes is None else dict(num_nodes)
    for name, least in there.items():
        if counts.setdefault(name, least) < least:
            raise ValueError(
                f"num_nodes_dict[{name!r}]: expected at least {least}, because there is a node {least - 1}, "
                f"found {counts[name]}"
            )
    files = TemporaryGraphs()
    graphs = {}
    for kind in path:
        if kind not in graphs:
            graphs[kind] = files.write(edges[kind], (counts[kind[0]], counts[kind[2]]))
    return files, graphs, counts

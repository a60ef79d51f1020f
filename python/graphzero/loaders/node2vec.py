"""node2vec embeddings on our walks, a drop-in for ``torch_geometric.nn.Node2Vec``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import torch
from torch import Tensor

from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.integers import integer_from
from graphzero._dataset.temporary_graphs import TemporaryGraphs, ends_of
from graphzero.convert.edge_sources.in_memory import is_pyg
from graphzero.dataset import Dataset
from graphzero.graph import Graph
from graphzero.loaders._embedding.skip_gram import SkipGram, as_context_size, as_ids, cut_windows, one_graph
from graphzero.walks import random_walk

if TYPE_CHECKING:
    from torch_geometric.data import Data


class Node2Vec(SkipGram):
    """Learns an embedding of each node (Grover, Leskovec: node2vec, KDD 2016).

    A drop-in for ``torch_geometric.nn.Node2Vec`` that needs neither PyG nor its extensions. Walks come from the mounted
    file; the table of embeddings is in memory.

    Args:
        graph: A [`Graph`][graphzero.Graph], a data set with one, or PyG's ``edge_index`` or ``Data``, of which a
            temporary file is written that lasts as long as the model.
        embedding_dim: The size of an embedding.
        walk_length: The number of nodes of a walk, its start included.
        context_size: The number of nodes of a window of a walk; the first is trained against the others.
        walks_per_node: The number of walks from each node of a batch.
        p: As in [`random_walk`][graphzero.random_walk].
        q: As in [`random_walk`][graphzero.random_walk].
        num_negative_samples: The number of random windows for each window of a walk.
        num_nodes: The number of nodes, for an ``edge_index`` whose last nodes have no edges.
        sparse: Make gradients sparse, as ``torch.optim.SparseAdam`` takes them.
        edge_index: PyG's name for ``graph``.
        seed: The same seed gives the same samples. Without one torch's default generator decides.

    Examples:
        >>> from graphzero import Graph
        >>> model = Node2Vec(Graph(tiny_gl), embedding_dim=8, walk_length=4, context_size=3, seed=0)
        >>> model
        Node2Vec(4, 8)
        >>> for pos_rw, neg_rw in model.loader(batch_size=2):
        ...     print(tuple(pos_rw.shape), tuple(neg_rw.shape), model.loss(pos_rw, neg_rw).shape)
        (4, 3) (4, 3) torch.Size([])
        (4, 3) (4, 3) torch.Size([])
    """

    @overload
    def __init__(
        self,
        graph: Graph | Dataset | Tensor | Data,
        embedding_dim: int,
        walk_length: int,
        context_size: int,
        walks_per_node: int = 1,
        p: float = 1.0,
        q: float = 1.0,
        num_negative_samples: int = 1,
        num_nodes: int | None = None,
        sparse: bool = False,
        *,
        seed: int | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        *,
        edge_index: Graph | Dataset | Tensor | Data,
        embedding_dim: int,
        walk_length: int,
        context_size: int,
        walks_per_node: int = 1,
        p: float = 1.0,
        q: float = 1.0,
        num_negative_samples: int = 1,
        num_nodes: int | None = None,
        sparse: bool = False,
        seed: int | None = None,
    ) -> None: ...

    def __init__(
        self,
        graph: Any = None,
        embedding_dim: Any = None,
        walk_length: Any = None,
        context_size: Any = None,
        walks_per_node: int = 1,
        p: float = 1.0,
        q: float = 1.0,
        num_negative_samples: int = 1,
        num_nodes: int | None = None,
        sparse: bool = False,
        *,
        edge_index: Any = None,
        seed: int | None = None,
    ) -> None:
        steps = integer_from(walk_length, 2, "walk_length") - 1
        size = as_context_size(context_size, steps + 1)
        repeats = integer_from(walks_per_node, 1, "walks_per_node")
        negatives = integer_from(num_negative_samples, 1, "num_negative_samples")
        files, mounted = _mounted(one_graph(graph, edge_index, "edge_index"), num_nodes)
        if mounted.num_nodes == 0:
            raise value_error("graph", f"expected at least one node, found none in {mounted.path}")
        windows = _Node2VecWindows(mounted, files, steps, size, repeats, p, q, negatives)
        windows.positive(torch.empty(0, dtype=torch.int64), 0)  # a wrong p, q or graph is an error now
        super().__init__(windows, mounted.num_nodes, mounted.num_nodes, embedding_dim, sparse, seed)
        self.num_nodes = mounted.num_nodes
        self.walk_length = steps  # as PyG keeps it
        self.context_size = size
        self.walks_per_node = repeats
        self.p = p
        self.q = q
        self.num_negative_samples = negatives

    def forward(self, batch: Tensor | None = None) -> Tensor:
        """Return the embeddings of some nodes.

        Args:
            batch: Node ids. Default: all nodes.
        """
        weight = self.embedding.weight
        return weight if batch is None else weight[batch]

    def pos_sample(self, batch: Tensor) -> Tensor:
        """Return windows of walks, one per row.

        Args:
            batch: Ids of start nodes.
        """
        return self._windows.positive(as_ids(batch), self._seeds.draw())

    def neg_sample(self, batch: Tensor) -> Tensor:
        """Return windows that begin at given nodes and go on at random ones, one per row.

        Args:
            batch: Ids of start nodes.
        """
        return self._windows.negative(as_ids(batch), self._seeds.draw())

    def sample(self, batch: Tensor | list[int]) -> tuple[Tensor, Tensor]:
        """Return ``pos_sample()`` and ``neg_sample()`` of a batch.

        Args:
            batch: Ids of start nodes.
        """
        ids = as_ids(batch)
        return self.pos_sample(ids), self.neg_sample(ids)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_nodes}, {self.embedding_dim})"


@dataclass(frozen=True)
class _Node2VecWindows:
    graph: Graph
    files: TemporaryGraphs | None  # kept for as long as a model or a loader walks on them
    num_steps: int
    context_size: int
    walks_per_node: int
    p: float
    q: float
    num_negative_samples: int

    def positive(self, starts: Tensor, seed: int) -> Tensor:
        walks = random_walk(
            self.graph, starts.repeat(self.walks_per_node), self.num_steps, p=self.p, q=self.q, seed=seed
        )
        return cut_windows(torch.from_numpy(walks).to(starts.device), self.context_size)

    def negative(self, starts: Tensor, seed: int) -> Tensor:
        first = starts.repeat(self.walks_per_node * self.num_negative_samples)
        others = torch.randint(
            self.graph.num_nodes, (len(first), self.num_steps), generator=torch.Generator().manual_seed(seed)
        )
        return cut_windows(torch.cat([first[:, None], others.to(starts.device)], dim=1), self.context_size)


def _mounted(graph: Any, num_nodes: Any) -> tuple[TemporaryGraphs | None, Graph]:
    """Return the graph, and the owner of its file if it is ours."""
    if isinstance(graph, (Graph, Dataset)):
        mounted = graph.graph if isinstance(graph, Dataset) else graph
        if num_nodes is not None and num_nodes != mounted.num_nodes:
            raise value_error(
                "num_nodes",
                f"expected {mounted.num_nodes}, as many as {mounted.path} has, found {num_nodes}; leave it "
                "out, or write the graph with num_nodes=",
            )
        return None, mounted
    if is_pyg(graph) and not hasattr(graph, "edge_types"):
        return _written(graph.edge_index, graph.num_nodes if num_nodes is None else num_nodes)
    if not hasattr(graph, "shape"):
        raise type_error(
            "graph",
            "expected a Graph, a Dataset, an edge_index or PyG's Data, found "
            f"{None if graph is None else type(graph).__name__}",
        )
    return _written(graph, num_nodes)


def _written(edge_index: Any, num_nodes: Any) -> tuple[TemporaryGraphs, Graph]:
    src, dst = ends_of(edge_index, "edge_index")
    there = int(max(src.max(), dst.max())) + 1 if len(src) else 0
    if num_nodes is None and hasattr(edge_index, "sparse_size"):  # PyG's EdgeIndex may know more nodes than have edges
        num_nodes = max((size for size in edge_index.sparse_size() if size is not None), default=None)
    count = there if num_nodes is None else integer_from(num_nodes, 1, "num_nodes")
    if count < there:
        raise value_error("num_nodes", f"expected at least {there}, because there is a node {there - 1}, found {count}")
    files = TemporaryGraphs()
    return files, files.write(edge_index, count)

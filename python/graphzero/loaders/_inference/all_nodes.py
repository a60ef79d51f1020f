"""Every node of a graph with all its neighbours and their rows, in batches cut by their number of edges."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import value_error
from graphzero._base.memory_sizes import byte_text
from graphzero.dataset import Dataset, EdgeTriple
from graphzero.features import FeatureStore
from graphzero.loaders._data.graph_data import GraphData
from graphzero.pipeline import Batch, Pipeline
from graphzero.sampling import sample_neighbors

# What part of the memory the rows of a batch may take: one part in this number. The pipeline holds up to four
# batches, and a layer needs their rows, a message for each edge, and its results.
_BATCH_SHARE = 16
# The same for a node that cannot be cut.
_HUB_SHARE = 4
# Ids of an edge, its ends and a node, and the table that finds them.
_ENTRY_BYTES = 64
# Nodes looked at at a time, and so the most in one batch.
_WINDOW = 1 << 20


@dataclass(frozen=True)
class AllNodes:
    """Batches of one hop. Rows of nodes are called ``"x"`` in them, those of edges ``"edge_attr"``."""

    data: GraphData
    edge_stores: dict[EdgeTriple, FeatureStore]
    batch_size: int | None
    memory: int

    def batches(self, stores: dict[str, FeatureStore], name: str) -> Generator[Batch, None, None]:
        """Yield the nodes of a type in order. ``stores`` are the rows of each node type; some may have none.

        Of a type without nodes there is one batch, so that it is seen what a layer makes of its rows.
        """
        num_nodes = self.data.relations.num_nodes[name]
        if num_nodes == 0:
            yield self._without_nodes(stores)
            return
        graph, features, edge_features = self._joined(stores)
        with Pipeline(
            graph,
            (name, None),
            [-1],
            features=features,
            edge_features=edge_features,
            batch_size=self._sizes(stores, name) if self.batch_size is None else self.batch_size,
            memory=self.memory,
            dtype="float32" if any(store.quantised for store in stores.values()) else None,
        ) as pipeline:
            for batch in pipeline:
                yield batch
                del batch  # its memory is wanted for the next one

    def _sizes(self, stores: dict[str, FeatureStore], name: str) -> list[int]:
        entry = _ENTRY_BYTES + max(4 * store.feature_dim for store in stores.values())
        most = max(1, self.memory // _BATCH_SHARE // entry)
        relations = self.data.relations
        indptrs = [graph.index("in").indptr for triple, graph in relations.graphs.items() if triple[2] == name]
        cuts = batch_cuts(indptrs, relations.num_nodes[name], most)
        sizes = [size for size, _ in cuts]
        number, (size, entries) = max(enumerate(cuts), key=lambda cut: cut[1][1])
        least = _HUB_SHARE * entries * entry
        if size == 1 and least > self.memory:
            raise value_error(
                "memory",
                f"expected at least {byte_text(least)} for node {sum(sizes[:number])} of type {name!r} with "
                f"its {entries - 1:,} neighbours, found {byte_text(self.memory)}",
            )
        return sizes

    def _joined(self, stores: dict[str, FeatureStore]) -> tuple[Any, Any, Any]:
        """Return graph, features and edge features for a pipeline: the data's graphs with these rows."""
        graph, along = self.data.graph, self.edge_stores
        if isinstance(graph, Dataset):
            nodes = {
                name: replace(kind, attributes={"x": stores[name]} if name in stores else {}, in_memory={})
                for name, kind in graph.nodes.items()
            }
            edges = {
                triple: replace(kind, attributes={"edge_attr": along[triple]} if triple in along else {}, in_memory={})
                for triple, kind in graph.edges.items()
            }
            return replace(graph, nodes=nodes, edges=edges), None, None
        if self.data.is_hetero:
            return graph, stores, along
        return graph, *stores.values(), next(iter(along.values()), None)

    def _without_nodes(self, stores: dict[str, FeatureStore]) -> Batch:
        nodes: dict[Any, Any] = {name: {"x": _no_rows(store)} for name, store in stores.items()}
        edges: dict[Any, Any] = {triple: {"edge_attr": _no_rows(store)} for triple, store in self.edge_stores.items()}
        if not self.data.is_hetero:
            nodes, edges = (next(iter(group.values()), {}) for group in (nodes, edges))
        sample = sample_neighbors(self.data.graph, {} if self.data.is_hetero else [], [-1])
        return Batch(sample, nodes, edges, np.empty(0, np.int64), None, None, epoch=0, number=0)


def batch_cuts(indptrs: Sequence[NDArray[np.int64]], num_nodes: int, most: int) -> list[tuple[int, int]]:
    """Cut nodes into batches of at most ``most`` nodes and neighbours, or of a single node that has more.

    Return for each batch its number of nodes, and that of nodes and neighbours. ``indptrs`` are the offsets
    of the nodes' lists; a window of them is looked at at a time.
    """
    cuts: list[tuple[int, int]] = []
    start = 0
    while start < num_nodes:
        stop = min(start + _WINDOW, num_nodes)
        entries = np.arange(stop - start + 1)
        for indptr in indptrs:
            entries += indptr[start : stop + 1] - indptr[start]
        at = 0
        while at < stop - start:
            end = max(at + 1, int(np.searchsorted(entries, entries[at] + most, side="right")) - 1)
            if at and end == stop - start and stop < num_nodes:
                break  # it may go on in the next window
            cuts.append((end - at, int(entries[end] - entries[at])))
            at = end
        start += at
    return cuts


def _no_rows(store: FeatureStore) -> NDArray[Any]:
    return store.gather([], dtype="float32" if store.quantised else None)

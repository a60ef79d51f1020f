"""A finished batch of the core as tensors under PyG's names, before they are put into an object."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from graphzero.dataset import EdgeTriple
from graphzero.loaders._batch.tensors import as_tensor
from graphzero.sampling import HeteroNeighborhood, Neighborhood, stacked

Values = dict[str, Any]

# What a batch has of its sample and its seeds, beside edge_index.
OF_SAMPLE = frozenset(
    {
        "n_id", "e_id", "batch", "input_id", "seed_time", "edge_label_index", "edge_label", "edge_label_time",
        "src_index", "dst_pos_index", "dst_neg_index",
    }
)  # fmt: skip


@dataclass
class Parts:
    """What belongs to each node type, each edge type, and the graph as a whole.

    Of a homogeneous graph there is one type of each.
    """

    nodes: dict[str, Values]
    edges: dict[EdgeTriple, Values]
    is_hetero: bool
    whole: Values = field(default_factory=dict)

    def groups(self) -> Iterator[Values]:
        """Iterate over what belongs to each type, and to the graph."""
        yield from self.nodes.values()
        yield from self.edges.values()
        yield self.whole

    def map(self, change: Callable[[torch.Tensor], torch.Tensor], *, stays: Collection[str] = ()) -> None:
        """Replace every tensor but those under names that ``stays`` lists."""
        for values in self.groups():
            for name, value in values.items():
                if isinstance(value, torch.Tensor) and name not in stays:
                    values[name] = change(value)


def sampled_parts(sample: Neighborhood | HeteroNeighborhood, node_type: str, edge_type: EdgeTriple) -> Parts:
    """Name the parts of a sample; ``node_type`` and ``edge_type`` are those of a homogeneous one."""
    if isinstance(sample, HeteroNeighborhood):
        nodes = {name: _of_nodes(ids) for name, ids in sample.node.items()}
        edges = {
            triple: _of_edges(sample.row[triple], sample.col[triple], sample.edge[triple]) for triple in sample.row
        }
        for name, counts in sample.num_sampled_nodes.items():
            nodes[name]["num_sampled_nodes"] = counts
        for triple, counts in (sample.num_sampled_edges or {}).items():
            edges[triple]["num_sampled_edges"] = counts
        for name, trees in (sample.batch or {}).items():
            nodes[name]["batch"] = as_tensor(trees)
        return Parts(nodes, edges, is_hetero=True)
    of_nodes, of_edges = _of_nodes(sample.node), _of_edges(sample.row, sample.col, sample.edge)
    of_nodes["num_sampled_nodes"] = sample.num_sampled_nodes
    if sample.num_sampled_edges is not None:
        of_edges["num_sampled_edges"] = sample.num_sampled_edges
    if sample.batch is not None:
        of_nodes["batch"] = as_tensor(sample.batch)
    return Parts({node_type: of_nodes}, {edge_type: of_edges}, is_hetero=False)


def _of_nodes(ids: Any) -> Values:
    return {"n_id": as_tensor(ids)}


def _of_edges(row: Any, col: Any, edge: Any) -> Values:
    return {"edge_index": as_tensor(stacked(row, col)), "e_id": as_tensor(edge)}

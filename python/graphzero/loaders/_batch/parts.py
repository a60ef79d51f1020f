"""A finished batch of the core as tensors under PyG's names, before they are put into an object."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.utils.data

from graphzero._base.late import is_made
from graphzero.dataset import EdgeTriple
from graphzero.loaders._batch.late_tensor import LateTensor
from graphzero.loaders._batch.tensors import as_tensor
from graphzero.sampling import HeteroNeighborhood, Neighborhood

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
                if name in stays:
                    continue
                if isinstance(value, torch.Tensor):
                    values[name] = change(value)
                elif isinstance(value, LateTensor):
                    values[name] = value.then(change)


def sampled_parts(sample: Neighborhood | HeteroNeighborhood, node_type: str, edge_type: EdgeTriple) -> Parts:
    """Name the parts of a sample; ``node_type`` and ``edge_type`` are those of a homogeneous one."""
    if isinstance(sample, HeteroNeighborhood):
        nodes = {name: _of_nodes(ids) for name, ids in sample.node.items()}
        edges = {triple: _of_edges(ends, _edge_ids(sample, triple)) for triple, ends in sample.edge_index.items()}
        for name, counts in sample.num_sampled_nodes.items():
            nodes[name]["num_sampled_nodes"] = counts
        for triple, counts in (sample.num_sampled_edges or {}).items():
            edges[triple]["num_sampled_edges"] = counts
        for name, trees in (sample.batch or {}).items():
            nodes[name]["batch"] = as_tensor(trees)
        return Parts(nodes, edges, is_hetero=True)
    of_nodes, of_edges = _of_nodes(sample.node), _of_edges(sample.edge_index, _edge_ids(sample))
    of_nodes["num_sampled_nodes"] = sample.num_sampled_nodes
    if sample.num_sampled_edges is not None:
        of_edges["num_sampled_edges"] = sample.num_sampled_edges
    if sample.batch is not None:
        of_nodes["batch"] = as_tensor(sample.batch)
    return Parts({node_type: of_nodes}, {edge_type: of_edges}, is_hetero=False)


def _of_nodes(ids: Any) -> Values:
    return {"n_id": as_tensor(ids)}


def _of_edges(edge_index: Any, e_id: torch.Tensor | LateTensor) -> Values:
    return {"edge_index": as_tensor(edge_index), "e_id": e_id}


def _edge_ids(sample: Any, triple: EdgeTriple | None = None) -> torch.Tensor | LateTensor:
    def read() -> torch.Tensor:
        return as_tensor(sample.edge if triple is None else sample.edge[triple])

    # A worker of a DataLoader sends its batches on: an error that comes up then would reach nobody.
    is_sent = torch.utils.data.get_worker_info() is not None
    return read() if is_sent or is_made(sample, "edge") else LateTensor(read)

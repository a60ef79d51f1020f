"""The models: PyG's GraphSAGE, GCN and GAT, and the same layers over several types."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import GAT, GCN, GATConv, GraphSAGE, HeteroConv, SAGEConv

from graphzero.training.settings import Settings
from graphzero.training.task import Task


def make_model(task: Task, settings: Settings) -> nn.Module:
    """Return a model that turns a batch into a row of scores for each of its seeds."""
    return OverTypes(task, settings) if task.data.is_hetero else OneType(task, settings)


class OneType(nn.Module):
    """A model of PyG's, applied to no more of a batch than each layer needs."""

    def __init__(self, task: Task, settings: Settings) -> None:
        super().__init__()
        made: dict[str, type[Any]] = {"sage": GraphSAGE, "gcn": GCN, "gat": GAT}
        given = task.features[task.target]
        assert given is not None
        self._attribute, columns = given
        more = {"heads": settings.heads} if settings.model == "gat" else {}
        self.layers = made[settings.model](
            columns, settings.hidden, len(settings.fanouts), task.num_classes, dropout=settings.dropout, **more
        )
        # GCN divides by the degrees of both ends of an edge; without the outer edges those would be others.
        self._trims = settings.model != "gcn"

    def forward(self, batch: Any) -> Tensor:
        """Return the scores of the seeds."""
        hops = (batch.num_sampled_nodes, batch.num_sampled_edges) if self._trims else (None, None)
        x = _rows(batch[self._attribute])
        out: Tensor = self.layers(
            x, batch.edge_index, num_sampled_nodes_per_hop=hops[0], num_sampled_edges_per_hop=hops[1]
        )
        return out[: batch.batch_size]


class OverTypes(nn.Module):
    """Layers with weights of their own for each edge type, over node types brought to one width first.

    Nodes without features start from a vector that all of their type share.
    """

    def __init__(self, task: Task, settings: Settings) -> None:
        super().__init__()
        if settings.model == "gcn":
            raise ValueError(f"model: gcn is for one type of node, and {task.data.path} has several; take sage or gat")
        self._target = task.target
        self._attributes = {kind: None if given is None else given[0] for kind, given in task.features.items()}
        self.inputs = nn.ModuleDict(
            {
                kind: nn.Embedding(1, settings.hidden) if given is None else nn.Linear(given[1], settings.hidden)
                for kind, given in task.features.items()
            }
        )
        self.layers = nn.ModuleList(
            HeteroConv({kind: _layer(settings) for kind in task.data.edge_types}, aggr="sum") for _ in settings.fanouts
        )
        self.keep = nn.ModuleList(
            nn.ModuleDict({kind: nn.Linear(settings.hidden, settings.hidden) for kind in task.features})
            for _ in settings.fanouts
        )
        self.dropout = nn.Dropout(settings.dropout)
        self.output = nn.Linear(settings.hidden, task.num_classes)

    def forward(self, batch: Any) -> Tensor:
        """Return the scores of the seeds."""
        hidden = {kind: self._input(kind, batch[kind]) for kind in self._attributes}
        for layer, keep in zip(self.layers, self.keep, strict=True):
            heard = layer(hidden, {kind: batch[kind].edge_index for kind in batch.edge_types})
            own = {kind: keep[kind](x) for kind, x in hidden.items()}  # type: ignore[index]
            hidden = {kind: self.dropout((x + heard[kind] if kind in heard else x).relu()) for kind, x in own.items()}
        target = hidden[self._target][: batch[self._target].batch_size]
        return self.output(target)  # type: ignore[no-any-return]

    def _input(self, kind: str, nodes: Any) -> Tensor:
        attribute = self._attributes[kind]
        if attribute is not None:
            return self.inputs[kind](_rows(nodes[attribute])).relu()  # type: ignore[no-any-return]
        weight: Tensor = self.inputs[kind].weight  # type: ignore[assignment]
        return weight.expand(len(nodes.n_id), -1)


def _layer(settings: Settings) -> nn.Module:
    width = settings.hidden
    if settings.model == "sage":
        return SAGEConv((width, width), width, root_weight=False)  # type: ignore[no-any-return]
    return GATConv(  # type: ignore[no-any-return]
        (width, width), width // settings.heads, heads=settings.heads, add_self_loops=False
    )


def _rows(x: Tensor) -> Tensor:
    return x.reshape(len(x), -1).to(torch.float32)

"""The models: PyG's GraphSAGE, GCN and GAT, and the same layers over several types."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import GAT, GCN, GATConv, GraphSAGE, SAGEConv
from torch_geometric.utils import trim_to_layer

from graphzero._base.argument_errors import value_error
from graphzero.train.link_task import LinkTask
from graphzero.train.settings import Settings
from graphzero.train.task import Task


def make_model(task: Task | LinkTask, settings: Settings) -> nn.Module:
    """Return a model that turns a batch into a row of scores for each seed, or a score for each pair of nodes."""
    if isinstance(task, LinkTask):
        return Pairs(task, settings)
    if task.data.is_hetero:
        return OverTypes(task, settings, task.num_classes)
    return OneType(_features(task.features), settings, task.num_classes)


class OneType(nn.Module):
    """A model of PyG's, applied to no more of a batch than each layer needs."""

    def __init__(self, given: tuple[str, int], settings: Settings, width: int) -> None:
        super().__init__()
        made: dict[str, type[Any]] = {"sage": GraphSAGE, "gcn": GCN, "gat": GAT}
        self.attribute, self._columns = given
        more = {"heads": settings.heads} if settings.model == "gat" else {}
        self.layers = made[settings.model](
            self._columns, settings.hidden, len(settings.fanouts), width, dropout=settings.dropout, **more
        )
        # GCN divides by the degrees of both ends of an edge; without the outer edges those would be others.
        self.trims = settings.model != "gcn"

    def forward(self, batch: Any) -> Tensor:
        """Return the scores of the seeds."""
        return self.rows(batch)[: batch.batch_size]

    def rows(self, batch: Any) -> Tensor:
        """Return a row for each node of the batch, or for the first of them, among which are the seeds."""
        hops = (batch.num_sampled_nodes, batch.num_sampled_edges) if self.trims else (None, None)
        x = _rows(batch[self.attribute], self._columns)
        out: Tensor = self.layers(
            x, batch.edge_index, num_sampled_nodes_per_hop=hops[0], num_sampled_edges_per_hop=hops[1]
        )
        return out


class OverTypes(nn.Module):
    """Layers with weights of their own for each edge type, over node types brought to one width first.

    Nodes without features start from a vector that all of their type share. The messages that a node gets along each
    edge type are added to a linear map of its own row (R-GCN: Schlichtkrull et al., 2018).
    """

    def __init__(self, task: Task | LinkTask, settings: Settings, outputs: int) -> None:
        super().__init__()
        if settings.model == "gcn":
            raise value_error(
                "model", f"gcn is for one type of nodes and edges, and {task.data.path} has several; take sage or gat"
            )
        self._target = task.target  # whose rows are the scores, unless pairs are scored
        self._features = task.features
        self._edge_types = task.data.edge_types
        self.trims = True
        width = settings.hidden
        # Modules are in the order of the types: a name may be anything, and that of a module may not.
        self.inputs = nn.ModuleList(
            nn.Embedding(1, width) if given is None else nn.Linear(given[1], width) for given in task.features.values()
        )
        self.messages = nn.ModuleList(
            nn.ModuleList(_layer(settings) for _ in self._edge_types) for _ in settings.fanouts
        )
        self.own = nn.ModuleList(
            nn.ModuleList(nn.Linear(width, width) for _ in task.features) for _ in settings.fanouts
        )
        self.dropout = nn.Dropout(settings.dropout)
        self.output = nn.Linear(width, outputs)

    def forward(self, batch: Any) -> Tensor:
        """Return the scores of the seeds."""
        rows = self.hidden_rows(batch)[self._target][: batch[self._target].batch_size]
        return self.output(rows)  # type: ignore[no-any-return]

    def hidden_rows(self, batch: Any) -> dict[str, Tensor]:
        """Return what the last layer makes of the nodes of each type, or of the first of them."""
        x = {
            kind: self._input(module, given, batch[kind])
            for module, (kind, given) in zip(self.inputs, self._features.items(), strict=True)
        }
        edges = {kind: batch[kind].edge_index for kind in self._edge_types}
        nodes_per_hop = {kind: batch[kind].num_sampled_nodes for kind in x}
        edges_per_hop = {kind: batch[kind].num_sampled_edges for kind in edges}
        for number, (messages, own) in enumerate(zip(self.messages, self.own, strict=True)):
            if self.trims:
                x, edges, _ = trim_to_layer(number, nodes_per_hop, edges_per_hop, x, edges)
            sums = {kind: layer(x[kind]) for kind, layer in zip(x, own, strict=True)}  # type: ignore[call-overload]
            for kind, layer in zip(edges, messages, strict=True):  # type: ignore[call-overload]
                sums[kind[2]] = sums[kind[2]] + layer((x[kind[0]], x[kind[2]]), edges[kind])
            x = {kind: self.dropout(rows.relu()) for kind, rows in sums.items()}
        return x

    def _input(self, module: nn.Module, given: tuple[str, int] | None, nodes: Any) -> Tensor:
        if given is not None:
            return module(_rows(nodes[given[0]], given[1])).relu()  # type: ignore[no-any-return]
        weight: Tensor = module.weight  # type: ignore[assignment]
        return weight.expand(len(nodes.n_id), -1)


class Pairs(nn.Module):
    """Scores pairs of nodes by the product of the rows that a model makes of both: above 0 is an edge."""

    def __init__(self, task: LinkTask, settings: Settings) -> None:
        super().__init__()
        self._type = task.edge_type
        self.nodes = (
            OverTypes(task, settings, settings.hidden)
            if task.data.is_hetero
            else OneType(_features(task.features), settings, settings.hidden)
        )

    def forward(self, batch: Any) -> Tensor:
        """Return the scores of the pairs that ``edge_label_index`` of the batch names."""
        if isinstance(self.nodes, OneType):
            src, dst = self.nodes.rows(batch)[batch.edge_label_index]
        else:
            hidden, pairs = self.nodes.hidden_rows(batch), batch[self._type].edge_label_index
            src = self.nodes.output(hidden[self._type[0]][pairs[0]])
            dst = self.nodes.output(hidden[self._type[2]][pairs[1]])
        scores: Tensor = (src * dst).sum(1)
        return scores


def _features(features: dict[str, tuple[str, int] | None]) -> tuple[str, int]:
    """Return those of the only node type."""
    (given,) = features.values()
    assert given is not None
    return given


def _layer(settings: Settings) -> nn.Module:
    width = settings.hidden
    if settings.model == "sage":
        return SAGEConv((width, width), width, root_weight=False)  # type: ignore[no-any-return]
    return GATConv(  # type: ignore[no-any-return]
        (width, width), width // settings.heads, heads=settings.heads, add_self_loops=False
    )


def _rows(x: Tensor, columns: int) -> Tensor:
    return x.reshape(len(x), columns).to(torch.float32)

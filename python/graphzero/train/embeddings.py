"""node2vec embeddings of the nodes of a data set, trained epoch by epoch, to a ``.gd`` file."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch

from graphzero._base.argument_errors import value_error
from graphzero._base.integers import as_seed
from graphzero.dataset import Dataset, type_text
from graphzero.features import write_features
from graphzero.graph import Graph
from graphzero.loaders import Node2Vec
from graphzero.loaders._device.transfer import as_device
from graphzero.train.walk_settings import WalkSettings


@dataclass(frozen=True)
class EmbeddingEpoch:
    """An epoch is done."""

    epoch: int
    loss: float
    batches: int
    seconds: float


def walked_graph(data: Dataset, edge_type: str | None = None) -> Graph:
    """Return the graph that walks follow: the only one, or that of an edge type written ``"user,follows,user"``."""
    types = {",".join(triple): triple for triple in data.edges}
    if not types:
        raise ValueError(f"{data.path}: has no edges, only nodes; there is nothing to walk along")
    if edge_type is None and len(types) > 1:
        raise value_error("edge_type", f"expected one of {'; '.join(types)}, found none; say which edges to walk along")
    name = next(iter(types)) if edge_type is None else edge_type
    if name not in types:
        raise value_error("edge_type", f"expected one of {'; '.join(types)}, found {edge_type!r}")
    graph = data.edges[types[name]].graph
    if graph.bipartite:
        raise value_error(
            "edge_type", f"expected edges between nodes of one type to walk along, found {type_text(types[name])}"
        )
    if "out" not in graph.indexes:
        raise ValueError(f"{graph.path}: has no 'out' index, which walks follow; write the graph with index='both'")
    return graph


@dataclass
class EmbeddingRun:
    """Trains embeddings; the table of them is in memory. Iterate over ``steps()``."""

    graph: Graph
    settings: WalkSettings
    history: list[EmbeddingEpoch] = field(default_factory=list)

    def __post_init__(self) -> None:
        given = self.settings
        device = as_device(given.device)
        torch.manual_seed(as_seed(given.seed))
        self.model = Node2Vec(
            self.graph, given.hidden, given.walk_length, given.context_size, given.walks, given.p, given.q,
            given.negatives, sparse=True, seed=given.seed,
        ).to(device)  # fmt: skip
        self._device = device
        self._optimizer = torch.optim.SparseAdam(list(self.model.parameters()), lr=given.learning_rate)
        self._loader = self.model.loader(batch_size=given.batch_size, shuffle=True)
        self.num_batches = len(self._loader)

    def steps(self) -> Iterator[EmbeddingEpoch | None]:
        """Train; ``None`` comes after each batch, so that a caller can look around."""
        while len(self.history) < self.settings.epochs:
            begin, total = time.perf_counter(), 0.0
            for positive, negative in self._loader:
                self._optimizer.zero_grad()
                loss = self.model.loss(positive.to(self._device), negative.to(self._device))
                loss.backward()  # type: ignore[no-untyped-call]
                self._optimizer.step()  # type: ignore[no-untyped-call]
                total += loss.item()
                if not math.isfinite(total):
                    raise ValueError(
                        f"loss: expected a number, found {loss.item():g} in epoch {len(self.history) + 1}; "
                        "lower the learning rate"
                    )
                yield None
            seconds = time.perf_counter() - begin
            done = EmbeddingEpoch(len(self.history), total / max(1, self.num_batches), self.num_batches, seconds)
            self.history.append(done)
            yield done

    def write(self, out: str | os.PathLike[str]) -> None:
        """Write a row for each node."""
        write_features(out, self.model().detach().cpu().numpy())

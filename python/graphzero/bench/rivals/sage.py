"""The training that is timed on both sides: one model, one loop; only the loaders differ."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from .batch_arrays import edges_of, save_batch

HIDDEN = 64
LEARNING_RATE = 0.01
WARM_UP = 3


def make_model(columns: int, classes: int, layers: int) -> Any:
    """Make a GraphSAGE whose first weights are the same on both sides."""
    import torch
    from torch_geometric.nn import GraphSAGE

    torch.manual_seed(0)
    return GraphSAGE(columns, HIDDEN, layers, classes)


def train(model: Any, loader: Iterable[Any], given: dict[str, Any]) -> dict[str, Any]:
    """Train for a number of seconds after a few batches to warm up. Leaves the last batch and the losses."""
    import torch
    from torch.nn.functional import cross_entropy

    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    losses: list[float] = []
    begin = seconds = 0.0
    while seconds < given["seconds"]:
        for batch in loader:
            if len(losses) == WARM_UP:
                begin = time.perf_counter()
            optimizer.zero_grad()
            found = model(batch.x, edges_of(batch))[: batch.batch_size]
            loss = cross_entropy(found, batch.y[: batch.batch_size])
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(float(loss.detach()))
            if len(losses) > WARM_UP:
                seconds = time.perf_counter() - begin
            if seconds >= given["seconds"] and len(losses) >= given["batches"]:
                break
    save_batch(given["result"], batch)
    np.save(given["losses"], losses)
    return {"runs": [(len(losses) - WARM_UP) / seconds], "seconds": seconds}

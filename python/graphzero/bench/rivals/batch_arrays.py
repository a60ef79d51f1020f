"""A batch of PyG as plain arrays, to be checked."""

from __future__ import annotations

from typing import Any

import numpy as np


def edges_of(batch: Any) -> Any:
    """Return the edges of a batch as two rows, source and target, whichever form PyG gave them."""
    import torch

    if "adj_t" not in batch:
        return batch.edge_index
    target, source, _ = batch.adj_t.coo()
    return torch.stack([source, target])


def save_batch(path: str, batch: Any) -> None:
    """Leave node ids, edges and rows of a batch."""
    row, col = edges_of(batch).numpy()
    np.savez(path, node=batch.n_id.numpy(), row=row, col=col, x=batch.x.numpy(), seeds=batch.batch_size)

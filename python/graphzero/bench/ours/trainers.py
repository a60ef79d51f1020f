"""Training through our NeighborLoader, beside rivals/trainers.py. Given what loaders.py is, and ``classes``."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import graphzero as gz
from graphzero.bench.ours.loaders import since
from graphzero.bench.rivals.loaders import FANOUTS
from graphzero.bench.rivals.protocol import answer, wait_for_limit
from graphzero.bench.rivals.sage import make_model, train


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """Train, and tell how fast."""
    import torch

    from graphzero.loaders import NeighborLoader

    torch.set_num_threads(given["threads"])
    dataset = gz.open(given["data"])
    dataset.graph.preload()
    seeds = np.load(os.path.join(given["folder"], "input_nodes.npy"))
    model = make_model(given["columns"], given["classes"], len(FANOUTS))
    wait_for_limit(given)
    loader = NeighborLoader(
        dataset, FANOUTS, seeds, batch_size=given["batch_size"], shuffle=True, seed=1, memory=given["memory"],
        reader=given["reader"], threads=given["threads"], form="pyg",
    )  # fmt: skip
    before = loader.stats()
    found = train(model, loader, given)
    return found | since(loader.stats(), before)


if __name__ == "__main__":
    answer(measure)

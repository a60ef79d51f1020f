"""Training through PyG's NeighborLoader with everything in RAM.

Given what loaders.py is, ``classes``, and ``losses``, the file that losses are left in. The folder also holds y.npy.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .loaders import loader_of
from .protocol import answer
from .sage import make_model, train
from .samplers import FANOUTS


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """Train, and return how fast."""
    import torch

    torch.set_num_threads(given["threads"])
    y = torch.from_numpy(np.load(os.path.join(given["folder"], "y.npy")))
    model = make_model(given["columns"], given["classes"], len(FANOUTS))
    return train(model, loader_of(given, y=y), given)


if __name__ == "__main__":
    answer(measure)

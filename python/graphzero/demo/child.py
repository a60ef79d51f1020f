"""A process of the demo: trains, or loads everything, and writes what happens to standard output, a JSON object a line.

``python -m graphzero.demo.child REQUEST``, where the request is JSON: ``do`` names a function of this file, the rest
are its arguments. Each imports what it needs by itself: PyG takes seconds, and not all of them need it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from graphzero import _core
from graphzero.dataset import open_dataset
from graphzero.demo.data import read_into_page_cache
from graphzero.train.settings import Settings


def tell(event: str, **facts: Any) -> None:
    """Write one line."""
    print(json.dumps({"event": event, **facts}), flush=True)


def look(torch_threads: int) -> None:
    """Tell what Python, torch and PyG hold before they have seen any data: after a step on next to none."""
    import torch
    from torch_geometric.nn import GraphSAGE

    import graphzero.train.run  # noqa: F401

    torch.set_num_threads(torch_threads)
    model = GraphSAGE(256, 64, num_layers=2, out_channels=16)  # large enough that all threads take part
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.zeros(4096, 256), torch.zeros(2, 4096, dtype=torch.long)).sum().backward()
    optimizer.step()
    tell("ready", anonymous=_core.memory_facts().anonymous_rss)


def load(path: str) -> None:
    """Load the features the usual way: all of them."""
    import torch

    with open_dataset(path) as data:
        x = torch.from_numpy(np.array(data.features("x").get_tensor(writable=False)))
        tell("loaded", bytes=x.nbytes)


def train(path: str, settings: dict[str, Any], torch_threads: int, in_memory: bool) -> None:
    """Train, with all files in the page cache before if it is to be in memory."""
    import torch

    from graphzero.demo.watched import train_watched

    torch.set_num_threads(torch_threads)
    if in_memory:
        read_into_page_cache(path)
    train_watched(path, Settings(**settings), tell)


def main() -> None:
    """Do what is asked; an error becomes a line like any other."""
    functions: dict[str, Callable[..., None]] = {"look": look, "load": load, "train": train}
    request = json.loads(sys.argv[1])
    try:
        functions[request.pop("do")](**request)
    except Exception as error:
        tell("error", message=" ".join(f"{error}".split()) or type(error).__name__)
        sys.exit(1)


if __name__ == "__main__":
    main()

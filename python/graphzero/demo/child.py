"""A process of the demo: trains, or loads everything, and writes what happens to standard output, a JSON object a line.

``python -m graphzero.demo.child REQUEST``, where the request is JSON: ``do`` names a function of this file, the rest
are its arguments. Each imports what it needs by itself: PyG takes seconds, and not all of them need it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from graphzero import _core
from graphzero.dataset import open_dataset
from graphzero.demo.data import read_into_page_cache

if TYPE_CHECKING:
    from graphzero.train.run import Run, Step
    from graphzero.train.watch import Snapshot

# Seconds between two steps that are printed.
_PRINT_EVERY = 0.2


def tell(event: str, **facts: Any) -> None:
    """Write one line."""
    print(json.dumps({"event": event, **facts}), flush=True)


def measure_software(torch_threads: int) -> None:
    """Print what Python, torch and PyG hold after a step on a tiny graph, before there is any data."""
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
    """Train and test a model, with all files in the page cache before if it is to be in memory."""
    import torch

    from graphzero.train.run import Run
    from graphzero.train.settings import Settings
    from graphzero.train.task import find_task

    torch.set_num_threads(torch_threads)
    if in_memory:
        read_into_page_cache(path)
    with open_dataset(path) as data:
        run = Run(find_task(data), Settings(**settings))
        _train(run)
        run.close()


def _train(run: Run) -> None:
    """Train a model, and test it as it was after its best epoch; print every now and then what it holds."""
    from graphzero.train.run import EpochResult
    from graphzero.train.watch import Watch

    watch, read_before = Watch(run), _core.memory_facts().device_bytes_read
    printed, accuracy = time.perf_counter(), 0.0

    def facts(snapshot: Snapshot) -> dict[str, Any]:
        """Return memory and reads up to now. The hits are those of training, the reads all of this process."""
        read = None if read_before is None else (_core.memory_facts().device_bytes_read or 0) - read_before
        return {
            "anonymous": snapshot.anonymous,
            "peak_anonymous": watch.peak_anonymous,
            "files_cached": snapshot.page_cache or 0,
            "hit_rate": snapshot.hit_rate,
            "device_bytes": read,
        }

    for step in chain(run.steps(), _tested(run)):
        if isinstance(step, EpochResult):
            tell("epoch", **asdict(step), **facts(watch.measure()))
            continue
        watch.batches += 1
        accuracy = step.accuracy
        snapshot = watch.measure()  # at every step, for the peak
        if time.perf_counter() > printed + _PRINT_EVERY:
            printed = time.perf_counter()
            tell("step", **asdict(step), batches_per_second=snapshot.batches_rate, **facts(snapshot))
    reader = run.loader.stats()["sources"]["x"]["reader"]
    tell("done", test_accuracy=accuracy, reader=reader, **facts(watch.measure()))


def _tested(run: Run) -> Iterator[Step]:
    run.use_best()
    yield from run.evaluate("test")


def main() -> None:
    """Do what is asked; an error becomes a line like any other."""
    functions: dict[str, Callable[..., None]] = {"measure_software": measure_software, "load": load, "train": train}
    request = json.loads(sys.argv[1])
    try:
        functions[request.pop("do")](**request)
    except Exception as error:
        message = " ".join(f"{error}".split()) or type(error).__name__
        tell("error", message=message, argument=getattr(error, "argument", None))
        sys.exit(1)


if __name__ == "__main__":
    main()

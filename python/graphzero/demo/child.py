"""A process of the demo: trains, or loads everything, and writes what happens to standard output, a JSON object a line.

``python -m graphzero.demo.child REQUEST``, where the request is JSON: ``do`` names a function of this file, the rest
are its arguments.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from graphzero import _core
from graphzero.dataset import Dataset, open_dataset
from graphzero.demo.data import read_into_page_cache
from graphzero.training.run import EpochResult, Run, Step
from graphzero.training.settings import Settings
from graphzero.training.task import find_task

# Seconds between two reports of the same kind of step.
_OFTEN = 0.2


def tell(event: str, **facts: Any) -> None:
    """Write one line."""
    print(json.dumps({"event": event, **facts}), flush=True)


def look() -> None:
    """Tell what Python, torch and PyG hold when nothing else has happened yet."""
    tell("ready", anonymous=_core.memory_facts().anonymous_rss)


def load(path: str) -> None:
    """Load the features the usual way: all of them."""
    with open_dataset(path) as data:
        x = torch.from_numpy(np.array(data.features("x").get_tensor(writable=False)))
        tell("loaded", bytes=x.nbytes)


def train(path: str, settings: dict[str, Any], *, in_memory: bool = False) -> None:
    """Train and test a model; ``in_memory``, with all files in the page cache before it begins."""
    torch.set_num_threads(settings["threads"])
    if in_memory:
        read_into_page_cache(path)
    with open_dataset(path) as data:
        run = Run(find_task(data), Settings(**settings))
        watch = _Watch(data, run)
        for step in run.steps():
            watch.see(step)
        run.use_best()
        for step in run.evaluate("test"):
            watch.see(step)
        tell("done", test_accuracy=watch.accuracy, **watch.facts(), reader=run.loader.stats()["sources"]["x"]["reader"])
        run.close()


class _Watch:
    """Reports steps, not too often, with the memory and the reads behind them."""

    def __init__(self, data: Dataset, run: Run) -> None:
        self._stores = (data.graph, data.features("x"), data.labels())
        self._run = run
        self._read_before = _core.memory_facts().device_bytes_read
        self._peak = 0
        self._split: tuple[int, str] | None = None
        self._split_begin = self._told = time.perf_counter()
        self.accuracy = 0.0

    def see(self, step: Step | EpochResult) -> None:
        self._peak = max(self._peak, _core.memory_facts().anonymous_rss)
        if isinstance(step, EpochResult):
            tell("epoch", **asdict(step), **self.facts())
            return
        self.accuracy = step.accuracy
        now = time.perf_counter()
        if self._split != (step.epoch, step.split):
            self._split, self._split_begin = (step.epoch, step.split), now
        elif now > self._told + _OFTEN:
            self._told = now
            rate = (step.batch - 1) / (now - self._split_begin)
            tell("step", **asdict(step), batches_per_second=rate, **self.facts())

    def facts(self) -> dict[str, Any]:
        """Return memory and reads up to now. Those of the training loader are hits; the device has served all."""
        facts = _core.memory_facts()
        read = None if self._read_before is None else (facts.device_bytes_read or 0) - self._read_before
        return {
            "anonymous": facts.anonymous_rss,
            "peak_anonymous": self._peak,
            "files_cached": sum(store.resident_bytes() or 0 for store in self._stores),
            "hit_rate": self._run.loader.stats()["hit_rate"],
            "device_bytes": read,
        }


def main() -> None:
    """Do what is asked; an error becomes a line like any other."""
    request = json.loads(sys.argv[1])
    try:
        {"look": look, "load": load, "train": train}[request.pop("do")](**request)
    except Exception as error:
        tell("error", message=" ".join(f"{error}".split()) or type(error).__name__)
        sys.exit(1)


if __name__ == "__main__":
    main()

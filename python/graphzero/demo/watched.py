"""A training that tells, now and then, where it is and what it holds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from graphzero import _core
from graphzero.dataset import Dataset, open_dataset
from graphzero.training.run import EpochResult, Run, Step
from graphzero.training.settings import Settings
from graphzero.training.task import find_task

# Seconds between two steps that are told.
_OFTEN = 0.2


def train_watched(path: str, settings: Settings, tell: Callable[..., None]) -> None:
    """Train a model, and test it as it was after its best epoch."""
    with open_dataset(path) as data:
        run = Run(find_task(data), settings)
        watch = _Watch(data, run, tell)
        for step in run.steps():
            watch.see(step)
        run.use_best()
        for step in run.evaluate("test"):
            watch.see(step)
        reader = run.loader.stats()["sources"]["x"]["reader"]
        tell("done", test_accuracy=watch.accuracy, reader=reader, **watch.facts())
        run.close()


class _Watch:
    """Tells of steps, with the memory and the reads behind them."""

    def __init__(self, data: Dataset, run: Run, tell: Callable[..., None]) -> None:
        self._stores = (data.graph, data.features("x"), data.labels())
        self._run = run
        self._tell = tell
        self._read_before = _core.memory_facts().device_bytes_read
        self._peak = 0
        self._part: tuple[int, str] | None = None
        self._part_begin = self._told = time.perf_counter()
        self.accuracy = 0.0

    def see(self, step: Step | EpochResult) -> None:
        self._peak = max(self._peak, _core.memory_facts().anonymous_rss)
        if isinstance(step, EpochResult):
            self._tell("epoch", **asdict(step), **self.facts())
            return
        self.accuracy = step.accuracy
        now = time.perf_counter()
        if self._part != (step.epoch, step.split):
            self._part, self._part_begin = (step.epoch, step.split), now
        elif now > self._told + _OFTEN:
            self._told = now
            rate = (step.batch - 1) / (now - self._part_begin)
            self._tell("step", **asdict(step), batches_per_second=rate, **self.facts())

    def facts(self) -> dict[str, Any]:
        """Return memory and reads up to now. The hits are those of training, the reads are all."""
        facts = _core.memory_facts()
        read = None if self._read_before is None else (facts.device_bytes_read or 0) - self._read_before
        return {
            "anonymous": facts.anonymous_rss,
            "peak_anonymous": self._peak,
            "files_cached": sum(store.resident_bytes() or 0 for store in self._stores),
            "hit_rate": self._run.loader.stats()["hit_rate"],
            "device_bytes": read,
        }

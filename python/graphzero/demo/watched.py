"""A training that reports, now and then, where it is and what it holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from graphzero import _core
from graphzero.dataset import open_dataset
from graphzero.train.run import EpochResult, Run, Step
from graphzero.train.settings import Settings
from graphzero.train.task import find_task
from graphzero.train.watch import Sight, Watch

# Seconds between two steps that are told.
_OFTEN = 0.2


def train_watched(path: str, settings: Settings, tell: Callable[..., None]) -> None:
    """Train a model, and test it as it was after its best epoch."""
    with open_dataset(path) as data:
        run = Run(find_task(data), settings)
        watch, read_before = Watch(run), _core.memory_facts().device_bytes_read
        told, accuracy = time.perf_counter(), 0.0

        def facts(sight: Sight) -> dict[str, Any]:
            """Return memory and reads up to now. The hits are those of training, the reads all of this process."""
            read = None if read_before is None else (_core.memory_facts().device_bytes_read or 0) - read_before
            return {
                "anonymous": sight.anonymous,
                "peak_anonymous": watch.peak_anonymous,
                "files_cached": sight.page_cache or 0,
                "hit_rate": sight.hit_rate,
                "device_bytes": read,
            }

        for step in _steps(run):
            if isinstance(step, EpochResult):
                tell("epoch", **asdict(step), **facts(watch.look()))
                continue
            watch.batches += 1
            accuracy = step.accuracy
            sight = watch.look()  # at every step, for the peak
            if time.perf_counter() > told + _OFTEN:
                told = time.perf_counter()
                tell("step", **asdict(step), batches_per_second=sight.batches_rate, **facts(sight))
        reader = run.loader.stats()["sources"]["x"]["reader"]
        tell("done", test_accuracy=accuracy, reader=reader, **facts(watch.look()))
        run.close()


def _steps(run: Run) -> Iterator[Step | EpochResult]:
    yield from run.steps()
    run.use_best()
    yield from run.evaluate("test")

"""Where ``graphzero train`` sends the row of each epoch: a log file, TensorBoard, Weights & Biases."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphzero._base.memory_sizes import peak_memory
from graphzero.train.epoch_log import EpochLog, EpochSink, log_ending

if TYPE_CHECKING:
    from graphzero.train.run import EpochResult, Run
    from graphzero.train.watch import Watch

_TESTED = {"nodes": ("accuracy",), "links": ("accuracy", "auc", "mrr", "hits")}
# Of the process and its loaders, after an epoch; bytes.
_MACHINE = ("batches_per_second", "peak_memory", "peak_held", "bytes_read", "hit_rate")


@dataclass(frozen=True)
class LogOptions:
    """The options that say where rows go."""

    log: Path | None = None
    tensorboard: Path | None = None
    wandb: str | None = None

    def check(self, *, resumed: bool) -> None:
        """Refuse a log that cannot be written, before anything is trained for it."""
        if self.log is None:
            return
        log_ending(self.log)
        if not resumed and os.path.lexists(self.log):
            raise ValueError(f"{self.log}: is there already; add --resume to go on with it, or give another name")

    @property
    def words(self) -> list[str]:
        """These options as they are written on a command line."""
        given = {"--log": self.log, "--tensorboard": self.tensorboard, "--wandb": self.wandb}
        return [word for name, value in given.items() if value is not None for word in (name, os.fspath(value))]

    def sinks(
        self, stack: ExitStack, columns: list[str], done: list[dict[str, Any]], settings: Mapping[str, Any]
    ) -> list[EpochSink]:
        """Open all that is asked for; the stack closes it."""
        sinks: list[EpochSink] = []
        if self.tensorboard is not None:
            from graphzero.train.trackers import TensorBoard

            sinks.append(TensorBoard(self.tensorboard, next_epoch=len(done) + 1))
            stack.callback(sinks[-1].close)
        if self.wandb is not None:
            from graphzero.train.trackers import Wandb

            sinks.append(Wandb(self.wandb, settings))
            stack.callback(sinks[-1].close)
        if self.log is not None:
            sinks.append(EpochLog(self.log, columns, done))
        return sinks


@dataclass
class EpochRows:
    """Makes a row of each epoch of a run, and hands it to all who want it."""

    sinks: list[EpochSink]
    words: list[str] = field(default_factory=list)  # the options that ask for them, for the command to go on with
    watch: Watch | None = None
    _read: int = field(default=0)

    def write(self, done: EpochResult, test: Mapping[str, float]) -> None:
        """Write the row of an epoch that is done; ``test`` has what was measured on the split test."""
        if not self.sinks or self.watch is None:
            return
        now = self.watch.measure()
        row = {
            **epoch_row(done),
            **{f"test_{name}": value for name, value in test.items()},
            "peak_memory": peak_memory(),
            "peak_held": self.watch.peak_held,
            "bytes_read": now.device_bytes - self._read,
            "hit_rate": now.hit_rate,
        }
        self._read = now.device_bytes
        for sink in self.sinks:
            sink.write(row)


def epoch_row(done: Any) -> dict[str, Any]:
    """Return what an epoch's result says of itself, and its speed; epochs count from 1."""
    rate = done.batches / max(done.seconds, 1e-9)
    return {**asdict(done), "epoch": done.epoch + 1, "batches_per_second": rate}


def columns_of(run: Run) -> list[str]:
    """Return the names of what a row of this run has, in order."""
    fields = list(run.result_type.__dataclass_fields__)
    measures = [name for name in fields if name.startswith(("train_", "valid_"))]
    tested = [f"test_{name}" for name in _TESTED[run.settings.task]]
    return ["epoch", "loss", *measures, *tested, "seconds", "batches", *_MACHINE]

"""The loop of ``graphzero train``: epochs with a live view, checkpoints, logs, and Ctrl-C."""

from __future__ import annotations

import shlex
import signal
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING

from graphzero._base.visible import visible
from graphzero.cli.train_logs import EpochRows

if TYPE_CHECKING:
    from graphzero.cli.train_view import TrainView
    from graphzero.train.checkpoints import Checkpoints
    from graphzero.train.run import EpochResult, Run, Step
    from graphzero.train.watch import Snapshot, Watch

_MEASURE_EVERY = 0.25  # seconds


@dataclass
class Facts:
    """What a training was like."""

    hit_rate: float | None = None
    device_bytes: int = 0
    peak_anonymous: int = 0
    peak_held: int = 0


def trained(
    run: Run, kept: Checkpoints | None, every: float, rows: EpochRows, *, json: bool, test_each_epoch: bool = False
) -> Facts:
    """Train what is left, and measure the best weights on the split test."""
    from graphzero.train.run import EpochResult
    from graphzero.train.watch import Watch

    facts = Facts()
    is_live = sys.stderr.isatty()
    tells_lines = not json and not (is_live and sys.stdout.isatty())
    watch = Watch(run, page_cache=is_live)
    rows.watch = watch
    measured = saved = time.monotonic()
    with (
        _view(run) if is_live else nullcontext() as view,
        _interrupts(view, wanted=kept is not None) as interrupts,
        closing(_events(run, rows, test_each_epoch)) as events,
    ):
        for event in events:
            is_epoch = isinstance(event, EpochResult)
            if isinstance(event, EpochResult):
                if tells_lines:
                    print(visible(_epoch_line(event, run.settings.epochs)), flush=True)
            else:
                watch.batches += 1
                if view is not None:
                    view.step(event)
            now = time.monotonic()
            if is_epoch or now - measured >= _MEASURE_EVERY:
                _measure(watch, view)
                measured = now
            if kept is None:
                continue
            # While the split test is measured, the model has its best weights, and all is saved.
            is_over = not isinstance(event, EpochResult) and event.split == "test"
            if not is_over and (is_epoch or interrupts.asked or now - saved >= every):
                kept.save(run)
                saved = time.monotonic()
            if interrupts.asked:
                break
        snapshot = _measure(watch, view)
    if kept is not None and interrupts.asked:
        words = ["graphzero", "train", run.task.data.path, "--checkpoints", kept.folder, "--resume", *rows.words]
        print(visible(f"graphzero: checkpoint written; go on with: {shlex.join(words)}"), file=sys.stderr)
        raise KeyboardInterrupt
    facts.hit_rate, facts.device_bytes = snapshot.hit_rate, snapshot.device_bytes
    facts.peak_anonymous, facts.peak_held = watch.peak_anonymous, watch.peak_held
    return facts


def _events(run: Run, rows: EpochRows, test_each_epoch: bool) -> Generator[Step | EpochResult, None, None]:
    """Yield all that happens. The row of an epoch is written when whoever follows has dealt with it."""
    from graphzero.train.run import EpochResult

    has_test = "test" in run.task.splits
    for event in run.steps():
        yield event
        if isinstance(event, EpochResult):
            if has_test and test_each_epoch:
                yield from run.evaluate("test")
            rows.write(event, run.measured.get("test", {}) if test_each_epoch else {})
    run.use_best()
    if has_test:
        yield from run.evaluate("test")


def _view(run: Run) -> TrainView:
    from graphzero.cli.train_view import TrainView

    settings = run.settings
    fanouts = ",".join(map(str, settings.fanouts))
    goal = f"edges {run.task.target}" if settings.task == "links" else f"{run.task.num_classes} classes"
    return TrainView(
        f"{run.task.data.path}: {settings.model}, fanouts {fanouts}, {settings.hidden} wide, {goal}, "
        f"on {settings.device}",
        run,
    )


def _measure(watch: Watch, view: TrainView | None) -> Snapshot:
    snapshot = watch.measure()
    if view is not None:
        view.show(snapshot)
    return snapshot


class _Interrupts:
    """Whether Ctrl-C was pressed."""

    asked = False


@contextmanager
def _interrupts(view: TrainView | None, *, wanted: bool) -> Iterator[_Interrupts]:
    """Let Ctrl-C ask for a checkpoint, which is whole between two batches only; a second one ends at once."""
    found = _Interrupts()

    def ask(number: int, frame: FrameType | None) -> None:
        if found.asked:
            raise KeyboardInterrupt
        found.asked = True
        if view is not None:
            view.note("stopping after this batch; Ctrl-C again stops at once")

    before = signal.signal(signal.SIGINT, ask) if wanted else None
    try:
        yield found
    finally:
        if wanted:
            signal.signal(signal.SIGINT, before)


def _epoch_line(done: EpochResult, epochs: int) -> str:
    valid = "" if done.valid_text is None else f", valid {done.valid_text}"
    rate = done.batches / max(done.seconds, 1e-9)
    return (
        f"epoch {done.epoch + 1}/{epochs}: loss {done.loss:.4f}, train {done.train_accuracy:.1%}{valid}, "
        f"{done.seconds:.1f} s, {rate:.1f} batches/s"
    )

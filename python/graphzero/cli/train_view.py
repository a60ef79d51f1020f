"""The live view of ``graphzero train``: progress, epochs and memory, drawn on standard error."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from graphzero._base.memory_sizes import byte_text
from graphzero._base.visible import visible

if TYPE_CHECKING:
    from typing_extensions import Self

    from graphzero.train.run import EpochResult, Run, Step
    from graphzero.train.watch import Snapshot

_REFRESHES = 4  # per second
_MOST_EPOCHS = 8  # rows of the table


class TrainView:
    """Redraws itself while the block runs; ``step()`` and ``see()`` say what is new."""

    def __init__(self, title: str, run: Run) -> None:
        self._title = title
        self._run = run
        self._splits = run.num_batches
        self._snapshot: Snapshot | None = None
        self._step: Step | None = None
        self._note = ""
        self._bars = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        )
        self._now = self._bars.add_task("reading ahead", total=self._splits["train"])
        per_epoch = self._splits["train"] + self._splits.get("valid", 0)
        self._all = self._bars.add_task(
            "whole run",
            total=run.settings.epochs * per_epoch + self._splits.get("test", 0),
            completed=len(run.history) * per_epoch,
        )
        self._live = Live(
            get_renderable=self._draw,
            console=Console(stderr=True),
            refresh_per_second=_REFRESHES,
            redirect_stdout=False,  # lines may go to a file
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def step(self, step: Step) -> None:
        """Move the bars."""
        is_first = self._step is None or step.batch == 1 or step.split != self._step.split
        if is_first:
            self._bars.reset(self._now, total=step.num_batches, completed=step.batch - 1)
        what = {"train": f"epoch {step.epoch + 1}/{self._run.settings.epochs}"}.get(step.split, step.split)
        self._bars.update(self._now, description=what, completed=step.batch)
        per_epoch = self._splits["train"] + self._splits.get("valid", 0)
        before = step.epoch * per_epoch + (self._splits["train"] if step.split == "valid" else 0)
        self._bars.update(self._all, completed=before + step.batch)
        self._step = step
        if is_first:  # an epoch may be over before the next refresh
            self._live.refresh()

    def show(self, snapshot: Snapshot) -> None:
        """Show memory and rates."""
        self._snapshot = snapshot

    def note(self, text: str) -> None:
        """Say something below."""
        self._note = text

    def _draw(self) -> Group:
        parts: list[Progress | Table | Text] = [Text(visible(self._title), style="bold"), self._bars]
        if self._step is not None:
            step = self._step
            parts.append(Text(f"loss {step.loss:.4f}   {step.split} accuracy {step.accuracy:.1%}"))
        if self._run.history:
            parts.append(self._epochs(self._run.history[-_MOST_EPOCHS:]))
        if self._snapshot is not None:
            parts.append(_snapshot_table(self._snapshot))
        if self._note:
            parts.append(Text(visible(self._note), style="yellow"))
        return Group(*parts)

    def _epochs(self, shown: list[EpochResult]) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("epoch", "loss", "train", "valid", "time"):
            table.add_column(name, justify="right")
        best = None if self._run.best is None else self._run.best["epoch"]
        for done in shown:
            valid = "" if done.valid_text is None else done.valid_text
            row = (
                f"{done.epoch + 1}",
                f"{done.loss:.4f}",
                f"{done.train_accuracy:.1%}",
                valid,
                f"{done.seconds:.1f} s",
            )
            table.add_row(*row, style="green" if done.epoch == best else "")
        return table


def _snapshot_table(snapshot: Snapshot) -> Table:
    cached = "unknown" if snapshot.page_cache is None else byte_text(snapshot.page_cache)
    table = Table.grid(padding=(0, 2))
    rows = [
        ("memory", f"{byte_text(snapshot.anonymous)} anonymous in this process"),
        ("loaders", f"{byte_text(snapshot.held)} held of {byte_text(snapshot.budget)}"),
        (
            "page cache",
            f"{cached} of {byte_text(snapshot.data)} of data files; the kernel takes it back when it needs room",
        ),
        ("hit rate", "-" if snapshot.hit_rate is None else f"{snapshot.hit_rate:.1%} of rows needed no read"),
        ("device", f"{byte_text(snapshot.device_rate)}/s"),
        ("speed", f"{snapshot.batches_rate:.1f} batches/s, {snapshot.waited:.0%} of the time waited for data"),
    ]
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(value))
    return table

"""``graphzero train``: node classification on a data set folder. docs/guide/train-from-the-shell.md lists the JSON."""

from __future__ import annotations

import importlib
import os
import shlex
import signal
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphzero as gz
from graphzero._base.memory_sizes import byte_text, peak_memory
from graphzero._base.visible import visible
from graphzero.cli.console import JsonOption, print_facts, print_json, spinner
from graphzero.cli.fanouts import FANOUTS, read_fanouts
from graphzero.train.settings import Settings

if TYPE_CHECKING:
    from graphzero.cli.train_view import TrainView
    from graphzero.train.checkpoints import Checkpoints
    from graphzero.train.run import EpochResult, Run, Step
    from graphzero.train.task import Task
    from graphzero.train.watch import Snapshot, Watch

_MEASURE_EVERY = 0.25  # seconds
_PLAIN = Settings()


def _option(help: str, otherwise: Any) -> Any:
    """Make an option that is ``None`` if it is not given, because a resumed run has its own values."""
    return typer.Option(help=f"{help}. Default: {otherwise}.")


def train(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A data set folder.", show_default=False)],
    model: Annotated[str | None, _option("sage, gcn or gat", _PLAIN.model)] = None,
    fanouts: Annotated[
        str | None, _option("Neighbours to draw per node at each hop, -1 for all; one layer per hop", FANOUTS)
    ] = None,
    hidden: Annotated[int | None, _option("Width of the layers", _PLAIN.hidden)] = None,
    heads: Annotated[int | None, _option("Attention heads of gat", _PLAIN.heads)] = None,
    dropout: Annotated[float | None, _option("Share of values to drop between layers", _PLAIN.dropout)] = None,
    epochs: Annotated[int | None, _option("Number of epochs", _PLAIN.epochs)] = None,
    batch_size: Annotated[int | None, _option("Training nodes per step", _PLAIN.batch_size)] = None,
    learning_rate: Annotated[float | None, _option("Adam's learning rate", _PLAIN.learning_rate)] = None,
    weight_decay: Annotated[float | None, _option("Adam's weight decay", _PLAIN.weight_decay)] = None,
    target: Annotated[
        str | None, typer.Option(metavar="TYPE", help="The node type to classify, if several have labels.")
    ] = None,
    memory: Annotated[
        str | None, _option("Memory limit of the loaders, such as 4GB", "half of what is available")
    ] = None,
    reader: Annotated[str | None, _option("How to read features: auto, mmap, direct or pread", _PLAIN.reader)] = None,
    threads: Annotated[int | None, _option("Threads of the loaders", "one per core")] = None,
    device: Annotated[str | None, _option("Device of the model, such as cuda", _PLAIN.device)] = None,
    seed: Annotated[int | None, _option("The same seed trains the same weights", _PLAIN.seed)] = None,
    checkpoints: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write checkpoints here: last.pt and best.pt.")
    ] = None,
    every: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How often to write a checkpoint, besides after each epoch.")
    ] = 60,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the checkpoint; options not given keep their values.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Train a graph neural network to classify nodes, with the data on disk."""
    begin = time.perf_counter()
    options = {
        "model": model, "fanouts": None if fanouts is None else tuple(read_fanouts(fanouts)), "hidden": hidden,
        "heads": heads, "dropout": dropout, "epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate,
        "weight_decay": weight_decay, "memory": memory, "reader": reader, "threads": threads, "device": device,
        "seed": seed,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    with gz.open(folder) as data:
        run, kept = (_resumed if resume else _begun)(data, target, given, checkpoints)
        try:
            facts = _trained(run, kept, every, json=json)
            document = _document(run, facts, kept, time.perf_counter() - begin)
        finally:
            run.close()
    if json:
        print_json(document)
    else:
        print_facts(os.fspath(folder), _rows(document))
    return 0


def _begun(
    data: gz.Dataset, target: str | None, given: dict[str, Any], folder: Path | None
) -> tuple[Run, Checkpoints | None]:
    settings = Settings(**given)
    task = _found(data, target)
    _import_torch()
    from graphzero.train.checkpoints import Checkpoints, last_path
    from graphzero.train.run import Run

    if folder is not None and os.path.exists(last_path(folder)):
        raise ValueError(
            f"{last_path(folder)}: is there already; add --resume to go on from it, or give another folder"
        )
    run = Run(task, settings)
    return run, None if folder is None else Checkpoints(folder)


def _resumed(
    data: gz.Dataset, target: str | None, given: dict[str, Any], folder: Path | None
) -> tuple[Run, Checkpoints | None]:
    """Make the rest of a run. Options that are not given keep their values."""
    if folder is None:
        raise ValueError("--resume: expected --checkpoints DIR with it, the folder that holds the checkpoint")
    _import_torch()
    from graphzero.train.checkpoints import Checkpoints, check_same, last_path, load, resume
    from graphzero.train.run import Run
    from graphzero.train.saved_states import check_weights

    if not os.path.exists(last_path(folder)):
        raise ValueError(f"{last_path(folder)}: is not there; leave out --resume to begin")
    checkpoint = load(last_path(folder))
    settings = replace(checkpoint.settings, **given)
    check_same(checkpoint, data, checkpoint.target if target is None else target, settings)
    task = _found(data, checkpoint.target)
    check_weights(checkpoint.path, checkpoint.state, task, settings)
    run = Run(task, settings)
    try:
        resume(run, checkpoint)
    except BaseException:
        run.close()
        raise
    return run, Checkpoints(folder)


def _found(data: gz.Dataset, target: str | None) -> Task:
    from graphzero.train.task import find_task

    with spinner("reading labels"):
        return find_task(data, target)


def _import_torch() -> None:
    try:
        with spinner("loading torch"):
            importlib.import_module("torch")
            importlib.import_module("torch_geometric")
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "torch_geometric"):
            raise
        raise ValueError(
            f"train needs PyTorch and PyG, and {error.name} is not installed; pip install torch torch-geometric"
        ) from None


@dataclass
class _Facts:
    """What a training was like."""

    test_accuracy: float | None = None
    hit_rate: float | None = None
    device_bytes: int = 0
    peak_anonymous: int = 0
    peak_held: int = 0


def _trained(run: Run, kept: Checkpoints | None, every: float, *, json: bool) -> _Facts:
    from graphzero.train.run import EpochResult
    from graphzero.train.watch import Watch

    facts = _Facts()
    is_live = sys.stderr.isatty()
    tells_lines = not json and not (is_live and sys.stdout.isatty())
    watch = Watch(run, page_cache=is_live)
    measured = saved = time.monotonic()
    with (
        _view(run) if is_live else nullcontext() as view,
        _interrupts(view, wanted=kept is not None) as interrupts,
        closing(_events(run, facts)) as events,
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
        words = ["graphzero", "train", run.task.data.path, "--checkpoints", kept.folder, "--resume"]
        print(visible(f"graphzero: checkpoint written; go on with: {shlex.join(words)}"), file=sys.stderr)
        raise KeyboardInterrupt
    facts.hit_rate, facts.device_bytes = snapshot.hit_rate, snapshot.device_bytes
    facts.peak_anonymous, facts.peak_held = watch.peak_anonymous, watch.peak_held
    return facts


def _events(run: Run, facts: _Facts) -> Generator[Step | EpochResult, None, None]:
    yield from run.steps()
    if "test" in run.task.splits:
        run.use_best()
        facts.test_accuracy = yield from run.evaluate("test")


def _view(run: Run) -> TrainView:
    from graphzero.cli.train_view import TrainView

    settings = run.settings
    fanouts = ",".join(map(str, settings.fanouts))
    return TrainView(
        f"{run.task.data.path}: {settings.model}, fanouts {fanouts}, {settings.hidden} wide, "
        f"{run.task.num_classes} classes, on {settings.device}",
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
    valid = "" if done.valid_accuracy is None else f", valid {done.valid_accuracy:.1%}"
    rate = done.batches / max(done.seconds, 1e-9)
    return (
        f"epoch {done.epoch + 1}/{epochs}: loss {done.loss:.4f}, train {done.train_accuracy:.1%}{valid}, "
        f"{done.seconds:.1f} s, {rate:.1f} batches/s"
    )


def _document(run: Run, facts: _Facts, kept: Checkpoints | None, seconds: float) -> dict[str, Any]:
    task, best = run.task, run.best
    assert best is not None
    return {
        "path": task.data.path,
        "settings": asdict(run.settings),
        "task": {
            "target": task.target,
            "num_classes": task.num_classes,
            "features": {kind: given and given[0] for kind, given in task.features.items()},
            "splits": task.splits,
        },
        "history": [{**asdict(done), "epoch": done.epoch + 1} for done in run.history],
        "best_epoch": best["epoch"] + 1,
        "valid_accuracy": best["valid_accuracy"],
        "test_accuracy": facts.test_accuracy,
        "seconds": seconds,
        "memory": {
            "budget": run.memory,
            "peak_held": facts.peak_held,
            "peak_anonymous": facts.peak_anonymous,
            "peak_rss": peak_memory(),
            "data": task.data.nbytes,
        },
        "hit_rate": facts.hit_rate,
        "device_bytes": facts.device_bytes,
        "checkpoint": None if kept is None else kept.last,
    }


def _rows(document: dict[str, Any]) -> list[tuple[str, str]]:
    def share(value: float | None) -> str:
        return "not measured" if value is None else f"{value:.1%}"

    memory = document["memory"]
    rows = [
        ("best epoch", f"{document['best_epoch']} of {len(document['history'])}"),
        ("valid accuracy", share(document["valid_accuracy"])),
        ("test accuracy", share(document["test_accuracy"])),
        ("time", f"{document['seconds']:.1f} s"),
        ("loaders", f"{byte_text(memory['peak_held'])} held at most, of {byte_text(memory['budget'])}"),
        ("memory", f"{byte_text(memory['peak_anonymous'])} anonymous at most; the data is {byte_text(memory['data'])}"),
        ("hit rate", share(document["hit_rate"])),
        ("from device", byte_text(document["device_bytes"])),
    ]
    if document["checkpoint"] is not None:
        rows.append(("checkpoint", document["checkpoint"]))
    return rows

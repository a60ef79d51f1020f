"""What ``graphzero train`` says at the end. docs/guide/train-from-the-shell.md lists the JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from graphzero._base.memory_sizes import byte_text, peak_memory
from graphzero.train.settings import HITS_AT

if TYPE_CHECKING:
    from graphzero.cli.train_loop import Facts
    from graphzero.train.checkpoints import Checkpoint, Checkpoints
    from graphzero.train.run import Run

_LINKS = {"auc": "AUC", "mrr": "MRR", "hits": f"hits@{HITS_AT}"}


def training_document(run: Run, facts: Facts, kept: Checkpoints | None, seconds: float) -> dict[str, Any]:
    """Return what there is to say of a training."""
    best = run.best
    assert best is not None
    of_best = asdict(run.history[best["epoch"]])
    valid = {name: value for name, value in of_best.items() if name.startswith("valid_")}
    return {
        "path": run.task.data.path,
        "settings": asdict(run.settings),
        "task": _task(run),
        "history": [{**asdict(done), "epoch": done.epoch + 1} for done in run.history],
        "best_epoch": best["epoch"] + 1,
        **valid,
        **_test(run, valid),
        "seconds": seconds,
        "memory": {
            "budget": run.memory,
            "peak_held": facts.peak_held,
            "peak_anonymous": facts.peak_anonymous,
            "peak_rss": peak_memory(),
            "data": run.task.data.nbytes,
        },
        "hit_rate": facts.hit_rate,
        "device_bytes": facts.device_bytes,
        "checkpoint": None if kept is None else kept.last,
    }


def _test(run: Run, valid: dict[str, Any]) -> dict[str, float | None]:
    found = run.measured.get("test", {})
    return {name.replace("valid_", "test_"): found.get(name.removeprefix("valid_")) for name in valid}


def evaluation_document(run: Run, checkpoint: Checkpoint, seconds: float) -> dict[str, Any]:
    """Return what there is to say of a checkpoint that was measured."""
    return {
        "path": run.task.data.path,
        "settings": asdict(run.settings),
        "task": _task(run),
        "checkpoint": checkpoint.path,
        "trained_on": checkpoint.data,
        "same_data": checkpoint.fingerprint == run.task.data._fingerprint,
        "epochs": checkpoint.epochs,
        **_classes(run),
        **{f"{split}_{name}": value for split, found in run.measured.items() for name, value in found.items()},
        "seconds": seconds,
    }


def _classes(run: Run) -> dict[str, Any]:
    if run.settings.task == "links":
        return {}
    names = run.task.class_names
    return {"class_names": None if names is None else list(names), "left_out": run.task.left_out}


def _task(run: Run) -> dict[str, Any]:
    task = run.task
    return {
        "target": task.target,
        "num_classes": task.num_classes,
        "features": {kind: given and given[0] for kind, given in task.features.items()},
        "splits": task.splits,
    }


def report_of(run: Run, split: str) -> dict[str, Any]:
    """Return precision and recall of each class on the split that was measured last."""
    assert run.class_counts is not None
    names = run.task.class_names or ()
    return {
        "split": split,
        "classes": [
            {"class": one.number, "name": names[one.number] if one.number < len(names) else None}
            | {name: value for name, value in asdict(one).items() if name != "number"}
            for one in run.class_counts.measures()
        ],
    }


def training_rows(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the document of a training as names and values."""
    memory = document["memory"]
    rows = [
        ("best epoch", f"{document['best_epoch']} of {len(document['history'])}"),
        *_measures(document, ("valid", "test")),
        ("time", f"{document['seconds']:.1f} s"),
        ("loaders", f"{byte_text(memory['peak_held'])} held at most, of {byte_text(memory['budget'])}"),
        ("memory", f"{byte_text(memory['peak_anonymous'])} anonymous at most; the data is {byte_text(memory['data'])}"),
        ("hit rate", _share(document["hit_rate"])),
        ("from device", byte_text(document["device_bytes"])),
    ]
    if document["checkpoint"] is not None:
        rows.append(("checkpoint", document["checkpoint"]))
    return [*rows, *_predictions(document)]


def evaluation_rows(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the document of an evaluation as names and values."""
    rows = [("checkpoint", document["checkpoint"]), ("epochs", str(document["epochs"]))]
    if not document["same_data"]:
        rows.append(("trained on", f"{document['trained_on']}, which holds other data"))
    for split, classes in document.get("left_out", {}).items():
        names = ", ".join(classes)
        rows.append(("left out", f"{sum(classes.values()):,} nodes of {split} of classes it does not know: {names}"))
    splits = [split for split in ("train", "valid", "test") if f"{split}_accuracy" in document]
    rows += [*_measures(document, splits), ("time", f"{document['seconds']:.1f} s")]
    return [*rows, *_predictions(document)]


def _measures(document: dict[str, Any], splits: Any) -> list[tuple[str, str]]:
    if document["settings"]["task"] == "nodes":
        return [(f"{split} accuracy", _share(document[f"{split}_accuracy"])) for split in splits]
    return [
        (f"{split} {name}", "not measured" if (value := document[f"{split}_{key}"]) is None else f"{value:.4f}")
        for split in splits
        for key, name in _LINKS.items()
    ]


def _predictions(document: dict[str, Any]) -> list[tuple[str, str]]:
    if "predictions" not in document:
        return []
    found = document["predictions"]
    return [("predictions", f"{found['num_nodes']:,} nodes in {found['path']}")]


def _share(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.1%}"


def report_lines(report: dict[str, Any]) -> list[str]:
    """Return a table of classes as lines."""
    cells = [("class", "precision", "recall", "f1", "nodes")]
    for one in report["classes"]:
        name = str(one["class"]) if one["name"] is None else one["name"]
        shares = ("-" if one[key] is None else f"{one[key]:.1%}" for key in ("precision", "recall", "f1"))
        cells.append((name, *shares, f"{one['support']:,}"))  # type: ignore[arg-type]
    first, *others = (max(len(row[column]) for row in cells) for column in range(5))
    return [
        f"  {row[0]:<{first}}" + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], others, strict=True))
        for row in cells
    ]

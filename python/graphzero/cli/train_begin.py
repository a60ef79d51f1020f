"""The runs of ``graphzero train``: a new one, the rest of one, or one whose weights are only measured."""

from __future__ import annotations

import importlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphzero as gz
from graphzero._base.argument_errors import value_error
from graphzero.cli.console import spinner
from graphzero.train.settings import FREE, Settings

if TYPE_CHECKING:
    from graphzero.train.checkpoints import Checkpoint, Checkpoints
    from graphzero.train.link_task import LinkTask
    from graphzero.train.run import Run
    from graphzero.train.task import Task

OF_LINKS = ("held_out", "negatives", "rank_negatives")


def begun(
    data: gz.Dataset, target: str | None, given: dict[str, Any], folder: Path | None
) -> tuple[Run, Checkpoints | None]:
    """Make a new run. ``target`` is a node type, or for links an edge type."""
    settings = Settings(**given)
    if settings.task == "nodes":
        _refuse(given, OF_LINKS, "--task nodes, which predicts no edges")
    task = _found(data, target, settings)
    import_torch()
    from graphzero.train.checkpoints import Checkpoints, last_path

    if folder is not None and os.path.exists(last_path(folder)):
        raise ValueError(
            f"{last_path(folder)}: is there already; add --resume to go on from it, or give another folder"
        )
    run = _run(task, settings)
    return run, None if folder is None else Checkpoints(folder)


def resumed(
    data: gz.Dataset, target: str | None, given: dict[str, Any], folder: Path | None
) -> tuple[Run, Checkpoints | None]:
    """Make the rest of a run. Options that are not given keep their values."""
    if folder is None:
        raise ValueError("--resume: expected --checkpoints DIR with it, the folder that holds the checkpoint")
    import_torch()
    from graphzero.train.checkpoints import Checkpoints, check_same, last_path, load, resume
    from graphzero.train.saved_states import check_weights

    if not os.path.exists(last_path(folder)):
        raise ValueError(f"{last_path(folder)}: is not there; leave out --resume to begin")
    checkpoint = load(last_path(folder))
    settings = replace(checkpoint.settings, **given)
    check_same(checkpoint, data, checkpoint.target if target is None else target, settings)
    task = _found(data, checkpoint.target, settings)
    check_weights(checkpoint.path, checkpoint.state, task, settings)
    run = _run(task, settings)
    try:
        resume(run, checkpoint)
    except BaseException:
        run.close()
        raise
    return run, Checkpoints(folder)


def loaded(data: gz.Dataset, target: str | None, given: dict[str, Any], path: Path) -> tuple[Run, Checkpoint]:
    """Make a run with the weights of a checkpoint: a file, or a folder, of which these are the best."""
    fixed = [name for name in given if name not in FREE or name == "epochs"]
    _refuse(given, fixed, "--eval, which takes it from the checkpoint")
    import_torch()
    from graphzero.train.checkpoints import load
    from graphzero.train.known_classes import with_known_classes
    from graphzero.train.saved_states import check_model
    from graphzero.train.task import Task

    checkpoint = load(os.path.join(path, "best.pt") if os.path.isdir(path) else path)
    settings = replace(checkpoint.settings, **given)
    task = _found(data, checkpoint.target if target is None else target, settings)
    if isinstance(task, Task):
        task = with_known_classes(task, checkpoint.path, checkpoint.num_classes, checkpoint.class_names)
    weights = checkpoint.state.get("model") if isinstance(checkpoint.state, dict) else None
    try:
        check_model(checkpoint.path, weights, task, settings)
    except gz.FormatError as error:
        if checkpoint.fingerprint == data._fingerprint:
            raise
        why = str(error).removeprefix(f"{checkpoint.path}: is a damaged checkpoint: ")
        raise ValueError(
            f"{checkpoint.path}: was trained on {checkpoint.data}, and its weights do not fit {data.path}: {why}; "
            "give it data with the same features and types"
        ) from None
    run = _run(task, settings)
    run.model.load_state_dict(checkpoint.state["model"])
    return run, checkpoint


def _refuse(given: dict[str, Any], names: Any, reason: str) -> None:
    for name in names:
        if name in given:
            raise value_error(name, f"expected none with {reason}, found {given[name]}")


def _found(data: gz.Dataset, target: str | None, settings: Settings) -> Task | LinkTask:
    if settings.task == "links":
        from graphzero.train.link_task import find_link_task

        with spinner("listing edges"):
            return find_link_task(data, settings, target)
    from graphzero.train.task import find_task

    with spinner("reading labels"):
        return find_task(data, target)


def _run(task: Any, settings: Settings) -> Run:
    if settings.task == "links":
        from graphzero.train.link_run import LinkRun

        return LinkRun(task, settings)
    from graphzero.train.run import Run

    return Run(task, settings)


def import_torch() -> None:
    """Import what takes long, with a spinner, or say how to get it."""
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

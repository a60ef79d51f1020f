"""Checkpoints: a folder with ``last.pt``, from which a run goes on, and ``best.pt``, the weights to keep."""

from __future__ import annotations

import io
import os
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch

from graphzero._base.argument_errors import value_error
from graphzero._core import FormatError
from graphzero._files.folder import replace_file
from graphzero._files.storage import path_here, target_here
from graphzero.convert.edge_sources.torch_files import load_pt
from graphzero.dataset import Dataset
from graphzero.train.run import Run
from graphzero.train.saved_states import check_state
from graphzero.train.settings import FREE, Settings

_KIND = "graphzero checkpoint"
_SCHEMA = 1
_RENAMED = {"hear": "messages", "keep": "own"}  # modules of a model over several types
_PARTS = ("data", "fingerprint", "target", "num_classes", "epochs", "state", "class_names")


@dataclass(frozen=True)
class Checkpoint:
    """What a file holds. ``state`` is ``Run.state_dict()``; ``best.pt`` has the best weights in its place."""

    path: str
    settings: Settings
    data: str
    fingerprint: int
    target: str
    num_classes: int
    epochs: int
    state: dict[str, Any]
    class_names: list[str] | None


class Checkpoints:
    """Writes the checkpoints of a run into a folder, which is made if it is not there.

    A file is written beside the one it replaces and then takes its name, so that whatever ends the process leaves
    one that can be loaded. A link in its place is replaced, not followed.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = target_here(folder)
        self._best_epoch: int | None = None
        os.makedirs(self.folder, exist_ok=True)

    @property
    def last(self) -> str:
        """The file from which a run goes on."""
        return last_path(self.folder)

    def save(self, run: Run) -> None:
        """Write where the run is now, and its best weights if they are new."""
        if run.best is not None and run.best["epoch"] != self._best_epoch:
            _write(os.path.join(self.folder, "best.pt"), _document(run, run.best))
            self._best_epoch = run.best["epoch"]
        _write(self.last, _document(run, run.state_dict()))


def last_path(folder: str | os.PathLike[str]) -> str:
    """Return the file from which a run goes on."""
    return os.path.join(os.fspath(folder), "last.pt")


def load(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint. Nothing in it is run: it holds tensors, numbers and names."""
    name = path_here(path)
    try:
        document = load_pt(name)
    except FormatError as error:
        raise FormatError(
            f"{name}: is no checkpoint, or a damaged one: {str(error).removeprefix(f'{name}: ')}"
        ) from None
    kind, schema = (document.get(key) if isinstance(document, dict) else None for key in ("kind", "schema"))
    if not isinstance(kind, str) or kind != _KIND:
        raise FormatError(f"{name}: expected a checkpoint of graphzero train, found another file of torch")
    if not isinstance(schema, int) or schema != _SCHEMA:
        raise FormatError(
            f"{name}: bad schema: expected {_SCHEMA}, found {schema!r}; another version of graphzero wrote it"
        )
    try:
        document.setdefault("class_names", None)  # before 0.3
        settings = Settings(**{**document["settings"], "fanouts": tuple(document["settings"]["fanouts"])})
        found = Checkpoint(name, settings, *(document[part] for part in _PARTS))
        _rename_weights(found.state)
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{name}: is a damaged checkpoint: {error}") from None
    for part, kind in (("data", str), ("fingerprint", int), ("target", str), ("num_classes", int), ("epochs", int)):
        value = getattr(found, part)
        if not isinstance(value, kind):
            raise FormatError(
                f"{name}: is a damaged checkpoint: {part}: expected {kind.__name__}, found {type(value).__name__}"
            )
    names = found.class_names
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise FormatError(
            f"{name}: is a damaged checkpoint: class_names: expected a list of names, found {names!r:.80}"
        )
    return found


def _rename_weights(state: Any) -> None:
    """Give weights that were saved before 0.3 the names that their modules have now."""
    best = state.get("best") if isinstance(state, dict) else None
    for holder in (state, best):
        if not isinstance(holder, dict) or not isinstance(weights := holder.get("model"), dict):
            continue
        if all(isinstance(name, str) for name in weights):  # a file may claim anything; the names are checked later
            parts = [name.partition(".") for name in weights]
            names = ["".join((_RENAMED.get(first, first), *rest)) for first, *rest in parts]
            holder["model"] = dict(zip(names, weights.values(), strict=True))


def resume(run: Run, checkpoint: Checkpoint) -> None:
    """Make a new run go on where the checkpoint was taken."""
    check_state(checkpoint.path, checkpoint.state, run)
    try:
        run.load_state_dict(checkpoint.state)
    except (RuntimeError, TypeError, ValueError) as error:  # of torch's generator, and of the loader
        raise FormatError(f"{checkpoint.path}: is a damaged checkpoint: {error}") from error


def check_same(checkpoint: Checkpoint, data: Dataset, target: str, settings: Settings) -> None:
    """Refuse to go on with another data set, target or model than that of the checkpoint."""
    path = checkpoint.path
    if checkpoint.fingerprint != data._fingerprint:
        changed = checkpoint.data == os.path.abspath(data.path)
        raise ValueError(
            f"{path}: belongs to {checkpoint.data}{' as it was before it changed' if changed else ''}, and "
            f"{data.path} holds other data; train anew, with another folder of checkpoints"
        )
    known = {
        field.name: (getattr(checkpoint.settings, field.name), getattr(settings, field.name))
        for field in fields(Settings)
        if field.name not in FREE
    }
    known["edge_type" if settings.task == "links" else "target"] = (checkpoint.target, target)
    for name, (then, now) in known.items():
        if then != now:
            raise value_error(
                name,
                f"expected {_text(then)}, as in {path}, found {_text(now)}; leave it as it was, or train anew "
                "with another folder of checkpoints",
            )


def _text(value: Any) -> str:
    return (
        ",".join(map(str, value))
        if isinstance(value, tuple)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def _document(run: Run, state: dict[str, Any]) -> dict[str, Any]:
    data = run.task.data
    settings = asdict(run.settings)
    return {
        "kind": _KIND,
        "schema": _SCHEMA,
        "settings": {**settings, "fanouts": list(settings["fanouts"])},
        "data": os.path.abspath(data.path),
        "fingerprint": data._fingerprint,
        "target": run.task.target,
        "num_classes": run.task.num_classes,
        "class_names": None if run.task.class_names is None else list(run.task.class_names),
        "epochs": len(run.history),
        "state": state,
    }


def _write(path: str, document: dict[str, Any]) -> None:
    buffer = io.BytesIO()
    torch.save(document, buffer)
    replace_file(path, buffer.getbuffer())

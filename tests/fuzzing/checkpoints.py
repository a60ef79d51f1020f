"""Checkpoints of ``graphzero train``, which ``--resume`` goes on from."""

import contextlib
import io
import shutil

import numpy as np
import torch

import graphzero as gz
from fuzzing import tree_changes, zip_changes
from fuzzing.tensors import change_member
from graphzero.cli.command import run

PLAIN = ["--fanouts", "2", "--hidden", "4", "--epochs", "2", "--batch-size", "8", "--memory", "64MB", "--threads", "1"]


class Target:
    """A training of one epoch, that goes on for another."""

    def __init__(self, folder):
        rng = np.random.default_rng(2)
        self._data, self._kept = str(folder / "data"), folder / "kept"
        with gz.DatasetWriter(self._data) as writer:
            writer.add_nodes(
                {"x": rng.normal(size=(20, 3)).astype(np.float32), "y": rng.integers(0, 3, 20)},
                label="y",
                num_classes=3,
            )
            writer.add_edges(rng.integers(0, 20, 50), rng.integers(0, 20, 50))
            writer.add_split("train", np.arange(12))
            writer.add_split("valid", np.arange(12, 16))
        first = ["train", self._data, "--checkpoints", str(self._kept), *PLAIN, "--json"]
        first[first.index("--epochs") + 1] = "1"
        assert told(first) == (0, "")
        self._original = (self._kept / "last.pt").read_bytes()
        self._document = torch.load(self._kept / "last.pt", weights_only=True)

    def __call__(self, rng):
        if rng.random() < 0.5:
            data = zip_changes.change(self._original, rng, change_member)
        else:
            data = saved(tree_changes.change(self._document, rng))
        shutil.rmtree(self._kept)
        self._kept.mkdir()
        (self._kept / "last.pt").write_bytes(data)
        code, errors = told(
            ["train", self._data, "--checkpoints", str(self._kept), "--resume", "--epochs", "2", "--json"]
        )
        if code == 0:
            return "read"
        assert code in (1, 2, 3), f"exit {code}: {errors}"
        assert errors.startswith("graphzero: "), errors
        assert "--debug shows where" not in errors, errors
        return "refused"


def told(arguments):
    """Run the command, and return its exit code and what it said on standard error."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        code = run(arguments)
    return code, errors.getvalue()


def saved(document):
    """The document as torch writes it; something that cannot be written is left out."""
    buffer = io.BytesIO()
    try:
        torch.save(document, buffer)
    except (RecursionError, UnicodeError):
        buffer = io.BytesIO()
        torch.save([], buffer)
    return buffer.getvalue()

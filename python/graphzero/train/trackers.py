"""Epochs in TensorBoard and in Weights & Biases. Each is imported when it is asked for."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any

from graphzero._base.argument_errors import Argument, error_of
from graphzero.train.epoch_log import Row


class TensorBoard:
    """Writes a scalar for each number of an epoch into a folder that TensorBoard shows.

    ``next_epoch`` is the first to come: what the folder has of it and of later ones, TensorBoard leaves out.
    """

    def __init__(self, folder: str | os.PathLike[str], next_epoch: int = 1) -> None:
        module = _imported("torch.utils.tensorboard", "tensorboard", "TensorBoard")
        self._writer = module.SummaryWriter(os.fspath(folder), purge_step=next_epoch)

    def write(self, row: Row) -> None:
        """Add an epoch."""
        for name, value in _numbers(row).items():
            self._writer.add_scalar(name, value, row["epoch"])
        self._writer.flush()

    def close(self) -> None:
        """Close the files."""
        self._writer.close()


class Wandb:
    """Sends each epoch to a project of Weights & Biases, with the settings of the training."""

    def __init__(self, project: str, settings: Mapping[str, Any]) -> None:
        self._run = _imported("wandb", "wandb", "Weights & Biases").init(project=project, config=dict(settings))

    def write(self, row: Row) -> None:
        """Send an epoch."""
        self._run.log(_numbers(row), step=row["epoch"])

    def close(self) -> None:
        """Send what is left."""
        self._run.finish()


def _numbers(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "epoch" and value is not None}


def _imported(module: str, option: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise error_of(
            ImportError,
            Argument(option),
            f": needs {name}, which cannot be imported: pip install 'graphzero[{option}]' ({error})",
        ) from error

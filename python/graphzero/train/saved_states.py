"""What a checkpoint must hold for a run to go on from it: all that it claims is compared with the run first."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from graphzero._core import FormatError
from graphzero.train.link_task import LinkTask
from graphzero.train.models import make_model
from graphzero.train.run import EpochResult, Run, Sums
from graphzero.train.settings import Settings
from graphzero.train.task import Task

_MOST_STEPS = 2.0**53  # Adam raises to this power: a negative one would overflow
_MOMENTS = ("exp_avg", "exp_avg_sq")  # of Adam, beside its step


def check_weights(path: str, state: Any, task: Task | LinkTask, settings: Settings) -> None:
    """Refuse weights that the model of these settings has not, before it is made: a file may claim any width."""
    check = _Checker(path)
    check.names("state", state, ("model", "optimizer", "random", "cuda_random", "sums", "loader", "history", "best"))
    check_model(path, state["model"], task, settings)


def check_model(path: str, model: Any, task: Task | LinkTask, settings: Settings) -> None:
    """Refuse weights of another model."""
    check = _Checker(path)
    saved = check.of_type("model", model, dict, "weights by name")
    check.expect(
        len(settings.fanouts) <= len(saved), "model", f"{len(settings.fanouts)} layers", f"{len(saved)} weights"
    )
    try:
        with torch.device("meta"):
            own = make_model(task, settings)
    except (OverflowError, RuntimeError, TypeError) as error:  # sizes that no tensor can have
        raise FormatError(f"{path}: is a damaged checkpoint: {error}") from None
    check.weights("model", saved, own.state_dict())


def check_state(path: str, state: dict[str, Any], run: Run) -> None:
    """Refuse what a run with these weights would not have saved."""
    check = _Checker(path)
    check.optimizer(state["optimizer"], list(run.model.parameters()))
    own = torch.get_rng_state()
    check.tensor("random", state["random"], own.shape, own.dtype)
    if state["cuda_random"] is not None:
        check.of_type("cuda_random", state["cuda_random"], Tensor, "a tensor")
    num_batches = len(run.loader)
    check.sums(state["sums"], num_batches)
    is_amid = 0 < state["sums"]["batches"] < num_batches
    check.expect(isinstance(state["loader"], dict) == is_amid, "loader", "a place within an epoch", state["loader"])
    check.expect(is_amid or state["loader"] is None, "loader", "none at the end of an epoch", state["loader"])
    measured = "valid" in run.task.splits
    history = check.of_type("history", state["history"], list, "a list of epochs")
    for number, done in enumerate(history):
        check.epoch(f"history[{number}]", done, number, measured, run.result_type)
    check.expect((state["best"] is None) == (not history), "best", "the best of the epochs", state["best"])
    if history:
        check.names("best", state["best"], ("epoch", run.measure, "model"))
        best = state["best"]
        check.count("best.epoch", best["epoch"], len(history) - 1)
        check.accuracy(f"best.{run.measure}", best[run.measure], measured)
        check.weights("best.model", best["model"], run.model.state_dict())


class _Checker:
    """Says which part of which checkpoint is damaged."""

    def __init__(self, path: str) -> None:
        self._path = path

    def expect(self, holds: bool, place: str, expected: str, found: Any) -> None:
        if not holds:
            text = repr(found) if isinstance(found, (int, float, str)) else type(found).__name__
            raise FormatError(f"{self._path}: is a damaged checkpoint: {place}: expected {expected}, found {text[:80]}")

    def of_type(self, place: str, value: Any, kind: type, expected: str) -> Any:
        self.expect(isinstance(value, kind) and not isinstance(value, bool), place, expected, value)
        return value

    def names(self, place: str, value: Any, names: Any) -> None:
        self.of_type(place, value, dict, "values by name")
        self.expect(set(value) == set(names), place, f"{', '.join(names)}", ", ".join(map(str, value)))

    def count(self, place: str, value: Any, most: int | None = None) -> None:
        self.of_type(place, value, int, "a count")
        self.expect(value >= 0 and (most is None or value <= most), place, f"0 to {most or 'any number'}", value)

    def number(self, place: str, value: Any) -> None:
        self.of_type(place, value, float, "a number")
        self.expect(math.isfinite(value), place, "a finite number", value)

    def accuracy(self, place: str, value: Any, measured: bool) -> None:
        if not measured:
            self.expect(value is None, place, "none, as there is no split valid", value)
            return
        self.number(place, value)
        self.expect(0 <= value <= 1, place, "a share from 0 to 1", value)

    def tensor(self, place: str, value: Any, shape: Any, dtype: torch.dtype | None = None) -> None:
        self.of_type(place, value, Tensor, "a tensor")
        self.expect(
            value.layout == torch.strided and not value.is_quantized, place, "a dense tensor", str(value.layout)
        )
        self.expect(value.shape == shape, place, f"shape {tuple(shape)}", str(tuple(value.shape)))
        fits = value.dtype == dtype if dtype is not None else value.is_floating_point()
        self.expect(fits, place, str(dtype or "floating-point numbers"), str(value.dtype))

    def weights(self, place: str, saved: Any, own: dict[str, Tensor]) -> None:
        self.names(place, saved, list(own))
        for name, weight in own.items():
            self.tensor(f"{place}.{name}", saved[name], weight.shape, weight.dtype)

    def optimizer(self, saved: Any, parameters: list[Tensor]) -> None:
        self.names("optimizer", saved, ("state", "param_groups"))
        moments = self.of_type("optimizer.state", saved["state"], dict, "moments by parameter")
        for number in moments:  # parameters of node types that do not reach the target have none
            place, last = f"optimizer.state[{number!r}]", len(parameters) - 1
            self.expect(type(number) is int and 0 <= number <= last, place, f"a parameter of 0 to {last}", number)
            parameter = parameters[number]
            self.names(place, moments[number], ("step", *_MOMENTS))
            self.tensor(f"{place}.step", moments[number]["step"], ())
            step = float(moments[number]["step"])
            self.expect(0 <= step <= _MOST_STEPS, f"{place}.step", f"0 to {_MOST_STEPS:.0f}", step)
            for name in _MOMENTS:
                self.tensor(f"{place}.{name}", moments[number][name], parameter.shape)

    def sums(self, saved: Any, num_batches: int) -> None:
        self.names("sums", saved, [field.name for field in fields(Sums)])
        for name in ("loss", "seconds"):
            self.number(f"sums.{name}", saved[name])
        self.count("sums.batches", saved["batches"], num_batches)
        self.count("sums.seeds", saved["seeds"])
        self.expect(saved["seeds"] >= saved["batches"], "sums.seeds", "a seed for each batch", saved["seeds"])
        self.count("sums.right", saved["right"], saved["seeds"])

    def epoch(self, place: str, saved: Any, number: int, measured: bool, kind: type[EpochResult]) -> None:
        names = [field.name for field in fields(kind)]
        self.names(place, saved, names)
        self.count(f"{place}.epoch", saved["epoch"])
        self.expect(saved["epoch"] == number, f"{place}.epoch", str(number), saved["epoch"])
        for name in ("loss", "seconds"):
            self.number(f"{place}.{name}", saved[name])
        self.accuracy(f"{place}.train_accuracy", saved["train_accuracy"], True)
        for name in names:
            if name.startswith("valid_"):
                self.accuracy(f"{place}.{name}", saved[name], measured)
        self.count(f"{place}.batches", saved["batches"])

"""A training: epochs over batches from disk, reported step by step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from graphzero import _core
from graphzero._base.integers import as_seed
from graphzero._base.memory_sizes import budget_for_shares, byte_count, pipeline_budget
from graphzero._inputs.attributes import Attribute, Attributes
from graphzero.graph import as_direction
from graphzero.loaders import NeighborLoader
from graphzero.loaders._device.transfer import as_device
from graphzero.loaders.loader import Loader
from graphzero.train.class_counts import ClassCounts
from graphzero.train.models import make_model
from graphzero.train.settings import Settings
from graphzero.train.task import Task

# Loaders that train and that evaluate live side by side. Rows that stay in memory help the first more; the second
# takes smaller batches, which the measure does not depend on, and no less than it can work with.
_TO_EVALUATE = 0.25
_LEAST_TO_EVALUATE = 32_000_000


@dataclass(frozen=True)
class Step:
    """A batch is done. Sums are over the batches of this split in this epoch so far."""

    split: str
    epoch: int
    batch: int
    num_batches: int
    loss: float
    accuracy: float


@dataclass(frozen=True)
class EpochResult:
    """An epoch is done. ``valid_accuracy`` is ``None`` where there is no split to measure it on."""

    epoch: int
    loss: float
    train_accuracy: float
    valid_accuracy: float | None
    batches: int
    seconds: float

    @property
    def valid_text(self) -> str | None:
        """How good the model was on the split valid, as people read it."""
        return None if self.valid_accuracy is None else f"{self.valid_accuracy:.1%}"


@dataclass
class Sums:
    """What an epoch over a split has added up so far."""

    batches: int = 0
    loss: float = 0.0
    right: int = 0
    seeds: int = 0
    seconds: float = 0.0

    def add(self, loss: Tensor, guesses: Tensor, labels: Tensor) -> None:
        self.batches += 1
        self.loss += loss.item()
        self.right += int((guesses == labels).sum())
        self.seeds += len(labels)


@dataclass
class Run:
    """Trains a model on a task.

    Iterate over ``steps()``; in between, ``state_dict()`` is all that a run with the same task and settings
    needs to go on right there, and ends with the same weights as if it had never stopped. Random numbers are those
    of torch's own generator, which the run seeds: one run at a time.

    ``num_batches`` has the number of batches of each split, ``measured`` all that the last ``evaluate()`` of a split
    found, by name, and ``class_counts`` what it found of each class.
    """

    # What an epoch ends with, and which part of it says how good the weights are.
    result_type: ClassVar[type[EpochResult]] = EpochResult
    measure: ClassVar[str] = "valid_accuracy"

    task: Task
    settings: Settings
    history: list[EpochResult] = field(default_factory=list)
    best: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        settings = self.settings
        self._device = as_device(settings.device)
        torch.manual_seed(as_seed(settings.seed))
        self.model = make_model(self.task, settings).to(self._device)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        graphs = [edge.graph for edge in self.task.data.edges.values()]
        arrays = [
            array for graph in graphs for array in graph._core.drawn_from(as_direction("in"), False, False, False)
        ]
        beside = sum(length for _, length in arrays)
        self.memory = pipeline_budget(beside) if settings.memory is None else byte_count(settings.memory)
        self._shares = self._shares_of(self.memory)
        self.num_batches = {split: self._try(split) for split in self._shares}
        self.loader = self._loader("train", trains=True)
        self._measuring: Loader | None = None
        self._sums = Sums()
        self.measured: dict[str, dict[str, float]] = {}
        self.class_counts: ClassCounts | None = None

    def _shares_of(self, memory: int) -> dict[str, int]:
        measured = [split for split in self.task.splits if split != "train"]
        if not measured:
            return {"train": memory}
        to_evaluate = int(max(memory * _TO_EVALUATE, min(_LEAST_TO_EVALUATE, memory / 2)))
        return {"train": memory - to_evaluate, **dict.fromkeys(measured, to_evaluate)}

    def _try(self, split: str) -> int:
        """Take a batch, so that a loader with too little memory fails now, not after the first epoch."""
        loader = self._loader(split, trains=split == "train", cache=0, ahead=1)
        try:
            next(iter(loader))
            return len(loader)
        except _core.BudgetTooSmall as error:
            whose = f"split {split}"
            raise budget_for_shares(error, self.memory, lambda memory: self._shares_of(memory)[split], whose) from None
        finally:
            loader.close()

    def _loader(self, split: str, *, trains: bool, **more: Any) -> Loader:
        return self._node_loader(split, trains=trains, labels="seeds", **more)

    def _node_loader(self, split: str | None, *, trains: bool, **more: Any) -> Loader:
        task = self.task
        nodes = (task.target, split) if task.data.is_hetero else split
        options = {**self._loader_options(trains), **more}
        return NeighborLoader(task.data, list(self.settings.fanouts), input_nodes=nodes, **options)

    @property
    def memory_to_measure(self) -> int:
        """The share of the memory that loaders which do not train have; all of it, if nothing is measured."""
        return next((share for split, share in self._shares.items() if split != "train"), self.memory)

    def _loader_options(self, trains: bool) -> dict[str, Any]:
        """Return what all loaders of a training have in common."""
        task, settings = self.task, self.settings
        return {
            "features": Attributes(
                Attribute(given[0], kind, task.data.nodes[kind][given[0]])
                for kind, given in task.features.items()
                if given is not None
            ),
            "batch_size": settings.batch_size if trains else max(1, settings.batch_size // 4),
            "shuffle": trains,
            "seed": settings.seed,
            "memory": self._shares["train"] if trains else self.memory_to_measure,
            "reader": settings.reader,
            "threads": settings.threads,
            "device": self._device,
            "form": "pyg",
        }

    @property
    def loaders(self) -> list[Loader]:
        """The loaders that hold memory now: the one that trains and, while a split is measured, the one for that."""
        return [self.loader] if self._measuring is None else [self.loader, self._measuring]

    def steps(self) -> Iterator[Step | EpochResult]:
        """Train what is left of the epochs."""
        while len(self.history) < self.settings.epochs:
            if self._sums.batches < len(self.loader):  # else the run went on during its evaluation
                yield from self._train()
            valid, sums = None, self._sums
            if "valid" in self.task.splits:
                valid = yield from self.evaluate("valid")
            done = self._result(sums, valid)
            self.history.append(done)
            self._sums = Sums()
            if self.best is None or valid is None or valid > self.best[self.measure]:
                weights = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
                self.best = {"epoch": done.epoch, self.measure: valid, "model": weights}
            yield done

    def _result(self, sums: Sums, valid: float | None) -> EpochResult:
        return EpochResult(
            epoch=len(self.history),
            loss=sums.loss / sums.batches,
            train_accuracy=sums.right / sums.seeds,
            valid_accuracy=valid,
            batches=sums.batches,
            seconds=sums.seconds,
        )

    def _train(self) -> Iterator[Step]:
        """Go through the epoch, or the rest of it."""
        self.model.train()
        epoch, sums = len(self.history), self._sums
        begin = time.perf_counter()
        for batch in self.loader:
            self.optimizer.zero_grad()
            scores, labels = self.model(batch), self._labels(batch)
            loss = self._loss(scores, labels)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            sums.add(loss, self._guesses(scores), labels)
            if not math.isfinite(sums.loss):
                raise ValueError(
                    f"loss: expected a number, found {loss.item():g} in batch {sums.batches} of epoch {epoch + 1}; "
                    "lower the learning rate, or look for features that are no numbers"
                )
            sums.seconds += time.perf_counter() - begin
            yield self._step("train", epoch, len(self.loader), sums)
            begin = time.perf_counter()  # watching is not training

    def evaluate(self, split: str) -> Generator[Step, None, float]:
        """Measure the model as it is on a split; the accuracy is what the generator returns."""
        counts = self.class_counts = ClassCounts(self.task.num_classes)

        def count(scores: Tensor, labels: Tensor) -> None:
            counts.add(self._guesses(scores).cpu(), labels.cpu())

        sums = yield from self._go_through(split, count)
        self.measured[split] = {"accuracy": sums.right / sums.seeds}
        return sums.right / sums.seeds

    def _go_through(self, split: str, see: Callable[[Tensor, Tensor], None]) -> Generator[Step, None, Sums]:
        """Score a split with the model as it is; ``see`` is called with the scores and labels of each batch."""
        self.model.eval()
        loader, sums = self._loader(split, trains=False), Sums()
        self._measuring = loader
        try:
            for batch in loader:
                with torch.no_grad():
                    scores, labels = _known(self.model(batch), self._labels(batch))
                    if len(labels):
                        sums.add(self._loss(scores, labels), self._guesses(scores), labels)
                        see(scores, labels)
                yield self._step(split, len(self.history), len(loader), sums)
        finally:
            self._measuring = None
            loader.close()
        return sums

    def scores(self, split: str | None) -> Generator[Tensor, None, None]:
        """Yield the scores of the nodes of a split, or of all nodes of the target's type, in their order."""
        self.model.eval()
        loader = self._node_loader(split, trains=False, labels="seeds")
        self._measuring = loader
        try:
            for batch in loader:
                with torch.no_grad():
                    yield self.model(batch).cpu()
        finally:
            self._measuring = None
            loader.close()

    def _step(self, split: str, epoch: int, num_batches: int, sums: Sums) -> Step:
        loss, accuracy = sums.loss / max(1, sums.batches), sums.right / max(1, sums.seeds)
        return Step(split, epoch, sums.batches, num_batches, loss, accuracy)

    def _loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        return cross_entropy(scores, labels)

    def _guesses(self, scores: Tensor) -> Tensor:
        """Return what the model takes each seed for, to be compared with the labels."""
        return scores.argmax(1)

    def _labels(self, batch: Any) -> Tensor:
        seeds = batch[self.task.target] if self.task.data.is_hetero else batch
        labels: Tensor = seeds.y.reshape(-1).long()
        numbers = self.task.class_numbers
        return labels if numbers is None else torch.from_numpy(numbers).to(labels.device)[labels]

    def use_best(self) -> None:
        """Take the weights of the epoch that was best on the split valid, or of the last if there is none.

        They are to be measured: a state taken now would mix them with the optimizer of the last epoch.
        """
        if self.best is not None:
            self.model.load_state_dict(self.best["model"])

    def state_dict(self) -> dict[str, Any]:
        """Return weights, optimizer, random numbers and place, for a checkpoint.

        As torch's, it holds the tensors that training goes on to change: copy it, or write it at once.
        """
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "cuda_random": torch.cuda.get_rng_state(self._device) if self._device.type == "cuda" else None,
            "sums": asdict(self._sums),
            "loader": self.loader.state_dict() if 0 < self._sums.batches < len(self.loader) else None,
            "history": [asdict(done) for done in self.history],
            "best": self.best,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where ``state`` was taken."""
        self.model.load_state_dict(state["model"])
        # What its settings were is in ours: those of a file may be of another torch, or not to be trusted.
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state["optimizer"]["state"], "param_groups": groups})
        torch.set_rng_state(state["random"])
        if state["cuda_random"] is not None and self._device.type == "cuda":
            torch.cuda.set_rng_state(state["cuda_random"], self._device)
        self._sums = Sums(**state["sums"])
        self.history = [self.result_type(**done) for done in state["history"]]
        self.best = state["best"]
        if state["loader"] is None:
            self.loader.set_epoch(len(self.history) + (self._sums.batches > 0))
        else:
            self.loader.load_state_dict(state["loader"])

    def close(self) -> None:
        """Free the memory of the loader."""
        self.loader.close()


def _known(scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Leave out nodes of classes that the model does not know."""
    known = labels >= 0
    return (scores, labels) if bool(known.all()) else (scores[known], labels[known])

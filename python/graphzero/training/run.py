"""A training: epochs over batches from disk, told step by step to whoever watches."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from graphzero.loaders import NeighborLoader
from graphzero.loaders.loader import Loader
from graphzero.memory import byte_count, pipeline_budget
from graphzero.training.models import make_model
from graphzero.training.settings import Settings
from graphzero.training.task import Task

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


@dataclass
class _Sums:
    """What an epoch over a split has added up so far."""

    batches: int = 0
    loss: float = 0.0
    right: int = 0
    seeds: int = 0
    seconds: float = 0.0

    def add(self, loss: Tensor, scores: Tensor, labels: Tensor) -> None:
        self.batches += 1
        self.loss += loss.item()
        self.right += int((scores.argmax(1) == labels).sum())
        self.seeds += len(labels)


@dataclass
class Run:
    """Trains a model on a task.

    Iterate over :meth:`steps`; in between, :meth:`state_dict` is all that a run with the same task and settings
    needs to go on right there, and ends with the same weights as if it had never stopped.
    """

    task: Task
    settings: Settings
    history: list[EpochResult] = field(default_factory=list)
    best: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        settings = self.settings
        torch.manual_seed(settings.seed)
        self.model = make_model(self.task, settings).to(settings.device)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        memory = pipeline_budget() if settings.memory is None else byte_count(settings.memory)
        self._evaluation_memory = int(max(memory * _TO_EVALUATE, min(_LEAST_TO_EVALUATE, memory / 2)))
        self.loader = self._loader("train", memory - self._evaluation_memory, settings.batch_size, shuffle=True)
        self._sums = _Sums()

    def _loader(self, split: str, memory: int, batch_size: int, *, shuffle: bool = False) -> Loader:
        task, settings = self.task, self.settings
        loader: Loader = NeighborLoader(
            task.data,
            list(settings.fanouts),
            input_nodes=(task.target, split) if task.data.is_hetero else split,
            features=sorted({given[0] for given in task.features.values() if given is not None}),
            edge_features=[],
            labels="seeds",
            batch_size=batch_size,
            shuffle=shuffle,
            seed=settings.seed,
            memory=memory,
            reader=settings.reader,
            threads=settings.threads,
            device=settings.device,
            form="pyg",
        )
        return loader

    def steps(self) -> Iterator[Step | EpochResult]:
        """Train what is left of the epochs."""
        while len(self.history) < self.settings.epochs:
            if self._sums.batches < len(self.loader):  # else the run went on during its evaluation
                yield from self._train()
            valid, sums = None, self._sums
            if "valid" in self.task.splits:
                valid = yield from self.evaluate("valid")
            done = EpochResult(
                epoch=len(self.history),
                loss=sums.loss / sums.batches,
                train_accuracy=sums.right / sums.seeds,
                valid_accuracy=valid,
                batches=sums.batches,
                seconds=sums.seconds,
            )
            self.history.append(done)
            self._sums = _Sums()
            if self.best is None or valid is None or valid > self.best["valid_accuracy"]:
                weights = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
                self.best = {"epoch": done.epoch, "valid_accuracy": valid, "model": weights}
            yield done

    def _train(self) -> Iterator[Step]:
        """Go through the epoch, or the rest of it."""
        self.model.train()
        epoch, sums = len(self.history), self._sums
        begin = time.perf_counter()
        for batch in self.loader:
            self.optimizer.zero_grad()
            scores, labels = self.model(batch), self._labels(batch)
            loss = cross_entropy(scores, labels)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            sums.add(loss, scores, labels)
            sums.seconds += time.perf_counter() - begin
            yield self._step("train", epoch, len(self.loader), sums)
            begin = time.perf_counter()  # watching is not training

    def evaluate(self, split: str) -> Generator[Step, None, float]:
        """Measure the model as it is on a split; the accuracy is what the generator returns."""
        self.model.eval()
        loader, sums = self._loader(split, self._evaluation_memory, max(1, self.settings.batch_size // 4)), _Sums()
        try:
            for batch in loader:
                with torch.no_grad():
                    scores, labels = self.model(batch), self._labels(batch)
                    sums.add(cross_entropy(scores, labels), scores, labels)
                yield self._step(split, len(self.history), len(loader), sums)
        finally:
            loader.close()
        return sums.right / sums.seeds

    def _step(self, split: str, epoch: int, num_batches: int, sums: _Sums) -> Step:
        return Step(split, epoch, sums.batches, num_batches, sums.loss / sums.batches, sums.right / sums.seeds)

    def _labels(self, batch: Any) -> Tensor:
        seeds = batch[self.task.target] if self.task.data.is_hetero else batch
        labels: Tensor = seeds.y.reshape(
            -1
        ).long()  # of a float, such as papers100M's, that is no number it is negative
        wrong = (labels < 0) | (labels >= self.task.num_classes)
        if wrong.any():
            place = int(wrong.nonzero()[0])
            raise ValueError(
                f"{self.task.data.labels(self.task.target).path}: expected classes from 0 to "
                f"{self.task.num_classes - 1}, found {seeds.y.reshape(-1)[place].item()} for node "
                f"{int(seeds.n_id[place])}; leave nodes without a class out of the splits"
            )
        return labels

    def use_best(self) -> None:
        """Take the weights of the epoch that was best on the split valid."""
        if self.best is not None:
            self.model.load_state_dict(self.best["model"])

    def state_dict(self) -> dict[str, Any]:
        """Return weights, optimizer, random numbers and place, for a checkpoint."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "cuda_random": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
            "sums": asdict(self._sums),
            "loader": self.loader.state_dict() if 0 < self._sums.batches < len(self.loader) else None,
            "history": [asdict(done) for done in self.history],
            "best": self.best,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where ``state`` was taken."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        if state["cuda_random"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(state["cuda_random"])
        self._sums = _Sums(**state["sums"])
        self.history = [EpochResult(**done) for done in state["history"]]
        self.best = state["best"]
        if state["loader"] is None:
            self.loader.set_epoch(len(self.history) + (self._sums.batches > 0))
        else:
            self.loader.load_state_dict(state["loader"])

    def close(self) -> None:
        """Give the memory of the loader back."""
        self.loader.close()

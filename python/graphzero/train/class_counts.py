"""How often each class was right, guessed and there: what precision and recall are made of."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class ClassMeasures:
    """What was found of one class. ``None``: nothing to divide by, as for a class that was never guessed."""

    number: int
    precision: float | None
    recall: float | None
    f1: float | None
    support: int


class ClassCounts:
    """Counts guesses by class. Memory grows with the number of classes, not with its square."""

    def __init__(self, num_classes: int) -> None:
        self.right = torch.zeros(num_classes, dtype=torch.int64)
        self.guessed = torch.zeros(num_classes, dtype=torch.int64)
        self.there = torch.zeros(num_classes, dtype=torch.int64)

    def add(self, guesses: Tensor, labels: Tensor) -> None:
        """Count a batch."""
        for counts, classes in ((self.right, labels[guesses == labels]), (self.guessed, guesses), (self.there, labels)):
            counts.index_add_(0, classes, torch.ones_like(classes))

    def measures(self) -> list[ClassMeasures]:
        """Return precision, recall, their harmonic mean and the number of nodes of each class."""
        return [
            ClassMeasures(
                number,
                right / guessed if guessed else None,
                right / there if there else None,
                2 * right / (guessed + there) if guessed + there else None,
                there,
            )
            for number, (right, guessed, there) in enumerate(
                zip(self.right.tolist(), self.guessed.tolist(), self.there.tolist(), strict=True)
            )
        ]

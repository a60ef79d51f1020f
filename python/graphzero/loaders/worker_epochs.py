"""Which epoch a ``DataLoader`` worker begins, however workers are started."""

from __future__ import annotations

from typing import Any

import torch

# Workers that are counted for.
_MOST_WORKERS = 256


class WorkerEpochs:
    """Counts the epochs of workers in memory that all processes share.

    Workers are copies of a data set, often made anew for each epoch, so what a copy counts is lost. For each number
    of workers each of them has a count, so that it does not matter which of them begins first.
    """

    def __init__(self) -> None:
        self._counts = torch.zeros(_first_of(_MOST_WORKERS + 1), dtype=torch.int64)
        self._share()

    def begin(self, worker: int, num_workers: int) -> int:
        """Return the epoch that a worker begins, and count it."""
        if num_workers > _MOST_WORKERS:
            raise ValueError(f"num_workers: expected at most {_MOST_WORKERS}, found {num_workers}")
        place = _first_of(num_workers) + worker
        epoch = int(self._counts[place])
        self._counts[place] += 1
        return epoch

    def set(self, epoch: int) -> None:
        """Make ``epoch`` the one that all workers begin next, also those that are running."""
        self._counts.fill_(epoch)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share()  # a plain pickle is a copy

    def _share(self) -> None:
        self._counts.share_memory_()  # type: ignore[no-untyped-call]


def _first_of(num_workers: int) -> int:
    """Return where the counts for so many workers begin: behind those for fewer."""
    return num_workers * (num_workers - 1) // 2

"""Which epoch a ``DataLoader`` worker begins, however workers are started."""

from __future__ import annotations

from typing import Any

import torch

from graphzero._base.argument_errors import value_error

# Workers that are counted for. Their counts stay below 32,768 numbers, from which on torch fills tensors with OpenMP's
# threads, which a forked process has not.
_MOST_WORKERS = 250


class WorkerEpochs:
    """Counts the epochs of workers in memory that all processes share.

    Workers are copies of a data set, often made anew for each epoch, so what a copy counts is lost. Each worker has a
    count for each number of workers, so that it does not matter which of them begins first.
    """

    def __init__(self) -> None:
        self._counts = _shared_zeros(_first_of(_MOST_WORKERS + 1))

    def begin(self, worker: int, num_workers: int) -> int:
        """Return the epoch that a worker begins, and count it."""
        if num_workers > _MOST_WORKERS:
            raise value_error("num_workers", f"expected at most {_MOST_WORKERS}, found {num_workers}")
        place = _first_of(num_workers) + worker
        epoch = int(self._counts[place])
        self._counts[place] += 1
        return epoch

    def set(self, epoch: int) -> None:
        """Make ``epoch`` the one that all workers begin next, also those that are running."""
        self._counts.fill_(epoch)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if not self._counts.is_shared():  # type: ignore[no-untyped-call]  # a plain pickle is a copy
            copied, self._counts = self._counts, _shared_zeros(len(self._counts))
            self._counts.numpy()[:] = copied.numpy()


def _shared_zeros(count: int) -> torch.Tensor:
    """Return zeros in memory that all processes share. ``share_memory_`` would copy them with OpenMP's threads."""
    storage = torch.UntypedStorage._new_shared(8 * count)  # type: ignore[no-untyped-call]
    return torch.empty(0, dtype=torch.int64).set_(storage)


def _first_of(num_workers: int) -> int:
    """Return where the counts for this number of workers begin: behind those for fewer."""
    return num_workers * (num_workers - 1) // 2

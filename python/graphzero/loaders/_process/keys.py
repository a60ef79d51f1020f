"""Seeds of loaders: keyed as in the core, or drawn from torch's generator."""

from __future__ import annotations

from typing import Any

import torch

from graphzero._base.integers import as_seed

_BITS = 2**64 - 1
_GAMMA = 0x9E3779B97F4A7C15

# First words of keys, which go on where Purpose of core/base/random.h ends.
WALK_BATCHES = 7
EMBEDDING_BATCHES = 8
OWN_SEEDS = 9
INDEX_CALLS = 10


def _mix64(x: int) -> int:
    """SplitMix64's output function, as in core/base/random.h."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _BITS
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _BITS
    return x ^ x >> 31


def keyed(seed: int, *words: int) -> int:
    """Return the state of the core's key ``(seed, *words)``: a seed of its own for whatever the words name."""
    state = _mix64(seed + _GAMMA & _BITS)
    for word in words:
        state = _mix64((state ^ word) + _GAMMA & _BITS)
    return state


def torch_seed(generator: torch.Generator | None = None) -> int:
    """Draw a seed from a generator. Default: torch's own, which ``torch.manual_seed`` sets."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())


class SeedSequence:
    """One seed after the other: those that belong to ``seed``, or without one from torch's default generator."""

    def __init__(self, seed: Any) -> None:
        self._seed = None if seed is None else as_seed(seed)
        self._drawn = 0

    @property
    def seed(self) -> int | None:
        """The seed that all others belong to."""
        return self._seed

    def draw(self) -> int:
        """Return the next seed."""
        # Workers have copies of this object, and copies repeat each other; torch's generator is seeded for each.
        if self._seed is None or torch.utils.data.get_worker_info() is not None:
            return torch_seed()
        self._drawn += 1
        return keyed(self._seed, EMBEDDING_BATCHES, self._drawn)

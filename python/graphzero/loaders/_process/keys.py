"""Seeds of loaders: derived from a user's seed, or drawn from torch's generator."""

from __future__ import annotations

from typing import Any

import torch

from graphzero._base.integers import as_seed
from graphzero._core import Key, Purpose


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
        return Key(self._seed, Purpose.EMBEDDING_BATCHES).with_word(self._drawn).state

"""Tensors of a batch that are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class LateTensor:
    """A tensor that ``make`` returns, once."""

    def __init__(self, make: Callable[[], torch.Tensor]) -> None:
        self._make = make
        self._made: torch.Tensor | None = None

    def tensor(self) -> torch.Tensor:
        """Make it, unless that is done."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def then(self, change: Callable[[torch.Tensor], torch.Tensor]) -> LateTensor:
        """Return what it becomes by a change, which is made late too."""
        return LateTensor(lambda: change(self.tensor()))


def made(value: Any) -> Any:
    """Return a value; if it is late, what it is now."""
    return value.tensor() if isinstance(value, LateTensor) else value

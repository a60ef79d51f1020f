"""The core's order of an epoch, for loops without a pipeline."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.arrays import plain


class EpochOrder:
    """A permutation of ``count`` items that stores none of them: that of core/pipeline/epoch_order.h."""

    def __init__(self, count: int, *, shuffle: bool, seed: int, epoch: int) -> None:
        self._shuffle = shuffle
        self._key = count, seed, epoch

    def at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the items at ``places``, each below the count."""
        return plain(_core.epoch_order(*self._key, places)) if self._shuffle else places

"""The order of an epoch, computed place by place: that of core/pipeline/epoch_order.h."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphzero.loaders.keys import EPOCH_ORDER, GAMMA, keyed, mix64

_SHORT = 4096
_ROUNDS = 8


class EpochOrder:
    """A permutation of ``count`` items that stores none of them, so it can begin anywhere.

    A Feistel network over the next power of four (Luby, Rackoff: How to Construct Pseudorandom
    Permutations, SIAM J. Comput. 1988) whose results beyond ``count`` are permuted again until they fall
    below (Black, Rogaway: Ciphers with Arbitrary Finite Domains, CT-RSA 2002). So few items that a
    network does not reach every order alike are shuffled.
    """

    def __init__(self, count: int, *, shuffle: bool, seed: int, epoch: int) -> None:
        self._count = count
        self._shuffle = shuffle
        self._short: NDArray[np.int64] | None = None
        key = keyed(seed, EPOCH_ORDER, epoch)
        if shuffle and count <= _SHORT:
            self._short = _shuffled(count, key)
        half = ((count - 1).bit_length() + 1) // 2
        self._half = np.uint64(half)
        self._mask = np.uint64(2**half - 1)
        self._keys = [np.uint64(keyed(seed, EPOCH_ORDER, epoch, round)) for round in range(_ROUNDS)]

    def at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the items at ``places``, each below the count."""
        if not self._shuffle:
            return places
        if self._short is not None:
            return self._short[places]
        items = self._permuted(places.astype(np.uint64))
        while (beyond := np.flatnonzero(items >= self._count)).size:
            items[beyond] = self._permuted(items[beyond])
        return items.astype(np.int64)

    def _permuted(self, places: NDArray[np.uint64]) -> NDArray[np.uint64]:
        left, right = places >> self._half, places & self._mask
        for key in self._keys:
            left, right = right, left ^ (mix64(right + key) & self._mask)
        joined: NDArray[np.uint64] = left << self._half | right
        return joined


def _shuffled(count: int, state: int) -> NDArray[np.int64]:
    """Shuffle with the core's unbiased draws (Lemire: Fast Random Integer Generation in an Interval, TOMACS 2019)."""
    items = list(range(count))
    for left in range(count, 1, -1):
        while True:
            state = state + GAMMA & 2**64 - 1
            product = mix64(state) * left
            if product & 2**64 - 1 >= 2**64 % left:
                break
        chosen = product >> 64
        items[left - 1], items[chosen] = items[chosen], items[left - 1]
    return np.array(items, dtype=np.int64)

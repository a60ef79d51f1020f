"""Which seeds make which batch: an order of the core's own, or one that a user brings for each epoch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from itertools import islice
from typing import Any

import numpy as np

from graphzero import _core
from graphzero._base.argument_errors import value_error
from graphzero._base.arrays import IntArray, int64_vector
from graphzero._base.integers import integer, integer_from

# An order is written down before the first batch, at 8 bytes a place. One that has no length may have no end.
_MOST_PLACES = 10_000_000


class BatchOrder:
    """What a user says about order and sizes of batches. ``names`` are what messages call ``order`` and ``batches``."""

    def __init__(
        self,
        batch_size: Any,
        order: Iterable[int] | None = None,
        batches: Iterable[Any] | None = None,
        *,
        shuffle: bool = False,
        drop_last: bool = False,
        names: tuple[str, str] = ("order", "batches"),
    ) -> None:
        self._order, self._batches = order, batches
        self._order_name, self._batches_name = names
        self._sizes: IntArray | None = None
        self.shuffle, self.drop_last = bool(shuffle), bool(drop_last)
        given = [name for name, value in zip(names, (order, batches), strict=True) if value is not None]
        if len(given) == 2:
            raise ValueError(f"{', '.join(names)}: expected one of them, found both")
        if given and shuffle:
            raise value_error("shuffle", f"expected False with {given[0]}, which says what comes when")
        if isinstance(batch_size, (Sequence, np.ndarray)):
            if given:
                raise value_error("batch_size", f"expected one number with {given[0]}, found a list")
            self._sizes = int64_vector(batch_size, "batch_size")
            if (self._sizes < 1).any():
                at = int(np.argmax(self._sizes < 1))
                raise ValueError(f"batch_size[{at}]: expected at least 1, found {self._sizes[at]}")
        self.batch_size = 1 if self._sizes is not None else integer_from(batch_size, 1, "batch_size")

    def begin(self, core: _core.Pipeline) -> None:
        """Tell the core what holds for all epochs."""
        if self._sizes is not None:
            core.arrange(None, self._sizes, self._order_name)

    def begin_epoch(self, core: _core.Pipeline) -> None:
        """Tell the core what holds for the epoch that is about to begin."""
        if self._order is not None:
            core.arrange(self._read_order(self._order), None, self._order_name)
        elif self._batches is not None:
            chosen = self._read_batches(self._batches)
            places = np.concatenate(chosen) if chosen else np.empty(0, np.int64)
            core.arrange(places, np.array([len(batch) for batch in chosen], np.int64), self._batches_name)

    def _read_order(self, order: Iterable[int]) -> IntArray:
        name = self._order_name
        most = max(_MOST_PLACES, _known_length(order))
        places = np.fromiter((integer(place, name) for place in islice(order, most + 1)), np.int64)
        if len(places) > most:
            raise _endless(name)
        return places

    def _read_batches(self, batches: Iterable[Any]) -> list[IntArray]:
        name, chosen, held, known = self._batches_name, [], 0, _known_length(batches)
        for number, batch in enumerate(batches):
            chosen.append(int64_vector(batch, name))
            held += len(chosen[-1])
            if len(chosen[-1]) == 0:
                raise ValueError(f"{name}[{number}]: expected at least one place, found none")
            if held > _MOST_PLACES and number >= known:
                raise _endless(name)
        return chosen

    def num_batches(self, core: _core.Pipeline) -> int:
        """Return the number of batches of an epoch; of an order that has no length, of the one under way."""
        if isinstance(self._batches, Sized):
            return len(self._batches)
        if isinstance(self._order, Sized):
            rest = len(self._order) % self.batch_size != 0 and not self.drop_last
            return len(self._order) // self.batch_size + (1 if rest else 0)
        return core.num_batches


def _known_length(items: Iterable[Any]) -> int:
    try:
        return len(items) if isinstance(items, Sized) else 0
    except (TypeError, NotImplementedError):  # torch's BatchSampler of a sampler that has none
        return 0


def _endless(name: str) -> ValueError:
    return ValueError(
        f"{name}: expected an end within {_MOST_PLACES:,} places, or a length (__len__) that says how many there are, "
        f"since all of an epoch are written down before its first batch; found more. Cut it into epochs, as "
        "itertools.islice does"
    )

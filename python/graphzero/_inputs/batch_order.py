"""Which seeds make which batch: an order of the core's own, or one that a user brings for each epoch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from itertools import islice
from typing import Any

import numpy as np

from graphzero import _core
from graphzero._base.arrays import IntArray, int64_vector
from graphzero._base.integers import integer, integer_from

# An order is written down before the first batch, at 8 bytes a place. One that tells no length may have no end.
_MOST_PLACES = 10_000_000


class Schedule:
    """What a user says about order and sizes of batches."""

    def __init__(self, batch_size: Any, order: Any, batches: Any, *, shuffle: bool, drop_last: bool) -> None:
        self._order: Iterable[int] | None = order
        self._batches: Iterable[Sequence[int]] | None = batches
        self._sizes: IntArray | None = None
        self._drop_last = bool(drop_last)
        given = [name for name, value in (("order", order), ("batches", batches)) if value is not None]
        if len(given) == 2:
            raise ValueError("order, batches: expected one of them, found both")
        if given and shuffle:
            raise ValueError(f"shuffle: expected False with {given[0]}, which says what comes when")
        if isinstance(batch_size, (Sequence, np.ndarray)):
            if given:
                raise ValueError(f"batch_size: expected one number with {given[0]}, found a list")
            self._sizes = int64_vector(batch_size, "batch_size")
            if (self._sizes < 1).any():
                at = int(np.argmax(self._sizes < 1))
                raise ValueError(f"batch_size[{at}]: expected at least 1, found {self._sizes[at]}")
        self.batch_size = 1 if self._sizes is not None else integer_from(batch_size, 1, "batch_size")

    def begin(self, core: _core.Pipeline) -> None:
        """Tell the core what holds for all epochs."""
        if self._sizes is not None:
            core.arrange(None, self._sizes)

    def begin_epoch(self, core: _core.Pipeline) -> None:
        """Tell the core what holds for the epoch that is about to begin."""
        if self._order is not None:
            most = max(_MOST_PLACES, _told_length(self._order))
            order = np.fromiter((integer(place, "order") for place in islice(self._order, most + 1)), np.int64)
            if len(order) > most:
                raise _endless("order")
            core.arrange(order, None)
        elif self._batches is not None:
            chosen: list[IntArray] = []
            held, told = 0, _told_length(self._batches)
            for number, batch in enumerate(self._batches):
                chosen.append(int64_vector(batch, "batches"))
                held += len(chosen[-1])
                if len(chosen[-1]) == 0:
                    raise ValueError(f"batches[{number}]: expected at least one place, found none")
                if held > _MOST_PLACES and number >= told:
                    raise _endless("batches")
            places = np.concatenate(chosen) if chosen else np.empty(0, np.int64)
            try:
                core.arrange(places, np.array([len(batch) for batch in chosen], np.int64))
            except IndexError as error:  # the core knows of one order
                raise IndexError(f"batches: {str(error).split(': ', 1)[1]}") from None

    def num_batches(self, core: _core.Pipeline) -> int:
        """Return the number of batches of an epoch; of an order that has no length, of the one under way."""
        if isinstance(self._batches, Sized):
            return len(self._batches)
        if isinstance(self._order, Sized):
            rest = len(self._order) % self.batch_size != 0 and not self._drop_last
            return len(self._order) // self.batch_size + (1 if rest else 0)
        return core.num_batches


def _told_length(items: Iterable[Any]) -> int:
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

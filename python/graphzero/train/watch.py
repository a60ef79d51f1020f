"""What a run holds and how fast it goes, measured several times a second."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from graphzero import _core
from graphzero.train.run import Run

# Asking the kernel which pages of a file it holds costs by the size of the file: a share of the time, no more.
_PAGE_CACHE_SHARE = 0.02
_PAGE_CACHE_EVERY = 2.0
# Rates are those of the last seconds, or they would jump.
_WINDOW = 2.0


@dataclass(frozen=True)
class Snapshot:
    """What was measured at one time. Sizes are bytes; ``None``: not known, or the kernel does not say.

    ``held`` is what loaders hold of their ``budget``; ``page_cache`` is how much of the ``data`` files is in the page
    cache, whichever process read them. ``hit_rate`` and ``device_bytes``, which includes what filled the cache, are
    those of the loader that trains. Rates are of the last seconds, and so is ``waited``, the share in which training
    waited for batches.
    """

    anonymous: int
    held: int
    budget: int
    page_cache: int | None
    data: int
    hit_rate: float | None
    device_bytes: int
    device_rate: float
    batches_rate: float
    waited: float


class Watch:
    """Measures a run, and keeps the maximum of each kind of memory."""

    def __init__(self, run: Run, *, page_cache: bool = True) -> None:
        self._run = run
        self._data = run.task.data
        self._wants_page_cache = page_cache
        self._page_cache: int | None = None
        self._page_cache_due = 0.0
        self._marks: list[tuple[float, int, int, float]] = []  # time, batches, bytes from the device, seconds waited
        self.batches = 0
        self.peak_anonymous = 0
        self.peak_held = 0

    def measure(self) -> Snapshot:
        """Return the current measurements. Call it a few times a second, from the thread that trains."""
        now = time.perf_counter()
        stats = [loader.stats() for loader in self._run.loaders]
        training = stats[0]
        held = sum(size for one in stats for purpose, size in one["memory"].items() if purpose != "budget")
        anonymous = _core.memory_facts().anonymous_rss
        self.peak_anonymous = max(self.peak_anonymous, anonymous)
        self.peak_held = max(self.peak_held, held)
        device_bytes = sum(_from_device(one) for one in stats)
        waited = sum(one["seconds_waited"] for one in stats)
        self._marks = [mark for mark in self._marks[:-1] if now - mark[0] < _WINDOW] + self._marks[-1:]
        since = self._marks[0] if self._marks else (now, self.batches, device_bytes, waited)
        self._marks.append((now, self.batches, device_bytes, waited))
        seconds = max(now - since[0], 1e-9)

        def rate(count: float, before: float) -> float:  # a loader that is gone took its counts along
            return max(0.0, count - before) / seconds

        return Snapshot(
            anonymous=anonymous,
            held=held,
            budget=self._run.memory,
            page_cache=self._measure_page_cache(now),
            data=self._data.nbytes,
            hit_rate=training["hit_rate"],
            device_bytes=_from_device(training),
            device_rate=rate(device_bytes, since[2]),
            batches_rate=rate(self.batches, since[1]),
            waited=min(1.0, rate(waited, since[3])),
        )

    def _measure_page_cache(self, now: float) -> int | None:
        if self._wants_page_cache and now >= self._page_cache_due:
            sizes = [store.resident_bytes() for store in self._data.stores()]
            self._page_cache = None if None in sizes else sum(size for size in sizes if size is not None)
            after = time.perf_counter()
            self._page_cache_due = after + max(_PAGE_CACHE_EVERY, (after - now) / _PAGE_CACHE_SHARE)
        return self._page_cache


def _from_device(stats: dict[str, Any]) -> int:
    return int(stats["device_bytes"] + stats["fill_bytes"])

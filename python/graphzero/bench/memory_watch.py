"""What a process holds over time: its own memory, pages of mapped files, and the page cache that its files have."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from graphzero.control_groups import ControlGroup

_PERIOD = 0.02  # seconds; a peak that is shorter is missed
_CACHE_PERIOD = 0.25  # asking about every page of a large file takes milliseconds
_MOST_POINTS = 200  # what a plot can show


class MemoryWatch:
    """Watches the memory of a process, or of all processes of a control group, until its block ends.

    ``page_cache`` returns how much of the data is in the page cache; for a group the kernel says so. ``restart()``
    discards what was seen so far.
    """

    def __init__(
        self, pid: int, group: ControlGroup | None = None, page_cache: Callable[[], int | None] | None = None
    ) -> None:
        self._pid = pid
        self._group = group
        self._page_cache = page_cache
        self._cached: tuple[float, int | None] = (0.0, None)
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._watch, name="graphzero memory", daemon=True)
        self.restart()

    def restart(self) -> None:
        """Discard everything, and count seconds from now."""
        with self._lock:
            self._begin = time.perf_counter()
            self._points: list[tuple[float, int, int | None]] = []
            self.peak_anonymous: int | None = None
            self.peak_rss: int | None = None
            self.peak_group: int | None = None

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    @property
    def points(self) -> list[list[float | int | None]]:
        """``[seconds, anonymous bytes, page cache bytes]`` over time, no more than a plot can show.

        Page cache is ``None`` where it was not measured.
        """
        step = -(-len(self._points) // _MOST_POINTS)
        return [[round(seconds, 3), anonymous, cached] for seconds, anonymous, cached in self._points[:: step or 1]]

    def _watch(self) -> None:
        # The process, and with it its files, may be gone at any moment.
        with suppress(OSError, StopIteration):
            while not self._over.wait(_PERIOD):
                self._look()

    def _look(self) -> None:
        with open(f"/proc/{self._pid}/status") as status:
            sizes = {line.split()[0]: int(line.split()[1]) * 1024 for line in status if line.startswith("Rss")}
        if not sizes:
            raise ProcessLookupError  # ended, but not waited for
        anonymous, mapped = sizes["RssAnon:"], sizes["RssFile:"]
        cached = self._cache_bytes()
        together = None
        if self._group is not None:
            usage = self._group.usage()
            anonymous, cached = usage.anonymous, usage.page_cache
            together = anonymous + cached
        with self._lock:
            self._points.append((time.perf_counter() - self._begin, anonymous, cached))
            self.peak_anonymous = max(self.peak_anonymous or 0, anonymous)
            self.peak_rss = max(self.peak_rss or 0, anonymous + mapped)
            if together is not None:
                self.peak_group = max(self.peak_group or 0, together)

    def _cache_bytes(self) -> int | None:
        if self._group is not None or self._page_cache is None:
            return None
        if time.perf_counter() - self._cached[0] > _CACHE_PERIOD:
            self._cached = (time.perf_counter(), self._page_cache())
        return self._cached[1]

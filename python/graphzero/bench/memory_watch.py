"""What a process holds over time: its own memory, pages of mapped files, and the page cache that its files have."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from graphzero._tools.cgroup import ControlGroup

_CACHE_PERIOD = 0.25  # seconds; asking about every page of a large file takes milliseconds
_MOST_POINTS = 200  # what a plot can show


class MemoryWatch:
    """Watches the memory of a process, or of all processes of a control group, until its block ends.

    ``page_cache`` returns how much of the data is in the page cache; for a group the kernel says so. ``restart()``
    discards what was seen so far.
    """

    def __init__(
        self, pid: int, group: ControlGroup | None = None, page_cache: Callable[[], int | None] | None = None
    ) -> None:
        self._pid, self._group, self._page_cache = pid, group, page_cache
        self._cached: tuple[float, int | None] = (0.0, None)
        self.restart()

    def restart(self) -> None:
        """Discard everything, and count seconds from now."""
        self._begin = time.perf_counter()
        self._points: list[tuple[float, int, int | None]] = []
        self.peak_anonymous: int | None = None
        self.peak_rss: int | None = None
        self.peak_group: int | None = None

    @property
    def points(self) -> list[list[float | int | None]]:
        """``[seconds, anonymous bytes, page cache bytes]`` over time, no more than a plot can show.

        Page cache is ``None`` where it was not measured.
        """
        step = -(-len(self._points) // _MOST_POINTS)
        return [[round(seconds, 3), anonymous, cached] for seconds, anonymous, cached in self._points[:: step or 1]]

    def look(self) -> None:
        """Take note of what is held now. The process, and with it its files, may be gone at any moment."""
        sizes: dict[str, int] = {}
        with suppress(OSError), open(f"/proc/{self._pid}/status") as status:
            sizes = {line.split()[0]: int(line.split()[1]) * 1024 for line in status if line.startswith("Rss")}
        if not sizes:
            return
        anonymous, mapped = sizes["RssAnon:"], sizes["RssFile:"]
        if self._group is None:
            cached = self._cache_bytes()
        else:
            usage = self._group.usage()
            anonymous, cached = usage.anonymous, usage.page_cache
            self.peak_group = max(self.peak_group or 0, anonymous + usage.page_cache)
        self._points.append((time.perf_counter() - self._begin, anonymous, cached))
        self.peak_anonymous = max(self.peak_anonymous or 0, anonymous)
        self.peak_rss = max(self.peak_rss or 0, anonymous + mapped)

    def _cache_bytes(self) -> int | None:
        if self._page_cache is None:
            return None
        if time.perf_counter() - self._cached[0] > _CACHE_PERIOD:
            self._cached = (time.perf_counter(), self._page_cache())
        return self._cached[1]

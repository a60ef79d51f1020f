"""Threads that transfer files, and what they have in common."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from itertools import islice

from graphzero._base.argument_errors import value_error
from graphzero._base.integers import integer

# Bytes that a thread holds: a request for them is worth its way.
BLOCK = 8 << 20
_THREADS = 8
_MOST_THREADS = 4096  # as set_num_threads() allows


def thread_count(given: int | None) -> int:
    """Return how many requests may run at the same time."""
    if given is None:
        return _THREADS
    found = integer(given, "threads")
    if not 1 <= found <= _MOST_THREADS:
        raise value_error("threads", f"expected 1 to {_MOST_THREADS}, found {found}")
    return found


class Meter:
    """Counts the bytes that threads transfer, and ends these threads: they come by after each block."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = False
        self.transferred = 0
        self.there = 0  # by an earlier run

    def add(self, count: int) -> None:
        """Count bytes that were transferred."""
        with self._lock:
            self.transferred += count
        if self._stopped:
            raise CancelledError

    def stop(self) -> None:
        """Let all threads end soon."""
        self._stopped = True

    def done(self) -> int:
        """Return how far it has come."""
        return self.there + self.transferred


def run_tasks(workers: int, meter: Meter, tasks: Iterable[Callable[[], None]]) -> None:
    """Run tasks in threads; few of them wait, however many there are. The first failure ends all."""
    left = iter(tasks)
    running: set[Future[None]] = set()
    with ThreadPoolExecutor(workers, thread_name_prefix="graphzero transfer") as pool:
        try:
            while True:
                running |= {pool.submit(task) for task in islice(left, 2 * workers - len(running))}
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
        except BaseException:
            meter.stop()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


class Countdown:
    """Tells the thread that is the last of several."""

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._left = count

    def last(self) -> bool:
        """Return whether the others have been here before."""
        with self._lock:
            self._left -= 1
            return self._left == 0

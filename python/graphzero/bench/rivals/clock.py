"""The clock of benchmarks with rivals: the same for us and for them, and free of graphzero, which they do not have."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

REPEAT = 7
PATIENCE = 20.0  # seconds; what is slower than this in all is repeated less often
T = TypeVar("T")


def _rates(seconds_and_work: Callable[[], tuple[float, float]], patience: float) -> list[float]:
    """Return the rates of some runs behind one to warm up."""
    seconds_and_work()
    rates: list[float] = []
    spent = 0.0
    while not rates or (len(rates) < REPEAT and spent < patience):
        seconds, work = seconds_and_work()
        rates.append(work / seconds)
        spent += seconds
    return rates


def rates_of(body: Callable[[], Any], work: float, patience: float = PATIENCE) -> list[float]:
    """Return the rates at which ``body`` does ``work``."""

    def timed() -> tuple[float, float]:
        begin = time.perf_counter()
        body()
        return time.perf_counter() - begin, work

    return _rates(timed, patience)


def batch_rates(
    count_edges: Callable[[T], int], batches: Iterable[T], threads: int, patience: float = PATIENCE
) -> list[float]:
    """Return rates over all batches, shared out among ``threads`` Python threads."""
    with ThreadPoolExecutor(threads) as pool:

        def timed() -> tuple[float, float]:
            begin = time.perf_counter()
            edges = sum(pool.map(count_edges, batches))
            return time.perf_counter() - begin, edges

        return _rates(timed, patience)

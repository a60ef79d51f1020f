"""The clock of benchmarks with rivals: the same for us and for them, and free of graphzero, which they do not have."""

import time
from concurrent.futures import ThreadPoolExecutor

REPEAT = 7
PATIENCE = 20.0  # seconds; what is slower than this in all is repeated less often


def _best(seconds_and_work):
    """The highest rate among some runs behind one to warm up."""
    seconds_and_work()
    best, spent, runs = 0.0, 0.0, 0
    while runs == 0 or (runs < REPEAT and spent < PATIENCE):
        seconds, work = seconds_and_work()
        best, spent, runs = max(best, work / seconds), spent + seconds, runs + 1
    return best


def best_seconds(body):
    """The shortest time of ``body``."""

    def timed():
        begin = time.perf_counter()
        body()
        return time.perf_counter() - begin, 1

    return 1 / _best(timed)


def edges_per_second(count_edges, batches, threads):
    """The best rate over all batches, shared out among ``threads`` Python threads."""
    with ThreadPoolExecutor(threads) as pool:

        def timed():
            begin = time.perf_counter()
            edges = sum(pool.map(count_edges, batches))
            return time.perf_counter() - begin, edges

        return _best(timed)

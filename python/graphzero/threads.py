"""How many threads the core may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graphzero import _core
from graphzero._base.integers import integer


def num_threads() -> int:
    """Return how many threads a parallel call may use.

    That is what ``set_num_threads()`` set, else ``GRAPHZERO_NUM_THREADS``, else the cores that
    the affinity mask and the control group's CPU quota grant this process.
    """
    return _core.num_threads()


def set_num_threads(count: int) -> None:
    """Let parallel calls use ``count`` threads; ``0`` goes back to the default.

    Results do not depend on it: the same seed gives the same bits for any number of threads.

    Examples:
        >>> set_num_threads(2)
        >>> num_threads()
        2
        >>> set_num_threads(0)
    """
    number = integer(count, "number of threads")
    _core.set_num_threads(max(-(2**62), min(number, 2**62)))


@contextmanager
def using_threads(count: int | None) -> Iterator[None]:
    """Let the block use ``count`` threads; ``None`` changes nothing."""
    if count is None:
        yield
        return
    before = _core.num_threads()
    set_num_threads(count)
    try:
        yield
    finally:
        set_num_threads(before)

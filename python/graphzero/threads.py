"""How many threads the core may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graphzero import _core
from graphzero._base.integers import integer


def num_threads() -> int:
    """Return how many threads a parallel call may use.

    That is what [`set_num_threads`][graphzero.set_num_threads] set, else ``GRAPHZERO_NUM_THREADS``, else the cores that
    the affinity mask and the control group's CPU quota grant this process.
    """
    return _core.num_threads()


def set_num_threads(count: int) -> None:
    """Set how many threads a parallel call may use.

    Results do not depend on it: the same seed gives the same bits for any number of threads.

    Args:
        count: 1 to 4096, or 0 for the default.

    Raises:
        ValueError: ``count`` is outside these bounds.

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

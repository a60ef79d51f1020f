"""Which of many rows to read: all of them in blocks, or a sample from evenly spread places."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

# The most that is read at a time: of offsets, 8 MB.
BLOCK = 1 << 20

# A sample takes this many consecutive offsets at each place: they are one page, read in full anyway.
RUN = 512


def places(total: int, most: int | None, *, run: int = RUN, block: int = BLOCK) -> Iterator[NDArray[np.int64]]:
    """Yield the numbers of all rows, or of about ``most`` (at least 1) of more, at most ``block`` at a time."""
    if most is None or total <= most:
        for start in range(0, total, block):
            yield np.arange(start, min(start + block, total))
        return
    # There are more than `most` rows, so starts are at least `run` apart: no row is taken twice.
    run = min(run, most)
    num_runs = most // run
    starts = np.array([number * total // num_runs for number in range(num_runs)])
    at_a_time = max(1, block // run)
    for first in range(0, num_runs, at_a_time):
        yield (starts[first : first + at_a_time, None] + np.arange(run)).ravel()

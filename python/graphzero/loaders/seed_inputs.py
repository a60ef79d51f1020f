"""What a user says of the seeds: ids, times, and what stands for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero.arrays import int64_vector, time_vector


def check_nodes(ids: NDArray[np.int64], num_nodes: int, name: str) -> None:
    """Refuse ids of nodes that are not there."""
    if len(ids) and not (ids.min() >= 0 and ids.max() < num_nodes):
        at = int(np.argmax((ids < 0) | (ids >= num_nodes)))
        raise IndexError(f"{name}[{at}]: node {ids[at]} is not in the graph, which has {num_nodes} nodes")


def seed_times(given: Any, count: int, name: str) -> NDArray[np.int64]:
    """Read the times of seeds."""
    times = time_vector(given, name)
    if len(times) != count:
        raise ValueError(f"{name}: expected {count} times, one per seed, found {len(times)}")
    return times


def input_ids(given: Any, count: int) -> NDArray[np.int64] | None:
    """Read what stands for each seed."""
    if given is None:
        return None
    ids = int64_vector(given, "input_id")
    if len(ids) != count:
        raise ValueError(f"input_id: expected {count}, one per seed, found {len(ids)}")
    return ids

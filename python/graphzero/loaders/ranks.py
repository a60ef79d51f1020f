"""Which part of an epoch belongs to this process, and a seed that all processes share."""

from __future__ import annotations

import os
from typing import Any

import torch

from graphzero.integers import integer, integer_from
from graphzero.loaders.keys import torch_seed
from graphzero.memory import pipeline_budget
from graphzero.seeds import as_seed


def as_ranks(rank: Any, world_size: Any) -> tuple[int, int]:
    """Read ``rank`` and ``world_size``; without them they are those of torch.distributed, if it is initialised."""
    if (rank is None) != (world_size is None):
        given, missing = ("rank", "world_size") if world_size is None else ("world_size", "rank")
        raise ValueError(f"{missing}: expected one with {given}, found None; give both or neither")
    if rank is None:
        return (torch.distributed.get_rank(), torch.distributed.get_world_size()) if _initialised() else (0, 1)
    size = integer_from(world_size, 1, "world_size")
    number = integer(rank, "rank")
    if not 0 <= number < size:
        raise ValueError(f"rank: expected 0 to {size - 1}, below world_size, found {number}")
    return number, size


def shared_seed(seed: Any, world_size: int, generator: torch.Generator | None = None) -> int:
    """Read ``seed``; without one it is drawn from torch's generator or another, on all ranks from that of rank 0."""
    if seed is not None:
        return as_seed(seed)
    drawn = [torch_seed(generator)]
    if world_size == 1:
        return drawn[0]
    if not _initialised() or torch.distributed.get_world_size() != world_size:
        raise ValueError(
            f"seed: expected one with world_size={world_size}, found None: ranks draw their parts from one order; give "
            "all of them the same seed, or initialise torch.distributed, which tells them"
        )
    torch.distributed.broadcast_object_list(drawn, src=0)
    return drawn[0]


def default_memory(world_size: int) -> int | None:
    """Return what each of several ranks may hold unless told: its part of what one process would take.

    torchrun says how many ranks are on this machine; without its word all are taken to be.
    """
    here = int(os.environ.get("LOCAL_WORLD_SIZE", torch.distributed.get_world_size())) if _initialised() else world_size
    return None if here == 1 else pipeline_budget() // here


def _initialised() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()

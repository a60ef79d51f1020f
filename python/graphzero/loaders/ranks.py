"""Several processes that share an epoch: which one this is, and the seed they agree on."""

from __future__ import annotations

from typing import Any

import torch

from graphzero.arrays import integer


def own_rank(rank: Any, world_size: Any) -> tuple[int, int]:
    """Return what was given, or what ``torch.distributed`` says once it is initialised."""
    if (rank is None) != (world_size is None):
        raise ValueError("rank, world_size: expected both or none of them, found one")
    if rank is not None:
        return integer(rank, "rank"), integer(world_size, "world_size")
    if _initialised():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


def common_seed(seed: Any, world_size: int, generator: torch.Generator | None = None) -> int:
    """Return a seed that is the same for all ranks: the given one, or one drawn by torch."""
    if seed is not None:
        return integer(seed, "seed")
    drawn = torch.randint(2**62, (1,), dtype=torch.int64, generator=generator)
    if world_size == 1:
        return int(drawn)
    if not _initialised():
        raise ValueError(
            "seed: expected one with rank and world_size, the same for all of them; found none, and "
            "torch.distributed is not initialised, so that they cannot agree"
        )
    if torch.distributed.get_backend() == "nccl":
        drawn = drawn.cuda()
    torch.distributed.broadcast(drawn, src=0)
    return int(drawn)


def _initialised() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()

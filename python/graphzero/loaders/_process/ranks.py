"""Which part of an epoch belongs to this process, and a seed that all processes share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from graphzero._base.argument_errors import value_error
from graphzero._base.integers import as_seed, integer, integer_from
from graphzero._core import Key, Purpose
from graphzero._inputs.pipeline_request import PipelineRequest
from graphzero.loaders._process.agreement import seed_of_rank_0
from graphzero.loaders._process.keys import torch_seed
from graphzero.loaders._process.notes import note_once
from graphzero.loaders.options import LoaderOptions


@dataclass(frozen=True)
class Ranks:
    """How an epoch is divided: this process takes part ``rank`` of ``world_size``.

    Where each rank has its own seeds nothing is divided, and ``own`` is the rank whose draws these are.
    """

    rank: int
    world_size: int
    own: int = 0

    def seed_of_draws(self, seed: int) -> int:
        """Return the seed of draws: ranks that number their batches alike would draw alike with the same seed."""
        return seed if self.own == 0 else Key(seed, Purpose.RANK_SEEDS).with_word(self.own).state


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
        raise value_error("rank", f"expected 0 to {size - 1}, below world_size, found {number}")
    return number, size


def ranks_of_loader(options: LoaderOptions, seeds: Any, count: int) -> Ranks:
    """Read ``rank``, ``world_size`` and ``distributed`` of a loader; an order that a user brings is this rank's own."""
    ordered = options.sampler is not None or options.batch_sampler is not None
    if options.distributed and ordered:
        raise value_error(
            "distributed",
            "expected it with neither sampler nor batch_sampler, which say what each rank takes; give "
            "them torch's DistributedSampler, or leave them out",
        )
    distributed = False if ordered and options.rank is None else options.distributed
    found = divided_ranks(seeds, count, options.rank, options.world_size, distributed)
    return Ranks(0, 1, found.rank or found.own) if ordered else found


def divided_ranks(seeds: Any, count: int, rank: Any, world_size: Any, distributed: Any) -> Ranks:
    """Return how ranks divide the seeds.

    They do if ``distributed`` or ``rank`` is given and, by default, if a name stands for the ``count`` seeds. Seeds
    that are listed are this rank's own.
    """
    if distributed not in (None, True, False):
        raise value_error("distributed", f"expected True, False or None, found {distributed!r}")
    if distributed is False and rank is not None:
        raise ValueError("rank, world_size: expected neither with distributed=False, which divides nothing")
    number, size = as_ranks(rank, world_size)
    if distributed is False:
        return Ranks(0, 1, number)
    if distributed or rank is not None or not are_listed(seeds):
        return Ranks(number, size)
    if size > 1 and number == 0:
        note_once(
            "ranks",
            f"each of {size} ranks takes all {count} seeds, as they are listed and may be those of this rank alone; "
            "distributed=False says that they are, distributed=True divides them among ranks, as is done with the "
            "name of a split",
        )
    return Ranks(0, 1, number)


def are_listed(seeds: Any) -> bool:
    """Return whether seeds are ids, masks or pairs, not a name: a split, a type, or ``None`` for all."""
    if isinstance(seeds, Mapping) and len(seeds) == 1:
        seeds = next(iter(seeds.values()))
    elif isinstance(seeds, (tuple, list)) and len(seeds) in (2, 3):
        seeds = seeds[-1]  # (type, ids), (type, split), or a type
    return seeds is not None and not isinstance(seeds, str)


def shared_seed(seed: Any, world_size: int, generator: torch.Generator | None = None) -> int:
    """Read ``seed``; without one it is drawn from torch's generator or another, on all ranks from that of rank 0."""
    if seed is not None:
        return as_seed(seed)
    drawn = torch_seed(generator)
    if world_size == 1:
        return drawn
    if not _initialised() or torch.distributed.get_world_size() != world_size:
        raise value_error(
            "seed",
            f"expected one with world_size={world_size}, found None: ranks draw their parts from one order; give "
            "all of them the same seed, or initialise torch.distributed, which shares one",
        )
    return seed_of_rank_0(drawn)


def memory_of_rank(request: PipelineRequest, world_size: int) -> int | None:
    """Return the default budget of each of several ranks: its share of that of one process."""
    here = _ranks_here(world_size)
    return None if here == 1 else request.default_memory() // here


def ranks_of_device(world_size: int, num_devices: int) -> int:
    """Return how many ranks use a GPU, if those of this machine take its ``num_devices`` in turn."""
    return -(-_ranks_here(world_size) // max(1, num_devices))


def _ranks_here(world_size: int) -> int:
    """Return how many ranks are on this machine: torchrun says it; otherwise all are taken to be."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", torch.distributed.get_world_size())) if _initialised() else world_size


def _initialised() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()

"""Ranks on several hosts compare what their batches follow from, before they train on different data unnoticed."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Mapping, Sequence

import torch

from graphzero._base.argument_errors import value_error
from graphzero.loaders._process.rank_store import RankStore

# How long a rank that has found a difference stays for others to find it.
_READING_S = 2.0


class Agreement:
    """What this rank has, left where all ranks find it. ``check()`` compares it with what the others left.

    It goes through the store that torch.distributed met at: that works with every backend and while collectives run,
    and it can say who is missing. Loaders are told apart by how many a rank made before.
    """

    def __init__(self, facts: Mapping[str, str]) -> None:
        self._facts = dict(facts)
        self._rank, self._world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        self._store = RankStore("made the same loader")
        self._number = self._store.add(f"graphzero/loaders/{self._rank}", 1)
        text = json.dumps(self._facts, sort_keys=True)
        self._alike = self._key(hashlib.blake2b(text.encode(), digest_size=16).hexdigest())
        self._store.set(self._key(self._rank), json.dumps([platform.node(), self._facts]))
        self._store.add(self._alike, 1)
        self._store.add(self._key("made"), 1)

    def check(self) -> None:
        """Wait for what all ranks have, and refuse to go on if it differs.

        Counts say that all is well, in two short questions whatever the number of ranks; only an error reads more.
        """
        self._wait()
        if self._store.add(self._alike, 0) != self._world_size:
            difference = self._difference()
            self._let_others_read()
            raise difference

    def _let_others_read(self) -> None:
        """Wait a moment for ranks that look as well: the store may end with this process."""
        end = time.monotonic() + _READING_S
        told = self._store.add(self._key("told"), 1)
        while told < self._world_size and time.monotonic() < end:
            time.sleep(0.02)
            told = self._store.add(self._key("told"), 0)

    def _wait(self) -> None:
        self._store.wait_until(
            lambda: self._store.add(self._key("made"), 0) >= self._world_size,
            lambda: f"waiting for {self._missing()} to make the same loader, as ranks divide its seeds",
            lambda waited: f"{self._missing()}: {_not_made(self._world_size, waited)}",
        )

    def _missing(self) -> str:
        return named_ranks([rank for rank in range(self._world_size) if not self._store.has(self._key(rank))])

    def _difference(self) -> ValueError:
        """Return an error about the first fact that is not the same everywhere, with who has what."""
        left = [json.loads(self._store.get(self._key(rank))) for rank in range(self._world_size)]
        hosts, facts = [host for host, _ in left], [of_rank for _, of_rank in left]
        names = dict.fromkeys(name for of_rank in facts for name in of_rank)
        name = next(name for name in names if len({of_rank.get(name) for of_rank in facts}) > 1)
        having: dict[str, list[int]] = {}
        for rank, of_rank in enumerate(facts):
            having.setdefault(of_rank.get(name, "nothing"), []).append(rank)
        found = "; ".join(f"{value} on {named_ranks(ranks, hosts)}" for value, ranks in having.items())
        argument, _, what = name.partition(": ")
        remedy = (
            "give each host a copy of the same data set, or stage a share of it on each with the same hosts=, and make "
            "loaders in the same order on all ranks"
            if argument == "data"
            else "give all of them the same arguments, or distributed=False where one rank alone has this loader"
        )
        return value_error(
            argument,
            f"{what + ': ' if what else ''}expected the same on all {self._world_size} ranks, which divide the seeds; "
            f"found {found}; {remedy}",
        )

    def _key(self, name: object) -> str:
        return f"graphzero/loader {self._number}/{name}"


def _not_made(world_size: int, waited: float) -> str:
    return (
        f"expected the same loaders on all {world_size} ranks, which divide their seeds, found none there after "
        f"{waited:.0f} s; make it on all of them, or with distributed=False where one rank alone needs it"
    )


def seed_of_rank_0(own: int) -> int:
    """Return the seed that rank 0 has drawn for the loader that all ranks make now.

    Loaders are told apart by how many without a seed a rank made before. Not a broadcast: its error would name nobody.
    """
    store, rank = RankStore("made the same loader"), torch.distributed.get_rank()
    key = f"graphzero/seed {store.add(f'graphzero/seeds/{rank}', 1)}"
    if rank == 0:
        store.set(key, str(own))
        return own
    store.wait_until(
        lambda: store.has(key),
        lambda: "waiting for rank 0 to make the same loader, as it draws the seed of all ranks",
        lambda waited: f"rank 0: {_not_made(torch.distributed.get_world_size(), waited)}",
    )
    return int(store.get(key))


def agreement_of(facts: Mapping[str, str]) -> Agreement | None:
    """Return the agreement of ranks that torch.distributed joins; ``None`` if it has not joined any."""
    world = torch.distributed.group.WORLD if torch.distributed.is_available() else None
    return None if world is None else Agreement(facts)


def named_ranks(ranks: list[int], hosts: Sequence[str] = ()) -> str:
    """Name ranks, and their hosts if these are known: ``ranks 0 and 2 on node7, node8``."""
    shown = [str(rank) for rank in ranks[:8]] + ([f"{len(ranks) - 8} more"] if len(ranks) > 8 else [])
    text = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    where = sorted({hosts[rank] for rank in ranks[:8]}) if hosts else []
    return f"rank{'s' if len(ranks) > 1 else ''} {text}{' (' + ', '.join(where) + ')' if where else ''}"

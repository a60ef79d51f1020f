"""Ranks tell each other, before they exchange rows, which rows they have."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch

from graphzero._base.argument_errors import value_error
from graphzero._dataset.feature_share import FeatureShare
from graphzero.loaders._exchange.connections import own_address
from graphzero.loaders._process.agreement import named_ranks
from graphzero.loaders._process.notes import warn
from graphzero.loaders._process.rank_store import WARN_S, RankStore

# The least time that the store has for an answer: its process may be busy.
_ANSWER_S = 15.0


@dataclass(frozen=True)
class Peer:
    """What a rank says of itself: the number of its host among those that divide rows, and the name of the machine."""

    rank: int
    host: int
    node: str

    def __str__(self) -> str:
        return f"rank {self.rank} ({self.node}, which has the rows of host {self.host})"


class Meeting:
    """What ranks leave for each other in the store that torch.distributed met at.

    Exchanges are told apart by how many a rank made before.
    """

    def __init__(self, timeout_s: float) -> None:
        self.rank, self.world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        self._store = RankStore("made a loader of the same data set", max(timeout_s, _ANSWER_S))
        self._number = self._store.add(f"graphzero/exchanges/{self.rank}", 1)

    def group(self, backend: str, timeout_s: float) -> Any:
        """Join a group of all ranks that nobody else uses."""
        store = torch.distributed.distributed_c10d.PrefixStore(self._key(backend), self._store.shared)
        timeout = timedelta(seconds=timeout_s)
        if backend == "gloo":
            return torch.distributed.ProcessGroupGloo(store, self.rank, self.world_size, timeout)
        options = torch.distributed.ProcessGroupNCCL.Options()
        options._timeout = timeout
        with _raising_in_wait():
            return torch.distributed.ProcessGroupNCCL(store, self.rank, self.world_size, options)

    def own_address(self) -> str:
        """Return the address of this host that leads to the others."""
        return own_address(self._store.shared)

    def wait(self, own: dict[str, Any], ended: Callable[[], str | None]) -> list[dict[str, Any]]:
        """Leave what this rank has, and return what each rank has left.

        ``ended`` says why this rank ends, if it does; then it withdraws, unless all ranks have come meanwhile.
        """
        self._store.set(self._key(self.rank), json.dumps({**own, "node": platform.node()}))
        self._store.add(self._key("there"), 1)
        begin, pause, said = time.monotonic(), 0.01, False
        while self._store.add(self._key("there"), 0) < self.world_size:
            waited = time.monotonic() - begin
            if waited > self._store.patience_s:
                raise TimeoutError(
                    f"{self._missing()}: expected a loader of the same data set on all {self.world_size} ranks, which "
                    f"send each other rows, found none there after {waited:.0f} s; make one on each of them"
                )
            if waited > WARN_S and not said:
                warn(f"waiting for {self._missing()} to make a loader of the same data set, to exchange rows with")
                said = True
            if self._store.has(self._key("ended")):
                raise ConnectionError(self._store.get(self._key("ended")))
            why = ended()
            if why is not None and self._store.add(self._key("there"), -1) < self.world_size - 1:
                raise ConnectionError(self.end(own["host"], why))
            if why is not None:  # others have seen all ranks here, and count on this one
                self._store.add(self._key("there"), 1)
            time.sleep(pause)  # not a blocking call of the store, which would keep other threads from it
            pause = min(2 * pause, 0.5)
        return [json.loads(self._store.get(self._key(rank))) for rank in range(self.world_size)]

    def end(self, host: int, why: str) -> str:
        """Tell ranks that wait that this one, with the rows of a host, does not come; return what they are told."""
        who = Peer(self.rank, host, platform.node())
        problem = f"{who} is gone: {why} before all ranks had made a loader of the same data set"
        self._store.set(self._key("ended"), problem)
        return problem

    def _missing(self) -> str:
        return named_ranks([rank for rank in range(self.world_size) if not self._store.has(self._key(rank))])

    def _key(self, name: object) -> str:
        return f"graphzero/exchange {self._number}/{name}"


@contextmanager
def _raising_in_wait() -> Iterator[None]:
    """Let a group of nccl that is made here raise in ``wait()`` what goes wrong; others end the process later."""
    name = "TORCH_NCCL_BLOCKING_WAIT"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def share_facts(shares: dict[str, FeatureShare]) -> dict[str, Any]:
    """Return what must be the same on all ranks, by the name of an attribute."""
    facts: dict[str, Any] = {}
    for name, share in shares.items():
        hot = [] if share.hot is None else [f"{part.fingerprint:#018x}" for part in share.parts()[1:]]
        rows = f"{share.dtype} {list(share.shape[1:])}{' with scales' if share.quantised else ''}"
        facts |= {
            name: f"{share.record.whole:#018x}",
            f"{name}: ranges": str(share.record.ranges),
            f"{name}: rows": rows,
            f"{name}: rows that all hosts have": " and ".join(hot) or "none",
        }
    return facts


def check_alike(left: Sequence[dict[str, Any]]) -> None:
    """Refuse ranks that have shares of different data sets, or not one of each host."""
    nodes = [of_rank["node"] for of_rank in left]
    backends = [of_rank["backend"] for of_rank in left]
    if len(set(backends)) > 1:
        found = " and ".join(
            f"{name!r} on {named_ranks([rank for rank, one in enumerate(backends) if one == name], nodes)}"
            for name in sorted(set(backends))
        )
        raise value_error("exchange", f"expected the same on all {len(left)} ranks, found {found}")
    names = dict.fromkeys(name for of_rank in left for name in of_rank["facts"])
    for name in names:
        having: dict[str, list[int]] = {}
        for rank, of_rank in enumerate(left):
            having.setdefault(of_rank["facts"].get(name, "nothing"), []).append(rank)
        if len(having) > 1:
            found = "; ".join(f"{value} on {named_ranks(ranks, nodes)}" for value, ranks in having.items())
            raise value_error(
                "data",
                f"{name}: expected the same on all {len(left)} ranks, which divide rows; found {found}; stage the same "
                "data set on all hosts, with the same hosts= and hot=, and make loaders in the same order on all ranks",
            )
    num_hosts = left[0]["hosts"]
    missing = sorted(set(range(num_hosts)) - {of_rank["host"] for of_rank in left})
    if missing:
        there = "; ".join(
            f"host {host} on {named_ranks([rank for rank, one in enumerate(left) if one['host'] == host], nodes)}"
            for host in sorted({of_rank["host"] for of_rank in left})
        )
        raise value_error(
            "data",
            f"expected ranks with the rows of all {num_hosts} hosts, found none with those of host "
            f"{', '.join(map(str, missing))}, but {there}; start a rank on each host, with the folder that was staged "
            "for it",
        )

"""How much of a GPU's memory rows may take: decided between batches, from numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch

from graphzero._base.argument_errors import value_error
from graphzero._base.memory_sizes import byte_text
from graphzero._inputs.pipeline_request import as_bytes

# Batches that show what a model needs, its optimiser's state included.
BATCHES_TO_WAIT = 8

_LEAST_MARGIN = 1_000_000_000
# Fewer rows than these save less than it takes to find out which.
_LEAST_ROOM = 64_000_000
_LEAST_SHARE = 0.01
# What more room has to bring for rows to be loaded again.
_LEAST_GROWTH = 1 / 8
# Of what is held, what is given back at least: the rest is loaded again each time.
_LEAST_GIVEN_BACK = 1 / 4


@dataclass(frozen=True)
class MemoryFacts:
    """The memory of a device as this process sees it, in bytes.

    ``free`` is what the process could still get of ``total``. torch has ``reserved`` some, in use or not, and ``peak``
    is the most that was in use. Rows that loaders of this process hold are among both: ``rows`` are all of them.
    """

    free: int
    total: int
    reserved: int
    peak: int
    rows: int


def memory_facts(device: torch.device, rows: int) -> MemoryFacts | None:
    """Ask a CUDA device and torch's allocator; ``rows`` are the bytes of rows that loaders hold there.

    ``None`` if they cannot say what a model needs, or if the device's memory is that of the host, which others need.
    """
    if getattr(torch.cuda.get_device_properties(device), "is_integrated", False):
        return None
    free, total = torch.cuda.mem_get_info(device)
    try:
        stats = torch.cuda.memory_stats_as_nested_dict(device)
    except RuntimeError:  # an allocator that is not torch's
        return None
    reserved = int(stats["reserved_bytes"]["all"]["current"])
    share = getattr(torch.cuda, "get_per_process_memory_fraction", None)  # older ones cannot say
    limit = total if share is None else int(total * share(device))
    peak = int(stats["allocated_bytes"]["all"]["peak"])
    return MemoryFacts(min(free, max(0, limit - reserved)), min(total, limit), reserved, peak, rows)


def read_gpu_cache(size: Any) -> int | Literal["auto"] | None:
    """Read a user's ``gpu_cache``: ``"auto"``, a number of bytes, or ``None`` for no rows."""
    if size is None or size == "auto":
        return size  # type: ignore[no-any-return]
    try:
        return as_bytes(size, "gpu_cache") or None
    except ValueError as error:
        if not isinstance(size, str):
            raise
        raise value_error("gpu_cache", f"expected 'auto', a size such as '8GB', or None, found {size!r}") from error


class AutoRoom:
    """Decides how many bytes of rows a loader holds on a device; ``reason`` says it in words.

    None at first: the batches before the first decision show the most that the model needs, its peak. Then the rows may
    take what is free beside that peak, but for a margin, for batches and validation that need more. If the model comes
    to need more than half the margin, a quarter of the rows is given back, or more until the margin is whole. Room
    grows again in a later epoch alone, and after rows were given back with a margin twice as large, so that it does not
    swing. A first epoch that is nearly over waits for a second one: a loader for a test may have none.

    ``needed`` are the bytes of all rows; ``ranks`` processes use the device.
    """

    def __init__(self, needed: int, ranks: int) -> None:
        self.needed = needed
        self.reason = f"auto: waits for {BATCHES_TO_WAIT} batches, which show what the model needs"
        self._ranks = ranks
        self._caution = 1
        self._epochs = 0
        self._batches = 0
        self.may_grow = True
        self._model_peak = 0
        self._peak_before = -1

    def begin_epoch(self) -> None:
        """Allow more room, once, in the epoch that begins."""
        self._epochs += 1
        self.may_grow = True

    def room(self, facts: MemoryFacts, held: int, *, left: float = math.inf, is_there: bool = False) -> int | None:
        """Return the room to have from now on, after another batch; ``None`` if it stays as it is.

        ``held`` are the bytes of rows that this loader has, ``left`` those of rows in the batches that are left in this
        epoch. ``is_there`` says that another loader has all rows on the device, so that they cost nothing.
        """
        self._batches += 1
        self._note_peak(facts)
        missing = self.missing(facts)
        if missing and held:
            self.may_grow = False
            self._caution *= 2
            room = self._worth(held - max(missing, int(held * _LEAST_GIVEN_BACK)))
            self.reason = f"auto: {byte_text(room)} of {self._of_rows()}; gave back the rest, as the model needs more"
            return room
        if missing or not self.may_grow or held >= self.needed:
            return None
        if is_there:
            self.may_grow = False
            self.reason = f"auto: all rows, {byte_text(self.needed)}, which another loader has on the device"
            return self.needed
        if self._batches < BATCHES_TO_WAIT:
            return None
        free = min(facts.free, self._headroom(facts))
        margin = self._margin(facts) * self._caution
        room = self._worth(min(self.needed, held + free // self._ranks - margin))
        if room > left and self._epochs < 2:
            self.reason = "auto: waits for the next epoch: what is left of this one needs fewer rows than are to load"
            return None
        self.may_grow = False
        least = held + self.needed * _LEAST_GROWTH if held else 1
        if room < min(least, self.needed):
            if not held:
                self.reason = f"auto: no rows: {self._of_free(free)}, and {byte_text(margin)} are for the model"
            return None
        part = "all rows, " if room == self.needed else ""
        of_rows = f"{byte_text(room)}" if part else f"{byte_text(room)} of {self._of_rows()}"
        self.reason = f"auto: {part}{of_rows}; {self._of_free(free)}, and {byte_text(margin)} stay for the model"
        return room

    def missing(self, facts: MemoryFacts) -> int:
        """Return how many bytes are missing for the model to have its margin, if it has less than half of it."""
        margin, headroom = self._margin(facts), self._headroom(facts)
        return margin - headroom if headroom < margin // 2 else 0

    def after_shortage(self, room: int) -> int:
        """Return the room to try after the device had none for so many bytes."""
        less = self._worth(room // 2)
        self.reason = f"auto: {byte_text(less)} of {self._of_rows()}; the device had no room for {byte_text(room)}"
        return less

    def _note_peak(self, facts: MemoryFacts) -> None:
        # A peak that has not changed may be of a time when more rows were held.
        if facts.peak != self._peak_before:
            self._model_peak = max(self._model_peak, facts.peak - facts.rows)
            self._peak_before = facts.peak

    def _margin(self, facts: MemoryFacts) -> int:
        return max(_LEAST_MARGIN, facts.total // 16, self._model_peak // 4)

    def _headroom(self, facts: MemoryFacts) -> int:
        """Return what this process could get beyond its rows and the model's peak."""
        return facts.free + facts.reserved - facts.rows - self._model_peak

    def _worth(self, room: int) -> int:
        least = max(_LEAST_ROOM, int(self.needed * _LEAST_SHARE))
        return room if room >= min(least, self.needed) else 0

    def _of_rows(self) -> str:
        return f"{byte_text(self.needed)} of rows"

    def _of_free(self, free: int) -> str:
        shared = "" if self._ranks == 1 else f" for {self._ranks} ranks"
        return f"{byte_text(max(0, free))} were free beside the model{shared}"

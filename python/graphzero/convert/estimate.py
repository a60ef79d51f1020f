"""What a conversion would take, from a look at the beginning of its source."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

from graphzero import _core
from graphzero._base.memory_sizes import byte_text, conversion_budget
from graphzero._files.storage import StoredPath, size_of
from graphzero.convert.edge_sources import edge_source
from graphzero.convert.stored import stored_paths
from graphzero.convert.text import compression_of, open_text, refuse_own_file, text_paths

_SAMPLE = 1 << 20

# Measured on two cores (docs/benchmarks/convert.md): rows read and entries sorted per second and core.
_ROWS_PER_SECOND = 20e6
_ENTRIES_PER_SECOND = 20e6

# How much larger a text of numbers is than its compressed file.
_COMPRESSION = 4


@dataclass(frozen=True)
class Estimate:
    """Sizes in bytes; ``None`` where the size of the source is not known."""

    rows: int | None
    memory: int
    temporary_disk: int | None
    final_disk: int | None
    seconds: float | None

    def __str__(self) -> str:
        if self.rows is None:
            unknown = "rows            unknown before the source is read"
            return f"{unknown}\nmemory          {byte_text(self.memory)} at most"
        return "\n".join(
            [
                f"rows            about {self.rows:,}",
                f"memory          {byte_text(self.memory)} at most",
                f"temporary disk  about {byte_text(self.temporary_disk or 0)}",
                f"final file      about {byte_text(self.final_disk or 0)}",
                f"time            about {self.seconds:.0f} s" if self.seconds else "time            under a second",
            ]
        )


def estimate_edges(
    source: Any,
    *,
    directed: bool = True,
    index: Literal["both", "out", "in"] = "both",
    weight: Any = None,
    time: Any = None,
    edge_ids: bool = True,
    memory: int | str | None = None,
) -> Estimate:
    """Tell what ``convert_edges()`` would take, without converting anything.

    Ids are taken to need four bytes. Times depend on the disk; take them as an order of magnitude.
    """
    budget = conversion_budget(memory)
    rows = _count_rows(source)
    if rows is None:
        return Estimate(None, budget, None, None, None)
    entries = rows * (2 if index == "both" or not directed else 1)
    weighted = weight is not None and weight is not False
    payload = 4 * weighted + 8 * (time is not None)
    record = 8 + 4 * (edge_ids or payload > 0) + payload
    final = entries * (4 + 4 * edge_ids + payload) + entries // 2 * weighted  # a sum of weights takes 8 per 16
    seconds = (rows / _ROWS_PER_SECOND + entries / _ENTRIES_PER_SECOND) / _core.num_threads()
    return Estimate(rows, budget, max(0, entries * record - budget // 2), final, seconds)


def _count_rows(source: Any) -> int | None:
    if hasattr(source, "read"):
        return None
    source = stored_paths(source)
    batches = edge_source(source)
    if batches is not None:
        return batches.num_edges
    total = 0
    for path in text_paths(source) or []:
        refuse_own_file(path)
        if not isinstance(path, StoredPath) and not os.path.isfile(path):
            os.stat(path)  # raises if there is nothing at all
            return None
        size = size_of(path) * (1 if compression_of(path) is None else _COMPRESSION)
        with open_text(path) as file:
            sample = file.read(_SAMPLE)
        lines = sample.count(b"\n")
        total += lines if len(sample) < _SAMPLE else int(size / len(sample) * lines)
    return total

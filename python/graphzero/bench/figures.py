"""A figure: who is asked what, how the answer is checked, and the row it becomes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zipfile import BadZipFile

import numpy as np

from graphzero.bench.contestants import Answer, Cap
from graphzero.bench.pythons import rival_named
from graphzero.bench.rival_versions import with_version

OURS = "graphzero"
Arrays = dict[str, Any]
# Files or arrays that are missing or cut off, of other shapes, or with ids of no node.
_UNCHECKABLE = (AttributeError, BadZipFile, KeyError, IndexError, OSError, TypeError, ValueError)
# Seconds to start a contestant, load its libraries and its data, about.
_START, _START_RIVAL = 0.8, 4.0


@dataclass(frozen=True)
class Figure:
    """One contestant at one task.

    ``check`` gets the arrays that the contestant left, and returns what is wrong with them, or nothing.
    ``cold`` are the files to drop from the page cache before. ``scale`` makes it a point of a plot, (axis, place),
    and if ``in_table`` is false nothing else. ``left_out`` says why it is not run.
    """

    task: str
    what: str
    program: str
    given: Mapping[str, Any]
    check: Callable[[Arrays], str | None]
    checked: str
    unit: str
    threads: int
    cache: str | None = None
    cold: Sequence[str] = ()
    cap: Cap | None = None
    scale: Sequence[tuple[str, int]] = field(default_factory=list)
    in_table: bool = True
    left_out: str | None = None

    @property
    def ours(self) -> bool:
        """Whether it is of graphzero itself."""
        return self.what.split(",")[0] == OURS

    def seconds(self) -> float:
        """Estimate how long it takes."""
        epochs = int(self.given.get("epochs", 1))
        return (_START if self.ours else _START_RIVAL) + epochs * 1.3 * float(self.given.get("seconds", 1))


def thread_counts(most: int) -> list[int]:
    """Return the numbers of threads of a plot: 1, 2, 4 and so on, up to ``most``."""
    return sorted({1, most, *(2**i for i in range(most.bit_length()) if 2**i < most)})


def wrong_in(figure: Figure) -> str | None:
    """Check what a contestant left, and remove it."""
    path = figure.given["result"]
    arrays: Arrays = {}
    try:
        if os.path.exists(path):
            with np.load(path) as file:
                arrays = dict(file)
            os.remove(path)
        return figure.check(arrays)
    except _UNCHECKABLE as error:
        return f"the answer cannot be checked: {error}"


def row_of(figure: Figure, answer: Answer, wrong: str | None) -> dict[str, Any]:
    """Return the row of a figure. It has a value only if the answer is right."""
    found = (answer.found if wrong is None else None) or {}
    reads, seconds = found.get("device_reads"), found.get("seconds")
    told = None if figure.ours or not found else with_version(rival_named(figure.what), found.get("versions", {}))
    row: dict[str, Any] = {
        "task": figure.task,
        "what": figure.what,
        "ours": figure.ours,
        "rival": told,
        "value": max(found.get("runs", ()), default=None),
        "unit": figure.unit,
        "higher_is_better": True,
        "runs": found.get("runs", []),
        "threads": figure.threads,
        "cache": figure.cache,
        "cap_bytes": None if figure.cap is None else figure.cap.size,
        "limit_bytes": answer.limit,
        "cap_proven": answer.proven,
        "peak_anonymous_bytes": answer.peak_anonymous,
        "peak_group_bytes": answer.peak_group,
        "rss_bytes": answer.peak_rss,
        "device_bytes": found.get("device_bytes"),
        "device_reads": reads,
        "iops": reads / seconds if reads is not None and seconds else None,
        "hit_rate": found.get("hit_rate"),
        "checked": figure.checked,
        "note": answer.note if wrong is None else f"wrong: {wrong}",
        "x_best_rival": None,
    }
    for_plots = {"stages": found.get("stages"), "memory": answer.memory if found else None}
    return row | {name: values for name, values in for_plots.items() if values}


def compare(rows: Sequence[dict[str, Any]]) -> None:
    """Tell in each of our rows how many times faster it is than the best rival at the same task."""
    for row in rows:
        rivals = [other["value"] for other in rows if not other["ours"] and other["task"] == row["task"]]
        measured = [value for value in rivals if value is not None]
        if row["ours"] and row["value"] is not None and measured:
            row["x_best_rival"] = row["value"] / max(measured)

"""Numbers of bytes: as people write them, and how many a job may hold."""

from __future__ import annotations

import re
from collections.abc import Callable

from graphzero import _core
from graphzero._base.argument_errors import value_error
from graphzero._base.integers import integer


def byte_text(count: float) -> str:
    """Write a number of bytes as a person would: ``byte_text(2_500_000)`` is ``"2.5 MB"``."""
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if count < 1000 or unit == "PB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


_MEGABYTE = 1_000_000
# What a process takes beside its budget (docs/guide/memory.md), and page tables and the like.
_MOST_RESERVED = 64 << 20
# A finished batch of 120,000 rows of 512 bytes.
_BATCH = 60_000_000
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_UNITS |= {f"{unit}i": 1024**i for i, unit in enumerate("kmgt", start=1)}


def byte_count(size: int | str, name: str = "memory") -> int:
    """Read a number of bytes as people write it; ``name`` opens the message if it is none.

    Examples:
        >>> byte_count("2GB"), byte_count("512 MiB"), byte_count(4096)
        (2000000000, 536870912, 4096)
    """
    if not isinstance(size, str):
        given = integer(size, name)
        if given < 0:
            raise value_error(name, f"expected a size from 0 on, found {size!r}")
        if given >= 2**63:
            raise value_error(name, f"expected a size below 8 EiB, found {size!r}")
        return given
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?i?)b?\s*", size.lower())
    if match is None or match[2] not in _UNITS:
        raise value_error(name, f"expected a size such as '2GB' or '512MiB', found {size!r}")
    count = float(match[1]) * _UNITS[match[2]]
    if count >= 2**63:
        raise value_error(name, f"expected a size below 8 EiB, found {size!r}")
    return int(count)


def conversion_budget(memory: int | str | None = None) -> int:
    """Read the budget of a conversion; by default half of what is available, at most 8 GB."""
    return max(64 << 20, min(pipeline_budget(), 8_000_000_000)) if memory is None else byte_count(memory)


def pipeline_budget(beside: int = 0) -> int:
    """Return the default budget of a pipeline: half of what is available here and in the control group.

    It is less where ``beside``, bytes that are read at random through the page cache, would not fit then: a page of the
    topology that is missing is read for one neighbour, rows are read for many batches together. Where they do not fit
    beside a quarter and four usual batches, the budget is a quarter, or six batches if that is more: fewer make reads
    of rows slower than the graph gets faster (docs/benchmarks/pipeline.md).
    """
    available = _core.available_memory()
    half, quarter = available // 2, available // 4
    rest = available - beside - reserved_beside(available)
    fits = rest >= max(quarter, 4 * _BATCH)
    return min(half, rest if fits else max(quarter, 6 * _BATCH))


def reserved_beside(available: int) -> int:
    """Return what is left for the process itself, of what is available."""
    return min(_MOST_RESERVED, available // 8)


def budget_for_shares(
    error: _core.BudgetTooSmall, total: int, share_of: Callable[[int], int], whose: str
) -> ValueError:
    """Return the core's error about a share of a budget as one about the ``total`` that a user gave.

    ``share_of`` says what ``whose`` gets of a number of bytes.
    """
    needed: int = error.least  # type: ignore[attr-defined]
    least = -(-total // _MEGABYTE) * _MEGABYTE
    while share_of(least) < needed:
        least += _MEGABYTE
    advice: str = error.advice  # type: ignore[attr-defined]
    return value_error(
        "memory",
        f"expected at least {least // _MEGABYTE} MB, found {byte_text(total)}, of which {whose} gets "
        f"{byte_text(share_of(total))} and needs {-(-needed // _MEGABYTE)} MB; {advice}",
    )


def peak_memory() -> int:
    """Return the most memory this process has held at any time, mapped files included."""
    return _core.memory_facts().peak_rss  # getrusage would count what the parent held before exec

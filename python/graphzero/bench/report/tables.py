"""What stands in the tables: columns of rows, what was checked, and conditions by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphzero.bench.report.bars import stages_text
from graphzero.bench.report.lines import cap_text
from graphzero.bench.report.number_text import bytes_text, count_text, percent_text
from graphzero.bench.report.readings import (
    Part,
    Row,
    listed,
    mapping,
    number,
    parts_of,
    rows_of,
    task_of,
    tasks_of,
    written,
)

Columns = dict[str, Callable[[Row], str]]


def _amount(name: str, write: Callable[[float], str]) -> Callable[[Row], str]:
    return lambda row: written(row, name, write) or ""


def _runs(row: Row) -> str:
    runs = [run for run in listed(row, "runs") if number({"": run}, "") is not None]
    return f"{count_text(min(runs))} to {count_text(max(runs))} ({len(runs)})" if len(runs) > 1 else ""


# Behind who and value.
RATES: Columns = {
    "Runs": _runs,
    "Threads": _amount("threads", "{:g}".format),
    "Cache before": lambda row: "" if row.get("cache") is None else str(row["cache"]),
    "Note": lambda row: "" if number(row, "value") is None else str(row.get("note") or ""),
}
RESOURCES: Columns = {
    "Cap": lambda row: written(row, "cap_bytes", lambda cap: f"{bytes_text(cap)}, {cap_text(row)}") or "",
    "Peak anonymous": _amount("peak_anonymous_bytes", bytes_text),
    "Peak in group": _amount("peak_group_bytes", bytes_text),
    "RSS": _amount("rss_bytes", bytes_text),
    "Device bytes": _amount("device_bytes", bytes_text),
    "Device reads": _amount("device_reads", count_text),
    "IOPS": _amount("iops", count_text),
    "Hit rate": _amount("hit_rate", percent_text),
    "Stages": stages_text,
}
LONG = {"Cap", "Stages", "Note"}


def used(columns: Columns, part: Part) -> Columns:
    """Return the columns that a part has something for."""
    return {name: write for name, write in columns.items() if any(map(write, rows_of(part)))}


def tasks_with(columns: Columns, part: Part) -> list[list[Row]]:
    """Return rows that have something in a column, by task."""
    tasks = [[row for row in task if any(write(row) for write in columns.values())] for task in tasks_of(part)]
    return [task for task in tasks if task]


def checks(part: Part) -> dict[str, list[str]]:
    """Return what was proven before anything was timed, each check with its tasks."""
    proven: dict[str, list[str]] = {}
    for row in rows_of(part):
        if row.get("checked"):
            tasks = proven.setdefault(str(row["checked"]), [])
            if task_of(row) not in tasks:
                tasks.append(task_of(row))
    return proven


def bytes_in(facts: Mapping[str, Any], name: str, unit: int = 1) -> str | None:
    """Write a number of bytes."""
    return written(facts, name, lambda count: bytes_text(count * unit))


def free_text(free: Any) -> str | None:
    """Write what ``free`` shows."""
    if isinstance(free, Mapping):
        return ", ".join(f"{name} {bytes_in(free, name) or 'not known'}" for name in free)
    return None if free is None else str(free)


def settings(document: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the options of the run."""
    known = dict(mapping(document, "settings"))
    caps = known.pop("caps", None)
    if isinstance(caps, list):
        known["caps"] = ", ".join(f"{cap} %" for cap in caps) + " of the features" if caps else "none"
    return [(name.replace("_", " ").capitalize(), value) for name, value in known.items()]


def versions(document: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the versions that were measured with; of what is missing, that it is not installed."""
    absent = {"commit": "not known"}
    known = mapping(document, "versions")
    return [(name, absent.get(name, "not installed") if value is None else value) for name, value in known.items()]


def resident(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return how much of the data files was in the page cache before and after each part."""
    found = []
    for part in parts_of(document):
        before, after = bytes_in(part, "resident_before"), bytes_in(part, "resident_after")
        if before is not None or after is not None:
            found.append((str(part.get("name")), f"{before or 'not known'} before, {after or 'not known'} after"))
    return found

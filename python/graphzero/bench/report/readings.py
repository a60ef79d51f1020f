"""Reading the document of ``graphzero bench``, in which anything may be missing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from graphzero.bench.report.number_text import seconds_text

Row = Mapping[str, Any]
Part = Mapping[str, Any]


def number(facts: Mapping[str, Any], name: str) -> float | None:
    """Return a number of ``facts``; ``None`` if it is not there or not a finite number."""
    value = facts.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value


def written(facts: Mapping[str, Any], name: str, write: Callable[[float], str]) -> str | None:
    """Return a number of ``facts`` as ``write`` puts it; ``None`` if there is none."""
    value = number(facts, name)
    return None if value is None else write(value)


def mapping(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return what ``facts`` holds under a name, empty if there is nothing."""
    value = facts.get(name)
    return value if isinstance(value, Mapping) else {}


def listed(facts: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list of ``facts``, empty if there is none."""
    value = facts.get(name)
    return list(value) if isinstance(value, (list, tuple)) else []


def parts_of(document: Mapping[str, Any]) -> list[Part]:
    """Return the parts that were run."""
    return [part for part in listed(document, "parts") if isinstance(part, Mapping)]


def rows_of(part: Part) -> list[Row]:
    """Return the rows of a part."""
    return [row for row in listed(part, "rows") if isinstance(row, Mapping)]


def title_of(part: Part) -> str:
    """Return the heading of a part."""
    return str(part.get("title") or part.get("name") or "Without a name")


def anchor_of(part: Part) -> str:
    """Return the id of a part's section."""
    return "part-" + re.sub(r"\W+", "-", str(part.get("name") or title_of(part)))


def conditions_of(part: Part) -> list[tuple[str, str]]:
    """Return what was held fixed, and how long it took."""
    held = [(name, str(value)) for name, value in mapping(part, "conditions").items() if value is not None]
    seconds = written(part, "seconds", seconds_text)
    return held if seconds is None else [*held, ("measured in", seconds)]


def data_bytes(document: Mapping[str, Any]) -> float:
    """Return the size of the data, 0 if it is not known."""
    data = mapping(document, "data")
    return sum(number(data, name) or 0 for name in ("feature_bytes", "graph_bytes"))


def name_of(row: Row) -> str:
    """Return who was measured."""
    return str(row.get("what") or "without a name")


def version_of(row: Row) -> str:
    """Return who was measured: a rival with its version, if that is known."""
    return str(row.get("rival") or name_of(row))


def reason_of(row: Row) -> str:
    """Return why a row has no value."""
    return str(row.get("note") or "no value, and no reason was recorded")


def task_of(row: Row) -> str:
    """Return what was done."""
    return str(row.get("task") or "without a task")


def tasks_of(part: Part) -> list[list[Row]]:
    """Return the rows that can be compared, those of one task in one unit, together and ours first."""
    tasks: dict[tuple[str, str], list[Row]] = {}
    for row in rows_of(part):
        tasks.setdefault((task_of(row), str(row.get("unit"))), []).append(row)
    return [sorted(rows, key=lambda row: not row.get("ours")) for rows in tasks.values()]


def best_rival(part: Part, ours: Row) -> Row | None:
    """Return the best row of somebody else at the same task."""
    rivals = [
        row
        for row in rows_of(part)
        if not row.get("ours")
        and number(row, "value") is not None
        and (row.get("task"), row.get("unit")) == (ours.get("task"), ours.get("unit"))
    ]
    choose = min if ours.get("higher_is_better") is False else max
    return choose(rivals, key=lambda row: number(row, "value") or 0.0, default=None)


def times_best_rival(part: Part, row: Row) -> float | None:
    """Return how many times better a row of ours is: as the document says, else from the values. A loss stays one."""
    value, given, rival = number(row, "value"), number(row, "x_best_rival"), best_rival(part, row)
    if value is None or not row.get("ours"):
        return None
    if given is not None or rival is None:
        return given
    other = number(rival, "value") or 0.0
    above, under = (other, value) if row.get("higher_is_better") is False else (value, other)
    return above / under if above > 0 and under > 0 else None

"""What a run says in a few figures, and where others were better."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from graphzero.bench.report.number_text import bytes_text, count_text, percent_text, ratio_text, value_text
from graphzero.bench.report.readings import (
    Part,
    Row,
    best_rival,
    data_bytes,
    mapping,
    name_of,
    number,
    parts_of,
    reason_of,
    rows_of,
    task_of,
    times_best_rival,
    title_of,
    version_of,
)


class Figure(NamedTuple):
    """A number to remember, what it is, and what it is measured against."""

    number: str
    label: str
    detail: str


def figures(document: Mapping[str, Any]) -> list[Figure]:
    """Return at most four figures: sampling, whole batches, what a cap on memory costs, and what it is kept with.

    Each is of the part named, good or bad; the best of all parts is not looked for.
    """
    parts = {str(part.get("name")): part for part in parts_of(document)}
    sampling, batches, training = (parts.get(name, {}) for name in ("sampling", "batches", "training"))
    found = [
        _rate(sampling),
        _against_rival(batches) or _against_rival(training),
        # A cap costs the speed that training loses by it; what is held is shown without torch and a model.
        _speed_kept(training if _tightest(training) else batches, document),
        _memory_held(batches if _tightest(batches) else training, document),
    ]
    return [figure for figure in found if figure is not None]


def _measured(part: Part) -> list[Row]:
    return [row for row in rows_of(part) if row.get("ours") and number(row, "value") is not None]


def _value(row: Row) -> float:
    return number(row, "value") or 0.0


def _rate(part: Part) -> Figure | None:
    # All threads, and the task that the part begins with: an easier one may give a larger number.
    row = max(_measured(part), key=lambda row: number(row, "threads") or 0.0, default=None)
    if row is None:
        return None
    label = f"{row.get('unit') or ''} {title_of(part).lower()}".strip()
    told = filter(None, (task_of(row), standing(part, row, version_of)))
    return Figure(count_text(_value(row)), label, "; ".join(told))


def _against_rival(part: Part) -> Figure | None:
    compared = [row for row in _measured(part) if times_best_rival(part, row) is not None]
    uncapped = [row for row in compared if number(row, "cap_bytes") is None] or compared
    if not uncapped:
        return None
    row = max(uncapped, key=_value)
    rival = best_rival(part, row) or {}
    beside = [f"beside {name_of(rival)}"] if rival.get("rival") else []  # how it was used is not in its version
    value = value_text(_value(row), row.get("unit"))
    return Figure(
        ratio_text(times_best_rival(part, row) or 0.0),
        f"the speed of {_rival_text(part, row, version_of)}",
        ", ".join([f"{title_of(part)}: {task_of(row)}", value, *beside]),
    )


def _tightest(part: Part) -> Row | None:
    capped = [row for row in _measured(part) if number(row, "cap_bytes")]
    return min(capped, key=lambda row: (number(row, "cap_bytes") or 0.0, -_value(row)), default=None)


def _speed_kept(part: Part, document: Mapping[str, Any]) -> Figure | None:
    row = _tightest(part)
    if row is None:
        return None
    free = [other for other in _measured(part) if number(other, "cap_bytes") is None]
    # The fastest without a cap: a slower one would flatter.
    fastest = max((_value(other) for other in free if other.get("unit") == row.get("unit")), default=0.0)
    if fastest <= 0:
        return None
    cap, features = number(row, "cap_bytes") or 0.0, number(mapping(document, "data"), "feature_bytes")
    share = f", {percent_text(cap / features)} of the features" if features else ""
    return Figure(
        percent_text(_value(row) / fastest),
        "of its speed in RAM, under a cap",
        f"{title_of(part)}: memory capped at {bytes_text(cap)}{share}",
    )


def _memory_held(part: Part, document: Mapping[str, Any]) -> Figure | None:
    row = _tightest(part) or {}
    whole, own = number(row, "peak_group_bytes"), number(row, "peak_anonymous_bytes")
    peak = own if whole is None else whole
    if peak is None:
        return None
    cap, limit, size = number(row, "cap_bytes") or 0.0, number(row, "limit_bytes"), data_bytes(document)
    held = f"above the cap of {bytes_text(cap)}" if peak > cap else f"cap {bytes_text(cap)}"
    if limit is not None:
        held = f"cap {bytes_text(cap)}, limit of the whole process {bytes_text(limit)}"
    return Figure(
        bytes_text(peak),
        "peak memory of its own" if whole is None else "peak memory, page cache included",
        f"{held}; data {bytes_text(size)}" if size else held,
    )


def _rival_text(part: Part, row: Row, write: Callable[[Row], str]) -> str:
    rival = best_rival(part, row)
    return write(rival) if rival else "the best rival"


def standing(part: Part, row: Row, write: Callable[[Row], str] = name_of) -> str:
    """Tell how a row of ours stands against the best rival, which ``write`` names; empty if there is none."""
    ratio = times_best_rival(part, row)
    if ratio is None:
        return ""
    times, against = ratio_text(ratio), _rival_text(part, row, write)
    worse = "larger" if row.get("unit") == "bytes" else "slower"
    return f"{times}, {worse} than {against} here" if lost(part, row) else f"{times} {against}"


def lost(part: Part, row: Row) -> bool:
    """Tell whether a rival was better, by more than the text of the ratio rounds away."""
    ratio = times_best_rival(part, row)
    return ratio is not None and round(ratio, 2) < 1


def losses(document: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each row of ours that a rival beat, or that has no value where a rival has one."""
    found = []
    for part in parts_of(document):
        for row in rows_of(part):
            task, rival = f"{title_of(part)}, {task_of(row)}", best_rival(part, row)
            if row.get("ours") and lost(part, row):
                found.append(f"{task}: {standing(part, row)}")
            elif row.get("ours") and rival is not None and number(row, "value") is None:
                found.append(f"{task}: no value ({reason_of(row)}), where {name_of(rival)} has one")
    return found


def compared(parts: Sequence[Part]) -> bool:
    """Tell whether a row of ours has a rival's value beside it."""
    return any(standing(part, row) for part in parts for row in rows_of(part))


def without_value(document: Mapping[str, Any]) -> int:
    """Count the rows that have a reason instead of a value."""
    return sum(number(row, "value") is None for part in parts_of(document) for row in rows_of(part))

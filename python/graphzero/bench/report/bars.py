"""Bars of a chart. Lengths are shares of the width and text keeps its size, so one drawing serves phone and desk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from graphzero.bench.report.findings import standing
from graphzero.bench.report.number_text import seconds_text, value_text
from graphzero.bench.report.readings import Part, Row, mapping, name_of, number, reason_of, rows_of

# From here on the short bars could not be text apart on an even scale.
LOG_FROM_RATIO = 30
# The longest bar, in percent: the rest is for the value behind it.
LONGEST = 55.0
# Pixels from one row to the next, and those that a second line of text takes.
ROW, _SECOND_LINE = 46, 17
# Characters that fit beside each other on a phone; the whole text is in the tooltip and in the table.
_LINE = 44


def shortened(text: str, most: int = _LINE) -> str:
    """Return text cut to a number of characters; an ellipsis stands for the rest."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def lengths(values: Sequence[float | None]) -> tuple[list[float | None], list[float]]:
    """Return bar lengths in percent, and where the factors of ten are if the scale is logarithmic.

    Values of at most 0 have no length; missing ones stay missing.
    """
    positive = [value for value in values if value is not None and value > 0]
    if not positive:
        return [None if value is None else 0.0 for value in values], []
    low, high = min(positive), max(positive)
    if high / low < LOG_FROM_RATIO:
        return [None if value is None else max(0.0, value / high * LONGEST) for value in values], []
    first = math.floor(math.log10(low) - 0.2)  # so that the shortest bar is seen
    span = math.log10(high) - first

    def length(value: float) -> float:
        return (math.log10(value) - first) / span * LONGEST if value > 0 else 0.0

    decades = [step / span * LONGEST for step in range(1, math.floor(span) + 1)]
    return [None if value is None else length(value) for value in values], decades


class Bar(NamedTuple):
    """A row of a chart from pixel ``top`` on, its bar at ``y``; without a value it has no ``share`` of the width.

    How it stands ``against`` the best rival is ``times`` and whom: ``beside`` it, or on a line ``below`` if it is long.
    The name is cut to ``room`` characters.
    """

    row: Row
    name: str
    text: str
    against: str
    times: str
    beside: str
    below: str
    room: int
    top: int
    y: int
    share: float | None
    notches: list[float]


def throughput_bars(part: Part, rows: Sequence[Row]) -> tuple[list[Bar], int, bool]:
    """Return the bars of one task, how high they are together, and whether the scale is logarithmic."""
    shares, decades = lengths([number(row, "value") for row in rows])
    bars, top = [], 0
    for row, share in zip(rows, shares, strict=True):
        name, value, against = name_of(row), number(row, "value"), standing(part, row)
        text = reason_of(row) if value is None else value_text(value, row.get("unit"))
        times, _, rest = against.partition(" ")
        beside, below = (f" {rest}", "") if len(name) + len(against) < _LINE - 3 else ("", rest)
        y = top + 21 + (_SECOND_LINE if below else 0)
        notches = [x for x in decades if share is not None and x < share]
        room = _LINE - len(times) - 3
        bars.append(Bar(row, name, text, against, times.rstrip(","), beside, below, room, top, y, share, notches))
        top = y - 21 + ROW
    return bars, top, bool(decades)


class Stage(NamedTuple):
    """A stage of a row: its look (a class of the style sheet), and where it is drawn, in percent."""

    name: str
    look: str
    seconds: float
    start: float
    width: float


def stage_bars(part: Part) -> tuple[list[tuple[str, str]], list[tuple[Row, list[Stage]]]]:
    """Return the styles and names of stages, and the stages of each row that has them, on one scale."""
    times = [(row, stages) for row in rows_of(part) if (stages := _stages_of(row))]
    names = dict.fromkeys(name for _, stages in times for name in stages)
    looks = {name: f"stage{index % 5}" for index, name in enumerate(names)}
    longest = max((sum(stages.values()) for _, stages in times), default=0.0) or 1.0
    staged = []
    for row, stages in times:
        start, drawn = 0.0, []
        for name, seconds in stages.items():
            width = seconds / longest * (LONGEST + 20)
            drawn.append(Stage(name, looks[name], seconds, start, width))
            start += width
        staged.append((row, drawn))
    return [(look, name) for name, look in looks.items()], staged


def _stages_of(row: Row) -> dict[str, float]:
    stages = mapping(row, "stages")
    times = {str(name): number(stages, name) for name in stages}
    return {name: seconds for name, seconds in times.items() if seconds is not None and seconds >= 0}


def stages_text(row: Row) -> str:
    """Write the stages of a row in words."""
    return ", ".join(f"{name} {seconds_text(seconds)}" for name, seconds in _stages_of(row).items())

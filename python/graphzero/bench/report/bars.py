"""Bars as SVG. Lengths are shares of the width and text keeps its size, so one drawing serves phone and desk."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphzero.bench.report.findings import lost, standing
from graphzero.bench.report.markup import Markup, joined, tag
from graphzero.bench.report.number_text import seconds_text, value_text
from graphzero.bench.report.readings import Part, Row, mapping, name_of, number, reason_of, task_of

# From here on the short bars could not be told apart on an even scale.
LOG_FROM_RATIO = 30
# The longest bar, in percent: the rest is for the value behind it.
LONGEST = 55.0
_ROW, _BAR_TOP, _BAR = 46, 21, 16
# Characters that fit beside each other on a phone; the whole text is in the tooltip and in the table.
_LINE = 44


def shortened(text: str, most: int) -> str:
    """Return text of at most so many characters; an ellipsis tells that there is more."""
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


def throughput_bars(part: Part, rows: Sequence[Row]) -> Markup:
    """Draw the rows of one task: ours in colour, with how they stand; rows without a value with their reason."""
    shares, decades = lengths([number(row, "value") for row in rows])
    bars, height = [], 0
    for row, share in zip(rows, shares, strict=True):
        bar, high = _row(part, row, share, decades, height)
        bars.append(bar)
        height += high
    told = "; ".join(f"{name_of(row)} {_told(row)}" for row in rows)
    label = f"{task_of(rows[0])}: {told}"
    scale = "Log scale: each notch is a factor of 10." if decades else ""
    better = "Shorter is better." if any(row.get("higher_is_better") is False for row in rows) else ""
    remarks = " ".join(filter(None, (scale, better)))
    return tag(
        "figure",
        tag("figcaption", task_of(rows[0]), tag("small", remarks) if remarks else None),
        tag("svg", *bars, role="img", aria_label=label, width="100%", height=height),
    )


def _told(row: Row) -> str:
    value = number(row, "value")
    return reason_of(row) if value is None else value_text(value, row.get("unit"))


def _row(part: Part, row: Row, share: float | None, decades: Sequence[float], top: int) -> tuple[Markup, int]:
    """Return name, bar and value, and how high they are: whom a ratio is against has its own line if it is long."""
    against, look = standing(part, row), "lost" if lost(part, row) else "won"
    times, _, rest = against.partition(" ")
    fits = len(name_of(row)) + len(against) < _LINE - 3
    beside, below = (f" {rest}", "") if fits else ("", rest)
    name = tag(
        "tspan", shortened(name_of(row), _LINE - len(times) - 3), class_="name ours" if row.get("ours") else "name"
    )
    ratio = tag("tspan", tag("tspan", times.rstrip(","), class_="times"), beside, class_=look, dx=10) if times else None
    drawn = [
        tag("title", f"{name_of(row)}: {_told(row)}" + (f" ({against})" if against else "")),
        tag("text", name, ratio, x=0, y=top + 14),
    ]
    extra = 17 if below else 0
    if below:
        drawn.append(tag("text", tag("tspan", shortened(below, _LINE), class_=look), x=0, y=top + 14 + extra))
    y = top + _BAR_TOP + extra
    if share is None:
        drawn.append(tag("text", shortened(reason_of(row), _LINE), class_="reason", x=0, y=y + 12))
    else:
        bar = "bar ours" if row.get("ours") else "bar"
        drawn.append(tag("rect", class_=bar, x=0, y=y, width=f"{share:.3f}%", height=_BAR, rx=2))
        notches = (f"{x:.3f}%" for x in decades if x < share)
        drawn += [tag("line", class_="notch", x1=x, x2=x, y1=y, y2=y + _BAR) for x in notches]
        drawn.append(tag("text", _told(row), class_="value", x=f"{share:.3f}%", dx=8, y=y + 13))
    return tag("g", *drawn), _ROW + extra


def stage_bars(rows: Sequence[Row]) -> Markup:
    """Draw where the time of each row went, in seconds on one scale, stages side by side."""
    times = [_stages(row) for row in rows]
    names = list(dict.fromkeys(name for stages in times for name in stages))
    longest = max((sum(stages.values()) for stages in times), default=0.0) or 1.0
    bars = []
    for index, (row, stages) in enumerate(zip(rows, times, strict=True)):
        top, start = index * _ROW, 0.0
        name = f"{name_of(row)}, {task_of(row)}"
        drawn = [tag("text", tag("title", name), shortened(name, _LINE), class_="name", x=0, y=top + 14)]
        for name, seconds in stages.items():
            width = seconds / longest * (LONGEST + 20)
            drawn.append(
                tag(
                    "rect",
                    tag("title", f"{name}: {seconds_text(seconds)}"),
                    class_=f"stage stage{names.index(name) % 5}",
                    x=f"{start:.3f}%",
                    y=top + _BAR_TOP,
                    width=f"{width:.3f}%",
                    height=_BAR,
                )
            )
            start += width
        total = seconds_text(sum(stages.values()))
        drawn.append(tag("text", total, class_="value", x=f"{start:.3f}%", dx=8, y=top + _BAR_TOP + 13))
        bars.append(tag("g", *drawn))
    told = "; ".join(f"{name_of(row)}, {task_of(row)}: {stages_text(row)}" for row in rows)
    keys = [(f"stage{index % 5}", name) for index, name in enumerate(names)]
    return tag(
        "figure",
        tag("figcaption", "Time per stage"),
        legend(keys),
        tag("svg", *bars, role="img", aria_label=f"Time per stage: {told}", width="100%", height=_ROW * len(rows)),
    )


def _stages(row: Row) -> dict[str, float]:
    stages = mapping(row, "stages")
    times = {str(name): number(stages, name) for name in stages}
    return {name: seconds for name, seconds in times.items() if seconds is not None and seconds >= 0}


def stages_text(row: Row) -> str:
    """Write the stages of a row in words."""
    return ", ".join(f"{name} {seconds_text(seconds)}" for name, seconds in _stages(row).items())


def legend(keys: Sequence[tuple[str, str]]) -> Markup:
    """Name the colours of a drawing; the class of a key is that of what it stands for."""
    entries = (tag("span", tag("i", class_=f"key {look}"), name) for look, name in keys)
    return tag("p", joined(*entries), class_="legend", aria_hidden="true")

"""Lines as SVG: memory over time, and rates over threads or size.

Points lie in a box that is stretched to the width at hand; text and dots beside it keep their size.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphzero.bench.report.bars import LOG_FROM_RATIO, legend
from graphzero.bench.report.markup import Markup, tag
from graphzero.bench.report.number_text import (
    bytes_text,
    count_text,
    round_steps,
    seconds_text,
    step_text,
    value_text,
)
from graphzero.bench.report.readings import Part, Row, listed, mapping, name_of, number, rows_of, task_of

# The box of the points: percent of the width, pixels of the height.
_LEFT, _WIDE = 17.0, 75.0
_TOP, _HIGH = 14, 150
_HEIGHT = _TOP + _HIGH + 26
# Labels below the box need this share of it between them, on a phone.
_LABEL_SHARE = 0.17
_MOST_POINTS = 240
_LINE_LOOKS = 4


@dataclass(frozen=True)
class Line:
    """The points of a line, its name and its look (a class of the style sheet)."""

    name: str
    look: str
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class Axes:
    """What the box shows: x from ``first`` to ``last``, y from 0 to ``highest``."""

    first: float
    last: float
    highest: float
    log_x: bool = False

    def x(self, value: float) -> float:
        """Return where a value lies between the left and the right side: 0 to 1."""
        if self.last == self.first:
            return 0.0
        if self.log_x:
            return math.log(value / self.first) / math.log(self.last / self.first)
        return (value - self.first) / (self.last - self.first)

    def y(self, value: float) -> float:
        """Return where a value lies between top and bottom: 0 to 1."""
        return 1 - value / self.highest


def memory_lines(row: Row) -> Markup | None:
    """Draw what a row held over time, with its cap. ``None`` if it was not watched."""
    samples = _thinned([sample for sample in listed(row, "memory") if _is_sample(sample)])
    if not samples:
        return None
    own = Line("anonymous", "line0", [(seconds, anonymous) for seconds, anonymous, _ in samples])
    cached = Line("page cache", "line1", [(seconds, cache) for seconds, _, cache in samples if cache is not None])
    lines = [line for line in (own, cached) if line.points]
    cap, limit = number(row, "cap_bytes"), number(row, "limit_bytes")
    marks = [("limit", limit), ("cap", cap)]
    mark = next(((name, size) for name, size in marks if size is not None), None)
    peaks = {line.name: max(y for _, y in line.points) for line in lines}
    told = "Highest: " + ", ".join(f"{name} {bytes_text(peak)}" for name, peak in peaks.items()) + "."
    if not cached.points:
        told += " The page cache was not looked at."
    if cap is not None:
        told += f" Cap {bytes_text(cap)}, {cap_text(row)}."
    highest = max(*peaks.values(), 0.0, (mark[1] if mark else 0.0) * 1.15) or 1.0
    axes = Axes(min(0.0, samples[0][0]), samples[-1][0], highest)
    ends = [(axes.first, "start"), (axes.last, "end")]
    below = [_below(axes.x(x), seconds_text(x), anchor) for x, anchor in ends[: 1 + (axes.last > axes.first)]]
    title = f"Memory over time: {name_of(row)}, {task_of(row)}"
    return tag(
        "figure",
        tag("figcaption", title, tag("small", told)),
        legend([(line.look, line.name) for line in lines] + ([("cap", mark[0])] if mark else [])),
        _chart(f"{title}. {told}", axes, "bytes", lines, below, mark),
    )


def cap_text(row: Row) -> str:
    """Tell whether a cap was kept by the kernel. A group may have a higher limit: for what its process held before."""
    proven, limit = row.get("cap_proven"), number(row, "limit_bytes")
    cap, peak = number(row, "cap_bytes"), number(row, "peak_group_bytes")
    if proven is None:
        return "not known how it was kept"
    if not proven:
        return "a budget only"
    if limit is not None:
        return f"in a control group of {bytes_text(limit)} for the whole process"
    if cap is not None and peak is not None and peak > cap:
        return f"in a control group that held up to {bytes_text(peak)}"
    return "proven in a control group"


def _is_sample(sample: Any) -> bool:
    if not isinstance(sample, (list, tuple)) or len(sample) != 3:
        return False
    known = sample[:2] if sample[2] is None else sample
    return all(number({"": value}, "") is not None and value >= 0 for value in known)


def _thinned(samples: list[Any]) -> list[tuple[float, float, float | None]]:
    """Join neighbouring samples where there are too many to see, to the highest of them: a peak stays."""
    step = math.ceil(len(samples) / _MOST_POINTS) or 1
    groups = [samples[start : start + step] for start in range(0, len(samples), step)]
    return [
        (group[-1][0], max(s[1] for s in group), max((s[2] for s in group if s[2] is not None), default=None))
        for group in groups
    ]


def scaling_lines(title: str, unit: str, series: Sequence[Mapping[str, Any]], ours: Container[str]) -> Markup | None:
    """Draw rates over threads or size. ``None`` if no series has a point."""
    lines: list[Line] = []
    for one in series:
        points = _points(one)
        look = "line0" if name_of(one) in ours else f"rival{sum(line.look != 'line0' for line in lines) % _LINE_LOOKS}"
        if points:
            lines.append(Line(name_of(one), look, points))
    if not lines:
        return None
    lines.sort(key=lambda line: line.look != "line0")
    xs = sorted({x for line in lines for x, _ in line.points})
    log_x = xs[0] > 0 and xs[-1] / xs[0] >= LOG_FROM_RATIO
    axes = Axes(xs[0], xs[-1], max(y for line in lines for _, y in line.points) or 1.0, log_x)
    told = "; ".join(
        f"{line.name}: " + ", ".join(f"{count_text(y)} at {_plain(x)}" for x, y in line.points) for line in lines
    )
    below = [_below(axes.x(x), _plain(x), "middle") for x in _apart(xs, axes)]
    return tag(
        "figure",
        tag("figcaption", title, tag("small", unit + (", x on a log scale" if log_x else ""))),
        legend([(line.look, line.name) for line in lines]),
        _chart(f"{title}, in {unit}. {told}", axes, unit, lines, below, None),
    )


def scaling_charts(part: Part) -> list[Markup]:
    """Draw what a part tells about threads and size: a chart for each unit."""
    ours = {"graphzero", *(name_of(row) for row in rows_of(part) if row.get("ours"))}
    charts = []
    for key, title in (("threads", "Scaling with threads"), ("size", "Scaling with edges")):
        series = [one for one in listed(mapping(part, "scaling"), key) if isinstance(one, Mapping)]
        for unit in dict.fromkeys(str(one.get("unit") or "no unit recorded") for one in series):
            same = [one for one in series if str(one.get("unit") or "no unit recorded") == unit]
            charts.append(scaling_lines(title, unit, same, ours))
    return [chart for chart in charts if chart is not None]


def _points(one: Mapping[str, Any]) -> list[tuple[float, float]]:
    pairs = zip(listed(one, "x"), listed(one, "y"), strict=False)
    numbers = [(number({"": x}, ""), number({"": y}, "")) for x, y in pairs]
    return sorted((x, y) for x, y in numbers if x is not None and y is not None and y >= 0)


def _plain(x: float) -> str:
    return f"{x:g}" if abs(x) < 1000 else step_text(float(f"{x:.2g}"), None)


def _apart(xs: Sequence[float], axes: Axes) -> list[float]:
    """Choose the values to label: the ends, and between them what has room."""
    chosen = [xs[0]]
    for x in xs[1:-1]:
        if axes.x(x) - axes.x(chosen[-1]) >= _LABEL_SHARE and 1 - axes.x(x) >= _LABEL_SHARE:
            chosen.append(x)
    return chosen + list(xs[1:][-1:])


def _below(share: float, text: str, anchor: str) -> Markup:
    return tag("text", text, class_="axis", x=_percent(share), y=_HEIGHT - 8, text_anchor=anchor)


def _percent(share: float) -> str:
    return f"{_LEFT + share * _WIDE:.2f}%"


def _chart(
    label: str, axes: Axes, unit: str, lines: Sequence[Line], below: Sequence[Markup], mark: tuple[str, float] | None
) -> Markup:
    drawn = []
    for step in round_steps(axes.highest):
        y = _TOP + axes.y(step) * _HIGH
        drawn.append(tag("line", class_="grid", x1=_percent(0), x2=_percent(1), y1=f"{y:.1f}", y2=f"{y:.1f}"))
        name = step_text(step, unit)
        drawn.append(tag("text", name, class_="axis", x=f"{_LEFT - 2}%", y=f"{y + 4:.1f}", text_anchor="end"))
    paths = [
        tag(
            "polyline",
            class_=f"line {line.look}",
            points=" ".join(f"{axes.x(x) * 100:.2f},{axes.y(y) * 100:.2f}" for x, y in line.points),
        )
        for line in reversed(lines)  # the first, ours, over the others
    ]
    drawn.append(
        tag(
            "svg",
            *paths,
            x=f"{_LEFT}%",
            y=_TOP,
            width=f"{_WIDE}%",
            height=_HIGH,
            viewBox="0 0 100 100",
            preserveAspectRatio="none",
            overflow="visible",
        )
    )
    if mark is not None:
        y = _TOP + axes.y(mark[1]) * _HIGH
        drawn.append(tag("line", class_="cap", x1=_percent(0), x2=_percent(1), y1=f"{y:.1f}", y2=f"{y:.1f}"))
        text = f"{mark[0]} {bytes_text(mark[1])}"
        drawn.append(tag("text", text, class_="axis strong", x=_percent(1), y=f"{y - 6:.1f}", text_anchor="end"))
    for line in lines:
        if len(line.points) <= 20:
            drawn += [_dot(line, axes, x, y, unit) for x, y in line.points]
    return tag("svg", *drawn, *below, role="img", aria_label=label, width="100%", height=_HEIGHT)


def _dot(line: Line, axes: Axes, x: float, y: float, unit: str) -> Markup:
    title = tag("title", f"{line.name}: {value_text(y, unit)} at {_plain(x)}")
    return tag(
        "circle", title, class_=f"dot {line.look}", cx=_percent(axes.x(x)), cy=f"{_TOP + axes.y(y) * _HIGH:.1f}", r=3.5
    )

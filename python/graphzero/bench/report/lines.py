"""Charts of lines: memory over time, and rates over threads or size.

Points lie in a box that is stretched to the width at hand; text and dots beside it keep their size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from graphzero.bench.report.bars import LOG_FROM_RATIO
from graphzero.bench.report.number_text import bytes_text, count_text, seconds_text, step_text
from graphzero.bench.report.readings import Part, Row, listed, mapping, name_of, number, rows_of, task_of

# Labels below the box need this share of it between them, on a phone.
_LABEL_SHARE = 0.17
_MOST_POINTS = 240
_LINE_LOOKS = 4


class Line(NamedTuple):
    """The points of a line, its name and its look (a class of the style sheet)."""

    name: str
    look: str
    points: list[tuple[float, float]]


@dataclass
class Chart:
    """Lines in a box that shows x from ``first`` to ``last`` and y from 0 to ``highest``.

    ``labels`` below it are (x, text, anchor); ``mark`` is the name and the height of a line across.
    """

    title: str
    subtitle: str
    spoken: str
    unit: str
    lines: list[Line]
    first: float
    last: float
    highest: float
    labels: Sequence[tuple[float, str, str]] = ()
    mark: tuple[str, float] | None = None
    log_x: bool = False

    @property
    def keys(self) -> list[tuple[str, str]]:
        """The looks and names of all lines."""
        return [(line.look, line.name) for line in self.lines] + ([("cap", self.mark[0])] if self.mark else [])

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


def memory_charts(part: Part) -> tuple[list[Chart], list[Chart]]:
    """Return what rows held over time: of those under a cap, and of others."""
    charts = [(row, chart) for row in rows_of(part) if (chart := _memory_chart(row)) is not None]
    capped = [chart for row, chart in charts if number(row, "cap_bytes") is not None]
    return capped, [chart for row, chart in charts if number(row, "cap_bytes") is None]


def _memory_chart(row: Row) -> Chart | None:
    samples = _thinned([sample for sample in listed(row, "memory") if _is_sample(sample)])
    if not samples:
        return None
    own = Line("anonymous", "line0", [(seconds, anonymous) for seconds, anonymous, _ in samples])
    cached = Line("page cache", "line1", [(seconds, cache) for seconds, _, cache in samples if cache is not None])
    lines = [line for line in (own, cached) if line.points]
    cap, limit = number(row, "cap_bytes"), number(row, "limit_bytes")
    mark = ("limit", limit) if limit is not None else ("cap", cap) if cap is not None else None
    peaks = {line.name: max(y for _, y in line.points) for line in lines}
    subtitle = "Highest: " + ", ".join(f"{name} {bytes_text(peak)}" for name, peak in peaks.items()) + "."
    if not cached.points:
        subtitle += " The page cache was not looked at."
    if cap is not None:
        subtitle += f" Cap {bytes_text(cap)}, {cap_text(row)}."
    highest = max(*peaks.values(), 0.0, (mark[1] if mark else 0.0) * 1.15) or 1.0
    first, last = min(0.0, samples[0][0]), samples[-1][0]
    labels = [(first, seconds_text(first), "start"), (last, seconds_text(last), "end")][: 1 + (last > first)]
    title = f"Memory over time: {name_of(row)}, {task_of(row)}"
    return Chart(title, subtitle, f"{title}. {subtitle}", "bytes", lines, first, last, highest, labels, mark)


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


def scaling_charts(part: Part) -> list[Chart]:
    """Return what a part measured by threads and size: a chart for each unit."""
    ours = {"graphzero", *(name_of(row) for row in rows_of(part) if row.get("ours"))}
    charts = []
    for key, title in (("threads", "Scaling with threads"), ("size", "Scaling with edges")):
        units: dict[str, list[Line]] = {}
        for one in listed(mapping(part, "scaling"), key):
            if isinstance(one, Mapping) and (points := _points(one)):
                lines = units.setdefault(str(one.get("unit") or "no unit recorded"), [])
                rival = sum(line.look != "line0" for line in lines) % _LINE_LOOKS
                lines.append(Line(name_of(one), "line0" if name_of(one) in ours else f"rival{rival}", points))
        charts += [_scaling_lines(title, unit, lines) for unit, lines in units.items()]
    return charts


def _scaling_lines(title: str, unit: str, lines: list[Line]) -> Chart:
    lines.sort(key=lambda line: line.look != "line0")
    xs = sorted({x for line in lines for x, _ in line.points})
    log_x = xs[0] > 0 and xs[-1] / xs[0] >= LOG_FROM_RATIO
    points = "; ".join(
        f"{line.name}: " + ", ".join(f"{count_text(y)} at {plain(x)}" for x, y in line.points) for line in lines
    )
    subtitle = unit + (", x on a log scale" if log_x else "")
    highest = max(y for line in lines for _, y in line.points) or 1.0
    chart = Chart(title, subtitle, f"{title}, in {unit}. {points}", unit, lines, xs[0], xs[-1], highest, log_x=log_x)
    chart.labels = [(x, plain(x), "middle") for x in _apart(xs, chart)]
    return chart


def _points(one: Mapping[str, Any]) -> list[tuple[float, float]]:
    pairs = zip(listed(one, "x"), listed(one, "y"), strict=False)
    numbers = [(number({"": x}, ""), number({"": y}, "")) for x, y in pairs]
    return sorted((x, y) for x, y in numbers if x is not None and y is not None and y >= 0)


def plain(x: float) -> str:
    """Write a place on the x axis."""
    return f"{x:g}" if abs(x) < 1000 else step_text(float(f"{x:.2g}"), None)


def _apart(xs: Sequence[float], chart: Chart) -> list[float]:
    """Choose the values to label: the ends, and between them what has room."""
    chosen = [xs[0]]
    for x in xs[1:-1]:
        if chart.x(x) - chart.x(chosen[-1]) >= _LABEL_SHARE and 1 - chart.x(x) >= _LABEL_SHARE:
            chosen.append(x)
    return chosen + list(xs[1:][-1:])

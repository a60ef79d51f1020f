"""Tables: every row of a part with its units, what was checked, and facts by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphzero.bench.report.bars import stages_text
from graphzero.bench.report.findings import lost, standing
from graphzero.bench.report.lines import cap_text
from graphzero.bench.report.markup import Markup, tag
from graphzero.bench.report.number_text import bytes_text, count_text, percent_text, value_text
from graphzero.bench.report.readings import (
    Part,
    Row,
    listed,
    name_of,
    number,
    reason_of,
    rows_of,
    task_of,
    tasks_of,
    title_of,
)


def _amount(name: str, write: Callable[[float], str]) -> Callable[[Row], str]:
    def text(row: Row) -> str:
        value = number(row, name)
        return "" if value is None else write(value)

    return text


def _words(name: str) -> Callable[[Row], str]:
    return lambda row: "" if row.get(name) is None else str(row[name])


def _runs(row: Row) -> str:
    runs = [run for run in listed(row, "runs") if number({"": run}, "") is not None]
    return f"{count_text(min(runs))} to {count_text(max(runs))} ({len(runs)})" if len(runs) > 1 else ""


def _cap(row: Row) -> str:
    cap = number(row, "cap_bytes")
    return "" if cap is None else f"{bytes_text(cap)}, {cap_text(row)}"


# Behind who and value. A column that a part has nothing for is left out.
_RATES: dict[str, Callable[[Row], str]] = {
    "Runs": _runs,
    "Threads": _amount("threads", "{:g}".format),
    "Cache before": _words("cache"),
    "Note": lambda row: "" if number(row, "value") is None else str(row.get("note") or ""),
}
_RESOURCES: dict[str, Callable[[Row], str]] = {
    "Cap": _cap,
    "Peak anonymous": _amount("peak_anonymous_bytes", bytes_text),
    "Peak in group": _amount("peak_group_bytes", bytes_text),
    "RSS": _amount("rss_bytes", bytes_text),
    "Device bytes": _amount("device_bytes", bytes_text),
    "Device reads": _amount("device_reads", count_text),
    "IOPS": _amount("iops", count_text),
    "Hit rate": _amount("hit_rate", percent_text),
    "Stages": stages_text,
}
_LONG = {"Cap", "Stages", "Note"}


def rates_table(part: Part) -> Markup:
    """Return every row of a part, by task. One without a value has its reason in the place of it."""
    rows = rows_of(part)
    compared = any(standing(part, row) for row in rows)
    columns = _used(_RATES, rows)

    def cells(row: Row) -> list[Markup]:
        value = number(row, "value")
        told = (
            tag("td", reason_of(row), class_="reason")
            if value is None
            else tag("td", value_text(value, row.get("unit")), class_="figure value")
        )
        against = tag("td", standing(part, row), class_="lost" if lost(part, row) else None) if compared else None
        return [told, *([against] if against else []), *_texts(columns, row)]

    names = ["Value", *(["Against the best rival"] if compared else []), *columns]
    return _by_task(f"{title_of(part)}: all rows", names, tasks_of(part), cells)


def resources_table(part: Part) -> Markup | None:
    """Return memory, device and stages of the rows that tell about them; ``None`` if none does."""
    columns = _used(_RESOURCES, rows_of(part))
    tasks = [[row for row in task if any(write(row) for write in columns.values())] for task in tasks_of(part)]
    if not columns:
        return None
    title = f"{title_of(part)}: memory and device"
    return _by_task(title, list(columns), [task for task in tasks if task], lambda row: _texts(columns, row))


def _used(columns: Mapping[str, Callable[[Row], str]], rows: list[Row]) -> dict[str, Callable[[Row], str]]:
    return {name: write for name, write in columns.items() if any(map(write, rows))}


def _texts(columns: Mapping[str, Callable[[Row], str]], row: Row) -> list[Markup]:
    return [tag("td", write(row), class_="long" if name in _LONG else "figure") for name, write in columns.items()]


def _by_task(title: str, names: list[str], tasks: list[list[Row]], cells: Callable[[Row], list[Markup]]) -> Markup:
    bodies = []
    for task in tasks:
        group = tag("tr", tag("th", task_of(task[0]), scope="rowgroup", colspan=len(names) + 1))
        rows = (
            tag("tr", tag("th", name_of(row), scope="row"), *cells(row), class_="ours" if row.get("ours") else None)
            for row in task
        )
        bodies.append(tag("tbody", group, *rows))
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in ("Measured", *names))))
    table = tag("table", tag("caption", title), head, *bodies)
    return tag("div", table, class_="scroll", role="region", aria_label=title, tabindex=0)


def checks(part: Part) -> Markup | None:
    """Return what was proven before anything was timed, each check with its tasks."""
    proven: dict[str, list[str]] = {}
    for row in rows_of(part):
        if row.get("checked"):
            tasks = proven.setdefault(str(row["checked"]), [])
            if task_of(row) not in tasks:
                tasks.append(task_of(row))
    if not proven:
        return None
    entries = (tag("li", check, tag("small", "; ".join(tasks))) for check, tasks in proven.items())
    return tag("div", tag("h3", "Checked before it was timed"), tag("ul", *entries), class_="checks")


def facts_table(title: str, facts: Sequence[tuple[str, Any]]) -> Markup | None:
    """Return names and values, ``None`` if all are missing."""
    known = [(name, str(value)) for name, value in facts if value is not None and value != ""]
    if not known:
        return None
    body = (tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in known)
    return tag("table", tag("caption", title), tag("tbody", *body), class_="facts")


def bytes_fact(facts: Mapping[str, Any], name: str) -> str | None:
    """Return a number of bytes for a table of facts."""
    value = number(facts, name)
    return None if value is None else bytes_text(value)

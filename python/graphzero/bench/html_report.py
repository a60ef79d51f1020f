"""The report of a benchmark: one HTML file that needs nothing else, neither a network nor a script to be read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from graphzero.bench.report.bars import stage_bars, stages_text, throughput_bars
from graphzero.bench.report.facts import (
    cache_table,
    data_table,
    disk_table,
    machine_table,
    settings_table,
    versions_table,
)
from graphzero.bench.report.findings import compared, figures, losses, without_value
from graphzero.bench.report.lines import memory_lines, scaling_charts
from graphzero.bench.report.markup import Markup, joined, tag
from graphzero.bench.report.number_text import bytes_text, seconds_text
from graphzero.bench.report.readings import Part, listed, mapping, number, parts_of, rows_of, tasks_of, title_of
from graphzero.bench.report.tables import checks, rates_table, resources_table

# Saving the numbers is the only thing that needs a script; without one the button is not there.
_SAVE = """
const button = document.getElementById("save");
button.hidden = false;
button.onclick = () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([document.getElementById("document").textContent]));
  link.download = "bench.json";
  link.click();
};
"""

# The browser itself refuses whatever would leave the file.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def html_report(document: Mapping[str, Any]) -> str:
    """Turn the JSON document of ``graphzero bench`` into an HTML page with its charts, its tables and the JSON."""
    parts = parts_of(document)
    body = joined(
        _head(document, parts),
        tag("main", _findings(document, parts), *map(_part, parts), _conditions(document, parts), _reproduce(document)),
        tag("script", _embedded(document), type="application/json", id="document"),
        tag("script", Markup(_SAVE)),
    )
    style = Path(__file__).with_name("report").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>graphzero bench</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _embedded(document: Mapping[str, Any]) -> Markup:
    """Return JSON that cannot end its script element: ``<`` is written as an escape, which JSON allows in texts."""
    return Markup(json.dumps(document, default=str).replace("<", "\\u003c"))


def _head(document: Mapping[str, Any], parts: list[Part]) -> Markup:
    data, machine = mapping(document, "data"), mapping(document, "machine")
    nodes, edges = number(data, "num_nodes"), number(data, "num_edges")
    size = sum(number(data, name) or 0 for name in ("feature_bytes", "graph_bytes"))
    facts = [
        f"{nodes:,.0f} nodes and {edges:,.0f} edges" if nodes is not None and edges is not None else None,
        f"{bytes_text(size)} of data" if size else None,
        str(machine["cpu"]) if machine.get("cpu") else None,
        f"{machine['cores']} cores" if machine.get("cores") else None,
    ]
    seconds = number(document, "seconds")
    when = [
        _date(document.get("started")),
        f"took {seconds_text(seconds)}" if seconds is not None else None,
        "quick run: small data and few repetitions, so figures vary more" if document.get("quick") else None,
    ]
    tiles = [
        tag(
            "div",
            tag("strong", figure.number),
            tag("span", figure.label),
            tag("small", re.sub(r"(?<=\d) (?=[kMGT%])", "\N{NO-BREAK SPACE}", figure.detail)),
        )
        for figure in figures(document)
    ]
    links = [tag("a", title_of(part), href=f"#{_anchor(part)}") for part in parts]
    links.append(tag("a", "Machine and conditions", href="#conditions"))
    return tag(
        "header",
        tag("h1", "graphzero bench"),
        *(tag("p", " · ".join(filter(None, line)), class_="facts-line") for line in (facts, when) if any(line)),
        tag("div", *tiles, class_="figures") if tiles else None,
        tag("nav", *links, aria_label="Parts") if parts else None,
    )


def _date(started: Any) -> str | None:
    try:
        return f"{datetime.fromisoformat(str(started)):%-d %B %Y, %H:%M %Z}".strip()
    except ValueError:
        return None if started is None else str(started)


def _anchor(part: Part) -> str:
    return "part-" + re.sub(r"\W+", "-", str(part.get("name") or title_of(part)))


def _findings(document: Mapping[str, Any], parts: list[Part]) -> Markup:
    if not parts:
        text = "This document holds no parts: nothing was measured."
        return tag("section", tag("h2", "Nothing was measured"), tag("p", text), _notes(document))
    lost, missing = losses(document), without_value(document)
    if lost:
        told = tag("ul", *(tag("li", text, class_="lost") for text in lost))
    elif compared(document):
        told = tag("p", "graphzero was not slower than any rival that gave a value in this run.")
    else:
        told = tag("p", "No rival gave a value in this run, so there is nothing to compare with.")
    reasons = "1 row has" if missing == 1 else f"{missing} rows have"
    gaps = tag("p", f"{reasons} no value; each is listed with its reason.") if missing else None
    return tag("section", tag("h2", "Where others were better"), told, gaps, _notes(document))


def _notes(document: Mapping[str, Any]) -> Markup | None:
    notes = [tag("li", str(note)) for note in listed(document, "notes")]
    return tag("div", tag("h3", "Notes of the run"), tag("ul", *notes)) if notes else None


def _part(part: Part) -> Markup:
    rows = rows_of(part)
    seconds = number(part, "seconds")
    conditions = [(name, str(value)) for name, value in mapping(part, "conditions").items() if value is not None]
    if seconds is not None:
        conditions.append(("measured in", seconds_text(seconds)))
    held = [tag("div", tag("dt", str(name)), tag("dd", value)) for name, value in conditions]
    bars = [throughput_bars(part, task) for task in tasks_of(part)]
    watched = [(row, chart) for row, chart in zip(rows, map(memory_lines, rows), strict=True) if chart is not None]
    capped = [chart for row, chart in watched if number(row, "cap_bytes") is not None]
    others = [chart for row, chart in watched if number(row, "cap_bytes") is None]
    staged = [row for row in rows if stages_text(row)]
    more = [*([stage_bars(staged)] if staged else []), *capped, *scaling_charts(part)]
    return tag(
        "section",
        tag("h2", title_of(part)),
        tag("p", str(part["question"]), class_="question") if part.get("question") else None,
        tag("dl", *held) if held else None,
        tag("div", *bars, class_="charts") if bars else tag("p", "This part has no rows."),
        tag("div", *more, class_="charts") if more else None,
        _folded("Memory over time of rows without a cap", others),
        rates_table(part) if rows else None,
        resources_table(part),
        checks(part),
        id=_anchor(part),
    )


def _folded(title: str, charts: list[Markup]) -> Markup | None:
    if not charts:
        return None
    return tag("details", tag("summary", f"{title} ({len(charts)})"), tag("div", *charts, class_="charts"))


def _conditions(document: Mapping[str, Any], parts: list[Part]) -> Markup:
    tables = [
        machine_table(document),
        disk_table(document),
        data_table(document),
        settings_table(document),
        versions_table(document),
        cache_table(parts),
    ]
    known = [tag("div", table) for table in tables if table is not None]
    shown = tag("div", *known, class_="columns") if known else tag("p", "The document says nothing about them.")
    return tag("section", tag("h2", "Machine and conditions"), shown, id="conditions")


def _reproduce(document: Mapping[str, Any]) -> Markup:
    command = document.get("command")
    return tag(
        "section",
        tag("h2", "How to reproduce"),
        tag("pre", tag("code", str(command)), tabindex=0) if command else tag("p", "The command was not recorded."),
        tag("p", "All numbers of this page are in it as JSON too, in the element with the id “document”."),
        tag("button", "Save the JSON", type="button", id="save", hidden="hidden"),
        id="reproduce",
    )

"""Rows of facts as lines of text, with bars on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from graphzero._base.memory_sizes import byte_text
from graphzero._look.words import Bars, Row, dataset_parts, file_rows, share_text, split_rows, type_text

Line = tuple[str, str]

_BAR_WIDTH = 24
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_HEIGHTS = "▁▂▃▄▅▆▇█"


def lines_of(rows: Iterable[Row], *, plot_scales: bool = True) -> list[Line]:
    """Write rows as names and texts; without ``plot_scales`` a distribution over a scale takes one line."""
    lines = []
    for row in rows:
        bars = row.bars
        if bars is None:
            lines.append((row.name, row.text))
        elif bars.is_scale and not plot_scales:
            text = row.text.partition("; below")[0]
            lines.append((row.name, text + (f"  {_sparkline(bars)}" if sys.stdout.isatty() else "")))
        else:
            lines += [(row.name, row.text), *_bar_lines(bars)]
    return lines


def dataset_lines(facts: dict[str, Any]) -> list[Line]:
    """Write what ``dataset_facts()`` gathered. Degrees have bars if there is one type of edges."""
    lines = [("holds", f"data set, format {facts['format']}")]
    for part in dataset_parts(facts):
        lines.append((part.name, part.text))
        rows = lines_of(part.rows, plot_scales=len(facts["edges"]) == 1)
        lines += [(f"  {name}", text) for name, text in rows]
    return lines + lines_of([*split_rows(facts), *file_rows(facts)])


def stored_lines(facts: dict[str, Any]) -> list[Line]:
    """Write what ``stored_facts()`` gathered."""
    lines = [("holds", f"data set, format {facts['format']}, in storage")]
    for node in facts["nodes"]:
        label = f", label {node['label']}" if node["label"] is not None else ""
        lines.append((node["type"], f"{node['num_nodes']:,} nodes{label}"))
        lines += [("  attributes", ", ".join(node["attributes"]))] if node["attributes"] else []
    for edge in facts["edges"]:
        count = "an unknown number of" if edge["num_edges"] is None else f"{edge['num_edges']:,}"
        lines.append((type_text(edge["type"]), f"{count} edges"))
        lines += [("  attributes", ", ".join(edge["attributes"]))] if edge["attributes"] else []
    if facts["splits"]:
        lines.append(("splits", ", ".join(f"{split['name']} of {type_text(split['of'])}" for split in facts["splits"])))
    for record in facts.get("parts", []):
        lines.append(("in parts", f"{record['path']}, of {record['num_parts']:,}"))
    lines.append(("files", f"{len(facts['files']):,}"))
    return [*lines, ("size", byte_text(facts["size"])), ("fingerprint", facts["fingerprint"])]


def _bar_lines(bars: Bars) -> list[Line]:
    most = max(bars.counts)
    width = len(f"{most:,}")
    lines = []
    for name, count in zip(bars.names, bars.counts, strict=True):
        bar = "  " + _bar(count / most) if count and sys.stdout.isatty() else ""
        lines.append((f"  {name}", f"{count:>{width},} {share_text(count, bars.total):>6}{bar}"))
    return lines


def _bar(share: float) -> str:
    """Return a bar of at least an eighth of a column, so that every count shows."""
    whole, eighths = divmod(max(1, round(share * _BAR_WIDTH * 8)), 8)
    return "█" * whole + _EIGHTHS[eighths]


def _sparkline(bars: Bars) -> str:
    """Return a column of eight heights for each count, and a dot for none."""
    most = max(bars.counts) or 1
    return "".join("·" if not count else _HEIGHTS[-(-8 * count // most) - 1] for count in bars.counts)

"""What ``graphzero bench`` prints: a table for each part, then the few figures to remember."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from graphzero._base.memory_sizes import byte_text

_HEADS = ("task", "what", "rate", "x best rival", "peak memory", "note")
_RIGHT = ("rate", "x best rival", "peak memory")


def rate_text(value: float | None, unit: str) -> str:
    """Write a rate as a person would: ``rate_text(33.4e6, "edges/s")`` is ``"33.4 M edges/s"``."""
    if value is None:
        return "-"
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.1f}{letter} {unit}"
    return f"{value:.1f} {unit}" if value >= 10 else f"{value:.2f} {unit}"


def cells_of(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a row of the document."""
    ratio, peak = row["x_best_rival"], row["peak_anonymous_bytes"]
    return (
        row["task"],
        row["what"],
        rate_text(row["value"], row["unit"]),
        "" if ratio is None else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}",
        "" if peak is None else byte_text(peak),
        row["note"] or ("" if row["limit_bytes"] is None else f"in a control group of {byte_text(row['limit_bytes'])}"),
    )


def print_tables(document: dict[str, Any]) -> None:
    """Print a table for each part: on a terminal in colour, elsewhere plain."""
    for part in document["parts"]:
        conditions = ", ".join(f"{name}: {text}" for name, text in part["conditions"].items() if len(text) < 40)
        rows = [cells_of(row) for row in part["rows"]]
        if not rows:
            continue
        if sys.stdout.isatty():
            _print_rich(part["title"], conditions, rows, [row["ours"] for row in part["rows"]])
        else:
            _print_plain(part["title"], conditions, rows)


def print_headlines(document: dict[str, Any]) -> None:
    """Print the figures that the report begins with, which name the rivals with their versions."""
    from graphzero.bench.report.findings import figures

    found = figures(document)
    if found:
        print("\nIn short")
    for figure in found:
        print(f"  {figure.number} {figure.label} ({figure.detail})")


def _print_plain(title: str, conditions: str, rows: Sequence[tuple[str, ...]]) -> None:
    print(f"\n{title} ({conditions})")
    widths = [max(len(row[i]) for row in (_HEADS, *rows)) for i in range(len(_HEADS))]
    for row in (_HEADS, *rows):
        cells = [
            cell.rjust(width) if head in _RIGHT else cell.ljust(width)
            for head, cell, width in zip(_HEADS, row, widths, strict=True)
        ]
        print("  " + "  ".join(cells).rstrip())


def _print_rich(title: str, conditions: str, rows: Sequence[tuple[str, ...]], ours: Sequence[bool]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title, style="bold"), caption=Text(conditions, style="dim"), title_justify="left",
                  caption_justify="left", box=None, pad_edge=False, header_style="dim")  # fmt: skip
    for head in _HEADS:
        table.add_column(head, justify="right" if head in _RIGHT else "left")
    for row, is_ours in zip(rows, ours, strict=True):
        table.add_row(*map(Text, row), style="bold" if is_ours else None)
    console = Console()
    console.print()
    console.print(table)

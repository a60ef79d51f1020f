"""How verbs print: tables for people, plain lines for pipes, JSON for programs."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from graphzero._base.visible import UNSAFE_IN_JSON, visible

PathArgument = Annotated[
    Path, typer.Argument(metavar="PATH", help="A .gl file, a .gd file or a data set folder.", show_default=False)
]
# Of names beside their values: with longer ones, lines would not fit in 80 columns.
_WIDEST_NAME = 24

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON object."""
    # json.dumps escapes 7-bit control characters itself, and the newlines are its own; the rest is escaped here.
    print(
        UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(document, indent=2, ensure_ascii=False))
    )


def print_facts(title: str, facts: Sequence[tuple[str, str]]) -> None:
    """Print names and values side by side under a title. A long name has a line of its own, above its value."""
    title, facts = visible(title), [row for name, value in facts for row in _lines(visible(name), visible(value))]
    width = max(len(name) for name, value in facts if value)
    if not sys.stdout.isatty():
        print(title, *(f"  {name:<{width}}  {value}".rstrip() for name, value in facts), sep="\n")
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(title, style="bold"))
    for name, value in facts:
        table = Table.grid(padding=(0, 2))
        table.add_column(min_width=width)
        table.add_row(Text(name, style="dim"), *([Text(value)] if value else []))
        console.print(Padding(table, (0, 2)))


def _lines(name: str, value: str) -> list[tuple[str, str]]:
    return [(name, value)] if len(name) <= _WIDEST_NAME or not value else [(name, ""), ("", value)]


def print_lines(title: str, lines: Sequence[str]) -> None:
    """Print lines under a title."""
    title, lines = visible(title), [visible(line) for line in lines]
    if sys.stdout.isatty():
        title = typer.style(title, bold=True)
    print(title, *lines, sep="\n")


def terminal_size() -> tuple[int | None, int | None]:
    """Return the columns and lines of the terminal; a pipe has no limits."""
    if not sys.stdout.isatty():
        return None, None
    size = shutil.get_terminal_size()
    return size.columns, size.lines


def text_keys(value: Any) -> Any:
    """Edge types are triples; JSON wants text."""
    if isinstance(value, dict):
        return {"__".join(key) if isinstance(key, tuple) else key: text_keys(item) for key, item in value.items()}
    return value


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Show a spinner on standard error, if it is a terminal, while something of unknown length runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(visible(text))):
        yield

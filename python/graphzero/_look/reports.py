"""What a notebook shows of a report: a row for each field that says something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from graphzero._base.html import Html, card, fact_table, folded, html, line
from graphzero._base.memory_sizes import byte_text

# Entries of a list or a mapping that are shown.
_MOST_ENTRIES = 20

# Fields whose numbers are bytes.
_BYTES = {"size", "spilled", "peak_memory"}


class ShownReport:
    """Gives a data class a table in notebooks. The names of its fields become words, and numbers get their units.

    Fields that are ``None`` or empty are left out. A field that holds reports by name becomes parts that fold away.
    """

    def _repr_html_(self) -> str:
        rows, parts = _contents(self)
        return card(type(self).__name__, str(getattr(self, "path", "")), fact_table(rows), *parts)


def _contents(report: Any) -> tuple[list[tuple[str, str]], list[Html]]:
    rows: list[tuple[str, str]] = []
    parts: list[Html] = []
    for field in fields(report):
        value = getattr(report, field.name)
        name = field.name.removeprefix("num_").replace("_", " ")
        if field.name == "path" or value is None or (isinstance(value, (Mapping, list, tuple)) and not value):
            continue
        if isinstance(value, Mapping) and all(isinstance(item, ShownReport) for item in value.values()):
            parts += [folded(_key(key), "", _folded_body(item)) for key, item in list(value.items())[:_MOST_ENTRIES]]
            parts += [line(_more(value))] if len(value) > _MOST_ENTRIES else []
        else:
            rows.append((name, _text(field.name, value)))
    return rows, parts


def _folded_body(report: ShownReport) -> Html:
    rows, parts = _contents(report)
    return Html(fact_table(rows) + "".join(parts))


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "seconds":
        return f"{value:.1f} s"
    if isinstance(value, int):
        return byte_text(value) if name in _BYTES or name.startswith("bytes_") else f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if name == "shape":
        return " × ".join(f"{extent:,}" for extent in value)
    if isinstance(value, Mapping):
        entries = [f"{_key(key)}: {_text('', item)}" for key, item in list(value.items())[:_MOST_ENTRIES]]
        return _lines(entries, value)
    if isinstance(value, (list, tuple)):
        return _lines([_entry(item) for item in value[:_MOST_ENTRIES]], value)
    return str(value)


def _entry(item: Any) -> str:
    """Write a part of a report, such as a line that was skipped, as the names and values of its fields."""
    if is_dataclass(item) and type(item).__str__ is object.__str__:
        return ", ".join(f"{field.name} {_text(field.name, getattr(item, field.name))}" for field in fields(item))
    return str(item)


def _key(key: Any) -> str:
    return " → ".join(key) if isinstance(key, tuple) else str(key)


def _lines(entries: Sequence[str], all_of_them: Any) -> Html:
    more = [_more(all_of_them)] if len(all_of_them) > len(entries) else []
    return Html("<br>".join(map(html, [*entries, *more])))


def _more(all_of_them: Any) -> str:
    return f"and {len(all_of_them) - _MOST_ENTRIES:,} more"

"""The report of a benchmark: one HTML file that needs nothing else, neither a network nor a script to be read."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphzero.bench.report import bars, findings, lines, number_text, readings, tables

if TYPE_CHECKING:
    from jinja2 import Environment


def html_report(document: Mapping[str, Any]) -> str:
    """Turn the JSON document of ``graphzero bench`` into an HTML page with its charts, its tables and the JSON."""
    # JSON allows < to be written as an escape, and without one the text cannot end its script element.
    embedded = json.dumps(document, default=str).replace("<", "\\u003c")
    return environment().get_template("page.html").render(document=document, embedded=embedded)


@functools.cache
def environment() -> Environment:
    """Return what the templates of ``report/`` are rendered with: they call the functions of its modules.

    Raises ``ImportError`` that says what to install.
    """
    try:
        from jinja2 import Environment, PackageLoader
    except ImportError as error:
        raise ImportError(f"the HTML report needs Jinja2: pip install 'graphzero[bench]' ({error})") from error
    made = Environment(
        loader=PackageLoader("graphzero.bench", "report"), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    made.globals.update(bars=bars, findings=findings, lines=lines, text=number_text, read=readings, tables=tables)
    return made

"""Progress in a notebook: one output of the cell, which is replaced while the work goes on.

rich shows its bars in notebooks with ipywidgets alone. This needs nothing but IPython, which a notebook always has.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from graphzero._base.html import bar, card, line

# What runs the cells of Jupyter, VS Code and Colab, or a base class of it. IPython in a terminal has another.
_SHELL = "ZMQInteractiveShell"


def in_notebook() -> bool:
    """Return whether this code runs in a cell of a notebook."""
    ipython = sys.modules.get("IPython")  # whoever runs cells has loaded it
    shell = None if ipython is None else ipython.get_ipython()
    return any(kind.__name__ == _SHELL for kind in type(shell).__mro__)


@contextmanager
def notebook_bar(
    title: Callable[[], str], total: int | None, amount: Callable[[float], str], done: Callable[[], int]
) -> Iterator[Callable[[], None]]:
    """Show a bar in the output of the cell. Yields the function that brings it up to date, for any thread."""
    from IPython.display import HTML, display

    began = time.perf_counter()

    def page(count: int, state: str) -> Any:
        return HTML(_page(title(), count, total, amount, time.perf_counter() - began, state))

    shown: Any = display(page(0, ""), display_id=True)
    try:
        yield lambda: shown.update(page(done(), ""))
    except BaseException:
        shown.update(page(done(), "stopped"))
        raise
    shown.update(page(done() if total is None else total, "done"))


def _page(title: str, count: int, total: int | None, amount: Callable[[float], str], seconds: float, state: str) -> str:
    rate = count / seconds if seconds > 0 else 0.0
    told = [amount(count) if not total else f"{amount(count)}, {count / total:.0%}"]
    if rate:
        told.append(f"{amount(rate)}/s")
    if state or total is None:
        told.append(f"{state or 'running'}, {_clock(seconds)}")
    elif rate:
        told.append(f"{_clock((total - count) / rate)} left")
    drawn = [] if total is None else [bar(count / total if total else 1.0)]
    return card(title, "", *drawn, line(" · ".join(told)))


class NotebookLine:
    """A line in the output of a cell, which is replaced by the next."""

    def __init__(self) -> None:
        self._shown: Any = None

    def show(self, text: str) -> None:
        """Show a line in place of the one before."""
        from IPython.display import HTML, display

        page = HTML(line(text))
        if self._shown is None:
            self._shown = display(page, display_id=True)
        else:
            self._shown.update(page)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

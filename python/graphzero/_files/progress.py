"""Progress as users ask for it: a bar on standard error or in a notebook, or calls of a function."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np

from graphzero._base.argument_errors import type_error
from graphzero._base.memory_sizes import byte_text
from graphzero._base.visible import visible
from graphzero._files.notebook_progress import NotebookLine, in_notebook, notebook_bar

# Called with what is done, and with all there is where that is known.
Report: TypeAlias = Callable[[int, int | None], object]
# What every function takes that may run for long.
Progress: TypeAlias = bool | Report


@contextmanager
def watching(
    progress: Progress, title: str | Callable[[], str], total: int | None, unit: str, done: Callable[[], int]
) -> Iterator[None]:
    """Tell how far the block has come while it runs: to the function ``progress``, or where users look if it is true.

    That is the output of the cell in a notebook, and standard error elsewhere.

    ``unit`` is ``"bytes"`` or the name of what is counted. ``done``, and ``title`` if it changes, are asked ten times a
    second, by a thread: most blocks are work of the core. What a function raises is raised at the end of the block.
    """
    check_progress(progress)
    if callable(progress):
        with _polling(lambda: progress(done(), total)):
            yield
        progress(done() if total is None else total, total)
    elif progress and in_notebook():
        words = _words(title)
        with notebook_bar(words, total, lambda count: _amount(count, unit), done) as show, _polling(show):
            yield
    elif progress:
        with _bar(_words(title), total, unit, done):
            yield
    else:
        yield


def check_progress(progress: object) -> None:
    """Refuse what is neither a function nor says whether to show something; ``None`` is no."""
    if progress is not None and not callable(progress) and not isinstance(progress, (bool, np.bool_)):
        raise type_error("progress", f"expected True, False or a function, found {progress!r}")


@contextmanager
def _polling(show: Callable[[], object]) -> Iterator[None]:
    finished = threading.Event()
    raised: list[BaseException] = []

    def look() -> None:
        try:
            while not finished.wait(0.1):
                show()
        except BaseException as error:  # KeyboardInterrupt and SystemExit are the caller's, too
            raised.append(error)

    looker = threading.Thread(target=look, name="graphzero progress", daemon=True)
    looker.start()
    try:
        yield
    finally:
        finished.set()
        looker.join()
    for error in raised:
        raise error


def _words(title: str | Callable[[], str]) -> Callable[[], str]:
    return (lambda: title) if isinstance(title, str) else title


def _amount(count: float, unit: str) -> str:
    return byte_text(count) if unit == "bytes" else f"{count:,.0f} {unit}"


@contextmanager
def _bar(title: Callable[[], str], total: int | None, unit: str, done: Callable[[], int]) -> Iterator[None]:
    """Show title, bar, rate and time left; without a ``total``, the time that has passed."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            if not task.completed:
                return Text("")
            completed = _amount(task.completed, unit)
            return Text(f"{completed}, {_amount(speed, unit)}/s" if speed else completed)

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        Rate(),
        TimeElapsedColumn() if total is None else TimeRemainingColumn(),
        console=Console(stderr=True),
    )

    def text() -> str:
        return escape(visible(title()))

    with bar:
        task = bar.add_task(text(), total=total)
        with _polling(lambda: bar.update(task, completed=done(), description=text())):
            yield
        bar.update(task, completed=done() if total is None else total, description=text())


class StatusLine:
    """A line that is replaced by the next: on a terminal, or in the output of a cell. Nobody else gets any."""

    def __init__(self) -> None:
        self._cell = NotebookLine() if in_notebook() else None

    def show(self, text: str) -> None:
        """Show a line in place of the one before."""
        if self._cell is not None:
            self._cell.show(text)
        elif sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    def end(self) -> None:
        """Let what is printed next begin on a line of its own."""
        if self._cell is None and sys.stderr.isatty():
            sys.stderr.write("\n")
            sys.stderr.flush()

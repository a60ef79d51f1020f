"""Progress as users ask for it: a bar on standard error, or calls of a function."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from graphzero._base.memory_sizes import byte_text
from graphzero._base.visible import visible

# Called with what is done, and with all there is where that is known.
Report: TypeAlias = Callable[[int, int | None], object]
# What every function takes that may run for long.
Progress: TypeAlias = bool | Report


@contextmanager
def watching(
    progress: Progress, title: str | Callable[[], str], total: int | None, unit: str, done: Callable[[], int]
) -> Iterator[None]:
    """Tell how far the block has come while it runs: on standard error if ``progress``, or to that function.

    ``unit`` is ``"bytes"`` or the name of what is counted. ``done``, and ``title`` if it changes, are asked ten times a
    second, by a thread: most blocks are work of the core. What a function raises is raised at the end of the block.
    """
    if callable(progress):
        with _polling(lambda: progress(done(), total)):
            yield
        progress(done() if total is None else total, total)
    elif progress:
        with _bar(title, total, unit, done):
            yield
    else:
        yield


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


@contextmanager
def _bar(title: str | Callable[[], str], total: int | None, unit: str, done: Callable[[], int]) -> Iterator[None]:
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

    def amount(count: float) -> str:
        return byte_text(count) if unit == "bytes" else f"{count:,.0f} {unit}"

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            if not task.completed:
                return Text("")
            return Text(f"{amount(task.completed)}, {amount(speed)}/s" if speed else amount(task.completed))

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        Rate(),
        TimeElapsedColumn() if total is None else TimeRemainingColumn(),
        console=Console(stderr=True),
    )

    def text() -> str:
        return escape(visible(title if isinstance(title, str) else title()))

    with bar:
        task = bar.add_task(text(), total=total)
        with _polling(lambda: bar.update(task, completed=done(), description=text())):
            yield
        bar.update(task, completed=done() if total is None else total, description=text())

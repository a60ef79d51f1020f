"""A progress bar for work in the core, which is polled for how far it has come."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from graphzero._base.memory_sizes import byte_text
from graphzero._base.visible import visible


@contextmanager
def watching(
    wanted: bool, title: str | Callable[[], str], total: int | None, unit: str, done: Callable[[], int]
) -> Iterator[None]:
    """Show title, bar, rate and time left on standard error while the block runs, if ``wanted``.

    ``unit`` is ``"bytes"`` or the name of what is counted. ``done``, and ``title`` if it changes, are asked ten times a
    second. Without a ``total`` the time that has passed stands for the time left.
    """
    if not wanted:
        yield
        return
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

    finished = threading.Event()
    with bar:
        task = bar.add_task(text(), total=total)

        def look() -> None:
            while not finished.wait(0.1):
                bar.update(task, completed=done(), description=text())

        looker = threading.Thread(target=look, name="graphzero progress", daemon=True)
        looker.start()
        try:
            yield
            bar.update(task, completed=done() if total is None else total, description=text())
        finally:
            finished.set()
            looker.join()

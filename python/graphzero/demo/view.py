"""What the demo looks like while it runs: a picture that moves on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from graphzero._base.memory_sizes import byte_text

_LEVELS = " ▁▂▃▄▅▆▇█"
_WIDTH = 40
_DOING = {"train": "training", "valid": "validating", "test": "testing"}


def drawn(history: Sequence[int], ceiling: int, width: int = _WIDTH) -> str:
    """Draw numbers over time as one line of bars, which are full at ``ceiling``.

    Examples:
        >>> drawn([0, 50, 100, 100], ceiling=100, width=4)
        ' ▄██'
    """
    columns = min(width, len(history))
    bars = ""
    for column in range(columns):
        part = history[column * len(history) // columns : (column + 1) * len(history) // columns]
        bars += _LEVELS[min(8, max(part) * 8 // ceiling)]
    return bars


class Watching:
    """A training or loading under way: its memory over time, and its last message."""

    def __init__(self, console: Console, ceiling: int, ceiling_name: str, doing: str, epochs: int) -> None:
        self._console = console
        self._ceiling = ceiling
        self._ceiling_name = ceiling_name
        self._epochs = epochs
        self._lines = [doing]
        self.history: list[int] = []
        self.peak_anonymous = 0
        self._now = (0, 0)

    def look(self, anonymous: int, page_cache: int) -> None:
        """Take note of the memory that is held now."""
        self._now = anonymous, page_cache
        self.peak_anonymous = max(self.peak_anonymous, anonymous)
        self.history.append(anonymous + page_cache)

    def tell(self, event: dict[str, Any]) -> None:
        """Take note of a step; the end of an epoch is a line that stays."""
        if event["event"] == "epoch":
            self._console.print(_epoch_line(event, self._epochs))
        elif event["event"] == "step":
            self._lines = _step_lines(event, self._epochs)

    def picture(self) -> str:
        """Draw the memory so far, and its peak."""
        bars = f"{drawn(self.history, self._ceiling):<{_WIDTH}}"
        most = byte_text(max(self.history, default=0))
        return f"│{bars}│ {byte_text(self._ceiling)}: {self._ceiling_name}; at most {most}"

    def __rich__(self) -> Group:
        anonymous, page_cache = self._now
        held = f"memory: {byte_text(anonymous)} anonymous, {byte_text(page_cache)} page cache"
        return Group(*(Text(f"  {text}", style="cyan", no_wrap=True) for text in (*self._lines, held, self.picture())))


class Screen:
    """Prints the story."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def heading(self, text: str) -> None:
        """Begin a part."""
        self.console.print(Text(f"\n{text}", style="bold"))

    def say(self, text: str) -> None:
        """Print a paragraph."""
        self.console.print(Text(text))

    @contextmanager
    def watching(self, ceiling: int, ceiling_name: str, doing: str, epochs: int = 0) -> Iterator[Watching]:
        """Show what happens until the block ends; then the picture of the memory is all that stays."""
        shown = Watching(self.console, ceiling, ceiling_name, doing, epochs)
        if self.console.is_terminal:
            with Live(shown, console=self.console, refresh_per_second=5, transient=True):
                yield shown
        else:
            yield shown
        self.say(f"  {shown.picture()}")


def _epoch_line(event: dict[str, Any], epochs: int) -> Text:
    parts = [
        f"epoch {event['epoch'] + 1}/{epochs}: loss {event['loss']:.3f}",
        f"accuracy {event['valid_accuracy']:.3f}",
        f"{event['batches'] / event['seconds']:.1f} batches/s",
        *_reading(event),
    ]
    return Text("  " + ", ".join(parts))


def _step_lines(event: dict[str, Any], epochs: int) -> list[str]:
    place = f"batch {event['batch']}/{event['num_batches']}"
    where = "" if event["split"] == "test" else f"epoch {event['epoch'] + 1}/{epochs}, "
    parts = [
        f"{where}{_DOING[event['split']]}: {place}",
        f"loss {event['loss']:.3f}",
        f"accuracy {event['accuracy']:.3f}",
        f"{event['batches_per_second']:.1f} batches/s",
    ]
    cached = f"{byte_text(event['files_cached'])} of the files in the page cache"
    return [", ".join(parts), ", ".join([*_reading(event), cached])]


def _reading(event: dict[str, Any]) -> list[str]:
    hits = [] if event["hit_rate"] is None else [f"{event['hit_rate']:.0%} hits"]
    return hits + ([] if event["device_bytes"] is None else [f"{byte_text(event['device_bytes'])} read"])

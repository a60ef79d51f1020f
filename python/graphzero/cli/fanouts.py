"""Fanouts as they are written on a command line."""

from __future__ import annotations

FANOUTS = "15,10"


def read_fanouts(text: str) -> list[int]:
    """Read a number per hop."""
    try:
        return [int(fanout) for fanout in text.split(",")]
    except ValueError:
        raise ValueError(f"--fanouts: expected a number per hop such as {FANOUTS}, found {text!r}") from None

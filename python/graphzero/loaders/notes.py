"""Warnings that are said once in a process, however many loaders there are."""

from __future__ import annotations

import sys
import warnings

_said: set[str] = set()


def note_once(about: str, message: str) -> None:
    """Warn, as of the line that called this package, unless the same was said before."""
    if about in _said:
        return
    _said.add(about)
    depth = 1
    while sys._getframe(depth).f_globals.get("__name__", "").startswith("graphzero.loaders."):
        depth += 1
    warnings.warn(message, stacklevel=depth + 1)

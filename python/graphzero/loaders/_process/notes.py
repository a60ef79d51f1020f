"""Warnings to users of loaders, some of them given once per process, however many loaders there are."""

from __future__ import annotations

import sys
import warnings

_noted: set[str] = set()


def warn(message: str, kind: type[Warning] = UserWarning) -> None:
    """Warn as of the line that called this package."""
    depth = 1
    while sys._getframe(depth).f_globals.get("__name__", "").startswith("graphzero.loaders."):
        depth += 1
    warnings.warn(message, kind, stacklevel=depth + 1)


def note_once(about: str, message: str) -> None:
    """Warn, unless the same warning was given before."""
    if about not in _noted:
        _noted.add(about)
        warn(message)

"""Spellings that were replaced: they work until 0.4, with a warning that names the new one."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

# Whose frames are between a user's line and the warning.
_PASSED_OVER = ("graphzero", "importlib", "_frozen_importlib")


def warn_of(old: str, new: str) -> None:
    """Warn at the first line outside of this package: warnings about other lines are not shown."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED_OVER:
        frame = frame.f_back
    warnings.warn_explicit(
        f"{old} is now {new}; the old spelling works until 0.4",
        DeprecationWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        frame.f_globals.get("__name__"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


def renamed_keywords(**old: tuple[str, Callable[[Any], Any]]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take old keywords: each with its new name, and with what turns an old value into a new one."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **keywords: P.kwargs) -> R:
            for name in old.keys() & keywords.keys():
                given: Any = keywords.pop(name)
                new, as_now = old[name]
                if new in keywords:
                    raise TypeError(f"{name}: expected {new} alone, its new name, found both")
                keywords[new] = as_now(given)
                warn_of(f"{name}={given!r}", f"{new}={keywords[new]!r}")
            return function(*args, **keywords)

        return call

    return decorate


def renamed_fields(**new: str) -> Callable[[C], C]:
    """Let a data class be asked for fields by old names, and open pickles that hold them."""

    def decorate(kind: C) -> C:
        def reader(old: str) -> property:
            def read(self: Any) -> Any:
                warn_of(f"{kind.__name__}.{old}", new[old])
                return getattr(self, new[old])

            return property(read, doc=f"The old name of ``{new[old]}``.")

        def set_state(self: Any, state: dict[str, Any]) -> None:
            vars(self).update({new.get(name, name): value for name, value in state.items()})

        for old in new:
            setattr(kind, old, reader(old))
        setattr(kind, "__setstate__", set_state)  # noqa: B010, which would have mypy know all classes
        return kind

    return decorate

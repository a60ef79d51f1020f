"""Integers that users pass: exactly integers, of any library."""

from __future__ import annotations

import operator
from typing import Any


def integer(value: Any, name: str) -> int:
    """Turn a scalar that is exactly an integer into an int."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, found {value!r}") from None


def integer_from(value: Any, least: int, name: str) -> int:
    """Turn a scalar that is exactly an integer, and not below ``least``, into an int."""
    number = integer(value, name)
    if number < least:
        raise ValueError(f"{name}: expected at least {least}, found {number}")
    return min(number, 2**62)

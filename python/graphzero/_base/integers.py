"""Integers that users pass: exactly integers, of any library; and seeds of random numbers."""

from __future__ import annotations

import operator
import os
from typing import Any

from graphzero._base.argument_errors import type_error, value_error


def integer(value: Any, name: str) -> int:
    """Turn a scalar that is exactly an integer into an int; ``True`` is none, though Python counts it as 1."""
    if isinstance(value, bool):
        raise type_error(name, f"expected an integer, found {value!r}")
    try:
        return operator.index(value)
    except TypeError:
        raise type_error(name, f"expected an integer, found {value!r}") from None


def integer_from(value: Any, least: int, name: str) -> int:
    """Turn a scalar that is exactly an integer, and not below ``least``, into an int."""
    number = integer(value, name)
    if number < least:
        raise value_error(name, f"expected at least {least}, found {number}")
    return min(number, 2**62)


def as_seed(seed: Any, name: str = "seed") -> int:
    """Turn a user's ``seed`` into the core's 64 bits; ``None`` draws them from the operating system."""
    if seed is None:
        return int.from_bytes(os.urandom(8), "little")  # not inherited: forked workers never repeat each other
    number = integer(seed, name)
    if not -(2**63) <= number < 2**64:
        raise value_error(name, f"expected an integer of 64 bits, found {number}")
    return number % 2**64

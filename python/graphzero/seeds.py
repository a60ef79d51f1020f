"""What a seed is: any integer of 64 bits, or nothing for fresh entropy."""

from __future__ import annotations

import os
from typing import Any

from graphzero.integers import integer


def as_seed(seed: Any, name: str = "seed") -> int:
    """Turn a user's ``seed`` into the core's 64 bits; ``None`` draws them from the operating system."""
    if seed is None:
        return int.from_bytes(os.urandom(8), "little")  # not inherited: forked workers never repeat each other
    number = integer(seed, name)
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"{name}: expected an integer of 64 bits, found {number}")
    return number % 2**64

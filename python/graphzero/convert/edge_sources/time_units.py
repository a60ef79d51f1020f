"""Times that count one unit since 1970, turned into another without loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import Setting, error_of

_DAY = 24 * 60 * 60
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def times_in(unit: str, counts: NDArray[np.int64], own: str, name: str, first_row: int) -> NDArray[np.int64]:
    """Return times of the unit ``own``, ``"D"`` for days or one of the others, in ``unit``.

    A time between two of these units is an error, as is one that 64 bits cannot count.
    """
    factor = _PER_SECOND[unit] * (_DAY if own == "D" else 1)
    divisor = 1 if own == "D" else _PER_SECOND[own]
    if factor >= divisor:
        factor //= divisor
        limit = (2**63 - 1) // factor
        wrong = (counts > limit) | (counts < -limit)
        _refuse(wrong, counts, name, first_row, f"a time that 64 bits can count in {unit!r}", own)
        return counts * factor
    divisor //= factor
    _refuse(counts % divisor != 0, counts, name, first_row, f"a time in whole {unit!r}", own)
    return counts // divisor


def _refuse(
    wrong: NDArray[np.bool_], counts: NDArray[np.int64], name: str, first_row: int, wanted: str, own: str
) -> None:
    if not wrong.any():
        return
    at = int(np.argmax(wrong))
    found = counts[at : at + 1].view(f"datetime64[{own}]")[0]
    advice = ("; give ", Setting("time_unit", own)) if own in _PER_SECOND else ()
    raise error_of(ValueError, f"{name}: row {first_row + at}: expected {wanted}, found {found}", *advice)

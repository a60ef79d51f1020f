"""Numbers of one type stored as another, and what that costs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.arrays import true_or_false
from graphzero._base.dtypes import DataType, name_of, numpy_dtype
from graphzero.features import floats_of_bfloat16

# Items looked at at a time: their temporaries stay in the cache.
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Loss:
    """What rounding did to numbers.

    Attributes:
        max_error: The largest error of a number that was finite before and after.
        rms_error: The root of the mean square error of these.
        overflows: Finite numbers that became infinite.
    """

    max_error: float
    rms_error: float
    overflows: int

    def __str__(self) -> str:
        text = f"largest error {self.max_error:.3g}, RMS {self.rms_error:.3g}"
        return f"{text}, {self.overflows:,} became infinite" if self.overflows else text


class ValueConverter:
    """Turns blocks of rows into a stored type, and keeps count of the loss.

    Integers may change their width if they fit, floats theirs at a loss; floats become integers only
    where they are integers. ``bfloat16`` says that blocks come as the uint16 of their bits.
    """

    def __init__(self, name: str, source: np.dtype[Any], *, bfloat16: bool, stored: DataType, quantised: bool) -> None:
        self._name = name
        self._bfloat16 = bfloat16
        self._stored = stored
        self._target = numpy_dtype(stored)
        self._quantised = quantised
        number = np.dtype(np.float32) if bfloat16 else source
        if number.kind not in "iufb":
            raise TypeError(f"{name}: expected numbers, found {number}")
        if stored is DataType.BFLOAT16:
            self.is_copy = bfloat16
        else:
            self.is_copy = number == self._target and not bfloat16 and not quantised
        rounds = self._target.kind == "f" or stored is DataType.BFLOAT16 or quantised
        exact = self.is_copy or (stored is not DataType.BFLOAT16 and np.can_cast(number, self._target, "safe"))
        self._measures = rounds and (quantised or not exact) and stored is not DataType.FLOAT64
        self._checks = not rounds and not np.can_cast(number, self._target, "safe")
        self._max_error = 0.0
        self._squares = 0.0
        self._measured = 0
        self._overflows = 0
        self._range: tuple[Any, Any] | None = None

    @property
    def loss(self) -> Loss | None:
        """The loss so far; ``None`` where this conversion has none."""
        if not self._measures:
            return None
        return Loss(self._max_error, float(np.sqrt(self._squares / max(1, self._measured))), self._overflows)

    @property
    def range(self) -> tuple[Any, Any] | None:
        """The smallest and largest number, where they were looked at."""
        return None if self._range is None else (self._range[0].item(), self._range[1].item())

    def convert(self, rows: NDArray[Any], start: int) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
        """Convert a block whose first row is number ``start``: the stored items, and the scales of quantised rows."""
        rows = true_or_false(rows)
        if self.is_copy:
            return np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("=")), None
        numbers = floats_of_bfloat16(rows) if self._bfloat16 else np.ascontiguousarray(rows)
        if self._quantised:
            return self._quantise(numbers, start)
        if self._measures:
            return self._narrow(numbers), None
        stored = np.empty(numbers.shape, self._target)
        flat, out = numbers.reshape(-1), stored.reshape(-1)
        for begin in range(0, len(flat), _CHUNK):
            part = flat[begin : begin + _CHUNK]
            if self._checks:
                self._check_fits(part, begin, numbers.shape, start)
            out[begin : begin + _CHUNK] = part
            self._widen_range(np.fmin.reduce(part), np.fmax.reduce(part))
        return stored, None

    def _check_fits(self, part: NDArray[Any], begin: int, shape: tuple[int, ...], start: int) -> None:
        low, high = (0, 1) if self._target.kind == "b" else (np.iinfo(self._target).min, np.iinfo(self._target).max)
        with np.errstate(invalid="ignore"):
            if part.dtype.kind == "f":
                # The bounds as floats: the largest int64 rounds up to 2^63, which does not fit.
                wrong = ~((part >= float(low)) & (part < float(high) + 1) & (part == np.trunc(part)))
            else:
                wrong = part > high if part.dtype.kind == "u" else (part < low) | (part > high)
        if wrong.any():
            at = int(np.argmax(wrong))
            row = start + int(np.unravel_index(begin + at, shape)[0])
            raise ValueError(f"{self._name}: row {row}: {part[at]} does not fit {name_of(self._stored)}")

    def _narrow(self, numbers: NDArray[Any]) -> NDArray[Any]:
        items, loss = _core.narrow(_floats(numbers), self._stored)
        self._add(loss)
        stored: NDArray[Any] = items.view(self._target).reshape(numbers.shape)
        return stored

    def _quantise(self, numbers: NDArray[Any], start: int) -> tuple[NDArray[Any], NDArray[np.float32]]:
        count = len(numbers)
        width = int(np.prod(numbers.shape[1:], dtype=np.int64))
        items, scales, loss, bad = _core.quantise(_floats(numbers), count, width)
        if bad < count:
            row = numbers[bad].reshape(-1).astype(np.float64)
            found = row[~(np.abs(row) <= np.finfo(np.float32).max)][0]
            where = f"{self._name}: row {start + bad}"
            raise ValueError(f"{where}: expected numbers that are finite in float32 to quantise, found {found}")
        self._add(loss)
        return items.view(np.int8).reshape(numbers.shape), scales

    def _add(self, loss: _core.NarrowingLoss) -> None:
        self._max_error = max(self._max_error, loss.max_error)
        self._squares += loss.sum_of_squares
        self._measured += loss.measured
        self._overflows += loss.overflows
        if loss.minimum <= loss.maximum:  # not so where all are NaN
            self._widen_range(loss.minimum, loss.maximum)

    def _widen_range(self, low: Any, high: Any) -> None:
        if self._range is not None:
            low, high = np.fmin(low, self._range[0]), np.fmax(high, self._range[1])
        self._range = np.asarray(low)[()], np.asarray(high)[()]


def _floats(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return them flat, as the core takes them: float32 or float64."""
    flat = numbers.reshape(-1)
    if flat.dtype == np.float32 or flat.dtype == np.float16:
        return flat.astype(np.float32, copy=False)
    return flat.astype(np.float64, copy=False)

"""Numbers of one type stored as another, and what that costs them."""

from __future__ import annotations

from collections.abc import Callable
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


@dataclass
class Tally:
    """What was seen of numbers while they were converted."""

    max_error: float = 0.0
    squares: float = 0.0  # of errors, added up
    measured: int = 0  # numbers whose error was measured
    overflows: int = 0
    low: Any = None  # the smallest number, if any was looked at
    high: Any = None

    def add(self, other: Tally) -> None:
        """Count what was seen elsewhere as well."""
        self.max_error = max(self.max_error, other.max_error)
        self.squares += other.squares
        self.measured += other.measured
        self.overflows += other.overflows
        if other.low is not None:
            self.widen(other.low, other.high)

    def widen(self, low: Any, high: Any) -> None:
        """Count numbers of this range."""
        # As numbers of Python, which compare integers of any width exactly.
        low, high = np.asarray(low).item(), np.asarray(high).item()
        self.low = low if self.low is None or self.low != self.low else min(self.low, low)
        self.high = high if self.high is None or self.high != self.high else max(self.high, high)

    @property
    def loss(self) -> Loss:
        """What rounding did."""
        return Loss(self.max_error, float(np.sqrt(self.squares / max(1, self.measured))), self.overflows)


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
        self.measures = rounds and (quantised or not exact) and stored is not DataType.FLOAT64
        self._checks = not rounds and not np.can_cast(number, self._target, "safe")
        self.tally = Tally()

    @property
    def loss(self) -> Loss | None:
        """The loss so far; ``None`` where this conversion has none."""
        return self.tally.loss if self.measures else None

    @property
    def range(self) -> tuple[Any, Any] | None:
        """The smallest and largest number, where they were looked at."""
        return None if self.tally.low is None else (self.tally.low, self.tally.high)

    def convert(
        self, rows: NDArray[Any], name_of_row: Callable[[int], str]
    ) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
        """Convert a block: the stored items, and the scales of quantised rows. Errors name rows of it."""
        rows = true_or_false(rows)
        if self.is_copy:
            return np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("=")), None
        numbers = floats_of_bfloat16(rows) if self._bfloat16 else np.ascontiguousarray(rows)
        if self._quantised:
            return self._quantise(numbers, name_of_row)
        if self.measures:
            return self._narrow(numbers), None
        stored = np.empty(numbers.shape, self._target)
        flat, out = numbers.reshape(-1), stored.reshape(-1)
        for begin in range(0, len(flat), _CHUNK):
            part = flat[begin : begin + _CHUNK]
            if self._checks:
                self._check_fits(part, begin, numbers.shape, name_of_row)
            out[begin : begin + _CHUNK] = part
            self.tally.widen(np.fmin.reduce(part), np.fmax.reduce(part))
        return stored, None

    def _check_fits(
        self, part: NDArray[Any], begin: int, shape: tuple[int, ...], name_of_row: Callable[[int], str]
    ) -> None:
        low, high = (0, 1) if self._target.kind == "b" else (np.iinfo(self._target).min, np.iinfo(self._target).max)
        with np.errstate(invalid="ignore"):
            if part.dtype.kind == "f":
                # The bounds as float64: the largest int64 rounds up to 2^63, which does not fit. As float16 the bounds
                # of wide integers would be infinite, and so would fit what is.
                least, end = np.float64(low), np.float64(high) + 1
                wrong = ~((part >= least) & (part < end) & (part == np.trunc(part)))
            else:
                wrong = part > high if part.dtype.kind == "u" else (part < low) | (part > high)
        if wrong.any():
            at = int(np.argmax(wrong))
            row = name_of_row(int(np.unravel_index(begin + at, shape)[0]))
            raise ValueError(f"{self._name}: {row}: {part[at]} does not fit {name_of(self._stored)}")

    def _narrow(self, numbers: NDArray[Any]) -> NDArray[Any]:
        # Integers of 8 bytes go as they are: as float64 they would be rounded twice.
        wide = numbers.dtype.kind in "iu" and numbers.dtype.itemsize == 8
        native = numbers.dtype.newbyteorder("=")
        given = numbers.reshape(-1).astype(native, copy=False) if wide else _floats(numbers)
        items, loss = _core.narrow(given, self._stored)
        self._add(loss)
        stored: NDArray[Any] = items.view(self._target).reshape(numbers.shape)
        return stored

    def _quantise(
        self, numbers: NDArray[Any], name_of_row: Callable[[int], str]
    ) -> tuple[NDArray[Any], NDArray[np.float32]]:
        count = len(numbers)
        width = int(np.prod(numbers.shape[1:], dtype=np.int64))
        items, scales, loss, bad = _core.quantise(_floats(numbers), count, width)
        if bad < count:
            row = numbers[bad].reshape(-1).astype(np.float64)
            found = row[~(np.abs(row) <= np.finfo(np.float32).max)][0]
            where = f"{self._name}: {name_of_row(bad)}"
            raise ValueError(f"{where}: expected numbers that are finite in float32 to quantise, found {found}")
        self._add(loss)
        return items.view(np.int8).reshape(numbers.shape), scales

    def _add(self, loss: _core.NarrowingLoss) -> None:
        found = Tally(loss.max_error, loss.sum_of_squares, loss.measured, loss.overflows)
        if loss.minimum <= loss.maximum:  # not so where all are NaN
            found.widen(loss.minimum, loss.maximum)
        self.tally.add(found)


def _floats(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return them flat, as the core takes them: float32 or float64."""
    flat = numbers.reshape(-1)
    if flat.dtype == np.float32 or flat.dtype == np.float16:
        return flat.astype(np.float32, copy=False)
    return flat.astype(np.float64, copy=False)

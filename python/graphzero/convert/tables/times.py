"""Times of any form, text or Arrow, as whole numbers of one unit since 1970 in UTC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.argument_errors import check_choice, type_error, value_error
from graphzero._files.manifest_records import TIME_UNITS
from graphzero.convert.arrow_files import pyarrow
from graphzero.convert.edge_feeds import CORE_UNITS
from graphzero.convert.tables.arrow_types import compute, decoded, first_null, is_text_type, packed

_INTEGER = r"^\s*[+-]?[0-9]+\s*$"
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


class TimeColumn:
    """Turns a column into int64 times.

    Integers stay as they are, and count what they count. Dates and timestamps count ``unit``; one without a zone is
    taken to be in ``zone``. ``where`` says where a row is, for messages.
    """

    def __init__(self, column: str, unit: str | None, zone: str | None, where: Callable[[int], str]) -> None:
        if unit is not None:
            check_choice(unit, "time_unit", *TIME_UNITS)
        if zone is not None and not isinstance(zone, str):
            raise type_error("time_zone", f"expected the name of a zone, such as Europe/Berlin, found {zone!r}")
        self._column = column
        self._asked = unit
        self._zone = zone
        self._where = where
        self._are_dates: bool | None = None

    @property
    def unit(self) -> str | None:
        """What the times count; ``None`` if they were integers, and nobody said."""
        return (self._asked or "s") if self._are_dates else self._asked

    def convert(self, array: Any, first: int) -> NDArray[np.int64]:
        """Convert the values from row ``first`` on."""
        arrow = pyarrow()
        array = decoded(array)
        null = first_null(array)
        if null is None and is_text_type(array.type):
            empty = compute().equal(compute().utf8_trim_whitespace(array), "")
            null = compute().index(empty, True).as_py() if len(array) else -1
            null = None if null < 0 else null
        if null is not None:
            raise self._wrong(first + null, "nothing")
        if not len(array):
            return np.empty(0, np.int64)
        types = arrow.types
        is_date = types.is_timestamp(array.type) or types.is_date(array.type)
        if is_text_type(array.type):
            is_date = self._are_dates
            if is_date is None:
                is_date = not compute().match_substring_regex(array.slice(0, 1), _INTEGER)[0].as_py()
        elif not is_date and not types.is_integer(array.type):
            raise value_error(
                "time", f"column {self._column!r}: expected integers, dates or timestamps, found {array.type}"
            )
        self._are_dates = is_date
        if not is_date:
            return self._integers(array, first)
        stamps = self._parsed(array, first) if is_text_type(array.type) else self._in_utc(array)
        return self._counted(stamps, first)

    def _integers(self, array: Any, first: int) -> NDArray[np.int64]:
        arrow = pyarrow()
        if is_text_type(array.type):
            array = compute().utf8_trim_whitespace(array)
        try:
            values: NDArray[np.int64] = array.cast(arrow.int64()).to_numpy(zero_copy_only=False)
            return values
        except arrow.ArrowInvalid:
            at = _first_refused(array)
            raise self._wrong(first + at, repr(array[at].as_py()), "an integer of 64 bits, as before it") from None

    def _parsed(self, text: Any, first: int) -> Any:
        """Parse ISO 8601, by the rules of the core: a date, or a date and a time with or without a zone."""
        arrow = pyarrow()
        text = compute().utf8_trim_whitespace(text)
        unit = self.unit or "s"
        times = _core.parse_iso_times(*packed(text), CORE_UNITS[unit])
        if times.wrong is not None:
            raise self._refused(times, unit, text[times.wrong].as_py(), first + times.wrong)
        stamps = arrow.array(times.take_values()).cast(arrow.timestamp(unit))
        zoned = times.take_have_offsets().astype(bool)
        if self._zone is None or zoned.all():
            return stamps
        local = self._in_utc(stamps.filter(arrow.array(~zoned)))
        return _merged(zoned, stamps.filter(arrow.array(zoned)), local)

    def _refused(self, times: _core.IsoTimes, unit: str, found: str, row: int) -> ValueError:
        """Return the error about the first time that cannot be stored."""
        if times.fault == _core.TimeFault.NO_TIME:
            return self._wrong(row, repr(found))
        if times.fault == _core.TimeFault.FINER:
            finer = next(name for name, core in CORE_UNITS.items() if core == times.needed)
            advice = f"give {finer!r} to count these" if finer != unit else "nothing is finer"
            return value_error(
                "time_unit",
                f"column {self._column!r}: {found} is no whole number of {unit}; {advice}",
                where=self._where(row),
            )
        return value_error(
            "time_unit",
            f"column {self._column!r}: {found} does not fit 64 bits in {unit!r}",
            where=self._where(row),
        )

    def _in_utc(self, array: Any) -> Any:
        """Return timestamps without a zone, in UTC."""
        arrow = pyarrow()
        if arrow.types.is_date(array.type):
            array = array.cast(arrow.timestamp("s" if arrow.types.is_date32(array.type) else "ms"))
        if array.type.tz is None and self._zone is not None:
            try:
                array = compute().assume_timezone(array, self._zone)
            except arrow.ArrowInvalid as error:
                if "Cannot locate" in str(error):
                    raise value_error(
                        "time_zone", f"expected the name of a zone, such as Europe/Berlin, found {self._zone!r}"
                    ) from None
                raise value_error(
                    "time_zone", f"expected a zone in which each time exists once, found: {error}"
                ) from None
        return array.cast(arrow.timestamp(array.type.unit)) if array.type.tz is not None else array

    def _counted(self, stamps: Any, first: int) -> NDArray[np.int64]:
        """Count them in our unit, exactly."""
        counts: NDArray[np.int64] = stamps.cast(pyarrow().int64()).to_numpy(zero_copy_only=False)
        have, want = _NANOSECONDS[stamps.type.unit], _NANOSECONDS[self.unit or "s"]
        if have < want:
            divisor = want // have
            whole, rest = np.divmod(counts, divisor)
            if rest.any():
                at = int(np.argmax(rest != 0))
                fits = next(unit for unit in TIME_UNITS if (int(rest[at]) * have) % _NANOSECONDS[unit] == 0)
                raise value_error(
                    "time_unit",
                    f"column {self._column!r}: {_shown(counts[at], stamps)} is no whole number of {self.unit}; give "
                    f"{fits!r} to count these",
                    where=self._where(first + at),
                )
            return whole
        factor = have // want
        if factor > 1 and len(counts) and max(-int(counts.min()), int(counts.max())) > (2**63 - 1) // factor:
            raise value_error("time_unit", f"column {self._column!r}: its times do not fit 64 bits in {self.unit!r}")
        return counts * factor

    def _wrong(self, row: int, found: str, expected: str = "a date or time such as 2024-05-31T12:00:00Z") -> ValueError:
        return value_error(
            "time", f"column {self._column!r}: expected {expected}, found {found}", where=self._where(row)
        )


def _shown(count: Any, stamps: Any) -> str:
    """Write a time that may lie beyond the years that Python knows."""
    return str(np.datetime64(int(count), stamps.type.unit))


def _merged(mask: NDArray[np.bool_], yes: Any, no: Any) -> Any:
    """Put the values of ``yes`` where ``mask`` is, and those of ``no`` elsewhere, in order."""
    out = np.empty(len(mask), np.int64)
    for where, values in ((mask, yes), (~mask, no)):
        out[where] = values.cast(pyarrow().int64()).to_numpy(zero_copy_only=False)
    return pyarrow().array(out).cast(yes.type)


def _first_refused(text: Any) -> int:
    """Return the place of the first text that is no integer."""
    arrow = pyarrow()
    for at in range(len(text)):
        try:
            text.slice(at, 1).cast(arrow.int64())
        except arrow.ArrowInvalid:
            return at
    return 0

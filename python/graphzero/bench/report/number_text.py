"""Numbers as people read them: three digits, a prefix, a unit."""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Any

from graphzero._base.memory_sizes import byte_text

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BEYOND_PREFIXES = 1e15


def count_text(count: float) -> str:
    """Write a measured number with three digits.

    Examples:
        >>> count_text(33_412_000), count_text(4.2), count_text(999.9)
        ('33.4 M', '4.20', '1.00 k')
    """
    rounded = float(f"{count:.3g}")
    if abs(rounded) >= _BEYOND_PREFIXES:
        return f"{count:.2e}"
    for factor, prefix in _PREFIXES:
        if abs(rounded) >= factor:
            return f"{_three_digits(rounded / factor)} {prefix}"
    return _three_digits(rounded)


def _three_digits(number: float) -> str:
    return "0" if number == 0 else f"{number:#.3g}".rstrip(".")


def value_text(value: float, unit: str | None) -> str:
    """Write a measured value with its unit.

    Examples:
        >>> value_text(33.4e6, "edges/s"), value_text(1.25e9, "bytes"), value_text(0.5, "seconds")
        ('33.4 M edges/s', '1.2 GB', '0.50 s')
    """
    if unit == "bytes":
        return bytes_text(value)
    if unit in ("seconds", "s"):
        return seconds_text(value)
    return f"{count_text(value)} {unit}" if unit else count_text(value)


def bytes_text(count: float) -> str:
    """Write a number of bytes; a difference may be negative."""
    return f"−{byte_text(-count)}" if count < 0 else byte_text(count)


def seconds_text(seconds: float) -> str:
    """Write a duration.

    Examples:
        >>> seconds_text(0.0042), seconds_text(12.34), seconds_text(754)
        ('4.2 ms', '12.3 s', '12 min 34 s')
    """
    if abs(seconds) >= 99.95:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    if abs(seconds) >= 9.995:
        return f"{seconds:.1f} s"
    if abs(seconds) >= 0.0995:
        return f"{seconds:.2f} s"
    return f"{seconds * 1000:.2g} ms" if seconds else "0 s"


def date_text(moment: Any) -> str | None:
    """Write a moment in ISO format as people would, and anything else as it is.

    Examples:
        >>> date_text("2026-11-15T20:00:00+00:00")
        '15 November 2026, 20:00 UTC'
    """
    try:
        return f"{datetime.fromisoformat(str(moment)):%-d %B %Y, %H:%M %Z}".strip()
    except ValueError:
        return None if moment is None else str(moment)


def unbroken(text: str) -> str:
    """Keep a number and its unit on one line."""
    return re.sub(r"(?<=\d) (?=[kMGT%])", "\N{NO-BREAK SPACE}", text)


def ratio_text(ratio: float) -> str:
    """Write how many times one figure is another.

    Examples:
        >>> ratio_text(35.2), ratio_text(3.52), ratio_text(0.618), ratio_text(0.0041)
        ('35×', '3.5×', '0.62×', '0.0041×')
    """
    if ratio >= 9.95:
        return f"{ratio:,.0f}×"
    if round(ratio, 2) >= 1:
        return f"{ratio:.1f}×"
    return f"{ratio:.2f}×" if ratio >= 0.1 else f"{ratio:.2g}×"


def percent_text(share: float) -> str:
    """Write a share: with one decimal where that says something.

    Examples:
        >>> percent_text(0.8642), percent_text(0.0213), percent_text(1)
        ('86 %', '2.1 %', '100 %')
    """
    return f"{share:.0%}".replace("%", " %") if share >= 0.1 or share <= 0 else f"{share * 100:.2g} %"


def round_steps(highest: float) -> list[float]:
    """Return 0 and round numbers up to ``highest``, three to five of them, for an axis.

    Examples:
        >>> round_steps(37), round_steps(1.0)
        ([0.0, 10.0, 20.0, 30.0], [0.0, 0.5, 1.0])
    """
    decade = 10.0 ** math.floor(math.log10(highest))
    step = next(size * decade for size in (0.2, 0.5, 1, 2) if highest / (size * decade) < 5)
    return [i * step for i in range(math.floor(highest / step * (1 + 1e-9)) + 1)]


def step_text(value: float, unit: str | None) -> str:
    """Write a round number beside an axis; its unit is named once, elsewhere, unless it is bytes.

    Examples:
        >>> step_text(2e7, "edges/s"), step_text(5e8, "bytes"), step_text(0, "bytes")
        ('20 M', '500 MB', '0')
    """
    factor, prefix = next(((f, p) for f, p in _PREFIXES if abs(value) >= f), (1.0, ""))
    return f"{value / factor:g} {prefix}{'B' if unit == 'bytes' and value else ''}".strip()

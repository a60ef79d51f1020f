"""Columns of a table as numbers: a vector, or a matrix where one column stands for several."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import type_error, value_error
from graphzero._core import FormatError
from graphzero.convert.arrow_files import pyarrow
from graphzero.convert.tables.arrow_types import compute, decoded, first_null, is_list_type, is_text_type
from graphzero.convert.tables.categories import Categories
from graphzero.convert.text import is_missing

_BOOLEANS = {"true": "1", "false": "0"}
_NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?)", re.IGNORECASE)


@dataclass
class NumberColumn:
    """One column and what to make of it.

    Attributes:
        column: Its name.
        categories: Its values, if they are numbered; ``None`` if they are numbers.
        one_hot: Whether each category is a column of its own.
        fill: What stands where there is nothing; ``None`` makes that an error.
        where: Says where a row is.
    """

    column: str
    where: Callable[[int], str]
    categories: Categories | None = None
    one_hot: bool = False
    fill: float | None = None

    def convert(self, array: Any, first: int) -> NDArray[Any]:
        """Return a number, or a row of them, for each value from row ``first`` on."""
        if self.categories is None:
            return self._numbers(decoded(array), first)
        codes = self.categories.codes(array)
        if not self.one_hot:
            return codes
        rows = np.zeros((len(codes), len(self.categories.names)), np.float32)
        present = codes >= 0
        rows[np.flatnonzero(present), codes[present]] = 1
        return rows

    def _numbers(self, array: Any, first: int) -> NDArray[Any]:
        arrow = pyarrow()
        if is_list_type(array.type):
            return self._matrix(array, first)
        types = arrow.types
        if is_text_type(array.type):
            array = self._parsed(array, first)
        if types.is_floating(array.type) and compute().any(compute().is_nan(array)).as_py():
            array = compute().if_else(compute().is_nan(array), None, array)  # as in pandas, and in text
        null = first_null(array)
        if null is not None and self.fill is None:
            raise value_error(
                "fill",
                f"column {self.column!r}: expected a number, found nothing; give what to store there, such as 0",
                where=self.where(first + null),
            )
        if types.is_decimal(array.type):
            array = array.cast(arrow.float64())
        if types.is_boolean(array.type):
            array = array.cast(arrow.uint8() if null is None else arrow.int64())
        if not types.is_integer(array.type) and not types.is_floating(array.type):
            hint = "; give it as time" if types.is_temporal(array.type) else ""
            raise type_error(
                "features",
                f"column {self.column!r}: expected numbers, found {array.type}{hint}",
                where=self.where(first),
            )
        if null is not None:
            array = self._filled(array)
        values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
        return values

    def _filled(self, array: Any) -> Any:
        arrow = pyarrow()
        assert self.fill is not None
        is_whole = math.isfinite(self.fill) and self.fill == int(self.fill) and abs(self.fill) < 2**63
        if not arrow.types.is_floating(array.type):
            try:
                array = array.cast(arrow.int64() if is_whole else arrow.float64())
            except arrow.ArrowInvalid as error:
                raise value_error(
                    "fill", f"column {self.column!r}: {self.fill} does not suit its numbers: {error}"
                ) from None
        return array.fill_null(arrow.scalar(self.fill, arrow.float64()).cast(array.type, safe=False))

    def _parsed(self, text: Any, first: int) -> Any:
        """Parse a column of a text file: whole numbers as integers, if all of them are."""
        arrow = pyarrow()
        text = compute().utf8_trim_whitespace(text)
        values = compute().if_else(compute().equal(text, ""), None, text)
        if not compute().any(compute().match_substring(values, "x", ignore_case=True)).as_py():  # Arrow reads 0x10
            for kind in (arrow.int64(), arrow.float64()):
                try:
                    return values.cast(kind)
                except arrow.ArrowInvalid:
                    continue
        cleaned = [
            None if value is None or is_missing(value) else _BOOLEANS.get(value.lower(), value)
            for value in values.to_pylist()
        ]
        for at, value in enumerate(cleaned):
            if not is_number(value):
                raise FormatError(
                    f"{self.where(first + at)}: column {self.column!r}: expected a number, found {value!r}; to number "
                    "its different values, give it as a category"
                )
        are_integers = all(value is None or value.lstrip("+-").isdigit() for value in cleaned)
        read = int if are_integers else float
        return arrow.array([None if value is None else read(value) for value in cleaned])

    def _matrix(self, array: Any, first: int) -> NDArray[Any]:
        arrow = pyarrow()
        null = first_null(array)
        if null is not None and self.fill is None:
            raise value_error(
                "fill",
                f"column {self.column!r}: expected numbers, found nothing; give what to store there, such as 0",
                where=self.where(first + null),
            )
        if null is not None:
            there = ~array.is_null().to_numpy(zero_copy_only=False)
            rows = self._matrix(array.drop_null(), first)
            filled = np.full((len(array), rows.shape[1]), self.fill, np.result_type(rows.dtype, np.float32))
            filled[there] = rows
            return filled
        if arrow.types.is_fixed_size_list(array.type):
            lengths = np.full(len(array), array.type.list_size)
        else:
            lengths = array.value_lengths().to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(lengths != lengths[:1])
        if len(wrong):
            raise FormatError(
                f"{self.where(first + int(wrong[0]))}: column {self.column!r}: expected {lengths[0]} numbers, as "
                f"before it, found {lengths[wrong[0]]}"
            )
        width = int(lengths[0]) if len(lengths) else 1
        of_row = replace(self, where=lambda item: self.where(first + (item - first) // max(1, width)))
        items = of_row._numbers(array.flatten(), first)
        return items.reshape(len(array), -1) if len(array) else items.reshape(0, 0)


def is_number(value: str | None) -> bool:
    """Whether a text is a number as people write them in tables; nothing is none that is wrong."""
    return value is None or _NUMBER.fullmatch(value) is not None

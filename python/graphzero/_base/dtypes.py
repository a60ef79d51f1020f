"""Element types of feature files, under every name people use for them."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from graphzero._base.argument_errors import type_error, value_error
from graphzero._core import DataType as DataType

INT32 = DataType.INT32
INT64 = DataType.INT64
FLOAT32 = DataType.FLOAT32
FLOAT64 = DataType.FLOAT64

# NumPy has no bfloat16; its arrays hold the bits as uint16.
BFLOAT16_BITS = np.dtype(np.uint16)

_NUMPY: dict[DataType, np.dtype[Any]] = {
    DataType.INT8: np.dtype(np.int8),
    DataType.INT16: np.dtype(np.int16),
    DataType.INT32: np.dtype(np.int32),
    DataType.INT64: np.dtype(np.int64),
    DataType.UINT8: np.dtype(np.uint8),
    DataType.BOOL: np.dtype(np.bool_),
    DataType.FLOAT16: np.dtype(np.float16),
    DataType.BFLOAT16: BFLOAT16_BITS,
    DataType.FLOAT32: np.dtype(np.float32),
    DataType.FLOAT64: np.dtype(np.float64),
}
_BY_NAME = {data_type.name.lower(): data_type for data_type in DataType}


def name_of(data_type: DataType) -> str:
    """Return the name NumPy and torch have for it, such as ``"float32"``."""
    return str(data_type.name).lower()


def numpy_dtype(data_type: DataType) -> np.dtype[Any]:
    """Return the NumPy dtype of stored items: for bfloat16, that of their bits."""
    return _NUMPY[data_type]


def as_data_type(value: Any, argument: str = "dtype") -> DataType:
    """Accept a DataType, its number, a name, a NumPy dtype or a torch dtype. An error names the ``argument``.

    Examples:
        >>> as_data_type("float16").name, as_data_type(np.int64).name
        ('FLOAT16', 'INT64')
    """
    if isinstance(value, DataType):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return DataType(value)
        except ValueError:
            raise value_error(argument, f"expected 0 to {len(DataType) - 1}, found {value}") from None
    name = str(value).removeprefix("torch.")
    if name not in _BY_NAME:
        with contextlib.suppress(TypeError):
            name = np.dtype(value).name
    if name not in _BY_NAME:
        raise type_error(argument, f"expected one of {', '.join(sorted(_BY_NAME))}, found {value}")
    return _BY_NAME[name]

"""What users pass, as the arrays the core takes: lists, NumPy arrays and torch tensors are all welcome."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import type_error, value_error
from graphzero._core import FormatError

IntArray = NDArray[np.int64]
Array = TypeVar("Array", bound=NDArray[Any])


def plain(array: Array) -> Array:
    """Give an array from the core NumPy's own int64: the core's is C's ``long long``, equal but not identical."""
    return array.view(np.int64) if array.dtype == np.int64 else array  # type: ignore[return-value]


def as_numpy(values: Any, name: str) -> NDArray[Any]:
    """Turn anything array-like into a NumPy array, without a copy where its memory allows."""
    if hasattr(values, "detach"):
        values = cpu_tensor(values, name)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise value_error(name, "expected a regular array, found rows of different lengths") from error
    # On Windows NumPy 1 takes Python's integers for C's long, of 32 bits. Files are to be the same on all systems.
    if array.dtype.char == "l" and array.itemsize == 4 and _is_of_python_integers(values):
        return array.astype(np.int64)
    return array


def _is_of_python_integers(values: Any) -> bool:
    while isinstance(values, list | tuple | range) and len(values) > 0:
        values = values[0]
    return isinstance(values, int)


def cpu_tensor(tensor: Any, name: str) -> Any:
    """Return a torch tensor of any device in memory that NumPy can use."""
    layout = str(getattr(tensor, "layout", "torch.strided")).removeprefix("torch.")
    if layout != "strided" or getattr(tensor, "is_quantized", False) or getattr(tensor, "is_nested", False):
        found = layout if layout != "strided" else "quantised" if tensor.is_quantized else "nested"
        raise type_error(name, f"expected a dense tensor of numbers, found a tensor that is {found}")
    if getattr(tensor, "is_meta", False):
        raise type_error(name, "expected a tensor with its numbers, found one without, on the device 'meta'")
    return tensor.detach().cpu()


def true_or_false(array: NDArray[Any]) -> NDArray[Any]:
    """Make bool items 0 or 1: files and tensors of others may hold any byte, which NumPy does not check."""
    return array.view(np.uint8) != 0 if array.dtype == np.bool_ else array


def int64_vector(values: Any, name: str) -> NDArray[np.int64]:
    """Turn integers into a contiguous int64 vector. ``name`` opens the error messages."""
    array = as_numpy(values, name)
    if array.ndim != 1:
        raise value_error(name, f"expected one dimension, found shape {array.shape}")
    if array.size == 0:  # NumPy takes an empty list for floats
        return np.empty(0, dtype=np.int64)
    if array.dtype == np.uint64:
        too_large = np.flatnonzero(array > np.uint64(np.iinfo(np.int64).max))
        if too_large.size:
            at = int(too_large[0])
            raise IndexError(f"{name}[{at}]: expected an integer below 2^63, found {array[at]}")
    if array.dtype.kind not in "iu":
        raise type_error(name, f"expected integers, found {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _numbers(values: Any, name: str) -> NDArray[Any]:
    array = as_numpy(values, name)
    if array.ndim != 1:
        raise value_error(name, f"expected one dimension, found shape {array.shape}")
    if array.size and array.dtype.kind not in "iuf":
        raise type_error(name, f"expected numbers, found {array.dtype}")
    return array


def float32_vector(values: Any, name: str) -> NDArray[np.float32]:
    """Turn numbers into a contiguous float32 vector."""
    with np.errstate(over="ignore"):  # what overflows is infinite, and refused as such
        return np.ascontiguousarray(_numbers(values, name), dtype=np.float32)


def float64_vector(values: Any, name: str) -> NDArray[np.float64]:
    """Turn numbers into a contiguous float64 vector."""
    return np.ascontiguousarray(_numbers(values, name), dtype=np.float64)


def time_vector(values: Any, name: str) -> NDArray[np.int64]:
    """Turn integers or datetime64 of any unit, which count in that unit, into times."""
    array = as_numpy(values, name)
    if array.dtype.kind == "M":
        if np.isnat(array).any():
            raise ValueError(f"{name}[{int(np.argmax(np.isnat(array)))}]: expected a time, found NaT")
        array = array.view(np.int64)
    return int64_vector(array, name)


def check_stored_ids(ids: NDArray[Any], limit: int, what: str) -> None:
    """Refuse ids of a damaged file that lead outside it; a negative one would count from the end."""
    if len(ids) and not (ids.min() >= 0 and ids.max() < limit):
        at = int(np.argmax((ids < 0) | (ids >= limit)))
        raise FormatError(f"{what}: corrupt id at place {at}: expected 0 to {limit - 1}, found {ids[at]}")

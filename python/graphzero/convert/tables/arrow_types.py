"""What an Arrow type is to us."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._core import FormatError
from graphzero.convert.arrow_files import pyarrow


def is_text_type(kind: Any) -> bool:
    """Whether values are text."""
    types = pyarrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_list_type(kind: Any) -> bool:
    """Whether values are lists, of one length or not."""
    types = pyarrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def decoded(array: Any) -> Any:
    """Return an array without a dictionary of Arrow's own; text is plain text, not views."""
    arrow = pyarrow()
    if isinstance(array, arrow.ChunkedArray):
        array = array.combine_chunks()
    if arrow.types.is_dictionary(array.type):
        try:
            array = arrow.DictionaryArray.from_arrays(array.indices, decoded(array.dictionary)).dictionary_decode()
        except arrow.ArrowException as error:  # what a damaged file says is not checked when it is read
            raise FormatError(f"expected a column whose dictionary has all of its entries, found: {error}") from None
    return array.cast(arrow.large_string()) if arrow.types.is_string_view(array.type) else array


def first_null(array: Any) -> int | None:
    """Return the place of the first null."""
    if not array.null_count:
        return None
    return int(array.is_null().to_numpy(zero_copy_only=False).argmax())


def compute() -> Any:
    """Import Arrow's functions."""
    return pyarrow("pyarrow.compute")


def packed(labels: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return bytes and offsets of strings, as the core takes them; null is empty."""
    if not len(labels):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = labels.buffers()
    width = np.dtype(np.int64 if pyarrow().types.is_large_string(labels.type) else np.int32)
    starts = np.frombuffer(offsets, width, len(labels) + 1, width.itemsize * labels.offset)
    return (np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)), starts.astype(
        np.int64, copy=False
    )

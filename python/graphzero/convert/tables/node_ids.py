"""The ids that tables give their nodes, of any kind, and the numbers of these nodes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.argument_errors import type_error
from graphzero._core import FormatError
from graphzero._files.mounted import path_bytes
from graphzero.convert.arrow_files import pyarrow
from graphzero.convert.tables.arrow_types import compute, decoded, is_text_type, packed
from graphzero.convert.tables.table import Table

# How an integer is written: "007" and "+7" are text, which would be the same integer as "7".
_INTEGER = "^(0|-?[1-9][0-9]*)$"
_UUID = "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"
# Integers up to here are exact as float64: a column with nothing in some rows comes from pandas as these.
_EXACT = 2**53


@dataclass(frozen=True)
class IdColumn:
    """A column that holds ids of one kind of node."""

    table: Table
    column: str
    role: str
    among_uuids: bool = False  # whether a table has ids of this kind of node as UUIDs, in Arrow's type

    @property
    def has_uuids(self) -> bool:
        """Whether it is such a column."""
        return is_uuid(self.table.types[self.column])


class NodeIds:
    """Finds the number of a node by its id.

    Nodes are numbered in the sorted order of their ids (docs/formats/gi.md). Without a dictionary the id of a node is
    its number, 0 to ``count`` - 1.
    """

    def __init__(self, count: int, path: str | None = None) -> None:
        self.count = count
        self.path = path
        self._dictionary = None if path is None else _core.IdDictionary(path_bytes(path))

    @contextmanager
    def in_memory(self, room: int) -> Iterator[int]:
        """Hold a copy of the dictionary for many lookups, if it has at most ``room`` bytes. Yield what it takes.

        Pages of a mapped one are lost to what is read and written meanwhile where memory is limited.
        """
        mapped = self._dictionary
        size = 0 if mapped is None else mapped.file_size
        if self.path is None or size > room:
            yield 0
            return
        self._dictionary = _core.IdDictionary(path_bytes(self.path), in_memory=True)
        try:
            yield size
        finally:
            self._dictionary = mapped

    @property
    def kind(self) -> str:
        """``"integer"`` or ``"string"``; ``"number"`` if ids are the nodes' numbers."""
        if self._dictionary is None:
            return "number"
        return "integer" if self._dictionary.kind is _core.LabelKind.INTEGER else "string"

    def find(self, array: Any, about: IdColumn) -> NDArray[np.int64]:
        """Return the number of each id; -1 for nothing and for ids that are not there."""
        arrow = pyarrow()
        if isinstance(array, arrow.ChunkedArray):
            array = array.combine_chunks()
        if arrow.types.is_dictionary(array.type):
            found = self.find(array.dictionary, about)
            places = array.indices.cast(arrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
            if len(places) and not (places.min() >= -1 and places.max() < len(found)):
                raise FormatError(
                    f"{about.table.name}: column {about.column!r}: expected entries of its dictionary, found others"
                )
            nodes: NDArray[np.int64] = np.append(found, -1)[places]
            return nodes
        if self.kind == "string":
            labels = text_labels(array, about)
            found = self._dictionary.translate_strings(*packed(labels), False)  # type: ignore[union-attr]
            missing = labels
        else:
            integers = integer_labels(array, about)
            values = integers.fill_null(-1).to_numpy(zero_copy_only=False)
            missing = integers
            if self._dictionary is None:
                found = np.where((values >= 0) & (values < self.count), values, -1)
            else:
                found = self._dictionary.translate_integers(np.ascontiguousarray(values), False)
        if missing.null_count:
            found = np.where(missing.is_null().to_numpy(zero_copy_only=False), -1, found)
        return found


def collect_ids(
    columns: Sequence[IdColumn],
    path: str,
    memory: int,
    folder: str,
    batches: Callable[[IdColumn], Iterator[Any]],
) -> tuple[NodeIds, int]:
    """Write the dictionary of all ids in these columns; also return how many there were, repeated ones included.

    Ids of a text are integers if all of them are written as such.
    """
    could_be_integers = all(column.table.is_text or not _is_text(column) for column in columns)
    if could_be_integers:
        try:
            return _collected(columns, path, memory, folder, batches, _core.LabelKind.INTEGER)
        except _NotInteger:
            pass
    return _collected(columns, path, memory, folder, batches, _core.LabelKind.STRING)


class _NotInteger(Exception):
    pass


def _is_text(column: IdColumn) -> bool:
    kind = column.table.types[column.column]
    types = pyarrow().types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return is_text_type(kind) or is_uuid(kind)


def _collected(
    columns: Sequence[IdColumn],
    path: str,
    memory: int,
    folder: str,
    batches: Callable[[IdColumn], Iterator[Any]],
    kind: _core.LabelKind,
) -> tuple[NodeIds, int]:
    builder = _core.IdBuilder(path_bytes(path), kind, memory, path_bytes(folder))
    smallest, largest = 0, -1
    for column in columns:
        for array in batches(column):
            if kind is _core.LabelKind.STRING:
                labels = text_labels(array, column)
                builder.add_strings(*packed(labels.drop_null()))
                continue
            integers = integer_labels(array, column)
            if integers.null_count > array.null_count:
                raise _NotInteger
            values = integers.drop_null().to_numpy(zero_copy_only=False)
            if len(values):
                smallest, largest = min(smallest, int(values.min())), max(largest, int(values.max()))
                builder.add_integers(np.ascontiguousarray(values))
    report = builder.finish()
    if kind is _core.LabelKind.INTEGER and smallest == 0 and largest == report.num_labels - 1:
        os.remove(path)  # ids are 0 to N - 1: they are the numbers of the nodes
        return NodeIds(report.num_labels), report.num_added
    return NodeIds(report.num_labels, path), report.num_added


def is_uuid(kind: Any) -> bool:
    """Whether an Arrow type is that of UUIDs."""
    return getattr(kind, "extension_name", "") == "arrow.uuid"


def text_labels(array: Any, about: IdColumn) -> Any:
    """Return ids as Arrow's strings. An empty field of a text is null.

    A UUID has two spellings. Where some table has them in Arrow's type, text is spelled as these are: in lower case.
    """
    array = decoded(array)
    if is_uuid(array.type):
        return _uuid_text(array.storage)
    if is_text_type(array.type):
        if about.table.is_text:
            empty = compute().equal(array, "")
            if compute().any(empty).as_py():
                array = compute().if_else(empty, None, array)
        if about.among_uuids:
            uuids = compute().match_substring_regex(array, _UUID)
            array = compute().if_else(uuids, compute().ascii_lower(array), array)
        return array
    return integer_labels(array, about).cast(pyarrow().string())


def integer_labels(array: Any, about: IdColumn) -> Any:
    """Return ids as int64; text that is no integer is null."""
    arrow = pyarrow()
    array = decoded(array)
    types = arrow.types
    if is_text_type(array.type):
        fits = compute().and_(compute().match_substring_regex(array, _INTEGER), _fits_int64(array))
        return compute().if_else(fits, array, None).cast(arrow.int64())
    if types.is_floating(array.type):
        values = array.drop_null().to_numpy(zero_copy_only=False)
        if len(values) and not ((values == np.trunc(values)) & (np.abs(values) <= _EXACT)).all():
            raise _refused(about, f"{array.type} with fractions")
        return array.cast(arrow.int64())
    if types.is_integer(array.type):
        if types.is_uint64(array.type) and len(array):
            largest = compute().max(array).as_py()
            if largest is not None and largest >= 2**63:
                raise _refused(about, f"{largest}, which is not below 2^63")
        return array.cast(arrow.int64())
    raise _refused(about, str(array.type))


def _fits_int64(digits: Any) -> Any:
    """Whether each of these, which are integers as text, fits 64 bits; of one length, text sorts as numbers do."""
    ops = compute()
    length = ops.utf8_length(digits)
    is_negative = ops.starts_with(digits, "-")
    most = ops.if_else(is_negative, 20, 19)
    last = ops.if_else(is_negative, "-9223372036854775808", "9223372036854775807")
    return ops.or_(
        ops.less(length, most), ops.and_(ops.equal(length, most), ops.less_equal(digits, last.cast(digits.type)))
    )


def _refused(about: IdColumn, found: str) -> TypeError:
    return type_error(
        about.role,
        f"column {about.column!r}: expected ids that are text, integers or UUIDs, found {found}",
        where=about.table.name,
    )


# Where the digits of a UUID go among its dashes.
_DIGITS = np.array([at for at in range(36) if at not in (8, 13, 18, 23)])
_HEXADECIMAL = np.array([[ord(digit) for digit in f"{byte:02x}"] for byte in range(256)], np.uint8)


def _uuid_text(storage: Any) -> Any:
    """Write UUIDs the usual way: 32 digits in groups."""
    arrow = pyarrow()
    data = np.frombuffer(storage.buffers()[1], np.uint8, 16 * len(storage), 16 * storage.offset).reshape(-1, 16)
    text = np.full((len(data), 36), ord("-"), np.uint8)
    text[:, _DIGITS] = _HEXADECIMAL[data].reshape(-1, 32)
    offsets = np.arange(0, 36 * len(data) + 1, 36)
    labels = arrow.LargeStringArray.from_buffers(len(data), arrow.py_buffer(offsets), arrow.py_buffer(text))
    return compute().if_else(storage.is_null(), None, labels) if storage.null_count else labels

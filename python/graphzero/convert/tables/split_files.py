"""Splits whose members are given by their ids: arrays, or files of ids."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graphzero._base.argument_errors import error_of, type_error, value_error
from graphzero._base.dtypes import DataType
from graphzero._files.storage import is_url, located, open_stored, shown_url
from graphzero.convert.arrow_files import pyarrow
from graphzero.convert.tables.attributes import PlacedRows
from graphzero.convert.tables.node_ids import IdColumn, NodeIds
from graphzero.convert.tables.node_table import NodeTable
from graphzero.convert.tables.sources import open_table
from graphzero.convert.tables.table import Part, Table
from graphzero.convert.tables.text_table import TextForm


class _Codes:
    """The number of the split of each node."""

    name = "split"
    column_names: list[str] = []  # noqa: RUF012
    stored = DataType.UINT8
    row_shape: tuple[int, ...] = ()
    quantised = False
    missing = 0.0

    def convert(self, batch: Any, first: int) -> Any:
        raise NotImplementedError


def member_codes(
    members: Mapping[str, Any], ids: NodeIds, node: NodeTable, path: str, memory: int, room: int, folder: str
) -> None:
    """Write the number of the split of each node, from 1 on; 0 for those in none."""
    placed = PlacedRows(path, _Codes(), ids.count, memory)
    for number, (name, given) in enumerate(members.items(), 1):
        table = _ids_table(given, name, ids, node, room, folder)
        about = _about(table, node)
        for first, batch in table.batches([about.column], room):
            nodes = ids.find(batch.column(0), about)
            if (nodes < 0).any():
                at = int(np.argmax(nodes < 0))
                raise error_of(
                    KeyError,
                    f"{table.place(first + at)}: split {name!r}: expected an id of {node.kind!r}, found "
                    f"{batch.column(0)[at].as_py()!r}, which its table does not have",
                )
            placed.add(nodes, np.full(len(nodes), number, np.uint8), None, first)
    twice = placed.finish()
    if twice is not None:
        raise value_error(
            "split", f"nodes {node.kind!r}: expected each node in one split and once, found node {twice} again"
        )


def _about(table: Table, node: NodeTable) -> IdColumn:
    among_uuids = node.id is not None and node.id.among_uuids
    return IdColumn(table, next(iter(table.types)), "split", among_uuids)


def _ids_table(given: Any, name: str, ids: NodeIds, node: NodeTable, room: int, folder: str) -> Table:
    """Return ids as a table of one column."""
    if isinstance(given, (str, os.PathLike)):
        if os.fsdecode(given).endswith(".npy"):
            return _array_table(_npy_array(os.fsdecode(given)), shown_url(os.fsdecode(given)))
        table = open_table(given, node.spec.form, folder, room)
        if table.is_text and len(table.types) == 1:
            # A list of ids may have a header or not: what is the id of a node is no header.
            header = pyarrow().array([next(iter(table.types))])
            if ids.find(header, _about(table, node))[0] >= 0:
                form = TextForm(node.spec.form.delimiter, False, node.spec.form.encoding)
                table = open_table(given, form, folder, room)
        if len(table.types) > 1:
            wanted = node.id.column if node.id is not None else ""
            column = wanted if wanted in table.types else None
            if column is None:
                raise value_error(
                    "split", f"{name!r}: expected one column of ids, found {', '.join(table.types)}", where=table.name
                )
            return Table(table.name, {column: table.types[column]}, table.parts, table.is_text)
        return table
    if hasattr(given, "detach"):
        given = given.detach().cpu().numpy()
    if not isinstance(given, (list, tuple, np.ndarray)) and not hasattr(given, "to_numpy"):
        raise type_error("split", f"{name!r}: expected ids in a list, an array or a file, found {type(given).__name__}")
    if getattr(given, "ndim", 1) != 1:
        raise value_error("split", f"{name!r}: expected ids in one dimension, found {given.ndim}")
    return _array_table(given, f"split {name!r}")


def _npy_array(path: str) -> Any:
    if not is_url(path):
        return np.load(path, mmap_mode="r")
    with open_stored(located(path)) as file:
        return np.load(file)


def _array_table(values: Any, name: str) -> Table:
    arrow = pyarrow()

    def read(columns: Any, rows: int) -> Iterator[Any]:
        for start in range(0, len(values), rows):
            yield arrow.RecordBatch.from_arrays([arrow.array(values[start : start + rows])], names=["id"])

    kind = arrow.array(values[:1]).type if len(values) else arrow.int64()
    return Table(name, {"id": kind}, [Part(name, len(values), read)])

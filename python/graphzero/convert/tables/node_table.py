"""A table of nodes on its way into a data set: its ids first, then everything that goes by id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import Setting, error_of, type_error, value_error
from graphzero._base.dtypes import numpy_dtype
from graphzero._core import FormatError
from graphzero.convert.arrow_files import pyarrow
from graphzero.convert.tables.arrow_types import compute, is_list_type, is_text_type
from graphzero.convert.tables.attributes import (
    Attribute,
    Output,
    PlacedRows,
    TimeOutput,
    attributes_of,
    number_column,
    ordered_rows,
    row_bytes,
    text_guess,
)
from graphzero.convert.tables.node_ids import IdColumn, NodeIds
from graphzero.convert.tables.numbers import NumberColumn
from graphzero.convert.tables.read_ahead import read_ahead
from graphzero.convert.tables.spec import ColumnSpec, NodeSpec
from graphzero.convert.tables.splits import split_output
from graphzero.convert.tables.table import Table
from graphzero.convert.tables.times import TimeColumn

LABEL = "y"
TIME = "time"
# Integer labels beyond this are classes only if there are as many nodes.
_MANY_CLASSES = 1 << 16
# Nodes without a row that get one at a time.
_BLOCK = 1 << 16


class NodeTable:
    """What is made of one table of nodes.

    Attributes:
        kind: The node type.
        table: The rows.
        id: The column of ids; ``None`` if nodes are numbered by row.
        attributes: What is made of columns of numbers, the label among them.
        outputs: Everything that is made of columns, a row per node.
        label_is_class: Whether the labels are integers that are classes as they are.
        label_range: The smallest and the largest of these found so far.
        first_class: The smallest of them that is a class.
        present: Which nodes are in the table, after it was written; ``None`` if all are.
    """

    def __init__(self, kind: str, spec: NodeSpec, table: Table) -> None:
        self.kind = kind
        self.spec = spec
        self.table = table
        column = _id_column(kind, spec, table)
        self.id = None if column is None else IdColumn(table, column, "id")
        taken = {column} if column is not None else set()
        self.label: Attribute | None = None
        self.label_is_class = False
        if spec.label is not None:
            self.label = self._label()
            taken.add(self.label.column_names[0])
        self.splits = split_output(spec.split, table)
        taken |= set(self.splits.column_names if self.splits is not None else ())
        self.times: TimeOutput | None = None
        if spec.time is not None:
            self.times = self._time(TIME, spec.time)
            taken.add(self.times.column_names[0])
        self.order: TimeOutput | None = None  # what nodes are divided by
        if spec.split is not None and spec.split.by is not None:
            self.order = self._time("split", spec.split.by)
        features = attributes_of(spec.features, table, taken, spec.dtype, spec.fill)
        self.attributes = [*features, *([] if self.label is None else [self.label])]
        for name in [attribute.name for attribute in features]:
            if name in (LABEL, TIME) and (self.label if name == LABEL else self.times) is not None:
                raise value_error("features", f"nodes {kind!r}: {name!r} is the name of what {name} is stored as")
        used = [*self.attributes, self.splits, self.times, self.order]
        self.outputs: list[Output] = [output for output in used if output is not None]
        self.label_range = (0, -1)
        self.first_class = 0
        self.present: NDArray[np.bool_] | None = None

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        names = [] if self.id is None else [self.id.column]
        return list(dict.fromkeys([*names, *(name for output in self.outputs for name in output.column_names)]))

    @property
    def unused_columns(self) -> tuple[str, ...]:
        """Columns that are nothing."""
        used = set(self.columns)
        return tuple(name for name in self.table.types if name not in used)

    def collected_columns(self) -> list[str]:
        """Return the columns whose different values must be known before any row is written."""
        return list(dict.fromkeys(name for attribute in self.attributes for name in _coded(attribute)))

    def collect(self, batch: Any) -> None:
        """Look at the values of these columns."""
        for attribute in self.attributes:
            for column in attribute.columns:
                if column.categories is not None:
                    column.categories.collect(batch.column(column.column))

    def look_at(self) -> None:
        """Finish what was collected and choose how everything is stored, by the first rows."""
        for attribute in self.attributes:
            for categories in attribute.categories:
                categories.finish()
        if not self.attributes:
            return
        names = [name for attribute in self.attributes for name in attribute.column_names]
        first = self.table.first_rows(list(dict.fromkeys(names)))
        if first is None:
            first = _no_rows(self.table, names)
        for attribute in self.attributes:
            attribute.look_at(first)

    def write(
        self,
        ids: NodeIds,
        path_of: Callable[[int], str],
        *,
        memory: int,
        room: int,
        adds: bool,
        expected: int,
        count: Callable[[int], None],
    ) -> dict[Output, str]:
        """Write a file for each output and return the files.

        ``adds``: edges may have named more nodes than the table, which had ``expected`` rows. ``count`` is told how
        many were done.
        """
        if self.id is None:
            return self._write_in_order(path_of, room, expected, count)
        share = max(1 << 20, memory // max(1, len(self.outputs)))
        placed = {
            output: PlacedRows(path_of(number), output, ids.count, share) for number, output in enumerate(self.outputs)
        }
        seen = np.zeros(ids.count if adds else 0, np.bool_)
        num_rows = 0
        if self.outputs or adds:
            made = sum(map(row_bytes, self.outputs))
            for first, batch in read_ahead(self.table.batches(self.columns, room, made)):
                nodes = ids.find(batch.column(self.id.column), self.id)
                if (nodes < 0).any():
                    raise self._changed()
                if adds:
                    seen[nodes] = True
                for output, rows_of in placed.items():
                    rows_of.add(nodes, *self._converted(output, batch, first), first)
                num_rows += batch.num_rows
                count(batch.num_rows)
        if (self.outputs or adds) and num_rows != expected:
            raise self._changed()
        if adds and int(seen.sum()) < num_rows:
            raise repeated_id_error(self, ids, room)
        self._fill(placed, np.flatnonzero(~seen))
        self.present = seen if adds else None
        for rows_of in placed.values():
            rows_of.finish()
        return {output: rows_of.path for output, rows_of in placed.items()}

    def _write_in_order(
        self, path_of: Callable[[int], str], room: int, expected: int, count: Callable[[int], None]
    ) -> dict[Output, str]:
        paths = {output: path_of(number) for number, output in enumerate(self.outputs)}
        writers = {output: ordered_rows(path, output) for output, path in paths.items()}
        if writers:
            made = sum(map(row_bytes, self.outputs))
            for first, batch in read_ahead(self.table.batches(self.columns, room, made)):
                for output, writer in writers.items():
                    writer.append(*self._converted(output, batch, first))
                count(batch.num_rows)
            if any(writer.num_rows != expected for writer in writers.values()):
                raise self._changed()
        for writer in writers.values():
            writer.finish()
        return paths

    def _changed(self) -> FormatError:
        return FormatError(f"{self.table.name}: changed while it was read; expected the rows of the first pass again")

    def _converted(self, output: Output, batch: Any, first: int) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
        rows, scales = output.convert(batch, first)
        if output is self.label and self.label_is_class and len(rows):
            low, high = int(rows.min()), int(rows.max())
            if low < -1:
                at = int(np.argmin(rows))
                raise self._odd_label(f"{self.table.place(first + at)}: ", f"{low}, which is below -1")
            if high >= 0:
                smallest = int(rows[rows >= 0].min())
                self.first_class = smallest if self.label_range[1] < 0 else min(self.first_class, smallest)
            self.label_range = min(self.label_range[0], low), max(self.label_range[1], high)
        return rows, scales

    def check_label(self, num_nodes: int) -> None:
        """Refuse integers that can hardly be classes: a model has an output for each number up to the largest."""
        if self.label_range[1] >= max(_MANY_CLASSES, num_nodes):
            raise self._odd_label(f"{self.table.name}: ", f"{self.label_range[1]}, among {num_nodes:,} nodes")

    def _odd_label(self, where: str, found: str) -> ValueError:
        assert self.label is not None
        name = self.label.column_names[0]
        return value_error(
            "label",
            f"{where}column {name!r}: expected classes, 0 to some thousands, or -1 for none, found {found}; give "
            f"{{'column': {name!r}, 'kind': 'class'}} to number its different values, or 'kind': 'number' to predict "
            "numbers",
        )

    @property
    def has_classes(self) -> bool:
        """Whether there is one label per node, which is a class or -1."""
        return self.label_is_class or (self.label is not None and bool(self.label.categories))

    @property
    def num_classes(self) -> int | None:
        """The number of classes of the label, after it was written."""
        if self.label is None or self.label.row_shape:
            return None
        names = self.label.names_of_codes
        if names is not None:
            return len(names)
        return self.label_range[1] + 1 if self.label_is_class else None

    def _fill(self, placed: dict[Output, PlacedRows], nodes: NDArray[np.int64]) -> None:
        """Give nodes that only edges name a row in every file."""
        for output, rows_of in placed.items():
            if output.missing == 0 or output.quantised:
                continue  # as rows that are not written are
            for start in range(0, len(nodes), _BLOCK):
                block = nodes[start : start + _BLOCK]
                rows = np.full((len(block), *output.row_shape), output.missing, numpy_dtype(output.stored))
                rows_of.add(block, rows, None, 0)

    def rows_of_repeated_id(self, ids: NodeIds, room: int) -> tuple[int, int, Any]:
        """Return the rows of the first id that comes twice, and the id."""
        assert self.id is not None
        seen = np.zeros(ids.count, np.bool_)
        for first, batch in self.table.batches([self.id.column], room):
            nodes = ids.find(batch.column(0), self.id)
            _, places = np.unique(nodes, return_index=True)
            again = seen[nodes]
            repeated = np.ones(len(nodes), np.bool_)
            repeated[places] = False
            again |= repeated
            if again.any():
                second = int(np.argmax(again))
                return self._first_row(ids, int(nodes[second]), room), first + second, batch.column(0)[second].as_py()
            seen[nodes] = True
        raise AssertionError("an id comes twice")

    def _first_row(self, ids: NodeIds, node: int, room: int) -> int:
        assert self.id is not None
        for first, batch in self.table.batches([self.id.column], room):
            found = np.flatnonzero(ids.find(batch.column(0), self.id) == node)
            if len(found):
                return first + int(found[0])
        raise AssertionError("the id is there")

    def _time(self, name: str, column: Any) -> TimeOutput:
        found = self.table.column(column, "time" if name == TIME else "split")
        return TimeOutput(name, found, TimeColumn(found, self.spec.time_unit, self.spec.time_zone, self.table.place))

    def _label(self) -> Attribute:
        assert self.spec.label is not None
        table, asked = self.table, self.spec.label.kind
        name = table.column(self.spec.label.column, "label")
        types = pyarrow().types
        kind = table.types[name]
        if types.is_dictionary(kind):
            kind = kind.value_type
        is_category = types.is_dictionary(table.types[name])
        if table.is_text:
            are_numbers = text_guess(table, name, lambda values: True) and not _has_leading_zeros(table, name)
            are_integers = are_numbers and text_guess(table, name, lambda values: values.dtype.kind in "iu")
        else:
            are_integers = types.is_integer(kind) or types.is_boolean(kind)
            are_numbers = not is_text_type(kind)
        if is_list_type(kind):
            return Attribute(LABEL, table.name, [NumberColumn(name, table.place)], is_vector=True, dtype=None)
        if asked == "class" or (asked is None and (is_category or not are_numbers)):
            if not (is_text_type(kind) or are_integers or types.is_floating(kind)):
                raise type_error(
                    "label", f"column {name!r}: expected text or integers as classes, found {kind}", where=table.name
                )
            return Attribute(
                LABEL, table.name, [number_column(table, ColumnSpec(name, "code"))], is_vector=True, dtype="int64"
            )
        if are_integers and asked is None:
            self.label_is_class = True
            return Attribute(
                LABEL, table.name, [number_column(table, ColumnSpec(name, "number", -1))], is_vector=True, dtype="int64"
            )
        if asked is None:
            _refuse_gaps(table, name)
        # What is to be predicted is never made up.
        number = number_column(table, ColumnSpec(name, "number", float("nan")))
        return Attribute(LABEL, table.name, [number], is_vector=True, dtype="float32")


def _has_leading_zeros(table: Table, name: str) -> bool:
    """Whether a column of text has values such as 007, which are names and no numbers."""
    first = table.first_rows([name])
    return first is not None and compute().any(compute().match_substring_regex(first.column(0), "^0[0-9]")).as_py()


def _refuse_gaps(table: Table, name: str) -> None:
    """Refuse floats that may be classes: pandas turns integers into floats where some are missing."""
    first = table.first_rows([name])
    values = None if first is None else NumberColumn(name, table.place, fill=float("nan")).convert(first.column(0), 0)
    if values is None or values.dtype.kind != "f":
        return
    there = values[~np.isnan(values)]
    if len(there) < len(values) and (there == np.trunc(there)).all():
        raise value_error(
            "label",
            f"column {name!r}: expected classes or numbers, found whole numbers and nothing in some rows: give "
            f"{{'column': {name!r}, 'kind': 'class'}} if these are classes, or 'kind': 'number'",
            where=table.name,
        )


def _id_column(kind: str, spec: NodeSpec, table: Table) -> str | None:
    if spec.id is not None:
        return table.column(spec.id, "id")
    usual = [name for name in table.types if name.lower() in ("id", "node_id", f"{kind}_id".lower())]
    return usual[0] if len(usual) == 1 else None


def _coded(attribute: Attribute) -> Iterator[str]:
    return (column.column for column in attribute.columns if column.categories is not None)


def _no_rows(table: Table, names: list[str]) -> Any:
    arrow = pyarrow()
    columns = list(dict.fromkeys(names))
    return arrow.RecordBatch.from_arrays([arrow.array([], table.types[name]) for name in columns], names=columns)


def repeated_id_error(nodes: NodeTable, ids: NodeIds, room: int) -> ValueError:
    """Return the error about an id that comes twice."""
    first, second, label = nodes.rows_of_repeated_id(ids, room)
    assert nodes.id is not None
    return error_of(
        ValueError,
        f"nodes {nodes.kind!r}: {nodes.table.place(second)}: expected each id once in column {nodes.id.column!r}, "
        f"found {label!r}, which {nodes.table.place(first)} has too; leave one out, or give another column as ",
        Setting("id"),
    )  # fmt: skip

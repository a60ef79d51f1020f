"""A table of edges on its way into a data set: ends looked up by id, everything else in the order of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import Setting, error_of, value_error
from graphzero._base.arrays import float32_vector
from graphzero.convert.arrow_files import pyarrow
from graphzero.convert.edge_sources.batch import EdgeBatch, usual_ends
from graphzero.convert.row_writer import RowWriter
from graphzero.convert.tables.attributes import Output, TimeOutput, attributes_of, number_column
from graphzero.convert.tables.node_ids import IdColumn, NodeIds
from graphzero.convert.tables.read_ahead import read_ahead
from graphzero.convert.tables.spec import ColumnSpec, EdgeSpec
from graphzero.convert.tables.splits import split_output
from graphzero.convert.tables.table import Table
from graphzero.convert.tables.times import TimeColumn
from graphzero.dataset import EdgeTriple


class EdgeTable:
    """What is made of one table of edges.

    Attributes:
        triple: The edge type.
        table: The rows.
        src: The column of sources.
        dst: The column of destinations.
        attributes: What is made of columns of numbers.
        outputs: Everything that is made of columns, a row per edge.
        num_dropped: Rows left out, because an end is not a node.
    """

    def __init__(self, triple: EdgeTriple, spec: EdgeSpec, table: Table) -> None:
        self.triple = triple
        self.spec = spec
        self.table = table
        self.src, self.dst = self._ends()
        if triple[0] != triple[2] and not spec.directed:
            raise value_error("directed", f"edges {triple}: expected one kind of node for undirected edges, found two")
        if not isinstance(spec.reverse, (bool, str)) or (spec.reverse and not spec.directed):
            found = "found undirected ones, which lead both ways" if spec.reverse is True else f"found {spec.reverse!r}"
            raise value_error("reverse", f"edges {triple}: expected true or a name, for directed edges, {found}")
        taken = {self.src.column, self.dst.column}
        self._weight = None
        if spec.weight is not None:
            self._weight = number_column(table, ColumnSpec(table.column(spec.weight, "weight"), "number"), spec.fill)
            taken.add(self._weight.column)
        self.times: TimeColumn | None = None
        self.time_column: str | None = None
        if spec.time is not None:
            self.time_column = table.column(spec.time, "time")
            self.times = TimeColumn(self.time_column, spec.time_unit, spec.time_zone, table.place)
            taken.add(self.time_column)
        self.splits = split_output(spec.split, table)
        if spec.split is not None and spec.split.members is not None and self.splits is None:
            found = f"expected a column of true and false for each split, found {spec.split.members}"
            raise value_error("split", f"edges {triple}: {found}")
        taken |= set(self.splits.column_names if self.splits is not None else ())
        if spec.split is not None and "drop" in (spec.duplicates, spec.self_loops):
            raise value_error(
                "split", f"edges {triple}: edges that are dropped would stay in it; drop them from the table before"
            )
        self.order: TimeOutput | None = None
        if spec.split is not None and spec.split.by is not None:
            by = table.column(spec.split.by, "split")
            self.order = TimeOutput("split", by, TimeColumn(by, spec.time_unit, spec.time_zone, table.place))
        self.attributes = attributes_of(spec.features, table, taken, spec.dtype, spec.fill)
        used = [*self.attributes, self.splits, self.order]
        self.outputs: list[Output] = [output for output in used if output is not None]
        self.num_dropped = 0

    def _ends(self) -> tuple[IdColumn, IdColumn]:
        names = list(self.table.types)
        if len(names) < 2:
            raise value_error(
                "src", f"expected two columns for the ends of an edge, found {names}", where=self.table.name
            )
        given: list[Any] = [self.spec.src, self.spec.dst]
        if given == [None, None]:
            given = list(usual_ends(names))
        if None in given:
            raise error_of(
                ValueError, f"{self.table.name}: expected both ", Setting("src"), " and ", Setting("dst"),
                f", found one; there are {', '.join(names)}",
            )  # fmt: skip
        src, dst = self.table.column(given[0], "src"), self.table.column(given[1], "dst")
        if src == dst:
            raise value_error("dst", f"expected another column than that of src, found {dst!r}", where=self.table.name)
        return IdColumn(self.table, src, "src"), IdColumn(self.table, dst, "dst")

    @property
    def weight_column(self) -> str | None:
        """The column of weights."""
        return None if self._weight is None else self._weight.column

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        others = (name for output in self.outputs for name in output.column_names)
        return list(dict.fromkeys([*self._graph_columns, *others]))

    @property
    def _graph_columns(self) -> list[str]:
        names = [self.src.column, self.dst.column, self.weight_column, self.time_column]
        return [name for name in dict.fromkeys(names) if name is not None]

    def try_out(self, first_rows: Any) -> None:
        """Convert some rows, all but the ends, for a dry run."""
        if self._weight is not None:
            self._weights(first_rows, 0)
        if self.times is not None:
            self.times.convert(first_rows.column(self.time_column), 0)
        for output in self.outputs:
            output.convert(first_rows, 0)

    @property
    def unused_columns(self) -> tuple[str, ...]:
        """Columns that are nothing."""
        used = set(self.columns)
        return tuple(name for name in self.table.types if name not in used)

    def batches(
        self,
        src: NodeIds,
        dst: NodeIds,
        room: int,
        writers: Mapping[Output, RowWriter],
        count: Callable[[int], None],
        *,
        reverse: bool = False,
    ) -> Iterator[EdgeBatch]:
        """Yield edges between nodes, or the way back, and write what ``writers`` ask for.

        ``count`` is told how many rows were done. An empty table yields one batch without edges.
        """
        self.num_dropped = 0
        columns = self.columns if writers else self._graph_columns
        is_empty = True
        for first, batch in read_ahead(self.table.batches(columns, room)):
            is_empty = False
            edges = self._edges(batch, first, src, dst)
            outputs = {output: output.convert(batch, first) for output in writers}
            keep = self._kept(batch, first, edges, src, dst)
            if keep is not None:
                edges = EdgeBatch(*(None if values is None else values[keep] for values in _parts(edges)))  # type: ignore[arg-type]
            for output, (rows, scales) in outputs.items():
                if keep is not None:
                    rows, scales = rows[keep], None if scales is None else scales[keep]
                writers[output].append(rows, scales)
            count(batch.num_rows)
            yield EdgeBatch(edges.dst, edges.src, edges.weight, edges.time) if reverse else edges
        if is_empty:
            none = np.empty(0, np.int64)
            yield EdgeBatch(
                none,
                none,
                None if self._weight is None else np.empty(0, np.float32),
                None if self.times is None else none,
            )

    def _edges(self, batch: Any, first: int, src: NodeIds, dst: NodeIds) -> EdgeBatch:
        return EdgeBatch(
            src.find(batch.column(self.src.column), self.src),
            dst.find(batch.column(self.dst.column), self.dst),
            None if self._weight is None else self._weights(batch, first),
            None if self.times is None else self.times.convert(batch.column(self.time_column), first),
        )

    def _weights(self, batch: Any, first: int) -> NDArray[np.float32]:
        assert self._weight is not None
        values = self._weight.convert(batch.column(self._weight.column), first)
        weight = float32_vector(values, f"{self.table.name}: weight")
        wrong = ~(np.isfinite(weight) & (weight >= 0))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise value_error(
                "weight",
                f"column {self._weight.column!r}: expected finite weights from 0 on, found {weight[at]}",
                where=self.table.place(first + at),
            )
        return weight

    def _kept(self, batch: Any, first: int, edges: EdgeBatch, src: NodeIds, dst: NodeIds) -> NDArray[np.bool_] | None:
        """Return which rows to keep; ``None`` if all."""
        keep = (edges.src >= 0) & (edges.dst >= 0)
        if keep.all():
            return None
        if self.spec.on_missing == "drop":
            self.num_dropped += int((~keep).sum())
            return keep
        at = int(np.argmin(keep))
        end, kind = (self.src, self.triple[0]) if edges.src[at] < 0 else (self.dst, self.triple[2])
        ids = src if end is self.src else dst
        value = batch.column(end.column)[at].as_py()
        if value is None or (value == "" and self.table.is_text):
            raise value_error(
                end.role,
                f"column {end.column!r}: expected an id of {kind!r}, found nothing; on_missing='drop' leaves out such "
                "edges",
                where=self.table.place(first + at),
            )
        if isinstance(value, str) and value != value.strip():
            stripped = pyarrow().array([value.strip()])
            if ids.find(stripped, end)[0] >= 0:
                raise KeyError(
                    f"{self.table.place(first + at)}: column {end.column!r}: expected an id of {kind!r}, found "
                    f"{value!r}; there is {value.strip()!r}: remove the blanks around it"
                )
        raise error_of(
            KeyError,
            f"{self.table.place(first + at)}: column {end.column!r}: expected an id of {kind!r}, found {value!r}, "
            "which its table does not have; give ", Setting("on_missing", "drop"), " to leave such edges out, or ",
            Setting("on_missing", "add"), " to add such nodes",
        )  # fmt: skip


def _parts(edges: EdgeBatch) -> tuple[Any, ...]:
    return edges.src, edges.dst, edges.weight, edges.time

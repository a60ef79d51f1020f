"""One run of a build: tables in, files of a data set folder out, step by step."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import value_error
from graphzero._base.memory_sizes import peak_memory
from graphzero._files.manifest_paths import file_name, type_path
from graphzero.convert.arrow_files import pyarrow
from graphzero.convert.conversion_report import ConversionReport
from graphzero.convert.dataset_writer import DatasetWriter
from graphzero.convert.edges import convert_edges
from graphzero.convert.row_writer import RowWriter
from graphzero.convert.stored import SameFiles, stored_paths
from graphzero.convert.tables.attributes import Attribute, Output, ordered_rows
from graphzero.convert.tables.edge_table import EdgeTable
from graphzero.convert.tables.node_ids import IdColumn, NodeIds, collect_ids, text_labels
from graphzero.convert.tables.node_table import LABEL, NodeTable, repeated_id_error
from graphzero.convert.tables.read_ahead import read_ahead
from graphzero.convert.tables.report import BuildReport, EdgeReport, NodeReport
from graphzero.convert.tables.sources import open_table
from graphzero.convert.tables.spec import EdgeSpec, NodeSpec
from graphzero.convert.tables.split_files import member_codes
from graphzero.convert.tables.splits import (
    among,
    labelled,
    present_blocks,
    shared_at_random,
    shared_by_time,
    stored_codes,
    write_members,
)
from graphzero.convert.tables.table import Table
from graphzero.dataset import EdgeTriple, TypeName
from graphzero.features import FeatureStore

# What tables, dictionaries and sorting need at least, in bytes.
LEAST_MEMORY = 64_000_000


class Build:
    """One run: tables in, files of a folder out, step by step."""

    def __init__(
        self,
        stage: str,
        budget: int,
        node_specs: Mapping[str, NodeSpec],
        edge_specs: Mapping[EdgeTriple, EdgeSpec],
    ) -> None:
        self._stage = stage  # a folder for unfinished files
        self._budget = budget
        # Of what a batch takes there are some six copies: read ahead, ready, in use, and as labels, ids and rows.
        self._room = min(max(1 << 20, budget // 48), 32 << 20)
        specs: list[NodeSpec | EdgeSpec] = [*node_specs.values(), *edge_specs.values()]
        self._files = [SameFiles(stored_paths(spec.source)) for spec in specs]
        self._nodes = {kind: NodeTable(kind, spec, self._table(spec)) for kind, spec in node_specs.items()}
        self._edges = {triple: EdgeTable(triple, spec, self._table(spec)) for triple, spec in edge_specs.items()}
        self._mark_uuids()
        self._check_adds()
        self._ids: dict[str, NodeIds] = {}
        self._rows_of: dict[str, int] = {}  # of the tables of nodes
        self._splits: dict[tuple[str, TypeName], int | None] = {}
        self._notes: list[str] = []
        self.step = "reading"
        self.done = 0

    def _table(self, spec: NodeSpec | EdgeSpec) -> Table:
        return open_table(spec.source, spec.form, self._stage, self._room)

    def _mark_uuids(self) -> None:
        """Tell columns of text whether others have ids of the same nodes as UUIDs."""
        for kind in self._kinds():
            node = self._nodes.get(kind)
            own = [] if node is None or node.id is None else [node.id]
            if not any(column.has_uuids for column in [*own, *self._ends_of(kind)]):
                continue
            if node is not None and node.id is not None:
                node.id = replace(node.id, among_uuids=True)
            for triple, edge in self._edges.items():
                edge.src = replace(edge.src, among_uuids=True) if triple[0] == kind else edge.src
                edge.dst = replace(edge.dst, among_uuids=True) if triple[2] == kind else edge.dst

    def _check_adds(self) -> None:
        for kind, node in self._nodes.items():
            if self._adds(kind) and node.id is None:
                raise value_error(
                    "on_missing", f"nodes {kind!r}: expected a column of ids to add nodes to, found rows without ids"
                )
            by_time = node.order is not None and not node.has_classes
            if self._adds(kind) and by_time:
                raise value_error(
                    "on_missing",
                    f"nodes {kind!r}: nodes that only edges name have no time to divide them by; give 'drop'",
                )

    def _kinds(self) -> list[str]:
        """Return all kinds of node, those without a table last."""
        ends = (end for triple in self._edges for end in (triple[0], triple[2]))
        return list(dict.fromkeys([*self._nodes, *ends]))

    def _ends_of(self, kind: str) -> list[IdColumn]:
        """Return the columns of edges that hold ids of a kind of node."""
        return [
            column
            for triple, edge in self._edges.items()
            for end, column in ((triple[0], edge.src), (triple[2], edge.dst))
            if end == kind
        ]

    def _adds(self, kind: str) -> bool:
        """Whether edges may name nodes of this kind that its table does not have."""
        return kind in self._nodes and any(
            edge.spec.on_missing == "add" for triple, edge in self._edges.items() if kind in (triple[0], triple[2])
        )

    @property
    def total(self) -> int | None:
        """The number of rows to read, repeated passes included; ``None`` if it is not known."""
        counts: list[int | None] = []
        for kind in self._kinds():
            counts += [column.table.num_rows for column in self._id_columns(kind)]
            node = self._nodes.get(kind)
            if node is not None:
                counts += [node.table.num_rows] * ((node.id is None) + bool(node.outputs))
        counts += [edge.table.num_rows for edge in self._edges.values() for _ in range(1 + bool(edge.spec.reverse))]
        return None if None in counts else sum(count or 0 for count in counts)

    def _id_columns(self, kind: str) -> list[IdColumn]:
        """Return the columns that a kind's ids are collected from."""
        node = self._nodes.get(kind)
        if node is None:
            return self._ends_of(kind)
        own = [] if node.id is None else [node.id]
        adding = {id(edge.table) for edge in self._edges.values() if edge.spec.on_missing == "add"}
        return own + [column for column in self._ends_of(kind) if id(column.table) in adding]

    def _count(self, rows: int) -> None:
        self.done += rows

    def _path(self, *names: str, ending: str = ".gd") -> str:
        return os.path.join(self._stage, ".".join(map(file_name, names)) + ending)

    # A dry run.

    def look(self, target: str) -> BuildReport:
        """Try everything on the first rows."""
        nodes = {}
        for kind, node in self._nodes.items():
            self._look_at_nodes(node)
            ids = "number" if node.id is None else self._kind_of_first_ids(node.id)
            nodes[kind] = self._node_report(node, node.table.num_rows, ids, 0)
        for kind in self._kinds():
            if kind not in nodes:
                nodes[kind] = NodeReport(None, self._kind_of_first_ids(self._ends_of(kind)[0]), {})
        edges = {}
        for triple, edge in self._edges.items():
            first = edge.table.first_rows(edge.columns)
            self._look_at_edges(edge)
            if first is not None:
                edge.try_out(first)
            edges[triple] = self._edge_report(edge, None)
        parts: list[tuple[TypeName, NodeTable | EdgeTable]] = [*self._nodes.items(), *self._edges.items()]
        for of, part in parts:
            split = part.spec.split
            named = part.splits.names if part.splits is not None else []
            names = named or list((split.shares or split.members or {}) if split is not None else ())
            self._splits.update({(name, of): None for name in names})
        return BuildReport(target, nodes, edges, self._splits, dry_run=True)

    def _look_at_nodes(self, node: NodeTable) -> None:
        first = node.table.first_rows(node.columns) if node.columns else None
        if first is not None:
            node.collect(first)
        node.look_at()
        if first is not None:
            for output in node.outputs:
                output.convert(first, 0)

    def _kind_of_first_ids(self, column: IdColumn) -> str:
        first = column.table.first_rows([column.column])
        if first is None:
            return "string"

        def batches(about: IdColumn) -> Iterator[Any]:
            yield first.column(0)

        ids, _ = collect_ids([column], self._path("first", ending=".gi"), LEAST_MEMORY, self._stage, batches)
        return ids.kind

    # A run.

    def run(self, writer: DatasetWriter, target: str, begin: float) -> BuildReport:
        """Write everything."""
        self._writer = writer
        nodes = {kind: self._add_nodes(kind) for kind in self._kinds()}
        edges = {}
        for triple, edge in self._edges.items():
            edges[triple] = self._add_edges(edge)
        for files in self._files:
            files.check()
        return BuildReport(
            target,
            nodes,
            edges,
            self._splits,
            tuple(self._notes),
            clock.perf_counter() - begin,
            peak_memory(),
        )

    def _add_nodes(self, kind: str) -> NodeReport:
        node = self._nodes.get(kind)
        ids = self._ids[kind] = self._collect(kind, node)
        if node is None:
            self._writer.add_nodes(type=kind, num_nodes=ids.count, ids=ids.path)
            return NodeReport(ids.count, ids.kind, {})
        self.step = f"{kind}: writing"
        node.look_at()
        files = node.write(
            ids,
            lambda number: self._path("nodes", kind, str(number)),
            memory=self._budget // 2,
            room=self._room,
            adds=self._adds(kind),
            expected=self._rows_of[kind],
            count=self._count,
        )
        node.check_label(ids.count)
        self._note_losses(kind, node.attributes)
        self._note_labels(kind, node)
        kept: list[Output] = [*node.attributes, *([] if node.times is None else [node.times])]
        self._writer.add_nodes(
            {output.name: files[output] for output in kept},
            type=kind,
            num_nodes=ids.count,
            label=None if node.label is None else LABEL,
            num_classes=node.num_classes,
            ids=ids.path,
            categories=_categories(node.attributes),
        )
        if node.spec.split is not None:
            self._add_splits(node, kind, ids.count, files)
        added = ids.count - self._rows_of[kind] if self._adds(kind) else 0
        return self._node_report(node, ids.count, ids.kind, added)

    def _collect(self, kind: str, node: NodeTable | None) -> NodeIds:
        """Read the ids of a kind of node, and what else must be known before any row is written."""
        self.step = f"{kind}: reading ids"
        columns = self._id_columns(kind)
        if node is not None and node.id is None:
            self._rows_of[kind] = self._number_of_rows(node)
            return NodeIds(self._rows_of[kind])
        own_rows = 0

        def batches(about: IdColumn) -> Iterator[Any]:
            nonlocal own_rows
            is_own = node is not None and about is node.id
            names = [about.column, *(node.collected_columns() if is_own and node is not None else [])]
            own_rows = 0 if is_own else own_rows
            for first, batch in read_ahead(about.table.batches(list(dict.fromkeys(names)), self._room)):
                array = batch.column(about.column)
                if is_own and node is not None:
                    own_rows += batch.num_rows
                    _refuse_nothing(array, about, kind, first)
                    node.collect(batch)
                self._count(batch.num_rows)
                yield array

        path = self._path("ids", kind, ending=".gi")
        ids, num_added = collect_ids(columns, path, self._budget // 2, self._stage, batches)
        if node is not None and not self._adds(kind) and num_added != ids.count:
            raise repeated_id_error(node, ids, self._room)
        self._rows_of[kind] = own_rows
        return ids

    def _number_of_rows(self, node: NodeTable) -> int:
        """Count the rows of a table without ids, and look at what must be known before."""
        names = node.collected_columns()
        if not names and node.table.num_rows is not None:
            self._count(node.table.num_rows)
            return node.table.num_rows
        count = 0
        for _, batch in node.table.batches(names or list(node.table.types)[:1], self._room):
            node.collect(batch)
            count += batch.num_rows
            self._count(batch.num_rows)
        return count

    def _add_edges(self, edge: EdgeTable) -> EdgeReport:
        triple = edge.triple
        name = triple[1]
        self.step = f"{name}: reading"
        self._collect_categories(edge)
        self._look_at_edges(edge)
        files = {output: self._path("edges", *triple, str(i)) for i, output in enumerate(edge.outputs)}
        writers = {output: ordered_rows(file, output) for output, file in files.items()}
        graph = self._path("edges", *triple, ending=".gl")
        report = self._convert(edge, graph, writers)
        for writer in writers.values():
            writer.finish()
        self._note_losses(" ".join(triple), edge.attributes)
        settings: dict[str, Any] = {
            "attributes": {attribute.name: files[attribute] for attribute in edge.attributes},
            "categories": _categories(edge.attributes),
            "time_unit": None if edge.times is None else edge.times.unit,
        }
        self._writer.add_edges(type=triple, graph=graph, **settings)
        if edge.spec.reverse:
            back = (triple[2], edge.spec.reverse if isinstance(edge.spec.reverse, str) else f"rev_{name}", triple[0])
            self.step = f"{back[1]}: reading"
            reverse = self._path("edges", *back, ending=".gl")
            dropped = edge.num_dropped
            self._convert(edge, reverse, {}, reverse=True)
            edge.num_dropped = dropped
            self._writer.add_edges(type=back, graph=reverse, **settings)
        if edge.spec.split is not None:
            self._add_splits(edge, triple, report.num_rows, files)
        return self._edge_report(edge, report)

    def _convert(
        self, edge: EdgeTable, path: str, writers: Mapping[Output, RowWriter], *, reverse: bool = False
    ) -> ConversionReport:
        src, dst = self._ids[edge.triple[0]], self._ids[edge.triple[2]]
        with ExitStack() as stack:
            ends = [src] if src is dst else [src, dst]
            held = sum(stack.enter_context(ids.in_memory(self._budget // 4 // len(ends))) for ids in ends)
            return self._convert_with(edge, path, writers, src, dst, self._budget * 3 // 4 - held, reverse=reverse)

    def _convert_with(
        self,
        edge: EdgeTable,
        path: str,
        writers: Mapping[Output, RowWriter],
        src: NodeIds,
        dst: NodeIds,
        memory: int,
        *,
        reverse: bool,
    ) -> ConversionReport:
        # Tables are read in one thread, ids looked up in another, edges sorted in this one, so that no core waits.
        batches = read_ahead(edge.batches(src, dst, self._room, writers, self._count, reverse=reverse))
        counts = (dst.count, src.count) if reverse else (src.count, dst.count)
        spec = edge.spec
        return convert_edges(
            batches,
            path,
            num_nodes=counts[0] if edge.triple[0] == edge.triple[2] else counts,
            directed=spec.directed,
            index=spec.index,  # type: ignore[arg-type]
            duplicates=spec.duplicates,  # type: ignore[arg-type]
            self_loops=spec.self_loops,  # type: ignore[arg-type]
            memory=memory,
            tmp_dir=self._stage,
            ids="dense",
        )

    def _collect_categories(self, edge: EdgeTable) -> None:
        coded = [
            column for attribute in edge.attributes for column in attribute.columns if column.categories is not None
        ]
        if not coded:
            return
        for _, batch in read_ahead(edge.table.batches(list({column.column for column in coded}), self._room)):
            for column in coded:
                assert column.categories is not None
                column.categories.collect(batch.column(column.column))

    def _look_at_edges(self, edge: EdgeTable) -> None:
        for attribute in edge.attributes:
            for categories in attribute.categories:
                categories.finish()
            attribute.look_at(_first_or_none(edge.table, attribute))

    def _add_splits(self, part: NodeTable | EdgeTable, of: TypeName, count: int, files: Mapping[Output, str]) -> None:
        split = part.spec.split
        assert split is not None
        path = type_path(of)
        names = list(split.shares or split.members or {})
        with ExitStack() as stack:
            if part.splits is not None:
                names = part.splits.names
                codes = stored_codes(stack.enter_context(FeatureStore(files[part.splits])))
            elif split.shares is not None:
                present = self._present(part, files, stack)
                if part.order is not None:
                    order = stack.enter_context(FeatureStore(files[part.order]))
                    codes = shared_by_time(order, split.shares, present)
                elif present is None:
                    codes = shared_at_random(count, split.shares, split.seed)
                else:
                    divided = sum(int(block.sum()) for block in present())
                    codes = among(present(), shared_at_random(divided, split.shares, split.seed))
            else:
                assert isinstance(part, NodeTable)
                file = self._path("members", path)
                ids = self._ids[part.kind]
                member_codes(split.members or {}, ids, part, file, self._budget // 4, self._room, self._stage)
                codes = stored_codes(stack.enter_context(FeatureStore(file)))
            written = write_members(codes, names, lambda name: self._path("splits", path, name))
        for name, members in written.items():
            with FeatureStore(members) as store:
                self._writer.add_split(name, store.get_tensor(writable=False), of=of)
                self._splits[name, of] = store.num_rows

    def _present(
        self, part: NodeTable | EdgeTable, files: Mapping[Output, str], stack: ExitStack
    ) -> Callable[[], Iterator[NDArray[np.bool_]]] | None:
        """Return which nodes are divided: those that have a class, if there are classes, and are in their table."""
        if isinstance(part, EdgeTable):
            return None
        if part.label is not None and part.has_classes:
            labels = stack.enter_context(FeatureStore(files[part.label]))
            return lambda: labelled(labels)
        present = part.present
        return None if present is None else lambda: present_blocks(present)

    def _note_losses(self, owner: str, attributes: list[Attribute]) -> None:
        for attribute in attributes:
            loss = attribute.loss
            # Floats are always rounded; integers that are no longer the same may be a mistake.
            if loss is not None and (loss.overflows or loss.max_error >= 0.5):
                self._notes.append(f"{owner}: {attribute.name!r} is rounded: {loss}; dtype='float64' keeps more")

    def _note_labels(self, kind: str, node: NodeTable) -> None:
        if node.label_is_class and node.first_class > 1:
            self._notes.append(
                f"{kind}: the smallest label is {node.first_class}, and there are {node.num_classes:,} classes; "
                "'kind': 'class' numbers only those that occur"
            )

    def _node_report(self, node: NodeTable, count: int | None, ids: str, added: int) -> NodeReport:
        attributes = {attribute.name: attribute.describe() for attribute in node.attributes}
        if node.times is not None:
            attributes[node.times.name] = "int64"
        names = None if node.label is None else node.label.names_of_codes
        label = None
        if node.label is not None:
            classes = node.num_classes
            label = f"column {node.label.column_names[0]!r}, " + (
                "numbers"
                if names is None and not node.label_is_class
                else f"{'' if classes is None else f'{classes:,} '}classes"
            )
        return NodeReport(
            count,
            ids,
            attributes,
            label,
            None if names is None else tuple(names),
            added,
            node.unused_columns,
        )

    def _edge_report(self, edge: EdgeTable, conversion: ConversionReport | None) -> EdgeReport:
        return EdgeReport(
            conversion,
            edge.src.column,
            edge.dst.column,
            {attribute.name: attribute.describe() for attribute in edge.attributes},
            edge.weight_column,
            edge.time_column,
            None if edge.times is None else edge.times.unit,
            edge.num_dropped,
            edge.unused_columns,
        )


def _first_or_none(table: Table, attribute: Attribute) -> Any:
    first = table.first_rows(list(dict.fromkeys(attribute.column_names)))
    if first is not None:
        return first
    arrow = pyarrow()
    names = list(dict.fromkeys(attribute.column_names))
    return arrow.RecordBatch.from_arrays([arrow.array([], table.types[name]) for name in names], names=names)


def _categories(attributes: list[Attribute]) -> dict[str, list[str]]:
    return {attribute.name: names for attribute in attributes if (names := attribute.names_of_codes) is not None}


def _refuse_nothing(array: Any, about: IdColumn, kind: str, first: int) -> None:
    """Refuse a node whose id is nothing."""
    labels = text_labels(array, about) if about.table.is_text else array
    if labels.null_count:
        at = int(labels.is_null().to_numpy(zero_copy_only=False).argmax())
        raise value_error(
            "id",
            f"nodes {kind!r}: column {about.column!r}: expected an id, found nothing",
            where=about.table.place(first + at),
        )

"""What was made of tables, or would be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from graphzero._base.memory_sizes import byte_text
from graphzero._base.visible import visible
from graphzero._look.reports import ShownReport
from graphzero.convert.conversion_report import ConversionReport
from graphzero.dataset import EdgeTriple, TypeName, type_text

_KINDS = {"string": "text", "integer": "integers", "number": "integers 0 to N - 1, which are the nodes' numbers"}


@dataclass(frozen=True)
class NodeReport(ShownReport):
    """What was made of a table of nodes.

    Attributes:
        num_nodes: The number of nodes; of a dry run, if it is known.
        ids: The kind of their ids: ``"string"``, ``"integer"``, or ``"number"`` if they are the nodes' numbers.
        attributes: Shape and type of each attribute, by name.
        label: What the labels are, in words; ``None`` if there are none.
        class_names: The names of the classes; ``None`` if they have none.
        num_added: Nodes that only edges name.
        unused_columns: Columns that nothing was made of.
    """

    num_nodes: int | None
    ids: str
    attributes: Mapping[str, str]
    label: str | None = None
    class_names: tuple[str, ...] | None = None
    num_added: int = 0
    unused_columns: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return what to print."""
        found = [f"ids {_KINDS[self.ids]}", *(f"{name}: {text}" for name, text in self.attributes.items())]
        lines = ["; ".join(found)]
        if self.label is not None:
            lines.append(f"label: {self.label}")
        if self.num_added:
            lines.append(f"{self.num_added:,} nodes are named by edges alone")
        if self.unused_columns:
            lines.append(f"not used: columns {', '.join(self.unused_columns)}")
        return lines


@dataclass(frozen=True)
class EdgeReport(ShownReport):
    """What was made of a table of edges.

    Attributes:
        conversion: The report about the graph; ``None`` for a dry run.
        src: The column of sources.
        dst: The column of destinations.
        attributes: Shape and type of each attribute, by name.
        weight: The column of weights; ``None`` if there is none.
        time: The column of times; ``None`` if there is none.
        time_unit: What times count since 1970; ``None`` if that is not known.
        num_dropped: Rows left out, because an end is not a node.
        unused_columns: Columns that nothing was made of.
    """

    conversion: ConversionReport | None
    src: str
    dst: str
    attributes: Mapping[str, str]
    weight: str | None = None
    time: str | None = None
    time_unit: str | None = None
    num_dropped: int = 0
    unused_columns: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return what to print."""
        found = [f"from {self.src!r} to {self.dst!r}"]
        found += [] if self.weight is None else [f"weights {self.weight!r}"]
        unit = "integers as they are" if self.time_unit is None else f"in {self.time_unit} since 1970, UTC"
        found += [] if self.time is None else [f"times {self.time!r}, {unit}"]
        found += [f"{name}: {text}" for name, text in self.attributes.items()]
        lines = ["; ".join(found)]
        if self.conversion is not None and self.conversion.num_self_loops:
            lines.append(f"{self.conversion.num_self_loops:,} self-loops")
        if self.conversion is not None and self.conversion.num_duplicates:
            lines.append(f"{self.conversion.num_duplicates:,} duplicates")
        if self.num_dropped:
            lines.append(f"{self.num_dropped:,} rows left out, as an end is not a node")
        if self.unused_columns:
            lines.append(f"not used: columns {', '.join(self.unused_columns)}")
        return lines


@dataclass(frozen=True)
class BuildReport(ShownReport):
    """What [`build_dataset`][graphzero.build_dataset] made, or would make.

    Attributes:
        path: The folder.
        nodes: The report of each kind of node.
        edges: The report of each kind of edge.
        splits: How many ids each split has, by its name and its type; of a dry run, only what is known.
        notes: What may surprise, such as rounding.
        seconds: How long it took.
        peak_memory: The most memory the process has held, in bytes.
        dry_run: Nothing was written; types and shapes are those of the first rows.
    """

    path: str
    nodes: Mapping[str, NodeReport]
    edges: Mapping[EdgeTriple, EdgeReport]
    splits: Mapping[tuple[str, TypeName], int | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    peak_memory: int = 0
    dry_run: bool = False

    def __str__(self) -> str:
        lines = [f"{self.path}: would be made of these tables, by their first rows"] if self.dry_run else []
        if not self.dry_run:
            lines.append(f"{self.path}: made in {self.seconds:.1f} s, {byte_text(self.peak_memory)} of memory at most")
        for kind, node in self.nodes.items():
            count = "nodes" if node.num_nodes is None else f"{node.num_nodes:,} nodes"
            lines += [f"  {kind}: {count}", *(f"    {line}" for line in node.lines())]
        for triple, edge in self.edges.items():
            count = "edges" if edge.conversion is None else f"{edge.conversion.num_edges:,} edges"
            lines += [f"  {type_text(triple)}: {count}", *(f"    {line}" for line in edge.lines())]
        for (name, of), number in self.splits.items():
            lines.append(f"  split {name} of {type_text(of)}" + ("" if number is None else f": {number:,}"))
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(map(visible, lines))

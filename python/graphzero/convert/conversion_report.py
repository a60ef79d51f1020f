"""What a conversion of edges tells about itself."""

from __future__ import annotations

from dataclasses import dataclass

from graphzero._base.memory_sizes import byte_text
from graphzero._base.old_names import renamed_fields
from graphzero._base.visible import visible
from graphzero._look.reports import ShownReport
from graphzero.convert.text import BadLine


@renamed_fields(bad_lines="first_bad_lines")
@dataclass(frozen=True)
class ConversionReport(ShownReport):
    """What a conversion read, found and wrote.

    Attributes:
        path: The file written.
        ids_path: The dictionary of labels, of a bipartite graph that of sources; ``None`` if ids were used as they are.
        num_rows: Edges read.
        num_edges: Edges stored; an undirected graph stores each twice.
        num_src_nodes: The number of source nodes, which is that of all nodes unless the graph is bipartite.
        num_dst_nodes: The number of destination nodes.
        smallest_id: The smallest node id read.
        largest_id: The largest node id read.
        num_self_loops: Edges from a node to itself, dropped or not.
        num_duplicates: Edges with the same ends, and time if there are times, as another, dropped or not.
        num_bad_lines: Lines skipped.
        first_bad_lines: The first of them.
        unused_columns: Columns of the source that were not used.
        size: The size of the file in bytes.
        spilled: Bytes that went through temporary files.
        seconds: How long it took.
        peak_memory: The most memory the process has held, in bytes.
        dst_ids_path: The dictionary of the labels of destinations, if the graph is bipartite.
        time_unit: What times count since 1970; ``None`` if there are none, or nothing says it.
    """

    path: str
    ids_path: str | None
    num_rows: int
    num_edges: int
    num_src_nodes: int
    num_dst_nodes: int
    smallest_id: int
    largest_id: int
    num_self_loops: int
    num_duplicates: int
    num_bad_lines: int
    first_bad_lines: tuple[BadLine, ...]
    unused_columns: tuple[str, ...]
    size: int
    spilled: int
    seconds: float
    peak_memory: int
    dst_ids_path: str | None = None
    time_unit: str | None = None

    def __str__(self) -> str:
        nodes = f"{self.num_src_nodes:,}"
        if self.num_dst_nodes != self.num_src_nodes:
            nodes += f" → {self.num_dst_nodes:,}"
        labels = self.ids_path, self.dst_ids_path
        lines = [
            f"{self.path}: {self.num_edges:,} edges over {nodes} nodes, {byte_text(self.size)}",
            *([f"  labels in   {' and '.join(filter(None, labels))}"] if self.ids_path else []),
            f"  rows read   {self.num_rows:,}, ids {self.smallest_id:,} to {self.largest_id:,}",
            f"  self-loops  {self.num_self_loops:,}",
            f"  duplicates  {self.num_duplicates:,}",
            *([f"  times       in {self.time_unit} since 1970"] if self.time_unit else []),
            f"  time        {self.seconds:.1f} s, {self.num_rows / max(self.seconds, 1e-9) / 1e6:.1f} M edges/s",
            f"  memory      {byte_text(self.peak_memory)} at most, {byte_text(self.spilled)} spilled to disk",
        ]
        if self.unused_columns:
            lines.append(f"  not used    columns {', '.join(self.unused_columns)}")
        if self.num_bad_lines:
            lines.append(f"  bad lines   {self.num_bad_lines:,} skipped")
            lines += [f"    line {bad.line:,}: {bad.reason}: {bad.text}" for bad in self.first_bad_lines[:5]]
        return "\n".join(map(visible, lines))

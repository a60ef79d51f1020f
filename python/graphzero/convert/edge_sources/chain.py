"""Several sources read as one, in order."""

from __future__ import annotations

from collections.abc import Iterator

from graphzero._base.argument_errors import Setting, error_of
from graphzero.convert.edge_sources.batch import EdgeBatch, EdgeSource, NodeCount


class ChainedSource:
    """The edges of all sources, one source after the other."""

    def __init__(self, sources: list[EdgeSource]) -> None:
        first = sources[0]
        self.name = f"{first.name} and {len(sources) - 1} more"
        self._sources = sources
        counts = [source.num_edges for source in sources]
        self.num_edges: int | None = sum(count for count in counts if count is not None)
        if None in counts:
            self.num_edges = None
        self.num_nodes: NodeCount = first.num_nodes
        self.undirected = first.undirected
        self.time_unit: str | None = getattr(first, "time_unit", None)
        self.has_text_ends = any(getattr(source, "has_text_ends", False) for source in sources)
        self.unused_columns: tuple[str, ...] = getattr(first, "unused_columns", ())
        for source in sources[1:]:
            if source.undirected != self.undirected:
                kinds = {True: "undirected", False: "directed"}
                raise ValueError(
                    f"{source.name}: expected {kinds[self.undirected]} edges, as in {first.name}, "
                    f"found {kinds[source.undirected]} ones"
                )
            unit = getattr(source, "time_unit", None)
            if unit != self.time_unit:
                raise error_of(
                    ValueError,
                    f"{source.name}: expected times of one unit, as in {first.name}, {self.time_unit}, found {unit}; "
                    "give ", Setting("time_unit"),
                )  # fmt: skip
            if source.num_nodes != self.num_nodes:
                raise ValueError(
                    f"{source.name}: expected {self.num_nodes} nodes, as in {first.name}, found {source.num_nodes}"
                )

    def batches(self, rows: int) -> Iterator[EdgeBatch]:
        """Read ``rows`` edges at a time; a batch does not reach over the end of a source."""
        for source in self._sources:
            yield from source.batches(rows)

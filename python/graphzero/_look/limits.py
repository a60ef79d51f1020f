"""How much may be read to describe a file: all of a small one, a sample of a large one."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Limits:
    """What is read at most; ``None`` reads everything.

    Attributes:
        nodes: Nodes whose degrees are read.
        items: Numbers of an attribute, of the weights or of the times.
        edges: The most edges of a graph whose ends are all compared.
        drawn_edges: How many edges of a larger graph are drawn for that.
        page_cache: Whether the kernel is asked what is in the page cache, which takes longer for larger files.
        types: The most kinds of node, and of edge, that are described.
    """

    nodes: int | None
    items: int | None
    edges: int | None
    drawn_edges: int
    page_cache: bool = True
    types: int | None = None

    def shared_by(self, count: int) -> Limits:
        """Return what may be read of each of ``count`` files, so that all of them together keep within the limits.

        Ends of edges are not among it: most data sets compare them in one graph.
        """

        def part(limit: int | None) -> int | None:
            return None if limit is None else max(512, limit // max(1, count))

        return replace(self, nodes=part(self.nodes), items=part(self.items))


# Offsets of 2^20 nodes are 8 MB, and so are 2^20 times. A drawn edge takes a few reads of a page each.
COMMAND = Limits(nodes=1 << 20, items=1 << 22, edges=1 << 22, drawn_edges=1 << 14)
EXACT = Limits(nodes=None, items=None, edges=None, drawn_edges=0)
# A cell that shows a data set must not make anybody wait: about a thousand pages from a disk.
NOTEBOOK = Limits(nodes=1 << 17, items=1 << 19, edges=1 << 17, drawn_edges=128, page_cache=False, types=20)

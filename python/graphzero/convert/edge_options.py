"""What a user asks of a graph that is converted, as the core takes it."""

from __future__ import annotations

from graphzero import _core
from graphzero._base.argument_errors import Setting, error_of, value_error
from graphzero._base.memory_sizes import byte_text
from graphzero.convert.edge_feeds import Feed
from graphzero.convert.text import is_chosen
from graphzero.graph import writer_options

_MEMORY_PER_THREAD = 32 << 20

# Beyond so many ids per edge the ids of an edge list are taken to be sparse.
_SPARSE = 64


def edge_options(
    feed: Feed,
    *,
    num_nodes: int | tuple[int, int] | None,
    index: str,
    directed: bool,
    bipartite: bool,
    duplicates: str,
    self_loops: str,
    edge_ids: bool,
    skip_bad_lines: bool,
) -> _core.EdgeConverterOptions:
    """Return the options of the core, less memory and folder; the feed says what its edges hold."""
    known = feed.num_nodes if num_nodes is None else num_nodes
    options = writer_options(known, index, directed and not feed.undirected)
    if bipartite and not options.bipartite:
        if known is not None:
            raise value_error("num_nodes", f"expected a pair for a bipartite graph, found {known}")
        options.bipartite = True
    options.weights, options.times, options.edge_ids = feed.has_weight, feed.has_time, edge_ids
    options.drop_duplicates = is_chosen(duplicates, "duplicates", "drop", "keep")
    options.drop_self_loops = is_chosen(self_loops, "self_loops", "drop", "keep")
    options.skip_bad_lines = skip_bad_lines
    return options


def threads_within(budget: int, threads: int | None) -> int:
    """Return how many threads may work: one fills some thousand blocks at once, for which the budget must have room."""
    return min(threads or _core.num_threads(), max(1, budget // _MEMORY_PER_THREAD))


def refuse_sparse_ids(largest_id: int, num_edges: int, name: str) -> None:
    """Refuse ids of which an index would have far more than there are edges, where nobody said how many there are."""
    if largest_id >= _SPARSE * (num_edges + 1024):
        raise error_of(
            ValueError,
            f"{name}: the largest id is {largest_id}, but there are only {num_edges} edges: the ids look sparse, "
            f"and an index over all of them would take {byte_text(8 * largest_id)}; give ",
            Setting("ids", "map"), " to number them, or ", Setting("num_nodes"), " if they are meant to be dense",
        )  # fmt: skip

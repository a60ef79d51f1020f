"""What a user asks of a graph that is converted, as the core takes it."""

from __future__ import annotations

from graphzero import _core
from graphzero._base.argument_errors import Setting, flag, value_error
from graphzero._base.integers import integer_from
from graphzero.convert.edge_feeds import Feed
from graphzero.convert.text import is_chosen
from graphzero.graph import refuse_sparse_ids, writer_options

_MEMORY_PER_THREAD = 32 << 20


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
    options = writer_options(known, index, flag(directed, "directed") and not feed.undirected)
    if flag(bipartite, "bipartite") and not options.bipartite:
        if known is not None:
            raise value_error("num_nodes", f"expected a pair for a bipartite graph, found {known}")
        options.bipartite = True
    options.weights, options.times = feed.has_weight, feed.has_time
    options.edge_ids = flag(edge_ids, "edge_ids")
    options.drop_duplicates = is_chosen(duplicates, "duplicates", "drop", "keep")
    options.drop_self_loops = is_chosen(self_loops, "self_loops", "drop", "keep")
    options.skip_bad_lines = skip_bad_lines
    return options


def threads_within(budget: int, threads: int | None) -> int:
    """Return how many threads may work: one fills some thousand blocks at once, for which the budget must have room."""
    wanted = _core.num_threads() if threads is None else integer_from(threads, 1, "threads")
    return min(wanted, max(1, budget // _MEMORY_PER_THREAD))


def refuse_unmapped_ids(largest_id: int, num_edges: int, name: str) -> None:
    """Refuse sparse ids of a source, which can be numbered instead."""
    refuse_sparse_ids(
        largest_id, num_edges, name,
        Setting("ids", "map"), " to number them, or ", Setting("num_nodes"), " if they are meant to be dense",
    )  # fmt: skip

"""The order in which a ``.gd`` file stores its rows: hottest first, so that those read most lie together."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

from graphzero import _core
from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.arrays import int64_vector
from graphzero._base.memory_sizes import byte_text, conversion_budget
from graphzero._files.folder import new_file
from graphzero._files.mounted import path_bytes
from graphzero._files.progress import Progress, watching
from graphzero._files.storage import target_here
from graphzero.graph import Direction, Graph, as_direction


def reorder(
    path: str | os.PathLike[str],
    out_path: str | os.PathLike[str],
    graph: Graph | None = None,
    *,
    direction: Direction = "in",
    memory: str | int | None = None,
    progress: Progress = False,
    order: Any = None,
) -> None:
    """Write a ``.gd`` file anew with its hottest rows first. The file appears whole or not at all.

    Ids do not change: the file keeps a map by which [`gather`][graphzero.FeatureStore.gather] and
    [`get_data`][graphzero.FeatureStore.get_data] find rows. A row is hot if its node is in many lists of ``graph``,
    that is, if a sampler can meet it often; ties go by id. A file that fits in ``memory`` is read and written once. A
    larger one goes through a temporary file of its size beside the output, and is read and written twice.

    Args:
        path: The file to read.
        out_path: The file to write; may be ``path``.
        graph: The graph that says which rows are hot. Give this or ``order``.
        direction: That of the sampling to come, as in [`sample_neighbors`][graphzero.sample_neighbors].
        memory: Bytes to hold, a number or a size such as ``"2GB"``. Default: half of what is available, at most 8 GB.
        progress: ``True`` shows bars, a function is called, as in [`convert_edges`][graphzero.convert_edges].
        order: All ids, hottest first, instead of a ``graph``.

    Raises:
        ValueError: Not one of ``graph`` and ``order`` is given, or ``memory`` is too small.

    Examples:
        >>> reorder(tiny_gd, "hot.gd", Graph(tiny_gl))  # 0→1 0→2 1→2 3→0: node 0 sends most
        >>> from graphzero import FeatureStore
        >>> FeatureStore("hot.gd").row_map
        array([0, 1, 3, 2], dtype=int32)
    """
    if (graph is None) == (order is None):
        raise ValueError("expected a graph or an order=, and not both")
    target = target_here(out_path)
    source = _core.FeatureReorderer(path_bytes(path))
    budget = conversion_budget(memory)
    # Counts and places while the order is made; a file that has an order needs that one beside the new one.
    kept = 2 * source.num_rows * (4 if source.num_rows <= 2**31 else 8)
    least = source.least_memory + kept
    if budget < least:
        raise value_error(
            "memory",
            f"expected at least {byte_text(least)} to order {source.num_rows:,} rows, found {byte_text(budget)}",
        )
    wanted = "hot" if order is None else order
    with watching(progress, "counting how often each row is met", None, "edges", lambda: 0):
        places = row_places(wanted, graph, source.num_rows, os.fsdecode(path), direction=direction)
    folder = os.path.dirname(os.path.abspath(target))
    total = source.total(budget - kept)
    with (
        new_file(target) if callable(progress) else nullcontext(target) as new_path,
        watching(progress, "ordering rows", total, "bytes", source.done),
    ):
        source.write(path_bytes(new_path), places, budget - kept, path_bytes(folder))


def row_places(
    order: Any, graph: Graph | None, num_rows: int, name: str, *, direction: Direction = "in"
) -> _core.RowPlaces:
    """Return the place of each of the ``num_rows`` rows of ``name``, in the order a user asked for."""
    check_order(order, graph)
    if not isinstance(order, str):
        return _core.RowPlaces.in_order(int64_vector(order, "order"), num_rows)
    assert graph is not None
    side = as_direction(direction)
    kind, count = ("source", graph.num_src_nodes) if direction == "in" else ("destination", graph.num_dst_nodes)
    if count != num_rows:
        raise ValueError(
            f"{name}: expected {count} rows, one per {kind} node of {graph.path}, found {num_rows}; rows that are no "
            "such nodes take an order= of their own",
        )
    return _core.RowPlaces.hottest_first(_core.neighbor_counts(graph._core, side))


def check_order(order: Any, graph: Graph | None) -> None:
    """Refuse, before any work, arguments that do not name an order. ``None`` for both is none."""
    if isinstance(order, str) and order != "hot":
        raise value_error("order", f"expected 'hot' or all ids, hottest first, found {order!r}")
    by_graph = isinstance(order, str)
    if by_graph and graph is None:
        raise value_error("order", "expected graph= beside 'hot', to see which rows are, found none")
    if graph is not None and not by_graph:
        raise value_error("graph", "expected order='hot' beside it, found another order or none")
    if graph is not None and not isinstance(graph, Graph):
        raise type_error("graph", f"expected a Graph, found {type(graph).__name__}")

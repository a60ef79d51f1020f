"""How labels are distributed over nodes, and how often an edge joins nodes with the same label."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphzero._base.arrays import check_stored_ids
from graphzero._files.progress import watching
from graphzero._look.limits import Limits
from graphzero._look.places import BLOCK, places
from graphzero._look.values import sampled_rows

if TYPE_CHECKING:
    from graphzero.dataset import NodeType
    from graphzero.features import FeatureStore
    from graphzero.graph import Graph

Ends: TypeAlias = tuple[NDArray[Any], NDArray[Any]]

# More different numbers than this are not classes.
_MOST_CLASSES = 1 << 16

# As many as take long enough to compare for a bar.
_SLOW_EDGES = 1 << 24

# The seed of the edges that are drawn: the same file shows the same number every time.
SEED = 0


def has_classes(store: FeatureStore) -> bool:
    """Return whether a file holds one whole number per node, as classes are stored."""
    return store.feature_dim == 1 and store.dtype in ("int8", "int16", "int32", "int64", "uint8", "bool")


def label_facts(node: NodeType, limits: Limits) -> dict[str, Any] | None:
    """Count the nodes of each class; ``None`` if there is no label in a file, or it is not one class per node."""
    store = None if node.label is None else node.attributes.get(node.label)
    if store is None or not has_classes(store):
        return None
    blocks, sampled = sampled_rows(store, limits.items)
    counts: Counter[int] = Counter()
    rows = 0
    for block in blocks:
        values, numbers = np.unique(block.reshape(-1), return_counts=True)
        counts.update(dict(zip(values.astype(np.int64).tolist(), numbers.tolist(), strict=True)))
        rows += len(block)
        if len(counts) > _MOST_CLASSES:
            return None
    names = node.class_names or []
    known = range(node.num_classes) if node.num_classes is not None and node.num_classes <= _MOST_CLASSES else ()
    classes = sorted({number for number in counts if number >= 0} | set(known))
    return {
        "num_rows": rows,
        "sampled": sampled,
        "num_unlabelled": sum(count for number, count in counts.items() if number < 0),
        "classes": [
            {"class": number, "name": names[number] if number < len(names) else None, "num_nodes": counts[number]}
            for number in classes
        ],
    }


def homophily_facts(graph: Graph, labels: FeatureStore, limits: Limits) -> dict[str, Any] | None:
    """Return the share of edges between nodes of the same label, of those edges whose ends are both labelled.

    All edges count if there are at most ``limits.edges``, else ``limits.drawn_edges`` that are drawn.
    """
    if not has_classes(labels) or not graph.num_edges:
        return None
    drawn = limits.edges is not None and graph.num_edges > limits.edges
    same = compared = read = 0
    slow = not drawn and graph.num_edges > _SLOW_EDGES and sys.stderr.isatty()
    with watching(slow, "comparing labels", graph.num_edges, "edges", lambda: read):
        for ends in [_drawn(graph, limits.drawn_edges)] if drawn else _blocks(graph):
            one, other = (_labels_of(labels, ids, graph.path) for ids in ends)
            known = (one >= 0) & (other >= 0)
            same, compared = same + int(np.count_nonzero(known & (one == other))), compared + int(known.sum())
            read += len(one)
    value = same / compared if compared else None
    return {
        "value": value,
        "standard_error": math.sqrt(value * (1 - value) / compared) if drawn and value is not None else None,
        "num_edges": compared,
        "num_read": read,
        "sampled": drawn,
        "seed": SEED if drawn else None,
    }


def _labels_of(labels: FeatureStore, ids: NDArray[Any], path: str) -> NDArray[Any]:
    check_stored_ids(ids, labels.num_rows, path)
    places_of = labels.row_map
    if places_of is not None:
        ids = places_of[ids]
        check_stored_ids(ids, labels.num_rows, labels.path)
    found: NDArray[Any] = labels.get_tensor(writable=False, order="stored").reshape(-1)[ids]
    return found.astype(np.int8) if found.dtype == np.bool_ else found


def _blocks(graph: Graph) -> Iterator[Ends]:
    """Yield the ends of all edges, about a million at a time however long one node's list is."""
    index = graph.index(graph.indexes[0])
    for edges in places(graph.num_edges, None, block=BLOCK):
        yield _owners(index.indptr, edges), index.indices[edges[0] : edges[-1] + 1]


def _drawn(graph: Graph, count: int) -> Ends:
    index = graph.index(graph.indexes[0])
    edges = np.sort(np.random.default_rng(SEED).integers(0, graph.num_edges, count))
    return _owners(index.indptr, edges), index.indices[edges]


def _owners(indptr: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return whose list each entry is in. A damaged file may give any number, which is checked where it is used."""
    return np.searchsorted(indptr, edges, side="right") - 1

"""Facts about a graph, a feature file or an id dictionary, as JSON has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphzero._look.degrees import all_degree_facts
from graphzero._look.limits import Limits
from graphzero._look.values import missing_facts, range_facts

if TYPE_CHECKING:
    from graphzero._dataset.feature_share import FeatureShare
    from graphzero._files.mounted import Mounted
    from graphzero.features import FeatureStore
    from graphzero.graph import Graph
    from graphzero.ids import IdDictionary

_EXAMPLES = 3


def _file_facts(kind: str, store: Mounted[Any], limits: Limits) -> dict[str, Any]:
    return {
        "kind": kind,
        "path": store.path,
        "format": store.format,
        "size": store.nbytes,
        "resident": store.resident_bytes() if limits.page_cache else None,
        "fingerprint": f"{store.fingerprint:#018x}",
    }


def features_facts(store: FeatureStore, limits: Limits) -> dict[str, Any]:
    """Gather facts about a feature file, and how many of its numbers are missing."""
    # What follows reads the file, so the page cache is asked first.
    return _file_facts("features", store, limits) | {
        "shape": list(store.shape),
        "dtype": store.dtype,
        "row_bytes": store.row_bytes,
        "reordered": store.reordered,
        "missing": missing_facts(store, limits.items),
    }


def share_facts(share: FeatureShare, limits: Limits) -> dict[str, Any]:
    """Gather facts about a host's share of an attribute; what is missing, among the rows of its range."""
    facts = features_facts(share.own, limits)
    return facts | {
        "shape": list(share.shape),
        "size": share.nbytes,
        "share": {
            "host": share.record.host,
            "hosts": share.num_hosts,
            "num_rows": share.own.num_rows,
            "num_hot_rows": 0 if share.hot is None else share.hot.num_rows,
            "whole": f"{share.record.whole:#018x}",
        },
    }


def ids_facts(ids: IdDictionary, limits: Limits) -> dict[str, Any]:
    """Gather facts about an id dictionary, and its first labels."""
    return _file_facts("ids", ids, limits) | {
        "num_labels": len(ids),
        "label_kind": ids.kind,
        "examples": ids.labels(range(min(_EXAMPLES, len(ids)))).tolist(),
    }


def graph_facts(graph: Graph, limits: Limits) -> dict[str, Any]:
    """Gather facts about a graph, its degrees, and the range of its weights and times."""
    return _file_facts("graph", graph, limits) | {
        "num_src_nodes": graph.num_src_nodes,
        "num_dst_nodes": graph.num_dst_nodes,
        "num_edges": graph.num_edges,
        "num_input_edges": graph.num_input_edges,
        "directed": graph.directed,
        "bipartite": graph.bipartite,
        "indexes": list(graph.indexes),
        "id_dtype": str(graph.id_dtype),
        "sorted": graph.is_sorted,
        "weights": graph.has_weights,
        "times": graph.has_times,
        "weight_range": range_facts(graph, "weights", limits.items),
        "time_range": range_facts(graph, "times", limits.items),
        "degrees": all_degree_facts(graph, limits.nodes),
    }

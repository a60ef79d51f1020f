"""Facts about a data set and each of its files, as JSON has them."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from graphzero._files.manifest_records import NEWEST_VERSION, VERSION
from graphzero._look.degrees import isolated_facts
from graphzero._look.file_facts import features_facts, graph_facts, ids_facts, share_facts
from graphzero._look.labels import homophily_facts, label_facts
from graphzero._look.limits import Limits
from graphzero._look.values import dates

if TYPE_CHECKING:
    from graphzero._dataset.feature_share import FeatureShare
    from graphzero.dataset import Dataset, EdgeType, NodeType
    from graphzero.features import FeatureStore
    from graphzero.graph import Direction, Graph


def dataset_facts(ds: Dataset, limits: Limits) -> dict[str, Any]:
    """Gather facts about a data set and each of its files, of which a sample is read if they are large."""
    files = [
        {
            "path": os.path.relpath(store.path, ds.path),
            "size": store.nbytes,
            # Asked first, for the rest reads the files.
            "resident": store.resident_bytes() if limits.page_cache else None,
        }
        for store in ds.stores()
    ]
    resident = [file["resident"] for file in files]
    # A notebook shows all files in a moment, so they share its limits; a command may take longer for more.
    each = limits.shared_by(len(files)) if limits.types is not None else limits
    return {
        "kind": "dataset",
        "path": ds.path,
        "format": str(NEWEST_VERSION if any(map(_has_share, ds.nodes.values())) else VERSION),
        "size": ds.nbytes,
        "resident": None if None in resident else sum(resident),
        "fingerprint": f"{ds._fingerprint:#018x}",
        "nodes": [_node_facts(ds, node, each) for node in islice(ds.nodes.values(), limits.types)],
        "edges": [_edge_facts(ds, edge, each) for edge in islice(ds.edges.values(), limits.types)],
        "splits": [
            {
                "name": name,
                "of": of if isinstance(of, str) else list(of),
                "num_ids": len(ids),
                "share": len(ids) / total if (total := _total(ds, of)) else None,
            }
            for (name, of), ids in ds._splits.items()
        ],
        "files": files,
        "metadata": dict(ds.metadata),
    }


def _total(ds: Dataset, of: Any) -> int:
    return ds.nodes[of].num_nodes if isinstance(of, str) else ds.edges[of].graph.num_input_edges


def _node_facts(ds: Dataset, node: NodeType, limits: Limits) -> dict[str, Any]:
    return {
        "type": node.name,
        "num_nodes": node.num_nodes,
        "label": node.label,
        "num_classes": node.num_classes,
        "attributes": _attributes(node, limits),
        "in_memory": list(node.in_memory),
        "ids": None if node.ids is None else ids_facts(node.ids, limits),
        "labels": label_facts(node, limits),
        "isolated": isolated_facts(node.num_nodes, _sides(ds, node.name), limits.nodes) if ds.edges else None,
    }


def _sides(ds: Dataset, node_type: str) -> list[tuple[Graph, Direction]]:
    """Return in which graphs, and on which side of them, the nodes of a type may have edges."""
    sides: list[tuple[Graph, Direction]] = []
    for (source, _, destination), edge in ds.edges.items():
        sides += [(edge.graph, "out")] if source == node_type else []
        sides += [(edge.graph, "in")] if destination == node_type else []
    return sides


def _edge_facts(ds: Dataset, edge: EdgeType, limits: Limits) -> dict[str, Any]:
    graph = graph_facts(edge.graph, limits)
    source, _, destination = edge.name
    ends = ds.nodes[source]
    labels = ends.attributes.get(ends.label) if source == destination and ends.label is not None else None
    return {
        "type": list(edge.name),
        "graph": graph,
        "attributes": _attributes(edge, limits),
        "in_memory": list(edge.in_memory),
        "time_unit": edge.time_unit,
        "dates": dates(graph["time_range"], edge.time_unit),
        "homophily": None if labels is None else homophily_facts(edge.graph, labels, limits),
    }


def _attributes(kind: NodeType | EdgeType, limits: Limits) -> dict[str, Any]:
    return {
        name: _of_attribute(store, limits) | {"categories": kind.categories.get(name)}
        for name, store in kind.attributes.items()
    }


def _has_share(kind: NodeType) -> bool:
    return any(hasattr(store, "record") for store in kind.attributes.values())


def _of_attribute(store: FeatureStore, limits: Limits) -> dict[str, Any]:
    if not hasattr(store, "record"):
        return features_facts(store, limits)
    return share_facts(cast("FeatureShare", store), limits)

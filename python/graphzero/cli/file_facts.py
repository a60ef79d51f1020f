"""Facts about a file or a data set, as JSON and in words."""

from __future__ import annotations

import os
from typing import Any

import graphzero as gz
from graphzero._base.memory_sizes import byte_text
from graphzero._files.manifest import VERSION, read_manifest
from graphzero._files.mounted import Mounted
from graphzero.cli.degrees import CHEAP_NODES, degree_facts, degree_rows


def _file_facts(kind: str, store: Mounted[Any]) -> dict[str, Any]:
    return {
        "kind": kind,
        "path": store.path,
        "format": store.format,
        "size": store.nbytes,
        "resident": store.resident_bytes(),
        "fingerprint": f"{store.fingerprint:#018x}",
    }


def features_facts(store: gz.FeatureStore) -> dict[str, Any]:
    """Gather facts about a feature file without reading its rows."""
    return _file_facts("features", store) | {
        "shape": list(store.shape),
        "dtype": store.dtype,
        "row_bytes": store.row_bytes,
        "reordered": store.reordered,
    }


def ids_facts(ids: gz.IdDictionary) -> dict[str, Any]:
    """Gather facts about an id dictionary without reading its labels."""
    return _file_facts("ids", ids) | {"num_labels": len(ids), "label_kind": ids.kind}


def graph_facts(graph: gz.Graph, scan: bool) -> dict[str, Any]:
    """Gather facts about a graph without reading its edges, and its degrees: all if ``scan`` or if there are few."""
    # What follows reads the file, so the page cache is asked first.
    return _file_facts("graph", graph) | {
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
        "degrees": _degrees(graph, None if scan else CHEAP_NODES),
    }


def _degrees(graph: gz.Graph, most: int | None) -> dict[str, Any]:
    if not graph.directed:  # one index serves both directions
        return dict.fromkeys(graph.indexes, degree_facts(graph, graph.indexes[0], most))
    return {direction: degree_facts(graph, direction, most) for direction in graph.indexes}


def dataset_facts(folder: str, scan: bool) -> dict[str, Any]:
    """Gather facts about a data set and each of its files."""
    manifest, fingerprint = read_manifest(folder)
    with gz.open(folder) as ds:
        files = ds.memory_report().files
        resident = [file.resident for file in files]
        return {
            "kind": "dataset",
            "path": folder,
            "format": str(VERSION),
            "size": ds.nbytes,
            "resident": None if None in resident else sum(count or 0 for count in resident),
            "fingerprint": f"{fingerprint:#018x}",
            "nodes": [
                {
                    "type": node.name,
                    "num_nodes": node.num_nodes,
                    "label": node.label,
                    "num_classes": node.num_classes,
                    "attributes": {name: features_facts(store) for name, store in node.attributes.items()},
                    "ids": None if node.ids is None else ids_facts(node.ids),
                }
                for node in ds.nodes.values()
            ],
            "edges": [
                {
                    "type": list(edge.name),
                    "graph": graph_facts(edge.graph, scan),
                    "attributes": {name: features_facts(store) for name, store in edge.attributes.items()},
                }
                for edge in ds.edges.values()
            ],
            "splits": [
                {
                    "name": split.name,
                    "of": split.of if isinstance(split.of, str) else list(split.of),
                    "num_ids": len(ds.split(split.name, of=split.of)),
                }
                for split in manifest.splits
            ],
            "files": [
                {"path": os.path.relpath(file.path, folder), "size": file.size, "resident": file.resident}
                for file in files
            ],
            "metadata": dict(ds.metadata),
        }


def _cached_text(facts: dict[str, Any]) -> str:
    resident = "unknown" if facts["resident"] is None else byte_text(facts["resident"])
    return f"{resident} of {byte_text(facts['size'])}"


def _file_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        ("size", byte_text(facts["size"])),
        ("in page cache", _cached_text(facts)),
        *(("", f"{_cached_text(file)}, {file['path']}") for file in facts.get("files", [])),
        ("fingerprint", facts["fingerprint"]),
    ]


def _array_text(facts: dict[str, Any]) -> str:
    return " × ".join([*(f"{extent:,}" for extent in facts["shape"][1:]), facts["dtype"]])


def features_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Put what ``features_facts()`` gathered in words."""
    return [
        ("holds", f"features, format {facts['format']}"),
        ("rows", f"{facts['shape'][0]:,}" + (", hottest first" if facts["reordered"] else "")),
        ("a row", f"{_array_text(facts)}, {byte_text(facts['row_bytes'])}"),
        *_file_rows(facts),
    ]


def ids_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Put what ``ids_facts()`` gathered in words."""
    return [
        ("holds", f"id dictionary, format {facts['format']}"),
        ("labels", f"{facts['num_labels']:,}, {facts['label_kind']}"),
        *_file_rows(facts),
    ]


def _symmetry_text(facts: dict[str, Any]) -> str:
    return "directed" if facts["directed"] else "undirected, each stored both ways"


def _degree_rows(facts: dict[str, Any], *, plot: bool = True) -> list[tuple[str, str]]:
    if not facts["directed"]:
        return degree_rows("degree", facts["degrees"]["out"], plot=plot)
    return [
        row
        for direction, degrees in facts["degrees"].items()
        for row in degree_rows(f"{direction}-degree", degrees, plot=plot)
    ]


def graph_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Put what ``graph_facts()`` gathered in words."""
    nodes = f"{facts['num_src_nodes']:,}"
    if facts["bipartite"]:
        nodes += f" → {facts['num_dst_nodes']:,}"
    extras = [name for name in ("weights", "times") if facts[name]]
    return [
        ("holds", f"graph, format {facts['format']}"),
        ("nodes", nodes),
        ("edges", f"{facts['num_edges']:,}, {_symmetry_text(facts)}"),
        ("indexes", ", ".join(facts["indexes"])),
        ("ids", facts["id_dtype"] + ("" if facts["sorted"] else ", lists not in order")),
        ("edge data", ", ".join(extras) or "none"),
        *_degree_rows(facts),
        *_file_rows(facts),
    ]


def dataset_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Put what ``dataset_facts()`` gathered in words. Degrees are drawn if there is one type of edges."""
    rows = [("holds", f"data set, format {facts['format']}")]
    for node in facts["nodes"]:
        classes = f" of {node['num_classes']} classes" if node["num_classes"] is not None else ""
        label = f", label {node['label']}{classes}" if node["label"] is not None else ""
        rows.append((node["type"], f"{node['num_nodes']:,} nodes{label}"))
        rows += [(f"  {name}", _array_text(array)) for name, array in node["attributes"].items()]
        if node["ids"] is not None:
            rows.append(("  ids", f"{node['ids']['label_kind']} labels"))
    for edge in facts["edges"]:
        graph = edge["graph"]
        rows.append((" → ".join(edge["type"]), f"{graph['num_edges']:,} edges, {_symmetry_text(graph)}"))
        rows += [(f"  {name}", text) for name, text in _degree_rows(graph, plot=len(facts["edges"]) == 1)]
        rows += [(f"  {name}", _array_text(array)) for name, array in edge["attributes"].items()]
    for split in facts["splits"]:
        kind = split["of"] if isinstance(split["of"], str) else " → ".join(split["of"])
        rows.append((f"split {split['name']}", f"{split['num_ids']:,} ids of {kind}"))
    return rows + _file_rows(facts)

"""Facts about a data set in object storage: those of its manifest, and counts of edges from the headers of graphs."""

from __future__ import annotations

from typing import Any

from graphzero._files.manifest_records import FileRecord, Manifest, PartsRecord
from graphzero._files.storage import StoredPath, facts_of, read_range
from graphzero._files.stored_manifest import stored_manifest

# Of the first bytes of a graph: docs/formats/gl.md.
_NUM_EDGES = slice(80, 88)


def stored_facts(place: StoredPath) -> dict[str, Any]:
    """Gather facts about a data set. Of its files, sizes are asked for, and the first bytes of graphs are read."""
    _, manifest, fingerprint = stored_manifest(place)
    files = list(dict.fromkeys(record.file for record in manifest.stored_files()))
    sizes = [int(facts.size) for facts in facts_of([place / file for file in files])]
    return {
        "kind": "dataset",
        "path": str(place),
        "format": str(manifest.version),
        "size": sum(sizes),
        "fingerprint": f"{fingerprint:#018x}",
        "nodes": [
            {
                "type": kind,
                "num_nodes": node.num_nodes,
                "label": node.label,
                "num_classes": node.num_classes,
                "attributes": list(node.attributes),
                "ids": node.ids is not None,
            }
            for kind, node in manifest.nodes.items()
        ],
        "edges": [
            {
                "type": list(triple),
                "num_edges": _num_edges(place, edge.graph),
                "attributes": list(edge.attributes),
                "weight": edge.weight,
                "time": edge.time,
            }
            for triple, edge in manifest.edges.items()
        ],
        "splits": [
            {"name": split.name, "of": split.of if isinstance(split.of, str) else list(split.of)}
            for split in manifest.splits
        ],
        "files": [{"path": file, "size": size} for file, size in zip(files, sizes, strict=True)],
        **_parts(manifest),
        "metadata": manifest.metadata,
    }


def _parts(manifest: Manifest) -> dict[str, Any]:
    """Return which files are stored in parts, if any are."""
    found = [{"path": record.file, "num_parts": len(record.parts)} for record in manifest.parts()]
    return {"parts": found} if found else {}


def _num_edges(place: StoredPath, graph: FileRecord) -> int | None:
    """Return the entries of an index; ``None`` for a file of GraphZero 0.2."""
    if isinstance(graph, PartsRecord):
        return sum(part.edges or 0 for part in graph.parts if part.index == graph.parts[0].index)
    header = read_range(place / graph.file, 0, _NUM_EDGES.stop)
    return int.from_bytes(header[_NUM_EDGES], "little") if header.startswith(b"GRAPHZ") else None

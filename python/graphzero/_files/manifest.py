"""``graphzero.json``, the file that makes a folder a data set. docs/formats/dataset.md specifies it."""

from __future__ import annotations

import errno
import json
import math
import os
from typing import Any

from graphzero._core import FormatError
from graphzero._files.folder import check_regular
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.manifest_reader import ManifestReader
from graphzero._files.manifest_records import (
    FORMAT,
    HOT_PARTS,
    FileRecord,
    Manifest,
    OtherRecords,
    Part,
    PartsRecord,
    ShareRecord,
)
from graphzero._files.storage import path_here

_DEEPEST = 100  # levels of JSON
LARGEST_MANIFEST = 16 << 20  # bytes: a hostile folder must not make us read without end


def read_manifest(folder: str) -> tuple[Manifest, int]:
    """Read and check the manifest of ``folder``, whose files must be whole; also return the data set's fingerprint."""
    path = os.path.join(path_here(folder), MANIFEST)
    if os.path.isdir(folder) and not os.path.exists(path):
        raise FileNotFoundError(
            errno.ENOENT, f"has no {MANIFEST}: it is not a data set, or its conversion did not finish", folder
        )
    if os.path.isfile(folder):
        raise NotADirectoryError(
            errno.ENOTDIR, "is a file, expected a data set folder; use Graph or FeatureStore for one", folder
        )
    check_regular(path)
    with open(path, "rb") as file:
        text = file.read(LARGEST_MANIFEST + 1)
    manifest, fingerprint = parsed_manifest(text, path)
    for record in manifest.parts():
        raise FormatError(
            f"{path}: expected ordinary files, found {record.file} in {len(record.parts)} parts, which cannot be "
            f"mapped; put them together with gz.stage({folder!r}, folder), or graphzero stage"
        )
    return manifest, fingerprint


def parsed_manifest(text: bytes, path: str) -> tuple[Manifest, int]:
    """Check the text of a manifest, which is that of ``path``; also return the fingerprint of the data set."""
    if len(text) > LARGEST_MANIFEST:
        raise FormatError(f"{path}: expected at most {LARGEST_MANIFEST} bytes, found more")
    try:
        document = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: expected JSON, found {error}") from None
    if _is_deep(document):
        raise FormatError(f"{path}: expected JSON of at most {_DEEPEST} levels, found more")
    if (not text.isascii() or b"\\u" in text) and not _is_text(document):
        raise FormatError(f"{path}: expected JSON of text, found half of a surrogate pair")
    return ManifestReader(path).manifest(document), _fingerprint(document)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name}, which is no number of JSON")


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:40]}, which is too large")
    return value


def check_json(value: Any, name: str) -> None:
    """Refuse what a manifest cannot keep."""
    try:
        json.dumps(value, allow_nan=False)
        if not _is_deep(value):
            return
    except (TypeError, ValueError, RecursionError):
        pass
    raise TypeError(f"{name}: expected a tensor or a JSON value, found {type(value).__name__}")


def _is_deep(value: Any) -> bool:
    """Whether there are more levels than can be traversed and written again."""
    level = [value]
    for _ in range(_DEEPEST):
        parts = [part for part in level if isinstance(part, (dict, list, tuple))]
        level = [item for part in parts for item in (part.values() if isinstance(part, dict) else part)]
        if not level:
            return False
    return True


def _is_text(document: Any) -> bool:
    """Whether all names and words can be written again: JSON can spell lone surrogates, which cannot be printed."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _fingerprint(document: Any) -> int:
    """Join the fingerprints of all files and everything else the manifest says."""
    import hashlib

    canonical = json.dumps(document, sort_keys=True).encode()
    return int.from_bytes(hashlib.blake2b(canonical, digest_size=8).digest(), "little")


def write_manifest(path: str, manifest: Manifest) -> None:
    """Write the manifest, last of all files, and make it durable."""
    text = manifest_text(manifest)
    with open(path, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def manifest_text(manifest: Manifest) -> bytes:
    """Return a manifest as it is written."""

    def record(file: FileRecord) -> dict[str, Any]:
        known = {"fingerprint": f"{file.fingerprint:#018x}"}
        if isinstance(file, PartsRecord):
            whole = known if file.fingerprint else {}
            return {"file": file.file, **whole, "parts": [part_document(part) for part in file.parts]}
        if not isinstance(file, ShareRecord):
            return {"file": file.file, **known}
        hot = {} if file.hot is None else {"hot": dict(zip(HOT_PARTS, map(record, file.hot), strict=True))}
        where = {"host": file.host, "ranges": file.ranges}
        return {"share": {**where, "file": file.file, **known, **hot, "whole": f"{file.whole:#018x}"}}

    def part_document(part: Part) -> dict[str, Any]:
        return {
            "file": part.file,
            **_unless_none(index=part.index),
            "begin": part.begin,
            "end": part.end,
            **_unless_none(edges=part.edges),
            "fingerprint": f"{part.fingerprint:#018x}",
            "seal": f"{part.seal:#018x}",
        }

    def records(attributes: dict[str, FileRecord]) -> dict[str, Any]:
        return {name: record(file) for name, file in attributes.items()}

    def others(other: OtherRecords) -> dict[str, Any]:
        documents = {
            name: record(entry)
            if isinstance(entry, FileRecord)
            else {"value": entry.value, **_unless_none(dtype=entry.dtype)}
            for name, entry in other.items()
        }
        return {"other": documents} if documents else {}

    document = {
        "format": FORMAT,
        "version": manifest.version,
        **({"hetero": True} if manifest.hetero else {}),
        "nodes": {
            name: {
                "num_nodes": node.num_nodes,
                "attributes": records(node.attributes),
                **_unless_none(label=node.label, num_classes=node.num_classes),
                **({"ids": record(node.ids)} if node.ids is not None else {}),
                **_unless_none(categories=node.categories or None),
                **others(node.other),
            }
            for name, node in manifest.nodes.items()
        },
        "edges": [
            {
                "type": list(triple),
                "graph": record(edge.graph),
                "attributes": records(edge.attributes),
                **_unless_none(weight=edge.weight, time=edge.time, time_unit=edge.time_unit),
                **_unless_none(categories=edge.categories or None),
                **others(edge.other),
            }
            for triple, edge in manifest.edges.items()
        ],
        "splits": [
            {
                "name": split.name,
                "of": split.of if isinstance(split.of, str) else list(split.of),
                "ids": record(split.ids),
            }
            for split in manifest.splits
        ],
        "metadata": manifest.metadata,
        **others(manifest.other),
    }
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    if len(text) > LARGEST_MANIFEST:
        raise ValueError(
            f"{MANIFEST}: expected at most {LARGEST_MANIFEST} bytes, found {len(text)}: names of categories, metadata "
            "and types must fit there; leave some out"
        )
    return text


def _unless_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}

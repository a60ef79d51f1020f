"""Files that are stored in parts, put together on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from graphzero import _core
from graphzero._core import FormatError
from graphzero._dataset.feature_parts import join_parts
from graphzero._files.file_header import is_done
from graphzero._files.folder import KeptFolder, free_space
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.manifest_records import INDEXES, FileRecord, Manifest, Part, PartsRecord
from graphzero._files.mounted import path_bytes
from graphzero._files.part_header import HEADER_BYTES, part_header
from graphzero._files.storage import StoredPath
from graphzero.graph import Graph

# The ending of a file that says which parts another was put together from.
JOINED = ".joined"


def _identity_of(record: PartsRecord) -> str:
    import hashlib  # slow to load

    return hashlib.sha256(repr(record.parts).encode()).hexdigest()


def joined_before(path: str, record: PartsRecord) -> FileRecord | None:
    """Return the record of a file that an earlier run has put together from the same parts."""
    try:
        with open(path + JOINED, encoding="utf-8") as file:
            identity, fingerprint = file.read().split()
        whole = FileRecord(record.file, int(fingerprint, 16))
    except (FileNotFoundError, ValueError):
        return None
    return whole if identity == _identity_of(record) and is_done(path, whole) else None


def room_to_join(manifest: Manifest, joined: Mapping[str, FileRecord], objects: Mapping[str, Any]) -> int:
    """Return how much more than the files themselves the disk must hold for a while."""
    needed = 0
    for record in manifest.parts():
        if record.file not in joined:
            sizes = [objects[part.file].size if part.file in objects else 0 for part in record.parts]
            # Parts of rows can be removed one by one.
            needed = max(needed, sum(sizes) if record.parts[0].index else max(sizes))
    return needed


def join(new: KeptFolder, record: PartsRecord, place: StoredPath) -> FileRecord:
    """Make one file of its parts, which are on disk, and remove them."""
    target = new.file(record.file)
    paths = {part.file: new.file(part.file) for part in record.parts}
    try:
        if record.parts[0].index is not None:
            out_parts, in_parts = (
                [path_bytes(paths[part.file]) for part in record.parts if part.index == index] for index in INDEXES
            )
            for part in record.parts:
                _check_range(paths[part.file], part)
            _core.assemble_graph(out_parts, in_parts, path_bytes(target))
            with Graph(target) as graph:
                fingerprint = graph.fingerprint
        else:
            short = free_space(target) < sum(map(os.path.getsize, paths.values()))
            fingerprint = join_parts(
                list(paths.values()), record.parts, target, done=os.remove if short else lambda _: None
            )
    except FormatError as error:
        _remove_all(paths.values())
        raise FormatError(
            f"{place / record.file}: its parts: {error}; stage again, and push or convert the data set again if that "
            "does not help"
        ) from None
    if record.fingerprint not in (0, fingerprint):
        _remove_all([target, *paths.values()])
        raise FormatError(
            f"{place / record.file}: expected the fingerprint {record.fingerprint:#018x} of {MANIFEST} when its parts "
            f"are put together, found {fingerprint:#018x}; push the data set again"
        )
    with open(target + JOINED, "w", encoding="utf-8") as file:
        file.write(f"{_identity_of(record)} {fingerprint:#018x}")
        file.flush()
        os.fsync(file.fileno())
    _remove_all(paths.values())
    return FileRecord(record.file, fingerprint)


def _check_range(path: str, part: Part) -> None:
    with open(path, "rb") as file:
        found = part_header(file.read(HEADER_BYTES))
    if (found.begin, found.end, found.edges) != (part.begin, part.end, part.edges):
        raise FormatError(
            f"{path}: expected the nodes {part.begin} to {part.end} of {part.index}, with {part.edges} edges, found "
            f"{found.begin} to {found.end} with {found.edges}"
        )


def _remove_all(paths: Iterable[str]) -> None:
    for path in paths:
        with suppress(FileNotFoundError):
            os.remove(path)

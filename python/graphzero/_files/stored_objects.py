"""Files of a data set in object storage: size and time of each, once it is known to be that of the manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphzero._core import FormatError
from graphzero._files.file_header import HEADER_SIZE, fingerprint_of, size_in
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.manifest_records import FileRecord
from graphzero._files.storage import StoredPath, facts_of, read_range


def objects_of(files: Iterable[str], place: StoredPath) -> dict[str, Any]:
    """Return size and time of each file."""
    names = list(files)
    return dict(zip(names, facts_of([place / file for file in names]), strict=True))


def checked_objects(records: Mapping[str, FileRecord], place: StoredPath) -> dict[str, Any]:
    """Return size and time of each file, and refuse one that is not that of the manifest."""
    objects = objects_of(records, place)
    for file, facts in objects.items():
        check_object(place / file, records[file], facts, read_range(place / file, 0, HEADER_SIZE))
    return objects


def check_object(path: StoredPath, record: FileRecord, facts: Any, header: bytes) -> None:
    """Refuse an object whose first bytes, ``header``, are not those of the manifest's file, or whose size is not."""
    found = fingerprint_of(header)
    if found is None:
        return
    if found != record.fingerprint:
        raise FormatError(
            f"{path}: expected the fingerprint {record.fingerprint:#018x} of {MANIFEST}, found {found:#018x}: this is "
            "another file; push the data set again"
        )
    size = size_in(header)
    if size != facts.size:
        raise FormatError(
            f"{path}: expected {size} bytes, as its header says, found {facts.size}; push the data set again"
        )

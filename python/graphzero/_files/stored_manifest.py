"""The manifest of a data set in object storage."""

from __future__ import annotations

import errno

from graphzero._files.manifest import LARGEST_MANIFEST, parsed_manifest
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.manifest_records import Manifest
from graphzero._files.storage import StoredPath, read_range


def stored_manifest(place: StoredPath) -> tuple[bytes, Manifest, int]:
    """Return a manifest as text and read, and the fingerprint of the data set. Reads nothing else."""
    path = place / MANIFEST
    try:
        text = read_range(path, 0, LARGEST_MANIFEST + 1)
    except FileNotFoundError:
        raise FileNotFoundError(
            errno.ENOENT, f"has no {MANIFEST}: it is not a data set, or its push did not finish", str(place)
        ) from None
    manifest, fingerprint = parsed_manifest(text, path)
    return text, manifest, fingerprint

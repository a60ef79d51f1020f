"""Sources in object storage: which files a URL names, and which of them can be read there."""

from __future__ import annotations

import os
from typing import Any

from graphzero._files.storage import StoredPath, is_url, listed, located

# Files that are mapped, or whose parts are looked up in any order.
_NOT_THERE = (".npz", ".mtx", ".mtx.gz", ".sg", ".wsg", ".pt", ".pth", ".gl", ".gd", ".gi")


def stored_paths(source: Any) -> Any:
    """Return a source whose URLs, patterns among them, are paths of files in storage; any other as it is."""
    if is_url(source):
        found = _files(source)
        return found[0] if len(found) == 1 else found
    if isinstance(source, (list, tuple)) and any(map(is_url, source)):
        return [path for given in source for path in (_files(given) if is_url(given) else [os.fsdecode(given)])]
    return source


def one_stored_path(source: Any) -> Any:
    """Return a source that is one file; of any other thing, the thing itself."""
    found = stored_paths(source) if is_url(source) else source
    if is_url(source) and isinstance(found, list):
        raise ValueError(f"{located(source)}: expected one file, found {len(found)}, such as {found[0]}")
    return found


def _files(url: str) -> list[StoredPath]:
    found = listed(located(url))
    for path in found:
        if path.lower().endswith(_NOT_THERE):
            raise ValueError(
                f"{path}: expected Parquet, Arrow, text or .npy, which are read in storage; copy this file to a disk, "
                "and give its path there"
            )
    return found

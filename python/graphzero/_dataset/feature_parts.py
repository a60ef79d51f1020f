"""Ranges of a ``.gd`` file as ``.gd`` files of their own, and one file of such ranges again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from graphzero import _core
from graphzero._core import FormatError
from graphzero._files.manifest_records import Part
from graphzero._files.mounted import path_bytes
from graphzero.features import FeatureStore

_BLOCK = 8 << 20  # bytes
_PAGE = 4096


def part_ranges(store: FeatureStore, size: int) -> list[tuple[int, int]]:
    """Return ranges of rows of about ``size`` bytes; none if the file is small, or its order is not that of ids."""
    if store.reordered or store.is_graphzero02 or store.num_rows * store.row_bytes <= size:
        return []
    rows = max(1, size // store.row_bytes)
    return [(begin, min(begin + rows, store.num_rows)) for begin in range(0, store.num_rows, rows)]


def part_file_size(store: FeatureStore, num_rows: int) -> int:
    """Return the size of a file that has some of the rows: docs/formats/container.md."""
    sections = [num_rows * store.row_bytes, *([num_rows * 4] if store.quantised else [])]
    return _PAGE + sum(-(-section // _PAGE) * _PAGE for section in sections)


def write_part(store: FeatureStore, begin: int, end: int, path: str) -> int:
    """Write some rows to a file of their own; return its fingerprint."""
    writer = _core.GdWriter(path_bytes(path), store.data_type, [end - begin, *store.shape[1:]])
    _append(writer, store, begin, end)
    writer.finish()
    with FeatureStore(path) as written:
        return written.fingerprint


def join_parts(paths: Sequence[str], parts: Sequence[Part], target: str, *, done: Callable[[str], None]) -> int:
    """Write the rows of all parts to one file, which appears whole or not at all; return its fingerprint.

    The bytes are those of a file that was written at once. Checksums are proven while parts are copied: the new file
    has its own, which would not tell. ``done`` is called with each part that is not needed any more.
    """
    with FeatureStore(paths[0]) as first:
        kind = (first.data_type, first.shape[1:], first.quantised)
        rows = f"rows of {first.dtype} {list(first.shape[1:])}{' with scales' if first.quantised else ''}"
    writer = _core.GdWriter(path_bytes(target), kind[0], [parts[-1].end, *kind[1]])
    try:
        for path, part in zip(paths, parts, strict=True):
            with FeatureStore(path) as store:
                if store.num_rows != part.end - part.begin:
                    raise FormatError(f"{path}: expected {part.end - part.begin} rows, found {store.num_rows}")
                found = (store.data_type, store.shape[1:], store.quantised)
                if found != kind:
                    raise FormatError(
                        f"{path}: expected {rows}, as the first part has, found {store.dtype} {list(store.shape[1:])}"
                        f"{' with scales' if store.quantised else ''}"
                    )
                if store.reordered:
                    raise FormatError(f"{path}: expected rows in the order of ids, found another order")
            writer.append_file(path_bytes(path))
            done(path)
        writer.finish()
    except BaseException:
        del writer  # its unfinished file goes with it, not with the error, which somebody may keep
        raise
    with FeatureStore(target) as written:
        return written.fingerprint


def _append(writer: _core.GdWriter, store: FeatureStore, begin: int, end: int) -> None:
    rows = store.get_tensor(writable=False, access="sequential")
    at_once = max(1, _BLOCK // max(1, store.row_bytes))
    for at in range(begin, end, at_once):
        writer.append(rows[at : min(at + at_once, end)].reshape(-1).view(np.uint8))
    if store.quantised:
        scales = store.scales
        assert scales is not None
        writer.append_scales(scales[begin:end])

"""What the numbers of a file are like: how many are missing, and the range of weights and times."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphzero._files.progress import watching
from graphzero._look.places import RUN, places

if TYPE_CHECKING:
    from graphzero.features import FeatureStore
    from graphzero.graph import Graph

# A file that takes long enough to read for a bar.
_SLOW_BYTES = 1 << 28

# Bytes of consecutive rows that a sample reads at each place: four pages, which a device reads as fast as one.
_RUN_BYTES = 16_384


def sampled_rows(store: FeatureStore, most_items: int | None) -> tuple[Iterator[NDArray[Any]], bool]:
    """Return blocks of the rows of a file, and whether these are a sample.

    Rows come in stored order: who asks wants to know what there is, not of which node.
    """
    most = None if most_items is None else max(1, most_items // max(1, store.feature_dim))
    is_sample = most is not None and store.num_rows > most
    run = max(1, min(RUN, _RUN_BYTES // max(1, store.row_bytes)))
    rows = store.get_tensor(writable=False, order="stored", access="random" if is_sample else "sequential")
    block = max(1, (1 << 20) // max(1, store.feature_dim))
    taken = places(store.num_rows, most, run=run, block=block)
    return (rows[some] if is_sample else rows[some[0] : some[-1] + 1] for some in taken), is_sample


def missing_facts(store: FeatureStore, most_items: int | None) -> dict[str, Any] | None:
    """Count the numbers of a file that are not a number (NaN); ``None`` if its type has no such value."""
    if not (store.dtype == "bfloat16" or store.dtype.startswith("float")):
        return None
    blocks, sampled = sampled_rows(store, most_items)
    missing = rows = 0
    slow = not sampled and store.nbytes > _SLOW_BYTES and sys.stderr.isatty()
    with watching(slow, os.path.basename(store.path), store.num_rows, "rows", lambda: rows):
        for block in blocks:
            missing += int(np.count_nonzero(_is_nan(block)))
            rows += len(block)
    return {"num_missing": missing, "num_items": rows * store.feature_dim, "num_rows": rows, "sampled": sampled}


def _is_nan(block: NDArray[Any]) -> NDArray[np.bool_]:
    if block.dtype == np.uint16:  # the bits of bfloat16: an exponent of ones, and a fraction
        return (block & 0x7FFF) > 0x7F80
    found: NDArray[np.bool_] = np.isnan(block)
    return found


def range_facts(graph: Graph, column: str, most: int | None) -> dict[str, Any] | None:
    """Return the least and the largest weight or time of edges; ``None`` if edges have none, or there are no edges."""
    values = getattr(graph.index(graph.indexes[0]), column)
    if values is None or not len(values):
        return None
    lows, highs, read = [], [], 0
    for taken in places(len(values), most):
        block = values[taken]
        lows.append(block.min())
        highs.append(block.max())
        read += len(taken)
    return {"min": min(lows).item(), "max": max(highs).item(), "num_edges": read, "sampled": read < len(values)}


def dates(facts: dict[str, Any] | None, unit: str | None) -> list[str] | None:
    """Return the first and the last time as dates of UTC, to the second; ``None`` if nothing says what times count."""
    if facts is None or unit is None:
        return None
    stamps = [np.datetime64(facts[end], unit).astype("datetime64[s]") for end in ("min", "max")]  # type: ignore[call-overload]
    return [str(stamp).replace("T", " ") for stamp in stamps]

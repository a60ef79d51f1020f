"""Our gather, beside rivals/gathers.py. Given a .gd file as ``features``."""

from __future__ import annotations

from typing import Any

import graphzero as gz
from graphzero.bench.rivals.gathers import measure_cold, measure_warm
from graphzero.bench.rivals.protocol import answer


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """Gather from the page cache, or from the device past it."""
    store = gz.FeatureStore(given["features"])
    if not given["cold"]:
        store.get_tensor(access="sequential", order="stored").sum()  # now it is in the page cache
        return measure_warm(lambda ids: store.gather(ids, reader="mmap"), given)
    found = measure_cold(lambda ids: store.gather(ids, reader="direct"), given)
    stats = store.gather_stats()
    return found | {name: stats[name] for name in ("device_reads", "device_bytes", "reader")}


if __name__ == "__main__":
    answer(measure)

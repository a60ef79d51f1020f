"""Our conversion, beside rivals/converters.py."""

from __future__ import annotations

import time
from typing import Any

import graphzero as gz
from graphzero.bench.rivals.protocol import answer


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """Convert so many times."""
    runs = []
    for _ in range(given["repeat"]):
        begin = time.perf_counter()
        gz.convert_edges(given["source"], given["target"], threads=given["threads"])
        runs.append(given["edges"] / (time.perf_counter() - begin))
    return {"runs": runs}


if __name__ == "__main__":
    answer(measure)

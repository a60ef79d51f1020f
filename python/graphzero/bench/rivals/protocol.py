"""How a contestant is asked and answers. Free of graphzero, which rivals do not have.

``python -m rivals.PROGRAM JSON``: what is given comes as one argument, what was found leaves as the last line. Where
memory is limited the contestant says that it has everything but the rows, and waits for the limit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

READY = "ready"


def answer(measure: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Print what ``measure`` finds, behind an empty line: some rivals leave the last one open."""
    found = measure(json.loads(sys.argv[1]))
    print()
    print(json.dumps(found), flush=True)


def wait_for_limit(given: dict[str, Any]) -> None:
    """Say that all is loaded, and go on when the limit is set. Does nothing where there is none."""
    if given.get("limited"):
        print(f"\n{READY}", flush=True)
        sys.stdin.readline()


def device_bytes() -> int | None:
    """Return how many bytes this process has had read from the device; ``None`` where the kernel does not say."""
    try:
        with open("/proc/self/io") as file:
            return int(next(line for line in file if line.startswith("read_bytes")).split()[1])
    except (OSError, StopIteration):
        return None

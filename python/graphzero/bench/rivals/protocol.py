"""How a contestant is asked and answers. Free of graphzero, which rivals do not have.

``python -m rivals.PROGRAM JSON``: what is given comes as one argument, what was found leaves as the last line, with the
versions of the libraries that found it. Where memory is limited the contestant says that it has everything but the
rows, and waits for the limit.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import Callable
from typing import Any

READY = "ready"
# What rivals are made of, as modules.
_LIBRARIES = (
    "dgl", "graphzero", "numpy", "pecanpy", "polars", "pyg_lib", "scipy", "torch", "torch_cluster", "torch_geometric",
    "torch_sparse",
)  # fmt: skip


def answer(measure: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Print what ``measure`` finds, behind an empty line: some rivals leave the last one open."""
    found = measure(json.loads(sys.argv[1]))
    print()
    print(json.dumps({**found, "versions": loaded_versions()}), flush=True)


def loaded_versions() -> dict[str, str]:
    """Return the versions of the libraries that this process has loaded; of one that tells none, nothing."""
    found: dict[str, str] = {}
    for name in _LIBRARIES:
        if name in sys.modules:
            version = getattr(sys.modules[name], "__version__", None) or _installed_version(name)
            found |= {} if version is None else {name: str(version)}
    return found


def _installed_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


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

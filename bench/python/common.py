"""What every benchmark needs: a fair clock, the machine's facts, and a result that is right or not printed."""

from __future__ import annotations

import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import graphzero as gz

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests"))  # sparse files and control groups


def _first(path: str, default: str = "unknown") -> str:
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return default


def machine() -> dict[str, Any]:
    """Return what a reader needs to judge a figure."""
    models = [line.split(":")[1].strip() for line in _first("/proc/cpuinfo").splitlines() if "model name" in line]
    folder = os.stat(".").st_dev
    device = pathlib.Path(f"/sys/dev/block/{os.major(folder)}:{os.minor(folder)}").resolve().name
    report = gz.memory_report()
    commit = subprocess.run(
        ["git", "-C", str(pathlib.Path(__file__).parent), "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": gz.num_threads(),
        "ram_bytes": report.ram_total,
        "kernel": platform.release(),
        "device": device,
        "read_ahead_kb": _first(f"/sys/block/{device}/queue/read_ahead_kb"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "commit": commit or "unknown",
    }


def median_seconds(body: Callable[[], Any], *, repeat: int = 20, before: Callable[[], Any] = lambda: None) -> float:
    """Return the median time of ``body``; ``before`` runs ahead of each and is not counted."""
    times = []
    for _ in range(repeat):
        before()
        begin = time.perf_counter()
        body()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def drop_from_page_cache(path: str | os.PathLike[str]) -> None:
    """Make the next read of ``path`` a cold one."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def device_bytes() -> int:
    """Return how many bytes this process has had read from the device."""
    return gz.memory_report().device_bytes_read or 0


def report(name: str, conditions: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Print the table, and one line of JSON with the machine's facts for the record."""
    print(f"\n{name}   ({', '.join(f'{key} {value}' for key, value in conditions.items())})")
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [columns, *([str(row.get(column, "")) for column in columns] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for row in cells:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(json.dumps({"bench": name, "conditions": conditions, "rows": rows, "machine": machine()}))

"""What a reader needs to know of the machine to judge a figure."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import graphzero as gz
from graphzero._tools.cgroup import ControlGroup

_SMALL_GROUP = 64 << 20


def machine(folder: str | os.PathLike[str] = ".") -> dict[str, Any]:
    """Tell the processor, the memory, the kernel, and the disk that ``folder`` is on."""
    report = gz.memory_report()
    return {
        "cpu": _cpu(),
        "architecture": platform.machine(),
        "cores": gz.num_threads(),
        "ram_bytes": report.ram_total,
        "ram_available_bytes": report.ram_available,
        "free": _free(),
        "kernel": platform.release(),
        "os": _os_name(),
        "disk": _disk(os.fspath(folder)),
        "cgroup_version": _cgroup_version(),
        "control_groups": control_groups(),
    }


def versions() -> dict[str, str | None]:
    """Tell the versions of what runs in this Python. ``None``: not installed, or not known."""
    return {
        "graphzero": gz.__version__,
        "commit": commit(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": _version("torch"),
        "torch_geometric": _version("torch_geometric"),
    }


def commit() -> str | None:
    """Return the commit of the repository that holds this package; ``None`` where it was installed."""
    here = os.path.dirname(__file__)
    try:
        asked = subprocess.run(
            ["git", "-C", here, "ls-files", "--error-unmatch", __file__], capture_output=True, check=False
        )
        if asked.returncode != 0:
            return None
        found = subprocess.run(
            ["git", "-C", here, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return found.stdout.strip() or None


def _version(name: str) -> str | None:
    with suppress(PackageNotFoundError):
        return version(name)
    return None


def _first(path: str, default: str = "unknown") -> str:
    try:
        return Path(path).read_text().strip() or default
    except OSError:
        return default


def _cpu() -> str:
    models = [line.split(":")[1].strip() for line in _first("/proc/cpuinfo").splitlines() if "model name" in line]
    return models[0] if models else platform.machine()


def _free() -> dict[str, int]:
    """Return what ``free`` shows, in bytes."""
    sizes = {}
    for line in _first("/proc/meminfo", "").splitlines():
        name, value = line.split(":")
        sizes[name] = int(value.split()[0]) * 1024
    cached = sum(sizes.get(name, 0) for name in ("Buffers", "Cached", "SReclaimable"))
    total, unused = sizes.get("MemTotal", 0), sizes.get("MemFree", 0)
    available = sizes.get("MemAvailable", unused)
    return {
        "total": total,
        "used": max(0, total - available),
        "free": unused,
        "shared": sizes.get("Shmem", 0),
        "buff/cache": cached,
        "available": available,
    }


def _os_name() -> str:
    with suppress(OSError):
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    return platform.system()


def _block_device(number: int) -> Path:
    if sys.platform != "linux":
        return Path("unknown")
    return Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()


def _disk(folder: str) -> dict[str, Any]:
    at = _block_device(os.stat(folder).st_dev)
    whole = at if (at / "queue").exists() else at.parent  # a partition has no queue of its own
    read_ahead, rotational = _first(f"{whole}/queue/read_ahead_kb", ""), _first(f"{whole}/queue/rotational", "")
    return {
        "device": at.name if at.exists() else "unknown",
        "model": _first(f"{whole}/device/model"),
        "file_system": file_system(folder),
        "read_ahead_kb": int(read_ahead) if read_ahead else None,
        "rotational": rotational == "1" if rotational else None,
        "free_bytes": shutil.disk_usage(folder).free,
    }


def file_system(folder: str) -> str:
    """Return the kind of file system of the longest mount point above ``folder``."""
    best, kind, real = "", "unknown", os.path.realpath(folder)
    for line in _first("/proc/self/mountinfo", "").splitlines():
        before, after = line.split(" - ")
        point = before.split()[4]
        if (real == point or real.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, after.split()[0]
    return kind


def _cgroup_version() -> int | None:
    kinds = {line.split(" - ")[1].split()[0] for line in _first("/proc/self/mountinfo", "").splitlines()}
    return 2 if "cgroup2" in kinds and "cgroup" not in kinds else 1 if "cgroup" in kinds else None


def control_groups() -> bool | str:
    """Return whether this process may limit memory by control groups, or why not."""
    try:
        ControlGroup(_SMALL_GROUP).close()
    except PermissionError as error:
        return str(error)
    return True

"""Memory control groups of Linux: run a command that may use so much memory and no more, page cache included.

Run as a program it is that command's first step: ``python cgroup.py GROUP COMMAND…`` enters and becomes it.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Names of the same things in version 2 and in version 1.
_LIMIT = {2: "memory.max", 1: "memory.limit_in_bytes"}
_PEAK = {2: "memory.peak", 1: "memory.max_usage_in_bytes"}
_ANONYMOUS = {2: "anon", 1: "rss"}
_PAGE_CACHE = {2: "file", 1: "cache"}
_EVENTS = {2: "memory.events", 1: "memory.oom_control"}


@dataclass(frozen=True)
class GroupUsage:
    """What the processes of a group hold together, in bytes. ``None``: this kernel does not say."""

    anonymous: int
    page_cache: int
    peak: int | None
    kills: int


class ControlGroup:
    """A group of processes with a memory limit. Removed by ``close()``, at the latest when this process ends.

    Raises ``PermissionError`` where this process may not make one.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._owner = os.getpid()
        reason = "no control group file system with a memory controller is mounted"
        for folder, version in _parents():
            self.path, self._version = folder / f"graphzero-{uuid.uuid4().hex}", version
            try:
                self.path.mkdir()
            except OSError as error:
                reason = f"{folder}: {error.strerror}"
                continue
            try:
                self._put_limit(limit)
                subprocess.run(self.command(["true"]), check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                reason = f"{folder}: processes may not be put into a group of it"
                self.close()
                continue
            atexit.register(self.close)
            return
        raise PermissionError(f"this process may not create memory control groups ({reason})")

    def __enter__(self) -> ControlGroup:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def set_limit(self, limit: int) -> None:
        """Change the limit. The peak is counted anew, where the kernel can do that.

        Raises ``OSError`` where the group holds more already and cannot give it back.
        """
        self._put_limit(limit)
        self.limit = limit
        with suppress(OSError):
            _put(self.path / _PEAK[self._version], 0)

    def _put_limit(self, limit: int) -> None:
        _put(self.path / _LIMIT[self._version], limit)
        if self._version == 2:
            with suppress(FileNotFoundError):  # a kernel without swap; elsewhere what is swapped out would not count
                _put(self.path / "memory.swap.max", 0)

    def command(self, command: Sequence[str]) -> list[str]:
        """Return a command that runs the given one, and all it starts, inside the group."""
        return [sys.executable, "-I", __file__, str(self.path), *command]

    def usage(self) -> GroupUsage:
        """Look at what the group holds now, has held at most, and how often the kernel had to kill in it."""
        held, events = _numbers(self.path / "memory.stat"), _numbers(self.path / _EVENTS[self._version])
        peak = self.path / _PEAK[self._version]
        return GroupUsage(
            anonymous=held[_ANONYMOUS[self._version]],
            page_cache=held[_PAGE_CACHE[self._version]],
            peak=int(peak.read_text()) if peak.exists() else None,
            kills=events.get("oom_kill", 0),
        )

    def close(self) -> None:
        """Remove the group. Its processes must have ended; the kernel may need a moment to see that."""
        if os.getpid() != self._owner:  # a fork of the owner
            return
        for _ in range(50):
            try:
                self.path.rmdir()
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.02)
            else:
                break
        atexit.unregister(self.close)


def _parents() -> Iterator[tuple[Path, int]]:
    """Yield folders that a group could be made in, with the version of the file system."""
    own = {line.split(":")[1]: line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines()}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ")
        point, kind, options = Path(before.split()[4]), after.split()[0], after.split()[2]
        if kind == "cgroup" and "memory" in options.split(","):
            yield point, 1
        if kind == "cgroup2":
            # A group that has processes of its own hands no controllers on, so the nearest that does is above.
            for folder in (point, *(point / own.get("", "/").lstrip("/")).parents):
                controllers = folder / "cgroup.subtree_control"
                if folder.is_relative_to(point) and controllers.exists() and "memory" in controllers.read_text():
                    yield folder, 2


def _put(path: Path, number: int) -> None:
    with open(path, "r+") as file:  # never makes a file: the kernel's are there
        file.write(str(number))


def _numbers(path: Path) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in path.read_text().splitlines())}


if __name__ == "__main__":
    group, *rest = sys.argv[1:]
    _put(Path(group, "cgroup.procs"), os.getpid())
    os.execvp(rest[0], rest)

"""Memory control groups of Linux: run a command that may use so much memory and no more, page cache included.

Run as a program it is that command's first step: ``python cgroup.py enter GROUP COMMAND…`` enters and becomes it,
``keep NOTES COMMAND…`` runs it where it is and leaves the group's counters in a folder, and ``limit`` prints the limit.
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
        return [sys.executable, "-I", __file__, "enter", str(self.path), *command]

    def usage(self) -> GroupUsage:
        """Look at what the group holds now, has held at most, and how often the kernel had to kill in it."""
        return usage_in(self.path, self._version)

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


def usage_in(folder: Path, version: int) -> GroupUsage:
    """Read the counters of the group at ``folder``, or copies of them that ``keep`` left there."""
    held, events = _numbers(folder / "memory.stat"), _numbers(folder / _EVENTS[version])
    peak = folder / _PEAK[version]
    return GroupUsage(
        anonymous=held[_ANONYMOUS[version]],
        page_cache=held[_PAGE_CACHE[version]],
        peak=int(peak.read_text()) if peak.exists() else None,
        kills=events.get("oom_kill", 0),
    )


def own_group() -> tuple[Path, int]:
    """Return the folder of the group that limits the memory of this process, and the version of its file system.

    Raises ``FileNotFoundError`` where no such file system is mounted.
    """
    own = {line.split(":")[1]: line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines()}
    mounted: dict[int, Path] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ")
        root, point = before.split()[3:5]
        kind, options = after.split()[0], after.split()[2]
        path = own.get("memory" if kind == "cgroup" else "", "/")
        inside = path.removeprefix(root).lstrip("/")  # a container may see only a part of the tree
        if kind == "cgroup" and "memory" in options.split(","):
            mounted.setdefault(1, Path(point, inside))
        elif kind == "cgroup2":
            mounted.setdefault(2, Path(point, inside))
    for version in (1, 2):  # where both are mounted, the first has the controller
        if version in mounted:
            return mounted[version], version
    raise FileNotFoundError("no control group file system with a memory controller is mounted")


def keep(notes: Path, command: Sequence[str]) -> int:
    """Run a command in this process's group. Leaves in ``notes`` where that is, and its counters when it has ended."""
    group, version = own_group()
    place = notes / "place"
    place.write_text(f"{version} {group}")
    place.rename(notes / "group")  # whoever reads it finds all of it
    code = subprocess.Popen(command).wait()
    for name in ("memory.stat", _PEAK[version], _EVENTS[version]):
        with suppress(FileNotFoundError):  # older kernels have no peak
            (notes / name).write_text((group / name).read_text())
    return code


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
    verb, *rest = sys.argv[1:]
    if verb == "limit":
        group, version = own_group()
        print((group / _LIMIT[version]).read_text().strip())
    elif verb == "enter":
        _put(Path(rest[0], "cgroup.procs"), os.getpid())
        os.execvp(rest[1], rest[1:])
    else:
        code = keep(Path(rest[0]), rest[1:])
        if code < 0:  # end as the command did
            os.kill(os.getpid(), -code)
        sys.exit(code)

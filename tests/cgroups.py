"""Memory control groups for tests: run a command that may use so much and no more, page cache included."""

import os
import pathlib
import sys
import uuid

import pytest


def _groups():
    """Where a new group with a memory limit could be made: (folder, name of the limit file)."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ")
        point, kind, options = before.split()[4], after.split()[0], after.split()[2]
        if kind == "cgroup" and "memory" in options.split(","):
            yield pathlib.Path(point), "memory.limit_in_bytes"
        if kind == "cgroup2" and "memory" in (pathlib.Path(point) / "cgroup.subtree_control").read_text().split():
            yield pathlib.Path(point), "memory.max"


def limited_to(limit, command):
    """The command, run in a new control group of ``limit`` bytes. Skips where that is not allowed."""
    for folder, limit_file in _groups():
        group = folder / f"graphzero-test-{uuid.uuid4().hex}"
        try:
            group.mkdir()
        except OSError:
            continue
        (group / limit_file).write_text(str(limit))
        return [sys.executable, __file__, str(group), *command]
    pytest.skip("this process may not create memory control groups")


if __name__ == "__main__":
    group, *command = sys.argv[1:]
    pid = os.fork()
    if pid == 0:
        pathlib.Path(group, "cgroup.procs").write_text(str(os.getpid()))
        os.execvp(command[0], command)
    status = os.waitpid(pid, 0)[1]
    os.rmdir(group)
    sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)

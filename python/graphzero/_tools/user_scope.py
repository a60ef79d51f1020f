"""A memory limit without root: the user's own systemd makes a scope for each command, and the kernel enforces it."""

from __future__ import annotations

import mmap
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from graphzero._tools import cgroup
from graphzero._tools.cgroup import GroupUsage, usage_in

SYSTEMD_RUN = "systemd-run"
# Seconds until the user's systemd has made a scope; a bus that does not answer would be waited for longer.
_PATIENCE = 10.0
# From systemd 253 on, a scope whose process was killed is stopped, and who should tell what it held with it.
_GO_ON = ("-p", "OOMPolicy=continue")


class UserScope:
    """Makes a scope with a memory limit for each command. What they held is told for all of them together.

    Raises ``PermissionError`` where systemd does not run for this user, or does not limit memory.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        found = shutil.which(SYSTEMD_RUN)
        if found is None:
            raise PermissionError(f"{SYSTEMD_RUN} is not installed")
        self._start = [found, "--user", "--scope", "--quiet", "--collect", "-p", f"MemoryMax={limit}"]
        self._start += ["-p", "MemorySwapMax=0"]
        wrong = self._wrong_with(_GO_ON)
        if wrong is None:
            self._start += _GO_ON
        elif (wrong := self._wrong_with(())) is not None:
            raise PermissionError(f"{SYSTEMD_RUN} --user: {wrong}")
        self._notes = tempfile.TemporaryDirectory(prefix="graphzero-scopes-")
        self._folders: list[Path] = []

    def _wrong_with(self, more: Sequence[str]) -> str | None:
        """Make a scope, and say what is wrong with it: it may be made and limit nothing."""
        command = [*self._start, *more, sys.executable, "-I", cgroup.__file__, "limit"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            return f"no answer within {_PATIENCE:.0f} s"
        except OSError as error:
            return str(error.strerror)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            return lines[-1] if lines else f"exit code {done.returncode}"
        found, expected = done.stdout.strip(), self.limit - self.limit % mmap.PAGESIZE
        return None if found == str(expected) else f"expected a scope with a limit of {expected} bytes, found {found}"

    def __enter__(self) -> UserScope:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def command(self, command: Sequence[str]) -> list[str]:
        """Return a command that runs the given one, and all it starts, inside a new scope."""
        folder = Path(self._notes.name, str(len(self._folders)))
        folder.mkdir()
        self._folders.append(folder)
        return [*self._start, sys.executable, "-I", cgroup.__file__, "keep", str(folder), *command]

    def usage(self) -> GroupUsage:
        """Look at what the scopes hold now, have held at most, and how often the kernel had to kill in them."""
        found = [usage for folder in self._folders if (usage := _usage_of(folder)) is not None]
        return GroupUsage(
            anonymous=sum(usage.anonymous for usage in found),
            page_cache=sum(usage.page_cache for usage in found),
            peak=max((usage.peak for usage in found if usage.peak is not None), default=None),
            kills=sum(usage.kills for usage in found),
        )

    def close(self) -> None:
        """Remove the notes. A scope is gone when its last process is."""
        self._notes.cleanup()


def _usage_of(folder: Path) -> GroupUsage | None:
    """Look at one scope by its notes; ``None`` before it runs, and where it was ended before it could tell."""
    try:
        version, path = (folder / "group").read_text().split(" ", 1)
    except FileNotFoundError:
        return None
    with suppress(FileNotFoundError):  # it runs: there are no counters yet
        return replace(usage_in(folder, int(version)), anonymous=0, page_cache=0)
    with suppress(OSError):  # it has just ended
        return usage_in(Path(path), int(version))
    return None

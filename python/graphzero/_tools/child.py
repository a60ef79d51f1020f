"""A program as a child process: read line by line, in a control group if one is given, and never left running."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from graphzero._tools.cores import one_core
from graphzero._tools.memory_limit import MemoryLimit

# Windows knows no sessions; in a group of its own Ctrl-C does not reach it either.
_NEW_GROUP: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)


class Child:
    """A running program. Leaving the block ends it, and all that it has started."""

    def __init__(
        self,
        command: Sequence[str],
        group: MemoryLimit | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        on_one_core: bool = False,
    ) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed by __exit__
        # A session of its own: it and all it starts can be ended together, and Ctrl-C is for us alone.
        with one_core(on_one_core):
            self._process = subprocess.Popen(
                list(command) if group is None else group.command(command), stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=self._errors, env=environment, start_new_session=True,
                creationflags=_NEW_GROUP,
            )  # fmt: skip
        self.pid = self._process.pid
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read_output, name="graphzero child", daemon=True)
        self._reader.start()

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith(b"\n"):  # else it was killed while it wrote
                self._lines.put(line.decode(errors="replace").strip())
        self._lines.put(None)

    def lines(self, timeout: float = 0.1) -> Iterator[str | None]:
        """Yield the lines it prints until it ends; ``None`` each time that none came for ``timeout`` seconds."""
        while True:
            try:
                line = self._lines.get(timeout=timeout)
            except queue.Empty:
                yield None
                continue
            if line is None:
                break
            yield line
        while self._process.poll() is None:  # it may close its output long before it ends
            yield None
            time.sleep(timeout)

    def send_line(self) -> None:
        """Send an empty line to one that waits for it."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it may have been killed
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()

    def end(self) -> None:
        """Kill it and all it has started."""
        if sys.platform == "win32":
            if self._process.poll() is None:  # it must be there for its children to be found
                subprocess.run(["taskkill", "/F", "/T", "/PID", str(self.pid)], capture_output=True, check=False)
            self._process.kill()
            return
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Return the exit code, which is negative if a signal ended it."""
        return self._process.wait()

    def last_error_line(self) -> str:
        """Return the last line that it wrote to standard error."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()

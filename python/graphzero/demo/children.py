"""The other side of ``child.py``: starts the process, reads what it writes, and leaves none behind."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import IO, Any

from graphzero.control_groups import ControlGroup

# Seconds without news after which there is a chance to look at memory.
_PATIENCE = 0.1


class Child:
    """A process that does what is asked, in a control group if one is given. Leaving the block ends it."""

    def __init__(self, request: dict[str, Any], group: ControlGroup | None = None) -> None:
        command = [sys.executable, "-W", "ignore", "-m", "graphzero.demo.child", json.dumps(request)]
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # closed by __exit__
        # Ctrl-C is for us alone: we end the process and know about it.
        self._process = subprocess.Popen(
            command if group is None else group.command(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},  # it trains on the CPU; to know of a GPU takes memory
        )
        self._news: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._hearing = threading.Thread(target=self._hear, name="graphzero demo", daemon=True)
        self._hearing.start()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith(b"\n"):  # else the process was killed while it wrote
                self._news.put(json.loads(line))
        self._news.put(None)

    def events(self) -> Iterator[dict[str, Any] | None]:
        """Yield what the process writes until it ends; ``None`` now and then while it is silent."""
        while True:
            try:
                news = self._news.get(timeout=_PATIENCE)
            except queue.Empty:
                yield None
                continue
            if news is None:
                return
            if news["event"] == "error":
                raise ChildProcessError(news["message"])
            yield news

    def wait(self) -> int:
        """Return the exit code, which is negative if a signal ended the process."""
        return self._process.wait()

    def complaint(self) -> str:
        """Say how the process ended, in a line."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        code = self.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"a process of the demo ended with {how}" + (f": {last.strip()}" if last else "")

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._hearing.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.close()

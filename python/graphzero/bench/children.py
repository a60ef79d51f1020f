"""Contestants run as children: with a limit on time, where asked on memory, and never longer than their parent."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import graphzero as gz
from graphzero.bench.memory_watch import MemoryWatch
from graphzero.bench.rivals.protocol import READY
from graphzero.control_groups import ControlGroup

NOT_INSTALLED = "not installed"
KILLED = "killed at its limit"
# Beside what a contestant may hold: page tables, what malloc keeps of arrays that are gone, pages of small files. 70 MB
# were seen; with as much the kernel was busy dropping pages of the graph, and the figure was one of that.
SLACK = 128 << 20


@dataclass(frozen=True)
class Cap:
    """What a contestant may hold on top of what it holds when it is ready: ``size`` bytes.

    By then it has mapped ``mapped`` bytes of files, such as the graph. They count for the group, so they are added.
    """

    size: int
    mapped: int = 0


@dataclass
class Answer:
    """What a contestant found, or ``None`` and a note that says why not; and what it held meanwhile."""

    found: dict[str, Any] | None
    note: str | None = None
    limit: int | None = None
    proven: bool | None = None
    peak_anonymous: int | None = None
    peak_rss: int | None = None
    peak_group: int | None = None
    memory: list[list[float | int | None]] = field(default_factory=list)


def ask(
    command: Sequence[str],
    *,
    timeout: float,
    patience: float | None = None,
    environment: Mapping[str, str] | None = None,
    cap: Cap | None = None,
    page_cache: Callable[[], int | None] | None = None,
) -> Answer:
    """Run a contestant to its end and return its answer.

    With a ``cap`` it runs in a control group, whose limit is set when it says that it is ready; where groups are not
    allowed it runs without, and the answer's note says so. It is stopped after ``timeout`` seconds; one that waited
    for its limit, after ``patience`` seconds from then on.
    """
    answer = Answer(None)
    with ExitStack() as stack:
        group = None
        if cap is not None:
            try:
                group = stack.enter_context(ControlGroup(gz.memory_report().ram_total))
            except PermissionError as error:
                answer.note, answer.proven = f"limited by its budget alone: {error}", False
        errors = stack.enter_context(tempfile.TemporaryFile("w+"))
        child = stack.enter_context(_started(command if group is None else group.command(command), errors, environment))
        deadline = _Deadline(child, timeout)
        stack.callback(deadline.cancel)
        watch = stack.enter_context(MemoryWatch(child.pid, group, page_cache))

        def limit() -> None:
            _limit(cap, group, watch, answer)
            deadline.set(timeout if patience is None else patience)

        last = _read_answer(child, limit)
        code = child.wait()
        kills = 0 if group is None else group.usage().kills
        errors.seek(0)
        reason = errors.read().strip()
    answer.peak_anonymous, answer.peak_rss = watch.peak_anonymous, watch.peak_rss
    answer.peak_group, answer.memory = watch.peak_group, watch.points
    if answer.limit is not None and watch.peak_group is not None:
        answer.proven = watch.peak_group <= answer.limit
    if code == 0 and last.startswith("{"):
        answer.found = json.loads(last)
    elif kills:
        answer.note = KILLED
    elif deadline.over:
        answer.note = f"stopped after {deadline.seconds:.0f} s without a result"
    else:
        answer.note = _failure(reason, code)
    return answer


class _Deadline:
    """Ends a child when its time is up."""

    def __init__(self, child: subprocess.Popen[str], seconds: float) -> None:
        self._child = child
        self._timer: threading.Timer | None = None
        self.over = False
        self.set(seconds)

    def set(self, seconds: float) -> None:
        """Give the child this many seconds from now."""
        self.cancel()
        self.seconds = seconds
        self._timer = threading.Timer(seconds, self._stop)
        self._timer.start()

    def cancel(self) -> None:
        """Let it live."""
        if self._timer is not None:
            self._timer.cancel()

    def _stop(self) -> None:
        self.over = True
        _end(self._child)


def _read_answer(child: subprocess.Popen[str], ready: Callable[[], None]) -> str:
    """Return the last line; on the way, set the limit when the child waits for it."""
    assert child.stdin is not None
    assert child.stdout is not None
    last = ""
    for line in child.stdout:
        if line.strip() == READY:
            ready()
            with suppress(BrokenPipeError):  # the limit may have killed it
                child.stdin.write("\n")
                child.stdin.flush()
        elif line.strip():
            last = line.strip()
    return last


def _limit(cap: Cap | None, group: ControlGroup | None, watch: MemoryWatch, answer: Answer) -> None:
    if cap is not None and group is not None:
        answer.limit = group.usage().anonymous + cap.mapped + cap.size + SLACK
        group.set_limit(answer.limit)
    watch.restart()


@contextmanager
def _started(
    command: Sequence[str], errors: Any, environment: Mapping[str, str] | None
) -> Iterator[subprocess.Popen[str]]:
    """Start a child in a session of its own, so that it and all it starts can be ended together."""
    child = subprocess.Popen(
        list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        env=None if environment is None else dict(environment), start_new_session=True,
    )  # fmt: skip
    try:
        yield child
    finally:
        _end(child)
        child.wait()
        for stream in (child.stdin, child.stdout):
            with suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()


def _end(child: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):  # its workers may outlive it
        os.killpg(child.pid, signal.SIGKILL)


def _failure(reason: str, code: int) -> str:
    """Say in a line why a child failed."""
    lines = [line for line in reason.splitlines() if line.strip()]
    last = lines[-1].strip() if lines else f"exit code {code}"
    if last.startswith(("ModuleNotFoundError", "ImportError")):
        return NOT_INSTALLED
    if code == -signal.SIGKILL:
        return "killed by the system"
    return f"failed: {re.sub(r'^ValueError: ', '', last)[:160]}"


def program(name: str, given: Mapping[str, Any], python: str = sys.executable, *, ours: bool) -> list[str]:
    """Return the command of a contestant's program: ``graphzero.bench.ours.NAME`` or ``rivals.NAME``."""
    package = "graphzero.bench.ours" if ours else "rivals"
    return [python, "-m", f"{package}.{name}", json.dumps(dict(given))]


def surroundings(threads: int, *, ours: bool) -> dict[str, str]:
    """Return the environment of a contestant: its threads, and for rivals nothing of ours to import."""
    counts = ("GRAPHZERO_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")
    found = {**os.environ, **dict.fromkeys(counts, str(threads))}
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found["PYTHONPATH"] = os.path.join(package, "bench")
    if ours:
        own = os.path.dirname(package), os.environ.get("PYTHONPATH")
        found["PYTHONPATH"] = os.pathsep.join(path for path in own if path)  # an empty one would be the current folder
    return found

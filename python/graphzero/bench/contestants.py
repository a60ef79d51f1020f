"""Contestants run as children: with a limit on time, where asked on memory, and never longer than their parent."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import graphzero as gz
from graphzero._tools.cgroup import ControlGroup
from graphzero._tools.child import Child
from graphzero.bench.memory_watch import MemoryWatch
from graphzero.bench.rivals.protocol import READY

NOT_INSTALLED = "not installed"
KILLED = "killed at its limit"
# Beside what a contestant may hold: page tables, what malloc keeps of arrays that are gone, pages of small files. 70 MB
# were seen; with as much the kernel was busy dropping pages of the graph, and the figure was one of that.
SLACK = 128 << 20
# Seconds between two measurements of what it holds; a peak that is shorter is missed.
_PERIOD = 0.02


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
    threads: int | None = None,
    page_cache: Callable[[], int | None] | None = None,
) -> Answer:
    """Run a contestant to its end and return its answer.

    With a ``cap`` it runs in a control group, whose limit is set when it says that it is ready; where groups are not
    allowed it runs without, and the answer's note says so. It is stopped after ``timeout`` seconds; one that waited
    for its limit, after ``patience`` seconds from then on. With ``threads=1`` it has one core, whatever it starts.
    """
    answer = Answer(None)
    group, over, last = None, False, ""
    with ExitStack() as stack:
        if cap is not None:
            try:
                group = stack.enter_context(ControlGroup(gz.memory_report().ram_total))
            except PermissionError as error:
                answer.note, answer.proven = f"limited by its budget alone: {error}", False
        child = stack.enter_context(Child(command, group, environment, on_one_core=threads == 1))
        watch = MemoryWatch(child.pid, group, page_cache)
        begin, allowed = time.monotonic(), timeout
        for line in child.lines(_PERIOD):
            watch.look()
            if line == READY:
                if cap is not None and group is not None:
                    answer.limit = group.usage().anonymous + cap.mapped + cap.size + SLACK
                    group.set_limit(answer.limit)
                watch.restart()
                watch.look()  # it waits: however soon it ends, it was seen within its limit
                begin, allowed = time.monotonic(), timeout if patience is None else patience
                child.send_line()
            elif line:
                last = line
            if not over and time.monotonic() > begin + allowed:
                over = True
                child.end()
        code = child.wait()
        kills = 0 if group is None else group.usage().kills
        reason = child.last_error_line()
    answer.peak_anonymous, answer.peak_rss = watch.peak_anonymous, watch.peak_rss
    answer.peak_group, answer.memory = watch.peak_group, watch.points
    if answer.limit is not None and watch.peak_group is not None:
        answer.proven = watch.peak_group <= answer.limit
    if code == 0 and last.startswith("{"):
        answer.found = json.loads(last)
    elif kills:
        answer.note = KILLED
    elif over:
        answer.note = f"stopped after {allowed:.0f} s without a result"
    else:
        answer.note = _failure(reason, code)
    return answer


def _failure(reason: str, code: int) -> str:
    """Say in a line why a child failed."""
    if reason.startswith(("ModuleNotFoundError: ", "ImportError: ")):
        return f"{NOT_INSTALLED}: {reason.split(': ', 1)[1][:160]}"  # it, or what it needs
    if sys.platform != "win32" and code == -signal.SIGKILL:
        return "killed by the system"
    return f"failed: {reason.removeprefix('ValueError: ')[:160] or f'exit code {code}'}"


def program(name: str, given: Mapping[str, Any], python: str = sys.executable, *, ours: bool) -> list[str]:
    """Return the command of a contestant's program: that of ``graphzero.bench.ours``, or ``rivals.NAME``."""
    module = "graphzero.bench.ours" if ours else f"rivals.{name}"
    return [python, "-m", module, json.dumps({**given, "program": name})]


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

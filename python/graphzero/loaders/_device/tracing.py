"""What the core's threads do, put beside torch's own events in the trace of a profile.

torch's profiler sees the threads that it knows. Those of the core keep a log of their own while a profiler runs, by the
clock that the trace has.
"""

from __future__ import annotations

import gzip
import json
import logging
import os
import shutil
import tempfile
import zlib
from typing import Any

from graphzero import _core
from graphzero._files.renames import replace
from graphzero._files.storage import path_here
from graphzero.pipeline import Stages

_log = logging.getLogger("graphzero")

# Above the ids of threads that Linux gives (2^22). Each loader has room for as many as a pipeline may have.
_FIRST_THREAD = 1 << 23
_THREADS_EACH = 1 << 13
_READER = _THREADS_EACH - 64  # and those that follow
_CATEGORY = "graphzero"
# What a stage's number is; of all others a batch.
_NUMBERS = {_core.Stage.READ: "reads in flight", _core.Stage.FILL: "part of the cache"}
_GZIP = b"\x1f\x8b"


def add_to_trace(path: str | os.PathLike[str], stages: Stages, loader: int) -> None:
    """Add what the threads of the ``loader``-th loader of this process did to the trace at ``path``, in its place."""
    name = path_here(path)
    trace, is_zipped = _read(name)
    ours = _events(stages, trace, loader)
    if not ours:
        raise ValueError(
            f"{name}: no stage of this loader was logged in the time of the trace; "
            "iterate over the loader inside the profile, in this process, and export that profile",
        )
    if stages.dropped:
        _log.warning("%s: the %d oldest stages of the loader were dropped; profile fewer batches", name, stages.dropped)
    there = {_identity(event) for event in trace["traceEvents"]}
    trace["traceEvents"] += [event for event in ours if _identity(event) not in there]
    _replace(name, json.dumps(trace).encode(), is_zipped)


def _read(name: str) -> tuple[dict[str, Any], bool]:
    try:
        with open(name, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"path: expected a trace that export_chrome_trace() wrote, found no file {name!r}"
        ) from None
    is_zipped = data.startswith(_GZIP)
    try:
        trace = json.loads(gzip.decompress(data) if is_zipped else data)
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{name}: expected a trace that export_chrome_trace() wrote, found no JSON: {error}") from None
    events = trace.get("traceEvents") if isinstance(trace, dict) else None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise ValueError(f"{name}: expected a trace that export_chrome_trace() wrote, found no list of 'traceEvents'")
    return trace, is_zipped


def _events(stages: Stages, trace: dict[str, Any], loader: int) -> list[dict[str, Any]]:
    """Return the stages in the time of a trace as events of it, and the names of their threads."""
    # Stages of an earlier call may have begun before the profile, and do not make it longer.
    complete = [event for event in trace["traceEvents"] if event.get("ph") == "X" and event.get("cat") != _CATEGORY]
    if not complete:
        return []
    first = min(event["ts"] for event in complete)
    last = max(event["ts"] + event.get("dur", 0) for event in complete)
    # Before it had a base, the trace had times since 1970.
    base = int(trace.get("baseTimeNanoseconds", 0))
    begin, end = (stages.begin - base) / 1000, (stages.end - base) / 1000  # microseconds
    process = os.getpid()
    names: dict[int, str] = {}
    events = []
    for i in ((begin <= last) & (end >= first)).nonzero()[0].tolist():
        stage = _core.Stage(int(stages.stage[i]))
        is_read = stage == _core.Stage.READ
        number = int(stages.thread[i])
        thread = _FIRST_THREAD + _THREADS_EACH * loader + (_READER + number if is_read else number)
        reader = f"graphzero reader {number}" if number else "graphzero reader"
        names[thread] = reader if is_read else f"graphzero worker {number}"
        events.append(
            {
                "ph": "X",
                "cat": _CATEGORY,
                "name": f"graphzero.{stage.name.lower()}",
                "pid": process,
                "tid": thread,
                "ts": float(begin[i]),
                "dur": float(end[i] - begin[i]),
                "args": {_NUMBERS.get(stage, "batch"): int(stages.number[i])},
            }
        )
    for thread, name in sorted(names.items()):
        of = {"ph": "M", "pid": process, "tid": thread, "ts": first}
        events.append({**of, "name": "thread_name", "args": {"name": name}})
        events.append({**of, "name": "thread_sort_index", "args": {"sort_index": thread}})
    return events


def _identity(event: dict[str, Any]) -> tuple[Any, ...]:
    return event.get("pid"), event.get("tid"), event.get("name"), event.get("ts")


def _replace(name: str, data: bytes, is_zipped: bool) -> None:
    """Replace the file: others find either all of the old one or all of the new one."""
    number, new = tempfile.mkstemp(prefix=f"{os.path.basename(name)}.", dir=os.path.dirname(name) or ".")
    try:
        with open(number, "wb") as file:
            file.write(gzip.compress(data) if is_zipped else data)
        shutil.copymode(name, new)
        replace(new, name)
    except BaseException:
        os.unlink(new)
        raise

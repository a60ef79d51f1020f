"""Shares mutations out to processes, and counts what became of them."""

import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzzing import kinds, limits
from fuzzing.child import OUT_OF_MEMORY
from fuzzing.places import places

FOLDER = Path(__file__).parent
LARGEST_PART = 1000  # mutations of one process, so that all cores have something to do until the end


@dataclass
class Tally:
    """What became of the files of one kind. ``failures`` are (number, what happened)."""

    kind: str
    told: Any
    outcomes: Counter = field(default_factory=Counter)
    failures: list = field(default_factory=list)

    def fail(self, number, text):
        """Count a failure."""
        self.failures.append((number, text))
        if self.told is not None:
            self.told(self.kind, number, text)

    @property
    def files(self):
        return self.outcomes.total() + len(self.failures)


def shares(count, chosen):
    """How many of ``count`` files each kind gets."""
    weights = {kind: kinds.SHARES[kind] for kind in chosen}
    return {kind: round(count * weight / sum(weights.values())) for kind, weight in weights.items()}


def run_all(counts, seed, jobs, first=0, part=LARGEST_PART, told=None):
    """Run all kinds; ``counts`` tells how many files of each, ``part`` how many a process takes at most.

    ``told(kind, number, text)`` is called for each failure, at once.
    """
    tallies = {kind: Tally(kind, told) for kind in counts}
    parts = []
    for kind, count in counts.items():
        parts += [(kind, first + at, min(part, count - at)) for at in range(0, count, part)]
    parts.sort(key=lambda mine: -mine[2] / kinds.SHARES[mine[0]])  # what takes longest comes first
    with ThreadPoolExecutor(jobs) as pool:
        done = [pool.submit(_run_part, tallies[kind], seed, begin, count) for kind, begin, count in parts]
        for process in done:
            process.result()
    return tallies


def _run_part(tally, seed, begin, count):
    """Run processes until all mutations are tried: one that dies is followed by another, behind the culprit."""
    end = begin + count
    while begin < end:
        with places() as (folder, scratch):
            begin = _run_child(tally, seed, begin, end - begin, folder, scratch)


def _run_child(tally, seed, begin, count, *folders):
    """Run a process and return the number of the mutation to go on with."""
    numbers = map(str, (seed, begin, count))
    process = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", FOLDER, "--child", tally.kind, *numbers, *folders],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"GRAPHZERO_NUM_THREADS": "2", **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    with ThreadPoolExecutor(1) as pool, process:
        errors = pool.submit(process.stderr.read)
        number, is_open = begin - 1, False
        for line in process.stdout:
            what, number, *rest = json.loads(line)
            is_open = what == "try"
            if what == "outcome":
                tally.outcomes[rest[0]] += 1
            elif what == "failure":
                tally.fail(number, rest[0])
        code = process.wait()
        message = errors.result()[-4000:]
    if number < begin:
        raise RuntimeError(f"{tally.kind}: could not begin: exit {code}\n{message}")
    if is_open:
        ended = f"signal {-code}" if code < 0 else f"exit {code}, {limits.MOST_SECONDS} seconds are the limit"
        tally.fail(number, f"{ended}\n{message}")
    elif code not in (0, OUT_OF_MEMORY):
        tally.fail(number, f"at the end of the process, after this file: exit {code}\n{message}")
    return number + 1


def table(tallies):
    """Lines with a kind each."""
    yield f"{'kind':<14}{'files':>9}  {'failures':>8}  outcomes"
    for kind, tally in tallies.items():
        outcomes = ", ".join(f"{count} {name}" for name, count in sorted(tally.outcomes.items()))
        yield f"{kind:<14}{tally.files:>9}  {len(tally.failures):>8}  {outcomes}"
    total = sum(tally.files for tally in tallies.values())
    yield f"{'all':<14}{total:>9}  {sum(len(tally.failures) for tally in tallies.values()):>8}"

"""A whole run as one document. docs/guide/benchmark-your-machine.md lists its fields."""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from graphzero._tools.cores import CAN_PIN
from graphzero._tools.machine import machine, versions
from graphzero.bench.contest import Contest
from graphzero.bench.plan import PARTS
from graphzero.bench.pythons import rival_named
from graphzero.bench.rivals.samplers import FANOUTS

VERSION = 1
_MISSING = {
    "in": "the graph has no in index, which neighbourhoods are drawn from",
    "out": "the graph has no out index, which walks follow",
    "features": "the data set has no features x",
    "labels": "the data set has no labels",
}


def make_document(contest: Contest, parts: Sequence[str], command: str) -> dict[str, Any]:
    """Measure the parts, which ``prepare()`` has seen before, and return the document."""
    started, begin = datetime.now(timezone.utc), time.perf_counter()
    facts = machine(contest.data.folder)
    measured = [measure_part(contest, name) for name in PARTS if name in parts]
    plan = contest.plan
    return {
        "graphzero_bench": VERSION,
        "started": started.isoformat(timespec="seconds"),
        "seconds": time.perf_counter() - begin + (contest.data.seconds_to_make or 0),
        "quick": plan.quick,
        "command": command,
        "machine": facts,
        "versions": versions(),
        "data": contest.data.facts(),
        "settings": {
            "fanouts": FANOUTS,
            "batch_size": plan.batch_size,
            "threads": contest.threads,
            "caps": list(plan.caps),
            "seed": plan.seed,
        },
        "parts": measured,
        "notes": contest.notes,
    }


def measure_part(contest: Contest, name: str) -> dict[str, Any]:
    """Measure one part."""
    part = importlib.import_module(f"graphzero.bench.{name}")
    contest.part = name
    begin, before = time.perf_counter(), contest.data.resident()
    rows: list[dict[str, Any]] = []
    scaling: dict[str, Any] = {}
    missing = missing_for(contest, part.NEEDS)
    conditions: dict[str, str] = {}
    if missing is None:
        rows, scaling = contest.rows(part.figures(contest))
        conditions = part.conditions(contest)
        if any(row["threads"] == 1 for row in rows):
            conditions["one thread"] = "each contestant pinned to one core" if CAN_PIN else "nobody pinned to a core"
        rivals = {rival_named(row["what"]) for row in rows if not row["ours"] and row["value"] is not None}
        known = {rival: contest.pythons.version(rival) for rival in sorted(rivals)}
        if any(known.values()):
            conditions["rivals"] = "; ".join(f"{rival}: {found}" for rival, found in known.items() if found)
    else:
        contest.notes.append(f"{name}: {missing}")
    found = {
        "name": name,
        "title": part.TITLE,
        "question": part.QUESTION,
        "seconds": time.perf_counter() - begin,
        "resident_before": before,
        "resident_after": contest.data.resident(),
        "conditions": conditions,
        "rows": rows,
    }
    return found | ({"scaling": scaling} if scaling else {})


def missing_for(contest: Contest, needs: Sequence[str]) -> str | None:
    """Say what of a part's needs the data does not have; nothing if all is there."""
    data = contest.data
    there = {*data.indexes, *(["features"] if data.features else []), *(["labels"] if data.num_classes else [])}
    return next((_MISSING[need] for need in needs if need not in there), None)


def prepare(contest: Contest, parts: Sequence[str]) -> float:
    """Write what contestants read, and estimate the seconds that measuring takes, from who will be asked what."""
    seconds = 0.0
    for name in parts:
        part = importlib.import_module(f"graphzero.bench.{name}")
        if missing_for(contest, part.NEEDS) is None:
            contest.tell(f"files for {name}", 0.0)
            part.prepare(contest)
            seconds += sum(figure.seconds() for figure in part.figures(contest) if contest.is_there(figure))
    return seconds

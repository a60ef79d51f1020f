"""What a notebook shows of a pipeline's counts: where rows came from, what memory is held, what limits it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphzero._base.html import bars, card, fact_table, line
from graphzero._base.memory_sizes import byte_text
from graphzero._base.pipeline_limits import LIMITS

# Where rows may come from, in the words of a person who waits for them.
_SOURCES = {
    "on_device_rows": "on the device",
    "cached_rows": "from the cache",
    "mapped_rows": "page cache",
    "shared_rows": "read for another",
    "read_rows": "read",
    "late_rows": "read late",
}


class Stats(dict[str, Any]):
    """A dict that notebooks show with bars."""

    def _repr_html_(self) -> str:
        return stats_html("stats", "", self)


def stats_html(kind: str, name: str, stats: Mapping[str, Any], status: str = "") -> str:
    """Show the counts of a pipeline. What is not among them is left out."""
    memory = dict(stats.get("memory", {}))
    budget = memory.pop("budget", 0)
    rows = {text: stats.get(key, 0) for key, text in _SOURCES.items() if stats.get(key)}
    total = sum(rows.values())
    facts = [("batches", f"{stats.get('batches', 0):,}"), ("rows", f"{stats.get('rows', 0):,}")]
    if stats.get("device_reads"):
        facts.append(("read", f"{stats['device_reads']:,} reads, {byte_text(stats['device_bytes'])}"))
    limit = stats.get("roofline", {}).get("limit")
    if limit is not None:
        facts.append(("limited by", LIMITS[limit]))
    if reason := stats.get("plan", {}).get("reason"):
        facts.append(("plan", reason))
    if stats.get("gpu_cache"):
        facts.append(("GPU", stats["gpu_cache"]))
    hits = stats.get("hit_rate")
    drawn = [] if hits is None else [("hit rate", float(hits), f"{hits:.1%}")]
    drawn += [(text, count / total, f"{count:,} rows") for text, count in rows.items()]
    held = sum(memory.values())
    if budget:
        drawn.append(("memory held", held / budget, f"{byte_text(held)} of {byte_text(budget)}"))
        parts = [(purpose.replace("_", " "), size) for purpose, size in memory.items() if size]
        drawn += [(f"· {purpose}", size / budget, byte_text(size)) for purpose, size in parts]
    return card(kind, name, *([line(status)] if status else []), fact_table(facts), bars(drawn))

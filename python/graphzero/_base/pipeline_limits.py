"""What limits a pipeline: what its plan expects, and what its counts say."""

from __future__ import annotations

from typing import Any

from graphzero._base.memory_sizes import byte_text

# As a status line names them.
LIMITS = {"device": "the disk", "threads": "the threads", "caller": "your loop"}


def plan_reason(plan: dict[str, Any], threads: int) -> str:
    """Say how a budget was divided, and what to expect of it."""
    batches = _count(plan["batches_ahead"], "batch", "batches")
    if not plan["cache"] and not plan["misses"]:
        return f"{batches} ahead; nothing is read for a batch past the page cache"
    ahead = f"{byte_text(plan['ahead'])} for {batches} ahead"
    if plan["draws_again"]:
        ahead += ", sampled twice instead of kept"
    if not plan["misses"]:
        return f"{byte_text(plan['cache'])} for cached rows, {ahead}; nothing is read for a batch"
    return (
        f"{byte_text(plan['cache'])} for cached rows, {ahead}; "
        f"expected for a batch: {plan['misses']:,.0f} rows missed, {byte_text(round(plan['read_bytes']))} read "
        f"in {plan['read_seconds'] * 1e3:.1f} ms of the device, "
        f"{plan['thread_seconds'] / threads * 1e3:.1f} ms of {_count(threads, 'thread', 'threads')}"
    )


def _count(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"


def roofline(stats: dict[str, Any]) -> dict[str, Any]:
    """Return the least seconds of a batch by what may limit it, and what does."""
    batches, plan = stats["batches"], stats["plan"]
    if not batches:
        return {"device": None, "threads": None, "caller": None, "limit": None}
    device = stats["device_reads"] * plan["seconds_per_read"] + stats["device_bytes"] * plan["seconds_per_byte"]
    threads = (stats["seconds_sampling"] + stats["seconds_assembling"]) / stats["threads"]
    found = {"device": device / batches, "threads": threads / batches, "caller": stats["seconds_away"] / batches}
    return {**found, "limit": max(found, key=lambda name: found[name])}

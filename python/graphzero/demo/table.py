"""The table at the end: what loading takes, what it took, and what came of it."""

from __future__ import annotations

from rich.table import Table

from graphzero._base.memory_sizes import byte_text
from graphzero.demo.proof import Proof, Training

_NOT_THERE = "—"


def result_table(proof: Proof) -> Table:
    """Put both trainings side by side. Times are of equal results only, so there are none if the proof fails."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("")
    table.add_column("in memory", justify="right")
    table.add_column("out of core", justify="right")
    for name, in_memory, out_of_core in _rows(proof):
        table.add_row(name, in_memory, out_of_core)
    return table


def _rows(proof: Proof) -> list[tuple[str, str, str]]:
    far, near = proof.out_of_core, proof.in_memory
    assert far is not None
    killed = f"killed at {byte_text(proof.limit or 0)}" if proof.loading == "killed" else proof.loading or "not tried"
    rows = [
        ("memory to load data into, computed", byte_text(proof.sizes.loading_bytes), "0 B"),
        ("memory that the engine may hold", "no limit", byte_text(proof.sizes.memory)),
        ("limit that the kernel enforces", "none", _bytes(proof.limit)),
        ("loading it all under that limit", killed, "not needed"),
        ("peak of anonymous memory", _bytes(near.peak_anonymous if near else None), byte_text(far.peak_anonymous)),
        ("peak with page cache", _bytes(near.peak_memory if near else None), byte_text(far.peak_memory)),
        ("killed by the kernel", _NOT_THERE, _NOT_THERE if proof.kills is None else f"{proof.kills} processes"),
        ("read from disk while training", _bytes(near.device_bytes if near else None), _bytes(far.device_bytes)),
        ("rows found in memory", _share(near), _share(far)),
        ("test accuracy", _accuracy(near), _accuracy(far)),
    ]
    if proof.holds:
        rows.append(("time of an epoch", _seconds(near), _seconds(far)))
    return rows


def _bytes(count: int | None) -> str:
    return _NOT_THERE if count is None else byte_text(count)


def _share(training: Training | None) -> str:
    return _NOT_THERE if training is None or training.hit_rate is None else f"{training.hit_rate:.0%}"


def _accuracy(training: Training | None) -> str:
    return _NOT_THERE if training is None else f"{training.test_accuracy:.4f}"


def _seconds(training: Training | None) -> str:
    return _NOT_THERE if training is None else f"{training.seconds_per_epoch:.1f} s"

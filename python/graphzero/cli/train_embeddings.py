"""``graphzero train --task embeddings``: node2vec, to a ``.gd`` file."""

from __future__ import annotations

import errno
import os
import time
from contextlib import ExitStack
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import graphzero as gz
from graphzero._base.argument_errors import value_error
from graphzero._base.memory_sizes import byte_text, peak_memory
from graphzero._base.visible import visible
from graphzero._files.storage import target_here
from graphzero.cli.console import print_facts, print_json, spinner
from graphzero.cli.train_begin import import_torch
from graphzero.cli.train_logs import LogOptions, epoch_row
from graphzero.train.walk_settings import WalkSettings

_COLUMNS = ["epoch", "loss", "seconds", "batches", "batches_per_second", "peak_memory"]


def train_embeddings(
    folder: Path, edge_type: str | None, settings: WalkSettings, out: Path | None, logs: LogOptions, *, json: bool
) -> int:
    """Train embeddings of all nodes, and write them."""
    begin = time.perf_counter()
    path = _checked_out(out)
    logs.check(resumed=False)
    with gz.open(folder) as data, ExitStack() as stack:
        import_torch()
        from graphzero.train.embeddings import EmbeddingRun, walked_graph

        run = EmbeddingRun(walked_graph(data, edge_type), settings)
        sinks = logs.sinks(stack, _COLUMNS, [], asdict(settings))
        for done in run.steps():
            if done is None:
                continue
            row = {**epoch_row(done), "peak_memory": peak_memory()}
            for sink in sinks:
                sink.write(row)
            if not json:
                print(visible(_epoch_line(row, settings.epochs)), flush=True)
        with spinner("writing embeddings"):
            run.write(path)
        shape = run.model().shape
    document = {
        "path": os.fspath(folder),
        "settings": {"task": "embeddings", **asdict(settings)},
        "history": [{**asdict(done), "epoch": done.epoch + 1} for done in run.history],
        "embeddings": path,
        "shape": list(shape),
        "seconds": time.perf_counter() - begin,
        "memory": {"peak_rss": peak_memory()},
    }
    if json:
        print_json(document)
        return 0
    rows = [
        ("embeddings", f"{shape[0]:,} × {shape[1]} in {path}"),
        ("time", f"{document['seconds']:.1f} s"),
        ("memory", f"{byte_text(peak_memory())} at most"),
    ]
    print_facts(os.fspath(folder), rows)
    return 0


def walk_settings(given: dict[str, Any]) -> WalkSettings:
    """Read the options given; those of models are refused."""
    known = {field.name for field in fields(WalkSettings)}
    for name, value in given.items():
        if name not in known and name != "task":
            raise value_error(name, f"expected none with --task embeddings, which has no use for it, found {value}")
    return WalkSettings(**{name: value for name, value in given.items() if name in known})


def _checked_out(out: Path | None) -> str:
    name = "" if out is None else target_here(out)
    if os.path.splitext(name)[1].lower() != ".gd":
        found = repr(name) if name else "none"
        raise value_error("embeddings_out", f"expected a name that ends in .gd for the embeddings, found {found}")
    if os.path.lexists(name):
        raise FileExistsError(errno.EEXIST, "exists; remove it, or choose another name", name)
    folder = os.path.dirname(os.path.abspath(name))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "no such folder; make it first", folder)
    return name


def _epoch_line(row: dict[str, Any], epochs: int) -> str:
    return (
        f"epoch {row['epoch']}/{epochs}: loss {row['loss']:.4f}, {row['seconds']:.1f} s, "
        f"{row['batches_per_second']:.1f} batches/s"
    )

"""``graphzero demo``: prove the promise on this machine. docs/guide/command-line.md lists the JSON."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from graphzero._base.argument_errors import value_error
from graphzero._base.memory_sizes import byte_count, byte_text
from graphzero.cli.console import JsonOption, print_json

FAILED = 2


def demo(
    folder: Annotated[Path | None, typer.Option(help="Keep the data set in this folder.", show_default=False)] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Use a small data set and train less.")] = False,
    memory: Annotated[
        str | None, typer.Option(help="Memory limit of the engine, such as 200MB.", show_default=False)
    ] = None,
    json: JsonOption = False,
) -> int:
    """Train on a data set several times larger than the memory allowed, and prove it."""
    missing = [name for name in ("torch", "torch_geometric") if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(f"demo: needs {' and '.join(missing)} to train; pip install torch torch-geometric")
    from rich.console import Console

    from graphzero.demo.data import FULL, QUICK
    from graphzero.demo.places import working_folder
    from graphzero.demo.story import end, prove
    from graphzero.demo.view import Screen

    sizes = QUICK if quick else FULL
    if memory is not None:
        sizes = replace(sizes, memory=byte_count(memory))
    if sizes.memory >= sizes.feature_bytes:
        raise value_error(
            "memory",
            f"expected less than the {byte_text(sizes.feature_bytes)} of features, found {memory}; "
            "the demo is to show that it is enough",
        )
    screen = Screen(Console(stderr=json, quiet=json and not sys.stderr.isatty(), highlight=False))
    with working_folder(folder, sizes.disk_bytes) as path:
        proof = prove(screen, path, sizes)
    if json:
        print_json(proof.document())
    else:
        end(screen, proof, None if folder is None else path)
    return 0 if proof.holds else FAILED

"""``graphzero push``: a data set folder to object storage."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

import typer

import graphzero as gz
from graphzero._base.visible import visible_lines
from graphzero.cli.console import JsonOption, print_json


def push(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A data set folder.", show_default=False)],
    target: Annotated[
        str, typer.Argument(metavar="URL", help="Where to: s3://bucket/name, or a folder.", show_default=False)
    ],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace another data set there.")] = False,
    parts: Annotated[
        str, typer.Option(help="Store larger attributes in parts of this size; none: in one file each.")
    ] = "2GB",
    threads: Annotated[int | None, typer.Option(help="Files that are sent at the same time. Default: 8.")] = None,
    json: JsonOption = False,
) -> int:
    """Bring a data set folder to object storage: files that are there already are not sent again."""
    report = gz.push(
        folder, target, parts=None if parts == "none" else parts, overwrite=overwrite, threads=threads,
        progress=sys.stderr.isatty(),
    )  # fmt: skip
    if json:
        print_json(dataclasses.asdict(report))
    else:
        print(visible_lines(str(report)))
    return 0

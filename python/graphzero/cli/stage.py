"""``graphzero stage``: a data set from object storage to the disk of this machine."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import graphzero as gz
from graphzero._base.visible import visible_lines
from graphzero.cli.console import JsonOption, print_json


def stage(
    source: Annotated[
        str, typer.Argument(metavar="URL", help="A data set: s3://bucket/name, or a folder.", show_default=False)
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The data set folder to write.", show_default=False)],
    features: Annotated[
        str | None, typer.Option(metavar="[TYPE.]NAME,…", help="The attributes to bring. Default: all.")
    ] = None,
    verify: Annotated[str, typer.Option(help="header, or full: prove all checksums.")] = "header",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a data set folder.")] = False,
    threads: Annotated[int | None, typer.Option(help="Requests at the same time. Default: 8.")] = None,
    json: JsonOption = False,
) -> int:
    """Bring a data set from object storage to a folder; after an interruption, go on with what has come."""
    names = None if features is None else [name.strip() for name in features.split(",") if name.strip()]
    how: Any = verify
    report = gz.stage(
        source, folder, features=names, verify=how, overwrite=overwrite, threads=threads, progress=sys.stderr.isatty()
    )
    if json:
        print_json(dataclasses.asdict(report))
    else:
        print(visible_lines(str(report)))
    return 0

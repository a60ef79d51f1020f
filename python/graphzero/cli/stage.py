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
    host: Annotated[
        int | None,
        typer.Option(help="Which of --hosts, that divide rows of nodes, this is, from 0.", show_default=False),
    ] = None,
    hosts: Annotated[int | None, typer.Option(help="How many hosts divide rows.", show_default=False)] = None,
    hot: Annotated[str, typer.Option(metavar="SIZE", help="Rows that all hosts have, such as 2GB.")] = "0",
    whole: Annotated[
        str | None, typer.Option(metavar="[TYPE.]NAME,…", help="Attributes that hosts do not divide.")
    ] = None,
    verify: Annotated[str, typer.Option(help="header, or full: prove all checksums.")] = "header",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a data set folder.")] = False,
    threads: Annotated[int | None, typer.Option(help="Requests at the same time. Default: 8.")] = None,
    json: JsonOption = False,
) -> int:
    """Bring a data set from object storage to a folder; after an interruption, go on with what has come."""
    how: Any = verify
    report = gz.stage(
        source,
        folder,
        features=None if features is None else _names(features),
        host=host,
        hosts=hosts,
        hot=hot,
        whole=() if whole is None else _names(whole),
        verify=how,
        overwrite=overwrite,
        threads=threads,
        progress=sys.stderr.isatty(),
    )
    if json:
        print_json(dataclasses.asdict(report))
    else:
        print(visible_lines(str(report)))
    return 0


def _names(given: str) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()]

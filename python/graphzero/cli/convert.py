"""``graphzero convert``: edges, features or a data set folder to our files."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import graphzero as gz
from graphzero.cli.console import JsonOption, print_json, text_keys
from graphzero.estimate import estimate_edges


def convert(
    source: Annotated[list[str], typer.Argument(help="Files, a glob, a folder, or - for standard input.")],
    target: Annotated[Path, typer.Argument(help="A .gl file for edges, a .gd file for features, or a folder.")],
    undirected: Annotated[bool, typer.Option("--undirected", help="Store each edge both ways.")] = False,
    index: Annotated[str, typer.Option(help="Which index to store: both, out or in.")] = "both",
    src: Annotated[str | None, typer.Option(help="Column of the source, by name or position from 0.")] = None,
    dst: Annotated[str | None, typer.Option(help="Column of the destination.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of the weight.")] = None,
    time: Annotated[str | None, typer.Option(help="Column of the timestamp.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="One character; a space stands for any blanks.")] = None,
    header: Annotated[bool | None, typer.Option("--header/--no-header", help="Whether there is a header.")] = None,
    num_nodes: Annotated[int | None, typer.Option(help="The number of nodes, if not the largest id + 1.")] = None,
    dedup: Annotated[bool, typer.Option("--dedup", help="Keep the first of equal edges.")] = False,
    drop_self_loops: Annotated[bool, typer.Option("--drop-self-loops", help="Leave out edges to themselves.")] = False,
    no_edge_ids: Annotated[bool, typer.Option("--no-edge-ids", help="Save their space, with one index.")] = False,
    skip_bad_lines: Annotated[bool, typer.Option("--skip-bad-lines", help="Report them instead of failing.")] = False,
    dtype: Annotated[str | None, typer.Option(help="Features: the type to store.")] = None,
    hot_order: Annotated[
        Path | None, typer.Option(help="Features: store rows hottest first, by the edges of this .gl file.")
    ] = None,
    memory: Annotated[str | None, typer.Option(help="Memory to stay within, such as 2GB.")] = None,
    tmp_dir: Annotated[Path | None, typer.Option(help="Where to put what does not fit in memory.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads to use.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a data set folder.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a data set that was cut off.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate rows, memory, disk and time.")] = False,
    json: JsonOption = False,
) -> int:
    """Convert edges to a .gl file, features to a .gd file, or a data set to a folder."""
    given: Any = sys.stdin.buffer if source == ["-"] else source[0] if len(source) == 1 else source
    progress = sys.stderr.isatty()
    if target.suffix == ".gl":
        options: dict[str, Any] = {
            "directed": not undirected, "index": index, "weight": _column(weight), "time": _column(time),
            "edge_ids": not no_edge_ids, "memory": memory,
        }  # fmt: skip
        if dry_run:
            return _print(estimate_edges(given, **options), json)
        report: Any = gz.convert_edges(
            given, target, **options, src=_column(src), dst=_column(dst), delimiter=delimiter, header=header,
            num_nodes=num_nodes, dedup=dedup, self_loops="drop" if drop_self_loops else "keep", tmp_dir=tmp_dir,
            on_bad_line="skip" if skip_bad_lines else "error", threads=threads, progress=progress,
        )  # fmt: skip
    elif target.suffix == ".gd":
        graph = None if hot_order is None else gz.Graph(hot_order)
        report = gz.convert_features(
            given, target, dtype=dtype, delimiter=delimiter, header=header, memory=memory, threads=threads,
            on_bad_line="skip" if skip_bad_lines else "error", progress=progress, dry_run=dry_run,
            order=None if graph is None else "hot", graph=graph,
        )  # fmt: skip
    elif os.path.isdir(source[0]) and len(source) == 1:
        report = gz.convert_dataset(
            source[0], target, memory=memory, progress=progress, overwrite=overwrite, resume=resume
        )
    else:
        raise ValueError(f"{target}: expected a name that ends in .gl or .gd, or a source that is a folder")
    return _print(report, json)


def _column(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdigit() else text


def _print(report: Any, json: bool) -> int:
    if json and dataclasses.is_dataclass(report) and not isinstance(report, type):
        print_json(text_keys(dataclasses.asdict(report)))
    else:
        print(report)
    return 0

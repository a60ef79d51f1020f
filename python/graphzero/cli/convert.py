"""``graphzero convert``: edges, features or a data set folder to graphzero's files."""

from __future__ import annotations

import dataclasses
import errno
import glob
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import graphzero as gz
from graphzero._base.visible import visible_lines
from graphzero.cli.console import JsonOption, print_json, text_keys

# Which options apply to a target; those in none of the sets apply to all.
_EDGES, _FEATURES, _DATASET = "edges (.gl)", "features (.gd)", "a data set folder"
_TEXT = {"delimiter", "header", "skip_bad_lines", "threads", "dry_run"}
OPTIONS_OF_TARGET = {
    _EDGES: _TEXT
    | {"undirected", "index", "src", "dst", "weight", "time", "num_nodes", "drop_duplicates", "dedup"}
    | {"drop_self_loops", "no_edge_ids", "ids", "tmp_dir"},
    _FEATURES: _TEXT | {"dtype", "hot_order"},
    _DATASET: {"dtype", "overwrite", "resume"},
}


def convert(
    context: typer.Context,
    source: Annotated[
        list[str], typer.Argument(metavar="SOURCE", help="Files, a glob, a folder, or - for standard input.")
    ],
    target: Annotated[
        Path, typer.Argument(metavar="TARGET", help="A .gl file for edges, a .gd file for features, or a folder.")
    ],
    undirected: Annotated[bool, typer.Option("--undirected", help="Store each edge both ways.")] = False,
    index: Annotated[str, typer.Option(help="Which index to store: both, out or in.")] = "both",
    src: Annotated[str | None, typer.Option(help="Column of the source, by name or position from 0.")] = None,
    dst: Annotated[str | None, typer.Option(help="Column of the destination.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of the weight.")] = None,
    time: Annotated[str | None, typer.Option(help="Column of the timestamp.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="One character; a space means any blanks.")] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line is a header.")
    ] = None,
    num_nodes: Annotated[int | None, typer.Option(help="Number of nodes. Default: the largest id + 1.")] = None,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Keep only the first of equal edges.")
    ] = False,
    dedup: Annotated[bool, typer.Option("--dedup", hidden=True)] = False,
    drop_self_loops: Annotated[
        bool, typer.Option("--drop-self-loops", help="Leave out edges from a node to itself.")
    ] = False,
    ids: Annotated[
        str, typer.Option(help="dense keeps ids as they are, map numbers them and writes a .gi file, auto decides.")
    ] = "auto",
    no_edge_ids: Annotated[bool, typer.Option("--no-edge-ids", help="Do not store edge ids; needs one index.")] = False,
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Skip and report bad lines instead of failing.")
    ] = False,
    dtype: Annotated[str | None, typer.Option(help="Features: the type to store.")] = None,
    hot_order: Annotated[
        Path | None, typer.Option(help="Features: store rows hottest first, by the edges of this .gl file.")
    ] = None,
    memory: Annotated[str | None, typer.Option(help="Memory limit, such as 2GB.")] = None,
    tmp_dir: Annotated[Path | None, typer.Option(help="Where to put what does not fit in memory.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads to use.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a data set folder.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted data set.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate rows, memory, disk and time.")] = False,
    json: JsonOption = False,
) -> int:
    """Convert edges to a .gl file, features to a .gd file, or a data set to a folder."""
    kind = _kind(source, target)
    _refuse_other_options(context, kind, target)
    given = _given(source)
    progress = sys.stderr.isatty()
    if dedup:
        print("graphzero: --dedup is now --drop-duplicates", file=sys.stderr)
    if kind == _EDGES:
        options: dict[str, Any] = {
            "directed": not undirected, "index": index, "weight": _column(weight), "time": _column(time),
            "edge_ids": not no_edge_ids, "memory": memory,
        }  # fmt: skip
        if dry_run:
            from graphzero.convert.estimate import estimate_edges

            return _print(estimate_edges(given, **options), json)
        report: Any = gz.convert_edges(
            given, target, **options, src=_column(src), dst=_column(dst), delimiter=delimiter, header=header,
            num_nodes=num_nodes, ids=ids, tmp_dir=tmp_dir,  # type: ignore[arg-type]
            duplicates="drop" if drop_duplicates or dedup else "keep",
            self_loops="drop" if drop_self_loops else "keep",
            bad_lines="skip" if skip_bad_lines else "raise", threads=threads, progress=progress,
        )  # fmt: skip
    elif kind == _FEATURES:
        graph = None if hot_order is None else gz.Graph(hot_order)
        report = gz.convert_features(
            given, target, dtype=dtype, delimiter=delimiter, header=header, memory=memory, threads=threads,
            bad_lines="skip" if skip_bad_lines else "raise", progress=progress, dry_run=dry_run,
            order=None if graph is None else "hot", graph=graph,
        )  # fmt: skip
    else:
        report = gz.convert_dataset(
            given, target, feature_dtype=dtype, memory=memory, progress=progress, overwrite=overwrite, resume=resume
        )
    return _print(report, json)


def _kind(source: list[str], target: Path) -> str:
    """Return what is to be written, by the target, and refuse a source that cannot become that."""
    folders = [name for name in source if os.path.isdir(name)]
    kind = {".gl": _EDGES, ".gd": _FEATURES}.get(target.suffix)
    if kind is not None:
        if folders:
            raise ValueError(
                f"{folders[0]}: is a folder, expected files; a data set folder becomes a folder, not {target}"
            )
        return kind
    if folders == source:
        if len(source) > 1:
            raise ValueError(f"{source[1]}: expected one data set folder, found {len(source)}; convert them one by one")
        return _DATASET
    if len(source) == 1 and source[0].endswith((".pt", ".pth")) and os.path.isfile(source[0]):
        return _DATASET  # an object of PyG
    missing = [name for name in source if name != "-" and not glob.has_magic(name) and not os.path.lexists(name)]
    if missing:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), missing[0])
    raise ValueError(f"{target}: expected a name that ends in .gl or .gd, or a source that is a folder")


def _refuse_other_options(context: typer.Context, kind: str, target: Path) -> None:
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        about = [kind for kind, names in OPTIONS_OF_TARGET.items() if option.name in names]
        if about and kind not in about and source is not None and source.name == "COMMANDLINE":
            raise ValueError(f"{option.opts[0]} is about {' and '.join(about)}, and {target} is not; leave it out")


def _given(source: list[str]) -> Any:
    if "-" not in source:
        return source[0] if len(source) == 1 else source
    if len(source) > 1:
        raise ValueError(f"-: expected standard input alone, found {len(source)} sources; convert files by their names")
    if sys.stdin is None:
        raise ValueError("-: standard input is closed; give the name of a file")
    return sys.stdin.buffer


def _column(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdigit() else text


def _print(report: Any, json: bool) -> int:
    if json and dataclasses.is_dataclass(report) and not isinstance(report, type):
        print_json(text_keys(dataclasses.asdict(report)))
    else:
        print(visible_lines(str(report)))
    return 0

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
from graphzero._base.argument_errors import Argument, Setting, error_of, value_error
from graphzero._base.visible import visible_lines
from graphzero._files.storage import is_url, shown_url
from graphzero.cli import convert_values as values
from graphzero.cli.console import JsonOption, print_json, text_keys

# Which options apply to a target; those in none of the sets apply to all.
_EDGES, _FEATURES, _DATASET = "edges (.gl)", "features (.gd)", "a data set folder"
_TEXT = {"delimiter", "header", "skip_bad_lines", "threads", "dry_run"}
_SHARDS = {"engine", "shards", "address", "work_dir"}
OPTIONS_OF_TARGET = {
    _EDGES: _TEXT
    | {"undirected", "index", "src", "dst", "weight", "time", "time_unit", "num_nodes", "bipartite", "drop_duplicates"}
    | {"dedup", "drop_self_loops", "no_edge_ids", "ids", "ids_file", "tmp_dir", "comment"}
    | _SHARDS,
    _FEATURES: _TEXT | _SHARDS | {"dtype", "hot_order", "columns", "id_column", "ids_file", "key", "shape", "num_rows"},
    _DATASET: {"dtype", "overwrite", "resume", "label", "split", "task", "add_inverse_edge", "num_nodes"}
    | {"weight", "time", "undirected", "index", "no_edge_ids"},
}


def convert(
    context: typer.Context,
    source: Annotated[
        list[str], typer.Argument(metavar="SOURCE", help="Files, a glob, a folder, or - for standard input.")
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="A .gl file for edges, a .gd file for features, or a folder. With --shards, also URLs: of a folder "
            "for edges, of a .gd for features.",
        ),
    ],
    undirected: Annotated[bool, typer.Option("--undirected", help="Store each edge both ways.")] = False,
    index: Annotated[str, typer.Option(help="Which index to store: both, out or in.")] = "both",
    src: Annotated[str | None, typer.Option(help="Column of the source, by name or position from 0.")] = None,
    dst: Annotated[str | None, typer.Option(help="Column of the destination.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of the weight.")] = None,
    time: Annotated[str | None, typer.Option(help="Column of the timestamp: integers, or ISO 8601.")] = None,
    time_unit: Annotated[
        str | None, typer.Option(help="What timestamps become: s, ms, us or ns. Default: s, or as a table has them.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="One character; a space means any blanks.")] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line is a header.")
    ] = None,
    comment: Annotated[
        str | None, typer.Option(help="Edges: characters that begin a line to ignore. Default: #%; '' ignores none.")
    ] = None,
    num_nodes: Annotated[
        str | None,
        typer.Option(help="Number of nodes, two of a bipartite graph, or of types: paper=9,author=5. Default: found."),
    ] = None,
    bipartite: Annotated[
        bool, typer.Option("--bipartite", help="Sources and destinations are two kinds of node, each with its own ids.")
    ] = False,
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
    ids_file: Annotated[
        list[Path] | None,
        typer.Option(help="A .gi file to look labels up in; twice for a bipartite graph: sources, destinations."),
    ] = None,
    no_edge_ids: Annotated[bool, typer.Option("--no-edge-ids", help="Do not store edge ids; needs one index.")] = False,
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Skip and report bad lines instead of failing.")
    ] = False,
    dtype: Annotated[str | None, typer.Option(help="Features: the type to store.")] = None,
    columns: Annotated[
        str | None, typer.Option(help="Features: columns by name or position, as a,b,c; one makes a vector.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(help="Features: the column that says which row it is, or with --ids-file its label.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Features: which array of an .npz, or entry of a .pt.")] = None,
    shape: Annotated[str | None, typer.Option(help="Features: the shape, such as 100,16; -1 rows are counted.")] = None,
    num_rows: Annotated[int | None, typer.Option(help="Features: the number of rows to expect.")] = None,
    hot_order: Annotated[
        Path | None, typer.Option(help="Features: store rows hottest first, by the edges of this .gl file.")
    ] = None,
    memory: Annotated[str | None, typer.Option(help="Memory limit, such as 2GB.")] = None,
    tmp_dir: Annotated[Path | None, typer.Option(help="Where to put what does not fit in memory.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads to use.")] = None,
    engine: Annotated[
        str | None, typer.Option(help="What runs the steps of a conversion in shards: local or ray.")
    ] = None,
    shards: Annotated[
        int | None, typer.Option(help="Make the file in so many parts, each by itself; it is the same.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="The host:port of the head of a Ray cluster. Default: this machine's cluster.")
    ] = None,
    work_dir: Annotated[
        str | None,
        typer.Option(help="The folder, or URL, for files of the steps, which all nodes see; kept on failure."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Data sets: which of several labels.")] = None,
    split: Annotated[str | None, typer.Option(help="Data sets: which of several splits.")] = None,
    task: Annotated[str | None, typer.Option(help="Data sets: which of several tasks.")] = None,
    add_inverse_edge: Annotated[
        bool | None,
        typer.Option("--add-inverse-edge/--no-add-inverse-edge", help="Data sets: whether OGB adds inverse edges."),
    ] = None,
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
    _check_engine(engine, shards)
    steps: dict[str, Any] = {"shards": shards, "engine": engine or "local", "address": address, "work_dir": work_dir}
    if kind == _EDGES:
        options: dict[str, Any] = {
            "directed": not undirected, "index": index, "weight": values.column(weight),
            "time": values.column(time), "edge_ids": not no_edge_ids, "memory": memory,
        }  # fmt: skip
        if dry_run:
            from graphzero.convert.estimate import estimate_edges

            return _print(estimate_edges(given, **options), json)
        report: Any = gz.convert_edges(
            given, target, **options, src=values.column(src), dst=values.column(dst), delimiter=delimiter,
            header=header, num_nodes=values.node_counts(num_nodes), bipartite=bipartite, ids=_ids(ids, ids_file),
            time_unit=time_unit, comment=comment, tmp_dir=tmp_dir,  # type: ignore[arg-type]
            duplicates="drop" if drop_duplicates or dedup else "keep",
            self_loops="drop" if drop_self_loops else "keep",
            bad_lines="skip" if skip_bad_lines else "raise", threads=threads, progress=progress, **steps,
        )  # fmt: skip
    elif kind == _FEATURES:
        graph = None if hot_order is None else gz.Graph(hot_order)
        if ids_file and (len(ids_file) > 1 or id_column is None):
            raise error_of(
                ValueError, Argument("ids_file"), ": expected one file, and ", Setting("id_column"), " with the labels"
            )
        report = gz.convert_features(
            given, target, dtype=dtype, delimiter=delimiter, header=header, memory=memory, threads=threads,
            bad_lines="skip" if skip_bad_lines else "raise", progress=progress, dry_run=dry_run,
            order=None if graph is None else "hot", graph=graph, columns=values.columns(columns),
            id_column=values.column(id_column), ids=ids_file[0] if ids_file else None, key=key,
            shape=values.shape(shape), num_rows=num_rows, **steps,
        )  # fmt: skip
    else:
        options = {
            "num_nodes": values.node_counts(num_nodes), "label": label, "split": values.column(split), "task": task,
            "add_inverse_edge": add_inverse_edge, "weight": values.column(weight), "time": values.column(time),
            "directed": False if undirected else None, "index": index if _is_given(context, "index") else None,
            "edge_ids": False if no_edge_ids else None,
        }  # fmt: skip
        said = {name: value for name, value in options.items() if value is not None}
        report = gz.convert_dataset(
            given, target, feature_dtype=dtype, memory=memory, progress=progress, overwrite=overwrite, resume=resume,
            **said,
        )  # fmt: skip
    return _print(report, json)


def _kind(source: list[str], target: str) -> str:
    """Return what is to be written, by the target, and refuse a source that cannot become that."""
    folders = [name for name in source if os.path.isdir(name)]
    tables = [name for name in folders if _is_table(name)]
    kind = {".gl": _EDGES, ".gd": _FEATURES}.get(Path(shown_url(target)).suffix)
    if kind is not None:
        if folders != (tables if kind == _EDGES else []):
            raise ValueError(
                f"{folders[0]}: is a folder, expected files; a data set folder becomes a folder, not {target}"
            )
        return kind
    if is_url(target) and folders == tables:
        return _EDGES
    if folders == source:
        if len(source) > 1:
            raise ValueError(f"{source[1]}: expected one data set folder, found {len(source)}; convert them one by one")
        return _DATASET
    if len(source) == 1 and source[0].endswith((".pt", ".pth")) and os.path.isfile(source[0]):
        return _DATASET  # an object of PyG
    near = [name for name in source if name != "-" and not is_url(name)]
    missing = [name for name in near if not glob.has_magic(name) and not os.path.lexists(name)]
    if missing:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), missing[0])
    raise ValueError(f"{target}: expected a name that ends in .gl or .gd, or a source that is a folder")


def _is_table(folder: str) -> bool:
    """Whether a folder has Parquet files at its top or below partitions, as Spark writes them, and is no data set."""
    from graphzero._files.manifest_paths import MANIFEST
    from graphzero.convert.arrow_files import parquet_files

    return MANIFEST not in os.listdir(folder) and bool(parquet_files(folder))


def _refuse_other_options(context: typer.Context, kind: str, target: str) -> None:
    for option in context.command.params:
        about = [kind for kind, names in OPTIONS_OF_TARGET.items() if option.name in names]
        if about and kind not in about and _is_given(context, option.name or ""):
            raise ValueError(f"{option.opts[0]} is about {' and '.join(about)}, and {target} is not; leave it out")


def _check_engine(engine: str | None, shards: int | None) -> None:
    if engine is not None and shards is None:
        raise error_of(ValueError, Argument("engine"), ": expected ", Setting("shards"), " with it, found none")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _ids(ids: str, files: list[Path] | None) -> Any:
    if not files:
        return ids
    if ids != "auto" or len(files) > 2:
        raise value_error("ids_file", "expected one file, or two for a bipartite graph, instead of --ids")
    return files[0] if len(files) == 1 else tuple(files)


def _given(source: list[str]) -> Any:
    if "-" not in source:
        return source[0] if len(source) == 1 else source
    if len(source) > 1:
        raise ValueError(f"-: expected standard input alone, found {len(source)} sources; convert files by their names")
    if sys.stdin is None:
        raise ValueError("-: standard input is closed; give the name of a file")
    return sys.stdin.buffer


def _print(report: Any, json: bool) -> int:
    if json and dataclasses.is_dataclass(report) and not isinstance(report, type):
        print_json(text_keys(dataclasses.asdict(report)))
    else:
        print(visible_lines(str(report)))
    return 0

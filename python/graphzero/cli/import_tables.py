"""``graphzero import``: tables of nodes and edges to a data set folder."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

import graphzero as gz
from graphzero._base.visible import visible_lines
from graphzero._files.storage import is_url
from graphzero.cli.console import JsonOption, print_json, text_keys

_NODES = "nodes"
_EDGES = "edges"
# What an option of the command is among the settings of a table, and how its value is read.
Reader = Callable[[str], Any]


def _column(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _features(text: str) -> Any:
    return text if text == "*" else [_feature(part.strip()) for part in text.split(",") if part.strip()]


def _feature(text: str) -> Any:
    name, _, form = text.rpartition(":")
    return {"column": _column(name), "as": form} if name and form in ("onehot", "code", "number") else _column(text)


def _label(text: str) -> Any:
    name, _, kind = text.rpartition(":")
    return {"column": _column(name), "kind": kind} if name and kind in ("class", "number") else _column(text)


def _split(text: str) -> Any:
    """Read a column, or ``train:0.8,valid:0.1,by:year,seed:1``, or files: ``train:train.csv,test:test.csv``."""
    if ":" not in text:
        return _column(text)
    parts: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.partition(":")
        parts[name.strip()] = _number(value.strip())
    return parts


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def import_tables(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The data set folder to write.")],
    nodes: Annotated[
        list[str] | None, typer.Option(metavar="[TYPE=]FILE", help="A table of nodes; more files of a type add rows.")
    ] = None,
    edges: Annotated[
        list[str] | None,
        typer.Option(metavar="[SRC:RELATION:DST=]FILE", help="A table of edges; more files of a type add rows."),
    ] = None,
    recipe: Annotated[
        Path | None, typer.Option(help="A TOML, YAML or JSON file with the same settings; options come on top.")
    ] = None,
    id: Annotated[list[str] | None, typer.Option(metavar="[TYPE=]COLUMN", help="Nodes: the ids.")] = None,
    label: Annotated[
        list[str] | None, typer.Option(metavar="[TYPE=]COLUMN[:class|:number]", help="Nodes: the labels.")
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(metavar="[TYPE=]COLUMNS", help="Columns with commas; text with :onehot or :code; * is all."),
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(metavar="[TYPE=]SPLIT", help="A column, or train:0.8,valid:0.1,test:0.1 (by:COLUMN, seed:N)."),
    ] = None,
    src: Annotated[list[str] | None, typer.Option(metavar="[TYPE=]COLUMN", help="Edges: the sources.")] = None,
    dst: Annotated[list[str] | None, typer.Option(metavar="[TYPE=]COLUMN", help="Edges: the destinations.")] = None,
    weight: Annotated[list[str] | None, typer.Option(metavar="[TYPE=]COLUMN", help="Edges: the weights.")] = None,
    time: Annotated[
        list[str] | None, typer.Option(metavar="[TYPE=]COLUMN", help="The times: ISO dates, timestamps or integers.")
    ] = None,
    time_unit: Annotated[
        list[str] | None, typer.Option(metavar="[TYPE=]UNIT", help="What times count: s, ms, us or ns.")
    ] = None,
    time_zone: Annotated[
        list[str] | None, typer.Option(metavar="[TYPE=]ZONE", help="The zone of times without one. Default: UTC.")
    ] = None,
    dtype: Annotated[list[str] | None, typer.Option(metavar="[TYPE=]DTYPE", help="The type of features.")] = None,
    fill: Annotated[
        list[str] | None, typer.Option(metavar="[TYPE=]NUMBER", help="What stands where a number is missing.")
    ] = None,
    delimiter: Annotated[
        list[str] | None, typer.Option(metavar="[TYPE=]CHARACTER", help="What separates columns of text.")
    ] = None,
    encoding: Annotated[
        list[str] | None, typer.Option(metavar="[TYPE=]ENCODING", help="That of text, such as latin-1.")
    ] = None,
    undirected: Annotated[bool, typer.Option("--undirected", help="Store each edge both ways.")] = False,
    drop_duplicates: Annotated[bool, typer.Option("--drop-duplicates", help="Keep the first of equal edges.")] = False,
    drop_self_loops: Annotated[
        bool, typer.Option("--drop-self-loops", help="Leave out edges from a node to itself.")
    ] = False,
    reverse: Annotated[bool, typer.Option("--reverse", help="Add an edge type rev_… for each way back.")] = False,
    on_missing: Annotated[
        str | None, typer.Option(help="Edges whose end is not in its table: error, drop them, or add the node.")
    ] = None,
    memory: Annotated[str | None, typer.Option(help="Memory limit, such as 2GB.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a data set folder.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check first rows and say what would be made.")] = False,
    json: JsonOption = False,
) -> int:
    """Make a data set folder of tables of nodes and edges, with ids of any kind."""
    given: dict[str, Any] = {}
    if recipe is not None:
        from graphzero.convert.tables.recipe import read_recipe

        given = read_recipe(recipe)
    tables = _Tables(given.pop(_NODES, None), given.pop(_EDGES, None))
    tables.add_sources(_NODES, nodes or [])
    tables.add_sources(_EDGES, edges or [])
    for setting, values, kinds, read in (
        ("id", id, (_NODES,), _column),
        ("label", label, (_NODES,), _label),
        ("features", features, (_NODES, _EDGES), _features),
        ("split", split, (_NODES, _EDGES), _split),
        ("src", src, (_EDGES,), _column),
        ("dst", dst, (_EDGES,), _column),
        ("weight", weight, (_EDGES,), _column),
        ("time", time, (_EDGES, _NODES), _column),
        ("time_unit", time_unit, (_EDGES, _NODES), str),
        ("time_zone", time_zone, (_EDGES, _NODES), str),
        ("dtype", dtype, (_NODES, _EDGES), str),
        ("fill", fill, (_NODES, _EDGES), _number),
        ("delimiter", delimiter, (_NODES, _EDGES), str),
        ("encoding", encoding, (_NODES, _EDGES), str),
    ):
        for value in values or []:
            tables.set(setting, value, kinds, read)
    for setting, wanted, choice in (
        ("directed", undirected, False),
        ("duplicates", drop_duplicates, "drop"),
        ("self_loops", drop_self_loops, "drop"),
        ("reverse", reverse, True),
    ):
        if wanted:
            tables.set_all(_EDGES, setting, choice)
    given.update({name: value for name, value in (("on_missing", on_missing), ("memory", memory)) if value is not None})
    report = gz.build_dataset(
        folder,
        tables.of[_NODES] or None,
        tables.of[_EDGES] or None,
        overwrite=overwrite,
        progress=sys.stderr.isatty(),
        dry_run=dry_run,
        **given,
    )
    if json:
        from graphzero.dataset import type_text

        splits = {f"{name} of {type_text(of)}": count for (name, of), count in report.splits.items()}
        print_json(text_keys({**dataclasses.asdict(report), "splits": splits}))
    else:
        print(visible_lines(str(report)))
    return 0


class _Tables:
    """Settings by table: those of a recipe, and options on top. The type of a table without one is ``None``."""

    def __init__(self, nodes: Any, edges: Any) -> None:
        self._tables = {_NODES: _by_type(nodes), _EDGES: _by_type(edges)}

    @property
    def of(self) -> dict[str, Any]:
        """What ``build_dataset()`` takes."""
        return {
            kind: tables[None] if list(tables) == [None] else {str(name): table for name, table in tables.items()}
            for kind, tables in self._tables.items()
        }

    def add_sources(self, kind: str, options: list[str]) -> None:
        """Add files, ``TYPE=FILE`` or ``FILE``. They take the place of those of a recipe."""
        added: dict[str | None, list[str]] = {}
        for option in options:
            name, separator, path = option.partition("=")
            is_path = not separator or os.path.lexists(option) or is_url(option)
            added.setdefault(None if is_path else name, []).append(option if is_path else path)
        if None in added and (len(added) > 1 or set(self._tables[kind]) - {None}):
            raise ValueError(f"--{kind} {added[None][0]}: expected TYPE=FILE, as there are several types")
        for key, paths in added.items():
            self._tables[kind].setdefault(key, {})["source"] = paths[0] if len(paths) == 1 else paths

    def set(self, setting: str, option: str, kinds: tuple[str, ...], read: Reader) -> None:
        """Set something of one table, ``TYPE=VALUE``, or of the only one, ``VALUE``."""
        name, separator, value = option.partition("=")
        found = [(kind, key) for kind in kinds for key in self._tables[kind] if separator and _is_called(key, name)]
        if not found:
            value = option
            found = [(kind, key) for kind in kinds for key in self._tables[kind]]
            if len(found) > 1 and all(len(self._tables[kind]) <= 1 for kind in kinds):
                found = [(kind, key) for kind, key in found if kind == kinds[0]]
        if len(found) != 1:
            there = ", ".join(str(key) for kind in kinds for key in self._tables[kind] if key is not None)
            raise ValueError(
                f"--{setting.replace('_', '-')} {option}: expected TYPE=VALUE with one of the types "
                f"{there or 'given'}, found {len(found) or 'none'} that it may be about"
            )
        for kind, key in found:
            self._tables[kind][key][setting] = read(value)

    def set_all(self, kind: str, setting: str, value: Any) -> None:
        """Set something of all tables."""
        for table in self._tables[kind].values():
            table[setting] = value


def _by_type(given: Any) -> dict[str | None, dict[str, Any]]:
    if given is None:
        return {}
    if not isinstance(given, dict) or "source" in given:
        return {None: _settings(given)}
    return {str(name): _settings(table) for name, table in given.items()}


def _settings(table: Any) -> dict[str, Any]:
    return dict(table) if isinstance(table, dict) else {"source": table}


def _is_called(key: str | None, name: str) -> bool:
    """Whether a type is meant by ``name``: itself, or the relation of an edge type."""
    if key is None:
        return False
    return name == key or key.replace(",", ":").replace(" ", ":").split(":")[1:2] == [name]

"""What both OGB layouts share: their splits, their names and ``master.csv``."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._core import FormatError
from graphzero.convert.edge_sources.torch_files import load_pt
from graphzero.convert.layouts.plan import NODE, Plan, existing, folders_in, one_split_folder

# Without a master.csv: OGB itself adds inverse edges to these when it loads them.
_WITH_INVERSE_EDGES = ("ogbn-products", "ogbn-proteins")

_MOST_ROWS = 1 << 16  # of a table of types
_LONGEST_LINE = 1 << 20
_SPLITS = ("train", "valid", "test")
_ATTRIBUTES = {"node_feat": "x", "edge_feat": "edge_attr"}


def raw_folder(folder: str) -> str:
    """Return the folder of the raw files: ``folder/raw``, or ``folder`` itself."""
    return existing(folder, "raw") or folder


def csv_file(folder: str, name: str) -> str | None:
    """Find ``name.csv.gz`` or ``name.csv``."""
    return existing(folder, f"{name}.csv.gz", f"{name}.csv")


def needed_csv(folder: str, name: str) -> str:
    """Find a file without which the layout means nothing."""
    path = csv_file(folder, name)
    if path is None:
        there = ", ".join(sorted(os.listdir(folder))) if os.path.isdir(folder) else ""
        raise FormatError(f"{folder}: expected {name}.csv.gz, found {there or 'nothing'}")
    return path


def csv_rows(path: str) -> list[list[str]]:
    """Read a small csv file of words."""
    lines = list(islice(csv_lines(path), _MOST_ROWS + 1))
    if len(lines) > _MOST_ROWS:
        raise FormatError(f"{path}: expected at most {_MOST_ROWS} lines, found more")
    return [row for row in csv.reader(lines) if row]


def csv_numbers(path: str, dtype: Any = np.int64, *, most: int) -> NDArray[Any]:
    """Read a csv file of a number or more per line, such as labels or the ids of a split: ``most`` lines at most."""
    try:
        # Not max_rows=, for which NumPy makes room at once.
        numbers = np.loadtxt(islice(csv_lines(path), most + 1), dtype=dtype, delimiter=",", ndmin=2)
    except (ValueError, OverflowError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{path}: expected numbers, found: {error}") from error
    if len(numbers) > most:
        raise FormatError(f"{path}: expected at most {most} lines, one per node, found more")
    return numbers


def csv_lines(path: str) -> Iterator[str]:
    """Yield lines. A compressed file is read only as far as it is asked for."""
    try:
        with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
            while line := file.readline(_LONGEST_LINE + 1):
                if len(line) > _LONGEST_LINE:
                    raise FormatError(
                        f"{path}: expected lines of at most {_LONGEST_LINE} characters, found a longer one"
                    )
                yield line
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: expected csv, compressed if it is .gz, found: {error}") from error


def one_graph(counts: Any, path: str) -> int:
    """Return the only number of nodes; data sets of many small graphs are not supported."""
    if len(counts) != 1:
        raise FormatError(f"{path}: expected one graph, found {len(counts)}: many small graphs are not converted")
    return int(counts[0])


def attribute_name(name: str) -> str:
    """Return the name we have for a raw file or array: ``x`` for ``node_feat``, ``year`` for ``node_year``."""
    name = name.replace("-", "_").removesuffix("_dict")
    return _ATTRIBUTES.get(name, name.removeprefix("node_").removeprefix("edge_"))


def adds_inverse_edges(folder: str, given: bool | None) -> bool:
    """Whether each edge means both directions: as the user says, or ``master.csv``, or what is known."""
    if given is not None:
        return given
    name = os.path.basename(os.path.abspath(folder)).replace("_", "-")
    for place in (folder, os.path.join(folder, ".."), os.path.join(folder, "..", "..")):
        master = existing(place, "master.csv")
        if master is not None:
            return _master_value(master, name, "add_inverse_edge") == "True"
    return name in _WITH_INVERSE_EDGES


def _master_value(path: str, name: str, key: str) -> str | None:
    rows = csv_rows(path)
    if not rows or name not in rows[0]:
        there = ", ".join(rows[0][1:]) if rows else "nothing"
        raise FormatError(f"{path}: expected a column {name}, found {there}; give add_inverse_edge=")
    column = rows[0].index(name)
    return next((row[column] for row in rows[1:] if row[0] == key and len(row) > column), None)


def add_splits(plan: Plan, folder: str, wanted: str | int | None) -> None:
    """Add the splits of ``folder/split/<name>``: one file per part, per node type if there are several."""
    place = one_split_folder(os.path.join(folder, "split"), wanted)
    if place is None:
        return
    plan.metadata["split"] = os.path.basename(place)
    saved = existing(place, "split_dict.pt")
    if saved is not None:
        for name, ids in load_pt(saved).items():
            for kind, part in ids.items() if isinstance(ids, dict) else [(next(iter(plan.nodes)), ids)]:
                plan.add_split(name, kind, np.asarray(part))
        return
    kinds = folders_in(place)
    for kind, parts in [(kind, os.path.join(place, kind)) for kind in kinds] or [(NODE, place)]:
        for name in _SPLITS:
            path = csv_file(parts, name)
            if path is not None:
                if kind not in plan.nodes:
                    raise FormatError(f"{path}: expected a folder of {', '.join(plan.nodes)}, found {kind}")
                plan.add_split(name, kind, csv_numbers(path, most=plan.nodes[kind].num_nodes).reshape(-1))
            elif existing(parts, f"{name}.pt"):
                plan.ignored.append(f"{parts}/{name}.pt: splits of edges given as pairs of nodes")

"""The OGB layout of csv files, as most OGB data sets ship: homogeneous and heterogeneous."""

from __future__ import annotations

import os
from itertools import islice
from typing import Any

import numpy as np

from graphzero._core import FormatError
from graphzero.convert.layouts.ogb import (
    add_splits,
    adds_inverse_edges,
    attribute_name,
    csv_file,
    csv_lines,
    csv_numbers,
    csv_rows,
    needed_csv,
    one_graph,
    raw_folder,
)
from graphzero.convert.layouts.plan import (
    EDGE,
    NODE,
    EdgePlan,
    EdgeTriple,
    Labels,
    LayoutOptions,
    NodePlan,
    Plan,
    Typed,
    files_in,
    folders_in,
    inside,
)

_SNIFFED_LINES = 1000
_MOST_COUNTS = 1 << 20  # of graphs: more than one is refused, with their number


def recognises(folder: str) -> bool:
    """Whether there are the csv files of OGB."""
    raw = raw_folder(folder)
    return csv_file(raw, "edge") is not None or csv_file(raw, "triplet-type-list") is not None


def read(folder: str, options: LayoutOptions) -> Plan:
    """Find out what the folder holds. Labels and splits are read now: 8 bytes per node."""
    raw = raw_folder(folder)
    plan = Plan(metadata={"name": os.path.basename(os.path.abspath(folder)), "layout": "ogb csv"})
    directed = not adds_inverse_edges(folder, options.add_inverse_edge)
    if csv_file(raw, "triplet-type-list") is None:
        _read_one_kind(plan, raw, directed)
    else:
        _read_kinds(plan, raw, directed)
    add_splits(plan, folder, options.split)
    return plan


def _read_one_kind(plan: Plan, raw: str, directed: bool) -> None:
    counts = needed_csv(raw, "num-node-list")
    plan.nodes[NODE] = NodePlan(one_graph(csv_numbers(counts, most=_MOST_COUNTS)[:, 0], counts), _tables(raw, "node"))
    plan.edges[EDGE] = EdgePlan(needed_csv(raw, "edge"), {"directed": directed}, _tables(raw, "edge"))
    _add_label(plan, NODE, raw)


def _read_kinds(plan: Plan, raw: str, directed: bool) -> None:
    path = needed_csv(raw, "num-node-dict")
    names, *rows = csv_rows(path)
    for name, *counts in zip(names, *rows, strict=True):
        plan.nodes[name] = NodePlan(
            one_graph(counts, path), _tables(inside(os.path.join(raw, "node-feat"), name, path), "node")
        )
    for name in folders_in(os.path.join(raw, "node-label")):
        if name not in plan.nodes:
            raise FormatError(f"{raw}/node-label: expected folders of {', '.join(plan.nodes)}, found {name}")
        _add_label(plan, name, os.path.join(raw, "node-label", name))
    triples = needed_csv(raw, "triplet-type-list")
    for row in csv_rows(triples):
        triple = _triple(row, list(plan.nodes), triples)
        place = inside(os.path.join(raw, "relations"), "___".join(triple), triples)
        # Between different kinds of node an inverse edge would be another kind of edge.
        both = not directed and triple[0] == triple[2]
        plan.edges[triple] = EdgePlan(needed_csv(place, "edge"), {"directed": not both}, _tables(place, "edge"))


def _triple(row: list[str], kinds: list[str], path: str) -> EdgeTriple:
    if len(row) != 3 or row[0] not in kinds or row[2] not in kinds:
        raise FormatError(f"{path}: expected SOURCE,RELATION,DESTINATION of {', '.join(kinds)}, found {','.join(row)}")
    return row[0], row[1], row[2]


def _tables(folder: str, what: str) -> dict[str, Any]:
    """Find ``node-feat.csv.gz`` and the additional files, ``node_<name>.csv.gz``; the same for edges."""
    found = {}
    for entry in files_in(folder):
        name, _, ending = entry.partition(".")
        if ending in ("csv", "csv.gz") and (name == f"{what}-feat" or name.startswith(f"{what}_")):
            path = os.path.join(folder, entry)
            # Features are for arithmetic. What is additional, such as years, is mostly whole.
            whole = name != f"{what}-feat" and _is_whole(path)
            found[attribute_name(name)] = Typed(path, "int64" if whole else "float32")
    return found


def _is_whole(path: str) -> bool:
    """Whether the first lines have integers only."""
    words = [word for line in islice(csv_lines(path), _SNIFFED_LINES) for word in line.strip().split(",")]
    return all(word.lstrip("-").isdecimal() for word in words if word)


def _add_label(plan: Plan, kind: str, folder: str) -> None:
    path = csv_file(folder, "node-label")
    if path is not None:
        plan.add_label(kind, "y", Labels(csv_numbers(path, np.float64, most=plan.nodes[kind].num_nodes)))

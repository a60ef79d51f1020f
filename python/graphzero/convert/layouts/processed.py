"""The ``processed/`` folders of MAG240M and IGB: a folder per node type, and one per edge type."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from graphzero._base.argument_errors import Setting, error_of
from graphzero._core import FormatError
from graphzero.convert.edge_sources.array_file import NPY_MAGIC, ArrayFile, npy_file
from graphzero.convert.edge_sources.torch_files import load_pt
from graphzero.convert.layouts.plan import (
    EdgePlan,
    EdgeTriple,
    Labels,
    LayoutOptions,
    NodePlan,
    Plan,
    existing,
    files_in,
    folders_in,
    inside,
)

# IGB writes its largest arrays as float32 items without a header.
_HEADERLESS = np.float32


def recognises(folder: str) -> bool:
    """Whether there is a folder of an edge type with its array."""
    place = _place(folder)
    return any(existing(os.path.join(place, name), "edge_index.npy") for name in folders_in(place))


def _place(folder: str) -> str:
    return existing(folder, "processed") or folder


def read(folder: str, options: LayoutOptions) -> Plan:
    """Find out what the folder holds; arrays stay where they are."""
    place = _place(folder)
    plan = Plan(metadata={"name": os.path.basename(os.path.abspath(folder)), "layout": "processed"})
    saved = existing(folder, "meta.pt") or existing(place, "meta.pt")
    meta = {} if saved is None else load_pt(saved)
    triples: dict[EdgeTriple, str] = {}
    kinds = []
    for name in folders_in(place):
        path = existing(os.path.join(place, name), "edge_index.npy")
        if path is None:
            kinds.append(name)
        else:
            triples[_triple(name, path)] = path
    for kind in dict.fromkeys([*kinds, *(end for triple in triples for end in (triple[0], triple[2]))]):
        _read_nodes(plan, place, kind, options.count_of(kind) or meta.get(kind), options.label)
    _check_label(plan, options.label, place)
    for triple, path in triples.items():
        plan.edges[triple] = EdgePlan(path)
        for entry in files_in(os.path.dirname(path)):
            if entry.startswith("edge_") and entry.endswith(".npy") and entry != "edge_index.npy":
                name = {"edge_feat.npy": "edge_attr"}.get(entry, entry.removeprefix("edge_").removesuffix(".npy"))
                plan.edges[triple].attributes[name] = os.path.join(os.path.dirname(path), entry)
    _add_classes(plan, meta.get("num_classes"))
    _add_splits(plan, existing(folder, "split_dict.pt") or existing(place, "split_dict.pt"))
    return plan


def _triple(name: str, path: str) -> EdgeTriple:
    parts = name.split("___" if "___" in name else "__")
    if len(parts) != 3:
        raise FormatError(f"{path}: expected a folder called SOURCE___RELATION___DESTINATION, found {name}")
    for end in (parts[0], parts[2]):
        inside(os.path.dirname(path), end, path)
    return parts[0], parts[1], parts[2]


def _read_nodes(plan: Plan, place: str, kind: str, count: int | None, label: str | None) -> None:
    folder = os.path.join(place, kind)
    arrays: dict[str, Any] = {}
    for entry in files_in(folder):
        if entry.startswith("node_") and entry.endswith(".npy"):
            arrays[entry.removeprefix("node_").removesuffix(".npy")] = os.path.join(folder, entry)
        elif entry.endswith(".npy"):
            plan.ignored.append(f"{os.path.join(folder, entry)}: not an array of nodes or edges")
    with_header = {name: path for name, path in arrays.items() if _has_header(path)}
    if count is None:
        if not with_header:
            found = "arrays without a header" if arrays else "no arrays"
            raise FormatError(
                f"{folder}: expected the number of nodes of {kind!r}, found {found}; give num_nodes={{{kind!r}: …}}"
            )
        count = npy_file(next(iter(with_header.values()))).shape[0]
    plan.nodes[kind] = NodePlan(int(count))
    labels = []
    for name, path in arrays.items():
        array: ArrayFile = npy_file(path, dtype=_HEADERLESS, num_rows=int(count))
        if name.startswith("label"):
            labels.append(name)
            plan.nodes[kind].attributes["y" if name == "label" else name] = Labels(array)
        else:
            attribute = "x" if name == "feat" else name
            plan.nodes[kind].attributes[attribute] = path if name in with_header else array
    chosen = _chosen_label(labels, label)
    plan.nodes[kind].label = "y" if chosen == "label" else chosen


def _has_header(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(NPY_MAGIC)) == NPY_MAGIC


def _chosen_label(labels: list[str], wanted: str | None) -> str | None:
    """Return the only label, or the one the user named; IGB has label_19 and label_2K."""
    if wanted is not None and wanted in labels:
        return wanted
    return min(labels, key=lambda name: (len(name), name)) if labels else None


def _check_label(plan: Plan, wanted: str | None, place: str) -> None:
    there = [
        name for node in plan.nodes.values() for name, value in node.attributes.items() if isinstance(value, Labels)
    ]
    if wanted is not None and wanted not in there:
        raise error_of(
            ValueError,
            f"{place}: expected ", Setting("label"), f" one of {', '.join(there) or 'none'}, found {wanted!r}",
        )  # fmt: skip


def _add_classes(plan: Plan, num_classes: Any) -> None:
    labelled = [node for node in plan.nodes.values() if node.label is not None]
    if num_classes is not None and len(labelled) == 1:
        labelled[0].num_classes = int(num_classes)


def _add_splits(plan: Plan, saved: str | None) -> None:
    if saved is None:
        return
    labelled = [kind for kind, node in plan.nodes.items() if node.label is not None] or list(plan.nodes)
    for name, ids in load_pt(saved).items():
        plan.add_split(str(name), labelled[0], np.asarray(ids).reshape(-1))

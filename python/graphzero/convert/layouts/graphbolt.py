"""The raw form of a GraphBolt data set: a ``metadata.yaml`` that says where everything lies."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import Setting, error_of
from graphzero._core import FormatError
from graphzero._files.yaml_file import read_yaml
from graphzero.convert.edge_sources.array_file import npy_file
from graphzero.convert.edge_sources.torch_files import load_pt
from graphzero.convert.layouts.plan import (
    EDGE,
    NODE,
    EdgePlan,
    EdgeTriple,
    Labels,
    LayoutOptions,
    NodePlan,
    Plan,
    existing,
    filled_array,
    inside,
)

_FILE = "metadata.yaml"
_SETS = {"train_set": "train", "validation_set": "valid", "test_set": "test"}
_SEEDS = ("seeds", "seed_nodes", "indexes")


def recognises(folder: str) -> bool:
    """Whether there is a ``metadata.yaml``."""
    return existing(folder, _FILE) is not None


def read(folder: str, options: LayoutOptions) -> Plan:
    """Find out what the folder holds. Labels of the first task become an attribute: 8 bytes of disk per node."""
    path = os.path.join(folder, _FILE)
    document = read_yaml(path)
    try:
        return _plan(folder, document, options, path)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        found = f"{type(error).__name__}: {error}"
        raise FormatError(
            f"{path}: expected the raw form of GraphBolt, found parts of another kind: {found}"
        ) from error


def _plan(folder: str, document: dict[str, Any], options: LayoutOptions, path: str) -> Plan:
    graph = document.get("graph") or {}
    plan = Plan(metadata={"name": str(document.get("dataset_name", "")), "layout": "graphbolt"})
    if not graph.get("nodes"):
        raise FormatError(f"{path}: expected graph.nodes and graph.edges of the raw form, found {', '.join(document)}")
    for node in graph["nodes"]:
        plan.nodes[_name(node.get("type") or NODE, path)] = NodePlan(_count(node["num"], path))
    for edge in graph.get("edges") or []:
        triple = _triple(edge.get("type"), plan, path)
        plan.edges[triple] = EdgePlan(_file(folder, edge, path))
    _add_features(plan, folder, document.get("feature_data") or [], path)
    _add_task(plan, folder, document.get("tasks") or [], options, path)
    return plan


def _name(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise FormatError(f"{path}: expected a name, found {str(value)[:80]}")
    return value


def _count(value: Any, path: str) -> int:
    if not isinstance(value, int) or not 0 <= value <= 2**59:
        raise FormatError(f"{path}: expected a number of nodes, 0 to 2^59, found {str(value)[:80]}")
    return value


def _triple(text: str | None, plan: Plan, path: str) -> EdgeTriple:
    if text is None:
        return EDGE
    parts = text.split(":")
    if len(parts) != 3 or parts[0] not in plan.nodes or parts[2] not in plan.nodes:
        raise FormatError(f"{path}: expected an edge type 'source:relation:destination', found {text!r}")
    return parts[0], parts[1], parts[2]


def _file(folder: str, record: dict[str, Any], path: str) -> str:
    file = inside(folder, record.get("path"), path)
    if not os.path.exists(file):
        raise FormatError(f"{path}: expected the file it names, {record.get('path')}, found none")
    return file


def _array(folder: str, record: dict[str, Any], path: str) -> NDArray[Any]:
    file = _file(folder, record, path)
    return np.asarray(load_pt(file)) if record.get("format") == "torch" else npy_file(file).memmap()


def _add_features(plan: Plan, folder: str, records: list[dict[str, Any]], path: str) -> None:
    for record in records:
        file = _file(folder, record, path)
        source = load_pt(file) if record.get("format") == "torch" else file
        name = _name(record["name"], path)
        name = "x" if name == "feat" else name
        if record.get("domain") == "edge":
            owner: NodePlan | EdgePlan = plan.edges[_triple(record.get("type"), plan, path)]
        else:
            owner = plan.node(record.get("type") or NODE, path)
        owner.attributes[name] = source


def _add_task(plan: Plan, folder: str, tasks: list[dict[str, Any]], options: LayoutOptions, path: str) -> None:
    """Take the splits and labels of one task; those of the others are listed as ignored."""
    wanted = options.task
    names = [str(task.get("name")) for task in tasks]
    if wanted is not None and wanted not in names:
        raise error_of(
            ValueError, f"{path}: expected ", Setting("task"), f" one of {', '.join(names)}, found {wanted!r}"
        )
    chosen = names.index(wanted) if wanted is not None else 0
    plan.ignored += [f"{path}: task {name}" for i, name in enumerate(names) if i != chosen]
    labels: dict[str, NDArray[Any]] = {}
    task = tasks[chosen] if tasks else {}
    for key, split in _SETS.items():
        for part in task.get(key) or []:
            _add_part(plan, folder, split, part, labels, options, path)
    for kind, values in labels.items():
        plan.add_label(kind, "y", Labels(values), task.get("num_classes"))


def _add_part(
    plan: Plan,
    folder: str,
    split: str,
    part: dict[str, Any],
    labels: dict[str, NDArray[Any]],
    options: LayoutOptions,
    path: str,
) -> None:
    kind = part.get("type") or NODE
    data = {record.get("name"): record for record in part.get("data") or []}
    seeds = next((data[name] for name in _SEEDS if name in data), None)
    if seeds is None:
        raise FormatError(f"{path}: expected seeds in the {split} split of {kind}, found {', '.join(map(str, data))}")
    ids = _array(folder, seeds, path)
    if kind not in plan.nodes or ids.ndim != 1:
        plan.ignored.append(f"{path}: {split} split of {kind}: edges given as pairs of nodes")
        return
    plan.add_split(split, kind, ids)
    if "labels" in data:
        values = _array(folder, data["labels"], path)
        num_nodes = plan.nodes[kind].num_nodes
        if len(values) != len(ids) or ids.min(initial=0) < 0 or ids.max(initial=-1) >= num_nodes:
            raise FormatError(
                f"{path}: expected a label for each id of the {split} split of {kind}, and ids below {num_nodes}, "
                f"found {len(values)} labels and {len(ids)} ids from {ids.min(initial=0)} to {ids.max(initial=-1)}"
            )
        if kind not in labels:
            missing: Any = -1 if values.dtype.kind in "iub" else np.nan
            kept = np.dtype(np.int64) if values.dtype.kind in "iub" else values.dtype
            made = options.made(f"labels-{len(labels)}.npy")
            labels[kind] = filled_array(made, kept, (num_nodes, *values.shape[1:]), missing)
        labels[kind][ids] = values

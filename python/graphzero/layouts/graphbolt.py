"""The raw form of a GraphBolt data set: a ``metadata.yaml`` that says where everything lies."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._core import FormatError
from graphzero.layouts.plan import EDGE, NODE, EdgePlan, EdgeTriple, Labels, LayoutOptions, NodePlan, Plan, existing
from graphzero.sources.array_file import npy_file
from graphzero.sources.torch_files import load_pt

_FILE = "metadata.yaml"
_SETS = {"train_set": "train", "validation_set": "valid", "test_set": "test"}
_SEEDS = ("seeds", "seed_nodes", "indexes")


def recognises(folder: str) -> bool:
    """Whether there is a ``metadata.yaml``."""
    return existing(folder, _FILE) is not None


def read(folder: str, options: LayoutOptions) -> Plan:
    """Find out what the folder holds. Labels of the first task become an attribute: 8 bytes per node for now."""
    path = os.path.join(folder, _FILE)
    document = _document(path)
    graph = document.get("graph") or {}
    plan = Plan(metadata={"name": str(document.get("dataset_name", "")), "layout": "graphbolt"})
    if not graph.get("nodes"):
        raise FormatError(f"{path}: expected graph.nodes and graph.edges of the raw form, found {', '.join(document)}")
    for node in graph["nodes"]:
        plan.nodes[node.get("type") or NODE] = NodePlan(int(node["num"]))
    for edge in graph.get("edges") or []:
        triple = _triple(edge.get("type"), plan, path)
        plan.edges[triple] = EdgePlan(_file(folder, edge, path))
    _add_features(plan, folder, document.get("feature_data") or [], path)
    _add_task(plan, folder, document.get("tasks") or [], options.task, path)
    return plan


def _document(path: str) -> dict[str, Any]:
    try:
        yaml = importlib.import_module("yaml")
    except ImportError as error:
        raise ImportError(f"{path}: GraphBolt data sets need PyYAML: pip install pyyaml ({error})") from error
    with open(path, encoding="utf-8") as file:
        try:
            document = yaml.safe_load(file)
        except yaml.YAMLError as error:
            raise FormatError(f"{path}: expected YAML, found: {error}") from error
    if not isinstance(document, dict):
        raise FormatError(f"{path}: expected a mapping, found {type(document).__name__}")
    return document


def _triple(text: str | None, plan: Plan, path: str) -> EdgeTriple:
    if text is None:
        return EDGE
    parts = text.split(":")
    if len(parts) != 3 or parts[0] not in plan.nodes or parts[2] not in plan.nodes:
        raise FormatError(f"{path}: expected an edge type 'source:relation:destination', found {text!r}")
    return parts[0], parts[1], parts[2]


def _file(folder: str, record: dict[str, Any], path: str) -> str:
    file = os.path.join(folder, str(record.get("path")))
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
        name = {"feat": "x"}.get(record["name"], record["name"])
        if record.get("domain") == "edge":
            owner: NodePlan | EdgePlan = plan.edges[_triple(record.get("type"), plan, path)]
        else:
            owner = plan.nodes[record.get("type") or NODE]
        owner.attributes[name] = source


def _add_task(plan: Plan, folder: str, tasks: list[dict[str, Any]], wanted: str | None, path: str) -> None:
    """Take the splits and labels of one task; those of the others are listed as ignored."""
    names = [str(task.get("name")) for task in tasks]
    if wanted is not None and wanted not in names:
        raise ValueError(f"{path}: expected task= one of {', '.join(names)}, found {wanted!r}")
    chosen = names.index(wanted) if wanted is not None else 0
    plan.ignored += [f"{path}: task {name}" for i, name in enumerate(names) if i != chosen]
    labels: dict[str, NDArray[Any]] = {}
    task = tasks[chosen] if tasks else {}
    for key, split in _SETS.items():
        for part in task.get(key) or []:
            _add_part(plan, folder, split, part, labels, path)
    for kind, values in labels.items():
        plan.add_label(kind, "y", Labels(values), task.get("num_classes"))


def _add_part(
    plan: Plan, folder: str, split: str, part: dict[str, Any], labels: dict[str, NDArray[Any]], path: str
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
        if kind not in labels:
            missing: Any = -1 if values.dtype.kind in "iub" else np.nan
            kept = np.dtype(np.int64) if values.dtype.kind in "iub" else values.dtype
            labels[kind] = np.full((plan.nodes[kind].num_nodes, *values.shape[1:]), missing, kept)
        labels[kind][ids] = values

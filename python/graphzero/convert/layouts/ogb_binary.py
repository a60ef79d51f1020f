"""The OGB layout of ``.npz`` files, as ogbn-papers100M ships: homogeneous and heterogeneous."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from graphzero._core import FormatError
from graphzero.convert.edge_sources.array_file import npz_file, npz_members, read_items
from graphzero.convert.layouts.ogb import add_splits, adds_inverse_edges, attribute_name, one_graph, raw_folder
from graphzero.convert.layouts.plan import (
    EDGE,
    NODE,
    EdgePlan,
    Labels,
    LayoutOptions,
    NodePlan,
    Plan,
    existing,
    files_in,
)

_MOST_COUNTS = 1 << 20
_COUNTS = ("num_nodes_list", "num_edges_list", "edge_index")
_COUNT_FILES = ("num_nodes_dict.npz", "num_edges_dict.npz", "edge_index_dict.npz")


def recognises(folder: str) -> bool:
    """Whether there are the ``.npz`` files of OGB."""
    return existing(raw_folder(folder), "data.npz", "edge_index_dict.npz") is not None


def read(folder: str, options: LayoutOptions) -> Plan:
    """Find out what the folder holds; arrays stay where they are."""
    raw = raw_folder(folder)
    plan = Plan(metadata={"name": os.path.basename(os.path.abspath(folder)), "layout": "ogb binary"})
    directed = not adds_inverse_edges(folder, options.add_inverse_edge)
    data = existing(raw, "data.npz")
    if data is not None:
        _read_one_kind(plan, data, directed)
    else:
        _read_kinds(plan, raw, directed)
    labels = existing(raw, "node-label.npz")
    for member in npz_members(labels) if labels is not None else []:
        plan.add_label(NODE if data is not None else member, "y", Labels(npz_file(str(labels), member)))
    add_splits(plan, folder, options.split)
    return plan


def _read_one_kind(plan: Plan, path: str, directed: bool) -> None:
    node = NodePlan(one_graph(_numbers(path, "num_nodes_list"), path))
    edge = EdgePlan(path, {"src": "edge_index", "directed": directed})
    for member in npz_members(path):
        if member in _COUNTS:
            continue
        if not member.startswith(("node_", "edge_")):
            raise FormatError(f"{path}: expected arrays called node_* or edge_*, found {member}")
        owner = node if member.startswith("node_") else edge
        owner.attributes[attribute_name(member)] = npz_file(path, member)
    plan.nodes[NODE], plan.edges[EDGE] = node, edge


def _read_kinds(plan: Plan, raw: str, directed: bool) -> None:
    counts = os.path.join(raw, "num_nodes_dict.npz")
    for kind in npz_members(counts):
        plan.nodes[kind] = NodePlan(one_graph(_numbers(counts, kind), counts))
    path = os.path.join(raw, "edge_index_dict.npz")
    for member in npz_members(path):
        parts = member.split("___")
        if len(parts) != 3 or parts[0] not in plan.nodes or parts[2] not in plan.nodes:
            raise FormatError(f"{path}: expected arrays called SOURCE___RELATION___DESTINATION, found {member}")
        both = not directed and parts[0] == parts[2]
        plan.edges[parts[0], parts[1], parts[2]] = EdgePlan(path, {"src": member, "directed": not both})
    for entry in files_in(raw):
        if not entry.endswith(".npz") or entry in _COUNT_FILES or entry.endswith("-label.npz"):
            continue
        table, name = os.path.join(raw, entry), attribute_name(entry.removesuffix(".npz"))
        for member in npz_members(table):
            if entry.startswith("node_") and member in plan.nodes:
                plan.nodes[member].attributes[name] = npz_file(table, member)
            elif entry.startswith("edge_") and tuple(member.split("___")) in plan.edges:
                plan.edges[tuple(member.split("___"))].attributes[name] = npz_file(table, member)  # type: ignore[index]
            else:
                raise FormatError(f"{table}: expected arrays called by node or edge types, found {member}")


def _numbers(path: str, member: str) -> NDArray[np.int64]:
    array = npz_file(path, member)
    if array.size > _MOST_COUNTS:
        raise FormatError(f"{array.name}: expected one graph, found {array.size}: many small graphs are not converted")
    with array.open() as file:
        return read_items(file, array.size, array.dtype, array.name).astype(np.int64).reshape(-1)

"""A folder of files of GraphZero 0.2: one ``.gl``, and ``.gd`` files with a row per node."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import numpy as np

from graphzero._base.argument_errors import value_error
from graphzero.convert.edge_sources.array_file import ArrayFile
from graphzero.convert.edge_sources.graphzero02 import is_graphzero02_graph
from graphzero.convert.layouts.plan import EDGE, NODE, EdgePlan, Labels, LayoutOptions, NodePlan, Plan, files_in
from graphzero.features import FeatureStore
from graphzero.graph import Graph

_FEATURES_MAGIC = b"GZDATA26"
_ROWS_BEGIN = 32  # bytes into a .gd file (docs/formats/graphzero-0.2.md)
_FEATURES = re.compile(r"x|features?([_-].*)?")
_LABELS = re.compile(r"y|labels?([_-].*)?")


def recognises(folder: str) -> bool:
    """Whether a file begins as a graph of GraphZero 0.2 does, whatever its name."""
    return any(is_graphzero02_graph(os.path.join(folder, name)) for name in files_in(folder))


def read(folder: str, options: LayoutOptions) -> Plan:
    """Find the graph and the rows of its nodes."""
    plan = Plan(metadata={"name": os.path.basename(os.path.abspath(folder)), "layout": "graphzero-0.2"})
    graphs, tables = [], []
    for name in files_in(folder):
        path = os.path.join(folder, name)
        if is_graphzero02_graph(path):
            graphs.append(name)
        elif _is_features(path):
            tables.append(name)
        else:
            plan.ignored.append(f"{name}: no file of GraphZero 0.2")
    if len(graphs) != 1:
        found = ", ".join(graphs) or "none"
        raise ValueError(
            f"{folder}: expected one graph of GraphZero 0.2, found {found}; leave one in the folder, "
            "or convert the files one by one"
        )
    path = os.path.join(folder, graphs[0])
    with Graph(path) as graph:
        count = options.count_of(NODE) or graph.num_nodes
    plan.edges[EDGE] = EdgePlan(path)
    node = plan.nodes[NODE] = NodePlan(count)
    stores = {}
    for name in tables:
        store = FeatureStore(os.path.join(folder, name))
        if store.num_rows == count:
            stores[os.path.splitext(name)[0]] = store
            continue
        advice = f"; give num_nodes={store.num_rows} if the graph has as many" if store.num_rows > count else ""
        plan.ignored.append(f"{name}: {store.num_rows:,} rows for {count:,} nodes{advice}")
    features = _only(name for name in stores if _FEATURES.fullmatch(name.lower()))
    label = options.label or _only(
        name for name, store in stores.items() if _LABELS.fullmatch(name.lower()) and _is_class_column(store)
    )
    if label is not None and label not in stores:
        found = ", ".join(stores) or "none"
        raise value_error("label", f"expected one of the features of its nodes, {found}, found {label!r}", where=folder)
    for name, store in stores.items():
        if name == label:
            rows = ArrayFile(store.path, store.path, store.get_tensor().dtype, store.shape, False, _ROWS_BEGIN)
            plan.add_label(NODE, "y", Labels(rows))
        else:
            node.attributes["x" if name == features else name] = store.path
    return plan


def _is_features(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(_FEATURES_MAGIC)) == _FEATURES_MAGIC


def _is_class_column(store: FeatureStore) -> bool:
    return store.shape[1] == 1 and np.issubdtype(store.get_tensor().dtype, np.integer)


def _only(names: Iterable[str]) -> str | None:
    """Return the name that there is; of several, none stands out."""
    found = list(names)
    return found[0] if len(found) == 1 else None

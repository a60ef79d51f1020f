"""A data set under the names of PyG's ``Data`` and ``HeteroData``: tensors are made when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from graphzero import _core
from graphzero._base.argument_errors import value_error
from graphzero._base.arrays import check_stored_ids
from graphzero._base.dtypes import BFLOAT16_BITS
from graphzero._base.lazy_imports import load
from graphzero._base.memory_sizes import byte_text, pipeline_budget
from graphzero._dataset.all_edges import message_edges
from graphzero._dataset.temporary_graphs import TemporaryGraphs
from graphzero.features import FeatureStore

if TYPE_CHECKING:
    from graphzero._dataset.pyg_names import PygNames
    from graphzero.dataset import EdgeTriple, EdgeType, NodeType

# What people ask PyG's classes for that files do not have, and what to do.
_INSTEAD = {
    "adj_t": "use edge_index, or give a loader transform=T.ToSparseTensor()",
    "cpu": "use .to('cpu')",
    "cuda": "use .to('cuda')",
    "clone": "files do not change; copy.copy(data) is a data set whose attributes change by themselves",
    "pin_memory": "give a loader pin_memory=True, or device='cuda'",
    "share_memory_": "all processes share the files as they are",
}
_BEFORE = "do that with PyG before graphzero.convert_dataset, or to the batches, as transform= of a loader"


def missing(owner: str, name: str, there: list[str]) -> AttributeError:
    """Return an error that says which names there are, and what to use instead."""
    text = f"{owner} has no {name!r}, only {', '.join(there) or 'nothing'}"
    methods = (
        "coalesce",
        "is_",
        "has_",
        "sort",
        "subgraph",
        "edge_subgraph",
        "to_",
        "from_",
        "generate_ids",
        "snapshot",
    )
    if name in _INSTEAD:
        text += f"; {_INSTEAD[name]}"
    elif name.startswith(methods):
        text += f"; {_BEFORE}"
    return AttributeError(text)


class NamedTensors:
    """Tensors and values of one type of a data set, like a store of PyG's ``HeteroData``.

    ``data["paper"].x`` is a tensor on the mapped file, ``data["paper"].train_mask`` is made from a split. Assigning or
    deleting changes this data set in memory and the batches of its loaders, never a file.
    """

    _data: PygNames
    _of: Any

    def __init__(self, data: PygNames, of: Any) -> None:
        object.__setattr__(self, "_data", data)
        object.__setattr__(self, "_of", of)

    @property
    def num_nodes(self) -> int:
        """The number of nodes; of an edge type there is none."""
        if isinstance(self._of, tuple):
            raise AttributeError(f"edge type {self._of!r} has no 'num_nodes', only node types have")
        return self._data.nodes[self._of].num_nodes

    @property
    def num_edges(self) -> int:
        """The number of edges; of a node type there is none."""
        if not isinstance(self._of, tuple):
            raise AttributeError(f"node type {self._of!r} has no 'num_edges', only edge types have")
        return self._data.edges[self._of].graph.num_edges

    @property
    def num_features(self) -> int:
        """The number of features of a node, or of an edge."""
        return num_columns(self, "edge_attr" if isinstance(self._of, tuple) else "x")

    num_node_features = num_edge_features = num_features

    def keys(self) -> list[str]:
        """Return the names."""
        return edge_names(self._data, self._of) if isinstance(self._of, tuple) else node_names(self._data, self._of)

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def items(self) -> Iterator[tuple[str, Any]]:
        """Iterate over names and values."""
        return ((name, self[name]) for name in self.keys())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # also while it is being copied
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        if name.startswith("__") or name not in self.keys():
            raise missing(f"{'edge' if isinstance(self._of, tuple) else 'node'} type {self._of!r}", name, self.keys())
        return get_tensor(self._data, self._of, name)

    def __setattr__(self, name: str, value: Any) -> None:
        assign(self._data, self._of, name, value)

    def __setitem__(self, name: str, value: Any) -> None:
        assign(self._data, self._of, name, value)

    def __delattr__(self, name: str) -> None:
        delete(self._data, self._of, name)

    def __delitem__(self, name: str) -> None:
        delete(self._data, self._of, name)

    def __repr__(self) -> str:
        return f"{self._of!r}: {', '.join(self.keys())}"


def node_names(data: PygNames, kind: str) -> list[str]:
    """Return what a node type has, masks that splits stand for included."""
    node = data.nodes[kind]
    masks = [f"{_OF_PYG.get(split, split)}_mask" for split in data.split_names if data.has_split(split, kind)]
    label = [] if node.label is None else ["y"]  # whatever it is called
    return list(dict.fromkeys([*node.attributes, *node.in_memory, *label, *masks, *node.other]))


def edge_names(data: PygNames, triple: EdgeTriple) -> list[str]:
    """Return what an edge type has."""
    edge = data.edges[triple]
    return list(dict.fromkeys(["edge_index", *edge.attributes, *edge.in_memory, *edge.other]))


# What PyG's masks call our splits.
_OF_PYG = {"valid": "val"}


def get_tensor(data: PygNames, of: Any, name: str) -> Any:
    """Return what a type has under a name that ``node_names()`` or ``edge_names()`` lists."""
    kind: NodeType | EdgeType = data.edges[of] if isinstance(of, tuple) else data.nodes[of]
    if name in kind.other:
        return on_device(kind.other[name], data.device)
    if name in kind.in_memory:
        return on_device(kind.in_memory[name], data.device)
    if (of, name) in data._made:
        return data._made[of, name][0]
    found = _edge_tensor(data.edges[of], name) if isinstance(of, tuple) else _node_tensor(data, data.nodes[of], name)
    found = on_device(found, data.device)
    if name != "edge_index":  # which would stay in memory
        data._made[of, name] = (found, found._version)
    return found


def take_edits(data: PygNames) -> None:
    """Treat what was changed in place, as by ``data.y[3] = 0``, as assigned: files do not change."""
    edited = [(key, tensor) for key, (tensor, version) in data._made.items() if tensor._version != version]
    for (of, name), tensor in edited:
        assign(data, of, name, tensor)


def on_device(value: Any, device: Any) -> Any:
    """Move a tensor to the data set's device; leave any other value, and without a device everything, as it is."""
    return value if device is None or not hasattr(value, "device") else value.to(device)


def _node_tensor(data: PygNames, node: NodeType, name: str) -> Any:
    if name in node.attributes:
        return _rows(node.attributes[name], None, name)
    if name == "y":
        return get_tensor(data, node.name, str(node.label))
    torch = load("torch")
    ids = data.split(name.removesuffix("_mask"), node.name)
    check_stored_ids(ids, node.num_nodes, f"{data.path}: {name}: nodes")
    mask = torch.zeros(node.num_nodes, dtype=torch.bool)
    mask[torch.from_numpy(ids)] = True
    _core.check_intact(ids)
    return mask


def _edge_tensor(edge: EdgeType, name: str) -> Any:
    torch = load("torch")
    if name == "edge_index":
        return torch.from_numpy(message_edges(edge.graph, "edge_index")[0])
    graph = edge.graph
    as_stored = graph.directed and graph.num_edges == graph.num_input_edges
    # In the order of edge_index: an undirected graph has each edge twice, and dropped ones have rows.
    ids = None if as_stored else message_edges(graph, name)[1]
    return _rows(edge.attributes[name], ids, name)


def _rows(store: FeatureStore, ids: Any, name: str) -> Any:
    """Return rows of a store: a view of the file where that is possible, else a copy if there is memory for it."""
    torch = load("torch")
    if ids is None and not store.reordered and not store.quantised:
        return store.as_torch()
    count = store.num_rows if ids is None else len(ids)
    dtype = "float32" if store.quantised else None
    needed = (
        count * max(1, store.feature_dim) * (4 if store.quantised else store.row_bytes // max(1, store.feature_dim))
    )
    if needed > pipeline_budget():
        raise MemoryError(
            f"{name}: a tensor of {store.path} takes {byte_text(needed)}, more than half of the free memory, as its "
            "rows are not stored in this order and type; use a loader, or features(name).gather(ids)"
        )
    rows = store.gather(np.arange(count) if ids is None else ids, dtype=dtype)
    if rows.dtype == BFLOAT16_BITS:
        return torch.from_numpy(rows.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(rows)


def num_columns(group: Any, name: str) -> int:
    """Return the number of features: the columns of ``name``, 1 if it has no columns, 0 if it is not there."""
    if name not in group:
        return 0
    shape = _shape(group._data, group._of, name)
    return int(shape[-1]) if len(shape) > 1 else 1


def _shape(data: PygNames, of: Any, name: str) -> tuple[int, ...]:
    kind: NodeType | EdgeType = data.edges[of] if isinstance(of, tuple) else data.nodes[of]
    for group in (kind.in_memory, kind.attributes, kind.other):
        if name in group:
            return tuple(getattr(group[name], "shape", ()))
    return tuple(get_tensor(data, of, name).shape)


def assign(data: PygNames, of: Any, name: str, value: Any) -> None:
    """Assign a tensor with a row per node or edge, or any other value, in memory. A mask is a split, too."""
    data._made.pop((of, name), None)
    if isinstance(of, tuple):
        _assign_to_edges(data, of, name, value)
        return
    node = data.nodes[of]
    if name == "num_nodes":
        if value != node.num_nodes:
            raise value_error(
                "num_nodes", f"expected {node.num_nodes}, as many as {of!r} has in the files, found {value}"
            )
        return
    parts = _with_value(node, name, value, node.num_nodes)
    if name == node.label and name in parts["other"]:
        parts["label"] = None
    data.nodes = {**data.nodes, of: replace(node, **parts)}
    if name.endswith("_mask"):
        data._set_split(name.removesuffix("_mask"), of, parts["in_memory"].get(name))


def _assign_to_edges(data: PygNames, triple: EdgeTriple, name: str, value: Any) -> None:
    edge = data.edges[triple]
    if name != "edge_index":
        rows = len(value) if getattr(value, "shape", ()) else None
        if rows == edge.graph.num_edges != edge.graph.num_input_edges:
            raise ValueError(
                f"{name} of {triple!r}: expected {edge.graph.num_input_edges} rows, one for each edge id, found {rows}"
                ": the graph has edges both ways under one id, or left some out, when it was converted"
            )
        parts = _with_value(edge, name, value, edge.graph.num_input_edges)
        # Draws go by what the graph stores, which is not this.
        parts |= {column: f"{name} of the file" for column in ("weight", "time") if getattr(edge, column) == name}
        data.edges = {**data.edges, triple: replace(edge, **parts)}
        return
    counts = data.nodes[triple[0]].num_nodes, data.nodes[triple[2]].num_nodes
    files = TemporaryGraphs()
    graph = files.write(value, counts[0] if triple[0] == triple[2] else counts, index="both")
    data.edges = {**data.edges, triple: replace(edge, graph=graph, weight=None, time=None, files=files)}


def _with_value(kind: NodeType | EdgeType, name: str, value: Any, num_rows: int) -> dict[str, Any]:
    """Return the changed parts of a type to which a value is assigned."""
    torch = load("torch")
    groups = {"attributes": kind.attributes, "in_memory": kind.in_memory, "other": kind.other}
    parts: dict[str, Any] = {part: _without(group, name) for part, group in groups.items()}
    if isinstance(value, np.ndarray):
        value = torch.from_numpy(value)
    has_rows = isinstance(value, torch.Tensor) and value.ndim > 0 and len(value) == num_rows
    group = "in_memory" if has_rows else "other"
    parts[group] = {**parts[group], name: value}
    return parts


def delete(data: PygNames, of: Any, name: str) -> None:
    """Remove what a type has under a name; the file stays."""
    data._made.pop((of, name), None)
    if name == "num_nodes" and of in data.nodes:  # what scripts do once an attribute has that length
        return
    if name.endswith("_mask") and data.has_split(name.removesuffix("_mask"), of):
        data._set_split(name.removesuffix("_mask"), of, None)
        if name not in data.nodes[of].attributes and name not in data.nodes[of].in_memory:
            return
    if isinstance(of, tuple):
        data.edges = {**data.edges, of: replace(data.edges[of], **_without_value(data.edges[of], name))}
    else:
        parts = _without_value(data.nodes[of], name)
        if name == data.nodes[of].label:
            parts["label"] = None
        data.nodes = {**data.nodes, of: replace(data.nodes[of], **parts)}


def _without_value(kind: NodeType | EdgeType, name: str) -> dict[str, Any]:
    """Return the changed parts of a type from which a name is removed."""
    groups = {"attributes": kind.attributes, "in_memory": kind.in_memory, "other": kind.other}
    there = list(dict.fromkeys(key for group in groups.values() for key in group))
    if name not in there:
        raise missing(f"type {kind.name!r}", name, there)
    return {part: _without(group, name) for part, group in groups.items()}


def _without(group: Any, name: str) -> dict[str, Any]:
    return {key: value for key, value in group.items() if key != name}

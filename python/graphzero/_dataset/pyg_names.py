"""What a data set answers to code that was written for PyG's ``Data``, ``HeteroData`` and data sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.lazy_imports import load
from graphzero._dataset.all_edges import has_self_loops, is_undirected, stored_edges
from graphzero._dataset.named_tensors import (
    NamedTensors,
    assign,
    delete,
    edge_names,
    get_tensor,
    missing,
    node_names,
    on_device,
    take_edits,
)
from graphzero._dataset.split_names import usual_split_name

if TYPE_CHECKING:
    from typing_extensions import Self

    from graphzero.dataset import EdgeTriple, EdgeType, NodeType, TypeName
    from graphzero.features import FeatureStore


class Metadata(dict[str, Any]):
    """The metadata of a data set. Called, it is that of PyG's ``HeteroData``: the names of the types."""

    def __init__(self, values: Mapping[str, Any], node_types: list[str], edge_types: list[EdgeTriple]) -> None:
        super().__init__(values)
        self._types = node_types, edge_types

    def __call__(self) -> tuple[list[str], list[EdgeTriple]]:
        """Return the node types and the edge types, as ``to_hetero`` takes them."""
        return self._types

    def __reduce__(self) -> tuple[Any, ...]:
        return Metadata, (dict(self), *self._types)


# What a data set consists of; all other names are those of tensors and values.
_FIELDS = frozenset(
    {"path", "nodes", "edges", "metadata", "other", "device", "_splits", "_fingerprint", "_hetero", "_changed", "_made"}
)


# What PyG's ``Data`` has as ``None`` where it is not there.
_NONE = frozenset({"x", "y", "edge_attr", "edge_weight", "pos", "batch", "time", "face"})


class PygNames:
    """The names that ``Dataset`` shares with PyG's classes. It has the attributes declared here."""

    path: str
    nodes: Mapping[str, NodeType]
    edges: Mapping[EdgeTriple, EdgeType]
    other: Mapping[str, Any]
    device: Any
    _splits: Mapping[tuple[str, TypeName], FeatureStore | NDArray[np.int64]]
    _made: dict[Any, tuple[Any, int]]  # tensors that were asked for, and their version then

    if TYPE_CHECKING:

        @property
        def is_hetero(self) -> bool: ...
        @property
        def num_nodes(self) -> int: ...
        @property
        def node_types(self) -> list[str]: ...
        @property
        def edge_types(self) -> list[EdgeTriple]: ...
        @property
        def split_names(self) -> list[str]: ...
        def _split_name(self, name: str, kind: TypeName) -> str | None: ...
        def has_split(self, name: str, of: TypeName | None = None) -> bool: ...
        def split(self, name: str, of: TypeName | None = None, *, writable: bool = True) -> NDArray[np.int64]: ...

    def get_idx_split(self) -> dict[str, Any]:
        """Return the ids of each split as tensors, as OGB's data sets do; with several types, dicts by node type."""
        torch = load("torch")
        take_edits(self)
        found: dict[str, Any] = {}
        for name, kind in self._splits:
            ids = torch.from_numpy(self.split(name, kind))
            if not self.is_hetero:
                found[name] = ids
            elif isinstance(kind, str):
                found.setdefault(name, {})[kind] = ids
        return found

    @property
    def num_features(self) -> Any:
        """The number of columns of ``x``; with several types a dict."""
        counts = {kind: self[kind].num_features for kind in self.nodes}
        return counts if self.is_hetero else counts[self._node]

    num_node_features = num_features

    @property
    def num_edge_features(self) -> Any:
        """The number of columns of ``edge_attr``; with several types a dict."""
        counts = {triple: self[triple].num_features for triple in self.edges}
        return counts if self.is_hetero else sum(counts.values())

    @property
    def num_classes(self) -> int:
        """The number of classes of the label, if one node type has one."""
        labelled = [node for node in self.nodes.values() if node.label is not None]
        if len(labelled) != 1:
            raise ValueError(
                f"{self.path}: {len(labelled)} node types have labels; use nodes[type].num_classes with one of them"
            )
        if labelled[0].num_classes is None:  # numbers, which PyG counts
            return len(get_tensor(self, labelled[0].name, "y").unique())
        return labelled[0].num_classes

    def _set_split(self, name: str, of: str, mask: Any) -> None:
        """Set a split from a mask; ``None``, or a mask of several columns, removes it."""
        key = (self._split_name(name, of) or usual_split_name(name), of)
        splits = {known: ids for known, ids in self._splits.items() if known != key}
        if mask is not None and mask.ndim == 1 and str(mask.dtype) == "torch.bool":
            splits[key] = mask.nonzero().reshape(-1).cpu().numpy()
        self._splits = splits

    @property
    def _node(self) -> str:
        """The node type of a homogeneous data set."""
        return next(iter(self.nodes))

    def to(self, device: Any, *names: str, non_blocking: bool = False) -> Self:
        """Return this data set, whose tensors, rows and edges of batches are now made on a device.

        Ids of a batch stay on the host, where PyG leaves them; ``device=`` of a loader moves whole batches.

        Args:
            device: A torch device.
            names: Taken as PyG does, but all attributes move together.
            non_blocking: Do not wait for copies.
        """
        torch = load("torch")
        where = torch.device(device)
        take_edits(self)
        self._made = {}
        self.device = None if where.type == "cpu" else where
        return self

    def keys(self) -> list[str]:
        """Return the names of all attributes, of whatever type."""
        of_nodes = [name for kind in self.nodes for name in node_names(self, kind)]
        of_edges = [name for triple in self.edges for name in edge_names(self, triple)]
        return list(dict.fromkeys([*of_nodes, *of_edges, *self.other]))

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __len__(self) -> int:
        """Return the number of graphs."""
        return 1

    def __getitem__(self, key: Any) -> Any:
        """Return the tensors of a type, or of a homogeneous data set a tensor; ``data[0]`` is the data set itself."""
        if isinstance(key, int):
            if key not in (0, -1):
                raise IndexError(f"{self.path}: holds one graph, data[0]; found {key}")
            return self
        if isinstance(key, str) and key not in self.nodes and not self.is_hetero:
            return self._named(key)
        return NamedTensors(self, self._named_type(key))

    def __setitem__(self, name: str, value: Any) -> None:
        if self.is_hetero:
            self.other = {**self.other, name: value}
        else:
            self._assign(name, value)

    def __delitem__(self, key: Any) -> None:
        if key in self.edges:  # leaves the files as they are
            self.edges = {triple: edge for triple, edge in self.edges.items() if triple != key}
        else:
            delattr(self, key)

    def _named_type(self, key: Any) -> TypeName:
        if key in self.nodes or key in self.edges:
            return key  # type: ignore[no-any-return]
        if isinstance(key, tuple) and len(key) == 2:
            exact = (key[0], "to", key[1])
            close = [triple for triple in self.edges if (triple[0], triple[2]) == key]
            if exact in self.edges or len(close) == 1:
                return exact if exact in self.edges else close[0]
        raise KeyError(f"{self.path}: no type {key!r}; there are {self.node_types} and {self.edge_types}")

    def _owner_of(self, name: str) -> TypeName | None:
        """Return the type of a homogeneous data set that has a name."""
        if name in node_names(self, self._node):
            return self._node
        return next((triple for triple in self.edges if name in edge_names(self, triple)), None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "nodes" not in self.__dict__:  # not while it is being made
            raise AttributeError(f"Dataset has no {name!r}")
        return self._named(name)

    def _named(self, name: str) -> Any:
        """Return the value of a name, even if a method is called the same."""
        if name in self.other:
            return on_device(self.other[name], self.device)
        if not self.is_hetero and (owner := self._owner_of(name)) is not None:
            return get_tensor(self, owner, name)
        if name.endswith("_dict") and (found := self.collect(name.removesuffix("_dict"))):
            return found
        if self.is_hetero and any(name in self[kind] for kind in (*self.nodes, *self.edges)):
            raise AttributeError(
                f"{self.path}: has several types; use data[type].{name} or data.{name}_dict, with one of "
                f"{self.node_types} or {self.edge_types}"
            )
        if name in _NONE and not self.is_hetero and not (name == "edge_weight" and self._has_weights):
            return None
        raise missing(self.path, name, self.keys())

    @property
    def _has_weights(self) -> bool:
        """Whether a graph has weights; ``None`` would hide those that no attribute shows."""
        return any(edge.graph.has_weights for edge in self.edges.values())

    def is_undirected(self) -> bool:
        """Return whether every edge has its reverse. Reads all edges unless the graph was written as undirected."""
        return all(is_undirected(edge.graph) for edge in self.edges.values())

    def is_directed(self) -> bool:
        """Return whether some edge lacks its reverse."""
        return not self.is_undirected()

    def has_self_loops(self) -> bool:
        """Return whether an edge leads from a node to itself. Reads edges until it finds one."""
        return any(has_self_loops(edge.graph) for edge in self.edges.values() if not edge.graph.bipartite)

    def has_isolated_nodes(self) -> bool:
        """Return whether a node has no edges. Takes 1 byte per node."""
        touched = {kind: np.zeros(node.num_nodes, dtype=bool) for kind, node in self.nodes.items()}
        for (source, _, destination), edge in self.edges.items():
            for _, src, dst, _ in stored_edges(edge.graph):
                touched[source][src], touched[destination][dst] = True, True
        return not all(mask.all() for mask in touched.values())

    def collect(self, name: str) -> dict[Any, Any]:
        """Return the attribute ``name`` of all types that have it, as ``x_dict`` does for ``x``.

        Args:
            name: The name of the attribute.
        """
        if name == "num_nodes":
            return {kind: node.num_nodes for kind, node in self.nodes.items()}
        groups = {kind: self[kind] for kind in (*self.nodes, *self.edges)}
        return {kind: group[name] for kind, group in groups.items() if name in group}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIELDS:
            object.__setattr__(self, name, value)
            object.__setattr__(self, "_changed", True)
        elif name.startswith("_") or (name != "num_nodes" and hasattr(type(self), name)):
            raise AttributeError(f"Dataset: {name!r} comes from the files; it cannot be assigned")
        elif self.is_hetero:
            self.other = {**self.other, name: value}
        else:
            self._assign(name, value)

    def _assign(self, name: str, value: Any) -> None:
        """Assign a value to a homogeneous data set: to its nodes or edges if it has a row for each of them."""
        rows = len(value) if getattr(value, "shape", ()) else None
        of_edges = next(iter(self.edges), None)
        num_edges = None if of_edges is None else self.edges[of_edges].graph.num_input_edges
        stored = None if of_edges is None else self.edges[of_edges].graph.num_edges
        is_edge = of_edges is not None and (
            name == "edge_index"
            or (rows == num_edges and ("edge" in name or rows != self.num_nodes))
            or (rows == stored and name in edge_names(self, of_edges))
        )
        owner = self._owner_of(name)
        of = of_edges if is_edge else self._node if name == "num_nodes" or rows == self.num_nodes else None
        if of is not None:
            assign(self, of, name, value)  # which may refuse it
            self.other = {key: kept for key, kept in self.other.items() if key != name}
        else:
            self.other = {**self.other, name: value}
        if owner is not None and owner != of:
            delete(self, owner, name)

    def __delattr__(self, name: str) -> None:
        if name in self.other:
            self.other = {key: value for key, value in self.other.items() if key != name}
            return
        owner = None if self.is_hetero else self._owner_of(name)
        if owner is None:
            raise missing(self.path, name, self.keys())
        delete(self, owner, name)

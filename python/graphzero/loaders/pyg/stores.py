"""What PyG's loaders read from: features and graphs, as PyG's stores."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch_geometric.data
from numpy.typing import NDArray
from torch_geometric.data.feature_store import _FieldStatus
from torch_geometric.data.graph_store import EdgeAttr, EdgeLayout

from graphzero._base.argument_errors import value_error
from graphzero._base.arrays import as_numpy, int64_vector
from graphzero._base.memory_sizes import byte_count, byte_text, pipeline_budget
from graphzero._base.old_names import warn_of
from graphzero._inputs.attributes import Attribute, check_names
from graphzero.dataset import EdgeTriple
from graphzero.features import FeatureStore as Rows  # its own name is that of PyGFeatureStore in old pickles
from graphzero.graph import as_direction
from graphzero.loaders._batch.tensors import as_tensor, mapped_tensor
from graphzero.loaders._data.graph_data import as_graph_data
from graphzero.loaders.pyg.layouts import SIDES, in_layout, layout_bytes


class TensorAttr(torch_geometric.data.TensorAttr):  # type: ignore[misc]
    """PyG's, which can also hold a NumPy index: PyG compares that with its mark for "not given"."""

    @classmethod
    def cast(cls, *args: Any, **kwargs: Any) -> TensorAttr:
        attr = super().cast(*args, **kwargs)
        if attr is None:  # store[None]: the nodes of a homogeneous graph
            return cls(None)
        return attr if isinstance(attr, cls) else cls(attr.group_name, attr.attr_name, attr.index)

    def is_set(self, key: str) -> bool:
        return getattr(self, key) is not _FieldStatus.UNSET


class PyGFeatureStore(torch_geometric.data.FeatureStore):  # type: ignore[misc]
    """The features of a data set, or of a graph and its stores, as PyG's loaders take them.

    Rows asked for by index are read from the file; whole tensors and slices are views of it. In a homogeneous graph
    ``group_name`` is ``None`` for nodes and ``("node", "to", "node")``, or the edge type's own name, for edges; PyG's
    loaders take everything listed for features of nodes, so those of edges are not.

    Args:
        data: A data set, ``(graph, store)``, or graphs and stores by type.
        features: The attributes of nodes, as in [`Pipeline`][graphzero.Pipeline].
        edge_features: The attributes of edges.

    Examples:
        >>> import graphzero as gz
        >>> store = PyGFeatureStore(gz.open(tiny_dataset))
        >>> store.get_tensor(group_name=None, attr_name="x", index=torch.tensor([2]))
        tensor([[6., 7., 8.]])
        >>> [attr.attr_name for attr in store.select("x").get_all_tensor_attrs()]
        ['x']
    """

    def __init__(self, data: Any, *, features: Any = None, edge_features: Any = None) -> None:
        super().__init__(tensor_attr_cls=TensorAttr)
        self.data = as_graph_data(data, features=features, edge_features=edge_features)
        if self.data.unstored.columns:
            names = ", ".join(dict.fromkeys(name for _, name in self.data.unstored.columns))
            raise value_error(
                "data",
                f"{names} was assigned, and is in memory: expected attributes of files; give it to "
                "graphzero.loaders.NeighborLoader, which has both, or name others in features=",
            )
        self.listed: tuple[str, ...] | None = None

    def select(self, *names: str) -> PyGFeatureStore:
        """Return a store that lists only some attributes, so that a loader fetches no others.

        Args:
            names: The names of the attributes.
        """
        check_names(names, self.data.attributes, "select")
        chosen = copy.copy(self)
        chosen.listed = names
        return chosen

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        """Return what a loader fetches for every batch."""
        hetero = self.data.is_hetero
        return [
            TensorAttr(attribute.of if hetero else None, attribute.name)
            for attribute in self.data.attributes
            if (hetero or isinstance(attribute.of, str)) and (self.listed is None or attribute.name in self.listed)
        ]

    def _get_tensor(self, attr: TensorAttr) -> torch.Tensor:
        return self._multi_get_tensor([attr])[0]

    def _multi_get_tensor(self, attrs: list[TensorAttr]) -> list[torch.Tensor]:
        """Return tensors; rows of one store that several ask for are read by one gather."""
        tensors: list[Any] = [None] * len(attrs)
        asked: dict[int, list[tuple[int, NDArray[np.int64]]]] = {}
        for place, attr in enumerate(attrs):
            store = self._store(attr)
            ids = _ids(attr.index, store)
            if ids is None:
                tensors[place] = _view(attr, store)
            else:
                asked.setdefault(id(store), []).append((place, ids))
        for parts in asked.values():
            store = self._store(attrs[parts[0][0]])
            rows = _gathered(store, np.concatenate([ids for _, ids in parts]) if len(parts) > 1 else parts[0][1])
            for (place, _), part in zip(parts, torch.split(rows, [len(ids) for _, ids in parts]), strict=True):
                tensors[place] = part[0] if isinstance(attrs[place].index, int) else part
        return tensors

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...]:
        return self._store(attr).shape

    def _put_tensor(self, tensor: Any, attr: TensorAttr) -> bool:
        raise ValueError(
            f"{attr.attr_name}: this store is read-only; write the tensor with graphzero.write_features, or into a "
            "data set with graphzero.DatasetWriter"
        )

    def _remove_tensor(self, attr: TensorAttr) -> bool:
        raise ValueError(f"{attr.attr_name}: this store is read-only; use select() to leave attributes out")

    def _store(self, attr: TensorAttr) -> Rows:
        relations = self.data.relations
        group = attr.group_name
        if group is None and not relations.is_hetero:
            group = relations.node_types[0]
        group = tuple(group) if isinstance(group, list) else group
        stores = self.data.attributes_by_name(group)
        if attr.attr_name not in stores:
            there = sorted(_described(attribute) for attribute in self.data.attributes)
            raise KeyError(f"no attribute {attr.attr_name!r} of {attr.group_name!r}; there are {', '.join(there)}")
        return stores[attr.attr_name]

    def __repr__(self) -> str:
        return f"PyGFeatureStore({', '.join(_described(attribute) for attribute in self.data.attributes)})"


def _described(attribute: Attribute) -> str:
    return f"{attribute.name} of {attribute.of!r}"


def _ids(index: Any, store: Rows) -> NDArray[np.int64] | None:
    """Return the rows that an index means; ``None`` for those that a view of the file can show."""
    if index is None:
        return None
    if isinstance(index, slice):
        copied = store.reordered or store.quantised
        if index == slice(None) or not copied:
            return None
        return np.arange(*index.indices(store.num_rows), dtype=np.int64)
    if isinstance(index, int):
        return np.array([index], dtype=np.int64)
    rows = as_numpy(index, "index")
    if rows.dtype != np.bool_:
        return int64_vector(rows, "index")
    if rows.shape != (store.num_rows,):
        raise value_error("index", f"expected a mask of {store.num_rows} rows, found shape {rows.shape}")
    return np.flatnonzero(rows)


def _view(attr: TensorAttr, store: Rows) -> torch.Tensor:
    if store.quantised:
        raise ValueError(
            f"{store.path}: its int8 count in steps of a scale, so no view has its values: give an index, and the rows "
            "come as float32"
        )
    whole = as_tensor(store.get_tensor())
    return whole if attr.index is None else whole[attr.index]


def _gathered(store: Rows, ids: NDArray[np.int64]) -> torch.Tensor:
    """Read rows; in a worker process into memory that the main process shares, so that they are not copied there."""
    dtype = torch.float32 if store.quantised else getattr(torch, store.dtype)
    shape = (len(ids), *store.shape[1:])
    if torch.utils.data.get_worker_info() is None:
        out = torch.empty(shape, dtype=dtype)
    else:
        empty = torch.empty(0, dtype=dtype)
        storage = torch.UntypedStorage._new_shared(math.prod(shape) * empty.element_size())  # type: ignore[no-untyped-call]
        out = empty.set_(storage, 0, shape)  # type: ignore[call-overload]
    return store.gather(ids, out, dtype="float32" if store.quantised else None)


class GraphStore(torch_geometric.data.GraphStore):  # type: ignore[misc]
    """The graphs of a data set, or graphs by type, as PyG's loaders take them.

    ``get_edge_index`` gives the stored arrays as views of the file, which must not be written to: ``"csc"`` where the
    ``in`` index is stored, ``"csr"`` where ``out`` is. ``csc()``, ``csr()`` and ``coo()`` give int64, as PyG's own
    samplers want, with the edge ids as the third item, ``None`` if an edge's position is its id. What is not stored
    that way is made in memory. [`NeighborSampler`][graphzero.loaders.NeighborSampler] needs none of them.

    Args:
        data: A data set, a graph, or graphs by edge type.
        max_bytes: The most memory that a call may take: a number or a size such as ``"2GB"``. Default: half of what is
            available.

    Examples:
        >>> import graphzero as gz
        >>> store = GraphStore(gz.Graph(tiny_gl))               # 0→1  0→2  1→2  3→0
        >>> store.coo()[:2]
        (tensor([0, 0, 1, 3]), tensor([1, 2, 2, 0]))
    """

    def __init__(self, data: Any, max_bytes: int | str | None = None) -> None:
        super().__init__()
        self.data = as_graph_data(data)
        self._max_bytes = None if max_bytes is None else byte_count(max_bytes, "max_bytes")

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        """Return the edge types and the layout that each is best read in."""
        return [
            EdgeAttr(
                edge_type=triple if self.data.is_hetero else None,
                layout=EdgeLayout.CSC if "in" in graph.indexes else EdgeLayout.CSR,
                size=(graph.num_src_nodes, graph.num_dst_nodes),
            )
            for triple, graph in self.data.relations.graphs.items()
        ]

    def coo(self, edge_types: list[Any] | None = None, store: bool = False) -> Any:
        """Return all sources, destinations and edge ids.

        Edges of a directed graph come in order of edge id, those of an undirected one both ways and sorted by source.

        Args:
            edge_types: The edge types; others are left out. Default: all.
            store: Part of PyG's interface; must be ``False``, because the store is read-only.

        Raises:
            MemoryError: It would take more than ``max_bytes``.
        """
        return self._in_layout(EdgeLayout.COO, edge_types, store)

    def csr(self, edge_types: list[Any] | None = None, store: bool = False) -> Any:
        """Return where the list of each source starts, destinations and edge ids.

        Args:
            edge_types: The edge types; others are left out. Default: all.
            store: Part of PyG's interface; must be ``False``, because the store is read-only.

        Raises:
            MemoryError: It would take more than ``max_bytes``.
        """
        return self._in_layout(EdgeLayout.CSR, edge_types, store)

    def csc(self, edge_types: list[Any] | None = None, store: bool = False) -> Any:
        """Return sources, where the list of each destination starts, and edge ids.

        Args:
            edge_types: The edge types; others are left out. Default: all.
            store: Part of PyG's interface; must be ``False``, because the store is read-only.

        Raises:
            MemoryError: It would take more than ``max_bytes``.
        """
        return self._in_layout(EdgeLayout.CSC, edge_types, store)

    def _in_layout(self, layout: EdgeLayout, edge_types: Iterable[Any] | None, store: bool) -> Any:
        if store:
            raise value_error("store", "expected False, found True: this store is read-only")
        graphs = self.data.relations.graphs
        asked = list(graphs) if edge_types is None else [self._triple(edge_type) for edge_type in edge_types]
        needed = sum(layout_bytes(graphs[triple], layout) for triple in asked)
        budget = pipeline_budget() if self._max_bytes is None else self._max_bytes
        if needed > budget:
            raise MemoryError(
                f"{layout.value}() of {', '.join(graphs[triple].path for triple in asked)}: needs "
                f"{byte_text(needed)} of memory, more than max_bytes, {byte_text(budget)}; give the loader "
                "edge_label_index and graphzero.loaders.NeighborSampler, which reads the mapped graph, ask for fewer "
                "edge_types, or raise GraphStore(max_bytes=)"
            )
        found = {triple: in_layout(graphs[triple], layout) for triple in asked}
        if not self.data.is_hetero:
            return found[self._triple(None)]
        return tuple({triple: parts[i] for triple, parts in found.items()} for i in range(3))

    def _get_edge_index(self, edge_attr: EdgeAttr) -> tuple[torch.Tensor, torch.Tensor]:
        triple = self._triple(edge_attr.edge_type)
        if edge_attr.layout == EdgeLayout.COO:
            parts = self._in_layout(EdgeLayout.COO, [triple], store=False)
            return (parts[0][triple], parts[1][triple]) if self.data.is_hetero else parts[:2]
        graph = self.data.relations.graphs[triple]
        side = SIDES[edge_attr.layout]
        if side not in graph.indexes:
            name = edge_attr.layout.value
            raise KeyError(
                f"{graph.path}: has no {side!r} index, so {name!r} is not stored; {name}() makes it in memory"
            )
        graph._core.check_index(as_direction(side))
        index = graph.index(side)
        indptr, indices = mapped_tensor(index.indptr), mapped_tensor(index.indices)
        return (indices, indptr) if side == "in" else (indptr, indices)

    def _put_edge_index(self, edge_index: Any, edge_attr: EdgeAttr) -> bool:
        raise ValueError(
            f"{edge_attr.edge_type}: this store is read-only; write edges with graphzero.write_graph, or into a data "
            "set with graphzero.DatasetWriter"
        )

    def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool:
        raise ValueError(f"{edge_attr.edge_type}: this store is read-only")

    def _triple(self, edge_type: Any) -> EdgeTriple:
        graphs = self.data.relations.graphs
        if edge_type is None and graphs and not self.data.is_hetero:
            return self.data.relations.edge_type
        if edge_type is None or tuple(edge_type) not in graphs:
            raise KeyError(f"no edge type {edge_type}; there are {list(graphs)}")
        return tuple(edge_type)

    def __repr__(self) -> str:
        return f"GraphStore({', '.join(map(repr, self.data.relations.graphs.values()))})"


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name != "FeatureStore":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        warn_of("graphzero.loaders.FeatureStore", "graphzero.loaders.PyGFeatureStore")
        return PyGFeatureStore

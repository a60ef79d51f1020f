"""Data sets: a folder of graphs, features and splits with a manifest, homogeneous or heterogeneous."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphzero._base.integers import integer
from graphzero._base.memory_sizes import byte_text
from graphzero._core import FormatError
from graphzero._dataset.feature_share import FeatureShare
from graphzero._dataset.named_tensors import take_edits
from graphzero._dataset.pyg_names import Metadata, PygNames
from graphzero._dataset.split_names import usual_split_name
from graphzero._dataset.stored_values import StoredValues
from graphzero._dataset.temporary_graphs import TemporaryGraphs
from graphzero._files.manifest import read_manifest
from graphzero._files.manifest_records import FileRecord, Manifest, OtherRecords, ShareRecord
from graphzero._files.mounted import Mounted
from graphzero._files.storage import path_here
from graphzero.features import FeatureStore
from graphzero.graph import Graph
from graphzero.ids import IdDictionary
from graphzero.memory import MemoryReport, memory_report

if TYPE_CHECKING:
    from typing_extensions import Self

EdgeTriple: TypeAlias = tuple[str, str, str]
TypeName: TypeAlias = "str | EdgeTriple"

M = TypeVar("M", Graph, FeatureStore, IdDictionary)

# What the one node type and the one edge type of a homogeneous data set are called.
NODE = "node"
EDGE: EdgeTriple = ("node", "to", "node")


@dataclass(frozen=True)
class NodeType:
    """One kind of node of a data set.

    Attributes:
        name: Its name.
        num_nodes: The number of nodes.
        attributes: The stores that have a row per node, by name.
        label: The name of the attribute that holds the labels; ``None`` if there is none.
        num_classes: The number of classes of the label; ``None`` if it is not known.
        ids: The dictionary of the nodes' labels; ``None`` if nodes have none.
        in_memory: Tensors with a row per node that were assigned after the data set was mounted, by name.
        other: Tensors and values without a row per node, by name. They come with every batch.
        categories: What the integers 0, 1, 2, … of an attribute stand for, by the name of the attribute.
    """

    name: str
    num_nodes: int
    attributes: Mapping[str, FeatureStore]
    label: str | None = None
    num_classes: int | None = None
    ids: IdDictionary | None = None
    in_memory: Mapping[str, Any] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)
    categories: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def class_names(self) -> list[str] | None:
        """The names of the label's classes, class 0 first; ``None`` if they have none."""
        return None if self.label is None else self.categories.get(self.label)

    def __getitem__(self, attribute: str) -> FeatureStore:
        return _attribute(self, attribute, f"node type {self.name!r}")


@dataclass(frozen=True)
class EdgeType:
    """One kind of edge of a data set.

    Attributes:
        name: Its ``(source, relation, destination)``.
        graph: Its edges.
        attributes: The stores that have a row per edge, by edge id, by name.
        weight: The name of the attribute that the graph's weights come from; ``None`` if that is not known.
        time: The name of the attribute that the graph's times come from; ``None`` if that is not known.
        in_memory: Tensors with a row per edge that were assigned after the data set was mounted, by name.
        other: Tensors and values without a row per edge, by name. They come with every batch.
        files: The owner of temporary files that hold assigned edges; ``None`` if there are none.
        categories: What the integers 0, 1, 2, … of an attribute stand for, by the name of the attribute.
        time_unit: What the graph's times count since 1970, in UTC: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``; ``None`` if
            that is not known.
    """

    name: EdgeTriple
    graph: Graph
    attributes: Mapping[str, FeatureStore]
    weight: str | None = None
    time: str | None = None
    in_memory: Mapping[str, Any] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)
    files: TemporaryGraphs | None = field(default=None, repr=False)  # keeps the file of edges that were assigned
    categories: Mapping[str, list[str]] = field(default_factory=dict)
    time_unit: str | None = None

    def __getitem__(self, attribute: str) -> FeatureStore:
        return _attribute(self, attribute, f"edge type {self.name!r}")


def _attribute(kind: NodeType | EdgeType, name: str, owner: str) -> FeatureStore:
    if name in kind.in_memory:
        raise KeyError(f"{owner}: {name!r} was assigned, and is in memory, not in a file; use data[…].{name}")
    if name not in kind.attributes:
        raise KeyError(f"{owner} has no attribute {name!r}, only {sorted(kind.attributes)}")
    return kind.attributes[name]


@dataclass
class Dataset(PygNames):
    """A mounted data set folder, as [`open`][graphzero.open] returns it.

    It also answers to the names of PyG's ``Data``, ``HeteroData`` and data sets: ``data.x``, ``data.train_mask``,
    ``data.edge_index``, ``data["paper"].x``, ``data.x_dict``, ``dataset[0]`` and so on are tensors, views of the files
    where possible. Assigning or deleting changes this object and the batches of its loaders, never a file.

    Attributes:
        path: The folder.
        nodes: The kinds of node by name.
        edges: The kinds of edge by ``(source, relation, destination)``.
        metadata: What the manifest says about the data set, such as its name.
        other: Tensors and values of the whole data set, by name. They come with every batch.
        device: Where tensors and batches go; ``None`` leaves them in the memory of the host.

    Examples:
        >>> ds = open_dataset(tiny_dataset)
        >>> ds.graph.num_edges, ds.features("x").shape, ds.split("train")
        (4, (4, 3), array([0, 2]))
    """

    path: str
    nodes: Mapping[str, NodeType]
    edges: Mapping[EdgeTriple, EdgeType]
    metadata: Metadata
    _splits: Mapping[tuple[str, TypeName], FeatureStore | NDArray[np.int64]] = field(repr=False)
    _fingerprint: int = field(repr=False)
    _hetero: bool = field(default=False, repr=False)  # batches name their types even if there is one of each
    other: Mapping[str, Any] = field(default_factory=dict)  # of the whole data set: no row per node or edge
    device: Any = None  # where tensors and batches go; None: they stay in this machine's memory
    _changed: bool = field(default=False, init=False, repr=False)  # whether it is what the files say no longer

    _made: dict[Any, tuple[Any, int]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_changed", False)

    @property
    def is_hetero(self) -> bool:
        """Whether there is more than one kind of node or edge, or it was made from PyG's ``HeteroData``."""
        return self._hetero or len(self.nodes) > 1 or len(self.edges) > 1

    @property
    def node_types(self) -> list[str]:
        """The names of the kinds of node."""
        return list(self.nodes)

    @property
    def edge_types(self) -> list[EdgeTriple]:
        """The ``(source, relation, destination)`` names of the kinds of edge."""
        return list(self.edges)

    @property
    def num_nodes(self) -> int:
        """The number of nodes of all kinds."""
        return sum(kind.num_nodes for kind in self.nodes.values())

    @property
    def num_edges(self) -> int:
        """The number of stored edges of all kinds."""
        return sum(kind.graph.num_edges for kind in self.edges.values())

    @property
    def graph(self) -> Graph:
        """The graph of a data set that has only one. With several, use ``edges[type].graph``."""
        if len(self.edges) != 1:
            raise ValueError(
                f"{self.path}: has {len(self.edges)} edge types; use edges[type].graph with one of {self.edge_types}"
            )
        return next(iter(self.edges.values())).graph

    def features(self, name: str = "x", of: TypeName | None = None) -> FeatureStore:
        """Return an attribute of nodes or edges.

        Args:
            name: The name of the attribute.
            of: A node type, or an edge type as a triple. May be left out if there is only one node type.

        Raises:
            KeyError: There is no such attribute.
        """
        take_edits(self)
        kind = self._kind(of)
        return (self.edges[kind] if isinstance(kind, tuple) else self.nodes[kind])[name]

    def labels(self, of: str | None = None) -> FeatureStore:
        """Return the attribute that the manifest names as label.

        Args:
            of: The node type. May be left out if there is only one.

        Raises:
            ValueError: The node type has no label.
        """
        kind = self.nodes[str(self._kind(of))]
        if kind.label is None:
            raise ValueError(f"{self.path}: node type {kind.name!r} has no label")
        return kind[kind.label]

    def node_index(self, label: Any, of: str | None = None, *, type: str | None = None) -> int:
        """Return the id of the node with this label. Nodes of a type without an id dictionary are labelled 0 to N - 1.

        Args:
            label: Text or an integer, as the type has them.
            of: The node type. May be left out if there is only one.
            type: Another name for ``of``.

        Raises:
            KeyError: There is no such label.
            TypeError: The label is text and those of the type are integers, or the other way round.
        """
        node = self._node_type(of if type is None else type)
        if node.ids is not None:
            return node.ids.index(label)
        if not 0 <= (id := integer(label, "label")) < node.num_nodes:
            raise KeyError(f"{self.path}: expected a label of {node.name!r}, an id below {node.num_nodes}, found {id}")
        return id

    def node_label(self, id: int, of: str | None = None, *, type: str | None = None) -> int | str:
        """Return the label of a node: its id, if its type has no id dictionary.

        Args:
            id: The node id.
            of: The node type. May be left out if there is only one.
            type: Another name for ``of``.

        Raises:
            IndexError: There is no such node.
        """
        node = self._node_type(of if type is None else type)
        if node.ids is not None:
            return node.ids.label(id)
        if not 0 <= (label := integer(id, "id")) < node.num_nodes:
            raise IndexError(f"{self.path}: expected an id of {node.name!r} below {node.num_nodes}, found {label}")
        return label

    def _node_type(self, of: str | None) -> NodeType:
        name = self._kind(of)
        if not isinstance(name, str):
            raise ValueError(f"{self.path}: labels are those of nodes; say of= one of {self.node_types}")
        return self.nodes[name]

    @property
    def split_names(self) -> list[str]:
        """The names of the splits, such as ``train``."""
        return list(dict.fromkeys(name for name, _ in self._splits))

    def split(self, name: str, of: TypeName | None = None, *, writable: bool = True) -> NDArray[np.int64]:
        """Return the ids of a split, as a view of its file.

        Args:
            name: Such as ``"train"``. ``val``, ``validation`` and ``dev`` also find ``valid``, and the other way round.
            of: A node type, or an edge type as a triple. May be left out if there is only one node type.
            writable: ``False`` gives a view that refuses writes. Otherwise they are private to this process.

        Raises:
            KeyError: There is no such split.
        """
        kind = self._kind(of)
        take_edits(self)
        found = self._split_name(name, kind)
        if found is None:
            there = ", ".join(f"{split} of {type_text(of_kind)}" for split, of_kind in self._splits) or "none"
            raise KeyError(f"{self.path}: no split {name} of {type_text(kind)}; there are {there}")
        ids = self._splits[found, kind]
        if isinstance(ids, FeatureStore):
            return ids.get_tensor(writable=writable)
        copied: NDArray[np.int64] = ids.copy()  # of a mask that was assigned
        return copied

    def has_split(self, name: str, of: TypeName | None = None) -> bool:
        """Return whether there is such a split.

        Args:
            name: Such as ``"train"``.
            of: A node type, or an edge type as a triple. May be left out if there is only one node type.
        """
        return self._split_name(name, self._kind(of)) is not None

    def _split_name(self, name: str, kind: TypeName) -> str | None:
        if (name, kind) in self._splits:
            return name
        usual = usual_split_name(name)
        return next((split for split, of in self._splits if of == kind and usual_split_name(split) == usual), None)

    def _kind(self, of: TypeName | None) -> TypeName:
        """Return ``of`` if the data set has it, or the only node type there is."""
        if of is None:
            if len(self.nodes) != 1:
                raise ValueError(f"{self.path}: has several node types; say of= one of {self.node_types}")
            return next(iter(self.nodes))
        kind = tuple(of) if not isinstance(of, str) else of
        if kind not in self.nodes and kind not in self.edges:
            raise KeyError(f"{self.path}: no type {kind!r}; there are {self.node_types} and {self.edge_types}")
        return kind  # type: ignore[return-value]

    def stores(self) -> Iterator[Mounted[Any]]:
        """Iterate over all mounted files.

        Yields:
            Graphs, feature stores and id dictionaries.
        """
        for node in self.nodes.values():
            for store in node.attributes.values():
                yield from store.parts() if isinstance(store, FeatureShare) else [store]
            if node.ids is not None:
                yield node.ids
        for edge in self.edges.values():
            yield edge.graph
            yield from edge.attributes.values()
        yield from (ids for ids in self._splits.values() if isinstance(ids, FeatureStore))
        for other in (
            self.other,
            *(node.other for node in self.nodes.values()),
            *(edge.other for edge in self.edges.values()),
        ):
            if isinstance(other, StoredValues):
                yield from other.stores()

    @property
    def nbytes(self) -> int:
        """The size of all files in bytes."""
        return sum(store.nbytes for store in self.stores())

    def memory_report(self) -> MemoryReport:
        """Return [`memory_report`][graphzero.memory_report] for the files of this data set."""
        return memory_report(*self.stores())

    def close(self) -> None:
        """Close all files. Arrays taken from them stay valid. May be called again."""
        for store in self.stores():
            store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __copy__(self) -> Self:
        """Return a data set on the same files, whose attributes are assigned and deleted independently."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied.__dict__["_made"] = dict(self._made)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        take_edits(self)
        return _reopen, (os.path.abspath(self.path), self._fingerprint, self._changes() if self._changed else None)

    def _changes(self) -> tuple[Any, ...]:
        """Return what was changed by assignment, as far as the files do not say it."""
        nodes = {
            name: (list(node.attributes), node.in_memory, _given(node.other), node.label)
            for name, node in self.nodes.items()
        }
        edges = {
            triple: (
                list(edge.attributes),
                edge.in_memory,
                _given(edge.other),
                (edge.weight, edge.time),
                None if self._has_file(edge.graph) else edge.graph,
            )
            for triple, edge in self.edges.items()
        }
        splits = {key: None if isinstance(ids, FeatureStore) else ids for key, ids in self._splits.items()}
        return nodes, edges, splits, _given(self.other), self.device

    def _has_file(self, graph: Graph) -> bool:
        return os.path.abspath(graph.path).startswith(os.path.abspath(self.path) + os.sep)

    def _apply(self, nodes: Any, edges: Any, splits: Any, other: Any, device: Any) -> None:
        for name, (names, in_memory, values, label) in nodes.items():
            node = self.nodes[name]
            kept = {attribute: node.attributes[attribute] for attribute in names}
            changed = replace(
                node, attributes=kept, in_memory=in_memory, other=_or_stored(values, node.other), label=label
            )
            self.nodes = {**self.nodes, name: changed}
        for triple in [triple for triple in self.edges if triple not in edges]:
            self.edges = {kept: edge for kept, edge in self.edges.items() if kept != triple}
        for triple, (names, in_memory, values, (weight, time), graph) in edges.items():
            edge = self.edges[triple]
            changed_edge = replace(
                edge,
                attributes={attribute: edge.attributes[attribute] for attribute in names},
                in_memory=in_memory,
                other=_or_stored(values, edge.other),
                weight=weight,
                time=time,
                graph=edge.graph if graph is None else graph,
            )
            self.edges = {**self.edges, triple: changed_edge}
        self._splits = {key: self._splits[key] if ids is None else ids for key, ids in splits.items()}
        self.other = _or_stored(other, self.other)
        self.device = device

    def __repr__(self) -> str:
        if all(store.closed for store in self.stores()):
            return f"Dataset({self.path!r}, closed)"
        lines = [f"Dataset({self.path!r}, {byte_text(self.nbytes)})"]
        for node in self.nodes.values():
            lines.append(f"  {node.name}: {node.num_nodes:,} nodes{_listed(node.attributes)}")
        for edge in self.edges.values():
            lines.append(f"  {type_text(edge.name)}: {edge.graph.num_edges:,} edges{_listed(edge.attributes)}")
        for (name, kind), ids in self._splits.items():
            lines.append(f"  split {name} of {type_text(kind)}: {len(ids):,} ids")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from graphzero._look.pages import dataset_html  # which only notebooks need

        return dataset_html(self)


def _given(other: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return values that were assigned; those of the files need not be pickled."""
    return None if isinstance(other, StoredValues) else other


def _or_stored(given: Mapping[str, Any] | None, stored: Mapping[str, Any]) -> Mapping[str, Any]:
    return stored if given is None else given


def type_text(kind: TypeName) -> str:
    """Write a type as a person would read it."""
    return kind if isinstance(kind, str) else " → ".join(kind)


def _listed(attributes: Mapping[str, FeatureStore]) -> str:
    texts = [f"{name} {' × '.join(map(str, (*store.shape[1:], store.dtype)))}" for name, store in attributes.items()]
    return "; " + ", ".join(texts) if texts else ""


def open_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Mount a data set folder.

    Opens every file and compares its counts and fingerprint with the manifest, but reads none.

    Args:
        path: The folder.

    Returns:
        The data set.

    Raises:
        FormatError: The folder or a file in it is not what the manifest says.
        OSError: A file cannot be opened.
    """
    folder = path_here(path)
    manifest, fingerprint = read_manifest(folder)
    opened: list[Mounted[Any]] = []
    try:
        return _mount(folder, manifest, fingerprint, opened)
    except BaseException:
        for store in opened:
            store.close()
        raise


def _reopen(path: str, fingerprint: int, changes: tuple[Any, ...] | None) -> Dataset:
    dataset = open_dataset(path)
    if dataset._fingerprint != fingerprint:
        dataset.close()
        raise FormatError(f"{path}: the data set changed since it was pickled; open it anew with graphzero.open(path)")
    if changes is not None:
        dataset._apply(*changes)
    return dataset


def _mount(folder: str, manifest: Manifest, fingerprint: int, opened: list[Mounted[Any]]) -> Dataset:
    records: list[FileRecord] = []

    def mounted(kind: type[M], record: FileRecord) -> M:
        store = kind(os.path.join(folder, record.file))
        opened.append(store)
        records.append(record)
        return store

    def features(record: FileRecord, num_rows: int | None, what: str) -> FeatureStore:
        store = mounted(FeatureStore, record)
        if num_rows is not None and store.num_rows != num_rows:
            raise FormatError(f"{store.path}: {what}: expected {num_rows} rows, found {store.num_rows}")
        return store

    def share(record: ShareRecord, what: str) -> FeatureShare:
        own = features(record, record.num_rows, f"{what}, of host {record.host}")
        _check_order_of_ids(own, what)
        if record.hot is None:
            return FeatureShare(record, own, None, None)
        ids = features(record.hot[0], None, what)
        if ids.dtype != "int64" or len(ids.shape) != 1:
            raise FormatError(
                f"{ids.path}: {what}: expected int64 ids of rows that all hosts have, found {ids.dtype} {ids.shape}"
            )
        hot = features(record.hot[1], ids.num_rows, f"{what}, those that all hosts have")
        _check_order_of_ids(hot, what)
        expected, found = (
            f"{store.dtype} {store.shape[1:]} {'with' if store.quantised else 'without'} scales" for store in (own, hot)
        )
        if expected != found:
            raise FormatError(f"{hot.path}: {what}: expected rows as in {own.path}, {expected}, found {found}")
        return FeatureShare(record, own, ids, hot)

    def of_nodes(record: FileRecord, num_nodes: int, what: str) -> FeatureStore:
        return share(record, what) if isinstance(record, ShareRecord) else features(record, num_nodes, what)

    def others(records: OtherRecords) -> StoredValues:
        return StoredValues(
            {
                name: features(record, None, "other") if isinstance(record, FileRecord) else record
                for name, record in records.items()
            }
        )

    nodes = {}
    for name, node in manifest.nodes.items():
        attributes = {
            attribute: of_nodes(record, node.num_nodes, f"attribute {attribute!r} of node type {name!r}")
            for attribute, record in node.attributes.items()
        }
        ids = None
        if node.ids is not None:
            ids = mounted(IdDictionary, node.ids)
            if len(ids) != node.num_nodes:
                raise FormatError(
                    f"{ids.path}: ids of node type {name!r}: expected {node.num_nodes} labels, found {len(ids)}"
                )
        nodes[name] = NodeType(
            name,
            node.num_nodes,
            attributes,
            node.label,
            node.num_classes,
            ids,
            other=others(node.other),
            categories=node.categories,
        )
    edges = {}
    for triple, edge in manifest.edges.items():
        graph = mounted(Graph, edge.graph)
        for side, kind, found in (
            ("source", triple[0], graph.num_src_nodes),
            ("destination", triple[2], graph.num_dst_nodes),
        ):
            if nodes[kind].num_nodes != found:
                raise FormatError(
                    f"{graph.path}: {side} nodes of {triple}: expected {nodes[kind].num_nodes}, as many as "
                    f"{kind!r} has, found {found}"
                )
        attributes = {
            attribute: features(record, graph.num_input_edges, f"attribute {attribute!r} of edge type {triple}")
            for attribute, record in edge.attributes.items()
        }
        for column, named, has in (("weight", edge.weight, graph.has_weights), ("time", edge.time, graph.has_times)):
            if named is not None and not has:
                raise FormatError(
                    f"{graph.path}: {column} of {triple}: expected the graph to have it, as {named!r}, found none"
                )
        edges[triple] = EdgeType(
            triple,
            graph,
            attributes,
            edge.weight,
            edge.time,
            other=others(edge.other),
            categories=edge.categories,
            time_unit=edge.time_unit,
        )
    splits: dict[tuple[str, TypeName], FeatureStore] = {}
    for split in manifest.splits:
        rows = features(split.ids, None, "split")
        if rows.dtype != "int64" or len(rows.shape) != 1:
            raise FormatError(f"{rows.path}: split {split.name!r}: expected int64 ids, found {rows.dtype} {rows.shape}")
        splits[split.name, split.of] = rows
    metadata = Metadata(manifest.metadata, list(nodes), list(edges))
    dataset = Dataset(
        folder, nodes, edges, metadata, splits, fingerprint, _hetero=manifest.hetero, other=others(manifest.other)
    )
    # Last, for what does not fit the manifest at all has a message that says more.
    for record, store in zip(records, opened, strict=True):
        if problem := record.mismatch(store):
            raise FormatError(
                f"{store.path}: fingerprint is the manifest's: {problem} than the data set was written with; if it is "
                "being replaced right now, try again, else write the data set anew"
            )
    return dataset


def _check_order_of_ids(store: FeatureStore, what: str) -> None:
    if store.reordered:
        raise FormatError(f"{store.path}: {what}: expected rows in the order of their ids, found the hottest first")

"""Data sets: a folder of graphs, features and splits with a manifest, homogeneous or heterogeneous."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphzero._core import FormatError
from graphzero.arrays import int64_vector, integer
from graphzero.features import FeatureStore, write_features
from graphzero.folder import NewFolder, link_or_copy
from graphzero.graph import Graph, write_graph
from graphzero.manifest import (
    MANIFEST,
    EdgeRecord,
    FileRecord,
    Manifest,
    NodeRecord,
    SplitRecord,
    file_name,
    read_manifest,
    write_manifest,
)
from graphzero.memory import MemoryReport, byte_text, memory_report
from graphzero.mounted import Mounted

if TYPE_CHECKING:
    from typing_extensions import Self

EdgeTriple: TypeAlias = tuple[str, str, str]
TypeName: TypeAlias = "str | EdgeTriple"

# What the one node type and the one edge type of a homogeneous data set are called.
NODE = "node"
EDGE: EdgeTriple = ("node", "to", "node")


@dataclass(frozen=True)
class NodeType:
    """One kind of node: how many there are and what is known of each."""

    name: str
    num_nodes: int
    attributes: Mapping[str, FeatureStore]
    label: str | None = None
    num_classes: int | None = None

    def __getitem__(self, attribute: str) -> FeatureStore:
        return _attribute(self.attributes, attribute, f"node type {self.name!r}")


@dataclass(frozen=True)
class EdgeType:
    """One kind of edge: its graph and what is known of each edge, by edge id."""

    name: EdgeTriple
    graph: Graph
    attributes: Mapping[str, FeatureStore]

    def __getitem__(self, attribute: str) -> FeatureStore:
        return _attribute(self.attributes, attribute, f"edge type {self.name!r}")


def _attribute(attributes: Mapping[str, FeatureStore], name: str, owner: str) -> FeatureStore:
    if name not in attributes:
        raise KeyError(f"{owner} has no attribute {name!r}, only {sorted(attributes)}")
    return attributes[name]


@dataclass
class Dataset:
    """A mounted data set folder; made by :func:`graphzero.open`.

    >>> ds = open_dataset(tiny_dataset)
    >>> ds.graph.num_edges, ds.features("x").shape, ds.split("train")
    (4, (4, 3), array([0, 2]))
    """

    path: str
    nodes: Mapping[str, NodeType]
    edges: Mapping[EdgeTriple, EdgeType]
    metadata: Mapping[str, Any]
    _splits: Mapping[tuple[str, TypeName], FeatureStore] = field(repr=False)
    _fingerprint: int = field(repr=False)

    @property
    def is_hetero(self) -> bool:
        """Whether there is more than one kind of node or edge."""
        return len(self.nodes) > 1 or len(self.edges) > 1

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
        """The graph of a data set that has one; with several, use ``edges[type].graph``."""
        if len(self.edges) != 1:
            raise ValueError(
                f"{self.path}: has {len(self.edges)} edge types; use edges[type].graph with one of {self.edge_types}"
            )
        return next(iter(self.edges.values())).graph

    def features(self, name: str = "x", of: TypeName | None = None) -> FeatureStore:
        """Return the attribute ``name`` of a node type, or of an edge type given as a triple."""
        kind = self._kind(of)
        return (self.edges[kind] if isinstance(kind, tuple) else self.nodes[kind])[name]

    def labels(self, of: str | None = None) -> FeatureStore:
        """Return the attribute that the manifest names as label."""
        kind = self.nodes[str(self._kind(of))]
        if kind.label is None:
            raise ValueError(f"{self.path}: node type {kind.name!r} has no label")
        return kind[kind.label]

    @property
    def split_names(self) -> list[str]:
        """The names of the splits, such as ``train``."""
        return list(dict.fromkeys(name for name, _ in self._splits))

    def split(self, name: str, of: TypeName | None = None) -> NDArray[np.int64]:
        """Return the ids of a split, as a view of its file."""
        kind = self._kind(of)
        if (name, kind) not in self._splits:
            there = ", ".join(f"{split} of {type_text(of_kind)}" for split, of_kind in self._splits) or "none"
            raise KeyError(f"{self.path}: no split {name} of {type_text(kind)}; there are {there}")
        return self._splits[name, kind].get_tensor(writable=False)

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
        """Walk over every mounted file."""
        for node in self.nodes.values():
            yield from node.attributes.values()
        for edge in self.edges.values():
            yield edge.graph
            yield from edge.attributes.values()
        yield from self._splits.values()

    @property
    def nbytes(self) -> int:
        """The size of all files."""
        return sum(store.nbytes for store in self.stores())

    def memory_report(self) -> MemoryReport:
        """Return :func:`graphzero.memory_report` for the files of this data set."""
        return memory_report(*self.stores())

    def close(self) -> None:
        """Give all files back. Arrays taken from them stay valid. May be repeated."""
        for store in self.stores():
            store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (os.path.abspath(self.path), self._fingerprint)

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


def type_text(kind: TypeName) -> str:
    """Write a type as a person would read it."""
    return kind if isinstance(kind, str) else " → ".join(kind)


def _listed(attributes: Mapping[str, FeatureStore]) -> str:
    texts = [f"{name} {' × '.join(map(str, (*store.shape[1:], store.dtype)))}" for name, store in attributes.items()]
    return "; " + ", ".join(texts) if texts else ""


def open_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Mount a data set folder.

    Every file is opened and its counts are compared with the manifest; none is read.
    """
    folder = os.fsdecode(path)
    manifest, fingerprint = read_manifest(folder)
    opened: list[Mounted[Any]] = []
    try:
        return _mount(folder, manifest, fingerprint, opened)
    except BaseException:
        for store in opened:
            store.close()
        raise


def _reopen(path: str, fingerprint: int) -> Dataset:
    dataset = open_dataset(path)
    if dataset._fingerprint != fingerprint:
        dataset.close()
        raise FormatError(f"{path}: the data set changed since it was pickled; open it anew with graphzero.open(path)")
    return dataset


def _mount(folder: str, manifest: Manifest, fingerprint: int, opened: list[Mounted[Any]]) -> Dataset:
    def features(record: FileRecord, num_rows: int | None, what: str) -> FeatureStore:
        store = FeatureStore(os.path.join(folder, record.file))
        opened.append(store)
        if num_rows is not None and store.num_rows != num_rows:
            raise FormatError(f"{store.path}: {what}: expected {num_rows} rows, found {store.num_rows}")
        return store

    nodes = {}
    for name, node in manifest.nodes.items():
        attributes = {
            attribute: features(record, node.num_nodes, f"attribute {attribute!r} of node type {name!r}")
            for attribute, record in node.attributes.items()
        }
        nodes[name] = NodeType(name, node.num_nodes, attributes, node.label, node.num_classes)
    edges = {}
    for triple, edge in manifest.edges.items():
        graph = Graph(os.path.join(folder, edge.graph.file))
        opened.append(graph)
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
        edges[triple] = EdgeType(triple, graph, attributes)
    splits: dict[tuple[str, TypeName], FeatureStore] = {}
    for split in manifest.splits:
        ids = features(split.ids, None, "split")
        if ids.dtype != "int64" or len(ids.shape) != 1:
            raise FormatError(f"{ids.path}: split {split.name!r}: expected int64 ids, found {ids.dtype} {ids.shape}")
        splits[split.name, split.of] = ids
    return Dataset(folder, nodes, edges, manifest.metadata, splits, fingerprint)


class DatasetWriter:
    """Writes a data set folder; it appears whole when the ``with`` block ends, or not at all.

    Attributes are arrays, or paths of ``.gd`` files and mounted stores, which are linked or copied.
    Types are left out for a homogeneous data set.

    >>> with DatasetWriter("movies", overwrite=True) as w:
    ...     w.add_nodes({"x": np.eye(3)}, type="user")
    ...     w.add_nodes(type="movie", num_nodes=2)
    ...     w.add_edges([0, 1, 2], [1, 0, 1], type=("user", "rates", "movie"), attributes={"stars": [5, 3, 4]})
    ...     w.add_split("train", [0, 1], of=("user", "rates", "movie"))
    >>> open_dataset("movies").edges["user", "rates", "movie"]["stars"].get_tensor()
    array([5, 3, 4])
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        self._folder = NewFolder(os.fsdecode(path), overwrite=overwrite)
        self._manifest = Manifest()

    @property
    def folder(self) -> str:
        """Where the files are while they are being written."""
        return self._folder.temporary

    def add_nodes(
        self,
        attributes: Mapping[str, Any] | None = None,
        *,
        type: str = NODE,
        num_nodes: int | None = None,
        label: str | None = None,
        num_classes: int | None = None,
    ) -> None:
        """Add a kind of node. ``num_nodes`` may be left out where an attribute tells it."""
        if type in self._manifest.nodes:
            raise ValueError(f"node type {type!r} was added before")
        counts = {
            name: len(values)
            for name, values in (attributes or {}).items()
            if hasattr(values, "__len__") and not isinstance(values, str)
        }
        if num_nodes is None:
            if not counts:
                raise ValueError(f"node type {type!r}: expected num_nodes, or an attribute with a row per node")
            num_nodes = next(iter(counts.values()))
        num_nodes = integer(num_nodes, "num_nodes")
        if label is not None and label not in (attributes or {}):
            raise ValueError(
                f"node type {type!r}: label {label!r} is not one of the attributes {list(attributes or {})}"
            )
        record = NodeRecord(num_nodes, {}, label, num_classes)
        for name, values in (attributes or {}).items():
            file = f"nodes/{file_name(type)}/{file_name(name)}.gd"
            record.attributes[name] = self._features(file, values, num_nodes, f"attribute {name!r} of {type!r}")
        self._manifest.nodes[type] = record

    def add_edges(
        self,
        src: ArrayLike | None = None,
        dst: ArrayLike | None = None,
        *,
        type: EdgeTriple = EDGE,
        graph: str | os.PathLike[str] | Graph | None = None,
        attributes: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Add a kind of edge, from arrays with the options of :func:`write_graph`, or from a ``.gl``.

        The node types at both ends must have been added before.
        """
        triple = _triple(type)
        if triple in self._manifest.edges:
            raise ValueError(f"edge type {triple!r} was added before")
        for end in (triple[0], triple[2]):
            if end not in self._manifest.nodes:
                raise ValueError(f"edge type {triple!r}: add node type {end!r} first")
        if (src is None) != (dst is None) or (src is None) == (graph is None):
            raise TypeError("expected src and dst, or graph=")
        place = f"edges/{'__'.join(file_name(part) for part in triple)}"
        target = self._folder.file(f"{place}/graph.gl")
        if graph is not None:
            link_or_copy(graph.path if isinstance(graph, Graph) else os.fsdecode(graph), target)
        else:
            counts = self._manifest.nodes[triple[0]].num_nodes, self._manifest.nodes[triple[2]].num_nodes
            num_nodes = counts if triple[0] != triple[2] else counts[0]
            write_graph(target, src, dst, num_nodes=num_nodes, **options)  # type: ignore[arg-type]
        with Graph(target) as written:
            record = EdgeRecord(FileRecord(f"{place}/graph.gl", written.fingerprint), {})
            num_edges = written.num_input_edges
        for name, values in (attributes or {}).items():
            record.attributes[name] = self._features(
                f"{place}/{file_name(name)}.gd", values, num_edges, f"attribute {name!r} of {triple!r}"
            )
        self._manifest.edges[triple] = record

    def add_split(self, name: str, ids: ArrayLike, *, of: TypeName | None = None) -> None:
        """Add the node ids, or with an edge type the edge ids, that belong to split ``name``."""
        if of is None:
            if len(self._manifest.nodes) != 1:
                raise ValueError(f"split {name!r}: say of= one of {list(self._manifest.nodes)}")
            of = next(iter(self._manifest.nodes))
        kind: TypeName = of if isinstance(of, str) else _triple(of)
        if any((split.name, split.of) == (name, kind) for split in self._manifest.splits):
            raise ValueError(f"split {name!r} of {kind!r} was added before")
        vector = int64_vector(ids, f"split {name!r}")
        limit = self._count(kind)
        wrong = np.flatnonzero((vector < 0) | (vector >= limit))
        if wrong.size:
            at = int(wrong[0])
            raise IndexError(f"split {name!r}[{at}]: expected an id of {kind!r} below {limit}, found {vector[at]}")
        part = file_name(kind) if isinstance(kind, str) else "__".join(file_name(part) for part in kind)
        record = self._features(f"splits/{file_name(name)}/{part}.gd", vector, None, f"split {name!r}")
        self._manifest.splits.append(SplitRecord(name, kind, record))

    def set_metadata(self, **values: Any) -> None:
        """Keep JSON values, such as a name or a licence, in the manifest."""
        self._manifest.metadata.update(values)

    def _count(self, kind: TypeName) -> int:
        if isinstance(kind, str):
            if kind not in self._manifest.nodes:
                raise ValueError(f"add node type {kind!r} first")
            return self._manifest.nodes[kind].num_nodes
        if kind not in self._manifest.edges:
            raise ValueError(f"add edge type {kind!r} first")
        with Graph(self._folder.file(self._manifest.edges[kind].graph.file)) as graph:
            return graph.num_input_edges

    def _features(self, file: str, values: Any, num_rows: int | None, what: str) -> FileRecord:
        target = self._folder.file(file)
        if isinstance(values, (str, os.PathLike)):
            link_or_copy(os.fsdecode(values), target)
        elif isinstance(values, FeatureStore):
            link_or_copy(values.path, target)
        else:
            write_features(target, values)
        with FeatureStore(target) as store:
            if num_rows is not None and store.num_rows != num_rows:
                raise ValueError(f"{what}: expected {num_rows} rows, found {store.num_rows}")
            return FileRecord(file, store.fingerprint)

    def close(self) -> None:
        """Write the manifest and put the folder in place. May be repeated."""
        if self._folder.is_open:
            write_manifest(self._folder.file(MANIFEST), self._manifest)
            self._folder.commit()

    def abort(self) -> None:
        """Leave the target as it was and remove what was written."""
        self._folder.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abort()


def _triple(value: Any) -> EdgeTriple:
    parts = tuple(value) if not isinstance(value, str) else ()
    if len(parts) != 3 or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"edge type: expected (source, relation, destination), found {value!r}")
    return parts

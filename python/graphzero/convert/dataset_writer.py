"""Writing data set folders, which appear whole or not at all."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphzero._base.arrays import int64_vector
from graphzero._base.dtypes import as_data_type, name_of
from graphzero._base.integers import integer
from graphzero._files.folder import NewFolder, link_or_copy
from graphzero._files.manifest import (
    MANIFEST,
    EdgeRecord,
    FileRecord,
    Manifest,
    NodeRecord,
    SplitRecord,
    ValueRecord,
    check_json,
    file_name,
    type_path,
    write_manifest,
)
from graphzero.dataset import EDGE, NODE, EdgeTriple, TypeName
from graphzero.features import FeatureStore, write_features, write_permuted
from graphzero.graph import Graph, write_graph
from graphzero.ids import IdDictionary, write_ids

if TYPE_CHECKING:
    from typing_extensions import Self

# Ids of a split that are checked together: one may be as long as a graph that does not fit in memory.
_IDS_AT_ONCE = 1 << 20


class DatasetWriter:
    """Writes a data set folder, which appears whole when the ``with`` block ends, or not at all.

    Attributes are arrays, or paths of ``.gd`` files and mounted stores, which are linked or copied. A homogeneous data
    set needs no type names. For one thread.

    Args:
        path: The folder to write.
        overwrite: Replace a data set that is there.
        hetero: Let batches name their types even if there is one of each, as those of PyG's ``HeteroData`` do.

    Examples:
        >>> with DatasetWriter("movies", overwrite=True) as w:
        ...     w.add_nodes({"x": np.eye(3)}, type="user")
        ...     w.add_nodes(type="movie", num_nodes=2)
        ...     w.add_edges([0, 1, 2], [1, 0, 1], type=("user", "rates", "movie"), attributes={"stars": [5, 3, 4]})
        ...     w.add_split("train", [0, 1], of=("user", "rates", "movie"))
        >>> from graphzero.dataset import open_dataset
        >>> open_dataset("movies").edges["user", "rates", "movie"]["stars"].get_tensor()
        array([5, 3, 4])
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False, hetero: bool = False) -> None:
        target = os.fsdecode(path)
        if overwrite:
            _refuse_other_folder(target)
        self._folder = NewFolder(target, overwrite=overwrite)
        self._manifest = Manifest()
        self.hetero = hetero
        # Types whose integer labels, given in memory, are other numbers than their node ids.
        self._renumbered: set[str] = set()
        self._splits: set[tuple[str, TypeName]] = set()

    @property
    def folder(self) -> str:
        """The folder that holds the files until ``close()``."""
        return self._folder.temporary

    def add_nodes(
        self,
        attributes: Mapping[str, Any] | None = None,
        *,
        type: str = NODE,
        num_nodes: int | None = None,
        label: str | None = None,
        num_classes: int | None = None,
        ids: Any = None,
    ) -> None:
        """Add a kind of node.

        Args:
            attributes: Arrays or files with a row per node, by name.
            type: The name of the node type.
            num_nodes: The number of nodes. Default: that of the rows or ``ids``.
            label: The name of the attribute that holds the labels.
            num_classes: The number of classes of the label.
            ids: The nodes' labels, text or integers, each once; nodes are numbered in their sorted order. Of labels in
                memory, the ``k``-th belongs to row ``k`` of every attribute, and rows are written in the order of the
                nodes. With a ``.gi`` file or a mounted [`IdDictionary`][graphzero.IdDictionary], row ``i`` belongs to
                node ``i``.

        Raises:
            ValueError: The type was added before, or numbers of rows differ.

        Examples:
            >>> with DatasetWriter("people", overwrite=True) as w:
            ...     w.add_nodes({"age": [31, 44, 27]}, ids=["zoe", "adam", "mia"])
            ...     w.add_edges(["zoe", "mia"], ["adam", "adam"])
            ...     w.add_split("train", ["zoe"])
            >>> from graphzero.dataset import open_dataset
            >>> people = open_dataset("people")
            >>> people.features("age").get_data(people.nodes["node"].ids.index("zoe"))
            array([31])
        """
        if type in self._manifest.nodes:
            raise ValueError(f"node type {type!r} was added before")
        self._renumbered.discard(type)  # of an attempt that was refused
        counts = {
            name: len(values)
            for name, values in (attributes or {}).items()
            if hasattr(values, "__len__") and not isinstance(values, str)
        }
        record_of_ids = rows = None
        if ids is not None:
            record_of_ids, counts["ids="], rows = self._id_dictionary(type, ids)
        if num_nodes is None:
            if not counts:
                raise ValueError(f"node type {type!r}: expected num_nodes, or an attribute with a row per node")
            num_nodes = next(iter(counts.values()))
        num_nodes = integer(num_nodes, "num_nodes")
        if label is not None and label not in (attributes or {}):
            raise ValueError(
                f"node type {type!r}: label {label!r} is not one of the attributes {list(attributes or {})}"
            )
        if ids is not None and counts["ids="] != num_nodes:
            raise ValueError(f"ids of {type!r}: expected {num_nodes} labels, found {counts['ids=']}")
        classes = None if num_classes is None else integer(num_classes, "num_classes")
        record = NodeRecord(num_nodes, {}, label, classes, record_of_ids)
        for name, values in (attributes or {}).items():
            file = f"nodes/{file_name(type)}/{file_name(name)}.gd"
            what = f"attribute {name!r} of {type!r}"
            record.attributes[name] = self._features(file, values, num_nodes, what, rows)
        self._manifest.nodes[type] = record

    def add_edges(
        self,
        src: ArrayLike | None = None,
        dst: ArrayLike | None = None,
        *,
        type: EdgeTriple = EDGE,
        graph: str | os.PathLike[str] | Graph | None = None,
        attributes: Mapping[str, Any] | None = None,
        weight: ArrayLike | str | None = None,
        time: ArrayLike | str | None = None,
        labels: bool | None = None,
        **options: Any,
    ) -> None:
        """Add a kind of edge, from arrays or from a ``.gl`` file. Add the node types at both ends first.

        Args:
            src: Node ids of sources, or their labels, which are looked up in the ``ids`` of the node type.
            dst: Node ids of destinations, or their labels.
            type: The edge type: ``(source, relation, destination)``.
            graph: A ``.gl`` file or a mounted graph instead of ``src`` and ``dst``. It holds node ids.
            attributes: Arrays or files with a row per edge, by name.
            weight: The weights that neighbours are drawn by: an array, or the name of an attribute, which then also
                comes with batches. With a ``graph`` only the name.
            time: The times that neighbours are drawn by, likewise.
            labels: Whether ``src`` and ``dst`` are labels. Default: if they are text.
            options: Those of [`write_graph`][graphzero.write_graph].

        Raises:
            KeyError: A label is not in the dictionary.
            ValueError: The type was added before, or a node type was not.
        """
        triple = _triple(type)
        if triple in self._manifest.edges:
            raise ValueError(f"edge type {triple!r} was added before")
        for end in (triple[0], triple[2]):
            if end not in self._manifest.nodes:
                raise ValueError(f"edge type {triple!r}: add node type {end!r} first")
        if (src is None) != (dst is None) or (src is None) == (graph is None):
            raise TypeError("expected src and dst, or graph=")
        place = f"edges/{type_path(triple)}"
        target = self._folder.file(f"{place}/graph.gl")
        given = {"weight": weight, "time": time}
        names = {column: _name(values, column, attributes or {}) for column, values in given.items()}
        if graph is not None:
            for column, values in given.items():
                if values is not None and names[column] is None:
                    raise TypeError(f"{column}: expected the name of an attribute beside graph=, found an array")
            path = graph.path if isinstance(graph, Graph) else os.fsdecode(graph)
            self._check_labels(path, triple)
            link_or_copy(path, target)
        else:
            counts = self._manifest.nodes[triple[0]].num_nodes, self._manifest.nodes[triple[2]].num_nodes
            num_nodes = counts if triple[0] != triple[2] else counts[0]
            columns: dict[str, Any] = {
                column: values if names[column] is None else _values((attributes or {})[str(values)])
                for column, values in given.items()
            }
            src, dst = self._node_ids(triple[0], src, labels, "src"), self._node_ids(triple[2], dst, labels, "dst")
            write_graph(target, src, dst, num_nodes=num_nodes, **columns, **options)
        with Graph(target) as written:
            for column, has in (("weight", written.has_weights), ("time", written.has_times)):
                if names[column] is not None and not has:
                    raise ValueError(
                        f"{column}: {names[column]!r}: the graph of {triple!r} has none; write it with {column}="
                    )
            file = FileRecord(f"{place}/graph.gl", written.fingerprint)
            record = EdgeRecord(file, {}, names["weight"], names["time"])
            num_edges = written.num_input_edges
        for name, values in (attributes or {}).items():
            record.attributes[name] = self._features(
                f"{place}/{file_name(name)}.gd", values, num_edges, f"attribute {name!r} of {triple!r}"
            )
        self._manifest.edges[triple] = record

    def add_split(self, name: str, ids: ArrayLike, *, of: TypeName | None = None, labels: bool | None = None) -> None:
        """Add a split of nodes, or of edges.

        Args:
            name: Such as ``"train"``.
            ids: Ids of nodes or edges, or labels of nodes.
            of: A node type, or an edge type as a triple. May be left out if there is only one node type.
            labels: Whether ``ids`` are labels. Default: if they are text.

        Raises:
            IndexError: An id is not one of the type.
        """
        if of is None:
            if len(self._manifest.nodes) != 1:
                raise ValueError(f"split {name!r}: say of= one of {list(self._manifest.nodes)}")
            of = next(iter(self._manifest.nodes))
        kind: TypeName = of if isinstance(of, str) else _triple(of)
        if (name, kind) in self._splits:
            raise ValueError(f"split {name!r} of {kind!r} was added before")
        limit = self._count(kind)
        if isinstance(kind, str):
            ids = self._node_ids(kind, ids, labels, f"split {name!r}")
        elif labels or _is_text(ids):
            raise TypeError(f"split {name!r}: expected ids of edges, found labels, which only nodes have")
        vector = int64_vector(ids, f"split {name!r}")
        for start in range(0, len(vector), _IDS_AT_ONCE):
            block = vector[start : start + _IDS_AT_ONCE]
            wrong = np.flatnonzero((block < 0) | (block >= limit))
            if wrong.size:
                at = start + int(wrong[0])
                raise IndexError(f"split {name!r}[{at}]: expected an id of {kind!r} below {limit}, found {vector[at]}")
        record = self._features(f"splits/{file_name(name)}/{type_path(kind)}.gd", vector, None, f"split {name!r}")
        self._manifest.splits.append(SplitRecord(name, kind, record))
        self._splits.add((name, kind))

    def add_other(self, name: str, value: Any, *, of: TypeName | None = None) -> None:
        """Add a tensor or a JSON value without a row per node or edge. It comes with every batch.

        Args:
            name: Its name.
            value: The tensor or value.
            of: A node type, or an edge type as a triple. Default: the whole data set.
        """
        kind = of if of is None or isinstance(of, str) else _triple(of)
        if kind is not None:
            self._count(kind)  # refuses a type that is not there
        place = "/".join(["other", *([] if kind is None else [type_path(kind)]), file_name(name)])
        if isinstance(kind, str):
            other = self._manifest.nodes[kind].other
        else:
            other = self._manifest.other if kind is None else self._manifest.edges[kind].other
        if name in other:
            raise ValueError(f"{name!r} was added before")
        other[name] = self._other(f"{place}.gd", value, name)

    def _other(self, file: str, value: Any, name: str) -> FileRecord | ValueRecord:
        if isinstance(value, FeatureStore) and (value.quantised or value.reordered):
            raise ValueError(
                f"{name}: expected values as they are, found a file of coded or reordered rows, {value.path}"
            )
        if hasattr(value, "shape"):
            if len(value.shape) > 0:
                return self._features(file, value, None, name)
            item = value.item()
            if isinstance(item, (bool, int, float)) and math.isfinite(item):
                return ValueRecord(item, name_of(as_data_type(value.dtype)))
        check_json(value, name)
        return ValueRecord(value)

    def set_metadata(self, **values: Any) -> None:
        """Keep JSON values, such as a name or a licence, in the manifest.

        Args:
            values: The values by name.
        """
        for name, value in values.items():
            check_json(value, name)
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

    def _check_labels(self, graph: str, triple: EdgeTriple) -> None:
        """Refuse a graph whose nodes are numbered by other labels than those of its node types."""
        dictionary = os.path.splitext(graph)[0] + ".gi"  # where convert_edges writes it
        if not os.path.exists(dictionary):
            return
        with IdDictionary(dictionary) as labels:
            fingerprint = labels.fingerprint
        for end in triple[0], triple[2]:
            ids = self._manifest.nodes[end].ids
            if ids is not None and ids.fingerprint != fingerprint:
                raise ValueError(
                    f"edge type {triple!r}: {graph}: expected a graph whose nodes are numbered by the labels of "
                    f"{end!r}, found one numbered by those of {dictionary}; give the edges as labels, src= and dst=, "
                    f"or ids={dictionary!r} to add_nodes"
                )

    def _id_dictionary(self, kind: str, ids: Any) -> tuple[FileRecord, int, NDArray[np.int64] | None]:
        """Write the dictionary. Return the given row of each node too, where rows are not by node id already."""
        file = f"nodes/{file_name(kind)}/ids.gi"
        target = self._folder.file(file)
        in_memory = False
        if isinstance(ids, (str, os.PathLike)):
            link_or_copy(os.fsdecode(ids), target)
        elif isinstance(ids, IdDictionary):
            link_or_copy(ids.path, target)
        else:
            write_ids(target, ids)
            in_memory = True
        with IdDictionary(target) as written:
            rows = _rows_of_nodes(written, ids, f"ids of {kind!r}") if in_memory else None
            if in_memory and written.kind == "integer" and not _are_own_ids(written):
                self._renumbered.add(kind)
            return FileRecord(file, written.fingerprint), len(written), rows

    def _node_ids(self, kind: str, values: Any, labels: bool | None, what: str) -> Any:
        """Return node ids of a type, for ids or labels."""
        if labels is None:
            labels = _is_text(values)
            if not labels and kind in self._renumbered and len(values):
                raise ValueError(
                    f"{what}: the integers given as ids= of {kind!r} are not its node ids, which are 0 to "
                    f"{self._count(kind) - 1} in the order of the labels: expected labels=True if these are labels, or "
                    "labels=False if they are node ids"
                )
        if not labels:
            return values
        record = self._manifest.nodes[kind].ids
        if record is None:
            raise TypeError(
                f"{what}: expected ids of {kind!r}, found labels; to use labels, give them to add_nodes with ids="
            )
        with IdDictionary(self._folder.file(record.file)) as dictionary:
            try:
                return dictionary.indices(values)
            except KeyError as error:
                raise KeyError(f"{what}: {error.args[0]}") from None

    def _features(
        self, file: str, values: Any, num_rows: int | None, what: str, rows: NDArray[np.int64] | None = None
    ) -> FileRecord:
        """Write rows as they are, or ``rows[i]`` as row ``i``."""
        target = self._folder.file(file)
        if isinstance(values, (str, os.PathLike)) and rows is not None:
            with FeatureStore(values) as given:
                return self._features(file, given, num_rows, what, rows)
        if rows is not None:
            _check_count(len(values), num_rows, what)
            write_permuted(target, values, rows)
        elif isinstance(values, (str, os.PathLike)):
            link_or_copy(os.fsdecode(values), target)
        elif isinstance(values, FeatureStore):
            link_or_copy(values.path, target)
        else:
            write_features(target, values)
        with FeatureStore(target) as store:
            _check_count(store.num_rows, num_rows, what)
            return FileRecord(file, store.fingerprint)

    def close(self) -> None:
        """Write the manifest and put the folder in place. May be called again."""
        if self._folder.is_open:
            self._manifest.hetero = self.hetero
            write_manifest(self._folder.file(MANIFEST), self._manifest)
            self._folder.commit()

    def abort(self) -> None:
        """Remove what was written and leave the target as it was."""
        self._folder.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.close()
        finally:
            self.abort()


def _name(given: Any, column: str, attributes: Mapping[str, Any]) -> str | None:
    """Return the attribute that ``given`` names; an array names none."""
    if not isinstance(given, str):
        return None
    if given not in attributes:
        raise ValueError(f"{column}: expected an array, or one of the attributes {list(attributes)}, found {given!r}")
    return given


def _values(attribute: Any) -> Any:
    """Return the numbers, one per edge, of an attribute that may be a file."""
    if isinstance(attribute, (str, os.PathLike)):
        attribute = FeatureStore(attribute)
    if isinstance(attribute, FeatureStore):
        is_coded = attribute.quantised or attribute.dtype == "bfloat16"  # else its bits would be taken for numbers
        attribute = attribute.gather(np.arange(attribute.num_rows), dtype="float32" if is_coded else None)
    elif str(getattr(attribute, "dtype", "")) == "torch.bfloat16":
        attribute = attribute.float()
    return attribute.reshape(-1) if getattr(attribute, "shape", ())[1:] == (1,) else attribute


def _triple(value: Any) -> EdgeTriple:
    parts = tuple(value) if isinstance(value, (tuple, list)) else ()
    if len(parts) != 3 or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"edge type: expected (source, relation, destination), found {value!r}")
    return parts


def _check_count(found: int, expected: int | None, what: str) -> None:
    if expected is not None and found != expected:
        raise ValueError(f"{what}: expected {expected} rows, found {found}")


def _rows_of_nodes(dictionary: IdDictionary, labels: Any, what: str) -> NDArray[np.int64] | None:
    """Return the place of each node's label among the given ones; ``None`` if they are in order."""
    nodes = dictionary.indices(labels)
    if nodes.ndim != 1:
        raise ValueError(f"{what}: expected one dimension, found shape {nodes.shape}")
    rows = np.argsort(nodes, kind="stable")
    if len(dictionary) != len(nodes):
        again = np.ones(len(nodes), np.bool_)
        again[np.unique(nodes, return_index=True)[1]] = False
        second = int(np.argmax(again))
        first = int(np.argmax(nodes == nodes[second]))
        label = dictionary.label(int(nodes[second]))
        raise ValueError(f"{what}: expected each label once, found {label!r} at {first} and at {second}")
    return None if np.array_equal(rows, np.arange(len(rows))) else rows


def _are_own_ids(dictionary: IdDictionary) -> bool:
    """Return whether integer labels, which are sorted and differ, count up from 0."""
    count = len(dictionary)
    return count == 0 or (dictionary.label(0) == 0 and dictionary.label(count - 1) == count - 1)


def _is_text(values: Any) -> bool:
    if hasattr(values, "detach") or not hasattr(values, "__iter__"):  # a tensor holds numbers
        return False
    first: Any = next(iter(values), None)
    return isinstance(first.as_py() if hasattr(first, "as_py") else first, (str, bytes))


def _refuse_other_folder(path: str) -> None:
    """Refuse to replace a folder that is not a data set. A link is not what it leads to."""
    if os.path.islink(path) or not os.path.isdir(path) or not os.listdir(path):
        return
    if not os.path.lexists(os.path.join(path, MANIFEST)):
        message = f"expected a data set to replace, found a folder with files and no {MANIFEST}; remove it first"
        raise FileExistsError(errno.EEXIST, message, path)

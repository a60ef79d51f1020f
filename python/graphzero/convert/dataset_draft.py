"""A data set folder in the making: its manifest, and the files that its records name.

``DatasetWriter`` begins with an empty one, ``DatasetEditor`` with what is in a folder. Every file is written under a
path that no other has, so that a change that is refused harms nothing, and a type or attribute is renamed without
touching a file. Files get the paths of docs/formats/dataset.md at the end.
"""

from __future__ import annotations

import math
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphzero._base.argument_errors import Setting, check_choice, error_of, flag, type_error, value_error
from graphzero._base.arrays import as_numpy, int64_vector
from graphzero._base.dtypes import as_data_type, name_of
from graphzero._base.integers import integer
from graphzero._files.folder import NewFolder, link_or_copy
from graphzero._files.manifest import check_json, write_manifest
from graphzero._files.manifest_paths import (
    MANIFEST,
    attribute_path,
    file_name,
    graph_path,
    ids_path,
    other_path,
    split_path,
)
from graphzero._files.manifest_records import (
    TIME_UNITS,
    EdgeRecord,
    FileRecord,
    Manifest,
    NodeRecord,
    OtherRecords,
    SplitRecord,
    ValueRecord,
)
from graphzero._files.mounted import Mounted
from graphzero._files.renames import rename
from graphzero._files.storage import path_here
from graphzero._look.labels import has_classes
from graphzero.dataset import EdgeTriple, TypeName
from graphzero.features import FeatureStore, write_features, write_permuted
from graphzero.graph import Graph, write_graph
from graphzero.ids import IdDictionary, write_ids

# Where files are until they get their paths.
_UNPLACED = "unplaced"
# What can be said of a graph that is made of src and dst.
_GRAPH_OPTIONS = ("directed", "index")
# Ids of a split, or labels, that are checked together: there may be more than fit in memory.
_AT_ONCE = 1 << 20


class DatasetDraft:
    """A folder that is not in its place yet, and its manifest. Methods write files and return their records."""

    def __init__(self, folder: NewFolder, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        # Types whose labels are integers, but other numbers than their node ids.
        self.renumbered: set[str] = set()
        self._num_files = 0

    def new_file(self, path: str) -> str:
        """Return where a file goes, from the folder, that is to have ``path`` in the end."""
        self._num_files += 1
        return f"{_UNPLACED}/{self._num_files}/{path}"

    def place(self) -> None:
        """Give all files their paths, and write the manifest."""
        for record, path in self.manifest.places():
            if record.file != path:
                rename(self.folder.file(record.file), self.folder.file(path))
                record.file = path
        shutil.rmtree(os.path.join(self.folder.temporary, _UNPLACED), ignore_errors=True)  # and what was refused
        write_manifest(self.folder.file(MANIFEST), self.manifest)

    def nodes(
        self,
        type: str,
        attributes: Mapping[str, Any],
        num_nodes: int | None,
        label: str | None,
        num_classes: int | None,
        ids: Any,
        categories: Mapping[str, Sequence[str]] | None,
    ) -> NodeRecord:
        """Write the files of a node type."""
        file_name(type)  # refuses what no name can be
        check_mapping(attributes, "attributes")
        self.renumbered.discard(type)  # of an attempt that was refused
        counts = {
            name: len(values)
            for name, values in attributes.items()
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
        if label is not None and label not in attributes:
            raise ValueError(f"node type {type!r}: label {label!r} is not one of the attributes {list(attributes)}")
        if ids is not None and counts["ids="] != num_nodes:
            raise ValueError(f"ids of {type!r}: expected {num_nodes} labels, found {counts['ids=']}")
        classes = None if num_classes is None else integer(num_classes, "num_classes")
        record = NodeRecord(num_nodes, {}, label, classes, record_of_ids)
        record.categories = category_names(categories, attributes, f"node type {type!r}")
        for name, values in attributes.items():
            record.attributes[name] = self.attribute(type, name, values, num_nodes, rows)
        if label is not None:
            names = record.categories.get(label)
            bound = classes if classes is not None or names is None else len(names)
            argument = "categories" if classes is None else "num_classes"
            self.check_classes(type, label, record.attributes[label], bound, argument)
        return record

    def edges(
        self,
        triple: EdgeTriple,
        src: ArrayLike | None,
        dst: ArrayLike | None,
        graph: str | os.PathLike[str] | Graph | None,
        attributes: Mapping[str, Any],
        weight: ArrayLike | str | None,
        time: ArrayLike | str | None,
        labels: bool | None,
        categories: Mapping[str, Sequence[str]] | None,
        time_unit: str | None,
        options: Mapping[str, Any],
    ) -> EdgeRecord:
        """Write the files of an edge type."""
        for end in (triple[0], triple[2]):
            if end not in self.manifest.nodes:
                raise ValueError(f"edge type {triple!r}: add node type {end!r} first")
        check_mapping(attributes, "attributes")
        if (src is None) != (dst is None) or (src is None) == (graph is None):
            raise TypeError("expected src and dst, or graph=")
        for option in options:
            if option not in _GRAPH_OPTIONS:
                raise type_error(option, f"edge type {triple!r}: expected one of {', '.join(_GRAPH_OPTIONS)} instead")
            if graph is not None:
                raise value_error(option, "expected none beside graph=, which is written already")
        file = self.new_file(graph_path(triple))
        target = self.folder.file(file)
        given = {"weight": weight, "time": time}
        names = {column: _name(values, column, attributes) for column, values in given.items()}
        if graph is not None:
            for column, values in given.items():
                if values is not None and names[column] is None:
                    raise TypeError(f"{column}: expected the name of an attribute beside graph=, found an array")
            if not isinstance(graph, (Graph, str, os.PathLike)):
                raise type_error("graph", f"expected a .gl file or a Graph, found {type(graph).__name__}")
            self._check_labels(graph.path if isinstance(graph, Graph) else path_here(graph), triple)
            _link(graph, target)
        else:
            counts = self.manifest.nodes[triple[0]].num_nodes, self.manifest.nodes[triple[2]].num_nodes
            num_nodes = counts if triple[0] != triple[2] else counts[0]
            columns: dict[str, Any] = {
                column: values if names[column] is None else _values(attributes[str(values)])
                for column, values in given.items()
            }
            src, dst = self._node_ids(triple[0], src, labels, "src"), self._node_ids(triple[2], dst, labels, "dst")
            write_graph(target, src, dst, num_nodes=num_nodes, **columns, **options)
        with Graph(target) as written:
            _check_same(graph, written)
            self._check_ends(triple, written)
            for column, has in (("weight", written.has_weights), ("time", written.has_times)):
                if names[column] is not None and not has:
                    raise ValueError(
                        f"{column}: {names[column]!r}: the graph of {triple!r} has none; write it with {column}="
                    )
            record = EdgeRecord(FileRecord(file, written.fingerprint), {}, names["weight"], names["time"])
            record.categories = category_names(categories, attributes, f"edge type {triple!r}")
            if time_unit is not None:
                check_choice(time_unit, "time_unit", *TIME_UNITS)
                if not written.has_times:
                    raise value_error("time_unit", f"the graph of {triple!r} has no times")
                record.time_unit = time_unit
            num_edges = written.num_input_edges
        for name, values in attributes.items():
            record.attributes[name] = self.attribute(triple, name, values, num_edges)
        return record

    def attribute(
        self, of: TypeName, name: str, values: Any, num_rows: int, rows: NDArray[np.int64] | None = None
    ) -> FileRecord:
        """Write an attribute as it is, or its row ``rows[i]`` as row ``i``."""
        return self._features(attribute_path(of, name), values, num_rows, f"attribute {name!r} of {of!r}", rows)

    def check_classes(self, of: str, name: str, file: FileRecord, bound: int | None, argument: str) -> None:
        """Refuse a label with classes beyond the number that ``argument`` gave; a negative one stands for no class."""
        if bound is None:
            return
        with FeatureStore(self.folder.file(file.file)) as store:
            if not has_classes(store):
                return
            for start in range(0, store.num_rows, _AT_ONCE):
                block = store.gather(np.arange(start, min(start + _AT_ONCE, store.num_rows))).reshape(-1)
                wrong = np.flatnonzero(block >= bound)
                if wrong.size:
                    first = int(wrong[0])
                    raise value_error(
                        argument,
                        f"expected classes below {bound} as label {name!r} of {of!r}, found {int(block[first])} for "
                        f"node {start + first}; count and name all classes, and give -1 to nodes without one",
                    )

    def split(self, name: str, of: TypeName, ids: ArrayLike, labels: bool | None) -> SplitRecord:
        """Write the ids of a split."""
        limit = self.count(of)
        if is_mask(ids):
            ids = _marked(ids, limit, f"split {name!r}")
        elif isinstance(of, str):
            ids = self._node_ids(of, ids, labels, f"split {name!r}")
        elif labels or is_text(ids):
            raise TypeError(f"split {name!r}: expected ids of edges, found labels, which only nodes have")
        vector = int64_vector(ids, f"split {name!r}")
        for start in range(0, len(vector), _AT_ONCE):
            block = vector[start : start + _AT_ONCE]
            wrong = np.flatnonzero((block < 0) | (block >= limit))
            if wrong.size:
                at = start + int(wrong[0])
                raise IndexError(f"split {name!r}[{at}]: expected an id of {of!r} below {limit}, found {vector[at]}")
        return SplitRecord(name, of, self._features(split_path(of, name), vector, None, f"split {name!r}"))

    def others(self, of: TypeName | None) -> OtherRecords:
        """Return what a type, or the whole data set, has without rows."""
        if of is None:
            return self.manifest.other
        self.count(of)  # refuses a type that is not there
        return self.manifest.nodes[of].other if isinstance(of, str) else self.manifest.edges[of].other

    def other(self, of: TypeName | None, name: str, value: Any) -> FileRecord | ValueRecord:
        """Write a tensor without rows; return the record of it, or of a JSON value."""
        if isinstance(value, FeatureStore) and (value.quantised or value.reordered):
            raise ValueError(
                f"{name}: expected values as they are, found a file of coded or reordered rows, {value.path}"
            )
        path = other_path(of, name)
        if hasattr(value, "shape"):
            if len(value.shape) > 0:
                return self._features(path, value, None, name)
            item = value.item()
            if isinstance(item, (bool, int, float)) and math.isfinite(item):
                return ValueRecord(item, name_of(as_data_type(value.dtype)))
        check_json(value, name)
        return ValueRecord(value)

    def count(self, of: TypeName) -> int:
        """Return the number of nodes, or of edge ids, of a type."""
        if isinstance(of, str):
            if of not in self.manifest.nodes:
                raise ValueError(f"add node type {of!r} first")
            return self.manifest.nodes[of].num_nodes
        if of not in self.manifest.edges:
            raise ValueError(f"add edge type {of!r} first")
        with Graph(self.folder.file(self.manifest.edges[of].graph.file)) as graph:
            return graph.num_input_edges

    def rows_of_labels(self, of: str, labels: Any, what: str) -> NDArray[np.int64] | None:
        """Return the place of each node's label among the given ones; ``None`` if they are in order."""
        with self._dictionary(of, what) as dictionary:
            return _rows_of_nodes(dictionary, labels, what)

    def _check_labels(self, graph: str, triple: EdgeTriple) -> None:
        """Refuse a graph whose nodes are numbered by other labels than those of its node types."""
        dictionary = os.path.splitext(graph)[0] + ".gi"  # where convert_edges writes it
        if not os.path.exists(dictionary):
            return
        with IdDictionary(dictionary) as labels:
            fingerprint = labels.fingerprint
        for end in triple[0], triple[2]:
            ids = self.manifest.nodes[end].ids
            if ids is not None and ids.fingerprint != fingerprint:
                raise ValueError(
                    f"edge type {triple!r}: {graph}: expected a graph whose nodes are numbered by the labels of "
                    f"{end!r}, found one numbered by those of {dictionary}; give the edges as labels, src= and dst=, "
                    f"or ids={dictionary!r} to add_nodes"
                )

    def _check_ends(self, triple: EdgeTriple, graph: Graph) -> None:
        for side, end, found in (("source", 0, graph.num_src_nodes), ("destination", 2, graph.num_dst_nodes)):
            expected = self.manifest.nodes[triple[end]].num_nodes
            if found != expected:
                raise value_error(
                    "graph",
                    f"{side} nodes of {triple!r}: expected {expected}, as many as {triple[end]!r} has, "
                    f"found {found}; write it with num_nodes=",
                )

    def _id_dictionary(self, of: str, ids: Any) -> tuple[FileRecord, int, NDArray[np.int64] | None]:
        """Write the dictionary. Return the given row of each node too, where rows are not by node id already."""
        file = self.new_file(ids_path(of))
        target = self.folder.file(file)
        in_memory = not isinstance(ids, (str, os.PathLike, IdDictionary))
        if in_memory:
            write_ids(target, ids)
        else:
            _link(ids, target)
        with IdDictionary(target) as written:
            _check_same(ids, written)
            rows = _rows_of_nodes(written, ids, f"ids of {of!r}") if in_memory else None
            if in_memory and is_renumbered(written):
                self.renumbered.add(of)
            return FileRecord(file, written.fingerprint), len(written), rows

    def _dictionary(self, of: str, what: str) -> IdDictionary:
        record = self.manifest.nodes[of].ids
        if record is None:
            raise TypeError(
                f"{what}: expected ids of {of!r}, found labels; to use labels, give them to add_nodes with ids="
            )
        return IdDictionary(self.folder.file(record.file))

    def _node_ids(self, of: str, values: Any, labels: bool | None, what: str) -> Any:
        """Return node ids of a type, for ids or labels."""
        if labels is None:
            labels = is_text(values)
            if not labels and of in self.renumbered and len(values):
                raise error_of(
                    ValueError,
                    f"{what}: the integers that are the labels of {of!r} are not its node ids, which are 0 to "
                    f"{self.count(of) - 1} in the order of the labels: expected ", Setting("labels", True),
                    " if these are labels, or ", Setting("labels", False), " if they are node ids",
                )  # fmt: skip
        if not flag(labels, "labels"):
            return values
        with self._dictionary(of, what) as dictionary:
            try:
                return dictionary.indices(values)
            except KeyError as error:
                raise KeyError(f"{what}: {error.args[0]}") from None

    def _features(
        self, path: str, values: Any, num_rows: int | None, what: str, rows: NDArray[np.int64] | None = None
    ) -> FileRecord:
        if isinstance(values, (str, os.PathLike)) and rows is not None:
            with FeatureStore(values) as given:
                return self._features(path, given, num_rows, what, rows)
        if values is None:
            raise TypeError(f"{what}: expected an array, a .gd file or a mounted store, found None")
        file = self.new_file(path)
        target = self.folder.file(file)
        if rows is not None:
            _check_count(len(values), num_rows, what)
            write_permuted(target, values, rows)
        elif isinstance(values, (str, os.PathLike, FeatureStore)):
            _link(values, target)
        else:
            write_features(target, values)
        with FeatureStore(target) as store:
            if rows is None:
                _check_same(values, store)
            _check_count(store.num_rows, num_rows, what)
            return FileRecord(file, store.fingerprint)


def _name(given: Any, column: str, attributes: Mapping[str, Any]) -> str | None:
    """Return the attribute that ``given`` names; an array names none."""
    if not isinstance(given, str):
        return None
    if given not in attributes:
        raise ValueError(f"{column}: expected an array, or one of the attributes {list(attributes)}, found {given!r}")
    return given


def category_names(
    categories: Mapping[str, Sequence[str]] | None, attributes: Mapping[str, Any], owner: str
) -> dict[str, list[str]]:
    """Return a copy of the names that an attribute's integers stand for, by attribute."""
    if categories is None:
        return {}
    check_mapping(categories, "categories")
    listed = {attribute: list_of_names(names, "categories") for attribute, names in categories.items()}
    for attribute, names in listed.items():
        if attribute not in attributes:
            raise value_error("categories", f"{owner}: expected names from {list(attributes)}, found {attribute!r}")
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated or not all(isinstance(name, str) for name in names):
            found = f"{repeated[0]!r} twice" if repeated else "one that is no text"
            raise value_error("categories", f"{owner}: {attribute!r}: expected names that differ, found {found}")
    return listed


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


def edge_triple(value: Any) -> EdgeTriple:
    """Return the edge type that a user gave, or refuse it."""
    parts = tuple(value) if isinstance(value, (tuple, list)) else ()
    if len(parts) != 3 or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"edge type: expected (source, relation, destination), found {value!r}")
    return parts


def _check_count(found: int, expected: int | None, what: str) -> None:
    if expected is not None and found != expected:
        raise ValueError(f"{what}: expected {expected} rows, found {found}")


def _link(given: str | os.PathLike[str] | Mounted[Any], target: str) -> None:
    link_or_copy(given.path if isinstance(given, Mounted) else path_here(given), target)


def _check_same(given: Any, linked: Mounted[Any]) -> None:
    """Refuse what is not what the user has mounted: the path of a replaced file leads to the new one."""
    if not isinstance(given, Mounted) or given.closed or given.is_graphzero02:  # whose fingerprint a copy changes
        return
    if given.fingerprint != linked.fingerprint:
        raise ValueError(
            f"{given.path}: expected the file that is mounted, found one that replaced it since; open it anew with "
            f"{type(given).__name__}(path)"
        )


def _rows_of_nodes(dictionary: IdDictionary, labels: Any, what: str) -> NDArray[np.int64] | None:
    """Return the place of each node's label among the given ones; ``None`` if they are in order."""
    try:
        nodes = dictionary.indices(labels)
    except KeyError as error:
        raise KeyError(f"{what}: {error.args[0]}") from None
    if nodes.ndim != 1:
        raise ValueError(f"{what}: expected one dimension, found shape {nodes.shape}")
    rows = np.argsort(nodes, kind="stable")
    if len(dictionary) != len(nodes) or (nodes[rows] != np.arange(len(rows))).any():
        raise _not_each_once(dictionary, nodes, what)
    return None if np.array_equal(rows, np.arange(len(rows))) else rows


def _not_each_once(dictionary: IdDictionary, nodes: NDArray[np.int64], what: str) -> ValueError:
    again = np.ones(len(nodes), np.bool_)
    again[np.unique(nodes, return_index=True)[1]] = False
    if not again.any():
        absent = np.ones(len(dictionary), np.bool_)
        absent[nodes] = False
        label = dictionary.label(int(np.argmax(absent)))
        return ValueError(f"{what}: expected the labels of all {len(dictionary)} nodes, found none that is {label!r}")
    second = int(np.argmax(again))
    first = int(np.argmax(nodes == nodes[second]))
    label = dictionary.label(int(nodes[second]))
    return ValueError(f"{what}: expected each label once, found {label!r} at {first} and at {second}")


def is_renumbered(dictionary: IdDictionary) -> bool:
    """Return whether labels are integers that differ from the node ids: sorted and distinct, they count up from 0."""
    count = len(dictionary)
    if dictionary.kind != "integer" or count == 0:
        return False
    return dictionary.label(0) != 0 or dictionary.label(count - 1) != count - 1


def is_text(values: Any) -> bool:
    """Whether values are text, by the first of them."""
    if hasattr(values, "detach") or not hasattr(values, "__iter__"):  # a tensor holds numbers
        return False
    first: Any = next(iter(values), None)
    return isinstance(first.as_py() if hasattr(first, "as_py") else first, (str, bytes))


def is_mask(values: Any) -> bool:
    """Whether values say of each row if it is meant: all of them are true or false."""
    if "bool" in str(getattr(values, "dtype", getattr(values, "type", ""))).lower():
        return True
    return isinstance(values, (list, tuple)) and bool(values) and all(isinstance(value, bool) for value in values)


def _marked(mask: Any, count: int, what: str) -> NDArray[np.int64]:
    """Return the ids that a mask means."""
    marks = as_numpy(mask, what)
    if marks.shape != (count,):
        raise ValueError(f"{what}: expected a mask of shape ({count},), or ids, found a mask of shape {marks.shape}")
    return np.flatnonzero(marks)


def check_mapping(value: Any, argument: str) -> None:
    """Refuse what does not give values by name."""
    if not isinstance(value, Mapping):
        raise type_error(argument, f"expected a dict of values by name, found {value!r}")


def list_of_names(names: Any, argument: str) -> list[Any]:
    """Read names that come in a list or an array; text is one name, not several."""
    if isinstance(names, (str, bytes)) or not hasattr(names, "__iter__"):
        raise type_error(argument, f"expected a list of names, found {names!r}")
    return list(names)

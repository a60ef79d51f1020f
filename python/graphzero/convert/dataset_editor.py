"""Changing data set folders: all changes of a block appear together, or none does."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphzero._base.argument_errors import Argument, type_error, value_error
from graphzero._base.integers import integer
from graphzero._core import FormatError
from graphzero._dataset.feature_share import FeatureShare
from graphzero._files.folder import NewFolder, kept_in_place, link_or_copy
from graphzero._files.manifest import check_json, read_manifest
from graphzero._files.manifest_paths import MANIFEST, file_name
from graphzero._files.manifest_records import EdgeRecord, FileRecord, Manifest, NodeRecord, OtherRecords
from graphzero._files.storage import path_here
from graphzero.convert.dataset_draft import (
    DatasetDraft,
    category_names,
    edge_triple,
    is_renumbered,
    is_text,
    list_of_names,
)
from graphzero.dataset import EDGE, Dataset, EdgeTriple, TypeName, open_dataset
from graphzero.graph import Graph
from graphzero.ids import IdDictionary

if TYPE_CHECKING:
    from typing_extensions import Self

K = TypeVar("K")
V = TypeVar("V")


def edit_dataset(path: str | os.PathLike[str]) -> DatasetEditor:
    """Change a data set folder: attributes, labels, splits, edges, names and metadata.

    When the ``with`` block ends, the changed folder takes the place of the old one in one step. If the block raises, or
    the process dies, the folder stays as it was. Files that do not change are linked, not copied, and a data set that
    is open keeps reading the old ones: open the folder again to see the changes.

    Args:
        path: The folder. If it is a link, the folder that it leads to is changed.

    Returns:
        An editor, for a ``with`` block.

    Raises:
        FormatError: The folder is not an intact data set.
        OSError: A file cannot be read or linked.

    Examples:
        >>> with edit_dataset(tiny_dataset) as edit:
        ...     edit.set_attribute("degree", [2, 1, 0, 1])
        ...     edit.set_split("valid", [3])
        ...     edit.rename("x", "position")
        >>> from graphzero.dataset import open_dataset
        >>> data = open_dataset(tiny_dataset)
        >>> sorted(data.nodes["node"].attributes), data.split("valid")
        (['degree', 'position', 'y'], array([3]))
    """
    return DatasetEditor(path)


class DatasetEditor:
    """Changes a data set folder, as [`edit_dataset`][graphzero.edit_dataset] returns it.

    Every method checks what it is given at once, and a change that is refused changes nothing. Nodes keep their number
    and their ids, as edges, splits and rows depend on them. For one thread.

    Args:
        path: The folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with open_dataset(path) as opened:  # refuses what is no data set, or is damaged
            _refuse_shares(opened)
        self._path = os.path.realpath(path_here(path))
        with kept_in_place(self._path):
            manifest, self._fingerprint = read_manifest(self._path)
            self._old_files = {os.path.normpath(record.file) for record in manifest.files()} | {MANIFEST}
            self._draft = DatasetDraft(NewFolder(self._path, overwrite=True), manifest)
            try:
                self._take_files()
            except BaseException:
                self.abort()
                raise

    def _take_files(self) -> None:
        """Link all files of the old folder, so that the draft has them whatever becomes of it."""
        new = self._draft.folder
        os.chmod(new.temporary, stat.S_IMODE(os.stat(self._path).st_mode) | stat.S_IRWXU)
        for record in self._draft.manifest.files():
            file = self._draft.new_file(record.file)
            _link_within(os.path.join(self._path, record.file), new.file(file), self._path)
            record.file = file
        for name, node in self._draft.manifest.nodes.items():
            if node.ids is not None:
                with IdDictionary(new.file(node.ids.file)) as dictionary:
                    if is_renumbered(dictionary):
                        self._draft.renumbered.add(name)

    @property
    def path(self) -> str:
        """The folder that changes."""
        return self._path

    @property
    def node_types(self) -> list[str]:
        """The names of the kinds of node, as changed so far."""
        return list(self._manifest.nodes)

    @property
    def edge_types(self) -> list[EdgeTriple]:
        """The ``(source, relation, destination)`` names of the kinds of edge, as changed so far."""
        return list(self._manifest.edges)

    @property
    def _manifest(self) -> Manifest:
        if not self._draft.folder.is_open:
            raise ValueError(f"{self._path}: the editor is closed")
        return self._draft.manifest

    def set_attribute(
        self,
        name: str,
        values: Any,
        *,
        of: TypeName | None = None,
        ids: Any = None,
        categories: Sequence[str] | None = None,
    ) -> None:
        """Add an attribute of nodes or edges, or replace it.

        Args:
            name: The name of the attribute.
            values: An array with a row per node id or edge id, or a ``.gd`` file or a mounted store, which is linked.
            of: A node type, or an edge type as a triple. May be left out if there is only one node type.
            ids: The labels of the nodes that the rows belong to, all of them in any order. Default: row ``i`` is that
                of node ``i``.
            categories: What the integers 0, 1, 2, … stand for. Without it, an attribute that is replaced has no such
                names any more.

        Raises:
            KeyError: A label is not in the dictionary of the node type.
            ValueError: There are not as many rows as nodes or edges; the attribute is the label, or the weights or
                times of a graph were made of it.
        """
        kind, record = self._record(of)
        _check_name(name, "name")
        if isinstance(record, NodeRecord) and record.label == name:
            raise value_error("name", f"{name!r} is the label of {kind!r}: expected set_label to replace it")
        if isinstance(record, EdgeRecord) and name in (record.weight, record.time):
            column = "weight" if name == record.weight else "time"
            raise value_error(
                "name", f"the graph of {kind!r} holds {name!r} too, as {column}: expected set_edges to replace both"
            )
        self._set_attribute(kind, record, name, values, ids, categories)

    def _set_attribute(
        self,
        kind: TypeName,
        record: NodeRecord | EdgeRecord,
        name: str,
        values: Any,
        ids: Any,
        categories: Sequence[str] | None,
    ) -> None:
        names = _category_names(kind, name, categories)
        record.attributes[name] = self._attribute_file(kind, name, values, ids)
        record.categories.pop(name, None)
        record.categories.update(names)

    def _attribute_file(self, kind: TypeName, name: str, values: Any, ids: Any) -> FileRecord:
        what, rows = f"ids of {kind!r}", None
        if ids is not None:
            if not isinstance(kind, str):
                raise type_error("ids", f"{kind!r}: expected rows by edge id, found labels, which only nodes have")
            if isinstance(ids, (str, os.PathLike, IdDictionary)):
                raise type_error("ids", "expected labels in memory, found a file; leave it out if rows are by node id")
            rows = self._draft.rows_of_labels(kind, ids, what)
        return self._draft.attribute(kind, name, values, self._draft.count(kind), rows)

    def set_label(
        self,
        name: str,
        values: Any = None,
        *,
        of: str | None = None,
        ids: Any = None,
        num_classes: int | None = None,
        class_names: Sequence[str] | None = None,
    ) -> None:
        """Say which attribute is the label of the nodes; with ``values``, add or replace it.

        Args:
            name: The name of the attribute.
            values: As in ``set_attribute``, or text: the names of classes, which are numbered in their sorted order, or
                in that of ``class_names``. A node with ``None`` or nothing has no class. Default: those that the
                attribute has.
            of: The node type. May be left out if there is only one.
            ids: As in ``set_attribute``.
            num_classes: The number of classes. Default: that of the names, or of the label that stays; else unknown.
            class_names: The names of the classes, class 0 first. Default: those that the attribute has, unless its
                values are replaced.

        Raises:
            ValueError: There is no such attribute, numbers of rows or classes differ, or a node has a class beyond
                them.
        """
        kind, record = self._record(of)
        if not isinstance(kind, str) or not isinstance(record, NodeRecord):
            raise value_error("of", f"expected a node type, as edges have no label, found {kind!r}")
        _check_name(name, "name")
        if values is None:
            _check_attribute(kind, record, name)
        class_names = None if class_names is None else list_of_names(class_names, "class_names")
        if values is not None and is_text(values):
            values, class_names = _coded(values, class_names)
        if values is None and ids is not None:
            raise value_error("ids", "expected values beside it, found none")
        classes = None if num_classes is None else integer(num_classes, "num_classes")
        if classes is not None and class_names is not None and classes != len(class_names):
            raise value_error(
                "class_names", f"expected {classes}, as ", Argument("num_classes"), f" says, found {len(class_names)}"
            )
        if classes is None and class_names is not None:
            classes = len(class_names)
        if classes is None and values is None and name == record.label:
            classes = record.num_classes
        names = _category_names(kind, name, class_names)
        if values is None:
            names = names or {key: kept for key, kept in record.categories.items() if key == name}
        file = record.attributes[name] if values is None else self._attribute_file(kind, name, values, ids)
        bound = classes if classes is not None or name not in names else len(names[name])
        argument = "num_classes" if num_classes is not None or class_names is None else "class_names"
        self._draft.check_classes(kind, name, file, bound, argument)
        record.attributes[name] = file
        record.categories.pop(name, None)
        record.categories.update(names)
        record.label, record.num_classes = name, classes

    def set_categories(self, name: str, names: Sequence[str] | None, *, of: TypeName | None = None) -> None:
        """Say what the integers of an attribute stand for, such as the names of classes.

        Args:
            name: The name of the attribute.
            names: What 0, 1, 2, … stand for; ``None`` removes the names.
            of: A node type, or an edge type as a triple. May be left out if there is only one node type.

        Raises:
            ValueError: There is no such attribute, a name is there twice, or the label has another number of
                classes, or one beyond the names.
        """
        kind, record = self._record(of)
        _check_name(name, "name")
        _check_attribute(kind, record, name)
        names = None if names is None else list_of_names(names, "names")
        classes = record.num_classes if isinstance(record, NodeRecord) and name == record.label else None
        if names is not None and classes not in (None, len(names)):
            raise value_error("names", f"expected {classes}, the number of classes of {name!r}, found {len(names)}")
        new = _category_names(kind, name, names)
        if names is not None and isinstance(record, NodeRecord) and name == record.label:
            self._draft.check_classes(str(kind), name, record.attributes[name], len(names), "names")
        record.categories.pop(name, None)
        record.categories.update(new)

    def set_split(self, name: str, ids: ArrayLike, *, of: TypeName | None = None, labels: bool | None = None) -> None:
        """Add a split of nodes or edges, or replace it.

        Args:
            name: Such as ``"train"``.
            ids: Ids of nodes or edges, labels of nodes, or a mask: true for each node or edge that is in it.
            of: A node type, or an edge type as a triple. May be left out if there is only one node type.
            labels: Whether ``ids`` are labels. Default: if they are text.

        Raises:
            IndexError: An id is not one of the type.
            KeyError: A label is not in the dictionary of the node type.
        """
        kind, _ = self._record(of)
        _check_name(name, "name")
        new = self._draft.split(name, kind, ids, labels)
        for place, split in enumerate(self._manifest.splits):
            if (split.name, split.of) == (name, kind):
                self._manifest.splits[place] = new
                return
        self._manifest.splits.append(new)

    def add_nodes(
        self,
        attributes: Mapping[str, Any] | None = None,
        *,
        type: str,
        num_nodes: int | None = None,
        label: str | None = None,
        num_classes: int | None = None,
        ids: Any = None,
        categories: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Add a kind of node, as [`DatasetWriter.add_nodes`][graphzero.DatasetWriter.add_nodes] does.

        Args:
            attributes: Arrays or files with a row per node, by name.
            type: The name of the node type.
            num_nodes: The number of nodes. Default: that of the rows or ``ids``.
            label: The name of the attribute that holds the labels.
            num_classes: The number of classes of the label.
            ids: The nodes' labels, text or integers, each once; nodes are numbered in their sorted order.
            categories: What the integers 0, 1, 2, … of an attribute stand for, by the name of the attribute.

        Raises:
            ValueError: The type is there already, or numbers of rows differ.
        """
        _check_name(type, "type")
        if type in self._manifest.nodes:
            raise value_error(
                "type",
                f"{self._path} has {type!r} already, with {self._manifest.nodes[type].num_nodes} nodes, a number that "
                "cannot change, as edges, splits and rows depend on it; set_attribute changes the attributes of a type",
            )
        record = self._draft.nodes(type, attributes or {}, num_nodes, label, num_classes, ids, categories)
        self._manifest.nodes[type] = record

    def set_edges(
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
        categories: Mapping[str, Sequence[str]] | None = None,
        time_unit: str | None = None,
        **options: Any,
    ) -> None:
        """Add a kind of edge, or replace it with all of its attributes, whose rows are those of the old edges.

        Args:
            src: Node ids of sources, or their labels.
            dst: Node ids of destinations, or their labels.
            type: The edge type: ``(source, relation, destination)``.
            graph: A ``.gl`` file or a mounted graph instead of ``src`` and ``dst``. It holds node ids.
            attributes: Arrays or files with a row per edge, by name.
            weight: The weights that neighbours are drawn by: an array, or the name of an attribute, which then also
                comes with batches. With a ``graph`` only the name.
            time: The times that neighbours are drawn by, likewise.
            labels: Whether ``src`` and ``dst`` are labels. Default: if they are text.
            categories: What the integers 0, 1, 2, … of an attribute stand for, by the name of the attribute.
            time_unit: What times count since 1970, in UTC: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``.
            options: Those of [`write_graph`][graphzero.write_graph].

        Raises:
            KeyError: A label is not in the dictionary.
            ValueError: There is no such node type, or the old edges have splits, which hold their ids.
        """
        triple = edge_triple(type)
        splits = [split.name for split in self._manifest.splits if split.of == triple]
        if splits:
            raise value_error(
                "type",
                f"{triple!r}: expected no splits, found {splits}, which hold the ids of the old edges; remove_split "
                "removes them, and set_split writes new ones after the edges",
            )
        record = self._draft.edges(
            triple, src, dst, graph, attributes or {}, weight, time, labels, categories, time_unit, options
        )
        if triple in self._manifest.edges:
            record.other = self._manifest.edges[triple].other
        self._manifest.edges[triple] = record

    def set_other(self, name: str, value: Any, *, of: TypeName | None = None) -> None:
        """Add a tensor or a JSON value without a row per node or edge, or replace it. It comes with every batch.

        Args:
            name: Its name.
            value: The tensor or value.
            of: A node type, or an edge type as a triple. Default: the whole data set.
        """
        kind = None if of is None else self._record(of)[0]
        _check_name(name, "name")
        other = self._manifest.other if kind is None else self._draft.others(kind)
        other[name] = self._draft.other(kind, name, value)

    def set_metadata(self, **values: Any) -> None:
        """Keep JSON values, such as a name or a licence, in the manifest.

        Args:
            values: The values by name. Others stay.
        """
        for name, value in values.items():
            check_json(value, name)
        self._manifest.metadata.update(values)

    def remove(self, name: str, *, of: TypeName | None = None) -> None:
        """Remove an attribute, or a value without rows.

        A label that is removed is the label no more. A graph whose weights or times were made of the attribute keeps
        them.

        Args:
            name: The name of the attribute or value.
            of: A node type, or an edge type as a triple. May be left out if there is only one node type, and for values
                of the whole data set.

        Raises:
            ValueError: There is no such attribute or value.
        """
        record, held = self._holder(name, of, "name")
        del held[name]
        if record is None or held is record.other:
            return
        record.categories.pop(name, None)
        if isinstance(record, NodeRecord) and record.label == name:
            record.label = record.num_classes = None
        if isinstance(record, EdgeRecord):
            record.weight = None if record.weight == name else record.weight
            record.time = None if record.time == name else record.time

    def remove_type(self, type: TypeName) -> None:
        """Remove a node type or an edge type, with its attributes and splits.

        If one type of each is left, batches no longer name the types, unless the data set was written with ``hetero``.

        Args:
            type: A node type, which has no edges any more, or an edge type as a triple.

        Raises:
            ValueError: There is no such type, or a node type still has edges.
        """
        kind, record = self._record(type, "type")
        manifest = self._manifest
        edges = [triple for triple in manifest.edges if isinstance(kind, str) and kind in (triple[0], triple[2])]
        if edges:
            raise value_error("type", f"{kind!r}: expected a node type without edges, found {edges}; remove them first")
        manifest.nodes = {name: node for name, node in manifest.nodes.items() if node is not record}
        manifest.edges = {triple: edge for triple, edge in manifest.edges.items() if edge is not record}
        manifest.splits = [split for split in manifest.splits if split.of != kind]
        self._draft.renumbered.discard(str(kind))

    def remove_split(self, name: str, *, of: TypeName | None = None) -> None:
        """Remove a split.

        Args:
            name: Such as ``"train"``.
            of: A node type, or an edge type as a triple. Default: every type that has such a split.

        Raises:
            ValueError: There is no such split.
        """
        kinds = self._kinds_of_split(name, of, "name")
        self._manifest.splits = [
            split for split in self._manifest.splits if split.name != name or split.of not in kinds
        ]

    def remove_metadata(self, *names: str) -> None:
        """Remove values from the manifest.

        Args:
            names: The names of the values.

        Raises:
            ValueError: There is no such value.
        """
        metadata = self._manifest.metadata
        for name in names:
            _check_name(name, "names")
            if name not in metadata:
                raise value_error("names", f"expected names from {list(metadata)}, found {name!r}")
        for name in names:
            metadata.pop(name, None)

    def rename(self, old: str, new: str, *, of: TypeName | None = None) -> None:
        """Rename an attribute, or a value without rows.

        Args:
            old: Its name.
            new: Its new name.
            of: A node type, or an edge type as a triple. May be left out if there is only one node type, and for values
                of the whole data set.

        Raises:
            ValueError: There is none of the old name, or one of the new name.
        """
        record, held = self._holder(old, of, "old")
        taken = held if record is None else {**record.attributes, **record.other}
        _check_free(new, taken)
        _rename_key(held, old, new)
        if record is None or held is record.other:
            return
        _rename_key(record.categories, old, new)
        if isinstance(record, NodeRecord):
            record.label = new if record.label == old else record.label
        else:
            record.weight = new if record.weight == old else record.weight
            record.time = new if record.time == old else record.time

    def rename_type(self, old: TypeName, new: TypeName) -> None:
        """Rename a node type, also in edge types and splits, or the relation of an edge type.

        Args:
            old: A node type, or an edge type as a triple.
            new: Its new name: of an edge type, a triple with the same node types.

        Raises:
            ValueError: There is none of the old name, one of the new name, or an edge type would get other node types.
        """
        kind, _ = self._record(old, "old")
        manifest = self._manifest
        if isinstance(kind, str):
            if not isinstance(new, str):
                raise value_error("new", f"expected the name of a node type, found {new!r}")
            _check_free(new, manifest.nodes)
            _rename_key(manifest.nodes, kind, new)
            for triple in list(manifest.edges):
                ends = tuple(new if end == kind else end for end in (triple[0], triple[2]))
                self._rename_edges(triple, (ends[0], triple[1], ends[1]))
            if kind in self._draft.renumbered:
                self._draft.renumbered.remove(kind)
                self._draft.renumbered.add(new)
            self._rename_in_splits(kind, new)
            return
        triple = edge_triple(new)
        if (triple[0], triple[2]) != (kind[0], kind[2]):
            raise value_error(
                "new", f"expected ({kind[0]!r}, …, {kind[2]!r}), found {triple!r}; rename a node type by its own name"
            )
        _check_free(triple, manifest.edges)
        self._rename_edges(kind, triple)

    def _rename_edges(self, old: EdgeTriple, new: EdgeTriple) -> None:
        if old != new:
            _rename_key(self._manifest.edges, old, new)
            self._rename_in_splits(old, new)

    def _rename_in_splits(self, old: TypeName, new: TypeName) -> None:
        for split in self._manifest.splits:
            split.of = new if split.of == old else split.of

    def rename_split(self, old: str, new: str, *, of: TypeName | None = None) -> None:
        """Rename a split.

        Args:
            old: Such as ``"valid"``.
            new: Such as ``"val"``.
            of: A node type, or an edge type as a triple. Default: every type that has such a split.

        Raises:
            ValueError: There is none of the old name, or one of the new name.
        """
        kinds = self._kinds_of_split(old, of, "old")
        _check_free(new, [split.name for split in self._manifest.splits if split.of in kinds])
        for split in self._manifest.splits:
            if split.name == old and split.of in kinds:
                split.name = new

    def _record(self, of: Any, argument: str = "of") -> tuple[TypeName, NodeRecord | EdgeRecord]:
        """Return a type that the data set has, or its only node type, and what the manifest says of it."""
        nodes, edges = self._manifest.nodes, self._manifest.edges
        if of is None:
            if len(nodes) != 1:
                raise value_error(argument, f"{self._path} has several node types: expected one of {list(nodes)}")
            of = next(iter(nodes))
        kind: TypeName = of if isinstance(of, str) else edge_triple(of)
        if isinstance(kind, str) and kind in nodes:
            return kind, nodes[kind]
        if not isinstance(kind, str) and kind in edges:
            return kind, edges[kind]
        raise value_error(argument, f"expected a type of {self._path}, one of {[*nodes, *edges]}, found {kind!r}")

    def _holder(
        self, name: str, of: Any, argument: str
    ) -> tuple[NodeRecord | EdgeRecord | None, dict[str, Any] | OtherRecords]:
        """Return the record that has an attribute or value, or ``None`` for the data set, and what holds it there."""
        _check_name(name, argument)
        manifest = self._manifest
        if of is None and name in manifest.other and (len(manifest.nodes) != 1 or not self._has(name)):
            return None, manifest.other
        kind, record = self._record(of)
        for held in (record.attributes, record.other):
            if name in held:
                return record, held
        there = [*record.attributes, *record.other, *(manifest.other if of is None else ())]
        raise value_error(argument, f"expected one of {there} of {kind!r}, found {name!r}")

    def _has(self, name: str) -> bool:
        _, record = self._record(None)
        return name in record.attributes or name in record.other

    def _kinds_of_split(self, name: str, of: Any, argument: str) -> list[TypeName]:
        _check_name(name, argument)
        wanted = None if of is None else self._record(of)[0]
        kinds = [split.of for split in self._manifest.splits if split.name == name and wanted in (None, split.of)]
        if not kinds:
            there = list(dict.fromkeys(split.name for split in self._manifest.splits if wanted in (None, split.of)))
            place = self._path if wanted is None else repr(wanted)
            raise value_error(argument, f"expected a split of {place}, one of {there}, found {name!r}")
        return kinds

    def close(self) -> None:
        """Put the changed folder in the place of the old one. May be called again.

        Raises:
            OSError: Another process changed or removed the data set meanwhile. Nothing is changed then.
        """
        if self._draft.folder.is_open:
            self._draft.place()
            open_dataset(self._draft.folder.temporary).close()
            self._keep_unnamed_files()
            self._draft.folder.commit(self._check_unchanged)

    def _keep_unnamed_files(self) -> None:
        """Link what a user put into the folder, which the manifest does not name."""
        for base, folders, names in os.walk(self._path):
            for name in [*(folder for folder in folders if os.path.islink(os.path.join(base, folder))), *names]:
                source = os.path.join(base, name)
                file = os.path.relpath(source, self._path)
                target = self._draft.folder.file(file)
                if file in self._old_files or os.path.lexists(target):
                    continue
                with contextlib.suppress(FileNotFoundError):  # it was removed just now
                    os.symlink(os.readlink(source), target) if os.path.islink(source) else link_or_copy(source, target)

    def _check_unchanged(self) -> None:
        try:
            _, fingerprint = read_manifest(self._path)
        except (OSError, FormatError):
            fingerprint = None
        if fingerprint != self._fingerprint:
            raise OSError(
                errno.ESTALE,
                "expected the data set as it was when this edit began, found that it was changed or removed since; "
                "nothing was written: edit it again",
                self._path,
            )

    def abort(self) -> None:
        """Forget all changes and leave the folder as it is."""
        self._draft.folder.abort()

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


def _link_within(source: str, target: str, folder: str) -> None:
    """Link a file of the folder. What is a link to a file elsewhere stays one: a copy may be as large as a disk."""
    real = os.path.realpath(source)
    if os.path.commonpath([real, folder]) == folder:
        link_or_copy(source, target)
    else:
        os.symlink(real, target)


def _category_names(kind: TypeName, name: str, names: Sequence[str] | None) -> dict[str, list[str]]:
    return {} if names is None else category_names({name: names}, {name: None}, f"type {kind!r}")


def _check_name(name: Any, argument: str) -> None:
    if not isinstance(name, str):
        raise type_error(argument, f"expected a name, found {name!r}")


def _coded(values: Any, class_names: list[Any] | None) -> tuple[NDArray[np.int64], list[Any]]:
    """Number classes that are given by name; return the numbers, and the names in their order."""
    labels = [value.as_py() if hasattr(value, "as_py") else value for value in values]
    wrong = next((at for at, label in enumerate(labels) if label is not None and not isinstance(label, str)), None)
    if wrong is not None:
        raise type_error(
            "values", f"expected the name of a class, as before it, found {labels[wrong]!r} in row {wrong}"
        )
    names = sorted({label for label in labels if label}) if class_names is None else class_names
    numbers = {label: number for number, label in enumerate(names)} | {None: -1, "": -1}
    missing = next((at for at, label in enumerate(labels) if label not in numbers), None)
    if missing is not None:
        raise value_error("class_names", f"expected all classes, found no {labels[missing]!r}, that of row {missing}")
    return np.array([numbers[label] for label in labels], np.int64), names


def _check_attribute(kind: TypeName, record: NodeRecord | EdgeRecord, name: str) -> None:
    if name not in record.attributes:
        raise value_error(
            "name", f"expected one of the attributes {list(record.attributes)} of {kind!r}, found {name!r}"
        )


def _rename_key(mapping: dict[K, V], old: K, new: K) -> None:
    """Rename a key in its place: the order of a manifest is that of its batches."""
    items = [(new if key == old else key, value) for key, value in mapping.items()]
    mapping.clear()
    mapping.update(items)


def _check_free(new: Any, taken: Any) -> None:
    for name in new if isinstance(new, tuple) else [new]:
        _check_name(name, "new")
        file_name(name)  # refuses what no name can be
    if new in taken:
        raise value_error("new", f"expected a name that is free, found {new!r}, which is there already")


def _refuse_shares(dataset: Dataset) -> None:
    for node in dataset.nodes.values():
        for name, store in node.attributes.items():
            if isinstance(store, FeatureShare):
                raise value_error(
                    "path",
                    f"expected a whole data set, found a host's share of {name}: change the data set that it was "
                    "staged from, and stage again",
                    where=dataset.path,
                )

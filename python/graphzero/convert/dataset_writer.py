"""Writing data set folders, which appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from graphzero._files.folder import NewFolder
from graphzero._files.manifest import check_json
from graphzero._files.manifest_records import Manifest
from graphzero._files.storage import target_here
from graphzero.convert.dataset_draft import DatasetDraft, edge_triple
from graphzero.dataset import EDGE, NODE, EdgeTriple, TypeName
from graphzero.graph import Graph

if TYPE_CHECKING:
    from typing_extensions import Self


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
        target = target_here(path)
        self._draft = DatasetDraft(NewFolder(target, overwrite=overwrite), Manifest())
        self.hetero = hetero
        self._splits: set[tuple[str, TypeName]] = set()

    @property
    def folder(self) -> str:
        """The folder that holds the files until ``close()``."""
        return self._draft.folder.temporary

    def add_nodes(
        self,
        attributes: Mapping[str, Any] | None = None,
        *,
        type: str = NODE,
        num_nodes: int | None = None,
        label: str | None = None,
        num_classes: int | None = None,
        ids: Any = None,
        categories: Mapping[str, Sequence[str]] | None = None,
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
            categories: What the integers 0, 1, 2, … of an attribute stand for, by the name of the attribute: the names
                of classes, if it is the label.

        Raises:
            ValueError: The type was added before, numbers of rows differ, or a node has a class beyond those of the
                label.

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
        if type in self._draft.manifest.nodes:
            raise ValueError(f"node type {type!r} was added before")
        record = self._draft.nodes(type, attributes or {}, num_nodes, label, num_classes, ids, categories)
        self._draft.manifest.nodes[type] = record

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
        categories: Mapping[str, Sequence[str]] | None = None,
        time_unit: str | None = None,
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
            categories: What the integers 0, 1, 2, … of an attribute stand for, by the name of the attribute.
            time_unit: What times count since 1970, in UTC: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``.
            options: Those of [`write_graph`][graphzero.write_graph].

        Raises:
            KeyError: A label is not in the dictionary.
            ValueError: The type was added before, or a node type was not.
        """
        triple = edge_triple(type)
        if triple in self._draft.manifest.edges:
            raise ValueError(f"edge type {triple!r} was added before")
        self._draft.manifest.edges[triple] = self._draft.edges(
            triple, src, dst, graph, attributes or {}, weight, time, labels, categories, time_unit, options
        )

    def add_split(self, name: str, ids: ArrayLike, *, of: TypeName | None = None, labels: bool | None = None) -> None:
        """Add a split of nodes, or of edges.

        Args:
            name: Such as ``"train"``.
            ids: Ids of nodes or edges, labels of nodes, or a mask: true for each node or edge that is in it.
            of: A node type, or an edge type as a triple. May be left out if there is only one node type.
            labels: Whether ``ids`` are labels. Default: if they are text.

        Raises:
            IndexError: An id is not one of the type.
        """
        nodes = self._draft.manifest.nodes
        if of is None:
            if len(nodes) != 1:
                raise ValueError(f"split {name!r}: say of= one of {list(nodes)}")
            of = next(iter(nodes))
        kind: TypeName = of if isinstance(of, str) else edge_triple(of)
        if (name, kind) in self._splits:
            raise ValueError(f"split {name!r} of {kind!r} was added before")
        self._draft.manifest.splits.append(self._draft.split(name, kind, ids, labels))
        self._splits.add((name, kind))

    def add_other(self, name: str, value: Any, *, of: TypeName | None = None) -> None:
        """Add a tensor or a JSON value without a row per node or edge. It comes with every batch.

        Args:
            name: Its name.
            value: The tensor or value.
            of: A node type, or an edge type as a triple. Default: the whole data set.
        """
        kind = of if of is None or isinstance(of, str) else edge_triple(of)
        other = self._draft.others(kind)
        if name in other:
            raise ValueError(f"{name!r} was added before")
        other[name] = self._draft.other(kind, name, value)

    def set_metadata(self, **values: Any) -> None:
        """Keep JSON values, such as a name or a licence, in the manifest.

        Args:
            values: The values by name.
        """
        for name, value in values.items():
            check_json(value, name)
        self._draft.manifest.metadata.update(values)

    def close(self) -> None:
        """Write the manifest and put the folder in place. May be called again."""
        if self._draft.folder.is_open:
            self._draft.manifest.hetero = self.hetero
            self._draft.place()
            self._draft.folder.commit()

    def abort(self) -> None:
        """Remove what was written and leave the target as it was."""
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

"""What a manifest says of a data set, as objects. docs/formats/dataset.md specifies it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from graphzero._files.manifest_paths import attribute_path, graph_path, hot_path, ids_path, other_path, split_path
from graphzero._files.mounted import Mounted

FORMAT = "graphzero dataset"
VERSION = 1  # of a manifest of whole files
# Of one with files in parts, or a host's share of attributes, which readers of version 1 would take for whole files.
NEWEST_VERSION = 2
INDEXES = ("out", "in")

# What files are called that have the rows of all hosts, and the ids of these.
HOT_PARTS = ("ids", "rows")

# What times may count, as NumPy and Arrow call it.
TIME_UNITS = ("s", "ms", "us", "ns")


@dataclass
class FileRecord:
    """A file of the folder and the fingerprint it had when it was written."""

    file: str
    fingerprint: int

    def mismatch(self, store: Mounted[Any]) -> str:
        """Return how ``store`` differs from the file that was written, if it does."""
        # That of a GraphZero 0.2 file holds its time of change, which any copy of the folder alters.
        if store.is_graphzero02 or store.fingerprint == self.fingerprint:
            return ""
        return f"expected {self.fingerprint:#018x}, found {store.fingerprint:#018x}: this is another file"


@dataclass
class Part:
    """A range of a file's rows, or of the nodes of one index of a graph, in a file of its own.

    Those of a graph have ``index``, ``"out"`` or ``"in"``, and the number of entries as ``edges``.
    """

    file: str
    begin: int
    end: int
    fingerprint: int
    index: str | None = None
    edges: int | None = None

    @property
    def seal(self) -> int:
        """Binds the content to the range: rows do not say which they are, as the lists of a graph do."""
        return self.seal_of(self.fingerprint)

    def seal_of(self, fingerprint: int) -> int:
        """Return the seal that the part would have with another content."""
        import hashlib  # slow to load

        text = f"{self.index or 'rows'} {self.begin} {self.end} {fingerprint:#018x}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


@dataclass
class PartsRecord(FileRecord):
    """A file that is stored in parts: ``file`` is its path once it is put together.

    ``fingerprint`` is 0 if nobody has put it together yet.
    """

    parts: list[Part]

    def part_records(self) -> Iterator[FileRecord]:
        """Iterate over the files that there are."""
        return (FileRecord(part.file, part.fingerprint) for part in self.parts)


@dataclass
class ShareRecord(FileRecord):
    """A host's share of an attribute; ``file`` has the rows of its range.

    Host ``i`` has the nodes from ``ranges[i]`` to before ``ranges[i + 1]``. ``hot`` are files with the ids of rows that
    all hosts have, and with these rows. ``whole`` is the fingerprint of the attribute that was divided.
    """

    host: int
    ranges: list[int]
    whole: int
    hot: tuple[FileRecord, FileRecord] | None = None

    @property
    def num_rows(self) -> int:
        """The rows of its range."""
        return self.ranges[self.host + 1] - self.ranges[self.host]


@dataclass
class ValueRecord:
    """A JSON value, or with a ``dtype`` a tensor without dimensions."""

    value: Any
    dtype: str | None = None


# What has no row per node or edge, by name.
OtherRecords: TypeAlias = "dict[str, FileRecord | ValueRecord]"


@dataclass
class NodeRecord:
    """One kind of node. ``categories``: what the integers 0, 1, 2, … of an attribute stand for."""

    num_nodes: int
    attributes: dict[str, FileRecord]
    label: str | None = None
    num_classes: int | None = None
    ids: FileRecord | None = None
    other: OtherRecords = field(default_factory=dict)
    categories: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class EdgeRecord:
    """One kind of edge. ``weight`` and ``time`` name the attributes that those of the graph were made of.

    ``time_unit`` is what the graph's times count since 1970, in UTC.
    """

    graph: FileRecord
    attributes: dict[str, FileRecord]
    weight: str | None = None
    time: str | None = None
    other: OtherRecords = field(default_factory=dict)
    categories: dict[str, list[str]] = field(default_factory=dict)
    time_unit: str | None = None


@dataclass
class SplitRecord:
    """The ids of one split of one kind of node or edge."""

    name: str
    of: str | tuple[str, str, str]
    ids: FileRecord


@dataclass
class Manifest:
    """The whole of a manifest. ``hetero``: batches name their types even if there is one of each."""

    nodes: dict[str, NodeRecord] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], EdgeRecord] = field(default_factory=dict)
    splits: list[SplitRecord] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    hetero: bool = False
    other: OtherRecords = field(default_factory=dict)

    @property
    def has_shares(self) -> bool:
        """Whether it is that of one of several hosts, which divide attributes."""
        return any(
            isinstance(record, ShareRecord) for node in self.nodes.values() for record in node.attributes.values()
        )

    def files(self) -> Iterator[FileRecord]:
        """Iterate over all files of the folder."""
        return (record for record, _ in self._files())

    def stored_files(self) -> Iterator[FileRecord]:
        """Iterate over the files that there are: parts instead of what is put together from them."""
        for record in self.files():
            if isinstance(record, PartsRecord):
                yield from record.part_records()
            else:
                yield record

    def parts(self) -> Iterator[PartsRecord]:
        """Iterate over the files that are stored in parts."""
        return (record for record in self.files() if isinstance(record, PartsRecord))

    def owners(self) -> dict[str, NodeRecord | EdgeRecord]:
        """Return what has attributes, by the name of its type: node types, then edge types."""
        edges = {"__".join(triple): edge for triple, edge in self.edges.items()}
        return {**self.nodes, **edges}

    def with_files(self, files: Mapping[str, FileRecord]) -> Manifest:
        """Return the manifest with other records for some files, by their paths."""

        def one(record: FileRecord) -> FileRecord:
            return files.get(record.file, record)

        def all_of(records: dict[str, FileRecord]) -> dict[str, FileRecord]:
            return {name: one(record) for name, record in records.items()}

        def others(records: OtherRecords) -> OtherRecords:
            return {name: one(entry) if isinstance(entry, FileRecord) else entry for name, entry in records.items()}

        return replace(
            self,
            nodes={
                kind: replace(node, attributes=all_of(node.attributes), other=others(node.other))
                for kind, node in self.nodes.items()
            },
            edges={
                triple: replace(
                    edge, graph=one(edge.graph), attributes=all_of(edge.attributes), other=others(edge.other)
                )
                for triple, edge in self.edges.items()
            },
            splits=[replace(split, ids=one(split.ids)) for split in self.splits],
            other=others(self.other),
        )

    @property
    def version(self) -> int:
        """The version of the format that it needs."""
        return NEWEST_VERSION if self.has_shares or any(self.parts()) else VERSION

    def places(self) -> Iterator[tuple[FileRecord, str]]:
        """Iterate over all files, each with the path that our writers give it."""
        return ((record, path()) for record, path in self._files())

    def _files(self) -> Iterator[tuple[FileRecord, Callable[[], str]]]:
        # Paths wait until they are asked for: in a manifest of others, a name may be one that no path of ours can hold.
        for name, node in self.nodes.items():
            for attribute, record in node.attributes.items():
                yield record, partial(attribute_path, name, attribute)
                if isinstance(record, ShareRecord) and record.hot is not None:
                    for hot, part in zip(record.hot, HOT_PARTS, strict=True):
                        yield hot, partial(hot_path, name, attribute, part)
            if node.ids is not None:
                yield node.ids, partial(ids_path, name)
            yield from _files_of(node.other, name)
        for triple, edge in self.edges.items():
            yield edge.graph, partial(graph_path, triple)
            for attribute, record in edge.attributes.items():
                yield record, partial(attribute_path, triple, attribute)
            yield from _files_of(edge.other, triple)
        for split in self.splits:
            yield split.ids, partial(split_path, split.of, split.name)
        yield from _files_of(self.other, None)


def _files_of(
    other: OtherRecords, of: str | tuple[str, str, str] | None
) -> Iterator[tuple[FileRecord, Callable[[], str]]]:
    for name, record in other.items():
        if isinstance(record, FileRecord):
            yield record, partial(other_path, of, name)

"""``graphzero.json``, the file that makes a folder a data set. docs/formats/dataset.md specifies it."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar

from graphzero._core import DataType, FormatError
from graphzero._files.folder import check_regular, is_portable
from graphzero._files.mounted import Mounted
from graphzero._files.storage import path_here

MANIFEST = "graphzero.json"
FORMAT = "graphzero dataset"
VERSION = 1  # of a manifest of whole files
# Of one with files in parts, or a host's share of attributes, which readers of version 1 would take for whole files.
NEWEST_VERSION = 2
INDEXES = ("out", "in")

# What files are called that have the rows of all hosts, and the ids of these.
HOT_PARTS = ("ids", "rows")

# What times may count, as NumPy and Arrow call it.
TIME_UNITS = ("s", "ms", "us", "ns")

_ELEMENT_TYPES = sorted(data_type.name.lower() for data_type in DataType)
_DEEPEST = 100  # levels of JSON
LARGEST_MANIFEST = 16 << 20  # bytes: a hostile folder must not make us read without end


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


def attribute_path(of: str | tuple[str, str, str], name: str) -> str:
    """Return the path of an attribute in the folder."""
    folder = f"edges/{type_path(of)}" if isinstance(of, tuple) else f"nodes/{file_name(of)}"
    return f"{folder}/{file_name(name)}.gd"


def hot_path(of: str, name: str, part: str) -> str:
    """Return the path of the ids of rows that all hosts have, or of these rows."""
    return f"nodes/{file_name(of)}/{file_name(name)}.hot.{part}.gd"


def ids_path(of: str) -> str:
    """Return the path of the id dictionary of a node type."""
    return f"nodes/{file_name(of)}/ids.gi"


def graph_path(of: tuple[str, str, str]) -> str:
    """Return the path of the edges of an edge type."""
    return f"edges/{type_path(of)}/graph.gl"


def split_path(of: str | tuple[str, str, str], name: str) -> str:
    """Return the path of a split of a type."""
    return f"splits/{file_name(name)}/{type_path(of)}.gd"


def other_path(of: str | tuple[str, str, str] | None, name: str) -> str:
    """Return the path of a tensor without a row per node or edge; of the whole data set, if ``of`` is ``None``."""
    return "/".join(["other", *([] if of is None else [type_path(of)]), f"{file_name(name)}.gd"])


def file_name(name: str) -> str:
    """Turn any name of a type or attribute into one that is safe in a path.

    Examples:
        >>> file_name("paper"), file_name("../x y")
        ('paper', '%2E%2E%2Fx%20y')
    """
    if not isinstance(name, str):
        raise TypeError(f"expected a name, found {name!r}")
    if not name:
        raise ValueError("expected a name, found an empty one")
    if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
        raise ValueError(f"expected a name that is text, found {name!r}")
    import urllib.parse  # takes longer than all else that mounting a data set imports

    return urllib.parse.quote(name, safe="").replace(".", "%2E")


def type_path(kind: str | tuple[str, str, str]) -> str:
    """Turn a node type or an edge type into a name that is safe in a path, and that no other type has.

    Examples:
        >>> type_path(("user", "rates", "movie")), type_path(("a", "b__c", "d"))
        ('user__rates__movie', 'a__b%5F%5Fc__d')
    """
    names = [file_name(part) for part in ([kind] if isinstance(kind, str) else kind)]
    # What might be taken for the separator is written otherwise.
    return "__".join(
        name.replace("_", "%5F") if "__" in name or name[0] == "_" or name[-1] == "_" else name for name in names
    )


def write_manifest(path: str, manifest: Manifest) -> None:
    """Write the manifest, last of all files, and make it durable."""
    text = manifest_text(manifest)
    with open(path, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def manifest_text(manifest: Manifest) -> bytes:
    """Return a manifest as it is written."""

    def record(file: FileRecord) -> dict[str, Any]:
        known = {"fingerprint": f"{file.fingerprint:#018x}"}
        if isinstance(file, PartsRecord):
            whole = known if file.fingerprint else {}
            return {"file": file.file, **whole, "parts": [part_document(part) for part in file.parts]}
        if not isinstance(file, ShareRecord):
            return {"file": file.file, **known}
        hot = {} if file.hot is None else {"hot": dict(zip(HOT_PARTS, map(record, file.hot), strict=True))}
        where = {"host": file.host, "ranges": file.ranges}
        return {"share": {**where, "file": file.file, **known, **hot, "whole": f"{file.whole:#018x}"}}

    def part_document(part: Part) -> dict[str, Any]:
        return {
            "file": part.file,
            **_unless_none(index=part.index),
            "begin": part.begin,
            "end": part.end,
            **_unless_none(edges=part.edges),
            "fingerprint": f"{part.fingerprint:#018x}",
            "seal": f"{part.seal:#018x}",
        }

    def records(attributes: dict[str, FileRecord]) -> dict[str, Any]:
        return {name: record(file) for name, file in attributes.items()}

    def others(other: OtherRecords) -> dict[str, Any]:
        documents = {
            name: record(entry)
            if isinstance(entry, FileRecord)
            else {"value": entry.value, **_unless_none(dtype=entry.dtype)}
            for name, entry in other.items()
        }
        return {"other": documents} if documents else {}

    document = {
        "format": FORMAT,
        "version": manifest.version,
        **({"hetero": True} if manifest.hetero else {}),
        "nodes": {
            name: {
                "num_nodes": node.num_nodes,
                "attributes": records(node.attributes),
                **_unless_none(label=node.label, num_classes=node.num_classes),
                **({"ids": record(node.ids)} if node.ids is not None else {}),
                **_unless_none(categories=node.categories or None),
                **others(node.other),
            }
            for name, node in manifest.nodes.items()
        },
        "edges": [
            {
                "type": list(triple),
                "graph": record(edge.graph),
                "attributes": records(edge.attributes),
                **_unless_none(weight=edge.weight, time=edge.time, time_unit=edge.time_unit),
                **_unless_none(categories=edge.categories or None),
                **others(edge.other),
            }
            for triple, edge in manifest.edges.items()
        ],
        "splits": [
            {
                "name": split.name,
                "of": split.of if isinstance(split.of, str) else list(split.of),
                "ids": record(split.ids),
            }
            for split in manifest.splits
        ],
        "metadata": manifest.metadata,
        **others(manifest.other),
    }
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    if len(text) > LARGEST_MANIFEST:
        raise ValueError(
            f"{MANIFEST}: expected at most {LARGEST_MANIFEST} bytes, found {len(text)}: names of categories, metadata "
            "and types must fit there; leave some out"
        )
    return text


def _unless_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def read_manifest(folder: str) -> tuple[Manifest, int]:
    """Read and check the manifest of ``folder``, whose files must be whole; also return the data set's fingerprint."""
    path = os.path.join(path_here(folder), MANIFEST)
    if os.path.isdir(folder) and not os.path.exists(path):
        raise FileNotFoundError(
            errno.ENOENT, f"has no {MANIFEST}: it is not a data set, or its conversion did not finish", folder
        )
    if os.path.isfile(folder):
        raise NotADirectoryError(
            errno.ENOTDIR, "is a file, expected a data set folder; use Graph or FeatureStore for one", folder
        )
    check_regular(path)
    with open(path, "rb") as file:
        text = file.read(LARGEST_MANIFEST + 1)
    manifest, fingerprint = parsed_manifest(text, path)
    for record in manifest.parts():
        raise FormatError(
            f"{path}: expected ordinary files, found {record.file} in {len(record.parts)} parts, which cannot be "
            f"mapped; put them together with gz.stage({folder!r}, folder), or graphzero stage"
        )
    return manifest, fingerprint


def parsed_manifest(text: bytes, path: str) -> tuple[Manifest, int]:
    """Check the text of a manifest, which is that of ``path``; also return the fingerprint of the data set."""
    if len(text) > LARGEST_MANIFEST:
        raise FormatError(f"{path}: expected at most {LARGEST_MANIFEST} bytes, found more")
    try:
        document = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: expected JSON, found {error}") from None
    if _is_deep(document):
        raise FormatError(f"{path}: expected JSON of at most {_DEEPEST} levels, found more")
    if (not text.isascii() or b"\\u" in text) and not _is_text(document):
        raise FormatError(f"{path}: expected JSON of text, found half of a surrogate pair")
    return _Reader(path).manifest(document), _fingerprint(document)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name}, which is no number of JSON")


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:40]}, which is too large")
    return value


def check_json(value: Any, name: str) -> None:
    """Refuse what a manifest cannot keep."""
    try:
        json.dumps(value, allow_nan=False)
        if not _is_deep(value):
            return
    except (TypeError, ValueError, RecursionError):
        pass
    raise TypeError(f"{name}: expected a tensor or a JSON value, found {type(value).__name__}")


def _is_deep(value: Any) -> bool:
    """Whether there are more levels than can be traversed and written again."""
    level = [value]
    for _ in range(_DEEPEST):
        parts = [part for part in level if isinstance(part, (dict, list, tuple))]
        level = [item for part in parts for item in (part.values() if isinstance(part, dict) else part)]
        if not level:
            return False
    return True


def _is_text(document: Any) -> bool:
    """Whether all names and words can be written again: JSON can spell lone surrogates, which cannot be printed."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _fingerprint(document: Any) -> int:
    """Join the fingerprints of all files and everything else the manifest says."""
    import hashlib

    canonical = json.dumps(document, sort_keys=True).encode()
    return int.from_bytes(hashlib.blake2b(canonical, digest_size=8).digest(), "little")


def _fits(value: int | float, dtype: str) -> bool:
    if dtype == "bool":
        return value in (0, 1)
    if "int" in dtype:
        bits = int(dtype.removeprefix("u").removeprefix("int"))
        low, high = (0, 2**bits) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1))
        return isinstance(value, int) and low <= value < high
    return abs(value) <= sys.float_info.max


T = TypeVar("T")


class _Reader:
    """Turns JSON into records; every error says which place in the file it is about."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._version = VERSION
        self._sealed: list[tuple[str, list[Part], list[int | None]]] = []  # places, parts and their seals

    def _refuse(self, place: str, expected: str, found: Any) -> FormatError:
        text = json.dumps(found)
        return FormatError(f"{self._path}: {place}: expected {expected}, found {text[:80]}{'…' * (len(text) > 80)}")

    def _get(self, parent: Any, key: str, kind: type[T], place: str, expected: str) -> T:
        if not isinstance(parent, dict):
            raise self._refuse(place or "top", "an object", parent)
        value = parent.get(key)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self._refuse(f"{place}.{key}" if place else key, expected, value)
        return value

    def manifest(self, document: Any) -> Manifest:
        found = self._get(document, "format", str, "", f'"{FORMAT}"')
        if found != FORMAT:
            raise self._refuse("format", f'"{FORMAT}"', found)
        version = self._get(document, "version", int, "", str(VERSION))
        if version not in (VERSION, NEWEST_VERSION):
            raise self._refuse("version", f"{VERSION} or {NEWEST_VERSION} (a newer graphzero may read it)", version)
        self._version = version
        manifest = Manifest()
        for name, node in self._get(document, "nodes", dict, "", "an object of node types").items():
            manifest.nodes[name] = self._node(node, f"nodes.{name}")
        for i, edge in enumerate(self._get(document, "edges", list, "", "a list of edge types")):
            place = f"edges[{i}]"
            triple = self._triple(self._get(edge, "type", list, place, "three names"), f"{place}.type")
            for end in (triple[0], triple[2]):
                if end not in manifest.nodes:
                    raise self._refuse(f"{place}.type", f"node types from {list(manifest.nodes)}", list(triple))
            if triple in manifest.edges:
                raise self._refuse(f"{place}.type", "each edge type once", list(triple))
            manifest.edges[triple] = self._edge(edge, place)
            self._check_nodes(manifest, triple, f"{place}.graph.parts")
        known = set()
        for i, split in enumerate(self._get(document, "splits", list, "", "a list of splits")):
            record = self._split(split, f"splits[{i}]", manifest)
            if (record.name, record.of) in known:
                raise self._refuse(f"splits[{i}]", "each split of a type once", split)
            known.add((record.name, record.of))
            manifest.splits.append(record)
        manifest.metadata = self._get(document, "metadata", dict, "", "an object")
        if document.get("hetero") is not None:
            manifest.hetero = self._get(document, "hetero", bool, "", "true or false")
        manifest.other = self._other(document, "")
        self._check_paths(manifest)
        for place, parts, seals in self._sealed:
            self._check_seals(place, parts, seals)
        return manifest

    def _check_paths(self, manifest: Manifest) -> None:
        """Refuse parts that share a file with anything else: one would overwrite the other."""
        known = {os.path.normpath(record.file) for record in manifest.files() if not isinstance(record, PartsRecord)}
        for record in manifest.parts():
            for file in (record.file, *(part.file for part in record.parts)):
                if os.path.normpath(file) in known:
                    raise self._refuse(record.file, "parts in files of their own", file)
                known.add(os.path.normpath(file))

    def _check_nodes(self, manifest: Manifest, triple: tuple[str, str, str], place: str) -> None:
        """Refuse parts of an index that do not end at the last node."""
        graph = manifest.edges[triple].graph
        if isinstance(graph, PartsRecord):
            counts = {"out": manifest.nodes[triple[0]].num_nodes, "in": manifest.nodes[triple[2]].num_nodes}
            for index, part in {part.index: part for part in graph.parts}.items():
                if index is not None and part.end != counts[index]:
                    raise self._refuse(place, f"the {index} parts to end at node {counts[index]}", part.end)

    def _edge(self, edge: Any, place: str) -> EdgeRecord:
        record = EdgeRecord(self._file(edge, "graph", place, parts="nodes"), self._attributes(edge, place, None))
        for column in ("weight", "time"):
            if edge.get(column) is None:
                continue
            name = self._get(edge, column, str, place, "the name of an attribute")
            if name not in record.attributes:
                raise self._refuse(f"{place}.{column}", f"one of {list(record.attributes)}", name)
            setattr(record, column, name)
        record.categories = self._categories(edge, record.attributes, place)
        if edge.get("time_unit") is not None:
            record.time_unit = self._get(edge, "time_unit", str, place, "a unit of time")
            if record.time_unit not in TIME_UNITS:
                raise self._refuse(f"{place}.time_unit", f"one of {', '.join(TIME_UNITS)}", record.time_unit)
        record.other = self._other(edge, place)
        return record

    def _categories(self, parent: Any, attributes: dict[str, FileRecord], place: str) -> dict[str, list[str]]:
        if parent.get("categories") is None:
            return {}
        lists = self._get(parent, "categories", dict, place, "an object of lists")
        place = f"{place}.categories"
        for attribute in lists:
            if attribute not in attributes:
                raise self._refuse(place, f"names from {list(attributes)}", attribute)
            names = self._get(lists, attribute, list, place, "a list of names")
            if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
                raise self._refuse(f"{place}.{attribute}", "names that differ", names)
        return lists

    def _other(self, parent: Any, place: str) -> OtherRecords:
        if parent.get("other") is None:
            return {}
        entries = self._get(parent, "other", dict, place, "an object")
        place = f"{place}.other" if place else "other"
        return {name: self._other_entry(entries, name, place) for name in entries}

    def _other_entry(self, entries: Any, name: str, place: str) -> FileRecord | ValueRecord:
        entry = self._get(entries, name, dict, place, "a file or a value")
        if "file" in entry:
            return self._file(entries, name, place, parts="rows")
        if "value" not in entry:
            raise self._refuse(f"{place}.{name}", "a file or a value", entry)
        if entry.get("dtype") is None:
            return ValueRecord(entry["value"])
        place = f"{place}.{name}"
        dtype = self._get(entry, "dtype", str, place, "the name of an element type")
        if dtype not in _ELEMENT_TYPES:
            raise self._refuse(f"{place}.dtype", f"one of {', '.join(_ELEMENT_TYPES)}", dtype)
        if not isinstance(entry["value"], (int, float)):
            raise self._refuse(f"{place}.value", f"a number, as it has the dtype {dtype}", entry["value"])
        if not _fits(entry["value"], dtype):
            raise self._refuse(f"{place}.value", f"a number that fits the dtype {dtype}", entry["value"])
        return ValueRecord(entry["value"], dtype)

    def _node(self, node: Any, place: str) -> NodeRecord:
        num_nodes = self._get(node, "num_nodes", int, place, "a number of nodes")
        if not 0 <= num_nodes <= 2**59:
            raise self._refuse(f"{place}.num_nodes", "0 to 2^59", num_nodes)
        record = NodeRecord(num_nodes, self._attributes(node, place, num_nodes))
        if node.get("label") is not None:
            record.label = self._get(node, "label", str, place, "the name of an attribute")
            if record.label not in record.attributes:
                raise self._refuse(f"{place}.label", f"one of {list(record.attributes)}", record.label)
        if node.get("num_classes") is not None:
            record.num_classes = self._get(node, "num_classes", int, place, "a number of classes")
            if record.num_classes < 0:
                raise self._refuse(f"{place}.num_classes", "a number of classes", record.num_classes)
        if node.get("ids") is not None:
            record.ids = self._file(node, "ids", place)
        record.categories = self._categories(node, record.attributes, place)
        record.other = self._other(node, place)
        return record

    def _split(self, split: Any, place: str, manifest: Manifest) -> SplitRecord:
        name = self._get(split, "name", str, place, "a name")
        of = split.get("of")
        kind = self._triple(of, f"{place}.of") if isinstance(of, list) else of
        if not isinstance(kind, (str, tuple)) or (kind not in manifest.nodes and kind not in manifest.edges):
            raise self._refuse(f"{place}.of", "a node type or an edge type of this data set", of)
        return SplitRecord(name, kind, self._file(split, "ids", place, parts="rows"))

    def _attributes(self, parent: Any, place: str, num_rows: int | None) -> dict[str, FileRecord]:
        attributes = self._get(parent, "attributes", dict, place, "an object of attributes")
        place = f"{place}.attributes"
        records = {
            name: self._share(attribute["share"], num_rows, f"{place}.{name}.share")
            if num_rows is not None
            and self._version == NEWEST_VERSION
            and isinstance(attribute, dict)
            and "share" in attribute
            else self._file(attributes, name, place, parts="rows")
            for name, attribute in attributes.items()
        }
        for name, record in records.items():
            if isinstance(record, PartsRecord) and num_rows is not None and record.parts[-1].end != num_rows:
                last = f"{place}.{name}.parts[{len(record.parts) - 1}].end"
                raise self._refuse(last, f"{num_rows}, the number of nodes", record.parts[-1].end)
        return records

    def _share(self, share: Any, num_nodes: int, place: str) -> ShareRecord:
        ranges = self._get(share, "ranges", list, place, "numbers of nodes")
        if (
            len(ranges) < 2
            or not all(type(bound) is int for bound in ranges)
            or (ranges[0], ranges[-1]) != (0, num_nodes)
            or ranges != sorted(ranges)
        ):
            raise self._refuse(f"{place}.ranges", f"numbers from 0 to {num_nodes} that do not fall", ranges)
        host = self._get(share, "host", int, place, "the number of a host")
        if not 0 <= host < len(ranges) - 1:
            raise self._refuse(f"{place}.host", f"a number below {len(ranges) - 1}, that of hosts", host)
        hot = None
        if share.get("hot") is not None:
            files = self._get(share, "hot", dict, place, "an object of two files")
            hot = (self._file(files, HOT_PARTS[0], f"{place}.hot"), self._file(files, HOT_PARTS[1], f"{place}.hot"))
        own = self._file({"share": share}, "share", place.removesuffix(".share"))
        return ShareRecord(own.file, own.fingerprint, host, ranges, self._fingerprint(share, place, "whole"), hot)

    def _file(self, parent: Any, key: str, place: str, *, parts: str = "") -> FileRecord:
        """Read the record of a file; ``parts`` says what they are ranges of, where there may be some."""
        record = self._get(parent, key, dict, place, "a file")
        place = f"{place}.{key}"
        file = self._path_inside(record, place)
        if not (parts and self._version == NEWEST_VERSION and record.get("parts") is not None):
            return FileRecord(file, self._fingerprint(record, place))
        whole = 0 if record.get("fingerprint") is None else self._fingerprint(record, place)
        found = self._get(record, "parts", list, place, "a list of parts")
        read = [self._part(part, f"{place}.parts[{i}]", parts == "nodes") for i, part in enumerate(found)]
        self._check_order(read, f"{place}.parts")
        seals = [
            None if part.get("seal") is None else self._fingerprint(part, f"{place}.parts[{i}]", "seal")
            for i, part in enumerate(found)
        ]
        self._sealed.append((f"{place}.parts", read, seals))
        return PartsRecord(file, whole, read)

    def _path_inside(self, record: Any, place: str) -> str:
        file = self._get(record, "file", str, place, "a relative path")
        if not is_portable(file):
            raise self._refuse(f"{place}.file", "a path inside the folder", file)
        if os.path.normpath(file).casefold() == MANIFEST:  # some file systems do not tell cases apart
            raise self._refuse(f"{place}.file", "another file than the manifest", file)
        return file

    def _fingerprint(self, parent: Any, place: str, key: str = "fingerprint") -> int:
        text = self._get(parent, key, str, place, "a fingerprint")
        if not re.fullmatch("0x[0-9a-f]{16}", text):
            raise self._refuse(f"{place}.{key}", "a hexadecimal number of 16 digits", text)
        return int(text, 16)

    def _part(self, part: Any, place: str, of_graph: bool) -> Part:
        def count(key: str) -> int:
            value = self._get(part, key, int, place, "a count")
            if not 0 <= value <= 2**59:
                raise self._refuse(f"{place}.{key}", "0 to 2^59", value)
            return value

        read = Part(self._path_inside(part, place), count("begin"), count("end"), self._fingerprint(part, place))
        if read.begin > read.end:
            raise self._refuse(f"{place}.end", f"at least begin, {read.begin}", read.end)
        if of_graph:
            read.index = self._get(part, "index", str, place, " or ".join(INDEXES))
            if read.index not in INDEXES:
                raise self._refuse(f"{place}.index", " or ".join(INDEXES), read.index)
            read.edges = count("edges")
        return read

    def _check_order(self, parts: list[Part], place: str) -> None:
        """Refuse parts that do not follow each other, those of the out index first."""
        if not parts:
            raise self._refuse(place, "at least one part", [])
        ends: dict[str | None, int] = {}
        for i, part in enumerate(parts):
            if part.index == "out" and "in" in ends:
                raise self._refuse(f"{place}[{i}].index", "parts of out before those of in", part.index)
            expected = ends.get(part.index, 0)
            if part.begin != expected:
                raise self._refuse(f"{place}[{i}].begin", f"{expected}, where the one before ends", part.begin)
            ends[part.index] = part.end
        edges = {index: sum(part.edges or 0 for part in parts if part.index == index) for index in ends}
        if len(set(edges.values())) > 1:
            raise self._refuse(place, "as many edges in both indexes", edges)

    def _check_seals(self, place: str, parts: list[Part], seals: list[int | None]) -> None:
        """Refuse parts whose contents are not those of their ranges, such as two that changed places."""
        for i, (part, seal) in enumerate(zip(parts, seals, strict=True)):
            if seal in (None, part.seal):
                continue
            others = [(k, other) for k, other in enumerate(parts) if part.seal_of(other.fingerprint) == seal]
            if not others:
                raise self._refuse(
                    f"{place}[{i}].seal", f"{part.seal:#018x}, of its range and fingerprint", f"{seal:#018x}"
                )
            k, other = others[0]
            raise FormatError(
                f"{self._path}: {place}[{i}]: expected {other.file}, which is at [{k}], for {part.begin} to "
                f"{part.end}, found {part.file}: the parts are in the wrong order; push or convert the data set again"
            )

    def _triple(self, value: Any, place: str) -> tuple[str, str, str]:
        if not isinstance(value, list) or len(value) != 3 or not all(isinstance(part, str) for part in value):
            raise self._refuse(place, "[source, relation, destination]", value)
        return (value[0], value[1], value[2])

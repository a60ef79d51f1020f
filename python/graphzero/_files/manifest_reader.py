"""The JSON of a manifest, proven and turned into records."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, TypeVar

from graphzero._core import DataType, FormatError
from graphzero._files.folder import is_portable
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.manifest_records import (
    FORMAT,
    HOT_PARTS,
    INDEXES,
    NEWEST_VERSION,
    TIME_UNITS,
    VERSION,
    EdgeRecord,
    FileRecord,
    Manifest,
    NodeRecord,
    OtherRecords,
    Part,
    PartsRecord,
    ShareRecord,
    SplitRecord,
    ValueRecord,
)

_ELEMENT_TYPES = sorted(data_type.name.lower() for data_type in DataType)

T = TypeVar("T")


class ManifestReader:
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


def _fits(value: int | float, dtype: str) -> bool:
    if dtype == "bool":
        return value in (0, 1)
    if "int" in dtype:
        bits = int(dtype.removeprefix("u").removeprefix("int"))
        low, high = (0, 2**bits) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1))
        return isinstance(value, int) and low <= value < high
    return abs(value) <= sys.float_info.max

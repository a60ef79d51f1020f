"""The files that a host has of attributes which several hosts divide, made from a whole data set."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.argument_errors import Argument, value_error
from graphzero._base.integers import integer
from graphzero._base.memory_sizes import byte_count
from graphzero._core import FormatError
from graphzero._files.folder import KeptFolder
from graphzero._files.manifest import (
    HOT_PARTS,
    FileRecord,
    Manifest,
    PartsRecord,
    ShareRecord,
    attribute_path,
    hot_path,
)
from graphzero._files.storage import StoredPath, read_range
from graphzero._files.stored_rows import StoredRows, rows_at, rows_between
from graphzero.features import FeatureStore, write_features
from graphzero.graph import Graph, as_direction

# Beside a file of rows that came: whose they are. It goes when the folder is complete.
IDENTITY = ".identity"


@dataclass(frozen=True)
class HostShare:
    """Which share of attributes a host has."""

    host: int
    hosts: int
    hot: int
    whole: tuple[str, ...]

    def ranges(self, num_nodes: int) -> list[int]:
        return [num_nodes * number // self.hosts for number in range(self.hosts + 1)]


def read_host_share(
    host: int | None, hosts: int | None, hot: int | str, whole: Sequence[str] | str
) -> HostShare | None:
    if (host is None) != (hosts is None):
        given, missing = ("host", "hosts") if hosts is None else ("hosts", "host")
        raise value_error(missing, "expected it beside ", Argument(given), ", found none; give both or neither")
    room, names = byte_count(hot, "hot"), (whole,) if isinstance(whole, str) else tuple(whole)
    if host is None or hosts is None:
        if room or names:
            raise value_error("hosts", "expected it beside ", Argument("hot" if room else "whole"), ", found none")
        return None
    if integer(hosts, "hosts") < 1:
        raise value_error("hosts", f"expected at least 1, found {hosts}")
    if not 0 <= integer(host, "host") < hosts:
        raise value_error("host", f"expected 0 to {hosts - 1}, below hosts, found {host}")
    return HostShare(int(host), int(hosts), room, names)


class DividedRows:
    """An attribute that hosts divide: where it is stored, and the files that a host has of it."""

    def __init__(self, kind: str, name: str, num_nodes: int, record: FileRecord, place: StoredPath) -> None:
        self.kind, self.name, self.num_nodes, self.record = kind, name, num_nodes, record
        self.stored = StoredRows(place / record.file)
        what = f"{place / record.file}: {name} of {kind!r}"
        if self.stored.reordered:
            raise FormatError(
                f"{what}: expected rows in the order of their ids, found the hottest first, of which no range can be "
                f'taken; write it anew without order="hot", or bring it whole'
            )
        if self.stored.shape[0] != num_nodes:
            raise FormatError(f"{what}: expected {num_nodes} rows, found {self.stored.shape[0]}")

    def files(self) -> list[str]:
        return [attribute_path(self.kind, self.name), *(hot_path(self.kind, self.name, part) for part in HOT_PARTS)]

    def written(self, new: KeptFolder) -> list[str]:
        return [file for file in self.files() if os.path.exists(new.file(file))]

    def nbytes(self, shared: HostShare) -> int:
        """Return about how many bytes its files take."""
        ranges = shared.ranges(self.num_nodes)
        own = (ranges[shared.host + 1] - ranges[shared.host]) * self.stored.size_of_row
        return own + min(shared.hot, self.num_nodes * self.stored.size_of_row)

    def bring(
        self, new: KeptFolder, shared: HostShare, ids: NDArray[np.int64], workers: int, done: Callable[[int], None]
    ) -> ShareRecord:
        """Write the files of a host, unless an earlier run has."""
        import hashlib  # slow to load

        ranges, width = shared.ranges(self.num_nodes), self.stored.row_bytes
        begin, end = ranges[shared.host], ranges[shared.host + 1]
        own, hot_ids, hot_rows = self.files()
        whole = f"{self.record.fingerprint:#018x}"
        told = hashlib.blake2b(ids.data, digest_size=8).hexdigest()

        def record(file: str, identity: str, write: Callable[[str], None]) -> FileRecord:
            path = new.file(file)
            if not (os.path.exists(path) and _identity(path) == identity):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                write(path)
                with open(path + IDENTITY, "w", encoding="utf-8") as said:
                    said.write(identity)
            with FeatureStore(path) as store:
                return FileRecord(file, store.fingerprint)

        def write_own(path: str) -> None:
            self.stored.write(path, rows_between(begin, end, width), end - begin, workers, done)

        def write_hot(path: str) -> None:
            self.stored.write(path, rows_at(ids, width), len(ids), workers, done)

        rows = record(own, f"{whole} rows {begin} to {end}", write_own)
        hot = None
        if len(ids):
            hot = (
                record(hot_ids, f"ids {told}", lambda path: write_features(path, ids)),
                record(hot_rows, f"{whole} rows {told}", write_hot),
            )
        return ShareRecord(rows.file, rows.fingerprint, shared.host, ranges, self.record.fingerprint, hot)

    def forget(self, new: KeptFolder) -> None:
        """Remove what said whose rows files have."""
        for file in self.files():
            if os.path.exists(new.file(file) + IDENTITY):
                os.remove(new.file(file) + IDENTITY)


def _identity(path: str) -> str:
    try:
        with open(path + IDENTITY, encoding="utf-8") as file:
            return file.read()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""


def divided_attributes(manifest: Manifest, shared: HostShare, place: StoredPath) -> dict[tuple[str, str], DividedRows]:
    """Return the attributes that hosts divide: of nodes, with several items in a row, and not labels."""
    if manifest.has_shares:
        raise value_error("source", "expected a whole data set, found the folder of one of several hosts", where=place)
    known = {
        name for kind, node in manifest.nodes.items() for own in node.attributes for name in (own, f"{kind}.{own}")
    }
    for name in shared.whole:
        if name not in known:
            there = ", ".join(dict.fromkeys(own for node in manifest.nodes.values() for own in node.attributes))
            raise value_error("whole", f"expected some of {there or 'no attributes'}, found {name!r}", where=place)
    found = {}
    for kind, node in manifest.nodes.items():
        for name, record in node.attributes.items():
            if name == node.label or name in shared.whole or f"{kind}.{name}" in shared.whole:
                continue
            if isinstance(record, PartsRecord):
                raise value_error(
                    "hosts",
                    f"expected {name} of {kind!r} in one file, of which a host takes its range, found it in parts; "
                    "push it without parts, or bring it whole with ",
                    Argument("whole"),
                    where=place,
                )
            if not read_range(place / record.file, 0, 8).startswith(b"GRAPHZ"):
                continue  # a file of GraphZero 0.2
            rows = DividedRows(kind, name, node.num_nodes, record, place)
            if len(rows.stored.shape) > 1:
                found[kind, name] = rows
    if not found:
        raise value_error(
            "hosts",
            "expected an attribute of nodes with several items in a row, to be divided, found none",
            where=place,
        )
    return found


def without(manifest: Manifest, divided: Mapping[tuple[str, str], Any]) -> Manifest:
    """Return the manifest without the attributes that hosts divide."""
    return replace(
        manifest,
        nodes={
            kind: replace(
                node,
                attributes={name: own for name, own in node.attributes.items() if (kind, name) not in divided},
            )
            for kind, node in manifest.nodes.items()
        },
    )


def bring_shares(
    new: KeptFolder,
    manifest: Manifest,
    divided: Mapping[tuple[str, str], DividedRows],
    shared: HostShare,
    workers: int,
    done: Callable[[int], None],
) -> Manifest:
    """Bring a host's rows, and return the manifest that says so. The graphs, which say what is hot, are here."""
    sizes = [rows.num_nodes * (rows.stored.size_of_row + 8) for rows in divided.values()]
    rooms = dict(zip(divided, _core.divide_room(shared.hot, sizes), strict=True))
    nodes = {kind: replace(node, attributes=dict(node.attributes)) for kind, node in manifest.nodes.items()}
    hottest: dict[str, NDArray[np.int64]] = {}
    for (kind, name), rows in divided.items():
        count = min(rows.num_nodes, rooms[kind, name] // (rows.stored.size_of_row + 8))
        if count and kind not in hottest:
            hottest[kind] = _times_met(new, manifest, kind)
        ids = _hot_ids(hottest[kind], count) if count else np.empty(0, dtype=np.int64)
        nodes[kind].attributes[name] = rows.bring(new, shared, ids, workers, done)
    return replace(manifest, nodes=nodes)


def _times_met(new: KeptFolder, manifest: Manifest, kind: str) -> NDArray[np.int64]:
    """Return in how many lists of neighbours each node is, whatever the relation: how often sampling may meet it."""
    times: NDArray[np.int64] = np.zeros(manifest.nodes[kind].num_nodes, dtype=np.int64)
    for (source, _, destination), edge in manifest.edges.items():
        with Graph(new.file(edge.graph.file)) as graph:
            if source == kind and "in" in graph.indexes:
                times += _core.neighbor_counts(graph._core, as_direction("in"))
            elif destination == kind and "in" not in graph.indexes:
                times += _core.neighbor_counts(graph._core, as_direction("out"))
    return times


def _hot_ids(times: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the ids that are met most often, rising; of those that are met as often the first."""
    if count >= len(times):
        return np.arange(len(times), dtype=np.int64)
    least = np.partition(times, len(times) - count)[len(times) - count]
    above = np.flatnonzero(times > least)
    equal = np.flatnonzero(times == least)[: count - len(above)]
    return np.sort(np.concatenate([above, equal])).astype(np.int64)

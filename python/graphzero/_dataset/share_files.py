"""The files that a host has of attributes which several hosts divide, made from a whole data set."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.argument_errors import Argument, value_error
from graphzero._base.integers import integer
from graphzero._base.memory_sizes import byte_count
from graphzero._base.names import names_of
from graphzero._core import FormatError
from graphzero._dataset.feature_parts import join_parts
from graphzero._files.folder import KeptFolder, free_space
from graphzero._files.manifest_paths import attribute_path, hot_path
from graphzero._files.manifest_records import HOT_PARTS, FileRecord, Manifest, Part, PartsRecord, ShareRecord
from graphzero._files.storage import StoredPath, read_range
from graphzero._files.stored_rows import RowsHere, StoredRows, rows_at, rows_between
from graphzero.features import FeatureStore, write_features
from graphzero.graph import Graph, as_direction

# Bytes of rows that a kill can cost, if they are stored in one file. Of rows in parts, it is a part.
PIECE_BYTES = 256 << 20
# Beside a file of rows that came: whose they are. It goes when the folder is complete.
IDENTITY = ".identity"
_MOST_HOSTS = 10_000  # a manifest names the range of each


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
    room, names = byte_count(hot, "hot"), names_of(whole, "whole")
    if host is None or hosts is None:
        if room or names:
            raise value_error("hosts", "expected it beside ", Argument("hot" if room else "whole"), ", found none")
        return None
    if integer(hosts, "hosts") < 1:
        raise value_error("hosts", f"expected at least 1, found {hosts}")
    if hosts > _MOST_HOSTS:
        raise value_error("hosts", f"expected 1 to {_MOST_HOSTS:,}, found {hosts:,}")
    if not 0 <= integer(host, "host") < hosts:
        raise value_error("host", f"expected 0 to {hosts - 1}, below hosts, found {host}")
    return HostShare(int(host), int(hosts), room, names)


class DividedRows:
    """An attribute that hosts divide: where it is stored, and the files that a host has of it."""

    def __init__(
        self, kind: str, name: str, num_nodes: int, record: FileRecord, place: StoredPath, shared: HostShare
    ) -> None:
        self.kind, self.name, self.num_nodes = kind, name, num_nodes
        self.stored = StoredRows(place, record, num_nodes, f"{name} of {kind!r}")
        self._whole = record.fingerprint
        if isinstance(record, PartsRecord) and not record.fingerprint:  # nobody has put them together
            self._whole = int(_digest(repr(record.parts).encode()), 16)
        self._shared, self._ranges = shared, shared.ranges(num_nodes)
        self._begin, self._end = self._ranges[shared.host : shared.host + 2]
        # What came before a kill does not come again.
        self._pieces = self.stored.pieces(self._begin, self._end, PIECE_BYTES)

    def files(self) -> list[str]:
        """Return the files of the share."""
        return [attribute_path(self.kind, self.name), *(hot_path(self.kind, self.name, part) for part in HOT_PARTS)]

    def kept(self) -> list[str]:
        """Return all files that an earlier run may have left."""
        return [*self.files(), *self._piece_files()]

    def written(self, new: KeptFolder) -> list[str]:
        """Return the files of the share that there are."""
        return [file for file in self.files() if os.path.exists(new.file(file))]

    @property
    def nbytes(self) -> int:
        """About how many bytes its files take, also while pieces are put together."""
        rows = self._end - self._begin
        if len(self._pieces) > 1:
            rows += max(end - begin for begin, end in self._pieces)
        return rows * self.stored.size_of_row + min(self._shared.hot, self.num_nodes * self.stored.size_of_row)

    def bring(self, new: KeptFolder, ids: NDArray[np.int64], workers: int, done: Callable[[int], None]) -> ShareRecord:
        """Write the files of a host, unless an earlier run has."""
        own, hot_ids, hot_rows = self.files()
        whole, told = f"{self._whole:#018x}", _digest(ids.data)

        def record(file: str, identity: str, write: Callable[[str], None]) -> FileRecord:
            path = new.file(file)
            if not (os.path.exists(path) and _identity(path) == identity):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                write(path)
                with open(path + IDENTITY, "w", encoding="utf-8") as said:
                    said.write(identity)
            with FeatureStore(path) as store:
                return FileRecord(file, store.fingerprint)

        def write_rows(begin: int, end: int) -> Callable[[str], None]:
            def write(path: str) -> None:
                ranges = rows_between(begin, end, self.stored.row_bytes)
                self.stored.write(path, ranges, end - begin, workers, done)
                try:
                    self.stored.check(path, begin, end)
                except FormatError:
                    os.remove(path)
                    raise

            return write

        def write_own(path: str) -> None:
            if len(self._pieces) == 1:
                write_rows(self._begin, self._end)(path)
                return
            parts = []
            for begin, end in self._pieces:
                piece = record(self._piece_file(begin, end), _identity_of(whole, begin, end), write_rows(begin, end))
                parts.append(Part(new.file(piece.file), begin - self._begin, end - self._begin, piece.fingerprint))
            paths = [part.file for part in parts]
            short = free_space(path) < sum(map(os.path.getsize, paths))
            try:
                join_parts(paths, parts, path, done=os.remove if short else lambda _: None)
            except FormatError:
                self.discard(new)
                raise

        def write_hot(path: str) -> None:
            here = RowsHere(new.file(own), self._begin, self._end)
            self.stored.write(path, rows_at(ids, self.stored.row_bytes), len(ids), workers, done, here)

        rows = record(own, _identity_of(whole, self._begin, self._end), write_own)
        self._remove(new, self._piece_files())
        hot = None
        if len(ids):
            hot = (
                record(hot_ids, f"ids {told}", lambda path: write_features(path, ids)),
                record(hot_rows, f"{whole} rows {told}", write_hot),
            )
        return ShareRecord(rows.file, rows.fingerprint, self._shared.host, self._ranges, self._whole, hot)

    def forget(self, new: KeptFolder) -> None:
        """Remove what said whose rows files have."""
        for file in self.files():
            if os.path.exists(new.file(file) + IDENTITY):
                os.remove(new.file(file) + IDENTITY)

    def discard(self, new: KeptFolder) -> None:
        """Remove all that came."""
        self._remove(new, self.kept())

    def _piece_file(self, begin: int, end: int) -> str:
        return f"{attribute_path(self.kind, self.name)}.rows/{begin}-{end}.gd"

    def _piece_files(self) -> list[str]:
        return [self._piece_file(begin, end) for begin, end in self._pieces]

    def _remove(self, new: KeptFolder, files: Iterable[str]) -> None:
        for file in files:
            for path in (new.file(file) + IDENTITY, new.file(file)):
                with suppress(FileNotFoundError):
                    os.remove(path)


def _digest(data: Any) -> str:
    import hashlib  # slow to load

    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _identity_of(whole: str, begin: int, end: int) -> str:
    return f"{whole} rows {begin} to {end}"


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
            is_one = not isinstance(record, PartsRecord)
            if is_one and not read_range(place / record.file, 0, 8).startswith(b"GRAPHZ"):
                continue  # a file of GraphZero 0.2
            rows = DividedRows(kind, name, node.num_nodes, record, place, shared)
            if len(rows.stored.shape) > 1:
                found[kind, name] = rows
    if not found:
        raise value_error(
            "hosts",
            "expected an attribute of nodes with several items in a row, to be divided, found none",
            where=place,
        )
    others = {os.path.normpath(record.file) for record in without(manifest, found).files()}
    for rows in found.values():
        for file in rows.kept():
            if file in others:
                raise FormatError(f"{place}: expected no file {file}, where rows of {rows.name} come, found one")
    return found


def objects_read(divided: Mapping[Any, DividedRows]) -> dict[str, Any]:
    """Return size and time of the files in storage that rows were read from, as they were then."""
    return {file: facts for rows in divided.values() for file, facts in rows.stored.objects().items()}


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
        nodes[kind].attributes[name] = rows.bring(new, ids, workers, done)
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

"""Data sets in object storage: brought there, and brought to the disk of a machine that trains."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from graphzero._base.argument_errors import Setting, check_choice, error_of, value_error
from graphzero._base.integers import integer, integer_from
from graphzero._base.memory_sizes import byte_count, byte_text
from graphzero._base.names import names_of
from graphzero._base.visible import visible
from graphzero._core import FormatError
from graphzero._dataset.feature_parts import part_file_size, part_ranges, write_part
from graphzero._dataset.joined_parts import JOINED, join, joined_before, room_to_join
from graphzero._dataset.share_files import (
    IDENTITY,
    bring_shares,
    divided_attributes,
    objects_read,
    read_host_share,
    without,
)
from graphzero._files.file_header import HEADER_SIZE, fingerprint_of, is_done
from graphzero._files.folder import KeptFolder, check_free_space, hidden_folder, spill_folder
from graphzero._files.manifest import (
    LARGEST_MANIFEST,
    MANIFEST,
    EdgeRecord,
    FileRecord,
    Manifest,
    NodeRecord,
    OtherRecords,
    Part,
    PartsRecord,
    manifest_text,
    parsed_manifest,
    read_manifest,
    write_manifest,
)
from graphzero._files.part_header import MAGIC
from graphzero._files.pieces import PieceFile
from graphzero._files.progress import Progress, watching
from graphzero._files.storage import (
    StoredPath,
    check_object_size,
    facts_of,
    found_at,
    is_there,
    located,
    naming,
    open_ranges,
    path_here,
    read_range,
    remove_stored,
    target_here,
    write_stored,
)
from graphzero._files.stored_manifest import stored_manifest
from graphzero._files.stored_objects import checked_objects, objects_of
from graphzero._look.reports import ShownReport
from graphzero.dataset import open_dataset
from graphzero.features import FeatureStore
from graphzero.verification import open_file
from graphzero.verification import verify as verify_files

# Bytes that a thread holds: a request for them is worth its way.
_BLOCK = 8 << 20
_THREADS = 8
# Of what is on its way: the file itself, and what PieceFile keeps.
_ENDINGS = ("", ".part", ".pieces", IDENTITY)


@dataclass(frozen=True)
class TransferReport(ShownReport):
    """What ``push`` or ``stage`` did. Sizes are in bytes.

    Attributes:
        source: Where the data set was, without credentials.
        target: Where it is now, without credentials.
        num_files: The files of the data set in storage, the manifest not counted; a part is a file.
        num_skipped: Those of them that were there already.
        size: The size of all of them.
        transferred: Bytes that were transferred.
        seconds: How long it took.
    """

    source: str
    target: str
    num_files: int
    num_skipped: int
    size: int
    transferred: int
    seconds: float

    def __str__(self) -> str:
        skipped = f", {self.num_skipped:,} were there already" if self.num_skipped else ""
        rate = f", {byte_text(self.transferred / max(self.seconds, 1e-9))}/s" if self.transferred else ""
        lines = [
            f"{self.source} → {self.target}",
            f"files        {self.num_files:,} of {byte_text(self.size)}{skipped}",
            f"transferred  {byte_text(self.transferred)} in {self.seconds:.1f} s{rate}",
        ]
        return "\n".join(map(visible, lines))


def push(
    folder: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    parts: int | str | None = "2GB",
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress = False,
) -> TransferReport:
    """Bring a data set folder to object storage: its files first, then the manifest that makes them a data set.

    A file that is there with the same size and fingerprint is not sent again, so that a push that was interrupted goes
    on; of a file in parts, with those that are missing. Needs pyarrow.

    Args:
        folder: A data set folder.
        target: A URL, such as ``s3://bucket/name``, or the path of a folder, perhaps of another disk.
        parts: Store attributes that are larger in parts of about so many bytes, which ``stage`` puts together again;
            each waits in a file beside ``folder``, or in ``GRAPHZERO_TMPDIR``, until it is sent. ``None``: never.
            Rows that are stored hottest first are not cut.
        overwrite: Replace another data set at the target. Its manifest is removed first, and files that the new one
            does not have stay.
        threads: How many files are sent at the same time; each takes up to 24 MB of memory. Default: 8.
        progress: ``True`` shows a bar, a function is called with bytes done and bytes in all.

    Returns:
        A report.

    Raises:
        FileExistsError: There is another data set.
        FormatError: The folder is no data set, or changes meanwhile.
        OSError: A file cannot be read, or storage refuses.

    Examples:
        >>> push(tiny_dataset, "copies/tiny", overwrite=True).num_files
        5
    """
    begin = time.perf_counter()
    workers = _threads(threads)
    part_size = None if parts is None else integer_from(byte_count(parts, "parts"), 1, "parts")
    name = path_here(folder, "folder")
    text = _manifest_text(name)
    manifest, _ = read_manifest(name)
    with open_dataset(name):  # proves that its files are those of the manifest
        pass
    place = located(target, "target")
    if os.path.abspath(name) == place.key:
        raise value_error("target", f"expected another place than the folder itself, found {place}")
    goal = place / MANIFEST
    old = read_range(goal, 0, LARGEST_MANIFEST) if is_there(goal) else None
    sending = _Sending(name, manifest, place, part_size)
    if old is not None and not overwrite and not sending.is_of(old):
        raise error_of(
            lambda what: FileExistsError(errno.EEXIST, what, str(place)),
            "has another data set; give ", Setting("overwrite", True), " to replace it",
        )  # fmt: skip
    left = sending.missing()
    for file in left:
        check_object_size(place / file, sending.sizes[file])
    if left and old is not None:
        remove_stored(goal)  # a manifest whose files are replaced one by one names a mixture
    meter = _Meter()
    todo = sum(sending.sizes[file] for file in left)
    with watching(progress, f"{name} → {place}", todo, "bytes", meter.done), sending.room(left) as temporary:
        _run(workers, meter, (_call(sending.send, file, temporary, meter) for file in left))
        if _manifest_text(name) != text:
            raise FormatError(f"{name}: expected the same data set until it is sent, found another; push again")
        new = sending.manifest_text(text)
        if left or old != new:
            write_stored(goal, iter([new]))
    return TransferReport(
        source=name,
        target=str(place),
        num_files=len(sending.sizes),
        num_skipped=len(sending.sizes) - len(left),
        size=sum(sending.sizes.values()),
        transferred=todo,
        seconds=time.perf_counter() - begin,
    )


def stage(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    features: Sequence[str] | str | None = None,
    host: int | None = None,
    hosts: int | None = None,
    hot: int | str = 0,
    whole: Sequence[str] | str = (),
    verify: Literal["header", "full"] = "header",
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress = False,
) -> TransferReport:
    """Bring a data set from object storage to a folder of this machine, which appears whole or not at all.

    Files wait in a hidden folder beside the target. If a run fails or is killed, the next one goes on from there, in
    the middle of a large file too. Needs pyarrow.

    With ``host`` and ``hosts``, the folder is that of one of several hosts, which divide attributes of nodes: it has a
    range of their rows, and loaders bring the others with batches, from host to host. Edges, splits, labels, vectors
    and attributes of edges come whole.

    Args:
        source: A URL, such as ``s3://bucket/name``, or the path of a data set folder, perhaps of a network's disk.
        folder: The data set folder to write.
        features: The attributes to bring, by name, or as ``"type.name"`` for one type; the data set in ``folder`` has
            no others. Labels, and attributes that weights and times were made of, always come. Default: all.
        host: Which of ``hosts`` this folder is for, from 0.
        hosts: How many hosts divide the rows, at most 10,000.
        hot: Bytes of rows that all hosts have, a number or a size such as ``"2GB"``: those of the nodes that sampling
            meets most often. Give all hosts the same.
        whole: Attributes that hosts do not divide, by name or as ``"type.name"``.
        verify: ``"header"`` compares sizes and fingerprints with the manifest's, ``"full"`` also proves all checksums,
            which reads the files once more.
        overwrite: Replace a folder.
        threads: How many requests run at the same time; each takes up to 20 MB of memory. Default: 8.
        progress: ``True`` shows a bar, a function is called with bytes done and bytes in all.

    Returns:
        A report.

    Raises:
        FormatError: There is no data set, a file is not that of the manifest, or it changes meanwhile.
        FileExistsError: The folder exists and is not empty.
        OSError: A file cannot be written, or storage refuses.

    Examples:
        >>> _ = push(tiny_dataset, "copies/tiny", overwrite=True)
        >>> stage("copies/tiny", "staged", overwrite=True).num_files
        5
    """
    begin = time.perf_counter()
    check_choice(verify, "verify", "header", "full")
    workers = _threads(threads)
    place, target = located(source, "source"), target_here(folder, "folder")
    shared = read_host_share(host, hosts, hot, whole)
    text, manifest, _ = stored_manifest(place)
    wanted = manifest if features is None else _with_features(manifest, features, place)
    divided = {} if shared is None else divided_attributes(wanted, shared, place)
    rest = without(wanted, divided)
    new = KeptFolder(target, overwrite=overwrite)
    try:
        joined = {
            record.file: found for record in rest.parts() if (found := joined_before(new.file(record.file), record))
        }
        records = {record.file: record for record in _to_bring(rest, joined)}
        there = {
            file: os.path.getsize(path) for file, record in records.items() if is_done(path := new.file(file), record)
        }
        objects = checked_objects({file: record for file, record in records.items() if file not in there}, place)
        size = sum(facts.size for facts in objects.values())
        of_shares = sum(rows.nbytes for rows in divided.values())
        share_files = [file for rows in divided.values() for file in rows.kept()]
        _drop_others(new.temporary, [*records, *share_files, *joined, *(file + JOINED for file in joined)])
        room = size - _held(new.temporary, objects) + room_to_join(rest, joined, objects)
        check_free_space(target, room + of_shares)
        meter = _Meter()
        with watching(progress, f"{place} → {target}", size + of_shares, "bytes", meter.done):
            _bring(new, place, objects, records, workers, meter)
            _check_unchanged(new, place, objects, text)
            for record in rest.parts():
                if record.file not in joined:
                    joined[record.file] = join(new, record, place)
            made = _with_files(wanted, joined)
            if shared is not None:
                made = bring_shares(new, made, divided, shared, workers, meter.add)
                try:
                    _check_unchanged(new, place, objects_read(divided), text)
                except FormatError:
                    for rows in divided.values():
                        rows.discard(new)
                    raise
        write_manifest(new.file(MANIFEST), made)
        _drop_others(new.temporary, [MANIFEST, *(record.file for record in made.files())])
        for rows in divided.values():
            rows.forget(new)
        if verify == "full":
            _prove(new, made, progress)
        num_files = sum(1 for _ in rest.stored_files()) + sum(1 for _ in made.files()) - sum(1 for _ in rest.files())
        of_shares = sum(os.path.getsize(new.file(file)) for rows in divided.values() for file in rows.written(new))
        new.commit()
    finally:
        new.leave()
    return TransferReport(
        source=str(place),
        target=target,
        num_files=num_files,
        num_skipped=sum(1 for _ in rest.stored_files()) - len(objects),
        size=size + of_shares + sum(there.values()),
        transferred=meter.transferred,
        seconds=time.perf_counter() - begin,
    )


def _manifest_text(folder: str) -> bytes:
    read_manifest(folder)  # says what is wrong
    with open(os.path.join(folder, MANIFEST), "rb") as file:
        return file.read()


def _threads(given: int | None) -> int:
    if given is None:
        return _THREADS
    if integer(given, "threads") < 1:
        raise value_error("threads", f"expected at least 1, found {given}")
    return int(given)


class _Meter:
    """Counts the bytes that threads transfer, and ends these threads: they come by after each block."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = False
        self.transferred = 0
        self.there = 0  # by an earlier run

    def add(self, count: int) -> None:
        """Count bytes that were transferred."""
        with self._lock:
            self.transferred += count
        if self._stopped:
            raise CancelledError

    def stop(self) -> None:
        """Let all threads end soon."""
        self._stopped = True

    def done(self) -> int:
        """Return how far it has come."""
        return self.there + self.transferred


def _call(function: Callable[..., None], *arguments: Any) -> Callable[[], None]:
    return lambda: function(*arguments)


def _run(workers: int, meter: _Meter, tasks: Iterable[Callable[[], None]]) -> None:
    """Run tasks in threads; few of them wait, however many there are. The first failure ends all."""
    left = iter(tasks)
    running: set[Future[None]] = set()
    with ThreadPoolExecutor(workers, thread_name_prefix="graphzero transfer") as pool:
        try:
            while True:
                running |= {pool.submit(task) for task in islice(left, 2 * workers - len(running))}
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
        except BaseException:
            meter.stop()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


class _Sending:
    """The files of a folder on their way to storage, some of them in parts."""

    def __init__(self, folder: str, manifest: Manifest, place: StoredPath, part_size: int | None) -> None:
        self._folder = folder
        self._manifest = manifest
        self._place = place
        self._records: dict[str, FileRecord] = {}
        self._cut: dict[str, PartsRecord] = {}  # by the file that is cut
        self._parts: dict[str, tuple[Part, str]] = {}  # with the file that it is cut from, by its own
        self.sizes: dict[str, int] = {}
        attributes = {record.file for owner in _owners(manifest).values() for record in owner.attributes.values()}
        for record in manifest.files():
            path = os.path.join(folder, record.file)
            if record.file in attributes and part_size is not None and self._cuts(record, path, part_size):
                continue
            self._records[record.file] = record
            self.sizes[record.file] = os.path.getsize(path)

    def _cuts(self, record: FileRecord, path: str, part_size: int) -> bool:
        with FeatureStore(path) as store:
            ranges = part_ranges(store, part_size)
            if not ranges:
                return False
            # Named by what is cut, so that parts of another file are never taken for ours.
            names = [f"{record.file}.parts/{record.fingerprint:016x}-{begin}-{end}.gd" for begin, end in ranges]
            parts = [Part(name, begin, end, 0) for name, (begin, end) in zip(names, ranges, strict=True)]
            self._cut[record.file] = PartsRecord(record.file, record.fingerprint, parts)
            for part in parts:
                self._parts[part.file] = part, path
                self.sizes[part.file] = part_file_size(store, part.end - part.begin)
        return True

    def is_of(self, text: bytes) -> bool:
        """Whether the manifest of the target is of this data set, perhaps in other parts."""
        try:
            old, _ = parsed_manifest(text, self._place / MANIFEST)
        except FormatError:
            return False
        files = {record.file: FileRecord(record.file, record.fingerprint) for record in old.files()}
        return manifest_text(_with_files(old, files)) == manifest_text(self._manifest)

    def missing(self) -> list[str]:
        """Return the files that are not at the target with the same size and fingerprint."""
        left = []
        for file, facts in zip(self.sizes, found_at([self._place / file for file in self.sizes]), strict=True):
            same = facts.is_file and facts.size == self.sizes[file]
            found = fingerprint_of(read_range(self._place / file, 0, HEADER_SIZE)) if same else None
            if same and file in self._parts and found is not None:
                self._parts[file][0].fingerprint = found
            elif not same or file in self._parts or found != self._records[file].fingerprint:
                left.append(file)
        return left

    def room(self, files: Iterable[str]) -> AbstractContextManager[str]:
        """Make a folder for parts that are on their way, if there are any."""
        if not any(file in self._parts for file in files):
            return nullcontext("")
        beside = os.path.abspath(self._folder)
        return hidden_folder(os.path.join(spill_folder(beside), os.path.basename(beside)))

    def send(self, file: str, temporary: str, meter: _Meter) -> None:
        """Send a file, or make a part and send that; for any thread."""
        goal = self._place / file
        if file in self._parts:
            part, source = self._parts[file]
            path = os.path.join(temporary, f"{threading.get_ident()}.gd")
            check_free_space(path, self.sizes[file])
            with FeatureStore(source) as store:
                part.fingerprint = write_part(store, part.begin, part.end, path)
            try:
                write_stored(goal, _blocks(path, FileRecord(file, part.fingerprint), meter))
            finally:
                os.remove(path)
        else:
            write_stored(goal, _blocks(os.path.join(self._folder, file), self._records[file], meter))
        found = facts_of([goal])[0].size
        if found != self.sizes[file]:
            raise OSError(errno.EIO, f"expected {self.sizes[file]} bytes, found {found}; push again", str(goal))

    def manifest_text(self, text: bytes) -> bytes:
        """Return the manifest of the target: that of the folder, which is ``text``, unless files are in parts."""
        return manifest_text(_with_files(self._manifest, self._cut)) if self._cut else text


def _owners(manifest: Manifest) -> dict[str, NodeRecord | EdgeRecord]:
    edges = {"__".join(triple): edge for triple, edge in manifest.edges.items()}
    return {**manifest.nodes, **edges}


def _with_files(manifest: Manifest, files: Mapping[str, FileRecord]) -> Manifest:
    """Return the manifest with other records for some files."""

    def one(record: FileRecord) -> FileRecord:
        return files.get(record.file, record)

    def all_of(records: dict[str, FileRecord]) -> dict[str, FileRecord]:
        return {name: one(record) for name, record in records.items()}

    def others(records: OtherRecords) -> OtherRecords:
        return {name: one(entry) if isinstance(entry, FileRecord) else entry for name, entry in records.items()}

    return replace(
        manifest,
        nodes={
            kind: replace(node, attributes=all_of(node.attributes), other=others(node.other))
            for kind, node in manifest.nodes.items()
        },
        edges={
            triple: replace(edge, graph=one(edge.graph), attributes=all_of(edge.attributes), other=others(edge.other))
            for triple, edge in manifest.edges.items()
        },
        splits=[replace(split, ids=one(split.ids)) for split in manifest.splits],
        other=others(manifest.other),
    )


def _to_bring(manifest: Manifest, joined: Mapping[str, FileRecord]) -> Iterator[FileRecord]:
    """Iterate over the files in storage, without the parts of those that are put together already."""
    for record in manifest.files():
        if not isinstance(record, PartsRecord):
            yield record
        elif record.file not in joined:
            yield from record.part_records()


def _blocks(path: str, record: FileRecord, meter: _Meter) -> Iterator[bytes]:
    with open(path, "rb") as file:
        block = file.read(_BLOCK)
        if fingerprint_of(block) not in (None, record.fingerprint):
            raise FormatError(f"{path}: expected the same file until it is sent, found another; push again")
        while block:
            yield block
            meter.add(len(block))
            block = file.read(_BLOCK)


def _check_unchanged(new: KeptFolder, place: StoredPath, objects: Mapping[str, Any], text: bytes) -> None:
    """Refuse a data set that was replaced since ``objects`` were looked at, and drop what came of it."""
    changed = [file for file, now in objects_of(objects, place).items() if _differ(objects[file], now)]
    if changed or stored_manifest(place)[0] != text:
        for file in changed:
            if os.path.exists(new.file(file)):
                os.remove(new.file(file))
        raise FormatError(
            f"{place}: expected the same data set until it is here, found that {', '.join(changed) or MANIFEST} was "
            "replaced; stage again"
        )


def _differ(before: Any, now: Any) -> bool:
    return bool((before.size, before.mtime_ns) != (now.size, now.mtime_ns))


def _drop_others(folder: str, files: Iterable[str]) -> None:
    """Remove what an earlier run has left that is of no use to this one, and folders that are empty then."""
    kept = {os.path.join(folder, os.path.normpath(file) + ending) for file in files for ending in _ENDINGS}
    for base, folders, names in os.walk(folder, topdown=False):
        for name in names:
            path = os.path.join(base, name)
            if path not in kept:
                os.remove(path)
        for name in folders:
            with suppress(OSError):
                os.rmdir(os.path.join(base, name))


def _held(folder: str, objects: Mapping[str, Any]) -> int:
    """Return how much of the disk parts of files take already."""
    parts = (os.path.join(folder, f"{file}.part") for file in objects)
    return sum(os.stat(path).st_blocks * 512 for path in parts if os.path.exists(path))


def _bring(
    new: KeptFolder,
    place: StoredPath,
    objects: Mapping[str, Any],
    records: Mapping[str, FileRecord],
    workers: int,
    meter: _Meter,
) -> None:
    """Bring files in pieces, and look at each when it is whole."""

    def bring(file: str, part: PieceFile, begin: int, end: int, whole: _Countdown) -> None:
        path = place / file
        with open_ranges(path) as source:
            for at in range(begin, end, _BLOCK):
                size = min(_BLOCK, end - at)
                with naming(path, Exception):
                    source.seek(at)
                    data = source.read(size)
                if len(data) != size:
                    raise OSError(errno.EIO, f"expected {size} bytes from {at} on, found {len(data)}", str(path))
                part.write(at, data)
                meter.add(size)
        part.finish(begin)
        if whole.last():
            part.complete()
            _check_header(new.file(file), records[file], path)

    def tasks() -> Iterator[Callable[[], None]]:
        for file, facts in objects.items():
            identity = f"{records[file].fingerprint:#018x} {facts.size} {facts.mtime_ns}"
            part = PieceFile(new.file(file), facts.size, identity)
            opened.append(part)
            missing = list(part.missing())
            meter.there += facts.size - sum(end - begin for begin, end in missing)
            whole = _Countdown(len(missing))
            if not missing:
                part.complete()
                _check_header(new.file(file), records[file], place / file)
            for begin, end in missing:
                yield _call(bring, file, part, begin, end, whole)

    opened: list[PieceFile] = []
    try:
        _run(workers, meter, tasks())
    finally:
        for part in opened:
            part.close()


class _Countdown:
    """Tells the thread that is the last of several."""

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._left = count

    def last(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left == 0


def _check_header(path: str, record: FileRecord, origin: StoredPath) -> None:
    try:
        with open(path, "rb") as file:
            is_part = file.read(len(MAGIC)) == MAGIC
        if is_part:  # which is read when it is put together with the others
            problem = "" if is_done(path, record) else "expected another file"
        else:
            with open_file(path) as store:
                problem = record.mismatch(store)
    except FormatError as error:
        problem = str(error).removeprefix(f"{path}: ")
    if problem:
        os.remove(path)
        raise FormatError(f"{origin}: {problem}; stage again, and push the data set again if that does not help")


def _prove(new: KeptFolder, manifest: Manifest, progress: Progress) -> None:
    records = {record.file for record in manifest.files()}
    checks = [check for check in verify_files(new.temporary, progress=progress) if check.state == "fails"]
    for check in checks:
        if check.file in records and os.path.exists(new.file(check.file)):
            os.remove(new.file(check.file))
    if checks:
        raise FormatError(
            f"{checks[0].file}: {checks[0].name}: {checks[0].problem}; stage again, and push the data set again if "
            "that does not help"
        )


def _with_features(manifest: Manifest, features: Sequence[str] | str, place: StoredPath) -> Manifest:
    """Return the manifest without the attributes that are not wanted."""
    names = names_of(features, "features")
    owners = _owners(manifest)
    known = {name for kind, owner in owners.items() for own in owner.attributes for name in (own, f"{kind}.{own}")}
    for name in names:
        if name not in known:
            there = ", ".join(dict.fromkeys(own for owner in owners.values() for own in owner.attributes))
            raise value_error("features", f"expected some of {there or 'no attributes'}, found {name!r}", where=place)

    def chosen(kind: str, attributes: dict[str, Any], needed: tuple[str | None, ...]) -> dict[str, Any]:
        return {
            own: value for own, value in attributes.items() if own in names or f"{kind}.{own}" in names or own in needed
        }

    return replace(
        manifest,
        nodes={
            kind: replace(
                node,
                attributes=chosen(kind, node.attributes, (node.label,)),
                categories=chosen(kind, node.categories, (node.label,)),
            )
            for kind, node in manifest.nodes.items()
        },
        edges={
            triple: replace(
                edge,
                attributes=chosen("__".join(triple), edge.attributes, (edge.weight, edge.time)),
                categories=chosen("__".join(triple), edge.categories, (edge.weight, edge.time)),
            )
            for triple, edge in manifest.edges.items()
        },
    )

"""Data sets in object storage: brought there, and brought to the disk of a machine that trains."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from graphzero._base.argument_errors import Setting, check_choice, error_of, flag, value_error
from graphzero._base.integers import integer_from
from graphzero._base.memory_sizes import byte_count, byte_text
from graphzero._base.names import names_of
from graphzero._base.visible import visible
from graphzero._core import FormatError
from graphzero._dataset.brought_files import (
    bring_files,
    bytes_of_pieces,
    check_names,
    drop_others,
    files_to_bring,
)
from graphzero._dataset.joined_parts import JOINED, join, joined_before, room_to_join
from graphzero._dataset.sent_files import SentFiles
from graphzero._dataset.share_files import (
    bring_shares,
    divided_attributes,
    objects_read,
    read_host_share,
    without,
)
from graphzero._files.file_header import is_done
from graphzero._files.folder import KeptFolder, check_free_space
from graphzero._files.manifest import LARGEST_MANIFEST, read_manifest, write_manifest
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.manifest_records import Manifest
from graphzero._files.progress import Progress, watching
from graphzero._files.storage import (
    StoredPath,
    check_object_size,
    is_there,
    located,
    path_here,
    read_range,
    remove_stored,
    target_here,
    write_stored,
)
from graphzero._files.stored_manifest import stored_manifest
from graphzero._files.stored_objects import checked_objects, objects_of
from graphzero._files.transfers import Meter, run_tasks, thread_count
from graphzero._look.reports import ShownReport
from graphzero.dataset import open_dataset
from graphzero.verification import verify as verify_files


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
        threads: How many files are sent at the same time, at most 4096; each takes up to 24 MB of memory. Default: 8.
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
    replaces, workers = flag(overwrite, "overwrite"), thread_count(threads)
    part_size = None if parts is None else integer_from(byte_count(parts, "parts"), 1, "parts")
    name = path_here(folder, "folder")
    text = _manifest_text(name)
    manifest, _ = read_manifest(name)
    if manifest.has_shares:
        raise value_error(
            "folder",
            "expected a whole data set, found the share of one of several hosts: push the data set that it was staged "
            "from",
            where=name,
        )
    with open_dataset(name):  # proves that its files are those of the manifest
        pass
    place = located(target, "target")
    if _is_here(place) and _is_within(place.key, name):
        raise value_error("target", f"expected a place outside the folder itself, found {place}")
    goal = place / MANIFEST
    old = read_range(goal, 0, LARGEST_MANIFEST) if is_there(goal) else None
    sending = SentFiles(name, manifest, place, part_size)
    if old is not None and not replaces and not sending.is_of(old):
        raise error_of(
            lambda what: FileExistsError(errno.EEXIST, what, str(place)),
            "has another data set; give ", Setting("overwrite", True), " to replace it",
        )  # fmt: skip
    left = sending.missing()
    for file in left:
        check_object_size(place / file, sending.sizes[file])
    if left and old is not None:
        remove_stored(goal)  # a manifest whose files are replaced one by one names a mixture
    meter = Meter()
    todo = sum(sending.sizes[file] for file in left)
    with watching(progress, f"{name} → {place}", todo, "bytes", meter.done), sending.room(left) as temporary:
        run_tasks(workers, meter, (partial(sending.send, file, temporary, meter) for file in left))
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
        verify: ``"header"`` compares sizes and fingerprints with the manifest's, ``"full"`` also proves all checksums
            of the files that are here, which reads them once more. Of a file that is stored whole and that hosts
            divide, nothing but header, size and fingerprint can be proven, as its checksum covers all its rows.
        overwrite: Replace a data set that is there.
        threads: How many requests run at the same time, at most 4096; each takes up to 20 MB of memory. Default: 8.
        progress: ``True`` shows a bar, a function is called with bytes done and bytes in all.

    Returns:
        A report.

    Raises:
        FormatError: There is no data set, a file is not that of the manifest, or it changes meanwhile.
        FileExistsError: The folder exists and is not empty; with ``overwrite``, it is no data set.
        OSError: A file cannot be written, or storage refuses.

    Examples:
        >>> _ = push(tiny_dataset, "copies/tiny", overwrite=True)
        >>> stage("copies/tiny", "staged", overwrite=True).num_files
        5
    """
    begin = time.perf_counter()
    check_choice(verify, "verify", "header", "full")
    workers = thread_count(threads)
    place, target = located(source, "source"), target_here(folder, "folder")
    shared = read_host_share(host, hosts, hot, whole)
    if _is_here(place) and (_is_within(place.key, target) or _is_within(target, place.key)):
        raise value_error("folder", f"expected a place outside the data set that is brought, {place}", where=target)
    text, manifest, _ = stored_manifest(place)
    wanted = manifest if features is None else _with_features(manifest, features, place)
    divided = {} if shared is None else divided_attributes(wanted, shared, place)
    rest = without(wanted, divided)
    share_files = [file for rows in divided.values() for file in rows.kept()]
    check_names(rest, place, share_files)
    new = KeptFolder(target, overwrite=overwrite)
    try:
        joined = {
            record.file: found for record in rest.parts() if (found := joined_before(new.file(record.file), record))
        }
        records = {record.file: record for record in files_to_bring(rest, joined)}
        there = {
            file: os.path.getsize(path) for file, record in records.items() if is_done(path := new.file(file), record)
        }
        objects = checked_objects({file: record for file, record in records.items() if file not in there}, place)
        size = sum(facts.size for facts in objects.values())
        of_shares = sum(rows.nbytes for rows in divided.values())
        drop_others(new.temporary, [*records, *share_files, *joined, *(file + JOINED for file in joined)])
        room = size - bytes_of_pieces(new.temporary, objects) + room_to_join(rest, joined, objects)
        check_free_space(target, room + of_shares)
        meter = Meter()
        with watching(progress, f"{place} → {target}", size + of_shares, "bytes", meter.done):
            bring_files(new, place, objects, records, workers, meter)
            _check_unchanged(new, place, objects, text)
            for record in rest.parts():
                if record.file not in joined:
                    joined[record.file] = join(new, record, place)
            made = wanted.with_files(joined)
            if shared is not None:
                made = bring_shares(new, made, divided, shared, workers, meter.add)
                try:
                    _check_unchanged(new, place, objects_read(divided), text)
                except FormatError:
                    for rows in divided.values():
                        rows.discard(new)
                    raise
        write_manifest(new.file(MANIFEST), made)
        drop_others(new.temporary, [MANIFEST, *(record.file for record in made.files())])
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


def _is_here(place: StoredPath) -> bool:
    return bool(place.filesystem.type_name == "local")


def _is_within(path: str, folder: str) -> bool:
    """Whether a path is that of a folder, or below it, whatever links lead there."""
    inner, outer = (os.path.normcase(os.path.realpath(each)) for each in (path, folder))
    return inner == outer or inner.startswith(os.path.join(outer, ""))


def _manifest_text(folder: str) -> bytes:
    read_manifest(folder)  # says what is wrong
    with open(os.path.join(folder, MANIFEST), "rb") as file:
        return file.read()


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
    owners = manifest.owners()
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

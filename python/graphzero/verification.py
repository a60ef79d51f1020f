"""Proving that a file, or every file of a data set, is intact."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from graphzero import _core
from graphzero._base.memory_sizes import byte_text
from graphzero._core import FormatError
from graphzero._dataset.feature_share import FeatureShare
from graphzero._dataset.file_kinds import is_features, is_ids, open_file
from graphzero._files.manifest import read_manifest
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.manifest_records import FileRecord, Manifest, SplitRecord
from graphzero._files.mounted import path_bytes
from graphzero._files.progress import Progress, watching
from graphzero._files.storage import path_here
from graphzero._look.labels import has_classes
from graphzero.dataset import Dataset, open_dataset, type_text
from graphzero.features import FeatureStore

# Ids compared at a time: 8 MB.
_BLOCK = 1 << 20


# Listed only for files without a checksum: those of GraphZero 0.2.
_UNKNOWN = "content is what was written"


class Check(NamedTuple):
    """One property of a file, and whether it holds.

    Attributes:
        file: The file.
        name: The property.
        problem: Where it first fails, or why it cannot be proven; empty if it holds.
    """

    file: str
    name: str
    problem: str

    @property
    def holds(self) -> bool:
        """Whether the property was proven."""
        return not self.problem

    @property
    def state(self) -> Literal["holds", "fails", "unknown"]:
        """``"unknown"`` for the content of a GraphZero 0.2 file, which has no checksum; else what ``holds`` says."""
        if self.name == _UNKNOWN:
            return "unknown"
        return "holds" if self.holds else "fails"


def verify(path: str | os.PathLike[str], *, progress: Progress = False) -> list[Check]:
    """Return a list of checks of all that a file or data set promises: header, checksums, every id and offset.

    Reads everything, in O(1) memory. Files of GraphZero 0.2 have no checksum, so only their structure can be proven; a
    check whose ``state`` is ``"unknown"`` says so.

    Args:
        path: A file or a data set folder.
        progress: ``True`` shows a bar, a function is called, as in [`convert_edges`][graphzero.convert_edges].

    Raises:
        FormatError: There is no readable header or manifest. All other damage is in the checks.
        OSError: The file cannot be opened.

    Examples:
        >>> all(check.holds for check in verify(tiny_gl))
        True
    """
    name = path_here(path)
    if os.path.isdir(name):
        return _verify_dataset(name, progress)
    read = _core.VerifyProgress()
    with watching(progress, f"{name}, {byte_text(_size(name))}", _bytes_to_read(name), "bytes", read.bytes):
        return _verify_file(name, name, read)


def _verify_file(path: str, shown: str, read: _core.VerifyProgress) -> list[Check]:
    verify_core = _core.verify_features if is_features(path) else _core.verify_graph
    if is_ids(path):
        verify_core = _core.verify_ids
    checks = [Check(shown, check.name, check.problem) for check in verify_core(path_bytes(path), read)]
    with open_file(path) as store:
        if store.is_graphzero02:
            reason = "cannot be checked: a file of GraphZero 0.2 has no checksum; write it anew to have one"
            checks.append(Check(shown, _UNKNOWN, reason))
    return checks


def _verify_dataset(folder: str, progress: Progress) -> list[Check]:
    """Check every file the manifest names, and what they say about each other."""
    manifest, _ = read_manifest(folder)
    records = list(manifest.files())
    total = sum(_bytes_to_read(os.path.join(folder, record.file)) for record in records)
    checks: list[Check] = []
    read, shown = _core.VerifyProgress(), folder
    with watching(progress, lambda: shown, total, "bytes", read.bytes):
        for record in records:
            shown = record.file
            checks += _verify_record(folder, record, read)
    if all(check.state != "fails" for check in checks):
        checks = _joint_checks(folder, manifest) + checks
    return checks


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.isfile(path) else 0


def _bytes_to_read(path: str) -> int:
    """Return about how much there is to read: lists are read once more behind their checksums."""
    return _size(path) * (1 if is_features(path) or is_ids(path) else 2)


def _verify_record(folder: str, record: FileRecord, read: _core.VerifyProgress) -> list[Check]:
    path = os.path.join(folder, record.file)
    try:
        checks = [Check(record.file, "header", ""), *_verify_file(path, record.file, read)]
    except FileNotFoundError:
        return [Check(record.file, "header", f"expected a file, found none at {path}")]
    except FormatError as error:
        return [Check(record.file, "header", str(error).removeprefix(f"{path}: "))]
    with open_file(path) as store:
        if not store.is_graphzero02:
            checks.append(Check(record.file, "fingerprint is the manifest's", record.mismatch(store)))
    return checks


def _joint_checks(folder: str, manifest: Manifest) -> list[Check]:
    """Check what needs several files, each of which is intact by now."""
    name = "counts agree with the files"
    try:
        ds = open_dataset(folder)
    except FormatError as error:
        return [Check(MANIFEST, name, str(error))]
    with ds:
        hot = [_hot_check(of, name, kind[name]) for of, kind in ds.nodes.items() for name in kind.attributes]
        splits = [_split_check(ds, split) for split in manifest.splits]
        return [Check(MANIFEST, name, ""), *filter(None, hot), *splits, *_class_checks(ds)]


def _class_checks(ds: Dataset) -> Iterator[Check]:
    """Check labels that are classes: a model has as many outputs as the manifest says."""
    for kind, node in ds.nodes.items():
        if node.label is None or node.num_classes is None or not has_classes(node[node.label]):
            continue
        problem = ""
        for start in range(0, node.num_nodes, _BLOCK):
            labels = node[node.label].gather(np.arange(start, min(start + _BLOCK, node.num_nodes))).reshape(-1)
            wrong = np.flatnonzero(labels >= node.num_classes)
            if wrong.size:
                at = int(wrong[0])
                problem = f"[{start + at}]: expected a class below {node.num_classes}, found {int(labels[at])}"
                break
        yield Check(MANIFEST, f"label {node.label}: classes of {kind} are counted", problem)


def _hot_check(of: str, name: str, store: FeatureStore) -> Check | None:
    """Check the ids of rows that all hosts have; ``None`` if there are none."""
    if not isinstance(store, FeatureShare) or store.hot_ids is None:
        return None
    what = f"{name} of {of}: ids of rows that all hosts have rise"
    try:
        store.split(np.empty(0, dtype=np.int64))
    except FormatError as error:
        return Check(MANIFEST, what, str(error).removeprefix(f"{store.hot_ids.path}: "))
    return Check(MANIFEST, what, "")


def _split_check(ds: Dataset, split: SplitRecord) -> Check:
    limit = ds.nodes[split.of].num_nodes if isinstance(split.of, str) else ds.edges[split.of].graph.num_input_edges
    name = f"split {split.name}: ids of {type_text(split.of)} exist"
    ids = ds.split(split.name, of=split.of, writable=False)
    for start in range(0, len(ids), _BLOCK):
        block = ids[start : start + _BLOCK]
        wrong = np.flatnonzero((block < 0) | (block >= limit))
        if wrong.size:
            at = int(wrong[0])
            return Check(MANIFEST, name, f"[{start + at}]: expected an id below {limit}, found {block[at]}")
    return Check(MANIFEST, name, "")

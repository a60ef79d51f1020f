"""The files of a data set folder on their way to storage, some of them in parts."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext

from graphzero._core import FormatError
from graphzero._dataset.feature_parts import part_file_size, part_ranges, write_part
from graphzero._files.file_header import HEADER_SIZE, fingerprint_of
from graphzero._files.folder import check_free_space, hidden_folder, spill_folder
from graphzero._files.manifest import manifest_text, parsed_manifest
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.manifest_records import FileRecord, Manifest, Part, PartsRecord
from graphzero._files.storage import StoredPath, facts_of, found_at, read_range, write_stored
from graphzero._files.transfers import BLOCK, Meter
from graphzero.features import FeatureStore


class SentFiles:
    """The files of a folder on their way to storage, some of them in parts."""

    def __init__(self, folder: str, manifest: Manifest, place: StoredPath, part_size: int | None) -> None:
        self._folder = folder
        self._manifest = manifest
        self._place = place
        self._records: dict[str, FileRecord] = {}
        self._cut: dict[str, PartsRecord] = {}  # by the file that is cut
        self._parts: dict[str, tuple[Part, str]] = {}  # with the file that it is cut from, by its own
        self.sizes: dict[str, int] = {}
        attributes = {record.file for owner in manifest.owners().values() for record in owner.attributes.values()}
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
        return manifest_text(old.with_files(files)) == manifest_text(self._manifest)

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

    def send(self, file: str, temporary: str, meter: Meter) -> None:
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
        return manifest_text(self._manifest.with_files(self._cut)) if self._cut else text


def _blocks(path: str, record: FileRecord, meter: Meter) -> Iterator[bytes]:
    with open(path, "rb") as file:
        block = file.read(BLOCK)
        if fingerprint_of(block) not in (None, record.fingerprint):
            raise FormatError(f"{path}: expected the same file until it is sent, found another; push again")
        while block:
            yield block
            meter.add(len(block))
            block = file.read(BLOCK)

"""``graphzero verify``: prove a file or a data set intact. docs/guide/command-line.md lists the JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import graphzero as gz
from graphzero import Check, FormatError
from graphzero.cli.console import JsonOption, PathArgument, Progress, print_json, progress
from graphzero.manifest import MANIFEST, FileRecord, Manifest, SplitRecord, read_manifest
from graphzero.verify import is_features

# Ids compared at a time: 8 MB.
_BLOCK = 1 << 20


@dataclass(frozen=True)
class FileChecks:
    """What was checked of one file; ``path`` is relative to the data set it belongs to."""

    path: str
    checks: list[Check]

    @property
    def intact(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)


def verify(path: PathArgument, json: JsonOption = False) -> int:
    """Read everything and check it. Exit code 0: intact, 1: damaged, 2: could not tell."""
    name = os.fspath(path)
    with progress() as tell:
        if os.path.isdir(name):
            files = verify_dataset(name, tell)
        else:
            tell(name)
            files = [FileChecks(name, verify_file(name))]
    intact = all(file.intact for file in files)
    if json:
        print_json({"path": name, "intact": intact, "files": [_document(file) for file in files]})
    else:
        _print_table(files) if sys.stdout.isatty() else _print_lines(files)
        count = sum(len(file.checks) for file in files)
        failed = sum(not check.holds for file in files for check in file.checks)
        print(f"{name}: intact, {count} checks" if intact else f"{name}: damaged, {failed} of {count} checks failed")
    return 0 if intact else 1


def verify_file(path: str) -> list[Check]:
    """Check one file. A header that cannot be read is a check that fails, not an error."""
    try:
        checks = gz.verify(path)
    except FormatError as error:
        return [Check("header", _without_path(error, path))]
    return [Check("header", ""), *checks]


def verify_dataset(folder: str, tell: Progress) -> list[FileChecks]:
    """Check the manifest, every file it names, and what they say about each other."""
    path = os.path.join(folder, MANIFEST)
    try:
        manifest, _ = read_manifest(folder)
    except FormatError as error:
        return [FileChecks(MANIFEST, [Check("manifest", _without_path(error, path))])]
    records = list(_records(manifest))
    files = []
    for i, record in enumerate(records):
        tell(f"{record.file}, {i + 1} of {len(records)}")
        files.append(FileChecks(record.file, _verify_record(folder, record)))
    checks = [Check("manifest", "")]
    if all(file.intact for file in files):
        checks += _joint_checks(folder, manifest)
    return [FileChecks(MANIFEST, checks), *files]


def _records(manifest: Manifest) -> Iterator[FileRecord]:
    for node in manifest.nodes.values():
        yield from node.attributes.values()
    for edge in manifest.edges.values():
        yield edge.graph
        yield from edge.attributes.values()
    for split in manifest.splits:
        yield split.ids


def _verify_record(folder: str, record: FileRecord) -> list[Check]:
    path = os.path.join(folder, record.file)
    if not os.path.lexists(path):
        return [Check("header", f"expected a file, found none at {path}")]
    checks = verify_file(path)
    if checks[0].holds:
        with gz.FeatureStore(path) if is_features(path) else gz.Graph(path) as store:
            # That of a GraphZero 0.2 file holds its time of change, which any copy of the folder alters.
            if store.format != "GraphZero 0.2":
                checks.append(
                    Check("fingerprint is the manifest's", _difference(record.fingerprint, store.fingerprint))
                )
    return checks


def _difference(expected: int, found: int) -> str:
    return "" if expected == found else f"expected {expected:#018x}, found {found:#018x}: this is another file"


def _joint_checks(folder: str, manifest: Manifest) -> list[Check]:
    """Check what takes several files to see; each of them is intact by now."""
    name = "counts agree with the files"
    try:
        ds = gz.open(folder)
    except FormatError as error:
        return [Check(name, _without_path(error, folder))]
    with ds:
        return [Check(name, ""), *(_split_check(ds, split) for split in manifest.splits)]


def _split_check(ds: gz.Dataset, split: SplitRecord) -> Check:
    if isinstance(split.of, str):
        kind, limit = split.of, ds.nodes[split.of].num_nodes
    else:
        kind, limit = " → ".join(split.of), ds.edges[split.of].graph.num_input_edges
    name = f"split {split.name}: ids of {kind} exist"
    ids = ds.split(split.name, of=split.of)
    for start in range(0, len(ids), _BLOCK):
        block = ids[start : start + _BLOCK]
        wrong = np.flatnonzero((block < 0) | (block >= limit))
        if wrong.size:
            at = int(wrong[0])
            return Check(name, f"[{start + at}]: expected an id below {limit}, found {block[at]}")
    return Check(name, "")


def _without_path(error: FormatError, path: str) -> str:
    return str(error).removeprefix(f"{path}: ")


def _document(file: FileChecks) -> dict[str, object]:
    checks = [{"name": check.name, "holds": check.holds, "problem": check.problem or None} for check in file.checks]
    return {"path": file.path, "intact": file.intact, "checks": checks}


def _print_lines(files: list[FileChecks]) -> None:
    for file in files:
        if file.intact:
            print(f"✓ {file.path}: {len(file.checks)} checks")
        for check in file.checks:
            if not check.holds:
                print(f"✗ {file.path}: {check.name}: {check.problem}")


def _print_table(files: list[FileChecks]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for file in files:
        table = Table.grid(padding=(0, 1))
        for check in file.checks:
            mark = Text("✓", style="green") if check.holds else Text("✗", style="bold red")
            text = Text(check.name)
            if check.problem:
                text.append(f": {check.problem}", style="red")
            table.add_row(" ", mark, text)
        console.print(Text(file.path, style="bold"))
        console.print(table)

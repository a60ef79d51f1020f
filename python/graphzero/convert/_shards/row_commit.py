"""Parts of rows become one array: a file, or an attribute of a data set in storage, where it stays in parts."""

from __future__ import annotations

import errno
import os
import time as clock

from graphzero._base.memory_sizes import peak_memory
from graphzero._core import FormatError
from graphzero._dataset.feature_parts import join_parts
from graphzero._files.folder import check_free_space
from graphzero._files.manifest import LARGEST_MANIFEST, manifest_text, parsed_manifest
from graphzero._files.manifest_paths import MANIFEST, attribute_path
from graphzero._files.manifest_records import Manifest, NodeRecord, Part, PartsRecord
from graphzero._files.storage import (
    StoredPath,
    is_there,
    is_url,
    located,
    read_range,
    shown_url,
    target_here,
    write_stored,
)
from graphzero.convert._shards.plan import naming_steps
from graphzero.convert._shards.row_plan import RowPlan
from graphzero.convert.feature_report import FeatureReport
from graphzero.convert.row_sources.values import Tally
from graphzero.threads import using_threads

_ENDING = ".gd"


def check_row_target(plan: RowPlan, path: str | os.PathLike[str]) -> None:
    """Refuse a target that cannot be written."""
    if is_url(path):
        _data_set(*_attribute_at(path), plan.told["num_rows"])
    else:
        plan.refuse_step_file(path)
        plan.refuse_source(path)


def _attribute_at(url: str | os.PathLike[str]) -> tuple[StoredPath, str]:
    """Return the place of a data set, and the name of an attribute, from the URL of that attribute's file."""
    place, name = located(url).folder_and_name()
    if not name.endswith(_ENDING) or name == _ENDING:
        raise ValueError(
            f"{shown_url(os.fsdecode(url))}: expected the URL of an attribute of a data set, such as "
            "s3://bucket/name/x.gd, whose ending is .gd"
        )
    return place, name.removesuffix(_ENDING)


def _data_set(place: StoredPath, name: str, num_rows: int | None) -> tuple[Manifest, str]:
    """Return the data set that gets an attribute, a new one if none is there, and its type of nodes."""
    goal = place / MANIFEST
    if not is_there(goal):
        return Manifest(nodes={"node": NodeRecord(num_rows or 0, {})}), "node"
    found, _ = parsed_manifest(read_range(goal, 0, LARGEST_MANIFEST + 1), goal)
    if len(found.nodes) != 1:
        raise FileExistsError(
            errno.EEXIST,
            f"has a data set with {len(found.nodes)} types of nodes, expected one, which gets the attribute {name!r}; "
            "write to another place",
            str(place),
        )
    [(kind, nodes)] = found.nodes.items()
    if not isinstance(nodes.attributes.get(name, PartsRecord("", 0, [])), PartsRecord):
        raise FileExistsError(
            errno.EEXIST,
            f"has a data set whose attribute {name!r} is not in parts, and is not replaced; give another name",
            str(place),
        )
    if num_rows not in (None, nodes.num_nodes):
        raise FormatError(f"{place}: expected {nodes.num_nodes} rows, as its data set has nodes, found {num_rows}")
    return found, kind


def commit_parts(plan: RowPlan, path: str | os.PathLike[str], *, begin: float, threads: int | None) -> FeatureReport:
    """Put all parts together; the report counts the time since ``begin``."""
    check_row_target(plan, path)
    files = plan.files
    names = [plan.part(number) for number in range(plan.num_parts)]
    maker = "convert_rows" if plan.ranges is None else "place_rows"
    makers = [f"{maker}(folder, {number})" for number in range(len(names))]
    for name, step in zip(names, makers, strict=True):
        plan.expect(name, step)
    facts = [plan.facts(name) for name in names]
    parts, num_rows = [], 0
    for name, found in zip(names, facts, strict=True):
        rows, fingerprint = found.num_rows, files.header(name).fingerprint
        if fingerprint != found.fingerprint:
            raise FormatError(
                f"{files.path(name)}: expected the rows that its step wrote, found others; remove it, and run again"
            )
        parts.append(Part(name, num_rows, num_rows + rows, fingerprint))
        num_rows += rows
    absent = 0
    if plan.ranges is not None:
        num_rows = plan.told["num_rows"]
        absent = num_rows - sum(found.num_rows for found in facts)
        for part, (first, end) in zip(parts, plan.ranges, strict=True):
            part.begin, part.end = first, end
        facts += [plan.facts(plan.records(task)) for task in range(len(plan.pieces))]
    elif plan.told["num_rows"] not in (None, num_rows):
        raise FormatError(f"{plan.told['name']}: expected {plan.told['num_rows']} rows, found {num_rows}")
    with files.scratch() as scratch, using_threads(threads):
        size = sum(files.header(name).size for name in names)
        if is_url(path):
            shown = _commit_stored(plan, parts, *_attribute_at(path))
        else:
            shown = target_here(path)
            check_free_space(shown, size)
            paths = files.brought(names, scratch)
            with naming_steps(dict(zip(paths, makers, strict=True))):
                join_parts(paths, parts, shown, done=lambda _: None)
            size = os.path.getsize(shown)
    tally = Tally()
    for found in facts:
        tally.add(found.tally)
    return FeatureReport(
        source=plan.told["name"],
        path=shown,
        shape=(num_rows, *plan.told["row_shape"]),
        dtype=plan.told["stored"],
        bytes_in=plan.told["bytes_in"],
        bytes_out=size,
        absent_rows=absent,
        num_bad_lines=sum(found.num_bad for found in facts),
        first_bad_lines=(),
        minimum=tally.low,
        maximum=tally.high,
        loss=tally.loss if plan.told["measures"] else None,
        seconds=clock.perf_counter() - begin,
        peak_memory=peak_memory(),
    )


def _commit_stored(plan: RowPlan, parts: list[Part], place: StoredPath, name: str) -> str:
    """Write the attribute of a data set in storage, the manifest last; return where its file will be."""
    manifest, kind = _data_set(place, name, parts[-1].end)
    target = attribute_path(kind, name)
    for part in parts:
        part.file = plan.files.bring(part.file, place, f"{target}.parts")
    manifest.nodes[kind].attributes[name] = PartsRecord(target, 0, parts)
    write_stored(place / MANIFEST, iter([manifest_text(manifest)]))
    return str(place / f"{name}{_ENDING}")

"""Parts of indexes become one graph: a file, or a data set in storage whose graph stays in parts."""

from __future__ import annotations

import contextlib
import errno
import os
import time as clock
from dataclasses import dataclass
from typing import Any, TypeAlias

from graphzero import _core
from graphzero._base.argument_errors import value_error
from graphzero._base.memory_sizes import peak_memory
from graphzero._core import FormatError
from graphzero._files.folder import hidden_folder, link_or_copy, replace_together
from graphzero._files.manifest import LARGEST_MANIFEST, manifest_text, parsed_manifest
from graphzero._files.manifest_paths import MANIFEST, graph_path
from graphzero._files.manifest_records import EdgeRecord, FileRecord, Manifest, NodeRecord, Part, PartsRecord
from graphzero._files.mounted import path_bytes
from graphzero._files.part_header import PartHeader
from graphzero._files.storage import (
    StoredPath,
    is_there,
    is_url,
    located,
    read_range,
    size_of,
    target_here,
    write_stored,
)
from graphzero.convert._shards.edge_plan import DIRECTIONS, LABELS, EdgePlan
from graphzero.convert._shards.plan import naming_steps
from graphzero.convert.conversion_report import ConversionReport
from graphzero.convert.edge_labels import dictionary_paths
from graphzero.threads import using_threads

# Where dictionaries go, as users say it.
IdsPath: TypeAlias = "str | os.PathLike[str] | tuple[str | os.PathLike[str], str | os.PathLike[str]]"


def check_graph_target(conversion: EdgePlan, path: str | os.PathLike[str], ids_path: IdsPath | None) -> None:
    """Refuse a target that cannot be written."""
    if not is_url(path):
        conversion.refuse_step_file(path)
        conversion.refuse_source(path)
        if conversion.plan.has_labels:
            for ids in dictionary_paths(ids_path, target_here(path), conversion.is_bipartite):
                conversion.refuse_step_file(ids)
        return
    if ids_path is not None:
        raise value_error(
            "ids_path", "expected none, as a data set in storage has its dictionary of labels beside the graph"
        )
    if conversion.plan.has_labels and not conversion.told["counts_labels"]:
        raise value_error(
            "num_nodes",
            "expected none for labels of a data set in storage, where every node has one; plan it again",
        )
    _refuse_another(located(path))


def _refuse_another(place: StoredPath) -> None:
    """Refuse a place that has a data set, unless a conversion in shards wrote it, and nobody added to it."""
    goal = place / MANIFEST
    if not is_there(goal):
        return
    try:
        old, _ = parsed_manifest(read_range(goal, 0, LARGEST_MANIFEST + 1), goal)
        others = [file for file in old.files() if not file.file.endswith(LABELS)]
        ours = len(others) == len(old.edges) == 1 and isinstance(others[0], PartsRecord) and not old.metadata
    except FormatError:
        ours = False
    if not ours:
        raise FileExistsError(
            errno.EEXIST,
            f"has another data set, with more than a graph in parts; remove its {MANIFEST}, or write to another place",
            str(place),
        )


def commit_graph(
    conversion: EdgePlan,
    path: str | os.PathLike[str],
    ids_path: IdsPath | None,
    *,
    begin: float,
    threads: int | None,
) -> ConversionReport:
    """Put all parts together; the report counts the time since ``begin``."""
    plan, files = conversion.plan, conversion.files
    names = {
        index: [conversion.part(index, shard) for shard in range(plan.shards)] if index in plan.indexes else []
        for index in DIRECTIONS
    }
    check_graph_target(conversion, path, ids_path)
    with files.scratch() as scratch, using_threads(threads):
        totals = conversion.record_set(conversion.tables(scratch), conversion.options(None, scratch)).totals
        for index, parts in names.items():
            for shard, name in enumerate(parts):
                step = f"compile_shard(folder, {index!r}, {shard})"
                files.expect(name, step)
                with naming_steps({files.path(name): step}):
                    _check_graph(files.path(name), files.header(name), totals)
        if is_url(path):
            made = _commit_stored(conversion, names, located(path), scratch)
        else:
            made = _commit_here(conversion, names, target_here(path), ids_path, scratch)
    exchanged = [*map(conversion.records, range(plan.num_tasks)), *names["out"], *names["in"]]
    return ConversionReport(
        path=made.path,
        ids_path=made.ids[0] if made.ids else None,
        dst_ids_path=made.ids[1] if len(made.ids) == 2 else None,
        num_rows=totals.num_rows,
        num_edges=made.num_edges,
        num_src_nodes=totals.num_src_nodes,
        num_dst_nodes=totals.num_dst_nodes,
        smallest_id=totals.smallest_id,
        largest_id=totals.largest_id,
        num_self_loops=totals.num_self_loops,
        num_duplicates=made.num_duplicates,
        num_bad_lines=totals.num_bad_lines,
        first_bad_lines=(),
        unused_columns=tuple(conversion.told["unused_columns"]),
        size=made.size,
        spilled=totals.spilled_bytes + sum(size_of(files.path(name)) for name in exchanged),
        seconds=clock.perf_counter() - begin,
        peak_memory=peak_memory(),
        time_unit=conversion.told["time_unit"],
    )


def _check_graph(path: str, found: PartHeader, totals: Any) -> None:
    """Refuse a part of another graph, whose name somebody has changed."""
    nodes = (totals.num_src_nodes, totals.num_dst_nodes)
    if (found.num_nodes, found.num_rows) != (nodes, totals.num_rows):
        raise FormatError(
            f"{path}: expected a part of a graph of {nodes[0]} and {nodes[1]} nodes and {totals.num_rows} input edges, "
            f"found one of {found.num_nodes[0]}, {found.num_nodes[1]} and {found.num_rows}; repeat the step that wrote "
            "it"
        )


@dataclass(frozen=True)
class _Made:
    """What a commit has written."""

    path: str
    ids: list[str]
    num_edges: int
    num_duplicates: int
    size: int


def _commit_here(
    conversion: EdgePlan, names: dict[str, list[str]], target: str, ids_path: IdsPath | None, scratch: str
) -> _Made:
    """Write a file, and the dictionaries of labels with it."""
    files, has_labels = conversion.files, conversion.plan.has_labels
    final_ids = dictionary_paths(ids_path, target, conversion.is_bipartite) if has_labels else []
    with contextlib.ExitStack() as stack:
        new_graph, new_ids = target, []
        if has_labels:
            new_graph = os.path.join(stack.enter_context(hidden_folder(target)), os.path.basename(target))
            new_ids = [os.path.join(stack.enter_context(hidden_folder(path)), "ids.gi") for path in final_ids]
        parts = {index: files.brought(names[index], scratch) for index in DIRECTIONS}
        steps = {
            path: f"compile_shard(folder, {index!r}, {shard})"
            for index, paths in parts.items()
            for shard, path in enumerate(paths)
        }
        with naming_steps(steps):
            out_parts, in_parts = (list(map(path_bytes, paths)) for paths in parts.values())
            found = _core.assemble_graph(out_parts, in_parts, path_bytes(new_graph))
        if has_labels:
            for merged, new in zip(files.brought(conversion.dictionaries(), scratch), new_ids, strict=True):
                link_or_copy(merged, new)
            conversion.prove_dictionaries(new_ids)
            replace_together({**dict(zip(new_ids, final_ids, strict=True)), new_graph: target})
    return _Made(target, final_ids, found.num_edges, found.num_duplicates, os.path.getsize(target))


def _commit_stored(conversion: EdgePlan, names: dict[str, list[str]], place: StoredPath, scratch: str) -> _Made:
    """Write a data set in storage whose graph is in parts, the manifest last."""
    files = conversion.files
    ends = ("src", "dst") if conversion.is_bipartite else ("node",)
    triple = (ends[0], "to", ends[-1])
    parts, duplicates, size = [], {"out": 0, "in": 0}, 0
    for index, own in names.items():
        for name in own:
            header = files.header(name)
            target = files.bring(name, place, f"{graph_path(triple)}.parts")
            parts.append(Part(target, header.begin, header.end, header.fingerprint, index, header.edges))
            duplicates[index] += header.num_duplicates
            size += header.size
    nodes = {kind: NodeRecord(count, {}) for kind, count in zip(ends, header.num_nodes, strict=False)}
    ids = []
    if conversion.plan.has_labels:
        with files.held(conversion.dictionaries(), scratch) as copies:
            conversion.prove_dictionaries(copies)
        for kind, name in zip(ends, conversion.dictionaries(), strict=True):
            # Its name is that of the plan: one that a manifest of an older conversion names stays as it is.
            target = files.bring(name, place, f"nodes/{kind}")
            nodes[kind].ids = FileRecord(target, files.header(name).fingerprint)
            ids.append(str(place / target))
    manifest = Manifest(
        nodes=nodes,
        edges={
            triple: EdgeRecord(PartsRecord(graph_path(triple), 0, parts), {}, time_unit=conversion.told["time_unit"])
        },
    )
    write_stored(place / MANIFEST, iter([manifest_text(manifest)]))
    last = names["in"] or names["out"]
    edges = sum(part.edges or 0 for part in parts if part.file.endswith(tuple(last)))
    return _Made(str(place), ids, edges, duplicates["in" if names["in"] else "out"], size)

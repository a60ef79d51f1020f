"""Edges of any kind and any number to a ``.gl`` file, in a fixed budget of memory."""

from __future__ import annotations

import contextlib
import os
import time as clock
from typing import Any, Literal, TypeAlias

from graphzero import _core
from graphzero._base.argument_errors import Argument, Setting, check_choice, error_of, value_error
from graphzero._base.memory_sizes import conversion_budget, peak_memory
from graphzero._base.old_names import renamed_keywords
from graphzero._files.folder import check_free_space, hidden_folder, new_file, spill_folder, temporary_folder
from graphzero._files.manifest_records import TIME_UNITS
from graphzero._files.mounted import path_bytes
from graphzero._files.progress import Progress, watching
from graphzero._files.storage import is_url, located, path_here, path_text, shown_url
from graphzero.convert._shards.edge_plan import EdgePlan
from graphzero.convert.conversion_report import ConversionReport
from graphzero.convert.edge_feeds import Column, TextOptions, edge_feed, labels_without_map
from graphzero.convert.edge_labels import EdgeTranslator, build_dictionaries, dictionary_paths, given_lookups
from graphzero.convert.edge_options import edge_options, refuse_unmapped_ids, threads_within
from graphzero.convert.engines import check_engine, run_with, steps_folder
from graphzero.convert.sharded import EdgeJob, plan_shards
from graphzero.convert.stored import SameFiles, stored_paths
from graphzero.convert.text import BadLine, is_chosen, open_text, take_on_bad_line, text_paths
from graphzero.graph import graph_bytes
from graphzero.ids import IdDictionary
from graphzero.threads import using_threads

# A dictionary of labels that exists already.
GivenIds: TypeAlias = str | os.PathLike[str] | IdDictionary


@take_on_bad_line
@renamed_keywords(dedup=("duplicates", lambda wanted: "drop" if wanted else "keep"))
def convert_edges(
    source: Any,
    path: str | os.PathLike[str],
    *,
    directed: bool = True,
    index: Literal["both", "out", "in"] = "both",
    src: Column | None = None,
    dst: Column | None = None,
    weight: Column | bool | None = None,
    time: Column | None = None,
    time_unit: Literal["s", "ms", "us", "ns"] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    comment: str | None = None,
    num_nodes: int | tuple[int, int] | None = None,
    bipartite: bool = False,
    duplicates: Literal["keep", "drop"] = "keep",
    self_loops: Literal["keep", "drop"] = "keep",
    edge_ids: bool = True,
    ids: Literal["auto", "dense", "map"] | GivenIds | tuple[GivenIds, GivenIds] = "auto",
    ids_path: str | os.PathLike[str] | tuple[str | os.PathLike[str], str | os.PathLike[str]] | None = None,
    bad_lines: Literal["raise", "skip"] = "raise",
    memory: int | str | None = None,
    tmp_dir: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    shards: int | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    progress: Progress = False,
) -> ConversionReport:
    r"""Convert edges from almost anything to a ``.gl`` file, which appears whole or not at all.

    The edge id of an edge is its row in the input; lines that are skipped do not count.

    Args:
        source: A text file (plain, gzip, zstd, bzip2 or xz), several of them, a glob, an open binary file, ``.npy``,
            ``.npz``, Parquet, Arrow, Matrix Market, GAP ``.sg``, a ``.gl`` file of GraphZero 0.2, arrays, a data frame,
            a scipy matrix, a PyG, NetworkX or DGL graph, or an iterator of ``(src, dst[, weight][, time])`` batches.
            Text, ``.npy``, Parquet and Arrow may be in object storage: ``s3://bucket/edges/*.parquet``.
        path: The file to write. With ``shards``, also the URL of a folder, such as ``s3://bucket/name``: a data set
            whose graph is in parts, which ``stage`` puts together.
        directed: ``False`` stores each edge both ways under one edge id, a self-loop twice. A file of GraphZero 0.2
            must then hold each edge both ways already, and gets one id for both.
        index: Which lists to store: of out-neighbours, of in-neighbours, or both.
        src: The column of sources, by name or position. Default: found by its name, else the first.
        dst: The column of destinations. Default: found by its name, else the second.
        weight: The column of weights; ``False`` ignores those that the source has. Default: the source's own, but no
            column of a text.
        time: The column of timestamps: integers, which stay as they are, or in a text ISO 8601, such as
            ``2024-01-31T12:00:00Z``; without an offset it is UTC. Default: the source's own, but no column of a text.
        time_unit: What ISO 8601 times and timestamps of a table become: whole seconds, milliseconds, microseconds or
            nanoseconds since 1970. Nothing is rounded. Default: seconds for text; a table keeps the unit it has.
        header: Whether a text begins with a header. Default: guessed, or refused if in doubt.
        delimiter: What separates the columns of a text; ``" "`` stands for any run of blanks. Default: guessed.
        comment: The characters that begin a line to ignore. Default: ``"#%"``.
        num_nodes: The number of nodes, or ``(sources, destinations)`` of a bipartite graph. Default: the largest id
            plus 1, or the number of labels.
        bipartite: Whether sources and destinations are two kinds of node, each with its own ids from 0. Default: if
            ``num_nodes`` or ``ids`` is a pair.
        duplicates: ``"drop"`` keeps only the first of equal edges.
        self_loops: ``"drop"`` leaves out edges from a node to itself.
        edge_ids: ``False`` saves the space of edge ids in a graph with one index.
        ids: ``"dense"`` uses integers as they are. ``"map"`` numbers labels in sorted order and keeps them in a
            dictionary; the source is then read twice. ``"auto"`` maps text only. A ``.gi`` file, or a mounted
            [`IdDictionary`][graphzero.IdDictionary], looks labels up instead of numbering them; a label that it does
            not have makes a bad line. A pair of them is for sources and for destinations.
        ids_path: The dictionary to write, or those of sources and of destinations of a bipartite graph. Default:
            ``path`` with the ending ``.gi``, or ``.src.gi`` and ``.dst.gi``.
        bad_lines: ``"raise"`` names file, line and text of the first malformed line, ``"skip"`` counts them in the
            report.
        memory: Bytes to hold, a number or a size such as ``"2GB"``. Default: half of what is available, at most 8 GB.
        tmp_dir: The folder for what does not fit. Default: ``GRAPHZERO_TMPDIR``, else the folder of ``path``, or for
            a URL that of the system's temporary files.
        threads: The number of threads. Default: [`num_threads`][graphzero.num_threads].
        shards: The number of parts in which to make each index, by the steps of ``graphzero.convert.sharded``. The file
            is the same, byte for byte, and so is a dictionary that is written. Needs files. Default: no parts.
        engine: What runs the steps of a conversion in shards: ``"local"``, this process, one after the other;
            ``"ray"``, the nodes of a Ray cluster. ``memory`` and ``threads`` are then those of a task: 2 GB and 1
            unless given.
        address: ``host:port`` of the head of the Ray cluster. Default: the cluster this process is connected to, else
            ``RAY_ADDRESS``, else the one that this machine belongs to.
        work_dir: The folder for files of the steps, which all nodes see. What is done stays there if the conversion
            fails, and the same call goes on with it; it is empty in the end. Or a URL, which all nodes can read and
            write, and where the files stay. Default: for Ray, ``path`` with ``.steps`` behind it, and needed if that
            is a URL; else a hidden one, which is always removed.
        progress: ``True`` shows bars, in a notebook as well. A function is called with what is done and all there is
            (``None``: not known) of each step in turn, maybe from another thread; what it raises ends the conversion.

    Returns:
        A report.

    Raises:
        ValueError: A line is malformed, ids look sparse, or options do not suit the source.
        OSError: A file cannot be read or written.

    Examples:
        >>> with open("edges.csv", "w") as file:
        ...     _ = file.write("src,dst\n0,1\n0,2\n3,0\n")
        >>> report = convert_edges("edges.csv", "graph.gl")
        >>> report.num_edges, report.num_src_nodes
        (3, 4)
    """
    begin = clock.perf_counter()
    target = path_text(path)
    if is_url(target):
        if shards is None or target.endswith((".gl", ".gl/")):
            raise error_of(
                ValueError, f"{shown_url(target)}: expected a path of this machine for one graph, found a URL; give "
                "the URL of a folder and ", Setting("shards"), " for a data set in parts, or convert to a path and "
                "bring the data set there with gz.push(folder, url)",
            )  # fmt: skip
        target = located(target)  # which refuses what is no place, before anything is read
    folder = path_here(tmp_dir or (temporary_folder() if is_url(target) else spill_folder(target)), "tmp_dir")
    if tmp_dir is not None and not os.path.isdir(folder):
        raise value_error("tmp_dir", f"expected a folder, found none at {folder}")
    budget = conversion_budget(memory)
    skip_bad_lines = is_chosen(bad_lines, "bad_lines", "skip", "raise")
    if time_unit is not None:
        check_choice(time_unit, "time_unit", *TIME_UNITS)
    check_engine(engine, shards, address, work_dir, target)
    if shards is not None:
        with steps_folder(engine, work_dir, target, folder) as parts:
            plan_shards(
                source, parts, shards=shards, directed=directed, index=index, src=src, dst=dst, weight=weight,
                time=time, time_unit=time_unit, header=header, delimiter=delimiter, comment=comment,
                num_nodes=num_nodes, bipartite=bipartite, duplicates=duplicates, self_loops=self_loops,
                edge_ids=edge_ids, bad_lines=bad_lines,
                ids=ids,  # type: ignore[arg-type]  # refuses a dictionary
            )  # fmt: skip
            job = EdgeJob(EdgePlan(parts), target, ids_path)
            return run_with(
                engine, job, begin=begin, address=address, memory=memory, threads=threads, progress=progress
            )
    text = TextOptions(src, dst, weight, time, time_unit, header, delimiter, comment, skip_bad_lines)
    source = stored_paths(source)
    files = SameFiles(source)
    feed = edge_feed(source, target, text, directed=directed, tmp_dir=folder, block=max(1 << 20, budget // 16))
    if time_unit is not None and not feed.has_time:
        raise error_of(
            ValueError, Argument("time_unit"), ": expected ", Setting("time"), ", which has times, found none"
        )
    lookups = given_lookups(ids)
    builds = not lookups and (ids == "map" or (ids == "auto" and feed.has_labels))
    if feed.has_labels and not (builds or lookups):
        raise labels_without_map(feed.name)
    if lookups and ids_path is not None:
        raise value_error("ids_path", "expected none, as labels are looked up and no dictionary is written")

    options = edge_options(
        feed, num_nodes=num_nodes, index=index, directed=directed, bipartite=bipartite or len(lookups) == 2,
        duplicates=duplicates, self_loops=self_loops, edge_ids=edge_ids, skip_bad_lines=skip_bad_lines,
    )  # fmt: skip
    if options.bipartite and len(lookups) == 1:
        raise value_error("ids", "expected two dictionaries for a bipartite graph, found one")
    options.memory = budget
    options.temporary_folder = path_bytes(folder)
    drops = options.drop_duplicates or options.drop_self_loops
    known = 0 if drops or feed.unit != "edges" else feed.total or 0
    nodes = (options.num_src_nodes or 0, options.num_dst_nodes or 0)
    check_free_space(target, graph_bytes(nodes, known, index if options.directed else "out"))
    with using_threads(threads_within(budget, threads)), contextlib.ExitStack() as stack:
        final_paths = [lookup.path for lookup in lookups]
        new_paths: list[str] = []
        if builds:
            final_paths = dictionary_paths(ids_path, target, options.bipartite)
            new_paths = [os.path.join(stack.enter_context(hidden_folder(path)), "ids.gi") for path in final_paths]
            lookups = build_dictionaries(feed, new_paths, budget // 2, folder, progress)
        new_graph = target
        if builds or callable(progress):  # which may still raise when the file is written
            new_graph = stack.enter_context(new_file(target, dict(zip(new_paths, final_paths, strict=builds))))
        if lookups and num_nodes is None:
            options.num_src_nodes, options.num_dst_nodes = len(lookups[0]), len(lookups[-1])
        translator = None
        if lookups:
            translator = EdgeTranslator(feed, lookups, exist=not builds, skip_bad_lines=skip_bad_lines)
        converter = _core.EdgeConverter(options)
        with watching(progress, "reading", feed.total, feed.unit, lambda: feed.done(converter)):
            feed.run(converter) if translator is None else translator.run(converter)
        if num_nodes is None and feed.num_nodes is None and not lookups:
            refuse_unmapped_ids(converter.done().largest_id, converter.done().rows, feed.name)
        files.check()
        entries = converter.done().rows * (2 if index == "both" or not options.directed else 1)
        with watching(progress, "sorting and writing", entries, "edges", lambda: converter.done().entries):
            found = converter.finish(path_bytes(new_graph))
    num_bad, bad = (0, []) if translator is None else (getattr(feed, "num_bad", 0), getattr(feed, "bad", []))
    bad_lines_found = [
        BadLine(line.line, line.text.decode(errors="replace"), line.reason.decode(errors="replace"))
        for line in [*found.bad_lines, *bad]
    ]
    if translator is not None:
        num_bad += translator.num_bad
        bad_lines_found = sorted([*bad_lines_found, *translator.bad], key=lambda line: line.line)
    return ConversionReport(
        path=target,
        ids_path=final_paths[0] if final_paths else None,
        dst_ids_path=final_paths[1] if len(final_paths) == 2 else None,
        time_unit=feed.time_unit if feed.has_time else None,
        num_rows=found.num_rows,
        num_edges=found.num_edges,
        num_src_nodes=found.num_src_nodes,
        num_dst_nodes=found.num_dst_nodes,
        smallest_id=found.smallest_id,
        largest_id=found.largest_id,
        num_self_loops=found.num_self_loops,
        num_duplicates=found.num_duplicates,
        num_bad_lines=found.num_bad_lines + num_bad,
        first_bad_lines=tuple(bad_lines_found),
        unused_columns=feed.unused_columns,
        size=os.path.getsize(target),
        spilled=found.spilled_bytes,
        seconds=clock.perf_counter() - begin,
        peak_memory=peak_memory(),
    )


def convert_csv_to_gl(
    csv_path: str | os.PathLike[str] | None = None,
    out_path: str | os.PathLike[str] | None = None,
    directed: bool = False,
    *,
    input_csv: str | os.PathLike[str] | None = None,
    output_bin: str | os.PathLike[str] | None = None,
) -> None:
    """Convert a text of ``source, destination[, weight]`` lines, under GraphZero 0.2's name.

    Args:
        csv_path: The text.
        out_path: The file to write.
        directed: ``False`` stores each row both ways, a self-loop twice.
        input_csv: Another name for ``csv_path``.
        output_bin: Another name for ``out_path``.
    """
    source, target = csv_path or input_csv, out_path or output_bin
    if source is None or target is None:
        raise TypeError("convert_csv_to_gl: expected csv_path (or input_csv) and out_path (or output_bin)")
    paths = text_paths(source) or []
    with open_text(paths[0]) as file:
        columns = _core.sniff_block(path_bytes(paths[0]), file.read(1 << 16)).num_columns
    convert_edges(source, target, directed=directed, weight=2 if columns > 2 else None)

"""Tables of nodes and edges to a data set folder, in a fixed budget of memory."""

from __future__ import annotations

import os
import shutil
import time as clock
from collections.abc import Mapping
from typing import Any

from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.memory_sizes import byte_text, conversion_budget
from graphzero._files.progress import Progress, watching
from graphzero._files.storage import is_url, path_here, target_here
from graphzero.convert.arrow_files import pyarrow
from graphzero.convert.dataset_writer import DatasetWriter
from graphzero.convert.tables.recipe import read_recipe
from graphzero.convert.tables.report import BuildReport
from graphzero.convert.tables.run import LEAST_MEMORY, Build
from graphzero.convert.tables.spec import OnMissing, read_specs


def build_dataset(
    folder: str | os.PathLike[str],
    nodes: Any = None,
    edges: Any = None,
    *,
    recipe: str | os.PathLike[str] | None = None,
    on_missing: OnMissing | None = None,
    memory: int | str | None = None,
    overwrite: bool = False,
    progress: Progress = False,
    dry_run: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> BuildReport:
    """Make a data set of tables of nodes and edges, whose ids are text, integers or UUIDs.

    The folder appears whole or not at all. Nodes are numbered in the sorted order of their ids, integers by value and
    text by its bytes; ``node_index()`` and ``node_label()`` of the data set translate. Nodes without edges stay.
    Needs pyarrow: ``pip install 'graphzero[arrow]'``.

    A *table* is a path (CSV, TSV, Parquet, Arrow; plain or compressed), a glob, a folder of Parquet, a list of paths, a
    frame, an Arrow table, anything with ``__arrow_c_stream__``, or the result of a query. It is given alone or with
    settings: ``{"source": table, "id": "name", …}``. Columns are given by name, or by position from 0.

    Args:
        folder: The folder to write.
        nodes: Tables by node type, or one table. Settings are ``id``, ``label``, ``features``, ``split``, ``time``,
            ``time_unit``, ``time_zone``, ``dtype`` and ``fill``. Without an ``id``, a column of that name is taken, or
            nodes are numbered by row. A type that edges name needs no table: its ids are those of its edges.
        edges: Tables by edge type, ``(source, relation, destination)``, or one table. Settings are ``src``, ``dst``,
            ``weight``, ``time``, ``time_unit``, ``time_zone``, ``features``, ``split``, ``dtype``, ``fill``,
            ``directed``, ``index``, ``duplicates``, ``self_loops``, ``reverse`` and ``on_missing``. ``reverse=True``
            adds a type ``rev_…`` for the way back.
        recipe: A TOML, YAML or JSON file with ``nodes``, ``edges``, ``on_missing``, ``memory`` and ``metadata``; its
            paths start from its folder.
        on_missing: What to do with an edge whose end is not in its table: ``"error"``, ``"drop"`` the edge, or
            ``"add"`` the node, with zeros as features and no label. Default: ``"error"``.
        memory: Bytes to hold, a number or a size such as ``"2GB"``. Default: half of what is available, at most 8 GB.
        overwrite: Replace a data set that is there.
        progress: ``True`` shows a bar on standard error. A function is called with rows done and rows in all (``None``:
            not known), as in [`convert_edges`][graphzero.convert_edges].
        dry_run: Look at the first rows of each table and say what would be made, but write nothing.
        metadata: JSON values for the manifest, such as a name or a licence.

    Returns:
        A report.

    Raises:
        KeyError: An edge has an id that its table of nodes does not have.
        ValueError: Settings do not suit the tables, or a value is not what it should be.
        OSError: A file cannot be read or written.

    Examples:
        >>> people = {"name": ["zoe", "adam", "mia"], "age": [31, 44, 27], "team": ["red", "blue", "red"]}
        >>> knows = {"a": ["zoe", "mia"], "b": ["adam", "adam"]}
        >>> report = build_dataset(
        ...     "friends",
        ...     nodes={"source": people, "id": "name", "label": "team", "features": ["age"]},
        ...     edges={"source": knows, "src": "a", "dst": "b"},
        ...     overwrite=True,
        ... )
        >>> from graphzero.dataset import open_dataset
        >>> data = open_dataset("friends")
        >>> data.node_index("zoe"), data.nodes["node"].class_names, data.x.tolist()
        (2, ['blue', 'red'], [[44.0], [27.0], [31.0]])
    """
    begin = clock.perf_counter()
    target = target_here(folder)
    if recipe is not None:
        given = {"nodes": nodes, "edges": edges, "on_missing": on_missing, "memory": memory, "metadata": metadata}
        found = read_recipe(recipe)
        for name in found:
            if given[name] is not None:
                raise type_error(name, f"is in the recipe {path_here(recipe)} too; expected it in one place")
        nodes, edges, on_missing, memory, metadata = ({**given, **found}[name] for name in given)
    budget = conversion_budget(memory)
    if budget < LEAST_MEMORY:
        raise value_error("memory", f"expected at least {byte_text(LEAST_MEMORY)}, found {byte_text(budget)}")
    pyarrow()
    node_specs, edge_specs = read_specs(nodes, edges, on_missing or "error")
    for source in [*(spec.source for spec in node_specs.values()), *(spec.source for spec in edge_specs.values())]:
        _refuse_inside(source, target)
    if dry_run:
        import tempfile  # slow to load

        with tempfile.TemporaryDirectory() as stage:
            return Build(stage, budget, node_specs, edge_specs).look(target)
    with DatasetWriter(target, overwrite=overwrite) as writer:
        writer.hetero = len(node_specs) > 1 or len(edge_specs) > 1
        stage = os.path.join(writer.folder, "staging")
        os.mkdir(stage)
        build = Build(stage, budget, node_specs, edge_specs)
        with watching(progress, lambda: build.step, build.total, "rows", lambda: build.done):
            report = build.run(writer, target, begin)
        writer.set_metadata(**(metadata or {}))
        shutil.rmtree(stage)
    return report


def _refuse_inside(source: Any, target: str) -> None:
    """Refuse a table that lies where the folder will be: replacing the folder would remove it."""
    for path in source if isinstance(source, (list, tuple)) else [source]:
        if isinstance(path, (str, os.PathLike)) and target and not is_url(path):
            inside, outside = os.path.realpath(os.fsdecode(path)), os.path.realpath(target)
            if os.path.commonpath([inside, outside]) == outside:
                raise value_error(
                    "folder", f"expected one that does not hold the table {os.fsdecode(path)}, found {target}"
                )

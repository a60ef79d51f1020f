"""A whole data set, in whatever layout it came, to a data set folder."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.visible import visible
from graphzero._files.folder import lock_path, make_own_folder, replace_file
from graphzero._files.manifest_paths import MANIFEST, file_name
from graphzero._files.progress import Progress
from graphzero._files.storage import path_here, target_here
from graphzero._look.reports import ShownReport
from graphzero.convert.conversion_report import ConversionReport
from graphzero.convert.dataset_writer import DatasetWriter
from graphzero.convert.edge_sources.array_file import ArrayFile
from graphzero.convert.edges import convert_edges
from graphzero.convert.features import convert_features
from graphzero.convert.layouts.plan import Labels, LayoutOptions, NodePlan, Plan, Typed, write_labels
from graphzero.convert.text import BadLine
from graphzero.dataset import Dataset, EdgeTriple, TypeName, type_text

# Those of folders, in the order they are tried. Each is a module of convert.layouts, loaded when it is looked at.
_LAYOUTS = ("graphbolt", "ogb-binary", "ogb-csv", "processed", "neo4j", "graphzero-0.2")
# What each leaves open, for the user to say.
_CHOICES: dict[str, set[str]] = {
    "graphbolt": {"task"},
    "ogb-binary": {"split", "add_inverse_edge"},
    "ogb-csv": {"split", "add_inverse_edge"},
    "processed": {"num_nodes", "label"},
    "neo4j": {"label", "weight", "time"},
    "graphzero-0.2": {"num_nodes", "label"},
    "pyg": {"num_nodes", "split", "weight", "time"},
}
# Of these, what other layouts leave to convert_edges.
_OF_EDGES = {"weight", "time"}


@dataclass(frozen=True)
class DatasetReport(ShownReport):
    """What a conversion wrote, and what it left out.

    Attributes:
        path: The folder written.
        layout: The layout that was recognised.
        nodes: The number of nodes by node type.
        edges: The report of each edge type.
        ignored: What was found but not converted.
        seconds: How long it took.
    """

    path: str
    layout: str
    nodes: Mapping[str, int]
    edges: Mapping[EdgeTriple, ConversionReport]
    ignored: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        lines = [f"{self.path}: converted from the {self.layout} layout in {self.seconds:.1f} s"]
        lines += [f"  {name}: {count:,} nodes" for name, count in self.nodes.items()]
        lines += [f"  {type_text(triple)}: {report.num_edges:,} edges" for triple, report in self.edges.items()]
        lines += [f"  not converted: {text}" for text in self.ignored]
        return "\n".join(map(visible, lines))


def convert_dataset(
    source: Any,
    folder: str | os.PathLike[str],
    *,
    format: str = "auto",
    memory: int | str | None = None,
    progress: Progress = False,
    overwrite: bool = False,
    resume: bool = False,
    feature_dtype: Any = None,
    **options: Any,
) -> DatasetReport:
    """Convert a data set in another layout to a graphzero data set, which appears whole or not at all.

    Knows OGB (csv and binary), MAG240M and IGB (``processed``), GraphBolt (``metadata.yaml``, raw form), Neo4j exports,
    files of GraphZero 0.2, and PyG's ``Data`` and ``HeteroData``. Features become ``x``, labels ``y`` (whole numbers as
    int64, -1 where there is none), splits ``train``, ``valid`` and ``test``. What a PyG object holds keeps its name,
    shape and type; a warning names what cannot be kept.

    Args:
        source: A folder; of PyG also an object, a ``.pt`` file or the folder of a data set.
        folder: The folder to write.
        format: The layout, such as ``"ogb-csv"``. Default: recognised.
        memory: Bytes to hold while edges and features are converted, as in [`convert_edges`][graphzero.convert_edges].
        progress: ``True`` shows bars, a function is called, as in [`convert_edges`][graphzero.convert_edges].
        overwrite: Replace a data set that is there.
        resume: Keep files that are finished when a run fails or is killed in a hidden folder beside the target; the
            next run with the same source and options goes on from there.
        feature_dtype: Store floating-point features in another type.
        options: ``num_nodes``, ``split``, ``label``, ``task`` and ``add_inverse_edge`` say what a layout leaves open.
            For PyG objects and Neo4j exports, ``weight`` and ``time`` name the edge attributes that neighbours are
            drawn by (default for PyG: ``edge_weight`` and ``edge_time``, if they exist; ``False``: none). All others go
            to [`convert_edges`][graphzero.convert_edges].

    Returns:
        A report.

    Raises:
        ValueError: The layout is not recognised, or it leaves open what an option must say.
        OSError: A file cannot be read or written.

    Examples:
        >>> os.makedirs("mag/processed/paper___cites___paper")
        >>> np.save("mag/processed/paper___cites___paper/edge_index.npy", [[0, 1], [1, 2]])
        >>> convert_dataset("mag", "converted", num_nodes={"paper": 4}).nodes
        {'paper': 4}
    """
    begin = time.perf_counter()
    target = target_here(folder)
    layout = _layout_of(source, format)
    given = _choices(layout, options)
    on_disk = isinstance(source, (str, os.PathLike))
    if on_disk:
        _refuse_overlap(os.fsdecode(source), target)
    if resume and not (on_disk and os.path.isdir(source)):
        raise value_error("resume", "expected a folder as the source, found an object, which ends with the process")
    waiting = _waiting_folder(os.fsdecode(source), target, [layout, given, feature_dtype, options]) if resume else None
    reports = {}
    with DatasetWriter(target, overwrite=overwrite) as writer, _staging(writer.folder, waiting) as stage:
        asked = LayoutOptions(**given, memory=memory, workspace=stage.workspace)
        plan: Plan = _reader(layout).read(os.fsdecode(source) if on_disk else source, asked)
        writer.hetero = plan.hetero

        def features(kind: TypeName, attributes: Mapping[str, Any], node: NodePlan | None = None) -> dict[str, str]:
            written = {}
            for attribute, values in attributes.items():
                values, own = _prepared(values, attribute, node, stage)
                if feature_dtype is not None and attribute in ("x", "edge_attr"):
                    own["dtype"] = feature_dtype
                written[attribute] = stage.file([kind, attribute], ".gd")
                if not os.path.exists(written[attribute]):
                    convert_features(values, written[attribute], memory=memory, progress=progress, **own)
            return written

        for kind, node in plan.nodes.items():
            paths = features(kind, node.attributes, node)
            writer.add_nodes(
                paths, type=kind, num_nodes=node.num_nodes, label=node.label, num_classes=node.num_classes,
                ids=node.ids, categories=node.categories,
            )  # fmt: skip
            stage.clear()
        for triple, edge in plan.edges.items():
            src, dst = (plan.node(end, f"edges {triple}").num_nodes for end in (triple[0], triple[2]))
            graph = stage.file(list(triple), ".gl")
            report = stage.report(graph)
            if report is None:
                report = convert_edges(
                    edge.source,
                    graph,
                    num_nodes=src if triple[0] == triple[2] else (src, dst),
                    memory=memory,
                    progress=progress,
                    **{**edge.options, **options},
                )
                stage.keep_report(graph, report)
            reports[triple] = report
            attributes = features(triple, edge.attributes)
            writer.add_edges(
                type=triple, graph=graph, attributes=attributes, weight=edge.weight, time=edge.time,
                categories=edge.categories, time_unit=report.time_unit,
            )  # fmt: skip
            stage.clear()
        for of, other in _others(plan):
            for name, value in other.items():
                writer.add_other(name, value, of=of)
        for split, of, ids in plan.splits:
            writer.add_split(split, ids, of=of)
        writer.set_metadata(**plan.metadata)
    counts = {kind: node.num_nodes for kind, node in plan.nodes.items()}
    if plan.ignored and layout == "pyg":  # its loaders would have it in every batch
        warnings.warn(f"{target}: not converted: {'; '.join(plan.ignored)}", stacklevel=2)
    return DatasetReport(target, layout, counts, reports, tuple(plan.ignored), time.perf_counter() - begin)


def _others(plan: Plan) -> Iterator[tuple[TypeName | None, dict[str, Any]]]:
    """Iterate over values without rows, with the type they belong to."""
    yield None, plan.other
    yield from ((kind, node.other) for kind, node in plan.nodes.items())
    yield from ((triple, edge.other) for triple, edge in plan.edges.items())


def _reader(layout: str) -> Any:
    return import_module(f"graphzero.convert.layouts.{layout.replace('-', '_').replace('.', '')}")


def _layout_of(source: Any, format: str) -> str:
    if format not in ("auto", "pyg", *_LAYOUTS):
        raise value_error("format", f"expected auto, pyg, {', '.join(_LAYOUTS)}, found {format!r}")
    if not isinstance(source, (str, os.PathLike)):
        if not _reader("pyg").recognises(source):
            if hasattr(source, "get") and hasattr(source, "num_classes"):
                raise type_error("source", f"expected one graph, found a data set, {source!r}; convert its dataset[0]")
            raise type_error("source", f"expected a folder, or a PyG Data or HeteroData, found {type(source).__name__}")
        if isinstance(source, Dataset):
            raise ValueError(f"{source.path}: expected a data set to convert, found one of graphzero")
        return "pyg"
    path = path_here(source)
    if os.path.isfile(path) and _reader("pyg").recognises(path):
        return "pyg"
    if not os.path.isdir(path):
        raise NotADirectoryError(f"{path}: expected the folder of a data set, or a .pt file of a PyG object")
    if format != "auto":
        return format
    if os.path.exists(os.path.join(path, MANIFEST)):
        raise ValueError(f"{path}: expected a data set to convert, found one of graphzero, which opens as it is")
    for name in (*_LAYOUTS, "pyg"):
        if _reader(name).recognises(path):
            return name
    there = ", ".join(sorted(os.listdir(path))[:8]) or "nothing"
    raise ValueError(
        f"{path}: expected a data set of {', '.join(_LAYOUTS)} or pyg (processed/data.pt), found {there}; "
        "convert its parts with convert_edges and convert_features"
    )


def _choices(layout: str, options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of the layout out of ``options``; refuse those that it would ignore."""
    names = (set().union(*_CHOICES.values()) - (_OF_EDGES - _CHOICES[layout])) & options.keys()
    given = {name: value for name in sorted(names) if (value := options.pop(name)) is not None}
    for name in given:
        if name not in _CHOICES[layout]:
            known = ", ".join(sorted(_CHOICES[layout])) or "none"
            raise ValueError(f"{name}: expected options of the {layout} layout, {known}, found {given[name]!r}")
    return given


def _refuse_overlap(source: str, target: str) -> None:
    """Refuse to write where the input lies: replacing the folder would remove it."""
    inside, outside = os.path.realpath(source), os.path.realpath(target)
    if os.path.commonpath([inside, outside]) == outside:
        raise ValueError(f"{target}: expected a folder that does not hold the source {source}")


class _Stage:
    """Files that wait to be taken over by the data set, under names that a later run finds again."""

    def __init__(self, folder: str, workspace: str, *, resumes: bool) -> None:
        self._folder = folder
        self._resumes = resumes
        self.workspace = workspace
        make_own_folder(folder, "convert")
        os.makedirs(workspace)

    def file(self, names: Any, ending: str) -> str:
        """Return where a file waits. If it is there, it is finished: files appear whole."""
        return os.path.join(self._folder, file_name(json.dumps(names)) + ending)

    def report(self, graph: str) -> ConversionReport | None:
        """Return what ``keep_report()`` kept, if an earlier run finished this graph."""
        try:
            with open(f"{graph}.json", encoding="utf-8") as file:
                kept = json.load(file)
        except FileNotFoundError:
            return None
        bad_lines = kept.pop("bad_lines", kept.get("first_bad_lines"))  # its name in 0.3.0.dev0
        kept["first_bad_lines"] = tuple(BadLine(**bad) for bad in bad_lines)
        kept["unused_columns"] = tuple(kept["unused_columns"])
        return ConversionReport(**kept) if os.path.exists(graph) else None

    def keep_report(self, graph: str, report: ConversionReport) -> None:
        """Keep the report of a finished graph for a later run."""
        if self._resumes:
            replace_file(f"{graph}.json", json.dumps(asdict(report)).encode())

    def clear(self) -> None:
        """Remove what was taken over, and what it was made from, unless a later run may need it."""
        if self._resumes:
            return
        for entry in os.scandir(self._folder):
            if entry.is_file():
                os.remove(entry.path)


@contextmanager
def _staging(folder: str, waiting: str | None) -> Iterator[_Stage]:
    """Yield a folder for unfinished files, removed at the end, or kept after a failure if a run can be resumed."""
    place = os.path.join(folder, "staging")
    stage = _Stage(waiting or place, os.path.join(place, "made"), resumes=waiting is not None)
    lock = lock_path(waiting or place)
    if lock is None:
        raise OSError(
            errno.EBUSY, "another process converts the same and would resume from here; wait for it", waiting or place
        )
    try:
        yield stage
        shutil.rmtree(place)
        if waiting is not None:
            shutil.rmtree(waiting)
    finally:
        lock.release()


def _waiting_folder(source: str, target: str, options: list[Any]) -> str:
    """Name the folder of a run that can be resumed, after everything its results depend on."""
    import hashlib

    facts = [os.path.realpath(source), repr(options)]
    for base, folders, names in os.walk(source):
        folders.sort()
        for name in sorted(names):
            status = os.stat(os.path.join(base, name))
            facts.append(f"{os.path.join(base, name)} {status.st_size} {status.st_mtime_ns}")
    parent, name = os.path.split(os.path.abspath(target))
    digest = hashlib.blake2b("\n".join(facts).encode(errors="surrogateescape"), digest_size=8).hexdigest()
    return os.path.join(parent, f".{name}.{digest}.graphzero-resume")


def _prepared(values: Any, attribute: str, node: NodePlan | None, stage: _Stage) -> tuple[Any, dict[str, Any]]:
    """Turn what a layout found into what ``convert_features`` takes, with its options."""
    if isinstance(values, Labels):
        path = stage.file(["labels", attribute], ".npy")
        num_classes = write_labels(values, path)
        if node is not None and attribute == node.label and node.num_classes is None:
            node.num_classes = num_classes
        return path, {}
    if isinstance(values, Typed):
        return values.source, {"dtype": values.dtype}
    if isinstance(values, ArrayFile):
        return (values.memmap(), {}) if values.member is None else (values.path, {"key": values.member})
    return values, {}

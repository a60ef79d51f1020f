"""Synthetic data sets of any size, drawn in bounded memory: structure, features, labels and splits."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.dtypes import DataType, as_data_type, numpy_dtype
from graphzero._base.integers import as_seed
from graphzero._base.memory_sizes import conversion_budget
from graphzero._files.mounted import path_bytes
from graphzero._files.progress import Progress, watching
from graphzero._files.storage import target_here
from graphzero.convert.dataset_writer import DatasetWriter
from graphzero.convert.edge_sources.synthetic import SyntheticSource, node_times
from graphzero.convert.edges import convert_edges
from graphzero.dataset import EDGE, NODE, Dataset, EdgeTriple, open_dataset
from graphzero.features import FeatureStore, rounded_to_bfloat16
from graphzero.graph import Graph
from graphzero.row_order import reorder
from graphzero.synth.recipe import Kind, Part, Recipe, make_recipe

# Bytes of rows that are made at a time: enough for all threads, little beside any budget.
_BLOCK = 32 << 20
# Nodes whose labels, times, places or splits are made at a time.
_NODES_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class _Nodes:
    name: str
    number: int
    count: int
    core: _core.SyntheticNodes
    labelled: bool


@dataclass(frozen=True)
class _Edges:
    triple: EdgeTriple
    source: SyntheticSource


def synthesize(
    path: str | os.PathLike[str],
    nodes: int | None = None,
    edges: int | None = None,
    *,
    preset: str | None = None,
    kind: Kind | None = None,
    features: int | None = None,
    feature_dtype: Any = None,
    classes: int | None = None,
    homophily: float | None = None,
    skew: int | None = None,
    signal: float | None = None,
    train: Part | None = None,
    valid: Part | None = None,
    test: Part | None = None,
    hetero: bool | None = None,
    temporal: bool | None = None,
    undirected: bool | None = None,
    index: Literal["both", "out", "in"] | None = None,
    edge_ids: bool | None = None,
    order: Literal["id", "hot"] | None = None,
    seed: int | None = 0,
    memory: int | str | None = None,
    progress: Progress = False,
    overwrite: bool = False,
) -> Dataset:
    """Draw a data set with features ``x``, labels ``y`` and splits, write it to a folder and mount it.

    Every edge, label and row is a function of ``seed`` and its number, so the files are the same for any number of
    threads and any ``memory``. The folder appears whole or not at all.

    Args:
        path: The folder to write.
        nodes: The number of nodes of all kinds; may be left out with a ``preset``.
        edges: The number of edges of all kinds. Repeated edges and self-loops happen, as in the models. Default: 16 per
            node.
        preset: ``"tiny"``, ``"small"``, ``"products"`` or ``"papers100m"``. Other arguments replace its values.
        kind: ``"blocks"``, a degree-corrected block model, whose labels can be learned from structure and features, and
            better from both; ``"rmat"``, R-MAT with the odds of Graph500; ``"ba"``, preferential attachment. The labels
            of the last two are in the features alone. Default: ``"blocks"``.
        features: The number of items of a row of ``x``; 0 for no ``x``. Default: 128.
        feature_dtype: ``"float16"``, ``"bfloat16"``, ``"float32"`` or ``"float64"``. Default: ``"float16"``.
        classes: The number of classes, which are of the same size to within one node. Default: 16.
        homophily: For ``"blocks"``, the share of edges that stay in their class on purpose; one in ``classes`` of the
            others does by chance. Default: 0.6.
        skew: For ``"blocks"``, how unequal degrees are, 1 (not at all) to 8: the first ``r`` of ``n`` nodes of a class
            have the share ``(r / n) ** (1 / skew)`` of its edges. Default: 3.
        signal: How well features tell the class. At the default, 0.75, the nearest centroid is right for about half of
            the nodes.
        train: The size of this split: a share of the labelled nodes if a float, a count if an int. Default: 0.6.
        valid: The size of this split. Splits do not overlap. Default: 0.2.
        test: The size of this split. Default: 0.2.
        hetero: Make papers, authors and institutions instead of one kind of node. Papers have the labels. ``writes``
            and ``affiliated`` are stored with their reverses, which ``edges`` does not count.
        temporal: Also draw a ``time`` for each node, which rises with its id; an edge has that of its later end.
        undirected: Store each edge both ways, in one index.
        index: As in [`convert_edges`][graphzero.convert_edges].
        edge_ids: As in [`convert_edges`][graphzero.convert_edges].
        order: ``"hot"`` stores the rows of ``x`` hottest first: by expected degree for ``"blocks"``, else with
            [`reorder`][graphzero.reorder].
        seed: The seed of all draws; ``None`` for a fresh one.
        memory: Bytes to hold, a number or a size such as ``"2GB"``. Default: half of what is available, at most 8 GB.
        progress: ``True`` shows bars, a function is called, as in [`convert_edges`][graphzero.convert_edges].
        overwrite: Replace a data set that is there.

    Returns:
        The mounted data set.

    Raises:
        ValueError: Neither ``nodes`` nor ``preset`` is given, or a value is out of bounds.

    Examples:
        >>> ds = synthesize("made", nodes=100, edges=500, features=8, classes=4)
        >>> ds.graph.num_edges, ds.features("x").shape, ds.nodes["node"].num_classes, len(ds.split("train"))
        (500, (100, 8), 4, 60)
    """
    given = {
        "nodes": nodes, "edges": edges, "kind": kind, "features": features, "feature_dtype": feature_dtype,
        "classes": classes, "homophily": homophily, "skew": skew, "signal": signal, "train": train, "valid": valid,
        "test": test, "hetero": hetero, "temporal": temporal, "undirected": undirected, "index": index,
        "edge_ids": edge_ids, "order": order,
    }  # fmt: skip
    recipe = make_recipe(preset, given | {"seed": as_seed(seed)})
    budget = conversion_budget(memory)
    target = target_here(path)
    with DatasetWriter(target, overwrite=overwrite) as writer:
        _Maker(recipe, writer, budget, progress).make()
        writer.set_metadata(name=preset or recipe.kind, synthetic=asdict(recipe))
    return open_dataset(target)


class _Maker:
    """Writes one data set: graphs first, whose conversion needs room on the disk that the features may fill later."""

    def __init__(self, recipe: Recipe, writer: DatasetWriter, memory: int, progress: Progress) -> None:
        self._recipe = recipe
        self._writer = writer
        self._memory = memory
        self._progress = progress
        self._staging = os.path.join(writer.folder, "staging")
        os.mkdir(self._staging)
        counts = recipe.node_counts() if recipe.hetero else {NODE: recipe.nodes}
        self._nodes = [self._kind_of_node(number, name, count) for number, (name, count) in enumerate(counts.items())]
        self._span = self._nodes[0].count if recipe.temporal else None

    def make(self) -> None:
        """Write everything but the manifest."""
        graphs = {edges.triple: self._write_graph(edges) for edges in self._edges()}
        for nodes in self._nodes:
            attributes = self._write_attributes(nodes, graphs)
            label = "y" if nodes.labelled else None
            self._writer.add_nodes(
                attributes,
                type=nodes.name,
                num_nodes=nodes.count,
                label=label,
                num_classes=self._recipe.classes if nodes.labelled else None,
            )
            for name in attributes.values():
                os.remove(name)
        for triple, graph in graphs.items():
            self._writer.add_edges(type=triple, graph=graph)
        self._write_splits(self._nodes[0])
        shutil.rmtree(self._staging)

    def _kind_of_node(self, number: int, name: str, count: int) -> _Nodes:
        core = _core.SyntheticNodes(self._recipe.seed, _core.SynthNodes(count, number), self._recipe.classes)
        return _Nodes(name, number, count, core, labelled=number == 0)

    def _edges(self) -> Iterator[_Edges]:
        recipe = self._recipe
        if recipe.hetero:
            paper, author, institution = self._nodes
            counts = recipe.edge_counts()
            yield self._blocks(("paper", "cites", "paper"), 0, paper, paper, counts["cites"])
            for number, (name, src, dst) in enumerate(
                [("writes", author, paper), ("affiliated", author, institution)], start=1
            ):
                yield self._blocks((src.name, name, dst.name), number, src, dst, counts[name])
                yield self._blocks((dst.name, f"rev_{name}", src.name), number, src, dst, counts[name], reverse=True)
        elif recipe.kind == "blocks":
            yield self._blocks(EDGE, 0, self._nodes[0], self._nodes[0], recipe.edges)
        else:
            law = _core.SyntheticEdges.rmat if recipe.kind == "rmat" else _core.SyntheticEdges.attachment
            edges = law(recipe.seed, recipe.nodes, recipe.edges)
            yield _Edges(EDGE, SyntheticSource(edges, (recipe.nodes, recipe.nodes), bipartite=False, span=self._span))

    def _blocks(
        self, triple: EdgeTriple, number: int, src: _Nodes, dst: _Nodes, count: int, *, reverse: bool = False
    ) -> _Edges:
        recipe = self._recipe
        edges = _core.SyntheticEdges.blocks(
            recipe.seed,
            number,
            _core.SynthNodes(src.count, src.number),
            _core.SynthNodes(dst.count, dst.number),
            count,
            _core.BlockOptions(recipe.classes, recipe.skew, recipe.homophily),
        )
        ends = src.count, dst.count
        return _Edges(triple, SyntheticSource(edges, ends, bipartite=src is not dst, reverse=reverse, span=self._span))

    def _write_graph(self, edges: _Edges) -> str:
        path = self._file(f"{'__'.join(edges.triple)}.gl")
        convert_edges(
            edges.source,
            path,
            directed=not self._recipe.undirected,
            index=self._recipe.index,
            edge_ids=self._recipe.edge_ids,
            memory=self._memory,
            progress=self._progress,
        )
        return path

    def _write_attributes(self, nodes: _Nodes, graphs: dict[EdgeTriple, str]) -> dict[str, str]:
        written = {}
        if self._recipe.features:
            written["x"] = self._write_features(nodes, graphs)
        if nodes.labelled:
            written["y"] = self._write_vector(f"{nodes.name} y", nodes.count, nodes.core.labels)
        if self._span is not None:
            span = self._span
            written["time"] = self._write_vector(
                f"{nodes.name} time",
                nodes.count,
                lambda first, count: node_times(np.arange(first, first + count), nodes.count, span),
            )
        return written

    def _write_features(self, nodes: _Nodes, graphs: dict[EdgeTriple, str]) -> str:
        recipe = self._recipe
        path = self._file(f"{nodes.name} x.gd")
        stored = as_data_type(recipe.feature_dtype)
        values = item_values(recipe, stored)
        item_bytes = numpy_dtype(stored).itemsize
        by_place = recipe.order == "hot" and recipe.kind == "blocks"
        at_once = max(1, _BLOCK // (recipe.features * item_bytes))
        writer = _core.GdWriter(path_bytes(path), stored, [nodes.count, recipe.features])
        done = 0
        with watching(self._progress, f"features of {nodes.name}", nodes.count, "rows", lambda: done):
            for first in range(0, nodes.count, at_once):
                count = min(at_once, nodes.count - first)
                writer.append(nodes.core.rows(first, count, by_place, recipe.features, item_bytes, values))
                done = first + count
            if by_place:
                places = nodes.core.places32 if nodes.count <= 2**31 else nodes.core.places64
                for first in range(0, nodes.count, _NODES_AT_ONCE):
                    writer.append_row_map(places(first, min(_NODES_AT_ONCE, nodes.count - first)))
            writer.finish()
        if recipe.order == "hot" and not by_place:
            with Graph(graphs[EDGE]) as graph:
                reorder(path, path, graph, memory=self._memory, progress=self._progress)
        return path

    def _write_vector(self, name: str, count: int, make: Callable[[int, int], NDArray[np.int64]]) -> str:
        path = self._file(f"{name}.gd")
        writer = _core.GdWriter(path_bytes(path), DataType.INT64, [count])
        for first in range(0, count, _NODES_AT_ONCE):
            writer.append(make(first, min(_NODES_AT_ONCE, count - first)).view(np.uint8))
        writer.finish()
        return path

    def _write_splits(self, nodes: _Nodes) -> None:
        for name, positions in self._recipe.split_ranges(nodes.count).items():
            path = self._file(f"{name}.gd")
            writer = _core.GdWriter(path_bytes(path), DataType.INT64, [len(positions)])
            for first in range(0, nodes.count, _NODES_AT_ONCE):
                end = min(first + _NODES_AT_ONCE, nodes.count)
                writer.append(nodes.core.with_lots(first, end, positions.start, positions.stop).view(np.uint8))
            writer.finish()
            with FeatureStore(path) as ids:
                self._writer.add_split(name, ids.get_tensor(writable=False), of=nodes.name)
            os.remove(path)

    def _file(self, name: str) -> str:
        return os.path.join(self._staging, name)


def item_values(recipe: Recipe, stored: DataType) -> NDArray[np.uint8]:
    """Return every value an item can have: of negative centroids by noise, then of positive ones.

    The noise has variance 1. The distance of a class's own centroid, in deviations of the noise, is ``signal`` times
    about the largest of as many normal numbers as there are classes: what it has to exceed.
    """
    sums = np.arange(_core.NOISE_VALUES)
    noise = (sums - 510) / math.sqrt((2**16 - 1) / 3)
    strength = recipe.signal * math.sqrt(2 * math.log(max(2, recipe.classes)) / max(1, recipe.features))
    values = np.concatenate([noise - strength, noise + strength])
    items = rounded_to_bfloat16(values) if stored is DataType.BFLOAT16 else values.astype(numpy_dtype(stored))
    return items.view(np.uint8)

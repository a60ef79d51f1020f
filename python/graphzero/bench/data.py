"""The data of a run: a folder that is there or is made, and its copies in the forms that rivals read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphzero as gz
from graphzero._files.manifest_paths import MANIFEST
from graphzero.bench.graphzero02_file import write_graphzero02
from graphzero.bench.plan import Plan
from graphzero.dataset import NODE

_ROWS_AT_ONCE = 1 << 16


def _layout(graph: gz.Graph) -> str:
    """Say what the file stores, and whether convert_edges writes it so if nothing else is asked for."""
    indexes, stored = graph.indexes, graph.index(graph.indexes[0]).edge_ids is not None
    what = "both indexes" if len(indexes) == 2 else f"{indexes[0]} index alone"
    default = ", as convert_edges writes by default" if len(indexes) == 2 and stored else ""
    return f"{what}, {'stored edge ids' if stored else 'places as edge ids'}{default}"


class Data:
    """A data set folder of one type of node, and a scratch folder for what rivals read. Keeps nothing open."""

    def __init__(self, folder: str, scratch: str, plan: Plan) -> None:
        self.folder, self.scratch, self._plan = folder, scratch, plan
        self.seconds_to_make: float | None = None
        if not os.path.exists(os.path.join(folder, MANIFEST)):
            self._make()
        with gz.open(folder) as dataset:
            if dataset.is_hetero:
                raise ValueError(
                    f"{folder}: expected a data set with one type of node and of edge, found several; give another, or "
                    "a folder to make one in"
                )
            graph = dataset.graph
            self.graph, self.graph_bytes = graph.path, graph.nbytes
            self.num_nodes, self.num_edges, self.indexes = dataset.num_nodes, dataset.num_edges, graph.indexes
            self.layout = _layout(graph)
            self.num_classes = dataset.nodes[NODE].num_classes
            self.splits = dataset.split_names
            self.kind = str(dict(dataset.metadata.get("synthetic", {})).get("kind", "given"))
            self.files = [store.path for store in dataset.stores()]
            self.features: str | None = None
            self.feature_bytes = self.num_features = 0
            self.feature_dtype: str | None = None
            if "x" in dataset.nodes[NODE].attributes:
                x = dataset.features("x")
                self.features, self.num_features, self.feature_dtype = x.path, x.feature_dim, x.dtype
                self.feature_bytes = x.num_rows * x.row_bytes

    def _make(self) -> None:
        if os.path.exists(self.folder) and (not os.path.isdir(self.folder) or os.listdir(self.folder)):
            raise ValueError(
                f"{self.folder}: expected a data set folder ({MANIFEST}), or one that is empty or does not exist; "
                "graphzero convert makes one of your data"
            )
        if os.path.isdir(self.folder):
            os.rmdir(self.folder)  # a data set appears whole, in a folder of its own
        plan = self._plan
        begin = time.perf_counter()
        gz.synthesize(
            self.folder, plan.nodes, plan.edges, kind="blocks", features=plan.features, feature_dtype="float32",
            classes=plan.classes, undirected=True, order="hot", seed=plan.seed,
        ).close()  # fmt: skip
        self.seconds_to_make = time.perf_counter() - begin

    def facts(self) -> dict[str, Any]:
        """Return what the document says about the data."""
        names = ("kind", "num_nodes", "num_edges", "num_features", "feature_dtype", "feature_bytes", "graph_bytes",
                 "num_classes", "seconds_to_make")  # fmt: skip
        return {"path": self.folder} | {name: getattr(self, name) for name in names}

    def resident(self) -> int | None:
        """Return how many bytes of the data set the page cache holds now."""
        with gz.open(self.folder) as dataset:
            found = [file.resident for file in dataset.memory_report().files]
        return None if None in found else sum(count or 0 for count in found)

    def scratch_file(self, name: str) -> str:
        """Return a path of the scratch folder."""
        return os.path.join(self.scratch, name)

    def once(self, name: str, make: Callable[[str], None]) -> str:
        """Make a file of the scratch folder if it is not there."""
        path = self.scratch_file(name)
        if not os.path.exists(path):
            make(path)
        return path

    def _arrays(self, direction: Any, offsets: str, ends: str) -> None:
        with gz.Graph(self.graph) as graph:
            index = graph.index(direction)
            self.once(f"{offsets}.npy", lambda path: np.save(path, index.indptr.astype(np.int64)))
            self.once(f"{ends}.npy", lambda path: np.save(path, index.indices.astype(np.int64)))

    def write_in_index(self) -> None:
        """Make colptr.npy and row.npy."""
        self._arrays("in", "colptr", "row")

    def write_out_index(self) -> None:
        """Make indptr.npy, indices.npy and graphzero02.gl."""
        self._arrays("out", "indptr", "indices")
        indptr, indices = (np.load(self.scratch_file(f"{name}.npy"), mmap_mode="r") for name in ("indptr", "indices"))
        self.once("graphzero02.gl", lambda path: write_graphzero02(path, indptr, indices))

    def nodes_with_edges(self, direction: Any) -> NDArray[np.int64]:
        """Return the nodes that have neighbours in this direction."""
        with gz.Graph(self.graph) as graph:
            return np.flatnonzero(np.diff(graph.index(direction).indptr)).astype(np.int64)

    def write_raw_features(self) -> str:
        """Make features.raw: float32 rows in the order of their ids."""
        return self.once("features.raw", self._write_raw)

    def _write_raw(self, path: str) -> None:
        assert self.features is not None
        with gz.FeatureStore(self.features) as store, open(path, "wb") as file:
            wanted = None if store.dtype == "float32" else "float32"
            for first in range(0, store.num_rows, _ROWS_AT_ONCE):
                ids = np.arange(first, min(first + _ROWS_AT_ONCE, store.num_rows))
                file.write(store.gather(ids, reader="mmap", dtype=wanted).tobytes())
            file.flush()
            os.fsync(file.fileno())

    def write_input_nodes(self) -> str:
        """Make input_nodes.npy, the training nodes, or all without such a split; and y.npy where there are labels."""

        def write(path: str) -> None:
            with gz.open(self.folder) as dataset:
                nodes = dataset.split("train") if "train" in self.splits else np.arange(self.num_nodes)
                np.save(path, np.array(nodes, np.int64))
                if self.num_classes is not None:
                    np.save(self.scratch_file("y.npy"), np.array(dataset.labels().get_tensor(), np.int64))

        return self.once("input_nodes.npy", write)

    def describe(self) -> str:
        """Say in a line what is measured."""
        rows = f", {self.num_features} features ({self.feature_dtype})" if self.features else ", no features"
        return f"{self.num_nodes:,} nodes, {self.num_edges:,} edges{rows}"

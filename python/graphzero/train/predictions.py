"""What a model says of nodes, block by block, to a file that appears whole or not at all."""

from __future__ import annotations

import csv
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphzero._base.argument_errors import check_choice, value_error
from graphzero._base.dtypes import as_data_type
from graphzero._files.folder import hidden_folder
from graphzero._files.renames import rename
from graphzero._files.storage import target_here
from graphzero.convert.arrow_files import pyarrow
from graphzero.convert.row_writer import RowWriter
from graphzero.dataset import Dataset
from graphzero.features import FeatureStore
from graphzero.loaders.layerwise import inference
from graphzero.train.models import OneType
from graphzero.train.run import Run
from graphzero.train.task import Task

ENDINGS = (".gd", ".parquet", ".csv")
_VALUES_AT_ONCE = 1 << 22  # scores that are read back together
_FLOATS = ("float32", "float64", "float16", "bfloat16")


def check_out(path: str | os.PathLike[str]) -> None:
    """Refuse a file that predictions could not become, before anything is trained for them."""
    name = target_here(path)
    ending = os.path.splitext(name)[1].lower()
    if ending not in ENDINGS:
        raise value_error("predict", f"expected a name that ends in .gd, .parquet or .csv, found {name!r}")
    if os.path.lexists(name):
        raise FileExistsError(errno.EEXIST, "exists; remove it, or choose another name", name)
    folder = os.path.dirname(os.path.abspath(name))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "no such folder; make it first", folder)
    if ending == ".parquet":
        pyarrow("pyarrow.parquet")


def check_inference(run: Run, how: str) -> None:
    """Refuse a way to predict that the model does not allow."""
    check_choice(how, "inference", "sample", "layers")
    if how == "sample":
        return
    if not isinstance(run.model, OneType) or run.settings.model == "gcn":
        kind = "gcn" if run.settings.model == "gcn" else "a model over several types"
        raise value_error("inference", f"layers is for sage and gat on one type of nodes, found {kind}; take sample")
    store = run.task.data.nodes[run.task.target][run.model.attribute]
    if len(store.shape) != 2 or not (store.quantised or store.dtype in _FLOATS):
        raise value_error(
            "inference",
            f"layers needs rows of floats, found {store.dtype} of shape {store.shape} in {store.path}; take sample",
        )


def check_split(data: Dataset, target: str, split: str | None) -> None:
    """Refuse a split that the target does not have."""
    if split is not None and not data.has_split(split, target):
        there = [name for name in data.split_names if data.has_split(name, target)]
        raise value_error(
            "predict_split", f"expected one of {', '.join(there) or 'the splits'} of {target}, found {split!r}"
        )


def predict(
    run: Run, out: str | os.PathLike[str], *, split: str | None = None, scores: bool = False, how: str = "sample"
) -> int:
    """Write the class of each node, or of those of a split, and return how many there are.

    With ``scores``, also the probability of each class; a ``.gd`` file then has these alone. ``"sample"`` draws
    neighbours as for the measures; ``"layers"`` takes them all, one layer after the other.
    """
    check_out(out)
    check_inference(run, how)
    kind = run.task.data.nodes[run.task.target]
    check_split(run.task.data, kind.name, split)
    ids = None if split is None else run.task.data.split(split, kind.name, writable=False)
    count = kind.num_nodes if ids is None else len(ids)
    path = os.path.abspath(os.fspath(out))
    with hidden_folder(path) as folder:
        whole = os.path.join(folder, f"predictions{os.path.splitext(path)[1].lower()}")
        with (
            _writer(whole, run.task, count, scores) as writer,
            _blocks(run, split, ids, how, folder) as blocks,
        ):
            done = 0
            for block in blocks:
                stop = done + len(block)
                writer.append(np.arange(done, stop) if ids is None else ids[done:stop], block)
                done = stop
        rename(whole, path)
    return count


@contextmanager
def _blocks(run: Run, split: str | None, ids: NDArray[np.int64] | None, how: str, folder: str) -> Iterator[Any]:
    """Give the scores of the nodes, in their order, in blocks."""
    if how == "sample":
        scores = run.scores(split)
        try:
            yield scores
        finally:
            scores.close()
        return
    assert isinstance(run.model, OneType)
    path = os.path.join(folder, "scores.gd")
    with inference(
        run.model.layers, run.task.data, path, features=run.model.attribute, memory=run.memory_to_measure
    ) as store:
        yield _stored(store, ids)


def _stored(store: FeatureStore, ids: NDArray[np.int64] | None) -> Iterator[Tensor]:
    count = store.num_rows if ids is None else len(ids)
    step = max(1, _VALUES_AT_ONCE // max(1, store.feature_dim))
    for first in range(0, count, step):
        stop = min(first + step, count)
        yield torch.from_numpy(store.gather(np.arange(first, stop) if ids is None else ids[first:stop]))


class _Writer(Protocol):
    def append(self, ids: NDArray[np.int64], scores: Tensor) -> None: ...


@contextmanager
def _writer(path: str, task: Task, count: int, scores: bool) -> Iterator[_Writer]:
    if path.endswith(".gd"):
        with RowWriter(
            path,
            as_data_type("float32" if scores else "int64"),
            (task.num_classes,) if scores else (),
            quantised=False,
            num_rows=count,
        ) as rows:
            yield _Rows(rows, scores)
            rows.finish()
        return
    columns = _Columns(task, scores)
    if path.endswith(".csv"):
        with open(path, "x", encoding="utf-8", newline="") as file:
            yield _Csv(file, columns)
            file.flush()
            os.fsync(file.fileno())
        return
    parquet = pyarrow("pyarrow.parquet")
    with parquet.ParquetWriter(path, columns.schema()) as file:
        yield _Parquet(file, columns)


class _Rows:
    """A ``.gd`` file: a class per row, or the probability of each."""

    def __init__(self, rows: RowWriter, scores: bool) -> None:
        self._rows = rows
        self._scores = scores

    def append(self, ids: NDArray[np.int64], scores: Tensor) -> None:
        found = scores.float().softmax(1) if self._scores else scores.argmax(1)
        self._rows.append(found.contiguous().numpy(), None)


class _Columns:
    """The columns of a table: the node's own id, the name of its class, and the probability of each class."""

    def __init__(self, task: Task, scores: bool) -> None:
        self._kind, num_classes = task.data.nodes[task.target], task.num_classes
        self._scores = scores
        names = task.class_names
        # Names may be fewer than the classes a model was made for.
        self._names = None if names is None else [*names, *map(str, range(len(names), num_classes))]
        self._score_names = [f"score_{name}" for name in self._names or range(num_classes)] if scores else []

    @property
    def names(self) -> list[str]:
        return ["node", "class", *self._score_names]

    def schema(self) -> Any:
        arrow = pyarrow()
        has_text = self._kind.ids is not None and self._kind.ids.kind == "string"
        kinds = [
            arrow.string() if has_text else arrow.int64(),
            arrow.int64() if self._names is None else arrow.string(),
            *[arrow.float32()] * len(self._score_names),
        ]
        return arrow.schema(list(zip(self.names, kinds, strict=True)))

    def of(self, ids: NDArray[np.int64], scores: Tensor) -> list[list[Any]]:
        classes = scores.argmax(1).tolist()
        nodes = ids if self._kind.ids is None else self._kind.ids.labels(ids)
        columns = [nodes.tolist(), classes if self._names is None else [self._names[number] for number in classes]]
        if self._scores:
            columns += scores.float().softmax(1).T.tolist()
        return columns


class _Csv:
    def __init__(self, file: IO[str], columns: _Columns) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._columns = columns
        self._writer.writerow(columns.names)

    def append(self, ids: NDArray[np.int64], scores: Tensor) -> None:
        self._writer.writerows(zip(*self._columns.of(ids, scores), strict=True))


class _Parquet:
    def __init__(self, file: Any, columns: _Columns) -> None:
        self._file = file
        self._columns = columns

    def append(self, ids: NDArray[np.int64], scores: Tensor) -> None:
        schema = self._columns.schema()
        self._file.write_table(pyarrow().table(self._columns.of(ids, scores), schema=schema))

"""What there is to learn in a data set: whose labels, from which features, on which nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import value_error
from graphzero.dataset import Dataset, NodeType
from graphzero.features import FeatureStore

_SPLITS = ("train", "valid", "test")
_READ_AT_ONCE = 1 << 20  # labels, while they are looked at
# What stands for a class beyond this is an id or a hash; the last layer of a model has a column for each.
MOST_CLASSES = 1 << 20


@dataclass(frozen=True)
class Task:
    """Node classification.

    ``features`` has for each node type the attribute that the model gets and how many numbers that is per node;
    ``None`` for a type that has none. ``class_names`` are those of the model's classes, class 0 first.

    On other data than a model was trained on, ``class_numbers`` has the model's number for each class of the data, -1
    for one that it does not know, and ``left_out`` how many nodes of such classes each split has, by name. ``None``:
    the numbers are the same.
    """

    data: Dataset
    target: str
    num_classes: int
    features: dict[str, tuple[str, int] | None]
    class_names: tuple[str, ...] | None = None
    class_numbers: NDArray[np.int64] | None = field(default=None, repr=False)
    left_out: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def splits(self) -> dict[str, int]:
        """Those of train, valid and test that have nodes, and how many."""
        return _splits(self.data, self.target)


def find_task(data: Dataset, target: str | None = None) -> Task:
    """Find the labels, or those of node type ``target``, and features for them, or say what is missing.

    Reads the labels of all splits, so that a wrong one is reported now, not when training comes to it.
    """
    check_edges(data)
    kind = _target(data, target)
    assert kind.label is not None
    labels = kind[kind.label]
    if any(size != 1 for size in labels.shape[1:]):
        raise ValueError(
            f"{labels.path}: expected one class per node, found rows of {labels.shape[1:]}; training is for one label"
        )
    if labels.dtype == "bfloat16" or labels.quantised:  # neither counts classes exactly
        raise ValueError(f"{labels.path}: expected classes as integers, found {labels.dtype}; write them as int64")
    if "train" not in _splits(data, kind.name):
        there = sorted(name for name in data.split_names if data.has_split(name, kind.name))
        found = "an empty one" if "train" in there else ", ".join(there) or "no splits"
        raise ValueError(
            f"{data.path}: expected a split 'train' of {kind.name}, found {found}; "
            "DatasetWriter.add_split('train', ids) writes one"
        )
    num_classes = _num_classes(data, kind, labels)
    names = None if kind.class_names is None else tuple(kind.class_names[:num_classes])
    return Task(data, kind.name, num_classes, find_features(data), names)


def check_edges(data: Dataset) -> None:
    """Refuse a data set whose nodes get no messages."""
    if not data.edges:
        raise ValueError(f"{data.path}: has no edges, only nodes; there is nothing for a graph model to learn from")
    for edge in data.edges.values():
        if "in" not in edge.graph.indexes:
            raise ValueError(
                f"{edge.graph.path}: has no 'in' index, which training needs to find the nodes that send a node "
                "messages; write or convert the graph with index='both'"
            )


def find_features(data: Dataset) -> dict[str, tuple[str, int] | None]:
    """Return the attribute that a model gets of each node type and its numbers per node, or ``None``."""
    features = {name: _features(data, node) for name, node in data.nodes.items()}
    if not any(features.values()):
        raise ValueError(f"{data.path}: has no features to learn from; DatasetWriter.add_nodes({{'x': …}}) writes some")
    return features


def _splits(data: Dataset, target: str) -> dict[str, int]:
    there = {name: len(data.split(name, target)) for name in _SPLITS if data.has_split(name, target)}
    return {name: count for name, count in there.items() if count > 0}


def _target(data: Dataset, wanted: str | None) -> NodeType:
    if wanted is not None and wanted not in data.nodes:
        raise value_error("target", f"expected one of {', '.join(data.node_types)}, found {wanted!r}")
    labelled = [node.name for node in data.nodes.values() if node.label is not None]
    if wanted is None and len(labelled) > 1:
        raise ValueError(f"{data.path}: several node types have labels; set the target to one of {', '.join(labelled)}")
    name = wanted if wanted is not None else labelled[0] if labelled else None
    if name is None or name not in labelled:
        of = "nodes" if name is None else f"nodes of type {name!r}"
        raise ValueError(f"{data.path}: {of} have no labels; DatasetWriter.add_nodes(…, label='y') says what they are")
    return data.nodes[name]


def _features(data: Dataset, node: NodeType) -> tuple[str, int] | None:
    """Return ``x``, or the one attribute that could be meant."""
    columns = {name: math.prod(store.shape[1:]) for name, store in node.attributes.items() if name != node.label}
    vectors = [name for name, count in columns.items() if count > 1]
    if "x" not in columns and len(vectors) > 1:
        raise ValueError(
            f"{data.path}: nodes of type {node.name!r} have several attributes that could be their features, "
            f"{', '.join(vectors)}; name one of them x"
        )
    name = "x" if "x" in columns else vectors[0] if vectors else None
    return None if name is None else (name, columns[name])


def _num_classes(data: Dataset, kind: NodeType, labels: FeatureStore) -> int:
    """Return how many classes there are, in the manifest's words or by the highest label; refuse other labels."""
    bound = MOST_CLASSES if kind.num_classes is None else kind.num_classes
    highest = -1
    for split, part, values in split_labels(data, kind.name):
        wrong = ~((values >= 0) & (values < bound) & (values == np.floor(values)))  # also what is no number
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"{labels.path}: expected classes from 0 to {bound - 1}, found {values[place]:g} for node "
                f"{part[place]} of split {split}; leave nodes without a class out of the splits"
            )
        highest = max(highest, int(values.max()))
    return highest + 1 if kind.num_classes is None else kind.num_classes


def split_labels(data: Dataset, target: str) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.float64]]]:
    """Yield the nodes of all splits with their labels, in blocks, and the split that each block is of."""
    labels = data.labels(target)
    for split in _splits(data, target):
        ids = data.split(split, target, writable=False)
        for first in range(0, len(ids), _READ_AT_ONCE):
            part = ids[first : first + _READ_AT_ONCE]
            yield split, part, np.asarray(labels.gather(part), dtype=np.float64).reshape(-1)

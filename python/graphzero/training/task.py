"""What there is to learn in a data set: whose labels, from which features, on which nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphzero.dataset import Dataset, NodeType
from graphzero.features import FeatureStore

_READ_AT_ONCE = 1 << 20  # labels, while they are counted


@dataclass(frozen=True)
class Task:
    """Node classification.

    ``features`` tells for each node type which attribute the model gets and how many numbers that is per node;
    ``None`` for a type that has none.
    """

    data: Dataset
    target: str
    num_classes: int
    features: dict[str, tuple[str, int] | None]

    @property
    def splits(self) -> list[str]:
        """Those of train, valid and test that are there."""
        return [name for name in ("train", "valid", "test") if self.data.has_split(name, self.target)]


def find_task(data: Dataset, target: str | None = None) -> Task:
    """Find the labels, or those of node type ``target``, and features for them, or say what is missing."""
    if not data.edges:
        raise ValueError(f"{data.path}: has no edges, only nodes; there is nothing for a graph model to learn from")
    kind = _target(data, target)
    assert kind.label is not None
    labels = kind[kind.label]
    if len([size for size in labels.shape[1:] if size != 1]) > 0:
        raise ValueError(
            f"{labels.path}: expected one class per node, found rows of {labels.shape[1:]}; training is for one label"
        )
    if not data.has_split("train", kind.name):
        there = sorted({name for name in data.split_names if data.has_split(name, kind.name)})
        raise ValueError(
            f"{data.path}: expected a split 'train' of {kind.name}, found {', '.join(there) or 'no splits'}; "
            "DatasetWriter.add_split('train', ids) writes one"
        )
    features = {name: _features(node) for name, node in data.nodes.items()}
    if not any(features.values()):
        raise ValueError(f"{data.path}: has no features to learn from; DatasetWriter.add_nodes(x=…) writes some")
    num_classes = kind.num_classes if kind.num_classes is not None else _count_classes(data, kind.name, labels)
    return Task(data, kind.name, num_classes, features)


def _target(data: Dataset, wanted: str | None) -> NodeType:
    if wanted is not None and wanted not in data.nodes:
        raise ValueError(f"target: expected one of {', '.join(data.node_types)}, found {wanted!r}")
    labelled = [node.name for node in data.nodes.values() if node.label is not None]
    if wanted is None and len(labelled) > 1:
        raise ValueError(f"{data.path}: several node types have labels; set the target to one of {', '.join(labelled)}")
    name = wanted if wanted is not None else labelled[0] if labelled else None
    if name is None or name not in labelled:
        of = "nodes" if name is None else f"nodes of type {name!r}"
        raise ValueError(f"{data.path}: {of} have no labels; DatasetWriter.add_nodes(…, label='y') says what they are")
    return data.nodes[name]


def _features(node: NodeType) -> tuple[str, int] | None:
    """Return ``x``, or the one attribute that could be meant."""
    there = {name: store for name, store in node.attributes.items() if name != node.label}
    vectors = [name for name, store in there.items() if len(store.shape) == 2 and store.shape[1] > 1]
    name = "x" if "x" in there else vectors[0] if len(vectors) == 1 else None
    return None if name is None else (name, int(np.prod(there[name].shape[1:])))


def _count_classes(data: Dataset, target: str, labels: FeatureStore) -> int:
    """Return one more than the highest label of the training nodes."""
    ids = data.split("train", target)
    highest = -1.0
    for first in range(0, len(ids), _READ_AT_ONCE):
        part = labels.gather(ids[first : first + _READ_AT_ONCE])
        highest = max(highest, float(np.nanmax(part, initial=-1.0)))
    return int(highest) + 1

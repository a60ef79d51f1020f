"""The classes that a model knows, in other data: the same names where both have names, else the same numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graphzero.train.task import MOST_CLASSES, Task, split_labels


def with_known_classes(task: Task, path: str, num_classes: int, names: Sequence[str] | None) -> Task:
    """Return a task whose classes are those of the checkpoint ``path``; refuse data that has none of them."""
    own = task.data.nodes[task.target]
    if names is None or own.class_names is None:
        if task.num_classes > num_classes:
            raise ValueError(
                f"{task.data.path}: expected at most {num_classes} classes, as {path} was trained on, "
                f"found {task.num_classes}"
            )
        if own.num_classes not in (None, num_classes):
            raise ValueError(
                f"{task.data.path}: expected {num_classes} classes, as {path} was trained on, found {own.num_classes}, "
                "and only names could say which is which; give both data sets class names, and train anew"
            )
        kept = own.class_names if names is None else names
        return replace(task, num_classes=num_classes, class_names=None if kept is None else tuple(kept))
    if task.num_classes > MOST_CLASSES:  # a manifest may claim any number
        raise ValueError(
            f"{task.data.path}: expected at most {MOST_CLASSES} classes to match with those of {path}, found "
            f"{task.num_classes}"
        )
    # As many as the data has: the checkpoint may claim any number too.
    known = {name: number for number, name in enumerate(_all_names(names, min(num_classes, task.num_classes)))}
    known |= {name: number for number, name in enumerate(names[:num_classes])}
    found = _all_names(own.class_names, task.num_classes)
    numbers = np.array([known.get(name, -1) for name in found], dtype=np.int64)
    mapped = replace(task, num_classes=num_classes, class_names=tuple(names))
    if np.array_equal(numbers, np.arange(len(numbers))):
        return mapped
    return replace(mapped, class_numbers=numbers, left_out=_left_out(task, path, numbers, found))


def _all_names(names: Sequence[str], num_classes: int) -> list[str]:
    """Return a name for each class; classes beyond the names are called by their numbers."""
    return [*names[:num_classes], *map(str, range(len(names), num_classes))]


def _left_out(task: Task, path: str, numbers: NDArray[np.int64], names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Count the nodes of each split whose class the model does not know, by the name of the class."""
    counts: dict[str, Counter[int]] = {}
    for split, _, labels in split_labels(task.data, task.target):
        classes = labels.astype(np.int64)
        unknown, nodes = np.unique(classes[numbers[classes] < 0], return_counts=True)
        counts.setdefault(split, Counter()).update(dict(zip(unknown.tolist(), nodes.tolist(), strict=True)))
    for split, found in counts.items():
        if found.total() == task.splits[split]:
            raise ValueError(
                f"{task.data.path}: expected nodes of classes that {path} was trained on in split {split}, found only "
                f"others, such as {names[min(found)]!r}; name the classes as in the data that it was trained on, or "
                "train anew"
            )
    return {
        split: {names[number]: count for number, count in sorted(found.items())}
        for split, found in counts.items()
        if found
    }

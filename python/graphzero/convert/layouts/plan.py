"""What a data set consists of, and where each part lies: the result of reading a layout."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import Setting, error_of, value_error
from graphzero._core import FormatError
from graphzero._dataset.split_names import usual_split_name
from graphzero._files.folder import check_free_space, check_regular, is_inside
from graphzero.convert.edge_sources.array_file import ArrayFile
from graphzero.dataset import EDGE as EDGE
from graphzero.dataset import NODE as NODE
from graphzero.dataset import EdgeTriple as EdgeTriple

_LARGEST_CLASS = 2**53  # floats beyond are whole by chance


@dataclass(frozen=True)
class Labels:
    """Labels as they were found: numbers, in a column perhaps, NaN where a node has none."""

    source: NDArray[Any] | ArrayFile


@dataclass(frozen=True)
class Typed:
    """Something without an element type of its own, such as text, with that type."""

    source: Any
    dtype: str


@dataclass
class NodePlan:
    """One kind of node. Attributes are paths, arrays, tensors, array files, labels or typed sources."""

    num_nodes: int
    attributes: dict[str, Any] = field(default_factory=dict)
    label: str | None = None
    num_classes: int | None = None
    ids: str | None = None  # the path of a .gi file, if ids were labels
    categories: dict[str, list[str]] = field(default_factory=dict)  # what the integers of attributes stand for
    other: dict[str, Any] = field(default_factory=dict)  # tensors and values without a row per node


@dataclass
class EdgePlan:
    """One kind of edge: what ``convert_edges`` takes, with its options."""

    source: Any
    options: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    weight: str | None = None  # the attribute that the weights in ``source`` are
    time: str | None = None
    categories: dict[str, list[str]] = field(default_factory=dict)
    other: dict[str, Any] = field(default_factory=dict)


@dataclass
class Plan:
    """A whole data set."""

    nodes: dict[str, NodePlan] = field(default_factory=dict)
    edges: dict[EdgeTriple, EdgePlan] = field(default_factory=dict)
    splits: list[tuple[str, str | EdgeTriple, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)  # what was found and is not converted, with the reason
    hetero: bool = False  # batches name their types even if there is one of each
    other: dict[str, Any] = field(default_factory=dict)

    def add_split(self, name: str, of: str | EdgeTriple, ids: Any) -> None:
        """Add a split under the name we have for it."""
        self.splits.append((usual_split_name(name), of, ids))

    def node(self, kind: str, what: str) -> NodePlan:
        """Return the nodes that ``what`` of the layout belongs to."""
        if kind not in self.nodes:
            raise FormatError(f"{what}: expected nodes of a type of {sorted(self.nodes)}, found {kind!r}")
        return self.nodes[kind]

    def add_label(self, of: str, name: str, labels: Labels, num_classes: int | None = None) -> None:
        """Add labels and name them as such."""
        node = self.node(of, "labels")
        node.attributes[name] = labels
        node.label, node.num_classes = name, num_classes


@dataclass(frozen=True)
class LayoutOptions:
    """What a user may say about a layout that it does not say itself."""

    num_nodes: int | dict[str, int] | None = None
    split: str | int | None = None
    label: str | None = None
    task: str | None = None
    add_inverse_edge: bool | None = None
    weight: str | bool | None = None  # which attribute of edges draws go by
    time: str | bool | None = None
    memory: int | str | None = None
    workspace: str | None = None  # a folder for files that are made on the way

    def count_of(self, kind: str) -> int | None:
        """Return the number of nodes the user gave for a kind."""
        if isinstance(self.num_nodes, dict):
            return self.num_nodes.get(kind)
        return self.num_nodes if kind == NODE else None

    def made(self, name: str) -> str:
        """Return the path of a file that is made on the way."""
        if self.workspace is None:
            raise value_error("workspace", "expected a folder for the files made on the way, found none")
        return os.path.join(self.workspace, name)


def filled_array(path: str, dtype: np.dtype[Any], shape: tuple[int, ...], value: Any) -> NDArray[Any]:
    """Make an array on disk, as its extents may be whatever a file claims, with the same number everywhere."""
    check_free_space(path, math.prod(shape) * dtype.itemsize)
    array = np.lib.format.open_memmap(path, "w+", dtype, shape)
    if value != 0:  # a new file reads as zeros
        array[:] = value
    return array


def write_labels(labels: Labels, path: str, *, block: int = 1 << 20) -> int | None:
    """Write labels to a ``.npy`` file and return the number of classes, if they are classes.

    A column becomes a vector. Whole numbers become int64, and -1 where there was NaN; other numbers, and those
    with several a node, stay as they are.
    """
    array = labels.source.mapped(f"{path}.inflated") if isinstance(labels.source, ArrayFile) else labels.source
    if array.ndim == 0 or array.dtype.kind not in "iufb":
        name = labels.source.name if isinstance(labels.source, ArrayFile) else "labels"
        raise FormatError(
            f"{name}: expected labels, a number for each node, found {array.dtype} of shape {array.shape}"
        )
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    whole = array.ndim == 1 and (array.dtype.kind in "iub" or all(_is_whole(part) for part in _parts(array, block)))
    written = np.lib.format.open_memmap(path, "w+", np.dtype(np.int64) if whole else array.dtype, array.shape)
    largest = -1
    for start, part in zip(range(0, len(array), block), _parts(array, block), strict=True):
        if whole and part.dtype.kind == "f":
            part = np.where(np.isnan(part), -1, part).astype(np.int64)
        written[start : start + len(part)] = part
        largest = max(largest, int(part.max(initial=-1))) if whole else largest
    del written
    return largest + 1 if whole else None


def count_classes(array: NDArray[Any], *, block: int = 1 << 20) -> int | None:
    """Return the number of classes that labels tell apart, if they are classes: one number each, or a column each."""
    if array.ndim == 2 and array.shape[1] > 1:
        return int(array.shape[1])
    flat = array.reshape(-1)
    if flat.dtype.kind not in "iub":  # numbers to be fitted, or classes that the caller may count
        return None
    return max((int(part.max()) for part in _parts(flat, block)), default=-1) + 1


def _parts(array: NDArray[Any], block: int) -> Iterator[NDArray[Any]]:
    for start in range(0, len(array), block):
        yield array[start : start + block]


def _is_whole(part: NDArray[Any]) -> bool:
    known = part[~np.isnan(part)]
    return bool((np.abs(known) <= _LARGEST_CLASS).all() and (known == np.floor(known)).all())


def existing(folder: str, *names: str) -> str | None:
    """Return the first of ``names`` that is in ``folder``."""
    for name in names:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            check_regular(path)
            return path
    return None


def inside(folder: str, name: Any, named_by: str) -> str:
    """Return the path of what the file ``named_by`` calls ``name``; it must not lead out of ``folder``."""
    if not is_inside(name):
        raise FormatError(f"{named_by}: expected a path inside the folder, found {str(name)[:80]!r}")
    path = os.path.join(folder, name)
    check_regular(path)
    return path


def files_in(folder: str) -> list[str]:
    """List what is in ``folder``, by name; pipes and devices are refused."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in names:
        check_regular(os.path.join(folder, name))
    return names


def folders_in(folder: str) -> list[str]:
    """List the folders in ``folder``, by name."""
    if not os.path.isdir(folder):
        return []
    return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())


def one_split_folder(folder: str, wanted: str | int | None) -> str | None:
    """Return the folder of the only split there is, or of the one the user named."""
    names = folders_in(folder)
    if wanted is None and len(names) > 1:
        raise _other_split(folder, names, "none given")
    if wanted is not None and wanted not in names:
        raise _other_split(folder, names, repr(wanted))
    return os.path.join(folder, str(wanted or names[0])) if names else None


def _other_split(folder: str, names: list[str], found: str) -> ValueError:
    return error_of(ValueError, f"{folder}: expected ", Setting("split"), f" one of {', '.join(names)}, found {found}")

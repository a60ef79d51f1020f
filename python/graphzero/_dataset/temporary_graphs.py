"""Graph files of edges given as tensors. They are removed with the model they were written for."""

from __future__ import annotations

import os
import shutil
import weakref
from typing import Any, Literal

from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.arrays import as_numpy
from graphzero.graph import Graph, write_graph


class TemporaryGraphs:
    """A folder of ``.gl`` files, which is removed when nothing refers to this object any more."""

    def __init__(self) -> None:
        self._folder = temporary_folder(self)
        self._written = 0

    def write(
        self, edge_index: Any, num_nodes: int | tuple[int, int], index: Literal["both", "out", "in"] = "out"
    ) -> Graph:
        """Write what ``ends_of()`` accepts, and mount it."""
        src, dst = ends_of(edge_index, "edge_index")
        path = os.path.join(self._folder, f"{self._written}.gl")
        self._written += 1
        write_graph(path, src, dst, num_nodes=num_nodes, index=index)
        return Graph(path)

    def __deepcopy__(self, memo: dict[int, Any]) -> TemporaryGraphs:
        return self  # a copied model mounts the same files


def temporary_folder(owner: object) -> str:
    """Make a folder that is removed when nothing refers to ``owner`` any more."""
    import tempfile  # takes longer than the rest of the module

    folder = tempfile.mkdtemp(prefix="graphzero-")
    weakref.finalize(owner, _remove, folder, os.getpid())
    return folder


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # a forked child ends before the owner in its parent
        shutil.rmtree(folder, ignore_errors=True)


def ends_of(edge_index: Any, name: str) -> tuple[Any, Any]:
    """Return both rows of PyG's ``edge_index``."""
    if str(getattr(edge_index, "layout", "torch.strided")) != "torch.strided":
        # An adjacency matrix does not say whether its rows are the sources, or as in PyG's adj_t the destinations.
        raise type_error(
            name,
            "expected a tensor of shape (2, edges), found a sparse one; torch_geometric.utils.to_edge_index "
            "makes it of a matrix whose rows are the sources, and .flip(0) of that if they are the destinations",
        )
    array = as_numpy(edge_index, name)
    if array.ndim != 2 or len(array) != 2:
        raise value_error(name, f"expected a tensor of shape (2, edges), found {tuple(array.shape)}")
    if array.size and array.dtype.kind not in "iu":
        raise type_error(name, f"expected integers, found {array.dtype}")
    if array.size and array.min() < 0:
        raise value_error(name, f"expected node ids of at least 0, found {array.min()}")
    return array[0], array[1]

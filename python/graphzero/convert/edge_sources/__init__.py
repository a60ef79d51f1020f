"""Whatever holds edges, as batches of edges: files, arrays, tables, matrices, graphs and iterators.

Text is not read here but by the core, see ``graphzero.convert.edges``.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import Any

from graphzero._base.argument_errors import type_error
from graphzero._files.folder import check_regular
from graphzero._files.storage import StoredPath, path_here
from graphzero.convert.arrow_files import PARQUET, parquet_files
from graphzero.convert.edge_sources import arrow, gap, in_memory, networkx_graph, numpy_files, sparse_matrix
from graphzero.convert.edge_sources.batch import EdgeBatch, EdgeSource
from graphzero.convert.edge_sources.chain import ChainedSource
from graphzero.convert.edge_sources.graphzero02 import Graphzero02Source, is_graphzero02_graph
from graphzero.convert.edge_sources.iterables import IterableSource
from graphzero.convert.edge_sources.matrix_market import MatrixMarketSource
from graphzero.convert.edge_sources.synthetic import SyntheticSource
from graphzero.convert.edge_sources.torch_files import load_tensors
from graphzero.convert.text import matching

__all__ = ["EdgeBatch", "EdgeSource", "edge_source", "files_of", "range_source", "source_ranges"]


def edge_source(
    source: Any,
    *,
    src: Any = None,
    dst: Any = None,
    weight: Any = None,
    time: Any = None,
    time_unit: str | None = None,
    directed: bool = True,
    tmp_dir: str | None = None,
) -> EdgeSource | None:
    """Return ``source`` as batches of edges, or ``None`` if it is the path of a text file.

    ``src``, ``dst``, ``weight`` and ``time`` choose columns by name or position: of tables, of ``.npz``
    files, of graphs with attributes. ``weight=False`` leaves out weights that a matrix or ``.wsg`` has. A graph of
    GraphZero 0.2 does not say whether it is ``directed``. ``time_unit`` is what timestamps of a table become.
    Only the header of a file is read now.

    Examples:
        >>> batches = edge_source(np.array([[0, 0, 1, 3], [1, 2, 2, 0]])).batches(rows=3)
        >>> [batch.dst.tolist() for batch in batches]
        [[1, 2, 2], [0]]
    """
    if isinstance(source, SyntheticSource):
        return source
    options = {
        "src": src, "dst": dst, "weight": weight, "time": time, "time_unit": time_unit, "directed": directed,
        "tmp_dir": tmp_dir,
    }  # fmt: skip
    if isinstance(source, (str, os.PathLike)):
        return _path_source(path_here(source), **options)
    if isinstance(source, list) and source and all(isinstance(item, (str, os.PathLike)) for item in source):
        return _chained([path_here(item) for item in source], **options)
    columns = src, dst, weight, time
    if arrow.is_arrow_dataset(source):
        return arrow.dataset_source(source, columns, time_unit)
    if hasattr(source, "__arrow_c_stream__"):
        return arrow.stream_source(source, columns, time_unit)
    if sparse_matrix.is_scipy(source):
        return sparse_matrix.scipy_source(source, weight=weight)
    if in_memory.is_pyg(source):
        return in_memory.pyg_source(source, weight=weight, time=time)
    if networkx_graph.is_networkx(source):
        return networkx_graph.NetworkxSource(source, weight=weight, time=time)
    if in_memory.is_dgl(source):
        return in_memory.dgl_source(source, weight=weight, time=time)
    if isinstance(source, tuple):
        return in_memory.columns_source(source, weight=weight, time=time)
    if hasattr(source, "ndim") or (isinstance(source, list) and not _has_batches(source)):
        return in_memory.array_source(source, weight=weight, time=time)
    if isinstance(source, Iterable) and not isinstance(source, (bytes, dict)):
        return IterableSource(source, weight=weight, time=time)
    raise type_error(
        "edges",
        "expected a path, an array, a tuple (src, dst), a table, a sparse matrix, a graph or an iterable "
        f"of batches, found {type(source).__name__}",
    )


def files_of(path: str) -> list[str]:
    """Return the files of a pattern, or of a folder of Parquet; of any other path, the path itself."""
    if isinstance(path, StoredPath):
        return [path]
    if not os.path.isdir(path):
        return matching(path)
    found = parquet_files(path)
    if not found:
        raise IsADirectoryError(errno.EISDIR, "is a folder without files that end in .parquet, expected edges", path)
    return found


def source_ranges(path: str, size: int) -> list[tuple[int, int]] | None:
    """Cut a file into ranges of about ``size`` bytes: of row groups, or rows; ``None`` if it is read as a whole."""
    ending = _ending(path)
    if ending in PARQUET:
        return arrow.parquet_ranges(path, size)
    return numpy_files.npy_ranges(path, size) if ending == ".npy" else None


def range_source(
    path: str,
    begin: int,
    end: int,
    *,
    src: Any = None,
    dst: Any = None,
    weight: Any = None,
    time: Any = None,
    time_unit: str | None = None,
) -> EdgeSource:
    """Return the edges of one of ``source_ranges()``."""
    if _ending(path) in PARQUET:
        return arrow.parquet_source(path, (src, dst, weight, time), time_unit, range(begin, end))
    return numpy_files.npy_source(path, weight=weight, time=time, rows=(begin, end))


def _has_batches(items: list[Any]) -> bool:
    """Whether a list holds batches of arrays, rather than being two rows or many pairs of numbers."""
    first = items[0] if items else None
    return isinstance(first, (EdgeBatch, dict)) or (
        isinstance(first, tuple) and bool(first) and not isinstance(first[0], str) and hasattr(first[0], "__len__")
    )


def _path_source(
    path: str,
    *,
    src: Any,
    dst: Any,
    weight: Any,
    time: Any,
    time_unit: str | None,
    directed: bool,
    tmp_dir: str | None,
) -> EdgeSource | None:
    if is_graphzero02_graph(path):
        return Graphzero02Source(path, weight=weight, directed=directed)
    ending = _ending(path)
    if not _is_ours(path, ending):
        return None
    paths = files_of(path)
    if paths != [path]:
        return _chained(
            paths, src=src, dst=dst, weight=weight, time=time, time_unit=time_unit, directed=directed, tmp_dir=tmp_dir
        )
    check_regular(path)
    columns = src, dst, weight, time
    if ending in PARQUET:
        return arrow.parquet_source(path, columns, time_unit)
    if ending in arrow.IPC:
        return arrow.ipc_source(path, columns, time_unit)
    if ending == ".npy":
        return numpy_files.npy_source(path, weight=weight, time=time)
    if ending == ".npz":
        if src is None and sparse_matrix.is_save_npz(path):
            return sparse_matrix.save_npz_source(path, weight=weight)
        return numpy_files.npz_source(path, src=src, dst=dst, weight=weight, time=time, tmp_dir=tmp_dir)
    if ending == ".mtx":
        return MatrixMarketSource(path, weight=weight)
    if ending in (".sg", ".wsg"):
        return gap.GapSource(path, weight=weight)
    return edge_source(load_tensors(path, key=src), weight=weight, time=time)


_ENDINGS = (*PARQUET, *arrow.IPC, ".npy", ".npz", ".mtx", ".sg", ".wsg", ".pt")


def _ending(path: str) -> str:
    name = path.lower()
    return os.path.splitext(name.removesuffix(".gz") if name.endswith(".mtx.gz") else name)[1]


def _is_ours(path: str, ending: str) -> bool:
    return ending in _ENDINGS or os.path.isdir(path)


def _chained(paths: list[str], **options: Any) -> EdgeSource | None:
    sources = [_path_source(path, **options) for path in paths]
    found = [source for source in sources if source is not None]
    if not found:
        return None
    if len(found) < len(sources):
        text = paths[sources.index(None)]
        raise ValueError(f"{text}: expected files of one kind, found text beside {found[0].name}")
    return found[0] if len(found) == 1 else ChainedSource(found)

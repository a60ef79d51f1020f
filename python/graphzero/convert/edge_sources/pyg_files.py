"""PyG objects in ``.pt`` files, loaded without running the code a pickle may hold."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from graphzero._core import FormatError
from graphzero.convert.edge_sources.in_memory import is_pyg
from graphzero.convert.edge_sources.torch_files import load_pt


def load_pyg(path: str) -> Any:
    """Load a ``Data`` or ``HeteroData`` that ``torch.save`` wrote, or a data set of PyG in its ``processed`` folder."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            pyg: Any = importlib.import_module("torch_geometric.data")
    except ImportError as error:
        raise ImportError(f"{path}: needs PyG: pip install 'graphzero[pyg]' ({error})") from error
    found = load_pt(path, _plain_classes(pyg))
    try:
        return _graph_of(found, pyg, path)
    except FormatError:
        raise
    except Exception as error:  # of PyG, for parts that it would not have made
        raise refused_by_pyg(path, error) from error


def refused_by_pyg(path: str, error: Exception) -> FormatError:
    """Return what to raise where PyG's own methods fail on an object that a file made up."""
    return FormatError(f"{path}: expected a Data or HeteroData of PyG, found one that PyG refuses: {error}")


def _graph_of(found: Any, pyg: Any, path: str) -> Any:
    """Return the one graph of what the file holds."""
    if is_pyg(found):
        for store in found.stores:
            store.__dict__.pop("_cached_attr", None)  # PyG finds it out anew
        return found
    if isinstance(found, (tuple, list)) and len(found) in (2, 3):
        content, slices = found[:2]
        if slices:
            raise FormatError(f"{path}: expected one graph, found several; convert dataset[i] of them")
        if is_pyg(content):
            return content
        if isinstance(content, dict):
            kind = pyg.HeteroData if any(isinstance(part, dict) for part in content.values()) else pyg.Data
            return kind.from_dict(content)
    if isinstance(found, dict) and "edge_index" in found:
        return pyg.Data.from_dict(found)
    raise FormatError(f"{path}: expected a Data or HeteroData of PyG, found {type(found).__name__}")


def _plain_classes(pyg: Any) -> list[Any]:
    """Return the classes that a pickled ``Data`` or ``HeteroData`` consists of; they hold values and run no code."""
    parts = pyg.storage
    attributes = [pyg.data.DataEdgeAttr, pyg.data.DataTensorAttr, pyg.EdgeAttr, pyg.TensorAttr]
    attributes.append(pyg.graph_store.EdgeLayout)
    storages = [parts.BaseStorage, parts.NodeStorage, parts.EdgeStorage, parts.GlobalStorage, parts.AttrType]
    return [pyg.Data, pyg.HeteroData, *storages, *attributes, set, (_plain_dict, "collections.defaultdict")]


def _plain_dict(factory: Any = None) -> dict[Any, Any]:
    """Stand in for ``defaultdict``, which torch does not fill: PyG keeps what it found out of its attributes in one."""
    return {}

"""Tensors in ``.pt`` files, loaded without running the code a pickle may hold."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphzero._core import FormatError

_DEFAULT_KEY = "edge_index"


def load_pt(path: str) -> Any:
    """Load a ``.pt`` file that holds tensors, arrays and plain values, and nothing else."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise ImportError(f"{path}: .pt files need torch: pip install graphzero[torch] ({error})") from error
    import pickle

    try:
        with torch.serialization.safe_globals(_array_globals()):
            return torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        reason = (
            (str(error).strip() or "its end").splitlines()[0].split(". ")[0]
        )  # after that torch advises how to run its code
        raise FormatError(f"{path}: expected tensors and plain values, which load safely, found: {reason}") from error


def _array_globals() -> list[Any]:
    """Return what a pickle of NumPy arrays of numbers refers to; none of it runs code."""
    newer = np.lib.NumpyVersion(np.__version__) >= "2.0.0"
    multiarray = importlib.import_module("numpy._core.multiarray" if newer else "numpy.core.multiarray")
    kinds = {type(np.dtype(code)) for code in "?bBhHiIlLqQefd"}
    functions = [
        (getattr(multiarray, name), f"{module}.{name}")
        for name in ("_reconstruct", "scalar")
        for module in ("numpy.core.multiarray", "numpy._core.multiarray")
    ]
    return [np.ndarray, np.dtype, *kinds, *functions]


def load_tensors(path: str, *, key: str | None = None) -> Any:
    """Load edges: a tensor, or the one called ``key`` or ``edge_index`` in a mapping."""
    found = load_pt(path)
    if not isinstance(found, Mapping):
        return found
    name = _DEFAULT_KEY if key is None else key
    if name not in found:
        raise ValueError(f"{path}: expected one of its entries, {', '.join(map(str, found))}, found {name!r}")
    return found[name]

"""Tensors in ``.pt`` files, loaded without running the code a pickle may hold."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from graphzero._core import FormatError

_DEFAULT_KEY = "edge_index"
_one_at_a_time = threading.Lock()  # what torch allows is one list for the whole process


def load_pt(path: str, classes: Sequence[Any] = ()) -> Any:
    """Load a ``.pt`` file that holds tensors, arrays and plain values, objects of ``classes``, and nothing else."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise ImportError(f"{path}: .pt files need torch: pip install graphzero[torch] ({error})") from error
    import pickle

    try:
        with _allowed_only(torch.serialization, [*_array_globals(), *classes]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        # torch's first sentence says that it failed; then it advises how to run the code, and says why.
        reason = next((line for line in str(error).splitlines() if "Unsupported" in line), str(error)).strip()
        reason = (reason or "its end").splitlines()[0].removeprefix("WeightsUnpickler error: ").split(". ")[0]
        raise FormatError(f"{path}: expected tensors and plain values, which load safely, found: {reason}") from error


@contextmanager
def _allowed_only(serialization: Any, classes: list[Any]) -> Iterator[None]:
    """Let torch load these classes, and not what other libraries have allowed, which may be more."""
    with _one_at_a_time:
        before = serialization.get_safe_globals()
        serialization.clear_safe_globals()
        serialization.add_safe_globals(classes)
        try:
            yield
        finally:
            serialization.clear_safe_globals()
            serialization.add_safe_globals(before)


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

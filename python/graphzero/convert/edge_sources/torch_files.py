"""Tensors in ``.pt`` files, loaded without running the code a pickle may hold."""

from __future__ import annotations

import importlib
import io
import math
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._core import FormatError
from graphzero._files.folder import check_regular
from graphzero.convert.edge_sources.array_file import refusing_broken_zips

_DEFAULT_KEY = "edge_index"
# Below it a file that is made for it runs code or corrupts memory in torch's loader, also with weights_only=True:
# CVE-2025-32434, repaired in 2.6, and CVE-2026-24747, repaired in 2.10.
_SAFE_TORCH = (2, 10)
_NUMBERS = "?bBhHiIlLqQefd"
_one_at_a_time = threading.Lock()  # what torch allows is one list for the whole process


def load_pt(path: str, classes: Sequence[Any] = (), *, mapped: bool = False) -> Any:
    """Load a ``.pt`` file that holds tensors, arrays and plain values, objects of ``classes``, and nothing else.

    ``mapped`` leaves the numbers of tensors in the file, if it is not of torch's old form.
    """
    check_regular(path)
    torch = _safe_torch(path)
    is_zip = _is_zip(path)
    try:
        with (
            nullcontext(path) if is_zip else _BoundedFile(path) as source,
            _allowed_only(torch.serialization, [*_array_globals(), *classes]),
        ):
            return torch.load(source, map_location="cpu", weights_only=True, mmap=is_zip and mapped)
    except Exception as error:  # a state that a file made up fails in any way that the class it is for may fail
        if isinstance(error, MemoryError) or getattr(error, "filename", None) is not None:
            raise  # of the system, not of what the file holds
        # torch's first sentence says that it failed; then it advises how to run the code, and says why.
        reason = next((line for line in str(error).splitlines() if "Unsupported" in line), str(error)).strip()
        reason = (reason or "its end").splitlines()[0].removeprefix("WeightsUnpickler error: ").split(". ")[0]
        raise FormatError(f"{path}: expected tensors and plain values, which load safely, found: {reason}") from error


def _safe_torch(path: str) -> Any:
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise ImportError(f"{path}: .pt files need torch: pip install 'graphzero[torch]' ({error})") from error
    least = ".".join(map(str, _SAFE_TORCH))
    if torch.__version__ < _SAFE_TORCH:
        raise ImportError(
            f"{path}: .pt files need torch {least} or newer, found {torch.__version__}, in whose loader a file can run "
            f"code; pip install 'torch>={least}', or save the arrays as .npy where the file was made"
        )
    return torch


def _is_zip(path: str) -> bool:
    """Whether it is of torch's newer form; refuses members that are larger in memory than in the file."""
    import zipfile

    with refusing_broken_zips(path):
        if not zipfile.is_zipfile(path):
            return False
        with zipfile.ZipFile(path) as archive:
            claimed = sum(info.file_size for info in archive.infolist())
    if claimed > os.path.getsize(path):
        raise FormatError(
            f"{path}: expected members stored as they are, as torch.save writes them, found {claimed} bytes in a "
            f"file of {os.path.getsize(path)}"
        )
    return True


class _BoundedFile(io.BufferedReader):
    """A file that makes no room for more bytes than it has, whatever a pickle claims to hold."""

    def __init__(self, path: str) -> None:
        super().__init__(io.FileIO(path))
        self._size = os.fstat(self.fileno()).st_size

    def read(self, size: int | None = -1) -> bytes:
        return super().read(-1 if size is None else min(size, self._size))


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
    """Return what stands in for what a pickle of NumPy arrays refers to.

    NumPy's own take any state: that of a dtype with a subarray, or of an array without its bytes, crashes them.
    """
    modules = ("numpy.core.multiarray", "numpy._core.multiarray")
    functions = [(function, f"{module}.{name}") for module in modules for name, function in _FUNCTIONS.items()]
    kinds = {f"numpy.dtypes.{type(np.dtype(code)).__name__}" for code in _NUMBERS}
    return [(_Numbers, "numpy.ndarray"), *((_NumberType, name) for name in ("numpy.dtype", *kinds)), *functions]


class _NumberType:
    """Stands in for ``numpy.dtype`` while a pickle is loaded: numbers of one plain type."""

    def __init__(self, code: Any = None, *options: Any) -> None:
        if not isinstance(code, str) or code not in {np.dtype(kind).str[1:] for kind in _NUMBERS}:
            raise ValueError(f"the NumPy type {str(code)[:40]!r}, which is not one of plain numbers")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        plain = isinstance(state, tuple) and len(state) == 8 and state[2:5] == (None, None, None)
        if not plain or state[1] not in ("<", ">", "|", "="):
            raise ValueError("a NumPy type that is not one of plain numbers")
        self.dtype = self.dtype.newbyteorder(state[1])


class _Numbers(np.ndarray[Any, Any]):
    """Stands in for ``numpy.ndarray`` while a pickle is loaded, and takes only what an array of numbers is made of."""

    def __new__(cls, *given: Any) -> Any:
        return super().__new__(cls, (0,), np.int8)

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran_order, data = state
        if not isinstance(kind, _NumberType) or not isinstance(data, bytes):
            raise ValueError("an array whose items are not plain numbers")
        if not all(isinstance(extent, int) and extent >= 0 for extent in shape):
            raise ValueError(f"an array of shape {shape}")
        if math.prod(shape) * kind.dtype.itemsize != len(data):
            raise ValueError(f"an array of shape {shape} in {len(data)} bytes")
        super().__setstate__((1, tuple(shape), kind.dtype, bool(fortran_order), data))  # type: ignore[arg-type]


def _new_array(*given: Any) -> Any:
    return _Numbers()


def _scalar(kind: Any, data: Any) -> Any:
    numbers: NDArray[Any] = np.frombuffer(data, kind.dtype)
    return numbers.reshape(())[()]


_FUNCTIONS = {"_reconstruct": _new_array, "scalar": _scalar}


def load_tensors(path: str, *, key: str | None = None) -> Any:
    """Load edges: a tensor, or the one called ``key`` or ``edge_index`` in a mapping."""
    found = load_pt(path)
    if not isinstance(found, Mapping):
        return found
    name = _DEFAULT_KEY if key is None else key
    if name not in found:
        raise ValueError(f"{path}: expected one of its entries, {', '.join(map(str, found))}, found {name!r}")
    return found[name]

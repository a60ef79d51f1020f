"""What all mounted files have: a path, ``close()``, an entry in memory reports, and a small pickle."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from graphzero._base.argument_errors import value_error
from graphzero._core import Check as CoreCheck
from graphzero._core import FormatError, VerifyProgress
from graphzero._files.storage import path_here

if TYPE_CHECKING:
    from typing_extensions import Self


class Core(Protocol):
    """The part of ``_core.Topology`` and ``_core.Features`` that a mounted file needs."""

    @property
    def fingerprint(self) -> int: ...
    @property
    def file_size(self) -> int: ...
    @property
    def is_graphzero02(self) -> bool: ...
    def resident_bytes(self) -> int | None: ...


C = TypeVar("C", bound=Core)

# Every store that is open now, for memory_report().
mounted: weakref.WeakSet[Mounted[Any]] = weakref.WeakSet()


def path_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the path as the core takes it: any bytes but NUL, which ends a path."""
    return os.fsencode(path_here(path))


def one_path(path: str | os.PathLike[str] | None, filename: str | os.PathLike[str] | None) -> str:
    """Return the one that was given; ``filename`` is what GraphZero 0.2 called its path."""
    given = [name for name in (path, filename) if name is not None]
    if len(given) != 1:
        raise TypeError("expected one path, as the first argument")
    return path_here(given[0])


def verify_if_asked(path: str, wanted: str, checks: Callable[[bytes, VerifyProgress], Sequence[CoreCheck]]) -> None:
    """Do what ``verify=`` asks for when a store is opened; opening itself proves the header."""
    if wanted == "header":
        return
    if wanted != "full":
        raise value_error("verify", f"expected 'header' or 'full', found {wanted!r}")
    for check in checks(path_bytes(path), VerifyProgress()):
        if check.problem:
            raise FormatError(f"{path}: {check.name}: {check.problem}")


class Mounted(Generic[C]):
    """Base of the mounted stores: a path, an end, a place in memory reports."""

    def __init__(self, path: str, core: C) -> None:
        self._path = path
        self._absolute_path = os.path.abspath(path)
        self._open_core: C | None = core
        mounted.add(self)

    @property
    def _core(self) -> C:
        if self._open_core is None:
            raise ValueError(f"{self._path}: this {type(self).__name__} is closed; open it again to use it")
        return self._open_core

    @property
    def path(self) -> str:
        """The path it was opened with."""
        return self._path

    @property
    def closed(self) -> bool:
        """Whether ``close()`` was called."""
        return self._open_core is None

    @property
    def nbytes(self) -> int:
        """The size of the file in bytes."""
        return self._core.file_size

    @property
    def fingerprint(self) -> int:
        """A number that changes whenever the contents do."""
        return self._core.fingerprint

    @property
    def is_graphzero02(self) -> bool:
        """Whether this is a file of GraphZero 0.2, which has neither version nor checksums."""
        return self._core.is_graphzero02

    @property
    def format(self) -> str:
        """``"1"``, or ``"GraphZero 0.2"`` for files of the predecessor."""
        return "GraphZero 0.2" if self.is_graphzero02 else "1"

    def resident_bytes(self) -> int | None:
        """Return how many bytes of the file are in the page cache; ``None`` if the kernel does not say."""
        return self._core.resident_bytes()

    def close(self) -> None:
        """Close the file. Arrays taken from it stay valid. May be called again."""
        self._open_core = None
        mounted.discard(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return reopen, (type(self), self._absolute_path, self.fingerprint)


def reopen(kind: type[Mounted[Any]], path: str, fingerprint: int) -> Mounted[Any]:
    """Open what another process pickled, and refuse a file that is no longer the same."""
    store = kind(path)  # type: ignore[call-arg]
    if store.fingerprint != fingerprint:
        found = store.fingerprint
        store.close()
        raise FormatError(
            f"{path}: the file changed since it was pickled: expected fingerprint {fingerprint:#x}, "
            f"found {found:#x}; open it anew with {kind.__name__}(path)"
        )
    return store

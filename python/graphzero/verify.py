"""Proving that a file is intact."""

from __future__ import annotations

import os
from typing import Literal, NamedTuple

from graphzero import _core
from graphzero._core import FormatError


class Check(NamedTuple):
    """One thing that ought to hold, and where it first does not."""

    name: str
    problem: str

    @property
    def holds(self) -> bool:
        """Whether there is no problem."""
        return not self.problem


def verify(path: str | os.PathLike[str]) -> list[Check]:
    """Check everything a ``.gl`` or ``.gd`` file promises: header, checksums, every id and offset.

    Reads the whole file, in O(1) memory. Damage that leaves no readable header raises
    :class:`FormatError`; any other is told by the returned checks.

    >>> all(check.holds for check in verify(tiny_gl))
    True
    """
    name = os.fsdecode(path)
    checks = _core.verify_features(name) if is_features(name) else _core.verify_graph(name)
    return [Check(check.name, check.problem) for check in checks]


def verify_if_asked(path: str, wanted: Literal["header", "full"]) -> None:
    """Do what ``verify=`` asks for when a store is opened; opening itself proves the header."""
    if wanted == "header":
        return
    if wanted != "full":
        raise ValueError(f"verify: expected 'header' or 'full', found {wanted!r}")
    for check in verify(path):
        if not check.holds:
            raise FormatError(f"{path}: {check.name}: {check.problem}")


def is_features(path: str | os.PathLike[str]) -> bool:
    """Whether the file's magic is that of a feature file; any other is left to Graph to judge."""
    with open(path, "rb") as file:
        return file.read(8) in (b"GRAPHZGD", b"GZDATA26")

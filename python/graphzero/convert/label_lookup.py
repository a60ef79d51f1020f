"""Labels of a source, looked up in an id dictionary that exists already."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import type_error
from graphzero.ids import IdDictionary, Kind

# Labels in a batch: integers, or UTF-8 bytes and offsets.
Labels: TypeAlias = "NDArray[np.int64] | tuple[NDArray[np.uint8], NDArray[np.int64]]"


class LabelLookup:
    """A dictionary as the user gave it: the path of a ``.gi`` file, or one that is mounted."""

    def __init__(self, ids: Any) -> None:
        if not isinstance(ids, (str, os.PathLike, IdDictionary)):
            raise type_error("ids", f"expected the path of a .gi file, or an IdDictionary, found {type(ids).__name__}")
        self._ids = ids if isinstance(ids, IdDictionary) else IdDictionary(ids)
        self.path = self._ids.path
        self.kind: Kind = self._ids.kind

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def fingerprint(self) -> int:
        """What tells the dictionary from others."""
        return self._ids.fingerprint

    def find(self, labels: Labels, name: str) -> NDArray[np.int64]:
        """Return the ids of labels, -1 where the dictionary has none. ``name`` says where they are from."""
        is_text = isinstance(labels, tuple)
        if is_text != (self.kind == "string"):
            words = {True: "text", False: "integers"}
            raise TypeError(
                f"{name}: expected {words[not is_text]}, as the labels of {self.path} are, found {words[is_text]}"
            )
        if isinstance(labels, tuple):
            return self._ids._core.translate_strings(*labels, False)
        return self._ids._core.translate_integers(labels, False)

    def label(self, id: int) -> int | str:
        """Return the label of an id."""
        return self._ids.label(id)

    def missing(self, labels: Labels, at: int) -> str:
        """Say that one of the labels is not in the dictionary."""
        return f"expected a label of {self.path}, found {label_at(labels, at)!r}"


def num_labels(labels: Labels) -> int:
    """Return how many labels there are."""
    return len(labels[1]) - 1 if isinstance(labels, tuple) else len(labels)


def label_at(labels: Labels, at: int) -> int | str:
    """Return one of the labels."""
    if isinstance(labels, tuple):
        text, offsets = labels
        return text[offsets[at] : offsets[at + 1]].tobytes().decode(errors="replace")
    return int(labels[at])

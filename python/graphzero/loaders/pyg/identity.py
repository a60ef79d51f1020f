"""Lets PyG, and nothing else, take our loaders for its own.

``BasicGNN.inference`` and others check ``isinstance(loader, NeighborLoader)`` and then use what ours has, too. PyG's
class is a torch ``DataLoader``, which ours must not pass for elsewhere: trainers take a ``DataLoader`` apart and make
others of the pieces.
"""

from __future__ import annotations

import sys
from typing import Any


class PygClassIdentity:
    """``isinstance`` in PyG's code says that objects are of PyG's class of the same name."""

    _pyg_name: str

    @property  # type: ignore[misc]
    def __class__(self) -> type[Any]:
        asking = sys._getframe(1).f_globals.get("__name__", "")
        if asking.partition(".")[0] == "torch_geometric":
            from torch_geometric import loader

            return getattr(loader, self._pyg_name)  # type: ignore[no-any-return]
        return type(self)

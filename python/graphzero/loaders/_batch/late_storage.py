"""Late tensors in PyG's objects: made when somebody looks at them, wherever that is."""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from torch_geometric.data import Data, HeteroData
from torch_geometric.data.storage import EdgeStorage, GlobalStorage

from graphzero.loaders._batch.late_tensor import LateTensor

# Where the functions come from that PyG's own methods, such as to(), apply to all values.
_METHODS = Data.to.__module__


def put_late(data: Any, of: Any, name: str, value: LateTensor) -> bool:
    """Put a late tensor into a ``Data``, or into an edge type of a ``HeteroData``; False if it cannot wait there.

    That is so for objects that want to know of each value they are given.
    """
    stock = HeteroData if isinstance(data, HeteroData) else Data
    if any(getattr(type(data), hook) is not getattr(stock, hook) for hook in ("__setitem__", "__setattr__")):
        return False
    stores, key = (data._edge_store_dict, of) if stock is HeteroData else (data.__dict__, "_store")
    if stock is HeteroData:
        data[of]  # makes one
    kind: Any = type(stores[key])
    if kind in (GlobalStorage, EdgeStorage):
        values = stores[key].__dict__
        stores[key] = object.__new__(_late_class(kind))
        stores[key].__dict__.update(values, _mapping=LateMapping(values["_mapping"]))
    elif not isinstance(stores[key].__dict__.get("_mapping"), LateMapping):
        return False
    stores[key][name] = value
    return True


class LateMapping(dict[str, Any]):
    """A dict that makes late values when they are read."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if isinstance(value, LateTensor):
            value = value.tensor()
            self[name] = value
        return value

    # With an iterator of its own, dict(this) and f(**this) read values one by one.
    def __iter__(self) -> Iterator[str]:
        return super().__iter__()

    def late(self) -> dict[str, LateTensor]:
        """Return what has not been made."""
        return {name: value for name, value in super().items() if isinstance(value, LateTensor)}

    def _made(self) -> dict[str, Any]:
        return {name: self[name] for name in self}

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            return default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        if name in self:
            self[name] = self[name]
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        name = next(reversed(self))
        return name, self.pop(name)

    def setdefault(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else super().setdefault(name, default)

    def values(self) -> Any:
        return self._made().values()

    def items(self) -> Any:
        return self._made().items()

    def copy(self) -> dict[str, Any]:
        return self._made()

    def __or__(self, other: Any) -> Any:
        return self._made() | other

    def __ror__(self, other: Any) -> Any:
        return other | self._made()

    def __eq__(self, other: object) -> bool:
        return self._made() == other

    def __ne__(self, other: object) -> bool:
        return self._made() != other

    __hash__ = None

    def __repr__(self) -> str:
        return repr(self._made())

    def __copy__(self) -> LateMapping:
        found = LateMapping()
        for name, value in super().items():
            found[name] = value
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return copy.deepcopy(self._made(), memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (self._made(),)


class _LateStorage:
    """A storage of PyG whose own methods leave late values late."""

    _mapping: Any

    def __contains__(self, name: object) -> bool:
        return name in self._mapping

    def apply(self, func: Callable[..., Any], *args: str) -> Any:
        late = self._mapping.late() if isinstance(self._mapping, LateMapping) else {}
        if not late or getattr(func, "__module__", None) != _METHODS:
            return super().apply(func, *args)  # type: ignore[misc]
        names = [name for name in args or self._mapping if name in self._mapping]
        others = [name for name in names if name not in late]
        if others:
            super().apply(func, *others)  # type: ignore[misc]
        for name in names:
            if name in late:
                self._mapping[name] = late[name].then(func)
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        # As the storage of PyG that it stands for: whoever reads it need not have graphzero.
        stock: Any = type(self).__mro__[2]
        found = object.__new__(stock)
        found.__dict__.update(self.__dict__, _mapping=dict(self._mapping))
        return copyreg._reconstructor, (stock, object, None), found.__getstate__()  # type: ignore[attr-defined]


@cache
def _late_class(stock: Any) -> Any:
    """Return a class that differs from a storage of PyG in nothing that can be seen."""
    names = {"__module__": stock.__module__, "__qualname__": stock.__qualname__, "__doc__": stock.__doc__}
    return type(stock.__name__, (_LateStorage, stock), names)

"""The objects that batches are handed out as: PyG's, or plain ones."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from graphzero.loaders._batch.late_tensor import LateTensor, made
from graphzero.loaders._batch.parts import Parts

if TYPE_CHECKING:
    from typing_extensions import Self


class TorchBatch:
    """Tensors under PyG's names.

    ``batch.x``, ``batch.edge_index`` and so on; with several types ``batch.x_dict["paper"]`` and so on, and
    ``batch.input_type``, the type of the seeds.

    Args:
        values: The tensors and values by name.

    Examples:
        >>> batch = TorchBatch(batch_size=2, input_id=torch.tensor([4, 5]))
        >>> batch.input_id, "batch_size" in batch, batch
        (tensor([4, 5]), True, TorchBatch(batch_size=2, input_id=[2]))
    """

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if isinstance(value, LateTensor):
            self.__dict__[name] = value = value.tensor()
        elif isinstance(value, dict) and name.endswith("_dict"):
            self.__dict__[name] = value = {of: made(item) for of, item in value.items()}
        return value

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return ((name, getattr(self, name)) for name in tuple(self.__dict__))

    def __getstate__(self) -> dict[str, Any]:
        return dict(self)

    def to(self, device: Any, non_blocking: bool = False) -> Self:
        """Return this batch after moving all tensors.

        Args:
            device: A torch device.
            non_blocking: Do not wait for copies.
        """
        return self._map(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        """Return this batch after copying all tensors to page-locked memory."""
        return self._map(torch.Tensor.pin_memory)

    def _map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Self:
        def changed(value: Any) -> Any:
            if isinstance(value, LateTensor):
                return value.then(change)
            return change(value) if isinstance(value, torch.Tensor) else value

        for name, value in self.__dict__.items():
            is_by_type = isinstance(value, dict)
            self.__dict__[name] = {of: changed(item) for of, item in value.items()} if is_by_type else changed(value)
        return self

    def __repr__(self) -> str:
        def text(value: Any) -> str:
            if isinstance(value, torch.Tensor):
                return str(list(value.shape))
            return f"{len(value)} types" if isinstance(value, dict) else repr(value)

        return f"TorchBatch({', '.join(f'{name}={text(value)}' for name, value in self)})"


def has_pyg() -> bool:
    """Return whether PyG is installed, without loading it."""
    return importlib.util.find_spec("torch_geometric") is not None


def as_torch_batch(parts: Parts) -> TorchBatch:
    """Put the parts of a batch into an object of our own."""
    if not parts.is_hetero:
        (nodes,), (edges,) = parts.nodes.values(), parts.edges.values()
        return TorchBatch(**{**nodes, **edges, **parts.whole})
    values: dict[str, Any] = {}
    for by_type in (parts.nodes, parts.edges):
        for of, group in by_type.items():
            if "input_id" in group:
                values["input_type"] = of
            for name, value in group.items():
                values.setdefault(f"{name}_dict", {})[of] = value
    return TorchBatch(**{**values, **parts.whole})


def as_pyg(parts: Parts, empty: Any = None) -> Any:
    """Put the parts of a batch into a ``Data`` or ``HeteroData``, or into an object that acts like these."""
    from torch_geometric.data import Data, HeteroData

    if parts.is_hetero:
        data = HeteroData() if empty is None else empty
        for by_type in (parts.nodes, parts.edges):
            for of, group in by_type.items():
                for name, value in group.items():
                    if not _waits_in(data, of, name, value):
                        data[of][name] = made(value)
        for name, value in parts.whole.items():
            data[name] = value
        return data
    data = Data() if empty is None else empty
    for group in parts.groups():
        for name, value in group.items():
            if not _waits_in(data, None, name, value):
                data[name] = made(value)
    return data


def _waits_in(data: Any, of: Any, name: str, value: Any) -> bool:
    """Put a value that is made late into an object of PyG's. False if it is none, or has to be made now."""
    if not isinstance(value, LateTensor):
        return False
    from graphzero.loaders._batch.late_storage import put_late

    return put_late(data, of, name, value)

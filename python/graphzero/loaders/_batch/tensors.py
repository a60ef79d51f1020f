"""Arrays of the core as torch tensors, on the same memory."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from numpy.typing import NDArray

from graphzero._base.dtypes import BFLOAT16_BITS


def as_tensor(array: NDArray[Any]) -> torch.Tensor:
    """Return the tensor on an array's memory; what NumPy calls bits of bfloat16 torch has a type for."""
    if array.dtype == BFLOAT16_BITS:
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)


def mapped_tensor(array: NDArray[Any]) -> torch.Tensor:
    """Return the tensor on a read-only array. torch does not know read-only: a write to it ends the process."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return as_tensor(array)

"""Batches on their way to a device."""

from __future__ import annotations

from typing import Any

import torch

from graphzero.loaders.batch_parts import Parts


def as_device(device: Any) -> torch.device:
    """Read a user's ``device``, and refuse one that is not there."""
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device: expected one that torch knows, such as 'cuda', found {device!r}") from error
    if found.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (found.index or 0) >= count:
            raise ValueError(
                f"device: expected one of {count} CUDA devices that torch {torch.__version__} sees, found {device!r}; "
                "leave device out, or install a torch with CUDA and a driver"
            )
    return found


def transfer_to(device: torch.device | None) -> Any:
    return None

"""What a loader does on its own thread, as named ranges of profilers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.profiler import record_function


@contextmanager
def stage(name: str, device: torch.device | None) -> Iterator[None]:
    """Show what happens inside as ``name`` in ``torch.profiler``, and as an NVTX range if it is for a CUDA device."""
    with record_function(name):
        is_cuda = device is not None and device.type == "cuda"
        if not (is_cuda and torch.cuda.is_initialized()):  # type: ignore[no-untyped-call]
            yield
            return
        torch.cuda.nvtx.range_push(name)  # type: ignore[no-untyped-call]
        try:
            yield
        finally:
            torch.cuda.nvtx.range_pop()  # type: ignore[no-untyped-call]

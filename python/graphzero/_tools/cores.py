"""One core for what runs on one thread: a program may have threads of its own besides."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

CAN_PIN = hasattr(os, "sched_setaffinity")


@contextmanager
def one_core(wanted: bool = True) -> Iterator[None]:
    """Keep this thread, and the threads and processes it starts meanwhile, on one core; they stay there.

    Does nothing if it is not ``wanted``, or where the system has no such call.
    """
    if not (CAN_PIN and wanted):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})  # the first core has most of the kernel's own work
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)

"""Where the files of the demo go: a folder on a disk with room for them, removed at the end if it is temporary."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphzero._base.memory_sizes import byte_text
from graphzero._tools.machine import file_system

_NAME = "graphzero-demo"


@contextmanager
def working_folder(folder: Path | None, needed: int) -> Iterator[str]:
    """Yield a path for a data set of ``needed`` bytes; what is in ``folder`` stays."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        _check_space(str(folder), needed)
        yield str(folder / _NAME)
        return
    parent = tempfile.gettempdir()
    if in_memory(parent) and os.access(".", os.W_OK):  # files there would take the memory that we want to save
        parent = os.getcwd()
    _check_space(parent, needed)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C, so that no files are left
    made = tempfile.mkdtemp(prefix=f"{_NAME}-", dir=parent)
    try:
        yield os.path.join(made, _NAME)
    finally:
        shutil.rmtree(made, ignore_errors=True)
        signal.signal(signal.SIGTERM, before)


def in_memory(path: str) -> bool:
    """Return whether files at ``path`` are on no disk at all."""
    return file_system(path) in ("tmpfs", "ramfs")


def _check_space(folder: str, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ValueError(
            f"{folder}: expected {byte_text(needed)} of free disk space, found {byte_text(free)}; "
            "--folder takes another place, --quick needs less"
        )

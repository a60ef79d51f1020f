"""Folders of a process, which are removed however it ends."""

import os
import tempfile
from contextlib import contextmanager

IN_MEMORY = "/dev/shm"


@contextmanager
def places():
    """Make a folder on a disk, which readers may read directly, and one in memory if it can be, to convert to."""
    memory = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(prefix="fuzzing-") as folder,
        tempfile.TemporaryDirectory(prefix="fuzzing-", dir=memory) as scratch,
    ):
        yield folder, scratch

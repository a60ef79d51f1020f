"""A folder for the files of steps that outlives a failure."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator

from graphzero._files.folder import lock_path, make_folder, remove

# Files that steps, attempts at them and drivers leave in their folder.
_STEP_FILE = re.compile(
    r"plan\.json|\.[0-9a-f]{32}\.graphzero-seen|"
    r"\.?(all|src|dst|(task|out|in|rows)-\d{6}(-all|-src|-dst)?)\.[0-9a-f]{12}"
    r"\.(records|part|labels\.gi|rows\.gd|rows\.json)(\.[0-9a-f]{16}\.graphzero-tmp)?"
)
_LOCK = ".graphzero-lock"


def is_step_file(name: str) -> bool:
    """Whether a file of this name belongs to a conversion in steps, which replaces it, or removes it in the end."""
    return name == _LOCK or _STEP_FILE.fullmatch(name) is not None


@contextlib.contextmanager
def work_folder(path: str) -> Iterator[str]:
    """Make a folder for steps, which stays if the block fails: the next one goes on with the files that are there."""
    make_folder(path, "work_dir")
    locked = os.path.join(path, _LOCK)  # not the folder itself, which may be that of the target
    with open(locked, "ab"):
        pass
    lock = lock_path(locked)
    if lock is None:
        raise OSError(errno.EBUSY, "another process converts here; wait for it, or name another folder", path)
    try:
        yield path
        for name in os.listdir(path):
            if _STEP_FILE.fullmatch(name):
                remove(os.path.join(path, name))
    finally:
        os.remove(locked)
        with contextlib.suppress(OSError):  # it is not empty
            os.rmdir(path)
        lock.release()

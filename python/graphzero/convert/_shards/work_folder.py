"""A folder for the files of steps that outlives a failure."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator

from graphzero._files.folder import lock_path, make_folder, remove
from graphzero.convert._shards.sealed_json import looks_sealed

PLAN = "plan.json"
# How a plan begins: also one that was cut, and has no checksum any more.
_BEGIN = re.compile(rb'\{\n "version": \d+,\n "kind": ')
# Files that steps, attempts at them and drivers leave in their folder.
_STEP_FILE = re.compile(
    r"plan\.json|\.[0-9a-f]{32}\.graphzero-seen|"
    r"\.?(all|src|dst|(task|out|in|rows)-\d{6}(-all|-src|-dst)?)\.[0-9a-f]{12}"
    r"\.(records|part|labels\.gi|rows\.gd|rows\.json)(\.[0-9a-f]{16}\.graphzero-tmp)?"
)
_LOCK = ".graphzero-lock"
# These do not need a plan beside them: a driver that was killed may have left one before, or after it.
_WITHOUT_PLAN = re.compile(r"\.[0-9a-f]{32}\.graphzero-seen|.*\.graphzero-tmp")


def is_step_file(name: str) -> bool:
    """Whether a file of this name belongs to a conversion in steps, which replaces it, or removes it in the end."""
    return name == _LOCK or _STEP_FILE.fullmatch(name) is not None


def is_own_plan(content: bytes) -> bool:
    """Whether a file of that name is a plan of ours, perhaps damaged, or empty, so that nobody loses it."""
    return not content or looks_sealed(content) or _BEGIN.match(content) is not None


def other_plan(folder: str) -> FileExistsError:
    """Return the error about a plan that somebody else wrote."""
    return _other_file(PLAN, folder)


def _other_file(name: str, folder: str) -> FileExistsError:
    return FileExistsError(
        errno.EEXIST,
        f"expected a folder for the files of steps, found {name}, which no step has written and steps would replace; "
        "move it, or name another folder",
        folder,
    )


def _refuse_files_of_others(folder: str) -> None:
    """Refuse a folder with files that have names of steps, but that others wrote: they would be replaced or removed."""
    names = sorted(filter(is_step_file, os.listdir(folder))) if os.path.isdir(folder) else []
    has_plan = False
    if PLAN in names:
        path = os.path.join(folder, PLAN)
        if not os.path.isfile(path) or os.path.islink(path):
            raise other_plan(folder)
        with open(path, "rb") as file:
            has_plan = is_own_plan(file.read())
        if not has_plan:
            raise other_plan(folder)
    for name in names:
        path = os.path.join(folder, name)
        if name == _LOCK:
            is_own = os.path.isfile(path) and os.path.getsize(path) == 0
        else:
            is_own = has_plan or _WITHOUT_PLAN.fullmatch(name) is not None
        if not is_own:
            raise _other_file(name, folder)


@contextlib.contextmanager
def work_folder(path: str) -> Iterator[str]:
    """Make a folder for steps, which stays if the block fails: the next one goes on with the files that are there."""
    _refuse_files_of_others(path)
    make_folder(path, "work_dir")
    locked = os.path.join(path, _LOCK)  # not the folder itself, which may be that of the target
    with open(locked, "ab"):
        pass
    lock = lock_path(locked)
    if lock is None:
        raise OSError(errno.EBUSY, "another process converts here; wait for it, or name another folder", path)
    try:
        yield path
        # The plan last: after a kill in between it says that the others are ours.
        for name in sorted(os.listdir(path), key=PLAN.__eq__):
            if _STEP_FILE.fullmatch(name):
                remove(os.path.join(path, name))
    finally:
        os.remove(locked)
        with contextlib.suppress(OSError):  # it is not empty
            os.rmdir(path)
        lock.release()

"""Folders and files that appear at their path whole or not at all. A link at the path is replaced, never followed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil

from graphzero.memory import byte_text

_SUFFIX = ".graphzero-tmp"


class NewFolder:
    """Files go to a hidden folder beside the target; :meth:`commit` renames it into place.

    The hidden folder is locked while its writer lives. A writer that was killed leaves it unlocked,
    and the next writer of the same target removes it.
    """

    def __init__(self, path: str, *, overwrite: bool) -> None:
        self._target = os.path.abspath(path)
        self._overwrite = overwrite
        self._check_target()
        parent, name = os.path.split(self._target)
        os.makedirs(parent, exist_ok=True)
        _remove_stale(parent, name)
        self.temporary = os.path.join(parent, f".{name}.{os.urandom(8).hex()}{_SUFFIX}")
        os.mkdir(self.temporary)
        self._lock: int | None = os.open(self.temporary, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    @property
    def is_open(self) -> bool:
        """Whether neither :meth:`commit` nor :meth:`abort` was called yet."""
        return self._lock is not None

    def _check_target(self) -> None:
        if not os.path.lexists(self._target):
            return
        if os.path.exists(self._target) and not os.path.isdir(self._target):
            raise NotADirectoryError(errno.ENOTDIR, "is a file, expected a folder to write", self._target)
        leads_nowhere = not os.path.exists(self._target)
        if (leads_nowhere or os.listdir(self._target)) and not self._overwrite:
            found = "is a link that leads nowhere" if leads_nowhere else "exists and is not empty"
            raise FileExistsError(errno.EEXIST, f"{found}; give overwrite=True to replace it", self._target)

    def file(self, relative: str) -> str:
        """Return where to write a file of the folder; the folders above it are made."""
        if self._lock is None:
            raise ValueError(f"{self._target}: the writer is closed")
        path = os.path.join(self.temporary, relative)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def commit(self) -> None:
        """Put the folder in place, replacing an old one only now."""
        self._check_target()
        old = None
        if os.path.lexists(self._target):
            old = f"{self.temporary}.old"
            os.rename(self._target, old)
        try:
            os.rename(self.temporary, self._target)
        except OSError:
            if old is not None:
                os.rename(old, self._target)
            raise
        self._release()
        if old is not None:
            _remove(old)

    def abort(self) -> None:
        """Remove what was written. May be repeated."""
        if self._lock is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)
            self._release()

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _remove_stale(parent: str, name: str) -> None:
    for entry in os.listdir(parent):
        if not (entry.startswith(f".{name}.") and entry.endswith(_SUFFIX)):
            continue
        if len(entry) != len(f".{name}.") + 16 + len(_SUFFIX):
            continue
        stale = os.path.join(parent, entry)
        try:
            descriptor = os.open(stale, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(stale)
        finally:
            os.close(descriptor)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.remove(path)


def replace_file(path: str, content: bytes | memoryview) -> None:
    """Write a file that takes its name when it is on disk, as the core writes its own (core/base/atomic_file.h)."""
    parent, name = os.path.split(os.path.abspath(path))
    _remove_stale(parent, name)
    temporary = os.path.join(parent, f".{name}.{os.urandom(8).hex()}{_SUFFIX}")
    try:
        with open(temporary, "xb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                os.replace(temporary, path)
            except BaseException:
                os.remove(temporary)
                raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
    descriptor = os.open(parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_inside(path: object) -> bool:
    """Whether a path that a stranger's file names stays in the folder it is joined to."""
    return (
        isinstance(path, str)
        and bool(path)
        and not os.path.isabs(path)
        and ".." not in path.split("/")
        and "\0" not in path
        and not any("\ud800" <= character <= "\udfff" for character in path)  # half a character has no bytes
    )


def check_regular(path: str) -> None:
    """Refuse a pipe or a device: opening one may wait for ever, and reading one may never end."""
    # Of what is missing, and of a folder, the system says so itself.
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise OSError(errno.EINVAL, "is not a regular file, expected one", path)


def check_free_space(path: str, needed: int) -> None:
    """Refuse to begin with a file, of about ``needed`` bytes, that the disk has no room for."""
    folder = os.path.dirname(os.path.abspath(path))
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    status = os.statvfs(folder)
    free = status.f_bavail * status.f_frsize
    if needed > free:
        raise OSError(
            errno.ENOSPC, f"needs about {byte_text(needed)} of disk, and {byte_text(free)} are free; free some", path
        )


def link_or_copy(source: str, target: str) -> None:
    """Give ``target`` the contents of ``source``: without a copy where both are on one file system."""
    if os.path.lexists(target):  # of an attempt that was refused; it may be a link to what a user has
        os.remove(target)
    try:
        os.link(os.path.realpath(source), target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)

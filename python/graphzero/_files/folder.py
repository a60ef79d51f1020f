"""Folders and files that appear at their path whole or not at all. A link at the path is replaced, never followed."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import IO

from graphzero import _core
from graphzero._base.argument_errors import Setting, error_of, flag, value_error
from graphzero._base.memory_sizes import byte_text
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.renames import is_kept, rename, replace

_SUFFIX = ".graphzero-tmp"
_KEPT_SUFFIX = ".graphzero-stage"
_OLD = ".old"


class NewFolder:
    """Files go to a hidden folder beside the target; ``commit()`` renames it into place.

    With ``overwrite`` it takes the place of a data set, and of no other folder with files.

    The hidden folder is locked while its writer lives. A writer that was killed leaves it unlocked,
    and the next writer of the same target removes it.
    """

    def __init__(self, path: str, *, overwrite: bool) -> None:
        if not path:  # which would be the current folder
            raise value_error("path", "expected the name of a folder, found an empty one")
        self._target = os.path.abspath(path)
        self._overwrite = flag(overwrite, "overwrite")
        self._check_target()
        os.makedirs(os.path.dirname(self._target), exist_ok=True)
        lock: _core.PathLock
        self.temporary, lock = self._hidden()
        self._lock: _core.PathLock | None = lock

    def _hidden(self) -> tuple[str, _core.PathLock]:
        """Make the hidden folder; return its path and its lock."""
        return _new_temporary(self._target, os.mkdir)

    @property
    def is_open(self) -> bool:
        """Whether neither ``commit()`` nor ``abort()`` was called yet."""
        return self._lock is not None

    def _check_target(self) -> None:
        if not os.path.lexists(self._target):
            return
        if os.path.exists(self._target) and not os.path.isdir(self._target):
            raise NotADirectoryError(errno.ENOTDIR, "is a file, expected a folder to write", self._target)
        leads_nowhere = not os.path.exists(self._target)
        if (leads_nowhere or os.listdir(self._target)) and not self._overwrite:
            found = "is a link that leads nowhere" if leads_nowhere else "exists and is not empty"
            raise error_of(
                lambda text: FileExistsError(errno.EEXIST, text, self._target),
                f"{found}; give ", Setting("overwrite", True), " to replace it",
            )  # fmt: skip
        self._refuse_other_folder()

    def _refuse_other_folder(self) -> None:
        """Refuse to replace a folder that is not a data set. A link is not what it leads to."""
        if os.path.islink(self._target):
            return
        try:
            names = os.listdir(self._target)
        except FileNotFoundError:  # another writer is about to replace it
            return
        if names and MANIFEST not in names:
            message = f"expected a data set to replace, found a folder with files and no {MANIFEST}; remove it first"
            raise FileExistsError(errno.EEXIST, message, self._target)

    def file(self, relative: str) -> str:
        """Return where to write a file of the folder; the folders above it are made."""
        if self._lock is None:
            raise ValueError(f"{self._target}: the writer is closed")
        path = os.path.join(self.temporary, relative)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def commit(self, check: Callable[[], None] | None = None) -> None:
        """Put the folder in place, replacing an old one atomically: one of the two is always there.

        ``check`` may refuse by raising; nobody replaces the old folder between it and the new one taking its place.
        """
        while not self._take_place(check):
            pass  # another writer was faster

    def _take_place(self, check: Callable[[], None] | None) -> bool:
        """Take the target's name; ``False`` if another writer has changed it meanwhile."""
        self._check_target()
        is_folder = os.path.isdir(self._target) and not os.path.islink(self._target)
        with contextlib.ExitStack() as stack:
            try:
                if is_folder:
                    stack.enter_context(kept_in_place(self._target))
            except (FileNotFoundError, NotADirectoryError):
                return False
            if check is not None:
                check()
            try:
                if not os.path.lexists(self._target):
                    rename(self.temporary, self._target)
                elif not _core.exchange_names(os.fsencode(self.temporary), os.fsencode(self._target)):
                    self._take_place_in_two_steps()
            except OSError as error:
                changed = error.errno in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
                if changed and os.path.isdir(self.temporary):
                    return False
                if os.name == "nt":
                    raise _said_clearly(error, self._target) from error
                raise
            self._release()
            with contextlib.suppress(OSError):
                remove(self.temporary)  # the old one, if there was one, which we still hold
        return True

    def _take_place_in_two_steps(self) -> None:
        """Do it on a file system that cannot exchange two names, such as NFS. A kill in between leaves both hidden."""
        old = f"{self.temporary}{_OLD}"
        rename(self._target, old)
        try:
            rename(self.temporary, self._target)
        except BaseException:  # also Ctrl-C while it waits
            if not os.path.lexists(self._target):
                rename(old, self._target)
            raise
        with contextlib.suppress(OSError):  # Windows keeps files that are open; the next writer removes them
            remove(old)

    def abort(self) -> None:
        """Remove what was written. May be called again."""
        if self._lock is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)
            self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


class KeptFolder(NewFolder):
    """A new folder whose files stay if the writer fails or is killed: the next writer of the target goes on with them.

    Ends with ``commit()`` or ``leave()``.
    """

    def _hidden(self) -> tuple[str, _core.PathLock]:
        parent, name = os.path.split(self._target)
        path = os.path.join(parent, f".{name}{_KEPT_SUFFIX}")
        make_own_folder(path, "stage")
        lock = lock_path(path)
        if lock is None:
            raise OSError(errno.EBUSY, "another process writes here; wait for it", path)
        return path, lock

    def commit(self, check: Callable[[], None] | None = None) -> None:
        # Nobody else could write into it; from now on it is a folder as any other that this user makes.
        usual = os.path.join(self.temporary, f".{os.urandom(8).hex()}{_SUFFIX}")  # which no file of the folder has
        os.mkdir(usual)
        os.chmod(self.temporary, stat.S_IMODE(os.stat(usual).st_mode))
        os.rmdir(usual)
        super().commit(check)

    def leave(self) -> None:
        """Keep what was written for the next writer. May be called again, and after ``commit()``."""
        self._release()


@contextlib.contextmanager
def kept_in_place(path: str) -> Iterator[None]:
    """Keep writers from replacing a folder during the block; wait for one that is about to."""
    lock = _core.PathLock(os.fsencode(path), wait=True)
    try:
        if not os.path.isdir(path):
            raise NotADirectoryError(errno.ENOTDIR, "is a file, expected a folder", path)
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def hidden_folder(target: str) -> Iterator[str]:
    """Make a folder beside ``target`` for unfinished files, removed at the end of the block or by the next writer."""
    path, lock = _new_temporary(os.path.abspath(target), os.mkdir)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        lock.release()


def _new_temporary(target: str, make: Callable[[str], object]) -> tuple[str, _core.PathLock]:
    """Make a hidden file or folder beside ``target``; return its path and its lock."""
    parent, name = os.path.split(target)
    prefix = f".{name}."
    for entry in os.listdir(parent):
        # What lies between must be our random part alone: ".a.gl.X" is not a leftover of ".a".
        if entry.startswith(prefix) and entry.endswith(_SUFFIX) and len(entry) == len(prefix) + 16 + len(_SUFFIX):
            _remove_unlocked(os.path.join(parent, entry))
        # A folder that was replaced. Without a new one in its place it is all that a kill has left of it.
        is_old = entry.startswith(prefix) and entry.endswith(_SUFFIX + _OLD)
        if is_old and len(entry) == len(prefix) + 16 + len(_SUFFIX + _OLD) and os.path.lexists(target):
            _remove_unlocked(os.path.join(parent, entry))
    while True:
        path = os.path.join(parent, f"{prefix}{os.urandom(8).hex()}{_SUFFIX}")
        make(path)
        lock = lock_path(path)
        if lock is not None:
            return path, lock
        # Another writer took it for a leftover in the moment before it was locked.


def lock_path(path: str) -> _core.PathLock | None:
    """Return the lock of a file or folder, unless another process has locked or removed it."""
    lock = _core.PathLock(os.fsencode(path), wait=False)
    return lock if lock.is_held else None


def _remove_unlocked(path: str) -> None:
    """Remove what no living writer has locked."""
    if os.path.islink(path):
        os.remove(path)
        return
    lock = lock_path(path)
    if lock is not None:
        with contextlib.suppress(OSError):
            remove(path)
        lock.release()


def remove(path: str) -> None:
    """Remove a file, or a folder with all that is in it; of a link, the link."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.remove(path)


def make_own_folder(path: str, again: str) -> None:
    """Make a folder. One that exists is trusted only if nobody else can have put files into it."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        status = os.lstat(path)
        found = f"one of user {status.st_uid} with mode {stat.S_IMODE(status.st_mode):o}"
        # Windows has other means to keep people apart, which a folder of this user inherits.
        is_own = os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)
        if stat.S_ISDIR(status.st_mode) and is_own:
            return
        raise PermissionError(
            errno.EPERM,
            "expected a folder of your own that nobody else may write, to resume from, found "
            f"{found if stat.S_ISDIR(status.st_mode) else 'a link or a file'}; remove it, and {again} anew",
            path,
        ) from None


def make_folder(path: str, argument: str) -> None:
    """Make a folder that a user names, unless it is there."""
    if os.path.exists(path) and not os.path.isdir(path):
        raise value_error(argument, "expected a folder, found a file; name another", where=path)
    os.makedirs(path, exist_ok=True)


@contextlib.contextmanager
def replacing_file(path: str) -> Iterator[IO[bytes]]:
    """Give a file to write, which takes its name when it is on disk, as the core writes its own (atomic_file.h)."""

    def write(temporary: str) -> None:
        with open(temporary, "xb"):
            pass

    target = os.path.abspath(path)
    temporary = lock = None
    try:
        temporary, lock = _new_temporary(target, write)
        with open(temporary, "r+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        replace(temporary, path)
    except BaseException as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.remove(temporary)
        # An error that names another file came from whoever reads what is written.
        if isinstance(error, OSError) and error.errno and (temporary is None or error.filename in (None, temporary)):
            raise _said_clearly(error, path) from error
        raise
    finally:
        if lock is not None:
            lock.release()
    _core.sync_folder(os.fsencode(os.path.dirname(target)))


def replace_file(path: str, content: bytes | memoryview) -> None:
    """Write a file that takes its name when it is on disk."""
    with replacing_file(path) as file:
        file.write(content)


def replace_together(files: Mapping[str, str]) -> None:
    """Give finished files, by their temporary paths, their names, one right after the other.

    Two names cannot change atomically. A lock keeps out other processes that do this in the same folder, so that only a
    kill in between leaves a new file beside an old one.
    """
    folders = sorted({os.fsencode(os.path.realpath(os.path.dirname(path))) for path in files.values()})
    with contextlib.ExitStack() as stack:
        for folder in folders:
            stack.callback(_core.PathLock(folder, wait=True).release)
        for temporary, path in files.items():
            try:
                replace(temporary, path)
            except OSError as error:
                raise _said_clearly(error, path) from error
        for folder in folders:
            _core.sync_folder(folder)


def _said_clearly(error: OSError, path: str) -> OSError:
    """Return an error that names ``path``, and for a file or folder that Windows keeps, what to do."""
    if is_kept(error):
        return PermissionError(
            errno.EACCES,
            "cannot replace it: it, or a file in it, is open or mapped, here or in another program; close what uses "
            "it, or write to another name",
            path,
        )
    return OSError(error.errno, error.strerror, path)


@contextlib.contextmanager
def new_file(target: str, together: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield where to write a file, which takes the name ``target`` when the block ends well, and not before.

    Finished files of ``together``, by their temporary paths, get their names with it. An error about the file that is
    being written names the target.
    """
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, "is a directory, expected a file to write", target)
    hidden: str | None = None
    try:
        with hidden_folder(target) as hidden:
            path = os.path.join(hidden, os.path.basename(target))
            yield path
            if together:
                replace_together({**together, path: target})
            else:  # without a lock: the folder may be one that a writer of ours holds
                replace(path, target)
                _core.sync_folder(os.fsencode(os.path.dirname(os.path.abspath(target))))
    except OSError as error:
        if hidden is None:
            raise OSError(error.errno, f"cannot create: {error.strerror}", target) from error
        if error.filename is not None and os.fsdecode(error.filename).startswith(hidden):
            raise _said_clearly(error, target) from error
        raise


def is_inside(path: object) -> bool:
    """Whether a path named by an untrusted file stays in the folder it is joined to, on this system.

    Windows has two separators, and takes what is before a colon for a drive or a file, and what is behind for a stream.
    """
    if not isinstance(path, str) or not path or "\0" in path or not _can_be_encoded(path):
        return False
    if os.name == "nt":
        return is_portable(path.replace("\\", "/"))
    return not os.path.isabs(path) and ".." not in path.split("/")


def is_portable(path: object) -> bool:
    r"""Whether a path named by an untrusted file stays in the folder it is joined to, and means the same everywhere.

    Only ``/`` separates. Linux allows backslashes and colons in names, and dots and spaces at their ends. Windows does
    not: ``..\x``, ``C:x`` and ``.. /x`` would lead elsewhere, and ``x:y`` and ``x.`` are other names of ``x``.
    """
    if not isinstance(path, str) or not path or not _can_be_encoded(path):
        return False
    return (
        not path.startswith("/")
        and not any(character in path for character in "\0\\:")
        and not any(part.endswith((".", " ")) for part in path.split("/") if part != ".")
    )


def _can_be_encoded(path: str) -> bool:
    """Whether a file system could have this name: lone surrogates, which JSON can write, have no bytes."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def check_regular(path: str) -> None:
    """Refuse a pipe or a device: opening one may wait for ever, and reading one may never end."""
    # The system refuses a missing file or a folder by itself.
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise OSError(errno.EINVAL, "is not a regular file, expected one", path)


def check_free_space(path: str, needed: int) -> None:
    """Refuse to begin a file of about ``needed`` bytes if the disk has no room for it."""
    free = free_space(path)
    if needed > free:
        raise OSError(
            errno.ENOSPC, f"needs about {byte_text(needed)} of disk, and {byte_text(free)} are free; free some", path
        )


def free_space(path: str) -> int:
    """Return the free bytes of the disk that ``path`` is on, or will be."""
    folder = os.path.dirname(os.path.abspath(path))
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return shutil.disk_usage(folder).free


def spill_folder(target: str) -> str:
    """Return where that which does not fit in memory waits while ``target`` is written."""
    return _named_folder() or os.path.dirname(os.path.abspath(target))


def temporary_folder() -> str:
    """Return where that waits which is on its way to storage, or from there."""
    import tempfile  # slow to load

    return _named_folder() or tempfile.gettempdir()


def _named_folder() -> str:
    """Return the folder that the environment names, if it names one. Refuses a URL, and does not show its secrets."""
    folder = os.environ.get("GRAPHZERO_TMPDIR", "")
    if re.match(r"\s*[A-Za-z][A-Za-z0-9+.:-]+:/", folder):
        raise ValueError(
            "GRAPHZERO_TMPDIR: expected the path of a folder of this machine, found a URL; name a folder of a disk"
        )
    return folder


def link_or_copy(source: str, target: str) -> None:
    """Give ``target`` the contents of ``source``: without a copy where both are on one file system."""
    if os.path.lexists(target):  # of an attempt that was refused; it may be a link to what a user has
        os.remove(target)
    try:
        os.link(os.path.realpath(source), target)
    except FileNotFoundError as error:  # which would name both files
        missing = source if not os.path.exists(source) else target
        raise FileNotFoundError(error.errno, error.strerror, missing) from None
    except OSError:
        shutil.copyfile(source, target)

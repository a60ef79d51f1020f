"""Cold files: how to make the next read one of the device."""

from __future__ import annotations

import errno
import mmap
import os
import sys
from contextlib import suppress


def drop_from_page_cache(path: str | os.PathLike[str]) -> None:
    """Make the next read of ``path`` a cold one. Pages that somebody has mapped and touched stay."""
    if sys.platform != "linux":
        raise OSError(
            errno.ENOSYS, f"cannot be dropped from the page cache: {sys.platform} has no such call", str(path)
        )
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def read_from_device(path: str | os.PathLike[str]) -> None:
    """Read a file once past the page cache; where the file system has no such reads, do nothing.

    The disk of a virtual machine may be a file that its host caches: random reads of one that has been idle were
    thirty times slower here. After this every row of a table finds the same device.
    """
    if sys.platform != "linux":
        return
    with mmap.mmap(-1, 8 << 20) as block, suppress(OSError):  # aligned to pages, as direct reads must be
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
        try:
            offset = 0
            while count := os.preadv(descriptor, [block], offset):
                offset += count
        finally:
            os.close(descriptor)

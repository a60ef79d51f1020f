"""What the first bytes of a file tell: docs/formats/container.md."""

from __future__ import annotations

import os

from graphzero._files.manifest_records import FileRecord

HEADER_SIZE = 32
_FINGERPRINT = slice(16, 24)
_FILE_SIZE = slice(24, 32)


def size_in(header: bytes) -> int:
    """Return the size that a file says it has."""
    return int.from_bytes(header[_FILE_SIZE], "little")


def fingerprint_of(header: bytes) -> int | None:
    """Return the fingerprint that the first bytes of a file have; ``None`` for one of GraphZero 0.2."""
    return int.from_bytes(header[_FINGERPRINT], "little") if header.startswith(b"GRAPHZ") else None


def is_done(path: str, record: FileRecord) -> bool:
    """Whether an earlier run has brought a file."""
    try:
        with open(path, "rb") as file:
            header = file.read(HEADER_SIZE)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return False
    return fingerprint_of(header) == record.fingerprint and size == size_in(header)

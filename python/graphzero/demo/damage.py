"""Damage is found: one bit of a copy is flipped, and the checks are asked."""

from __future__ import annotations

import os
import shutil

from graphzero.verification import verify


def flipped_bit_found(original: str, copy: str) -> str:
    """Return what is said about a copy with one bit flipped in its middle. The copy is removed."""
    shutil.copyfile(original, copy)
    try:
        with open(copy, "r+b") as file:
            file.seek(os.path.getsize(copy) // 2)
            byte = file.read(1)[0]
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte ^ 1]))
        return next(f"{check.name}: {check.problem}" for check in verify(copy) if not check.holds)
    finally:
        os.remove(copy)

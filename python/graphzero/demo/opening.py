"""Opening takes no time and no memory, whatever the size: shown with a file that is all hole."""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress
from dataclasses import dataclass

from graphzero import _core
from graphzero.features import FeatureStore

_ROWS, _COLUMNS = 117_187_500, 128  # of float32: 60 GB
_FLOAT32 = 2


@dataclass(frozen=True)
class Opening:
    """What it took to open a file of ``bytes`` and to use all of it as one array."""

    bytes: int
    seconds: float
    memory: int


def open_large_file(path: str) -> Opening | None:
    """Make a large file that takes no disk, open it and remove it; ``None`` where there can be none."""
    header = struct.pack("<8sIiQQ", b"GZDATA26", 0, _FLOAT32, _ROWS, _COLUMNS)  # GraphZero 0.2: nothing but rows
    size = len(header) + _ROWS * _COLUMNS * 4
    try:
        with open(path, "wb") as file:
            file.write(header)
            file.truncate(size)
        before, begin = _core.memory_facts().anonymous_rss, time.perf_counter()
        with FeatureStore(path) as store:
            rows = len(store.get_tensor())
            seconds = time.perf_counter() - begin
        assert rows == _ROWS
        return Opening(size, seconds, max(0, _core.memory_facts().anonymous_rss - before))
    except OSError:  # a file system without holes, or with a limit on sizes
        return None
    finally:
        with suppress(FileNotFoundError):
            os.remove(path)

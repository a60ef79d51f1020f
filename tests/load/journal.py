"""What a worker leaves for the one who watches: lines that a kill cannot tear, and counters in shared memory."""

import json
import mmap
import os
import struct
import time

import numpy as np


class Journal:
    """A file of JSON lines, each written by one call."""

    def __init__(self, path):
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, kind, **facts):
        line = json.dumps({"kind": kind, "time": time.monotonic(), **facts}, default=str)
        os.write(self._descriptor, f"{line}\n".encode())


def read(path):
    """Return the lines of a journal; a worker that was killed early has none."""
    try:
        with open(path) as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []


class Counters:
    """For each thread of a worker: when it last did something (monotonic nanoseconds), and answers that were right."""

    SEEN, RIGHT = range(2)

    def __init__(self, path, threads):
        size = threads * 2 * 8
        if not os.path.exists(path) or os.path.getsize(path) < size:
            with open(path, "wb") as file:
                file.write(bytes(size))
        with open(path, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), size)
        self.table = np.frombuffer(self._memory, dtype=np.int64).reshape(threads, 2)

    def beat(self, thread, right=0):
        self.table[thread, self.SEEN] = time.monotonic_ns()
        self.table[thread, self.RIGHT] += right


class TroubleCount:
    """Odd while somebody disturbs the data set, even while it is whole: tells which errors were provoked."""

    def __init__(self, path, *, create=False):
        if create:
            with open(path, "wb") as file:
                file.write(bytes(8))
        with open(path, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 8)

    def read(self):
        return struct.unpack("<Q", self._memory[:8])[0]

    def add(self):
        self._memory[:8] = struct.pack("<Q", self.read() + 1)

"""Opens a file with graphzero and with the slow reader of its format: both must agree in everything."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import files
import graphzero as gz
from fuzzing import byte_changes
from fuzzing.promises import refused


@dataclass
class Format:
    """A format: who opens it, who reads and proves it the slow way, and who compares what both found."""

    magic: bytes
    store: Any
    read: Any
    holds: Any
    compare: Any


class Originals:
    """Files of one or more formats, of which each call mutates one and opens it."""

    def __init__(self, folder: Path, contents, formats):
        self._path = folder / "mutated"
        self._contents = contents
        self._formats = {made.magic: made for made in formats}

    def __call__(self, rng):
        original = rng.choice(self._contents)
        if byte_changes.is_container(original) and rng.random() < 0.25:
            data, forged = byte_changes.change_contents(original, rng), True
        else:
            data, forged = byte_changes.change(original, rng)
        return try_one(self._path, self._formats[original[:8]], original, data, forged)


def try_one(path, made, original, data, forged):
    """Return "refused", "damaged" or "intact"."""
    path.write_bytes(data)
    try:
        expected = made.read(data) if data[:8] == made.magic else None
    except files.BadFile:
        expected = None
    if expected is None:
        assert refused(made.store, path), "the slow reader refuses it"
        assert refused(gz.verify, path), "the slow reader refuses it"
        assert refused(made.store, path, verify="full"), "the slow reader refuses it"
        return "refused"
    intact = made.holds(data)
    with made.store(path) as store:
        made.compare(store, expected, intact)
    assert all(check.state != "fails" for check in gz.verify(path)) == intact, "the slow proof disagrees"
    assert refused(made.store, path, verify="full") != intact
    if intact and byte_changes.is_container(original) and not forged:
        assert data == original
    return "intact" if intact else "damaged"

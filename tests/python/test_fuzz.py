"""No file, however broken, kills the process, hangs it, fills its memory or opens to something else."""

import gc
import os
from pathlib import Path

import pytest

import files
import graphzero as gz
from fuzzing import parent
from optional_torch import torch

SEED = 20240607

# How many of each kind: together about half a minute. ``make fuzz`` runs 200,000.
COUNTS = {
    "graphs": 600,
    "old_files": 400,
    "features": 400,
    "dictionaries": 600,
    "pipelines": 200,
    "datasets": 120,
    "arrays": 250,
    "tensors": 150,
    "layouts": 60,
    "texts": 200,
    "checkpoints": 20,
}
if torch is None:  # their targets use it
    for kind in ("datasets", "tensors", "layouts", "checkpoints"):
        del COUNTS[kind]


@pytest.fixture(scope="module")
def tallies():
    """Of other processes, since the failures this looks for are signals and waiting for ever."""
    return parent.run_all(COUNTS, SEED, jobs=min(4, os.cpu_count()), part=max(COUNTS.values()))


@pytest.mark.parametrize("kind", COUNTS)
def test_mutated_files_give_what_they_hold_or_an_error_that_is_promised(kind, tallies):
    tally = tallies[kind]
    number, text = tally.failures[0] if tally.failures else (None, "")
    assert not tally.failures, f"python tests/fuzzing {kind} {SEED} {number}: {text}"
    assert tally.files == COUNTS[kind]
    assert min(tally.outcomes.values()) > COUNTS[kind] // 100  # the mutations are neither too wild nor too tame
    assert len(tally.outcomes) > 1


def test_a_file_that_fails_is_named(monkeypatch, tmp_path):
    """A harness that lets failures pass would be worth nothing: it counts exceptions, signals, hangs and memory."""
    (tmp_path / "fuzzing").mkdir()
    (tmp_path / "fuzzing" / "__main__.py").write_text(BROKEN)
    monkeypatch.setattr(parent, "FOLDER", tmp_path / "fuzzing")
    tally = parent.run_all({"graphs": 8}, SEED, jobs=1)["graphs"]
    assert tally.outcomes == {"read": 4}
    told = {number: text.strip().splitlines()[-1] for number, text in tally.failures}
    assert told[1] == "KeyError: 'x'"
    assert "signal 11" in dict(tally.failures)[3]
    assert "seconds are the limit" in dict(tally.failures)[5]
    assert "MiB of memory" in told[6]


# The real child, with a target that goes wrong in every way.
BROKEN = f"""
import ctypes, sys, time
sys.path.insert(0, {str(Path(parent.__file__).parent.parent)!r})
from fuzzing import child, kinds, limits

limits.MOST_SECONDS = 3
limits.MOST_MEMORY = 100 << 20
number = int(sys.argv[4]) - 1

def target(rng):
    global number
    number += 1
    if number == 1:
        raise KeyError("x")
    if number == 3:
        ctypes.string_at(0)
    if number == 5:
        time.sleep(60)
    if number == 6:
        bytearray(b"x") * (200 << 20)
    return "read"

kinds.make = lambda kind, folder: target
sys.exit(child.run("graphs", 0, number + 1, int(sys.argv[5]), *sys.argv[6:]))
"""


def open_files():
    return len(os.listdir("/proc/self/fd"))


def mappings_of(folder):
    return Path("/proc/self/maps").read_text(errors="replace").count(str(folder))


def test_a_thousand_failed_opens_leak_nothing(tmp_path, tiny_gl, tiny_gd):
    good, features = Path(tiny_gl).read_bytes(), Path(tiny_gd).read_bytes()
    os.mkfifo(tmp_path / "pipe")
    attempts = [
        (gz.Graph, files.write(tmp_path / "empty", b""), "header"),
        (gz.Graph, files.write(tmp_path / "cut", good[:5000]), "header"),
        (gz.Graph, files.write(tmp_path / "version", files.patched(good, {files.HEADER["version"]: 2})), "header"),
        (gz.Graph, files.write(tmp_path / "counts", files.patched(good, {files.GL_FIELDS["num_edges"]: 3})), "header"),
        (gz.Graph, files.write(tmp_path / "damaged", files.patched(good, {(4100, "B"): 1})), "full"),
        (gz.Graph, tiny_gl, "wrong word"),
        (gz.Graph, tiny_gd, "header"),
        (gz.Graph, tmp_path / "pipe", "header"),
        (gz.Graph, tmp_path, "header"),
        (gz.FeatureStore, tmp_path / "missing", "header"),
        (gz.FeatureStore, files.write(tmp_path / "cut.gd", features[:-1]), "header"),
        (
            gz.FeatureStore,
            files.write(tmp_path / "rows.gd", files.patched(features, {files.GD_FIELDS["shape0"]: 9})),
            "header",
        ),
        (gz.FeatureStore, files.write(tmp_path / "damaged.gd", files.patched(features, {(4096, "B"): 1})), "full"),
    ]

    def fail_once(i):
        store, path, verify = attempts[i % len(attempts)]
        with pytest.raises((OSError, ValueError)):
            store(path, verify=verify)

    for i in range(len(attempts)):
        fail_once(i)
    gc.collect()  # what earlier tests left must not go away while we count
    before = open_files(), mappings_of(tmp_path)
    for i in range(1000):
        fail_once(i)
    assert (open_files(), mappings_of(tmp_path)) == before == (open_files(), 0)

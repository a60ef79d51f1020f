"""No file, however broken, kills the process, hangs it, fills its memory or opens to something else."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

import files
import graphzero as gz

TESTS = Path(__file__).parent.parent
SEED = 20240607


@pytest.mark.parametrize(("kind", "count"), [("gl", 4000), ("gd", 3000), ("graphzero02", 3000)])
def test_mutated_files_open_to_what_they_hold_or_raise(kind, count, tmp_path):
    """In another process, since the failure this looks for is a signal."""
    paths = os.pathsep.join(path for path in (str(TESTS), os.environ.get("PYTHONPATH")) if path)
    run = subprocess.run(
        [sys.executable, TESTS / "fuzz.py", kind, str(SEED), str(count), tmp_path],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
    )
    lines = run.stdout.split("\n")
    assert run.returncode == 0, f"seed {SEED}, mutation {lines[-2]}: exit {run.returncode}\n{run.stderr[-2000:]}"
    refused, damaged, intact = (int(outcome) for outcome in lines[-2].split())
    assert refused + damaged + intact == count
    assert min(refused, damaged, intact) > count // 100  # the mutations are neither too wild nor too tame


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

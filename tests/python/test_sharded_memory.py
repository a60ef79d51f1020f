"""Each step of a conversion in shards stays within its memory, however much it reads: in a control group that kills."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import graphzero as gz
from cgroups import limited_to
from graphzero.convert import sharded, sharded_features

pytestmark = [pytest.mark.no_asan, pytest.mark.no_tsan]  # which take memory of their own

BUDGET = 64_000_000
PROCESS = 96 << 20  # Python, NumPy and the core itself, with their stacks

STEP = """
import sys
from graphzero.convert import sharded, sharded_features
module, name, details, memory = sys.argv[1:]
getattr(sys.modules[f"graphzero.convert.{module}"], name)("steps", *eval(details), memory=int(memory), threads=2)
"""


def run_step(name, *details, memory=BUDGET):
    """Run a step in a group that has room for its budget and the process; return how it ended."""
    module = "sharded" if hasattr(sharded, name) else "sharded_features"
    words = [sys.executable, "-c", STEP, module, name, repr(details), str(memory)]
    done = subprocess.run(limited_to(BUDGET + PROCESS, words), capture_output=True, text=True, check=False)
    assert done.returncode in (0, -9, 137), done.stderr
    return done.returncode


def same(first, second):
    return pathlib.Path(first).read_bytes() == pathlib.Path(second).read_bytes()


def test_steps_of_edges():
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 1 << 20, (2, 12_000_000))
    edges[0, ::4] = 5  # a hub, which is a bucket of its own
    np.save("edges.npy", edges)
    del edges
    plan = sharded.plan_shards("edges.npy", "steps", shards=1, task_size="1GB")
    assert plan.num_tasks == 1
    assert run_step("partition_edges", 0, memory=1_000_000_000) != 0  # the limit is one
    assert run_step("partition_edges", 0) == 0
    assert sum(path.stat().st_size for path in pathlib.Path("steps").glob("*.records")) > 1.5 * (BUDGET + PROCESS)
    for index in plan.indexes:
        assert run_step("compile_shard", index, 0) == 0
    sharded.commit_shards("steps", "sharded.gl")
    gz.convert_edges("edges.npy", "plain.gl")
    assert same("sharded.gl", "plain.gl")


def test_steps_of_labels():
    rng = np.random.default_rng(1)
    with open("edges.csv", "w") as file:
        file.write("src,dst\n")
        for _ in range(8):
            src, dst = rng.integers(0, 1 << 40, (2, 100_000)).tolist()
            file.writelines(f"a person called {a:015d},b{b:015d}\n" for a, b in zip(src, dst, strict=True))
    plan = sharded.plan_shards("edges.csv", "steps", shards=2, task_size="24MB")
    assert plan.num_tasks == 2
    for task in range(2):
        assert run_step("collect_labels", task) == 0
    assert run_step("merge_labels") == 0
    [dictionary] = pathlib.Path("steps").glob("all.*")
    assert dictionary.stat().st_size > BUDGET
    for task in range(2):
        assert run_step("partition_edges", task) == 0
    for index in plan.indexes:
        for shard in range(2):
            assert run_step("compile_shard", index, shard) == 0
    sharded.commit_shards("steps", "sharded.gl", ids_path="sharded.gi")
    gz.convert_edges("edges.csv", "plain.gl")
    assert same("sharded.gl", "plain.gl")
    assert same("sharded.gi", "plain.gi")


def write_rows(count, *, ids):
    line = ",".join("0.25" for _ in range(100))
    with open("x.csv", "w") as file:
        file.writelines(f"{i},{line}\n" for i in ids(count))
    return os.path.getsize("x.csv")


def test_steps_of_features():
    size = write_rows(500_000, ids=range)
    assert size > 1.5 * (BUDGET + PROCESS)
    options = {"dtype": "float32", "header": False}
    sharded_features.plan_features("x.csv", "steps", shards=1, **options)
    assert run_step("convert_rows", 0) == 0
    sharded_features.commit_features("steps", "sharded.gd")
    gz.convert_features("x.csv", "plain.gd", **options)
    assert same("sharded.gd", "plain.gd")


def test_steps_of_features_by_id():
    write_rows(500_000, ids=lambda count: np.random.default_rng(2).permutation(count).tolist())
    options = {"dtype": "float32", "id_column": 0, "num_rows": 500_000, "header": False}
    sharded_features.plan_features("x.csv", "steps", shards=1, **options)
    assert run_step("convert_rows", 0, memory=1_000_000_000) != 0  # the limit is one
    assert run_step("convert_rows", 0) == 0
    assert run_step("place_rows", 0) == 0
    sharded_features.commit_features("steps", "sharded.gd")
    gz.convert_features("x.csv", "plain.gd", **options)
    assert same("sharded.gd", "plain.gd")

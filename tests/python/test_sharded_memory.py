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
PROCESS = 96 << 20  # Python, NumPy, pyarrow and the core itself, with their stacks
LIMIT = BUDGET + PROCESS

STEP = """
import sys
from graphzero.convert import sharded, sharded_features
name, arguments, options = sys.argv[1:]
module = sharded if hasattr(sharded, name) else sharded_features
getattr(module, name)(*eval(arguments), **eval(options))
"""


def run(name, *arguments, **options):
    """Run a step in a group that has room for its budget and the process; return how it ended."""
    words = [sys.executable, "-c", STEP, name, repr(arguments), repr(options)]
    done = subprocess.run(limited_to(LIMIT, words), capture_output=True, text=True, check=False)
    assert done.returncode in (0, -9, 137), done.stderr
    return done.returncode


def run_step(name, *details, steps="steps", memory=BUDGET):
    return run(name, steps, *details, memory=memory, threads=2)


def plan(name, source, steps="steps", **options):
    """Plan in such a group as well, and read what was planned."""
    assert run(name, source, steps, **options) == 0
    kind = sharded.EdgePlan if name == "plan_shards" else sharded_features.RowPlan
    return kind(steps).plan


def same(first, second):
    return pathlib.Path(first).read_bytes() == pathlib.Path(second).read_bytes()


def test_steps_of_edges():
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 1 << 20, (2, 12_000_000))
    edges[0, ::4] = 5  # a hub, which is a bucket of its own
    np.save("edges.npy", edges)
    del edges
    planned = plan("plan_shards", "edges.npy", shards=1, task_size="1GB")
    assert planned.num_tasks == 1
    assert run_step("partition_edges", 0, memory=1_000_000_000) != 0  # the limit is one
    assert run_step("partition_edges", 0) == 0
    assert sum(path.stat().st_size for path in pathlib.Path("steps").glob("*.records")) > 1.5 * LIMIT
    for index in planned.indexes:
        assert run_step("compile_shard", index, 0) == 0
    assert run("commit_shards", "steps", "sharded.gl", threads=2) == 0
    assert os.path.getsize("sharded.gl") > LIMIT
    gz.convert_edges("edges.npy", "plain.gl")
    assert same("sharded.gl", "plain.gl")


def test_steps_of_labels():
    rng = np.random.default_rng(1)
    with open("edges.csv", "w") as file:
        file.write("src,dst\n")
        for _ in range(8):
            src, dst = rng.integers(0, 1 << 40, (2, 100_000)).tolist()
            file.writelines(f"a person called {a:015d},b{b:015d}\n" for a, b in zip(src, dst, strict=True))
    planned = plan("plan_shards", "edges.csv", shards=2, task_size="24MB")
    assert planned.num_tasks == 2
    for task in range(2):
        assert run_step("collect_labels", task) == 0
    assert run_step("merge_labels") == 0
    [dictionary] = pathlib.Path("steps").glob("all.*")
    assert dictionary.stat().st_size > BUDGET
    for task in range(2):
        assert run_step("partition_edges", task) == 0
    for index in planned.indexes:
        for shard in range(2):
            assert run_step("compile_shard", index, shard) == 0
    assert run("commit_shards", "steps", "sharded.gl", ids_path="sharded.gi", threads=2) == 0
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
    assert size > 1.5 * LIMIT
    options = {"dtype": "float32", "header": False}
    plan("plan_features", "x.csv", shards=1, **options)
    assert run_step("convert_rows", 0) == 0
    assert run("commit_features", "steps", "sharded.gd", threads=2) == 0
    gz.convert_features("x.csv", "plain.gd", **options)
    assert same("sharded.gd", "plain.gd")


def test_steps_of_features_by_id():
    write_rows(500_000, ids=lambda count: np.random.default_rng(2).permutation(count).tolist())
    options = {"dtype": "float32", "id_column": 0, "num_rows": 500_000, "header": False}
    plan("plan_features", "x.csv", shards=1, **options)
    assert run_step("convert_rows", 0, memory=1_000_000_000) != 0  # the limit is one
    assert run_step("convert_rows", 0) == 0
    assert run_step("place_rows", 0) == 0
    assert run("commit_features", "steps", "sharded.gd", threads=2) == 0
    gz.convert_features("x.csv", "plain.gd", **options)
    assert same("sharded.gd", "plain.gd")


# Sources that are no text, and steps in storage.


@pytest.fixture
def places(request, tmp_path, monkeypatch):
    """Give what stands before source, steps and target: nothing, or the URL of the test's folder."""
    pytest.importorskip("pyarrow.fs")
    monkeypatch.setenv("GRAPHZERO_TMPDIR", str(tmp_path))  # not where files may be in memory
    return "" if request.param == "disk" else f"{tmp_path.as_uri()}/"


def committed(name, places, part):
    """Commit to a file; and to storage, if the steps are there: to a place that their parts are copied to."""
    steps, end = f"{places}steps", name.removeprefix("commit_")
    assert run(name, steps, f"sharded.{part}", threads=2) == 0
    if places:
        target = f"{places}{end}" + ("/x.gd" if part == "gd" else "")
        assert run(name, steps, target, threads=2) == 0
        assert sum(path.stat().st_size for path in pathlib.Path(end).rglob("*") if path.is_file()) > BUDGET


@pytest.mark.parametrize("places", ["disk", "storage"], indirect=True)
def test_steps_of_edges_in_tables(places):
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = 10_000_000
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 1 << 20, (2, count))
    src[::4] = 5
    table = pa.table({"src": src, "dst": dst, "w": rng.random(count, np.float32)})
    pq.write_table(table, "edges.parquet", use_dictionary=False, compression="none")
    del src, dst, table
    assert os.path.getsize("edges.parquet") > 1.1 * LIMIT
    planned = plan("plan_shards", f"{places}edges.parquet", f"{places}steps", shards=1, weight="w")
    assert planned.num_tasks == 1
    assert run_step("partition_edges", 0, steps=f"{places}steps") == 0
    for index in planned.indexes:
        assert run_step("compile_shard", index, 0, steps=f"{places}steps") == 0
    committed("commit_shards", places, "gl")
    gz.convert_edges("edges.parquet", "plain.gl", weight="w")
    assert same("sharded.gl", "plain.gl")


@pytest.mark.parametrize("places", ["storage"], indirect=True)
def test_steps_of_labels_in_tables(places):
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Few labels, whose dictionary stays in the page cache, and many edges.
    names = pa.array([f"{i:07d} is the name of a person with a long one" for i in range(100_000)])
    ends = np.random.default_rng(4).integers(0, len(names), (2, 2_000_000))
    table = pa.table({"src": names.take(pa.array(ends[0])), "dst": names.take(pa.array(ends[1]))})
    pq.write_table(table, "edges.parquet", use_dictionary=False, compression="none")
    del table
    assert os.path.getsize("edges.parquet") > 1.1 * LIMIT
    planned = plan("plan_shards", f"{places}edges.parquet", f"{places}steps", shards=1, index="out")
    assert planned.num_tasks == 1
    for step, details in (
        ("collect_labels", [0]), ("merge_labels", []), ("partition_edges", [0]), ("compile_shard", ["out", 0]),
    ):  # fmt: skip
        assert run_step(step, *details, steps=f"{places}steps") == 0
    assert run("commit_shards", f"{places}steps", "sharded.gl", ids_path="sharded.gi", threads=2) == 0
    gz.convert_edges("edges.parquet", "plain.gl", index="out")
    assert same("sharded.gl", "plain.gl")
    assert same("sharded.gi", "plain.gi")


# Rows of the stored type are copied, others converted.
@pytest.mark.parametrize(("places", "dtype"), [("disk", "float32"), ("storage", "float16")], indirect=["places"])
def test_steps_of_rows_of_an_array(places, dtype):
    rows = np.random.default_rng(5).random((500_000, 100), np.float32)
    np.save("x.npy", rows)
    assert rows.nbytes > 1.1 * LIMIT
    del rows
    plan("plan_features", f"{places}x.npy", f"{places}steps", shards=1, dtype=dtype)
    assert run_step("convert_rows", 0, steps=f"{places}steps") == 0
    committed("commit_features", places, "gd")
    gz.convert_features("x.npy", "plain.gd", dtype=dtype)
    assert same("sharded.gd", "plain.gd")


@pytest.mark.parametrize(("places", "by_id"), [("disk", False), ("storage", True)], indirect=["places"])
def test_steps_of_rows_of_tables(places, by_id):
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = 500_000
    rng = np.random.default_rng(6)
    columns = {f"c{i:02d}": rng.random(count, np.float32) for i in range(96)}  # each is read through a buffer
    options = {}
    if by_id:
        columns["id"] = rng.permutation(count)
        options = {"id_column": "id", "num_rows": count}
    table = pa.table(columns)
    pq.write_table(table, "x.parquet", use_dictionary=False, compression="none", row_group_size=100_000)
    del columns, table
    assert os.path.getsize("x.parquet") > 1.1 * LIMIT
    plan("plan_features", f"{places}x.parquet", f"{places}steps", shards=1, **options)
    assert run_step("convert_rows", 0, steps=f"{places}steps") == 0
    if by_id:
        assert run_step("place_rows", 0, steps=f"{places}steps") == 0
    committed("commit_features", places, "gd")
    gz.convert_features("x.parquet", "plain.gd", **options)
    assert same("sharded.gd", "plain.gd")

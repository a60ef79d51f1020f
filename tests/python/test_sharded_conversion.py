"""A conversion in shards writes the file of the plain one, byte for byte, whatever is cut, repeated or killed."""

import gzip
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import time as clock

import numpy as np
import pytest

import files
import graphzero as gz
from case_choice import meeting
from graphzero.cli.command import run
from graphzero.convert import sharded, sharded_features
from systems import NO_PIPES, posix_only


def contents(path):
    return pathlib.Path(path).read_bytes()


def step_file(start):
    """Return the file of the current plan whose name begins like that; its fingerprint follows."""
    (found,) = pathlib.Path("steps").glob(f"{start}.*")
    return found


def write_text(path, *columns):
    lines = (",".join(map(str, row)) for row in zip(*(column.tolist() for column in columns), strict=True))
    pathlib.Path(path).write_text("\n".join(["src,dst,w,t"[: 2 * len(columns) + 3], *lines, ""]))


def random_edges(count=2000, sources=300, destinations=250, seed=0):
    """Return edges with a hub at each end, duplicates, loops, and nodes without any edge."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, sources, count), rng.integers(0, destinations, count)
    src[: count // 4] = 17
    dst[count // 2 : count // 2 + count // 5] = 3
    return src, dst, rng.integers(0, 8, count) / 4, rng.integers(-5, 5, count)


def convert_both(source, *, shards, task_size, **options):
    """Convert plainly and in shards, and compare the files and what the reports say."""
    plain = gz.convert_edges(source, "plain.gl", **options)
    plan = sharded.plan_shards(source, "steps", shards=shards, task_size=task_size, **options)
    assert plan.shards == shards
    found = sharded.run_shards("steps", "sharded.gl")
    assert contents("sharded.gl") == contents("plain.gl")
    for name in ("num_rows", "num_edges", "num_src_nodes", "num_dst_nodes", "smallest_id", "largest_id"):
        assert getattr(found, name) == getattr(plain, name), name
    for name in ("num_self_loops", "num_duplicates", "num_bad_lines", "unused_columns", "size", "time_unit"):
        assert getattr(found, name) == getattr(plain, name), name
    return plan


@meeting(
    {
        "kind": ["directed", "undirected", "bipartite"],
        "index": ["both", "out", "in"],
        "weight": [None, "w"],
        "time": [None, "t"],
        "duplicates": ["keep", "drop"],
        "self_loops": ["keep", "drop"],
        "edge_ids": [True, False],
        "shards": [1, 3, 8],
        "task_size": [100_000, 4000],
    },
    together=3,
)
def test_the_file_is_that_of_the_plain_conversion(
    kind, index, weight, time, duplicates, self_loops, edge_ids, shards, task_size
):
    write_text("edges.csv", *random_edges())
    plan = convert_both(
        "edges.csv", shards=shards, task_size=task_size, directed=kind != "undirected", bipartite=kind == "bipartite",
        index=index, weight=weight, time=time, duplicates=duplicates, self_loops=self_loops,
        edge_ids=edge_ids or kind == "undirected" or index == "both",
    )  # fmt: skip
    assert (plan.num_tasks > 3) == (task_size == 4000)


@pytest.mark.parametrize("shards", [1, 8])
@pytest.mark.parametrize("key", [0, 1], ids=["by source", "by destination"])
def test_input_in_the_order_of_an_index_needs_no_edge_ids_there(key, shards):
    src, dst, _, _ = random_edges()
    order = np.lexsort([src, dst] if key else [dst, src])
    write_text("edges.csv", src[order], dst[order])
    convert_both("edges.csv", shards=shards, task_size=3000)
    sorted_as, other = ("in", "out") if key else ("out", "in")
    graph = gz.Graph("sharded.gl")
    assert graph.index(sorted_as).edge_ids is None
    assert graph.index(other).edge_ids is not None
    convert_both("edges.csv", shards=shards, task_size=3000, self_loops="drop")
    assert gz.Graph("sharded.gl").index(sorted_as).edge_ids is not None


def test_a_loop_that_is_dropped_behind_sorted_edges():
    pathlib.Path("edges.csv").write_text("src,dst\n0,1\n1,2\n5,5\n")
    convert_both("edges.csv", shards=2, task_size=8, self_loops="drop")


@meeting(
    {
        "index": ["out", "in"],
        "far": [(2**31 + 1, 900), (2**33, 2**33 - 1)],  # how many nodes the wide end has, and its largest id
        "weight": [None, "w"],
        "time": [None, "t"],
        "duplicates": ["keep", "drop"],
        "shards": [1, 3, 8],
    },
    together=3,
)
def test_node_ids_of_eight_bytes(index, far, weight, time, duplicates, shards):
    """In a bipartite graph and the index of its narrow end: an index has 8 bytes for each of its nodes."""
    num_nodes, largest = far
    rng = np.random.default_rng(1)
    narrow = rng.integers(2, 10, 1000)  # the first ranges have no edges
    narrow[:400] = 7
    # Only the last tasks have ids that do not fit in four bytes, so that records of both widths meet.
    wide = np.concatenate([rng.integers(0, 900, 500), rng.integers(0, largest + 1, 500)])
    narrow[-200:-100], wide[-200:-100] = narrow[-100:], wide[-100:]  # edges that are there twice
    ends = (narrow, wide) if index == "out" else (wide, narrow)
    write_text("edges.csv", *ends, rng.integers(0, 8, 1000) / 4, rng.integers(-5, 5, 1000))
    pair = (10, num_nodes) if index == "out" else (num_nodes, 10)
    plan = convert_both(
        "edges.csv", shards=shards, task_size=4000, num_nodes=pair, bipartite=True, index=index, weight=weight,
        time=time, duplicates=duplicates,
    )  # fmt: skip
    assert plan.num_tasks > 3
    graph = gz.Graph("sharded.gl")
    assert graph.index(index).indices.dtype == np.int64
    assert (graph.num_edges < 1000) == (duplicates == "drop")


@meeting(
    {
        "kind": ["directed", "undirected", "bipartite"],
        "index": ["both", "out", "in"],
        "weight": [None, "w"],
        "time": [None, "t"],
        "duplicates": ["keep", "drop"],
        "num_nodes": [300, 100_000],  # of which most have no edge
        "shards": [1, 3, 8],
    },
    together=3,
)
def test_edge_ids_of_eight_bytes(kind, index, weight, time, duplicates, num_nodes, shards):
    options = {"num_nodes": num_nodes, "directed": kind != "undirected", "index": index, "weight": weight}
    options |= {"time": time, "duplicates": duplicates}
    if kind == "bipartite":
        options |= {"bipartite": True, "num_nodes": (num_nodes, num_nodes - 1)}
    write_text("edges.csv", *random_edges(400))
    plan = sharded.plan_shards("edges.csv", "steps", shards=shards, task_size=1500, **options)
    for task in range(plan.num_tasks):
        sharded.partition_edges("steps", task)
    first = step_file("task-000000")
    data = bytearray(contents(first))
    (own_rows,) = struct.unpack_from("<Q", data, 72)
    struct.pack_into("<Q", data, 72, 2**33)  # as if it had read so many rows
    first.write_bytes(files.sign(data))
    sharded.run_shards("steps", "far.gl")

    # The same as without shards, but for the edge ids behind the first task. Equal edges stay in their order.
    gz.convert_edges("edges.csv", "plain.gl", **options)
    near = files.read_gl(contents("plain.gl"))
    arrays = dict(near.arrays)
    for name in [name for name in arrays if name.endswith("edge_ids")]:
        ids = arrays[name].astype(np.int64)
        arrays[name] = np.where(ids < own_rows, ids, ids - own_rows + 2**33)
        assert arrays[name].max() > 2**33
    expected = files.gl(
        arrays,
        num_nodes=(near.num_src_nodes, near.num_dst_nodes),
        num_edges=near.num_edges,
        num_input_edges=near.num_input_edges - own_rows + 2**33,
        flags=near.directed * files.DIRECTED + near.bipartite * files.BIPARTITE,
    )
    assert contents("far.gl") == files.build(expected)


@pytest.mark.parametrize("shards", [1, 3, 8])
def test_ranges_without_edges(shards):
    pathlib.Path("edges.csv").write_text("src,dst\n" + "5,70\n" * 40)
    convert_both("edges.csv", shards=shards, task_size=50, num_nodes=100_000)
    convert_both("edges.csv", shards=shards, task_size=50)


@pytest.mark.parametrize("num_nodes", [None, 0, 7, (3, 0)])
def test_no_edges_at_all(num_nodes):
    pathlib.Path("edges.csv").write_text("src,dst\n")
    convert_both("edges.csv", shards=3, task_size=50, num_nodes=num_nodes, weight=None)


def test_a_hub_that_memory_does_not_hold():
    rng = np.random.default_rng(2)
    np.save("edges.npy", np.stack([np.full(300_000, 6), rng.integers(0, 1000, 300_000)]))
    sharded.plan_shards("edges.npy", "steps", shards=3, task_size="2MB")
    sharded.run_shards("steps", "sharded.gl", memory="32MB")
    gz.convert_edges("edges.npy", "plain.gl")
    assert contents("sharded.gl") == contents("plain.gl")


def write_sources():
    src, dst, weight, time = random_edges()
    write_text("whole.csv", src, dst, weight, time)
    half = len(src) // 2
    write_text("a.csv", src[:half], dst[:half], weight[:half], time[:half])
    write_text("b.csv", src[half:], dst[half:], weight[half:], time[half:])
    for name in "ab":
        pathlib.Path(f"{name}.csv.gz").write_bytes(gzip.compress(contents(f"{name}.csv")))
    pathlib.Path("ending.csv").write_text("0,1\r\n# a comment\n\n1,2\n2,3")
    np.save("rows.npy", np.stack([src, dst]))
    np.save("pairs.npy", np.stack([src, dst], axis=1).astype(np.int32))
    np.save("w.npy", weight)
    np.savez_compressed("both.npz", src=src, dst=dst)
    lines = "\n".join(f"{a + 1} {b + 1}" for a, b in zip(src, dst, strict=True))
    pathlib.Path("m.mtx").write_text(f"%%MatrixMarket matrix coordinate pattern general\n300 300 2000\n{lines}\n")


SOURCES = {
    "text": ("whole.csv", {"weight": "w", "time": "t"}, True),
    "several texts": (["a.csv", "b.csv"], {"weight": "w"}, True),
    "a glob": ("?.csv", {}, True),
    "compressed texts": (["a.csv.gz", "b.csv.gz"], {"time": "t"}, True),
    "text without a last newline": ("ending.csv", {"header": False}, True),
    "two rows": ("rows.npy", {"weight": "w.npy"}, True),
    "pairs": ("pairs.npy", {}, True),
    "vectors": ("both.npz", {"src": "src", "dst": "dst"}, False),
    "a matrix": ("m.mtx", {}, False),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_kind_of_file(name):
    write_sources()
    source, options, is_cut = SOURCES[name]
    plan = convert_both(source, shards=3, task_size=10 if "newline" in name else 5000, **options)
    assert (plan.num_tasks > 1) == is_cut


def test_parquet_is_cut_by_row_groups():
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    src, dst, weight, time = random_edges()
    table = arrow.table({"src": src, "dst": dst, "w": weight, "t": arrow.array(time, arrow.timestamp("ms"))})
    parquet.write_table(table, "edges.parquet", row_group_size=150)
    parquet.write_table(table.slice(0, 0), "none.parquet")
    size = os.path.getsize("edges.parquet") // 4
    plan = convert_both("edges.parquet", shards=3, task_size=size, weight="w", time="t")
    assert plan.num_tasks > 2
    convert_both(["none.parquet", "edges.parquet"], shards=3, task_size=size, time="t", time_unit="us")


def test_bad_lines_are_skipped_and_counted():
    pathlib.Path("edges.csv").write_text("src,dst\n0,1\nx,2\n1,2\n1,y\n2,0\n" * 20)
    plan = convert_both("edges.csv", shards=3, task_size=60, bad_lines="skip")
    assert plan.num_tasks > 5


def test_convert_edges_takes_shards_and_leaves_nothing_behind(tmp_path):
    write_text("edges.csv", *random_edges())
    calls = []
    report = gz.convert_edges("edges.csv", "s.gl", shards=3, weight="w", progress=lambda *done: calls.append(done))
    gz.convert_edges("edges.csv", "p.gl", weight="w")
    assert contents("s.gl") == contents("p.gl")
    assert report.spilled > 0
    assert report.path == "s.gl"
    assert calls[-1] == (6, 6)
    assert sorted(os.listdir()) == ["edges.csv", "p.gl", "s.gl"]
    assert run(["convert", "edges.csv", "c.gl", "--weight", "w", "--engine", "local", "--shards", "8"]) == 0
    assert contents("c.gl") == contents("p.gl")


def test_a_repeated_step_writes_the_same_part():
    write_text("edges.csv", *random_edges())
    plan = sharded.plan_shards("edges.csv", "steps", shards=3, task_size=3000, weight="w")
    sharded.run_shards("steps", "first.gl")
    parts = {path: path.read_bytes() for path in pathlib.Path("steps").glob("*.part")}
    assert len(parts) == 6
    for task in reversed(range(plan.num_tasks)):
        sharded.partition_edges("steps", task, memory="32MB", threads=1)
    for index in plan.indexes:
        for shard in range(3):
            sharded.compile_shard("steps", index, shard, memory="32MB", threads=1)
    assert parts == {path: path.read_bytes() for path in pathlib.Path("steps").glob("*.part")}


def test_a_killed_run_is_repeated():
    src, dst, weight, _ = random_edges(200_000, 5000, 4000)
    write_text("edges.csv", src, dst, weight)
    sharded.plan_shards("edges.csv", "steps", shards=8, task_size=200_000, weight="w")
    code = "from graphzero.convert import sharded; sharded.run_shards('steps', 'sharded.gl')"
    steps = pathlib.Path("steps")
    for wanted in ("task-000003.*.records", "out-000004.*.part"):
        child = subprocess.Popen([sys.executable, "-c", code])
        deadline = clock.monotonic() + 60
        while not list(steps.glob(wanted)) and clock.monotonic() < deadline:
            clock.sleep(0.002)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert list(steps.glob(wanted))
        assert not os.path.exists("sharded.gl")
    sharded.run_shards("steps", "sharded.gl")
    gz.convert_edges("edges.csv", "plain.gl", weight="w")
    assert contents("sharded.gl") == contents("plain.gl")
    names = os.listdir("steps")
    assert all(name.endswith((".records", ".part", "plan.json")) and not name.startswith(".") for name in names)


# What is wrong.


@pytest.fixture
def planned():
    write_text("edges.csv", *random_edges(400))
    return sharded.plan_shards("edges.csv", "steps", shards=2, task_size=2000, index="out")


def raises(kind, message):
    return pytest.raises(kind, match=f"^{message}$")


def test_wrong_arguments_of_a_plan():
    pathlib.Path("edges.csv").write_text("src,dst\n0,1\n")
    pathlib.Path("names.csv").write_text("src,dst\nann,bob\n")
    for shards in (10_001, 10**30):
        with raises(ValueError, f"shards: expected 1 to 10,000, found {shards:,}"):
            sharded.plan_shards("edges.csv", "steps", shards=shards)
    with raises(TypeError, "shards: expected an integer, found True"):
        sharded.plan_shards("edges.csv", "steps", shards=True)
    with raises(TypeError, "task_size: expected an integer, found True"):
        sharded.plan_shards("edges.csv", "steps", shards=1, task_size=True)
    with raises(ValueError, "shards: expected at least 1, found 0"):
        sharded.plan_shards("edges.csv", "steps", shards=0)
    with raises(ValueError, "task_size: expected at least 1, found 0"):
        sharded.plan_shards("edges.csv", "steps", shards=1, task_size=0)
    with raises(TypeError, "source: expected files for a conversion in shards, found ndarray; write it to one"):
        sharded.plan_shards(np.zeros((2, 3), int), "steps", shards=1)
    labels = r"names\.csv: expected integer ids, found labels; give ids='map' to number them"
    with raises(TypeError, labels):
        sharded.plan_shards("names.csv", "steps", shards=1, ids="dense")
    with raises(ValueError, "time_unit: expected a column of times, found none"):
        sharded.plan_shards("edges.csv", "steps", shards=1, time_unit="s")
    with raises(ValueError, "edge ids can be left out of a directed graph with one index only: .*"):
        sharded.plan_shards("edges.csv", "steps", shards=1, edge_ids=False)
    with raises(ValueError, "num_nodes: expected a pair for a bipartite graph, found 4"):
        sharded.plan_shards("edges.csv", "steps", shards=1, bipartite=True, num_nodes=4)
    problem = (
        "ids: expected 'auto', 'dense' or 'map' with shards=2, found a dictionary; leave out shards, or give edges "
    )
    with raises(ValueError, f"{problem}whose ids are numbers already"):
        gz.convert_edges("edges.csv", "g.gl", shards=2, ids="people.gi")


@posix_only(reason=NO_PIPES)
def test_compressed_texts_are_looked_at_when_planned():
    def write(name, text):
        pathlib.Path(name).write_bytes(gzip.compress(text.encode()))

    write("names.csv.gz", "src,dst\nann,bob\n")
    with raises(TypeError, r"names\.csv\.gz: expected integer ids, found labels; give ids='map' to number them"):
        sharded.plan_shards("names.csv.gz", "steps", shards=1, ids="dense")
    write("a.csv.gz", "src,dst,t\n0,1,2024-01-01\n")
    write("b.csv.gz", "src,dst,t\n0,1,7\n")
    with raises(ValueError, r"b\.csv\.gz: time: line 2: expected ISO 8601 times, as in a\.csv\.gz, found '7'"):
        sharded.plan_shards(["a.csv.gz", "b.csv.gz"], "steps", shards=1, time="t")
    convert_both(["a.csv.gz", "a.csv.gz"], shards=2, task_size=10, time="t")
    os.mkfifo("pipe.csv")
    with pytest.raises(OSError, match=r"is not a regular file, expected one: 'pipe\.csv'"):
        sharded.plan_shards("pipe.csv", "steps", shards=1)


def test_wrong_arguments_of_steps(planned):
    tasks = planned.num_tasks
    with raises(ValueError, f"task: expected 0 to {tasks - 1}, as planned, found {tasks}"):
        sharded.partition_edges("steps", tasks)
    with raises(ValueError, "index: expected 'out', as planned, found 'in'"):
        sharded.compile_shard("steps", "in", 0)
    with raises(ValueError, "shard: expected 0 to 1, as planned, found -1"):
        sharded.compile_shard("steps", "out", -1)


def test_steps_out_of_order(planned):
    with pytest.raises(FileNotFoundError, match=r"expected the file of plan_shards\(\), which comes first: '.*plan"):
        sharded.partition_edges(".", 0)
    sharded.partition_edges("steps", 0)
    with pytest.raises(FileNotFoundError, match=r"expected the file of partition_edges\(folder, 1\), which comes"):
        sharded.compile_shard("steps", "out", 0)
    for task in range(planned.num_tasks):
        sharded.partition_edges("steps", task)
    sharded.compile_shard("steps", "out", 0)
    with pytest.raises(FileNotFoundError, match=r"expected the file of compile_shard\(folder, 'out', 1\), which comes"):
        sharded.commit_shards("steps", "g.gl")
    assert not os.path.exists("g.gl")


def test_a_plan_of_another_version(planned):
    pathlib.Path("steps/plan.json").write_text('{"version": 9}')
    with raises(ValueError, r".*plan\.json: expected a plan of version 5, found 9; plan it again"):
        sharded.partition_edges("steps", 0)


def test_a_source_that_changed(planned):
    size = os.path.getsize("edges.csv")
    with open("edges.csv", "a") as file:
        file.write("1,2\n")
    changed = rf".*edges\.csv: expected {size} bytes, as when it was planned, found {size + 4}; plan it again"
    with raises(ValueError, changed):
        sharded.partition_edges("steps", 0)


def test_a_source_of_the_same_size_that_changed(planned):
    text = pathlib.Path("edges.csv").read_text()
    pathlib.Path("edges.csv").write_text(text[::-1])
    os.utime("edges.csv", ns=(1, 1))
    changed = (
        r".*edges\.csv: expected a file as old as when it was planned, found one that was changed since; plan it again"
    )
    with raises(ValueError, changed):
        sharded.partition_edges("steps", 0)


def test_the_source_is_never_the_target(planned):
    before = pathlib.Path("edges.csv").read_bytes()
    with raises(ValueError, r"edges\.csv: expected another file than the source, found the source itself"):
        sharded.run_shards("steps", "edges.csv")
    with raises(ValueError, r"edges\.csv: expected another file than the source, found the source itself"):
        gz.convert_edges("edges.csv", "edges.csv", shards=2)
    assert pathlib.Path("edges.csv").read_bytes() == before


def test_a_bad_line_has_its_number_in_the_file():
    lines = ["src,dst", *["0,1"] * 50, "4,x", *["2,3"] * 50]
    pathlib.Path("edges.csv").write_text("\n".join(lines))
    sharded.plan_shards("edges.csv", "steps", shards=2, task_size=60)
    with pytest.raises(ValueError) as plain:
        gz.convert_edges("edges.csv", "g.gl")
    with pytest.raises(ValueError) as found:
        sharded.run_shards("steps", "g.gl")
    assert "line 52" in str(found.value)
    assert str(found.value).endswith(str(plain.value))


def test_an_id_beyond_the_number_of_nodes():
    pathlib.Path("edges.csv").write_text("src,dst\n" + "0,1\n" * 30 + "0,9\n")
    sharded.plan_shards("edges.csv", "steps", shards=2, task_size=62, num_nodes=5)
    sharded.partition_edges("steps", 0)
    message = (
        r".*edges\.csv: edge \d+: expected a destination id below num_nodes = 5, found 9; edges are counted from the "
        r"first one of task 1, which begins with .*edges\.csv"
    )
    with raises(IndexError, message):
        sharded.partition_edges("steps", 1)


def test_sparse_ids():
    pathlib.Path("edges.csv").write_text("src,dst\n0,99999999\n")
    sharded.plan_shards("edges.csv", "steps", shards=2)
    with raises(ValueError, r"edges\.csv: the largest id is 99999999, but there are only 1 edges: .*"):
        sharded.run_shards("steps", "g.gl")


def test_files_of_another_plan_are_not_taken(planned):
    sharded.partition_edges("steps", 0)
    old = step_file("task-000000")
    assert sharded.plan_shards("edges.csv", "steps", shards=2, task_size=2000, index="out") == planned
    sharded.partition_edges("steps", 0)
    assert step_file("task-000000") == old
    os.utime("edges.csv", ns=(1, 1))
    sharded.plan_shards("edges.csv", "steps", shards=2, task_size=2000, index="out")
    with pytest.raises(
        FileNotFoundError, match=r"expected the file of partition_edges\(folder, 0\), which comes first"
    ):
        sharded.compile_shard("steps", "out", 0)


def test_records_of_other_options(planned):
    sharded.partition_edges("steps", 0)
    data = contents(step_file("task-000000"))
    step_file("task-000000").unlink()
    sharded.plan_shards("edges.csv", "steps", shards=2, task_size=100_000, index="out", weight="w")
    sharded.partition_edges("steps", 0)
    step_file("task-000000").write_bytes(data)
    with raises(ValueError, r".*task-000000\..*records: expected records of this conversion, found those of one .*"):
        sharded.compile_shard("steps", "out", 0)


def damage(path, at):
    data = bytearray(contents(path))
    data[at] ^= 1
    pathlib.Path(path).write_bytes(data)


def run_until_commit(plan):
    for task in range(plan.num_tasks):
        sharded.partition_edges("steps", task)
    for shard in range(plan.shards):
        sharded.compile_shard("steps", "out", shard)


def test_damaged_records_and_parts(planned):
    run_until_commit(planned)
    part = os.fspath(step_file("out-000001"))
    whole = contents(part)
    for name, page in (("out_indptr", 1), ("out_indices", None)):
        damage(part, 4096 if page else whole.index(struct.pack("<i", 3), 8192))
        again = r"remove it and run compile_shard\(folder, 'out', 1\) again"
        with raises(gz.FormatError, rf".*{part}: the checksum of {name} differs: the part is damaged, {again}"):
            sharded.commit_shards("steps", "g.gl")
        pathlib.Path(part).write_bytes(whole)
    pathlib.Path(part).write_bytes(contents(step_file("out-000000")))
    with raises(gz.FormatError, rf".*{part}: expected a part that begins at node \d+, found 0; {again}"):
        sharded.commit_shards("steps", "g.gl")
    assert not os.path.exists("g.gl")


def test_damaged_records(planned):
    run_until_commit(planned)
    records = os.fspath(step_file("task-000000"))
    whole = contents(records)
    # Of the sections: the records, where their buckets begin, and the checksums of their blocks.
    first, table, checksums = (struct.unpack_from("<Q", whole, 256 + 40 * at + 16)[0] for at in range(3))
    for at in (table + 8, checksums):
        damage(records, at)
        with raises(gz.FormatError, rf".*{records}: the tables of its buckets do not fit its \d+ records: it is .*"):
            sharded.compile_shard("steps", "out", 0)
        pathlib.Path(records).write_bytes(whole)
    damage(records, first)
    message = (
        rf".*{records}: the checksum of \d+ records at byte {first} differs: it is damaged, remove it and run "
        r"partition_edges\(folder, 0\) again"
    )
    with raises(gz.FormatError, message):
        sharded.compile_shard("steps", "out", 0)
    for length in (100, 4096, len(whole) - 1):
        pathlib.Path(records).write_bytes(whole[:length])
        with pytest.raises((gz.FormatError, OSError), match=records):
            sharded.compile_shard("steps", "out", 0)


@pytest.mark.parametrize("other", ["task", "plan"])
def test_records_under_the_name_of_others_are_noticed(planned, other):
    run_until_commit(planned)
    if other == "task":
        step_file("task-000001").write_bytes(contents(step_file("task-000000")))
    else:
        records = contents(step_file("task-000001"))
        for path in pathlib.Path("steps").iterdir():
            path.unlink()
        os.utime("edges.csv", ns=(1, 1))
        run_until_commit(sharded.plan_shards("edges.csv", "steps", shards=2, task_size=2000, index="out"))
        step_file("task-000001").write_bytes(records)
    message = (
        r".*task-000001\..*records: expected the edges of task 1 of this plan, found others; remove it and run "
        r"partition_edges\(folder, 1\) again"
    )
    with raises(gz.FormatError, message):
        sharded.compile_shard("steps", "out", 0)
    with raises(gz.FormatError, message):
        sharded.commit_shards("steps", "g.gl")
    step_file("task-000001").unlink()
    sharded.run_shards("steps", "g.gl")
    gz.convert_edges("edges.csv", "plain.gl", index="out")
    assert contents("g.gl") == contents("plain.gl")


def test_a_plan_that_was_edited_is_refused(planned):
    plan = pathlib.Path("steps/plan.json")
    whole = plan.read_bytes()
    for edited in (
        whole.replace(b' "shards": 2', b' "shards": 1'),
        whole.replace(b' "shards": 2,\n', b""),
        whole.replace(b' "shards": 2', b' "shards": []'),
        re.sub(rb"\d\n   \]", b"0\n   ]", whole, count=1),  # where a task ends
        whole.replace(b": ", b":  "),  # says the same
        whole[: whole.index(b',\n "checksum"')] + b"\n}",
    ):
        assert edited != whole
        plan.write_bytes(edited)
        with raises(
            gz.FormatError,
            r".*plan\.json: expected a file that ends with its own checksum, found one that is damaged, was edited, or "
            r"had another name; plan it again",
        ):
            sharded.run_shards("steps", "g.gl")
    plan.write_bytes(whole)
    sharded.run_shards("steps", "g.gl")


def test_blocks_of_records_have_checksums_of_their_own():
    rng = np.random.default_rng(3)
    np.save("edges.npy", np.stack([np.full(60_000, 6), rng.integers(0, 1000, 60_000)]))  # one bucket, several blocks
    sharded.plan_shards("edges.npy", "steps", shards=1, index="out")
    sharded.partition_edges("steps", 0)
    records = os.fspath(step_file("task-000000"))
    first = struct.unpack_from("<Q", contents(records), 256 + 16)[0]
    in_block = (256 << 10) // 12 * 12
    damage(records, first + in_block + 5)
    with raises(gz.FormatError, rf".*: the checksum of \d+ records at byte {first + in_block} differs: .*"):
        sharded.compile_shard("steps", "out", 0)


def test_parts_of_another_graph(planned):
    run_until_commit(planned)
    old = [step_file(f"out-00000{shard}") for shard in range(2)]
    parts = [path.read_bytes() for path in old]
    for path in pathlib.Path("steps").glob("*-*"):
        path.unlink()
    run_until_commit(sharded.plan_shards("edges.csv", "steps", shards=2, task_size=2000, index="out", num_nodes=900))
    for shard, data in enumerate(parts):
        step_file(f"out-00000{shard}").write_bytes(data)
    with raises(
        gz.FormatError,
        r".*out-000000\..*part: expected a part of a graph of 900 and 900 nodes and \d+ input edges, found one of "
        r"\d+, \d+ and \d+; remove it and run compile_shard\(folder, 'out', 0\) again",
    ):
        sharded.commit_shards("steps", "g.gl")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "spark", "--shards", "2"], "--engine: expected 'local' or 'ray', found 'spark'"),
        (["--engine", "local"], "--engine: expected --shards with it, found none"),
        (["--shards", "0"], "--shards: expected at least 1, found 0"),
    ],
)
def test_wrong_options_of_the_command(arguments, message, capsys):
    pathlib.Path("edges.csv").write_text("src,dst\n0,1\n")
    assert run(["convert", "edges.csv", "g.gl", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["plan.json", "task-000000.{}.records", "out-000000.{}.part", ".graphzero-lock"])
def test_a_file_of_the_steps_is_no_target(name):
    pathlib.Path("edges.csv").write_text("src,dst\n0,1\n")
    plan = sharded.plan_shards("edges.csv", "steps", shards=1)
    sharded.run_shards("steps", "g.gl")
    target = f"steps/{name.format(step_file('task-000000').name.split('.')[1])}"
    before = {path.name: path.read_bytes() for path in pathlib.Path("steps").iterdir()}
    message = (
        f"{target}: expected another file than those of the steps, found one of theirs, in the folder of the plan; name "
        "another"
    )
    os.symlink("steps", "link")
    for folder in ("steps", plan.folder, "link"):
        for call in (sharded.run_shards, sharded.commit_shards):
            with raises(ValueError, message):
                call(folder, target)
    with raises(ValueError, message.replace("steps/", "link/", 1)):
        sharded.run_shards("steps", target.replace("steps/", "link/", 1))
    assert {path.name: path.read_bytes() for path in pathlib.Path("steps").iterdir()} == before
    sharded.commit_shards("steps", "steps/other.gl")  # which no step would write
    assert contents("steps/other.gl") == contents("g.gl")


def test_a_file_of_the_steps_is_no_dictionary():
    pathlib.Path("edges.csv").write_text("src,dst\na,b\n")
    sharded.plan_shards("edges.csv", "steps", shards=1)
    with raises(ValueError, "steps/plan.json: expected another file than those of the steps, .*"):
        sharded.run_shards("steps", "g.gl", ids_path="steps/plan.json")
    assert os.listdir("steps") == ["plan.json"]


OTHERS = (
    "expected a folder for the files of steps, found {}, which no step has written and steps would replace; move it,"
)


def texts_in(folder):
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}


@pytest.mark.parametrize("convert", ["edges", "features"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plan.json", b"our plan for next year"),
        ("plan.json", b'{"version": 5, "kind": "edges"}'),
        ("rows-000000.0123456789ab.rows.json", b"{}"),
        ("all.0123456789ab.labels.gi", b"GRAPHZ"),
        (".graphzero-lock", b"of somebody else"),
    ],
)
def test_a_file_of_somebody_else_is_neither_replaced_nor_removed(convert, name, content):
    np.save("e.npy", np.array([[0, 1], [1, 2]]))
    np.save("x.npy", np.eye(3))
    calls = {
        "edges": lambda: gz.convert_edges("e.npy", "g.gl", shards=2, work_dir="mine"),
        "features": lambda: gz.convert_features("x.npy", "x.gd", shards=2, work_dir="mine"),
    }
    os.mkdir("mine")
    pathlib.Path("mine", name).write_bytes(content)
    for _ in range(2):
        with pytest.raises(FileExistsError, match=re.escape(OTHERS.format(name))):
            calls[convert]()
        assert texts_in("mine") == {name: content}
    os.rename(f"mine/{name}", "mine/kept")
    calls[convert]()
    assert texts_in("mine") == {"kept": content}


@pytest.mark.parametrize("folder", ["mine", "file://HERE/mine"])
def test_a_plan_of_somebody_else_stays_where_a_plan_is_written(folder):
    folder = folder.replace("HERE", os.getcwd())
    np.save("e.npy", np.array([[0, 1], [1, 2]]))
    np.save("x.npy", np.eye(3))
    os.mkdir("mine")
    pathlib.Path("mine/plan.json").write_text("{}")
    calls = (
        lambda: sharded.plan_shards("e.npy", folder, shards=1),
        lambda: sharded_features.plan_features("x.npy", folder, shards=1),
        lambda: gz.convert_edges("e.npy", "g.gl", shards=1, work_dir=folder),
    )
    for call in calls:
        with pytest.raises(FileExistsError, match=re.escape(OTHERS.format("plan.json"))):
            call()
        assert texts_in("mine") == {"plan.json": b"{}"}


@pytest.mark.parametrize("damage", [lambda whole: whole[:300], lambda whole: b"x" + whole, lambda whole: b""])
def test_a_damaged_plan_is_planned_again(damage, planned):
    plan = pathlib.Path("steps/plan.json")
    whole = plan.read_bytes()
    plan.write_bytes(damage(whole))
    sharded.plan_shards("edges.csv", "steps", shards=2, task_size=2000, index="out")
    assert plan.read_bytes() == whole
    plan.write_bytes(damage(whole))
    gz.convert_edges("edges.csv", "g.gl", shards=2, work_dir="steps", index="out")
    assert not os.path.exists("steps")


def test_what_a_kill_while_files_of_steps_are_removed_leaves_is_ours(monkeypatch):
    np.save("e.npy", np.array([[0, 1], [1, 2]]))
    removed = []

    def killed(path):
        if removed:
            raise KeyboardInterrupt
        removed.append(path)
        os.remove(path)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("graphzero.convert._shards.work_folder.remove", killed)
        gz.convert_edges("e.npy", "g.gl", shards=2, work_dir="steps")
    assert "plan.json" in os.listdir("steps")
    gz.convert_edges("e.npy", "again.gl", shards=2, work_dir="steps")
    assert not os.path.exists("steps")
    assert contents("again.gl") == contents("g.gl")


@posix_only(reason=NO_PIPES)
def test_a_pipe_in_the_folder_of_the_steps_is_refused():
    os.mkdir("steps")
    os.mkfifo("steps/plan.json")
    message = r"\[Errno 22\] is not a regular file, expected one: '.*steps/{}'"
    np.save("e.npy", np.array([[0, 1], [1, 2]]))
    for call in (
        lambda: sharded.partition_edges("steps", 0),
        lambda: sharded_features.convert_rows("steps", 0),
        lambda: sharded.plan_shards("e.npy", "steps", shards=1),
    ):
        with raises(OSError, message.format("plan.json")):
            call()
    with pytest.raises(FileExistsError, match=re.escape(OTHERS.format("plan.json"))):
        gz.convert_edges("e.npy", "g.gl", shards=1, work_dir="steps")
    os.remove("steps/plan.json")
    sharded.plan_shards("e.npy", "steps", shards=1)
    sharded.run_shards("steps", "g.gl")
    for name in ("task-000000", "out-000000"):
        own = step_file(name)
        own.unlink()
        os.mkfifo(own)
        with raises(OSError, message.format(own.name)):
            sharded.run_shards("steps", "g.gl")
        own.unlink()
        sharded.run_shards("steps", "g.gl")


@posix_only(reason=NO_PIPES)
@pytest.mark.parametrize("ending", [".rows.gd", ".rows.json"])
def test_a_pipe_instead_of_a_part_of_features_is_refused(ending):
    np.save("x.npy", np.eye(3))
    sharded_features.plan_features("x.npy", "steps", shards=1)
    sharded_features.convert_rows("steps", 0)
    [own] = pathlib.Path("steps").glob(f"*{ending}")
    own.unlink()
    os.mkfifo(own)
    with raises(OSError, rf"\[Errno 22\] is not a regular file, expected one: '.*{own.name}'"):
        sharded_features.commit_features("steps", "x.gd")

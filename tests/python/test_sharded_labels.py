"""Labels that are numbered in shards get the numbers of the plain conversion: graph and dictionary have the same bytes."""

import gzip
import os
import pathlib
import re

import numpy as np
import pytest

import graphzero as gz
from case_choice import meeting
from graphzero.cli.command import run
from graphzero.convert import sharded


def contents(path):
    return pathlib.Path(path).read_bytes()


def names(count=1500, seed=0):
    """Return labels of edges: long and short, of several alphabets, some in one task alone."""
    rng = np.random.default_rng(seed)
    alphabet = ["a", "zoë", "7", "0", "007", "Ω-", "name with blanks", "x" * 40]
    ends = rng.integers(0, 300, (2, count))
    ends[0, : count // 4] = 17
    return [[f"{alphabet[i % 8]}{i // 4}" for i in end] for end in ends.tolist()]


def write_text(path, src, dst):
    lines = (f"{a},{b},{i % 7}" for i, (a, b) in enumerate(zip(src, dst, strict=True)))
    text = "\n".join(["src,dst,w", *lines, ""]).encode()
    pathlib.Path(path).write_bytes(gzip.compress(text) if path.endswith(".gz") else text)


def convert_both(source, *, shards=3, task_size=4000, bipartite=False, **options):
    """Convert plainly and in shards, and compare graph, dictionaries and reports."""
    plain = gz.convert_edges(source, "plain.gl", bipartite=bipartite, **options)
    plan = sharded.plan_shards(source, "steps", shards=shards, task_size=task_size, bipartite=bipartite, **options)
    assert plan.has_labels
    found = sharded.run_shards("steps", "sharded.gl")
    assert contents("sharded.gl") == contents("plain.gl")
    for end in (".src.gi", ".dst.gi") if bipartite else (".gi",):
        assert contents(f"sharded{end}") == contents(f"plain{end}")
    for name in ("num_rows", "num_edges", "num_src_nodes", "num_dst_nodes", "num_bad_lines", "num_self_loops"):
        assert getattr(found, name) == getattr(plain, name), name
    assert (found.ids_path, found.dst_ids_path) == tuple(
        path and path.replace("plain", "sharded") for path in (plain.ids_path, plain.dst_ids_path)
    )
    return plan


@pytest.mark.parametrize("bipartite", [False, True])
@pytest.mark.parametrize("shards", [1, 5])
def test_text(bipartite, shards):
    write_text("edges.csv", *names())
    plan = convert_both("edges.csv", shards=shards, bipartite=bipartite, weight="w", duplicates="drop")
    assert plan.num_tasks > 3


def hard_labels(source):
    """Return labels of few edges that are hard to cut into shards."""
    if source == "one pair":  # one bucket has all edges
        return ["zoë"] * 60, ["ann"] * 60
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 90, (2, 400))
    src[:100], dst[180:260] = 17, 3  # hubs at either end, and edges there more than once
    dst[300:330] = src[300:330]
    return [[f"{'xyΩ'[i % 3]}{i}" for i in end.tolist()] for end in (src, dst)]


@meeting(
    {
        "source": ["hubs", "one pair", "empty ranges"],
        "kind": ["directed", "undirected", "bipartite"],
        "index": ["both", "out", "in"],
        "weight": [None, "w"],
        "time": [None, "t"],
        "duplicates": ["keep", "drop"],
        "self_loops": ["keep", "drop"],
        "shards": [1, 3, 8],
    },
    together=3,
)
def test_labels_of_edges_that_are_hard_to_cut(source, kind, index, weight, time, duplicates, self_loops, shards):
    src, dst = hard_labels(source)
    lines = (f"{a},{b},{i % 5 / 4},{i % 3 - 1}" for i, (a, b) in enumerate(zip(src, dst, strict=True)))
    pathlib.Path("edges.csv").write_text("\n".join(["src,dst,w,t", *lines, ""]), encoding="utf-8")
    # Most nodes have no label, and no edge: buckets are wide, and most of them empty.
    num_nodes = None if source != "empty ranges" else (5000, 70_000) if kind == "bipartite" else 70_000
    plan = convert_both(
        "edges.csv", shards=shards, task_size=600, bipartite=kind == "bipartite", directed=kind != "undirected",
        index=index, weight=weight, time=time, duplicates=duplicates, self_loops=self_loops, num_nodes=num_nodes,
    )  # fmt: skip
    assert (plan.shards, plan.num_tasks > 1) == (shards, True)


def test_several_texts_of_which_one_looks_like_numbers():
    write_text("a.csv", *names())
    write_text("b.csv", ["5", "6"], ["7", "7"])
    convert_both(["b.csv", "a.csv"], task_size=3000)


def test_compressed_text():
    for name, seed in (("a.csv.gz", 0), ("b.csv.gz", 1)):
        write_text(name, *names(seed=seed))
    assert convert_both(["a.csv.gz", "b.csv.gz"], ids="map", task_size=10).num_tasks == 2


def test_tables():
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    src, dst = names()
    numbers = np.random.default_rng(1).integers(-(2**62), 2**62, 60)
    dst_numbers = numbers[np.arange(len(dst)) % 60]
    parquet.write_table(arrow.table({"src": src, "dst": dst}), "edges.parquet", row_group_size=200)
    parquet.write_table(arrow.table({"src": src, "dst": dst_numbers}), "mixed.parquet", row_group_size=200)
    size = os.path.getsize("edges.parquet") // 5
    assert convert_both("edges.parquet", task_size=size).num_tasks > 2
    convert_both("mixed.parquet", task_size=size, bipartite=True)


def test_integers_that_are_numbered():
    numbers = np.random.default_rng(2).integers(-(2**62), 2**62, 100)
    edges = numbers[np.random.default_rng(3).integers(0, 100, (2, 3000))]
    np.savetxt("edges.txt", abs(edges.T) >> 4, fmt="%d")
    convert_both("edges.txt", ids="map", task_size=30_000)
    np.save("edges.npy", edges)
    convert_both("edges.npy", ids="map", task_size=10_000, num_nodes=200)


def test_no_edges_at_all():
    pathlib.Path("edges.csv").write_text("src,dst\n")
    convert_both("edges.csv", ids="map")


def test_bad_lines_are_skipped_and_counted():
    pathlib.Path("edges.csv").write_text("src,dst,w\n" + "ann,bob,1\nbob\nbob,cid,x\ncid,ann,2\n" * 30)
    plan = convert_both("edges.csv", weight="w", bad_lines="skip", task_size=200)
    assert plan.num_tasks > 3


def test_a_call_and_the_command_write_both_files_and_leave_nothing_behind():
    write_text("edges.csv", *names())
    gz.convert_edges("edges.csv", "plain.gl")
    report = gz.convert_edges("edges.csv", "s.gl", shards=3, ids_path="names.gi")
    assert report.ids_path == "names.gi"
    assert contents("names.gi") == contents("plain.gi")
    assert run(["convert", "edges.csv", "c.gl", "--engine", "local", "--shards", "2", "--work-dir", "work"]) == 0
    assert contents("c.gl") == contents("s.gl") == contents("plain.gl")
    assert contents("c.gi") == contents("plain.gi")
    gz.convert_edges("edges.csv", "here.gl", shards=2, work_dir=".")  # whose names are replaced together
    assert contents("here.gi") == contents("plain.gi")
    os.remove("here.gi")
    os.remove("here.gl")
    assert sorted(os.listdir()) == ["c.gi", "c.gl", "edges.csv", "names.gi", "plain.gi", "plain.gl", "s.gl"]


# What is wrong.


def raises(kind, message):
    return pytest.raises(kind, match=f"^{message}$")


@pytest.fixture
def planned():
    write_text("edges.csv", *names(400))
    return sharded.plan_shards("edges.csv", "steps", shards=2, task_size=2000, index="out")


def test_steps_out_of_order(planned):
    with pytest.raises(FileNotFoundError, match=r"expected the file of collect_labels\(folder, 0\), which comes first"):
        sharded.merge_labels("steps")
    for task in range(planned.num_tasks):
        sharded.collect_labels("steps", task)
    with pytest.raises(FileNotFoundError, match=r"expected the file of merge_labels\(folder\), which comes first"):
        sharded.partition_edges("steps", 0)


def test_damaged_labels_of_a_task(planned):
    for task in range(planned.num_tasks):
        sharded.collect_labels("steps", task)
    (path,) = pathlib.Path("steps").glob("task-000001-all.*.labels.gi")
    data = bytearray(path.read_bytes())
    data[data.index(b"name with blanks")] ^= 1
    path.write_bytes(data)
    with pytest.raises(gz.FormatError, match=r"task-000001-all\..*labels\.gi: .*checksum"):
        sharded.merge_labels("steps")
    assert not list(pathlib.Path("steps").glob("all.*"))


@pytest.mark.parametrize("is_grouped", [False, True])
@pytest.mark.parametrize("is_stored", [False, True])
def test_a_damaged_dictionary_is_named_and_made_again(is_grouped, is_stored):
    """It is not published, and the source is not blamed for a label that is not found in it."""
    steps = os.path.abspath("steps")
    if is_stored:
        pytest.importorskip("pyarrow.fs")
        steps = f"file://{steps}"
    write_text("edges.csv", *names())
    gz.convert_edges("edges.csv", "plain.gl")
    plan = sharded.plan_shards("edges.csv", steps, shards=2, task_size=9000)
    for task in range(plan.num_tasks):
        sharded.collect_labels(steps, task)
    sharded.merge_labels(steps)
    for task in range(plan.num_tasks if is_grouped else 0):
        sharded.partition_edges(steps, task)
    (merged,) = pathlib.Path("steps").glob("all.*.gi")
    whole = merged.read_bytes()
    label = "x" * 40 + "29"
    at = whole.index(label.encode())
    merged.write_bytes(whole[:at] + b"y" + whole[at + 1 :])
    problem = rf"{re.escape(steps)}/all\..*\.gi: .*; remove it and run merge_labels\(folder\) again"
    with pytest.raises(gz.FormatError, match=problem):
        sharded.run_shards(steps, "sharded.gl")
    assert not os.path.exists("sharded.gi")
    merged.unlink()
    sharded.run_shards(steps, "sharded.gl")
    for end in (".gl", ".gi"):
        assert contents(f"sharded{end}") == contents(f"plain{end}")


def test_a_bad_line_has_its_number_in_the_file():
    pathlib.Path("edges.csv").write_text("src,dst\n" + "ann,bob\n" * 50 + "cid\n" + "bob,cid\n" * 50)
    with pytest.raises(ValueError) as plain:
        gz.convert_edges("edges.csv", "g.gl")
    with pytest.raises(ValueError) as found:
        gz.convert_edges("edges.csv", "g.gl", shards=2)
    sharded.plan_shards("edges.csv", "steps", shards=2, task_size=60)
    with pytest.raises(ValueError) as cut:
        sharded.run_shards("steps", "g.gl")
    assert "line 52" in str(plain.value)
    assert str(found.value).endswith(str(plain.value))
    assert str(cut.value).endswith(str(plain.value))


def test_what_was_taken_for_a_header_and_names_a_node():
    pathlib.Path("edges.csv").write_text("source,target\nann,bob\n" + "bob,source\n" * 30)
    with pytest.raises(ValueError) as plain:
        gz.convert_edges("edges.csv", "g.gl")
    with pytest.raises(ValueError) as found:
        gz.convert_edges("edges.csv", "g.gl", shards=2)
    assert str(found.value) == str(plain.value)
    assert os.listdir() == ["edges.csv"]

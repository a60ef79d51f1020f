"""Conversions in shards whose sources, steps and target are in object storage."""

import filecmp
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphzero as gz
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.storage import is_there, located, read_range, remove_stored, write_stored
from graphzero.cli.command import run
from graphzero.convert import edge_feeds, sharded, sharded_features, step_files
from graphzero.convert import text as text_module
from graphzero.convert._shards.edge_plan import EdgePlan
from graphzero.convert._shards.row_plan import RowPlan
from graphzero.convert.row_sources import text as row_text
from graphzero.convert.tables.run import Build
from storage_server import KEY, SECRET

pa = pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Where steps work; nothing may stay there."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("GRAPHZERO_TMPDIR", str(folder))
    yield folder
    assert not list(folder.iterdir())


@pytest.fixture
def edges(tmp_path):
    """Parquet files of several row groups."""
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    for number in range(3):
        src, dst = rng.integers(0, 700, (2, 3000))
        table = pa.table({"src": src, "dst": dst, "w": rng.random(3000, np.float32)})
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=800)
    return [str(tmp_path / f"{number}.parquet") for number in range(3)]


def sent(paths, url):
    for path in paths:
        write_stored(located(url) / os.path.basename(path), iter([Path(path).read_bytes()]))
    return f"{url}/*.parquet"


def one_graph(folder):
    [graph] = Path(folder).rglob("*.gl")
    return graph


MANY_OPTIONS = {"weight": "w", "directed": False, "duplicates": "drop"}


@pytest.mark.parametrize(
    ("storage", "options"),
    [("file", {}), *((kind, MANY_OPTIONS) for kind in ("file", "fsspec", "s3"))],
    ids=str,
    indirect=["storage"],
)
def test_everything_in_storage_gives_the_file_of_one_machine(edges, storage, tmp_path, options):
    gz.convert_edges(edges, tmp_path / "one.gl", **options)
    source = sent(edges, f"{storage}/raw")
    plan = sharded.plan_shards(source, f"{storage}/ds/steps", shards=3, task_size="50KB", **options)
    assert plan.num_tasks > 2
    sharded.run_shards(plan.folder, tmp_path / "here.gl")
    assert filecmp.cmp(tmp_path / "here.gl", tmp_path / "one.gl", shallow=False)
    report = sharded.commit_shards(plan.folder, f"{storage}/ds")
    assert report.path.endswith("/ds")
    gz.stage(f"{storage}/ds", tmp_path / "ds", verify="full")
    assert filecmp.cmp(one_graph(tmp_path / "ds"), tmp_path / "one.gl", shallow=False)
    parts = json.loads(read_range(located(f"{storage}/ds") / MANIFEST, 0, 1 << 20))["edges"][0]["graph"]["parts"]
    assert all(part["file"].startswith("steps/") for part in parts)  # they were not copied


def test_a_plan_in_storage_without_its_target_copies_parts(edges, storage, tmp_path):
    plan = sharded.plan_shards(edges, f"{storage}/steps", shards=2)
    sharded.run_shards(plan.folder, f"{storage}/ds")
    gz.stage(f"{storage}/ds", tmp_path / "ds", verify="full")
    gz.convert_edges(edges, tmp_path / "one.gl")
    assert filecmp.cmp(one_graph(tmp_path / "ds"), tmp_path / "one.gl", shallow=False)


def test_a_call_keeps_the_files_of_its_steps_in_storage(edges, storage, tmp_path):
    work = f"{storage}/work"
    gz.convert_edges(edges, tmp_path / "one.gl")
    gz.convert_edges(edges, tmp_path / "here.gl", shards=2, work_dir=work)
    assert filecmp.cmp(tmp_path / "here.gl", tmp_path / "one.gl", shallow=False)
    plan = EdgePlan(work)
    assert plan.are_there(plan.records(0), plan.part("out", 1), plan.part("in", 0))
    steps = []
    gz.convert_edges(
        edges, f"{storage}/ds", shards=2, work_dir=work, progress=lambda done, total: steps.append((done, total))
    )
    assert set(steps) == {(0, 0)}  # nothing is left to do
    gz.stage(f"{storage}/ds", tmp_path / "ds", verify="full")
    assert filecmp.cmp(one_graph(tmp_path / "ds"), tmp_path / "one.gl", shallow=False)


def test_the_command_writes_a_data_set_in_parts(edges, s3, tmp_path, capsys):
    source = sent(edges, "s3://bucket/raw")
    assert run(["convert", source, "s3://bucket/ds", "--engine", "local", "--shards", "3", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["path"], report["num_edges"]) == ("s3://bucket/ds", 9000)
    assert run(["stage", "s3://bucket/ds", str(tmp_path / "ds"), "--verify", "full"]) == 0
    gz.convert_edges(edges, tmp_path / "one.gl")
    assert filecmp.cmp(one_graph(tmp_path / "ds"), tmp_path / "one.gl", shallow=False)


def test_a_graph_in_parts_is_replaced_and_another_data_set_is_not(edges, storage, tmp_path):
    first = gz.convert_edges(edges, f"{storage}/ds", shards=2)
    again = gz.convert_edges(edges, f"{storage}/ds", shards=2)
    assert (first.num_edges, first.size) == (again.num_edges, again.size)
    gz.convert_edges(edges[:1], f"{storage}/ds", shards=1)
    gz.stage(f"{storage}/ds", tmp_path / "ds", verify="full")
    gz.convert_edges(edges[:1], tmp_path / "one.gl")
    assert filecmp.cmp(one_graph(tmp_path / "ds"), tmp_path / "one.gl", shallow=False)
    with gz.edit_dataset(tmp_path / "ds") as edit:
        edit.set_attribute("x", np.zeros((700, 2), np.float32))
    gz.push(tmp_path / "ds", f"{storage}/more")
    write_stored(located(f"{storage}/broken") / MANIFEST, iter([b"{}"]))
    for name in ("more", "broken"):
        with pytest.raises(
            FileExistsError, match="has another data set, with more than a graph in parts; remove its gr"
        ):
            gz.convert_edges(edges, f"{storage}/{name}", shards=2)


@pytest.fixture
def names(tmp_path):
    """A text whose ids are labels, and its plain conversions."""
    rng = np.random.default_rng(2)
    lines = "".join(f"name {a},{b * 7}\n" for a, b in rng.integers(0, 300, (2000, 2)).tolist())
    path = tmp_path / "names.csv"
    path.write_text(f"src,dst\n{lines}")
    gz.convert_edges(path, tmp_path / "one.gl")
    gz.convert_edges(path, tmp_path / "two.gl", bipartite=True)
    return path


# Every pair on a disk. A server, whose requests take most of the time, has each value once.
@pytest.mark.parametrize(
    ("storage", "bipartite", "inside"),
    [
        *(("file", bipartite, inside) for bipartite in (False, True) for inside in (False, True)),
        *((kind, bipartite, not bipartite) for kind in ("fsspec", "s3") for bipartite in (False, True)),
    ],
    indirect=["storage"],
)
def test_labels_are_numbered_in_storage(names, storage, tmp_path, bipartite, inside):
    steps = f"{storage}/ds/steps" if inside else f"{storage}/steps"
    plan = sharded.plan_shards(names, steps, shards=2, task_size="10KB", bipartite=bipartite)
    assert plan.has_labels
    assert plan.num_tasks > 2
    sharded.run_shards(plan.folder, tmp_path / "here.gl")
    plain, ends = ("two", {"src": ".src", "dst": ".dst"}) if bipartite else ("one", {"node": ""})
    assert filecmp.cmp(tmp_path / "here.gl", tmp_path / f"{plain}.gl", shallow=False)
    report = sharded.commit_shards(plan.folder, f"{storage}/ds")
    assert report.ids_path.endswith(".labels.gi")
    gz.stage(f"{storage}/ds", tmp_path / "ds", verify="full")
    assert filecmp.cmp(one_graph(tmp_path / "ds"), tmp_path / f"{plain}.gl", shallow=False)
    manifest = json.loads((tmp_path / "ds" / MANIFEST).read_text())
    for kind, end in ends.items():
        assert filecmp.cmp(tmp_path / f"here{end}.gi", tmp_path / f"{plain}{end}.gi", shallow=False)
        staged = tmp_path / "ds" / manifest["nodes"][kind]["ids"]["file"]
        assert filecmp.cmp(staged, tmp_path / f"{plain}{end}.gi", shallow=False)


def test_a_call_writes_labels_to_storage_and_replaces_them(names, edges, storage, tmp_path):
    for source in (names, edges, names):
        gz.convert_edges(source, f"{storage}/ds", shards=2)
    gz.stage(f"{storage}/ds", tmp_path / "ds", verify="full")
    [labels] = (tmp_path / "ds").rglob("*.gi")
    assert filecmp.cmp(labels, tmp_path / "one.gi", shallow=False)
    with pytest.raises(ValueError, match="^ids_path: expected none, as a data set in storage has its dictionary of la"):
        gz.convert_edges(names, f"{storage}/ds", shards=2, ids_path=tmp_path / "x.gi")
    with pytest.raises(ValueError, match="^num_nodes: expected none for labels of a data set in storage, where every "):
        gz.convert_edges(names, f"{storage}/ds", shards=2, num_nodes=10_000)


def test_labels_that_were_left_out_are_named(names, storage):
    plan = sharded.plan_shards(names, f"{storage}/steps", shards=2)
    with pytest.raises(FileNotFoundError, match=r"expected the file of collect_labels\(folder, 0\), which comes first"):
        sharded.merge_labels(plan.folder)
    sharded.collect_labels(plan.folder, 0)
    with pytest.raises(FileNotFoundError, match=r"expected the file of merge_labels\(folder\), which comes first"):
        sharded.partition_edges(plan.folder, 0)


def test_damaged_records_in_storage(edges, storage):
    plan = sharded.plan_shards(edges, f"{storage}/steps", shards=2)
    sharded.partition_edges(plan.folder, 0)
    path = located(plan.folder) / EdgePlan(plan.folder).records(0)
    data = bytearray(read_range(path, 0, 1 << 24))
    data[int.from_bytes(data[256 + 16 : 256 + 24], "little")] ^= 1  # the first record
    remove_stored(path)
    write_stored(path, iter([bytes(data)]))
    with pytest.raises(gz.FormatError) as told:
        sharded.compile_shard(plan.folder, "out", 0)
    assert str(told.value).startswith(f"{path}: the checksum of ")
    assert str(told.value).endswith("it is damaged, remove it and run partition_edges(folder, 0) again")
    remove_stored(path)
    sharded.partition_edges(plan.folder, 0)
    sharded.compile_shard(plan.folder, "out", 0)


def test_damaged_parts_in_storage(edges, rows, storage, tmp_path):
    def repaired(run_steps, name, target, step):
        """Damage the file of a step; do what the error says."""
        path = located(f"{storage}/steps") / name
        data = bytearray(read_range(path, 0, 1 << 24))
        data[4096] ^= 1
        remove_stored(path)
        write_stored(path, iter([bytes(data)]))
        with pytest.raises(gz.FormatError) as told:
            run_steps(f"{storage}/steps", target)
        assert str(told.value).startswith(f"{path}: ")
        assert str(told.value).endswith(f"remove it and run {step} again")
        remove_stored(path)
        run_steps(f"{storage}/steps", target)

    sharded.plan_shards(edges, f"{storage}/steps", shards=1)
    sharded.run_shards(f"{storage}/steps", tmp_path / "g.gl")
    part = EdgePlan(f"{storage}/steps").part("in", 0)
    repaired(sharded.run_shards, part, tmp_path / "g.gl", "compile_shard(folder, 'in', 0)")
    sharded_features.plan_features(rows / "rows.npy", f"{storage}/steps", shards=1)
    sharded_features.run_features(f"{storage}/steps", tmp_path / "x.gd")
    part = RowPlan(f"{storage}/steps").part(0)
    repaired(sharded_features.run_features, part, tmp_path / "x.gd", "convert_rows(folder, 0)")


def test_damaged_labels_in_storage(names, storage):
    plan = sharded.plan_shards(names, f"{storage}/steps", shards=1, ids="map")
    sharded.collect_labels(plan.folder, 0)
    path = located(plan.folder) / EdgePlan(plan.folder).labels(0)[0]
    data = bytearray(read_range(path, 0, 1 << 24))
    data[4096] ^= 1
    remove_stored(path)
    write_stored(path, iter([bytes(data)]))
    with pytest.raises(gz.FormatError) as told:
        sharded.merge_labels(plan.folder)
    assert str(told.value).startswith(f"{path}: ")
    assert str(told.value).endswith("remove it and run collect_labels(folder, 0) again")
    remove_stored(path)
    sharded.collect_labels(plan.folder, 0)
    sharded.merge_labels(plan.folder)


@pytest.mark.parametrize("options", [{}, {"shards": 2}])
def test_one_graph_is_not_written_to_storage(edges, options):
    message = (
        "s3://b/g.gl: expected a path of this machine for one graph, found a URL; give the URL of a folder and sha"
    )
    with pytest.raises(ValueError, match=message) as error:
        gz.convert_edges(edges, "s3://key:secret@b/g.gl", **options)
    assert "secret" not in str(error.value)


def test_other_targets_are_refused_with_what_to_do(tmp_path, capsys):
    expected = "s3://b/x: expected a path of this machine to write, found a URL; write it here, and bring the data set"
    for work in (
        lambda: gz.convert_features(np.eye(3), "s3://k:secret@b/x"),
        lambda: gz.convert_dataset(tmp_path, "s3://k:secret@b/x"),
        lambda: gz.DatasetWriter("s3://k:secret@b/x"),
        lambda: gz.synthesize("s3://k:secret@b/x", nodes=20, edges=20),
    ):
        with pytest.raises(ValueError, match=expected):
            work()
    np.save(tmp_path / "e.npy", np.zeros((2, 3), int))
    assert run(["convert", str(tmp_path / "e.npy"), "s3://k:secret@b/x"]) == 2
    error = capsys.readouterr().err
    assert "expected a path of this machine for one graph, found a URL" in error
    assert "--shards" in error
    assert "secret" not in error


@pytest.fixture
def rows(tmp_path):
    """Rows of the nodes of ``edges``: as Parquet, by id in a text, and plain."""
    import pyarrow.parquet as pq

    values = np.random.default_rng(3).normal(size=(700, 5)).astype(np.float32)
    pq.write_table(pa.table({"x": list(values)}), tmp_path / "rows.parquet", row_group_size=90)
    np.save(tmp_path / "rows.npy", values)
    order = np.random.default_rng(4).permutation(700)
    lines = (f"{i}," + ",".join(map(repr, values[i].tolist())) for i in order.tolist())
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    for dtype in ("float32", "int8-quantised"):
        gz.convert_features(values, tmp_path / f"{dtype}.gd", dtype=dtype)
    return tmp_path


BY_ID = {"id_column": 0, "num_rows": 700, "header": False}


@pytest.mark.parametrize(
    ("source", "dtype", "options"),
    [("rows.parquet", "float32", {"columns": "x"}), ("rows.npy", "int8-quantised", {}), ("rows.csv", "float32", BY_ID)],
)
@pytest.mark.parametrize("inside", [True, False])
def test_features_in_storage(rows, storage, source, dtype, options, inside):
    write_stored(located(f"{storage}/raw/{source}"), iter([(rows / source).read_bytes()]))
    steps = f"{storage}/ds/steps" if inside else f"{storage}/steps"
    plan = sharded_features.plan_features(f"{storage}/raw/{source}", steps, shards=3, dtype=dtype, **options)
    assert (plan.num_tasks, plan.num_parts) == ((1, 3) if options is BY_ID else (3, 3))  # text in storage is not cut
    report = sharded_features.run_features(steps, rows / "here.gd")
    assert report.shape == (700, 5)
    assert filecmp.cmp(rows / "here.gd", rows / f"{dtype}.gd", shallow=False)
    report = sharded_features.commit_features(steps, f"{storage}/ds/y.gd")
    assert report.path.endswith("/ds/y.gd")
    gz.stage(f"{storage}/ds", rows / "ds", verify="full")
    assert filecmp.cmp(rows / "ds/nodes/node/y.gd", rows / f"{dtype}.gd", shallow=False)
    assert gz.open(rows / "ds")["y"].shape == (700, 5)


def test_features_join_the_graph_of_a_data_set_in_storage(edges, rows, s3, capsys):
    gz.convert_edges(edges, "s3://bucket/ds", shards=2)
    for path, shards in (("rows.npy", "3"), ("rows.parquet", "2")):  # the second takes the place of the first
        words = ["convert", str(rows / path), "s3://bucket/ds/x.gd", "--shards", shards, "--json"]
        assert run(words) == 0
        assert json.loads(capsys.readouterr().out)["path"] == "s3://bucket/ds/x.gd"
    gz.stage("s3://bucket/ds", rows / "ds", verify="full")
    data = gz.open(rows / "ds")
    assert (data.num_nodes, data["x"].shape) == (700, (700, 5))
    assert filecmp.cmp(rows / "ds/nodes/node/x.gd", rows / "float32.gd", shallow=False)
    gz.push(rows / "ds", "s3://bucket/whole")
    np.save(rows / "few.npy", np.zeros((3, 2)))
    for source, target, kind, message in (
        ("few.npy", "ds/z.gd", gz.FormatError, "s3://bucket/ds: expected 700 rows, as its data set has nodes, found 3"),
        (
            "rows.npy",
            "whole/x.gd",
            FileExistsError,
            "has a data set whose attribute 'x' is not in parts, and is not re",
        ),
        ("rows.npy", "ds/x", ValueError, "s3://bucket/ds/x: expected the URL of an attribute of a data set, such as s"),
    ):
        with pytest.raises(kind, match=message):
            gz.convert_features(rows / source, f"s3://bucket/{target}", shards=2)


def test_features_of_a_data_set_with_several_types_of_nodes(rows, storage, tmp_path):
    with gz.DatasetWriter(tmp_path / "two") as writer:
        for name in ("paper", "author"):
            writer.add_nodes({"x": np.zeros((700, 2))}, type=name)
    gz.push(tmp_path / "two", f"{storage}/two")
    with pytest.raises(FileExistsError, match="has a data set with 2 types of nodes, expected one, which gets the at"):
        gz.convert_features(rows / "rows.npy", f"{storage}/two/y.gd", shards=2)


def test_steps_that_were_left_out_are_named(edges, storage):
    plan = sharded.plan_shards(edges, f"{storage}/steps", shards=2)
    with pytest.raises(
        FileNotFoundError, match=r"expected the file of partition_edges\(folder, 0\), which comes first"
    ):
        sharded.compile_shard(plan.folder, "out", 0)
    sharded.partition_edges(plan.folder, 0)
    with pytest.raises(FileNotFoundError, match=r"expected the file of compile_shard\(folder, 'out', 0\), which comes"):
        sharded.commit_shards(plan.folder, f"{storage}/ds")
    with pytest.raises(FileNotFoundError, match=r"expected the file of plan_shards\(\), which comes first"):
        sharded.partition_edges(f"{storage}/nowhere", 0)
    assert not is_there(located(f"{storage}/ds") / MANIFEST)


def test_a_source_that_changed_in_storage_is_refused(edges, storage):
    source = sent(edges, f"{storage}/raw")
    plan = sharded.plan_shards(source, f"{storage}/steps", shards=2)
    write_stored(located(f"{storage}/raw/1.parquet"), iter([Path(edges[0]).read_bytes() + b"x"]))
    with pytest.raises(
        ValueError, match=r"raw/1\.parquet: expected \d+ bytes, as when it was planned, found \d+; plan"
    ):
        sharded.partition_edges(plan.folder, 0)


def test_records_that_are_replaced_while_they_are_read(edges, storage, monkeypatch):
    plan = sharded.plan_shards(edges, f"{storage}/steps", shards=2)
    sharded.partition_edges(plan.folder, 0)
    facts, calls = step_files.facts_of, []

    def later(paths):
        calls.append(1)
        found = facts(paths)
        if len(calls) == 1:
            return found

        class Later:
            size, mtime_ns = found[0].size, found[0].mtime_ns + 1_000_000_000 if found[0].mtime_ns else 1

        return [Later]

    monkeypatch.setattr(step_files, "facts_of", later)
    with pytest.raises(OSError, match="was replaced while it was read; repeat the step"):
        sharded.compile_shard(plan.folder, "out", 0)


def test_a_truncated_part_is_refused(edges, storage):
    plan = sharded.plan_shards(edges, f"{storage}/steps", shards=1)
    sharded.partition_edges(plan.folder, 0)
    for index in plan.indexes:
        sharded.compile_shard(plan.folder, index, 0)
    conversion = EdgePlan(plan.folder)
    path = located(f"{storage}/steps") / conversion.part("out", 0)
    data = read_range(path, 0, 1 << 24)
    remove_stored(path)
    write_stored(path, iter([data[:-4096]]))
    with pytest.raises(gz.FormatError, match=rf"part: expected {len(data)} bytes, found {len(data) - 4096}; remove"):
        sharded.commit_shards(plan.folder, f"{storage}/ds")


KILLED = """
import os, signal, sys
from graphzero.convert import sharded, sharded_features, step_files
from graphzero.convert._shards.edge_plan import EdgePlan
import graphzero._files.storage as storage
blocks = step_files.file_blocks
def killed(path):
    for block in blocks(path):
        yield block[: len(block) // 2]
        os.kill(os.getpid(), signal.SIGKILL)
step_files.file_blocks = killed
getattr(sharded, sys.argv[1])(sys.argv[2], *eval(sys.argv[3]))
"""


@pytest.mark.parametrize("storage", ["file", "s3"], indirect=True)
def test_a_step_that_is_killed_in_mid_upload_leaves_nothing_and_is_repeated(edges, storage, tmp_path, temporary):
    url = f"{storage}/steps"
    plan = sharded.plan_shards(edges, url, shards=2)

    def kill(step, arguments):
        words = [sys.executable, "-c", KILLED, step, url, repr(arguments)]
        assert subprocess.run(words, timeout=60).returncode == -9
        for left in temporary.iterdir():  # the process could not remove it
            for file in left.iterdir():
                file.unlink()
            left.rmdir()

    kill("partition_edges", (0,))
    with pytest.raises(FileNotFoundError, match=r"expected the file of partition_edges\(folder, 0\)"):
        sharded.compile_shard(url, "out", 0)
    sharded.partition_edges(url, 0)
    kill("compile_shard", ("in", 1))
    sharded.run_shards(url, f"{storage}/ds")
    gz.stage(f"{storage}/ds", tmp_path / "ds", verify="full")
    gz.convert_edges(edges, tmp_path / "one.gl")
    assert filecmp.cmp(one_graph(tmp_path / "ds"), tmp_path / "one.gl", shallow=False)
    assert plan.num_tasks == 1
    assert not list(tmp_path.rglob("*.graphzero-tmp"))  # what a killed step left on a disk is removed


def test_no_file_of_a_conversion_has_credentials(edges, s3, tmp_path, monkeypatch):
    source = sent(edges, "s3://bucket/raw")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name)
    address = s3.endpoint.removeprefix("http://")
    login, settings = f"{KEY}:{SECRET}@", f"?scheme=http&endpoint_override={address}&region=us-east-1"
    given = source.replace("s3://", f"s3://{login}") + settings
    plan = sharded.plan_shards(given, f"s3://{login}bucket/steps{settings}", shards=1)
    place = located(f"s3://{login}bucket/steps{settings}")
    texts = [pickle.dumps(plan).decode("latin-1"), repr(plan), read_range(place / "plan.json", 0, 1 << 20).decode()]
    report = gz.convert_edges(edges, f"s3://{login}bucket/ds{settings}", shards=1)
    manifest = located(f"s3://{login}bucket/ds{settings}") / MANIFEST
    texts += [
        str(report),
        repr(report),
        pickle.dumps(report).decode("latin-1"),
        read_range(manifest, 0, 1 << 20).decode(),
    ]
    for text in texts:
        for secret in (KEY, SECRET, "wJalrXUtnFEMI/K7MDENG", address):
            assert secret not in text
    # A step of another process finds the sources with the credentials of its own environment.
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    sharded.partition_edges("s3://bucket/steps", 0)


def replaced(path):
    """Make a file another one of the same size."""
    os.utime(path, ns=(0, os.stat(path).st_mtime_ns + 5_000_000_000))


@pytest.mark.parametrize("task", ["partition_edges", "collect_labels", "convert_rows"])
def test_a_file_that_is_replaced_while_a_step_reads_it_is_refused(tmp_path, monkeypatch, task):
    """Part of it would be from the old file, and part from the new."""
    source = tmp_path / "source.csv"
    source.write_text("".join(f"{'n' if task == 'collect_labels' else ''}{i},{i + 1}\n" for i in range(100)))
    if task == "convert_rows":
        plan = sharded_features.plan_features(source.as_uri(), "steps", shards=1, header=False, dtype="float32")
    else:
        plan = sharded.plan_shards(source.as_uri(), "steps", shards=1, header=False)
    read = text_module.line_blocks

    def reading(*arguments):
        yield from read(*arguments)
        replaced(source)

    for module in (edge_feeds, row_text):
        monkeypatch.setattr(module, "line_blocks", reading)
    before = sorted(os.listdir("steps"))
    module = sharded_features if task == "convert_rows" else sharded
    with pytest.raises(ValueError, match="source.csv: expected a file as old as when it was planned, found one that"):
        getattr(module, task)(plan.folder, 0)
    assert sorted(os.listdir("steps")) == before


@pytest.mark.parametrize(("convert", "options"), [(gz.convert_edges, {}), (gz.convert_features, {"dtype": "float32"})])
def test_a_file_that_is_replaced_while_it_is_converted_is_refused(tmp_path, convert, options):
    source = tmp_path / "source.csv"
    source.write_text("".join(f"{i},{i + 1}\n" for i in range(100)))

    def progress(done, total):
        replaced(source)

    with pytest.raises(gz.FormatError, match="source.csv: expected the same file until it is read, found another; con"):
        convert(source.as_uri(), "made", header=False, progress=progress, **options)
    assert not os.path.exists("made")


def test_a_table_that_is_replaced_while_it_is_read_is_refused(tmp_path, monkeypatch):
    source = tmp_path / "edges.csv"
    source.write_text("src,dst\n" + "".join(f"{i},{i + 1}\n" for i in range(100)))
    add_edges = Build._add_edges

    def replacing(self, edge):
        replaced(source)
        return add_edges(self, edge)

    monkeypatch.setattr(Build, "_add_edges", replacing)
    with pytest.raises(gz.FormatError, match="edges.csv: expected the same file until it is read, found another; con"):
        gz.build_dataset("made", edges={"source": source.as_uri()})
    assert not os.path.exists("made")


def test_a_dry_run_shows_no_credentials(capfd):
    np.save("x.npy", np.eye(3))
    url = f"s3://{KEY}:{SECRET.replace('/', '%2F')}@bucket/ds/x.gd?scheme=http&region=us-east-1"
    report = gz.convert_features("x.npy", url, shards=2, dry_run=True)
    assert report.path == "s3://bucket/ds/x.gd"
    for words in ([], ["--json"]):
        assert run(["convert", "x.npy", url, "--shards", "2", "--dtype", "float16", "--dry-run", *words]) == 0
    said = "".join(capfd.readouterr()) + repr(report) + str(report)
    assert KEY not in said
    assert SECRET[:8] not in said
    assert "s3://bucket/ds/x.gd" in said


def test_a_plan_keeps_where_storage_is(s3, monkeypatch):
    """But for credentials, which every machine has in its own environment."""
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    settings = f"?scheme=http&endpoint_override={s3.endpoint.removeprefix('http://')}&region=us-east-1"
    url = "s3://bucket"
    write_stored(located(f"{url}/e.csv{settings}"), iter([b"src,dst\n0,1\n1,2\n"]))
    assert gz.convert_edges(f"{url}/e.csv{settings}", "made.gl", shards=2, work_dir="steps").num_edges == 2
    path = located(f"{url}/e.csv{settings}")
    assert str(pickle.loads(pickle.dumps(path))) == str(path) == f"{url}/e.csv"
    assert read_range(pickle.loads(pickle.dumps(path)), 0, 3) == b"src"
    with pytest.raises(ValueError, match="expected host:port as endpoint_override, found a user before @"):
        located("s3://bucket/e.csv?endpoint_override=user:password@host")


def test_a_folder_of_tables_is_converted_from_the_shell(capfd):
    os.makedirs("table/part=1")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"src": [0], "dst": [1]}), "table/part=1/a.parquet")
    assert run(["convert", "table", "made.gl"]) == 0
    assert run(["convert", "table", "sharded.gl", "--shards", "2"]) == 0
    assert filecmp.cmp("made.gl", "sharded.gl", shallow=False)
    assert run(["convert", "table", "made.gd"]) != 0
    assert "table: is a folder, expected files" in capfd.readouterr().err


def halve(path):
    """Leave what an upload leaves whose server refuses a later part, and then to remove it."""
    whole = read_range(path, 0, 1 << 30)
    write_stored(path, iter([whole[: len(whole) // 2]]))


@pytest.mark.parametrize("what", ["task-000000", "out-000001", "all"])
def test_half_a_file_of_edges_or_labels_in_storage_is_written_anew(names, storage, tmp_path, what):
    plan = sharded.plan_shards(names, f"{storage}/steps", shards=2, task_size="10KB")
    sharded.run_shards(plan.folder, tmp_path / "first.gl")
    steps = EdgePlan(plan.folder)
    [own] = steps.dictionaries()
    half = {"task-000000": steps.records(0), "out-000001": steps.part("out", 1), "all": own}[what]
    halve(steps.files.path(half))
    assert not steps.files.has(half)
    sharded.run_shards(plan.folder, tmp_path / "again.gl")
    assert steps.files.has(half)
    assert filecmp.cmp(tmp_path / "first.gl", tmp_path / "again.gl", shallow=False)


def test_half_a_file_of_rows_in_storage_is_written_anew(rows, storage, tmp_path):
    plan = sharded_features.plan_features(rows / "rows.npy", f"{storage}/steps", shards=2)
    sharded_features.run_features(plan.folder, tmp_path / "first.gd")
    steps = RowPlan(plan.folder)
    halve(steps.files.path(steps.part(1)))
    assert not steps.is_done(steps.part(1))
    sharded_features.run_features(plan.folder, tmp_path / "again.gd")
    assert filecmp.cmp(tmp_path / "first.gd", tmp_path / "again.gd", shallow=False)

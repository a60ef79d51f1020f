"""Data sets in parts: docs/formats/dataset.md, what push and conversions write, and what stage makes of it."""

import filecmp
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import xxhash

import files
import graphzero as gz
from graphzero import _core
from graphzero._files.manifest_paths import MANIFEST
from graphzero.cli.command import run
from graphzero.convert.sharded import commit_shards, compile_shard, partition_edges, plan_shards

pytest.importorskip("pyarrow.fs")

X = ("nodes", "paper", "attributes", "x")
GRAPH = ("edges", 0, "graph")


def write_rows(folder, dtype=np.float32, rows=1000):
    rng = np.random.default_rng(0)
    with gz.DatasetWriter(folder, overwrite=True) as writer:
        writer.add_nodes(
            {"x": rng.integers(0, 2, (rows, 24)).astype(dtype), "y": np.arange(rows)}, type="paper", label="y"
        )
        writer.add_edges(*rng.integers(0, rows, (2, 5000)), type=("paper", "cites", "paper"))
        writer.add_split("train", np.arange(0, rows, 3), of="paper")
    return str(folder)


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 700, (6000, 2))
    pairs[:500, 0] = 3  # a hub
    path = tmp_path_factory.mktemp("edges") / "edges.npy"
    np.save(path, pairs.T)
    return str(path)


def converted(edges, tmp_path, shards=3, **options):
    """Return a data set whose graph is in parts, in a folder that stands for storage."""
    plan = plan_shards(edges, tmp_path / "steps", shards=shards, **options)
    for task in range(plan.num_tasks):
        partition_edges(plan.folder, task)
    for index in plan.indexes:
        for shard in range(plan.shards):
            compile_shard(plan.folder, index, shard)
    commit_shards(plan.folder, (tmp_path / "stored").as_uri())
    return tmp_path / "stored"


def document_of(folder):
    return json.loads((Path(folder) / MANIFEST).read_text(encoding="utf-8"))


def at(document, place):
    for key in place:
        document = document[key]
    return document


@pytest.fixture(scope="module")
def made(edges, tmp_path_factory):
    """A data set with a graph and rows in parts, beside one of the rows alone."""
    top = tmp_path_factory.mktemp("made")
    folder = converted(edges, top)
    document = document_of(folder)
    write_rows(top / "rows", rows=700)
    gz.push(top / "rows", top / "pushed", parts=20_000)
    other = document_of(top / "pushed")
    os.rename(top / "pushed" / "nodes", folder / "nodes")
    document["nodes"] = {"paper": {"num_nodes": 700, "attributes": {"x": at(other, X)}}}
    document["edges"][0]["type"] = ["paper", "cites", "paper"]
    (folder / MANIFEST).write_text(json.dumps(document))
    return top


@pytest.fixture
def stored(made, tmp_path):
    """A copy of it that may be broken."""
    return Path(shutil.copytree(made / "stored", tmp_path / "stored"))


def change(*place, to):
    def apply(folder):
        document = document_of(folder)
        at(document, place[:-1])[place[-1]] = to(at(document, place)) if callable(to) else to
        (folder / MANIFEST).write_text(json.dumps(document))

    return apply


def swapped(parts):
    return [parts[1], parts[0], *parts[2:]]


def without_one(parts):
    return [parts[0], *parts[2:]]


def unsealed(break_it, *place):
    """Return the same damage of a manifest that has no seal there."""

    def apply(folder):
        document = document_of(folder)
        del at(document, place)["seal"]
        (folder / MANIFEST).write_text(json.dumps(document))
        break_it(folder)

    return apply


def exchange(names, *place, between=(0, 1)):
    """Return a function that exchanges some of what a manifest says of two parts."""

    def apply(folder):
        document = document_of(folder)
        one, other = (at(document, place)[number] for number in between)
        for name in names:
            one[name], other[name] = other[name], one[name]
        (folder / MANIFEST).write_text(json.dumps(document))

    return apply


def rotated(folder):
    """Give each part of the rows the content of the one behind it."""
    document = document_of(folder)
    parts = at(document, X)["parts"]
    contents = [(part["file"], part["fingerprint"]) for part in parts]
    for part, (file, fingerprint) in zip(parts[:-1], [*contents[1:-1], contents[0]], strict=True):
        part.update(file=file, fingerprint=fingerprint)
    (folder / MANIFEST).write_text(json.dumps(document))


def remove_part(*place):
    return lambda folder: os.remove(folder / at(document_of(folder), place)["file"])


def copy_part(source, target):
    def apply(folder):
        document = document_of(folder)
        data = (folder / at(document, source)["file"]).read_bytes()
        (folder / at(document, target)["file"]).write_bytes(data)
        at(document, target)["fingerprint"] = at(document, source)["fingerprint"]
        del at(document, target)["seal"]
        (folder / MANIFEST).write_text(json.dumps(document))

    return apply


def flip(place, byte):
    def apply(folder):
        path = folder / at(document_of(folder), place)["file"]
        data = bytearray(path.read_bytes())
        data[byte] ^= 1
        path.write_bytes(data)

    return apply


@dataclass
class Case:
    invariant: str
    what: str
    break_it: object
    message: str
    error: type = gz.FormatError

    def __str__(self):
        return f"{self.invariant}: {self.what}"


# Both parts are named: the one that is there, and the one that belongs there.
WRONG_ORDER = (
    r"x\.parts\[0\]: expected nodes/paper/x\.gd\.parts/[0-9a-f]{16}-0-(\d+)\.gd, which is at \[\d\], for 0 to \1, found "
    r"nodes/paper/x\.gd\.parts/[0-9a-f]{16}-\1-\d+\.gd: the parts are in the wrong order; push"
)

BROKEN = [
    Case("DS25", "no parts", change(*X, "parts", to=[]), r"x\.parts: expected at least one part, found \[\]"),
    Case("DS25", "parts that are text", change(*X, "parts", to="x"), r'x\.parts: expected a list of parts, found "x"'),
    Case("DS26", "a negative begin", change(*X, "parts", 0, "begin", to=-1), r"parts\[0\]\.begin: expected 0 to 2\^59"),
    Case("DS26", "an end before the begin", change(*X, "parts", 1, "end", to=3), r"end: expected at least begin, \d+, found 3"),
    Case("DS26", "an end that is text", change(*X, "parts", 1, "end", to="3"), r"end: expected a count, found \"3\""),
    Case("DS27", "parts that overlap", change(*X, "parts", 1, "begin", to=5), r"parts\[1\]\.begin: expected \d+, where the one before ends, found 5"),
    Case("DS27", "a gap", change(*X, "parts", to=without_one), r"parts\[1\]\.begin: expected \d+, where the one before"),
    Case("DS27", "parts in another order", change(*GRAPH, "parts", to=swapped), r"parts\[0\]\.begin: expected 0, where"),
    Case("DS28", "rows that end early", change(*X, "parts", to=lambda parts: parts[:-1]), r"expected 700, the number of nodes, found \d+"),
    Case("DS28", "lists that end early", change("nodes", "paper", "num_nodes", to=900), r"expected 900, the number of nodes"),
    Case("DS28", "an index that ends early", change(*GRAPH, "parts", 5, "end", to=690), "expected the in parts to end at node 700, found 690"),
    Case("DS29", "an unknown index", change(*GRAPH, "parts", 0, "index", to="up"), r'index: expected out or in, found "up"'),
    Case("DS29", "in before out", change(*GRAPH, "parts", to=lambda parts: parts[3:] + parts[:3]), "expected parts of out before those of in"),
    Case("DS30", "other edges in one index", change(*GRAPH, "parts", 0, "edges", to=1), "expected as many edges in both indexes"),
    Case("DS31", "two parts in one file", change(*X, "parts", 1, "file", to="nodes//paper/./x.gd"), "expected parts in files of their own"),
    Case("DS31", "a path outside", change(*X, "parts", 1, "file", to="../x"), r"parts\[1\]\.file: expected a path inside"),
    Case("DS31", "the manifest as a part", change(*X, "parts", 1, "file", to="./graphzero.json"), r"parts\[1\]\.file: expected another file than the manifest"),
    Case("DS31", "a whole file that is the manifest", change(*GRAPH, "file", to="graphzero.json"), r"graph\.file: expected another file than the manifest"),
    Case("DS33", "a part that is gone", remove_part(*GRAPH, "parts", 0), "expected a file there, found none", FileNotFoundError),
    Case("DS33", "another fingerprint", unsealed(change(*X, "parts", 0, "fingerprint", to="0x" + "7" * 16), *X, "parts", 0), "expected the fingerprint 0x7777777777777777"),
    Case("DS34", "rows of another range", copy_part((*X, "parts", -1), (*X, "parts", 0)), r"expected \d+ rows, found \d+"),
    Case("DS34", "another part's rows", copy_part((*X, "parts", 1), (*X, "parts", 0)), "when its parts are put together, found 0x"),
    Case("DS34", "lists of another range", copy_part((*GRAPH, "parts", 0), (*GRAPH, "parts", 1)), "expected the nodes .* of out, with"),
    Case("DS34", "lists of the other index", copy_part((*GRAPH, "parts", 3), (*GRAPH, "parts", 0)), "expected .*, found"),
    Case("DS42", "rows that changed places", exchange(["file", "fingerprint"], *X, "parts"), WRONG_ORDER),
    Case("DS42", "rows that changed places with their seals", exchange(["file", "fingerprint", "seal"], *X, "parts"), r"parts\[0\]\.seal: expected \"?0x[0-9a-f]{16}, of its range and fingerprint, found \"0x"),
    Case("DS42", "rows that all changed places", rotated, WRONG_ORDER),
    Case("DS42", "lists that changed places", exchange(["file", "fingerprint"], *GRAPH, "parts"), r"parts\[0\]: expected \S+out-000000\S+, which is at \[1\], for 0 to \d+, found \S+out-000001\S+: the parts are in"),
    Case("DS42", "lists of two indexes that changed places", exchange(["file", "fingerprint"], *GRAPH, "parts", between=(0, 3)), r"expected \S+out-000000\S+, which is at \[3\], .* found \S+in-000000"),
    Case("DS42", "another fingerprint", change(*X, "parts", 0, "fingerprint", to="0x" + "7" * 16), r"parts\[0\]\.seal: expected 0x[0-9a-f]{16}, of its range"),
    Case("DS42", "a seal that is a number", change(*X, "parts", 0, "seal", to=7), r"parts\[0\]\.seal: expected a fingerprint, found 7"),
    Case("DS34", "a flipped byte of rows", flip((*X, "parts", 1), 5000), "its parts: .*checksum"),
    Case("DS34", "a flipped byte of lists", flip((*GRAPH, "parts", 0), 5000), "its parts: .*the checksum of out_indptr differs"),
]  # fmt: skip


def test_every_invariant_is_broken_once():
    assert {case.invariant for case in BROKEN} | {"DS32"} == set(files.invariants("dataset.md", "parts"))


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_what_is_broken_is_refused(case, stored, tmp_path):
    case.break_it(stored)
    with pytest.raises(case.error, match=case.message):
        gz.stage(stored, tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_rows_that_changed_places_are_no_share(stored, tmp_path):
    exchange(["file", "fingerprint"], *X, "parts")(stored)
    with pytest.raises(gz.FormatError, match=WRONG_ORDER):
        gz.stage(stored, tmp_path / "here", host=1, hosts=2)


def test_a_manifest_without_seals_is_read(stored, made, tmp_path):
    document = document_of(stored)
    for part in [*at(document, X)["parts"], *at(document, GRAPH)["parts"]]:
        del part["seal"]
    (stored / MANIFEST).write_text(json.dumps(document))
    gz.stage(stored, tmp_path / "here")
    assert filecmp.cmp(tmp_path / "here/nodes/paper/x.gd", made / "rows/nodes/paper/x.gd", shallow=False)


@pytest.mark.parametrize("use", [gz.open, gz.verify, gz.edit_dataset])
def test_a_folder_with_parts_is_not_opened(stored, use):
    """DS32."""
    with pytest.raises(gz.FormatError, match=r"found nodes/paper/x\.gd in \d+ parts, which cannot be mapped; put them"):
        use(stored)


def test_all_parts_become_one_data_set(stored, made, edges, tmp_path):
    gz.stage(stored, tmp_path / "here", verify="full")
    gz.convert_edges(edges, tmp_path / "one.gl")
    graph = document_of(stored)["edges"][0]["graph"]["file"]
    assert filecmp.cmp(tmp_path / "here" / graph, tmp_path / "one.gl", shallow=False)
    assert filecmp.cmp(tmp_path / "here/nodes/paper/x.gd", made / "rows/nodes/paper/x.gd", shallow=False)
    assert document_of(tmp_path / "here")["version"] == 1
    assert sorted(path.name for path in (tmp_path / "here").rglob("*") if path.is_file()) == [
        "graph.gl", "graphzero.json", "x.gd",
    ]  # fmt: skip
    assert not list((tmp_path / "here").rglob("*.parts"))


@pytest.mark.parametrize(
    "options",
    [
        {}, {"directed": False}, {"index": "in"}, {"index": "out", "edge_ids": False}, {"duplicates": "drop"},
        {"bipartite": True}, {"self_loops": "drop"}, {"num_nodes": 2000},
    ],
    ids=str,
)  # fmt: skip
def test_a_graph_in_parts_is_that_of_one_machine(edges, tmp_path, options):
    folder = converted(edges, tmp_path, 1 if options == {} else 8, **options)
    gz.stage(folder, tmp_path / "here")
    gz.convert_edges(edges, tmp_path / "one.gl", **options)
    [graph] = (tmp_path / "here").rglob("*.gl")
    assert filecmp.cmp(graph, tmp_path / "one.gl", shallow=False)
    with gz.open(tmp_path / "here") as ds:
        assert len(ds.nodes) == (2 if options.get("bipartite") else 1)


def test_weights_and_times_are_in_parts_too(tmp_path):
    rng = np.random.default_rng(2)
    text = "".join(f"{a},{b},{w:.3f},{t}\n" for a, b, w, t in zip(*rng.integers(0, 90, (2, 800)), rng.random(800), rng.integers(0, 9, 800), strict=True))  # fmt: skip
    (tmp_path / "e.csv").write_text("src,dst,w,t\n" + text)
    options = {"weight": "w", "time": "t", "time_unit": "s"}
    folder = converted(str(tmp_path / "e.csv"), tmp_path, 4, **options)
    gz.stage(folder, tmp_path / "here", verify="full")
    gz.convert_edges(tmp_path / "e.csv", tmp_path / "one.gl", **options)
    [graph] = (tmp_path / "here").rglob("*.gl")
    assert filecmp.cmp(graph, tmp_path / "one.gl", shallow=False)
    assert document_of(tmp_path / "here")["edges"][0]["time_unit"] == "s"


@pytest.mark.parametrize("dtype", ["float32", "int8 with scales", "bool", "int64"])
def test_rows_in_parts_are_the_rows_again(tmp_path, storage, dtype):
    folder = write_rows(tmp_path / "ds")
    if dtype == "int8 with scales":
        np.save(tmp_path / "x.npy", np.random.default_rng(0).random((1000, 24), np.float32))
        gz.convert_features(tmp_path / "x.npy", tmp_path / "x.gd", dtype="int8-quantised")
        with gz.edit_dataset(folder) as edit:
            edit.set_attribute("x", gz.FeatureStore(tmp_path / "x.gd"), of="paper")
    else:
        write_rows(folder, dtype=dtype)
    report = gz.push(folder, f"{storage}/ds", parts="4KiB")
    assert report.num_files > 5
    staged = gz.stage(f"{storage}/ds", tmp_path / "here", verify="full")
    assert staged.num_files == report.num_files
    ours = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    assert ours
    for path in ours:
        assert filecmp.cmp(path, tmp_path / "here" / path.relative_to(folder), shallow=False)


def test_rows_stored_hottest_first_stay_whole(tmp_path):
    folder = write_rows(tmp_path / "ds")
    with gz.edit_dataset(folder) as edit:
        graph = gz.Graph(f"{folder}/edges/paper__cites__paper/graph.gl")
        gz.convert_features(f"{folder}/nodes/paper/x.gd", tmp_path / "hot.gd", order="hot", graph=graph)
        edit.set_attribute("x", gz.FeatureStore(tmp_path / "hot.gd"), of="paper")
    with gz.FeatureStore(f"{folder}/nodes/paper/x.gd") as store:
        assert store.reordered
    gz.push(folder, tmp_path / "there", parts="1KiB")
    assert "parts" not in document_of(tmp_path / "there")["nodes"]["paper"]["attributes"]["x"]


def test_a_push_again_sends_no_part(tmp_path, storage):
    folder = write_rows(tmp_path / "ds")
    first = gz.push(folder, f"{storage}/ds", parts="16KiB")
    again = gz.push(folder, f"{storage}/ds", parts="16KiB")
    assert (again.num_skipped, again.transferred) == (first.num_files, 0)


def test_other_parts_of_the_same_data_set_need_no_overwrite(tmp_path):
    folder = write_rows(tmp_path / "ds")
    gz.push(folder, tmp_path / "there", parts="16KiB")
    gz.push(folder, tmp_path / "there", parts="8KiB")
    gz.stage(tmp_path / "there", tmp_path / "here", verify="full")
    gz.push(folder, tmp_path / "there", parts=None)
    assert document_of(tmp_path / "there")["version"] == 1
    with pytest.raises(FileExistsError, match="has another data set"):
        gz.push(write_rows(tmp_path / "other", rows=500), tmp_path / "there", parts="16KiB")
    with pytest.raises(ValueError, match="parts: expected at least 1, found 0"):
        gz.push(folder, tmp_path / "there", parts=0)


def test_info_shows_parts(stored, capsys):
    assert run(["info", stored.as_uri()]) == 0
    text = capsys.readouterr().out
    assert "data set, format 2, in storage" in text
    assert "graph.gl, of 6" in text
    assert "6,000 edges" in text
    assert run(["info", stored.as_uri(), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [record["num_parts"] for record in facts["parts"]] == [len(at(document_of(stored), X)["parts"]), 6]


def test_a_stage_goes_on_after_parts_were_put_together(stored, tmp_path, monkeypatch):
    import graphzero.staging as staging

    joined, join = [], staging.join

    def failing(new, record, place):
        if joined:
            raise OSError("the power is gone")
        joined.append(record.file)
        return join(new, record, place)

    monkeypatch.setattr(staging, "join", failing)
    with pytest.raises(OSError, match="the power is gone"):
        gz.stage(stored, tmp_path / "here")
    monkeypatch.setattr(staging, "join", join)
    report = gz.stage(stored, tmp_path / "here", verify="full")
    assert report.transferred == 0
    assert report.num_skipped == report.num_files


def test_little_room_removes_parts_of_rows_one_by_one(stored, made, tmp_path, monkeypatch):
    import graphzero._dataset.joined_parts as joined_parts

    monkeypatch.setattr(joined_parts, "free_space", lambda path: 0)
    gz.stage(stored, tmp_path / "here", verify="full")
    assert filecmp.cmp(tmp_path / "here/nodes/paper/x.gd", made / "rows/nodes/paper/x.gd", shallow=False)


FIELDS = {"flags": (36, 4), "first_node": (64, 8), "num_nodes": (72, 8), "num_entries": (80, 8), "num_rows": (120, 8)}
FIELDS |= {"num_src_nodes": (104, 8), "num_dst_nodes": (112, 8)}


def set_field(path, name, value):
    """Change a field of a part, and its header's checksum."""
    data = bytearray(Path(path).read_bytes())
    begin, size = FIELDS[name]
    data[begin : begin + size] = value.to_bytes(size, "little")
    data[16:24] = bytes(8)
    data[16:24] = xxhash.xxh64(bytes(data[:4096])).intdigest().to_bytes(8, "little")
    Path(path).write_bytes(data)


BROKEN_PARTS = [
    ("P1", {"out-000001": ("first_node", 1)}, "expected a part that begins at node [0-9]+, found 1"),
    ("P2", dict.fromkeys(("out-", "in-"), ("num_src_nodes", 701)), "expected the last part to end at node 701, found 700"),
    ("P3", {"out-000001": ("num_rows", 5)}, "expected a part of the same graph as .*, found one of another: of 5 edges instead of 6000"),
    ("P3", {"in-": ("flags", 0)}, "expected a part of the same graph as"),
    ("P4", {"out-000000": ("num_entries", 1)}, "expected a part with 1 items of int32 as out_indices"),
    ("P5", {"in-000002": ("num_nodes", 2**60)}, r"expected counts of at most 2\^59, found 1152921504606846976"),
]  # fmt: skip


@pytest.mark.parametrize(("invariant", "changes", "message"), BROKEN_PARTS)
def test_parts_that_are_broken_are_not_put_together(stored, tmp_path, invariant, changes, message):
    paths = sorted(stored.rglob("*.part"))
    for path in paths:
        for name, change_of in changes.items():
            if path.name.startswith(name):
                set_field(path, *change_of)
    out_parts, in_parts = (
        [os.fsencode(path) for path in paths if path.name.startswith(index)] for index in ("out", "in")
    )
    with pytest.raises(gz.FormatError, match=message):
        _core.assemble_graph(out_parts, in_parts, os.fsencode(tmp_path / "g.gl"))
    assert not (tmp_path / "g.gl").exists()


def test_parts_of_the_other_index_or_none(stored, tmp_path):
    paths = [os.fsencode(path) for path in sorted(stored.rglob("in-*.part"))]
    with pytest.raises(gz.FormatError, match="expected a part of the out index, found one of the other"):
        _core.assemble_graph(paths, [], os.fsencode(tmp_path / "g.gl"))
    with pytest.raises(gz.FormatError, match="expected the parts of an index, found none"):
        _core.assemble_graph([], [], os.fsencode(tmp_path / "g.gl"))


def test_every_invariant_of_a_part_is_broken_once():
    assert {invariant for invariant, _, _ in BROKEN_PARTS} == set(files.invariants("part.md", "parts"))

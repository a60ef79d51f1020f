"""Data set folders: docs/formats/dataset.md, invariant by invariant."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import files
import graphzero as gz

CITES = ["paper", "cites", "paper"]


@pytest.fixture
def folder(tmp_path):
    """The data set of the page: one node type, one edge type, one split."""
    path = tmp_path / "papers"
    with gz.DatasetWriter(path) as w:
        w.add_nodes(
            {"x": np.eye(3, dtype=np.float32), "y": [0, 1, 1]},
            type="paper",
            label="y",
            num_classes=2,
            ids=["a", "b", "c"],
            categories={"y": ["theory", "systems"]},
        )
        w.add_edges([0, 2], [1, 1], type=tuple(CITES), attributes={"year": [1999, 2001]}, time="year", time_unit="s")
        w.add_other("pairs", [[0, 1]] @ np.eye(2), of="paper")
        w.add_other("note", {"seen": [1, 2]}, of=tuple(CITES))
        w.add_other("half", np.float32(0.5))
        w.add_split("train", [0, 2], of="paper")
        w.set_metadata(name="three papers")
    return path


def manifest_of(folder):
    return json.loads((folder / "graphzero.json").read_text(encoding="utf-8"))


def change(*place, to):
    """Return a function that sets one place of a folder's manifest; ``to`` of None removes it."""

    def apply(folder):
        document = manifest_of(folder)
        parent = document
        for key in place[:-1]:
            parent = parent[key]
        if to is None:
            del parent[place[-1]]
        else:
            parent[place[-1]] = to
        (folder / "graphzero.json").write_text(json.dumps(document), encoding="utf-8")

    return apply


def write_manifest(text):
    return lambda folder: (folder / "graphzero.json").write_bytes(text)


def remove(name):
    return lambda folder: (folder / name).unlink()


def replace(name, array):
    return lambda folder: gz.write_features(folder / name, array)


def write_split(ids):
    """Return a function that replaces the split, and its fingerprint in the manifest."""

    def apply(folder):
        gz.write_features(folder / TRAIN, ids)
        with gz.FeatureStore(folder / TRAIN) as store:
            change("splits", 0, "ids", "fingerprint", to=f"{store.fingerprint:#018x}")(folder)

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


X = "nodes/paper/x.gd"
YEAR = "edges/paper__cites__paper/year.gd"
GRAPH = "edges/paper__cites__paper/graph.gl"
TRAIN = "splits/train/paper.gd"
IDS = "nodes/paper/ids.gi"
AT_X = ("nodes", "paper", "attributes", "x")
MANIFEST = r"graphzero\.json: "

BROKEN = [
    Case("DS1", "no manifest", remove("graphzero.json"), "has no graphzero.json", FileNotFoundError),
    Case("DS2", "a manifest without end", write_manifest(b" " * (16 << 20) + b"{}"), "expected at most 16777216 bytes"),
    Case("DS3", "an empty manifest", write_manifest(b""), f"{MANIFEST}expected JSON, found"),
    Case("DS3", "half a manifest", write_manifest(b'{"format": "graphz'), f"{MANIFEST}expected JSON, found"),
    Case("DS3", "bytes that are no UTF-8", write_manifest(b'{"\xff'), f"{MANIFEST}expected JSON, found"),
    Case("DS3", "a deep manifest", write_manifest(b"[" * 100_000), f"{MANIFEST}expected JSON, found"),
    Case("DS4", "another format", change("format", to="dgl"), 'format: expected "graphzero dataset", found "dgl"'),
    Case("DS5", "a future version", change("version", to=3), "version: expected 1 or 2 .*, found 3"),
    *(
        Case("DS6", f"no {place}", change(place, to=None), f"{MANIFEST}{place}: expected .*, found null")
        for place in ("format", "version", "nodes", "edges", "splits", "metadata")
    ),
    Case("DS6", "a list", write_manifest(b"[]"), r"top: expected an object, found \[\]"),
    Case("DS6", "a version that is true", change("version", to=True), "version: expected 1, found true"),
    Case(
        "DS6",
        "a node type that is a list",
        change("nodes", "paper", to=[1]),
        r"nodes.paper: expected an object, found \[1\]",
    ),
    Case("DS6", "an edge type that is text", change("edges", 0, to="x"), r'edges\[0\]: expected an object, found "x"'),
    Case("DS6", "a split that is a number", change("splits", 0, to=3), r"splits\[0\]: expected an object, found 3"),
    Case("DS6", "no graph", change("edges", 0, "graph", to=None), r"edges\[0\].graph: expected a file, found null"),
    Case(
        "DS6",
        "a file that is text",
        change(*AT_X, to="x.gd"),
        'nodes.paper.attributes.x: expected a file, found "x.gd"',
    ),
    Case(
        "DS6",
        "a label that is a number",
        change("nodes", "paper", "label", to=1),
        "nodes.paper.label: expected the name",
    ),
    Case(
        "DS6",
        "classes that are text",
        change("nodes", "paper", "num_classes", to="2"),
        "num_classes: expected a number",
    ),
    Case(
        "DS7",
        "a negative count",
        change("nodes", "paper", "num_nodes", to=-1),
        "num_nodes: expected 0 to 2.59, found -1",
    ),
    Case(
        "DS7", "too large a count", change("nodes", "paper", "num_nodes", to=2**59 + 1), "num_nodes: expected 0 to 2.59"
    ),
    Case("DS8", "an unknown label", change("nodes", "paper", "label", to="z"), 'label: expected one of .*, found "z"'),
    Case("DS9", "two names", change("edges", 0, "type", to=CITES[:2]), r"edges\[0\].type: expected \[source, relation"),
    Case(
        "DS9",
        "a name that is a number",
        change("edges", 0, "type", to=["paper", 1, "paper"]),
        r"edges\[0\].type: expected",
    ),
    Case(
        "DS9",
        "an unknown end",
        change("edges", 0, "type", to=["paper", "by", "author"]),
        "type: expected node types from",
    ),
    Case(
        "DS10",
        "an edge type twice",
        lambda f: change("edges", to=manifest_of(f)["edges"] * 2)(f),
        "each edge type once",
    ),
    Case("DS11", "ids of no type", change("splits", 0, "of", to="author"), r"splits\[0\].of: expected a node type or"),
    Case(
        "DS11", "ids of no edge type", change("splits", 0, "of", to=["a", "b", "c"]), r"splits\[0\].of: expected a node"
    ),
    *(
        Case("DS12", f"the path {path!r}", change(*AT_X, "file", to=path), "x.file: expected a path inside the folder")
        for path in ("", "/etc/hostname", "../papers/x.gd", "nodes/../../x.gd", "nodes/../graphzero.json", "x\0.gd")
    ),
    # What leads elsewhere on Windows, or is another name of the same file there, is refused on all systems.
    *(
        Case(
            "DS12",
            f"the path {path!r}",
            change(*AT_X, "file", to=path),
            re.escape(f"nodes.paper.attributes.x.file: expected a path inside the folder, found {json.dumps(path)}"),
        )
        for path in (
            r"..\x.gd",
            r"nodes\paper\x.gd",
            r"\x.gd",
            r"\\host\share\x.gd",
            r"\\?\C:\x.gd",
            "//host/share/x.gd",
            "C:x.gd",
            r"C:\x.gd",
            "C:/x.gd",
            "nodes/C:x.gd",
            "graphzero.json::$DATA",
            "graphzero.json.",
            "graphzero.json ",
            ".. /x.gd",
            "nodes/.. ./x.gd",
        )
    ),
    *(
        Case(
            "DS41",
            f"the path {path!r} of {place[-1]}",
            change(*place, "file", to=path),
            rf"{place[-1]}.file: expected another file than the manifest, found \"{path}\"",
        )
        for path in ("graphzero.json", "./graphzero.json", ".//graphzero.json/", "GraphZero.json")
        for place in (AT_X, ("edges", 0, "graph"), ("nodes", "paper", "ids"), ("nodes", "paper", "other", "pairs"))
    ),
    Case(
        "DS13",
        "no number",
        change(*AT_X, "fingerprint", to="new"),
        'fingerprint: expected a hexadecimal number of 16 digits, found "new"',
    ),
    Case("DS14", "a missing file", remove(X), "No such file|cannot open", FileNotFoundError),
    Case("DS14", "a graph for features", change(*AT_X, "file", to=GRAPH), "is a topology file"),
    Case("DS14", "features for a graph", change("edges", 0, "graph", "file", to=X), "is a feature file"),
    Case(
        "DS14", "a truncated file", lambda f: (f / X).write_bytes((f / X).read_bytes()[:-1]), "bad file size at byte 24"
    ),
    Case(
        "DS15", "a row too few", replace(X, np.eye(2)), "attribute 'x' of node type 'paper': expected 3 rows, found 2"
    ),
    Case(
        "DS15", "a row too many", replace(YEAR, [1, 2, 3]), "attribute 'year' of edge type .*: expected 2 rows, found 3"
    ),
    Case(
        "DS16",
        "another number of nodes",
        lambda f: gz.write_graph(f / GRAPH, [0, 2], [1, 1], num_nodes=4),
        "source nodes of .*: expected 3, as many as 'paper' has, found 4",
    ),
    Case(
        "DS16",
        "another number of destinations",
        lambda f: gz.write_graph(f / GRAPH, [0, 2], [1, 1], num_nodes=(3, 2)),
        "destination nodes of .*: expected 3, as many as 'paper' has, found 2",
    ),
    Case(
        "DS20",
        "a label too few",
        lambda f: gz.write_ids(f / IDS, ["a", "b"]),
        "ids of node type 'paper': expected 3 labels, found 2",
    ),
    Case("DS14", "features for ids", change("nodes", "paper", "ids", "file", to=X), "is a feature file"),
    Case("DS6", "ids that are text", change("nodes", "paper", "ids", to="x"), 'ids: expected a file, found "x"'),
    Case("DS6", "hetero that is a number", change("hetero", to=1), "hetero: expected true or false, found 1"),
    Case("DS6", "other that is a list", change("other", to=[1]), r"other: expected an object, found \[1\]"),
    Case(
        "DS6", "a time that is a number", change("edges", 0, "time", to=3), r"edges\[0\].time: expected the name of an"
    ),
    Case(
        "DS21", "an unknown time", change("edges", 0, "time", to="z"), r"time: expected one of \['year'\], found \"z\""
    ),
    Case("DS21", "an unknown weight", change("edges", 0, "weight", to="z"), r"weight: expected one of .*, found \"z\""),
    Case(
        "DS21",
        "a weight of a graph without",
        change("edges", 0, "weight", to="year"),
        "graph.gl: weight of .*: expected the graph to have it, as 'year', found none",
    ),
    Case(
        "DS22", "an entry that is text", change("other", "half", to="x"), "other.half: expected a file or a value, fou"
    ),
    Case("DS22", "an empty entry", change("other", "half", to={}), "other.half: expected a file or a value, found {}"),
    Case(
        "DS22",
        "a type that is none",
        change("other", "half", "dtype", to="complex64"),
        'other.half.dtype: expected one of bfloat16, .*, found "complex64"',
    ),
    Case(
        "DS22", "text with a type", change("other", "half", "value", to="x"), "other.half.value: expected a number, as"
    ),
    Case(
        "DS12",
        "other outside of the folder",
        change("nodes", "paper", "other", "pairs", "file", to="../x.gd"),
        "pairs.file: expected a path inside the folder",
    ),
    Case(
        "DS14", "a graph as other", change("nodes", "paper", "other", "pairs", "file", to=GRAPH), "is a topology file"
    ),
    Case(
        "DS23",
        "categories of an attribute that is none",
        change("nodes", "paper", "categories", to={"z": ["a"]}),
        r"nodes.paper.categories: expected names from \['x', 'y'\], found \"z\"",
    ),
    Case(
        "DS23",
        "a category twice",
        change("nodes", "paper", "categories", "y", to=["a", "a"]),
        r"categories.y: expected names that differ, found \[\"a\", \"a\"\]",
    ),
    Case(
        "DS23",
        "a category that is a number",
        change("edges", 0, "categories", to={"year": [1]}),
        r"edges\[0\].categories.year: expected names that differ, found \[1\]",
    ),
    Case(
        "DS6",
        "categories that are text",
        change("nodes", "paper", "categories", "y", to="ab"),
        'categories.y: expected a list of names, found "ab"',
    ),
    Case(
        "DS24",
        "a unit that is none",
        change("edges", 0, "time_unit", to="h"),
        r"edges\[0\].time_unit: expected one of s, ms, us, ns, found \"h\"",
    ),
    Case("DS17", "a split of floats", replace(TRAIN, [0.5]), "split 'train': expected int64 ids, found float64"),
    Case("DS17", "a split of pairs", replace(TRAIN, [[0, 1]]), "split 'train': expected int64 ids, found int64"),
    Case(
        "DS18",
        "features of another time",
        replace(X, np.zeros((3, 3), np.float32)),
        r"fingerprint is the manifest's: expected 0x[0-9a-f]{16}, found 0x[0-9a-f]{16}",
    ),
    Case(
        "DS18",
        "other values of another time",
        replace("other/paper/pairs.gd", [[1.0, 1.0]]),
        "fingerprint is the manifest's: expected 0x[0-9a-f]{16}, found",
    ),
    Case(
        "DS18",
        "a fingerprint that changed",
        change("edges", 0, "graph", "fingerprint", to="0x0000000000000001"),
        "fingerprint is the manifest's: expected 0x0000000000000001, found",
    ),
    Case(
        "DS18",
        "ids of another time",
        lambda f: gz.write_ids(f / IDS, ["a", "b", "d"]),
        "fingerprint is the manifest's: expected 0x[0-9a-f]{16}, found",
    ),
]

DAMAGED = [
    Case(
        "DS19",
        "an id that is no node",
        write_split([0, 3]),
        r"split train: ids of paper exist: \[1\]: expected an id below 3, found 3",
    ),
    Case(
        "DS19",
        "a negative id",
        write_split([0, -1]),
        r"split train: ids of paper exist: \[1\]: expected an id below 3, found -1",
    ),
]


SHARE = (*AT_X, "share")
HOT_IDS, HOT_ROWS = "nodes/paper/x.hot.ids.gd", "nodes/paper/x.hot.rows.gd"


def rewrite(name, array, *place):
    """Return a function that replaces a file, and its fingerprint in the manifest."""

    def apply(folder):
        gz.write_features(folder / name, array)
        with gz.FeatureStore(folder / name) as store:
            change(*place, "fingerprint", to=f"{store.fingerprint:#018x}")(folder)

    return apply


def reorder_own(folder):
    gz.reorder(folder / X, folder / "other.gd", order=[1, 0])
    os.replace(folder / "other.gd", folder / X)


ROWS = np.eye(3, dtype=np.float32)
BROKEN_SHARES = [
    Case("DS35", "a share in version 1", change("version", to=1), "attributes.x.file: expected a relative path, found null"),
    Case(
        "DS35",
        "a share of an attribute of edges",
        change("edges", 0, "attributes", "year", to={"share": {}}),
        r"edges\[0\].attributes.year.file: expected a relative path, found null",
    ),
    *(
        Case("DS36", what, change(*SHARE, "ranges", to=ranges), "share.ranges: expected numbers from 0 to 3 that do not fall")
        for what, ranges in {
            "one bound": [0],
            "another begin": [1, 1, 3],
            "another end": [0, 1, 4],
            "bounds that fall": [0, 4, 3],
            "text": [0, "1", 3],
            "half a node": [0, 1.5, 3],
        }.items()
    ),
    Case("DS36", "no ranges", change(*SHARE, "ranges", to=None), "share.ranges: expected numbers of nodes, found null"),
    Case("DS37", "a host too many", change(*SHARE, "host", to=2), "share.host: expected a number below 2, that of hosts, found 2"),
    Case("DS37", "a negative host", change(*SHARE, "host", to=-1), "share.host: expected a number below 2"),
    Case("DS38", "rows of another range", change(*SHARE, "ranges", to=[0, 2, 3]), "of host 1: expected 1 rows, found 2"),
    Case("DS38", "rows in another order", reorder_own, "expected rows in the order of their ids, found the hottest first"),
    Case(
        "DS39",
        "ids that are not integers",
        rewrite(HOT_IDS, np.zeros(1), *SHARE, "hot", "ids"),
        "expected int64 ids of rows that all hosts have, found float64",
    ),
    Case(
        "DS39",
        "fewer ids than rows",
        rewrite(HOT_IDS, np.zeros(0, dtype=np.int64), *SHARE, "hot", "ids"),
        "those that all hosts have: expected 0 rows, found 1",
    ),
    Case(
        "DS39",
        "rows of another shape",
        rewrite(HOT_ROWS, ROWS[:1, :2], *SHARE, "hot", "rows"),
        r"expected rows as in .*, float32 \(3,\) without scales, found float32 \(2,\) without scales",
    ),
    Case("DS39", "ids without rows", change(*SHARE, "hot", "rows", to=None), "share.hot.rows: expected a file, found null"),
    Case("DS6", "no whole", change(*SHARE, "whole", to=None), "share.whole: expected a fingerprint, found null"),
    Case("DS13", "a whole in words", change(*SHARE, "whole", to="x"), "share.whole: expected a hexadecimal number of 16"),
    Case(
        "DS18",
        "rows of another time",
        lambda f: gz.write_features(f / HOT_ROWS, 2 * ROWS[:1]),
        "fingerprint is the manifest's: expected 0x[0-9a-f]{16}, found",
    ),
]  # fmt: skip

DAMAGED_SHARES = [
    Case(
        "DS40",
        "an id that is no node",
        rewrite(HOT_IDS, np.array([3], np.int64), *SHARE, "hot", "ids"),
        r"x of paper: ids of rows that all hosts have rise: hot\[0\]: expected a row from 0 to below 3, found 3",
    ),
]


def test_records_may_have_the_same_file(folder):
    record = manifest_of(folder)["nodes"]["paper"]["attributes"]["x"]
    change("nodes", "paper", "attributes", "again", to=record)(folder)
    with gz.open(folder) as ds:
        assert np.array_equal(ds.nodes["paper"]["again"].get_tensor(), np.eye(3))
    assert all(check.holds for check in gz.verify(folder))


@pytest.fixture
def shared(folder, tmp_path):
    """What host 1 of 2 has of the same data set."""
    pytest.importorskip("pyarrow.fs")
    gz.stage(folder, tmp_path / "shared", host=1, hosts=2, hot=20)
    return tmp_path / "shared"


@pytest.mark.parametrize("case", BROKEN_SHARES, ids=str)
def test_a_broken_share_does_not_open(case, shared):
    test_a_broken_folder_does_not_open(case, shared)


@pytest.mark.parametrize("case", DAMAGED_SHARES, ids=str)
def test_damage_of_a_share_is_found_by_a_full_check(case, shared):
    test_damage_is_found_by_a_full_check(case, shared)


def test_the_share_of_a_host_has_the_places_of_the_page(shared):
    page = (files.DOCS / "dataset.md").read_text(encoding="utf-8")
    example = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[2])
    written = manifest_of(shared)
    assert written["version"] == 2
    found = written["nodes"]["paper"]["attributes"]["x"]
    assert list(found) == list(example)
    assert list(found["share"]) == list(example["share"])
    assert found["share"]["ranges"] == [0, 1, 3]
    assert all(check.holds for check in gz.verify(shared))


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_a_broken_folder_does_not_open(case, folder):
    gz.open(folder).close()
    case.break_it(folder)
    with pytest.raises(case.error, match=case.message) as error:
        gz.open(folder)
    assert str(folder) in (getattr(error.value, "filename", None) or str(error.value))


@pytest.mark.parametrize("case", DAMAGED, ids=str)
def test_damage_is_found_by_a_full_check(case, folder):
    case.break_it(folder)
    gz.open(folder).close()
    checks = [check for check in gz.verify(folder) if not check.holds]
    assert re.match(case.message, f"{checks[0].name}: {checks[0].problem}")


def test_every_invariant_has_a_broken_folder():
    assert {case.invariant for case in BROKEN + BROKEN_SHARES} == set(files.invariants("dataset.md", "O(1)"))
    assert {case.invariant for case in DAMAGED + DAMAGED_SHARES} == set(files.invariants("dataset.md", "full"))


def test_an_intact_folder_passes_a_full_check(folder):
    assert all(check.holds for check in gz.verify(folder))


def test_the_manifest_has_the_places_of_the_page(folder):
    page = (files.DOCS / "dataset.md").read_text(encoding="utf-8")
    example = json.loads(re.search(r"```json\n(.*?)```", page, re.DOTALL)[1])
    written = manifest_of(folder)
    assert list(written) == list(example)
    assert list(written["nodes"]["paper"]) == list(example["nodes"]["paper"])
    assert list(written["edges"][0]) == list(example["edges"][0])
    assert list(written["other"]["half"]) == list(example["other"]["half"])
    assert list(written["splits"][0]) == list(example["splits"][0])
    assert written["nodes"]["paper"]["attributes"]["x"]["file"] == X
    assert written["edges"][0]["graph"]["file"] == GRAPH
    assert written["splits"][0]["ids"]["file"] == TRAIN
    assert written["nodes"]["paper"]["ids"]["file"] == IDS


def test_a_fingerprint_is_the_header_checksum(folder):
    checksum = int.from_bytes(Path(folder / X).read_bytes()[16:24], "little")
    assert manifest_of(folder)["nodes"]["paper"]["attributes"]["x"]["fingerprint"] == f"{checksum:#018x}"


def test_unknown_places_are_ignored(folder):
    change("nodes", "paper", "colour", to="blue")(folder)
    change("futurism", to=[1])(folder)
    assert gz.open(folder).num_nodes == 3


def test_what_has_no_rows_is_read_back(folder):
    pytest.importorskip("torch")
    ds = gz.open(folder)
    assert ds["paper"].pairs.tolist() == [[0, 1]]
    assert ds[tuple(CITES)].note == {"seen": [1, 2]}
    assert (ds.half.item(), str(ds.half.dtype), ds.half.ndim) == (0.5, "torch.float32", 0)


def test_other_values_that_cannot_be_kept_are_refused(tmp_path):
    with gz.DatasetWriter(tmp_path / "d") as w:
        w.add_nodes(num_nodes=2)
        w.add_other("a", 1)
        with pytest.raises(ValueError, match="'a' was added before"):
            w.add_other("a", 2)
        for value in (print, {1, 2}, float("nan"), np.float64("inf")):
            with pytest.raises(TypeError, match="b: expected a tensor or a JSON value, found"):
                w.add_other("b", value)
        with pytest.raises(ValueError, match="add node type 'paper' first"):
            w.add_other("b", 1, of="paper")


def test_weights_and_times_are_named_or_given(tmp_path):
    with gz.DatasetWriter(tmp_path / "d") as w:
        w.add_nodes(num_nodes=3)
        with pytest.raises(ValueError, match=r"weight: expected an array, or one of the attributes \['w'\], found 'v'"):
            w.add_edges([0], [1], attributes={"w": [1.0]}, weight="v")
        w.add_edges([0, 1], [1, 2], attributes={"w": np.array([[1.5], [2.5]])}, weight="w", time=[7, 8])
    ds = gz.open(tmp_path / "d")
    assert (ds.edges["node", "to", "node"].weight, ds.edges["node", "to", "node"].time) == ("w", None)
    assert sorted(ds.graph.index("out").weights.tolist()) == [1.5, 2.5]
    assert sorted(ds.graph.index("out").times.tolist()) == [7, 8]
    gz.write_graph(tmp_path / "g.gl", [0], [1], num_nodes=3)
    with gz.DatasetWriter(tmp_path / "e") as w:
        w.add_nodes(num_nodes=3)
        with pytest.raises(TypeError, match=r"time: expected the name of an attribute beside graph=, found an array"):
            w.add_edges(graph=tmp_path / "g.gl", time=[1])
        with pytest.raises(ValueError, match=r"weight: 'w': the graph of .* has none; write it with weight="):
            w.add_edges(graph=tmp_path / "g.gl", attributes={"w": [1.0]}, weight="w")

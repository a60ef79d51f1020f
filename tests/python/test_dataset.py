"""Data set folders: what they hold, what they refuse, and that they appear whole or not at all."""

import json
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import graphzero as gz
from systems import IS_WINDOWS, NO_DESCRIPTORS, killed, posix_only

WRITES = ("author", "writes", "paper")
CITES = ("paper", "cites", "paper")


@pytest.fixture
def hetero(tmp_path):
    path = tmp_path / "hetero"
    with gz.DatasetWriter(path) as w:
        w.add_nodes({"x": np.eye(3, dtype=np.float16), "y": [0, 1, 1]}, type="paper", label="y", num_classes=2)
        w.add_nodes(type="author", num_nodes=5)
        w.add_edges([0, 4], [2, 1], type=WRITES, attributes={"order": [1, 2]})
        w.add_edges([0, 1], [1, 2], type=CITES, weight=[0.5, 1.5], directed=False)
        w.add_split("train", [0, 2], of="paper")
        w.add_split("train", [1], of=WRITES)
        w.set_metadata(name="tiny academic graph", year=2026)
    return str(path)


def test_a_homogeneous_data_set_needs_no_type_names(tiny_dataset):
    ds = gz.open(tiny_dataset)
    assert not ds.is_hetero
    assert (ds.num_nodes, ds.num_edges) == (4, 4)
    assert ds.graph.neighbors(0).tolist() == [1, 2]
    assert ds.features().shape == (4, 3)
    assert ds.features("y").get_tensor().tolist() == ds.labels().get_tensor().tolist() == [0, 1, 0, 2]
    assert ds.nodes["node"].num_classes == 3
    assert ds.split_names == ["train", "test"]
    assert ds.split("test").tolist() == [1, 3]


def test_a_heterogeneous_data_set_has_types(hetero):
    ds = gz.open(pathlib.Path(hetero))
    assert ds.is_hetero
    assert ds.node_types == ["paper", "author"]
    assert ds.edge_types == [WRITES, CITES]
    assert ds.nodes["author"].num_nodes == 5
    assert ds.edges[WRITES].graph.neighbors(4).tolist() == [1]
    assert ds.edges[WRITES].graph.bipartite
    assert not ds.edges[CITES].graph.directed
    assert ds.edges[WRITES]["order"].get_tensor().tolist() == [1, 2]
    assert ds.features("x", of="paper").dtype == "float16"
    assert ds.features("order", of=WRITES).num_rows == 2
    assert ds.labels("paper").get_tensor().tolist() == [0, 1, 1]
    assert ds.split("train", of="paper").tolist() == [0, 2]
    assert ds.split("train", of=WRITES).tolist() == [1]
    assert ds.metadata == {"name": "tiny academic graph", "year": 2026}


def test_what_is_not_there_is_named_with_what_is(hetero):
    ds = gz.open(hetero)
    with pytest.raises(ValueError, match=r"has 2 edge types; use edges\[type\].graph with one of"):
        _ = ds.graph
    with pytest.raises(ValueError, match=r"has several node types; say of= one of \['paper', 'author'\]"):
        ds.features("x")
    with pytest.raises(KeyError, match=r"node type 'paper' has no attribute 'z', only \['x', 'y'\]"):
        ds.features("z", of="paper")
    with pytest.raises(KeyError, match=r"edge type .* has no attribute 'w', only \['order'\]"):
        ds.features("w", of=WRITES)
    with pytest.raises(KeyError, match=r"no type 'venue'; there are \['paper', 'author'\]"):
        ds.features("x", of="venue")
    with pytest.raises(
        KeyError, match="no split valid of paper; there are train of paper, train of author → writes → paper"
    ):
        ds.split("valid", of="paper")
    with pytest.raises(ValueError, match="node type 'author' has no label"):
        ds.labels("author")


def test_repr_is_a_table_of_contents(hetero):
    lines = repr(gz.open(hetero)).splitlines()
    assert lines[0].startswith(f"Dataset({hetero!r}, ")
    assert lines[1:] == [
        "  paper: 3 nodes; x 3 × float16, y int64",
        "  author: 5 nodes",
        "  author → writes → paper: 2 edges; order int64",
        "  paper → cites → paper: 4 edges",
        "  split train of paper: 2 ids",
        "  split train of author → writes → paper: 1 ids",
    ]


def test_closing_closes_every_file(tiny_dataset):
    with gz.open(tiny_dataset) as ds:
        split = ds.split("train")
    assert split.tolist() == [0, 2]
    assert repr(ds) == f"Dataset({tiny_dataset!r}, closed)"
    with pytest.raises(ValueError, match="this Graph is closed"):
        ds.graph.degree([0])
    with pytest.raises(ValueError, match="this FeatureStore is closed"):
        ds.split("train")


def test_pickle_reopens_and_refuses_a_changed_data_set(hetero):
    data = pickle.dumps(gz.open(hetero))
    assert len(data) < 1000
    assert pickle.loads(data).edge_types == [WRITES, CITES]
    with gz.DatasetWriter(hetero, overwrite=True) as w:
        w.add_nodes(num_nodes=1)
    with pytest.raises(gz.FormatError, match="the data set changed since it was pickled"):
        pickle.loads(data)


def test_existing_files_are_linked_not_copied(tmp_path):
    gz.write_features("x.gd", np.ones((2, 2)))
    gz.write_graph("g.gl", [0], [1])
    with gz.DatasetWriter("ds") as w:
        w.add_nodes({"x": "x.gd", "z": gz.FeatureStore("x.gd")})
        w.add_edges(graph=gz.Graph("g.gl"))
    ds = gz.open("ds")
    assert os.stat("x.gd").st_ino == os.stat(ds.features("x").path).st_ino
    assert ds.features("z").shape == (2, 2)
    assert ds.graph.num_edges == 1


@pytest.mark.parametrize("name", ["a/b", "..", "a b", "ünï", "a.b", "%2F"])
def test_any_type_name_is_safe_in_a_path(tmp_path, name):
    with gz.DatasetWriter("ds") as w:
        w.add_nodes({name: [1]}, type=name)
        w.add_edges([0], [0], type=(name, name, name))
        w.add_split(name, [0], of=name)
    ds = gz.open("ds")
    assert ds.nodes[name][name].get_tensor().tolist() == [1]
    assert ds.split(name, of=name).tolist() == [0]
    assert os.listdir(tmp_path) == ["ds"]


def refused(error, message, *steps, path="ds"):
    """Each step is a call on the writer; the last one must raise, and nothing may be left."""
    before = sorted(os.listdir())
    with pytest.raises(error, match=message), gz.DatasetWriter(path) as w:
        for step in steps:
            step(w)
    assert sorted(os.listdir()) == before


def test_bad_parts_are_named_and_leave_nothing(tmp_path):
    nodes = lambda w: w.add_nodes(num_nodes=2)
    refused(ValueError, "node type 'node': expected num_nodes, or an attribute", lambda w: w.add_nodes())
    refused(ValueError, "node type 'node' was added before", nodes, nodes)
    refused(
        ValueError,
        "attribute 'x' of 'node': expected 2 rows, found 3",
        lambda w: w.add_nodes({"x": [1, 2, 3]}, num_nodes=2),
    )
    refused(ValueError, r"label 'z' is not one of the attributes \['x'\]", lambda w: w.add_nodes({"x": [1]}, label="z"))
    refused(TypeError, "num_nodes: expected an integer, found 1.5", lambda w: w.add_nodes(num_nodes=1.5))
    refused(ValueError, "add node type 'a' first", lambda w: w.add_edges([0], [0], type=("a", "b", "c")))
    refused(
        ValueError,
        r"edge type: expected \(source, relation, destination\), found 'ab'",
        lambda w: w.add_edges([0], [0], type="ab"),
    )
    refused(
        IndexError,
        "edge 0: expected a destination id below num_nodes = 2, found 2",
        nodes,
        lambda w: w.add_edges([0], [2]),
    )
    refused(TypeError, "expected src and dst, or graph=", nodes, lambda w: w.add_edges([0]))
    refused(
        ValueError,
        "attribute 'w' of .*: expected 1 rows, found 2",
        nodes,
        lambda w: w.add_edges([0], [1], attributes={"w": [1, 2]}),
    )
    refused(
        IndexError,
        r"split 'train'\[1\]: expected an id of 'node' below 2, found 2",
        nodes,
        lambda w: w.add_split("train", [0, 2]),
    )
    refused(TypeError, "split 'train': expected integers, found float64", nodes, lambda w: w.add_split("train", [0.5]))
    refused(
        ValueError,
        "split 'a' of 'node' was added before",
        nodes,
        lambda w: w.add_split("a", [0]),
        lambda w: w.add_split("a", [0]),
    )
    refused(FileNotFoundError, "no.gd", lambda w: w.add_nodes({"x": "no.gd"}, num_nodes=2))
    pathlib.Path("junk").write_bytes(b"x" * 5000)
    refused(gz.FormatError, "bad magic", lambda w: w.add_nodes({"x": "junk"}, num_nodes=2))


def test_an_existing_folder_is_replaced_only_on_request(tiny_dataset):
    with pytest.raises(FileExistsError, match="exists and is not empty; give overwrite=True to replace it"):
        gz.DatasetWriter(tiny_dataset)
    reader = gz.open(tiny_dataset)
    with gz.DatasetWriter(tiny_dataset, overwrite=True) as w:
        w.add_nodes(num_nodes=9)
    assert gz.open(tiny_dataset).num_nodes == 9
    assert reader.graph.neighbors(0).tolist() == [1, 2]  # the old one lives as long as it is open
    left = [name for name in os.listdir(os.path.dirname(tiny_dataset)) if name != "tiny"]
    assert all(name.endswith(".graphzero-tmp.old") for name in left) if IS_WINDOWS else left == []
    pathlib.Path("file").write_text("precious")
    with pytest.raises(NotADirectoryError, match="is a file, expected a folder to write"):
        gz.DatasetWriter("file", overwrite=True)


def test_a_failed_replacement_keeps_the_old_one(tiny_dataset):
    with pytest.raises(RuntimeError, match="by the user"), gz.DatasetWriter(tiny_dataset, overwrite=True) as w:
        w.add_nodes(num_nodes=9)
        raise RuntimeError("by the user")
    assert gz.open(tiny_dataset).num_nodes == 4


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    code = """
import os, graphzero as gz
w = gz.DatasetWriter("ds")
w.add_nodes({"x": [1.0, 2.0]})
os.kill(os.getpid(), 9)
"""
    assert killed(subprocess.run([sys.executable, "-c", code], check=False).returncode)
    assert len(os.listdir()) == 1
    with pytest.raises(FileNotFoundError, match="No such file or directory"):
        gz.open("ds")
    with gz.DatasetWriter("ds") as w:
        other = gz.DatasetWriter("ds")  # a writer at work is left alone
        w.add_nodes(num_nodes=1)
        other.abort()
    assert os.listdir() == ["ds"]
    assert gz.open("ds").num_nodes == 1


def broken(document, **changes):
    """The document with dotted paths set to new values; ``None`` removes the key."""
    for path, value in changes.items():
        target = document
        *parents, last = path.split("__")
        for key in parents:
            target = target[int(key) if key.isdigit() else key]
        if value is None:
            del target[last]
        else:
            target[last] = value
    return document


BAD_MANIFESTS = [
    ({"format": "other"}, r'format: expected "graphzero dataset", found "other"'),
    ({"version": 3}, r"version: expected 1 or 2 \(a newer graphzero may read it\), found 3"),
    ({"version": None}, "version: expected 1, found null"),
    ({"nodes": []}, r"nodes: expected an object of node types, found \[\]"),
    ({"nodes__paper__num_nodes": -1}, r"nodes.paper.num_nodes: expected 0 to 2\^59, found -1"),
    ({"nodes__paper__num_nodes": "3"}, 'nodes.paper.num_nodes: expected a number of nodes, found "3"'),
    ({"nodes__paper__num_nodes": True}, "nodes.paper.num_nodes: expected a number of nodes, found true"),
    ({"nodes__paper__num_nodes": 7}, "attribute 'x' of node type 'paper': expected 7 rows, found 3"),
    ({"nodes__paper__label": "z"}, r"nodes.paper.label: expected one of \['x', 'y'\], found \"z\""),
    ({"nodes__author__num_nodes": 6}, "source nodes of .*: expected 6, as many as 'author' has, found 5"),
    ({"edges": {}}, "edges: expected a list of edge types, found {}"),
    ({"edges__0__type": ["a", "b"]}, r"edges\[0\].type: expected \[source, relation, destination\]"),
    ({"edges__0__type": ["a", "b", "c"]}, r"edges\[0\].type: expected node types from \['paper', 'author'\]"),
    ({"edges__1__type": list(WRITES)}, r"edges\[1\].type: expected each edge type once"),
    ({"edges__0__graph__file": "/etc/passwd"}, r"edges\[0\].graph.file: expected a path inside the folder"),
    ({"edges__0__graph__file": "a/../../x"}, r"edges\[0\].graph.file: expected a path inside the folder"),
    (
        {"edges__0__graph__fingerprint": "zz"},
        r"edges\[0\].graph.fingerprint: expected a hexadecimal number of 16 digits, found \"zz\"",
    ),
    (
        {"edges__0__attributes__order__file": "splits/train/paper.gd"},
        r"train/paper.gd: fingerprint is the manifest's: ",
    ),
    (
        {"edges__1__attributes": {"w": {"file": "nodes/paper/x.gd", "fingerprint": "0x0000000000000001"}}},
        "attribute 'w' of edge type .*: expected 2 rows, found 3",
    ),
    ({"splits__0__of": "venue"}, r"splits\[0\].of: expected a node type or an edge type of this data set"),
    ({"splits__0__ids__file": "nodes/paper/x.gd"}, r"split 'train': expected int64 ids, found float16 \(3, 3\)"),
    ({"splits__1__of": "paper"}, r"splits\[1\]: expected each split of a type once"),
    ({"nodes__paper__num_classes": -2}, "nodes.paper.num_classes: expected a number of classes, found -2"),
    ({"edges__0__graph__fingerprint": "-0x5"}, r"edges\[0\].graph.fingerprint: expected a hexadecimal number"),
    ({"metadata": 3}, "metadata: expected an object, found 3"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_MANIFESTS)
def test_a_wrong_manifest_is_refused_by_place(hetero, changes, message):
    path = pathlib.Path(hetero, "graphzero.json")
    path.write_text(json.dumps(broken(json.loads(path.read_text()), **changes)))
    with pytest.raises(gz.FormatError, match=message):
        gz.open(hetero)


def test_a_folder_that_is_no_data_set_says_so(tmp_path, tiny_gl):
    with pytest.raises(
        FileNotFoundError, match=r"has no graphzero.json: it is not a data set, or its conversion did not"
    ):
        gz.open(tmp_path)
    with pytest.raises(NotADirectoryError, match="is a file, expected a data set folder; use Graph or FeatureStore"):
        gz.open(tiny_gl)
    with pytest.raises(FileNotFoundError):
        gz.open("nowhere")
    pathlib.Path("graphzero.json").write_text("{nonsense")
    with pytest.raises(gz.FormatError, match="expected JSON, found"):
        gz.open(tmp_path)
    pathlib.Path("graphzero.json").write_text("[" * 100_000)
    with pytest.raises(gz.FormatError, match="expected JSON, found"):
        gz.open(tmp_path)
    pathlib.Path("graphzero.json").write_text("[]")
    with pytest.raises(gz.FormatError, match=r"top: expected an object, found \[\]"):
        gz.open(tmp_path)
    with open("graphzero.json", "wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(gz.FormatError, match="expected at most 16777216 bytes, found more"):
        gz.open(tmp_path)


@posix_only(reason=NO_DESCRIPTORS)
def test_a_missing_file_is_named_and_nothing_stays_open(hetero):
    os.remove(os.path.join(hetero, "splits", "train", "paper.gd"))
    descriptors = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError, match="paper.gd"):
        gz.open(hetero)
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_file_that_was_refused_is_not_written_to(tmp_path):
    gz.write_features(tmp_path / "keep.gd", np.zeros((3, 2), dtype=np.float32))
    gz.write_features(tmp_path / "fits.gd", np.ones((4, 2), dtype=np.float32))
    with gz.DatasetWriter(tmp_path / "d") as w:
        with pytest.raises(ValueError, match="expected 4 rows, found 3"):
            w.add_nodes({"x": tmp_path / "keep.gd"}, num_nodes=4)
        w.add_nodes({"x": tmp_path / "fits.gd"}, num_nodes=4)
    assert gz.FeatureStore(tmp_path / "keep.gd").get_tensor().tolist() == [[0, 0]] * 3
    assert gz.open(tmp_path / "d").features("x").get_tensor().tolist() == [[1, 1]] * 4


def test_weights_of_coded_files_are_their_values(tmp_path):
    weights = np.array([1.0, 2.0, 4.0, 0.5], dtype=np.float32)
    gz.write_features(tmp_path / "w.gd", weights, dtype="bfloat16")
    with gz.DatasetWriter(tmp_path / "d") as w:
        w.add_nodes(num_nodes=5)
        w.add_edges([0, 1, 2, 3], [4, 4, 4, 4], attributes={"w": tmp_path / "w.gd"}, weight="w")
    assert gz.open(tmp_path / "d").graph.index("out").weights.tolist() == weights.tolist()


def test_a_writer_that_cannot_finish_leaves_nothing(tmp_path):
    with pytest.raises(TypeError), gz.DatasetWriter(tmp_path / "d") as w:
        w.add_nodes(num_nodes=1)
        w.set_metadata(x=object())
    assert os.listdir(tmp_path) == []


def test_splits_of_types_whose_names_look_alike(tmp_path):
    with gz.DatasetWriter(tmp_path / "d") as w:
        for kind in ("a", "c", "a__b__c"):
            w.add_nodes(type=kind, num_nodes=3)
        w.add_edges([0, 1], [1, 2], type=("a", "b", "c"))
        w.add_split("train", [2], of="a__b__c")
        w.add_split("train", [0, 1], of=("a", "b", "c"))
    ds = gz.open(tmp_path / "d")
    assert (ds.split("train", "a__b__c").tolist(), ds.split("train", ("a", "b", "c")).tolist()) == ([2], [0, 1])

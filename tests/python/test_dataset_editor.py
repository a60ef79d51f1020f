"""edit_dataset: a folder that was changed is the folder that a writer would have written, and changes whole or not at all."""

import errno
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphzero as gz
from data_sets import pyg
from systems import NO_LIMITS, NO_LINKS, NO_MODES, posix_only

X = np.arange(12, dtype=np.float32).reshape(4, 3)
CITES = ("paper", "cites", "paper")
WRITES = ("author", "writes", "paper")
NAMES = ["zoe", "adam", "mia"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(path, *steps):
    """Write a data set with a function of the writer per step."""
    with gz.DatasetWriter(path) as writer:
        for step in steps:
            step(writer)
    return path


def homogeneous(path="ds"):
    return write(
        path,
        lambda w: w.add_nodes({"x": X, "y": [0, 1, 0, 2]}, label="y", num_classes=3),
        lambda w: w.add_edges([0, 0, 1, 3], [1, 2, 2, 0]),
        lambda w: w.add_split("train", [0, 2]),
        lambda w: w.set_metadata(name="tiny"),
    )


PAPER = {"x": X, "y": [0, 1, 0, 1]}
AUTHORS = {"age": [31, 44, 27]}


def heterogeneous(path="ds"):
    return write(
        path,
        lambda w: w.add_nodes(PAPER, type="paper", label="y", num_classes=2, categories={"y": ["no", "yes"]}),
        lambda w: w.add_nodes(AUTHORS, type="author", ids=NAMES),
        lambda w: w.add_edges([0, 1], [1, 2], type=CITES, attributes={"year": [7, 9]}, time="year", time_unit="s"),
        lambda w: w.add_edges(["zoe", "mia"], [3, 1], type=WRITES),
        lambda w: w.add_split("train", [0, 2], of="paper"),
        lambda w: w.add_split("train", [1], of=CITES),
        lambda w: w.add_other("note", [1, 2], of="paper"),
        lambda w: w.add_other("mean", np.ones(3), of=CITES),
        lambda w: w.add_other("scale", np.arange(2)),
    )


def manifest(path):
    return json.loads(pathlib.Path(path, "graphzero.json").read_text())


def files(path):
    return sorted(os.path.relpath(os.path.join(base, name), path) for base, _, names in os.walk(path) for name in names)


def inodes(path):
    return {file: os.stat(os.path.join(path, file)).st_ino for file in files(path)}


def assert_same(path, other):
    """The manifest has the fingerprints of all files, so that equal ones mean equal files."""
    assert manifest(path) == manifest(other)
    assert files(path) == files(other)
    assert all(check.holds for check in gz.verify(path))
    assert not [name for name in os.listdir(os.path.dirname(os.path.abspath(path))) if name.startswith(".ds")]


def test_an_edit_without_changes_leaves_the_same_folder():
    before = manifest(heterogeneous())
    linked = inodes("ds")
    with gz.edit_dataset("ds"):
        pass
    assert manifest("ds") == before
    del linked["graphzero.json"]
    assert linked.items() <= inodes("ds").items()


# What an edit does to the homogeneous data set, and the steps of a writer that have the same result.
def base(**changed):
    parts = {
        "nodes": lambda w: w.add_nodes({"x": X, "y": [0, 1, 0, 2]}, label="y", num_classes=3),
        "edges": lambda w: w.add_edges([0, 0, 1, 3], [1, 2, 2, 0]),
        "split": lambda w: w.add_split("train", [0, 2]),
        "metadata": lambda w: w.set_metadata(name="tiny"),
    }
    return [step for step in {**parts, **changed}.values() if step is not None]


def nodes(attributes, label="y", num_classes=3, **options):
    return lambda w: w.add_nodes(attributes, label=label, num_classes=num_classes, **options)


Y = [0, 1, 0, 2]
OPERATIONS = {
    "add an attribute": (
        lambda e: e.set_attribute("z", [[1], [2], [3], [4]]),
        base(nodes=nodes({"x": X, "y": Y, "z": [[1], [2], [3], [4]]})),
    ),
    "replace an attribute": (lambda e: e.set_attribute("x", X + 1), base(nodes=nodes({"x": X + 1, "y": Y}))),
    "replace it twice": (
        lambda e: (e.set_attribute("x", X + 1), e.set_attribute("x", X * 2)),
        base(nodes=nodes({"x": X * 2, "y": Y})),
    ),
    "an attribute of edges": (
        lambda e: e.set_attribute("w", [1, 2, 3, 4], of=("node", "to", "node"), categories=["a", "b"]),
        base(
            edges=lambda w: w.add_edges(
                [0, 0, 1, 3], [1, 2, 2, 0], attributes={"w": [1, 2, 3, 4]}, categories={"w": ["a", "b"]}
            )
        ),
    ),
    "an attribute with names": (
        lambda e: e.set_attribute("k", [0, 1, 1, 0], categories=["a", "b"]),
        base(nodes=nodes({"x": X, "y": Y, "k": [0, 1, 1, 0]}, categories={"k": ["a", "b"]})),
    ),
    "names that go with the old values": (
        lambda e: (e.set_attribute("k", [0, 1, 1, 0], categories=["a", "b"]), e.set_attribute("k", [2, 1, 1, 0])),
        base(nodes=nodes({"x": X, "y": Y, "k": [2, 1, 1, 0]})),
    ),
    "a new label": (
        lambda e: e.set_label("t", [1, 0, 1, 0], num_classes=2),
        base(nodes=nodes({"x": X, "y": Y, "t": [1, 0, 1, 0]}, "t", 2)),
    ),
    "a new label with names": (
        lambda e: e.set_label("y", [1, 0, 1, 0], class_names=["a", "b"]),
        base(nodes=nodes({"x": X, "y": [1, 0, 1, 0]}, "y", 2, categories={"y": ["a", "b"]})),
    ),
    "another attribute as label": (lambda e: e.set_label("x"), base(nodes=nodes({"x": X, "y": Y}, "x", None))),
    "names for the label that is there": (
        lambda e: e.set_label("y", class_names=["a", "b", "c"]),
        base(nodes=nodes({"x": X, "y": Y}, categories={"y": ["a", "b", "c"]})),
    ),
    "the label that is there": (lambda e: e.set_label("y"), base()),
    "names, and none again": (
        lambda e: (e.set_categories("y", ["a", "b", "c"]), e.set_categories("y", None)),
        base(),
    ),
    "add a split": (lambda e: e.set_split("test", [3]), [*base(), lambda w: w.add_split("test", [3])]),
    "replace a split": (lambda e: e.set_split("train", [3, 1]), base(split=lambda w: w.add_split("train", [3, 1]))),
    "rename a split": (lambda e: e.rename_split("train", "fit"), base(split=lambda w: w.add_split("fit", [0, 2]))),
    "remove a split": (lambda e: e.remove_split("train"), base(split=None)),
    "replace the edges": (
        lambda e: e.set_edges([3], [0], attributes={"w": [0.5]}, weight="w"),
        base(edges=lambda w: w.add_edges([3], [0], attributes={"w": [0.5]}, weight="w")),
    ),
    "rename an attribute": (lambda e: e.rename("x", "feat"), base(nodes=nodes({"feat": X, "y": Y}))),
    "rename the label": (lambda e: e.rename("y", "t"), base(nodes=nodes({"x": X, "t": Y}, "t"))),
    "exchange two names": (
        lambda e: (e.rename("x", "old"), e.rename("y", "x"), e.rename("old", "y")),
        base(nodes=nodes({"y": X, "x": Y}, "x")),
    ),
    "rename, then set the old name": (
        lambda e: (e.rename("x", "old"), e.set_attribute("x", X + 1)),
        base(nodes=nodes({"old": X, "y": Y, "x": X + 1})),
    ),
    "remove an attribute": (lambda e: e.remove("x"), base(nodes=nodes({"y": Y}))),
    "remove the label": (lambda e: e.remove("y"), base(nodes=nodes({"x": X}, None, None))),
    "rename the types": (
        lambda e: (e.rename_type("node", "a__b"), e.rename_type(("a__b", "to", "a__b"), ("a__b", "../x", "a__b"))),
        base(
            nodes=nodes({"x": X, "y": Y}, type="a__b"),
            edges=lambda w: w.add_edges([0, 0, 1, 3], [1, 2, 2, 0], type=("a__b", "../x", "a__b")),
        ),
    ),
    "remove the edge type": (lambda e: e.remove_type(("node", "to", "node")), base(edges=None)),
    "add types": (
        lambda e: (e.add_nodes(type="b", num_nodes=2), e.set_edges([0], [1], type=("node", "has", "b"))),
        [
            *base(),
            lambda w: w.add_nodes(type="b", num_nodes=2),
            lambda w: w.add_edges([0], [1], type=("node", "has", "b")),
        ],
    ),
    "a value": (lambda e: e.set_other("a", np.ones(2)), [*base(), lambda w: w.add_other("a", np.ones(2))]),
    "rename and remove values": (
        lambda e: (
            e.set_other("a", np.ones(2)),
            e.set_other("b", 3, of="node"),
            e.set_other("c", 4),
            e.rename("a", "d"),
            e.remove("b"),
            e.remove("c"),
        ),
        [*base(), lambda w: w.add_other("d", np.ones(2))],
    ),
    "metadata": (
        lambda e: (e.set_metadata(licence="CC0", year=1), e.remove_metadata("name", "year")),
        base(metadata=lambda w: w.set_metadata(licence="CC0")),
    ),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_changed_folder_is_what_a_writer_writes(operation):
    change, steps = OPERATIONS[operation]
    homogeneous()
    with gz.edit_dataset("ds") as edit:
        change(edit)
    assert_same("ds", write("other", *steps))


def test_types_are_renamed_everywhere():
    heterogeneous()
    with gz.edit_dataset("ds") as edit:
        edit.rename_type("paper", "article")
        edit.rename_type(("author", "writes", "article"), ("author", "wrote", "article"))
        edit.rename("year", "when", of=("article", "cites", "article"))
        edit.rename_split("train", "fit")
    with gz.open("ds") as data:
        assert data.node_types == ["article", "author"]
        assert data.edge_types == [("article", "cites", "article"), ("author", "wrote", "article")]
        assert data.split("fit", of="article").tolist() == [0, 2]
        assert data.split("fit", of=("article", "cites", "article")).tolist() == [1]
        cites = data.edges["article", "cites", "article"]
        assert (cites.time, cites.time_unit) == ("when", "s")
        assert data.nodes["article"].class_names == ["no", "yes"]
        assert data.nodes["article"].other["note"] == [1, 2]
        assert data.nodes["author"].ids.index("mia") == 1
    assert "nodes/article/x.gd" in files("ds")
    assert not [name for name in files("ds") if "paper" in name or "train" in name]
    assert all(check.holds for check in gz.verify("ds"))


def test_a_node_type_is_removed_after_its_edges():
    heterogeneous()
    with gz.edit_dataset("ds") as edit:
        with pytest.raises(ValueError, match=r"^type: 'author': expected a node type without edges, found .*writes"):
            edit.remove_type("author")
        edit.remove_type(WRITES)
        edit.remove_type("author")
        edit.remove_type(CITES)
    with gz.open("ds") as data:
        assert (data.node_types, data.edge_types, data.split_names) == (["paper"], [], ["train"])
    assert not [name for name in files("ds") if "author" in name or "cites" in name]


def test_rows_edges_and_splits_are_given_by_labels():
    heterogeneous()
    with gz.edit_dataset("ds") as edit:
        edit.set_attribute("score", [1.0, 2.0, 3.0], of="author", ids=["mia", "zoe", "adam"])
        edit.set_label("kind", [0, 1, 2], of="author", ids=NAMES)
        edit.set_split("train", ["zoe"], of="author")
        edit.set_edges(["adam"], ["zoe"], type=("author", "knows", "author"))
    with gz.open("ds") as data:
        author = data.nodes["author"]
        assert author["score"].gather(author.ids.indices(NAMES)).tolist() == [2.0, 3.0, 1.0]
        assert author["kind"].gather(author.ids.indices(NAMES)).tolist() == [0, 1, 2]
        assert author.ids.labels(data.split("train", of="author")).tolist() == ["zoe"]
        assert data.edges["author", "knows", "author"].graph.neighbors(0).tolist() == [2]


def test_integers_that_may_be_ids_or_labels_are_refused_under_any_name():
    write("ds", lambda w: w.add_nodes({"age": [1, 2, 3]}, ids=[10, 30, 20]))
    with gz.edit_dataset("ds") as edit:
        with pytest.raises(ValueError, match="expected labels=True if these are labels"):
            edit.set_split("train", [1])
        edit.rename_type("node", "user")
        with pytest.raises(ValueError, match="expected labels=True if these are labels"):
            edit.set_split("train", [1])
        edit.set_split("train", [30], labels=True)
        edit.set_split("test", [1], labels=False)
    with gz.open("ds") as data:
        assert (data.split("train").tolist(), data.split("test").tolist()) == ([2], [1])


@pytest.mark.parametrize("form", [str, pathlib.Path, gz.FeatureStore])
def test_files_are_linked(form):
    homogeneous()
    gz.write_features("new.gd", X + 5)
    with gz.edit_dataset("ds") as edit:
        edit.set_attribute("x", form("new.gd"))
    assert os.path.samefile("ds/nodes/node/x.gd", "new.gd")


def test_an_attribute_may_come_from_the_data_set_itself():
    homogeneous()
    with gz.open("ds") as data, gz.edit_dataset("ds") as edit:
        edit.set_attribute("copy", data.features("x"))
        edit.set_attribute("x", data.features("x"))
    with gz.open("ds") as data:
        assert data.features("copy").get_tensor().tolist() == data.features("x").get_tensor().tolist() == X.tolist()


def test_a_store_whose_file_was_replaced_is_refused():
    homogeneous()
    with gz.open("ds") as old:
        with gz.edit_dataset("ds") as edit:
            edit.set_attribute("x", X + 1)
        message = (
            r"ds/nodes/node/x.gd: expected the file that is mounted, found one that replaced it since; open it anew"
        )
        with gz.edit_dataset("ds") as edit, pytest.raises(ValueError, match=message):
            edit.set_attribute("z", old.features("x"))


def test_only_what_changes_is_written():
    heterogeneous()
    before = inodes("ds")
    with gz.edit_dataset("ds") as edit:
        edit.set_attribute("x", X + 1, of="paper")
        edit.rename_type("author", "person")
    after = inodes("ds")
    assert after["nodes/person/age.gd"] == before["nodes/author/age.gd"]
    assert after["edges/person__writes__paper/graph.gl"] == before["edges/author__writes__paper/graph.gl"]
    unchanged = before.keys() - {"graphzero.json", "nodes/paper/x.gd"}
    assert {before[name] for name in unchanged} <= set(after.values())
    assert after["nodes/paper/x.gd"] != before["nodes/paper/x.gd"]


def test_an_open_data_set_keeps_the_old_files_and_loaders_see_the_new_ones():
    pyg()
    from graphzero.loaders import NeighborLoader

    def rows(data):
        batch = next(iter(NeighborLoader(data, [1], input_nodes="train", batch_size=4, seed=1)))
        return batch.x[: batch.batch_size].tolist()

    homogeneous()
    with gz.open("ds") as old:
        with gz.edit_dataset("ds") as edit:
            edit.set_attribute("x", X + 100)
            edit.set_split("train", [3])
        assert rows(old) == X[[0, 2]].tolist()
        with gz.open("ds") as new:
            assert rows(new) == (X + 100)[[3]].tolist()


def test_the_result_does_not_depend_on_the_old_folder():
    """Later changes of either are not seen in the other: no file is written in place."""
    heterogeneous()
    with gz.open("ds") as old:
        for k in range(3):
            with gz.edit_dataset("ds") as edit:
                edit.set_attribute("x", X + k, of="paper")
                edit.set_split("train", [k], of="paper")
        assert old.features("x", of="paper").get_tensor().tolist() == X.tolist()
        assert old.split("train", of="paper").tolist() == [0, 2]


@posix_only(reason=NO_LINKS)
def test_what_a_user_put_into_the_folder_stays(tmp_path):
    homogeneous()
    os.makedirs("ds/notes/deep")
    pathlib.Path("ds/notes/deep/why.txt").write_text("because")
    pathlib.Path("ds/nodes/node/README").write_text("rows")
    os.symlink("nowhere", "ds/dangling")
    os.symlink("notes", "ds/link")
    with gz.edit_dataset("ds") as edit:
        edit.remove("x")
    assert pathlib.Path("ds/link/deep/why.txt").read_text() == "because"
    assert pathlib.Path("ds/nodes/node/README").read_text() == "rows"
    assert os.readlink("ds/dangling") == "nowhere"
    assert not os.path.exists("ds/nodes/node/x.gd")


def test_paths_of_another_writer_become_ours():
    homogeneous()
    os.rename("ds/nodes/node/x.gd", "ds/rows.gd")
    document = manifest("ds")
    document["nodes"]["node"]["attributes"]["x"]["file"] = "rows.gd"
    document["nodes"]["node"]["attributes"]["again"] = document["nodes"]["node"]["attributes"]["x"]
    pathlib.Path("ds/graphzero.json").write_text(json.dumps(document))
    with gz.edit_dataset("ds") as edit:
        edit.set_attribute("x", X + 1)
    with gz.open("ds") as data:
        assert data.features("again").get_tensor().tolist() == X.tolist()
        assert data.features("x").get_tensor().tolist() == (X + 1).tolist()
    assert {"nodes/node/again.gd", "nodes/node/x.gd"} <= set(files("ds"))
    assert "rows.gd" not in files("ds")


@posix_only(reason=NO_LINKS)
def test_a_file_that_the_folder_only_links_to_stays_where_it_is():
    homogeneous()
    os.rename("ds/nodes/node/x.gd", "large.gd")
    os.symlink("../../../large.gd", "ds/nodes/node/x.gd")
    with gz.edit_dataset("ds") as edit:
        edit.rename("x", "feat")
    assert os.path.islink("ds/nodes/node/feat.gd")
    assert os.path.samefile("ds/nodes/node/feat.gd", "large.gd")
    gz.open("ds").close()


def test_where_files_cannot_be_linked_they_are_copied(monkeypatch):
    def refuse(source, target):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    homogeneous()
    monkeypatch.setattr("graphzero._files.folder.os.link", refuse)
    with gz.edit_dataset("ds") as edit:
        edit.set_split("test", [1])
    assert_same("ds", write("other", *base(), lambda w: w.add_split("test", [1])))


@posix_only(reason=NO_LINKS)
def test_a_link_to_the_folder_is_followed():
    homogeneous()
    os.symlink("ds", "link")
    with gz.edit_dataset("link") as edit:
        assert edit.path == os.path.abspath("ds")
        assert (edit.node_types, edit.edge_types) == (["node"], [("node", "to", "node")])
        edit.set_split("test", [1])
    assert os.path.islink("link")
    assert gz.open("ds").split("test").tolist() == [1]


@posix_only(reason=NO_MODES)
def test_a_private_folder_stays_private():
    homogeneous()
    os.chmod("ds", 0o700)
    with gz.edit_dataset("ds") as edit:
        hidden = next(name for name in os.listdir() if name.startswith(".ds."))
        assert stat.S_IMODE(os.stat(hidden).st_mode) == 0o700
        edit.set_split("test", [1])
    assert stat.S_IMODE(os.stat("ds").st_mode) == 0o700


ERRORS = {
    "several node types": (
        lambda e: e.set_attribute("z", [1]),
        ValueError,
        r"^of: .*/ds has several node types: expected one of \['paper', 'author'\]$",
    ),
    "no such type": (
        lambda e: e.set_attribute("z", [1], of="film"),
        ValueError,
        r"^of: expected a type of .*/ds, one of \['paper', 'author', \('paper', .*\], found 'film'$",
    ),
    "no such edge type": (
        lambda e: e.set_split("train", [0], of=("paper", "x", "paper")),
        ValueError,
        r"^of: expected a type of .*, found \('paper', 'x', 'paper'\)$",
    ),
    "no type at all": (
        lambda e: e.remove("x", of=3),
        ValueError,
        r"^edge type: expected \(source, relation, destination\), found 3$",
    ),
    "rows": (
        lambda e: e.set_attribute("x", X[:3], of="paper"),
        ValueError,
        "^attribute 'x' of 'paper': expected 4 rows, found 3$",
    ),
    "rows of edges": (
        lambda e: e.set_attribute("w", [1], of=CITES),
        ValueError,
        r"^attribute 'w' of \('paper', 'cites', 'paper'\): expected 2 rows, found 1$",
    ),
    "an empty name": (
        lambda e: e.set_attribute("", [1, 2, 3, 4], of="paper"),
        ValueError,
        "^expected a name, found an empty one$",
    ),
    "the label as an attribute": (
        lambda e: e.set_attribute("y", [1, 1, 1, 1], of="paper"),
        ValueError,
        "^name: 'y' is the label of 'paper': expected set_label to replace it$",
    ),
    "the time of a graph": (
        lambda e: e.set_attribute("year", [1, 1], of=CITES),
        ValueError,
        r"^name: the graph of \(.*\) holds 'year' too, as time: expected set_edges to replace both$",
    ),
    "names twice": (
        lambda e: e.set_attribute("z", [0, 1, 1, 0], of="paper", categories=["a", "a"]),
        ValueError,
        "^categories: type 'paper': 'z': expected names that differ, found 'a' twice$",
    ),
    "labels of rows of edges": (
        lambda e: e.set_attribute("w", [1, 2], of=CITES, ids=["a", "b"]),
        TypeError,
        r"^ids: \(.*\): expected rows by edge id, found labels, which only nodes have$",
    ),
    "a file of labels": (
        lambda e: e.set_attribute("w", [1, 2, 3], of="author", ids="x.gi"),
        TypeError,
        "^ids: expected labels in memory, found a file; leave it out if rows are by node id$",
    ),
    "labels of nodes without": (
        lambda e: e.set_attribute("w", [1, 2, 3, 4], of="paper", ids=["a", "b", "c", "d"]),
        TypeError,
        "^ids of 'paper': expected ids of 'paper', found labels; to use labels, give them to add_nodes with ids=$",
    ),
    "an unknown label": (
        lambda e: e.set_attribute("w", [1, 2, 3], of="author", ids=["zoe", "adam", "eve"]),
        KeyError,
        "ids of 'author': .*'eve'",
    ),
    "a label twice": (
        lambda e: e.set_attribute("w", [1, 2, 3], of="author", ids=["zoe", "adam", "zoe"]),
        ValueError,
        "^ids of 'author': expected each label once, found 'zoe' at 0 and at 2$",
    ),
    "a label too few": (
        lambda e: e.set_attribute("w", [1, 2], of="author", ids=["zoe", "adam"]),
        ValueError,
        "^ids of 'author': expected the labels of all 3 nodes, found none that is 'mia'$",
    ),
    "a label of edges": (
        lambda e: e.set_label("year", of=CITES),
        ValueError,
        r"^of: expected a node type, as edges have no label, found \(",
    ),
    "no such attribute as label": (
        lambda e: e.set_label("z", of="paper"),
        ValueError,
        r"^name: expected one of the attributes \['x', 'y'\] of 'paper', found 'z'$",
    ),
    "labels without values": (
        lambda e: e.set_label("age", of="author", ids=NAMES),
        ValueError,
        "^ids: expected values beside it, found none$",
    ),
    "classes and names": (
        lambda e: e.set_label("y", of="paper", num_classes=3, class_names=["a", "b"]),
        ValueError,
        "^class_names: expected 3, as num_classes says, found 2$",
    ),
    "a class beyond the names": (
        lambda e: e.set_label("t", [0, -1, 5, 2], of="paper", class_names=["no", "ja"]),
        ValueError,
        "^class_names: expected classes below 2 as label 't' of 'paper', found 5 for node 2; count and name all "
        "classes, and give -1 to nodes without one$",
    ),
    "a class beyond the names of labels": (
        lambda e: e.set_label("t", [7, 0, 1], of="author", ids=NAMES, class_names=["no", "ja"]),
        ValueError,
        "^class_names: expected classes below 2 as label 't' of 'author', found 7 for node 2; ",
    ),
    "a class beyond their number": (
        lambda e: e.set_label("y", of="paper", num_classes=1),
        ValueError,
        "^num_classes: expected classes below 1 as label 'y' of 'paper', found 1 for node ",
    ),
    "a class beyond the names of new nodes": (
        lambda e: e.add_nodes({"t": [0, 3]}, type="venue", label="t", categories={"t": ["no", "ja"]}),
        ValueError,
        "^categories: expected classes below 2 as label 't' of 'venue', found 3 for node 1; ",
    ),
    "names of classes": (
        lambda e: e.set_categories("y", ["a"], of="paper"),
        ValueError,
        "^names: expected 2, the number of classes of 'y', found 1$",
    ),
    "names of no attribute": (
        lambda e: e.set_categories("z", ["a"], of="paper"),
        ValueError,
        r"^name: expected one of the attributes \['x', 'y'\] of 'paper', found 'z'$",
    ),
    "an id": (
        lambda e: e.set_split("train", [0, 4], of="paper"),
        IndexError,
        r"^split 'train'\[1\]: expected an id of 'paper' below 4, found 4$",
    ),
    "a type again": (
        lambda e: e.add_nodes(type="paper", num_nodes=5),
        ValueError,
        "^type: .*/ds has 'paper' already, with 4 nodes, a number that cannot change, as edges, splits and rows depend "
        "on it; set_attribute changes the attributes of a type$",
    ),
    "edges with splits": (
        lambda e: e.set_edges([0], [1], type=CITES),
        ValueError,
        r"^type: \(.*\): expected no splits, found \['train'\], which hold the ids of the old edges; remove_split removes",
    ),
    "edges of no node type": (
        lambda e: e.set_edges([0], [1]),
        ValueError,
        r"^edge type \('node', 'to', 'node'\): add node type 'node' first$",
    ),
    "a graph of other sizes": (
        lambda e: (gz.write_graph("g.gl", [0], [1]), e.set_edges(type=("paper", "new", "paper"), graph="g.gl")),
        ValueError,
        r"^graph: source nodes of \(.*\): expected 4, as many as 'paper' has, found 2; write it with num_nodes=$",
    ),
    "a value that is none": (
        lambda e: e.set_other("f", {1, 2}),
        TypeError,
        "^f: expected a tensor or a JSON value, found set$",
    ),
    "metadata": (
        lambda e: e.set_metadata(name={1, 2}),
        TypeError,
        "^name: expected a tensor or a JSON value, found set$",
    ),
    "metadata that is not there": (
        lambda e: e.remove_metadata("name"),
        ValueError,
        r"^names: expected names from \[\], found 'name'$",
    ),
    "remove nothing": (
        lambda e: e.remove("z", of="paper"),
        ValueError,
        r"^name: expected one of \['x', 'y', 'note'\] of 'paper', found 'z'$",
    ),
    "remove no split": (
        lambda e: e.remove_split("test"),
        ValueError,
        r"^name: expected a split of .*/ds, one of \['train'\], found 'test'$",
    ),
    "remove no split of a type": (
        lambda e: e.remove_split("train", of="author"),
        ValueError,
        r"^name: expected a split of 'author', one of \[\], found 'train'$",
    ),
    "rename nothing": (
        lambda e: e.rename("z", "a", of="paper"),
        ValueError,
        r"^old: expected one of \['x', 'y', 'note'\] of 'paper', found 'z'$",
    ),
    "a name that is taken": (
        lambda e: e.rename("x", "note", of="paper"),
        ValueError,
        "^new: expected a name that is free, found 'note', which is there already$",
    ),
    "a name that is none": (
        lambda e: e.rename("x", "", of="paper"),
        ValueError,
        "^expected a name, found an empty one$",
    ),
    "a type that is taken": (
        lambda e: e.rename_type("paper", "author"),
        ValueError,
        "^new: expected a name that is free, found 'author', which is there already$",
    ),
    "an edge type that is taken": (
        lambda e: e.rename_type(CITES, CITES),
        ValueError,
        "^new: expected a name that is free",
    ),
    "no type to rename": (
        lambda e: e.rename_type("film", "a"),
        ValueError,
        "^old: expected a type of .*, found 'film'$",
    ),
    "a triple for a node type": (
        lambda e: e.rename_type("paper", CITES),
        ValueError,
        r"^new: expected the name of a node type, found \(",
    ),
    "a relation that is none": (
        lambda e: e.rename_type(CITES, ("paper", "", "paper")),
        ValueError,
        "^expected a name, found an empty one$",
    ),
    "other ends": (
        lambda e: e.rename_type(WRITES, CITES),
        ValueError,
        r"^new: expected \('author', …, 'paper'\), found \('paper', .*\); rename a node type by its own name$",
    ),
    "a split that is taken": (
        lambda e: (e.set_split("test", [1], of=CITES), e.rename_split("train", "test")),
        ValueError,
        "^new: expected a name that is free, found 'test', which is there already$",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_a_change_that_is_refused_says_why_and_changes_nothing(case):
    change, kind, message = ERRORS[case]
    heterogeneous()
    before = manifest("ds")
    with pytest.raises(kind, match=message), gz.edit_dataset("ds") as edit:
        change(edit)
    assert manifest("ds") == before
    if case == "a split that is taken":
        return  # its first change is not refused
    with gz.edit_dataset("ds") as edit:
        with pytest.raises(kind, match=message):
            change(edit)
        edit.set_metadata(seen=True)
    assert manifest("ds") == {**before, "metadata": {"seen": True}}
    assert all(check.holds for check in gz.verify("ds"))


def test_classes_beyond_names_that_come_later_are_refused():
    homogeneous()
    with gz.edit_dataset("ds") as edit:
        edit.set_label("t", [0, 1, 2, -1])
        with pytest.raises(
            ValueError, match="^names: expected classes below 2 as label 't' of 'node', found 2 for node 2"
        ):
            edit.set_categories("t", ["no", "ja"])
        edit.set_categories("t", ["no", "ja", "nu"])


def test_classes_are_checked_in_blocks(monkeypatch):
    monkeypatch.setattr("graphzero.convert.dataset_draft._AT_ONCE", 3)
    labels = np.array([[0], [1], [-1], [1], [4], [9]], np.int8)
    message = "^num_classes: expected classes below 4 as label 'y' of 'node', found 4 for node 4; count and name "
    with pytest.raises(ValueError, match=message), gz.DatasetWriter("new") as writer:
        writer.add_nodes({"y": labels}, label="y", num_classes=4)
    with gz.DatasetWriter("new") as writer:
        writer.add_nodes({"y": labels}, label="y", num_classes=10)


def test_what_is_no_data_set_is_refused():
    os.mkdir("empty")
    with pytest.raises(FileNotFoundError, match="has no graphzero.json: it is not a data set"):
        gz.edit_dataset("empty")
    with pytest.raises(FileNotFoundError):
        gz.edit_dataset("missing")
    gz.write_features("x.gd", X)
    with pytest.raises(NotADirectoryError, match="is a file, expected a data set folder"):
        gz.edit_dataset("x.gd")
    homogeneous()
    gz.write_features("ds/nodes/node/x.gd", X + 1)
    with pytest.raises(gz.FormatError, match="fingerprint is the manifest's"):
        gz.edit_dataset("ds")
    assert sorted(os.listdir()) == ["ds", "empty", "x.gd"]


def test_a_closed_editor_refuses_changes():
    homogeneous()
    with gz.edit_dataset("ds") as edit:
        pass
    for change in (lambda: edit.set_metadata(a=1), lambda: edit.rename("x", "z"), lambda: edit.set_attribute("z", X)):
        with pytest.raises(ValueError, match=r"^.*/ds: the editor is closed$"):
            change()
    edit.close()
    edit.abort()


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_block_that_raises_changes_nothing(error):
    homogeneous()
    before, old = manifest("ds"), inodes("ds")
    with pytest.raises(error), gz.edit_dataset("ds") as edit:
        edit.set_attribute("x", X + 1)
        edit.remove_split("train")
        raise error
    assert (manifest("ds"), inodes("ds")) == (before, old)
    assert os.listdir() == ["ds"]


def stale(path):
    return (
        r"expected the data set as it was when this edit began, found that it was changed or removed since; nothing was "
        rf"written: edit it again: '.*/{path}'$"
    )


def test_the_second_of_two_edits_is_told_of_the_first():
    homogeneous()
    first, second = gz.edit_dataset("ds"), gz.edit_dataset("ds")
    first.set_split("first", [1])
    second.set_split("second", [2])
    first.close()
    with pytest.raises(OSError, match=stale("ds")) as error:
        second.close()
    assert error.value.errno == errno.ESTALE
    second.abort()
    with gz.open("ds") as data:
        assert data.split_names == ["train", "first"]
    assert os.listdir() == ["ds"]


@pytest.mark.parametrize("what", ["replaced", "removed", "edited by hand"])
def test_any_other_change_meanwhile_is_found(what):
    homogeneous()
    with pytest.raises(OSError, match=stale("ds")), gz.edit_dataset("ds") as edit:
        edit.set_split("mine", [1])
        if what == "replaced":
            with gz.DatasetWriter("ds", overwrite=True) as writer:
                writer.add_nodes(num_nodes=1)
        elif what == "removed":
            os.rename("ds", "elsewhere")
        else:
            document = manifest("ds")
            document["metadata"]["name"] = "other"
            pathlib.Path("ds/graphzero.json").write_text(json.dumps(document))
    assert os.path.exists("ds") == (what != "removed")
    assert not [name for name in os.listdir() if name.startswith(".")]


def test_nobody_replaces_the_folder_between_the_comparison_and_the_edit(monkeypatch):
    """Else a writer that ends just then would lose its data set without a word."""
    homogeneous()

    def replace():
        with gz.DatasetWriter("ds", overwrite=True) as writer:
            writer.add_nodes(num_nodes=1)

    writer = threading.Thread(target=replace)
    meant = gz.DatasetEditor._check_unchanged

    def check_beside_a_writer(edit):
        meant(edit)
        writer.start()
        writer.join(0.3)
        assert writer.is_alive()

    monkeypatch.setattr(gz.DatasetEditor, "_check_unchanged", check_beside_a_writer)
    with gz.edit_dataset("ds") as edit:
        edit.set_split("mine", [1])
    writer.join()
    assert gz.open("ds").num_nodes == 1
    assert os.listdir() == ["ds"]


COUNTING = """
    import errno, sys
    import graphzero as gz

    def add_one(name):
        while True:
            try:
                with gz.edit_dataset("ds") as edit:
                    edit.set_metadata(**{name: True})
                return
            except OSError as error:
                if error.errno != errno.ESTALE:
                    raise
"""


def started(code, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments], stderr=subprocess.PIPE, text=True, env=environment
    )


def test_processes_that_edit_at_the_same_time_lose_nothing():
    homogeneous()
    code = COUNTING + "\n    for k in range(10):\n        add_one(f'{sys.argv[1]}{k}')\n"
    each = [started(code, name) for name in "abc"]
    assert [one.communicate()[1] for one in each] == ["", "", ""]
    assert set(manifest("ds")["metadata"]) == {"name", *(f"{name}{k}" for name in "abc" for k in range(10))}
    assert os.listdir() == ["ds"]


def test_threads_that_edit_at_the_same_time_lose_nothing():
    homogeneous()
    namespace = {}
    exec(textwrap.dedent(COUNTING), namespace)
    problems = []

    def work(name):
        try:
            for k in range(5):
                namespace["add_one"](f"{name}{k}")
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(manifest("ds")["metadata"]) == 16
    assert os.listdir() == ["ds"]


# Where a process is killed: while a file is written, when all are, before the folder takes its place, and just after.
KILLED = {
    "a file is half written": "graphzero.convert.dataset_draft.write_features",
    "files get their paths": "graphzero.convert.dataset_draft.write_manifest",
    "others are linked": "graphzero.convert.dataset_editor.DatasetEditor._keep_unnamed_files",
    "the old folder is checked": "graphzero.convert.dataset_editor.DatasetEditor._check_unchanged",
    "the old folder is removed": "graphzero._files.folder.remove",
}


@pytest.mark.parametrize("moment", KILLED)
def test_a_killed_edit_leaves_the_old_folder_or_the_new_one(moment):
    homogeneous()
    before = manifest("ds")
    one = started(f"""
        import importlib, os, signal, pkgutil
        import numpy as np, graphzero as gz
        edit = gz.edit_dataset("ds")
        owner, name = {KILLED[moment]!r}.rsplit(".", 1)
        setattr(pkgutil.resolve_name(owner), name, lambda *given, **options: os.kill(os.getpid(), signal.SIGKILL))
        with edit:
            edit.set_attribute("x", np.ones((4, 3), np.float32))
            edit.set_split("train", [1])
    """)
    assert (one.communicate()[1], one.returncode) == ("", -signal.SIGKILL)
    assert len(os.listdir()) == 2
    if moment == "the old folder is removed":
        with gz.open("ds") as data:
            assert data.split("train").tolist() == [1]
    else:
        assert manifest("ds") == before
    assert all(check.holds for check in gz.verify("ds"))
    with gz.edit_dataset("ds") as edit:
        edit.set_split("train", [3])
    assert os.listdir() == ["ds"]


@posix_only(reason=NO_LIMITS)
def test_a_full_disk_changes_nothing():
    homogeneous()
    before, old = manifest("ds"), inodes("ds")
    one = started("""
        import errno, resource, signal
        import numpy as np, graphzero as gz
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        try:
            with gz.edit_dataset("ds") as edit:
                edit.set_split("train", [1])
                edit.set_attribute("large", np.ones((4, 1 << 18)))
        except OSError as error:
            assert error.errno == errno.EFBIG, error
        else:
            raise SystemExit("no error")
    """)
    assert (one.communicate()[1], one.returncode) == ("", 0)
    assert (manifest("ds"), inodes("ds")) == (before, old)
    assert os.listdir() == ["ds"]


@pytest.mark.parametrize("call", ["graphzero._files.manifest.os.fsync", "graphzero._files.folder.os.link"])
def test_a_system_that_refuses_changes_nothing(monkeypatch, call):
    def fail(*given):
        raise FileNotFoundError(errno.ENOENT, "gone") if call.endswith("link") else OSError(errno.ENOSPC, "full")

    homogeneous()
    before = inodes("ds")
    monkeypatch.setattr(call, fail)
    with pytest.raises(OSError, match="gone|full"), gz.edit_dataset("ds") as edit:
        edit.set_metadata(a=1)
    assert inodes("ds") == before
    assert os.listdir() == ["ds"]


ATTRIBUTES = st.sampled_from(["a", "b", "c.d"])
TYPES = st.sampled_from(["n", "m", "k__l"])
STEPS = st.one_of(
    st.tuples(st.just("set"), TYPES, ATTRIBUTES, st.integers(0, 99)),
    st.tuples(st.just("remove"), TYPES, ATTRIBUTES),
    st.tuples(st.just("rename"), TYPES, ATTRIBUTES, ATTRIBUTES),
    st.tuples(st.just("label"), TYPES, ATTRIBUTES),
    st.tuples(st.just("split"), TYPES, ATTRIBUTES, st.integers(0, 1)),
    st.tuples(st.just("remove split"), TYPES, ATTRIBUTES),
    st.tuples(st.just("rename split"), TYPES, ATTRIBUTES, ATTRIBUTES),
    st.tuples(st.just("rename type"), TYPES, TYPES),
    st.tuples(st.just("add type"), TYPES),
    st.tuples(st.just("remove type"), TYPES),
    st.tuples(st.just("edges"), TYPES, TYPES, st.integers(0, 1)),
    st.tuples(st.just("commit")),
)


class Model:
    """A data set as plain dictionaries. Every type has two nodes."""

    def __init__(self):
        self.attributes, self.label, self.splits, self.edges = {"n": {}}, {"n": None}, {}, {}

    def apply(self, edit, step):
        """Do it here and with the editor; what must be refused is refused by both."""
        action, *given = step
        refused = not getattr(self, "may_" + action.replace(" ", "_"))(*given)
        change = getattr(self, "do_" + action.replace(" ", "_"))
        if refused:
            before = repr(vars(self))
            with pytest.raises(ValueError, match=r"expected|add node type|already"):
                change(edit, *given)
            assert repr(vars(self)) == before
        else:
            change(edit, *given)

    def may_set(self, kind, name, value):
        return kind in self.attributes and self.label[kind] != name

    def do_set(self, edit, kind, name, value):
        edit.set_attribute(name, [value, value + 1], of=kind)
        self.attributes[kind][name] = value

    def may_remove(self, kind, name):
        return name in self.attributes.get(kind, {})

    def do_remove(self, edit, kind, name):
        edit.remove(name, of=kind)
        del self.attributes[kind][name]
        self.label[kind] = None if self.label[kind] == name else self.label[kind]

    def may_rename(self, kind, old, new):
        there = self.attributes.get(kind, {})
        return old in there and new not in there

    def do_rename(self, edit, kind, old, new):
        edit.rename(old, new, of=kind)
        self.attributes[kind][new] = self.attributes[kind].pop(old)
        self.label[kind] = new if self.label[kind] == old else self.label[kind]

    may_label = may_remove

    def do_label(self, edit, kind, name):
        edit.set_label(name, of=kind)
        self.label[kind] = name

    def may_split(self, kind, name, node):
        return kind in self.attributes

    def do_split(self, edit, kind, name, node):
        edit.set_split(name, [node], of=kind)
        self.splits[name, kind] = node

    def may_remove_split(self, kind, name):
        return (name, kind) in self.splits

    def do_remove_split(self, edit, kind, name):
        edit.remove_split(name, of=kind)
        del self.splits[name, kind]

    def may_rename_split(self, kind, old, new):
        return (old, kind) in self.splits and (new, kind) not in self.splits

    def do_rename_split(self, edit, kind, old, new):
        edit.rename_split(old, new, of=kind)
        self.splits[new, kind] = self.splits.pop((old, kind))

    def may_rename_type(self, old, new):
        return old in self.attributes and new not in self.attributes

    def do_rename_type(self, edit, old, new):
        edit.rename_type(old, new)
        self.attributes[new], self.label[new] = self.attributes.pop(old), self.label.pop(old)
        self.splits = {(name, new if of == old else of): node for (name, of), node in self.splits.items()}
        self.edges = {tuple(new if end == old else end for end in ends): at for ends, at in self.edges.items()}

    def may_add_type(self, kind):
        return kind not in self.attributes

    def do_add_type(self, edit, kind):
        edit.add_nodes(type=kind, num_nodes=2)
        self.attributes[kind], self.label[kind] = {}, None

    def may_remove_type(self, kind):
        return kind in self.attributes and not any(kind in ends for ends in self.edges)

    def do_remove_type(self, edit, kind):
        edit.remove_type(kind)
        del self.attributes[kind], self.label[kind]
        self.splits = {key: node for key, node in self.splits.items() if key[1] != kind}

    def may_edges(self, source, target, node):
        return {source, target} <= self.attributes.keys()

    def do_edges(self, edit, source, target, node):
        edit.set_edges([node], [1 - node], type=(source, "to", target))
        self.edges[source, target] = node

    def check(self, path):
        with gz.open(path) as data:
            attributes = {
                kind: {name: int(store.get_tensor()[0]) for name, store in node.attributes.items()}
                for kind, node in data.nodes.items()
            }
            assert attributes == self.attributes
            assert {kind: node.label for kind, node in data.nodes.items()} == self.label
            splits = {(name, kind): int(data.split(name, of=kind)[0]) for name, kind in self.splits}
            assert splits == self.splits
            assert len(data._splits) == len(splits)
            assert {(s, t): int(edge.graph.degree([1])[0]) for (s, _, t), edge in data.edges.items()} == self.edges
        assert all(check.holds for check in gz.verify(path))
        named = {record["file"] for record in _records(manifest(path))}
        assert named == set(files(path)) - {"graphzero.json"}


def _records(value):
    if isinstance(value, dict) and "fingerprint" in value:
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _records(part)


@settings(max_examples=60)
@given(st.lists(STEPS, min_size=1, max_size=25))
def test_any_sequence_of_changes_does_what_it_says(tmp_path_factory, steps):
    path = str(tmp_path_factory.mktemp("steps") / "ds")
    write(path, lambda w: w.add_nodes(type="n", num_nodes=2))
    model = Model()
    edit = gz.edit_dataset(path)
    for step in steps:
        if step[0] == "commit":
            edit.close()
            model.check(path)
            edit = gz.edit_dataset(path)
        else:
            model.apply(edit, step)
    edit.close()
    model.check(path)
    assert os.listdir(os.path.dirname(path)) == ["ds"]


def test_a_label_may_be_text(tmp_path):
    homogeneous()
    with gz.edit_dataset("ds") as edit:
        edit.set_label("kind", ["b", "a", None, "c"])
        edit.set_split("valid", [False, True, False, True])
        edit.set_split("test", np.array([True, False, False, False]))
    with gz.open("ds") as data:
        node = data.nodes["node"]
        assert (node.label, node.num_classes, node.categories["kind"]) == ("kind", 3, ["a", "b", "c"])
        assert node["kind"].gather(range(4)).tolist() == [1, 0, -1, 2]
        assert data.split("valid").tolist() == [1, 3]
        assert data.split("test").tolist() == [0]
    with gz.edit_dataset("ds") as edit:
        edit.set_label("kind", np.array(["no", "yes", "no", ""]), class_names=["yes", "no", "maybe"])
    with gz.open("ds") as data:
        assert data.nodes["node"].categories["kind"] == ["yes", "no", "maybe"]
        assert data.nodes["node"]["kind"].gather(range(4)).tolist() == [1, 0, 1, -1]


def test_a_mask_of_edges_is_a_split_of_them():
    torch = pytest.importorskip("torch")
    heterogeneous()
    with gz.edit_dataset("ds") as edit:
        edit.set_split("train", torch.tensor([False, True]), of=CITES)
    with gz.open("ds") as data:
        assert data.split("train", CITES).tolist() == [1]


WRONG = [
    (
        lambda e: e.set_label("y", ["a", "b", 3, "c"]),
        TypeError,
        "values: expected the name of a class, as before it, found 3 in row 2",
    ),
    (
        lambda e: e.set_label("y", ["a", "b", "d", "c"], class_names=["a", "b", "c"]),
        ValueError,
        "class_names: expected all classes, found no 'd', that of row 2",
    ),
    (
        lambda e: e.set_label("y", ["a", "b", "c", "c"], num_classes=2),
        ValueError,
        "class_names: expected 2, as num_classes says, found 3",
    ),
    (
        lambda e: e.set_split("train", [True, False]),
        ValueError,
        r"split 'train': expected a mask of shape \(4,\), or ids, found a mask of shape \(2,\)",
    ),
    (lambda e: e.set_split(5, [0]), TypeError, "name: expected a name, found 5"),
    (lambda e: e.set_split("train", [0], labels="x"), TypeError, "labels: expected True or False, found 'x'"),
    (lambda e: e.set_label("y", class_names=5), TypeError, "class_names: expected a list of names, found 5"),
    (lambda e: e.set_label("y", class_names="abc"), TypeError, "class_names: expected a list of names, found 'abc'"),
    (lambda e: e.set_label(None, [0, 1, 0, 1]), TypeError, "name: expected a name, found None"),
    (lambda e: e.set_attribute(["x"], X), TypeError, r"name: expected a name, found \['x'\]"),
    (lambda e: e.set_attribute("x", X, categories="ab"), TypeError, "categories: expected a list of names, found 'ab'"),
    (
        lambda e: e.set_attribute("x", None),
        TypeError,
        "attribute 'x' of 'node': expected an array, a .gd file or a mounted store, found None",
    ),
    (lambda e: e.set_attribute("x", "none.gd"), FileNotFoundError, r"No such file or directory: 'none\.gd'$"),
    (lambda e: e.set_categories("y", 5), TypeError, "names: expected a list of names, found 5"),
    (lambda e: e.set_categories(["y"], None), TypeError, r"name: expected a name, found \['y'\]"),
    (lambda e: e.set_other(5, 1), TypeError, "name: expected a name, found 5"),
    (lambda e: e.rename(["x"], "z"), TypeError, r"old: expected a name, found \['x'\]"),
    (lambda e: e.rename("x", 5), TypeError, "new: expected a name, found 5"),
    (lambda e: e.rename_split("train", 5), TypeError, "new: expected a name, found 5"),
    (lambda e: e.remove(["x"]), TypeError, r"name: expected a name, found \['x'\]"),
    (lambda e: e.remove_split(["train"]), TypeError, r"name: expected a name, found \['train'\]"),
    (lambda e: e.remove_metadata(["name"]), TypeError, r"names: expected a name, found \['name'\]"),
    (lambda e: e.add_nodes(5, type="b"), TypeError, "attributes: expected a dict of values by name, found 5"),
    (lambda e: e.add_nodes({"y": [0]}, type=["b"]), TypeError, r"type: expected a name, found \['b'\]"),
    (
        lambda e: e.add_nodes({"y": [0]}, type="b", categories=["a"]),
        TypeError,
        r"categories: expected a dict of values by name, found \['a'\]",
    ),
    (
        lambda e: e.set_edges([0], [1], attributes=5),
        TypeError,
        "attributes: expected a dict of values by name, found 5",
    ),
    (lambda e: e.set_edges(graph=5), TypeError, "graph: expected a .gl file or a Graph, found int"),
    (
        lambda e: e.set_edges([0], [1], nonsense=1),
        TypeError,
        r"nonsense: edge type \('node', 'to', 'node'\): expected one of directed, index instead",
    ),
    (
        lambda e: e.set_edges(graph="g.gl", directed=False),
        ValueError,
        "directed: expected none beside graph=, which is written already",
    ),
    (lambda e: e.set_edges([0], [1], directed=None), TypeError, "directed: expected True or False, found None"),
]


@pytest.mark.parametrize(("change", "error", "message"), WRONG)
def test_an_argument_of_the_wrong_kind_is_named_and_changes_nothing(change, error, message):
    homogeneous()
    before = pathlib.Path("ds/graphzero.json").read_bytes()
    with gz.edit_dataset("ds") as edit, pytest.raises(error, match=message):
        change(edit)
    assert pathlib.Path("ds/graphzero.json").read_bytes() == before

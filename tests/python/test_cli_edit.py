"""graphzero edit: what the options say is done to the folder, all of it or nothing."""

import json
import os
import pathlib

import numpy as np
import pytest

import graphzero as gz
from graphzero.cli.command import run

CITES = ("paper", "cites", "paper")


@pytest.fixture
def mag(tmp_path):
    with gz.DatasetWriter("mag") as writer:
        writer.add_nodes({"x": np.eye(3, dtype=np.float32)}, type="paper")
        writer.add_nodes({"age": [31, 44]}, type="author", ids=["zoe", "adam"])
        writer.add_nodes(type="user", ids=[20, 10])
        writer.add_edges([0, 1], [1, 2], type=CITES)
    return "mag"


def test_attributes_come_from_files_of_any_kind(tiny_dataset):
    np.save("a.npy", np.arange(4))
    gz.write_features("b.gd", [[1], [2], [3], [4]])
    pathlib.Path("c.csv").write_text("u,v\n1,2\n3,4\n5,6\n7,8\n")
    assert run(["edit", tiny_dataset, "--set", "a=a.npy", "--set", "node.b=b.gd"]) == 0
    assert run(["edit", tiny_dataset, "--set", "node__to__node.c=c.csv", "--dtype", "float16"]) == 0
    with gz.open(tiny_dataset) as data:
        assert data.features("a").get_tensor().tolist() == [0, 1, 2, 3]
        c = data.features("c", of=("node", "to", "node"))
        assert (c.dtype, c.get_tensor().tolist()) == ("float16", [[1, 2], [3, 4], [5, 6], [7, 8]])
    assert os.path.samefile("b.gd", f"{tiny_dataset}/nodes/node/b.gd")
    assert not [name for name in os.listdir() if name.startswith(".")]


def test_labels_and_splits_come_from_text(tiny_dataset):
    pathlib.Path("t.txt").write_text("1\n0\n1\n0\n")
    pathlib.Path("names.txt").write_text("cats\ndogs\n")
    pathlib.Path("ids.txt").write_text("3\n\n1\n")
    np.save("ids.npy", np.array([2]))
    gz.write_features("ids.gd", np.array([1]))
    files = ["--split", "train=ids.txt", "--split", "valid=ids.npy", "--split", "dev2=ids.gd"]
    assert run(["edit", tiny_dataset, "--label", "t=t.txt", "--class-names", "names.txt", *files]) == 0
    with gz.open(tiny_dataset) as data:
        node = data.nodes["node"]
        assert (node.label, node.num_classes, node.class_names) == ("t", 2, ["cats", "dogs"])
        assert (data.labels().dtype, data.labels().get_tensor().tolist()) == ("int64", [1, 0, 1, 0])
        assert [data.split(name).tolist() for name in ("train", "valid", "dev2")] == [[3, 1], [2], [1]]
    assert run(["edit", tiny_dataset, "--label", "y", "--num-classes", "3"]) == 0
    with gz.open(tiny_dataset) as data:
        assert (data.nodes["node"].label, data.num_classes) == ("y", 3)


def test_ids_of_a_split_may_be_labels(mag, capsys):
    pathlib.Path("names.txt").write_text("zoe\n")
    pathlib.Path("numbers.txt").write_text("10\n")
    assert run(["edit", mag, "--split", "author.train=names.txt"]) == 0
    assert run(["edit", mag, "--split", "user.train=numbers.txt", "--labels"]) == 0
    with gz.open(mag) as data:
        assert data.split("train", of="author").tolist() == [1]
        assert data.split("train", of="user").tolist() == [0]
    capsys.readouterr()
    assert run(["edit", mag, "--split", "user.train=numbers.txt"]) == 2
    assert "expected --labels if these are labels, or --no-labels if they are node ids" in capsys.readouterr().err


def test_removing_comes_first_then_renaming_then_setting(mag):
    np.save("x.npy", np.ones((3, 2)))
    arguments = ["--remove", "paper.x", "--rename-type", "paper=article", "--set", "article.x=x.npy"]
    arguments += [
        "--rename-type",
        "article__cites__article=refers",
        "--remove-type",
        "user",
        "--rename",
        "author.age=years",
    ]
    assert run(["edit", mag, *arguments]) == 0
    with gz.open(mag) as data:
        assert data.node_types == ["article", "author"]
        assert data.edge_types == [("article", "refers", "article")]
        assert data.features("x", of="article").shape == (3, 2)
        assert data.features("years", of="author").num_rows == 2


def test_splits_and_metadata(tiny_dataset, capsys):
    arguments = ["--remove-split", "test", "--rename-split", "train=fit", "--metadata", "year=2020"]
    assert run(["edit", tiny_dataset, *arguments, "--metadata", "name=a b", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["metadata"] == {"year": 2020, "name": "a b"}
    assert [split["name"] for split in document["splits"]] == ["fit"]
    assert run(["info", tiny_dataset, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fingerprint"] == document["fingerprint"]


def test_a_name_may_have_dots_of_its_own(tiny_dataset):
    np.save("a.npy", np.arange(4))
    assert run(["edit", tiny_dataset, "--set", "layer.1=a.npy"]) == 0
    assert run(["edit", tiny_dataset, "--rename", "layer.1=node.2"]) == 0
    with gz.open(tiny_dataset) as data:
        assert set(data.nodes["node"].attributes) == {"x", "y", "node.2"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--set: expected a change, such as this one with x=rows.npy, found none"),
        (["--set", "z"], "--set: expected a name, = and what it gets, found 'z'"),
        (["--split", "train="], "--split: expected a name, = and what it gets, found 'train='"),
        (["--set", "z=missing.npy"], "missing.npy: "),
        (["--set", "z=e.csv"], "e.csv: expected --dtype for text, such as --dtype float32, found none"),
        (["--set", "z=e.csv", "--dtype", "int8"], "attribute 'z' of 'node': expected 4 rows, found 2"),
        (["--remove-type", "film"], "--remove-type: expected a type, one of node__to__node, node, found 'film'"),
        (["--rename-type", "film=a"], "--rename-type: expected a type, one of node__to__node, node, found 'film'"),
        (["--metadata", "year"], "--metadata: expected a name, = and a value, found 'year'"),
        (["--set", "z=e.csv", "--num-classes", "2"], "--label: expected one beside its classes, found 0"),
        (
            ["--label", "y", "--num-classes", "3", "--class-names", "n.txt"],
            "--class-names: expected 3, as --num-classes says",
        ),
        (["--remove", "z"], "expected one of ['x', 'y'] of 'node', found 'z'"),
        (["--split", "train=far.txt"], "split 'train'[0]: expected an id of 'node' below 4, found 9"),
    ],
)
def test_a_mistake_is_one_line_and_changes_nothing(tiny_dataset, capsys, arguments, message):
    pathlib.Path("e.csv").write_text("1\n2\n")
    pathlib.Path("n.txt").write_text("a\nb\n")
    pathlib.Path("far.txt").write_text("9\n")
    before = pathlib.Path(tiny_dataset, "graphzero.json").read_text()
    there = sorted(os.listdir())
    assert run(["edit", tiny_dataset, "--metadata", "a=1", *arguments] if arguments else ["edit", tiny_dataset]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("graphzero: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert "--debug" not in printed.err
    assert pathlib.Path(tiny_dataset, "graphzero.json").read_text() == before
    assert sorted(os.listdir()) == there

"""``graphzero import``: one command from tables to a data set."""

import json
import os
from pathlib import Path

import pytest

import graphzero as gz
import tables
from data_sets import pyg
from tables import DEPENDS

pytest.importorskip("torch")
pyg()

from graphzero.cli.command import run  # noqa: E402  (after the warnings of PyG's import)


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """The four tables as CSV files, in the current folder."""
    monkeypatch.chdir(tmp_path)
    given = tables.package_tables()
    for name in given.__annotations__:
        getattr(given, name).write_csv(f"{name}.csv")
    return given


COMMAND = [
    "import", "folder",
    "--nodes", "package=packages.csv", "--nodes", "maintainer=maintainers.csv",
    "--edges", "package:depends:package=depends.csv", "--edges", "maintainer:maintains:package=maintains.csv",
    "--id", "package=name", "--id", "maintainer=mail", "--label", "package=section", "--split", "package=split",
    "--features", "package=size,age",
    "--src", "depends=a", "--dst", "depends=b", "--weight", "depends=w", "--time", "depends=when",
    "--src", "maintains=mail", "--dst", "maintains=name",
]  # fmt: skip


def bytes_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def test_one_command_does_what_one_call_does(packages, capsys):
    assert run(COMMAND) == 0
    assert "package → depends → package: 2,500 edges" in capsys.readouterr().out
    paths = {name: f"{name}.csv" for name in packages.__annotations__}
    gz.build_dataset("called", **packages.settings(**paths))
    assert bytes_of("folder") == bytes_of("called")


def test_what_was_made_can_be_shown_verified_and_trained_on(packages, capsys):
    assert run(COMMAND) == 0
    assert run(["info", "folder"]) == 0
    assert run(["verify", "folder"]) == 0
    assert run(["train", "folder", "--epochs", "1", "--batch-size", "64", "--hidden", "8", "--memory", "64MB"]) == 0


def test_one_table_of_each_needs_no_types(packages, capsys):
    command = ["import", "folder", "--nodes", "packages.csv", "--id", "name", "--features", "size,section:onehot",
               "--edges", "depends.csv", "--src", "a", "--dst", "b", "--split", "train:0.5,test:0.5,seed:3",
               "--label", "age:class", "--undirected", "--drop-duplicates", "--drop-self-loops", "--json"]  # fmt: skip
    assert run(command) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["nodes"]["node"]["attributes"] == {"x": "6 float32", "y": "int64"}
    assert list(report["splits"].values()) == [300, 300]
    with gz.open("folder") as data:
        assert not data.graph.directed
        assert data.nodes["node"].class_names[0] == "0"


def test_options_come_on_top_of_a_recipe(packages, capsys):
    recipe = {
        "nodes": {"package": {"source": "packages.csv", "id": "name"}},
        "edges": {"package depends package": {"source": "depends.csv", "src": "a", "dst": "b"}},
    }
    with open("recipe.json", "w") as file:
        json.dump(recipe, file)
    assert run(["import", "folder", "--recipe", "recipe.json", "--weight", "depends=w", "--reverse"]) == 0
    with gz.open("folder") as data:
        assert data.edges[DEPENDS].graph.has_weights
        assert ("package", "rev_depends", "package") in data.edges


def test_a_dry_run_writes_nothing(packages, capsys):
    assert run([*COMMAND, "--dry-run"]) == 0
    assert "would be made" in capsys.readouterr().out
    assert not os.path.exists("folder")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "expected tables of nodes, of edges, or both, found neither"),
        (["--nodes", "none.csv"], "none.csv: No such file"),
        (["--nodes", "package=packages.csv", "--nodes", "maintainers.csv"], "--nodes maintainers.csv: expected TYPE=FILE"),
        (["--nodes", "package=packages.csv", "--nodes", "m=maintainers.csv", "--id", "name"],
         "--id name: expected TYPE=VALUE with one of the types package, m, found 2 that it may be about"),
        (["--nodes", "packages.csv", "--id", "nam"], "--id: expected one of the columns name, size, age, section, split"),
        (["--nodes", "packages.csv", "--id", "name", "--edges", "maintains.csv", "--src", "mail", "--dst", "name"],
         "give --on-missing drop to leave such edges out, or --on-missing add to add such nodes"),
        (["--recipe", "none.toml"], "none.toml: No such file"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_the_options(packages, capsys, options, message):
    assert run(["import", "folder", *options]) == 2
    assert message in capsys.readouterr().err
    assert not os.path.exists("folder")

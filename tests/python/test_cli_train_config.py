"""``graphzero train --config``: options from a file, which the command line overrules, and back into one."""

import json
import sys

import pytest

import graphzero as gz
from data_sets import pyg

torch = pytest.importorskip("torch")
pyg()

from graphzero.cli.command import run  # noqa: E402  (after the warnings of PyG's import)

PLAIN = {"hidden": 8, "fanouts": [4, 4], "batch-size": 64, "memory": "128MB", "epochs": 1}
FILES = {
    "train.toml": 'hidden = 8\nfanouts = [4, 4]\nbatch-size = 64\nmemory = "128MB"\nepochs = 1\nlearning_rate = 1e-2\n',
    "train.yaml": "hidden: 8\nfanouts: 4,4\nbatch_size: 64\nmemory: 128MB\nepochs: 1\nlearning-rate: 1e-2\nthreads: null\n",
    "train.json": json.dumps({**PLAIN, "learning_rate": 0.01, "report": False}),
}


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("config") / "blocks"
    gz.synthesize(folder, 200, 1000, features=4, classes=3).close()
    return str(folder)


@pytest.fixture
def train(capsys):
    def of(*arguments):
        code = run(["train", *map(str, arguments)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return of


def write(name, text):
    with open(name, "w") as file:
        file.write(text)


@pytest.mark.parametrize("name", FILES)
def test_options_of_a_file_are_those_of_the_command_line(name, blocks, train):
    write(name, FILES[name])
    code, out, err = train(blocks, "--config", name, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)["settings"]
    wanted = {"hidden": 8, "fanouts": [4, 4], "batch_size": 64, "memory": "128MB", "epochs": 1, "learning_rate": 0.01}
    assert {key: found[key] for key in wanted} == wanted


def test_command_line_wins(blocks, train):
    write("train.json", json.dumps({**PLAIN, "json": True, "seed": 3}))
    found = json.loads(train(blocks, "--epochs", 2, "--config", "train.json", "--hidden", 4)[1])
    assert (found["settings"]["epochs"], found["settings"]["hidden"], found["settings"]["seed"]) == (2, 4, 3)
    assert len(found["history"]) == 2


@pytest.mark.parametrize("name", ["again.toml", "again.yaml", "runs/again.json"])
def test_saved_options_train_the_same_again(name, blocks, train):
    write("train.json", json.dumps(PLAIN))
    first = json.loads(
        train(blocks, "--config", "train.json", "--seed", 7, "--report", "--save-config", name, "--json")[1]
    )
    again = json.loads(train(blocks, "--config", name, "--json")[1])
    assert again["settings"] == first["settings"]
    assert again["report"] == first["report"]
    assert [one["loss"] for one in again["history"]] == [one["loss"] for one in first["history"]]


def test_saved_options_of_embeddings_train_the_same_again(blocks, train):
    small = (
        "--task",
        "embeddings",
        "--hidden",
        4,
        "--walks",
        1,
        "--walk-length",
        5,
        "--context-size",
        3,
        "--epochs",
        1,
    )
    first = json.loads(train(blocks, *small, "--embeddings-out", "a.gd", "--save-config", "walks.toml", "--json")[1])
    again = json.loads(train(blocks, "--config", "walks.toml", "--embeddings-out", "b.gd", "--json")[1])
    assert again["settings"] == first["settings"]
    assert (gz.FeatureStore("a.gd").get_tensor() == gz.FeatureStore("b.gd").get_tensor()).all()
    with open("walks.toml") as file:
        assert "embeddings-out" not in file.read()


def test_places_of_results_are_not_saved(blocks, train):
    write("train.json", json.dumps(PLAIN))
    places = ("--checkpoints", "run", "--log", "log.csv", "--predict", "p.csv")
    more = ("--predict-split", "test", "--scores", "--inference", "layers", "--test-each-epoch", "--every", 30)
    assert train(blocks, "--config", "train.json", *places, *more, "--save-config", "again.json")[0] == 0
    with open("again.json") as file:
        saved = json.load(file)
    assert not {"checkpoints", "log", "tensorboard", "predict", "predict-split", "scores", "inference"} & set(saved)
    assert (saved["test-each-epoch"], saved["every"]) == (True, 30)
    assert train(blocks, "--config", "again.json")[::2] == (0, "")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.toml", "epoch = 3\n", "c.toml: no option 'epoch'; did you mean epochs?"),
        ("c.toml", "learning_rat = 3\n", "c.toml: no option 'learning_rat'; did you mean learning-rate?"),
        ("c.toml", "zzz = 3\n", "c.toml: no option 'zzz'; there are task, model, fanouts, hidden, "),
        ("c.toml", 'config = "d.toml"\n', "c.toml: no option 'config'; there are task, "),
        (
            "c.toml",
            "batch-size = 1\nbatch_size = 2\n",
            "c.toml: batch_size: expected each option once, found it under two",
        ),
        ("c.toml", 'hidden = "wide"\n', "c.toml: hidden: cannot read 'wide': "),
        ("c.toml", "hidden = 1.5\n", "c.toml: hidden: cannot read 1.5: "),
        ("c.toml", "hidden = true\n", "c.toml: hidden: expected a value, found True"),
        ("c.toml", "report = 1\n", "c.toml: report: expected true or false, found 1"),
        ("c.toml", "[train]\nhidden = 1\n", "c.toml: no option 'train'; "),
        ("c.toml", "[model]\nhidden = 1\n", "c.toml: model: expected a plain value, found a table"),
        ("c.toml", "hidden\n", "c.toml: expected TOML, found: "),
        ("c.json", "{", "c.json: expected JSON, found: "),
        ("c.json", "[1]", "c.json: expected settings by name, found a list"),
        ("c.json", b"\xff", "c.json: expected UTF-8, found: "),
        ("c.yaml", "a: [", "c.yaml: expected YAML, found: "),
        ("c.yaml", "3", "c.yaml: expected a mapping of names, found int"),
        ("c.ini", "", "--config: expected a name that ends in .toml, .yaml or .json, found 'c.ini'"),
        (None, None, "c.toml: No such file or directory"),
    ],
)
def test_wrong_file_is_one_line(name, text, message, blocks, train):
    if name is not None:
        with open(name, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
    code, out, err = train(blocks, "--config", name or "c.toml")
    assert (code, out) == (2, "")
    assert err.startswith(f"graphzero: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("there.toml", "--save-config: expected a name that is free, found 'there.toml'; remove it, or take another"),
        ("new.ini", "--save-config: expected a name that ends in .toml, .yaml or .json, found 'new.ini'"),
    ],
)
def test_file_is_not_saved_over_another(name, message, blocks, train):
    write("train.json", json.dumps(PLAIN))
    write("there.toml", "")
    code, out, err = train(blocks, "--config", "train.json", "--save-config", name)
    assert (code, out, err) == (2, "", f"graphzero: {message}\n")


@pytest.mark.parametrize(
    ("name", "module", "message"),
    [
        ("c.toml", "tomllib", "c.toml: TOML needs Python 3.11, or tomli: pip install tomli; or write YAML or JSON ("),
        ("c.yaml", "yaml", "c.yaml: YAML files need PyYAML: pip install pyyaml ("),
    ],
)
def test_what_reads_a_file_may_be_missing(name, module, message, blocks, train, monkeypatch):
    write(name, "")
    monkeypatch.setitem(
        sys.modules, module if sys.version_info >= (3, 11) else module.replace("tomllib", "tomli"), None
    )
    code, out, err = train(blocks, "--config", name)
    assert (code, out) == (2, "")
    assert err.startswith(f"graphzero: {message}")

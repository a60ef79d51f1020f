"""``graphzero train --eval``, ``--predict`` and ``--report``: what a checkpoint knows, of splits, nodes and classes."""

import csv
import json
import os

import numpy as np
import pytest

import graphzero as gz
from data_sets import pyg

torch = pytest.importorskip("torch")
pyg()

from graphzero.cli.command import run  # noqa: E402  (after the warnings of PyG's import)
from graphzero.train import checkpoints, predictions  # noqa: E402
from graphzero.train.class_counts import ClassCounts  # noqa: E402

SMALL = ("--hidden", "8", "--fanouts", "4,4", "--batch-size", "64", "--memory", "128MB")
WAVERING = ("--epochs", "4", "--learning-rate", "1", "--seed", "1")  # the last epoch is not the best
NAMES = ["art", "biology", "chess, or go"]


def told(capsys, *arguments):
    code = run(["train", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
def train(capsys):
    return lambda *arguments: told(capsys, *arguments)


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """Nodes have names, and so have classes; a checkpoint of a training on them, and what that said."""
    folder = tmp_path_factory.mktemp("predict")
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 300)
    src, dst = rng.integers(0, 300, (2, 2000))
    same = label[src] == label[dst]
    with gz.DatasetWriter(folder / "papers") as writer:
        x = (rng.standard_normal((300, 4)) + np.eye(3, 4)[label]).astype(np.float32)
        ids = [f"paper {number:03}" for number in range(300)]
        writer.add_nodes({"x": x, "y": label}, label="y", num_classes=3, ids=ids, categories={"y": NAMES})
        writer.add_edges(src[same], dst[same])
        order = rng.permutation(300)
        for name, part in (("train", order[:150]), ("valid", order[150:220]), ("test", order[220:])):
            writer.add_split(name, [ids[number] for number in part])
    return str(folder / "papers")


@pytest.fixture(scope="module")
def kept(papers, tmp_path_factory):
    """A folder of checkpoints, and the JSON of the training."""
    folder = str(tmp_path_factory.mktemp("kept") / "run")
    out = os.path.join(os.path.dirname(folder), "out.json")
    words = ["train", papers, *SMALL, *WAVERING, "--checkpoints", folder, "--report", "--json"]
    import contextlib

    with open(out, "w") as file, contextlib.redirect_stdout(file):
        assert run(words) == 0
    with open(out) as file:
        return folder, json.load(file)


def test_best_checkpoint_measures_what_training_reported(papers, kept, train):
    folder, trained = kept
    assert trained["best_epoch"] < 4
    found = json.loads(train(papers, "--eval", folder, "--json", "--report")[1])
    assert found["checkpoint"] == os.path.join(folder, "best.pt")
    for measure in ("valid_accuracy", "test_accuracy", "report"):
        assert found[measure] == trained[measure]
    assert 0 < found["train_accuracy"] <= 1
    assert (found["same_data"], found["epochs"]) == (True, trained["best_epoch"])
    assert found["settings"] == trained["settings"]


def test_last_checkpoint_measures_what_its_epoch_reported(papers, kept, train):
    folder, trained = kept
    found = json.loads(train(papers, "--eval", f"{folder}/last.pt", "--json", "--memory", "256MB", "--threads", 1)[1])
    assert found["valid_accuracy"] == trained["history"][-1]["valid_accuracy"] != trained["valid_accuracy"]


def test_evaluation_is_told_to_people(papers, kept, train):
    code, out, err = train(papers, "--eval", kept[0], "--report")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == papers
    assert [line.split("  ")[1] for line in lines[1:7]] == [
        *("checkpoint", "epochs", "train accuracy", "valid accuracy", "test accuracy", "time")
    ]
    assert lines[7] == "classes of the split test"
    assert lines[8].split() == ["class", "precision", "recall", "f1", "nodes"]
    assert [line[2:14].strip() for line in lines[9:]] == NAMES


def test_report_is_that_of_the_predictions(papers, kept, train):
    folder, trained = kept
    assert train(papers, "--eval", folder, "--predict", "test.gd", "--predict-split", "test")[0] == 0
    data = gz.open(papers)
    guessed, label = gz.FeatureStore("test.gd").get_tensor(), data.labels().gather(data.split("test"))
    assert (guessed == label).mean() == trained["test_accuracy"]
    assert trained["report"]["split"] == "test"
    for number, one in enumerate(trained["report"]["classes"]):
        right = ((guessed == number) & (label == number)).sum()
        assert (one["class"], one["name"], one["support"]) == (number, NAMES[number], (label == number).sum())
        assert one["recall"] == right / (label == number).sum()
        assert one["precision"] == (right / (guessed == number).sum() if (guessed == number).any() else None)
    data.close()


def test_class_that_is_never_guessed_or_never_there_has_no_share():
    counts = ClassCounts(4)
    counts.add(torch.tensor([0, 0, 1]), torch.tensor([0, 2, 1]))
    counts.add(torch.tensor([0]), torch.tensor([0]))
    found = [(one.precision, one.recall, one.f1, one.support) for one in counts.measures()]
    assert found == [(2 / 3, 1.0, 0.8, 2), (1.0, 1.0, 1.0, 1), (None, 0.0, 0.0, 1), (None, None, None, 0)]


@pytest.mark.parametrize("how", ["sample", "layers"])
@pytest.mark.parametrize("split", [None, "test"])
def test_tables_say_what_the_rows_say(how, split, papers, kept, train):
    chosen = ("--inference", how, *(() if split is None else ("--predict-split", split)))
    for out in ("class.gd", "p.csv"):
        assert train(papers, "--eval", kept[0], "--predict", out, *chosen)[0] == 0
    for out in ("score.gd", "p.parquet", "scores.csv"):
        assert train(papers, "--eval", kept[0], "--predict", out, *chosen, "--scores")[0] == 0
    data = gz.open(papers)
    ids = np.arange(300) if split is None else data.split("test").copy()
    classes, scores = (gz.FeatureStore(name).get_tensor() for name in ("class.gd", "score.gd"))
    assert (classes.dtype, classes.shape, scores.dtype, scores.shape) == (
        np.int64, ids.shape, np.float32, (len(ids), 3),
    )  # fmt: skip
    assert (scores.argmax(1) == classes).all()
    assert np.allclose(scores.sum(1), 1, atol=1e-5)
    names, texts = data.nodes["node"].ids.labels(ids).tolist(), [NAMES[number] for number in classes]
    with open("p.csv", newline="") as file:
        assert list(csv.reader(file)) == [["node", "class"], *map(list, zip(names, texts, strict=True))]
    with open("scores.csv", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["node", "class", "score_art", "score_biology", "score_chess, or go"]
    assert np.array_equal(np.array([row[2:] for row in rows], dtype=np.float32), scores)
    table = pytest.importorskip("pyarrow.parquet").read_table("p.parquet")
    assert table.column_names == head
    assert (table["node"].to_pylist(), table["class"].to_pylist()) == (names, texts)
    assert np.array_equal(np.stack([table[name] for name in head[2:]], 1), scores)
    assert sorted(os.listdir()) == ["class.gd", "p.csv", "p.parquet", "score.gd", "scores.csv"]
    data.close()


def test_layers_take_all_neighbours(papers, kept, train, monkeypatch):
    monkeypatch.setattr(predictions, "_VALUES_AT_ONCE", 40)  # blocks of a few rows
    assert train(papers, "--eval", kept[0], "--predict", "p.gd", "--inference", "layers", "--scores")[0] == 0
    best = checkpoints.load(os.path.join(kept[0], "best.pt"))
    from torch_geometric.nn import GraphSAGE

    model = GraphSAGE(4, 8, 2, 3)
    model.load_state_dict({name.removeprefix("layers."): weight for name, weight in best.state["model"].items()})
    data = gz.open(papers)
    with torch.no_grad():
        whole = model.eval()(data.x, data.edge_index).softmax(1)
    assert np.allclose(gz.FeatureStore("p.gd").get_tensor(), whole, atol=1e-5)


def test_nodes_and_classes_without_names_are_numbers_and_types_are_several(train):
    gz.synthesize("mag", 300, 1500, features=4, classes=3, hetero=True).close()
    code, _, err = train(
        "mag", *SMALL, "--epochs", 1, "--target", "paper", "--predict", "p.csv", "--checkpoints", "run"
    )
    assert (code, err) == (0, "")
    with gz.open("mag") as data:
        count = data.nodes["paper"].num_nodes
    with open("p.csv", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["node", "class"]
    assert [int(node) for node, _ in rows] == list(range(count))
    assert {int(number) for _, number in rows} <= {0, 1, 2}
    assert train("mag", "--eval", "run", "--predict", "p.parquet", "--scores")[0] == 0
    table = pytest.importorskip("pyarrow.parquet").read_table("p.parquet")
    assert table["class"].to_pylist() == [int(number) for _, number in rows]
    assert table.column_names[2:] == ["score_0", "score_1", "score_2"]
    code, _, err = train("mag", "--eval", "run", "--predict", "q.gd", "--inference", "layers")
    assert (code, err) == (
        2,
        "graphzero: --inference: layers is for sage and gat on one type of nodes, found a model over several types; "
        "take sample\n",
    )


def test_training_predicts_with_its_best_weights(papers, kept, train):
    words = (*SMALL, *WAVERING, "--predict", "after.gd", "--json")
    found = json.loads(train(papers, *words)[1])
    assert found["predictions"] == {"path": "after.gd", "num_nodes": 300, "split": None}
    assert train(papers, "--eval", kept[0], "--predict", "eval.gd")[0] == 0
    after, again = (gz.FeatureStore(name).get_tensor() for name in ("after.gd", "eval.gd"))
    assert (after == again).all()


def test_report_without_a_split_test_is_of_the_last_there_is(train):
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes({"x": np.ones((4, 2), dtype=np.float32), "y": [0, 1, 0, 1]}, label="y")
        writer.add_edges([0, 1], [1, 2])
        writer.add_split("train", [0, 1, 2])
    found = json.loads(train("ds", *SMALL, "--epochs", 1, "--report", "--json")[1])
    assert found["report"]["split"] == "train"
    assert [one["support"] for one in found["report"]["classes"]] == [2, 1]


def test_checkpoint_is_measured_on_other_data(papers, kept, train):
    rng = np.random.default_rng(1)
    with gz.DatasetWriter("new") as writer:
        writer.add_nodes({"x": rng.standard_normal((20, 4)).astype(np.float32), "y": np.arange(20) % 2}, label="y")
        writer.add_edges([0, 1], [1, 2])
        writer.add_split("train", np.arange(20))
    found = json.loads(train("new", "--eval", kept[0], "--json")[1])
    assert (found["same_data"], found["trained_on"]) == (False, papers)
    assert found["task"]["num_classes"] == 3
    assert f"  trained on      {papers}, which holds other data\n" in train("new", "--eval", kept[0])[1]


def test_data_with_more_classes_than_the_checkpoint_knows_is_refused(kept, train):
    with gz.DatasetWriter("new") as writer:
        writer.add_nodes({"x": np.ones((8, 4), dtype=np.float32), "y": np.arange(8) % 5}, label="y")
        writer.add_edges([0, 1], [1, 2])
        writer.add_split("train", np.arange(8))
    code, _, err = train("new", "--eval", kept[0])
    path = os.path.join(kept[0], "best.pt")
    assert (code, err) == (2, f"graphzero: new: expected at most 3 classes, as {path} was trained on, found 5\n")


def test_checkpoint_of_another_model_is_refused(papers, kept, train):
    with gz.DatasetWriter("new") as writer:
        writer.add_nodes({"x": np.ones((8, 7), dtype=np.float32), "y": np.arange(8) % 3}, label="y")
        writer.add_edges([0, 1], [1, 2])
        writer.add_split("train", np.arange(8))
    code, _, err = train("new", "--eval", kept[0])
    path = os.path.join(kept[0], "best.pt")
    assert (code, err) == (
        2,
        f"graphzero: {path}: was trained on {papers}, and its weights do not fit new: model.layers.convs.0.lin_l.weight: "
        "expected shape (8, 7), found '(8, 4)'; give it data with the same features and types\n",
    )


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d.update(state=3), "model: expected weights by name, found NoneType"),
        (lambda d: d["state"]["model"].popitem(), "model: expected "),
        (lambda d: d.update(num_classes=2**70), ""),
        (lambda d: d.update(class_names=[3]), "class_names: expected a list of names, found [3]"),
        (lambda d: d["settings"].update(hidden=2**70), ""),
    ],
)
def test_damaged_checkpoint_is_exit_code_1(damage, message, papers, kept, train):
    document = torch.load(os.path.join(kept[0], "best.pt"), weights_only=True)
    damage(document)
    torch.save(document, "damaged.pt")
    code, out, err = train(papers, "--eval", "damaged.pt")
    assert (code, out) == (1, "")
    assert err.startswith(f"graphzero: damaged.pt: is a damaged checkpoint: {message}")


def test_predictions_that_fail_leave_nothing(papers, kept, train, monkeypatch):
    def fail(self, ids, scores):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(predictions._Csv, "append", fail)
    code, _, err = train(papers, "--eval", kept[0], "--predict", "p.csv")
    assert (code, err) == (2, "graphzero: No space left on device\n")
    assert os.listdir() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--predict", "p.txt"], "--predict: expected a name that ends in .gd, .parquet or .csv, found 'p.txt'"),
        (["--predict", "there.csv"], "there.csv: exists; remove it, or choose another name"),
        (["--predict", "none/p.csv"], "{here}/none: no such folder; make it first"),
        (["--predict", "p.csv", "--predict-split", "dev2"],
         "--predict-split: expected one of train, valid, test of node, found 'dev2'"),
        (["--predict", "p.csv", "--inference", "magic"], "--inference: expected 'sample' or 'layers', found 'magic'"),
        (["--predict", "p.csv", "--inference", "layers", "--model", "gcn"],
         "--inference: layers is for sage and gat on one type of nodes, found gcn; take sample"),
        (["--predict-split", "test"], "--predict-split: expected none without --predict, found test"),
        (["--scores"], "--scores: expected none without --predict"),
        (["--inference", "layers"], "--inference: expected none without --predict, found layers"),
        (["--eval", "{kept}", "--hidden", "4"],
         "--hidden: expected none with --eval, which takes it from the checkpoint, found 4"),
        (["--eval", "{kept}", "--epochs", "4"],
         "--epochs: expected none with --eval, which takes it from the checkpoint, found 4"),
        (["--eval", "{kept}", "--checkpoints", "run"],
         "--checkpoints: expected none with --eval, which does not train, found run"),
        (["--eval", "{kept}", "--resume"], "--resume: expected none with --eval, which does not train"),
        (["--eval", "{kept}", "--log", "a.csv"], "--log: expected none with --eval, which does not train, found a.csv"),
        (["--eval", "none.pt"], "none.pt: No such file or directory"),
    ],
)  # fmt: skip
def test_wrong_command_is_one_line_before_anything_is_trained(arguments, message, papers, kept, train):
    with open("there.csv", "w"):
        pass
    words = [word.format(kept=kept[0]) for word in arguments]
    code, out, err = train(papers, *words, *(() if "--eval" in words else ("--memory", "128MB")))
    assert (code, out) == (2, "")
    assert err == f"graphzero: {message.format(here=os.getcwd())}\n"


def test_rows_that_layers_cannot_take_are_told(train):
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes({"x": np.arange(8).reshape(4, 2), "y": [0, 1, 0, 1]}, label="y")
        writer.add_edges([0, 1], [1, 2])
        writer.add_split("train", [0, 1])
    code, _, err = train("ds", *SMALL, "--predict", "p.gd", "--inference", "layers")
    assert code == 2
    assert err.startswith("graphzero: --inference: layers needs rows of floats, found int64 of shape (4, 2) in ds/")
    assert train("ds", *SMALL, "--epochs", 1, "--predict", "p.gd")[0] == 0


def test_parquet_without_pyarrow_is_told_before_anything_is_trained(papers, train, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    code, out, err = train(papers, *SMALL, "--predict", "p.parquet")
    assert (code, out) == (2, "")
    assert "Parquet and Arrow data need pyarrow: pip install 'graphzero[arrow]' (" in err


def copied(papers, names, *, rename=None, num_classes=None, where="new"):
    """Write the data set again; class ``k`` of the old one is ``names.index(NAMES[k])``, as if tables had another order."""
    old = gz.open(papers)
    label = np.array([names.index((rename or {}).get(name, name)) for name in NAMES])[old.labels().get_tensor()]
    with gz.DatasetWriter(where) as writer:
        ids = old.nodes["node"].ids.labels(np.arange(300)).tolist()
        attributes = {"x": old.features("x").get_tensor(), "y": label}
        writer.add_nodes(attributes, label="y", num_classes=num_classes, ids=ids, categories={"y": names})
        writer.add_edges(*old.edge_index.numpy())
        for split in old.split_names:
            writer.add_split(split, old.split(split))
    old.close()
    return label


@pytest.mark.parametrize("names", [NAMES[::-1], ["zebra", *NAMES[1:], NAMES[0]]], ids=["other order", "more"])
def test_classes_of_other_data_are_matched_by_name(names, papers, kept, train):
    copied(papers, names)
    wanted = json.loads(train(papers, "--eval", kept[0], "--json", "--report", "--predict", "old.csv")[1])
    found = json.loads(train("new", "--eval", kept[0], "--json", "--report", "--predict", "new.csv")[1])
    assert not found["same_data"]
    assert (found["class_names"], found["left_out"]) == (NAMES, {})
    for measure in ("train_accuracy", "valid_accuracy", "test_accuracy", "report"):
        assert found[measure] == wanted[measure]
    with open("old.csv") as old, open("new.csv") as new:
        assert new.read() == old.read()


def test_nodes_of_classes_that_the_model_does_not_know_are_left_out_and_told(papers, kept, train):
    names = ["dance", "biology", "chess, or go"]
    label = copied(papers, names, rename={"art": "dance"})
    found = json.loads(train("new", "--eval", kept[0], "--json", "--report", "--predict", "p.gd")[1])
    data = gz.open("new")
    counts = {split: int((label[data.split(split)] == 0).sum()) for split in ("train", "valid", "test")}
    assert found["left_out"] == {split: {"dance": count} for split, count in counts.items()}
    nodes = data.split("test")[label[data.split("test")] != 0]
    guessed = gz.FeatureStore("p.gd").get_tensor()[nodes]
    assert found["test_accuracy"] == pytest.approx((guessed == label[nodes]).mean())
    assert [one["name"] for one in found["report"]["classes"]] == NAMES
    assert [one["support"] for one in found["report"]["classes"]] == [0, *np.bincount(label[nodes])[1:]]
    line = f"  left out        {counts['test']} nodes of test of classes it does not know: dance\n"
    assert line in train("new", "--eval", kept[0])[1]
    data.close()


def test_data_of_other_classes_alone_is_refused(papers, kept, train):
    copied(papers, ["dance", "music", "film"], rename=dict(zip(NAMES, ["dance", "music", "film"], strict=True)))
    path = os.path.join(kept[0], "best.pt")
    assert train("new", "--eval", kept[0])[::2] == (
        2,
        f"graphzero: new: expected nodes of classes that {path} was trained on in split train, found only others, such "
        "as 'dance'; name the classes as in the data that it was trained on, or train anew\n",
    )


def test_number_of_classes_is_bounded_where_they_are_matched_by_name(papers, kept, train):
    copied(papers, NAMES, num_classes=2**40)
    path = os.path.join(kept[0], "best.pt")
    assert train("new", "--eval", kept[0])[::2] == (
        2,
        f"graphzero: new: expected at most 1048576 classes to match with those of {path}, found {2**40}\n",
    )


def test_another_number_of_classes_without_names_is_refused(kept, train):
    with gz.DatasetWriter("new") as writer:
        writer.add_nodes({"x": np.ones((8, 4), np.float32), "y": np.arange(8) % 2}, label="y", num_classes=2)
        writer.add_edges([0, 1], [1, 2])
        writer.add_split("train", np.arange(8))
    path = os.path.join(kept[0], "best.pt")
    assert train("new", "--eval", kept[0])[::2] == (
        2,
        f"graphzero: new: expected 3 classes, as {path} was trained on, found 2, and only names could say which is "
        "which; give both data sets class names, and train anew\n",
    )


def test_names_of_classes_are_those_of_the_checkpoint_or_of_the_data_if_it_has_none(papers, kept, train):
    document = torch.load(os.path.join(kept[0], "best.pt"), weights_only=True)
    assert document.pop("class_names") == NAMES
    torch.save(document, "old.pt")  # as before 0.3
    assert json.loads(train(papers, "--eval", "old.pt", "--json")[1])["class_names"] == NAMES
    with gz.DatasetWriter("new") as writer:
        writer.add_nodes({"x": np.ones((8, 4), np.float32), "y": np.arange(8) % 3}, label="y")
        writer.add_edges([0, 1], [1, 2])
        writer.add_split("train", np.arange(8))
    assert json.loads(train("new", "--eval", "old.pt", "--json")[1])["class_names"] is None
    assert train("new", "--eval", kept[0], "--predict", "p.csv")[0] == 0
    with open("p.csv", newline="") as file:
        assert {row["class"] for row in csv.DictReader(file)} <= set(NAMES)

"""``graphzero train``: its log, and the tasks links and embeddings."""

import csv
import json
import os
import re
import signal
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import graphzero as gz
from data_sets import pyg

torch = pytest.importorskip("torch")
pyg()

from graphzero.cli.command import run  # noqa: E402  (after the warnings of PyG's import)
from graphzero.train import checkpoints  # noqa: E402

SMALL = ("--hidden", "8", "--fanouts", "4,4", "--batch-size", "64", "--memory", "128MB")
LINKS = ("--task", "links", *SMALL, "--rank-negatives", 5)
WALKS = ("--task", "embeddings", "--hidden", 4, "--walks", 1, "--walk-length", 5, "--context-size", 3, "--epochs", 2)
COLUMNS = [
    *("epoch", "loss", "train_accuracy", "valid_accuracy", "test_accuracy", "seconds", "batches", "batches_per_second"),
    *("peak_memory", "peak_held", "bytes_read", "hit_rate"),
]


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks") / "blocks"
    gz.synthesize(folder, 200, 1000, features=4, classes=3, homophily=0.9).close()
    return str(folder)


@pytest.fixture(scope="module")
def mag(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks") / "mag"
    gz.synthesize(folder, 200, 1000, features=4, classes=3, hetero=True).close()
    return str(folder)


@pytest.fixture
def train(capsys):
    def of(*arguments):
        code = run(["train", *map(str, arguments)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return of


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_log_has_a_row_per_epoch(blocks, train):
    told = json.loads(train(blocks, *SMALL, "--epochs", 2, "--log", "log.csv", "--json")[1])
    rows = rows_of("log.csv")
    assert [list(row) for row in rows] == [COLUMNS] * 2
    for row, done in zip(rows, told["history"], strict=True):
        for name, value in done.items():
            assert float(row[name]) == value
        assert row["test_accuracy"] == ""
        assert float(row["batches_per_second"]) == pytest.approx(done["batches"] / done["seconds"])
        assert 0 < int(row["peak_held"]) <= 128_000_000 < int(row["peak_memory"]) <= told["memory"]["peak_rss"]
        assert int(row["bytes_read"]) >= 0
        assert float(row["hit_rate"]) == 1


def test_test_may_be_measured_after_each_epoch_without_changing_the_weights(blocks, train):
    plain = json.loads(train(blocks, *SMALL, "--epochs", 2, "--checkpoints", "a", "--json")[1])
    words = ("--epochs", 2, "--checkpoints", "b", "--log", "log.csv", "--test-each-epoch", "--json")
    told = json.loads(train(blocks, *SMALL, *words)[1])
    assert told["test_accuracy"] == plain["test_accuracy"]
    rows = rows_of("log.csv")
    assert float(rows[told["best_epoch"] - 1]["test_accuracy"]) == told["test_accuracy"]
    one, other = (checkpoints.load(f"{folder}/last.pt").state["model"] for folder in "ab")
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_resumed_log_goes_on(blocks, train):
    words = (blocks, "--checkpoints", "run", "--log", "log.csv")
    assert train(*words, *SMALL, "--epochs", 2)[0] == 0
    before = rows_of("log.csv")
    assert train(*words, "--resume", "--epochs", 3)[0] == 0
    after = rows_of("log.csv")
    assert after[:2] == before
    assert [row["epoch"] for row in after] == ["1", "2", "3"]
    os.remove("log.csv")  # or it was not asked for before
    assert train(*words, "--resume", "--epochs", 4)[0] == 0
    again = rows_of("log.csv")
    assert [(row["epoch"], row["loss"]) for row in again[:3]] == [(row["epoch"], row["loss"]) for row in after]
    assert (again[0]["hit_rate"], len(again)) == ("", 4)


def test_log_of_another_training_is_not_written_over(blocks, train):
    with open("log.csv", "w") as file:
        file.write("mine")
    code, out, err = train(blocks, *SMALL, "--log", "log.csv")
    assert (code, out) == (2, "")
    assert err == "graphzero: log.csv: is there already; add --resume to go on with it, or give another name\n"
    code, _, err = train(blocks, *SMALL, "--log", "log.txt")
    assert (code, err) == (
        2,
        "graphzero: --log: expected a name that ends in .csv, .jsonl or .json, found 'log.txt'\n",
    )


def test_command_to_go_on_with_names_the_log(blocks, train, monkeypatch):
    from graphzero.train.run import Run

    steps = Run.steps

    def interrupting(self):
        for event in steps(self):
            os.kill(os.getpid(), signal.SIGINT)
            yield event

    monkeypatch.setattr(Run, "steps", interrupting)
    code, _, err = train(blocks, *SMALL, "--checkpoints", "run", "--log", "my log.csv")
    assert code == 130
    assert f"go on with: graphzero train {blocks} --checkpoints run --resume --log 'my log.csv'\n" in err


def test_trackers_get_every_epoch_and_are_closed(blocks, train, monkeypatch):
    told = []

    class SummaryWriter:
        def __init__(self, folder, purge_step):
            told.append(("board", folder, purge_step))

        def add_scalar(self, name, value, step):
            if name == "loss":
                told.append((name, step))

        def flush(self):
            pass

        def close(self):
            told.append("closed")

    def init(project, config):
        told.append((project, config["hidden"], config["path"]))
        return SimpleNamespace(
            log=lambda row, step: told.append((sorted(row)[0], step)), finish=lambda: told.append("sent")
        )

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=SummaryWriter))
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    words = (blocks, "--checkpoints", "run", "--tensorboard", "board", "--wandb", "papers")
    assert train(*words, *SMALL, "--epochs", 1)[0] == 0
    assert told == [
        *(("board", "board", 1), ("papers", 8, blocks), ("loss", 1), ("batches", 1), "sent", "closed"),
    ]
    told.clear()
    assert train(*words, "--resume", "--epochs", 2)[0] == 0
    assert (told[0], told[2]) == (("board", "board", 2), ("loss", 2))


def test_tracker_that_is_not_installed_is_told_before_anything_is_trained(blocks, train, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    code, out, err = train(blocks, *SMALL, "--wandb", "papers")
    assert (code, out) == (2, "")
    assert err.startswith(
        "graphzero: --wandb: needs Weights & Biases, which cannot be imported: pip install 'graphzero[wandb]' ("
    )


def test_links_are_measured_by_auc_and_ranks(blocks, train):
    code, out, err = train(blocks, *LINKS, "--epochs", 2, "--checkpoints", "run", "--log", "log.csv")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    for number, line in enumerate(lines[:2], start=1):
        pattern = rf"epoch {number}/2: loss \d\.\d{{4}}, train \d+\.\d%, valid AUC \d\.\d{{4}}, MRR \d\.\d{{4}}, \d+\.\d s, .*"
        assert re.fullmatch(pattern, line), line
    names = ["best epoch", *(f"{split} {name}" for split in ("valid", "test") for name in ("AUC", "MRR", "hits@10"))]
    assert [line.split("  ")[1] for line in lines[3:10]] == names
    row = rows_of("log.csv")[1]
    found = json.loads(train(blocks, "--eval", "run/last.pt", "--json")[1])
    for name in ("accuracy", "auc", "mrr", "hits"):
        assert float(row[f"valid_{name}"]) == found[f"valid_{name}"]
        assert 0 <= found[f"test_{name}"] <= 1
    assert "train_auc" not in found
    assert train(blocks, "--eval", "run")[1].splitlines()[3].startswith("  valid AUC ")


def test_links_go_on_to_the_same_weights(blocks, train):
    assert train(blocks, *LINKS, "--epochs", 2, "--checkpoints", "whole")[0] == 0
    assert train(blocks, *LINKS, "--epochs", 1, "--checkpoints", "parts")[0] == 0
    told = json.loads(train(blocks, "--epochs", 2, "--checkpoints", "parts", "--resume", "--json")[1])
    one, other = (checkpoints.load(f"{folder}/last.pt").state for folder in ("whole", "parts"))
    assert all(torch.equal(one["model"][name], other["model"][name]) for name in one["model"])
    assert told["best_epoch"] == one["best"]["epoch"] + 1
    assert told["valid_auc"] == one["best"]["valid_auc"]


def test_links_of_several_types(mag, train):
    words = ("--epochs", 1, "--edge-type", "author,writes,paper", "--checkpoints", "run", "--json")
    told = json.loads(train(mag, *LINKS, *words)[1])
    assert told["task"]["target"] == "author,writes,paper"
    code, _, err = train(mag, "--checkpoints", "run", "--resume", "--edge-type", "paper,cites,paper")
    assert (code, err) == (
        2,
        "graphzero: --edge-type: expected author,writes,paper, as in run/last.pt, found paper,cites,paper; leave it as "
        "it was, or train anew with another folder of checkpoints\n",
    )


def test_embeddings_are_written_and_logged(blocks, train):
    code, out, err = train(blocks, *WALKS, "--embeddings-out", "e.gd", "--log", "log.jsonl")
    assert (code, err) == (0, "")
    assert re.fullmatch(r"epoch 2/2: loss \d+\.\d{4}, \d+\.\d s, \d+\.\d batches/s", out.splitlines()[1])
    assert "  embeddings  200 × 4 in e.gd\n" in out
    store = gz.FeatureStore("e.gd")
    assert (store.shape, store.dtype) == ((200, 4), "float32")
    with open("log.jsonl") as file:
        rows = [json.loads(line) for line in file]
    names = ["epoch", "loss", "seconds", "batches", "batches_per_second", "peak_memory"]
    assert [list(row) for row in rows] == [names] * 2
    told = json.loads(train(blocks, *WALKS, "--embeddings-out", "again.gd", "--json")[1])
    assert [done["loss"] for done in told["history"]] == [row["loss"] for row in rows]
    assert (told["shape"], told["embeddings"], told["settings"]["task"]) == ([200, 4], "again.gd", "embeddings")
    assert (gz.FeatureStore("again.gd").get_tensor() == store.get_tensor()).all()


def test_embeddings_of_neighbours_are_alike(train):
    groups = np.arange(60) // 20
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes(num_nodes=60)
        src, dst = np.nonzero((groups[:, None] == groups) & ~np.eye(60, dtype=bool))
        writer.add_edges(src, dst)
    words = (
        "--task",
        "embeddings",
        "--hidden",
        8,
        "--epochs",
        5,
        "--walks",
        5,
        "--learning-rate",
        0.05,
        "--batch-size",
        16,
    )
    assert train("ds", *words, "--embeddings-out", "e.gd")[0] == 0
    rows = gz.FeatureStore("e.gd").get_tensor()
    like = rows @ rows.T
    same = groups[:, None] == groups
    assert like[same].mean() > like[~same].mean() + 1


@pytest.mark.parametrize(
    ("data", "arguments", "message"),
    [
        ("blocks", ["--task", "graphs"], "--task: expected 'nodes', 'links' or 'embeddings', found 'graphs'"),
        ("blocks", [*WALKS], "--embeddings-out: expected a name that ends in .gd for the embeddings, found none"),
        ("blocks", [*WALKS, "--embeddings-out", "e.npy"],
         "--embeddings-out: expected a name that ends in .gd for the embeddings, found 'e.npy'"),
        ("blocks", [*WALKS, "--embeddings-out", "there.gd"], "there.gd: exists; remove it, or choose another name"),
        ("blocks", [*WALKS, "--embeddings-out", "none/e.gd"], "{here}/none: no such folder; make it first"),
        ("blocks", [*WALKS, "--model", "gat"],
         "--model: expected none with --task embeddings, which has no use for it, found gat"),
        ("blocks", [*WALKS, "--checkpoints", "run"], "--checkpoints: expected none with --task embeddings, found run"),
        ("blocks", [*WALKS, "--context-size", "6", "--embeddings-out", "e.gd"],
         "--context-size: expected at most 5, the length of a walk, found 6"),
        ("blocks", [*WALKS, "--q", "0", "--embeddings-out", "e.gd"], "--q: expected a number above 0, at most 1e6, found 0"),
        ("blocks", [*WALKS, "--walks", "0"], "--walks: expected at least 1, found 0"),
        ("blocks", ["--walks", "3"], "--walks: expected none without --task embeddings, found 3"),
        ("blocks", ["--embeddings-out", "e.gd"], "--embeddings-out: expected none without --task embeddings, found e.gd"),
        ("mag", [*WALKS, "--embeddings-out", "e.gd"], "--edge-type: expected one of paper,cites,paper; author,writes,paper; "
         "paper,rev_writes,author; author,affiliated,institution; institution,rev_affiliated,author, found none; say "
         "which edges to walk along"),
        ("mag", [*WALKS, "--embeddings-out", "e.gd", "--edge-type", "author,writes,paper"],
         "--edge-type: expected edges between nodes of one type to walk along, found author → writes → paper"),
        ("mag", [*WALKS, "--embeddings-out", "e.gd", "--edge-type", "a,b"], "--edge-type: expected one of paper,cites,paper; "
         "author,writes,paper; paper,rev_writes,author; author,affiliated,institution; institution,rev_affiliated,author, "
         "found 'a,b'"),
        ("blocks", ["--held-out", "0.5"],
         "--held-out: expected none with --task nodes, which predicts no edges, found 0.5"),
        ("blocks", ["--edge-type", "node,to,node"],
         "--edge-type: expected none without --task links or embeddings, found node,to,node"),
        ("blocks", [*LINKS, "--target", "node"], "--target: expected none with links, which --edge-type names, found node"),
        ("blocks", [*LINKS, "--predict", "p.csv"], "--predict: expected none with links: it is about the classes of nodes"),
        ("blocks", [*LINKS, "--report"], "--report: expected none with links: it is about the classes of nodes"),
    ],
)  # fmt: skip
def test_wrong_command_is_one_line(data, arguments, message, train, request):
    with open("there.gd", "w"):
        pass
    code, out, err = train(request.getfixturevalue(data), *arguments)
    assert (code, out, err) == (2, "", f"graphzero: {message.format(here=os.getcwd())}\n")


def test_graph_that_cannot_be_walked_is_told(train):
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes(num_nodes=3)
        writer.add_edges([0, 1], [1, 2], index="in")
    with gz.DatasetWriter("none") as writer:
        writer.add_nodes(num_nodes=3)
    code, _, err = train("ds", *WALKS, "--embeddings-out", "e.gd")
    assert code == 2
    assert err.endswith(": has no 'out' index, which walks follow; write the graph with index='both'\n")
    code, _, err = train("none", *WALKS, "--embeddings-out", "e.gd")
    assert (code, err) == (2, "graphzero: none: has no edges, only nodes; there is nothing to walk along\n")


def test_live_view_shows_what_is_predicted(blocks, train, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    code, _, err = train(blocks, *LINKS, "--epochs", 1)
    assert code == 0
    assert "8 wide, edges node,to,node, on cpu" in err
    assert "AUC 0." in err


def test_checkpoint_of_before_there_were_tasks_is_resumed_and_measured(blocks, train):
    assert train(blocks, *SMALL, "--epochs", 1, "--checkpoints", "run")[0] == 0
    for name in ("last.pt", "best.pt"):
        document = torch.load(f"run/{name}", weights_only=True)
        for added in ("task", "held_out", "negatives", "rank_negatives"):
            del document["settings"][added]
        torch.save(document, f"run/{name}")
    assert train(blocks, "--eval", "run")[0] == 0
    assert train(blocks, "--resume", "--checkpoints", "run", "--epochs", 2)[0] == 0

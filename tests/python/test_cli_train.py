"""``graphzero train``: what it prints, what it keeps, and how it goes on."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import graphzero as gz
import terminals
from data_sets import pyg

torch = pytest.importorskip("torch")
pyg()

from graphzero.cli.command import run  # noqa: E402  (after the warnings of PyG's import)
from graphzero.train import checkpoints  # noqa: E402

SMALL = ("--hidden", "8", "--fanouts", "4,4", "--batch-size", "64", "--memory", "128MB")
WAVERING = ("--epochs", "4", "--learning-rate", "1", "--seed", "1")  # the last epoch is not the best
COMMAND = [sys.executable, "-W", "ignore", "-m", "graphzero", "train"]


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train") / "blocks"
    gz.synthesize(folder, 600, 6000, features=8, classes=4, homophily=0.8).close()
    return str(folder)


@pytest.fixture
def train(capsys):
    """Runs the verb in this process and returns exit code, what it printed, and what it said of errors."""

    def of(*arguments):
        code = run(["train", *map(str, arguments)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return of


def weights(folder):
    return checkpoints.load(os.path.join(folder, "last.pt")).state["model"]


def same_weights(one, other):
    assert weights(one).keys() == weights(other).keys()
    return all(torch.equal(weights(one)[name], weights(other)[name]) for name in weights(one))


def test_pipe_gets_a_line_per_epoch_and_a_summary(blocks, train):
    code, out, err = train(blocks, *SMALL, "--epochs", 3)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    for number, line in enumerate(lines[:3], start=1):
        pattern = rf"epoch {number}/3: loss \d\.\d{{4}}, train \d+\.\d%, valid \d+\.\d%, \d+\.\d s, \d+\.\d batches/s"
        assert re.fullmatch(pattern, line), line
    assert lines[3] == blocks
    assert [line.split("  ")[1] for line in lines[4:]] == [
        *("best epoch", "valid accuracy", "test accuracy", "time", "loaders", "memory", "hit rate", "from device"),
    ]
    assert re.fullmatch(r"  best epoch      \d of 3", lines[4])


def test_json_is_all_there_is(blocks, train):
    code, out, err = train(blocks, *SMALL, "--epochs", 2, "--seed", 5, "--checkpoints", "kept", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert list(told) == [
        *("path", "settings", "task", "history", "best_epoch", "valid_accuracy", "test_accuracy", "seconds", "memory"),
        *("hit_rate", "device_bytes", "checkpoint"),
    ]
    assert told["path"] == blocks
    assert told["settings"]["fanouts"] == [4, 4]
    assert (told["settings"]["seed"], told["settings"]["memory"], told["settings"]["model"]) == (5, "128MB", "sage")
    assert told["task"] == {
        "target": "node",
        "num_classes": 4,
        "features": {"node": "x"},
        "splits": {"train": 360, "valid": 120, "test": 120},
    }
    assert [list(one) for one in told["history"]] == [
        ["epoch", "loss", "train_accuracy", "valid_accuracy", "batches", "seconds"]
    ] * 2
    assert [one["epoch"] for one in told["history"]] == [1, 2]
    valid = [one["valid_accuracy"] for one in told["history"]]
    assert (told["best_epoch"], told["valid_accuracy"]) == (valid.index(max(valid)) + 1, max(valid))
    assert 0 < told["test_accuracy"] <= 1
    assert told["seconds"] > sum(one["seconds"] for one in told["history"]) > 0
    memory = told["memory"]
    assert memory["budget"] == 128_000_000
    assert 0 < memory["peak_held"] <= memory["budget"]
    assert 0 < memory["peak_anonymous"] <= memory["peak_rss"]
    assert memory["data"] == gz.open(blocks).nbytes
    assert told["hit_rate"] == 1
    assert told["checkpoint"] == os.path.join("kept", "last.pt")


def test_test_accuracy_is_that_of_the_best_weights(blocks, train):
    told = json.loads(train(blocks, *SMALL, *WAVERING, "--checkpoints", "kept", "--json")[1])
    assert told["best_epoch"] < 4
    from graphzero.train.run import Run
    from graphzero.train.task import find_task

    best = checkpoints.load("kept/best.pt")
    again = Run(find_task(gz.open(blocks)), best.settings)

    def accuracy(model):
        again.model.load_state_dict(model)
        *_, last = again.evaluate("test")
        return last.accuracy

    assert best.state["epoch"] == told["best_epoch"] - 1
    assert accuracy(best.state["model"]) == told["test_accuracy"] != accuracy(weights("kept"))
    again.close()


def test_what_is_not_there_is_not_measured(train):
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes({"x": np.ones((4, 2), dtype=np.float32), "y": [0, 1, 0, 1]}, label="y")
        writer.add_edges([0, 1], [1, 2])
        writer.add_split("train", [0, 1])
    code, out, _ = train("ds", *SMALL, "--epochs", 2)
    assert code == 0
    assert "valid accuracy  not measured\n  test accuracy   not measured\n" in out
    assert "best epoch      2 of 2\n" in out
    assert "valid" not in out.splitlines()[0]
    told = json.loads(train("ds", *SMALL, "--epochs", 2, "--json")[1])
    assert (told["best_epoch"], told["valid_accuracy"], told["test_accuracy"]) == (2, None, None)


@pytest.mark.parametrize("model", ["gcn", "gat"])
def test_other_models(model, blocks, train):
    told = json.loads(train(blocks, *SMALL, "--model", model, "--heads", 2, "--epochs", 1, "--json")[1])
    assert told["settings"]["model"] == model


def test_several_types(train):
    gz.synthesize("mag", 600, 3000, features=8, classes=4, hetero=True).close()
    told = json.loads(train("mag", *SMALL, "--epochs", 1, "--target", "paper", "--checkpoints", "kept", "--json")[1])
    assert told["task"]["target"] == "paper"
    assert "author" in told["task"]["features"]
    code, _, err = train("mag", "--checkpoints", "kept", "--resume", "--target", "author")
    assert (code, err) == (
        2,
        "graphzero: --target: expected paper, as in kept/last.pt, found author; leave it as it was, or train anew with "
        "another folder of checkpoints\n",
    )


def test_resuming_trains_the_same_weights_as_never_stopping(blocks, train):
    assert train(blocks, *SMALL, "--epochs", 3, "--checkpoints", "whole")[0] == 0
    assert train(blocks, *SMALL, "--epochs", 1, "--checkpoints", "parts")[0] == 0
    assert not same_weights("whole", "parts")
    code, out, _ = train(blocks, "--epochs", 3, "--checkpoints", "parts", "--resume")
    assert code == 0
    assert [line.split(":")[0] for line in out.splitlines()[:2]] == ["epoch 2/3", "epoch 3/3"]
    assert same_weights("whole", "parts")


def test_resuming_a_training_that_is_over_measures_again(blocks, train):
    first = json.loads(train(blocks, *SMALL, "--epochs", 2, "--checkpoints", "kept", "--json")[1])
    again = json.loads(train(blocks, "--checkpoints", "kept", "--resume", "--json")[1])
    for field in ("settings", "history", "best_epoch", "valid_accuracy", "test_accuracy"):
        assert again[field] == first[field]


def test_checkpoints_are_written_every_so_often(blocks, train, monkeypatch):
    saves, save = [], checkpoints.Checkpoints.save

    def counted(self, run):
        saves.append(run._sums.batches)
        save(self, run)

    monkeypatch.setattr(checkpoints.Checkpoints, "save", counted)
    assert train(blocks, *SMALL, "--epochs", 2, "--checkpoints", "seldom", "--every", 3600)[0] == 0
    assert saves == [0, 0]  # after each epoch
    saves.clear()
    assert train(blocks, *SMALL, "--epochs", 1, "--checkpoints", "often", "--every", 0)[0] == 0
    train_batches, valid_batches = 6, 8
    assert saves == [*range(1, train_batches + 1), *[train_batches] * valid_batches, 0]


def interrupted(*arguments, after):
    """Start the verb, press Ctrl-C when ``after`` says so, and return its exit code and what it said."""
    started = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        after(started)
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=100)
    finally:
        started.kill()
        started.wait()
    return started.returncode, out, err


def first_line(started):
    assert started.stdout.readline().startswith("epoch 1/")


def test_ctrl_c_writes_a_checkpoint_that_goes_on_to_the_same_weights(blocks, train):
    arguments = (blocks, *SMALL, "--batch-size", "4", "--epochs", "500", "--checkpoints", "kept", "--every", "3600")
    code, _, err = interrupted(*arguments, after=first_line)
    assert code == 130
    assert "Traceback" not in err
    assert err.splitlines() == [
        f"graphzero: checkpoint written; go on with: graphzero train {blocks} --checkpoints kept --resume",
        "graphzero: interrupted",
    ]
    stopped = checkpoints.load("kept/last.pt")
    done = len(stopped.state["history"])
    assert done >= 1
    told = json.loads(train(blocks, "--checkpoints", "kept", "--resume", "--epochs", done + 1, "--json")[1])
    assert len(told["history"]) == done + 1
    whole = (*arguments[:-6], "--epochs", done + 1, "--checkpoints", "whole")
    assert train(*whole)[0] == 0
    assert same_weights("kept", "whole")


def test_ctrl_c_without_checkpoints_just_ends(blocks, train, monkeypatch):
    from graphzero.train.run import Run

    steps = Run.steps

    def interrupting(self):
        for number, step in enumerate(steps(self)):
            if number == 3:
                os.kill(os.getpid(), signal.SIGINT)
            yield step

    monkeypatch.setattr(Run, "steps", interrupting)
    code, _, err = train(blocks, *SMALL, "--epochs", "5000")
    assert (code, err) == (130, "graphzero: interrupted\n")


def test_second_ctrl_c_does_not_wait_for_the_batch(blocks, train, monkeypatch):
    """A batch may be long in coming; the first Ctrl-C waits for it, the second does not."""
    from graphzero.train.run import Run

    def steps(self):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("still here")
        yield

    monkeypatch.setattr(Run, "steps", steps)
    code, _, err = train(blocks, *SMALL, "--checkpoints", "kept")
    assert (code, err) == (130, "graphzero: interrupted\n")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_the_split_test_is_measured_keeps_the_last_weights(blocks, train, monkeypatch):
    from graphzero.train.run import Run

    evaluate = Run.evaluate

    def interrupting(self, split):
        if split == "test":
            os.kill(os.getpid(), signal.SIGINT)
        return evaluate(self, split)

    assert train(blocks, *SMALL, *WAVERING, "--checkpoints", "whole")[0] == 0
    monkeypatch.setattr(Run, "evaluate", interrupting)
    assert train(blocks, *SMALL, *WAVERING, "--checkpoints", "kept", "--every", 0)[0] == 130
    assert same_weights("kept", "whole")
    assert checkpoints.load("kept/best.pt").state["epoch"] < 3


def test_disk_that_is_full_is_one_line_and_the_old_checkpoint_stays(blocks, train, monkeypatch):
    assert train(blocks, *SMALL, "--epochs", 1, "--checkpoints", "kept")[0] == 0
    before = weights("kept")

    replace = os.replace

    def fail(there, path):
        if path.endswith("last.pt"):
            raise OSError(28, "No space left on device")
        replace(there, path)

    monkeypatch.setattr("graphzero._files.folder.os.replace", fail)
    code, _, err = train(blocks, "--epochs", 2, "--checkpoints", "kept", "--resume")
    assert (code, err) == (2, "graphzero: kept/last.pt: No space left on device\n")
    after = weights("kept")
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_kill_while_a_checkpoint_is_written_leaves_one_that_goes_on(blocks, train):
    """The process dies with half a file written, as by kill -9."""
    assert train(blocks, *SMALL, "--epochs", 1, "--checkpoints", "kept")[0] == 0
    script = (
        "import os, sys\n"
        "from graphzero.cli.command import run\n"
        "from graphzero.train import checkpoints\n"
        "def die(number):\n"
        "    os.ftruncate(number, 1000)\n"
        "    os.kill(os.getpid(), 9)\n"
        "os.fsync = die\n"
        "run(sys.argv[1:])\n"
    )
    words = ["train", blocks, "--epochs", "2", "--checkpoints", "kept", "--resume"]
    killed = subprocess.run([sys.executable, "-W", "ignore", "-c", script, *words], check=False)
    assert killed.returncode == -signal.SIGKILL
    (half,) = (name for name in os.listdir("kept") if name.startswith(".best.pt."))
    assert os.path.getsize(f"kept/{half}") == 1000
    assert train(*words[1:])[0] == 0
    assert sorted(os.listdir("kept")) == ["best.pt", "last.pt"]
    assert train(blocks, *SMALL, "--epochs", 2, "--checkpoints", "whole")[0] == 0
    assert same_weights("kept", "whole")


def test_terminal_gets_a_live_view_and_the_summary(blocks):
    options = [*SMALL, "--epochs", "3", "--batch-size", "4"]
    shown = terminals.shown("train", blocks, *options, columns=110, PYTHONWARNINGS="ignore")
    assert f"{blocks}: sage, fanouts 4,4, 8 wide, 4 classes, on cpu" in shown
    for word in (
        *("loading torch", "/3 ", "whole run", "120/120", "loss ", "train accuracy", "test accuracy"),
        *("anonymous in this process", "held of 128.0 MB", "of data files", "of rows needed no read"),
        *("device", "batches/s", "of the time waited for data", "━"),
    ):
        assert word in shown, word
    last = shown[shown.rindex("whole run") :]
    assert "750/750" in last  # three epochs of 90 and 120 batches, and 120 of the split test
    assert re.search(
        r"\n *epoch +loss +train +valid +time *\r?\n( +\d +\d\.\d{4} ( +\d+\.\d%){2} +\d+\.\d s *\r?\n){3}", last
    )
    assert re.search(r"best epoch +\d of 3", last)
    assert "epoch 1/3: loss" not in shown


def test_live_view_leaves_standard_output_alone(blocks, train, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    code, out, err = train(blocks, *SMALL, "--epochs", 1, "--json")
    assert code == 0
    assert "whole run" in err
    assert json.loads(out)["path"] == blocks
    code, out, err = train(blocks, *SMALL, "--epochs", 1)
    assert code == 0
    assert "whole run" in err
    assert out.startswith("epoch 1/1: loss ")  # a log file gets lines
    assert "epoch 1/1: loss " not in err


def test_live_view_says_that_it_is_stopping(blocks, train, monkeypatch):
    from graphzero.train.run import Run

    steps = Run.steps

    def interrupting(self):
        for event in steps(self):
            os.kill(os.getpid(), signal.SIGINT)
            yield event

    monkeypatch.setattr(Run, "steps", interrupting)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    code, _, err = train(blocks, *SMALL, "--checkpoints", "kept")
    assert code == 130
    assert "stopping after this batch; Ctrl-C again stops at once" in err
    assert checkpoints.load("kept/last.pt").state["sums"]["batches"] == 1


def test_without_torch_or_pyg_the_command_to_install_them_is_told(blocks):
    for missing in ("torch", "torch_geometric"):
        script = (
            f"import sys; sys.modules[{missing!r}] = None\n"
            f"from graphzero.cli.command import run; sys.exit(run(['train', {blocks!r}]))"
        )
        shown = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (shown.returncode, shown.stdout, shown.stderr) == (
            2,
            "",
            f"graphzero: train needs PyTorch and PyG, and {missing} is not installed; pip install torch torch-geometric\n",
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'FOLDER'; graphzero train --help tells more"),
        (["missing"], "missing/graphzero.json: "),
        (["blocks", "--model", "mlp"], "--model: expected one of sage, gcn, gat, found 'mlp'"),
        (["blocks", "--fanouts", "15,x"], "--fanouts: expected a number per hop such as 15,10, found '15,x'"),
        (["blocks", "--fanouts", "0"], "--fanouts: expected -1 for all neighbours, or 1 or more, found 0"),
        (["blocks", "--hidden", "wide"], "Invalid value for '--hidden': "),
        (["blocks", "--epochs", "0"], "--epochs: expected 1 or more, found 0"),
        (["blocks", "--dropout", "1"], "--dropout: expected a share from 0 to below 1, found 1"),
        (["blocks", "--memory", "much"], "--memory: expected a size such as '2GB' or '512MiB', found 'much'"),
        (["blocks", "--memory", "1MB"], "--memory: expected at least "),
        (["blocks", "--reader", "psychic"], "--reader: expected one of "),
        (["blocks", "--threads", "0"], "--threads: expected at least 1, found 0"),
        (["blocks", "--device", "toaster"], "--device: expected one that torch knows, such as 'cuda', found 'toaster'"),
        (["blocks", "--seed", str(2**64)], f"--seed: expected an integer of 64 bits, found {2**64}"),
        (["blocks", "--target", "paper"], "--target: expected one of node, found 'paper'"),
        (["blocks", "--every", "-1"], "Invalid value for '--every': "),
        (["blocks", "--resume"], "--resume: expected --checkpoints DIR with it, the folder that holds the checkpoint"),
        (
            ["blocks", "--resume", "--checkpoints", "none"],
            "none/last.pt: is not there; leave out --resume to begin",
        ),
        (
            ["blocks", "--checkpoints", "kept"],
            "kept/last.pt: is there already; add --resume to go on from it, or give another folder",
        ),
        (
            ["blocks", "--checkpoints", "kept", "--resume", "--hidden", "9"],
            "--hidden: expected 8, as in kept/last.pt, found 9; leave it as it was, or train anew with another folder of "
            "checkpoints",
        ),
        (
            ["other", "--checkpoints", "kept", "--resume"],
            "kept/last.pt: belongs to ",
        ),
    ],
)
def test_wrong_command_is_one_line_and_exit_code_2(arguments, message, blocks, train):
    os.symlink(blocks, "blocks")
    if "kept" in arguments:
        assert train("blocks", *SMALL, "--epochs", 1, "--checkpoints", "kept")[0] == 0
    if "other" in arguments:
        gz.synthesize("other", 100, 500, features=8, classes=4).close()
    code, out, err = train(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"graphzero: {message}")
    assert err.count("\n") == 1


def test_damaged_checkpoint_is_exit_code_1(blocks, train):
    os.mkdir("kept")
    with open("kept/last.pt", "wb") as file:
        file.write(b"not much")
    code, _, err = train(blocks, "--checkpoints", "kept", "--resume")
    assert code == 1
    assert err.startswith("graphzero: kept/last.pt: is no checkpoint, or a damaged one: ")
    assert err.count("\n") == 1


def test_help_names_every_option_without_torch():
    script = (
        "import sys; from graphzero.cli.command import run; code = run(['train', '--help']);"
        "print(sorted({'torch', 'torch_geometric', 'rich'} & set(sys.modules)), code)"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "[] 0"
    for option in (
        *("model", "fanouts", "hidden", "heads", "dropout", "epochs", "batch-size", "learning-rate", "weight-decay"),
        *("target", "memory", "reader", "threads", "device", "seed", "checkpoints", "every", "resume", "json"),
        *(
            "task",
            "edge-type",
            "held-out",
            "negatives",
            "rank-negatives",
            "walk-length",
            "context-size",
            "walks",
            "p",
            "q",
        ),
        *(
            "embeddings-out",
            "config",
            "save-config",
            "log",
            "tensorboard",
            "wandb",
            "test-each-epoch",
            "report",
            "eval",
        ),
        *("predict", "predict-split", "scores", "inference"),
    ):
        assert f"--{option} " in shown.stdout

"""The row of each epoch: in a file that a resumed run goes on with, in TensorBoard, in Weights & Biases."""

import csv
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import graphzero as gz

torch = pytest.importorskip("torch")

from graphzero.train.epoch_log import EpochLog  # noqa: E402
from graphzero.train.trackers import TensorBoard, Wandb  # noqa: E402

COLUMNS = ["epoch", "loss", "valid_accuracy", "seconds"]


def row(epoch, **more):
    return {"epoch": epoch, "loss": 1 / epoch, "valid_accuracy": None, "seconds": 0.25, "batches": 7, **more}


def rows_of(path):
    with open(path) as file:
        if path.endswith(".csv"):
            return [
                {name: float(value) if value else None for name, value in one.items()} for one in csv.DictReader(file)
            ]
        return json.load(file) if path.endswith(".json") else [json.loads(line) for line in file]


def expected(*epochs):
    return [{name: row(epoch)[name] for name in COLUMNS} for epoch in epochs]


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".json"])
def test_every_row_is_there_as_soon_as_it_is_written(ending):
    path = f"runs/log{ending}"  # the folder is made
    log = EpochLog(path, COLUMNS)
    assert rows_of(path) == []
    for epoch in (1, 2):
        log.write(row(epoch))
        assert rows_of(path) == expected(*range(1, epoch + 1))
    log.close()
    log.close()


def test_csv_is_what_it_is():
    EpochLog("log.csv", COLUMNS).write(row(1))
    assert Path("log.csv").read_text() == "epoch,loss,valid_accuracy,seconds\n1,1.0,,0.25\n"


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".json"])
def test_resumed_log_has_every_epoch_once(ending):
    path = f"log{ending}"
    log = EpochLog(path, COLUMNS)
    for epoch in (1, 2, 3):
        log.write(row(epoch, seconds=9.0))
    # The checkpoint is of epoch 2; what is known of it from there is less than the log has.
    resumed = EpochLog(path, COLUMNS, [row(1), row(2)])
    assert [one["epoch"] for one in rows_of(path)] == [1, 2]
    assert [one["seconds"] for one in rows_of(path)] == [9.0, 9.0]
    resumed.write(row(3))
    assert [(one["epoch"], one["seconds"]) for one in rows_of(path)] == [(1, 9.0), (2, 9.0), (3, 0.25)]


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".json"])
def test_resumed_log_that_lacks_epochs_gets_them(ending):
    EpochLog(f"log{ending}", COLUMNS, [row(1), row(2)]).write(row(3))
    assert rows_of(f"log{ending}") == expected(1, 2, 3)


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_half_a_line_of_a_killed_process_does_no_harm(ending):
    path = f"log{ending}"
    log = EpochLog(path, COLUMNS)
    log.write(row(1))
    log.write(row(2))
    with open(path, "r+") as file:
        file.truncate(len(file.read()) - 5)
    EpochLog(path, COLUMNS, [row(1), row(2)])
    assert rows_of(path) == expected(1, 2)


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("log.csv", "epoch,loss\n1,2\n", "log.csv: expected the columns epoch,loss,valid_accuracy,seconds, found epoch,loss; "
         "give the log of this training, or another name"),
        ("log.jsonl", "nothing\n", "log.jsonl: expected a log of graphzero train, found: Expecting value: line 1 column 1 (char 0)"),
        ("log.json", "{}1", "log.json: expected a log of graphzero train, found: Extra data: line 1 column 3 (char 2)"),
        ("log.jsonl", '{"loss": 1}\n', "log.jsonl: expected a log of graphzero train, found: 'epoch'"),
    ],
)  # fmt: skip
def test_what_is_no_log_is_refused_and_left_alone(path, text, message):
    with open(path, "w") as file:
        file.write(text)
    with pytest.raises(gz.FormatError) as error:
        EpochLog(path, COLUMNS, [row(1)])
    assert str(error.value) == message
    assert Path(path).read_text() == text


def test_ending_says_what_a_log_is():
    with pytest.raises(ValueError) as error:
        EpochLog("log.txt", COLUMNS)
    assert str(error.value) == "log: expected a name that ends in .csv, .jsonl or .json, found 'log.txt'"


def test_tensorboard_gets_a_scalar_for_each_number(monkeypatch):
    told = []

    class SummaryWriter:
        def __init__(self, folder, purge_step):
            told.append((folder, purge_step))

        def add_scalar(self, *scalar):
            told.append(scalar)

        def flush(self):
            told.append("flush")

        def close(self):
            told.append("close")

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=SummaryWriter))
    board = TensorBoard("board", next_epoch=3)
    board.write({"epoch": 3, "loss": 0.5, "valid_accuracy": None, "batches": 2})
    board.close()
    assert told == [("board", 3), ("loss", 0.5, 3), ("batches", 2, 3), "flush", "close"]


def test_tensorboard_itself_reads_what_is_written():
    pytest.importorskip("tensorboard")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    board = TensorBoard("board")
    board.write({"epoch": 1, "loss": 0.5})
    board.close()
    found = accumulator.EventAccumulator("board").Reload()
    assert [(event.step, event.value) for event in found.Scalars("loss")] == [(1, 0.5)]


WANDB = """
told = []
class Run:
    def log(self, numbers, step): told.append((step, numbers))
    def finish(self): told.append("finish")
def init(project, config):
    told.append((project, config))
    return Run()
"""


@pytest.fixture
def wandb(tmp_path, monkeypatch):
    """A stand-in that remembers what it is told."""
    (tmp_path / "wandb.py").write_text(WANDB)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    import wandb

    yield wandb
    sys.modules.pop("wandb", None)


def test_wandb_gets_settings_and_epochs(wandb):
    sender = Wandb("papers", {"hidden": 8})
    sender.write({"epoch": 2, "loss": 0.5, "valid_accuracy": None})
    sender.close()
    assert wandb.told == [("papers", {"hidden": 8}), (2, {"loss": 0.5}), "finish"]


@pytest.mark.parametrize(
    ("make", "module", "message"),
    [
        (
            lambda: TensorBoard("board"),
            "torch.utils.tensorboard",
            "tensorboard: needs TensorBoard, which cannot be imported: pip install 'graphzero[tensorboard]' (",
        ),
        (
            lambda: Wandb("papers", {}),
            "wandb",
            "wandb: needs Weights & Biases, which cannot be imported: pip install 'graphzero[wandb]' (",
        ),
    ],
)
def test_what_is_not_installed_is_told_with_the_command(make, module, message, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError) as error:
        make()
    assert str(error.value).startswith(message)

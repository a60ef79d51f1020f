"""Names, labels, paths and lines of strangers are printed, and command no terminal."""

import json
import os
import re
import subprocess

import numpy as np
import pytest
import torch

import graphzero as gz
from data_sets import pyg
from graphzero._base.visible import visible, visible_lines
from graphzero.cli.command import run
from terminals import COMMAND

pyg()  # what train imports, without the warnings of it

# Clear the screen, do so in 8 bits, set a title, turn text around, forge a line, ring the bell, delete.
EVIL = "n\x1b[2J\x9b2J\x1b]0;x\x07\u202egnp\u2066\u200f\nforged\r\x7f"
COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_what_commands_is_spelled_out_and_all_else_stays():
    assert visible(EVIL) == r"n\x1b[2J\x9b2J\x1b]0;x\x07\u202egnp\u2066\u200f\nforged\r\x7f"
    assert visible("Ærøskøbing 東京 🦊 é a\u0301 x → y, 👩‍👩‍👧") == "Ærøskøbing 東京 🦊 é a\u0301 x → y, 👩‍👩‍👧"
    assert visible_lines("a\x1b\nb\u202e") == "a\\x1b\nb\\u202e"


def write_evil(path):
    with gz.DatasetWriter(path) as writer:
        labels = [f"{EVIL}{i}" for i in range(8)]
        writer.add_nodes({EVIL: np.eye(8), "y": np.arange(8) % 2}, type=EVIL, ids=labels, label="y", num_classes=2)
        writer.add_edges(np.arange(8), (np.arange(8) + 1) % 8, type=(EVIL, EVIL, EVIL))
        writer.add_split("train", np.arange(8), of=EVIL)
        writer.set_metadata(name=EVIL)


def lines_of(printed):
    assert not COMMANDS.search(printed), printed
    lines = printed.splitlines()
    assert not any(line.startswith("forged") for line in lines), printed
    return lines


@pytest.mark.parametrize("verb", ["info", "verify", "sample", "train"])
def test_a_data_set_with_names_that_command_prints_as_text(verb, capsys):
    os.mkdir("in")
    write_evil("in/data")
    options = {"sample": ["0", "--fanouts", "2"], "train": ["--epochs", "1", "--device", "cpu"]}.get(verb, [])
    assert run([verb, "in/data", *options]) == 0
    out, err = capsys.readouterr()
    assert lines_of(out) or lines_of(err)
    lines_of(err)


@pytest.mark.parametrize("verb", ["info", "sample", "verify"])
def test_json_spells_them_out_and_means_the_same(verb, capsys):
    write_evil(EVIL.replace("/", ""))
    run([verb, EVIL, *(["0", "--fanouts", "2"] if verb == "sample" else []), "--json"])
    out, _ = capsys.readouterr()
    lines_of(out)
    assert json.loads(out)["path"] == EVIL


def test_errors_are_one_line_that_commands_nothing(capsys):
    with open("bad.csv", "w", encoding="utf-8") as file:
        file.write(f"0,1\n1,{EVIL.splitlines()[0]}\n")
    for words in (
        ["info", EVIL],
        ["convert", "bad.csv", "out.gl", "--ids", "dense"],
        ["convert", "bad.csv", "out.gl", "--src", EVIL],
        ["--debug", "info", EVIL],
        [EVIL],
        ["info", f"--{EVIL}"],
    ):
        assert run(words) != 0
        out, err = capsys.readouterr()
        assert out == ""
        assert lines_of(err)[-1].startswith("graphzero: ")


def test_reports_of_conversions_command_nothing(capsys):
    with open("some.csv", "w", encoding="utf-8") as file:
        file.write("a,b,c\x1b[2J\n0,1,2\nx\x1b[2J\u202e,1,2\n")
    for target, *more in (["out.gl"], ["out.gd", "--dtype", "float32"]):
        assert run(["convert", "some.csv", target, "--skip-bad-lines", "--header", *more]) == 0
        lines_of(capsys.readouterr()[0])
    torch.save({"edge_index": torch.tensor([[0], [1]]), "num_nodes": 2, EVIL: {1, 2}}, "data.pt")
    with pytest.warns(UserWarning, match="not converted"):
        report = gz.convert_dataset("data.pt", "out")
    lines_of(str(report))


def test_warnings_at_the_shell_command_nothing():
    torch.save({"edge_index": torch.tensor([[0], [1]]), "num_nodes": 2, "a\x1b[2J": {1, 2}}, "data.pt")
    os.makedirs("in/processed")
    os.rename("data.pt", "in/processed/data.pt")
    done = subprocess.run([*COMMAND, "convert", "in", "out"], capture_output=True, text=True, check=True)
    assert r"a\x1b[2J" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_a_nul_does_not_cut_a_message(tmp_path):
    (tmp_path / "e.csv").write_bytes(b"0,1\n1,b\0d\n")
    with pytest.raises(ValueError, match=r"e.csv: line 2: expected a node id, found 'b\\x00d'"):
        gz.convert_edges("e.csv", "g.gl", ids="dense")
    gz.write_ids("n.gi", ["a", "b\0c"])
    with pytest.raises(KeyError, match=r"b\\+x00d"):
        gz.IdDictionary("n.gi").index("b\0d")

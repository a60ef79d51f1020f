"""Bars on a terminal for whatever may take long, and silence everywhere else."""

import re

import numpy as np
import pytest

import graphzero as gz
import sparse
from graphzero.cli.command import run
from terminals import shown


@pytest.fixture
def sources(tmp_path):
    """A source for each kind of work that has a bar."""
    rng = np.random.default_rng(1)
    np.savetxt("e.csv", rng.integers(0, 1000, (20_000, 2)), fmt="%d", delimiter=",")
    np.savetxt("labels.csv", [[f"a{i % 7}", f"b{i % 5}"] for i in range(100)], fmt="%s", delimiter=",")
    np.save("x.npy", rng.random((1000, 8), dtype=np.float32))
    gz.write_graph("large.gl", [0, 1], [1, 2], num_nodes=(1 << 20) + 1)
    sparse.write_sparse_gd("large.gd", shape=(1 << 20, 1 << 7), dtype="float32")
    gz.write_graph("g.gl", rng.integers(0, 1000, 500), rng.integers(0, 1000, 500), num_nodes=1000)
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes({"x": np.zeros((3, 2), np.float32)})
        writer.add_edges([0, 1], [1, 2])


COMMANDS = [
    (["convert", "e.csv", "o.gl", "--no-header"], ["reading", "sorting and writing"]),
    (["convert", "labels.csv", "o.gl", "--no-header"], ["collecting labels", "reading"]),
    (["convert", "x.npy", "o.gd"], [r"o\.gd"]),
    (["convert", "x.npy", "o.gd", "--hot-order", "g.gl"], ["counting how often each row is met", "ordering rows"]),
    (["synth", "o", "--preset", "tiny"], ["reading", "sorting and writing", "features of node"]),
    (["synth", "o", "--preset", "tiny", "--kind", "ba", "--order", "hot"], ["ordering rows"]),
    (["verify", "large.gl"], [r"large\.gl, \d+\.\d MB"]),
    (["verify", "ds"], ["edges/node__to__node/graph.gl"]),
    (["info", "large.gl", "--degrees"], ["out-degrees", "in-degrees"]),
    (["info", "large.gl", "--exact"], ["out-degrees", "in-degrees"]),
    (["info", "large.gd", "--exact"], [r"large\.gd"]),
]


@pytest.mark.parametrize(("command", "titles"), COMMANDS)
def test_a_terminal_gets_a_bar_for_each_step(command, titles, sources):
    text = shown(*command)
    for title in titles:
        # The last state of a bar stays: a title, the bar, how much it was, and a time.
        assert re.search(rf"{title}.* ━+ .*\d:\d\d", text), text


@pytest.mark.parametrize(("command", "titles"), COMMANDS)
def test_whoever_does_not_look_gets_no_bar(command, titles, sources, capsys):
    assert run(command) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "━" not in printed.out


def test_a_name_is_no_markup(sources):
    gz.write_graph("[red]g.gl", [0], [1])
    assert "[red]g.gl, 20.5 kB" in shown("verify", "[red]g.gl")


def test_what_is_quick_has_no_bar(sources):
    assert "━" not in shown("info", "g.gl", "--degrees")
    assert "━" not in shown("sample", "g.gl", "0")

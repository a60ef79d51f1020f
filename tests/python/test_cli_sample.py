"""``graphzero sample``: what it prints of a neighbourhood or a walk, and what it says of a wrong command."""

import json
import os

import numpy as np
import pytest

import graphzero as gz
from graphzero.cli.command import run
from terminals import shown


@pytest.fixture
def lines_of(capsys):
    """Runs the verb and returns the lines it printed."""

    def of(*arguments):
        assert run(["sample", *arguments]) == 0, capsys.readouterr().err
        return capsys.readouterr().out.splitlines()

    return of


@pytest.fixture
def json_of(lines_of):
    """Runs the verb with --json and returns what it printed."""
    return lambda *arguments: json.loads("\n".join(lines_of(*arguments, "--json")))


@pytest.fixture
def mag():
    with gz.DatasetWriter("mag") as writer:
        writer.add_nodes({"y": [7, 8, 9]}, type="paper", label="y", num_classes=10)
        writer.add_nodes(type="author", num_nodes=2, ids=["Anna", "Béla"])
        writer.add_edges([0, 1, 1], [0, 0, 2], type=("author", "writes", "paper"))
        writer.add_edges([0, 1], [1, 2], type=("paper", "cites", "paper"))
    return "mag"


def test_neighbourhood_is_told_hop_by_hop(tiny_gl, lines_of):
    assert lines_of(tiny_gl, "2", "--seed", "0") == [
        f"{tiny_gl}, seed 0",
        "  hop 1: 2 edges, 2 new nodes",
        "    2 ← 0, 1",
        "  hop 2: 2 edges, 1 new node",
        "    0 ← 3",
        "    1 ← 0",
        "  4 nodes, 4 edges",
    ]


def test_neighbourhood_follows_edges_forwards_if_asked(tiny_gl, lines_of):
    assert lines_of(tiny_gl, "3", "1", "--direction", "out", "--fanouts", "-1")[1:] == [
        "  hop 1: 2 edges, 2 new nodes",
        "    3 → 0",
        "    1 → 2",
        "  4 nodes, 2 edges",
    ]


def test_node_without_edges_draws_nothing(tiny_gl, lines_of):
    assert lines_of(tiny_gl, "3", "--fanouts", "2")[1:] == ["  hop 1: 0 edges, 0 new nodes", "  1 node, 0 edges"]


def test_node_given_twice_has_two_lines(tiny_gl, lines_of):
    assert lines_of(tiny_gl, "1", "1", "--fanouts", "2")[2:4] == ["    1 ← 0", "    1 ← 0"]


def test_json_is_the_sample_of_the_same_seed(json_of):
    rng = np.random.default_rng(0)
    gz.write_graph("g.gl", rng.integers(0, 40, 900), rng.integers(0, 40, 900))
    drawn = json_of("g.gl", "5", "7", "--fanouts", "3,2", "--seed", "11")
    hood = gz.sample_neighbors(gz.Graph("g.gl"), [5, 7], [3, 2], seed=11)
    assert drawn == {
        "path": "g.gl",
        "seed": 11,
        "direction": "in",
        "fanouts": [3, 2],
        "node": hood.node.tolist(),
        "row": hood.row.tolist(),
        "col": hood.col.tolist(),
        "edge": hood.edge.tolist(),
        "num_sampled_nodes": hood.num_sampled_nodes,
        "num_sampled_edges": hood.num_sampled_edges,
    }
    assert json_of("g.gl", "5", "7", "--fanouts", "3,2", "--seed", "12")["edge"] != drawn["edge"]


def test_lines_hold_the_edges_of_the_json(json_of, lines_of):
    rng = np.random.default_rng(0)
    gz.write_graph("g.gl", rng.integers(0, 40, 900), rng.integers(0, 40, 900))
    words = ("g.gl", "5", "7", "--fanouts", "3,2", "--seed", "11")
    told = []
    for line in lines_of(*words):
        near, arrow, far = line.partition(" ← ")
        if arrow:
            told += [(int(source), int(near)) for source in far.split(", ")]
    drawn = json_of(*words)
    node = drawn["node"]
    assert told == [(node[row], node[col]) for row, col in zip(drawn["row"], drawn["col"], strict=True)]


def test_sample_without_a_seed_can_be_repeated(json_of):
    rng = np.random.default_rng(0)
    gz.write_graph("g.gl", rng.integers(0, 40, 900), rng.integers(0, 40, 900))
    first, second = json_of("g.gl", "5"), json_of("g.gl", "5")
    assert first["seed"] != second["seed"]
    assert max(first["seed"], second["seed"]) < 2**32
    assert json_of("g.gl", "5", "--seed", str(first["seed"])) == first


def test_data_set_tells_labels(tiny_dataset, lines_of):
    assert lines_of(tiny_dataset, "2", "--fanouts", "5")[2] == "    2 (y 0) ← 0 (y 0), 1 (y 1)"
    assert lines_of(tiny_dataset, "2", "--fanouts", "5", "--type", "node")[2] == "    2 (y 0) ← 0 (y 0), 1 (y 1)"


@pytest.mark.parametrize(("y", "text"), [([[4], [5]], "0 (y 4) → 1 (y 5)"), ([[4, 4], [5, 5]], "0 → 1")])
def test_label_of_one_value_is_told_and_of_several_is_not(y, text, lines_of):
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes({"y": np.array(y)}, label="y")
        writer.add_edges([0], [1])
    assert lines_of("ds", "0", "--fanouts", "1", "--direction", "out")[2] == f"    {text}"


def test_data_set_of_several_types_names_them(mag, lines_of):
    assert lines_of(mag, "0", "2", "--type", "paper", "--seed", "0")[1:] == [
        "  hop 1: 4 edges, 3 new nodes",
        "    paper 0 (y 7) ← writes ← author 0 ('Anna'), 1 ('Béla')",
        "    paper 2 (y 9) ← writes ← author 1 ('Béla')",
        "    paper 2 (y 9) ← cites ← paper 1 (y 8)",
        "  hop 2: 1 edge, 0 new nodes",
        "    paper 1 (y 8) ← cites ← paper 0 (y 7)",
        "  5 nodes, 5 edges",
    ]


def test_json_of_several_types_is_by_type(mag, json_of):
    drawn = json_of(mag, "0", "--type", "author", "--direction", "out", "--fanouts", "-1,-1")
    assert drawn["node"] == {"paper": [0, 1], "author": [0]}
    assert drawn["row"] == {"author__writes__paper": [0], "paper__cites__paper": [0]}
    assert drawn["col"] == {"author__writes__paper": [0], "paper__cites__paper": [1]}
    assert drawn["num_sampled_nodes"] == {"paper": [0, 1, 1], "author": [1, 0, 0]}
    assert drawn["num_sampled_edges"] == {"author__writes__paper": [1, 0], "paper__cites__paper": [0, 1]}


def test_nodes_can_be_named_by_text_labels(mag, json_of):
    assert json_of(mag, "Béla", "0", "--type", "author", "--direction", "out")["node"]["author"] == [1, 0]


def test_integer_labels_are_told_beside_ids(lines_of):
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes(ids=[100, 200])
        writer.add_edges([0], [1], labels=False)
    assert lines_of("ds", "1", "--fanouts", "1")[2] == "    1 (id 200) ← 0 (id 100)"


def test_a_label_cannot_write_to_the_terminal(lines_of):
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes(ids=["a\x1b[2J\nb", "c"])
        writer.add_edges([0], [1])
    assert lines_of("ds", "1", "--fanouts", "1")[2] == r"    1 ('c') ← 0 ('a\x1b[2J\nb')"


def test_walks_end_where_edges_do(tiny_gl, lines_of):
    walks = gz.random_walk(gz.Graph(tiny_gl), [3, 3, 2, 2], 4, seed=0).tolist()
    assert walks[:2] == [[3, 0, 1, 2, 2], [3, 0, 2, 2, 2]]
    assert lines_of(tiny_gl, "3", "2", "--walk", "4", "--walks", "2", "--seed", "0") == [
        f"{tiny_gl}, seed 0",
        "  3 → 0 → 1 → 2, which has no edges out",
        "  3 → 0 → 2, which has no edges out",
        "  2, which has no edges out",
        "  2, which has no edges out",
        "  4 walks of 4 steps",
    ]


def test_walk_against_the_edges_points_against_them(tiny_dataset, lines_of):
    assert lines_of(tiny_dataset, "1", "--walk", "1", "--direction", "in")[1:] == [
        "  1 (y 1) ← 0 (y 0)",
        "  1 walk of 1 step",
    ]


def test_json_of_walks_is_that_of_the_same_seed(json_of):
    rng = np.random.default_rng(0)
    gz.write_graph("g.gl", rng.integers(0, 40, 900), rng.integers(0, 40, 900))
    words = ("g.gl", "5", "--walk", "9", "--walks", "3", "--p", "0.01", "--q", "4", "--seed", "1")
    walks = gz.random_walk(gz.Graph("g.gl"), [5, 5, 5], 9, p=0.01, q=4, seed=1)
    assert json_of(*words) == {
        "path": "g.gl",
        "seed": 1,
        "direction": "out",
        "p": 0.01,
        "q": 4.0,
        "walks": walks.tolist(),
    }
    assert walks.tolist() != gz.random_walk(gz.Graph("g.gl"), [5, 5, 5], 9, seed=1).tolist()


def test_terminal_gets_what_fits_and_a_count_of_the_rest():
    star = np.arange(1, 101)
    gz.write_graph("star.gl", np.concatenate([star, star - 1]), np.concatenate([star * 0, star]))
    lines = shown("sample", "star.gl", "0", "--fanouts", "-1,-1", "--seed", "0", columns=40, lines=14).splitlines()
    assert lines[0] == "star.gl, seed 0"
    assert lines[1:3] == ["  hop 1: 100 edges, 100 new nodes", "    0 ← 1, 2, 3, 4, 5, 6, 7, … 93 more"]
    assert lines[3:] == [
        "  hop 2: 100 edges, 0 new nodes",
        "    1 ← 0",
        "    2 ← 1",
        "    3 ← 2",
        "    … 97 more lines",
        "  101 nodes, 200 edges",
    ]


def test_terminal_gets_the_walks_that_fit():
    ring = np.arange(100)
    gz.write_graph("ring.gl", ring, (ring + 1) % 100)
    lines = shown("sample", "ring.gl", "0", "--walk", "50", "--walks", "9", columns=30, lines=8).splitlines()
    assert lines[1:] == [
        *["  0 → 1 → 2 → 3 → … 47 more"] * 4,
        "  … 5 more walks",
        "  9 walks of 50 steps",
    ]


def test_pipe_gets_everything(lines_of):
    star = np.arange(1, 201)
    gz.write_graph("star.gl", star, star * 0)
    assert lines_of("star.gl", "0", "--fanouts", "-1")[2] == "    0 ← " + ", ".join(map(str, star))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tiny.gl"], "Missing argument 'NODE'; graphzero sample --help tells more"),
        (["missing.gl", "0"], "missing.gl: cannot open: No such file or directory"),
        ([".", "0"], ".: has no graphzero.json: it is not a data set, or its conversion did not finish"),
        (["edgeless", "0"], "edgeless: has no edges to follow, only nodes"),
        (["x.gd", "0"], "x.gd: expected a .gl file or a data set folder, found features"),
        (["ids.gi", "0"], "ids.gi: expected a .gl file or a data set folder, found ids"),
        (
            ["bipartite.gl", "0"],
            "bipartite.gl: joins two types of node; give the data set folder it belongs to, and --type",
        ),
        (["out.gl", "0"], "out.gl: has no 'in' index; add --direction out, or write the graph with both"),
        (["tiny.gl", "4"], "NODE: expected an id below 4, the number of nodes, found '4'"),
        (["tiny.gl", "0", "Anna"], "NODE: expected an id below 4, the number of nodes, found 'Anna'"),
        (["tiny.gl", "--", "-1"], "NODE: expected an id below 4, the number of nodes, found '-1'"),
        (
            ["mag", "Cleo", "--type", "author"],
            "NODE: expected a label of mag/nodes/author/ids.gi or an id below 2, found 'Cleo'",
        ),
        (["mag", "2", "--type", "author"], "NODE: expected an id below 2, the number of nodes, found '2'"),
        (["mag", "0"], "mag: has several node types; add --type with one of paper, author"),
        (["mag", "0", "--type", "venue"], "--type: expected one of paper, author, found 'venue'"),
        (
            ["tiny.gl", "0", "--type", "node"],
            "--type is about data set folders, and tiny.gl is a graph; leave it out",
        ),
        (["tiny.gl", "0", "--fanouts", "2,x"], "--fanouts: expected a number per hop such as 15,10, found '2,x'"),
        (["tiny.gl", "0", "--fanouts", ""], "--fanouts: expected a number per hop such as 15,10, found ''"),
        (["tiny.gl", "0", "--fanouts", "-2"], "--fanouts: expected -1 for all neighbours, or a number, found -2"),
        (["tiny.gl", "0", "--direction", "up"], "--direction: expected 'out' or 'in', found 'up'"),
        (["tiny.gl", "0", "--seed", str(2**64)], f"--seed: expected an integer of 64 bits, found {2**64}"),
        (
            ["tiny.gl", "0", "--walk", "2", "--fanouts", "2"],
            "--fanouts is about neighbourhoods; leave it out, or leave out --walk",
        ),
        (["tiny.gl", "0", "--walks", "2"], "--walks is about walks; add --walk LENGTH, or leave it out"),
        (["tiny.gl", "0", "--p", "2"], "--p is about walks; add --walk LENGTH, or leave it out"),
        (["tiny.gl", "0", "--q", "2"], "--q is about walks; add --walk LENGTH, or leave it out"),
        (["tiny.gl", "0", "--walk", "0"], "Invalid value for '--walk': "),
        (["tiny.gl", "0", "--walk", "2", "--walks", "0"], "Invalid value for '--walks': "),
        (["tiny.gl", "0", "--walk", "2", "--p", "0"], "--p: expected a number from 1e-200 to 1e200, found 0"),
        (
            ["tiny.gl", "0", "1", "--walk", "3000", "--walks", "2000"],
            "--walk: expected at most 10,000,000 steps in all, found 12,000,000; walk less, or use "
            "graphzero.random_walk in Python",
        ),
        (
            ["mag", "0", "--type", "paper", "--walk", "2"],
            "mag: --walk follows edges of one type between nodes of one type; give the .gl file of such a type "
            "instead of the folder: mag/edges/paper__cites__paper/graph.gl",
        ),
        (
            ["shop", "0", "--type", "user", "--walk", "2"],
            "shop: --walk follows edges of one type between nodes of one type; give the .gl file of such a type "
            "instead of the folder: there is none",
        ),
    ],
)
def test_wrong_command_is_one_line_and_exit_code_2(arguments, message, mag, tiny_gl, capsys):
    gz.write_graph("out.gl", [0], [1], index="out")
    gz.write_graph("bipartite.gl", [0, 1, 2], [1, 0, 1], num_nodes=(3, 2))
    gz.write_features("x.gd", [[0.5]])
    gz.write_ids("ids.gi", ["a"])
    with gz.DatasetWriter("edgeless") as writer:
        writer.add_nodes(num_nodes=1)
    with gz.DatasetWriter("shop") as writer:
        writer.add_nodes(type="user", num_nodes=1)
        writer.add_nodes(type="item", num_nodes=1)
        writer.add_edges([0], [0], type=("user", "buys", "item"))
    assert run(["sample", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"graphzero: {message}")
    assert printed.err.count("\n") == 1


def test_damaged_graph_is_exit_code_1(tiny_gl, capsys):
    os.truncate(tiny_gl, 5000)
    assert run(["sample", tiny_gl, "0"]) == 1
    assert f"{tiny_gl}: bad file size" in capsys.readouterr().err


def test_help_names_every_option(capsys):
    assert run(["sample", "--help"]) == 0
    printed = capsys.readouterr().out
    for option in ("--fanouts", "--walk ", "--walks", "--p ", "--q ", "--direction", "--seed", "--type", "--json"):
        assert option in printed


def test_terminal_shares_its_lines_among_edge_types(mag):
    lines = shown("sample", mag, "0", "2", "--type", "paper", "--fanouts", "-1,-1", columns=34, lines=1).splitlines()
    assert lines[2:5] == [
        "    paper 0 (y 7) ← writes ← author 0 ('Anna'), … 1 more",  # no narrower: one neighbour is always told
        "    paper 2 (y 9) ← writes ← author 1 ('Béla')",
        "    paper 2 (y 9) ← cites ← paper 1 (y 8)",
    ]
    lines = shown("sample", mag, "0", "1", "2", "--type", "paper", "--fanouts", "-1", columns=80, lines=1).splitlines()
    assert lines[4:6] == ["    paper 1 (y 8) ← cites ← paper 0 (y 7)", "    … 1 more line"]

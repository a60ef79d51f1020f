"""``graphzero info``: what a data set holds: labels, missing values, ranges, splits, homophily, isolated nodes."""

import json
import re

import numpy as np
import pytest

import graphzero as gz
import oracle
from graphzero._look import labels as label_reading
from graphzero._look.labels import homophily_facts
from graphzero._look.limits import COMMAND, EXACT, Limits
from graphzero._look.values import missing_facts, range_facts
from graphzero.cli.command import run
from terminals import shown

# Reads little, so that a file of a few rows is a large one.
SMALL = Limits(nodes=512, items=64, edges=50, drawn_edges=40)


@pytest.fixture
def look(capsys):
    """Return the JSON and the plain lines that ``info`` prints."""

    def at(*arguments):
        assert run(["info", *arguments, "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert run(["info", *arguments]) == 0
        return facts, capsys.readouterr().out

    return at


def random_graph(num_nodes=300, num_edges=4000, seed=3):
    rng = np.random.default_rng(seed)
    return rng.integers(0, num_nodes, num_edges), rng.integers(0, num_nodes, num_edges)


def write(path, src, dst, labels, **edges):
    with gz.DatasetWriter(path) as writer:
        writer.add_nodes({"y": np.asarray(labels)}, label="y")
        writer.add_edges(src, dst, **edges)
    return path


def test_classes_have_names_counts_and_shares(look):
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes({"y": [0, 2, 2, -1]}, label="y", num_classes=3, categories={"y": ["cat", "dog", "eel"]})
        writer.add_edges([0], [1])
    facts, printed = look("ds")
    assert facts["nodes"][0]["labels"] == {
        "num_rows": 4,
        "sampled": False,
        "num_unlabelled": 1,
        "classes": [
            {"class": 0, "name": "cat", "num_nodes": 1},
            {"class": 1, "name": "dog", "num_nodes": 0},
            {"class": 2, "name": "eel", "num_nodes": 2},
        ],
    }
    lines = [line.split() for line in printed.splitlines()]
    at = lines.index(["labels", "3", "classes,", "25.0%", "of", "nodes", "have", "none"])
    assert lines[at + 1 : at + 4] == [["0", "cat", "1", "25.0%"], ["1", "dog", "0", "0.0%"], ["2", "eel", "2", "50.0%"]]


def test_of_many_classes_the_largest_are_shown(look):
    labels = np.repeat(np.arange(20), np.arange(1, 21))
    facts, printed = look(write("ds", [0], [1], labels))
    assert len(facts["nodes"][0]["labels"]["classes"]) == 20
    assert "the 12 largest of 20 classes" in printed
    lines = [line.split() for line in printed.splitlines()]
    assert ["19", "20", "9.5%"] in lines
    assert ["7", "8", "3.8%"] not in lines


@pytest.mark.parametrize("labels", [np.ones((4, 2), np.int64), np.ones(4, np.float32)], ids=["rows", "floats"])
def test_what_is_not_one_class_per_node_has_no_bars(labels, look):
    facts, printed = look(write("ds", [0], [1], labels))
    assert facts["nodes"][0]["labels"] is None
    assert facts["edges"][0]["homophily"] is None
    assert "homophily" not in printed


def test_too_many_numbers_are_not_classes(look, monkeypatch):
    monkeypatch.setattr(label_reading, "_MOST_CLASSES", 3)
    assert look(write("few", [0], [1], [0, 1, 2, 2]))[0]["nodes"][0]["labels"] is not None
    assert look(write("many", [0], [1], [0, 1, 2, 3]))[0]["nodes"][0]["labels"] is None


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("index", ["both", "in", "out"])
def test_homophily_of_all_edges_agrees_with_the_oracle(index, directed, look):
    src, dst = random_graph()
    labels = np.random.default_rng(1).integers(-1, 4, 300)
    facts, printed = look(write("ds", src, dst, labels, index=index, directed=directed))
    found = facts["edges"][0]["homophily"]
    expected = oracle.edge_homophily(src, dst, labels)
    assert found["value"] == pytest.approx(expected)
    assert (found["sampled"], found["seed"], found["num_read"]) == (False, None, 4000 if directed else 8000)
    assert f"{expected:.3f}, of all {found['num_edges']:,} edges with labels" in printed


def test_homophily_of_rows_in_another_order(look):
    src, dst = random_graph()
    labels = np.random.default_rng(1).integers(0, 4, 300)
    gz.write_graph("g.gl", src, dst, num_nodes=300)
    gz.write_features("y.gd", labels, order="hot", graph=gz.Graph("g.gl"))
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes({"y": "y.gd"}, num_nodes=300, label="y")
        writer.add_edges(graph="g.gl")
    facts, _ = look("ds")
    assert facts["nodes"][0]["attributes"]["y"]["reordered"]
    assert facts["edges"][0]["homophily"]["value"] == pytest.approx(oracle.edge_homophily(src, dst, labels))


def test_homophily_of_a_large_graph_is_drawn_with_a_seed():
    src, dst = random_graph(num_edges=20_000)
    labels = np.random.default_rng(1).integers(0, 2, 300)
    data = gz.open(write("ds", src, dst, labels))
    found = homophily_facts(data.graph, data.labels(), Limits(None, None, edges=19_999, drawn_edges=5_000))
    assert (found["sampled"], found["seed"], found["num_read"]) == (True, 0, 5_000)
    assert found["standard_error"] == pytest.approx(0.5 / 5_000**0.5, rel=0.01)  # of a coin that is thrown as often
    assert found["value"] == pytest.approx(oracle.edge_homophily(src, dst, labels), abs=0.03)
    assert found == homophily_facts(data.graph, data.labels(), Limits(None, None, edges=19_999, drawn_edges=5_000))


def test_homophily_without_labels_at_both_ends_is_unknown(look):
    facts, printed = look(write("ds", [0, 1], [1, 0], [-1, 3]))
    assert facts["edges"][0]["homophily"]["value"] is None
    assert "homophily       unknown, no edge read has a label at both ends" in printed


def test_a_damaged_id_is_named_when_labels_are_compared(capsys):
    write("ds", [0, 1, 1], [1, 0, 1], [0, 1], index="out")
    path = "ds/edges/node__to__node/graph.gl"
    with gz.Graph(path) as graph:
        ids = graph.indices.tobytes()
    with open(path, "r+b") as file:
        content = file.read()
        file.seek(content.index(ids, 4096))
        file.write((99).to_bytes(4, "little"))
    assert run(["info", "ds"]) == 1
    assert f"{path}: corrupt id at place 0: expected 0 to 1, found 99" in capsys.readouterr().err


def test_a_damaged_row_map_is_named_when_labels_are_compared():
    gz.write_graph("g.gl", [0, 1, 1], [1, 0, 1])
    gz.write_features("y.gd", np.array([7, 8]), order=[1, 0])
    places = gz.FeatureStore("y.gd").row_map.tobytes()
    with open("y.gd", "r+b") as file:
        content = file.read()
        file.seek(content.rindex(places))
        file.write((50).to_bytes(4, "little"))
    with pytest.raises(gz.FormatError, match=r"^y\.gd: corrupt id at place 0: expected 0 to 1, found 50$"):
        homophily_facts(gz.Graph("g.gl"), gz.FeatureStore("y.gd"), EXACT)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_missing_values_are_counted(dtype, look):
    rows = np.zeros((10, 3))
    rows[2, 1] = rows[7, 0] = rows[7, 2] = np.nan
    rows[3, 0] = np.inf  # there, and a number
    gz.write_features("x.gd", rows, dtype=dtype)
    facts, printed = look("x.gd")
    assert facts["missing"] == {"num_missing": 3, "num_items": 30, "num_rows": 10, "sampled": False}
    assert "missing        3 NaN, 10.0%\n" in printed


def test_whole_numbers_have_no_missing_values(look):
    gz.write_features("y.gd", np.arange(5))
    facts, printed = look("y.gd")
    assert facts["missing"] is None
    assert "NaN" not in printed


def test_missing_values_of_a_large_file_come_from_a_sample():
    rows = np.zeros((1000, 4), np.float32)
    rows[::2] = np.nan
    gz.write_features("x.gd", rows)
    store = gz.FeatureStore("x.gd")
    found = missing_facts(store, SMALL.items)
    assert (found["sampled"], found["num_rows"], found["num_missing"]) == (True, 16, 32)
    assert missing_facts(store, None) == {
        "num_missing": 2000, "num_items": 4000, "num_rows": 1000, "sampled": False
    }  # fmt: skip


def test_a_sample_is_told_and_exact_reads_all(look, monkeypatch):
    src, dst = random_graph()
    rng = np.random.default_rng(0)
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes({"x": rng.random((300, 4)), "y": rng.integers(0, 2, 300)}, label="y")
        writer.add_edges(src, dst, weight=rng.random(4000), time=np.arange(4000))
    exact, _ = look("ds", "--exact")
    same, _ = look("ds")
    assert [exact[name] for name in ("nodes", "edges")] == [same[name] for name in ("nodes", "edges")]
    monkeypatch.setattr("graphzero._look.limits.COMMAND", SMALL)
    facts, printed = look("ds")
    assert "no NaN in 16 rows from spread places" in printed
    assert "2 classes, from 64 nodes at spread places" in printed
    assert "in 64 edges from spread places" in printed
    assert re.search(r"homophily +0\.\d\d ± 0\.\d\d, of 40 edges with labels, drawn with seed 0\n", printed)
    assert facts["edges"][0]["graph"]["time_range"]["sampled"]
    again, _ = look("ds", "--exact")
    assert [again[name] for name in ("nodes", "edges")] == [exact[name] for name in ("nodes", "edges")]


def test_the_usual_limits_bound_the_work_and_exact_has_none():
    assert None not in (COMMAND.nodes, COMMAND.items, COMMAND.edges)
    assert (EXACT.nodes, EXACT.items, EXACT.edges) == (None, None, None)


def test_weights_and_times_have_a_range(look):
    gz.write_graph("g.gl", [0, 1, 2], [1, 2, 0], weight=[0.25, 3, 1], time=[70, 5, 9000])
    facts, printed = look("g.gl")
    assert facts["weight_range"] == {"min": 0.25, "max": 3.0, "num_edges": 3, "sampled": False}
    assert facts["time_range"] == {"min": 5, "max": 9000, "num_edges": 3, "sampled": False}
    assert "  weights        0.25 to 3\n  times          5 to 9,000\n" in printed


def test_a_graph_without_edges_has_no_range():
    gz.write_graph("g.gl", [], [], weight=[], num_nodes=2)
    assert range_facts(gz.Graph("g.gl"), "weights", None) is None


@pytest.mark.parametrize(
    ("unit", "times", "told"),
    [
        ("s", [0, 86_400], "1970-01-01 to 1970-01-02"),
        ("s", [0, 86_401], "1970-01-01 00:00:00 to 1970-01-02 00:00:01"),
        ("ms", [-1000, 1_700_000_000_000], "1969-12-31 23:59:59 to 2023-11-14 22:13:20"),
        ("us", [0, 10**6], "1970-01-01 00:00:00 to 1970-01-01 00:00:01"),
        ("ns", [0, 10**9], "1970-01-01 00:00:00 to 1970-01-01 00:00:01"),
        (None, [0, 86_400], "0 to 86,400"),
    ],
)
def test_times_are_dates_where_their_unit_is_known(unit, times, told, look):
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes(num_nodes=2)
        writer.add_edges([0, 1], [1, 0], time=times, time_unit=unit)
    facts, printed = look("ds")
    assert f"    times           {told}\n" in printed
    assert facts["edges"][0]["time_unit"] == unit
    assert (facts["edges"][0]["dates"] is None) == (unit is None)


def test_ids_come_with_examples(look):
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes(ids=["b" * 100, "a", "d", "c"])
        writer.add_edges([0], [1])
    facts, printed = look("ds")
    assert facts["nodes"][0]["ids"]["examples"] == ["a", "b" * 100, "c"]
    assert f"ids             string labels: a, {'b' * 31}…, c, …\n" in printed
    assert "ids             0 to 1\n" in look(write("numbered", [0], [1], [0, 0]))[1]
    gz.write_ids("few.gi", [30, 10])
    facts, printed = look("few.gi")
    assert facts["examples"] == [10, 30]
    assert "first labels   10, 30\n" in printed


def test_isolated_nodes_have_no_edge_of_any_type(look):
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes(type="user", num_nodes=4)
        writer.add_nodes(type="item", num_nodes=3)
        writer.add_edges([0], [1], type=("user", "buys", "item"))
        writer.add_edges([2], [0], type=("item", "shown_to", "user"))
        writer.add_edges([1], [0], type=("user", "knows", "user"))
    facts, printed = look("ds")
    user, item = (node["isolated"] for node in facts["nodes"])
    assert user == {"num_nodes": 2, "of": 4, "sampled": False}
    assert item == {"num_nodes": 1, "of": 3, "sampled": False}
    assert "2 nodes have no edge, 50.0%" in printed


def test_isolated_nodes_are_unknown_where_an_index_is_missing(look):
    facts, printed = look(write("ds", [0], [1], [0, 0, 0], index="in"))
    assert facts["nodes"][0]["isolated"] is None
    assert "isolated" not in printed


def test_splits_of_edges_have_a_share_too(look):
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes(num_nodes=3)
        writer.add_edges([0, 1, 2], [1, 2, 0], directed=False)
        writer.add_split("train", [0, 2], of=("node", "to", "node"))
    facts, printed = look("ds")
    assert facts["splits"][0]["share"] == pytest.approx(2 / 3)
    assert "2 ids of node → to → node, 66.7%" in printed


def test_few_and_almost_all_do_not_look_like_none_and_all(look):
    labels = np.zeros(10_000, np.int64)
    labels[0] = 1
    _, printed = look(write("ds", [0], [1], labels))
    assert "9,999 >99.9%" in printed
    assert "    1  <0.1%" in printed


@pytest.mark.parametrize("hetero", [[], ["--hetero"]])
def test_lines_fit_in_a_hundred_columns(hetero, capsys):
    assert run(["synth", "drawn", "--preset", "tiny", "--temporal", *hetero]) == 0
    capsys.readouterr()
    assert run(["info", "drawn"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 100


def test_a_terminal_draws_degrees_of_each_edge_type_in_a_line(capsys):
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes(num_nodes=8)
        writer.add_edges([0, 0, 0, 0, 1, 1, 2], [1, 2, 3, 4, 2, 3, 3], type=("node", "a", "node"))
        writer.add_edges([0], [1], type=("node", "b", "node"))
    lines = [line.split() for line in shown("info", "ds").splitlines()]
    assert ["out-degree", "0", "to", "4,", "mean", "0.88", "█▂▂▂"] in lines
    assert run(["info", "ds"]) == 0
    assert "█" not in capsys.readouterr().out


def test_a_long_name_has_a_line_of_its_own(capsys):
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes(type="institution", num_nodes=2)
        writer.add_edges([0], [1], type=("institution", "collaborates_with", "institution"))
    assert run(["info", "ds"]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("  institution → collaborates_with → institution")
    assert lines[at + 1].split() == ["1", "edges,", "directed"]

"""``graphzero info``: how degrees are distributed, and how much of each file is in the page cache."""

import json
import os
import re

import numpy as np
import pytest

import graphzero as gz
import oracle
from graphzero._look.degrees import degree_facts
from graphzero.cli.command import run
from systems import NO_DROPPING, posix_only
from terminals import shown


@pytest.fixture
def facts_of(capsys):
    def of(*arguments):
        assert run(["info", *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return of


def parts(facts):
    return [(part["min"], part["max"], part["num_nodes"]) for part in facts["distribution"]]


def write_with_out_degrees(path, degrees):
    src = np.repeat(np.arange(len(degrees)), degrees)
    gz.write_graph(path, src, np.zeros_like(src), num_nodes=len(degrees))


# Rises slowly over the nodes, so that a sample from one place would not look like the whole.
SLOPE = [node // 40 for node in range(5000)]


def test_every_power_of_two_has_its_own_range(facts_of):
    degrees = [0, 0, 0, 1, 2, 3, 4, 7, 8, 63, 64, 64]
    write_with_out_degrees("g.gl", degrees)
    facts = facts_of("g.gl")["degrees"]
    assert parts(facts["out"]) == [
        *[(0, 0, 3), (1, 1, 1), (2, 3, 2), (4, 7, 2), (8, 15, 1), (16, 31, 0), (32, 63, 1), (64, 127, 2)]
    ]
    assert parts(facts["in"])[0] == (0, 0, 11)
    assert parts(facts["in"])[-1] == (128, 255, 1)  # all 216 edges lead to node 0
    assert sum(part[2] for part in parts(facts["in"])) == 12


@pytest.mark.parametrize("index", ["both", "out", "in"])
def test_distributions_of_a_bipartite_graph_agree_with_the_oracle(index, facts_of):
    rng = np.random.default_rng(7)
    src, dst = rng.integers(0, 300, 2000), (rng.random(2000) ** 3 * 70).astype(int)
    gz.write_graph("g.gl", src, dst, num_nodes=(300, 90), index=index)
    by_direction = {"out": np.bincount(src, minlength=300), "in": np.bincount(dst, minlength=90)}
    facts = facts_of("g.gl")["degrees"]
    assert list(facts) == (["out", "in"] if index == "both" else [index])
    for direction, found in facts.items():
        assert parts(found) == oracle.degree_distribution(by_direction[direction].tolist())


def test_an_undirected_graph_has_one_kind_of_degree(facts_of, capsys):
    gz.write_graph("path.gl", [0, 1], [1, 2], directed=False)
    degrees = facts_of("path.gl")["degrees"]
    assert degrees["out"] == degrees["in"]
    assert parts(degrees["out"]) == [(0, 0, 0), (1, 1, 2), (2, 3, 1)]
    assert run(["info", "path.gl"]) == 0
    printed = capsys.readouterr().out
    assert "  degree         1 to 2, mean 1.33\n" in printed
    assert "in-degree" not in printed


def test_degrees_are_read_in_blocks_that_do_not_grow_with_the_graph(monkeypatch):
    write_with_out_degrees("slope.gl", SLOPE)
    sizes, degree = [], gz.Graph.degree

    def noted(graph, nodes, direction):
        sizes.append(len(nodes))
        return degree(graph, nodes, direction)

    monkeypatch.setattr(gz.Graph, "degree", noted)
    monkeypatch.setattr("graphzero._look.degrees.BLOCK", 2048)
    graph = gz.Graph("slope.gl")
    facts = degree_facts(graph, "out", None)
    assert sizes == [2048, 2048, 904]
    assert (facts["min"], facts["max"], facts["sampled"]) == (0, 124, False)
    assert parts(facts) == oracle.degree_distribution(SLOPE)
    sizes.clear()
    facts = degree_facts(graph, "out", 4700)
    assert sizes == [2048, 2048, 512]
    assert sum(part[2] for part in parts(facts)) == 4608


@pytest.mark.parametrize(("most", "starts"), [(512, [0]), (1100, [0, 2500]), (2048, [0, 1250, 2500, 3750])])
def test_a_sample_comes_from_evenly_spread_places(most, starts):
    write_with_out_degrees("slope.gl", SLOPE)
    facts = degree_facts(gz.Graph("slope.gl"), "out", most)
    taken = [degree for start in starts for degree in SLOPE[start : start + 512]]
    assert parts(facts) == oracle.degree_distribution(taken)
    assert facts["sampled"]
    assert (facts["min"], facts["max"], facts["mean"]) == (None, None, sum(SLOPE) / 5000)


@pytest.mark.parametrize("num_nodes", [4097, 4607, 5000, 99_991])
def test_a_sample_takes_no_node_twice_and_none_beyond_the_last(num_nodes, monkeypatch):
    gz.write_graph("g.gl", [0], [1], num_nodes=num_nodes)
    taken, degree = [], gz.Graph.degree

    def noted(graph, nodes, direction):
        taken.extend(nodes.tolist())
        return degree(graph, nodes, direction)

    monkeypatch.setattr(gz.Graph, "degree", noted)
    degree_facts(gz.Graph("g.gl"), "in", 4096)
    assert len(taken) == len(set(taken)) == 4096
    assert max(taken) >= num_nodes * 7 // 8


def test_as_many_nodes_as_allowed_are_no_sample():
    write_with_out_degrees("slope.gl", SLOPE)
    facts = degree_facts(gz.Graph("slope.gl"), "out", 5000)
    assert not facts["sampled"]
    assert parts(facts) == oracle.degree_distribution(SLOPE)


def test_a_large_graph_is_sampled_unless_asked_for_all(facts_of, capsys):
    num_nodes = (1 << 20) + 1
    gz.write_graph("wide.gl", [0, 0, num_nodes - 1], [1, 2, 0], num_nodes=num_nodes, index="out")
    sample = facts_of("wide.gl")["degrees"]["out"]
    assert (sample["min"], sample["mean"], sample["max"], sample["sampled"]) == (None, 3 / num_nodes, None, True)
    assert sum(part[2] for part in parts(sample)) == 1 << 20
    assert run(["info", "wide.gl"]) == 0
    assert "mean 0.00; below, 1,048,576 nodes from evenly spread places\n" in capsys.readouterr().out
    whole = facts_of("wide.gl", "--degrees")["degrees"]["out"]
    assert (whole["min"], whole["max"], whole["sampled"]) == (0, 2, False)
    assert parts(whole) == [(0, 0, num_nodes - 2), (1, 1, 1), (2, 3, 1)]


def test_a_graph_without_nodes_has_no_degrees(facts_of, capsys):
    gz.write_graph("empty.gl", [], [])
    nothing = {"min": None, "mean": None, "max": None, "sampled": False, "distribution": []}
    assert facts_of("empty.gl")["degrees"] == {"out": nothing, "in": nothing}
    assert run(["info", "empty.gl"]) == 0
    assert "degree" not in capsys.readouterr().out


def test_nodes_without_edges_are_counted(facts_of):
    gz.write_graph("lonely.gl", [], [], num_nodes=3)
    degrees = facts_of("lonely.gl")["degrees"]["out"]
    assert (degrees["min"], degrees["mean"], degrees["max"]) == (0, 0.0, 0)
    assert parts(degrees) == [(0, 0, 3)]


def test_damaged_offsets_are_named(tiny_gl, capsys):
    with gz.Graph(tiny_gl) as graph:
        offsets = graph.indptr.tobytes()
    with open(tiny_gl, "r+b") as file:
        file.seek(file.read().index(offsets) + 8)
        file.write((99).to_bytes(8, "little"))
    assert run(["info", tiny_gl]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(rf"graphzero: {re.escape(tiny_gl)}: .*99.*\n", printed.err)


def test_a_pipe_gets_counts_without_bars(capsys):
    write_with_out_degrees("g.gl", [0] * 1000 + [2, 3, 3])
    assert run(["info", "g.gl"]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("  out-degree     0 to 3, mean 0.01")
    assert lines[at + 1 : at + 4] == [
        "    0            1,000  99.7%",
        "    1                0   0.0%",
        "    2 to 3           3   0.3%",
    ]


def test_a_terminal_gets_bars():
    write_with_out_degrees("g.gl", [0] * 1000 + [1] * 250 + [2, 3, 3] + [8] * 130)
    lines = [line.rstrip() for line in shown("info", "g.gl").splitlines()]
    at = next(at for at, line in enumerate(lines) if "out-degree" in line)
    assert [line.split() for line in lines[at + 1 : at + 6]] == [
        ["0", "1,000", "72.3%", "█" * 24],
        ["1", "250", "18.1%", "█" * 6],
        ["2", "to", "3", "3", "0.2%", "▏"],
        ["4", "to", "7", "0", "0.0%"],
        ["8", "to", "15", "130", "9.4%", "███▏"],
    ]


def test_features_have_no_degrees_but_a_place_in_the_page_cache(tiny_gd, facts_of, capsys):
    facts = facts_of(tiny_gd)
    assert "degrees" not in facts
    assert run(["info", tiny_gd]) == 0
    printed = capsys.readouterr().out
    assert not any("degree" in line for line in printed.splitlines()[1:])
    assert re.search(r"in page cache  (\S+ k?B|unknown) of 8\.2 kB\n", printed)


def test_a_data_set_tells_of_each_file(tiny_dataset, facts_of, capsys):
    facts = facts_of(tiny_dataset)
    with gz.open(tiny_dataset) as ds:
        expected = {os.path.relpath(store.path, tiny_dataset): store.nbytes for store in ds.stores()}
    assert {file["path"]: file["size"] for file in facts["files"]} == expected
    x = os.path.join("nodes", "node", "x.gd")
    assert set(expected) >= {x, os.path.join("splits", "test", "node.gd")}
    told = [file["resident"] for file in facts["files"]]
    assert facts["resident"] == (None if None in told else sum(told))
    assert parts(facts["edges"][0]["graph"]["degrees"]["in"]) == [(0, 0, 1), (1, 1, 2), (2, 3, 1)]
    assert run(["info", tiny_dataset]) == 0
    printed = capsys.readouterr().out
    assert re.search(rf"\n +(\S+ k?B|unknown) of 8\.2 kB, {re.escape(x)}\n", printed)
    assert re.search(r"\n      2 to 3 +1  25\.0%\n", printed)


def test_a_data_set_of_several_edge_types_has_a_line_for_each(facts_of, capsys):
    with gz.DatasetWriter("movies") as writer:
        writer.add_nodes(type="user", num_nodes=3)
        writer.add_nodes(type="movie", num_nodes=2)
        writer.add_edges([0, 1, 2], [1, 0, 1], type=("user", "rates", "movie"))
        writer.add_edges([0, 1], [1, 2], type=("user", "knows", "user"))
    assert run(["info", "movies"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("out-degree") == 2
    assert "%" not in printed
    rates, knows = (edge["graph"]["degrees"]["in"] for edge in facts_of("movies")["edges"])
    assert parts(rates) == [(0, 0, 0), (1, 1, 1), (2, 3, 1)]
    assert parts(knows) == [(0, 0, 1), (1, 1, 2)]


@posix_only(reason=NO_DROPPING)
@pytest.mark.parametrize("in_data_set", [False, True])
def test_the_page_cache_is_asked_before_degrees_are_read(in_data_set, facts_of):
    gz.write_graph("g.gl", [0], [1], num_nodes=1 << 18)
    path, shown = "g.gl", "g.gl"
    if in_data_set:
        with gz.DatasetWriter("ds") as writer:
            writer.add_nodes(num_nodes=1 << 18)
            writer.add_edges(graph="g.gl")
        path, shown = "ds/edges/node__to__node/graph.gl", "ds"
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    before, after = facts_of(shown)["resident"], facts_of(shown)["resident"]
    if before is None:
        pytest.skip("the kernel does not tell what is in the page cache")
    assert before < 1 << 20
    assert after >= 7 * 2 * 8 << 15  # the offsets of both indexes, but for pages that the kernel has taken back

"""graphzero convert: each option reaches the function that does the work, and mistakes are told in its words."""

from pathlib import Path

import numpy as np
import pytest

import data_sets
import graphzero as gz
from graphzero.cli.command import run


@pytest.fixture
def people(tmp_path):
    gz.write_ids("people.gi", ["adam", "mia", "zoe"])
    (tmp_path / "people.csv").write_text("name,age,height\nzoe,31,1.5\nadam,44,1.75\n")
    (tmp_path / "knows.csv").write_text("src,dst,at\nzoe,adam,1970-01-01T00:00:01.5Z\nmia,zoe,1970-01-02\n")


def rows_of(path):
    return gz.FeatureStore(path).get_tensor().tolist()


def test_columns_and_ids_of_features(people):
    by_name = ["--id-column", "name", "--ids-file", "people.gi", "--dtype", "float32"]
    assert run(["convert", "people.csv", "x.gd", *by_name]) == 0
    assert rows_of("x.gd") == [[44, 1.75], [0, 0], [31, 1.5]]
    assert run(["convert", "people.csv", "age.gd", *by_name, "--columns", "age"]) == 0
    assert rows_of("age.gd") == [44, 0, 31]
    assert run(["convert", "people.csv", "age.gd", "--dtype", "int8", "--columns", "1,"]) == 0
    assert rows_of("age.gd") == [[31], [44]]
    assert run(["convert", "people.csv", "both.gd", "--dtype", "float64", "--columns", "height,age"]) == 0
    assert rows_of("both.gd") == [[1.5, 31], [1.75, 44]]


def test_key_shape_and_number_of_rows(tmp_path):
    np.savez("two.npz", a=np.arange(4), b=np.arange(6.0))
    assert run(["convert", "two.npz", "b.gd", "--key", "b"]) == 0
    assert rows_of("b.gd") == list(range(6))
    np.arange(6, dtype=np.int16).tofile("raw.bin")
    assert run(["convert", "raw.bin", "raw.gd", "--shape", "-1,2", "--dtype", "int16"]) == 0
    assert rows_of("raw.gd") == [[0, 1], [2, 3], [4, 5]]
    (tmp_path / "x.csv").write_text("node,a\n2,7\n")
    assert run(["convert", "x.csv", "x.gd", "--id-column", "node", "--num-rows", "4", "--dtype", "int8"]) == 0
    assert rows_of("x.gd") == [[0], [0], [7], [0]]


def test_labels_of_edges_are_looked_up_and_times_read(people):
    assert run(["convert", "knows.csv", "g.gl", "--ids-file", "people.gi", "--time", "at", "--time-unit", "ms"]) == 0
    graph = gz.Graph("g.gl")
    assert [graph.neighbors(node).tolist() for node in range(3)] == [[], [2], [0]]
    assert sorted(graph.times.tolist()) == [1500, 86_400_000]


def test_labels_that_begin_like_comments(people, tmp_path):
    (tmp_path / "tags.csv").write_text("#ab,#cd\n#cd,x\n%ef,x\n")
    counts = {"%": 2, "#%": 0, "": 3}
    for comment, count in counts.items():
        assert run(["convert", "tags.csv", "tags.gl", "--no-header", "--comment", comment]) == 0
        assert gz.Graph("tags.gl").num_edges == count


def test_a_bipartite_graph(tmp_path):
    (tmp_path / "r.csv").write_text("user,movie\nzoe,tt1\nmia,tt1\n")
    assert run(["convert", "r.csv", "r.gl", "--bipartite", "--header"]) == 0
    files_of_sides = ["--ids-file", "r.src.gi", "--ids-file", "r.dst.gi"]
    assert run(["convert", "r.csv", "again.gl", "--header", *files_of_sides]) == 0
    (tmp_path / "e.csv").write_text("0,1\n")
    assert run(["convert", "e.csv", "e.gl", "--num-nodes", "4,5"]) == 0
    for name, counts in (("r.gl", (2, 1)), ("again.gl", (2, 1)), ("e.gl", (4, 5))):
        graph = gz.Graph(name)
        assert (graph.bipartite, graph.num_src_nodes, graph.num_dst_nodes) == (True, *counts)


def test_options_of_data_sets(tmp_path):
    data_sets.igb("igb")
    assert run(["convert", "igb", "ds", "--label", "label_2K"]) == 0
    assert gz.open("ds").nodes["paper"].label == "label_2K"
    (tmp_path / "m" / "paper___cites___paper").mkdir(parents=True)
    np.save("m/paper___cites___paper/edge_index.npy", [[0, 1], [1, 2]])
    assert run(["convert", "m", "out", "--num-nodes", "paper=7", "--index", "out", "--no-edge-ids"]) == 0
    graph = gz.open("out").edges["paper", "cites", "paper"].graph
    assert (graph.num_nodes, graph.indexes, graph.edge_ids) == (7, ("out",), None)


def test_folders_of_graphzero_02(tmp_path):
    samples = Path(__file__).parent.parent / "data" / "graphzero02"
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "graph.gl").write_bytes((samples / "weighted_undirected.gl").read_bytes())
    assert run(["convert", "old", "new", "--undirected"]) == 0
    assert not gz.open("new").graph.directed
    assert run(["convert", "old/graph.gl", "g.gl"]) == 0
    assert gz.Graph("g.gl").directed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["numbered.csv", "x.gd", "--dtype", "int8"],
            "numbered.csv: the first column, node_id, looks like ids of nodes rather than a feature: give --id-column "
            "node_id, or --columns with all columns that are features",
        ),
        (
            ["people.csv", "x.gd", "--dtype", "int8", "--columns", "age,,height"],
            "--columns: expected names or positions with commas between them, found 'age,,height'",
        ),
        (
            ["people.csv", "x.gd", "--dtype", "int8", "--shape", "2x3"],
            "--shape: expected numbers with commas between them, such as 100,16, found '2x3'",
        ),
        (
            ["people.csv", "x.gd", "--dtype", "int8", "--ids-file", "people.gi"],
            "--ids-file: expected one file, and --id-column with the labels",
        ),
        (
            ["knows.csv", "g.gl", "--num-nodes", "many"],
            "--num-nodes: expected a number, 100,20 for a bipartite graph, or paper=100,author=20 for types, "
            "found 'many'",
        ),
        (
            ["knows.csv", "g.gl", "--ids", "map", "--ids-file", "people.gi"],
            "--ids-file: expected one file, or two for a bipartite graph, instead of --ids",
        ),
        (["knows.csv", "g.gl", "--time-unit", "s"], "--time-unit: expected --time, which has times, found none"),
        (
            ["knows.csv", "g.gl", "--time", "at"],
            "knows.csv: line 2: expected a time in whole seconds, found '1970-01-01T00:00:01.5Z'; give "
            'time_unit="ms": "zoe,adam,1970-01-01T00:00:01.5Z"',
        ),
        (["knows.csv", "g.gl", "--columns", "a"], "--columns is about features (.gd), and g.gl is not; leave it out"),
    ],
)
def test_mistakes_are_told_in_the_words_of_the_shell(people, tmp_path, capsys, arguments, message):
    (tmp_path / "numbered.csv").write_text("node_id,a\n0,5\n1,6\n")
    assert run(["convert", *arguments]) == 2
    assert capsys.readouterr().err == f"graphzero: {message}\n"

"""Labels at the ends of edges: looked up in dictionaries that exist, and two dictionaries of a bipartite graph."""

import gzip
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import graphzero as gz


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def named_edges(graph, src_ids, dst_ids):
    """The edges of a graph by the labels of their ends, in the order of the input."""
    edges = {}
    with gz.Graph(graph) as opened, gz.IdDictionary(src_ids) as src, gz.IdDictionary(dst_ids) as dst:
        ids = opened.edge_ids
        for node in range(opened.num_src_nodes):
            for place in range(opened.indptr[node], opened.indptr[node + 1]):
                edge = place if ids is None else int(ids[place])
                edges[edge] = (src.label(node), dst.label(int(opened.indices[place])))
    return [edges[edge] for edge in sorted(edges)]


@pytest.fixture
def people():
    gz.write_ids("people.gi", ["adam", "mia", "zoe", "007", "7"])
    return "people.gi"


PAIRS = [("zoe", "adam"), ("mia", "zoe"), ("7", "007")]
TEXT = "src,dst\nzoe,adam\nmia,zoe\n7,007\n"


@pytest.mark.parametrize("mounted", [False, True])
def test_labels_of_text_are_looked_up(people, mounted):
    ids = gz.IdDictionary(people) if mounted else people
    report = gz.convert_edges(write("e.csv", TEXT), "g.gl", ids=ids)
    assert named_edges("g.gl", people, people) == PAIRS
    assert (report.num_src_nodes, report.ids_path, report.dst_ids_path) == (5, people, None)
    assert not os.path.exists("g.gi")


def test_a_first_line_of_numbers_does_not_make_them_integers(people):
    gz.convert_edges(write("e.csv", "7,007\nzoe,adam\n"), "g.gl", ids=people, header=False)
    assert named_edges("g.gl", people, people) == [("7", "007"), ("zoe", "adam")]


def test_sources_other_than_text(people):
    src, dst = [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]
    for source in ((src, dst), pa.table({"src": src, "dst": dst})):
        gz.convert_edges(source, "g.gl", ids=people)
        assert named_edges("g.gl", people, people) == PAIRS


@pytest.mark.no_tsan  # polars' own allocator does not bear it
def test_a_frame_of_polars(people):
    import polars

    src, dst = [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]
    gz.convert_edges(polars.DataFrame({"src": src, "dst": dst}), "g.gl", ids=people)
    assert named_edges("g.gl", people, people) == PAIRS


def test_integers_are_looked_up():
    gz.write_ids("users.gi", [5, 7_000_000_000, 12])
    gz.convert_edges(write("e.txt", "7000000000 5\n12 12\n"), "g.gl", ids="users.gi")
    assert named_edges("g.gl", "users.gi", "users.gi") == [(7_000_000_000, 5), (12, 12)]
    gz.convert_edges(np.array([[7_000_000_000, 12], [5, 12]]), "g.gl", ids="users.gi")
    assert named_edges("g.gl", "users.gi", "users.gi") == [(7_000_000_000, 5), (12, 12)]


def test_weights_and_times_stay_beside_their_edges(people):
    text = write("e.csv", "src,dst,w,t\nzoe,bob,1,5\nmia,zoe,2,6\nzoe,adam,3,7\n")
    report = gz.convert_edges(text, "g.gl", ids=people, weight="w", time="t", bad_lines="skip", index="out")
    graph = gz.Graph("g.gl")
    assert report.num_rows == 2
    assert graph.weights.tolist() == [2, 3]
    assert graph.times.tolist() == [6, 7]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_an_unknown_label_is_named(people, ending):
    lines = "# friends\nsrc,dst\nzoe,adam\n\nzoe,bob\nmia,zoe\neve,mia\n"
    name = f"e.csv{ending}"
    if ending:
        with gzip.open(name, "wt") as file:
            file.write(lines)
    else:
        write(name, lines)
    with pytest.raises(ValueError, match=rf'^{name}: line 5: expected a label of people.gi, found \'bob\': "zoe,bob"$'):
        gz.convert_edges(name, "g.gl", ids=people)
    report = gz.convert_edges(name, "g.gl", ids=people, bad_lines="skip")
    assert (report.num_bad_lines, report.num_edges) == (2, 2)
    assert [(bad.line, bad.text) for bad in report.first_bad_lines] == [(5, "zoe,bob"), (7, "eve,mia")]
    assert not os.path.exists("g.gi")


def test_an_unknown_row_is_named(people):
    with pytest.raises(ValueError, match=r"row 1: expected a label of people.gi, found 'bob'$"):
        gz.convert_edges((["zoe", "bob"], ["mia", "zoe"]), "g.gl", ids=people)
    gz.write_ids("users.gi", [5, 12])
    with pytest.raises(ValueError, match=r'e.txt: line 2: expected a label of users.gi, found 6: "12 6"$'):
        gz.convert_edges(write("e.txt", "12 5\n12 6\n"), "g.gl", ids="users.gi")


def test_many_lines_keep_their_numbers():
    gz.write_ids("users.gi", [f"u{i}" for i in range(100)])
    lines = [f"u{i % 100},u{i * 7 % 100}" for i in range(200_000)]
    lines[150_000] = "u1,nobody"
    write("e.csv", "\n".join(lines))
    with pytest.raises(ValueError, match=r"e.csv: line 150001: expected a label of users.gi, found 'nobody'"):
        gz.convert_edges("e.csv", "g.gl", ids="users.gi", header=False, memory="32MB")


def test_the_kind_of_labels_must_be_that_of_the_dictionary(people):
    with pytest.raises(TypeError, match=r"src: expected text, as the labels of people.gi are, found integers"):
        gz.convert_edges(np.array([[0], [1]]), "g.gl", ids=people)
    gz.write_ids("users.gi", [5])
    with pytest.raises(ValueError, match="e.csv: line 2: expected a node id, found 'zoe'"):
        gz.convert_edges(write("e.csv", TEXT), "g.gl", ids="users.gi")
    with pytest.raises(
        ValueError, match=r"ids: expected dictionaries of one kind for a text, found string and integer"
    ):
        gz.convert_edges("e.csv", "g.gl", ids=(people, "users.gi"))


def test_a_header_that_names_a_known_node_is_refused(people):
    gz.write_ids("words.gi", ["src", "a", "b"])
    write("e.csv", "src,dst\na,b\n")
    with pytest.raises(ValueError, match="cannot tell whether the first line, src, dst, is a header"):
        gz.convert_edges("e.csv", "g.gl", ids="words.gi")
    assert gz.convert_edges("e.csv", "g.gl", ids="words.gi", header=True).num_edges == 1


def test_what_ids_may_be(people):
    write("e.csv", TEXT)
    with pytest.raises(TypeError, match="ids: expected the path of a .gi file, or an IdDictionary, found int"):
        gz.convert_edges("e.csv", "g.gl", ids=3)
    with pytest.raises(FileNotFoundError, match=r"none.gi"):
        gz.convert_edges("e.csv", "g.gl", ids="none.gi")
    with pytest.raises(ValueError, match="ids: expected two dictionaries, of sources and of destinations, found 1"):
        gz.convert_edges("e.csv", "g.gl", ids=(people,))
    with pytest.raises(ValueError, match="ids: expected two dictionaries for a bipartite graph, found one"):
        gz.convert_edges("e.csv", "g.gl", ids=people, bipartite=True)
    with pytest.raises(ValueError, match="ids_path: expected none, as labels are looked up and no dictionary is writt"):
        gz.convert_edges("e.csv", "g.gl", ids=people, ids_path="new.gi")


RATINGS = "user,movie\nzoe,tt2\nadam,tt1\nzoe,tt1\nzoe,zoe\n"
RATED = [("zoe", "tt2"), ("adam", "tt1"), ("zoe", "tt1"), ("zoe", "zoe")]


def test_a_bipartite_graph_has_two_dictionaries():
    report = gz.convert_edges(write("r.csv", RATINGS), "r.gl", bipartite=True, header=True)
    assert (report.ids_path, report.dst_ids_path) == ("r.src.gi", "r.dst.gi")
    assert "labels in   r.src.gi and r.dst.gi" in str(report)
    assert gz.IdDictionary("r.src.gi").labels([0, 1]).tolist() == ["adam", "zoe"]
    assert gz.IdDictionary("r.dst.gi").labels([0, 1, 2]).tolist() == ["tt1", "tt2", "zoe"]
    assert named_edges("r.gl", "r.src.gi", "r.dst.gi") == RATED
    graph = gz.Graph("r.gl", verify="full")
    assert (graph.bipartite, graph.num_src_nodes, graph.num_dst_nodes) == (True, 2, 3)
    assert sorted(os.listdir()) == ["r.csv", "r.dst.gi", "r.gl", "r.src.gi"]


def test_a_pair_of_num_nodes_makes_a_graph_bipartite():
    report = gz.convert_edges(
        write("r.csv", RATINGS), "r.gl", num_nodes=(5, 6), header=True, ids_path=("users.gi", "movies.gi")
    )
    assert (report.ids_path, report.dst_ids_path) == ("users.gi", "movies.gi")
    assert (report.num_src_nodes, report.num_dst_nodes) == (5, 6)
    assert named_edges("r.gl", "users.gi", "movies.gi") == RATED


def test_two_dictionaries_are_looked_up():
    gz.convert_edges(write("r.csv", RATINGS), "r.gl", bipartite=True, header=True)
    write("more.csv", "user,movie\nadam,zoe\n")
    report = gz.convert_edges("more.csv", "more.gl", ids=("r.src.gi", "r.dst.gi"), header=True)
    assert (report.num_src_nodes, report.num_dst_nodes) == (2, 3)
    assert named_edges("more.gl", "r.src.gi", "r.dst.gi") == [("adam", "zoe")]
    with pytest.raises(ValueError, match=r"line 2: expected a label of r.dst.gi, found 'adam'"):
        gz.convert_edges(
            write("more.csv", "user,movie\nadam,adam\n"), "more.gl", ids=("r.src.gi", "r.dst.gi"), header=True
        )


def test_the_sides_of_a_table_may_be_of_two_kinds():
    table = pa.table({"src": ["zoe", "adam"], "dst": [700, 5]})
    gz.convert_edges(table, "r.gl", bipartite=True)
    assert named_edges("r.gl", "r.src.gi", "r.dst.gi") == [("zoe", 700), ("adam", 5)]
    gz.convert_edges(table, "again.gl", ids=("r.src.gi", "r.dst.gi"))
    assert named_edges("again.gl", "r.src.gi", "r.dst.gi") == [("zoe", 700), ("adam", 5)]


def test_integers_of_a_bipartite_graph():
    write("e.txt", "0 9\n3 1\n")
    report = gz.convert_edges("e.txt", "g.gl", bipartite=True)
    assert (report.num_src_nodes, report.num_dst_nodes, report.ids_path) == (4, 10, None)
    gz.convert_edges("e.txt", "g.gl", bipartite=True, ids="map")
    assert named_edges("g.gl", "g.src.gi", "g.dst.gi") == [(0, 9), (3, 1)]


def test_a_bipartite_graph_without_edges():
    table = pa.table({"src": pa.array([], pa.string()), "dst": pa.array([], pa.string())})
    report = gz.convert_edges(table, "g.gl", bipartite=True, ids="map")
    assert (report.num_src_nodes, report.num_dst_nodes, report.num_edges) == (0, 0, 0)


def test_a_header_that_names_a_node_of_its_side_is_refused():
    write("r.csv", "src,dst\nsrc,b\n")
    with pytest.raises(ValueError, match="cannot tell whether the first line, src, dst, is a header"):
        gz.convert_edges("r.csv", "r.gl", bipartite=True)
    write("r.csv", "src,dst\nb,src\n")  # a destination is no source
    assert gz.convert_edges("r.csv", "r.gl", bipartite=True).num_edges == 1


def test_what_a_bipartite_graph_needs():
    write("r.csv", RATINGS)
    with pytest.raises(ValueError, match="num_nodes: expected a pair for a bipartite graph, found 5"):
        gz.convert_edges("r.csv", "r.gl", bipartite=True, num_nodes=5, header=True)
    with pytest.raises(ValueError, match="a bipartite graph is directed"):
        gz.convert_edges("r.csv", "r.gl", bipartite=True, directed=False, header=True)
    with pytest.raises(ValueError, match=r"ids_path: expected two paths, of sources and of destinations, found 'a.gi'"):
        gz.convert_edges("r.csv", "r.gl", bipartite=True, ids_path="a.gi", header=True)
    with pytest.raises(ValueError, match=r"ids_path: expected one path, found \('a.gi', 'b.gi'\)"):
        gz.convert_edges("r.csv", "r.gl", ids_path=("a.gi", "b.gi"), header=True)
    with pytest.raises(ValueError, match=r"ids_path: expected other files than r.gl, each once, found a.gi, ./a.gi"):
        gz.convert_edges("r.csv", "r.gl", bipartite=True, ids_path=("a.gi", "./a.gi"), header=True)
    assert sorted(os.listdir()) == ["r.csv"]


def test_a_conversion_that_fails_leaves_all_three_files():
    gz.convert_edges(write("r.csv", RATINGS), "r.gl", bipartite=True, header=True)
    before = {name: Path(name).read_bytes() for name in os.listdir() if name != "r.csv"}
    with pytest.raises(ValueError, match="line 6: expected 2 columns, found 1"):
        gz.convert_edges(write("r.csv", RATINGS + "alone\n"), "r.gl", bipartite=True, header=True)
    assert {name: Path(name).read_bytes() for name in os.listdir() if name != "r.csv"} == before

"""Layouts of data sets: rows belong to the ids they were given with, and a conversion writes the same bytes each time."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import data_sets
import graphzero as gz


def test_neo4j_rows_follow_their_ids():
    os.mkdir("export")
    names = [f"p{i * 7 % 23}" for i in range(23)]
    data_sets.write_csv("export/people.csv", [["age:int", "id:ID"], *([i, name] for i, name in enumerate(names))])
    knows = [["x:double", ":START_ID", ":END_ID"], *([i / 2, a, b] for i, (a, b) in enumerate(pairwise(names)))]
    data_sets.write_csv("export/knows.csv", knows)
    gz.convert_dataset("export", "ds")
    ds = gz.open("ds")
    node, edge = ds.nodes["node"], ds.edges["node", "knows", "node"]
    for age, name in enumerate(names):
        assert node["age"].get_data(node.ids.index(name)).tolist() == [age]
    for row, (a, b) in enumerate(pairwise(names)):
        assert edge.graph.neighbors(node.ids.index(a)).tolist() == [node.ids.index(b)]
        assert edge["x"].get_data(row).tolist() == [row / 2]


def test_neo4j_tables_of_one_id_space_may_have_different_columns():
    os.mkdir("export")
    data_sets.write_csv("export/a.csv", [["id:ID", "year:int"], ["z", 1], ["b", 2]])
    data_sets.write_csv("export/b.csv", [["id:ID", "score:int", "year:int"], ["y", 3, 4], ["a", 5, 6]])
    gz.convert_dataset("export", "ds")
    node = gz.open("ds").nodes["node"]
    assert node.ids.labels([0, 1, 2, 3]).tolist() == ["a", "b", "y", "z"]
    assert node["year"].get_tensor().tolist() == [6, 2, 4, 1]
    assert node["score"].get_tensor().tolist() == [5, 0, 3, 0]


def test_a_neo4j_column_has_one_type():
    os.mkdir("export")
    data_sets.write_csv("export/a.csv", [["id:ID", "year:int"], ["z", 1]])
    data_sets.write_csv("export/b.csv", [["id:ID", "year:double"], ["y", 3.5]])
    with pytest.raises(gz.FormatError, match=r"b.csv: column year: expected int64 as in .*a.csv, found float64"):
        gz.convert_dataset("export", "ds")


def test_a_neo4j_table_has_each_column_once():
    os.mkdir("export")
    data_sets.write_csv("export/a.csv", [["id:ID", "year:int", "year:int"], ["z", 1, 2]])
    with pytest.raises(gz.FormatError, match=r"a.csv: line 1: expected each column once, found 'year' again"):
        gz.convert_dataset("export", "ds")


@pytest.fixture
def people():
    os.mkdir("export")
    data_sets.write_csv(
        "export/people.csv",
        [
            ["id:ID", "job", "tags:string[]", "member:boolean"],
            ["zoe", "baker", "a;b", "true"],
            ["adam", "", "", "false"],
            ["mia", "actor", "", "true"],
        ],
    )
    data_sets.write_csv(
        "export/knows.csv",
        [
            [":START_ID", ":END_ID", ":TYPE", "strength:float", "since:long", "how"],
            ["zoe", "adam", "KNOWS", 0.5, 1999, "school"],
            ["mia", "zoe", "KNOWS", 2, 2004, "work"],
        ],
    )
    data_sets.write_csv("export/likes.csv", [[":START_ID", ":END_ID", ":TYPE"], ["mia", "adam", "LIKES"]])
    return "export"


def test_neo4j_texts_become_integers_with_names(people):
    report = gz.convert_dataset(people, "ds", label="job")
    data = gz.open("ds")
    node, knows = data.nodes["node"], data.edges["node", "KNOWS", "node"]
    assert node.ids.labels([0, 1, 2]).tolist() == ["adam", "mia", "zoe"]
    assert node["job"].get_tensor().tolist() == [-1, 0, 1]
    assert (node.label, node.num_classes, node.class_names) == ("job", 2, ["actor", "baker"])
    assert node.categories["member"] == ["false", "true"]
    assert knows.categories == {"how": ["school", "work"]}
    assert knows["how"].get_tensor().tolist() == [0, 1]
    assert report.ignored == ("export/people.csv: column tags: not numbers",)


def test_neo4j_properties_become_weights_and_times(people):
    gz.convert_dataset(people, "ds", weight="strength", time="since")
    data = gz.open("ds")
    knows, likes = (data.edges["node", name, "node"] for name in ("KNOWS", "LIKES"))
    assert knows.graph.weights.tolist() == [2, 0.5]  # mia → zoe comes first
    assert knows.graph.times.tolist() == [2004, 1999]
    assert (knows.weight, knows.time) == ("strength", "since")
    assert knows["strength"].get_tensor().tolist() == [0.5, 2]
    assert (likes.weight, likes.graph.has_weights) == (None, False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": "how"}, "export: weight: expected a property of relationships, how, since, strength, found 'how'"),
        ({"time": "when"}, "export: time: expected a property of relationships, how, since, strength, found 'when'"),
        ({"label": "age"}, "export: label: expected a property of nodes, job, member, found 'age'"),
    ],
)
def test_a_neo4j_property_that_is_not_there_is_named(people, options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        gz.convert_dataset(people, "ds", **options)


def test_neo4j_texts_that_name_nothing_are_not_kept(people, monkeypatch):
    monkeypatch.setattr("graphzero.convert.layouts.neo4j._MOST_TEXTS", 1)
    ignored = gz.convert_dataset(people, "ds").ignored
    assert "export/people.csv: column job: too many different texts" in ignored
    assert "export/knows.csv: column how: too many different texts" in ignored
    assert "job" not in gz.open("ds").nodes["node"].attributes


def test_a_neo4j_column_is_numbers_or_text():
    os.mkdir("export")
    data_sets.write_csv("export/a.csv", [["id:ID", "year:int"], ["z", 1]])
    data_sets.write_csv("export/b.csv", [["id:ID", "year"], ["y", "old"]])
    with pytest.raises(gz.FormatError, match=r"b.csv: column year: expected numbers as in export/a.csv, found text"):
        gz.convert_dataset("export", "ds")


LAYOUTS = {
    "ogbn_tiny": data_sets.ogb_csv,
    "ogbn_mag": data_sets.ogb_csv_hetero,
    "ogbn_papers": data_sets.ogb_binary,
    "ogbn_kinds": data_sets.ogb_binary_hetero,
    "mag240m_kddcup2021": data_sets.mag240m,
    "igb": data_sets.igb,
    "graphbolt": data_sets.graphbolt,
    "export": data_sets.neo4j,
    "old": data_sets.graphzero02,
}
CONVERT_ALL = """
import sys
import graphzero as gz

for name in sys.argv[2:]:
    gz.convert_dataset(name, f"{sys.argv[1]}/{name}")
"""


def test_the_order_of_hashes_does_not_reach_the_manifest():
    for name, make in LAYOUTS.items():
        make(name)
    for seed in ("1", "2"):
        command = [sys.executable, "-c", CONVERT_ALL, f"by-{seed}", *LAYOUTS]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
    for name in LAYOUTS:
        first, second = (Path(f"by-{seed}", name, "graphzero.json").read_bytes() for seed in (1, 2))
        assert first == second, name

"""build_dataset: one value in several spellings, as text, tables and files write it."""

import uuid

import numpy as np
import pyarrow as pa
import pytest

import graphzero as gz

TO = ("node", "to", "node")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def edges_between(data):
    graph = data.edges[TO].graph
    return [(src, int(dst)) for src in range(graph.num_nodes) for dst in graph.neighbors(src)]


# Times.

ISO_TIMES = [
    "2024-01-31",
    "2024-01-31T12:00",
    "2024-01-31 12:00:00",
    "2024-01-31t12:00:00z",
    "2024-01-31T24:00",
    "2024-01-31T24:00:00.000Z",
    "2024-01-31T24:00:00+01:00",
    "2024-01-31T12:00:00,000",
    "2024-01-31T12:00:00.000000000000Z",
    "2024-01-31T07:30:00-0430",
    "2024-01-31T11:00-01",
    "0001-01-01",
    "9999-12-31T23:59:59",
]
NO_TIMES = ["2024-01-31T11", "2024-01-31T1100", "20240131", "2024-01-31T24:01", "2024-02-30", "2024-01-31T12:00:60"]


def imported_times(texts, kind, **options):
    rows = {"src": ["0"] * len(texts), "dst": [str(i) for i in range(len(texts))], "t": texts}
    source = pa.table({"src": [0] * len(texts), "dst": range(len(texts)), "t": texts})
    if kind == "csv":
        source = write("e.tsv", "\n".join("\t".join(row) for row in [tuple(rows), *zip(*rows.values(), strict=True)]))
    gz.build_dataset("folder", None, {"source": source, "time": "t", **options}, overwrite=True)
    with gz.open("folder") as data:
        times, graph = np.empty(len(texts), np.int64), data.edges[TO].graph
        index = graph.index("out")
        times[index.indices] = index.times
        return times.tolist()


def converted_times(texts):
    write("e.tsv", "".join(f"0\t{i}\t{text}\n" for i, text in enumerate(texts)))
    gz.convert_edges("e.tsv", "g.gl", time=2, header=False, delimiter="\t")
    index = gz.Graph("g.gl").index("out")
    times = np.empty(len(texts), np.int64)
    times[index.indices] = index.times
    return times.tolist()


@pytest.mark.parametrize("kind", ["csv", "arrow"])
def test_times_of_tables_are_read_as_those_of_edge_lists(kind):
    assert imported_times(ISO_TIMES, kind) == converted_times(ISO_TIMES)


@pytest.mark.parametrize("text", NO_TIMES)
def test_what_is_no_time_in_an_edge_list_is_none_in_a_table(text):
    with pytest.raises(ValueError, match="line 1: expected an? .*time"):
        converted_times([text + "x"])
    with pytest.raises(
        ValueError, match=f"row 1: time: column 't': expected a date or time such as .*, found '{text}'"
    ):
        imported_times(["2024-01-31", text], "arrow")


def test_only_times_without_an_offset_are_in_the_time_zone():
    texts = ["2024-07-01T12:00", "2024-07-01T12:00Z", "2024-07-01T24:00", "2024-01-01"]
    expected = [1719828000, 1719835200, 1719871200, 1704063600]
    assert imported_times(texts, "arrow", time_zone="Europe/Berlin") == expected
    assert imported_times(texts, "arrow", time_zone="Europe/Berlin", time_unit="ms") == [1000 * t for t in expected]


def test_times_that_no_unit_holds_are_named():
    with pytest.raises(
        ValueError, match=r"row 0: time_unit: column 't': 2024.*Z is no whole number of ns; nothing is fi"
    ):
        imported_times(["2024-01-31T12:00:00.0000000001Z"], "arrow", time_unit="ns")
    with pytest.raises(ValueError, match=r"row 1: time_unit: column 't': 9999-01-01 does not fit 64 bits in 'ns'"):
        imported_times(["2024-01-31", "9999-01-01"], "arrow", time_unit="ns")


# UUIDs.

NAMES = sorted(uuid.UUID(int=i * 0x1234_5678_9ABC_DEF0_1234) for i in range(1, 4))


def uuid_column(names):
    return pa.array([name.bytes for name in names], pa.uuid())


@pytest.mark.skipif(not hasattr(pa, "uuid"), reason="this pyarrow has no type for UUIDs")
@pytest.mark.parametrize("typed", ["nodes", "edges"])
def test_uuids_of_text_in_upper_case_are_those_of_arrow(typed):
    as_text = pa.array([str(name).upper() for name in NAMES])
    ends = pa.array([str(name).upper() for name in NAMES[1:]]), pa.array([str(name) for name in NAMES[:2]])
    nodes = pa.table({"id": uuid_column(NAMES) if typed == "nodes" else as_text})
    edges = {"src": ends[0], "dst": ends[1]}
    if typed == "edges":
        edges = {"src": uuid_column(NAMES[1:]), "dst": uuid_column(NAMES[:2])}
    given = {"source": nodes, "split": {"train": [str(NAMES[2]).upper()]}}
    gz.build_dataset("folder", given, pa.table(edges))
    with gz.open("folder") as data:
        assert edges_between(data) == [(1, 0), (2, 1)]
        assert [data.node_label(i) for i in range(3)] == list(map(str, NAMES))
        assert data.split("train").tolist() == [2]


def test_text_without_uuids_of_arrow_keeps_its_case():
    names = [str(NAMES[0]).upper(), str(NAMES[0])]
    gz.build_dataset("folder", pa.table({"id": names}), pa.table({"src": names[:1], "dst": names[1:]}))
    with gz.open("folder") as data:
        assert sorted(data.node_label(i) for i in range(2)) == sorted(names)


# Blanks.


def test_blanks_around_values_of_a_text_do_not_count():
    write("n.csv", "id, kind ,v\n a ,u ,1\nb, u, 2\n\tc,\tv,3\n")
    write("e.csv", "src,dst\na, b\n b,c \n")
    nodes = {"source": "n.csv", "label": "kind", "features": ["v"], "split": {"train": write("train.txt", " a\nc \n")}}
    gz.build_dataset("folder", nodes, "e.csv")
    with gz.open("folder") as data:
        assert [data.node_label(i) for i in range(3)] == ["a", "b", "c"]
        assert edges_between(data) == [(0, 1), (1, 2)]
        assert data.nodes["node"].categories["y"] == ["u", "v"]
        assert data.nodes["node"]["y"].gather([0, 1, 2]).tolist() == [0, 0, 1]
        assert data.split("train").tolist() == [0, 2]


def test_integers_with_blanks_are_integers():
    write("n.csv", "id,v\n 70,1\n5 ,2\n")
    gz.build_dataset("folder", "n.csv", write("e.csv", "src,dst\n5, 70\n"))
    with gz.open("folder") as data:
        assert [data.node_label(i) for i in range(2)] == [5, 70]


def test_an_id_of_a_table_that_differs_by_blanks_alone_is_named_with_them():
    nodes = pa.table({"id": ["a", "b"]})
    message = r"row 0: column 'dst': expected an id of 'node', found ' b'; there is 'b': remove the blanks around it"
    with pytest.raises(KeyError, match=message):
        gz.build_dataset("folder", nodes, pa.table({"src": ["a"], "dst": [" b"]}))
    with pytest.raises(KeyError, match="found ' c', which its table does not have"):
        gz.build_dataset("folder", nodes, pa.table({"src": ["a"], "dst": [" c"]}))

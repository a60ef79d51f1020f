"""Files of GraphZero 0.2 become new ones with the same content: graphs, features, and folders of both."""

import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

import files
import graphzero as gz

SAMPLES = Path(__file__).parent.parent / "data" / "graphzero02"


def old_graph(path, indptr, indices, weights=None):
    """Write a .gl as GraphZero 0.2 does."""

    def padded(data):
        return data + bytes(-len(data) % 64)

    starts, ends = np.array(indptr, "<i8").tobytes(), np.array(indices, "<i8").tobytes()
    offset = 64 + len(padded(starts))
    sizes = len(starts), len(ends), 64, offset, len(indptr) - 1, len(indices), int(weights is not None)
    data = struct.pack("<8s7Q", b"graphlit", *sizes) + padded(starts) + ends
    if weights is not None:
        data = padded(data) + np.array(weights, "<f4").tobytes()
    return files.write(Path(path), data)


def old_features(path, rows):
    codes = {"int32": 0, "int64": 1, "float32": 2, "float64": 3}
    data = struct.pack("<8sIiQQ", b"GZDATA26", 0, codes[rows.dtype.name], *rows.shape) + rows.tobytes()
    return files.write(Path(path), data)


@pytest.mark.parametrize("name", ["unweighted_directed.gl", "weighted_directed.gl", "weighted_undirected.gl"])
def test_a_graph_keeps_its_edges_with_both_indexes(name):
    report = gz.convert_edges(SAMPLES / name, "new.gl")
    old, new = gz.Graph(SAMPLES / name), gz.Graph("new.gl", verify="full")
    assert new.format != old.format
    assert (new.directed, new.indexes) == (True, ("out", "in"))
    assert (report.num_edges, new.num_nodes) == (old.num_edges, old.num_nodes)
    for node in range(old.num_nodes):
        assert sorted(new.neighbors(node).tolist()) == sorted(old.neighbors(node).tolist())
    assert new.has_weights == old.has_weights


def test_an_edge_id_is_the_place_in_the_old_file():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 6, 50)
    indptr = np.concatenate(([0], np.cumsum(counts)))
    indices, weights = rng.integers(0, 50, indptr[-1]), rng.random(indptr[-1], np.float32)
    gz.convert_edges(old_graph("old.gl", indptr, indices, weights), "new.gl")
    graph = gz.Graph("new.gl")
    assert (graph.indptr == indptr).all()
    ids = np.arange(len(indices)) if graph.edge_ids is None else graph.edge_ids
    assert (graph.indices == indices[ids]).all()
    assert (graph.weights == weights[ids]).all()


def test_a_graph_is_read_in_batches(monkeypatch):
    monkeypatch.setattr("graphzero.convert.edge_feeds._BATCH", 3)
    gz.convert_edges(SAMPLES / "weighted_undirected.gl", "new.gl")
    gz.convert_edges(SAMPLES / "weighted_undirected.gl", "both.gl", directed=False)
    assert gz.Graph("new.gl").num_edges == gz.Graph("both.gl").num_edges == 14


def test_weights_can_be_left_behind():
    gz.convert_edges(SAMPLES / "weighted_directed.gl", "new.gl", weight=False)
    assert not gz.Graph("new.gl").has_weights
    with pytest.raises(ValueError, match=r"unweighted_directed.gl: weight: expected a graph with weights, found none"):
        gz.convert_edges(SAMPLES / "unweighted_directed.gl", "new.gl", weight=True)
    with pytest.raises(ValueError, match=r"weight: expected True or False for a graph, found 'w'"):
        gz.convert_edges(SAMPLES / "weighted_directed.gl", "new.gl", weight="w")


def test_a_weight_that_02_let_through_is_named():
    path = old_graph("old.gl", [0, 1, 2], [1, 0], [1, -1])
    with pytest.raises(ValueError, match=r"old.gl: .*weight.*-1"):
        gz.convert_edges(path, "new.gl")
    assert gz.convert_edges(path, "new.gl", weight=False).num_edges == 2


@pytest.mark.parametrize("name", ["unweighted_undirected.gl", "weighted_undirected.gl"])
def test_both_directions_of_an_undirected_graph_get_one_id(name):
    report = gz.convert_edges(SAMPLES / name, "new.gl", directed=False)
    graph, old = gz.Graph("new.gl", verify="full"), gz.Graph(SAMPLES / name)
    assert not graph.directed
    assert (report.num_rows, report.num_edges) == (7, 14)
    assert np.bincount(graph.edge_ids).tolist() == [2] * 7
    for node in range(6):
        assert sorted(graph.neighbors(node).tolist()) == sorted(old.neighbors(node).tolist())
    if old.has_weights:
        assert sorted(graph.weights.tolist()) == sorted(old.weights.tolist())


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        (([0, 1, 1], [1]), "1 from the smaller end and 0 from the larger"),
        (([0, 1, 2, 3], [1, 0, 2]), "2 from the smaller end and 1 from the larger"),
        (([0, 1, 1, 2], [1, 0]), "others from the larger end"),
        (([0, 1, 2], [1, 0], [1, 2]), "others from the larger end"),
    ],
    ids=["one way", "half a loop", "other ends", "other weights"],
)
def test_a_graph_that_is_not_the_same_both_ways_is_not_undirected(graph, found):
    path = old_graph("old.gl", *graph)
    with pytest.raises(
        ValueError, match=rf"old.gl: expected each edge in the lists of both its ends.*{found}; convert"
    ):
        gz.convert_edges(path, "new.gl", directed=False)
    assert not Path("new.gl").exists()


def test_a_graph_does_not_replace_its_own_source():
    path = shutil.copy(SAMPLES / "weighted_directed.gl", "old.gl")
    with pytest.raises(ValueError, match=r"old.gl: is both the source and the target"):
        gz.convert_edges(path, "old.gl")
    assert gz.Graph("old.gl").format == "GraphZero 0.2"


def test_a_broken_graph_is_refused(tmp_path):
    data = bytearray((SAMPLES / "weighted_directed.gl").read_bytes())
    with pytest.raises(gz.FormatError, match="bad file size"):
        gz.convert_edges(files.write(tmp_path / "cut.gl", data[:-1]), "new.gl")
    struct.pack_into("<q", data, 72, 5)
    with pytest.raises(gz.FormatError, match="offset 2: expected at least 5, found 4"):
        gz.convert_edges(files.write(tmp_path / "falls.gl", data), "new.gl")
    struct.pack_into("<q", data, 72, 3)
    struct.pack_into("<q", data, 128, 6)
    with pytest.raises(IndexError, match=r"far.gl: .*6"):
        gz.convert_edges(files.write(tmp_path / "far.gl", data), "new.gl")


@pytest.mark.parametrize("name", ["features_f32.gd", "features_f64.gd", "labels_i64.gd"])
def test_features_keep_type_and_content(name):
    gz.convert_features(SAMPLES / name, "new.gd")
    old, new = gz.FeatureStore(SAMPLES / name), gz.FeatureStore("new.gd", verify="full")
    assert new.format != old.format
    assert new.get_tensor().dtype == old.get_tensor().dtype
    np.testing.assert_array_equal(new.get_tensor(), old.get_tensor())


@pytest.fixture
def old_folder():
    Path("old").mkdir()
    shutil.copy(SAMPLES / "weighted_directed.gl", "old/graph.gl")
    old_features("old/features_f32.gd", np.arange(12, dtype=np.float32).reshape(6, 2))
    old_features("old/labels.gd", np.array([[0], [2], [1], [0], [1], [2]], np.int32))
    old_features("old/year.gd", np.arange(6).reshape(6, 1))
    return "old"


def test_a_folder_becomes_a_data_set(old_folder):
    Path("old/edges.csv").write_text("0,1\n")
    report = gz.convert_dataset(old_folder, "new")
    data = gz.open("new")
    assert report.layout == "graphzero-0.2"
    assert report.ignored == ("edges.csv: no file of GraphZero 0.2",)
    assert data.x.tolist() == np.arange(12).reshape(6, 2).tolist()
    node = data.nodes["node"]
    assert (node.label, node.num_classes) == ("y", 3)
    assert node["y"].get_tensor().tolist() == [0, 2, 1, 0, 1, 2]
    assert node["year"].shape == (6, 1)
    assert data.graph.weights.tolist() == gz.Graph("old/graph.gl").weights.tolist()


def test_of_several_candidates_none_is_guessed(old_folder):
    old_features("old/features_f64.gd", np.zeros((6, 2)))
    old_features("old/labels_more.gd", np.zeros((6, 1), np.int64))
    gz.convert_dataset(old_folder, "new")
    node = gz.open("new").nodes["node"]
    assert set(node.attributes) == {"features_f32", "features_f64", "labels", "labels_more", "year"}
    assert node.label is None
    gz.convert_dataset(old_folder, "new", label="labels_more", overwrite=True)
    assert gz.open("new").nodes["node"].label == "y"
    with pytest.raises(ValueError, match=r"old: label: expected one of the features of its nodes, .*, found 'class'"):
        gz.convert_dataset(old_folder, "new", label="class", overwrite=True)


def test_rows_of_other_numbers_are_left_out_and_named(old_folder):
    old_features("old/few.gd", np.zeros((4, 1)))
    old_features("old/many.gd", np.zeros((8, 1)))
    ignored = gz.convert_dataset(old_folder, "new").ignored
    assert ignored == (
        "few.gd: 4 rows for 6 nodes",
        "many.gd: 8 rows for 6 nodes; give num_nodes=8 if the graph has as many",
    )
    gz.convert_dataset(old_folder, "new", num_nodes=8, overwrite=True)
    assert gz.open("new").graph.num_nodes == 8


def test_a_folder_has_one_graph(old_folder):
    shutil.copy(SAMPLES / "weighted_directed.gl", "old/second.gl")
    with pytest.raises(ValueError, match=r"old: expected one graph of GraphZero 0.2, found graph.gl, second.gl; leave"):
        gz.convert_dataset(old_folder, "new")


def test_an_undirected_folder(old_folder):
    shutil.copy(SAMPLES / "weighted_undirected.gl", "old/graph.gl")
    gz.convert_dataset(old_folder, "new", directed=False)
    assert not gz.open("new").graph.directed

"""Files of GraphZero 0.2 open with the right arrays, under its own names for things; broken ones do not."""

import re
import struct
from pathlib import Path

import numpy as np
import pytest

import files
import graphzero as gz
from files import Broken

SAMPLES = Path(__file__).parent.parent / "data" / "graphzero02"

DIRECTED = {"indptr": [0, 3, 4, 5, 6, 6, 7], "indices": [1, 2, 2, 2, 0, 3, 1]}
UNDIRECTED = {"indptr": [0, 4, 7, 11, 13, 13, 14], "indices": [1, 2, 2, 2, 0, 2, 5, 0, 1, 0, 0, 3, 3, 1]}
GRAPHS = {
    "unweighted_directed.gl": DIRECTED,
    "unweighted_undirected.gl": UNDIRECTED,
    "weighted_directed.gl": {**DIRECTED, "weights": [0.5, 1.5, 4.0, 1.0, 2.25, 0.125, 3.0]},
    "weighted_undirected.gl": {
        **UNDIRECTED,
        "weights": [0.5, 1.5, 2.25, 4.0, 0.5, 1.0, 3.0, 1.5, 1.0, 2.25, 4.0, 0.125, 0.125, 3.0],
    },
}
ROWS = [[1.5, -2.5, 3.25], [0, 0, 0], [0.1, 0.001, 7], [4, 5, 6]]
FEATURES = {
    "features_f32.gd": np.array(ROWS, np.float32),
    "features_f64.gd": np.array(ROWS, np.float64),
    "labels_i64.gd": np.array([[7], [-3], [9007199254740993], [0]], np.int64),
}


@pytest.fixture
def weighted():
    return gz.Graph(SAMPLES / "weighted_directed.gl")


@pytest.fixture
def unweighted():
    return gz.Graph(SAMPLES / "unweighted_directed.gl")


@pytest.fixture
def features():
    return gz.FeatureStore(SAMPLES / "features_f32.gd")


@pytest.mark.parametrize("name", GRAPHS)
def test_a_sample_graph_opens_with_its_arrays(name):
    graph = gz.Graph(SAMPLES / name, verify="full")
    expected = GRAPHS[name]
    assert graph.indptr.tolist() == expected["indptr"]
    assert graph.indices.tolist() == expected["indices"]
    assert graph.indices.dtype == np.int64
    assert (graph.weights.tolist() if graph.has_weights else None) == expected.get("weights")
    assert (graph.num_nodes, graph.num_edges) == (6, len(expected["indices"]))
    assert graph.format == "GraphZero 0.2"


@pytest.mark.parametrize("name", FEATURES)
def test_a_sample_of_features_opens_with_its_array(name):
    store = gz.FeatureStore(SAMPLES / name, verify="full")
    np.testing.assert_array_equal(store.get_tensor(), FEATURES[name])
    assert store.get_tensor().dtype == FEATURES[name].dtype
    assert (store.num_nodes, store.feature_dim) == FEATURES[name].shape
    assert store.format == "GraphZero 0.2"


def test_labels_of_four_bytes_open():
    """Row 2 is left out: GraphZero 0.2 wrote no particular value where its input overflowed."""
    labels = gz.FeatureStore(SAMPLES / "labels_i32.gd").get_tensor()
    assert labels.dtype == np.int32
    assert labels[[0, 1, 3]].tolist() == [[7], [-3], [0]]


def test_lists_keep_the_order_of_the_input(unweighted):
    assert unweighted.neighbors(0).tolist() == [1, 2, 2]
    assert not unweighted.is_sorted


def test_it_is_taken_as_directed_with_an_out_index_alone(unweighted):
    assert unweighted.directed
    assert unweighted.indexes == ("out",)
    assert unweighted.edge_ids is None
    with pytest.raises(ValueError, match="has no 'in' index, only 'out'"):
        unweighted.neighbors(0, "in")


def test_properties_have_the_names_of_02(weighted, unweighted):
    assert (unweighted.num_nodes, unweighted.num_edges, unweighted.has_weights) == (6, 7, False)
    assert weighted.has_weights


def test_filename_is_a_keyword():
    path = str(SAMPLES / "unweighted_directed.gl")
    assert gz.Graph(filename=path).num_edges == 7
    assert gz.FeatureStore(filename=str(SAMPLES / "features_f32.gd")).num_nodes == 4
    with pytest.raises(TypeError, match="expected one path"):
        gz.Graph(path, filename=path)
    with pytest.raises(TypeError, match="expected one path"):
        gz.FeatureStore()


def test_get_degree_counts_neighbours(weighted):
    assert [weighted.get_degree(node_id=node) for node in range(6)] == [3, 1, 1, 1, 0, 1]
    assert type(weighted.get_degree(0)) is int


def test_get_neighbours_is_a_writable_int64_copy(weighted):
    neighbours = weighted.get_neighbours(node_id=0)
    assert neighbours.dtype == np.int64
    neighbours[:] = 5
    assert weighted.get_neighbours(0).tolist() == [1, 2, 2]
    assert weighted.get_neighbours(4).shape == (0,)


def test_get_weights_is_a_float32_copy(weighted):
    weights = weighted.get_weights(node_id=0)
    assert weights.dtype == np.float32
    weights[:] = 9
    assert weighted.get_weights(0).tolist() == [0.5, 1.5, 4.0]
    assert weighted.get_weights(4).shape == (0,)


def test_weights_of_an_unweighted_graph_are_refused(unweighted):
    with pytest.raises(ValueError, match="has no weights"):
        unweighted.get_weights(0)


@pytest.mark.parametrize("node", [-1, -2, -3, -5, -9, -10, -(2**40), 6, 7, 2**31, 2**32, 2**62])
def test_an_id_that_is_no_node_is_refused(node, weighted, features):
    for method in (weighted.get_degree, weighted.get_neighbours, weighted.get_weights):
        with pytest.raises(IndexError, match=f"node {node} .* 6 nodes"):
            method(node)
    with pytest.raises(IndexError, match=f"row {node} .* 4 rows"):
        features.get_data(node)


def test_the_last_row_and_the_one_behind_it(features):
    np.testing.assert_array_equal(features.get_data(node_id=3), np.float32([4, 5, 6]))
    with pytest.raises(IndexError, match="row 4 .* 4 rows"):
        features.get_data(4)


def test_get_data_is_a_copy_of_one_row(features):
    row = features.get_data(2)
    assert (row.shape, row.dtype) == ((3,), np.float32)
    row[:] = 0
    assert features.get_data(2)[2] == 7


def test_data_types_have_the_numbers_of_02(features):
    assert [gz.DataType(i).name for i in range(4)] == ["INT32", "INT64", "FLOAT32", "FLOAT64"]
    assert features.data_type is gz.DataType.FLOAT32 is gz.FLOAT32


def test_other_bits_of_the_flags_mean_nothing(tmp_path):
    """GraphZero 0.2 never initialised them."""
    data = bytearray((SAMPLES / "weighted_directed.gl").read_bytes())
    struct.pack_into("<Q", data, 56, 2**64 - 1)
    assert gz.Graph(files.write(tmp_path / "g.gl", data), verify="full").get_weights(0).tolist() == [0.5, 1.5, 4.0]


def test_the_smallest_file_of_02_opens(tmp_path):
    """An empty CSV gave it one node and no edges."""
    data = struct.pack("<8s7Q", b"graphlit", 16, 0, 64, 128, 1, 0, 0) + bytes(64)
    graph = gz.Graph(files.write(tmp_path / "g.gl", data), verify="full")
    assert (graph.num_nodes, graph.num_edges, graph.neighbors(0).tolist()) == (1, 0, [])


def test_rows_without_items_open(tmp_path):
    data = struct.pack("<8sIiQQ", b"GZDATA26", 0, 2, 1, 0)
    store = gz.FeatureStore(files.write(tmp_path / "x.gd", data), verify="full")
    assert (store.shape, store.get_tensor().shape, store.get_data(0).shape) == ((1, 0), (1, 0), (0,))


def test_a_graph_is_no_features_and_features_are_no_graph():
    with pytest.raises(gz.FormatError, match="is a topology file"):
        gz.FeatureStore(SAMPLES / "unweighted_directed.gl")
    with pytest.raises(gz.FormatError, match="is a feature file"):
        gz.Graph(SAMPLES / "features_f32.gd")


GL = (SAMPLES / "weighted_directed.gl").read_bytes()
GD = (SAMPLES / "features_f32.gd").read_bytes()


def gl(at, value, code="<Q"):
    copy = bytearray(GL)
    struct.pack_into(code, copy, at, value)
    return copy


def gd(at, value, code="<Q"):
    copy = bytearray(GD)
    struct.pack_into(code, copy, at, value)
    return copy


def gd_of(num_nodes, feature_dim, dtype=2):
    return struct.pack("<8sIiQQ", b"GZDATA26", 0, dtype, num_nodes, feature_dim)


BROKEN = [
    Broken("ZL1", "the magic alone", GL[:8], r"too short: expected at least the header's 64 bytes .*, found 8"),
    Broken("ZL1", "40 bytes", GL[:40], "too short: .* found 40"),
    Broken("ZL1", "a byte short of the header", GL[:63], "too short: .* found 63"),
    Broken(
        "ZL2",
        "too many nodes",
        gl(40, 2**59 + 1),
        f"bad node count at byte 40: expected at most 2.59, found {2**59 + 1}",
    ),
    Broken("ZL2", "nodes that wrap around", gl(40, 2**64 - 1), "bad node count at byte 40: expected at most 2.59"),
    Broken("ZL2", "too many edges", gl(48, 2**61), f"bad edge count at byte 48: expected at most 2.59, found {2**61}"),
    Broken("ZL3", "another node count", gl(40, 7), "bad indptr size at byte 8: expected 64, found 56"),
    Broken("ZL3", "another size of indptr", gl(8, 2**40), f"bad indptr size at byte 8: expected 56, found {2**40}"),
    Broken("ZL4", "another edge count", gl(48, 8), "bad indices size at byte 16: expected 64, found 56"),
    Broken("ZL4", "another size of indices", gl(16, 0), "bad indices size at byte 16: expected 56, found 0"),
    Broken("ZL5", "indptr elsewhere", gl(24, 72), "bad indptr offset at byte 24: expected 64, found 72"),
    Broken("ZL6", "indices elsewhere", gl(32, 2**63), f"bad indices offset at byte 32: expected 128, found {2**63}"),
    Broken("ZL7", "half a file", GL[:110], "bad file size: expected 220 bytes for 6 nodes and 7 edges, found 110"),
    Broken("ZL7", "a byte missing", GL[:-1], "bad file size: expected 220 bytes for 6 nodes and 7 edges, found 219"),
    Broken("ZL7", "a byte too many", GL + b"\0", "bad file size: expected 220 bytes .*, found 221"),
    Broken("ZL7", "weights that no flag tells of", gl(56, 0), "bad file size: expected 184 bytes .*, found 220"),
    Broken("ZD1", "the magic alone", GD[:8], "too short: expected at least the header's 32 bytes .*, found 8"),
    Broken("ZD1", "a byte short of the header", GD[:31], "too short: .* found 31"),
    Broken("ZD2", "an unknown dtype", gd(12, 4, "<i"), "bad dtype at byte 12: expected 0 to 3, found 4"),
    Broken("ZD2", "a negative dtype", gd(12, -1, "<i"), "bad dtype at byte 12: expected 0 to 3, found -1"),
    Broken("ZD3", "a product that wraps to 0", gd_of(2**62, 4), "bad shape at byte 16: .* exceeds 2.62 bytes"),
    Broken("ZD3", "no rows of a size no row can have", gd_of(0, 2**62), "bad shape at byte 16: .* exceeds 2.62 bytes"),
    Broken("ZD3", "too many empty rows", gd_of(2**64 - 1, 0), "bad shape at byte 16: .* exceeds 2.62 bytes"),
    Broken("ZD4", "a row too many", gd(16, 5), "bad file size: expected 92 bytes for 5 rows of 3, found 80"),
    Broken("ZD4", "a column too few", gd(24, 2), "bad file size: expected 64 bytes for 4 rows of 2, found 80"),
    Broken("ZD4", "a wider type", gd(12, 3, "<i"), "bad file size: expected 128 bytes for 4 rows of 3, found 80"),
    Broken("ZD4", "a byte missing", GD[:-1], "bad file size: expected 80 bytes for 4 rows of 3, found 79"),
    Broken("ZD4", "a byte too many", GD + b"\0", "bad file size: expected 80 bytes for 4 rows of 3, found 81"),
    Broken("ZD4", "2^62 rows of nothing there", gd_of(2**60, 1), f"bad file size: expected {2**62 + 32} bytes"),
]

INDPTR = r"out index: indptr .*: out_indptr"
LISTS = r"out index: lists hold valid ids: "
DAMAGED = [
    Broken("ZL8", "indptr from 1", gl(64, 1, "<q"), rf"{INDPTR}\[0\]: expected 0, found 1"),
    Broken("ZL8", "indptr falls", gl(72, 5, "<q"), rf"{INDPTR}\[2\]: expected at least 5, found 4"),
    Broken("ZL8", "indptr ends late", gl(112, 8, "<q"), rf"{INDPTR}\[6\]: expected the edge count 7, found 8"),
    Broken(
        "ZL9", "a destination too large", gl(128, 6, "<q"), rf"{LISTS}out_indices\[0\] of node 0: .* below 6, found 6"
    ),
    Broken("ZL9", "a negative one", gl(176, -1, "<q"), rf"{LISTS}out_indices\[6\] of node 5: .* below 6, found -1"),
    Broken("ZL10", "a negative weight", gl(192, -1, "<f"), rf"{LISTS}out_weights\[0\]: expected a finite .*, found -1"),
    Broken(
        "ZL10", "no number", gl(216, float("nan"), "<f"), rf"{LISTS}out_weights\[6\]: expected a finite .*, found nan"
    ),
]


def store_of(broken):
    return gz.FeatureStore if broken.invariant.startswith("ZD") else gz.Graph


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_a_broken_header_does_not_open(broken, tmp_path):
    path = files.write(tmp_path / "broken", broken.data)
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: {broken.message}"):
        store_of(broken)(path)
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: {broken.message}"):
        gz.verify(path)


@pytest.mark.parametrize("broken", DAMAGED, ids=str)
def test_damage_behind_the_header_is_found_by_a_full_check(broken, tmp_path):
    path = files.write(tmp_path / "damaged", broken.data)
    gz.Graph(path).close()
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: {broken.message}"):
        gz.Graph(path, verify="full")
    problems = [f"{check.name}: {check.problem}" for check in gz.verify(path) if not check.holds]
    assert re.match(broken.message, problems[0])


def test_every_invariant_has_a_broken_file():
    assert {case.invariant for case in BROKEN} == set(files.invariants("graphzero-0.2.md", "O(1)"))
    assert {case.invariant for case in DAMAGED} == set(files.invariants("graphzero-0.2.md", "full"))


@pytest.mark.parametrize(("data", "store"), [(GL, gz.Graph), (GD, gz.FeatureStore)], ids=["gl", "gd"])
def test_a_file_cut_anywhere_does_not_open(data, store, tmp_path):
    for length in range(len(data)):
        path = files.write(tmp_path / "cut", data[:length])
        with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: "):
            store(path)


def test_a_corrupt_offset_is_refused_where_it_is_followed(tmp_path):
    graph = gz.Graph(files.write(tmp_path / "g.gl", gl(72, 2**40, "<q")))
    for method in (graph.get_degree, graph.get_neighbours, graph.get_weights):
        with pytest.raises(gz.FormatError, match="corrupt indptr at node 0: .* found begin 0, end 1099511627776"):
            method(0)

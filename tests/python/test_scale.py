"""Counts beyond 2^31 and 2^32 are ordinary. The files are sparse: their size is an illusion."""

import struct
import time

import numpy as np
import pytest

import files
import graphzero as gz
from files import BIPARTITE, DIRECTED, KINDS, STORED, Section

MANY = 2**32 + 10


def sparse_gl(path, pieces, *, num_nodes, num_edges, num_input_edges=None, flags=DIRECTED, **dtypes):
    """A graph of zeros but for ``pieces`` {(section, item): values}; ``dtypes`` name its sections."""
    pair = num_nodes if isinstance(num_nodes, tuple) else (num_nodes, num_nodes)
    sections = []
    for name, dtype in dtypes.items():
        count = num_edges if not name.endswith("indptr") else pair[name.startswith("in")] + 1
        sections.append(Section(KINDS[name], dtype, length=count * STORED[dtype].itemsize, checksum=0))
    fields = struct.pack("<QQQQ", *pair, num_edges, num_edges if num_input_edges is None else num_input_edges)
    placed = {}
    for (name, item), values in pieces.items():
        stored = STORED[dtypes[name]]
        placed[KINDS[name], item * stored.itemsize] = np.array(values, stored)
    files.write_sparse(path, files.Container(files.MAGIC["gl"], flags, fields, sections), placed)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "huge"
    yield path
    path.unlink()
    assert not path.exists()


@pytest.fixture
def huge(path):
    """More than 2^32 nodes and edges. The last node has three edges; node 5 has 2^32 + 1."""
    num_nodes, num_edges, hub = MANY, 2**33 + 7, 2**32 + 1
    sparse_gl(
        path,
        {
            ("out_indptr", 6): [hub] * 3,
            ("out_indptr", num_nodes - 2): [num_edges - 4, num_edges - 3, num_edges],
            ("out_indices", hub - 2): [2**31, 2**32 + 9],
            ("out_indices", num_edges - 4): [7, 3, 2**32 + 1, 2**32 + 9],
            ("out_edge_ids", num_edges - 4): [1, 2, 3, 2**33],
            ("out_weights", num_edges - 3): [0.5, 1.5, 2.5],
            ("out_times", num_edges - 1): [2**62],
        },
        num_nodes=num_nodes,
        num_edges=num_edges,
        out_indptr="int64",
        out_indices="int64",
        out_edge_ids="int64",
        out_weights="float32",
        out_times="int64",
    )
    return gz.Graph(path)


def test_counts_beyond_2_to_the_32(huge):
    assert (huge.num_nodes, huge.num_edges) == (2**32 + 10, 2**33 + 7)
    assert huge.id_dtype == np.int64
    assert len(huge.indptr) == 2**32 + 11
    assert len(huge.indices) == len(huge.edge_ids) == len(huge.weights) == len(huge.times) == 2**33 + 7


def test_lists_near_the_far_end(huge):
    last = huge.num_nodes - 1
    assert huge.neighbors(last).tolist() == [3, 2**32 + 1, 2**32 + 9]
    assert huge.get_neighbours(last - 1).tolist() == [7]
    assert huge.get_weights(last).tolist() == [0.5, 1.5, 2.5]
    assert huge.edge_ids[-1] == 2**33
    assert huge.times[-1] == 2**62
    assert huge.degree([last, 0, last - 1, 5, 6]).tolist() == [3, 0, 1, 2**32 + 1, 0]


def test_a_hub_beyond_2_to_the_32(huge):
    assert huge.get_degree(5) == 2**32 + 1
    neighbors = huge.neighbors(5)
    assert neighbors.shape == (2**32 + 1,)
    assert neighbors[-2:].tolist() == [2**31, 2**32 + 9]


def test_the_node_behind_the_last_is_refused(huge):
    for node in (huge.num_nodes, huge.num_nodes + 2**32, -1, -(2**32)):
        with pytest.raises(IndexError, match=f"node {node} .* which has 4294967306 nodes"):
            huge.neighbors(node)
        with pytest.raises(IndexError, match=f"node {node} at position 1 .* 4294967306 nodes"):
            huge.degree([0, node])


def test_a_hole_is_refused_where_its_offsets_make_no_list(huge):
    """Behind node 8 the offsets are holes: 0 after 2^32 + 1."""
    with pytest.raises(gz.FormatError, match="corrupt indptr at node 8: .* found begin 4294967297, end 0"):
        huge.neighbors(8)


@pytest.mark.no_tsan  # its shadow leaves less address space than the file asks for
def test_opening_takes_neither_time_nor_memory(path, huge, tiny):
    before, start = gz.memory_report(tiny).anonymous, time.process_time()
    graphs = [gz.Graph(path) for _ in range(20)]
    assert time.process_time() - start < 1
    assert gz.memory_report(tiny).anonymous - before < 4 << 20
    assert graphs[-1].nbytes > 200 << 30


def test_few_nodes_with_many_edges_have_ids_of_four_bytes(path):
    num_edges = 2**32 + 7
    pieces = {
        ("in_indptr", 1): [num_edges - 2, num_edges - 2, num_edges],
        ("in_indices", num_edges - 2): [0, 2],
    }
    dtypes = {"in_indptr": "int64", "in_indices": "int32"}
    sparse_gl(path, pieces, num_nodes=3, num_edges=num_edges, **dtypes)
    graph = gz.Graph(path)
    assert graph.id_dtype == np.int32
    assert graph.neighbors(2, "in").tolist() == [0, 2]
    assert graph.degree([0, 1, 2], "in").tolist() == [2**32 + 5, 0, 2]


def test_two_sides_beyond_2_to_the_32(path):
    """A bipartite graph names nodes of the other side, which alone may be the large one."""
    sparse_gl(
        path,
        {("out_indptr", 1): [2], ("out_indices", 0): [5, MANY - 1], ("in_indptr", MANY): [2]},
        num_nodes=(1, MANY),
        num_edges=2,
        flags=DIRECTED | BIPARTITE,
        out_indptr="int64",
        out_indices="int64",
        in_indptr="int64",
        in_indices="int64",
    )
    graph = gz.Graph(path)
    assert (graph.num_src_nodes, graph.num_dst_nodes) == (1, MANY)
    assert graph.neighbors(0).tolist() == [5, MANY - 1]
    assert graph.neighbors(MANY - 1, "in").tolist() == [0, 0]


def test_node_ids_switch_to_eight_bytes_behind_2_to_the_31(path):
    for num_nodes in (2**31 - 1, 2**31):
        last = num_nodes - 1
        pieces = {("out_indptr", num_nodes): [1], ("out_indices", 0): [last]}
        sparse_gl(path, pieces, num_nodes=num_nodes, num_edges=1, out_indptr="int64", out_indices="int32")
        assert gz.Graph(path).neighbors(last).tolist() == [last]
    sparse_gl(path, {}, num_nodes=2**31 + 1, num_edges=1, out_indptr="int64", out_indices="int32")
    with pytest.raises(
        gz.FormatError, match="out_indices at byte 300: expected int64 for ids up to 2147483648, found int32"
    ):
        gz.Graph(path)
    pieces = {("out_indptr", 2**31 + 1): [1], ("out_indices", 0): [2**31]}
    sparse_gl(path, pieces, num_nodes=2**31 + 1, num_edges=1, out_indptr="int64", out_indices="int64")
    assert gz.Graph(path).neighbors(2**31).tolist() == [2**31]


def test_edge_ids_switch_to_eight_bytes_behind_2_to_the_31(path):
    dtypes = {"out_indptr": "int64", "out_indices": "int32"}
    pieces = {("out_indptr", 1): [1, 1], ("out_edge_ids", 0): [2**31 - 1]}
    sizes = {"num_nodes": 2, "num_edges": 1}
    sparse_gl(path, pieces, **sizes, num_input_edges=2**31, **dtypes, out_edge_ids="int32")
    assert gz.Graph(path).edge_ids.tolist() == [2**31 - 1]
    sparse_gl(path, pieces, **sizes, num_input_edges=2**31 + 1, **dtypes, out_edge_ids="int32")
    with pytest.raises(gz.FormatError, match="out_edge_ids at byte 340: expected int64 for ids up to 2147483648"):
        gz.Graph(path)
    sparse_gl(path, pieces, **sizes, num_input_edges=2**31 + 1, **dtypes, out_edge_ids="int64")
    assert gz.Graph(path).edge_ids.dtype == np.int64


def test_features_beyond_2_to_the_32_rows(path):
    shape = (MANY, 4)
    fields = struct.pack("<IIQQ", files.DTYPES.index("float32"), 2, *shape)
    section = Section(files.DATA, "float32", length=MANY * 16, checksum=0)
    container = files.Container(files.MAGIC["gd"], 0, fields, [section])
    files.write_sparse(path, container, {(files.DATA, (MANY - 1) * 16): np.float32([1, 2, 3, 4])})
    store = gz.FeatureStore(path)
    assert (store.shape, store.nbytes) == (shape, 4096 + files.round_up(MANY * 16))
    assert store.get_data(MANY - 1).tolist() == [1, 2, 3, 4]
    assert store.get_data(MANY - 2).tolist() == [0, 0, 0, 0]
    assert store.get_tensor()[-1].tolist() == [1, 2, 3, 4]
    assert store.get_tensor(writable=False)[2**32 + 9].tolist() == [1, 2, 3, 4]
    with pytest.raises(IndexError, match=f"row {MANY} .* which has {MANY} rows"):
        store.get_data(MANY)


def test_a_truncated_file_of_any_size_does_not_open(path, huge):
    size = path.stat().st_size
    with open(path, "r+b") as file:
        file.truncate(2**32)
    with pytest.raises(
        gz.FormatError, match=f"bad file size at byte 24: expected {size} bytes .*, found {2**32} bytes"
    ):
        gz.Graph(path)

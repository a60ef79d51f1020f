"""Mounted graphs: what they hold, how they end, and what they say to bad arguments."""

import copy
import os
import pathlib
import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import graphzero as gz
import oracle
from systems import NO_DROPPING, NO_REPLACING, NO_USAGE, posix_only, resource


def test_counts_and_flags(tiny):
    assert (tiny.num_nodes, tiny.num_edges, tiny.num_input_edges) == (4, 4, 4)
    assert (tiny.directed, tiny.bipartite, tiny.has_weights, tiny.has_times) == (True, False, False, False)
    assert tiny.indexes == ("out", "in")
    assert tiny.id_dtype == np.int32
    assert tiny.is_sorted
    assert tiny.format == "1"


def test_both_indexes_are_arrays_over_the_file(tiny):
    out, into = tiny.index("out"), tiny.index("in")
    assert out.indptr.tolist() == [0, 2, 3, 3, 4]
    assert out.indices.tolist() == [1, 2, 2, 0]
    assert out.edge_ids is None  # the input was in order already
    assert into.indptr.tolist() == [0, 1, 2, 4, 4]
    assert into.indices.tolist() == [3, 0, 0, 1]
    assert into.edge_ids.tolist() == [3, 0, 1, 2]
    assert tiny.indptr.dtype == np.int64
    assert tiny.indices.tolist() == out.indices.tolist()


def test_neighbors_are_zero_copy_views(tiny):
    assert tiny.neighbors(0).tolist() == [1, 2]
    assert tiny.neighbors(2).tolist() == []
    assert tiny.neighbors(2, "in").tolist() == [0, 1]
    address = tiny.indices.__array_interface__["data"][0]
    assert tiny.neighbors(1).__array_interface__["data"][0] == address + 2 * 4


@pytest.mark.parametrize("view", [lambda g: g.indptr, lambda g: g.indices, lambda g: g.neighbors(0)])
def test_topology_views_refuse_writes(tiny, view):
    with pytest.raises(ValueError, match="read-only"):
        view(tiny)[0] = 1


def test_degree_takes_lists_arrays_and_tensors(tiny):
    torch = pytest.importorskip("torch")
    for nodes in ([0, 1, 2, 3], range(4), np.arange(4, dtype=np.uint8), np.arange(8)[::2] // 2, torch.arange(4)):
        assert tiny.degree(nodes).tolist() == [2, 1, 0, 1]
    assert tiny.degree([2], "in").tolist() == [2]
    assert tiny.degree([]).tolist() == []
    assert tiny.degree([0]).dtype == np.int64


@pytest.mark.parametrize("position", [0, 7_000, 13_999])
@pytest.mark.parametrize("bad", [-1, 4, 2**40, -(2**63)])
def test_a_bad_id_is_named_with_its_position(tiny, bad, position):
    nodes = np.zeros(14_000, dtype=np.int64)
    nodes[position:] = bad
    with pytest.raises(IndexError, match=rf"node {bad} at position {position} is not in .*tiny.gl, which has 4 nodes"):
        tiny.degree(nodes)


@pytest.mark.parametrize("method", ["neighbors", "get_degree", "get_neighbours"])
@pytest.mark.parametrize("bad", [-1, 4, 2**62])
def test_a_single_bad_id_is_named(tiny, method, bad):
    with pytest.raises(IndexError, match=f"node {bad} "):
        getattr(tiny, method)(bad)


def test_ids_that_are_not_integers_are_refused(tiny):
    with pytest.raises(TypeError, match="nodes: expected integers, found float64"):
        tiny.degree([0.0, 1.0])
    with pytest.raises(TypeError, match="nodes: expected integers, found bool"):
        tiny.degree([True])
    with pytest.raises(TypeError, match="nodes: expected integers, found <U1"):
        tiny.degree(["0"])
    with pytest.raises(TypeError, match="node: expected an integer, found 1.5"):
        tiny.neighbors(1.5)
    with pytest.raises(ValueError, match=r"nodes: expected one dimension, found shape \(1, 2\)"):
        tiny.degree([[0, 1]])
    with pytest.raises(IndexError, match=r"nodes\[1\]: expected an integer below 2\^63, found 9223372036854775808"):
        tiny.degree(np.array([0, 2**63], dtype=np.uint64))
    with pytest.raises(ValueError, match="nodes: expected a regular array, found rows of different lengths"):
        tiny.degree([[0], [1, 2]])


def test_a_direction_that_does_not_exist_is_refused(tiny):
    with pytest.raises(ValueError, match="direction: expected 'out' or 'in', found 'up'"):
        tiny.neighbors(0, "up")


def test_an_index_that_is_not_stored_is_named(tmp_path):
    path = tmp_path / "out.gl"
    gz.write_graph(path, [0], [1], index="out")
    g = gz.Graph(path)
    assert g.indexes == ("out",)
    with pytest.raises(ValueError, match=r"has no 'in' index, only 'out'; write the graph with index=\"both\""):
        g.degree([0], "in")
    gz.write_graph("in.gl", [0], [1], index="in")
    g = gz.Graph("in.gl")
    assert g.neighbors(1, "in").tolist() == [0]
    with pytest.raises(ValueError, match="has no 'out' index"):
        _ = g.indptr


def test_an_undirected_graph_stores_each_edge_both_ways(tmp_path):
    gz.write_graph("u.gl", [0, 1, 2], [1, 2, 2], directed=False, weight=[1, 2, 3])
    g = gz.Graph("u.gl")
    assert (g.num_edges, g.num_input_edges, g.directed, g.indexes) == (6, 3, False, ("out", "in"))
    assert g.neighbors(1).tolist() == g.neighbors(1, "in").tolist() == [0, 2]
    assert g.neighbors(2).tolist() == [1, 2, 2]
    assert g.index("in").edge_ids.tolist() == [0, 0, 1, 1, 2, 2]
    assert g.weights.tolist() == [1, 1, 2, 2, 3, 3]
    assert all(check.holds for check in gz.verify("u.gl"))


def test_a_bipartite_graph_has_two_node_counts(tmp_path):
    gz.write_graph("b.gl", [0, 4], [1, 0], num_nodes=(5, 2))
    g = gz.Graph("b.gl")
    assert (g.num_src_nodes, g.num_dst_nodes, g.bipartite) == (5, 2, True)
    assert g.neighbors(4).tolist() == [0]
    assert g.neighbors(1, "in").tolist() == [0]
    assert "5 → 2 nodes" in repr(g)
    with pytest.raises(ValueError, match="is bipartite; use num_src_nodes and num_dst_nodes"):
        _ = g.num_nodes
    with pytest.raises(IndexError, match="node 2 .* 2 nodes"):
        g.neighbors(2, "in")


def test_lists_with_times_are_sorted_by_time(tmp_path):
    gz.write_graph("t.gl", [0, 0, 0], [2, 1, 1], time=[5, 9, 1])
    g = gz.Graph("t.gl")
    assert g.neighbors(0).tolist() == [1, 2, 1]
    assert g.times.tolist() == [1, 5, 9]
    assert g.edge_ids.tolist() == [2, 0, 1]
    gz.write_graph("d.gl", [0], [0], time=np.array(["1970-01-02"], dtype="datetime64[D]"))
    assert gz.Graph("d.gl").times.tolist() == [1]


def test_classic_methods(tmp_path):
    gz.write_graph("w.gl", [0, 0, 1], [2, 1, 0], weight=[0.5, 1.5, 2.5])
    g = gz.Graph(filename="w.gl")
    assert g.get_degree(node_id=0) == 2
    neighbours = g.get_neighbours(0)
    assert neighbours.dtype == np.int64
    assert neighbours.tolist() == [1, 2]
    assert g.get_weights(0).tolist() == [1.5, 0.5]
    neighbours[0] = 9  # a copy, as in GraphZero 0.2
    assert g.has_weights is True


def test_weights_that_are_not_there_are_named(tiny):
    assert tiny.weights is None
    with pytest.raises(ValueError, match=r"tiny.gl: has no weights; write the graph with weight="):
        tiny.get_weights(0)


def test_views_outlive_del_and_close(tiny_gl):
    g = gz.Graph(tiny_gl)
    indices, neighbors = g.indices, g.neighbors(0)
    g.close()
    g.close()
    del g
    assert indices.tolist() == [1, 2, 2, 0]
    assert neighbors.tolist() == [1, 2]


def test_a_closed_graph_says_so(tiny_gl):
    with gz.Graph(tiny_gl) as g:
        assert not g.closed
    assert g.closed
    assert repr(g) == f"Graph({tiny_gl!r}, closed)"
    for use in (lambda: g.num_nodes, lambda: g.degree([0]), lambda: g.indptr, lambda: pickle.dumps(g)):
        with pytest.raises(ValueError, match="tiny.gl: this Graph is closed; open it again to use it"):
            use()


def test_paths_may_be_objects_or_bytes(tiny_gl):
    for path in (pathlib.Path(tiny_gl), tiny_gl.encode()):
        assert gz.Graph(path).num_nodes == 4
    with pytest.raises(TypeError, match="expected one path"):
        gz.Graph()


def test_repr_tells_what_it_is(tmp_path):
    gz.write_graph("g.gl", [0, 1], [1, 0], num_nodes=1_234_567, weight=[1, 2], time=[1, 2])
    text = repr(gz.Graph("g.gl"))
    assert text.startswith(
        "Graph('g.gl': 1,234,567 nodes, 2 edges, directed, out+in index, int32 ids, weighted, timed, "
    )
    assert text.endswith(" MB)")


def test_pickle_and_copy_reopen_the_file(tiny, monkeypatch, tmp_path):
    data = pickle.dumps(tiny)
    assert len(data) < 1000
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert pickle.loads(data).neighbors(0).tolist() == [1, 2]
    assert copy.copy(tiny).num_edges == copy.deepcopy(tiny).num_edges == 4


@posix_only(reason=NO_REPLACING)
def test_a_pickle_of_a_changed_file_is_refused(tiny, tiny_gl):
    data = pickle.dumps(tiny)
    gz.write_graph(tiny_gl, [0], [1])
    with pytest.raises(gz.FormatError, match="the file changed since it was pickled: expected fingerprint .*, found"):
        pickle.loads(data)
    assert tiny.num_edges == 4  # the open one still maps the old file


@settings(max_examples=60, deadline=None)
@given(
    edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-3, 3), st.integers(0, 5)), max_size=40),
    directed=st.booleans(),
    with_times=st.booleans(),
    threads=st.sampled_from([1, 2, 8]),
)
def test_any_edge_list_is_stored_as_the_oracle_says(tmp_path_factory, edges, directed, with_times, threads):
    path = tmp_path_factory.mktemp("any") / "g.gl"
    src, dst, time, weight = (list(column) for column in zip(*edges, strict=True)) if edges else ([], [], [], [])
    gz.set_num_threads(threads)
    gz.write_graph(path, src, dst, num_nodes=10, weight=weight, time=time if with_times else None, directed=directed)
    gz.set_num_threads(0)
    g = gz.Graph(path, verify="full")
    for direction in g.indexes:
        index = g.index(direction)
        edge_ids = index.edge_ids if index.edge_ids is not None else np.arange(g.num_edges)
        for node in range(10):
            expected = oracle.list_of(
                node, src, dst, direction=direction, directed=directed, time=time if with_times else None
            )
            part = slice(index.indptr[node], index.indptr[node + 1])
            found = list(zip(index.indices[part].tolist(), edge_ids[part].tolist(), strict=True))
            assert found == expected
            assert index.weights[part].tolist() == [weight[edge] for _, edge in expected]
            if with_times:
                assert index.times[part].tolist() == [time[edge] for _, edge in expected]


BAD_EDGES = [
    ({"src": [0, -1], "dst": [0, 0]}, IndexError, r"edge 1: expected a source id from 0 to 2\^59 - 1, found -1"),
    ({"src": [0], "dst": [-7]}, IndexError, r"edge 0: expected a destination id from 0 to 2\^59 - 1, found -7"),
    (
        {"src": [0], "dst": [5], "num_nodes": 5},
        IndexError,
        "edge 0: expected a destination id below num_nodes = 5, found 5",
    ),
    ({"src": [3], "dst": [0], "num_nodes": (3, 9)}, IndexError, "edge 0: expected a source id below num_nodes = 3"),
    ({"src": [0, 1], "dst": [0]}, ValueError, "dst: expected 2 items, as many as src has, found 1"),
    ({"src": [0], "dst": [0], "weight": [1, 2]}, ValueError, "weight: expected 1 items, as many as src has, found 2"),
    ({"src": [0], "dst": [0], "time": []}, ValueError, "time: expected 1 items, as many as src has, found 0"),
    ({"src": [0.5], "dst": [0]}, TypeError, "src: expected integers, found float64"),
    ({"src": [[0, 1], [1, 2]], "dst": [0]}, ValueError, r"src: expected one dimension, found shape \(2, 2\)"),
    ({"src": [0], "dst": [0], "weight": [-1]}, ValueError, "edge 0: expected a weight that is finite .* found -1"),
    ({"src": [0], "dst": [0], "weight": [np.nan]}, ValueError, "edge 0: .* found nan"),
    ({"src": [0], "dst": [0], "weight": [1e300]}, ValueError, "edge 0: .* found inf"),
    ({"src": [0], "dst": [0], "weight": ["x"]}, TypeError, "weight: expected numbers, found <U1"),
    ({"src": [0], "dst": [0], "time": [0.5]}, TypeError, "time: expected integers, found float64"),
    (
        {"src": [0], "dst": [0], "time": np.array(["NaT"], "M8[s]")},
        ValueError,
        r"time\[0\]: expected a time, found NaT",
    ),
    ({"src": [0], "dst": [0], "num_nodes": -1}, ValueError, r"num_nodes: expected 0 to 2\^59, found -1"),
    ({"src": [0], "dst": [0], "num_nodes": 2**60}, ValueError, r"num_nodes: expected 0 to 2\^59"),
    ({"src": [0], "dst": [0], "num_nodes": 1.5}, TypeError, "num_nodes: expected an integer, found 1.5"),
    ({"src": [0], "dst": [0], "num_nodes": (1, 2, 3)}, ValueError, "num_nodes: expected a number or a pair"),
    ({"src": [0], "dst": [0], "num_nodes": 2**50}, OSError, "needs about .* of disk, and .* are free"),
    ({"src": [2**50], "dst": [0]}, ValueError, "the largest id is 1125899906842624, but there are only 1 edges"),
    ({"src": [2**61], "dst": [0]}, IndexError, r"edge 0: expected a source id from 0 to 2\^59 - 1"),
    ({"src": [0], "dst": [0], "index": "all"}, ValueError, "index: expected 'both', 'out' or 'in', found 'all'"),
    ({"src": [0], "dst": [0], "num_nodes": (1, 1), "directed": False}, ValueError, "a bipartite graph is directed"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD_EDGES)
def test_bad_edges_are_named_and_leave_the_target_alone(tmp_path, arguments, error, message):
    target = tmp_path / "g.gl"
    target.write_bytes(b"precious")
    with pytest.raises(error, match=message):
        gz.write_graph(target, **arguments)
    assert target.read_bytes() == b"precious"
    assert [path.name for path in tmp_path.iterdir()] == ["g.gl"]


def test_an_empty_graph_is_a_graph(tmp_path):
    gz.write_graph("e.gl", [], [])
    g = gz.Graph("e.gl", verify="full")
    assert (g.num_nodes, g.num_edges) == (0, 0)
    gz.write_graph("n.gl", [], [], num_nodes=3)
    assert gz.Graph("n.gl", verify="full").degree([0, 1, 2]).tolist() == [0, 0, 0]


@posix_only(reason=NO_REPLACING)
def test_writing_does_not_disturb_a_reader(tiny, tiny_gl):
    before = tiny.indices
    gz.write_graph(tiny_gl, [0] * 100, range(100))
    assert before.tolist() == tiny.indices.tolist() == [1, 2, 2, 0]
    assert gz.Graph(tiny_gl).num_edges == 100


def test_the_file_does_not_depend_on_the_number_of_threads(tmp_path):
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 500, (2, 20_000))
    for threads in (1, 2, 8):
        gz.set_num_threads(threads)
        gz.write_graph(f"{threads}.gl", src, dst)
    gz.set_num_threads(0)
    assert (tmp_path / "1.gl").read_bytes() == (tmp_path / "2.gl").read_bytes() == (tmp_path / "8.gl").read_bytes()


def test_a_missing_file_is_caught_as_such(tmp_path):
    """Python 3.10 compares the class an error was raised with, so this is no place for pytest.raises."""
    caught = None
    try:
        gz.Graph("missing.gl")
    except FileNotFoundError as error:
        caught = error
    assert caught is not None
    assert (caught.errno, caught.filename) == (2, "missing.gl")


@posix_only(reason=NO_DROPPING)
def test_preload_brings_the_whole_file_into_the_page_cache(tmp_path):
    path = str(tmp_path / "g.gl")
    rng = np.random.default_rng(0)
    gz.write_graph(path, rng.integers(0, 1000, 500_000), rng.integers(0, 1000, 500_000))
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    graph = gz.Graph(path)
    before = graph.memory_report().files[0].resident
    graph.preload()
    after = graph.memory_report().files[0].resident
    assert before is None or before < graph.nbytes // 2
    assert after is None or after >= graph.nbytes
    assert graph.degree([0]) == np.diff(graph.indptr)[0]


@posix_only(reason=NO_USAGE)
@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_few_edges_are_written_without_touching_much_memory(tmp_path):
    src, dst = np.random.default_rng(0).integers(0, 2000, (2, 20_000))
    gz.write_graph(tmp_path / "g.gl", src, dst)  # what is touched once in a process
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    gz.write_graph(tmp_path / "g.gl", src, dst)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) * resource.getpagesize() < 4 << 20


def test_sparse_ids_are_refused_before_a_file_is_written(tmp_path):
    path = tmp_path / "g.gl"
    message = (
        r"^src, dst: the largest id is 2147483646, but there are only 2 edges: the ids look sparse, and an index over "
        r"all of them would take 17\.2 GB; give num_nodes= if they are meant to be dense; convert_edges numbers them "
        r"with ids='map'$"
    )
    with pytest.raises(ValueError, match=message):
        gz.write_graph(path, [0, 5], [7, 2**31 - 2])
    assert not path.exists()
    gz.write_graph(path, [0], [2**17], num_nodes=2**17 + 1)
    assert gz.Graph(path).num_nodes == 2**17 + 1

"""has_edges says of every pair whether it is an edge, in every kind of file."""

import os
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import files
import graphzero as gz
import oracle
from systems import NO_CUT, posix_only

SAMPLES = Path(__file__).parent.parent / "data" / "graphzero02"


def all_pairs(num_src, num_dst):
    return np.repeat(np.arange(num_src), num_dst), np.tile(np.arange(num_dst), num_src)


def agrees_with_the_oracle(graph, src, dst, *, directed=True):
    edges = oracle.edge_set(src, dst, directed=directed)
    u, v = all_pairs(graph.num_src_nodes, graph.num_dst_nodes)
    return graph.has_edges(u, v).tolist() == [pair in edges for pair in zip(u.tolist(), v.tolist(), strict=True)]


@st.composite
def graphs(draw):
    num_src, num_dst = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    options = {"index": draw(st.sampled_from(["both", "out", "in"])), "num_nodes": (num_src, num_dst)}
    if draw(st.booleans()):
        num_dst = num_src
        options["num_nodes"] = num_src
        options["directed"] = draw(st.booleans())
    pairs = draw(st.lists(st.tuples(st.integers(0, num_src - 1), st.integers(0, num_dst - 1)), max_size=60))
    if draw(st.booleans()):
        options["time"] = draw(st.lists(st.integers(0, 9), min_size=len(pairs), max_size=len(pairs)))
    return [u for u, _ in pairs], [v for _, v in pairs], options


@settings(max_examples=150)
@given(graphs())
def test_every_pair_of_every_kind_of_graph(graph):
    src, dst, options = graph
    gz.write_graph("g.gl", src, dst, **options)
    assert agrees_with_the_oracle(gz.Graph("g.gl"), src, dst, directed=options.get("directed", True))


@pytest.mark.parametrize("index", ["both", "out", "in"])
def test_long_lists_are_searched_to_their_ends(index):
    hub = np.arange(0, 3000, 3)
    gz.write_graph("hub.gl", np.zeros_like(hub), hub, num_nodes=3000, index=index)
    found = gz.Graph("hub.gl").has_edges(np.zeros(3000, np.int64), np.arange(3000))
    assert np.flatnonzero(found).tolist() == hub.tolist()


def test_the_file_of_a_hub_and_its_readers_agree_either_way_round():
    """The list of the hub is long on one side and those of its neighbours short on the other."""
    leaves = np.arange(1, 500)
    src, dst = np.r_[np.zeros_like(leaves), leaves[::2]], np.r_[leaves, np.zeros_like(leaves[::2])]
    gz.write_graph("star.gl", src, dst)
    g = gz.Graph("star.gl")
    assert g.has_edges(np.zeros(500, np.int64), np.arange(500)).tolist() == [False] + [True] * 499
    assert g.has_edges(np.arange(500), np.zeros(500, np.int64)).tolist() == [node % 2 == 1 for node in range(500)]


@pytest.mark.parametrize("name", ["unweighted_directed.gl", "weighted_undirected.gl"])
def test_files_of_graphzero02(name):
    g = gz.Graph(SAMPLES / name)
    assert not g.is_sorted
    src = np.repeat(np.arange(g.num_nodes), np.diff(g.indptr)).tolist()
    assert agrees_with_the_oracle(g, src, g.indices.tolist())


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_more_pairs_than_one_thread_takes_at_a_time(tiny, threads):
    src, dst = np.tile(np.arange(4), 5000), np.tile(np.arange(4)[::-1], 5000)
    gz.set_num_threads(threads)
    try:
        assert tiny.has_edges(src, dst).tolist() == [False, True, False, True] * 5000
    finally:
        gz.set_num_threads(0)


def test_lists_arrays_and_tensors_are_welcome(tiny):
    torch = pytest.importorskip("torch")
    for make in (list, tuple, np.array, torch.tensor, lambda ids: np.array(ids, np.uint8)):
        found = tiny.has_edges(make([0, 2, 3]), make([1, 0, 0]))
        assert found.tolist() == [True, False, True]
        assert found.dtype == np.bool_
    assert tiny.has_edges([], []).tolist() == []


def test_ids_that_are_not_there_are_named_with_their_position(tiny):
    with pytest.raises(IndexError, match=r"src\[1\]: node 4 is not in .*tiny.gl, which has 4 nodes \(0 to 3\)"):
        tiny.has_edges([0, 4], [0, 0])
    with pytest.raises(IndexError, match=r"dst\[2\]: node -1 is not in .*tiny.gl"):
        tiny.has_edges([0, 1, 2], [0, 0, -1])


def test_each_side_of_a_bipartite_graph_has_its_own_bound():
    gz.write_graph("b.gl", [0, 4], [1, 0], num_nodes=(5, 2))
    g = gz.Graph("b.gl")
    assert g.has_edges([4, 4], [0, 1]).tolist() == [True, False]
    with pytest.raises(IndexError, match=r"src\[0\]: node 5 is not in b.gl, which has 5 nodes"):
        g.has_edges([5], [0])
    with pytest.raises(IndexError, match=r"dst\[0\]: node 2 is not in b.gl, which has 2 nodes"):
        g.has_edges([0], [2])


def test_lengths_and_types_that_do_not_fit_are_refused(tiny):
    with pytest.raises(ValueError, match="src and dst: expected equal lengths, found 2 and 1"):
        tiny.has_edges([0, 1], [0])
    with pytest.raises(TypeError, match="dst: expected integers, found float64"):
        tiny.has_edges([0], [0.5])
    with pytest.raises(ValueError, match=r"src: expected one dimension, found shape \(1, 1\)"):
        tiny.has_edges([[0]], [0])


def corrupt(name, array, *, index="both"):
    """The tiny graph with one of its arrays replaced."""
    gz.write_graph("good.gl", [0, 0, 1, 3], [1, 2, 2, 0], index=index)
    arrays = dict(files.read_gl(Path("good.gl").read_bytes()).arrays)
    arrays[name] = np.array(array, arrays[name].dtype)
    return gz.Graph(files.write("bad.gl", files.build(files.gl(arrays, num_nodes=4, num_input_edges=4))))


def test_a_corrupt_offset_is_found():
    with pytest.raises(gz.FormatError, match=r"bad.gl: corrupt indptr at node 1: .* found begin 9, end 3"):
        corrupt("out_indptr", [0, 9, 3, 3, 4]).has_edges([1], [2])
    with pytest.raises(gz.FormatError, match=r"bad.gl: corrupt indptr at node 0: .* found begin 0, end -2"):
        corrupt("in_indptr", [0, -2, 2, 4, 4], index="in").has_edges([1], [0])


def test_a_corrupt_id_is_found():
    with pytest.raises(gz.FormatError, match=r"corrupt indices at entry 2: expected a node id below 4, found 77"):
        corrupt("out_indices", [1, 2, 77, 0], index="out").has_edges([1], [2])


@posix_only(reason=NO_CUT)
def test_a_file_that_shrank_is_named():
    gz.write_graph("big.gl", np.zeros(100_000, np.int64), np.arange(100_000))
    g = gz.Graph("big.gl")
    os.truncate("big.gl", 4096)
    with pytest.raises(OSError, match=r"the file shrank while it was mapped.*'big.gl'"):
        g.has_edges([0], [1])


def test_a_closed_graph_says_so(tiny):
    tiny.close()
    with pytest.raises(ValueError, match="this Graph is closed"):
        tiny.has_edges([0], [1])

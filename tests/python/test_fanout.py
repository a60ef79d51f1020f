"""The classic calls: K neighbours of each node as a rectangle."""

import itertools
import pickle
import subprocess
import sys
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import graphzero as gz
import oracle
from laws import assert_independent, assert_uniform
from sample_cases import cases

SAMPLES = Path(__file__).parent.parent / "data" / "graphzero02"


@pytest.fixture
def old():
    """The sample of GraphZero 0.2: indptr [0, 3, 4, 5, 6, 6, 7], indices [1, 2, 2, 2, 0, 3, 1]."""
    return gz.Graph(SAMPLES / "unweighted_directed.gl")


@pytest.fixture
def star(tmp_path):
    """0 points to 1 … 8."""
    gz.write_graph("star.gl", np.zeros(8, np.int64), np.arange(1, 9))
    return gz.Graph("star.gl")


@given(case=cases(), fanout=st.integers(0, 6), data=st.data())
@settings(max_examples=60)
def test_rows_hold_different_edges_then_padding(case, fanout, data):
    nodes = data.draw(st.lists(st.integers(0, case.num_nodes - 1), max_size=5))
    with case.graph() as graph:
        table, counts = graph.batch_random_fanout(nodes, fanout, return_counts=True, seed=1)
    assert (table.shape, table.dtype, counts.dtype) == ((len(nodes), fanout), np.int64, np.int64)
    for node, row, count in zip(nodes, table.tolist(), counts.tolist(), strict=True):
        neighbours = [neighbour for neighbour, _ in case.list_of(node, "out")]
        assert count == min(fanout, len(neighbours))
        assert row[count:] == [-1] * (fanout - count)
        if len(neighbours) <= fanout:
            assert row[:count] == neighbours
        else:
            for neighbour in row:
                assert row.count(neighbour) <= neighbours.count(neighbour)


def test_the_sample_of_02(old):
    table, counts = old.batch_random_fanout(np.arange(6, dtype=np.uint64), 4, return_counts=True)
    assert table.tolist() == [
        [1, 2, 2, -1],
        [2, -1, -1, -1],
        [0, -1, -1, -1],
        [3, -1, -1, -1],
        [-1] * 4,
        [1, -1, -1, -1],
    ]
    assert counts.tolist() == [3, 1, 1, 1, 0, 1]
    assert old.sample_neighbours(0, 10).tolist() == [1, 2, 2]
    assert old.sample_neighbours(4, 10).tolist() == []
    assert sorted(old.sample_neighbours(0, 2, seed=1)) in ([1, 2], [2, 2])


@pytest.mark.parametrize("K", [3, 2**32, 2**63, 2**70])
def test_sample_neighbours_takes_any_k(old, K):
    found = old.sample_neighbours(start_node=0, K=K)
    assert (found.tolist(), found.dtype) == ([1, 2, 2], np.int64)


def test_rows_can_be_filled_up_with_the_node_itself(tiny):
    rows, counts = tiny.batch_random_fanout([2, 1, 0, 2], 3, pad="self", return_counts=True)
    assert rows.tolist() == [[2, 2, 2], [2, 1, 1], [1, 2, 0], [2, 2, 2]]
    assert counts.tolist() == [0, 1, 2, 0]
    plain = tiny.batch_random_fanout([0, 3], 1, seed=5)
    assert plain.tolist() == tiny.batch_random_fanout([0, 3], 1, pad="self", seed=5).tolist()
    assert tiny.batch_random_fanout([], 2, pad="self").shape == (0, 2)


def test_a_node_pads_only_rows_of_its_own_kind(tiny):
    gz.write_graph("two.gl", [0], [1], num_nodes=(1, 2))
    with pytest.raises(ValueError, match="pad: expected an integer, found 'self': two.gl is bipartite"):
        gz.Graph("two.gl").batch_random_fanout([0], 2, pad="self")
    with pytest.raises(ValueError, match="pad: expected an integer or 'self', found 'node'"):
        tiny.batch_random_fanout([0], 2, pad="node")


def test_pad_is_free_to_choose(tiny):
    assert tiny.batch_random_fanout([2, 1], 2, pad=0).tolist() == [[0, 0], [2, 0]]
    assert tiny.batch_random_fanout([2, 1], 2, pad=-(2**63)).tolist() == [[-(2**63)] * 2, [2, -(2**63)]]
    with pytest.raises(TypeError, match="pad: expected an integer, found None"):
        tiny.batch_random_fanout([2], 2, pad=None)
    with pytest.raises(ValueError, match="pad: expected an integer of 64 bits, found 9223372036854775808"):
        tiny.batch_random_fanout([2], 2, pad=2**63)


def test_nothing_asked_for_is_an_empty_rectangle(tiny):
    assert tiny.batch_random_fanout([0, 1], 0).shape == (2, 0)
    assert tiny.batch_random_fanout([], 3).shape == (0, 3)
    table, counts = tiny.batch_random_fanout([], 0, return_counts=True)
    assert (table.shape, counts.shape) == ((0, 0), (0,))
    assert tiny.sample_neighbours(0, 0).tolist() == []


def test_columns_are_exchangeable(star):
    """All ordered triples of 3 of 8 are equally likely, hence all subsets."""
    triples = star.batch_random_fanout(np.zeros(400_000, np.int64), 3, seed=1)
    codes = triples @ [100, 10, 1]
    assert_uniform(codes, [100 * a + 10 * b + c for a, b, c in itertools.permutations(range(1, 9), 3)])
    subsets = (1 << triples).sum(axis=1)
    assert_uniform(subsets, [sum(1 << i for i in subset) for subset in itertools.combinations(range(1, 9), 3)])


@pytest.mark.parametrize("K", [64, 70])
def test_every_column_is_uniform_below_and_beyond_64_picks(tmp_path, K):
    gz.write_graph("star.gl", np.zeros(80, np.int64), np.arange(1, 81))
    table = gz.Graph("star.gl").batch_random_fanout(np.zeros(20_000, np.int64), K, seed=1)
    assert (np.diff(np.sort(table, axis=1), axis=1) > 0).all()
    for column in (0, 1, K // 2, K - 1):
        assert_uniform(table[:, column], range(1, 81))


def test_a_node_given_twice_is_sampled_twice(star):
    table = star.batch_random_fanout(np.zeros(40_000, np.int64), 2, seed=3) @ [10, 1]
    assert_independent(table[::2], table[1::2])


def test_weights_are_ignored(tmp_path):
    gz.write_graph("star.gl", np.zeros(4, np.int64), np.arange(1, 5), weight=[0.0, 1e30, 1.0, 5.0])
    assert_uniform(gz.Graph("star.gl").batch_random_fanout(np.zeros(20_000, np.int64), 1, seed=1).ravel(), range(1, 5))


def test_a_seed_means_the_same_rows(tmp_path):
    gz.write_graph("lists.gl", np.repeat(np.arange(5000), 6), np.tile(np.arange(6), 5000))
    graph = gz.Graph("lists.gl")
    found = []
    for threads in (1, 2, 8):
        gz.set_num_threads(threads)
        found.append(graph.batch_random_fanout(np.arange(5000), 3, seed=9).tolist())
    gz.set_num_threads(0)
    assert found[0] == found[1] == found[2]
    assert pickle.loads(pickle.dumps(graph)).batch_random_fanout(np.arange(5000), 3, seed=9).tolist() == found[0]
    assert graph.batch_random_fanout(np.arange(5000), 3, seed=10).tolist() != found[0]
    assert len({graph.batch_random_fanout(np.arange(5000), 3).tobytes() for _ in range(5)}) == 5


def test_a_seed_means_these_rows_for_ever(star):
    """With K = 1 there is one draw, so docs/design/randomness.md says which."""
    assert star.batch_random_fanout([0, 0, 0], 3, seed=1).tolist() == [[3, 8, 6], [4, 8, 2], [1, 6, 2]]
    for place, row in enumerate(star.batch_random_fanout([0] * 5, 1, seed=7).tolist()):
        assert row == [1 + oracle.below(oracle.stream(7, 4, 0, place), 8)]


@pytest.mark.parametrize("bad", [-1, 9, 2**62])
@pytest.mark.parametrize("place", [0, 1500, 2999])
def test_an_id_that_is_no_node_is_named_with_its_place(star, bad, place):
    nodes = np.zeros(3000, np.int64)
    nodes[place] = bad
    message = rf"start_nodes\[{place}\]: node {bad} is not in star.gl, which has 9 nodes \(0 to 8\)"
    with pytest.raises(IndexError, match=message):
        star.batch_random_fanout(nodes, 3)
    with pytest.raises(IndexError, match=f"node {bad} .* is not in star.gl, which has 9 nodes"):
        star.sample_neighbours(bad, 3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0], -1), ValueError, "K: expected a number of neighbours that is not negative, found -1"),
        (([0], 2.5), TypeError, "K: expected an integer, found 2.5"),
        (([0.5], 2), TypeError, "start_nodes: expected integers, found float64"),
        (([[0]], 2), ValueError, r"start_nodes: expected one dimension, found shape \(1, 1\)"),
        (
            ([0], 2**40),
            MemoryError,
            "a fanout of 1099511627776 for 1 nodes needs 8388608 MB of memory, .* are available",
        ),
        (([0, 0], 2**61), MemoryError, "a fanout of 2305843009213693952 for 2 nodes needs .* MB of memory"),
        (([0, 0], 2**80), MemoryError, "a fanout of 4611686018427387904 for 2 nodes needs .* MB of memory"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(star, arguments, error, message):
    with pytest.raises(error, match=message):
        star.batch_random_fanout(*arguments)
    assert star.batch_random_fanout([0], 8).tolist() == [list(range(1, 9))]


def test_negative_k_is_refused_by_the_other_call_too(star):
    with pytest.raises(ValueError, match="K: expected a number of neighbours that is not negative, found -1"):
        star.sample_neighbours(0, -1)


def test_a_graph_without_out_index_and_a_closed_one_are_refused(tmp_path, star):
    gz.write_graph("in.gl", [0], [1], index="in")
    with pytest.raises(ValueError, match="in.gl: has no 'out' index, only 'in'"):
        gz.Graph("in.gl").batch_random_fanout([0], 1)
    star.close()
    with pytest.raises(ValueError, match="this Graph is closed"):
        star.batch_random_fanout([0], 1)


def test_a_corrupt_graph_is_refused_and_the_process_lives(tmp_path):
    """In a process of its own, as a crash would take this one with it."""
    code = """
import files, numpy as np, graphzero as gz
files.write("bad.gl", files.graphzero02_gl([0, 2, 2**61, 3], [0, 2**62, 1]))
g = gz.Graph("bad.gl")
for nodes, message in (([0], "corrupt indices at entry 1"), ([1], "corrupt indptr at node 1"), ([2], "corrupt indptr at node 2")):
    try:
        g.batch_random_fanout(nodes, 2)
    except gz.FormatError as error:
        assert message in str(error), error
    else:
        raise AssertionError(message)
print("alive")
"""
    tests = str(Path(__file__).parent.parent)
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {tests!r})\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.stdout, run.stderr) == ("alive\n", "")

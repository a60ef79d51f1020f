"""What sampling takes: data sets, tensors, times of any kind, ids of any width, frontiers of many tasks."""

import numpy as np
import pytest

import graphzero as gz
import oracle
from data_sets import CITES, COUNTS, KINDS, WRITES
from sample_cases import EDGE, NODE, Case, shape
from sparse import write_sparse_gl


def same(first, second):
    return shape(first, "in") == shape(second, "in")


def test_a_homogeneous_data_set_is_its_graph(tiny_dataset, tiny):
    with gz.open(tiny_dataset) as data:
        hood = gz.sample_neighbors(data, [2, 0], [-1, -1])
    assert isinstance(hood, gz.Neighborhood)
    assert same(hood, gz.sample_neighbors(tiny, [2, 0], [-1, -1]))


def test_a_heterogeneous_data_set_is_its_graphs(tmp_path):
    with gz.DatasetWriter("papers") as writer:
        for name, count in COUNTS.items():
            writer.add_nodes(type=name, num_nodes=count)
        for triple, (src, dst) in KINDS.items():
            writer.add_edges(src, dst, type=triple)
    with gz.open("papers") as data:
        hood = gz.sample_neighbors(data, {"paper": [2, 3]}, [-1, -1])
        graphs = {triple: kind.graph for triple, kind in data.edges.items()}
        assert shape(hood, "in").edges == shape(gz.sample_neighbors(graphs, {"paper": [2, 3]}, [-1, -1]), "in").edges
    assert set(hood.node) == set(COUNTS)

    def entries_of(triple, node, *_):
        return oracle.list_of(node, *KINDS[triple], direction="in")

    seeds = {name: [2, 3] if name == "paper" else [] for name in hood.node}
    assert shape(hood, "in") == oracle.neighborhood(list(hood.row), seeds, 2, entries_of)
    assert set(hood.row) == {WRITES, CITES}


def test_fanouts_are_read_once_for_all_edge_types(tiny):
    graphs = {("a", "x", "a"): tiny, ("a", "y", "a"): tiny}
    hood = gz.sample_neighbors(graphs, {"a": [2]}, (fanout for fanout in (-1, 1)))
    assert {triple: len(counts) for triple, counts in hood.num_sampled_edges.items()} == dict.fromkeys(graphs, 2)


def test_tensors_and_small_integers_are_seeds(tiny):
    torch = pytest.importorskip("torch")
    expected = gz.sample_neighbors(tiny, [2, 0], [-1])
    for seeds in (torch.tensor([2, 0]), np.array([2, 0], np.uint8), (2, 0), np.array([2, 9, 0])[::2]):
        assert same(gz.sample_neighbors(tiny, seeds, torch.tensor([-1])), expected)


def test_results_are_int64_arrays_of_their_own(tiny):
    hood = gz.sample_neighbors(tiny, [2], [-1], disjoint=True)
    for array in (hood.node, hood.row, hood.col, hood.edge, hood.batch, hood.edge_index):
        assert array.dtype == np.int64
        array[:] = 7
    assert gz.sample_neighbors(tiny, [2], [-1]).node.tolist() == [2, 0, 1]
    assert repr(hood) == "Neighborhood(3 nodes, 2 edges, hops [1, 2])"


def test_times_may_be_dates(tmp_path):
    dates = np.array(["2020-01-01", "2021-01-01", "2022-01-01"], "M8[D]")
    gz.write_graph("g.gl", [1, 2, 3], [0, 0, 0], time=dates)
    seed_time = np.array(["2021-06-01"], "M8[D]")
    hood = gz.sample_neighbors(gz.Graph("g.gl"), [0], [-1], seed_time=seed_time, time_window=200)
    assert hood.node.tolist() == [0, 2]
    gz.write_graph("bare.gl", [1, 2, 3], [0, 0, 0])
    node_time = np.array(["2030-01-01", *dates.astype(str)], "M8[D]")
    hood = gz.sample_neighbors(gz.Graph("bare.gl"), [0], [-1], seed_time=seed_time, node_time=node_time)
    assert hood.node.tolist() == [0, 1, 2]


def test_no_seeds_no_hops_no_neighbours(tiny):
    nothing = gz.sample_neighbors(tiny, [], [3, 3])
    assert (nothing.node.tolist(), nothing.row.tolist(), nothing.num_sampled_nodes) == ([], [], [0, 0, 0])
    assert nothing.num_sampled_edges == [0, 0]
    alone = gz.sample_neighbors(tiny, [3, 3], [])
    assert (alone.node.tolist(), alone.num_sampled_nodes, alone.num_sampled_edges) == ([3, 3], [2], [])
    sink = gz.sample_neighbors(tiny, [3], [5])
    assert (sink.node.tolist(), sink.num_sampled_nodes, sink.num_sampled_edges) == ([3], [1, 0], [0])


def test_a_repeated_seed_keeps_its_places(tiny):
    hood = gz.sample_neighbors(tiny, [2, 0, 2], [-1])
    assert hood.node.tolist() == [2, 0, 2, 1, 3]
    assert hood.col.tolist() == [0, 0, 1, 2, 2]
    assert hood.row.tolist() == [1, 3, 4, 1, 3]


@pytest.mark.parametrize("subgraph", ["directional", "induced"])
@pytest.mark.parametrize("threads", [1, 4])
def test_a_frontier_of_several_tasks_is_in_order(tmp_path, subgraph, threads):
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 2000, (2, 4000))
    lists = {node: oracle.list_of(node, src.tolist(), dst.tolist(), direction="in") for node in range(2000)}
    seeds = rng.permutation(2000)[:700].tolist()

    def entries_of(_, node, *__):
        return lists[node]

    expected = oracle.neighborhood([EDGE], {NODE: seeds}, 2, entries_of)
    if subgraph == "induced":
        expected.edges, expected.num_sampled_edges = oracle.induced(expected, entries_of), None
    gz.set_num_threads(threads)
    hood = gz.sample_neighbors(Case(2000, src, dst).graph(), seeds, [-1, -1], subgraph_type=subgraph)
    gz.set_num_threads(0)
    assert expected.num_sampled_nodes[NODE][1] > 512
    assert shape(hood, "in") == expected


def test_trees_are_told_apart_beyond_4_bytes(tmp_path):
    """5000 trees in 2^20 nodes: a node and a tree are more than 2^32 together."""
    rng = np.random.default_rng(4)
    num_nodes = 1 << 20
    src, dst = rng.integers(0, 2000, (2, 4000)) * 500 % num_nodes
    gz.write_graph("wide.gl", src, dst, num_nodes=num_nodes)
    graph = gz.Graph("wide.gl")
    seeds = np.concatenate([dst[:4999], [num_nodes - 1], dst[:1000]])
    hood = gz.sample_neighbors(graph, seeds, [-1, -1], disjoint=True)
    for tree in [*range(0, len(seeds), 311), 4999]:
        alone = gz.sample_neighbors(graph, seeds[tree : tree + 1], [-1, -1])
        inside = np.flatnonzero(hood.batch == tree)
        assert hood.node[inside].tolist() == alone.node.tolist()
        edges = np.flatnonzero(hood.batch[hood.col] == tree)
        assert hood.edge[edges].tolist() == alone.edge.tolist()
        assert np.searchsorted(inside, hood.row[edges]).tolist() == alone.row.tolist()


def test_ids_beyond_4_bytes(tmp_path):
    write_sparse_gl("wide.gl", num_nodes=1 << 33, num_edges=100)
    graph = gz.Graph("wide.gl")
    last = (1 << 33) - 1
    hood = gz.sample_neighbors(graph, [5, last], [3, 3], direction="out")
    assert hood.node.tolist() == [5, last, 0]
    assert (hood.row.tolist(), hood.col.tolist()) == ([1, 1, 1], [2, 2, 2])
    assert graph.batch_random_fanout([last], 2).tolist() == [[0, 0]]
    with pytest.raises(IndexError, match="seed 8589934592 at position 0 is not a node"):
        gz.sample_neighbors(graph, [last + 1], [3], direction="out")


@pytest.mark.no_tsan  # which leaves no room for a mapping of 4 TB
def test_trees_that_cannot_be_told_apart_are_refused(tmp_path):
    write_sparse_gl("wide.gl", num_nodes=1 << 39, num_edges=1)
    seeds = np.zeros(1 << 24, np.int64)
    with pytest.raises(
        ValueError, match="disjoint: 16777216 seeds times 549755813888 nodes are too many to tell apart"
    ):
        gz.sample_neighbors(gz.Graph("wide.gl"), seeds, [1], direction="out", disjoint=True)

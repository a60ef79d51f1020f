"""Random walks: every step is an edge, frequencies follow the exact law, and a seed means the same everywhere."""

import collections
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import graphzero as gz
import oracle
from files import KINDS
from graphzero._tools.page_cache import drop_from_page_cache
from systems import NO_DROPPING, interrupt, posix_only, start

SAMPLES = Path(__file__).parent.parent / "data" / "graphzero02"
BIASES = [(1, 1), (0.25, 4), (4, 0.25), (2, 0.5), (0.01, 1), (100, 100)]


def random_edges(num_nodes=12, num_edges=40, seed=5, duplicates=False):
    """Edges without parallel ones unless asked for; the last node has none, and node 0 has a self-loop."""
    rng = np.random.default_rng(seed)
    pairs = [(0, 0)]
    while len(pairs) < num_edges:
        pair = tuple(rng.integers(0, num_nodes - 1, 2).tolist())
        if duplicates or pair not in pairs:
            pairs.append(pair)
    return np.array(pairs).T


def written(name, **options):
    src, dst = random_edges(duplicates=name == "multigraph")
    if name == "weighted":
        weight = np.random.default_rng(1).choice([0.0, 0.25, 1.0, 8.0], len(src), p=[0.1, 0.3, 0.3, 0.3])
        for node in range(12):  # every node that has edges can be left
            if (src == node).any() and weight[src == node].sum() == 0:
                weight[np.flatnonzero(src == node)[0]] = 2.0
        options["weight"] = weight
    if name == "timed":
        options["time"] = np.random.default_rng(2).integers(0, 100, len(src))
    gz.write_graph(f"{name}.gl", src, dst, num_nodes=12, directed=name != "undirected", **options)
    return gz.Graph(f"{name}.gl")


def graph_of(name):
    if name in ("weighted_undirected", "unweighted_undirected"):  # lists of GraphZero 0.2 are in no order
        return gz.Graph(SAMPLES / f"{name}.gl")
    return written(name)


KIND_NAMES = [
    "directed",
    "undirected",
    "multigraph",
    "weighted",
    "timed",
    "weighted_undirected",
    "unweighted_undirected",
]


def lists_of(graph, *, weighted=False, direction="out"):
    """Every node's (neighbour, weight) entries, as the oracle takes them."""
    index = graph.index(direction)
    weights = index.weights if weighted else np.ones(graph.num_edges)
    spans = list(zip(index.indptr.tolist(), index.indptr.tolist()[1:], strict=False))
    return [list(zip(index.indices[a:b].tolist(), weights[a:b].tolist(), strict=True)) for a, b in spans]


class Frequencies:
    """Pooled chi-square of many small distributions; what has no chance must not have happened."""

    def __init__(self):
        self.statistic, self.freedom = 0.0, 0

    def add(self, counts, law):
        assert set(counts) <= set(law), f"impossible: {set(counts) - set(law)}"
        total = sum(counts.values())
        cells = [(counts.get(outcome, 0), total * chance) for outcome, chance in law.items()]
        rare = [cell for cell in cells if cell[1] < 5]
        cells = [cell for cell in cells if cell[1] >= 5]
        if sum(expected for _, expected in rare) >= 5:
            cells.append((sum(found for found, _ in rare), sum(expected for _, expected in rare)))
        if len(cells) < 2:
            return
        scale = sum(found for found, _ in cells) / sum(expected for _, expected in cells)
        self.statistic += sum((found - expected * scale) ** 2 / (expected * scale) for found, expected in cells)
        self.freedom += len(cells) - 1

    def check(self, at_least=1):
        assert self.freedom >= at_least
        assert stats.chi2.sf(self.statistic, self.freedom) > 1e-4


def check_law(walks, lists, *, p=1.0, q=1.0):
    """Compare all steps behind the first with the law of each (previous, node), and first steps with that of a node."""
    first, later = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    for pair, count in collections.Counter(map(tuple, walks[:, :2].tolist())).items():
        first[pair[0]][pair[1]] += count
    windows = np.concatenate([walks[:, s : s + 3] for s in range(walks.shape[1] - 2)])
    for state, count in zip(*np.unique(windows, axis=0, return_counts=True), strict=True):
        previous, node, following = state.tolist()
        later[previous, node][following] += int(count)
    frequencies = Frequencies()
    for node, counts in first.items():
        frequencies.add(counts, oracle.step_law(lists, node) if lists[node] else {node: 1.0})
    for (previous, node), counts in later.items():
        law = oracle.step_law(lists, node, previous, p=p, q=q) if lists[node] else {node: 1.0}
        frequencies.add(counts, law)
    frequencies.check(at_least=len(lists))


@pytest.mark.parametrize(("p", "q"), BIASES)
@pytest.mark.parametrize("name", KIND_NAMES)
def test_every_state_follows_the_exact_law(name, p, q):
    graph = graph_of(name)
    starts = np.tile(np.arange(graph.num_nodes), 1000)
    weighted = graph.has_weights
    walks = gz.random_walk(graph, starts, 12, p=p, q=q, weighted=weighted, seed=7)
    check_law(walks, lists_of(graph, weighted=weighted), p=p, q=q)


def test_weights_are_ignored_unless_asked_for():
    graph = written("weighted")
    check_law(gz.random_walk(graph, np.tile(np.arange(12), 2000), 6, seed=3), lists_of(graph))
    check_law(graph.batch_random_walk_uniform(np.tile(np.arange(12), 2000), 6, seed=4), lists_of(graph))
    check_law(
        graph.batch_random_walk(np.tile(np.arange(12), 2000), 6, seed=5, p=0.5, q=2.0),
        lists_of(graph, weighted=True),
        p=0.5,
        q=2.0,
    )


def test_walks_go_against_the_edges_when_asked():
    graph = written("directed")
    walks = gz.random_walk(graph, np.tile(np.arange(12), 1000), 8, p=2.0, q=0.5, direction="in", seed=8)
    check_law(walks, lists_of(graph, direction="in"), p=2.0, q=0.5)


@pytest.mark.parametrize("bias", [{"p": 1e30}, {"q": 1e30}, {"p": 1e-30}, {"q": 1e-30}, {"p": 1e200, "q": 1e-200}])
def test_extreme_biases_end_and_keep_to_the_law(bias):
    path = np.arange(7)
    gz.write_graph("path.gl", path, path + 1, directed=False)
    graph = gz.Graph("path.gl")
    walks = gz.random_walk(graph, np.tile(np.arange(8), 200), 20, seed=1, **bias)
    check_legal(walks, graph)
    lists = lists_of(graph)
    for row in walks[:, :].tolist():
        for previous, node, following in zip(row, row[1:], row[2:], strict=False):
            law = oracle.step_law(lists, node, previous, **bias)
            assert law[following] > 1e-12


def check_legal(walks, graph):
    """Every step is an edge, or a sink that stands still."""
    lists = [{neighbour for neighbour, _ in entries} or {node} for node, entries in enumerate(lists_of(graph))]
    pairs = np.unique(np.concatenate([walks[:, s : s + 2] for s in range(walks.shape[1] - 1)]), axis=0)
    assert all(following in lists[node] for node, following in pairs.tolist())


def test_a_hub_with_extreme_weights():
    size = 1 << 20
    weight = np.full(size, 1e-3, np.float32)
    weight[size // 3] = 1e9
    weight[5] = 1e9
    gz.write_graph("hub.gl", np.zeros(size, int), np.arange(1, size + 1), weight=weight, index="out")
    found = gz.random_walk(gz.Graph("hub.gl"), np.zeros(200_000, int), 1, weighted=True, seed=1)[:, 1]
    heavy = np.isin(found, [6, size // 3 + 1])
    assert abs((found[heavy] == 6).mean() - 0.5) < 0.01
    light = weight.astype(float).sum() - 2e9  # about 1000 of two billion: one draw in two million
    assert (~heavy).sum() <= 5, light


def test_a_hub_of_2_to_the_24_keeps_its_light_edges():
    size = 1 << 24  # where float32 sums of ones stop growing
    weight = np.ones(size, np.float32)
    weight[-1] = size
    gz.write_graph("hub.gl", np.zeros(size, np.int64), np.arange(size), weight=weight, index="out")
    found = gz.random_walk(gz.Graph("hub.gl"), np.zeros(64_000, int), 1, weighted=True, seed=2)[:, 1]
    last = found == size - 1
    assert abs(last.mean() - 0.5) < 0.01
    assert stats.chisquare(np.bincount(found[~last] * 64 // size, minlength=64)).pvalue > 1e-4


def test_edges_without_weight_are_never_followed():
    gz.write_graph("g.gl", [0, 0, 0, 1, 2], [1, 2, 2, 0, 0], weight=[0, 1, 3, 1, 1])
    walks = gz.random_walk(gz.Graph("g.gl"), [0] * 500, 10, weighted=True, p=0.5, q=3.0, seed=0)
    assert set(np.unique(walks)) == {0, 2}


def test_a_node_whose_weights_are_all_0_is_an_error():
    gz.write_graph("g.gl", [0, 1, 1], [1, 0, 2], weight=[1, 0, 0])
    message = r"g\.gl: a weighted walk cannot leave node 1: the weights of its 2 edges are all 0; give one of them"
    for bias in ({}, {"p": 0.5}):
        with pytest.raises(ValueError, match=message):
            gz.random_walk(gz.Graph("g.gl"), [0], 5, weighted=True, seed=0, **bias)
    assert gz.random_walk(gz.Graph("g.gl"), [0], 1, weighted=True, seed=0).tolist() == [[0, 1]]


@pytest.mark.parametrize("bias", [{}, {"p": 0.25, "q": 4.0}])
def test_restarts_follow_their_law(bias):
    # The start 9 has one way out and none leads back, so a 9 behind column 0 is a restart.
    src, dst = random_edges(num_nodes=9)
    gz.write_graph("g.gl", [*src, 9], [*dst, 0])
    graph = gz.Graph("g.gl")
    lists = lists_of(graph)
    walks = gz.random_walk(graph, [9] * 20_000, 12, restart=0.3, seed=6, **bias)
    jumps = (walks[:, 1:] == 9).sum()
    assert stats.binomtest(int(jumps), walks[:, 1:].size, 0.3).pvalue > 1e-4
    frequencies = Frequencies()
    later = collections.defaultdict(collections.Counter)
    for row in walks.tolist():
        for previous, node, following in zip(row, row[1:], row[2:], strict=False):
            if following != 9:
                # Behind a restart the walker has not come from anywhere.
                later[None if node == 9 else previous, node][following] += 1
    for (previous, node), counts in later.items():
        law = oracle.step_law(lists, node, previous, **bias) if lists[node] else {node: 1.0}
        frequencies.add(counts, law)
    frequencies.check(at_least=10)


def test_a_restart_of_1_never_leaves_and_a_dead_end_is_left_by_restart(tiny):
    assert gz.random_walk(tiny, [3, 0], 3, restart=1.0, seed=0).tolist() == [[3] * 4, [0] * 4]
    walks = gz.random_walk(tiny, [1] * 1000, 10, restart=0.5, seed=0)
    left = (walks[:, 1:-1] == 2) & (walks[:, 2:] == 1)
    assert left.any()


def test_after_a_restart_in_an_earlier_round_the_next_step_is_a_first_step():
    """Walks of many thousand steps are taken in rounds, which read what they need from the rows."""
    gz.write_graph("g.gl", [0, 1, 1, 2, 2], [1, 0, 2, 0, 1])
    graph = gz.Graph("g.gl")
    options = {"p": 1e-3, "q": 7.0, "restart": 0.25, "seed": 3}
    long = gz.random_walk(graph, [0, 1, 2], 5000, **options)
    for length in (1, 1023, 1024, 1025, 2048, 4999):
        assert np.array_equal(gz.random_walk(graph, [0, 1, 2], length, **options), long[:, : length + 1])


@pytest.fixture
def scholarly():
    """Authors write papers, papers have venues: a mapping with files of ours and of GraphZero 0.2."""
    rng = np.random.default_rng(4)
    authors, papers = rng.integers(0, 8, 30), rng.integers(0, 10, 30)
    weight = rng.uniform(0.5, 4, 30).astype(np.float32)
    gz.write_graph("writes.gl", authors, papers, num_nodes=(9, 11), weight=weight)
    gz.write_graph("written.gl", papers, authors, num_nodes=(11, 9), weight=weight)
    gz.write_graph("cites.gl", rng.integers(0, 10, 30), rng.integers(0, 10, 30), num_nodes=11)
    return {
        ("author", "writes", "paper"): gz.Graph("writes.gl"),
        ("paper", "written", "author"): gz.Graph("written.gl"),
        ("paper", "cites", "paper"): gz.Graph("cites.gl"),
    }


WRITES, WRITTEN, CITES = ("author", "writes", "paper"), ("paper", "written", "author"), ("paper", "cites", "paper")


@pytest.mark.parametrize("weighted", [False, True])
def test_a_metapath_follows_the_law_of_each_relation(scholarly, weighted):
    metapath = [WRITES, WRITTEN] if weighted else [WRITES, CITES, WRITTEN]
    starts = np.tile(np.arange(9), 3000)
    walks = gz.random_walk(scholarly, starts, 7, metapath=metapath, weighted=weighted, seed=1)
    frequencies = Frequencies()
    for step in range(7):
        lists = lists_of(scholarly[metapath[step % len(metapath)]], weighted=weighted)
        moves = collections.defaultdict(collections.Counter)
        for node, following in walks[:, step : step + 2].tolist():
            moves[node][following] += 1
        for node, counts in moves.items():
            law = oracle.step_law(lists, node) if node >= 0 and lists[node] else {-1: 1.0}
            frequencies.add(counts, law)
    frequencies.check(at_least=50)
    assert (walks[8] == [8, *[-1] * 7]).all()  # author 8 has written nothing


def test_relations_of_a_metapath_may_store_ids_of_different_widths(tmp_path):
    gz.write_graph("to.gl", np.arange(6), np.arange(6)[::-1], num_nodes=(6, 6))
    graphs = {("a", "to", "b"): gz.Graph("to.gl"), ("b", "on", "a"): gz.Graph(SAMPLES / "weighted_directed.gl")}
    assert graphs["a", "to", "b"].id_dtype != graphs["b", "on", "a"].id_dtype
    walks = gz.random_walk(graphs, [0, 3, 5], 2, metapath=list(graphs), seed=0)
    assert walks[:, 1].tolist() == [5, 2, 0]
    assert walks[:2, 2].tolist() == [1, 0]
    assert walks[2, 2] in (1, 2)


def test_a_metapath_restarts_only_where_it_leads_home(scholarly):
    walks = gz.random_walk(scholarly, [3] * 4000, 6, metapath=[WRITES, CITES, WRITTEN], restart=1.0, seed=2)
    alive = walks[walks[:, 2] >= 0]
    assert len(alive) > 1000
    assert (alive[:, 3] == 3).all()
    plain = gz.random_walk(scholarly, [3] * 4000, 6, metapath=[WRITES, CITES, WRITTEN], seed=2)
    assert np.array_equal(walks[:, :3], plain[:, :3])
    assert (plain[:, 3] != 3).any()


def test_a_data_set_gives_its_edge_types(tiny_dataset):
    with gz.open(tiny_dataset) as ds:
        walks = gz.random_walk(ds, [3, 2], 4, metapath=[("node", "to", "node")], seed=0)
        assert walks[0, :2].tolist() == [3, 0]
        assert walks[1].tolist() == [2, -1, -1, -1, -1]
        assert gz.random_walk(ds, [2], 2, seed=0).tolist() == [[2, 2, 2]]


def test_the_shape_and_the_kinds_of_input(tiny):
    torch = pytest.importorskip("torch")
    expected = gz.random_walk(tiny, [3, 0, 1], 5, seed=1)
    assert (expected.shape, expected.dtype) == ((3, 6), np.int64)
    for starts in (np.array([3, 0, 1], np.uint64), np.array([3, 0, 1], np.int8), (3, 0, 1), torch.tensor([3, 0, 1])):
        assert np.array_equal(gz.random_walk(tiny, starts, 5, seed=1), expected)
    assert gz.random_walk(tiny, [], 5).shape == (0, 6)
    assert gz.random_walk(tiny, [], 2**40).shape == (0, 2**40 + 1)
    assert gz.random_walk(tiny, [2, 0], 0).tolist() == [[2], [0]]
    assert tiny.batch_random_walk([], 3).shape == (0, 4)
    expected[0, 0] = 7  # the array is the caller's own


def test_the_calls_of_graphzero_02():
    graph = gz.Graph(SAMPLES / "unweighted_directed.gl")
    starts = np.random.default_rng(0).integers(0, 6, 1000).astype(np.uint64)
    walks = graph.batch_random_walk(start_nodes=starts, walk_length=10, p=1.0, q=0.5)
    assert (walks.shape, walks.dtype) == ((1000, 11), np.int64)
    assert np.array_equal(walks[:, 0], starts.astype(np.int64))
    check_legal(walks, graph)
    uniform = graph.batch_random_walk_uniform(starts, 10)
    check_legal(uniform, graph)
    assert len(np.unique(uniform[:, -1])) > 1
    step = graph.batch_random_walk_uniform([0] * 100, 1)
    assert set(step[:, 1].tolist()) == {1, 2}
    for walk in (graph.batch_random_walk, graph.batch_random_walk_uniform):
        assert walk([4, 3], 3).tolist() == [[4] * 4, [3] * 4]  # an isolated node and a self-loop
        assert walk([0], 0).tolist() == [[0]]


def test_two_graphs_never_mix():
    gz.write_graph("a.gl", [0, 1, 2], [1, 2, 0], weight=[1, 1, 1])
    gz.write_graph("b.gl", [0, 2, 1], [2, 1, 0], weight=[1, 1, 1])
    a, b = gz.Graph("a.gl"), gz.Graph("b.gl")
    for _ in range(3):
        assert a.batch_random_walk([0], 3).tolist() == [[0, 1, 2, 0]]
        assert b.batch_random_walk([0], 3).tolist() == [[0, 2, 1, 0]]


VECTORS = {
    "uniform": (
        {},
        [
            [0, 1, 1, 1, 1, 1, 4, 4, 1],
            [1, 4, 1, 1, 4, 1, 1, 1, 4],
            [2, 1, 4, 1, 1, 4, 4, 0, 1],
            [3, 5, 8, 7, 4, 0, 0, 1, 1],
            [8, 8, 8, 7, 7, 1, 1, 4, 1],
        ],
    ),
    "weighted": (
        {"weighted": True},
        [
            [0, 1, 1, 1, 1, 1, 4, 4, 1],
            [1, 4, 1, 1, 4, 4, 0, 1, 4],
            [2, 1, 4, 0, 0, 1, 4, 0, 1],
            [3, 5, 7, 7, 6, 0, 1, 4, 0],
            [8, 8, 8, 7, 7, 1, 1, 4, 1],
        ],
    ),
    "node2vec": (
        {"p": 0.25, "q": 4.0},
        [
            [0, 1, 1, 1, 1, 1, 1, 1, 1],
            [1, 4, 1, 1, 1, 1, 1, 1, 1],
            [2, 1, 4, 1, 1, 1, 1, 4, 1],
            [3, 5, 5, 5, 0, 1, 1, 1, 1],
            [8, 8, 8, 8, 8, 5, 8, 5, 6],
        ],
    ),
    "weighted node2vec": (
        {"p": 4.0, "q": 0.5, "weighted": True},
        [
            [0, 1, 4, 0, 1, 1, 4, 0, 1],
            [1, 4, 0, 1, 4, 0, 1, 4, 0],
            [2, 1, 4, 4, 0, 1, 4, 1, 4],
            [3, 5, 0, 1, 4, 4, 0, 1, 4],
            [8, 8, 7, 4, 1, 1, 4, 4, 0],
        ],
    ),
    "restart": (
        {"p": 2.0, "q": 0.5, "restart": 0.25},
        [
            [0, 0, 0, 0, 1, 0, 1, 4, 0],
            [1, 4, 0, 0, 0, 1, 4, 0, 0],
            [2, 2, 4, 4, 2, 6, 8, 2, 3],
            [3, 5, 8, 7, 3, 3, 3, 5, 3],
            [8, 8, 5, 5, 6, 8, 8, 7, 1],
        ],
    ),
}


def vector_graph():
    src, dst = random_edges(num_nodes=10, num_edges=36, seed=11)
    gz.write_graph("vectors.gl", src, dst, num_nodes=10, weight=1 + np.arange(36) % 5)
    return gz.Graph("vectors.gl")


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_a_seed_gives_these_walks(name, threads):
    """What a seed means must never change; these rows were drawn once and checked against the law."""
    options, expected = VECTORS[name]
    gz.set_num_threads(threads)
    try:
        walks = gz.random_walk(vector_graph(), np.arange(400) % 10, 8, seed=2024, **options)
    finally:
        gz.set_num_threads(0)
    assert walks[[0, 1, 2, 3, 398]].tolist() == expected


WEIGHTS = {
    "alike": lambda rng, n: np.ones(n),
    "ordinary": lambda rng, n: 1 - rng.random(n),
    "mostly 0": lambda rng, n: np.where(rng.random(n) < 0.7, 0, 1),
    "one huge": lambda rng, n: np.where(np.arange(n) == n // 3, 1e30, 1),
    "powers of two": lambda rng, n: 2.0 ** rng.integers(-60, 60, n),
    "denormal": lambda rng, n: 1e-45 * rng.integers(1, 100, n),
}


@pytest.mark.parametrize("weights", [None, *WEIGHTS])
def test_walks_of_any_number_are_those_of_the_oracle(weights):
    """Draw by draw: from few walkers and many, with hubs, short lists, dead ends and restarts."""
    rng = np.random.default_rng(6)
    src = np.r_[np.repeat(0, 3000), rng.integers(1, 90, 700), np.arange(1, 90)]
    dst = np.r_[rng.integers(0, 100, 3700), np.zeros(89, np.int64)]
    weight = None if weights is None else WEIGHTS[weights](rng, len(src)).astype(np.float32)
    if weight is not None:
        weight[-89:] = np.maximum(weight[-89:], np.float32(1e-45))  # every list can be left
    gz.write_graph("g.gl", src, dst, num_nodes=100, weight=weight, index="out")
    graph = gz.Graph("g.gl")
    index = graph.index()
    lists = [slice(*index.indptr[node : node + 2].tolist()) for node in range(100)]
    sums = None if weight is None else [np.cumsum(index.weights[at], dtype=np.float64) for at in lists]

    def step(here, start, draws):
        if next(draws) >> 11 < 0.2 * 2**53:
            return start
        entries = index.indices[lists[here]]
        if len(entries) == 0:
            return here
        if sums is None:
            return entries[oracle.below(draws, len(entries))]
        target = (next(draws) >> 11) * 2.0**-53 * sums[here][-1]
        return entries[np.searchsorted(sums[here], target, side="right")]

    for count in (1, 2, 5, 16, 33, 70):
        starts = rng.integers(0, 100, count)
        walks = gz.random_walk(graph, starts, 9, restart=0.2, weighted=weights is not None, seed=4)
        for i, walk in enumerate(walks.tolist()):
            expected = [starts[i]]
            for s in range(9):
                expected.append(step(expected[-1], starts[i], oracle.stream(4, 2, i, s)))
            assert walk == expected


def test_walks_do_not_depend_on_threads_or_on_each_other(tmp_path):
    rng = np.random.default_rng(0)
    gz.write_graph("g.gl", rng.integers(0, 5000, 60_000), rng.integers(0, 5000, 60_000), weight=rng.random(60_000))
    graph = gz.Graph("g.gl")
    starts = rng.integers(0, 5000, 9000)
    for options in ({}, {"weighted": True}, {"p": 0.5, "q": 2.0}, {"p": 3.0, "q": 0.5, "weighted": True}):
        results = []
        for threads in (1, 2, 8):
            gz.set_num_threads(threads)
            results.append(gz.random_walk(graph, starts, 40, seed=5, **options))
        gz.set_num_threads(0)
        assert np.array_equal(results[0], results[1])
        assert np.array_equal(results[0], results[2])
        # Row i depends on the seed, on i and on its start alone.
        assert np.array_equal(gz.random_walk(graph, starts[:100], 40, seed=5, **options), results[0][:100])


def test_without_a_seed_every_call_differs(tiny):
    gz.write_graph("g.gl", [0, 0, 1, 1], [0, 1, 0, 1])
    graph = gz.Graph("g.gl")
    assert not np.array_equal(gz.random_walk(graph, [0], 100), gz.random_walk(graph, [0], 100))
    assert not np.array_equal(gz.random_walk(graph, [0], 100, seed=1), gz.random_walk(graph, [0], 100, seed=2))


def test_a_pickled_graph_gives_the_same_walks():
    graph = written("weighted")
    again = pickle.loads(pickle.dumps(graph))
    first, second = (g.batch_random_walk(np.arange(12), 50, p=0.5, seed=9) for g in (graph, again))
    assert np.array_equal(first, second)


@posix_only(reason=NO_DROPPING)
def test_walks_over_a_cold_file_are_those_over_a_warm_one():
    rng = np.random.default_rng(1)
    nodes, edges = 400_000, 1_500_000
    gz.write_graph(
        "g.gl",
        rng.integers(0, nodes, edges),
        rng.integers(0, nodes, edges),
        num_nodes=nodes,
        index="out",
        weight=rng.random(edges) + 0.1,
    )
    starts = rng.integers(0, nodes, 6000)
    for options in ({}, {"weighted": True}, {"p": 0.1, "q": 2.0}, {"p": 2.0, "q": 0.5, "weighted": True}):
        with gz.Graph("g.gl") as graph:
            warm = gz.random_walk(graph, starts, 20, seed=1, **options)
        drop_from_page_cache("g.gl")
        with gz.Graph("g.gl") as graph:
            assert np.array_equal(gz.random_walk(graph, starts, 20, seed=1, **options), warm)


@pytest.mark.parametrize("position", [0, 3, 6])
@pytest.mark.parametrize("node", [-1, 4, 2**62, -(2**63)])
def test_a_start_that_is_no_node_is_named(tiny, position, node):
    starts = [0] * 7
    starts[position] = node
    for walk in (tiny.batch_random_walk, tiny.batch_random_walk_uniform, lambda *a: gz.random_walk(tiny, *a)):
        with pytest.raises(
            IndexError, match=rf"start_nodes\[{position}\]: node {node} is not in .*tiny.gl, which has 4"
        ):
            walk(starts, 3)


def test_a_start_beyond_int64_is_named(tiny):
    with pytest.raises(
        IndexError, match=r"start_nodes\[1\]: expected an integer below 2\^63, found 18446744073709551615"
    ):
        gz.random_walk(tiny, np.array([0, 2**64 - 1], np.uint64), 3)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([0], -1), {}, ValueError, r"walk_length: expected 0 to 2\^63 - 1, found -1"),
        (([0], 2**70), {}, ValueError, r"walk_length: expected 0 to 2\^63 - 1, found 1180591620717411303424"),
        (([0], 1.5), {}, TypeError, r"walk_length: expected an integer, found 1\.5"),
        (([0] * 8, 2**61), {}, MemoryError, r"8 walks of walk_length 2305843009213693952 .*: more than 2\^64 bytes"),
        (([0], 2**63 - 1), {}, MemoryError, r"walk_length 9223372036854775807 .*: more than 2\^64 bytes"),
        (([0], 2**50), {}, MemoryError, r"random_walk: 1 walks of walk_length 1125899906842624 at 8 bytes per node"),
        (([0.5], 1), {}, TypeError, r"start_nodes: expected integers, found float64"),
        (([[0]], 1), {}, ValueError, r"start_nodes: expected one dimension, found shape \(1, 1\)"),
        ((0, 1), {}, ValueError, r"start_nodes: expected one dimension, found shape \(\)"),
        (([True], 1), {}, TypeError, r"start_nodes: expected integers, found bool"),
        (([0], 1), {"p": 0}, ValueError, r"p: expected a number from 1e-200 to 1e200, found 0"),
        (([0], 1), {"p": float("nan")}, ValueError, r"p: expected a number from 1e-200 to 1e200, found nan"),
        (([0], 1), {"q": -1}, ValueError, r"q: expected a number from 1e-200 to 1e200, found -1"),
        (([0], 1), {"q": float("inf")}, ValueError, r"q: expected a number from 1e-200 to 1e200, found inf"),
        (([0], 1), {"q": "1"}, TypeError, r"q: expected a number, found '1'"),
        (([0], 1), {"restart": -0.1}, ValueError, r"restart: expected a probability from 0 to 1, found -0\.1"),
        (([0], 1), {"restart": 1.5}, ValueError, r"restart: expected a probability from 0 to 1, found 1\.5"),
        (([0], 1), {"restart": float("nan")}, ValueError, r"restart: expected a probability from 0 to 1, found nan"),
        (([0], 1), {"weighted": True}, ValueError, r"tiny\.gl: has no weights; write the graph with weight="),
        (([0], 1), {"direction": "up"}, ValueError, r"direction: expected 'out' or 'in', found 'up'"),
        (([0], 1), {"seed": 2**64}, ValueError, r"seed: expected an integer of 64 bits, found 18446744073709551616"),
        (([0], 1), {"metapath": [WRITES]}, TypeError, r"graph: expected a Dataset or a mapping .*, found Graph"),
    ],
)
def test_bad_arguments_are_named(tiny, arguments, options, error, message):
    with pytest.raises(error, match=message):
        gz.random_walk(tiny, *arguments, **options)


def test_graphs_that_cannot_be_walked(tiny):
    with pytest.raises(TypeError, match="graph: expected a Graph, a Dataset or a mapping of edge types, found str"):
        gz.random_walk("tiny.gl", [0], 1)
    gz.write_graph("two.gl", [0], [1], num_nodes=(2, 3))
    with pytest.raises(ValueError, match=r"two\.gl: is bipartite, .* give a metapath that leads back"):
        gz.random_walk(gz.Graph("two.gl"), [0], 1)
    gz.write_graph("in.gl", [0], [1], index="in")
    with pytest.raises(ValueError, match=r"in\.gl: has no 'out' index, only 'in'; write the graph with index=\"both\""):
        gz.random_walk(gz.Graph("in.gl"), [0], 1)
    tiny.close()
    for walk in (tiny.batch_random_walk, tiny.batch_random_walk_uniform, lambda *a: gz.random_walk(tiny, *a)):
        with pytest.raises(ValueError, match="this Graph is closed; open it again to use it"):
            walk([0], 1)


@pytest.mark.parametrize(
    ("metapath", "length", "options", "error", "message"),
    [
        ([], 1, {}, ValueError, "metapath: expected at least one edge type"),
        (
            [("author", "reads", "paper")],
            1,
            {},
            ValueError,
            r"metapath\[0\]: no edge type author → reads → paper; there",
        ),
        (["writes"], 1, {}, TypeError, r"metapath\[0\]: expected \(source, relation, destination\), found 'writes'"),
        (
            [WRITES, WRITES],
            1,
            {},
            ValueError,
            r"metapath\[1\]: expected an edge type from 'paper', .* found author → w",
        ),
        (
            [WRITES, CITES],
            3,
            {},
            ValueError,
            "walk_length: expected at most 2, found 3: the metapath leads from 'author'",
        ),
        ([WRITES], 1, {"p": 2.0}, ValueError, "p, q: expected 1 with a metapath, found p 2, q 1: two steps"),
        ([WRITES], 1, {"q": 0.5}, ValueError, "p, q: expected 1 with a metapath, found p 1, q 0.5"),
        ([WRITES], 1, {"direction": "in"}, ValueError, "direction: expected 'out' with a metapath, .* found 'in'"),
        ([CITES], 1, {"weighted": True}, ValueError, r"cites\.gl: has no weights"),
        ([WRITES], 1, {"restart": 2.0}, ValueError, "restart: expected a probability from 0 to 1, found 2"),
        (None, 1, {}, ValueError, "metapath: expected one, because graph is a mapping of edge types, found None"),
    ],
)
def test_bad_metapaths_are_named(scholarly, metapath, length, options, error, message):
    with pytest.raises(error, match=message):
        gz.random_walk(scholarly, [0], length, metapath=metapath, **options)


def test_a_start_beyond_the_first_relation_is_named(scholarly):
    with pytest.raises(IndexError, match=r"start_nodes\[1\]: node 9 is not in .*writes\.gl, which has 9 nodes"):
        gz.random_walk(scholarly, [0, 9], 1, metapath=[WRITES])


def test_relations_that_do_not_fit_are_refused():
    gz.write_graph("ab.gl", [0], [5], num_nodes=(2, 6))
    gz.write_graph("ba.gl", [0], [1], num_nodes=(4, 2))
    graphs = {("a", "to", "b"): gz.Graph("ab.gl"), ("b", "to", "a"): gz.Graph("ba.gl")}
    message = (
        r"metapath: ab\.gl leads to 6 nodes, but ba\.gl has lists for only 4; write it with num_nodes=\(6, \.\.\.\)"
    )
    with pytest.raises(ValueError, match=message):
        gz.random_walk(graphs, [0], 2, metapath=list(graphs))
    with pytest.raises(TypeError, match="graph: expected a Graph for every edge type, found str"):
        gz.random_walk({("a", "to", "a"): "ab.gl"}, [0], 1, metapath=[("a", "to", "a")])


def corrupt(path, kind, position, value, dtype):
    """Write one item of a section over, behind the back of the checksum."""
    from files import MAGIC, NAMES, parse

    data = Path(path).read_bytes()
    section = parse(data, MAGIC["gl"], NAMES).section(KINDS[kind])
    with open(path, "r+b") as file:
        file.seek(section.offset + position * np.dtype(dtype).itemsize)
        file.write(np.array([value], dtype).tobytes())


@pytest.mark.parametrize("options", [{}, {"p": 0.1, "q": 3.0}, {"weighted": True}, {"p": 2.0, "weighted": True}])
def test_a_corrupt_file_is_a_format_error(options):
    src, dst = random_edges()
    for kind, value, dtype, message in (
        ("out_indices", 12, np.int32, r"g\.gl: corrupt indices at entry 1: expected a node id below 12, found 12"),
        ("out_indices", -3, np.int32, r"g\.gl: corrupt indices at entry 1: expected a node id below 12, found -3"),
        ("out_indptr", 10**9, np.int64, r"g\.gl: corrupt indptr at node (0|1): expected 0 <= begin <= end <= 40"),
    ):
        gz.write_graph("g.gl", src, dst, num_nodes=12, weight=np.ones(40), index="out")
        corrupt("g.gl", kind, 1, value, dtype)
        with pytest.raises(gz.FormatError, match=message):
            gz.random_walk(gz.Graph("g.gl"), [0] * 500, 3, seed=0, **options)


def slow_graph(size=300):
    """Two sides, all edges between them: with a large p and q no proposal is accepted, and lists are read whole."""
    src, dst = np.divmod(np.arange(size * size), size)
    gz.write_graph("slow.gl", src, size + dst, directed=False)
    return gz.Graph("slow.gl")


def test_other_threads_run_during_a_walk():
    graph = slow_graph()
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    begin = time.perf_counter()
    gz.random_walk(graph, np.zeros(64, int), 300, p=1e50, q=1e50, seed=0)
    end = time.perf_counter()
    done.set()
    ticker.join()
    assert len([t for t in ticks if begin < t < end]) > 10


@pytest.mark.parametrize("walks", [1, 1000])
def test_ctrl_c_ends_a_walk(walks):
    slow_graph()
    # Left alone this takes minutes.
    code = f"""
import graphzero as gz
g = gz.Graph("slow.gl")
try:
    print("ready", flush=True)  # inside: a busy machine may be slow to go on
    gz.random_walk(g, [0] * {walks}, 5_000_000 // {walks}, p=1e50, q=1e50)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = start([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.7)
    interrupt(process)
    try:
        assert process.communicate(timeout=30)[0] == "interrupted\n"
    finally:
        process.kill()
    assert process.returncode == 0

"""One call on several threads gives what one thread gives, bit by bit, whatever the options."""

import numpy as np
import pytest

import graphzero as gz

NUM_NODES, NUM_EDGES = 20_000, 300_000
SEEDS = np.random.default_rng(1).integers(0, NUM_NODES, 1200)
THREADS = (1, 2, 3, 16)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """Skewed graphs, in which many draws find the same node."""
    folder, rng = tmp_path_factory.mktemp("graphs"), np.random.default_rng(0)
    src, dst = ((rng.random(NUM_EDGES) ** power * NUM_NODES).astype(np.int64) for power in (3, 2))
    weight, time = rng.random(NUM_EDGES).astype(np.float32), rng.integers(0, 1000, NUM_EDGES)
    options = {"plain": {}, "undirected": {"directed": False}, "weighted": {"weight": weight}, "timed": {"time": time}}
    options["large"] = {"num_nodes": 4_000_000}
    found = {}
    for name, more in options.items():
        gz.write_graph(folder / f"{name}.gl", src, dst, **{"num_nodes": NUM_NODES, **more}, index="in")
        found[name] = gz.Graph(folder / f"{name}.gl")
    return found


@pytest.fixture
def on_threads():
    def run(sample):
        found = []
        for threads in THREADS:
            gz.set_num_threads(threads)
            found.append(sample())
        return found

    yield run
    gz.set_num_threads(0)


def assert_same(hoods):
    def values(hood):
        return [hood.node, hood.row, hood.col, hood.edge, hood.batch, hood.num_sampled_nodes, hood.num_sampled_edges]

    first = values(hoods[0])
    for other in map(values, hoods[1:]):
        for left, right in zip(first, other, strict=True):
            np.testing.assert_equal(left, right)


@pytest.mark.parametrize("graph", ["plain", "undirected"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"replace": True},
        {"disjoint": True},
        {"method": "labor"},
        {"subgraph_type": "induced"},
        {"subgraph_type": "bidirectional"},
        {"exclude": (SEEDS[:100], SEEDS[100:200]), "exclude_reverse": True},
    ],
)
def test_options(graphs, on_threads, graph, options):
    assert_same(on_threads(lambda: gz.sample_neighbors(graphs[graph], SEEDS, [10, 5, 3], seed=3, **options)))


@pytest.mark.parametrize("fanouts", [[-1], [3, -1], [0, 5], [200], [1, 1, 1, 1, 1]])
def test_fanouts(graphs, on_threads, fanouts):
    assert_same(on_threads(lambda: gz.sample_neighbors(graphs["plain"], SEEDS, fanouts, seed=3)))


def test_weights_and_times(graphs, on_threads):
    assert_same(on_threads(lambda: gz.sample_neighbors(graphs["weighted"], SEEDS, [10, 5], weighted=True, seed=3)))
    times = np.full(len(SEEDS), 500)
    assert_same(
        on_threads(lambda: gz.sample_neighbors(graphs["timed"], SEEDS, [10, 5], disjoint=True, seed_time=times, seed=3))
    )


def test_more_trees_times_nodes_than_4_bytes_hold(graphs, on_threads):
    """Their tables have slots of 16 bytes, which are claimed in two steps."""
    assert len(SEEDS) * graphs["large"].num_nodes > 2**32
    assert_same(on_threads(lambda: gz.sample_neighbors(graphs["large"], SEEDS, [10, 5, 3], disjoint=True, seed=3)))


def test_seeds_that_come_twice(graphs, on_threads):
    seeds = np.repeat(SEEDS[:300], 4)
    assert_same(on_threads(lambda: gz.sample_neighbors(graphs["plain"], seeds, [10, 5], seed=3)))


def test_more_draws_than_wait_at_a_time(graphs, on_threads):
    """Beyond a million, a hop is drawn and relabelled in several rounds."""
    hoods = on_threads(lambda: gz.sample_neighbors(graphs["plain"], np.arange(NUM_NODES), [120, 1], seed=3))
    assert_same(hoods)
    assert len(hoods[0].row) > 100_000


def test_several_types(graphs, on_threads):
    relations = {
        ("a", "x", "b"): graphs["plain"],
        ("b", "y", "a"): graphs["undirected"],
        ("a", "z", "a"): graphs["plain"],
    }
    for options in ({}, {"disjoint": True}):
        assert_same(
            on_threads(
                lambda: gz.sample_neighbors(relations, {"a": SEEDS, "b": SEEDS[:700]}, [10, 6, 3], seed=3, **options)  # noqa: B023
            )
        )


def test_a_call_inside_of_threads_of_the_caller(graphs, on_threads):
    """Several Python threads sample at once, each with a team of its own."""
    from concurrent.futures import ThreadPoolExecutor

    def sample(batch):
        return gz.sample_neighbors(graphs["plain"], SEEDS, [10, 5, 3], seed=3, batch=batch)

    expected = [sample(batch) for batch in range(4)]
    with ThreadPoolExecutor(8) as pool:
        for hoods in on_threads(lambda: list(pool.map(sample, [0, 1, 2, 3] * 4))):
            for batch, hood in enumerate(hoods):
                assert_same([expected[batch % 4], hood])


def test_edges_left_out_of_lists_in_order_of_time(graphs, on_threads):
    """They are found in one pass over a list, beside NumPy."""
    graph = graphs["timed"]
    index = graph.index("in")
    dst = np.repeat(np.arange(graph.num_nodes), np.diff(index.indptr))
    src, ids = index.indices.astype(np.int64), np.arange(len(dst)) if index.edge_ids is None else index.edge_ids
    chosen = np.random.default_rng(2).integers(0, len(dst), 20_000)
    seeds = np.arange(NUM_NODES)
    hoods = on_threads(lambda: gz.sample_neighbors(graph, seeds, [-1], exclude=(src[chosen], dst[chosen]), seed=3))
    assert_same(hoods)
    left_out = np.isin(src * graph.num_nodes + dst, src[chosen] * graph.num_nodes + dst[chosen])
    assert set(hoods[0].edge) == set(ids[~left_out])
    one_each = (src[chosen], dst[chosen], ids[chosen])
    assert set(gz.sample_neighbors(graph, seeds, [-1], exclude=one_each, seed=3).edge) == set(ids) - set(ids[chosen])

"""The distributions of neighbour sampling are exactly what they should be."""

import itertools

import numpy as np
import pytest

import graphzero as gz
import oracle
from laws import assert_law, assert_uniform, assert_uniform_inclusion

TREES = 60_000


def star(size, **options):
    """0 points to 1 … size; edge i leads to i + 1."""
    gz.write_graph("star.gl", np.zeros(size, np.int64), np.arange(1, size + 1), **options)
    return gz.Graph("star.gl")


def drawn(graph, fanout, *, trees=TREES, seed_time=None, **options):
    """The edges that each of many trees draws, as rows."""
    if seed_time is not None:
        options["seed_time"] = np.full(trees, seed_time)
    seeds = np.zeros(trees, np.int64)
    hood = gz.sample_neighbors(graph, seeds, [fanout], direction="out", disjoint=True, seed=1, **options)
    assert len(hood.edge) % trees == 0
    assert (hood.row == np.repeat(np.arange(trees), len(hood.edge) // trees)).all()
    return hood.edge.reshape(trees, -1)


def masks(edges):
    """Sets of edges as numbers."""
    return (1 << edges).sum(axis=1)


def mask_law(law):
    return {sum(1 << edge for edge in subset): chance for subset, chance in law.items()}


def subsets(edges, count):
    return [sum(1 << edge for edge in subset) for subset in itertools.combinations(edges, count)]


def many_lists(num_nodes, size):
    """Nodes with equal lists: each points to the ``size`` nodes behind them all."""
    src = np.repeat(np.arange(num_nodes), size)
    gz.write_graph("lists.gl", src, num_nodes + np.tile(np.arange(size), num_nodes))
    return gz.Graph("lists.gl")


def node_masks(hood, size):
    """What each seed of a ``many_lists`` graph drew, as numbers."""
    return np.bincount(hood.row, weights=2.0 ** (hood.edge % size)).astype(np.int64)


def test_every_subset_is_as_likely_for_trees_of_one_node(tmp_path):
    assert_uniform(masks(drawn(star(8), 3)), subsets(range(8), 3))


def test_every_subset_is_as_likely_for_nodes_of_one_batch(tmp_path):
    hood = gz.sample_neighbors(many_lists(TREES, 8), np.arange(TREES), [3], direction="out", seed=1)
    assert_uniform(node_masks(hood, 8), subsets(range(8), 3))


@pytest.mark.parametrize("word", ["seed", "epoch", "batch"])
def test_every_subset_is_as_likely_for_one_node_at_many_times(tmp_path, word):
    graph = star(8)
    numbers = {"seed": 1}
    edges = [gz.sample_neighbors(graph, [0], [3], direction="out", **{**numbers, word: i}).edge for i in range(8000)]
    assert_uniform(masks(np.array(edges)), subsets(range(8), 3))


@pytest.mark.parametrize(("fanout", "size"), [(64, 66), (65, 67), (70, 72)])
def test_what_is_left_out_is_as_likely_below_and_beyond_64_picks(tmp_path, fanout, size):
    edges = drawn(star(size), fanout, trees=30_000)
    missing = np.ones((len(edges), size), bool)
    np.put_along_axis(missing, edges, False, axis=1)
    assert (missing.sum(axis=1) == 2).all()
    first, second = missing.argmax(axis=1), size - 1 - missing[:, ::-1].argmax(axis=1)
    assert_uniform(first * size + second, [a * size + b for a, b in itertools.combinations(range(size), 2)])


@pytest.mark.parametrize(("fanout", "size"), [(10, 500), (100, 500), (64, 129), (200, 201)])
def test_every_item_of_a_list_is_drawn_as_often(tmp_path, fanout, size):
    edges = drawn(star(size), fanout, trees=20_000)
    assert (np.diff(np.sort(edges, axis=1), axis=1) > 0).all()
    assert_uniform_inclusion(np.bincount(edges.ravel(), minlength=size), 20_000, fanout)


def test_a_hub_is_drawn_from_evenly_to_its_end(tmp_path):
    edges = drawn(star(1 << 20), 10, trees=20_000)
    assert_uniform(edges.ravel() >> 14, range(64))
    assert_uniform(edges.ravel() % 64, range(64))


def test_with_replacement_draws_are_independent_and_uniform(tmp_path):
    edges = drawn(star(5), 2, replace=True)
    assert_uniform(edges[:, 0] * 5 + edges[:, 1], range(25))
    assert_uniform(drawn(star(3), 4, replace=True) @ [27, 9, 3, 1], range(81))


WEIGHTS = [1.0, 2.0, 0.0, 4.0, 0.5]


def shares(weights):
    total = sum(map(float, weights))
    return {i: weight / total for i, weight in enumerate(map(float, weights))}


def test_weighted_draws_with_replacement_are_independent_and_in_proportion(tmp_path):
    edges = drawn(star(5, weight=WEIGHTS), 2, weighted=True, replace=True)
    law = shares(WEIGHTS)
    assert_law(edges[:, 0] * 5 + edges[:, 1], {a * 5 + b: law[a] * law[b] for a in law for b in law})


@pytest.mark.parametrize("size", [15, 16, 17, 33, 100])
def test_weighted_draws_are_in_proportion_across_stored_sums(tmp_path, size):
    weights = np.random.default_rng(size).exponential(size=size).astype(np.float32)
    weights[::7] = 0
    assert_law(drawn(star(size, weight=weights), 3, weighted=True, replace=True).ravel(), shares(weights))
    assert_law(drawn(star(size, weight=weights), 1, weighted=True).ravel(), shares(weights))


def test_lists_that_share_a_stored_sum_do_not_mix(tmp_path):
    """Lists of 5 begin and end anywhere between the sums of 16 weights."""
    src = np.repeat(np.arange(7), 5)
    weights = np.random.default_rng(0).exponential(size=35).astype(np.float32)
    gz.write_graph("lists.gl", src, np.tile(np.arange(5), 7), weight=weights)
    graph = gz.Graph("lists.gl")
    seeds = np.repeat(np.arange(7), 20_000)
    hood = gz.sample_neighbors(graph, seeds, [1], direction="out", weighted=True, disjoint=True, seed=3)
    for node in range(7):
        own = hood.edge[seeds[hood.row] == node]
        assert_law(own - 5 * node, shares(weights[5 * node : 5 * node + 5]))


MANY = [3.0, 1.0, 0.0, 0.25, 2.0, 8.0, 1.0, 1.0, 0.5, 4.0, 1.5, 1.0]
EXTREME = [1e-30, 2.0, 1e30, 3e-30, 1.0, 0.0, 2e-30, 1e-30, 5e-30, 1e-20, 2e-20, 1e-30]


@pytest.mark.parametrize(
    ("weights", "fanout"),
    [
        (WEIGHTS, 2),  # few entries per pick: all are looked at
        (MANY[:7], 3),
        (MANY, 2),  # many: drawn until there are enough
        (MANY, 3),
        (EXTREME, 2),  # later picks are out of reach of draws
        (EXTREME[:8], 3),
        (EXTREME, 3),
        (EXTREME, 4),
        (EXTREME + [1e-30] * 6, 4),
        ([0.0, 0.0, 5.0, 0.0, 1.0], 2),
    ],
)
def test_weighted_draws_without_replacement_follow_successive_sampling(tmp_path, weights, fanout):
    weights = np.array(weights, np.float32).tolist()
    edges = drawn(star(len(weights), weight=weights), fanout, weighted=True)
    assert_law(masks(edges), mask_law(oracle.successive_law(weights, fanout)))


def test_when_few_have_weight_a_pick_is_short(tmp_path):
    weights = [0.0] * 20
    weights[3] = weights[11] = 1.0
    assert set(masks(drawn(star(20, weight=weights), 4, weighted=True, trees=100))) == {(1 << 3) + (1 << 11)}


@pytest.mark.parametrize("before", [1.0, 1e5, 1e16, 1e30])
@pytest.mark.parametrize("size", [6, 12])
@pytest.mark.parametrize("replace", [False, True])
def test_weighted_draws_from_a_window_are_exact_beside_any_weight_before_it(tmp_path, before, size, replace):
    """Sums that start with 1e16 have too few digits left for the window: it is looked at entry by entry."""
    weights = np.array([before, before, *MANY[:size], before], np.float32).tolist()
    graph = star(len(weights), weight=weights, time=np.arange(len(weights)))
    options = {"seed_time": 1 + size, "time_window": size - 1, "weighted": True}
    edges = drawn(graph, 2, replace=replace, trees=20_000, **options)
    assert (edges.min(), edges.max()) == (2, 1 + size)
    inside = [0.0, 0.0, *weights[2:-1], 0.0]
    if replace:
        assert_law(edges.ravel(), shares(inside))
    else:
        assert_law(masks(edges), mask_law(oracle.successive_law(inside, 2)))


@pytest.mark.parametrize("heavy", [2.0, 1e20])
@pytest.mark.parametrize("replace", [False, True])
def test_weighted_draws_leave_out_excluded_edges_whatever_they_weigh(tmp_path, heavy, replace):
    weights = np.array([1.0, heavy, *MANY, heavy], np.float32).tolist()
    graph = star(len(weights), weight=weights)
    out = [1, 7, len(weights) - 1]
    exclude = ([0] * 3, [edge + 1 for edge in out])
    edges = drawn(graph, 2, weighted=True, replace=replace, exclude=exclude, trees=30_000)
    left = [0.0 if edge in out else weight for edge, weight in enumerate(weights)]
    if replace:
        assert_law(edges.ravel(), shares(left))
    else:
        assert_law(masks(edges), mask_law(oracle.successive_law(left, 2)))


def test_weighted_draws_by_the_time_of_nodes_follow_the_weights_left(tmp_path):
    graph = star(12, weight=MANY)
    old = [0, 3, 4, 5, 8, 9, 11]
    node_time = np.array([9] + [0 if edge in old else 5 for edge in range(12)])
    left = [weight if edge in old else 0.0 for edge, weight in enumerate(MANY)]
    options = {"weighted": True, "seed_time": 1, "node_time": node_time}
    assert_law(masks(drawn(graph, 3, **options)), mask_law(oracle.successive_law(left, 3)))
    assert_law(drawn(graph, 2, replace=True, **options).ravel(), shares(left))


LIGHT, HEAVY = ("a", "light", "a"), ("a", "heavy", "a")


def two_stars(**of_heavy):
    """Node 0 points to 1 … 5 in both graphs; ``of_heavy`` belongs to the second."""
    src, dst = np.zeros(5, np.int64), np.arange(1, 6)
    gz.write_graph("light.gl", src, dst)
    gz.write_graph("heavy.gl", src, dst, **of_heavy)
    return {LIGHT: gz.Graph("light.gl"), HEAVY: gz.Graph("heavy.gl")}


def drawn_by_type(graphs, fanout, **options):
    seeds = {"a": np.zeros(TREES, np.int64)}
    hood = gz.sample_neighbors(graphs, seeds, [fanout], direction="out", disjoint=True, seed=1, **options)
    return {triple: edges.reshape(TREES, -1) for triple, edges in hood.edge.items()}


@pytest.mark.parametrize("weighted", [True, [HEAVY]])
def test_graphs_without_weights_draw_uniformly(tmp_path, weighted):
    found = drawn_by_type(two_stars(weight=WEIGHTS), 2, weighted=weighted)
    assert_uniform(masks(found[LIGHT]), subsets(range(5), 2))
    assert_law(masks(found[HEAVY]), mask_law(oracle.successive_law(WEIGHTS, 2)))


def test_graphs_without_weights_draw_uniformly_by_labor(tmp_path):
    """All trees of a batch share its random numbers, so there are many batches."""
    graphs = two_stars(weight=WEIGHTS)
    options = {"direction": "out", "method": "labor", "weighted": True, "seed": 1}
    found = [gz.sample_neighbors(graphs, {"a": [0]}, [2], batch=i, **options).edge for i in range(8000)]
    assert_uniform(masks(np.array([edges[LIGHT] for edges in found])), subsets(range(5), 2))
    law = mask_law(oracle.successive_law(WEIGHTS, 2))
    assert_law(masks(np.array([edges[HEAVY] for edges in found])), law)


@pytest.mark.parametrize("weighted", [False, []])
def test_weights_that_are_not_asked_for_do_not_count(tmp_path, weighted):
    found = drawn_by_type(two_stars(weight=WEIGHTS), 2, weighted=weighted)
    assert_uniform(masks(found[HEAVY]), subsets(range(5), 2))


def test_last_draws_uniformly_where_there_are_no_times(tmp_path):
    seed_time = {"a": np.full(TREES, 3)}
    graphs = two_stars(time=[4, 3, 1, 2, 0])
    found = drawn_by_type(graphs, 2, seed_time=seed_time, temporal_strategy="last")
    assert_uniform(masks(found[LIGHT]), subsets(range(5), 2))
    assert set(masks(found[HEAVY])) == {(1 << 1) + (1 << 3)}
    found = drawn_by_type(graphs, 2, seed_time=seed_time, temporal_strategy="last", edge_time=[])
    assert_uniform(masks(found[HEAVY]), subsets(range(5), 2))


def test_uniform_draws_leave_holes_out(tmp_path):
    exclude = ([0, 0, 0], [1, 5, 8])
    assert_uniform(masks(drawn(star(8), 2, exclude=exclude)), subsets([1, 2, 3, 5, 6], 2))
    assert_uniform(drawn(star(8), 3, replace=True, exclude=exclude).ravel(), [1, 2, 3, 5, 6])


def test_uniform_draws_from_a_window_do_not_favour_among_equal_times(tmp_path):
    graph = star(9, time=[0, 1, 1, 2, 2, 2, 3, 3, 4])
    assert_uniform(masks(drawn(graph, 2, seed_time=3, time_window=2)), subsets(range(1, 8), 2))
    assert_uniform(masks(drawn(graph, 2, seed_time=2)), subsets(range(6), 2))
    assert_uniform(drawn(graph, 2, seed_time=2, time_window=0, replace=True).ravel(), range(3, 6))
    node_time = np.array([0, 5, 1, 2, 5, 1, 1, 0, 2, 9])
    by_node = drawn(graph, 2, seed_time=2, time_window=1, node_time=node_time)
    assert_uniform(masks(by_node), subsets([1, 2, 4, 5, 7], 2))


def test_a_hub_of_2_20_with_extreme_weights(tmp_path):
    """Three entries have all the weight; the others share what is left when these are taken."""
    weights = np.full(1 << 20, 1e-30, np.float32)
    heavy = [5, 600_000, (1 << 20) - 1]
    weights[heavy] = 1e30
    graph = star(1 << 20, weight=weights)
    assert_uniform(drawn(graph, 1, weighted=True, trees=9000).ravel(), heavy)
    assert_uniform(
        drawn(graph, 2, weighted=True, trees=9000).sum(axis=1), [a + b for a, b in itertools.combinations(heavy, 2)]
    )
    edges = drawn(graph, 6, weighted=True, trees=60)
    rest = edges[~np.isin(edges, heavy)]
    assert len(rest) == 180
    assert_uniform(rest >> 17, range(8))


def test_a_hub_of_2_24_is_weighed_to_its_last_edge(tmp_path):
    """Added up in float32 the sum would stand still at 2^24."""
    size = 1 << 24
    weights = np.ones(size, np.float32)
    weights[-1] = size - 1
    graph = star(size, weight=weights, index="out")
    edges = drawn(graph, 4, weighted=True, replace=True, trees=50_000).ravel()
    assert_uniform(edges == size - 1, [False, True])
    assert_uniform(edges[edges < size - 1] >> 18, range(64))

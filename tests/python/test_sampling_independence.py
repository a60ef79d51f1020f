"""Draws that should have nothing in common have nothing in common; those of labor that should, do."""

import itertools

import numpy as np
import pytest

import graphzero as gz
import oracle
from laws import assert_dependent, assert_independent, assert_law, assert_uniform

NODES = 30_000
SIZE = 5
# NODES nodes, each with a list of SIZE; behind them those they point to, then NODES that point at one node each.
LISTED = np.arange(NODES)
LEADERS = NODES + SIZE + LISTED


@pytest.fixture
def lists(tmp_path):
    src = np.concatenate([np.repeat(LISTED, SIZE), LEADERS])
    dst = np.concatenate([NODES + np.tile(np.arange(SIZE), NODES), LISTED])
    gz.write_graph("lists.gl", src, dst)
    return gz.Graph("lists.gl")


def picks(graph, seeds=LISTED, fanouts=(2,), **options):
    """What was drawn from each list of ``LISTED``, as a number; one row per seed."""
    hood = gz.sample_neighbors(graph, seeds, fanouts, direction="out", **{"seed": 1, **options})
    listed = hood.node[hood.row] < NODES
    return np.bincount(hood.row[listed], weights=2.0 ** (hood.edge[listed] % SIZE)).astype(np.int64), hood


def test_hops_draw_independently(lists):
    first, _ = picks(lists)
    second, hood = picks(lists, LEADERS, [-1, 2])
    assert (hood.node[NODES : 2 * NODES] == LISTED).all()
    second = second[NODES:]
    assert_uniform(second, [sum(1 << i for i in pair) for pair in itertools.combinations(range(SIZE), 2)])
    assert_independent(first, second)


@pytest.mark.parametrize("other", [{"seed": 2}, {"epoch": 1}, {"batch": 1}, {"disjoint": True}])
@pytest.mark.parametrize("replace", [False, True])
def test_another_key_draws_independently(lists, other, replace):
    first, again = picks(lists, replace=replace)[0], picks(lists, replace=replace)[0]
    assert (first == again).all()
    assert_independent(first, picks(lists, replace=replace, **other)[0])


def test_epoch_and_batch_do_not_stand_for_each_other(lists):
    assert_independent(picks(lists, epoch=1, batch=2)[0], picks(lists, epoch=2, batch=1)[0])


def test_neighbouring_nodes_draw_independently(lists):
    drawn, _ = picks(lists)
    assert_independent(drawn[:-1], drawn[1:])


def test_trees_draw_independently(lists):
    drawn, _ = picks(lists, np.repeat(LISTED, 2), disjoint=True)
    assert_independent(drawn[::2], drawn[1::2])


def test_a_repeated_seed_draws_the_same_unless_samples_are_disjoint(lists):
    drawn, _ = picks(lists, np.repeat(LISTED, 2))
    assert (drawn[::2] == drawn[1::2]).all()


def of_relation(hood, triple):
    row, edge = hood.row[triple], hood.edge[triple]
    listed = hood.node[triple[0]][row] < NODES
    return np.bincount(row[listed], weights=2.0 ** (edge[listed] % SIZE)).astype(np.int64)


def test_relations_draw_independently(lists):
    """The same file under two names: the same nodes, the same lists."""
    graphs = {("a", "x", "b"): lists, ("a", "y", "b"): lists}
    hood = gz.sample_neighbors(graphs, {"a": LISTED}, [2], direction="out", seed=1)
    assert_independent(*(of_relation(hood, triple) for triple in graphs))


def test_labor_shares_numbers_between_relations_to_one_type_alone(lists):
    """Node 5 of one type is not node 5 of another."""
    graphs = {("a", "x", "b"): lists, ("a", "y", "b"): lists, ("a", "z", "c"): lists}
    drawn = []
    for batch in range(3000):
        options = {"direction": "out", "method": "labor", "seed": 1, "batch": batch}
        hood = gz.sample_neighbors(graphs, {"a": [0]}, [2], **options)
        drawn.append([of_relation(hood, triple)[0] for triple in graphs])
    x, y, z = np.array(drawn).T
    assert (x == y).all()
    assert_independent(x, z)


WEIGHTS = [3.0, 1.0, 0.0, 0.25, 2.0, 8.0]


@pytest.mark.parametrize("weighted", [False, True])
def test_labor_gives_each_node_the_law_of_ordinary_sampling(tmp_path, weighted):
    gz.write_graph("star.gl", np.zeros(6, np.int64), np.arange(1, 7), weight=WEIGHTS)
    graph = gz.Graph("star.gl")
    options = {"direction": "out", "method": "labor", "weighted": weighted, "seed": 1}
    drawn = [sum(1 << gz.sample_neighbors(graph, [0], [2], batch=batch, **options).edge) for batch in range(10_000)]
    law = oracle.successive_law(WEIGHTS if weighted else [1.0] * 6, 2)
    assert_law(drawn, {sum(1 << edge for edge in subset): chance for subset, chance in law.items()})


def test_labor_picks_shared_neighbours_together(tmp_path):
    """0 points to 2 … 7 and 1 to 5 … 10: they share three."""
    gz.write_graph("pair.gl", [0] * 6 + [1] * 6, [*range(2, 8), *range(5, 11)])
    graph = gz.Graph("pair.gl")
    both = {}
    for method in ("neighbor", "labor"):
        options = {"direction": "out", "method": method, "seed": 1}
        hoods = [gz.sample_neighbors(graph, [0, 1], [2], batch=batch, **options) for batch in range(6000)]
        with_5 = np.array([[5 in hood.node[hood.col[hood.row == node]] for node in (0, 1)] for hood in hoods])
        (assert_dependent if method == "labor" else assert_independent)(*with_5.T)
        both[method] = with_5.all(axis=1).mean()
    assert both["labor"] > 1.5 * both["neighbor"]


def test_labor_reaches_fewer_nodes_with_as_many_edges(tmp_path):
    rng = np.random.default_rng(0)
    gz.write_graph("g.gl", rng.integers(0, 2000, 60_000), rng.integers(0, 2000, 60_000), num_nodes=2000)
    graph = gz.Graph("g.gl")
    seeds = np.arange(200)
    plain = gz.sample_neighbors(graph, seeds, [5, 5], seed=1)
    labor = gz.sample_neighbors(graph, seeds, [5, 5], seed=1, method="labor")
    assert labor.num_sampled_edges[0] == plain.num_sampled_edges[0] == 1000
    assert len(labor.node) < 0.75 * len(plain.node)


def test_layer_dependency_makes_hops_pick_alike(tmp_path):
    """0 … 8 all point to 1 … 8."""
    src, dst = np.divmod(np.arange(72), 8)
    gz.write_graph("g.gl", src, dst + 1)
    graph = gz.Graph("g.gl")
    options = {"direction": "out", "method": "labor"}
    alike, apart = [], []
    for seed in range(100):
        tied = gz.sample_neighbors(graph, [0], [3, 3], seed=seed, layer_dependency=True, **options)
        alike.append(tied.num_sampled_nodes)
        apart.append(gz.sample_neighbors(graph, [0], [3, 3], seed=seed, **options).num_sampled_nodes)
    assert alike == [[1, 3, 0]] * 100
    # By chance two picks of 3 of 8 agree once in 56 times.
    assert sum(counts == [1, 3, 0] for counts in apart) < 12

"""Negatives of link batches: by weights, and with node times never newer than the link they belong to."""

import numpy as np
import pytest

import graphzero as gz
import oracle
from laws import assert_law, assert_uniform, p_value
from pipeline_cases import NUM_NODES, assert_same, write_world

KINDS = ["binary", "triplet"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def links(world):
    chosen = np.random.default_rng(1).permutation(len(world.src))[:500]
    return world.src[chosen], world.dst[chosen]


def pipeline(graph, links, kind, fanouts=(), **options):
    options = {"batch_size": 64, "seed": 4, "negatives": kind, **options}
    return gz.Pipeline(graph, None, fanouts, links=links, **options)


def negatives(batch, src_type=None, dst_type=None):
    """Source, destination and link of each negative of a batch, as global ids and a place in the batch."""
    node = batch.sample.node
    near, far = (node, node) if src_type is None else (node[src_type], node[dst_type])
    dst = far[batch.dst_index[batch.num_seeds :]]
    if len(batch.src_index) == batch.num_seeds:  # triplets
        of = np.arange(len(dst)) // (len(dst) // batch.num_seeds)
        return near[batch.src_index][of], dst, of
    return near[batch.src_index[batch.num_seeds :]], dst, np.arange(len(dst)) % batch.num_seeds


def all_negatives(batches, times):
    """Sources, destinations and the times of their links, of all batches."""
    parts = [(src, dst, times[batch.input_id][of]) for batch in batches for src, dst, of in [negatives(batch)]]
    return (np.concatenate(part) for part in zip(*parts, strict=True))


def weights_of(rng, count):
    return rng.integers(0, 5, count) * 0.25


@pytest.mark.parametrize("exclude_edges", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_negatives_follow_weights(kind, exclude_edges):
    src, dst = [0, 0, 1, 2, 3, 4, 5], [1, 2, 2, 0, 3, 4, 5]
    gz.write_graph("g.gl", src, dst, num_nodes=6)
    near, far = [1, 0, 2, 1, 3, 1], [2, 1, 0, 4, 1, 2]
    by = (near if kind == "binary" else None, far)
    batches = pipeline(
        gz.Graph("g.gl"), ([4] * 2000, [0] * 2000), kind, num_negatives=10, negatives_by=by, exclude_edges=exclude_edges
    )
    u, v, _ = all_negatives(batches, np.zeros(2000))
    if kind == "binary":
        expected = oracle.negative_pair_law(6, 6, src, dst, by=by, exclude_edges=exclude_edges)
        assert p_value(u * 6 + v, expected) > 1e-4
    else:
        assert p_value(v, oracle.negative_law([4], 6, src, dst, by=far, exclude_edges=exclude_edges)) > 1e-4


def test_an_array_alone_has_the_weights_of_destinations(world, links):
    far = weights_of(np.random.default_rng(3), NUM_NODES)
    for kind in KINDS:
        drawn, expected = (
            list(pipeline(world.graph, links, kind, negatives_by=by)) for by in (far.astype(np.float32), (None, far))
        )
        for one, other in zip(drawn, expected, strict=True):
            assert_same(one.sample, other.sample)
    u, v, _ = all_negatives(pipeline(world.graph, links, "binary", num_negatives=20, negatives_by=far), np.zeros(500))
    assert_uniform(u // 100, range(20))
    shares = far.reshape(20, -1).sum(axis=1) / far.sum()
    assert_law(v // 100, dict(enumerate(shares.tolist())))
    assert (far[v] > 0).all()


def test_weights_that_do_not_fit_are_refused_at_once(world, links):
    with pytest.raises(
        ValueError, match=r"^negatives_by: expected 2000 weights, one for each destination of .*found 7$"
    ):
        pipeline(world.graph, links, "triplet", negatives_by=np.ones(7))
    with pytest.raises(
        ValueError, match=r"^negatives_by\[0\]: expected 2000 weights, one for each source of .*found 7$"
    ):
        pipeline(world.graph, links, "binary", negatives_by=(np.ones(7), None))
    with pytest.raises(ValueError, match=r"^negatives_by\[1\]\[2\]: expected a weight that is finite and not negative"):
        pipeline(world.graph, links, "binary", negatives_by=(None, [0, 1, -2]))
    with pytest.raises(ValueError, match=r"^negatives_by\[0\]: expected None, because sources are given"):
        pipeline(world.graph, links, "triplet", negatives_by=(np.ones(NUM_NODES), None))
    with pytest.raises(
        ValueError, match="^negatives_by: expected 'uniform', 'degree' or an array of weights, found 'x'"
    ):
        pipeline(world.graph, links, "binary", negatives_by="x")


@pytest.fixture(scope="module")
def node_time():
    return np.random.default_rng(6).integers(0, 100, NUM_NODES)


@pytest.fixture(scope="module")
def link_time():
    return np.random.default_rng(7).integers(20, 100, 500)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("exclude_edges", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_no_negative_is_newer_than_its_link(world, links, node_time, link_time, kind, exclude_edges, weighted):
    far = weights_of(np.random.default_rng(8), NUM_NODES)
    options = {"num_negatives": 3, "exclude_edges": exclude_edges, "shuffle": True}
    if weighted:
        options["negatives_by"] = far
    batches = pipeline(world.graph, links, kind, seed_time=link_time, node_time=node_time, **options)
    u, v, times = all_negatives(batches, link_time)
    assert len(v) == 1500
    assert (node_time[v] <= times).all()
    if kind == "binary":
        assert (node_time[u] <= times).all()
    if exclude_edges:
        assert not world.graph.has_edges(u, v).any()
    if weighted:
        assert (far[v] > 0).all()
    ages = node_time[v]
    assert (ages == times).any()  # as old as the link is old enough
    assert len(np.unique(v)) > 400


@pytest.mark.parametrize("by", ["uniform", "degree", ([1, 4, 0, 2, 1, 1, 5, 1], [2, 0, 3, 1, 1, 2, 1, 7])], ids=str)
@pytest.mark.parametrize("exclude_edges", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_nodes_that_are_old_enough_keep_their_proportions(kind, exclude_edges, by):
    src = [0, 0, 1, 2, 3, 4, 5, 1, 1, 7, 6, 5]
    dst = [1, 2, 2, 0, 3, 4, 5, 4, 0, 0, 3, 7]
    gz.write_graph("g.gl", src, dst, num_nodes=8)
    times = np.array([3, 9, 1, 5, 5, 2, 8, 4])  # 1 and 6 are newer than the link
    old = times <= 5
    if kind == "triplet" and isinstance(by, tuple):
        by = by[1]
    batches = pipeline(
        gz.Graph("g.gl"),
        ([1] * 1500, [4] * 1500),
        kind,
        num_negatives=10,
        negatives_by=by,
        exclude_edges=exclude_edges,
        seed_time=np.full(1500, 5),
        node_time=times,
    )
    u, v, _ = all_negatives(batches, np.full(1500, 5))
    if kind == "binary":
        law = oracle.negative_pair_law(8, 8, src, dst, by=by, exclude_edges=exclude_edges)
        law = np.where(np.outer(old, old).ravel(), law, 0)
        assert p_value(u * 8 + v, law / law.sum()) > 1e-4
    else:
        law = np.where(old, oracle.negative_law([1], 8, src, dst, by=by, exclude_edges=exclude_edges), 0)
        assert p_value(v, law / law.sum()) > 1e-4


@pytest.mark.parametrize("exclude_edges", [False, True])
def test_pairs_are_found_where_few_nodes_are_old_enough(world, exclude_edges):
    """One node in ten is: a pair is with probability 1/100, which 64 draws of both ends would often miss."""
    times = np.arange(NUM_NODES) % 10
    batches = pipeline(
        world.graph,
        ([0] * 500, [0] * 500),
        "binary",
        num_negatives=20,
        exclude_edges=exclude_edges,
        seed_time=np.zeros(500, np.int64),
        node_time=times,
    )
    u, v, _ = all_negatives(batches, np.zeros(500))
    assert (times[u] == 0).all()
    assert (times[v] == 0).all()
    late = (u == 0) & (v == 0)  # the oldest node, twice
    assert late.mean() < 0.005
    assert_uniform(v[~late] // 200, range(10))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("time", [3, 2])
def test_the_oldest_node_stands_in_where_no_other_is_found(world, links, kind, time):
    """At 3 it is the only one that is old enough, at 2 not even that one is."""
    times = np.full(NUM_NODES, 1000)
    times[777] = 3
    seed_time = np.full(500, time)
    u, v, _ = all_negatives(pipeline(world.graph, links, kind, seed_time=seed_time, node_time=times), seed_time)
    assert set(v.tolist()) == {777}
    if kind == "binary":
        assert set(u.tolist()) == {777}


def test_the_oldest_of_those_that_weigh_something_stands_in(world, links):
    times = np.full(NUM_NODES, 1000)
    times[[777, 778, 779]] = [3, 4, 4]
    near, far = np.ones(NUM_NODES), np.ones(NUM_NODES)
    near[777] = far[[777, 778]] = 0
    seed_time = np.full(500, 5)
    seed_time[250:] = 0
    options = {"seed_time": seed_time, "node_time": times, "negatives_by": (near * 1e-9, far * 1e-9)}
    u, v, of = all_negatives(pipeline(world.graph, links, "binary", **options), seed_time)
    assert set(u[of == 0].tolist()) == {778}
    assert set(v.tolist()) == {779}


def test_an_excluded_edge_may_be_what_stands_in():
    gz.write_graph("g.gl", [0, 1], [0, 0], num_nodes=300)
    times = np.full(300, 9)
    times[0] = 0
    for kind in KINDS:
        options = {"exclude_edges": True, "seed_time": [1], "node_time": times}
        (batch,) = pipeline(gz.Graph("g.gl"), ([1], [0]), kind, **options)
        assert negatives(batch)[1].tolist() == [0]


@pytest.mark.parametrize("kind", KINDS)
def test_negatives_may_be_older_than_the_window(world, links, kind):
    times = np.full(NUM_NODES, 10)
    seed_time = np.full(500, 1000)
    drawn, expected = (
        list(pipeline(world.graph, links, kind, seed_time=seed_time, node_time=times, time_window=window))
        for window in (5, None)
    )
    for one, other in zip(drawn, expected, strict=True):
        assert_same(negatives(one), negatives(other))
    assert len(np.unique(np.concatenate([negatives(batch)[1] for batch in drawn]))) > 100


@pytest.mark.parametrize("exclude_edges", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_times_that_exclude_nothing_change_nothing(world, links, kind, exclude_edges):
    graph = gz.Graph(f"{world.folder}/timed.gl")
    options = {"seed_time": np.full(500, 50), "exclude_edges": exclude_edges}
    with_times = list(pipeline(graph, links, kind, node_time=np.full(NUM_NODES, 50), **options))
    without = list(pipeline(graph, links, kind, **options))
    for one, other in zip(with_times, without, strict=True):
        assert_same(negatives(one), negatives(other))


@pytest.mark.parametrize("exclude_edges", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_only_the_end_that_has_times_is_bound_by_them(kind, exclude_edges):
    rng = np.random.default_rng(5)
    writes = ("author", "writes", "paper")
    src, dst = rng.integers(0, 30, 3000), rng.integers(0, 70, 3000)
    gz.write_graph("writes.gl", src, dst, num_nodes=(30, 70), time=rng.integers(0, 9, 3000))
    graphs, times = {writes: gz.Graph("writes.gl")}, np.arange(70)
    seed_time = np.full(400, 20)
    found = []
    for batch in pipeline(
        graphs,
        (writes, (src[:400], dst[:400])),
        kind,
        seed_time=seed_time,
        node_time={"paper": times},
        exclude_edges=exclude_edges,
    ):
        u, v, _ = negatives(batch, "author", "paper")
        assert v.max() <= 20
        found += u.tolist()
    assert set(found) == set(range(30))


@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_repetition_change_nothing(world, links, node_time, link_time, kind):
    far = weights_of(np.random.default_rng(8), NUM_NODES)
    options = {"seed_time": link_time, "node_time": node_time, "negatives_by": far, "exclude_edges": True}

    def batches(threads):
        return list(pipeline(world.graph, links, kind, [3], num_negatives=2, threads=threads, **options))

    first = batches(1)
    for other in (batches(1), batches(4)):
        for one, again in zip(first, other, strict=True):
            assert_same(one.sample, again.sample)
            assert_same((one.src_index, one.dst_index), (again.src_index, again.dst_index))


@pytest.mark.parametrize("kind", KINDS)
def test_redrawn_negatives_differ_between_batches_and_epochs(world, node_time, kind):
    """The same link again and again, so that nothing but the negatives can differ."""
    times = np.full(60, 20)
    one = pipeline(world.graph, ([3] * 60, [4] * 60), kind, batch_size=20, seed_time=times, node_time=node_time)
    drawn = [tuple(negatives(batch)[1].tolist()) for _ in range(2) for batch in one]
    assert len(drawn) == len(set(drawn)) == 6
    assert all(len(set(part)) > 15 for part in drawn)

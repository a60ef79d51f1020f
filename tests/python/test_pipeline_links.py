"""Batches of links: both ends, negatives beside them, and no edge that gives the answer away."""

import numpy as np
import pytest

import graphzero as gz
from laws import assert_law, assert_uniform
from pipeline_cases import NUM_NODES, assert_same, write_world

torch = pytest.importorskip("torch")

WRITES, REVERSE = ("author", "writes", "paper"), ("paper", "rev_writes", "author")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def links(world):
    chosen = np.random.default_rng(1).permutation(len(world.src))[:500]
    return world.src[chosen], world.dst[chosen]


def pipeline(graph, links, fanouts=(3, 2), **options):
    return gz.Pipeline(graph, None, fanouts, links=links, **{"batch_size": 64, "seed": 4, **options})


def ends(batch, src_type=None, dst_type=None):
    """The global ids of both ends: of links, then of negatives."""
    node = batch.sample.node
    near, far = (node, node) if src_type is None else (node[src_type], node[dst_type])
    return near[batch.src_index], far[batch.dst_index]


@pytest.mark.parametrize("negatives", [None, "binary", "triplet"])
def test_indices_point_at_both_ends_among_sorted_seeds(world, links, negatives):
    seen = []
    for batch in pipeline(world.graph, links, features=world.store("x"), shuffle=True, negatives=negatives):
        src, dst = ends(batch)
        count = batch.num_seeds
        assert src[:count].tolist() == links[0][batch.input_id].tolist()
        assert dst[:count].tolist() == links[1][batch.input_id].tolist()
        seeds = np.unique(np.concatenate([src, dst]))
        assert_same(batch.sample, gz.sample_neighbors(world.graph, seeds, [3, 2], seed=4, batch=batch.number))
        assert_same(batch.node_features["x"], world.x[batch.sample.node])
        seen += batch.input_id.tolist()
    assert sorted(seen) == list(range(500))


@pytest.mark.parametrize("form", [list, tuple, np.stack, lambda pair: torch.from_numpy(np.stack(pair))])
def test_links_have_many_forms(world, links, form):
    found = list(pipeline(world.graph, form(links)))
    assert_same(np.concatenate([ends(batch)[0] for batch in found]), links[0])
    assert_same(np.concatenate([ends(batch)[1] for batch in found]), links[1])


def test_batches_of_nodes_have_no_ends(world):
    (batch,) = gz.Pipeline(world.graph, [1, 2], [2])
    assert (batch.src_index, batch.dst_index) == (None, None)


@pytest.mark.parametrize(("amount", "sizes"), [(1, [64, 52]), (2, [128, 104]), (0.5, [32, 26]), (0.01, [1, 1])])
def test_binary_negatives_are_pairs_for_so_many_links(world, links, amount, sizes):
    found = list(pipeline(world.graph, links, negatives="binary", num_negatives=amount))
    for batch, count in ((found[0], sizes[0]), (found[-1], sizes[1])):
        assert len(batch.src_index) == len(batch.dst_index) == batch.num_seeds + count


@pytest.mark.parametrize("amount", [1, 3])
def test_triplets_are_destinations_for_each_source(world, links, amount):
    for batch in pipeline(world.graph, links, negatives="triplet", num_negatives=amount):
        assert len(batch.src_index) == batch.num_seeds
        assert len(batch.dst_index) == batch.num_seeds * (1 + amount)


def test_negatives_may_avoid_edges(tmp_path):
    """Each node has an edge to 14 of 15 nodes: nearly every pair that is drawn blindly is an edge."""
    src, dst = np.nonzero((np.arange(15)[:, None] * 4 + 1) % 15 != np.arange(15))
    gz.write_graph("dense.gl", src, dst, num_nodes=15)
    graph, edges = gz.Graph("dense.gl"), set(zip(src.tolist(), dst.tolist(), strict=True))

    def negatives(kind, **options):
        for batch in pipeline(graph, (src, dst), [1], negatives=kind, num_negatives=2, **options):
            near, far = ends(batch)
            far = far[batch.num_seeds :]
            near = np.repeat(near, 2) if kind == "triplet" else near[batch.num_seeds :]
            yield from zip(near.tolist(), far.tolist(), strict=True)

    for kind in ("binary", "triplet"):
        assert not edges & set(negatives(kind, exclude_edges=True))
        assert edges & set(negatives(kind))


@pytest.mark.parametrize("kind", ["binary", "triplet"])
def test_negatives_follow_their_law(world, links, kind):
    def drawn(**options):
        parts = []
        for batch in pipeline(world.graph, links, [], negatives=kind, num_negatives=20, batch_size=100, **options):
            parts.append(ends(batch)[1][batch.num_seeds :])
        return np.concatenate(parts)

    assert_uniform(drawn() // 100, range(20))
    degrees = np.bincount(world.dst, minlength=NUM_NODES) ** 0.75
    shares = degrees.reshape(20, -1).sum(axis=1) / degrees.sum()
    by_degree = drawn(negatives_by="degree")
    assert_law(by_degree // 100, dict(enumerate(shares.tolist())))
    assert degrees[by_degree].min() > 0
    assert (degrees == 0).any()


@pytest.mark.parametrize("kind", ["binary", "triplet"])
def test_negatives_differ_between_batches_and_epochs(world, kind):
    """The same link again and again, so that nothing but the negatives can differ."""
    one = pipeline(world.graph, ([3] * 60, [4] * 60), [], negatives=kind, batch_size=20)
    drawn = [tuple(ends(batch)[1][20:].tolist()) for _ in range(2) for batch in one]
    assert len(drawn) == len(set(drawn)) == 6


def pairs(hood, near, far, triple=None):
    row, col = (hood.row, hood.col) if triple is None else (hood.row[triple], hood.col[triple])
    return set(zip(near[row].tolist(), far[col].tolist(), strict=True))


@pytest.mark.parametrize("exclude_reverse", [False, True])
@pytest.mark.parametrize("exclude", [False, True])
def test_the_links_of_a_batch_are_not_sampled(world, exclude, exclude_reverse):
    """Every edge is there in both directions."""
    src, dst = np.concatenate([world.src, world.dst]), np.concatenate([world.dst, world.src])
    gz.write_graph("both.gl", src, dst, num_nodes=NUM_NODES)
    graph = gz.Graph("both.gl")
    options = {"exclude_seed_edges": exclude, "exclude_reverse": exclude_reverse}
    for batch in pipeline(graph, (src[:200], dst[:200]), [-1], **options):
        given = set(zip(*(end.tolist() for end in ends(batch)), strict=True))
        reverses = {(v, u) for u, v in given} - given
        found = pairs(batch.sample, batch.sample.node, batch.sample.node)
        assert bool(given & found) == (not exclude)
        assert bool(reverses & found) == (not exclude or not exclude_reverse)
        excluded = (src[batch.input_id], dst[batch.input_id]) if exclude else None
        hood = gz.sample_neighbors(
            graph,
            np.unique(ends(batch)),
            [-1],
            exclude=excluded,
            exclude_reverse=exclude_reverse,
            seed=4,
            batch=batch.number,
        )
        assert_same(batch.sample, hood)


@pytest.fixture
def papers(tmp_path):
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 300, 3000), rng.integers(0, 700, 3000)
    gz.write_graph("writes.gl", src, dst, num_nodes=(300, 700))
    gz.write_graph("rev.gl", dst, src, num_nodes=(700, 300))
    return {WRITES: gz.Graph("writes.gl"), REVERSE: gz.Graph("rev.gl")}, (src, dst)


@pytest.mark.parametrize("negatives", [None, "binary", "triplet"])
def test_links_between_two_types(papers, negatives):
    graphs, (src, dst) = papers
    chosen = (src[:300], dst[:300])
    for batch in pipeline(graphs, (WRITES, chosen), [2, 2], negatives=negatives, shuffle=True):
        near, far = ends(batch, "author", "paper")
        assert near[: batch.num_seeds].tolist() == src[batch.input_id].tolist()
        assert far[: batch.num_seeds].tolist() == dst[batch.input_id].tolist()
        seeds = {"author": np.unique(near), "paper": np.unique(far)}
        assert_same(batch.sample, gz.sample_neighbors(graphs, seeds, [2, 2], seed=4, batch=batch.number))


@pytest.mark.parametrize("exclude_reverse", [False, True])
def test_reverses_of_another_type_are_left_out_too(papers, exclude_reverse):
    graphs, (src, dst) = papers
    options = {"exclude_seed_edges": True, "exclude_reverse": exclude_reverse}
    for batch in pipeline(graphs, (WRITES, (src[:200], dst[:200])), [-1], **options):
        given = set(zip(*(end.tolist() for end in ends(batch, "author", "paper")), strict=True))
        node = batch.sample.node
        assert not given & pairs(batch.sample, node["author"], node["paper"], WRITES)
        reverses = {(v, u) for u, v in given} & pairs(batch.sample, node["paper"], node["author"], REVERSE)
        assert bool(reverses) == (not exclude_reverse)


@pytest.mark.parametrize("negatives", [None, "binary", "triplet"])
def test_disjoint_links_have_a_tree_for_each_end(world, links, negatives):
    for batch in pipeline(world.graph, links, disjoint=True, negatives=negatives, num_negatives=2):
        count = len(batch.src_index)
        assert batch.src_index.tolist() == list(range(count))
        assert batch.dst_index.tolist() == list(range(count, count + len(batch.dst_index)))
        src, dst = ends(batch)
        assert src[: batch.num_seeds].tolist() == links[0][batch.input_id].tolist()
        assert dst[: batch.num_seeds].tolist() == links[1][batch.input_id].tolist()
        seeds = np.concatenate([src, dst])
        options = {"seed": 4, "batch": batch.number, "disjoint": True}
        assert_same(batch.sample, gz.sample_neighbors(world.graph, seeds, [3, 2], **options))


@pytest.mark.parametrize(("negatives", "amount"), [(None, 1), ("binary", 1.5), ("triplet", 2)])
def test_negatives_have_the_times_of_their_links(world, links, negatives, amount):
    graph = gz.Graph(f"{world.folder}/timed.gl")
    times = np.random.default_rng(2).integers(0, 100, len(links[0]))
    options = {"negatives": negatives, "num_negatives": amount, "seed_time": times, "shuffle": True}
    for batch in pipeline(graph, links, **options):
        src, dst = ends(batch)
        own = times[batch.input_id]
        if negatives == "triplet":
            of_src, of_dst = own, np.concatenate([own, np.repeat(own, 2)])
        else:
            of_src = of_dst = (
                np.resize(own, len(src))
                if negatives is None
                else np.concatenate([own, np.resize(own, len(src) - len(own))])
            )
        hood = gz.sample_neighbors(
            graph,
            np.concatenate([src, dst]),
            [3, 2],
            seed_time=np.concatenate([of_src, of_dst]),
            seed=4,
            batch=batch.number,
        )
        assert_same(batch.sample, hood)


def test_no_links_make_no_batches(world):
    assert list(pipeline(world.graph, ([], []), negatives="binary")) == []

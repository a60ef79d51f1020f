"""Batches of links: both ends, negatives beside them, and no edge that gives the answer away."""

import numpy as np
import pytest

import graphzero as gz
from laws import assert_law, assert_uniform
from optional_torch import needs_torch, torch
from pipeline_cases import NUM_NODES, assert_same, write_world

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


@pytest.mark.parametrize(
    "form", [list, tuple, np.stack, pytest.param(lambda pair: torch.from_numpy(np.stack(pair)), marks=needs_torch)]
)
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


READS = ("author", "reads", "paper")  # of which there are no edges


@pytest.mark.parametrize("negatives", [None, "binary", "triplet"])
@pytest.mark.parametrize("disjoint", [False, True])
def test_links_may_be_of_a_type_that_is_not_sampled(papers, negatives, disjoint):
    """Their batches are those of the same links of a type that has edges, negatives included."""
    graphs, (src, dst) = papers
    options = {"negatives": negatives, "num_negatives": 2, "shuffle": True, "disjoint": disjoint}
    for batch, expected in zip(
        pipeline(graphs, (READS, (src[:300], dst[:300])), [2, 2], **options),
        pipeline(graphs, (WRITES, (src[:300], dst[:300])), [2, 2], **options),
        strict=True,
    ):
        assert_same(batch, expected)


@pytest.mark.parametrize("negatives", ["binary", "triplet"])
def test_negatives_of_such_links_are_drawn_by_weights(papers, negatives):
    graphs, _ = papers
    of_src, of_dst = np.arange(300) % 7, np.arange(700) % 3
    law = (of_src, of_dst) if negatives == "binary" else of_dst
    options = {"negatives": negatives, "num_negatives": 100, "negatives_by": law, "batch_size": 100}
    (batch,) = pipeline(graphs, (READS, (np.arange(100), np.arange(100))), [], **options)
    src, dst = ends(batch, "author", "paper")
    assert_law(dst[100:] % 3, {0: 0, 1: 233 / 699, 2: 466 / 699})
    if negatives == "binary":
        assert_law(src[100:] % 7, {i: i * len(range(i, 300, 7)) / of_src.sum() for i in range(7)})


def test_negatives_of_such_links_are_no_newer_than_these(papers):
    graphs, _ = papers
    node_time = {"author": np.arange(300), "paper": np.arange(700)}
    links = READS, (np.arange(100), np.arange(100))
    options = {"negatives": "binary", "num_negatives": 20, "seed_time": np.full(100, 60), "node_time": node_time}
    (batch,) = pipeline(graphs, links, [1], batch_size=100, **options)
    src, dst = ends(batch, "author", "paper")
    assert_uniform(src[100:], range(61))
    assert_uniform(dst[100:], range(61))


def test_a_negative_that_every_node_is_too_new_for_is_the_oldest(papers):
    """Of types without edges in the graph, too."""
    graphs, _ = papers
    node_time = {"author": 5 + np.arange(300), "paper": 5 + np.arange(700)}
    links = READS, ([3], [4])
    options = {"negatives": "binary", "num_negatives": 3, "seed_time": [1], "node_time": node_time}
    (batch,) = pipeline(graphs, links, [1], **options)
    src, dst = ends(batch, "author", "paper")
    assert (src.tolist(), dst.tolist()) == ([3, 0, 0, 0], [4, 0, 0, 0])


@pytest.mark.parametrize(
    ("links", "options", "message"),
    [
        (
            READS,
            {"exclude_seed_edges": True},
            r"exclude_seed_edges: no edges of \('author', 'reads', 'paper'\) to exclude",
        ),
        (READS, {"negatives": "binary", "exclude_edges": True}, "exclude_edges: no edges of .* there are .*'writes'"),
        (READS, {"negatives": "binary", "negatives_by": "degree"}, "negatives_by: no edges of .* to exclude or count"),
        (READS, {"negatives": "binary", "negatives_by": (None, "degree")}, "negatives_by: no edges of"),
        (
            READS,
            {"negatives": "triplet", "negatives_by": [1.0]},
            "negatives_by: expected 700 weights, one for each destination of links, found 1",
        ),
        (
            ("author", "reads", "book"),
            {},
            r"links: no edge type .*'book'\); there are .* node types \['author', 'paper'\]",
        ),
    ],
)
def test_what_such_links_cannot_have(papers, links, options, message):
    graphs, (src, dst) = papers
    with pytest.raises(ValueError, match=message):
        pipeline(graphs, (links, (src[:3], dst[:3])), [1], **options)


def test_nodes_of_links_need_not_touch_an_edge(tmp_path):
    with gz.DatasetWriter("shop") as writer:
        for kind, count in {"tag": 3, "user": 5, "item": 4}.items():
            writer.add_nodes({"x": np.arange(count)}, type=kind)
        writer.add_edges([0, 1], [1, 2], type=("tag", "of", "tag"))
    links = (("user", "likes", "item"), ([4, 0, 2], [1, 1, 3]))
    (batch,) = gz.Pipeline(gz.open("shop"), None, [2, 2], links=links, negatives="binary", seed=1)
    src, dst = ends(batch, "user", "item")
    assert (src[:3].tolist(), dst[:3].tolist()) == ([4, 0, 2], [1, 1, 3])
    assert batch.node_features["user"]["x"].tolist() == batch.sample.node["user"].tolist()
    assert batch.sample.num_sampled_nodes == {
        "tag": [0, 0, 0],
        "user": [len(set(src.tolist())), 0, 0],
        "item": [len(set(dst.tolist())), 0, 0],
    }


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


def trees_of(batch):
    """Which end of a link, sources first, each tree of a disjoint batch begins at."""
    return np.argsort(np.concatenate([batch.src_index, batch.dst_index]))


@pytest.mark.parametrize("negatives", [None, "binary", "triplet"])
def test_disjoint_links_have_a_tree_for_each_end(world, links, negatives):
    for batch in pipeline(world.graph, links, disjoint=True, negatives=negatives, num_negatives=2):
        count, num_links = len(batch.src_index), batch.num_seeds
        assert batch.src_index.tolist() == list(range(count))
        assert batch.dst_index[:num_links].tolist() == list(range(count, count + num_links))
        rest = np.arange(count + num_links, count + len(batch.dst_index))
        if negatives == "triplet":  # trees go through all links twice; the index has both of a link side by side
            rest = rest.reshape(2, num_links).T.reshape(-1)
        assert batch.dst_index[num_links:].tolist() == rest.tolist()
        src, dst = ends(batch)
        assert src[: batch.num_seeds].tolist() == links[0][batch.input_id].tolist()
        assert dst[: batch.num_seeds].tolist() == links[1][batch.input_id].tolist()
        seeds = np.concatenate([src, dst])[trees_of(batch)]
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
        trees = trees_of(batch)
        hood = gz.sample_neighbors(
            graph,
            np.concatenate([src, dst])[trees],
            [3, 2],
            seed_time=np.concatenate([of_src, of_dst])[trees],
            seed=4,
            batch=batch.number,
        )
        assert_same(batch.sample, hood)


@pytest.mark.parametrize("num_hops", [0, 2])
@pytest.mark.parametrize("disjoint", [False, True])
def test_without_edges_batches_are_their_seeds(tmp_path, num_hops, disjoint):
    with gz.DatasetWriter("none") as writer:
        writer.add_nodes({"x": np.arange(9)})
    options = {"disjoint": disjoint, "batch_size": 2}
    (batch, last) = gz.Pipeline(gz.open("none"), [3, 8, 5], [2] * num_hops, **options)
    assert (batch.sample.node.tolist(), last.sample.node.tolist()) == ([3, 8], [5])
    assert batch.node_features["x"].tolist() == [3, 8]
    assert batch.sample.num_sampled_nodes == [2] + [0] * num_hops
    assert batch.sample.num_sampled_edges == [0] * num_hops
    (batch,) = gz.Pipeline(
        gz.open("none"), None, [2] * num_hops, links=([3, 8], [8, 1]), negatives="triplet", **options
    )
    src, dst = ends(batch)
    assert (src.tolist(), dst[:2].tolist(), len(dst)) == ([3, 8], [8, 1], 4)


def test_links_of_several_types_without_edges_need_a_type(tmp_path):
    with gz.DatasetWriter("none") as writer:
        writer.add_nodes(type="a", num_nodes=3)
        writer.add_nodes(type="b", num_nodes=3)
    with pytest.raises(ValueError, match=r"links: expected \(edge type, \(src, dst\)\) .* one between \['a', 'b'\]"):
        gz.Pipeline(gz.open("none"), None, [2], links=([0], [1]))
    (batch,) = gz.Pipeline(gz.open("none"), None, [2], links=(("a", "to", "b"), ([0], [1])))
    assert batch.sample.num_sampled_nodes == {"a": [1, 0], "b": [1, 0]}


def test_no_links_make_no_batches(world):
    assert list(pipeline(world.graph, ([], []), negatives="binary")) == []

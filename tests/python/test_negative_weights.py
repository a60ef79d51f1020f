"""Negatives by weights that a user gives: exactly in proportion to them, at either end, with and without edges."""

import numpy as np
import pytest

import graphzero as gz
import oracle
from laws import p_value

SRC = [0] * 9 + [1, 1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10]
DST = [0, 1, 2, 3, 4, 5, 6, 6, 7, 2, 2, 4, 2, 9, 2, 2, 10, 2, 4, 2, 7, 9, 4, 2, 3]
NUM_NODES = 12
NEAR = [3, 0, 1, 1, 0.5, 0, 2, 0.25, 0, 4, 1, 2]
FAR = [0, 5, 1, 0, 2.5, 0.125, 3, 0, 7, 1, 4, 0.5]
PAIR_LAWS = [FAR, (NEAR, None), (None, FAR), (NEAR, FAR), ("degree", FAR), (NEAR, "degree"), (NEAR, "uniform")]


def write(name="g.gl", src=SRC, dst=DST, *, num_nodes=NUM_NODES, **options):
    gz.write_graph(name, src, dst, num_nodes=num_nodes, **options)
    return gz.Graph(name)


@pytest.fixture(params=["directed", "undirected", "in", "out", "timed"])
def kind(request):
    options = {
        "directed": {},
        "undirected": {"directed": False},
        "in": {"index": "in"},
        "out": {"index": "out"},
        "timed": {"time": np.arange(len(SRC))[::-1]},
    }[request.param]
    return write(**options), {"directed": request.param != "undirected"}


@pytest.mark.parametrize("exclude_edges", [False, True])
@pytest.mark.parametrize("source", [0, 2, 7, 11])
def test_destinations_come_in_proportion_to_their_weights(kind, source, exclude_edges):
    graph, facts = kind
    drawn = gz.sample_negatives(graph, [source] * 100, 200, by=FAR, seed=1, exclude_edges=exclude_edges)
    expected = oracle.negative_law([source], NUM_NODES, SRC, DST, by=FAR, exclude_edges=exclude_edges, **facts)
    assert p_value(drawn, expected) > 1e-4


@pytest.mark.parametrize("exclude_edges", [False, True])
@pytest.mark.parametrize("sources", [[], [0], [3, 7, 7, 10], [1, 2, 3, 5, 6, 8, 9, 10, 11]])
def test_shared_destinations_do_too(kind, sources, exclude_edges):
    graph, facts = kind
    drawn = gz.sample_negatives(graph, sources, 20_000, by=FAR, seed=2, shared=True, exclude_edges=exclude_edges)
    expected = oracle.negative_law(sources, NUM_NODES, SRC, DST, by=FAR, exclude_edges=exclude_edges, **facts)
    assert p_value(drawn, expected) > 1e-4


@pytest.mark.parametrize("exclude_edges", [False, True])
@pytest.mark.parametrize("by", PAIR_LAWS, ids=str)
def test_each_end_of_a_pair_has_a_law_of_its_own(by, exclude_edges):
    src, dst = gz.sample_negative_pairs(write(), 40_000, by=by, seed=3, exclude_edges=exclude_edges)
    expected = oracle.negative_pair_law(NUM_NODES, NUM_NODES, SRC, DST, by=by, exclude_edges=exclude_edges)
    assert p_value(src * NUM_NODES + dst, expected) > 1e-4


def test_each_side_of_a_bipartite_graph_has_weights_of_its_own():
    src, dst = [0, 0, 1, 2, 2, 2, 6], [0, 1, 1, 0, 1, 2, 1]
    near, far = [1, 2, 0, 4, 1, 1, 3], [3, 1, 0, 2]
    graph = write(src=src, dst=dst, num_nodes=(7, 4))
    drawn = gz.sample_negatives(graph, [6], 20_000, by=far, seed=4, exclude_edges=True)
    assert p_value(drawn, oracle.negative_law([6], 4, src, dst, by=far, exclude_edges=True)) > 1e-4
    u, v = gz.sample_negative_pairs(graph, 40_000, by=(near, far), seed=4, exclude_edges=True)
    expected = oracle.negative_pair_law(7, 4, src, dst, by=(near, far), exclude_edges=True)
    assert p_value(u * 4 + v, expected) > 1e-4


@pytest.mark.parametrize("light", [1e-12, 1e-30, 5e-324])
def test_the_light_nodes_that_are_left_are_found(light):
    """The source has an edge to all the heavy ones: what is left is too light to be met by chance."""
    heavy = 2000
    weights = [1e3] * heavy + [light, 3 * light, 0]
    graph = write(src=[0] * heavy, dst=range(heavy), num_nodes=heavy + 3)
    law = [0] * heavy + [1 / 4, 3 / 4, 0]
    if light == 5e-324:  # beyond the range of float64 in units of the heaviest: all of these weigh alike
        law = [0] * heavy + [1 / 2, 1 / 2, 0]
    drawn = gz.sample_negatives(graph, [0], 600, by=weights, seed=5, exclude_edges=True)
    assert p_value(drawn, law) > 1e-4
    shared = gz.sample_negatives(graph, [0, 0], 600, by=weights, seed=5, exclude_edges=True, shared=True)
    assert shared.tolist() == drawn[0].tolist()


def test_the_light_pairs_that_are_left_are_found():
    light = {(3, 5): 2, (7, 7): 3, (39, 0): 1}
    everything = [(u, v) for u in range(40) for v in range(40) if (u, v) not in light]
    src, dst = [u for u, _ in everything], [v for _, v in everything]
    near, far = np.full(40, 1e6), np.full(40, 1e6)
    near[[3, 7, 39]] = [2, 1, 1]
    far[[5, 7, 0]] = [1, 3, 1]
    u, v = gz.sample_negative_pairs(
        write(src=src, dst=dst, num_nodes=40), 600, by=(near, far), seed=6, exclude_edges=True
    )
    expected = np.zeros(1600)
    for (one, other), weight in light.items():
        expected[one * 40 + other] = weight / 6
    assert p_value(u * 40 + v, expected) > 1e-4


def test_draws_are_those_of_the_published_generator():
    """Bit by bit, over enough nodes for a search of many steps, most of them of weight 0."""
    rng = np.random.default_rng(7)
    weights = rng.random(1000) * (rng.random(1000) < 0.3)
    graph = write(num_nodes=1000)
    drawn = gz.sample_negatives(graph, [5, 5, 5], 20, by=weights, seed=11)
    assert drawn.tolist() == [
        [oracle.weighted_node(oracle.stream(11, oracle.NEGATIVES, i, j), weights.tolist()) for j in range(20)]
        for i in range(3)
    ]
    src, dst = gz.sample_negative_pairs(graph, 20, by=(weights, weights[::-1]), seed=12)
    for i in range(20):
        draws = oracle.stream(12, oracle.NEGATIVES, i)
        assert src[i] == oracle.weighted_node(draws, weights.tolist())
        assert dst[i] == oracle.weighted_node(draws, weights[::-1].tolist())


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**1018, 2.0**-1072])
def test_the_unit_of_weights_does_not_matter(unit):
    """Not even where their sum would overflow, or where they have hardly a bit left."""
    weights = np.array([0, 4, 4, 16, 8, 0, 12, 4, 8, 4, 4, 28.0])
    graph = write()
    expected = gz.sample_negatives(graph, range(12), 50, by=weights, seed=8, exclude_edges=True)
    found = gz.sample_negatives(graph, range(12), 50, by=weights * unit, seed=8, exclude_edges=True)
    assert found.tolist() == expected.tolist()


def test_lists_arrays_and_tensors_are_welcome():
    torch = pytest.importorskip("torch")
    graph = write()
    forms = [
        list,
        tuple,
        np.array,
        lambda w: np.array(w, np.float32),
        lambda w: np.repeat(w, 2)[::2],
        torch.tensor,
        lambda w: torch.tensor(w, dtype=torch.float64, requires_grad=True),
    ]
    drawn = [gz.sample_negatives(graph, [0, 3], 50, by=form(FAR), seed=1).tolist() for form in forms]
    assert all(one == drawn[0] for one in drawn)
    whole = [int(8 * weight) for weight in FAR]
    assert gz.sample_negatives(graph, [0, 3], 50, by=whole, seed=1).tolist() == drawn[0]
    pairs = [gz.sample_negative_pairs(graph, 50, by=(form(NEAR), form(FAR)), seed=1) for form in forms]
    assert all(one[0].tolist() == pairs[0][0].tolist() and one[1].tolist() == pairs[0][1].tolist() for one in pairs)


def test_none_is_uniform():
    graph = write()
    uniform = gz.sample_negatives(graph, [0], 50, seed=1).tolist()
    assert gz.sample_negatives(graph, [0], 50, by=None, seed=1).tolist() == uniform
    assert gz.sample_negatives(graph, [0], 50, by=(None, "uniform"), seed=1).tolist() == uniform
    drawn, expected = (gz.sample_negative_pairs(graph, 50, by=by, seed=1) for by in ((None, None), "uniform"))
    assert [part.tolist() for part in drawn] == [part.tolist() for part in expected]


def test_weights_are_kept_as_they_were(tmp_path):
    """A caller's array is not written to."""
    weights = np.array(FAR)
    gz.sample_negatives(write(), [0], 50, by=weights, seed=1)
    assert weights.tolist() == FAR


@pytest.mark.parametrize("exclude_edges", [False, True])
def test_the_number_of_threads_does_not_matter(exclude_edges):
    graph, results = write(), []
    options = {"exclude_edges": exclude_edges, "seed": 9}
    try:
        for threads in (1, 2, 8):
            gz.set_num_threads(threads)
            one = gz.sample_negatives(graph, np.tile(np.arange(12), 500), 3, by=FAR, **options)
            pairs = gz.sample_negative_pairs(graph, 6000, by=(NEAR, FAR), **options)
            results.append([one.tolist(), *(part.tolist() for part in pairs)])
    finally:
        gz.set_num_threads(0)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize(("bad", "found"), [(-1.0, "-1"), (float("nan"), "nan"), (float("inf"), "inf")])
def test_weights_that_are_none_are_named_with_their_place(bad, found):
    graph = write()
    weights = [*FAR[:4], bad, *FAR[5:]]
    message = rf"\[4\]: expected a weight that is finite and not negative, found {found}$"
    with pytest.raises(ValueError, match="^by" + message):
        gz.sample_negatives(graph, [0], by=weights)
    with pytest.raises(ValueError, match=r"^by\[0\]" + message):
        gz.sample_negative_pairs(graph, 1, by=(weights, None))
    with pytest.raises(ValueError, match=r"^by\[1\]" + message):
        gz.sample_negative_pairs(graph, 1, by=(None, weights))


def test_weights_that_leave_nothing_to_draw_are_refused():
    with pytest.raises(ValueError, match="by: expected at least one weight above 0, found none among 12"):
        gz.sample_negatives(write(), [0], by=np.zeros(12))


@pytest.mark.parametrize("count", [1, 11, 13])
def test_there_is_one_weight_for_each_node(count):
    graph = write()
    with pytest.raises(
        ValueError, match=rf"^by: expected 12 weights, one for each destination of g.gl, found {count}$"
    ):
        gz.sample_negatives(graph, [0], by=np.ones(count))
    with pytest.raises(ValueError, match=rf"^by: expected 12 weights, one for each destination of .* found {count}$"):
        gz.sample_negatives(graph, [0], by=np.ones(count), shared=True)
    bipartite = write("two.gl", src=[0], dst=[5], num_nodes=(2, 6))
    with pytest.raises(ValueError, match=r"^by\[0\]: expected 2 weights, one for each source of two.gl, found 6$"):
        gz.sample_negative_pairs(bipartite, 1, by=(np.ones(6), np.ones(6)))
    with pytest.raises(ValueError, match=r"^by\[1\]: expected 6 weights, one for each destination of two.gl, found 2$"):
        gz.sample_negative_pairs(bipartite, 1, by=(np.ones(2), np.ones(2)))


def test_weights_of_the_wrong_kind_are_refused():
    graph = write()
    with pytest.raises(TypeError, match="by: expected numbers, found complex128"):
        gz.sample_negatives(graph, [0], by=np.ones(12, complex))
    with pytest.raises(ValueError, match=r"by: expected one dimension, found shape \(12, 1\)"):
        gz.sample_negatives(graph, [0], by=np.ones((12, 1)))
    with pytest.raises(ValueError, match=r"by\[0\]: expected one dimension, found shape \(\)"):
        gz.sample_negative_pairs(graph, 1, by=(0.5, 0.5))
    with pytest.raises(ValueError, match=r"by\[1\]: expected 'uniform', 'degree' or an array of weights, found 'rank'"):
        gz.sample_negative_pairs(graph, 1, by=(None, "rank"))


@pytest.mark.parametrize(("near", "found"), [(NEAR, "list"), ("degree", "'degree'")])
def test_sources_that_are_given_have_no_weights(near, found):
    with pytest.raises(
        ValueError,
        match=rf"by\[0\]: expected None, because sources are given and only destinations drawn, found {found}",
    ):
        gz.sample_negatives(write(), [0], by=(near, FAR))


def test_a_source_with_edges_to_all_that_weigh_something_is_named():
    graph = write(src=[1, 1, 0], dst=[0, 2, 1], num_nodes=4)
    with pytest.raises(
        ValueError, match=r"sources\[1\]: node 1 of g.gl has an edge to every destination that has a weight above 0:"
    ):
        gz.sample_negatives(graph, [0, 1], by=[1, 0, 1, 0], exclude_edges=True)
    with pytest.raises(ValueError, match="sources: together they have an edge in g.gl to every destination that has a"):
        gz.sample_negatives(graph, [0, 1], by=[1, 1, 0, 0], exclude_edges=True, shared=True)
    with pytest.raises(
        ValueError,
        match="g.gl: each source that has a weight above 0 has an edge to every destination that has a weight above 0:",
    ):
        gz.sample_negative_pairs(graph, 1, by=([0, 1, 0, 0], [1, 0, 1, 0]), exclude_edges=True)

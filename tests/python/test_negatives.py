"""Negatives follow their law exactly, avoid edges when told to, and depend on the seed alone."""

import os
from pathlib import Path

import numpy as np
import pytest

import files
import graphzero as gz
import oracle
from case_choice import meeting
from laws import p_value
from systems import NO_CUT, posix_only

SAMPLES = Path(__file__).parent.parent / "data" / "graphzero02"

# Twelve nodes of many degrees: a hub, repeated edges, self-loops, and node 11 without any edge.
SRC = [0] * 9 + [1, 1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10]
DST = [0, 1, 2, 3, 4, 5, 6, 6, 7, 2, 2, 4, 2, 9, 2, 2, 10, 2, 4, 2, 7, 9, 4, 2, 3]
NUM_NODES = 12
LAWS = [
    {"by": "uniform"},
    {"by": "degree"},
    {"by": "degree", "power": 1.0},
    {"by": "degree", "power": 0.3},
]
KINDS = ["directed", "undirected", "in", "timed"]


def law_name(law):
    return " ".join(map(str, law.values()))


def write(name="g.gl", src=SRC, dst=DST, *, num_nodes=NUM_NODES, **options):
    gz.write_graph(name, src, dst, num_nodes=num_nodes, **options)
    return gz.Graph(name)


@pytest.fixture(params=KINDS)
def kind(request):
    """A graph in each kind of file that knows in-degrees, with what the oracle must know of it."""
    options = {
        "directed": {},
        "undirected": {"directed": False},
        "in": {"index": "in"},
        "timed": {"time": np.arange(len(SRC))[::-1]},
    }[request.param]
    return write(**options), {"directed": request.param != "undirected"}


@pytest.mark.parametrize("law", LAWS, ids=law_name)
def test_destinations_follow_the_law(kind, law):
    graph, facts = kind
    drawn = gz.sample_negatives(graph, np.zeros(200, np.int64), 200, seed=1, **law)
    assert p_value(drawn, oracle.negative_law([], NUM_NODES, SRC, DST, **facts, **law)) > 1e-4


@meeting({"kind": KINDS, "law": LAWS, "source": [0, 2, 7, 11]}, indirect=["kind"])
def test_destinations_follow_the_law_when_edges_are_excluded(kind, law, source):
    graph, facts = kind
    drawn = gz.sample_negatives(graph, [source] * 100, 200, seed=2, exclude_edges=True, **law)
    expected = oracle.negative_law([source], NUM_NODES, SRC, DST, exclude_edges=True, **facts, **law)
    assert p_value(drawn, expected) > 1e-4


@meeting(
    {"kind": KINDS, "law": LAWS, "sources": [[], [0], [3, 7, 7, 10], [1, 2, 3, 5, 6, 8, 9, 10, 11]]}, indirect=["kind"]
)
@pytest.mark.parametrize("exclude_edges", [True, False])
def test_shared_destinations_follow_the_law(kind, law, sources, exclude_edges):
    graph, facts = kind
    drawn = gz.sample_negatives(graph, sources, 20_000, seed=3, shared=True, exclude_edges=exclude_edges, **law)
    assert drawn.shape == (20_000,)
    expected = oracle.negative_law(sources, NUM_NODES, SRC, DST, exclude_edges=exclude_edges, **facts, **law)
    assert p_value(drawn, expected) > 1e-4


@pytest.mark.parametrize("law", LAWS, ids=law_name)
@pytest.mark.parametrize("exclude_edges", [True, False])
@pytest.mark.parametrize("options", [{}, {"directed": False}, {"time": np.arange(len(SRC))[::-1]}])
def test_pairs_follow_the_law(law, exclude_edges, options):
    graph = write(**options)
    src, dst = gz.sample_negative_pairs(graph, 40_000, seed=4, exclude_edges=exclude_edges, **law)
    assert (src.dtype, dst.dtype, src.shape, dst.shape) == (np.int64, np.int64, (40_000,), (40_000,))
    expected = oracle.negative_pair_law(
        NUM_NODES, NUM_NODES, SRC, DST, exclude_edges=exclude_edges, directed=options.get("directed", True), **law
    )
    assert p_value(src * NUM_NODES + dst, expected) > 1e-4


@pytest.mark.parametrize("index", ["out", "in"])
@pytest.mark.parametrize("law", [LAWS[0], LAWS[2]], ids=law_name)
def test_pairs_of_files_with_one_index_follow_the_law(index, law):
    src, dst = gz.sample_negative_pairs(write(index=index), 40_000, seed=5, exclude_edges=True, **law)
    expected = oracle.negative_pair_law(NUM_NODES, NUM_NODES, SRC, DST, exclude_edges=True, **law)
    assert p_value(src * NUM_NODES + dst, expected) > 1e-4


@pytest.mark.parametrize("exclude_edges", [True, False])
@pytest.mark.parametrize("law", [LAWS[0], LAWS[2]], ids=law_name)
@pytest.mark.parametrize("shared", [True, False])
def test_out_only_files_follow_the_laws_they_can(law, exclude_edges, shared):
    graph = write(index="out")
    drawn = gz.sample_negatives(graph, [1], 20_000, seed=6, exclude_edges=exclude_edges, shared=shared, **law)
    assert p_value(drawn, oracle.negative_law([1], NUM_NODES, SRC, DST, exclude_edges=exclude_edges, **law)) > 1e-4


@pytest.mark.parametrize("law", [LAWS[0], LAWS[2]], ids=law_name)
def test_files_of_graphzero02_are_searched_though_their_lists_have_no_order(law):
    graph = gz.Graph(SAMPLES / "unweighted_undirected.gl")
    assert graph.neighbors(0).tolist() == [1, 2, 2, 2]
    src = np.repeat(np.arange(6), np.diff(graph.indptr)).tolist()
    for source in (0, 2):
        drawn = gz.sample_negatives(graph, [source], 20_000, seed=7, exclude_edges=True, **law)
        expected = oracle.negative_law([source], 6, src, graph.indices.tolist(), exclude_edges=True, **law)
        assert p_value(drawn, expected) > 1e-4


@pytest.mark.parametrize("law", LAWS, ids=law_name)
def test_bipartite_graphs_draw_from_each_side(law):
    src, dst = [0, 0, 1, 2, 2, 2, 6], [0, 1, 1, 0, 1, 2, 1]
    graph = write(src=src, dst=dst, num_nodes=(7, 4))
    drawn = gz.sample_negatives(graph, [6], 20_000, seed=8, exclude_edges=True, **law)
    assert p_value(drawn, oracle.negative_law([6], 4, src, dst, exclude_edges=True, **law)) > 1e-4
    u, v = gz.sample_negative_pairs(graph, 40_000, seed=8, exclude_edges=True, **law)
    assert p_value(u * 4 + v, oracle.negative_pair_law(7, 4, src, dst, exclude_edges=True, **law)) > 1e-4


def all_but(num_nodes, source, missing):
    """A graph in which ``source`` has an edge, some of them twice, to every node but ``missing``."""
    to = [node for node in range(num_nodes) if node not in missing]
    others = range(1, num_nodes, 7)
    return [source] * (len(to) + 5) + list(others), to + to[:5] + [0] * len(others)


@pytest.mark.parametrize("options", [{}, {"index": "out"}, {"index": "in"}, {"time": True}], ids=str)
@pytest.mark.parametrize("missing", [[0], [2999], [1500], [7, 8, 1400]])
def test_the_few_nodes_that_are_left_are_found(options, missing):
    """Rejection fails here most of the time: what is left is 1 to 3 nodes of 3000."""
    src, dst = all_but(3000, 0, missing)
    graph = write(
        src=src, dst=dst, num_nodes=3000, **{**options, **({"time": range(len(src))} if "time" in options else {})}
    )
    drawn = gz.sample_negatives(graph, [0], 600, seed=9, exclude_edges=True)
    law = np.zeros(3000)
    law[missing] = 1 / len(missing)
    assert p_value(drawn, law) > 1e-4
    shared = gz.sample_negatives(graph, [0, 0], 600, seed=9, exclude_edges=True, shared=True)
    assert shared.tolist() == drawn[0].tolist()


@pytest.mark.parametrize("law", [{"by": "degree"}, {"by": "degree", "power": 1.0}, {"by": "degree", "power": 0.3}])
@pytest.mark.parametrize("index", ["both", "out", "in"])
def test_the_few_degrees_that_are_left_are_found(law, index):
    """Node 0 has an edge to a hundred hubs, and three rare destinations share what is left."""
    src, dst = [0] * 100, list(range(100))
    src += [1 + i % 99 for i in range(20_000)] + [1] + [2] * 2 + [3] * 8
    dst += [i % 100 for i in range(20_000)] + [100] + [101] * 2 + [102] * 8
    graph = write(src=src, dst=dst, num_nodes=104, index=index)
    if index == "out" and law.get("power") != 1.0:
        with pytest.raises(ValueError, match="needs the 'in' index"):
            gz.sample_negatives(graph, [0], exclude_edges=True, **law)
        return
    drawn = gz.sample_negatives(graph, [0], 3000, seed=10, exclude_edges=True, **law)
    assert p_value(drawn, oracle.negative_law([0], 104, src, dst, exclude_edges=True, **law)) > 1e-4


def test_degrees_that_rejection_does_not_reach_are_drawn_exactly():
    """All degrees are large and the power is small: a proposal is accepted with probability 1/1000."""
    src = list(range(2000)) * 2
    dst = [0] * 2000 + [1] * 1000 + [2] * 1000
    graph = write(src=src, dst=dst, num_nodes=2000)
    law = {"by": "degree", "power": 0.01}
    drawn = gz.sample_negatives(graph, [0], 3000, seed=11, **law)
    degrees = np.bincount(dst, minlength=2000).astype(float)
    weights = np.where(degrees > 0, degrees**0.01, 0)
    assert p_value(drawn, weights / weights.sum()) > 1e-4


@pytest.mark.parametrize("law", LAWS, ids=law_name)
def test_the_few_pairs_that_are_left_are_found(law):
    everything = [(u, v) for u in range(40) for v in range(40) if (u, v) not in ((3, 5), (7, 7), (39, 0))]
    src, dst = [u for u, _ in everything], [v for _, v in everything]
    graph = write(src=src, dst=dst, num_nodes=40)
    u, v = gz.sample_negative_pairs(graph, 600, seed=12, exclude_edges=True, **law)
    assert p_value(u * 40 + v, oracle.negative_pair_law(40, 40, src, dst, exclude_edges=True, **law)) > 1e-4


def test_a_source_that_has_every_edge_is_named_with_its_position():
    graph = write(src=[1, 1, 1, 0], dst=[0, 1, 2, 1], num_nodes=3)
    with pytest.raises(
        ValueError,
        match=r"sources\[2\]: node 1 of g.gl has an edge to every destination: expected one to be left; "
        "leave the source out, or allow edges",
    ):
        gz.sample_negatives(graph, [0, 2, 1, 0, 1], exclude_edges=True)
    with pytest.raises(ValueError, match=r"sources\[1\]: node 0 of .* to every destination that has in-edges"):
        other = write("other.gl", src=[0, 0, 1], dst=[1, 2, 1], num_nodes=4)
        gz.sample_negatives(other, [1, 0], by="degree", exclude_edges=True)
    assert gz.sample_negatives(graph, [1], 3, seed=1).shape == (1, 3)


@pytest.mark.parametrize("threads", [1, 8])
def test_the_first_such_source_is_named_whatever_the_number_of_threads(threads):
    graph = write(src=[1, 1, 1], dst=[0, 1, 2], num_nodes=3)
    sources = np.zeros(20_000, np.int64)
    sources[[7_001, 15_000]] = 1
    gz.set_num_threads(threads)
    try:
        with pytest.raises(ValueError, match=r"sources\[7001\]: node 1"):
            gz.sample_negatives(graph, sources, exclude_edges=True)
    finally:
        gz.set_num_threads(0)


def test_sources_that_have_every_edge_together_are_refused():
    graph = write(src=[0, 1], dst=[0, 1], num_nodes=2)
    with pytest.raises(ValueError, match="sources: together they have an edge in g.gl to every destination: expected"):
        gz.sample_negatives(graph, [0, 1], shared=True, exclude_edges=True)
    assert set(gz.sample_negatives(graph, [1, 1], 5, shared=True, exclude_edges=True).tolist()) == {0}


def test_a_graph_that_has_every_edge_has_no_negative_pairs():
    graph = write(src=[0, 0, 1, 1], dst=[0, 1, 0, 1], num_nodes=2)
    with pytest.raises(ValueError, match="g.gl: each source has an edge to every destination: expected a pair"):
        gz.sample_negative_pairs(graph, 1, exclude_edges=True)
    graph = write("other.gl", src=[0, 0], dst=[1, 2], num_nodes=9)
    with pytest.raises(ValueError, match="each source that has out-edges has an edge to every destination that has"):
        gz.sample_negative_pairs(graph, 1, by="degree", exclude_edges=True)


def test_a_source_may_be_its_own_negative_unless_it_has_a_self_loop():
    graph = write(src=[0, 1], dst=[0, 2], num_nodes=3)
    assert set(gz.sample_negatives(graph, [0], 200, seed=1, exclude_edges=True)[0].tolist()) == {1, 2}
    assert set(gz.sample_negatives(graph, [1], 200, seed=1, exclude_edges=True)[0].tolist()) == {0, 1}


OPTIONS = [
    {},
    {"by": "degree"},
    {"exclude_edges": True},
    {"by": "degree", "exclude_edges": True},
    {"by": "degree", "exclude_edges": True, "shared": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=law_name)
def test_the_seed_decides_and_the_number_of_threads_does_not(options):
    graph = write()
    sources = np.tile([1, 3, 5] if "shared" in options else np.arange(12), 500)
    results = []
    try:
        for threads in (1, 2, 8):
            gz.set_num_threads(threads)
            results.append(
                gz.sample_negatives(graph, sources, 3000 if "shared" in options else 3, seed=5, **options).tolist()
            )
            if "shared" not in options:
                pairs = gz.sample_negative_pairs(graph, 6000, seed=5, **options)
                results[-1].append([pairs[0].tolist(), pairs[1].tolist()])
    finally:
        gz.set_num_threads(0)
    assert results[0] == results[1] == results[2]
    other = gz.sample_negatives(graph, sources, 3, seed=6, **options).tolist()
    assert other != results[0][: len(other)]


def test_a_draw_depends_on_position_and_number_alone():
    graph = write()
    few = gz.sample_negatives(graph, [3, 4], 2, seed=1, exclude_edges=True)
    many = gz.sample_negatives(graph, [3, 4, 5], 7, seed=1, exclude_edges=True)
    assert many[:2, :2].tolist() == few.tolist()
    shared = gz.sample_negatives(graph, [3, 3], 7, seed=1, exclude_edges=True, shared=True)
    assert shared.tolist() == many[0].tolist()  # the key of a shared draw is that of the first source
    src, dst = gz.sample_negative_pairs(graph, 9, seed=1)
    assert [part[:4].tolist() for part in (src, dst)] == [
        part.tolist() for part in gz.sample_negative_pairs(graph, 4, seed=1)
    ]


def test_uniform_draws_are_those_of_the_published_generator():
    graph = write()
    drawn = gz.sample_negatives(graph, range(12), 6, seed=2**64 - 1, exclude_edges=True)
    edges = oracle.edge_set(SRC, DST)
    assert drawn.tolist() == [
        [oracle.uniform_negative(2**64 - 1, u, j, 12, {v for v in range(12) if (u, v) in edges}) for j in range(6)]
        for u in range(12)
    ]
    src, dst = gz.sample_negative_pairs(graph, 20, seed=7)
    streams = [oracle.stream(7, oracle.NEGATIVES, i) for i in range(20)]
    assert list(zip(src, dst, strict=True)) == [(oracle.below(s, 12), oracle.below(s, 12)) for s in streams]


def test_draws_by_degree_have_the_bits_they_always_had():
    """They go through a logarithm that is the same on every machine. These numbers must never change."""
    graph = write()
    assert gz.sample_negatives(graph, [0, 5], 8, by="degree", seed=42).tolist() == [
        [2, 10, 2, 6, 2, 6, 10, 2],
        [1, 4, 4, 3, 2, 4, 1, 7],
    ]
    assert gz.sample_negatives(graph, [0, 5], 8, by="degree", exclude_edges=True, seed=42).tolist() == [
        [9, 10, 10, 10, 10, 9, 10, 9],
        [1, 4, 4, 3, 6, 4, 1, 7],
    ]
    pairs = gz.sample_negative_pairs(graph, 8, by="degree", power=0.5, exclude_edges=True, seed=42)
    assert [part.tolist() for part in pairs] == [[4, 0, 7, 9, 8, 1, 0, 1], [7, 10, 1, 5, 2, 5, 9, 0]]


def test_the_same_file_with_other_indexes_gives_the_same_uniform_draws():
    drawn = [
        gz.sample_negatives(write(index=index), range(12), 5, seed=2, exclude_edges=True).tolist()
        for index in ("both", "out", "in")
    ]
    assert drawn[0] == drawn[1] == drawn[2]


def test_without_a_seed_every_call_differs(tiny):
    first, second = (gz.sample_negatives(tiny, [0], 60) for _ in range(2))
    assert first.tolist() != second.tolist()


def test_lists_arrays_and_tensors_are_welcome(tiny):
    torch = pytest.importorskip("torch")
    drawn = [
        gz.sample_negatives(tiny, make([0, 3]), np.int32(4), seed=1).tolist()
        for make in (list, np.array, torch.tensor, lambda ids: np.array(ids, np.uint16))
    ]
    assert drawn[0] == drawn[1] == drawn[2] == drawn[3]


def test_nothing_asked_is_nothing_drawn(tiny):
    assert gz.sample_negatives(tiny, [], 3).shape == (0, 3)
    assert gz.sample_negatives(tiny, [0, 1], 0).shape == (2, 0)
    assert gz.sample_negatives(tiny, [0, 1], 0, shared=True).shape == (0,)
    assert [part.shape for part in gz.sample_negative_pairs(tiny, 0)] == [(0,), (0,)]
    empty = write(src=[], dst=[], num_nodes=0)
    assert gz.sample_negatives(empty, [], 3, by="degree").shape == (0, 3)
    assert gz.sample_negatives(tiny, [0], 2).dtype == np.int64


def test_sources_that_are_not_there_are_named_with_their_position(tiny):
    for bad in (-1, 4, 2**40):
        for shared in (True, False):
            with pytest.raises(IndexError, match=rf"sources\[1\]: node {bad} is not in .*tiny.gl, which has 4 nodes"):
                gz.sample_negatives(tiny, [0, bad], shared=shared)
    bipartite = write(src=[0], dst=[5], num_nodes=(2, 6))
    with pytest.raises(IndexError, match=r"sources\[0\]: node 2 is not in g.gl, which has 2 nodes"):
        gz.sample_negatives(bipartite, [2])


def test_arguments_of_the_wrong_kind_are_refused(tiny):
    with pytest.raises(TypeError, match="sources: expected integers, found float64"):
        gz.sample_negatives(tiny, [0.5])
    with pytest.raises(ValueError, match=r"sources: expected one dimension, found shape \(1, 2\)"):
        gz.sample_negatives(tiny, [[0, 1]])
    with pytest.raises(TypeError, match="amount: expected an integer, found 1.5"):
        gz.sample_negatives(tiny, [0], 1.5)
    with pytest.raises(TypeError, match="count: expected an integer, found '3'"):
        gz.sample_negative_pairs(tiny, "3")
    with pytest.raises(ValueError, match="by: expected 'uniform', 'degree' or an array of weights, found 'pagerank'"):
        gz.sample_negatives(tiny, [0], by="pagerank")
    with pytest.raises(TypeError, match="power: expected a number, found 'half'"):
        gz.sample_negatives(tiny, [0], by="degree", power="half")
    with pytest.raises(TypeError, match="seed: expected an integer, found 'x'"):
        gz.sample_negatives(tiny, [0], seed="x")


@pytest.mark.parametrize("bad", [-1, 2**63, 2**70])
def test_amounts_that_are_no_amounts_are_refused(tiny, bad):
    with pytest.raises(ValueError, match=rf"amount: expected 0 to 2\^63 - 1, found {bad}"):
        gz.sample_negatives(tiny, [0], bad)
    with pytest.raises(ValueError, match=rf"count: expected 0 to 2\^63 - 1, found {bad}"):
        gz.sample_negative_pairs(tiny, bad)


@pytest.mark.parametrize("power", [0, -0.5, 1.0001, float("nan"), float("inf")])
def test_powers_outside_their_range_are_refused(tiny, power):
    with pytest.raises(ValueError, match="power: expected above 0 and at most 1, found "):
        gz.sample_negatives(tiny, [0], by="degree", power=power)
    with pytest.raises(ValueError, match="power: expected above 0 and at most 1, found "):
        gz.sample_negatives(tiny, [0], by="degree", power=power, shared=True)
    with pytest.raises(ValueError, match="power: expected above 0 and at most 1, found "):
        gz.sample_negative_pairs(tiny, 1, by="degree", power=power)


def test_results_that_no_memory_can_hold_are_refused(tiny):
    with pytest.raises(MemoryError, match=f"drawing 3 times {2**62} nodes needs more memory than can be addressed"):
        gz.sample_negatives(tiny, [0, 1, 2], 2**62)
    with pytest.raises(MemoryError, match=f"drawing 1 times {2**61} nodes needs more memory than can be addressed"):
        gz.sample_negatives(tiny, [0], 2**61, shared=True)
    with pytest.raises(
        MemoryError, match=rf"drawing 1 times {2**50} nodes needs \d+ MB of memory, \d+ MB are available"
    ):
        gz.sample_negatives(tiny, [0], 2**50)
    with pytest.raises(MemoryError, match=f"sample_negative_pairs: drawing {2**61} times 2 nodes needs more memory"):
        gz.sample_negative_pairs(tiny, 2**61)


def test_graphs_with_nothing_to_draw_are_refused():
    nobody = write(src=[], dst=[], num_nodes=(3, 0))
    with pytest.raises(ValueError, match="g.gl: has no nodes to draw from"):
        gz.sample_negatives(nobody, [0])
    with pytest.raises(ValueError, match="g.gl: has no nodes to draw from"):
        gz.sample_negative_pairs(nobody, 1)
    alone = write("alone.gl", src=[], dst=[], num_nodes=3)
    for draw in (
        lambda: gz.sample_negatives(alone, [0], by="degree"),
        lambda: gz.sample_negative_pairs(alone, 1, by="degree"),
    ):
        with pytest.raises(ValueError, match='alone.gl: has no edges, and by="degree" draws nodes that have some'):
            draw()


def test_degrees_that_are_not_stored_are_asked_for():
    out, into = write("out.gl", index="out"), write("in.gl", index="in")
    message = (
        '{}: by="degree" needs the \'{}\' index, which is not stored; write the graph with index="both", or use power=1'
    )
    with pytest.raises(ValueError, match=message.format("out.gl", "in")):
        gz.sample_negatives(out, [0], by="degree")
    with pytest.raises(ValueError, match=message.format("in.gl", "out")):
        gz.sample_negative_pairs(into, 1, by="degree")


def corrupt(*, index="both", **changes):
    """The graph above with some of its arrays changed."""
    write("good.gl", index=index)
    arrays = dict(files.read_gl(Path("good.gl").read_bytes()).arrays)
    for name, change in changes.items():
        arrays[name] = change(arrays[name].copy()).astype(arrays[name].dtype)
    container = files.gl(arrays, num_nodes=NUM_NODES, num_input_edges=len(SRC))
    return gz.Graph(files.write("bad.gl", files.build(container)))


def filled(value):
    return lambda array: np.full_like(array, value)


def test_a_corrupt_file_is_an_error_that_says_where():
    with pytest.raises(
        gz.FormatError, match=r"bad.gl: corrupt indices at entry \d+: expected a node id below 12, found 99"
    ):
        gz.sample_negatives(corrupt(out_indices=filled(99)), [0], by="degree", power=1)
    with pytest.raises(gz.FormatError, match=r"bad.gl: corrupt indptr at node \d+: .* found begin 77, end 77"):
        gz.sample_negatives(corrupt(in_indptr=filled(77)), [0], by="degree")
    with pytest.raises(gz.FormatError, match=r"bad.gl: corrupt index: node \d+ is the end of an edge, expected it"):
        gz.sample_negatives(corrupt(in_indptr=filled(0)), [0], by="degree")
    for wrong in (0, 77):
        with pytest.raises(gz.FormatError, match=r"bad.gl: corrupt indptr"):
            gz.sample_negatives(corrupt(index="in", in_indptr=filled(wrong)), [0], by="degree")
    with pytest.raises(gz.FormatError, match=r"bad.gl: corrupt indptr at node 3: .* found begin -1, end -1"):
        gz.sample_negatives(corrupt(index="out", out_indptr=filled(-1)), [3], exclude_edges=True)


def test_lists_that_overlap_are_found_when_they_are_collected():
    overlapping = corrupt(
        index="out",
        out_indptr=lambda a: np.where(np.arange(13) % 2, 25, 0),
        out_indices=lambda a: np.sort(np.arange(25) % 12),
    )
    with pytest.raises(gz.FormatError, match="corrupt indptr: expected lists that do not overlap, found more than 25"):
        gz.sample_negatives(overlapping, range(0, 12, 2), shared=True, exclude_edges=True)


@posix_only(reason=NO_CUT)
def test_a_file_that_shrank_is_named():
    gz.write_graph("big.gl", np.zeros(100_000, np.int64), np.arange(100_000))
    g = gz.Graph("big.gl")
    os.truncate("big.gl", 4096)
    for draw in (lambda: gz.sample_negatives(g, [0]), lambda: gz.sample_negative_pairs(g, 1, by="degree")):
        with pytest.raises(OSError, match=r"the file shrank while it was mapped.*'big.gl'"):
            draw()


def test_a_closed_graph_says_so(tiny):
    tiny.close()
    with pytest.raises(ValueError, match="this Graph is closed"):
        gz.sample_negatives(tiny, [0])

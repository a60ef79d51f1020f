"""Neighbour sampling without chance: what is kept, left out and in which order, against a slow oracle."""

from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import files
import graphzero as gz
import oracle
from data_sets import pyg
from sample_cases import DIRECTIONS, EDGE, NODE, Case, cases, seeds_of, shape

EXAMPLES = settings(max_examples=40)


def check(case, seeds, num_hops, entries_of, direction, *, fanouts=None, **options):
    """The sample equals the oracle's, in every field."""
    disjoint = options.get("disjoint", False) or "seed_time" in options
    expected = oracle.neighborhood([EDGE], {NODE: seeds}, num_hops, entries_of, direction=direction, disjoint=disjoint)
    with case.graph() as graph:
        hood = gz.sample_neighbors(graph, seeds, fanouts or [-1] * num_hops, direction=direction, **options)
    assert shape(hood, direction) == expected
    assert (hood.batch is not None) == disjoint


@given(case=cases(), direction=DIRECTIONS, num_hops=st.integers(0, 3), disjoint=st.booleans(), data=st.data())
@EXAMPLES
def test_without_a_fanout_every_neighbour_is_kept(case, direction, num_hops, disjoint, data):
    seeds = seeds_of(data.draw, case)
    check(case, seeds, num_hops, case.entries(direction), direction, disjoint=disjoint)


@given(case=cases(), direction=DIRECTIONS, data=st.data())
@EXAMPLES
def test_a_fanout_of_the_largest_degree_keeps_every_neighbour_too(case, direction, data):
    seeds = seeds_of(data.draw, case)
    method = data.draw(st.sampled_from(["neighbor", "labor"]))
    check(case, seeds, 2, case.entries(direction), direction, fanouts=[28, 2**70], method=method)


@st.composite
def timed(draw):
    case = draw(cases(timed=True))
    seeds = seeds_of(draw, case)
    seed_time = draw(st.lists(st.integers(-3, 4), min_size=len(seeds), max_size=len(seeds)))
    window = draw(st.sampled_from([None, 0, 1, 3, 2**63 - 1, 2**70]))
    return case, seeds, seed_time, window


def in_window(time, newest, window):
    return time <= newest and (window is None or time >= newest - window)


@given(timed=timed(), direction=DIRECTIONS)
@EXAMPLES
def test_edges_newer_than_the_seed_or_older_than_the_window_are_left_out(timed, direction):
    case, seeds, seed_time, window = timed
    entries = case.entries(
        direction, lambda node, neighbour, edge, tree: in_window(case.time[edge], seed_time[tree], window)
    )
    check(case, seeds, 2, entries, direction, seed_time=seed_time, time_window=window)


@given(timed=timed(), direction=DIRECTIONS, data=st.data())
@EXAMPLES
def test_times_of_nodes_take_the_place_of_those_of_edges(timed, direction, data):
    case, seeds, seed_time, window = timed
    case.time = data.draw(st.sampled_from([case.time, None]))
    node_time = data.draw(st.lists(st.integers(-2, 3), min_size=case.num_nodes, max_size=case.num_nodes))
    entries = case.entries(
        direction, lambda node, neighbour, edge, tree: in_window(node_time[neighbour], seed_time[tree], window)
    )
    check(case, seeds, 2, entries, direction, seed_time=seed_time, node_time=node_time, time_window=window)


@given(
    timed=timed(), direction=DIRECTIONS, fanouts=st.lists(st.integers(-1, 3), min_size=2, max_size=2), data=st.data()
)
@settings(max_examples=80)
def test_last_keeps_the_newest_and_the_later_of_equals(timed, direction, fanouts, data):
    case, seeds, seed_time, window = timed
    by_node = data.draw(st.booleans())
    node_time = data.draw(st.lists(st.integers(-1, 1), min_size=case.num_nodes, max_size=case.num_nodes))

    def time_of(entry):
        return node_time[entry[0]] if by_node else case.time[entry[1]]

    def entries_of(_, node, tree, hop):
        entries = [e for e in case.list_of(node, direction) if in_window(time_of(e), seed_time[tree], window)]
        return oracle.newest(entries, fanouts[hop], time_of)

    options = {"seed_time": seed_time, "time_window": window, "temporal_strategy": "last"}
    if by_node:
        options["node_time"] = node_time
    check(case, seeds, 2, entries_of, direction, fanouts=fanouts, **options)


def test_the_time_of_the_smallest_int64_is_a_time_like_any_other(tmp_path):
    first, last = -(2**63), 2**63 - 1
    gz.write_graph("g.gl", [1, 2, 3], [0, 0, 0], time=[first, 0, last])
    hood = gz.sample_neighbors(gz.Graph("g.gl"), [0, 0, 0], [-1], seed_time=[first, 0, last], time_window=5)
    assert [hood.node[hood.row[hood.col == tree]].tolist() for tree in range(3)] == [[1], [2], [3]]


@st.composite
def excluding(draw, **options):
    """A case, pairs to leave out that mostly exist, and which entries are then allowed."""
    case = draw(cases(**options))
    known = draw(st.lists(st.sampled_from(range(len(case.src))), max_size=4)) if case.src else []
    by_id, reverse = draw(st.booleans()), draw(st.booleans())
    pairs = [(case.src[edge], case.dst[edge], edge) for edge in known]
    if not case.directed and draw(st.booleans()):
        pairs = [(dst, src, edge) for src, dst, edge in pairs]
    if case.src:
        ids = st.integers(0, case.num_nodes - 1)
        pairs += draw(st.lists(st.tuples(ids, ids, st.integers(0, len(case.src) - 1)), max_size=2))

    def excluded(src, dst, edge):
        forwards = any((src, dst) == pair[:2] and (not by_id or edge == pair[2]) for pair in pairs)
        by_reverse_id = by_id and not case.directed
        backwards = any((dst, src) == pair[:2] and (not by_reverse_id or edge == pair[2]) for pair in pairs)
        return forwards or (reverse and backwards)

    arrays = tuple([pair[i] for pair in pairs] for i in range(3 if by_id else 2))
    return case, {"exclude": arrays, "exclude_reverse": reverse}, excluded


def not_excluded(excluded, direction):
    def allowed(node, neighbour, edge, _):
        return not (excluded(neighbour, node, edge) if direction == "in" else excluded(node, neighbour, edge))

    return allowed


@given(excluding=excluding(), direction=DIRECTIONS, data=st.data())
@settings(max_examples=80)
def test_excluded_edges_are_left_out(excluding, direction, data):
    case, options, excluded = excluding
    entries = case.entries(direction, not_excluded(excluded, direction))
    check(case, seeds_of(data.draw, case), 2, entries, direction, **options)


@given(excluding=excluding(timed=True), direction=DIRECTIONS, by_node=st.booleans(), data=st.data())
@EXAMPLES
def test_excluded_edges_are_found_in_lists_in_the_order_of_time(excluding, direction, by_node, data):
    case, options, excluded = excluding
    seeds = seeds_of(data.draw, case)
    seed_time = data.draw(st.lists(st.integers(-2, 3), min_size=len(seeds), max_size=len(seeds)))
    node_time = data.draw(st.lists(st.integers(-2, 3), min_size=case.num_nodes, max_size=case.num_nodes))
    allowed = not_excluded(excluded, direction)

    def in_time(node, neighbour, edge, tree):
        return (node_time[neighbour] if by_node else case.time[edge]) <= seed_time[tree]

    entries = case.entries(direction, lambda *entry: in_time(*entry) and allowed(*entry))
    if by_node:
        options["node_time"] = node_time
    check(case, seeds, 2, entries, direction, seed_time=seed_time, **options)


@given(excluding=excluding(directed=True), data=st.data())
@EXAMPLES
def test_excluded_edges_are_found_in_unsorted_lists_of_02(excluding, data):
    case, options, excluded = excluding
    order = sorted(range(len(case.src)), key=lambda edge: case.src[edge])
    indptr = np.searchsorted([case.src[edge] for edge in order], range(case.num_nodes + 1))
    files.write("old.gl", files.graphzero02_gl(indptr, [case.dst[edge] for edge in order]))
    place = {edge: at for at, edge in enumerate(order)}  # in these files an edge's place is its id
    options["exclude"] = (*options["exclude"][:2], *[[place[edge] for edge in ids] for ids in options["exclude"][2:]])
    seeds = seeds_of(data.draw, case)

    def entries_of(_, node, *__):
        edges = [edge for edge in order if case.src[edge] == node]
        return [(case.dst[e], place[e]) for e in edges if not excluded(node, case.dst[e], e)]

    expected = oracle.neighborhood([EDGE], {NODE: seeds}, 2, entries_of, direction="out")
    with gz.Graph("old.gl") as graph:
        assert shape(gz.sample_neighbors(graph, seeds, [-1, -1], direction="out", **options), "out") == expected


@given(excluding=excluding(timed=True), direction=DIRECTIONS, temporal=st.booleans(), data=st.data())
@EXAMPLES
def test_induced_returns_every_edge_between_sampled_nodes(excluding, direction, temporal, data):
    case, options, excluded = excluding
    seeds = seeds_of(data.draw, case)
    seed_time = data.draw(st.lists(st.integers(-2, 3), min_size=len(seeds), max_size=len(seeds)))
    allowed = not_excluded(excluded, direction)
    in_time = (lambda edge, tree: case.time[edge] <= seed_time[tree]) if temporal else lambda edge, tree: True
    entries = case.entries(direction, lambda *entry: in_time(*entry[2:]) and allowed(*entry))
    disjoint = temporal or data.draw(st.booleans())
    sampled = oracle.neighborhood([EDGE], {NODE: seeds}, 1, entries, direction=direction, disjoint=disjoint)
    sampled.edges, sampled.num_sampled_edges = oracle.induced(sampled, entries, direction=direction), None
    if temporal:
        options["seed_time"] = seed_time
    with case.graph() as graph:
        hood = gz.sample_neighbors(
            graph, seeds, [-1], direction=direction, subgraph_type="induced", disjoint=disjoint, **options
        )
    assert shape(hood, direction) == sampled


@given(case=cases(), direction=DIRECTIONS, disjoint=st.booleans(), data=st.data())
@EXAMPLES
def test_bidirectional_adds_the_reverse_and_keeps_one_edge_per_pair(case, direction, disjoint, data):
    seeds = seeds_of(data.draw, case)
    entries = case.entries(direction)
    sampled = oracle.neighborhood([EDGE], {NODE: seeds}, 2, entries, direction=direction, disjoint=disjoint)
    sampled.edges, sampled.num_sampled_edges = {EDGE: oracle.mirrored(sampled.edges[EDGE])}, None
    with case.graph() as graph:
        hood = gz.sample_neighbors(
            graph, seeds, [-1, -1], direction=direction, subgraph_type="bidirectional", disjoint=disjoint
        )
    assert shape(hood, direction) == sampled


@given(case=cases(weighted=True), direction=DIRECTIONS, method=st.sampled_from(["neighbor", "labor"]), data=st.data())
@EXAMPLES
def test_edges_of_weight_0_are_never_kept(case, direction, method, data):
    seeds = seeds_of(data.draw, case)

    def entries_of(_, node, *__):
        entries = case.list_of(node, direction)
        kept = [entry for entry in entries if case.weight[entry[1]] > 0]
        if entries and not kept:
            raise ZeroDivisionError(f"node {node} has {len(entries)} edges and all their weights are 0")
        return kept

    try:
        check(case, seeds, 2, entries_of, direction, weighted=True, method=method)
    except ZeroDivisionError as error:
        with case.graph() as graph, pytest.raises(ValueError, match=str(error)):
            gz.sample_neighbors(graph, seeds, [-1, -1], direction=direction, weighted=True, method=method)


A, B = "a", "b"
TRIPLES = [(A, "x", B), (B, "y", A), (A, "z", A), (A, "w", B)]


@given(
    counts=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    direction=DIRECTIONS,
    disjoint=st.booleans(),
    induced=st.booleans(),
    data=st.data(),
)
@EXAMPLES
def test_types_are_followed_in_the_order_given(counts, direction, disjoint, induced, data):
    num_nodes = dict(zip((A, B), counts, strict=True))
    triples = data.draw(st.permutations(TRIPLES))
    relations, graphs, fanouts = {}, {}, {}
    for i, triple in enumerate(triples):
        ends = [st.integers(0, num_nodes[kind] - 1) for kind in (triple[0], triple[2])]
        pairs = data.draw(st.lists(st.tuples(*ends), max_size=8))
        relations[triple] = [src for src, _ in pairs], [dst for _, dst in pairs]
        size = (num_nodes[triple[0]], num_nodes[triple[2]])
        gz.write_graph(f"{i}.gl", *relations[triple], num_nodes=size if triple[0] != triple[2] else size[0])
        graphs[triple] = gz.Graph(f"{i}.gl")
        fanouts[triple] = data.draw(st.lists(st.sampled_from([-1, 0]), min_size=2, max_size=2))
    kinds = list(dict.fromkeys(kind for triple in triples for kind in (triple[0], triple[2])))
    seeds = {kind: data.draw(st.lists(st.integers(0, num_nodes[kind] - 1), max_size=3)) for kind in kinds}

    def entries_of(triple, node, tree, hop):
        if hop is not None and fanouts[triple][hop] == 0:
            return []
        return oracle.list_of(node, *relations[triple], direction=direction)

    expected = oracle.neighborhood(triples, seeds, 2, entries_of, direction=direction, disjoint=disjoint)
    if induced:
        expected.edges = oracle.induced(expected, entries_of, direction=direction)
        expected.num_sampled_edges = None
    given = {kind: ids for kind, ids in seeds.items() if ids}  # a type without seeds may be left out
    hood = gz.sample_neighbors(
        graphs,
        given,
        fanouts,
        direction=direction,
        disjoint=disjoint,
        subgraph_type="induced" if induced else "directional",
    )
    assert shape(hood, direction) == expected
    assert list(hood.node) == kinds
    assert list(hood.row) == triples


def test_times_and_excluded_edges_of_a_heterogeneous_sample_are_dicts(tmp_path):
    gz.write_graph("buys.gl", [0, 1, 1, 2], [0, 0, 1, 1], num_nodes=(3, 2), time=[5, 1, 2, 3])
    buys = ("user", "buys", "item")
    graphs = {buys: gz.Graph("buys.gl")}
    seeds = {"item": [0, 1]}
    hood = gz.sample_neighbors(graphs, seeds, [-1], seed_time={"item": [4, 2]})
    assert hood.node["user"].tolist() == [1, 1]
    assert hood.batch["user"].tolist() == [0, 1]
    assert hood.edge[buys].tolist() == [1, 2]
    by_node = gz.sample_neighbors(graphs, seeds, [-1], seed_time={"item": [4, 2]}, node_time={"user": [3, 9, 2]})
    assert by_node.edge[buys].tolist() == [0, 3]
    left = gz.sample_neighbors(graphs, seeds, [-1], exclude={buys: ([1, 2], [0, 1])})
    assert left.edge[buys].tolist() == [0, 2]
    assert repr(left) == "HeteroNeighborhood(user 2, item 2; 2 edges)"


@given(
    timed=st.lists(st.booleans(), min_size=4, max_size=4),
    named=st.lists(st.booleans(), min_size=4, max_size=4),
    node_timed=st.booleans(),
    window=st.sampled_from([None, 1]),
    direction=DIRECTIONS,
    data=st.data(),
)
@EXAMPLES
def test_graphs_without_times_are_not_limited_by_them(timed, named, node_timed, window, direction, data):
    """Neighbours of type A may have times; then some graphs have, of which some may be told to count."""
    relations, graphs, times = {}, {}, {}
    for i, triple in enumerate(TRIPLES):
        pairs = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=8))
        relations[triple] = [src for src, _ in pairs], [dst for _, dst in pairs]
        drawn = data.draw(st.lists(st.integers(-2, 2), min_size=len(pairs), max_size=len(pairs)))
        times[triple] = drawn if timed[i] else None
        size = 3 if triple[0] == triple[2] else (3, 3)
        gz.write_graph(f"{i}.gl", *relations[triple], num_nodes=size, time=times[triple])
        graphs[triple] = gz.Graph(f"{i}.gl")
    told = data.draw(st.booleans())
    counting = [triple for i, triple in enumerate(TRIPLES) if timed[i] and (named[i] or not told)]
    node_time = data.draw(st.lists(st.integers(-2, 2), min_size=3, max_size=3))
    far = 0 if direction == "in" else 2
    seeds = {A: [0, 2], B: [1]}
    seed_time = {A: [0, 1], B: [-1]}
    limits = [0, 1, -1]

    def entries_of(triple, node, tree, _):
        entries = oracle.list_of(node, *relations[triple], direction=direction, time=times[triple])
        if triple[far] == A and node_timed:
            return [entry for entry in entries if in_window(node_time[entry[0]], limits[tree], window)]
        if triple in counting:
            return [entry for entry in entries if in_window(times[triple][entry[1]], limits[tree], window)]
        return entries

    options = {"seed_time": seed_time, "time_window": window, "direction": direction}
    options |= {"node_time": {A: node_time}} if node_timed else {}
    options |= {"edge_time": counting} if told else {}
    if not told and not node_timed and not counting:
        with pytest.raises(
            ValueError, match=r"0\.gl: has no times: expected a graph written with time=, or node_time="
        ):
            gz.sample_neighbors(graphs, seeds, [-1, -1], **options)
        return
    hood = gz.sample_neighbors(graphs, seeds, [-1, -1], **options)
    expected = oracle.neighborhood(TRIPLES, seeds, 2, entries_of, direction=direction, disjoint=True)
    assert shape(hood, direction) == expected


@pytest.mark.parametrize("kinds", [{NODE: 5}, {"user": 5, "item": 3}])
@pytest.mark.parametrize("subgraph_type", ["directional", "bidirectional", "induced"])
@pytest.mark.parametrize("options", [{}, {"disjoint": True}, {"weighted": True}])
def test_without_edges_a_sample_is_its_seeds(kinds, subgraph_type, options):
    with gz.DatasetWriter("none") as writer:
        for kind, count in kinds.items():
            writer.add_nodes(type=kind, num_nodes=count)
    dataset, seeds = gz.open("none"), {next(iter(kinds)): [3, 1, 3]}
    given = seeds if len(kinds) > 1 else seeds[NODE]
    hood = gz.sample_neighbors(dataset, given, [4, 2], subgraph_type=subgraph_type, **options)
    found = shape(hood, "in") if len(kinds) > 1 else hood
    if len(kinds) > 1:
        assert (found.nodes, found.edges) == ({"user": [3, 1, 3], "item": []}, {})
        assert found.num_sampled_nodes == {"user": [3, 0, 0], "item": [0, 0, 0]}
        assert found.num_sampled_edges == ({} if subgraph_type == "directional" else None)
    else:
        assert (found.node.tolist(), found.edge_index.shape, found.edge.shape) == ([3, 1, 3], (2, 0), (0,))
        assert found.edge_index.dtype == found.edge.dtype == np.int64
        assert found.num_sampled_nodes == [3, 0, 0]
        assert found.num_sampled_edges == ([0, 0] if subgraph_type == "directional" else None)
    assert (hood.batch is None) == ("disjoint" not in options)


def test_a_data_set_without_nodes_is_named():
    with gz.DatasetWriter("nothing"):
        pass
    with pytest.raises(ValueError, match="nothing: expected at least one node type to sample from, found none"):
        gz.sample_neighbors(gz.open("nothing"), [], [])


@given(case=cases(weighted=True, timed=True), direction=DIRECTIONS, fanout=st.integers(0, 4), data=st.data())
@settings(max_examples=80)
def test_every_draw_is_legal(case, direction, fanout, data):
    """Whatever the options: true edges under their ids, the right number of them, nodes in order of discovery."""
    case.weight = [weight + 0.25 for weight in case.weight]
    seeds = seeds_of(data.draw, case)
    replace, weighted = data.draw(st.booleans()), data.draw(st.booleans())
    labor = not replace and data.draw(st.booleans())
    options = {"replace": replace, "weighted": weighted, "method": "labor" if labor else "neighbor"}
    seed_time = None
    if data.draw(st.booleans()):
        seed_time = data.draw(st.lists(st.integers(-2, 3), min_size=len(seeds), max_size=len(seeds)))
        options["seed_time"] = seed_time
    with case.graph() as graph:
        hood = gz.sample_neighbors(graph, seeds, [fanout, fanout], direction=direction, seed=3, **options)
    found = shape(hood, direction)
    nodes, trees = found.nodes[NODE], found.trees[NODE]
    drawn = {}
    for near, far, edge in found.edges[EDGE]:
        assert (nodes[far], edge) in case.list_of(nodes[near], direction)
        assert trees[near] == trees[far]
        assert seed_time is None or case.time[edge] <= seed_time[trees[near]]
        drawn.setdefault(near, []).append(edge)
    for near in range(sum(found.num_sampled_nodes[NODE][:2])):
        entries = case.list_of(nodes[near], direction)
        if seed_time is not None:
            entries = [entry for entry in entries if case.time[entry[1]] <= seed_time[trees[near]]]
        expected = (fanout if entries else 0) if replace else min(fanout, len(entries))
        assert len(drawn.get(near, [])) == expected
        assert replace or Counter(drawn.get(near, [])) <= Counter(edge for _, edge in entries)
    planted = list(zip(seeds, trees, strict=False))
    reached = [(nodes[far], trees[far]) for _, far, _ in found.edges[EDGE]]
    discovered = dict.fromkeys(planted + reached)
    assert list(zip(nodes, trees, strict=True)) == planted + [node for node in discovered if node not in planted]


def test_pyg_finds_the_same_nodes_and_edges():
    pyg()
    import torch
    from torch_geometric.utils import k_hop_subgraph, subgraph

    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 60, (2, 150))
    graph = Case(60, src, dst).graph()
    edge_index = torch.tensor(np.stack([src, dst]))
    for seed in range(0, 60, 7):
        for flow, direction in (("source_to_target", "in"), ("target_to_source", "out")):
            for num_hops in range(4):
                nodes, *_ = k_hop_subgraph(seed, num_hops, edge_index, num_nodes=60, flow=flow)
                hood = gz.sample_neighbors(graph, [seed], [-1] * num_hops, direction=direction, subgraph_type="induced")
                assert sorted(hood.node) == nodes.tolist()
                _, edges = subgraph(nodes, edge_index, torch.arange(150), num_nodes=60)
                assert sorted(hood.edge) == edges.tolist()
                assert (hood.node[hood.edge_index] == np.stack([src, dst])[:, hood.edge]).all()


@pytest.mark.parametrize("names", [("buys", "rev_buys"), ("buys", "sold_to")])
@pytest.mark.parametrize("direction", ["in", "out"])
def test_reverses_in_another_relation_have_the_edge_ids_of_that_relation(tmp_path, names, direction):
    rng = np.random.default_rng(5)
    user, item = rng.integers(0, 6, 30), rng.integers(0, 5, 30)
    order = rng.permutation(30)
    there, back = ("user", names[0], "item"), ("item", names[1], "user")
    gz.write_graph("there.gl", user, item, num_nodes=(6, 5))
    gz.write_graph("back.gl", item[order], user[order], num_nodes=(5, 6))
    graphs = {there: gz.Graph("there.gl"), back: gz.Graph("back.gl")}
    options = {"direction": direction, "seed": 1}
    plain = gz.sample_neighbors(graphs, {"user": [0, 3]}, [2, 2], **options)
    both = gz.sample_neighbors(graphs, {"user": [0, 3]}, [2, 2], subgraph_type="bidirectional", **options)
    ends = {there: (user, item), back: (item[order], user[order])}
    pairs = {
        triple: {(u, v) for u, v in zip(plain.row[triple].tolist(), plain.col[triple].tolist(), strict=True)}
        for triple in graphs
    }
    for triple, reverse in ((there, back), (back, there)):
        src, dst = ends[triple]
        found = list(zip(both.row[triple].tolist(), both.col[triple].tolist(), strict=True))
        assert len(set(found)) == len(found)
        assert set(found) == pairs[triple] | {(v, u) for u, v in pairs[reverse]}
        rows, cols = both.node[triple[0]][both.row[triple]], both.node[triple[2]][both.col[triple]]
        assert src[both.edge[triple]].tolist() == rows.tolist()
        assert dst[both.edge[triple]].tolist() == cols.tolist()
    assert both.num_sampled_edges is None


def test_a_reverse_that_does_not_exist_is_left_out(tmp_path):
    gz.write_graph("there.gl", [0, 1], [0, 0], num_nodes=(2, 1))
    gz.write_graph("back.gl", [0], [1], num_nodes=(1, 2))
    graphs = {("user", "buys", "item"): gz.Graph("there.gl"), ("item", "rev_buys", "user"): gz.Graph("back.gl")}
    hood = gz.sample_neighbors(graphs, {"item": [0]}, [-1], subgraph_type="bidirectional")
    back = ("item", "rev_buys", "user")
    assert hood.node["user"][hood.col[back]].tolist() == [1]


def test_pyg_makes_the_same_bidirectional_sample():
    pyg()
    import torch
    from torch_geometric.sampler import SamplerOutput

    rng = np.random.default_rng(2)
    pairs = np.unique(rng.integers(0, 40, (200, 2)), axis=0)
    pairs = pairs[~(pairs[:, None, ::-1] == pairs[None]).all(axis=2).any(axis=1)]  # PyG takes any id of a pair's two
    graph = Case(40, *pairs.T).graph()
    options = {"seed": 5, "direction": "in"}
    plain = gz.sample_neighbors(graph, [3, 9, 17], [4, 3], **options)
    fields = (torch.from_numpy(array) for array in (plain.node, plain.row, plain.col, plain.edge))
    theirs = SamplerOutput(*fields).to_bidirectional()
    ours = gz.sample_neighbors(graph, [3, 9, 17], [4, 3], subgraph_type="bidirectional", **options)
    for name in ("node", "row", "col", "edge"):
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist()
    assert (ours.num_sampled_nodes, ours.num_sampled_edges) == (plain.num_sampled_nodes, None)

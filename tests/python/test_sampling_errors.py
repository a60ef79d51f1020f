"""What sampling says to bad arguments and to broken files; the process lives on."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

import files
import graphzero as gz
from systems import NO_CUT, interrupt, posix_only, start

EVERY = {"weight": [1.0, 2.0, 0.5, 1.0], "time": [1, 2, 3, 4]}


@pytest.fixture
def full(tmp_path):
    """The tiny graph with weights and times."""
    gz.write_graph("full.gl", [0, 0, 1, 3], [1, 2, 2, 0], **EVERY)
    return gz.Graph("full.gl")


@pytest.fixture
def buys(tmp_path):
    gz.write_graph("buys.gl", [0, 1, 2], [0, 0, 1], num_nodes=(3, 2), time=[1, 2, 3])
    return {("user", "buys", "item"): gz.Graph("buys.gl")}


def sample(graph, seeds=(0,), fanouts=(2,), **options):
    return gz.sample_neighbors(graph, seeds, fanouts, **options)


@pytest.mark.parametrize("bad", [-1, 4, 2**62, -(2**63)])
@pytest.mark.parametrize("place", [0, 500, 999])
def test_a_seed_that_is_no_node_is_named_with_its_place(tiny, bad, place):
    seeds = np.zeros(1000, np.int64)
    seeds[place] = bad
    with pytest.raises(IndexError, match=rf"seed {bad} at position {place} is not a node: .* 4 nodes \(0 to 3\)"):
        sample(tiny, seeds)


@pytest.mark.parametrize(
    ("seeds", "error", "message"),
    [
        ([0.5], TypeError, "seeds: expected integers, found float64"),
        ([True], TypeError, "seeds: expected integers, found bool"),
        (["a"], TypeError, "seeds: expected integers, found <U1"),
        ([[0, 1]], ValueError, r"seeds: expected one dimension, found shape \(1, 2\)"),
        (0, ValueError, r"seeds: expected one dimension, found shape \(\)"),
        ([[0], [1, 2]], ValueError, "seeds: expected a regular array, found rows of different lengths"),
        (
            np.array([2**63], np.uint64),
            IndexError,
            r"seeds\[0\]: expected an integer below 2\^63, found 9223372036854775808",
        ),
        (None, TypeError, "seeds: expected node ids, found None"),
    ],
)
def test_seeds_are_a_list_of_integers(tiny, seeds, error, message):
    with pytest.raises(error, match=message):
        sample(tiny, seeds)


@pytest.mark.parametrize(
    ("fanouts", "error", "message"),
    [
        (5, TypeError, r"fanouts: expected a number for each hop, such as \[10, 5\], found 5"),
        ("5", TypeError, r"fanouts: expected a number for each hop, such as \[10, 5\], found '5'"),
        (None, TypeError, r"fanouts: expected a number for each hop, such as \[10, 5\], found None"),
        ([2.5], TypeError, "fanouts: expected an integer, found 2.5"),
        ([None], TypeError, "fanouts: expected an integer, found None"),
        ([3, -2], ValueError, "fanouts: expected -1 for all neighbours, or a number, found -2"),
        ({("a", "b", "c"): [1]}, ValueError, r"fanouts: no edge type \('a', 'b', 'c'\); there are"),
    ],
)
def test_fanouts_are_a_list_of_integers(tiny, fanouts, error, message):
    with pytest.raises(error, match=message):
        sample(tiny, [0], fanouts)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"direction": "up"}, ValueError, "direction: expected 'out' or 'in', found 'up'"),
        ({"subgraph_type": "whole"}, ValueError, "subgraph_type: expected one of .*'induced'.*, found 'whole'"),
        ({"method": "fast"}, ValueError, "method: expected 'neighbor' or 'labor', found 'fast'"),
        ({"temporal_strategy": "first"}, ValueError, "temporal_strategy: expected 'uniform' or 'last', found 'first'"),
        ({"temporal_strategy": "last"}, ValueError, "temporal_strategy 'last': expected seed_time, found none"),
        ({"method": "labor", "replace": True}, ValueError, "method 'labor' picks without replacement"),
        ({"time_window": 5}, ValueError, "time_window: expected seed_time, found none"),
        ({"time_window": -1, "seed_time": [0]}, ValueError, "time_window: expected a length that is not negative"),
        ({"time_window": 0.5, "seed_time": [0]}, TypeError, "time_window: expected an integer, found 0.5"),
        ({"seed_time": [1, 2]}, ValueError, "seed_time: expected 1 times, as many as there are seeds, found 2"),
        ({"seed_time": []}, ValueError, "seed_time: expected 1 times, as many as there are seeds, found 0"),
        ({"seed_time": [0.5]}, TypeError, "seed_time: expected integers, found float64"),
        ({"seed_time": np.array(["NaT"], "M8[s]")}, ValueError, r"seed_time\[0\]: expected a time, found NaT"),
        ({"node_time": [0] * 4}, ValueError, "node_time: expected seed_time with it"),
        ({"node_time": [0] * 3, "seed_time": [0]}, ValueError, "node_time: expected 4 times, one per node, found 3"),
        ({"seed": 0.5}, TypeError, "seed: expected an integer, found 0.5"),
        ({"seed": 2**64}, ValueError, "seed: expected an integer of 64 bits, found 18446744073709551616"),
        ({"epoch": None}, TypeError, "epoch: expected an integer, found None"),
        ({"epoch": 2**64}, ValueError, "epoch: expected an integer of 64 bits, found 18446744073709551616"),
        ({"batch": "1"}, TypeError, "batch: expected an integer, found '1'"),
        ({"batch": -(2**64)}, ValueError, "batch: expected an integer of 64 bits, found -18446744073709551616"),
        ({"exclude": 5}, TypeError, r"exclude: expected \(src, dst\) or \(src, dst, edge_id\), found 5"),
        ({"exclude": {}}, TypeError, r"exclude: expected \(src, dst\) or \(src, dst, edge_id\), found {}"),
        ({"exclude": [[0]]}, ValueError, r"exclude: expected \(src, dst\) or \(src, dst, edge_id\), found 1 arrays"),
        ({"exclude": ([0, 1], [1])}, ValueError, "exclude: expected 2 items in each array, .* found 1"),
        ({"exclude": ([0], [1], [0, 1])}, ValueError, "exclude: expected 1 items in each array, .* found 2"),
        ({"exclude": ([0], [1], [])}, ValueError, "exclude: expected 1 items in each array, .* found 0"),
        ({"exclude": ([0.5], [1])}, TypeError, "exclude sources: expected integers, found float64"),
        ({"exclude": ([0], [[1]])}, ValueError, r"exclude destinations: expected one dimension, found shape \(1, 1\)"),
        ({"exclude": ([0], [1], ["a"])}, TypeError, "exclude edge ids: expected integers, found <U1"),
        ({"exclude": ([0, -1], [1, 1])}, IndexError, r"exclude sources\[1\]: node -1 is not in .* 4 nodes \(0 to 3\)"),
        ({"exclude": ([0], [4])}, IndexError, r"exclude destinations\[0\]: node 4 is not in .* 4 nodes \(0 to 3\)"),
        (
            {"exclude": ([0], [1], [-1])},
            IndexError,
            r"exclude edge ids\[0\]: edge id -1 is not in .* made from 4 edges",
        ),
        ({"exclude": ([0, 0], [1, 1], [3, 4])}, IndexError, r"exclude edge ids\[1\]: edge id 4 is not in full.gl"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(full, options, error, message):
    with pytest.raises(error, match=message):
        sample(full, **options)


@pytest.mark.parametrize("other", [{"weighted": True}, {"replace": True}, {"method": "labor"}])
def test_last_goes_with_nothing_that_draws(full, other):
    message = "temporal_strategy 'last' takes the newest neighbours and draws nothing: it does not go with replace, weighted or labor"
    with pytest.raises(ValueError, match=message):
        sample(full, seed_time=[9], temporal_strategy="last", **other)


def test_what_the_graph_does_not_store_cannot_be_used(tiny):
    with pytest.raises(ValueError, match=r"tiny.gl: has no weights; write the graph with weight= to store them"):
        sample(tiny, weighted=True)
    with pytest.raises(ValueError, match=r"tiny.gl: has no times: expected a graph written with time=, or node_time="):
        sample(tiny, seed_time=[0])
    gz.write_graph("out.gl", [0], [1], index="out")
    with pytest.raises(ValueError, match=r"out.gl: has no 'in' index, only 'out'; write the graph with index=\"both\""):
        sample(gz.Graph("out.gl"))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"weighted": True}, ValueError, r"tiny.gl: has no weights; write the graph with weight= to store them"),
        ({"weighted": [("a", "r", "a")]}, ValueError, r"tiny.gl: has no weights; write the graph with weight="),
        ({"weighted": [("a", "s", "a")]}, ValueError, r"weighted: no edge type \('a', 's', 'a'\); there are"),
        ({"weighted": ("a", "r", "a")}, TypeError, r"edge type: expected \(source, relation, destination\), found 'a'"),
        ({"edge_time": [("a", "r", "a")], "seed_time": {"a": [0]}}, ValueError, "tiny.gl: has no times: expected"),
        ({"edge_time": [("a", "s", "a")], "seed_time": {"a": [0]}}, ValueError, "edge_time: no edge type"),
        ({"seed_time": {"a": [0]}}, ValueError, "tiny.gl: has no times: expected a graph written with time="),
    ],
)
def test_weights_and_times_of_types_that_have_none_are_refused(tiny, options, error, message):
    with pytest.raises(error, match=message):
        gz.sample_neighbors({("a", "r", "a"): tiny, ("a", "t", "a"): tiny}, {"a": [0]}, [1], **options)


def test_a_closed_graph_is_refused(tiny):
    tiny.close()
    with pytest.raises(ValueError, match="this Graph is closed; open it again to use it"):
        sample(tiny)


@pytest.mark.parametrize("graph", [None, "tiny.gl", 5, [1]])
def test_what_is_no_graph_is_refused(graph):
    with pytest.raises(
        TypeError, match="graph: expected a Graph, a Dataset or a mapping of edge types to Graphs, found"
    ):
        sample(graph)


def test_a_bipartite_graph_needs_names_for_its_types(buys):
    graph = next(iter(buys.values()))
    with pytest.raises(
        ValueError, match=r"buys.gl: is bipartite; name its two types of node: {\('user', 'buys', 'item'\): graph}"
    ):
        sample(graph)
    assert sample(buys, {"item": [0]}).node["user"].tolist() == [0, 1]


USER = ("user", "buys", "item")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"seeds": [0]}, TypeError, "seeds: expected a dict by node type, found list"),
        ({"seeds": {"shop": [0]}}, ValueError, r"seeds: no node type 'shop'; there are \['user', 'item'\]"),
        ({"seeds": {"item": [0.5]}}, TypeError, r"seeds\['item'\]: expected integers, found float64"),
        ({"seeds": {"item": [2]}}, IndexError, r"seed 2 at position 0 is not a node: the graph has 2 nodes"),
        (
            {"fanouts": {}},
            ValueError,
            r"fanouts: expected numbers for every edge type, found none for \('user', 'buys'",
        ),
        ({"fanouts": {"buys": [1]}}, TypeError, r"edge type: expected \(source, relation, destination\), found 'buys'"),
        ({"fanouts": {USER: 3}}, TypeError, r"fanouts: expected a number for each hop, such as \[10, 5\], found 3"),
        ({"seed_time": [0]}, TypeError, "seed_time: expected a dict by node type, found list"),
        ({"seed_time": {}}, ValueError, "seed_time: expected 1 times, as many as there are seeds, found 0"),
        ({"exclude": ([0], [0])}, TypeError, "exclude: expected a dict by edge type, found tuple"),
        ({"exclude": {("a", "b", "c"): ([0], [0])}}, ValueError, r"exclude: no edge type \('a', 'b', 'c'\); there are"),
        (
            {"exclude": {USER: ([0], [0])}, "exclude_reverse": True},
            ValueError,
            "buys.gl: joins two types of node, so its edges have no reverse in it; exclude the edges of the relation",
        ),
        (
            {"subgraph_type": "bidirectional"},
            ValueError,
            "buys.gl: no edge type holds the reverses of its edges: expected one from its destinations to its sources",
        ),
    ],
)
def test_arguments_of_a_heterogeneous_sample_are_dicts(buys, arguments, error, message):
    with pytest.raises(error, match=message):
        sample(buys, **{"seeds": {"item": [0]}, "fanouts": [2], **arguments})


def test_edge_types_agree_on_hops_and_on_numbers_of_nodes(buys, tmp_path):
    gz.write_graph("sells.gl", [0], [0], num_nodes=(1, 2))
    sells = ("shop", "sells", "item")
    graphs = {**buys, sells: gz.Graph("sells.gl")}
    with pytest.raises(ValueError, match="fanouts: expected 2 hops for every edge type, as for .*, found 1 for"):
        sample(graphs, {"item": [0]}, {USER: [1, 1], sells: [1]})
    gz.write_graph("many.gl", [0], [0], num_nodes=(1, 3))
    with pytest.raises(
        ValueError, match=r"many.gl: node type 'item' of .*: expected 2 nodes, .* found 3; write .* num_nodes="
    ):
        sample({**buys, sells: gz.Graph("many.gl")}, {"item": [0]})
    with pytest.raises(TypeError, match=r"graph\[\('shop', 'sells', 'item'\)\]: expected a Graph, found 5"):
        sample({sells: 5}, {"item": [0]})
    with pytest.raises(ValueError, match="graph: expected at least one edge type, found none"):
        sample({}, {})


def test_the_reverse_of_a_square_graph_between_two_types_is_refused(tiny):
    with pytest.raises(ValueError, match=r"tiny.gl: joins two types of node, so its edges have no reverse in it"):
        sample({USER: tiny}, {"item": [2]}, exclude={USER: ([0], [1])}, exclude_reverse=True)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fanout", [2**36, 2**61, 2**63 - 1, 2**70])
def test_more_than_fits_into_memory_is_refused(full, fanout, weighted):
    with pytest.raises(MemoryError):
        sample(full, [2], [fanout], replace=True, weighted=weighted)


@pytest.mark.parametrize("options", [{}, {"replace": True}, {"method": "labor"}, {"fanouts": [-1]}])
def test_a_node_without_any_weight_is_named(tmp_path, options):
    gz.write_graph("zero.gl", [0, 1, 2, 1], [3, 3, 3, 0], num_nodes=5, weight=[0, 0, 0, 1])
    message = "zero.gl: node 3 has 3 edges and all their weights are 0: expected at least one above 0 to draw by weight"
    with pytest.raises(ValueError, match=message):
        sample(gz.Graph("zero.gl"), [4, 0, 3], **options, weighted=True)


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_a_bad_weight_in_a_file_of_02_is_named(tmp_path, bad):
    files.write("old.gl", files.graphzero02_gl([0, 2, 3], [0, 1, 1], [1.0, 2.0, bad]))
    message = "weight of entry 2, an edge of node 1: expected a finite number that is not negative, found"
    with pytest.raises(gz.FormatError, match=message):
        sample(gz.Graph("old.gl"), direction="out", weighted=True)


def broken_graph(name, section, at, value):
    """The tiny graph with one item changed."""
    gz.write_graph("whole.gl", [0, 0, 1, 3], [1, 2, 2, 0], **EVERY)
    with open("whole.gl", "rb") as file:
        data = file.read()
    found = files.parse(data, files.MAGIC["gl"], files.NAMES).section(files.KINDS[section])
    width = files.STORED[found.dtype].itemsize
    code = {4: "<i", 8: "<q"}[width]
    files.write(name, files.reseal(files.patched(data, {(found.offset + at * width, code): value})))
    return gz.Graph(name)


OPTIONS = [
    {},
    {"replace": True},
    {"weighted": True},
    {"method": "labor"},
    {"seed_time": [9]},
    {"seed_time": [9], "node_time": [0] * 4},
    {"exclude": ([0], [2])},
    {"subgraph_type": "induced"},
]


@pytest.mark.parametrize("bad", [4, -1, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("options", OPTIONS)
def test_an_id_outside_the_graph_is_found_where_it_is_read(tmp_path, bad, options):
    graph = broken_graph("ids.gl", "in_indices", 2, bad)
    message = f"ids.gl: corrupt indices at entry 2: expected a node id below 4, found {bad}"
    with pytest.raises(gz.FormatError, match=message):
        sample(graph, [2], [-1], **options)


@pytest.mark.parametrize("bad", [-1, 5, 2**62, -(2**63)])
@pytest.mark.parametrize("options", OPTIONS)
def test_an_offset_outside_the_graph_is_found_where_it_is_read(tmp_path, bad, options):
    graph = broken_graph("offsets.gl", "in_indptr", 3, bad)
    message = "offsets.gl: corrupt indptr at node 2: expected 0 <= begin <= end <= 4, found begin 2, end"
    with pytest.raises(gz.FormatError, match=message):
        sample(graph, [2], [1], **options)


@posix_only(reason=NO_CUT)
def test_a_truncated_file_is_an_os_error(tmp_path):
    src = np.arange(100_000) % 1000
    gz.write_graph("big.gl", src, np.roll(src, 1))
    graph = gz.Graph("big.gl")
    os.truncate("big.gl", 4096)
    with pytest.raises(OSError, match="the file shrank while it was mapped: expected .* bytes, found 4096"):
        sample(graph, np.arange(1000), [5, 5])
    with pytest.raises(OSError, match="the file shrank while it was mapped"):
        graph.batch_random_fanout(np.arange(1000), 5)


@pytest.mark.parametrize(
    ("threads", "degree", "seeds"), [(1, 50_000, 1_000_000), (2, 50_000, 1_000_000), (2, 1 << 23, 512)]
)
def test_ctrl_c_ends_a_call_that_would_take_minutes(tmp_path, threads, degree, seeds):
    """Many tasks, or a single one on a hub."""
    gz.write_graph("hub.gl", np.zeros(degree, np.int64), np.arange(degree), index="out")
    code = f"""
import numpy as np, graphzero as gz
g = gz.Graph("hub.gl")
gz.set_num_threads({threads})
try:
    print("ready", flush=True)  # inside: a busy machine may be slow to go on
    gz.sample_neighbors(g, np.zeros({seeds}, np.int64), [1], direction="out", method="labor")
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = start([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        interrupt(process)
        assert process.communicate(timeout=20)[0] == "interrupted\n"
        assert process.returncode == 0
    finally:
        process.kill()

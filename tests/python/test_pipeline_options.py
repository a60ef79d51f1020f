"""What a pipeline is given: every argument that makes no sense is refused with what was expected and found."""

import re

import numpy as np
import pytest

import files
import graphzero as gz
from graphzero.loaders import NeighborLoader

torch = pytest.importorskip("torch")

BUYS, REVERSE = ("user", "buys", "item"), ("item", "rev_buys", "user")


@pytest.fixture
def tiny_store(tiny_gd):
    return gz.FeatureStore(tiny_gd)


@pytest.fixture
def shop(tmp_path):
    gz.write_graph("buys.gl", [0, 1, 2], [0, 1, 0], num_nodes=(3, 2))
    gz.write_graph("rev.gl", [0, 1, 0], [0, 1, 2], num_nodes=(2, 3))
    return {BUYS: gz.Graph("buys.gl"), REVERSE: gz.Graph("rev.gl")}


def refused(error, message, *args, **options):
    """The pipeline is not even made."""
    with pytest.raises(error) as raised:
        gz.Pipeline(*args, **options)
    text = raised.value.args[0]
    assert re.search(message, text), text


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"batch_size": 0}, ValueError, "^batch_size: expected at least 1, found 0$"),
        ({"batch_size": 1.5}, TypeError, "^batch_size: expected an integer, found 1.5$"),
        ({"ahead": 0}, ValueError, "^ahead: expected at least 1, found 0$"),
        ({"threads": 0}, ValueError, "^threads: expected at least 1, found 0$"),
        ({"threads": 5000}, ValueError, "^threads: expected 1 to 4096, found 5000$"),
        ({"memory": "much"}, ValueError, "^memory: expected a size such as '2GB' or '512MiB', found 'much'$"),
        ({"memory": 1.5}, TypeError, "^memory: expected an integer, found 1.5$"),
        ({"memory": -1}, ValueError, "^memory: expected a number of bytes, found -1$"),
        ({"memory": 2**63}, ValueError, "^memory: expected a number of bytes, found 9223372036854775808$"),
        ({"cache": "all"}, ValueError, "^cache: expected a size such as '2GB' or '512MiB', found 'all'$"),
        ({"cache": -5}, ValueError, "^cache: expected a number of bytes, found -5$"),
        (
            {"reader": "tape"},
            ValueError,
            r"^reader: expected one of \['auto', 'mmap', 'direct', 'pread'\], found 'tape'$",
        ),
        ({"seed": 2**64}, ValueError, "^seed: expected an integer of 64 bits, found"),
        ({"direction": "up"}, ValueError, "direction: expected 'out' or 'in', found 'up'"),
        ({"method": "magic"}, ValueError, "^method: expected 'neighbor' or 'labor', found 'magic'$"),
        ({"subgraph_type": "all"}, ValueError, "^subgraph_type: expected one of .*, found 'all'$"),
        (
            {"temporal_strategy": "first"},
            ValueError,
            "^temporal_strategy: expected 'uniform' or 'last', found 'first'$",
        ),
        ({"links": ([0], [1])}, ValueError, "^seeds, links: expected one of them, found both$"),
        ({"negatives": "binary"}, ValueError, "^negatives, exclude_seed_edges: expected links with them, found none$"),
        ({"exclude_seed_edges": True}, ValueError, "^negatives, exclude_seed_edges: expected links with them"),
        ({"node_time": [1, 2, 3, 4]}, ValueError, "^node_time: expected seed_time with it: node times are compared"),
        ({"features": 3}, TypeError, "^features: expected a FeatureStore, or a dict of them by name, found 3$"),
        ({"features": {"x": 3}}, TypeError, r"^features\['x'\]: expected a FeatureStore, found int$"),
        (
            {"edge_features": 3},
            TypeError,
            "^edge_features: expected a FeatureStore, or a dict of them by name, found 3$",
        ),
        ({"dtype": {"z": "float32"}}, KeyError, r"^dtype: no attribute 'z'; there are \[\]$"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(tiny, options, error, message):
    refused(error, message, tiny, [0, 1], [2], **options)


@pytest.mark.parametrize(
    ("seeds", "error", "message"),
    [
        ([0, 4], IndexError, r"^seeds\[1\]: node 4 is not in the graph, which has 4 nodes$"),
        ([0, 1, -1], IndexError, r"^seeds\[2\]: node -1 is not in the graph, which has 4 nodes$"),
        ([0.5], TypeError, "^seeds: expected integers, found float64$"),
        ([[0]], ValueError, r"^seeds: expected one dimension, found shape \(1, 1\)$"),
        (np.ones(3, bool), ValueError, r"^seeds: expected a mask of 4 nodes, found \(3,\)$"),
        (torch.ones(2, 2, dtype=torch.bool), ValueError, r"^seeds: expected a mask of 4 nodes, found \(2, 2\)$"),
        ({"node": [0], "other": [1]}, ValueError, r"^seeds: expected ids of one node type, found \['node', 'other'\]$"),
        ({}, ValueError, r"^seeds: expected ids of one node type, found \[\]$"),
        (("other", [0]), ValueError, r"^seeds: no node type 'other'; there are \['node'\]$"),
        ("train", TypeError, "^seeds: expected node ids, found 'train'; splits have names in data sets only$"),
        (
            ("node", "train"),
            TypeError,
            "^seeds: expected node ids, found 'train'; splits have names in data sets only$",
        ),
    ],
)
def test_seeds_that_are_none_are_refused(tiny, seeds, error, message):
    refused(error, message, tiny, seeds, [2])


@pytest.mark.parametrize(
    ("links", "options", "error", "message"),
    [
        (([0, 4], [0, 0]), {}, IndexError, r"^links\[0\]\[1\]: node 4 is not in the graph, which has 4 nodes$"),
        (([0, 0], [9, 0]), {}, IndexError, r"^links\[1\]\[0\]: node 9 is not in the graph, which has 4 nodes$"),
        (([0, 1], [0]), {}, ValueError, "^links: expected as many destinations as sources, found 1 for 2$"),
        (([0.5], [0]), {}, TypeError, r"^links\[0\]: expected integers, found float64$"),
        (([0], ["a"]), {}, TypeError, r"^links\[1\]: expected integers, found <U1$"),
        (7, {}, TypeError, r"^links: expected \(src, dst\), found int$"),
        (([0], [1], [2]), {}, TypeError, r"^links: expected \(src, dst\), found tuple$"),
        (
            (("a", "b", "c"), ([0], [1])),
            {},
            ValueError,
            r"^links: no edge type \('a', 'b', 'c'\); there are \[\('node',",
        ),
        (
            ([0], [1]),
            {"negatives": "some"},
            ValueError,
            "^negatives: expected 'binary', 'triplet' or None, found 'some'$",
        ),
        (
            ([0], [1]),
            {"negatives": "binary", "negatives_by": "age"},
            ValueError,
            "negatives_by: expected 'uniform', 'degree' or an array of weights, fo",
        ),
        (([0], [1]), {"num_negatives": "two"}, TypeError, "^num_negatives: expected a number, found 'two'$"),
        (([0], [1]), {"seed_time": [1, 2]}, ValueError, "^seed_time: expected 1 times, one per seed, found 2$"),
    ],
)
def test_links_that_are_none_are_refused(tiny, links, options, error, message):
    refused(error, message, tiny, None, [2], links=links, **options)


@pytest.mark.parametrize("amount", [0, -1, float("nan"), float("inf"), 1e300])
@pytest.mark.parametrize("negatives", ["binary", "triplet"])
def test_a_number_of_negatives_is_above_0_and_finite(tiny, negatives, amount):
    message = "^num_negatives: expected a number above 0 and up to 1e\\+06, a whole one for triplets, found "
    refused(ValueError, message, tiny, None, [2], links=([0], [1]), negatives=negatives, num_negatives=amount)


def test_a_number_of_triplets_is_whole(tiny):
    options = {"links": ([0], [1]), "num_negatives": 1.5}
    refused(ValueError, "^num_negatives: .* whole one for triplets, found 1.5$", tiny, negatives="triplet", **options)
    gz.Pipeline(tiny, negatives="binary", **options)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_there_is_a_time_for_every_seed(tmp_path, count):
    gz.write_graph("timed.gl", [0, 1], [1, 2], time=[1, 2])
    message = f"^seed_time: expected 2 times, one per seed, found {count}$"
    refused(ValueError, message, gz.Graph("timed.gl"), [0, 1], [2], seed_time=[5] * count)


def test_there_is_a_time_for_every_node(tiny):
    message = "^node_time: expected 4 times, one per node, found 2$"
    refused(ValueError, message, tiny, [0], [2], seed_time=[5], node_time=[1, 2])


def test_times_of_nodes_have_types(shop):
    options = {"seed_time": [5]}
    message = "^node_time: expected a dict by node type, found list$"
    refused(TypeError, message, shop, ("item", [0]), [2], node_time=[1], **options)
    message = r"^node_time: no node type 'shop'; there are \['user', 'item'\]$"
    refused(ValueError, message, shop, ("item", [0]), [2], node_time={"shop": [1]}, **options)


@pytest.mark.parametrize(
    ("args", "options", "error", "message"),
    [
        (
            (None, [2]),
            {},
            ValueError,
            r"^seeds: expected a node type, or \(node type, ids\), with one of \['user', 'item'\], found None",
        ),
        (
            ([0], [2]),
            {},
            ValueError,
            r"^seeds: expected a node type, or \(node type, ids\), with one of .*, found list$",
        ),
        ((("user", [3]), [2]), {}, IndexError, r"^seeds\[0\]: node 3 is not in the graph, which has 3 nodes$"),
        (
            (None, [2]),
            {"links": ([0], [0])},
            ValueError,
            r"^links: expected \(edge type, \(src, dst\)\) with one of \[\('us",
        ),
        ((None, [2]), {"links": (BUYS, ([0], [2]))}, IndexError, r"^links\[1\]\[0\]: node 2 .* has 2 nodes$"),
        (("user", {BUYS: [2]}), {}, ValueError, "^fanouts: expected numbers for every edge type, found none for "),
        (("user", [2]), {"features": 1}, TypeError, "^features: expected a dict by type, found int$"),
        (
            ("user", [2]),
            {"features": {"shop": 1}},
            ValueError,
            r"^features: no type 'shop'; there are \['user', 'item'\]$",
        ),
        (
            ("user", [2]),
            {"edge_features": {"buys": 1}},
            TypeError,
            r"^edge type: expected \(source, relation, destination",
        ),
        (
            ("user", [2]),
            {"edge_features": {("a", "b", "c"): 1}},
            ValueError,
            r"^edge_features: no type \('a', 'b', 'c'\)",
        ),
    ],
)
def test_arguments_of_a_heterogeneous_pipeline_have_types(shop, args, options, error, message):
    refused(error, message, shop, *args, **options)


def test_a_bipartite_graph_is_given_with_its_types(shop):
    refused(ValueError, "is bipartite; name its two types of node", shop[BUYS])
    refused(TypeError, "^graph: expected a Graph, a Dataset or a mapping of edge types to Graphs, found 5$", 5)


def test_attributes_have_a_row_for_every_node_and_edge(tiny, tiny_store, tmp_path):
    gz.write_features("few.gd", np.zeros((3, 2), np.float32))
    few = gz.FeatureStore("few.gd")
    refused(ValueError, "^few.gd: expected a row for each of 4 nodes, found 3 rows$", tiny, features=few)
    refused(ValueError, "^few.gd: expected a row for each of 4 edges, found 3 rows$", tiny, edge_features=few)


def test_more_rows_than_nodes_or_edges_are_refused(tiny):
    gz.write_features("many.gd", np.ones((40, 2), np.float32))
    many = gz.FeatureStore("many.gd")
    told = "many.gd: expected a row for each of 4 {}, found 40 rows{}$"
    hint = "; if the graph is to have that many nodes, write it with num_nodes=40"
    refused(ValueError, "^" + told.format("nodes", hint), tiny, features=many)
    refused(ValueError, "^" + told.format("edges", ""), tiny, edge_features=many)
    with pytest.raises(ValueError, match=told.format("nodes", hint)):
        NeighborLoader((tiny, many), [2], [0], form="torch")
    with pytest.raises(ValueError, match=told.format("nodes", hint)):
        gz.inference(None, (tiny, many), "out.gd", layers=[lambda x, edge_index: x])


def test_edge_rows_of_an_undirected_graph_are_those_of_its_input():
    gz.write_graph("u.gl", [0, 1], [1, 2], directed=False)
    gz.write_features("two.gd", [1.0, 2.0])
    gz.write_features("four.gd", np.ones(4))
    four = gz.FeatureStore("four.gd")
    refused(ValueError, "^four.gd: expected a row for each of 2 edges", gz.Graph("u.gl"), edge_features=four)
    batch = next(iter(gz.Pipeline(gz.Graph("u.gl"), [0], [2], edge_features=gz.FeatureStore("two.gd"))))
    assert batch.edge_features["edge_attr"].tolist() == [1.0]


def test_a_conversion_that_is_not_offered_is_refused(tiny, tiny_store, tmp_path):
    message = "^dtype: expected float32, float16 or bfloat16, which float32 rows can be gathered as, found int64$"
    refused(ValueError, message, tiny, features=tiny_store, dtype="int64")
    refused(
        TypeError, "^dtype: expected one of bfloat16, .* found complex64", tiny, features=tiny_store, dtype="complex64"
    )
    refused(
        KeyError, r"^dtype: no attribute 'z'; there are \['x'\]$", tiny, features=tiny_store, dtype={"z": "float32"}
    )
    files.write("q.gd", files.build(files.gd(np.zeros((4, 3), np.int8), scales=[1, 2, 3, 4])))
    message = "^dtype: expected int8 or float32, which quantised int8 rows can be gathered as, found float16$"
    refused(ValueError, message, tiny, features=gz.FeatureStore("q.gd"), dtype="float16")


def test_attributes_of_a_data_set_go_by_name(tiny_dataset, tiny_store):
    dataset = gz.open(tiny_dataset)
    refused(KeyError, r"^features: no attribute 'z'; there are \['x', 'y'\]$", dataset, features=["x", "z"])
    refused(KeyError, r"^features: no attribute 'z'; there are \['x', 'y'\]$", dataset, features="z")
    refused(KeyError, r"^edge_features: no attribute 'x'; there are \[\]$", dataset, edge_features="x")
    for given in (tiny_store, {"x": tiny_store}, [tiny_store]):
        refused(TypeError, "^features: expected names of the data set's attributes, found ", dataset, features=given)
    refused(KeyError, "split", dataset, "practice")


def test_closed_stores_are_refused(tiny, tiny_store):
    tiny_store.close()
    refused(ValueError, "this FeatureStore is closed", tiny, features=tiny_store)
    tiny.close()
    refused(ValueError, "this Graph is closed", tiny)


def test_what_only_sampling_can_tell_is_told_by_the_first_batch(tiny):
    for fanouts, options, message in (
        ([-2], {}, "fanouts: expected -1 for all neighbours, or a number, found -2"),
        ([1], {"weighted": True}, "has no weights; write the graph with weight= to store them"),
        ([1], {"seed_time": [1, 2]}, "has no times"),
    ):
        with pytest.raises(ValueError, match=message):
            next(iter(gz.Pipeline(tiny, [0, 1], fanouts, **options)))


def test_a_link_whose_every_destination_is_an_edge_has_no_negatives(tmp_path):
    gz.write_graph("full.gl", [0, 0, 1], [0, 1, 1], num_nodes=2)
    pipeline = gz.Pipeline(gz.Graph("full.gl"), links=([0], [1]), negatives="triplet", exclude_edges=True)
    with pytest.raises(ValueError, match="node 0"):
        next(iter(pipeline))


def test_reverses_that_no_edge_type_holds_cannot_be_left_out(shop):
    graphs = {BUYS: shop[BUYS]}
    pipeline = gz.Pipeline(graphs, None, [2], links=(BUYS, ([0], [0])), exclude_seed_edges=True, exclude_reverse=True)
    with pytest.raises(ValueError, match="joins two types of node, so its edges have no reverse in it"):
        next(iter(pipeline))

"""What a loader refuses: the error names the argument, what was found, and what to do."""

import dataclasses

import numpy as np
import pytest
import torch

import graphzero as gz
from data_sets import pyg
from graphzero.loaders import LinkNeighborLoader, NeighborLoader
from loader_cases import AUTHOR, CITES, PAPER, REVERSE, WRITES, loader_of, write_heterogeneous, write_homogeneous
from pipeline_cases import tasks

pyg()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    data = write_homogeneous(tmp_path_factory.mktemp("homogeneous"))
    list(loader_of(NeighborLoader, data))  # the threads that all samplers share stay
    return data


@pytest.fixture(scope="module")
def hetero(tmp_path_factory):
    return write_heterogeneous(tmp_path_factory.mktemp("heterogeneous"))


def assert_refused(kind, message, loader, *args, **options):
    before = tasks()
    with pytest.raises(kind, match=message):
        loader(*args, **options)
    assert tasks() <= before


@pytest.mark.parametrize(
    ("nodes", "kind", "message"),
    [
        ([0, 300], IndexError, r"input_nodes\[1\]: node 300 is not in the graph, which has 300 nodes"),
        ([-1], IndexError, r"input_nodes\[0\]: node -1 is not in the graph"),
        ([0.5], TypeError, "input_nodes: expected integers, found float64"),
        ([[0, 1, 2]], ValueError, r"input_nodes: expected one dimension, found shape \(1, 3\)"),
        (np.ones(299, dtype=bool), ValueError, r"input_nodes: expected a mask of 300 nodes, found \(299,\)"),
        (
            torch.ones((300, 1), dtype=torch.bool),
            ValueError,
            r"input_nodes: expected a mask of 300 nodes, found \(300, 1\)",
        ),
        ("test", KeyError, "no split test of node; there are train of node"),
        (("paper", [1]), ValueError, r"input_nodes: no node type 'paper'; there are \['node'\]"),
    ],
)
def test_nodes_that_are_not_there(data, nodes, kind, message):
    assert_refused(kind, message, NeighborLoader, data.dataset, [2], nodes)


@pytest.mark.parametrize(
    ("nodes", "kind", "message"),
    [
        (
            [0, 1],
            ValueError,
            r"input_nodes: expected a node type, or \(node type, ids\), with one of .*, found list",
        ),
        (None, ValueError, "input_nodes: expected a node type, .* found None"),
        (
            "venue",
            ValueError,
            r"input_nodes: expected a node type, a split that .* 'venue'; .*\['author', 'paper'\] and the splits",
        ),
        (("venue", [1]), ValueError, r"input_nodes: no node type 'venue'; there are \['author', 'paper'\]"),
        ((PAPER, [200]), IndexError, r"input_nodes\[0\]: node 200 is not in the graph, which has 200 nodes"),
        ((PAPER, np.ones(80, dtype=bool)), ValueError, r"input_nodes: expected a mask of 200 nodes, found \(80,\)"),
        ((AUTHOR, "train"), KeyError, "no split train of author; there are train of paper"),
    ],
)
def test_nodes_of_types_that_are_not_there(hetero, nodes, kind, message):
    assert_refused(kind, message, NeighborLoader, hetero.dataset, [2], nodes)


def test_splits_have_names_in_data_sets_only(data):
    graph = data.dataset.graph
    message = "input_nodes: expected node ids, found 'train'; splits have names in data sets only"
    assert_refused(TypeError, message, NeighborLoader, graph, [2], "train")
    message = r"edge_label_index: expected \(src, dst\), found 'train'; splits have names in data sets only"
    assert_refused(TypeError, message, LinkNeighborLoader, graph, [2], "train")


@pytest.mark.parametrize(
    ("links", "kind", "message"),
    [
        (([0], [300]), IndexError, r"edge_label_index\[1\]\[0\]: node 300 is not in the graph, which has 300 nodes"),
        (([-1], [0]), IndexError, r"edge_label_index\[0\]\[0\]: node -1 is not in the graph"),
        (([0, 1], [0]), ValueError, "edge_label_index: expected as many destinations as sources, found 1 for 2"),
        (([0.5], [0]), TypeError, r"edge_label_index\[0\]: expected integers, found float64"),
        (5, TypeError, r"edge_label_index: expected \(src, dst\), found int"),
        (np.zeros((3, 4), dtype=int), TypeError, r"edge_label_index: expected \(src, dst\), found ndarray"),
        (("a", "b"), ValueError, r"edge_label_index: no edge type \('a', 'b'\); there are"),
        ("test", KeyError, "no split test of node → to → node; there are"),
    ],
)
def test_edges_that_are_not_there(data, links, kind, message):
    assert_refused(kind, message, LinkNeighborLoader, data.dataset, [2], links)


@pytest.mark.parametrize(
    ("links", "kind", "message"),
    [
        (None, ValueError, r"edge_label_index: expected an edge type, or \(edge type, \(src, dst\)\), with one of"),
        (([0], [1]), ValueError, r"edge_label_index: expected \(edge type, \(src, dst\)\) with one of"),
        (torch.zeros((2, 4), dtype=torch.int64), ValueError, "edge_label_index: expected an edge type, or"),
        (
            (PAPER, "likes", PAPER),
            ValueError,
            r"edge_label_index: no edge type \('paper', 'likes', 'paper'\); there are .* expected pairs, \(\('paper', 'likes'",
        ),
        (
            ((PAPER, "likes", PAPER), "held out"),
            ValueError,
            r"edge_label_index: no edge type \('paper', 'likes', 'paper'\)",
        ),
        ((("a", "b", "c"), ([0], [1])), ValueError, r"edge_label_index: no edge type \('a', 'b', 'c'\)"),
        (
            (WRITES, ([80], [0])),
            IndexError,
            r"edge_label_index\[0\]\[0\]: node 80 is not in the graph, which has 80 nodes",
        ),
        (
            "train",
            ValueError,
            "edge_label_index: expected an edge type, a split that one edge type has, .* found 'train'",
        ),
        ((CITES, "held out"), KeyError, "no split held out of paper → cites → paper"),
    ],
)
def test_edges_of_types_that_are_not_there(hetero, links, kind, message):
    assert_refused(kind, message, LinkNeighborLoader, hetero.dataset, [2], links)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"neg_sampling": "ternary"}, ValueError, "neg_sampling: expected mode 'binary' or 'triplet', found 'ternary'"),
        ({"neg_sampling": 3}, TypeError, "neg_sampling: expected 'binary', 'triplet' or a NegativeSampling, found 3"),
        ({"neg_sampling": {"amount": 2}}, ValueError, "neg_sampling: expected mode 'binary' or 'triplet', found None"),
        (
            {"neg_sampling": {"mode": "binary", "count": 2}},
            ValueError,
            r"neg_sampling: expected some of .*, found 'count'",
        ),
        ({"neg_sampling": ("triplet", 1.5)}, ValueError, "num_negatives: .* a whole one for triplets, found 1.5"),
        ({"neg_sampling": ("binary", -1)}, ValueError, "num_negatives: expected a number above 0 .*, found -1"),
        (
            {"neg_sampling": {"mode": "binary", "src_weight": torch.ones(3)}},
            ValueError,
            r"negatives_by\[0\]: expected 300 weights, one for each source of .*graph.gl, found 3",
        ),
        ({"edge_label": [1, 2]}, ValueError, r"edge_label: expected 3, one per edge, found shape \(2,\)"),
        ({"edge_label": 1}, ValueError, r"edge_label: expected 3, one per edge, found shape \(\)"),
        (
            {"edge_label": [1, 2, 3], "neg_sampling": "triplet"},
            ValueError,
            "edge_label: expected none with triplets; src_index",
        ),
        (
            {"edge_label_time": [1, 2, 3]},
            ValueError,
            "edge_label_time, time_attr: expected both or none of them, found one",
        ),
        ({"time_attr": "time"}, ValueError, "edge_label_time, time_attr: expected both or none of them, found one"),
        (
            {"edge_label_time": [1, 2], "time_attr": "time"},
            ValueError,
            "edge_label_time: expected 3 times, one per seed, found 2",
        ),
        ({"input_id": [1]}, ValueError, "input_id: expected 3, one per seed, found 1"),
    ],
)
def test_options_of_links(data, options, kind, message):
    assert_refused(kind, message, LinkNeighborLoader, data.dataset, [2], ([0, 1, 2], [3, 4, 5]), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input_time": [1, 2, 3]}, "input_time: expected time_attr with it"),
        ({"time_window": 3}, "time_window: expected time_attr with it: a window is one of times"),
        ({"input_time": [1, 2], "time_attr": "time"}, "input_time: expected 3 times, one per seed, found 2"),
        (
            {"time_attr": "year"},
            r"time_attr: no node attribute 'year', and the graph has no edge times \(.*graph.gl\); write it",
        ),
        ({"time_attr": "x"}, r"time_attr: expected one integer time per node in .*x.gd, found float32 \(300, 6\)"),
        ({"input_id": [1]}, "input_id: expected 3, one per seed, found 1"),
        ({"temporal_strategy": "first"}, "temporal_strategy: expected 'uniform' or 'last', found 'first'"),
        ({"subgraph_type": "whole"}, r"subgraph_type: expected one of .*, found 'whole'"),
        ({"method": "walk"}, "method: expected 'neighbor' or 'labor', found 'walk'"),
        ({"labels": "some"}, r"labels: expected one of \('all', 'seeds'\), found 'some'"),
        ({"sample_direction": "up"}, r"sample_direction: expected one of \('forward', 'backward'\), found 'up'"),
        ({"form": "dgl"}, r"form: expected one of \(None, 'pyg', 'torch'\), found 'dgl'"),
        ({"batch_size": 0}, "batch_size: expected at least 1, found 0"),
        ({"batch_size": [1, 1]}, "batch_size: expected sizes that sum up to 3, found 2"),
        ({"sampler": [0], "shuffle": True}, "shuffle: expected False with sampler"),
        (
            {"batch_sampler": [[0]], "batch_size": 2},
            "batch_sampler: expected neither batch_size nor shuffle, sampler or drop_last",
        ),
        ({"batch_sampler": [[0]], "shuffle": True}, "batch_sampler: expected neither"),
        ({"batch_sampler": [[0]], "sampler": [0]}, "batch_sampler: expected neither"),
        ({"batch_sampler": [[0]], "drop_last": True}, "batch_sampler: expected neither"),
        ({"memory": "much"}, "memory: expected a size such as '2GB'"),
        ({"rank": 0}, "world_size: expected one with rank, found None; give both or neither"),
        ({"world_size": 2}, "rank: expected one with world_size, found None; give both or neither"),
        (
            {"rank": 0, "world_size": 2},
            "seed: expected one with world_size=2, found None: .* or initialise torch.distributed",
        ),
        ({"rank": 2, "world_size": 2, "seed": 1}, "rank: expected 0 to 1, below world_size, found 2"),
        ({"device": "abacus"}, "device: expected one that torch knows, such as 'cuda', found 'abacus'"),
        ({"device": 1.5}, "device: expected one that torch knows, such as 'cuda', found 1.5"),
        (
            {"device": "cuda:99"},
            r"device: expected one of \d+ CUDA devices that torch .* sees, found 'cuda:99'; leave device out",
        ),
        ({"device": "xpu"}, "device: expected one that torch .* can use, found 'xpu'"),
        ({"gpu_cache": "1GB"}, "gpu_cache: expected device with it, such as device='cuda', found none"),
        ({"gpu_cache": "all"}, "gpu_cache: expected 'auto', a size such as '8GB', or None, found 'all'"),
        ({"gpu_cache": -1}, "gpu_cache: expected a number of bytes, found -1"),
        ({"gpu_cache": "1GB", "device": "cpu"}, "gpu_cache: expected a CUDA device with it, found device='cpu'"),
        (
            {"custom_cls": dict, "form": "torch"},
            "custom_cls, transform_sampler_output: expected PyG with them, found form='torch'",
        ),
        ({"transform_sampler_output": print, "form": "torch"}, "custom_cls, transform_sampler_output: expected PyG"),
        (
            {"neighbor_sampler": 5},
            "neighbor_sampler: NeighborLoader samples by itself; give a sampler to torch_geometric.loader",
        ),
    ],
)
def test_options_of_nodes(data, options, message):
    assert_refused(ValueError, message, NeighborLoader, data.dataset, [2], [0, 1, 2], **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"transform": 5}, "transform: expected a function, found 5"),
        ({"transform_sampler_output": "f"}, "transform_sampler_output: expected a function, found 'f'"),
        ({"batchsize": 5}, "NeighborLoader: no option 'batchsize'; did you mean 'batch_size'?"),
        ({"colour": "red"}, "NeighborLoader: no option 'colour'$"),
        ({"seed": 1.5}, "seed: expected an integer, found 1.5"),
        ({"rank": "a", "world_size": 2, "seed": 1}, "rank: expected an integer, found 'a'"),
        ({"features": 5}, "features: expected names of the data set's attributes, found 5"),
    ],
)
def test_options_of_the_wrong_type(data, options, message):
    assert_refused(TypeError, message, NeighborLoader, data.dataset, [2], [0], **options)


def test_attributes_that_are_not_there(data):
    message = r"features: no attribute 'z'; there are \['time', 'x', 'y'\]"
    assert_refused(KeyError, message, NeighborLoader, data.dataset, [2], features=["z"])
    message = r"dtype: no attribute 'z'; there are \['edge_attr', 'time', 'x', 'y'\]"
    assert_refused(KeyError, message, NeighborLoader, data.dataset, [2], dtype={"z": "float32"})


@pytest.mark.parametrize(
    ("fanouts", "kind", "message"),
    [
        (5, TypeError, r"num_neighbors: expected a number for each hop, such as \[10, 5\], found 5"),
        ("5", TypeError, "num_neighbors: expected a number for each hop, .* found '5'"),
        ({CITES: 5}, TypeError, "num_neighbors: expected a number for each hop, .* found 5"),
        ({CITES: [1]}, ValueError, r"num_neighbors: expected numbers for every edge type, found none for \('author'"),
        (
            {CITES: [1], WRITES: [1], REVERSE: [1, 1]},
            ValueError,
            r"num_neighbors: expected 1 hops for every edge type, as for \('author', .*, found 2 for \('paper', 'rev",
        ),
        (
            {"paper__likes__paper": [1]},
            ValueError,
            r"num_neighbors: no edge type \('paper', 'likes', 'paper'\); there are",
        ),
        ([0.5], TypeError, "num_neighbors: expected an integer, found 0.5"),
        ([1, -2], ValueError, "num_neighbors: expected -1 for all neighbours, or a number, found -2"),
    ],
)
def test_fanouts_that_do_not_fit(hetero, fanouts, kind, message):
    assert_refused(kind, message, NeighborLoader, hetero.dataset, fanouts, PAPER)


def test_fanouts_by_type_need_types(data):
    message = "num_neighbors: expected a list for a homogeneous graph, found a dict"
    assert_refused(TypeError, message, NeighborLoader, data.dataset, {("node", "to", "node"): [1]})


def test_an_edge_type_by_its_ends_must_be_the_only_one(tiny_gl):
    graphs = {("a", "r", "a"): gz.Graph(tiny_gl), ("a", "s", "a"): gz.Graph(tiny_gl)}
    message = r"num_neighbors: no edge type \('a', 'a'\); there are \[\('a', 'r', 'a'\), \('a', 's', 'a'\)\]"
    assert_refused(ValueError, message, NeighborLoader, graphs, {("a", "a"): [1]}, "a")


def test_weights_that_are_not_there(hetero, tiny):
    message = r"weight_attr: 'w' stands for the weights stored with the edges, and .*\.gl has none; write .* weight="
    for loader, graph, inputs in (
        (NeighborLoader, tiny, [0]),
        (LinkNeighborLoader, hetero.dataset, (WRITES, ([0], [1]))),
    ):
        assert_refused(ValueError, message, loader, graph, [2], inputs, weight_attr="w")


def test_times_that_are_not_there(hetero):
    message = r"time_attr: no node attribute 'year', and the graph of \('author', 'writes', 'paper'\) has no edge times"
    assert_refused(ValueError, message, NeighborLoader, hetero.dataset, [2], PAPER, time_attr="year")
    message = (
        "input_time: expected a time for each seed, found none, and nodes of type 'author' have no attribute 'time'"
    )
    assert_refused(ValueError, message, NeighborLoader, hetero.dataset, [2], AUTHOR, time_attr="time")


def test_links_of_data_without_edges_must_be_given(tmp_path):
    with gz.DatasetWriter(tmp_path / "none") as writer:
        writer.add_nodes(num_nodes=3)
    message = r"edge_label_index: no edge type \('node', 'to', 'node'\); there are \[\]; expected pairs, \(src, dst\)"
    assert_refused(ValueError, message, LinkNeighborLoader, gz.open(tmp_path / "none"), [2])
    message = "time_attr: no node attribute 'time', and there are no edges; add some that have times, or give the nodes"
    assert_refused(ValueError, message, NeighborLoader, gz.open(tmp_path / "none"), [2], time_attr="time")


@pytest.mark.parametrize("option", ["exclude_positives", "exclude_seed_edges"])
def test_edges_of_a_type_without_edges_cannot_be_excluded(hetero, option):
    links = (AUTHOR, "likes", PAPER), ([0], [1])
    message = (
        rf"{option}: no edges of \('author', 'likes', 'paper'\) to exclude or count; there are \[\('author', 'writes'"
    )
    assert_refused(ValueError, message, LinkNeighborLoader, hetero.dataset, [2], links, **{option: True})


def named_data_set(folder, **known):
    """Edges of ``r`` with weights and times of known names and attributes ``w2`` and ``t2``; edges of ``s`` with none."""
    r, s = ("a", "r", "a"), ("a", "s", "a")
    with gz.DatasetWriter(folder) as writer:
        writer.add_nodes(type="a", num_nodes=3)
        attributes = {"w2": np.ones(2), "t2": np.arange(2)}
        writer.add_edges([1, 2], [0, 0], type=r, weight=[1.0, 0.0], time=[5, 6], attributes=attributes)
        writer.add_edges([1, 2], [0, 0], type=s)
    opened = gz.open(folder)
    opened.edges = {r: dataclasses.replace(opened.edges[r], **known), s: opened.edges[s]}
    return opened


def test_weights_of_another_name_are_not_drawn_by(tmp_path):
    data = named_data_set(tmp_path / "data", weight="edge_weight")
    message = (
        r"weight_attr: edges of \('a', 'r', 'a'\) have an attribute 'w2', but of weights their graph stores those of "
        r"'edge_weight' \(.*\); convert the data with weight='w2'"
    )
    assert_refused(ValueError, message, NeighborLoader, data, [2], "a", weight_attr="w2")
    message = "weight_attr: 'w3' stands for the weights stored with the edges, and .* has those of 'edge_weight'; write"
    assert_refused(ValueError, message, NeighborLoader, data, [2], "a", weight_attr="w3")


def test_times_of_another_name_do_not_count(tmp_path):
    data = named_data_set(tmp_path / "data", time="time")
    seeds = {"edge_label_index": (("a", "r", "a"), ([1], [0])), "edge_label_time": [5]}
    message = (
        r"time_attr: edges of \('a', 'r', 'a'\) have an attribute 't2', but of times their graph stores those of 'time' "
        r"\(.*\); convert the data with time='t2'"
    )
    assert_refused(ValueError, message, LinkNeighborLoader, data, [2], **seeds, time_attr="t2")
    message = r"time_attr: no node attribute 't3', and the graph of \('a', 'r', 'a'\) has edge times of 'time' \("
    assert_refused(ValueError, message, LinkNeighborLoader, data, [2], **seeds, time_attr="t3")


def test_an_attribute_that_is_not_stored_as_weights_is_not_passed_over(tmp_path):
    data = named_data_set(tmp_path / "data")
    s = ("a", "s", "a")
    data.edges = {**data.edges, s: dataclasses.replace(data.edges[s], in_memory={"w2": torch.ones(2)})}
    message = r"weight_attr: edges of \('a', 's', 'a'\) have an attribute 'w2', but of weights their graph stores none"
    assert_refused(ValueError, message, NeighborLoader, data, [2], "a", weight_attr="w2")


def test_labels_that_are_not_there(tiny, tiny_gd):
    message = "labels: expected an attribute 'y', or a data set that names its labels, found none"
    assert_refused(ValueError, message, NeighborLoader, (tiny, gz.FeatureStore(tiny_gd)), [2], labels="seeds")


def test_features_shorter_than_the_graph(tiny, tiny_gd):
    gz.write_features("short.gd", np.ones((3, 2), dtype=np.float32))
    short, whole = gz.FeatureStore("short.gd"), gz.FeatureStore(tiny_gd)
    message = "short.gd: expected a row for each of 4 nodes, found 3 rows"
    assert_refused(ValueError, message, NeighborLoader, (tiny, {"x": whole, "z": short}), [2])
    message = "short.gd: expected a row for each of 4 edges, found 3 rows"
    assert_refused(ValueError, message, NeighborLoader, (tiny, whole), [2], edge_features=short)


def test_names_of_nodes_and_edges_share_a_batch(tiny, tiny_gd):
    store = gz.FeatureStore(tiny_gd)
    message = "features, edge_features: expected different names, as a batch has one of each, found 'x' twice"
    assert_refused(ValueError, message, NeighborLoader, (tiny, store), [2], edge_features={"x": store})


@pytest.mark.parametrize("data", [5, None, "graph.gl", {}, [1, 2], {"a": 1}])
def test_data_of_another_kind(data):
    message = (
        r"data: expected a data set \(graphzero.open\), a Graph, or \(Graph, FeatureStore\), found .*; graphzero.conv"
    )
    assert_refused(TypeError, message, NeighborLoader, data, [2])


def test_stores_in_two_places(tiny, tiny_gd):
    store = gz.FeatureStore(tiny_gd)
    message = "data, features: expected stores in one of them, found them in both"
    assert_refused(ValueError, message, NeighborLoader, (tiny, store), [2], features=store)


@pytest.mark.parametrize("kind", [NeighborLoader, LinkNeighborLoader])
def test_data_that_was_closed(tmp_path, kind):
    data = write_homogeneous(tmp_path)
    loader = loader_of(kind, data)
    assert len(list(loader)) == 3
    data.dataset.close()
    message = r"data: .*graph.gl: this Graph is closed; open the data again and make a new loader of it"
    with pytest.raises(ValueError, match=message):
        iter(loader)


def test_features_that_were_closed(tiny, tiny_gd):
    store = gz.FeatureStore(tiny_gd)
    loader = NeighborLoader((tiny, store), [2])
    store.close()
    with pytest.raises(ValueError, match="data: .*tiny.gd: this FeatureStore is closed"):
        iter(loader)


def test_a_transform_of_samples_returns_samples(data):
    loader = loader_of(NeighborLoader, data, transform_sampler_output=lambda out: None)
    message = "transform_sampler_output: expected it to return what it was given, a SamplerOutput, found NoneType"
    with pytest.raises(TypeError, match=message):
        next(iter(loader))


def test_places_that_are_not_there(data):
    for options, kind, message in (
        ({"sampler": [0, 2]}, IndexError, r"^sampler\[1\]: place 2 is not among the seeds, of which there are 2"),
        ({"sampler": [0.5]}, TypeError, "^sampler: expected an integer, found 0.5"),
        ({"batch_sampler": [[0], [1, 2]]}, IndexError, "^batch_sampler: place 2 is not among the seeds"),
        ({"batch_sampler": [[0], []]}, ValueError, r"^batch_sampler\[1\]: expected at least one place, found none"),
    ):
        loader = NeighborLoader(data.dataset, [2], [5, 6], **options)
        with pytest.raises(kind, match=message):
            next(iter(loader))


def test_memory_that_is_too_little(data):
    loader = NeighborLoader(data.dataset, [2], [5, 6], memory=1000)
    before = tasks()
    with pytest.raises(ValueError, match=r"memory: expected at least \d+"):
        next(iter(loader))
    assert tasks() <= before


def test_names_that_loaders_do_not_have():
    import graphzero.loaders

    with pytest.raises(AttributeError, match="module 'graphzero.loaders' has no attribute 'GraphLoader'"):
        _ = graphzero.loaders.GraphLoader
    assert set(dir(graphzero.loaders)) >= {"LinkNeighborLoader", "LoaderOptions", "NeighborLoader", "TorchBatch"}

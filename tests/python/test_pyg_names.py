"""A data set answers what scripts ask of PyG's Data, HeteroData and data sets."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

import data_sets
import graphzero as gz

data_sets.pyg()
from graphzero.loaders import NeighborLoader, PyGFeatureStore  # noqa: E402

CITES = ("paper", "cites", "paper")
WRITES = ("author", "writes", "paper")


def homogeneous():
    pyg = data_sets.pyg()
    data = pyg.Data(
        x=torch.arange(15.0).reshape(5, 3),
        y=torch.tensor([[2.0], [0.5], [1.0], [0.0], [3.0]]),
        edge_index=torch.tensor([[0, 0, 1, 3, 4, 2], [1, 2, 2, 0, 3, 2]]),
        edge_attr=torch.arange(12.0).reshape(6, 2),
        edge_weight=torch.tensor([0.5, -1.0, 2.0, 0.0, 1.0, 3.0]),
    )
    for name, ids in (("train", [0, 2]), ("val", [1]), ("test", [3, 4])):
        data[f"{name}_mask"] = torch.zeros(5, dtype=torch.bool).index_fill(0, torch.tensor(ids), True)
    data.note = "hello"
    data.scale = torch.tensor(2.5)
    data.edge_label_index = torch.tensor([[0, 1], [3, 4]])
    return data


def heterogeneous():
    data = data_sets.pyg().HeteroData()
    data["paper"].x = torch.arange(10.0).reshape(5, 2)
    data["paper"].y = torch.tensor([0, 1, 2, 1, 0])
    data["paper"].train_mask = torch.tensor([True, False, True, False, False])
    data["author"].num_nodes = 3
    data["author"].y = torch.tensor([1, 0])  # of some of them
    data["author"].y_index = torch.tensor([2, 0])
    data[CITES].edge_index = torch.tensor([[0, 1, 4], [1, 2, 0]])
    data[CITES].edge_weight = torch.tensor([-1.0, 2.0, 3.0])
    data[WRITES].edge_index = torch.tensor([[0, 1, 2, 2], [0, 4, 1, 3]])
    data.source = "made"
    return data


def mounted(data, **options):
    gz.convert_dataset(data, "data", overwrite=True, **options)
    return gz.open("data")


def same(found, expected):
    if not isinstance(expected, torch.Tensor):
        return found == expected
    return found.dtype == expected.dtype and torch.equal(found, expected)


def test_a_homogeneous_data_set_has_all_that_the_data_had():
    data = homogeneous()
    ds = mounted(data)
    assert not ds.is_hetero
    assert set(ds.keys()) == set(data.keys())
    for name in list(data.keys()):
        assert same(getattr(ds, name), data[name]), name
        assert same(ds[name], data[name]), name
        assert name in ds
    assert (ds.num_nodes, ds.num_edges, ds.num_features, ds.num_node_features, ds.num_edge_features) == (5, 6, 3, 3, 2)


def test_several_types_have_all_that_the_data_had():
    data = heterogeneous()
    ds = mounted(data)
    assert ds.metadata() == data.metadata()
    for kind in (*data.node_types, *data.edge_types):
        assert set(ds[kind].keys()) == set(data[kind].keys()) - {"num_nodes"}
        for name in ds[kind]:
            assert same(ds[kind][name], data[kind][name]), name
    assert set(ds.x_dict) == {"paper"}
    assert set(ds.edge_index_dict) == set(data.edge_index_dict)
    assert all(same(ds.edge_index_dict[kind], ends) for kind, ends in data.edge_index_dict.items())
    assert ds.num_nodes_dict == data.num_nodes_dict
    assert ds["paper", "paper"].num_edges == 3
    assert ds["author"].num_nodes == 3
    assert ds.num_features == {"paper": 2, "author": 0}
    assert ds.source == "made"
    assert ds.num_classes == 3


def test_one_type_of_each_stays_heterogeneous():
    data = data_sets.pyg().HeteroData()
    data["v"].x = torch.ones(3, 1)
    data["v", "v"].edge_index = torch.tensor([[0, 1], [1, 2]])
    ds = mounted(data)
    assert ds.is_hetero
    assert ds["v", "v"].edge_index.tolist() == [[0, 1], [1, 2]]
    with pytest.raises(
        AttributeError, match=r"data: has several types; use data\[type\].x or data.x_dict, with one of"
    ):
        ds.x  # noqa: B018


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (torch.tensor([0, 2, 1]), 3),
        (torch.tensor([[0], [2], [1]]), 3),
        (torch.tensor([0, 2, 1], dtype=torch.uint8), 3),
        (torch.tensor([0, 2, 1], dtype=torch.int32), 3),
        (torch.tensor([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]), 2),
        (torch.tensor([[0, 1, 0], [1, 1, 1], [0, 0, 0]], dtype=torch.bool), 3),
        (torch.tensor([0.0, 2.0, float("nan")]), None),
        (torch.tensor([0.0, 2.0, 1.0], dtype=torch.bfloat16), None),
        (torch.tensor([0.5, 2.0, 1.0], dtype=torch.float64), None),
        (torch.tensor([[0.5], [2.0], [1.0]], dtype=torch.float16), None),
        (torch.tensor([-1, -1, -1]), 0),
    ],
    ids=str,
)
def test_labels_keep_shape_and_type(y, classes):
    ds = mounted(data_sets.pyg().Data(x=torch.ones(3, 1), y=y, edge_index=torch.tensor([[0], [1]])))
    assert ds.y.dtype == y.dtype
    assert ds.y.shape == y.shape
    assert ds.nodes["node"].num_classes == classes
    assert torch.equal(torch.nan_to_num(ds.y.float()), torch.nan_to_num(y.float()))


def test_weights_drive_draws_under_their_name():
    data = homogeneous()
    assert mounted(data).edges["node", "to", "node"].weight is None  # one is negative
    data.edge_weight = data.edge_weight.abs()
    data.when = torch.arange(6)
    ds = mounted(data, time="when")
    edge = ds.edges["node", "to", "node"]
    assert (edge.weight, edge.time, edge.graph.has_weights, edge.graph.has_times) == ("edge_weight", "when", True, True)
    assert torch.equal(ds.when, data.when)
    assert not mounted(data, weight=False).graph.has_weights
    data.other_weight = data.edge_weight * 2
    ds = mounted(data, weight="other_weight")
    assert sorted(ds.graph.index("out").weights.tolist()) == sorted(data.other_weight.tolist())
    with pytest.raises(
        ValueError, match=r"weight: expected an attribute of edges, one of \['edge_attr'.*found 'nothing'"
    ):
        mounted(data, weight="nothing")
    with pytest.raises(ValueError, match=r"weight"):
        mounted(homogeneous(), weight="edge_weight")  # asked for, and negative


def test_weights_of_one_type_of_several():
    data = heterogeneous()
    data[CITES].edge_weight = data[CITES].edge_weight.abs()
    ds = mounted(data)
    assert (ds.edges[CITES].weight, ds.edges[WRITES].weight) == ("edge_weight", None)
    assert not ds.edges[WRITES].graph.has_weights


def test_masks_come_from_splits_where_there_are_no_masks(tiny_dataset):
    ds = gz.open(tiny_dataset)
    assert ds.train_mask.tolist() == [True, False, True, False]
    assert "train_mask" in ds


def test_splits_have_the_names_people_use():
    ds = mounted(homogeneous())
    for name in ("val", "valid", "validation", "dev"):
        assert ds.split(name).tolist() == [1]
        assert ds.has_split(name)
    assert {name: ids.tolist() for name, ids in ds.get_idx_split().items()} == {
        "train": [0, 2],
        "valid": [1],
        "test": [3, 4],
    }
    assert mounted(heterogeneous()).get_idx_split()["train"]["paper"].tolist() == [0, 2]
    with gz.DatasetWriter("own") as w:
        w.add_nodes(num_nodes=3)
        w.add_split("val", [2])
    assert gz.open("own").split("valid").tolist() == [2]
    assert gz.open("own").val_mask.tolist() == [False, False, True]


def test_ids_of_a_split_index_tensors_without_a_warning():
    ds = mounted(homogeneous())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.arange(5)[ds.split("test")].tolist() == [3, 4]
        assert torch.arange(5)[torch.from_numpy(ds.split("test"))].tolist() == [3, 4]
    ds.split("test")[0] = 0  # private to this process
    assert gz.open("data").split("test").tolist() == [3, 4]
    with pytest.raises(ValueError, match="read-only"):
        ds.split("train", writable=False)[0] = 1


def test_a_data_set_stands_for_its_only_graph():
    ds = mounted(homogeneous())
    assert ds[0] is ds
    assert list(ds) == [ds]
    with pytest.raises(IndexError, match=r"data: holds one graph, data\[0\]; found 1"):
        ds[1]
    assert ds.to("cpu", "x", "y") is ds
    assert ds.device is None


def test_an_undirected_graph_has_edges_both_ways_with_their_attributes():
    gz.convert_dataset(homogeneous(), "data", directed=False)
    ds = gz.open("data")
    edges = list(zip(*ds.edge_index.tolist(), ds.edge_attr[:, 0].tolist(), strict=True))
    src, dst = homogeneous().edge_index.tolist()
    expected = [(u, v, 2.0 * i) for i, (u, v) in enumerate(zip(src, dst, strict=True))]
    assert sorted(edges) == sorted([*expected, *((v, u, w) for u, v, w in expected)])


@pytest.mark.parametrize("index", ["both", "out", "in"])
def test_edges_of_an_undirected_graph_come_in_the_order_of_pyg(index):
    from torch_geometric.utils import to_undirected

    edge_index = torch.tensor([[3, 0, 2, 1, 4], [0, 2, 1, 4, 4]])
    weight = torch.arange(5.0)
    data = data_sets.pyg().Data(num_nodes=5, edge_index=edge_index, edge_attr=weight)
    gz.convert_dataset(data, "data", directed=False, index=index)
    expected, weights = to_undirected(edge_index[:, :4], weight[:4])  # not the self-loop, which we store twice
    ds = gz.open("data")
    assert torch.equal(ds.edge_index, torch.cat([expected, torch.tensor([[4, 4], [4, 4]])], dim=1))
    assert torch.equal(ds.edge_attr, torch.cat([weights, weight[4:], weight[4:]]))


def test_edges_that_a_conversion_dropped_have_no_attributes_either():
    gz.convert_dataset(homogeneous(), "data", self_loops="drop")
    ds = gz.open("data")
    assert ds.edge_index.tolist() == [[0, 0, 1, 3, 4], [1, 2, 2, 0, 3]]
    assert ds.edge_attr[:, 0].tolist() == [0, 2, 4, 6, 8]


def test_rows_that_are_stored_otherwise_are_gathered_if_there_is_memory(monkeypatch):
    x = torch.arange(15.0).reshape(5, 3)
    gz.write_graph("g.gl", [0, 0, 1], [1, 2, 2], num_nodes=5)
    gz.write_features("hot.gd", x, order="hot", graph=gz.Graph("g.gl"))
    gz.convert_features(x.numpy(), "int8.gd", dtype="int8-quantised")
    for file in ("hot.gd", "int8.gd"):
        with gz.DatasetWriter("data", overwrite=True) as w:
            w.add_nodes({"x": gz.FeatureStore(file)})
            w.add_edges(graph="g.gl")
        assert torch.allclose(gz.open("data").x, x, atol=0.1)
        with (
            monkeypatch.context() as patch,
            pytest.raises(
                MemoryError, match=r"x: a tensor of .*x.gd takes 60 B, more than half .*; use a loader, or fe"
            ),
        ):
            patch.setattr("graphzero._dataset.named_tensors.pipeline_budget", lambda: 59)
            gz.open("data").x  # noqa: B018


def test_edges_larger_than_memory_say_what_to_use(monkeypatch):
    ds = mounted(homogeneous())
    monkeypatch.setattr("graphzero._dataset.all_edges.pipeline_budget", lambda: 95)
    with pytest.raises(
        MemoryError, match=r"edge_index: listing all 6 edges of .* takes 96 B, .*; loaders read what they"
    ):
        ds.edge_index  # noqa: B018


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("adj_t", "use edge_index, or give a loader transform=T.ToSparseTensor"),
        ("to_homogeneous", "do that with PyG before graphzero.convert_dataset"),
        ("sort", "do that with PyG before graphzero.convert_dataset"),
        ("cuda", r"use .to\('cuda'\)"),
        ("position", "data has no 'position', only x, y, "),
    ],
)
def test_what_there_is_not_is_named_with_what_there_is(name, advice):
    ds = mounted(homogeneous())
    assert not hasattr(ds, name)
    with pytest.raises(AttributeError, match=advice):
        getattr(ds, name)


def test_what_is_assigned_stays_in_memory():
    ds = mounted(homogeneous())
    ds.n_id = torch.arange(5)
    ds.y = ds.y.squeeze(1)
    ds["note"] = "other"
    ds.edge_attr = np.zeros((6, 1), dtype=np.float32)
    ds.num_nodes = 5
    assert (ds.y.shape, ds.note, ds.num_edge_features) == ((5,), "other", 1)
    assert list(ds.nodes["node"].in_memory) == ["n_id", "y"]
    assert ds.nodes["node"].label == "y"
    with pytest.raises(ValueError, match=r"num_nodes: expected 5, as many as 'node' has in the files, found 6"):
        ds.num_nodes = 6
    with pytest.raises(AttributeError, match=r"Dataset: 'num_edges' comes from the files; it cannot be assigned"):
        ds.num_edges = 3
    again = gz.open("data")
    assert (again.y.shape, again.note, again.num_edge_features) == ((5, 1), "hello", 2)
    assert not hasattr(again, "n_id")


def test_weights_that_are_assigned_are_not_those_of_the_graph():
    data = homogeneous()
    data.edge_weight = data.edge_weight.abs()
    ds = mounted(data)
    ds.edge_weight = torch.ones(6)
    assert ds.edges["node", "to", "node"].weight == "edge_weight of the file"


def test_what_is_deleted_is_gone_from_this_object_alone():
    ds = mounted(homogeneous())
    other = copy.copy(ds)
    del other.x, other.y, other["note"]
    assert not {"x", "y", "note"} & set(other.keys())
    assert {"x", "y", "note"} <= set(ds.keys())
    assert other.nodes["node"].label is None
    with pytest.raises(AttributeError, match=r"has no 'x', only train_mask"):
        del other.x
    hetero = mounted(heterogeneous())
    del hetero["paper"].x, hetero[WRITES]
    assert hetero.edge_types == [CITES]
    assert "x" not in hetero["paper"]


def test_edges_that_are_assigned_are_sampled():
    ds = mounted(homogeneous())
    ends = torch.tensor([[0, 1], [1, 2]])
    ds.edge_index, ds.edge_attr = ends, torch.ones(2, 3)
    with pytest.raises(ValueError, match=r"edge_weight of .*: expected 2 rows, found 6; assign it anew, or delete it"):
        NeighborLoader(ds, [-1])
    del ds.edge_weight
    assert ds.edge_index.tolist() == [[0, 1], [1, 2]]
    assert next(iter(NeighborLoader(ds, [-1], input_nodes=[2]))).edge_attr.shape == (1, 3)
    assert gz.sample_neighbors(ds, [2], [-1, -1]).node.tolist() == [2, 1, 0]
    assert pickle.loads(pickle.dumps(ds)).edge_index.tolist() == [[0, 1], [1, 2]]


def test_edits_in_place_are_in_batches():
    ds = mounted(homogeneous())
    ds.x[0] = 7
    ds.y.mul_(2)
    ds.edge_attr[ds.edge_attr > 5] = 0
    (batch,) = NeighborLoader(ds, [-1], batch_size=5)
    expected = homogeneous()
    expected.x[0] = 7
    expected.edge_attr[expected.edge_attr > 5] = 0
    assert torch.equal(batch.x, expected.x[batch.n_id])
    assert torch.equal(batch.y, expected.y[batch.n_id] * 2)
    assert torch.equal(batch.edge_attr, expected.edge_attr[batch.e_id])
    assert torch.equal(gz.open("data").x, homogeneous().x)
    again = pickle.loads(pickle.dumps(ds))
    assert torch.equal(again.x, expected.x)
    loader = NeighborLoader(ds, [-1], batch_size=5)
    ds.x[1] = 8  # between two epochs
    assert next(iter(loader)).x[1].tolist() == [8, 8, 8]


def test_a_mask_that_is_assigned_is_the_split():
    ds = mounted(homogeneous())
    ds.train_mask = torch.arange(5) >= 3
    assert ds.split("train").tolist() == ds.get_idx_split()["train"].tolist() == [3, 4]
    (batch,) = NeighborLoader(ds, [0], input_nodes="train", batch_size=5)
    assert batch.n_id.tolist() == [3, 4]
    ds.val_mask[0] = True  # in place
    assert ds.split("valid").tolist() == [0, 1]
    del ds.test_mask
    assert set(ds.split_names) == {"train", "valid"}
    assert "test_mask" not in ds
    again = pickle.loads(pickle.dumps(ds))
    assert {name: again.split(name).tolist() for name in again.split_names} == {"train": [3, 4], "valid": [0, 1]}
    ds.train_mask = torch.ones(5, 2, dtype=torch.bool)
    with pytest.raises(KeyError, match="no split train of node"):
        ds.split("train")


def test_names_of_methods_are_reached_by_index():
    data = homogeneous()
    data.labels = torch.arange(5)
    data.path = "somewhere"
    ds = mounted(data)
    assert ds["labels"].tolist() == [0, 1, 2, 3, 4]
    assert ds["path"] == "somewhere"
    ds["labels"] = torch.zeros(5)
    assert ds["labels"].tolist() == [0] * 5
    assert callable(ds.labels)
    (batch,) = NeighborLoader(ds, [0], batch_size=5)
    assert batch.labels.tolist() == [0] * 5


def test_what_data_of_pyg_has_as_none_is_none():
    ds = mounted(data_sets.pyg().Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0], [1]])))
    assert ds.edge_attr is None
    assert ds.edge_weight is None
    assert ds.y is None
    with gz.DatasetWriter("weighted") as w:
        w.add_nodes(num_nodes=2)
        w.add_edges([0], [1], weight=[0.5])
    with pytest.raises(AttributeError, match="weighted has no 'edge_weight', only edge_index"):
        gz.open("weighted").edge_weight  # noqa: B018


def test_numbers_are_those_of_pyg():
    pyg = data_sets.pyg()
    ends = torch.tensor([[0], [1]])
    assert mounted(pyg.Data(x=torch.ones(3, 2, 7), edge_index=ends)).num_features == 7
    for y, classes in (([0.0, 5.0, 5.0], 2), ([1.0, 1.0, 1.0], 1), ([0, 2, 2], 3)):
        assert mounted(pyg.Data(x=torch.ones(3, 1), y=torch.tensor(y), edge_index=ends)).num_classes == classes
    ds = mounted(heterogeneous())
    assert {"x", "edge_index", "y_index"} <= set(ds.keys())
    assert "x" in ds
    assert len(ds) == 1
    assert set(ds.collect("x")) == {"paper"}
    assert dict(ds["author"].items())["y_index"].tolist() == [2, 0]


def test_graphs_say_what_they_are():
    pyg = data_sets.pyg()
    both_ways = torch.tensor([[0, 1, 1], [1, 0, 1]])
    ds = mounted(pyg.Data(num_nodes=3, edge_index=both_ways))
    assert (ds.is_undirected(), ds.has_self_loops(), ds.has_isolated_nodes()) == (True, True, True)
    ds = mounted(pyg.Data(num_nodes=2, edge_index=both_ways[:, :1]))
    assert (ds.is_undirected(), ds.has_self_loops(), ds.has_isolated_nodes()) == (False, False, False)
    assert ds.is_directed()
    assert mounted(pyg.Data(num_nodes=2, edge_index=both_ways[:, :1]), directed=False).is_undirected()


def test_lists_with_an_entry_per_node():
    data = homogeneous()
    data.y = [0, 1, 0, 1, 0]
    data.names = ["a", "b", "c", "d", "e"]
    with pytest.warns(UserWarning, match=r"names of node: a list with an entry per node that are not numbers"):
        ds = mounted(data)
    (batch,) = NeighborLoader(ds, [-1], input_nodes=[3])
    assert batch.y.tolist() == [data.y[node] for node in batch.n_id.tolist()]
    assert "names" not in ds


def test_tensors_that_count_along_their_last_dimension_are_named():
    data = homogeneous()
    data.tree_index = torch.zeros(2, 6, dtype=torch.int64)
    with pytest.warns(UserWarning, match=r"tree_index of .*: PyG's loaders take the rows of its last dimension"):
        assert "tree_index" not in mounted(data)


def test_what_was_assigned_is_named_where_only_files_count():
    ds = mounted(homogeneous())
    ds.x = ds.x * 2
    with pytest.raises(KeyError, match="node type 'node': 'x' was assigned, and is in memory, not in a file"):
        ds.features("x")
    with pytest.raises(ValueError, match="x of 'node' was assigned, and is in memory: expected attributes of files"):
        gz.Pipeline(ds, [0], [1])
    with pytest.raises(ValueError, match="data: x was assigned, and is in memory: expected attributes of files"):
        PyGFeatureStore(ds)
    assert gz.Pipeline(ds, [0], [1], features="y")


@pytest.mark.filterwarnings("ignore:There exist type names")
def test_types_whose_names_look_alike_have_files_of_their_own():
    data = data_sets.pyg().HeteroData()
    for kind in ("a", "a__b", "d", "a_", "_b"):
        data[kind].x = torch.zeros(3, 1)
    triples = [("a", "b__c", "d"), ("a__b", "c", "d"), ("a_", "c", "d"), ("a", "_c", "d")]
    for number, triple in enumerate(triples):
        data[triple].edge_index = torch.tensor([[number % 3], [2]])
        data[triple].w = torch.tensor([float(number)])
    ds = mounted(data)
    for number, triple in enumerate(triples):
        assert ds[triple].edge_index.tolist() == [[number % 3], [2]]
        assert ds[triple].w.tolist() == [number]
    assert all(check.holds for check in gz.verify("data"))


def test_an_attribute_that_cannot_be_stored_is_named():
    data = homogeneous()
    data.phase = torch.zeros(5, dtype=torch.complex64)
    data.unknown = torch.tensor(float("nan"))
    data.sparse = torch.eye(5).to_sparse()
    with pytest.warns(
        UserWarning, match=r"phase of node: complex64 is no type that files have; sparse of node: a sparse"
    ):
        ds = mounted(data)
    assert not {"phase", "unknown", "sparse"} & set(ds.keys())


def test_changes_travel_to_other_processes():
    ds = mounted(homogeneous())
    assert len(pickle.dumps(ds)) < 500
    ds.n_id = torch.arange(5)
    ds.note = "other"
    del ds.x
    again = pickle.loads(pickle.dumps(ds))
    assert set(again.keys()) == set(ds.keys())
    assert (again.n_id.tolist(), again.note) == ([0, 1, 2, 3, 4], "other")
    hetero = mounted(heterogeneous())
    hetero["author"].n_id = torch.arange(3)
    del hetero[WRITES]
    again = pickle.loads(pickle.dumps(hetero))
    assert again.edge_types == [CITES]
    assert again["author"].n_id.tolist() == [0, 1, 2]


def test_opening_and_naming_loads_no_torch():
    mounted(homogeneous()).close()
    code = "import sys, graphzero as gz; ds = gz.open('data'); ds.keys(); ds.num_features; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_attributes_of_edges_that_files_have_both_ways_are_by_edge_id():
    ds = mounted(homogeneous(), directed=False)
    with pytest.raises(
        ValueError, match=r"edge_attr of .*: expected 6 rows, one for each edge id, found 12: the graph has"
    ):
        ds.edge_attr = ds.edge_attr * 2
    assert ds.edge_attr.shape == (12, 2)
    ds.edge_attr = torch.ones(6, 1)
    (batch,) = NeighborLoader(ds, [-1], batch_size=5)
    assert batch.edge_attr.shape == (batch.num_edges, 1)


def test_a_name_belongs_to_nodes_or_to_edges():
    ds = mounted(homogeneous())
    ds.edge_attr = torch.ones(5)  # a row per node now
    assert "edge_attr" not in ds[("node", "to", "node")]
    (batch,) = NeighborLoader(ds, [-1], batch_size=5)
    assert len(batch.edge_attr) == batch.num_nodes


def test_assigned_edges_survive_any_number_of_pickles():
    ds = mounted(homogeneous())
    del ds.edge_attr, ds.edge_weight
    ds.edge_index = torch.tensor([[0], [1]])
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(copy.deepcopy(ds)))))
    assert again.edge_index.tolist() == [[0], [1]]


def test_tensors_of_a_type_are_copied():
    ds = mounted(homogeneous())
    assert copy.copy(ds["node"]).x.shape == (5, 3)
    assert copy.deepcopy(ds["node"]).x.shape == (5, 3)


def test_times_that_are_assigned_after_a_loader_was_made_are_refused():
    data = homogeneous()
    data.time = torch.arange(5)
    ds = mounted(data)
    loader = NeighborLoader(ds, [-1], time_attr="time", batch_size=5)
    ds.time = torch.arange(5) * 2
    with pytest.raises(
        ValueError, match="time: was assigned after this loader, which samples by it, was made; make a new"
    ):
        next(iter(loader))

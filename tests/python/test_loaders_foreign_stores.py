"""Stores that others wrote, by PyG's interfaces, as the data of loaders and samplers."""

import copy
import pickle

import numpy as np
import pytest
import torch

from data_sets import pyg
from graphzero.loaders import LinkNeighborLoader, NeighborLoader
from loader_cases import (
    AUTHOR,
    CITES,
    PAPER,
    WRITES,
    as_pyg_data,
    values,
    write_heterogeneous,
    write_homogeneous,
)

pyg()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return as_pyg_data(write_homogeneous(tmp_path_factory.mktemp("homogeneous")))


@pytest.fixture(scope="module")
def hetero(tmp_path_factory):
    return as_pyg_data(write_heterogeneous(tmp_path_factory.mktemp("heterogeneous")))


class Features(pyg().FeatureStore):
    """Tensors in a dict, and a record of what was asked for at once."""

    def __init__(self):
        super().__init__()
        self.tensors, self.asked = {}, []

    def _put_tensor(self, tensor, attr):
        self.tensors[attr.group_name, attr.attr_name] = tensor
        return True

    def _get_tensor(self, attr):
        tensor = self.tensors[attr.group_name, attr.attr_name]
        return tensor if attr.index is None else tensor[attr.index]

    def _multi_get_tensor(self, attrs):
        self.asked.append([(attr.group_name, attr.attr_name) for attr in attrs])
        return super()._multi_get_tensor(attrs)

    def _remove_tensor(self, attr):
        return self.tensors.pop((attr.group_name, attr.attr_name), None) is not None

    def _get_tensor_size(self, attr):
        return tuple(self._get_tensor(attr).shape)

    def get_all_tensor_attrs(self):
        return [pyg().TensorAttr(*key) for key in self.tensors]


class Graphs(pyg().GraphStore):
    """Edges in a dict."""

    def __init__(self):
        super().__init__()
        self.edges = {}

    def _put_edge_index(self, edge_index, edge_attr):
        self.edges[edge_attr.edge_type, edge_attr.layout] = (edge_index, edge_attr)
        return True

    def _get_edge_index(self, edge_attr):
        return self.edges[edge_attr.edge_type, edge_attr.layout][0]

    def _remove_edge_index(self, edge_attr):
        return self.edges.pop((edge_attr.edge_type, edge_attr.layout), None) is not None

    def get_all_edge_attrs(self):
        return [copy.copy(edge_attr) for _, edge_attr in self.edges.values()]


def in_layout(pairs, layout, size):
    """Edges in a layout, and the order that puts them there."""
    src, dst = pairs
    if layout == "coo":
        return (src, dst), torch.arange(pairs.shape[1])
    near, far = (dst, src) if layout == "csc" else (src, dst)
    order = torch.argsort(near, stable=True)
    count = size[1] if layout == "csc" else size[0]
    offsets = torch.zeros(count + 1, dtype=torch.int64)
    offsets[1:] = torch.bincount(near, minlength=count).cumsum(0)
    return ((far[order], offsets) if layout == "csc" else (offsets, far[order])), order


def stores_of(given, layout="coo", group=None, sized=True):
    """A pair of stores with what an object holds, and the order of its edges by type."""
    features, graphs, orders = Features(), Graphs(), {}
    is_hetero = hasattr(given, "node_types")
    stores = [*given.node_stores, *given.edge_stores] if is_hetero else [given._store]
    counts = given.num_nodes_dict if is_hetero else {}
    for store in stores:
        kind = store._key if is_hetero else group
        if "edge_index" in store:
            size = (counts[kind[0]], counts[kind[2]]) if is_hetero else (given.num_nodes,) * 2
            edges, order = in_layout(store.edge_index, layout, size)
            of = kind if is_hetero else None
            orders[of] = order
            graphs.put_edge_index(edges, edge_type=of, layout=layout, size=size if sized else None)
        for name, value in store.items():
            if name == "edge_index":
                continue
            is_edge = name == "edge_attr"
            features.put_tensor(value[orders[of]] if is_edge else value, group_name=kind, attr_name=name, index=None)
    return features, graphs, orders


@pytest.mark.parametrize("layout", ["coo", "csc", "csr"])
@pytest.mark.parametrize("group", [None, "default"])
def test_batches_of_a_homogeneous_graph(data, layout, group):
    features, graphs, orders = stores_of(data, layout, group)
    nodes = torch.arange(0, 90)
    loader = NeighborLoader((features, graphs), [-1, -1], input_nodes=nodes, batch_size=30)
    assert loader.data[0] is features
    expected = NeighborLoader(data, [-1, -1], input_nodes=nodes, batch_size=30)
    order = orders[None]
    for batch, other in zip(loader, expected, strict=True):
        assert isinstance(batch, pyg().Data)
        assert set(batch.n_id.tolist()) == set(other.n_id.tolist())
        assert sorted(order[batch.e_id].tolist()) == sorted(other.e_id.tolist())
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, order[batch.e_id]])
        for name in ("x", "y", "time"):
            assert torch.equal(batch[name], data[name][batch.n_id])
        assert torch.equal(batch.edge_attr, data.edge_attr[order[batch.e_id]])


@pytest.mark.parametrize("layout", ["coo", "csc", "csr"])
@pytest.mark.parametrize("sized", [True, False])
def test_batches_of_several_types(hetero, layout, sized):
    features, graphs, orders = stores_of(hetero, layout, sized=sized)
    for nodes in (PAPER, (PAPER, None), (PAPER, range(200))):
        loader = NeighborLoader((features, graphs), [-1], input_nodes=nodes, batch_size=50)
        assert len(loader) == 4
    for batch in loader:
        assert isinstance(batch, pyg().HeteroData)
        assert set(batch.node_types) == {AUTHOR, PAPER}
        for kind in (AUTHOR, PAPER):
            assert torch.equal(batch[kind].x, hetero[kind].x[batch[kind].n_id])
        store = batch[CITES]
        assert torch.equal(store.edge_attr, hetero[CITES].edge_attr[orders[CITES][store.e_id]])
        ends = torch.stack(
            [batch[AUTHOR].n_id[batch[WRITES].edge_index[0]], batch[PAPER].n_id[batch[WRITES].edge_index[1]]]
        )
        assert torch.equal(ends, hetero[WRITES].edge_index[:, orders[WRITES][batch[WRITES].e_id]])


def test_one_type_of_each_is_named(data):
    features, graphs = Features(), Graphs()
    features.put_tensor(torch.arange(10), group_name="user", attr_name="x", index=None)
    pairs = torch.randint(10, (2, 20))
    graphs.put_edge_index((pairs[0], pairs[1]), edge_type=("user", "user", "user"), layout="coo", size=(10, 10))
    batch = next(iter(NeighborLoader((features, graphs), [-1, -1], input_nodes=("user", range(10)), batch_size=10)))
    assert batch.node_types == ["user"]
    assert batch.edge_types == [("user", "user", "user")]
    assert batch["user"].num_nodes == batch["user"]["num_nodes"] == 10
    assert batch["user", "user"].num_edges == 20


def test_rows_of_a_batch_are_fetched_by_one_call(hetero):
    features, graphs, _ = stores_of(hetero)
    loader = NeighborLoader((features, graphs), [3], input_nodes=PAPER, batch_size=50)
    features.asked.clear()
    assert len(list(loader)) == 4
    assert len(features.asked) == 4
    assert sorted(features.asked[0], key=str) == sorted(features.tensors, key=str)


def test_names_choose_what_is_fetched(data):
    features, graphs, _ = stores_of(data)
    loader = NeighborLoader((features, graphs), [3], batch_size=50, features=["x"], edge_features=[])
    features.asked.clear()
    next(iter(loader))
    assert features.asked[0] == [(None, "x")]
    batch = next(iter(NeighborLoader((features, graphs), [3], batch_size=50, labels="seeds")))
    assert torch.equal(batch.y, data.y[:50])
    with pytest.raises(KeyError, match="features: no attribute 'z'"):
        NeighborLoader((features, graphs), [3], features="z")


def test_a_store_that_gets_more_shows_it(data):
    features, graphs, _ = stores_of(data)
    loader = NeighborLoader((features, graphs), [3], batch_size=50)
    assert "more" not in next(iter(loader))
    features.put_tensor(data.y + 1, group_name=None, attr_name="more", index=None)
    batch = next(iter(loader))
    assert torch.equal(batch.more, data.y[batch.n_id] + 1)


@pytest.mark.parametrize("level", ["nodes", "edges"])
def test_times_are_those_of_the_feature_store(data, level):
    given = pyg().Data(num_nodes=300, edge_index=data.edge_index)
    times = torch.arange(300) % 100 if level == "nodes" else torch.arange(2000) % 100
    given.at = times
    features, graphs = Features(), Graphs()
    graphs.put_edge_index(tuple(data.edge_index), edge_type=None, layout="coo", size=(300, 300))
    features.put_tensor(times, group_name=None, attr_name="at", index=None)
    options = {"num_neighbors": [-1], "input_time": torch.full((300,), 40), "time_attr": "at", "batch_size": 100}
    loaders = [NeighborLoader(source, **options) for source in (given, (features, graphs))]
    for one, other in zip(*loaders, strict=True):
        assert torch.equal(one.at, other.at)
        assert torch.equal(one.n_id, other.n_id)
        assert torch.equal(one.e_id, other.e_id)
        of_neighbours = one.at[100:] if level == "nodes" else one.at
        assert (of_neighbours <= 40).all()


def test_edges_are_drawn_by_weights_of_the_feature_store():
    features, graphs = Features(), Graphs()
    pairs = torch.tensor([[1, 3, 0, 4], [2, 2, 1, 3]])
    graphs.put_edge_index(tuple(pairs), edge_type=("p", "to", "p"), layout="coo", size=(5, 5))
    weight = torch.tensor([0.0, 1.0, 0.0, 1.0])
    features.put_tensor(weight, group_name=("p", "to", "p"), attr_name="weight", index=None)
    loader = NeighborLoader((features, graphs), [1, 1], input_nodes=("p", [2]), weight_attr="weight")
    assert next(iter(loader))["p"].n_id.tolist() == [2, 3, 4]


def test_links_of_stores(data, hetero):
    features, graphs, _ = stores_of(hetero)
    for edges in (WRITES, (WRITES, None)):
        loader = LinkNeighborLoader((features, graphs), [2], edge_label_index=edges, batch_size=100)
        batch = next(iter(loader))
        ends = torch.stack(
            [batch[kind].n_id[end] for kind, end in zip((AUTHOR, PAPER), batch[WRITES].edge_label_index, strict=True)]
        )
        assert torch.equal(ends, hetero[WRITES].edge_index[:, :100])
    features, graphs, _ = stores_of(data)
    for edges in ((None, data.edge_index[:, :90]), data.edge_index[:, :90]):
        loader = LinkNeighborLoader(
            (features, graphs), [2], edge_label_index=edges, neg_sampling="binary", batch_size=30
        )
        for batch in loader:
            assert torch.equal(batch.x, data.x[batch.n_id])
            assert batch.edge_label.tolist() == [1] * 30 + [0] * 30


def test_a_sampler_of_stores_samples_as_one_of_the_object(data, hetero):
    from torch_geometric.sampler import NodeSamplerInput

    from graphzero.loaders import NeighborSampler

    for given, of in ((data, None), (hetero, PAPER)):
        features, graphs, _ = stores_of(given)
        inputs = NodeSamplerInput(None, torch.arange(7), None, of)
        samplers = [NeighborSampler(source, [3, 2], seed=1) for source in (given, (features, graphs))]
        one, other = (sampler.sample_from_nodes(inputs) for sampler in samplers)
        assert samplers[0].is_hetero == samplers[1].is_hetero == (of is not None)
        if of is None:
            assert torch.equal(one.node, other.node)
        else:
            assert torch.equal(one.node[PAPER], other.node[PAPER])


def test_stores_of_ours_are_read_as_what_they_were_made_of(tmp_path):
    from graphzero.loaders import GraphStore, PyGFeatureStore

    made = write_homogeneous(tmp_path)
    features, graphs = PyGFeatureStore(made.dataset), GraphStore(made.dataset)
    expected = [values(batch) for batch in NeighborLoader(made.dataset, [3], "train", batch_size=30, seed=1)]
    found = [values(batch) for batch in NeighborLoader((features, graphs), [3], "train", batch_size=30, seed=1)]
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)
    batch = next(iter(NeighborLoader((features.select("x"), graphs), [3], "train")))
    assert "x" in batch
    assert "y" not in batch
    foreign, _, _ = stores_of(as_pyg_data(made))
    batch = next(iter(NeighborLoader((foreign, graphs), [3], made.train, batch_size=9)))
    assert np.array_equal(batch.x, made.nodes["x"][batch.n_id])
    assert np.array_equal(batch.edge_attr, made.edges["edge_attr"][batch.e_id])


def test_a_loader_of_stores_is_pickled(data):
    features, graphs, _ = stores_of(data)
    loader = NeighborLoader((features, graphs), [3], batch_size=100, seed=3)
    other = pickle.loads(pickle.dumps(loader))
    for one, again in zip(loader, other, strict=True):
        assert torch.equal(one.n_id, again.n_id)
        assert torch.equal(one.x, again.x)


def test_stores_the_other_way_round_are_refused(data):
    features, graphs, _ = stores_of(data)
    with pytest.raises(TypeError, match=r"data: expected \(FeatureStore, GraphStore\), found \(Graphs, Features\)"):
        NeighborLoader((graphs, features), [3])
    with pytest.raises(ValueError, match="expected a graph store with edges, found none in Graphs"):
        NeighborLoader((features, Graphs()), [3])

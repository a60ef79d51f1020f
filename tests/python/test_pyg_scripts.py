"""Training scripts as people write them for PyG run on a data set from files, with the loader's import and the data changed.

Each test asks of the data, the loaders and the batches what one of PyG's example scripts does.
"""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import data_sets
import graphzero as gz
from graphzero.loaders import LinkNeighborLoader, MetaPath2Vec, NeighborLoader, Node2Vec

data_sets.pyg()
import torch_geometric.transforms as T  # noqa: E402
from torch_geometric.data import HeteroData  # noqa: E402
from torch_geometric.nn import GraphSAGE, SAGEConv, to_hetero  # noqa: E402

NUM_NODES, NUM_FEATURES, NUM_CLASSES = 300, 8, 3
# A script's num_workers are taken with a note; to_hetero warns of what its own torch deprecates.
pytestmark = [
    pytest.mark.filterwarnings("ignore:NeighborLoader. num_workers"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def in_memory(column=False):
    torch.manual_seed(0)
    y = torch.randint(NUM_CLASSES, (NUM_NODES,))
    data = data_sets.pyg().Data(
        x=torch.randn(NUM_NODES, NUM_FEATURES) + y[:, None],
        y=y[:, None] if column else y,
        edge_index=torch.randint(NUM_NODES, (2, 1500)),
    )
    order = torch.randperm(NUM_NODES)
    for name, ids in (("train", order[:150]), ("val", order[150:200]), ("test", order[200:])):
        data[f"{name}_mask"] = torch.zeros(NUM_NODES, dtype=torch.bool).index_fill(0, ids, True)
    return data


def converted(data):
    gz.convert_dataset(data, "data", overwrite=True)
    return gz.open("data")


def step(model, optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def test_nodes_with_inference_layer_by_layer():
    dataset = converted(in_memory())
    data = dataset[0].to("cpu", "x", "y")
    kwargs = {"batch_size": 64, "num_workers": 2, "persistent_workers": True}
    train_loader = NeighborLoader(data, input_nodes=data.train_mask, num_neighbors=[5, 5], shuffle=True, **kwargs)
    subgraph_loader = NeighborLoader(copy.copy(data), input_nodes=None, num_neighbors=[-1], shuffle=False, **kwargs)
    del subgraph_loader.data.x, subgraph_loader.data.y
    subgraph_loader.data.num_nodes = data.num_nodes
    subgraph_loader.data.n_id = torch.arange(data.num_nodes)
    convs = nn.ModuleList([SAGEConv(dataset.num_features, 16), SAGEConv(16, dataset.num_classes)])
    optimizer = torch.optim.Adam(convs.parameters(), lr=0.01)
    assert len(train_loader.dataset) == int(data.train_mask.sum()) == 150
    for batch in train_loader:
        hidden = convs[0](batch.x, batch.edge_index).relu()
        out = convs[1](hidden, batch.edge_index)[: batch.batch_size]
        step(convs, optimizer, F.cross_entropy(out, batch.y[: batch.batch_size]))
    with torch.no_grad():
        x_all = data.x
        for number, conv in enumerate(convs):
            parts = []
            for batch in subgraph_loader:
                assert "x" not in batch
                assert "y" not in batch
                x = conv(x_all[batch.n_id], batch.edge_index)
                parts.append((x.relu() if number == 0 else x)[: batch.batch_size])
            x_all = torch.cat(parts)
        whole = convs[1](convs[0](data.x, data.edge_index).relu(), data.edge_index)
    assert torch.allclose(x_all, whole, atol=1e-5)
    right = [int((x_all.argmax(-1)[mask] == data.y[mask]).sum()) for mask in (data.val_mask, data.test_mask)]
    assert all(0 <= count <= 100 for count in right)


def test_nodes_of_a_data_set_with_index_splits_and_a_column_of_labels():
    dataset = converted(in_memory(column=True))
    split_idx = dataset.get_idx_split()
    data = dataset[0]
    data.to("cpu", "x", "y")
    del data.train_mask, data.val_mask, data.test_mask  # OGB's have none
    data.edge_index = torch.cat([data.edge_index, data.edge_index.flip(0)], dim=1).unique(dim=1)

    def get_loader(input_nodes):
        return NeighborLoader(
            data, input_nodes=input_nodes, num_neighbors=[3] * 2, batch_size=64, shuffle=True, num_workers=2,
            persistent_workers=True, disjoint=True,
        )  # fmt: skip

    model = GraphSAGE(dataset.num_features, 16, num_layers=2, out_channels=dataset.num_classes)
    optimizer = torch.optim.Adam(model.parameters())
    train_loader = get_loader(split_idx["train"])
    seen = 0
    for batch in train_loader:
        assert batch.y.shape == (batch.num_nodes, 1)
        assert batch.batch.max() < batch.batch_size
        out = model(batch.x, batch.edge_index)[: batch.batch_size]
        step(model, optimizer, F.cross_entropy(out, batch.y[: batch.batch_size].squeeze(1).to(torch.long)))
        seen += batch.num_sampled_nodes[0]
    assert seen == split_idx["train"].size(0) == 150
    assert len(list(get_loader(split_idx["valid"]))) == 1


def test_several_types_with_lazy_layers():
    torch.manual_seed(0)
    data = HeteroData()
    data["paper"].x = torch.randn(100, 6)
    data["paper"].y = torch.randint(NUM_CLASSES, (100,))
    data["paper"].train_mask = torch.arange(100) < 60
    data["paper"].val_mask = ~data["paper"].train_mask
    data["author"].x = torch.randn(50, 4)
    data["author", "writes", "paper"].edge_index = torch.stack([torch.randint(50, (200,)), torch.randint(100, (200,))])
    data["paper", "cites", "paper"].edge_index = torch.randint(100, (2, 300))
    dataset = converted(T.ToUndirected(merge=True)(data))
    data = dataset[0].to("cpu", "x", "y")
    train_input_nodes = ("paper", data["paper"].train_mask)
    loader = NeighborLoader(data, num_neighbors=[4] * 2, shuffle=True, input_nodes=train_input_nodes, batch_size=20)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = SAGEConv((-1, -1), 8), SAGEConv((-1, -1), dataset.num_classes)

        def forward(self, x, edge_index):
            return self.conv2(self.conv1(x, edge_index).relu(), edge_index)

    model = to_hetero(Model(), data.metadata(), aggr="sum")
    with torch.no_grad():
        batch = next(iter(loader)).to("cpu", "edge_index")
        model(batch.x_dict, batch.edge_index_dict)
    optimizer = torch.optim.Adam(model.parameters())
    for batch in loader:
        size = batch["paper"].batch_size
        out = model(batch.x_dict, batch.edge_index_dict)["paper"][:size]
        step(model, optimizer, F.cross_entropy(out, batch["paper"].y[:size]))
    assert set(data.x_dict) == {"paper", "author"}


def test_links_without_labels():
    data = converted(in_memory())
    loader = LinkNeighborLoader(data, batch_size=256, shuffle=True, neg_sampling_ratio=1.0, num_neighbors=[5, 5])
    data = data.to("cpu", "x", "edge_index")
    model = GraphSAGE(data.num_node_features, hidden_channels=16, num_layers=2)
    optimizer = torch.optim.Adam(model.parameters())
    for batch in loader:
        batch = batch.to("cpu")
        h = model(batch.x, batch.edge_index)
        score = (h[batch.edge_label_index[0]] * h[batch.edge_label_index[1]]).sum(dim=-1)
        step(model, optimizer, F.binary_cross_entropy_with_logits(score, batch.edge_label))
    with torch.no_grad():
        out = model.eval()(data.x, data.edge_index)
    assert out[data.train_mask].shape == (150, 16)
    assert data.y[data.test_mask].shape == (100,)


def test_node2vec_by_edge_index():
    data = converted(in_memory())[0]
    model = Node2Vec(
        data.edge_index, embedding_dim=8, walk_length=6, context_size=4, walks_per_node=2, num_negative_samples=1, p=1.0,
        q=1.0, sparse=True,
    )  # fmt: skip
    loader = model.loader(batch_size=64, shuffle=True, num_workers=0)
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.01)
    for pos_rw, neg_rw in loader:
        step(model, optimizer, model.loss(pos_rw, neg_rw))
    z = model()
    assert z[data.train_mask].shape == (150, 8)


def test_metapath2vec_with_labels_of_some_nodes():
    torch.manual_seed(0)
    data = HeteroData()
    data["author"].num_nodes, data["paper"].num_nodes = 40, 60
    data["author"].y = torch.randint(3, (15,))
    data["author"].y_index = torch.randperm(40)[:15]
    ends = torch.stack([torch.randint(40, (150,)), torch.randint(60, (150,))])
    data["author", "writes", "paper"].edge_index = ends
    data["paper", "written_by", "author"].edge_index = ends.flip(0)
    data = converted(data)[0]
    metapath = [("author", "writes", "paper"), ("paper", "written_by", "author")]
    model = MetaPath2Vec(
        data.edge_index_dict, embedding_dim=8, metapath=metapath, walk_length=6, context_size=3, walks_per_node=2,
        num_negative_samples=2, num_nodes_dict=data.num_nodes_dict, sparse=True,
    )  # fmt: skip
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.01)
    for pos_rw, neg_rw in model.loader(batch_size=16, shuffle=True):
        step(model, optimizer, model.loss(pos_rw, neg_rw))
    z = model("author", batch=data["author"].y_index)
    assert z.shape == (15, 8)
    assert len(data["author"].y) == 15


@pytest.mark.parametrize("rank", [0, 1])
def test_ids_that_a_script_splits_among_ranks(rank, monkeypatch):
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: rank)
    data = converted(in_memory())[0]
    data = data.to("cpu", "x", "y")
    train_idx = data.train_mask.nonzero(as_tuple=False).view(-1)
    train_idx = train_idx.split(-(-train_idx.size(0) // 2))[rank]
    kwargs = {"data": data, "batch_size": 25, "num_neighbors": [5, 5], "drop_last": True, "distributed": False}
    loader = NeighborLoader(input_nodes=train_idx, shuffle=True, **kwargs)
    assert sorted(torch.cat([batch.n_id[:25] for batch in loader]).tolist()) == train_idx.tolist()

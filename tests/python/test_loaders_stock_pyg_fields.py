"""What data in memory holds comes with batches as stock PyG hands it out, once it was converted."""

import pytest
import torch

from pyg_cases import WRITES, A, B, hetero, homogeneous
from stock_pyg import (
    assert_like_stock,
    converted,
    loaders,
    needs_pyg_lib,
    pyg,
    stock_links,
    stock_nodes,
    without_warning,
)

pytestmark = [without_warning, needs_pyg_lib]

ONE = {"num_neighbors": [-1, -1], "batch_size": 7}


def assert_nodes_like_stock(data, leave_out=(), in_any_order_of=None, **options):
    """Both for the data once converted, and for the object as it is."""
    for given in (converted(data), data):
        ours, stock = loaders.NeighborLoader(given, **ONE | options), stock_nodes(data, **ONE | options)
        assert_like_stock(ours, stock, leave_out, in_any_order_of)


def assert_links_like_stock(data, leave_out=(), in_any_order_of=None, **options):
    for given in (converted(data), data):
        ours, stock = loaders.LinkNeighborLoader(given, **ONE | options), stock_links(data, **ONE | options)
        assert_like_stock(ours, stock, leave_out, in_any_order_of)


def with_values(**values):
    data = homogeneous().in_memory()
    for name, value in values.items():
        data[name] = value
    return data


COUNT = homogeneous().in_memory().num_edges


@pytest.mark.parametrize(
    "values",
    [
        {"y": torch.arange(40)[:, None] % 5},
        {"y": torch.arange(160).reshape(40, 4) % 3 == 0},
        {"y": torch.rand(40)},
        {"x": torch.rand(40, 3, 2)},
        {"x": torch.rand(40, 3, dtype=torch.float64)},
        {"x": torch.arange(120, dtype=torch.int8).reshape(40, 3)},
        {"pos": torch.rand(40, 2), "node_id": torch.arange(40)},
        {"train_mask": torch.arange(40) < 9, "val_mask": torch.arange(40) > 30},
        {"train_mask": torch.arange(80).reshape(40, 2) < 9},
        {"edge_weight": torch.rand(COUNT)},
        {"edge_weight": -torch.rand(COUNT)},
        {"edge_type": torch.arange(COUNT) % 3, "edge_time": torch.arange(COUNT)},
        {"edge_attr": torch.rand(COUNT)},
        {"n_id": torch.arange(40) + 100, "e_id": torch.arange(COUNT) + 100},  # PyG leaves them as they are
    ],
    ids=lambda values: "-".join(f"{name} {list(getattr(value, 'shape', ()))}" for name, value in values.items()),
)
@pytest.mark.filterwarnings("ignore:.*not converted")  # the split of a mask with two columns
def test_rows_of_nodes_and_edges(values):
    assert_nodes_like_stock(with_values(**values))


@pytest.mark.parametrize(
    "values",
    [
        {"name": "cora", "year": 2001, "scale": 0.5, "listed": [1, "a"], "named": {"a": 1}},
        {"scalar": torch.tensor(2.5), "vector": torch.arange(7), "table": torch.rand(3, 2), "empty": torch.rand(0, 2)},
    ],
    ids=["values", "tensors"],
)
def test_what_has_no_rows_is_in_every_batch(values):
    assert_nodes_like_stock(with_values(**values))


def test_what_has_no_rows_of_several_types_is_in_every_batch():
    data = hetero().in_memory()
    data.name, data.table = "mag", torch.rand(3, 2)
    data[A].country, data[A].centre = "nowhere", torch.arange(3)
    data[WRITES].source, data[WRITES].share = ["crawl"], torch.tensor(0.5)
    assert_nodes_like_stock(data, input_nodes=A)


def test_nodes_without_features():
    data = pyg().Data(edge_index=homogeneous().in_memory().edge_index, num_nodes=40)
    assert_nodes_like_stock(data, leave_out=["num_nodes"])  # batch.num_nodes is compared all the same


def test_attributes_of_several_types():
    data = hetero().in_memory()
    data[B].y, data[A].y = torch.arange(30) % 3, torch.rand(15, 1)
    data[B].train_mask = torch.arange(30) < 10
    data[WRITES].edge_weight = torch.rand(data[WRITES].num_edges)
    assert_nodes_like_stock(data, input_nodes=(B, data[B].train_mask))


@pytest.mark.parametrize("kind", [A, "lonely"])
def test_a_type_that_no_edge_touches(kind):
    data = hetero().in_memory()
    data["lonely"].x = torch.rand(5, 2)
    assert_nodes_like_stock(data, input_nodes=kind)


def test_a_type_of_edges_without_edges():
    data = hetero().in_memory()
    data["lonely"].x = torch.rand(5, 2)
    empty = data["lonely", "to", A]
    empty.edge_index = torch.empty(2, 0, dtype=torch.long)
    assert_nodes_like_stock(data, input_nodes=A)
    empty.edge_weight = torch.empty(0)
    assert_nodes_like_stock(data, input_nodes=A, weight_attr="edge_weight")
    empty.edge_time = torch.empty(0, dtype=torch.long)
    assert_nodes_like_stock(data, input_nodes=A, time_attr="edge_time", input_time=torch.arange(15))


@pytest.mark.parametrize("disjoint", [False, True])
def test_one_type_of_nodes_and_one_of_edges(disjoint):
    data = pyg().HeteroData()
    data["user"].x = torch.rand(20, 2)
    data["user", "knows", "user"].edge_index = torch.stack([torch.arange(20), torch.arange(20).flip(0)])
    assert_nodes_like_stock(data, input_nodes="user", disjoint=disjoint)


def test_an_empty_list_of_edges():
    data = pyg().Data(x=torch.rand(20, 2), edge_index=torch.empty(2, 0, dtype=torch.long))
    assert_nodes_like_stock(data)
    assert_links_like_stock(data, edge_label_index=torch.tensor([[1, 2], [3, 4]]))


# PyG's loaders write over attributes that have the names of their own.


@pytest.mark.parametrize("name", ["batch", "input_id", "batch_size", "num_sampled_nodes"])
def test_what_a_loader_says_of_nodes_is_not_hidden_by_an_attribute(name):
    assert_nodes_like_stock(with_values(**{name: torch.arange(40) + 100}), disjoint=True)


@pytest.mark.parametrize("name", ["input_id", "edge_label", "num_sampled_edges"])
def test_what_a_loader_says_of_links_is_not_hidden_by_an_attribute(name):
    data = with_values(**{name: torch.arange(COUNT) + 100})
    links = data.edge_index[:, :20]
    assert_links_like_stock(data, edge_label_index=links, edge_label=torch.arange(20))


def test_ids_of_their_own_are_not_what_rows_are_looked_up_by():
    data = with_values(n_id=torch.arange(40).flip(0), y=torch.arange(40) * 10)
    for given in (converted(data), data):
        batch = next(iter(loaders.NeighborLoader(given, labels="seeds", input_nodes=[3, 4], **ONE)))
        assert batch.y.tolist() == [30, 40]
        assert batch.n_id[:2].tolist() == [36, 35]


@pytest.mark.parametrize("name", ["batch", "seed_time"])
def test_what_a_loader_would_say_of_nodes_is_not_said_by_an_attribute(name):
    assert_nodes_like_stock(with_values(**{name: torch.arange(40) + 100}))


@pytest.mark.parametrize("name", ["edge_label", "edge_label_time"])
def test_what_a_loader_would_say_of_links_is_not_said_by_an_attribute(name):
    data = with_values(**{name: torch.arange(COUNT) + 100})
    assert_links_like_stock(data, edge_label_index=data.edge_index[:, :20])


def test_links_of_a_random_split():
    """Its ``edge_label`` and ``edge_label_index`` are those of the whole data; a batch has those of its links."""
    from torch_geometric.transforms import RandomLinkSplit

    torch.manual_seed(0)
    train, _, _ = RandomLinkSplit(num_val=0.1, num_test=0.1, add_negative_train_samples=False)(
        homogeneous().in_memory()
    )
    assert train.edge_label.shape == (train.num_edges,)
    links = {"edge_label_index": train.edge_label_index, "edge_label": train.edge_label}
    assert_links_like_stock(train, num_neighbors=[-1], **links, in_any_order_of=homogeneous().in_memory())


def test_links_of_a_random_split_of_several_types():
    from torch_geometric.transforms import RandomLinkSplit

    torch.manual_seed(0)
    data = hetero().in_memory()
    train, _, _ = RandomLinkSplit(num_val=0.1, num_test=0.1, edge_types=[WRITES])(data)
    links = {"edge_label_index": (WRITES, train[WRITES].edge_label_index), "edge_label": train[WRITES].edge_label}
    assert_links_like_stock(train, num_neighbors=[-1], **links, in_any_order_of=data)

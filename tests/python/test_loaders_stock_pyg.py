"""Batches of fanout -1 are those of PyG's own loaders on data in memory, where PyG can sample at all."""

import functools
import importlib.util

import pytest
import torch

from data_sets import pyg
from pyg_cases import CITES, REV, WRITES, A, B, assert_same_batches, hetero, homogeneous

if importlib.util.find_spec("torch_sparse") is None:
    pytest.skip("PyG's own sampler needs torch_sparse, which is not installed", allow_module_level=True)

pyg()
from torch_geometric.loader import LinkLoader, LinkNeighborLoader, NeighborLoader, NodeLoader  # noqa: E402
from torch_geometric.utils import index_sort  # noqa: E402

from graphzero import loaders  # noqa: E402
from graphzero.loaders import FeatureStore, GraphStore, NeighborSampler  # noqa: E402

# PyG warns that torch_sparse is not the companion it would like best.
pytestmark = pytest.mark.filterwarnings("ignore:.*pyg-lib.*")


@pytest.fixture(autouse=True)
def _lists_in_order(monkeypatch):
    """PyG sorts edges by destination and leaves open in which order those of one come; here, in that of the input."""
    stable = functools.partial(index_sort, stable=True)
    monkeypatch.setattr("torch_geometric.sampler.utils.index_sort", stable)


def parts_node_loader(dataset, num_neighbors, **options):
    stores = FeatureStore(dataset), GraphStore(dataset)
    return NodeLoader(stores, NeighborSampler(dataset, num_neighbors), **options)


def parts_link_loader(dataset, num_neighbors, edge_label_index, **options):
    stores = FeatureStore(dataset), GraphStore(dataset)
    if isinstance(edge_label_index, torch.Tensor):
        edge_label_index = (None, edge_label_index)  # what PyG's loader wants beside stores
    return LinkLoader(stores, NeighborSampler(dataset, num_neighbors), edge_label_index=edge_label_index, **options)


# Functions (data set, num_neighbors, options of PyG's loaders) that make a loader of ours.
NODE_LOADERS = [parts_node_loader, loaders.NeighborLoader]
LINK_LOADERS = [parts_link_loader, loaders.LinkNeighborLoader]


def assert_like_stock(ours, stock):
    # PyG sets num_nodes beside stores, and leaves attributes of edges out; torch_sparse does not count by hop.
    left_out = ("num_nodes", "edge_attr") if isinstance(ours, (NodeLoader, LinkLoader)) else ()
    ours, stock = list(ours), list(stock)
    assert [batch.num_nodes for batch in ours] == [batch.num_nodes for batch in stock]
    assert_same_batches(ours, stock, leave_out=left_out, optional=("num_sampled_nodes", "num_sampled_edges"))


@pytest.mark.parametrize("make_loader", NODE_LOADERS)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_nodes(make_loader, seed, hops):
    case = homogeneous(60, 240, seed)
    options = {"num_neighbors": [-1] * hops, "input_nodes": torch.randperm(60), "batch_size": 7}
    assert_like_stock(make_loader(case.dataset(), **options), NeighborLoader(case.in_memory(), **options))


@pytest.mark.parametrize("make_loader", NODE_LOADERS)
def test_nodes_of_a_mask(make_loader):
    case = homogeneous()
    options = {"num_neighbors": [-1, -1], "input_nodes": torch.arange(40) % 3 == 1, "batch_size": 5}
    assert_like_stock(make_loader(case.dataset(), **options), NeighborLoader(case.in_memory(), **options))


@pytest.mark.parametrize("make_loader", NODE_LOADERS)
@pytest.mark.parametrize("kind", [A, B])
@pytest.mark.parametrize("num_neighbors", [[-1, -1], {WRITES: [-1, 0], REV: [0, -1], CITES: [-1, -1]}], ids=str)
def test_nodes_of_several_types(make_loader, kind, num_neighbors):
    case = hetero()
    nodes = torch.randperm(case.num_nodes[kind])
    options = {"num_neighbors": num_neighbors, "input_nodes": (kind, nodes), "batch_size": 4}
    assert_like_stock(make_loader(case.dataset(), **options), NeighborLoader(case.in_memory(), **options))


@pytest.mark.parametrize("make_loader", LINK_LOADERS)
@pytest.mark.parametrize("labelled", [False, True])
def test_links(make_loader, labelled):
    case = homogeneous()
    ends = case.in_memory().edge_index
    options = {"num_neighbors": [-1, -1], "edge_label_index": ends, "batch_size": 9}
    options["edge_label"] = torch.arange(ends.shape[1]) % 4 if labelled else None
    assert_like_stock(make_loader(case.dataset(), **options), LinkNeighborLoader(case.in_memory(), **options))


@pytest.mark.parametrize("make_loader", LINK_LOADERS)
@pytest.mark.parametrize("triple", [WRITES, REV, CITES])
def test_links_of_several_types(make_loader, triple):
    case = hetero()
    ends = case.in_memory()[triple].edge_index
    options = {"num_neighbors": [-1, -1], "edge_label_index": (triple, ends), "batch_size": 9}
    assert_like_stock(make_loader(case.dataset(), **options), LinkNeighborLoader(case.in_memory(), **options))

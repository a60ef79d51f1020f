"""PyG takes our loaders for its own; others do not."""

import copy
import pickle

import pytest
import torch

from data_sets import pyg
from graphzero.loaders import LinkNeighborLoader, NeighborLoader
from loader_cases import as_pyg_data, loader_of, write_homogeneous

pyg()
import torch_geometric.loader  # noqa: E402
from torch_geometric.nn import GCN, GraphSAGE  # noqa: E402


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_homogeneous(tmp_path_factory.mktemp("homogeneous"))


def asked_by(module, value, kind):
    """What ``isinstance`` says in a module of this name."""
    return eval("isinstance(value, kind)", {"__name__": module, "value": value, "kind": kind})


@pytest.mark.parametrize("kind", [NeighborLoader, LinkNeighborLoader])
def test_pyg_takes_a_loader_for_its_own(data, kind):
    loader = loader_of(kind, data)
    theirs = getattr(torch_geometric.loader, kind.__name__)
    assert asked_by("torch_geometric.nn.models.basic_gnn", loader, theirs)
    for module in ("lightning.pytorch.utilities.data", "accelerate", "torch.utils.data", "torch_geometrics", __name__):
        assert not asked_by(module, loader, theirs)
        assert not asked_by(module, loader, torch.utils.data.DataLoader)
        assert asked_by(module, loader, kind)
    assert loader.__class__ is type(loader) is kind
    assert asked_by("torch_geometric", loader, kind)


@pytest.mark.parametrize("kind", [NeighborLoader, LinkNeighborLoader])
def test_a_loader_is_copied_as_what_it_is(data, kind):
    loader = loader_of(kind, data, seed=1)
    for other in (pickle.loads(pickle.dumps(loader)), copy.copy(loader)):
        assert type(other) is kind
        assert repr(other) == repr(loader) == f"{kind.__name__}(3 batches)"


@pytest.mark.parametrize("model", [GraphSAGE, GCN])
@pytest.mark.parametrize("cache", [False, True])
@pytest.mark.parametrize("form", ["object", "data set"])
def test_pyg_infers_layer_by_layer_from_a_loader(data, model, cache, form):
    given = as_pyg_data(data)
    source = given if form == "object" else data.dataset
    torch.manual_seed(0)
    net = model(6, 8, num_layers=2, out_channels=4).eval()
    # GCN norms by degree; one hop has those of the seeds alone, so that only sums without norms are the same.
    if model is GCN:
        net = model(6, 8, num_layers=2, out_channels=4, normalize=False).eval()
    loader = NeighborLoader(source, [-1], batch_size=64)
    with torch.no_grad():
        expected = net(given.x, given.edge_index)
    torch.testing.assert_close(net.inference(loader, cache=cache), expected)

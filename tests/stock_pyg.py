"""Stock PyG's loaders on data in memory beside ours on the same data, and batches compared field by field."""

import copy
import functools
import importlib.util
from unittest import mock

import numpy as np
import pytest
import torch

import graphzero as gz
from data_sets import pyg
from pyg_cases import fields, plain

HAS_PYG_LIB = importlib.util.find_spec("pyg_lib") is not None
if not HAS_PYG_LIB and importlib.util.find_spec("torch_sparse") is None:
    pytest.skip("PyG's own sampler needs pyg-lib or torch-sparse; neither is installed", allow_module_level=True)

pyg()
from torch_geometric.loader import LinkLoader, LinkNeighborLoader, NeighborLoader, NodeLoader  # noqa: E402
from torch_geometric.utils import index_sort  # noqa: E402

from graphzero import loaders  # noqa: E402
from graphzero.loaders import GraphStore, NeighborSampler, PyGFeatureStore  # noqa: E402

needs_pyg_lib = pytest.mark.skipif(not HAS_PYG_LIB, reason="PyG samples this with pyg-lib alone, which is missing")
# PyG warns that torch_sparse is not the companion it would like best.
without_warning = pytest.mark.filterwarnings("ignore:.*pyg-lib.*")


def _stock(loader, data, **options):
    # PyG sorts edges by destination and leaves open in which order those of one come; here, in that of the input.
    with mock.patch("torch_geometric.sampler.utils.index_sort", functools.partial(index_sort, stable=True)):
        return loader(data, **options)


stock_nodes = functools.partial(_stock, NeighborLoader)
stock_links = functools.partial(_stock, LinkNeighborLoader)


def converted(data, **options):
    """A ``Data`` or ``HeteroData`` as a data set, the way users take."""
    gz.convert_dataset(data, "converted", overwrite=True, **options)
    return gz.open("converted")


_OF_SAMPLER = {"replace", "subgraph_type", "disjoint", "temporal_strategy", "time_attr", "weight_attr"}


def _parts(dataset, num_neighbors, options):
    of_sampler = {name: options.pop(name) for name in _OF_SAMPLER & options.keys()}
    return (PyGFeatureStore(dataset), GraphStore(dataset)), NeighborSampler(dataset, num_neighbors, **of_sampler)


def parts_node_loader(dataset, num_neighbors, **options):
    """PyG's loader with our stores and our sampler."""
    return NodeLoader(*_parts(dataset, num_neighbors, options), **options)


def parts_link_loader(dataset, num_neighbors, edge_label_index, **options):
    """The same for links."""
    if isinstance(edge_label_index, torch.Tensor):
        edge_label_index = (None, edge_label_index)  # what PyG's loader wants beside stores
    return LinkLoader(*_parts(dataset, num_neighbors, options), edge_label_index=edge_label_index, **options)


# Functions (data set, num_neighbors, options of PyG's loaders) that make a loader of ours.
NODE_LOADERS = [parts_node_loader, loaders.NeighborLoader]
LINK_LOADERS = [parts_link_loader, loaders.LinkNeighborLoader]


def contents(batch):
    """All fields of a batch that are not ``None``, by (type, name); those of the whole have the type ``None``."""
    whole = batch._global_store.items() if hasattr(batch, "node_types") else ()
    return {**fields(batch), **{(None, name): plain(value) for name, value in whole}}


def assert_like_stock(ours, stock, leave_out=(), in_any_order_of=None):
    """Both loaders give the same batches, field by field.

    ``in_any_order_of`` the data that both were given: nodes and edges of one hop may come in any order. What PyG
    counts by hop is compared where it does.
    """
    if isinstance(
        ours, (NodeLoader, LinkLoader)
    ):  # PyG sets num_nodes beside stores, and leaves attributes of edges out
        leave_out = (*leave_out, "num_nodes", "edge_attr")
    ours, stock = list(ours), list(stock)
    assert len(ours) == len(stock) > 0
    for one, other in zip(ours, stock, strict=True):
        assert type(one) is type(other)
        assert one.num_nodes == other.num_nodes
        if in_any_order_of is not None:
            one, other = (in_one_order(batch, in_any_order_of) for batch in (one, other))
        found, expected = contents(one), contents(other)
        for key in found.keys() | expected.keys():
            is_counted = HAS_PYG_LIB or key[1] not in ("num_sampled_nodes", "num_sampled_edges")
            if key[1] not in leave_out and is_counted:
                assert found.get(key) == expected.get(key), key


def in_one_order(batch, data):
    """A copy of a batch of ``data``: seeds stay first, other nodes and edges are sorted within their hop."""
    batch = copy.copy(batch)
    places = {}
    nodes, edges = _stores(batch, data)
    for kind, (store, given) in nodes.items():
        hop, here = _hops(store.num_sampled_nodes), np.arange(len(store.n_id))
        tree = store["batch"] if store.get("batch") is not None else torch.zeros_like(store.n_id)
        order = np.lexsort((store.n_id, tree, np.where(hop == 0, here, 0), hop))
        places[kind] = torch.from_numpy(np.argsort(order))
        for name in {"n_id", "batch", *filter(given.is_node_attr, given.keys())}:
            if store.get(name) is not None:
                store[name] = store[name][order]
    for triple, (store, given) in edges.items():
        src, dst = (triple[0], triple[2]) if triple else (None, None)
        ends = torch.stack([places[src][store.edge_index[0]], places[dst][store.edge_index[1]]])
        order = np.lexsort((store.e_id, ends[0], ends[1], _hops(store.num_sampled_edges)))
        store.edge_index = ends[:, order]
        for name in {"e_id", *filter(given.is_edge_attr, given.keys())} - {"edge_index"}:
            store[name] = store[name][order]
    return batch


def _stores(batch, data):
    """Return the stores of nodes and of edges by type, each beside that of the data."""
    if not hasattr(batch, "node_types"):
        both = {None: (batch._store, data._store)}
        return both, both
    return (
        {kind: (batch[kind], data[kind]) for kind in batch.node_types},
        # Links of a type that is not sampled have no edges.
        {triple: (batch[triple], data[triple]) for triple in batch.edge_types if "edge_index" in batch[triple]},
    )


def _hops(counts):
    return np.repeat(np.arange(len(counts)), counts)

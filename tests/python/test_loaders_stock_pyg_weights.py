"""Neighbours are drawn by weight as stock PyG draws them."""

import itertools

import numpy as np
import pytest
import torch

from laws import assert_independent, assert_law, assert_uniform
from pyg_cases import CITES, REV, WRITES, A, B, hetero, homogeneous
from stock_pyg import (
    NODE_LOADERS,
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


def weighted():
    data = homogeneous(60, 240).in_memory()
    data.edge_weight = torch.rand(data.num_edges, generator=torch.Generator().manual_seed(0)) + 0.1
    return data


@pytest.mark.parametrize("make_loader", NODE_LOADERS)
@pytest.mark.parametrize("num_neighbors", [[-1, -1], [100, 100]], ids=str)
@pytest.mark.parametrize("disjoint", [False, True])
def test_all_neighbours(make_loader, num_neighbors, disjoint):
    data = weighted()
    options = {"num_neighbors": num_neighbors, "weight_attr": "edge_weight", "batch_size": 7, "disjoint": disjoint}
    options["input_nodes"] = torch.arange(60)
    ours, stock = make_loader(converted(data), **options), stock_nodes(data, **options)
    assert_like_stock(ours, stock, leave_out=() if make_loader is loaders.NeighborLoader else ["edge_weight"])


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64])
def test_all_neighbours_by_an_attribute_of_another_name_and_type(dtype):
    data = weighted()
    data.strength = (data.edge_weight * 10).to(dtype)
    options = {"num_neighbors": [-1, -1], "weight_attr": "strength", "batch_size": 7}
    ours = loaders.NeighborLoader(converted(data, weight="strength"), **options)
    assert_like_stock(ours, stock_nodes(data, **options))


@pytest.mark.parametrize("some", [[WRITES], [REV, CITES]], ids=["one", "two"])
@pytest.mark.parametrize("kind", [A, B])
def test_all_neighbours_where_some_types_have_weights(some, kind):
    data = hetero().in_memory()
    for triple in some:
        data[triple].edge_weight = torch.rand(data[triple].num_edges) + 0.1
    options = {"num_neighbors": [-1, -1], "weight_attr": "edge_weight", "input_nodes": kind, "batch_size": 4}
    assert_like_stock(loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options))


def test_all_neighbours_of_links():
    data = weighted()
    options = {"num_neighbors": [-1, -1], "weight_attr": "edge_weight", "batch_size": 7}
    assert_like_stock(loaders.LinkNeighborLoader(converted(data), **options), stock_links(data, **options))


# Laws. One node with six neighbours, one of them of weight 0, is the seed of many trees.

DRAWS = 6000
WEIGHTS = np.array([3.0, 0.5, 0.0, 1.0, 4.0, 1.5])
CHANCES = WEIGHTS / WEIGHTS.sum()
SRC, DST = [1, 2, 3, 4, 5, 6], [0] * 6


def both_drawn(data, fanout, seeds, triple=None, **options):
    """The edges that ours and PyG drew for each tree, in order of id."""
    zeros = torch.zeros(DRAWS, dtype=torch.long)
    options |= {"num_neighbors": [fanout], "input_nodes": seeds(zeros), "batch_size": DRAWS, "disjoint": True}
    options["weight_attr"] = "edge_weight"
    torch.manual_seed(0)
    for loader in (loaders.NeighborLoader(converted(data), seed=0, **options), stock_nodes(data, **options)):
        batch = next(iter(loader))
        edges = batch if triple is None else batch[triple]
        order = torch.argsort(edges.edge_index[1] * 100 + edges.e_id)
        yield edges.e_id[order].reshape(DRAWS, fanout).numpy()


def star():
    return pyg().Data(
        x=torch.zeros(7, 1), edge_index=torch.tensor([SRC, DST]), edge_weight=torch.from_numpy(WEIGHTS).float()
    )


def pair_law(replace):
    """The chance of each pair of edges, as two digits. One is drawn after the other."""
    law = {}
    for a, b in itertools.product(range(6), repeat=2):
        second = CHANCES[b] if replace else (a != b) * CHANCES[b] / (1 - CHANCES[a])
        code = 10 * min(a, b) + max(a, b)
        law[code] = law.get(code, 0.0) + CHANCES[a] * second
    return law


@pytest.mark.parametrize("replace", [False, True])
def test_neighbours_are_drawn_by_weight(replace):
    found = [picks @ [10, 1] for picks in both_drawn(star(), 2, lambda zeros: zeros, replace=replace)]
    for codes in found:
        assert_law(codes, pair_law(replace))
    assert_independent(np.concatenate(found), np.repeat([0, 1], DRAWS))


def test_of_several_types_each_is_drawn_by_its_own_weights():
    data = pyg().HeteroData()
    data["a"].x, data["b"].x = torch.zeros(1, 1), torch.zeros(7, 1)
    by_weight, uniform = ("b", "weighs", "a"), ("b", "counts", "a")
    for triple in (by_weight, uniform):
        data[triple].edge_index = torch.tensor([SRC, DST])
    data[by_weight].edge_weight = torch.from_numpy(WEIGHTS).float()
    for picks in both_drawn(data, 1, lambda zeros: ("a", zeros), by_weight):
        assert_law(picks.ravel(), dict(enumerate(CHANCES)))
    for picks in both_drawn(data, 1, lambda zeros: ("a", zeros), uniform):
        assert_uniform(picks.ravel(), range(6))

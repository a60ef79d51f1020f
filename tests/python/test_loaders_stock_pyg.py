"""Batches are those of stock PyG on data in memory: all neighbours, and laws where neighbours are drawn."""

import itertools

import numpy as np
import pytest
import torch

from laws import assert_independent, assert_law, assert_uniform_inclusion
from pyg_cases import CITES, REV, WRITES, A, B, hetero, homogeneous
from stock_pyg import (
    NODE_LOADERS,
    assert_like_stock,
    converted,
    loaders,
    needs_pyg_lib,
    pyg,
    stock_nodes,
    without_warning,
)

pytestmark = without_warning


@pytest.mark.parametrize("make_loader", NODE_LOADERS)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_nodes(make_loader, seed, hops):
    case = homogeneous(60, 240, seed)
    options = {"num_neighbors": [-1] * hops, "input_nodes": torch.randperm(60), "batch_size": 7}
    assert_like_stock(make_loader(case.dataset(), **options), stock_nodes(case.in_memory(), **options))


@pytest.mark.parametrize("make_loader", NODE_LOADERS)
def test_nodes_of_a_mask(make_loader):
    case = homogeneous()
    options = {"num_neighbors": [-1, -1], "input_nodes": torch.arange(40) % 3 == 1, "batch_size": 5}
    assert_like_stock(make_loader(case.dataset(), **options), stock_nodes(case.in_memory(), **options))


@pytest.mark.parametrize("make_loader", NODE_LOADERS)
@pytest.mark.parametrize("kind", [A, B])
@pytest.mark.parametrize("num_neighbors", [[-1, -1], {WRITES: [-1, 0], REV: [0, -1], CITES: [-1, -1]}], ids=str)
def test_nodes_of_several_types(make_loader, kind, num_neighbors):
    case = hetero()
    nodes = torch.randperm(case.num_nodes[kind])
    options = {"num_neighbors": num_neighbors, "input_nodes": (kind, nodes), "batch_size": 4}
    assert_like_stock(make_loader(case.dataset(), **options), stock_nodes(case.in_memory(), **options))


@needs_pyg_lib
@pytest.mark.parametrize("make_loader", NODE_LOADERS)
@pytest.mark.parametrize("seeds", [torch.randperm(40), torch.tensor([3, 3, 7, 3, 9])], ids=["once", "repeated"])
def test_disjoint_nodes(make_loader, seeds):
    case = homogeneous()
    options = {"num_neighbors": [-1, -1], "input_nodes": seeds, "batch_size": 4, "disjoint": True}
    assert_like_stock(make_loader(case.dataset(), **options), stock_nodes(case.in_memory(), **options))


@needs_pyg_lib
@pytest.mark.parametrize("make_loader", NODE_LOADERS)
@pytest.mark.parametrize("kind", [A, B])
def test_disjoint_nodes_of_several_types(make_loader, kind):
    case = hetero()
    options = {"num_neighbors": [-1, -1], "input_nodes": (kind, torch.arange(9)), "batch_size": 4, "disjoint": True}
    assert_like_stock(make_loader(case.dataset(), **options), stock_nodes(case.in_memory(), **options))


@needs_pyg_lib
@pytest.mark.parametrize("kind", [A, B])
@pytest.mark.parametrize("disjoint", [False, True])
def test_types_that_come_in_another_order_than_that_of_their_names(kind, disjoint):
    case, data = hetero(), pyg().HeteroData()
    for name in (B, A):
        data[name].x = torch.from_numpy(case.x(name))
    for triple in (REV, WRITES, CITES):
        data[triple].edge_index = torch.from_numpy(np.stack(case.edges[triple]))
    options = {"num_neighbors": [-1, -1], "input_nodes": kind, "batch_size": 4, "disjoint": disjoint}
    assert_like_stock(loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options))


@pytest.mark.parametrize("make_loader", NODE_LOADERS)
@pytest.mark.parametrize(
    ("case", "seeds"), [(homogeneous(), torch.arange(9)), (hetero(), (B, torch.arange(9)))], ids=["one type", "several"]
)
@pytest.mark.parametrize("num_neighbors", [[], [0], [0, -1]], ids=str)
@needs_pyg_lib
def test_hops_that_lead_nowhere(make_loader, case, seeds, num_neighbors):
    options = {"num_neighbors": num_neighbors, "input_nodes": seeds, "batch_size": 4}
    assert_like_stock(make_loader(case.dataset(), **options), stock_nodes(case.in_memory(), **options))


@pytest.mark.parametrize(
    "options",
    [
        {"input_nodes": None},
        {"input_nodes": [5, 6, 7]},
        {"input_nodes": torch.tensor([5, 6], dtype=torch.int32)},
        {"input_nodes": torch.arange(40), "input_id": torch.arange(40) + 100},
        {"input_nodes": torch.arange(40) % 2 == 0, "input_id": torch.arange(20) + 100},
        {"input_nodes": torch.arange(40), "drop_last": True},
        {"input_nodes": torch.arange(40), "replace": True},  # all neighbours are taken once all the same
        {"input_nodes": torch.arange(6), "batch_sampler": [[3, 0], [5]]},
        {"input_nodes": torch.arange(6), "transform": lambda batch: batch.subgraph(torch.arange(3))},
    ],
    ids=lambda options: "-".join(options),
)
def test_seeds_and_options_of_every_kind(options):
    data = homogeneous().in_memory()
    options = {"num_neighbors": [-1, -1], **options}
    if "batch_sampler" not in options:
        options["batch_size"] = 7
    assert_like_stock(loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options))


@needs_pyg_lib
def test_parallel_edges_and_loops():
    torch.manual_seed(0)
    ends = torch.randint(10, (2, 80))
    ends = ends[:, ends[0].argsort(stable=True)]
    data = pyg().Data(x=torch.rand(10, 2), edge_index=ends, edge_attr=torch.arange(80.0)[:, None])
    options = {"num_neighbors": [-1, -1], "batch_size": 3}
    assert_like_stock(loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options))


@needs_pyg_lib
@pytest.mark.parametrize("disjoint", [False, True])
def test_edges_in_any_order_give_the_same_hops(disjoint):
    """Within a hop PyG follows the order of the input, we that of the neighbours' ids."""
    data = homogeneous(60, 240).in_memory()
    order = torch.randperm(data.num_edges)
    data.edge_index, data.edge_attr = data.edge_index[:, order], data.edge_attr[order]
    options = {"num_neighbors": [-1, -1], "batch_size": 7, "disjoint": disjoint}
    ours, stock = loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options)
    assert_like_stock(ours, stock, in_any_order_of=data)


@needs_pyg_lib
def test_edges_in_any_order_give_the_same_hops_of_several_types():
    data = hetero().in_memory()
    for triple in data.edge_types:
        order = torch.randperm(data[triple].num_edges)
        for name in ("edge_index", "edge_attr"):
            data[triple][name] = data[triple][name][..., order] if name == "edge_index" else data[triple][name][order]
    options = {"num_neighbors": [-1, -1], "input_nodes": A, "batch_size": 4}
    ours, stock = loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options)
    assert_like_stock(ours, stock, in_any_order_of=data)


@needs_pyg_lib
@pytest.mark.parametrize("make_loader", NODE_LOADERS)
@pytest.mark.parametrize("disjoint", [False, True])
def test_bidirectional(make_loader, disjoint):
    """Where there is an edge and its reverse, PyG takes either's id for both, we the lower one."""
    case = homogeneous(60, 240)
    kept = case.src < case.dst  # so that no edge has its reverse
    case.src, case.dst = case.src[kept], case.dst[kept]
    options = {"num_neighbors": [-1, -1], "batch_size": 7, "disjoint": disjoint, "subgraph_type": "bidirectional"}
    options["input_nodes"] = torch.arange(60)
    ours, stock = make_loader(case.dataset(), **options), stock_nodes(case.in_memory(), **options)
    assert_like_stock(ours, stock, leave_out=["num_sampled_nodes"])


# Laws. One node with six neighbours is the seed of many trees.

DRAWS = 4000
STAR = pyg().Data(x=torch.zeros(7, 1), edge_index=torch.tensor([[1, 2, 3, 4, 5, 6], [0] * 6]))


def drawn(loader, fanout):
    """The edges that were drawn for each tree, in order of id."""
    batch = next(iter(loader))
    return batch.e_id[torch.argsort(batch.edge_index[1] * 100 + batch.e_id)].reshape(DRAWS, fanout).numpy()


def both_drawn(data, fanout, **options):
    torch.manual_seed(0)
    options |= {"num_neighbors": [fanout], "input_nodes": torch.zeros(DRAWS, dtype=torch.long), "batch_size": DRAWS}
    options["disjoint"] = True
    ours = loaders.NeighborLoader(converted(data), seed=0, **options)
    return drawn(ours, fanout), drawn(stock_nodes(data, **options), fanout)


def codes(picks):
    return picks @ 10 ** np.arange(picks.shape[1])


def assert_same_law(ours, stock):
    both = np.concatenate([codes(ours), codes(stock)])
    assert_independent(both, np.repeat([0, 1], DRAWS))


@needs_pyg_lib
def test_neighbours_are_drawn_uniformly_without_repeats():
    ours, stock = both_drawn(STAR, 2)
    for picks in (ours, stock):
        assert_uniform_inclusion(np.bincount(picks.ravel(), minlength=6), DRAWS, 2)
        pairs = {10 * b + a: 1 / 15 for a, b in itertools.combinations(range(6), 2)}
        assert_law(codes(picks), pairs)
    assert_same_law(ours, stock)


@needs_pyg_lib
def test_neighbours_are_drawn_uniformly_with_repeats():
    ours, stock = both_drawn(STAR, 2, replace=True)
    law = {10 * b + a: (1 if a == b else 2) / 36 for a, b in itertools.combinations_with_replacement(range(6), 2)}
    for picks in (ours, stock):
        assert_law(codes(picks), law)
    assert_same_law(ours, stock)


@needs_pyg_lib
def test_with_repeats_a_fanout_above_the_degree_is_drawn_all_the_same():
    ours, stock = both_drawn(STAR, 8, replace=True)
    for picks in (ours, stock):
        assert_law(picks.ravel(), dict.fromkeys(range(6), 1 / 6))

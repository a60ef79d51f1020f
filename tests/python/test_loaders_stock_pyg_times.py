"""Temporal batches are those of stock PyG: times of nodes or of edges, of all types or of some."""

import numpy as np
import pytest
import torch

from laws import assert_law
from pyg_cases import CITES, REV, WRITES, A, B, hetero, homogeneous
from stock_pyg import (
    LINK_LOADERS,
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

# Ours list neighbours in order of id where nodes have the times, PyG in order of time; where both rise, they agree.
RISING = torch.arange(60) * 3
STRATEGIES = [([-1, -1], "uniform"), ([2, 2], "last"), ([1, -1], "last"), ([9, 9], "uniform")]


def timed_nodes(times):
    data = homogeneous(60, 240).in_memory()
    data.time = times
    return data


def timed_edges(seed=0, ties=False):
    data = homogeneous(60, 240, seed).in_memory()
    rng = torch.Generator().manual_seed(seed)
    count = data.num_edges
    drawn = torch.randint(20, (count,), generator=rng) if ties else torch.randperm(count, generator=rng)
    data.edge_time = drawn
    return data


def given(count, latest):
    """Seeds with times of their own."""
    rng = torch.Generator().manual_seed(1)
    return {
        "input_nodes": torch.randperm(60, generator=rng)[:count],
        "input_time": torch.randint(latest, (count,), generator=rng),
        "batch_size": 7,
    }


@pytest.mark.parametrize("make_loader", NODE_LOADERS)
@pytest.mark.parametrize(("num_neighbors", "strategy"), STRATEGIES[:3], ids=str)
@pytest.mark.parametrize(
    "seeds", [{"input_nodes": torch.arange(60), "batch_size": 7}, given(40, 180)], ids=["own", "given"]
)
def test_times_of_nodes(make_loader, num_neighbors, strategy, seeds):
    data = timed_nodes(RISING)
    options = {"num_neighbors": num_neighbors, "time_attr": "time", "temporal_strategy": strategy, **seeds}
    assert_like_stock(make_loader(converted(data), **options), stock_nodes(data, **options))


@pytest.mark.parametrize(("num_neighbors", "strategy"), STRATEGIES, ids=str)
def test_times_of_nodes_in_any_order(num_neighbors, strategy):
    data = timed_nodes(torch.randperm(60, generator=torch.Generator().manual_seed(0)))
    options = {"num_neighbors": num_neighbors, "time_attr": "time", "temporal_strategy": strategy, "batch_size": 7}
    if strategy == "uniform" and num_neighbors != [-1, -1]:
        assert np.bincount(data.edge_index[1]).max() <= num_neighbors[0]  # so that nothing is left to chance
    ours, stock = loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options)
    assert_like_stock(ours, stock, in_any_order_of=data)


def test_the_last_of_nodes_with_the_same_time_is_that_with_the_highest_id():
    """PyG takes the last in the order of its input, which is that of ids here."""
    data = timed_nodes(torch.arange(60) // 4)
    options = {"num_neighbors": [2, 1], "time_attr": "time", "temporal_strategy": "last", "batch_size": 7}
    assert_like_stock(loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options))


@pytest.mark.parametrize("make_loader", NODE_LOADERS)
@pytest.mark.parametrize(("num_neighbors", "strategy"), STRATEGIES[:3], ids=str)
@pytest.mark.parametrize("ties", [False, True])
def test_times_of_edges(make_loader, num_neighbors, strategy, ties):
    data = timed_edges(ties=ties)
    seeds = given(40, 20 if ties else 240)
    options = {"num_neighbors": num_neighbors, "time_attr": "edge_time", "temporal_strategy": strategy, **seeds}
    ours, stock = make_loader(converted(data), **options), stock_nodes(data, **options)
    # Beside stores PyG leaves attributes of edges out.
    assert_like_stock(ours, stock, leave_out=() if make_loader is loaders.NeighborLoader else ["edge_time"])


def test_times_of_edges_under_another_name():
    data = timed_edges()
    data.when = data.edge_time
    del data.edge_time
    options = {"num_neighbors": [-1, -1], "time_attr": "when", **given(40, 240)}
    assert_like_stock(loaders.NeighborLoader(converted(data, time="when"), **options), stock_nodes(data, **options))


@pytest.mark.parametrize("name", ["time", "edge_time"])
@pytest.mark.parametrize(("num_neighbors", "strategy"), STRATEGIES[:3], ids=str)
def test_where_nodes_and_edges_have_times_the_name_decides(name, num_neighbors, strategy):
    """Our lists are in the order of the edges' times then, whichever count."""
    data = timed_edges()
    data.time = RISING
    options = {"num_neighbors": num_neighbors, "temporal_strategy": strategy, "time_attr": name, **given(40, 200)}
    ours, stock = loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options)
    assert_like_stock(ours, stock, in_any_order_of=data)


def test_seeds_without_edges():
    data = pyg().Data(x=torch.rand(9, 2), time=torch.arange(9), edge_index=torch.tensor([[0, 1], [1, 2]]))
    options = {"num_neighbors": [-1, -1], "time_attr": "time", "input_nodes": torch.tensor([8, 2, 7]), "batch_size": 3}
    assert_like_stock(loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options))


def on_nodes(*kinds):
    data = hetero().in_memory()
    for kind in kinds:
        data[kind].time = torch.arange(data[kind].num_nodes) * (2 if kind == A else 1)
    return data


def on_edges(*triples):
    data = hetero().in_memory()
    for at, triple in enumerate(triples):
        rng = torch.Generator().manual_seed(at)
        data[triple].edge_time = torch.randperm(data[triple].num_edges, generator=rng)
    return data


@pytest.mark.parametrize("make_loader", NODE_LOADERS)
@pytest.mark.parametrize("kind", [A, B])
@pytest.mark.parametrize("timed", [[A, B], [B], [A]], ids=str)
def test_times_of_nodes_of_some_types(make_loader, kind, timed):
    data = on_nodes(*timed)
    count = data[kind].num_nodes
    options = {"num_neighbors": [-1, -1], "input_nodes": (kind, torch.arange(count)), "batch_size": 4}
    options["time_attr"] = "time"
    if kind not in timed:
        options["input_time"] = torch.arange(count) * (30 // count)
    assert_like_stock(make_loader(converted(data), **options), stock_nodes(data, **options))


@pytest.mark.parametrize("timed", [[WRITES], [REV, CITES], [WRITES, REV, CITES]], ids=lambda types: str(len(types)))
@pytest.mark.parametrize("kind", [A, B])
@pytest.mark.parametrize("last", [False, True])
def test_times_of_edges_of_some_types(kind, timed, last):
    data = on_edges(*timed)
    count = data[kind].num_nodes
    options = {"input_nodes": kind, "input_time": torch.arange(count) * (60 // count), "batch_size": 4}
    options |= {"num_neighbors": [-1, -1], "time_attr": "edge_time"}
    if last:  # of what has no times both draw any, so all of it is asked for
        options["num_neighbors"] = {triple: [2, 1] if triple in timed else [-1, -1] for triple in data.edge_types}
        options["temporal_strategy"] = "last"
    assert_like_stock(loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options))


@pytest.mark.parametrize("seed_time", [None, torch.tensor([9, 0, 5, 5, 1])], ids=["own", "given"])
def test_seeds_of_a_type_without_edges(seed_time):
    data = on_nodes(B)
    data["lonely"].x, data["lonely"].time = torch.rand(5, 2), torch.arange(5)
    options = {"num_neighbors": [-1, -1], "input_nodes": "lonely", "time_attr": "time", "batch_size": 2}
    options["input_time"] = seed_time
    assert_like_stock(loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options))


@pytest.mark.parametrize("make_loader", LINK_LOADERS)
@pytest.mark.parametrize(("num_neighbors", "strategy"), STRATEGIES[:3], ids=str)
@pytest.mark.parametrize("name", ["time", "edge_time"])
def test_links(make_loader, num_neighbors, strategy, name):
    data = timed_edges() if name == "edge_time" else timed_nodes(RISING)
    links = data.edge_index[:, ::5]
    times = torch.randint(0, 200, (links.shape[1],), generator=torch.Generator().manual_seed(0))
    options = {"edge_label_index": links, "edge_label_time": times, "time_attr": name, "batch_size": 9}
    options |= {"num_neighbors": num_neighbors, "temporal_strategy": strategy}
    ours, stock = make_loader(converted(data), **options), stock_links(data, **options)
    leave_out = () if make_loader is loaders.LinkNeighborLoader else ["edge_time"]
    assert_like_stock(ours, stock, leave_out=leave_out)


@pytest.mark.parametrize("make_loader", LINK_LOADERS)
@pytest.mark.parametrize("triple", [WRITES, REV, CITES], ids=lambda triple: triple[1])
@pytest.mark.parametrize("data", [on_nodes(A, B), on_nodes(B), on_edges(WRITES)], ids=["nodes", "papers", "writes"])
def test_links_of_several_types(make_loader, triple, data):
    links = data[triple].edge_index[:, ::3]
    times = torch.randint(0, 50, (links.shape[1],), generator=torch.Generator().manual_seed(0))
    options = {"edge_label_index": (triple, links), "edge_label_time": times, "batch_size": 5}
    options |= {"num_neighbors": [-1, -1], "time_attr": "edge_time" if "edge_time" in data[WRITES] else "time"}
    ours, stock = make_loader(converted(data), **options), stock_links(data, **options)
    leave_out = () if make_loader is loaders.LinkNeighborLoader else ["edge_time"]
    assert_like_stock(ours, stock, leave_out=leave_out)


@pytest.mark.parametrize("name", ["time", "edge_time"])
def test_of_neighbours_up_to_the_time_each_is_drawn_with_the_same_chance(name):
    """Six neighbours, four of them in time."""
    count = 4000
    data = pyg().Data(x=torch.zeros(7, 1), edge_index=torch.tensor([[1, 2, 3, 4, 5, 6], [0] * 6]))
    data.time, data.edge_time = torch.tensor([0, 5, 1, 9, 2, 7, 3]), torch.tensor([5, 1, 9, 2, 7, 3])
    options = {"num_neighbors": [2], "input_nodes": torch.zeros(count, dtype=torch.long), "batch_size": count}
    options |= {"input_time": torch.full((count,), 5), "time_attr": name}
    torch.manual_seed(0)
    for loader in (loaders.NeighborLoader(converted(data), seed=0, **options), stock_nodes(data, **options)):
        batch = next(iter(loader))
        pairs = batch.n_id[batch.edge_index[0]].reshape(count, 2).sort(1).values
        codes = (pairs[:, 0] * 10 + pairs[:, 1]).tolist()
        assert_law(codes, dict.fromkeys([12, 14, 16, 24, 26, 46], 1 / 6))

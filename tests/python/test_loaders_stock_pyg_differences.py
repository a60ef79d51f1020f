"""Where batches differ from stock PyG's, on purpose or because PyG is wrong: both sides, so that the list stays true."""

import numpy as np
import pytest
import torch

from pyg_cases import CITES, REV, WRITES, A, B, hetero, homogeneous
from stock_pyg import (
    assert_like_stock,
    contents,
    converted,
    loaders,
    needs_pyg_lib,
    pyg,
    stock_links,
    stock_nodes,
    without_warning,
)

pytestmark = [without_warning, needs_pyg_lib]


def edges_of(batch):
    """The ends of a batch's edges as ids of nodes."""
    return [tuple(ends) for ends in batch.n_id[batch.edge_index].t().tolist()]


def first(loader):
    return next(iter(loader))


def test_of_repeated_seeds_pyg_gives_edges_that_are_not_there():
    data = homogeneous().in_memory()
    there = {tuple(ends) for ends in data.edge_index.t().tolist()}
    options = {"num_neighbors": [-1], "input_nodes": torch.tensor([1, 1, 2]), "batch_size": 3}
    ours, stock = first(loaders.NeighborLoader(converted(data), **options)), first(stock_nodes(data, **options))
    assert set(edges_of(ours)) <= there
    assert not set(edges_of(stock)) <= there
    assert ours.n_id.tolist() == stock.n_id.tolist()


@pytest.mark.parametrize("triple", [None, WRITES], ids=["one type", "two"])
def test_with_a_part_of_a_negative_pyg_counts_destinations_to_other_links(triple):
    data = homogeneous().in_memory() if triple is None else hetero().in_memory()
    ends = (data if triple is None else data[triple]).edge_index[:, :4]
    options = {"num_neighbors": [0], "batch_size": 4, "neg_sampling_ratio": 0.5, "disjoint": True}
    options["edge_label_index"] = ends if triple is None else (triple, ends)
    found = []
    for loader in (loaders.LinkNeighborLoader(converted(data), **options), stock_links(data, **options)):
        batch = first(loader)
        dst, links = (batch, batch) if triple is None else (batch[B], batch[triple])
        found.append(dst["batch"][links.edge_label_index[1]].tolist())
    assert found == [[0, 1, 2, 3, 0, 1], [2, 3, 0, 1, 2, 3]]


def star(weights):
    count = len(weights)
    ends = torch.tensor([list(range(1, count + 1)), [0] * count])
    return pyg().Data(x=torch.zeros(count + 1, 1), edge_index=ends, edge_weight=weights)


@pytest.mark.parametrize("fanout", [-1, 3, 2])
def test_edges_of_weight_0_are_never_drawn(fanout):
    data = star(torch.tensor([0.0, 0.0, 1.0]))
    options = {"num_neighbors": [fanout], "weight_attr": "edge_weight", "input_nodes": [0]}
    ours, stock = first(loaders.NeighborLoader(converted(data), **options)), first(stock_nodes(data, **options))
    assert ours.e_id.tolist() == [2]
    assert len(stock.e_id) == (2 if fanout == 2 else 3)


def test_edges_that_all_have_weight_0_are_an_error():
    data = star(torch.zeros(3))
    options = {"num_neighbors": [2], "weight_attr": "edge_weight", "input_nodes": [0]}
    with pytest.raises(ValueError, match="node 0 has 3 edges and all their weights are 0"):
        first(loaders.NeighborLoader(converted(data), **options))
    assert len(first(stock_nodes(data, **options)).e_id) == 2
    with pytest.raises(RuntimeError, match="invalid multinomial distribution"):
        first(stock_nodes(data, replace=True, **options))


@pytest.mark.parametrize(
    ("weights", "wrong"),
    [(torch.ones(3, dtype=torch.long), "not implemented for 'Long'"), (torch.ones(3, 1), None)],
    ids=["integers", "a column"],
)
def test_weights_may_be_integers_or_a_column(weights, wrong):
    data = star(weights)
    options = {"num_neighbors": [1], "weight_attr": "edge_weight", "input_nodes": [0]}
    assert len(first(loaders.NeighborLoader(converted(data), **options)).e_id) == 1
    if wrong is not None:
        with pytest.raises(NotImplementedError, match=wrong):
            first(stock_nodes(data, **options))
    else:
        assert first(stock_nodes(data, **options)).e_id.tolist() == [0, 0, 0]  # one edge was asked for


def test_weights_and_times_go_together():
    data = star(torch.tensor([1.0, 0.0, 1.0]))
    data.time = torch.arange(4)
    options = {"num_neighbors": [2], "weight_attr": "edge_weight", "time_attr": "time", "input_nodes": [0]}
    options["input_time"] = torch.tensor([2])
    assert first(loaders.NeighborLoader(converted(data), **options)).e_id.tolist() == [0]
    with pytest.raises(RuntimeError, match="Biased node temporal sampling not yet supported"):
        first(stock_nodes(data, **options))


@pytest.mark.parametrize(
    "times", [torch.arange(40, dtype=torch.int32), torch.arange(40)[:, None]], ids=["int32", "column"]
)
def test_times_may_be_narrow_or_a_column(times):
    data = homogeneous().in_memory()
    data.time = times
    options = {"num_neighbors": [-1], "time_attr": "time", "batch_size": 7}
    plain = homogeneous().in_memory()
    plain.time = torch.arange(40)
    ours = loaders.NeighborLoader(converted(data), **options)
    assert_like_stock(ours, stock_nodes(plain, **options), leave_out=["time"])
    with pytest.raises(RuntimeError):
        first(stock_nodes(data, **options))


def test_indices_are_int64():
    data = homogeneous().in_memory()
    data.edge_index = data.edge_index.int()
    options = {"num_neighbors": [-1, -1], "batch_size": 7}
    for ours, stock in zip(
        loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options), strict=True
    ):
        for name in ("n_id", "edge_index"):
            assert (ours[name].dtype, stock[name].dtype) == (torch.int64, torch.int32)
            ours[name] = ours[name].int()
        assert contents(ours) == contents(stock)


def test_int32_and_times_of_several_types():
    data = hetero().in_memory()
    data[B].time = torch.arange(30)
    for triple in data.edge_types:
        data[triple].edge_index = data[triple].edge_index.int()
    options = {"num_neighbors": [-1], "time_attr": "time", "input_nodes": B, "batch_size": 4}
    assert len(list(loaders.NeighborLoader(converted(data), **options))) == 8
    with pytest.raises(RuntimeError, match="expected scalar type Int but found Long"):
        first(stock_nodes(data, **options))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_come_as_float32_unless_told(dtype):
    data = homogeneous().in_memory()
    data.x = data.x.to(dtype)
    options = {"num_neighbors": [-1], "batch_size": 7}
    ours = first(loaders.NeighborLoader(converted(data), **options))
    assert (ours.x.dtype, first(stock_nodes(data, **options)).x.dtype) == (torch.float32, dtype)
    assert_like_stock(loaders.NeighborLoader(converted(data), dtype="stored", **options), stock_nodes(data, **options))


def test_a_batch_of_data_without_edges_has_an_empty_edge_index():
    data = pyg().Data(x=torch.rand(9, 2))
    options = {"num_neighbors": [-1], "batch_size": 4}
    ours, stock = loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options)
    assert first(ours).edge_index.shape == (2, 0)
    assert first(stock).edge_index is None
    assert_like_stock(ours, stock, leave_out=["edge_index"])


def test_hops_are_counted_where_there_are_no_edge_types():
    data = pyg().HeteroData()
    data["a"].x, data["b"].x = torch.rand(9, 2), torch.rand(5, 2)
    options = {"num_neighbors": [-1, -1], "input_nodes": "a", "batch_size": 4}
    ours, stock = loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options)
    assert (first(ours)["a"].num_sampled_nodes, first(stock)["a"].num_sampled_nodes) == ([4, 0, 0], [4])
    assert_like_stock(ours, stock, leave_out=["num_sampled_nodes"])


def test_an_edge_and_its_reverse_have_the_lower_id_of_both():
    """PyG gives each of them the id of one, whichever comes to hand."""
    data = homogeneous(60, 240).in_memory()
    dataset, options = converted(data), {"num_neighbors": [-1, -1], "batch_size": 7}
    both_ways = {"subgraph_type": "bidirectional", **options}
    by_ends = {tuple(ends): at for at, ends in enumerate(data.edge_index.t().tolist())}
    differ = 0
    for sampled, ours, stock in zip(
        loaders.NeighborLoader(dataset, **options),
        loaders.NeighborLoader(dataset, **both_ways),
        stock_nodes(data, **both_ways),
        strict=True,
    ):
        assert edges_of(ours) == edges_of(stock)
        assert "num_sampled_nodes" in ours
        assert "num_sampled_nodes" not in stock
        there = set(sampled.e_id.tolist())
        for (src, dst), own, other in zip(edges_of(ours), ours.e_id.tolist(), stock.e_id.tolist(), strict=True):
            either = {by_ends.get((src, dst)), by_ends.get((dst, src))} & there
            assert other in either
            assert own == min(either)
            differ += own != other
    assert differ > 0


def undirected():
    """Of each type but ``cites`` there is the reverse, edge by edge."""
    data = hetero().in_memory()
    del data[REV]
    data[REV].edge_index = data[WRITES].edge_index.flip(0)
    data[REV].edge_attr = data[WRITES].edge_attr
    return data


@pytest.mark.parametrize("kind", [A, B])
def test_bidirectional_samples_of_several_types_keep_ids_and_attributes(kind):
    data = undirected()
    options = {"num_neighbors": [-1, -1], "input_nodes": kind, "batch_size": 4, "subgraph_type": "bidirectional"}
    for ours, stock in zip(
        loaders.NeighborLoader(converted(data), **options), stock_nodes(data, **options), strict=True
    ):
        for triple in (WRITES, REV, CITES):
            src, dst = ours[triple[0]].n_id, ours[triple[2]].n_id
            assert stock[triple[0]].n_id.tolist() == src.tolist()
            pairs = [set(map(tuple, batch[triple].edge_index.t().tolist())) for batch in (ours, stock)]
            assert pairs[0] == pairs[1]
            assert stock[triple].get("e_id") is stock[triple].get("edge_attr") is None
            row, col = ours[triple].edge_index
            ends = torch.stack([src[row], dst[col]])
            there = data[triple].edge_index[:, ours[triple].e_id]
            assert triple == CITES or torch.equal(there, ends)
            assert torch.equal(ours[triple].edge_attr, data[triple].edge_attr[ours[triple].e_id])


def test_a_reverse_must_be_an_edge():
    """PyG adds the reverse of an edge to the type of reverses though the data has none there."""
    data = pyg().HeteroData()
    data[A].x, data[B].x = torch.rand(2, 1), torch.rand(2, 1)
    data[WRITES].edge_index = torch.tensor([[0, 1], [0, 0]])
    data[REV].edge_index = torch.tensor([[0], [1]])
    options = {"num_neighbors": [-1], "input_nodes": (B, [0]), "subgraph_type": "bidirectional"}
    ours, stock = first(loaders.NeighborLoader(converted(data), **options)), first(stock_nodes(data, **options))
    assert (ours[REV].edge_index.tolist(), stock[REV].edge_index.tolist()) == ([[0], [1]], [[0, 0], [0, 1]])


def test_the_same_seed_draws_the_same_of_several_types():
    """Threads of pyg-lib share one source of random numbers, so that ``manual_seed`` does not decide what PyG draws."""
    dataset = converted(hetero().in_memory())
    options = {"num_neighbors": [2, 2], "input_nodes": A, "batch_size": 4}

    def drawn():
        torch.manual_seed(0)
        return [contents(batch) for batch in loaders.NeighborLoader(dataset, **options)]

    assert drawn() == drawn()


def test_times_and_weights_of_edges_are_chosen_when_data_is_converted():
    data = homogeneous().in_memory()
    data.when, data.strength = torch.arange(data.num_edges), torch.rand(data.num_edges)
    options = {"num_neighbors": [-1], "batch_size": 7}
    timed = {"time_attr": "when", "input_nodes": torch.arange(40), "input_time": torch.arange(40), **options}
    for given, told in ((timed, "time='when'"), ({"weight_attr": "strength", **options}, "weight='strength'")):
        with pytest.raises(ValueError, match=f"convert the data with {told}"):
            loaders.NeighborLoader(converted(data), **given)
        ours = loaders.NeighborLoader(converted(data, time="when", weight="strength"), **given)
        assert_like_stock(ours, stock_nodes(data, **given), in_any_order_of=data)


def test_a_list_of_booleans_is_no_list_of_ids():
    data = homogeneous().in_memory()
    options = {"num_neighbors": [-1], "batch_size": 40, "input_nodes": np.arange(40) % 2 == 0}
    assert set(first(stock_nodes(data, **options)).n_id[:40].tolist()) == {0, 1}
    assert first(loaders.NeighborLoader(converted(data), **options)).n_id[:20].tolist() == list(range(0, 40, 2))

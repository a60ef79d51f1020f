"""Batches of links are those of stock PyG; of negatives, which are drawn, their number, order and law."""

import math

import numpy as np
import pytest
import torch

from laws import assert_independent, assert_law, assert_uniform
from pyg_cases import CITES, REV, WRITES, A, B, hetero, homogeneous
from stock_pyg import (
    LINK_LOADERS,
    assert_like_stock,
    converted,
    loaders,
    needs_pyg_lib,
    pyg,
    stock_links,
    without_warning,
)

pytestmark = without_warning

TYPES = pytest.mark.parametrize("triple", [WRITES, REV, CITES], ids=lambda triple: triple[1])


@pytest.mark.parametrize("make_loader", LINK_LOADERS)
@pytest.mark.parametrize("labelled", [False, True])
def test_links(make_loader, labelled):
    case = homogeneous()
    ends = case.in_memory().edge_index
    options = {"num_neighbors": [-1, -1], "edge_label_index": ends, "batch_size": 9}
    options["edge_label"] = torch.arange(ends.shape[1]) % 4 if labelled else None
    assert_like_stock(make_loader(case.dataset(), **options), stock_links(case.in_memory(), **options))


@pytest.mark.parametrize("make_loader", LINK_LOADERS)
@TYPES
def test_links_of_several_types(make_loader, triple):
    case = hetero()
    ends = case.in_memory()[triple].edge_index
    options = {"num_neighbors": [-1, -1], "edge_label_index": (triple, ends), "batch_size": 9}
    assert_like_stock(make_loader(case.dataset(), **options), stock_links(case.in_memory(), **options))


@needs_pyg_lib
@pytest.mark.parametrize("make_loader", LINK_LOADERS)
@pytest.mark.parametrize("num_neighbors", [[-1, -1], []], ids=str)
def test_disjoint_links(make_loader, num_neighbors):
    case = homogeneous()
    ends = case.in_memory().edge_index[:, ::3]
    options = {"num_neighbors": num_neighbors, "edge_label_index": ends, "batch_size": 9, "disjoint": True}
    assert_like_stock(make_loader(case.dataset(), **options), stock_links(case.in_memory(), **options))


@needs_pyg_lib
@pytest.mark.parametrize("make_loader", LINK_LOADERS)
@TYPES
def test_disjoint_links_of_several_types(make_loader, triple):
    case = hetero()
    ends = case.in_memory()[triple].edge_index[:, ::3]
    options = {"num_neighbors": [-1, -1], "edge_label_index": (triple, ends), "batch_size": 9, "disjoint": True}
    options["edge_label"] = torch.arange(ends.shape[1])
    assert_like_stock(make_loader(case.dataset(), **options), stock_links(case.in_memory(), **options))


LINKS = homogeneous().in_memory().edge_index[:, ::4]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"edge_label_index": LINKS.int()},
        {"edge_label_index": LINKS[:, [0, 0, 1]]},
        {"edge_label_index": LINKS, "edge_label": torch.rand(LINKS.shape[1], 2)},
        {"edge_label_index": LINKS, "input_id": torch.arange(LINKS.shape[1]) + 100},
        {"edge_label_index": LINKS, "drop_last": True},
    ],
    ids=lambda options: "-".join(options) or "all edges",
)
def test_links_and_options_of_every_kind(options):
    data = homogeneous().in_memory()
    options = {"num_neighbors": [-1, -1], "batch_size": 5 if "drop_last" in options else 2, **options}
    assert_like_stock(loaders.LinkNeighborLoader(converted(data), **options), stock_links(data, **options))


BETWEEN = torch.stack([torch.arange(12), torch.arange(12) * 2])


@needs_pyg_lib
@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize(
    "links",
    [
        WRITES,
        (CITES, None),
        ((A, "likes", B), BETWEEN),  # a type that the data has no edges of
        ((B, A), BETWEEN.flip(0)),  # the only one between these
        ((B, "hates", B), BETWEEN),
    ],
    ids=["all", "all of a pair", "new", "pair", "new within a type"],
)
def test_links_of_a_type(links, disjoint):
    data = hetero().in_memory()
    options = {"num_neighbors": [-1, -1], "edge_label_index": links, "batch_size": 9, "disjoint": disjoint}
    assert_like_stock(loaders.LinkNeighborLoader(converted(data), **options), stock_links(data, **options))


@needs_pyg_lib
def test_bidirectional_links():
    """Where there is an edge and its reverse, PyG takes either's id for both, we the lower one."""
    case = homogeneous(60, 240)
    kept = case.src < case.dst
    case.src, case.dst = case.src[kept], case.dst[kept]
    options = {"num_neighbors": [-1, -1], "edge_label_index": case.in_memory().edge_index, "batch_size": 9}
    options["subgraph_type"] = "bidirectional"
    ours = loaders.LinkNeighborLoader(case.dataset(), **options)
    assert_like_stock(ours, stock_links(case.in_memory(), **options), leave_out=["num_sampled_nodes"])


# Negatives.


def of(batch, triple, end):
    """What a batch has of the nodes at an end of links."""
    return batch if triple is None else batch[triple[0] if end == 0 else triple[2]]


def around(batch, triple, places, end):
    """The sampled edges that lead to some nodes of a batch, by id, with the node's place in the list."""
    stores = [batch] if triple is None else [batch[kind] for kind in batch.edge_types if kind[2] == triple[2 * end]]
    where = {place: at for at, place in enumerate(places.tolist())}
    found = [
        (number, where[dst], edge)
        for number, store in enumerate(stores)
        for dst, edge in zip(store.edge_index[1].tolist(), store.e_id.tolist(), strict=True)
        if dst in where
    ]
    return sorted(found)


def described(batch, triple, mode, count):
    """All that is not left to chance of a batch with negatives for ``count`` links."""
    links = batch if triple is None else batch[triple]
    src, dst = of(batch, triple, 0), of(batch, triple, 1)
    found = {"input_id": links.input_id.tolist()}
    if mode == "binary":
        ends, behind = links.edge_label_index[:, :count], links.edge_label_index[:, count:]
        found |= {"label": links.edge_label.tolist(), "negatives": behind.shape, "dtype": links.edge_label.dtype}
        found["times"] = None if links.get("edge_label_time") is None else links.edge_label_time.tolist()
    else:
        ends, behind = (src.src_index, dst.dst_pos_index), dst.dst_neg_index
        found |= {"negatives": behind.shape, "label": links.get("edge_label")}
        found["times"] = None if src.get("seed_time") is None else (src.seed_time.tolist(), dst.seed_time.tolist())
    found["links"] = src.n_id[ends[0]].tolist(), dst.n_id[ends[1]].tolist()
    if "batch" in src and src["batch"] is not None:  # disjoint: each end has a tree of its own
        found["around"] = [around(batch, triple, places, end) for end, places in enumerate(ends)]
        trees = (src["batch"][ends[0]], dst["batch"][ends[1]], dst["batch"][behind[-1] if mode == "binary" else behind])
        found["trees"] = [tree.tolist() for tree in trees]
    return found


@needs_pyg_lib
@pytest.mark.parametrize("make_loader", LINK_LOADERS)
@pytest.mark.parametrize("triple", [None, WRITES, REV, CITES], ids=lambda triple: triple and triple[1])
@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize(("mode", "amount"), [("binary", 1), ("binary", 2), ("triplet", 1), ("triplet", 3)])
def test_all_that_is_not_random_beside_negatives(make_loader, triple, disjoint, timed, mode, amount):
    data = homogeneous().in_memory() if triple is None else hetero().in_memory()
    stores = [data] if triple is None else [data[A], data[B]]
    ends = (data if triple is None else data[triple]).edge_index[:, ::4]
    options = {"num_neighbors": [-1], "batch_size": 5, "neg_sampling": {"mode": mode, "amount": amount}}
    options["edge_label_index"] = ends if triple is None else (triple, ends)
    if timed:
        for store in stores:
            store.time = torch.arange(store.num_nodes)
        options |= {"time_attr": "time", "edge_label_time": torch.arange(ends.shape[1]) + 15}
    options["disjoint"] = disjoint
    ours, stock = make_loader(converted(data), **options), stock_links(data, **options)
    for one, other in zip(ours, stock, strict=True):
        count = len((one if triple is None else one[triple]).input_id)
        assert described(one, triple, mode, count) == described(other, triple, mode, count)


@pytest.mark.parametrize("labels", [torch.arange(30) % 3, torch.arange(30) % 3 + 1, torch.arange(30.0) % 2], ids=str)
def test_labels_make_room_for_that_of_negatives(labels):
    data = homogeneous().in_memory()
    options = {"num_neighbors": [0], "batch_size": 7, "neg_sampling": "binary", "edge_label": labels}
    options["edge_label_index"] = LINKS[:, :30]
    ours, stock = loaders.LinkNeighborLoader(converted(data), **options), stock_links(data, **options)
    for one, other in zip(ours, stock, strict=True):
        assert one.edge_label.dtype == other.edge_label.dtype
        assert one.edge_label.tolist() == other.edge_label.tolist()


@pytest.mark.parametrize("amount", [0.5, 1.5, 0.1])
def test_a_part_of_a_negative_is_one_more(amount):
    data = homogeneous().in_memory()
    options = {"num_neighbors": [0], "batch_size": 7, "neg_sampling_ratio": amount, "edge_label_index": LINKS[:, :7]}
    for loader in (loaders.LinkNeighborLoader(converted(data), **options), stock_links(data, **options)):
        batch = next(iter(loader))
        assert batch.edge_label.tolist() == [1.0] * 7 + [0.0] * math.ceil(7 * amount)


# Laws.

COUNT = 6000


def both_drawn(data, triple, mode, **options):
    """Sources and destinations of the negatives of ours and of PyG's; those of triplets have none of their own."""
    link = torch.zeros(2, COUNT, dtype=torch.long)
    options = {"num_neighbors": [0], "batch_size": COUNT, **options}
    options["edge_label_index"] = link if triple is None else (triple, link)
    torch.manual_seed(0)
    for loader in (loaders.LinkNeighborLoader(converted(data), seed=0, **options), stock_links(data, **options)):
        batch = next(iter(loader))
        src, dst = of(batch, triple, 0), of(batch, triple, 1)
        if mode == "binary":
            places = (batch if triple is None else batch[triple]).edge_label_index[:, COUNT:]
            yield src.n_id[places[0]].numpy(), dst.n_id[places[1]].numpy()
        else:
            yield None, dst.n_id[dst.dst_neg_index].numpy()


@pytest.mark.parametrize("triple", [None, WRITES])
@pytest.mark.parametrize("mode", ["binary", "triplet"])
def test_negatives_are_any_nodes(triple, mode):
    data = homogeneous(15, 40).in_memory() if triple is None else hetero().in_memory()
    num_src, num_dst = (15, 15) if triple is None else (15, 30)
    for src, dst in both_drawn(data, triple, mode, neg_sampling=mode):
        assert_uniform(dst, range(num_dst))
        if src is not None:
            assert_uniform(src, range(num_src))
            assert_independent(src, dst)


@pytest.mark.parametrize("mode", ["binary", "triplet"])
def test_negatives_are_drawn_by_weight(mode):
    data = homogeneous(5, 10).in_memory()
    src_weight, dst_weight = torch.tensor([[1.0, 2, 0, 4, 1], [0.5, 0, 2.5, 1, 1]], dtype=torch.float64)
    weights = {"src_weight": src_weight, "dst_weight": dst_weight} if mode == "binary" else {"dst_weight": dst_weight}
    negatives = {"mode": mode, **weights}
    for src, dst in both_drawn(data, None, mode, neg_sampling=negatives):
        assert_law(dst, dict(enumerate((dst_weight / dst_weight.sum()).tolist())))
        if src is not None:
            assert_law(src, dict(enumerate((src_weight / src_weight.sum()).tolist())))


TIMES = np.array([4, 0, 2, 3, 2, 4, 1, 5, 0, 3])


def law_of_stock(time):
    """PyG draws again, five times, what is too young; then also what is as old as the link. The rest is the oldest."""
    after = TIMES - time
    late, old = (after > 0).mean(), (after < 0).mean()
    again = sum(late * (1 - old) ** tries for tries in range(5))
    law = ((after <= 0) + (after < 0) * again) / len(after)
    law[after.argmin()] += late * (1 - old) ** 5
    return dict(enumerate(law))


def law_of_ours(time):
    allowed = TIMES - time <= 0
    return dict(enumerate(allowed / allowed.sum()))


@needs_pyg_lib
@pytest.mark.parametrize("mode", ["binary", "triplet"])
@pytest.mark.parametrize("time", [5, 2])
def test_negatives_are_no_younger_than_their_link(mode, time):
    """Where no node is too young, the laws are one; else each node that is old enough has the same chance here."""
    data = homogeneous(10, 30).in_memory()
    data.time = torch.from_numpy(TIMES)
    options = {"time_attr": "time", "edge_label_time": torch.full((COUNT,), time), "neg_sampling": mode}
    laws = law_of_ours(time), law_of_stock(time)
    assert time == 2 or np.allclose(*(list(law.values()) for law in laws))
    for law, ends in zip(laws, both_drawn(data, None, mode, **options), strict=True):
        for end in ends if mode == "binary" else ends[1:]:
            assert_law(end, law)


@needs_pyg_lib
def test_one_type_of_links_in_a_graph_of_one_type_of_each():
    data = pyg().HeteroData()
    data["user"].x = torch.rand(20, 2)
    data["user", "to", "user"].edge_index = torch.stack([torch.arange(20), torch.arange(20).flip(0)])
    options = {"num_neighbors": [-1, -1], "edge_label_index": ("user", "to", "user"), "batch_size": 6}
    assert_like_stock(loaders.LinkNeighborLoader(converted(data), **options), stock_links(data, **options))

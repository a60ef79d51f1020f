"""Processes that share an epoch: disjoint parts, as many steps, draws of their own."""

import warnings

import numpy as np
import pytest
import torch

import graphzero as gz
from data_sets import pyg
from graphzero.loaders import LinkNeighborLoader, NeighborLoader
from graphzero.loaders._process import notes
from loader_cases import assert_holds, loader_of, with_rows, write_homogeneous

pyg()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_homogeneous(tmp_path_factory.mktemp("homogeneous"))


def parts_of(kind, data, world_size, **options):
    """The loaders of all ranks, as each makes its own."""
    return [loader_of(kind, data, rank=rank, world_size=world_size, seed=5, **options) for rank in range(world_size)]


def places(loader):
    return [batch.input_id.tolist() for batch in loader]


def joined(lists):
    return [item for items in lists for item in items]


@pytest.mark.parametrize("kind", [NeighborLoader, LinkNeighborLoader])
@pytest.mark.parametrize("drop_uneven", [False, True])
@pytest.mark.parametrize("world_size", [1, 2, 4, 7])
def test_ranks_share_the_seeds_in_as_many_steps(data, kind, world_size, drop_uneven):
    loaders = parts_of(kind, data, world_size, batch_size=5, drop_uneven_inputs=drop_uneven)
    for _ in range(2):
        found = [places(loader) for loader in loaders]
        assert {len(part) for part in found} == {len(loader) for loader in loaders} == {len(found[0])}
        assert len({tuple(map(len, part)) for part in found}) == 1
        taken = [place for part in found for batch in part for place in batch]
        if drop_uneven:
            assert len(taken) == len(set(taken)) == 90 - 90 % world_size
        else:
            assert set(taken) == set(range(90))
            assert len(taken) == -(-90 // world_size) * world_size


def test_no_two_ranks_draw_alike(data):
    """Samples are numbered across ranks, so that even the same seeds have other neighbours."""
    for rank, loader in enumerate(parts_of(NeighborLoader, data, 2, batch_size=20)):
        for epoch in range(2):
            for number, batch in enumerate(loader):
                seeds = data.train[batch.input_id]
                options = {"seed": 5, "epoch": epoch, "batch": 2 * number + rank}
                hood = gz.sample_neighbors(data.dataset.graph, seeds, [4, 3], **options)
                more = {"input_id": batch.input_id.numpy(), "batch_size": len(seeds)}
                assert_holds(batch, {**with_rows(data, hood), **more})


def test_negatives_of_ranks_differ(data):
    """The same link at every rank."""
    made = [
        LinkNeighborLoader(
            data.dataset,
            [1],
            ([3] * 40, [4] * 40),
            neg_sampling="binary",
            batch_size=20,
            rank=rank,
            world_size=2,
            seed=5,
        )
        for rank in range(2)
    ]
    drawn = [tuple(batch.n_id[batch.edge_label_index[1, 20:]].tolist()) for loader in made for batch in loader]
    assert len(set(drawn)) == len(drawn) == 2


def test_whoever_brings_an_order_has_divided_it(data):
    """As torch's DistributedSampler does."""
    found = []
    for rank in range(2):
        sampler = torch.utils.data.DistributedSampler(range(90), num_replicas=2, rank=rank)
        options = {"rank": rank, "world_size": 2, "batch_size": 10}
        loader = NeighborLoader(data.dataset, [2], data.train, sampler=sampler, **options)
        assert len(loader) == 5
        found += joined(places(loader))
    assert sorted(found) == list(range(90))
    loader = NeighborLoader(data.dataset, [2], data.train, batch_sampler=[[1, 2], [3]], rank=1, world_size=2)
    assert places(loader) == [[1, 2], [3]]


def test_a_rank_is_that_of_torch_distributed_once_it_is_there(data, tmp_path):
    """A group of this process alone; with two, see the training of both."""
    assert len(loader_of(NeighborLoader, data)) == 3
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/init", rank=0, world_size=1)
    try:
        found = loader_of(NeighborLoader, data, seed=5)
        given = loader_of(NeighborLoader, data, rank=1, world_size=2, seed=5)
    finally:
        torch.distributed.destroy_process_group()
    assert sorted(joined(places(found))) == list(range(90))
    whole = loader_of(NeighborLoader, data, seed=5)
    assert joined(places(given)) == joined(places(whole))[1::2]


def test_a_rank_goes_on_where_it_was(data):
    one, other = (loader_of(NeighborLoader, data, rank=1, world_size=2, seed=5, batch_size=10) for _ in range(2))
    whole = [batch.n_id.tolist() for batch in one]
    one.set_epoch(0)
    next(iter(one))
    other.load_state_dict(one.state_dict())
    assert [batch.n_id.tolist() for batch in other] == whole[1:]
    assert len(whole) == 5
    assert np.unique(np.concatenate(places(one))).size == 45


@pytest.fixture
def as_rank(monkeypatch):
    """Make this process one of two that torch.distributed joins."""
    monkeypatch.setattr(notes, "_noted", set())
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)

    def become(rank):
        monkeypatch.setattr(torch.distributed, "get_rank", lambda: rank)

    become(0)
    return become


def mask_of(ids):
    mask = torch.zeros(300, dtype=torch.bool)
    mask[torch.as_tensor(ids)] = True
    return mask


LISTED = {
    "ids": (NeighborLoader, lambda data: data.train[:40]),
    "mask": (NeighborLoader, lambda data: mask_of(data.train[:40])),
    "type and ids": (NeighborLoader, lambda data: ("node", data.train[:40])),
    "links": (LinkNeighborLoader, lambda data: (data.train[:40], data.train[40:80])),
    "type and links": (LinkNeighborLoader, lambda data: (("node", "to", "node"), torch.ones(2, 40).long())),
}
NAMED = {
    "split": (NeighborLoader, "train", 90),
    "type and split": (NeighborLoader, ("node", "train"), 90),
    "all": (NeighborLoader, None, 300),
    "type": (NeighborLoader, "node", 300),
    "split of links": (LinkNeighborLoader, "held out", 150),
    "all links": (LinkNeighborLoader, None, 2000),
    "type of links": (LinkNeighborLoader, ("node", "to", "node"), 2000),
}


@pytest.mark.parametrize("form", LISTED)
def test_seeds_that_are_listed_are_not_divided(data, as_rank, form):
    """As in PyG: whoever lists the seeds of a rank has divided them."""
    kind, seeds = LISTED[form]
    with pytest.warns(UserWarning, match="each of 2 ranks takes all 40 seeds.*distributed=False.*distributed=True"):
        loader = kind(data.dataset, [2], seeds(data), batch_size=10)
    assert len(loader) == 4
    assert sum(len(batch.input_id) for batch in loader) == 40


@pytest.mark.parametrize("form", NAMED)
def test_seeds_that_have_a_name_are_divided(data, as_rank, form):
    kind, seeds, count = NAMED[form]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = kind(data.dataset, [2], seeds, batch_size=10, seed=5)
        assert sum(len(batch.input_id) for batch in loader) == count // 2
        whole = kind(data.dataset, [2], seeds, batch_size=10, seed=5, distributed=False)
        assert sum(len(batch.input_id) for batch in whole) == count


def test_a_user_says_whether_to_divide_what_is_listed(data, as_rank):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = []
        for rank in range(2):
            as_rank(rank)
            found += joined(places(loader_of(NeighborLoader, data, distributed=True, seed=5)))
            own = loader_of(NeighborLoader, data, distributed=False)
            assert sorted(joined(places(own))) == list(range(90))
    assert sorted(found) == list(range(90))


def test_the_warning_is_said_once_and_by_the_first_rank(data, as_rank):
    as_rank(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader_of(NeighborLoader, data)
    as_rank(0)
    with pytest.warns(UserWarning, match="ranks"):
        loader_of(NeighborLoader, data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader_of(NeighborLoader, data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distributed": False, "rank": 0, "world_size": 2}, "rank, world_size: expected neither with distributed=F"),
        ({"distributed": True, "sampler": range(3)}, "distributed: expected it with neither sampler nor batch_sampler"),
        ({"distributed": "yes"}, "distributed: expected True, False or None, found 'yes'"),
    ],
)
def test_contradictions_about_ranks_are_refused(data, options, message):
    with pytest.raises(ValueError, match=message):
        loader_of(NeighborLoader, data, **{"shuffle": False, **options})


def test_ranks_that_have_their_own_seeds_draw_on_their_own(data, as_rank):
    """The same ids, and torch or the user has seeded all ranks alike."""
    for options in ({}, {"seed": 5}):
        drawn = []
        for rank in range(2):
            as_rank(rank)
            torch.manual_seed(3)
            loader = loader_of(NeighborLoader, data, distributed=False, shuffle=False, **options)
            drawn.append([batch.n_id.tolist() for batch in loader])
        assert all(one != other for one, other in zip(*drawn, strict=True))


def test_the_state_of_one_rank_serves_all_that_have_their_own_seeds(data, as_rank):
    """Checkpoints are often those of rank 0: each rank goes on with draws of its own."""
    options = {"distributed": False, "batch_size": 20}
    first = loader_of(NeighborLoader, data, seed=5, **options)
    next(iter(first))
    state = first.state_dict()
    assert state["seed"] == 5
    as_rank(1)
    whole = [batch.n_id.tolist() for batch in loader_of(NeighborLoader, data, seed=5, **options)]
    other = loader_of(NeighborLoader, data, seed=6, **options)
    other.load_state_dict(state)
    assert [batch.n_id.tolist() for batch in other] == whole[1:]
    assert other.state_dict()["seed"] == 5


def test_ranks_share_the_memory_of_the_machine_unless_told(data, monkeypatch):
    monkeypatch.setattr("graphzero._inputs.pipeline_request.pipeline_budget", lambda beside: 900_000_000)
    budgets = [loader.stats()["memory"]["budget"] for loader in parts_of(NeighborLoader, data, 3)]
    assert budgets == [300_000_000] * 3
    told = parts_of(NeighborLoader, data, 3, memory="70MB")[0]
    assert told.stats()["memory"]["budget"] == 70_000_000


def test_torchrun_says_how_many_ranks_share_the_machine(data, monkeypatch):
    monkeypatch.setattr("graphzero._inputs.pipeline_request.pipeline_budget", lambda beside: 900_000_000)
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 9)
    loader = loader_of(NeighborLoader, data, rank=0, world_size=9, seed=5)
    assert loader.stats()["memory"]["budget"] == 100_000_000
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    loader = loader_of(NeighborLoader, data, rank=0, world_size=9, seed=5)
    assert loader.stats()["memory"]["budget"] == 450_000_000

"""Ranks that divide an epoch compare their data and options before its first batch."""

import datetime
import gc
import threading
import time

import numpy as np
import pytest
import torch

import graphzero as gz
from data_sets import pyg
from graphzero.loaders import LinkNeighborLoader, NeighborLoader
from graphzero.loaders._process import agreement, rank_store
from loader_cases import loader_of, write_homogeneous

pyg()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_homogeneous(tmp_path_factory.mktemp("homogeneous"))


@pytest.fixture
def as_rank(monkeypatch, tmp_path):
    """Make this process one of three after the other: they have a store in common, which is all that is used."""
    joined = {"init_method": f"file://{tmp_path}/init", "timeout": datetime.timedelta(seconds=0.2)}
    torch.distributed.init_process_group("gloo", rank=0, world_size=1, **joined)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 3)
    monkeypatch.setattr(agreement, "_READING_S", 0.0)  # nobody else looks at the same time

    def become(rank):
        monkeypatch.setattr(torch.distributed, "get_rank", lambda: rank)

    become(0)
    yield become
    torch.distributed.destroy_process_group()


def loaders(data, as_rank, different=None, kind=NeighborLoader, **options):
    """Return the loaders of three ranks, of which rank 1 has other options."""
    made = []
    for rank in range(3):
        as_rank(rank)
        own = {**options, **(different or {})} if rank == 1 else options
        made.append(loader_of(kind, data, **{"distributed": True, "seed": 5, **own}))
    return made


@pytest.mark.parametrize("kind", [NeighborLoader, LinkNeighborLoader])
def test_ranks_that_have_the_same_go_on(data, as_rank, kind):
    """Also with what changes the speed alone."""
    made = loaders(data, as_rank, {"memory": "40MB", "threads": 1, "reader": "mmap", "ahead": 2}, kind)
    counts = [sum(1 for _ in loader) for loader in made]
    assert counts == [len(made[0])] * 3
    assert [sum(1 for _ in loader) for loader in made] == counts


DIFFERENT = {
    "batch_size": (
        {"batch_size": 7},
        "batch_size: expected the same on all 3 ranks.*found 40 on ranks 0 and 2.*; 7 on",
    ),
    "shuffle": ({"shuffle": False}, "shuffle: expected the same.*found True on ranks 0 and 2 .*; False on rank 1"),
    "seed": ({"seed": 6}, "seed: expected the same on all 3 ranks.*found 5 on ranks 0 and 2.*; 6 on rank 1 "),
    "replace": (
        {"replace": True},
        "replace: expected the same on all 3 ranks.*False on ranks 0 and 2.*; True on",
    ),
    "features": (
        {"features": ["y"]},
        "data: x of 'node': expected the same.*; nothing on rank 1 .*give each host a copy",
    ),
    "dtype": ({"dtype": "stored"}, "dtype: expected the same on all 3 ranks.*found None on ranks.*; stored on rank 1"),
    "form": ({"form": "torch"}, "form: expected the same on all 3 ranks"),
    "input_id": ({"input_id": np.arange(90)}, "input_id: expected the same.*; 90 with hash"),
    "labels": ({"labels": "seeds"}, "labels: expected the same.*found all on ranks 0 and 2.*; seeds on rank 1"),
    "drop_last": ({"drop_last": True}, "drop_last: expected the same.*give all of them the same arguments"),
}


@pytest.mark.parametrize("option", DIFFERENT)
def test_options_that_change_batches_must_be_the_same(data, as_rank, option):
    different, message = DIFFERENT[option]
    for loader in loaders(data, as_rank, different):
        with pytest.raises(ValueError, match=message):
            next(iter(loader))


def test_seeds_that_differ_are_named(data, as_rank):
    made = []
    for rank in range(3):
        as_rank(rank)
        ids = data.train[:40] if rank != 2 else data.train[40:80]
        made.append(NeighborLoader(data.dataset, [2], ids, distributed=True, seed=5))
    with pytest.raises(
        ValueError, match=r"input_nodes: ids: expected the same.*found 40 with hash \w+ on ranks 0 and 1 "
    ):
        next(iter(made[0]))


def test_files_of_another_conversion_are_refused(data, as_rank, tmp_path):
    """The same names and shapes; the message has both fingerprints."""
    gz.write_features(f"{tmp_path}/x.gd", np.asarray(data.nodes["x"]) + 1)
    other = gz.FeatureStore(f"{tmp_path}/x.gd")
    own = data.dataset.features("x")
    made = []
    for rank in range(3):
        as_rank(rank)
        pair = data.dataset.graph, other if rank == 2 else own
        made.append(NeighborLoader(pair, [2], None, batch_size=50, seed=5))
    found = f"found {own.fingerprint:#018x} on ranks 0 and 1 .*; {other.fingerprint:#018x} on rank 2 "
    for loader in made:
        with pytest.raises(ValueError, match=f"data: x of .*{found}.*give each host a copy of the same data set"):
            next(iter(loader))


def test_a_rank_that_makes_no_such_loader_is_named(data, as_rank, monkeypatch):
    """It is waited for as long as the process group waits, and after a while that is said."""
    monkeypatch.setattr(rank_store, "WARN_S", 0.05)
    as_rank(1)
    loader = loader_of(NeighborLoader, data, distributed=True, seed=5)
    with (
        pytest.warns(UserWarning, match="waiting for ranks 0 and 2 to make the same loader"),
        pytest.raises(TimeoutError, match="ranks 0 and 2: expected the same loaders on all 3 ranks.*distributed=False"),
    ):
        next(iter(loader))


def test_a_rank_that_draws_no_seed_for_all_is_named(data, as_rank, monkeypatch):
    monkeypatch.setattr(rank_store, "WARN_S", 0.05)
    as_rank(1)
    with (
        pytest.warns(UserWarning, match="waiting for rank 0 to make the same loader, as it draws the seed of all"),
        pytest.raises(TimeoutError, match="rank 0: expected the same loaders on all 3 ranks.*distributed=False"),
    ):
        loader_of(NeighborLoader, data, distributed=True)


def test_ranks_without_a_seed_have_that_of_rank_0(data, as_rank):
    made = loaders(data, as_rank, seed=None)
    assert len({loader.state_dict()["seed"] for loader in made}) == 1
    assert {len(list(loader)) for loader in made} == {len(made[0])}


def test_what_was_refused_is_refused_again(data, as_rank):
    for loader in loaders(data, as_rank, {"batch_size": 7}):
        for take in (list, list, lambda loader: loader([0, 1])):
            with pytest.raises(ValueError, match="batch_size: expected the same on all 3 ranks"):
                take(loader)


def test_loaders_leave_no_threads(data, as_rank):
    def threads():
        return {thread for thread in threading.enumerate() if thread.name == "graphzero store"}

    before = threads()
    for loader in loaders(data, as_rank):
        list(loader)
        loader.close()
    unused = loaders(data, as_rank)
    del loader, unused
    gc.collect()
    end = time.monotonic() + 20
    while threads() - before and time.monotonic() < end:
        time.sleep(0.01)
    assert not threads() - before


@pytest.mark.parametrize("options", [{"distributed": False}, {"rank": 1, "world_size": 3, "seed": 5}])
def test_a_rank_that_divides_nothing_with_others_waits_for_none(data, as_rank, options):
    assert len(list(loader_of(NeighborLoader, data, **options))) > 0


def test_many_ranks_are_counted_in_messages():
    assert agreement.named_ranks([3]) == "rank 3"
    assert agreement.named_ranks(list(range(10))) == "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more"

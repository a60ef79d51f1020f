"""Several iterations over one loader at the same time: each goes on, with an epoch of its own."""

import gc
import pickle

import pytest
import torch

from data_sets import pyg
from graphzero.loaders import LinkNeighborLoader, NeighborLoader
from graphzero.pipeline import Pipeline
from loader_cases import loader_of, values, write_homogeneous
from pipeline_cases import assert_same, settled, tasks

pyg()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_homogeneous(tmp_path_factory.mktemp("homogeneous"))


def contents(batches):
    return [values(batch) for batch in batches]


def epochs(kind, data, count, **options):
    loader = loader_of(kind, data, seed=5, **options)
    return [contents(loader) for _ in range(count)]


def test_an_iteration_that_begins_while_another_ends_is_the_next_epoch(data, monkeypatch):
    """A thread looks where the other one is, and that takes its last batches before the look is over."""
    first, second = epochs(NeighborLoader, data, 2)
    loader = loader_of(NeighborLoader, data, seed=5)
    running = iter(loader)
    taken = [values(next(running))]
    state_of = Pipeline.state_dict

    def ended_meanwhile(self):
        state = state_of(self)
        monkeypatch.undo()
        taken.extend(contents(running))
        return state

    monkeypatch.setattr(Pipeline, "state_dict", ended_meanwhile)
    assert_same(contents(loader), second)
    assert_same(taken, first)


@pytest.mark.parametrize("kind", [NeighborLoader, LinkNeighborLoader])
def test_a_loader_beside_itself(data, kind):
    first, second, third = epochs(kind, data, 3)
    loader = loader_of(kind, data, seed=5)
    pairs = [(values(one), values(other)) for one, other in zip(loader, loader, strict=True)]
    assert_same([one for one, _ in pairs], first)
    assert_same([other for _, other in pairs], second)
    assert loader.epoch == 2
    assert_same(contents(loader), third)


def test_a_loop_inside_a_loop(data):
    first, second, third, fourth = epochs(NeighborLoader, data, 4)
    loader = loader_of(NeighborLoader, data, seed=5)
    outer, inner = [], []
    for batch in loader:
        outer.append(values(batch))
        inner.append(contents(loader))
    assert_same(outer, first)
    assert_same(inner, [second, third, fourth])


def test_states_are_those_of_the_iteration_that_began_last(data):
    loader = loader_of(NeighborLoader, data, seed=5)
    first = iter(loader)
    next(first)
    assert loader.state_dict() == {"seed": 5, "epoch": 0, "batch": 1, "batches": 3, "ranks": 1}
    second = iter(loader)
    next(second)
    next(second)
    assert loader.state_dict() == {"seed": 5, "epoch": 1, "batch": 2, "batches": 3, "ranks": 1}
    next(first)
    assert loader.state_dict()["epoch"] == 1
    assert pickle.loads(pickle.dumps(loader)).state_dict() == loader.state_dict()
    loader.set_epoch(7)
    assert len(list(first)) == 1
    with pytest.raises(RuntimeError, match="this iteration is over"):
        next(second)
    assert loader.epoch == 7
    assert len(list(loader)) == 3
    assert loader.epoch == 8


def test_what_is_set_while_an_iteration_is_under_way_is_where_the_next_begins(data):
    first, second = epochs(NeighborLoader, data, 2)
    loader = loader_of(NeighborLoader, data, seed=5)
    iteration = iter(loader)
    next(iteration)
    loader.set_epoch(1)
    assert_same(contents(loader), second)
    loader.load_state_dict({"seed": 5, "epoch": 0, "batch": 1, "batches": 3})
    assert_same(contents(loader), first[1:])


def test_an_iteration_that_is_forgotten_makes_room_at_once(data):
    """Nobody waits for the garbage collector."""
    list(loader_of(NeighborLoader, data))  # torch's own threads begin
    before = tasks()
    gc.disable()
    try:
        loader = loader_of(NeighborLoader, data)
        first, second = iter(loader), iter(loader)
        next(first)
        pipeline = loader._feed.pipeline
        next(second)
        newer = loader._feed.pipeline
        assert newer is not pipeline
        del first
        assert pipeline.closed
        del second
        assert not newer.closed
        next(iter(loader))
        assert loader._feed.pipeline is newer
        assert settled(tasks, before) == before
    finally:
        gc.enable()


def test_closing_ends_them_all(data):
    before = tasks()
    loader = loader_of(NeighborLoader, data)
    iterations = [iter(loader) for _ in range(3)]
    for iteration in iterations:
        next(iteration)
    loader.close()
    assert settled(tasks, before) == before
    for iteration in iterations:
        with pytest.raises(RuntimeError, match="this iteration is over"):
            next(iteration)


def test_epochs_that_are_broken_off_come_one_after_the_other(data):
    loader = loader_of(NeighborLoader, data, seed=5)
    for epoch in range(3):
        for _ in loader:
            assert loader.epoch == epoch
            break
    loader.dataset  # noqa: B018
    assert torch.is_tensor(next(iter(loader)).n_id)
    assert loader.epoch == 3


@pytest.mark.parametrize("state", [None, "x", [1, 2]])
def test_what_is_no_state_is_refused(data, state):
    loader = loader_of(NeighborLoader, data)
    with pytest.raises(TypeError, match="state: expected the dict that state_dict.. returns, found .+; a rank without"):
        loader.load_state_dict(state)

"""What is the same for all loaders: epochs, orders, seeds, where to go on, and keywords of torch's DataLoader."""

import dataclasses
import itertools
import re
import warnings
from typing import get_type_hints

import numpy as np
import pytest
import torch

import graphzero as gz
from data_sets import pyg
from graphzero.loaders import LinkNeighborLoader, NeighborLoader, options
from loader_cases import loader_of, values, write_homogeneous
from pipeline_cases import assert_same, settled, tasks

pyg()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_homogeneous(tmp_path_factory.mktemp("homogeneous"))


def contents(batches):
    return [values(batch) for batch in batches]


@pytest.mark.parametrize("kind", [NeighborLoader, LinkNeighborLoader])
@pytest.mark.parametrize(("drop_last", "count"), [(False, 3), (True, 2)])
def test_a_loader_has_a_length(data, kind, drop_last, count):
    loader = loader_of(kind, data, drop_last=drop_last)
    assert len(loader) == count == len(list(loader))
    assert repr(loader) == f"{kind.__name__}({count} batches)"


@pytest.mark.parametrize("kind", [NeighborLoader, LinkNeighborLoader])
def test_each_iteration_is_the_next_epoch(data, kind):
    loader = loader_of(kind, data, seed=5)
    assert loader.epoch == 0
    first, second = contents(loader), contents(loader)
    assert loader.epoch == 2
    assert first[0]["input_id"].tolist() != second[0]["input_id"].tolist()
    loader.set_epoch(0)
    assert_same(contents(loader), first)
    assert_same(contents(loader), second)
    other = loader_of(kind, data, seed=5)
    other.set_epoch(1)
    assert_same(contents(other), second)


@pytest.mark.parametrize("options", [{"threads": 1}, {"ahead": 1}, {"memory": "60MB", "cache": 0}, {"reader": "pread"}])
def test_batches_depend_on_the_seed_alone(data, options):
    expected = contents(loader_of(NeighborLoader, data, seed=5))
    assert_same(contents(loader_of(NeighborLoader, data, seed=5, **options)), expected)
    assert contents(loader_of(NeighborLoader, data, seed=6))[0]["n_id"].tolist() != expected[0]["n_id"].tolist()


def test_the_seed_is_drawn_from_torch(data):
    def first(**options):
        return values(next(iter(loader_of(NeighborLoader, data, **options))))["n_id"].tolist()

    torch.manual_seed(3)
    one, other = first(), first()
    torch.manual_seed(3)
    assert (first(), first()) == (one, other)
    assert one != other
    generators = [torch.Generator().manual_seed(seed) for seed in (1, 1, 2)]
    one, again, other = (first(generator=generator) for generator in generators)
    assert one == again != other


@pytest.mark.parametrize("kind", [NeighborLoader, LinkNeighborLoader])
@pytest.mark.parametrize("taken", [0, 1, 3])
def test_another_loader_goes_on_where_one_was(data, kind, taken):
    """In the second epoch, and under another seed than it was made with."""
    loader = loader_of(kind, data, seed=5, batch_size=20)
    assert len(loader) == 5
    list(loader)
    whole = contents(loader)
    third = contents(loader)
    loader.set_epoch(1)
    iteration = iter(loader)
    assert_same(contents(itertools.islice(iteration, taken)), whole[:taken])
    state = loader.state_dict()
    assert state == {"seed": 5, "epoch": 1, "batch": taken, "batches": 5, "ranks": 1}
    other = loader_of(kind, data, seed=6, batch_size=20)
    other.load_state_dict(state)
    assert other.epoch == 1
    assert_same(contents(other), whole[taken:])
    assert_same(contents(other), third)
    assert_same(contents(iteration), whole[taken:])


def test_a_state_of_another_epoch_length_is_refused(data):
    state = loader_of(NeighborLoader, data).state_dict()
    with pytest.raises(ValueError, match="state: expected that of a pipeline with 5 batches an epoch, found 3"):
        loader_of(NeighborLoader, data, batch_size=20).load_state_dict(state)


def test_an_order_of_ones_own(data):
    order = list(range(89, -1, -2))
    batches = contents(NeighborLoader(data.dataset, [2], data.train, sampler=order, batch_size=20))
    assert [batch["input_id"].tolist() for batch in batches] == [order[:20], order[20:40], order[40:]]
    assert batches[0]["n_id"][:20].tolist() == data.train[order[:20]].tolist()
    sampler = torch.utils.data.RandomSampler(range(90))
    loader = NeighborLoader(data.dataset, [2], data.train, sampler=sampler, batch_size=20, drop_last=True)
    first, second = contents(loader), contents(loader)
    assert len(first) == len(second) == len(loader) == 4
    assert first[0]["input_id"].tolist() != second[0]["input_id"].tolist()


def test_batches_of_ones_own(data):
    batches = [[3, 5, 8], [0], list(range(40))]
    for kind, nodes in ((NeighborLoader, data.train), (LinkNeighborLoader, (data.train, data.train))):
        loader = kind(data.dataset, [2], nodes, batch_sampler=batches)
        assert len(loader) == 3
        assert [batch.input_id.tolist() for batch in loader] == batches
    sampler = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(range(90)), 50, drop_last=False)
    loader = NeighborLoader(data.dataset, [2], data.train, batch_sampler=sampler)
    assert [batch.batch_size for batch in loader] == [50, 40]


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": 4, "persistent_workers": True},
        {"prefetch_factor": 2},
        {"worker_init_fn": print},
        {"multiprocessing_context": "spawn", "timeout": 5},
    ],
)
def test_keywords_that_are_of_no_use_are_noted_once(data, options, monkeypatch):
    """Scripts make a loader for each split."""
    monkeypatch.setattr("graphzero.loaders._process.notes._noted", set())
    message = rf"NeighborLoader: {', '.join(options)}: taken, but of no use: .*DataLoader\(loader, batch_size=None"
    with pytest.warns(UserWarning, match=message) as notes:
        loader = NeighborLoader(data.dataset, [2], [1], **options)
    assert notes[0].filename == __file__
    assert len(list(loader)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinkNeighborLoader(data.dataset, [2], ([1], [2]), **options)


def test_keywords_that_change_nothing_are_taken_silently(data):
    taken = {
        "num_workers": 0,
        "persistent_workers": False,
        "filter_per_worker": True,
        "is_sorted": True,
        "share_memory": False,
        "directed": True,
        "collate_fn": None,
        "pin_memory_device": "",
        "neighbor_sampler": None,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (batch,) = NeighborLoader(data.dataset, [2], [1], seed=1, **taken)
    (expected,) = NeighborLoader(data.dataset, [2], [1], seed=1)
    assert_same(values(batch), values(expected))


def test_where_time_and_memory_went(data):
    loader = loader_of(NeighborLoader, data, memory="80MB")
    list(loader)
    stats = loader.stats()
    assert stats["memory"]["budget"] == 80_000_000
    assert set(stats["sources"]) == {"x", "y", "time", "edge_attr"}
    assert stats["gpu_cache_rows"] == 0
    assert stats["gpu_cache"] == "no rows on a GPU"
    assert loader.status().startswith("epoch 0 batch 3/3")


@pytest.mark.parametrize("gpu_cache", ["auto", None, 0, "0GB"])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_without_a_gpu_its_memory_is_not_asked_for(data, gpu_cache, device):
    loader = loader_of(NeighborLoader, data, gpu_cache=gpu_cache, device=device)
    assert len(list(loader)) == 3
    assert loader.stats()["gpu_cache_rows"] == 0


def test_stages_have_names_in_a_profile(data):
    loader = loader_of(NeighborLoader, data, transform=lambda batch: batch)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        list(loader)
    counts = {event.key: event.count for event in profile.key_averages() if event.key.startswith("graphzero.")}
    # The last wait finds that there are no more.
    stages = {"graphzero.wait": 4, "graphzero.collate": 3, "graphzero.form": 3, "graphzero.transform": 3}
    assert counts == stages


@pytest.mark.parametrize("name", ["transform", "transform_sampler_output"])
def test_an_error_in_a_transform_ends_everything(data, name):
    def fail(batch):
        raise ArithmeticError("mine")

    before = tasks()
    loader = loader_of(NeighborLoader, data, **{name: fail})
    with pytest.raises(ArithmeticError, match="mine"):
        next(iter(loader))
    assert settled(tasks, before) == before
    setattr(loader, name, lambda batch: batch)
    assert len(list(loader)) == 3
    assert settled(tasks, before) == before


def test_an_iteration_that_is_given_up_leaves_no_thread(data):
    list(loader_of(NeighborLoader, data))  # torch's own threads begin
    before = tasks()
    loader = loader_of(NeighborLoader, data)
    for _ in loader:
        break
    assert settled(tasks, before) == before
    iteration = iter(loader)
    next(iteration)
    loader.close()
    loader.close()
    assert settled(tasks, before) == before
    with pytest.raises(RuntimeError, match="this iteration is over"):
        next(iteration)
    with pytest.raises(ValueError, match="closed"):
        next(iter(loader))


def test_batches_outlive_everything(tmp_path):
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    gz.write_graph("g.gl", [0, 0, 1, 3], [1, 2, 2, 0])
    gz.write_features("x.gd", rows)
    graph, store = gz.Graph("g.gl"), gz.FeatureStore("x.gd")
    loader = NeighborLoader((graph, store), [-1], batch_size=4)
    (batch,) = loader
    loader.close()
    graph.close()
    store.close()
    assert_same(batch.x.numpy(), rows)


def test_a_loader_says_how_it_reads_and_why(data, caplog):
    with caplog.at_level("INFO", logger="graphzero"):
        loader_of(NeighborLoader, data)
        loader_of(NeighborLoader, data, reader="pread")
    told = [record.message for record in caplog.records if record.name == "graphzero"]
    assert any(re.search(r"x\.gd: mmap: .* MB, .* available$", message) for message in told)
    assert re.search(r"\.gd: pread: asked for$", told[-1])


def test_type_checkers_know_every_option():
    known = options.LoaderKeywords.__annotations__
    own = {field.name: field.type for field in dataclasses.fields(options.LoaderOptions)}
    assert own == {name: known[name].__forward_arg__ for name in own}
    assert set(known) - set(own) == {*options._OF_PROCESSES, *options._SILENT, "neighbor_sampler"}
    assert get_type_hints(options.LoaderKeywords)

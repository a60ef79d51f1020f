"""Loaders as data sets of torch's DataLoader: processes make the same batches in the same order."""

import multiprocessing
import pickle
import re
from collections import Counter
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import graphzero as gz
from data_sets import pyg
from graphzero.loaders import LinkNeighborLoader, NeighborLoader
from loader_cases import PAPER, loader_of, values, write_heterogeneous, write_homogeneous
from pipeline_cases import assert_same, descriptors, settled, tasks

pyg()

FORK = pytest.param("fork", marks=pytest.mark.no_tsan)
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create .* worker processes"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_homogeneous(tmp_path_factory.mktemp("homogeneous"))


@pytest.fixture(autouse=True)
def _no_process_stays():
    yield
    assert settled(multiprocessing.active_children, []) == []


@pytest.fixture
def impatient(monkeypatch):
    """After an error torch waits for its workers, which do not come: less than its five seconds."""
    monkeypatch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 0.3)


def contents(batches):
    return [values(batch) for batch in batches]


def workers(loader, num_workers=2, method="fork", **options):
    return DataLoader(loader, batch_size=None, num_workers=num_workers, multiprocessing_context=method, **options)


@pytest.fixture(scope="module")
def epochs(data):
    """Three epochs of eight batches, made in this process."""
    loader = loader_of(NeighborLoader, data, batch_size=12, seed=5, form="torch")
    assert len(loader) == 8
    return [contents(loader) for _ in range(3)]


@pytest.mark.parametrize("method", [FORK, "spawn", "forkserver"])
def test_batches_are_the_same_under_every_method(data, epochs, method):
    """Workers that stay for two epochs, and others that come for the third."""
    loader = loader_of(NeighborLoader, data, batch_size=12, seed=5, form="torch")
    next(iter(loader))  # threads of this process are at work
    loader.set_epoch(0)
    staying = workers(loader, method=method, persistent_workers=True)
    assert len(staying) == 8
    assert_same(contents(staying), epochs[0])
    assert_same(contents(staying), epochs[1])
    del staying
    if method == "fork":
        assert_same(contents(workers(loader, method=method)), epochs[2])


@pytest.mark.no_tsan
@pytest.mark.parametrize("num_workers", [1, 3, 9])
def test_batches_are_the_same_for_any_number_of_workers(data, epochs, num_workers):
    """Of nine workers one has no batch at all."""
    loader = loader_of(NeighborLoader, data, batch_size=12, seed=5, form="torch")
    for expected in epochs[:2]:
        assert_same(contents(workers(loader, num_workers)), expected)


@pytest.mark.no_tsan
def test_links_and_types_in_workers(data, tmp_path):
    options = {"seed": 5, "neg_sampling": "binary"}
    expected = contents(loader_of(LinkNeighborLoader, data, **options))
    assert_same(contents(workers(loader_of(LinkNeighborLoader, data, **options))), expected)
    hetero = write_heterogeneous(tmp_path)
    made = [NeighborLoader(hetero.dataset, [3, 2], (PAPER, "train"), batch_size=20, seed=5) for _ in range(2)]
    assert_same(contents(workers(made[0])), contents(made[1]))


@pytest.mark.no_tsan
def test_ranks_in_workers(data):
    def made():
        return loader_of(NeighborLoader, data, batch_size=12, seed=5, rank=1, world_size=2)

    assert_same(contents(workers(made())), contents(made()))


@pytest.mark.no_tsan
def test_epochs_of_workers_are_set(data, epochs):
    loader = loader_of(NeighborLoader, data, batch_size=12, seed=5, form="torch")
    staying = workers(loader, persistent_workers=True)
    loader.set_epoch(2)
    assert_same(contents(staying), epochs[2])
    loader.set_epoch(0)
    assert_same(contents(staying), epochs[0])
    assert_same(contents(staying), epochs[1])
    loader.set_epoch(1)
    assert_same(contents(workers(loader)), epochs[1])


@pytest.mark.no_tsan
def test_a_loader_with_another_number_of_workers_is_in_one_epoch(data):
    """Those who were there before have counted epochs that the others have not."""
    loader = loader_of(NeighborLoader, data, batch_size=12, seed=5, form="torch")
    for _ in range(2):
        contents(workers(loader, 1))
    places = np.concatenate([batch["input_id"] for batch in contents(workers(loader, 2))])
    assert sorted(places.tolist()) == list(range(90))


@pytest.mark.no_tsan
@pytest.mark.parametrize("stay", [False, True])
def test_workers_go_on_where_a_loader_was(data, epochs, stay):
    """In the second epoch, with the seed of the state."""
    state = {"seed": 5, "epoch": 1, "batch": 3, "batches": 8}
    loader = loader_of(NeighborLoader, data, batch_size=12, seed=6, form="torch")
    loader.load_state_dict(state)
    made = workers(loader, persistent_workers=stay)
    assert_same(contents(made), epochs[1][3:])
    assert_same(contents(made), epochs[2])
    loader.set_epoch(1)
    assert_same(contents(made), epochs[1])


@pytest.mark.no_tsan
def test_workers_that_are_given_up_leave_nothing_behind(data):
    loader = loader_of(NeighborLoader, data, batch_size=12)
    next(iter(loader))

    def give_up():
        next(iter(workers(loader)))
        assert settled(multiprocessing.active_children, []) == []

    give_up()  # torch keeps some descriptors of its own after the first
    before = tasks(), descriptors()
    give_up()
    give_up()
    # Fewer, where a thread of the first was still about to end.
    assert settled(tasks, before[0]) <= before[0]
    assert settled(descriptors, before[1]) <= before[1]


def fail(batch):
    raise ArithmeticError("mine")


@pytest.mark.no_tsan
def test_an_error_in_a_worker_arrives(data, impatient):
    before = tasks()
    with pytest.raises(ArithmeticError, match="mine"):
        list(workers(loader_of(NeighborLoader, data, transform=fail)))
    assert settled(tasks, before) == before


@pytest.mark.no_tsan
def test_devices_are_not_for_workers(data, impatient):
    with pytest.raises(ValueError, match="device: expected none in a worker process; move batches where they are used"):
        list(workers(loader_of(NeighborLoader, data, device="meta")))


@pytest.mark.no_tsan
def test_more_workers_than_are_counted(data, impatient, monkeypatch):
    monkeypatch.setattr("graphzero.loaders._process.worker_epochs._MOST_WORKERS", 1)
    with pytest.raises(ValueError, match="num_workers: expected at most 1, found 2"):
        list(workers(loader_of(NeighborLoader, data)))


@pytest.mark.no_tsan
def test_workers_share_the_memory(data, impatient):
    """Enough for this process is not for both of them."""
    loader = loader_of(NeighborLoader, data, memory="8MB")
    assert len(list(loader)) == 3
    message = (
        r"memory: expected at least (\d+) MB, found 8.0 MB, of which each of 2 workers gets 4.0 MB and needs \d+ MB"
    )
    with pytest.raises(ValueError, match=message) as told:
        list(workers(loader))
    enough = re.search(message, str(told.value))[1]
    assert len(list(workers(loader_of(NeighborLoader, data, memory=f"{enough}MB")))) == 3


def test_what_goes_to_a_worker_is_small(data):
    for loader in (loader_of(NeighborLoader, data), loader_of(LinkNeighborLoader, data)):
        assert len(bytes(ForkingPickler.dumps(loader))) < 10_000
    gz.write_features("large.gd", np.zeros((300, 4000), dtype=np.float32))
    loader = NeighborLoader((data.dataset.graph, gz.FeatureStore("large.gd")), [2])
    assert len(bytes(ForkingPickler.dumps(loader))) < 10_000


@pytest.mark.parametrize("kind", [NeighborLoader, LinkNeighborLoader])
def test_a_copy_goes_on_where_its_original_was(data, kind):
    loader = loader_of(kind, data, batch_size=20, seed=5)
    whole = contents(loader)
    list(loader)
    loader.set_epoch(0)
    iteration = iter(loader)
    next(iteration)
    copy = pickle.loads(pickle.dumps(loader))
    assert copy.epoch == 0
    assert len(copy) == len(loader)
    assert_same(contents(copy), whole[1:])
    assert_same(contents(iteration), whole[1:])


def test_a_copy_of_closed_data_is_refused(tmp_path):
    data = write_homogeneous(tmp_path)
    loader = loader_of(NeighborLoader, data)
    data.dataset.close()
    with pytest.raises(ValueError, match="closed"):
        iter(pickle.loads(pickle.dumps(loader)))


def test_torch_knows_what_a_loader_is(data):
    assert isinstance(loader_of(NeighborLoader, data), torch.utils.data.IterableDataset)


def _make_loader(folder):
    NeighborLoader(gz.open(folder), [1]).close()


def test_a_forked_process_makes_a_loader_of_its_own(tmp_path):
    with gz.DatasetWriter(tmp_path / "d") as writer:
        writer.add_nodes({"x": np.ones(4)})
        writer.add_edges([0, 1], [1, 2])
    _make_loader(tmp_path / "d")
    process = multiprocessing.get_context("fork").Process(target=_make_loader, args=(tmp_path / "d",))
    process.start()
    process.join(60)
    assert process.exitcode == 0


def test_a_copy_after_an_iteration_that_was_left_has_whole_epochs(tmp_path):
    with gz.DatasetWriter(tmp_path / "d") as writer:
        writer.add_nodes({"x": np.ones(6)})
        writer.add_edges([0, 1], [1, 2])
    loader = NeighborLoader(gz.open(tmp_path / "d"), [1], batch_size=2)
    next(iter(loader))
    assert len(list(pickle.loads(pickle.dumps(loader)))) == 3
    loader.close()
    assert repr(loader) == "NeighborLoader(closed)"
    with pytest.raises(ValueError, match="this NeighborLoader is closed; make a new one"):
        loader([0])


def test_a_pickled_loader_opens_each_file_once(data):
    def mapped():
        with open("/proc/self/maps") as maps:
            return Counter(line.split()[-1] for line in maps if line.rstrip().endswith((".gl", ".gd")))

    loader = NeighborLoader(data.dataset, [2])
    pickled, before = pickle.dumps(loader), mapped()
    copy = pickle.loads(pickled)
    assert (mapped() - before).most_common(1)[0][1] == 1
    assert len(copy) == len(loader)

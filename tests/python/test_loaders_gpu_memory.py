"""How many rows a GPU holds: what is decided, and that batches are the same whatever it is. No GPU is needed."""

import gc
import logging

import numpy as np
import pytest
import torch

import graphzero as gz
from data_sets import pyg
from graphzero._inputs.attributes import Attribute
from graphzero.loaders import NeighborLoader
from graphzero.loaders import loader as loader_module
from graphzero.loaders._device.gpu_memory import AutoRoom, MemoryFacts, read_gpu_cache
from graphzero.loaders._device.gpu_rows import DeviceRows, all_bytes, bytes_of_rows, dequantised, divide_room
from graphzero.loaders._device.transfer import CudaTransfer, InFlightBatch
from graphzero.loaders._epoch import feed as feed_module
from graphzero.loaders._process.ranks import ranks_of_device
from pipeline_cases import write_world

GB = 1_000_000_000


def facts(free, *, total=24 * GB, reserved=3 * GB, peak=2 * GB, rows=0):
    return MemoryFacts(int(free), int(total), int(reserved), int(peak), int(rows))


def decided(auto, found, held=0):
    """What is decided after the batches that show what the model needs."""
    rooms = [auto.room(found, held) for _ in range(8)]
    assert rooms[:7] == [None] * 7
    return rooms[7]


def test_nothing_is_taken_before_the_model_has_shown_what_it_needs():
    auto = AutoRoom(10 * GB, 1)
    assert auto.reason == "auto: waits for 8 batches, which show what the model needs"
    assert [auto.room(facts(20 * GB), 0) for _ in range(9)] == [None] * 7 + [10 * GB, None]
    assert auto.reason == "auto: all rows, 10.0 GB; 20.0 GB were free beside the model, and 1.5 GB stay for the model"


@pytest.mark.parametrize(
    ("found", "ranks", "expected"),
    [
        (facts(20 * GB), 1, 18.5 * GB),  # but a sixteenth of the device
        (facts(20 * GB, total=10 * GB), 1, 19 * GB),  # but 1 GB
        (facts(20 * GB, reserved=13 * GB, peak=12 * GB), 1, 17 * GB),  # but a quarter of the model's peak
        (facts(20 * GB, reserved=1 * GB, peak=2 * GB), 1, 17.5 * GB),  # torch gave back what the model will want
        (facts(20 * GB), 2, 8.5 * GB),  # another rank takes as much
        (facts(20 * GB, peak=5 * GB, reserved=6 * GB, rows=4 * GB), 1, 18.5 * GB),  # rows are not the model's
        (facts(30 * GB), 1, 28 * GB),  # all rows
        (facts(1.5 * GB + 200_000_000), 1, None),  # not 1 % of the rows
        (facts(1 * GB), 1, None),
    ],
)
def test_what_is_free_is_taken_but_a_margin(found, ranks, expected):
    assert decided(AutoRoom(28 * GB, ranks), found) == expected


def test_the_end_of_a_first_epoch_waits_for_a_second_one():
    auto = AutoRoom(10 * GB, 1)
    auto.begin_epoch()
    assert [auto.room(facts(20 * GB), 0, left=10 * GB - 1) for _ in range(20)] == [None] * 20
    assert auto.reason.startswith("auto: waits for the next epoch")
    auto.begin_epoch()
    assert auto.room(facts(20 * GB), 0, left=1) == 10 * GB
    auto = AutoRoom(10 * GB, 1)
    auto.begin_epoch()
    assert [auto.room(facts(20 * GB), 0, left=10 * GB) for _ in range(8)] == [None] * 7 + [10 * GB]


def test_rows_that_another_loader_has_there_are_taken_at_once_and_once():
    auto = AutoRoom(10 * GB, 1)
    assert auto.room(facts(2 * GB), 0, left=0, is_there=True) == 10 * GB
    assert auto.reason == "auto: all rows, 10.0 GB, which another loader has on the device"
    assert auto.room(facts(0, reserved=2 * GB), 10 * GB, is_there=True) == 7.5 * GB
    assert auto.room(facts(2 * GB), 0, is_there=True) is None


def test_rows_of_a_few_megabytes_are_taken_whole_or_not_at_all():
    assert decided(AutoRoom(3_000_000, 1), facts(20 * GB)) == 3_000_000
    assert decided(AutoRoom(60_000_000, 1), facts(1.5 * GB + 59_000_000)) is None


def test_the_reasons_are_told():
    auto = AutoRoom(28 * GB, 2)
    decided(auto, facts(20 * GB))
    assert auto.reason == (
        "auto: 8.5 GB of 28.0 GB of rows; 20.0 GB were free beside the model for 2 ranks, and 1.5 GB stay for the model"
    )
    auto = AutoRoom(28 * GB, 1)
    decided(auto, facts(1 * GB))
    assert auto.reason == "auto: no rows: 1.0 GB were free beside the model, and 1.5 GB are for the model"
    assert auto.after_shortage(8 * GB) == 4 * GB
    assert auto.reason == "auto: 4.0 GB of 28.0 GB of rows; the device had no room for 8.0 GB"


def test_rows_are_given_back_when_the_model_needs_half_the_margin():
    auto = AutoRoom(28 * GB, 1)
    held = decided(auto, facts(20 * GB))
    assert held == 18.5 * GB
    # 21.5 GB are reserved, of which 20.5 GB are in use at most; 1.5 GB of the device are free.
    full = {"reserved": 3 * GB + held, "rows": held}
    assert auto.room(facts(1.5 * GB, peak=2 * GB + held, **full), held) is None
    assert auto.room(facts(0.75 * GB - GB, peak=2 * GB + held, **full), held) is None  # 0.75 GB are left
    room = auto.room(facts(0.75 * GB - GB - 1, peak=2 * GB + held, **full), held)
    assert room == 0.75 * held  # a quarter is more than what is missing
    assert auto.reason == "auto: 13.9 GB of 28.0 GB of rows; gave back the rest, as the model needs more"


def test_a_peak_of_the_time_when_more_rows_were_held_is_not_the_models():
    auto = AutoRoom(28 * GB, 1)
    held = decided(auto, facts(20 * GB))
    peak = 6 * GB + held  # the model came to need 6 GB
    found = facts(0, reserved=6 * GB + held, peak=peak, rows=held)
    room = auto.room(found, held)
    assert auto.missing(found) == 1.5 * GB
    assert room == 0.75 * held
    now = facts(held - room, reserved=6 * GB + room, peak=peak, rows=room)
    assert auto.missing(now) == 0
    assert auto.room(now, room) is None


def test_as_much_is_given_back_as_is_missing():
    auto = AutoRoom(28 * GB, 1)
    held = decided(auto, facts(20 * GB))
    used = {"reserved": 3 * GB + held, "peak": 2 * GB + held, "rows": held}
    assert auto.room(facts(-11 * GB, **used), held) == 7 * GB  # 10 GB are missing for the peak, and the margin
    auto = AutoRoom(28 * GB, 1)
    held = decided(auto, facts(20 * GB))
    assert auto.room(facts(-40 * GB, **used), held) == 0


def test_room_grows_once_an_epoch_and_not_by_little():
    auto = AutoRoom(28 * GB, 1)
    held = decided(auto, facts(10 * GB))
    assert held == 8.5 * GB
    more = {"reserved": 3 * GB + held, "peak": 2 * GB + held, "rows": held}
    assert auto.room(facts(12 * GB, **more), held) is None
    auto.begin_epoch()
    assert auto.room(facts(4 * GB, **more), held) is None  # an eighth would be 3.5 GB more
    assert auto.room(facts(12 * GB, **more), held) is None
    auto.begin_epoch()
    assert auto.room(facts(6 * GB, **more), held) == held + 4.5 * GB


def test_room_that_was_too_much_grows_again_with_twice_the_margin():
    auto = AutoRoom(28 * GB, 1)
    held = decided(auto, facts(20 * GB))
    used = {"reserved": 3 * GB + held, "peak": 2 * GB + held, "rows": held}
    held = auto.room(facts(-10 * GB, **used), held)
    used = {"reserved": 3 * GB + held, "peak": 2 * GB + held, "rows": held}
    assert auto.room(facts(10 * GB, **used), held) is None  # not in this epoch
    auto.begin_epoch()
    assert auto.room(facts(10 * GB, **used), held) == held + 10 * GB - 3 * GB


@pytest.mark.parametrize(
    ("given", "expected"),
    [(None, None), (0, None), ("0", None), ("auto", "auto"), ("2GB", 2 * GB), (4096, 4096)],
)
def test_sizes_that_gpu_cache_takes(given, expected):
    assert read_gpu_cache(given) == expected


def test_ranks_of_one_device(monkeypatch):
    assert ranks_of_device(1, 1) == ranks_of_device(4, 4) == ranks_of_device(2, 8) == 1
    assert ranks_of_device(4, 1) == 4
    assert ranks_of_device(6, 4) == 2
    assert ranks_of_device(1, 0) == 1


# A device in the place of a GPU: the host itself, with as much memory as a test says.


class HostAsGpu(CudaTransfer):
    def __init__(self, device, dtypes, with_scales, stays):
        self.device = torch.device("cpu")
        self.rows = None
        self._with_scales = with_scales
        self._shapes = {(one.of, one.name): one.store.shape[1:] for one in with_scales}
        self._stays = stays
        self._dtypes = {name: getattr(torch, str(dtype)) for name, dtype in dtypes.items()}

    def load_rows(self, pipeline):
        self.rows = DeviceRows(pipeline, self.device, self._with_scales)

    def drop_rows(self):
        self.rows = None

    def send(self, parts):
        for by_type in (parts.nodes, parts.edges, {None: parts.whole}):
            for of, values in by_type.items():
                self._send_values(of, values, [])
        return InFlightBatch(parts)

    def _copy(self, tensor, held):
        return tensor.clone()

    def receive(self, batch):
        return batch.parts

    def close(self):
        pass


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    pyg()
    world = write_world(tmp_path_factory.mktemp("world"))
    gz.write_features(f"{world.folder}/half.gd", world.x.astype(np.float16))
    gz.convert_features(f"{world.folder}/x.gd", f"{world.folder}/int8.gd", dtype="int8-quantised")
    return world


class Gpu:
    """Its memory: how much of ``free`` is left, and whether there is room for rows at once."""

    def __init__(self):
        self.free = 20 * GB
        self.most_at_once = 1e18
        self.looks = 0

    def facts(self, device, rows):
        self.looks += 1
        return facts(max(0, self.free - rows), reserved=2 * GB + rows, peak=2 * GB + rows, rows=rows)


@pytest.fixture
def gpu(monkeypatch):
    gc.collect()  # loaders of other tests, which have rows to share
    gpu = Gpu()
    load = DeviceRows.__init__

    def load_some(self, pipeline, device, with_scales):
        load(self, pipeline, device, with_scales)
        if self.nbytes > gpu.most_at_once:
            raise torch.cuda.OutOfMemoryError("no room")

    monkeypatch.setattr(DeviceRows, "__init__", load_some)
    monkeypatch.setattr(loader_module, "as_device", torch.device)
    monkeypatch.setattr(feed_module, "cuda_pinning", lambda device: None)
    monkeypatch.setattr(feed_module, "CudaTransfer", HostAsGpu)
    monkeypatch.setattr(feed_module, "memory_facts", gpu.facts)
    return gpu


def loader(world, name="x", **options):
    stores = {"x": world.store(name), "y": world.store("y")}
    given = {"batch_size": 50, "shuffle": True, "seed": 3, "memory": "60MB", "device": "cuda:0"}
    return NeighborLoader((world.graph, stores), [4, 3], **{**given, **options})


def assert_same_batch(one, other):
    assert one.keys() == other.keys()
    for name in other.keys():  # noqa: SIM118 (a Data is no dict)
        if isinstance(other[name], torch.Tensor):
            assert one[name].dtype == other[name].dtype, name
            torch.testing.assert_close(one[name], other[name], rtol=0, atol=0)
        else:
            assert one[name] == other[name]


@pytest.mark.parametrize("reader", ["mmap", "direct"])
@pytest.mark.parametrize("name", ["x", "hot", "half", "int8"])
def test_batches_are_the_same_with_rows_that_come_and_go(world, gpu, name, reader, caplog):
    caplog.set_level(logging.INFO, "graphzero")
    ours, theirs = loader(world, name, reader=reader), loader(world, name, reader=reader, device=None)
    for epoch in range(3):
        held = []
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same_batch(one, other)
            if number < 39:  # after the last one the position is that of the next epoch already
                assert ours.state_dict() == theirs.state_dict()
            stats = ours.stats()
            held.append(stats["gpu_cache_rows"])
            if number == 20:  # the model needs more than there is
                gpu.free = 0
        assert len(held) == 40
        if epoch == 0:
            assert set(held[:8]) == {0}
            assert set(held[8:21]) == {4000}
            assert stats["gpu_cache"].endswith("gave back the rest, as the model needs more")
        assert set(held[21:]) == {0}
        gpu.free = 20 * GB if epoch == 0 else 0
        if epoch == 1:
            assert set(held[1:21]) == {4000}
        if epoch == 2:
            assert set(held) == {0}
    assert ours.stats()["on_device_rows"] > 0
    assert "gpu_cache: auto: all rows" in caplog.text
    ours.close()


def test_a_loader_goes_on_from_a_state_around_the_change(world, gpu):
    ours = loader(world)
    states, ids = [], []
    for batch in ours:
        ids.append(batch.n_id)
        states.append(ours.state_dict())
    assert ours.stats()["gpu_cache_rows"] == 4000
    for place in (6, 7, 8, 9, 38):
        resumed = loader(world)
        resumed.load_state_dict(states[place])
        rest = [batch.n_id for batch in resumed]
        assert len(rest) == 39 - place
        for one, other in zip(rest, ids[place + 1 :], strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_iterations_that_are_dropped_and_several_at_once(world, gpu):
    ours, theirs = loader(world), loader(world, device=None)
    for count in (3, 9, 2):
        for one, other, _ in zip(ours, theirs, range(count), strict=False):
            assert_same_batch(one, other)
    for ours_twice, other in zip(zip(ours, ours, strict=True), zip(theirs, theirs, strict=True), strict=True):
        for one, two in zip(ours_twice, other, strict=True):
            assert_same_batch(one, two)
    assert not ours._feed.is_under_way


def test_short_epochs_are_counted_together(world, gpu):
    ours = loader(world, batch_size=500)
    held = []
    for _ in range(3):
        for _ in ours:
            held.append(ours.stats()["gpu_cache_rows"])
    assert held == [0] * 8 + [4000] * 4


def test_where_rows_find_no_room_there_are_half_as_many(world, gpu, monkeypatch):
    monkeypatch.setattr("graphzero.loaders._device.gpu_memory._LEAST_ROOM", 1000)
    gpu.most_at_once = 60_000  # of 216,000
    ours, theirs = loader(world), loader(world, device=None)
    for one, other in zip(ours, theirs, strict=True):
        assert_same_batch(one, other)
    stats = ours.stats()
    assert 50_000 < stats["gpu_cache_bytes"] <= 54_000
    assert stats["gpu_cache"] == "auto: 54.0 kB of 216.0 kB of rows; the device had no room for 108.0 kB"


def test_a_device_that_does_not_say_what_is_free_holds_no_rows(world, gpu, monkeypatch, caplog):
    caplog.set_level(logging.INFO, "graphzero")
    monkeypatch.setattr(feed_module, "memory_facts", lambda device, rows: None)
    ours = loader(world)
    list(ours)
    assert ours.stats()["gpu_cache_rows"] == 0
    assert ours.stats()["gpu_cache"] == "no rows on a GPU"
    assert caplog.text.count("does not say how much memory the model leaves") == 1


def test_an_error_while_rows_are_loaded_leaves_a_loader_that_works(world, gpu, monkeypatch):
    ours = loader(world)
    load = HostAsGpu.load_rows

    def interrupted(self, pipeline):
        raise KeyboardInterrupt

    monkeypatch.setattr(HostAsGpu, "load_rows", interrupted)
    batches = iter(ours)
    for _ in range(8):
        next(batches)
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    assert not ours._feed.is_under_way
    monkeypatch.setattr(HostAsGpu, "load_rows", load)
    theirs = loader(world, device=None)
    for loader_of_one in (ours, theirs):
        loader_of_one.set_epoch(4)
    for one, other in zip(ours, theirs, strict=True):
        assert_same_batch(one, other)
    assert ours.stats()["gpu_cache_rows"] == 4000


def test_a_loader_that_rests_gives_rows_to_the_model_of_another(world, gpu):
    before = bytes_of_rows(torch.device("cpu"))
    training, validation = loader(world), loader(world, shuffle=False)
    list(training)
    assert training.stats()["gpu_cache_rows"] == 4000
    assert bytes_of_rows(torch.device("cpu")) == before + 216_000
    for number, _ in enumerate(validation):
        if number == 2:
            gpu.free = 0
    stats = training.stats()
    assert stats["gpu_cache_rows"] == 0
    assert stats["gpu_cache"] == "auto: gave back all rows, as the model needed more beside another loader"
    gpu.free = 20 * GB
    list(training)
    assert training.stats()["gpu_cache_rows"] == 4000


def test_loaders_of_the_same_rows_share_them(world, gpu):
    before = bytes_of_rows(torch.device("cpu"))
    training, validation = loader(world), loader(world, shuffle=False)
    list(training)
    batches = iter(validation)
    next(batches)
    assert validation.stats()["gpu_cache_rows"] == 0
    next(batches)
    assert validation.stats()["gpu_cache_rows"] == 4000
    assert validation.stats()["gpu_cache"].endswith("which another loader has on the device")
    assert bytes_of_rows(torch.device("cpu")) == before + 216_000
    training.close()
    del training
    gc.collect()
    assert bytes_of_rows(torch.device("cpu")) == before + 216_000
    expected = iter(loader(world, shuffle=False, device=None))
    next(expected), next(expected)
    for one, other in zip(batches, expected, strict=True):
        assert_same_batch(one, other)
    validation.close()
    del validation, batches
    gc.collect()
    assert bytes_of_rows(torch.device("cpu")) == before


def test_a_short_epoch_loads_no_rows_until_there_is_another(world, gpu):
    """11 batches of 5 seeds: fewer rows are left after 8 of them than there are to load."""
    ours = loader(world, input_nodes=np.arange(55), batch_size=5)
    list(ours)
    stats = ours.stats()
    assert stats["gpu_cache_rows"] == 0
    assert stats["gpu_cache"].startswith("auto: waits for the next epoch")
    list(ours)
    assert ours.stats()["gpu_cache_rows"] == 4000


def test_labels_of_another_name_come_from_the_device_too(world, gpu, tmp_path):
    """They have both names in a batch."""
    with gz.DatasetWriter(tmp_path / "data") as writer:
        writer.add_nodes({"x": world.x, "grade": world.y.astype(np.float16)}, label="grade")
        writer.add_edges(world.src, world.dst)
    data = gz.open(tmp_path / "data")
    options = {"batch_size": 50, "seed": 3, "memory": "60MB"}
    ours = NeighborLoader(data, [4, 3], device="cuda:0", **options)
    for one, other in zip(ours, NeighborLoader(data, [4, 3], **options), strict=True):
        assert_same_batch(one, other)
        assert one.y.dtype == torch.float32
        assert one.y is one.grade
    assert ours.stats()["gpu_cache_rows"] == 4000


def test_a_size_is_taken_from_the_first_batch_on(world, gpu):
    ours = loader(world, gpu_cache="20kB")
    next(iter(ours))
    stats = ours.stats()
    assert 15_000 < stats["gpu_cache_bytes"] <= 20_000
    assert stats["gpu_cache"] == "20.0 kB, as given"
    assert gpu.looks == 0
    without = loader(world, gpu_cache=None)
    list(without)
    assert without.stats()["gpu_cache"] == "no rows on a GPU"
    assert gpu.looks == 0


def test_int8_rows_are_converted_as_on_the_host(world):
    store = world.store("int8")
    ids = np.arange(2000)[::-1].copy()
    packed = np.concatenate([store.gather(ids), store.scales_of(ids).view(np.int8).reshape(-1, 4)], axis=1)
    found = dequantised(torch.from_numpy(packed), store.shape[1:])
    expected = torch.from_numpy(store.gather(ids, dtype="float32"))
    assert torch.equal(found.view(torch.int32), expected.view(torch.int32))


def test_int8_rows_take_a_byte_for_an_item_and_four_for_a_scale(world):
    x = Attribute("x", "node", world.store("int8"))
    y = Attribute("y", "node", world.store("y"))
    assert all_bytes([x, y], [x]) == 2000 * (29 + 8)
    assert divide_room(50_000, [x, y], [x]) == {x: 39_190, y: 10_810}

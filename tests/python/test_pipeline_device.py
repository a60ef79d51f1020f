"""A device may keep rows: those are neither read nor copied again."""

from dataclasses import replace

import numpy as np
import pytest

import graphzero as gz
from case_choice import meeting
from graphzero._inputs.attributes import Attribute, Attributes
from graphzero._inputs.pipeline_request import DeviceOptions
from graphzero.pipeline import HostRows
from pipeline_cases import assert_same, pipeline_for_device, write_world

NODE = "node"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("world"))


def pipeline(world, stores, room, **options):
    attributes = Attributes(Attribute(name, NODE, store) for name, store in stores.items())
    return pipeline_for_device(
        {one: room[one.name] for one in attributes if one.name in room},
        world.graph,
        None,
        [4, 3],
        features=attributes,
        **{"seed": 6, "memory": "40MB", "batch_size": 200, **options},
    )


def rows_on_device(running):
    ((attribute, count),) = running._num_rows_on_device().items()
    halves = [running._rows_on_device(attribute, *part) for part in ((0, 900), (900, 2000))]
    rows = np.concatenate(halves)
    assert len(rows) == count
    return rows


def kept_rows(running, store):
    """What the device holds: the rows it is told to, in the order of their slots."""
    rows = rows_on_device(running)
    if not store.reordered:
        return store.gather(rows)
    return store.get_tensor(order="stored")[rows]


@meeting(
    {
        "reader": ["mmap", "direct", "pread"],
        "count": [1, 700, 2000],
        "cache": [None, 0, "20kB"],
        "name": ["x", "hot"],
    },
)
def test_host_rows_and_rows_of_the_device_make_up_the_batch(world, reader, name, count, cache):
    store = world.store(name)
    running = pipeline(world, {"x": store, "y": world.store("y")}, {"x": count * 100}, reader=reader, cache=cache)
    batches = iter(running)
    first = next(batches)
    kept = kept_rows(running, store)
    assert len(kept) == count
    for batch in [first, *batches]:
        rows = batch.node_features["x"]
        assert isinstance(rows, HostRows)
        joined = kept[rows.slots]
        assert len(rows.values) == len(rows.places) < len(joined) or count == 1
        joined[rows.places] = rows.values
        assert_same(joined, world.x[batch.sample.node])
        assert_same(batch.node_features["y"], world.y[batch.sample.node])
    stats = running.stats()
    assert stats["on_device_rows"] > 0
    if count == 2000:
        assert stats["rows"] == stats["on_device_rows"]


@pytest.mark.parametrize("name", ["x", "hot"])
def test_the_device_has_the_rows_that_are_needed_most(world, name):
    store = world.store(name)
    running = pipeline(world, {"x": store}, {"x": 200 * 100})
    times = np.zeros(2000, int)
    for batch in running:
        times[batch.sample.node] += 1
    rows = rows_on_device(running)
    if store.reordered:
        rows = np.flatnonzero(np.isin(store.row_map, rows))
    assert times[rows].mean() > 0.9 * np.sort(times)[-200:].mean()
    assert times[rows].mean() > 1.5 * times.mean()


@pytest.mark.parametrize("name", ["x", "hot"])
def test_what_the_device_has_is_not_cached_again(world, name):
    """Both together hold nearly all rows, though neither holds more than half of them."""
    running = pipeline(world, {"x": world.store(name)}, {"x": 1000 * 100}, reader="direct", cache=1000 * 100)
    list(running)
    stats = running.stats()
    assert stats["sources"]["x"]["cached_rows"] >= 990  # the marks of chosen rows take some memory
    assert stats["read_rows"] + stats["late_rows"] <= 10 * (1000 - stats["sources"]["x"]["cached_rows"])
    assert stats["cached_rows"] > 0


def test_without_room_rows_come_as_they_are(world):
    running = pipeline(world, {"x": world.store("x")}, {})
    assert isinstance(next(iter(running)).node_features["x"], np.ndarray)
    assert running._num_rows_on_device() == {}


@pytest.mark.parametrize("reader", ["mmap", "direct"])
@pytest.mark.parametrize("name", ["x", "hot"])
def test_room_changes_between_batches(world, reader, name):
    """More, all, fewer, none: the batches are those of a pipeline without a device, in one epoch and the next."""
    store = world.store(name)
    running = pipeline(world, {"x": store}, {}, reader=reader, shuffle=True)
    expected = pipeline(world, {"x": store}, {}, reader=reader, shuffle=True)
    (attribute,) = running._attributes
    rooms = {2: 300, 3: 2000, 5: 2000, 6: 40, 8: 0, 9: 1}  # rows, before these batches
    for epoch in range(2):
        kept = kept_rows(running, store) if running._num_rows_on_device() else None
        found = []
        for batch, other in zip(running, expected, strict=True):
            rows = batch.node_features["x"]
            if isinstance(rows, HostRows):
                joined = kept[rows.slots]
                joined[rows.places] = rows.values
                rows = joined
            assert_same(rows, other.node_features["x"])
            assert_same(batch.sample, other.sample)
            assert running.state_dict() == expected.state_dict()
            found.append(batch.number)
            count = rooms.get(batch.number + 1)
            if count is not None:
                running._set_device_room({attribute: count * 100})
                kept = kept_rows(running, store) if count else None
                assert (kept is None) == (running._num_rows_on_device() == {})
        assert found == list(range(10))
        assert running.epoch == epoch + 1
    stats = running.stats()
    assert stats["batches"] == 20
    assert stats["on_device_rows"] > 0
    if reader == "direct":
        assert stats["fill_bytes"] >= expected.stats()["fill_bytes"]


def test_rows_that_the_device_has_are_not_read(world):
    """No rows are cached, and no more batches are sampled ahead than of a file in memory."""
    running = pipeline(world, {"x": world.store("x")}, {"x": 2000 * 100}, reader="direct", batch_size=10)
    list(running)
    stats = running.stats()
    assert stats["device_reads"] == stats["fill_bytes"] == stats["memory"]["cache"] == 0
    assert stats["most_ahead"] == 8


def test_room_changes_of_a_resumed_share(world):
    """Every third batch, from a place in the middle of an epoch."""
    store = world.store("x")
    running = pipeline(world, {"x": store}, {}, batch_size=50)
    expected = pipeline(world, {"x": store}, {}, batch_size=50)
    state = {**expected.state_dict(), "epoch": 3, "batch": 7}
    for one in (running, expected):
        one.load_state_dict(state)
    numbers = []
    for batch, other in zip(running.share(1, 3), expected.share(1, 3), strict=True):
        assert_same(batch.sample, other.sample)
        numbers.append(batch.number)
        running._set_device_room({running._attributes[0]: 100 * len(numbers)})
    assert numbers == list(range(8, 40, 3))


def test_the_same_room_changes_nothing(world):
    running = pipeline(world, {"x": world.store("x")}, {"x": 300 * 100})
    batches = iter(running)
    next(batches)
    before = running.stats()["seconds_preparing"]
    running._set_device_room({running._attributes[0]: 300 * 100})
    assert next(batches).number == 1
    assert running.stats()["seconds_preparing"] == before
    running._set_device_room({})
    assert running.stats()["seconds_preparing"] > before


def test_room_does_not_wake_an_iteration_that_is_over(world):
    running = pipeline(world, {"x": world.store("x")}, {})
    old = iter(running)
    next(old)
    new = iter(running)
    next(new)
    running._set_device_room({running._attributes[0]: 1000})
    with pytest.raises(RuntimeError, match="this iteration is over"):
        next(old)
    assert next(new).number == 1
    running.set_epoch(5)
    running._set_device_room({})
    with pytest.raises(RuntimeError, match="this iteration is over"):
        next(new)
    assert next(iter(running)).epoch == 5


def test_an_order_of_the_user_is_not_asked_again(world):
    asked = []

    def order():
        asked.append(1)
        yield from np.random.default_rng(len(asked)).permutation(2000)

    class Order:
        def __iter__(self):
            return order()

    running = pipeline(world, {"x": world.store("x")}, {}, order=Order())
    seen = []
    for batch in running:
        seen.append(batch.input_id)
        running._set_device_room({running._attributes[0]: 100 * len(seen)})
    assert len(asked) == 1
    assert sorted(np.concatenate(seen)) == list(range(2000))


def test_quantised_rows_bring_their_scales(world):
    """As the device takes them: the int8 items of a row, and behind them its scale."""
    gz.convert_features(f"{world.folder}/x.gd", f"{world.folder}/int8.gd", dtype="int8-quantised")
    store = world.store("int8")
    attribute = Attribute("x", NODE, store)
    with gz.Pipeline(world.graph, None, [4, 3], features=Attributes([attribute]), batch_size=200, seed=6) as asked:
        device = DeviceOptions(room={attribute: 29 * 500}, with_scales=[attribute])
        running = gz.Pipeline._of_request(replace(asked._request, device=device))
    for batch in running:
        rows = batch.node_features["x"]
        assert (rows.values.dtype, rows.values.shape[1]) == (np.int8, 29)
        ids = batch.sample.node[rows.places]
        assert_same(rows.values[:, :25].copy(), store.gather(ids))
        assert_same(rows.values[:, 25:].copy().view(np.float32)[:, 0], store.scales_of(ids))
    assert running._num_rows_on_device() == {attribute: 500}

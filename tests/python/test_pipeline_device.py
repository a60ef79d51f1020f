"""A device may keep rows: those are neither read nor copied again."""

import numpy as np
import pytest

from case_choice import meeting
from graphzero._inputs.attributes import Attribute, Attributes
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
        batch_size=200,
        seed=6,
        **{"memory": "40MB", **options},
    )


def kept_rows(running, store):
    """What the device holds: the rows it is told to, in the order of their slots."""
    ((_, rows),) = running.rows_on_device().items()
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
    rows = next(iter(running.rows_on_device().values()))
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
    assert stats["read_rows"] + stats["unslotted_rows"] <= 10 * (1000 - stats["sources"]["x"]["cached_rows"])
    assert stats["cached_rows"] > 0


def test_without_room_rows_come_as_they_are(world):
    running = pipeline(world, {"x": world.store("x")}, {})
    assert isinstance(next(iter(running)).node_features["x"], np.ndarray)
    assert running.rows_on_device() == {}

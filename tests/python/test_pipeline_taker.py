"""One who takes batches may keep rows itself: those are neither read nor copied."""

import numpy as np
import pytest

import graphzero as gz
from case_choice import meeting
from graphzero._inputs.attributes import Attribute, Attributes
from graphzero.pipeline import RowsHere, Taker
from pipeline_cases import assert_same, write_world

NODE = "node"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("world"))


def pipeline(world, stores, room, **options):
    attributes = Attributes(Attribute(name, NODE, store) for name, store in stores.items())
    taker = Taker(room={one: room[one.name] for one in attributes if one.name in room})
    return gz.Pipeline(
        world.graph,
        None,
        [4, 3],
        features=attributes,
        batch_size=200,
        seed=6,
        **{"memory": "40MB", **options},
        taker=taker,
    )


def kept_rows(running, store):
    """What the taker loads: the rows it is told, in the order of its slots."""
    ((_, rows),) = running.rows_elsewhere().items()
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
def test_rows_here_and_rows_of_the_taker_make_up_the_batch(world, reader, name, count, cache):
    store = world.store(name)
    running = pipeline(world, {"x": store, "y": world.store("y")}, {"x": count * 100}, reader=reader, cache=cache)
    batches = iter(running)
    first = next(batches)
    kept = kept_rows(running, store)
    assert len(kept) == count
    for batch in [first, *batches]:
        rows = batch.node_features["x"]
        assert isinstance(rows, RowsHere)
        joined = kept[rows.slots]
        assert len(rows.values) == len(rows.places) < len(joined) or count == 1
        joined[rows.places] = rows.values
        assert_same(joined, world.x[batch.sample.node])
        assert_same(batch.node_features["y"], world.y[batch.sample.node])
    stats = running.stats()
    assert stats["elsewhere_rows"] > 0
    if count == 2000:
        assert stats["rows"] == stats["elsewhere_rows"]


@pytest.mark.parametrize("name", ["x", "hot"])
def test_the_taker_has_the_rows_that_are_needed_most(world, name):
    store = world.store(name)
    running = pipeline(world, {"x": store}, {"x": 200 * 100})
    times = np.zeros(2000, int)
    for batch in running:
        times[batch.sample.node] += 1
    rows = next(iter(running.rows_elsewhere().values()))
    if store.reordered:
        rows = np.flatnonzero(np.isin(store.row_map, rows))
    assert times[rows].mean() > 0.9 * np.sort(times)[-200:].mean()
    assert times[rows].mean() > 1.5 * times.mean()


@pytest.mark.parametrize("name", ["x", "hot"])
def test_what_the_taker_has_is_not_cached_again(world, name):
    """Both together hold nearly all rows, though each of them holds not half as many."""
    running = pipeline(world, {"x": world.store(name)}, {"x": 1000 * 100}, reader="direct", cache=1000 * 100)
    list(running)
    stats = running.stats()
    assert stats["sources"]["x"]["cached_rows"] >= 990  # the marks of chosen rows take some memory
    assert stats["read_rows"] + stats["unslotted_rows"] <= 10 * (1000 - stats["sources"]["x"]["cached_rows"])
    assert stats["cached_rows"] > 0


def test_without_room_rows_come_as_they_are(world):
    running = pipeline(world, {"x": world.store("x")}, {})
    assert isinstance(next(iter(running)).node_features["x"], np.ndarray)
    assert running.rows_elsewhere() == {}

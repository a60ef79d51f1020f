"""Rows that stay on a device and rows that are sent there make up a batch. Here the device is the CPU."""

import pytest
import torch

from graphzero._inputs.attributes import Attribute, Attributes
from graphzero.loaders._batch.tensors import as_tensor
from graphzero.loaders._device.gpu_rows import DeviceRows, divide_room, row_bytes
from graphzero.pipeline import HostRows
from pipeline_cases import assert_same, pipeline_for_device, write_world


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize("name", ["x", "hot"])
@pytest.mark.parametrize("dtype", [None, "float16"])
@pytest.mark.parametrize("at_once", [100, 64 << 20])
def test_joined_rows_are_those_of_the_batch(world, monkeypatch, name, dtype, at_once):
    """Rows are loaded in parts, one by one or all together."""
    monkeypatch.setattr("graphzero.loaders._device.gpu_rows._BYTES_AT_ONCE", at_once)
    attributes = Attributes([Attribute("x", "node", world.store(name)), Attribute("y", "node", world.store("y"))])
    dtypes = {} if dtype is None else {"x": dtype}
    rows = 700
    room = {attributes[0]: rows * row_bytes(attributes[0].store, dtype)}
    running = pipeline_for_device(
        room,
        world.graph,
        None,
        [4, 3],
        features=attributes,
        batch_size=200,
        dtype=dtypes,
        memory="40MB",
        seed=6,
    )
    kept = None
    for batch in running:
        kept = kept or DeviceRows(running, torch.device("cpu"), dtypes)
        here = batch.node_features["x"]
        assert isinstance(here, HostRows)
        parts = (torch.from_numpy(part) for part in (here.slots, here.places))
        joined = kept.join("node", "x", as_tensor(here.values), *parts)
        assert_same(joined.numpy(), world.x[batch.sample.node].astype(dtype or "float32"))
        assert 0 < len(here.places) < len(joined)
    assert kept.count == rows
    assert kept.nbytes == rows * 25 * (4 if dtype is None else 2)


def test_small_attributes_stay_whole_and_others_in_proportion(world):
    """Rows of 100, 8 and 6 bytes: 200 kB, 16 kB and, of edges, 96 kB."""
    x, y, w = (Attribute(name, "node", world.store(name)) for name in ("x", "y", "w"))
    assert divide_room(1_000_000, [x, y, w], {}) == {x: 200_000, y: 16_000, w: 96_000}
    assert divide_room(312_000, [x, y, w], {}) == {x: 200_000, y: 16_000, w: 96_000}
    assert divide_room(100_000, [x, y], {}) == {x: 84_000, y: 16_000}
    room = divide_room(32_000, [x, y, w], {})
    assert sum(room.values()) <= 32_000
    assert room == {y: 32_000 * 16 // 312, w: 30_359 * 96 // 296, x: 20_513}
    assert divide_room(1_000_000, [x, w], {"w": "float32"}) == {x: 200_000, w: 192_000}
    assert divide_room(0, [x], {}) == {x: 0}

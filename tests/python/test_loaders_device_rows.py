"""Rows that stay on a device and rows that are sent there make up a batch. Here the device is the CPU."""

import weakref

import pytest
import torch

from graphzero._inputs.attributes import Attribute, Attributes
from graphzero.loaders._batch.tensors import as_tensor
from graphzero.loaders._device.gpu_rows import DeviceRows, divide_room
from graphzero.loaders._device.transfer import InFlightMemory
from graphzero.pipeline import HostRows
from pipeline_cases import assert_same, pipeline_for_device, write_world


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize("name", ["x", "hot"])
@pytest.mark.parametrize("at_once", [(100, 1), (100, 900), (64 << 20, 300), (64 << 20, 1 << 23)])
def test_joined_rows_are_those_of_the_batch(world, monkeypatch, name, at_once):
    """Rows and their ids are loaded in parts, one by one or all together."""
    monkeypatch.setattr("graphzero.loaders._device.gpu_rows._BYTES_AT_ONCE", at_once[0])
    monkeypatch.setattr("graphzero.loaders._device.gpu_rows._IDS_AT_ONCE", at_once[1])
    attributes = Attributes([Attribute("x", "node", world.store(name)), Attribute("y", "node", world.store("y"))])
    rows = 700
    room = {attributes[0]: rows * 100}
    running = pipeline_for_device(
        room,
        world.graph,
        None,
        [4, 3],
        features=attributes,
        batch_size=200,
        memory="40MB",
        seed=6,
    )
    kept = None
    for batch in running:
        kept = kept or DeviceRows(running, torch.device("cpu"), [])
        here = batch.node_features["x"]
        assert isinstance(here, HostRows)
        parts = (torch.from_numpy(part) for part in (here.slots, here.places))
        joined = kept.join("node", "x", as_tensor(here.values), *parts)
        assert_same(joined.numpy(), world.x[batch.sample.node])
        assert 0 < len(here.places) < len(joined)
    assert kept.count == rows
    assert kept.nbytes == rows * 100


def test_small_attributes_stay_whole_and_others_in_proportion(world):
    """Rows of 100, 8 and 6 bytes: 200 kB, 16 kB and, of edges, 96 kB."""
    x, y, w = (Attribute(name, "node", world.store(name)) for name in ("x", "y", "w"))
    assert divide_room(1_000_000, [x, y, w], []) == {x: 200_000, y: 16_000, w: 96_000}
    assert divide_room(312_000, [x, y, w], []) == {x: 200_000, y: 16_000, w: 96_000}
    assert divide_room(100_000, [x, y], []) == {x: 84_000, y: 16_000}
    room = divide_room(32_000, [x, y, w], [])
    assert sum(room.values()) <= 32_000
    assert room == {y: 32_000 * 16 // 312, w: 30_359 * 96 // 296, x: 20_513}
    assert divide_room(0, [x], []) == {x: 0}


class Memory:
    """What a copy reads."""


class Copy:
    """The event of a copy that reads memory until it is waited for."""

    def __init__(self, memory):
        self._memory = weakref.ref(memory)
        self.is_over = False

    def query(self):
        return self.is_over

    def synchronize(self):
        assert self._memory() is not None, "the memory went before the device had read it"
        self.is_over = True


def test_memory_that_the_device_reads_is_held_until_it_has_been_read():
    """It went as soon as a copy was waited for: the pipeline put the next batch there while the device read it."""
    in_flight, memories = InFlightMemory(), []
    for _ in range(5):
        memory = Memory()
        memories.append(weakref.ref(memory))
        in_flight.release(2)
        in_flight.add(Copy(memory), [memory])
        del memory
    assert [memory() is None for memory in memories] == [True, True, True, False, False]


def test_memory_that_has_been_read_is_dropped_without_waiting():
    in_flight, memory = InFlightMemory(), Memory()
    gone, copy = weakref.ref(memory), Copy(memory)
    in_flight.add(copy, [memory])
    del memory
    in_flight.release(2)
    assert gone() is not None
    copy.is_over = True
    in_flight.release(2)
    assert gone() is None

"""A graph with attributes, and what a pipeline must make of them."""

import dataclasses
import gc
import os
import time
from dataclasses import dataclass, replace

import numpy as np

import graphzero as gz
from graphzero._inputs.pipeline_request import DeviceOptions

NUM_NODES, NUM_EDGES = 2_000, 16_000


@dataclass
class World:
    """Attributes ``x`` (of 100 bytes a row) and ``y`` of nodes, ``w`` of edges: as arrays and as files."""

    graph: gz.Graph
    src: np.ndarray
    dst: np.ndarray
    time: np.ndarray
    x: np.ndarray
    y: np.ndarray
    w: np.ndarray
    folder: str

    def store(self, name):
        return gz.FeatureStore(f"{self.folder}/{name}.gd")


def write_world(folder, num_nodes=NUM_NODES, num_edges=NUM_EDGES):
    """Files of a graph with hubs, weights and times; ``hot.gd`` is ``x.gd`` in another order."""
    rng = np.random.default_rng(0)
    src = (num_nodes * rng.random(num_edges) ** 3).astype(np.int64)
    dst = rng.integers(0, num_nodes, num_edges)
    times = rng.integers(0, 100, num_edges)
    weight = rng.integers(1, 6, num_edges).astype(np.float32)
    gz.write_graph(f"{folder}/g.gl", src, dst, num_nodes=num_nodes, weight=weight)
    gz.write_graph(f"{folder}/timed.gl", src, dst, num_nodes=num_nodes, time=times)
    x = rng.standard_normal((num_nodes, 25)).astype(np.float32)
    y = rng.integers(0, 40, num_nodes)
    w = rng.standard_normal((num_edges, 3)).astype(np.float16)
    for name, array in (("x", x), ("y", y), ("w", w)):
        gz.write_features(f"{folder}/{name}.gd", array)
    graph = gz.Graph(f"{folder}/g.gl")
    gz.reorder(f"{folder}/x.gd", f"{folder}/hot.gd", graph)
    return World(graph, src, dst, times, x, y, w, str(folder))


def assert_same(found, expected):
    """Bit by bit: samples, arrays, dicts and lists of them."""
    assert type(found) is type(expected)
    if dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            if field.compare:
                assert_same(getattr(found, field.name), getattr(expected, field.name))
        if hasattr(expected, "edge_index"):
            assert_same(found.edge_index, expected.edge_index)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key, value in expected.items():
            assert_same(found[key], value)
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()
    else:
        assert found == expected


def sampled(graph, batch, seeds, fanouts, **options):
    """What the batch must have sampled: the same call by hand, on its seeds."""
    return gz.sample_neighbors(
        graph, np.asarray(seeds)[batch.input_id], fanouts, epoch=batch.epoch, batch=batch.number, **options
    )


def tasks():
    gc.collect()  # what tests before have left is not to go while this one counts
    return len(os.listdir("/proc/self/task"))


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def settled(count, wanted):
    """What ``count()`` is once it is ``wanted`` again, or after half a minute."""
    gc.collect()
    end = time.monotonic() + 30
    while count() != wanted and time.monotonic() < end:
        time.sleep(0.01)
    return count()


def pipeline_for_device(room, *arguments, **options):
    """A pipeline whose batches go to a device that has ``room``, in bytes by attribute, for rows of its own."""
    with gz.Pipeline(*arguments, **options) as asked:
        return gz.Pipeline._of_request(replace(asked._request, device=DeviceOptions(room=room)))

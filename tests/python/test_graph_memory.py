"""The graph beside the rows: what sampling reads through the page cache has room, or a note says that it has not."""

import itertools
import logging
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import graphzero as gz
from cgroups import limited_to
from graphzero._base.memory_sizes import pipeline_budget, reserved_beside
from graphzero._inputs import graph_memory
from graphzero._tools.page_cache import drop_from_page_cache
from pipeline_cases import NUM_EDGES, NUM_NODES, write_world

GB, MB = 10**9, 10**6
OFFSETS_AND_IDS = 8 * (NUM_NODES + 1) + 4 * NUM_EDGES  # of neighbours


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def room(monkeypatch):
    """Sets what is available; no control group counts."""

    def leave(available):
        monkeypatch.setattr("graphzero._core.available_memory", lambda: available)

    facts = SimpleNamespace(cgroup_page_cache=None, ram_available=2**50)
    monkeypatch.setattr("graphzero._core.memory_facts", lambda: facts)
    monkeypatch.setattr(graph_memory, "_noted", set())
    return leave


@pytest.mark.parametrize(
    ("available", "beside", "expected"),
    [
        (16 * GB, 0, 8 * GB),
        (16 * GB, 7 * GB, 8 * GB),  # both fit
        (12 * GB, 7 * GB, 5 * GB - (64 << 20)),  # what the graph leaves
        (8 * GB, 7 * GB, 2 * GB),  # it fits beside no useful number of rows
        (8 * GB, 70 * GB, 2 * GB),
        (780 * MB, 448 * MB, 332 * MB - (64 << 20)),
        (580 * MB, 448 * MB, 290 * MB),  # a quarter would not hold a few batches
        (100 * MB, 0, 50 * MB),
        (100 * MB, 40 * MB, 50 * MB),
    ],
)
def test_the_default_budget_leaves_room_for_the_graph(room, available, beside, expected):
    room(available)
    assert pipeline_budget(beside) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, OFFSETS_AND_IDS),  # of the two directions in the file
        ({"direction": "out"}, OFFSETS_AND_IDS),
        ({"weighted": True}, OFFSETS_AND_IDS + 4 * NUM_EDGES + 8 * NUM_EDGES // 16),
    ],
)
def test_only_what_is_drawn_from_counts(world, options, expected):
    pipeline = gz.Pipeline(world.graph, None, [4], features=world.store("x"), seed=1, **options)
    assert pipeline.stats()["topology"]["bytes"] == expected


def test_edge_ids_count_where_rows_are_found_by_them(world, tmp_path):
    gz.write_features(tmp_path / "e.gd", np.zeros((NUM_EDGES, 1), np.float32))
    with gz.FeatureStore(tmp_path / "e.gd") as rows:
        pipeline = gz.Pipeline(world.graph, None, [4], edge_features=rows, seed=1)
        assert pipeline.stats()["topology"]["bytes"] == OFFSETS_AND_IDS + 4 * NUM_EDGES
    pipeline = gz.Pipeline(world.graph, None, [4], subgraph_type="bidirectional", seed=1)
    assert pipeline.stats()["topology"]["bytes"] == OFFSETS_AND_IDS + 4 * NUM_EDGES


def test_a_relation_that_is_not_drawn_from_does_not_count(world):
    pipeline = gz.Pipeline(world.graph, None, [0, 0], features=world.store("x"), memory="40MB")
    assert pipeline.stats()["topology"] == {"bytes": 0, "resident": 0}


def test_stats_say_how_much_of_the_graph_is_in_memory(world):
    world.graph.preload()
    found = gz.Pipeline(world.graph, None, [4], features=world.store("x"), memory="40MB").stats()["topology"]
    assert found["resident"] in (found["bytes"], None)


def notes(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def begin(world, **options):
    given = {"features": world.store("hot"), "reader": "direct", "batch_size": 100, "memory": "40MB", "seed": 6}
    with gz.Pipeline(world.graph, None, [4, 3], **{**given, **options}) as pipeline:
        next(iter(pipeline))
        return pipeline.stats()


def room_for(size):
    """The least that has to be available for so many bytes, and for the process itself."""
    return next(room for room in itertools.count(size) if room - reserved_beside(room) >= size)


def test_a_graph_that_does_not_fit_beside_the_rows_is_noted_once(world, room, caplog):
    rows = world.store("hot").nbytes
    needed = OFFSETS_AND_IDS + 4 * NUM_NODES
    least = room_for(rows + needed)
    room(least - 1)
    begin(world)
    begin(world)
    (note,) = notes(caplog)
    assert note.startswith(f"{world.graph.path}: sampling reads 88.0 kB through the page cache, topology and row maps")
    assert f"rows may take {rows / 1000:.1f} kB of the {least / 1000:.1f} kB" in note
    assert note.endswith("has left: what does not fit is read from the device again and again, which makes batches "
                         "several times slower; give memory='172.0 kB', or let this control group have 1 B more")  # fmt: skip


def test_a_budget_above_what_there_is_is_noted(world, room, caplog):
    """The kernel would end the process."""
    rows = world.store("hot").nbytes
    room(rows // 2)
    begin(world)
    (note,) = notes(caplog)
    assert note.startswith(f"memory: rows may take {rows / 1000:.1f} kB, more than the {rows / 2000:.1f} kB that this ")
    assert "has left: the process may be killed for that; give memory=" in note


def test_a_graph_that_fits_is_not_noted(world, room, caplog):
    rows = world.store("hot").nbytes
    room(room_for(rows + OFFSETS_AND_IDS + 4 * NUM_NODES))
    begin(world)  # memory is 40 MB, but there are fewer rows than that
    room(200_000)
    begin(world, reader="mmap")  # no row is held
    assert notes(caplog) == []


def test_a_default_that_is_too_little_for_batches_grows_to_half(world, room, monkeypatch):
    room(100 * MB)
    monkeypatch.setattr("graphzero._inputs.pipeline_request.pipeline_budget", lambda beside: 1 * MB)
    assert begin(world, memory=None)["memory"]["budget"] == 50 * MB
    with pytest.raises(ValueError, match="memory: expected at least"):
        begin(world, memory=1 * MB)


def faults_of(path, read):
    drop_from_page_cache(path)
    before = gz.memory_report().major_faults
    read()
    return gz.memory_report().major_faults - before


def test_seeds_and_row_maps_that_are_not_in_memory_are_read_many_at_a_time(world, tmp_path):
    rng = np.random.default_rng(0)
    gz.write_features(tmp_path / "seeds.gd", rng.integers(0, NUM_NODES, 1_500_000))
    gz.write_features(tmp_path / "x.gd", np.arange(1_500_000, dtype=np.int32))
    gz.write_graph(tmp_path / "g.gl", *rng.integers(0, 1_500_000, (2, 100_000)), num_nodes=1_500_000)
    gz.reorder(tmp_path / "x.gd", tmp_path / "hot.gd", gz.Graph(tmp_path / "g.gl"))
    seeds, hot = gz.FeatureStore(tmp_path / "seeds.gd"), gz.FeatureStore(tmp_path / "hot.gd")
    wanted = rng.integers(0, 1_500_000, 100_000)
    pages = 1_500_000 * 4 // 4096
    ids = seeds.get_tensor(writable=False)
    assert faults_of(seeds.path, lambda: gz.Pipeline(world.graph, ids, [2], shuffle=True)) < 2 * pages / 4
    assert faults_of(hot.path, lambda: hot.gather(wanted, reader="direct")) < pages / 2


# Prints a digest of all batches; the note goes to standard error.
LIMITED = """
import hashlib, sys
import graphzero as gz
pipeline = gz.Pipeline(gz.Graph("{folder}/g.gl"), None, [5, 3], features=gz.FeatureStore("{folder}/x.gd"),
                       batch_size=500, shuffle=True, memory="100MB", reader="direct", seed=1)
digest = hashlib.blake2b()
for batch in pipeline:
    digest.update(batch.sample.node.tobytes())
    if batch.number == 15:
        break
    del batch
print(digest.hexdigest())
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A graph of 98 MB, half of them edge ids, and rows of 200 MB."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    gz.write_graph(f"{folder}/g.gl", *rng.integers(0, 200_000, (2, 12_000_000)), index="in", num_nodes=200_000)
    gz.write_features(f"{folder}/x.gd", np.broadcast_to(np.float32(1), (200_000, 250)))
    return folder


@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_in_a_small_group_batches_are_the_same_and_a_note_says_why_they_are_slow(large):
    """Pages that are in memory count for whoever read them: a group needs no room for those of another."""
    command = [sys.executable, "-c", LIMITED.format(folder=large)]

    def run(arguments):
        return subprocess.run(arguments, capture_output=True, text=True, check=True)

    drop_from_page_cache(f"{large}/g.gl")
    cold = run(limited_to(190 * MB, command))
    free = run(command)
    gz.Graph(f"{large}/g.gl").preload()
    warm = run(limited_to(190 * MB, command))
    assert cold.stdout == free.stdout == warm.stdout
    assert "sampling reads 49.6 MB" in cold.stderr
    assert "this control group" in cold.stderr
    assert free.stderr == warm.stderr == ""


def test_a_long_epoch_reads_the_whole_graph_while_it_begins(world, room, tmp_path):
    rng = np.random.default_rng(0)
    gz.write_graph(tmp_path / "g.gl", *rng.integers(0, 100_000, (2, 1_000_000)), index="in", num_nodes=100_000)
    graph = gz.Graph(tmp_path / "g.gl")

    def begin_epoch(batch_size):
        drop_from_page_cache(graph.path)
        seeds = np.arange(3200)
        with gz.Pipeline(graph, seeds, [1], features={}, batch_size=batch_size, memory="40MB", seed=1) as pipeline:
            next(iter(pipeline))
            for thread in threading.enumerate():
                if thread.name == "graphzero topology":
                    thread.join()
            return pipeline.stats()["topology"]

    found = begin_epoch(3200)
    if found["resident"] is None or found["resident"] == found["bytes"]:
        pytest.skip("this kernel does not say what is in memory, or the file cannot be dropped from it")
    found = begin_epoch(100)
    assert found["resident"] == found["bytes"]
    room(room_for(found["bytes"]))  # and nothing for rows
    assert begin_epoch(100)["resident"] == found["bytes"]
    room(room_for(found["bytes"]) - 1)
    found = begin_epoch(100)
    assert found["resident"] < found["bytes"]

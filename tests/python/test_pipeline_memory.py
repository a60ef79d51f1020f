"""A pipeline keeps its budget, and tells where time, bytes and memory go."""

import itertools
import json
import re
import subprocess
import sys
import time

import numpy as np
import pytest

import graphzero as gz
from cgroups import limited_to
from faults import run
from graphzero import _core
from pipeline_cases import NUM_NODES, write_world

READERS = ["mmap", "direct", "pread"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("world"))


def make(world, **options):
    given = {"features": world.store("x"), "batch_size": 100, "memory": "40MB", "cache": "30kB", "reader": "direct"}
    return gz.Pipeline(world.graph, None, [4, 3], seed=6, **{**given, **options})


@pytest.mark.parametrize("options", [{}, {"cache": "50MB"}, {"threads": 8}, {"batch_size": 2000}])
def test_the_least_memory_is_named_and_is_enough(world, options):
    with pytest.raises(ValueError, match="memory: expected at least") as raised:
        next(iter(make(world, **{"memory": "1MB", "cache": None, **options})))
    fewer = "a smaller cache, " if options.get("cache") else ""
    message = (
        r"memory: expected at least (\d+) MB for batches of this size, found 1 MB; give more, or use "
        f"{fewer}smaller batches, smaller fanouts or fewer attributes"
    )
    least = int(re.fullmatch(message, str(raised.value))[1])
    assert least >= 4
    assert len(list(make(world, **{"memory": f"{least}MB", "cache": None, **options}))) == -(
        -NUM_NODES // options.get("batch_size", 100)
    )
    with pytest.raises(ValueError, match=f"at least {least} MB .* found {least - 1} MB"):
        next(iter(make(world, **{"memory": f"{least - 1}MB", "cache": None, **options})))


def test_many_threads_need_no_more_memory(world):
    """As many sample at the same time as the memory is enough for; the batches are the same."""
    expected = list(make(world, batch_size=2000, threads=1))
    pipeline = make(world, batch_size=2000, memory="24MB", threads=64)
    batches = list(pipeline)
    stats = pipeline.stats()
    assert stats["threads"] == 64
    assert 1 < stats["plan"]["samplers"] < 64
    for batch, same in zip(batches, expected, strict=True):
        assert np.array_equal(batch.sample.node, same.sample.node)
        assert np.array_equal(batch.node_features["x"], same.node_features["x"])


def test_sixteen_threads_work_with_the_least_memory_of_one(world):
    with pytest.raises(ValueError, match="memory: expected at least") as raised:
        next(iter(make(world, batch_size=2000, memory="1MB", cache=None, threads=1)))
    least = int(re.search(r"at least (\d+) MB", str(raised.value))[1])
    alone = list(make(world, batch_size=2000, threads=1))
    together = make(world, batch_size=2000, memory=f"{least}MB", cache=None, threads=16)
    for batch, same in zip(together, alone, strict=True):
        assert np.array_equal(batch.sample.edge, same.sample.edge)
        assert np.array_equal(batch.node_features["x"], same.node_features["x"])
    assert together.stats()["plan"]["samplers"] < 16


def test_the_window_grows_with_the_threads_where_nothing_is_read(world):
    for threads, limit, ahead in ((1, None, 8), (16, None, 32), (16, 3, 3)):
        pipeline = make(world, batch_size=20, features=None, threads=threads, ahead=limit)
        assert sum(1 for _ in pipeline) == -(-NUM_NODES // 20)
        assert pipeline.stats()["most_ahead"] == ahead


def test_ids_that_wait_to_be_handed_out_are_as_few_as_outputs(world):
    """The ids of a batch take twice as much there as while they wait for their turn."""
    pipeline = make(world, batch_size=20, features=None, threads=4)
    pipeline._log_stages(True)
    batches = iter(pipeline)
    next(batches)
    deadline = time.monotonic() + 10
    while pipeline.stats()["batches_ahead"] < 8 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    stages = pipeline._stages()
    begun = np.unique(stages.number[stages.stage == _core.Stage.BEGIN.value])
    assert len(np.unique(stages.number[stages.stage == _core.Stage.SAMPLE.value])) >= 8
    assert 1 <= len(begun) <= 1 + pipeline.stats()["plan"]["outputs"]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file of 300 MB whose row i is full of i, beside a graph."""
    folder = tmp_path_factory.mktemp("large")
    num_nodes = 150_000
    rng = np.random.default_rng(0)
    gz.write_graph(f"{folder}/g.gl", rng.integers(0, num_nodes, 600_000), rng.integers(0, num_nodes, 600_000))
    rows = np.broadcast_to(np.arange(num_nodes, dtype=np.float32)[:, None], (num_nodes, 500))
    gz.write_features(f"{folder}/x.gd", rows)
    return folder


BESIDE = 32 << 20  # what docs/guide/memory.md promises beside `memory`: stacks, heaps, rounding

# Iterates twice; prints the memory of the process's own at the start, the most there was and what stays.
LARGE = """
import json, re, sys, threading, time
import numpy as np, graphzero as gz
def anonymous():
    with open("/proc/self/status") as status:
        return int(re.search(r"RssAnon:\\s+(\\d+)", status.read())[1]) << 10
graph, x, seeds = gz.Graph("{folder}/g.gl"), gz.FeatureStore("{folder}/x.gd"), np.arange(0, 150_000, 20)
before, most, over = anonymous(), 0, False
def watch():
    global most
    while not over:
        most = max(most, anonymous())
        time.sleep(0.002)
watcher = threading.Thread(target=watch)
watcher.start()
try:
    pipeline = gz.Pipeline(graph, seeds, [5, 3], features=x, batch_size={batch_size}, shuffle=True,
                           memory="{memory}", reader="{reader}", seed=1)
    for _ in range(2):
        for batch in pipeline:
            rows = batch.node_features["x"]
            assert np.array_equal(rows[:, 0], batch.sample.node) and np.array_equal(rows[:, -1], batch.sample.node)
            del batch, rows
    stats = pipeline.stats()
    pipeline.close()
finally:
    over = True
    watcher.join()
print(json.dumps([before, most, anonymous(), stats["batches"], stats["memory"], stats["sources"]["x"]]))
"""


def batch_size_for(memory):
    return memory * 4 // 1_000_000


@pytest.mark.no_asan
@pytest.mark.no_tsan
@pytest.mark.parametrize("memory", [40_000_000, 128_000_000])
@pytest.mark.parametrize("reader", ["direct", "pread", "auto"])
def test_memory_is_all_that_a_pipeline_holds(large, reader, memory):
    """In a control group of what the process has without it, `memory` and one constant, beside which it frees all."""
    code = LARGE.format(folder=large, reader=reader, memory=memory, batch_size=batch_size_for(memory))
    before, most, after, batches, held, source = run(code)
    assert batches == 2 * -(-7_500 // batch_size_for(memory))
    if reader != "auto":
        assert (source["reader"], source["num_rows"]) == (reader, 150_000)
        assert source["cached_rows"] < 150_000
        assert memory / 2 < most - before
    assert most - before < memory + BESIDE
    assert after - before < BESIDE / 2
    assert sum(size for purpose, size in held.items() if purpose != "budget") <= memory
    command = limited_to(before + memory + BESIDE, [sys.executable, "-c", code])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[3] == batches


STATS = {
    "batches",
    "rows",
    "on_device_rows",
    "pinned_bytes",
    "mapped_rows",
    "cached_rows",
    "dropped_rows",
    "late_rows",
    "shared_rows",
    "read_rows",
    "device_reads",
    "device_bytes",
    "fill_reads",
    "fill_bytes",
    "hit_rate",
    "read_amplification",
    "queue_depth",
    "seconds_sampling",
    "seconds_assembling",
    "seconds_reading",
    "seconds_waited",
    "seconds_away",
    "seconds_preparing",
    "threads",
    "batches_ahead",
    "most_ahead",
    "memory",
    "plan",
    "roofline",
    "sources",
    "topology",
}


@pytest.mark.parametrize("ahead", [1, None])
@pytest.mark.parametrize("cache", [0, "60kB", None])
@pytest.mark.parametrize("reader", READERS)
def test_every_row_is_counted_once(world, reader, cache, ahead):
    pipeline = make(world, reader=reader, cache=cache, ahead=ahead, edge_features=world.store("w"), threads=2)
    empty = pipeline.stats()
    assert set(empty) == STATS
    assert (empty["batches"], empty["rows"], empty["hit_rate"], empty["read_amplification"]) == (0, 0, None, None)
    rows = 0
    for batch in itertools.chain(pipeline, pipeline):
        rows += len(batch.sample.node) + len(batch.sample.edge)
    stats = pipeline.stats()
    assert set(stats) == STATS
    assert (stats["batches"], stats["rows"], stats["threads"]) == (40, rows, 2)
    missed = stats["read_rows"] + stats["shared_rows"] + stats["late_rows"] - stats["dropped_rows"]
    assert rows == stats["mapped_rows"] + stats["cached_rows"] + missed
    assert stats["hit_rate"] == 1 - (stats["read_rows"] + stats["late_rows"]) / rows
    if reader == "mmap":
        assert stats["mapped_rows"] == rows
        assert stats["device_reads"] == stats["fill_reads"] == 0
    elif cache is None:
        assert stats["cached_rows"] == rows
        assert stats["device_reads"] == 0
        assert stats["fill_bytes"] >= world.x.nbytes + world.w.nbytes
    else:
        assert stats["mapped_rows"] == 0
        assert 0 < stats["device_reads"] <= stats["read_rows"]
        assert stats["device_bytes"] >= 4096
        assert stats["read_amplification"] > 0
        assert stats["queue_depth"] >= 1
        assert bool(stats["cached_rows"]) == (cache != 0)
    if ahead == 1:
        assert stats["most_ahead"] == 1
    assert min(stats["seconds_sampling"], stats["seconds_assembling"], stats["seconds_preparing"]) > 0


def test_read_amplification_is_bytes_read_by_bytes_wanted(tmp_path):
    """One row of 512 bytes from each of 100 pages."""
    gz.write_graph("g.gl", [0], [1], num_nodes=8 * 100)
    gz.write_features("x.gd", np.zeros((800, 128), np.float32))
    options = {"features": gz.FeatureStore("x.gd"), "memory": "30MB", "cache": 0, "reader": "pread"}
    pipeline = gz.Pipeline(gz.Graph("g.gl"), np.arange(0, 800, 8), [], batch_size=10, **options)
    list(pipeline)
    stats = pipeline.stats()
    assert (stats["read_rows"], stats["device_bytes"], stats["read_amplification"]) == (100, 100 * 4096, 8)


@pytest.mark.parametrize("reader", READERS)
def test_memory_is_told_by_purpose(world, reader):
    pipeline = make(world, reader=reader, cache=None)
    iterator = iter(pipeline)
    batch = next(iterator)
    stats = pipeline.stats()
    memory = stats["memory"]
    assert set(memory) == {"budget", "cache", "ahead", "reads", "batches", "working"}
    assert memory["budget"] == 40_000_000
    assert memory["batches"] >= batch.node_features["x"].nbytes
    assert sum(memory.values()) - memory["budget"] <= memory["budget"]
    if reader == "mmap":
        assert memory["cache"] == memory["reads"] == 0
    else:
        assert memory["cache"] >= world.x.nbytes
    deadline = time.monotonic() + 60  # threads of a busy machine may not have begun the next batch yet
    while pipeline.stats()["batches_ahead"] == 0 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert pipeline.stats()["batches_ahead"] > 0
    for _ in iterator:
        pass
    after = pipeline.stats()
    assert (after["batches_ahead"], after["memory"]["ahead"], after["memory"]["reads"]) == (0, 0, 0)


def test_sources_are_named_as_the_attributes_are(world, tmp_path):
    options = {"features": {"x": world.store("x"), "y": world.store("y")}, "edge_features": world.store("w")}
    sources = make(world, **options).stats()["sources"]
    assert list(sources) == ["x", "y", "edge_attr"]
    assert sources["y"] == {
        "reader": "direct",
        "reason": f"{world.folder}/y.gd: direct: asked for",
        "cached_rows": 0,
        "num_rows": NUM_NODES,
    }
    graphs = {("node", "to", "node"): world.graph}
    pipeline = gz.Pipeline(graphs, "node", [2], features={"node": world.store("x")}, reader="auto")
    assert list(pipeline.stats()["sources"]) == [("node", "x")]
    assert pipeline.stats()["sources"]["node", "x"]["reader"] == "mmap"


def test_labels_are_cached_before_features(world):
    pipeline = make(world, features={"x": world.store("x"), "y": world.store("y")}, cache="100kB")
    next(iter(pipeline))
    sources = pipeline.stats()["sources"]
    assert sources["y"]["cached_rows"] == NUM_NODES
    assert 0 < sources["x"]["cached_rows"] < NUM_NODES


def test_the_status_is_one_line(world):
    pipeline = make(world)
    assert pipeline.status().startswith(
        "epoch 0 batch 0/20 · 0.0 batches/s · waited 0% · hits - · 0 reads, 0 B · 0 ahead"
    )
    iterator = iter(pipeline)
    next(iterator)
    line = re.fullmatch(
        r"epoch 0 batch 1/20 · [\d.]+ batches/s · waited \d+% · hits [\d.]+% · [\d,]+ reads, [\d.]+ [kM]?B · \d+ ahead"
        r" · [\d.]+ MB of 40.0 MB · limited by (the disk|the threads|your loop)",
        pipeline.status(),
    )
    assert line is not None, pipeline.status()


def test_the_status_of_an_epoch_stays_until_another_begins(world):
    pipeline = make(world)
    list(pipeline)
    ended = pipeline.status()
    assert re.match(r"epoch 0 batch 20/20 · [1-9][\d.]* batches/s", ended), ended
    assert pipeline.status() == ended
    iterator = iter(pipeline)
    next(iterator)
    assert pipeline.status().startswith("epoch 1 batch 1/20")
    pipeline.set_epoch(5)
    assert pipeline.status().startswith("epoch 5 batch 0/20 · 0.0 batches/s")


def test_progress_is_for_terminals_only(world, capfd):
    list(make(world, progress=True))
    assert capfd.readouterr() == ("", "")


def test_progress_is_one_line_that_is_written_over(world):
    import os
    import pty

    master, slave = pty.openpty()
    code = f"""
import graphzero as gz
graph, x = gz.Graph("{world.folder}/g.gl"), gz.FeatureStore("{world.folder}/x.gd")
for batch in gz.Pipeline(graph, None, [4], features=x, batch_size=100, progress=True): pass
"""
    done = subprocess.run([sys.executable, "-c", code], stderr=slave, stdout=subprocess.PIPE, check=True)
    os.close(slave)
    shown = os.read(master, 10_000).decode()
    os.close(master)
    assert done.stdout == b""
    assert re.fullmatch(r"(\r\x1b\[Kepoch 0 batch \d+/20 · [^\r\n]*)+\r?\n", shown), shown

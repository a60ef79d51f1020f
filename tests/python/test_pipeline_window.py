"""The window: rows of many batches ahead within a budget, whatever the plan decides, and what it says about itself."""

import logging
import multiprocessing
import time

import numpy as np
import pytest

import graphzero as gz
from graphzero._base.pipeline_limits import plan_reason, roofline
from systems import NO_FORK, posix_only

NUM_NODES, BATCH = 30_000, 100


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A graph with hubs, and rows of 1,024 bytes by id and hottest first: 30 MB."""
    folder = tmp_path_factory.mktemp("window")
    rng = np.random.default_rng(5)
    sources = (NUM_NODES * rng.random(300_000) ** 3).astype(np.int64)
    gz.write_graph(f"{folder}/g.gl", sources, rng.integers(0, NUM_NODES, 300_000), num_nodes=NUM_NODES)
    rows = np.repeat(np.arange(NUM_NODES, dtype=np.float32)[:, None], 256, axis=1)
    gz.write_features(f"{folder}/id.gd", rows)
    gz.reorder(f"{folder}/id.gd", f"{folder}/hot.gd", gz.Graph(f"{folder}/g.gl"))
    return folder


def make(files, order="hot", **options):
    options = {"batch_size": BATCH, "shuffle": True, "seed": 3, "reader": "direct", "threads": 2, **options}
    store = gz.FeatureStore(f"{files}/{order}.gd")
    return gz.Pipeline(gz.Graph(f"{files}/g.gl"), np.arange(6_000), [8, 8], features=store, **options)


def check(files, batch):
    same = gz.sample_neighbors(
        gz.Graph(f"{files}/g.gl"), batch.input_id, [8, 8], seed=3, epoch=batch.epoch, batch=batch.number
    )
    for name in ("node", "row", "col", "edge"):
        assert np.array_equal(getattr(batch.sample, name), getattr(same, name))
    rows = batch.node_features["x"]
    assert np.array_equal(rows[:, 0], batch.sample.node)
    assert np.array_equal(rows[:, -1], batch.sample.node)


@pytest.mark.parametrize("order", ["id", "hot"])
@pytest.mark.parametrize("reader", ["direct", "pread"])
def test_batches_are_the_same_for_every_budget(files, order, reader):
    plans = []
    for memory in (21, 24, 30, 50):
        pipeline = make(files, order, reader=reader, memory=f"{memory}MB")
        for _ in range(2):
            numbers = []
            for batch in pipeline:
                check(files, batch)
                numbers.append(batch.number)
            assert numbers == list(range(60))
        plans.append(pipeline.stats()["plan"])
    assert plans[0]["batches_ahead"] < plans[2]["batches_ahead"]
    assert plans[0]["read_bytes"] > plans[2]["read_bytes"] > 0


@pytest.mark.no_asan  # where samples take too long to be drawn twice
@pytest.mark.no_tsan
def test_samples_are_drawn_again_where_that_makes_room(tmp_path):
    """Rows that are few beside the sample: kept samples would take most of the window."""
    nodes, rng = 200_000, np.random.default_rng(5)
    sources = (nodes * rng.random(2_000_000) ** 2).astype(np.int64)
    gz.write_graph("g.gl", sources, rng.integers(0, nodes, 2_000_000), num_nodes=nodes)
    rows = np.repeat(np.arange(nodes, dtype=np.float32)[:, None], 64, axis=1)
    gz.write_features("x.gd", rows)
    options = {"batch_size": 100, "seed": 3, "reader": "direct", "cache": 0, "threads": 2}
    again = 0
    for memory in (20, 22, 24, 26, 28, 30):
        features = gz.FeatureStore("x.gd")
        pipeline = gz.Pipeline(gz.Graph("g.gl"), None, [10, 10], features=features, memory=f"{memory}MB", **options)
        for batch in pipeline:
            assert np.array_equal(batch.node_features["x"], rows[batch.sample.node])
            same = gz.sample_neighbors(gz.Graph("g.gl"), batch.input_id, [10, 10], seed=3, batch=batch.number)
            assert np.array_equal(batch.sample.node, same.node)
            assert np.array_equal(batch.sample.edge, same.edge)
            if batch.number == 40:
                break
        again += pipeline.stats()["plan"]["draws_again"]
    if not again:
        pytest.skip("this machine samples too slowly to do it twice")


def test_the_window_goes_on_while_batches_are_kept(files):
    """The caller holds more batches than there are outputs."""
    pipeline = make(files, memory="24MB")
    kept = [batch for batch, _ in zip(pipeline, range(12), strict=False)]
    for batch in kept:
        check(files, batch)


def test_an_iteration_that_is_given_up_leaves_the_cache_to_the_next(files):
    pipeline = make(files, memory="40MB", cache="15MB")
    for count in (0, 1, 3, 60):
        for batch, _ in zip(pipeline, range(count), strict=False):
            check(files, batch)
    assert pipeline.stats()["sources"]["x"]["cached_rows"] > 10_000


def child(files, pipeline, answers):
    for batch in pipeline:
        check(files, batch)
        if batch.number == 5:
            answers.put(True)
            return


@posix_only(reason=NO_FORK)
@pytest.mark.no_tsan
def test_a_child_fills_the_cache_that_its_parent_had_begun(files):
    pipeline = make(files, memory="60MB", cache="20MB")
    batches = iter(pipeline)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    next(batches)
    process = context.Process(target=child, args=(files, pipeline, answers), daemon=True)
    process.start()
    assert answers.get(timeout=60)
    process.join()
    check(files, next(batches))


def test_the_plan_is_given_with_its_reason(files, caplog):
    with caplog.at_level(logging.INFO, "graphzero"):
        pipeline = make(files, memory="30MB")
        assert pipeline.stats()["plan"]["misses"] == 0  # it is made when the first epoch begins
        for _ in pipeline:
            pass
    plan = pipeline.stats()["plan"]
    assert plan["reason"] == plan_reason(plan, 2)
    assert "batches ahead" in plan["reason"]
    assert "rows missed" in plan["reason"]
    assert plan["cache"] + plan["ahead"] < 30_000_000
    everything = make(files, memory="200MB")
    next(iter(everything))
    assert everything.stats()["plan"]["reason"].endswith("ahead; nothing is read for a batch")
    mapped = make(files, reader="mmap", ahead=1)
    next(iter(mapped))
    assert mapped.stats()["plan"]["reason"] == "1 batch ahead; nothing is read for a batch past the page cache"


def test_a_plan_says_what_it_expects():
    plan = {
        "cache": 1_000_000,
        "ahead": 2_000_000,
        "batches_ahead": 1_200,
        "draws_again": True,
        "misses": 1234.4,
        "read_bytes": 5_000_000.2,
        "read_seconds": 0.002,
        "thread_seconds": 0.012,
    }
    assert plan_reason(plan, 4) == (
        "1.0 MB for cached rows, 2.0 MB for 1,200 batches ahead, sampled twice instead of kept; expected for a batch: "
        "1,234 rows missed, 5.0 MB read in 2.0 ms of the device, 3.0 ms of 4 threads"
    )


def test_the_roofline_names_what_limits():
    stats = {
        "batches": 10,
        "device_reads": 100,
        "device_bytes": 1_000_000,
        "seconds_sampling": 3.0,
        "seconds_assembling": 1.0,
        "seconds_away": 1.0,
        "threads": 2,
        "plan": {"seconds_per_read": 1e-3, "seconds_per_byte": 1e-7},
    }
    assert roofline(stats) == {"device": 0.02, "threads": 0.2, "caller": 0.1, "limit": "threads"}
    assert roofline({**stats, "seconds_away": 3.0})["limit"] == "caller"
    assert roofline({**stats, "device_reads": 10_000})["limit"] == "device"
    assert roofline({**stats, "batches": 0})["limit"] is None


def iterate_slowly(pipeline, count):
    """Iterate, and after each of the first batches stay away for longer than all of them took threads and device."""
    away = 0.0
    for batch in pipeline:
        begin = time.monotonic()
        while batch.number < count:
            stats = pipeline.stats()
            needed = stats["batches"] * max(stats["roofline"]["device"], stats["roofline"]["threads"])
            if away + time.monotonic() - begin > 3 * needed:
                break
            time.sleep(0.001)
        away += time.monotonic() - begin


def test_a_slow_loop_is_the_limit(files):
    pipeline = make(files, memory="30MB")
    iterate_slowly(pipeline, len(pipeline))
    assert pipeline.stats()["roofline"]["limit"] == "caller"
    assert pipeline.status().endswith("limited by your loop")


def test_the_status_is_of_its_epoch(files):
    """A slow first epoch says nothing about a fast second one."""
    pipeline = make(files, memory="24MB")
    iterate_slowly(pipeline, 40)
    assert "limited by your loop" in pipeline.status()
    before = pipeline.stats()
    for _ in pipeline:
        pass
    after = pipeline.stats()
    assert "limited by your loop" not in pipeline.status()
    assert f" {after['device_reads'] - before['device_reads']:,} reads, " in pipeline.status()

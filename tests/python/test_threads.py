"""What several threads do with one object: the right answer, or an error that says what to do.

In processes of their own, as a crash would take this one with it.
"""

import concurrent.futures
import os

import numpy as np
import pytest

import graphzero as gz
from faults import run
from optional_torch import needs_torch
from systems import NO_FORK, posix_only

# Runs some functions at once, each again and again for a second; returns the errors they raised.
AT_ONCE = """
import collections, json, os, sys, threading, time
import numpy as np
import graphzero as gz
from graphzero import _core
from graphzero.ids import IdBuilder, IdDictionary
sys.setswitchinterval(1e-5)

def at_once(*bodies, seconds=1.0):
    errors, end = collections.Counter(), time.perf_counter() + seconds
    begin = threading.Barrier(len(bodies))
    def again(body):
        begin.wait()
        while time.perf_counter() < end:
            try:
                body()
            except Exception as error:
                errors[f"{type(error).__name__}: {error}"] += 1
    threads = [threading.Thread(target=again, args=(body,)) for body in bodies]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return dict(errors)
"""
PIPELINE = """
graph, x = gz.Graph("g.gl"), gz.FeatureStore("x.gd")
pipeline = gz.Pipeline(graph, None, [3, 3], features=x, batch_size=50, reader="{reader}", cache=0, seed=1, threads=2)
def iterate():
    for batch in pipeline:
        assert np.array_equal(batch.node_features["x"][:, 0], batch.sample.node)
def nodes():
    return [batch.sample.node.tolist() for batch in pipeline]
"""


def in_use(name):
    return (
        f"RuntimeError: {name}: is in use by another thread; give each thread its own, or hold a lock around the calls"
    )


OVER = "RuntimeError: this iteration is over: another one began, or the pipeline was set to another place or closed"


@pytest.fixture
def world(tmp_path):
    rng = np.random.default_rng(0)
    gz.write_graph("g.gl", rng.integers(0, 2000, 20_000), rng.integers(0, 2000, 20_000), num_nodes=2000)
    gz.write_features("x.gd", np.repeat(np.arange(2000, dtype=np.int64)[:, None], 64, axis=1))


@pytest.mark.parametrize("reader", ["mmap", "direct", "pread"])
def test_a_pipeline_that_two_threads_iterate_over_says_so(world, reader):
    errors, same = run(
        AT_ONCE
        + PIPELINE.format(reader=reader)
        + """
expected = nodes()
errors = at_once(iterate, iterate)
pipeline.set_epoch(0)
print(json.dumps([errors, nodes() == expected]))
"""
    )
    assert errors
    assert set(errors) <= {in_use("Pipeline"), OVER}
    assert same


def test_a_pipeline_that_others_set_to_another_place_says_so(world):
    errors, same = run(
        AT_ONCE
        + PIPELINE.format(reader="direct")
        + """
expected = nodes()
state = pipeline.state_dict()
errors = at_once(iterate, lambda: pipeline.set_epoch(3), lambda: pipeline.load_state_dict(state))
pipeline.set_epoch(0)
print(json.dumps([errors, nodes() == expected]))
"""
    )
    assert set(errors) <= {in_use("Pipeline"), OVER}
    assert same


def test_others_may_look_at_a_pipeline_while_one_thread_takes_its_batches(world):
    errors, epochs = run(
        AT_ONCE
        + PIPELINE.format(reader="direct")
        + """
def look():
    pipeline.stats(), pipeline.status(), pipeline.is_ready(), pipeline.state_dict(), len(pipeline), repr(pipeline)
errors = at_once(iterate, look, look)
print(json.dumps([errors, pipeline.epoch]))
"""
    )
    assert errors == {}
    assert epochs > 1


def test_a_pipeline_may_be_closed_by_another_thread(world):
    errors = run(
        AT_ONCE
        + """
def make():
    pipeline = gz.Pipeline(gz.Graph("g.gl"), None, [3], features=gz.FeatureStore("x.gd"), batch_size=50, seed=1)
    closer = threading.Timer(0.01, pipeline.close)
    closer.start()
    try:
        for _ in range(1000):
            for batch in pipeline:
                pass
    finally:
        closer.join()
print(json.dumps(at_once(make)))
"""
    )
    closed = "ValueError: the pipeline is closed: make a new one; stats() and status() are there until close()"
    assert set(errors) <= {OVER, closed}


# What each of four threads adds, to an object that is not theirs alone.
WRITERS = {
    "IdBuilder": """
builder = IdBuilder("d.gi", "integer", memory="2MB")
add = lambda: builder.add(np.random.randint(0, 2**40, 20_000))
finish = builder.finish
""",
    "GdWriter": """
writer, lock, rows = _core.GdWriter(b"y.gd", _core.DataType.UINT8, [0, 4096]), threading.Lock(), [0]
def add():
    writer.append(np.zeros(4096 * 500, np.uint8))
    with lock: rows[0] += 500
def finish():
    writer.set_num_rows(rows[0])
    writer.finish()
""",
    "RowPlacer": """
placer = _core.RowPlacer(b"y.gd", _core.DataType.UINT8, [4096], False, 1 << 20)
def add():
    ids = np.random.randint(0, 1000, 500)
    placer.add(ids, ids, np.zeros(4096 * 500, np.uint8), None, 1000)
def finish():
    placer.close(1000)
    while placer.write_range(): pass
    placer.finish()
""",
    "EdgeConverter": """
options = _core.EdgeConverterOptions()
options.memory, options.temporary_folder = 64 << 20, b"."
converter = _core.EdgeConverter(options)
def add():
    ids = np.random.randint(0, 10**6, 100_000)
    converter.add_edges(ids, ids, None, None)
finish = lambda: converter.finish(b"e.gl")
""",
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_by_one_thread_refuses_others(name):
    errors, checks = run(
        AT_ONCE
        + WRITERS[name]
        + """
errors = at_once(add, add, add, add, seconds=0.5)
finish()
(path,) = [name for name in ("d.gi", "y.gd", "e.gl") if os.path.exists(name)]
print(json.dumps([errors, [check.problem for check in gz.verify(path)]]))
"""
    )
    assert set(errors) == {in_use(name)}
    assert not any(checks)


def test_a_lock_makes_a_builder_good_for_several_threads():
    added = run(
        AT_ONCE
        + """
builder, lock, added = IdBuilder("d.gi", "integer", memory="2MB"), threading.Lock(), set()
def add():
    labels = np.random.randint(0, 2**40, 1000)
    with lock:
        builder.add(labels)
        added.update(labels.tolist())
assert at_once(add, add, add, add, seconds=0.3) == {}
builder.finish()
print(json.dumps([len(IdDictionary("d.gi")), len(added)]))
"""
    )
    assert added[0] == added[1]


LOADER = """
from graphzero.loaders import NeighborLoader
loader = NeighborLoader((gz.Graph("g.gl"), gz.FeatureStore("x.gd")), [3], batch_size=100, form="torch", shuffle=True, seed=1)
"""


@needs_torch
def test_each_thread_that_iterates_over_a_loader_has_a_whole_epoch(world):
    counts = run(
        AT_ONCE
        + LOADER
        + """
seen = []
def iterate():
    ids = [i for batch in loader for i in batch.n_id[: batch.batch_size].tolist()]
    seen.append(sorted(ids) == list(range(2000)))
errors = at_once(iterate, iterate, iterate)
print(json.dumps([errors, len(seen), all(seen)]))
"""
    )
    assert counts[0] == {}
    assert counts[1] >= 3
    assert counts[2]


@needs_torch
def test_each_thread_that_calls_a_loader_has_the_batch_it_asked_for(world):
    wrong = run(
        AT_ONCE
        + LOADER
        + """
def call():
    places = np.random.randint(0, 2000, 5)
    batch = loader(np.unique(places))
    assert batch.n_id[: batch.batch_size].tolist() == np.unique(places).tolist(), "another batch"
print(json.dumps(at_once(call, call, call)))
"""
    )
    assert wrong == {}


@posix_only(reason=NO_FORK)
@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_a_child_of_a_fork_is_not_kept_out_by_a_thread_it_does_not_have(world):
    """A thread of the parent is in calls all the time."""
    codes = run(
        AT_ONCE
        + PIPELINE.format(reader="mmap")
        + """
import signal
expected = nodes()
codes = []
def fork():
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        pipeline.set_epoch(0)
        os._exit(0 if nodes() == expected else 1)
    codes.append(os.waitpid(child, 0)[1])
def iterate_on():
    while len(codes) < 20: iterate()
thread = threading.Thread(target=iterate_on)
thread.start()
for _ in range(20): fork()
thread.join()
print(json.dumps(codes))
"""
    )
    assert codes == [0] * 20


def test_threads_that_write_the_same_file_each_write_it_whole():
    """Whoever begins looks for leftovers of the target, and must not take those of the others for such."""

    def write(node):
        for _ in range(60):
            gz.write_graph("same.gl", [0], [node])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert gz.Graph("same.gl").num_edges == 1
    assert os.listdir() == ["same.gl"]

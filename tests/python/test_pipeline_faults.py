"""Whatever the system refuses, batches are right or there is one clear error; nothing hangs, nothing is left."""

import errno
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import graphzero as gz
from faults import DENY_RING, READ_ONLY, run
from pipeline_cases import assert_same, settled, tasks
from systems import NO_CALLS, NO_CUT, NO_DEVICES, NO_LIMITS, interrupt, posix_only, start

READERS = ["mmap", "direct", "pread"]
PAGES = 4_000


def write_pages(path="pages.gd"):
    """Row i is one page full of i; it lies at byte 4096 (1 + i)."""
    rows = np.repeat(np.arange(PAGES, dtype=np.int64)[:, None], 512, axis=1)
    gz.write_features(path, rows)


@pytest.fixture
def pages(tmp_path):
    write_pages()
    gz.write_graph("none.gl", [0], [1], num_nodes=PAGES)
    gz.FeatureStore("pages.gd").gather(range(0, PAGES, 2), reader="pread")  # whose threads the process keeps


# Every other page, so that each is a read of its own; no row stays in memory.
MAKE = """
import json, os, sys, numpy as np, graphzero as gz
from pipeline_cases import settled, tasks
fault = os.environ.pop("FAULT", "")
gz.FeatureStore("pages.gd").gather(range(0, 4_000, 2), reader="pread")  # whose threads the process keeps
before = tasks()
os.environ["FAULT"] = fault
seeds = np.arange(0, 4_000, 2)
pipeline = gz.Pipeline(gz.Graph("none.gl"), seeds, [], features=gz.FeatureStore("pages.gd"), batch_size={size},
                       memory="{memory}", cache={cache}, ahead={ahead}, reader="{reader}", threads=2)
def right(batch):
    rows = batch.node_features["x"]
    return np.array_equal(rows, np.repeat(batch.sample.node[:, None], 512, axis=1))
"""
EPOCHS = """
for _ in range(2):
    count = 0
    for batch in pipeline:
        assert right(batch), batch
        count += 1
    assert count == len(pipeline)
print(json.dumps(pipeline.stats()["sources"]["x"]))
"""
UNTIL_ERROR = """
count, message = 0, None
iterator = iter(pipeline)
try:
    for batch in iterator:
        assert right(batch), batch
        count += 1
except OSError as error:
    message = [error.errno, error.filename, str(error)]
assert next(iterator, "over") == "over"
print(json.dumps([count, message, settled(tasks, before) == before]))
"""


def child(body, *, reader="direct", ahead=None, cache=0, memory="60MB", size=20, fault=None, first=""):
    env = {"GRAPHZERO_READ_GAP": "0", **(fault or {})}
    make = MAKE.format(reader=reader, ahead=ahead, cache=cache, memory=memory, size=size)
    return run(first + make + body, env=env)


@pytest.mark.no_asan
@pytest.mark.no_tsan
@pytest.mark.parametrize("ahead", [1, None])
def test_a_device_error_is_raised_in_place_of_the_batch(pages, shim, ahead):
    at = 4096 * (1 + 2_000)  # the first row of batch 50
    count, message, clean = child(UNTIL_ERROR, reader="pread", ahead=ahead, fault=shim(f"pread:{at}"))
    assert message == [5, "pages.gd", f"[Errno 5] cannot read 4096 bytes at byte {at}: Input/output error: 'pages.gd'"]
    assert count <= 50
    if ahead == 1:
        assert count >= 45  # batches before it that had been read were handed out
    assert clean


@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_a_device_error_while_the_cache_is_filled(pages, shim):
    count, message, clean = child(UNTIL_ERROR, reader="pread", cache=None, fault=shim(f"pread:{4096}"))
    assert (count, clean) == (0, True)
    assert message[:2] == [5, "pages.gd"]
    assert "at byte 4096: Input/output error" in message[2]


@pytest.mark.no_asan
@pytest.mark.no_tsan
@pytest.mark.parametrize("cache", [0, '"2MB"', None])
def test_short_and_interrupted_reads_go_on(pages, shim, cache):
    assert child(EPOCHS, reader="pread", cache=cache, fault=shim("short"))["reader"] == "pread"


@pytest.mark.no_asan
@pytest.mark.no_tsan
@pytest.mark.parametrize(
    ("code", "every"), [(errno.EAGAIN, 1), (errno.EAGAIN, 5), (errno.EBUSY, 2), (errno.ENOMEM, 1), (errno.ENOMEM, 5)]
)
def test_a_ring_that_is_refused_now_and_then_brings_the_same_rows(pages, shim, code, every):
    assert child(EPOCHS, fault=shim(f"enter:{code}:{every}"))["reader"] == "direct"


@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_an_interrupted_wait_goes_on(pages, shim):
    assert child(EPOCHS, fault=shim(f"enter:{errno.EINTR}:2"))["reader"] == "direct"


@posix_only(reason=NO_CALLS)
def test_without_leave_to_set_up_a_ring_threads_read(pages):
    source = child(EPOCHS, first=DENY_RING.format(first=425, last=427))
    assert source["reader"] == "pread"
    assert source["reason"] == (
        "pages.gd: pread: asked for; no direct reader: io_uring cannot set up a ring: Operation not permitted"
    )


@posix_only(reason=NO_CALLS)
def test_a_ring_that_may_not_be_used_is_done_without(pages):
    child(EPOCHS, first=DENY_RING.format(first=426, last=426))


@posix_only(reason=NO_CALLS)
@pytest.mark.parametrize("reader", READERS)
def test_a_read_only_file_system_is_no_obstacle(pages, reader):
    source = child(EPOCHS, reader=reader, first=READ_ONLY)
    if source is None:
        pytest.skip("this process may not mount a folder read-only")
    assert source["reader"] == reader


@posix_only(reason=NO_LIMITS)
def test_a_low_limit_on_locked_memory_is_no_obstacle(pages):
    first = "import resource; resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))\n"
    assert child(EPOCHS, first=first)["reader"] == "direct"


@posix_only(reason=NO_LIMITS)
def test_a_process_out_of_descriptors_does_without_rings(pages):
    limit = """
import resource
next(iter(pipeline))
used = len(os.listdir("/proc/self/fd"))
resource.setrlimit(resource.RLIMIT_NOFILE, (used - 1, used - 1))
count = 0
for batch in pipeline:
    assert right(batch), batch
    count += 1
print(json.dumps(count))
"""
    assert child(limit) == 100


@posix_only(reason=NO_DEVICES)
@pytest.mark.parametrize("reader", ["direct", "pread"])
def test_a_file_in_memory_is_mapped_with_a_reason(pages, reader):
    path = f"/dev/shm/graphzero-test-{os.getpid()}.gd"
    write_pages(path)
    try:
        store = gz.FeatureStore(path)
        pipeline = gz.Pipeline(gz.Graph("none.gl"), None, [], features=store, memory="60MB", reader=reader)
        for batch in pipeline:
            assert_same(batch.node_features["x"], np.repeat(batch.sample.node[:, None], 512, axis=1))
        source = pipeline.stats()["sources"]["x"]
        assert source["reader"] == "mmap"
        assert source["reason"] == (
            f"{path}: mmap: asked for; no {reader} reader: the file cannot be read past the page cache: "
            "it lies in memory (tmpfs)"
        )
    finally:
        os.unlink(path)


def iterate(reader, *, cache=0):
    options = {"batch_size": 20, "memory": "60MB", "cache": cache, "ahead": 1, "reader": reader, "threads": 2}
    pipeline = gz.Pipeline(
        gz.Graph("none.gl"), np.arange(0, PAGES, 2), [], features=gz.FeatureStore("pages.gd"), **options
    )
    return pipeline, iter(pipeline)


@posix_only(reason=NO_CUT)
@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_is_truncated_under_an_iteration_is_an_error(pages, monkeypatch, reader):
    monkeypatch.setenv("GRAPHZERO_READ_GAP", "0")
    before = tasks()
    pipeline, iterator = iterate(reader)
    next(iterator)
    os.truncate("pages.gd", 4096 * 500)
    with pytest.raises(OSError, match="the file shrank .*: expected 16388096 bytes, found 2048000.*'pages.gd'"):
        for batch in iterator:
            assert_same(batch.node_features["x"], np.repeat(batch.sample.node[:, None], 512, axis=1))
    assert next(iterator, None) is None
    assert settled(tasks, before) == before
    with pytest.raises(OSError, match="the file shrank"):
        list(pipeline)


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_is_replaced_stays_the_old_one(pages, reader):
    _, iterator = iterate(reader)
    found = [next(iterator)]
    gz.write_features("new.gd", np.zeros((PAGES, 512), np.int64))
    os.rename("new.gd", "pages.gd")
    found += iterator
    assert len(found) == 100
    for batch in found:
        assert_same(batch.node_features["x"], np.repeat(batch.sample.node[:, None], 512, axis=1))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_corrupt_graph_ends_the_iteration_at_its_batch(tmp_path, threads):
    """An id beyond the last node in the list of node 40, found when batch 4 is sampled."""
    src = np.arange(1, 101)
    gz.write_graph("bad.gl", src - 1, src, num_nodes=101, index="out")
    graph = gz.Graph("bad.gl")
    before = tasks()
    data = (tmp_path / "bad.gl").read_bytes()
    place = data.index(np.arange(1, 101, dtype=np.int32).tobytes()) + 4 * 40
    with open("bad.gl", "r+b") as file:
        file.seek(place)
        file.write(np.int32(5_000).tobytes())
    pipeline = gz.Pipeline(graph, np.arange(100), [-1], direction="out", batch_size=10, threads=threads)
    with pytest.raises(gz.FormatError, match=r"bad.gl: .*40.*5000"):
        next(iter(pipeline))  # it is among those that are looked at before the first
    assert settled(tasks, before) == before


@pytest.mark.no_asan
@pytest.mark.no_tsan
@pytest.mark.parametrize("cache", [0, None])
@pytest.mark.parametrize("reader", ["direct", "pread"])
def test_ctrl_c_ends_a_wait_and_leaves_nothing_behind(pages, shim, reader, cache):
    """2,000 reads, or a fill of 16 MB, that take several seconds if left alone."""
    code = (
        MAKE.format(reader=reader, ahead=1, cache=cache, memory="60MB", size=1000)
        + """
try:
    print("ready", flush=True)  # inside: a busy machine may be slow to go on
    for batch in pipeline: print("batch", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(settled(tasks, before) == before, flush=True)
"""
    )
    env = {
        **os.environ,
        **shim("slow"),
        "GRAPHZERO_READ_GAP": "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    process = start([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=env)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        interrupt(process)
        begin = time.perf_counter()
        assert process.stdout.readline() == "interrupted\n"
        assert time.perf_counter() - begin < 10  # its reads take minutes, each 200 ms
        assert process.stdout.readline() == "True\n"
        assert process.communicate(timeout=30)[0] == ""
        assert process.returncode == 0
    finally:
        process.kill()

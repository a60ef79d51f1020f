"""Stores in other processes and in many threads: right answers, no hang."""

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import graphzero as gz
from systems import NO_FORK, interrupt, posix_only, start

METHODS = [
    pytest.param("fork", marks=[pytest.mark.no_tsan, posix_only(reason=NO_FORK)]),
    "spawn",
    pytest.param("forkserver", marks=posix_only(reason=NO_FORK)),
]
NODES = 50_000


@pytest.fixture
def stores(tmp_path):
    rng = np.random.default_rng(0)
    gz.write_graph("g.gl", rng.integers(0, NODES, 200_000), rng.integers(0, NODES, 200_000), num_nodes=NODES)
    gz.write_features("x.gd", np.arange(NODES * 4, dtype=np.float32).reshape(NODES, 4))
    return gz.Graph("g.gl"), gz.FeatureStore("x.gd")


def answers(stores):
    """Something that uses the thread pool, a zero-copy view and a tensor."""
    graph, features = stores
    degrees = graph.degree(np.arange(NODES))
    return int(degrees @ np.arange(NODES)), graph.neighbors(7).tolist(), float(features.get_tensor()[::100].sum())


def child(stores, queue):
    gz.set_num_threads(4)
    queue.put([answers(stores) for _ in range(20)])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_children_answer_as_the_parent_after_the_parent_used_its_pool(stores, method):
    gz.set_num_threads(4)
    expected = answers(stores)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    children = [context.Process(target=child, args=(stores, queue)) for _ in range(2)]
    for process in children:
        process.start()
    results = [queue.get(timeout=60) for _ in children]
    for process in children:
        process.join(timeout=60)
        assert process.exitcode == 0
    gz.set_num_threads(0)
    assert results == [[expected] * 20] * 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_data_loader_workers_answer(stores, method):
    torch = pytest.importorskip("torch")
    answers(stores)
    loader = torch.utils.data.DataLoader(
        _Degrees(stores[0]), batch_size=1000, num_workers=2, multiprocessing_context=method
    )
    found = torch.cat(list(loader))
    assert found.tolist() == stores[0].degree(np.arange(NODES)).tolist()


class _Degrees:
    """A map-style data set that asks the graph for a whole batch at once."""

    def __init__(self, graph):
        self.graph = graph

    def __len__(self):
        return NODES

    def __getitems__(self, ids):
        return self.graph.degree(ids).tolist()


@posix_only(reason=NO_FORK)
@pytest.mark.no_tsan
def test_fork_while_the_pool_is_at_work(stores):
    """The child must not wait for threads or locks that only the parent has."""
    code = """
import os, threading, warnings, numpy as np, graphzero as gz
warnings.simplefilter("ignore")
g = gz.Graph("g.gl")
gz.set_num_threads(4)
ids, stop = np.arange(g.num_nodes), threading.Event()
expected = g.degree(ids).tolist()
def busy():
    while not stop.is_set():
        g.degree(ids)
threads = [threading.Thread(target=busy) for _ in range(3)]
for thread in threads: thread.start()
for _ in range(30):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if g.degree(ids).tolist() == expected else 1)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
for thread in threads: thread.join()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_eight_threads_at_once(stores):
    gz.set_num_threads(4)
    expected = answers(stores)
    with concurrent.futures.ThreadPoolExecutor(8) as executor:
        results = list(executor.map(lambda _: answers(stores), range(200)))
    gz.set_num_threads(0)
    assert results == [expected] * 200


def test_opening_and_closing_in_eight_threads(stores):
    def open_use_close(_):
        with gz.Graph("g.gl") as graph, gz.FeatureStore("x.gd") as features:
            tensor = features.get_tensor()
            degree = graph.get_degree(3)
        return degree, tensor[5].tolist()

    with concurrent.futures.ThreadPoolExecutor(8) as executor:
        results = set(map(str, executor.map(open_use_close, range(400))))
    assert len(results) == 1


def sparse_graph(path):
    """A valid header over gigabytes of zeros: verifying it takes a while and no disk space."""
    from sparse import write_sparse_gl

    write_sparse_gl(path, num_nodes=1 << 26, num_edges=1 << 26)


def test_other_threads_run_during_a_long_call(tmp_path):
    sparse_graph("big.gl")
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    begin = time.perf_counter()
    gz.verify("big.gl")
    end = time.perf_counter()
    done.set()
    ticker.join()
    inside = [t for t in ticks if begin < t < end]
    # Were the GIL held, there would be none at all.
    assert len(inside) > 10


def test_ctrl_c_ends_a_long_call(tmp_path):
    sparse_graph("big.gl")
    code = """
import graphzero as gz
try:
    print("ready", flush=True)  # inside: a busy machine may be slow to go on
    while True: gz.verify("big.gl")
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = start([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.7)
    interrupt(process)
    assert process.communicate(timeout=60)[0] == "interrupted\n"
    assert process.returncode == 0


def test_the_number_of_threads_comes_from_the_environment():
    code = "import graphzero as gz; print(gz.num_threads())"

    def run(value):
        return subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "GRAPHZERO_NUM_THREADS": value},
            capture_output=True,
            text=True,
            check=False,
        )

    assert run("3").stdout == "3\n"
    refused = run("many")
    assert refused.returncode != 0
    assert "GRAPHZERO_NUM_THREADS: expected 1 to 4096, found 'many'" in refused.stderr
    with pytest.raises(ValueError, match="number of threads: expected 1 to 4096, or 0 for the default, found -1"):
        gz.set_num_threads(-1)
    with pytest.raises(
        ValueError, match="number of threads: expected 1 to 4096, or 0 for the default, found 10995116277"
    ):
        gz.set_num_threads(2**40)
    for wrong in ("a", 1.5, None):
        with pytest.raises(TypeError, match=f"number of threads: expected an integer, found {wrong!r}"):
            gz.set_num_threads(wrong)


def test_the_number_of_threads_follows_the_affinity_mask():
    code = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import graphzero as gz
print(gz.num_threads())
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"

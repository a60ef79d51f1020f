"""A program may end while daemon threads of its own are inside the core: it ends as if they were not there."""

import subprocess
import sys

import numpy as np
import pytest

import graphzero as gz

# What a daemon thread does over and over. Each is long enough for the program to end in the middle of it.
WORK = {
    "sampling": "gz.sample_neighbors(graph, ids, [10, 5])",
    "gathering": "features.gather(ids)",
    "batches": "list(gz.Pipeline(graph, ids, [5], features=features, batch_size=100, memory='64MB'))",
    "conversion": "gz.convert_edges('edges.csv', f'{number}.gl')",
    "verification": "gz.verify('g.gl')",
}

# Children are forked off a program that has imported everything, so that many of them can end, each at another moment.
SCRIPT = """
import os, random, sys, threading, time, warnings
import numpy as np
import graphzero as gz

warnings.simplefilter("ignore")
graph, features = gz.Graph("g.gl"), gz.FeatureStore("x.gd")
ids = np.arange(graph.num_nodes)
number = "first"
{work}
times, wrong = int(sys.argv[1]), []
for number in range(times):
    pid = os.fork()
    if pid == 0:
        break
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        wrong.append(code)
else:
    sys.exit(f"{len(wrong)} of {times} ended with {set(wrong)}" if wrong else 0)

def work():
    while True:
        {work}
        started.set()

started = threading.Event()
threading.Thread(target=work, daemon=True).start()
threading.Thread(target=work, daemon=True).start()
assert started.wait(20)
time.sleep(random.Random(number).random() / 50)
"""


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 5_000, (2, 50_000))
    gz.write_graph("g.gl", src, dst, num_nodes=5_000)
    gz.write_features("x.gd", np.zeros((5_000, 16), np.float32))
    np.savetxt("edges.csv", np.stack([src, dst], 1), fmt="%d", delimiter=",")


@pytest.mark.no_tsan
@pytest.mark.parametrize("work", WORK)
def test_a_program_ends_well_while_a_daemon_thread_is_in_the_core(files, work):
    script = SCRIPT.replace("{work}", WORK[work])
    ended = subprocess.run(
        [sys.executable, "-c", script, "10"], capture_output=True, text=True, check=False, timeout=120
    )
    assert (ended.returncode, ended.stderr, ended.stdout) == (0, "", "")


FORK = """
import os, signal, sys, threading, time, warnings
import graphzero as gz
from graphzero._base.lazy_imports import load

warnings.simplefilter("ignore")
loading = threading.Thread(target=lambda: {use})
loading.start()
while not any(name in sys.modules for name in ("numpy", "slow")):  # the import has begun
    time.sleep(0.0005)
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    {use}
    os._exit(0)
ended = os.waitpid(pid, 0)[1]
loading.join()
sys.exit(os.waitstatus_to_exitcode(ended))
"""

# As torch does, it uses logging, which takes its lock before a fork, and brings modules with hooks of their own.
SLOW = """
import time
time.sleep(0.1)
import concurrent.futures, logging
logging.getLogger("slow")
time.sleep(0.1)
"""


@pytest.mark.no_tsan
@pytest.mark.parametrize("use", ["gz.Graph", "load('slow')"])
def test_a_fork_waits_for_modules_that_another_thread_loads(tmp_path, use):
    (tmp_path / "slow.py").write_text(SLOW)
    script = FORK.replace("{use}", use)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")

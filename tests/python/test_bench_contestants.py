"""Contestants of the benchmark: how they run, are limited and are watched, and which rivals there are."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import graphzero as gz
from graphzero._tools.cores import CAN_PIN
from graphzero._tools.machine import machine
from graphzero.bench import contestants, pythons
from graphzero.bench.contestants import Cap, ask
from graphzero.bench.graphzero02_file import write_graphzero02
from graphzero.bench.memory_watch import MemoryWatch
from graphzero.bench.pythons import NEEDS, Pythons, rival_named
from graphzero.bench.rival_versions import with_version


def asked(script, *, timeout=30.0, cap=None, threads=None, arguments=()):
    return ask([sys.executable, "-c", script, *map(str, arguments)], timeout=timeout, cap=cap, threads=threads)


def test_a_child_answers_with_its_last_line():
    assert asked("print('noise'); print('{\"runs\": [2]}')").found == {"runs": [2]}


@pytest.mark.parametrize(
    ("script", "note"),
    [
        ("import nothing_of_this_name", "not installed: No module named 'nothing_of_this_name'"),
        ("raise ImportError('library for another torch')", "not installed: library for another torch"),
        ("raise ValueError('boom')", "failed: boom"),
        ("import sys; sys.exit(3)", "failed: exit code 3"),
        ("print('no JSON')", "failed: exit code 0"),
    ],
)
def test_a_child_that_fails_says_why(script, note):
    answer = asked(script)
    assert (answer.found, answer.note) == (None, note)


def test_a_child_that_takes_too_long_is_stopped_with_all_it_started():
    script = "import subprocess; subprocess.run(['sleep', '60'])"
    begin = time.monotonic()
    answer = asked(script, timeout=0.5)
    assert answer.note == "stopped after 0 s without a result"
    assert time.monotonic() - begin < 20


def test_a_child_that_was_limited_has_its_own_time_from_then_on():
    script = "import sys, time; print('ready', flush=True); sys.stdin.readline(); time.sleep(60)"
    begin = time.monotonic()
    answer = ask([sys.executable, "-c", script], timeout=50.0, patience=0.5, cap=Cap(1 << 30))
    assert answer.note == "stopped after 0 s without a result"
    assert time.monotonic() - begin < 20


CORES = """
import json, os, threading
found = []
thread = threading.Thread(target=lambda: found.append(len(os.sched_getaffinity(0))))
thread.start()
thread.join()
print(json.dumps({"runs": found}))
"""


@pytest.mark.skipif(not CAN_PIN, reason="the system has no affinity of threads to cores")
def test_a_child_of_one_thread_has_one_core_for_all_its_threads():
    allowed = os.sched_getaffinity(0)
    assert asked(CORES, threads=1).found == {"runs": [1]}
    assert os.sched_getaffinity(0) == allowed
    assert asked(CORES, threads=2).found == {"runs": [len(allowed)]}


HOLDS = """
import json, sys
print("ready", flush=True); sys.stdin.readline()
held = b"x" * int(sys.argv[1])
print(json.dumps({"runs": [len(held)]}))
"""


def test_a_child_is_limited_once_it_is_ready():
    if machine()["control_groups"] is not True:
        pytest.skip(machine()["control_groups"])
    within = asked(HOLDS, cap=Cap(40 << 20), arguments=[30 << 20])
    assert within.found == {"runs": [30 << 20]}
    assert within.proven is True
    assert within.peak_group <= within.limit
    beyond = asked(HOLDS, cap=Cap(40 << 20), arguments=[400 << 20])
    assert (beyond.found, beyond.note) == (None, "killed at its limit")


def test_where_groups_are_not_allowed_the_answer_says_so(monkeypatch):
    def refuse(limit):
        raise PermissionError("not here")

    monkeypatch.setattr(contestants, "ControlGroup", refuse)
    answer = asked(HOLDS, cap=Cap(40 << 20), arguments=[1])
    assert (answer.found, answer.proven) == ({"runs": [1]}, False)
    assert answer.note == "limited by its budget alone: not here"


def test_the_watch_sees_what_a_process_holds():
    watch = MemoryWatch(os.getpid(), page_cache=lambda: 7)
    watch.look()
    before = watch.peak_anonymous
    held = np.ones(8 << 20)  # 64 MB
    watch.look()
    del held
    assert watch.peak_anonymous - before > 60 << 20
    assert watch.peak_rss >= watch.peak_anonymous
    assert watch.points[-1][2] == 7
    watch.restart()
    assert (watch.points, watch.peak_anonymous) == ([], None)


def test_the_watch_leaves_out_a_process_that_is_gone():
    gone = subprocess.Popen(["true"])
    watch = MemoryWatch(gone.pid)
    gone.wait()
    watch.look()
    assert watch.points == []


def test_rivals_are_looked_for_in_the_python_given_and_in_this_one():
    here = Pythons.look(None, None)
    assert here.of("np.memmap") == sys.executable
    assert here.of("GraphZero 0.2") is None
    assert here.version("np.memmap") == f"numpy {np.__version__}"
    none = Pythons({"one": {"torch": "2"}, "other": {"torch": "2", "torch_sparse": "1"}}, "old")
    assert none.of("torch-sparse") == "other"
    assert none.of("pyg-lib") is None
    assert none.of("PyG NeighborLoader") is None
    assert none.of("GraphZero 0.2") == "old"
    assert [rival_named(f"{name}, used so") for name in NEEDS] == list(NEEDS)


@pytest.mark.parametrize(
    ("rival", "versions", "text"),
    [
        ("PyG NeighborLoader", {"torch_geometric": "2.8.1", "torch_sparse": "0.6.18+pt24cpu"}, "PyG 2.8.1 with torch-sparse 0.6.18"),
        ("PyG NeighborLoader", {"torch_geometric": "2.8.1", "torch_sparse": "0.6.18", "pyg_lib": "0.5.0"}, "PyG 2.8.1 with pyg-lib 0.5.0"),
        ("PyG NeighborLoader", {}, "PyG"),
        ("pyg-lib", {"torch": "2.4.0", "pyg_lib": "0.4.0+pt24cpu"}, "pyg-lib 0.4.0"),
        ("GraphBolt", {"dgl": "2.1.0"}, "GraphBolt of DGL 2.1.0"),
        ("DGL", {"dgl": "2.1.0"}, "DGL 2.1.0"),
        ("polars + scipy", {"polars": "2.1.0", "scipy": "1.17.1"}, "polars 2.1.0 + scipy 1.17.1"),
        ("GraphZero 0.2", {"graphzero": "0.2.0"}, "GraphZero 0.2.0"),
    ],
)  # fmt: skip
def test_a_rival_is_named_with_its_version(rival, versions, text):
    assert with_version(rival, versions) == text


def test_every_rival_has_a_name_for_its_version():
    assert all(with_version(rival, {}) for rival in (*NEEDS, "GraphZero 0.2"))


def test_the_process_of_a_rival_tells_the_versions_it_has_loaded(tmp_path):
    """One as a library says it, one as it is installed; not one that is there and was not loaded."""
    (tmp_path / "torch_sparse.py").write_text("__version__ = '0.6.18'\n")
    (tmp_path / "pyg_lib.py").write_text("__version__ = '0.5.0'\n")
    (tmp_path / "dgl.py").write_text("")
    folder = tmp_path / "dgl-2.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: dgl\nVersion: 2.1.0\n")
    (tmp_path / "pecanpy.py").write_text("")  # neither
    script = "import torch_sparse, dgl, pecanpy; from rivals.protocol import answer; answer(lambda given: given)"
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{Path(contestants.__file__).parent}"}
    found = contestants.ask([sys.executable, "-c", script, '{"runs": [1]}'], timeout=60, environment=environment).found
    assert found == {"runs": [1], "versions": {"torch_sparse": "0.6.18", "dgl": "2.1.0"}}


def test_a_python_without_graphzero02_is_not_taken_for_one(monkeypatch):
    for there, found in (({"graphzero": "0.3.0"}, "0.3.0"), ({}, "no graphzero")):
        monkeypatch.setattr(pythons, "installed", lambda python, modules, there=there: there)
        with pytest.raises(ValueError, match=f"^other: expected a Python that has GraphZero 0.2, found {found}$"):
            Pythons.look(None, "other")
    monkeypatch.setattr(pythons, "installed", lambda python, modules: {"graphzero": "0.2.1"})
    assert Pythons.look(None, "other").of("GraphZero 0.2") == "other"


def test_rivals_know_nothing_of_graphzero():
    folder = Path(contestants.__file__).parent / "rivals"
    script = "import importlib, pkgutil, sys, rivals\nfor one in pkgutil.iter_modules(rivals.__path__):\n"
    script += "    importlib.import_module(f'rivals.{one.name}')\nassert 'graphzero' not in sys.modules, 'loaded'\n"
    environment = {**os.environ, "PYTHONPATH": str(folder.parent)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)


def test_files_for_graphzero02_hold_the_graph(tiny):
    index = tiny.index("out")
    write_graphzero02("old.gl", index.indptr, index.indices)
    with gz.Graph("old.gl") as old:
        assert old.is_graphzero02
        assert (old.index("out").indptr == index.indptr).all()
        assert (old.index("out").indices == index.indices).all()

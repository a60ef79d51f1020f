"""One tiny graph in every form, for tests and doctests alike."""

import gc
import os
import signal

# torch is told before anybody loads it: its threads spin while they wait, and take the cores that the core's threads are to
# use. With two cores a model of a few rows is trained in a twentieth of the time by one thread. Children inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import numpy as np
import pytest

import graphzero as gz
from faults import compiled_shim
from storage_server import s3, s3_server, storage  # noqa: F401  (fixtures)
from systems import IS_WINDOWS

# A shell's background job ignores Ctrl-C, and so would all processes that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples at every run: a test that fails for one of us fails for all.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
hypothesis.settings.load_profile("same")

# 0→1  0→2  1→2  3→0
TINY_SRC = [0, 0, 1, 3]
TINY_DST = [1, 2, 2, 0]


def pytest_make_parametrize_id(config, val, argname):
    """A long text is no name: pytest 8 takes minutes to choose among names of megabytes."""
    if isinstance(val, str | bytes) and len(val) > 200:
        return f"{argname} of {len(val)}"
    return None


def pytest_collection_finish(session):
    """Modules and tests stay: counting threads and descriptors looks for garbage many times, not among these."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def tiny_gl(tmp_path):
    path = str(tmp_path / "tiny.gl")
    gz.write_graph(path, TINY_SRC, TINY_DST)
    return path


@pytest.fixture
def tiny(tiny_gl):
    return gz.Graph(tiny_gl)


@pytest.fixture
def tiny_gd(tmp_path):
    path = str(tmp_path / "tiny.gd")
    gz.write_features(path, np.arange(12, dtype=np.float32).reshape(4, 3))
    return path


@pytest.fixture
def tiny_dataset(tmp_path):
    path = str(tmp_path / "tiny")
    with gz.DatasetWriter(path) as w:
        w.add_nodes({"x": np.arange(12, dtype=np.float32).reshape(4, 3), "y": [0, 1, 0, 2]}, label="y", num_classes=3)
        w.add_edges(TINY_SRC, TINY_DST)
        w.add_split("train", [0, 2])
        w.add_split("test", [1, 3])
    return path


@pytest.fixture
def shim(tmp_path):
    if IS_WINDOWS:
        pytest.skip("Windows loads no library in between by LD_PRELOAD")
    return compiled_shim(tmp_path)


@pytest.fixture(autouse=True)
def _leave_nothing_behind(monkeypatch, tmp_path):
    """Doctests and tests may write relative paths; they land in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):  # of Linux and macOS, and of Windows
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    for name in ("GRAPHZERO_NUM_THREADS", "GRAPHZERO_READ_GAP"):
        os.environ.pop(name, None)

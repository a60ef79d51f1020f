"""What loaders import, and what ten epochs leave in a process: nothing."""

import json
import subprocess
import sys

import numpy as np
import pytest

from loader_cases import write_homogeneous


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_homogeneous(tmp_path_factory.mktemp("homogeneous")).dataset.path


def run(code, *args):
    """Run code in a process of its own; what it prints is JSON."""
    command = [sys.executable, "-W", "ignore", "-c", code, *args]
    return json.loads(subprocess.run(command, check=True, timeout=120, stdout=subprocess.PIPE).stdout)


TRAIN = """
import json, sys
import graphzero as gz
import graphzero.loaders

def loaded():
    return [sys.modules.get(name) is not None for name in ("torch", "torch_geometric")]

dir(graphzero.loaders)
told = {"imported": loaded()}
from graphzero.loaders import LinkNeighborLoader, NeighborLoader
told["used"] = loaded()
for name in BLOCKED:
    sys.modules[name] = None  # an import of it fails
import torch
dataset = gz.open(sys.argv[1])
first, second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
kinds = set()
for batch in NeighborLoader(dataset, [3, 2], "train", batch_size=30):
    row, col = batch.edge_index
    own = first(batch.x)
    own = own.index_add(0, col, own[row]).relu()
    loss = torch.nn.functional.cross_entropy(second(own)[: batch.batch_size], batch.y[: batch.batch_size])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    kinds.add(type(batch).__name__)
for batch in LinkNeighborLoader(dataset, [3, 2], "held out", neg_sampling="binary", batch_size=50):
    kinds.add(type(batch).__name__)
told["kinds"] = sorted(kinds)
unwanted = ("pyg_lib", "torch_sparse", "torch_cluster", "torch_scatter")
told["unwanted"] = [name for name in unwanted if sys.modules.get(name) is not None]
try:
    NeighborLoader(dataset, [2], custom_cls=dict)
except ValueError as error:
    told["refused"] = str(error)
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def without_pyg(path):
    """What a program in which PyG cannot be imported told of itself."""
    return run(f"BLOCKED = ['torch_geometric']\n{TRAIN}", path)


def test_importing_loaders_loads_neither_torch_nor_pyg(without_pyg):
    assert (without_pyg["imported"], without_pyg["used"]) == ([False, False], [True, False])


def test_without_pyg_batches_are_plain(without_pyg):
    assert (without_pyg["kinds"], without_pyg["unwanted"]) == (["TorchBatch"], [])


def test_without_pyg_its_options_are_refused(without_pyg):
    expected = "custom_cls, transform_sampler_output: expected PyG with them, found form='torch' or no PyG"
    assert without_pyg["refused"] == expected


def test_training_needs_no_compiled_part_of_pyg(path):
    told = run(f"BLOCKED = ['pyg_lib', 'torch_sparse', 'torch_cluster', 'torch_scatter']\n{TRAIN}", path)
    assert (told["kinds"], told["unwanted"]) == (["Data"], [])


LEAK = """
import gc, json, os, re
import numpy as np
import graphzero as gz
from graphzero.loaders import LinkNeighborLoader, NeighborLoader
rng = np.random.default_rng(0)
gz.write_graph("g.gl", rng.integers(0, 2000, 20_000), rng.integers(0, 2000, 20_000), num_nodes=2000)
gz.write_features("x.gd", rng.standard_normal((2000, 256)).astype(np.float32))
data = gz.Graph("g.gl"), gz.FeatureStore("x.gd")
options = {"batch_size": 100, "shuffle": True, "memory": "100MB", "cache": "1MB", "reader": "pread"}
loaders = [
    NeighborLoader(data, [5, 5], **options),
    LinkNeighborLoader(data, [5, 5], ([3] * 300, [4] * 300), neg_sampling="triplet", **options),
]
def footprint():
    gc.collect()
    anonymous = int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1000
    return anonymous, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
def epochs(leak):
    found, kept = [], []
    for epoch in range(12):
        for loader in loaders:
            for batch in loader:
                pass
            if leak:
                kept.append((batch, open("g.gl")))
            del batch
        found.append(footprint())
    return found
print(json.dumps([epochs(False), epochs(True)]))
"""


@pytest.mark.no_tsan
def test_ten_epochs_leave_nothing():
    """Memory of the process's own, descriptors and threads. If the last batch of each epoch is kept, it shows."""
    for leak, found in zip([False, True], run(LEAK), strict=True):
        before, after = (np.max(part, axis=0) for part in (found[1:4], found[-2:]))
        # Arenas of malloc fill up over some dozens of epochs, by up to 10 MB; what is kept is twice that.
        assert (after[0] < before[0] + 12) == (not leak)
        assert (after[1] <= before[1]) == (not leak)
        assert after[2] <= before[2]

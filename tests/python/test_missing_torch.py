"""Without PyTorch, what needs it says how to install it; nothing else asks for it."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
sys.modules["torch"] = None  # as if it were not installed
import graphzero as gz
import graphzero.loaders

with gz.DatasetWriter("made") as writer:
    writer.add_nodes({"x": [[1.0], [2.0]], "y": [0, 1]}, label="y", num_classes=2)
    writer.add_edges([0], [1])
    writer.add_split("train", [0])
data = gz.open("made")
uses = {
    "loader": lambda: graphzero.loaders.NeighborLoader,
    "x": lambda: data.x,
    "edge_index": lambda: data.edge_index,
    "train_mask": lambda: data.train_mask,
    "splits": lambda: data.get_idx_split(),
    "as_torch": lambda: data.features("x").as_torch(),
}
said = {}
for name, use in uses.items():
    try:
        use()
    except ImportError as error:
        said[name] = str(error)
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    folder = tmp_path_factory.mktemp("without")
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("use", ["loader", "x", "edge_index", "train_mask", "splits", "as_torch"])
def test_what_needs_torch_says_how_to_install_it(said, use):
    assert "needs torch: pip install 'graphzero[torch]' (" in said[use]

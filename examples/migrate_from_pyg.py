"""From PyG to graphzero: the data is converted once, then three lines of the script change.

migration/before.py is a script for PyG, migration/after.py the same for graphzero. This prints how they differ and
runs both. PyG's own loader needs pyg-lib or torch-sparse; where neither is installed, only ours runs.

python examples/migrate_from_pyg.py [--nodes 20000] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path

import numpy as np
import torch
from baseline import mlp_accuracy
from migration import after, before
from torch_geometric.data import Data

import graphzero as gz
from data import a_folder, write_blocks


def save_as_pyg(folder: str, num_nodes: int) -> Data:
    """Write what a user of PyG has: data.pt, and the ids of a split."""
    write_blocks(f"{folder}/blocks", num_nodes, columns=64)
    with gz.open(f"{folder}/blocks") as blocks:
        index = blocks.graph.index("out")
        src = np.repeat(np.arange(num_nodes), np.diff(index.indptr))
        edges = torch.from_numpy(np.stack([src, index.indices]).astype(np.int64))
        x, y = (torch.tensor(blocks.features(name).get_tensor()) for name in ("x", "y"))
        data = Data(x=x, y=y, edge_index=edges)
        torch.save(data, f"{folder}/data.pt")
        torch.save({name: torch.tensor(blocks.split(name)) for name in ("train", "test")}, f"{folder}/split.pt")
    return data


def changed_lines() -> list[str]:
    """Return the lines of code that differ, as diff marks them."""
    texts = [Path(module.__file__).read_text(encoding="utf-8").split('"""', 2)[2] for module in (before, after)]
    lines = difflib.unified_diff(*(text.splitlines() for text in texts), "before.py", "after.py", lineterm="", n=0)
    return [line for line in lines if line.strip("+-") and not line.startswith("@@")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--folder", help="keep the data here")
    given = parser.parse_args()
    print("\n".join(changed_lines()), end="\n\n")
    with a_folder(given.folder) as folder:
        data = save_as_pyg(folder, given.nodes)
        gz.convert_dataset(data, f"{folder}/data", overwrite=True)
        try:
            print(f"PyG, in memory: test accuracy {before.train_and_test(folder, given.epochs):.3f}")
        except ImportError as error:
            print(f"PyG, in memory: does not run here ({error})")
        with gz.open(f"{folder}/blocks") as blocks:
            alone = mlp_accuracy(blocks)
        print(f"test accuracy: {after.train_and_test(folder, given.epochs):.3f} (features alone: {alone:.3f})")


if __name__ == "__main__":
    main()

"""Node classification out of core: PyG's GraphSAGE and PyG's training loop, with one changed import.

The features stay on disk. The loader reads the rows of each batch from the device, past the page cache, and holds no
more than --memory. What a graph adds is seen against a perceptron that has the features alone.

python examples/node_classification.py [--nodes 100000] [--memory 24MB] [--folder FOLDER]
"""

from __future__ import annotations

import argparse

import torch
from baseline import mlp_accuracy
from torch.nn.functional import cross_entropy
from torch_geometric.nn import GraphSAGE

import graphzero as gz
from data import a_folder, write_blocks
from graphzero.loaders import NeighborLoader  # was: from torch_geometric.loader import NeighborLoader


def train(model: GraphSAGE, loader: NeighborLoader, optimizer: torch.optim.Optimizer) -> float:
    model.train()
    total = 0.0
    for batch in loader:
        optimizer.zero_grad()
        out = model(batch.x, batch.edge_index)[: batch.batch_size]
        loss = cross_entropy(out, batch.y[: batch.batch_size])
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def accuracy(model: GraphSAGE, loader: NeighborLoader) -> float:
    model.eval()
    right = count = 0
    for batch in loader:
        out = model(batch.x, batch.edge_index)[: batch.batch_size]
        right += int((out.argmax(1) == batch.y[: batch.batch_size]).sum())
        count += batch.batch_size
    return right / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--memory", default="24MB")
    parser.add_argument("--folder", help="keep the data set here")
    given = parser.parse_args()
    torch.manual_seed(0)
    with a_folder(given.folder) as folder:
        write_blocks(f"{folder}/blocks", given.nodes)
        data = gz.open(f"{folder}/blocks")
        print(data)
        features, classes = data.features("x"), data.nodes["node"].num_classes
        options = {"num_neighbors": [10, 5], "batch_size": 128, "seed": 0, "memory": given.memory, "reader": "direct"}

        model = GraphSAGE(features.feature_dim, 64, num_layers=2, out_channels=classes, dropout=0.3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        loader = NeighborLoader(data, input_nodes="train", shuffle=True, **options)
        for epoch in range(given.epochs):
            print(f"epoch {epoch}: loss {train(model, loader, optimizer):.3f}")
        hits = loader.stats()["hit_rate"]
        loader.close()  # gives its memory back
        found = accuracy(model, NeighborLoader(data, input_nodes="test", **options))
        print(f"{features.nbytes / 1e6:.0f} MB of features, read within {given.memory}; {hits:.0%} of rows were there")
        print(f"test accuracy: {found:.3f} (features alone: {mlp_accuracy(data):.3f})")


if __name__ == "__main__":
    main()

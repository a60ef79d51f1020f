"""Link prediction: which pairs of nodes have an edge, told from their sampled neighbourhoods.

Each batch has edges of the graph and as many pairs drawn at random (binary negatives). The edges that are to be
predicted are left out of their own neighbourhoods (exclude_seed_edges); a model that sees them learns to look them up.
A tenth of the edges is not in the graph at all: these are for the test.

python examples/link_prediction.py [--nodes 10000] [--folder FOLDER]
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from torch_geometric.data import Data
from torch_geometric.nn import GraphSAGE

import graphzero as gz
from data import Blocks, a_folder, noisy_features
from graphzero.loaders import LinkNeighborLoader


def write_links(folder: str, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Write a graph to train on, and return the edges to train on and those of the test."""
    rng = np.random.default_rng(0)
    label = rng.integers(8, size=num_nodes)
    blocks = Blocks(label, rng)
    src = blocks.draw(num_nodes * 5)
    links = np.stack([src, blocks.draw_from(label[src])])
    links = np.unique(np.sort(links[:, links[0] != links[1]], axis=0), axis=1)
    links = links[:, rng.permutation(links.shape[1])]
    test, rest = np.split(links, [links.shape[1] // 10], axis=1)
    with gz.DatasetWriter(folder, overwrite=True) as writer:
        writer.add_nodes({"x": noisy_features(label, 64, rng)})
        writer.add_edges(*rest, directed=False)
    return rest[:, : links.shape[1] // 10], test


def area_under_curve(score: torch.Tensor, label: torch.Tensor) -> float:
    """Return the probability that an edge is scored above a pair that is none: 0.5 by chance."""
    rank = score.argsort().argsort().double() + 1
    edges, others = int(label.sum()), int((1 - label).sum())
    return float((rank[label == 1].sum() - edges * (edges + 1) / 2) / (edges * others))


def scores(model: torch.nn.Module, batch: Data) -> torch.Tensor:
    out = model(batch.x, batch.edge_index)
    src, dst = batch.edge_label_index
    return (out[src] * out[dst]).sum(1)


@torch.no_grad()
def evaluate(model: torch.nn.Module, loader: LinkNeighborLoader, *, features_only: bool = False) -> float:
    model.eval()
    score, label = [], []
    for batch in loader:
        if features_only:
            src, dst = batch.edge_label_index
            score.append(torch.cosine_similarity(batch.x[src], batch.x[dst]))
        else:
            score.append(scores(model, batch))
        label.append(batch.edge_label)
    return area_under_curve(torch.cat(score), torch.cat(label))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--folder", help="keep the data set here")
    given = parser.parse_args()
    torch.manual_seed(0)
    with a_folder(given.folder) as folder:
        train_links, test_links = write_links(f"{folder}/links", given.nodes)
        data = gz.open(f"{folder}/links")
        options = {"num_neighbors": [10, 5], "neg_sampling": "binary", "batch_size": 256, "seed": 0}
        train_loader = LinkNeighborLoader(
            data, edge_label_index=train_links, shuffle=True, exclude_seed_edges=True, **options
        )
        test_loader = LinkNeighborLoader(data, edge_label_index=test_links, **options)

        model = GraphSAGE(data.features("x").feature_dim, 64, num_layers=2, out_channels=32)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
        for epoch in range(given.epochs):
            model.train()
            total = 0.0
            for batch in train_loader:
                optimizer.zero_grad()
                loss = binary_cross_entropy_with_logits(scores(model, batch), batch.edge_label)
                loss.backward()
                optimizer.step()
                total += loss.item()
            print(f"epoch {epoch}: loss {total / len(train_loader):.3f}")
        alone = evaluate(model, test_loader, features_only=True)
        print(f"test AUC: {evaluate(model, test_loader):.3f} (features alone: {alone:.3f}, chance: 0.500)")


if __name__ == "__main__":
    main()

"""Train node2vec embeddings on a graph with communities, then tell the community of a node from its embedding.

python examples/node2vec.py [--nodes 2000] [--communities 6] [--epochs 10] [--workers 0]
"""

from __future__ import annotations

import argparse
import os
import tempfile

import numpy as np
import torch

import graphzero as gz
from graphzero.loaders import Node2Vec


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--communities", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    with tempfile.TemporaryDirectory(prefix="graphzero-node2vec-") as folder:
        path = os.path.join(folder, "graph.gl")
        community = write_communities(path, options.nodes, options.communities, options.seed)
        graph = gz.Graph(path)
        print(graph)
        model = train(graph, options.epochs, options.workers, options.seed)
        accuracy = classify(model().detach(), torch.from_numpy(community), options.seed)
        print(f"test accuracy: {accuracy:.3f} (guessing: {1 / options.communities:.3f})")


def write_communities(path: str, num_nodes: int, num_communities: int, seed: int) -> np.ndarray:
    """Write a graph in which two of three edges stay inside a community; return the community of each node."""
    rng = np.random.default_rng(seed)
    community = rng.integers(0, num_communities, num_nodes)
    members = [np.flatnonzero(community == number) for number in range(num_communities)]
    src = np.repeat(np.arange(num_nodes), 8)
    dst = rng.integers(0, num_nodes, len(src))
    for number, ids in enumerate(members):
        inside = (community[src] == number) & (rng.random(len(src)) < 0.6)
        dst[inside] = rng.choice(ids, int(inside.sum()))
    gz.write_graph(path, src, dst, num_nodes=num_nodes, directed=False)
    return community


def train(graph: gz.Graph, epochs: int, workers: int, seed: int) -> Node2Vec:
    model = Node2Vec(graph, embedding_dim=32, walk_length=10, context_size=5, walks_per_node=4, seed=seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    loader = model.loader(batch_size=256, shuffle=True, num_workers=workers)
    for epoch in range(epochs):
        total = 0.0
        for pos_rw, neg_rw in loader:
            optimizer.zero_grad()
            loss = model.loss(pos_rw, neg_rw)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.3f}")
    return model


def classify(embeddings: torch.Tensor, community: torch.Tensor, seed: int) -> float:
    """Fit a linear classifier to a fifth of the nodes and return its accuracy on the others."""
    order = torch.randperm(len(community), generator=torch.Generator().manual_seed(seed))
    train_ids, test_ids = order[: len(order) // 5], order[len(order) // 5 :]
    classifier = torch.nn.Linear(embeddings.shape[1], int(community.max()) + 1)
    optimizer = torch.optim.Adam(classifier.parameters(), lr=0.05, weight_decay=1e-3)
    for _ in range(200):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(classifier(embeddings[train_ids]), community[train_ids])
        loss.backward()
        optimizer.step()
    guessed = classifier(embeddings[test_ids]).argmax(dim=1)
    return float((guessed == community[test_ids]).float().mean())


if __name__ == "__main__":
    main()

"""What features tell without a graph: the figure that an example has to beat."""

from __future__ import annotations

import torch
from torch.nn.functional import cross_entropy

import graphzero as gz


def mlp_accuracy(dataset: gz.Dataset, of: str | None = None, epochs: int = 8) -> float:
    """Return the test accuracy of a perceptron with one hidden layer that sees each node's features alone."""
    torch.manual_seed(0)

    def split(name: str) -> tuple[torch.Tensor, torch.Tensor]:
        ids = dataset.split(name, of)
        return torch.from_numpy(dataset.features("x", of).gather(ids)), torch.from_numpy(dataset.labels(of).gather(ids))

    x, y = split("train")
    model = torch.nn.Sequential(torch.nn.Linear(x.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, int(y.max()) + 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=1e-3)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(512):
            optimizer.zero_grad()
            cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
    x, y = split("test")
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()

"""GraphSAGE on a graph in memory, as PyG's users write it."""

import torch
from torch.nn.functional import cross_entropy
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import GraphSAGE


def train_and_test(folder: str, epochs: int) -> float:
    torch.manual_seed(0)
    data = torch.load(f"{folder}/data.pt", weights_only=False)
    split = torch.load(f"{folder}/split.pt")
    options = {"num_neighbors": [10, 5], "batch_size": 256}
    train_loader = NeighborLoader(data, input_nodes=split["train"], shuffle=True, **options)
    test_loader = NeighborLoader(data, input_nodes=split["test"], **options)

    model = GraphSAGE(64, 64, num_layers=2, out_channels=8)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        for batch in train_loader:
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
            cross_entropy(out, batch.y[: batch.batch_size]).backward()
            optimizer.step()

    right = 0
    with torch.no_grad():
        for batch in test_loader:
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
            right += int((out.argmax(1) == batch.y[: batch.batch_size]).sum())
    return right / len(split["test"])

"""Several kinds of nodes and edges: the topic of papers, from what they cite and who wrote them.

A GraphSAGE for one kind is turned into one for papers and authors by PyG's to_hetero; batches are HeteroData.

python examples/heterogeneous.py [--papers 50000] [--folder FOLDER]
"""

from __future__ import annotations

import argparse

import torch
from baseline import mlp_accuracy
from torch.nn.functional import cross_entropy
from torch_geometric.nn import SAGEConv, to_hetero

import graphzero as gz
from data import a_folder, write_papers
from graphzero.loaders import NeighborLoader


class Sage(torch.nn.Module):
    def __init__(self, hidden: int, num_classes: int) -> None:
        super().__init__()
        self.first = SAGEConv((-1, -1), hidden)
        self.second = SAGEConv((-1, -1), num_classes)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x, edge_index).relu(), edge_index)


@torch.no_grad()
def accuracy(model: torch.nn.Module, loader: NeighborLoader) -> float:
    model.eval()
    right = count = 0
    for batch in loader:
        seeds = batch["paper"].batch_size
        out = model(batch.x_dict, batch.edge_index_dict)["paper"][:seeds]
        right += int((out.argmax(1) == batch["paper"].y[:seeds]).sum())
        count += seeds
    return right / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=int, default=50_000)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--folder", help="keep the data set here")
    given = parser.parse_args()
    torch.manual_seed(0)
    with a_folder(given.folder) as folder:
        write_papers(f"{folder}/papers", given.papers)
        data = gz.open(f"{folder}/papers")
        print(data)
        fanouts = {
            ("paper", "cites", "paper"): [8, 4],
            ("author", "writes", "paper"): [3, 3],
            ("paper", "written_by", "author"): [4, 4],
        }
        options = {"num_neighbors": fanouts, "batch_size": 256, "seed": 0}
        train_loader = NeighborLoader(data, input_nodes=("paper", "train"), shuffle=True, **options)
        test_loader = NeighborLoader(data, input_nodes=("paper", "test"), **options)

        model = to_hetero(Sage(64, data.nodes["paper"].num_classes), (data.node_types, data.edge_types), aggr="sum")
        batch = next(iter(train_loader))
        model(batch.x_dict, batch.edge_index_dict)  # tells lazy layers their sizes
        optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
        for epoch in range(given.epochs):
            model.train()
            total = 0.0
            for batch in train_loader:
                seeds = batch["paper"].batch_size
                optimizer.zero_grad()
                out = model(batch.x_dict, batch.edge_index_dict)["paper"][:seeds]
                loss = cross_entropy(out, batch["paper"].y[:seeds])
                loss.backward()
                optimizer.step()
                total += loss.item()
            print(f"epoch {epoch}: loss {total / len(train_loader):.3f}")
        alone = mlp_accuracy(data, "paper")
        print(f"test accuracy: {accuracy(model, test_loader):.3f} (features alone: {alone:.3f})")


if __name__ == "__main__":
    main()

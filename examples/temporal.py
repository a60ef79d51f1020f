"""Time: what interests a user now, from the items of the last days and never from those to come.

Interests change. An example is a user and a day; its neighbourhood is drawn among the views of the 100 days before
(time_attr with time_window). The script looks at every batch: no edge is later than the day of its example. The same
model on views of any time, the future among them, does worse: it sees interests of other days.

python examples/temporal.py [--users 5000] [--folder FOLDER]
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from torch_geometric.data import HeteroData
from torch_geometric.nn import SAGEConv

import graphzero as gz
from data import a_folder, write_views
from graphzero.loaders import NeighborLoader

VIEWED_BY = ("item", "viewed_by", "user")
DAYS = 100


class Interest(torch.nn.Module):
    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.item = torch.nn.Linear(32, 64)
        self.user = SAGEConv((64, 1), 64)
        self.out = torch.nn.Linear(64, num_classes)

    def forward(self, batch: HeteroData) -> torch.Tensor:
        items = self.item(batch["item"].x).relu()
        return self.out(self.user((items, batch["user"].x), batch[VIEWED_BY].edge_index).relu())


def latest_lead(batch: HeteroData, day: torch.Tensor) -> int:
    """Return how many days the latest edge of a batch is ahead of its example: more than 0 is the future."""
    edges = batch[VIEWED_BY]
    of_example = batch["user"].batch[edges.edge_index[1]]
    return int((edges.day - day[of_example]).max()) if len(edges.day) else -1


def train_and_test(data: gz.Dataset, num_classes: int, epochs: int, *, windowed: bool) -> tuple[float, int]:
    """Return the test accuracy, and how far batches look into the future."""
    torch.manual_seed(0)
    views = data.edges[VIEWED_BY]
    users = views.graph.index("in")
    rng = np.random.default_rng(1)
    picked = rng.choice(len(users.edge_ids), 12_000, replace=False)
    user = np.searchsorted(users.indptr, picked, side="right") - 1
    day = torch.from_numpy(views["day"].gather(users.edge_ids[picked]))
    interest = torch.from_numpy(views["interest"].gather(users.edge_ids[picked]))
    train, test = slice(0, 10_000), slice(10_000, None)

    def loader(part: slice, shuffle: bool) -> NeighborLoader:
        times = {"time_attr": "day", "input_time": day[part] - 1, "time_window": DAYS} if windowed else {}
        return NeighborLoader(
            data,
            num_neighbors=[20],
            input_nodes=("user", user[part]),
            disjoint=True,
            batch_size=256,
            shuffle=shuffle,
            seed=0,
            **times,
        )

    model = Interest(num_classes)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    lead = -(10**9)
    for _ in range(epochs):
        for batch in loader(train, shuffle=True):
            examples = batch["user"].input_id
            lead = max(lead, latest_lead(batch, day[train][examples]))
            optimizer.zero_grad()
            cross_entropy(model(batch), interest[train][examples]).backward()
            optimizer.step()
    right = 0
    with torch.no_grad():
        for batch in loader(test, shuffle=False):
            examples = batch["user"].input_id
            lead = max(lead, latest_lead(batch, day[test][examples]))
            right += int((model(batch).argmax(1) == interest[test][examples]).sum())
    return right / len(user[test]), lead


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=5_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--folder", help="keep the data set here")
    given = parser.parse_args()
    with a_folder(given.folder) as folder:
        write_views(f"{folder}/views", given.users, num_classes=6)
        data = gz.open(f"{folder}/views")
        print(data)
        found, lead = train_and_test(data, 6, given.epochs, windowed=True)
        anytime, lead_anytime = train_and_test(data, 6, given.epochs, windowed=False)
    print(f"the latest edge that a batch saw: {-lead} day before its example")
    print(f"without time_attr: {lead_anytime} days after it")
    if lead >= 0:
        raise SystemExit("a batch looked into the future")
    print(f"test accuracy: {found:.3f} (edges of any time: {anytime:.3f}, chance: {1 / 6:.3f})")


if __name__ == "__main__":
    main()

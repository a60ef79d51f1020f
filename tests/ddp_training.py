"""A small model on a loader's batches: alone, or as one of several processes.

Arguments of a process: RANK WORLD_SIZE INIT_FILE DATASET OUT BACKEND.
"""

import json
import os
import sys

import torch

import graphzero as gz
from graphzero.loaders import NeighborLoader

NUM_EPOCHS = 2


class Model(torch.nn.Module):
    """Two layers: each node's own row and the sum of its neighbours'."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 4)

    def forward(self, batch):
        row, col = batch.edge_index
        own = self.first(batch.x)
        own = own.index_add(0, col, own[row]).relu()
        return self.second(own.index_add(0, col, own[row]))[: batch.batch_size]


def model():
    torch.manual_seed(0)
    return Model()


def loader(dataset, **options):
    return NeighborLoader(dataset, [3, 2], "train", batch_size=16, shuffle=True, form="torch", **options)


def loss_of(model, batch):
    return torch.nn.functional.cross_entropy(model(batch), batch.y[: batch.batch_size])


def weights(model):
    return [parameter.flatten().tolist() for parameter in model.parameters()]


def gradients(model):
    return [parameter.grad.flatten().tolist() for parameter in model.parameters()]


def main(rank, world_size, init_file, dataset, out, backend):
    """Train, and write down what can be compared."""
    torch.set_num_threads(1)
    device = "cuda" if backend == "nccl" else None
    os.environ["NCCL_HOSTID"] = f"host {rank}"  # lets ranks share one GPU
    torch.distributed.init_process_group(
        backend, init_method=f"file://{init_file}", rank=int(rank), world_size=int(world_size)
    )
    with open(out, "w") as file:
        json.dump(train(int(rank), dataset, device), file)
    torch.distributed.barrier()  # nobody leaves a group that another still uses
    torch.distributed.destroy_process_group()
    # DistributedDataParallel keeps the group alive. Its threads take the GIL to drop the last work, and torch 2.13 aborts
    # if the interpreter ends just then.
    os._exit(0)


def train(rank, dataset, device):
    """Return what can be compared. The model, which uses the group, ends here."""
    trained = torch.nn.parallel.DistributedDataParallel(model().to(device))
    torch.manual_seed(rank + 10)  # no two draw the same seed by themselves
    batches = loader(gz.open(dataset), device=device)
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.1)
    steps = []
    for _ in range(NUM_EPOCHS):
        for batch in batches:
            optimizer.zero_grad()
            loss_of(trained, batch).backward()
            optimizer.step()
            steps.append({"input_id": batch.input_id.tolist(), "gradients": gradients(trained)})
    return {"seed": batches.state_dict()["seed"], "steps": steps, "weights": weights(trained)}


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Several processes train one model: DistributedDataParallel with gloo, on the CPUs of one machine.

Each process opens the same files; the page cache holds them once. The loader asks torch.distributed which rank it is,
takes its part of each epoch, and has as many batches as the others, so that no process waits for gradients that never
come. With GPUs the same script says backend "nccl" and device=rank.

python examples/ddp.py [--processes 2] [--nodes 40000] [--folder FOLDER]
"""

from __future__ import annotations

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from baseline import mlp_accuracy
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch_geometric.nn import GraphSAGE

import graphzero as gz
from data import a_folder, write_blocks
from graphzero.loaders import NeighborLoader


def run(rank: int, processes: int, folder: str, meeting: str, epochs: int) -> None:
    dist.init_process_group("gloo", init_method=f"file://{meeting}/ranks", rank=rank, world_size=processes)
    train(rank, processes, folder, epochs)
    # The model ended with train(), and with it what it keeps of the group: docs/guide/several-gpus.md.
    dist.barrier()  # nobody leaves a group that another still uses
    dist.destroy_process_group()


def train(rank: int, processes: int, folder: str, epochs: int) -> None:
    torch.set_num_threads(max(1, gz.num_threads() // processes))
    torch.manual_seed(0)  # the same model everywhere
    data = gz.open(f"{folder}/blocks")
    options = {"num_neighbors": [10, 5], "batch_size": 128, "threads": 1}
    loader = NeighborLoader(data, input_nodes="train", shuffle=True, **options)
    steps = [None] * processes
    dist.all_gather_object(steps, len(loader))
    if rank == 0:
        print(f"steps of an epoch: {steps}")

    model = GraphSAGE(data.features("x").feature_dim, 64, num_layers=2, out_channels=8)
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(parallel.parameters(), lr=0.01)
    for epoch in range(epochs):
        total = 0.0
        for batch in loader:
            optimizer.zero_grad()
            loss = cross_entropy(parallel(batch.x, batch.edge_index)[: batch.batch_size], batch.y[: batch.batch_size])
            loss.backward()
            optimizer.step()
            total += loss.item()
        if rank == 0:
            print(f"epoch {epoch}: loss of rank 0 {total / len(loader):.3f}")

    # Equal steps may mean that a node comes twice. A test counts each once, so each process has nodes of its own.
    nodes = data.split("test")[rank::processes]
    tests = NeighborLoader(data, input_nodes=nodes, rank=0, world_size=1, **options)
    counts = torch.zeros(2)
    with torch.no_grad():
        for batch in tests:
            out = model(batch.x, batch.edge_index)[: batch.batch_size].argmax(1)
            counts += torch.tensor([(out == batch.y[: batch.batch_size]).sum(), batch.batch_size])
    dist.all_reduce(counts)
    if rank == 0:
        accuracy = counts[0].item() / counts[1].item()
        print(f"test accuracy: {accuracy:.3f} (features alone: {mlp_accuracy(data):.3f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=40_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--folder", help="keep the data set here")
    given = parser.parse_args()
    with a_folder(given.folder) as folder, a_folder(None) as meeting:
        write_blocks(f"{folder}/blocks", given.nodes, columns=64)
        mp.spawn(run, (given.processes, folder, meeting, given.epochs), nprocs=given.processes)


if __name__ == "__main__":
    main()

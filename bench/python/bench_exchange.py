"""Rows that two hosts divide: the exchange beside a bare all_to_all_single, and training beside a copy on each host."""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial

import numpy as np
import torch
from common import report

import graphzero as gz
from graphzero import _core
from graphzero._inputs.attributes import Attribute, Attributes
from graphzero.loaders._exchange.service import exchange_of
from graphzero.loaders._exchange.shared_rows import SharedRows, share_name

WORLD = 2
NODES, COLUMNS = 400_000, 128  # 512-byte rows
ROWS, TURNS = 30_000, 12  # rows that a batch has elsewhere; times that each way has its turn, with four batches
# One that computes little for its rows, and that of the other pages: hidden channels, fanouts, batch, steps, epochs.
MODELS = {
    "GraphSAGE 2 × 64": (64, [10, 5], 512, 40, 12),
    "GraphSAGE 3 × 256": (256, [15, 10, 5], 256, 8, 3),
}
HOT = NODES // 10 * 4 * COLUMNS  # bytes of the hottest rows, a tenth of all, that each host has beside its range
WAYS = {"all here": "whole", "divided": "{rank}", "divided, a tenth hot": "{rank}-hot"}


def write_data(folder):
    """Write a data set whose rows say whose they are, and the share of each host."""
    rng = np.random.default_rng(0)
    x = np.repeat(np.arange(NODES, dtype=np.float32)[:, None], COLUMNS, axis=1)
    with gz.DatasetWriter(f"{folder}/whole") as writer:
        writer.add_nodes({"x": x, "y": rng.integers(0, 16, NODES)}, label="y", num_classes=16)
        writer.add_edges((NODES * rng.random(4_000_000) ** 2).astype(np.int64), rng.integers(0, NODES, 4_000_000))
        for name, (_, _, batch, steps, _) in MODELS.items():
            writer.add_split(name, rng.permutation(NODES)[: WORLD * batch * steps])
    for host in range(WORLD):
        gz.stage(f"{folder}/whole", f"{folder}/{host}", host=host, hosts=WORLD)
        gz.stage(f"{folder}/whole", f"{folder}/{host}-hot", host=host, hosts=WORLD, hot=HOT)


def exchange_rank(folder, rank):
    """Return the processor time of this process for a row, of all ways in turn."""
    share = gz.open(f"{folder}/{rank}").features("x")
    shares, attributes = {share_name("node", "x"): share}, Attributes([Attribute("x", "node", share)])

    def through(backend):
        exchange = exchange_of(shares, 1 << 30, backend, None, torch.device("cuda", 0) if backend == "nccl" else None)
        return SharedRows(attributes, attributes, exchange, shares, {}, (), "mmap")

    by_backend = {backend: through(backend) for backend in ("tcp", "gloo", *["nccl"] * torch.cuda.is_available())}
    kept = _core.RowMemory(256 << 20)  # as a loader has
    elsewhere, key = 1 - rank, ("node", "x")
    begin, end = share.record.ranges[elsewhere : elsewhere + 2]
    rng = np.random.default_rng(rank)
    ids = [rng.choice(end - begin, ROWS, replace=False) + begin for _ in range(4)]
    expected = [each.astype(np.float32) for each in ids]
    splits = [ROWS * (other == elsewhere) for other in range(WORLD)]
    own = torch.from_numpy(share.own.get_tensor())
    sent, received = torch.zeros((ROWS, COLUMNS)), torch.zeros((ROWS, COLUMNS))
    counts, numbers = torch.tensor(splits), torch.zeros(ROWS, dtype=torch.int64)
    order = torch.from_numpy(rng.permutation(ROWS))

    def ours(number, backend="tcp"):
        return by_backend[backend].fetch({key: ids[number]}).finish()[key]

    def send_numbers(number):
        torch.distributed.all_to_all_single(torch.empty_like(counts), counts)
        torch.distributed.all_to_all_single(numbers, torch.from_numpy(ids[number] - begin), splits, splits)

    def bare(number):
        send_numbers(number)
        torch.distributed.all_to_all_single(received, sent, splits, splits)

    def by_hand(number):
        send_numbers(number)
        rows = own.index_select(0, numbers)
        found = torch.empty_like(rows)
        torch.distributed.all_to_all_single(found, rows, splits, splits)
        return found.index_select(0, order)

    def here(number):
        return share.own.gather(numbers.numpy(), reader="mmap")

    ways = {"exchange": ours, "bare": bare, "by hand": by_hand, "here": here}
    ways |= {backend: partial(ours, backend=backend) for backend in by_backend if backend != "tcp"}
    for number in range(4):
        for backend in by_backend:
            assert np.array_equal(ours(number, backend)[:, 0], expected[number]), "wrong rows"
        found = by_hand(number).numpy()[:, 0]
        assert np.array_equal(found, expected[number][order.numpy()]), "wrong rows"
    times = {how: [] for how in ways}
    for _ in range(TURNS):
        for how, call in ways.items():
            torch.distributed.barrier()
            clock, cpu = time.perf_counter(), time.process_time()
            for number in range(4):
                call(number)
            cpu, seconds = time.process_time() - cpu, time.perf_counter() - clock
            times[how].append((cpu / 4 / ROWS * 1e6, 4 * ROWS / seconds / 1e6))
    del kept
    return {how: [statistics.median(part) for part in zip(*found, strict=True)] for how, found in times.items()}


def train_rank(folder, rank):
    """Return steps per second and processor time of a step, for each of MODELS and WAYS."""
    return {name: train_model(folder, rank, name, *model) for name, model in MODELS.items()}


def train_model(folder, rank, split, hidden, fanouts, batch_size, _, epochs):
    from torch.nn.functional import cross_entropy
    from torch.nn.parallel import DistributedDataParallel
    from torch_geometric.nn import GraphSAGE

    from graphzero.loaders import NeighborLoader

    options = {"batch_size": batch_size, "shuffle": True, "memory": "1.5GB", "seed": 1, "threads": 1}
    loaders = {
        how: NeighborLoader(gz.open(f"{folder}/{name.format(rank=rank)}"), fanouts, split, **options)
        for how, name in WAYS.items()
    }
    model = DistributedDataParallel(GraphSAGE(COLUMNS, hidden, num_layers=len(fanouts), out_channels=16))
    optimizer = torch.optim.Adam(model.parameters())
    found = {how: [] for how in loaders}
    for _ in range(epochs):
        sums = []
        for how, loader in loaders.items():
            torch.distributed.barrier()
            begin, cpu, total = time.perf_counter(), time.process_time(), 0.0
            for batch in loader:
                optimizer.zero_grad()
                out = model(batch.x / NODES, batch.edge_index)[: batch.batch_size]
                cross_entropy(out, batch.y[: batch.batch_size]).backward()
                optimizer.step()
                total += float(batch.x[:, 0].double().sum())
            seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
            found[how].append((len(loader) / seconds, 1e3 * cpu / len(loader)))
            sums.append(total)
        assert sums.count(sums[0]) == len(sums), "different rows"
    return found


def run_ranks(folder, what):
    """Return what each of two processes found."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    told = {"WORLD_SIZE": WORLD, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1}
    told = {**os.environ, **{name: str(value) for name, value in told.items()}}
    command = [sys.executable, __file__, "--rank", what, folder]
    # Ranks with names of their own may share one GPU; NCCL then takes them for hosts, which the network joins.
    of_rank = [{"RANK": str(rank), "NCCL_HOSTID": f"host {rank}"} for rank in range(WORLD)]
    ranks = [subprocess.Popen(command, env={**told, **one}) for one in of_rank]
    assert [rank.wait() for rank in ranks] == [0] * WORLD
    found = []
    for rank in range(WORLD):
        with open(f"{folder}/{what}-{rank}.json") as file:
            found.append(json.load(file))
    return found


def rank_main(what, folder):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    found = {"exchange": exchange_rank, "train": train_rank}[what](folder, rank)
    with open(f"{folder}/{what}-{rank}.json", "w") as file:
        json.dump(found, file)


def report_exchange(ranks):
    cpu, rate = ({how: statistics.mean(found[how][part] for found in ranks) for how in ranks[0]} for part in (0, 1))
    names = {
        "bare": "bare all_to_all_single of counts, numbers and rows",
        "by hand": "by hand: index_select, all_to_all_single, index_select",
        "exchange": "exchange",
        "gloo": "exchange through gloo",
        "nccl": "exchange through nccl",
        "here": "gather of as many rows that are here",
        "beyond": "exchange beyond a gather",
    }
    cpu["beyond"] = cpu["exchange"] - cpu["here"]
    rows = [
        {
            "how": name,
            "CPU of a row, µs": f"{cpu[how]:.2f}",
            "beside the bare one": f"{cpu[how] / cpu['bare']:.2f}",
            "M rows/s of a rank": f"{rate[how]:.2f}" if how in rate else "",
        }
        for how, name in names.items()
        if how in cpu
    ]
    report("exchange of rows", {"ranks": WORLD, "row": f"{4 * COLUMNS} B", "rows a batch": ROWS}, rows)


def report_training(ranks):
    for name, (_, fanouts, batch_size, _, _) in MODELS.items():
        rows = []
        for how in WAYS:
            epochs = [epoch for found in ranks for epoch in found[name][how]]
            beside = [epoch for found in ranks for epoch in found[name]["all here"]]
            rate, cpu = (statistics.median(epoch[part] for epoch in epochs) for part in (0, 1))
            rates, cpus = (
                statistics.median(one[part] / other[part] for one, other in zip(epochs, beside, strict=True))
                for part in (0, 1)
            )
            rows.append(
                {
                    "rows": how,
                    "steps/s of a rank": f"{rate:.2f}",
                    "beside all here": f"{rates:.2f}",
                    "CPU of a step, ms": f"{cpu:.1f}",
                    "its CPU beside all here": f"{cpus:.2f}",
                }
            )
        conditions = {"ranks": WORLD, "model": name, "batch": batch_size, "fanouts": fanouts}
        report("training with divided rows", conditions, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["exchange", "train"], help="measure this alone")
    parser.add_argument("--rank", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank:
        rank_main(*given.rank)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_data(folder)
        if given.only != "train":
            report_exchange(run_ranks(folder, "exchange"))
        if given.only != "exchange":
            report_training(run_ranks(folder, "train"))


if __name__ == "__main__":
    main()

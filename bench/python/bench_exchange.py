"""Rows that two hosts divide: the exchange beside a bare all_to_all_single, and training beside a copy on each host."""

import argparse
import json
import os
import sys
import tempfile
import time

import numpy as np
import torch
from common import report

import graphzero as gz
from graphzero import _core
from graphzero._dataset.feature_share import FeatureShare
from graphzero.loaders._exchange.service import exchange_of
from graphzero.loaders._exchange.shared_rows import SharedRows, share_name

WORLD = 2
NODES, COLUMNS = 400_000, 128  # 512-byte rows
ROWS, REPEAT = 30_000, 40  # rows that a batch has elsewhere; batches
BATCH, FANOUTS, HIDDEN = 512, [10, 5], 64


def write_data(folder: str) -> None:
    """A data set whose rows say whose they are, and the share of each host."""
    rng = np.random.default_rng(0)
    x = np.repeat(np.arange(NODES, dtype=np.float32)[:, None], COLUMNS, axis=1)
    with gz.DatasetWriter(f"{folder}/whole", overwrite=True) as writer:
        writer.add_nodes({"x": x, "y": rng.integers(0, 16, NODES)}, label="y", num_classes=16)
        writer.add_edges((NODES * rng.random(4_000_000) ** 2).astype(np.int64), rng.integers(0, NODES, 4_000_000))
        writer.add_split("train", rng.permutation(NODES)[: 2 * 60 * BATCH])
    for host in range(WORLD):
        gz.stage(f"{folder}/whole", f"{folder}/{host}", host=host, hosts=WORLD, overwrite=True)


def bare(ids: np.ndarray, row_bytes: int, elsewhere: int) -> None:
    """Counts, numbers and rows of a batch, from memory that is ready to memory that nobody looks at."""
    counts = torch.zeros(WORLD, dtype=torch.int64)
    counts[elsewhere] = len(ids)
    theirs = torch.empty_like(counts)
    torch.distributed.all_to_all_single(theirs, counts)
    splits = [0] * WORLD
    splits[elsewhere] = len(ids)
    numbers = torch.empty(len(ids), dtype=torch.int64)
    torch.distributed.all_to_all_single(numbers, torch.from_numpy(ids), splits, splits)
    torch.distributed.all_to_all_single(_RECEIVED, _SENT, splits, splits)


_SENT = torch.zeros((ROWS, 4 * COLUMNS), dtype=torch.uint8)
_RECEIVED = torch.zeros((ROWS, 4 * COLUMNS), dtype=torch.uint8)


def exchange_rank(folder: str, rank: int) -> dict:
    """CPU of this process for a row, both ways in turn."""
    data = gz.open(f"{folder}/{rank}")
    share = data.features("x")
    assert isinstance(share, FeatureShare)
    name = share_name("node", "x")
    from graphzero._inputs.attributes import Attribute, Attributes

    attributes = Attributes([Attribute("x", "node", share)])
    shared = SharedRows(attributes, attributes, exchange_of({name: share}, 1 << 30, None, None), {name: share}, {}, (), "mmap")
    elsewhere = 1 - rank
    memory = _core.RowMemory(256 << 20)
    begin, end = share.record.ranges[elsewhere : elsewhere + 2]
    rng = np.random.default_rng(rank)
    ids = [np.sort(rng.choice(end - begin, ROWS, replace=False)) + begin for _ in range(4)]
    ids = [rng.permutation(each) for each in ids]
    local = [each - begin + share.record.ranges[rank] for each in ids]
    key = ("node", "x")
    whole = gz.FeatureStore(f"{folder}/whole/nodes/node/x.gd")

    def ours(number):
        return shared.fetch({key: ids[number % 4]}).finish()[key]

    for number in range(4):
        assert np.array_equal(ours(number)[:, 0], ids[number].astype(np.float32)), "wrong rows"
        bare(ids[number], 4 * COLUMNS, elsewhere)
    times = {"ours": [], "bare": [], "local": []}
    walls = {"ours": [], "bare": [], "local": []}
    torch.distributed.barrier()
    for turn in range(REPEAT // 4):
        for how, call in (
            ("ours", ours),
            ("bare", lambda number: bare(ids[number % 4], 4 * COLUMNS, elsewhere)),
            ("local", lambda number: whole.gather(local[number % 4], reader="mmap")),
        ):
            torch.distributed.barrier()
            wall, cpu = time.perf_counter(), time.process_time()
            for number in range(4):
                call(number)
            times[how].append((time.process_time() - cpu) / 4 / ROWS * 1e6)
            walls[how].append((time.perf_counter() - wall) / 4 / ROWS * 1e6)
    del memory
    return {how: [float(np.median(times[how])), float(np.median(walls[how]))] for how in times}


def train_rank(folder: str, rank: int) -> dict:
    """Steps per second of a small GraphSAGE, with all rows here and with half of them."""
    from torch.nn.functional import cross_entropy
    from torch.nn.parallel import DistributedDataParallel
    from torch_geometric.nn import GraphSAGE

    from graphzero.loaders import NeighborLoader

    torch.set_num_threads(1)
    options = {"batch_size": BATCH, "shuffle": True, "memory": "600MB", "seed": 1, "threads": 1}
    loaders = {
        "divided": NeighborLoader(gz.open(f"{folder}/{rank}"), FANOUTS, "train", **options),
        "all here": NeighborLoader(gz.open(f"{folder}/whole"), FANOUTS, "train", **options),
    }
    model = DistributedDataParallel(GraphSAGE(COLUMNS, HIDDEN, num_layers=2, out_channels=16))
    optimizer = torch.optim.Adam(model.parameters())
    found = {how: [] for how in loaders}
    cpus = {how: [] for how in loaders}
    sums = {}
    for epoch in range(5):
        for how, loader in loaders.items():
            torch.distributed.barrier()
            begin, cpu, total = time.perf_counter(), time.process_time(), 0.0
            for number, batch in enumerate(loader):
                optimizer.zero_grad()
                out = model(batch.x / NODES, batch.edge_index)[: batch.batch_size]
                cross_entropy(out, batch.y[: batch.batch_size]).backward()
                optimizer.step()
                total += float(batch.x[:, 0].double().sum())
            found[how].append((number + 1) / (time.perf_counter() - begin))
            cpus[how].append((time.process_time() - cpu) / (number + 1))
            sums[how, epoch] = total
        assert sums["divided", epoch] == sums["all here", epoch], "different rows"
    return {how: [found[how], cpus[how]] for how in found}


def rank_main(folder: str, rank: int, what: str) -> None:
    torch.distributed.init_process_group("gloo")
    found = {"exchange": exchange_rank, "train": train_rank}[what](folder, rank)
    with open(f"{folder}/{what}-{rank}.json", "w") as file:
        json.dump(found, file)


def run_ranks(folder: str, what: str) -> list[dict]:
    import socket
    import subprocess

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    told = {"WORLD_SIZE": WORLD, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1}
    ranks = [
        subprocess.Popen(
            [sys.executable, __file__, "--rank", what, str(rank), folder],
            env={**os.environ, **{name: str(value) for name, value in told.items()}, "RANK": str(rank)},
        )
        for rank in range(WORLD)
    ]
    assert [rank.wait() for rank in ranks] == [0] * WORLD
    return [json.load(open(f"{folder}/{what}-{rank}.json")) for rank in range(WORLD)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank:
        what, rank, folder = given.rank
        rank_main(folder, int(rank), what)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_data(folder)
        exchanged = run_ranks(folder, "exchange")
        trained = run_ranks(folder, "train")
    cpu = {how: sum(one[how][0] for one in exchanged) / WORLD for how in ("ours", "bare", "local")}
    rows = [
        {"how": name, "CPU of a row, µs": f"{cpu[how]:.2f}", "beside the bare one": f"{cpu[how] / cpu['bare']:.2f}"}
        for name, how in (("exchange", "ours"), ("bare all_to_all_single", "bare"), ("gather of as many rows here", "local"))
    ]
    rows.append({"how": "exchange without a gather", "CPU of a row, µs": f"{cpu['ours'] - cpu['local']:.2f}",
                 "beside the bare one": f"{(cpu['ours'] - cpu['local']) / cpu['bare']:.2f}"})
    report("exchange of rows", {"ranks": WORLD, "row": f"{4 * COLUMNS} B", "rows a batch": ROWS}, rows)
    ratios = [d / a for one in trained for d, a in zip(one["divided"][0], one["all here"][0])]
    report(
        "training with divided rows",
        {"ranks": WORLD, "model": f"GraphSAGE 2 × {HIDDEN}", "batch": BATCH, "fanouts": FANOUTS},
        [{"how": how, "steps/s of a rank": f"{np.median([one[how][0] for one in trained]):.1f}",
          "CPU of a step, ms": f"{1e3 * np.median([one[how][1] for one in trained]):.1f}"} for how in ("all here", "divided")]
        + [{"how": "divided beside all here, epoch by epoch", "steps/s of a rank": f"{np.median(ratios):.2f}"}],
    )


if __name__ == "__main__":
    main()

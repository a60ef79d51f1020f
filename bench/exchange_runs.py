"""Compares the simulation of an exchange of rows with processes that do it, on this machine's loopback.

Each process has a range of rows in its page cache. For every batch it asks the others for rows, through the exchange
that loaders use, and puts them in the order of the batch. Nothing is sampled or trained, and batches are not made
ahead: the traffic is that of a loader's exchange, and nothing else.

The costs that the simulation is given come from one process and two alone, with batches of two sizes: processor time of
a row that stays, of one that crosses, and of the messages of a batch. What it says of 3 and 4 processes is compared;
that messages cost the same whatever the number of peers was learned from such runs. How much of the processors others
leave is measured before and after each run: all processes count for a while. On a busy machine that is a poor guess, as
processes that wait now and then get more than those that count; processor times are not.

python bench/exchange_runs.py [--ranks 2 3 4] [--rows 20000] [--row-bytes 512] [--batches 20] [--rounds 9] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import tempfile
import time
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from exchange_model import Exchange, simulate

import graphzero as gz
from graphzero import _core
from graphzero._inputs.attributes import Attribute, Attributes
from graphzero.loaders._exchange.service import exchange_of
from graphzero.loaders._exchange.shared_rows import SharedRows, share_name

ROWS_OF_A_RANK = 200_000


def write_shares(folder: str, ranks: int, row_bytes: int) -> None:
    """Write rows that begin with their number, and the share of each rank."""
    numbers = np.arange(ROWS_OF_A_RANK * ranks, dtype=np.int32)
    with gz.DatasetWriter(f"{folder}/whole") as writer:
        writer.add_nodes({"x": np.repeat(numbers[:, None], row_bytes // 4, axis=1)})
        writer.add_edges([0], [1])
    for host in range(ranks):
        gz.stage(f"{folder}/whole", f"{folder}/{host}", host=host, hosts=ranks)


def exchange(rank: int, ranks: int, given: argparse.Namespace, folder: str, port: int, found: Any) -> None:
    """Be one of the ranks; put what it measures in each round into ``found``."""
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": str(ranks)}
    dist.init_process_group("gloo")
    share = gz.open(f"{folder}/{rank}").features("x")
    shares, attributes, key = (
        {share_name("node", "x"): share},
        Attributes([Attribute("x", "node", share)]),
        ("node", "x"),
    )
    shared = SharedRows(attributes, attributes, exchange_of(shares, 1 << 30, None, None), shares, {}, (), "mmap")
    kept = _core.RowMemory(256 << 20)  # as a loader has
    random = np.random.default_rng(rank)

    def batch(ids: np.ndarray) -> np.ndarray:
        return shared.fetch({key: ids}).finish()[key]

    for rows in sizes_of(given):
        ids = random.integers(0, ROWS_OF_A_RANK * ranks, rows)
        assert np.array_equal(batch(ids)[:, 0], ids), "a row is not that of its id"
        for number in range(given.rounds):
            dist.barrier()
            free = free_share(0.25)
            dist.barrier()
            begin, used = time.perf_counter(), time.process_time()
            for _ in range(given.batches):
                batch(ids)
            wall, cpu = time.perf_counter() - begin, time.process_time() - used
            dist.barrier()
            found.put((rows, number, wall, cpu, (free + free_share(0.25)) / 2))
    del kept
    dist.barrier()
    dist.destroy_process_group()


def sizes_of(given: argparse.Namespace) -> tuple[int, int]:
    """Return the rows of small batches and of large ones."""
    return given.rows // 10, given.rows


def free_share(seconds: float) -> float:
    """Count for a while; return the share of a core that others left."""
    begin, used = time.perf_counter(), time.process_time()
    while time.perf_counter() - begin < seconds:
        pass
    return (time.process_time() - used) / (time.perf_counter() - begin)


def measured(ranks: int, given: argparse.Namespace) -> Runs:
    """Return batches/s of all ranks, processor seconds of a batch, and cores left, by rows of a batch and round."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    found = processes.get_context("spawn").SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        write_shares(folder, ranks, given.row_bytes)
        processes.spawn(exchange, (ranks, given, folder, port, found), nprocs=ranks)
    told = [found.get() for _ in range(ranks * 2 * given.rounds)]
    runs: Runs = {}
    for rows in sizes_of(given):
        for number in range(given.rounds):
            walls, cpus, shares = zip(*(each[2:] for each in told if each[:2] == (rows, number)), strict=True)
            rate = ranks * given.batches / max(walls)
            runs.setdefault(rows, []).append((rate, sum(cpus) / ranks / given.batches, sum(shares)))
    return runs


Runs: TypeAlias = "dict[int, list[tuple[float, float, float]]]"


def calibrated(one: Runs, two: Runs, given: argparse.Namespace) -> Exchange:
    """Return the costs of a row and of a batch's calls, from one and two ranks and two sizes of batches."""
    small, large = sizes_of(given)

    def cpu(runs: Runs, rows: int) -> float:
        return statistics.median(each[1] for each in runs[rows])

    def of_a_row(runs: Runs) -> float:
        return max(0.0, cpu(runs, large) - cpu(runs, small)) / (large - small)

    # With two ranks, half of the rows cross, and each is sent and received.
    stays, mixed = of_a_row(one), of_a_row(two)
    call = max(0.0, cpu(two, small) - small * mixed)
    wire = max(0.0, mixed - stays)
    return Exchange(2, given.rows, given.row_bytes, gather_row=min(stays, mixed), wire_row=wire, call=call, ahead=1)


def main() -> None:
    """Run, simulate and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--rows", type=int, default=20_000, help="of a batch of one rank")
    parser.add_argument("--row-bytes", type=int, default=512)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=9, help="of each measurement; medians are printed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    runs = {ranks: measured(ranks, given) for ranks in dict.fromkeys([1, 2, *given.ranks])}
    costs = calibrated(runs[1], runs[2], given)
    rows = []
    for ranks in given.ranks:
        found = []
        for rate, cpu, cores in runs[ranks][given.rows]:
            expected = simulate(replace(costs, ranks=ranks, ranks_per_host=ranks, cores=cores))
            found.append((rate, expected["rate"], rate / expected["rate"], cpu, expected["cpu"], cores))
        names = ("measured", "simulated", "ratio", "cpu_of_a_batch", "simulated_cpu", "free_cores")
        medians = dict(zip(names, map(statistics.median, zip(*found, strict=True)), strict=True))
        rows.append({"ranks": ranks, **medians, "ratios": sorted(each[2] for each in found)})
    facts = {"gather_row": costs.gather_row, "wire_row": costs.wire_row, "call": costs.call}
    if given.json:
        print(json.dumps({"costs": facts, "runs": rows}, indent=2))
        return
    print(f"{given.rows:,} rows of {given.row_bytes} bytes a batch; costs, of one and two ranks:")
    print(", ".join(f"{name} {seconds * 1e6:.3f} µs" for name, seconds in facts.items()))
    print("ranks  measured/s  simulated/s  ratio (least to most)  CPU of a batch  simulated  cores left")
    for row in rows:
        spread = f"{row['ratio']:.2f} ({row['ratios'][0]:.2f} to {row['ratios'][-1]:.2f})"
        print(
            f"{row['ranks']:5}  {row['measured']:10.1f}  {row['simulated']:11.1f}  {spread:>21}  "
            f"{row['cpu_of_a_batch'] * 1e3:11.2f} ms  {row['simulated_cpu'] * 1e3:6.2f} ms  {row['free_cores']:10.2f}"
        )


if __name__ == "__main__":
    main()

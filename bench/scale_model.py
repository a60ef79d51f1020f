"""What several machines would take: conversion, bytes on the wire and batches per second, computed, not measured.

Every constant is an option whose help says where its value comes from: "measured" with the page or the conditions, or
"assumed". Nothing below was run on more than one machine; correct the constants with your own.

With --simulate, the exchange of rows at level 1 is also simulated batch by batch (bench/exchange_model.py), with the
processor costs that bench/exchange_runs.py measured with 2 to 4 processes on one machine.

python bench/scale_model.py [--machines 10 100 1000] [--edges 10e9 100e9] [--disk-rate 2.6e9] [--simulate] [--json]
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from exchange_model import Exchange, simulate

GB, TB = 1e9, 1e12
# Input read, records written and read for both indexes, both indexes with edge ids written, at 8 bytes an id.
CONVERSION_DISK_BYTES = 16 + 2 * 32 + 2 * 16
RECORD_BYTES = 32  # of both indexes: what a record's way to another machine costs
# fmt: off
CONSTANTS = {
    "convert-ns": (73, "CPU of an edge of Parquet, all steps in shards: measured, docs/design/sharded-conversion.md"),
    "cores": (16, "of a machine: assumed; those of docs/benchmarks/scaling.md"),
    "ram": (128 * GB, "bytes of a machine: assumed; that of docs/benchmarks/loaders.md"),
    "disk": (1.9 * TB, "bytes of a machine's local disks: assumed"),
    "disk-rate": (2.6 * GB, "bytes a second: measured, the slower machine of docs/benchmarks/loaders.md"),
    "network-rate": (3.1 * GB, "bytes a second into and out of a machine: assumed, 25 Gbit/s"),
    "model-rate": (38.4, "batches/s that a GPU trains: measured, docs/benchmarks/loaders.md"),
    "loader-rate": (173, "batches/s that 16 cores feed to a GPU: measured, docs/benchmarks/scaling.md"),
    "rows": (455_000, "of a batch, 1,024 seeds and fanouts 15, 10, 5: measured, docs/benchmarks/loaders.md"),
    "batch-edges": (475_000, "of such a batch: measured, docs/benchmarks/loaders.md"),
    "cold-edges": (0.4e6, "edges/s sampled if the topology is not in RAM: measured, docs/when-not-to-use-it.md"),
    "beside": (16 * GB, "bytes of RAM for torch, driver and batches: assumed from docs/benchmarks/loaders.md"),
    "exchange-rate": (1.9 * GB, "bytes/s of rows that a rank gets while it serves as many: measured with "
                      "2 ranks on two cores, rows of 512 and 4,096 bytes, bench/exchange_runs.py"),
    "gather-ns": (57, "CPU of a row of 512 bytes, gathered and put in its place: measured, the same"),
    "wire-ns": (113, "more CPU of such a row to send it, and again to receive it: measured, the same"),
    "call-ms": (0.13, "CPU of a batch's messages: measured with 2 ranks, the same"),
    "exchange-cores": (4, "of a machine that serve its exchange: assumed"),
    "gradients": (2.2e6, "bytes, GraphSAGE of three layers of 256: computed"),
}
# fmt: on
# Share of rows held in memory, and share of visits they serve: measured, docs/benchmarks/loaders.md, and its two ends.
HITS = [(0.0, 0.0), (8 / 28.4, 0.500), (12 / 28.4, 0.648), (16 / 28.4, 0.754), (1.0, 1.0)]


@dataclass(frozen=True)
class DataSet:
    """What is stored: one index without edge ids, and rows for some nodes."""

    name: str
    nodes: float
    edges: float
    nodes_with_rows: float
    row_bytes: int

    @property
    def topology(self) -> float:
        """Bytes of the graph: ids of 4 bytes while they fit, offsets of 8."""
        return self.edges * (4 if self.nodes < 2**31 else 8) + 8 * self.nodes

    @property
    def features(self) -> float:
        """Bytes of all rows."""
        return self.nodes_with_rows * self.row_bytes


DATA_SETS = [
    DataSet("MAG240M, papers' rows, float16", 244_160_499, 1_728_364_232, 121_751_666, 768 * 2),
    DataSet("IGB-full (260M), float32", 269_346_174, 3_995_777_033, 269_346_174, 1024 * 4),
    DataSet("100 B edges, 5 B nodes, 128 float16", 5e9, 100e9, 5e9, 128 * 2),
]


def conversion(edges: float, machines: int, given: argparse.Namespace) -> dict[str, float]:
    """Return what converting in ranges takes; its time is that of the slowest of processors, disks and network."""
    parts = {
        "processors": edges * given.convert_ns * 1e-9 / (machines * given.cores),
        "disks": edges * CONVERSION_DISK_BYTES / (machines * given.disk_rate),
        "network": edges * RECORD_BYTES * (machines - 1) / machines / (machines * given.network_rate),
    }
    wire = edges * RECORD_BYTES * (machines - 1) / machines**2
    return {"edges": edges, "machines": machines, **parts, "seconds": max(parts.values()), "wire_bytes": wire}


def level_of(data: DataSet, machines: int, given: argparse.Namespace) -> int | None:
    """Return the lowest level at which everything has a place on the machines' disks; ``None``: at none."""
    if data.topology + data.features <= given.disk:
        return 0
    if data.topology + data.features / machines <= given.disk:
        return 1
    return 2 if (data.topology + data.features) / machines <= given.disk else None


def hits_of(share: float) -> float:
    """Return the share of visits that a share of all rows serves, the hottest ones, between measured points."""
    share = min(1.0, max(0.0, share))
    (low, least), (high, most) = next(pair for pair in pairwise(HITS) if share <= pair[1][0])
    return least + (most - least) * (share - low) / (high - low)


def training(data: DataSet, machines: int, given: argparse.Namespace) -> dict[str, float]:
    """Return the batches/s of all machines, with copies of everything (level 0) and with ranges of rows (level 1)."""
    steps = min(given.model_rate, given.loader_rate * given.cores / 16)
    if data.topology > given.ram:
        steps = min(steps, given.cold_edges / given.batch_edges)
    room = given.ram - given.beside - data.topology
    of_gradients = 2 * given.gradients * (machines - 1) / machines / given.network_rate

    def together(*rates: float) -> float:
        return machines / (1 / min(steps, *rates) + of_gradients)

    hits = hits_of(room / data.features)
    missed = given.rows * (1 - hits)
    from_disk = given.disk_rate / max(1.0, missed * data.row_bytes)
    found = {"machines": machines, "hits": hits, "level_0": together(from_disk)}
    own = data.features / machines
    if own <= room:  # the machines' RAM holds all rows: what a range leaves is for the hottest of the others
        missed, from_disk = given.rows * (1 - hits_of((room - own) / data.features)), float("inf")
    elsewhere = missed * (machines - 1) / machines
    by_network = given.network_rate / max(1.0, elsewhere * data.row_bytes)
    by_exchange = given.exchange_rate / max(1.0, elsewhere * data.row_bytes)
    return found | {
        "level_1": together(from_disk, by_network, by_exchange),
        "level_1_network_alone": together(from_disk, by_network),
        "level_1_wire_bytes": elsewhere * data.row_bytes,
    }


def simulated(data: DataSet, machines: int, given: argparse.Namespace) -> dict[str, float]:
    """Return the batches/s of all machines at level 1, one rank each, of the simulated exchange."""
    room = given.ram - given.beside - data.topology
    own = data.features / machines
    in_ram = own <= room
    hot = hits_of((room - own) / data.features) if in_ram else hits_of(room / data.features)
    steps = min(given.model_rate, given.loader_rate * given.cores / 16)
    if data.topology > given.ram:
        steps = min(steps, given.cold_edges / given.batch_edges)
    width = data.row_bytes / 512  # costs are those of rows of 512 bytes
    found = simulate(
        Exchange(
            machines,
            int(given.rows),
            data.row_bytes,
            local=hot,
            gather_row=given.gather_ns * 1e-9 * width,
            wire_row=given.wire_ns * 1e-9 * width,
            call=given.call_ms * 1e-3,
            train=1 / steps + 2 * given.gradients * (machines - 1) / machines / given.network_rate,
            cores=given.exchange_cores,
            threads=int(given.exchange_cores),
            link=given.network_rate,
            disk=float("inf") if in_ram else given.disk_rate / (1 - hot) if hot < 1 else float("inf"),
        ),
        batches=24,
    )
    return {"machines": machines, "rate": found["rate"], "sent": found["sent"]}


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return rows under their heads, as columns."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [heads, *rows]]
    return "\n".join(lines)


def size(count: float) -> str:
    """Return bytes in words."""
    unit, name = next((each for each in ((TB, "TB"), (GB, "GB")) if count >= each[0]), (1e6, "MB"))
    return f"{count / unit:,.1f} {name}"


def show(found: dict[str, list[dict[str, Any]]], given: argparse.Namespace) -> None:
    """Print all tables."""
    print("computed, not measured; the constants:")
    for name, (_, source) in CONSTANTS.items():
        print(f"  {name} {getattr(given, name.replace('-', '_')):,}: {source}")
    print("\nconversion, by its slowest part")
    heads = ["edges", "machines", "processors", "disks", "network", "takes", "wire, a machine"]
    rows = [
        [f"{row['edges'] / 1e9:,.0f} B", f"{row['machines']:,}"]
        + [f"{row[part]:,.1f} s" for part in ("processors", "disks", "network", "seconds")]
        + [size(row["wire_bytes"])]
        for row in found["conversion"]
    ]
    print(table(heads, rows))
    for part in found["data_sets"]:
        fits = "fits" if part["topology"] <= given.ram else "does not fit"
        hits = part["training"][0]["hits"]
        stored = f"topology {size(part['topology'])}, which {fits} in RAM; rows {size(part['features'])}"
        print(f"\n{part['name']}: {stored}, of which RAM serves {hits:.0%} of visits; batches/s of all machines:")
        heads = ["machines", "level", "level 0", "level 1", "level 1, network alone", "wire a batch"]
        rows = [
            [f"{row['machines']:,}", "none" if row["level"] is None else str(row["level"])]
            + [f"{row[name]:,.1f}/s" for name in ("level_0", "level_1", "level_1_network_alone")]
            + [size(row["level_1_wire_bytes"])]
            for row in part["training"]
        ]
        print(table(heads, rows))
        if part["simulated"]:
            print("level 1, simulated exchange:")
            told = [[f"{r['machines']:,}", f"{r['rate']:,.1f}/s", size(r["sent"])] for r in part["simulated"]]
            print(table(["machines", "batches", "a rank sends for a batch"], told))


def main() -> None:
    """Compute and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--edges", type=float, nargs="+", default=[10e9, 30e9, 100e9], help="to convert")
    parser.add_argument("--simulate", action="store_true", help="also simulate the exchange, of up to 128 machines")
    parser.add_argument("--json", action="store_true", help="print JSON")
    for name, (value, source) in CONSTANTS.items():
        parser.add_argument(f"--{name}", type=float, default=value, help=f"{source} (default: {value:,})")
    given = parser.parse_args()
    if min(given.machines) < 1:
        parser.error(f"--machines: expected at least 1, found {min(given.machines)}")
    found: dict[str, list[dict[str, Any]]] = {
        "conversion": [conversion(edges, count, given) for edges in given.edges for count in given.machines],
        "data_sets": [
            {
                "name": data.name,
                "topology": data.topology,
                "features": data.features,
                "training": [
                    {"level": level_of(data, count, given), **training(data, count, given)} for count in given.machines
                ],
                "simulated": [
                    simulated(data, count, given) for count in given.machines if given.simulate and count <= 128
                ],
            }
            for data in DATA_SETS
        ],
    }
    if given.json:
        print(json.dumps(found, indent=2))
    else:
        show(found, given)


if __name__ == "__main__":
    main()

"""Training on a GPU from disk: how near budgets of memory come to everything in RAM.

    python bench_gpu.py FOLDER [--preset papers100m] [--batches 300] [--device cuda]

FOLDER holds the synthetic data set of that preset, rows hottest first, or gets it: papers100m has 111 M nodes, 1.6 B
edges and 128 float16 features, 37 GB on disk. Trains GraphSAGE (three layers of 256) on batches of 1,024 with fanouts
15, 10, 5. Each figure is of a process of its own. The graph is in the page cache for all of them; "in RAM" has the
features there too, the others read them past it (O_DIRECT) in a memory control group of 14 GB more than the budget, for
the graph, torch and the driver. "And the GPU" leaves gpu_cache at its default, the others keep no rows on the GPU.
Rates are of the batches behind the first thirty; rows are compared with the file's. --only picks rows by their names.
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

from common import answer, report

import graphzero as gz
from cgroups import limited_to

FANOUTS, BATCH_SIZE, HIDDEN = [15, 10, 5], 1024, 256
WARM_UP = 30
BESIDE = 14 << 30  # of the control group: graph, torch, driver
# Options, and the goal: batches/s of in RAM. "gpu_cache" left out is its default.
CONFIGURATIONS = {
    "in RAM": ({"reader": "mmap", "gpu_cache": None}, None),
    "16 GB": ({"reader": "direct", "memory": "16GB", "gpu_cache": None}, 0.9),
    "12 GB": ({"reader": "direct", "memory": "12GB", "gpu_cache": None}, 0.65),
    "8 GB": ({"reader": "direct", "memory": "8GB", "gpu_cache": None}, 0.33),
    "16 GB, and the GPU": ({"reader": "direct", "memory": "16GB"}, 0.98),
    "8 GB, and the GPU": ({"reader": "direct", "memory": "8GB"}, 0.98),
}


class GpuUse:
    """How busy the GPU says it is, asked ten times a second."""

    def __init__(self):
        command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "100"]
        self._asking = None
        with contextlib.suppress(FileNotFoundError):
            self._asking = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def percent(self):
        """The mean since the beginning. Asks no more."""
        if self._asking is None:
            return None
        self._asking.terminate()
        found = [int(line) for line in self._asking.communicate()[0].split() if line.isdigit()]
        return sum(found) / len(found) if found else None


def assert_rows(batch, dataset):
    """Rows of a batch are those of the file."""
    import torch

    ids = batch.n_id[:: max(1, len(batch.n_id) // 1000)].cpu()
    expected = torch.from_numpy(dataset.features("x").gather(ids, reader="mmap", dtype="float32"))
    found = batch.x[:: max(1, len(batch.n_id) // 1000)].cpu()
    assert torch.equal(found, expected), "rows are not those of the file"


def train(folder, options, num_batches, device, *, model_runs):
    import torch
    from torch_geometric.nn import GraphSAGE

    from graphzero.loaders import NeighborLoader

    dataset = gz.open(folder)
    dataset.graph.preload()
    torch.manual_seed(0)
    shape = dataset.features("x").shape[1], HIDDEN, len(FANOUTS), dataset.nodes["node"].num_classes
    model = GraphSAGE(*shape).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = NeighborLoader(
        dataset,
        FANOUTS,
        "train",
        batch_size=BATCH_SIZE,
        shuffle=True,
        drop_last=True,
        labels="seeds",
        seed=1,
        device=device,
        **options,
    )
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    right = nodes = edges = number = 0
    first = time.perf_counter()
    use = begin = waited = None
    while number < num_batches:
        for batch in loader:
            if number == WARM_UP:
                assert_rows(batch, dataset)
                wait()
                use, waited, begin = GpuUse(), loader.stats()["seconds_waited"], time.perf_counter()
                prepared = begin - first
            if model_runs:
                optimizer.zero_grad()
                out = model(batch.x, batch.edge_index)[: batch.batch_size]
                torch.nn.functional.cross_entropy(out, batch.y[: batch.batch_size]).backward()
                optimizer.step()
                if number >= num_batches - 50:
                    right = right + (out.argmax(1) == batch.y[: batch.batch_size]).sum()
            nodes, edges = nodes + len(batch.n_id), edges + batch.edge_index.shape[1]
            number += 1
            if number == num_batches:
                wait()
                seconds, anonymous = time.perf_counter() - begin, gz.memory_report().anonymous
                break
    stats = loader.stats()
    assert_rows(batch, dataset)
    percent = use.percent()
    return {
        "batches_per_second": (num_batches - WARM_UP) / seconds,
        "gpu_percent": percent,
        "waited": (stats["seconds_waited"] - waited) / seconds,
        "prepared": prepared,
        "accuracy": float(right) / (50 * BATCH_SIZE) if model_runs else None,
        "nodes": nodes // num_batches,
        "edges": edges // num_batches,
        "hit_rate": stats["hit_rate"],
        "reads": stats["device_reads"] / max(stats["batches"], 1),
        "read_megabytes": stats["device_bytes"] / max(stats["batches"], 1) / 1e6,
        "gpu_cache": stats["gpu_cache_bytes"],
        "pinned": stats["pinned_bytes"],
        "anonymous": anonymous,
        "ahead": stats["most_ahead"],
        "expected_megabytes": stats["plan"]["read_bytes"] / 1e6,
        "plan": stats["plan"]["reason"],
        "limit": stats["roofline"]["limit"],
        "why": stats["gpu_cache"],
        "dropped": stats["dropped_rows"] + stats["late_rows"],
    }


def shown(name, found, base, goal):
    row = {
        "features": name,
        "batches/s": f"{found['batches_per_second']:.1f}",
        "of in RAM": f"{found['batches_per_second'] / base:.2f}",
        "goal": "" if goal is None else f">= {goal}",
        "waited for batches": f"{found['waited']:.0%}",
        "hits": f"{found['hit_rate']:.1%}",
        "ahead": found["ahead"],
        "reads a batch": f"{found['reads']:,.0f}",
        "MB read": f"{found['read_megabytes']:.1f}",
        "expected": f"{found['expected_megabytes']:.1f}",
        "limit": found["limit"],
        "on the GPU": f"{found['gpu_cache'] / 1e9:.1f} GB",
        "pinned": f"{found['pinned'] / 1e9:.2f} GB",
        "anonymous": f"{found['anonymous'] / 1e9:.1f} GB",
        "until batch 30": f"{found['prepared']:.0f} s",
    }
    if found["gpu_percent"] is not None:
        row["GPU busy"] = f"{found['gpu_percent']:.0f} %"
    if found["accuracy"] is not None:
        row["accuracy"] = f"{found['accuracy']:.2f}"
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--preset", default="papers100m")
    parser.add_argument("--batches", type=int, default=300)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", nargs="*", default=list(CONFIGURATIONS))
    parser.add_argument("--with-model-only", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # a configuration: this is a process of the benchmark's
    given = parser.parse_args()
    if given.one:
        options = json.loads(given.one)
        model_runs = options.pop("model_runs")
        print(json.dumps(train(given.folder, options, given.batches, given.device, model_runs=model_runs)))
        return
    begin = time.perf_counter()
    if not os.path.exists(given.folder):
        gz.synthesize(given.folder, preset=given.preset, order="hot", memory="32GB", progress=True)
        print(f"made in {time.perf_counter() - begin:.0f} s", flush=True)
    with gz.open(given.folder) as dataset:
        files = {path.name: path.stat().st_size for path in pathlib.Path(given.folder).rglob("*.g?")}
        conditions = {
            "nodes": f"{dataset.num_nodes:,}",
            "edges": f"{dataset.num_edges:,}",
            "files": {name: f"{size / 1e9:.1f} GB" for name, size in files.items()},
            "batch": BATCH_SIZE,
            "fanouts": FANOUTS,
            "batches": given.batches,
        }
    for model_runs in (True,) if given.with_model_only else (True, False):
        rows, base = [], None
        for name, (options, goal) in CONFIGURATIONS.items():
            on_gpu = "gpu_cache" not in options
            if name not in given.only or (on_gpu and not (model_runs and given.device == "cuda")):
                continue
            one = json.dumps({**options, "model_runs": model_runs})
            command = [sys.executable, __file__, *sys.argv[1:], "--one", one]
            if "memory" in options:
                command = limited_to(int(options["memory"].removesuffix("GB")) * 10**9 + BESIDE, command)
            found = answer(command)
            base = base or found["batches_per_second"]
            rows.append(shown(name, found, base, goal if model_runs else None))
            print(rows[-1], f"plan: {found['plan']}; GPU: {found['why']}", flush=True)
        conditions |= {"nodes a batch": found["nodes"], "edges a batch": found["edges"]}
        report("GraphSAGE 3x256 on a GPU" if model_runs else "batches to the device, no model", conditions, rows)


if __name__ == "__main__":
    main()

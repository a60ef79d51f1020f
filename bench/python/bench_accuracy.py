"""Accuracy out of core: the same model trained through graphzero from disk and through PyG in memory ends the same.

    python bench_accuracy.py [--nodes 100000] [--seeds 5] [--epochs 4] [--quick]

The data are blocks of examples/data.py, which features alone tell badly and neighbourhoods well. Our loader may hold
about a third of the features' size, and reads from the device, past the page cache. RIVALS_PYTHON names a Python
that has PyG and torch-sparse; without it PyG runs in this one, on a sampler of NumPy. Both train with the same split,
sizes and seeds; a seed gives the same first weights on both sides, and other samples. Two equal sides differ by more
than two standard errors about once in twelve runs of five seeds. --quick only shows that everything works.
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile

import numpy as np
from common import report, run_rival
from sage_training import BATCH, FANOUTS, HIDDEN, LEARNING_RATE, accuracy_of

import graphzero as gz

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples"))
from baseline import mlp_accuracy

from data import write_blocks

COLUMNS = 256
NUM_CLASSES = 8
MEMORY = 36 * 10**6


def save_for_rival(dataset, folder):
    index = dataset.graph.index("in")
    arrays = {
        "colptr": index.indptr,
        "row": index.indices,
        "x": dataset.features("x").get_tensor(access="sequential"),
        "y": dataset.labels().get_tensor(),
        "train": dataset.split("train"),
        "test": dataset.split("test"),
    }
    for name, array in arrays.items():
        np.save(os.path.join(folder, f"{name}.npy"), array if name == "x" else array.astype(np.int64))


def train_out_of_core(dataset, seeds, epochs):
    """Return the accuracies, and what was read from the device by the training of each seed."""
    import torch

    from graphzero.loaders import NeighborLoader

    torch.set_num_threads(gz.num_threads())
    read = []

    def loader(split, seed):
        made = NeighborLoader(
            dataset,
            FANOUTS,
            input_nodes=split,
            batch_size=BATCH,
            shuffle=split == "train",
            seed=seed,
            memory=MEMORY,
            reader="direct",
        )
        if split == "train":
            read.append(made)
        return made

    found, readings = [], []
    for seed in range(seeds):
        found.append(accuracy_of(loader, COLUMNS, NUM_CLASSES, epochs, seed))
        stats = read.pop().stats()
        if stats["sources"]["x"]["reader"] != "direct" or not stats["device_bytes"]:
            sys.exit(f"expected features to be read from the device, found {stats['sources']['x']}")
        held = sum(size for purpose, size in stats["memory"].items() if purpose != "budget")
        if held > MEMORY:
            sys.exit(f"expected the loader to hold at most {MEMORY} bytes, found {held}")
        readings.append(stats["device_bytes"])
    return found, readings


def mean_and_error(values):
    return statistics.fmean(values), statistics.stdev(values) / len(values) ** 0.5


def row_of(what, values):
    mean, error = mean_and_error(values)
    spread = f"{min(values):.4f} to {max(values):.4f}"
    return {"what": what, "mean": f"{mean:.4f}", "standard error": f"{error:.4f}", "seeds": spread}


def main(folder, nodes, seeds, epochs):
    write_blocks(os.path.join(folder, "blocks"), nodes, columns=COLUMNS, num_classes=NUM_CLASSES)
    dataset = gz.open(os.path.join(folder, "blocks"))
    save_for_rival(dataset, folder)
    ours, readings = train_out_of_core(dataset, seeds, epochs)
    os.environ.setdefault("RIVALS_PYTHON", sys.executable)
    given = {"folder": os.path.abspath(folder), "seeds": seeds, "epochs": epochs}
    found = run_rival("RIVALS_PYTHON", "rival_training", given, threads=gz.num_threads())
    rows = [
        {"what": "features alone, a perceptron", "mean": f"{mlp_accuracy(dataset):.4f}"},
        row_of("graphzero, out of core", ours),
    ]
    if isinstance(found, str):
        rows.append({"what": "PyG, in memory", "note": found})
    else:
        theirs = found["accuracies"]
        rows.append(row_of(f"PyG, in memory: {found['sampler']}", theirs))
        (our_mean, our_error), (their_mean, their_error) = mean_and_error(ours), mean_and_error(theirs)
        difference, error = our_mean - their_mean, (our_error**2 + their_error**2) ** 0.5
        rows.append(
            {
                "what": "difference of means",
                "mean": f"{difference:+.4f}",
                "standard error": f"{error:.4f}",
                "note": f"|difference| < 2 standard errors: {'yes' if abs(difference) < 2 * error else 'NO'}",
            }
        )
    size = dataset.features("x").nbytes
    conditions = {
        "nodes": nodes,
        "edges": dataset.num_edges,
        "features": f"{COLUMNS}, {size / 1e6:.0f} MB",
        "memory of our loader": f"{MEMORY / 1e6:.0f} MB",
        "reader": "direct",
        "read for each seed": f"{statistics.fmean(readings) / 1e6:.0f} MB",
        "model": f"GraphSAGE 2 x {HIDDEN}, dropout 0.3, Adam {LEARNING_RATE}",
        "fanouts": FANOUTS,
        "batch": BATCH,
        "epochs": epochs,
        "seeds": seeds,
        "train / test nodes": f"{len(dataset.split('train'))} / {len(dataset.split('test'))}",
        "threads": gz.num_threads(),
    }
    report("accuracy, test split", conditions, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.quick:
        given.nodes, given.seeds, given.epochs = 20_000, 2, 1
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        main(os.path.abspath(scratch), given.nodes, given.seeds, given.epochs)

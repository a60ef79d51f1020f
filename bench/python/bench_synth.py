"""How fast synthetic data is drawn: edges alone, edges to a .gl, features to a .gd.

    python bench/python/bench_synth.py [--quick] [--nodes N] [--edges N]

Figures are for what a run of this size reaches; of a larger one the disk may be the limit.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

import numpy as np
from common import report

import graphzero as gz
from graphzero import _core
from graphzero.convert.edge_sources.synthetic import SyntheticSource

CLASSES = 172
BLOCK = 1 << 20


def laws(nodes, edges):
    side = _core.SynthNodes(nodes, 0)
    return {
        "blocks": _core.SyntheticEdges.blocks(0, 0, side, side, edges, _core.BlockOptions(CLASSES, 3, 0.6)),
        "rmat": _core.SyntheticEdges.rmat(0, nodes, edges),
        "ba": _core.SyntheticEdges.attachment(0, nodes, edges),
    }


def seconds_of(body):
    begin = time.perf_counter()
    result = body()
    return time.perf_counter() - begin, result


def draw(law):
    """Draws every edge and keeps none; the largest id shows that they were there."""
    return max(
        int(np.maximum(*law.edges(first, min(BLOCK, law.num_edges - first))).max())
        for first in range(0, law.num_edges, BLOCK)
    )


def main(nodes, edges, folder):
    rows = []
    for name, law in laws(nodes, edges).items():
        seconds, largest = seconds_of(lambda law=law: draw(law))
        assert largest < nodes
        source = SyntheticSource(law, (nodes, nodes), bipartite=False)
        target = os.path.join(folder, "graph.gl")
        options = {"index": "in", "edge_ids": False}
        to_file, written = seconds_of(
            lambda source=source, target=target, options=options: gz.convert_edges(source, target, **options)
        )
        assert written.num_edges == edges
        rows.append({
            "what": name,
            "M edges/s drawn": f"{edges / seconds / 1e6:.1f}",
            "M edges/s to a .gl": f"{edges / to_file / 1e6:.1f}",
        })  # fmt: skip
        os.remove(target)
    path = os.path.join(folder, "made")
    seconds, made = seconds_of(lambda: gz.synthesize(path, nodes, 1, features=128, classes=CLASSES))
    size = made.features("x").nbytes
    assert made.features("x").shape == (nodes, 128)
    rows.append({"what": "features, labels and splits", "GB/s of features": f"{size / seconds / 1e9:.2f}"})
    report("synth", {"nodes": nodes, "edges": edges, "threads": gz.num_threads()}, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=4_000_000)
    parser.add_argument("--edges", type=int, default=64_000_000)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        main(*((100_000, 2_000_000) if given.quick else (given.nodes, given.edges)), scratch)

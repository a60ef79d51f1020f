"""Hashes of files, samples, walks and batches, which are the same on every system: ``python tests/platform_hashes.py``.

tests/data/platform_hashes.json has the expected ones. ``--write`` writes it, after a change of a format or of a draw.
"""

import argparse
import dataclasses
import hashlib
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

import graphzero as gz

EXPECTED = Path(__file__).parent / "data" / "platform_hashes.json"
NUM_NODES, NUM_EDGES = 1000, 8000


def digest(*things):
    """Of bytes, arrays, and what is made of them; types count."""
    found = hashlib.sha256()

    def add(thing):
        if isinstance(thing, bytes):
            found.update(thing)
        elif isinstance(thing, np.ndarray):
            found.update(f"{thing.dtype.str}{thing.shape}".encode())
            found.update(np.ascontiguousarray(thing).tobytes())
        elif isinstance(thing, dict):
            for key, value in thing.items():
                add(str(key).encode())
                add(value)
        elif isinstance(thing, (list, tuple)):
            for value in thing:
                add(value)
        elif dataclasses.is_dataclass(thing):
            for field in dataclasses.fields(thing):
                if field.compare:
                    add(field.name.encode())
                    add(getattr(thing, field.name))
        else:
            add(repr(thing).encode())

    for thing in things:
        add(thing)
    return found.hexdigest()[:32]


def numbers(count, below, salt):
    """Integers that look random, of arithmetic alone: no generator of another library."""
    x = (np.arange(count, dtype=np.uint64) + np.uint64(salt << 32)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return ((x ^ (x >> np.uint64(31))) % np.uint64(below)).astype(np.int64)


def write_files(folder):
    """The inputs, as text and arrays, and the files that converters make of them; return their hashes."""
    src, dst = numbers(NUM_EDGES, NUM_NODES, 1) // (1 + numbers(NUM_EDGES, 9, 2)), numbers(NUM_EDGES, NUM_NODES, 3)
    weight, time = 1 + numbers(NUM_EDGES, 1000, 4), numbers(NUM_EDGES, 100, 5)
    lines = [f"{s},{d},{w / 8},{t}" for s, d, w, t in zip(src, dst, weight, time, strict=True)]
    text = "src,dst,weight,time\n" + "\n".join(lines) + "\n"
    (folder / "edges.csv").write_bytes(text.encode())
    labels = "\n".join(f"n{s}\tn{d}" for s, d in zip(src[:2000], dst[:2000], strict=True)) + "\n"
    (folder / "labels.tsv").write_bytes(labels.encode())
    x = (numbers(NUM_NODES * 16, 4001, 6).reshape(NUM_NODES, 16) - 2000).astype(np.float32) / 64
    rows = "\n".join(",".join(f"{value:.3f}" for value in row) for row in x[:200]) + "\n"
    (folder / "rows.csv").write_bytes(rows.encode())

    gz.convert_edges(folder / "edges.csv", folder / "g.gl", weight="weight", num_nodes=NUM_NODES)
    gz.convert_edges(folder / "edges.csv", folder / "timed.gl", time="time", num_nodes=NUM_NODES)
    gz.convert_edges(folder / "edges.csv", folder / "spilled.gl", num_nodes=NUM_NODES, memory="33MB")
    gz.convert_features(folder / "rows.csv", folder / "rows.gd", dtype="float32")
    gz.write_features(folder / "x.gd", x)
    gz.write_features(folder / "half.gd", x, dtype="bfloat16")
    gz.write_ids(folder / "n.gi", [f"name {i}" for i in range(500)])
    gz.reorder(folder / "x.gd", folder / "hot.gd", gz.Graph(folder / "g.gl"))
    names = ["g.gl", "timed.gl", "spilled.gl", "rows.gd", "x.gd", "half.gd", "n.gi", "hot.gd"]
    return {name: digest((folder / name).read_bytes()) for name in names}


def hashes(folder):
    """All of them, by name."""
    folder = Path(folder)
    result = write_files(folder)
    graph, timed, x = gz.Graph(folder / "g.gl"), gz.Graph(folder / "timed.gl"), gz.FeatureStore(folder / "x.gd")
    seeds = numbers(300, NUM_NODES, 7)
    samples = {
        "uniform": {"fanouts": [5, 3]},
        "whole": {"fanouts": [-1]},
        "replaced": {"fanouts": [4, 4], "replace": True},
        "weighted": {"fanouts": [4, 4], "weighted": True},
        "disjoint": {"fanouts": [3, 2], "disjoint": True},
        "labor": {"fanouts": [5, 3], "method": "labor"},
        "out": {"fanouts": [5, 3], "direction": "out"},
    }
    for name, options in samples.items():
        result[f"sample {name}"] = digest(gz.sample_neighbors(graph, np.unique(seeds), seed=11, **options))
    result["sample by time"] = digest(
        gz.sample_neighbors(timed, seeds, [4, 4], seed_time=numbers(300, 100, 8), disjoint=True, seed=12)
    )
    walks = {
        "uniform": {},
        "weighted": {"weighted": True},
        "node2vec": {"p": 0.5, "q": 2.0},
        "restart": {"restart": 0.2},
    }
    for name, options in walks.items():
        result[f"walk {name}"] = digest(gz.random_walk(graph, seeds, 20, seed=13, **options))
    for by in ("uniform", "degree"):
        result[f"negatives {by}"] = digest(gz.sample_negatives(graph, seeds, 5, by=by, exclude_edges=True, seed=14))
        result[f"pairs {by}"] = digest(gz.sample_negative_pairs(graph, 500, by=by, seed=15))
    result["gather"] = digest(x.gather(seeds))
    for reader in ("mmap", "direct", "pread"):
        with gz.Pipeline(
            graph, None, [4, 3], features={"x": x}, batch_size=150, shuffle=True, seed=16, reader=reader, weighted=True
        ) as pipeline:
            found = digest(list(pipeline))
        assert result.setdefault("batches", found) == found, f"reader {reader}"
    result["synthetic"] = _synthetic(folder)
    return result


def _synthetic(folder):
    gz.synthesize(folder / "synthetic", 500, 4000, features=8, seed=17)
    return digest({path.name: path.read_bytes() for path in sorted((folder / "synthetic").rglob("*.g?"))})


def main():
    """Print what differs, or write all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        found = hashes(folder)
    if arguments.write:
        EXPECTED.write_bytes(json.dumps(found, indent=1).encode() + b"\n")
    expected = json.loads(EXPECTED.read_bytes())
    for name in sorted({*found, *expected}):
        same = found.get(name) == expected.get(name)
        print(f"{found.get(name)} {name}{'' if same else f': expected {expected.get(name)}'}")
    print(f"{sys.platform}: {'equal' if found == expected else 'DIFFERENT'}")
    return 0 if found == expected else 1


if __name__ == "__main__":
    sys.exit(main())

"""Hashes of what must have the same bits on every machine: files, samples, walks, negatives and batches.

Needs NumPy and graphzero only. `python tests/platform_hashes.py` prints the hashes as JSON;
`python tests/platform_hashes.py --compare` compares them with tests/data/platform_hashes.json, and names what differs.
"""

import hashlib
import json
import pathlib
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

import graphzero as gz

GOLDEN = pathlib.Path(__file__).parent / "data/platform_hashes.json"
NODES, EDGES, WIDTH = 3000, 40_000, 12


def mixed(count: int, salt: int) -> np.ndarray:
    """Return numbers of 64 bits that look random, by integer arithmetic alone."""
    x = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def edges() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return sources, destinations, weights and times; a few nodes have most edges."""
    a, b = mixed(EDGES, 1) % NODES, mixed(EDGES, 2) % NODES
    src, dst = (a * b // NODES).astype(np.int64), b.astype(np.int64)
    weight = (mixed(EDGES, 3) % 1000 + 1).astype(np.float32) / np.float32(64)
    return src, dst, weight, (mixed(EDGES, 4) % 100_000).astype(np.int64)


def digest(value: Any) -> str:
    """Hash arrays, numbers, lists and dicts, with their types and shapes."""
    state = hashlib.sha256()

    def add(part: Any) -> None:
        if isinstance(part, np.ndarray):
            state.update(f"{part.dtype.str}{part.shape}".encode())
            state.update(np.ascontiguousarray(part).tobytes())
        elif isinstance(part, dict):
            for name in sorted(part):
                state.update(str(name).encode())
                add(part[name])
        elif isinstance(part, list | tuple):
            state.update(f"[{len(part)}".encode())
            for item in part:
                add(item)
        else:
            state.update(repr(part).encode())

    add(value)
    return state.hexdigest()


def file_digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def parts(sample: Any) -> list[Any]:
    return [sample.node, sample.row, sample.col, sample.edge, sample.batch, sample.num_sampled_nodes]


def files(folder: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Write every kind of file, and yield the hash of its bytes."""
    src, dst, weight, time = edges()
    lines = (f"{s},{d},{w!r},{t}" for s, d, w, t in zip(src, dst, weight.tolist(), time, strict=True))
    folder.joinpath("edges.csv").write_bytes(("src,dst,weight,time\n" + "\n".join(lines) + "\n").encode())
    gz.convert_edges(folder / "edges.csv", folder / "text.gl", weight="weight", time="time", num_nodes=NODES)
    gz.write_graph(folder / "g.gl", src, dst, num_nodes=NODES, weight=weight, time=time)
    gz.write_graph(folder / "both_ways.gl", src, dst, num_nodes=NODES, directed=False)
    labelled = [f"{a},{b}" for a, b in zip(mixed(5000, 5) % 10**12, mixed(5000, 6) % 10**12, strict=True)]
    folder.joinpath("labelled.csv").write_bytes(("a,b\n" + "\n".join(labelled) + "\n").encode())
    gz.convert_edges(folder / "labelled.csv", folder / "labelled.gl", ids="map", ids_path=folder / "labelled.gi")
    rows = (mixed(NODES * WIDTH, 7) % 20_001).astype(np.float32).reshape(NODES, WIDTH) / np.float32(7) - np.float32(99)
    for name, dtype in (
        ("float32", "float32"),
        ("float16", "float16"),
        ("bfloat16", "bfloat16"),
        ("int8", "int8-quantised"),
    ):
        gz.convert_features(rows, folder / f"{name}.gd", dtype=dtype)
    gz.write_features(folder / "hot.gd", rows, order="hot", graph=gz.Graph(folder / "g.gl"))
    table = "\n".join(",".join(map(repr, row)) for row in rows[:500].tolist())
    folder.joinpath("rows.csv").write_bytes((table + "\n").encode())
    gz.convert_features(folder / "rows.csv", folder / "text.gd", dtype="float32", header=False)
    gz.synthesize(folder / "synthetic", preset="tiny", seed=3)
    found = [*folder.glob("*.g?"), *folder.glob("synthetic/**/*.g?")]
    for path in sorted(found):
        yield f"file {path.relative_to(folder).as_posix()}", file_digest(path)


def draws(folder: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Draw from the graph in every way, and yield the hash of what was drawn."""
    graph = gz.Graph(folder / "g.gl")
    seeds = (mixed(300, 8) % NODES).astype(np.int64)
    seed_time = (mixed(300, 9) % 100_000).astype(np.int64)
    ways: dict[str, dict[str, Any]] = {
        "uniform": {},
        "out": {"direction": "out"},
        "replace": {"replace": True},
        "weighted": {"weighted": True},
        "weighted replace": {"weighted": True, "replace": True},
        "temporal": {"seed_time": seed_time, "disjoint": True},
        "temporal last": {"seed_time": seed_time, "disjoint": True, "temporal_strategy": "last"},
        "labor": {"method": "labor"},
        "induced": {"subgraph_type": "induced"},
    }
    for name, options in ways.items():
        yield f"sample {name}", digest(parts(gz.sample_neighbors(graph, seeds, [7, 4], seed=11, **options)))
    walks: dict[str, dict[str, Any]] = {
        "uniform": {},
        "weighted": {"weighted": True},
        "node2vec": {"p": 0.25, "q": 4.0},
        "node2vec weighted": {"p": 2.0, "q": 0.5, "weighted": True},
        "restart": {"restart": 0.15},
        "in": {"direction": "in"},
    }
    for name, options in walks.items():
        yield f"walk {name}", digest(gz.random_walk(graph, seeds, 20, seed=12, **options))
    for law in ("uniform", "degree"):
        drawn = gz.sample_negatives(graph, seeds, 5, by=law, exclude_edges=True, seed=13)
        yield f"negatives {law}", digest(drawn)


def batches(folder: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Run whole epochs, and yield the hash of all batches."""
    graph = gz.Graph(folder / "g.gl")
    seeds = np.arange(0, NODES, 2)
    src, dst, _, _ = edges()
    ways: dict[str, dict[str, Any]] = {
        "uniform float32": {"features": gz.FeatureStore(folder / "float32.gd")},
        "weighted float16": {"features": gz.FeatureStore(folder / "float16.gd"), "weighted": True},
        "int8 as float32": {"features": gz.FeatureStore(folder / "int8.gd"), "dtype": "float32"},
        "hot rows": {"features": gz.FeatureStore(folder / "hot.gd")},
    }
    for name, options in ways.items():
        found = set()
        for reader in ("mmap", "direct", "pread"):
            epoch = gz.Pipeline(graph, seeds, [5, 3], batch_size=256, shuffle=True, seed=14, reader=reader, **options)
            found.add(digest([[parts(batch.sample), batch.node_features, batch.input_id] for batch in epoch]))
        yield f"epoch {name}", ", ".join(found)  # one, or it differs from the golden one
    links = gz.Pipeline(
        graph, links=(src[:1000], dst[:1000]), fanouts=[4], batch_size=200, negatives="binary", shuffle=True, seed=15
    )
    yield "epoch links", digest([[parts(batch.sample), batch.src_index, batch.dst_index] for batch in links])


def platform_hashes() -> dict[str, str]:
    """Return the hash of everything, by name."""
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        return dict([*files(folder), *draws(folder), *batches(folder)])


def differences(found: dict[str, str], golden: dict[str, str]) -> list[str]:
    """Name what is not the same, or is only in one of both."""
    return sorted(name for name in {*found, *golden} if found.get(name) != golden.get(name))


def main() -> None:
    found = platform_hashes()
    if "--compare" not in sys.argv:
        print(json.dumps(found, indent=1))
        return
    differing = differences(found, json.loads(GOLDEN.read_text()))
    if differing:
        sys.exit(f"{len(differing)} of {len(found)} differ from {GOLDEN.name}: {', '.join(differing)}")
    print(f"{len(found)} hashes are those of {GOLDEN.name}")


if __name__ == "__main__":
    main()

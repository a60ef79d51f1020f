"""A wheel against the build from source: two installed packages, the same work, taken in turns.

`bench_wheel.py FIRST SECOND` takes two folders that each hold a package graphzero, such as the site-packages of two
environments, or what `pip install --target` made. Each runs in its own process, one after the other, several times.
A case is done several times in each process. What counts is the least processor time of all threads, because others may
use the machine; the ratio is FIRST over SECOND, and above 1 the second is faster. Results of both must have the same
hash. `geometric_mean` is that of all ratios; `--expect 0.97` makes a lower one an error.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

NODES, EDGES, WIDTH = 200_000, 3_000_000, 64


def work(folder: str, only: str, repeats: int) -> dict[str, tuple[float, str]]:
    """Do the cases with the graphzero on our path: return the least processor time and a hash of each."""
    import numpy as np

    import graphzero as gz

    found: dict[str, tuple[float, str]] = {}

    def timed(name: str, body: Callable[[], Any]) -> None:
        if only not in name:
            return
        seconds = []
        for _ in range(repeats):
            begin = time.process_time()
            made = body()
            seconds.append(time.process_time() - begin)
        state = hashlib.sha256()
        for array in made if isinstance(made, list) else [made]:
            state.update(np.ascontiguousarray(array).tobytes())
        found[name] = (min(seconds), state.hexdigest())

    def file_bytes(path: str) -> Any:
        return np.frombuffer(pathlib.Path(path).read_bytes(), np.uint8)

    text, rows = os.path.join(folder, "edges.csv"), os.path.join(folder, "rows.npy")
    graph_file, row_file = os.path.join(folder, "g.gl"), os.path.join(folder, "x.gd")

    def converted() -> Any:
        gz.convert_edges(text, graph_file, weight="weight", num_nodes=NODES, threads=1)
        return file_bytes(graph_file)

    def narrowed(dtype: str, path: str = row_file) -> Any:
        gz.convert_features(rows, path, dtype=dtype, threads=1)
        return file_bytes(path)

    timed("convert edges", converted)
    timed("convert features to float16", lambda: narrowed("float16"))
    timed("convert features to int8", lambda: narrowed("int8-quantised", os.path.join(folder, "x8.gd")))
    for file, make in ((graph_file, converted), (row_file, lambda: narrowed("float16"))):
        if not os.path.exists(file):
            make()
    gz.set_num_threads(1)
    graph, store = gz.Graph(graph_file), gz.FeatureStore(row_file)
    nodes = np.random.default_rng(0).integers(0, NODES, 200_000)
    seeds = nodes[:20_000]

    def sample(**options: Any) -> Any:
        hoods = [
            gz.sample_neighbors(graph, seeds[i : i + 1000], [15, 10], seed=i, **options) for i in range(0, 20_000, 1000)
        ]
        return [part for hood in hoods for part in (hood.node, hood.row, hood.col)]

    def epoch() -> Any:
        batches = gz.Pipeline(
            graph, seeds, [10, 5], features=store, batch_size=1000, seed=1, dtype="float32", threads=1
        )
        return [part for batch in batches for part in (batch.sample.node, batch.node_features["x"])]

    timed("sample uniform", sample)
    timed("sample weighted", lambda: sample(weighted=True))
    timed("walk uniform", lambda: gz.random_walk(graph, nodes, 20, seed=1))
    timed("walk weighted", lambda: gz.random_walk(graph, nodes, 20, weighted=True, seed=1))
    timed("walk node2vec", lambda: gz.random_walk(graph, seeds, 20, p=0.5, q=2.0, seed=1))
    timed("gather", lambda: [store.gather(nodes) for _ in range(10)])
    timed("gather as float32", lambda: [store.gather(nodes, dtype="float32") for _ in range(10)])
    timed("epoch", epoch)
    return found


def inputs(folder: str) -> None:
    """Write the text and the array that both packages convert."""
    import numpy as np

    draw = np.random.default_rng(1)
    src, dst = (NODES * draw.random(EDGES) ** 2).astype(np.int64), draw.integers(0, NODES, EDGES)
    weight = draw.integers(1, 1000, EDGES) / 8
    with open(os.path.join(folder, "edges.csv"), "w") as out:
        out.write("src,dst,weight\n")
        out.writelines(f"{s},{d},{w}\n" for s, d, w in zip(src.tolist(), dst.tolist(), weight.tolist(), strict=True))
    np.save(os.path.join(folder, "rows.npy"), draw.random((NODES, WIDTH), np.float32))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=pathlib.Path)
    parser.add_argument("second", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5, help="processes of each package")
    parser.add_argument("--repeats", type=int, default=5, help="times that a process does each case")
    parser.add_argument(
        "--only", default="", metavar="WORDS", help="only the cases that have these words in their name"
    )
    parser.add_argument("--expect", type=float, default=0, metavar="RATIO", help="the least geometric mean")
    options = parser.parse_args()
    packages = [options.first.resolve(), options.second.resolve()]
    times: list[dict[str, list[float]]] = [{}, {}]
    hashes: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        inputs(folder)
        for turn in range(options.rounds):
            for which in (0, 1) if turn % 2 == 0 else (1, 0):
                command = [sys.executable, os.path.abspath(__file__), "--work", folder]
                command += [options.only, str(options.repeats)]
                environment = os.environ | {"PYTHONPATH": str(packages[which])}
                done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
                for name, (seconds, value) in json.loads(done.stdout).items():
                    if hashes.setdefault(name, value) != value:
                        sys.exit(
                            f"{name}: expected the same result of both packages, found another in {packages[which]}"
                        )
                    times[which].setdefault(name, []).append(seconds)
    result = {}
    for name in times[0]:
        # The least is what the work takes; the rest is what others did to the caches meanwhile.
        first, second = min(times[0][name]), min(times[1][name])
        result[name] = {"first_s": round(first, 4), "second_s": round(second, 4), "ratio": round(first / second, 3)}
    middle = statistics.geometric_mean(row["ratio"] for row in result.values())
    print(json.dumps({"rounds": options.rounds, "results": result, "geometric_mean": round(middle, 3)}, indent=1))
    if middle < options.expect:
        sys.exit(f"geometric mean: expected at least {options.expect}, found {middle:.3f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        print(json.dumps(work(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
    else:
        main()

"""Converting a text edge list: time and memory by budget, beside polars and duckdb with scipy.

python bench_convert.py [EDGES.csv]     without a file it makes one: R-MAT scale 22, edge factor 16, about 1 GB
GraphZero 0.2 is in graphzero bench.
"""

import os
import subprocess
import sys
import tempfile
import time

from common import report

# The high-water mark of this process alone; getrusage would count what its parent held.
PEAK = """
def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024
"""
OURS = (
    PEAK
    + """
import sys, graphzero as gz
from time import perf_counter as now
source, target, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
begin = now()
found = gz.convert_edges(source, target, {options}, threads=threads)
print(now() - begin, peak(), found.num_edges, found.num_src_nodes)
"""
)
# Both are told the types of the columns, and their lists are made by the fastest means of scipy.
POLARS = (
    PEAK
    + """
import sys
from time import perf_counter as now
from graphzero.bench.rivals.converters import polars_scipy
convert = polars_scipy({"source": sys.argv[1], "threads": sys.argv[3], "nodes": int(sys.argv[4])})
begin = now()
indptr, indices = convert()
print(now() - begin, peak(), len(indices), len(indptr) - 1)
"""
)
DUCKDB = (
    PEAK
    + """
import sys
from time import perf_counter as now
import duckdb, scipy.sparse
from graphzero.bench.rivals.converters import scipy_lists
begin = now()
duckdb.execute(f"set threads to {sys.argv[3]}")
types = "{'src': 'INTEGER', 'dst': 'INTEGER'}"
table = duckdb.sql(f"select * from read_csv('{sys.argv[1]}', header=true, columns={types})").fetchnumpy()
indptr, indices = scipy_lists(table["src"], table["dst"], int(sys.argv[4]))
print(now() - begin, peak(), len(indices), len(indptr) - 1)
"""
)
RIVALS = {"polars": POLARS, "duckdb": DUCKDB}


def run(code, *given):
    """One run in a process of its own: (seconds, peak bytes, edges, nodes), or why not."""
    done = subprocess.run([sys.executable, "-c", code, *map(str, given)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[-1] if done.stderr else f"exit {done.returncode}"
    seconds, memory, edges, nodes = (float(word) for word in done.stdout.split()[-4:])
    return seconds, memory, int(edges), int(nodes)


def fastest(codes, *given, repeat=3):
    """The fastest run of each, one after the other in turn, so that a busy minute of the machine is everybody's."""
    rounds = [{name: run(code, *given) for name, code in codes.items()} for _ in range(repeat)]
    failed = {name: found for one in rounds for name, found in one.items() if isinstance(found, str)}
    return {name: failed[name] if name in failed else min(one[name] for one in rounds) for name in codes}


def main(source, folder):
    target = os.path.join(folder, "out.gl")
    threads = 2
    with open(source, "rb") as file:
        lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 24), b"")) - 1  # also warms the cache
    ours = {
        "one index, no edge ids": "index='out', edge_ids=False, memory='4GB'",
        "both indexes, edge ids": "memory='4GB'",
        "one index, no edge ids, 256 MB": "index='out', edge_ids=False, memory='256MB'",
        "both indexes, edge ids, 256 MB": "memory='256MB'",
    }
    codes = {name: OURS.format(options=text) for name, text in ours.items()}
    sizes = {}
    for name, code in list(codes.items())[:2]:
        nodes = run(code, source, target, threads)[3]
        sizes[name] = os.path.getsize(target)
    rivals = {f"rival: {name} + scipy in RAM": code for name, code in RIVALS.items()}
    results = fastest(codes | rivals, source, target, threads, nodes)
    rows = []
    for name, result in results.items():
        if isinstance(result, str):
            rows.append({"what": name, "time": f"not run: {result[:60]}"})
            continue
        seconds, memory, edges, _ = result
        if edges != lines:
            rows.append({"what": name, "time": "WRONG RESULT, no time"})
            continue
        row = {"what": name, "time": f"{seconds:.2f} s", "M edges/s": f"{edges / seconds / 1e6:.1f}",
               "peak": f"{memory / 1e6:.0f} MB"}  # fmt: skip
        for rival in RIVALS if name in ours else ():
            other = results[f"rival: {rival} + scipy in RAM"]
            if isinstance(other, tuple) and other[2] == lines:
                row[f"x {rival}"] = f"{other[0] / seconds:.1f}"
        if name in sizes:
            row["file"] = f"{sizes[name] / 1e6:.0f} MB"
        rows.append(row)
    conditions = {
        "threads": threads,
        "cache": "warm",
        "edges": lines,
        "text": f"{os.path.getsize(source) / 1e6:.0f} MB",
    }
    report("convert edges", conditions, rows)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=".") as folder:
        if len(sys.argv) > 1:
            given = os.path.abspath(sys.argv[1])
        else:
            from rmat import write_csv

            given = os.path.join(folder, "edges.csv")
            begin = time.perf_counter()
            write_csv(given, 22, 16)
            print(f"made {given} in {time.perf_counter() - begin:.0f} s")
        main(given, folder)

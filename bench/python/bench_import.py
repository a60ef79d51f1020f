"""Tables with text ids to a data set inside a control group, beside polars that does the same joins in RAM.

python bench_import.py [MILLIONS OF EDGES]     default 100, with a tenth as many nodes; needs 60 bytes of disk per edge
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from common import report

import graphzero as gz
from cgroups import limited_to

LIMIT = 2_000_000_000
BLOCK = 1_000_000
OURS = """
import sys, time, graphzero as gz, pyarrow.parquet
begin = time.perf_counter()
made = gz.build_dataset(
    "made",
    nodes={"source": "nodes.parquet", "id": "name", "label": "section", "features": ["size", "age"]},
    edges={"source": "edges.parquet", "src": "a", "dst": "b", "weight": "w"},
    memory="2GB",
    overwrite=True,
)
print(time.perf_counter() - begin, time.process_time(), made.peak_memory, gz.memory_report().cgroup_limit)
"""
# Both tables are read, ids are numbered in sorted order, and both ends of every edge are looked up.
POLARS = """
import sys, time, polars as pl
begin = time.perf_counter()
nodes = pl.read_parquet("nodes.parquet").sort("name").with_row_index("id")
ids = nodes.select("name", "id")
edges = pl.read_parquet("edges.parquet")
edges = edges.join(ids, left_on="a", right_on="name", how="left", maintain_order="left").drop("a").rename({"id": "src"})
edges = edges.join(ids, left_on="b", right_on="name", how="left", maintain_order="left").drop("b").rename({"id": "dst"})
seconds, processor = time.perf_counter() - begin, time.process_time()
peak = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(seconds, processor, peak, 0)
edges.head(100_000).write_parquet("checked.parquet")
"""


def write_tables(edges):
    """Draw nodes whose ids are text in no order, and edges between them; a few nodes have very many."""
    rng = np.random.default_rng(0)
    nodes = edges // 10
    keys = (np.arange(nodes, dtype=np.int64) * 7919 + 12345) % 1_000_000_007
    names = pc.binary_join_element_wise("pkg-", pa.array(keys).cast(pa.string()), "")
    table = pa.table(
        {
            "name": names.take(pa.array(rng.permutation(nodes))),
            "size": rng.random(nodes, dtype=np.float32),
            "age": rng.integers(0, 100, nodes).astype(np.int32),
            "section": pa.array(["net", "libs", "doc"]).take(pa.array(rng.integers(0, 3, nodes))),
        }
    )
    pq.write_table(table, "nodes.parquet", row_group_size=BLOCK)
    schema = pa.schema([("a", pa.string()), ("b", pa.string()), ("w", pa.float32())])
    with pq.ParquetWriter("edges.parquet", schema) as out:
        for start in range(0, edges, BLOCK):
            count = min(BLOCK, edges - start)
            ends = (rng.random(count) ** 2 * nodes).astype(np.int64), rng.integers(0, nodes, count)
            a, b = (names.take(pa.array(one)) for one in ends)
            out.write_table(pa.table({"a": a, "b": b, "w": rng.random(count, dtype=np.float32)}))


def is_right(edges):
    """Compare the first edges with polars', and the whole with itself."""
    checked = pq.read_table("checked.parquet")
    with gz.open("made") as data:
        graph = data.graph
        if graph.num_edges != edges or not all(check.holds for check in gz.verify("made")):
            return False
        src, dst = (checked.column(name).to_numpy() for name in ("src", "dst"))
        # Edge ids are rows of the table: the first rows are among the out-edges of their sources.
        index = graph.index("out")
        for row in range(0, len(src), 97):
            begin, end = index.indptr[src[row]], index.indptr[src[row] + 1]
            at = begin + int(np.argmax(index.edge_ids[begin:end] == row))
            if index.edge_ids[at] != row or index.indices[at] != dst[row]:
                return False
    return True


def run(code, limit=None):
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command if limit is None else limited_to(limit, command), stdout=subprocess.PIPE, text=True, check=False
    )
    return None if done.returncode else [float(word) for word in done.stdout.split()]


def main(edges):
    write_tables(edges)
    rows = []
    best = {}
    for _ in range(3):
        for name, code, limit in (("polars", POLARS, None), ("graphzero", OURS, LIMIT)):
            found = run(code, limit)
            if found is None:
                best[name] = None
            elif name not in best or (best[name] and found[0] < best[name][0]):
                best[name] = found
    right = best["graphzero"] is not None and best["graphzero"][3] == LIMIT // 4096 * 4096 and is_right(edges)
    for name, what in (
        ("graphzero", 'to a data set folder, `memory="2GB"`, in a control group of 2 GB'),
        ("polars", "both joins, in RAM; no graph, no file"),
    ):
        found = best[name]
        row = {"what": f"{name}: {what}"}
        if found is None or not right:
            row["time"] = "DIED" if found is None else "WRONG RESULT, no time"
        else:
            row |= {
                "time": f"{found[0]:.1f} s",
                "M edges/s": f"{edges / found[0] / 1e6:.2f}",
                "processor": f"{found[1]:.0f} s",
                "peak": f"{found[2] / 1e6:.0f} MB",
                "× polars": f"{best['polars'][0] / found[0]:.2f}" if best["polars"] else "",
            }
        rows.append(row)
    conditions = {"threads": gz.num_threads(), "edges": f"{edges:,}", "nodes": f"{edges // 10:,}", "runs": "best of 3"}
    report("import tables", conditions, rows)


if __name__ == "__main__":
    millions = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory(dir=os.environ.get("GRAPHZERO_TMPDIR")) as folder:
        os.chdir(folder)
        main(millions * 1_000_000)

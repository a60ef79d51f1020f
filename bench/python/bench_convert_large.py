"""A billion edges inside a memory control group of 2 GB, page cache included: does it finish, and how fast?

python bench_convert_large.py [MILLIONS OF EDGES]     default 1000; needs about 42 bytes of free disk per edge
"""

import os
import subprocess
import sys
import tempfile

from common import report

import graphzero as gz
from cgroups import limited_to

LIMIT = 2 << 30
CODE = """
import sys, numpy as np, graphzero as gz
from time import perf_counter as now
edges, nodes = int(sys.argv[1]), 1 << 27

def batches():
    # Powers of a uniform draw: a few nodes have very many edges, as in real graphs.
    rng = np.random.default_rng(0)
    for start in range(0, edges, 1 << 22):
        draw = rng.random((2, min(1 << 22, edges - start)))
        yield (draw[0] ** 3 * nodes).astype(np.int64), (draw[1] ** 3 * nodes).astype(np.int64)

begin = now()
found = gz.convert_edges(batches(), "large.gl", num_nodes=nodes, memory="1GB")
report = gz.memory_report()
print(now() - begin, found.num_edges, found.peak_memory, found.spilled, report.cgroup_limit)
"""


def main(edges):
    command = limited_to(LIMIT, [sys.executable, "-c", CODE, str(edges)])
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    row = {"edges": f"{edges:,}"}
    if done.returncode != 0:
        row["time"] = f"DIED with exit code {done.returncode}"
    else:
        seconds, found, peak, spilled, limit = (float(word) for word in done.stdout.split())
        holds = found == edges and limit == LIMIT and all(check.holds for check in gz.verify("large.gl"))
        row |= (
            {
                "time": f"{seconds:.0f} s",
                "M edges/s": f"{edges / seconds / 1e6:.1f}",
                "peak": f"{peak / 1e6:.0f} MB",
                "spilled": f"{spilled / 1e9:.1f} GB",
                "file": f"{os.path.getsize('large.gl') / 1e9:.1f} GB",
            }
            if holds
            else {"time": "WRONG RESULT, no time"}
        )
    conditions = {"threads": gz.num_threads(), "control group": "2 GiB", "memory": "1GB", "indexes": "both, edge ids"}
    report("convert a large graph", conditions, [row])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=".") as folder:
        os.chdir(folder)
        main(int(float(sys.argv[1] if len(sys.argv) > 1 else 1000) * 1e6))
        os.chdir("..")

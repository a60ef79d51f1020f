"""Runs the tests in as many processes as there are cores, four at most: most tests wait more than they compute.

Each process has its own files, chosen so that all end at about the same time, and prints when it has ended. One process
runs many files: PyTorch takes seconds to load. (pytest-xdist has threads in its workers, and the fork of a
process that has threads is a warning, which is an error here.) Tests that failed run once more, alone: one that passes
then needs more time than a busy machine gives it. It is listed, and is a defect of the test or of the code.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Those of Ray run by themselves, as make test-ray: nodes take all cores to start.
FILES = sorted(set(Path("tests/python").glob("test_*.py")) - {Path("tests/python/test_ray_conversion.py")})

# Seconds of the slowest files in a run on two busy cores, for dividing them; --durations=0 shows them anew. Where they
# are wrong, one process has more to do than another.
SECONDS = {
    "bench": 38, "bench_report": 32, "cli_errors": 23, "cli_train": 39, "demo": 115, "docs": 29, "edge_conversion": 27,
    "feature_conversion": 22, "fuzz": 44, "gather": 62, "late_edge_ids": 21, "loaders_footprint": 34,
    "loaders_hosts": 132, "loaders_metapath2vec": 34, "loaders_pyg_objects": 22, "loaders_pyg_sampler": 47,
    "loaders_pyg_stores": 25, "loaders_shares": 423, "loaders_walks": 53, "loaders_workers": 21, "pipeline_memory": 20,
    "pipeline_state": 33, "processes": 35, "row_order": 80, "sampling_inputs": 30, "secrets": 34, "sharded_memory": 100,
    "storage_faults": 34, "stored_conversion": 77, "walks": 38,
}  # fmt: skip
OTHER = 8


def shares(files: list[Path], count: int) -> list[list[Path]]:
    """Divide files into so many shares that take about as long: the longest first, each to the share that has least."""
    found: list[list[Path]] = [[] for _ in range(count)]
    total = [0] * count
    seconds = {path: SECONDS.get(path.stem.removeprefix("test_"), OTHER) for path in files}
    for path in sorted(files, key=lambda path: -seconds[path]):
        least = total.index(min(total))
        found[least].append(path)
        total[least] += seconds[path]
    return [sorted(share) for share in found]


def main() -> int:
    """Return 1 if a process failed."""
    count = max(1, min(4, len(os.sched_getaffinity(0))))
    pytest = [sys.executable, "-m", "pytest", "-q", *sys.argv[1:]]
    print(f"{len(FILES)} files of tests in {count} processes", flush=True)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for number, files in enumerate(shares(FILES, count)):
            log = Path(folder, str(number))
            command = [*pytest, "-o", f"cache_dir={log}.cache", *map(str, files)]
            with log.open("w") as output:
                running.append((subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT), log, command))
        again = []
        for process, log, command in running:
            code = process.wait()
            if code == 1:  # tests failed; anything else is a process that was ended, or could not begin
                again.append(command)
            failed |= code not in (0, 1)
            print(log.read_text(), flush=True)
        for command in again:
            print("once more, alone, what failed:", flush=True)
            is_unstable = subprocess.run([*command, "--last-failed"], check=False).returncode == 0
            print("UNSTABLE: they passed when they ran alone" if is_unstable else "they failed again", flush=True)
            failed |= not is_unstable
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

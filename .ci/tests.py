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

# Seconds of the slowest files in a run on two cores, for dividing them; --durations=0 shows them anew. Where they
# are wrong, one process has more to do than another.
SECONDS = {
    "bench": 21, "bench_report": 15, "cli_train": 17, "demo": 76, "docs": 12, "examples": 17,
    "feature_conversion": 14, "fuzz": 23, "gather": 17, "import_tables": 10, "late_edge_ids": 14, "load": 10,
    "loaders_footprint": 19, "loaders_hosts": 29, "loaders_pyg_sampler": 15, "loaders_shares": 75,
    "loaders_walks": 10, "loaders_workers": 11, "pipeline_faults": 12, "pipeline_memory": 14, "pipeline_state": 14,
    "pipeline_window": 17, "row_order": 14, "secrets": 17, "sharded_memory": 60, "staging": 21,
    "staging_shares_of_parts": 12, "storage_faults": 12, "stored_conversion": 27, "threads": 18,
}  # fmt: skip
OTHER = 3


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

"""Runs the tests in as many processes as there are cores, four at most: most tests wait more than they compute.

Each process has its own files and prints when it has ended. (pytest-xdist has threads in its workers, and the fork of a
process that has threads is a warning, which is an error here.)
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

FILES = sorted(Path("tests/python").glob("test_*.py"))


def main() -> int:
    """Return 1 if a process failed."""
    count = max(1, min(4, len(os.sched_getaffinity(0))))
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]
    print(f"{len(FILES)} files of tests in {count} processes", flush=True)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for number in range(count):
            log = Path(folder, str(number))
            with log.open("w") as output:
                files = map(str, FILES[number::count])
                running.append((subprocess.Popen([*pytest, *files], stdout=output, stderr=subprocess.STDOUT), log))
        for process, log in running:
            failed |= process.wait() != 0
            print(log.read_text(), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

"""Runs the tests in as many processes as there are cores, four at most: most tests wait more than they compute.

Each process has its own files and prints when it has ended. (pytest-xdist has threads in its workers, and the fork of a
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


def main() -> int:
    """Return 1 if a process failed."""
    count = max(1, min(4, len(os.sched_getaffinity(0))))
    pytest = [sys.executable, "-m", "pytest", "-q", *sys.argv[1:]]
    print(f"{len(FILES)} files of tests in {count} processes", flush=True)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for number in range(count):
            log = Path(folder, str(number))
            command = [*pytest, "-o", f"cache_dir={log}.cache", *map(str, FILES[number::count])]
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

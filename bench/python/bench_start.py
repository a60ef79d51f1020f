"""Starting: ``import graphzero`` and ``graphzero --help`` in fresh processes, beside an empty one and ``import numpy``.

Whatever is imported has its bytecode cached, as after any first run of an installed package.
"""

import os
import subprocess
import sys
import tempfile
import time

from common import report

import graphzero as gz
from terminals import COMMAND, shown

ROUNDS = 21


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def python(script):
    return printed(sys.executable, "-c", script)


# What, how, the words it must print, and the milliseconds we promise.
TASKS = [
    ("python -c pass", lambda: python("pass"), (), None),
    ("import numpy", lambda: python("import numpy; print(numpy.__name__)"), ("numpy",), None),
    ("import graphzero", lambda: python("import graphzero; print(graphzero.__version__)"), (gz.__version__,), 150),
    ("import graphzero, Graph", lambda: python("import graphzero; print(graphzero.Graph.__name__)"), ("Graph",), None),
    ("import typer", lambda: python("import typer; print(typer.__name__)"), ("typer",), None),
    ("graphzero --help", lambda: printed(*COMMAND, "--help"), ("convert", "verify"), 300),
    ("graphzero --help on a terminal", lambda: shown("--help"), ("convert", "verify"), 300),
]


def main():
    seconds = {name: [] for name, *_ in TASKS}
    wrong = set()
    # In turns, so that all of them meet the same noise; the first round only fills the caches.
    for turn in range(ROUNDS + 1):
        for name, task, words, _ in TASKS:
            begin = time.perf_counter()
            text = task()
            if turn:
                seconds[name].append(time.perf_counter() - begin)
            if not all(word in text for word in words):
                wrong.add(name)
    rows = []
    for name, _, _, promised in TASKS:
        if name in wrong:
            rows.append({"what": name, "median": "WRONG RESULT, no time"})
            continue
        times = sorted(seconds[name])
        row = {"what": name, "median": f"{times[ROUNDS // 2] * 1e3:.0f} ms", "least": f"{times[0] * 1e3:.0f} ms"}
        rows.append(row | ({"promised": f"below {promised} ms"} if promised else {}))
    report("start", {"rounds": ROUNDS, "bytecode": "cached", "page cache": "warm"}, rows)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        main()

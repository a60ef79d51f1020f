"""What every benchmark needs: a fair clock, the rivals, and a result that is right or not printed."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import graphzero as gz
from graphzero._tools.cores import CAN_PIN, one_core
from graphzero._tools.machine import machine, versions
from graphzero.bench.contestants import surroundings
from graphzero.bench.memory_watch import MemoryWatch
from graphzero.bench.rivals.clock import batch_rates, rates_of

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests"))  # sparse files and control groups


def median_seconds(body: Callable[[], Any], *, repeat: int = 20, before: Callable[[], Any] = lambda: None) -> float:
    """Return the median time of ``body``; ``before`` runs ahead of each and is not counted."""
    times = []
    for _ in range(repeat):
        before()
        begin = time.perf_counter()
        body()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def best_seconds(body: Callable[[], Any]) -> float:
    """Return the shortest time of ``body``, by the clock that rivals have."""
    return 1 / max(rates_of(body, 1))


def edges_per_second(count_edges: Callable[[Any], int], batches: Sequence[Any], threads: int) -> float:
    """Return the best rate over all batches, shared out among ``threads`` Python threads."""
    return max(batch_rates(count_edges, batches, threads))


@contextmanager
def watched() -> Iterator[MemoryWatch]:
    """Look at the memory of this process a hundred times a second, until the block ends."""
    watch, over = MemoryWatch(os.getpid()), threading.Event()

    def look() -> None:
        while not over.wait(0.01):
            watch.look()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        over.set()
        thread.join()


def device_bytes() -> int:
    """Return how many bytes this process has had read from the device."""
    return gz.memory_report().device_bytes_read or 0


def compiled(name: str, folder: str) -> str:
    """Compile the program ``name`` of bench/cpp, which knows nothing of graphzero, and return its path."""
    source = pathlib.Path(__file__).parents[1] / "cpp" / f"{name}.cpp"
    program = os.path.join(folder, name)
    subprocess.run(["c++", "-O3", "-std=c++20", "-pthread", os.fspath(source), "-o", program], check=True)
    return program


def answer(command: list[Any]) -> Any:
    """Return the JSON of a command's last line."""
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def read_limits(num_bytes: int, threads: Sequence[int] = (1, 2)) -> dict[int, float]:
    """Return by number of threads how many random reads per second an array of ``num_bytes`` allows."""
    with tempfile.TemporaryDirectory() as folder:
        rates = answer([compiled("random_reads", folder), num_bytes, *threads])["reads_per_second"]
        return {t: float(rates[str(t)]) for t in threads}


def run_rival(variable: str, module: str, given: dict[str, Any], *, threads: int) -> dict[str, Any] | str:
    """Run a module of graphzero/bench/rivals, or of this folder, with the Python that ``variable`` names.

    Returns the JSON of its last line, or the reason why there is none.
    """
    python = os.environ.get(variable)
    if not python:
        return f"not run: {variable} is not set"
    command = [python, "-m", module, json.dumps({**given, "threads": threads})]
    environment = surroundings(threads, ours=False)
    environment["PYTHONPATH"] += os.pathsep + os.path.dirname(os.path.abspath(__file__))
    with one_core(threads == 1):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        error = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
        return f"not run: {error[:160]}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def limit_conditions(limits: dict[int, float]) -> dict[str, str]:
    """Return the limit as a table's conditions, and beside it that over 2 GiB, where the TLB helps less."""
    return {
        "one thread": "all pinned to one core" if CAN_PIN else "nobody pinned to a core",
        "limit": ", ".join(f"{rate / 1e6:.0f} M reads/s on {threads}" for threads, rate in limits.items()),
        "over 2 GiB": ", ".join(f"{rate / 1e6:.0f} M on {threads}" for threads, rate in read_limits(2 << 30).items()),
    }


def run_on_rmat(main: Callable[[str, str, int], None], description: str | None, quick_scale: int = 16) -> None:
    """Call ``main(folder of graphs, scratch folder, scale)`` as the command line says."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--quick", action="store_const", dest="scale", const=quick_scale)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        main(given.folder or scratch, scratch, given.scale)


def with_ratios(rows: list[dict[str, Any]], limits: dict[int, float], unit: str) -> list[dict[str, Any]]:
    """Turn each row's ``rate`` into columns: by the limit's reads, and by the best rival measured at its ``task``."""
    result = []
    for row in rows:
        shown = {key: value for key, value in row.items() if key not in ("task", "rate", "note")}
        rivals = [
            other["rate"]
            for other in rows
            if other["what"].startswith("rival")
            and (other["task"], other.get("threads")) == (row["task"], row.get("threads"))
            and "rate" in other
        ]
        if "rate" in row:
            shown[f"M {unit}/s"] = f"{row['rate'] / 1e6:.2f}"
            shown[f"{unit} per limit read"] = f"{row['rate'] / limits[row['threads']]:.3f}"
            if rivals and not row["what"].startswith("rival"):
                shown["x best measured rival"] = f"{row['rate'] / max(rivals):.1f}"
        result.append(shown | ({"note": row["note"]} if "note" in row else {}))
    return result


def report(name: str, conditions: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Print the table, and one line of JSON with the machine's facts for the record."""
    print(f"\n{name}   ({', '.join(f'{key} {value}' for key, value in conditions.items())})")
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [columns, *([str(row.get(column, "")) for column in columns] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for row in cells:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(json.dumps({"bench": name, "conditions": conditions, "rows": rows, "machine": machine() | versions()}))

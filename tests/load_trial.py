"""Many processes and threads on one data set while others kill them, cut, replace and convert its files.

Every batch must be right or be refused by a clear error, and nothing may leak or get lost. Ends with a table; the exit
code is 1 if anything else happened. ``python tests/load_trial.py --seconds 600``
"""

import argparse
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter

from load import answers
from load.conversions import Conversions
from load.place import Place
from load.trouble import Trouble
from load.watch import Failures, Watch

METHODS = ["fork", "spawn", "forkserver"]


def run(options, root):
    """Run the whole test in ``root``; return whether all went well."""
    begin, draw = time.monotonic(), random.Random(options.seed)
    size = answers.Size(options.nodes, 64, options.memory)
    deadline = begin + options.seconds + 10 * options.patience
    times = (options.rest_every, options.pause, options.patience, deadline)
    place = Place(root, size, options.threads, options.seed, *times)
    for folder in ("journals", "temporary", "pristine"):
        os.mkdir(place.path(folder))
    pristine = [place.path("pristine", str(generation)) for generation in (0, 1)]
    for generation, folder in enumerate(pristine):
        answers.write(folder, generation, size)
    answers.record(place.path("answers.json"), pristine, size)
    failures = Failures(place)
    multiprocessing.set_forkserver_preload(["load.worker", "load.conversions"])
    beside = [begin_beside(Trouble(place, pristine)), begin_beside(Conversions(place, options.methods))]
    watch = Watch(place, options.methods, options.processes, options.lasting, failures)
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        watch.look()
        if draw.random() < 0.25:
            watch.kill(draw)
        time.sleep(draw.uniform(0.1, 1.5) * options.pause)
    watch.end()
    for process in beside:
        process.join(2 * options.patience)
        if process.exitcode != 0:
            failures.add("crash", f"{process.name} ended with {process.exitcode}")
            process.kill()
    for name in sorted(os.listdir(place.path("journals"))):
        if name.endswith(".jsonl") and not name.startswith("worker"):
            failures.take(name.removesuffix(".jsonl"))
    check_shared_memory(failures)
    report(options, watch, failures)
    return not failures.found


def begin_beside(one):
    """Let what disturbs have a process of its own."""
    process = multiprocessing.get_context("fork").Process(target=one.run, name=type(one).__name__)
    process.start()
    return process


def check_shared_memory(failures):
    left = [name for name in os.listdir("/dev/shm") if f"_{os.getpid()}_" in name]
    if left:
        failures.add("files left", f"in /dev/shm: {left}")


def report(options, watch, failures):
    rows = [
        ("seed", options.seed),
        ("processes × threads", f"{options.processes} × {options.threads}, {', '.join(options.methods)}"),
        ("answers that were right", f"{watch.right:,}"),
        ("workers started", f"{watch.lives:,}"),
        *(
            ("workers ended by " + name if name != "in order" else "workers ended in order", count)
            for name, count in sorted(watch.ends.items())
        ),
        *sorted(failures.did.items()),
        ("measured at rest", watch.rests),
        *(
            ("most " + name, f"{value / 2**20:,.0f} MiB" if name == "anonymous" else value)
            for name, value in watch.peaks.items()
        ),
        *((f"{kind}: {shape}", f"{count:,}") for (kind, shape), count in sorted(failures.errors.items())),
        *(("not done", text) for text in sorted(failures.skipped)),
        *((f"FAILURE: {what}", count) for what, count in Counter(failures.found).items()),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:{width}}  {value}")
    print("all as promised" if not failures.found else f"{len(failures.found)} failures")


def main():
    """Read the options, and give the test a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--lasting", type=int, default=2, help="workers that are never killed")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--memory", default="32MB", help="of each pipeline")
    parser.add_argument("--rest-every", type=float, default=10, help="seconds between measurements at rest")
    parser.add_argument("--pause", type=float, default=1, help="how long to wait between two kinds of trouble")
    parser.add_argument("--patience", type=float, default=60, help="seconds without progress that are a hang")
    parser.add_argument("--methods", type=lambda text: text.split(","), default=METHODS)
    parser.add_argument("--folder", help="where to make the data (default: a temporary folder)")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    root = tempfile.mkdtemp(prefix="graphzero-load-", dir=options.folder)
    try:
        good = run(options, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

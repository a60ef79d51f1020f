"""Many processes and threads on one data set while others kill them, cut, replace and convert its files.

Every batch must be right or be refused by a clear error, and nothing may leak or get lost. Ends with a table; the exit
code is 1 if anything else happened. ``python tests/load_test.py --seconds 600``
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

from load import answers, conversions
from load.trouble import Trouble
from load.watch import Failures, Watch
from load.worker import Place

METHODS = ["fork", "spawn", "forkserver"]


def run(options, root):
    """Run the whole test in ``root``; return whether all went well."""
    draw = random.Random(options.seed)
    size = answers.Size(options.nodes, 64, options.memory)
    place = Place(root, size, options.threads, options.rest_every, options.seed)
    for folder in ("journals", "temporary", "pristine"):
        os.mkdir(place.path(folder))
    pristine = [place.path("pristine", str(generation)) for generation in (0, 1)]
    for generation, folder in enumerate(pristine):
        answers.write(folder, generation, size)
    answers.record(place.path("answers.json"), pristine, size)
    failures = Failures(place)
    trouble = Trouble(place, pristine, draw)
    multiprocessing.set_forkserver_preload(["load.worker", "load.conversions"])
    converting = conversions.Conversions(place, draw, time.monotonic(), failures)
    watch = Watch(place, options.methods, options.processes, options.lasting, options.patience, failures)
    done = Counter()
    end = time.monotonic() + options.seconds
    number = 0
    while time.monotonic() < end:
        watch.look()
        number += 1
        luck = draw.random()
        if luck < 0.3:
            done[watch.kill(draw)] += 1
        elif luck < 0.7:
            done[trouble.strike()] += 1
        elif luck < 0.85:
            done[converting.clash(multiprocessing.get_context(draw.choice(options.methods)))] += 1
        else:
            time.sleep(draw.uniform(0.2, 1.0) * options.pause)
        if number % 40 == 5:
            done["full disk"] += fill_disk(place, f"disk{number}", converting.marks, failures)
        time.sleep(draw.uniform(0.1, 0.5) * options.pause)
    watch.end()
    converting.end()
    check_shared_memory(failures)
    report(options, watch, failures, done, converting)
    return not failures.found


def fill_disk(place, name, marks, failures):
    """Convert on a disk without room, in a process of its own."""
    child = multiprocessing.get_context("fork").Process(target=conversions.fill_disk, args=(place, name, marks))
    child.start()
    child.join(120)
    if child.exitcode != 0:
        child.kill()
        child.join()
        failures.add("crash", f"{name} ended with {child.exitcode}")
    return sum(line["kind"] == "full" for line in failures.take(name))


def check_shared_memory(failures):
    left = [name for name in os.listdir("/dev/shm") if f"_{os.getpid()}_" in name]
    if left:
        failures.add("files left", f"in /dev/shm: {left}")


def report(options, watch, failures, done, converting):
    rows = [
        ("seed", options.seed),
        ("processes × threads", f"{options.processes} × {options.threads}, {', '.join(options.methods)}"),
        ("answers that were right", f"{watch.right:,}"),
        ("workers started", f"{watch.lives:,}"),
        *(
            ("workers ended by " + name if name != "in order" else "workers ended in order", count)
            for name, count in sorted(watch.ends.items())
        ),
        *((name, count) for name, count in sorted(done.items(), key=str) if name and not name.startswith("SIG")),
        ("conversions killed", converting.kills),
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
    parser.add_argument("--folder", help="where to make the data; a temporary folder unless told")
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

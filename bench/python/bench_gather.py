"""Gathering rows of 512 bytes, from memory and from a file eight times larger than the memory that may hold it.

    python bench_gather.py [GIGABYTES] [--quick]

Warm: files of 512 MB and of 2.1 GB in the page cache, against torch, NumPy and a loop written by hand
(bench/cpp/row_reads.cpp).
Converted: rows of 128 items in the page cache, in other types than they are stored in, beside a plain copy of each.
Cold: a file of so many gigabytes, 8 without a word, in a memory control group of an eighth of it, page cache included,
against the same loop on a MADV_RANDOM mapping and against what the device can do: 4 kB reads at the same queue depth.
Each figure that has a goal stands beside it. --quick only shows that everything works.
"""

import argparse
import json
import os
import sys
import tempfile
import time

import numpy as np
from common import answer, best_seconds, compiled, device_bytes, report

import files
import graphzero as gz
from cgroups import limited_to
from graphzero import _core
from graphzero._tools.page_cache import drop_from_page_cache
from graphzero.features import floats_of_bfloat16, rounded_to_bfloat16

COLUMNS, ROW = 128, 512
BATCH = 100_000
WARM = [(1_000_000, BATCH), (4_100_000, 200_000)]  # rows of a file, and of them, how many at once
DATA_OFFSET = 4096
CONVERTED_ROWS = 500_000
CONVERSIONS = [
    ("float16", "float32"),
    ("bfloat16", "float32"),
    ("quantised", "float32"),
    ("uint8", "float32"),
    ("bool", "float32"),
    ("float64", "float32"),
    ("float32", "float16"),
    ("float32", "bfloat16"),
    ("int32", "int64"),
    ("int16", "int64"),
]
DEPTH = 256  # reads in flight in all, for us and for the bare ring
SMALLEST_GROUP = 400 << 20  # what Python and a batch need


def make_file(path, num_rows):
    """Write rows that say their own number, modulo 2^24, in every column."""
    writer = _core.GdWriter(os.fsencode(path), gz.FLOAT32, [num_rows, COLUMNS])
    for start in range(0, num_rows, 100_000):
        ids = np.arange(start, min(start + 100_000, num_rows)) % 2**24
        writer.append(np.repeat(ids.astype(np.float32), COLUMNS).view(np.uint8))
    writer.finish()


def right(rows, ids):
    """Whether each row is the one that was asked for, from end to end."""
    expected = (ids % 2**24).astype(np.float32)
    return bool((np.asarray(rows) == expected[:, None]).all())


def warm(program, num_rows, count, threads):
    import torch

    gz.set_num_threads(threads)
    torch.set_num_threads(threads)
    fs = gz.FeatureStore("warm.gd")
    ids = np.random.default_rng(0).integers(0, fs.num_rows, count)
    ids.tofile("ids")
    tensor, index = fs.as_torch(), torch.from_numpy(ids)
    out = torch.zeros(count, COLUMNS)
    tensor.sum()  # the file is in the page cache, and its pages are mapped, before the clock starts
    variants = {
        "graphzero, out=": lambda: fs.gather(ids, out=out, reader="mmap"),
        "graphzero": lambda: fs.gather(ids, reader="mmap"),
        "torch.index_select, out=": lambda: torch.index_select(tensor, 0, index, out=out),
        "torch.index_select": lambda: torch.index_select(tensor, 0, index),
        "NumPy, fancy index": lambda: tensor.numpy()[ids],
    }
    seconds = {}
    for name, body in variants.items():
        out.zero_()
        if right(body(), ids):
            seconds[name] = best_seconds(body)
    by_hand = answer([program, "copy", "warm.gd", DATA_OFFSET, ROW, "ids", threads])
    if by_hand["sum"] == int(fs.gather(ids).view(np.uint8).sum(dtype=np.uint64)):
        seconds["a loop by hand"] = by_hand["best"]
    ours = seconds.get("graphzero, out=")
    goals = {
        "a loop by hand": 0.85,
        "torch.index_select, out=": 1.2,
        "torch.index_select": 4.0,
        "NumPy, fancy index": 4.0,
    }
    rows = []
    for name in (*variants, "a loop by hand"):
        row = {"how": name}
        if name in seconds:
            row["M rows/s"] = f"{count / seconds[name] / 1e6:.1f}"
            row["GB/s"] = f"{count * ROW / seconds[name] / 1e9:.1f}"
        else:
            row["M rows/s"] = "WRONG RESULT, no time"
        if name in seconds and ours and name in goals:
            row |= {"ours, times as fast": f"{seconds[name] / ours:.2f}", "goal": f">= {goals[name]}"}
        rows.append(row)
    fs.close()
    conditions = {"row": "512 B", "rows": f"{count:,} of {num_rows:,}", "threads": threads, "cache": "warm"}
    report("warm gather", conditions, rows)


def make_items(path, stored):
    """Write rows of small whole numbers, which every type holds exactly."""
    numbers = np.random.default_rng(0).integers(0, 2, (CONVERTED_ROWS, COLUMNS), dtype=np.int8)
    if stored == "quantised":
        scales = np.ones(CONVERTED_ROWS, np.float32)
        with open(path, "wb") as file:
            file.write(files.build(files.gd(numbers, scales=scales)))
    elif stored == "bfloat16":
        gz.write_features(path, rounded_to_bfloat16(numbers.astype(np.float32)), dtype=stored)
    else:
        gz.write_features(path, numbers.astype(stored))
    return numbers


def values(rows, name):
    """The numbers of gathered rows of the type ``name``."""
    return floats_of_bfloat16(rows) if name == "bfloat16" else rows


def conversions():
    ids = np.random.default_rng(1).integers(0, CONVERTED_ROWS, BATCH)
    for stored, wanted in CONVERSIONS:
        numbers = make_items("items.gd", stored)
        fs = gz.FeatureStore("items.gd")
        rows = []
        for threads in (1, 2):
            gz.set_num_threads(threads)
            for name in (fs.dtype, wanted):
                out = fs.gather(ids, reader="mmap", dtype=name)
                row = {"how": "a copy" if name == fs.dtype else f"as {name}", "threads": threads}
                if np.array_equal(values(out, name), numbers[ids]):
                    seconds = best_seconds(lambda: fs.gather(ids, out=out, reader="mmap", dtype=name))  # noqa: B023
                    row["M rows/s"] = f"{BATCH / seconds / 1e6:.1f}"
                    row["GB/s read"] = f"{BATCH * fs.row_bytes / seconds / 1e9:.1f}"
                    row["GB/s written"] = f"{out.nbytes / seconds / 1e9:.1f}"
                else:
                    row["M rows/s"] = "WRONG RESULT, no time"
                rows.append(row)
        fs.close()
        os.unlink("items.gd")
        conditions = {"items": COLUMNS, "rows": f"{BATCH:,} of {CONVERTED_ROWS:,}", "cache": "warm"}
        report(f"{stored} gathered as {wanted}", conditions, rows)


def inside(path, reader, count, num_rows, seconds):
    """Gather cold for some seconds and print what it took; runs inside the control group."""
    fs = gz.FeatureStore(path)
    rng, out = np.random.default_rng(2), np.zeros((count, COLUMNS), np.float32)
    spent, cpu, before = 0.0, 0.0, device_bytes()
    fs.gather([0], reader=reader)  # measures the device, if nobody has
    warm_up = fs.gather_stats()
    while spent < seconds:
        ids = rng.integers(0, num_rows, count)
        begin, cpu_begin = time.perf_counter(), time.process_time()
        fs.gather(ids, out=out, reader=reader)
        spent, cpu = spent + time.perf_counter() - begin, cpu + time.process_time() - cpu_begin
        if not right(out, ids):
            sys.exit("wrong rows")
    stats = fs.gather_stats()
    counts = {name: stats[name] - warm_up[name] for name in ("rows", "unique_rows", "device_reads", "device_bytes")}
    found = {"seconds": spent, "cpu": cpu, "read": device_bytes() - before, "read_gap": stats["read_gap"], **counts}
    print(json.dumps(found | {"reason": stats["reason"]}))


def cold(program, gigabytes, seconds):
    num_rows = int(gigabytes * 1e9) // ROW
    make_file("cold.gd", num_rows)
    size, threads = os.path.getsize("cold.gd"), gz.num_threads()
    group = max(size // 8, SMALLEST_GROUP)
    np.random.default_rng(2).integers(0, num_rows, BATCH).tofile("ids")

    def limited(*command, gap=None):
        drop_from_page_cache("cold.gd")
        extra = [] if gap is None else ["env", f"GRAPHZERO_READ_GAP={gap}"]
        return answer(limited_to(group, [*extra, *map(str, command)]))

    def gathered(reader, count=BATCH, among=num_rows, gap=None):
        command = [sys.executable, os.path.abspath(__file__), "--inside", "cold.gd", reader, count, among, seconds]
        return limited(*command, gap=gap)

    bare = [limited(program, "ring", "cold.gd", t, DEPTH // t, seconds) for t in (1, 2)]
    best = max(bare, key=lambda found: found["reads"] / found["seconds"])
    limit = best["reads"] / best["seconds"]
    by_hand = limited(program, "copy", "cold.gd", DATA_OFFSET, ROW, "ids", threads)
    by_fault = BATCH / by_hand["first"]
    rows = [
        {
            "how": f"device: 4 kB reads, bare io_uring, {1 + bare.index(best)} thread(s)",
            "k rows/s": f"{limit / 1e3:.1f}",
            "k device reads/s": f"{limit / 1e3:.1f}",
            "CPU us per read": f"{best['cpu'] / best['reads'] * 1e6:.2f}",
        },
        {"how": f"a loop by hand, MADV_RANDOM, {threads} thread(s)", "k rows/s": f"{by_fault / 1e3:.1f}"},
    ]
    for name, reader, gap, goal in (
        ("direct, no gaps read", "direct", 0, ">= 0.90 of the bare ring's blocks"),
        ("direct", "direct", None, ">= 0.90 of the bare ring's rows, >= 5 x MADV_RANDOM"),
        ("pread", "pread", None, None),
        ("auto", "auto", None, None),
        ("mmap", "mmap", None, None),
    ):
        found = gathered(reader, gap=gap)
        rate = found["rows"] / found["seconds"]
        row = {
            "how": f"graphzero, {name}",
            "k rows/s": f"{rate / 1e3:.1f}",
            "rows of bare ring": f"{rate / limit:.2f}",
            "x MADV_RANDOM": f"{rate / by_fault:.1f}",
            "device bytes per byte of rows": f"{found['read'] / found['rows'] / ROW:.2f}",
        }
        if gap == 0:
            row["blocks of bare ring"] = f"{found['device_bytes'] / 4096 / found['seconds'] / limit:.2f}"
        if goal:
            row["goal"] = goal
        if found["device_reads"]:
            row["k device reads/s"] = f"{found['device_reads'] / found['seconds'] / 1e3:.1f}"
            row["CPU us per read"] = f"{found['cpu'] / found['device_reads'] * 1e6:.2f}"
            row["read gap"] = found["read_gap"]
        row["note"] = found["reason"]
        rows.append(row)
    conditions = {
        "row": "512 B",
        "file": f"{size / 1e9:.1f} GB",
        "memory group": f"{group / 1e9:.2f} GB",
        "rows a call": f"{BATCH:,}",
        "threads": threads,
        "queue depth": DEPTH,
        "cache": "dropped before each",
    }
    report("cold gather", conditions, rows)

    # Ids that share blocks: four to each, of eight rows.
    count = min(1 << 20, num_rows // 4, group // (2 * ROW))  # what a call gathers fits in the group
    cases = (
        ("uniform rows", BATCH, num_rows, 0, "<= 8.1"),
        ("uniform rows", BATCH, num_rows, None, ""),
        ("a window that shares blocks", count, 2 * count, 0, "< 3"),
        ("a window that shares blocks", count, 2 * count, None, "< 3"),
    )
    rows = []
    for name, how_many, among, gap, goal in cases:
        found = gathered("direct", how_many, among, gap)
        rows.append(
            {
                "what": name,
                "ids at once": f"{how_many:,}",
                "among": f"{among * ROW / 1e9:.2f} GB",
                "read gap": found["read_gap"],
                "bytes read per byte of different rows": f"{found['device_bytes'] / found['unique_rows'] / ROW:.2f}",
                "goal": goal,
                "k rows/s": f"{found['rows'] / found['seconds'] / 1e3:.1f}",
            }
        )
    report("read amplification", conditions, rows)


def main(gigabytes, seconds):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = os.getcwd()  # what reads cost is measured anew
        program = compiled("row_reads", os.getcwd())
        for num_rows, count in WARM:
            make_file("warm.gd", num_rows)  # whose pages stay in the page cache
            for threads in (1, 2):
                warm(program, num_rows, count, threads)
        os.unlink("warm.gd")
        conversions()
        gz.set_num_threads(0)
        cold(program, gigabytes, seconds)
        os.chdir("..")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(*sys.argv[2:4], *map(int, sys.argv[4:6]), float(sys.argv[6]))
    else:
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("gigabytes", type=float, nargs="?", default=8.0)
        parser.add_argument("--quick", action="store_true")
        given = parser.parse_args()
        main(0.5 if given.quick else given.gigabytes, 0.5 if given.quick else 8.0)

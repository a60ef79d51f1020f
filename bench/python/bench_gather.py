"""Gathering rows of 512 bytes, from memory and from a file eight times larger than the memory that may hold it.

    python bench_gather.py [GIGABYTES]

Warm: a file of 512 MB in the page cache, against torch, NumPy and a loop written by hand (bench/cpp/row_reads.cpp).
Cold: a file of so many gigabytes, 8 without a word, in a memory control group of an eighth of it, page cache included,
against the same loop on a MADV_RANDOM mapping and against what the device can do: 4 kB reads at the same queue depth.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from clock import best_seconds
from common import device_bytes, drop_from_page_cache, read_through, report

import graphzero as gz
from cgroups import limited_to
from graphzero import _core

COLUMNS, ROW = 128, 512
BATCH = 100_000
DATA_OFFSET = 4096
DEPTH, SECONDS = 128, 8.0


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


def compiled(folder):
    """Compile the program without graphzero and return its path."""
    source = pathlib.Path(__file__).parents[1] / "cpp" / "row_reads.cpp"
    program = os.path.join(folder, "row_reads")
    subprocess.run(["c++", "-O3", "-std=c++20", "-pthread", os.fspath(source), "-o", program], check=True)
    return program


def answer(command):
    """Return the JSON of a command's last line."""
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def warm(program, threads):
    import torch

    make_file("warm.gd", 1_000_000)
    read_through("warm.gd")
    gz.set_num_threads(threads)
    torch.set_num_threads(threads)
    fs = gz.FeatureStore("warm.gd")
    ids = np.random.default_rng(0).integers(0, fs.num_rows, BATCH)
    ids.tofile("ids")
    tensor, index = fs.as_torch(), torch.from_numpy(ids)
    out = torch.zeros(BATCH, COLUMNS)
    tensor.sum()  # its pages are mapped before the clock starts, as ours are by the first round
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
    rows = [
        {
            "how": name,
            "M rows/s": f"{BATCH / seconds[name] / 1e6:.1f}" if name in seconds else "WRONG RESULT, no time",
            "GB/s": f"{BATCH * ROW / seconds[name] / 1e9:.1f}" if name in seconds else "",
        }
        for name in (*variants, "a loop by hand")
    ]
    conditions = {"row": "512 B", "rows": f"{BATCH:,} of 1,000,000", "threads": threads, "cache": "warm"}
    report("warm gather", conditions, rows)


def inside(path, reader):
    """Gather cold for some seconds and print what it took; runs inside the control group."""
    fs = gz.FeatureStore(path)
    rng, out = np.random.default_rng(2), np.zeros((BATCH, COLUMNS), np.float32)
    seconds, rows, before = 0.0, 0, device_bytes()
    while seconds < SECONDS:
        ids = rng.integers(0, fs.num_rows, BATCH)
        begin = time.perf_counter()
        fs.gather(ids, out=out, reader=reader)
        seconds += time.perf_counter() - begin
        rows += BATCH
        if not right(out, ids):
            sys.exit("wrong rows")
    print(json.dumps({"rows": rows, "seconds": seconds, "read": device_bytes() - before, **fs.gather_stats()}))


def cold(program, gigabytes):
    num_rows = int(gigabytes * 1e9) // ROW
    make_file("cold.gd", num_rows)
    size, threads = os.path.getsize("cold.gd"), gz.num_threads()
    np.random.default_rng(2).integers(0, num_rows, BATCH).tofile("ids")

    def limited(*command):
        drop_from_page_cache("cold.gd")
        return answer(limited_to(size // 8, list(map(str, command))))

    limit = limited(program, "ring", "cold.gd", threads, DEPTH, SECONDS)
    reads_per_second = limit["reads"] / limit["seconds"]
    rows = [{"how": "device: 4 kB reads, io_uring", "k rows/s": f"{reads_per_second / 1e3:.1f}"}]
    for reader in ("auto", "direct", "pread", "mmap"):
        found = limited(sys.executable, os.path.abspath(__file__), "--inside", "cold.gd", reader)
        rate = found["rows"] / found["seconds"]
        row = {
            "how": f'graphzero, reader="{reader}"',
            "k rows/s": f"{rate / 1e3:.1f}",
            "device bytes per byte of rows": f"{found['read'] / found['rows'] / ROW:.2f}",
            "note": found["reason"],
        }
        if found["device_reads"]:
            used = found["device_reads"] / found["seconds"]
            row["k device reads/s"] = f"{used / 1e3:.1f}"
            row["of the device's"] = f"{used / reads_per_second:.2f}"
        rows.append(row)
    by_hand = limited(program, "copy", "cold.gd", DATA_OFFSET, ROW, "ids", threads)
    rows.append({"how": "a loop by hand, MADV_RANDOM", "k rows/s": f"{BATCH / by_hand['first'] / 1e3:.1f}"})
    conditions = {
        "row": "512 B",
        "file": f"{size / 1e9:.1f} GB",
        "memory group": f"{size / 8e9:.2f} GB",
        "rows a call": f"{BATCH:,}",
        "threads": threads,
        "queue depth": DEPTH,
        "cache": "dropped before each",
    }
    report("cold gather", conditions, rows)


def main(gigabytes):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        os.chdir(folder)
        program = compiled(os.getcwd())
        for threads in (1, 2):
            warm(program, threads)
        gz.set_num_threads(0)
        cold(program, gigabytes)
        os.chdir("..")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], sys.argv[3])
    else:
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 8.0)

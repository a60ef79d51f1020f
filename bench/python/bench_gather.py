"""Gathering rows of 512 bytes, from memory and from a file eight times larger than the memory that may hold it.

    python bench_gather.py [GIGABYTES]

Warm: a file of 512 MB in the page cache, against torch, NumPy and a loop written by hand (bench/cpp/row_reads.cpp).
Converted: rows of 128 items in the page cache, in other types than they are stored in, beside a plain copy of each.
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
from common import device_bytes, drop_from_page_cache, report

import files
import graphzero as gz
from cgroups import limited_to
from graphzero import _core
from graphzero.features import floats_of_bfloat16, rounded_to_bfloat16

COLUMNS, ROW = 128, 512
BATCH = 100_000
DATA_OFFSET = 4096
DEPTH, SECONDS = 128, 8.0
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
    gz.set_num_threads(threads)
    torch.set_num_threads(threads)
    fs = gz.FeatureStore("warm.gd")
    ids = np.random.default_rng(0).integers(0, fs.num_rows, BATCH)
    ids.tofile("ids")
    tensor, index = fs.as_torch(), torch.from_numpy(ids)
    out = torch.zeros(BATCH, COLUMNS)
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
        conversions()
        gz.set_num_threads(0)
        cold(program, gigabytes)
        os.chdir("..")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], sys.argv[3])
    else:
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 8.0)

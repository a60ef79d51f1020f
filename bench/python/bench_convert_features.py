"""Converting features: .npy beside cp of the same bytes, text beside the readers of NumPy, pandas and polars.

Both .npy rivals write a new file to the same folder and sync it; the source is in the page cache. Text readers parse
into RAM and write nothing; ours writes the file too.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from common import median_seconds, report

import graphzero as gz

ROWS, COLUMNS = 1 << 20, 256  # 1 GiB of float32
TEXT_ROWS = 1 << 18  # about 300 MB of text with 128 columns


def synced_copy(source, target):
    subprocess.run(["cp", source, target], check=True)
    descriptor = os.open(target, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def remove(path):
    if os.path.exists(path):
        os.remove(path)
    os.sync()


def bench_npy(repeat):
    rows = np.random.default_rng(0).random((ROWS, COLUMNS), dtype=np.float32)
    np.save("x.npy", rows)
    size = os.path.getsize("x.npy")
    table = []
    copy = median_seconds(lambda: synced_copy("x.npy", "y.npy"), repeat=repeat, before=lambda: remove("y.npy"))
    table.append({"what": "cp and fsync", "MB/s": f"{size / copy / 1e6:.0f}", "of cp": "100 %"})
    for dtype in ("float32", "float16", "bfloat16", "int8-quantised"):
        seconds = median_seconds(
            lambda dtype=dtype: gz.convert_features("x.npy", "x.gd", dtype=dtype),
            repeat=repeat,
            before=lambda: remove("x.gd"),
        )
        if not is_right(rows, dtype):
            table.append({"what": f"to {dtype}", "MB/s": "WRONG RESULT, no time"})
            continue
        share = f"{copy / seconds:.0%}".replace("%", " %")
        table.append({"what": f"to {dtype}", "MB/s": f"{size / seconds / 1e6:.0f}", "of cp": share})
    report("convert .npy features", {"cache": "warm", "bytes": size, "repeat": repeat}, table)


def is_right(rows, dtype):
    store = gz.FeatureStore("x.gd", verify="full")
    picked = np.random.default_rng(1).integers(0, len(rows), 1000)
    if dtype in ("float32", "float16"):
        return np.array_equal(store.get_tensor()[picked], rows[picked].astype(dtype))
    if dtype == "bfloat16":
        values = (store.get_tensor()[picked].astype(np.uint32) << 16).view(np.float32)
        return bool((np.abs(values - rows[picked]) <= rows[picked] * 2**-8).all())
    values = store.get_tensor()[picked] * store.scales[picked][:, None]
    return bool((np.abs(values - rows[picked]) <= store.scales[picked][:, None] * 0.5001).all())


def write_text(path, with_ids):
    rows = np.random.default_rng(0).normal(size=(4096, 128))
    lines = [",".join(f"{value:.6f}" for value in row) for row in rows]
    with open(path, "w") as file:
        for start in range(0, TEXT_ROWS, len(lines)):
            ids = (f"{start + i}," if with_ids else "" for i in range(len(lines)))
            file.write("\n".join(map("".join, zip(ids, lines, strict=True))) + "\n")
    return np.array([[np.float32(field) for field in line.split(",")] for line in lines])


RIVALS = {
    "numpy": ("import numpy as np", "np.loadtxt(path, np.float32, delimiter=',')"),
    "pandas": ("import pandas as pd", "pd.read_csv(path, header=None, dtype='float32').to_numpy()"),
    "polars": (
        "import polars as pl; schema = {f'c{i}': pl.Float32 for i in range(128)}",
        "pl.read_csv(path, has_header=False, schema=schema).to_numpy()",
    ),
}


def bench_text(repeat):
    expected = write_text("x.csv", with_ids=False)
    write_text("ids.csv", with_ids=True)
    table = []
    for name, path, options in (
        ("ours, rows in order", "x.csv", {}),
        ("ours, rows by id", "ids.csv", {"id_column": 0}),
        ("ours, to float16", "x.csv", {"dtype": "float16"}),
    ):
        for threads in (1, gz.num_threads()):
            wall, cpu = [], []
            for _ in range(repeat):
                remove("x.gd")
                begin, used = time.perf_counter(), time.process_time()
                gz.convert_features(path, "x.gd", **{"dtype": "float32", **options}, threads=threads)
                wall.append(time.perf_counter() - begin)
                cpu.append(time.process_time() - used)
            found = gz.FeatureStore("x.gd", verify="full").get_tensor()
            wanted = expected.astype(found.dtype)
            right = len(found) == TEXT_ROWS and np.array_equal(found[: len(wanted)], wanted)
            add_text_row(table, name, threads, path, float(np.median(wall)), float(np.median(cpu)), right)
    for name, (setup, code) in RIVALS.items():
        if importlib.util.find_spec(name) is None:
            table.append({"what": name, "MB/s": "not installed"})
            continue
        shown = subprocess.run(
            [sys.executable, "-c", RIVAL.format(setup=setup, code=code)], capture_output=True, text=True, check=True
        )
        seconds, cpu, count, total = map(float, shown.stdout.split())
        right = count == TEXT_ROWS and np.isclose(total, expected.sum(dtype=np.float64), rtol=1e-4)
        add_text_row(table, f"{name}, into RAM", "its own", "x.csv", seconds, cpu, right)
    report("convert text features", {"cache": "warm", "bytes": os.path.getsize("x.csv")}, table)


RIVAL = """
import time
{setup}
path = "x.csv"
begin, used = time.perf_counter(), time.process_time()
found = {code}
print(time.perf_counter() - begin, time.process_time() - used, len(found), found[:4096].astype("float64").sum())
"""


def add_text_row(table, name, threads, path, seconds, cpu, right):
    size = os.path.getsize(path)
    row = {"what": name, "threads": threads}
    if right:
        row |= {"MB/s": f"{size / seconds / 1e6:.0f}", "MB/s per core": f"{size / cpu / 1e6:.0f}"}
    else:
        row |= {"MB/s": "WRONG RESULT, no time"}
    table.append(row)


if __name__ == "__main__":
    small = "--small" in sys.argv  # to see that it works, not how fast
    if small:
        ROWS, TEXT_ROWS = 1 << 14, 1 << 13
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        os.chdir(folder)
        bench_npy(repeat=1 if small else 7)
        bench_text(repeat=1 if small else 5)
        os.chdir("/")

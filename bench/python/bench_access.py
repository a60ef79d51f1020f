"""Cold random rows through a mapping: what access advice does to device bytes and rows per second."""

import mmap
import os
import tempfile
import time

import numpy as np
from common import device_bytes, report

import graphzero as gz
from graphzero._tools.page_cache import drop_from_page_cache

ROWS, COLUMNS = 4_000_000, 128  # 2 GB of float32, 512-byte rows
TOUCHES = 2_000


def main():
    rng = np.random.default_rng(0)
    with_header = np.lib.format.open_memmap("x.npy", mode="w+", dtype=np.float32, shape=(ROWS, COLUMNS))
    for start in range(0, ROWS, 100_000):
        with_header[start : start + 100_000] = np.arange(start, min(start + 100_000, ROWS), dtype=np.float32)[:, None]
    with_header.flush()
    gz.write_features("x.gd", with_header)
    del with_header
    ids = rng.integers(0, ROWS, TOUCHES)
    expected = ids.astype(np.float32)

    def plain(advice):
        tensor = np.memmap("x.gd", dtype=np.float32, mode="r", offset=4096, shape=(ROWS, COLUMNS))
        if advice is not None:
            tensor._mmap.madvise(advice)
        return tensor

    variants = {
        "np.memmap, default advice": lambda: plain(None),
        "np.memmap, MADV_RANDOM by hand": lambda: plain(mmap.MADV_RANDOM),
        'get_tensor(access="normal")': lambda: gz.FeatureStore("x.gd").get_tensor(access="normal"),
        "get_tensor()": lambda: gz.FeatureStore("x.gd").get_tensor(),
    }
    rows = []
    for name, make in variants.items():
        drop_from_page_cache("x.gd")
        tensor = make()
        read_before, begin = device_bytes(), time.perf_counter()
        found = np.array([tensor[i, 0] for i in ids])
        seconds, read = time.perf_counter() - begin, device_bytes() - read_before
        del tensor  # pages that are still mapped would stay in the cache for the next variant
        if not np.array_equal(found, expected):
            rows.append({"how": name, "rows/s": "WRONG RESULT, no time"})
            continue
        rows.append(
            {
                "how": name,
                "rows/s": f"{TOUCHES / seconds:,.0f}",
                "device bytes per 4 kB touched": f"{read / (4096 * TOUCHES):.1f}",
            }
        )
    conditions = {"threads": 1, "cache": "dropped before each", "file": "2.0 GB", "touches": TOUCHES, "row": "512 B"}
    report("access advice", conditions, rows)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=".") as folder:
        os.chdir(folder)
        main()
        os.chdir("..")

"""The checksum of our files: bytes per second of verify, beside the xxhash package and plain reading."""

import hashlib
import os
import tempfile
import zlib

import numpy as np
import xxhash
from common import median_seconds, report

import graphzero as gz

BYTES = 1 << 30


def main():
    data = np.random.default_rng(0).integers(0, 256, BYTES, dtype=np.uint8)
    gz.write_features("x.gd", data)
    tensor = gz.FeatureStore("x.gd").get_tensor(access="sequential")
    ours_is_right = gz.verify("x.gd")[0].holds
    rows = []

    def measure(name, body, right=True):
        if not right:
            rows.append({"what": name, "GB/s": "WRONG RESULT, no time"})
            return
        rows.append({"what": name, "GB/s": f"{BYTES / median_seconds(body, repeat=5) / 1e9:.1f}"})

    measure("gz.verify (map, XXH64, compare)", lambda: gz.verify("x.gd"), ours_is_right)
    measure("xxhash package, XXH64", lambda: xxhash.xxh64_intdigest(tensor))
    measure("xxhash package, XXH3", lambda: xxhash.xxh3_64_intdigest(tensor))
    measure("zlib.crc32", lambda: zlib.crc32(tensor))
    measure("hashlib.blake2b", lambda: hashlib.blake2b(tensor).digest())
    measure("np.sum (reading alone)", lambda: tensor.view(np.uint64).sum())
    report("checksum", {"threads": 1, "cache": "warm", "bytes": BYTES}, rows)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
        os.chdir("/")

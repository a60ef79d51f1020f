"""An edge list of text into lists of neighbours, by the means of others.

Given ``name``, ``source``, ``edges`` (how many it has), ``target``, ``threads``, ``repeat``, and ``result``, the file
that the lists are left in, to be checked; GraphZero 0.2 leaves its own file as ``target``.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from .protocol import answer

Lists = tuple[Any, Any]


def numpy_lists(given: dict[str, Any]) -> Lists:
    """Read with NumPy, sort with NumPy."""
    table = np.loadtxt(given["source"], np.int64, delimiter=",", skiprows=1)
    src, dst = table[:, 0], table[:, 1]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(src, minlength=int(table.max()) + 1))])
    return indptr, dst[np.argsort(src, kind="stable")]


def polars_scipy(given: dict[str, Any]) -> Lists:
    """Read with polars, sort with scipy."""
    os.environ["POLARS_MAX_THREADS"] = str(given["threads"])
    import polars
    import scipy.sparse

    frame = polars.read_csv(given["source"])
    src, dst = (frame[name].to_numpy().astype(np.int32) for name in frame.columns)
    count = int(max(src.max(), dst.max())) + 1
    matrix = scipy.sparse.coo_matrix((np.ones(len(src), np.int8), (src, dst)), shape=(count, count)).tocsr()
    return matrix.indptr, matrix.indices


def graphzero02(given: dict[str, Any]) -> None:
    """Convert with GraphZero 0.2."""
    import graphzero

    graphzero.convert_csv_to_gl(given["source"], given["target"], directed=True)


CONVERTERS = {"NumPy": numpy_lists, "polars + scipy": polars_scipy, "GraphZero 0.2": graphzero02}


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """Convert a number of times."""
    runs = []
    for _ in range(given["repeat"]):
        begin = time.perf_counter()
        lists = CONVERTERS[given["name"]](given)
        runs.append(given["edges"] / (time.perf_counter() - begin))
    if lists is not None:
        np.savez(given["result"], indptr=lists[0], indices=lists[1])
    return {"runs": runs}


if __name__ == "__main__":
    answer(measure)

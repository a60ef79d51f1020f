"""An edge list of text into lists of neighbours, by the means of others.

Given ``name``, ``source``, ``nodes`` and ``edges`` (how many it has), ``target``, ``threads``, ``repeat``, and
``result``, the file that the lists are left in, to be checked; GraphZero 0.2 leaves its own file as ``target``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .protocol import answer

Lists = tuple[Any, Any]
Converter = Callable[[], Lists | None]


def numpy_lists(given: dict[str, Any]) -> Converter:
    """Read with NumPy, sort with NumPy."""

    def convert() -> Lists:
        table = np.loadtxt(given["source"], np.int64, delimiter=",", skiprows=1)
        src, dst = table[:, 0], table[:, 1]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(src, minlength=given["nodes"]))])
        return indptr, dst[np.argsort(src, kind="stable")]

    return convert


def scipy_lists(src: Any, dst: Any, nodes: int) -> Lists:
    """Sort by counting, with scipy."""
    import scipy.sparse

    matrix = scipy.sparse.coo_matrix((np.ones(len(src), np.int8), (src, dst)), shape=(nodes, nodes))
    matrix.has_canonical_format = True  # else it sorts each list and adds up parallel edges, which nobody asked for
    lists = matrix.tocsr()
    return lists.indptr, lists.indices


def polars_scipy(given: dict[str, Any]) -> Converter:
    """Read with polars, which is told the types and so infers none; sort with scipy."""
    os.environ["POLARS_MAX_THREADS"] = str(given["threads"])
    import polars
    import scipy.sparse  # noqa: F401, not on the clock

    dtype = polars.Int32 if given["nodes"] <= np.iinfo(np.int32).max else polars.Int64

    def convert() -> Lists:
        frame = polars.read_csv(given["source"], schema={"src": dtype, "dst": dtype})
        return scipy_lists(frame["src"].to_numpy(), frame["dst"].to_numpy(), given["nodes"])

    return convert


def graphzero02(given: dict[str, Any]) -> Converter:
    """Convert with GraphZero 0.2."""
    import graphzero

    return lambda: graphzero.convert_csv_to_gl(given["source"], given["target"], directed=True)


CONVERTERS = {"NumPy": numpy_lists, "polars + scipy": polars_scipy, "GraphZero 0.2": graphzero02}


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """Convert a number of times."""
    convert = CONVERTERS[given["name"]](given)
    runs = []
    for _ in range(given["repeat"]):
        begin = time.perf_counter()
        lists = convert()
        runs.append(given["edges"] / (time.perf_counter() - begin))
    if lists is not None:
        np.savez(given["result"], indptr=lists[0], indices=lists[1])
    return {"runs": runs}


if __name__ == "__main__":
    answer(measure)

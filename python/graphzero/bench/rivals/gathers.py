"""Random rows by the means of others: np.memmap, and torch with everything in RAM.

Given ``name``, ``features``, a file of float32 rows, ``columns``, ``ids``, ``cold``, ``rows_at_once``, ``threads``,
``seconds``, and ``result``, the file that rows are left in, to be checked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .clock import rates_of
from .protocol import answer, device_bytes, wait_for_limit


def memmap(given: dict[str, Any]) -> Callable[[Any], Any]:
    """Index a mapped array, as people do."""
    rows = np.memmap(given["features"], np.float32, "r").reshape(-1, given["columns"])
    if not given["cold"]:
        rows.sum()
    return lambda ids: np.asarray(rows[ids])


def torch_in_ram(given: dict[str, Any]) -> Callable[[Any], Any]:
    """Select from a tensor that was loaded."""
    import torch

    torch.set_num_threads(given["threads"])
    rows = torch.from_numpy(np.fromfile(given["features"], np.float32).reshape(-1, given["columns"]))
    return lambda ids: torch.index_select(rows, 0, torch.from_numpy(ids)).numpy()


GATHERS = {"np.memmap": memmap, "torch, all in RAM": torch_in_ram}


def measure_cold(gather: Callable[[Any], Any], given: dict[str, Any]) -> dict[str, Any]:
    """Gather ids that were not asked for before, a number of them at once, until they or the time are over."""
    ids = np.load(given["ids"])
    wait_for_limit(given)
    done, step, read_before, begin = 0, given["rows_at_once"], device_bytes(), time.perf_counter()
    while done < len(ids) and time.perf_counter() - begin < given["seconds"]:
        part = ids[done : done + step]
        rows = gather(part)
        done += len(part)
    seconds, read = time.perf_counter() - begin, device_bytes()
    np.savez(given["result"], ids=part, rows=rows)
    found = {"runs": [done / seconds], "seconds": seconds}
    return found if read is None or read_before is None else found | {"device_bytes": read - read_before}


def measure_warm(gather: Callable[[Any], Any], given: dict[str, Any]) -> dict[str, Any]:
    """Gather the same ids again and again."""
    ids = np.load(given["ids"])
    np.savez(given["result"], ids=ids, rows=gather(ids))
    return {"runs": rates_of(lambda: gather(ids), len(ids), given["seconds"])}


def measure(given: dict[str, Any]) -> dict[str, Any]:
    """Gather as it was asked for."""
    gather = GATHERS[given["name"]](given)
    return measure_cold(gather, given) if given["cold"] else measure_warm(gather, given)


if __name__ == "__main__":
    answer(measure)

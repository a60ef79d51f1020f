"""One batch for given positions among the seeds: ``loader([0, 1])``."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import get_worker_info

from graphzero._base.argument_errors import value_error
from graphzero._base.arrays import as_numpy, int64_vector
from graphzero._core import Key, Purpose
from graphzero._inputs.batch_order import BatchOrder
from graphzero._inputs.pipeline_request import PipelineRequest
from graphzero.loaders._process.keys import torch_seed
from graphzero.pipeline import Batch, Pipeline


class IndexCalls:
    """A pipeline whose batches are asked for one by one. Each call draws anew, by the seed and its number."""

    def __init__(self, request: PipelineRequest, rank: int, number: int) -> None:
        self._asked: list[NDArray[np.int64]] = []
        self._process = os.getpid()
        self._one_at_a_time = threading.RLock()
        # Copies in workers count alike, and torch seeds each of them.
        key = Key(request.sample.seed, Purpose.INDEX_CALLS).with_word(rank)
        seed = key.state if get_worker_info() is None else torch_seed()
        # Batches are asked for one at a time, so that nothing is made ahead and no rows are kept.
        alone = replace(
            request,
            sample=request.sample.with_seed(seed),
            order=BatchOrder(1, batches=self._asked),
            rank=0,
            world_size=1,
            drop_uneven_inputs=False,
            cache=0,
            ahead=1,
            threads=1,
            progress=False,
        )
        self._pipeline = Pipeline._of_request(alone)
        self._pipeline.set_epoch(number)

    @property
    def is_of_this_process(self) -> bool:
        """Whether it was made here, and not before a fork."""
        return self._process == os.getpid()

    def batch(self, places: NDArray[np.int64]) -> Batch:
        """Make the batch of some positions."""
        with self._one_at_a_time:
            self._asked[:] = [places]
            (batch,) = self._pipeline
            return batch

    def close(self) -> None:
        """Free all memory."""
        self._pipeline.close()


def places_of(index: Any, num_seeds: int) -> NDArray[np.int64]:
    """Read positions among the seeds: integers that may count from the end, a mask, or a slice."""
    if isinstance(index, slice):
        return np.arange(*index.indices(num_seeds), dtype=np.int64)
    array = as_numpy(index, "index")
    if array.dtype == np.bool_:
        if array.shape != (num_seeds,):
            raise value_error("index", f"expected a mask of {num_seeds} seeds, found shape {array.shape}")
        return np.flatnonzero(array)
    places = int64_vector(array, "index")
    if len(places) == 0:
        raise value_error("index", "expected at least one place among the seeds, found none")
    outside = (places < -num_seeds) | (places >= num_seeds)
    if outside.any():
        at = int(np.argmax(outside))
        raise IndexError(f"index[{at}]: expected a place below {num_seeds}, the number of seeds, found {places[at]}")
    return np.where(places < 0, places + num_seeds, places)

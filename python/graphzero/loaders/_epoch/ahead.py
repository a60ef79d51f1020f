"""Batches whose rows come from several hosts, made ahead by a thread."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Generator, Iterator

from graphzero._base.argument_errors import value_error
from graphzero._base.memory_sizes import byte_text
from graphzero.loaders._exchange.service import memory_to_send
from graphzero.loaders._exchange.shared_rows import PendingRows, SharedRows
from graphzero.pipeline import Batch

_MEGABYTE = 1_000_000


def memory_of_samples(total: int) -> int:
    """Return the part of a budget that is for samples, and for rows that hosts do not divide."""
    return total - total // 2


def memory_of_rows(total: int) -> int:
    """Return the part of a budget that is for batches whose rows hosts divide, begun or finished."""
    return total // 2 - memory_to_send(total)


class AheadBatches(Iterator[Batch]):
    """Takes batches of a pipeline, and gives them out in order once they have their rows.

    Those that wait hold no more than their part of ``memory`` bytes, and are no more than ``most``, if that is given.
    """

    def __init__(self, batches: Generator[Batch, None, None], rows: SharedRows, memory: int, most: int | None) -> None:
        self._process = os.getpid()
        self._batches = batches
        self._rows = rows
        self._total = memory
        self._memory = memory_of_rows(memory)
        self._most = most
        self._changed = threading.Condition()
        self._made: deque[tuple[Batch, int]] = deque()
        self._held = 0  # bytes of all batches that were begun and not taken
        self._num_held = 0
        self._stopped = threading.Event()
        self._is_over = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="graphzero rows", daemon=True)
        self._thread.start()

    def __next__(self) -> Batch:
        if os.getpid() != self._process:  # the thread that makes batches is there
            raise RuntimeError("this iteration is that of another process: begin one of this process")
        with self._changed:
            while not self._made and not self._is_over and not self._stopped.is_set():
                self._changed.wait()
            if self._stopped.is_set():
                raise RuntimeError(
                    "this iteration is over: another one began, or the loader was set to another place or closed"
                )
            if self._made:
                batch, size = self._made.popleft()
                self._held -= size
                self._num_held -= 1
                self._changed.notify_all()
                return batch
        self._thread.join()
        if self._error is not None:
            raise self._error
        raise StopIteration

    @property
    def held(self) -> int:
        """Bytes of batches that were begun and not taken."""
        return self._held

    def is_ready(self) -> bool:
        """Whether a batch, or the end, can be had without waiting."""
        return bool(self._made) or self._is_over

    def close(self) -> None:
        """End the thread; the pipeline is free for another iteration then."""
        if os.getpid() != self._process:
            return
        with self._changed:
            self._stopped.set()
            self._made.clear()
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._make()
        except BaseException as error:  # the caller's thread raises it
            self._error = error
        finally:
            self._batches.close()
            with self._changed:
                self._is_over = True
                self._changed.notify_all()

    def _make(self) -> None:
        pending: tuple[Batch, PendingRows, int] | None = None
        for batch in self._batches:
            size = self._rows.nbytes(batch)
            if size > self._memory:
                raise _too_small(size, self._total)
            if pending is not None and not self._has_room(size):
                self._finish(*pending)
                pending = None
            if not self._wait_for_room(size):
                return
            begun = self._rows.begin(batch)
            if pending is not None:
                self._finish(*pending)
            pending = batch, begun, size
        if pending is not None:
            self._finish(*pending)

    def _has_room(self, size: int) -> bool:
        return self._held == 0 or (
            self._held + size <= self._memory and (self._most is None or self._num_held < self._most)
        )

    def _wait_for_room(self, size: int) -> bool:
        """Wait until a batch of this size fits; returns whether it does, not that all is over."""
        with self._changed:
            while not self._has_room(size) and not self._stopped.is_set():
                self._changed.wait()
            self._held += size
            self._num_held += 1
        return not self._stopped.is_set()

    def _finish(self, batch: Batch, rows: PendingRows, size: int) -> None:
        found = rows.finish(self._stopped)
        if found is None:
            return
        with self._changed:
            self._made.append((self._rows.joined(batch, found), size))
            self._changed.notify_all()


def _too_small(size: int, total: int) -> ValueError:
    least = -(-size // _MEGABYTE)
    while memory_of_rows(least * _MEGABYTE) < size:
        least += -(-least // 8)
    return value_error(
        "memory",
        f"expected at least {least} MB, found {byte_text(total)}, of which {byte_text(memory_of_rows(total))} are for "
        f"batches whose rows hosts divide: one takes {byte_text(size)}; give more, or use smaller batches or fanouts",
    )

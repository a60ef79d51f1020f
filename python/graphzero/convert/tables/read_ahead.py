"""The next item of an iterator is made by a thread while the last one is used."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def read_ahead(items: Iterable[T]) -> Iterator[T]:
    """Yield the items in order. At most one is ready and one is being made beside the one in use."""
    ready: queue.Queue[tuple[T | None, BaseException | None, bool]] = queue.Queue(1)
    stopped = threading.Event()

    def put(entry: tuple[T | None, BaseException | None, bool]) -> bool:
        while not stopped.is_set():
            try:
                ready.put(entry, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def make() -> None:
        try:
            for item in items:
                if not put((item, None, False)):
                    return
        except BaseException as error:
            put((None, error, True))
        else:
            put((None, None, True))

    maker = threading.Thread(target=make, name="graphzero read ahead", daemon=True)
    maker.start()
    try:
        while True:
            item, error, is_last = ready.get()
            if error is not None:
                raise error
            if is_last:
                return
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        maker.join()

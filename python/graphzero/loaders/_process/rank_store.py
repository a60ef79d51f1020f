"""The store of torch.distributed, where ranks have met and leave things for each other."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

import torch

from graphzero.loaders._process.notes import warn

Answer = TypeVar("Answer")

# After so long a rank says whom it waits for; it waits as long as the process group does.
WARN_S = 10.0
_KEEPER = "the process that keeps the store of torch.distributed, of rank 0 or of torchrun,"


class RankStore:
    """Asks the store in calls that end, also if the process that keeps it is gone or does not answer.

    Errors say that it was gone before this rank knew that all of them ``had`` done something. An answer may take
    ``timeout_s`` seconds; ``None``: as long as ranks said when they met. A thread asks, as torch waits without end; an
    interpreter that ends can begin no other.
    """

    def __init__(self, had: str, timeout_s: float | None = None) -> None:
        self._before = f"this rank knew that all had {had}"
        self.shared: Any = torch.distributed.distributed_c10d._get_default_store()
        #: How long ranks wait for each other.
        self.patience_s: float = self.shared.timeout.total_seconds()  # type: ignore[attr-defined, unused-ignore]
        self._timeout_s = self.patience_s if timeout_s is None else timeout_s
        self._questions: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=_ask, args=(self._questions,), name="graphzero store", daemon=True).start()
        # Not when the interpreter ends: ranks take leave after that.
        weakref.finalize(self, self._questions.put, None).atexit = False
        if hasattr(self.shared, "clone"):
            # A connection of its own: one thread's question would keep another's waiting.
            self.shared = self._answer(self.shared.clone)

    def add(self, key: str, amount: int) -> int:
        """Add to a number, and return the sum."""
        return self._answer(lambda: int(self.shared.add(key, amount)))

    def set(self, key: str, value: str) -> None:
        """Leave a text."""
        self._answer(lambda: self.shared.set(key, value))

    def get(self, key: str) -> str:
        """Return a text that is there."""
        return self._answer(lambda: str(self.shared.get(key).decode()))

    def has(self, key: str) -> bool:
        """Whether something is there."""
        return self._answer(lambda: bool(self.shared.check([key])))

    def wait_until(
        self, is_there: Callable[[], bool], waiting: Callable[[], str], expected: Callable[[float], str]
    ) -> None:
        """Wait as long as ranks do; a warning says what for if it takes long, and an error in the end."""
        begin, pause, said = time.monotonic(), 0.01, False
        while not is_there():
            waited = time.monotonic() - begin
            if waited > self.patience_s:
                raise TimeoutError(expected(waited))
            if waited > WARN_S and not said:
                warn(waiting())
                said = True
            time.sleep(pause)  # not a blocking call of the store, which would keep other threads from it
            pause = min(2 * pause, 0.5)

    def _answer(self, ask: Callable[[], Answer]) -> Answer:
        answers: list[Answer] = []
        errors: list[BaseException] = []
        is_there = threading.Event()

        def run() -> None:
            try:
                answers.append(ask())
            except BaseException as error:
                errors.append(error)
            is_there.set()

        self._questions.put(run)
        if not is_there.wait(self._timeout_s):
            raise TimeoutError(f"{_KEEPER} has not answered for {self._timeout_s:.0f} s, before {self._before}")
        if errors and isinstance(errors[0], torch.distributed.DistError):
            first, *_ = str(errors[0]).splitlines() or [""]
            raise ConnectionError(
                f"{_KEEPER} was gone before {self._before}: {first}; a script that ends the group of its ranks does so "
                "after the first epoch has begun on all of them"
            )
        if errors:
            raise errors[0]
        return answers[0]


def _ask(questions: SimpleQueue[Callable[[], None] | None]) -> None:
    for ask in iter(questions.get, None):
        ask()
        del ask  # it refers to the store, whose end ends this thread

"""Files and folders that get their names. Windows refuses while another program has one of them open for a moment."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

_LONGEST = 2.0  # seconds in which a virus scanner has looked at a new file, or a mapping is gone
_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 0.2


def is_kept(error: OSError) -> bool:
    """Whether Windows keeps the file or folder because something uses it: access denied, shared, or mapped."""
    return getattr(error, "winerror", None) in (5, 32, 1224)


def rename(old: str, new: str) -> None:
    """``os.rename``, tried again while Windows keeps one of the two."""
    _until_let_go(lambda: os.rename(old, new))


def replace(old: str, new: str) -> None:
    """``os.replace``, tried again while Windows keeps one of the two."""
    _until_let_go(lambda: os.replace(old, new))


def _until_let_go(change: Callable[[], None]) -> None:
    end = time.monotonic() + _LONGEST
    pause = _FIRST_PAUSE
    while True:
        try:
            change()
            return
        except OSError as error:
            if not is_kept(error) or time.monotonic() + pause > end:
                raise
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)

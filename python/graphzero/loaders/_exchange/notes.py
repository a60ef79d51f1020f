"""What ranks say to all others when they leave."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from graphzero.loaders._exchange.wire import PeerLost

# Of a text in a note. All of a note fits into what the system keeps for a connection.
_MOST_CHARACTERS = 300
# How long a note may take that was written before its sender closed a connection, on a machine that is busy.
_NOTE_S = 2.0


class Notes:
    """Why a rank leaves, or whom it waited for in vain: a line of JSON, through connections that carry nothing else."""

    def __init__(self, connections: Mapping[int, socket.socket], rank: int) -> None:
        self._connections = dict(connections)
        self._rank = rank
        self._heard = dict.fromkeys(self._connections, b"")
        self._ended: set[int] = set()  # ranks that say no more

    def tell(self, **note: Any) -> None:
        """Say something to all others, as far as they are there. It is the last that this rank says."""
        short = {name: value[:_MOST_CHARACTERS] if isinstance(value, str) else value for name, value in note.items()}
        line = json.dumps(short).encode() + b"\n"
        for connection in self._connections.values():
            with suppress(OSError):  # it is gone
                connection.send(line)
                connection.shutdown(socket.SHUT_WR)

    def culprit(self, lost: PeerLost) -> tuple[PeerLost, str]:
        """Return whom the rank that this one lost had lost before, and why that one left."""
        seen, end = {self._rank}, time.monotonic() + _NOTE_S
        found = lost
        while time.monotonic() < end and found.rank not in seen:
            note = self._of(found.rank)
            if note is None and found.rank in self._ended:
                return found, ""
            if note is None:
                time.sleep(0.02)
                continue
            if "ended" in note:
                return found, f": {note['ended']}"
            seen.add(found.rank)
            found = PeerLost(int(note["waited for"]), silent_s=note["silent"])
        return found, ""

    def _of(self, rank: int) -> dict[str, Any] | None:
        try:
            while rank not in self._ended:
                more = self._connections[rank].recv(4096)
                self._heard[rank] += more
                if not more:
                    self._ended.add(rank)
        except BlockingIOError:
            pass
        except OSError:
            self._ended.add(rank)
        line, is_whole, _ = self._heard[rank].partition(b"\n")
        found: dict[str, Any] | None = json.loads(line) if is_whole else None
        return found

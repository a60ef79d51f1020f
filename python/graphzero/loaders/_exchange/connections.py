"""Connections between ranks: two for each pair, one for rows and one for what a rank says when it leaves."""

from __future__ import annotations

import hmac
import os
import secrets
import selectors
import socket
import struct
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from graphzero._base.argument_errors import value_error
from graphzero.loaders._exchange.wire import PeerLost

ROWS, NOTES = range(2)
# The first words of whoever connects: the listener's token, its own rank, and what the connection is for.
_HELLO = struct.Struct("<16sIB")
# Ranks that have all come notice it within half a second, but their machines may be busy.
_CONNECT_S = 15.0
# Who connects and says nothing is forgotten when so many more than there are ranks have come.
_MOST_STRANGERS = 256
# How many strangers may connect before this rank looks.
_BACKLOG = 128


# Those that have been made in this process.
_open: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _close_in_child() -> None:
    """Let a process that was forked, such as a worker, not keep connections open when the rank is gone."""
    for each in _open:
        each.close()


if sys.platform != "win32":  # which does not fork
    os.register_at_fork(after_in_child=_close_in_child)


class Listener:
    """Waits for other ranks at an address of this host; they are told ``address``."""

    def __init__(self, host: str, world_size: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, 0), family=family, backlog=2 * world_size + _BACKLOG)
        self._most_waiting = 2 * world_size + _MOST_STRANGERS
        self._token = secrets.token_bytes(16)
        self.address: dict[str, Any] = {
            "host": host,
            "port": self._socket.getsockname()[1],
            "token": self._token.hex(),
        }

    def join(
        self, rank: int, addresses: Sequence[Mapping[str, Any]], timeout_s: float
    ) -> tuple[dict[int, socket.socket], dict[int, socket.socket]]:
        """Return connections with all other ranks, for rows and for notes. Nobody is waited for after that.

        If one does not come, the others see that this rank is gone.
        """
        found: dict[tuple[int, int], socket.socket] = {}
        others = [other for other in range(len(addresses)) if other != rank]
        try:
            self._find(found, rank, others, addresses, max(timeout_s, _CONNECT_S))
            for each in found.values():
                each.setblocking(False)
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException:
            for each in found.values():
                each.close()
            raise
        finally:
            self.close()
        _open.update(found.values())
        rows, notes = ({other: found[other, purpose] for other in others} for purpose in (ROWS, NOTES))
        return rows, notes

    def _find(
        self,
        found: dict[tuple[int, int], socket.socket],
        rank: int,
        others: Sequence[int],
        addresses: Sequence[Mapping[str, Any]],
        patience_s: float,
    ) -> None:
        end = time.monotonic() + patience_s
        for other in others:
            if _connects(rank, other, addresses):
                for purpose in (ROWS, NOTES):
                    found[other, purpose] = _connected(rank, other, purpose, addresses[other], end)
        missing = {(other, purpose) for other in others for purpose in (ROWS, NOTES)} - found.keys()
        self._socket.setblocking(False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            said: dict[socket.socket, bytes] = {}  # of those that have not said all yet; strangers may never do
            try:
                while missing:
                    left = end - time.monotonic()
                    if left <= 0:
                        raise PeerLost(min(missing)[0], silent_s=patience_s)
                    for key, _ in selector.select(left):
                        if key.fileobj is self._socket:
                            self._accept(selector, said)
                        else:
                            self._hear(selector, said, key.fileobj, found, missing)
            finally:
                for stranger in said:
                    stranger.close()

    def _accept(self, selector: selectors.BaseSelector, said: dict[socket.socket, bytes]) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:  # it is gone again
            return
        connection.setblocking(False)
        if len(said) >= self._most_waiting:
            oldest = next(iter(said))
            selector.unregister(oldest)
            said.pop(oldest)
            oldest.close()
        said[connection] = b""
        selector.register(connection, selectors.EVENT_READ)

    def _hear(
        self,
        selector: selectors.BaseSelector,
        said: dict[socket.socket, bytes],
        connection: Any,
        found: dict[tuple[int, int], socket.socket],
        missing: set[tuple[int, int]],
    ) -> None:
        """Read the first words of whoever has connected, as far as they have come."""
        try:
            more = connection.recv(_HELLO.size - len(said[connection]))
        except BlockingIOError:
            return
        except OSError:
            more = b""
        said[connection] += more
        if more and len(said[connection]) < _HELLO.size:
            return
        selector.unregister(connection)
        words = said.pop(connection)
        token, other, purpose = _HELLO.unpack(words) if len(words) == _HELLO.size else (b"", 0, 0)
        if not hmac.compare_digest(token, self._token) or (other, purpose) not in missing:
            connection.close()
            return
        missing.remove((other, purpose))
        found[other, purpose] = connection

    def close(self) -> None:
        """Let nobody connect any more."""
        self._socket.close()


def _connects(rank: int, other: int, addresses: Sequence[Mapping[str, Any]]) -> bool:
    """Whether this rank connects to another, and not the other way.

    Many a host calls itself 127.0.0.1, where only its own ranks reach it: it connects to those that do not.
    """
    here, there = (_is_loopback(addresses[one]["host"]) for one in (rank, other))
    return here if here != there else rank > other


def _is_loopback(host: str) -> bool:
    return host.startswith("127.") or host == "::1"


def _connected(rank: int, other: int, purpose: int, address: Mapping[str, Any], end: float) -> socket.socket:
    made = None
    try:
        made = socket.create_connection((address["host"], address["port"]), max(0.01, end - time.monotonic()))
        made.sendall(_HELLO.pack(bytes.fromhex(address["token"]), rank, purpose))
    except OSError as error:
        if made is not None:
            made.close()
        problem = (
            f"{address['host']} port {address['port']} cannot be reached: {error}; GLOO_SOCKET_IFNAME on its host "
            "names the network interface that others reach it by"
        )
        raise PeerLost(other, problem=problem) from None
    return made


def own_address(store: Any) -> str:
    """Return the address of this host that leads to the others.

    It is that of the interface which GLOO_SOCKET_IFNAME names, as for torch.distributed itself; else the one from which
    this host reaches the store where the ranks have met.
    """
    name = os.environ.get("GLOO_SOCKET_IFNAME")
    if name:
        return _address_of_interface(name.split(",")[0])
    for host in (_host_of(store), os.environ.get("MASTER_ADDR"), socket.gethostname()):
        if host:
            with suppress(OSError):
                return _address_towards(host)
    return "127.0.0.1"


def _host_of(store: Any) -> str | None:
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    found: str | None = getattr(store, "host", None)
    return found


def _address_towards(host: str) -> str:
    family, kind, protocol, _, address = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as datagrams:
        datagrams.connect(address)  # sends nothing
        found: str = datagrams.getsockname()[0]
        return found


def _address_of_interface(name: str) -> str:
    """Return the address of a network interface, where the system tells it as Linux does."""
    try:
        import fcntl

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            found = fcntl.ioctl(any_socket, 0x8915, struct.pack("256s", name.encode()[:15]))  # SIOCGIFADDR
    except (ImportError, OSError) as error:
        there = ", ".join(sorted(each for _, each in socket.if_nameindex()))
        raise value_error(
            "GLOO_SOCKET_IFNAME", f"expected a network interface with an address, of {there}, found {name!r} ({error})"
        ) from None
    return socket.inet_ntoa(found[20:24])

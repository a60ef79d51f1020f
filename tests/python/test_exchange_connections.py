"""Connections between ranks that exchange rows: strangers, silence, wrong addresses and messages of another kind."""

import contextlib
import socket
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from graphzero.loaders._exchange import connections, service
from graphzero.loaders._exchange import wire as wire_module
from graphzero.loaders._exchange.connections import Listener, own_address
from graphzero.loaders._exchange.group_wire import GroupFailed, GroupWire
from graphzero.loaders._exchange.notes import Notes
from graphzero.loaders._exchange.wire import _FRAME, HEADER, IDS, ROWS, PeerLost, Wire

STORE = SimpleNamespace(host="127.0.0.1")
SOON_S = 0.3
LONG_S = 20


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(connections, "_CONNECT_S", SOON_S)


def joined(count, meanwhile=lambda listeners: None, addresses=None):
    """Join ranks that are threads; return the connections of each for rows and for notes, or what it raised."""
    listeners = [Listener("127.0.0.1", count) for _ in range(count)]
    meanwhile(listeners)
    told = addresses(listeners) if addresses else [listener.address for listener in listeners]
    found = [None] * count

    def join(rank):
        try:
            found[rank] = listeners[rank].join(rank, told, LONG_S)
        except PeerLost as lost:
            found[rank] = lost

    threads = [threading.Thread(target=join, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.fixture
def pair():
    """The wires of two ranks, and their notes."""
    first, second = joined(2)
    wires = [Wire(rows, SOON_S) for rows, _ in (first, second)]
    notes = [Notes(each, rank) for rank, (_, each) in enumerate((first, second))]
    yield wires, notes
    for wire in wires:
        wire.close()
    for _, each in (first, second):
        for connection in each.values():
            connection.close()


def test_all_ranks_are_connected_with_all_others():
    found = joined(4)
    for rank, (rows, notes) in enumerate(found):
        for other in set(range(4)) - {rank}:
            rows[other].setblocking(True)
            rows[other].sendall(bytes([rank, other]))
            notes[other].setblocking(True)
            notes[other].sendall(bytes([100 + rank, other]))
    for rank, (rows, notes) in enumerate(found):
        for other in set(range(4)) - {rank}:
            assert rows[other].recv(2) == bytes([other, rank])
            assert notes[other].recv(2) == bytes([100 + other, rank])
            rows[other].close()
            notes[other].close()


def test_strangers_do_not_disturb(monkeypatch):
    """Many say nothing, some other things, or words of a rank without the token, or leave at once."""
    monkeypatch.setattr(connections, "_MOST_STRANGERS", 20)
    strangers = []

    def connect(listeners):
        address = listeners[0].address
        for words in (*[b""] * 40, b"half", b"GET / HTTP/1.1\r\n\r\n" + bytes(20), bytes(16) + b"\1\0\0\0\0", None):
            stranger = socket.create_connection((address["host"], address["port"]))
            stranger.sendall(words or b"")
            if words is None:
                stranger.close()
            strangers.append(stranger)

    found = joined(2, connect)
    for rank, (rows, notes) in enumerate(found):
        assert set(rows) == set(notes) == {1 - rank}
        for each in (*rows.values(), *notes.values()):
            each.close()
    for stranger in strangers:
        stranger.close()


def test_time_in_which_a_process_is_stopped_is_no_silence(monkeypatch):
    moments = iter([0.0, 0.4, 0.8, 1000.8, 1001.2])
    monkeypatch.setattr(wire_module, "time", SimpleNamespace(monotonic=lambda: next(moments)))
    clock = wire_module.Clock()
    assert [round(clock.now(), 3) for _ in range(4)] == [0.4, 0.8, 1.8, 2.2]


def test_a_rank_that_others_have_given_up_says_so_of_itself(pair):
    _, notes = pair
    notes[1].tell(**{"waited for": 0, "silent": 4.0})
    lost, why = notes[0].culprit(PeerLost(1))
    assert (lost.rank, lost.silent_s, why) == (0, 4.0, "")


def test_why_a_process_ends():
    """Multiprocessing takes leave while an error is on its way; torch's puts an exit status in its place."""
    assert service._why_it_ends() is None
    for error, why in ((KeyError("x"), "it ended with KeyError: 'x'"), (SystemExit(0), None), (SystemExit(), None)):
        try:
            raise error
        except BaseException:
            assert service._why_it_ends() == why
    try:
        sys.exit(3)
    except SystemExit:
        assert service._why_it_ends() == "it ended with exit status 3"
    try:
        try:
            raise KeyError("x")
        except KeyError:
            sys.exit(1)
    except SystemExit:
        assert service._why_it_ends() == "it ended with KeyError: 'x'"


def test_a_rank_that_nobody_reaches_is_named():
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    wrong = {"host": "127.0.0.1", "port": port, "token": "00" * 16}
    listener = Listener("127.0.0.1", 2)
    with (
        contextlib.closing(listener),
        pytest.raises(PeerLost, match=rf"127\.0\.0\.1 port {port} cannot be .+IFNAME") as lost,
    ):
        listener.join(1, [wrong, listener.address], SOON_S)
    assert lost.value.rank == 0
    assert lost.value.silent_s is None


def test_a_rank_that_does_not_connect_is_named():
    listener, other = Listener("127.0.0.1", 2), Listener("127.0.0.1", 2)
    with contextlib.closing(other), contextlib.closing(listener), pytest.raises(PeerLost) as lost:
        listener.join(0, [listener.address, other.address], SOON_S)
    assert (lost.value.rank, lost.value.silent_s) == (1, SOON_S)


def test_a_rank_that_gives_up_leaves_nothing_open():
    """Those that have reached it, and those that it has reached, would take it for a rank that is only silent."""
    listeners = [Listener("127.0.0.1", 3) for _ in range(3)]
    first, _, last = listeners
    with contextlib.closing(first), contextlib.closing(last), contextlib.ExitStack() as opened:
        hello = connections._HELLO.pack(bytes.fromhex(listeners[1].address["token"]), 2, connections.ROWS)
        came = opened.enter_context(socket.create_connection(("127.0.0.1", listeners[1].address["port"])))
        came.sendall(hello)
        with pytest.raises(PeerLost) as lost:  # it keeps what the call had in its hands
            listeners[1].join(1, [listener.address for listener in listeners], SOON_S)
        assert lost.value.rank == 2
        reached = [opened.enter_context(first._socket.accept()[0]) for _ in range(2)]
        for connection in (came, *reached):
            connection.settimeout(LONG_S)
            while connection.recv(100):
                pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", listeners[1].address["port"]))


@pytest.mark.parametrize("rank", [0, 1])
def test_who_calls_itself_127_connects_to_those_that_do_not(rank):
    addresses = [{"host": "127.0.1.1"}, {"host": "10.0.0.2"}]
    assert connections._connects(rank, 1 - rank, addresses) == (rank == 0)
    assert connections._connects(rank, 1 - rank, addresses[::-1]) == (rank == 1)
    assert connections._connects(rank, 1 - rank, [addresses[0]] * 2) == (rank == 1)


def test_the_address_is_that_of_the_way_to_the_store(monkeypatch):
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    assert own_address(SimpleNamespace(underlying_store=STORE)) == "127.0.0.1"
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    assert own_address(SimpleNamespace()) == "127.0.0.1"
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    assert own_address(SimpleNamespace(host="10.1.2.3")) == "127.0.0.1"
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "nothing7")
    problem = r"GLOO_SOCKET_IFNAME: expected a network interface with an address, of .*lo.*, found 'nothing7'"
    with pytest.raises(ValueError, match=problem):
        own_address(STORE)


def test_arrays_of_any_size_cross_both_ways_at_once(pair):
    """Larger than what the system keeps of a connection: neither may wait until the other has read."""
    wires, _ = pair
    sizes = [1, 3, 511, 512, 513, 4_000_000, 7]
    sent = [[np.full(size, 10 * rank + size % 7, dtype=np.int64) for size in sizes] for rank in range(2)]
    found = [[np.zeros(size, dtype=np.int64) for size in sizes] for _ in range(2)]

    def exchange(rank):
        wire = wires[rank]
        waits = [wire.receive(1 - rank, ROWS, into) for into in found[rank]]
        for array in sent[rank]:
            wire.send(1 - rank, ROWS, array)
        for wait in waits:
            wait()
        wire.flush()

    threads = [threading.Thread(target=exchange, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_S)
        assert not thread.is_alive()
    for rank in range(2):
        for one, other in zip(found[rank], sent[1 - rank], strict=True):
            assert np.array_equal(one, other)


def test_parts_are_asked_for_when_there_is_room_for_them(pair):
    """One buffer is enough for parts that come one after the other, as long as none is asked for too early."""
    (first, second), _ = pair
    count, size = 40, 1 << 16
    buffer = np.empty(size, dtype=np.int64)
    asked = []

    def parts():
        for number in range(count):
            asked.append(number)
            buffer[:] = number
            yield buffer

    into = np.zeros(count * size, dtype=np.int64)
    wait = second.receive(0, ROWS, into)
    first.send_parts(1, ROWS, into.nbytes, parts())
    assert not asked
    sender = threading.Thread(target=first.flush)
    sender.start()
    wait()
    sender.join(LONG_S)
    assert np.array_equal(into, np.arange(count).repeat(size))


def test_a_part_that_cannot_be_read_is_not_taken_for_a_lost_peer(pair):
    (first, _), _ = pair

    def parts():
        yield np.zeros(1, dtype=np.int64)
        raise OSError(5, "Input/output error", "x.gd")

    first.send_parts(1, ROWS, 16, parts())
    with pytest.raises(OSError, match=r"Input/output error: 'x\.gd'"):
        first.flush()


def test_a_message_of_another_kind_is_an_error(pair):
    (first, second), _ = pair
    first.send(1, IDS, np.zeros(3, dtype=np.int64))
    first.flush()
    wait = second.receive(0, HEADER, np.zeros(2, dtype=np.int64))
    problem = "rank 0: expected 16 bytes of kind 1, found 24 of kind 2; have the same version of graphzero on all ranks"
    with pytest.raises(RuntimeError, match=problem):
        wait()


def test_silence_and_a_closed_connection_are_told_apart(pair):
    (first, second), _ = pair
    with pytest.raises(PeerLost) as lost:
        second.receive(0, HEADER, np.zeros(2, dtype=np.int64))()
    assert (lost.value.rank, lost.value.silent_s) == (0, SOON_S)
    first.close()
    with pytest.raises(PeerLost) as lost:
        second.receive(0, HEADER, np.zeros(2, dtype=np.int64))()
    assert (lost.value.rank, lost.value.silent_s) == (0, None)


class SilentGroup:
    """A group in which a rank does not answer: what waits for it fails a little after its time."""

    def allreduce(self, tensors):
        return SimpleNamespace(wait=lambda: None)

    def recv(self, tensors, rank, tag):
        return self

    def wait(self):
        threading.Event().wait(SOON_S + 0.1)
        raise RuntimeError("Timed out waiting\nmore of it")


def test_a_rank_whose_group_fails_is_waited_for(pair):
    """It asks everybody for a header then, to learn who is gone: it is not gone itself."""
    wires = [GroupWire(wire._connections, SOON_S, SilentGroup, torch.device("cpu")) for wire in pair[0]]
    first, second = wires

    def fail():
        second.join()
        with pytest.raises(GroupFailed, match="^Timed out waiting$"):
            second.receive(0, ROWS, np.zeros(4, dtype=np.uint8))()
        second.send(0, HEADER, np.arange(2))
        second.flush()

    failing = threading.Thread(target=fail)
    failing.start()
    into = np.zeros(2, dtype=np.int64)
    try:
        first.receive(1, HEADER, into)()
    finally:
        failing.join()
    assert into.tolist() == [0, 1]
    with pytest.raises(PeerLost) as lost:
        first.receive(1, HEADER, into)()
    assert (lost.value.rank, lost.value.silent_s) == (1, SOON_S)
    for wire in wires:
        wire.close()


def test_a_peer_that_sends_slowly_is_not_silent(pair):
    """What counts is the time without a byte, not that of a message."""
    (first, second), _ = pair
    into = np.zeros(8, dtype=np.int64)
    wait = second.receive(0, ROWS, into)
    frame = _FRAME.pack(ROWS, 64) + np.arange(8).tobytes()

    def trickle():
        for begin in range(0, len(frame), 8):
            first._connections[1].send(frame[begin : begin + 8])
            threading.Event().wait(SOON_S / 3)

    sender = threading.Thread(target=trickle)
    sender.start()
    wait()
    sender.join()
    assert np.array_equal(into, np.arange(8))


def test_notes_name_the_first_cause(pair):
    _, (first, second) = pair
    second.tell(ended="ValueError: " + "x" * 5000)
    lost, why = first.culprit(PeerLost(1))
    assert lost.rank == 1
    assert why.startswith(": ValueError: xxx")
    assert len(why) < 400
    second.tell(ended="again")  # the last word has been said


def test_who_is_gone_without_a_note_is_not_waited_for(pair, monkeypatch):
    monkeypatch.setattr("graphzero.loaders._exchange.notes._NOTE_S", LONG_S)
    _, (first, second) = pair
    for connection in second._connections.values():
        connection.close()
    lost, why = first.culprit(PeerLost(1, silent_s=1))
    assert (lost.rank, why) == (1, "")

"""A file that comes in pieces."""

import os

from graphzero._files.pieces import PIECE, PieceFile


def test_a_piece_is_on_disk_before_it_counts_also_where_there_is_no_fdatasync(tmp_path, monkeypatch):
    """As on macOS and Windows."""
    monkeypatch.delattr(os, "fdatasync", raising=False)
    synced = []
    fsync = os.fsync

    def noted(number):
        synced.append(listed())
        fsync(number)

    monkeypatch.setattr(os, "fsync", noted)
    path = str(tmp_path / "x.gd")

    def listed():
        with open(f"{path}.pieces", encoding="utf-8") as file:
            return file.read()

    file = PieceFile(path, PIECE + 3, "of a test")
    file.write(PIECE, b"new")
    file.finish(PIECE)
    file.close()
    assert synced == ["of a test\n"]
    assert listed() == "of a test\n1\n"
    again = PieceFile(path, PIECE + 3, "of a test")
    assert list(again.missing()) == [(0, PIECE)]
    again.close()


def test_a_number_that_was_cut_short_is_not_the_beginning_of_the_next_one(tmp_path):
    path = str(tmp_path / "x.gd")

    def opened():
        return PieceFile(path, 12 * PIECE, "of a test")

    def done(file):
        file.close()
        return sorted(set(range(12)) - {begin // PIECE for begin, _ in file.missing()})

    file = opened()
    file.finish(PIECE)
    file.finish(3 * PIECE)
    file.close()
    os.truncate(f"{path}.pieces", os.path.getsize(f"{path}.pieces") - 1)  # as a kill or a full disk leaves it
    file = opened()
    file.finish(0)
    assert done(file) == [1]  # what it had read
    assert done(opened()) == [0, 1]
    with open(f"{path}.pieces", "rb") as listed:
        assert listed.read() == b"of a test\n1\n0\n"

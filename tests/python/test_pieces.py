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

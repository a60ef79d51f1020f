"""Windows keeps a file or folder from its name while a virus scanner looks at it: what is finished waits for that."""

import os

import pytest

from graphzero._files.folder import KeptFolder, NewFolder, new_file, replace_file, replace_together
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.pieces import PieceFile
from graphzero._files.renames import rename, replace


class Kept(PermissionError):
    def __init__(self, winerror):
        super().__init__(13, "The process cannot access the file")
        self.winerror = winerror


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        assert seconds > 0
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    clock = Clock()
    monkeypatch.setattr("graphzero._files.renames.time", clock)
    return clock


@pytest.fixture
def keeping(monkeypatch):
    """Make each rename to or from paths that ``chosen`` picks fail so many times."""

    def keep(times, winerror=32, chosen=lambda old, new: True):
        left = {}

        def stand_in(meant):
            def change(old, new):
                if chosen(old, new) and left.setdefault((old, new), times) > 0:
                    left[old, new] -= 1
                    raise Kept(winerror)
                meant(old, new)

            return change

        monkeypatch.setattr(os, "rename", stand_in(os.rename))
        monkeypatch.setattr(os, "replace", stand_in(os.replace))
        return left

    return keep


def text_of(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def write_new_file():
    with new_file("target") as path:
        write(path, "new")
    assert text_of("target") == "new"


def write_together():
    write("one.tmp", "1")
    with new_file("target", together={"one.tmp": "one"}) as path:
        write(path, "new")
    assert (text_of("one"), text_of("target")) == ("1", "new")


def name_together():
    write("one.tmp", "1")
    write("two.tmp", "2")
    replace_together({"one.tmp": "one", "two.tmp": "two"})
    assert (text_of("one"), text_of("two")) == ("1", "2")


def write_replaced_file():
    replace_file("target", b"old")
    replace_file("target", b"new")
    assert text_of("target") == "new"


def write_folder(kind=NewFolder):
    new = kind("target", overwrite=True)
    write(new.file("x"), "new")
    write(new.file(MANIFEST), "")  # only a data set is replaced
    new.commit()
    assert text_of("target/x") == "new"
    assert os.listdir() == ["target"]


def write_folder_twice():
    write_folder()
    write_folder()


def write_pieces():
    file = PieceFile(os.path.abspath("target"), 3, "of a test")
    file.write(0, b"new")
    file.finish(0)
    file.complete()
    assert (os.listdir(), text_of("target")) == (["target"], "new")


WAYS = {
    "a new file": write_new_file,
    "files that belong together": write_together,
    "files that get their names at once": name_together,
    "a file that is replaced": write_replaced_file,
    "a new folder": write_folder,
    "a folder that stays": lambda: write_folder(KeptFolder),
    "a folder that is replaced": write_folder_twice,
    "a file in pieces": write_pieces,
}


@pytest.mark.parametrize("winerror", [5, 32, 1224])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_is_kept_for_a_moment_gets_its_name(way, winerror, keeping, clock, monkeypatch):
    monkeypatch.setattr("graphzero._core.exchange_names", lambda one, other: False)  # as on Windows
    left = keeping(4, winerror)
    way()
    assert left
    assert set(left.values()) == {0}
    assert 100 < clock.now < 102 * len(left)


def test_a_folder_whose_new_one_cannot_take_its_place_comes_back(keeping, monkeypatch):
    """Also if that takes several attempts."""
    write_folder()
    write("target/x", "old")
    monkeypatch.setattr("graphzero._core.exchange_names", lambda one, other: False)
    new = NewFolder("target", overwrite=True)
    write(new.file("x"), "new")
    keeping(1000, chosen=lambda old, there: old == new.temporary)
    keeping(3, chosen=lambda old, there: old.endswith(".old"))
    with pytest.raises(PermissionError, match=r"cannot access|is open or mapped, .* close what uses it"):
        new.commit()
    assert text_of("target/x") == "old"
    new.abort()
    assert os.listdir() == ["target"]


def test_ctrl_c_while_a_folder_waits_brings_the_old_one_back(keeping, clock, monkeypatch):
    write_folder()
    monkeypatch.setattr("graphzero._core.exchange_names", lambda one, other: False)
    new = NewFolder("target", overwrite=True)
    keeping(1000, chosen=lambda old, there: old == new.temporary)

    def interrupted(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(clock, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        new.commit()
    assert text_of("target/x") == "new"
    new.abort()
    assert os.listdir() == ["target"]


@pytest.mark.parametrize("change", [rename, replace])
def test_what_stays_kept_is_an_error_after_two_seconds(change, keeping, clock):
    write("a", "")
    keeping(1000)
    with pytest.raises(Kept, match="cannot access"):
        change("a", "b")
    assert 101.5 < clock.now <= 102
    assert os.listdir() == ["a"]


@pytest.mark.parametrize("change", [rename, replace])
def test_what_waiting_does_not_help_is_an_error_at_once(change, clock, keeping):
    with pytest.raises(FileNotFoundError, match="No such file"):
        change("none", "b")
    write("a", "")
    keeping(1000, winerror=17)  # another disk
    with pytest.raises(Kept, match="cannot access"):
        change("a", "b")
    assert clock.now == 100

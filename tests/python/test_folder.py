"""What is written appears at its path whole or not at all, and a link there is replaced, never followed."""

import os
import stat

import numpy as np
import pytest

import graphzero as gz
from data_sets import mag240m
from graphzero.folder import NewFolder, replace_file


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def text_of(path):
    with open(path) as file:
        return file.read()


def write_dataset(path, **options):
    with gz.DatasetWriter(path, **options) as writer:
        writer.add_nodes({"x": np.eye(8, dtype=np.float32), "y": np.arange(8) % 2}, label="y", num_classes=2)
        writer.add_edges(np.arange(8), (np.arange(8) + 1) % 8)
        writer.add_split("train", np.arange(8))


def convert_edges(path):
    with open("edges.csv", "w") as file:
        file.write("0,1\n1,2\n")
    gz.convert_edges("edges.csv", path)


FILES = {
    "write_graph": lambda path: gz.write_graph(path, [0, 1], [1, 0]),
    "write_features": lambda path: gz.write_features(path, np.eye(3)),
    "write_ids": lambda path: gz.write_ids(path, ["a", "b"]),
    "convert_edges": convert_edges,
    "convert_features": lambda path: gz.convert_features(np.eye(3), path),
    "replace_file": lambda path: replace_file(path, b"whole"),
}
FOLDERS = {
    "DatasetWriter": lambda path: write_dataset(path, overwrite=True),
    "convert_dataset": lambda path: (mag240m("mag"), gz.convert_dataset("mag", path, overwrite=True)),
    "synthesize": lambda path: gz.synthesize(path, 64, 128, overwrite=True),
}


@pytest.mark.parametrize("leads_to", ["a file", "nothing"])
@pytest.mark.parametrize("write", FILES.values(), ids=FILES)
def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(write, leads_to):
    if leads_to == "a file":
        with open("theirs", "w") as file:
            file.write("precious")
    os.symlink("theirs", "target")
    write("target")
    assert not os.path.islink("target")
    assert os.path.getsize("target") > 0
    assert text_of("theirs") == "precious" if leads_to == "a file" else not os.path.exists("theirs")


@pytest.mark.parametrize("leads_to", ["a folder", "nothing"])
@pytest.mark.parametrize("write", FOLDERS.values(), ids=FOLDERS)
def test_a_link_in_the_place_of_a_folder_is_replaced_and_not_followed(write, leads_to):
    if leads_to == "a folder":
        os.mkdir("theirs")
        with open("theirs/precious", "w"):
            pass
    os.symlink("theirs", "target")
    write("target")
    assert not os.path.islink("target")
    gz.open("target").close()
    assert os.listdir("theirs") == ["precious"] if leads_to == "a folder" else not os.path.exists("theirs")
    assert not [name for name in os.listdir() if name.startswith(".")]


@pytest.mark.parametrize("leads_to", ["a folder", "nothing"])
def test_a_link_is_replaced_only_where_a_folder_would_be(leads_to):
    if leads_to == "a folder":
        os.makedirs("theirs/inside")
    os.symlink("theirs", "target")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_dataset("target")
    assert os.path.islink("target")


def test_half_a_file_goes_with_the_next_one():
    replace_file("a", b"one")
    with open(".a.0123456789abcdef.graphzero-tmp", "wb") as file:
        file.write(b"half")
    replace_file("a", b"two")
    assert os.listdir() == ["a"]
    assert text_of("a") == "two"


def test_a_file_that_cannot_be_replaced_stays(monkeypatch):
    replace_file("a", b"one")

    def fail(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("graphzero.folder.os.fsync", fail)
    with pytest.raises(OSError) as error:
        replace_file("a", b"two")
    assert (error.value.errno, error.value.filename) == (28, "a")
    assert os.listdir() == ["a"]
    assert text_of("a") == "one"


def test_a_new_file_has_the_rights_that_the_user_gives_to_files():
    before = os.umask(0o027)
    try:
        replace_file("a", b"one")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat("a").st_mode) == 0o640


def waiting_folder(monkeypatch):
    """The folder that a run leaves behind which is cut off."""
    mag240m("mag")
    with monkeypatch.context() as patch:
        patch.setattr("graphzero.dataset_conversion.convert_edges", None)
        with pytest.raises(TypeError):
            gz.convert_dataset("mag", "ds", resume=True)
    return next(name for name in os.listdir() if name.endswith(".graphzero-resume"))


def test_only_the_user_may_write_where_a_run_is_resumed_from(monkeypatch):
    folder = waiting_folder(monkeypatch)
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    for mode in (0o770, 0o702):
        os.chmod(folder, mode)
        with pytest.raises(PermissionError, match=f"that nobody else may write, .*{mode:o}; remove it, .*{folder}"):
            gz.convert_dataset("mag", "ds", resume=True)
    os.chmod(folder, 0o755)
    gz.convert_dataset("mag", "ds", resume=True)
    assert not os.path.exists(folder)


def test_the_folder_of_another_user_is_not_resumed_from(monkeypatch):
    folder = waiting_folder(monkeypatch)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError, match=f"expected a folder of your own .*{folder}"):
        gz.convert_dataset("mag", "ds", resume=True)


def test_a_link_is_not_resumed_from(monkeypatch):
    folder = waiting_folder(monkeypatch)
    os.rename(folder, "elsewhere")
    os.symlink("elsewhere", folder)
    with pytest.raises(PermissionError, match="expected a folder of your own.*, found a link"):
        gz.convert_dataset("mag", "ds", resume=True)


def test_a_folder_is_written_beside_its_target():
    new = NewFolder("target", overwrite=False)
    assert os.path.dirname(new.temporary) == os.getcwd()
    new.abort()
    assert os.listdir() == []

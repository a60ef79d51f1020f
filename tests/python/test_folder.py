"""What is written appears at its path whole or not at all, and a link there is replaced, never followed."""

import errno
import itertools
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap

import numpy as np
import pytest

import graphzero as gz
import graphzero.convert.dataset
import graphzero.convert.edges
import graphzero.convert.features
from data_sets import mag240m
from graphzero._files.folder import NewFolder, new_file, replace_file
from graphzero.convert.dataset_writer import DatasetWriter
from systems import NO_LINKS, NO_MODES, posix_only


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


@posix_only(reason=NO_LINKS)
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


@posix_only(reason=NO_LINKS)
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


@posix_only(reason=NO_LINKS)
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

    monkeypatch.setattr("graphzero._files.folder.os.fsync", fail)
    with pytest.raises(OSError) as error:
        replace_file("a", b"two")
    assert (error.value.errno, error.value.filename) == (28, "a")
    assert os.listdir() == ["a"]
    assert text_of("a") == "one"


def test_a_file_that_windows_keeps_is_named_with_what_to_do(monkeypatch):
    replace_file("a", b"one")

    class Kept(PermissionError):
        winerror = 32

    def fail(old, new):
        raise Kept(13, "The process cannot access the file")

    monkeypatch.setattr("graphzero._files.folder.os.replace", fail)
    monkeypatch.setattr("graphzero._files.renames._LONGEST", 0.05)  # test_renames.py proves how long it waits
    with pytest.raises(PermissionError, match="is open or mapped, .* close what uses it, or write to another") as error:
        replace_file("a", b"two")
    assert error.value.filename == "a"
    assert os.listdir() == ["a"]
    assert text_of("a") == "one"


def test_a_folder_that_was_replaced_and_could_not_be_removed_goes_with_the_next_one():
    """But not while it is all that is left: a kill between two renames."""
    old = ".a.0123456789abcdef.graphzero-tmp.old"
    os.mkdir(old)
    NewFolder("a", overwrite=True).commit()
    assert sorted(os.listdir()) == [old, "a"]
    NewFolder("a", overwrite=True).commit()
    assert os.listdir() == ["a"]


@posix_only(reason=NO_MODES)
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
        patch.setattr("graphzero.convert.dataset.convert_edges", None)
        with pytest.raises(TypeError):
            gz.convert_dataset("mag", "ds", resume=True)
    return next(name for name in os.listdir() if name.endswith(".graphzero-resume"))


@posix_only(reason=NO_MODES)
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


@posix_only(reason=NO_MODES)
def test_the_folder_of_another_user_is_not_resumed_from(monkeypatch):
    folder = waiting_folder(monkeypatch)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError, match=f"expected a folder of your own .*{folder}"):
        gz.convert_dataset("mag", "ds", resume=True)


@posix_only(reason=NO_LINKS)
def test_a_link_is_not_resumed_from(monkeypatch):
    folder = waiting_folder(monkeypatch)
    os.rename(folder, "elsewhere")
    os.symlink("elsewhere", folder)
    with pytest.raises(PermissionError, match="expected a folder of your own.*, found a link"):
        gz.convert_dataset("mag", "ds", resume=True)


def test_a_run_that_was_cut_off_while_it_noted_what_is_done_is_resumed(monkeypatch):
    mag240m("mag")
    meant = json.JSONEncoder.iterencode

    def half(encoder, value, **options):
        yield from ["{"] if isinstance(value, dict) else meant(encoder, value, **options)
        if isinstance(value, dict):  # the report of a graph
            raise OSError("cut off")

    with monkeypatch.context() as patch:
        patch.setattr("json.JSONEncoder.iterencode", half)
        with pytest.raises(OSError, match="cut off"):
            gz.convert_dataset("mag", "ds", resume=True)
    gz.convert_dataset("mag", "ds", resume=True)
    gz.open("ds").close()


def test_two_runs_do_not_resume_from_one_folder(monkeypatch):
    folder = waiting_folder(monkeypatch)
    meant = graphzero.convert.dataset.convert_edges

    def convert_beside_another(*given, **options):
        monkeypatch.setattr("graphzero.convert.dataset.convert_edges", meant)
        with pytest.raises(OSError, match="another process .* resume") as error:
            gz.convert_dataset("mag", "ds", resume=True)
        assert error.value.filename.endswith(folder)
        return meant(*given, **options)

    monkeypatch.setattr("graphzero.convert.dataset.convert_edges", convert_beside_another)
    gz.convert_dataset("mag", "ds", resume=True)
    assert sorted(os.listdir()) == ["ds", "mag"]


def test_a_folder_is_written_beside_its_target():
    new = NewFolder("target", overwrite=False)
    assert os.path.dirname(new.temporary) == os.getcwd()
    new.abort()
    assert os.listdir() == []


def in_another_process(code):
    """Start some lines that run until they are ended, and print what went wrong."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stderr=subprocess.PIPE, text=True, env=env)


REPLACING = """
    import sys, time
    from graphzero._files.folder import NewFolder
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        new = NewFolder("target", overwrite=True)
        with open(new.file("graphzero.json"), "w"):
            pass
        new.commit()
"""


def test_a_folder_is_there_at_every_moment_while_it_is_replaced():
    write_dataset("target", overwrite=True)
    other = in_another_process(REPLACING)
    missing = 0
    while other.poll() is None:
        missing += not os.path.isdir("target")
    assert (missing, other.communicate()[1]) == (0, "")


def test_two_processes_may_replace_one_folder():
    both = [in_another_process(REPLACING) for _ in range(2)]
    assert [one.communicate()[1] for one in both] == ["", ""]
    assert os.listdir() == ["target"]
    assert os.listdir("target") == ["graphzero.json"]


def test_where_names_cannot_be_exchanged_a_folder_is_replaced_in_two_steps(monkeypatch):
    write_dataset("target")
    monkeypatch.setattr("graphzero._files.folder._core.exchange_names", lambda one, other: False)
    write_dataset("target", overwrite=True)
    gz.open("target").close()
    assert os.listdir() == ["target"]


def test_two_processes_may_write_one_file(tmp_path):
    folder = tempfile.mkdtemp(
        dir="/dev/shm" if os.path.isdir("/dev/shm") else tmp_path
    )  # where nothing waits for a disk
    try:
        code = f"""
            import time, graphzero as gz
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                gz.write_features({folder + "/x.gd"!r}, [[1.0]])
        """
        both = [in_another_process(code) for _ in range(2)]
        assert [one.communicate()[1] for one in both] == ["", ""]
        assert os.listdir(folder) == ["x.gd"]
    finally:
        shutil.rmtree(folder)


def convert_labels(labels):
    with open(f"{labels}.csv", "w") as file:
        file.write("src,dst\n" + "".join(f"{a},{b}\n" for a, b in itertools.pairwise(labels)))
    gz.convert_edges(f"{labels}.csv", "graph.gl")


def test_a_conversion_keeps_its_labels_while_another_one_writes_the_same_graph(monkeypatch):
    meant = gz.convert.edges.EdgeTranslator.run

    def run_behind_another(*given):
        monkeypatch.setattr("graphzero.convert.edges.EdgeTranslator.run", meant)
        convert_labels("uvw")
        meant(*given)

    monkeypatch.setattr("graphzero.convert.edges.EdgeTranslator.run", run_behind_another)
    convert_labels("abcd")
    with gz.Graph("graph.gl") as graph, gz.IdDictionary("graph.gi") as ids:
        assert [[ids.label(node) for node in graph.neighbors(ids.index(label))] for label in "abcd"] == [
            *(["b"], ["c"], ["d"], [])
        ]
    assert sorted(os.listdir()) == ["abcd.csv", "graph.gi", "graph.gl", "uvw.csv"]


def test_a_conversion_keeps_its_rows_while_another_one_writes_the_same_features(monkeypatch):
    meant = gz.convert.features.reorder

    def reorder_behind_another(*given, **options):
        monkeypatch.setattr("graphzero.convert.features.reorder", meant)
        gz.convert_features(np.zeros((4, 2)), "x.gd", order=[3, 2, 1, 0])
        meant(*given, **options)

    monkeypatch.setattr("graphzero.convert.features.reorder", reorder_behind_another)
    gz.convert_features(np.ones((3, 2)), "x.gd", order=[2, 0, 1])
    with gz.FeatureStore("x.gd") as store:
        assert (store.gather([0, 1, 2]) == 1).all()
    assert os.listdir() == ["x.gd"]


@pytest.mark.parametrize("write", [gz.synthesize, DatasetWriter], ids=["synthesize", "DatasetWriter"])
def test_only_a_data_set_is_replaced(write):
    os.mkdir("home")
    pathlib.Path("home/thesis.tex").write_text("x")
    more = {"nodes": 64, "edges": 128} if write is gz.synthesize else {}
    message = "expected a data set to replace, found a folder with files and no graphzero.json; remove it first"
    with pytest.raises(FileExistsError, match=message):
        write("home", overwrite=True, **more)
    assert os.listdir("home") == ["thesis.tex"]


def test_a_new_file_takes_its_name_at_the_end_of_the_block(tmp_path):
    target = tmp_path / "f"
    target.write_text("old")
    with new_file(str(target)) as path:
        pathlib.Path(path).write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    with pytest.raises(LookupError), new_file(str(target)) as path:
        pathlib.Path(path).write_text("newer")
        raise LookupError
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["f"]


def test_errors_about_a_new_file_name_its_target(tmp_path):
    with pytest.raises(IsADirectoryError, match=f"is a directory, expected a file to write: '{tmp_path}'"):
        new_file(str(tmp_path)).__enter__()
    with pytest.raises(FileNotFoundError, match=r"cannot create: No such file or directory: 'none/f'"):
        new_file("none/f").__enter__()
    target = str(tmp_path / "f")
    with pytest.raises(OSError, match=f"No space left on device: '{target}'"), new_file(target) as path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    with pytest.raises(OSError, match="No space left on device: 'other'"), new_file(target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "other")

"""Data sets in object storage: pushed with the manifest last, staged whole or not at all."""

import errno
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphzero as gz
import graphzero._files.folder
import graphzero._files.pieces
import graphzero.staging
from graphzero._dataset import brought_files, sent_files
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.storage import StoredPath, is_there, located, read_range, remove_stored, write_stored
from storage_server import KEY, SECRET
from systems import NO_MODES, NO_PIPES, posix_only

pytest.importorskip("pyarrow.fs")

PIECE = 1 << 16


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Several pieces of several blocks for each file."""
    monkeypatch.setattr(graphzero._files.pieces, "PIECE", PIECE)
    for module in (sent_files, brought_files):
        monkeypatch.setattr(module, "BLOCK", PIECE // 4)


def write_dataset(folder, seed=0):
    rng = np.random.default_rng(seed)
    with gz.DatasetWriter(folder, overwrite=True) as writer:
        paper = {"x": rng.random((1000, 64), np.float32), "big": rng.random((1000, 200), np.float32)}
        writer.add_nodes({**paper, "y": rng.integers(0, 5, 1000)}, type="paper", label="y", num_classes=5)
        writer.add_nodes({"x": rng.random((300, 16), np.float32)}, type="author")
        cites, writes = rng.integers(0, 1000, (2, 9000)), rng.integers(0, 300, (2, 4000))
        writer.add_edges(*cites, type=("paper", "cites", "paper"))
        writer.add_edges(*writes, type=("author", "writes", "paper"))
        writer.add_split("train", np.arange(0, 1000, 2), of="paper")
    return str(folder)


@pytest.fixture
def folder(tmp_path):
    return write_dataset(tmp_path / "ds")


def same(a, b):
    """Whether two folders hold the same bytes."""

    def files(top):
        paths = [os.path.join(base, name) for base, _, names in os.walk(top) for name in names]
        return {os.path.relpath(path, top): Path(path).read_bytes() for path in paths}

    return files(a) == files(b)


def hidden(folder):
    return os.path.join(os.path.dirname(folder), f".{os.path.basename(folder)}.graphzero-stage")


def test_what_is_staged_is_what_was_pushed(folder, storage, tmp_path):
    sent = gz.push(folder, f"{storage}/ds")
    target = str(tmp_path / "here")
    report = gz.stage(f"{storage}/ds", target, verify="full")
    assert same(folder, target)
    assert sent.num_files == report.num_files == 7
    assert sent.transferred == report.transferred == report.size == sent.size
    assert os.stat(target).st_mode == os.stat(folder).st_mode
    assert not os.path.exists(hidden(target))
    assert "7 of" in str(report)


def test_a_push_again_sends_nothing(folder, storage):
    gz.push(folder, f"{storage}/ds")
    again = gz.push(folder, f"{storage}/ds")
    assert (again.num_skipped, again.transferred) == (7, 0)


def test_another_data_set_is_replaced_only_if_asked(folder, storage, tmp_path):
    gz.push(folder, f"{storage}/ds")
    other = write_dataset(tmp_path / "other", seed=1)
    with pytest.raises(FileExistsError, match="has another data set; give overwrite=True to replace it"):
        gz.push(other, f"{storage}/ds")
    gz.push(other, f"{storage}/ds", overwrite=True)
    gz.stage(f"{storage}/ds", tmp_path / "here")
    assert same(other, tmp_path / "here")


def test_a_push_that_fails_leaves_no_manifest_and_goes_on(folder, storage, monkeypatch):
    place = located(f"{storage}/ds")
    write = sent_files.write_stored
    written = []

    def failing(path, blocks):
        if len(written) == 3:
            raise OSError("the network is gone")
        write(path, blocks)
        written.append(path)

    monkeypatch.setattr(sent_files, "write_stored", failing)
    with pytest.raises(OSError, match="the network is gone"):
        gz.push(folder, place, threads=1)
    assert not is_there(place / MANIFEST)
    monkeypatch.setattr(sent_files, "write_stored", write)
    assert gz.push(folder, place).num_skipped == 3


def test_a_failed_replacement_leaves_no_manifest(folder, storage, tmp_path, monkeypatch):
    place = located(f"{storage}/ds")
    gz.push(folder, place)

    def failing(path, blocks):
        raise OSError("the network is gone")

    monkeypatch.setattr(sent_files, "write_stored", failing)
    with pytest.raises(OSError, match="the network is gone"):
        gz.push(write_dataset(tmp_path / "other", seed=1), place, overwrite=True)
    with pytest.raises(FileNotFoundError, match=r"has no graphzero.json: it is not a data set, or its push did not"):
        gz.stage(place, tmp_path / "here")


def test_a_block_that_fails_leaves_no_object(storage):
    path = located(f"{storage}/x")

    def blocks():
        yield b"abc"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_stored(path, blocks())
    assert not is_there(path)


def test_a_folder_that_changes_during_a_push_is_refused(folder, tmp_path, monkeypatch):
    write = sent_files.write_stored

    def replacing(path, blocks):
        write(path, blocks)
        write_dataset(folder, seed=2)

    monkeypatch.setattr(sent_files, "write_stored", replacing)
    with pytest.raises(gz.FormatError, match="expected the same .* until it is sent, found another; push again"):
        gz.push(folder, tmp_path / "there", threads=1)
    assert not (tmp_path / "there" / MANIFEST).exists()


@pytest.mark.parametrize("target", ["ds", "ds/nodes/copy", "x/../ds", "link"])
def test_pushing_a_folder_into_itself_is_refused(tmp_path, target):
    write_dataset(tmp_path / "ds")
    (tmp_path / "x").mkdir()
    before = sorted(tmp_path.rglob("*"))
    if target == "link":
        (tmp_path / "link").symlink_to("ds")
        before.append(tmp_path / "link")
    with pytest.raises(ValueError, match="target: expected a place outside the folder itself, found .+"):
        gz.push(tmp_path / "ds", tmp_path / target, overwrite=True)
    assert sorted(tmp_path.rglob("*")) == sorted(before)


@pytest.mark.parametrize("source", ["here/ds", "link", "x/../here/ds"])
@pytest.mark.parametrize("target", ["here/ds", "here", "here/ds/nodes/copy", "link"])
@pytest.mark.parametrize("options", [{}, {"host": 0, "hosts": 2}, {"features": ["x"]}])
def test_a_data_set_does_not_take_the_place_of_itself(tmp_path, source, target, options):
    """What is not brought would be gone for good."""
    folder = write_dataset(tmp_path / "here" / "ds")
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to("here/ds")
    with pytest.raises(ValueError, match="folder: expected a place outside the data set that is brought, .+"):
        gz.stage(tmp_path / source, tmp_path / target, overwrite=True, **options)
    with gz.open(folder) as data:
        assert len(data.nodes["paper"]["big"].get_tensor()) == 1000


@pytest.mark.parametrize("write", [gz.stage, gz.push])
def test_whether_to_overwrite_is_true_or_false(folder, tmp_path, write):
    with pytest.raises(TypeError, match="overwrite: expected True or False, found 'no'"):
        write(folder, tmp_path / "here", overwrite="no")


def test_only_a_data_set_is_replaced(folder, tmp_path):
    (tmp_path / "home" / "photos").mkdir(parents=True)
    (tmp_path / "home" / "photos" / "a").write_text("precious")
    problem = "expected a data set to replace, found a folder with files and no graphzero.json; remove it first"
    with pytest.raises(FileExistsError, match=problem):
        gz.stage(folder, tmp_path / "home", overwrite=True)
    assert (tmp_path / "home" / "photos" / "a").read_text() == "precious"
    (tmp_path / "empty").mkdir()
    gz.stage(folder, tmp_path / "empty")
    gz.stage(folder, tmp_path / "empty", overwrite=True)
    assert same(folder, tmp_path / "empty")


def test_a_folder_that_appears_meanwhile_is_not_replaced(folder, tmp_path, monkeypatch):
    bring = graphzero.staging.bring_files

    def bring_late(*arguments):
        bring(*arguments)
        (tmp_path / "here").mkdir()
        (tmp_path / "here" / "a").write_text("precious")

    monkeypatch.setattr(graphzero.staging, "bring_files", bring_late)
    with pytest.raises(FileExistsError, match="expected a data set to replace, found a folder with files"):
        gz.stage(folder, tmp_path / "here", overwrite=True)
    assert (tmp_path / "here" / "a").read_text() == "precious"


def test_a_path_is_a_place_too(folder, tmp_path):
    gz.push(folder, tmp_path / "nfs" / "ds")
    gz.stage(tmp_path / "nfs" / "ds", tmp_path / "here")
    assert same(folder, tmp_path / "here")


@pytest.mark.parametrize(
    ("features", "paper", "author"),
    [(["x"], {"x", "y"}, {"x"}), (["paper.x"], {"x", "y"}, set()), ("big", {"big", "y"}, set()), ([], {"y"}, set())],
)
def test_chosen_features_come_alone(folder, tmp_path, features, paper, author):
    gz.stage(folder, tmp_path / "here", features=features, verify="full")
    with gz.open(tmp_path / "here") as ds:
        assert set(ds.nodes["paper"].attributes) == paper
        assert set(ds.nodes["author"].attributes) == author
        assert ds.nodes["paper"].label == "y"
    assert (tmp_path / "here/nodes/paper/big.gd").exists() == ("big" in paper)


def test_an_unknown_feature_is_named(folder, tmp_path):
    with pytest.raises(ValueError, match="features: expected some of x, big, y, found 'z'"):
        gz.stage(folder, tmp_path / "here", features=["z"])


def test_a_folder_is_replaced_only_if_asked(folder, tmp_path):
    target = write_dataset(tmp_path / "here", seed=1)
    with pytest.raises(FileExistsError, match="exists and is not empty; give overwrite=True to replace it"):
        gz.stage(folder, target)
    gz.stage(folder, target, overwrite=True)
    assert same(folder, target)


def test_options_are_checked(folder, tmp_path):
    for threads in (0, -1, 4097, 10**30):
        for call in (gz.stage, gz.push):
            with pytest.raises(ValueError, match=f"^threads: expected 1 to 4096, found {threads}$"):
                call(folder, tmp_path / "here", threads=threads)
    assert gz.stage(folder, tmp_path / "here", threads=4096, overwrite=True).num_files
    with pytest.raises(ValueError, match="verify: expected 'header' or 'full', found 'all'"):
        gz.stage(folder, tmp_path / "here", verify="all")


KILLED = """
import os, sys
import graphzero as gz, graphzero._files.pieces as pieces, graphzero._dataset.brought_files as brought_files
pieces.PIECE, brought_files.BLOCK = {piece}, {piece} // 4
finish = pieces.PieceFile.finish
left = [{pieces}]
def killed(self, begin):
    finish(self, begin)
    left[0] -= 1
    if not left[0]:
        os._exit(9)
pieces.PieceFile.finish = killed
gz.stage(sys.argv[1], sys.argv[2], threads=1)
"""


@pytest.mark.parametrize("pieces", [1, 4, 12])
def test_a_stage_that_is_killed_goes_on(folder, tmp_path, pieces):
    target = str(tmp_path / "here")
    script = KILLED.format(piece=PIECE, pieces=pieces)
    assert subprocess.run([sys.executable, "-c", script, folder, target], check=False).returncode == 9
    assert not os.path.exists(target)
    seen = []
    report = gz.stage(folder, target, verify="full", progress=lambda done, total: seen.append((done, total)))
    assert same(folder, target)
    assert report.transferred < report.size
    assert report.size - report.transferred <= pieces * PIECE
    assert seen[-1][0] == seen[-1][1]


def test_pieces_of_a_file_that_was_replaced_are_not_used(folder, tmp_path):
    target = str(tmp_path / "here")
    script = KILLED.format(piece=PIECE, pieces=4)
    assert subprocess.run([sys.executable, "-c", script, folder, target], check=False).returncode == 9
    write_dataset(folder, seed=3)
    gz.stage(folder, target, verify="full")
    assert same(folder, target)


def test_two_processes_do_not_stage_to_one_folder(folder, tmp_path, monkeypatch):
    target = str(tmp_path / "here")
    finish = graphzero._files.pieces.PieceFile.finish
    refused = []

    def second(self, begin):
        finish(self, begin)
        if not refused:
            with pytest.raises(OSError, match="another process writes here; wait for it") as error:
                gz.stage(folder, target)
            refused.append(error)

    monkeypatch.setattr(graphzero._files.pieces.PieceFile, "finish", second)
    gz.stage(folder, target, threads=1)
    assert refused
    assert same(folder, target)


@posix_only(reason=NO_MODES)
def test_a_hidden_folder_of_others_is_not_trusted(folder, tmp_path):
    target = str(tmp_path / "here")
    os.mkdir(hidden(target))
    os.chmod(hidden(target), 0o777)
    with pytest.raises(PermissionError, match="expected a folder of your own .*; remove it, and stage anew"):
        gz.stage(folder, target)


def test_a_truncated_object_is_refused_before_it_comes(folder, storage, tmp_path):
    gz.push(folder, f"{storage}/ds")
    path = located(f"{storage}/ds") / "nodes/paper/x.gd"
    data = read_range(path, 0, 1 << 30)
    write_stored(path, iter([data[:-4096]]))
    message = f"x.gd: expected {len(data)} bytes, as its header says, found {len(data) - 4096}; push the data set again"
    with pytest.raises(gz.FormatError, match=message):
        gz.stage(f"{storage}/ds", tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_an_object_that_is_not_that_of_the_manifest_is_refused(folder, storage, tmp_path):
    gz.push(folder, f"{storage}/ds")
    place = located(f"{storage}/ds")
    write_stored(place / "nodes/paper/x.gd", iter([read_range(place / "nodes/paper/big.gd", 0, 1 << 30)]))
    with pytest.raises(gz.FormatError, match=r"x\.gd: expected the fingerprint 0x\w+ of graphzero.json, found 0x\w+: "):
        gz.stage(place, tmp_path / "here")


def test_a_missing_object_is_named(folder, storage, tmp_path):
    gz.push(folder, f"{storage}/ds")
    remove_stored(located(f"{storage}/ds") / "nodes/paper/x.gd")
    with pytest.raises(FileNotFoundError, match=r"expected a file there, found none: '\w+://.*nodes/paper/x.gd'"):
        gz.stage(f"{storage}/ds", tmp_path / "here")


@pytest.mark.parametrize("what", ["nodes/paper/big.gd", MANIFEST])
def test_an_object_that_is_replaced_meanwhile_is_noticed(folder, storage, tmp_path, monkeypatch, what):
    gz.push(folder, f"{storage}/ds")
    place = located(f"{storage}/ds")
    finish = graphzero._files.pieces.PieceFile.finish
    replaced = []

    def replacing(self, begin):
        finish(self, begin)
        if not replaced and self._path.endswith("big.gd"):
            data = bytearray(read_range(place / what, 0, 1 << 30))
            data[-1] ^= 1 if what != MANIFEST else ord("\n") ^ ord(" ")
            if storage.startswith("s3"):  # whose times are whole seconds
                import time

                time.sleep(1.1)
            write_stored(place / what, iter([bytes(data)]))
            replaced.append(True)

    monkeypatch.setattr(graphzero._files.pieces.PieceFile, "finish", replacing)
    with pytest.raises(gz.FormatError, match=f"found that {what} was replaced; stage again"):
        gz.stage(place, tmp_path / "here", threads=1)
    assert not (tmp_path / "here").exists()


def test_a_flipped_byte_is_found_by_a_full_check(folder, storage, tmp_path):
    gz.push(folder, f"{storage}/ds")
    path = located(f"{storage}/ds") / "nodes/paper/x.gd"
    data = bytearray(read_range(path, 0, 1 << 30))
    data[5000] ^= 1
    write_stored(path, iter([bytes(data)]))
    gz.stage(f"{storage}/ds", tmp_path / "by-header")
    with pytest.raises(gz.FormatError, match=r"nodes/paper/x\.gd: .*; stage again, and push the data set again if"):
        gz.stage(f"{storage}/ds", tmp_path / "here", verify="full")
    assert not (tmp_path / "here").exists()
    write_stored(path, iter([Path(folder, "nodes/paper/x.gd").read_bytes()]))
    report = gz.stage(f"{storage}/ds", tmp_path / "here", verify="full")
    assert report.num_skipped == 6
    assert same(folder, tmp_path / "here")


def test_a_full_disk_is_told_and_what_came_is_kept(folder, tmp_path, monkeypatch):
    write, left = os.pwrite, [10]

    def full(file, data, at):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data, at)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left on device: '.*graphzero-stage/.*g[dl]'"):
        gz.stage(folder, tmp_path / "here", threads=1)
    monkeypatch.setattr(os, "pwrite", write)
    assert gz.stage(folder, tmp_path / "here").transferred < sum(
        file.stat().st_size for file in Path(folder).rglob("*.g?")
    )
    with pytest.raises(OSError, match="needs about .* of disk, and 0 B are free; free some"):
        monkeypatch.setattr(graphzero._files.folder, "free_space", lambda path: 0)
        gz.stage(folder, tmp_path / "there")


def test_what_an_earlier_run_left_of_other_files_is_removed(folder, tmp_path):
    target = str(tmp_path / "here")
    os.mkdir(hidden(target), 0o700)
    with open(os.path.join(hidden(target), "other"), "w") as file:
        file.write("x")
    gz.stage(folder, target)
    assert same(folder, target)


@pytest.mark.parametrize("use", [gz.open, gz.verify])
@pytest.mark.parametrize("kind", [str, Path])
def test_opening_a_url_says_what_to_do(use, kind):
    with pytest.raises(ValueError, match=r"^s3://b/ds: expected a path .*, found a URL; bring .* with gz\.stage\(url"):
        use(kind("s3://user:pass@b/ds"))


def test_server_lost_during_a_push(folder, s3, tmp_path, monkeypatch):
    place = located("s3://bucket/ds")
    blocks = sent_files._blocks

    def cutting(path, record, meter):
        for number, block in enumerate(blocks(path, record, meter)):
            if path.endswith("big.gd") and number == 2:
                s3.cut()
            yield block

    monkeypatch.setattr(sent_files, "_blocks", cutting)
    with pytest.raises(OSError, match=r"s3://bucket/ds/nodes/paper/big\.gd"):
        gz.push(folder, place, threads=1)
    monkeypatch.setattr(sent_files, "_blocks", blocks)
    s3.mend()
    assert not is_there(place / MANIFEST)
    report = gz.push(folder, place)
    assert 0 < report.num_skipped < 7
    gz.stage(place, tmp_path / "here", verify="full")
    assert same(folder, tmp_path / "here")


def test_server_lost_during_a_stage(folder, s3, tmp_path, monkeypatch):
    gz.push(folder, "s3://bucket/ds")
    finish = graphzero._files.pieces.PieceFile.finish
    done = []

    def cutting(self, begin):
        finish(self, begin)
        done.append(begin)
        if len(done) == 5:
            s3.cut()

    monkeypatch.setattr(graphzero._files.pieces.PieceFile, "finish", cutting)
    with pytest.raises(OSError, match="storage says: "):
        gz.stage("s3://bucket/ds", tmp_path / "here", threads=1)
    assert not (tmp_path / "here").exists()
    s3.mend()
    report = gz.stage("s3://bucket/ds", tmp_path / "here", verify="full")
    assert report.transferred < report.size
    assert same(folder, tmp_path / "here")


WRONG = ["s3://WRONGKEY:wrong%2Fsecret@bucket/ds", "s3://bucket/ds"]


@pytest.mark.parametrize("url", WRONG)
def test_wrong_credentials_are_not_shown(folder, s3, tmp_path, url, monkeypatch):
    gz.push(folder, "s3://bucket/ds")
    s3.check_credentials(0)
    for work in (lambda: gz.stage(url, tmp_path / "here"), lambda: gz.push(folder, url)):
        with pytest.raises(PermissionError) as error:
            work()
        text = str(error.value)
        assert re.search(r"storage says: .*; check the credentials, such as AWS_ACCESS_KEY_ID", text), text
        for secret in ("WRONGKEY", "wrong/secret", "wrong%2Fsecret", KEY, SECRET):
            assert secret not in text
        assert error.value.filename.startswith("s3://bucket/ds")
        assert error.value.__suppress_context__


def test_credentials_of_a_url_are_used_and_not_kept(folder, s3, tmp_path, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    address = s3.endpoint.removeprefix("http://")
    url = f"s3://{KEY}:{SECRET}@bucket/ds?scheme=http&endpoint_override={address}&region=us-east-1"
    report = gz.push(folder, url)
    staged = gz.stage(url, tmp_path / "here")
    assert report.target == staged.source == "s3://bucket/ds"
    place = located(url)
    assert isinstance(place, StoredPath)
    pickled = pickle.dumps(place / MANIFEST)
    for secret in (KEY, SECRET, "wJalrXUtnFEMI/K7MDENG", address):
        assert secret.encode() not in pickled
        assert secret not in repr(place) + str(report) + str(staged)
        assert secret.encode() not in (tmp_path / "here" / MANIFEST).read_bytes()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://key:se/cret@bucket/ds", "s3://…: expected a bucket, or user:password@bucket with / in a password"),
        ("s3://key:secret@bucket/ds?token=secret", "s3://bucket/ds: expected the settings region, .*, found token$"),
        ("s3:///ds", "s3:///ds: expected the name of a bucket, found none"),
        ("file://host/ds", "file://host/ds: expected three slashes before the path of a file, found the host host"),
        ("nowhere://key:secret@bucket/ds", "nowhere://bucket/ds: expected a scheme that fsspec knows, found: "),
        (
            "s3://bucket/ds?scheme=secret",
            "^s3://bucket/ds: expected http or https as the scheme of the endpoint, found",
        ),
        ("s3://bucket/ds?session_token=secret", "^s3://bucket/ds: expected user:password before @, to which session_t"),
        ("s3://key:secret@bucket/odd/..", r"^s3://bucket/odd/\.\.: expected the names of folders in the path of a URL"),
        (
            "s3://key:secret@bucket/./ds",
            r"^s3://bucket/\./ds: expected the names of folders .*, found \.; write it out",
        ),
        ("s3://key:secret@../ds", r"^s3://\.\./ds: expected the names of folders in the path of a URL, found \.\.;"),
        ("gs://key:secret@bucket/../ds", r"^gs://bucket/\.\./ds: expected the names of folders in the path of a URL"),
        ("memory://a/../b?token=secret", r"^memory://a/\.\./b: expected the names of folders in the path of a URL"),
        ("s3://key:secret@bucket/a\nb", r"^s3://bucket/a\\nb: expected a URL without control characters, such as"),
        ("s3://key:secret@bucket/ds\x1b", r"^s3://bucket/ds\\x1b: expected a URL without control characters, such as"),
    ],
)
def test_a_url_that_cannot_be_is_refused_without_its_secret(url, message):
    pytest.importorskip("fsspec")
    with pytest.raises(ValueError, match=message) as error:
        located(url)
    assert "secret" not in str(error.value)
    assert "cret@" not in str(error.value)


def test_what_pyarrow_refuses_of_settings_is_said_with_the_url(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "gopher://secret.test")
    with pytest.raises(
        ValueError, match="^s3://bucket/ds: expected http or https as the scheme of the endpoint, found another$"
    ):
        located("s3://key:secret@bucket/ds")
    monkeypatch.delenv("AWS_ENDPOINT_URL")

    def refuse(**options):
        raise ValueError(f"no such thing: {options['endpoint_override']}")

    monkeypatch.setattr("pyarrow.fs.S3FileSystem", refuse)
    message = "^s3://bucket/ds: expected settings that storage takes, found: no such thing: …$"
    with pytest.raises(ValueError, match=message):
        located("s3://bucket/ds?region=x&endpoint_override=secret")


def test_a_bucket_of_google_has_a_url():
    if not hasattr(pytest.importorskip("pyarrow.fs"), "GcsFileSystem"):
        pytest.skip("this pyarrow was built without Google's storage")
    path = located("gs://anonymous@bucket/ds?retry_limit_seconds=1") / "x.gd"
    assert (path, path.key) == ("gs://bucket/ds/x.gd", "bucket/ds/x.gd")


def test_storage_without_pyarrow_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.fs", None)
    with pytest.raises(ImportError, match=r"object storage needs pyarrow: pip install 'graphzero\[arrow\]'"):
        located("s3://bucket/ds")


def test_a_scheme_of_fsspec_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ImportError, match=r"memory://x: memory:// needs fsspec: pip install fsspec"):
        located("memory://x")


@posix_only(reason=NO_PIPES)
def test_a_pipe_instead_of_a_manifest_is_refused(tmp_path):
    """Reading one would wait for ever."""
    (tmp_path / "there").mkdir()
    os.mkfifo(tmp_path / "there" / MANIFEST)
    for url in (str(tmp_path / "there"), (tmp_path / "there").as_uri()):
        with pytest.raises(OSError, match=rf"^\[Errno 22\] is not a regular file, expected one: '.*there/{MANIFEST}'$"):
            gz.stage(url, tmp_path / "here")


def stored_in_parts(tmp_path, first, last, *, is_first):
    """Return a folder whose manifest names x, in parts, and other attributes with the files that they are given."""
    there = tmp_path / "there"
    np.save(tmp_path / "x.npy", np.eye(4, dtype=np.float32))
    gz.convert_features(tmp_path / "x.npy", (there / "x.gd").as_uri(), shards=2)
    gz.convert_features(tmp_path / "x.npy", tmp_path / "x.gd")
    with gz.FeatureStore(tmp_path / "x.gd") as store:
        fingerprint = f"{store.fingerprint:#018x}"
    manifest = json.loads((there / MANIFEST).read_text())
    node = manifest["nodes"]["node"]
    added = {name: {"file": file, "fingerprint": fingerprint} for name, file in {**first, **last}.items()}
    node["attributes"] = {**added, **node["attributes"]} if is_first else {**node["attributes"], **added}
    for record in added.values():
        file = there / record["file"]
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tmp_path / "x.gd", file)
    (there / MANIFEST).write_text(json.dumps(manifest))
    return there


@pytest.mark.parametrize(
    ("name", "owner", "other"),
    [
        ("x", "nodes/node/x.gd", "nodes/node/x.gd.joined"),
        ("x", "nodes/node/x.gd", "nodes/node/x.gd.joined/z.gd"),
        ("y", "nodes/node/y.gd", "nodes/node/y.gd.part"),
        ("y", "nodes/node/y.gd", "nodes/node/./y.gd.pieces"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_file_with_a_name_that_stage_needs_is_refused(tmp_path, name, owner, other, is_first):
    there = stored_in_parts(tmp_path, {name: owner} if name == "y" else {}, {"z": other}, is_first=is_first)
    for _ in range(2):
        with pytest.raises(
            gz.FormatError,
            match=rf"^{there / MANIFEST}: expected no file with a name that stage\(\) needs beside {owner}, found {other}; "
            "give one of them another name, and push the data set again$",
        ):
            gz.stage(there, tmp_path / "here")
    assert not (tmp_path / "here").exists()
    assert not os.path.exists(hidden(tmp_path / "here"))
    gz.stage(there, tmp_path / "here", features="z")  # without the one whose name it is like
    assert gz.open(tmp_path / "here").features("z").shape == (4, 4)


@pytest.mark.parametrize("file", [".mode", "x.gd.joined", "nodes/node/z.gd.part"])
def test_a_file_may_have_any_other_name(tmp_path, file):
    there = stored_in_parts(tmp_path, {}, {"z": file}, is_first=False)
    gz.stage(there, tmp_path / "here", verify="full")
    with gz.open(tmp_path / "here") as dataset:
        assert dataset.features("z").shape == dataset.features("x").shape == (4, 4)


def test_a_path_of_many_folders_is_refused(tmp_path):
    there = stored_in_parts(tmp_path, {}, {}, is_first=False)
    manifest = json.loads((there / MANIFEST).read_text())
    manifest["nodes"]["node"]["attributes"]["x"]["file"] = "/".join(["d"] * 2000)
    (there / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(
        gz.FormatError,
        match=rf"^{there / MANIFEST}: expected at most 100 folders in the path of a file, found 1999 in d/d/.*…; push",
    ):
        gz.stage(there, tmp_path / "here")

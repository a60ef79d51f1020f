"""Transfers that are killed, cut off or refused: nothing half appears, they go on, and no secret is ever shown."""

import filecmp
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import numpy as np
import pytest

import graphzero as gz
from graphzero._files import storage
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.storage import is_there, located, read_range, write_stored
from graphzero.cli.command import run
from storage_server import KEY, SECRET

pytest.importorskip("pyarrow.fs")

SECRETS = (KEY, SECRET, "wJalrXUtnFEMI/K7MDENG")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    with gz.DatasetWriter(tmp_path / "ds") as writer:
        writer.add_nodes({"x": rng.random((2000, 64), np.float32)})
        writer.add_edges(*rng.integers(0, 2000, (2, 9000)))
    return str(tmp_path / "ds")


def same(a, b):
    paths = [path.relative_to(a) for path in Path(a).rglob("*") if path.is_file()]
    return bool(paths) and all(filecmp.cmp(Path(a, path), Path(b, path), shallow=False) for path in paths)


# After so many blocks, the process is gone: it can clean up nothing.
PUSH = """
import os, signal, sys
import graphzero as gz, graphzero._dataset.sent_files as sent_files
sent_files.BLOCK = 1 << 14
blocks, left = sent_files._blocks, [int(sys.argv[3])]
def killed(path, record, meter):
    for block in blocks(path, record, meter):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        yield block
sent_files._blocks = killed
gz.push(sys.argv[1], sys.argv[2], threads=1, parts="64KiB")
"""
STAGE = """
import os, signal, sys
import graphzero as gz, graphzero._files.pieces as pieces, graphzero._dataset.brought_files as brought_files
pieces.PIECE, brought_files.BLOCK = 1 << 16, 1 << 14
write, left = pieces.PieceFile.write, [int(sys.argv[3])]
def killed(self, begin, data):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, begin, data)
pieces.PieceFile.write = killed
gz.stage(sys.argv[1], sys.argv[2], threads=1)
"""


def killed(script, *words):
    done = subprocess.run([sys.executable, "-c", script, *map(str, words)], capture_output=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr


def test_a_file_on_a_disk_is_replaced_when_the_new_one_is_whole(tmp_path):
    place = located((tmp_path / "stored").as_uri()) / "a"
    write_stored(place, iter([b"old"]))

    def blocks():
        yield b"ne"
        assert read_range(place, 0, 9) == b"old"
        raise ValueError("of the source")

    with pytest.raises(ValueError, match="of the source"):
        write_stored(place, blocks())
    assert read_range(place, 0, 9) == b"old"
    write_stored(place, iter([b"new", b"er"]))
    assert read_range(place, 0, 9) == b"newer"
    assert os.listdir(tmp_path / "stored") == ["a"]


def test_a_push_that_is_killed_goes_on_behind_its_parts(folder, s3, tmp_path):
    place = located("s3://bucket/ds")
    killed(PUSH, folder, place, 22)
    assert not is_there(place / MANIFEST)
    report = gz.push(folder, place, parts="64KiB")
    assert report.num_skipped >= 2  # parts of one file
    assert report.transferred < report.size
    gz.stage(place, tmp_path / "here", verify="full")
    assert same(folder, tmp_path / "here")


def test_a_stage_of_parts_that_is_killed_goes_on(folder, s3, tmp_path):
    gz.push(folder, "s3://bucket/ds", parts="64KiB")
    killed(STAGE, "s3://bucket/ds", tmp_path / "here", 17)
    assert not (tmp_path / "here").exists()
    report = gz.stage("s3://bucket/ds", tmp_path / "here", verify="full")
    assert report.transferred < report.size
    assert same(folder, tmp_path / "here")


def test_a_kill_while_parts_are_put_together(folder, s3, tmp_path):
    gz.push(folder, "s3://bucket/ds", parts="64KiB")
    script = STAGE.replace(
        "pieces.PieceFile.write = killed",
        "import graphzero.staging\ngraphzero.staging.join = lambda *a: os.kill(os.getpid(), 9)",
    )
    killed(script, "s3://bucket/ds", tmp_path / "here", 1)
    report = gz.stage("s3://bucket/ds", tmp_path / "here", verify="full")
    assert report.transferred == 0
    assert same(folder, tmp_path / "here")


def test_two_pushes_at_once_leave_one_data_set(folder, s3, tmp_path):
    failed = []

    def push():
        try:
            gz.push(folder, "s3://bucket/ds", parts="64KiB", threads=2)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=push) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    gz.stage("s3://bucket/ds", tmp_path / "here", verify="full")
    assert same(folder, tmp_path / "here")


def test_a_file_that_may_not_grow_is_told(folder, s3, tmp_path):
    gz.push(folder, "s3://bucket/ds", parts="64KiB")
    script = f"""
import resource, signal
import graphzero as gz
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    gz.stage("s3://bucket/ds", {str(tmp_path / "here")!r})
except OSError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert "File too large: '" in done.stdout, done
    assert not (tmp_path / "here").exists()
    gz.stage("s3://bucket/ds", tmp_path / "here", verify="full")
    assert same(folder, tmp_path / "here")
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_part_that_is_replaced_during_a_stage_is_noticed(folder, s3, tmp_path, monkeypatch):
    import graphzero._files.pieces as pieces

    gz.push(folder, "s3://bucket/ds", parts="64KiB")
    document = json.loads(read_range(located("s3://bucket/ds") / MANIFEST, 0, 1 << 20))
    part = document["nodes"]["node"]["attributes"]["x"]["parts"][0]["file"]
    path = located("s3://bucket/ds") / part
    finish, replaced = pieces.PieceFile.finish, []

    def replacing(self, begin):
        finish(self, begin)
        if not replaced:
            import time

            time.sleep(1.1)  # times are whole seconds
            data = bytearray(read_range(path, 0, 1 << 20))
            data[-1] ^= 1
            write_stored(path, iter([bytes(data)]))
            replaced.append(True)

    monkeypatch.setattr(pieces.PieceFile, "finish", replacing)
    with pytest.raises(gz.FormatError, match="was replaced; stage again"):
        gz.stage("s3://bucket/ds", tmp_path / "here", threads=1)
    assert not (tmp_path / "here").exists()


def test_a_file_that_pyarrow_cannot_upload_is_refused_before_anything_is_sent(folder, s3, monkeypatch):
    monkeypatch.setattr(storage, "LARGEST_S3_OBJECT", 200_000)
    with pytest.raises(
        OSError, match=r"expected at most 200000 bytes, which is what .* found \d+; store attributes in pa"
    ):
        gz.push(folder, "s3://bucket/ds", parts=None)
    assert not storage.found_at([located("s3://bucket/ds/nodes/node/x.gd")])[0].is_file
    gz.push(folder, "s3://bucket/ds", parts="100KiB")


def cut_off(s3):
    s3.cut()


def unknown_key(s3):
    s3.check_credentials(0)


def nothing(s3):
    pass


@pytest.mark.parametrize(
    ("fault", "bucket", "kind", "message"),
    [
        (nothing, "bucket/none", FileNotFoundError, "has no graphzero.json: it is not a data set"),
        (nothing, "missing-bucket/ds", OSError, "missing-bucket/ds"),
        (unknown_key, "bucket/ds", PermissionError, "check the credentials, such as AWS_ACCESS_KEY_ID"),
        (cut_off, "bucket/ds", OSError, "storage says: "),
    ],
    ids=["no data set", "no bucket", "refused", "no server"],
)
@pytest.mark.parametrize("where", ["environment", "url"])
def test_no_failure_shows_a_secret(
    folder, s3, tmp_path, monkeypatch, capsys, caplog, fault, bucket, kind, message, where
):
    """Every command, with credentials in the environment and in the URL: message, chain of errors, log and output."""
    caplog.set_level(logging.DEBUG)
    gz.push(folder, "s3://bucket/ds")
    np.save(tmp_path / "e.npy", np.zeros((2, 3), int))
    url = f"s3://{bucket}"
    if where == "url":
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
            monkeypatch.delenv(name)
        address = s3.endpoint.removeprefix("http://")
        url = f"s3://{KEY}:{SECRET}@{bucket}?scheme=http&endpoint_override={address}&region=us-east-1"
    fault(s3)
    works = [
        lambda: gz.stage(url, tmp_path / "here"),
        lambda: gz.convert_edges(
            url.replace("?", "/e.parquet?") if "?" in url else f"{url}/e.parquet", tmp_path / "g.gl"
        ),
        lambda: gz.open(url),
    ]
    if fault is cut_off:  # where each takes as long as its retries
        works = works[:1]
    elif fault is not nothing or "missing" in bucket:
        works += [
            lambda: gz.push(folder, url),
            lambda: gz.convert_edges(tmp_path / "e.npy", url, shards=1),
        ]
    texts = []
    for number, work in enumerate(works):
        with pytest.raises((OSError, ValueError)) as error:
            work()
        if number == 0:
            assert isinstance(error.value, kind)
            assert message in str(error.value)
        texts += ["".join(traceback.format_exception(error.value)), repr(error.value.__dict__), repr(error.value.args)]
    for words in (["stage", url, str(tmp_path / "here")], ["info", url], ["push", folder, url, "--overwrite"]):
        if words[0] == "info" or fault is unknown_key:
            assert run(words) != 0
    output = capsys.readouterr()
    texts += [output.out, output.err, caplog.text]
    for text in texts:
        for secret in SECRETS:
            assert secret not in text
    assert not os.path.exists(tmp_path / "here")


def test_the_pieces_of_an_interrupted_stage_have_no_secret(folder, s3, tmp_path, monkeypatch):
    gz.push(folder, "s3://bucket/ds", parts="64KiB")
    monkeypatch.setenv("HTTPS_PROXY", "")
    address = s3.endpoint.removeprefix("http://")
    url = f"s3://{KEY}:{SECRET}@bucket/ds?scheme=http&endpoint_override={address}&region=us-east-1"
    killed(STAGE, url, tmp_path / "here", 9)
    left = [path for path in (tmp_path / ".here.graphzero-stage").rglob("*") if path.is_file()]
    assert left
    for path in left:
        data = path.read_bytes()
        assert not any(secret.encode() in data for secret in (*SECRETS, address))

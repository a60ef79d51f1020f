"""Shares of attributes that are stored in parts, straight from object storage: only what a host needs comes, proven."""

import filecmp
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphzero as gz
import graphzero._dataset.share_files as share_files
import graphzero._files.stored_rows as stored_rows
from graphzero._files.manifest_paths import MANIFEST
from graphzero._files.storage import located, read_range, write_stored
from graphzero.cli.command import run

pytest.importorskip("pyarrow.fs")

NODES, WIDTH = 500, 16
PARTS = 7_000  # bytes: a part of x has 109 rows, so that ranges of hosts end inside parts


@pytest.fixture(autouse=True)
def small_requests(monkeypatch):
    """Several requests for each part, and gaps between hot rows."""
    monkeypatch.setattr(stored_rows, "BLOCK", 4 * WIDTH * 20)
    monkeypatch.setattr(stored_rows, "_GAP", 4 * WIDTH * 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("whole")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((NODES, WIDTH)).astype(np.float32)
    gz.convert_features(x, top / "small.gd", dtype="int8-quantised")
    nodes = {
        "x": x,
        "small": gz.FeatureStore(top / "small.gd"),
        "flags": rng.random((NODES, 30)) < 0.5,
        "y": rng.integers(0, 3, NODES),
        "time": np.arange(NODES),
    }
    with gz.DatasetWriter(top / "ds") as writer:
        writer.add_nodes(nodes, label="y", num_classes=3)
        writer.add_edges((NODES * rng.random(4_000) ** 3).astype(np.int64), rng.integers(0, NODES, 4_000))
        writer.add_split("train", np.arange(0, NODES, 7))
    return top / "ds"


@pytest.fixture
def stored(folder, s3):
    """The data set in storage, with its larger attributes in parts."""
    gz.push(folder, "s3://bucket/ds", parts=PARTS)
    return located("s3://bucket/ds")


def same_files(one, other):
    """Whether two folders have the same files, byte for byte."""
    names = [{path.relative_to(top) for path in top.rglob("*") if path.is_file()} for top in (one, other)]
    return names[0] == names[1] and all(filecmp.cmp(one / name, other / name, shallow=False) for name in names[0])


def parts_of(place, name="x"):
    document = json.loads(read_range(place / MANIFEST, 0, 1 << 20))
    return document["nodes"]["node"]["attributes"][name]["parts"]


def noting(asked):
    """Return what reads a range and notes which."""

    def reading(path, begin, count):
        asked.append((str(path), begin))
        return read_range(path, begin, count)

    return reading


def replaced(place, change):
    """Store a manifest that ``change`` has changed."""
    document = json.loads(read_range(place / MANIFEST, 0, 1 << 20))
    change(document["nodes"]["node"]["attributes"])
    write_stored(place / MANIFEST, iter([json.dumps(document).encode()]))


@pytest.mark.parametrize("hosts", [1, 2, 3, 7])
def test_a_share_of_parts_is_that_of_an_ordinary_folder(folder, stored, tmp_path, hosts):
    assert len(parts_of(stored)) == 5
    for host in {0, hosts // 2, hosts - 1}:
        options = {"host": host, "hosts": hosts, "hot": 3_000}
        gz.stage(stored, tmp_path / f"parts {host}", **options, verify="full")
        gz.stage(folder, tmp_path / f"whole {host}", **options)
        assert same_files(tmp_path / f"parts {host}", tmp_path / f"whole {host}")


def test_pieces_of_one_file_are_put_together_to_the_same(folder, s3, tmp_path, monkeypatch):
    gz.push(folder, "s3://bucket/ds", parts=None)
    gz.stage(folder, tmp_path / "whole", host=1, hosts=2, hot=3_000)
    monkeypatch.setattr(share_files, "PIECE_BYTES", 4 * WIDTH * 30)
    gz.stage("s3://bucket/ds", tmp_path / "pieces", host=1, hosts=2, hot=3_000, verify="full")
    assert same_files(tmp_path / "pieces", tmp_path / "whole")


def test_the_command_does_the_same(folder, stored, tmp_path):
    assert run(["stage", str(stored), str(tmp_path / "ds"), "--host", "1", "--hosts", "3", "--hot", "2kB"]) == 0
    gz.stage(folder, tmp_path / "other", host=1, hosts=3, hot=2_000)
    assert same_files(tmp_path / "ds", tmp_path / "other")


def test_only_the_ranges_that_a_host_needs_are_read(stored, tmp_path, monkeypatch):
    read, of_parts = [], {part["file"]: part for part in parts_of(stored)}

    def reading(path, begin, count):
        read.append((path.removeprefix(f"{stored}/"), begin, count))
        return read_range(path, begin, count)

    monkeypatch.setattr(stored_rows, "read_range", reading)
    gz.stage(stored, tmp_path / "ds", host=1, hosts=3, features="x")
    begin, end = NODES // 3, 2 * NODES // 3
    rows = 0
    for file, at, count in read:
        part = of_parts[file]
        if at == 0:  # a header: that of the first part, and those of parts with rows of this host
            assert file == next(iter(of_parts)) or (part["begin"] < end and part["end"] > begin)
            continue
        first = part["begin"] + (at - 4096) // (4 * WIDTH)
        assert begin <= first
        assert first + count // (4 * WIDTH) <= end
        rows += count // (4 * WIDTH)
    assert rows == end - begin
    assert len({file for file, _, _ in read}) < len(of_parts)


KILLED = """
import os, signal, sys
import graphzero as gz, graphzero._files.stored_rows as stored_rows, graphzero._dataset.share_files as share_files
stored_rows.BLOCK, share_files.PIECE_BYTES = 4 * 16 * 20, 4 * 16 * 60
read, left = stored_rows.read_range, [int(sys.argv[3])]
def killed(path, begin, count):
    left[0] -= begin > 0
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return read(path, begin, count)
stored_rows.read_range = killed
gz.stage(sys.argv[1], sys.argv[2], host=0, hosts=2, features="x", threads=1)
"""


@pytest.mark.parametrize("parts", [PARTS, None], ids=["parts", "one file"])
def test_a_kill_costs_a_piece(folder, s3, tmp_path, parts, monkeypatch):
    monkeypatch.setattr(share_files, "PIECE_BYTES", 4 * WIDTH * 60)
    gz.push(folder, "s3://bucket/ds", parts=parts)
    words = [sys.executable, "-c", KILLED, "s3://bucket/ds", str(tmp_path / "ds"), "9"]
    done = subprocess.run(words, capture_output=True, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not (tmp_path / "ds").exists()
    left = sorted((tmp_path / ".ds.graphzero-stage" / "nodes" / "node" / "x.gd.rows").glob("*.gd"))
    assert left
    asked = []
    monkeypatch.setattr(stored_rows, "read_range", noting(asked))
    gz.stage("s3://bucket/ds", tmp_path / "ds", host=0, hosts=2, features="x", verify="full")
    first = parts_of(located("s3://bucket/ds"))[0]["file"] if parts else "nodes/node/x.gd"
    assert (f"s3://bucket/ds/{first}", 0) in asked
    assert (f"s3://bucket/ds/{first}", 4096) not in asked  # its rows do not come again
    gz.stage(folder, tmp_path / "whole", host=0, hosts=2, features="x")
    assert same_files(tmp_path / "ds", tmp_path / "whole")


def test_a_server_that_is_lost_is_told_and_what_came_is_kept(folder, stored, s3, tmp_path, monkeypatch):
    asked = []

    def cutting(path, begin, count):
        asked.append((str(path), begin))
        if len(asked) == 12:
            s3.cut()
        return read_range(path, begin, count)

    options = {"host": 0, "hosts": 2, "features": "x"}
    with monkeypatch.context() as patched:
        patched.setattr(stored_rows, "read_range", cutting)
        with pytest.raises(OSError, match=r"nodes/node/x.gd.parts/"):
            gz.stage(stored, tmp_path / "ds", threads=1, **options)
    assert not (tmp_path / "ds").exists()
    s3.mend()
    before = set(asked[:6])
    asked.clear()
    monkeypatch.setattr(stored_rows, "read_range", noting(asked))
    gz.stage(stored, tmp_path / "ds", **options, verify="full")
    first_part = str(stored / parts_of(stored)[0]["file"])
    assert any(path == first_part and begin for path, begin in before)
    assert not any(path == first_part and begin for path, begin in asked)  # it is here already
    gz.stage(folder, tmp_path / "whole", **options)
    assert same_files(tmp_path / "ds", tmp_path / "whole")


def test_a_flipped_byte_of_a_whole_part_is_found(stored, tmp_path):
    part = parts_of(stored)[1]
    path = stored / part["file"]
    data = bytearray(read_range(path, 0, 1 << 20))
    data[5000] ^= 1
    write_stored(path, iter([bytes(data)]))
    message = r"x.gd.parts/.+: expected rows with the checksum 0x\w{16} of its header, found 0x\w{16}; stage again"
    with pytest.raises(gz.FormatError, match=message):
        gz.stage(stored, tmp_path / "ds", host=0, hosts=2)
    assert not (tmp_path / "ds").exists()


def flip(path, byte, bits):
    data = bytearray(read_range(path, 0, 1 << 20))
    data[byte] ^= bits
    write_stored(path, iter([bytes(data)]))


# The offset of the rows, their type, their number, and a byte that must be zero.
@pytest.mark.parametrize(("byte", "bits"), [(256 + 16 + 1, 1), (64, 2), (72, 1), (4095, 1)])
@pytest.mark.parametrize("parts", [PARTS, "2GB"], ids=["parts", "one file"])
def test_a_flipped_byte_of_a_header_is_found(folder, s3, tmp_path, parts, byte, bits):
    gz.push(folder, "s3://bucket/ds", parts=parts)
    place = located("s3://bucket/ds")
    files = [part["file"] for part in parts_of(place)[:2]] if parts == PARTS else ["nodes/node/x.gd"]
    for file in files:
        flip(place / file, byte, bits)
        message = rf"{file}: bad header checksum at byte 16: expected \d+, found \d+"
        with pytest.raises(gz.FormatError, match=message):
            gz.stage(place, tmp_path / "ds", host=0, hosts=2)
        assert not (tmp_path / "ds").exists()
        flip(place / file, byte, bits)
    gz.stage(place, tmp_path / "ds", host=0, hosts=2, verify="full")


def test_an_object_without_a_whole_header_is_refused(folder, s3, tmp_path):
    gz.push(folder, "s3://bucket/ds", parts=None)
    path = located("s3://bucket/ds") / "nodes/node/x.gd"
    page = bytearray(read_range(path, 0, 4000))
    page[24:32] = len(page).to_bytes(8, "little")
    write_stored(path, iter([bytes(page)]))
    with pytest.raises(gz.FormatError, match=r"x.gd: too short: expected at least the header's 4096 bytes, found 4000"):
        gz.stage("s3://bucket/ds", tmp_path / "ds", host=0, hosts=2)


def test_rows_do_not_come_to_the_place_of_another_file(folder, s3, tmp_path):
    gz.push(folder, "s3://bucket/ds", parts=None)
    place = located("s3://bucket/ds")
    for name, other in (("x.gd", "z.gd"), ("y.gd", "x.gd")):
        write_stored(place / f"nodes/node/{other}", iter([read_range(place / f"nodes/node/{name}", 0, 1 << 20)]))

    def move(attributes):
        attributes["x"]["file"], attributes["y"]["file"] = "nodes/node/z.gd", "nodes/node/x.gd"

    replaced(place, move)
    message = r"s3://bucket/ds: expected no file nodes/node/x.gd, where rows of x come, found one"
    with pytest.raises(gz.FormatError, match=message):
        gz.stage(place, tmp_path / "ds", host=0, hosts=2)


def test_a_part_of_another_file_is_refused(stored, tmp_path):
    first, second = parts_of(stored)[:2]
    write_stored(stored / second["file"], iter([read_range(stored / first["file"], 0, 1 << 20)]))
    with pytest.raises(gz.FormatError, match=r"expected the fingerprint 0x\w{16} of graphzero.json, found 0x\w{16}"):
        gz.stage(stored, tmp_path / "ds", host=0, hosts=2)


def test_a_part_that_is_cut_short_is_refused(stored, tmp_path):
    path = stored / parts_of(stored)[1]["file"]
    data = read_range(path, 0, 1 << 20)
    write_stored(path, iter([data[:-4096]]))
    with pytest.raises(gz.FormatError, match=r"expected \d+ bytes, as its header says, found \d+; push the data set"):
        gz.stage(stored, tmp_path / "ds", host=0, hosts=2)


def test_a_part_with_other_rows_than_the_manifest_says_is_refused(stored, tmp_path):
    def move(attributes):
        attributes["x"]["parts"][0]["end"] -= 1
        attributes["x"]["parts"][1]["begin"] -= 1
        for part in attributes["x"]["parts"]:
            del part["seal"]

    replaced(stored, move)
    with pytest.raises(gz.FormatError, match=r"x of 'node': expected 108 rows, found 109"):
        gz.stage(stored, tmp_path / "ds", host=0, hosts=2)


def test_parts_of_different_kinds_are_refused(folder, stored, tmp_path):
    gz.write_features(tmp_path / "other.gd", np.zeros((109, WIDTH)))
    other = gz.FeatureStore(tmp_path / "other.gd")
    part = parts_of(stored)[1]["file"]
    write_stored(stored / part, iter([Path(other.path).read_bytes()]))
    found = {"fingerprint": f"{other.fingerprint:#018x}", "seal": None}
    replaced(stored, lambda attributes: attributes["x"]["parts"][1].update(found))
    problem = r"x of 'node': expected rows of float32 \[16\], as the first part has, found float64 \[16\]; push or conv"
    with pytest.raises(gz.FormatError, match=problem):
        gz.stage(stored, tmp_path / "ds", host=0, hosts=2)


def test_a_part_that_is_replaced_meanwhile_is_noticed_and_forgotten(folder, stored, tmp_path, monkeypatch):
    import time

    path = stored / parts_of(stored)[0]["file"]
    write, done = stored_rows.StoredRows.write, []

    def replacing(self, *arguments):
        write(self, *arguments)
        if not done:
            time.sleep(1.1)  # times are whole seconds
            write_stored(path, iter([read_range(path, 0, 1 << 20)]))
            done.append(True)

    with monkeypatch.context() as patched:
        patched.setattr(stored_rows.StoredRows, "write", replacing)
        with pytest.raises(gz.FormatError, match=r"found that nodes/node/x.gd.parts/.+ was replaced; stage again"):
            gz.stage(stored, tmp_path / "ds", host=0, hosts=2, features="x")
    left = [file for _, _, files in os.walk(tmp_path / ".ds.graphzero-stage" / "nodes" / "node") for file in files]
    assert "x.gd" not in left
    gz.stage(stored, tmp_path / "ds", host=0, hosts=2, features="x")
    gz.stage(folder, tmp_path / "whole", host=0, hosts=2, features="x")
    assert same_files(tmp_path / "ds", tmp_path / "whole")


def test_parts_that_nobody_has_put_together_have_a_name_for_all_hosts(stored, tmp_path):
    """A conversion in shards does not know the fingerprint of the whole file."""
    replaced(stored, lambda attributes: attributes["x"].pop("fingerprint"))
    for host in range(2):
        gz.stage(stored, tmp_path / str(host), host=host, hosts=2, features="x", verify="full")
    wholes = [gz.open(tmp_path / str(host)).features("x").record.whole for host in range(2)]
    assert wholes[0] == wholes[1] != 0


def test_short_disks_lose_pieces_one_by_one(folder, stored, tmp_path, monkeypatch):
    removed = []
    monkeypatch.setattr(share_files, "free_space", lambda _: 0)
    join = share_files.join_parts

    def joining(paths, parts, target, *, done):
        join(paths, parts, target, done=lambda path: (removed.append(path), done(path)))

    monkeypatch.setattr(share_files, "join_parts", joining)
    gz.stage(stored, tmp_path / "ds", host=0, hosts=2, features="x")
    assert len(removed) == 3
    assert not any(map(os.path.exists, removed))
    gz.stage(folder, tmp_path / "whole", host=0, hosts=2, features="x")
    assert same_files(tmp_path / "ds", tmp_path / "whole")


def test_a_piece_that_the_disk_has_damaged_is_found(stored, tmp_path, monkeypatch):
    join = share_files.join_parts

    def damaging(paths, parts, target, *, done):
        data = bytearray(Path(paths[1]).read_bytes())
        data[4100] ^= 1
        Path(paths[1]).write_bytes(data)
        return join(paths, parts, target, done=done)

    with monkeypatch.context() as patched:
        patched.setattr(share_files, "join_parts", damaging)
        with pytest.raises(gz.FormatError, match=r"checksum of data: expected \d+, found \d+: the bytes changed"):
            gz.stage(stored, tmp_path / "ds", host=0, hosts=2, features="x")
    gz.stage(stored, tmp_path / "ds", host=0, hosts=2, features="x", verify="full")

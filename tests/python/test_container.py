"""What .gl and .gd have in common: docs/formats/container.md, invariant by invariant."""

import os
import re
import struct
from pathlib import Path

import numpy as np
import pytest

import files
import graphzero as gz
from files import ENTRY, HEADER, PAGE, TABLE, Broken, entry_field, patched
from systems import NO_PIPES, posix_only

GL = (Path(__file__).parent.parent / "data" / "tiny.gl").read_bytes()
GD = (Path(__file__).parent.parent / "data" / "tiny.gd").read_bytes()
NUM_SECTIONS = 5  # of tiny.gl: out_indptr, out_indices, in_indptr, in_indices, in_edge_ids
BEHIND_TABLE = TABLE + NUM_SECTIONS * ENTRY
SIZE = len(GL)


def with_header(**values):
    return patched(GL, {HEADER[name]: value for name, value in values.items()})


def with_entry(i, **values):
    return patched(GL, {entry_field(i, name): value for name, value in values.items()})


def with_section(kind, *, flags, dtype="uint8", data=b"news"):
    """tiny.gl with one more section at its end."""
    container = files.parse(GL, files.MAGIC["gl"], files.NAMES)
    container.fields = container.fields[:32]
    container.sections.append(files.Section(kind, dtype, data, flags))
    return files.build(container)


BROKEN = [
    Broken("C1", "an empty file", b"", "too short: expected at least the header's 4096 bytes, found 0"),
    Broken("C1", "the magic alone", GL[:8], "too short: expected at least the header's 4096 bytes, found 8"),
    Broken("C1", "one byte short of a page", GL[:4095], "too short: .* found 4095"),
    Broken(
        "C2",
        "another magic",
        with_header(magic=b"GRAPHZXX"),
        "bad magic at byte 0: expected 'GRAPHZGL', found 'GRAPHZXX'",
    ),
    Broken("C2", "text", b"src,dst\n0,1\n", r"bad magic at byte 0: expected 'GRAPHZGL', found 'src,dst\\x0a'"),
    Broken(
        "C3",
        "a big-endian file",
        with_header(byte_order=0x04030201),
        "bad byte order at byte 12: expected a little-endian file, found a big-endian one",
    ),
    Broken(
        "C3", "no byte order at all", with_header(byte_order=0), "bad byte order at byte 12: .* found something else"
    ),
    Broken("C4", "a future version", with_header(version=7), "bad version at byte 8: expected 1, found 7"),
    Broken("C4", "version 0", with_header(version=0), "bad version at byte 8: expected 1, found 0"),
    Broken(
        "C5",
        "a wrong header checksum",
        patched(GL, {HEADER["header_checksum"]: 99}, resign=False),
        r"bad header checksum at byte 16: expected \d+, found 99",
    ),
    Broken(
        "C5",
        "a header that changed",
        patched(GL, {(80, "<Q"): 5}, resign=False),
        r"bad header checksum at byte 16: expected \d+, found \d+",
    ),
    Broken(
        "C6",
        "a page missing",
        GL[:-PAGE],
        f"bad file size at byte 24: expected {SIZE} bytes .*, found {SIZE - PAGE} bytes",
    ),
    Broken(
        "C6", "a byte missing", GL[:-1], f"bad file size at byte 24: expected {SIZE} bytes .*, found {SIZE - 1} bytes"
    ),
    Broken(
        "C6",
        "a byte too many",
        GL + b"\0",
        f"bad file size at byte 24: expected {SIZE} bytes .*, found {SIZE + 1} bytes",
    ),
    Broken(
        "C6",
        "the largest size",
        with_header(file_size=2**64 - 1),
        f"bad file size at byte 24: expected {2**64 - 1} bytes .*, found {SIZE} bytes",
    ),
    Broken(
        "C7",
        "too many sections",
        with_header(num_sections=65),
        "bad section count at byte 32: expected at most 64, found 65",
    ),
    Broken(
        "C7",
        "far too many sections",
        with_header(num_sections=2**32 - 1),
        "bad section count at byte 32: .* found 4294967295",
    ),
    Broken(
        "C8",
        "a reserved byte",
        with_header(reserved=bytes(23) + b"\1"),
        "bad reserved bytes at byte 40: expected zeros",
    ),
    Broken(
        "C9",
        "a byte behind the table",
        patched(GL, {(BEHIND_TABLE, "B"): 1}),
        f"bad reserved bytes at byte {BEHIND_TABLE}: expected zeros",
    ),
    Broken(
        "C9",
        "the last byte of the page",
        patched(GL, {(PAGE - 1, "B"): 1}),
        f"bad reserved bytes at byte {BEHIND_TABLE}: expected zeros",
    ),
    Broken(
        "C9",
        "a section that is not counted",
        with_header(num_sections=4),
        f"bad reserved bytes at byte {BEHIND_TABLE - ENTRY}: expected zeros",
    ),
    Broken(
        "C10",
        "a reserved byte of an entry",
        with_entry(1, reserved=3),
        f"bad reserved bytes of a section at byte {TABLE + ENTRY + 12}: expected zeros, found 3",
    ),
    Broken(
        "C11",
        "an unknown flag",
        with_entry(2, flags=3),
        f"bad section flags at byte {TABLE + 2 * ENTRY + 8}: expected 0 or 1, found 3",
    ),
    Broken(
        "C12",
        "a required section of unknown kind",
        with_section(99, flags=1),
        f"section kind 99 at byte {BEHIND_TABLE} is required but not known",
    ),
    Broken(
        "C13",
        "an unknown dtype",
        with_entry(0, dtype=10),
        f"bad section dtype at byte {TABLE + 4}: expected a code below 10, found 10",
    ),
    Broken(
        "C14",
        "a section in the header",
        with_entry(0, offset=0),
        f"bad section offset at byte {TABLE + 16}: expected 4096 .*, found 0",
    ),
    Broken(
        "C14",
        "a section off the page",
        with_entry(1, offset=8200),
        f"bad section offset at byte {TABLE + ENTRY + 16}: expected 8192 .*, found 8200",
    ),
    Broken(
        "C14",
        "two sections in one place",
        with_entry(1, offset=4096),
        f"bad section offset at byte {TABLE + ENTRY + 16}: expected 8192 .*, found 4096",
    ),
    Broken(
        "C14",
        "a hole",
        with_entry(1, offset=12288),
        f"bad section offset at byte {TABLE + ENTRY + 16}: expected 8192 .*, found 12288",
    ),
    Broken(
        "C15",
        "a section beyond the end",
        with_entry(0, length=SIZE - PAGE + 1),
        f"bad section length at byte {TABLE + 24}: expected at most {SIZE - PAGE} bytes .*, found {SIZE - PAGE + 1}",
    ),
    Broken(
        "C15",
        "a length that wraps around",
        with_entry(0, length=2**64 - PAGE),
        f"bad section length at byte {TABLE + 24}: .* found {2**64 - PAGE}",
    ),
    Broken(
        "C15",
        "the largest length",
        with_entry(0, length=2**64 - 1),
        f"bad section length at byte {TABLE + 24}: .* found {2**64 - 1}",
    ),
    Broken(
        "C16",
        "a kind twice",
        with_entry(1, kind=1),
        f"section kind 1 at byte {TABLE + ENTRY} appears twice, expected once",
    ),
    Broken(
        "C16",
        "an unknown kind twice",
        patched(with_section(99, flags=0), {entry_field(0, "kind"): 99, entry_field(0, "flags"): 0}),
        f"section kind 99 at byte {BEHIND_TABLE} appears twice",
    ),
    Broken(
        "C17",
        "a page behind the last section",
        patched(GL + bytes(PAGE), {HEADER["file_size"]: SIZE + PAGE}),
        rf"bad file size at byte 24: expected {SIZE} \(the end of the last section.*found {SIZE + PAGE}",
    ),
    Broken(
        "C17",
        "a file that is not whole pages",
        patched(GL[:-8], {HEADER["file_size"]: SIZE - 8}),
        rf"bad file size at byte 24: expected {SIZE} .*, found {SIZE - 8}",
    ),
    Broken(
        "C17",
        "no sections in a large file",
        patched(GL[:TABLE] + bytes(SIZE - TABLE), {HEADER["num_sections"]: 0}),
        f"bad file size at byte 24: expected 4096 .*, found {SIZE}",
    ),
]

DAMAGED = [
    Broken(
        "C18",
        "a bit of the first section",
        patched(GL, {(PAGE, "B"): 1}),
        r"checksum of out_indptr: expected \d+, found \d+",
    ),
    Broken(
        "C18",
        "a bit of the last section",
        patched(GL, {(5 * PAGE, "B"): 2}),
        r"checksum of in_edge_ids: expected \d+, found \d+",
    ),
    Broken("C18", "a checksum", with_entry(1, checksum=7), r"checksum of out_indices: expected 7, found \d+"),
    Broken(
        "C18",
        "a bit of an unknown section",
        patched(with_section(99, flags=0), {(SIZE, "B"): 0}),
        r"checksum of kind 99: expected \d+, found \d+",
    ),
    Broken(
        "C19",
        "a byte behind the first section",
        patched(GL, {(PAGE + 40, "B"): 1}),
        f"zeros between the sections: byte {PAGE + 40} is not zero",
    ),
    Broken(
        "C19",
        "the last byte of the file",
        patched(GL, {(SIZE - 1, "B"): 1}),
        f"zeros between the sections: byte {SIZE - 1} is not zero",
    ),
]


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_a_broken_header_does_not_open(broken, tmp_path):
    path = files.write(tmp_path / "broken.gl", broken.data)
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: {broken.message}"):
        gz.Graph(path)
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: {broken.message}"):
        gz.verify(path)


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_the_slow_reader_finds_the_same_invariant_broken(broken):
    with pytest.raises(files.BadFile) as error:
        files.read_gl(broken.data)
    # A file too short for its header says so, whatever its magic.
    assert str(error.value) == broken.invariant or len(broken.data) < PAGE


@pytest.mark.parametrize("broken", DAMAGED, ids=str)
def test_damage_behind_the_header_is_found_by_a_full_check(broken, tmp_path):
    path = files.write(tmp_path / "damaged.gl", broken.data)
    gz.Graph(path).close()
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: {broken.message}"):
        gz.Graph(path, verify="full")
    problems = [f"{check.name}: {check.problem}" for check in gz.verify(path) if not check.holds]
    assert re.match(broken.message, problems[0])


def test_every_invariant_has_a_broken_file():
    assert {case.invariant for case in BROKEN} == set(files.invariants("container.md", "O(1)"))
    assert {case.invariant for case in DAMAGED} == set(files.invariants("container.md", "full"))


def test_an_unknown_optional_section_is_skipped(tmp_path):
    path = files.write(tmp_path / "newer.gl", with_section(99, flags=0, data=bytes(range(200))))
    graph = gz.Graph(path, verify="full")
    assert graph.num_edges == 4
    assert "checksum of kind 99" in [check.name for check in gz.verify(path)]


def test_an_unknown_optional_section_may_have_a_dtype_of_the_future(tmp_path):
    newer = with_section(99, flags=0)
    path = files.write(tmp_path / "newer.gl", patched(newer, {entry_field(NUM_SECTIONS, "dtype"): 4_000_000_000}))
    assert gz.Graph(path, verify="full").num_edges == 4


def test_sixty_four_sections_open(tmp_path):
    container = files.parse(GL, files.MAGIC["gl"], files.NAMES)
    container.fields = container.fields[:32]
    container.sections += [files.Section(1000 + i, "uint8", b"x", flags=0) for i in range(64 - NUM_SECTIONS)]
    path = files.write(tmp_path / "many.gl", files.build(container))
    assert gz.Graph(path, verify="full").num_edges == 4


def test_sections_open_in_any_order(tmp_path):
    container = files.parse(GL, files.MAGIC["gl"], files.NAMES)
    container.fields = container.fields[:32]
    container.sections.reverse()
    path = files.write(tmp_path / "reversed.gl", files.build(container))
    assert gz.Graph(path, verify="full").neighbors(0).tolist() == [1, 2]


@pytest.mark.parametrize("store", [gz.Graph, gz.FeatureStore])
def test_a_missing_file_is_not_found(store, tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        store(tmp_path / "missing.gl")
    assert error.value.filename == str(tmp_path / "missing.gl")


@pytest.mark.parametrize("store", [gz.Graph, gz.FeatureStore])
def test_a_folder_is_refused(store, tmp_path):
    with pytest.raises(IsADirectoryError, match="expected a file"):
        store(tmp_path)


@posix_only(reason=NO_PIPES)
@pytest.mark.parametrize("store", [gz.Graph, gz.FeatureStore])
def test_a_named_pipe_is_refused_without_waiting(store, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        store(tmp_path / "pipe")


@pytest.mark.parametrize("store", [gz.Graph, gz.FeatureStore])
def test_a_device_is_refused(store):
    with pytest.raises(OSError, match="not a regular file"):
        store(os.devnull)


@pytest.mark.parametrize("store", [gz.Graph, gz.FeatureStore])
def test_an_empty_file_is_too_short(store, tmp_path):
    path = files.write(tmp_path / "empty", b"")
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: too short: .* 4096 bytes, found 0"):
        store(path)


def test_features_are_no_graph(tmp_path):
    for data in (GD, GD[:8], GD[:100]):
        path = files.write(tmp_path / "x.gd", data)
        with pytest.raises(
            gz.FormatError, match=f"^{re.escape(str(path))}: is a feature file .* open it with FeatureStore"
        ):
            gz.Graph(path)


def test_a_graph_is_no_features(tmp_path):
    for data in (GL, GL[:8], GL[:100]):
        path = files.write(tmp_path / "g.gl", data)
        with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: is a topology file .* open it with Graph"):
            gz.FeatureStore(path)


def interesting_lengths(data):
    sections = struct.unpack_from("<I", data, 32)[0]
    edges = [0, 8, 12, 16, 24, 32, 36, 40, 64, 72, 80, 88, 96, TABLE, TABLE + sections * ENTRY, len(data)]
    for i in range(sections):
        offset, length = struct.unpack_from("<QQ", data, TABLE + i * ENTRY + 16)
        edges += [TABLE + i * ENTRY, offset, offset + length]
    return sorted({length for edge in edges for length in (edge - 1, edge, edge + 1) if 0 <= length < len(data)})


@pytest.mark.parametrize(("data", "store"), [(GL, gz.Graph), (GD, gz.FeatureStore)], ids=["gl", "gd"])
@pytest.mark.parametrize("resign", [False, True], ids=["as it was", "header rewritten to the new size"])
def test_a_truncated_file_does_not_open(data, store, resign, tmp_path):
    for length in interesting_lengths(data):
        cut = bytearray(data[:length])
        if resign and length >= PAGE:
            cut = patched(cut, {HEADER["file_size"]: length})
        path = files.write(tmp_path / "cut", cut)
        with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: "):
            store(path)
        with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: "):
            gz.verify(path)


def test_the_fingerprint_is_the_header_checksum(tiny_gl):
    assert gz.Graph(tiny_gl).fingerprint == struct.unpack_from("<Q", GL, 16)[0]


def test_the_slow_reader_reads_what_the_fast_one_does(tiny_gl, tiny_gd):
    graph, index = files.read_gl(Path(tiny_gl).read_bytes()), gz.Graph(tiny_gl).index("in")
    np.testing.assert_array_equal(graph.arrays["in_indptr"], index.indptr)
    np.testing.assert_array_equal(graph.arrays["in_edge_ids"], index.edge_ids)
    np.testing.assert_array_equal(files.read_gd(Path(tiny_gd).read_bytes())[1], gz.FeatureStore(tiny_gd).get_tensor())

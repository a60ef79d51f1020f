"""Id dictionaries: golden bytes, the slow writer's bytes, and docs/formats/gi.md invariant by invariant."""

import re
import struct

import numpy as np
import pytest

import files
import gi_files
import graphzero as gz
from files import HEADER, TABLE, Broken, entry_field, patched, reseal
from gi_files import BYTES, FIELDS, LABELS, OFFSETS, SAMPLES, SLOTS

TEXT = [b"", b"a", b"ab", b"b", b"b\0", "ü".encode(), *(b"node %d" % i for i in range(30))]
NUMBERS = [-(2**63), -5, 0, 7, 2**40, 2**63 - 1, *range(100, 140)]
STRINGS, INTEGERS = files.build(gi_files.gi(TEXT)), files.build(gi_files.gi(NUMBERS))
SIZES = [0, 1, 2, 15, 16, 17, 31, 32, 33, 255, 256, 257, 272, 273, 4096, 4097, 5000]


@pytest.mark.parametrize("count", SIZES)
def test_the_writer_writes_integers_as_the_slow_one(count, tmp_path):
    labels = (np.random.default_rng(3).permutation(count) * 1_000_003 - 2**40).tolist()
    with gz.ids.IdBuilder(tmp_path / "fast.gi", "integer") as builder:
        builder.add(np.array(labels, dtype=np.int64))
    slow = gi_files.gi(labels)
    if not labels:
        slow = files.Container(gi_files.MAGIC, 0, struct.pack("<IIQ", 1, 0, 0), [])
        slow.sections = [gi_files.section(LABELS, []), gi_files.section(SAMPLES, [])]
    assert (tmp_path / "fast.gi").read_bytes() == files.build(slow)


@pytest.mark.parametrize("count", SIZES)
def test_the_writer_writes_strings_as_the_slow_one(count, tmp_path):
    labels = [f"label {i * 7919 % 100_003} {'x' * (i % 50)}" for i in range(count)]
    gz.write_ids(tmp_path / "fast.gi", labels)
    assert (tmp_path / "fast.gi").read_bytes() == files.build(gi_files.gi([label.encode() for label in labels]))


@pytest.mark.parametrize("data", [STRINGS, INTEGERS], ids=["strings", "integers"])
def test_the_slow_file_opens_and_is_intact(data, tmp_path):
    path = files.write(tmp_path / "slow.gi", data)
    d = gz.IdDictionary(path, verify="full")
    expected = sorted(TEXT) if d.kind == "string" else sorted(NUMBERS)
    found = d.labels(range(len(d))).tolist()
    assert [label.encode() if d.kind == "string" else label for label in found] == expected
    assert d.indices(found).tolist() == list(range(len(d)))
    gi_files.prove(data)


def test_every_check_is_listed(tmp_path):
    checks = gz.verify(files.write(tmp_path / "s.gi", STRINGS))
    assert [check.name for check in checks] == [
        "checksum of bytes",
        "checksum of offsets",
        "checksum of slots",
        "zeros between the sections",
        "offsets rise from 0 to the end of the bytes",
        "labels are UTF-8",
        "labels rise",
        "every label is found by its hash",
    ]
    checks = gz.verify(files.write(tmp_path / "i.gi", INTEGERS))
    assert [check.name for check in checks] == [
        "checksum of labels",
        "checksum of samples",
        "zeros between the sections",
        "labels rise",
        "samples are those of the labels",
    ]


def changed(data=STRINGS, **values):
    return patched(data, {FIELDS[name]: value for name, value in values.items()})


def with_sections(data, change):
    """The file with its list of sections changed, signed anew."""
    container = files.parse(data, gi_files.MAGIC, gi_files.KINDS)
    container.fields = container.fields[:32]
    change(container.sections)
    return files.build(container)


def place(data, kind, item=0, size=8):
    """The byte of the file where an item of a section is."""
    return files.parse(data, gi_files.MAGIC, gi_files.KINDS).section(kind).offset + item * size


def damaged(data, kind, item, value, code="<q"):
    return reseal(patched(data, {(place(data, kind, item, struct.calcsize(code)), code): value}))


def table_of(data):
    found = gi_files.read(data)
    return found["slots"], next(i for i, slot in enumerate(found["slots"]) if slot)


SLOT_TABLE, USED_SLOT = table_of(STRINGS)
FREE_SLOT = SLOT_TABLE.index(0)
NUM = len(TEXT)

BROKEN = [
    Broken("GI1", "a flag", patched(STRINGS, {HEADER["flags"]: 1}), "bad flags at byte 36: expected 0, found 1"),
    Broken("GI2", "no kind", changed(kind=0), "bad kind of labels at byte 64: expected 1 .* or 2 .*, found 0"),
    Broken("GI2", "a kind too many", changed(kind=3), "bad kind of labels at byte 64: .* found 3"),
    Broken("GI3", "too many labels", changed(num_labels=2**40), f"bad number of labels at byte 72: .* found {2**40}"),
    Broken(
        "GI4", "no homes", changed(num_homes=0), r"bad number of home slots at byte 80: expected 1 to 2\^48, found 0"
    ),
    Broken("GI4", "far too many homes", changed(num_homes=2**64 - 1), "bad number of home slots at byte 80"),
    Broken(
        "GI4", "homes of integers", changed(INTEGERS, num_homes=1), "bad number of home slots .* expected 0, found 1"
    ),
    Broken(
        "GI5", "far too long a probe", changed(max_probe=2**64 - 1), "bad longest probe at byte 88: expected at most"
    ),
    Broken("GI5", "a probe of integers", changed(INTEGERS, max_probe=1), "bad longest probe at byte 88: expected 0"),
    Broken("GI6", "a reserved byte", changed(reserved=1), "bad reserved bytes at byte 68: expected zeros"),
    Broken("GI6", "the last reserved byte", patched(STRINGS, {(255, "B"): 1}), "bad reserved bytes at byte 96"),
    Broken(
        "GI7",
        "integers in strings",
        with_sections(STRINGS, lambda s: s.append(gi_files.section(LABELS, [1]))),
        "section labels at byte 376 does not belong to labels of this kind",
    ),
    *(
        Broken(
            "GI8",
            f"no {gi_files.NAMES[kind]}",
            with_sections(data, lambda s, kind=kind: s.remove(next(x for x in s if x.kind == kind))),
            f"expected a {gi_files.NAMES[kind]} section, found none",
        )
        for data, kinds in ((STRINGS, (BYTES, OFFSETS, SLOTS)), (INTEGERS, (LABELS, SAMPLES)))
        for kind in kinds
    ),
    Broken(
        "GI9",
        "bytes that are bool",
        patched(STRINGS, {entry_field(0, "dtype"): 9}),
        f"bad dtype of section bytes at byte {TABLE + 4}: expected uint8, found bool",
    ),
    Broken(
        "GI9",
        "labels that are floats",
        patched(INTEGERS, {entry_field(0, "dtype"): 3}),
        "bad dtype of section labels .* expected int64, found float64",
    ),
    Broken(
        "GI10",
        "a label too many",
        changed(num_labels=NUM + 1),
        f"bad length of section offsets at byte {TABLE + 64}: expected {8 * NUM + 16} bytes .*, found {8 * NUM + 8} bytes",
    ),
    Broken("GI10", "a label too few", changed(INTEGERS, num_labels=len(NUMBERS) - 1), "bad length of section labels"),
    Broken("GI10", "a home too many", changed(num_homes=NUM + NUM // 3 + 2), "bad length of section slots"),
    Broken(
        "GI10",
        "samples that are missing",
        with_sections(INTEGERS, lambda s: s.__setitem__(1, gi_files.section(SAMPLES, []))),
        "bad length of section samples .* expected 128 bytes for 16 items, found 0 bytes",
    ),
]

DAMAGED = [
    Broken(
        "GI11",
        "a label twice",
        damaged(INTEGERS, LABELS, 3, 0),
        "labels rise: labels[3]: expected more than 0, found 0",
    ),
    Broken(
        "GI12",
        "a wrong sample",
        damaged(INTEGERS, SAMPLES, 1, 5),
        "samples are those of the labels: samples[1]: expected 112, found 5",
    ),
    Broken(
        "GI12",
        "a sample behind the last",
        damaged(INTEGERS, SAMPLES, 15, 0),
        f"samples are those of the labels: samples[15]: expected {2**63 - 1}, found 0",
    ),
    Broken(
        "GI13",
        "a start that is not 0",
        damaged(STRINGS, OFFSETS, 0, 1),
        "offsets rise from 0 to the end of the bytes: offsets[0]: expected 0, found 1",
    ),
    Broken(
        "GI13",
        "an offset that falls",
        damaged(STRINGS, OFFSETS, 3, 0),
        "offsets rise from 0 to the end of the bytes: offsets[3]: expected at least 1, found 0",
    ),
    Broken(
        "GI13",
        "an end that is not that of the bytes",
        damaged(STRINGS, OFFSETS, NUM, 2**62),
        f"offsets rise from 0 to the end of the bytes: label {NUM - 1}: expected at most 2^31 bytes",
    ),
    Broken(
        "GI14",
        "a byte that is no text",
        damaged(STRINGS, BYTES, 0, 0xFF, "B"),
        r"labels are UTF-8: label 1: expected UTF-8, found '\xff'",
    ),
    Broken(
        "GI15",
        "labels out of order",
        damaged(STRINGS, BYTES, 0, ord("z"), "B"),
        "labels rise: label 2: expected more than 'z', found 'ab'",
    ),
    Broken(
        "GI16",
        "an id that is no label",
        damaged(STRINGS, SLOTS, USED_SLOT, SLOT_TABLE[USED_SLOT] & ~((1 << 40) - 1) | NUM + 1, "<Q"),
        "every label is found by its hash: ",
    ),
    Broken(
        "GI16",
        "a label that is not in the table",
        damaged(STRINGS, SLOTS, USED_SLOT, 0, "<Q"),
        "every label is found by its hash: label ",
    ),
    Broken(
        "GI17",
        "a slot too many",
        damaged(STRINGS, SLOTS, FREE_SLOT, 1, "<Q"),
        f"every label is found by its hash: expected {NUM} slots in use, found {NUM + 1}",
    ),
]


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_a_broken_header_does_not_open(broken, tmp_path):
    path = files.write(tmp_path / "broken.gi", broken.data)
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: {broken.message}"):
        gz.IdDictionary(path)
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: {broken.message}"):
        gz.verify(path)


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_the_slow_reader_finds_the_same_invariant_broken(broken):
    with pytest.raises(files.BadFile, match=f"^{broken.invariant}$"):
        gi_files.read(broken.data)


@pytest.mark.parametrize("broken", DAMAGED, ids=str)
def test_damage_behind_the_header_is_found_by_a_full_check(broken, tmp_path):
    path = files.write(tmp_path / "damaged.gi", broken.data)
    gz.IdDictionary(path).close()
    with pytest.raises(gz.FormatError) as error:
        gz.IdDictionary(path, verify="full")
    assert str(error.value).startswith(f"{path}: {broken.message}")
    first = next(check for check in gz.verify(path) if not check.holds)
    assert f"{first.name}: {first.problem}".startswith(broken.message)


@pytest.mark.parametrize("broken", DAMAGED, ids=str)
def test_the_slow_proof_finds_the_same_invariant_broken(broken):
    with pytest.raises(files.BadFile, match=f"^{broken.invariant}$"):
        gi_files.prove(broken.data)


def test_every_invariant_has_a_broken_file():
    assert {case.invariant for case in BROKEN} == set(files.invariants("gi.md", "O(1)"))
    assert {case.invariant for case in DAMAGED} == set(files.invariants("gi.md", "full"))


def test_a_changed_byte_is_found_by_a_full_check(tmp_path):
    path = files.write(tmp_path / "x.gi", patched(STRINGS, {(place(STRINGS, BYTES), "B"): ord("A")}))
    with pytest.raises(gz.FormatError, match=r"checksum of bytes: expected \d+, found \d+"):
        gz.IdDictionary(path, verify="full")


def test_a_lookup_that_leads_outside_is_refused(tmp_path):
    lost = damaged(STRINGS, SLOTS, USED_SLOT, SLOT_TABLE[USED_SLOT] & ~((1 << 40) - 1) | NUM + 1, "<Q")
    label = sorted(TEXT)[(SLOT_TABLE[USED_SLOT] & (1 << 40) - 1) - 1]
    d = gz.IdDictionary(files.write(tmp_path / "lost.gi", lost))
    with pytest.raises(gz.FormatError, match=rf"bad slot {USED_SLOT}: expected an id below {NUM}, found {NUM}"):
        d.index(label)
    with gz.IdDictionary(files.write(tmp_path / "far.gi", damaged(STRINGS, OFFSETS, 2, 2**40))) as d:
        for i in (1, 2):
            with pytest.raises(gz.FormatError, match=rf"bad offsets of label {i}: expected 0 to \d+, rising, found"):
                d.label(i)


def test_other_files_are_no_dictionary(tiny_gl, tiny_gd, tmp_path):
    with pytest.raises(gz.FormatError, match="is a topology file .* open it with Graph"):
        gz.IdDictionary(tiny_gl)
    with pytest.raises(gz.FormatError, match="is a feature file .* open it with FeatureStore"):
        gz.IdDictionary(tiny_gd)
    with pytest.raises(gz.FormatError, match="bad magic at byte 0: expected 'GRAPHZGI'"):
        gz.IdDictionary(files.write(tmp_path / "x", b"label,id\n"))
    path = files.write(tmp_path / "ids.gi", STRINGS)
    for store in (gz.Graph, gz.FeatureStore):
        with pytest.raises(gz.FormatError, match="is an id dictionary .* open it with IdDictionary"):
            store(path)

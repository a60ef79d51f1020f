"""Id dictionaries, read, written and proven the slow way: from docs/formats/gi.md alone, without our code."""

import struct
from itertools import pairwise

import numpy as np

import files
from files import Container, Section, expect

MAGIC = b"GRAPHZGI"
INTEGER, STRING = 1, 2
LABELS, SAMPLES, BYTES, OFFSETS, SLOTS = KINDS = range(1, 6)
NAMES = dict(zip(KINDS, ("labels", "samples", "bytes", "offsets", "slots"), strict=True))
FIELDS = {"kind": (64, "<I"), "reserved": (68, "<I"), "num_labels": (72, "<Q"), "num_homes": (80, "<Q")}
FIELDS["max_probe"] = (88, "<Q")
LARGEST = 2**63 - 1


def sample_levels(labels):
    """Every 16th of the level below, as long as that has more than 16; each filled up."""
    levels = []
    while len(labels) > 16:
        labels = labels[::16]
        levels.append(labels + [LARGEST] * (-len(labels) % 16))
    return levels


def slots_of(labels, num_homes):
    """The hash table and its longest probe."""
    table, longest = {}, 0
    free = 0
    for hash_, id_ in sorted((files.xxh64(label), i) for i, label in enumerate(labels)):
        home = hash_ * num_homes >> 64
        free = max(free, home)
        table[free] = (hash_ & 0xFFFFFF) << 40 | (id_ + 1)
        longest = max(longest, free - home)
        free += 1
    return [table.get(i, 0) for i in range(num_homes + longest)], longest


def gi(labels):
    """A .gi as a container, from integers, or from bytes."""
    labels = sorted(set(labels))
    if labels and isinstance(labels[0], int):
        samples = [item for level in sample_levels(labels) for item in level]
        return Container(
            MAGIC,
            0,
            struct.pack("<IIQQQ", INTEGER, 0, len(labels), 0, 0),
            [section(LABELS, labels), section(SAMPLES, samples)],
        )
    num_homes = len(labels) + len(labels) // 3 + 1
    slots, longest = slots_of(labels, num_homes)
    offsets = [0, *np.cumsum([len(label) for label in labels], dtype=int).tolist()]
    return Container(
        MAGIC,
        0,
        struct.pack("<IIQQQ", STRING, 0, len(labels), num_homes, longest),
        [Section(BYTES, "uint8", b"".join(labels)), section(OFFSETS, offsets), section(SLOTS, slots, np.uint64)],
    )


def section(kind, numbers, dtype=np.int64):
    return Section(kind, "int64", np.array(numbers, dtype=dtype).tobytes())


def read(data):
    """Read the bytes of a .gi, checking the O(1) invariants: {name: content} with the fields among them."""
    container = files.parse(data, MAGIC, KINDS)
    kind, reserved, num_labels, num_homes, max_probe = struct.unpack_from("<IIQQQ", container.fields)
    expect(container.flags == 0, "GI1")
    expect(kind in (INTEGER, STRING), "GI2")
    expect(num_labels < 2**40, "GI3")
    strings = kind == STRING
    expect(1 <= num_homes <= 2**48 if strings else num_homes == 0, "GI4")
    expect(max_probe <= 2**48 if strings else max_probe == 0, "GI5")
    expect(reserved == 0 and not any(container.fields[32:]), "GI6")
    known = {section.kind: section for section in container.sections if section.kind in KINDS}
    wanted = {BYTES, OFFSETS, SLOTS} if strings else {LABELS, SAMPLES}
    expect(set(known) <= wanted, "GI7")
    expect(set(known) == wanted, "GI8")
    expect(all(s.dtype == ("uint8" if s.kind == BYTES else "int64") for s in known.values()), "GI9")
    if strings:
        counts = {OFFSETS: num_labels + 1, SLOTS: num_homes + max_probe}
    else:
        counts = {LABELS: num_labels, SAMPLES: num_samples(num_labels)}
    expect(all(known[kind].length == 8 * count for kind, count in counts.items()), "GI10")
    out = {"strings": strings, "num_labels": num_labels, "num_homes": num_homes, "max_probe": max_probe}
    for number, found in known.items():
        is_bytes = number == BYTES
        dtype = np.uint64 if number == SLOTS else np.int64
        out[NAMES[number]] = found.data if is_bytes else np.frombuffer(found.data, dtype).tolist()
    return out


def num_samples(num_labels):
    total = 0
    while num_labels > 16:
        num_labels = -(-num_labels // 16)
        total += -(-num_labels // 16) * 16
    return total


def is_text(label):
    try:
        label.decode()
    except UnicodeDecodeError:
        return False
    return True


def prove(data):
    """Every invariant, O(1) and full. Raises BadFile."""
    found = read(data)
    for part in files.parse(data, MAGIC, KINDS).sections:
        expect(part.checksum == files.xxh64(part.data), "C18")
        end = part.offset + part.length
        expect(not any(data[end : files.round_up(end)]), "C19")
    if not found["strings"]:
        labels = found["labels"]
        expect(all(a < b for a, b in pairwise(labels)), "GI11")
        expect(found["samples"] == [item for level in sample_levels(labels) for item in level], "GI12")
        return
    offsets = found["offsets"]
    expect(offsets[0] == 0 and offsets == sorted(offsets) and offsets[-1] == len(found["bytes"]), "GI13")
    labels = [found["bytes"][begin:end] for begin, end in pairwise(offsets)]
    expect(all(is_text(label) for label in labels), "GI14")
    expect(all(a < b for a, b in pairwise(labels)), "GI15")
    slots = found["slots"]
    for id_, label in enumerate(labels):
        expect(lookup(found, labels, label) == id_, "GI16")
    expect(sum(slot != 0 for slot in slots) == len(labels), "GI17")


def lookup(found, labels, label):
    """The id of a label, by its hash; None if it is not there."""
    hash_ = files.xxh64(label)
    home = hash_ * found["num_homes"] >> 64
    for slot in found["slots"][home : home + found["max_probe"] + 1]:
        if slot == 0:
            return None
        if slot >> 40 == hash_ & 0xFFFFFF:
            id_ = (slot & (1 << 40) - 1) - 1
            expect(0 <= id_ < len(labels), "GI16")
            if labels[id_] == label:
                return id_
    return None


def holds(data):
    """Whether ``prove`` finds nothing."""
    try:
        prove(data)
    except files.BadFile:
        return False
    return True

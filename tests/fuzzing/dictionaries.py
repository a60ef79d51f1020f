"""``.gi`` files: labels by id, and ids by label."""

import gi_files
import graphzero as gz
from fuzzing.opening import Format, Originals
from fuzzing.promises import REFUSED, attempt, refused

LABELS = [
    ["", "a", "ab", "b\0", "ünïcode", *(f"node {i}" for i in range(40))],
    [2**63 - 1, -(2**63), *range(-400, 400, 7)],
    ["one"],
    [5],
    [],
]


def compare(d, found, intact):
    """What the file holds comes out, or the call refuses; nothing else comes out."""
    assert (len(d), d.kind) == (found["num_labels"], "string" if found["strings"] else "integer")
    assert repr(d)
    for i in {0, 1, len(d) // 2, len(d) - 1} & set(range(len(d))):
        if found["strings"]:
            begin, end = found["offsets"][i : i + 2]
            label = found["bytes"][begin:end]
            if 0 <= begin <= end <= len(found["bytes"]) and gi_files.is_text(label):
                assert d.label(i) == label.decode()
            else:
                assert refused(d.label, i)
        else:
            assert d.label(i) == found["labels"][i]
    for i in (-1, len(d), 2**62):
        assert refused(d.label, i)
    attempt(d.labels, range(min(len(d), 50)))
    for labels in LABELS[:4]:
        if isinstance(labels[0], str) != found["strings"]:
            attempt(d.index, labels[0])
            continue
        assert attempt(d.__contains__, labels[0]) in (True, False, REFUSED)
        ids = attempt(d.indices, labels, default=-1)
        if ids is not REFUSED:
            for label, i in zip(labels, ids.tolist(), strict=True):
                assert i == -1 or d.label(i) == label


class Target(Originals):
    """Dictionaries."""

    def __init__(self, folder):
        contents = []
        for labels in LABELS:
            gz.write_ids(folder / "original.gi", labels)
            contents.append((folder / "original.gi").read_bytes())
        made = Format(gi_files.MAGIC, gz.IdDictionary, gi_files.read, gi_files.holds, compare)
        super().__init__(folder, contents, [made])

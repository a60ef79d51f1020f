"""Opens mutated id dictionaries and compares every answer with the slow reader. Run by test_gi_format.py.

``python gi_fuzz.py SEED COUNT FOLDER`` prints the number of each mutation before it starts on it.
"""

import sys
from pathlib import Path

import files
import fuzz
import gi_files
import graphzero as gz

LABELS = [
    ["", "a", "ab", "b\0", "ünïcode", *(f"node {i}" for i in range(40))],
    [2**63 - 1, -(2**63), *range(-400, 400, 7)],
    ["one"],
    [5],
    [],
]


def exercise(d, found):
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
                assert fuzz.refused(d.label, i)
        else:
            assert d.label(i) == found["labels"][i]
    for i in (-1, len(d), 2**62):
        assert fuzz.refused(d.label, i)
    for labels in LABELS[:4]:
        if isinstance(labels[0], str) != found["strings"]:
            continue
        try:
            ids = d.indices(labels, default=-1)
        except gz.FormatError:
            continue
        for label, i in zip(labels, ids.tolist(), strict=True):
            assert i == -1 or d.label(i) == label


def try_one(path, original, data, forged):
    path.write_bytes(data)
    try:
        found = gi_files.read(data) if data[:8] == gi_files.MAGIC else None
    except files.BadFile:
        found = None
    if found is None:
        for call in (gz.IdDictionary, gz.verify):
            assert fuzz.refused(call, path), "the slow reader refuses it"
        return "refused"
    with gz.IdDictionary(path) as d:
        exercise(d, found)
    intact = gi_files.holds(data)
    assert all(check.holds for check in gz.verify(path)) == intact, "the slow proof disagrees"
    assert fuzz.refused(gz.IdDictionary, path, verify="full") != intact
    if intact and not forged:
        assert data == original
    return "intact" if intact else "damaged"


def main():
    seed, count, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    contents = []
    for labels in LABELS:
        gz.write_ids(folder / "original.gi", labels)
        contents.append((folder / "original.gi").read_bytes())
    fuzz.limit_addresses()
    before = fuzz.peak_memory()
    outcomes = dict.fromkeys(("refused", "damaged", "intact"), 0)
    for i in range(count):
        print(i, flush=True)
        outcomes[try_one(folder / "mutated.gi", *fuzz.mutation(contents, seed, i))] += 1
    grown = fuzz.peak_memory() - before
    assert grown < fuzz.MOST_MEMORY, f"{grown} bytes"
    print(" ".join(str(n) for n in outcomes.values()))


if __name__ == "__main__":
    main()

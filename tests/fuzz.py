"""Opens thousands of mutated files and compares every answer with the slow readers. Run by test_fuzz.py.

``python fuzz.py KIND SEED COUNT FOLDER`` prints the number of each mutation before it starts on it, so
that the last line of a process that died names the culprit.
"""

import os
import random
import resource
import struct
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

import files
import graphzero as gz
import proofs

MOST_MEMORY = 512 << 20  # bytes more than at the start: a header may claim 2^62
MOST_ADDRESSES = 4 << 30  # the same for address space, where a sanitizer does not need all of it

VALUES = [0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 40, 64, 65, 4095, 4096, 4097, 8192, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1]
VALUES += [2**32, 2**59, 2**59 + 1, 2**60, 2**61, 2**62, 2**63 - 1, 2**63, 2**64 - 4096, 2**64 - 1]


def originals(kind, folder):
    """The files to mutate, written by graphzero, or by GraphZero 0.2."""
    if kind == "graphzero02":
        samples = sorted((Path(__file__).parent / "data" / "graphzero02").iterdir())
        return [path.read_bytes() for path in samples if path.suffix in (".gl", ".gd")]
    rng = np.random.default_rng(7)
    src, dst = rng.integers(0, 9, 25), rng.integers(0, 9, 25)
    more = {"weight": rng.random(25), "time": rng.integers(0, 4, 25)}
    path = folder / f"original.{kind}"
    contents = []
    if kind == "gl":
        variants = [{}, more, {**more, "directed": False}, {"index": "in"}, {"index": "out"}, {"num_nodes": (9, 12)}]
        for options in variants:
            gz.write_graph(path, src, dst, **options)
            contents.append(path.read_bytes())
    else:
        for dtype in files.DTYPES:
            array = rng.integers(0, 2, (6, 5)).astype(files.STORED[dtype])
            gz.write_features(path, array, dtype=dtype)
            contents.append(path.read_bytes())
        for shape in ((30,), (0, 3), (5, 0), (2, 3, 4, 5)):
            gz.write_features(path, np.ones(shape, np.float32))
            contents.append(path.read_bytes())
        for shape in ((6, 5), (4,), (3, 0)):
            gz.convert_features(rng.normal(size=shape), path, dtype="int8-quantised")
            contents.append(path.read_bytes())
            gz.reorder(path, path, order=rng.permutation(shape[0]))
            contents.append(path.read_bytes())
        for count in (0, 1, 7):
            gz.write_features(path, np.ones((count, 2)), order=rng.permutation(count))
            contents.append(path.read_bytes())
    return contents


def mutate_once(data, rng, ours):
    """Change something, more often where it matters: the header, the table, the start of a section."""
    if not data:
        return
    if ours and rng.random() < 0.6:
        area = rng.choice([(0, 64), (64, 128), (256, 256 + 40 * 12)])
    elif ours and rng.random() < 0.7:
        start = rng.randrange(1, max(2, len(data) // 4096)) * 4096
        area = (start, start + 128)
    else:
        area = (0, len(data))
    begin = min(area[0], len(data) - 1)
    at = rng.randrange(begin, max(begin + 1, min(area[1], len(data))))
    action = rng.randrange(8)
    if action <= 1:
        data[at] ^= 1 << rng.randrange(8)
    elif action <= 4:
        size = rng.choice([4, 8])
        at = at // size * size
        old = int.from_bytes(data[at : at + size], "little")
        value = rng.choice([*VALUES, old + 1, old - 1, old * 2, old + 4096, len(data)]) % (1 << 8 * size)
        data[at : at + size] = value.to_bytes(size, "little")[: len(data) - at]
    elif action == 5:
        length = min(rng.choice([1, 8, 40, 4096]), len(data) - at)
        data[at : at + length] = rng.choice([bytes(length), rng.randbytes(length)])
    elif action == 6:
        length = rng.choice([0, at, len(data) - 1, len(data) // 4096 * 4096 - 4096, len(data) + 1, len(data) + 4096])
        del data[max(0, length) :]
        data.extend(bytes(max(0, length - len(data))))
    else:
        source, target = 256 + 40 * rng.randrange(12), 256 + 40 * rng.randrange(12)
        if len(data) > 4096:
            data[target : target + 40] = data[source : source + 40]


def mutation(contents, seed, i):
    """The ``i``-th mutated file: (original, bytes, whether its header was signed anew)."""
    rng = random.Random(f"{seed} {i}")
    original = rng.choice(contents)
    ours = original[:6] == b"GRAPHZ"
    data = bytearray(original)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        mutate_once(data, rng, ours)
    forged = ours and len(data) >= files.PAGE and rng.random() < 0.7
    if forged:
        if rng.random() < 0.5:
            struct.pack_into("<Q", data, 24, len(data))
        num_sections = struct.unpack_from("<I", data, 32)[0]
        if rng.random() < 0.5 and num_sections <= 64:
            data = files.reseal(data)
        files.sign(data)
    return original, bytes(data), forged


def refused(call, *arguments, **options):
    """Whether the call raised what a broken file may raise; anything else is a failure."""
    try:
        call(*arguments, **options)
    except (gz.FormatError, OSError, ValueError, IndexError):
        return True
    return False


def same(array, expected):
    if array is None or expected is None:
        return array is expected
    return array.dtype == expected.dtype and array.shape == expected.shape and array.tobytes() == expected.tobytes()


def exercise_graph(graph, expected):
    """Every method answers what the slow reader reads, or refuses an offset that leads outside."""
    assert (graph.num_src_nodes, graph.num_dst_nodes) == (expected.num_src_nodes, expected.num_dst_nodes)
    assert (graph.num_edges, graph.num_input_edges) == (expected.num_edges, expected.num_input_edges)
    assert (graph.directed, graph.bipartite) == (expected.directed, expected.bipartite)
    assert repr(graph)
    for side in ("out", "in"):
        if f"{side}_indptr" not in expected.arrays:
            continue
        index = graph.index(side)
        for role in files.ROLES:
            assert same(getattr(index, role), expected.arrays.get(f"{side}_{role}"))
        indptr = index.indptr.tolist()
        good = []
        for node, (begin, end) in enumerate(pairwise(indptr)):
            if 0 <= begin <= end <= graph.num_edges:
                good.append(node)
                assert same(graph.neighbors(node, side), expected.arrays[f"{side}_indices"][begin:end])
            else:
                assert refused(graph.neighbors, node, side)
                assert refused(graph.degree, [node], side)
        assert graph.degree(good, side).tolist() == [indptr[node + 1] - indptr[node] for node in good]
        for node in (-1, len(indptr) - 1, 2**62):
            assert refused(graph.neighbors, node, side)
        if not graph.bipartite:
            exercise_sampling(graph, good, side)


def exercise_sampling(graph, nodes, side):
    """A sample holds nodes and edge ids that are there, or is refused."""
    try:
        sample = gz.sample_neighbors(graph, nodes, [-1, 2], direction=side, seed=0)
    except gz.FormatError:
        return
    for ids, limit in ((sample.node, graph.num_nodes), (sample.edge, graph.num_input_edges)):
        assert ((ids >= 0) & (ids < limit)).all()


def same_row(store, row, stored, place):
    assert store.gather([row]).tobytes() == stored.tobytes()
    if not store.quantised:
        return store.get_data(row).tobytes() == stored.tobytes()
    with np.errstate(all="ignore"):
        values = stored.astype(np.float32) * files.read_scales(Path(store.path).read_bytes())[place]
        return np.array_equal(store.get_data(row), np.atleast_1d(values), equal_nan=True)


def exercise_features(store, expected):
    dtype, array = expected
    assert (store.dtype, store.shape) == (dtype, array.shape)
    assert repr(store)
    row_map = None if store.is_graphzero02 else files.read_row_map(Path(store.path).read_bytes())
    assert same(store.row_map, row_map)
    assert refused(store.get_tensor) == store.reordered == (row_map is not None)
    for tensor in (store.get_tensor(order="stored"), store.get_tensor(writable=False, order="stored")):
        assert same(tensor, array)
        with np.errstate(all="ignore"):
            tensor.sum()
    for row in {0, 1, store.num_rows // 2, store.num_rows - 1}:
        if 0 <= row < store.num_rows:
            place = row if row_map is None else int(row_map[row])
            if 0 <= place < store.num_rows:
                assert same_row(store, row, array[place], place)
            else:
                assert refused(store.get_data, row)
                assert refused(store.gather, [row]) == (store.row_bytes > 0)  # rows of nothing are not looked for
    for row in (-1, store.num_rows, 2**62):
        assert refused(store.get_data, row)


READERS = {
    files.MAGIC["gl"]: (gz.Graph, files.read_gl, exercise_graph),
    files.MAGIC["gd"]: (gz.FeatureStore, files.read_gd, exercise_features),
    b"graphlit": (gz.Graph, files.read_graphzero02_gl, exercise_graph),
    b"GZDATA26": (gz.FeatureStore, files.read_graphzero02_gd, exercise_features),
}


def try_one(path, original, data, forged):
    """Open the file both ways; the fast reader and the slow one must agree in everything."""
    store_type, read, exercise = READERS[original[:8]]
    path.write_bytes(data)
    try:
        expected = read(data) if data[:8] == original[:8] else None
    except files.BadFile:
        expected = None
    if expected is None:
        assert refused(store_type, path), "the slow reader refuses it"
        assert refused(gz.verify, path), "the slow reader refuses it"
        assert refused(store_type, path, verify="full"), "the slow reader refuses it"
        return "refused"
    with store_type(path) as store:
        exercise(store, expected)
    intact = proofs.holds(data)
    assert all(check.state != "fails" for check in gz.verify(path)) == intact, "the slow proof disagrees"
    assert refused(store_type, path, verify="full") != intact
    has_checksums = original[:6] == b"GRAPHZ"
    if intact and has_checksums and not forged:
        assert data == original
    return "intact" if intact else "damaged"


def limit_addresses():
    """Turn an allocation as large as a header claims into a MemoryError, which is a failure here."""
    if "LD_PRELOAD" not in os.environ:  # a sanitizer's runtime is preloaded
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MOST_ADDRESSES, used + MOST_ADDRESSES))


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    kind, seed, count, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    contents = originals(kind, folder)
    limit_addresses()
    before = peak_memory()
    outcomes = dict.fromkeys(("refused", "damaged", "intact"), 0)
    for i in range(count):
        print(i, flush=True)
        outcomes[try_one(folder / "mutated", *mutation(contents, seed, i))] += 1
    grown = peak_memory() - before
    assert grown < MOST_MEMORY, f"{grown} bytes"
    print(" ".join(str(n) for n in outcomes.values()))


if __name__ == "__main__":
    main()

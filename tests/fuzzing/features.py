"""``.gd`` files: every way to get at a row."""

from pathlib import Path

import numpy as np

import files
import graphzero as gz
import proofs
from fuzzing.graphs import same
from fuzzing.opening import Format, Originals
from fuzzing.promises import REFUSED, attempt, refused

READERS = ("mmap", "direct", "pread")


def compare(store, expected, intact):
    """Rows are those of the slow reader, or refused where the map of rows leads outside."""
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
        assert refused(store.gather, [0, row])
    compare_readers(store, array, row_map)
    attempt(getattr, store, "scales")
    attempt(store.scales_of, range(min(store.num_rows, 9)))
    attempt(gz.reorder, store.path, "reordered.gd", order=np.arange(min(store.num_rows, 1 << 16))[::-1].copy())
    attempt(gz.convert_features, store.path, "copy.gd", memory="64MB")


def compare_readers(store, array, row_map):
    """All readers give the same rows."""
    ids = np.arange(min(store.num_rows, 40))[::-1].copy()
    places = ids if row_map is None else row_map[ids]
    good = ((places >= 0) & (places < store.num_rows)).all()
    for reader in READERS:
        rows = attempt(store.gather, ids, reader=reader)
        assert (rows is REFUSED) == (not good and store.row_bytes > 0)
        assert rows is REFUSED or not good or rows.tobytes() == array[places].tobytes()
        attempt(store.gather, ids, reader=reader, dtype="float32")


def same_row(store, row, stored, place):
    """Whether a row is what is stored at its place."""
    assert store.gather([row]).tobytes() == stored.tobytes()
    if not store.quantised:
        return store.get_data(row).tobytes() == stored.tobytes()
    with np.errstate(all="ignore"):
        values = stored.astype(np.float32) * files.read_scales(Path(store.path).read_bytes())[place]
        return np.array_equal(store.get_data(row), np.atleast_1d(values), equal_nan=True)


def contents(folder):
    """Features of every type and of odd shapes, quantised, and hottest first."""
    rng = np.random.default_rng(7)
    path = folder / "original.gd"
    found = []
    for dtype in files.DTYPES:
        array = rng.integers(0, 2, (6, 5)).astype(files.STORED[dtype])
        gz.write_features(path, array, dtype=dtype)
        found.append(path.read_bytes())
    for shape in ((30,), (0, 3), (5, 0), (2, 3, 4, 5)):
        gz.write_features(path, np.ones(shape, np.float32))
        found.append(path.read_bytes())
    for shape in ((6, 5), (4,), (3, 0)):
        gz.convert_features(rng.normal(size=shape), path, dtype="int8-quantised")
        found.append(path.read_bytes())
        gz.reorder(path, path, order=rng.permutation(shape[0]))
        found.append(path.read_bytes())
    for count in (0, 1, 7):
        gz.write_features(path, np.ones((count, 2)), order=rng.permutation(count))
        found.append(path.read_bytes())
    return found


FORMAT = Format(files.MAGIC["gd"], gz.FeatureStore, files.read_gd, proofs.holds, compare)


class Target(Originals):
    """Features."""

    def __init__(self, folder):
        super().__init__(folder, contents(folder), [FORMAT])

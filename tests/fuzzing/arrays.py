"""Arrays of other libraries as edges and as features: ``.npy``, ``.npz``, Matrix Market, GAP, Parquet and Arrow."""

import struct

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import scipy.io
import scipy.sparse

import graphzero as gz
from fuzzing import byte_changes, zip_changes
from fuzzing.promises import REFUSED, attempt

EXTENTS = [0, 1, 2, 3, 25, 2**31, 2**40, 2**62, 2**63, 2**70, -1]
TYPES = ["<i8", ">i8", "<i4", "<u8", "<f8", "<f2", "|b1", "|S3", "<U2", "|O", "|V8", "<c16", "<M8[s]", "(2,)<i4", "<i7"]


class Target:
    """One file of each form, which is converted to edges and to features."""

    def __init__(self, folder):
        self._folder = folder
        rng = np.random.default_rng(11)
        edges, rows = rng.integers(0, 9, (2, 25)), rng.normal(size=(9, 3))
        matrix = scipy.sparse.csr_matrix(rng.integers(0, 2, (9, 9)))
        table = pa.table({"src": edges[0], "dst": edges[1], "weight": rng.random(25), "name": ["x"] * 25})
        np.save(folder / "pairs.npy", edges)
        np.save(folder / "columns.npy", np.asfortranarray(edges.T))
        np.save(folder / "rows.npy", rows)
        np.save(folder / "text.npy", np.array([["a", "b"], ["b", "c"]]))
        np.savez(folder / "stored.npz", edge_index=edges, x=rows)
        np.savez_compressed(folder / "deflated.npz", edge_index=edges, x=rows)
        scipy.sparse.save_npz(folder / "matrix.npz", matrix)
        scipy.io.mmwrite(folder / "matrix.mtx", matrix)
        scipy.io.mmwrite(folder / "dense.mtx", rows)
        pa.parquet.write_table(table, folder / "table.parquet", row_group_size=10)
        pa.feather.write_feather(table, folder / "table.arrow", compression="uncompressed")
        _write_gap(folder / "graph.sg", matrix)
        (folder / "raw.bin").write_bytes(rows.tobytes())
        self._contents = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}

    def __call__(self, rng):
        name = rng.choice(list(self._contents))
        data = change(name, self._contents[name], rng)
        path = self._folder / f"mutated.{name.split('.')[1]}"
        path.write_bytes(data)
        return "refused" if attempt(convert, path, rng) is REFUSED else "read"


def convert(path, rng):
    """Convert it, to one or the other, with options that fit some of the files."""
    if rng.random() < 0.5 and path.suffix != ".bin":
        named = path.suffix in (".parquet", ".arrow") and rng.random() < 0.5
        more = {"src": "src", "dst": "dst", "weight": "weight"} if named else {}
        report = gz.convert_edges(path, "out.gl", memory="64MB", **more)
        with gz.Graph("out.gl", verify="full") as graph:
            assert graph.num_edges == report.num_edges
        return
    more = {"key": rng.choice(["x", "edge_index"])} if path.suffix == ".npz" else {}
    if path.suffix == ".bin":
        more = {"shape": (-1, 3), "source_dtype": "float64"}
    if path.suffix in (".parquet", ".arrow"):
        more = {"columns": rng.choice([["src", "weight"], None])}
    dtype = rng.choice([None, "float32", "float16", "int64", "int8-quantised"])
    gz.convert_features(path, "out.gd", memory="64MB", dtype=dtype, **more)
    with gz.FeatureStore("out.gd", verify="full"):
        pass


def change(name, data, rng):
    """Change the numbers, the header, or anything."""
    if name.endswith(".npy") and rng.random() < 0.7:
        return change_npy(data, rng)
    if name.endswith(".npz"):
        return zip_changes.change(data, rng, lambda _, member, rng: change_npy(member, rng))
    if name.endswith(".mtx") and rng.random() < 0.7:
        return change_words(data, rng)
    copy = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        byte_changes.change_once(copy, rng)
    return bytes(copy)


def change_npy(data, rng):
    """Change the header of an array as a header, or its items."""
    length = struct.unpack_from("<H", data, 8)[0] if len(data) > 10 else 0
    header, items = data[10 : 10 + length].decode("latin1"), data[10 + length :]
    action = rng.randrange(6)
    if action == 0:
        copy = bytearray(data)
        byte_changes.change_once(copy, rng)
        return bytes(copy)
    if action == 1:
        copy = bytearray(items)
        byte_changes.change_once(copy, rng)
        return data[: 10 + length] + bytes(copy)
    if action == 2:
        shape = tuple(rng.choice(EXTENTS) for _ in range(rng.choice([0, 1, 2, 2, 3, 40])))
        return npy(header.split("'descr': '")[-1][:3], rng.random() < 0.3, shape, items)
    if action == 3:
        return npy(rng.choice(TYPES), rng.random() < 0.3, rng.choice([(2, 25), (9, 3), (25,), ()]), items)
    if action == 4:
        text = rng.choice(["{}", "[]", "1" * 5000, "(" * 900, "{'descr': 1}", header.replace("False", "[]"), "\0", ""])
        return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + items
    version = rng.choice([b"\1\0", b"\2\0", b"\3\0", b"\xff\xff"])
    return b"\x93NUMPY" + version + struct.pack("<I", rng.choice([length, 2**31, 0])) + header.encode() + items


def npy(descr, fortran_order, shape, items):
    """An array with any header."""
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran_order}, 'shape': {shape!r}}}\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + items


def change_words(data, rng):
    """Replace words of a text that is mostly numbers."""
    odd = [
        b"0",
        b"-1",
        b"1e400",
        b"nan",
        b"99999999999999999999",
        b"x",
        b"\0",
        b"\xff",
        b"%",
        b"\n",
        b"1" * 400,
        b"0x1",
    ]
    lines = [line.split(b" ") for line in data.split(b"\n")]
    for _ in range(rng.choice([1, 1, 2, 3])):
        line = rng.choice(lines[: rng.choice([1, 4, len(lines)])])
        line[rng.randrange(len(line))] = rng.choice([*odd, b"general", b"symmetric", b"complex", b"array", b"pattern"])
        if rng.random() < 0.2:
            lines.remove(line) if len(lines) > 2 else None
    return b"\n".join(b" ".join(line) for line in lines)


def _write_gap(path, matrix):
    """GAP's format: directed, edges, nodes, offsets and neighbours, out and in."""
    out, back = matrix.tocsr(), matrix.T.tocsr()
    parts = [struct.pack("<?qq", True, matrix.nnz, matrix.shape[0])]
    for side in (out, back):
        parts += [side.indptr.astype("<i8").tobytes(), side.indices.astype("<i4").tobytes()]
    path.write_bytes(b"".join(parts))

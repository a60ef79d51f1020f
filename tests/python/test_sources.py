"""Every kind of source gives the edges that were put into it, in order and in bounded memory."""

import gzip
import io
import os
import struct
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
import scipy.io
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import graphzero as gz
from data_sets import pyg
from graphzero.convert.edge_sources import EdgeBatch, edge_source
from graphzero.convert.edge_sources.torch_files import load_pt
from systems import posix_only

Data, HeteroData = pyg().Data, pyg().HeteroData

SRC = [0, 0, 1, 3, 3, 2, 5]
DST = [1, 2, 2, 0, 3, 1, 4]
WEIGHT = [0.5, 1.0, 2.0, 0.25, 4.0, 3.0, 1.5]
TIME = [70, 10, 30, 20, 60, 50, 40]
PAIRS = list(zip(SRC, DST, strict=True))


def read(source, rows=3, **columns):
    """All edges of a source as lists, after the promises every source makes."""
    source = edge_source(source, **columns) if not hasattr(source, "batches") else source
    batches = list(source.batches(rows))
    for batch in batches:
        assert 0 < len(batch.src) == len(batch.dst) <= rows
        for end in (batch.src, batch.dst):
            assert end.dtype == np.int64 or end.dtype.kind in "OU"
        assert batch.weight is None or batch.weight.dtype == np.float32
        assert batch.time is None or batch.time.dtype == np.int64
    edges = [edge for batch in batches for edge in zip(batch.src.tolist(), batch.dst.tolist(), strict=True)]
    assert source.num_edges in (None, len(edges))
    weights = [weight for batch in batches if batch.weight is not None for weight in batch.weight.tolist()]
    times = [time for batch in batches if batch.time is not None for time in batch.time.tolist()]
    return edges, weights or None, times or None


EDGES = PAIRS, None, None
WEIGHTED = PAIRS, WEIGHT, None
TIMED = PAIRS, WEIGHT, TIME


# .npy and .npz

edge_arrays = st.integers(0, 20).flatmap(
    lambda count: st.tuples(
        st.lists(st.integers(0, 2**31 - 1), min_size=count, max_size=count),
        st.lists(st.integers(0, 2**31 - 1), min_size=count, max_size=count),
    )
)


@settings(max_examples=60, deadline=None)
@given(
    ends=edge_arrays,
    by_pair=st.booleans(),
    order=st.sampled_from("CF"),
    dtype=st.sampled_from(["int64", "int32", "uint64", ">i4"]),
    kind=st.sampled_from(["npy", "stored", "deflated", "array", "tensor"]),
    rows=st.integers(1, 7),
)
def test_arrays_of_every_layout_come_back(tmp_path_factory, ends, by_pair, order, dtype, kind, rows):
    src, dst = ends
    array = np.array([src, dst], dtype=dtype)
    if by_pair and len(src) != 2:  # (2, 2) counts as (2, E)
        array = array.T
    array = np.asarray(array, order=order)
    folder = tmp_path_factory.mktemp("arrays")
    source = array
    if kind == "npy":
        source = folder / "edges.npy"
        np.save(source, array)
    elif kind in ("stored", "deflated"):
        source = folder / "edges.npz"
        (np.savez if kind == "stored" else np.savez_compressed)(source, edge_index=array, other=np.ones(3))
    elif kind == "tensor" and dtype in ("int64", "int32"):
        source = torch.from_numpy(array)
    assert read(source, rows)[0] == list(zip(src, dst, strict=True))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_members_of_an_npz_are_chosen_by_name(save):
    save("data.npz", row=SRC, col=DST, w=np.array(WEIGHT)[:, None], t=TIME, pairs=np.array(PAIRS))
    assert read("data.npz", src="row", dst="col", weight="w", time="t") == TIMED
    assert read("data.npz", src="pairs", weight="w") == WEIGHTED


def test_the_only_member_of_an_npz_needs_no_name():
    np.savez("data.npz", np.array(PAIRS))
    assert read("data.npz") == EDGES


def test_weights_and_times_lie_in_npy_files_beside():
    np.save("edges.npy", [SRC, DST])
    np.save("w.npy", WEIGHT)
    np.save("t.npy", np.array(TIME, dtype="datetime64[s]").astype(np.int64))
    assert read("edges.npy", weight="w.npy", time="t.npy") == TIMED


def test_labels_in_an_npy_file_stay_strings():
    np.save("edges.npy", np.array([["a", "b"], ["b", "ç"], ["c", "a"]]))
    assert read("edges.npy")[0] == [("a", "b"), ("b", "ç"), ("c", "a")]


@pytest.mark.parametrize("rows", [1, 1000])
def test_a_deflated_row_is_spilled_and_leaves_no_file(tmp_path, rows):
    np.savez_compressed("data.npz", edge_index=np.array([SRC, DST]))
    assert read("data.npz", rows=rows, tmp_dir=str(tmp_path)) == EDGES
    assert os.listdir() == ["data.npz"]


def test_a_spill_goes_elsewhere_if_the_folder_of_the_input_is_read_only(tmp_path, monkeypatch):
    np.savez_compressed("data.npz", edge_index=np.array([SRC, DST]))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert read("data.npz") == EDGES


@pytest.mark.parametrize("kind", ["npy", "stored", "deflated", "pairs"])
@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_files_larger_than_the_memory_limit_are_read(kind):
    """4 M edges are 64 MB; the process may own 40 MB more than it starts with."""
    array = np.arange(8_000_000, dtype=np.int64).reshape(2, -1) % 1000
    if kind == "pairs":
        array = array.reshape(-1, 2)
    path = "edges.npy" if kind in ("npy", "pairs") else "edges.npz"
    if kind == "stored":
        np.savez(path, edge_index=array)
    elif kind == "deflated":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            data = io.BytesIO()
            np.save(data, array)
            archive.writestr("edge_index.npy", data.getvalue())
    else:
        np.save(path, array)
    program = f"""
        import resource
        import numpy as np
        from graphzero.convert.edge_sources import edge_source
        source = edge_source({path!r})
        def owned():
            with open("/proc/self/status") as status:
                return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
        limit = owned() + (40 << 20)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        total = sum(int(batch.src.sum()) + int(batch.dst.sum()) for batch in source.batches(1 << 18))
        print(total)
    """
    shown = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False
    )
    assert shown.stdout == f"{int(array.sum())}\n", shown.stderr


def test_an_npy_file_with_a_wrong_shape_is_refused():
    np.save("edges.npy", np.zeros((3, 5), dtype=np.int64))
    with pytest.raises(ValueError, match=r"edges.npy: expected shape \(2, E\) or \(E, 2\), found \(3, 5\)"):
        edge_source("edges.npy")


def test_float_ids_are_refused():
    np.save("edges.npy", np.zeros((2, 5)))
    with pytest.raises(TypeError, match=r"edges.npy: expected integers, found float64"):
        edge_source("edges.npy")
    with pytest.raises(TypeError, match=r"edges: src: expected integers, found float64"):
        edge_source(np.zeros((2, 5)))
    with pytest.raises(TypeError, match=r"batches: batch 0: src: expected integers, found float64"):
        read(iter([(np.zeros(2), [1, 2])]))


def test_ids_beyond_63_bits_are_refused():
    with pytest.raises(
        IndexError, match=r"edges: dst\[1\]: expected an integer below 2\^63, found 1844674407370955161"
    ):
        read(np.array([[0, 1], [2, 2**64 - 1]], dtype=np.uint64))


@pytest.mark.parametrize("left", [3, 40, 130, 200])
def test_a_truncated_npy_file_is_refused(left):
    np.save("edges.npy", np.array([SRC, DST]))
    data = Path("edges.npy").read_bytes()
    Path("edges.npy").write_bytes(data[:left])
    with pytest.raises(gz.FormatError, match=r"edges.npy: (ends too early|expected)"):
        edge_source("edges.npy")


def test_the_missing_bytes_of_an_npy_file_are_counted():
    np.save("edges.npy", np.array([SRC, DST]))
    data = Path("edges.npy").read_bytes()
    Path("edges.npy").write_bytes(data[:-8])
    with pytest.raises(gz.FormatError, match=r"ends too early: expected 240 bytes for int64 \(2, 7\), found 232"):
        edge_source("edges.npy")


def test_pickled_objects_are_never_loaded():
    np.save("edges.npy", np.array([["a", 1]], dtype=object), allow_pickle=True)
    with pytest.raises(gz.FormatError, match=r"edges.npy: expected numbers, found pickled objects"):
        edge_source("edges.npy")


def test_a_file_that_only_claims_to_be_npy_is_refused():
    Path("edges.npy").write_text("0,1\n")
    with pytest.raises(gz.FormatError, match=r"edges.npy: expected a .npy file, .* found b'0,1\\n'"):
        edge_source("edges.npy")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_truncated_npz_file_is_refused(save, part):
    save("data.npz", edge_index=np.random.default_rng(1).integers(0, 1000, (2, 5000)))
    data = Path("data.npz").read_bytes()
    Path("data.npz").write_bytes(data[: int(len(data) * part)])
    with pytest.raises(gz.FormatError, match=r"data.npz: expected a zip file that is whole, found: File is not a zip"):
        read("data.npz")


def test_damaged_deflated_bytes_are_refused():
    np.savez_compressed("data.npz", edge_index=np.random.default_rng(1).integers(0, 1000, (2, 5000)))
    data = bytearray(Path("data.npz").read_bytes())
    data[5000:5010] = bytes(10)
    Path("data.npz").write_bytes(data)
    with pytest.raises(gz.FormatError, match=r"data.npz\[edge_index\]: expected a zip file that is whole, found"):
        read("data.npz")


def test_an_unknown_member_is_refused_with_those_there_are():
    np.savez("data.npz", a=[1], b=[2])
    with pytest.raises(ValueError, match=r"data.npz: expected one of its arrays, a, b, found 'edge_index'"):
        edge_source("data.npz")
    with pytest.raises(ValueError, match=r"data.npz: expected src= beside dst='b', found none"):
        edge_source("data.npz", dst="b")


def test_members_of_different_lengths_are_refused():
    np.savez("data.npz", row=SRC, col=DST[1:])
    with pytest.raises(ValueError, match=r"data.npz\[col\]: expected a vector .* each of 7 edges, found shape \(6,\)"):
        edge_source("data.npz", src="row", dst="col")


def test_a_missing_file_is_missing():
    for name in ("edges.npy", "edges.npz", "edges.mtx", "edges.sg", "edges.parquet", "edges.arrow", "edges.pt"):
        with pytest.raises(FileNotFoundError):
            edge_source(name)


# Arrays, tensors and lists


def test_a_tuple_of_columns_is_taken_as_such():
    assert read((SRC, DST)) == EDGES
    assert read((np.array(SRC), torch.tensor(DST), WEIGHT)) == WEIGHTED
    assert read((SRC, DST, None, TIME)) == (PAIRS, None, TIME)
    assert read((SRC, DST, WEIGHT, np.array(TIME, dtype="datetime64[ms]"))) == TIMED


def test_a_list_of_pairs_or_of_two_rows_is_taken_as_an_array():
    assert read(PAIRS) == EDGES
    assert read([SRC, DST], weight=WEIGHT) == WEIGHTED
    assert read([]) == ([], None, None)
    assert read([("a", "b"), ("b", "c"), ("c", "c")])[0] == [("a", "b"), ("b", "c"), ("c", "c")]


def test_wrong_tuples_are_refused():
    with pytest.raises(ValueError, match=r"edges: expected a tuple of 2 to 4 arrays, .*, found 5"):
        edge_source((1, 2, 3, 4, 5))
    with pytest.raises(ValueError, match=r"edges: dst: expected 7 values, one per edge, found 6"):
        edge_source((SRC, DST[1:]))
    with pytest.raises(ValueError, match=r"edges: src: expected one dimension, found shape \(7, 2\)"):
        edge_source((PAIRS, DST))
    with pytest.raises(ValueError, match=r"edges: time\[1\]: expected a time, found NaT"):
        read((SRC[:2], DST[:2], None, np.array(["2026-01-01", "NaT"], dtype="datetime64[D]")))
    with pytest.raises(TypeError, match=r"edges: src: expected integers, or strings, found float"):
        read((np.array([1, 2.5], dtype=object), [1, 2]))
    with pytest.raises(ValueError, match=r"edges: expected an array or a .npy file .* found 'w'"):
        edge_source((SRC, DST), weight="w")


def test_something_else_is_refused():
    with pytest.raises(TypeError, match=r"edges: expected a path, an array, .*, found int"):
        edge_source(3)


def test_text_is_left_to_the_core():
    for name in ("edges.csv", "edges.tsv.gz", "edges.el", "edges", "edges-*.csv"):
        assert edge_source(name) is None
    assert edge_source(["a.csv", "b.csv"]) is None


def test_a_batch_has_at_least_one_edge():
    with pytest.raises(ValueError, match="rows: expected at least 1, found 0"):
        next(edge_source(PAIRS).batches(0))


# Tables

TABLE = pa.table({"u": SRC, "v": DST, "w": WEIGHT, "t": pa.array(TIME, pa.timestamp("ms"))})
CHOSEN = {"src": "u", "dst": "v", "weight": "w", "time": "t"}


def write_parquet(path):
    pa.parquet.write_table(TABLE, path, row_group_size=4)


def write_ipc(path):
    with pa.ipc.new_file(path, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=5)


def write_stream(path):
    with pa.ipc.new_stream(path, TABLE.schema) as writer:
        writer.write_table(TABLE)


@pytest.mark.parametrize(
    ("path", "write"),
    [
        ("edges.parquet", write_parquet),
        ("edges.arrow", write_ipc),
        ("edges.arrows", write_stream),
        ("edges.feather", lambda path: pa.feather.write_feather(TABLE, path)),
    ],
)
def test_columns_of_arrow_files_are_chosen_by_name_or_position(path, write):
    write(path)
    assert read(path) == EDGES
    assert read(path, **CHOSEN) == TIMED
    assert read(path, src=1, dst=0, weight=2) == ([(v, u) for u, v in PAIRS], WEIGHT, None)


def polars_frame():
    import polars

    return polars.from_arrow(TABLE)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TABLE,
        pytest.param(polars_frame, marks=pytest.mark.no_tsan),  # polars' own allocator does not bear it
        lambda: TABLE.to_reader(),
        lambda: pa.dataset.dataset(TABLE),
        lambda: TABLE.to_batches()[0],
    ],
    ids=["pyarrow", "polars", "reader", "dataset", "record batch"],
)
def test_anything_arrow_is_read(make):
    table = make()
    if isinstance(table, pa.RecordBatch):
        table = pa.table(table)
    assert read(table, **CHOSEN) == TIMED


def test_a_table_can_be_read_again_and_a_stream_cannot():
    source = edge_source(TABLE, **CHOSEN)
    assert read(source) == read(source) == TIMED
    source = edge_source(TABLE.to_reader(), **CHOSEN)
    assert read(source) == TIMED
    with pytest.raises(ValueError, match="RecordBatchReader: this stream can be read once"):
        read(source)


def test_a_folder_and_a_glob_of_parquet_files_are_read_in_order():
    os.mkdir("parts")
    pa.parquet.write_table(TABLE.slice(0, 4), "parts/0.parquet")
    pa.parquet.write_table(TABLE.slice(4), "parts/1.parquet")
    assert read("parts", **CHOSEN) == TIMED
    assert read("parts/*.parquet", **CHOSEN) == TIMED
    assert read(["parts/0.parquet", "parts/1.parquet"], **CHOSEN) == TIMED
    with pytest.raises(FileNotFoundError, match=r"none-\*.parquet: expected files that match, found none"):
        edge_source("none-*.parquet")
    with pytest.raises(ValueError, match=r"more.csv: expected files of one kind, found text beside parts/0.parquet"):
        edge_source(["parts/0.parquet", "more.csv"])


def test_usual_names_of_ends_go_before_positions():
    table = pa.table({"id": [9, 9], "target": [1, 2], "source": [0, 3]})
    assert read(table)[0] == [(0, 1), (3, 2)]


def test_labels_may_be_strings_or_dictionaries():
    labels = ["tt1", "tt2", "tt1"]
    table = pa.table({"src": labels, "dst": pa.array(labels).dictionary_encode()})
    assert read(table)[0] == [(label, label) for label in labels]


@pytest.mark.parametrize(("kind", "count"), [(pa.date32(), 20_000), (pa.date64(), 20_000 * 86_400_000)])
def test_dates_are_seconds_as_in_text(kind, count):
    days = pa.table({"src": [0], "dst": [1], "time": pa.array([count], kind)})
    assert read(days, time=True)[2] == [20_000 * 86_400]
    assert edge_source(days, time=True).time_unit == "s"


def test_folders_and_patterns_are_read_alike_with_shards_and_without():
    for name in ("a.parquet", ".b.parquet", "_temporary/c.parquet", "year=1/d.parquet", "year=1/_e.parquet"):
        os.makedirs(os.path.dirname(f"table/{name}") or ".", exist_ok=True)
        pa.parquet.write_table(pa.table({"src": [0], "dst": [1]}), f"table/{name}")
    Path("table/README.txt").write_text("no table")
    for source, count in (
        ("table", 2), (Path("table").absolute().as_uri(), 2), ("table/**/*.parquet", 4), ("table/*.parquet", 1),
        (f"{Path('table').absolute().as_uri()}/**/*.parquet", 4), (f"{Path('table').absolute().as_uri()}/*.parquet", 1),
    ):  # fmt: skip
        assert gz.convert_edges(source, "plain.gl").num_edges == count, source
        assert gz.convert_edges(source, "sharded.gl", shards=2).num_edges == count, source
        assert Path("plain.gl").read_bytes() == Path("sharded.gl").read_bytes()
    os.mkdir("empty")
    with pytest.raises(IsADirectoryError, match="is a folder without files that end in .parquet, expected edges"):
        gz.convert_edges("empty", "e.gl")


def test_labels_behind_integers_are_named():
    pa.parquet.write_table(pa.table({"src": [0], "dst": [1]}), "1.parquet")
    pa.parquet.write_table(pa.table({"src": ["a"], "dst": ["b"]}), "2.parquet")
    for shards in (None, 2):
        with pytest.raises(TypeError, match="expected integer ids, found labels; give ids='map' to number them"):
            gz.convert_edges(["1.parquet", "2.parquet"], "o.gl", shards=shards)


def test_a_null_in_a_list_is_named_by_its_row():
    pa.parquet.write_table(pa.table({"x": [[1.0, 2.0], [3.0, 4.0], [5.0, None], [1.0, 1.0]]}), "x.parquet")
    with pytest.raises(gz.FormatError, match="row 2: column 'x': expected numbers, found null in a list"):
        gz.convert_features("x.parquet", "x.gd", columns="x")


def test_a_missing_column_is_named_with_those_there_are():
    write_parquet("edges.parquet")
    with pytest.raises(ValueError, match=r"edges.parquet: src: expected one of the columns u, v, w, t, found 'from'"):
        edge_source("edges.parquet", src="from", dst="to")
    with pytest.raises(ValueError, match=r"edges.parquet: weight: expected one of the columns u, v, w, t, found 9"):
        edge_source("edges.parquet", weight=9)
    with pytest.raises(ValueError, match=r"expected both src= and dst=, found one; there are u, v, w, t"):
        edge_source("edges.parquet", src="u")
    with pytest.raises(ValueError, match=r"Table: expected at least two columns, found a"):
        edge_source(pa.table({"a": [1]}))


def test_columns_of_the_wrong_type_are_refused():
    with pytest.raises(TypeError, match=r"Table: src: column 'w': expected integers or strings, found double"):
        edge_source(TABLE, src="w", dst="v")
    table = pa.table({"src": [0], "dst": [1], "weight": ["x"]})
    with pytest.raises(TypeError, match=r"Table: weight: column 'weight': expected numbers, found string"):
        edge_source(table, weight=True)
    with pytest.raises(TypeError, match=r"time: column 'weight': expected integers or timestamps, found string"):
        edge_source(table, time="weight")


def test_a_null_is_refused_with_its_row():
    table = pa.table({"src": [0, 1, 2, 3, None], "dst": [1] * 5})
    with pytest.raises(ValueError, match=r"Table: src: column 'src', row 4: expected a value, found null"):
        read(table)


@pytest.mark.parametrize("path", ["edges.parquet", "edges.arrow"])
def test_a_damaged_arrow_file_is_refused(path):
    (write_parquet if path.endswith("parquet") else write_ipc)(path)
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[: len(data) // 2])
    with pytest.raises(gz.FormatError, match=rf"{path}: expected an? (Parquet|Arrow) file"):
        read(path)


def test_without_pyarrow_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"pip install 'graphzero\[arrow\]'"):
        edge_source("edges.parquet")


# Matrix Market


def write_mtx(path, text):
    with gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w") as file:
        file.write(text)
    return path


@pytest.mark.parametrize("path", ["m.mtx", "m.mtx.gz"])
@pytest.mark.parametrize("field", ["pattern", "integer", "real"])
def test_matrix_market_counts_from_one(path, field):
    values = {"pattern": [""] * 7, "integer": [1, 2, 3, 4, 5, 6, 7], "real": WEIGHT}[field]
    lines = [f"{u + 1} {v + 1} {w}".strip() for (u, v), w in zip(PAIRS, values, strict=True)]
    text = f"%%MatrixMarket matrix coordinate {field} general\n% a comment\n\n6 6 7\n" + "\n".join(lines)
    source = edge_source(write_mtx(path, text))
    assert (source.num_edges, source.num_nodes, source.undirected) == (7, 6, False)
    assert read(source) == (PAIRS, None if field == "pattern" else list(map(float, values)), None)
    assert read(path, weight=False) == EDGES


def test_what_scipy_writes_is_read():
    matrix = scipy.sparse.coo_array((WEIGHT, (SRC, DST)), shape=(6, 8))
    scipy.io.mmwrite("m.mtx", matrix)
    source = edge_source("m.mtx")
    assert source.num_nodes == (6, 8)
    assert read(source) == WEIGHTED


def test_a_symmetric_matrix_means_both_directions():
    write_mtx("m.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n")
    source = edge_source("m.mtx")
    assert source.undirected
    assert read(source)[0] == [(1, 0), (2, 2)]


def test_a_skew_symmetric_matrix_gives_both_signs():
    write_mtx("m.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 1.5\n3 1 2\n")
    source = edge_source("m.mtx")
    assert not source.undirected
    assert read(source) == ([(1, 0), (0, 1), (2, 0), (0, 2)], [1.5, -1.5, 2.0, -2.0], None)


@settings(max_examples=40, deadline=None)
@given(ends=edge_arrays, rows=st.integers(1, 5), block=st.integers(12, 60))
def test_blocks_may_end_anywhere_in_a_matrix_market_file(tmp_path_factory, ends, rows, block):
    pairs = [(u % 99, v % 99) for u, v in zip(*ends, strict=True)]
    path = str(tmp_path_factory.mktemp("mtx") / "m.mtx")
    text = "".join(f"{u + 1}  {v + 1}\r\n" for u, v in pairs)
    write_mtx(path, f"%%MatrixMarket matrix coordinate pattern general\r\n99 99 {len(pairs)}\r\n{text}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphzero.convert.edge_sources.matrix_market._BLOCK_BYTES", block)
        assert read(path, rows)[0] == pairs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n", r"line 1: expected the banner %%MatrixMarket .*, found '1 2'"),
        ("%%MatrixMarket matrix array real general\n", "line 1: expected coordinate, found 'array'"),
        (
            "%%MatrixMarket matrix coordinate complex general\n",
            "line 1: expected pattern or integer or real or double, found 'complex'",
        ),
        (
            "%%MatrixMarket matrix coordinate real hermitian\n",
            "line 1: expected general or symmetric or skew-symmetric, found 'hermitian'",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n%\n3 3\n",
            "line 3: expected ROWS COLUMNS ENTRIES, found '3 3'",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n%\n",
            "line 3: expected ROWS COLUMNS ENTRIES, found 'the end of the file'",
        ),
    ],
)
def test_a_bad_matrix_market_header_is_refused(text, message):
    write_mtx("m.mtx", text)
    with pytest.raises(gz.FormatError, match=f"m.mtx: {message}"):
        edge_source("m.mtx")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1 2 1\n0 1 1\n", "line 4: expected a row from 1 to 3, found '0 1 1'"),
        ("1 2 1\n3 4 1\n", "line 4: expected a column from 1 to 3, found '3 4 1'"),
        ("1 2 1\n1 x 1\n", "line 4: expected 3 numbers, found '1 x 1'"),
        ("1 2\n1 2 1 1\n", "line 3: expected 3 numbers, found '1 2'"),
        ("1 2 1\n1.5 2 1\n", "line 4: expected 3 numbers, found '1.5 2 1'"),
        ("1 2 1\n", "expected 2 entries, as line 2 says, found 1"),
        ("1 2 1\n1 1 1\n1 3 1\n", "expected 2 entries, as line 2 says, found more"),
    ],
)
def test_a_bad_matrix_market_line_is_named(lines, message):
    write_mtx("m.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n" + lines)
    with pytest.raises(gz.FormatError, match=f"m.mtx: {message}"):
        read("m.mtx")


def test_a_truncated_gzip_is_refused():
    text = "%%MatrixMarket matrix coordinate pattern general\n9 9 20000\n" + "1 2\n3 4\n" * 10_000
    write_mtx("m.mtx.gz", text)
    data = Path("m.mtx.gz").read_bytes()
    Path("m.mtx.gz").write_bytes(data[:-30])
    with pytest.raises(gz.FormatError, match=r"m.mtx.gz: expected gzip data that is whole, found"):
        read("m.mtx.gz")


def test_weights_of_a_pattern_are_refused():
    write_mtx("m.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n")
    with pytest.raises(ValueError, match="m.mtx: weight: expected a matrix with values, found a pattern"):
        edge_source("m.mtx", weight=True)


# GAP


def gap_bytes(num_nodes, edges, directed, weighted):
    """What gapbs writes: an undirected edge lies in the lists of both ends, a self-loop twice."""
    out = [*edges] if directed else [edge for u, v, w in edges for edge in ((u, v, w), (v, u, w))]

    def lists(entries):
        entries = sorted(entries)
        offsets = [sum(u < node for u, _, _ in entries) for node in range(num_nodes + 1)]
        bodies = [struct.pack("<ii", v, w) if weighted else struct.pack("<i", v) for _, v, w in entries]
        return struct.pack(f"<{num_nodes + 1}q", *offsets) + b"".join(bodies)

    inverse = lists([(v, u, w) for u, v, w in out]) if directed else b""
    return struct.pack("<?qq", directed, len(out), num_nodes) + lists(out) + inverse


gap_edges = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 9)), max_size=25)


@settings(max_examples=80, deadline=None)
@given(edges=gap_edges, directed=st.booleans(), weighted=st.booleans(), rows=st.integers(1, 9))
def test_gap_files_of_every_kind_are_read(tmp_path_factory, edges, directed, weighted, rows):
    path = str(tmp_path_factory.mktemp("gap") / ("g.wsg" if weighted else "g.sg"))
    with open(path, "wb") as file:
        file.write(gap_bytes(6, edges, directed, weighted))
    source = edge_source(path)
    assert (source.num_nodes, source.undirected) == (6, not directed)
    pairs, weights, _ = read(source, rows)
    found = [(*pair, weight) for pair, weight in zip(pairs, weights or [0] * len(pairs), strict=True)]
    expected = [(u, v, w if weighted else 0) for u, v, w in edges]
    if not directed:
        expected = [(min(u, v), max(u, v), w) for u, v, w in expected]
    assert sorted(found) == sorted(expected)


def test_a_broken_gap_file_is_refused():
    data = gap_bytes(6, [(0, 1, 1), (2, 3, 1)], True, False)
    Path("g.sg").write_bytes(data[:10])
    with pytest.raises(gz.FormatError, match="g.sg: ends too early: expected a header of 17 bytes, found 10"):
        edge_source("g.sg")
    Path("g.sg").write_bytes(data[:-1])
    with pytest.raises(gz.FormatError, match="g.sg: expected 145 bytes for 6 nodes and 2 edges, found 144"):
        edge_source("g.sg")
    Path("g.sg").write_bytes(b"\7" + data[1:])
    with pytest.raises(gz.FormatError, match="g.sg: byte 0: expected 0 or 1, for undirected or directed, found 7"):
        edge_source("g.sg")
    falling = bytearray(data)
    falling[17 + 8 : 17 + 16] = struct.pack("<q", 9)
    Path("g.sg").write_bytes(falling)
    with pytest.raises(gz.FormatError, match="g.sg: offset 2: expected at least 9, found 1"):
        read("g.sg", rows=10)
    Path("g.sg").write_bytes(data)
    with pytest.raises(ValueError, match=r"g.sg: weight: expected a .wsg file, which has weights, found a .sg file"):
        edge_source("g.sg", weight=True)


# Sparse matrices


@pytest.mark.parametrize("kind", ["coo", "csr", "csc", "lil"])
@pytest.mark.parametrize("shape", [(6, 6), (6, 9)])
@pytest.mark.parametrize("make", [scipy.sparse.coo_matrix, scipy.sparse.coo_array])
@pytest.mark.parametrize("saved", ["no", "stored", "deflated"])
def test_sparse_matrices_are_read(kind, shape, make, saved):
    matrix = make((WEIGHT, (SRC, DST)), shape=shape).asformat(kind)
    if saved != "no" and kind == "lil":  # save_npz does not write it
        saved = "no"
    if saved != "no":
        scipy.sparse.save_npz("matrix.npz", matrix, compressed=saved == "deflated")
    source = edge_source(matrix if saved == "no" else "matrix.npz")
    assert source.num_nodes == (6 if shape == (6, 6) else shape)
    pairs, weights, _ = read(source, 2)
    assert dict(zip(pairs, weights, strict=True)) == dict(zip(PAIRS, WEIGHT, strict=True))
    assert read(matrix, weight=False)[1] is None


def test_a_saved_matrix_of_another_format_is_refused():
    scipy.sparse.save_npz("matrix.npz", scipy.sparse.dia_array(np.eye(3)))
    with pytest.raises(gz.FormatError, match=r"matrix.npz: expected .* format csr, csc or coo, found 'dia'"):
        edge_source("matrix.npz")


def test_offsets_that_do_not_fit_a_matrix_are_refused():
    np.savez("m.npz", format="csr", shape=[2, 2], data=[1.0], indices=[0], indptr=[0, 1])
    with pytest.raises(gz.FormatError, match="m.npz: indptr: expected 3 offsets, found 2"):
        edge_source("m.npz")
    np.savez("m.npz", format="csr", shape=[2, 2], data=[1.0], indices=[0], indptr=[0, 1, 5])
    with pytest.raises(gz.FormatError, match="m.npz: expected offsets up to 1, found 5"):
        read("m.npz")


# PyG, DGL, NetworkX


def test_pyg_data_is_read():
    data = Data(edge_index=torch.tensor([SRC, DST]), x=torch.zeros(9, 2), t=torch.tensor(TIME))
    source = edge_source(data)
    assert (source.num_nodes, read(source)) == (9, EDGES)
    data.edge_weight = torch.tensor(WEIGHT)
    assert read(data) == WEIGHTED
    assert read(data, weight=False, time="t") == (PAIRS, None, TIME)
    data = Data(edge_index=torch.tensor([SRC, DST]), edge_attr=torch.tensor(WEIGHT)[:, None], num_nodes=7)
    assert read(data) == EDGES
    assert read(data, weight="edge_attr") == read(data, weight=True) == WEIGHTED
    assert edge_source(data).num_nodes == 7


def test_pyg_data_without_what_is_asked_for_is_refused():
    with pytest.raises(ValueError, match="Data: expected an edge_index, found only x"):
        edge_source(Data(x=torch.zeros(2, 1)))
    data = Data(edge_index=torch.tensor([SRC, DST]))
    with pytest.raises(ValueError, match="Data: time: expected one of its attributes edge_index, found 'when'"):
        edge_source(data, time="when")
    with pytest.raises(TypeError, match="expected a Data, found a HeteroData; use convert_dataset"):
        edge_source(HeteroData())


def test_a_graph_like_those_of_dgl_is_read():
    graph = SimpleNamespace(
        ndata={},
        edata={"w": torch.tensor(WEIGHT)},
        edges=lambda: (torch.tensor(SRC), torch.tensor(DST)),
        canonical_etypes=[("_N", "_E", "_N")],
        num_nodes=lambda: 6,
    )
    assert read(graph, weight="w") == WEIGHTED
    assert edge_source(graph).num_nodes == 6
    with pytest.raises(ValueError, match="graph: time: expected one of edata w, found 't'"):
        edge_source(graph, time="t")
    graph.canonical_etypes = [("a", "x", "b"), ("b", "y", "a")]
    with pytest.raises(TypeError, match="graph: expected one edge type, found 2"):
        edge_source(graph)


def test_networkx_graphs_are_read():
    graph = nx.DiGraph()
    graph.add_nodes_from(range(6))
    graph.add_edges_from((u, v, {"w": w, "t": t}) for (u, v), w, t in zip(PAIRS, WEIGHT, TIME, strict=True))
    source = edge_source(graph, weight="w", time="t")
    assert (source.num_nodes, source.undirected) == (6, False)
    pairs, weights, times = read(source)
    assert dict(zip(pairs, zip(weights, times, strict=True), strict=True)) == dict(
        zip(PAIRS, zip(WEIGHT, TIME, strict=True), strict=True)
    )


def test_labels_of_networkx_nodes_stay_strings():
    graph = nx.MultiGraph([("a", "b"), ("b", "c"), ("a", "b")])
    source = edge_source(graph)
    assert (source.undirected, source.num_nodes) == (True, None)
    assert read(source)[0] == [("a", "b"), ("a", "b"), ("b", "c")]


def test_sparse_networkx_nodes_say_no_number_of_nodes():
    assert edge_source(nx.Graph([(1, 1000)])).num_nodes is None
    assert edge_source(nx.Graph()).num_nodes in (None, 0)


def test_networkx_graphs_that_cannot_be_read_are_refused():
    with pytest.raises(TypeError, match=r"graph: expected nodes .* found tuple \(0, 0\); relabel them"):
        edge_source(nx.grid_graph((2, 2)))
    with pytest.raises(ValueError, match=r"graph: edge 'a' → 'b': expected the attribute 'weight', found cost"):
        read(nx.Graph([("a", "b", {"cost": 1})]), weight=True)


# Iterables


def batches_of_arrays():
    yield np.array(SRC[:2]), np.array(DST[:2]), np.array(WEIGHT[:2])
    yield SRC[2:], DST[2:], WEIGHT[2:]


def test_a_generator_of_batches_is_read():
    assert read(batches_of_arrays()) == WEIGHTED
    assert read(batches_of_arrays(), rows=100) == WEIGHTED


def test_batches_come_in_many_forms():
    assert read(iter([(SRC, DST, WEIGHT, TIME)])) == TIMED
    assert read(iter([(SRC, DST, None, TIME)])) == (PAIRS, None, TIME)
    assert read(iter([(SRC, DST, TIME)]), time=True) == (PAIRS, None, TIME)
    assert read(iter([{"src": SRC, "dst": DST, "time": TIME}])) == (PAIRS, None, TIME)
    assert read([EdgeBatch(np.array(SRC), np.array(DST))]) == EDGES
    assert read([(np.array(SRC), np.array(DST))]) == EDGES
    with pytest.raises(ValueError, match=r"batches: expected at least one batch of edges, found none; .*np.empty"):
        read(iter([]))


def test_single_edges_are_collected():
    assert read(pair for pair in PAIRS) == EDGES
    assert read(iter([("a", "b", 0.5), ("b", "c", 1.5)])) == ([("a", "b"), ("b", "c")], [0.5, 1.5], None)
    with pytest.raises(ValueError, match=r"batches: edge 1: expected a tuple of 2 values, found \(1, 2, 3\)"):
        read(iter([(0, 1), (1, 2, 3)]))


def test_an_iterator_is_read_once_and_a_list_again():
    source = edge_source(batches_of_arrays())
    read(source)
    with pytest.raises(ValueError, match="batches: this iterator can be read once"):
        read(source)
    source = edge_source([(np.array(SRC), np.array(DST))])
    assert read(source) == read(source)


def test_bad_batches_are_refused_with_their_number():
    with pytest.raises(TypeError, match=r"batches: batch 1: expected \(src, dst\[, weight\]\[, time\]\), found int"):
        read(iter([(SRC, DST), 7]))
    with pytest.raises(TypeError, match=r"batches: batch 0: .* found 1 columns"):
        read(iter([(SRC,)]))
    with pytest.raises(ValueError, match="batches: batch 0: dst: expected 7 values, one per edge, found 1"):
        read(iter([(SRC, [1])]))
    with pytest.raises(ValueError, match="batches: batch 0: expected src and dst, found src"):
        read(iter([{"src": SRC}]))
    with pytest.raises(
        ValueError, match="batches: batch 1: expected weights as before, found neither weights nor times"
    ):
        read(iter([(SRC, DST, WEIGHT), (SRC, DST)]))


# .pt


def test_tensors_are_loaded_safely():
    torch.save(torch.tensor([SRC, DST]), "edges.pt")
    assert read("edges.pt") == EDGES
    torch.save({"edge_index": torch.tensor([SRC, DST]), "other": np.array(PAIRS)}, "edges.pt")
    assert read("edges.pt") == read("edges.pt", src="other") == EDGES
    with pytest.raises(ValueError, match="edges.pt: expected one of its entries, edge_index, other, found 'adj'"):
        edge_source("edges.pt", src="adj")


class Trap:
    """What a hostile pickle would do."""

    def __reduce__(self):
        return os.mkdir, ("trapped",)


def test_a_pickle_with_code_is_refused_and_not_run():
    torch.save({"edge_index": Trap()}, "edges.pt")
    with pytest.raises(gz.FormatError, match="edges.pt: expected tensors and plain values, which load safely, found"):
        edge_source("edges.pt")
    assert not os.path.exists("trapped")


class Call:
    """Pickles as a call, and the state that its result is given."""

    def __init__(self, function, *arguments, state=None):
        self._parts = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self):
        return self._parts


_reconstruct = np.zeros(1).__reduce__()[0]


def test_numbers_of_tables_are_read_without_pandas():
    """It is 30 MB, and takes a second to load: of each step of a conversion in shards."""
    pytest.importorskip("pandas")
    table = pa.table({"src": SRC, "dst": DST, "w": np.arange(len(SRC), dtype=np.float32)})
    pa.parquet.write_table(table, "edges.parquet")
    program = (
        "import sys, graphzero as gz\ngz.convert_edges('edges.parquet', 'g.gl', weight='w')\n"
        "gz.convert_features('edges.parquet', 'x.gd', columns=['w'])\nprint('pandas' in sys.modules)"
    )
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert child.stdout == "False\n"


NOT_OF_NUMPY = [
    Call(np.dtype, ("i4", (2,))),
    Call(np.dtype, "2i4"),
    Call(np.dtype, [("a", "i4")]),
    Call(np.dtype, "O8", False, True),
    Call(np.dtype, "V8", False, True, state=(3, "|", (np.dtype("i4"), (2,)), None, None, 8, 1, 0)),
    Call(np.dtype, "i4", False, True, state=(3, "<", (np.dtype("i4"), (2**31,)), None, None, -1, -1, 0)),
    Call(np.ndarray, (2**60,), "O"),
    Call(_reconstruct, np.ndarray, (2**50,), b"b"),
    Call(_reconstruct, np.ndarray, (0,), b"b", state=(1, (2**40,), np.dtype("i8"), False, b"12345678")),
    Call(_reconstruct, np.ndarray, (0,), b"b", state=(1, (-1,), np.dtype("i8"), False, b"12345678")),
    Call(_reconstruct, np.ndarray, (0,), b"b", state=(1, (1,), np.dtype("O"), False, [1])),
    Call(_reconstruct, np.ndarray, (0,), b"b", state=7),
    Call(type(np.float32(1)).__reduce__(np.float32(1))[0], np.dtype("O"), b"12345678"),
]

# A fork of a process that has loaded torch takes no second; loading it takes several.
LOADS_EACH = """
import os, sys
import graphzero as gz
import torch
from graphzero.convert.edge_sources.torch_files import load_pt
for path in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            print(load_pt(path)["other"].size, flush=True)
        except gz.FormatError as error:
            print(error, flush=True)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(path, status, flush=True)
"""


@posix_only(reason="a process is forked")
def test_arrays_that_numpy_did_not_pickle_are_refused_or_empty():
    """NumPy takes any state, and crashes on that of a subarray. The child does not take the tests with it."""
    names = [f"edges{number}.pt" for number in range(len(NOT_OF_NUMPY))]
    for name, part in zip(names, NOT_OF_NUMPY, strict=True):
        torch.save({"edge_index": torch.tensor([SRC, DST]), "other": part}, name)
    child = subprocess.run([sys.executable, "-c", LOADS_EACH, *names], capture_output=True, text=True, check=True)
    said = child.stdout
    for name in names:
        answer, end, said = said.partition(f"{name} 0\n")
        assert end, (name, answer, child.stderr)
        assert answer == "0\n" or f"{name}: expected tensors and plain values, which load safely" in answer, name


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", ">i4", "<u4", "i8", "u8", "f2", "f4", ">f8"])
def test_pickled_arrays_and_scalars_of_numbers_are_loaded(dtype):
    array = np.array([[0, 1, 2], [1, 0, 1]], dtype, order="F")
    torch.save({"array": array, "scalar": array[0, 2]}, "arrays.pt")
    found = load_pt("arrays.pt")
    assert found["array"].dtype == array.dtype.newbyteorder("=")
    assert found["array"].tolist() == array.tolist()
    assert found["scalar"] == array[0, 2]


def test_pt_files_are_refused_where_torch_loads_them_unsafely(monkeypatch):
    torch.save(torch.tensor([SRC, DST]), "edges.pt")
    for version in ("2.5.1+cu124", "2.6.0", "2.9.1"):
        monkeypatch.setattr(torch, "__version__", torch.torch_version.TorchVersion(version))
        with pytest.raises(ImportError, match=r"edges.pt: .pt files need torch 2.10 or newer, found 2.*npy"):
            read("edges.pt")
        with pytest.raises(ImportError, match=r"edges.pt: .pt files need torch 2.10 or newer"):
            gz.convert_features("edges.pt", "x.gd")
    monkeypatch.setattr(torch, "__version__", torch.torch_version.TorchVersion("2.10.0+cpu"))
    assert read("edges.pt") == EDGES


def test_a_pt_file_that_would_inflate_is_refused():
    torch.save(torch.zeros(2, 1 << 20, dtype=torch.int64), "plain.pt")
    with zipfile.ZipFile("plain.pt") as plain, zipfile.ZipFile("bomb.pt", "w", zipfile.ZIP_DEFLATED) as bomb:
        for name in plain.namelist():
            bomb.writestr(name, plain.read(name))
    assert os.path.getsize("bomb.pt") < 1 << 20
    with pytest.raises(gz.FormatError, match="bomb.pt: expected members stored as they are"):
        read("bomb.pt")


def test_features_allow_no_more_than_edges_do():
    """What other libraries have allowed torch to load is not allowed here."""
    torch.save({"x": torch.ones(2, 2), "y": Trap()}, "x.pt")
    refused = pytest.raises(gz.FormatError, match="x.pt: expected tensors and plain values, which load safely")
    with torch.serialization.safe_globals([os.mkdir, (os.mkdir, "posix.mkdir")]), refused:
        gz.convert_features("x.pt", "x.gd", key="x")
    assert not os.path.exists("trapped")


def test_no_edges_at_all_may_have_weights_and_times():
    nothing = np.empty(0)
    gz.convert_edges((nothing, nothing, nothing, np.empty(0, dtype=np.int64)), "none.gl", num_nodes=3)
    with gz.Graph("none.gl") as graph:
        assert (graph.num_edges, graph.has_weights, graph.has_times) == (0, True, True)
    gz.convert_edges((nothing, nothing), "plain.gl", num_nodes=3)
    with gz.Graph("plain.gl") as graph:
        assert (graph.num_edges, graph.has_weights, graph.has_times) == (0, False, False)


@pytest.mark.parametrize("hetero", [False, True])
def test_a_type_without_edges_keeps_that_these_have_weights_and_times(hetero):
    """PyG draws by them where other types have edges, and has nothing to draw here."""
    data = pyg().HeteroData() if hetero else pyg().Data()
    nodes, edges = (data["a"], data["a", "to", "a"]) if hetero else (data, data)
    nodes.x, edges.edge_index = torch.rand(3, 2), torch.empty(2, 0, dtype=torch.long)
    edges.edge_weight, edges.edge_time = torch.empty(0), torch.empty(0, dtype=torch.long)
    gz.convert_dataset(data, "empty")
    (edge,) = gz.open("empty").edges.values()
    assert (edge.weight, edge.time) == ("edge_weight", "edge_time")
    assert edge.graph.has_weights
    assert edge.graph.has_times


def test_columns_and_attributes_that_are_not_used_are_reported():
    table = pa.table({"src": [0, 1], "dst": [1, 0], "weight": [0.5, 1.0], "ts": [3, 4]})
    assert gz.convert_edges(table, "g.gl").unused_columns == ("weight", "ts")
    assert gz.convert_edges(table, "g.gl", weight="weight").unused_columns == ("ts",)
    graph = nx.Graph()
    graph.add_edge(0, 1, weight=2.0, since=1999)
    assert gz.convert_edges(graph, "g.gl").unused_columns == ("weight", "since")
    assert gz.convert_edges(graph, "g.gl", weight=True).unused_columns == ("since",)
    assert gz.convert_edges(nx.Graph(), "g.gl").unused_columns == ()

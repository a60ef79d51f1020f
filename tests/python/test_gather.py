"""Gathered rows are those of the file, whichever reader brings them and whatever the system refuses."""

import errno
import json
import os
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

import files
import graphzero as gz
from cgroups import limited_to
from faults import DENY_RING, run
from graphzero.features import floats_of_bfloat16, rounded_to_bfloat16
from optional_torch import needs_torch, torch
from systems import (
    NO_CALLS,
    NO_CUT,
    NO_DESCRIPTORS,
    NO_DEVICES,
    NO_DROPPING,
    NO_FORK,
    NO_LIMITS,
    NO_REPLACING,
    NO_USAGE,
    interrupt,
    posix_only,
    start,
)

READERS = ["mmap", "direct", "pread"]
DTYPES = ["float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool"]
ROW_SIZES = [1, 2, 12, 64, 100, 512, 4096, 5000, 300_000]


def random_rows(num_rows, row_bytes, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (num_rows, row_bytes), dtype=np.uint8)


def write_graphzero02(path, array):
    """A file of the predecessor: its rows start at byte 32, and nothing pads its end."""
    code = {"int32": 0, "int64": 1, "float32": 2, "float64": 3}[array.dtype.name]
    header = b"GZDATA26" + struct.pack("<IiQQ", 0, code, *array.shape)
    with open(path, "wb") as file:
        file.write(header + array.tobytes())


@pytest.fixture
def threads():
    yield gz.set_num_threads
    gz.set_num_threads(0)


@pytest.fixture
def big_gd(tmp_path):
    gz.write_features("big.gd", random_rows(20_000, 512))
    return "big.gd"


# Gathers with each reader and prints the statistics of each; wrong rows end the process.
COMPARE = """
import json, numpy as np, graphzero as gz
ids = np.random.default_rng(1).integers(0, 20_000, 3_000)
stats = {}
for reader in ("mmap", "direct", "pread"):
    fs = gz.FeatureStore("big.gd")
    assert np.array_equal(fs.gather(ids, reader=reader), fs.get_tensor()[ids]), reader
    stats[reader] = fs.gather_stats()
print(json.dumps(stats))
"""


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("row_bytes", ROW_SIZES)
def test_rows_of_any_size_are_those_of_the_file(tmp_path, threads, row_bytes, reader):
    rows = random_rows(min(3_000, max(40, 3_000_000 // row_bytes)), row_bytes)
    gz.write_features("x.gd", rows)
    rng = np.random.default_rng(row_bytes)
    shuffled = rng.permutation(len(rows))
    fs = gz.FeatureStore("x.gd")
    for count in (1, 2, 8):
        threads(count)
        for ids in ([], [0], [len(rows) - 1], [3, 3, 3, 0, 3], rng.integers(0, len(rows), 700), shuffled):
            found = fs.gather(ids, reader=reader)
            assert found.shape == (len(ids), row_bytes)
            assert np.array_equal(found, rows[np.asarray(ids, np.int64)])
    assert fs.gather_stats()["reader"] == reader


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_shape_is_gathered_as_stored(tmp_path, dtype, reader):
    for shape in ((50,), (50, 3), (50, 2, 5), (50, 0)):
        array = np.random.default_rng(0).integers(0, 2, shape).astype("float32" if dtype == "bfloat16" else dtype)
        gz.write_features("x.gd", array, dtype=dtype)
        fs = gz.FeatureStore("x.gd")
        ids = [49, 0, 7, 7]
        found = fs.gather(ids, reader=reader)
        assert found.dtype == fs.get_tensor().dtype
        assert np.array_equal(found, fs.get_tensor()[ids])
        fs.close()
        os.unlink("x.gd")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("columns", [1, 3, 128, 1250])
def test_graphzero02_rows_straddle_blocks_and_end_with_the_file(tmp_path, columns, reader):
    array = np.random.default_rng(0).random((333, columns), dtype=np.float32)
    write_graphzero02("old.gd", array)
    fs = gz.FeatureStore("old.gd")
    ids = np.append(np.random.default_rng(1).integers(0, 333, 100), [332, 0])
    assert np.array_equal(fs.gather(ids, reader=reader), array[ids])


def test_quantised_rows_are_the_int8_that_are_stored(tmp_path):
    array = np.arange(-6, 6, dtype=np.int8).reshape(4, 3)
    with open("q.gd", "wb") as file:
        file.write(files.build(files.gd(array, scales=[1, 2, 3, 4])))
    found = gz.FeatureStore("q.gd").gather([3, 1])
    assert found.dtype == np.int8
    assert np.array_equal(found, array[[3, 1]])


CONVERSIONS = [
    ("float16", "float32"),
    ("bfloat16", "float32"),
    ("float64", "float32"),
    ("int8", "float32"),
    ("uint8", "float32"),
    ("bool", "float32"),
    ("float32", "float16"),
    ("float32", "bfloat16"),
    ("int32", "int64"),
    ("int16", "int64"),
]


def write_any_bits(path, dtype, shape):
    """Write an array of the type that holds every kind of value; return what get_tensor() gives."""
    count = int(np.prod(shape))
    rng = np.random.default_rng(3)
    if dtype == "bool":
        array = rng.integers(0, 2, count).astype(bool)
    elif dtype == "float64":
        array = rng.standard_normal(count) * 10.0 ** rng.integers(-50, 50, count)
        array[:4] = [np.inf, -np.inf, np.nan, 1e300][:count]
    else:
        bits = np.dtype("uint16" if dtype == "bfloat16" else dtype)
        array = rng.integers(0, 256, count * bits.itemsize, dtype=np.uint8).view(bits)
    gz.write_features(path, array.reshape(shape), dtype=dtype)
    return gz.FeatureStore(path).get_tensor()


def converted(stored, source, target):
    """What NumPy makes of the items; bfloat16 as bits."""
    if source == "bfloat16":
        return floats_of_bfloat16(stored)
    if target == "bfloat16":
        return rounded_to_bfloat16(stored)
    with np.errstate(over="ignore", invalid="ignore"):
        return stored.astype(target)


def equal_bits(found, expected):
    """Whether two arrays agree in type and bits; NaNs of floats may differ in payload."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if found.dtype.kind != "f":
        return np.array_equal(found, expected)
    nan = np.isnan(expected)
    bits = f"u{found.dtype.itemsize}"
    return np.array_equal(np.isnan(found), nan) and np.array_equal(found.view(bits)[~nan], expected.view(bits)[~nan])


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("source", "target"), CONVERSIONS)
def test_rows_are_converted_on_their_way(tmp_path, threads, source, target, reader):
    for shape in ((900,), (700, 3), (300, 2, 9), (90, 129), (40, 0)):
        stored = write_any_bits("x.gd", source, shape)
        ids = np.append(np.random.default_rng(4).integers(0, shape[0], 2 * shape[0]), [0, 0, shape[0] - 1])
        expected = converted(stored, source, target)[ids]
        del stored  # a view, which keeps the file mapped: Windows would not let go of its name
        fs = gz.FeatureStore("x.gd")
        for count in (1, 2):
            threads(count)
            assert equal_bits(fs.gather(ids, reader=reader, dtype=target), expected)
        assert len(fs.gather([], reader=reader, dtype=target)) == 0
        assert fs.gather_stats()["reader"] == reader
        fs.close()
        os.unlink("x.gd")


@pytest.mark.parametrize("reader", READERS)
def test_every_float16_and_bfloat16_is_widened_exactly(tmp_path, reader):
    bits = np.arange(1 << 16, dtype=np.uint16).reshape(-1, 64)
    ids = np.arange(len(bits))
    gz.write_features("b.gd", bits, dtype="bfloat16")
    found = gz.FeatureStore("b.gd").gather(ids, reader=reader, dtype="float32")
    assert np.array_equal(found.view(np.uint32), bits.astype(np.uint32) << 16)
    gz.write_features("h.gd", bits.view(np.float16))
    found = gz.FeatureStore("h.gd").gather(ids, reader=reader, dtype="float32")
    assert equal_bits(found, bits.view(np.float16).astype(np.float32))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_stored_type_may_be_asked_for(tmp_path, dtype):
    stored = write_any_bits("x.gd", dtype, (50, 3))
    fs = gz.FeatureStore("x.gd")
    assert fs.gather([49, 7, 7], dtype=dtype).tobytes() == stored[[49, 7, 7]].tobytes()


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("columns", [1, 7, 64, 8_000])  # the last takes more than one block
def test_quantised_rows_become_what_get_data_returns(tmp_path, columns, reader):
    rng = np.random.default_rng(5)
    array = rng.integers(-128, 128, (500, columns), dtype=np.int8)
    scales = (10.0 ** rng.uniform(-42, 36, 500)).astype(np.float32)
    with open("q.gd", "wb") as file:
        file.write(files.build(files.gd(array, scales=scales)))
    fs = gz.FeatureStore("q.gd")
    ids = rng.integers(0, 500, 1500)
    found = fs.gather(ids, reader=reader, dtype="float32")
    assert equal_bits(found, np.stack([fs.get_data(int(node)) for node in ids]))
    assert np.array_equal(fs.gather(ids, reader=reader, dtype="int8"), array[ids])


@pytest.mark.parametrize("reader", READERS)
def test_a_large_call_finds_the_scales_of_every_part(tmp_path, reader):
    array, scales = np.arange(-50, 50, dtype=np.int8), np.linspace(0.1, 9, 100, dtype=np.float32)
    with open("q.gd", "wb") as file:
        file.write(files.build(files.gd(array, scales=scales)))
    ids = np.random.default_rng(8).integers(0, 100, (1 << 20) + 5_000)
    found = gz.FeatureStore("q.gd").gather(ids, reader=reader, dtype="float32")
    assert np.array_equal(found, array[ids].astype(np.float32) * scales[ids])


@posix_only(reason=NO_USAGE)
@pytest.mark.no_asan
@pytest.mark.no_tsan
@pytest.mark.parametrize("reader", READERS)
def test_a_large_conversion_takes_a_bounded_block_besides_the_result(big_gd, reader):
    peak = run(
        f"""
        import json, numpy as np, graphzero as gz
        def most_memory():
            with open("/proc/self/status") as status:
                return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
        fs = gz.FeatureStore("big.gd")
        tensor = fs.get_tensor()
        ids = np.random.default_rng(6).integers(0, 20_000, 150_000)  # 77 MB as they are stored
        out = np.full((len(ids), 512), 7, np.float32)
        tensor.sum()
        before = most_memory()
        fs.gather(ids, out=out, reader="{reader}", dtype="float32")
        after = most_memory()
        for begin in range(0, len(ids), 1000):
            assert np.array_equal(out[begin : begin + 1000], tensor[ids[begin : begin + 1000]])
        assert fs.gather_stats()["reader"] == "{reader}"
        print(json.dumps(after - before))
    """,
        env={"GRAPHZERO_NUM_THREADS": "2"},
    )
    # The block, 8 MB of reads for each thread, and the 10 MB of the file that are mapped.
    assert peak < 45 << 20


@pytest.mark.parametrize("reader", READERS)
def test_a_row_larger_than_the_block_is_converted_too(tmp_path, reader):
    rows = random_rows(3, 9 << 20)
    gz.write_features("x.gd", rows)
    found = gz.FeatureStore("x.gd").gather([2, 0], reader=reader, dtype="float32")
    assert np.array_equal(found, rows[[2, 0]])


@pytest.mark.parametrize(
    "dtype",
    ["float32", np.float32, np.dtype("f4"), pytest.param(torch and torch.float32, marks=needs_torch), gz.FLOAT32, 2],
)
def test_dtype_has_many_names(tmp_path, dtype):
    gz.write_features("x.gd", np.float16([[1.5], [2.5]]))
    found = gz.FeatureStore("x.gd").gather([1], dtype=dtype)
    assert found.dtype == np.float32
    assert found.tolist() == [[2.5]]


@needs_torch
@pytest.mark.parametrize("reader", READERS)
def test_converted_rows_go_into_out(tmp_path, reader):
    stored = torch.randn(6, 4)
    gz.write_features("x.gd", stored)
    fs = gz.FeatureStore("x.gd")
    for dtype in (torch.float16, torch.bfloat16):
        tensor = torch.zeros(4, 4, dtype=dtype)
        assert fs.gather([5, 1], out=tensor[1:3], reader=reader, dtype=dtype).data_ptr() == tensor[1:3].data_ptr()
        assert torch.equal(tensor[1:3], stored[[5, 1]].to(dtype))
        assert not tensor[0].any()
        assert not tensor[3].any()
    array, bits = np.zeros((2, 4), np.float16), np.zeros((2, 4), np.uint16)
    assert fs.gather([5, 1], out=array, reader=reader, dtype="float16") is array
    assert np.array_equal(array, stored[[5, 1]].half().numpy())
    fs.gather([5, 1], out=bits, reader=reader, dtype="bfloat16")
    assert np.array_equal(bits, rounded_to_bfloat16(stored[[5, 1]].numpy()))


@needs_torch
def test_out_is_of_the_dtype_that_was_asked_for(tmp_path):
    gz.write_features("x.gd", np.zeros((4, 3), np.float16))
    fs = gz.FeatureStore("x.gd")
    with pytest.raises(TypeError, match="out: expected float32, found float16; dtype= is float32"):
        fs.gather([0], out=np.zeros((1, 3), np.float16), dtype="float32")
    with pytest.raises(TypeError, match="out: expected float16, found float32; items are not converted without dtype="):
        fs.gather([0], out=torch.zeros(1, 3))


@pytest.mark.parametrize("into", [None, "out"])
@pytest.mark.parametrize(
    ("stored", "wanted", "possible"),
    [
        ("float32", "int64", "float32, float16 or bfloat16"),
        ("float64", "float16", "float64 or float32"),
        ("int64", "float32", "int64"),
        ("int32", "int16", "int32 or int64"),
    ],
)
def test_a_conversion_that_is_not_offered_is_told_with_those_that_are(tmp_path, stored, wanted, possible, into):
    gz.write_features("x.gd", np.zeros((4, 3), stored))
    out = None if into is None else np.zeros((1, 3), wanted)
    message = f"^dtype: expected {possible}, which {stored} rows can be gathered as, found {wanted}$"
    with pytest.raises(ValueError, match=message):
        gz.FeatureStore("x.gd").gather([0], out=out, dtype=wanted)


def test_quantised_rows_are_not_narrowed_further(tmp_path):
    with open("q.gd", "wb") as file:
        file.write(files.build(files.gd(np.zeros((4, 3), np.int8), scales=[1, 2, 3, 4])))
    message = "dtype: expected int8 or float32, which quantised int8 rows can be gathered as, found float16"
    with pytest.raises(ValueError, match=message):
        gz.FeatureStore("q.gd").gather([0], dtype="float16")


def test_a_dtype_that_is_none_is_refused(tiny_gd):
    with pytest.raises(TypeError, match="dtype: expected one of bfloat16, bool, .*, found complex64"):
        gz.FeatureStore(tiny_gd).gather([0], dtype="complex64")


@pytest.mark.parametrize(
    "ids", [[2, 0], (2, 0), np.array([2, 0], np.uint8), pytest.param(torch and torch.tensor([2, 0]), marks=needs_torch)]
)
def test_ids_may_be_lists_arrays_and_tensors(tiny_gd, ids):
    assert gz.FeatureStore(tiny_gd).gather(ids).tolist() == [[6, 7, 8], [0, 1, 2]]


@needs_torch
@pytest.mark.parametrize("reader", READERS)
def test_out_takes_the_rows_and_is_returned(tiny_gd, reader):
    fs = gz.FeatureStore(tiny_gd)
    array, tensor = np.zeros((2, 3), np.float32), torch.zeros(2, 3)
    assert fs.gather([2, 0], array, reader=reader) is array
    assert fs.gather([2, 0], out=tensor, reader=reader) is tensor
    assert array.tolist() == tensor.tolist() == [[6, 7, 8], [0, 1, 2]]


def test_out_may_be_a_part_of_a_larger_array(tiny_gd):
    array = np.full((4, 3), -1, np.float32)
    gz.FeatureStore(tiny_gd).gather([2, 0], out=array[1:3])
    assert array.tolist() == [[-1] * 3, [6, 7, 8], [0, 1, 2], [-1] * 3]


@needs_torch
def test_bfloat16_goes_to_tensors_and_to_bits(tmp_path):
    stored = torch.randn(6, 4).to(torch.bfloat16)
    gz.write_features("b.gd", stored)
    fs = gz.FeatureStore("b.gd")
    tensor, bits = torch.empty(2, 4, dtype=torch.bfloat16), np.empty((2, 4), np.uint16)
    assert torch.equal(fs.gather([5, 1], out=tensor), stored[[5, 1]])
    assert np.array_equal(fs.gather([5, 1], out=bits), fs.get_tensor()[[5, 1]])
    with pytest.raises(TypeError, match="out: expected uint16, found float32"):
        fs.gather([5, 1], out=torch.empty(2, 4))


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (np.zeros((3, 3), np.float32), ValueError, r"out: expected shape \(2, 3\), found \(3, 3\)"),
        (np.zeros(6, np.float32), ValueError, r"out: expected shape \(2, 3\), found \(6,\)"),
        (np.zeros((2, 3)), TypeError, "out: expected float32, found float64; items are not converted without dtype="),
        (np.zeros((2, 3), ">f4"), TypeError, "out: expected float32, found >f4"),
        (np.zeros((3, 2), np.float32).T, ValueError, "out: expected a C-contiguous array"),
        (np.zeros((2, 6), np.float32)[:, ::2], ValueError, "out: expected a C-contiguous array"),
        pytest.param(
            torch and torch.zeros(3, 2).T, ValueError, "out: expected a C-contiguous array", marks=needs_torch
        ),
        pytest.param(
            torch and torch.zeros(2, 3, device="meta"),
            ValueError,
            "out: expected a tensor on the CPU, found one on meta",
            marks=needs_torch,
        ),
        ([[0.0] * 3] * 2, TypeError, "out: expected a NumPy array or a torch tensor, found list"),
    ],
)
def test_an_out_that_does_not_fit_is_told_why(tiny_gd, out, error, message):
    with pytest.raises(error, match=message):
        gz.FeatureStore(tiny_gd).gather([2, 0], out=out)


def test_a_read_only_out_is_refused(tiny_gd):
    out = np.zeros((2, 3), np.float32)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out: expected a writable array, found a read-only one"):
        gz.FeatureStore(tiny_gd).gather([2, 0], out=out)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("wrong", [4, -1, 2**62])
def test_an_id_that_is_no_row_is_named_with_its_position(tiny_gd, wrong, reader):
    with pytest.raises(IndexError, match=rf"ids\[2\]: row {wrong} is not in .*tiny.gd, which has 4 rows"):
        gz.FeatureStore(tiny_gd).gather([0, 1, wrong], reader=reader)


def test_wrong_ids_are_named_before_room_for_their_rows_is_made():
    gz.write_features("x.gd", np.empty((0, 2**31 - 1), np.float32))
    with pytest.raises(IndexError, match=r"ids\[0\]: row 5 is not in .*x.gd, which has 0 rows"):
        gz.FeatureStore("x.gd").gather([5] * 2000)  # 17 TB


@pytest.mark.parametrize("reader", READERS)
def test_a_large_call_is_made_in_parts(tmp_path, reader):
    rows = random_rows(5_000, 3)
    gz.write_features("x.gd", rows)
    ids = np.random.default_rng(0).integers(0, 5_000, (1 << 20) + 1)
    fs = gz.FeatureStore("x.gd")
    assert np.array_equal(fs.gather(ids, reader=reader), rows[ids])
    stats = fs.gather_stats()
    assert stats["rows"] == len(ids)
    assert stats["unique_rows"] == (0 if reader == "mmap" else 5_001)


def test_ids_and_reader_are_checked(tiny_gd):
    fs = gz.FeatureStore(tiny_gd)
    with pytest.raises(TypeError, match="ids: expected integers, found float64"):
        fs.gather([0.5])
    with pytest.raises(ValueError, match="ids: expected one dimension"):
        fs.gather([[0]])
    with pytest.raises(ValueError, match="reader: expected 'auto', 'mmap', 'direct' or 'pread', found 'fast'"):
        fs.gather([0], reader="fast")


def test_a_result_that_cannot_fit_is_refused_first(tmp_path):
    gz.write_features("x.gd", np.zeros((1, 1 << 20), np.uint8))
    with pytest.raises(MemoryError, match=r"x.gd: gathering 100000000 rows of 1048576 bytes needs \d+ MB of memory"):
        gz.FeatureStore("x.gd").gather(np.zeros(100_000_000, np.int64))


def test_the_converted_size_of_a_result_is_what_must_fit(tmp_path):
    gz.write_features("x.gd", np.zeros((1, 1 << 20), np.uint8))
    with pytest.raises(MemoryError, match=r"x.gd: gathering 50000000 rows of 4194304 bytes needs \d+ MB of memory"):
        gz.FeatureStore("x.gd").gather(np.zeros(50_000_000, np.int64), dtype="float32")


def test_a_closed_store_gathers_no_more(tiny_gd):
    fs = gz.FeatureStore(tiny_gd)
    fs.gather([0])
    fs.close()
    for call in (lambda: fs.gather([0]), fs.gather_stats):
        with pytest.raises(ValueError, match="this FeatureStore is closed"):
            call()


def test_statistics_count_what_the_device_was_asked_for(big_gd):
    fs = gz.FeatureStore(big_gd)
    assert fs.gather_stats() == {
        "rows": 0,
        "direct_rows": 0,
        "unique_rows": 0,
        "device_reads": 0,
        "device_bytes": 0,
        "read_amplification": None,
        "reader": None,
        "reason": None,
        "read_gap": None,
    }
    fs.gather([0, 1, 7, 7, 40, 100], reader="direct")  # eight rows to a block: blocks 0, 5 and 12
    assert fs.gather_stats()["read_gap"] == 8192
    fs.gather([0, 8], reader="pread")  # blocks 0 and 1, side by side
    fs.gather([5], reader="mmap")
    stats = fs.gather_stats()
    assert (stats["rows"], stats["direct_rows"], stats["unique_rows"]) == (9, 8, 7)
    assert (stats["device_reads"], stats["device_bytes"]) == (4, 5 * 4096)
    assert stats["read_amplification"] == 5 * 4096 / (7 * 512)
    assert (stats["reader"], stats["reason"], stats["read_gap"]) == ("mmap", "big.gd: mmap: asked for", None)


@pytest.mark.parametrize("reader", ["direct", "pread"])
def test_a_gap_is_read_where_that_costs_less_than_another_read(big_gd, monkeypatch, reader):
    ids = [0, 16, 40, 100]  # blocks 0, 2, 5 and 12
    for gap, reads, blocks in [("0", 4, 4), ("4kB", 3, 5), ("8192", 2, 7), ("24KiB", 1, 13)]:
        monkeypatch.setenv("GRAPHZERO_READ_GAP", gap)
        fs = gz.FeatureStore(big_gd)
        assert np.array_equal(fs.gather(ids, reader=reader), fs.get_tensor()[ids])
        stats = fs.gather_stats()
        assert (stats["device_reads"], stats["device_bytes"]) == (reads, blocks * 4096)


def test_a_gap_that_is_no_size_is_told(big_gd, monkeypatch):
    monkeypatch.setenv("GRAPHZERO_READ_GAP", "wide")
    message = "environment variable GRAPHZERO_READ_GAP: expected 0 to 256kB, such as 8192 or 16kB, found 'wide'"
    with pytest.raises(ValueError, match=message):
        gz.FeatureStore(big_gd).gather([0], reader="direct")


# 8192 is also the answer of a machine that is too busy to measure anything; it is asked again.
READ_GAP = """
import json, graphzero as gz
for attempt in range(20):
    fs = gz.FeatureStore("large.gd")
    fs.gather([0], reader="direct")
    if fs.gather_stats()["read_gap"] != 8192: break
print(json.dumps(fs.gather_stats()["read_gap"]))
"""


@pytest.fixture
def cost_file(tmp_path):
    """Where the next process looks for what reads cost, beside a file that is worth measuring."""
    gz.write_features("large.gd", random_rows(40_000, 512))
    (tmp_path / "cache" / "graphzero").mkdir(parents=True)
    return tmp_path / "cache" / "graphzero" / "read_cost"


def measured_gap(cost_file, code):
    """The gap of a process that measured it. One that is too busy to measure keeps nothing, so it is asked again."""
    before = cost_file.read_text() if cost_file.exists() else None
    for _ in range(20):
        gap = run(code)
        if cost_file.exists() and cost_file.read_text() != before:
            break
    return gap


def cost_line(seconds_ago):
    return f"{os.stat('large.gd').st_dev} 1e-5 {1e-5 / 100_000} {int(time.time()) - seconds_ago}\n"


def test_the_cost_of_reads_is_taken_from_the_cache_folder(cost_file):
    cost_file.write_bytes(f"noise\n{cost_line(seconds_ago=6 * 24 * 3600)}".encode())  # as it is written on every system
    before = cost_file.read_text()
    assert run(READ_GAP) == 24 * 4096
    assert cost_file.read_text() == before


@pytest.mark.parametrize("old", ["", "noise\n", b"\xff\x00".decode("latin1"), "a week ago"])
def test_a_cost_that_is_missing_broken_or_old_is_measured_again(cost_file, old):
    cost_file.write_text(cost_line(seconds_ago=7 * 24 * 3600 + 1) if old == "a week ago" else old)
    gap = measured_gap(cost_file, READ_GAP)
    device, per_read, per_byte, measured = cost_file.read_text().split()
    assert int(device) == os.stat("large.gd").st_dev
    assert abs(int(measured) - time.time()) < 600
    assert gap == min(float(per_read) / float(per_byte), 2**18) // 4096 * 4096
    assert os.listdir(cost_file.parent) == ["read_cost"]


def test_a_cost_that_cannot_be_kept_is_no_error(cost_file):
    cost_file.mkdir()
    assert run(READ_GAP) % 4096 == 0


@posix_only(reason=NO_CALLS)
def test_without_leave_to_set_up_a_ring_the_cost_is_measured_by_threads(cost_file):
    assert measured_gap(cost_file, DENY_RING.format(first=425, last=427) + READ_GAP) % 4096 == 0
    assert len(cost_file.read_text().split()) == 4


def test_auto_maps_a_small_file_and_says_why(big_gd):
    fs = gz.FeatureStore(big_gd)
    fs.gather([1])
    stats = fs.gather_stats()
    assert stats["reader"] == "mmap"
    assert stats["reason"].startswith("big.gd: mmap: 10.2 MB, ")
    assert stats["reason"].endswith(" available")


@pytest.mark.no_asan
@pytest.mark.no_tsan
@posix_only(reason=NO_DROPPING)
def test_auto_reads_a_file_larger_than_its_memory_from_the_device(tmp_path):
    gz.write_features("big.gd", random_rows(1_000_000, 512))
    os.system("sync")
    descriptor = os.open("big.gd", os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    code = """
import json, numpy as np, graphzero as gz
ids = np.random.default_rng(1).integers(0, 1_000_000, 3_000)
fs = gz.FeatureStore("big.gd")
rows = fs.gather(ids)
assert np.array_equal(rows, fs.gather(ids, reader="mmap"))
fs = gz.FeatureStore("big.gd")
fs.gather(ids[:1])
print(json.dumps(fs.gather_stats()))
"""
    done = subprocess.run(limited_to(400 << 20, [sys.executable, "-c", code]), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    stats = json.loads(done.stdout.splitlines()[-1])
    assert stats["reader"] == "direct", stats["reason"]
    assert stats["reason"].startswith("big.gd: direct: 512.0 MB, ")


@posix_only(reason=NO_DEVICES)
@pytest.mark.parametrize("reader", ["direct", "pread"])
def test_a_file_in_memory_is_mapped_with_a_reason(reader):
    path = f"/dev/shm/graphzero-test-{os.getpid()}.gd"
    rows = random_rows(100, 100)
    gz.write_features(path, rows)
    try:
        fs = gz.FeatureStore(path)
        assert np.array_equal(fs.gather([99, 0, 5], reader=reader), rows[[99, 0, 5]])
        stats = fs.gather_stats()
        assert stats["reader"] == "mmap"
        assert stats["reason"] == (
            f"{path}: mmap: asked for; no {reader} reader: the file cannot be read past the page cache: "
            "it lies in memory (tmpfs)"
        )
    finally:
        os.unlink(path)


@posix_only(reason=NO_REPLACING)
def test_an_unlinked_file_is_still_the_one_that_is_read(big_gd):
    fs = gz.FeatureStore(big_gd)
    expected = np.array(fs.get_tensor()[[5, 19_999]])
    os.unlink(big_gd)
    gz.write_features(big_gd, np.zeros((20_000, 512), np.uint8))
    for reader in READERS:
        assert np.array_equal(fs.gather([5, 19_999], reader=reader), expected)


@posix_only(reason=NO_CUT)
@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_shrank_is_an_error_that_names_it(big_gd, reader):
    fs = gz.FeatureStore(big_gd)
    fs.gather([1], reader=reader)
    os.truncate(big_gd, 8192)
    with pytest.raises(OSError, match="the file shrank .*: expected 10244096 bytes, found 8192.*'big.gd'"):
        fs.gather([19_999], reader=reader)


def test_many_threads_share_a_store(big_gd):
    from concurrent.futures import ThreadPoolExecutor

    fs = gz.FeatureStore(big_gd)
    tensor = fs.get_tensor()

    def task(i):
        ids = np.random.default_rng(i).integers(0, 20_000, 500)
        return np.array_equal(fs.gather(ids, reader=READERS[i % 3]), tensor[ids])

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(task, range(36)))
    assert fs.gather_stats()["rows"] == 36 * 500


@posix_only(reason=NO_FORK)
@pytest.mark.no_tsan
def test_a_forked_child_gathers_with_the_stores_of_its_parent(big_gd):
    stats = run("""
    import json, os, numpy as np, graphzero as gz
    fs = gz.FeatureStore("big.gd")
    ids = np.arange(0, 20_000, 7)
    for reader in ("mmap", "direct", "pread"): fs.gather(ids, reader=reader)
    pid = os.fork()
    if pid == 0:
        right = all(np.array_equal(fs.gather(ids, reader=r), fs.get_tensor()[ids]) for r in ("mmap", "direct", "pread"))
        os._exit(0 if right else 1)
    print(json.dumps(os.waitpid(pid, 0)[1]))
    """)
    assert stats == 0


@posix_only(reason=NO_CALLS)
def test_without_leave_to_set_up_a_ring_threads_read(big_gd):
    stats = run(DENY_RING.format(first=425, last=427) + COMPARE)["direct"]
    assert stats["reader"] == "pread"
    assert stats["reason"] == (
        "big.gd: pread: asked for; no direct reader: io_uring cannot set up a ring: Operation not permitted"
    )


@posix_only(reason=NO_CALLS)
def test_a_ring_that_may_not_be_used_is_done_without(big_gd):
    assert run(DENY_RING.format(first=426, last=426) + COMPARE)["direct"]["device_reads"] > 0


@posix_only(reason=NO_LIMITS)
def test_a_low_limit_on_locked_memory_is_no_obstacle(big_gd):
    code = "import resource; resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))\n" + COMPARE
    assert run(code)["direct"]["rows"] == 3_000


@posix_only(reason=NO_LIMITS)
def test_a_process_out_of_descriptors_does_without_rings(big_gd):
    code = """
    import json, os, resource, numpy as np, graphzero as gz
    fs = gz.FeatureStore("big.gd")
    ids = np.arange(0, 20_000, 7)
    fs.gather(ids, reader="direct")
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used - 1, used - 1))
    expected = fs.get_tensor()[ids]
    print(json.dumps(bool(np.array_equal(fs.gather(ids, reader="direct"), expected))))
    """
    assert run(code) is True


@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_a_device_error_names_file_and_byte(big_gd, shim):
    message = run(
        """
    import json, graphzero as gz
    fs = gz.FeatureStore("big.gd")
    fs.gather([100], reader="pread")
    try:
        fs.gather(range(0, 20_000, 32), reader="pread")
    except OSError as error:
        print(json.dumps([error.errno, error.filename, str(error)]))
    """,
        env=shim(f"pread:{4096 * 401}"),
    )
    assert message == [
        5,
        "big.gd",
        f"[Errno 5] cannot read 4096 bytes at byte {4096 * 401}: Input/output error: 'big.gd'",
    ]


@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_short_and_interrupted_reads_go_on(big_gd, shim):
    assert run(COMPARE, env=shim("short"))["pread"]["reader"] == "pread"


@pytest.mark.no_asan
@pytest.mark.no_tsan
@pytest.mark.parametrize("every", [1, 2, 5])
@pytest.mark.parametrize("code", [errno.EAGAIN, errno.EBUSY, errno.ENOMEM])
def test_a_ring_that_is_refused_now_and_then_brings_the_same_rows(big_gd, shim, code, every):
    assert run(COMPARE, env=shim(f"enter:{code}:{every}"))["direct"]["reader"] == "direct"


@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_an_interrupted_wait_goes_on(big_gd, shim):
    assert run(COMPARE, env=shim(f"enter:{errno.EINTR}:2"))["direct"]["reader"] == "direct"


@posix_only(reason=NO_DESCRIPTORS)
@pytest.mark.no_asan
@pytest.mark.no_tsan
@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("reader", ["direct", "pread"])
def test_ctrl_c_ends_a_gather_and_leaves_nothing_behind(big_gd, shim, reader, threads):
    # 1,250 reads that nothing joins: left alone they take several seconds.
    code = f"""
import os, time, numpy as np, graphzero as gz
gz.set_num_threads({threads})
fs = gz.FeatureStore("big.gd")
ids = np.arange(0, 20_000, 16)
out = np.zeros((len(ids), 512), np.uint8)
files = lambda: sorted(os.listdir("/proc/self/fd"))
fs.gather([0], reader={reader!r})
before = files()
try:
    print("ready", flush=True)  # inside: a busy machine may be slow to go on
    fs.gather(ids, out=out, reader={reader!r})
except KeyboardInterrupt:
    print("interrupted", flush=True)
right = np.all(out == fs.get_tensor()[ids], axis=1)
print(bool(right.all()), files() == before, flush=True)
time.sleep(0.5)
print(int(np.all(out == fs.get_tensor()[ids], axis=1).sum()) - int(right.sum()), flush=True)
print(np.array_equal(fs.gather([5, 9_999], reader={reader!r}), fs.get_tensor()[[5, 9_999]]), flush=True)
"""
    env = {**os.environ, **shim("slow"), "GRAPHZERO_READ_GAP": "0"}
    process = start([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=env)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        interrupt(process)
        assert process.stdout.readline() == "interrupted\n"
        assert process.stdout.readline() == "False True\n"  # cut short, no descriptor left
        assert process.stdout.readline() == "0\n"  # nobody went on writing
        assert process.communicate(timeout=30)[0] == "True\n"
        assert process.returncode == 0
    finally:
        process.kill()


def test_a_new_array_has_the_memory_of_one_that_was_dropped(tmp_path):
    """72 MB: more than is kept for samples. Fresh pages would take longer than the copy."""
    gz.write_features(tmp_path / "x.gd", np.arange(4096, dtype=np.float32).reshape(4, 1024))
    with gz.FeatureStore(tmp_path / "x.gd") as store:
        ids = np.arange(18_000) % 4
        first = store.gather(ids)
        address = first.ctypes.data
        del first
        second = store.gather(ids[:17_990])
        assert second.ctypes.data == address
        third = store.gather(ids)
        assert third.ctypes.data != address
        assert (second[-1] == third[17_989]).all()
        assert np.array_equal(third[:4].ravel(), np.arange(4096))

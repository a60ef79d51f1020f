"""Mounted features: views, dtypes, copy-on-write, and what bad arrays are told."""

import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import graphzero as gz
from optional_torch import needs_torch, torch
from systems import NO_BYTES, NO_LIMITS, NO_USAGE, killed, posix_only, resource

DTYPES = ["float64", "float32", "float16", "int8", "int16", "int32", "int64", "uint8", "bool"]


# test_gd_format.py meets shapes with sizes of items.
@needs_torch
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [(dtype, (5, 3)) for dtype in DTYPES]
    + [("float32", shape) for shape in [(5,), (2, 3, 4), (0,), (0, 7), (3, 0), (1, 1, 1, 1, 2)]],
)
def test_any_dtype_and_shape_comes_back(tmp_path, dtype, shape):
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    gz.write_features("x.gd", array)
    fs = gz.FeatureStore("x.gd", verify="full")
    tensor = fs.get_tensor()
    assert (fs.shape, fs.dtype) == (shape, dtype)
    assert tensor.dtype == array.dtype
    assert np.array_equal(tensor, array)
    assert np.array_equal(torch.from_numpy(tensor).numpy(), array)
    assert fs.feature_dim == int(np.prod(shape[1:]))
    assert fs.row_bytes == fs.feature_dim * array.itemsize


@needs_torch
def test_bfloat16_crosses_as_bits_and_as_torch(tmp_path):
    tensor = torch.randn(6, 4).to(torch.bfloat16)
    gz.write_features("b.gd", tensor)
    fs = gz.FeatureStore("b.gd")
    assert fs.dtype == "bfloat16"
    assert fs.as_torch().dtype == torch.bfloat16
    assert torch.equal(fs.as_torch(), tensor)
    assert fs.get_tensor().dtype == np.uint16
    gz.write_features("c.gd", fs.get_tensor(), dtype="bfloat16")
    assert torch.equal(gz.FeatureStore("c.gd").as_torch(), tensor)


@needs_torch
def test_floats_are_rounded_to_bfloat16_as_torch_rounds(tmp_path):
    rng = np.random.default_rng(0)
    floats = rng.integers(0, 2**32, 100_000, dtype=np.uint32).view(np.float32)
    floats[:4] = [np.inf, -np.inf, 3.3895314e38, 0.0]
    with np.errstate(invalid="ignore"):
        gz.write_features("b.gd", floats, dtype="bfloat16")
    ours, theirs = gz.FeatureStore("b.gd").as_torch(), torch.from_numpy(floats).to(torch.bfloat16)
    assert torch.equal(ours.isnan(), theirs.isnan())
    assert torch.equal(ours[~ours.isnan()], theirs[~theirs.isnan()])


@needs_torch
def test_numpy_and_torch_see_the_mapping_itself(tiny_gd):
    fs = gz.FeatureStore(tiny_gd)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tensor = torch.from_numpy(fs.get_tensor())
    ranges = mappings_of(tiny_gd)
    assert any(begin <= tensor.data_ptr() < end for begin, end in ranges)
    assert np.asarray(fs).__array_interface__["data"][0] == tensor.data_ptr()


def mappings_of(path):
    with open("/proc/self/maps", errors="replace") as maps:
        lines = [line for line in maps if line.rstrip().endswith(path)]
    return [tuple(int(part, 16) for part in line.split()[0].split("-")) for line in lines]


@needs_torch
def test_a_write_stays_in_the_process_and_out_of_the_engine(tiny_gd):
    fs = gz.FeatureStore(tiny_gd)
    tensor = torch.from_numpy(fs.get_tensor())
    tensor[1] = 99
    assert fs.get_tensor()[1].tolist() == [99, 99, 99]  # all tensors of the store see it
    assert fs.get_data(1).tolist() == [3, 4, 5]  # the engine does not
    assert fs.get_tensor(writable=False)[1].tolist() == [3, 4, 5]
    assert gz.FeatureStore(tiny_gd, verify="full").get_tensor()[1].tolist() == [3, 4, 5]


def test_the_guarded_view_refuses_writes(tiny_gd):
    view = gz.FeatureStore(tiny_gd).get_tensor(writable=False)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


@posix_only(reason=NO_LIMITS)
@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_the_guarded_view_is_the_fallback_where_the_kernel_refuses(tmp_path):
    gz.write_features("x.gd", np.zeros((1 << 20, 16), dtype=np.float32))
    code = """
import resource, graphzero as gz
gz.FeatureStore   # what it needs is loaded before there is a limit
resource.setrlimit(resource.RLIMIT_DATA, (32 << 20, 32 << 20))   # below the 64 MB of the file
tensor = gz.FeatureStore("x.gd").get_tensor()
assert tensor.shape == (1 << 20, 16)
assert not tensor.flags.writeable
assert tensor[12345].sum() == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@needs_torch
def test_tensors_outlive_del_and_close(tiny_gd):
    fs = gz.FeatureStore(tiny_gd)
    views = [fs.get_tensor(), fs.get_tensor(writable=False), torch.from_numpy(fs.get_tensor())]
    fs.close()
    del fs
    assert all(view[3].tolist() == [9, 10, 11] for view in views)
    for use in (lambda fs: fs.shape, lambda fs: fs.get_tensor(), lambda fs: fs.get_data(0), len):
        with gz.FeatureStore(tiny_gd) as closed:
            pass
        with pytest.raises(ValueError, match="tiny.gd: this FeatureStore is closed"):
            use(closed)


@posix_only(reason=NO_USAGE)
def test_the_mapping_goes_with_its_last_view(tiny_gd):
    fs = gz.FeatureStore(tiny_gd)
    tensor = fs.get_tensor()
    fs.close()
    assert len(mappings_of(tiny_gd)) == 1
    del tensor
    assert mappings_of(tiny_gd) == []


def test_rows_are_copied_out_one_at_a_time(tiny_gd):
    fs = gz.FeatureStore(filename=tiny_gd)
    row = fs.get_data(node_id=2)
    assert (row.tolist(), row.dtype) == ([6, 7, 8], np.float32)
    row[0] = 5
    assert fs.get_data(2).tolist() == [6, 7, 8]
    assert (fs.num_nodes, fs.feature_dim, len(fs), fs.num_rows) == (4, 3, 4, 4)
    for bad in (-1, 4, 2**62):
        with pytest.raises(IndexError, match=rf"row {bad} is not in .*tiny.gd, which has 4 rows \(0 to 3\)"):
            fs.get_data(bad)
    with pytest.raises(TypeError, match="node_id: expected an integer, found 1.0"):
        fs.get_data(1.0)


def test_rows_have_the_trailing_shape(tmp_path):
    gz.write_features("x.gd", np.arange(24).reshape(2, 3, 4))
    assert gz.FeatureStore("x.gd").get_data(1).tolist() == np.arange(12, 24).reshape(3, 4).tolist()
    gz.write_features("y.gd", np.array([7, 8]))
    assert gz.FeatureStore("y.gd").get_data(1).tolist() == [8]


def test_array_protocol(tiny_gd):
    fs = gz.FeatureStore(tiny_gd)
    assert np.array(fs, dtype=np.float64).dtype == np.float64
    copied = np.array(fs)
    copied[0] = -1
    assert fs.get_tensor()[0].tolist() == [0, 1, 2]
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(ValueError, match="float32 cannot become float64 without a copy"):
            np.asarray(fs, dtype=np.float64, copy=False)


def test_access_is_a_hint_with_three_values(tiny_gd):
    fs = gz.FeatureStore(tiny_gd)
    for access in ("random", "sequential", "normal"):
        assert fs.get_tensor(access=access).sum() == 66
    with pytest.raises(ValueError, match="access: expected 'random', 'sequential' or 'normal', found 'fast'"):
        fs.get_tensor(access="fast")


def test_pickle_reopens_and_refuses_a_changed_file(tiny_gd):
    data = pickle.dumps(gz.FeatureStore(tiny_gd))
    assert len(data) < 1000
    assert pickle.loads(data).get_data(0).tolist() == [0, 1, 2]
    gz.write_features(tiny_gd, np.zeros((4, 3), dtype=np.float32))
    with pytest.raises(gz.FormatError, match="tiny.gd: the file changed since it was pickled"):
        pickle.loads(data)


def test_repr_tells_what_it_is(tiny_gd, tmp_path):
    assert repr(gz.FeatureStore(tiny_gd)) == f"FeatureStore({tiny_gd!r}: 4 rows of 3 float32, 8.2 kB)"
    gz.write_features("y.gd", [1, 2])
    assert repr(gz.FeatureStore("y.gd")) == "FeatureStore('y.gd': 2 rows of int64, 8.2 kB)"


@needs_torch
@pytest.mark.parametrize(
    "source",
    [
        np.arange(12.0).reshape(3, 4).T,
        np.arange(24.0).reshape(4, 6)[:, ::2],
        np.arange(12.0, dtype=">f8").reshape(4, 3),
        [[0.0, 1.0], [2.0, 3.0]],
        pytest.param(torch and torch.arange(12.0).reshape(4, 3).requires_grad_(), marks=needs_torch),
    ],
    ids=["transposed", "strided", "big-endian", "list", "tensor"],
)
def test_any_layout_is_written_in_order(tmp_path, source):
    gz.write_features("x.gd", source)
    expected = source.detach().numpy() if hasattr(source, "detach") else np.asarray(source)
    assert np.array_equal(gz.FeatureStore("x.gd").get_tensor(), expected)


@posix_only(reason=NO_LIMITS)
@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_a_mapped_array_is_written_in_blocks(tmp_path):
    rows = 1 << 18
    source = np.lib.format.open_memmap("x.npy", mode="w+", dtype=np.float64, shape=(rows, 64))  # 134 MB
    source[::1000, 0] = np.arange(len(source[::1000]))
    source.flush()
    code = """
import resource, numpy as np, graphzero as gz
resource.setrlimit(resource.RLIMIT_DATA, (120 << 20, 120 << 20))
gz.write_features("x.gd", np.load("x.npy", mmap_mode="r"), dtype="float16")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert np.array_equal(gz.FeatureStore("x.gd").get_tensor()[::1000, 0], np.arange(263).astype(np.float16))


@pytest.mark.parametrize(
    ("array", "dtype", "error", "message"),
    [
        ([[1], [2, 3]], None, ValueError, "array: expected a regular array, found rows of different lengths"),
        (3.0, None, ValueError, "array: expected at least one dimension, found a scalar"),
        ([1j], None, TypeError, "dtype: expected one of bfloat16, bool, .*, found complex128"),
        (np.zeros(2, np.uint16), None, TypeError, "dtype: expected one of .*, found uint16"),
        (["a"], None, TypeError, "dtype: expected one of .*, found <U1"),
        ([1.5], "int32", TypeError, "array: float64 cannot be stored as int32; convert it first"),
        ([1], "bfloat16", TypeError, "array: int64 cannot be stored as bfloat16; convert it to float32 first"),
        ([[0, 1], [2, 300]], "int8", ValueError, r"array\[1, 1\]: 300 does not fit int8"),
        ([1, -1], "uint8", TypeError, "int64 cannot be stored as uint8"),
        ([1], "decimal", TypeError, "dtype: expected one of .*, found decimal"),
        ([1], 99, ValueError, "dtype: expected 0 to 9, found 99"),
        (np.zeros((1,) * 17), None, ValueError, "a feature array has 1 to 16 dimensions, found 17"),
    ],
)
def test_bad_arrays_are_named_and_leave_the_target_alone(tmp_path, array, dtype, error, message):
    target = tmp_path / "x.gd"
    target.write_bytes(b"precious")
    with pytest.raises(error, match=message):
        gz.write_features(target, array, dtype=dtype)
    assert target.read_bytes() == b"precious"
    assert [path.name for path in tmp_path.iterdir()] == ["x.gd"]


@needs_torch
def test_dtypes_go_by_many_names(tmp_path):
    for name in ("float16", np.float16, np.dtype("float16"), torch.float16, gz.DataType.FLOAT16, 4):
        gz.write_features("x.gd", [1.0], dtype=name)
        assert gz.FeatureStore("x.gd").data_type is gz.DataType.FLOAT16
    assert (gz.INT32.value, gz.INT64.value, gz.FLOAT32.value, gz.FLOAT64.value) == (0, 1, 2, 3)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cannot create.*no\W+x\.gd"):
        gz.write_features(tmp_path / "no" / "x.gd", [1.0])
    with pytest.raises(IsADirectoryError, match="is a directory, expected a file to write"):
        gz.write_features(tmp_path, [1.0])


@posix_only(reason=NO_LIMITS)
def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path):
    code = """
import resource, signal, errno, numpy as np, graphzero as gz
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    gz.write_features("x.gd", np.zeros(1 << 20))
except OSError as error:
    assert error.errno == errno.EFBIG, error
    assert error.filename == "x.gd"
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    code = """
import os, numpy as np, graphzero._core as core
writer = core.GdWriter(b"x.gd", core.DataType.UINT8, [1 << 20])
writer.append(np.zeros(1 << 19, np.uint8))
os.kill(os.getpid(), 9)
"""
    assert killed(subprocess.run([sys.executable, "-c", code], check=False).returncode)
    left = [path.name for path in tmp_path.iterdir()]
    assert len(left) == 1
    assert left[0].startswith(".x.gd.")
    gz.write_features("other.gd", [1.0])  # another target: not its business
    assert left[0] in [path.name for path in tmp_path.iterdir()]
    gz.write_features("x.gd", [1.0])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.gd", "x.gd"]


def test_a_writer_at_work_is_left_alone(tmp_path):
    from graphzero import _core

    slow = _core.GdWriter(b"x.gd", _core.DataType.UINT8, [4])
    gz.write_features("x.gd", [1.0])
    slow.append(np.arange(4, dtype=np.uint8))
    slow.finish()
    assert gz.FeatureStore("x.gd").get_tensor().tolist() == [0, 1, 2, 3]


@posix_only(reason=NO_BYTES)
def test_a_path_may_hold_any_bytes(tmp_path):
    name = os.fsdecode(b"caf\xe9.gd")  # latin-1, not UTF-8
    gz.write_features(name, [1.0])
    fs = gz.FeatureStore(name)
    assert fs.get_tensor().tolist() == [1.0]
    assert all(check.holds for check in gz.verify(name))
    with pytest.raises(IndexError, match=name):
        fs.get_data(9)
    with pytest.raises(gz.FormatError, match=name):
        gz.Graph(name)
    os.remove(name)
    with pytest.raises(FileNotFoundError) as caught:
        gz.FeatureStore(name)
    assert caught.value.filename == name
    with pytest.raises(ValueError, match="path: expected no NUL byte"):
        gz.FeatureStore("x.gd\0y")


def test_open_files_have_ordinary_permissions(tmp_path):
    gz.write_features("x.gd", [1.0])
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "x.gd").stat().st_mode == (tmp_path / "plain").stat().st_mode


@posix_only(reason=NO_LIMITS)
def test_the_descriptor_limit_is_an_ordinary_error(tiny_gd):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    code = f"""
import resource, numpy, graphzero as gz
stores = []
resource.setrlimit(resource.RLIMIT_NOFILE, (64, {hard}))
try:
    while True:
        stores.append(gz.FeatureStore({tiny_gd!r}))
except OSError as error:
    assert "Too many open files" in str(error), error
"""
    subprocess.run([sys.executable, "-c", code], check=True)

"""Feature conversion: every source and every type against NumPy, and what bad input is told."""

import gzip
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphzero as gz
import oracle
from systems import NO_LIMITS, NO_REPLACING, killed, posix_only, resource

ROWS = np.random.default_rng(3).normal(size=(57, 5))


def stored(path="x.gd"):
    return gz.FeatureStore(path, verify="full").get_tensor()


def text(content, name="x.csv"):
    with open(name, "w", newline="", encoding="utf-8") as file:
        file.write(content)
    return name


def convert(content, **options):
    """The rows that a text converts to."""
    gz.convert_features(text(content), "x.gd", **{"dtype": "float64", **options})
    return stored().tolist()


# Arrays and files of arrays.


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        *(
            (dtype, (57, 5))
            for dtype in ["float64", "float32", "float16", "int8", "int16", "int32", "int64", "uint8", "bool"]
        ),
        *(("float32", shape) for shape in [(57,), (3, 4, 5), (0, 4), (4, 0)]),
    ],
)
def test_npy_files_and_arrays_keep_type_and_shape(dtype, shape):
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    np.save("x.npy", array)
    for source in ("x.npy", array, np.load("x.npy", mmap_mode="r")):
        report = gz.convert_features(source, "x.gd")
        assert (report.shape, report.dtype, report.loss) == (shape, dtype, None)
        np.testing.assert_array_equal(stored(), array)
        assert stored().dtype == array.dtype


@pytest.mark.parametrize(
    "array",
    [np.asfortranarray(ROWS), np.asfortranarray(np.arange(120).reshape(4, 5, 6)), ROWS.astype(">f8"), ROWS[::2, ::-1]],
    ids=["Fortran order", "Fortran order of three dimensions", "big-endian", "strided"],
)
def test_any_layout_of_an_array_comes_out_in_order(array):
    np.save("x.npy", array)
    for source in ("x.npy", array):
        gz.convert_features(source, "x.gd", memory="16MiB")
        np.testing.assert_array_equal(stored(), array)


def test_members_of_npz_are_found_stored_or_deflated():
    for save in (np.savez, np.savez_compressed):
        save("x.npz", node_feat=ROWS, other=np.arange(3))
        gz.convert_features("x.npz", "x.gd", key="node_feat")
        np.testing.assert_array_equal(stored(), ROWS)
    np.savez("one.npz", ROWS)
    gz.convert_features("one.npz", "x.gd")
    np.testing.assert_array_equal(stored(), ROWS)
    with pytest.raises(ValueError, match="x.npz: key: expected one of its arrays, node_feat, other, found None"):
        gz.convert_features("x.npz", "x.gd")


def test_raw_items_need_shape_and_type():
    ROWS.astype(np.float32).tofile("node_feat.npy")  # as IGB ships them
    for shape in ((57, 5), (-1, 5)):
        gz.convert_features("node_feat.npy", "x.gd", shape=shape, dtype="float32")
        np.testing.assert_array_equal(stored(), ROWS.astype(np.float32))
    gz.convert_features("node_feat.npy", "x.gd", shape=(57, 5), source_dtype="float32", dtype="float16")
    np.testing.assert_array_equal(stored(), ROWS.astype(np.float32).astype(np.float16))
    with pytest.raises(gz.FormatError, match=r"node_feat.npy: expected a NumPy header, .*pass shape=\(rows, columns\)"):
        gz.convert_features("node_feat.npy", "y.gd", dtype="float32")
    with pytest.raises(gz.FormatError, match=r"node_feat.npy: expected 1160 bytes .* shape \(58, 5\), found 1140"):
        gz.convert_features("node_feat.npy", "y.gd", shape=(58, 5), dtype="float32")


def test_gd_files_convert_to_other_types():
    gz.convert_features(ROWS, "a.gd", dtype="int8-quantised")
    values = stored("a.gd") * gz.FeatureStore("a.gd").scales[:, None]
    gz.convert_features("a.gd", "b.gd")
    np.testing.assert_array_equal(stored("b.gd"), values)
    gz.convert_features(gz.FeatureStore("b.gd"), "c.gd", dtype="bfloat16")
    gz.convert_features("c.gd", "d.gd", dtype="float32")
    np.testing.assert_allclose(stored("d.gd"), values, rtol=2**-8)


def test_torch_tensors_and_their_files():
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(ROWS)
    torch.save(tensor, "x.pt")
    torch.save({"feat": tensor, "label": torch.arange(57)}, "dict.pt")
    for source, key in ((tensor.requires_grad_(), None), ("x.pt", None), ("dict.pt", "feat")):
        gz.convert_features(source, "x.gd", key=key)
        np.testing.assert_array_equal(stored(), ROWS)
    with pytest.raises(ValueError, match="dict.pt: key: expected one of feat, label, found None"):
        gz.convert_features("dict.pt", "x.gd")
    half = tensor.detach().to(torch.bfloat16)
    gz.convert_features(half, "x.gd")
    assert torch.equal(gz.FeatureStore("x.gd").as_torch(), half)
    gz.convert_features(half, "x.gd", dtype="float32")
    np.testing.assert_array_equal(stored(), half.float().numpy())


def test_a_pickle_that_runs_code_is_not_loaded():
    torch = pytest.importorskip("torch")

    class Evil:
        def __reduce__(self):
            return os.mkdir, ("evil",)

    torch.save(Evil(), "x.pt")
    with pytest.raises(gz.FormatError, match="x.pt: expected tensors and plain values"):
        gz.convert_features("x.pt", "x.gd")
    assert os.listdir() == ["x.pt"]


def test_sparse_matrices_are_made_dense_by_blocks():
    scipy = pytest.importorskip("scipy.sparse")
    dense = np.where(ROWS > 1, ROWS, 0)
    for make in (scipy.csr_matrix, scipy.csc_array, scipy.coo_matrix):
        gz.convert_features(make(dense), "x.gd", dtype="float32")
        np.testing.assert_array_equal(stored(), dense.astype(np.float32))


def test_blocks_of_an_iterable_are_joined():
    report = gz.convert_features(
        (ROWS[i : i + 10] for i in range(0, 57, 10)), "x.gd", progress=lambda done, total: None
    )
    np.testing.assert_array_equal(stored(), ROWS)
    assert report.bytes_in == ROWS.nbytes
    with pytest.raises(ValueError, match=r"source: block 1: expected rows of float64 \(5,\) .* found float64 \(4,\)"):
        gz.convert_features(iter([ROWS, ROWS[:, :4]]), "x.gd")
    with pytest.raises(gz.FormatError, match="source: expected 58 rows, found 57"):
        gz.convert_features(iter([ROWS]), "y.gd", num_rows=58)
    with pytest.raises(ValueError, match="source: expected at least one block"):
        gz.convert_features(iter([]), "y.gd")
    assert not os.path.exists("y.gd")


def test_tables_give_columns_lists_and_ids():
    pa = pytest.importorskip("pyarrow", "15")
    import pyarrow.feather
    import pyarrow.parquet

    order = np.random.default_rng(0).permutation(57)
    lists = pa.FixedSizeListArray.from_arrays(ROWS.reshape(-1), 5)
    table = pa.table({"id": order, "a": ROWS[:, 0], "b": ROWS[:, 1], "v": lists, "w": pa.array(ROWS.tolist())})
    pyarrow.parquet.write_table(table, "x.parquet", row_group_size=20)
    pyarrow.feather.write_feather(table, "x.feather")
    for source in (table, "x.parquet", "x.feather", table.to_reader(max_chunksize=7)):
        gz.convert_features(source, "x.gd", columns=["b", "a"], dtype="float32")
        np.testing.assert_array_equal(stored(), ROWS[:, [1, 0]].astype(np.float32))
    for source in (table, "x.parquet", "x.feather", table.to_reader(max_chunksize=7)):
        gz.convert_features(source, "x.gd", columns="v", id_column="id")
        np.testing.assert_array_equal(stored()[order], ROWS)
    gz.convert_features("x.parquet", "x.gd", columns="w")
    np.testing.assert_array_equal(stored(), ROWS)
    gz.convert_features("x.parquet", "x.gd", columns="id")
    np.testing.assert_array_equal(stored(), order)
    with pytest.raises(ValueError, match="x.parquet: columns: expected one of id, a, b, v, w, found 'z'"):
        gz.convert_features("x.parquet", "x.gd", columns="z")
    holes = pa.table({"a": [1.0, None, 3.0]})
    with pytest.raises(gz.FormatError, match="Table: row 1: column 'a': expected a number, found null"):
        gz.convert_features(holes, "x.gd")
    with pytest.raises(gz.FormatError, match="Table: row 2: id 1 was there before"):
        gz.convert_features(pa.table({"id": [1, 0, 1], "a": [1, 2, 3]}), "x.gd", id_column="id")


@pytest.mark.no_tsan  # polars' own allocator does not bear it
def test_data_frames_come_as_streams():
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    gz.convert_features(polars.DataFrame(ROWS), "x.gd")
    np.testing.assert_array_equal(stored(), ROWS)


def test_columns_of_a_matrix_are_chosen_by_position():
    gz.convert_features(ROWS, "x.gd", columns=[4, 0])
    np.testing.assert_array_equal(stored(), ROWS[:, [4, 0]])
    gz.convert_features(ROWS, "x.gd", columns=2)
    np.testing.assert_array_equal(stored(), ROWS[:, 2])


# Types.


def test_rounding_to_smaller_floats_is_numpys_and_its_loss_is_told():
    for dtype in ("float32", "float16"):
        report = gz.convert_features(ROWS, "x.gd", dtype=dtype)
        error = np.abs(ROWS.astype(dtype).astype(np.float64) - ROWS)
        np.testing.assert_array_equal(stored(), ROWS.astype(dtype))
        assert report.loss.max_error == error.max()
        assert report.loss.rms_error == pytest.approx(np.sqrt((error**2).mean()))
        assert (report.minimum, report.maximum) == (ROWS.min(), ROWS.max())


def test_numbers_that_become_infinite_are_counted():
    report = gz.convert_features([[1e5, -1e6, 1.0, np.inf, np.nan]], "x.gd", dtype="float16")
    assert (report.loss.overflows, report.loss.max_error) == (2, 0.0)
    assert "2 became infinite" in str(report)


def test_bfloat16_is_rounded_once_from_float64():
    torch = pytest.importorskip("torch")
    # Just above a tie between two bfloat16; rounded to float32 first, it is the tie.
    numbers = np.array([1 + 2**-8 + 2**-40, 1 + 2**-8 - 2**-40, 1 + 2**-8, -1 - 2**-8 - 2**-40, 3.14, 1e300, np.nan])
    gz.convert_features(numbers, "x.gd", dtype="bfloat16")
    found = gz.FeatureStore("x.gd").as_torch().double().tolist()
    assert found[:6] == [1 + 2**-7, 1.0, 1.0, -1 - 2**-7, 3.140625, np.inf]
    assert np.isnan(found[6])
    floats = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    gz.convert_features(floats, "x.gd", dtype="bfloat16")
    assert torch.equal(gz.FeatureStore("x.gd").as_torch(), torch.from_numpy(floats).to(torch.bfloat16))


@pytest.mark.parametrize("source", ["float32", "float64"])
def test_every_float16_and_the_middle_between_two_are_rounded_as_numpy_does(source):
    halves = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float64)
    halves = halves[np.isfinite(halves)]
    middles = (halves[:-1] + halves[1:]) / 2
    near = [np.nextafter(middles, -np.inf), np.nextafter(middles, np.inf)]
    numbers = np.concatenate([halves, middles, *near, [65519.99, 65520, -65520, np.inf, np.nan]]).astype(source)
    gz.convert_features(numbers, "x.gd", dtype="float16")
    with np.errstate(over="ignore"):
        expected = numbers.astype(np.float16)
    np.testing.assert_array_equal(stored(), expected)
    np.testing.assert_array_equal(np.signbit(stored()), np.signbit(expected))


def test_the_loss_is_the_same_for_any_number_of_threads():
    numbers = np.random.default_rng(0).normal(size=(1 << 13, 64))
    found = set()
    for threads in (1, 2, 5):
        gz.set_num_threads(threads)
        for dtype in ("float16", "int8-quantised"):
            report = gz.convert_features(numbers, f"{dtype}.gd", dtype=dtype)
            found.add((dtype, report.loss, gz.FeatureStore(f"{dtype}.gd").fingerprint))
    gz.set_num_threads(0)
    assert len(found) == 2


def test_bits_of_bfloat16_pass_and_integers_are_rounded():
    bits = np.array([[0x3F80, 0x4049], [0x7F80, 0xC000]], np.uint16)
    np.save("x.npy", bits)
    for source in (bits, "x.npy"):
        gz.convert_features(source, "x.gd", dtype="bfloat16")
        np.testing.assert_array_equal(stored(), bits)
    report = gz.convert_features(np.array([257, 2]), "x.gd", dtype="bfloat16")
    assert stored().tolist() == [0x4380, 0x4000]
    assert report.loss.max_error == 1


@pytest.mark.parametrize("source", ["int64", "uint64", ">i8"])
@pytest.mark.parametrize(("dtype", "digits"), [("float32", 24), ("bfloat16", 8)])
def test_wide_integers_are_rounded_once(source, dtype, digits):
    low, high = np.iinfo(source).min, np.iinfo(source).max
    # A number beside a tie is the tie as float64, which has 53 digits.
    middles = [(1 << bits) + odd * (1 << (bits - digits)) for bits in range(40, 64) for odd in (1, 3, 2**digits - 1)]
    near = [middle + step for middle in middles for step in (-4097, -4096, -1025, -1, 0, 1, 513, 4096, 4097)]
    drawn = np.random.default_rng(0).integers(low, high, 2000, dtype=np.dtype(source).newbyteorder("=")).tolist()
    numbers = [number for number in [*near, *(-n for n in near), *drawn, low, high, 0, 1] if low <= number <= high]
    report = gz.convert_features(np.array(numbers, source), "x.gd", dtype=dtype)
    found = stored()
    if dtype == "bfloat16":
        found = (found.astype(np.uint32) << 16).view(np.float32)
    expected = [oracle.rounded_integer(number, digits) for number in numbers]
    assert [int(number) for number in found] == expected
    errors = [abs(before - after) for before, after in zip(numbers, expected, strict=True)]
    assert report.loss.max_error == pytest.approx(max(errors), rel=1e-6)


@pytest.mark.parametrize(
    ("array", "dtype", "message"),
    [
        (np.array([[0, 1], [2, 300]]), "int8", "source: row 1: 300 does not fit int8"),
        (np.array([1, -1]), "uint8", "source: row 1: -1 does not fit uint8"),
        (np.array([0, 2**63], np.uint64), None, "source: row 1: 9223372036854775808 does not fit int64"),
        (np.array([1.0, 2.5]), "int64", "source: row 1: 2.5 does not fit int64"),
        (np.array([1.0, np.nan]), "int32", "source: row 1: nan does not fit int32"),
        (np.array([2.0**63]), "int64", r"source: row 0: 9.2\d+e\+18 does not fit int64"),
        (np.array([-np.inf], np.float16), "int64", "source: row 0: -inf does not fit int64"),
        (np.array([1, np.inf], np.float16), "int32", "source: row 1: inf does not fit int32"),
        (np.array([0, 1, 2]), "bool", "source: row 2: 2 does not fit bool"),
    ],
)
def test_numbers_that_do_not_fit_are_named(array, dtype, message):
    with pytest.raises(ValueError, match=message):
        gz.convert_features(array, "x.gd", dtype=dtype)
    assert os.listdir() == []


def test_integers_change_their_width():
    for source, dtype in (
        (np.uint16, None),
        (np.uint32, None),
        (np.int64, "int16"),
        (float, "int32"),
        (bool, "float32"),
    ):
        array = np.array([[0, 1], [1, 0]]).astype(source)
        report = gz.convert_features(array, "x.gd", dtype=dtype)
        assert stored().tolist() == [[0, 1], [1, 0]]
        assert report.loss is None
    assert gz.convert_features(np.array([1, 2], np.uint16), "x.gd").dtype == "int32"
    report = gz.convert_features(np.array([2**24 + 1]), "x.gd", dtype="float32")
    assert report.loss.max_error == 1


def test_a_quantised_row_is_off_by_half_a_step_at_most():
    rows = np.concatenate([ROWS * 10.0 ** np.arange(57)[:, None] / 1e28, np.zeros((1, 5)), np.full((1, 5), 3.4e38)])
    report = gz.convert_features(rows, "x.gd", dtype="int8-quantised")
    store = gz.FeatureStore("x.gd", verify="full")
    values = np.array([store.get_data(row) for row in range(store.num_rows)])
    assert (store.quantised, store.dtype, report.dtype) == (True, "int8", "int8-quantised")
    np.testing.assert_allclose(store.scales, np.abs(rows).max(axis=1) / 127, rtol=1e-6, atol=1e-45)
    assert np.isfinite(values).all()
    assert (np.abs(values - rows) <= store.scales[:, None] * 0.5001).all()
    assert report.loss.max_error == np.abs(values.astype(np.float64) - rows).max()
    assert stored().min() >= -127


def test_what_is_not_finite_cannot_be_quantised():
    for bad in (np.nan, np.inf, 1e39):
        with pytest.raises(ValueError, match="source: row 1: expected numbers that are finite in float32"):
            gz.convert_features([[1.0, 2.0], [bad, 0.0]], "x.gd", dtype="int8-quantised")
    gz.convert_features(np.zeros((0, 3)), "x.gd", dtype="int8-quantised")
    assert gz.FeatureStore("x.gd", verify="full").scales.shape == (0,)


def test_quantised_text_by_ids_keeps_each_scale_with_its_row():
    order = np.random.default_rng(0).permutation(57)
    np.savetxt("x.csv", np.column_stack([order, ROWS]), delimiter=",", fmt=["%d", *["%.17g"] * 5])
    gz.convert_features("x.csv", "x.gd", dtype="int8-quantised", id_column=0, num_rows=60)
    gz.convert_features(np.concatenate([ROWS[np.argsort(order)], np.zeros((3, 5))]), "y.gd", dtype="int8-quantised")
    assert Path("x.gd").read_bytes() == Path("y.gd").read_bytes()


# Text.


def fields(draw, number):
    """One number, as someone might write it."""
    sign = draw(st.sampled_from(["", "+"])) if number >= 0 and not str(number).startswith("-") else ""
    form = draw(st.sampled_from(["{!r}", "{:.17e}", "{:.17g}", "{:.17E}"]))
    written = sign + form.format(number)
    return draw(st.sampled_from(["{}", '"{}"'])).format(written)


@st.composite
def tables(draw):
    """Rows, and a text that says the same."""
    width = draw(st.integers(1, 5))
    number = st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(-(10**6), 10**6).map(float),
        st.decimals(-1000, 1000, places=4).map(float),
    )
    rows = draw(st.lists(st.lists(number, min_size=width, max_size=width), min_size=1, max_size=12))
    delimiter = draw(st.sampled_from([",", "\t", ";", " "]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    blanks = st.sampled_from(["", " ", "  "])
    lines = []
    if draw(st.booleans()):
        lines.append(delimiter.join(f"column{i}" for i in range(width)))
    for row in rows:
        lines += draw(st.lists(st.sampled_from(["", "  ", "# 1,2,3", "% note"]), max_size=1))
        written = [fields(draw, value) for value in row]
        if delimiter == " ":
            lines.append("".join(draw(blanks) + " " + field for field in written) + draw(blanks))
        else:
            lines.append(delimiter.join(draw(blanks) + field + draw(blanks) for field in written))
    content = draw(st.sampled_from(["", "\ufeff"])) + end.join(lines) + draw(st.sampled_from(["", end]))
    return rows, delimiter, content


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables(), st.sampled_from(["float64", "float32"]), st.sampled_from([None, 1, 3]))
def test_text_means_what_python_reads_in_it(table, dtype, threads):
    rows, delimiter, content = table
    known = delimiter if len(rows[0]) == 1 else None  # one column shows no delimiter
    with open("x.csv", "w", newline="", encoding="utf-8") as file:
        file.write(content)
    with np.errstate(over="ignore"):
        expected = np.array(rows).astype(dtype)
    if np.isinf(expected).any():
        with pytest.raises(gz.FormatError, match="x.csv: line .* expected a number that fits float32"):
            gz.convert_features("x.csv", "x.gd", dtype=dtype, delimiter=known, threads=threads)
        return
    gz.convert_features("x.csv", "x.gd", dtype=dtype, delimiter=known, threads=threads)
    np.testing.assert_array_equal(stored(), expected)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    # Below 2^126, so that cutting digits cannot lift a number out of float32's range.
    st.lists(st.floats(-(2.0**126), 2.0**126, width=32), min_size=1, max_size=20),
    st.integers(1, 20),
)
def test_float32_is_rounded_once_however_many_digits_there_are(numbers, digits):
    """Ties and near-ties of float32: decimals of the double between two neighbours."""
    written = []
    for number in numbers:
        middle = (np.float64(number) + np.float64(np.nextafter(np.float32(number), np.float32(0)))) / 2
        written.append(f"{middle:.{digits}f}" if abs(middle) < 1e6 else f"{middle:.{digits}e}")
    gz.convert_features(text("\n".join(written)), "x.gd", dtype="float32", delimiter=",", header=False)
    expected = [np.float32(field) for field in written]  # NumPy parses float32 through strtod: compare by exactness
    for field, found, twice in zip(written, stored()[:, 0], expected, strict=True):
        if found != twice:
            from fractions import Fraction

            exact = Fraction(field)
            assert abs(Fraction(float(found)) - exact) <= abs(Fraction(float(twice)) - exact)


def test_header_names_choose_columns():
    content = 'id,"the name",a,b\n0,"x, y",1,2\n1,"say ""hi""",3,4\n'
    assert convert(content, columns=["b", "a"], id_column="id") == [[2, 1], [4, 3]]
    assert convert(content, columns="a") == [1, 3]
    assert convert(content, columns=[0, 3]) == [[0, 2], [1, 4]]
    with pytest.raises(ValueError, match="x.csv: columns: expected one of id, the name, a, b, found 'z'"):
        convert(content, columns=["z"])
    assert convert("7,8\n1,2\n", header=True) == [[1, 2]]
    assert convert("1,2,3,4\n5,6,7,8\n", shape=(-1, 2, 2)) == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]


def test_lines_of_any_length_are_read_whole():
    wide = np.arange(60_000.0)
    np.savetxt("x.csv", [wide, -wide], delimiter=",", fmt="%.6f")  # over 600 kB a line
    gz.convert_features("x.csv", "x.gd", dtype="float32", memory="16MiB")
    np.testing.assert_array_equal(stored(), np.array([wide, -wide], np.float32))


def test_special_numbers_have_their_names():
    found = convert("nan,inf\n-inf,Infinity\nNaN,-INF\n1e-400,-0.0\n")
    np.testing.assert_array_equal(found, [[np.nan, np.inf], [-np.inf, np.inf], [np.nan, -np.inf], [0, 0]])
    assert convert("1e-50,1e-45\n", dtype="float32") == [[0, float(np.float32(1e-45))]]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_integers_are_parsed_as_integers(dtype):
    limits = np.iinfo(dtype)
    assert convert(f"{limits.min},{limits.max},+7\n1e1,2.0,0\n", dtype=dtype) == [
        [limits.min, limits.max, 7],
        [10, 2, 0],
    ]
    for wrong in (limits.min - 1, limits.max + 1):
        with pytest.raises(
            gz.FormatError, match=f"x.csv: line 2: column 1: expected an integer that fits {dtype}, found"
        ):
            convert(f"1\n{wrong}\n", dtype=dtype)


def test_bool_text():
    assert convert("0,1\ntrue,FALSE\n", dtype="bool") == [[False, True], [True, False]]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("1,2\n3,x\n", {}, "x.csv: line 2: column 2: expected a number, found 'x': 3,x"),
        ("1,2\n3,\n", {}, "x.csv: line 2: column 2: expected a number, found an empty field: 3,"),
        ("1,2,3\n1,,3\n", {}, "x.csv: line 2: column 2: expected a number, found an empty field: 1,,3"),
        ("1,2\n3\n", {}, "x.csv: line 2: expected 2 fields, found 1: 3"),
        ("# c\n\n1,2\n3,4,5\n", {}, "x.csv: line 4: expected 2 fields, found 3: 3,4,5"),
        ("1,2\n3,4,\n", {}, "x.csv: line 2: expected 2 fields, found 3: 3,4,"),
        ("1,2\r\n3,1e50\r\n", {"dtype": "float32"}, "line 2: column 2: expected a number that fits float32, found 1e50: 3,1e50$"),
        ("1,2\n3,1e999\n", {}, "line 2: column 2: expected a number that fits float64, found 1e999: 3,1e999"),
        ("1,2\n3,2.5\n", {"dtype": "int64"}, "x.csv: line 2: column 2: expected an integer, found '2.5': 3,2.5"),
        ("1,2\n3,0x10\n", {}, "x.csv: line 2: column 2: expected a number, found '0x10': 3,0x10"),
        ("1,2\n3,+-4\n", {}, "x.csv: line 2: column 2: expected a number, found '\\+-4': 3,\\+-4"),
        ("1,2\n3,1 2\n", {}, "x.csv: line 2: column 2: expected a number, found '1 2': 3,1 2"),
        ("1,2\n3,2\n", {"dtype": "bool"}, "x.csv: line 1: column 2: expected 0, 1, true or false, found '2': 1,2"),
        ("id,0\n1,2\n", {}, r"line 1: column 1: expected a number, found 'id': id,0 \(if .* pass header=True\)"),
        ("0,1\n-1,2\n", {"id_column": 0}, r"line 2: column 1: expected an id from 0 to 2\^59-1, found '-1': -1,2"),
        ("0,1\na,2\n", {"id_column": 0}, r"line 2: column 1: expected an id from 0 to 2\^59-1, found 'a': a,2"),
        (f"0,1\n{2**64 - 1},2\n", {"id_column": 0}, f"line 2: column 1: expected an id .* found '{2**64 - 1}'"),
        (f"0,1\n{2**62},2\n", {"id_column": 0}, f"line 2: column 1: expected an id .* found '{2**62}'"),
        (f"0,1\n{10**13},2\n", {"id_column": 0}, "line 2: expected ids for which there is room on the disk, found 10{13}, which makes a file of 80.0 TB: 10{13},2"),
        ("0,1\n9,2\n", {"id_column": 0, "num_rows": 4}, "x.csv: line 2: expected an id from 0 to 3, found 9: 9,2"),
        ("3,1\n", {"id_column": 0, "num_rows": 0}, "x.csv: line 1: expected no rows, found id 3: 3,1"),
        ("0,1\n1,2\n0,3\n", {"id_column": 0}, "x.csv: line 3: id 0 was there before: 0,3"),
        ("# nothing\n\n", {}, "x.csv: expected lines of numbers, found none"),
        ("", {}, "x.csv: expected lines of numbers, found none"),
        ("a,b\n", {}, "x.csv: expected lines of numbers, found none"),
        ("a,b\n1,2,3\n", {}, "x.csv: line 2: expected 2 fields as in the header, found 3"),
        ("1,2\n", {"num_rows": 2}, "x.csv: expected 2 rows, found 1"),
    ],
)  # fmt: skip
def test_bad_text_is_told_with_file_line_and_text(content, options, message):
    for threads in (1, 4):
        with pytest.raises(gz.FormatError, match=message):
            convert(content, threads=threads, **options)
        assert os.listdir() == ["x.csv"]


def test_bad_lines_can_be_skipped_and_are_told():
    gz.convert_features(text("0,1\n1,x\n\n0,7\n2\n3,4\n9,1\n"), "x.gd", dtype="int32", bad_lines="skip")
    report = gz.convert_features("x.csv", "x.gd", dtype="int32", id_column=0, num_rows=5, bad_lines="skip", threads=2)
    assert stored().tolist() == [[1], [0], [0], [4], [0]]
    assert [(bad.line, bad.text) for bad in report.first_bad_lines] == [(2, "1,x"), (4, "0,7"), (5, "2"), (7, "9,1")]
    assert report.first_bad_lines[0].reason == "column 2: expected an integer, found 'x'"
    assert report.first_bad_lines[1].reason == "id 0 was there before"
    assert (report.num_bad_lines, report.absent_rows) == (4, 3)


def test_texts_of_late_bad_lines_are_found_across_blocks_of_the_file():
    lines = [f"{i},0." + "1" * 50 for i in range(60_000)]  # 3 MB
    lines[30_000] = "7,second"
    lines[0::20_000] = ["20000,1", "20000,2", "20000,3"]
    content = "\n".join(lines)
    report = gz.convert_features(text(content), "x.gd", dtype="float32", id_column=0, bad_lines="skip")
    assert [(bad.line, bad.text) for bad in report.first_bad_lines] == [
        (20_001, "20000,2"),
        (30_001, "7,second"),
        (40_001, "20000,3"),
    ]
    assert stored()[20_000] == 1


@pytest.mark.parametrize("order", ["rising", "gaps", "late", "shuffled", "falling", "far apart"])
@pytest.mark.parametrize("memory", ["16MiB", "1GB"])
def test_rows_find_their_place_whatever_their_order(order, memory):
    rng = np.random.default_rng(4)
    count = 20_000
    ids = {
        "rising": np.arange(count),
        "gaps": np.sort(rng.choice(3 * count, count, replace=False)),
        "late": np.concatenate([np.sort(rng.choice(np.arange(1, 3 * count), count - 1, replace=False)), [0]]),
        "shuffled": rng.permutation(3 * count)[:count],
        "falling": np.arange(count)[::-1],
        "far apart": np.arange(count) * 50,
    }[order]
    rows = rng.integers(-1000, 1000, (count, 16))
    np.savetxt("x.csv", np.column_stack([ids, rows]), delimiter=",", fmt="%d")
    report = gz.convert_features("x.csv", "x.gd", dtype="int64", id_column=0, memory=memory)
    expected = np.zeros((ids.max() + 1, 16), np.int64)
    expected[ids] = rows
    np.testing.assert_array_equal(stored(), expected)
    assert report.absent_rows == ids.max() + 1 - count
    assert sorted(os.listdir()) == ["x.csv", "x.gd"]


def test_a_duplicate_of_a_row_that_was_written_long_ago_is_found():
    lines = [f"{i},{i}" for i in range(0, 60_000, 2)]
    for late, number in (("10,1", 30_001), ("59998,1", 30_001)):
        with pytest.raises(gz.FormatError, match=f"x.csv: line {number}: id {late[:-2]} was there before: {late}"):
            convert("\n".join([*lines, late]), id_column=0, memory="16MiB")
    assert convert("\n".join([*lines, "11,-1"]), id_column=0)[9:13] == [[0], [10], [-1], [12]]


def test_compressed_text_is_streamed():
    content = "".join(f"{i},{i / 7:.6f}\n" for i in range(200_000))
    with gzip.open("x.csv.gz", "wt") as file:
        file.write(content)
    gz.convert_features("x.csv.gz", "x.gd", dtype="float32", id_column=0)
    assert stored().shape == (200_000, 1)
    Path("cut.csv.gz").write_bytes(Path("x.csv.gz").read_bytes()[:-1000])
    with pytest.raises(OSError, match="cut.csv.gz: cannot be decompressed, it is damaged or cut short"):
        gz.convert_features("cut.csv.gz", "y.gd", dtype="float32")
    with pytest.raises(gz.FormatError, match="x.csv.gz: line 200001: .*: 7"):
        with gzip.open("x.csv.gz", "at") as file:
            file.write("7\n")
        gz.convert_features("x.csv.gz", "y.gd", dtype="float32", id_column=0)
    assert not os.path.exists("y.gd")


def test_zstd_text_where_there_is_a_module_for_it():
    pa = pytest.importorskip("pyarrow")
    with pa.output_stream("x.csv.zst", compression="zstd") as file:
        file.write(b"1,2\n3,4\n")
    gz.convert_features("x.csv.zst", "x.gd", dtype="float32")
    assert stored().tolist() == [[1, 2], [3, 4]]


# The classic call.


@pytest.mark.parametrize("dtype", [gz.INT32, gz.INT64, gz.FLOAT32, gz.FLOAT64])
def test_the_classic_call_takes_ids_first_and_leaves_absent_rows_zero(dtype):
    text("0,1,2,3\n2,4,5,6\n3,7,8,9\n")
    calls = [
        lambda: gz.convert_csv_to_gd("x.csv", "x.gd", dtype),
        lambda: gz.convert_csv_to_gd(csv_path="x.csv", out_path="x.gd", dtype=dtype),
        lambda: gz.convert_csv_to_gd(input_csv="x.csv", output_bin="x.gd", dtype=dtype),
        lambda: gz.convert_csv_to_gd("x.csv", "x.gd", dtype.value),
    ]
    for call in calls:
        assert call() is None
        store = gz.FeatureStore("x.gd", verify="full")
        assert (store.shape, store.data_type) == ((4, 3), dtype)
        assert store.get_tensor().tolist() == [[1, 2, 3], [0, 0, 0], [4, 5, 6], [7, 8, 9]]
        store.close()
        os.remove("x.gd")
    with pytest.raises(TypeError, match="dtype: expected an element type"):
        gz.convert_csv_to_gd("x.csv", "x.gd")
    with pytest.raises(TypeError, match="expected one csv_path and one out_path"):
        gz.convert_csv_to_gd("x.csv", dtype=dtype)


@pytest.mark.parametrize("dtype", [gz.INT32, gz.INT64, gz.FLOAT32, gz.FLOAT64])
@pytest.mark.parametrize(
    "content",
    ["node,a,b\n0,5,6\n1,7,8\n", "0, 5, 6\n1, 7, 8\n", "\ufeff0,5,6\r\n1,7,8", "1,+7,8\n\n0,5,6\n", '"0","5",6\n1,7,8\n'],
    ids=["header", "spaces", "BOM and CRLF", "out of order", "quotes"],
)  # fmt: skip
def test_the_classic_call_is_right_where_its_predecessor_was_not(content, dtype):
    gz.convert_csv_to_gd(text(content), "x.gd", dtype)
    assert stored().tolist() == [[5, 6], [7, 8]]


@pytest.mark.parametrize(
    ("content", "dtype", "line"),
    [
        ("0,1.5,,3\n", gz.FLOAT32, "line 1: .*: 0,1.5,,3"),
        ("0,1,2\n1,a,2\n", gz.FLOAT32, "line 2: .*: 1,a,2"),
        ("0,1e50\n", gz.FLOAT32, "line 1: .*: 0,1e50"),
        ("0,3000000000\n", gz.INT32, "line 1: .*: 0,3000000000"),
        ("0,1,2\n1,3\n", gz.FLOAT32, "line 2: .*: 1,3"),
        ("0,1,2\n1,3,4,5\n", gz.FLOAT32, "line 2: .*: 1,3,4,5"),
        ("0,1\n0,2\n", gz.FLOAT32, "line 2: .*: 0,2"),
        ("0,1\n-1,2\n", gz.FLOAT32, "line 2: .*: -1,2"),
        ("0,2.5\n", gz.INT64, "line 1: .*: 0,2.5"),
    ],
)
def test_what_the_predecessor_misread_is_an_error_of_the_classic_call(content, dtype, line):
    with pytest.raises(gz.FormatError, match=f"x.csv: {line}"):
        gz.convert_csv_to_gd(text(content), "x.gd", dtype)
    assert os.listdir() == ["x.csv"]


# What holds for every conversion.


def test_arguments_are_checked_before_anything_is_written():
    np.save("x.npy", ROWS)
    text("1,2\n")
    cases = [
        ({"source": "x.npy", "bad_lines": "warn"}, ValueError, "bad_lines: expected 'raise' or 'skip', found 'warn'"),
        ({"source": "x.npy", "memory": "lots"}, ValueError, "expected a size such as '2GB'"),
        ({"source": "x.npy", "memory": 10}, ValueError, "memory: expected at least 16.8 MB, found 10 B"),
        ({"source": "x.npy", "threads": 0}, ValueError, "threads: expected at least 1, found 0"),
        ({"source": "x.npy", "num_rows": 58}, gz.FormatError, "x.npy: expected 58 rows, found 57"),
        ({"source": "x.npy", "id_column": 0}, ValueError, "x.npy: id_column: expected a text file or a table"),
        ({"source": "x.npy", "shape": (57, 4)}, ValueError, r"shape: expected rows .* 5 items in all, found \(57, 4\)"),
        ({"source": "x.npy", "columns": [0, 0]}, ValueError, r"columns: expected each column once, found \[0, 0\]"),
        ({"source": "x.npy", "columns": "a"}, ValueError, "x.npy: columns: expected one of 0 to 4, found 'a'"),
        ({"source": "x.csv"}, TypeError, "x.csv: expected dtype= for text, such as dtype='float32', found none"),
        ({"source": "x.csv", "dtype": "float32", "delimiter": ",,"}, ValueError, "delimiter: expected one ASCII character"),
        ({"source": "x.csv", "dtype": "float32", "id_column": 0, "columns": [0]}, ValueError, "expected features only"),
        ({"source": "none.npy"}, FileNotFoundError, "none.npy"),
        ({"source": "."}, IsADirectoryError, "is a directory, expected a file of features"),
        ({"source": 3}, TypeError, "source: expected a path, an array, .* found int"),
        ({"source": [["a"]]}, TypeError, "source: expected numbers, found <U1"),
        ({"source": ["x.npy"]}, TypeError, "source: expected one file of features, or rows, found a list of 1 path;"),
        ({"source": ["a", "b"]}, TypeError, "found a list of 2 paths; join these files to one"),
    ]  # fmt: skip
    for options, error, message in cases:
        with pytest.raises(error, match=message):
            gz.convert_features(path="y.gd", **options)
    assert sorted(os.listdir()) == ["x.csv", "x.npy"]


def test_the_source_is_not_written_over():
    gz.write_features("x.gd", ROWS)
    with pytest.raises(ValueError, match="x.gd: expected another file than the source"):
        gz.convert_features("x.gd", os.path.abspath("x.gd"), dtype="float16")
    np.testing.assert_array_equal(stored(), ROWS)


def test_a_truncated_npy_is_told():
    np.save("x.npy", ROWS)
    os.truncate("x.npy", 1000)
    with pytest.raises(gz.FormatError, match="x.npy: ends too early: expected 2408 bytes .* found 1000"):
        gz.convert_features("x.npy", "x.gd")


@posix_only(reason=NO_REPLACING)
def test_a_reader_of_the_old_file_is_not_disturbed():
    gz.write_features("x.gd", ROWS)
    old = gz.FeatureStore("x.gd").get_tensor()
    gz.convert_features(-ROWS, "x.gd")
    np.testing.assert_array_equal(old, ROWS)
    np.testing.assert_array_equal(stored(), -ROWS)


def test_progress_goes_from_nothing_to_all():
    np.save("x.npy", np.zeros((1 << 16, 64)))
    text("1,2\n" * 300_000)
    for source, dtype in (("x.npy", None), ("x.npy", "float32"), ("x.csv", "float32")):
        told = []
        gz.convert_features(
            source, "x.gd", dtype=dtype, memory="16MiB", progress=lambda *args, told=told: told.append(args)
        )
        size = (1 << 22) * 8 if source == "x.npy" else 1_200_000
        assert [done for done, _ in told] == sorted(done for done, _ in told)
        assert told[-1] == (size, size)


def test_a_dry_run_estimates_and_writes_nothing():
    np.save("x.npy", ROWS)
    text("".join(f"{i},{i},{i}\n" for i in range(100_000)))
    report = gz.convert_features("x.npy", "x.gd", dtype="float16", dry_run=True)
    assert (report.shape, report.dtype, report.bytes_out, report.dry_run) == ((57, 5), "float16", 8192, True)
    report = gz.convert_features("x.csv", "x.gd", dtype="float32", dry_run=True)
    assert report.rows == pytest.approx(100_000, rel=0.2)
    assert "dry run" in str(report)
    assert sorted(os.listdir()) == ["x.csv", "x.npy"]


def test_the_report_tells_what_happened():
    np.save("x.npy", ROWS)
    report = gz.convert_features("x.npy", "x.gd", dtype="float32")
    assert (report.rows, report.columns, report.bytes_in, report.bytes_out) == (57, 5, 2280, 8192)
    assert report.seconds > 0
    assert report.peak_memory > 1 << 20
    assert "rows       57 of 5 float32" in str(report)


def run(code, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False, **options
    )


@posix_only(reason=NO_LIMITS)
@pytest.mark.parametrize("source", ["x.npy", "x.csv", "ids.csv"])
def test_a_full_disk_is_an_error_and_leaves_nothing(source):
    np.save("x.npy", np.zeros((1 << 18, 4)))
    text("1,2\n" * 300_000)
    # A range of rows is written, then all others wait in a temporary file.
    late = "".join(f"{i % 40_000}{',2' * 16}\n" for i in range(60_000))
    text(f"40000{',2' * 16}\n{late}", "ids.csv")
    limit = 6 << 20 if source == "ids.csv" else 1 << 20
    done = run(f"""
        import resource, signal, errno, graphzero as gz
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
        ids = 0 if {source!r} == "ids.csv" else None
        try:
            gz.convert_features({source!r}, "x.gd", dtype="float64", id_column=ids, memory="16MiB")
        except OSError as error:
            assert error.errno == errno.EFBIG, error
        else:
            raise SystemExit("no error")
    """)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(os.listdir()) == ["ids.csv", "x.csv", "x.npy"]


@pytest.mark.parametrize("source", ["x.npy", "ids.csv"])
def test_a_killed_conversion_leaves_no_file_and_the_next_one_cleans_up(source):
    np.save("x.npy", np.zeros((1 << 16, 64)))
    text("".join(f"{i ^ 1},2\n" for i in range(300_000)), "ids.csv")
    options = "id_column=0" if source == "ids.csv" else ""
    done = run(f"""
        import os, graphzero as gz
        def die(done, total):
            os.kill(os.getpid(), 9)
        gz.convert_features({source!r}, "x.gd", dtype="float32", memory="16MiB", progress=die, {options})
    """)
    assert killed(done.returncode)
    left = set(os.listdir()) - {"x.npy", "ids.csv"}
    assert len(left) == 1
    assert left.pop().startswith(".x.gd.")
    gz.convert_features(ROWS, "x.gd")
    assert sorted(os.listdir()) == ["ids.csv", "x.gd", "x.npy"]


def test_ctrl_c_stops_a_conversion_and_leaves_nothing():
    np.save("x.npy", np.zeros((1 << 18, 64)))
    done = run("""
        import signal, graphzero as gz
        def interrupt(done, total):
            signal.raise_signal(signal.SIGINT)
        try:
            gz.convert_features("x.npy", "x.gd", progress=interrupt)
        except KeyboardInterrupt:
            print("stopped")
    """)
    assert done.stdout == "stopped\n", done.stderr
    assert os.listdir() == ["x.npy"]


@posix_only(reason=NO_LIMITS)
@pytest.mark.no_asan
@pytest.mark.no_tsan
@pytest.mark.parametrize("source", ["x.npy", "f.npy", "x.npz", "x.csv", "ids.csv"])
def test_memory_stays_within_its_budget(source):
    rows = np.random.default_rng(0).integers(-9, 9, (1 << 18, 64)).astype(np.float64)  # 134 MB
    if source == "x.npy":
        np.save("x.npy", rows)
    elif source == "f.npy":
        np.save("f.npy", np.asfortranarray(rows))
    elif source == "x.npz":
        np.savez_compressed("x.npz", rows)
    else:
        block = "\n".join(",".join(str(int(v)) for v in row) for row in rows[: 1 << 12])
        lines = block.split("\n")
        with open(source, "w") as file:
            for start in range(0, 1 << 18, 1 << 12):
                ids = [f"{(start + i) ^ 1 << 17}," if source == "ids.csv" else "" for i in range(1 << 12)]
                file.write("\n".join(map(str.__add__, ids, lines)) + "\n")
    done = run(f"""
        import resource, graphzero as gz
        from graphzero.convert.row_sources import sources, text
        gz.set_num_threads(2)
        status = dict(line.split(":") for line in open("/proc/self/status"))
        limit = int(status["VmData"].split()[0]) * 1024 + (100 << 20)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        ids = 0 if {source!r} == "ids.csv" else None
        print(gz.convert_features({source!r}, "x.gd", dtype="float32", id_column=ids, memory="64MB").rows)
    """)
    assert (done.stdout, done.stderr) == ("262144\n", "")
    found = stored()
    if source == "ids.csv":
        found = found[np.arange(1 << 12) ^ 1 << 17]
    np.testing.assert_array_equal(found[: 1 << 12], rows[: 1 << 12])


@posix_only(reason=NO_LIMITS)
def test_descriptors_are_given_back():
    np.save("x.npy", ROWS)
    text("0,1\n2,x\n")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        gz.convert_features("x.npy", "x.gd", dtype="int8-quantised")
        with pytest.raises(gz.FormatError):
            gz.convert_features("x.csv", "y.gd", dtype="float32")
    assert len(os.listdir("/proc/self/fd")) == before
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 0


def test_a_disk_that_fills_meanwhile_makes_no_id_wrong(tmp_path, monkeypatch):
    """Room for ids is asked for once: the conversion's own files take some of it."""
    pytest.importorskip("pyarrow", "15")
    free = iter([1 << 30])
    monkeypatch.setattr("graphzero.convert.row_conversion.free_space", lambda path: next(free, 0))
    ids = np.random.default_rng(0).permutation(2_000_000)
    table = pyarrow.table({"id": ids, "x": ids.astype(np.float32)})
    options = {"id_column": "id", "bad_lines": "skip", "memory": "16MiB"}
    report = gz.convert_features(table, tmp_path / "x.gd", **options)
    assert (report.rows, report.num_bad_lines) == (len(ids), 0)
    assert np.array_equal(gz.FeatureStore(tmp_path / "x.gd").gather(ids).ravel(), ids)


@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_parquet_files_are_not_read_ahead(tmp_path):
    """They would be in memory as a whole, whatever ``memory=`` says."""
    table = pyarrow.table({"x": np.random.default_rng(0).random(10_000_000)})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet", row_group_size=20_000, compression="none")
    code = f"""
import contextlib, graphzero as gz, pyarrow.parquet
from graphzero._base.memory_sizes import peak_memory
with contextlib.suppress(ImportError):
    import pandas  # pyarrow loads it where it is installed
before = peak_memory()
gz.convert_features({str(tmp_path / "x.parquet")!r}, {str(tmp_path / "x.gd")!r}, memory="16MiB")
print(peak_memory() - before)
"""
    grown = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert grown < 60e6  # the file has 99 MB


def test_several_files_are_refused():
    np.save("a.npy", ROWS)
    with pytest.raises(
        TypeError, match=r"^source: expected one file of features, or rows, found a list of 2 paths; join these"
    ):
        gz.convert_features(["a.npy", Path("a.npy")], "x.gd")

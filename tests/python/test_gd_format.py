"""Feature files: golden bytes, the slow writer's bytes, and docs/formats/gd.md invariant by invariant."""

import itertools
import re
import struct
from pathlib import Path

import numpy as np
import pytest

import files
import graphzero as gz
from files import GD_FIELDS, HEADER, Broken, entry_field, patched, reseal
from graphzero._dataset.feature_parts import join_parts
from graphzero._files.manifest_records import Part

DATA = Path(__file__).parent.parent / "data"
GD = (DATA / "tiny.gd").read_bytes()
REORDERED = (DATA / "tiny_hot.gd").read_bytes()
TINY = np.arange(12, dtype=np.float32).reshape(4, 3)

SHAPES = [(4, 3), (1,), (5,), (0,), (0, 7), (7, 0), (2, 3, 4), (1024, 1), (1025,), (1,) * 16]
# A file knows the size of an item, whatever it means: every shape comes with each size, every type with one shape.
KINDS = [*itertools.product(SHAPES, ["uint8", "float16", "float32", "int64"])]
KINDS += [((4, 3), dtype) for dtype in files.DTYPES if ((4, 3), dtype) not in KINDS]


def some(shape, dtype):
    values = np.random.default_rng(5).integers(0, 100, shape)
    return (values % 2).astype(bool) if dtype == "bool" else values.astype(files.STORED[dtype])


@pytest.mark.parametrize(("shape", "dtype"), KINDS, ids=str)
def test_the_writer_writes_the_bytes_of_the_slow_one(shape, dtype, tmp_path):
    array = some(shape, dtype)
    gz.write_features(tmp_path / "fast.gd", array, dtype=dtype)
    assert (tmp_path / "fast.gd").read_bytes() == files.build(files.gd(array, dtype))


@pytest.mark.parametrize(("shape", "dtype"), KINDS, ids=str)
def test_the_tensor_is_that_of_the_file(shape, dtype, tmp_path):
    array = some(shape, dtype)
    store = gz.FeatureStore(files.write(tmp_path / "slow.gd", files.build(files.gd(array, dtype))), verify="full")
    assert (store.shape, store.dtype) == (shape, dtype)
    assert store.get_tensor().dtype == files.STORED[dtype]
    np.testing.assert_array_equal(store.get_tensor(), array)


def test_the_golden_file_is_written_byte_for_byte(tiny_gd):
    assert Path(tiny_gd).read_bytes() == GD
    assert files.build(files.gd(TINY)) == GD


def test_the_golden_file_holds_the_tiny_features():
    np.testing.assert_array_equal(gz.FeatureStore(DATA / "tiny.gd", verify="full").get_tensor(), TINY)


def test_data_starts_on_a_page(tiny_gd):
    address = gz.FeatureStore(tiny_gd).get_tensor().__array_interface__["data"][0]
    assert address % files.PAGE == 0


def with_fields(**values):
    return patched(GD, {GD_FIELDS[name]: value for name, value in values.items()})


def with_shape(*shape, dtype="float32", data=b""):
    """A file whose header claims this shape, around a section with this content."""
    container = files.gd(np.empty(0, np.uint8))
    container.fields = struct.pack(f"<II{len(shape)}Q", files.DTYPES.index(dtype), len(shape), *shape)
    container.sections = [files.Section(files.DATA, dtype, data)]
    return files.build(container)


def without_data():
    container = files.gd(TINY)
    container.sections = []
    return files.build(container)


QUANTISED = np.array([[-127, 0, 64], [1, 127, -2]], np.int8)
SCALED = files.build(files.gd(QUANTISED, scales=[0.5, 2.0]))


def with_scales(array, scales, dtype="float32"):
    container = files.gd(array, scales=scales)
    container.sections[1].dtype = dtype
    return files.build(container)


def with_row_map(*places, dtype="int32"):
    return files.build(files.gd(TINY, row_map=np.array(places, dtype)))


def row_map_of_many(num_rows, dtype):
    """A header that claims so many rows of no items, over an empty map."""
    return patched(
        files.build(files.gd(np.zeros((0, 0), np.int8), row_map=np.zeros(0, dtype))), {GD_FIELDS["shape0"]: num_rows}
    )


LENGTH = "bad length of section data at byte 280: expected"

BROKEN = [
    Broken("GD1", "a flag", patched(GD, {HEADER["flags"]: 1}), "bad flags at byte 36: expected 0, found 1"),
    Broken(
        "GD2", "an unknown dtype", with_fields(dtype=10), "bad dtype at byte 64: expected a code below 10, found 10"
    ),
    Broken("GD2", "the largest dtype", with_fields(dtype=2**32 - 1), "bad dtype at byte 64: .* found 4294967295"),
    Broken("GD3", "a scalar", with_shape(), "bad number of dimensions at byte 68: expected 1 to 16, found 0"),
    Broken("GD3", "17 dimensions", with_fields(num_dimensions=17), "bad number of dimensions at byte 68: .* found 17"),
    Broken(
        "GD3",
        "the most dimensions",
        with_fields(num_dimensions=2**32 - 1),
        "bad number of dimensions at byte 68: .* found 4294967295",
    ),
    Broken("GD4", "an extent too many", with_fields(shape2=1), "bad reserved bytes at byte 88: expected zeros"),
    Broken(
        "GD4", "a dimension too few", with_fields(num_dimensions=1), "bad reserved bytes at byte 80: expected zeros"
    ),
    Broken("GD4", "the byte before the table", patched(GD, {(255, "B"): 1}), "bad reserved bytes at byte 88: expected"),
    Broken(
        "GD5", "2^62 + 4 bytes", with_shape(2**60 + 1), r"bad shape at byte 72: .* \(1152921504606846977\) .* exceeds"
    ),
    Broken("GD5", "a product that wraps to 0", with_shape(2**32, 2**32), "bad shape at byte 72: .* exceeds 2.62 bytes"),
    Broken(
        "GD5", "a product that wraps to 4", with_shape(2**63 + 1, 2**63 + 1), "bad shape at byte 72: .* exceeds 2.62"
    ),
    Broken("GD5", "one huge extent", with_shape(2**64 - 1), "bad shape at byte 72: .* exceeds 2.62 bytes"),
    Broken("GD5", "no rows of a size no row can have", with_shape(0, 2**40, 2**40), "bad shape at byte 72: .* exceeds"),
    Broken("GD5", "a zero between huge extents", with_shape(2**40, 0, 2**40), "bad shape at byte 72: .* exceeds 2.62"),
    Broken("GD6", "no data", without_data(), "expected a data section, found none"),
    Broken(
        "GD7",
        "a section of another type",
        patched(GD, {entry_field(0, "dtype"): 0}),
        "bad dtype of section data at byte 260: expected float32, found int32",
    ),
    Broken("GD8", "a row too many", with_fields(shape0=5), rf"{LENGTH} 60 bytes for shape \(5, 3\), found 48 bytes"),
    Broken("GD8", "a column too few", with_fields(shape1=2), rf"{LENGTH} 32 bytes for shape \(4, 2\), found 48 bytes"),
    Broken(
        "GD8", "a wider type", with_shape(2, dtype="float64", data=bytes(8)), rf"{LENGTH} 16 bytes .* found 8 bytes"
    ),
    Broken("GD8", "far too many rows", with_shape(2**60, data=bytes(8)), rf"{LENGTH} {2**62} bytes .* found 8 bytes"),
    Broken("GD8", "data in an empty array", with_shape(0, data=bytes(8)), rf"{LENGTH} 0 bytes .* found 8 bytes"),
    Broken(
        "GD10",
        "scales of float32",
        with_scales(TINY, [1] * 4),
        "bad dtype at byte 64: expected int8 beside a scale section, found float32",
    ),
    Broken("GD10", "scales of uint8", with_scales(QUANTISED.view(np.uint8), [1, 1]), "bad dtype .* found uint8"),
    Broken(
        "GD11",
        "scales that are int32",
        with_scales(QUANTISED, [1, 1], dtype="int32"),
        "bad dtype of section scale at byte 300: expected float32, found int32",
    ),
    Broken(
        "GD12",
        "a scale too few",
        with_scales(QUANTISED, [1]),
        "bad length of section scale at byte 320: expected 4 bytes for each of 2 rows, found 4 bytes",
    ),
    Broken("GD12", "a scale too many", with_scales(QUANTISED, [1] * 3), "bad length of section scale .* found 12"),
    Broken(
        "GD12",
        "more rows without items than scales can be",
        patched(with_scales(np.zeros((0, 0), np.int8), []), {GD_FIELDS["shape0"]: 2**62}),
        "bad length of section scale .* each of 4611686018427387904 rows, found 0 bytes",
    ),
    Broken(
        "GD14",
        "a map of float32",
        with_row_map(0, 1, 2, 3, dtype="float32"),
        "bad dtype of section row_map at byte 300: expected int32 or int64 for 4 rows, found float32",
    ),
    Broken("GD14", "a map of int16", with_row_map(0, 1, 2, 3, dtype="int16"), "bad dtype .* row_map .* found int16"),
    Broken(
        "GD14",
        "4 bytes for places beyond 2^31",
        row_map_of_many(2**31 + 1, "int32"),
        "bad dtype of section row_map at byte 300: expected int64 for 2147483649 rows, found int32",
    ),
    Broken(
        "GD15",
        "a place too few",
        with_row_map(0, 1, 2),
        "bad length of section row_map at byte 320: expected 4 bytes for each of 4 rows, found 12 bytes",
    ),
    Broken("GD15", "a place too many", with_row_map(0, 1, 2, 3, 4), "bad length of section row_map .* found 20 bytes"),
    Broken(
        "GD15",
        "wide places that are narrow",
        patched(with_row_map(0, 1, 2, 3), {entry_field(1, "dtype"): 1}),
        "bad length of section row_map at byte 320: expected 8 bytes for each of 4 rows, found 16 bytes",
    ),
    Broken(
        "GD15",
        "more rows than places can be",
        row_map_of_many(2**62, "int64"),
        "bad length of section row_map .* each of 4611686018427387904 rows, found 0 bytes",
    ),
]

FLAGS = files.build(files.gd(np.array([True, False, True])))
DAMAGED = [
    Broken(
        "GD9",
        "a bool of 2",
        reseal(patched(FLAGS, {(4097, "B"): 2})),
        "bool items are 0 or 1: item 1: expected 0 or 1, found 2",
    ),
    Broken(
        "GD9",
        "a bool of 255",
        reseal(patched(FLAGS, {(4098, "B"): 255})),
        "bool items are 0 or 1: item 2: expected 0 or 1, found 255",
    ),
    Broken(
        "GD13",
        "a scale that is no number",
        with_scales(QUANTISED, [1, np.nan]),
        "scales are finite and not negative: row 1: expected a finite number that is not negative, found nan",
    ),
    Broken(
        "GD13",
        "an infinite scale",
        with_scales(QUANTISED, [np.inf, 1]),
        "scales are finite and not negative: row 0: expected a finite number that is not negative, found inf",
    ),
    Broken(
        "GD13",
        "a negative scale",
        with_scales(QUANTISED, [1, -0.5]),
        "scales are finite and not negative: row 1: expected a finite number that is not negative, found -0.5",
    ),
    Broken(
        "GD16",
        "a place that is taken",
        with_row_map(1, 3, 1, 2),
        "the row map is a permutation: row 2: expected a place of its own, found 1, where another row is",
    ),
    Broken(
        "GD16",
        "a place behind the last",
        with_row_map(1, 3, 4, 2),
        "the row map is a permutation: row 2: expected a place below 4, found 4",
    ),
    Broken(
        "GD16",
        "a negative place",
        with_row_map(0, 1, 2, -1, dtype="int64"),
        "the row map is a permutation: row 3: expected a place below 4, found -1",
    ),
]


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_a_broken_header_does_not_open(broken, tmp_path):
    path = files.write(tmp_path / "broken.gd", broken.data)
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: {broken.message}"):
        gz.FeatureStore(path)
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: {broken.message}"):
        gz.verify(path)


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_the_slow_reader_finds_the_same_invariant_broken(broken):
    with pytest.raises(files.BadFile, match=f"^{broken.invariant}$"):
        files.read_gd(broken.data)


@pytest.mark.parametrize("broken", DAMAGED, ids=str)
def test_damage_behind_the_header_is_found_by_a_full_check(broken, tmp_path):
    path = files.write(tmp_path / "damaged.gd", broken.data)
    gz.FeatureStore(path).close()
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: {broken.message}"):
        gz.FeatureStore(path, verify="full")
    assert [f"{check.name}: {check.problem}" for check in gz.verify(path) if not check.holds] == [broken.message]


@pytest.mark.parametrize("broken", DAMAGED, ids=str)
def test_damage_is_found_where_files_are_joined(broken, tmp_path):
    path = str(files.write(tmp_path / "damaged.gd", broken.data))
    with gz.FeatureStore(path) as store:
        part, reordered = Part(path, 0, store.num_rows, store.fingerprint), store.reordered
    expected = "expected rows in the order of ids, found another order" if reordered else broken.message
    with pytest.raises(gz.FormatError, match=f"^{re.escape(path)}: {expected}"):
        join_parts([path], [part], str(tmp_path / "joined.gd"), done=lambda _: None)
    assert not (tmp_path / "joined.gd").exists()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (files.gd(TINY.astype(np.float64)), r"expected rows of float32 \[3\], as .* found float64 \[3\]"),
        (files.gd(TINY[:, :2]), r"expected rows of float32 \[3\], as the first part has, found float32 \[2\]"),
        (files.gd(TINY[:3]), "expected 4 rows, found 3"),
    ],
)
def test_parts_of_two_kinds_are_not_joined(other, message, tmp_path):
    paths = [str(files.write(tmp_path / "0.gd", GD)), str(files.write(tmp_path / "1.gd", files.build(other)))]
    with pytest.raises(gz.FormatError, match=f"^{re.escape(paths[1])}: {message}"):
        join_parts(paths, [Part("", 0, 4, 0), Part("", 4, 8, 0)], str(tmp_path / "joined.gd"), done=lambda _: None)


def test_every_invariant_has_a_broken_file():
    assert {case.invariant for case in BROKEN} == set(files.invariants("gd.md", "O(1)"))
    assert {case.invariant for case in DAMAGED} == set(files.invariants("gd.md", "full"))


def test_a_quantised_value_is_its_item_times_the_scale_of_its_row(tmp_path):
    path = files.write(tmp_path / "q.gd", SCALED)
    store = gz.FeatureStore(path, verify="full")
    assert (store.quantised, store.dtype, store.scales.tolist()) == (True, "int8", [0.5, 2.0])
    assert store.get_tensor().tolist() == QUANTISED.tolist()  # as it is stored
    row = store.get_data(1)
    assert (row.tolist(), row.dtype) == ([2.0, 254.0, -4.0], np.float32)
    assert repr(store) == f"FeatureStore({path!r}: 2 rows of 3 quantised int8, 12.3 kB)"


def test_an_array_without_scales_is_not_quantised(tiny_gd):
    store = gz.FeatureStore(tiny_gd)
    assert (store.quantised, store.scales) == (False, None)


def test_a_reader_that_does_not_know_scales_must_refuse(tmp_path):
    assert all(section.flags == files.REQUIRED for section in files.gd(QUANTISED, scales=[1, 1]).sections)
    path = files.write(tmp_path / "q.gd", patched(SCALED, {entry_field(1, "kind"): 4}))
    with pytest.raises(gz.FormatError, match="section kind 4 at byte 296 is required but not known"):
        gz.FeatureStore(path)


def test_a_reader_that_does_not_know_row_maps_must_refuse():
    assert files.gd(TINY, row_map=np.arange(4)).section(files.ROW_MAP).flags == files.REQUIRED


def test_the_golden_reordered_file_is_written_byte_for_byte(tmp_path):
    assert files.build(files.gd(TINY[[2, 0, 3, 1]], row_map=np.array([1, 3, 0, 2], np.int32))) == REORDERED
    gz.write_features("fast.gd", TINY, order=[2, 0, 3, 1])
    assert Path("fast.gd").read_bytes() == REORDERED
    gz.write_features("plain.gd", TINY)
    gz.reorder("plain.gd", "again.gd", order=[2, 0, 3, 1])
    assert Path("again.gd").read_bytes() == REORDERED


def test_the_golden_reordered_file_holds_the_tiny_features_by_id():
    np.testing.assert_array_equal(gz.FeatureStore(DATA / "tiny_hot.gd", verify="full").gather(range(4)), TINY)


def test_scales_lie_beside_the_rows_they_belong_to(tmp_path):
    files.write("plain.gd", SCALED)
    gz.reorder("plain.gd", "hot.gd", order=[1, 0])
    container = files.gd(QUANTISED[[1, 0]], scales=[2.0, 0.5], row_map=np.array([1, 0], np.int32))
    assert Path("hot.gd").read_bytes() == files.build(container)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_row_map_may_have_either_width(dtype, tmp_path):
    container = files.gd(TINY[[2, 0, 3, 1]], row_map=np.array([1, 3, 0, 2], dtype))
    store = gz.FeatureStore(files.write(tmp_path / "x.gd", files.build(container)), verify="full")
    assert store.row_map.dtype == dtype
    np.testing.assert_array_equal(store.gather([0, 1, 2, 3, 1]), TINY[[0, 1, 2, 3, 1]])
    assert [store.get_data(i).tolist() for i in range(4)] == TINY.tolist()


def test_a_file_without_rows_takes_no_memory_for_one(tmp_path):
    """Its header may claim rows of any size: nothing stands behind them."""
    store = gz.FeatureStore(files.write(tmp_path / "x.gd", with_shape(0, 2**36)), verify="full")
    assert (store.shape, store.row_bytes, store.get_tensor().nbytes) == ((0, 2**36), 2**38, 0)
    with pytest.raises(IndexError, match="row 0 .* which has 0 rows"):
        store.get_data(0)


def test_a_changed_value_is_found_by_a_full_check(tmp_path):
    path = files.write(tmp_path / "damaged.gd", patched(GD, {(4096, "<f"): 0.5}))
    assert gz.FeatureStore(path).get_tensor()[0, 0] == 0.5
    with pytest.raises(gz.FormatError, match=r"checksum of data: expected \d+, found \d+: the bytes changed"):
        gz.FeatureStore(path, verify="full")

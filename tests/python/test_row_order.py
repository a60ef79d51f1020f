"""Row order: ids never change, rows move; in bounded memory, whole or not at all."""

import itertools
import os
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import files
import graphzero as gz
import oracle
from graphzero import _core
from optional_torch import needs_torch, torch
from sparse import write_sparse_gd, write_sparse_gl
from systems import NO_LIMITS, killed, posix_only, resource

READERS = ["mmap", "direct", "pread"]
SHAPES = [(0,), (0, 3), (1, 2), (9,), (5, 0), (300, 7), (40, 3, 5), (1000, 1), (700, 129), (6, 9000)]
# Rows move as bytes, whatever they mean: every shape comes with each size of an item, every type with one shape.
KINDS = [*itertools.product(SHAPES, ["uint8", "float16", "float32", "int64"])]
KINDS += [((300, 7), dtype) for dtype in files.DTYPES if ((300, 7), dtype) not in KINDS]


def some(shape, dtype="float32", seed=3):
    items = np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 100, shape)
    return items.astype(files.STORED[dtype])


def shuffled(count, seed=4):
    return np.random.default_rng(seed).permutation(count)


def places(order):
    """The map that belongs to an order, the slow way."""
    found = [0] * len(order)
    for place, row in enumerate(order):
        found[row] = place
    return found


def run(code):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False, timeout=120
    )


def expect_rows(path, array, order):
    """The file holds the rows of ``array`` by id, stored in ``order``, whoever reads it."""
    store = gz.FeatureStore(path, verify="full")
    assert (store.reordered, store.shape) == (True, array.shape)
    assert store.row_map.tolist() == places(order)
    np.testing.assert_array_equal(store.get_tensor(order="stored"), array[order])
    ids = np.random.default_rng(0).integers(0, max(len(array), 1), 1000 if len(array) else 0)
    for reader in READERS:
        np.testing.assert_array_equal(store.gather(ids, reader=reader), array[ids])
    for row in ids[:5].tolist():
        np.testing.assert_array_equal(store.get_data(row), np.atleast_1d(array[row]))


@pytest.mark.parametrize(("shape", "dtype"), KINDS, ids=str)
def test_every_reader_finds_every_row_by_its_id(shape, dtype, tmp_path):
    array, order = some(shape, dtype), shuffled(shape[0])
    gz.write_features("x.gd", array, dtype=dtype)
    gz.reorder("x.gd", "hot.gd", order=order)
    expect_rows("hot.gd", array, order)
    gz.write_features("written.gd", array, dtype=dtype, order=order)
    assert Path("hot.gd").read_bytes() == Path("written.gd").read_bytes()


@pytest.mark.parametrize("shape", [(0, 3), (50, 9), (50,), (7, 0), (3, 4, 5)], ids=str)
def test_scales_move_with_their_rows(shape, tmp_path):
    numbers, order = np.random.default_rng(1).normal(size=shape), shuffled(shape[0])
    gz.convert_features(numbers, "q.gd", dtype="int8-quantised")
    gz.reorder("q.gd", "hot.gd", order=order)
    plain, hot = gz.FeatureStore("q.gd"), gz.FeatureStore("hot.gd", verify="full")
    ids = np.arange(shape[0])[::-1]
    np.testing.assert_array_equal(hot.gather(ids), plain.gather(ids))
    np.testing.assert_array_equal(hot.scales_of(ids), plain.scales[ids])
    np.testing.assert_array_equal(plain.scales_of(ids), plain.scales[ids])
    for row in ids.tolist():
        np.testing.assert_array_equal(hot.get_data(row), plain.get_data(row))
    with pytest.raises(ValueError, match=r"hot.gd: its rows are stored hottest first, .*: use scales_of\(ids\)"):
        _ = hot.scales


def test_scales_of_names_what_is_wrong(tiny_gd, tmp_path):
    with pytest.raises(ValueError, match="tiny.gd: is not quantised, so its rows have no scales"):
        gz.FeatureStore(tiny_gd).scales_of([0])
    gz.convert_features(np.ones((4, 2)), "q.gd", dtype="int8-quantised", order=[3, 2, 1, 0])
    for bad in (-1, 4):
        with pytest.raises(IndexError, match=rf"ids\[1\]: row {bad} is not in q.gd, which has 4 rows"):
            gz.FeatureStore("q.gd").scales_of([0, bad])


@needs_torch
def test_views_by_id_are_refused_and_name_the_way_out(tiny_gd, tmp_path):
    gz.reorder(tiny_gd, "hot.gd", order=[2, 0, 3, 1])
    store = gz.FeatureStore("hot.gd")
    message = r"hot.gd: its rows are stored hottest first, .*: use gather\(ids\), or get_tensor\(order=\"stored\"\)"
    for use in (store.get_tensor, store.as_torch, lambda: np.asarray(store), lambda: torch.as_tensor(np.array(store))):
        with pytest.raises(ValueError, match=message):
            use()
    assert store.get_tensor(order="stored")[:, 0].tolist() == [6, 0, 9, 3]
    assert store.as_torch(order="stored")[store.row_map.tolist(), 0].tolist() == [0, 3, 6, 9]
    assert repr(store) == "FeatureStore('hot.gd': 4 rows of 3 float32, hottest first, 12.3 kB)"
    with pytest.raises(ValueError, match="read-only"):
        store.row_map[0] = 1
    with pytest.raises(ValueError, match="order: expected 'id' or 'stored', found 'hot'"):
        store.get_tensor(order="hot")


def test_an_ordinary_file_has_one_order(tiny_gd):
    store = gz.FeatureStore(tiny_gd)
    assert (store.reordered, store.row_map) == (False, None)
    np.testing.assert_array_equal(store.get_tensor(order="stored"), store.get_tensor())


def random_graph(num_nodes=60, num_edges=700, seed=9):
    rng = np.random.default_rng(seed)
    # Squares crowd at the low end: hubs, ties, and nodes without edges.
    return (rng.random(num_edges) ** 2 * num_nodes).astype(int), (rng.random(num_edges) ** 3 * num_nodes).astype(int)


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize(
    "options", [{"index": "both"}, {"index": "in"}, {"index": "out"}, {"directed": False}], ids=str
)
def test_hot_rows_are_those_that_many_lists_name(options, direction, tmp_path):
    src, dst = random_graph()
    gz.write_graph("g.gl", src, dst, num_nodes=64, **options)
    graph = gz.Graph("g.gl")
    counts = oracle.neighbor_counts(src, dst, 64, directed=options.get("directed", True), direction=direction)
    side = _core.Direction.IN if direction == "in" else _core.Direction.OUT
    assert _core.neighbor_counts(graph._core, side).tolist() == counts
    gz.write_features("x.gd", some((64, 3)))
    gz.reorder("x.gd", "hot.gd", graph, direction=direction)
    expect_rows("hot.gd", some((64, 3)), oracle.hottest_first(counts))


def test_neighbor_counts_are_the_same_for_any_number_of_threads(tmp_path):
    src, dst = random_graph(5000, 300_000)
    gz.write_graph("g.gl", src, dst, num_nodes=5000, index="in")
    graph = gz.Graph("g.gl")
    try:
        for threads in (1, 2, 7):
            gz.set_num_threads(threads)
            found = _core.neighbor_counts(graph._core, _core.Direction.IN)
            np.testing.assert_array_equal(found, np.bincount(src, minlength=5000))
    finally:
        gz.set_num_threads(0)


def test_bipartite_rows_are_those_of_the_far_side(tmp_path):
    gz.write_graph("g.gl", [0, 0, 1, 4], [2, 1, 2, 0], num_nodes=(5, 3), index="in")
    graph = gz.Graph("g.gl")
    gz.write_features("users.gd", some((5, 2)))
    gz.reorder("users.gd", "hot.gd", graph)
    assert gz.FeatureStore("hot.gd").row_map.tolist() == [0, 1, 3, 4, 2]
    gz.write_features("items.gd", some((3, 2)))
    gz.reorder("items.gd", "hot.gd", graph, direction="out")
    assert gz.FeatureStore("hot.gd").row_map.tolist() == [1, 2, 0]
    with pytest.raises(ValueError, match="items.gd: expected 5 rows, one per source node of g.gl, found 3; rows that"):
        gz.reorder("items.gd", "hot.gd", graph)
    with pytest.raises(ValueError, match="users.gd: expected 3 rows, one per destination node of g.gl, found 5"):
        gz.reorder("users.gd", "hot.gd", graph, direction="out")


def test_a_count_stops_where_four_bytes_would_not_do(tmp_path):
    write_sparse_gl("g.gl", num_nodes=3, num_edges=2**32)
    assert _core.neighbor_counts(gz.Graph("g.gl")._core, _core.Direction.IN).tolist() == [0, 0, 2**31]


def test_a_corrupt_graph_is_named(tmp_path):
    gz.write_graph("g.gl", [0, 1, 2], [1, 2, 0], index="in")
    data = Path("g.gl").read_bytes()
    broken = files.patched(data, {(2 * files.PAGE + 4, "<i"): 3})
    graph = gz.Graph(files.write("ids.gl", broken))
    with pytest.raises(gz.FormatError, match="ids.gl: corrupt indices at entry 1: expected a node id below 3, found 3"):
        _core.neighbor_counts(graph._core, _core.Direction.IN)
    graph = gz.Graph(files.write("indptr.gl", files.patched(data, {(files.PAGE + 8, "<q"): 9})))
    with pytest.raises(gz.FormatError, match="indptr.gl: corrupt indptr at node 0: expected 0 <= begin"):
        _core.neighbor_counts(graph._core, _core.Direction.OUT)


def test_counts_on_both_sides_of_the_sorting_threshold_are_in_order():
    counts = np.array([5, 2**20, 2**20 - 1, 0, 2**31, 2**20, 5, 2**20 - 1, 2**20 + 1], np.uint32)
    assert _core.RowPlaces.hottest_first(counts).order().tolist() == oracle.hottest_first(counts.tolist())


@given(st.lists(st.integers(0, 6), max_size=40))
def test_places_and_order_are_inverse(counts):
    hot = _core.RowPlaces.hottest_first(np.array(counts, np.uint32))
    order = hot.order()
    assert order.tolist() == oracle.hottest_first(counts)
    assert _core.RowPlaces.in_order(order, len(counts)).order().tolist() == order.tolist()


@given(st.permutations(range(11)), st.permutations(range(11)), st.integers(0, 3))
def test_an_order_replaces_the_one_before(first, second, width):
    array = some((11, width))
    gz.write_features("x.gd", array, order=first)
    gz.reorder("x.gd", "y.gd", order=second)
    expect_rows("y.gd", array, second)


def test_a_wide_map_is_read_and_a_narrow_one_written(tmp_path):
    array, order = some((50, 4)), shuffled(50)
    old = shuffled(50, seed=8)
    files.write("x.gd", files.build(files.gd(array[old], row_map=np.array(places(old), np.int64))))
    gz.reorder("x.gd", "y.gd", order=order)
    expect_rows("y.gd", array, order)
    assert gz.FeatureStore("y.gd").row_map.dtype == np.int32


def test_a_file_of_graphzero02_can_be_ordered(tmp_path):
    array = some((9, 4))
    with open("old.gd", "wb") as file:
        file.write(b"GZDATA26" + struct.pack("<IiQQ", 0, 2, 9, 4) + array.tobytes())
    gz.reorder("old.gd", "hot.gd", order=shuffled(9))
    expect_rows("hot.gd", array, shuffled(9))


def test_a_file_may_replace_itself(tmp_path):
    array = some((500, 8))
    gz.write_features("x.gd", array)
    open_before = gz.FeatureStore("x.gd")
    gz.reorder("x.gd", "x.gd", order=shuffled(500))
    expect_rows("x.gd", array, shuffled(500))
    np.testing.assert_array_equal(open_before.get_tensor(), array)
    assert os.listdir() == ["x.gd"]


def large(path="x.gd", *, quantised=False):
    """A file of 96 MB, so that the least budget must cut it: its rows and an order."""
    rng = np.random.default_rng(2)
    rows = rng.integers(-127, 128, ((96 << 20) // 260, 260), dtype=np.int8)
    if quantised:
        files.write(path, files.build(files.gd(rows, scales=rng.random(len(rows)))))
    else:
        gz.write_features(path, rows)
    return rows, rng.permutation(len(rows))


@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.parametrize("near", [False, True], ids=["shuffled", "nearly in order"])
def test_a_file_larger_than_the_budget_comes_out_the_same(quantised, near, tmp_path):
    rows, order = large(quantised=quantised)
    if near:
        order = np.arange(len(rows)) ^ 1 if len(rows) % 2 == 0 else np.r_[np.arange(len(rows) - 1) ^ 1, len(rows) - 1]
    gz.reorder("x.gd", "small.gd", order=order, memory="40MB")
    gz.reorder("x.gd", "whole.gd", order=order, memory="1GB")
    assert all(check.holds for check in gz.verify("small.gd"))
    assert Path("small.gd").read_bytes() == Path("whole.gd").read_bytes()
    # Without assert_array_equal(), which takes 2 s for so much.
    assert np.array_equal(gz.FeatureStore("small.gd").get_tensor(order="stored"), rows[order])
    again = shuffled(len(rows))
    gz.reorder("small.gd", "again.gd", order=again, memory="40MB")
    assert np.array_equal(gz.FeatureStore("again.gd").get_tensor(order="stored"), rows[again])
    assert sorted(os.listdir()) == ["again.gd", "small.gd", "whole.gd", "x.gd"]


def test_rows_of_megabytes_are_put_in_order_too(tmp_path):
    rows = np.random.default_rng(2).integers(0, 256, (20, 3 << 20), dtype=np.uint8)
    gz.write_features("x.gd", rows)
    gz.reorder("x.gd", "y.gd", order=shuffled(20), memory="48MB")
    np.testing.assert_array_equal(gz.FeatureStore("y.gd", verify="full").get_tensor(order="stored"), rows[shuffled(20)])


@posix_only(reason=NO_LIMITS)
@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_memory_stays_within_its_budget(tmp_path):
    rows, order = large()
    np.save("order.npy", order)
    done = run("""
        import resource, numpy as np, graphzero as gz
        gz.set_num_threads(2)
        order = np.load("order.npy")
        status = dict(line.split(":") for line in open("/proc/self/status"))
        limit = int(status["VmData"].split()[0]) * 1024 + (64 << 20)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        gz.reorder("x.gd", "y.gd", order=order, memory="40MB")
        try:
            gz.reorder("x.gd", "z.gd", order=order, memory="1GB")
        except MemoryError:
            print("one piece does not fit")
    """)
    assert (done.stdout, done.stderr) == ("one piece does not fit\n", "")
    np.testing.assert_array_equal(gz.FeatureStore("y.gd").get_tensor(order="stored"), rows[order])
    assert sorted(os.listdir()) == ["order.npy", "x.gd", "y.gd"]


def test_a_budget_that_cannot_do_is_refused(tiny_gd, tmp_path):
    message = "memory: expected at least 33.6 MB to order 4 rows, found 10.0 MB"
    with pytest.raises(ValueError, match=message):
        gz.reorder(tiny_gd, "y.gd", order=[0, 1, 2, 3], memory="10MB")
    # At most 512 buckets: a terabyte takes 8/3 GB for them, and 4 bytes per row twice.
    write_sparse_gd("x.gd", shape=(1 << 28, 1 << 10), dtype="float32")
    with pytest.raises(ValueError, match="memory: expected at least 5.0 GB to order 268,435,456 rows, found 2.0 GB"):
        gz.reorder("x.gd", "y.gd", order=[], memory="2GB")
    assert not os.path.exists("y.gd")


@pytest.mark.parametrize(
    ("order", "error", "message"),
    [
        ([0, 1, 2], ValueError, "order: expected 4 ids, one per row, found 3"),
        ([0, 1, 2, 4], ValueError, r"order\[3\]: expected an id from 0 to 3, found 4"),
        ([0, -1, 2, 3], ValueError, r"order\[1\]: expected an id from 0 to 3, found -1"),
        ([0, 2, 1, 2], ValueError, r"order\[3\]: expected each id once, found 2 again, first at order\[1\]"),
        ([0.0, 1.0, 2.0, 3.0], TypeError, "order: expected integers, found float64"),
        ([[0, 1, 2, 3]], ValueError, r"order: expected one dimension, found shape \(1, 4\)"),
        ("cold", ValueError, "order: expected 'hot' or all ids, hottest first, found 'cold'"),
        ("hot", ValueError, "order: expected graph= beside 'hot', to see which rows are, found none"),
    ],
)
def test_what_is_no_order_is_refused_and_leaves_nothing(order, error, message, tiny_gd, tmp_path):
    for write in (
        lambda: gz.reorder(tiny_gd, "y.gd", order=order),
        lambda: gz.write_features("y.gd", some((4, 3)), order=order),
        lambda: gz.convert_features(some((4, 3)), "y.gd", order=order),
    ):
        with pytest.raises(error, match=message):
            write()
        assert os.listdir() == ["tiny.gd"]


def test_a_graph_and_an_order_exclude_each_other(tiny_gd, tiny, tmp_path):
    for arguments in ({}, {"graph": tiny, "order": [0, 1, 2, 3]}):
        with pytest.raises(ValueError, match="expected a graph or an order=, and not both"):
            gz.reorder(tiny_gd, "y.gd", **arguments)
    with pytest.raises(ValueError, match="graph: expected order='hot' beside it, found another order or none"):
        gz.write_features("y.gd", [1, 2, 3, 4], graph=tiny)
    with pytest.raises(ValueError, match="graph: expected order='hot' beside it"):
        gz.convert_features(some((4, 3)), "y.gd", order=[0, 1, 2, 3], graph=tiny)
    with pytest.raises(TypeError, match="graph: expected a Graph, found str"):
        gz.reorder(tiny_gd, "y.gd", "tiny.gl")
    with pytest.raises(ValueError, match="direction: expected 'out' or 'in', found 'up'"):
        gz.reorder(tiny_gd, "y.gd", tiny, direction="up")
    assert not os.path.exists("y.gd")


def test_what_cannot_be_read_or_written_is_named(tiny_gd, tiny_gl, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.gd"):
        gz.reorder("none.gd", "y.gd", order=[])
    with pytest.raises(gz.FormatError, match=r"tiny.gl: is a topology file \(.gl\)"):
        gz.reorder(tiny_gl, "y.gd", order=[])
    with pytest.raises(FileNotFoundError, match=r"cannot create.*no/y\.gd"):
        gz.reorder(tiny_gd, "no/y.gd", order=[0, 1, 2, 3])


BAD_MAPS = [
    ([0, 1, 2, 4], "corrupt row_map at row 3: expected a place below 4, found 4"),
    ([0, 1, 2, -1], "corrupt row_map at row 3: expected a place below 4, found -1"),
    ([0, 1, 2, 2**31 - 1], "corrupt row_map at row 3: expected a place below 4, found 2147483647"),
]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(("row_map", "message"), BAD_MAPS)
def test_a_map_that_leads_outside_is_never_followed(row_map, message, dtype, tmp_path):
    items = some((4, 3), "int8")
    path = files.write("x.gd", files.build(files.gd(items, scales=[1] * 4, row_map=np.array(row_map, dtype))))
    store = gz.FeatureStore(path)
    assert store.gather([0, 2]).tolist() == items[[0, 2]].tolist()  # what it does not lead to is there
    for use in (
        lambda: store.get_data(3),
        lambda: store.scales_of([0, 3]),
        lambda: gz.reorder(path, "y.gd", order=[0, 1, 2, 3]),
        *(lambda reader=reader: store.gather([0, 3], reader=reader) for reader in READERS),
    ):
        with pytest.raises(gz.FormatError, match=f"^x.gd: {message}$"):
            use()
    assert os.listdir() == ["x.gd"]


def test_a_map_with_a_place_twice_is_no_order_to_start_from(tmp_path):
    files.write("x.gd", files.build(files.gd(some((3, 2)), row_map=np.array([0, 2, 2], np.int32))))
    message = "^x.gd: corrupt row_map at row 2: expected a place of its own, found 2, where another row is$"
    with pytest.raises(gz.FormatError, match=message):
        gz.reorder("x.gd", "y.gd", order=[0, 1, 2])
    assert os.listdir() == ["x.gd"]


def test_random_maps_give_the_row_or_an_error(tmp_path):
    rng = np.random.default_rng(6)
    array = some((50, 3))
    outcomes = set()
    for _ in range(200):
        row_map = rng.permutation(50).astype(rng.choice(["int32", "int64"]))
        for at in rng.integers(0, 50, rng.integers(0, 4)):
            row_map[at] = rng.choice([-1, 50, 51, 2**31 - 1, -(2**31), int(rng.integers(0, 50))])
        files.write("x.gd", files.build(files.gd(array, row_map=row_map)))
        ids = rng.integers(0, 50, 64)
        with gz.FeatureStore("x.gd") as store:
            wild = (row_map[ids] < 0) | (row_map[ids] >= 50)
            outcomes.add(bool(wild.any()))
            if wild.any():
                with pytest.raises(gz.FormatError, match=r"corrupt row_map at row \d+: expected a place below 50"):
                    store.gather(ids)
            else:
                np.testing.assert_array_equal(store.gather(ids), array[row_map[ids]])
    assert outcomes == {True, False}


def test_ids_that_are_no_rows_are_named_as_in_any_file(tiny_gd, tmp_path):
    gz.reorder(tiny_gd, "hot.gd", order=[2, 0, 3, 1])
    store = gz.FeatureStore("hot.gd")
    for bad in (-1, 4, 2**62):
        with pytest.raises(IndexError, match=rf"row {bad} is not in hot.gd, which has 4 rows \(0 to 3\)"):
            store.get_data(bad)
        with pytest.raises(IndexError, match=rf"ids\[1\]: row {bad} is not in hot.gd, which has 4 rows"):
            store.gather([0, bad])


def test_gathering_more_rows_than_fit_one_plan(tmp_path):
    array = np.arange(3000, dtype=np.int32)
    gz.write_features("x.gd", array, order=shuffled(3000))
    ids = np.random.default_rng(1).integers(0, 3000, (1 << 20) + 999)
    np.testing.assert_array_equal(gz.FeatureStore("x.gd").gather(ids), array[ids])


def test_writing_with_a_graph_gives_the_hot_order(tiny, tmp_path):
    array = some((4, 3))
    gz.write_features("written.gd", array, order="hot", graph=tiny)
    gz.convert_features(array, "converted.gd", order="hot", graph=tiny)
    for path in ("written.gd", "converted.gd"):
        expect_rows(path, array, [0, 1, 3, 2])
    with pytest.raises(ValueError, match=r"array: expected 4 rows, one per source node of .*tiny.gl, found 3"):
        gz.write_features("y.gd", [1, 2, 3], order="hot", graph=tiny)


def test_a_number_that_does_not_fit_is_named_by_its_id(tmp_path):
    with pytest.raises(ValueError, match=r"array\[1, 0\]: 300 does not fit int8"):
        gz.write_features("x.gd", [[0], [300], [2]], dtype="int8", order=[2, 1, 0])


@pytest.mark.parametrize("dtype", ["float16", "int8-quantised"])
def test_a_conversion_can_end_in_an_order(dtype, tmp_path):
    numbers, order = np.random.default_rng(1).normal(size=(77, 5)), shuffled(77)
    np.save("x.npy", numbers)
    gz.convert_features("x.npy", "plain.gd", dtype=dtype)
    estimate = gz.convert_features("x.npy", "hot.gd", dtype=dtype, order=order, dry_run=True)
    assert not os.path.exists("hot.gd")
    report = gz.convert_features("x.npy", "hot.gd", dtype=dtype, order=order)
    plain, hot = gz.FeatureStore("plain.gd"), gz.FeatureStore("hot.gd", verify="full")
    assert (report.path, report.bytes_out, estimate.bytes_out) == ("hot.gd", hot.nbytes, hot.nbytes)
    assert hot.row_map.tolist() == places(order)
    for row in range(77):
        np.testing.assert_array_equal(hot.get_data(row), plain.get_data(row))
    assert sorted(os.listdir()) == ["hot.gd", "plain.gd", "x.npy"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8-quantised"])
def test_a_conversion_from_a_reordered_file_goes_by_id(dtype, tmp_path):
    numbers = np.random.default_rng(1).normal(size=(99, 4)).astype(np.float32)
    gz.convert_features(numbers, "plain.gd", dtype=dtype)
    gz.reorder("plain.gd", "hot.gd", order=shuffled(99))
    for source in ("hot.gd", gz.FeatureStore("hot.gd")):
        gz.convert_features(source, "back.gd")
        back = gz.FeatureStore("back.gd")
        assert not back.reordered
        for row in range(99):
            np.testing.assert_array_equal(back.get_data(row), gz.FeatureStore("plain.gd").get_data(row))
    gz.convert_features("hot.gd", "column.gd", columns=[2])
    expected = gz.FeatureStore("back.gd").get_tensor()[:, [2]]
    np.testing.assert_array_equal(gz.FeatureStore("column.gd").get_tensor(), expected)


def test_a_data_set_keeps_a_reordered_attribute(tiny_gd, tmp_path):
    gz.reorder(tiny_gd, "hot.gd", order=[2, 0, 3, 1])
    with gz.DatasetWriter("folder") as writer:
        writer.add_nodes({"x": "hot.gd"}, num_nodes=4)
        writer.add_edges([0, 1], [1, 2])
    with gz.open("folder") as data:
        assert data.features("x").reordered
        assert data.features("x").gather([2, 0])[:, 0].tolist() == [6, 0]
    assert all(check.holds for check in gz.verify("folder"))


@posix_only(reason=NO_LIMITS)
@pytest.mark.parametrize("call", ["reorder", "convert"])
def test_a_full_disk_is_an_error_and_leaves_nothing(call, tmp_path):
    gz.write_features("x.gd", np.zeros((1 << 18, 2)))
    done = run(f"""
        import resource, signal, errno, numpy as np, graphzero as gz
        order = np.arange(1 << 18)[::-1]
        limit = {1 << 20 if call == "reorder" else (4 << 20) + 9000}
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            if {call!r} == "reorder":
                gz.reorder("x.gd", "y.gd", order=order)
            else:
                gz.convert_features("x.gd", "y.gd", order=order)
        except OSError as error:
            assert error.errno == errno.EFBIG, error
        else:
            raise SystemExit("no error")
    """)
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir() == ["x.gd"]


def test_a_killed_conversion_leaves_what_the_next_one_removes(tmp_path):
    code = """
        import os, numpy as np, graphzero as gz, graphzero.convert.features as module
        module.reorder = lambda *given, **options: os.kill(os.getpid(), 9)
        gz.convert_features(np.ones((5, 2)), "x.gd", order=[4, 3, 2, 1, 0])
    """
    assert killed(run(code).returncode)
    (left,) = os.listdir()
    assert left.endswith(".graphzero-tmp")
    gz.convert_features(np.ones((5, 2)), "x.gd", order=[4, 3, 2, 1, 0])
    assert os.listdir() == ["x.gd"]


def test_ctrl_c_stops_it_and_leaves_nothing(tmp_path):
    large()
    done = run("""
        import signal, threading, time, numpy as np, graphzero as gz
        from graphzero import _core
        order = np.random.default_rng(0).permutation(gz.FeatureStore("x.gd").num_rows)
        places = _core.RowPlaces.in_order(order, len(order))
        reorderer = _core.FeatureReorderer(b"x.gd")

        def interrupt():
            while reorderer.done() == 0:
                time.sleep(0.0001)
            signal.raise_signal(signal.SIGINT)

        threading.Thread(target=interrupt).start()
        try:
            reorderer.write(b"y.gd", places, 32 << 20, b".")
        except KeyboardInterrupt:
            print("stopped")
    """)
    assert done.stdout == "stopped\n", done.stderr
    assert os.listdir() == ["x.gd"]


def test_progress_counts_to_its_total(tmp_path, capsys):
    array = some((300, 7))
    gz.write_features("x.gd", array)
    order = _core.RowPlaces.in_order(shuffled(300), 300)
    reorderer = _core.FeatureReorderer(b"x.gd")
    reorderer.write(b"y.gd", order, 1 << 30, b".")
    assert reorderer.done() == reorderer.total(1 << 30) == 2 * array.nbytes
    gz.reorder("x.gd", "y.gd", order=shuffled(300), progress=True)
    assert "ordering rows" in capsys.readouterr().err


def test_progress_counts_both_passes_of_a_large_file(tmp_path):
    rows, order = large()
    reorderer = _core.FeatureReorderer(b"x.gd")
    reorderer.write(b"y.gd", _core.RowPlaces.in_order(order, len(order)), 32 << 20, b".")
    assert reorderer.done() == reorderer.total(32 << 20) == 4 * rows.nbytes


@posix_only(reason=NO_LIMITS)
def test_descriptors_are_given_back(tiny_gd, tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        gz.reorder(tiny_gd, "y.gd", order=[3, 2, 1, 0])
        with pytest.raises(ValueError, match="order: expected 4 ids"):
            gz.reorder(tiny_gd, "z.gd", order=[0])
    assert len(os.listdir("/proc/self/fd")) == before
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 0

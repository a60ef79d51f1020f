"""Topology files: golden bytes, the slow writer's bytes, and docs/formats/gl.md invariant by invariant."""

import re
from pathlib import Path

import numpy as np
import pytest

import files
import graphzero as gz
import oracle
from files import BIPARTITE, DIRECTED, GL_FIELDS, HEADER, Broken, entry_field, patched

DATA = Path(__file__).parent.parent / "data"

TINY = {"src": [0, 0, 1, 3], "dst": [1, 2, 2, 0]}
# A self-loop, a duplicate edge, a node without edges, equal times.
RICH = {
    "src": [4, 0, 3, 0, 3, 1, 0],
    "dst": [1, 3, 3, 1, 0, 1, 3],
    "weight": [0.5, 0.0, 2.0, 1.5, 0.25, 8.0, 3.0],
    "time": [9, 5, -1, 7, 7, 7, 5],
}
RANDOM = {
    "src": np.random.default_rng(1).integers(0, 60, 900),
    "dst": np.random.default_rng(2).integers(0, 60, 900),
    "weight": np.random.default_rng(3).random(900, dtype=np.float32),
    "time": np.random.default_rng(4).integers(-5, 5, 900),
}
SIDES = {"src": [0, 2, 2, 1, 0], "dst": [6, 0, 6, 3, 1], "num_nodes": (3, 7)}
NOTHING = {"src": [], "dst": []}


def arrays_of(src, dst, num_src, num_dst, *, weight=None, time=None, directed=True, index="both"):
    """The sections of a graph in file order, from the oracle's lists."""
    arrays = {}
    for side in ("out", "in"):
        if side != "out" if not directed else index not in (side, "both"):
            continue
        num_lists = num_src if side == "out" else num_dst
        indptr, indices, edges = oracle.index_of(num_lists, src, dst, direction=side, directed=directed, time=time)
        arrays[f"{side}_indptr"] = np.array(indptr, np.int64)
        arrays[f"{side}_indices"] = np.array(indices, np.int32)
        if edges != list(range(len(edges))):
            arrays[f"{side}_edge_ids"] = np.array(edges, np.int32)
        if weight is not None:
            arrays[f"{side}_weights"] = np.array([weight[edge] for edge in edges], np.float32)
        if time is not None:
            arrays[f"{side}_times"] = np.array([time[edge] for edge in edges], np.int64)
        if weight is not None:
            arrays[f"{side}_weight_sums"] = np.array(oracle.weight_sums(indptr, arrays[f"{side}_weights"]), np.float64)
    return arrays


def slow_gl(src, dst, num_nodes=None, **options):
    """What gz.write_graph should write."""
    src, dst = [int(node) for node in src], [int(node) for node in dst]
    if num_nodes is None:
        num_nodes = max([*src, *dst], default=-1) + 1
    pair = num_nodes if isinstance(num_nodes, tuple) else (num_nodes, num_nodes)
    flags = DIRECTED * options.get("directed", True) | BIPARTITE * isinstance(num_nodes, tuple)
    arrays = arrays_of(src, dst, *pair, **options)
    return files.build(files.gl(arrays, num_nodes=pair, num_input_edges=len(src), flags=flags))


VARIANTS = {
    "tiny": TINY,
    "weighted and timed": RICH,
    "undirected": {**RICH, "directed": False},
    "undirected without times": {"src": RICH["src"], "dst": RICH["dst"], "directed": False},
    "bipartite": SIDES,
    "bipartite, weighted": {**SIDES, "weight": [1, 2, 3, 4, 5]},
    "in index only": {**RICH, "index": "in"},
    "out index only": {**RICH, "index": "out"},
    "nodes beyond the last edge": {**TINY, "num_nodes": 5000},
    "lists of 16 and 32": {"src": np.repeat([0, 1, 3], [16, 32, 16]), "dst": np.arange(64), "weight": np.full(64, 0.1)},
    "lists around 16": {
        "src": np.repeat(range(9), [15, 1, 17, 0, 31, 16, 1, 15, 1]),
        "dst": [0] * 97,
        "weight": [1 / 3] * 97,
    },
    "a hub": {"src": [2] * 500 + [1] * 5, "dst": range(505), "weight": np.logspace(-30, 30, 505)},
    "no edges": {**NOTHING, "num_nodes": 3},
    "no edges, weighted and timed": {**NOTHING, "num_nodes": 3, "weight": [], "time": []},
    "no edges, undirected": {**NOTHING, "num_nodes": 3, "directed": False},
    "no nodes": NOTHING,
    "no nodes on one side": {**NOTHING, "num_nodes": (0, 4)},
    "random": RANDOM,
    "random, undirected": {**RANDOM, "directed": False},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_writer_writes_the_bytes_of_the_slow_one(name, tmp_path):
    gz.write_graph(tmp_path / "fast.gl", **VARIANTS[name])
    assert (tmp_path / "fast.gl").read_bytes() == slow_gl(**VARIANTS[name])


@pytest.mark.parametrize("name", VARIANTS)
def test_what_the_slow_writer_wrote_passes_every_check(name, tmp_path):
    path = files.write(tmp_path / "slow.gl", slow_gl(**VARIANTS[name]))
    assert [check for check in gz.verify(path) if not check.holds] == []


@pytest.mark.parametrize("name", VARIANTS)
def test_arrays_are_those_of_the_file(name, tmp_path):
    data = slow_gl(**VARIANTS[name])
    graph = gz.Graph(files.write(tmp_path / "slow.gl", data))
    expected = files.read_gl(data).arrays
    for side in graph.indexes if graph.directed else ("out",):
        index = graph.index(side)
        for role in files.ROLES:
            array = getattr(index, role)
            if f"{side}_{role}" not in expected:
                assert array is None
                continue
            assert array.dtype == expected[f"{side}_{role}"].dtype
            np.testing.assert_array_equal(array, expected[f"{side}_{role}"])


def test_the_golden_file_is_written_byte_for_byte(tiny_gl):
    golden = (DATA / "tiny.gl").read_bytes()
    assert Path(tiny_gl).read_bytes() == golden
    assert slow_gl(**TINY) == golden


def test_the_golden_file_holds_the_tiny_graph():
    graph = gz.Graph(DATA / "tiny.gl", verify="full")
    assert [graph.neighbors(node).tolist() for node in range(4)] == [[1, 2], [2], [], [0]]
    assert [graph.neighbors(node, "in").tolist() for node in range(4)] == [[3], [0], [0, 1], []]
    assert graph.edge_ids is None
    assert graph.index("in").edge_ids.tolist() == [3, 0, 1, 2]


def test_ids_of_eight_bytes_open_in_a_small_graph(tmp_path):
    arrays = arrays_of(RICH["src"], RICH["dst"], 5, 5)
    wide = {name: array.astype(np.int64) for name, array in arrays.items()}
    path = files.write(tmp_path / "wide.gl", files.build(files.gl(wide, num_nodes=5, num_input_edges=7)))
    graph = gz.Graph(path, verify="full")
    assert graph.id_dtype == np.int64
    assert graph.neighbors(0).tolist() == [1, 3, 3]


def test_fewer_entries_than_input_edges_open(tmp_path):
    """A converter may leave out duplicates and self-loops; edge ids then have gaps."""
    arrays = arrays_of([0, 1], [1, 2], 3, 3)
    for side in ("out", "in"):
        arrays[f"{side}_edge_ids"] = np.array([2, 5], np.int32)
    path = files.write(tmp_path / "gaps.gl", files.build(files.gl(arrays, num_nodes=3, num_input_edges=9)))
    graph = gz.Graph(path, verify="full")
    assert graph.edge_ids.tolist() == [2, 5]
    assert (graph.num_edges, graph.num_input_edges) == (2, 9)


RICH_ARRAYS = arrays_of(num_src=5, num_dst=5, **RICH)
NAMES = list(RICH_ARRAYS)


def changed(without=(), num_nodes=5, num_input_edges=7, flags=DIRECTED, num_edges=7, **arrays):
    """The rich graph with other arrays, all checksums right."""
    merged = {name: array for name, array in (RICH_ARRAYS | arrays).items() if name not in without}
    return files.build(
        files.gl(merged, num_nodes=num_nodes, num_input_edges=num_input_edges, flags=flags, num_edges=num_edges)
    )


def with_items(name, items):
    """The rich graph with some items {position: value} of one array changed, all checksums right."""
    array = RICH_ARRAYS[name].copy()
    for position, value in items.items():
        array[position] = value
    return changed(**{name: array})


def field(name):
    return GL_FIELDS[name]


def at(name, part):
    """The byte of a field of a section's table entry."""
    return entry_field(NAMES.index(name), part)[0]


RICH_GL = changed()
OUT = [name for name in NAMES if name.startswith("out")]
IN = [name for name in NAMES if name.startswith("in_")]

BROKEN = [
    Broken(
        "GL1",
        "an unknown flag",
        patched(RICH_GL, {HEADER["flags"]: 5}),
        "bad flags at byte 36: expected only bits 0 and 1, found 5",
    ),
    Broken(
        "GL2",
        "bipartite and undirected",
        changed(without=IN, flags=BIPARTITE),
        "bad flags at byte 36: expected a bipartite graph to be directed, found an undirected one",
    ),
    *(
        Broken(
            "GL3",
            f"too large a {name}",
            patched(RICH_GL, {field(name): count}),
            f"bad {words} at byte {field(name)[0]}: expected at most 2.59, found {count}",
        )
        for name, words in (
            ("num_src_nodes", "source node count"),
            ("num_dst_nodes", "destination node count"),
            ("num_edges", "edge count"),
            ("num_input_edges", "input edge count"),
        )
        for count in (2**59 + 1, 2**64 - 1)
    ),
    Broken(
        "GL4",
        "sides of different size",
        changed(num_nodes=(5, 6), in_indptr=np.append(RICH_ARRAYS["in_indptr"], 7)),
        "bad destination node count at byte 72: expected 5 .*, found 6",
    ),
    Broken(
        "GL5",
        "more entries than edges",
        changed(num_input_edges=6),
        "bad edge count at byte 80: expected at most 1 for each of the 6 input edges, found 7",
    ),
    Broken(
        "GL5",
        "more than two entries an edge",
        changed(without=IN, flags=0, num_input_edges=3),
        "bad edge count at byte 80: expected at most 2 for each of the 3 input edges, found 7",
    ),
    Broken(
        "GL6",
        "a byte behind the fields",
        patched(RICH_GL, {(96, "B"): 1}),
        "bad reserved bytes at byte 96: expected zeros",
    ),
    Broken(
        "GL6",
        "the byte before the table",
        patched(RICH_GL, {(255, "B"): 1}),
        "bad reserved bytes at byte 96: expected zeros",
    ),
    Broken(
        "GL7",
        "indices that are floats",
        changed(out_indices=RICH_ARRAYS["out_indices"].astype(np.float32)),
        f"bad dtype of section out_indices at byte {at('out_indices', 'dtype')}: expected int32 or int64, found float32",
    ),
    Broken(
        "GL7",
        "edge ids of two bytes",
        changed(in_edge_ids=RICH_ARRAYS["in_edge_ids"].astype(np.int16)),
        f"bad dtype of section in_edge_ids at byte {at('in_edge_ids', 'dtype')}: expected int32 or int64, found int16",
    ),
    Broken(
        "GL7",
        "indices of two widths",
        changed(in_indices=RICH_ARRAYS["in_indices"].astype(np.int64)),
        f"bad dtype of section in_indices at byte {at('in_indices', 'dtype')}: expected int32 as in the other index, found int64",
    ),
    Broken(
        "GL7",
        "edge ids of two widths",
        changed(out_edge_ids=RICH_ARRAYS["out_edge_ids"].astype(np.int64)),
        f"bad dtype of section in_edge_ids at byte {at('in_edge_ids', 'dtype')}: expected int64 as in the other index, found int32",
    ),
    Broken(
        "GL8",
        "more nodes than int32 can name",
        patched(RICH_GL, {field("num_src_nodes"): 2**31 + 1, field("num_dst_nodes"): 2**31 + 1}),
        f"bad dtype of section out_indices at byte {at('out_indices', 'dtype')}: expected int64 for ids up to {2**31}, found int32",
    ),
    Broken(
        "GL8",
        "more edges than int32 can name",
        patched(RICH_GL, {field("num_input_edges"): 2**31 + 1}),
        f"bad dtype of section out_edge_ids at byte {at('out_edge_ids', 'dtype')}: expected int64 for ids up to {2**31}, found int32",
    ),
    *(
        Broken(
            "GL9",
            f"{name} of another type",
            changed(**{name: RICH_ARRAYS[name].astype(dtype)}),
            f"bad dtype of section {name} at byte {at(name, 'dtype')}: expected {RICH_ARRAYS[name].dtype}, found {dtype}",
        )
        for name, dtype in (
            ("out_indptr", "int32"),
            ("in_indptr", "float64"),
            ("out_weights", "float64"),
            ("in_weights", "int32"),
            ("out_times", "int32"),
            ("in_times", "float64"),
            ("out_weight_sums", "float32"),
            ("in_weight_sums", "int64"),
        )
    ),
    *(
        Broken(
            "GL10",
            f"{name} one item {'short' if change < 0 else 'long'}",
            changed(**{name: np.resize(RICH_ARRAYS[name], len(RICH_ARRAYS[name]) + change)}),
            f"bad length of section {name} at byte {at(name, 'length')}: expected {RICH_ARRAYS[name].nbytes} bytes "
            f"for {len(RICH_ARRAYS[name])} items, found {RICH_ARRAYS[name].nbytes + change * RICH_ARRAYS[name].itemsize}",
        )
        for name in NAMES
        for change in (-1, 1)
    ),
    Broken(
        "GL10",
        "half an item",
        patched(RICH_GL, {entry_field(1, "length"): 26}),
        f"bad length of section out_indices at byte {at('out_indices', 'length')}: expected 28 bytes for 7 items, found 26",
    ),
    Broken(
        "GL11",
        "no out_indices",
        changed(without=["out_indices"]),
        "the out index is incomplete: expected sections indptr and indices, found no indices",
    ),
    Broken(
        "GL11",
        "no in_indptr",
        changed(without=["in_indptr"]),
        "the in index is incomplete: expected sections indptr and indices, found no indptr",
    ),
    Broken("GL12", "no index", changed(without=NAMES), "expected an out or an in index, found neither"),
    Broken(
        "GL13",
        "undirected with both indexes",
        changed(flags=0),
        "an undirected graph stores one index: expected the out index alone, found an in index",
    ),
    Broken(
        "GL13",
        "undirected with an in index",
        changed(flags=0, without=OUT),
        "an undirected graph stores one index: expected the out index alone, found an in index",
    ),
    Broken(
        "GL11",
        "only in_weight_sums",
        changed(without=[name for name in IN if name != "in_weight_sums"]),
        "the in index is incomplete: expected sections indptr and indices, found no indptr",
    ),
    Broken(
        "GL14",
        "weights on one side",
        changed(without=["in_weights", "in_weight_sums"]),
        "expected weights in both indexes or in none, found them in one",
    ),
    Broken(
        "GL14",
        "weight sums on one side",
        changed(without=["out_weight_sums"]),
        "expected weight sums in both indexes or in none, found them in one",
    ),
    Broken("GL14", "times on one side", changed(without=["out_times"]), "expected times in both indexes or in none"),
    Broken(
        "GL15",
        "undirected without edge ids",
        changed(flags=0, without=[*IN, "out_edge_ids"], num_input_edges=4),
        "expected a section out_edge_ids, found none: .* 7 entries made from 4 edges",
    ),
    *(
        Broken(
            "GL26",
            f"{side} sums of no weights",
            changed(without=["out_weights", "in_weights", *other]),
            f"expected a section {side}_weights beside {side}_weight_sums, found none",
        )
        for side, other in (("out", []), ("in", ["out_weight_sums"]))
    ),
]


def undirected(**arrays):
    """The rich graph as an undirected one with some arrays changed, all checksums right."""
    merged = arrays_of(num_src=5, num_dst=5, directed=False, **RICH) | arrays
    return files.build(files.gl(merged, num_nodes=5, num_input_edges=7, flags=0))


def sides(**arrays):
    """The bipartite graph with some arrays changed, all checksums right."""
    merged = arrays_of(SIDES["src"], SIDES["dst"], 3, 7) | arrays
    flags = DIRECTED | BIPARTITE
    return files.build(files.gl(merged, num_nodes=(3, 7), num_input_edges=5, flags=flags))


def untimed(src, dst, num_nodes, **arrays):
    merged = arrays_of(src, dst, num_nodes, num_nodes, index="out") | arrays
    return files.build(files.gl(merged, num_nodes=num_nodes, num_input_edges=len(src)))


def with_sum(side, item, value):
    """Lists of 40, 8, 16 and 32 entries with weights 0.5, on both sides, and one stored sum changed."""
    src = np.repeat([0, 1, 2, 3], [40, 8, 16, 32]).tolist()
    merged = arrays_of(src, src, 4, 4, weight=[0.5] * 96)
    assert merged[f"{side}_weight_sums"].tolist() == [0, 8, 16, 0, 0, 8]
    merged[f"{side}_weight_sums"][item] = value
    return files.build(files.gl(merged, num_nodes=4, num_input_edges=96))


ids = np.int32
BOTH_WAYS = arrays_of(num_src=5, num_dst=5, directed=False, **RICH)

DAMAGED = [
    Broken(
        "GL16",
        "indptr from 1",
        with_items("out_indptr", {0: 1}),
        r"out index: indptr .*: out_indptr\[0\]: expected 0, found 1",
    ),
    Broken(
        "GL16",
        "indptr from -1",
        with_items("in_indptr", {0: -1}),
        r"in index: indptr .*: in_indptr\[0\]: expected 0, found -1",
    ),
    Broken(
        "GL17",
        "indptr falls",
        with_items("out_indptr", {1: 5}),
        r"out index: indptr .*: out_indptr\[2\]: expected at least 5, found 4",
    ),
    Broken(
        "GL17",
        "indptr beyond 2^62",
        with_items("in_indptr", {2: 2**62}),
        r"in index: indptr .*: in_indptr\[3\]: expected at least 4611686018427387904, found",
    ),
    Broken(
        "GL18",
        "indptr ends early",
        with_items("out_indptr", {5: 6}),
        r"out index: indptr .*: out_indptr\[5\]: expected the edge count 7, found 6",
    ),
    Broken(
        "GL18",
        "indptr ends late",
        with_items("in_indptr", {5: 8}),
        r"in index: indptr .*: in_indptr\[5\]: expected the edge count 7, found 8",
    ),
    Broken(
        "GL19",
        "a destination too large",
        with_items("out_indices", {6: 5}),
        r"out index: lists .*: out_indices\[6\] of node 4: expected an id below 5, found 5",
    ),
    Broken(
        "GL19",
        "a negative source",
        with_items("in_indices", {0: -1}),
        r"in index: lists .*: in_indices\[0\] of node 0: expected an id below 5, found -1",
    ),
    Broken(
        "GL19",
        "a source that only the other side has",
        sides(in_indices=np.array([2, 0, 1, 0, 5], ids)),
        r"in index: lists .*: in_indices\[4\] of node 6: expected an id below 3, found 5",
    ),
    Broken(
        "GL20",
        "an edge id too large",
        with_items("out_edge_ids", {0: 7}),
        r"out index: lists .*: out_edge_ids\[0\]: expected an id below 7, found 7",
    ),
    Broken(
        "GL20",
        "a negative edge id",
        with_items("in_edge_ids", {0: -2}),
        r"in index: lists .*: in_edge_ids\[0\]: expected an id below 7, found -2",
    ),
    *(
        Broken(
            "GL21",
            f"a weight of {value}",
            with_items(f"{side}_weights", {3: value}),
            rf"{side} index: lists .*: {side}_weights\[3\]: expected a finite number that is not negative, found {value}",
        )
        for side in ("out", "in")
        for value in (-1, np.inf, -np.inf, np.nan)
    ),
    Broken(
        "GL22",
        "times out of order",
        with_items("out_times", {0: 9}),
        r"out index: lists .*: out_times\[1\]: expected at least 9, found 5",
    ),
    Broken(
        "GL22",
        "neighbours of one time out of order",
        with_items("in_indices", {1: 2}),
        r"in index: lists .*: in_indices\[2\]: expected at least 2, found 1",
    ),
    Broken(
        "GL22",
        "neighbours out of order",
        untimed([0, 0, 1], [1, 2, 0], 3, out_indices=np.array([2, 1, 0], ids)),
        r"out index: lists .*: out_indices\[1\]: expected at least 2, found 1",
    ),
    Broken(
        "GL22",
        "edge ids of one neighbour out of order",
        untimed([0, 0, 1], [1, 1, 0], 2, out_edge_ids=np.array([1, 0, 2], ids)),
        r"out index: lists .*: out_edge_ids\[1\]: expected at least 1, found 0",
    ),
    Broken(
        "GL23",
        "an edge id twice, another never",
        untimed([0, 0, 1], [1, 2, 0], 3, out_edge_ids=np.array([0, 2, 2], ids)),
        "out index: edge ids are complete: expected each edge id from 0 to 2 to appear once, found some missing",
    ),
    Broken(
        "GL23",
        "an edge id four times, another never",
        undirected(out_edge_ids=np.where(BOTH_WAYS["out_edge_ids"] == 1, 6, BOTH_WAYS["out_edge_ids"]).astype(ids)),
        "out index: edge ids are complete: expected each edge id from 0 to 6 to appear twice, found some missing",
    ),
    Broken(
        "GL24",
        "one end of an edge moved",
        undirected(out_indices=np.where(np.arange(14) == 13, 2, BOTH_WAYS["out_indices"]).astype(ids)),
        "every edge is stored both ways: expected each u-v beside v-u",
    ),
    Broken(
        "GL24",
        "another weight one way",
        undirected(out_weights=np.where(np.arange(14) == 0, 7.5, BOTH_WAYS["out_weights"]).astype(np.float32)),
        "every edge is stored both ways: expected each u-v beside v-u",
    ),
    Broken(
        "GL24",
        "another time one way",
        undirected(out_times=np.where(np.arange(14) == 13, 10, BOTH_WAYS["out_times"])),
        "every edge is stored both ways: expected each u-v beside v-u",
    ),
    Broken(
        "GL25",
        "another source",
        sides(in_indices=np.array([2, 1, 1, 0, 2], ids)),
        "both indexes hold the same edges: expected the in index to mirror the out index",
    ),
    Broken(
        "GL25",
        "edge ids exchanged",
        sides(in_edge_ids=np.array([4, 1, 3, 0, 2], ids)),
        "both indexes hold the same edges: expected the in index to mirror the out index",
    ),
    Broken(
        "GL25",
        "another weight",
        with_items("in_weights", {0: 16}),
        "both indexes hold the same edges: expected the in index to mirror the out index",
    ),
    Broken(
        "GL25",
        "another time",
        with_items("in_times", {6: 6}),
        "both indexes hold the same edges: expected the in index to mirror the out index",
    ),
    *(
        Broken(
            "GL27",
            what,
            with_sum(side, item, value),
            rf"{side} index: lists .*: {side}_weight_sums\[{item}\]: expected {expected}, "
            rf"the weights before entry {16 * item} of its list, found {found}",
        )
        for what, side, item, value, expected, found in (
            ("a sum of too few weights", "out", 2, 15.5, 16, 15.5),
            ("a sum of the list before", "out", 3, 4, 0, 4),
            ("a sum that runs on from another list", "in", 4, 8, 0, 8),
            ("the last bit of a sum", "in", 5, np.nextafter(8, 9), 8, "8.000000000000002"),
            ("a first sum that is not 0", "out", 0, 1e-300, 0, "1e-300"),
            ("a first sum of another 0", "in", 0, -0.0, 0, "-0"),
            ("a negative sum", "out", 1, -8, 8, -8),
            ("a sum that is no number", "in", 1, np.nan, 8, "nan"),
        )
    ),
]


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_a_broken_header_does_not_open(broken, tmp_path):
    path = files.write(tmp_path / "broken.gl", broken.data)
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: {broken.message}"):
        gz.Graph(path)
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: {broken.message}"):
        gz.verify(path)


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_the_slow_reader_finds_the_same_invariant_broken(broken):
    with pytest.raises(files.BadFile, match=f"^{broken.invariant}$"):
        files.read_gl(broken.data)


@pytest.mark.parametrize("broken", DAMAGED, ids=str)
def test_damage_behind_the_header_is_found_by_a_full_check(broken, tmp_path):
    path = files.write(tmp_path / "damaged.gl", broken.data)
    gz.Graph(path).close()
    with pytest.raises(gz.FormatError, match=f"^{re.escape(str(path))}: {broken.message}"):
        gz.Graph(path, verify="full")
    problems = [f"{check.name}: {check.problem}" for check in gz.verify(path) if not check.holds]
    assert re.match(broken.message, problems[0])


def test_sums_of_weights_may_be_left_out(tmp_path):
    without = [name for name in NAMES if name.endswith("weight_sums")]
    graph = gz.Graph(files.write(tmp_path / "g.gl", changed(without=without)), verify="full")
    assert graph.weights.tolist() == RICH_ARRAYS["out_weights"].tolist()


def test_a_reader_that_does_not_know_sums_of_weights_may_skip_them(tmp_path):
    gz.write_graph(tmp_path / "g.gl", **RICH)
    older = {kind: name for kind, name in files.NAMES.items() if not name.endswith("weight_sums")}
    container = files.parse((tmp_path / "g.gl").read_bytes(), files.MAGIC["gl"], older)
    assert [s.kind for s in container.sections if s.flags != files.REQUIRED] == [6, 22]


def test_every_invariant_has_a_broken_file():
    assert {case.invariant for case in BROKEN} == set(files.invariants("gl.md", "O(1)"))
    assert {case.invariant for case in DAMAGED} == set(files.invariants("gl.md", "full"))


@pytest.mark.parametrize("value", [-1, 8, 2**62, -(2**63)])
def test_a_corrupt_offset_is_refused_where_it_is_followed(value, tmp_path):
    graph = gz.Graph(files.write(tmp_path / "corrupt.gl", with_items("out_indptr", {2: value})))
    message = f"corrupt.gl: corrupt indptr at node 1: expected 0 <= begin <= end <= 7, found begin 3, end {value}"
    with pytest.raises(gz.FormatError, match=message):
        graph.neighbors(1)
    with pytest.raises(gz.FormatError, match=message):
        graph.degree([0, 1])
    with pytest.raises(gz.FormatError, match=message):
        graph.get_neighbours(1)
    assert graph.neighbors(0).tolist() == [3, 3, 1]

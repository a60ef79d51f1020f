"""Ids and offsets that lead outside, in files whose checksums are right: an error that says where, everywhere.

Most run in a process of their own, as a crash would take this one with it.
"""

from pathlib import Path

import numpy as np
import pytest

import files
import graphzero as gz
from faults import run
from graphzero.dataset import EDGE
from graphzero.loaders import LinkNeighborLoader, NeighborLoader

NUM_NODES, NUM_EDGES = 200, 2_000
READERS = ["mmap", "direct", "pread"]
FAR = 2**31 - 1  # the furthest an int32 leads
BAD_EDGE = rf"bad.gl: corrupt edge_ids at entry \d+: expected an edge id below {NUM_EDGES}, found "


def pairs():
    rng = np.random.default_rng(0)
    return rng.integers(0, NUM_NODES, NUM_EDGES), rng.integers(0, NUM_NODES, NUM_EDGES)


def damaged(path="bad.gl", *, directed=True, index="both", num_input_edges=NUM_EDGES, drop=(), **changes):
    """Write a graph, and once more with some of its arrays changed and others left out."""
    gz.write_graph("good.gl", *pairs(), num_nodes=NUM_NODES, directed=directed, index=index)
    arrays = dict(files.read_gl(Path("good.gl").read_bytes()).arrays)
    for name, change in changes.items():
        arrays[name] = change(arrays[name].copy())
    for name in drop:
        del arrays[name]
    container = files.gl(
        arrays,
        num_nodes=NUM_NODES,
        num_input_edges=num_input_edges,
        flags=files.DIRECTED if directed else 0,
    )
    return files.write(path, files.build(container))


def every(step, value):
    """Change every ``step``-th item, the first among them."""

    def change(array):
        array[::step] = value
        return array

    return change


def write_features():
    gz.write_features("x.gd", np.arange(2 * NUM_NODES, dtype=np.float32).reshape(-1, 2))
    gz.write_features("e.gd", np.arange(3 * NUM_EDGES, dtype=np.float32).reshape(-1, 3))


@pytest.mark.parametrize("value", [NUM_EDGES, FAR, -1, -(2**31)])
@pytest.mark.parametrize(
    "options",
    [{}, {"replace": True}, {"method": "labor"}, {"subgraph_type": "induced"}, {"subgraph_type": "bidirectional"}],
)
def test_no_sample_has_an_edge_id_that_leads_outside(value, options):
    graph = gz.Graph(damaged(in_edge_ids=every(1, value), out_edge_ids=every(1, value)))
    for direction in ("in", "out"):
        with pytest.raises(gz.FormatError, match=BAD_EDGE + str(value)):
            gz.sample_neighbors(graph, range(50), [5, 5], direction=direction, **options).edge  # noqa: B018


def test_edge_ids_of_eight_bytes_are_looked_at_too():
    def wide(array):
        return every(1, 2**62)(array.astype(np.int64))

    graph = gz.Graph(damaged(in_edge_ids=wide, out_edge_ids=wide))
    with pytest.raises(gz.FormatError, match=BAD_EDGE + str(2**62)):
        gz.sample_neighbors(graph, [0, 1, 2], [5]).edge  # noqa: B018


def test_edge_ids_of_an_undirected_graph_are_looked_at_too():
    graph = gz.Graph(damaged(directed=False, out_edge_ids=every(1, NUM_EDGES)))
    for options in ({}, {"subgraph_type": "bidirectional"}):
        with pytest.raises(gz.FormatError, match=BAD_EDGE + str(NUM_EDGES)):
            gz.sample_neighbors(graph, range(50), [5], **options).edge  # noqa: B018


def test_ids_of_edges_to_leave_out_are_compared_with_good_ones_only():
    graph = gz.Graph(damaged(in_edge_ids=every(1, FAR), out_edge_ids=every(1, FAR)))
    src, dst = pairs()
    with pytest.raises(gz.FormatError, match=BAD_EDGE + str(FAR)):
        gz.sample_neighbors(graph, dst[:9], [5], exclude=(src[:9], dst[:9], np.arange(9)))


def test_positions_stand_for_edge_ids_only_where_there_are_as_many():
    path = damaged(index="out", num_input_edges=NUM_EDGES, drop=["out_edge_ids"])
    assert gz.sample_neighbors(gz.Graph(path), [0], [3], direction="out").edge.max() < NUM_EDGES
    path = damaged(directed=False, drop=["out_edge_ids"])
    with pytest.raises(gz.FormatError, match="positions cannot be the edge ids of 4000 entries made from 2000 edges"):
        gz.Graph(path)


PIPELINE = """
import json, graphzero as gz
gz.set_num_threads(2)
count, message = 0, None
pipeline = gz.Pipeline(gz.Graph("bad.gl"), None, [{fanout}], features=gz.FeatureStore("x.gd"),
                       edge_features=gz.FeatureStore("{edges}"), batch_size=20, reader="{reader}", cache=0)
try:
    for batch in pipeline:
        count += 1
except gz.FormatError as error:
    message = str(error)
print(json.dumps([count, message]))
"""


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("value", [NUM_EDGES, FAR, -1])
@pytest.mark.parametrize("edges", ["e.gd", "hot.gd"])
def test_a_pipeline_reads_no_row_that_is_not_there(reader, value, edges):
    write_features()
    gz.reorder("e.gd", "hot.gd", order=np.random.default_rng(1).permutation(NUM_EDGES))
    damaged(in_edge_ids=every(7, value))
    count, message = run(PIPELINE.format(fanout=-1, reader=reader, edges=edges))
    assert count == 0
    assert f"expected an edge id below {NUM_EDGES}, found {value}" in message


@pytest.mark.parametrize("reader", READERS)
def test_a_pipeline_goes_to_no_node_that_is_not_there(reader):
    write_features()
    damaged(in_indices=every(7, FAR))
    count, message = run(PIPELINE.format(fanout=-1, reader=reader, edges="e.gd"))
    assert count == 0
    assert f"expected a node id below {NUM_NODES}, found {FAR}" in message


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("value", [NUM_EDGES, FAR, -1])
def test_a_row_map_of_edges_leads_to_no_row_that_is_not_there(reader, value):
    write_features()
    damaged()
    places = np.random.default_rng(1).permutation(NUM_EDGES).astype(np.int32)
    places[::7] = value
    rows = np.zeros((NUM_EDGES, 3), np.float32)
    files.write("bad.gd", files.build(files.gd(rows, row_map=places)))
    _, message = run(PIPELINE.format(fanout=-1, reader=reader, edges="bad.gd"))
    assert f"expected a place below {NUM_EDGES}, found {value}" in message


@pytest.mark.parametrize("reader", READERS)
def test_a_row_map_leads_to_no_scale_that_is_not_there(reader):
    places = np.arange(NUM_EDGES, dtype=np.int32)
    places[5] = -3
    rows, scales = np.ones((NUM_EDGES, 3), np.int8), np.ones(NUM_EDGES, np.float32)
    store = gz.FeatureStore(files.write("bad.gd", files.build(files.gd(rows, scales=scales, row_map=places))))
    message = rf"bad.gd: corrupt row_map at row 5: expected a place below {NUM_EDGES}, found -3"
    for read in (
        lambda: store.gather([4, 5], dtype="float32", reader=reader),
        lambda: store.scales_of([4, 5]),
        lambda: store.get_data(5),
    ):
        with pytest.raises(gz.FormatError, match=message):
            read()


def patch(path, kind, change):
    """Change a section of a file in place: nobody reads its checksum but ``verify``."""
    data = bytearray(Path(path).read_bytes())
    magic = bytes(data[:8])
    section = files.parse(bytes(data), magic, {*files.NAMES, *files.GD_KINDS}).section(kind)
    array = np.frombuffer(section.data, files.STORED[section.dtype]).copy()
    data[section.offset : section.offset + section.length] = change(array).tobytes()
    files.write(path, data)


def with_edges(directed=True, **changes):
    """A data set whose graph is damaged."""
    with gz.DatasetWriter("set") as writer:
        writer.add_nodes({"x": np.ones((NUM_NODES, 2), np.float32)})
        writer.add_edges(*pairs(), directed=directed, attributes={"edge_attr": np.ones((NUM_EDGES, 1), np.float32)})
    with gz.open("set") as data:
        path = data.edges[data.edge_types[0]].graph.path
    for name, change in changes.items():
        patch(path, files.KINDS[name], change)
    return gz.open("set")


def with_split(of, wrong):
    """A data set with a split that names something that is not there."""
    with gz.DatasetWriter("set") as writer:
        writer.add_nodes({"x": np.ones((NUM_NODES, 2), np.float32)})
        writer.add_edges(*pairs())
        writer.add_split("train", [0, 1, 2], of=of)
    with gz.open("set") as data:
        (path,) = (store.path for store in data.stores() if "train" in store.path)
    patch(path, files.DATA, lambda ids: np.array([0, wrong, 2]))
    return gz.open("set")


DAMAGES = {
    "edge id": ("edge_ids", every(7, FAR), f"corrupt edge_ids at entry 0: .* below {NUM_EDGES}, found {FAR}"),
    "negative edge id": ("edge_ids", every(7, -1), f"corrupt edge_ids at entry 0: .* below {NUM_EDGES}, found -1"),
    "neighbour": ("indices", every(7, NUM_NODES), f"corrupt indices at entry 0: .* below {NUM_NODES}, found 200"),
    "negative neighbour": ("indices", every(7, -5), f"corrupt indices at entry 0: .* below {NUM_NODES}, found -5"),
    "offset": ("indptr", every(7, 2**40), "corrupt indptr at node 0: .* found begin 1099511627776"),
    "no entries": ("indptr", every(1, 0), "corrupt indptr at node 200: expected .*000, found 0"),
    "late begin": ("indptr", lambda a: np.maximum(a, 3), "corrupt indptr at node 0: expected 0, found 3"),
}


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("damage", DAMAGES)
def test_edges_that_are_listed_in_memory_are_looked_at_first(damage, directed):
    role, change, message = DAMAGES[damage]
    data = with_edges(directed, **{f"{'in' if directed else 'out'}_{role}": change})
    with pytest.raises(gz.FormatError, match=message):
        data.edge_index  # noqa: B018
    with pytest.raises(gz.FormatError, match=message):
        LinkNeighborLoader(data, [2])


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("side", ["in", "out"])
def test_stores_for_pyg_hand_out_no_array_that_leads_outside(damage, side):
    pytest.importorskip("torch_geometric")
    from graphzero.loaders import GraphStore

    role, change, message = DAMAGES[damage]
    store = GraphStore(with_edges(**{f"{side}_{role}": change}))
    layout = "csc" if side == "in" else "csr"
    for hand_out in (getattr(store, layout), lambda: store.get_edge_index(edge_type=None, layout=layout)):
        with pytest.raises(gz.FormatError, match=message):
            hand_out()


def test_a_loader_says_what_is_wrong_with_the_file():
    data = with_edges(in_edge_ids=every(7, FAR))
    with pytest.raises(gz.FormatError, match=f"corrupt edge_ids at entry .*, found {FAR}"):
        for _ in NeighborLoader(data, [-1], batch_size=20):
            pass


@pytest.mark.parametrize("wrong", [NUM_NODES, -1])
def test_a_split_names_nodes_that_are_there(wrong):
    data = with_split(None, wrong)
    with pytest.raises(gz.FormatError, match=rf"train_mask: nodes: corrupt id at place 1: .* found {wrong}"):
        data.train_mask  # noqa: B018
    with pytest.raises(IndexError, match=str(wrong)):
        next(iter(NeighborLoader(data, [2], "train")))


@pytest.mark.parametrize("wrong", [NUM_EDGES, -1])
def test_a_split_names_edges_that_are_there(wrong):
    with pytest.raises(gz.FormatError, match=rf"edge_label_index: .*: corrupt id at place 1: .* found {wrong}"):
        LinkNeighborLoader(with_split(EDGE, wrong), [2], "train")


def test_rows_for_a_device_are_those_of_a_permutation():
    from graphzero.loaders._device.gpu_rows import _ids_of

    for places, expected in (([2, 0, 1, 3], [1, 2]), ([0, 0, 1, 3], [1, 2])):
        path = files.write("map.gd", files.build(files.gd(np.zeros((4, 2)), row_map=np.array(places, np.int32))))
        assert _ids_of(gz.FeatureStore(path), 0, 2).tolist() == expected
    for places in ([0, 0, 2, 3], [0, -1, 2, 3]):
        path = files.write("map.gd", files.build(files.gd(np.zeros((4, 2)), row_map=np.array(places, np.int32))))
        with pytest.raises(gz.FormatError, match=r"map.gd: corrupt row_map: .* found none for place 1"):
            _ids_of(gz.FeatureStore(path), 0, 2)

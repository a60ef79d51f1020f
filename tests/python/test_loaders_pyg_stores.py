"""Features and graphs as PyG's stores."""

import pickle

import numpy as np
import pytest
import torch

import graphzero as gz
import oracle
from data_sets import pyg
from pyg_cases import CITES, WRITES, A, B, hetero, homogeneous

TensorAttr = pyg().TensorAttr

from graphzero.loaders import GraphStore, PyGFeatureStore  # noqa: E402

EDGE = ("node", "to", "node")
FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")


@pytest.fixture
def case():
    return homogeneous()


@pytest.fixture
def store(case):
    return PyGFeatureStore(case.dataset())


def names(store):
    return [(attr.group_name, attr.attr_name) for attr in store.get_all_tensor_attrs()]


def test_homogeneous_stores_list_nodes_only_and_hetero_ones_everything(store):
    assert names(store) == [(None, "x"), (None, "y")]
    kinds = hetero()
    expected = [(kind, "x") for kind in (A, B)] + [(triple, "edge_attr") for triple in kinds.edges]
    assert names(PyGFeatureStore(kinds.dataset())) == expected


def test_attrs_are_fresh_at_every_call(store):
    for attr in store.get_all_tensor_attrs():
        attr.index = torch.tensor([1])
    assert not any(attr.is_set("index") for attr in store.get_all_tensor_attrs())


@pytest.mark.parametrize(
    "index",
    [
        torch.tensor([3, 0, 3]),
        np.array([3, 0, 3]),
        np.array([5], dtype=np.int32),
        torch.tensor([], dtype=torch.int64),
        slice(2, 30, 3),
        slice(None),
        None,
        7,
        torch.arange(40) % 3 == 0,
    ],
    ids=str,
)
def test_every_index_of_pyg_gives_its_rows(store, case, index):
    whole = torch.from_numpy(case.x)
    expected = whole if index is None else whole[index]
    found = store.get_tensor(None, "x", index)
    assert found.dtype == torch.float32
    assert torch.equal(found, expected)


def test_a_numpy_index_works_in_pygs_own_attr_too(store, case):
    attr = TensorAttr(None, "x", np.array([4, 2]))
    with pytest.raises(ValueError, match="ambiguous"):
        attr.is_fully_specified()
    assert store.get_tensor(attr).tolist() == case.x[[4, 2]].tolist()
    assert store.multi_get_tensor([attr])[0].tolist() == case.x[[4, 2]].tolist()


def test_views_of_the_store_lead_to_rows(store, case):
    assert store[None]["x"][torch.tensor([1, 2])].tolist() == case.x[[1, 2]].tolist()
    assert store[None, "y", None].tolist() == case.y.tolist()


def test_whole_tensors_and_slices_are_views_of_the_file(store):
    mapped = store.data.attributes_by_name("node")["x"].get_tensor()
    assert store.get_tensor(None, "x", None).data_ptr() == mapped.ctypes.data
    assert store.get_tensor(None, "x", slice(2, 4)).data_ptr() == mapped[2:].ctypes.data


def test_rows_of_one_store_are_read_by_one_gather(store, case, monkeypatch):
    calls = []
    gather = gz.FeatureStore.gather

    def counted(self, ids, *args, **options):
        calls.append((self.path, len(ids)))
        return gather(self, ids, *args, **options)

    monkeypatch.setattr(gz.FeatureStore, "gather", counted)
    wanted = [("x", [1, 2]), ("y", [3]), ("x", [5, 1, 0])]
    found = store.multi_get_tensor([TensorAttr(None, name, torch.tensor(ids)) for name, ids in wanted])
    arrays = {"x": case.x, "y": case.y}
    assert [tensor.tolist() for tensor in found] == [arrays[name][ids].tolist() for name, ids in wanted]
    assert sorted(count for _, count in calls) == [1, 5]
    assert len({path for path, _ in calls}) == 2


def test_features_of_edges_are_found_by_edge_type(store, case):
    index = torch.tensor([7, 3])
    assert (
        store.get_tensor(group_name=EDGE, attr_name="edge_attr", index=index).tolist()
        == case.edge_attr[[7, 3]].tolist()
    )
    kinds = hetero()
    several = PyGFeatureStore(kinds.dataset())
    assert several.get_tensor(CITES, "edge_attr", index).tolist() == kinds.edge_attr(CITES)[[7, 3]].tolist()


def test_features_of_edges_beside_plain_graphs(tiny, tiny_gd):
    store = PyGFeatureStore((tiny, gz.FeatureStore(tiny_gd)), edge_features=gz.FeatureStore(tiny_gd))
    for same in (store, pickle.loads(pickle.dumps(store))):
        assert names(same) == [(None, "x")]
        assert same.get_tensor(EDGE, "edge_attr", torch.tensor([3])).tolist() == [[9, 10, 11]]


def test_select_lists_fewer_and_hides_none(store, case):
    chosen = store.select("y")
    assert names(chosen) == [(None, "y")]
    assert names(store) == [(None, "x"), (None, "y")]
    assert chosen.get_tensor(None, "x", 1).tolist() == case.x[1].tolist()
    with pytest.raises(KeyError, match=r"select: no attribute 'z'; there are \['edge_attr', 'x', 'y'\]"):
        store.select("x", "z")


def test_sizes_are_known_without_reading(store, case):
    assert store.get_tensor_size(None, "x") == (40, 3)
    assert store.get_tensor_size(EDGE, "edge_attr") == (len(case.src), 2)


def test_what_is_not_there_is_named(store):
    with pytest.raises(KeyError, match="no attribute 'z' of None; there are .*x of 'node', y of 'node'"):
        store.get_tensor(None, "z", None)
    with pytest.raises(KeyError, match="no attribute 'x' of 'paper'"):
        store.get_tensor_size("paper", "x")
    with pytest.raises(IndexError, match="40"):
        store.get_tensor(None, "x", torch.tensor([40]))
    with pytest.raises(TypeError, match="index: expected integers, found float"):
        store.get_tensor(None, "x", torch.tensor([1.0]))
    with pytest.raises(ValueError, match=r"index: expected a mask of 40 rows, found shape \(2,\)"):
        store.get_tensor(None, "x", torch.tensor([True, False]))


def test_the_store_is_read_only(store):
    tensor = torch.zeros(40, 3)
    with pytest.raises(
        ValueError, match=r"x: this store is read-only; write the tensor with graphzero\.write_features"
    ):
        store.put_tensor(tensor, None, "x", None)
    for remove in (lambda: store.remove_tensor(None, "x", None), lambda: store.update_tensor(tensor, None, "x", None)):
        with pytest.raises(ValueError, match="x: this store is read-only; use select"):
            remove()


def test_a_closed_data_set_says_so(case):
    dataset = case.dataset()
    store = PyGFeatureStore(dataset)
    dataset.close()
    with pytest.raises(ValueError, match="is closed"):
        store.get_tensor(None, "x", torch.tensor([0]))


def test_reordered_rows_come_by_id(case):
    gz.write_features("hot.gd", case.x, order=np.arange(40)[::-1])
    gz.write_graph("g.gl", case.src, case.dst, num_nodes=40)
    store = PyGFeatureStore((gz.Graph("g.gl"), gz.FeatureStore("hot.gd")))
    for index in (torch.tensor([5, 0]), slice(3, 9, 2), 4):
        assert torch.equal(store.get_tensor(None, "x", index), torch.from_numpy(case.x)[index])
    with pytest.raises(ValueError, match="stored hottest first, so no view of it goes by id"):
        store.get_tensor(None, "x", None)


def test_quantised_rows_come_as_their_values(tiny):
    values = np.array([[1, -2, 0.5], [0, 0, 0], [100, 50, 25], [1, 1, 1]], dtype=np.float32)
    gz.convert_features(values, "q.gd", dtype="int8-quantised")
    rows = gz.FeatureStore("q.gd")
    store = PyGFeatureStore((tiny, rows))
    for index in (torch.tensor([2, 0]), slice(1, 3)):
        found = store.get_tensor(None, "x", index)
        assert found.dtype == torch.float32
        assert np.allclose(found, values[index], atol=0.5)
    for index in (None, slice(None)):
        with pytest.raises(ValueError, match=r"q\.gd: its int8 count in steps of a scale.*give an index"):
            store.get_tensor(None, "x", index)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int8", "bool"])
def test_stored_types_are_torchs(tiny, dtype):
    values = torch.tensor([[0, 1], [1, 1], [1, 0], [0, 0]]).to(getattr(torch, dtype))
    gz.write_features("x.gd", values)
    store = PyGFeatureStore((tiny, gz.FeatureStore("x.gd")))
    for index in (torch.tensor([2, 1]), None, 0):
        found = store.get_tensor(None, "x", index)
        assert found.dtype == values.dtype
        assert torch.equal(found, values if index is None else values[index])


def test_stores_pickle_as_paths(case):
    dataset = case.dataset()
    for store in (PyGFeatureStore(dataset).select("y"), GraphStore(dataset, max_bytes=5)):
        pickled = pickle.dumps(store)
        assert len(pickled) < 1000
        again = pickle.loads(pickled)
        if isinstance(again, PyGFeatureStore):
            assert names(again) == [(None, "y")]
            assert torch.equal(again.get_tensor(None, "x", None), torch.from_numpy(case.x))
        else:
            with pytest.raises(MemoryError, match="more than max_bytes, 5 B"):
                again.coo()


class Rows(torch.utils.data.Dataset):
    """Takes batches of rows from a store, and tells whether they are in shared memory."""

    def __init__(self, store):
        self.store = store

    def __len__(self):
        return 40

    def __getitems__(self, ids):
        rows = self.store.multi_get_tensor([TensorAttr(None, name, torch.tensor(ids)) for name in ("x", "y")])
        return [row.is_shared() for row in rows] + rows


def as_it_is(batch):
    return batch


@FORKS
@pytest.mark.parametrize("method", [pytest.param("fork", marks=pytest.mark.no_tsan), "spawn"])
def test_workers_read_rows_into_shared_memory(store, case, method):
    loader = torch.utils.data.DataLoader(
        Rows(store), batch_size=15, num_workers=1, multiprocessing_context=method, collate_fn=as_it_is
    )
    batches = list(loader)
    assert [shared for batch in batches for shared in batch[:2]] == [True] * 6
    assert torch.cat([batch[2] for batch in batches]).tolist() == case.x.tolist()
    assert torch.cat([batch[3] for batch in batches]).tolist() == case.y.tolist()
    assert not any(Rows(store).__getitems__([0])[:2])


OPTIONS = [{}, {"index": "in"}, {"index": "out"}, {"directed": False}]


def graph_store(case, options, **more):
    gz.write_graph("g.gl", case.src, case.dst, num_nodes=case.num_nodes, **options)
    return GraphStore(gz.Graph("g.gl"), **more)


def entries(case, options, direction):
    """The oracle's (node, neighbour, edge id) of every list."""
    directed = options.get("directed", True)
    return sorted(
        (node, *entry)
        for node in range(case.num_nodes)
        for entry in oracle.list_of(node, case.src, case.dst, direction=direction, directed=directed)
    )


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("block", [7, 1 << 22])
def test_layouts_hold_the_edges_and_their_ids(options, block, monkeypatch):
    monkeypatch.setattr("graphzero._dataset.all_edges._BLOCK", block)
    case = homogeneous()
    shuffled = np.random.default_rng(1).permutation(len(case.src))  # so that an edge's place is not its id
    case.src, case.dst = case.src[shuffled], case.dst[shuffled]
    store = graph_store(case, options)
    src, dst, ids = store.coo()
    if options.get("directed", True):
        assert (src.tolist(), dst.tolist(), ids) == (case.src.tolist(), case.dst.tolist(), None)
    else:
        assert sorted(zip(src.tolist(), dst.tolist(), ids.tolist(), strict=True)) == entries(case, options, "out")
    for name, direction in (("csc", "in"), ("csr", "out")):
        parts = getattr(store, name)()
        far, indptr, ids = parts if name == "csc" else (parts[1], parts[0], parts[2])
        assert {part.dtype for part in parts} == {torch.int64}
        near = torch.repeat_interleave(torch.arange(case.num_nodes), indptr.diff())
        assert len(indptr) == case.num_nodes + 1
        found = sorted(zip(near.tolist(), far.tolist(), ids.tolist(), strict=True))
        assert found == entries(case, options, direction)


def test_layouts_of_several_edge_types_are_dicts():
    kinds = hetero()
    store = GraphStore(kinds.dataset())
    src, dst, ids = store.coo()
    assert {triple: (src[triple].tolist(), dst[triple].tolist(), ids[triple]) for triple in src} == {
        triple: (ends[0].tolist(), ends[1].tolist(), None) for triple, ends in kinds.edges.items()
    }
    assert list(store.csc([WRITES])[0]) == [WRITES]
    colptr = store.csc([WRITES])[1][WRITES]
    assert len(colptr) == kinds.num_nodes[B] + 1
    with pytest.raises(KeyError, match=r"no edge type \('a', 'b', 'c'\); there are \[\('author', 'writes', 'paper'\)"):
        store.coo([("a", "b", "c")])


@pytest.mark.parametrize(("options", "stored"), [({}, "csc"), ({"index": "in"}, "csc"), ({"index": "out"}, "csr")])
def test_stored_layouts_are_views_of_the_file(options, stored):
    case = homogeneous()
    store = graph_store(case, options)
    (attr,) = store.get_all_edge_attrs()
    assert (attr.edge_type, attr.layout.value, attr.size) == (None, stored, (40, 40))
    index = store.data.graph.index("in" if stored == "csc" else "out")
    arrays = (index.indices, index.indptr) if stored == "csc" else (index.indptr, index.indices)
    for tensor, array in zip(store.get_edge_index(attr), arrays, strict=True):
        assert tensor.data_ptr() == array.ctypes.data
        assert tensor.tolist() == array.tolist()


def test_sizes_are_those_of_both_sides():
    kinds = hetero()
    sizes = {attr.edge_type: attr.size for attr in GraphStore(kinds.dataset()).get_all_edge_attrs()}
    assert sizes == {(src, name, dst): (kinds.num_nodes[src], kinds.num_nodes[dst]) for src, name, dst in kinds.edges}


def test_edge_index_as_coo_and_what_is_not_stored():
    case = homogeneous()
    store = graph_store(case, {"index": "in"})
    found = store.get_edge_index(edge_type=None, layout="coo")
    assert [ends.tolist() for ends in found] == [case.src.tolist(), case.dst.tolist()]
    assert store.get_edge_index(edge_type=EDGE, layout="csc")[1].tolist() == store.csc()[1].tolist()
    with pytest.raises(
        KeyError, match=r"g\.gl: has no 'out' index, so 'csr' is not stored; csr\(\) makes it in memory"
    ):
        store.get_edge_index(edge_type=None, layout="csr")
    kinds = GraphStore(hetero().dataset())
    assert torch.equal(kinds.get_edge_index(CITES, "coo")[0], kinds.coo([CITES])[0][CITES])


@pytest.mark.parametrize(
    ("options", "layout", "words"),
    [({}, "coo", 2), ({"directed": False}, "coo", 3), ({}, "csc", 2), ({"index": "out"}, "csc", 5)],
)
def test_layouts_beyond_the_budget_are_refused(options, layout, words):
    case = homogeneous()
    edges = len(case.src) * (1 if options.get("directed", True) else 2)
    offsets = 8 * 41 if words == 5 else 0
    needed = 8 * edges * words + offsets
    getattr(graph_store(case, options, max_bytes=needed), layout)()
    store = graph_store(case, options, max_bytes=needed - 1)
    with pytest.raises(
        MemoryError, match=rf"{layout}\(\) of g\.gl: needs .* more than max_bytes, .*NeighborSampler.*max_bytes=\)"
    ):
        getattr(store, layout)()


def test_the_budget_is_a_share_of_memory_unless_told(monkeypatch):
    case = homogeneous()
    store = graph_store(case, {})
    monkeypatch.setattr("graphzero.loaders.pyg.stores.pipeline_budget", lambda: 3)
    with pytest.raises(MemoryError, match="more than max_bytes, 3 B"):
        store.coo()
    graph_store(case, {}, max_bytes="1MB").coo()
    with pytest.raises(ValueError, match="expected a size such as '2GB'"):
        graph_store(case, {}, max_bytes="much")


def test_the_graph_store_is_read_only():
    case = homogeneous()
    store = graph_store(case, {})
    (attr,) = store.get_all_edge_attrs()
    edges = store.get_edge_index(attr)
    with pytest.raises(ValueError, match=r"this store is read-only; write edges with graphzero\.write_graph"):
        store.put_edge_index(edges, attr)
    with pytest.raises(ValueError, match="this store is read-only"):
        del store[attr]
    with pytest.raises(ValueError, match="store: expected False, found True: this store is read-only"):
        store.csc(store=True)


def test_pyg_data_is_sent_to_the_converter():
    with pytest.raises(TypeError, match=r"data: expected a data set.*found Data; graphzero\.convert_dataset"):
        PyGFeatureStore(homogeneous().in_memory())

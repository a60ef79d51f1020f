"""PyG's ``Data`` and ``HeteroData`` as data: batches hold what PyG's own loaders put into them."""

import copy
import gc
import glob
import logging
import pickle

import numpy as np
import pytest
import torch

import graphzero as gz
from data_sets import pyg
from graphzero.loaders import LinkNeighborLoader, NeighborLoader
from loader_cases import (
    AUTHOR,
    CITES,
    PAPER,
    WRITES,
    as_pyg_data,
    assert_holds,
    sampler_for_pyg,
    values,
    write_heterogeneous,
    write_homogeneous,
)

pyg()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_homogeneous(tmp_path_factory.mktemp("homogeneous"))


@pytest.fixture(scope="module")
def hetero(tmp_path_factory):
    return write_heterogeneous(tmp_path_factory.mktemp("heterogeneous"))


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Temporary files are in a folder of their own."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def by_pyg(data, given, fanouts, kind="NodeLoader", **options):
    """The batches of PyG's loader, by a sampler that takes all neighbours."""
    from torch_geometric import loader

    return list(getattr(loader, kind)(given, sampler_for_pyg(data, fanouts), **options))


def with_more(given):
    """The object with what belongs neither to nodes nor to edges, and rows of unusual kinds."""
    given = copy.copy(given)
    is_hetero = hasattr(given, "node_types")
    of_nodes, of_edges = (given[PAPER], given[CITES]) if is_hetero else (given, given)
    given.name = "made"
    given.matrix = torch.eye(2)
    count, num_edges = of_nodes.num_nodes, of_edges.num_edges
    of_nodes.train_mask = torch.arange(count) % 3 == 0
    of_nodes.half = torch.rand(count, 2).half()
    of_nodes.spectrum = torch.rand(count).to(torch.complex64)
    of_nodes.array = np.arange(count * 2, dtype=np.uint8).reshape(count, 2)
    of_edges.edge_kind = torch.arange(num_edges).to(torch.int16)
    of_edges.edge_ends = torch.arange(num_edges * 3).view(num_edges, 3)
    return given


def as_arrays(batch):
    """What a batch holds, without what PyG leaves out or names in its own way."""
    found = values(batch)
    for group in (found, *(group for group in found.values() if isinstance(group, dict))):
        for name in ("seed_time", "batch"):
            group.pop(name, None)
    return found


def test_batches_of_data(data):
    given = with_more(as_pyg_data(data))
    loader = NeighborLoader(given, [-1, -1], input_nodes=torch.from_numpy(data.train), batch_size=40)
    assert loader.data is given
    expected = by_pyg(data, given, [-1, -1], input_nodes=torch.from_numpy(data.train), batch_size=40)
    for batch, other in zip(loader, expected, strict=True):
        assert batch.matrix is given.matrix
        assert_holds(batch, as_arrays(other))


def test_batches_of_hetero_data(hetero):
    given = with_more(as_pyg_data(hetero))
    nodes = (PAPER, torch.from_numpy(hetero.train))
    loader = NeighborLoader(given, [-1, -1], input_nodes=nodes, batch_size=40)
    expected = by_pyg(hetero, given, [-1, -1], input_nodes=nodes, batch_size=40)
    for batch, other in zip(loader, expected, strict=True):
        assert isinstance(batch, pyg().HeteroData)
        assert batch.name == "made"
        assert batch.matrix is given.matrix
        assert_holds(batch, as_arrays(other))


def test_batches_of_links(data, hetero):
    given, pairs = as_pyg_data(data), torch.from_numpy(np.stack([data.train, data.train[::-1]]))
    loader = LinkNeighborLoader(given, [-1], edge_label_index=pairs, batch_size=30)
    expected = by_pyg(data, given, [-1], "LinkLoader", edge_label_index=pairs, batch_size=30)
    for batch, other in zip(loader, expected, strict=True):
        one = [batch.n_id[batch.edge_label_index].tolist(), set(batch.e_id.tolist())]
        assert one == [other.n_id[other.edge_label_index].tolist(), set(other.e_id.tolist())]
        assert torch.equal(batch.x, given.x[batch.n_id])
        assert torch.equal(batch.edge_attr, given.edge_attr[batch.e_id])
    given = as_pyg_data(hetero)
    for edges in (WRITES, (WRITES, None), (WRITES, given[WRITES].edge_index)):
        loader = LinkNeighborLoader(given, [2], edge_label_index=edges, neg_sampling="triplet", batch_size=100)
        assert len(loader) == 5
        batch = next(iter(loader))
        ends = torch.stack([batch[AUTHOR].n_id[batch[AUTHOR].src_index], batch[PAPER].n_id[batch[PAPER].dst_pos_index]])
        assert torch.equal(ends, given[WRITES].edge_index[:, :100])


def test_one_type_of_each_is_still_named(data):
    given = pyg().HeteroData()
    given["v"].x = torch.rand(300, 2)
    given["v", "v"].edge_index = as_pyg_data(data).edge_index
    for nodes in ("v", ("v", None), ("v", range(300)), ("v", torch.ones(300, dtype=torch.bool))):
        loader = NeighborLoader(given, [3], input_nodes=nodes, batch_size=100)
        assert len(loader) == 3
        batch = next(iter(loader))
        assert (batch.node_types, batch.edge_types) == (["v"], [("v", "to", "v")])
        assert torch.equal(batch["v"].x, given["v"].x[batch["v"].n_id])


def test_a_graph_without_edges():
    pairs = torch.randint(100, (2, 60))
    loader = LinkNeighborLoader(pyg().Data(num_nodes=100), [], edge_label_index=pairs, batch_size=20)
    for batch in loader:
        assert batch.num_nodes == batch["num_nodes"] == batch.edge_label_index.unique().numel()
        assert batch.num_edges == 0


def test_a_type_of_nodes_without_edges(hetero):
    given = as_pyg_data(hetero)
    given["venue"].x = torch.rand(7, 2)
    batch = next(iter(NeighborLoader(given, [2], input_nodes=PAPER, batch_size=9)))
    assert batch["venue"].x.shape == (0, 2)
    batch = next(iter(NeighborLoader(given, [2], input_nodes="venue", batch_size=7)))
    assert torch.equal(batch["venue"].x, given["venue"].x)


@pytest.mark.parametrize(
    "nodes", [None, range(300), list(range(300)), np.ones(300, dtype=bool), [True] * 300, torch.ones(300).bool()]
)
def test_forms_of_input_nodes(data, nodes):
    loader = NeighborLoader(as_pyg_data(data), [2], input_nodes=nodes, batch_size=100)
    assert [batch.n_id[:100].tolist() for batch in loader] == [list(range(at, at + 100)) for at in (0, 100, 200)]


def test_a_name_is_no_split_of_an_object(data):
    with pytest.raises(TypeError, match=r"input_nodes: expected ids or a mask, such as data.train_mask, found 'train'"):
        NeighborLoader(as_pyg_data(data), [2], input_nodes="train")


@pytest.mark.parametrize("kind", ["data", "hetero"])
def test_edges_are_drawn_by_the_weights_of_an_attribute(kind):
    """Of two neighbours one has the weight 0."""
    pairs, weight = torch.tensor([[1, 3, 0, 4], [2, 2, 1, 3]]), torch.tensor([0.0, 1.0, 0.0, 1.0])
    if kind == "data":
        given, of = pyg().Data(num_nodes=5, edge_index=pairs, strength=weight), None
    else:
        given, of = pyg().HeteroData(), "p"
        given["p"].num_nodes = 5
        given["p", "p"].edge_index, given["p", "p"].strength = pairs, weight
    options = {"num_neighbors": [1, 1], "weight_attr": "strength"}
    nodes = torch.tensor([2]) if of is None else (of, torch.tensor([2]))
    batch = next(iter(NeighborLoader(given, input_nodes=nodes, **options)))
    assert (batch if of is None else batch[of]).n_id.tolist() == [2, 3, 4]
    assert (batch if of is None else batch[of, of]).strength.tolist() == [1, 1]
    from torch_geometric.sampler import NodeSamplerInput

    from graphzero.loaders import NeighborSampler

    out = NeighborSampler(given, **options).sample_from_nodes(NodeSamplerInput(None, torch.tensor([2]), None, of))
    assert (out.node if of is None else out.node[of]).tolist() == [2, 3, 4]


@pytest.mark.parametrize("level", ["nodes", "edges"])
@pytest.mark.parametrize("kind", ["data", "hetero"])
def test_times_are_those_of_an_attribute(kind, level):
    pairs = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 2, 1, 3, 2, 4, 3]])
    times = torch.arange(5) if level == "nodes" else torch.arange(8)
    if kind == "data":
        given, nodes = pyg().Data(num_nodes=5, edge_index=pairs, at=times), None
    else:
        given, nodes = pyg().HeteroData(), "A"
        given["A"].num_nodes = 5
        given["A", "A"].edge_index = pairs
        (given["A"] if level == "nodes" else given["A", "A"]).at = times
    loader = NeighborLoader(
        given, [-1, -1], input_nodes=nodes, input_time=torch.full((5,), 4), time_attr="at", batch_size=1
    )
    found = 0
    for batch in loader:
        store = batch if kind == "data" else batch["A" if level == "nodes" else ("A", "A")]
        assert (store.at <= 4).all()
        found += len(store.at)
    assert found > 5


def test_arrays_that_are_mapped_are_read_row_by_row(data, tmp_path):
    rows = np.random.default_rng(0).random((300, 8), dtype=np.float32)
    rows.tofile(tmp_path / "x.bin")
    given = pyg().Data(
        x=np.memmap(tmp_path / "x.bin", dtype=np.float32, mode="r", shape=(300, 8)),
        edge_index=as_pyg_data(data).edge_index,
    )
    for batch in NeighborLoader(given, [3], batch_size=100):
        assert isinstance(batch.x, torch.Tensor)
        assert np.array_equal(batch.x.numpy(), rows[batch.n_id])


def test_the_class_of_a_batch_is_that_of_the_data(data):
    class Molecule(pyg().Data):
        def __init__(self, needed, **rest):
            super().__init__(**rest)
            self.needed = needed

    given = Molecule("argument", **as_pyg_data(data).to_dict())
    batch = next(iter(NeighborLoader(given, [2], batch_size=5)))
    assert isinstance(batch, Molecule)
    assert batch.needed == "argument"
    assert given.num_nodes == 300


def test_the_data_can_be_changed_between_iterations(data):
    """As in PyG's own examples of inference."""
    given = as_pyg_data(data)
    loader = NeighborLoader(copy.copy(given), [-1], batch_size=100)
    assert "x" in next(iter(loader))
    del loader.data.x, loader.data.y
    loader.data.num_nodes = given.num_nodes
    loader.data.n_id = torch.arange(given.num_nodes)
    for batch in loader:
        assert "x" not in batch
        assert batch.num_nodes == len(batch.n_id)
        assert torch.equal(batch.n_id[batch.edge_index], given.edge_index[:, batch.e_id])
    loader.data.x = given.x + 1
    assert all(torch.equal(batch.x, given.x[batch.n_id] + 1) for batch in loader)


def test_names_choose_what_comes_with_a_batch(data):
    given = with_more(as_pyg_data(data))
    batch = next(iter(NeighborLoader(given, [2], batch_size=5, features=["x", "name"], edge_features=[])))
    assert {"x", "name"} <= set(batch.keys())
    assert not {"y", "matrix", "edge_attr", "edge_kind"} & set(batch.keys())
    with pytest.raises(KeyError, match="features: no attribute 'z'"):
        NeighborLoader(given, [2], features="z")
    batch = next(iter(NeighborLoader(given, [2], batch_size=5, labels="seeds")))
    assert torch.equal(batch.y, given.y[:5])


def test_temporary_files_live_as_long_as_the_loader(data, temporary, caplog):
    def there():
        return glob.glob(f"{temporary}/graphzero-*")

    with caplog.at_level(logging.INFO, logger="graphzero"):
        loader = NeighborLoader(as_pyg_data(data), [2], batch_size=100)
    said = [record.message for record in caplog.records if "convert_dataset" in record.message]
    assert len(said) == 1
    assert said[0].startswith("Data in memory: its 2,000 edges were written to ")
    assert len(there()) == 1
    iteration = iter(loader)
    next(iteration)
    del loader
    gc.collect()
    assert len(there()) == 1
    next(iteration)
    del iteration
    gc.collect()
    assert there() == []


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_edges_of_an_adj_t_are_sampled():
    adj_t = torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 1.0, 0.0]])  # rows are destinations
    for sparse in (adj_t.to_sparse(), adj_t.to_sparse_csr()):
        data = pyg().Data(x=torch.arange(3.0)[:, None], adj_t=sparse)
        batch = next(iter(NeighborLoader(data, [-1], input_nodes=torch.tensor([2]), batch_size=1)))
        assert sorted(batch.n_id[batch.edge_index].T.tolist()) == [[0, 2], [1, 2]]
        assert "adj_t" not in batch


def test_files_hold_one_index(data, temporary):
    loaders = [NeighborLoader(as_pyg_data(data), [2], sample_direction=way) for way in ("forward", "backward")]
    graphs = [gz.Graph(path) for path in glob.glob(f"{temporary}/*/**/*.gl", recursive=True)]
    assert sorted(graph.indexes for graph in graphs) == [("in",), ("out",)]
    assert len(loaders) == 2


@pytest.mark.parametrize("start", [pytest.param("fork", marks=pytest.mark.no_tsan), "spawn"])
def test_processes_make_the_same_batches(data, start):
    given = as_pyg_data(data)
    expected = [values(batch) for batch in NeighborLoader(given, [3], batch_size=100, seed=3)]
    loader = NeighborLoader(given, [3], batch_size=100, seed=3)
    found = torch.utils.data.DataLoader(loader, batch_size=None, num_workers=1, multiprocessing_context=start)
    for batch, other in zip(found, expected, strict=True):
        assert_holds(batch, other)


def test_a_pickled_loader_reads_the_same_files(data):
    loader = NeighborLoader(as_pyg_data(data), [3], batch_size=100, seed=3)
    other = pickle.loads(pickle.dumps(loader))
    for batch, again in zip(loader, other, strict=True):
        assert_holds(batch, values(again))


def test_edges_of_other_types(data):
    from torch_geometric import EdgeIndex

    pairs = as_pyg_data(data).edge_index
    for edge_index in (pairs.int(), EdgeIndex(pairs, sparse_size=(300, 300))):
        given = pyg().Data(x=torch.rand(300, 1), edge_index=edge_index)
        batch = next(iter(NeighborLoader(given, [-1], batch_size=100)))
        assert torch.equal(batch.n_id[batch.edge_index], pairs[:, batch.e_id])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_rows_on_a_gpu_stay_there(data):
    given = as_pyg_data(data).to("cuda")
    for options in ({}, {"device": "cuda"}):
        for batch in NeighborLoader(given, [3], batch_size=100, **options):
            assert batch.x.is_cuda
            assert batch.edge_index.is_cuda
            assert torch.equal(batch.x, given.x[batch.n_id.to("cuda")])

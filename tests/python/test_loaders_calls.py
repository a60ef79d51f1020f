"""A loader as PyG's: what it tells of itself, batches of places that are named, and loaders around it."""

import pickle
import warnings

import numpy as np
import pytest
import torch

import graphzero as gz
from data_sets import pyg
from graphzero.loaders import LinkNeighborLoader, NeighborLoader
from loader_cases import NUM_NODES, as_pyg_data, loader_of, values, write_heterogeneous, write_homogeneous
from loader_cases import PAPER as PAPER
from pipeline_cases import assert_same, settled, tasks

pyg()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_homogeneous(tmp_path_factory.mktemp("homogeneous"))


@pytest.fixture(scope="module")
def hetero(tmp_path_factory):
    return write_heterogeneous(tmp_path_factory.mktemp("heterogeneous"))


def test_a_loader_tells_what_it_was_given(data):
    loader = NeighborLoader(data.dataset, [4, 3], data.train, batch_size=7, shuffle=True, drop_last=True)
    assert loader.data is data.dataset
    assert loader.input_nodes is data.train
    assert loader.num_neighbors == [4, 3]
    assert (loader.batch_size, loader.shuffle, loader.drop_last, loader.num_workers) == (7, True, True, 0)
    assert loader.dataset == range(90)
    assert NeighborLoader(data.dataset, [4], "train", batch_sampler=[[1]]).batch_size is None
    pairs = (data.train, data.train)
    links = LinkNeighborLoader((data.dataset.graph, data.stores["node"]), [2], pairs, edge_label=[1] * 90)
    assert links.data[0] is data.dataset.graph
    assert links.edge_label_index is pairs
    assert links.dataset == range(90)


def test_a_loader_has_a_sampler_of_the_same_arguments(data, hetero):
    loader = NeighborLoader(data.dataset, [4, 3], data.train, replace=True, weight_attr="w", subgraph_type="induced")
    sampler = loader.node_sampler
    assert sampler is loader.node_sampler
    assert sampler.num_neighbors.values == [4, 3]
    assert (sampler.replace, sampler.weight_attr, sampler.subgraph_type.value) == (True, "w", "induced")
    links = LinkNeighborLoader(
        hetero.dataset, [2], ("author", "writes", "paper"), exclude_positives=True, disjoint=True
    )
    assert links.link_sampler.is_hetero
    assert (links.link_sampler.exclude_positives, links.link_sampler.disjoint) == (True, True)
    times = np.arange(NUM_NODES)
    temporal = NeighborLoader(data.dataset, [2], input_time=times, time_attr="time", temporal_strategy="last")
    assert temporal.node_sampler.is_temporal
    from torch_geometric.loader import NodeLoader

    batch = next(iter(NodeLoader(as_pyg_data(data), sampler, torch.from_numpy(data.train), batch_size=9)))
    assert torch.equal(batch.x, as_pyg_data(data).x[batch.n_id])


@pytest.mark.parametrize(
    "index", [[3, 0, 7], (3, 0, 7), torch.tensor([3, 0, 7]), np.array([3, 0, 7]), [3, -90, 7], np.int32([3, 0, 7])]
)
def test_a_batch_of_places_that_are_named(data, index):
    loader = NeighborLoader(data.dataset, [-1], data.train, batch_size=50)
    for _ in range(2):
        batch = loader(index)
        assert batch.n_id[:3].tolist() == data.train[[3, 0, 7]].tolist()
        assert batch.input_id.tolist() == [3, 0, 7]
        assert batch.batch_size == 3
        assert_same(batch.x.numpy(), data.nodes["x"][batch.n_id])
        assert_same(batch.edge_attr.numpy(), data.edges["edge_attr"][batch.e_id])


def test_other_forms_of_an_index(data):
    loader = NeighborLoader(data.dataset, [2], data.train)
    assert loader(slice(5, 80, 25)).input_id.tolist() == [5, 30, 55]
    assert loader(range(4)).input_id.tolist() == [0, 1, 2, 3]
    assert loader(torch.arange(90) > 87).input_id.tolist() == [88, 89]
    for index, kind, message in (
        ([90], IndexError, r"index\[0\]: expected a place below 90, the number of seeds, found 90"),
        ([0, -91], IndexError, r"index\[1\]: .* found -91"),
        ([], ValueError, "index: expected at least one place"),
        ([[1]], ValueError, "index: expected one dimension"),
        ([True], ValueError, "index: expected a mask of 90 seeds"),
        ([0.5], TypeError, "index: expected integers"),
    ):
        with pytest.raises(kind, match=message):
            loader(index)


def test_calls_leave_the_epochs_alone(data):
    expected = [values(batch) for batch in loader_of(NeighborLoader, data, seed=5)]
    loader = loader_of(NeighborLoader, data, seed=5)
    loader([1, 2])
    iteration = iter(loader)
    found = [values(next(iteration))]
    loader([3])
    found += [values(batch) for batch in iteration]
    assert_same(found, expected)


def test_each_call_draws_anew_and_by_the_seed(data):
    def drawn(**options):
        loader = loader_of(NeighborLoader, data, **options)
        return [loader(range(20)).n_id.tolist() for _ in range(3)]

    one = drawn(seed=5)
    assert one[0] != one[1] != one[2]
    assert drawn(seed=5) == one
    assert drawn(seed=6) != one
    loader = loader_of(NeighborLoader, data, seed=5, shuffle=False, batch_size=20)
    assert next(iter(loader)).n_id.tolist() not in one
    loader = loader_of(NeighborLoader, data, seed=5)
    assert loader(range(20)).n_id.tolist() == one[0]
    assert pickle.loads(pickle.dumps(loader))(range(20)).n_id.tolist() == one[1]


@pytest.mark.parametrize("neg_sampling", [None, "binary", "triplet"])
def test_calls_for_links(data, neg_sampling):
    loader = LinkNeighborLoader(
        data.dataset, [2], (data.train, data.train[::-1].copy()), batch_size=9, neg_sampling=neg_sampling
    )
    batch = loader([3, 0])
    assert batch.input_id.tolist() == [3, 0]
    src = batch.src_index if neg_sampling == "triplet" else batch.edge_label_index[0, :2]
    assert batch.n_id[src].tolist() == data.train[[3, 0]].tolist()


def test_a_call_has_the_options_of_the_loader(data, hetero):
    loader = NeighborLoader(
        hetero.dataset, [2], "train", transform=lambda batch: (batch, 1), dtype="float16", device="meta", labels="seeds"
    )
    batch, one = loader([4, 5])
    assert one == 1
    assert batch[PAPER].x.dtype == torch.float16
    assert batch[PAPER].x.device.type == "meta"
    assert len(batch[PAPER].y) == 2
    plain = NeighborLoader(data.dataset, [2], "train", form="torch", rank=1, world_size=2, seed=1)
    assert plain([89]).input_id.tolist() == [89]


def test_a_call_leaves_no_thread(data):
    list(loader_of(NeighborLoader, data))  # torch's own threads begin
    before = tasks()
    loader = loader_of(NeighborLoader, data)
    loader([1])
    assert settled(tasks, before) == before
    loader.close()
    with pytest.raises(ValueError, match="closed"):
        loader([1])


def test_pieces_of_a_call(data):
    loader = loader_of(NeighborLoader, data)
    assert loader.filter_per_worker is True
    batch = loader.collate_fn([3, 4])
    assert batch.input_id.tolist() == [3, 4]
    assert loader.filter_fn(batch) is batch


@pytest.mark.parametrize("num_workers", [0, pytest.param(2, marks=pytest.mark.no_tsan)])
@pytest.mark.parametrize("filter_per_worker", [True, False, None])
def test_a_zip_loader_of_loaders(data, filter_per_worker, num_workers):
    from torch_geometric.loader import ZipLoader

    loaders = [
        NeighborLoader(data.dataset, [5], torch.arange(0, 50)),
        LinkNeighborLoader(data.dataset, [5], torch.arange(90).view(2, 45)),
    ]
    options = {"num_workers": num_workers, "multiprocessing_context": "fork"} if num_workers else {}
    loader = ZipLoader(loaders, filter_per_worker=filter_per_worker, batch_size=10, **options)
    assert loader.dataset == range(45)
    assert [batch.input_id.tolist() for batch in loader(torch.arange(5))] == [list(range(5))] * 2
    for _ in range(2):
        sizes = [(one.batch_size, len(other.input_id)) for one, other in loader]
        assert sizes == [(10, 10)] * 4 + [(5, 5)]


@pytest.mark.no_tsan
def test_workers_that_are_called_draw_anew_in_each_epoch(data):
    from torch_geometric.loader import ZipLoader

    loader = ZipLoader(
        [loader_of(NeighborLoader, data, seed=5)], batch_size=45, num_workers=2, multiprocessing_context="fork"
    )
    epochs = [[batch.n_id.tolist() for (batch,) in loader] for _ in range(2)]
    assert epochs[0][0] != epochs[1][0]
    assert epochs[0][1] != epochs[1][1]


def test_a_cached_loader_of_a_loader(data):
    from torch_geometric.loader import CachedLoader

    loader = CachedLoader(loader_of(NeighborLoader, data), device="cpu")
    first = list(loader)
    assert len(first) == len(loader) == 3
    assert all(one is other for one, other in zip(loader, first, strict=True))


def test_a_prefetch_loader_of_a_loader(data):
    from torch_geometric.loader import PrefetchLoader

    expected = [values(batch) for batch in loader_of(NeighborLoader, data, seed=1)]
    assert_same([values(batch) for batch in PrefetchLoader(loader_of(NeighborLoader, data, seed=1), "cpu")], expected)


def test_directed_false_is_induced(data):
    def batch(**options):
        return values(next(iter(NeighborLoader(data.dataset, [4], data.train, batch_size=30, seed=3, **options))))

    with pytest.warns(DeprecationWarning, match="directed=False is deprecated: use subgraph_type='induced'") as warned:
        found = batch(directed=False)
    assert warned[0].filename == __file__
    assert_same(found, batch(subgraph_type="induced"))
    with pytest.warns(DeprecationWarning, match="directed=False"):
        assert_same(batch(directed=False, subgraph_type="induced"), found)
    with pytest.raises(ValueError, match="directed: expected True with subgraph_type='bidirectional', found False"):
        batch(directed=False, subgraph_type="bidirectional")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batch(directed=True)
    with pytest.warns(DeprecationWarning, match="directed=False"):
        LinkNeighborLoader(data.dataset, [4], (data.train, data.train), directed=False)


@pytest.mark.parametrize("dtype", ["float16", "int8-quantised"])
def test_loaders_over_rows_that_are_converted_can_be_pickled(tmp_path, dtype):
    gz.convert_features(np.arange(80, dtype=np.float32).reshape(40, 2), tmp_path / "x.gd", dtype=dtype)
    with gz.DatasetWriter(tmp_path / "data") as writer:
        writer.add_nodes({"x": gz.FeatureStore(tmp_path / "x.gd")})
        writer.add_edges(np.arange(40), np.roll(np.arange(40), 1))
    loader = NeighborLoader(gz.open(tmp_path / "data"), [2], batch_size=8, seed=1, form="torch")
    for batch, other in zip(pickle.loads(pickle.dumps(loader)), loader, strict=True):
        assert torch.equal(batch.n_id, other.n_id)
        assert torch.equal(batch.x, other.x)

"""Edge ids that a file stores are read when somebody asks for them, and only then.

That nobody read them is shown by files in which they are damaged: reading them is an error.
"""

import copy
import dataclasses
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import files
import graphzero as gz

NUM_NODES, NUM_EDGES = 300, 4_000
TRIPLE = ("a", "to", "a")


@pytest.fixture(scope="module")
def pairs():
    return np.random.default_rng(0).integers(0, NUM_NODES, (2, NUM_EDGES))


@pytest.fixture(scope="module")
def path(pairs, tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "good.gl"
    gz.write_graph(path, *pairs, num_nodes=NUM_NODES)
    return path


@pytest.fixture(scope="module")
def damaged(path, tmp_path_factory):
    """The same graph with edge ids that no edge has."""
    arrays = dict(files.read_gl(path.read_bytes()).arrays)
    for side in ("in", "out"):
        arrays[f"{side}_edge_ids"] = np.full_like(arrays[f"{side}_edge_ids"], -1)
    container = files.gl(arrays, num_nodes=NUM_NODES, num_input_edges=NUM_EDGES)
    return files.write(tmp_path_factory.mktemp("damaged") / "damaged.gl", files.build(container))


def are_ids(edge, node, row, col, pairs):
    src, dst = pairs
    return np.array_equal(src[edge], node[row]) and np.array_equal(dst[edge], node[col])


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("options", [{}, {"disjoint": True}, {"subgraph_type": "induced"}, {"method": "labor"}])
def test_a_sample_reads_ids_when_they_are_asked_for(path, damaged, pairs, direction, options):
    found = gz.sample_neighbors(gz.Graph(damaged), range(40), [5, 5], direction=direction, seed=1, **options)
    hood = gz.sample_neighbors(gz.Graph(path), range(40), [5, 5], direction=direction, seed=1, **options)
    assert np.array_equal(found.node, hood.node)
    assert np.array_equal(found.row, hood.row)
    assert are_ids(hood.edge, hood.node, hood.row, hood.col, pairs)
    assert hood.edge is hood.edge
    assert hood.edge.dtype == np.int64
    for _ in range(2):
        with pytest.raises(gz.FormatError, match="corrupt edge_ids at entry"):
            found.edge  # noqa: B018


def test_ids_that_the_sample_itself_needs_are_read_at_once(damaged):
    with pytest.raises(gz.FormatError, match="corrupt edge_ids"):
        gz.sample_neighbors(gz.Graph(damaged), range(40), [5], subgraph_type="bidirectional")


def test_ids_of_several_types_are_read_when_they_are_asked_for(path, pairs):
    hood = gz.sample_neighbors({TRIPLE: gz.Graph(path)}, {"a": range(40)}, [5, 5], seed=1)
    assert are_ids(hood.edge[TRIPLE], hood.node["a"], hood.row[TRIPLE], hood.col[TRIPLE], pairs)


def test_a_sample_keeps_its_graph_open_until_its_ids_are_read(path, pairs):
    with gz.Graph(path) as graph:
        hood = gz.sample_neighbors(graph, range(40), [5, 5], seed=1)
    assert are_ids(hood.edge, hood.node, hood.row, hood.col, pairs)


@pytest.mark.parametrize(
    "as_another",
    [
        lambda hood: pickle.loads(pickle.dumps(hood)),
        copy.copy,
        copy.deepcopy,
        dataclasses.replace,
        lambda hood: gz.Neighborhood(**dataclasses.asdict(hood)),
    ],
)
def test_copies_of_a_sample_have_its_ids(path, pairs, as_another):
    hood = as_another(gz.sample_neighbors(gz.Graph(path), range(40), [5, 5], seed=1))
    assert are_ids(hood.edge, hood.node, hood.row, hood.col, pairs)


def test_two_threads_may_ask_for_the_same_ids(path):
    graph = gz.Graph(path)
    expected = gz.sample_neighbors(graph, range(300), [5, 5], seed=1).edge
    for _ in range(20):
        hood, found = gz.sample_neighbors(graph, range(300), [5, 5], seed=1), []
        threads = [threading.Thread(target=lambda: found.append(hood.edge)) for _ in range(4)]  # noqa: B023
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4
        assert all(np.array_equal(ids, expected) for ids in found)


def test_the_last_who_hold_a_graph_may_ask_for_ids_together(path):
    expected = gz.sample_neighbors(gz.Graph(path), range(300), [20, 20], seed=1).edge
    for _ in range(60):
        hood, found = gz.sample_neighbors(gz.Graph(path), range(300), [20, 20], seed=1), []
        threads = [threading.Thread(target=lambda: found.append(hood.edge)) for _ in range(3)]  # noqa: B023
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 3
        assert all(np.array_equal(ids, expected) for ids in found)


def test_batches_read_ids_when_they_are_asked_for(path, damaged, pairs):
    assert len(list(gz.Pipeline(gz.Graph(damaged), None, [5], batch_size=100))) == 3
    for batch in gz.Pipeline(gz.Graph(path), None, [5, 5], batch_size=100):
        sample = batch.sample
        assert are_ids(sample.edge, sample.node, sample.row, sample.col, pairs)


def test_rows_of_edges_need_their_ids_at_once(path, damaged, pairs, tmp_path):
    gz.write_features(tmp_path / "e.gd", np.arange(NUM_EDGES, dtype=np.float32)[:, None])
    rows = gz.FeatureStore(tmp_path / "e.gd")
    for batch in gz.Pipeline(gz.Graph(path), None, [5, 5], edge_features=rows, batch_size=100):
        assert np.array_equal(batch.edge_features["edge_attr"][:, 0], batch.sample.edge)
        assert are_ids(batch.sample.edge, batch.sample.node, batch.sample.row, batch.sample.col, pairs)
    with pytest.raises(gz.FormatError, match="corrupt edge_ids"):
        list(gz.Pipeline(gz.Graph(damaged), None, [5], edge_features=rows, batch_size=100))


class TestLoaders:
    @pytest.fixture(autouse=True)
    def with_torch(self):
        pytest.importorskip("torch_geometric")

    @staticmethod
    def batches(graph, *, hetero=False, **options):
        from graphzero.loaders import NeighborLoader

        data, nodes = ({TRIPLE: graph}, ("a", np.arange(200))) if hetero else (graph, np.arange(200))
        return list(NeighborLoader(data, [5, 5], nodes, batch_size=100, seed=1, **options))

    @staticmethod
    def values(batch, hetero):
        return (batch["a"], batch[TRIPLE]) if hetero else (batch, batch)

    def assert_right(self, batch, pairs, *, hetero):
        nodes, edges = self.values(batch, hetero)
        row, col = edges.edge_index.numpy()
        assert are_ids(edges.e_id.numpy(), nodes.n_id.numpy(), row, col, pairs)

    @pytest.mark.parametrize("hetero", [False, True])
    @pytest.mark.parametrize(
        "change",
        [
            lambda batch: batch,
            lambda batch: batch.to("cpu"),
            lambda batch: batch.clone(),
            lambda batch: copy.copy(batch).to("cpu", non_blocking=True),
            lambda batch: copy.copy(copy.copy(batch)),
        ],
    )
    def test_a_batch_has_e_id_when_it_is_looked_at(self, path, damaged, pairs, hetero, change):
        for batch in self.batches(gz.Graph(path), hetero=hetero):
            self.assert_right(change(batch), pairs, hetero=hetero)
            self.assert_right(batch, pairs, hetero=hetero)
        for batch in self.batches(gz.Graph(damaged), hetero=hetero):
            edges = self.values(change(batch), hetero)[1]
            assert "e_id" in edges
            assert "e_id" in edges
            assert len(edges.edge_index) == 2
            for look in (lambda edges: edges.e_id, lambda edges: edges["e_id"], repr, pickle.dumps):
                with pytest.raises(gz.FormatError, match="corrupt edge_ids"):
                    look(edges)

    @pytest.mark.parametrize("hetero", [False, True])
    @pytest.mark.parametrize(
        "look",
        [
            lambda store: store.to_dict(),
            lambda store: dict(store.to_dict()),
            lambda store: {**store},
            lambda store: dict(store.items()),
            lambda store: dict(zip(store.keys(), store.values(), strict=True)),
            lambda store: {"e_id": store.pop("e_id")},
            lambda store: {"e_id": store.get("e_id")},
            lambda store: copy.copy(store).to_dict(),
            lambda store: copy.deepcopy(store).to_dict(),
            lambda store: pickle.loads(pickle.dumps(store.to_dict())),
            lambda store: {"e_id": store.to_dict().setdefault("e_id")},
            lambda store: store.to_dict() | {},
            lambda store: {} | store.to_dict(),
            lambda store: store.to_dict().copy(),
            lambda store: {"e_id": dict([store.to_dict().popitem() for _ in [0]]).get("e_id", store["e_id"])},
        ],
    )
    def test_every_way_to_look_at_a_batch_shows_a_tensor(self, path, look, hetero):
        import torch

        expected = self.values(self.batches(gz.Graph(path), hetero=hetero)[0], hetero)[1].e_id
        batch = self.batches(gz.Graph(path), hetero=hetero)[0]
        store = batch[TRIPLE] if hetero else batch._store
        found = look(store)["e_id"]
        assert type(found) is torch.Tensor
        assert torch.equal(found, expected)

    def test_a_batch_may_be_given_other_ids_or_none(self, path):
        import torch

        first, second = self.batches(gz.Graph(path))
        first.e_id = torch.arange(3)
        assert first.e_id.tolist() == [0, 1, 2]
        del second.e_id
        assert "e_id" not in second

    def test_what_a_user_applies_sees_all_tensors(self, path):
        batch, seen = self.batches(gz.Graph(path))[0], []
        batch.apply(lambda tensor: seen.append(len(tensor)) or tensor)
        assert seen == [len(value) for value in batch.to_dict().values() if hasattr(value, "shape")]
        assert len(batch.e_id) in seen

    @pytest.mark.parametrize("hetero", [False, True])
    def test_a_saved_batch_needs_no_graphzero(self, path, hetero, tmp_path):
        batch = self.batches(gz.Graph(path), hetero=hetero)[0]
        (tmp_path / "batch").write_bytes(pickle.dumps(batch))
        code = (
            "import pickle, sys; sys.modules['graphzero'] = None\n"
            f"batch = pickle.load(open({str(tmp_path / 'batch')!r}, 'rb'))\n"
            f"print(len((batch[{TRIPLE!r}] if {hetero} else batch).e_id))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert int(done.stdout) == len(self.values(batch, hetero)[1].e_id)

    def test_an_object_that_wants_to_know_its_values_is_given_them(self, path):
        import torch
        from torch_geometric.data import Data

        class Noting(Data):
            def __setattr__(self, name, value):
                assert not name.startswith("e_") or isinstance(value, torch.Tensor)
                super().__setattr__(name, value)

            def __setitem__(self, name, value):
                assert not name.startswith("e_") or isinstance(value, torch.Tensor)
                super().__setitem__(name, value)

        for batch in self.batches(gz.Graph(path), custom_cls=Noting):
            assert type(batch) is Noting
            assert type(batch._store._mapping) is dict
            assert len(batch.e_id)

    @pytest.mark.parametrize("hetero", [False, True])
    def test_plain_batches_read_ids_late_too(self, path, damaged, pairs, hetero):
        for batch in self.batches(gz.Graph(path), hetero=hetero, form="torch"):
            moved = batch.to("cpu")
            if hetero:
                row, col = moved.edge_index_dict[TRIPLE].numpy()
                assert are_ids(moved.e_id_dict[TRIPLE].numpy(), moved.n_id_dict["a"].numpy(), row, col, pairs)
            else:
                self.assert_right(moved, pairs, hetero=False)
            assert "LateTensor" not in repr(batch)
            assert "LateTensor" not in repr(dict(batch))
            assert dict(pickle.loads(pickle.dumps(batch))).keys() == dict(batch).keys()
        for batch in self.batches(gz.Graph(damaged), hetero=hetero, form="torch"):
            name = "e_id_dict" if hetero else "e_id"
            assert name in batch.to("cpu")
            with pytest.raises(gz.FormatError, match="corrupt edge_ids"):
                getattr(batch, name)

    @pytest.mark.no_tsan  # it does not support threads after a fork
    def test_a_worker_reads_ids_before_it_sends_a_batch(self, path, damaged, pairs):
        from torch.utils.data import DataLoader

        from graphzero.loaders import NeighborLoader

        def loader(graph):
            own = NeighborLoader(graph, [5, 5], np.arange(200), batch_size=100, seed=1)
            return DataLoader(own, batch_size=None, num_workers=1, timeout=60)

        for batch in loader(gz.Graph(path)):
            self.assert_right(batch, pairs, hetero=False)
        with pytest.raises(gz.FormatError, match="corrupt edge_ids"):
            list(loader(gz.Graph(damaged)))

    def test_a_sampler_for_pyg_has_ids_at_once(self, path, pairs):
        import torch

        seen = []

        def transform(output):
            seen.append(output.edge)
            return output

        for batch in self.batches(gz.Graph(path), transform_sampler_output=transform):
            assert type(seen[-1]) is torch.Tensor
            self.assert_right(batch, pairs, hetero=False)

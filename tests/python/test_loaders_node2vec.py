"""Node2Vec: the windows and the loss of PyG's class, walks from our files, the same samples for any workers."""

import copy
import gc
import os
import subprocess
import sys
import types

import numpy as np
import pytest
import torch

import graphzero as gz
import oracle
from graphzero.loaders import Node2Vec
from laws import assert_uniform
from walk_cases import METHODS, OF_WORKERS, assert_legal, communities, pyg_nn, ring

pytestmark = [pytest.mark.filterwarnings(warning) for warning in OF_WORKERS]


def model_of(graph, **options):
    return Node2Vec(graph, **{"embedding_dim": 4, "walk_length": 5, "context_size": 3, **options})


def pyg_twin(model, walks):
    """PyG's class with our parameters, whose walks are given: it needs pyg-lib only to make them."""
    twin = pyg_nn().Node2Vec.__new__(pyg_nn().Node2Vec)
    torch.nn.Module.__init__(twin)
    twin.rowptr = twin.col = None
    twin.random_walk_fn = lambda *_: walks
    twin.EPS = 1e-15
    twin.embedding = model.embedding
    for name in ("num_nodes", "embedding_dim", "walk_length", "context_size", "walks_per_node", "p", "q"):
        setattr(twin, name, getattr(model, name))
    twin.num_negative_samples = model.num_negative_samples
    return twin


def whole_walks(model, batch, seed):
    """The walks that a model cuts its windows of: those whose windows are as long as they are."""
    return model_of(
        gz.Graph("ring.gl"),
        walk_length=model.walk_length + 1,
        context_size=model.walk_length + 1,
        walks_per_node=model.walks_per_node,
        p=model.p,
        q=model.q,
        seed=seed,
    ).pos_sample(batch)


@pytest.mark.parametrize(
    "options", [{}, {"walks_per_node": 3}, {"context_size": 5}, {"context_size": 2, "p": 0.5, "q": 2}]
)
def test_windows_are_those_of_pyg(options):
    graph = ring()
    batch = torch.tensor([3, 0, 9])
    model = model_of(graph, seed=1, **options)
    found = model.pos_sample(batch)
    walks = whole_walks(model, batch, seed=1)
    assert walks[:, 0].tolist() == [3, 0, 9] * model.walks_per_node
    assert_legal(walks, graph)
    assert found.tolist() == pyg_twin(model, walks).pos_sample(batch).tolist()
    assert found.tolist() == oracle.windows(walks.tolist(), model.context_size)
    assert (found.dtype, found.is_contiguous()) == (torch.int64, True)


def test_p_and_q_are_those_of_node2vec():
    gz.write_graph("path.gl", np.arange(9), np.arange(1, 10), directed=False)
    back = model_of(gz.Graph("path.gl"), p=1e-100).pos_sample(torch.arange(10))
    assert (back[:, 0] == back[:, 2]).all()
    away = model_of(gz.Graph("path.gl"), q=1e-100).pos_sample(torch.tensor([0]))
    assert away.tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]


@pytest.mark.parametrize("options", [{}, {"walks_per_node": 2, "num_negative_samples": 3}])
def test_negatives_have_the_form_of_pygs_and_are_uniform(options):
    model = model_of(ring(), seed=1, **options)
    batch = torch.arange(10)
    found = model.neg_sample(batch)
    expected = pyg_twin(model, None).neg_sample(batch)
    assert found.shape == expected.shape
    repeats = model.walks_per_node * model.num_negative_samples * 10
    assert found[:repeats, 0].tolist() == expected[:repeats, 0].tolist()
    assert found[:repeats, 1:].tolist() == found[repeats : 2 * repeats, :2].tolist()  # the next window
    assert_uniform(model_of(ring(), seed=2, num_negative_samples=500).neg_sample(batch)[:, 2], range(10))


@pytest.mark.parametrize("sparse", [False, True])
def test_loss_and_gradients_are_those_of_pyg(sparse):
    torch.manual_seed(0)  # with large products 1 - sigmoid, in float32, is further from the oracle than the tolerance
    model = model_of(ring(), num_negative_samples=2, sparse=sparse, seed=1)
    pos_rw, neg_rw = model.sample([0, 1, 5])
    ours = model.loss(pos_rw, neg_rw)
    gradient = torch.autograd.grad(ours, model.embedding.weight)[0]
    theirs = pyg_twin(model, None).loss(pos_rw, neg_rw)
    expected = torch.autograd.grad(theirs, model.embedding.weight)[0]
    torch.testing.assert_close(ours, theirs)
    assert gradient.is_sparse == sparse
    torch.testing.assert_close(gradient.to_dense(), expected.to_dense())
    vectors = model.embedding.weight.tolist()
    assert ours.item() == pytest.approx(oracle.skip_gram_loss(vectors, pos_rw.tolist(), neg_rw.tolist()), rel=1e-5)


def test_parameters_begin_as_pygs_do(tmp_path):
    torch.manual_seed(0)
    ours = model_of(ring())
    torch.manual_seed(0)
    theirs = torch.nn.Embedding(10, 4)
    theirs.reset_parameters()  # PyG draws them twice
    assert torch.equal(ours.embedding.weight, theirs.weight)
    assert list(ours.state_dict()) == ["embedding.weight"]
    before = ours.embedding.weight.clone()
    ours.reset_parameters()
    assert not torch.equal(before, ours.embedding.weight)


def test_attributes_and_forward_are_those_of_pyg():
    model = model_of(ring(), walks_per_node=2, p=0.5, q=2.0, num_negative_samples=3)
    names = ("num_nodes", "embedding_dim", "walk_length", "context_size", "walks_per_node", "p", "q")
    assert [getattr(model, name) for name in names] == [10, 4, 4, 3, 2, 0.5, 2.0]
    assert repr(model) == "Node2Vec(10, 4)"
    assert model() is model.embedding.weight
    assert torch.equal(model(torch.tensor([7, 7])), model.embedding.weight[[7, 7]])


@pytest.mark.no_tsan
def test_an_edge_index_is_walked_until_the_model_goes(monkeypatch, tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    graph = ring()
    src, dst = graph.index().indptr, graph.indices
    edge_index = torch.tensor(np.stack([np.repeat(np.arange(10), np.diff(src)), dst]))
    model = model_of(edge_index, seed=1, num_nodes=12)
    assert model.num_nodes == 12
    assert model.sample([0, 1])[0].tolist() == model_of(graph, seed=1).sample([0, 1])[0].tolist()
    assert model.pos_sample(torch.tensor([11])).tolist() == [[11, 11, 11]] * 3
    assert len(list(folder.rglob("*.gl"))) == 1
    twin = copy.deepcopy(model)
    del model
    gc.collect()
    assert len(list(twin.loader(batch_size=6, num_workers=1, multiprocessing_context="spawn"))) == 2
    child = os.fork()
    if child == 0:
        del twin
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert len(list(folder.rglob("*.gl"))) == 1
    del twin
    gc.collect()
    assert list(folder.iterdir()) == []


def test_a_data_set_is_walked_as_its_graph(tiny_dataset):
    dataset = gz.open(tiny_dataset)
    samples = [model_of(graph, seed=2).sample([0, 3])[0].tolist() for graph in (dataset, dataset.graph)]
    assert samples[0] == samples[1]


def ring_edges():
    graph = ring()
    return torch.tensor(np.stack([np.repeat(np.arange(10), np.diff(graph.index().indptr)), graph.indices]))


def test_the_graph_has_the_keyword_of_pyg_too(tiny_dataset):
    sizes = {"embedding_dim": 4, "walk_length": 5, "context_size": 3, "seed": 1}
    expected = Node2Vec(ring_edges(), 4, 5, 3, seed=1).sample([0, 7])[0].tolist()
    assert Node2Vec(edge_index=ring_edges(), **sizes).sample([0, 7])[0].tolist() == expected
    assert Node2Vec(graph=ring_edges(), **sizes).sample([0, 7])[0].tolist() == expected
    assert Node2Vec(edge_index=gz.Graph("ring.gl"), **sizes).sample([0, 7])[0].tolist() == expected
    assert Node2Vec(edge_index=gz.open(tiny_dataset), **sizes).num_nodes == 4
    with pytest.raises(TypeError, match="graph, edge_index: expected one of them, found both"):
        Node2Vec(ring(), edge_index=ring_edges(), **sizes)
    with pytest.raises(TypeError, match="graph: expected a Graph, .*, found None"):
        Node2Vec(**sizes)
    with pytest.raises(TypeError, match="walk_length: expected an integer, found None"):
        Node2Vec(ring(), 4)


def test_objects_of_pyg_are_walked_as_their_edges():
    data = pytest.importorskip("torch_geometric.data")
    edges = ring_edges()
    expected = model_of(edges, seed=1).sample([0, 7])[0].tolist()
    given = data.Data(edge_index=edges, x=torch.zeros(12, 1))
    assert model_of(given, seed=1).num_nodes == 12
    assert model_of(given, seed=1).sample([0, 7])[0].tolist() == expected
    typed = pytest.importorskip("torch_geometric").EdgeIndex(edges, sparse_size=(11, 11))
    assert model_of(typed, seed=1).num_nodes == 11
    assert model_of(typed, num_nodes=10, seed=1).num_nodes == 10
    assert model_of(typed, seed=1).sample([0, 7])[0].tolist() == expected


def samples_of(loader):
    return [(pos_rw.tolist(), neg_rw.tolist()) for pos_rw, neg_rw in loader]


@pytest.mark.parametrize("method", METHODS)
def test_workers_give_the_samples_of_the_process_itself(method):
    graph = ring()
    options = {"batch_size": 4, "shuffle": True}
    expected = samples_of(model_of(graph, seed=3).loader(**options))
    assert len(expected) == 3
    loader = model_of(graph, seed=3).loader(**options, num_workers=2, multiprocessing_context=method)
    assert len(loader) == 3
    assert samples_of(loader) == expected


def test_epochs_differ_and_a_seed_repeats_them():
    graph = ring()
    loaders = [model_of(graph, seed=3).loader(batch_size=5) for _ in range(2)]
    epochs = [[samples_of(loader) for _ in range(2)] for loader in loaders]
    assert epochs[0] == epochs[1]
    assert epochs[0][0] != epochs[0][1]
    assert epochs[0][0][0] != epochs[0][0][1]


def test_an_iteration_that_is_left_early_does_not_change_the_next():
    graph = ring()
    kept, left = (model_of(graph, seed=3).loader(batch_size=2) for _ in range(2))
    next(iter(left))
    list(kept)
    assert samples_of(left) == samples_of(kept)


def test_without_a_seed_torch_decides():
    model = model_of(ring())
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append((samples_of(model.loader(batch_size=4, shuffle=True)), model.sample([0])[1].tolist()))
    assert found[0] == found[1] != found[2]


def test_options_of_the_loader_are_kept():
    model = model_of(ring(), seed=0)
    assert [len(pos_rw) for pos_rw, _ in model.loader(batch_size=4, drop_last=True)] == [12, 12]
    assert [pos_rw[0, 0].item() for pos_rw, _ in model.loader()] == list(range(10))
    assert [pos_rw[0, 0].item() for pos_rw, _ in model.loader(sampler=[4, 2])] == [4, 2]
    assert [pos_rw[0, 0].item() for pos_rw, _ in model.loader(sampler=[4, 2], batch_size=None)] == [4, 2]
    assert [pos_rw[:2, 0].tolist() for pos_rw, _ in model.loader(batch_sampler=[[1, 8], [3, 0]])] == [[1, 8], [3, 0]]
    assert isinstance(next(iter(model.loader())), tuple)
    orders = [
        [pos_rw[0, 0].item() for pos_rw, _ in model.loader(shuffle=True, generator=torch.Generator().manual_seed(4))]
        for _ in range(2)
    ]
    assert orders[0] == orders[1] != list(range(10))
    with pytest.raises(TypeError, match="collate_fn: expected none, because the loader returns finished samples"):
        model.loader(collate_fn=list)


@pytest.mark.no_tsan
def test_workers_of_a_users_own_loader_do_not_repeat_each_other():
    model = model_of(ring(), seed=3, walk_length=12)
    loader = torch.utils.data.DataLoader(
        [0] * 2, collate_fn=model.sample, num_workers=2, multiprocessing_context="fork"
    )
    first, second = samples_of(loader)
    assert first[0] != second[0]
    assert first[1] != second[1]


def test_a_worker_is_not_sent_the_table():
    model = model_of(ring(), embedding_dim=4096)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.nn.Embedding, "__reduce_ex__", lambda *_: pytest.fail("the table was pickled"))
        assert len(list(model.loader(batch_size=5, num_workers=1, multiprocessing_context="spawn"))) == 2


@pytest.mark.parametrize("sparse", [False, True])
def test_training_separates_two_communities(sparse):
    torch.manual_seed(0)
    graph = communities()
    model = Node2Vec(graph, 8, walk_length=8, context_size=4, walks_per_node=4, sparse=sparse, seed=0)
    optimizer = (torch.optim.SparseAdam if sparse else torch.optim.Adam)(list(model.parameters()), lr=0.05)
    losses = []
    for _ in range(15):
        for pos_rw, neg_rw in model.loader(batch_size=20, shuffle=True):
            optimizer.zero_grad()
            loss = model.loss(pos_rw, neg_rw)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert np.mean(losses[-5:]) < 0.6 * np.mean(losses[:5])
    vectors = torch.nn.functional.normalize(model().detach(), dim=1)
    centres = torch.nn.functional.normalize(torch.stack([vectors[:30].mean(0), vectors[30:].mean(0)]), dim=1)
    nearest = (vectors @ centres.T).argmax(1)
    assert (nearest == torch.arange(60) // 30).float().mean() > 0.95


def test_the_score_is_that_of_scikit_learn(monkeypatch):
    calls = []

    class LogisticRegression:
        def __init__(self, *args, **kwargs):
            calls.append((args, kwargs))

        def fit(self, z, y):
            calls.append((z.tolist(), y.tolist()))
            return self

        def score(self, z, y):
            calls.append((z.tolist(), y.tolist()))
            return 0.75

    module = types.ModuleType("sklearn.linear_model")
    module.LogisticRegression = LogisticRegression
    monkeypatch.setitem(sys.modules, "sklearn", types.ModuleType("sklearn"))
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", module)
    z, y = torch.eye(2, requires_grad=True), torch.tensor([0, 1])
    assert model_of(ring()).test(z, y, 2 * z, 1 - y, max_iter=5) == 0.75
    assert calls == [
        ((), {"solver": "lbfgs", "max_iter": 5}),
        ([[1, 0], [0, 1]], [0, 1]),
        ([[2, 0], [0, 2]], [1, 0]),
    ]
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(ImportError, match="test: needs scikit-learn, which is not installed: pip install scikit-learn"):
        model_of(ring()).test(z, y, z, y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"embedding_dim": 0}, ValueError, "embedding_dim: expected at least 1, found 0"),
        ({"walk_length": 1}, ValueError, "walk_length: expected at least 2, found 1"),
        ({"context_size": 1}, ValueError, "context_size: expected at least 2, found 1"),
        ({"context_size": 6}, ValueError, "context_size: expected at most 5, the number of nodes of a walk, found 6"),
        ({"walks_per_node": 0}, ValueError, "walks_per_node: expected at least 1, found 0"),
        ({"num_negative_samples": 0}, ValueError, "num_negative_samples: expected at least 1, found 0"),
        ({"num_nodes": 11}, ValueError, "num_nodes: expected 10, as many as ring.gl has, found 11; leave it out"),
        ({"p": -1}, ValueError, "p: expected a number from"),
        ({"q": "x"}, TypeError, "q: expected a number, found 'x'"),
        ({"seed": 0.5}, TypeError, "seed: expected an integer, found 0.5"),
    ],
)
def test_options_that_are_wrong_are_named(options, error, message):
    with pytest.raises(error, match=message):
        model_of(ring(), **options)


@pytest.mark.parametrize(
    ("graph", "options", "error", "message"),
    [
        ([[0], [1]], {}, TypeError, "graph: expected a Graph, a Dataset, an edge_index or PyG's Data, found list"),
        (
            torch.eye(3).to_sparse(),
            {},
            TypeError,
            r"edge_index: expected a tensor of shape \(2, edges\), found a sparse one; "
            "torch_geometric.utils.to_edge_index makes it",
        ),
        (torch.zeros(3, 2), {}, ValueError, r"edge_index: expected a tensor of shape \(2, edges\), found \(3, 2\)"),
        (torch.zeros(2, 3), {}, TypeError, "edge_index: expected integers, found float32"),
        (torch.tensor([[0], [-2]]), {}, ValueError, "edge_index: expected node ids of at least 0, found -2"),
        (
            torch.tensor([[0], [4]]),
            {"num_nodes": 4},
            ValueError,
            "num_nodes: expected at least 5, because there is a node 4",
        ),
        (torch.zeros(2, 0, dtype=torch.int64), {}, ValueError, "graph: expected at least one node, found none"),
    ],
)
def test_graphs_that_are_wrong_are_named(graph, options, error, message):
    with pytest.raises(error, match=message):
        model_of(graph, **options)


def test_files_and_batches_that_are_wrong_are_named(tiny):
    gz.write_graph("in.gl", [0], [1], index="in")
    with pytest.raises(ValueError, match="has no 'out' index"):
        model_of(gz.Graph("in.gl"))
    gz.write_graph("two.gl", [0], [1], num_nodes=(1, 2))
    with pytest.raises(ValueError, match="is bipartite"):
        model_of(gz.Graph("two.gl"))
    model = model_of(tiny)
    with pytest.raises(IndexError, match=r"start_nodes\[1\]: node 4 is not in"):
        model.sample([0, 4])
    with pytest.raises(
        TypeError, match=r"batch: expected node ids in one dimension, found torch.float32 of shape \(1,\)"
    ):
        model.pos_sample(torch.tensor([0.5]))
    tiny.close()
    with pytest.raises(ValueError, match="this Graph is closed; open it again"):
        model.sample([0])


def test_training_imports_nothing_of_pyg():
    ring()
    code = """
import sys, graphzero as gz
from graphzero.loaders import Node2Vec
model = Node2Vec(gz.Graph("ring.gl"), 4, 5, 3)
for pos_rw, neg_rw in model.loader(batch_size=4):
    model.loss(pos_rw, neg_rw).backward()
print([m for m in ("torch_geometric", "pyg_lib", "torch_sparse", "torch_cluster", "sklearn") if m in sys.modules])
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert shown.stdout == "[]\n"

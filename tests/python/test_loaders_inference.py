"""Layer after layer from disk to disk gives what the model gives on the whole graph in memory."""

import errno
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import graphzero as gz
from data_sets import pyg
from pipeline_cases import descriptors, settled, tasks

torch = pytest.importorskip("torch")
pyg()

from torch_geometric import nn  # noqa: E402  (after the warnings of its import)

from graphzero.loaders._inference import all_nodes  # noqa: E402

NUM_NODES, WIDTH = 300, 6
WRITES, CITES, BY = ("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "by", "author")


class World:
    """A graph with a hub, parallel edges, self-loops and isolated nodes, with rows: as tensors and as files."""

    def __init__(self, folder):
        rng = np.random.default_rng(0)
        src = rng.integers(0, NUM_NODES - 10, 1500)
        dst = (rng.random(1500) ** 3 * (NUM_NODES - 10)).astype(np.int64)
        self.x = rng.standard_normal((NUM_NODES, WIDTH)).astype(np.float32)
        self.w = rng.random(1500).astype(np.float32)
        self.folder = folder
        gz.write_graph(folder / "g.gl", src, dst, num_nodes=NUM_NODES)
        gz.write_features(folder / "x.gd", self.x)
        gz.write_features(folder / "w.gd", self.w)
        with gz.DatasetWriter(folder / "data") as writer:
            writer.add_nodes({"x": self.x, "deep": self.x[:, :4]}, num_nodes=NUM_NODES)
            writer.add_edges(src, dst, attributes={"w": self.w})
        self.dataset = gz.open(folder / "data")
        self.pair = gz.Graph(folder / "g.gl"), gz.FeatureStore(folder / "x.gd")
        self.edge_index = torch.from_numpy(np.stack([src, dst]))
        self.rows = torch.from_numpy(self.x)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("world"))


def whole(model, *inputs):
    """What the model makes of the whole graph."""
    model.eval()
    with torch.no_grad():
        return model(*inputs)


def close(store, expected, tolerance=1e-5):
    assert store.shape == tuple(expected.shape)
    np.testing.assert_allclose(store.as_torch().float(), expected.float(), rtol=tolerance, atol=tolerance)


def seeded(make, *args, **options):
    torch.manual_seed(0)
    return make(*args, **options)


MODELS = {
    "mean": lambda: nn.GraphSAGE(WIDTH, 8, 3, 5),
    "max": lambda: nn.GraphSAGE(WIDTH, 8, 2, 5, aggr="max"),
    "norm": lambda: nn.GraphSAGE(WIDTH, 8, 3, 5, norm="batch_norm", act_first=True, dropout=0.5),
    "last": lambda: nn.GraphSAGE(WIDTH, 8, 2, 5, jk="last"),
    "one layer": lambda: nn.GraphSAGE(WIDTH, 8, 1),
    "gat": lambda: nn.GAT(WIDTH, 8, 2, 5, heads=2),
    "gin": lambda: nn.GIN(WIDTH, 8, 2, 5),
    "edge": lambda: nn.EdgeCNN(WIDTH, 8, 2, 5),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("batch_size", [None, 7, NUM_NODES])
def test_a_model_of_pyg_gives_every_node_the_row_it_has_in_the_whole_graph(world, name, batch_size):
    model = seeded(MODELS[name])
    store = gz.inference(model, world.dataset, "emb.gd", batch_size=batch_size)
    assert (store.path, store.dtype) == (os.path.abspath("emb.gd"), "float32")
    close(store, whole(model, world.rows, world.edge_index))


def test_a_graph_and_a_store_are_as_good_as_a_data_set(world):
    model = seeded(nn.GraphSAGE, WIDTH, 8, 2, 5)
    close(gz.inference(model, world.pair, "emb.gd", memory="64MB"), whole(model, world.rows, world.edge_index))


def test_another_attribute_can_be_named(world):
    model = seeded(nn.GraphSAGE, 4, 8, 2, 5)
    store = gz.inference(model, world.dataset, "emb.gd", features="deep")
    close(store, whole(model, world.rows[:, :4], world.edge_index))


class Net(torch.nn.Module):
    """A model of a user's own, with something before the layers and after them."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.SAGEConv(WIDTH, 8), nn.GraphConv(8, 8)
        self.head = torch.nn.Linear(8, 3)
        self.dropout = torch.nn.Dropout(0.5)

    def layers(self):
        return [
            lambda x, edge_index: self.dropout(self.first(x, edge_index).relu()),
            lambda x, edge_index: self.head(self.second(x, edge_index)),
        ]

    def forward(self, x, edge_index):
        for layer in self.layers():
            x = layer(x, edge_index)
        return x


@pytest.mark.parametrize("with_model", [True, False])
def test_functions_are_layers(world, with_model):
    model = seeded(Net).eval()
    store = gz.inference(model if with_model else None, world.dataset, "emb.gd", layers=model.layers(), batch_size=64)
    close(store, whole(model, world.rows, world.edge_index))


def test_modules_are_layers_and_are_evaluated(world):
    layers = torch.nn.ModuleList([seeded(nn.SAGEConv, WIDTH, 8), seeded(nn.GATConv, 8, 4, dropout=0.5)])
    store = gz.inference(None, world.dataset, "emb.gd", layers=layers)
    assert layers[1].training
    layers.eval()
    close(store, layers[1](layers[0](world.rows, world.edge_index), world.edge_index).detach())


def test_a_layer_may_return_the_rows_of_seeds_alone(world):
    conv = seeded(nn.SAGEConv, WIDTH, 8)

    def seeds_only(x, edge_index):
        num_seeds = int(edge_index[1].max()) + 1  # every seed but the isolated, which come last
        return conv((x, x[:num_seeds]), edge_index)

    connected = NUM_NODES - 10
    graph = world.folder / "connected.gl"
    loops = torch.arange(connected)
    edge_index = torch.cat([world.edge_index, torch.stack([loops, loops])], 1)
    gz.write_graph(graph, *edge_index.numpy(), num_nodes=connected)
    gz.write_features("few.gd", world.x[:connected])
    data = gz.Graph(graph), gz.FeatureStore("few.gd")
    store = gz.inference(None, data, "emb.gd", layers=[seeds_only], batch_size=50)
    close(store, conv(world.rows[:connected], edge_index).detach())


def test_rows_may_be_numbers_or_matrices(world):
    def norms(x, edge_index):
        return x.norm(dim=1)

    def outer(x, edge_index):
        return x[:, :, None] * x[:, None, :2]

    close(gz.inference(None, world.dataset, "norms.gd", layers=[norms]), world.rows.norm(dim=1))
    close(
        gz.inference(None, world.dataset, "outer.gd", layers=[outer]), world.rows[:, :, None] * world.rows[:, None, :2]
    )


def test_attributes_of_edges_are_the_third_argument(world):
    first, second = seeded(nn.GraphConv, WIDTH, 8), seeded(nn.GraphConv, 8, 4)
    weight = torch.from_numpy(world.w)
    expected = second(first(world.rows, world.edge_index, weight).relu(), world.edge_index, weight).detach()
    layers = [lambda x, edge_index, w: first(x, edge_index, w).relu(), second]
    close(gz.inference(None, world.dataset, "a.gd", layers=layers, edge_features="w"), expected)
    stores = gz.FeatureStore(world.folder / "w.gd")
    close(gz.inference(None, world.pair, "b.gd", layers=layers, edge_features=stores, batch_size=30), expected)


def test_gcn_is_exact_with_its_weights_as_attributes_of_edges(world):
    conv = seeded(nn.GCNConv, WIDTH, 8)
    expected = conv(world.rows, world.edge_index).detach()
    edge_index, norm = nn.conv.gcn_conv.gcn_norm(world.edge_index, num_nodes=NUM_NODES)
    gz.write_graph("loops.gl", *edge_index.numpy(), num_nodes=NUM_NODES)
    gz.write_features("norm.gd", norm.numpy())
    conv.normalize = False
    data, weights = (gz.Graph("loops.gl"), world.pair[1]), gz.FeatureStore("norm.gd")
    close(gz.inference(None, data, "emb.gd", layers=[conv], edge_features=weights, batch_size=40), expected)


def test_undirected_graphs_are_followed_both_ways(world):
    gz.write_graph("both.gl", *world.edge_index.numpy(), num_nodes=NUM_NODES, directed=False)
    model = seeded(nn.GraphSAGE, WIDTH, 8, 2, 5)
    edge_index = torch.cat([world.edge_index, world.edge_index.flip(0)], 1)
    store = gz.inference(model, (gz.Graph("both.gl"), world.pair[1]), "emb.gd", batch_size=64)
    close(store, whole(model, world.rows, edge_index))


@pytest.mark.parametrize("stored", ["float16", "bfloat16", "float64", "int8-quantised"])
def test_features_of_every_type_become_what_the_model_computes_with(world, stored):
    gz.convert_features(world.x, "stored.gd", dtype=stored)
    store = gz.FeatureStore("stored.gd")
    rows = torch.from_numpy(np.stack([store.get_data(i) for i in range(NUM_NODES)]))
    rows = store.as_torch().float() if stored == "bfloat16" else rows.float()
    model = seeded(nn.GraphSAGE, WIDTH, 8, 2, 5)
    close(gz.inference(model, (world.pair[0], store), "emb.gd"), whole(model, rows, world.edge_index))


def test_a_model_of_doubles_computes_with_doubles(world):
    model = seeded(nn.GraphSAGE, WIDTH, 8, 3, 5).double()
    expected = whole(model, world.rows.double(), world.edge_index)
    store = gz.inference(model, world.dataset, "emb.gd", dtype="float64")
    assert store.dtype == "float64"
    np.testing.assert_allclose(store.get_tensor(), expected, rtol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 1e-3), ("bfloat16", 1e-2), (torch.float64, 1e-5)])
def test_rows_are_stored_in_the_type_asked_for(world, dtype, tolerance):
    model = seeded(nn.GraphSAGE, WIDTH, 8, 2, 5)
    store = gz.inference(model, world.dataset, "emb.gd", dtype=dtype)
    assert store.dtype == str(dtype).removeprefix("torch.")
    close(store, whole(model, world.rows, world.edge_index), tolerance)


def test_features_that_are_integers_stay_so(world):
    gz.write_features("kind.gd", np.arange(NUM_NODES) % 5)
    table = seeded(torch.nn.Embedding, 5, 3)
    data = world.pair[0], gz.FeatureStore("kind.gd")
    store = gz.inference(None, data, "emb.gd", layers=[lambda kind, edge_index: table(kind)])
    close(store, table.weight.detach()[torch.arange(NUM_NODES) % 5])


class Kinds:
    """Two kinds of node, three of edge, and a kind that no edge touches."""

    def __init__(self, folder, num_authors=40):
        rng = np.random.default_rng(1)
        self.counts = {"author": num_authors, "paper": 90, "venue": 4}
        self.x = {
            name: torch.from_numpy(rng.standard_normal((count, width)).astype(np.float32))
            for (name, count), width in zip(self.counts.items(), (5, 7, 2), strict=True)
        }
        self.edges = {}
        with gz.DatasetWriter(folder / "kinds") as writer:
            for name, rows in self.x.items():
                writer.add_nodes({"x": rows}, type=name, num_nodes=self.counts[name])
            for triple, count in {WRITES: 150, CITES: 300, BY: 100}.items():
                count = count if min(self.counts[triple[0]], self.counts[triple[2]]) else 0
                ends = np.stack([rng.integers(0, max(1, self.counts[name] - 3), count) for name in triple[::2]])
                self.edges[triple] = torch.from_numpy(ends)
                writer.add_edges(*ends, type=triple)
        self.dataset = gz.open(folder / "kinds")


def hetero_layers(x):
    """Two HeteroConv layers with a ReLU between them."""
    widths = {name: rows.shape[1] for name, rows in x.items()}
    triples = (WRITES, CITES, BY)
    first = nn.HeteroConv({t: nn.SAGEConv((widths[t[0]], widths[t[2]]), 8) for t in triples})
    second = nn.HeteroConv({t: nn.SAGEConv((8, 8), 4, aggr="max") for t in triples})
    return [lambda *args: {name: rows.relu() for name, rows in first(*args).items()}, second]


@pytest.mark.parametrize("batch_size", [None, 9])
@pytest.mark.parametrize("num_authors", [40, 0])
def test_several_types_make_a_folder_of_a_file_for_each(tmp_path, batch_size, num_authors):
    kinds = Kinds(tmp_path, num_authors)
    layers = seeded(hetero_layers, kinds.x)
    with torch.no_grad():
        expected = layers[1](layers[0](kinds.x, kinds.edges), kinds.edges)
    found = gz.inference(None, kinds.dataset, "emb", layers=layers, batch_size=batch_size)
    assert sorted(found) == sorted(expected) == ["author", "paper"]
    assert sorted(os.listdir("emb")) == ["author.gd", "paper.gd"]
    for name, rows in expected.items():
        close(found[name], rows)


def test_several_graphs_without_a_data_set(tmp_path):
    kinds = Kinds(tmp_path)
    layers = seeded(hetero_layers, kinds.x)
    graphs = {triple: kind.graph for triple, kind in kinds.dataset.edges.items()}
    stores = {name: kinds.dataset.nodes[name]["x"] for name in ("author", "paper")}
    with torch.no_grad():
        expected = layers[1](layers[0](kinds.x, kinds.edges), kinds.edges)
    found = gz.inference(None, (graphs, stores), "emb", layers=layers)
    for name, rows in expected.items():
        close(found[name], rows)


def test_a_type_without_edges_has_rows_if_the_layer_gives_it_some(tmp_path):
    kinds = Kinds(tmp_path)
    found = gz.inference(
        None, kinds.dataset, "emb", layers=[lambda x, edges: {name: 2 * rows for name, rows in x.items()}]
    )
    assert sorted(found) == ["author", "paper", "venue"]
    close(found["venue"], 2 * kinds.x["venue"])


def test_attributes_of_edges_of_several_types(tmp_path):
    rng = np.random.default_rng(0)
    w = rng.random(100).astype(np.float32)
    ends = rng.integers(0, 20, (2, 100))
    x = rng.standard_normal((20, 3)).astype(np.float32)
    with gz.DatasetWriter(tmp_path / "weighted") as writer:
        writer.add_nodes({"x": x}, type="paper", num_nodes=20)
        writer.add_nodes({"x": x}, type="author", num_nodes=20)
        writer.add_edges(*ends, type=CITES, attributes={"w": w})
        writer.add_edges(*ends, type=WRITES)
    conv = seeded(nn.GraphConv, 3, 4)

    def layer(x_dict, edges, weights):
        assert list(weights) == [CITES]
        return {"paper": conv(x_dict["paper"], edges[CITES], weights[CITES])}

    found = gz.inference(None, gz.open(tmp_path / "weighted"), "emb", layers=[layer], edge_features="w", batch_size=6)
    close(found["paper"], conv(torch.from_numpy(x), torch.from_numpy(ends), torch.from_numpy(w)).detach())


def test_a_graph_without_nodes_has_rows_of_the_right_width(tmp_path):
    gz.write_graph("none.gl", [], [], num_nodes=0)
    gz.write_features("none.gd", np.zeros((0, WIDTH), np.float32))
    data = gz.Graph("none.gl"), gz.FeatureStore("none.gd")
    assert gz.inference(nn.GraphSAGE(WIDTH, 8, 2, 5), data, "emb.gd").shape == (0, 5)


@pytest.mark.parametrize("most", [1, 4, 9, 30, 10**6])
@pytest.mark.parametrize("window", [1, 3, 7, 1000])
def test_batches_are_cut_by_their_edges(monkeypatch, most, window):
    monkeypatch.setattr(all_nodes, "_WINDOW", window)
    rng = np.random.default_rng(0)
    degrees = rng.integers(0, 5, (2, 50))
    degrees[0, 17] = 100
    indptrs = [np.concatenate([[0], np.cumsum(counts)]) for counts in degrees]
    cuts = all_nodes.batch_cuts(indptrs, 50, most)
    sizes = [size for size, _ in cuts]
    assert sum(sizes) == 50
    assert min(sizes) > 0
    weights = np.split(degrees.sum(axis=0) + 1, np.cumsum(sizes)[:-1])
    assert [entries for _, entries in cuts] == [batch.sum() for batch in weights]
    assert all(batch.sum() <= most or len(batch) == 1 for batch in weights)
    for one, other in itertools.pairwise(weights):  # as few as can be: no batch has room for the next node
        assert one.sum() + other[0] > most or len(one) == window


def test_no_nodes_make_no_batches():
    assert all_nodes.batch_cuts([np.zeros(1, np.int64)], 0, 10) == []


def test_less_memory_makes_more_batches(world):
    gz.write_features("wide.gd", np.zeros((NUM_NODES, 5_000), np.float16))
    wide = world.pair[0], gz.FeatureStore("wide.gd")

    def largest(memory):
        calls = []
        layers = [lambda x, edge_index: calls.append(edge_index.shape[1]) or x[:, :1]]
        gz.inference(None, wide, f"{memory}.gd", layers=layers, memory=memory)
        assert sum(calls) == 1500
        return len(calls), max(calls)

    assert largest("1GB") == (1, 1500)
    hub = int(world.pair[0].degree(np.arange(NUM_NODES), "in").max())
    number, edges = largest("64MB")  # 199 nodes and edges at a time, and the hub alone
    assert 9 <= number <= 20
    assert edges <= max(199, hub)


def test_a_hub_that_no_batch_can_hold_is_named(world):
    gz.write_features("wide.gd", np.zeros((NUM_NODES, 50_000), np.float16))
    degrees = world.pair[0].degree(np.arange(NUM_NODES), "in")
    message = (
        rf"memory: expected at least [\d.]+ MB for node {degrees.argmax()} of type 'node' with its {degrees.max()} "
        "neighbours, found 64.0 MB"
    )
    data = world.pair[0], gz.FeatureStore("wide.gd")
    refused(ValueError, message, None, data, "emb.gd", layers=[identity], memory="64MB")


def test_modes_are_restored_part_by_part(world):
    model = nn.GraphSAGE(WIDTH, 8, 2, 5, norm="batch_norm")
    model.train()
    model.norms[0].eval()
    before = {name: part.training for name, part in model.named_modules()}
    assert len(set(before.values())) == 2
    seen = []
    model.convs[0].register_forward_hook(lambda *_: seen.append((model.training, torch.is_inference_mode_enabled())))
    gz.inference(model, world.dataset, "emb.gd")
    assert set(seen) == {(False, True)}
    assert {name: part.training for name, part in model.named_modules()} == before
    assert not torch.is_inference_mode_enabled()


def test_the_device_is_that_of_the_model_or_the_one_asked_for(world):
    model = seeded(nn.GraphSAGE, WIDTH, 8, 2, 5)
    close(gz.inference(model, world.dataset, "emb.gd", device="cpu"), whole(model, world.rows, world.edge_index))


class Oops(Exception):
    pass


def failing_at(call, error):
    """A layer that raises at its n-th call."""
    calls = []

    def layer(x, edge_index):
        calls.append(1)
        if len(calls) == call:
            raise error
        return x

    return layer


@pytest.mark.parametrize("error", [Oops, KeyboardInterrupt])
@pytest.mark.parametrize("call", [1, 3])
@pytest.mark.parametrize("place", [0, 2])
def test_nothing_is_left_behind_by_what_fails(world, tmp_path, error, call, place):
    threads, files = tasks(), descriptors()
    model = nn.GraphSAGE(WIDTH, 8, 2, 5).train()
    layers = [lambda x, edge_index: x] * place + [failing_at(call, error)]
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(error):
        gz.inference(model, world.dataset, tmp_path / "emb.gd", layers=layers, batch_size=100)
    assert sorted(os.listdir(tmp_path)) == before
    assert model.training
    assert (settled(tasks, threads), settled(descriptors, files)) == (threads, files)


def test_threads_end_while_the_error_is_looked_at(world):
    threads = tasks()
    with pytest.raises(Oops) as caught:
        gz.inference(None, world.dataset, "emb.gd", layers=[failing_at(2, Oops)], batch_size=10)
    assert settled(tasks, threads) == threads
    assert caught.traceback


def test_nothing_but_the_result_is_left_by_what_succeeds(world, tmp_path):
    before = set(os.listdir(tmp_path))
    seen = []

    def layer(x, edge_index):
        hidden = [name for name in os.listdir(tmp_path) if name.endswith(".graphzero-tmp")]
        seen.append(sorted(os.listdir(tmp_path / hidden[0])))
        return x

    store = gz.inference(None, world.dataset, tmp_path / "emb.gd", layers=[layer] * 4)
    assert set(os.listdir(tmp_path)) - before == {"emb.gd"}
    assert seen == [["0"], ["0", "1"], ["1", "2"], ["2", "3"]]  # no more than two layers are on disk
    assert all(check.holds for check in gz.verify(store.path))


def test_what_a_killed_run_left_goes_with_the_next(world, tmp_path):
    script = (
        "import os, sys, graphzero as gz\n"
        "layer = lambda x, edge_index: os._exit(9)\n"
        "gz.inference(None, gz.open(sys.argv[1]), sys.argv[2], layers=[layer])\n"
    )
    out = tmp_path / "emb.gd"
    killed = subprocess.run([sys.executable, "-c", script, world.dataset.path, out], check=False)
    assert killed.returncode == 9
    assert [name for name in os.listdir(tmp_path) if name.endswith(".graphzero-tmp")]
    gz.inference(None, world.dataset, out, layers=[lambda x, edge_index: x])
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".graphzero-tmp")]


def test_progress_is_shown_on_standard_error(world, capfd):
    gz.inference(None, world.dataset, "emb.gd", layers=[lambda x, edge_index: x] * 2, progress=True)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "emb.gd" in shown.err
    assert f"{2 * NUM_NODES} nodes" in shown.err


def identity(x, edge_index):
    return x


REFUSED_MODELS = {
    "GCNConv, which needs the degrees of neighbours; give it normalize=False": lambda: nn.GCN(WIDTH, 8, 2),
    "EGConv, which needs the degrees of neighbours for 'symnorm'": lambda: nn.EGConv(WIDTH, 8),
    "APPNP, which needs several hops at once": lambda: nn.APPNP(2, 0.1),
    "GraphNorm, which needs all nodes at once": lambda: nn.GraphSAGE(WIDTH, 8, 2, norm="graph_norm"),
    "LayerNorm, which needs all nodes at once": lambda: nn.GraphSAGE(WIDTH, 8, 2, norm="layer_norm"),
    "SAGEConv, which needs the edges that leave a node": lambda: nn.SAGEConv(WIDTH, 8, flow="target_to_source"),
    "DirGNNConv, which needs the edges that leave a node": lambda: nn.DirGNNConv(nn.SAGEConv(WIDTH, 8)),
}


@pytest.mark.parametrize("message", REFUSED_MODELS)
def test_what_needs_more_than_one_hop_is_refused(world, message):
    model = REFUSED_MODELS[message]()
    expected = f"model: expected layers that need no more than the rows of a node and its neighbours, found {message}"
    if not hasattr(model, "num_layers"):
        with pytest.raises(ValueError, match=expected.replace("model", "layers", 1)):
            gz.inference(None, world.dataset, "emb.gd", layers=[model])
        with pytest.raises(ValueError, match=expected.replace("model", "layers", 1)):
            gz.inference(model, world.dataset, "emb.gd", layers=[lambda x, edge_index: model(x, edge_index)])
    else:
        with pytest.raises(ValueError, match=expected):
            gz.inference(model, world.dataset, "emb.gd")
    assert not os.path.exists("emb.gd")


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.GCNConv(WIDTH, 8, normalize=False, add_self_loops=False),
        lambda: nn.EGConv(WIDTH, 8, aggregators=["mean"], add_self_loops=False),
        lambda: nn.LayerNorm(WIDTH, mode="node"),
        lambda: torch.nn.LayerNorm(WIDTH),
    ],
)
def test_what_one_hop_is_enough_for_is_not_refused(world, make):
    part = seeded(make)
    layer = part if isinstance(part, nn.MessagePassing) else lambda x, edge_index: part(x)
    expected = layer(world.rows, world.edge_index).detach()
    close(gz.inference(part, world.dataset, "emb.gd", layers=[layer], batch_size=40), expected, 1e-4)


def refused(error, message, *args, **options):
    there = sorted(os.listdir())
    with pytest.raises(error, match=message):
        gz.inference(*args, **options)
    assert sorted(os.listdir()) == there


def test_a_model_that_is_not_understood_is_refused(world, tmp_path):
    message = r"model: expected one with num_layers and inference_per_layer, as PyG's, found Net; pass layers=, a list "
    refused(TypeError, message + r"of functions \(x, edge_index\) -> rows", Net(), world.dataset, "emb.gd")
    refused(TypeError, "model: expected one with num_layers .* found NoneType", None, world.dataset, "emb.gd")
    kinds = Kinds(tmp_path)
    model = nn.GraphSAGE(WIDTH, 8, 2)
    message = (
        r"model: expected layers for several types .* found GraphSAGE; pass layers=, .*\(x_dict, edge_index_dict\)"
    )
    refused(ValueError, message, model, kinds.dataset, "emb")


def test_a_model_that_joins_its_layers_is_refused(world):
    model = nn.GraphSAGE(WIDTH, 8, 2, jk="cat")
    refused(ValueError, "model: expected jk=None or 'last', found 'cat'", model, world.dataset, "emb.gd")


def test_a_model_that_takes_no_attributes_of_edges_is_refused_with_them(world):
    model = nn.GraphSAGE(WIDTH, 8, 2)
    message = "edge_features: inference_per_layer of GraphSAGE takes none; pass layers="
    refused(ValueError, message, model, world.dataset, "emb.gd", edge_features="w")


def test_layers_that_are_none_are_refused(world):
    for layers in (identity, [identity, 3], "layers"):
        refused(TypeError, "layers: expected a list of functions", None, world.dataset, "emb.gd", layers=layers)
    refused(ValueError, "layers: expected at least one, found none", None, world.dataset, "emb.gd", layers=[])


def test_data_without_such_features_is_refused(world):
    message = r"features: no attribute 'z'; there are \['deep', 'x'\]"
    refused(KeyError, message, None, world.dataset, "emb.gd", layers=[identity], features="z")
    message = r"features: no attribute 'x'; there are \[\]"
    refused(KeyError, message, None, world.pair[0], "emb.gd", layers=[identity])
    message = "features: expected the name of an attribute, found"
    refused(TypeError, message, None, world.dataset, "emb.gd", layers=[identity], features=world.pair[1])
    message = "edge_features: no attribute 'v'; there are"
    refused(KeyError, message, None, world.dataset, "emb.gd", layers=[identity], edge_features="v")
    refused(TypeError, "data: expected a data set", None, 3, "emb.gd", layers=[identity])


def test_two_attributes_of_edges_are_refused(world):
    w = gz.FeatureStore(world.folder / "w.gd")
    message = "edge_features: expected one attribute of .* found several"
    refused(ValueError, message, None, world.pair, "emb.gd", layers=[identity], edge_features={"v": w, "w": w})


@pytest.mark.parametrize(
    ("layer", "error", "message"),
    [
        (lambda x, e: x[1:], ValueError, r"layer 1: expected a row for each of \d+ nodes, or for each of the 50 seeds"),
        (lambda x, e: None, TypeError, "layer 1: expected a tensor of rows, found None"),
        (lambda x, e: x.sum(), TypeError, "layer 1: expected a tensor of rows, found tensor"),
        (
            lambda x, e: x[:, : 1 + len(x) % 2 + e.shape[1] % 3],
            ValueError,
            r"layer 1: expected rows of torch.float32 \(\d,\) as in the first batch, found torch.float32 \(\d,\)",
        ),
        (lambda x, e: x.to(torch.complex64), TypeError, "dtype: expected one that torch.complex64 of the last layer"),
    ],
)
def test_what_a_layer_returns_is_checked(world, layer, error, message):
    refused(error, message, None, world.dataset, "emb.gd", layers=[identity, layer], batch_size=50)


def test_what_a_layer_of_several_types_returns_is_checked(tmp_path):
    kinds = Kinds(tmp_path)
    calls = []

    def sometimes(x, edges):
        calls.append(1)
        return {"author": x["author"]} if len(calls) == 1 else {}

    for layer, error, message in [
        (lambda x, edges: x["paper"], TypeError, "layer 0: expected a dict of tensors by node type, found Tensor"),
        (lambda x, edges: {}, ValueError, r"layer 0: expected rows of at least one of \['author'.*found none"),
        (sometimes, ValueError, r"layer 0: expected rows of 'author' in every batch, found none in Batch\(1 "),
        (lambda x, edges: {"paper": x["paper"][1:]}, ValueError, "layer 0: expected a row for each of .* nodes"),
    ]:
        refused(error, message, None, kinds.dataset, "emb", layers=[layer], batch_size=5)


def test_a_type_that_cannot_hold_the_rows_is_refused(world):
    message = "dtype: expected one that torch.float32 of the last layer can become, found torch.int32"
    refused(TypeError, message, None, world.dataset, "emb.gd", layers=[identity], dtype="int32")
    refused(TypeError, "dtype: expected one of", None, world.dataset, "emb.gd", layers=[identity], dtype="nibble")


def test_an_existing_path_is_refused_and_kept(world, tmp_path):
    there = tmp_path / "there.gd"
    there.write_bytes(b"mine")
    message = "out: exists; give overwrite=True to replace it, or another path.*there.gd"
    refused(FileExistsError, message, None, world.dataset, there, layers=[identity])
    assert there.read_bytes() == b"mine"
    os.symlink("nowhere", "dangling.gd")
    refused(FileExistsError, "out: exists", None, world.dataset, "dangling.gd", layers=[identity])


def test_an_existing_path_can_be_overwritten(world, tmp_path):
    there = tmp_path / "there.gd"
    there.write_bytes(b"mine")
    for _ in range(2):
        with gz.inference(None, world.dataset, there, layers=[identity], overwrite=True) as store:
            assert (store.path, store.num_rows) == (str(there), NUM_NODES)
        there.unlink()
        there.symlink_to("nowhere")
    there.unlink()
    there.mkdir()
    message = "out: expected a file to replace, found something else.*there.gd"
    refused(FileExistsError, message, None, world.dataset, there, layers=[identity], overwrite=True)
    message = "out: expected another path"
    refused(ValueError, message, None, world.dataset, world.dataset.path, layers=[identity], overwrite=True)


def test_a_folder_of_rows_can_be_overwritten_but_no_other(tmp_path):
    kinds = Kinds(tmp_path)
    layers = [lambda x, edges: x]
    for _ in range(2):
        stores = gz.inference(None, kinds.dataset, "emb", layers=layers, overwrite=True)
    assert sorted(os.listdir("emb")) == sorted(f"{name}.gd" for name in stores)
    (tmp_path / "emb" / "notes.txt").write_text("mine")
    message = "out: expected a folder of .gd files to replace, found something else"
    refused(FileExistsError, message, None, kinds.dataset, "emb", layers=layers, overwrite=True)
    assert (tmp_path / "emb" / "notes.txt").read_text() == "mine"


def test_an_old_file_stays_if_the_new_one_fails(world, tmp_path):
    there = tmp_path / "there.gd"
    there.write_bytes(b"mine")

    def stop(done, total):
        if done == total:
            raise LookupError("stopped")

    with pytest.raises(LookupError, match="stopped"):
        gz.inference(None, world.dataset, there, layers=[identity], overwrite=True, progress=stop)
    assert there.read_bytes() == b"mine"
    refused(
        TypeError,
        "overwrite: expected True or False, found 'yes'",
        None,
        world.dataset,
        there,
        layers=[identity],
        overwrite="yes",
    )


def test_a_path_of_the_data_is_refused(world):
    for path in (world.folder / "x.gd", world.folder / "g.gl"):
        size = path.stat().st_size
        message = "out: expected another path than those of the data, found one of them"
        refused(ValueError, message, None, world.pair, path, layers=[identity])
        assert path.stat().st_size == size
    refused(ValueError, "out: expected another path", None, world.dataset, world.dataset.path, layers=[identity])


def test_a_folder_that_is_not_there_or_not_writable_is_refused(world):
    message = "out: no such folder; make it first.*/absent"
    refused(FileNotFoundError, message, None, world.dataset, "absent/emb.gd", layers=[identity])
    message = r"out: cannot be written: .*: '/proc/emb\.gd'"
    with pytest.raises(OSError, match=message) as caught:
        gz.inference(None, world.dataset, "/proc/emb.gd", layers=[identity])
    assert caught.value.errno in (errno.ENOENT, errno.EACCES, errno.EROFS)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_refused(world):
    model = nn.GraphSAGE(WIDTH, 8, 2)
    message = "device: expected one of 0 CUDA devices .* found 'cuda'"
    refused(ValueError, message, model, world.dataset, "emb.gd", device="cuda")
    message = "device: expected one that torch knows, such as 'cuda', found 'gpu'"
    refused(ValueError, message, model, world.dataset, "emb.gd", device="gpu")


def test_sizes_that_are_none_are_refused(world):
    options = {"layers": [identity]}
    refused(ValueError, "memory: expected a size such as", None, world.dataset, "emb.gd", memory="lots", **options)
    refused(TypeError, "memory: expected an integer", None, world.dataset, "emb.gd", memory=0.5, **options)
    message = "memory: expected at least .* MB for batches of this size, found 1 MB"
    refused(ValueError, message, None, world.dataset, "emb.gd", memory="1MB", **options)
    message = "batch_size: expected at least 1, found 0"
    refused(ValueError, message, None, world.dataset, "emb.gd", batch_size=0, **options)


def test_the_package_loads_torch_only_when_it_is_used():
    script = (
        "import sys, graphzero as gz\n"
        "assert {'inference', 'loaders', 'Graph'} <= set(dir(gz))\n"
        "assert 'inference' in dir(gz.loaders)\n"
        "assert 'torch' not in sys.modules\n"
        "assert gz.inference is gz.loaders.inference and callable(gz.inference)\n"
        "assert 'torch' in sys.modules and 'torch_geometric' not in sys.modules\n"
        "assert not hasattr(gz, 'nothing')\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)

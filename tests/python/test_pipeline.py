"""Batches hold what sampling and indexing by hand give, whatever brings them and in whichever order."""

import dataclasses
import itertools

import numpy as np
import pytest

import files
import graphzero as gz
from case_choice import meeting
from graphzero.features import floats_of_bfloat16
from laws import assert_uniform
from optional_torch import needs_torch, torch
from pipeline_cases import NUM_NODES, assert_same, sampled, write_world

READERS = ["mmap", "direct", "pread"]
WRITES, CITES = ("author", "writes", "paper"), ("paper", "cites", "paper")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("world"))


def batches(graph, *args, **options):
    """One epoch."""
    with gz.Pipeline(graph, *args, **options) as pipeline:
        return list(pipeline)


@pytest.fixture(scope="module")
def expected(world):
    """Two epochs by hand, in the order that the first pipeline took its seeds in."""
    pipeline = gz.Pipeline(world.graph, None, [4, 3], batch_size=150, shuffle=True, seed=7)
    result = []
    for batch in itertools.chain(pipeline, pipeline):
        hood = sampled(world.graph, batch, np.arange(NUM_NODES), [4, 3], seed=7)
        features = {"x": world.x[hood.node], "y": world.y[hood.node]}
        edge_features = {"edge_attr": world.w[hood.edge].astype(np.float32)}
        result.append(
            gz.Batch(hood, features, edge_features, batch.input_id, None, None, len(result) // 14, len(result) % 14)
        )
    assert len(result) == 28
    return result


@meeting(
    {
        "reader": READERS,
        "budget": [("20MB", 0), ("25MB", "60kB"), ("1GB", None)],
        "threads": [1, 2, 4],
        "name": ["x", "hot"],
        "ahead": [1, None],
    },
    together=3,
)
def test_batches_are_the_same_for_every_reader_memory_and_number_of_threads(
    world, expected, reader, budget, threads, name, ahead
):
    memory, cache = budget
    pipeline = gz.Pipeline(
        world.graph,
        None,
        [4, 3],
        features={"x": world.store(name), "y": world.store("y")},
        edge_features=world.store("w"),
        batch_size=150,
        shuffle=True,
        memory=memory,
        cache=cache,
        ahead=ahead,
        dtype={"edge_attr": "float32"},
        reader=reader,
        threads=threads,
        seed=7,
    )
    assert len(pipeline) == 14
    for batch, wanted in zip(itertools.chain(pipeline, pipeline), expected, strict=True):
        assert_same(batch, wanted)
    sources = pipeline.stats()["sources"]
    assert {source["reader"] for source in sources.values()} == {reader}
    cached = sources["x"]["cached_rows"]
    if reader == "mmap" or cache == 0:
        assert cached == 0
    elif cache is None:
        assert cached == NUM_NODES
    else:
        assert 0 < cached < NUM_NODES


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("shape", [(), (3,), (100,), (2, 5, 10), (2050,), (0,)])
def test_rows_of_any_size_and_shape(world, reader, shape):
    rows = np.random.default_rng(1).standard_normal((NUM_NODES, *shape)).astype(np.float32)
    gz.write_features("rows.gd", rows)
    pipeline = gz.Pipeline(
        world.graph,
        None,
        [3],
        features=gz.FeatureStore("rows.gd"),
        batch_size=100,
        memory="60MB",
        cache=0,
        reader=reader,
        seed=1,
    )
    for batch in pipeline:
        assert_same(batch.node_features["x"], rows[batch.sample.node])


@pytest.mark.parametrize("ahead", [1, None])
@pytest.mark.parametrize("reader", ["direct", "pread"])
def test_a_batch_far_larger_than_the_others(tmp_path, reader, ahead):
    """Batch 5 is not among those that are looked at beforehand. Its rows are more than one batch ahead has room for."""
    hub = np.full(8000, 55)
    gz.write_graph("hub.gl", np.arange(200, 8200), hub, num_nodes=8200)
    rows = np.random.default_rng(1).standard_normal((8200, 30)).astype(np.float32)
    gz.write_features("rows.gd", rows)
    options = {"features": gz.FeatureStore("rows.gd"), "memory": "60MB", "cache": 0, "ahead": ahead}
    pipeline = gz.Pipeline(gz.Graph("hub.gl"), range(200), [-1], batch_size=10, reader=reader, **options)
    for _ in range(2):
        found = list(pipeline)
        assert [len(batch.sample.node) for batch in found] == [10] * 5 + [8010] + [10] * 14
        for batch in found:
            assert_same(batch.node_features["x"], rows[batch.sample.node])
    stats = pipeline.stats()
    if ahead == 1:
        assert stats["late_rows"] > 4000
        assert stats["device_bytes"] >= 120 * stats["late_rows"]
    del found, batch
    assert pipeline.stats()["memory"]["batches"] < 120 * 8010  # what it was assembled in is not kept


def write_quantised(path):
    rng = np.random.default_rng(2)
    array = rng.integers(-128, 128, (NUM_NODES, 7), dtype=np.int8)
    scales = rng.random(NUM_NODES, dtype=np.float32)
    files.write(path, files.build(files.gd(array, scales=scales)))
    return array, array.astype(np.float32) * scales[:, None]


@pytest.mark.parametrize("cache", [0, None])
@pytest.mark.parametrize("reader", READERS)
def test_rows_become_the_dtype_that_is_asked_for(world, reader, cache):
    stored, values = write_quantised("q.gd")
    halves = np.random.default_rng(3).standard_normal((NUM_NODES, 5)).astype(np.float16)
    bits = np.random.default_rng(3).integers(0, 1 << 16, (NUM_NODES, 3), dtype=np.uint16) & 0xBFFF
    gz.write_features("h.gd", halves)
    gz.write_features("b.gd", bits, dtype="bfloat16")
    features = {name: gz.FeatureStore(f"{name}.gd") for name in ("q", "h", "b")} | {"y": world.store("y")}
    options = {"features": features, "batch_size": 300, "cache": cache, "reader": reader, "seed": 1}

    def only(**columns):
        return {name: columns.get(name, column) for name, column in as_stored.items()}

    as_stored = {"q": stored, "h": halves, "b": bits, "y": world.y}
    as_floats = only(q=values, h=halves.astype(np.float32), b=floats_of_bfloat16(bits))  # labels stay integers
    for dtype, columns in (
        (None, as_stored),
        ("float32", as_floats),
        ({"q": torch.float32 if torch else "float32"}, only(q=values)),
        ({"b": "float32", "y": None}, only(b=as_floats["b"])),
    ):
        for batch in batches(world.graph, None, [2], memory="50MB", dtype=dtype, **options):
            assert_same(batch.node_features, {name: column[batch.sample.node] for name, column in columns.items()})


@pytest.mark.parametrize(
    "options",
    [
        {"direction": "out"},
        {"replace": True},
        {"weighted": True},
        {"weighted": True, "replace": True},
        {"disjoint": True},
        {"subgraph_type": "induced"},
        {"method": "labor"},
        {"method": "labor", "layer_dependency": True},
    ],
)
def test_options_of_sampling_pass_through(world, options):
    seeds = np.arange(0, NUM_NODES, 7)
    plain_samples = 0
    for batch in batches(world.graph, seeds, [4, 3], features=world.store("x"), batch_size=50, seed=3, **options):
        hood = sampled(world.graph, batch, seeds, [4, 3], seed=3, **options)
        assert_same(batch.sample, hood)
        assert_same(batch.node_features["x"], world.x[hood.node])
        plain = sampled(world.graph, batch, seeds, [4, 3], seed=3)
        plain_samples += np.array_equal(plain.row, hood.row) and np.array_equal(plain.node, hood.node)
    assert plain_samples == 0


@pytest.mark.parametrize(
    "options", [{}, {"temporal_strategy": "last"}, {"time_window": 30}, {"node_time": np.arange(NUM_NODES) % 100}]
)
def test_each_seed_of_a_temporal_batch_has_its_own_time(world, options):
    graph = gz.Graph(f"{world.folder}/timed.gl")
    seeds = np.arange(0, NUM_NODES, 5)
    times = np.random.default_rng(4).integers(0, 100, len(seeds))
    for batch in batches(graph, seeds, [3, 3], seed_time=times, batch_size=64, shuffle=True, seed=3, **options):
        assert_same(
            batch.sample, sampled(graph, batch, seeds, [3, 3], seed=3, seed_time=times[batch.input_id], **options)
        )


@pytest.fixture
def papers(tmp_path):
    """Graphs by edge type, arrays by (type, name), stores by type and name."""
    rng = np.random.default_rng(5)
    ends = {WRITES: (rng.integers(0, 300, 4000), rng.integers(0, 700, 4000)), CITES: rng.integers(0, 700, (2, 5000))}
    gz.write_graph("writes.gl", *ends[WRITES], num_nodes=(300, 700))
    gz.write_graph("cites.gl", *ends[CITES], num_nodes=700)
    graphs = {WRITES: gz.Graph("writes.gl"), CITES: gz.Graph("cites.gl")}
    arrays = {
        ("paper", "x"): rng.standard_normal((700, 33)).astype(np.float32),
        ("paper", "y"): rng.integers(0, 9, 700),
        ("author", "x"): rng.standard_normal((300, 4)),
        (WRITES, "order"): rng.integers(0, 9, 4000).astype(np.int16),
        (CITES, "edge_attr"): rng.standard_normal((5000, 2)).astype(np.float32),
    }
    stores = {}
    for number, ((kind, name), array) in enumerate(arrays.items()):
        gz.write_features(f"{number}.gd", array)
        stores.setdefault(kind, {})[name] = gz.FeatureStore(f"{number}.gd")
    return graphs, arrays, stores


def rows_by_type(hood, arrays):
    nodes, edges = {}, {}
    for (kind, name), array in arrays.items():
        if isinstance(kind, tuple):
            edges.setdefault(kind, {})[name] = array[hood.edge[kind]]
        else:
            nodes.setdefault(kind, {})[name] = array[hood.node[kind]]
    return nodes, edges


@pytest.mark.parametrize("cache", [0, None])
@pytest.mark.parametrize("reader", READERS)
def test_a_heterogeneous_batch_has_attributes_by_type_and_name(papers, reader, cache):
    graphs, arrays, stores = papers
    seeds = np.random.default_rng(6).permutation(700)[:450]
    fanouts = {WRITES: [3, 2], CITES: [4, 2]}
    found = batches(
        graphs,
        ("paper", seeds),
        fanouts,
        features={kind: stores[kind] for kind in ("paper", "author")},
        edge_features={WRITES: stores[WRITES], CITES: stores[CITES]["edge_attr"]},
        batch_size=64,
        memory="50MB",
        cache=cache,
        reader=reader,
        seed=2,
    )
    assert [batch.num_seeds for batch in found] == [64] * 7 + [2]
    for batch in found:
        hood = gz.sample_neighbors(graphs, {"paper": seeds[batch.input_id]}, fanouts, seed=2, batch=batch.number)
        assert_same(batch.sample, hood)
        assert_same((batch.node_features, batch.edge_features), rows_by_type(hood, arrays))
        assert_same(batch.node_features["paper"]["y"], arrays["paper", "y"][hood.node["paper"]])


def test_one_bipartite_graph(papers):
    graphs, arrays, stores = papers
    graph = {WRITES: graphs[WRITES]}
    for batch in batches(graph, {"paper": range(700)}, [3], features={"author": stores["author"]}, seed=2):
        hood = gz.sample_neighbors(graph, {"paper": range(700)}, [3], seed=2)
        assert_same(batch.sample, hood)
        assert_same(batch.node_features, {"author": {"x": arrays["author", "x"][hood.node["author"]]}})


@pytest.mark.parametrize(
    "given", [("author", None), "author", {"author": np.arange(300)}, ("author", np.ones(300, bool))]
)
def test_all_nodes_of_a_type(papers, given):
    graphs = papers[0]
    (batch,) = batches(graphs, given, [0])
    assert_same(batch.sample.node, {"author": np.arange(300, dtype=np.int64), "paper": np.empty(0, np.int64)})


def test_a_data_set_brings_its_attributes_and_splits(tiny_dataset):
    dataset = gz.open(tiny_dataset)
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    (batch,) = batches(dataset, "train", [-1])
    assert batch.sample.node.tolist()[:2] == [0, 2]
    assert batch.node_features["x"].tolist() == x[batch.sample.node].tolist()
    assert batch.node_features["y"].tolist() == np.array([0, 1, 0, 2])[batch.sample.node].tolist()
    for features, names in (("x", ["x"]), (["y"], ["y"]), ((), [])):
        (batch,) = batches(dataset, "test", [-1], features=features)
        assert list(batch.node_features) == names
    assert batches(dataset, ("node", "test"), [0])[0].sample.node.tolist() == [1, 3]
    assert batches(dataset, None, [0])[0].sample.node.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "seeds",
    [
        [5, 1, 9],
        (5, 1, 9),
        np.array([5, 1, 9], np.uint8),
        pytest.param(torch and torch.tensor([5, 1, 9]), marks=needs_torch),
        {"node": [5, 1, 9]},
        ("node", [5, 1, 9]),
        pytest.param(("node", torch and torch.tensor([5, 1, 9])), marks=needs_torch),
    ],
)
def test_seeds_have_many_forms(world, seeds):
    found = batches(world.graph, seeds, [2], batch_size=2, seed=1)
    assert [batch.input_id.tolist() for batch in found] == [[0, 1], [2]]
    assert [batch.sample.node[: batch.num_seeds].tolist() for batch in found] == [[5, 1], [9]]


@pytest.mark.parametrize("kind", [np.asarray, pytest.param(torch and torch.from_numpy, marks=needs_torch)])
def test_a_mask_selects_its_nodes(world, kind):
    mask = np.zeros(NUM_NODES, bool)
    mask[[3, 77, 1999]] = True
    (batch,) = batches(world.graph, kind(mask), [0])
    assert batch.sample.node.tolist() == [3, 77, 1999]


def test_duplicate_seeds_stay(world):
    seeds = np.array([4, 4, 7, 4])
    (batch,) = batches(world.graph, seeds, [3], features=world.store("x"), seed=5)
    assert_same(batch.sample, gz.sample_neighbors(world.graph, seeds, [3], seed=5))
    assert_same(batch.node_features["x"], world.x[batch.sample.node])


@pytest.mark.parametrize("reader", READERS)
def test_no_seeds_make_no_batches(world, reader):
    pipeline = gz.Pipeline(world.graph, [], [3], features=world.store("x"), reader=reader)
    assert len(pipeline) == 0
    assert [list(pipeline), list(pipeline)] == [[], []]


@pytest.mark.parametrize(
    ("count", "size", "drop_last", "sizes"),
    [(10, 4, False, [4, 4, 2]), (10, 4, True, [4, 4]), (8, 4, True, [4, 4]), (3, 4, False, [3]), (3, 4, True, [])],
)
def test_the_last_batch_may_be_dropped(world, count, size, drop_last, sizes):
    pipeline = gz.Pipeline(world.graph, range(count), [1], batch_size=size, drop_last=drop_last)
    assert len(pipeline) == len(sizes)
    assert [batch.num_seeds for batch in pipeline] == sizes


@pytest.mark.parametrize("reader", READERS)
def test_a_graph_without_edges_has_attributes_of_none(tmp_path, reader):
    gz.write_graph("none.gl", [], [], num_nodes=5)
    gz.write_features("none.gd", np.empty((0, 3), np.float32))
    options = {"edge_features": gz.FeatureStore("none.gd"), "reader": reader, "batch_size": 2}
    found = batches(gz.Graph("none.gl"), None, [2], **options)
    assert [batch.sample.node.tolist() for batch in found] == [[0, 1], [2, 3], [4]]
    assert {batch.edge_features["edge_attr"].shape for batch in found} == {(0, 3)}


def order(world, count, *, seed, epoch=0):
    """The places of all seeds in the order of an epoch."""
    pipeline = gz.Pipeline(world.graph, np.arange(count) % NUM_NODES, [], batch_size=1000, shuffle=True, seed=seed)
    pipeline.set_epoch(epoch)
    return np.concatenate([batch.input_id for batch in pipeline])


@pytest.mark.parametrize("count", [1, 2, 100, 4096, 4097, 10_000])
def test_each_epoch_is_another_permutation_that_the_seed_determines(world, count):
    orders = [order(world, count, seed=seed, epoch=epoch) for seed, epoch in ((1, 0), (1, 1), (2, 0))]
    for one in orders:
        assert sorted(one.tolist()) == list(range(count))
    assert np.array_equal(orders[0], order(world, count, seed=1))
    if count >= 100:
        for one, other in itertools.combinations([np.arange(count), *orders], 2):
            assert np.mean(one == other) < 0.05


def test_seeds_come_in_order_unless_shuffled(world):
    found = batches(world.graph, [9, 3, 9, 1], [], batch_size=3)
    assert [batch.input_id.tolist() for batch in found] == [[0, 1, 2], [3]]


def test_short_orders_are_uniform(world):
    orders = [tuple(order(world, 3, seed=seed, epoch=epoch).tolist()) for seed in range(60) for epoch in range(5)]
    numbers = {permutation: number for number, permutation in enumerate(itertools.permutations(range(3)))}
    assert_uniform([numbers[one] for one in orders], range(6))


def test_long_orders_are_uniform(world):
    places = np.concatenate([order(world, 5000, seed=seed)[:400] for seed in range(12)])
    assert_uniform(places * 20 // 5000, range(20))


def test_batches_without_a_seed_differ_between_pipelines(world):
    found = [batches(world.graph, None, [3], shuffle=True)[0] for _ in range(2)]
    assert not np.array_equal(found[0].input_id, found[1].input_id)
    assert not np.array_equal(found[0].sample.node, found[1].sample.node)


def test_a_batch_describes_itself(world):
    (batch,) = batches(world.graph, range(5), [0])
    assert repr(batch) == "Batch(0 of epoch 0: 5 seeds, Neighborhood(5 nodes, 0 edges, hops [5, 0]))"
    assert repr(gz.Pipeline(world.graph, features=world.store("y"))) == "Pipeline(2 batches, ['x'])"
    with pytest.raises(dataclasses.FrozenInstanceError):
        batch.number = 3

"""Batches of nodes hold what sampling and indexing by hand give, under PyG's names."""

import dataclasses

import numpy as np
import pytest
import torch

import graphzero as gz
import oracle
from data_sets import pyg
from graphzero.loaders import NeighborLoader, TorchBatch
from laws import assert_law, assert_uniform
from loader_cases import (
    AUTHOR,
    CITES,
    COUNTS,
    NUM_NODES,
    PAPER,
    REVERSE,
    WRITES,
    as_pyg_data,
    assert_holds,
    named,
    sampler_for_pyg,
    values,
    with_rows,
    write_heterogeneous,
    write_homogeneous,
)
from pipeline_cases import assert_same
from sample_cases import EDGE, NODE, Case, shape

pyg()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_homogeneous(tmp_path_factory.mktemp("homogeneous"))


@pytest.fixture(scope="module")
def hetero(tmp_path_factory):
    return write_heterogeneous(tmp_path_factory.mktemp("heterogeneous"))


def by_hand(data, places, ids, fanouts=(4, 3), **options):
    """What a batch of these seeds must hold."""
    is_hetero = data.dataset.is_hetero
    graph, seeds = (data.dataset, {PAPER: ids[places]}) if is_hetero else (data.dataset.graph, ids[places])
    found = with_rows(data, gz.sample_neighbors(graph, seeds, fanouts, **{"seed": 7, **options}))
    (found[PAPER] if is_hetero else found).update(input_id=places, batch_size=len(places))
    return found


def places_of(batch, of=None):
    return (batch if of is None else batch[of]).input_id.numpy()


@pytest.mark.parametrize("form", ["data set", "pair", "pair the other way round", "options"])
def test_batches_of_a_homogeneous_graph(data, form):
    graph, stores, edge_stores = data.dataset.graph, data.stores[NODE], {"edge_features": data.edge_stores[EDGE]}
    given, more = {
        "data set": (data.dataset, {}),
        "pair": ((graph, stores), edge_stores),
        "pair the other way round": ((stores, graph), edge_stores),
        "options": (graph, {"features": stores, **edge_stores}),
    }[form]
    options = {"batch_size": 32, "shuffle": True, "seed": 7, **more}
    loader = NeighborLoader(given, [4, 3], input_nodes=data.train, **options)
    assert len(loader) == 3
    orders = []
    for epoch in range(2):
        places = []
        for number, batch in enumerate(loader):
            assert isinstance(batch, pyg().Data)
            assert batch.num_nodes == len(batch.n_id)
            expected = by_hand(data, places_of(batch), data.train, epoch=epoch, batch=number)
            assert_holds(batch, expected)
            places += places_of(batch).tolist()
        assert sorted(places) == list(range(90))
        orders.append(places)
    assert orders[0] != orders[1]


@pytest.mark.parametrize("form", ["data set", "dicts"])
def test_batches_of_a_heterogeneous_graph(hetero, form):
    given, more = hetero.dataset, {}
    if form == "dicts":
        given, more = (hetero.graphs, hetero.stores), {"edge_features": hetero.edge_stores}
    loader = NeighborLoader(given, [4, 3], (PAPER, hetero.train), batch_size=32, shuffle=True, seed=7, **more)
    for epoch in range(2):
        for number, batch in enumerate(loader):
            assert isinstance(batch, pyg().HeteroData)
            expected = by_hand(hetero, places_of(batch, PAPER), hetero.train, epoch=epoch, batch=number)
            if form == "dicts":  # nothing says that subjects are labels
                del expected[PAPER]["y"]
            assert_holds(batch, expected)


@pytest.mark.parametrize("is_hetero", [False, True])
def test_plain_batches_hold_the_same(data, hetero, is_hetero):
    given = hetero if is_hetero else data
    options = {"input_nodes": (PAPER, [3, 9, 7]) if is_hetero else [3, 9, 7], "batch_size": 3, "seed": 7}
    (batch,) = NeighborLoader(given.dataset, [4, 3], form="torch", **options)
    assert type(batch) is TorchBatch
    expected = by_hand(given, np.arange(3), np.array([3, 9, 7]))
    if is_hetero:
        by_name = {}
        for of, group in expected.items():
            for name, value in group.items():
                by_name.setdefault(f"{name}_dict", {})[of] = value
        expected = {**by_name, "input_type": PAPER}
    assert_holds(batch, expected)


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("disjoint", [False, True])
def test_all_neighbours_are_those_of_the_oracle(direction, disjoint):
    rng = np.random.default_rng(3)
    case = Case(12, rng.integers(0, 12, 30).tolist(), rng.integers(0, 12, 30).tolist())
    seeds = [4, 0, 9]
    (batch,) = NeighborLoader(
        case.graph(),
        [-1, -1],
        seeds,
        batch_size=3,
        disjoint=disjoint,
        sample_direction="forward" if direction == "in" else "backward",
    )
    found = gz.Neighborhood(
        batch.n_id.numpy(),
        *batch.edge_index.numpy(),
        batch.e_id.numpy(),
        batch.batch.numpy() if disjoint else None,
        batch.num_sampled_nodes,
        batch.num_sampled_edges,
    )
    expected = oracle.neighborhood(
        [EDGE], {NODE: seeds}, 2, case.entries(direction), direction=direction, disjoint=disjoint
    )
    assert shape(found, direction) == expected


@pytest.mark.parametrize("is_hetero", [False, True])
def test_batches_equal_those_of_pygs_own_loader(data, hetero, is_hetero):
    """PyG's NodeLoader filters its own data by samples that were drawn by hand: every neighbour."""
    from torch_geometric.loader import NodeLoader

    given, nodes = (
        (hetero, (PAPER, torch.from_numpy(hetero.train))) if is_hetero else (data, torch.from_numpy(data.train))
    )
    options = {"input_nodes": nodes, "batch_size": 25}
    theirs = NodeLoader(as_pyg_data(given), sampler_for_pyg(given, [-1, -1]), **options)
    ours = NeighborLoader(given.dataset, [-1, -1], **options)
    assert len(ours) == len(theirs)
    for batch, expected in zip(ours, theirs, strict=True):
        assert_holds(batch, values(expected))


def mask_of(ids, count):
    mask = np.zeros(count, dtype=bool)
    mask[ids] = True
    return mask


IDS = [7, 3, 250]


@pytest.mark.parametrize(
    ("given", "ids", "input_id"),
    [
        (IDS, IDS, [0, 1, 2]),
        (tuple(IDS), IDS, [0, 1, 2]),
        (np.array(IDS, dtype=np.int32), IDS, [0, 1, 2]),
        (torch.tensor(IDS), IDS, [0, 1, 2]),
        (("node", IDS), IDS, [0, 1, 2]),
        ({"node": IDS}, IDS, [0, 1, 2]),
        (mask_of(IDS, NUM_NODES), sorted(IDS), sorted(IDS)),
        (torch.from_numpy(mask_of(IDS, NUM_NODES)), sorted(IDS), sorted(IDS)),
        (("node", mask_of(IDS, NUM_NODES)), sorted(IDS), sorted(IDS)),
        (None, list(range(NUM_NODES)), list(range(NUM_NODES))),
        ("node", list(range(NUM_NODES)), list(range(NUM_NODES))),
    ],
)
def test_input_nodes_have_many_forms(data, given, ids, input_id):
    (batch,) = NeighborLoader(data.dataset, [1], given, batch_size=NUM_NODES)
    assert batch.n_id[: batch.batch_size].tolist() == ids
    assert batch.input_id.tolist() == input_id
    assert batch.batch_size == len(ids)


@pytest.mark.parametrize("given", ["train", (NODE, "train")])
def test_a_split_is_an_input(data, given):
    (batch,) = NeighborLoader(data.dataset, [1], given, batch_size=100)
    assert_same(batch.n_id[:90].numpy(), data.train)
    assert batch.input_id.tolist() == list(range(90))


def test_inputs_of_one_type_of_several(hetero):
    def seeds(given, of=PAPER):
        (batch,) = NeighborLoader(hetero.dataset, [1], given, batch_size=1000)
        (other,) = {AUTHOR, PAPER} - {of}
        assert "input_id" not in batch[other]
        assert batch[other].num_sampled_nodes[0] == 0
        return batch[of].n_id[: batch[of].batch_size].tolist(), batch[of].input_id.tolist()

    papers = list(range(COUNTS[PAPER])), list(range(COUNTS[PAPER]))
    assert seeds(PAPER) == seeds((PAPER, None)) == seeds({PAPER: None}) == papers
    assert seeds(AUTHOR, AUTHOR) == (list(range(COUNTS[AUTHOR])),) * 2
    assert seeds("train") == seeds((PAPER, "train")) == (hetero.train.tolist(), list(range(60)))
    assert seeds((PAPER, torch.tensor([5, 2]))) == ([5, 2], [0, 1])
    assert seeds((PAPER, mask_of([5, 2], COUNTS[PAPER]))) == ([2, 5], [2, 5])
    assert seeds((AUTHOR, [6]), AUTHOR) == ([6], [0])


@pytest.mark.parametrize("given", [[1, 2], mask_of([1, 2], NUM_NODES)])
def test_seeds_may_be_called_something_else(data, given):
    batches = list(NeighborLoader(data.dataset, [1], given, input_id=[70, 60]))
    assert [batch.input_id.tolist() for batch in batches] == [[70], [60]]


def test_labels_of_the_seeds_alone(data, hetero):
    loader = NeighborLoader(data.dataset, [4, 3], data.train, labels="seeds", batch_size=32, shuffle=True, seed=7)
    for number, batch in enumerate(loader):
        seeds = data.train[places_of(batch)]
        expected = by_hand(data, places_of(batch), data.train, batch=number)
        assert_holds(batch, {**expected, "y": data.nodes["y"][seeds]})
    (batch,) = NeighborLoader(hetero.dataset, [4, 3], (PAPER, [9, 4]), labels="seeds", batch_size=2, seed=7)
    expected = by_hand(hetero, np.arange(2), np.array([9, 4]))
    del expected[PAPER]["subject"]
    expected[PAPER]["y"] = hetero.nodes[PAPER]["subject"][[9, 4]]
    assert_holds(batch, expected)
    (batch,) = NeighborLoader((data.dataset.graph, data.stores[NODE]), [2], [5], labels="seeds")
    assert batch.y.tolist() == [data.nodes["y"][5]]
    (batch,) = NeighborLoader(data.dataset, [2], [5], features="x", labels="seeds")
    assert batch.y.tolist() == [data.nodes["y"][5]]
    assert "time" not in batch


def test_a_choice_of_attributes(data):
    (batch,) = NeighborLoader(data.dataset, [2], [5], features="x", edge_features=[])
    assert not {"y", "time", "edge_attr"} & set(batch.to_dict())
    assert_same(batch.x.numpy(), data.nodes["x"][batch.n_id])
    (batch,) = NeighborLoader(data.dataset.graph, [2], [5])
    assert "x" not in batch
    assert batch.num_nodes == len(batch.n_id)


def test_narrow_floats_are_widened_unless_told():
    graph = Case(3, [0, 1, 2], [1, 2, 0]).graph()
    rows = np.array([[1.5, -2], [0.25, 3], [4, 0]], dtype=np.float32)
    for dtype in ("float32", "float16", "bfloat16", "int8-quantised"):
        gz.convert_features(rows, f"{dtype}.gd", dtype=dtype)
    gz.write_features("int8.gd", np.array([[1], [2], [3]], dtype=np.int8))
    gz.write_features("float64.gd", rows.astype(np.float64))
    names = ["float32", "float16", "bfloat16", "int8-quantised", "int8", "float64"]
    stores = {name: gz.FeatureStore(f"{name}.gd") for name in names}

    def found(**options):
        (batch,) = NeighborLoader((graph, stores), [1], batch_size=3, **options)
        for name in {"float32", "float16", "bfloat16"} & set(names):
            assert batch[name].float().tolist() == rows.tolist()
        return {name: batch[name].dtype for name in names}

    stored = {
        "float32": torch.float32,
        "float16": torch.float16,
        "bfloat16": torch.bfloat16,
        "int8": torch.int8,
        "float64": torch.float64,
    }
    wide = dict.fromkeys(("float16", "bfloat16", "int8-quantised"), torch.float32)
    assert found() == {**stored, **wide}
    as_stored = found(dtype="stored")
    assert as_stored.pop("int8-quantised") == torch.from_numpy(stores["int8-quantised"].gather([0])).dtype
    assert as_stored == stored
    assert found(dtype={"float32": "bfloat16"})["float32"] == torch.bfloat16
    one = found(dtype={"float16": torch.float32})
    assert (one["float16"], one["bfloat16"]) == (torch.float32, torch.bfloat16)
    for name in ("bfloat16", "int8-quantised", "float64"):  # of which there is no way to float16
        names.remove(name)
        stores.pop(name)
    assert found(dtype="float16") == {**dict.fromkeys(names, torch.float16), "int8": torch.int8}


@pytest.mark.parametrize("subgraph_type", ["directional", "bidirectional", "induced"])
@pytest.mark.parametrize("replace", [False, True])
def test_samples_of_other_kinds(data, subgraph_type, replace):
    options = {"subgraph_type": subgraph_type, "replace": replace}
    for epoch, loader in enumerate([NeighborLoader(data.dataset, [4, 3], batch_size=100, seed=7, **options)] * 2):
        for number, batch in enumerate(loader):
            expected = by_hand(data, places_of(batch), np.arange(NUM_NODES), epoch=epoch, batch=number, **options)
            assert_holds(batch, expected)
            assert ("num_sampled_edges" in batch) == (subgraph_type == "directional")


def test_pygs_names_of_subgraphs_are_taken(data):
    from torch_geometric.sampler.base import SubgraphType

    (batch,) = NeighborLoader(data.dataset, [4], [5], subgraph_type=SubgraphType.induced, seed=7)
    assert_holds(batch, by_hand(data, np.arange(1), np.array([5]), [4], subgraph_type="induced"))


def test_neighbours_drawn_by_weight(data):
    options = {"batch_size": 100, "seed": 7}
    (uniform, *_), (weighted, *_) = (
        NeighborLoader(data.dataset, [4, 3], weight_attr=name, **options) for name in (None, "edge_weight")
    )
    assert_holds(uniform, by_hand(data, np.arange(100), np.arange(NUM_NODES)))
    assert_holds(weighted, by_hand(data, np.arange(100), np.arange(NUM_NODES), weighted=True))
    assert values(uniform)["n_id"].tolist() != values(weighted)["n_id"].tolist()


@pytest.mark.parametrize("method", ["labor", "neighbor"])
def test_other_methods(data, method):
    (batch,) = NeighborLoader(
        data.dataset, [2, 2], batch_size=NUM_NODES, method=method, layer_dependency=method == "labor", seed=7
    )
    expected = by_hand(
        data, np.arange(NUM_NODES), np.arange(NUM_NODES), [2, 2], method=method, layer_dependency=method == "labor"
    )
    assert_holds(batch, expected)


@pytest.mark.parametrize("strategy", ["uniform", "last"])
@pytest.mark.parametrize("window", [None, 30])
@pytest.mark.parametrize("given", [False, True])
def test_no_node_is_from_the_future(data, strategy, window, given):
    times, seeds = data.nodes["time"], data.train
    seed_time = np.arange(len(seeds)) + 5 if given else times[seeds]
    options = {"temporal_strategy": strategy, "time_window": window}
    loader = NeighborLoader(
        data.dataset,
        [4, 3],
        seeds,
        input_time=seed_time if given else None,
        time_attr="time",
        batch_size=32,
        shuffle=True,
        seed=7,
        **options,
    )
    for number, batch in enumerate(loader):
        places = places_of(batch)
        now = seed_time[places]
        expected = by_hand(data, places, seeds, batch=number, seed_time=now, node_time=times, **options)
        if given:
            expected["seed_time"] = now
        assert_holds(batch, expected)
        found = times[batch.n_id[batch.batch_size :]]
        limit = now[batch.batch[batch.batch_size :]]
        assert (found <= limit).all()
        assert window is None or (found >= limit - window).all()
        assert len(found)


def test_no_edge_is_from_the_future(data):
    graph = gz.Graph(f"{data.dataset.path}/../timed.gl")
    seed_time = np.arange(90)
    loader = NeighborLoader(graph, [4, 3], data.train, input_time=seed_time, time_attr="time", batch_size=45, seed=7)
    for number, batch in enumerate(loader):
        places = places_of(batch)
        hood = gz.sample_neighbors(graph, data.train[places], [4, 3], seed_time=seed_time[places], seed=7, batch=number)
        more = {"input_id": places, "batch_size": 45, "seed_time": seed_time[places]}
        assert_holds(batch, {**named(hood), **more})
        trees = batch.batch[batch.edge_index[1]]
        assert (data.edges["time"][batch.e_id] <= seed_time[places][trees]).all()
        assert len(trees)


def test_times_of_a_heterogeneous_graph(hetero):
    """Papers have times, authors have none and so are never too late."""
    never = np.full(COUNTS[AUTHOR], np.iinfo(np.int64).min)
    (batch,) = NeighborLoader(hetero.dataset, [4, 3], (PAPER, [9, 4]), time_attr="time", batch_size=2, seed=7)
    times = hetero.nodes[PAPER]["time"]
    options = {"seed_time": {PAPER: times[[9, 4]]}, "node_time": {PAPER: times, AUTHOR: never}}
    assert_holds(batch, by_hand(hetero, np.arange(2), np.array([9, 4]), **options))
    assert len(batch[AUTHOR].n_id)
    (batch,) = NeighborLoader(
        hetero.dataset, [4, 3], (AUTHOR, [9, 4]), input_time=[50, 60], time_attr="time", batch_size=2, seed=7
    )
    assert batch[AUTHOR].seed_time.tolist() == [50, 60]
    limit = torch.tensor([50, 60])[batch[PAPER].batch]
    assert len(limit)
    assert (batch[PAPER].time <= limit).all()


def test_times_of_files_in_any_order(data, tmp_path):
    times = data.nodes["time"]
    gz.write_features(tmp_path / "time.gd", times.astype(np.int32)[:, None], order=np.arange(NUM_NODES)[::-1])
    store = gz.FeatureStore(tmp_path / "time.gd")
    options = {"time_attr": "time", "batch_size": 90, "seed": 7}
    (batch,) = NeighborLoader((data.dataset.graph, {"time": store}), [4, 3], data.train, **options)
    (expected,) = NeighborLoader(data.dataset, [4, 3], data.train, **options)
    assert_same(batch.n_id.numpy(), expected.n_id.numpy())


def test_edge_times_count_where_nodes_have_none(tmp_path):
    """Nodes of type a have times; those of type b have none, but the edges from them do."""
    gz.write_graph(tmp_path / "aa.gl", [1, 2], [0, 0], num_nodes=3)
    gz.write_graph(tmp_path / "ba.gl", [0, 1], [0, 0], num_nodes=(2, 3), time=[10, 40])
    gz.write_features(tmp_path / "time.gd", np.array([20, 5, 30]))
    graphs = {("a", "r", "a"): gz.Graph(tmp_path / "aa.gl"), ("b", "s", "a"): gz.Graph(tmp_path / "ba.gl")}
    data = graphs, {"a": {"time": gz.FeatureStore(tmp_path / "time.gd")}}
    for window, expected in ((None, ([0, 1], [0])), (10, ([0], [0])), (9, ([0], []))):
        (batch,) = NeighborLoader(data, [-1], ("a", [0]), time_attr="time", time_window=window)
        assert (batch["a"].n_id.tolist(), batch["b"].n_id.tolist()) == expected


@pytest.mark.parametrize("window", [None, 3])
def test_what_has_no_times_is_not_limited_by_them(tmp_path, window):
    """Only edges of r have times. Node 0 has edges from 1, of time 5, and 2, of time 9, in both."""
    r, s = ("a", "r", "a"), ("a", "s", "a")
    gz.write_graph(tmp_path / "r.gl", [1, 2], [0, 0], num_nodes=3, time=[5, 9])
    gz.write_graph(tmp_path / "s.gl", [1, 2], [0, 0], num_nodes=3)
    graphs = {r: gz.Graph(tmp_path / "r.gl"), s: gz.Graph(tmp_path / "s.gl")}
    options = {"time_attr": "time", "time_window": window}
    (batch,) = NeighborLoader(graphs, [-1], ("a", [0]), input_time=[7], **options)
    assert (batch[r].e_id.tolist(), batch[s].e_id.tolist()) == ([0], [0, 1])
    gz.write_features(tmp_path / "time.gd", np.array([0, 9, 6]))
    data = graphs, {"a": {"time": gz.FeatureStore(tmp_path / "time.gd")}}
    (batch,) = NeighborLoader(data, [-1], ("a", [0]), input_time=[7], **options)
    assert (batch[r].e_id.tolist(), batch[s].e_id.tolist()) == ([1], [1])


def draws_by_type(data, **options):
    loader = NeighborLoader(data, [1], ("a", np.zeros(9000, int)), batch_size=9000, disjoint=True, seed=1, **options)
    (batch,) = loader
    return {triple: batch[triple].e_id.numpy() for triple in batch.edge_types}


def weighed(folder):
    r, s = ("a", "r", "a"), ("a", "s", "a")
    with gz.DatasetWriter(folder) as writer:
        writer.add_nodes(type="a", num_nodes=3)
        writer.add_edges([1, 2], [0, 0], type=r, weight=[1.0, 3.0], time=[5, 9])
        writer.add_edges([1, 2], [0, 0], type=s, weight=[3.0, 1.0], time=[9, 5])
    return gz.open(folder), r, s


def test_types_without_weights_are_drawn_from_uniformly(tmp_path):
    data, r, s = weighed(tmp_path / "data")
    gz.write_graph(tmp_path / "plain.gl", [1, 2], [0, 0], num_nodes=3)
    graphs = {r: data.edges[r].graph, s: gz.Graph(tmp_path / "plain.gl")}
    found = draws_by_type(graphs, weight_attr="any")
    assert_law(found[r], {0: 0.25, 1: 0.75})
    assert_uniform(found[s], range(2))


def test_weights_and_times_of_types_that_lack_the_attribute_do_not_count(tmp_path):
    """Known names of others mean that the type has none of this name, as PyG sees it."""
    data, r, s = weighed(tmp_path / "data")
    data.edges = {
        r: dataclasses.replace(data.edges[r], weight="w", time="t"),
        s: dataclasses.replace(data.edges[s], weight="v", time="u"),
    }
    found = draws_by_type(data, weight_attr="w")
    assert_law(found[r], {0: 0.25, 1: 0.75})
    assert_uniform(found[s], range(2))
    for name, expected in (("t", ([0], [1, 0])), ("u", ([0, 1], [1]))):
        (batch,) = NeighborLoader(data, [-1], ("a", [0]), input_time=[7], time_attr=name)
        assert (batch[r].e_id.tolist(), batch[s].e_id.tolist()) == expected
    data.edges = {triple: dataclasses.replace(kind, weight=None) for triple, kind in data.edges.items()}
    found = draws_by_type(data, weight_attr="w")  # may be of that name
    assert_law(found[s], {0: 0.75, 1: 0.25})


@pytest.mark.parametrize("form", ["pyg", "torch"])
def test_batches_of_several_types_name_that_of_their_seeds(hetero, form):
    (batch,) = NeighborLoader(hetero.dataset, [2], (PAPER, [3]), form=form)
    assert batch.input_type == PAPER


@pytest.mark.parametrize("form", ["pyg", "torch"])
@pytest.mark.parametrize("hops", [[], [4, 3]])
def test_nodes_without_edges(tmp_path, form, hops):
    with gz.DatasetWriter(tmp_path / "none") as writer:
        writer.add_nodes({"x": np.arange(5.0)})
    first, last = NeighborLoader(gz.open(tmp_path / "none"), hops, [3, 1, 4], batch_size=2, form=form)
    assert (first.n_id.tolist(), last.n_id.tolist(), first.x.tolist()) == ([3, 1], [4], [3.0, 1.0])
    assert (first.edge_index.shape, first.edge_index.dtype, first.e_id.shape) == ((2, 0), torch.int64, (0,))
    assert (first.num_sampled_nodes, first.num_sampled_edges) == ([2] + [0] * len(hops), [0] * len(hops))


@pytest.mark.parametrize("form", ["pyg", "torch"])
def test_several_types_of_nodes_without_edges(tmp_path, form):
    with gz.DatasetWriter(tmp_path / "none") as writer:
        writer.add_nodes({"x": np.arange(5.0)}, type="a")
        writer.add_nodes({"x": np.arange(4.0)}, type="b")
    (batch,) = NeighborLoader(gz.open(tmp_path / "none"), [4, 3], ("b", [3, 1]), batch_size=2, form=form)
    assert {kind: ids.tolist() for kind, ids in batch.n_id_dict.items()} == {"a": [], "b": [3, 1]}
    assert batch.num_sampled_nodes_dict == {"a": [0, 0, 0], "b": [2, 0, 0]}
    if form == "pyg":
        assert batch.edge_types == []
    else:
        assert "edge_index_dict" not in batch


def test_no_hops_are_the_seeds_alone(data, hetero):
    (batch,) = NeighborLoader(data.dataset, [], [3, 9], batch_size=2)
    assert (batch.n_id.tolist(), batch.num_sampled_nodes, batch.num_sampled_edges) == ([3, 9], [2], [])
    (batch,) = NeighborLoader(hetero.dataset, [], (PAPER, [3, 9]), batch_size=2)
    assert (batch[PAPER].n_id.tolist(), batch[CITES].edge_index.shape) == ([3, 9], (2, 0))


def test_times_may_stay_behind(data):
    """What times are compared with need not come with a batch."""
    (batch,) = NeighborLoader(data.dataset, [4], [3], features=["x"], time_attr="time", seed=7)
    assert "time" not in batch
    assert (data.nodes["time"][batch.n_id] <= data.nodes["time"][3]).all()


def test_disjoint_trees(hetero):
    (batch,) = NeighborLoader(hetero.dataset, [4, 3], (PAPER, [9, 4, 9]), disjoint=True, batch_size=3, seed=7)
    assert_holds(batch, by_hand(hetero, np.arange(3), np.array([9, 4, 9]), disjoint=True))
    assert batch[PAPER].batch[:3].tolist() == [0, 1, 2]


@pytest.mark.parametrize("default", [None, [1, 0]])
def test_fanouts_by_edge_type(hetero, default):
    from torch_geometric.sampler import NumNeighbors

    read = {CITES: [3, 1], WRITES: [1, 0], REVERSE: [1, 0]}
    forms = [read, {"paper__cites__paper": [3, 1], (AUTHOR, PAPER): [1, 0], REVERSE: [1, 0]}]
    if default is not None:
        forms = [NumNeighbors({CITES: [3, 1]}, default=default)]
    for form in forms:
        (batch,) = NeighborLoader(hetero.dataset, form, (PAPER, [9, 4]), batch_size=2, seed=7)
        assert_holds(batch, by_hand(hetero, np.arange(2), np.array([9, 4]), read))
    (batch,) = NeighborLoader(hetero.dataset, NumNeighbors([4, 3]), (PAPER, [9, 4]), batch_size=2, seed=7)
    assert_holds(batch, by_hand(hetero, np.arange(2), np.array([9, 4])))


def test_transforms_see_the_finished_batch(data):
    def double(batch):
        batch.x = batch.x * 2
        return batch

    (batch,) = NeighborLoader(data.dataset, [4, 3], [1, 2], batch_size=2, transform=double, seed=7)
    expected = by_hand(data, np.arange(2), np.array([1, 2]))
    assert_holds(batch, {**expected, "x": expected["x"] * 2})


def test_samples_may_be_changed_before_rows_are_read(data, hetero):
    """The transform of the sample drops its second hop."""

    def first_hop(out):
        nodes, edges = sum(out.num_sampled_nodes[:2]), out.num_sampled_edges[0]
        assert out.metadata[0].tolist() == [0, 1]
        out.node, out.row, out.col, out.edge = out.node[:nodes], out.row[:edges], out.col[:edges], out.edge[:edges]
        out.num_sampled_nodes, out.num_sampled_edges = out.num_sampled_nodes[:2], [edges]
        return out

    options = {"batch_size": 2, "seed": 7}
    (batch,) = NeighborLoader(data.dataset, [4, 3], [1, 2], transform_sampler_output=first_hop, **options)
    expected = by_hand(data, np.arange(2), np.array([1, 2]), [4])
    assert_holds(batch, expected)

    same = {"transform_sampler_output": lambda out: out, **options}
    (batch,) = NeighborLoader(data.dataset, [4, 3], [1, 2], disjoint=True, labels="seeds", **same)
    expected = by_hand(data, np.arange(2), np.array([1, 2]), disjoint=True)
    assert_holds(batch, {**expected, "y": data.nodes["y"][[1, 2]]})
    (batch,) = NeighborLoader(hetero.dataset, [4, 3], (PAPER, [1, 2]), disjoint=True, **same)
    assert_holds(batch, by_hand(hetero, np.arange(2), np.array([1, 2]), disjoint=True))


def test_batches_of_a_class_of_ones_own(data, hetero):
    class Mine(pyg().Data):
        pass

    class MineToo(pyg().HeteroData):
        pass

    (batch,) = NeighborLoader(data.dataset, [4, 3], [1], custom_cls=Mine, seed=7)
    assert type(batch) is Mine
    assert_holds(batch, by_hand(data, np.arange(1), np.array([1])))
    (batch,) = NeighborLoader(hetero.dataset, [4, 3], (PAPER, [1]), custom_cls=MineToo, seed=7)
    assert type(batch) is MineToo
    assert_holds(batch, by_hand(hetero, np.arange(1), np.array([1])))


def test_plain_batches_move(data, hetero):
    for given, nodes in ((data, [1]), (hetero, (PAPER, [1]))):
        (batch,) = NeighborLoader(given.dataset, [4, 3], nodes, form="torch")
        before = dict(batch)
        assert batch.to("meta") is batch
        assert set(dict(batch)) == set(before)
        for name, value in batch:
            items = value.values() if isinstance(value, dict) else [value]
            assert all(item.device.type == "meta" for item in items if isinstance(item, torch.Tensor)), name
    assert "x_dict" in batch
    assert "y" not in batch
    assert "x_dict=2 types" in repr(batch)


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu"), "meta"])
@pytest.mark.parametrize("form", ["pyg", "torch"])
def test_batches_arrive_on_their_device(data, device, form):
    loader = NeighborLoader(data.dataset, [4, 3], data.train, batch_size=30, device=device, form=form)
    batches = list(loader)
    assert len(batches) == 3
    for batch in batches:
        tensors = [value for value in values_of(batch) if isinstance(value, torch.Tensor)]
        assert len(tensors) == 8
        assert {str(tensor.device) for tensor in tensors} == {str(device)}
    assert loader.stats()["gpu_cache_bytes"] == loader.stats()["gpu_cache_rows"] == 0
    loader.close()


def values_of(batch):
    return (batch.to_dict() if hasattr(batch, "to_dict") else dict(batch)).values()


def test_pinning_is_left_out_where_there_is_no_cuda(data):
    (batch,) = NeighborLoader(data.dataset, [2], [1], pin_memory=True)
    assert batch.x.is_pinned() == torch.cuda.is_available()


@pytest.mark.parametrize("is_hetero", [False, True])
def test_a_model_on_batches_equals_the_same_on_the_whole_graph(data, hetero, is_hetero):
    """All neighbours; layers that leave out what no seed needs return the same as whole ones."""
    from torch_geometric.nn import SAGEConv, to_hetero
    from torch_geometric.nn.models import GraphSAGE
    from torch_geometric.utils import trim_to_layer

    torch.manual_seed(0)
    if not is_hetero:
        model = GraphSAGE(6, 8, 2, 3).eval()
        whole = as_pyg_data(data)
        expected = model(whole.x, whole.edge_index)
        for batch in NeighborLoader(data.dataset, [-1, -1], "train", batch_size=40):
            seeds = slice(batch.batch_size)
            trimmed = model(
                batch.x,
                batch.edge_index,
                num_sampled_nodes_per_hop=batch.num_sampled_nodes,
                num_sampled_edges_per_hop=batch.num_sampled_edges,
            )
            for found in (model(batch.x, batch.edge_index), trimmed):
                torch.testing.assert_close(found[seeds], expected[batch.n_id[seeds]])
        return

    class Layers(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = SAGEConv((-1, -1), 8), SAGEConv((-1, -1), 3)

        def forward(self, x, edge_index):
            return self.second(self.first(x, edge_index).relu(), edge_index)

    whole = as_pyg_data(hetero)
    model = to_hetero(Layers(), whole.metadata()).eval()
    with torch.no_grad():
        expected = model(whole.x_dict, whole.edge_index_dict)[PAPER]
        for batch in NeighborLoader(hetero.dataset, [-1, -1], "train", batch_size=25):
            seeds = slice(batch[PAPER].batch_size)
            found = model(batch.x_dict, batch.edge_index_dict)[PAPER]
            torch.testing.assert_close(found[seeds], expected[batch[PAPER].n_id[seeds]])
            x, edges, _ = trim_to_layer(
                1, batch.num_sampled_nodes_dict, batch.num_sampled_edges_dict, batch.x_dict, batch.edge_index_dict
            )
            assert len(x[PAPER]) == sum(batch[PAPER].num_sampled_nodes[:-1])
            assert edges[CITES].shape[1] == batch[CITES].num_sampled_edges[0]


def test_times_that_were_assigned_limit_samples():
    with gz.DatasetWriter("timed") as writer:
        writer.add_nodes({"x": np.arange(4)})
        writer.add_edges([0, 1, 2], [3, 3, 3])
    ds = gz.open("timed")
    ds.time = torch.tensor([5, 1, 2, 2])
    (batch,) = NeighborLoader(ds, [-1], input_nodes=[3], time_attr="time")
    assert batch.n_id.tolist() == [3, 1, 2]
    ds.time = torch.tensor([[0.5], [1.0], [2.0], [2.0]])
    with pytest.raises(
        ValueError, match=r"time_attr: expected one integer time per node in 'time', found torch.float32"
    ):
        NeighborLoader(ds, [-1], input_nodes=[3], time_attr="time")


def test_edges_that_are_assigned_after_a_loader_was_made_are_sampled():
    with gz.DatasetWriter("edges") as writer:
        writer.add_nodes({"x": np.arange(4)})
        writer.add_edges([0, 1], [3, 3])
    ds = gz.open("edges")
    loader = NeighborLoader(ds, [-1], input_nodes=[3])
    assert next(iter(loader)).n_id.tolist() == [3, 0, 1]
    ds.edge_index = torch.tensor([[2], [3]])
    assert next(iter(loader)).n_id.tolist() == [3, 2]
    assert loader([0]).n_id.tolist() == [3, 2]


@pytest.mark.parametrize("form", ["pyg", "torch"])
def test_what_a_loader_says_is_not_hidden_by_attributes_of_the_same_names(tmp_path, form):
    """PyG's loaders write over these; of ``n_id`` and ``e_id`` they leave the attributes."""
    names = ("batch", "input_id", "batch_size", "seed_time", "num_sampled_nodes", "n_id")
    own = {name: np.arange(4) + 100 for name in names}
    with gz.DatasetWriter(tmp_path / "named") as writer:
        writer.add_nodes({"y": np.arange(4) * 10, **own}, label="y")
        writer.add_edges([0, 1], [1, 2], attributes={"num_sampled_edges": np.arange(2) + 100})
        writer.add_other("batch_size", 7)
    options = {"input_nodes": [2, 1], "batch_size": 2, "form": form, "labels": "seeds"}
    batch = next(iter(NeighborLoader(gz.open(tmp_path / "named"), [-1], disjoint=True, **options)))
    assert batch.batch_size == 2
    assert batch.input_id.tolist() == [0, 1]
    assert batch.batch.tolist() == [0, 1, 0, 1]
    assert (list(batch.num_sampled_nodes), list(batch.num_sampled_edges)) == ([2, 2], [2])
    assert "seed_time" not in batch
    assert batch.n_id.tolist() == [102, 101, 101, 100]
    assert batch.y.tolist() == [20, 10]  # looked up by ids that are no attribute
    assert "batch" not in next(iter(NeighborLoader(gz.open(tmp_path / "named"), [-1], **options)))


def test_rows_and_edges_go_to_the_device_of_the_data_and_ids_stay():
    with gz.DatasetWriter("moved") as writer:
        writer.add_nodes({"x": np.ones((4, 2), dtype=np.float32)})
        writer.add_edges([0, 1, 2], [3, 3, 3], attributes={"w": [1.0, 2.0, 3.0]})
    ds = gz.open("moved").to("meta")
    assert ds.x.device.type == "meta"
    loader = NeighborLoader(ds, [-1], input_nodes=[3])
    for batch in (next(iter(loader)), loader([0])):
        assert {batch[name].device.type for name in ("x", "w", "edge_index")} == {"meta"}
        assert {batch[name].device.type for name in ("n_id", "e_id", "input_id")} == {"cpu"}
        assert batch.n_id.tolist() == [3, 0, 1, 2]
    batch = next(iter(NeighborLoader(ds, [-1], input_nodes=[3], device="meta")))
    assert batch.n_id.device.type == "meta"
    assert next(iter(NeighborLoader(ds.to("cpu"), [-1], input_nodes=[3]))).x.device.type == "cpu"

"""Our parts in PyG's own loaders, and sampling for them."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

import graphzero as gz
import oracle
from case_choice import meeting
from data_sets import pyg
from laws import assert_law, assert_uniform
from pyg_cases import CITES, REV, WRITES, A, B, fields, hetero, homogeneous, plain

pyg()
from torch_geometric.loader import LinkLoader, LinkNeighborLoader, NeighborLoader, NodeLoader  # noqa: E402
from torch_geometric.nn import GraphSAGE  # noqa: E402
from torch_geometric.sampler import (  # noqa: E402
    EdgeSamplerInput,
    NegativeSampling,
    NodeSamplerInput,
    NumNeighbors,
)
from torch_geometric.sampler import neighbor_sampler as theirs  # noqa: E402

from graphzero.loaders import GraphStore, NeighborSampler, PyGFeatureStore  # noqa: E402

EDGE = ("node", "to", "node")
FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")


def stores(data):
    return PyGFeatureStore(data), GraphStore(data)


def everything(src, dst, triple=None):
    """What the oracle follows with a fanout of -1, of one edge type or of several."""

    def entries_of(kind, node, *_):
        ends = (src, dst) if triple is None else (src[kind], dst[kind])
        return oracle.list_of(node, *ends, direction="in")

    return entries_of


def expected_homogeneous(case, seeds, hops, input_id):
    """The fields of the batch that PyG's NodeLoader makes of the oracle's sample."""
    sampled = oracle.neighborhood([EDGE], {"node": seeds}, hops, everything(case.src, case.dst))
    nodes, edges = sampled.nodes["node"], sampled.edges[EDGE]
    batch = {
        "x": torch.from_numpy(case.x[nodes]),
        "y": torch.from_numpy(case.y[nodes]),
        "edge_index": torch.tensor([[far for _, far, _ in edges], [near for near, _, _ in edges]])
        .reshape(2, -1)
        .long(),
        "e_id": torch.tensor([edge for _, _, edge in edges], dtype=torch.int64),
        "n_id": torch.tensor(nodes),
        "num_nodes": len(nodes),
        "num_sampled_nodes": sampled.num_sampled_nodes["node"],
        "num_sampled_edges": sampled.num_sampled_edges[EDGE],
        "input_id": torch.tensor(input_id),
        "batch_size": len(seeds),
    }
    return {(None, name): plain(value) for name, value in batch.items()}


def expected_hetero(case, seeds, hops, input_type, input_id):
    nothing = {kind: [] for kind in case.num_nodes}
    src = {triple: ends[0] for triple, ends in case.edges.items()}
    dst = {triple: ends[1] for triple, ends in case.edges.items()}
    sampled = oracle.neighborhood(list(case.edges), nothing | {input_type: seeds}, hops, everything(src, dst, True))
    batch = {}
    for kind, nodes in sampled.nodes.items():
        batch[kind, "x"] = torch.from_numpy(case.x(kind)[nodes])
        batch[kind, "n_id"] = torch.tensor(nodes, dtype=torch.int64)
        batch[kind, "num_nodes"] = len(nodes)
        batch[kind, "num_sampled_nodes"] = sampled.num_sampled_nodes[kind]
    for triple, edges in sampled.edges.items():
        ends = torch.tensor([[far for _, far, _ in edges], [near for near, _, _ in edges]])
        batch[triple, "edge_index"] = ends.reshape(2, -1).long()
        batch[triple, "e_id"] = torch.tensor([edge for _, _, edge in edges], dtype=torch.int64)
        batch[triple, "num_sampled_edges"] = sampled.num_sampled_edges[triple]
    batch[input_type, "input_id"] = torch.tensor(input_id)
    batch[input_type, "batch_size"] = len(seeds)
    return {key: plain(value) for key, value in batch.items()}


def node_loader(data, sampler, **options):
    return NodeLoader(data, node_sampler=sampler, **options)


def neighbor_loader(data, sampler, **options):
    return NeighborLoader(data, num_neighbors=sampler.num_neighbors, neighbor_sampler=sampler, **options)


@pytest.mark.parametrize("make", [node_loader, neighbor_loader])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_homogeneous_batches_of_pygs_loaders_are_the_oracles(make, hops):
    case = homogeneous()
    dataset = case.dataset()
    sampler = NeighborSampler(dataset, [-1] * hops)
    seeds = torch.tensor([7, 3, 31, 0, 12, 5, 39])
    batches = list(make(stores(dataset), sampler, input_nodes=seeds, batch_size=3))
    assert [fields(batch) for batch in batches] == [
        expected_homogeneous(case, seeds[i : i + 3].tolist(), hops, list(range(i, min(i + 3, 7)))) for i in (0, 3, 6)
    ]


@pytest.mark.parametrize("make", [node_loader, neighbor_loader])
def test_hetero_batches_of_pygs_loaders_are_the_oracles(make):
    case = hetero()
    dataset = case.dataset()
    sampler = NeighborSampler(dataset, [-1, -1])
    seeds = torch.tensor([7, 3, 29, 0])
    batches = list(make(stores(dataset), sampler, input_nodes=(B, seeds), batch_size=2))
    assert [fields(batch) for batch in batches] == [
        expected_hetero(case, seeds[i : i + 2].tolist(), 2, B, [i, i + 1]) for i in (0, 2)
    ]
    by_name = list(make(stores(dataset), sampler, input_nodes=A, batch_size=15))
    assert [fields(batch) for batch in by_name] == [expected_hetero(case, list(range(15)), 2, A, list(range(15)))]


def test_masks_keep_node_ids_as_input_ids():
    case = homogeneous()
    dataset = case.dataset()
    mask = torch.zeros(40, dtype=torch.bool)
    mask[[4, 9]] = True
    (batch,) = NodeLoader(stores(dataset), NeighborSampler(dataset, [-1]), input_nodes=mask, batch_size=8)
    assert fields(batch) == expected_homogeneous(case, [4, 9], 1, [4, 9])


@FORKS
@pytest.mark.parametrize(
    ("kind", "method", "in_worker"),
    [
        pytest.param("homogeneous", "fork", True, marks=pytest.mark.no_tsan),
        pytest.param("homogeneous", "fork", False, marks=pytest.mark.no_tsan),
        pytest.param("hetero", "fork", True, marks=pytest.mark.no_tsan),
        ("hetero", "spawn", True),
        ("homogeneous", "forkserver", True),
    ],
)
def test_workers_make_the_same_batches(kind, method, in_worker):
    case = homogeneous() if kind == "homogeneous" else hetero()
    dataset = case.dataset()
    nodes = torch.arange(30) if kind == "homogeneous" else (B, torch.arange(30))
    loader = NodeLoader(
        stores(dataset),
        NeighborSampler(dataset, [-1, -1]),
        input_nodes=nodes,
        batch_size=8,
        shuffle=True,
        num_workers=2 if method == "fork" else 1,
        multiprocessing_context=method,
        filter_per_worker=in_worker,
    )
    batches = list(loader)
    ids = []
    for batch in batches:
        store = batch if kind == "homogeneous" else batch[B]
        ids += (seeds := store.input_id.tolist())
        if kind == "homogeneous":
            assert fields(batch) == expected_homogeneous(case, seeds, 2, seeds)
        else:
            assert fields(batch) == expected_hetero(case, seeds, 2, B, seeds)
    assert sorted(ids) == list(range(30))
    assert ids != list(range(30))


def test_sampling_from_stores_is_sampling_from_their_data():
    dataset = homogeneous().dataset()
    inputs = NodeSamplerInput(None, torch.tensor([3, 8]))
    found = [
        NeighborSampler(data, [-1]).sample_from_nodes(inputs) for data in (dataset, stores(dataset), dataset.graph)
    ]
    assert found[0].edge.tolist() == found[1].edge.tolist() == found[2].edge.tolist()
    with pytest.raises(TypeError, match=r"expected \(FeatureStore, GraphStore\), found \(GraphStore, PyGF"):
        NeighborSampler(stores(dataset)[::-1], [-1])


def test_trimmed_layers_give_the_untrimmed_result():
    dataset = homogeneous().dataset()
    torch.manual_seed(0)
    model = GraphSAGE(3, 8, num_layers=2, out_channels=4).eval()
    for batch in NodeLoader(
        stores(dataset), NeighborSampler(dataset, [3, 2]), input_nodes=torch.arange(40), batch_size=10
    ):
        with torch.no_grad():
            whole = model(batch.x, batch.edge_index)[:10]
            trimmed = model(
                batch.x,
                batch.edge_index,
                num_sampled_nodes_per_hop=batch.num_sampled_nodes,
                num_sampled_edges_per_hop=batch.num_sampled_edges,
            )
        assert torch.allclose(whole, trimmed[:10], atol=1e-6)
        assert sum(batch.num_sampled_edges) == batch.edge_index.shape[1]


def test_layer_wise_inference_is_the_whole_graphs():
    case = homogeneous()
    dataset = case.dataset()
    features, graphs = stores(dataset)
    data = pyg().Data(x=features.get_tensor(None, "x", None), edge_index=torch.stack(graphs.coo()[:2]))
    torch.manual_seed(0)
    model = GraphSAGE(3, 8, num_layers=2, out_channels=4).eval()
    loader = NeighborLoader(data, num_neighbors=[-1], neighbor_sampler=NeighborSampler(dataset, [-1]), batch_size=16)
    with torch.no_grad():
        whole = model(torch.from_numpy(case.x), case.in_memory().edge_index)
        assert torch.allclose(model.inference(loader), whole, atol=1e-5)


LINKS = torch.tensor([[7, 3, 7, 12, 0], [1, 3, 22, 7, 39]])


def outputs(out):
    """A sampler output as comparable values."""
    values = {}
    for name in ("node", "row", "col", "edge", "batch", "num_sampled_nodes", "num_sampled_edges"):
        value = getattr(out, name)
        values[name] = {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else plain(value)
    values["metadata"] = [plain(value) for value in out.metadata]
    return values


NEGATIVES = [
    None,
    {"mode": "binary", "amount": 1},
    {"mode": "binary", "amount": 2},
    {"mode": "binary", "amount": 0.5},
    {"mode": "triplet", "amount": 1},
    {"mode": "triplet", "amount": 3},
]
# In disjoint samples with a fraction PyG gives the nodes of some links to others.
WHOLE = [negatives for negatives in NEGATIVES if negatives is None or negatives["amount"] != 0.5]


@meeting(
    {
        "case": [*((n, False) for n in NEGATIVES), *((n, True) for n in WHOLE)],
        "kind": [None, CITES, WRITES, (B, "unheard of", A)],
        "weighted": [False, True],
    },
    ids=str,
)
def test_links_are_sampled_as_by_pyg(case, kind, weighted):
    negatives, disjoint = case
    data = homogeneous() if kind is None else hetero()
    sampler = NeighborSampler(data.dataset(), [3, 2], disjoint=disjoint)
    sides = (40, 40) if kind is None else (data.num_nodes[kind[0]], data.num_nodes[kind[2]])
    links = LINKS % torch.tensor(sides)[:, None]
    if negatives is not None and weighted:
        weights = [torch.arange(count, dtype=torch.float32) % 3 for count in sides]
        negatives = negatives | {"src_weight": weights[0], "dst_weight": weights[1]}
    wanted = None if negatives is None else NegativeSampling(**negatives)
    label = torch.tensor([2, 1, 2, 1, 1]) if negatives and negatives["mode"] == "binary" else None
    inputs = EdgeSamplerInput(torch.arange(5) * 10, links[0], links[1], label, None, kind)
    torch.manual_seed(3)
    ours = sampler.sample_from_edges(inputs, neg_sampling=wanted)
    torch.manual_seed(3)
    expected = theirs.edge_sample(inputs, sampler._sample, sampler.num_nodes, disjoint, None, wanted)
    assert outputs(ours) == outputs(expected)
    if weighted and wanted is not None:
        ends = ours.metadata[1][:, 5:] if wanted.is_binary() else ours.metadata[3].reshape(1, -1)
        nodes = ours.node if kind is None else ours.node[kind[2]]
        assert all(node % 3 > 0 for node in nodes[ends[-1]].tolist())


@pytest.mark.parametrize("kind", [None, B])
def test_nodes_are_sampled_as_by_pyg(kind):
    data = homogeneous() if kind is None else hetero()
    sampler = NeighborSampler(data.dataset(), [3, 2])
    inputs = NodeSamplerInput(torch.arange(3), torch.tensor([9, 2, 27]), None, kind)
    torch.manual_seed(3)
    ours = sampler.sample_from_nodes(inputs)
    torch.manual_seed(3)
    assert outputs(ours) == outputs(theirs.node_sample(inputs, sampler._sample))


def test_fractions_of_negatives_stay_with_their_links():
    dataset = homogeneous().dataset()
    sampler = NeighborSampler(dataset, [-1], disjoint=True)
    inputs = EdgeSamplerInput(None, *LINKS)
    out = sampler.sample_from_edges(inputs, NegativeSampling("binary", 0.5))
    ends = out.metadata[1]
    assert out.batch[ends[0]].tolist() == out.batch[ends[1]].tolist() == [0, 1, 2, 3, 4, 0, 1, 2]
    assert torch.equal(out.batch[out.row], out.batch[out.col])


TIMES = np.random.default_rng(4).integers(0, 50, 40) * 2


@pytest.mark.parametrize("negatives", WHOLE, ids=str)
@pytest.mark.parametrize("kind", [None, CITES], ids=str)
def test_links_in_time_are_sampled_as_by_pyg(negatives, kind):
    if kind is None:
        dataset = homogeneous().dataset(attributes={"time": TIMES})
    else:
        dataset = hetero().dataset(attributes={A: {"time": TIMES[:15]}, B: {"time": TIMES[:30]}})
    sampler = NeighborSampler(dataset, [3, 2], time_attr="time")
    links = LINKS if kind is None else LINKS % 30
    inputs = EdgeSamplerInput(None, links[0], links[1], None, torch.tensor([51, 7, 97, 1, 33]), kind)
    wanted = None if negatives is None else NegativeSampling(**negatives)
    torch.manual_seed(3)
    ours = sampler.sample_from_edges(inputs, neg_sampling=wanted)
    torch.manual_seed(3)
    expected = theirs.edge_sample(inputs, sampler._sample, sampler.num_nodes, True, sampler.node_time, wanted)
    assert outputs(ours) == outputs(expected)
    times = TIMES if kind is None else TIMES[:30]
    node, batch = (ours.node, ours.batch) if kind is None else (ours.node[B], ours.batch[B])
    late = times[node] > inputs.time.numpy()[batch]
    given = torch.cat(list(links)).tolist()  # links are sampled around even where they are younger than their time
    assert set(node[late].tolist()) <= {*given, int(times.argmin())}


def link_loader(data, sampler, **options):
    return LinkLoader(data, link_sampler=sampler, **options)


def link_neighbor_loader(data, sampler, **options):
    return LinkNeighborLoader(data, num_neighbors=sampler.num_neighbors, neighbor_sampler=sampler, **options)


@pytest.mark.parametrize("make", [link_loader, link_neighbor_loader])
@pytest.mark.parametrize("kind", [None, WRITES, CITES], ids=str)
def test_link_loaders_of_pyg_give_the_links(make, kind):
    case = homogeneous() if kind is None else hetero()
    dataset = case.dataset()
    ends = torch.from_numpy(np.stack((case.src, case.dst) if kind is None else case.edges[kind]))
    loader = make(
        stores(dataset), NeighborSampler(dataset, [-1, -1]), edge_label_index=(kind, ends), batch_size=20, shuffle=True
    )
    seen = []
    for batch in loader:
        store = batch if kind is None else batch[kind]
        sides = (batch, batch) if kind is None else (batch[kind[0]], batch[kind[2]])
        for side, place, end in zip(sides, store.edge_label_index, ends, strict=True):
            assert torch.equal(side.n_id[place], end[store.input_id])
            x = case.x if kind is None else case.x(kind[0] if side is sides[0] else kind[2])
            assert torch.equal(side.x, torch.from_numpy(x[side.n_id]))
        row, col = store.edge_index
        assert torch.equal(sides[0].n_id[row], ends[0][store.e_id])
        assert torch.equal(sides[1].n_id[col], ends[1][store.e_id])
        assert sum(store.num_sampled_edges) == len(row)
        seen += store.input_id.tolist()
    assert sorted(seen) == list(range(ends.shape[1]))


@pytest.mark.parametrize("mode", ["binary", "triplet"])
@pytest.mark.parametrize("kind", [None, WRITES, CITES], ids=str)
@FORKS
@pytest.mark.no_tsan
def test_link_loaders_of_pyg_give_negatives_that_are_none(mode, kind):
    case = homogeneous() if kind is None else hetero()
    dataset = case.dataset()
    ends = torch.from_numpy(np.stack((case.src, case.dst) if kind is None else case.edges[kind]))
    edges = oracle.edge_set(*ends.tolist())
    loader = LinkLoader(
        stores(dataset),
        NeighborSampler(dataset, [2], exclude_positives=True),
        edge_label_index=(kind, ends),
        neg_sampling=NegativeSampling(mode, 3),
        batch_size=20,
        num_workers=2,
        multiprocessing_context="fork",
    )
    for batch in loader:
        src, dst = (batch, batch) if kind is None else (batch[kind[0]], batch[kind[2]])
        if mode == "binary":
            store = batch if kind is None else batch[kind]
            size = len(store.input_id)
            assert store.edge_label.tolist() == [1] * size + [0] * 3 * size
            pairs = zip(
                src.n_id[store.edge_label_index[0]].tolist(), dst.n_id[store.edge_label_index[1]].tolist(), strict=True
            )
            assert [pair in edges for pair in pairs] == [True] * size + [False] * 3 * size
        else:
            sources, positive = src.n_id[src.src_index].tolist(), dst.n_id[dst.dst_pos_index].tolist()
            assert all(pair in edges for pair in zip(sources, positive, strict=True))
            negative = dst.n_id[dst.dst_neg_index].tolist()
            assert not any((u, v) in edges for u, found in zip(sources, negative, strict=True) for v in found)


@pytest.mark.parametrize("mode", ["binary", "triplet"])
@pytest.mark.parametrize("by", ["weight", "time", "disjoint"])
def test_negatives_by_weight_and_time_leave_edges_out(mode, by):
    case = homogeneous()
    dataset = case.dataset(attributes={"time": TIMES})
    options = {"time_attr": "time"} if by == "time" else {"disjoint": by == "disjoint"}
    sampler = NeighborSampler(dataset, [1], exclude_positives=True, seed=2, **options)
    weight = (torch.arange(40) % 2).float() if by == "weight" else None
    time = torch.full((len(case.src),), 61) if by == "time" else None
    inputs = EdgeSamplerInput(None, torch.from_numpy(case.src), torch.from_numpy(case.dst), None, time)
    out = sampler.sample_from_edges(inputs, NegativeSampling(mode, 4, src_weight=weight, dst_weight=weight))
    count = len(case.src)
    if mode == "binary":
        src, dst = out.node[out.metadata[1][:, count:]].tolist()
    else:
        src = np.repeat(case.src, 4).tolist()
        dst = out.node[out.metadata[3]].flatten().tolist()
    edges = oracle.edge_set(case.src.tolist(), case.dst.tolist())
    assert len(dst) == 4 * count
    assert not edges & set(zip(src, dst, strict=True))
    if by == "weight":
        assert all(node % 2 for node in dst)
    if by == "time":
        assert max(TIMES[dst]) <= 61
        assert max(TIMES) > 61


def test_negatives_that_do_not_exist_are_an_error():
    gz.write_graph("full.gl", [0, 0, 1, 1], [0, 1, 0, 1])
    inputs = EdgeSamplerInput(None, torch.tensor([0]), torch.tensor([1]))
    sampler = NeighborSampler(gz.Graph("full.gl"), [1], exclude_positives=True)
    with pytest.raises(ValueError, match="node 0"):
        sampler.sample_from_edges(inputs, NegativeSampling("triplet"))
    weighted = NegativeSampling("binary", dst_weight=torch.ones(2))
    with pytest.raises(
        ValueError, match=r"exclude_positives: full\.gl: found no negative without an edge in 100 draws"
    ):
        sampler.sample_from_edges(inputs, weighted)
    case = hetero()
    several = NeighborSampler(case.dataset(), [1], exclude_positives=True)
    unheard = EdgeSamplerInput(None, torch.tensor([0]), torch.tensor([1]), input_type=(B, "unheard of", A))
    with pytest.raises(
        ValueError, match=r"exclude_positives: no edges of \('paper', 'unheard of', 'author'\) to exclude"
    ):
        several.sample_from_edges(unheard, NegativeSampling("binary"))


@pytest.mark.parametrize("mode", [None, "binary", "triplet"])
def test_links_of_a_type_without_edges(mode):
    case, likes = hetero(), (A, "likes", B)
    dataset, sampling = case.dataset(), None if mode is None else NegativeSampling(mode)
    links = torch.tensor([[1, 4, 9], [2, 2, 7]])
    for data in (case.in_memory(), (PyGFeatureStore(dataset), GraphStore(dataset))):
        sampler = NeighborSampler(dataset, [2], seed=1)
        (batch,) = LinkLoader(data, sampler, (likes, links), neg_sampling=sampling, batch_size=3)
        assert batch.input_type == likes
        assert "edge_index" not in batch[likes]
        if mode == "triplet":
            ends = batch[A].n_id[batch[A].src_index], batch[B].n_id[batch[B].dst_pos_index]
        else:
            index = batch[likes].edge_label_index[:, :3]
            ends = batch[A].n_id[index[0]], batch[B].n_id[index[1]]
        assert torch.equal(torch.stack(ends), links)


@pytest.mark.parametrize("hops", [[], [4, 3]])
def test_nodes_without_edges(hops):
    with gz.DatasetWriter("none") as writer:
        writer.add_nodes({"x": np.arange(5.0)})
    sampler = NeighborSampler(gz.open("none"), hops)
    out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([3, 1])))
    assert (out.node.tolist(), out.row.shape, out.edge.shape) == ([3, 1], (0,), (0,))
    assert (out.num_sampled_nodes, out.num_sampled_edges) == ([2] + [0] * len(hops), [0] * len(hops))
    out = sampler.sample_from_edges(EdgeSamplerInput(None, torch.tensor([3]), torch.tensor([1])))
    assert out.node[out.metadata[1]].tolist() == [[3], [1]]


@pytest.mark.parametrize("most", [1 << 24, 3])
def test_negatives_follow_their_weights(tiny, most, monkeypatch):
    monkeypatch.setattr("graphzero.loaders.pyg.links._MOST_WEIGHTS", most)
    sampler = NeighborSampler(tiny, [0], seed=5)
    inputs = EdgeSamplerInput(None, torch.zeros(4000, dtype=torch.int64), torch.zeros(4000, dtype=torch.int64))
    weight = torch.tensor([0.5, 0, 2, 1.5])
    out = sampler.sample_from_edges(inputs, NegativeSampling("binary", 1, src_weight=None, dst_weight=weight))
    src, dst = out.node[out.metadata[1][:, 4000:]]
    assert_uniform(src, range(4))
    assert_law(dst, {0: 0.125, 1: 0, 2: 0.5, 3: 0.375})
    with pytest.raises(ValueError, match=r"neg_sampling: expected a weight for each of 4 nodes, found shape \(3,\)"):
        sampler.sample_from_edges(inputs, NegativeSampling("binary", dst_weight=weight[:3]))


def followed(case, hood, time_of):
    """The oracle's sample around nodes 0 to 9 of what is not newer than the seed's time."""
    seeds = list(range(10))

    def entries_of(_, node, tree, __):
        return [
            entry
            for entry in oracle.list_of(node, case.src, case.dst, direction="in", time=hood)
            if time_of(entry, tree)
        ]

    return oracle.neighborhood([EDGE], {"node": seeds}, 2, entries_of, disjoint=True)


def assert_sampled(out, sampled):
    assert out.node.tolist() == sampled.nodes["node"]
    assert out.batch.tolist() == sampled.trees["node"]
    triples = zip(out.col.tolist(), out.row.tolist(), out.edge.tolist(), strict=True)
    assert list(triples) == sampled.edges[EDGE]


@pytest.mark.parametrize("form", ["int64", "int32", "column", "reordered"])
@pytest.mark.parametrize("given", [True, False])
def test_node_times_hold_neighbours_back(form, given):
    case = homogeneous()
    times = TIMES.astype(np.int32) if form == "int32" else TIMES[:, None] if form == "column" else TIMES
    gz.write_graph("g.gl", case.src, case.dst, num_nodes=40)
    gz.write_features("time.gd", times, order=np.arange(40)[::-1] if form == "reordered" else None)
    sampler = NeighborSampler((gz.Graph("g.gl"), {"time": gz.FeatureStore("time.gd")}), [-1, -1], time_attr="time")
    seed_time = torch.arange(10) * 9 + 1 if given else torch.from_numpy(TIMES[:10])
    inputs = NodeSamplerInput(None, torch.arange(10), seed_time if given else None)
    out = sampler.sample_from_nodes(inputs)
    assert_sampled(out, followed(case, None, lambda entry, tree: TIMES[entry[0]] <= seed_time[tree]))
    assert sampler.node_time.tolist() == TIMES.tolist()
    assert (sampler.is_temporal, sampler.disjoint) == (True, True)


@pytest.mark.parametrize("window", [None, 30])
def test_edge_times_hold_edges_back(window):
    case = homogeneous()
    times = np.random.default_rng(4).integers(0, 100, len(case.src))
    gz.write_graph("g.gl", case.src, case.dst, num_nodes=40, time=times)
    sampler = NeighborSampler(gz.Graph("g.gl"), [-1, -1], time_attr="when", time_window=window)
    seed_time = torch.arange(10) * 9 + 1
    out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.arange(10), seed_time))
    oldest = -1 if window is None else window

    def fits(entry, tree):
        age = int(seed_time[tree]) - times[entry[1]]
        return age >= 0 and (window is None or age <= oldest)

    assert_sampled(out, followed(case, times, fits))
    assert sampler.node_time is None
    with pytest.raises(ValueError, match="input_time, edge_label_time: expected a time for each seed, found none"):
        sampler.sample_from_nodes(NodeSamplerInput(None, torch.arange(10)))


def test_the_last_neighbours_are_the_newest():
    gz.write_graph("g.gl", [1, 2, 3], [0, 0, 0], time=[5, 9, 7])
    sampler = NeighborSampler(gz.Graph("g.gl"), [2], time_attr="time", temporal_strategy="last")
    out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([0]), torch.tensor([9])))
    assert sorted(out.edge.tolist()) == [1, 2]


def test_node_types_without_times_are_of_any_time():
    case = hetero()
    dataset = case.dataset(attributes={B: {"time": TIMES[:30]}})
    sampler = NeighborSampler(dataset, [-1], time_attr="time")
    assert set(sampler.node_time) == {B}
    time = -(10**9)
    out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.arange(5), torch.full((5,), time), B))
    expected = sorted(
        edge for node in range(5) for _, edge in oracle.list_of(node, *case.edges[WRITES], direction="in")
    )
    assert sorted(out.edge[WRITES].tolist()) == expected
    assert out.edge[CITES].tolist() == []
    with pytest.raises(ValueError, match="nodes of type 'author' have no attribute 'time' to take them from"):
        sampler.sample_from_nodes(NodeSamplerInput(None, torch.arange(5), None, A))
    in_window = NeighborSampler(dataset, [-1], time_attr="time", time_window=3)  # which is one of times
    again = in_window.sample_from_nodes(NodeSamplerInput(None, torch.arange(5), torch.full((5,), time), B))
    assert torch.equal(again.edge[WRITES], out.edge[WRITES])


def test_weights_are_those_stored():
    gz.write_graph("g.gl", [1, 2, 3], [0, 0, 0], weight=[0, 3, 1])
    sampler = NeighborSampler(gz.Graph("g.gl"), [1], weight_attr="any name", seed=1, disjoint=True, replace=True)
    out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.zeros(4000, dtype=torch.int64)))
    assert_law(out.edge, {0: 0, 1: 0.75, 2: 0.25})


def test_types_without_weights_or_times_are_drawn_from_uniformly():
    gz.write_graph("r.gl", [1, 2, 3], [0, 0, 0], weight=[0, 3, 1], time=[1, 2, 9])
    gz.write_graph("s.gl", [1, 2, 3], [0, 0, 0])
    r, s = ("a", "r", "a"), ("a", "s", "a")
    graphs = {r: gz.Graph("r.gl"), s: gz.Graph("s.gl")}
    inputs = NodeSamplerInput(None, torch.zeros(4000, dtype=torch.int64), None, "a")
    out = NeighborSampler(graphs, [1], weight_attr="w", seed=1, disjoint=True).sample_from_nodes(inputs)
    assert_law(out.edge[r], {0: 0, 1: 0.75, 2: 0.25})
    assert_uniform(out.edge[s], range(3))
    inputs.time = torch.full((4000,), 5)
    out = NeighborSampler(graphs, [1], time_attr="t", seed=1).sample_from_nodes(inputs)
    assert_uniform(out.edge[r], range(2))
    assert_uniform(out.edge[s], range(3))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([3, -1], {WRITES: [3, -1], REV: [3, -1], CITES: [3, -1]}),
        ({WRITES: [1, 2], REV: [0, 0], CITES: [4, 4]}, {WRITES: [1, 2], REV: [0, 0], CITES: [4, 4]}),
        (
            {"author__writes__paper": [1, 2], "paper__rev_writes__author": [0, 0], CITES: [4, 4]},
            {WRITES: [1, 2], REV: [0, 0], CITES: [4, 4]},
        ),
        (NumNeighbors({CITES: [4, 4]}, default=[1, 1]), {WRITES: [1, 1], REV: [1, 1], CITES: [4, 4]}),
        ({WRITES[::2]: [1, 2], REV[::2]: [0, 0], CITES: [4, 4]}, {WRITES: [1, 2], REV: [0, 0], CITES: [4, 4]}),
    ],
    ids=str,
)
def test_numbers_of_neighbours_in_every_form(given, expected):
    dataset = hetero().dataset()
    sampler = NeighborSampler(dataset, [7, 7])
    sampler.num_neighbors = given
    assert isinstance(sampler.num_neighbors, NumNeighbors)
    assert sampler.num_neighbors.num_hops == 2
    out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.arange(30), None, B))
    want = gz.sample_neighbors(dataset, {B: range(30)}, expected, seed=0)
    for triple, hops in expected.items():
        assert len(out.num_sampled_edges[triple]) == 2
        near = torch.bincount(out.col[triple][: out.num_sampled_edges[triple][0]], minlength=1).max()
        assert near <= hops[0] if hops[0] >= 0 else near > 3
        if triple[2] == B:  # the first hop's number of edges is no matter of chance
            assert out.num_sampled_edges[triple][0] == want.num_sampled_edges[triple][0]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {CITES: [1]},
            ValueError,
            r"num_neighbors: expected numbers for every edge type, found none for \('author', 'wr",
        ),
        ({("x", "y", "z"): [1]}, ValueError, r"num_neighbors: no edge type \('x', 'y', 'z'\); there are"),
        (
            {WRITES: [1], REV: [1], CITES: [1, 2]},
            ValueError,
            r"num_neighbors: expected 1 hops for every edge type, as for \('author', .*, found 2 for \('paper', 'cites'",
        ),
        ([1, -2], ValueError, "num_neighbors: expected -1 for all neighbours, or a number, found -2"),
        ([1.5], TypeError, "num_neighbors: expected an integer, found 1.5"),
        (5, TypeError, r"num_neighbors: expected a number for each hop, such as \[10, 5\], found 5"),
    ],
    ids=str,
)
def test_wrong_numbers_of_neighbours_are_named(given, error, message):
    with pytest.raises(error, match=message):
        NeighborSampler(hetero().dataset(), given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subgraph_type": "round"}, r"subgraph_type: expected one of \['directional'"),
        ({"temporal_strategy": "first"}, "temporal_strategy: expected 'uniform' or 'last', found 'first'"),
        ({"sample_direction": "up"}, "sample_direction: expected 'forward' or 'backward', found 'up'"),
        ({"time_window": 3}, "time_window: expected time_attr with it"),
        (
            {"time_attr": "t"},
            r"time_attr: no node attribute 't', and the graph has no edge times \(.*tiny\.gl\); write it with time=",
        ),
        ({"weight_attr": "w"}, r"weight_attr: 'w' stands for the weights stored .*tiny\.gl has none; write .* weight="),
        ({"seed": 2**64}, "seed: expected an integer of 64 bits"),
    ],
    ids=str,
)
def test_wrong_options_are_named_at_once(tiny, options, message):
    with pytest.raises(ValueError, match=message):
        NeighborSampler(tiny, [1], **options)


def test_a_missing_index_is_named_at_once():
    gz.write_graph("out.gl", [0], [1], index="out")
    with pytest.raises(ValueError, match=r"'forward' needs the 'in' index, and out\.gl has only 'out'; write .*'both'"):
        NeighborSampler(gz.Graph("out.gl"), [1])
    NeighborSampler(gz.Graph("out.gl"), [1], sample_direction="backward")


def test_wrong_inputs_are_named(tiny):
    sampler = NeighborSampler(tiny, [1])
    several = NeighborSampler(hetero().dataset(), [1])
    nodes = torch.tensor([0, 1])
    with pytest.raises(ValueError, match=r"input_nodes: expected \(node type, ids\) with one of .*, found None"):
        several.sample_from_nodes(NodeSamplerInput(None, nodes))
    with pytest.raises(ValueError, match="input_nodes: .*found 'venue'"):
        several.sample_from_nodes(NodeSamplerInput(None, nodes, None, "venue"))
    with pytest.raises(ValueError, match=r"edge_label_index: expected \(edge type, ids\) with one of .*found None"):
        several.sample_from_edges(EdgeSamplerInput(None, nodes, nodes))
    with pytest.raises(IndexError, match="seed 9 at position 0 is not a node"):
        sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([9])))
    for sample in (
        lambda: sampler.sample_from_nodes(NodeSamplerInput(None, nodes, nodes)),
        lambda: sampler.sample_from_edges(EdgeSamplerInput(None, nodes, nodes, None, nodes)),
    ):
        with pytest.raises(ValueError, match="found times, but the sampler has no time_attr"):
            sample()
    with pytest.raises(ValueError, match="edge_label: expected none with triplets"):
        sampler.sample_from_edges(EdgeSamplerInput(None, nodes, nodes, nodes), NegativeSampling("triplet"))
    timed = NeighborSampler(homogeneous().dataset(attributes={"time": TIMES}), [1], time_attr="time")
    with pytest.raises(ValueError, match="edge_label_time: expected a time per link"):
        timed.sample_from_edges(EdgeSamplerInput(None, nodes, nodes), NegativeSampling("binary"))


def test_backward_samples_follow_edges():
    case = homogeneous()
    sampler = NeighborSampler(case.dataset(), [-1], sample_direction="backward")
    out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([7])))
    assert out.node[out.row].tolist() == [7] * len(out.row)
    assert sorted(out.edge.tolist()) == np.flatnonzero(case.src == 7).tolist()
    assert out.node[out.col].tolist() == case.dst[out.edge].tolist()


@pytest.mark.parametrize("kind", ["bidirectional", "induced"])
def test_other_subgraphs(kind):
    case = homogeneous()
    sampler = NeighborSampler(case.dataset(), [2, 2], subgraph_type=kind, seed=1)
    inputs = NodeSamplerInput(None, torch.tensor([7, 9]))
    out = sampler.sample_from_nodes(inputs)
    pairs = set(zip(out.node[out.row].tolist(), out.node[out.col].tolist(), strict=True))
    assert (out.num_sampled_nodes, out.num_sampled_edges) == (None, None)
    if kind == "bidirectional":
        sampler.keep_orig_edges = True
        kept = sampler.sample_from_nodes(inputs)
        directional = NeighborSampler(sampler.data, [2, 2], seed=1).sample_from_nodes(inputs)
        assert torch.equal(kept.orig_row, directional.row)
        assert torch.equal(kept.orig_col, directional.col)
        assert kept.num_sampled_edges == directional.num_sampled_edges
        assert torch.equal(kept.row, out.row)
        expected = directional.to_bidirectional()
        assert pairs == set(
            zip(expected.node[expected.row].tolist(), expected.node[expected.col].tolist(), strict=True)
        )
    else:
        nodes = set(out.node.tolist())
        assert pairs == {pair for pair in zip(case.src.tolist(), case.dst.tolist(), strict=True) if set(pair) <= nodes}


def test_not_directed_is_pygs_old_word_for_induced(tiny):
    with pytest.warns(DeprecationWarning, match="directed=False is deprecated: use subgraph_type='induced'"):
        assert NeighborSampler(tiny, [1], directed=False).subgraph_type.value == "induced"


def test_what_pyg_asks_a_sampler_for(tiny):
    sampler = NeighborSampler(tiny, [2, 1])
    assert (sampler.num_nodes, sampler.is_hetero, sampler.is_temporal, sampler.disjoint) == (4, False, False, False)
    assert sampler.edge_permutation is None
    assert sampler.node_time is None
    sampler.disjoint = True
    assert sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([2, 2]))).batch[:2].tolist() == [0, 1]
    several = NeighborSampler(hetero().dataset(), [2])
    assert (several.num_nodes, several.is_hetero) == ({A: 15, B: 30}, True)


def test_copies_are_samplers_of_their_own(tiny):
    sampler = NeighborSampler(tiny, [2, 1])
    other = copy.copy(sampler)
    other.num_neighbors = [-1]
    assert len(sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([2]))).num_sampled_edges) == 2
    assert len(other.sample_from_nodes(NodeSamplerInput(None, torch.tensor([2]))).num_sampled_edges) == 1


def test_samplers_pickle_without_times():
    times = np.arange(100_000)
    gz.write_graph("g.gl", [0, 5], [1, 1], num_nodes=100_000)
    gz.write_features("time.gd", times)
    data = (gz.Graph("g.gl"), {"time": gz.FeatureStore("time.gd")})
    sampler = NeighborSampler(data, [-1], time_attr="time", seed=3)
    inputs = NodeSamplerInput(None, torch.tensor([1]), torch.tensor([4]))
    assert sampler.sample_from_nodes(inputs).edge.tolist() == [0]
    pickled = pickle.dumps(sampler)
    assert len(pickled) < 2000
    assert pickle.loads(pickled).sample_from_nodes(inputs).edge.tolist() == [0]


@pytest.fixture
def star():
    """A node with many neighbours, so that no two draws are the same by chance."""
    gz.write_graph("star.gl", np.arange(1, 5001), np.zeros(5000, dtype=np.int64))
    return gz.Graph("star.gl")


def draws(sampler, count=1, node=0):
    return [sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([node]))).edge.tolist() for _ in range(count)]


def test_torchs_seed_repeats_a_run_and_calls_differ(star):
    sampler = NeighborSampler(star, [20])
    torch.manual_seed(1)
    first = draws(sampler, 3)
    torch.manual_seed(1)
    assert draws(sampler, 3) == first
    assert first[0] != first[1]
    assert draws(sampler, 3) != first


def test_a_seed_alone_decides_the_sample_of_a_batch(star):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = draws(NeighborSampler(star, [20], seed=7))
    assert torch.equal(torch.get_rng_state(), before)
    assert draws(NeighborSampler(star, [20], seed=7), 2) == first * 2
    assert draws(NeighborSampler(star, [20], seed=8)) != first
    inputs = EdgeSamplerInput(None, torch.arange(50), torch.arange(50))
    for options in ({}, {"exclude_positives": True}):
        sampler = NeighborSampler(star, [20], seed=7, **options)
        found = [sampler.sample_from_edges(inputs, NegativeSampling("binary")).node.tolist() for _ in range(2)]
        assert found[0] == found[1]
    assert torch.equal(torch.get_rng_state(), before)


def worker_draws(star, workers, **options):
    """The edges drawn around node 0 in 4 batches that all hold it, and another node."""
    nodes = torch.stack([torch.zeros(4, dtype=torch.int64), torch.arange(1, 5)], dim=1).flatten()
    loader = NodeLoader(
        stores(star), NeighborSampler(star, [20], **options), input_nodes=nodes, batch_size=2, num_workers=workers
    )
    return [batch.e_id.tolist() for batch in loader]


@FORKS
@pytest.mark.no_tsan
def test_workers_draw_differently_and_repeatably(star):
    runs = []
    for _ in range(2):
        torch.manual_seed(5)
        runs.append(worker_draws(star, 2))
    assert runs[0] == runs[1]
    assert len({tuple(edges) for edges in runs[0]}) == 4
    assert worker_draws(star, 2) != runs[0]
    seeded = worker_draws(star, 0, seed=3)
    assert worker_draws(star, 2, seed=3) == seeded
    assert len({tuple(edges) for edges in seeded}) == 4


def run(code):
    return subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)


def test_loaders_import_no_torch_until_a_name_is_used():
    shown = run(
        "import sys, graphzero.loaders\n"
        "assert not {'torch', 'torch_geometric'} & set(sys.modules)\n"
        "assert {'GraphStore', 'NeighborSampler', 'PyGFeatureStore'} <= set(graphzero.loaders.__all__)\n"
        "graphzero.loaders.GraphStore\n"
        "assert 'torch_geometric' in sys.modules\n"
    )
    assert (shown.returncode, shown.stderr) == (0, "")


def test_loaders_import_none_of_pygs_compiled_companions(tiny_dataset):
    """PyG itself tries to import them, so they are hidden and the parts must work all the same."""
    shown = run(
        "import sys\n"
        "names = ('pyg_lib', 'torch_sparse', 'torch_cluster', 'torch_scatter')\n"
        "sys.modules.update(dict.fromkeys(names))\n"
        "import torch, graphzero as gz\n"
        "from graphzero.loaders import GraphStore, NeighborSampler, PyGFeatureStore\n"
        "from torch_geometric.loader import NodeLoader\n"
        f"ds = gz.open({tiny_dataset!r})\n"
        "stores = PyGFeatureStore(ds), GraphStore(ds)\n"
        "batch = next(iter(NodeLoader(stores, NeighborSampler(ds, [-1]), input_nodes=torch.tensor([2]))))\n"
        "assert batch.x.shape == (3, 3)\n"
        "assert all(sys.modules[name] is None for name in names)\n"
    )
    assert (shown.returncode, shown.stderr) == (0, "")

"""MetaPath2Vec: rows, windows and loss of PyG's class, on walks from our files."""

import collections

import numpy as np
import pytest
import torch

import graphzero as gz
import oracle
from graphzero.loaders import MetaPath2Vec
from laws import assert_law, assert_uniform
from walk_cases import (
    COUNTS,
    EDGES,
    METHODS,
    OF_WORKERS,
    PATH,
    PUBLISHED,
    WRITES,
    WRITTEN_BY,
    graphs,
    neighbours,
    pyg_nn,
)

pytestmark = [pytest.mark.filterwarnings(warning) for warning in OF_WORKERS]

EDGE_INDEX = {kind: torch.tensor(ends) for kind, ends in EDGES.items()}
CASES = [
    {},
    {"walk_length": 6, "context_size": 3},
    {"metapath": [WRITES, PUBLISHED], "walk_length": 2},
    {"metapath": [WRITTEN_BY, WRITES], "walk_length": 3, "walks_per_node": 2, "num_negative_samples": 2},
]


def arguments(**options):
    return {
        "embedding_dim": 4,
        "metapath": PATH,
        "walk_length": 4,
        "context_size": 3,
        "num_nodes_dict": COUNTS,
        **options,
    }


def model_of(graph, **options):
    return MetaPath2Vec(graph, **arguments(**options))


def pyg_model(**options):
    options.pop("seed", None)
    return pyg_nn().MetaPath2Vec(EDGE_INDEX, **arguments(**options))


def types_of(model):
    """The type of each column of a walk."""
    path = model.metapath
    return [path[0][0], *(path[step % len(path)][2] for step in range(model.walk_length))]


@pytest.mark.parametrize("options", CASES)
def test_rows_are_those_of_pyg(options):
    ours, theirs = model_of(graphs(), **options), pyg_model(**options)
    for name in ("start", "end", "dummy_idx", "walk_length", "context_size", "walks_per_node", "num_negative_samples"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.offset.tolist() == theirs.offset.tolist()
    assert ours.num_nodes_dict == theirs.num_nodes_dict
    assert ours.metapath == theirs.metapath
    assert list(ours.state_dict()) == list(theirs.state_dict()) == ["embedding.weight"]
    assert repr(ours) == repr(theirs)
    theirs.load_state_dict(ours.state_dict())
    for name in ours.start:
        assert torch.equal(ours(name), theirs(name))
        assert torch.equal(ours(name, torch.tensor([1, 0])), theirs(name, torch.tensor([1, 0])))


@pytest.mark.parametrize("options", CASES)
def test_walks_follow_the_metapath_and_end_in_the_dummy(options):
    whole = {**options, "context_size": options.get("walk_length", 4) + 1, "walks_per_node": 50}
    model = model_of(graphs(), seed=1, **whole)
    types = types_of(model)
    count = COUNTS[types[0]]
    walks = model._pos_sample(torch.arange(count)).tolist()
    assert [walk[0] for walk in walks] == [node + model.start[types[0]] for node in list(range(count)) * 50]
    lists = {kind: neighbours(*EDGES[kind], COUNTS[kind[0]]) for kind in model.metapath}
    ended = 0
    for walk in walks:
        for step in range(model.walk_length):
            here, there = walk[step : step + 2]
            if here == model.dummy_idx:
                assert there == model.dummy_idx
                continue
            kind = model.metapath[step % len(model.metapath)]
            possible = lists[kind][here - model.start[types[step]]]
            ended += not possible
            assert there in [node + model.start[types[step + 1]] for node in possible] or (
                not possible and there == model.dummy_idx
            )
    assert ended > 0


def test_windows_are_cut_as_pyg_cuts_them():
    batch = torch.tensor([2, 0])
    model = model_of(graphs(), seed=1, context_size=3, walks_per_node=2)
    walks = model_of(graphs(), seed=1, context_size=5, walks_per_node=2)._pos_sample(batch)
    assert model._pos_sample(batch).tolist() == oracle.windows(walks.tolist(), 3)


@pytest.mark.parametrize("options", CASES)
def test_windows_have_the_law_of_pygs(options):
    """Each walk's exact probability; PyG's samples are held against the same law, which proves the law."""
    whole = {**options, "context_size": options.get("walk_length", 4) + 1, "walks_per_node": 2000}
    ours, theirs = model_of(graphs(), seed=5, **whole), pyg_model(**whole)
    types = types_of(ours)
    lists = {kind: neighbours(*EDGES[kind], COUNTS[kind[0]]) for kind in ours.metapath}
    batch = torch.arange(COUNTS[types[0]])
    torch.manual_seed(5)
    for walks in (ours._pos_sample(batch), theirs._pos_sample(batch)):
        for start in batch.tolist():
            law = collections.Counter({(start + ours.start[types[0]],): 1.0})
            for step in range(ours.walk_length):
                kind = ours.metapath[step % len(ours.metapath)]
                longer = collections.Counter()
                for walk, chance in law.items():
                    near = walk[-1] - ours.start[types[step]]
                    possible = [] if walk[-1] == ours.dummy_idx else lists[kind][near]
                    for node in possible:
                        longer[(*walk, node + ours.start[types[step + 1]])] += chance / len(possible)
                    if not possible:
                        longer[(*walk, ours.dummy_idx)] += chance
                law = longer
            names = {walk: number for number, walk in enumerate(law)}
            found = [names[tuple(walk)] for walk in walks[start :: len(batch)].tolist()]
            assert_law(found, {names[walk]: chance for walk, chance in law.items()})


@pytest.mark.parametrize("options", CASES)
def test_negatives_have_the_form_of_pygs_and_are_uniform(options):
    whole = {**options, "context_size": options.get("walk_length", 4) + 1, "num_negative_samples": 1000}
    ours, theirs = model_of(graphs(), seed=1, **whole), pyg_model(**whole)
    types = types_of(ours)
    batch = torch.arange(COUNTS[types[0]])
    found, expected = ours._neg_sample(batch), theirs._neg_sample(batch)
    assert found.shape == expected.shape
    assert found[:, 0].tolist() == expected[:, 0].tolist()
    for column, name in enumerate(types[1:], 1):
        assert_uniform(found[:, column], range(ours.start[name], ours.end[name]))
    cut = model_of(graphs(), seed=1, **options)
    assert cut._neg_sample(batch).shape == pyg_model(**options)._neg_sample(batch).shape


@pytest.mark.parametrize("sparse", [False, True])
def test_loss_and_gradients_are_those_of_pyg(sparse):
    ours, theirs = model_of(graphs(), seed=1, sparse=sparse), pyg_model(sparse=sparse)
    theirs.load_state_dict(ours.state_dict())
    for samples in (ours._sample([0, 1, 2, 3]), theirs._sample([0, 1, 2, 3])):
        torch.testing.assert_close(ours.loss(*samples), theirs.loss(*samples))
        gradients = [torch.autograd.grad(m.loss(*samples), m.embedding.weight)[0].to_dense() for m in (ours, theirs)]
        torch.testing.assert_close(*gradients)


def test_every_form_of_graph_gives_the_same_samples(tmp_path):
    folder = str(tmp_path / "papers")
    with gz.DatasetWriter(folder) as writer:
        for name, count in COUNTS.items():
            writer.add_nodes(type=name, num_nodes=count)
        for kind, (src, dst) in EDGES.items():
            writer.add_edges(src, dst, type=kind)
    forms = [gz.open(folder), gz.open(folder).edges, graphs(), EDGE_INDEX]
    found = [model_of(form, seed=2)._pos_sample(torch.arange(4)).tolist() for form in forms]
    assert found == [found[0]] * 4


def test_the_graph_has_the_keyword_of_pyg_too():
    expected = model_of(EDGE_INDEX, seed=2)._pos_sample(torch.arange(4)).tolist()
    for name in ("edge_index_dict", "graph"):
        model = MetaPath2Vec(**{name: EDGE_INDEX}, **arguments(seed=2))
        assert model._pos_sample(torch.arange(4)).tolist() == expected
    with pytest.raises(TypeError, match="graph, edge_index_dict: expected one of them, found both"):
        MetaPath2Vec(graphs(), edge_index_dict=EDGE_INDEX, **arguments())
    with pytest.raises(TypeError, match="graph: expected a Dataset, .*, found None"):
        MetaPath2Vec(**arguments())


def test_a_heterodata_is_walked_as_its_edges():
    data = pytest.importorskip("torch_geometric.data").HeteroData()
    for name, count in COUNTS.items():
        data[name].num_nodes = count
    for kind, edges in EDGE_INDEX.items():
        data[kind].edge_index = edges
    model = model_of(data, num_nodes_dict=None, seed=2)
    assert model.num_nodes_dict == COUNTS
    assert model._sample([0, 3])[0].tolist() == model_of(EDGE_INDEX, seed=2)._sample([0, 3])[0].tolist()


def test_nodes_are_counted_as_pyg_counts_them():
    # Without the counts PyG takes the largest id of a type in any of its edges; author 3 and paper 4 have none.
    ours, theirs = (make(num_nodes_dict=None) for make in (lambda **o: model_of(EDGE_INDEX, **o), pyg_model))
    assert ours.num_nodes_dict == theirs.num_nodes_dict == {"author": 3, "paper": 4, "venue": 2}
    assert (ours.start, ours.end) == (theirs.start, theirs.end)


def samples_of(loader):
    return [(pos_rw.tolist(), neg_rw.tolist()) for pos_rw, neg_rw in loader]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", ["graphs", "tensors"])
def test_workers_give_the_samples_of_the_process_itself(method, form):
    graph = graphs() if form == "graphs" else EDGE_INDEX
    options = {"batch_size": 3, "shuffle": True}
    expected = samples_of(model_of(graph, seed=3).loader(**options))
    assert len(expected) == 2
    loader = model_of(graph, seed=3).loader(**options, num_workers=2, multiprocessing_context=method)
    assert samples_of(loader) == expected


def test_training_separates_two_communities():
    rng = np.random.default_rng(0)
    authors, papers = 40, 60
    src = np.repeat(np.arange(authors), 6)
    dst = rng.integers(0, papers // 2, len(src)) + papers // 2 * (src >= authors // 2)
    edges = {WRITES: torch.tensor(np.stack([src, dst])), WRITTEN_BY: torch.tensor(np.stack([dst, src]))}
    torch.manual_seed(0)
    model = MetaPath2Vec(
        edges, 8, PATH, 8, 4, walks_per_node=4, num_nodes_dict={"author": authors, "paper": papers}, seed=0
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(40):
        for pos_rw, neg_rw in model.loader(batch_size=20, shuffle=True):
            optimizer.zero_grad()
            loss = model.loss(pos_rw, neg_rw)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert np.mean(losses[-5:]) < 0.6 * np.mean(losses[:5])
    for name, count in (("author", authors), ("paper", papers)):
        vectors = torch.nn.functional.normalize(model(name).detach(), dim=1)
        half = count // 2
        centres = torch.nn.functional.normalize(torch.stack([vectors[:half].mean(0), vectors[half:].mean(0)]), dim=1)
        nearest = (vectors @ centres.T).argmax(1)
        assert (nearest == torch.arange(count) // half).float().mean() > 0.95


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"embedding_dim": 0}, ValueError, "embedding_dim: expected at least 1, found 0"),
        ({"walk_length": 0}, ValueError, "walk_length: expected at least 1, found 0"),
        ({"context_size": 6}, ValueError, "context_size: expected at most 5, the number of nodes of a walk, found 6"),
        ({"walks_per_node": 0}, ValueError, "walks_per_node: expected at least 1, found 0"),
        ({"num_negative_samples": 0}, ValueError, "num_negative_samples: expected at least 1, found 0"),
        ({"metapath": []}, ValueError, "metapath: expected at least one edge type"),
        ({"metapath": [("author", "paper")]}, TypeError, r"metapath\[0\]: expected .source, relation, destination."),
        (
            {"metapath": [("a", "b", "c")]},
            ValueError,
            r"metapath\[0\]: no edge type a → b → c; there are author → writes",
        ),
        ({"metapath": [WRITES, WRITES]}, ValueError, r"metapath\[1\]: expected an edge type from 'paper'"),
        ({"metapath": [WRITES, PUBLISHED]}, ValueError, "walk_length: expected at most 2, found 4"),
    ],
)
@pytest.mark.parametrize("form", ["graphs", "tensors"])
def test_options_that_are_wrong_are_named(form, options, error, message):
    with pytest.raises(error, match=message):
        model_of(graphs() if form == "graphs" else EDGE_INDEX, **options)


def test_graphs_that_are_wrong_are_named(tiny):
    with pytest.raises(
        TypeError,
        match="graph: expected a Dataset, a mapping of edge types to Graphs, an edge_index_dict or PyG's HeteroData, "
        "found Graph",
    ):
        model_of(tiny)
    with pytest.raises(ValueError, match="graph: expected at least one edge type, found none"):
        model_of({})
    with pytest.raises(ValueError, match=r"num_nodes_dict\['paper'\]: expected 5, as many as the graphs have, found 6"):
        model_of(graphs(), num_nodes_dict={"paper": 6})
    with pytest.raises(
        ValueError, match=r"num_nodes_dict\['paper'\]: expected at least 4, because there is a node 3, found 2"
    ):
        model_of(EDGE_INDEX, num_nodes_dict={"author": 4, "paper": 2, "venue": 2})
    with pytest.raises(
        ValueError, match=r"edge_index_dict\[.*writes.*\]: expected a tensor of shape \(2, edges\), found \(3,\)"
    ):
        model_of({**EDGE_INDEX, WRITES: torch.arange(3)})
    nothing = {kind: torch.empty(2, 0, dtype=torch.int64) for kind in PATH}
    with pytest.raises(ValueError, match="graph: expected at least one node of type 'author', found none"):
        model_of(nothing, num_nodes_dict=None)
    model = model_of(graphs())
    with pytest.raises(
        ValueError, match=r"node_type: expected one on the metapath, \['author', 'paper'\], found 'venue'"
    ):
        model("venue")
    with pytest.raises(IndexError, match="node 4 is not in"):
        model._sample([4])

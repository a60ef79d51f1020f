"""Batches of edges hold what PyG's own loader would make of the same samples and negatives."""

import numpy as np
import pytest
import torch

import graphzero as gz
from data_sets import pyg
from graphzero.loaders import LinkNeighborLoader
from loader_cases import (
    AUTHOR,
    CITES,
    NUM_EDGES,
    NUM_NODES,
    PAPER,
    REVERSE,
    WRITES,
    as_pyg_data,
    assert_holds,
    sampler_for_pyg,
    values,
    write_heterogeneous,
    write_homogeneous,
)
from pipeline_cases import assert_same
from sample_cases import EDGE

pyg()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_homogeneous(tmp_path_factory.mktemp("homogeneous"))


@pytest.fixture(scope="module")
def hetero(tmp_path_factory):
    return write_heterogeneous(tmp_path_factory.mktemp("heterogeneous"))


READS, KNOWS = (AUTHOR, "reads", PAPER), (AUTHOR, "knows", AUTHOR)  # of which there are no edges


def links_of(data, triple, ids):
    """Edges by id, and the type as PyG wants it said; of types without edges some pairs."""
    some = {"src": np.arange(500) % 80, "dst": np.arange(500) * 7 % 80}
    edges = data.edges if triple is None else data.edges.get(triple, some)
    pairs = torch.from_numpy(np.stack([edges["src"][ids], edges["dst"][ids]]))
    return pairs if triple is None else (triple, pairs)


def parts_of(batch, triple):
    """What a batch holds of sources, of destinations and of edges."""
    return (batch, batch, batch) if triple is None else (batch[triple[0]], batch[triple[2]], batch[triple])


def drawn(batch, triple, kind):
    """The negatives of a batch: sources and destinations; of triplets there are destinations alone."""
    of_src, of_dst, of_edge = parts_of(batch, triple)
    count = len(of_edge.input_id)
    if kind == "triplet":
        return [of_dst.n_id[of_dst.dst_neg_index].flatten()]
    src, dst = of_edge.edge_label_index[:, count:]
    return [of_src.n_id[src], of_dst.n_id[dst]]


@pytest.fixture
def queue(monkeypatch):
    """Negatives that PyG will draw next."""
    from torch_geometric.sampler import NegativeSampling

    waiting = []

    def sample(self, num_samples, endpoint, num_nodes=None):
        found = waiting.pop(0)
        assert len(found) == num_samples
        return found

    monkeypatch.setattr(NegativeSampling, "sample", sample)
    return waiting


NEGATIVES = [None, ("binary", 1), ("binary", 0.3), ("binary", 2), ("triplet", 1), ("triplet", 3)]


# PyG has the negatives of disjoint triplets in another order, and puts the trees of a part of a negative per link
# under wrong links.
CASES = [(kind, False) for kind in NEGATIVES] + [
    (kind, True) for kind in NEGATIVES if kind not in (("triplet", 3), ("binary", 0.3))
]


@pytest.mark.parametrize(("negatives", "disjoint"), CASES)
@pytest.mark.parametrize("triple", [None, CITES, WRITES, REVERSE, READS, KNOWS])
def test_batches_equal_those_of_pygs_own_loader(data, hetero, queue, triple, negatives, disjoint):
    from torch_geometric.loader import LinkLoader
    from torch_geometric.sampler import NegativeSampling

    kind, amount = negatives or (None, 0)
    given = data if triple is None else hetero
    links = links_of(given, triple, np.arange(50))
    label = None if kind == "triplet" else torch.arange(50) % 3
    options = {
        "edge_label_index": links,
        "edge_label": label,
        "neg_sampling": None if kind is None else NegativeSampling(kind, amount),
        "batch_size": 20,
    }
    ours = list(LinkNeighborLoader(given.dataset, [-1, -1], disjoint=disjoint, **options))
    if kind is not None:
        for batch in ours:
            queue += drawn(batch, triple, kind)
    sampler = sampler_for_pyg(given, [-1, -1], disjoint=disjoint)
    theirs = LinkLoader(as_pyg_data(given), sampler, **options)
    for batch, expected in zip(ours, theirs, strict=True):
        assert batch.input_type == expected.input_type if triple else not hasattr(batch, "input_type")
        expected = values(expected)
        assert_holds(batch, expected)
    assert queue == []


def test_links_of_a_new_type_by_their_ends(hetero):
    """A pair of node types is the one edge type between them, or else a new one called ``to``."""
    for ends, triple in (((AUTHOR, PAPER), WRITES), ((AUTHOR, AUTHOR), (AUTHOR, "to", AUTHOR))):
        (batch,) = LinkNeighborLoader(hetero.dataset, [2], (ends, ([3], [4])), form="torch")
        assert batch.input_type == triple
        assert list(batch.edge_label_index_dict) == [triple]
        assert (triple in batch.edge_index_dict) == (triple == WRITES)


def test_links_of_a_new_type_in_a_homogeneous_graph(data):
    (batch,) = LinkNeighborLoader(data.dataset, [2], (("node", "likes", "node"), ([3], [4])), seed=1)
    (expected,) = LinkNeighborLoader(data.dataset, [2], ([3], [4]), seed=1)
    assert_holds(batch, values(expected))


def test_a_transform_sees_samples_without_links_that_are_not_sampled(hetero):
    seen = []

    def look(output):
        seen.append(list(output.row))
        return output

    options = {"edge_label_index": (READS, ([3, 5], [4, 4])), "batch_size": 2, "seed": 1}
    (batch,) = LinkNeighborLoader(hetero.dataset, [2], transform_sampler_output=look, **options)
    (expected,) = LinkNeighborLoader(hetero.dataset, [2], **options)
    assert seen == [[WRITES, REVERSE, CITES]]
    assert_holds(batch, values(expected))


def test_links_of_data_without_edges(tmp_path):
    with gz.DatasetWriter(tmp_path / "none") as writer:
        writer.add_nodes({"x": np.arange(5.0)})
    (batch,) = LinkNeighborLoader(
        gz.open(tmp_path / "none"), [2, 1], ([3, 1], [1, 4]), neg_sampling="binary", batch_size=2
    )
    assert batch.n_id[batch.edge_label_index[:, :2]].tolist() == [[3, 1], [1, 4]]
    assert batch.edge_label.tolist() == [1, 1, 0, 0]
    assert (batch.edge_index.shape, batch.num_sampled_nodes) == ((2, 0), [len(batch.n_id), 0, 0])


@pytest.mark.parametrize("triple", [None, WRITES, REVERSE])
def test_disjoint_triplets_belong_to_their_link(data, hetero, triple):
    """Each of three negatives hangs in a tree of its link's source."""
    given = data if triple is None else hetero
    pair = links_of(given, triple, np.arange(30))
    for batch in LinkNeighborLoader(
        given.dataset, [2], pair, disjoint=True, neg_sampling=("triplet", 3), batch_size=10
    ):
        of_src, of_dst, of_edge = parts_of(batch, triple)
        edges = pair if triple is None else pair[1]
        links = torch.arange(10)
        assert of_dst.dst_neg_index.shape == (10, 3)
        assert of_src.batch[of_src.src_index].tolist() == links.tolist()
        assert of_dst.batch[of_dst.dst_pos_index].tolist() == links.tolist()
        assert of_dst.batch[of_dst.dst_neg_index].tolist() == links[:, None].repeat(1, 3).tolist()
        assert of_src.n_id[of_src.src_index].tolist() == edges[0][of_edge.input_id].tolist()
        assert of_dst.n_id[of_dst.dst_pos_index].tolist() == edges[1][of_edge.input_id].tolist()


@pytest.mark.parametrize("amount", [0.3, 2])
@pytest.mark.parametrize("triple", [None, WRITES, REVERSE])
def test_disjoint_pairs_belong_to_a_link(data, hetero, triple, amount):
    """Negatives stand for the links of their batch in turn."""
    given = data if triple is None else hetero
    pair = links_of(given, triple, np.arange(30))
    for batch in LinkNeighborLoader(given.dataset, [2], pair, disjoint=True, neg_sampling_ratio=amount, batch_size=10):
        of_src, of_dst, of_edge = parts_of(batch, triple)
        expected = (torch.arange(10 + int(10 * amount)) % 10).tolist()
        for ends, index in zip((of_src, of_dst), of_edge.edge_label_index, strict=True):
            assert ends.batch[index].tolist() == expected
        row, col = batch.edge_index if triple is None else batch[triple].edge_index
        assert of_src.batch[row].tolist() == of_dst.batch[col].tolist()


@pytest.mark.parametrize("negatives", NEGATIVES)
@pytest.mark.parametrize("triple", [None, WRITES, REVERSE])
def test_times_of_links_hold_for_their_negatives(data, hetero, negatives, triple):
    """Each tree ends at the time of the link that it belongs to."""
    kind, amount = negatives or (None, 0)
    given = data if triple is None else hetero
    times = np.arange(40) * 2 + 10
    node_time = given.nodes["time"] if triple is None else given.nodes[PAPER]["time"]
    loader = LinkNeighborLoader(
        given.dataset,
        [4, 3],
        links_of(given, triple, np.arange(40)),
        edge_label_time=times,
        time_attr="time",
        neg_sampling=negatives,
        batch_size=15,
        shuffle=True,
    )
    for batch in loader:
        of_src, of_dst, of_edge = parts_of(batch, triple)
        count = len(of_edge.input_id)
        now = torch.from_numpy(times[of_edge.input_id])
        if kind == "triplet":
            assert of_src.seed_time.tolist() == of_dst.seed_time.tolist() == now.tolist()
        else:
            total = count + int(np.ceil(count * amount))
            assert of_edge.edge_label_time.tolist() == now.repeat(3)[:total].tolist()
        if kind is not None and triple != REVERSE:  # papers are drawn, and none that is newer
            newest = now.repeat_interleave(amount) if kind == "triplet" else now.repeat(3)[count:total]
            assert (torch.from_numpy(node_time)[drawn(batch, triple, kind)[-1]] <= newest).all()
        papers = batch if triple is None else batch[PAPER]
        first = papers.num_sampled_nodes[0]
        limit = now[papers.batch[first:]]
        assert len(limit)
        assert (torch.from_numpy(node_time)[papers.n_id[first:]] <= limit).all()


def test_no_edge_is_from_the_future(data):
    graph = gz.Graph(f"{data.dataset.path}/../timed.gl")
    times = np.arange(40) * 2
    links = links_of(data, None, np.arange(40))
    options = {"edge_label_time": times, "time_attr": "time", "neg_sampling": "binary", "batch_size": 20}
    for batch in LinkNeighborLoader(graph, [4, 3], links, temporal_strategy="last", time_window=50, **options):
        limit = times[batch.input_id][batch.batch[batch.edge_index[1]]]
        found = data.edges["time"][batch.e_id]
        assert len(found)
        assert (found <= limit).all()
        assert (found >= limit - 50).all()


@pytest.mark.parametrize(
    ("given", "negatives", "expected"),
    [
        ([0, 1, 2, 0], "binary", [1, 2, 3, 1, 0, 0, 0, 0]),
        ([1, 1, 2, 1], "binary", [1, 1, 2, 1, 0, 0, 0, 0]),
        ([0.0, 0.5, 1.0, 2.0], "binary", [1, 1.5, 2, 3, 0, 0, 0, 0]),
        ([[0, 2], [1, 1], [3, 4], [5, 6]], "binary", [[1, 3], [2, 2], [4, 5], [6, 7]] + [[0, 0]] * 4),
        ([0, 1, 2, 0], None, [0, 1, 2, 0]),
        (None, "binary", [1, 1, 1, 1, 0, 0, 0, 0]),
    ],
)
def test_labels_make_room_for_negatives(data, given, negatives, expected):
    loader = LinkNeighborLoader(
        data.dataset, [2], ([0, 1, 2, 3], [4, 5, 6, 7]), edge_label=given, neg_sampling=negatives, batch_size=4
    )
    (batch,) = loader
    assert batch.edge_label.tolist() == expected
    if given is None:
        assert batch.edge_label.dtype == torch.float32


def test_links_without_labels_or_negatives_have_none(data):
    (batch,) = LinkNeighborLoader(data.dataset, [2], ([0], [4]))
    assert "edge_label" not in batch
    assert "edge_label_time" not in batch


def ends(batch, triple=None):
    """Global ids of both ends of all pairs."""
    of_src, of_dst, of_edge = parts_of(batch, triple)
    src, dst = of_edge.edge_label_index
    return of_src.n_id[src].tolist(), of_dst.n_id[dst].tolist()


def test_edges_have_many_forms(data, hetero):
    def found(given, *form, triple=None):
        (batch,) = LinkNeighborLoader(given.dataset, [1], *form, batch_size=NUM_EDGES)
        assert parts_of(batch, triple)[2].input_id.tolist() == list(range(len(ends(batch, triple)[0])))
        return ends(batch, triple)

    pair = [3, 1], [5, 200]
    for form in (pair, list(pair), np.array(pair), torch.tensor(pair), (None, torch.tensor(pair)), (EDGE, pair)):
        assert found(data, form) == pair
    everything = data.edges["src"].tolist(), data.edges["dst"].tolist()
    assert found(data) == found(data, None) == found(data, EDGE) == found(data, (EDGE, None)) == everything
    some = data.edges["src"][data.held_out].tolist(), data.edges["dst"][data.held_out].tolist()
    assert found(data, "held out") == found(data, (EDGE, "held out")) == some

    pair = [3, 1], [5, 150]
    for form in ((WRITES, pair), (list(WRITES), torch.tensor(pair)), ((AUTHOR, PAPER), pair)):
        assert found(hetero, form, triple=WRITES) == pair
    everything = hetero.edges[WRITES]["src"].tolist(), hetero.edges[WRITES]["dst"].tolist()
    for form in (WRITES, (AUTHOR, PAPER), (WRITES, None)):
        assert found(hetero, form, triple=WRITES) == everything
    written = tuple(hetero.edges[WRITES][end][hetero.held_out].tolist() for end in ("src", "dst"))
    assert found(hetero, "held out", triple=WRITES) == found(hetero, (WRITES, "held out"), triple=WRITES) == written


@pytest.mark.parametrize("block", [2, 1 << 22])
def test_edges_of_an_undirected_graph_come_once_by_id(block, monkeypatch):
    monkeypatch.setattr("graphzero._dataset.all_edges._BLOCK", block)
    src, dst = [3, 0, 2, 1], [1, 2, 2, 1]
    gz.write_graph("u.gl", src, dst, directed=False)
    (batch,) = LinkNeighborLoader(gz.Graph("u.gl"), [1], batch_size=4)
    found = [tuple(sorted(pair)) for pair in zip(*ends(batch), strict=True)]
    assert found == [tuple(sorted(pair)) for pair in zip(src, dst, strict=True)]


def test_all_edges_of_a_graph_that_follows_them_one_way_only():
    gz.write_graph("in.gl", [0, 2, 1], [1, 1, 0], index="in")
    (batch,) = LinkNeighborLoader(gz.Graph("in.gl"), [1], batch_size=4)
    assert ends(batch) == ([0, 2, 1], [1, 1, 0])


def test_edges_that_a_conversion_dropped_are_not_predicted():
    gz.convert_edges(([0, 0, 1, 2, 2], [1, 1, 2, 2, 0]), "g.gl", duplicates="drop", self_loops="drop")
    (batch,) = LinkNeighborLoader(gz.Graph("g.gl"), [1], batch_size=4)
    assert batch.n_id[batch.edge_label_index].tolist() == [[0, 1, 2], [1, 2, 0]]
    with gz.DatasetWriter("d") as w:
        w.add_nodes(num_nodes=3)
        w.add_edges(graph="g.gl")
        w.add_split("good", [0, 4], of=("node", "to", "node"))
        w.add_split("bad", [0, 1], of=("node", "to", "node"))
    (batch,) = LinkNeighborLoader(gz.open("d"), [1], "good", batch_size=4)
    assert batch.n_id[batch.edge_label_index].tolist() == [[0, 2], [1, 0]]
    with pytest.raises(ValueError, match=r"edge_label_index: expected edges of .*graph.gl, found the id 1 of one that"):
        LinkNeighborLoader(gz.open("d"), [1], "bad")


def test_more_edges_than_memory_are_refused(data, monkeypatch):
    monkeypatch.setattr("graphzero._dataset.all_edges.pipeline_budget", lambda: 31_999)
    message = r"edge_label_index: listing all 2,000 edges of .*graph.gl takes 32.0 kB, more than half .*; give those"
    with pytest.raises(MemoryError, match=message):
        LinkNeighborLoader(data.dataset, [1])
    assert len(LinkNeighborLoader(data.dataset, [1], ([0], [1]))) == 1
    monkeypatch.setattr("graphzero._dataset.all_edges.pipeline_budget", lambda: 32_000)
    assert len(LinkNeighborLoader(data.dataset, [1])) == 2000


def test_links_may_be_called_something_else(data, hetero):
    options = {"input_id": [70, 60], "batch_size": 2}
    (batch,) = LinkNeighborLoader(data.dataset, [1], ([0, 1], [2, 3]), **options)
    assert batch.input_id.tolist() == [70, 60]
    (batch,) = LinkNeighborLoader(hetero.dataset, [1], (WRITES, ([0, 1], [2, 3])), **options)
    assert batch[WRITES].input_id.tolist() == [70, 60]


@pytest.mark.parametrize("kind", ["binary", "triplet"])
def test_negatives_may_leave_out_edges(kind):
    """Of 12 nodes each has an edge to 11."""
    src, dst = np.nonzero((np.arange(12)[:, None] * 5 + 1) % 12 != np.arange(12))
    gz.write_graph("dense.gl", src, dst)
    graph, edges = gz.Graph("dense.gl"), set(zip(src.tolist(), dst.tolist(), strict=True))

    def negatives(exclude):
        loader = LinkNeighborLoader(
            graph, [1], neg_sampling=(kind, 2), exclude_positives=exclude, batch_size=50, seed=1
        )
        for batch in loader:
            if kind == "triplet":
                near = batch.n_id[batch.src_index].repeat_interleave(2)
                far = batch.n_id[batch.dst_neg_index].flatten()
            else:
                near, far = batch.n_id[batch.edge_label_index[:, len(batch.input_id) :]]
            yield from zip(near.tolist(), far.tolist(), strict=True)

    assert not edges & set(negatives(True))
    assert edges & set(negatives(False))


@pytest.mark.parametrize(
    "given", ["binary", ("binary",), ["binary", 1], {"mode": "binary"}, {"mode": "binary", "amount": 1}]
)
def test_negatives_are_asked_for_in_many_ways(data, given):
    from torch_geometric.sampler import NegativeSampling

    def batch(**options):
        (found,) = LinkNeighborLoader(data.dataset, [2], ([0, 1], [2, 3]), batch_size=2, seed=3, **options)
        return values(found)

    expected = batch(neg_sampling=NegativeSampling("binary"))
    assert len(expected["edge_label"]) == 4
    assert_same(batch(neg_sampling=given), expected)
    assert_same(batch(neg_sampling_ratio=1.0), expected)
    assert len(batch(neg_sampling_ratio=0.0)["edge_label_index"][0]) == 2


@pytest.mark.parametrize("kind", ["binary", "triplet"])
def test_negatives_follow_weights(data, kind):
    weights = {"src": torch.zeros(NUM_NODES), "dst": torch.zeros(NUM_NODES)}
    weights["src"][[7, 9]] = 1
    weights["dst"][[11, 13]] = 1
    given = {"mode": kind, "amount": 20, "dst_weight": weights["dst"]}
    if kind == "binary":
        given["src_weight"] = weights["src"]
    (batch,) = LinkNeighborLoader(data.dataset, [1], ([0, 1], [2, 3]), neg_sampling=given, batch_size=2, seed=3)
    found = drawn(batch, None, kind)
    assert set(found[-1].tolist()) == {11, 13}
    if kind == "binary":
        assert set(found[0].tolist()) == {7, 9}


@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize("exclude_reverse", [False, True])
def test_edges_to_predict_may_be_left_out_of_samples(hetero, exclude, exclude_reverse):
    """Each authorship is there in both directions, as two edge types."""
    loader = LinkNeighborLoader(
        hetero.dataset,
        [-1],
        (WRITES, links_of(hetero, WRITES, np.arange(60))[1]),
        exclude_seed_edges=exclude,
        exclude_reverse=exclude_reverse,
        batch_size=20,
    )
    for batch in loader:
        given = set(zip(*ends(batch, WRITES), strict=True))

        def pairs(triple, batch=batch):
            row, col = batch[triple].edge_index
            return set(zip(batch[triple[0]].n_id[row].tolist(), batch[triple[2]].n_id[col].tolist(), strict=True))

        assert bool(given & pairs(WRITES)) == (not exclude)
        reverses = {(paper, author) for author, paper in given}
        assert bool(reverses & pairs(REVERSE)) == (not exclude or not exclude_reverse)


def test_links_in_plain_batches(hetero):
    options = {"neg_sampling": "binary", "batch_size": 8, "seed": 5}
    links = links_of(hetero, WRITES, np.arange(8))
    (plain,) = LinkNeighborLoader(hetero.dataset, [3], links, form="torch", **options)
    (batch,) = LinkNeighborLoader(hetero.dataset, [3], links, **options)
    assert_same(values(plain.edge_label_index_dict), {WRITES: batch[WRITES].edge_label_index.numpy()})
    assert_same(values(plain.edge_label_dict), {WRITES: batch[WRITES].edge_label.numpy()})
    assert list(plain.input_id_dict) == [WRITES]
    (plain,) = LinkNeighborLoader(hetero.dataset, [3], links, form="torch", neg_sampling="triplet", batch_size=8)
    assert (list(plain.src_index_dict), list(plain.dst_neg_index_dict)) == ([AUTHOR], [PAPER])


def test_samples_of_links_may_be_changed_before_rows_are_read(data):
    seen = []

    def note(out):
        seen.append(out.metadata[0].tolist())
        return out

    options = {"edge_label_index": ([0, 1], [2, 3]), "batch_size": 2, "seed": 5, "neg_sampling": "binary"}
    (batch,) = LinkNeighborLoader(data.dataset, [3], transform_sampler_output=note, **options)
    (expected,) = LinkNeighborLoader(data.dataset, [3], **options)
    assert seen == [[0, 1]]
    assert_holds(batch, values(expected))


@pytest.mark.parametrize("form", ["pyg", "torch"])
@pytest.mark.parametrize("negatives", [None, "triplet"])
def test_what_a_loader_says_of_links_is_not_hidden_by_those_of_the_whole_data(tmp_path, form, negatives):
    """As ``RandomLinkSplit`` leaves them. A batch has those of its own links."""
    with gz.DatasetWriter(tmp_path / "split") as writer:
        writer.add_nodes({"x": np.eye(4, dtype=np.float32)})
        writer.add_edges([0, 1, 2], [1, 2, 3], attributes={"edge_label": np.ones(3, dtype=np.float32)})
        writer.add_other("edge_label_index", np.array([[0, 1, 2], [1, 2, 3]]))
    data = gz.open(tmp_path / "split")
    options = {"edge_label_index": ([0, 1, 2], [1, 2, 3]), "batch_size": 2, "form": form, "neg_sampling": negatives}
    batch = next(iter(LinkNeighborLoader(data, [-1], edge_label=None if negatives else [5, 6, 7], **options)))
    if negatives is None:
        assert batch.edge_label.tolist() == [5, 6]
        assert batch.n_id[batch.edge_label_index].tolist() == [[0, 1], [1, 2]]
        assert "edge_label" not in next(iter(LinkNeighborLoader(data, [-1], **options)))
    else:
        assert "edge_label_index" not in batch
        assert batch.n_id[batch.dst_pos_index].tolist() == [1, 2]

"""Synthetic data sets: the laws they follow, whatever the threads and the memory, and what they refuse."""

import json
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from scipy import stats

import graphzero as gz
import oracle
from graphzero import _core
from graphzero.cli.command import run
from graphzero.synth.recipe import PRESETS, make_recipe
from graphzero.threads import using_threads
from laws import P, assert_independent, assert_law, assert_uniform

LAWS = {
    "blocks": {"kind": "blocks", "classes": 5, "skew": 3, "homophily": 0.5},
    "rmat": {"kind": "rmat", "classes": 5},
    "ba": {"kind": "ba", "classes": 5},
}


def block_law(num_src, num_dst, num_edges, *, seed=1, kind=0, ends=(0, 0), classes=5, skew=3, homophily=0.5):
    return _core.SyntheticEdges.blocks(
        seed, kind, _core.SynthNodes(num_src, ends[0]), _core.SynthNodes(num_dst, ends[1]), num_edges,
        _core.BlockOptions(classes, skew, homophily),
    )  # fmt: skip


def input_edges(graph):
    """The edges of a directed graph in the order of their ids."""
    index = graph.index("out")
    src = np.repeat(np.arange(graph.num_src_nodes), np.diff(index.indptr))
    at = np.argsort(np.arange(len(src)) if index.edge_ids is None else index.edge_ids)
    return np.stack([src[at], index.indices[at]])


def place_of(num_nodes, seed=1, kind=0):
    """The place of each node."""
    return np.argsort(oracle.node_of_place(num_nodes, seed, kind))


def bytes_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def accuracy(rows, labels, centroids):
    return np.mean(np.argmax(rows @ centroids.T, axis=1) == labels)


# Counts that are square, prime, just above a power of two, and as small as can be.
@pytest.mark.parametrize("num_nodes", [5, 6, 64, 65, 127, 1000])
def test_block_edges_are_those_of_the_oracle(num_nodes):
    options = {"seed": 7, "kind": 2, "ends": (0, 3), "classes": 5, "skew": 4, "homophily": 0.3}
    src, dst = block_law(num_nodes, 2 * num_nodes, 400, **options).edges(0, 400)
    assert list(zip(src, dst, strict=True)) == oracle.block_edges(num_nodes, 2 * num_nodes, 400, **options)


@pytest.mark.parametrize("num_nodes", [1, 2, 3, 64, 65, 1000])
def test_rmat_edges_are_those_of_the_oracle(num_nodes):
    src, dst = _core.SyntheticEdges.rmat(7, num_nodes, 300).edges(0, 300)
    assert list(zip(src, dst, strict=True)) == oracle.rmat_edges(num_nodes, 300, seed=7)


@pytest.mark.parametrize(("num_nodes", "num_edges"), [(1, 5), (3, 100), (64, 500), (100, 250), (100, 30)])
def test_attached_edges_are_those_of_the_oracle(num_nodes, num_edges):
    src, dst = _core.SyntheticEdges.attachment(7, num_nodes, num_edges).edges(0, num_edges)
    assert list(zip(src, dst, strict=True)) == oracle.attachment_edges(num_nodes, num_edges, seed=7)


@pytest.mark.parametrize("num_nodes", [1, 2, 5, 99, 4096, 4097])
def test_places_and_nodes_are_in_bijection(num_nodes):
    nodes = _core.SyntheticNodes(3, _core.SynthNodes(num_nodes, 1), 1)
    places = nodes.places32(0, num_nodes)
    assert places[oracle.node_of_place(num_nodes, 3, 1)].tolist() == list(range(num_nodes))
    assert nodes.places64(0, num_nodes).tolist() == places.tolist()


def test_places_of_a_number_of_nodes_beyond_32_bits():
    count = 2**40 - 87
    law = block_law(count, count, 2**40)
    src, dst = law.edges(2**39, 1000)
    assert min(src.min(), dst.min()) >= 0
    assert 2**39 < max(src.max(), dst.max()) < count
    nodes = _core.SyntheticNodes(1, _core.SynthNodes(count, 0), 5)
    assert len(set(nodes.places64(count - 1000, 1000).tolist())) == 1000


@pytest.mark.parametrize("kind", LAWS)
def test_any_block_of_edges_is_that_of_all_edges(kind):
    law = {
        "blocks": block_law(500, 500, 30_000),
        "rmat": _core.SyntheticEdges.rmat(1, 500, 30_000),
        "ba": _core.SyntheticEdges.attachment(1, 500, 30_000),
    }[kind]
    whole = law.edges(0, 30_000)
    for first, count in ((0, 1), (7, 12_000), (29_999, 1), (30_000, 0)):
        part = law.edges(first, count)
        for all_ends, ends in zip(whole, part, strict=True):
            assert np.array_equal(all_ends[first : first + count], ends)
    with pytest.raises(IndexError, match="expected edges below 30000, found 2 from 29999 on"):
        law.edges(29_999, 2)


@pytest.mark.parametrize("kind", LAWS)
def test_files_are_the_same_for_any_threads_and_memory(kind, tmp_path):
    for name, threads, memory in (("one", 1, "64MB"), ("three", 3, None)):
        with using_threads(threads):
            gz.synthesize(tmp_path / name, 3000, 40_000, features=7, temporal=True, memory=memory, **LAWS[kind])
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "three")


def test_another_seed_is_another_data_set(tmp_path):
    made = [
        gz.synthesize(tmp_path / f"made {i}", 500, 2000, features=4, seed=seed)
        for i, seed in enumerate((0, 1, None, None))
    ]
    for attribute in ("x", "y"):
        tensors = {ds.features(attribute).get_tensor().tobytes() for ds in made}
        assert len(tensors) == 4
    assert len({ds.graph.indices.tobytes() for ds in made}) == 4
    assert len({ds.split("train").tobytes() for ds in made}) == 4
    assert made[2].metadata["synthetic"]["seed"] != made[3].metadata["synthetic"]["seed"]


def test_ranks_follow_their_power_law():
    """The share of the first r of n ranks is (r / n) ** (1 / skew), on both sides."""
    num_nodes, classes = 600, 4
    size = num_nodes // classes
    for skew in (1, 2, 3, 5):
        edges = block_law(num_nodes, num_nodes, 40_000, classes=classes, skew=skew).edges(0, 40_000)
        bounds = (np.arange(size + 1) / size) ** (1 / skew)
        law = dict(enumerate(np.diff(bounds).tolist()))
        for ends in edges:
            assert_law(place_of(num_nodes)[ends] // classes, law)


@pytest.mark.parametrize(("skew", "exponent"), [(2, 3.0), (3, 2.5)])
def test_degrees_have_the_tail_that_is_claimed(skew, exponent):
    """Expected degrees in closed form, and the exponent of their tail by Hill's estimator."""
    num_nodes, num_edges = 20_000, 2_000_000
    law = block_law(num_nodes, num_nodes, num_edges, classes=1, skew=skew)
    degrees = np.bincount(law.edges(0, num_edges)[1], minlength=num_nodes)
    bounds = (np.arange(num_nodes + 1) / num_nodes) ** (1 / skew)
    expected = num_edges * np.diff(bounds)
    assert stats.chisquare(degrees[oracle.node_of_place(num_nodes, 1)], expected).pvalue > P
    largest = np.sort(degrees)[::-1][:1000].astype(float)
    hill = 1 + 1 / np.mean(np.log(largest[:-1] / largest[-1]))
    assert abs(hill - exponent) < 0.15


def test_attachment_has_a_tail_of_exponent_three():
    num_nodes, num_edges = 50_000, 500_000
    ends = _core.SyntheticEdges.attachment(1, num_nodes, num_edges).edges(0, num_edges)
    degrees = np.sort(np.bincount(np.concatenate(ends), minlength=num_nodes))[::-1][:1000].astype(float)
    assert abs(1 + 1 / np.mean(np.log(degrees[:-1] / degrees[-1])) - 3) < 0.2
    assert set(np.bincount(ends[0])) == {10}


def test_rmat_follows_its_odds():
    """Over a power of two the law of a pair is a product; over fewer nodes it is that law among those that are left."""
    quadrants = np.array([[37356, 12452], [12452, 3276]]) / 2**16
    whole = quadrants
    for _ in range(2):
        whole = np.kron(whole, quadrants)
    for num_nodes in (8, 5):
        places = place_of(num_nodes)
        src, dst = (places[ends] for ends in _core.SyntheticEdges.rmat(1, num_nodes, 50_000).edges(0, 50_000))
        left = whole[:num_nodes, :num_nodes] / whole[:num_nodes, :num_nodes].sum()
        assert_law(src * num_nodes + dst, dict(enumerate(left.ravel().tolist())))


def test_classes_of_the_ends_follow_their_joint_law():
    classes, homophily = 6, 0.4
    src, dst = block_law(600, 606, 60_000, ends=(0, 1), classes=classes, homophily=homophily).edges(0, 60_000)
    pairs = place_of(600)[src] % classes * classes + place_of(606, kind=1)[dst] % classes
    law = (homophily * np.eye(classes) + (1 - homophily) / classes) / classes
    assert_law(pairs, dict(enumerate(law.ravel().tolist())))


def test_the_share_of_edges_within_a_class_is_as_asked(tmp_path):
    for homophily in (0.0, 0.6, 1.0):
        ds = gz.synthesize(tmp_path / str(homophily), 2000, 50_000, features=0, classes=8, homophily=homophily, skew=2)
        labels = ds.labels().get_tensor()
        src, dst = input_edges(ds.graph)
        within = int((labels[src] == labels[dst]).sum())
        assert stats.binomtest(within, 50_000, homophily + (1 - homophily) / 8).pvalue > P


def test_labels_are_balanced_and_tell_nothing_of_the_id(tmp_path):
    ds = gz.synthesize(tmp_path / "made", 10_003, 1, features=0, classes=10)
    labels = ds.labels().get_tensor()
    assert labels.dtype == np.int64
    assert sorted(Counter(labels.tolist()).values()) == [1000] * 7 + [1001] * 3
    assert_independent(np.arange(10_003) // 1000, labels)
    assert_independent(np.arange(10_002) % 10, labels[:10_002])
    assert_independent(labels[:-1], labels[1:])


def test_hubs_are_anywhere_among_the_ids():
    num_nodes = 10_000
    for law in (
        block_law(num_nodes, num_nodes, 200_000),
        _core.SyntheticEdges.rmat(1, num_nodes, 200_000),
        _core.SyntheticEdges.attachment(1, num_nodes, 200_000),
    ):
        degrees = np.bincount(law.edges(0, 200_000)[1], minlength=num_nodes)
        hubs = np.argsort(degrees)[::-1][:500]
        assert_uniform(hubs * 10 // num_nodes, range(10))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_rows_are_those_of_the_oracle(dtype, tmp_path):
    width, classes, signal = 131, 3, 0.9
    ds = gz.synthesize(
        tmp_path / "made", 50, 100, features=width, classes=classes, signal=signal, feature_dtype=dtype, seed=4
    )
    labels = ds.labels().get_tensor()
    assert ds.features("x").dtype == dtype
    rows = (
        ds.features("x").gather(np.arange(50), dtype="float32") if dtype != "float64" else ds.features("x").get_tensor()
    )
    tolerance = {"float16": 2**-9, "bfloat16": 2**-6, "float32": 1e-6, "float64": 1e-12}[dtype]
    strength = signal * np.sqrt(2 * np.log(classes) / width)
    for node in range(50):
        sums, signs = oracle.synthetic_row(node, int(labels[node]), seed=4, width=width)
        expected = (np.array(sums) - 510) / np.sqrt((2**16 - 1) / 3) + strength * np.array(signs)
        assert np.allclose(rows[node], expected, rtol=0, atol=4 * tolerance)


def test_noise_is_close_to_normal_and_independent(tmp_path):
    x = gz.synthesize(tmp_path / "made", 20_000, 1, features=4, signal=0, feature_dtype="float64").features("x")
    rows = x.get_tensor()
    assert abs(rows.mean()) < 0.02
    assert abs(rows.std() - 1) < 0.02
    assert abs(stats.kurtosis(rows.ravel()) + 0.3) < 0.05  # that of four uniform numbers
    bins = np.digitize(rows, [-0.7, 0, 0.7])
    for column in range(3):
        assert_independent(bins[:, column], bins[:, column + 1])
    assert_independent(bins[:-1, 0], bins[1:, 0])


def test_features_tell_half_and_neighbours_tell_markedly_more(tmp_path):
    classes = 16
    ds = gz.synthesize(tmp_path / "made", 10_000, 160_000, features=64, classes=classes, feature_dtype="float32")
    rows, labels = ds.features("x").get_tensor(), ds.labels().get_tensor()
    train, test = ds.split("train"), ds.split("test")
    centroids = np.stack([rows[train][labels[train] == number].mean(axis=0) for number in range(classes)])
    src, dst = input_edges(ds.graph)
    sums = np.zeros_like(rows)
    np.add.at(sums, dst, rows[src])
    alone, around = (accuracy(values[test], labels[test], centroids) for values in (rows, sums))
    both = accuracy(rows[test] + 0.6 * sums[test], labels[test], centroids)
    assert 0.4 < alone < 0.6
    assert around > alone + 0.2
    assert both > around + 0.03


def test_without_signal_or_homophily_there_is_nothing_to_learn(tmp_path):
    ds = gz.synthesize(
        tmp_path / "made", 4000, 40_000, features=32, classes=8, signal=0, homophily=0, feature_dtype="float32"
    )
    rows, labels = ds.features("x").get_tensor(), ds.labels().get_tensor()
    half = np.arange(4000) < 2000
    centroids = np.stack([rows[half & (labels == number)].mean(axis=0) for number in range(8)])
    assert accuracy(rows[~half], labels[~half], centroids) < 0.17


def test_splits_are_disjoint_exact_and_unrelated_to_class_and_id(tmp_path):
    ds = gz.synthesize(tmp_path / "made", 9_999, 1, features=0, classes=7, train=0.5, valid=1234, test=0.25)
    splits = {name: ds.split(name) for name in ("train", "valid", "test")}
    assert {name: len(ids) for name, ids in splits.items()} == {"train": 5000, "valid": 1234, "test": 2499}
    every = np.concatenate(list(splits.values()))
    assert len(set(every.tolist())) == len(every)
    assert all((np.diff(ids) > 0).all() for ids in splits.values())
    member = np.zeros(9_999, bool)
    member[splits["train"]] = True
    assert_independent(member, ds.labels().get_tensor())
    assert_independent(member, np.arange(9_999) // 1000)


@pytest.mark.parametrize("nodes", [1, 2, 3, 7, 100, 2001])
def test_shares_that_make_a_whole_leave_no_node_out(nodes):
    lots = make_recipe(None, {"nodes": nodes, "classes": 1}).split_ranges(nodes)
    assert [lot for name in ("train", "valid", "test") for lot in lots[name]] == list(range(nodes))


def test_undirected_graphs_hold_each_edge_both_ways(tmp_path):
    options = {"features": 0, "classes": 5, "seed": 3}
    one = gz.synthesize(tmp_path / "one", 300, 2000, **options).graph
    both = gz.synthesize(tmp_path / "both", 300, 2000, undirected=True, **options).graph
    assert not both.directed
    src, dst = input_edges(one)
    stored = Counter(zip(np.repeat(np.arange(300), np.diff(both.indptr)).tolist(), both.indices.tolist(), strict=True))
    assert stored == Counter(zip(src.tolist(), dst.tolist(), strict=True)) + Counter(
        zip(dst.tolist(), src.tolist(), strict=True)
    )


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("index", ["in", "out"])
def test_hot_rows_are_the_same_rows_hottest_first(kind, index, tmp_path):
    options = {"features": 6, "index": index, "edge_ids": False, **LAWS[kind]}
    plain = gz.synthesize(tmp_path / "plain", 2000, 40_000, **options)
    hot = gz.synthesize(tmp_path / "hot", 2000, 40_000, order="hot", **options)
    assert hot.features("x").reordered
    ids = np.arange(2000)
    assert np.array_equal(hot.features("x").gather(ids), plain.features("x").gather(ids))
    assert all(check.holds for check in gz.verify(tmp_path / "hot"))
    degrees = np.bincount(
        input_edges(gz.synthesize(tmp_path / "both", 2000, 40_000, **LAWS[kind]).graph)[0], minlength=2000
    )
    first = np.argsort(hot.features("x").row_map)[:200]
    # By expected degree, so nearly as hot as the hottest; without an order they would have a tenth of all.
    assert degrees[first].sum() > 0.95 * np.sort(degrees)[::-1][:200].sum() - 200


def test_times_rise_with_ids_and_an_edge_has_that_of_its_later_end(tmp_path):
    ds = gz.synthesize(tmp_path / "made", 500, 3000, features=2, temporal=True)
    times = ds.features("time").get_tensor()
    assert times.tolist() == list(range(500))
    index = ds.graph.index("out")
    src = np.repeat(np.arange(500), np.diff(index.indptr))
    assert np.array_equal(index.times, np.maximum(times[src], times[index.indices]))
    hood = gz.sample_neighbors(ds.graph, [400], [-1, -1], seed_time=[400], node_time=times, disjoint=True, seed=1)
    assert len(hood.node) > 1
    assert times[hood.node].max() <= 400


def test_a_heterogeneous_data_set_has_papers_authors_and_institutions(tmp_path):
    ds = gz.synthesize(
        tmp_path / "made", 4000, 32_000, hetero=True, temporal=True, features=8, classes=4, homophily=0.8
    )
    assert {name: kind.num_nodes for name, kind in ds.nodes.items()} == {
        "paper": 2000, "author": 1996, "institution": 4,
    }  # fmt: skip
    counts = {kind[1]: edge.graph.num_input_edges for kind, edge in ds.edges.items()}
    assert counts == {"cites": 24_000, "writes": 7000, "rev_writes": 7000, "affiliated": 1000, "rev_affiliated": 1000}
    assert all(check.holds for check in gz.verify(tmp_path / "made"))
    writes = input_edges(ds.edges["author", "writes", "paper"].graph)
    assert np.array_equal(writes[::-1], input_edges(ds.edges["paper", "rev_writes", "author"].graph))
    assert {name: kind.label for name, kind in ds.nodes.items()} == {"paper": "y", "author": None, "institution": None}
    labels = ds.labels("paper").get_tensor()
    src, dst = input_edges(ds.edges["paper", "cites", "paper"].graph)
    assert stats.binomtest(int((labels[src] == labels[dst]).sum()), 24_000, 0.8 + 0.2 / 4).pvalue > P
    author_class = place_of(1996, seed=0, kind=1) % 4
    within = int((author_class[writes[0]] == labels[writes[1]]).sum())
    assert stats.binomtest(within, 7000, 0.85).pvalue > P
    graphs = {kind: edge.graph for kind, edge in ds.edges.items()}
    times = {name: ds.features("time", of=name).get_tensor() for name in ds.nodes}
    assert all((np.diff(time) >= 0).all() and time[-1] < 2000 for time in times.values())
    graph = graphs["author", "writes", "paper"].index("in")
    paper = np.repeat(np.arange(2000), np.diff(graph.indptr))
    assert np.array_equal(graph.times, np.maximum(times["paper"][paper], times["author"][graph.indices]))
    hood = gz.sample_neighbors(
        graphs, {"paper": [1500]}, [-1, 3], seed_time={"paper": [1500]}, node_time=times, disjoint=True, seed=1
    )
    assert {name for name, ids in hood.node.items() if len(ids)} == {"paper", "author", "institution"}
    assert all(times[name][ids].max() <= 1500 for name, ids in hood.node.items() if len(ids))


def test_hot_rows_of_every_kind_of_node(tmp_path):
    options = {"hetero": True, "features": 4, "classes": 4}
    plain = gz.synthesize(tmp_path / "plain", 4000, 3200, **options)
    hot = gz.synthesize(tmp_path / "hot", 4000, 3200, order="hot", **options)
    assert all(check.holds for check in gz.verify(tmp_path / "hot"))
    for name, kind in plain.nodes.items():
        ids = np.arange(kind.num_nodes)
        assert hot.features("x", of=name).reordered
        assert np.array_equal(hot.features("x", of=name).gather(ids), plain.features("x", of=name).gather(ids))


def test_kinds_of_node_have_places_and_rows_of_their_own(tmp_path):
    ds = gz.synthesize(tmp_path / "made", 4000, 3200, hetero=True, features=8, classes=2)
    rows = [ds.features("x", of=name).get_tensor()[:4] for name in ds.nodes]
    assert not any(np.array_equal(rows[i], rows[j]) for i, j in ((0, 1), (0, 2), (1, 2)))


def test_features_may_be_left_out(tmp_path):
    ds = gz.synthesize(tmp_path / "made", 50, features=0)
    assert list(ds.nodes["node"].attributes) == ["y"]
    assert ds.graph.num_edges == 800


def test_metadata_says_how_to_draw_it_again(tmp_path):
    one = gz.synthesize(tmp_path / "one", preset="tiny", seed=5, order="hot")
    recipe = dict(one.metadata["synthetic"])
    gz.synthesize(tmp_path / "two", **recipe)
    files = bytes_of(tmp_path / "one"), bytes_of(tmp_path / "two")
    for found in files:
        del found["graphzero.json"]  # whose name of the data set is that of the preset
    assert files[0] == files[1]
    assert one.metadata["name"] == "tiny"


def test_presets_have_the_sizes_they_promise():
    assert {name: (r.nodes, r.edges, r.features, r.feature_dtype, r.classes) for name, r in PRESETS.items()} == {
        "tiny": (2_000, 20_000, 32, "float16", 8),
        "small": (100_000, 1_600_000, 64, "float16", 16),
        "products": (2_449_029, 61_859_140, 100, "float32", 47),
        "papers100m": (111_059_956, 1_615_685_872, 128, "float16", 172),
    }
    for name in PRESETS:
        assert make_recipe(name, {}) == PRESETS[name]
    assert PRESETS["products"].undirected
    papers = PRESETS["papers100m"]
    assert (papers.index, papers.edge_ids, papers.undirected) == ("in", False, False)
    assert [len(lots) for lots in papers.split_ranges(papers.nodes).values()] == [1_207_179, 125_265, 214_338]
    products = PRESETS["products"]
    assert sum(len(lots) for lots in products.split_ranges(products.nodes).values()) == products.nodes


def test_what_is_given_replaces_the_preset():
    recipe = make_recipe("products", {"nodes": 2_500_000, "undirected": False, "test": 0.1, "classes": None})
    assert (recipe.nodes, recipe.undirected, recipe.test, recipe.classes) == (2_500_000, False, 0.1, 47)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "nodes: expected a number of nodes, or preset= one of tiny, .*papers100m, found neither"),
        ({"preset": "huge"}, ValueError, "preset: expected one of tiny, small, products, papers100m, found 'huge'"),
        ({"nodes": 0}, ValueError, "nodes: expected 1 to 1099511627776, found 0"),
        ({"nodes": 2**41, "edges": 1}, ValueError, "nodes: expected 1 to 1099511627776, found 2199023255552"),
        ({"nodes": 2.5}, TypeError, "nodes: expected an integer, found 2.5"),
        ({"nodes": 10, "edges": 0}, ValueError, "edges: expected 1 to 281474976710656, found 0"),
        ({"nodes": 10, "kind": "er"}, ValueError, "kind: expected one of 'blocks', 'rmat', 'ba', found 'er'"),
        ({"nodes": 100, "features": -1}, ValueError, "features: expected 0 to 1048576, found -1"),
        ({"nodes": 100, "feature_dtype": "int8"}, ValueError, "feature_dtype: expected one of float16, .*, found int8"),
        ({"nodes": 100, "feature_dtype": "float12"}, TypeError, "dtype: expected one of .*, found float12"),
        ({"nodes": 100, "classes": 0}, ValueError, "classes: expected 1 to 1048576, found 0"),
        ({"nodes": 10, "classes": 11}, ValueError, "classes: expected at most 10, the number of nodes, found 11"),
        ({"nodes": 100, "homophily": 1.5}, ValueError, "homophily: expected a share from 0 to 1, found 1.5"),
        ({"nodes": 100, "homophily": "high"}, TypeError, "homophily: expected a number, found 'high'"),
        ({"nodes": 100, "skew": 9}, ValueError, "skew: expected 1 to 8, found 9"),
        ({"nodes": 100, "signal": -1}, ValueError, "signal: expected 0 to 100, found -1"),
        ({"nodes": 100, "signal": float("inf")}, ValueError, "signal: expected 0 to 100, found inf"),
        ({"nodes": 100, "kind": "ba", "skew": 2}, ValueError, "skew: expected kind='blocks' with it, found kind='ba'"),
        ({"nodes": 100, "kind": "rmat", "homophily": 0.5}, ValueError, "homophily: expected kind='blocks' with it"),
        ({"nodes": 100, "train": 1.2}, ValueError, "train: expected a share from 0.0 to 1.0, or a whole number"),
        ({"nodes": 100, "valid": 101}, ValueError, "valid: expected 0 to 100, found 101"),
        ({"nodes": 100, "test": "all"}, TypeError, "test: expected an integer, found 'all'"),
        ({"nodes": 100, "train": 0.9}, ValueError, "expected at most 100 nodes together, found 130: train=0.9, valid="),
        ({"preset": "products", "nodes": 300_000}, ValueError, "test: expected 0 to 300000, found 2213091"),
        ({"nodes": 100, "index": "up"}, ValueError, "index: expected one of 'both', 'out', 'in', found 'up'"),
        ({"nodes": 100, "order": "cold"}, ValueError, "order: expected one of 'id', 'hot', found 'cold'"),
        ({"nodes": 100, "edge_ids": False}, ValueError, "edge_ids=False: expected index='in' or index='out'"),
        ({"nodes": 100, "edge_ids": False, "index": "in", "undirected": True}, ValueError, "edge_ids=False: expected .* dire"),
        ({"nodes": 100, "hetero": True, "kind": "ba"}, ValueError, "hetero: expected kind='blocks' with it, found"),
        ({"nodes": 100, "hetero": True, "undirected": True}, ValueError, "hetero: expected undirected=False with it"),
        ({"nodes": 40, "hetero": True}, ValueError, "at least 16 of each kind.*20 papers, 4 authors, 16 institutions"),
        ({"nodes": 100, "edges": 31, "hetero": True}, ValueError, "edges: expected at least 32 with hetero=True"),
        ({"nodes": 100, "seed": 2**64}, ValueError, "seed: expected an integer of 64 bits"),
        ({"nodes": 100, "memory": "much"}, ValueError, "expected a size such as '2GB'"),
        ({"nodes": 100, "memory": 1}, ValueError, "memory: expected at least"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_refused_and_leaves_nothing(options, error, message, tmp_path):
    with pytest.raises(error, match=message):
        gz.synthesize(tmp_path / "made", **options)
    assert os.listdir(tmp_path) == []


def test_a_data_set_that_is_there_is_replaced_only_if_asked(tmp_path):
    path = tmp_path / "made"
    gz.synthesize(path, 50, 100, features=0)
    with pytest.raises(FileExistsError, match="give overwrite=True"):
        gz.synthesize(path, 60, 100, features=0)
    assert gz.synthesize(path, 60, 100, features=0, overwrite=True).num_nodes == 60


def test_the_core_refuses_laws_that_are_none():
    with pytest.raises(ValueError, match="expected 1 to 1099511627776 nodes, found 0"):
        _core.SyntheticEdges.rmat(1, 0, 5)
    with pytest.raises(ValueError, match="expected 1 to 1099511627776 nodes, found 1099511627777"):
        _core.SyntheticEdges.attachment(1, 2**40 + 1, 5)
    for classes in (0, 7):
        with pytest.raises(ValueError, match=f"expected 1 to 6 classes, one node each, found {classes}"):
            block_law(9, 6, 5, classes=classes)


def test_the_core_refuses_rows_it_cannot_make():
    nodes = _core.SyntheticNodes(1, _core.SynthNodes(100, 0), 4)
    values = np.zeros(2 * _core.NOISE_VALUES * 2, np.uint8)
    with pytest.raises(ValueError, match="expected 2042 values of 4 bytes for rows of at least 1 item, found 4084"):
        nodes.rows(0, 10, False, 8, 4, values)
    with pytest.raises(ValueError, match="expected items of 2, 4 or 8 bytes, found 1"):
        nodes.rows(0, 10, False, 8, 1, values[:2042])
    for ask in (nodes.labels, nodes.places32, nodes.places64):
        with pytest.raises(IndexError, match="expected nodes below 100, found 11 from 90 on"):
            ask(90, 11)
    with pytest.raises(IndexError, match="expected nodes below 100, found 2 from 99 on"):
        nodes.rows(99, 2, False, 8, 2, values)
    with pytest.raises(IndexError, match="expected nodes below 100, found 101 from 0 on"):
        nodes.with_lots(0, 101, 0, 5)


INTERRUPTED = """
import os, signal, sys, threading, time
import graphzero as gz
def wait_and_interrupt():
    while not any(name.endswith(sys.argv[2]) for _, _, names in os.walk(".") for name in names):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=wait_and_interrupt, daemon=True).start()
gz.synthesize(sys.argv[1], 3_000_000, 1_000_000, features=256, classes=4)
"""


def test_an_interrupted_run_leaves_no_folder(tmp_path):
    """The signal comes when the graph is written, so in the midst of the features."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "made", ".gl"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert "KeyboardInterrupt" in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_memory_does_not_grow_with_the_data_set(tmp_path):
    """What a run holds besides the converter's budget is blocks of rows, whatever their number."""
    script = (
        "import sys, graphzero as gz; from graphzero import _core\n"
        "gz.set_num_threads(1); gz.synthesize('warm', 1000, 1000, memory='64MB')\n"
        "before = _core.memory_facts().peak_rss\n"
        "ds = gz.synthesize(sys.argv[1], 1_500_000, 1_500_000, features=128, memory='64MB', order='hot', train=1.0, "
        "valid=0, test=0)\n"
        "print(_core.memory_facts().peak_rss - before, ds.nbytes)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script, "made"], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    grown, size = map(int, shown.stdout.split())
    assert size > 400e6
    assert grown < 200e6


def test_progress_names_what_is_being_made(tmp_path, capfd):
    gz.synthesize(tmp_path / "made", 1000, 5000, features=4, progress=True)
    shown = capfd.readouterr().err
    assert "5,000 edges" in shown
    assert "features of node" in shown
    assert "1,000 rows" in shown


def test_command_line_draws_a_data_set(capsys, tmp_path):
    assert run(["synth", "made", "--preset", "tiny", "--train", "0.5", "--valid", "100", "--temporal"]) == 0
    text = capsys.readouterr().out
    assert "2,000 nodes, label y of 8 classes" in text
    assert [line.split()[:4] for line in text.splitlines() if "split train" in line] == [
        ["split", "train", "1,000", "ids"]
    ]
    ds = gz.open("made")
    assert (ds.graph.has_times, len(ds.split("train")), len(ds.split("valid"))) == (True, 1000, 100)


def test_command_line_prints_json(capsys, tmp_path):
    arguments = ["--nodes", "4000", "--edges", "4000", "--classes", "4", "--features", "3", "--hetero", "--json"]
    assert run(["synth", "made", *arguments]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "dataset"
    assert [node["num_nodes"] for node in document["nodes"]] == [2000, 1996, 4]
    assert document["metadata"]["synthetic"]["hetero"] is True
    assert document["seconds"] > 0


def test_command_line_passes_every_option_on(capsys):
    arguments = (
        "--nodes 300 --edges 900 --kind blocks --features 5 --feature-dtype float32 --classes 3 --homophily 0.25 "
        "--skew 2 --signal 0.5 --train 0.5 --valid 0.25 --test 9 --temporal --index in --no-edge-ids --order hot "
        "--seed 8 --memory 64MB"
    )
    assert run(["synth", "made", *arguments.split(), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["metadata"]["synthetic"] == {
        "nodes": 300, "edges": 900, "kind": "blocks", "features": 5, "feature_dtype": "float32", "classes": 3,
        "homophily": 0.25, "skew": 2, "signal": 0.5, "train": 0.5, "valid": 0.25, "test": 9, "hetero": False,
        "temporal": True, "undirected": False, "index": "in", "edge_ids": False, "order": "hot", "seed": 8,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "graphzero: --nodes: expected a number of nodes, or --preset one of"),
        (["--preset", "huge"], "graphzero: --preset: expected one of tiny, small, products, papers100m, found 'huge'"),
        (
            ["--nodes", "100", "--train", "most"],
            "graphzero: --train: expected a share such as 0.6 or a number of nodes",
        ),
        (["--nodes", "100", "--memory", "1"], "graphzero: --memory: expected at least"),
    ],
)
def test_command_line_errors_are_one_line(arguments, message, capsys, tmp_path):
    assert run(["synth", "made", *arguments]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(message)
    assert shown.count("\n") == 1
    assert not os.path.exists("made")


def test_command_line_replaces_only_if_asked(capsys):
    assert run(["synth", "made", "--nodes", "50", "--features", "0"]) == 0
    assert run(["synth", "made", "--nodes", "50", "--features", "0"]) == 2
    assert "give --overwrite to replace it" in capsys.readouterr().err
    assert run(["synth", "made", "--nodes", "60", "--features", "0", "--overwrite"]) == 0
    assert gz.open("made").num_nodes == 60

"""Blocks hold the edges of each layer, and a model computes with them what it computes with the whole sample."""

import dataclasses

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import graphzero as gz
import oracle
from sample_cases import cases, seeds_of

WRITES, CITES, KNOWS = ("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "by", "author")
COUNTS = {"author": 6, "paper": 20}


def pairs(block):
    """The (source, destination, edge id) of each edge."""
    dst = np.repeat(np.arange(block.num_dst_nodes), np.diff(block.indptr))
    return list(zip(block.indices.tolist(), dst.tolist(), block.edge.tolist(), strict=True))


@given(cases(), st.integers(0, 3), st.booleans(), st.data())
def test_a_block_has_the_edges_of_its_hops_by_destination(case, num_hops, disjoint, data):
    seeds = seeds_of(data.draw, case)
    hood = gz.sample_neighbors(case.graph(), seeds, [-1] * num_hops, disjoint=disjoint)
    expected = oracle.blocks(hood.row, hood.col, hood.edge, hood.num_sampled_nodes, hood.num_sampled_edges)
    found = gz.blocks(hood)
    assert [(pairs(block), block.num_src_nodes, block.num_dst_nodes) for block in found] == expected
    for block in found:
        assert block.indptr.dtype == block.indices.dtype == block.edge.dtype == np.int64
        assert block.src_nodes.tolist() == hood.node[: block.num_src_nodes].tolist()
        assert block.dst_nodes.tolist() == hood.node[: block.num_dst_nodes].tolist()


def test_edges_of_a_hop_may_come_in_any_order(tiny):
    hood = gz.sample_neighbors(tiny, [2, 1, 0], [-1])
    order = [3, 0, 2, 1]
    shuffled = dataclasses.replace(hood, row=hood.row[order], col=hood.col[order], edge=hood.edge[order])
    (block,), (sorted_block,) = gz.blocks(shuffled), gz.blocks(hood)
    assert sorted(pairs(block)) == sorted(pairs(sorted_block))
    assert len(pairs(block)) == 4


def test_destinations_of_a_block_are_the_sources_of_the_next(tiny):
    first, last = gz.blocks(gz.sample_neighbors(tiny, [2, 1], [-1, -1]))
    assert first.src_nodes.tolist() == [2, 1, 0, 3]
    assert first.dst_nodes.tolist() == last.src_nodes.tolist() == [2, 1, 0]
    assert last.dst_nodes.tolist() == [2, 1]


@pytest.mark.parametrize("fanouts", [[0], [2, 0], [0, 3]])
def test_a_fanout_of_0_makes_a_block_without_edges_of_that_hop(tiny, fanouts):
    hood = gz.sample_neighbors(tiny, [2, 0], fanouts, seed=1)
    found = gz.blocks(hood)
    assert [len(block.indices) for block in found] == np.cumsum(hood.num_sampled_edges)[::-1].tolist()
    assert found[-1].dst_nodes.tolist() == [2, 0]


def test_no_seeds_make_empty_blocks(tiny):
    first, last = gz.blocks(gz.sample_neighbors(tiny, [], [2, 2]))
    for block in (first, last):
        assert (block.indptr.tolist(), len(block.indices), block.num_src_nodes, block.num_dst_nodes) == ([0], 0, 0, 0)


def test_no_hops_make_no_blocks(tiny):
    assert gz.blocks(gz.sample_neighbors(tiny, [1], [])) == []


def mean(values, src, dst, num_dst):
    """The mean of what each destination receives, plus its own."""
    sums = np.zeros((num_dst, values.shape[1]))
    np.add.at(sums, dst, values[src])
    return sums / np.maximum(np.bincount(dst, minlength=num_dst), 1)[:, None]


def through_block(block, values):
    dst = np.repeat(np.arange(block.num_dst_nodes), np.diff(block.indptr))
    return mean(values, block.indices, dst, block.num_dst_nodes)


@pytest.fixture
def graph(tmp_path):
    rng = np.random.default_rng(3)
    gz.write_graph(tmp_path / "g.gl", *rng.integers(0, 60, (2, 300)), num_nodes=60)
    return gz.Graph(tmp_path / "g.gl")


@pytest.mark.parametrize("options", [{}, {"replace": True}, {"disjoint": True}, {"method": "labor"}])
def test_means_through_blocks_are_those_of_the_whole_sample(graph, options):
    hood = gz.sample_neighbors(graph, [5, 9, 40], [4, 3, 2], seed=1, **options)
    x = np.random.default_rng(0).standard_normal((len(hood.node), 5))
    whole, rows = x, x
    for block in gz.blocks(hood):
        whole = whole + mean(whole, hood.row, hood.col, len(whole))
        assert len(rows) == block.num_src_nodes
        rows = rows[: block.num_dst_nodes] + through_block(block, rows)
    assert rows.shape == (3, 5)
    np.testing.assert_allclose(rows, whole[:3])


@pytest.fixture
def graphs(tmp_path):
    rng = np.random.default_rng(4)
    result = {}
    for number, (triple, count) in enumerate({WRITES: 40, CITES: 70, KNOWS: 30}.items()):
        ends = [rng.integers(0, COUNTS[name], count) for name in (triple[0], triple[2])]
        num_nodes = COUNTS["paper"] if triple is CITES else (COUNTS[triple[0]], COUNTS[triple[2]])
        gz.write_graph(tmp_path / f"{number}.gl", *ends, num_nodes=num_nodes)
        result[triple] = gz.Graph(tmp_path / f"{number}.gl")
    return result


def test_means_through_blocks_of_several_types_are_those_of_the_whole_sample(graphs):
    hood = gz.sample_neighbors(
        graphs, {"paper": [3, 7]}, {WRITES: [3, 2, 2], CITES: [2, 2, 1], KNOWS: [2, 0, 3]}, seed=2
    )
    rng = np.random.default_rng(0)
    rows = {name: rng.standard_normal((len(ids), 4)) for name, ids in hood.node.items()}
    whole = dict(rows)
    layers = gz.blocks(hood)
    assert len(layers) == 3
    for layer in layers:
        assert {name: len(values) for name, values in rows.items()} == layer.num_src_nodes
        after = {name: values.copy() for name, values in whole.items()}
        kept = {name: rows[name][:count].copy() for name, count in layer.num_dst_nodes.items()}
        for triple, block in layer.relations.items():
            assert (block.num_src_nodes, block.num_dst_nodes) == (
                layer.num_src_nodes[triple[0]],
                layer.num_dst_nodes[triple[2]],
            )
            after[triple[2]] += mean(whole[triple[0]], hood.row[triple], hood.col[triple], len(whole[triple[2]]))
            kept[triple[2]] += through_block(block, rows[triple[0]])
        whole, rows = after, kept
    assert (len(rows["paper"]), len(rows["author"])) == (2, 0)
    np.testing.assert_allclose(rows["paper"], whole["paper"][:2])


def test_trimming_by_pyg_leaves_the_edges_of_the_blocks(graph):
    torch = pytest.importorskip("torch")
    from data_sets import pyg

    pyg()
    from torch_geometric.utils import trim_to_layer

    hood = gz.sample_neighbors(graph, [5, 9, 40], [4, 3, 2], seed=1)
    x, edge_index, edge = torch.from_numpy(hood.node), torch.from_numpy(hood.edge_index), torch.from_numpy(hood.edge)
    for layer, block in enumerate(gz.blocks(hood)):
        x, edge_index, edge = trim_to_layer(
            layer, hood.num_sampled_nodes, hood.num_sampled_edges, x, edge_index, edge_attr=edge
        )
        assert x.tolist() == block.src_nodes.tolist()
        assert sorted(zip(*edge_index.tolist(), edge.tolist(), strict=True)) == sorted(pairs(block))


def test_the_sample_of_a_batch_makes_blocks(tiny):
    with gz.Pipeline(tiny, [2, 0], [-1], batch_size=2) as pipeline:
        (block,) = gz.blocks(next(iter(pipeline)).sample)
    assert block.src_nodes[block.indices].tolist() == [0, 1, 3]
    assert repr(block) == "Block(4 → 2 nodes, 3 edges)"


def test_the_layers_of_several_types_say_what_they_are(graphs):
    (layer,) = gz.blocks(gz.sample_neighbors(graphs, {"author": [1]}, {WRITES: [2], CITES: [2], KNOWS: [0]}))
    assert repr(layer) == "HeteroBlock(author 1 → 1, paper 0 → 0; 0 edges)"


@pytest.mark.parametrize("kind", ["induced", "bidirectional"])
def test_edges_that_are_not_grouped_by_hop_are_refused(tiny, kind):
    with pytest.raises(
        ValueError, match="sample: expected one whose edges are grouped by hop.*subgraph_type='directional'"
    ):
        gz.blocks(gz.sample_neighbors(tiny, [2], [-1], subgraph_type=kind))


def test_edges_that_lead_away_from_the_seeds_are_refused(tiny, graphs):
    expected = (
        r"sample: expected edges of hop 0 to lead .* places 0 to 0, found col\[0\] = 1; sample with direction='in'"
    )
    with pytest.raises(ValueError, match=expected):
        gz.blocks(gz.sample_neighbors(tiny, [0], [-1], direction="out"))
    with pytest.raises(ValueError, match="sample: expected edges of hop 0 to lead .* direction='in'"):
        gz.blocks(gz.sample_neighbors(graphs, {"author": [1]}, [-1], direction="out"))


def test_what_is_no_sample_is_refused(tiny):
    with pytest.raises(TypeError, match="sample: expected what sample_neighbors returns, found list$"):
        gz.blocks([0])
    with gz.Pipeline(tiny, [2], [-1]) as pipeline:
        batch = next(iter(pipeline))
    with pytest.raises(TypeError, match=r"found Batch; a batch has one as its \.sample"):
        gz.blocks(batch)

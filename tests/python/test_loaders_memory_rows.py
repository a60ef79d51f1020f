"""Attributes that are in no file: tensors with rows and values without, assigned to a data set after mounting."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from data_sets import pyg
from graphzero.loaders import LinkNeighborLoader, NeighborLoader, TorchBatch
from loader_cases import (
    AUTHOR,
    CITES,
    COUNTS,
    NUM_EDGES,
    NUM_NODES,
    PAPER,
    values,
    write_heterogeneous,
    write_homogeneous,
)
from pipeline_cases import assert_same
from sample_cases import EDGE, NODE

pyg()


@pytest.fixture
def data(tmp_path):
    return write_homogeneous(tmp_path)


@pytest.fixture
def hetero(tmp_path):
    return write_heterogeneous(tmp_path)


def assign(dataset, of, *, without=(), **changes):
    """What a data set does when a user assigns or deletes attributes."""
    kinds = dict(dataset.edges if isinstance(of, tuple) else dataset.nodes)
    attributes = {name: store for name, store in kinds[of].attributes.items() if name not in without}
    kinds[of] = replace(kinds[of], attributes=attributes, **changes)
    if isinstance(of, tuple):
        dataset.edges = kinds
    else:
        dataset.nodes = kinds


def loader_of(data, **options):
    return NeighborLoader(data.dataset, [3, 2], data.train, batch_size=30, seed=3, **options)


SCORE = torch.arange(NUM_NODES) * 10
FLOW = torch.arange(NUM_EDGES).float() / 8


@pytest.mark.parametrize("form", ["pyg", "torch"])
def test_rows_in_memory_come_with_a_batch(data, form):
    assign(data.dataset, NODE, in_memory={"score": SCORE})
    assign(data.dataset, EDGE, in_memory={"flow": FLOW})
    for batch in loader_of(data, form=form):
        assert torch.equal(batch.score, SCORE[batch.n_id])
        assert torch.equal(batch.flow, FLOW[batch.e_id])
        assert_same(batch.x.numpy(), data.nodes["x"][batch.n_id])


def test_rows_of_several_types(hetero):
    score, flow = np.arange(COUNTS[AUTHOR] * 2).reshape(-1, 2), torch.rand(900)
    assign(hetero.dataset, AUTHOR, in_memory={"score": score}, other={"kind": "person", "mean": torch.ones(2)})
    assign(hetero.dataset, CITES, in_memory={"flow": flow}, other={"kind": "citation"})
    hetero.dataset.other = {"source": "made"}
    loader = NeighborLoader(hetero.dataset, [3, 2], (PAPER, hetero.train), batch_size=30)
    for batch in loader:
        assert torch.equal(batch[AUTHOR].score, torch.from_numpy(score)[batch[AUTHOR].n_id])
        assert torch.equal(batch[CITES].flow, flow[batch[CITES].e_id])
        assert (batch[AUTHOR].kind, batch[CITES].kind, batch.source) == ("person", "citation", "made")
        assert batch[AUTHOR].mean.tolist() == [1, 1]
        assert "score" not in batch[PAPER]
    (plain,) = NeighborLoader(hetero.dataset, [3], (PAPER, [1]), form="torch")
    assert isinstance(plain, TorchBatch)
    assert plain.source == "made"
    assert plain.kind_dict == {AUTHOR: "person", CITES: "citation"}


def test_what_is_in_memory_replaces_what_is_in_a_file(data):
    assign(data.dataset, NODE, in_memory={"x": SCORE.float()})
    for batch in loader_of(data):
        assert torch.equal(batch.x, SCORE[batch.n_id].float())
    assert set(loader_of(data).stats()["sources"]) == {"y", "time", "edge_attr"}


def test_times_in_a_file_do_not_count_once_there_are_others_in_memory(data):
    assign(data.dataset, NODE, in_memory={"time": SCORE})
    for batch in loader_of(data, time_attr="time"):
        seeds = batch.n_id[: batch.batch_size]
        assert bool((SCORE[batch.n_id] <= SCORE[seeds][batch.batch]).all())
        assert len(batch.n_id) > batch.batch_size


def test_values_without_rows_come_as_they_are(data):
    matrix = torch.eye(3)
    assign(data.dataset, NODE, other={"matrix": matrix, "names": ["a", "b"]})
    data.dataset.other = {"year": 2020}
    for batch in loader_of(data):
        assert batch.matrix is matrix
        assert batch.names == ["a", "b"]
        assert batch.year == 2020


def test_names_choose_among_all_of_them(data):
    assign(data.dataset, NODE, in_memory={"score": SCORE, "extra": SCORE}, other={"matrix": torch.eye(3), "more": 1})
    assign(data.dataset, EDGE, in_memory={"flow": FLOW}, other={"even": True})
    data.dataset.other = {"year": 2020, "month": 5}
    chosen = {"features": ["y", "score", "matrix", "year"], "edge_features": ["flow"]}
    batch = next(iter(loader_of(data, **chosen)))
    assert {"y", "score", "matrix", "year", "flow"} <= set(batch.keys())
    assert not {"x", "time", "extra", "more", "month", "edge_attr", "even"} & set(batch.keys())
    with pytest.raises(KeyError, match=r"features: no attribute 'flow'; there are \['extra', 'matrix', 'month'"):
        loader_of(data, features=["flow"])


def test_labels_in_memory_are_those_of_the_seeds(data):
    assign(data.dataset, NODE, in_memory={"y": SCORE})
    for batch in loader_of(data, labels="seeds"):
        assert torch.equal(batch.y, SCORE[batch.n_id[: batch.batch_size]])
    for batch in loader_of(data, labels="seeds", features=["x"]):
        assert torch.equal(batch.y, SCORE[batch.n_id[: batch.batch_size]])
    assert len(next(iter(loader_of(data))).y) > 30


def test_rows_become_the_dtype_that_is_asked_for(data):
    assign(data.dataset, NODE, in_memory={"half": SCORE.half(), "score": SCORE})
    batch = next(iter(loader_of(data)))
    assert (batch.half.dtype, batch.score.dtype) == (torch.float16, torch.int64)
    batch = next(iter(loader_of(data, dtype="bfloat16")))
    assert (batch.half.dtype, batch.score.dtype, batch.x.dtype) == (torch.bfloat16, torch.int64, torch.bfloat16)
    batch = next(iter(loader_of(data, dtype={"score": torch.float32, "x": "float16"})))
    assert (batch.half.dtype, batch.score.dtype, batch.x.dtype) == (torch.float16, torch.float32, torch.float16)
    with pytest.raises(KeyError, match="dtype: no attribute 'z'"):
        loader_of(data, dtype={"z": "float16"})


def test_a_transformed_sample_has_rows_of_its_own(data):
    def fewer(out):
        keep = out.node.clone()
        keep[-1] = 0
        out.node = keep
        return out

    assign(data.dataset, NODE, in_memory={"score": SCORE})
    for batch in loader_of(data, transform_sampler_output=fewer):
        assert batch.n_id[-1] == 0
        assert torch.equal(batch.score, SCORE[batch.n_id])


def test_the_next_iteration_has_what_was_assigned_since(data):
    expected = loader_of(data, shuffle=True)
    list(expected)
    second, third = ([values(batch) for batch in expected] for _ in range(2))
    loader = loader_of(data, shuffle=True)
    list(loader)
    assign(data.dataset, NODE, without=["x"], in_memory={"score": SCORE})
    for batch, whole in zip(loader, second, strict=True):
        assert "x" not in batch
        assert torch.equal(batch.score, SCORE[batch.n_id])
        assert_same(batch.n_id.numpy(), whole["n_id"])
        break
    assign(data.dataset, NODE, in_memory={})
    found = [values(batch) for batch in loader]
    assert [batch["n_id"].tolist() for batch in found] == [batch["n_id"].tolist() for batch in third]
    assert "score" not in found[0]
    assert loader.epoch == 3


def test_a_place_is_kept_when_attributes_change(data):
    expected = [values(batch) for batch in loader_of(data)]
    loader = loader_of(data)
    loader.load_state_dict({"seed": 3, "epoch": 0, "batch": 1, "batches": 3})
    assign(data.dataset, NODE, without=["x"])
    found = [values(batch) for batch in loader]
    assert [batch["n_id"].tolist() for batch in found] == [batch["n_id"].tolist() for batch in expected[1:]]
    assert "x" not in found[0]


def test_an_iteration_goes_on_with_what_it_began_with(data):
    loader = loader_of(data)
    iteration = iter(loader)
    next(iteration)
    assign(data.dataset, NODE, without=["x"], in_memory={"score": SCORE})
    assert all("x" not in batch and "score" in batch for batch in loader)
    assert all("x" in batch and "score" not in batch for batch in iteration)


def test_links_have_rows_in_memory(data):
    assign(data.dataset, NODE, in_memory={"score": SCORE})
    loader = LinkNeighborLoader(data.dataset, [2], (data.train, data.train), batch_size=40, neg_sampling="binary")
    for batch in loader:
        assert torch.equal(batch.score, SCORE[batch.n_id])


def test_a_data_set_says_where_batches_go(data):
    data.dataset.device = "meta"
    batch = next(iter(loader_of(data)))
    assert (batch.x.device.type, batch.edge_index.device.type) == ("meta", "meta")
    assert next(iter(loader_of(data, device="cpu"))).x.device.type == "cpu"
    loader = loader_of(data)
    data.dataset.device = None
    assert next(iter(loader)).x.device.type == "cpu"


def test_attributes_of_nodes_and_edges_have_different_names(data):
    assign(data.dataset, NODE, in_memory={"edge_attr": SCORE})
    with pytest.raises(
        ValueError, match="expected different names, as a batch has one of each, found 'edge_attr' twice"
    ):
        loader_of(data)


def test_a_loader_is_pickled_with_the_data_it_has(data):
    loader = pickle.loads(pickle.dumps(loader_of(data, features=["x"], edge_features=[])))
    batch = next(iter(loader))
    assert "x" in batch
    assert "edge_attr" not in batch

"""The benchmark gives no value to a wrong answer: contestants run here, and what they leave is changed."""

import dataclasses
import importlib
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import graphzero as gz
from graphzero.bench import contest, contestants, plan
from graphzero.bench.contest import Contest
from graphzero.bench.contestants import Answer
from graphzero.bench.data import Data
from graphzero.bench.document import make_document, prepare
from graphzero.bench.figures import Figure, compare
from graphzero.bench.pythons import Pythons
from graphzero.bench.rivals import walkers
from graphzero.bench.training import wrong_losses
from graphzero.bench.walk_laws import wrong_second_steps
from graphzero.bench.walks import wrong_walks

# For parts that know no caps: less than the smallest budget would do.
SMALLER = dataclasses.replace(
    plan.QUICK, nodes=2000, edges=10_000, features=16, sampled_batches=2, sampled_seeds=64, starts=500,
    gathered_rows=2000, converted_edges=5000, seconds=0.05, patience=60.0, batch_size=8,
)  # fmt: skip


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A contest on little data whose contestants run here."""
    made = Contest(SMALLER, Data(str(tmp_path / "data"), str(tmp_path), SMALLER), Pythons.look(None, None), 1)

    def ask_here(command, **_):
        assert command[1] == "-m"
        name = command[2] if command[2].startswith("graphzero") else f"graphzero.bench.{command[2]}"
        return Answer(importlib.import_module(name).measure(json.loads(command[3])))

    monkeypatch.setattr(contestants, "ask", ask_here)
    yield made
    gz.set_num_threads(0)


def changed(monkeypatch, change):
    """Let ``change`` edit the arrays that a contestant leaves."""
    measure = contest.wrong_in

    def of(figure):
        with np.load(figure.given["result"]) as file:
            arrays = dict(file)
        change(arrays)
        np.savez(figure.given["result"], **arrays)
        return measure(figure)

    monkeypatch.setattr(contest, "wrong_in", of)


def figure_of(small, part, what, task=""):
    module = importlib.import_module(f"graphzero.bench.{part}")
    module.prepare(small)
    return next(one for one in module.figures(small) if one.what == what and one.task.startswith(task))


def other_node(arrays):
    arrays["node"][-1] = arrays["node"][0]


def other_edges(arrays):
    arrays["row"] = arrays["row"][::-1].copy()


def fewer_edges(arrays):
    for name in ("row", "col", "edge"):
        arrays[name] = arrays[name][:-1]
    arrays["num_sampled_edges"][-1] -= 1


def other_step(arrays):
    arrays["walks"][:, 3] = arrays["walks"][::-1, 3]


def other_row(arrays):
    arrays["rows"][-1, -1] += 1


def other_neighbour(arrays):
    arrays["drawn"][:, 0] = arrays["drawn"][::-1, 0]


def missing_edge(arrays):
    arrays["indices"][0] += 1


def other_features(arrays):
    arrays["x"][-1] += 1


WRONG = [
    ("sampling", "graphzero", "three", other_node, "each once"),
    ("sampling", "graphzero", "three", other_edges, "an edge that is none"),
    ("sampling", "graphzero", "three", fewer_edges, "does not have 5 edges per node"),
    ("sampling", "graphzero", "one", other_neighbour, "a neighbour that is none"),
    ("walks", "graphzero", "uniform", other_step, "a step that is no edge"),
    ("gather", "graphzero", "from memory", other_row, "rows of other nodes"),
    ("gather", "np.memmap", "from the device", other_row, "rows of other nodes"),
    ("conversion", "NumPy", "", missing_edge, "other edges than the text has"),
]


@pytest.mark.parametrize(("part", "what", "task", "change", "message"), WRONG)
def test_a_wrong_answer_gets_no_value(small, monkeypatch, part, what, task, change, message):
    figure = figure_of(small, part, what, task)
    assert small.measure(figure)["value"] > 0  # it is right if nobody meddles
    changed(monkeypatch, change)
    row = small.measure(figure)
    assert (row["value"], row["runs"]) == (None, [])
    assert row["note"].startswith("wrong: ")
    assert message in row["note"]


def walker_of(small, **law):
    """A rival that walks by this law, whatever it is asked for."""

    def walker(asked, folder, starts, threads):
        return lambda: gz.random_walk(gz.Graph(small.data.graph), starts, walkers.LENGTH, seed=3, **law)

    return walker


@pytest.mark.parametrize(("law", "right"), [("uniform", {}), ("node2vec", {"p": walkers.P, "q": walkers.Q})])
def test_a_rival_that_walks_by_another_law_gets_no_value(small, monkeypatch, law, right):
    monkeypatch.setattr(Pythons, "of", lambda self, rival: sys.executable)
    figure = figure_of(small, "walks", "torch-cluster", law)
    monkeypatch.setitem(walkers.WALKERS, "torch-cluster", walker_of(small, **right))
    assert small.measure(figure)["value"] > 0
    monkeypatch.setitem(walkers.WALKERS, "torch-cluster", walker_of(small, q=1 if law == "node2vec" else 2))
    row = small.measure(figure)
    assert row["value"] is None
    assert row["note"].startswith("wrong: of 9,")
    assert "go back, expected" in row["note"]


LAWS = [{"p": 1.0, "q": 0.5}, {"p": 0.25, "q": 4.0}, {"p": 4.0, "q": 0.25}, {"p": 1.0, "q": 1.0}]


@pytest.mark.parametrize("law", LAWS)
def test_second_steps_are_right_by_their_own_law_only(tmp_path, law):
    edges = np.random.default_rng(1).integers(0, 300, (2, 6000))  # one way: the edge back is seldom there
    gz.write_graph(tmp_path / "one_way.gl", *edges)
    with gz.Graph(tmp_path / "one_way.gl") as graph:
        starts = np.tile(np.arange(300), 4)
        for seed in range(3):
            walks = gz.random_walk(graph, starts, 20, seed=seed, **law)
            assert wrong_second_steps(graph, walks, **law) is None
            for other in LAWS:
                assert (wrong_second_steps(graph, walks, **other) is None) == (law == other)
            # Whether near means an edge from the node before or to it cannot be seen where both count alike.
            assert (wrong_second_steps(graph, walks, **law, backwards=True) is None) == (law["q"] == 1)


def test_steps_behind_a_dead_end_and_short_walks_say_nothing_about_the_law(tmp_path):
    gz.write_graph(tmp_path / "line.gl", np.array([0, 1]), np.array([1, 2]))
    with gz.Graph(tmp_path / "line.gl") as graph:
        starts = np.array([0, 1, 2])
        assert wrong_second_steps(graph, gz.random_walk(graph, starts, 5, seed=1), 1.0, 0.5) is None
        assert wrong_second_steps(graph, gz.random_walk(graph, starts, 1, seed=1), 1.0, 0.5) is None
        padded = np.array([[0, 1, 2, -1], [1, 2, -1, -1], [2, -1, -1, -1]])
        assert wrong_walks(graph, starts, walkers.standing_still(padded), 3) is None


def as_tensor(array):
    import torch

    return torch.from_numpy(array)


class GraphBolt:
    """What the sampler of GraphBolt uses of dgl 2.1.0: only a graph with original edge ids gives any."""

    ORIGINAL_EDGE_ID = "_ORIGINAL_EDGE_ID"

    def fused_csc_sampling_graph(self, csc_indptr, indices, edge_attributes=None):
        self.indptr, self.indices, self.attributes = csc_indptr, indices, edge_attributes or {}
        return self

    def sample_neighbors(self, nodes, fanouts):
        assert nodes.dtype == self.indices.dtype
        fanout = int(fanouts[0])
        lists = [self.indptr[v : v + 2].tolist() for v in nodes.tolist()]
        places = [np.arange(first, min(last, first + fanout)) for first, last in lists]
        drawn, counts = np.concatenate(places), [len(of) for of in places]
        csc = SimpleNamespace(indptr=as_tensor(np.cumsum([0, *counts])), indices=self.indices[drawn])
        ids = self.attributes.get(self.ORIGINAL_EDGE_ID)
        return SimpleNamespace(sampled_csc=csc, original_edge_ids=None if ids is None else ids[drawn])

    def unique_and_compact_csc_formats(self, csc, nodes):
        known = dict.fromkeys([*nodes.tolist(), *csc.indices.tolist()])
        place = {node: i for i, node in enumerate(known)}
        local = as_tensor(np.array([place[node] for node in csc.indices.tolist()], np.int64))
        compact = SimpleNamespace(indptr=csc.indptr, indices=local)
        return as_tensor(np.array(list(known))).to(nodes.dtype), compact


def test_graphbolt_gives_the_edge_ids_of_its_sample(small, monkeypatch):
    pytest.importorskip("torch")
    bolt = GraphBolt()
    monkeypatch.setitem(sys.modules, "dgl", SimpleNamespace(graphbolt=bolt))
    monkeypatch.setattr(Pythons, "of", lambda self, rival: sys.executable)
    row = small.measure(figure_of(small, "sampling", "GraphBolt"))
    assert row["value"] > 0, row["note"]
    assert str(bolt.indices.dtype) == "torch.int32"


def test_a_wrong_batch_gets_no_value(small, monkeypatch):
    figure = figure_of(small, "batches", "graphzero", "in RAM")
    figure = dataclasses.replace(figure, given={**figure.given, "memory": "200MB"})
    assert small.measure(figure)["value"] > 0
    changed(monkeypatch, other_features)
    assert small.measure(figure)["note"] == "wrong: rows of other nodes"


def test_a_conversion_that_lost_an_edge_gets_no_value(small, monkeypatch):
    figure = figure_of(small, "conversion", "graphzero")
    pairs = np.load(small.data.scratch_file("edges.npy"))
    np.save(small.data.scratch_file("edges.npy"), np.append(pairs, 0))
    assert small.measure(figure)["note"] == f"wrong: {len(pairs):,} edges, expected {len(pairs) + 1:,}"


@pytest.mark.parametrize(("part", "task"), [("walks", ""), ("sampling", "three"), ("conversion", ""), ("gather", "")])
def test_an_answer_that_left_nothing_gets_no_value(small, monkeypatch, part, task):
    monkeypatch.setattr(contestants, "ask", lambda command, **_: Answer({"runs": [1e9]}))
    row = small.measure(figure_of(small, part, "graphzero", task))
    assert row["value"] is None
    assert row["note"].startswith("wrong: the answer cannot be checked: ")


def test_a_training_whose_loss_does_not_go_down_is_wrong():
    assert wrong_losses(np.array([3.0, 2.9, 2.5, 2.0])) is None
    assert wrong_losses(np.array([2.0, 2.5, 2.9, 3.0])) == "the loss does not go down: 2.250 at first, 2.950 at last"
    assert wrong_losses(np.array([2.0, np.nan])) == "the loss is not a number"


def test_what_is_under_way_is_told_with_its_part(small):
    told = []
    small.tell = lambda text, seconds: told.append((text, seconds > 0))
    small.part = "gather"
    small.measure(figure_of(small, "gather", "np.memmap", "from memory"))
    assert told == [("gather: np.memmap, from memory", True)]


def test_rivals_are_not_run_under_a_cap_that_nothing_enforces(small, monkeypatch):
    small.groups = "no groups here"
    monkeypatch.setattr(Pythons, "of", lambda self, rival: sys.executable)
    figure = figure_of(small, "batches", "PyG NeighborLoader, np.memmap")
    assert small.measure(figure)["note"] == "not run, for nothing would limit it: no groups here"


def test_parts_that_the_data_has_nothing_for_are_told(tmp_path):
    gz.synthesize(tmp_path / "plain", 500, 2000, features=0, index="in").close()
    data = Data(str(tmp_path / "plain"), str(tmp_path), SMALLER)
    bare = Contest(SMALLER, data, Pythons.look(None, None), 1)
    prepare(bare, ["walks", "gather", "training"])
    document = make_document(bare, ["walks", "gather", "training"], "graphzero bench")
    assert [part["rows"] for part in document["parts"]] == [[], [], []]
    assert document["notes"] == [
        "walks: the graph has no out index, which walks follow",
        "gather: the data set has no features x",
        "training: the data set has no features x",
    ]


def test_only_rivals_at_the_same_task_are_compared_with():
    def row(task, ours, value):
        return {"task": task, "ours": ours, "value": value, "x_best_rival": None}

    rows = [
        row("a", True, 6.0),
        row("a", False, 2.0),
        row("a", False, None),
        row("b", False, 1.0),
        row("b", True, None),
    ]
    compare(rows)
    assert [one["x_best_rival"] for one in rows] == [3.0, None, None, None, None]


def test_a_figure_that_is_left_out_says_why(small):
    figure = Figure(
        "a task", "np.memmap", "gathers", {}, lambda arrays: None, "", "rows/s", 1, left_out="too slow here"
    )
    assert small.measure(figure)["note"] == "too slow here"

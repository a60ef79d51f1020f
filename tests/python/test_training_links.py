"""Link prediction from disk: exact measures, edges that are held out of what a model sees, and going on."""

import itertools

import numpy as np
import pytest

import graphzero as gz
from data_sets import pyg

torch = pytest.importorskip("torch")
pyg()

from graphzero.train import link_task  # noqa: E402
from graphzero.train.link_measures import auc, link_measures, ranks  # noqa: E402  (after the warnings of PyG's import)
from graphzero.train.link_run import LinkRun  # noqa: E402
from graphzero.train.link_task import find_link_task  # noqa: E402
from graphzero.train.settings import Settings  # noqa: E402

RATES, BY = ("user", "rates", "movie"), ("movie", "rev_rates", "user")
SMALL = Settings(
    task="links", hidden=8, fanouts=(4, 4), batch_size=128, memory="128MB", epochs=2, learning_rate=0.01, dropout=0.0
)


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    """Edges join nodes of one class, which shows in the features."""
    folder = tmp_path_factory.mktemp("links") / "blocks"
    return gz.synthesize(folder, 300, 3000, features=8, classes=4, homophily=0.95, signal=2.0)


def written(folder="movies", *, reverse=True, splits=None):
    rng = np.random.default_rng(0)
    user, movie = np.unique(rng.integers(0, [20, 12], (150, 2)), axis=0).T
    with gz.DatasetWriter(folder) as writer:
        writer.add_nodes({"x": np.eye(20, dtype=np.float32)}, type="user")
        writer.add_nodes({"x": np.eye(12, dtype=np.float32)}, type="movie")
        writer.add_edges(user, movie, type=RATES)
        if reverse:
            writer.add_edges(movie, user, type=BY)
        for name, ids in (splits or {}).items():
            writer.add_split(name, ids, of=RATES)
    return gz.open(folder)


def with_settings(**changed):
    return Settings(**{**SMALL.__dict__, **changed})


def pairs_of(graph):
    out = graph.index("out")
    return list(zip(np.repeat(np.arange(graph.num_src_nodes), np.diff(out.indptr)), out.indices, strict=True))


def trained(task, settings=SMALL):
    run = LinkRun(task, settings)
    for _ in run.steps():
        pass
    run.close()
    return run


def slow_auc(positive, negative):
    return np.mean([(a > b) + (a == b) / 2 for a in positive for b in np.ravel(negative)])


def slow_ranks(positive, negative):
    return [
        1 + sum(b > a for b in row) + sum(b == a for b in row) / 2 for a, row in zip(positive, negative, strict=True)
    ]


@pytest.mark.parametrize("levels", [2, 5, 1000])
@pytest.mark.parametrize(("edges", "negatives"), [(1, 1), (7, 3), (40, 20)])
def test_measures_are_those_of_their_definitions(levels, edges, negatives):
    rng = np.random.default_rng(levels + edges)
    positive = rng.integers(0, levels, edges).astype(np.float32)  # few levels: many are equal
    negative = rng.integers(0, levels, (edges, negatives)).astype(np.float32)
    expected = np.array(slow_ranks(positive, negative))
    assert auc(positive, negative) == pytest.approx(slow_auc(positive, negative), abs=1e-12)
    assert ranks(positive, negative).tolist() == expected.tolist()
    found = link_measures(positive, negative)
    assert found.mrr == pytest.approx((1 / expected).mean(), abs=1e-12)
    assert found.hits == (expected <= 10).mean()


def test_measures_of_scores_that_say_all_or_nothing():
    best = link_measures(np.array([2.0, 3.0]), np.array([[0.0, 1.0], [0.5, 1.0]]))
    assert (best.auc, best.mrr, best.hits) == (1.0, 1.0, 1.0)
    same = link_measures(np.zeros(2), np.zeros((2, 20)))
    assert (same.auc, same.mrr, same.hits) == (0.5, 1 / 11, 0.0)


def test_pairs_are_looked_up_in_parts(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(link_task, "_AT_ONCE", 7)
    pairs, hidden = rng.integers(0, 9, (2, 100)), rng.integers(0, 9, (2, 12))
    wanted = set(map(tuple, hidden.T))
    one_way, two_ways = (link_task._among(pairs, hidden, both).tolist() for both in (False, True))
    assert one_way == [(a, b) in wanted for a, b in pairs.T]
    assert two_ways == [(a, b) in wanted or (b, a) in wanted for a, b in pairs.T]
    assert not link_task._among(pairs, hidden[:, :0], True).any()


def test_share_of_the_edges_is_held_out_of_all_that_trains(blocks):
    task = find_link_task(blocks, SMALL)
    hidden = {tuple(pair) for name in ("valid", "test") for pair in task.links[name].T}
    assert (task.splits["valid"], task.splits["test"]) == (150, 150)
    shown = set(pairs_of(task.messages.graph))
    assert not any((a, b) in shown or (b, a) in shown for a, b in hidden)
    train = {tuple(pair) for pair in task.links["train"].T}
    assert not any((a, b) in train or (b, a) in train for a, b in hidden)
    there = set(pairs_of(blocks.graph))
    gone = {pair for pair in there if pair in hidden or pair[::-1] in hidden}
    assert shown == train == there - gone
    for name in ("valid", "test"):
        assert task.negatives[name].shape == (150, 20)
        src = np.repeat(task.links[name][0], 20)
        assert not blocks.graph.has_edges(src, task.negatives[name].reshape(-1)).any()


def test_seed_decides_what_is_held_out(blocks):
    one, same, other = (find_link_task(blocks, with_settings(seed=seed)) for seed in (3, 3, 4))
    assert (one.links["test"] == same.links["test"]).all()
    assert (one.negatives["test"] == same.negatives["test"]).all()
    assert not np.array_equal(one.links["test"], other.links["test"])


def test_undirected_edges_are_held_out_both_ways(tmp_path):
    data = gz.synthesize(tmp_path / "ds", 100, 400, features=4, classes=2, undirected=True)
    task = find_link_task(data, SMALL)
    shown = set(pairs_of(task.messages.graph))
    hidden = {tuple(pair) for name in ("valid", "test") for pair in task.links[name].T}
    assert shown == {pair for pair in pairs_of(data.graph) if pair not in hidden and pair[::-1] not in hidden}
    assert all(pair[::-1] in shown for pair in shown)


def test_edges_of_splits_are_taken_and_hidden_with_their_reverses():
    count = written("count").edges[RATES].graph.num_edges
    splits = {"train": np.arange(count - 20), "valid": np.arange(count - 20, count - 10), "test": [count - 1]}
    data = written(splits=splits)
    task = find_link_task(data, SMALL)
    assert (task.edge_type, task.target) == (RATES, "user,rates,movie")
    assert task.splits == {"train": count - 20, "valid": 10, "test": 1}
    hidden = {tuple(pair) for name in ("valid", "test") for pair in task.links[name].T}
    assert set(pairs_of(task.messages.edges[RATES].graph)) == set(pairs_of(data.edges[RATES].graph)) - hidden
    back = {(b, a) for a, b in hidden}
    assert set(pairs_of(task.messages.edges[BY].graph)) == set(pairs_of(data.edges[BY].graph)) - back


def test_model_learns_which_nodes_are_joined(blocks):
    run = trained(find_link_task(blocks, SMALL), with_settings(epochs=4, learning_rate=0.02))
    assert run.history[-1].valid_auc > 0.7
    assert run.best["valid_auc"] == max(done.valid_auc for done in run.history)


def test_scores_are_those_that_the_measures_are_of(blocks):
    task = find_link_task(blocks, SMALL)
    run, seen = LinkRun(task, SMALL), []
    score = run._go_through
    run._go_through = lambda split, see: score(split, lambda *both: (see(*both), seen.append(both)))
    for _ in run.evaluate("valid"):
        pass
    run.close()
    scores, labels = (torch.cat(parts).numpy() for parts in zip(*seen, strict=True))
    assert labels.reshape(-1, 21).tolist() == [[1] + [0] * 20] * 150
    rows = scores.reshape(-1, 21)
    found = run.measured["valid"]
    assert found["auc"] == pytest.approx(slow_auc(rows[:, 0], rows[:, 1:]), abs=1e-9)
    assert found["mrr"] == pytest.approx(np.mean(1 / np.array(slow_ranks(rows[:, 0], rows[:, 1:]))), abs=1e-9)
    assert found["accuracy"] == ((scores > 0) == labels).mean()


@pytest.mark.parametrize("types", ["blocks", "movies"])
def test_a_run_goes_on_to_the_same_weights(types, blocks):
    data = blocks if types == "blocks" else written()
    task = find_link_task(data, SMALL, None if types == "blocks" else "user,rates,movie")
    settings = with_settings(batch_size=16, epochs=2, dropout=0.2)
    whole = trained(task, settings)
    run = LinkRun(task, settings)
    for _ in itertools.islice(run.steps(), 3):
        pass
    state = run.state_dict()
    rest = LinkRun(find_link_task(data, SMALL, ",".join(task.edge_type)), settings)
    rest.load_state_dict(state)
    run.close()
    for _ in rest.steps():
        pass
    rest.close()
    assert [done.valid_auc for done in rest.history] == [done.valid_auc for done in whole.history]
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(weight, rest.model.state_dict()[name])


@pytest.mark.parametrize(
    ("changed", "edge_type", "message"),
    [
        ({}, None, "edge_type: expected one of user,rates,movie; movie,rev_rates,user, found none; say which edges to"),
        (
            {},
            "user,hates,movie",
            "edge_type: expected one of user,rates,movie; movie,rev_rates,user, found 'user,hates",
        ),
        (
            {"held_out": 0.01},
            "user,rates,movie",
            "held_out: expected a share that leaves 2 or more of the \\d+ edges of user → rates → movie to measure, "
            "found 0.01",
        ),
    ],
)
def test_wrong_edges_are_told(changed, edge_type, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        find_link_task(written(), with_settings(**changed), edge_type)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"task": "graphs"}, "task: expected one of nodes, links, found 'graphs'"),
        ({"held_out": 1.0}, "held_out: expected a share above 0 and below 1, found 1"),
        ({"held_out": "much"}, "held_out: expected a number, found much"),
        ({"negatives": 0}, "negatives: expected 1 or more, found 0"),
        ({"rank_negatives": 0}, "rank_negatives: expected 1 or more, found 0"),
    ],
)
def test_wrong_setting_is_named(changed, message):
    with pytest.raises(ValueError) as error:
        with_settings(**changed)
    assert str(error.value) == message


def test_nothing_left_to_train_on_is_told():
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes({"x": np.eye(4, dtype=np.float32)})
        writer.add_edges([0, 1, 0], [1, 0, 1])
        writer.add_split("train", [1], of=("node", "to", "node"))
        writer.add_split("valid", [0], of=("node", "to", "node"))
    with pytest.raises(ValueError) as error:
        find_link_task(gz.open("ds"), SMALL)
    assert str(error.value) == "ds: expected edges of node → to → node to train on, found none but held-out ones"


def test_without_a_split_valid_the_last_epoch_is_best():
    data = written(splits={"train": np.arange(60)})
    run = trained(find_link_task(data, SMALL))
    assert (run.best["epoch"], run.best["valid_auc"]) == (1, None)
    assert [done.valid_text for done in run.history] == [None, None]

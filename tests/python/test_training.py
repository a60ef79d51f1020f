"""Training from disk: what it learns, what it holds, and that it goes on where it stopped, to the last bit."""

import copy
import itertools
import os
import re
from types import SimpleNamespace

import numpy as np
import pytest

import graphzero as gz
from data_sets import pyg

torch = pytest.importorskip("torch")
pyg()

from torch.nn.functional import cross_entropy  # noqa: E402  (after the warnings of PyG's import)

from graphzero.train import checkpoints, saved_states  # noqa: E402
from graphzero.train.models import make_model  # noqa: E402
from graphzero.train.run import EpochResult, Run, Step  # noqa: E402
from graphzero.train.settings import Settings  # noqa: E402
from graphzero.train.task import find_task  # noqa: E402
from graphzero.train.watch import Watch  # noqa: E402

SMALL = Settings(hidden=16, fanouts=(5, 5), batch_size=128, memory="128MB", epochs=2, learning_rate=0.01, heads=2)
WRITES, CITES, BY = ("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "by", "author")


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    """Labels show in the features, and better with the structure."""
    folder = tmp_path_factory.mktemp("training") / "blocks"
    return gz.synthesize(folder, 2000, 30_000, features=16, classes=4, homophily=0.8, signal=0.5, skew=2)


@pytest.fixture(scope="module")
def mag(tmp_path_factory):
    """Papers, authors, institutions; authors lose their features, and nobody's type has the name of a module."""
    folder = tmp_path_factory.mktemp("training") / "mag"
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 600)
    home = rng.integers(0, 3, 200)  # authors write about one topic
    author = np.concatenate([rng.choice(np.flatnonzero(home == one), 3) for one in label])
    paper = np.repeat(np.arange(600), 3)
    with gz.DatasetWriter(folder) as writer:
        x = (rng.standard_normal((600, 4)) + 0.4 * label[:, None]).astype(np.float32)
        writer.add_nodes({"x": x, "y": label}, type="paper", label="y", num_classes=3)
        writer.add_nodes({"topic": np.eye(3)[home].astype(np.float32)}, type="keys.author")
        writer.add_nodes(type="forward", num_nodes=5)
        writer.add_edges(author, paper, type=("keys.author", "writes", "paper"))
        writer.add_edges(paper, author, type=("paper", "by", "keys.author"))
        writer.add_edges(rng.integers(0, 600, 500), rng.integers(0, 600, 500), type=CITES)
        writer.add_edges(rng.integers(0, 5, 300), rng.integers(0, 200, 300), type=("forward", "of", "keys.author"))
        order = rng.permutation(600)
        for name, ids in (("train", order[:300]), ("valid", order[300:400]), ("test", order[400:])):
            writer.add_split(name, ids, of="paper")
    return gz.open(folder)


def with_settings(**changed):
    return Settings(**{**SMALL.__dict__, **changed})


def trained(data, settings=SMALL, target=None):
    """Train to the end; the run is closed, its weights stay."""
    run = Run(find_task(data, target), settings)
    for _ in run.steps():
        pass
    run.close()
    return run


def measured(run, split):
    steps = run.evaluate(split)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def same(one, other):
    """Compare to the last bit."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    return one == other


def timeless(run):
    """The state without what clocks say."""
    state = copy.deepcopy(run.state_dict())
    for part in (state["sums"], *state["history"]):
        part.pop("seconds")
    return state


def written(name="ds", *, x=None, y=None, label="y", splits=None, num_classes=None, attributes=None, **edges):
    """Write a ring of 8 nodes with what a test wants to be different."""
    x = np.arange(16, dtype=np.float32).reshape(8, 2) if x is None else x
    y = np.arange(8) % 2 if y is None else y
    nodes = {"x": x, "y": y} if attributes is None else attributes
    with gz.DatasetWriter(name) as writer:
        writer.add_nodes(nodes, label=label, num_classes=num_classes)
        writer.add_edges(np.arange(8), (np.arange(8) + 1) % 8, **edges)
        for split, ids in (
            {"train": [0, 1, 2, 3], "valid": [4, 5], "test": [6, 7]} if splits is None else splits
        ).items():
            writer.add_split(split, np.array(ids, dtype=np.int64))
    return gz.open(name)


RING = Settings(hidden=4, fanouts=(2,), batch_size=2, memory="128MB", epochs=2, heads=2)


def features_alone(data):
    """The accuracy of a linear model that sees no edges."""
    torch.manual_seed(0)
    x, y = torch.from_numpy(data.features().gather(np.arange(data.num_nodes), dtype="float32")), data.labels()
    y = torch.from_numpy(y.gather(np.arange(data.num_nodes)))
    model = torch.nn.Linear(x.shape[1], 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    train, test = (torch.from_numpy(data.split(name).copy()) for name in ("train", "test"))
    for _ in range(200):
        optimizer.zero_grad()
        cross_entropy(model(x[train]), y[train]).backward()
        optimizer.step()
    return float((model(x[test]).argmax(1) == y[test]).float().mean())


@pytest.mark.parametrize("model", ["sage", "gcn", "gat"])
def test_model_learns_more_than_the_features_tell(model, blocks):
    run = trained(blocks, with_settings(model=model, epochs=6, dropout=0.2))
    run.use_best()
    assert measured(run, "test") > features_alone(blocks) + 0.05 > 0.35


@pytest.mark.parametrize("model", ["sage", "gat"])
def test_several_types_are_learned_from_with_types_without_features(model, mag):
    settings = with_settings(model=model, epochs=8, batch_size=64)
    run = trained(mag, settings)
    run.use_best()
    assert measured(run, "test") > 0.85  # the topics of its authors tell that of a paper, its own row hardly does


def test_gcn_refuses_several_types(mag):
    with pytest.raises(
        ValueError, match=r"^model: gcn is for one type of nodes and edges, and .*mag has several; take"
    ):
        Run(find_task(mag), with_settings(model="gcn"))


@pytest.mark.parametrize("model", ["sage", "gat"])
@pytest.mark.parametrize("types", ["blocks", "mag"])
def test_layers_that_leave_out_the_outer_hops_score_the_same(model, types, request):
    data = request.getfixturevalue(types)
    run = Run(find_task(data), with_settings(model=model, fanouts=(4, 3, 2)))
    batch = next(iter(run.loader))
    run.model.eval()
    with torch.no_grad():
        trimmed = run.model(batch)
        run.model.trims = False
        whole = run.model(batch)
    run.close()
    torch.testing.assert_close(trimmed, whole, rtol=1e-4, atol=1e-5)
    assert trimmed.std() > 0


def test_gcn_would_not(blocks):
    run = Run(find_task(blocks), with_settings(model="gcn"))
    batch = next(iter(run.loader))
    run.model.eval()
    with torch.no_grad():
        whole = run.model(batch)
        run.model.trims = True
        assert not torch.allclose(run.model(batch), whole, rtol=1e-3)
    run.close()


@pytest.mark.parametrize("types", ["blocks", "mag"])
def test_a_run_goes_on_from_any_step_to_the_same_weights(types, request):
    data = request.getfixturevalue(types)
    settings = with_settings(model="gat" if types == "mag" else "sage", batch_size=150)
    run = Run(find_task(data), settings)
    states, kinds = [copy.deepcopy(run.state_dict())], ["begin"]
    for event in run.steps():
        states.append(copy.deepcopy(run.state_dict()))
        kinds.append(event.split if isinstance(event, Step) else "epoch")
    run.close()
    assert {"begin", "train", "valid", "epoch"} == set(kinds)
    firsts = [next(kind)[0] for _, kind in itertools.groupby(enumerate(kinds), lambda pair: pair[1])]
    lasts = [first - 1 for first in firsts[1:]]
    for place in sorted({*firsts, *lasts, len(states) - 1}):
        torch.manual_seed(999)  # a process of its own
        rest = Run(find_task(data), settings)
        rest.load_state_dict(copy.deepcopy(states[place]))
        events = list(rest.steps())
        rest.close()
        assert same(timeless(rest), timeless(run)), (place, kinds[place])
        left = kinds[place + 1 :]
        again = itertools.takewhile(lambda kind: kind == "valid", reversed(kinds[: place + 1]))  # is measured anew
        assert len(events) == len(left) + sum(1 for _ in again)


def test_steps_say_where_they_are(blocks):
    run = Run(find_task(blocks), SMALL)
    events = list(run.steps())
    run.close()
    train = [event for event in events if isinstance(event, Step) and event.split == "train"]
    valid = [event for event in events if isinstance(event, Step) and event.split == "valid"]
    epochs = [event for event in events if isinstance(event, EpochResult)]
    assert run.num_batches == {"train": 10, "valid": 13, "test": 13}  # 1200 by 128; 400 by a fourth of that
    assert [(step.epoch, step.batch, step.num_batches) for step in train] == [
        (epoch, batch, 10) for epoch in range(2) for batch in range(1, 11)
    ]
    assert [step.batch for step in valid] == [*range(1, 14)] * 2
    assert [done.epoch for done in epochs] == [0, 1]
    assert epochs[0].loss == train[9].loss
    assert epochs[0].train_accuracy == train[9].accuracy
    assert epochs[1].valid_accuracy == valid[-1].accuracy
    assert run.history == epochs


def test_each_epoch_takes_the_split_in_another_order(blocks):
    run = Run(find_task(blocks), SMALL)
    orders = [torch.cat([batch.n_id[: batch.batch_size] for batch in run.loader]).tolist() for _ in range(2)]
    run.close()
    train = blocks.split("train").tolist()
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(train)
    assert orders[0] != orders[1]
    assert orders[0] != train


def test_threads_reader_and_memory_change_nothing(blocks):
    weights = [
        trained(blocks, with_settings(epochs=1, threads=threads, reader=reader, memory=memory)).model.state_dict()
        for threads, reader, memory in ((1, "mmap", "128MB"), (3, "pread", "80MB"))
    ]
    assert same(*weights)


def test_seed_changes_the_weights(blocks):
    weights = [trained(blocks, with_settings(epochs=1, seed=seed)).model.state_dict() for seed in (0, 1, 2**64 - 1)]
    assert not same(weights[0], weights[1])
    assert not same(weights[1], weights[2])


def test_loaders_together_stay_within_the_memory(blocks):
    run = Run(find_task(blocks), with_settings(memory="100MB", reader="pread"))
    most = seen = 0
    for event in run.steps():
        budgets = [loader.stats()["memory"] for loader in run.loaders]
        assert sum(one["budget"] for one in budgets) <= 100_000_000
        most = max(most, sum(size for one in budgets for purpose, size in one.items() if purpose != "budget"))
        if isinstance(event, Step) and event.split == "valid":
            seen = max(seen, len(budgets))
    assert seen == 2
    assert 0 < most <= 100_000_000
    assert len(run.loaders) == 1
    run.close()


def test_all_memory_is_for_training_if_nothing_is_measured():
    run = Run(find_task(written(splits={"train": [0, 1]})), RING)
    assert run.loader.stats()["memory"]["budget"] == 128_000_000
    run.close()


def test_too_little_memory_is_told_before_the_first_batch_with_the_number_to_give(blocks):
    message = (
        r"memory: expected at least (\d+) MB, found 4.0 MB, of which split train gets 2.0 MB and needs (\d+) MB; "
        "give more, or use smaller batches, smaller fanouts or fewer attributes"
    )
    with pytest.raises(ValueError, match=f"^{message}$") as told:
        Run(find_task(blocks), with_settings(memory="4MB"))
    give, needed = map(int, re.match(message, str(told.value)).groups())
    assert 4 < needed <= give
    Run(find_task(blocks), with_settings(memory=f"{give}MB")).close()
    with pytest.raises(ValueError, match=f"expected at least {give} MB"):
        Run(find_task(blocks), with_settings(memory=f"{give - 1}MB"))


def test_too_little_memory_to_measure_is_told_before_the_first_batch(blocks, monkeypatch):
    monkeypatch.setattr("graphzero.train.run._LEAST_TO_EVALUATE", 1_000_000)
    monkeypatch.setattr("graphzero.train.run._TO_EVALUATE", 0.01)
    with pytest.raises(ValueError, match="found 64.0 MB, of which split valid gets 1.0 MB and needs"):
        Run(find_task(blocks), with_settings(memory="64MB"))


def test_watch_sees_memory_and_rates(blocks):
    run = Run(find_task(blocks), with_settings(memory="100MB", reader="pread"))
    watch = Watch(run)
    assert watch.measure().batches_rate == 0
    for event in run.steps():
        watch.batches += isinstance(event, Step)
        snapshot = watch.measure()
    run.close()
    assert snapshot.budget == 100_000_000
    assert 0 < snapshot.anonymous <= watch.peak_anonymous
    assert 0 < watch.peak_held <= 100_000_000
    assert snapshot.data == blocks.nbytes
    assert snapshot.page_cache is None or 0 <= snapshot.page_cache <= blocks.nbytes
    assert snapshot.hit_rate == 1
    assert snapshot.device_bytes >= blocks.features().num_rows * 32  # what stays was read once
    assert snapshot.batches_rate > 0
    assert 0 <= snapshot.waited <= 1


def test_rates_are_those_of_the_last_seconds(blocks, monkeypatch):
    counted = {"memory": {"budget": 9, "cache": 5, "batches": 2}, "hit_rate": 0.5, "fill_bytes": 0}
    now = {"clock": 0.0, "device_bytes": 0, "seconds_waited": 0.0}
    loader = SimpleNamespace(stats=lambda: {**counted, **now})
    run = SimpleNamespace(task=SimpleNamespace(data=blocks), loaders=[loader], memory=9)
    monkeypatch.setattr("graphzero.train.watch.time.perf_counter", lambda: now["clock"])
    watch = Watch(run, page_cache=False)
    snapshots = []
    for second in range(11):  # from the fifth on, twice as fast
        now["clock"] = float(second)
        watch.batches += 3 if second < 5 else 6
        now["device_bytes"] += 100 if second < 5 else 200
        now["seconds_waited"] += 0.25 if second < 5 else 0.5
        snapshots.append(watch.measure())
    assert [
        (snapshot.batches_rate, snapshot.device_rate, snapshot.waited) for snapshot in (snapshots[4], snapshots[10])
    ] == [
        (3, 100, 0.25),
        (6, 200, 0.5),
    ]
    now |= {"clock": 11.0, "device_bytes": 0, "seconds_waited": 0.0}  # a loader is gone
    assert (watch.measure().device_rate, watch.measure().waited) == (0, 0)
    assert watch.peak_held == 7


def test_page_cache_is_looked_at_now_and_then(blocks, monkeypatch):
    run, looks = Run(find_task(blocks), SMALL), []
    store = blocks.features()
    monkeypatch.setattr(type(store), "resident_bytes", lambda self: looks.append(self) or 1)
    watch = Watch(run)
    for _ in range(5):
        watch.measure()
    files = sum(isinstance(one, type(store)) for one in blocks.stores())
    assert len(looks) == files
    for _ in range(2):
        Watch(run, page_cache=False).measure()
    assert len(looks) == files
    run.close()


def test_best_epoch_is_the_first_with_the_best_valid_accuracy(blocks, monkeypatch):
    run, found = Run(find_task(blocks), with_settings(epochs=4)), iter([0.25, 0.5, 0.5, 0.125])
    weights = []

    def evaluate(split):
        weights.append(copy.deepcopy(run.model.state_dict()))
        return next(found)
        yield

    monkeypatch.setattr(run, "evaluate", evaluate)
    for _ in run.steps():
        pass
    run.close()
    assert (run.best["epoch"], run.best["valid_accuracy"]) == (1, 0.5)
    run.use_best()
    assert same(run.model.state_dict(), weights[1])
    assert not same(weights[1], weights[3])


@pytest.mark.parametrize("splits", [{"train": [0, 1, 2]}, {"train": [0, 1, 2], "valid": []}])
def test_without_a_split_valid_the_last_epoch_is_best(splits):
    run = trained(written(splits=splits), RING)
    assert [done.valid_accuracy for done in run.history] == [None, None]
    assert (run.best["epoch"], run.best["valid_accuracy"]) == (1, None)
    assert same(run.best["model"], run.model.state_dict())


def test_a_loss_that_is_no_number_ends_the_run():
    x = np.ones((8, 2), dtype=np.float32)
    x[3] = np.nan
    run = Run(find_task(written(x=x)), RING)
    message = (
        r"loss: expected a number, found nan in batch \d of epoch 1; lower the learning rate, or look for features"
    )
    with pytest.raises(ValueError, match=message):
        list(run.steps())
    run.close()


@pytest.mark.parametrize(
    "x",
    [
        np.ones((8, 3), dtype=np.float16),
        np.ones((8, 3), dtype=np.float64),
        np.ones((8, 3), dtype=np.int64),
        np.ones((8, 3), dtype=np.uint8),
        np.ones((8, 3), dtype=bool),
        np.ones((8, 2, 3), dtype=np.float32),
        np.ones(8, dtype=np.float32),
    ],
    ids=lambda x: f"{x.dtype}{x.shape}",
)
def test_features_of_any_kind_come_as_rows_of_float32(x):
    task = find_task(written(x=x))
    assert task.features == {"node": ("x", x[0].size)}
    run = trained(task.data, RING)
    assert all(np.isfinite(done.loss) for done in run.history)


def test_features_may_have_another_name():
    data = written(
        attributes={"feat": np.ones((8, 2, 2), dtype=np.float32), "year": np.arange(8), "y": np.arange(8) % 2}
    )
    assert find_task(data).features == {"node": ("feat", 4)}
    trained(data, RING)


def test_only_the_features_are_read():
    attributes = {"x": np.ones((8, 2)), "large": np.ones((8, 50)), "y": np.arange(8) % 2}
    run = Run(find_task(written(attributes=attributes)), RING)
    assert list(run.loader.stats()["sources"]) == ["x"]
    run.close()


def test_only_the_features_of_each_type_are_read():
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes({"x": np.ones((4, 2)), "feat": np.ones((4, 50)), "y": [0, 1, 0, 1]}, type="paper", label="y")
        writer.add_nodes({"feat": np.ones((4, 3))}, type="author")
        writer.add_edges([0], [0], type=WRITES, attributes={"w": [1.0]})
        writer.add_split("train", [0, 1], of="paper")
    run = Run(find_task(gz.open("ds")), RING)
    assert set(run.loader.stats()["sources"]) == {("paper", "x"), ("author", "feat")}
    run.close()


@pytest.mark.parametrize(
    "y",
    [
        np.array([0, 1, 2, 0, 1, 2, 0, 1], dtype=np.uint8),
        np.array([0, 1, 2, 0, 1, 2, 0, 1], dtype=np.float32),
        np.array([[0], [1], [2], [0], [1], [2], [0], [1]]),
        np.array([[0], [1], [2], [0], [np.nan], [np.nan], [0], [1]], dtype=np.float32),
    ],
    ids=["uint8", "float32", "column", "without labels outside the splits"],
)
@pytest.mark.parametrize("num_classes", [None, 5])
def test_labels_of_any_kind(y, num_classes):
    data = written(y=y, splits={"train": [0, 1, 2, 3], "valid": [], "test": [6, 7]}, num_classes=num_classes)
    task = find_task(data)
    assert task.num_classes == (num_classes or 3)
    assert task.splits == {"train": 4, "test": 2}
    run = Run(task, RING)
    batch = next(iter(run.loader))
    expected = y.reshape(-1)[batch.n_id[: batch.batch_size].numpy()]
    assert run._labels(batch).tolist() == expected.tolist()
    run.close()
    trained(data, RING)


def test_classes_are_counted_in_all_splits():
    y = np.array([0, 1, 0, 1, 0, 0, 6, 9])
    assert find_task(written(y=y, splits={"train": [0, 1], "test": [6]})).num_classes == 7


@pytest.mark.parametrize(
    ("y", "num_classes", "bound", "found"),
    [
        ([0, 1, 2, 0, 1, 3, 0, 1], 3, 2, "3 for node 5 of split valid"),
        ([0, -1, 2, 0, 1, 2, 0, 1], 3, 2, "-1 for node 1 of split train"),
        ([0, -1, 2, 0, 1, 2, 0, 1], None, 1048575, "-1 for node 1 of split train"),
        ([0, 1, 2, 0, 1, 2, 0, np.nan], 3, 2, "nan for node 7 of split test"),
        ([0, 1, 2, 0, 1, 2, 0.5, 1], None, 1048575, "0.5 for node 6 of split test"),
        ([0, 1, 2, 0, 1, 2, 0, np.inf], None, 1048575, "inf for node 7 of split test"),
        ([0, 1, 2, 0, 1, 2, 0, 1 << 20], None, 1048575, "1.04858e+06 for node 7 of split test"),
    ],
)
def test_wrong_label_is_told_before_anything_is_trained(y, num_classes, bound, found, monkeypatch):
    # A writer refuses some of these labels, but a manifest may claim any number of classes.
    monkeypatch.setattr("graphzero.convert.dataset_draft.DatasetDraft.check_classes", lambda *_: None)
    data = written(y=np.array(y), num_classes=num_classes)
    with pytest.raises(ValueError) as error:
        find_task(data)
    assert str(error.value) == (
        f"{data.labels().path}: expected classes from 0 to {bound}, found {found}; leave nodes without a class out of "
        "the splits"
    )


def test_labels_are_looked_at_in_parts(monkeypatch):
    monkeypatch.setattr("graphzero.train.task._READ_AT_ONCE", 3)
    y = np.array([0, 1, 0, 1, 4, 0, 0, 0])
    data = written(y=y, splits={"train": [0, 1, 2, 3, 4]})
    assert find_task(data).num_classes == 5
    data = written("other", y=np.where(np.arange(8) == 3, -1, y), splits={"train": [0, 1, 2, 3, 4]})
    with pytest.raises(ValueError, match="found -1 for node 3 of split train"):
        find_task(data)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"label": None}, "ds: nodes have no labels; DatasetWriter.add_nodes(…, label='y') says what they are"),
        (
            {"splits": {}},
            "ds: expected a split 'train' of node, found no splits; DatasetWriter.add_split('train', ids) writes one",
        ),
        (
            {"splits": {"test": [1], "dev": [2]}},
            "ds: expected a split 'train' of node, found dev, test; DatasetWriter.add_split('train', ids) writes one",
        ),
        (
            {"splits": {"train": [], "test": [1]}},
            "ds: expected a split 'train' of node, found an empty one; DatasetWriter.add_split('train', ids) writes one",
        ),
        (
            {"attributes": {"y": np.arange(8)}},
            "ds: has no features to learn from; DatasetWriter.add_nodes({'x': …}) writes some",
        ),
        (
            {"attributes": {"y": np.arange(8), "a": np.ones((8, 2)), "b": np.ones((8, 2))}},
            "ds: nodes of type 'node' have several attributes that could be their features, a, b; name one of them x",
        ),
        (
            {"y": np.zeros((8, 2), dtype=np.int64)},
            "ds/nodes/node/y.gd: expected one class per node, found rows of (2,); training is for one label",
        ),
        (
            {"y": torch.zeros(8, dtype=torch.bfloat16)},
            "ds/nodes/node/y.gd: expected classes as integers, found bfloat16; write them as int64",
        ),
        (
            {"index": "out"},
            "ds/edges/node__to__node/graph.gl: has no 'in' index, which training needs to find the nodes that send a node "
            "messages; write or convert the graph with index='both'",
        ),
    ],
)
def test_data_set_that_lacks_something_is_told_so(changed, message):
    data = written(**changed)
    with pytest.raises(ValueError) as error:
        find_task(data)
    assert str(error.value) == message


def test_data_set_without_edges_is_told_so():
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes({"x": np.ones((2, 2)), "y": [0, 1]}, label="y")
    with pytest.raises(
        ValueError, match="ds: has no edges, only nodes; there is nothing for a graph model to learn from"
    ):
        find_task(gz.open("ds"))


@pytest.mark.parametrize("edges", [{"directed": False}, {"index": "in"}])
def test_undirected_and_in_only_graphs_are_trained_on(edges):
    run = trained(written(**edges), RING)
    assert len(run.history) == 2


def test_target_says_whose_labels():
    with gz.DatasetWriter("ds") as writer:
        for kind, classes in (("paper", 2), ("author", 4)):
            attributes = {"x": np.ones((8, 2)), "y": np.arange(8) % classes}
            writer.add_nodes(attributes, type=kind, label="y", num_classes=classes)
            writer.add_split("train", np.arange(8), of=kind)
        writer.add_nodes(type="venue", num_nodes=2)
        writer.add_edges(np.arange(8), np.arange(8), type=WRITES)
        writer.add_edges([0], [0], type=BY)
    data = gz.open("ds")
    with pytest.raises(
        ValueError, match="^ds: several node types have labels; set the target to one of paper, author$"
    ):
        find_task(data)
    with pytest.raises(ValueError, match="^target: expected one of paper, author, venue, found 'editor'$"):
        find_task(data, "editor")
    with pytest.raises(
        ValueError, match=r"^ds: nodes of type 'venue' have no labels; DatasetWriter.add_nodes\(…, label"
    ):
        find_task(data, "venue")
    task = find_task(data, "author")
    assert (task.target, task.num_classes) == ("author", 4)
    run = trained(data, RING, "author")
    assert run.model(next(iter(Run(task, RING).loader))).shape == (2, 4)


def test_types_without_sampled_nodes_do_no_harm():
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes({"x": np.ones((4, 2)), "y": [0, 1, 0, 1]}, type="paper", label="y")
        writer.add_nodes({"x": np.ones((4, 3))}, type="author")
        writer.add_edges([0], [0], type=BY)  # no paper hears of an author
        writer.add_edges([0], [1], type=CITES)
        writer.add_split("train", [0, 1, 2, 3], of="paper")
    for model in ("sage", "gat"):
        trained(gz.open("ds"), Settings(**{**RING.__dict__, "model": model}))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model": "mlp"}, "model: expected one of sage, gcn, gat, found 'mlp'"),
        ({"fanouts": ()}, "fanouts: expected a number per hop such as 15,10, found none"),
        ({"fanouts": (5, 0)}, "fanouts: expected -1 for all neighbours, or 1 or more, found 0"),
        ({"fanouts": (-2,)}, "fanouts: expected -1 for all neighbours, or 1 or more, found -2"),
        ({"hidden": 0}, "hidden: expected 1 or more, found 0"),
        ({"heads": 0}, "heads: expected 1 or more, found 0"),
        ({"epochs": 0}, "epochs: expected 1 or more, found 0"),
        ({"batch_size": -1}, "batch_size: expected 1 or more, found -1"),
        ({"dropout": 1.0}, "dropout: expected a share from 0 to below 1, found 1"),
        ({"dropout": float("nan")}, "dropout: expected a share from 0 to below 1, found nan"),
        ({"learning_rate": 0}, "learning_rate: expected a number above 0, at most 1e6, found 0"),
        ({"learning_rate": float("inf")}, "learning_rate: expected a number above 0, at most 1e6, found inf"),
        ({"learning_rate": 1e300}, "learning_rate: expected a number above 0, at most 1e6, found 1e+300"),
        ({"weight_decay": -0.5}, "weight_decay: expected 0 or more, at most 1e6, found -0.5"),
        ({"weight_decay": float("nan")}, "weight_decay: expected 0 or more, at most 1e6, found nan"),
        ({"model": "gat", "hidden": 10, "heads": 4}, "hidden: expected a multiple of heads, 4, found 10"),
        ({"seed": 2**64}, f"seed: expected an integer of 64 bits, found {2**64}"),
        ({"memory": "much"}, "memory: expected a size such as '2GB' or '512MiB', found 'much'"),
        ({"memory": -1}, "memory: expected a size from 0 on, found -1"),
    ],
)
def test_wrong_setting_is_named(changed, message):
    with pytest.raises(ValueError) as error:
        Settings(**changed)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"device": "toaster"}, "device: expected one that torch knows, such as 'cuda', found 'toaster'"),
        ({"device": "cuda:99"}, r"device: expected one of \d+ CUDA devices that torch .* sees, found 'cuda:99'"),
        ({"reader": "psychic"}, "reader: expected one of .*, found 'psychic'"),
        ({"threads": 0}, "threads: expected at least 1, found 0"),
    ],
)
def test_setting_that_only_the_machine_can_refuse_is_named(changed, message):
    data = written()
    with pytest.raises(ValueError, match=message):
        Run(find_task(data), Settings(**{**RING.__dict__, **changed}))


def test_one_layer_and_all_neighbours():
    for model in ("sage", "gcn", "gat"):
        trained(written(model), Settings(**{**RING.__dict__, "model": model, "fanouts": (-1,)}))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_model_on_a_gpu_learns_and_goes_on(blocks):
    settings = with_settings(device="cuda", epochs=3)
    run = Run(find_task(blocks), settings)
    for event in run.steps():
        if isinstance(event, EpochResult) and event.epoch == 1:
            state = copy.deepcopy(run.state_dict())
    assert next(run.model.parameters()).is_cuda
    rest = Run(find_task(blocks), settings)
    rest.load_state_dict(state)
    list(rest.steps())
    assert rest.history[:2] == run.history[:2]
    assert measured(rest, "test") > 0.5
    moved = Run(find_task(blocks), with_settings(epochs=3))
    moved.load_state_dict(state)
    list(moved.steps())


def test_checkpoint_holds_what_goes_on(blocks, tmp_path):
    whole = trained(blocks)
    run = Run(find_task(blocks), SMALL)
    kept = checkpoints.Checkpoints(tmp_path / "kept" / "here")
    for event in run.steps():
        if isinstance(event, Step) and (event.epoch, event.split, event.batch) == (1, "train", 4):
            kept.save(run)
            break
    run.close()
    found = checkpoints.load(kept.last)
    assert (found.settings, found.target, found.num_classes, found.epochs) == (SMALL, "node", 4, 1)
    checkpoints.check_same(found, blocks, "node", SMALL)
    rest = Run(find_task(blocks), found.settings)
    rest.load_state_dict(found.state)
    list(rest.steps())
    rest.close()
    assert same(timeless(rest), timeless(whole))
    assert sorted(os.listdir(kept.folder)) == ["best.pt", "last.pt"]
    best = checkpoints.load(os.path.join(kept.folder, "best.pt"))
    assert best.state["epoch"] == 0
    model = make_model(find_task(blocks), best.settings)
    model.load_state_dict(best.state["model"])


DAMAGES = {
    "part": lambda s: s.pop("sums"),
    "weights": lambda s: s["model"].popitem(),
    "weight": lambda s: s["model"].update({next(iter(s["model"])): 3}),
    "shape": lambda s: s["model"].update({next(iter(s["model"])): torch.zeros(2**20)}),
    "sparse": lambda s: s["model"].update({name: value.to_sparse() for name, value in s["model"].items()}),
    "optimizer": lambda s: s["optimizer"].update(state=[]),
    "moments": lambda s: s["optimizer"]["state"][0].update(exp_avg=1.0),
    "moments of no parameter": lambda s: s["optimizer"]["state"].update({999: s["optimizer"]["state"][0]}),
    "step": lambda s: s["optimizer"]["state"][0].update(step=torch.zeros(3)),
    "steps back": lambda s: s["optimizer"]["state"][0].update(step=torch.tensor(-1e30)),
    "no step": lambda s: s["optimizer"]["state"][0].update(step=torch.tensor(float("nan"))),
    "number of an epoch": lambda s: s["history"][0].update(epoch=torch.zeros(3)),
    "random": lambda s: s.update(random=torch.zeros(3, dtype=torch.uint8)),
    "random state": lambda s: s["random"].fill_(255),
    "sums": lambda s: s["sums"].update(loss="x"),
    "seeds": lambda s: s["sums"].update(seeds=0),
    "batches": lambda s: s["sums"].update(batches=-1),
    "loader": lambda s: s.update(loader=None),
    "place": lambda s: s["loader"].update(batch="x"),
    "history": lambda s: s.update(history={}),
    "epoch": lambda s: s["history"][0].pop("loss"),
    "accuracy": lambda s: s["history"][0].update(valid_accuracy=None),
    "best": lambda s: s.update(best=None),
    "best accuracy": lambda s: s["best"].update(valid_accuracy="x"),
    "best weights": lambda s: s["best"].update(model={}),
}


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """A data set of few nodes, with a split to measure."""
    rng = np.random.default_rng(0)
    path = str(tmp_path_factory.mktemp("few") / "ds")
    with gz.DatasetWriter(path) as writer:
        x, y = rng.normal(size=(24, 3)).astype(np.float32), rng.integers(0, 3, 24)
        writer.add_nodes({"x": x, "y": y}, label="y", num_classes=3)
        writer.add_edges(rng.integers(0, 24, 80), rng.integers(0, 24, 80))
        writer.add_split("train", np.arange(16))
        writer.add_split("valid", np.arange(16, 24))
    return gz.open(path)


@pytest.fixture(scope="module")
def amid(few, tmp_path_factory):
    """A checkpoint that was taken within the second epoch."""
    settings = with_settings(batch_size=4, hidden=4)
    run, kept = Run(find_task(few), settings), checkpoints.Checkpoints(tmp_path_factory.mktemp("amid"))
    for event in run.steps():
        if isinstance(event, Step) and (event.epoch, event.split, event.batch) == (1, "train", 2):
            kept.save(run)
            break
    run.close()
    return kept.last


@pytest.fixture
def typed(mag, tmp_path):
    """A run over several types, to its end, and its checkpoint. Not all types reach the target."""
    run = trained(mag, with_settings(epochs=1))
    checkpoints.Checkpoints(tmp_path).save(run)
    return run, tmp_path / "last.pt"


def assert_resumes(run, path):
    found = checkpoints.load(path)
    saved_states.check_weights(found.path, found.state, run.task, found.settings)
    again = Run(run.task, found.settings)
    checkpoints.resume(again, found)
    again.close()
    assert same(again.model.state_dict(), run.model.state_dict())


def test_a_run_over_several_types_goes_on_from_its_checkpoint(typed):
    assert_resumes(*typed)


def test_weights_under_the_names_of_before_0_3_are_loaded(typed):
    run, path = typed
    document = torch.load(path)
    for state in (document["state"], document["state"]["best"]):
        old = {"messages": "hear", "own": "keep"}
        state["model"] = {
            ".".join((old.get(first, first), *rest)): value
            for (first, *rest), value in ((name.split("."), value) for name, value in state["model"].items())
        }
    assert any(name.startswith("hear.") for name in document["state"]["best"]["model"])
    torch.save(document, path)
    assert_resumes(run, path)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_state_is_refused_before_anything_goes_on(damage, few, amid):
    found = checkpoints.load(amid)
    DAMAGES[damage](found.state)
    task = find_task(few)
    run = Run(task, found.settings)
    before = copy.deepcopy(run.model.state_dict())
    with pytest.raises(gz.FormatError, match=r"last.pt: is a damaged checkpoint: "):
        saved_states.check_weights(found.path, found.state, task, found.settings)
        checkpoints.resume(run, found)
    if damage not in ("random state", "place"):  # of which only their owners can tell
        assert same(run.model.state_dict(), before)
    run.close()


def test_a_checkpoint_that_claims_a_width_makes_no_model_of_it(few, amid):
    found = checkpoints.load(amid)
    with pytest.raises(gz.FormatError, match=r"last.pt: is a damaged checkpoint: model\..*: expected shape"):
        saved_states.check_weights(found.path, found.state, find_task(few), with_settings(hidden=2**30))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden", 2.5),
        ("model", []),
        ("device", 5),
        ("memory", []),
        ("learning_rate", 10**400),
        ("dropout", "x"),
        ("threads", "x"),
        ("fanouts", [2.5]),
        ("seed", "x"),
        ("weight_decay", True),
    ],
)
def test_settings_of_a_checkpoint_have_their_types(name, value, amid, tmp_path):
    document = torch.load(amid, weights_only=True)
    document["settings"][name] = value
    torch.save(document, tmp_path / "last.pt")
    with pytest.raises(gz.FormatError, match=rf"last.pt: is a damaged checkpoint: {name}: expected "):
        checkpoints.load(tmp_path / "last.pt")


def test_best_is_written_when_it_is_new(blocks, tmp_path):
    run, kept = trained(blocks), checkpoints.Checkpoints(tmp_path)
    kept.save(run)
    os.remove(tmp_path / "best.pt")
    kept.save(run)
    assert os.listdir(tmp_path) == ["last.pt"]
    run.best = {**run.best, "epoch": 7}
    kept.save(run)
    assert checkpoints.load(tmp_path / "best.pt").state["epoch"] == 7


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_checkpoint_that_cannot_be_written_leaves_the_old_one(call, blocks, tmp_path, monkeypatch):
    run, kept = Run(find_task(blocks), SMALL), checkpoints.Checkpoints(tmp_path)
    kept.save(run)
    before = checkpoints.load(kept.last)
    next(iter(run.steps()))

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"graphzero._files.folder.os.{call}", fail)
    with pytest.raises(OSError) as error:
        kept.save(run)
    monkeypatch.undo()
    assert (error.value.errno, error.value.filename) == (28, kept.last)
    assert os.listdir(tmp_path) == ["last.pt"]
    assert same(checkpoints.load(kept.last).state, before.state)
    run.close()


def test_checkpoints_replace_a_link_and_follow_none(blocks, tmp_path):
    run, kept = Run(find_task(blocks), SMALL), checkpoints.Checkpoints(tmp_path / "kept")
    for name, link in (("theirs", "last.pt"), ("others", "last.pt.writing")):
        (tmp_path / name).write_text("precious")
        (tmp_path / "kept" / link).symlink_to(tmp_path / name)
    kept.save(run)
    run.close()
    assert (tmp_path / "theirs").read_text() == (tmp_path / "others").read_text() == "precious"
    assert not os.path.islink(kept.last)
    checkpoints.load(kept.last)


def test_half_a_file_of_a_killed_process_does_no_harm(blocks, tmp_path):
    run, kept = Run(find_task(blocks), SMALL), checkpoints.Checkpoints(tmp_path)
    kept.save(run)
    (tmp_path / ".last.pt.0123456789abcdef.graphzero-tmp").write_bytes(b"half")
    checkpoints.load(kept.last)
    kept.save(run)
    run.close()
    checkpoints.load(kept.last)
    assert os.listdir(tmp_path) == ["last.pt"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hidden": 32}, "hidden: expected 16, as in {path}, found 32; "),
        ({"fanouts": (5,)}, "fanouts: expected 5,5, as in {path}, found 5; "),
        ({"model": "gat"}, "model: expected sage, as in {path}, found gat; "),
        ({"learning_rate": 0.5}, "learning_rate: expected 0.01, as in {path}, found 0.5; "),
        ({"batch_size": 64}, "batch_size: expected 128, as in {path}, found 64; "),
        ({"seed": 9}, "seed: expected 0, as in {path}, found 9; "),
    ],
)
def test_going_on_with_another_model_is_refused(changed, message, blocks, tmp_path):
    run, kept = Run(find_task(blocks), SMALL), checkpoints.Checkpoints(tmp_path)
    kept.save(run)
    run.close()
    found = checkpoints.load(kept.last)
    with pytest.raises(ValueError) as error:
        checkpoints.check_same(found, blocks, "node", with_settings(**changed))
    expected = "leave it as it was, or train anew with another folder of checkpoints"
    assert str(error.value) == message.format(path=kept.last) + expected


def test_epochs_memory_reader_threads_and_device_may_change(blocks, tmp_path):
    run, kept = Run(find_task(blocks), SMALL), checkpoints.Checkpoints(tmp_path)
    kept.save(run)
    run.close()
    other = with_settings(epochs=9, memory="1GB", reader="pread", threads=1, device="cuda")
    checkpoints.check_same(checkpoints.load(kept.last), blocks, "node", other)


def test_going_on_with_another_data_set_or_target_is_refused(tmp_path):
    data = written()
    run, kept = Run(find_task(data), RING), checkpoints.Checkpoints(tmp_path / "kept")
    kept.save(run)
    run.close()
    found = checkpoints.load(kept.last)
    there = os.path.abspath("ds")
    fix = "holds other data; train anew, with another folder of checkpoints"
    with pytest.raises(ValueError) as error:
        checkpoints.check_same(found, written("other", y=np.zeros(8, dtype=np.int64)), "node", RING)
    assert str(error.value) == f"{kept.last}: belongs to {there}, and other {fix}"
    with pytest.raises(ValueError, match="^target: expected node, as in .*last.pt, found paper; leave it as it was"):
        checkpoints.check_same(found, data, "paper", RING)
    os.rename("ds", "old")
    with pytest.raises(ValueError) as error:
        checkpoints.check_same(found, written("ds", y=np.zeros(8, dtype=np.int64)), "node", RING)
    assert str(error.value) == f"{kept.last}: belongs to {there} as it was before it changed, and ds {fix}"
    checkpoints.check_same(found, gz.open("old"), "node", RING)  # a folder may move


def test_what_is_no_checkpoint_is_refused(blocks, tmp_path):
    run, kept = Run(find_task(blocks), SMALL), checkpoints.Checkpoints(tmp_path)
    kept.save(run)
    run.close()
    document = torch.load(kept.last, weights_only=True)
    content = (tmp_path / "last.pt").read_bytes()
    for name, damaged in (("half", content[: len(content) // 2]), ("empty", b""), ("text", b"epoch 1")):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(gz.FormatError, match=f"{name}: is no checkpoint, or a damaged one: "):
            checkpoints.load(tmp_path / name)
    torch.save({"weights": torch.ones(2)}, tmp_path / "theirs")
    with pytest.raises(gz.FormatError, match="theirs: expected a checkpoint of graphzero train, found another file of"):
        checkpoints.load(tmp_path / "theirs")
    torch.save({**document, "schema": 7}, tmp_path / "newer")
    with pytest.raises(
        gz.FormatError, match="newer: bad schema: expected 1, found 7; another version of graphzero wrote it"
    ):
        checkpoints.load(tmp_path / "newer")
    torch.save({**document, "settings": {"fanouts": [1], "speed": 2}}, tmp_path / "odd")
    with pytest.raises(gz.FormatError, match="odd: is a damaged checkpoint: .*speed"):
        checkpoints.load(tmp_path / "odd")
    del document["target"]
    torch.save(document, tmp_path / "lacking")
    with pytest.raises(gz.FormatError, match="lacking: is a damaged checkpoint: 'target'"):
        checkpoints.load(tmp_path / "lacking")


def test_a_checkpoint_runs_nothing(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    torch.save({"kind": "graphzero checkpoint", "schema": 1, "state": Trap()}, tmp_path / "trap")
    with pytest.raises(gz.FormatError, match="trap: is no checkpoint"):
        checkpoints.load(tmp_path / "trap")
    assert not (tmp_path / "sprung").exists()

"""Which seeds make which batch: sizes, orders and batches of a user's own, ranks and workers that share an epoch."""

import itertools

import numpy as np
import pytest

import graphzero as gz
import oracle
from case_choice import meeting
from pipeline_cases import assert_same, settled, tasks, write_world

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("world"), 300, 2_000)


def pipeline(world, count=20, fanouts=(3,), **options):
    """Over the first ``count`` nodes, whose places are their ids."""
    return gz.Pipeline(world.graph, np.arange(count), fanouts, **{"batch_size": 6, "seed": 4, **options})


def places(batches):
    return [batch.input_id.tolist() for batch in batches]


def joined(lists):
    return [item for items in lists for item in items]


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_sizes_of_batches_one_by_one(world, kind):
    sizes = kind([1, 12, 4, 3])
    found = pipeline(world, batch_size=sizes)
    assert len(found) == 4
    expected = [list(range(begin, end)) for begin, end in ((0, 1), (1, 13), (13, 17), (17, 20))]
    assert places(found) == places(found) == expected
    shuffled = places(pipeline(world, batch_size=sizes, shuffle=True))
    assert [len(batch) for batch in shuffled] == [1, 12, 4, 3]
    assert joined(shuffled) == joined(places(pipeline(world, shuffle=True)))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([10, 0, 10], r"batch_size\[1\]: expected at least 1, found 0"),
        ([10, -1], r"batch_size\[1\]: expected at least 1, found -1"),
        ([10, 9], "batch_size: expected sizes that sum up to 20, found 19"),
        ([10, 11], r"batch_size\[1\]: expected 1 to 10, found 11"),
        ([], "batch_size: expected sizes that sum up to 20, found 0"),
    ],
)
def test_sizes_that_do_not_fit(world, sizes, message):
    with pytest.raises(ValueError, match=message):
        pipeline(world, batch_size=sizes)


class Anew:
    """Another order in each epoch, of a length that is not told."""

    def __init__(self, *orders):
        self.orders = list(orders)

    def __iter__(self):
        return iter(self.orders.pop(0))


def test_an_order_of_ones_own_is_asked_for_in_each_epoch(world):
    found = pipeline(world, order=Anew([5, 3, 3, 19, 0, 1, 2, 4], range(7)))
    assert places(found) == [[5, 3, 3, 19, 0, 1], [2, 4]]
    assert len(found) == 2
    assert places(found) == [[0, 1, 2, 3, 4, 5], [6]]


def test_an_order_changes_which_seeds_and_nothing_else(world):
    for batch in pipeline(world, order=range(19, -1, -1), fanouts=[3, 2], features=world.store("x")):
        hood = gz.sample_neighbors(world.graph, batch.input_id, [3, 2], seed=4, batch=batch.number)
        assert_same(batch.sample, hood)
        assert_same(batch.node_features["x"], world.x[hood.node])


@pytest.mark.parametrize(("drop_last", "expected"), [(False, [6, 2]), (True, [6])])
def test_an_order_may_leave_out_its_rest(world, drop_last, expected):
    for order in ([7] * 8, torch.utils.data.SubsetRandomSampler(range(8)), Anew(range(8))):
        found = pipeline(world, order=order, drop_last=drop_last)
        if not isinstance(order, Anew):
            assert len(found) == len(expected)
        assert [len(batch) for batch in places(found)] == expected
        assert len(found) == len(expected)


def test_orders_that_torch_makes(world):
    random = torch.utils.data.RandomSampler(range(20), generator=torch.Generator().manual_seed(1))
    found = pipeline(world, order=random)
    first, second = joined(places(found)), joined(places(found))
    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second
    weighted = torch.utils.data.WeightedRandomSampler([0.0] * 18 + [1.0, 1.0], 9)
    found = places(pipeline(world, order=weighted))
    assert [len(batch) for batch in found] == [6, 3]
    assert set(joined(found)) <= {18, 19}


def test_batches_of_ones_own(world):
    given = [[4], [1, 2, 3, 4, 5, 6, 7, 8, 9], torch.tensor([0, 19]), np.array([3])]
    found = pipeline(world, batches=given)
    assert len(found) == 4
    assert places(found) == places(found) == [[4], [1, 2, 3, 4, 5, 6, 7, 8, 9], [0, 19], [3]]
    found = pipeline(world, batches=Anew([[1, 2], [3]], [[4]]))
    assert places(found) == [[1, 2], [3]]
    assert len(found) == 2
    assert places(found) == [[4]]
    sampler = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(range(20)), 8, drop_last=True)
    assert places(pipeline(world, batches=sampler)) == [list(range(8)), list(range(8, 16))]
    assert places(pipeline(world, batches=[])) == []


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"order": [0, 20]}, IndexError, r"order\[1\]: place 20 is not among the seeds, of which there are 20"),
        ({"order": [-1]}, IndexError, r"order\[0\]: place -1 is not among the seeds"),
        ({"order": [1.5]}, TypeError, "order: expected an integer, found 1.5"),
        ({"batches": [[0], [7, 99]]}, IndexError, "^batches: place 99 is not among the seeds"),
        ({"batches": [[0], []]}, ValueError, r"batches\[1\]: expected at least one place, found none"),
        ({"batches": [[0.5]]}, TypeError, "batches: expected integers, found float64"),
    ],
)
def test_places_that_are_not_there(world, options, kind, message):
    found = pipeline(world, **options)
    with pytest.raises(kind, match=message):
        next(iter(found))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": [0], "batches": [[0]]}, "order, batches: expected one of them, found both"),
        ({"order": [0], "shuffle": True}, "shuffle: expected False with order, which says what comes when"),
        ({"batches": [[0]], "shuffle": True}, "shuffle: expected False with batches"),
        ({"order": [0], "batch_size": [1]}, "batch_size: expected one number with order, found a list"),
        ({"rank": 2, "world_size": 2}, "rank: expected 0 to world_size - 1 = 1, found 2"),
        ({"rank": -1, "world_size": 2}, "rank: expected 0 to .*, found -1"),
        ({"world_size": 0}, "world_size: expected at least 1, found 0"),
    ],
)
def test_options_that_contradict_each_other(world, options, message):
    with pytest.raises(ValueError, match=message):
        pipeline(world, **options)


@meeting(
    {"world_size": [1, 2, 3, 5], "count": [1, 2, 20, 21, 24], "drop_uneven": [False, True], "shuffle": [False, True]}
)
def test_ranks_share_the_seeds(world, world_size, count, shuffle, drop_uneven):
    order = joined(places(pipeline(world, count, shuffle=shuffle)))
    options = {"world_size": world_size, "drop_uneven_inputs": drop_uneven, "shuffle": shuffle}
    parts = [places(pipeline(world, count, rank=rank, **options)) for rank in range(world_size)]
    for rank, part in enumerate(parts):
        expected = oracle.part_of(order, rank, world_size, drop_uneven=drop_uneven)
        assert joined(part) == expected
        assert len(part) == len(pipeline(world, count, rank=rank, **options)) == -(-len(expected) // 6)
    taken = sorted(place for part in parts for batch in part for place in batch)
    if drop_uneven:
        assert len(taken) == len(set(taken)) == count - count % world_size
    else:
        assert set(taken) == set(range(count))
        assert len(taken) < count + world_size


@pytest.mark.parametrize("drop_last", [False, True])
def test_ranks_have_as_many_batches(world, drop_last):
    for count in range(1, 40):
        for drop_uneven in (False, True):
            options = {"world_size": 3, "drop_uneven_inputs": drop_uneven, "drop_last": drop_last}
            assert len({len(pipeline(world, count, rank=rank, **options)) for rank in range(3)}) == 1


def test_sizes_of_batches_are_those_of_a_rank(world):
    found = [places(pipeline(world, rank=rank, world_size=2, batch_size=[3, 7])) for rank in range(2)]
    assert [[len(batch) for batch in part] for part in found] == [[3, 7]] * 2
    assert sorted(joined(joined(found))) == list(range(20))


def test_no_two_ranks_draw_alike(world):
    """Samples are numbered across ranks."""
    for rank in range(2):
        for batch in pipeline(world, fanouts=[2, 2], rank=rank, world_size=2):
            options = {"seed": 4, "batch": batch.number * 2 + rank}
            assert_same(batch.sample, gz.sample_neighbors(world.graph, batch.input_id, [2, 2], **options))


@pytest.mark.parametrize("num_workers", [1, 2, 3, 7])
def test_workers_share_the_batches(world, num_workers):
    whole = list(pipeline(world, shuffle=True, features=world.store("x")))
    assert len(whole) == 4
    shares = []
    for worker in range(num_workers):
        one = pipeline(world, shuffle=True, features=world.store("x"))
        shares.append(list(one.share(worker, num_workers)))
        assert one.epoch == 1
    for number, batch in enumerate(whole):
        assert_same(shares[number % num_workers][number // num_workers], batch)
    assert sum(len(share) for share in shares) == 4


def test_workers_go_on_in_the_middle_of_an_epoch(world):
    one = pipeline(world, batch_size=2, shuffle=True)
    whole = list(one)
    state = {**pipeline(world, batch_size=2, shuffle=True).state_dict(), "batch": 3}
    for worker in range(2):
        other = pipeline(world, batch_size=2, shuffle=True)
        other.load_state_dict(state)
        for batch, expected in zip(other.share(worker, 2), whole[3 + worker :: 2], strict=True):
            assert_same(batch, expected)


def test_a_batch_that_is_ready_does_not_have_to_be_waited_for(world):
    found = pipeline(world)
    batches = iter(found)
    for _ in range(4):
        next(batches)
        assert settled(found.is_ready, True)
    assert next(batches, None) is None


def test_an_order_that_fails_leaves_nothing_behind(world):
    def failing():
        yield 3
        raise RuntimeError("no more")

    class Failing:
        def __iter__(self):
            return failing()

    before = tasks()
    found = pipeline(world, order=Failing())
    with pytest.raises(RuntimeError, match="no more"):
        next(iter(found))
    found.close()
    assert settled(tasks, before) == before


class Endless:
    """Gives the same place, or batch, for ever."""

    def __init__(self, item):
        self.item = item

    def __iter__(self):
        return itertools.repeat(self.item)


class EndlessWithLength(Endless):
    def __len__(self):
        return 50


@pytest.mark.parametrize("kind", [Endless, EndlessWithLength])
@pytest.mark.parametrize(("name", "item"), [("order", 3), ("batches", [3, 1])])
def test_an_order_without_end_is_told(world, monkeypatch, name, item, kind):
    monkeypatch.setattr("graphzero._inputs.batch_order._MOST_PLACES", 30)
    message = rf"{name}: expected an end within 30 places, or a length .*; found more. Cut it into epochs"
    with pytest.raises(ValueError, match=message):
        list(pipeline(world, **{name: kind(item)}))


def test_an_order_may_be_as_long_as_it_tells(world, monkeypatch):
    monkeypatch.setattr("graphzero._inputs.batch_order._MOST_PLACES", 30)
    assert joined(places(pipeline(world, order=[3] * 50))) == [3] * 50
    assert places(pipeline(world, batches=[[3, 1]] * 50)) == [[3, 1]] * 50
    assert joined(places(pipeline(world, order=iter([3] * 30)))) == [3] * 30
    loader = gz.loaders.NeighborLoader(world.graph, [2], range(20), batch_size=6, sampler=Endless(3), form="torch")
    with pytest.raises(ValueError, match="sampler: expected an end within 30 places"):
        next(iter(loader))
    pairs = torch.utils.data.BatchSampler(Endless(3), 2, drop_last=False)  # its length is that of what it has none of
    loader = gz.loaders.NeighborLoader(world.graph, [2], range(20), batch_sampler=pairs, form="torch")
    with pytest.raises(ValueError, match="batch_sampler: expected an end within 30 places"):
        next(iter(loader))

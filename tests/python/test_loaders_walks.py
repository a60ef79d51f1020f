"""Walks as a data set: the same batches in every process, parts for ranks, sentences for gensim."""

import itertools
import multiprocessing
import pickle
import subprocess
import sys
import traceback
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from graphzero._core import Key, Purpose
from torch.utils.data import DataLoader

import graphzero as gz
from graphzero.loaders import RandomWalks
from graphzero.loaders._process import notes
from graphzero.loaders._process.epoch_order import EpochOrder
from walk_cases import OF_WORKERS, PATH, PUBLISHED, WRITES, assert_legal, graphs, ring

pytestmark = [pytest.mark.filterwarnings(warning) for warning in OF_WORKERS]


def listed(batches):
    return [batch.tolist() for batch in batches]


def starts_of(walks):
    return torch.cat(list(walks))[:, 0].tolist()


# They must never change: docs/design/randomness.md publishes the first three.
@pytest.mark.parametrize(
    ("key", "state"),
    [
        (Key(42, Purpose.NEGATIVES).with_word(7), 12335244430711630163),
        (Key(0, Purpose.NEIGHBORS), 627405149472732430),
        (Key(0, Purpose.WALKS), 15549969042648332857),
        (Key(2**64 - 1, Purpose.NEGATIVES).with_word(7), 10048967991182445060),
        (Key(42), 13679457532755275413),
        (Key(42).with_word(5), 16854843984495418873),
        (Key(42, Purpose.WALK_BATCHES).with_word(3), 17680642119211242809),
        (Key(42, Purpose.EMBEDDING_BATCHES).with_word(3), 2033750963859019949),
        (Key(42, Purpose.RANK_SEEDS).with_word(3), 15868776069000261498),
        (Key(42, Purpose.INDEX_CALLS).with_word(3), 7708737395425293826),
    ],
)
def test_the_state_of_a_key_is_the_published_one(key, state):
    assert key.state == state


@pytest.mark.parametrize("epoch", [0, 3])
@pytest.mark.parametrize("count", [1, 2, 7, 4096, 4097, 10_000])
def test_the_order_is_that_of_a_pipeline(count, epoch):
    gz.write_graph("g.gl", [0], [0], num_nodes=count)
    pipeline = gz.Pipeline(gz.Graph("g.gl"), None, [], batch_size=1000, shuffle=True, seed=11)
    pipeline.set_epoch(epoch)
    expected = np.concatenate([batch.input_id for batch in pipeline])
    found = EpochOrder(count, shuffle=True, seed=11, epoch=epoch).at(np.arange(count))
    assert found.tolist() == expected.tolist()
    assert sorted(found.tolist()) == list(range(count))


def test_an_order_of_more_nodes_than_memory_begins_anywhere():
    count = 2**50 + 12345
    order = EpochOrder(count, shuffle=True, seed=1, epoch=0)
    items = order.at(np.arange(count - 5000, count))
    assert len(set(items.tolist())) == 5000
    assert items.min() >= 0
    assert items.max() < count
    assert abs(items.mean() / count - 0.5) < 0.02


def test_every_node_starts_its_walks_and_every_step_is_an_edge():
    graph = ring()
    walks = RandomWalks(graph, 6, walks_per_node=3, batch_size=8, seed=1)
    batches = list(walks)
    assert len(batches) == len(walks) == 4
    assert {batch.dtype for batch in batches} == {torch.int64}
    assert [tuple(batch.shape) for batch in batches] == [(8, 7), (8, 7), (8, 7), (6, 7)]
    assert sorted(torch.cat(batches)[:, 0].tolist()) == sorted(list(range(10)) * 3)
    assert_legal(torch.cat(batches), graph)


def test_walks_from_one_node_differ_from_each_other():
    walks = torch.cat(list(RandomWalks(ring(), 12, walks_per_node=4, seed=1, shuffle=False)))
    assert len({tuple(walk) for walk in walks[::10].tolist()}) == 4


def test_given_starts_are_walked_from_in_order_unless_shuffled():
    graph = ring()
    starts = [7, 7, 2]
    assert starts_of(RandomWalks(graph, 2, starts=starts, walks_per_node=2, shuffle=False)) == starts * 2
    shuffled = starts_of(RandomWalks(graph, 2, starts=torch.arange(10), seed=4))
    assert shuffled != list(range(10))
    assert sorted(shuffled) == list(range(10))


def test_no_starts_give_no_batches():
    walks = RandomWalks(ring(), 2, starts=[])
    assert (len(walks), list(walks)) == (0, [])


def test_options_reach_the_walk():
    graph = ring()
    back = torch.cat(list(RandomWalks(graph, 5, restart=1.0)))
    assert (back == back[:, :1]).all()
    against = torch.cat(list(RandomWalks(graph, 5, direction="in")))
    assert_legal(against.flip(1), graph)
    nodes = np.arange(10)
    gz.write_graph(
        "weighted.gl", np.tile(nodes, 2), np.r_[(nodes + 1) % 10, (nodes + 3) % 10], weight=[1] * 10 + [0] * 10
    )
    ahead = torch.cat(list(RandomWalks(gz.Graph("weighted.gl"), 5, weighted=True)))
    assert (ahead == (ahead[:, :1] + torch.arange(6)) % 10).all()
    gz.write_graph("path.gl", np.arange(9), np.arange(1, 10), directed=False)
    returning = torch.cat(list(RandomWalks(gz.Graph("path.gl"), 4, p=1e-100)))
    assert (returning[:, 2:] == returning[:, :-2]).all()
    leaving = torch.cat(list(RandomWalks(gz.Graph("path.gl"), 4, starts=[0], q=1e-100)))
    assert leaving.tolist() == [[0, 1, 2, 3, 4]]


def test_a_metapath_starts_from_the_nodes_of_its_first_type():
    walks = torch.cat(list(RandomWalks(graphs(), 2, metapath=PATH, shuffle=False, seed=0)))
    assert walks[:, 0].tolist() == [0, 1, 2, 3]
    assert walks[3].tolist() == [3, -1, -1]


def test_a_data_set_is_walked_as_its_graph(tiny_dataset):
    dataset = gz.open(tiny_dataset)
    assert listed(RandomWalks(dataset, 3, seed=1)) == listed(RandomWalks(dataset.graph, 3, seed=1))


def test_each_iteration_is_another_epoch_and_the_same_seed_repeats_them():
    graph = ring()
    first, second = RandomWalks(graph, 5, seed=3), RandomWalks(graph, 5, seed=3)
    epochs = [listed(first) for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    assert [listed(second) for _ in range(3)] == epochs
    first.set_epoch(1)
    assert [listed(first), listed(first)] == epochs[1:]
    assert listed(RandomWalks(graph, 5, seed=4)) != epochs[0]


def test_in_file_order_epochs_differ_in_their_walks():
    walks = RandomWalks(ring(), 9, seed=3, shuffle=False)
    first, second = torch.cat(list(walks)), torch.cat(list(walks))
    assert (first[:, 0] == second[:, 0]).all()
    assert (first != second).any()


def test_without_a_seed_torch_decides():
    graph = ring()
    torch.manual_seed(5)
    first = RandomWalks(graph, 5)
    second = RandomWalks(graph, 5)
    torch.manual_seed(5)
    again = RandomWalks(graph, 5)
    assert first.seed == again.seed != second.seed
    assert listed(first) == listed(again) != listed(second)


@pytest.mark.parametrize(
    ("method", "num_workers"),
    [*(pytest.param("fork", count, marks=pytest.mark.no_tsan) for count in (1, 3)), ("spawn", 2), ("forkserver", 1)],
)
def test_workers_give_the_batches_of_the_process_itself(method, num_workers):
    options = {"batch_size": 3, "walks_per_node": 2, "p": 0.5, "q": 2.0, "seed": 9}
    expected = listed(RandomWalks(ring(), 6, **options))
    assert len(expected) == 7
    walks = RandomWalks(gz.Graph("ring.gl"), 6, **options)
    loader = DataLoader(walks, batch_size=None, num_workers=num_workers, multiprocessing_context=method)
    assert len(loader) == 7
    assert listed(loader) == expected


@pytest.mark.no_tsan
def test_workers_that_start_anew_follow_set_epoch():
    graph = ring()
    here, there = RandomWalks(graph, 6, batch_size=4, seed=9), RandomWalks(graph, 6, batch_size=4, seed=9)
    loader = DataLoader(there, batch_size=None, num_workers=2, multiprocessing_context="fork")
    for epoch in (0, 1, 5):
        here.set_epoch(epoch)
        there.set_epoch(epoch)
        assert listed(loader) == listed(here)


@pytest.mark.parametrize("method", [pytest.param("fork", marks=pytest.mark.no_tsan), "spawn"])
def test_workers_that_stay_count_epochs_and_follow_set_epoch(method):
    graph = ring()
    here, there = RandomWalks(graph, 6, batch_size=4, seed=9), RandomWalks(graph, 6, batch_size=4, seed=9)
    loader = DataLoader(there, batch_size=None, num_workers=2, multiprocessing_context=method, persistent_workers=True)
    assert [listed(loader) for _ in range(2)] == [listed(here) for _ in range(2)]
    here.set_epoch(7)
    there.set_epoch(7)
    assert [listed(loader) for _ in range(2)] == [listed(here) for _ in range(2)]


@pytest.mark.no_tsan
@pytest.mark.parametrize("copied", [False, True])
def test_workers_that_start_anew_count_epochs(copied):
    graph = ring()
    here, there = RandomWalks(graph, 6, batch_size=4, seed=9), RandomWalks(graph, 6, batch_size=4, seed=9)
    if copied:  # what workers share is shared by those of the copy, too
        there = pickle.loads(pickle.dumps(there))
    loader = DataLoader(there, batch_size=None, num_workers=2, multiprocessing_context="fork")
    epochs = [listed(here) for _ in range(3)]
    assert [listed(loader) for _ in range(2)] == epochs[:2]
    other = DataLoader(there, batch_size=None, num_workers=1, multiprocessing_context="fork")
    assert listed(other) == epochs[0]
    assert listed(loader) == epochs[2]


def test_walks_are_pickled_with_their_epoch():
    walks = RandomWalks(ring(), 6, seed=9)
    next(iter(walks))
    assert listed(pickle.loads(pickle.dumps(walks))) == listed(walks)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("world_size", [2, 5])
def test_ranks_divide_the_starts(world_size, shuffle):
    graph = ring()
    parts = [
        starts_of(RandomWalks(graph, 4, batch_size=2, seed=1, shuffle=shuffle, rank=rank, world_size=world_size))
        for rank in range(world_size)
    ]
    assert sorted(itertools.chain(*parts)) == list(range(10))


@pytest.mark.parametrize(("num_nodes", "world_size", "batch_size"), [(10, 3, 1), (10, 3, 4), (10, 4, 2), (3, 5, 2)])
def test_ranks_take_equal_steps_and_few_starts_twice(num_nodes, world_size, batch_size):
    graph = ring(num_nodes)
    walks = [
        RandomWalks(graph, 4, batch_size=batch_size, seed=1, rank=rank, world_size=world_size)
        for rank in range(world_size)
    ]
    shapes = [[batch.shape for batch in part] for part in walks]
    assert shapes == [shapes[0]] * world_size
    assert [len(part) for part in walks] == [len(shapes[0])] * world_size
    starts = [start for part in walks for start in starts_of(part)]
    assert set(starts) == set(range(num_nodes))
    assert len(starts) - num_nodes < world_size


def test_ranks_walk_differently_from_the_same_node():
    graph = ring()
    parts = [RandomWalks(graph, 30, starts=[0, 0], seed=1, rank=rank, world_size=2) for rank in range(2)]
    assert listed(parts[0]) != listed(parts[1])


def test_starts_that_are_listed_are_walked_whole_on_every_rank(monkeypatch):
    graph = ring()
    monkeypatch.setattr(notes, "_noted", set())
    parts = []
    for rank in range(2):
        monkeypatch.setattr("torch.distributed.is_initialized", lambda: True)
        monkeypatch.setattr("torch.distributed.get_world_size", lambda: 2)
        monkeypatch.setattr("torch.distributed.get_rank", lambda rank=rank: rank)
        with pytest.warns(UserWarning, match="each of 2 ranks takes all 3 seeds") if rank == 0 else nullcontext():
            parts.append(RandomWalks(graph, 30, starts=[1, 2, 3], seed=1, shuffle=False))
        assert starts_of(parts[-1]) == [1, 2, 3]
        assert len(starts_of(RandomWalks(graph, 30, starts=[1, 2, 3], seed=1, distributed=True))) == 2
        assert len(starts_of(RandomWalks(graph, 30, seed=1))) == 5
        assert len(starts_of(RandomWalks(graph, 30, seed=1, distributed=False))) == 10
    assert listed(parts[0]) != listed(parts[1])


def _as_rank(rank, folder, queue):
    try:
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
        torch.manual_seed(rank)
        walks = RandomWalks(gz.Graph(f"{folder}/ring.gl"), 4, batch_size=3)
        queue.put((rank, walks.seed, repr(walks), starts_of(walks)))
        torch.distributed.barrier()  # nobody leaves a group that another still uses
        torch.distributed.destroy_process_group()
    except BaseException:
        queue.put((rank, None, traceback.format_exc(), None))


def test_torch_distributed_tells_rank_and_seed(tmp_path):
    ring()
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    processes = [context.Process(target=_as_rank, args=(rank, str(tmp_path), queue)) for rank in range(2)]
    for process in processes:
        process.start()
    found = sorted(queue.get(timeout=120) for _ in processes)
    for process in processes:
        process.join(timeout=60)
        assert process.exitcode == 0
    assert [text for _, _, text, _ in found] == [
        f"RandomWalks(5 walks of 4 steps, 2 batches, rank {rank} of 2)" for rank in range(2)
    ]
    torch.manual_seed(0)
    assert [seed for _, seed, _, _ in found] == [RandomWalks(ring(), 4).seed] * 2
    assert sorted(found[0][3] + found[1][3]) == list(range(10))


def test_sentences_are_the_walks_in_words_again_and_again():
    graph = ring()
    sentences = RandomWalks(graph, 4, batch_size=3, seed=2).sentences()
    walks = RandomWalks(graph, 4, batch_size=3, seed=2)
    assert len(sentences) == 10
    for _ in range(2):
        assert list(sentences) == [[str(node) for node in walk] for batch in walks for walk in batch.tolist()]


@pytest.mark.parametrize("labels", [["d", "b", "a", "c"], [40, 20, 10, 30]])
def test_sentences_of_a_data_set_have_its_labels(tiny, labels):
    gz.write_ids("names.gi", labels)
    ids = gz.IdDictionary("names.gi")
    walks = torch.cat(list(RandomWalks(tiny, 3, seed=2)))
    named = list(RandomWalks(tiny, 3, seed=2).sentences(ids=ids))
    assert named == [[str(sorted(labels)[node]) for node in walk] for walk in walks.tolist()]


def test_sentences_of_a_metapath_name_types_and_end_at_dead_ends():
    options = {"metapath": PATH, "shuffle": False, "seed": 0}
    walks = torch.cat(list(RandomWalks(graphs(), 4, **options))).tolist()
    found = list(RandomWalks(graphs(), 4, **options).sentences())
    types = ["author", "paper"] * 3
    assert found == [[f"{types[at]}:{node}" for at, node in enumerate(walk) if node >= 0] for walk in walks]
    assert found[3] == ["author:3"]
    gz.write_ids("authors.gi", ["Ann", "Bo", "Cy", "Di"])
    named = list(RandomWalks(graphs(), 4, **options).sentences(ids={"author": gz.IdDictionary("authors.gi")}))
    assert named[3] == ["author:Di"]
    assert named[0][0] == "author:Ann"
    assert [word for word in named[0] if word.startswith("paper")] == found[0][1::2]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"starts": [3, 10]}, IndexError, r"starts\[1\]: node 10 is not in the graph, which has 10 nodes"),
        ({"starts": [-1]}, IndexError, r"starts\[0\]: node -1 is not in the graph, which has 10 nodes"),
        ({"starts": [0.5]}, TypeError, "starts: expected integers, found float64"),
        ({"walks_per_node": 0}, ValueError, "walks_per_node: expected at least 1, found 0"),
        ({"batch_size": 0}, ValueError, "batch_size: expected at least 1, found 0"),
        ({"p": 0}, ValueError, "p: expected a number"),
        ({"weighted": True}, ValueError, "has no weights; write the graph with weight="),
        ({"seed": 2**64}, ValueError, "seed: expected an integer of 64 bits"),
        ({"rank": 0}, ValueError, "world_size: expected one with rank, found None; give both or neither"),
        ({"world_size": 2}, ValueError, "rank: expected one with world_size, found None"),
        ({"rank": 2, "world_size": 2, "seed": 0}, ValueError, "rank: expected 0 to 1, below world_size, found 2"),
        ({"rank": 0, "world_size": 0}, ValueError, "world_size: expected at least 1, found 0"),
        ({"rank": 0, "world_size": 2}, ValueError, "seed: expected one with world_size=2, found None.*the same seed"),
        ({"metapath": PATH}, TypeError, "graph: expected a Dataset or a mapping of edge types with a metapath"),
    ],
)
def test_what_is_wrong_is_said_before_the_first_walk(options, error, message):
    with pytest.raises(error, match=message):
        RandomWalks(ring(), 4, **options)


def test_other_mistakes_are_named(tiny, tiny_gl):
    walks = RandomWalks(tiny, 2, seed=0)
    with pytest.raises(ValueError, match="epoch: expected 0 to 2\\^63 - 1, found -1"):
        walks.set_epoch(-1)
    with pytest.raises(TypeError, match="ids: expected an IdDictionary, found dict"):
        walks.sentences(ids={})
    with pytest.raises(ValueError, match="walk_length: expected 0 to"):
        RandomWalks(tiny, -1)
    along = RandomWalks(graphs(), 2, metapath=[WRITES, PUBLISHED])
    gz.write_ids("names.gi", ["a"])
    with pytest.raises(TypeError, match="ids: expected a dict of IdDictionary by node type, found IdDictionary"):
        along.sentences(ids=gz.IdDictionary("names.gi"))
    with pytest.raises(
        ValueError, match=r"ids: no node type 'user' on the metapath; there are \['author', 'paper', 'venue'\]"
    ):
        along.sentences(ids={"user": gz.IdDictionary("names.gi")})
    tiny.close()
    with pytest.raises(ValueError, match="this Graph is closed; open it again"):
        list(walks)


def test_a_name_loads_torch_when_it_is_used():
    code = (
        "import sys, graphzero.loaders as loaders; assert 'torch' not in sys.modules; loaders.RandomWalks;"
        "assert 'torch' in sys.modules; loaders.Node2Vec; loaders.MetaPath2Vec;"
        "print([m for m in ('torch_geometric', 'pyg_lib', 'torch_sparse', 'torch_cluster') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (shown.returncode, shown.stdout) == (0, "[]\n"), shown.stderr

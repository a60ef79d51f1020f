"""Where an iteration is, how it goes on elsewhere, and what is left of it when it ends."""

import gc
import itertools
import pickle
import threading

import numpy as np
import pytest

import graphzero as gz
from faults import run
from pipeline_cases import NUM_NODES, assert_same, descriptors, sampled, settled, tasks, write_world
from systems import NO_DESCRIPTORS, NO_FORK, posix_only

READERS = ["mmap", "direct", "pread"]
OVER = "this iteration is over: another one began, or the pipeline was set to another place or closed"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("world"))


def make(world, *, seeds=None, seed=6, reader="direct", **options):
    options = {"batch_size": 100, "shuffle": True, "memory": "40MB", "cache": "30kB", **options}
    return gz.Pipeline(world.graph, seeds, [4, 3], features=world.store("x"), reader=reader, seed=seed, **options)


def assert_right(world, batch, seed=6):
    """The batch is what its place in the epoch says, as far as its own seeds tell."""
    assert_same(batch.sample, sampled(world.graph, batch, np.arange(NUM_NODES), [4, 3], seed=seed))
    assert_same(batch.node_features["x"], world.x[batch.sample.node])


@pytest.mark.parametrize("seed", [6, None])
@pytest.mark.parametrize("taken", [0, 1, 7, 19, 20])
def test_a_fresh_pipeline_goes_on_where_another_one_was(world, seed, taken):
    whole = make(world, seed=seed)
    begin = whole.state_dict()
    epochs = list(itertools.chain(whole, whole))
    interrupted = make(world, seed=None)
    interrupted.load_state_dict(begin)
    before = list(itertools.islice(interrupted, taken))
    state = pickle.loads(pickle.dumps(interrupted.state_dict()))
    resumed = make(world, seed=99, memory="30MB", threads=1)
    resumed.load_state_dict(state)
    assert (resumed.epoch, len(resumed)) == (0, 20)
    assert_same(before + list(resumed) + list(resumed), epochs)


def test_the_state_after_an_epoch_is_the_beginning_of_the_next(world):
    pipeline = make(world)
    epochs = [list(pipeline), list(pipeline)]
    pipeline.set_epoch(0)
    list(pipeline)
    resumed = make(world)
    resumed.load_state_dict(pipeline.state_dict())
    assert resumed.state_dict() == {"seed": 6, "epoch": 1, "batch": 0, "batches": 20, "ranks": 1}
    assert_same(list(resumed), epochs[1])


def test_an_epoch_that_is_left_early_is_followed_by_the_next(world):
    pipeline = make(world)
    epochs = [list(pipeline) for _ in range(3)]
    pipeline = make(world)
    for batch in pipeline:
        assert_same(batch, epochs[0][0])
        break
    assert pipeline.state_dict()["batch"] == 1
    assert_same(list(pipeline), epochs[1])
    pipeline.set_epoch(2)
    assert pipeline.epoch == 2
    assert_same(list(pipeline), epochs[2])
    pipeline.set_epoch(0)
    assert_same(list(pipeline), epochs[0])


def test_batches_know_their_number_and_epoch(world):
    pipeline = make(world)
    found = [(batch.epoch, batch.number) for _ in range(2) for batch in pipeline]
    assert found == list(itertools.product(range(2), range(20)))


def test_one_iteration_at_a_time(world):
    pipeline = make(world)
    first = iter(pipeline)
    assert_right(world, next(first))
    second = iter(pipeline)
    batch = next(second)
    assert batch.epoch == 1
    with pytest.raises(RuntimeError, match=OVER):
        next(first)
    for batch in second:  # which the end of the first has left alone
        assert_right(world, batch)
    assert batch.number == 19
    assert pipeline.epoch == 2


@pytest.mark.parametrize(
    "move",
    [
        lambda pipeline: pipeline.set_epoch(5),
        lambda pipeline: pipeline.load_state_dict({**pipeline.state_dict(), "epoch": 5, "batch": 0}),
    ],
)
def test_an_iteration_ends_when_the_pipeline_is_set_elsewhere(world, move):
    pipeline = make(world)
    iterator = iter(pipeline)
    next(iterator)
    move(pipeline)
    with pytest.raises(RuntimeError, match=OVER):
        next(iterator)
    assert next(iter(pipeline)).epoch == 5


def test_an_epoch_that_could_not_begin_is_not_skipped(world):
    pipeline = make(world, memory="1MB", cache=None)
    for _ in range(2):
        with pytest.raises(ValueError, match="memory: expected at least"):
            next(iter(pipeline))
        assert pipeline.state_dict()["epoch"] == 0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"batches": 19}, ValueError, "state: expected that of a pipeline with 20 batches an epoch, found 19; seeds, "),
        ({"batch": 21}, ValueError, r"state\['batch'\]: expected 0 to 20, found 21"),
        ({"batch": -1}, ValueError, r"state\['batch'\]: expected 0 to 20, found -1"),
        ({"batch": 1.5}, TypeError, r"state\['batch'\]: expected an integer, found 1.5"),
        ({"epoch": -1}, ValueError, r"state\['epoch'\]: expected 0 to 2\^63 - 1, found -1"),
        ({"seed": 2**64}, ValueError, r"state\['seed'\]: expected an integer of 64 bits"),
        (
            {"ranks": 3},
            ValueError,
            "state: expected that of 1 ranks, as many as divide the seeds here, found 3: go on wi",
        ),
        ({"ranks": None}, TypeError, r"state\['ranks'\]: expected an integer, found None"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(world, change, error, message):
    pipeline = make(world)
    next(iter(pipeline))
    before = pipeline.state_dict()
    with pytest.raises(error, match=message):
        pipeline.load_state_dict({**before, **change})
    assert pipeline.state_dict() == before


@pytest.mark.parametrize("state", [None, "x", [1, 2], 3])
def test_what_is_no_state_is_refused(world, state):
    problem = f"state: expected the dict that state_dict.. returns, found {type(state).__name__}; a rank without a"
    with pytest.raises(TypeError, match=problem):
        make(world).load_state_dict(state)


def test_another_number_of_ranks_goes_on_at_the_beginning_of_an_epoch(world):
    """In the middle of one, its batches are divided otherwise: some seeds would come twice, and others never."""
    of_two = make(world, rank=0, world_size=2)
    list(of_two)
    state = of_two.state_dict()
    assert (state["epoch"], state["batch"], state["ranks"]) == (1, 0, 2)
    ranks = [make(world, rank=rank, world_size=3) for rank in range(3)]
    seeds = []
    for pipeline in ranks:
        pipeline.load_state_dict(state)
        batches = list(pipeline)
        assert {batch.epoch for batch in batches} == {1}
        seeds += [seed for batch in batches for seed in batch.input_id.tolist()]
    alone = make(world)
    alone.set_epoch(1)
    assert set(seeds) == {seed for batch in alone for seed in batch.input_id.tolist()}
    next(iter(of_two))
    with pytest.raises(
        ValueError, match="state: expected that of 3 ranks, as many as divide the seeds here, found 2: "
    ):
        ranks[0].load_state_dict(of_two.state_dict())


def test_a_state_that_does_not_name_ranks_is_that_of_as_many(world):
    state = make(world).state_dict()
    del state["ranks"]
    make(world).load_state_dict(state)


@pytest.mark.parametrize("key", ["seed", "epoch", "batch", "batches"])
def test_a_state_without_one_of_its_parts_is_refused(world, key):
    state = make(world).state_dict()
    del state[key]
    with pytest.raises(ValueError, match=rf"state: expected what state_dict\(\) returns, found nothing under '{key}'"):
        make(world).load_state_dict(state)


@pytest.mark.parametrize(("epoch", "error"), [(-1, ValueError), (2**63, ValueError), ("1", TypeError)])
def test_an_epoch_is_a_number_from_0(world, epoch, error):
    with pytest.raises(error, match="epoch: expected "):
        make(world).set_epoch(epoch)


def test_a_closed_pipeline_says_so(world):
    pipeline = make(world)
    iterator = iter(pipeline)
    next(iterator)
    pipeline.close()
    pipeline.close()
    with pytest.raises(RuntimeError, match=OVER):
        next(iterator)
    for use in (len, list, gz.Pipeline.stats, gz.Pipeline.status, gz.Pipeline.state_dict, lambda p: p.set_epoch(1)):
        with pytest.raises(ValueError, match="the pipeline is closed"):
            use(pipeline)
    assert repr(pipeline) == "Pipeline(closed)"


@posix_only(reason=NO_DESCRIPTORS)
@pytest.mark.parametrize("reader", READERS)
def test_closing_ends_threads_although_an_iterator_is_kept(world, reader):
    before = tasks()
    with make(world, reader=reader) as pipeline:
        iterator = iter(pipeline)
        next(iterator)
        assert tasks() > before
    assert settled(tasks, before) == before
    del iterator


def leave(world, reader, how):
    pipeline = make(world, reader=reader)
    if how == "break":
        for batch in pipeline:
            if batch.number == 2:
                break
    elif how == "exception":
        with pytest.raises(ZeroDivisionError):
            for _ in pipeline:
                1 / 0  # noqa: B018
    elif how == "iterator":
        iterator = iter(pipeline)
        next(iterator)
        del iterator
    elif how == "pipeline":
        iterator = iter(pipeline)
        next(iterator)
        del pipeline, iterator
    else:
        cycle = [iter(pipeline)]
        next(cycle[0])
        cycle.append(cycle)
    gc.collect()


@posix_only(reason=NO_DESCRIPTORS)
@pytest.mark.parametrize("how", ["break", "exception", "iterator", "pipeline", "cycle"])
@pytest.mark.parametrize("reader", READERS)
def test_an_iteration_that_is_left_leaves_nothing_behind(world, reader, how):
    next(iter(make(world, reader=reader)))  # what the process keeps is there
    gc.collect()
    before, files = tasks(), descriptors()
    leave(world, reader, how)
    assert settled(tasks, before) == before
    assert settled(descriptors, files) == files


@pytest.mark.parametrize("reader", READERS)
def test_batches_that_are_kept_stay_right(world, reader):
    """More than the pipeline hands out memory for; and they outlive it."""
    pipeline = make(world, reader=reader)
    kept = [batch for _ in range(3) for batch in pipeline]
    pipeline.close()
    del pipeline
    gc.collect()
    for batch in kept:
        assert_right(world, batch)


@pytest.mark.parametrize("reader", READERS)
def test_stores_may_be_closed_while_batches_are_made(world, reader):
    graph, store = gz.Graph(f"{world.folder}/g.gl"), world.store("x")
    pipeline = gz.Pipeline(
        graph, None, [4, 3], features=store, batch_size=100, memory="40MB", cache=0, reader=reader, seed=6
    )
    iterator = iter(pipeline)
    found = [next(iterator)]
    graph.close()
    store.close()
    del graph, store
    gc.collect()
    found += iterator
    assert len(found) == 20
    for batch in found:
        assert_right(world, batch)


def test_a_batch_may_be_written_to(world):
    pipeline = make(world, cache=None)
    for batch in itertools.chain(pipeline, pipeline):
        assert_right(world, batch)
        batch.node_features["x"][:] = -1


@posix_only(reason=NO_DESCRIPTORS)
@pytest.mark.no_asan
@pytest.mark.no_tsan
def test_epochs_leak_nothing(world):
    code = f"""
    import json, os, sys, gc, numpy as np, graphzero as gz
    graph, x = gz.Graph("{world.folder}/g.gl"), gz.FeatureStore("{world.folder}/x.gd")
    def anonymous():
        gc.collect()
        return gz.memory_report().anonymous
    def facts():
        return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))
    def epochs(count):
        for reader in ("mmap", "direct", "pread"):
            pipeline = gz.Pipeline(graph, None, [8, 8], features=x, batch_size=50, memory="60MB", cache=0, reader=reader)
            for _ in range(count):
                for batch in pipeline: pass
            pipeline.close()
    epochs(2)
    before, held = facts(), anonymous()
    epochs(10)
    print(json.dumps([before, facts(), anonymous() - held]))
    """
    before, after, growth = run(code)
    assert before == after
    assert growth < 8 << 20


def test_two_pipelines_side_by_side(world):
    first, second = make(world, seed=1), make(world, seed=2, reader="pread")
    for one, other in zip(first, second, strict=True):
        assert_right(world, one, seed=1)
        assert_right(world, other, seed=2)


def test_other_threads_may_take_the_batches(world):
    """One after another, each from its own thread."""
    iterator, found = iter(make(world)), []
    for _ in range(5):
        thread = threading.Thread(target=lambda: found.append(next(iterator)))
        thread.start()
        thread.join()
    assert [batch.number for batch in found] == list(range(5))
    for batch in found:
        assert_right(world, batch)


FORK = """
    import json, os, numpy as np, warnings, graphzero as gz
    from pipeline_cases import assert_same
    warnings.simplefilter("ignore")
    graph, x = gz.Graph("{folder}/g.gl"), gz.FeatureStore("{folder}/x.gd")
    make = lambda: gz.Pipeline(graph, None, [4, 3], features=x, batch_size=100, shuffle=True, memory="40MB",
                               cache="30kB", reader="{reader}", threads=4, seed=6)
    pipeline = make()
    epochs = [list(pipeline) for _ in range(2)]
    pipeline = make()
    codes = []
    parent = []
    for batch in pipeline:
        parent.append(batch)
        if batch.number % 3 != 0: continue
        pid = os.fork()
        if pid == 0:
            del batch
            parent.clear()
            pipeline.stats()
            pipeline.set_epoch(1)
            assert_same(list(pipeline), epochs[1])
            raise SystemExit(0)
        codes.append(os.waitpid(pid, 0)[1])
    assert_same(parent, epochs[0])
    print(json.dumps(codes))
"""


@posix_only(reason=NO_FORK)
@pytest.mark.no_asan  # its allocator may hang in the fork of a process with threads
@pytest.mark.no_tsan
@pytest.mark.parametrize("reader", READERS)
def test_a_forked_child_iterates_anew_and_its_parent_goes_on(world, reader):
    assert run(FORK.format(folder=world.folder, reader=reader)) == [0] * 7


@posix_only(reason=NO_FORK)
@pytest.mark.no_tsan
def test_an_iterator_that_came_along_into_a_child_ends_there(world):
    code = f"""
    import json, os, warnings, graphzero as gz
    warnings.simplefilter("ignore")
    graph = gz.Graph("{world.folder}/g.gl")
    iterator = iter(gz.Pipeline(graph, None, [4], batch_size=100))
    next(iterator)
    pid = os.fork()
    if pid == 0:
        try:
            next(iterator)
        except RuntimeError as error:
            os._exit(7 if "another process" in str(error) else 8)
        os._exit(9)
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), len(list(iterator))]))
    """
    assert run(code) == [7, 19]


@pytest.mark.parametrize("method", ["spawn", pytest.param("forkserver", marks=posix_only(reason=NO_FORK))])
def test_children_make_pipelines_of_stores_that_are_sent_to_them(world, method):
    import multiprocessing

    expected = [batch.node_features["x"].sum() for batch in make(world)]
    with multiprocessing.get_context(method).Pool(1) as pool:
        found = pool.apply(sums, (world.graph, world.store("x")))
    assert found == expected


def sums(graph, store):
    pipeline = gz.Pipeline(graph, None, [4, 3], features=store, batch_size=100, shuffle=True, reader="direct", seed=6)
    return [batch.node_features["x"].sum() for batch in pipeline]


def test_a_pipeline_itself_does_not_travel(world):
    with pytest.raises(TypeError, match="a Pipeline is not pickled: make one of its graph and stores, which are, "):
        pickle.dumps(make(world))

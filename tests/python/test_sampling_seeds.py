"""A seed means the same sample: for any number of threads, in any order, in any process, warm or cold."""

import concurrent.futures
import multiprocessing
import pickle

import numpy as np
import pytest

import graphzero as gz
import oracle
from graphzero._tools.page_cache import drop_from_page_cache
from systems import NO_DROPPING, NO_FORK, posix_only

NODES = 20_000
OPTIONS = {
    "plain": {},
    "out": {"direction": "out"},
    "replace": {"replace": True},
    "weighted": {"weighted": True},
    "weighted with replacement": {"weighted": True, "replace": True},
    "disjoint": {"disjoint": True},
    "labor": {"method": "labor"},
    "weighted labor": {"method": "labor", "weighted": True, "layer_dependency": True},
    "induced": {"subgraph_type": "induced"},
    "bidirectional": {"subgraph_type": "bidirectional"},
    "excluded": {"exclude": (np.arange(500), np.arange(500)), "exclude_reverse": True},
}
TEMPORAL = {"temporal": {}, "window": {"time_window": 300}, "last": {"temporal_strategy": "last"}}
TEMPORAL["temporal weighted"] = {"weighted": True, "time_window": 300}


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """20,000 nodes, 400,000 edges, a few hubs, weights and times."""
    path = tmp_path_factory.mktemp("large") / "large.gl"
    rng = np.random.default_rng(0)
    src, dst = (rng.random((2, 400_000)) ** 2 * NODES).astype(np.int64)
    weight, time = rng.exponential(size=400_000), rng.integers(0, 1000, 400_000)
    gz.write_graph(path, src, dst, num_nodes=NODES, weight=weight, time=time)
    return path


@pytest.fixture(autouse=True)
def _default_threads():
    yield
    gz.set_num_threads(0)


def arrays(hood):
    """Everything in a sample, as something that can be compared."""
    trees = None if hood.batch is None else hood.batch.tobytes()
    parts = [array.tobytes() for array in (hood.node, hood.row, hood.col, hood.edge)]
    return parts, trees, hood.num_sampled_nodes, hood.num_sampled_edges


def sample(graph, name, batch=0, seed=11):
    seeds = (np.arange(2000) * 7 + batch * 13) % NODES  # several tasks of 512 nodes each
    options = OPTIONS.get(name)
    if options is None:
        options = {**TEMPORAL[name], "seed_time": seeds % 1000}
    return gz.sample_neighbors(graph, seeds, [5, 3], seed=seed, batch=batch, **options)


EVERY = [*OPTIONS, *TEMPORAL]


@pytest.mark.parametrize("name", EVERY)
def test_the_number_of_threads_does_not_matter(large, name):
    graph = gz.Graph(large)
    found = []
    for threads in (1, 2, 8):
        gz.set_num_threads(threads)
        found.append(arrays(sample(graph, name)))
    assert found[0] == found[1] == found[2]
    assert arrays(sample(graph, name, seed=12)) != found[0] or name == "last"


def test_the_order_of_batches_does_not_matter(large):
    graph = gz.Graph(large)
    expected = [arrays(sample(graph, "plain", batch)) for batch in range(8)]
    assert len({str(found[2]) for found in expected}) > 1
    backwards = [arrays(sample(graph, "plain", batch)) for batch in reversed(range(8))]
    assert backwards[::-1] == expected
    with concurrent.futures.ThreadPoolExecutor(4) as executor:
        assert list(executor.map(lambda batch: arrays(sample(graph, "plain", batch)), range(8))) == expected


def test_a_pickled_graph_gives_the_same_sample(large):
    graph = gz.Graph(large)
    assert arrays(sample(pickle.loads(pickle.dumps(graph)), "weighted")) == arrays(sample(graph, "weighted"))


def send_samples(graph, connection):
    seeds = np.arange(100)
    with_seed = gz.sample_neighbors(graph, seeds, [5], seed=4)
    without = gz.sample_neighbors(graph, seeds, [5])
    connection.send((with_seed.edge.tolist(), without.edge.tolist(), graph.batch_random_fanout(seeds, 3).tolist()))


@pytest.mark.parametrize(
    "method", ["spawn", pytest.param("fork", marks=[pytest.mark.no_tsan, posix_only(reason=NO_FORK)])]
)
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_workers_repeat_each_other_only_under_a_seed(large, method):
    graph = gz.Graph(large)
    sample(graph, "plain")  # the parent's pool is awake when it forks
    context = multiprocessing.get_context(method)
    found = []
    for _ in range(3):
        ours, theirs = context.Pipe()
        process = context.Process(target=send_samples, args=(graph, theirs))
        process.start()
        assert ours.poll(60)
        found.append(ours.recv())
        process.join(60)
        assert process.exitcode == 0
    assert (
        found[0][0]
        == found[1][0]
        == found[2][0]
        == gz.sample_neighbors(graph, np.arange(100), [5], seed=4).edge.tolist()
    )
    assert len({str(edges) for _, edges, _ in found}) == 3
    assert len({str(rows) for _, _, rows in found}) == 3


def test_without_a_seed_every_call_differs(large):
    graph = gz.Graph(large)
    assert len({sample(graph, "plain", seed=None).edge.tobytes() for _ in range(5)}) == 5


@pytest.mark.parametrize(("other", "same"), [(-1, 2**64 - 1), (-(2**63), 2**63), (np.int64(7), 7), (np.uint8(7), 7)])
def test_seeds_are_64_bits_of_any_integer_type(large, other, same):
    graph = gz.Graph(large)
    assert arrays(sample(graph, "plain", seed=other)) == arrays(sample(graph, "plain", seed=same))


def test_seed_epoch_and_batch_are_different_words(large):
    graph = gz.Graph(large)
    words = [
        {"seed": 1},
        {"seed": 2},
        {"seed": 1, "epoch": 1},
        {"seed": 1, "batch": 1},
        {"seed": 1, "epoch": 2**64 - 1},
    ]
    found = {gz.sample_neighbors(graph, np.arange(500), [3], **word).edge.tobytes() for word in words}
    assert len(found) == len(words)


@posix_only(reason=NO_DROPPING)
@pytest.mark.parametrize("name", EVERY)
def test_a_cold_file_gives_the_same_sample(large, name):
    with gz.Graph(large) as graph:
        expected = arrays(sample(graph, name))
        fanout = graph.batch_random_fanout(np.arange(3000), 4, seed=1)
    del graph
    drop_from_page_cache(large)
    with gz.Graph(large) as graph:
        if graph.resident_bytes() > graph.nbytes // 2:
            pytest.skip("this file system keeps its pages")
        assert arrays(sample(graph, name)) == expected
        assert (graph.batch_random_fanout(np.arange(3000), 4, seed=1) == fanout).all()


# Edges drawn for 8 and 0 at the first hop and for what they lead to at the second. They must never change.
LITERALS = [
    ({}, [3, 6, 4, 8, 9, 10]),
    ({"epoch": 1}, [4, 3, 6, 8, 9, 10]),
    ({"batch": 1}, [3, 1, 4, 8, 9, 10]),
    ({"replace": True}, [5, 7, 4, 10, 8, 8]),
    ({"weighted": True}, [1, 3, 7, 8, 9, 10]),
    ({"weighted": True, "replace": True}, [6, 7, 6, 10, 8, 8]),
    ({"disjoint": True}, [2, 5, 1, 8, 9, 10]),
    ({"seed_time": [5, 9]}, [1, 3, 5, 8, 9]),
    ({"method": "labor"}, [1, 4, 7, 8, 9, 10]),
    ({"method": "labor", "weighted": True}, [0, 2, 3, 8, 9, 10]),
]


@pytest.fixture
def star(tmp_path):
    """0 … 7 point at 8; 2, 3 and 4 at 0; edge i has weight i + 1 and time i."""
    src, dst = [0, 1, 2, 3, 4, 5, 6, 7, 2, 3, 4], [8] * 8 + [0] * 3
    gz.write_graph("star.gl", src, dst, weight=np.arange(1, 12), time=np.arange(11))
    return gz.Graph("star.gl")


@pytest.mark.parametrize(("options", "edges"), LITERALS)
def test_a_seed_means_these_edges_for_ever(star, options, edges):
    assert gz.sample_neighbors(star, [8, 0], [3, 2], seed=1, **options).edge.tolist() == edges


def test_a_draw_is_keyed_by_seed_epoch_batch_hop_relation_node_and_tree(star):
    """Recomputed from docs/design/randomness.md: the neighbours of 8 drawn with replacement."""
    words = [1, 3, 4, 0, 0, 8]  # neighbour sampling, epoch, batch, hop, relation, node
    for disjoint, key in ((False, words), (True, [*words, 0])):
        hood = gz.sample_neighbors(star, [8], [6], replace=True, seed=2, epoch=3, batch=4, disjoint=disjoint)
        stream = oracle.stream(2, *key)
        assert hood.edge.tolist() == [oracle.below(stream, 8) for _ in range(6)]

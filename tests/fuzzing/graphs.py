"""``.gl`` files: every method of a graph, samples and walks of every kind."""

from itertools import pairwise

import numpy as np

import files
import graphzero as gz
import proofs
from fuzzing.opening import Format, Originals
from fuzzing.promises import REFUSED, attempt, refused

KIND = ("node", "to", "node")
OTHER = ("node", "back", "node")
MANY = 20  # steps of a walk


def same(array, expected):
    """Whether two arrays are one and the same, or both absent."""
    if array is None or expected is None:
        return array is expected
    return array.dtype == expected.dtype and array.shape == expected.shape and array.tobytes() == expected.tobytes()


def compare(graph, expected, intact):
    """Every method answers what the slow reader reads, or refuses an offset that leads outside."""
    assert (graph.num_src_nodes, graph.num_dst_nodes) == (expected.num_src_nodes, expected.num_dst_nodes)
    assert (graph.num_edges, graph.num_input_edges) == (expected.num_edges, expected.num_input_edges)
    assert (graph.directed, graph.bipartite) == (expected.directed, expected.bipartite)
    assert repr(graph)
    for side in ("out", "in"):
        if f"{side}_indptr" in expected.arrays:
            compare_index(graph, expected, side)
    draw_negatives(graph, intact)
    if not graph.bipartite:
        for options in SAMPLES:
            sample(graph, options, intact)
        for options in WALKS:
            walk(graph, options)
        compile_again(graph)


def compare_index(graph, expected, side):
    """Lists are those of the file, wherever they lie inside it."""
    index = graph.index(side)
    for role in files.ROLES:
        assert same(getattr(index, role), expected.arrays.get(f"{side}_{role}"))
    indptr = index.indptr.tolist()
    good = []
    for node, (begin, end) in enumerate(pairwise(indptr)):
        if 0 <= begin <= end <= graph.num_edges:
            good.append(node)
            assert same(graph.neighbors(node, side), expected.arrays[f"{side}_indices"][begin:end])
        else:
            assert refused(graph.neighbors, node, side)
            assert refused(graph.degree, [node], side)
    assert graph.degree(good, side).tolist() == [indptr[node + 1] - indptr[node] for node in good]
    for node in (-1, len(indptr) - 1, 2**62):
        assert refused(graph.neighbors, node, side)
    if side == "out":
        for node in good[:3]:
            attempt(graph.get_weights, node)
            attempt(graph.sample_neighbours, node, 2, seed=0)
        rows = attempt(graph.batch_random_fanout, good, 3, seed=0)
        assert rows is REFUSED or (rows < graph.num_dst_nodes).all()


# What to draw, and from how many hops; times and weights are refused where the graph has none.
SAMPLES = [
    {},
    {"direction": "out"},
    {"replace": True},
    {"weighted": True},
    {"weighted": True, "replace": True, "direction": "out"},
    {"disjoint": True},
    {"seed_time": 2},
    {"seed_time": 2, "temporal_strategy": "last"},
    {"seed_time": 2**62, "time_window": 2**62, "weighted": True},
    {"seed_time": -(2**63), "time_window": 2**63 - 1},
    {"seed_time": 1, "node_time": True, "temporal_strategy": "last"},
    {"subgraph_type": "bidirectional"},
    {"subgraph_type": "induced"},
    {"subgraph_type": "induced", "direction": "out", "disjoint": True},
    {"method": "labor"},
    {"method": "labor", "layer_dependency": True, "weighted": True},
    {"exclude": True},
    {"exclude": True, "exclude_reverse": True, "direction": "out"},
    {"several": True},
    {"several": True, "subgraph_type": "bidirectional", "weighted": True},
]


def sample(graph, options, intact):
    """A sample holds nodes and edge ids that are there, or is refused."""
    options = dict(options)
    count = graph.num_nodes
    seeds = np.arange(min(count, 5))
    if "seed_time" in options:
        options["seed_time"] = np.full(len(seeds), options["seed_time"])
    if options.pop("node_time", False):
        if count > 1 << 16:
            return
        options["node_time"] = np.arange(count) % 3
    if options.get("exclude"):
        options["exclude"] = (seeds, seeds[::-1].copy(), np.arange(len(seeds)))
    several = options.pop("several", False)
    fanouts = [-1, 2] if not several else {KIND: [-1, 2], OTHER: [2, 0]}
    graphs = {KIND: graph, OTHER: graph} if several else graph
    found = attempt(gz.sample_neighbors, graphs, {"node": seeds} if several else seeds, fanouts, seed=0, **options)
    if found is REFUSED:
        plain = set(options) <= {"direction"} and options.get("direction", "in") in graph.indexes
        assert not (intact and plain), "a whole file can be sampled"
        return
    nodes = found.node["node"] if several else found.node
    # Edge ids are read when they are asked for.
    edges = attempt(lambda: [found.edge] if not several else list(found.edge.values()))
    if edges is REFUSED:
        assert not intact, "a whole file has its edge ids"
        edges = []
    rows = [found.row, found.col] if not several else [*found.row.values(), *found.col.values()]
    assert inside(nodes, count)
    assert all(inside(ids, graph.num_input_edges) for ids in edges)
    assert all(inside(ends, len(nodes)) for ends in rows)


def inside(ids, limit):
    """Whether all ids are from 0 to below the limit."""
    return bool(((ids >= 0) & (ids < limit)).all())


WALKS = [
    {},
    {"direction": "in"},
    {"weighted": True},
    {"p": 0.5, "q": 2.0},
    {"p": 4.0, "q": 0.25, "weighted": True, "direction": "in"},
    {"restart": 0.3},
    {"metapath": [KIND, OTHER], "restart": 0.1},
    {"metapath": [KIND], "weighted": True},
]


def walk(graph, options):
    """A walk goes over nodes that are there, or is refused."""
    starts = np.arange(min(graph.num_nodes, 9))
    graphs = {KIND: graph, OTHER: graph} if "metapath" in options else graph
    steps = attempt(gz.random_walk, graphs, starts, MANY, seed=0, **options)
    if steps is not REFUSED:
        least = -1 if "metapath" in options else 0
        assert ((steps >= least) & (steps < graph.num_nodes)).all()


def draw_negatives(graph, intact):
    """Pairs are of nodes that are there."""
    sources = np.arange(min(graph.num_src_nodes, 4))
    for options in ({}, {"by": "degree"}, {"exclude_edges": True}, {"exclude_edges": True, "by": "degree"}):
        drawn = attempt(gz.sample_negatives, graph, sources, 3, seed=0, **options)
        assert drawn is REFUSED or inside(drawn, graph.num_dst_nodes)
        pairs = attempt(gz.sample_negative_pairs, graph, 5, seed=0, **options)
        assert pairs is REFUSED or (inside(pairs[0], graph.num_src_nodes) and inside(pairs[1], graph.num_dst_nodes))
    attempt(graph.has_edges, sources, np.zeros(len(sources), np.int64))


def compile_again(graph):
    """The order of hot rows, and blocks for DGL, read the file too."""
    if graph.num_nodes <= 1 << 16:
        attempt(gz.write_features, "hot.gd", np.zeros((graph.num_nodes, 1), np.float32), order="hot", graph=graph)
    attempt(graph.preload)


def contents(folder):
    """Graphs of every kind."""
    rng = np.random.default_rng(7)
    src, dst = rng.integers(0, 9, 25), rng.integers(0, 9, 25)
    more = {"weight": rng.random(25), "time": rng.integers(0, 4, 25)}
    long = {"weight": rng.random(60)}
    edges = rng.integers(0, 4, 60), rng.integers(0, 4, 60)
    path = folder / "original.gl"
    variants = [{}, more, {**more, "directed": False}, {"index": "in"}, {"index": "out"}, {"num_nodes": (9, 12)}]
    variants += [{"weight": more["weight"]}, {"time": more["time"], "index": "in"}, {**more, "num_nodes": (9, 12)}]
    found = []
    for options in variants:
        gz.write_graph(path, src, dst, **options)
        found.append(path.read_bytes())
    for options in (long, {**long, "directed": False}):  # enough edges of a node for several stored sums
        gz.write_graph(path, *edges, **options)
        found.append(path.read_bytes())
    gz.convert_edges((src, dst), path, edge_ids=False, index="out")
    return [*found, path.read_bytes()]


FORMAT = Format(files.MAGIC["gl"], gz.Graph, files.read_gl, proofs.holds, compare)


class Target(Originals):
    """Graphs."""

    def __init__(self, folder):
        super().__init__(folder, contents(folder), [FORMAT])

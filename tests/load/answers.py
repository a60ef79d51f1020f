"""A data set in two generations whose every number is a function of its place, so that any answer can be checked."""

import json
import zlib
from dataclasses import dataclass

import numpy as np

import graphzero as gz
from graphzero.loaders import NeighborLoader

EDGES_PER_NODE = 4
FANOUTS = [5, 3]
BATCH_SIZE = 128
BATCHES = 6  # that are recorded of each pipeline and loader
VARIANTS = 3  # seeds that answers are recorded for
STARTS = 500  # nodes that samples and walks begin at


class WrongAnswer(Exception):
    """What came is neither the right answer nor an error."""


@dataclass(frozen=True)
class Size:
    """How large the data set is, and how much memory a pipeline on it may take."""

    nodes: int
    columns: int
    memory: str


def rows(nodes, generation, columns):
    """Return the features of nodes: whole numbers that float32 holds exactly."""
    places = np.asarray(nodes, dtype=np.int64)[:, None] * 31 + np.arange(columns) * 7
    return ((places + generation * 1_000_003) % 65_521).astype(np.float32)


def labels(nodes, generation):
    return (np.asarray(nodes, dtype=np.int64) * 7 + generation) % 10


def edge_rows(edges, generation):
    return rows(edges, generation + 2, 2)


def destinations(edges, generation, nodes):
    """Return where edges lead; edge ``e`` comes from node ``e // EDGES_PER_NODE``."""
    mixed = (np.asarray(edges, dtype=np.uint64) + np.uint64(generation * 977)) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(20)) % np.uint64(nodes)).astype(np.int64)


def edges_of(generation, nodes):
    ids = np.arange(nodes * EDGES_PER_NODE)
    return ids // EDGES_PER_NODE, destinations(ids, generation, nodes)


def train(generation, nodes):
    return np.arange(generation, nodes, 10)


def write(path, generation, size, **options):
    """Write one generation of the data set."""
    every, src_dst = np.arange(size.nodes), edges_of(generation, size.nodes)
    with gz.DatasetWriter(path, **options) as writer:
        features = {"x": rows(every, generation, size.columns), "y": labels(every, generation)}
        writer.add_nodes(features, label="y", num_classes=10)
        writer.add_edges(*src_dst, attributes={"w": edge_rows(np.arange(len(src_dst[0])), generation)})
        writer.add_split("train", train(generation, size.nodes))


def generation_of(data):
    """Tell by its first label which generation a data set is; all else is compared with that one."""
    return int(data.features("y").gather([0])[0])


def same(found, expected, what):
    found = np.asarray(found)
    if found.shape != expected.shape or not np.array_equal(found, expected):
        raise WrongAnswer(f"{what}: {_difference(found, expected)}")


def _difference(found, expected):
    if found.shape != expected.shape:
        return f"expected shape {expected.shape}, found {found.shape}"
    at = tuple(int(i) for i in np.argwhere(found != expected)[0])
    wrong = int((found != expected).sum())
    return f"{wrong} of {found.size} differ, first at {at}: expected {expected[at]}, found {found[at]}"


def check_edges(src, dst, ids, generation, size):
    same(src, ids // EDGES_PER_NODE, "sources of sampled edges")
    same(dst, destinations(ids, generation, size.nodes), "destinations of sampled edges")


def check_sample(sample, generation, size):
    check_edges(sample.node[sample.row], sample.node[sample.col], sample.edge, generation, size)
    return checksum(sample.node, sample.row, sample.col, sample.edge)


def check_batch(batch, generation, size):
    """Check a batch of a pipeline."""
    sample = batch.sample
    same(sample.node[: batch.num_seeds], train(generation, size.nodes)[batch.input_id], "seeds")
    same(batch.node_features["x"], rows(sample.node, generation, size.columns), "x")
    same(batch.node_features["y"], labels(sample.node, generation), "y")
    same(batch.edge_features["w"], edge_rows(sample.edge, generation), "w")
    return check_sample(sample, generation, size)


def check_loaded(batch, generation, size):
    """Check a batch of a loader; both forms have PyG's names."""
    node, edge, (row, col) = batch.n_id.numpy(), batch.e_id.numpy(), batch.edge_index.numpy()
    same(node[: batch.batch_size], train(generation, size.nodes)[batch.input_id.numpy()], "seeds")
    same(batch.x.numpy(), rows(node, generation, size.columns), "x")
    same(batch.y.numpy(), labels(node, generation), "y")
    same(batch.w.numpy(), edge_rows(edge, generation), "w")
    check_edges(node[row], node[col], edge, generation, size)
    return checksum(node, row, col, edge)


def check_walks(walks, starts, generation, size):
    same(walks[:, 0], starts, "starts of walks")
    for step in range(1, walks.shape[1]):
        there = walks[:, step - 1, None] * EDGES_PER_NODE + np.arange(EDGES_PER_NODE)
        if not (destinations(there, generation, size.nodes) == walks[:, step, None]).any(axis=1).all():
            raise WrongAnswer(f"step {step} of a walk follows no edge")
    return checksum(walks)


def checksum(*arrays):
    value = 0
    for array in arrays:
        value = zlib.crc32(np.ascontiguousarray(array, dtype=np.int64), value)
    return value


def starts_of(variant, size):
    return np.random.default_rng(variant).integers(0, size.nodes, STARTS)


def pipeline(data, variant, size, **options):
    return gz.Pipeline(
        data, "train", FANOUTS, batch_size=BATCH_SIZE, shuffle=True, seed=variant, memory=size.memory, **options
    )


def loader(data, variant, size, **options):
    return NeighborLoader(
        data, FANOUTS, "train", batch_size=BATCH_SIZE, shuffle=True, seed=variant, memory=size.memory, **options
    )


def sample(data, variant, size):
    return gz.sample_neighbors(data.graph, starts_of(variant, size), FANOUTS, seed=variant)


def walk(data, variant, size):
    return gz.random_walk(data.graph, starts_of(variant, size), 8, seed=variant)


class Recorded:
    """Checksums of answers to calls with a fixed seed, taken before anything was disturbed."""

    def __init__(self, path):
        with open(path) as file:
            self._sums = json.load(file)

    def compare(self, found, *key):
        if found != self._sums[_key(key)]:
            raise WrongAnswer(f"{_key(key)}: another answer than the recorded one, each part of which is legal")


def record(path, folders, size):
    """Write the checksums that :class:`Recorded` reads."""
    sums = {}
    for generation, folder in enumerate(folders):
        with gz.open(folder) as data:
            for variant in range(VARIANTS):
                key = generation, variant
                sums[_key((*key, "sample"))] = check_sample(sample(data, variant, size), generation, size)
                walks = walk(data, variant, size)
                sums[_key((*key, "walk"))] = check_walks(walks, starts_of(variant, size), generation, size)
                for number, batch in zip(range(BATCHES), pipeline(data, variant, size), strict=False):
                    sums[_key((*key, "pipeline", number))] = check_batch(batch, generation, size)
                for number, batch in zip(range(BATCHES), loader(data, variant, size), strict=False):
                    sums[_key((*key, "loader", number))] = check_loaded(batch, generation, size)
    with open(path, "w") as file:
        json.dump(sums, file)


def _key(parts):
    return "/".join(map(str, parts))

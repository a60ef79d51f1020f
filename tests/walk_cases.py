"""Graphs and checks that the tests of walk loaders share."""

import itertools
import warnings

import numpy as np
import pytest

import graphzero as gz
from data_sets import pyg

METHODS = [pytest.param("fork", marks=pytest.mark.no_tsan), "spawn", "forkserver"]
# What Python and torch say of workers beside threads, and of more workers than cores.
OF_WORKERS = ["ignore:.*multi-threaded, use of fork.*:DeprecationWarning", "ignore:This DataLoader will create"]

WRITES = ("author", "writes", "paper")
WRITTEN_BY = ("paper", "written_by", "author")
PUBLISHED = ("paper", "published", "venue")
PATH = [WRITES, WRITTEN_BY]
COUNTS = {"author": 4, "paper": 5, "venue": 2}
# Author 3 and paper 4 have no edges; paper 3 leads back to nobody.
EDGES = {
    WRITES: ([0, 0, 1, 2, 2], [0, 1, 1, 2, 3]),
    WRITTEN_BY: ([0, 1, 1, 2], [0, 0, 1, 2]),
    PUBLISHED: ([0, 1, 2, 3], [0, 1, 1, 0]),
}


def pyg_nn():
    """torch_geometric.nn; importing it warns of what torch deprecates."""
    pyg()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch_geometric.nn
    return torch_geometric.nn


def ring(num_nodes=10, path="ring.gl"):
    """Write a directed ring with chords: v → v+1, v → v+3."""
    nodes = np.arange(num_nodes)
    gz.write_graph(path, np.tile(nodes, 2), np.concatenate([(nodes + 1) % num_nodes, (nodes + 3) % num_nodes]))
    return gz.Graph(path)


def communities(num_nodes=60, degree=8, apart=0.05, seed=0, path="communities.gl"):
    """Write two communities with few edges between them; nodes below the half are one of them."""
    rng = np.random.default_rng(seed)
    src = np.repeat(np.arange(num_nodes), degree)
    half = num_nodes // 2
    own = rng.integers(0, half, len(src)) + half * (src >= half)
    dst = np.where(rng.random(len(src)) < apart, rng.integers(0, num_nodes, len(src)), own)
    gz.write_graph(path, src, dst, num_nodes=num_nodes, directed=False)
    return gz.Graph(path)


def graphs():
    for kind, (src, dst) in EDGES.items():
        gz.write_graph(f"{kind[1]}.gl", src, dst, num_nodes=(COUNTS[kind[0]], COUNTS[kind[2]]))
    return {kind: gz.Graph(f"{kind[1]}.gl") for kind in EDGES}


def neighbours(src, dst, num_nodes):
    lists = [[] for _ in range(num_nodes)]
    for u, v in zip(src, dst, strict=True):
        lists[u].append(v)
    return lists


def assert_legal(walks, graph):
    """Every step is an edge, or stands still at a node without edges."""
    lists = [set(graph.neighbors(node).tolist()) for node in range(graph.num_nodes)]
    for walk in np.asarray(walks).tolist():
        for here, there in itertools.pairwise(walk):
            assert there in lists[here] or (not lists[here] and here == there)

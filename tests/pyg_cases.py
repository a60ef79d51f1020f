"""The same small graphs as graphzero's data sets and as PyG's in-memory data, and batches compared field by field."""

import itertools
from dataclasses import dataclass

import numpy as np
import torch

import graphzero as gz
from data_sets import pyg

A, B = "author", "paper"
WRITES, REV, CITES = (A, "writes", B), (B, "rev_writes", A), (B, "cites", B)


@dataclass
class Homogeneous:
    """A graph without parallel edges. Edges are in order of source, so that lists are in order in PyG, too."""

    num_nodes: int
    src: np.ndarray
    dst: np.ndarray

    @property
    def x(self):
        return np.arange(self.num_nodes * 3, dtype=np.float32).reshape(-1, 3) / 8

    @property
    def y(self):
        return np.arange(self.num_nodes) % 5

    @property
    def edge_attr(self):
        return np.arange(len(self.src) * 2, dtype=np.float32).reshape(-1, 2)

    def dataset(self, path="homogeneous", attributes=None, **options):
        with gz.DatasetWriter(path) as writer:
            writer.add_nodes({"x": self.x, "y": self.y, **(attributes or {})}, label="y", num_classes=5)
            writer.add_edges(self.src, self.dst, attributes={"edge_attr": self.edge_attr}, **options)
        return gz.open(path)

    def in_memory(self):
        return pyg().Data(
            x=torch.from_numpy(self.x),
            y=torch.from_numpy(self.y),
            edge_index=torch.from_numpy(np.stack([self.src, self.dst])),
            edge_attr=torch.from_numpy(self.edge_attr),
        )


@dataclass
class Hetero:
    """Two kinds of node, three of edge in order of name, as torch_sparse follows them."""

    num_nodes: dict
    edges: dict

    def x(self, kind):
        return np.arange(self.num_nodes[kind] * 2, dtype=np.float32).reshape(-1, 2) + (kind == A) / 2

    def edge_attr(self, triple):
        return np.arange(len(self.edges[triple][0]), dtype=np.float32)[:, None]

    def dataset(self, path="hetero", attributes=None, **options):
        with gz.DatasetWriter(path) as writer:
            for kind in self.num_nodes:
                named = {"x": self.x(kind), **(attributes or {}).get(kind, {})}
                writer.add_nodes(named, type=kind)
            for triple, (src, dst) in self.edges.items():
                writer.add_edges(src, dst, type=triple, attributes={"edge_attr": self.edge_attr(triple)}, **options)
        return gz.open(path)

    def in_memory(self):
        data = pyg().HeteroData()
        for kind in self.num_nodes:
            data[kind].x = torch.from_numpy(self.x(kind))
        for triple, ends in self.edges.items():
            data[triple].edge_index = torch.from_numpy(np.stack(ends))
            data[triple].edge_attr = torch.from_numpy(self.edge_attr(triple))
        return data


def _edges(rng, num_src, num_dst, count):
    pairs = np.unique(np.stack([rng.integers(0, num_src, count), rng.integers(0, num_dst, count)], axis=1), axis=0)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def homogeneous(num_nodes=40, count=120, seed=0):
    return Homogeneous(num_nodes, *_edges(np.random.default_rng(seed), num_nodes, num_nodes, count))


def hetero(seed=0):
    rng = np.random.default_rng(seed)
    counts = {A: 15, B: 30}
    return Hetero(
        counts,
        {triple: _edges(rng, counts[triple[0]], counts[triple[2]], 60) for triple in sorted((WRITES, REV, CITES))},
    )


def plain(value):
    """A batch's field as Python's own lists, so that two of them can be compared."""
    if isinstance(value, torch.Tensor):
        return (str(value.dtype), value.tolist())
    return value


def fields(batch, leave_out=()):
    """All fields of a Data or HeteroData that are not ``None``, by (type, name)."""
    stores = (
        {None: batch._store}
        if not hasattr(batch, "node_types")
        else {kind: batch[kind] for kind in itertools.chain(batch.node_types, batch.edge_types)}
    )
    return {
        (kind, name): plain(value)
        for kind, store in stores.items()
        for name, value in store.items()
        if value is not None and name not in leave_out
    }


def assert_same_batches(ours, theirs, leave_out=(), optional=()):
    """Both loaders give the same batches, field by field; ``optional`` fields are compared where both have them."""
    count = 0
    for one, other in itertools.zip_longest(ours, theirs):
        found, expected = fields(one, leave_out), fields(other, leave_out)
        for key in expected:
            assert found[key] == expected[key], key
        assert {key for key in set(found) ^ set(expected) if key[1] not in optional} == set()
        count += 1
    assert count > 1

"""Data for loaders, and what their batches must hold."""

from dataclasses import dataclass

import numpy as np
import torch

import graphzero as gz
from data_sets import pyg
from pipeline_cases import assert_same

AUTHOR, PAPER = "author", "paper"
WRITES, REVERSE, CITES = (AUTHOR, "writes", PAPER), (PAPER, "rev_writes", AUTHOR), (PAPER, "cites", PAPER)
NUM_NODES, NUM_EDGES = 300, 2_000
COUNTS = {AUTHOR: 80, PAPER: 200}


@dataclass
class Data:
    """A data set, and what it was written from: arrays by name, or by type and name; edges as pairs."""

    dataset: gz.Dataset
    nodes: dict
    edges: dict
    train: np.ndarray
    held_out: np.ndarray  # edge ids

    @property
    def graphs(self):
        return {triple: kind.graph for triple, kind in self.dataset.edges.items()}

    @property
    def stores(self):
        return {of: dict(kind.attributes) for of, kind in self.dataset.nodes.items()}

    @property
    def edge_stores(self):
        return {of: dict(kind.attributes) for of, kind in self.dataset.edges.items()}


def write_homogeneous(folder):
    """Nodes with ``x``, ``y`` and ``time``; edges with weights, times and ``edge_attr``."""
    rng = np.random.default_rng(1)
    src = (NUM_NODES * rng.random(NUM_EDGES) ** 2).astype(np.int64)
    dst = rng.integers(0, NUM_NODES, NUM_EDGES)
    nodes = {
        "x": rng.standard_normal((NUM_NODES, 6)).astype(np.float32),
        "y": rng.integers(0, 4, NUM_NODES),
        "time": rng.integers(0, 100, NUM_NODES),
    }
    edges = {"edge_attr": rng.standard_normal((NUM_EDGES, 2)).astype(np.float32)}
    train, held_out = rng.permutation(NUM_NODES)[:90], rng.permutation(NUM_EDGES)[:150]
    with gz.DatasetWriter(f"{folder}/homogeneous") as writer:
        writer.add_nodes(nodes, label="y", num_classes=4)
        weight = rng.integers(1, 6, NUM_EDGES).astype(np.float32)
        writer.add_edges(src, dst, attributes=edges, weight=weight)
        writer.add_split("train", train)
        writer.add_split("held out", held_out, of=("node", "to", "node"))
    times = rng.integers(0, 100, NUM_EDGES)
    gz.write_graph(f"{folder}/timed.gl", src, dst, num_nodes=NUM_NODES, time=times)
    return Data(
        gz.open(f"{folder}/homogeneous"), nodes, {**edges, "src": src, "dst": dst, "time": times}, train, held_out
    )


def write_heterogeneous(folder):
    """Papers with ``x``, ``y`` and ``time``, authors with ``x`` alone; citations with ``edge_attr``."""
    rng = np.random.default_rng(2)
    nodes = {
        AUTHOR: {"x": rng.standard_normal((COUNTS[AUTHOR], 3)).astype(np.float32)},
        PAPER: {
            "x": rng.standard_normal((COUNTS[PAPER], 5)).astype(np.float32),
            "subject": rng.integers(0, 4, COUNTS[PAPER]),
            "time": rng.integers(0, 100, COUNTS[PAPER]),
        },
    }
    authors, written = rng.integers(0, COUNTS[AUTHOR], 500), rng.integers(0, COUNTS[PAPER], 500)
    src, dst = rng.integers(0, COUNTS[PAPER], 900), rng.integers(0, COUNTS[PAPER], 900)
    edges = {
        WRITES: {"src": authors, "dst": written},
        REVERSE: {"src": written, "dst": authors},
        CITES: {"src": src, "dst": dst, "edge_attr": rng.standard_normal((900, 2)).astype(np.float32)},
    }
    train, held_out = rng.permutation(COUNTS[PAPER])[:60], rng.permutation(500)[:100]
    with gz.DatasetWriter(f"{folder}/heterogeneous") as writer:
        writer.add_nodes(nodes[AUTHOR], type=AUTHOR)
        writer.add_nodes(nodes[PAPER], type=PAPER, label="subject", num_classes=4)
        for triple, values in edges.items():
            attributes = {name: array for name, array in values.items() if name == "edge_attr"}
            writer.add_edges(values["src"], values["dst"], type=triple, attributes=attributes)
        writer.add_split("train", train, of=PAPER)
        writer.add_split("held out", held_out, of=WRITES)
    return Data(gz.open(f"{folder}/heterogeneous"), nodes, edges, train, held_out)


def values(batch):
    """All that a batch holds, tensors as arrays."""

    def plain(value):
        if isinstance(value, torch.Tensor):
            return value.numpy()
        return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value

    found = plain(batch.to_dict() if hasattr(batch, "to_dict") else dict(batch))
    found.pop("_global_store", None)
    return found


def assert_holds(batch, expected):
    """A batch holds this and nothing else, bit by bit, in whatever order."""

    def in_order(items):
        keys = sorted(items, key=str)
        return {key: in_order(items[key]) if isinstance(items[key], dict) else items[key] for key in keys}

    assert_same(in_order(values(batch)), in_order(expected))


def named(hood):
    """A sample under PyG's names."""
    if isinstance(hood, gz.Neighborhood):
        found = {
            "n_id": hood.node,
            "edge_index": hood.edge_index,
            "e_id": hood.edge,
            "num_sampled_nodes": hood.num_sampled_nodes,
            "num_sampled_edges": hood.num_sampled_edges,
            "batch": hood.batch,
        }
        return {name: value for name, value in found.items() if value is not None}
    groups = {of: {"n_id": ids, "num_sampled_nodes": hood.num_sampled_nodes[of]} for of, ids in hood.node.items()}
    for triple, edge in hood.edge.items():
        groups[triple] = {"edge_index": np.stack([hood.row[triple], hood.col[triple]]), "e_id": edge}
    for name, by_type in (("batch", hood.batch), ("num_sampled_edges", hood.num_sampled_edges)):
        for of, value in (by_type or {}).items():
            groups[of][name] = value
    return groups


def with_rows(data, hood):
    """A sample under PyG's names, with the rows of all attributes."""
    found = named(hood)
    if not data.dataset.is_hetero:
        return {
            **found,
            **{name: array[hood.node] for name, array in data.nodes.items()},
            "edge_attr": data.edges["edge_attr"][hood.edge],
        }
    for of, arrays in data.nodes.items():
        found[of].update({name: array[hood.node[of]] for name, array in arrays.items()})
    found[PAPER]["y"] = found[PAPER]["subject"]
    found[CITES]["edge_attr"] = data.edges[CITES]["edge_attr"][hood.edge[CITES]]
    return found


def as_pyg_data(data):
    """The same as PyG's own object, in memory."""
    if not data.dataset.is_hetero:
        arrays = {**data.nodes, "edge_attr": data.edges["edge_attr"]}
        pairs = torch.from_numpy(np.stack([data.edges["src"], data.edges["dst"]]))
        return pyg().Data(edge_index=pairs, **{name: torch.from_numpy(array) for name, array in arrays.items()})
    made = pyg().HeteroData()
    for of, arrays in data.nodes.items():
        for name, array in arrays.items():
            made[of][name] = torch.from_numpy(array)
    made[PAPER].y = made[PAPER].subject
    for triple, arrays in data.edges.items():
        made[triple].edge_index = torch.from_numpy(np.stack([arrays["src"], arrays["dst"]]))
    made[CITES].edge_attr = torch.from_numpy(data.edges[CITES]["edge_attr"])
    return made


def sampler_for_pyg(data, fanouts, **options):
    """A sampler that PyG's own loaders take: it samples by hand, and PyG does the rest."""
    pyg()
    from torch_geometric.sampler import BaseSampler, HeteroSamplerOutput, SamplerOutput
    from torch_geometric.sampler.neighbor_sampler import edge_sample, node_sample

    graph = data.dataset if data.dataset.is_hetero else data.dataset.graph
    counts = {of: kind.num_nodes for of, kind in data.dataset.nodes.items()}

    def tensors(value):
        if isinstance(value, np.ndarray):
            return torch.from_numpy(value)
        return {key: tensors(item) for key, item in value.items()} if isinstance(value, dict) else value

    def sample(seeds, times):
        hood = gz.sample_neighbors(graph, seeds, fanouts, seed_time=times, **options)
        made = HeteroSamplerOutput if isinstance(hood, gz.HeteroNeighborhood) else SamplerOutput
        fields = ("node", "row", "col", "edge", "batch", "num_sampled_nodes", "num_sampled_edges")
        return made(**{name: tensors(getattr(hood, name)) for name in fields})

    class Sampler(BaseSampler):
        def sample_from_nodes(self, index, **_):
            return node_sample(index, sample)

        def sample_from_edges(self, index, neg_sampling=None):
            num_nodes = counts if data.dataset.is_hetero else NUM_NODES
            disjoint = options.get("disjoint", False) or index.time is not None
            return edge_sample(index, sample, num_nodes, disjoint, neg_sampling=neg_sampling)

    return Sampler()


def loader_of(kind, data, **options):
    """Three batches of shuffled nodes or links, of two hops."""
    inputs = data.train if kind.__name__ == "NeighborLoader" else (data.train, data.train[::-1].copy())
    return kind(data.dataset, [4, 3], inputs, **{"batch_size": 40, "shuffle": True, **options})

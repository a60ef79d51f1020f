"""Data set folders: the manifest, or a file that it names, through all that can be asked of a data set."""

import io
import json

import numpy as np
import torch

import graphzero as gz
import loader_cases
from fuzzing import byte_changes, tree_changes
from fuzzing.folders import Folder
from fuzzing.promises import REFUSED, attempt, look_up
from graphzero.loaders import GraphStore, LinkNeighborLoader, NeighborLoader

MOST_BATCHES = 5


class Target:
    """Data sets with one type of nodes, with several, with ids, with tensors beside."""

    def __init__(self, folder):
        loader_cases.write_homogeneous(folder).dataset.close()
        loader_cases.write_heterogeneous(folder).dataset.close()
        _write_small(folder / "small")
        self._folders = [Folder(folder / name) for name in ("homogeneous", "heterogeneous", "small")]

    def __call__(self, rng):
        folder = rng.choice(self._folders)
        name = "graphzero.json" if rng.random() < 0.5 else rng.choice(list(folder.contents))
        data = folder.contents[name]
        if name.endswith(".json"):
            data = change_json(data, rng)
        elif rng.random() < 0.8:
            data = byte_changes.change_contents(data, rng)
        else:
            data, _ = byte_changes.change(data, rng)
        with folder.changed(name, data):
            return "refused" if attempt(use, folder.path, rng) is REFUSED else "read"


def change_json(data, rng):
    """Change the document, or its text."""
    choice = rng.random()
    if choice < 0.15:
        copy = bytearray(data)
        byte_changes.change_once(copy, rng)
        return bytes(copy)
    if choice < 0.2:
        return rng.choice([b"", b"[" * 200_000, b'{"a":' * 5000, b"1" * 9000, b"\xff\xfe", data + data, b"null", b"-"])
    document = json.loads(data)
    if choice < 0.3:  # a key that comes twice
        key = rng.choice(list(document))
        text = (
            json.dumps(document)[:-1] + f", {json.dumps(key)}: {json.dumps(rng.choice([document[key], 1, [], {}]))}}}"
        )
        return text.encode()
    return json_bytes(tree_changes.change(document, rng))


def json_bytes(document):
    """Write it without recursion, as it may be deeper than ``json`` goes."""
    text = io.StringIO()
    stack = [document]
    while stack:
        part = stack.pop()
        if isinstance(part, _Raw):
            text.write(part)
        elif isinstance(part, dict):
            pieces = []
            for key, value in part.items():
                pieces += [_Raw(f"{', ' if pieces else ''}{json.dumps(key)}: "), value]
            stack += [_Raw("}"), *reversed(pieces), _Raw("{")]
        elif isinstance(part, (list, tuple)):
            pieces = []
            for value in part:
                pieces += [_Raw(", " if pieces else ""), value]
            stack += [_Raw("]"), *reversed(pieces), _Raw("[")]
        else:
            text.write(json.dumps(part))
    return text.getvalue().encode()


class _Raw(str):
    pass


def use(path, rng):
    """Ask for everything; what a part of it refuses does not keep the rest from being asked for."""
    with gz.open(path) as data:
        assert repr(data)
        for name in ("num_nodes", "num_edges", "graph", "nbytes", "edge_index", "x", "y", "train_mask", "num_classes"):
            look_up(getattr, data, name)
        attempt(data.memory_report)
        for kind in data.node_types:
            attempt(lambda kind=kind: data[kind].num_nodes)
            look_up(data.labels, kind)
            look_up(data.node_label, 0, kind)
            look_up(data.node_index, "a", kind)
            node = data.nodes[kind]
            for value in node.other:
                attempt(node.other.__getitem__, value)
            for store in node.attributes.values():
                attempt(store.gather, [0, store.num_rows - 1])
        for name in data.split_names:
            for kind in (*data.node_types, *data.edge_types):
                look_up(data.split, name, kind)
        for name in data.other:
            attempt(data.other.__getitem__, name)
        attempt(gz.verify, path)
        look_up(load_nodes, data, rng)
        look_up(load_links, data, rng)
        attempt(hand_to_pyg, data)


def load_nodes(data, rng):
    """Take some batches."""
    options = rng.choice([{}, {"disjoint": True}, {"subgraph_type": "induced"}, {"replace": True}])
    kind = rng.choice(data.node_types) if data.node_types else None
    given = rng.choice([kind, (kind, "train") if data.is_hetero else "train"])
    loader = NeighborLoader(
        data, [3, 2], given, batch_size=16, memory="64MB", form=rng.choice(["torch", "pyg"]), **options
    )
    take(loader)


def load_links(data, rng):
    """Take some batches of links."""
    triple = rng.choice(data.edge_types) if data.edge_types else None
    given = rng.choice([triple, (triple, "held out"), (triple, None)])
    options = rng.choice([{}, {"neg_sampling": "binary"}, {"neg_sampling": "triplet"}])
    take(LinkNeighborLoader(data, [3, 2], given, batch_size=16, memory="64MB", form="torch", **options))


def take(loader):
    """Take the first batches, and close."""
    try:
        for number, batch in enumerate(loader):
            assert batch is not None
            if number == MOST_BATCHES:
                break
    finally:
        loader.close()


def hand_to_pyg(data):
    """What PyG's own loaders ask for."""
    store = GraphStore(data)
    for attribute in store.get_all_edge_attrs():
        found = attempt(store.get_edge_index, attribute)
        if found is not REFUSED:
            assert all(isinstance(part, torch.Tensor) for part in found)


def _write_small(path):
    rng = np.random.default_rng(5)
    with gz.DatasetWriter(path) as writer:
        writer.add_nodes(
            {"x": rng.normal(size=(4, 3)).astype(np.float32), "y": np.array([0, 1, 0, 2])},
            label="y",
            num_classes=3,
            ids=["a", "b", "c", "d"],
        )
        weight, time = rng.random(6).astype(np.float32), np.arange(6)
        writer.add_edges(["a", "b", "c", "d", "a", "c"], ["b", "c", "d", "a", "c", "c"], weight=weight, time=time)
        writer.add_split("train", np.array([0, 1]))
        writer.add_other("mean", np.ones((2, 2), np.float32))
        writer.add_other("note", {"a": [1, 2, None]})
        writer.add_other("scale", np.float32(0.5))
        writer.set_metadata(name="small")

"""Folders of other libraries: OGB, MAG240M, IGB, GraphBolt, Neo4j, GraphZero 0.2 and PyG, with one file changed."""

import gzip
import shutil

import torch
import yaml

import data_sets
import graphzero as gz
from fuzzing import byte_changes, tree_changes, zip_changes
from fuzzing.arrays import change_npy
from fuzzing.folders import Folder
from fuzzing.promises import REFUSED, attempt
from fuzzing.tensors import change_member
from fuzzing.texts import change_text

YAML_TEXTS = [b"", b"[" * 5000, b"a: &a [1]\nb: [*a, *a]\n", b"- !!python/object:os.system x\n", b"a: 1\na: 2\n", b"\0"]


class Target:
    """The same small data set in every layout."""

    def __init__(self, folder):
        makers = [data_sets.ogb_csv, data_sets.ogb_csv_hetero, data_sets.ogb_binary, data_sets.ogb_binary_hetero]
        makers += [data_sets.mag240m, data_sets.igb, data_sets.graphbolt, data_sets.neo4j]
        makers.append(data_sets.graphzero02)
        self._folders = []
        for make in makers:
            make(str(folder / make.__name__))
            self._folders.append(Folder(folder / make.__name__))
        for name, data in (("pyg", data_sets.pyg_data()), ("pyg_hetero", data_sets.pyg_hetero())):
            (folder / name / "processed").mkdir(parents=True)
            torch.save(data, folder / name / "processed" / "data.pt")
            self._folders.append(Folder(folder / name))

    def __call__(self, rng):
        folder = rng.choice(self._folders)
        name = rng.choice(list(folder.contents))
        if "metadata.yaml" in folder.contents and rng.random() < 0.5:
            name = "metadata.yaml"
        data = None if rng.random() < 0.04 else change(name, folder.contents[name], rng)
        with folder.changed(name, data):
            found = attempt(convert, folder.path)
        shutil.rmtree("out", ignore_errors=True)
        return "refused" if found is REFUSED else "read"


def convert(path):
    """Convert the folder, and open what came of it."""
    gz.convert_dataset(path, "out", memory="64MB")
    with gz.open("out") as data:
        for name in data.split_names:
            for kind in (*data.node_types, *data.edge_types):
                if data.has_split(name, kind):
                    data.split(name, kind)
    wrong = [check for check in gz.verify("out") if check.state == "fails"]
    assert not wrong, wrong


def change(name, data, rng):
    """Change a file as what it is."""
    if rng.random() < 0.1:
        copy = bytearray(data)
        byte_changes.change_once(copy, rng)
        return bytes(copy)
    if name.endswith(".gz"):
        return gzip.compress(change_text(gzip.decompress(data), rng), 1)
    if name.endswith(".csv"):
        return change_text(data, rng)
    if name.endswith(".npy"):
        return change_npy(data, rng)
    if name.endswith((".gl", ".gd")):
        copy = bytearray(data)
        byte_changes.change_once(copy, rng)
        return bytes(copy)
    if name.endswith(".npz"):
        return zip_changes.change(data, rng, lambda _, member, rng: change_npy(member, rng))
    if name.endswith(".pt"):
        return zip_changes.change(data, rng, change_member)
    if rng.random() < 0.1:
        return rng.choice(YAML_TEXTS)
    document = tree_changes.change(yaml.safe_load(data), rng)
    try:
        return yaml.safe_dump(document, allow_unicode=True).encode("utf-8", "surrogatepass")
    except (RecursionError, yaml.YAMLError):
        return b"a: " + b"[" * 3000 + b"]" * 3000

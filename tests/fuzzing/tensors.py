"""``.pt`` files: tensors, arrays, PyG objects and plain values, as edges, as features and as data sets."""

import io
import pickle

import numpy as np
import torch

import data_sets
import graphzero as gz
from fuzzing import byte_changes, pickle_changes, zip_changes
from fuzzing.promises import REFUSED, attempt
from graphzero.convert.edge_sources.torch_files import load_pt


class Target:
    """Files of the newer form, which are zip files, and of the older one."""

    def __init__(self, folder):
        self._path = folder / "mutated.pt"
        edges = torch.tensor([data_sets.SRC, data_sets.DST])
        documents = [
            edges,
            {"edge_index": edges, "x": torch.from_numpy(data_sets.X)},
            data_sets.pyg_data(),
            (data_sets.pyg_data().to_dict(), None, data_sets.pyg().Data),
            data_sets.pyg_hetero(),
            {"train": np.array([0, 2]), "n": np.float32(1), "x": data_sets.X},
            torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1]), (5, 5)),
            edges.to(torch.int32)[:, ::2],
        ]
        self._contents = []
        for document in documents:
            for newer in (True, False):
                buffer = io.BytesIO()
                try:
                    torch.save(document, buffer, _use_new_zipfile_serialization=newer)
                except (RuntimeError, pickle.PicklingError):
                    continue
                self._contents.append(buffer.getvalue())

    def __call__(self, rng):
        data = rng.choice(self._contents)
        if data[:2] == b"PK":
            data = zip_changes.change(data, rng, change_member)
        elif rng.random() < 0.7:
            data = change_old(data, rng)
        else:
            copy = bytearray(data)
            byte_changes.change_once(copy, rng)
            data = bytes(copy)
        self._path.write_bytes(data)
        return "refused" if attempt(rng.choice(USES), self._path) is REFUSED else "read"


def change_member(name, data, rng):
    """Change the pickle as a pickle, the rest as bytes."""
    if name.endswith(".pkl"):
        return pickle_changes.change(data, rng)
    copy = bytearray(data)
    byte_changes.change_once(copy, rng)
    return bytes(copy)


def change_old(data, rng):
    """Change one of the pickles that a file of the older form begins with."""
    file = io.BytesIO(data)
    ends = [0]
    for _ in range(3):  # magic, version, system
        pickle.load(file)
        ends.append(file.tell())
    part = rng.choice([*range(3), 3, 3, 3])
    begin, end = ends[part], ends[part + 1] if part < 3 else len(data)
    return data[:begin] + pickle_changes.change(data[begin:end], rng) + data[end:]


def _edges(path):
    gz.convert_edges(path, "out.gl", memory="64MB")
    gz.Graph("out.gl", verify="full").close()


def _features(path):
    gz.convert_features(path, "out.gd", memory="64MB", key="x")
    gz.FeatureStore("out.gd", verify="full").close()


def _dataset(path):
    gz.convert_dataset(path, "out", memory="64MB", overwrite=True)
    gz.open("out").close()


USES = [_edges, _features, _dataset, _dataset, lambda path: load_pt(str(path), mapped=True)]

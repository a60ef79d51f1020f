"""The rival of bench_accuracy.py, for the Python that has it.

Given ``folder``, ``seeds``, ``epochs`` and ``threads``. The folder holds colptr.npy, row.npy, x.npy, y.npy,
train.npy and test.npy, all of which are loaded. Trains by PyG's NeighborLoader where torch-sparse is there; where it is
not, by PyG's NodeLoader on a sampler of NumPy. Prints the accuracies as JSON.
"""

import importlib.util
import json
import os
import sys

import numpy as np
from sage_training import BATCH, FANOUTS, accuracy_of


def numpy_sampler(colptr, row, seed):
    """PyG's interface on lists in memory: all neighbours get a random key, the smallest of each list are kept."""
    import torch
    from torch_geometric.sampler import BaseSampler, SamplerOutput

    rng = np.random.default_rng(seed)
    place = np.full(len(colptr) - 1, -1)

    class Sampler(BaseSampler):
        def sample_from_edges(self, index, neg_sampling=None):
            raise NotImplementedError

        def sample_from_nodes(self, index, **_):
            nodes = [index.node.numpy()]
            place[nodes[0]] = np.arange(len(nodes[0]))
            known, sources, targets, edges = len(nodes[0]), [], [], []
            for fanout in FANOUTS:
                first, degree = colptr[nodes[-1]], np.diff(colptr)[nodes[-1]]
                begin = np.cumsum(degree) - degree
                of = np.repeat(np.arange(len(degree)), degree)
                order = np.lexsort((rng.random(len(of)), of))
                kept = order[np.arange(len(of)) - begin[of] < fanout]
                edge = first[of[kept]] + kept - begin[of[kept]]
                found = row[edge]
                unknown, at = np.unique(found[place[found] < 0], return_index=True)
                new = unknown[np.argsort(at)]
                place[new] = known + np.arange(len(new))
                sources.append(place[found])
                targets.append(place[nodes[-1]][of[kept]])
                edges.append(edge)
                nodes.append(new)
                known += len(new)
            node = np.concatenate(nodes)
            place[node] = -1
            tensors = (torch.from_numpy(np.concatenate(parts)) for parts in (nodes, sources, targets, edges))
            return SamplerOutput(*tensors, metadata=(index.input_id, index.time))

    return Sampler()


def main(folder, seeds, epochs, threads):
    import torch
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader, NodeLoader

    torch.set_num_threads(threads)
    arrays = {
        name: np.load(os.path.join(folder, f"{name}.npy")) for name in ("colptr", "row", "x", "y", "train", "test")
    }
    colptr, row, x, y = (arrays[name] for name in ("colptr", "row", "x", "y"))
    edges = torch.from_numpy(np.stack([row, np.repeat(np.arange(len(y)), np.diff(colptr))]))
    data = Data(x=torch.from_numpy(x), y=torch.from_numpy(y), edge_index=edges)
    is_stock = importlib.util.find_spec("torch_sparse") is not None

    def loader(split, seed):
        options = {
            "input_nodes": torch.from_numpy(arrays[split]),
            "batch_size": BATCH,
            "shuffle": split == "train",
        }
        if is_stock:
            return NeighborLoader(data, FANOUTS, **options)
        return NodeLoader(data, numpy_sampler(colptr, row, seed), **options)

    found = [accuracy_of(loader, x.shape[1], int(y.max()) + 1, epochs, seed) for seed in range(seeds)]
    sampler = "NeighborLoader, torch-sparse" if is_stock else "NodeLoader, a sampler of NumPy"
    print(json.dumps({"accuracies": found, "sampler": sampler}))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))

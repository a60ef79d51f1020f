"""Tiny data sets in every layout that convert_dataset reads: the same nodes, edges, labels and splits."""

import gzip
import os
import shutil
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
import yaml

# One kind of node, one kind of edge.
NUM_NODES = 5
SRC = [0, 0, 1, 3, 4, 2]
DST = [1, 2, 2, 0, 3, 2]
X = np.arange(15, dtype=np.float32).reshape(5, 3) / 4
Y = [2, 0, 1, 0, -1]  # the last node has no label
YEAR = [2001, 2002, 2003, 2004, 2005]
EDGE_ATTR = np.arange(12, dtype=np.float32).reshape(6, 2) / 8
SPLITS = {"train": [0, 2], "valid": [1], "test": [3]}

# Two kinds of node, two kinds of edge.
COUNTS = {"author": 3, "paper": 5}
WRITES = ("author", "writes", "paper")
CITES = ("paper", "cites", "paper")
KINDS = {WRITES: ([0, 1, 2, 2], [0, 4, 1, 3]), CITES: (SRC, DST)}


def pyg():
    """torch_geometric.data; importing it warns of what torch deprecates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("torch_geometric.data")


def write_csv(path, rows):
    """Write rows, or a number per row, as csv; gzip by the name."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    text = "".join(
        ",".join(str(value) for value in (row if isinstance(row, (list, tuple, np.ndarray)) else [row])) + "\n"
        for row in rows
    )
    with gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w") as file:
        file.write(text)


def save(path, array):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    np.save(path, array)


def float_labels():
    """Labels as OGB stores them in binary: a column of floats, NaN where there is none."""
    return np.where(np.array(Y) < 0, np.nan, Y).astype(np.float32)[:, None]


def csv_splits(folder):
    for name, ids in SPLITS.items():
        write_csv(f"{folder}/{name}.csv.gz", ids)


def ogb_csv(folder):
    raw = f"{folder}/raw"
    write_csv(f"{raw}/edge.csv.gz", list(zip(SRC, DST, strict=True)))
    write_csv(f"{raw}/num-node-list.csv.gz", [NUM_NODES])
    write_csv(f"{raw}/num-edge-list.csv.gz", [len(SRC)])
    write_csv(f"{raw}/node-feat.csv.gz", X)
    write_csv(f"{raw}/node_year.csv.gz", YEAR)
    write_csv(f"{raw}/edge-feat.csv.gz", EDGE_ATTR)
    write_csv(f"{raw}/node-label.csv.gz", ["nan" if y < 0 else y for y in Y])
    csv_splits(f"{folder}/split/time")


def ogb_csv_hetero(folder):
    raw = f"{folder}/raw"
    write_csv(f"{raw}/num-node-dict.csv.gz", [list(COUNTS), list(COUNTS.values())])
    write_csv(f"{raw}/triplet-type-list.csv.gz", list(KINDS))
    for triple, (src, dst) in KINDS.items():
        place = f"{raw}/relations/{'___'.join(triple)}"
        write_csv(f"{place}/edge.csv.gz", list(zip(src, dst, strict=True)))
        write_csv(f"{place}/num-edge-list.csv.gz", [len(src)])
        write_csv(f"{place}/edge_reltype.csv.gz", [list(KINDS).index(triple)] * len(src))
    write_csv(f"{raw}/node-feat/paper/node-feat.csv.gz", X)
    write_csv(f"{raw}/node-feat/paper/node_year.csv.gz", YEAR)
    write_csv(f"{raw}/node-label/paper/node-label.csv.gz", ["nan" if y < 0 else y for y in Y])
    write_csv(f"{raw}/nodetype-has-label.csv.gz", [["author", "paper"], [False, True]])
    write_csv(f"{folder}/split/time/nodetype-has-split.csv.gz", [["author", "paper"], [False, True]])
    csv_splits(f"{folder}/split/time/paper")


def ogb_binary(folder, save_npz=np.savez_compressed):
    os.makedirs(f"{folder}/raw")
    save_npz(
        f"{folder}/raw/data.npz",
        num_nodes_list=[NUM_NODES],
        num_edges_list=[len(SRC)],
        edge_index=np.array([SRC, DST]),
        node_feat=X,
        node_year=np.array(YEAR)[:, None],
        edge_feat=EDGE_ATTR,
    )
    save_npz(f"{folder}/raw/node-label.npz", node_label=float_labels())
    csv_splits(f"{folder}/split/time")


def ogb_binary_hetero(folder):
    torch = pytest.importorskip("torch")
    raw = f"{folder}/raw"
    os.makedirs(raw)
    np.savez(f"{raw}/num_nodes_dict.npz", **{kind: [count] for kind, count in COUNTS.items()})
    np.savez(f"{raw}/num_edges_dict.npz", **{"___".join(triple): [len(ends[0])] for triple, ends in KINDS.items()})
    edges = {"___".join(triple): np.array(ends) for triple, ends in KINDS.items()}
    np.savez_compressed(f"{raw}/edge_index_dict.npz", **edges)
    np.savez_compressed(f"{raw}/node_feat_dict.npz", paper=X)
    np.savez_compressed(f"{raw}/node_year.npz", paper=YEAR)
    reltype = {key: [list(edges).index(key)] * ends.shape[1] for key, ends in edges.items()}
    np.savez(f"{raw}/edge_reltype.npz", **reltype)
    np.savez(f"{raw}/node-label.npz", paper=float_labels())
    os.makedirs(f"{folder}/split/time")
    splits = {name: {"paper": np.array(ids)} for name, ids in SPLITS.items()}
    torch.save(splits, f"{folder}/split/time/split_dict.pt")


def mag240m(folder):
    torch = pytest.importorskip("torch")
    place = f"{folder}/processed"
    save(f"{place}/paper/node_feat.npy", X.astype(np.float16))
    save(f"{place}/paper/node_label.npy", float_labels()[:, 0])
    save(f"{place}/paper/node_year.npy", np.array(YEAR))
    for triple, ends in KINDS.items():
        save(f"{place}/{'___'.join(triple)}/edge_index.npy", np.array(ends))
    torch.save({**COUNTS, "num_classes": 3}, f"{folder}/meta.pt")
    splits = {"train": [0, 2], "valid": [1], "test-dev": [3], "test-whole": [3, 4]}
    torch.save({name: np.array(ids) for name, ids in splits.items()}, f"{folder}/split_dict.pt")


def igb(folder, headerless=False):
    place = f"{folder}/processed"
    features = {"paper": X, "author": np.ones((3, 2), dtype=np.float32)}
    for kind, array in features.items():
        os.makedirs(f"{place}/{kind}")
        if headerless:
            array.tofile(f"{place}/{kind}/node_feat.npy")
        else:
            save(f"{place}/{kind}/node_feat.npy", array)
    labels = np.array(Y, dtype=np.float32)
    for name in ("node_label_19", "node_label_2K"):
        if headerless:
            labels.tofile(f"{place}/paper/{name}.npy")
        else:
            save(f"{place}/paper/{name}.npy", labels)
    for triple, ends in KINDS.items():
        save(f"{place}/{'__'.join(triple)}/edge_index.npy", np.array(ends).T)


def graphbolt(folder):
    torch = pytest.importorskip("torch")
    os.makedirs(f"{folder}/edges")
    write_csv(f"{folder}/edges/cites.csv", list(zip(SRC, DST, strict=True)))
    save(f"{folder}/edges/writes.npy", np.array(KINDS[WRITES]))
    save(f"{folder}/data/x.npy", X)
    torch.save(torch.tensor(YEAR), f"{folder}/data/year.pt")
    save(f"{folder}/data/edge_attr.npy", EDGE_ATTR)

    def part(split, ids):
        save(f"{folder}/set/{split}.npy", np.array(ids))
        save(f"{folder}/set/{split}-labels.npy", np.array(Y)[ids])
        files = {"seeds": f"set/{split}.npy", "labels": f"set/{split}-labels.npy"}
        return [{"type": "paper", "data": [{"name": n, "format": "numpy", "path": p} for n, p in files.items()]}]

    save(f"{folder}/set/pairs.npy", np.array(KINDS[CITES]).T)
    pairs = {"name": "seeds", "format": "numpy", "path": "set/pairs.npy"}
    document = {
        "dataset_name": "tiny",
        "graph": {
            "nodes": [{"type": kind, "num": count} for kind, count in COUNTS.items()],
            "edges": [
                {"type": "author:writes:paper", "format": "numpy", "path": "edges/writes.npy"},
                {"type": "paper:cites:paper", "format": "csv", "path": "edges/cites.csv"},
            ],
        },
        "feature_data": [
            {"domain": "node", "type": "paper", "name": "feat", "format": "numpy", "path": "data/x.npy"},
            {"domain": "node", "type": "paper", "name": "year", "format": "torch", "path": "data/year.pt"},
            {"domain": "edge", "type": "paper:cites:paper", "name": "edge_attr", "path": "data/edge_attr.npy"},
        ],
        "tasks": [
            {
                "name": "node_classification",
                "num_classes": 3,
                "train_set": part("train", SPLITS["train"]),
                "validation_set": part("valid", SPLITS["valid"]),
                "test_set": part("test", SPLITS["test"]),
            },
            {"name": "link_prediction", "train_set": [{"type": "paper:cites:paper", "data": [pairs]}]},
        ],
    }
    with open(f"{folder}/metadata.yaml", "w") as file:
        yaml.safe_dump(document, file)


def neo4j(folder):
    write_csv(
        f"{folder}/movies.csv",
        [
            ["movieId:ID(Movie)", "title", "year:int", ":LABEL"],
            ["tt0133093", "The Matrix", 1999, "Movie"],
            ["tt0242653", "", "", "Movie;Sequel"],
            ["tt0234215", "Reloaded", 2003, "Movie;Sequel"],
        ],
    )
    write_csv(f"{folder}/people-header.csv", [[":ID(Person)", ":LABEL"]])
    write_csv(f"{folder}/people-1.csv", [["keanu", "Actor"], ['"carrie, anne"', "Actor"]])
    write_csv(
        f"{folder}/roles.csv",
        [
            [":START_ID(Person)", "pay:float", ":END_ID(Movie)", ":TYPE"],
            ["keanu", 1.5, "tt0133093", "ACTED_IN"],
            ["keanu", 9.5, "tt0242653", "DIRECTED"],
            ["keanu", 2.5, "tt0234215", "ACTED_IN"],
            ['"carrie, anne"', "", "tt0133093", "ACTED_IN"],
        ],
    )


def graphzero02(folder):
    """Files of GraphZero 0.2: one of its samples, and features of as many nodes."""
    samples = Path(__file__).parent / "data" / "graphzero02"
    os.makedirs(folder)
    shutil.copy(samples / "weighted_directed.gl", f"{folder}/graph.gl")
    for name, code, rows in (("features", 2, np.ones((6, 3), np.float32)), ("labels", 1, np.arange(6).reshape(6, 1))):
        with open(f"{folder}/{name}.gd", "wb") as file:
            file.write(struct.pack("<8sIiQQ", b"GZDATA26", 0, code, *rows.shape) + rows.tobytes())


def mask(ids):
    torch = pytest.importorskip("torch")
    found = torch.zeros(NUM_NODES, dtype=torch.bool)
    found[ids] = True
    return found


def pyg_data():
    torch = pytest.importorskip("torch")
    return pyg().Data(
        x=torch.from_numpy(X),
        edge_index=torch.tensor([SRC, DST]),
        edge_attr=torch.from_numpy(EDGE_ATTR),
        y=torch.tensor(Y),
        year=torch.tensor(YEAR),
        train_mask=mask(SPLITS["train"]),
        val_mask=mask(SPLITS["valid"]),
        test_mask=mask(SPLITS["test"]),
    )


def pyg_hetero():
    torch = pytest.importorskip("torch")
    data = pyg().HeteroData()
    data["paper"].x = torch.from_numpy(X)
    data["paper"].y = torch.tensor(Y)
    data["paper"].year = torch.tensor(YEAR)
    data["paper"].train_mask = mask(SPLITS["train"])
    data["paper"].val_mask = mask(SPLITS["valid"])
    data["paper"].test_mask = mask(SPLITS["test"])
    data["author"].num_nodes = COUNTS["author"]
    for triple, ends in KINDS.items():
        data[triple].edge_index = torch.tensor(ends)
    return data

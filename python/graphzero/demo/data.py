"""The data set of the demo: how large it is, what loading it would take, and how it is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphzero.dataset import open_dataset
from graphzero.synth.synthesize import synthesize

# Rows that class means are taken of: enough for two digits of accuracy.
_ROWS_FOR_MEANS = 20_000
# To draw and sort edges; features are made in blocks.
_MEMORY_TO_MAKE = "256MB"


@dataclass(frozen=True)
class Sizes:
    """How much there is to train on, for how long, and the memory that loaders get for it.

    ``room`` is what the limit has beside: for pages of the graph and of the labels, and for what torch needs to
    compute. Of the full demo 160 MB and 220 MB were seen; where the kernel gives out huge pages, 160 MB and 470 MB.
    """

    nodes: int
    edges: int
    features: int
    classes: int
    train: int
    valid: int
    test: int
    epochs: int
    memory: int
    room: int

    @property
    def feature_bytes(self) -> int:
        """The features as float32."""
        return 4 * self.features * self.nodes

    @property
    def edge_index_bytes(self) -> int:
        """PyG's ``edge_index``: two int64 for each edge."""
        return 16 * self.edges

    @property
    def csc_bytes(self) -> int:
        """What PyG's loader keeps beside it to sample: sorted sources and a permutation, and where each node begins."""
        return 16 * self.edges + 8 * (self.nodes + 1)

    @property
    def loading_bytes(self) -> int:
        """All that has to be in memory before the first batch, labels included."""
        return self.feature_bytes + self.edge_index_bytes + self.csc_bytes + 8 * self.nodes

    @property
    def disk_bytes(self) -> int:
        """The most that making it takes: files, and edges being sorted."""
        return self.feature_bytes + 8 * self.nodes + 8 * (self.nodes + self.edges) + 16 * self.edges


FULL = Sizes(
    nodes=3_000_000, edges=30_000_000, features=256, classes=32, train=50_000, valid=5_000, test=10_000, epochs=3,
    memory=160_000_000, room=700_000_000,
)  # fmt: skip
# Still too large for its limit, so that every step of the demo shows the same.
QUICK = Sizes(
    nodes=900_000, edges=2_000_000, features=256, classes=8, train=4_000, valid=1_000, test=2_000, epochs=2,
    memory=64_000_000, room=300_000_000,
)  # fmt: skip


def make_data(path: str, sizes: Sizes, *, progress: bool) -> None:
    """Draw the data set. Features alone tell the class of few nodes, their neighbours that of many more."""
    synthesize(
        path,
        sizes.nodes,
        sizes.edges,
        features=sizes.features,
        feature_dtype="float32",
        classes=sizes.classes,
        homophily=0.7,
        skew=4,
        signal=0.5,
        train=sizes.train,
        valid=sizes.valid,
        test=sizes.test,
        index="in",
        edge_ids=False,
        memory=_MEMORY_TO_MAKE,
        progress=progress,
        overwrite=True,
    ).close()


def features_alone(path: str) -> float:
    """Return how often the nearest class mean is that of a test node: what there is to know without a graph."""
    with open_dataset(path) as data:
        x, y = data.features("x"), data.labels()
        train, test = data.split("train")[:_ROWS_FOR_MEANS], data.split("test")
        rows, labels = x.gather(train), y.gather(train)
        means = np.stack([rows[labels == label].mean(axis=0) for label in np.unique(labels)])
        # The nearest mean has the largest product, less half of its own square.
        scores = x.gather(test) @ means.T - (means**2).sum(axis=1) / 2
        return float(np.mean(np.unique(labels)[scores.argmax(axis=1)] == y.gather(test)))


def files_of(path: str) -> list[Path]:
    """Return every file of a data set."""
    return sorted(file for file in Path(path).rglob("*") if file.is_file())


def read_into_page_cache(path: str) -> None:
    """Read every file once, from its beginning to its end."""
    buffer = bytearray(8 << 20)
    for file in files_of(path):
        with open(file, "rb", buffering=0) as opened:
            while opened.readinto(buffer):
                pass

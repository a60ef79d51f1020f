"""Small data sets with a real signal, for the examples: degree-corrected blocks, written as graphzero data sets.

Nodes belong to blocks, which are the labels. Features are noisy: alone they tell a block badly. Most edges stay
within a block, so that the neighbourhood tells it well. A few nodes have most of the edges, as in real graphs (the
degree-corrected stochastic block model of Karrer and Newman, 2011).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

import graphzero as gz

WITHIN = 0.7  # the share of edges that stay within a block


class Blocks:
    """Nodes in blocks, each with a weight; nodes are drawn in proportion to their weight."""

    def __init__(self, label: NDArray[np.int64], rng: np.random.Generator) -> None:
        self._members = np.argsort(label, kind="stable")
        weight = 1 + rng.pareto(1.5, len(label))
        self._reach = np.cumsum(np.minimum(weight, len(label) ** 0.5)[self._members])
        bounds = np.searchsorted(label[self._members], np.arange(label.max() + 2))
        self._edges = np.concatenate([[0.0], self._reach])[bounds]
        self._rng = rng

    def draw(self, count: int) -> NDArray[np.int64]:
        """Draw nodes of any block."""
        return self._at(self._rng.random(count) * self._reach[-1])

    def draw_from(self, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw a node for each block that is given; a share of them are of any block."""
        low, high = self._edges[blocks], self._edges[blocks + 1]
        drawn = self._at(low + self._rng.random(len(blocks)) * (high - low))
        return np.where(self._rng.random(len(blocks)) < WITHIN, drawn, self.draw(len(blocks)))

    def _at(self, reach: NDArray[np.float64]) -> NDArray[np.int64]:
        return self._members[np.searchsorted(self._reach[:-1], reach, side="right")]


def noisy_features(label: NDArray[np.int64], columns: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return each label's direction, 1.4 long, under noise of 1 in every column."""
    centre = rng.standard_normal((label.max() + 1, columns), dtype=np.float32)
    centre *= 1.4 / np.linalg.norm(centre, axis=1, keepdims=True)
    return centre[label] + rng.standard_normal((len(label), columns), dtype=np.float32)


def add_splits(writer: gz.DatasetWriter, num_nodes: int, rng: np.random.Generator, of: str | None = None) -> None:
    """A tenth of the nodes to train, a twentieth to validate, another to test."""
    order = rng.permutation(num_nodes)
    parts = np.split(order, [num_nodes // 10, num_nodes * 3 // 20, num_nodes // 5])
    for name, ids in zip(("train", "valid", "test"), parts[:3], strict=True):
        writer.add_split(name, np.sort(ids), of=of)


def write_blocks(
    folder: str, num_nodes: int = 100_000, *, degree: int = 10, columns: int = 128, num_classes: int = 8, seed: int = 0
) -> None:
    """Write an undirected graph whose nodes have ``x``, ``y`` and splits."""
    rng = np.random.default_rng(seed)
    label = rng.integers(num_classes, size=num_nodes)
    blocks = Blocks(label, rng)
    src = blocks.draw(num_nodes * degree // 2)
    with gz.DatasetWriter(folder, overwrite=True) as writer:
        x = noisy_features(label, columns, rng)
        writer.add_nodes({"x": x, "y": label}, label="y", num_classes=num_classes)
        writer.add_edges(src, blocks.draw_from(label[src]), directed=False)
        add_splits(writer, num_nodes, rng)


def write_papers(folder: str, num_papers: int = 50_000, *, num_classes: int = 8, seed: int = 0) -> None:
    """Write papers that cite each other and authors who write them; papers have labels, authors a field of work."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(num_classes, size=num_papers)
    field = rng.integers(num_classes, size=num_papers // 3)
    papers, authors = Blocks(topic, rng), Blocks(field, rng)
    citing = papers.draw(4 * num_papers)
    written = np.repeat(np.arange(num_papers), 3)
    writers = authors.draw_from(topic[written])
    with gz.DatasetWriter(folder, overwrite=True) as writer:
        x = noisy_features(topic, 64, rng)
        writer.add_nodes({"x": x, "y": topic}, type="paper", label="y", num_classes=num_classes)
        writer.add_nodes({"x": noisy_features(field, 32, rng)}, type="author")
        writer.add_edges(citing, papers.draw_from(topic[citing]), type=("paper", "cites", "paper"))
        writer.add_edges(writers, written, type=("author", "writes", "paper"))
        writer.add_edges(written, writers, type=("paper", "written_by", "author"))
        add_splits(writer, num_papers, rng, of="paper")


def write_views(folder: str, num_users: int = 5_000, *, views: int = 60, num_classes: int = 6, seed: int = 0) -> None:
    """Write items and the users who view them over 1,000 days.

    Each user's interest changes twice. ``day`` and ``interest`` of an edge tell when an item was viewed and what
    interested the user then.
    """
    rng = np.random.default_rng(seed)
    num_items = 2 * num_users
    topic = rng.integers(num_classes, size=num_items)
    items = Blocks(topic, rng)
    interests = rng.integers(num_classes, size=(num_users, 3))
    changes = np.sort(rng.integers(200, 800, size=(num_users, 2)))
    user = rng.integers(num_users, size=num_users * views)
    day = rng.integers(1_000, size=len(user))
    interest = interests[user, (day[:, None] >= changes[user]).sum(1)]
    with gz.DatasetWriter(folder, overwrite=True) as writer:
        writer.add_nodes({"x": noisy_features(topic, 32, rng)}, type="item")
        writer.add_nodes({"x": np.ones((num_users, 1), dtype=np.float32)}, type="user")
        writer.add_edges(
            items.draw_from(interest),
            user,
            type=("item", "viewed_by", "user"),
            attributes={"day": day, "interest": interest},
            time=day,
        )


@contextmanager
def a_folder(given: str | None) -> Iterator[str]:
    """Give a folder for files: the one that was given, which is kept, or a temporary one."""
    if given is not None:
        os.makedirs(given, exist_ok=True)
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="graphzero-example-") as folder:
        yield folder

"""Data that a loader was given in memory, as files that are removed with it."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphzero._dataset.temporary_graphs import temporary_folder
from graphzero.convert.dataset_writer import DatasetWriter
from graphzero.dataset import Dataset, EdgeTriple, open_dataset
from graphzero.graph import Direction

_log = logging.getLogger("graphzero")


@dataclass
class Edges:
    """The edges of a type, in order of their ids, and what samples are drawn by."""

    src: Any
    dst: Any
    weight: Any = None
    time: Any = None


@dataclass
class Topology:
    """What a sampler needs to know of a graph in memory: nodes by type, their times, and edges by type."""

    num_nodes: Mapping[str, int]
    edges: Mapping[EdgeTriple, Edges]
    node_times: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    hetero: bool = False  # batches name the types even if there is one of each


class TemporaryDataset:
    """A data set folder of its own, which is removed when nothing refers to this object any more.

    A copy in another process opens the same folder, and needs this object to live.
    """

    def __init__(self, given: Any, topology: Topology, direction: Direction) -> None:
        self._folder = temporary_folder(self)
        path = os.path.join(self._folder, "data")
        with DatasetWriter(path, hetero=topology.hetero) as writer:
            for kind, count in topology.num_nodes.items():
                writer.add_nodes(topology.node_times.get(kind), type=kind, num_nodes=count)
            for triple, edges in topology.edges.items():
                options = {"weight": edges.weight, "time": edges.time, "index": direction}
                writer.add_edges(edges.src, edges.dst, type=triple, **options)
        self.dataset: Dataset = open_dataset(path)
        _log.info(
            "%s in memory: its %s edges were written to %s for sampling; graphzero.convert_dataset writes them once, "
            "and not at each start",
            type(given).__name__,
            f"{self.dataset.num_edges:,}",
            self._folder,
        )

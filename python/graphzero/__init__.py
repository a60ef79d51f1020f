"""Train graph neural networks on graphs larger than RAM, on one machine.

A graph and its features are compiled once into files (``.gl`` topology, ``.gd`` features). The
files are mounted, not loaded: opening one takes under a millisecond and no memory whatever its size.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from graphzero._core import FormatError
from graphzero.blocks import Block, HeteroBlock, blocks
from graphzero.convert import ConversionReport, convert_csv_to_gl, convert_edges
from graphzero.convert_dataset import DatasetReport, convert_dataset
from graphzero.convert_features import FeatureReport, convert_csv_to_gd, convert_features
from graphzero.dataset import Dataset, EdgeType, NodeType
from graphzero.dataset import open_dataset as open
from graphzero.dataset_writer import DatasetWriter
from graphzero.dtypes import FLOAT32, FLOAT64, INT32, INT64, DataType
from graphzero.features import FeatureStore, write_features
from graphzero.graph import Graph, Index, write_graph
from graphzero.ids import IdDictionary, write_ids
from graphzero.memory import MemoryReport, memory_report
from graphzero.negatives import sample_negative_pairs, sample_negatives
from graphzero.pipeline import Batch, Pipeline
from graphzero.reorder import reorder
from graphzero.sampling import HeteroNeighborhood, Neighborhood, sample_neighbors
from graphzero.synth import synthesize
from graphzero.threads import num_threads, set_num_threads
from graphzero.verify import Check, verify
from graphzero.walks import random_walk

__version__ = "0.3.0.dev0"

__all__ = [
    "FLOAT32",
    "FLOAT64",
    "INT32",
    "INT64",
    "Batch",
    "Block",
    "Check",
    "ConversionReport",
    "DataType",
    "Dataset",
    "DatasetReport",
    "DatasetWriter",
    "EdgeType",
    "FeatureReport",
    "FeatureStore",
    "FormatError",
    "Graph",
    "HeteroBlock",
    "HeteroNeighborhood",
    "IdDictionary",
    "Index",
    "MemoryReport",
    "Neighborhood",
    "NodeType",
    "Pipeline",
    "blocks",
    "convert_csv_to_gd",
    "convert_csv_to_gl",
    "convert_dataset",
    "convert_edges",
    "convert_features",
    "memory_report",
    "num_threads",
    "open",
    "random_walk",
    "reorder",
    "sample_negative_pairs",
    "sample_negatives",
    "sample_neighbors",
    "set_num_threads",
    "synthesize",
    "verify",
    "write_features",
    "write_graph",
    "write_ids",
]


def __getattr__(name: str) -> _Any:
    if name == "loaders":
        return _import_module("graphzero.loaders")
    if name == "inference":
        return _import_module("graphzero.loaders").inference
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", "inference", "loaders"]

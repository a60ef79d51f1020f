"""Train graph neural networks on graphs larger than RAM, on one machine.

A graph and its features are compiled once into files (``.gl`` topology, ``.gd`` features). The
files are mounted, not loaded: opening one takes under a millisecond and no memory whatever its size.

Names load their module, and NumPy, when they are used.
"""

import sys as _sys
from typing import TYPE_CHECKING
from typing import Any as _Any

from graphzero._base.lazy_imports import load as _load

if TYPE_CHECKING:
    from graphzero import ids as ids
    from graphzero import loaders as loaders
    from graphzero._base.dtypes import FLOAT32, FLOAT64, INT32, INT64, DataType
    from graphzero._core import FormatError
    from graphzero.convert.conversion_report import ConversionReport
    from graphzero.convert.dataset import DatasetReport, convert_dataset
    from graphzero.convert.dataset_editor import DatasetEditor, edit_dataset
    from graphzero.convert.dataset_writer import DatasetWriter
    from graphzero.convert.edges import convert_csv_to_gl, convert_edges
    from graphzero.convert.features import FeatureReport, convert_csv_to_gd, convert_features
    from graphzero.convert.tables.build import build_dataset
    from graphzero.convert.tables.report import BuildReport
    from graphzero.dataset import Dataset, EdgeType, NodeType
    from graphzero.dataset import open_dataset as open
    from graphzero.dgl_blocks import Block, HeteroBlock, blocks
    from graphzero.features import FeatureStore, write_features
    from graphzero.graph import Graph, Index, write_graph
    from graphzero.ids import IdDictionary, write_ids
    from graphzero.loaders.layerwise import inference as inference
    from graphzero.memory import MemoryReport, memory_report
    from graphzero.negatives import sample_negative_pairs, sample_negatives
    from graphzero.pipeline import Batch, Pipeline
    from graphzero.row_order import reorder
    from graphzero.sampling import HeteroNeighborhood, Neighborhood, sample_neighbors
    from graphzero.staging import TransferReport, push, stage
    from graphzero.synth.synthesize import synthesize
    from graphzero.threads import num_threads, set_num_threads
    from graphzero.verification import Check, verify
    from graphzero.walks import random_walk

__version__ = "0.3.0.dev0"

if _sys.byteorder != "little":
    raise ImportError(
        "graphzero: expected a little-endian machine, such as x86-64 or arm64, found a big-endian one; "
        "its files are little-endian and are mapped as they are"
    )

# The module that each name lives in.
_HOMES = {
    "Batch": "pipeline",
    "Block": "dgl_blocks",
    "BuildReport": "convert.tables.report",
    "Check": "verification",
    "ConversionReport": "convert.conversion_report",
    "DataType": "_base.dtypes",
    "Dataset": "dataset",
    "DatasetEditor": "convert.dataset_editor",
    "DatasetReport": "convert.dataset",
    "DatasetWriter": "convert.dataset_writer",
    "EdgeType": "dataset",
    "FLOAT32": "_base.dtypes",
    "FLOAT64": "_base.dtypes",
    "FeatureReport": "convert.features",
    "FeatureStore": "features",
    "FormatError": "_core",
    "Graph": "graph",
    "HeteroBlock": "dgl_blocks",
    "HeteroNeighborhood": "sampling",
    "INT32": "_base.dtypes",
    "INT64": "_base.dtypes",
    "IdDictionary": "ids",
    "Index": "graph",
    "MemoryReport": "memory",
    "Neighborhood": "sampling",
    "NodeType": "dataset",
    "Pipeline": "pipeline",
    "TransferReport": "staging",
    "blocks": "dgl_blocks",
    "build_dataset": "convert.tables.build",
    "convert_csv_to_gd": "convert.features",
    "convert_csv_to_gl": "convert.edges",
    "convert_dataset": "convert.dataset",
    "convert_edges": "convert.edges",
    "convert_features": "convert.features",
    "edit_dataset": "convert.dataset_editor",
    "inference": "loaders",
    "memory_report": "memory",
    "num_threads": "threads",
    "open": "dataset",
    "push": "staging",
    "random_walk": "walks",
    "reorder": "row_order",
    "sample_negative_pairs": "negatives",
    "sample_negatives": "negatives",
    "sample_neighbors": "sampling",
    "set_num_threads": "threads",
    "stage": "staging",
    "synthesize": "synth.synthesize",
    "verify": "verification",
    "write_features": "features",
    "write_graph": "graph",
    "write_ids": "ids",
}

__all__ = [
    "FLOAT32",
    "FLOAT64",
    "INT32",
    "INT64",
    "Batch",
    "Block",
    "BuildReport",
    "Check",
    "ConversionReport",
    "DataType",
    "Dataset",
    "DatasetEditor",
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
    "TransferReport",
    "blocks",
    "build_dataset",
    "convert_csv_to_gd",
    "convert_csv_to_gl",
    "convert_dataset",
    "convert_edges",
    "convert_features",
    "edit_dataset",
    "memory_report",
    "num_threads",
    "open",
    "push",
    "random_walk",
    "reorder",
    "sample_negative_pairs",
    "sample_negatives",
    "sample_neighbors",
    "set_num_threads",
    "stage",
    "synthesize",
    "verify",
    "write_features",
    "write_graph",
    "write_ids",
]


# Type checkers would take any name for one that this function knows.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> _Any:
        if name in ("ids", "loaders"):
            return _load(f"graphzero.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = _load(f"graphzero.{_HOMES[name]}")
        found = globals()[name] = getattr(home, "open_dataset" if name == "open" else name)
        return found


def __dir__() -> list[str]:
    return [*__all__, "__version__", "ids", "inference", "loaders"]

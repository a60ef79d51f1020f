"""Samples as PyG's samplers return them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.sampler import HeteroSamplerOutput, SamplerOutput

from graphzero.loaders.tensors import as_tensor
from graphzero.sampling import HeteroNeighborhood, Neighborhood


def sampler_output(hood: Neighborhood | HeteroNeighborhood) -> Any:
    """Return a sample as PyG's, which has counts by hop only where edges are grouped by hop."""
    grouped = hood.num_sampled_edges is not None
    counts = (
        {"num_sampled_nodes": hood.num_sampled_nodes, "num_sampled_edges": hood.num_sampled_edges} if grouped else {}
    )
    if isinstance(hood, Neighborhood):
        return SamplerOutput(
            node=as_tensor(hood.node),
            row=as_tensor(hood.row),
            col=as_tensor(hood.col),
            edge=as_tensor(hood.edge),
            batch=None if hood.batch is None else as_tensor(hood.batch),
            **counts,
        )

    def tensors(arrays: Mapping[Any, NDArray[np.int64]]) -> dict[Any, Tensor]:
        return {key: as_tensor(array) for key, array in arrays.items()}

    return HeteroSamplerOutput(
        node=tensors(hood.node),
        row=tensors(hood.row),
        col=tensors(hood.col),
        edge=tensors(hood.edge),
        batch=None if hood.batch is None else tensors(hood.batch),
        **counts,
    )

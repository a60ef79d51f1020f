"""Samples as PyG's ``SamplerOutput``: what a sampler returns, and a user's ``transform_sampler_output`` takes."""

from __future__ import annotations

from typing import Any

import torch
from torch_geometric.sampler import HeteroSamplerOutput, SamplerOutput

from graphzero._base.argument_errors import type_error
from graphzero.dataset import EDGE, NODE
from graphzero.loaders._batch.late_tensor import made
from graphzero.loaders._batch.parts import Parts, Values, sampled_parts
from graphzero.sampling import HeteroNeighborhood, Neighborhood

_OF_SAMPLE = ("n_id", "e_id", "edge_index", "batch", "num_sampled_nodes", "num_sampled_edges")


def sampler_output(sample: Neighborhood | HeteroNeighborhood) -> Any:
    """Return a sample as PyG's samplers do, which count by hop only where edges are grouped by hop."""
    parts = sampled_parts(sample, NODE, EDGE)
    if sample.num_sampled_edges is None:
        for values in parts.nodes.values():
            del values["num_sampled_nodes"]
    return to_sampler_output(parts)


def to_sampler_output(parts: Parts) -> Any:
    """Return a sample as PyG's samplers do; what is known of its seeds is in ``metadata``."""
    if not parts.is_hetero:
        (nodes,), (edges,) = parts.nodes.values(), parts.edges.values()
        row, col = edges["edge_index"]
        return SamplerOutput(
            node=nodes["n_id"],
            row=row,
            col=col,
            edge=made(edges["e_id"]),
            batch=nodes.get("batch"),
            num_sampled_nodes=nodes.get("num_sampled_nodes"),
            num_sampled_edges=edges.get("num_sampled_edges"),
            metadata=(nodes.get("input_id", edges.get("input_id")), nodes.get("seed_time")),
        )

    def by_type(groups: dict[Any, Values], name: str) -> Any:
        found = {of: made(values[name]) for of, values in groups.items() if name in values}
        return found or None

    ends = by_type(parts.edges, "edge_index") or {}
    return HeteroSamplerOutput(
        node=by_type(parts.nodes, "n_id") or {},
        row={of: index[0] for of, index in ends.items()},
        col={of: index[1] for of, index in ends.items()},
        edge=by_type(parts.edges, "e_id") or {},
        batch=by_type(parts.nodes, "batch"),
        num_sampled_nodes=by_type(parts.nodes, "num_sampled_nodes"),
        num_sampled_edges=by_type(parts.edges, "num_sampled_edges"),
    )


def from_sampler_output(output: Any, before: Parts) -> Parts:
    """Read back what a transform made of a sample; the rest is as it was before."""
    if not isinstance(output, (SamplerOutput, HeteroSamplerOutput)):
        raise type_error(
            "transform_sampler_output",
            f"expected it to return what it was given, a SamplerOutput, found {type(output).__name__}",
        )

    def of_type(value: Any, of: Any) -> Any:
        return value if value is None or not before.is_hetero else value.get(of)

    def ends_of_type(of: Any) -> Any:
        ends = of_type(output.row, of), of_type(output.col, of)
        return None if ends[0] is None else torch.stack(ends)  # of links that are not sampled there are none

    def rest_of(values: Values, **sampled: Any) -> Values:
        rest = {name: value for name, value in values.items() if name not in _OF_SAMPLE}
        return {**rest, **{name: value for name, value in sampled.items() if value is not None}}

    nodes = {
        of: rest_of(
            values,
            n_id=of_type(output.node, of),
            batch=of_type(output.batch, of),
            num_sampled_nodes=of_type(output.num_sampled_nodes, of),
        )
        for of, values in before.nodes.items()
    }
    edges = {
        of: rest_of(
            values,
            edge_index=ends_of_type(of),
            e_id=of_type(output.edge, of),
            num_sampled_edges=of_type(output.num_sampled_edges, of),
        )
        for of, values in before.edges.items()
    }
    return Parts(nodes, edges, before.is_hetero)

"""What decides the batches of a loader, as text that processes on several hosts can compare."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any

import numpy as np

from graphzero._base.arrays import IntArray
from graphzero._dataset.feature_share import FeatureShare
from graphzero._files.mounted import Mounted
from graphzero._inputs.attributes import Attribute
from graphzero._inputs.pipeline_request import PipelineRequest
from graphzero._inputs.sample_request import SampleRequest
from graphzero._inputs.seeds import LinkSeeds, NodeSeeds
from graphzero.features import FeatureStore

_OF_SAMPLE = (
    "replace",
    "disjoint",
    "temporal_strategy",
    "time_window",
    "subgraph_type",
    "exclude_reverse",
    "method",
    "layer_dependency",
)


def request_facts(request: PipelineRequest, shared: Collection[Attribute], seed: int) -> dict[str, str]:
    """Return what all ranks must have in common, by name: the argument, and what of it behind a colon.

    What changes only the speed is left out: memory, threads, readers, devices, and where the files are. ``shared`` are
    the attributes that hosts divide.
    """
    sample, order = request.sample, request.order
    facts = {f"data: {what}": value for what, value in _files(request).items()}
    facts |= {f"data: {one.name} of {one.of!r}": _whole(one.store) for one in shared}
    facts |= {
        f"data: rows of {one.name} of {one.of!r}": _hosts(one.store)
        for one in (*request.attributes, *shared)
        if not isinstance(one.of, tuple)
    }
    facts |= {f"num_neighbors: {triple}": str(hops) for triple, hops in sample.fanouts.by_type.items()}
    facts |= _sampling(sample)
    argument = "input_nodes" if isinstance(request.seeds, NodeSeeds) else "edge_label_index"
    facts |= {f"{argument}: {what}": value for what, value in _seeds(request.seeds).items()}
    facts |= {f"neg_sampling: {name}": str(value) for name, value in vars(request.negatives).items() if name != "by"}
    facts["batch_size"] = str(order.batch_size)
    facts["shuffle"] = str(order.shuffle)
    facts["drop_last"] = str(order.drop_last)
    facts["drop_uneven_inputs"] = str(bool(request.drop_uneven_inputs))
    facts["seed"] = str(seed)
    return facts


def fact_of(value: Any) -> str:
    """Return the text of an argument: of an array its hash, of anything else what it prints."""
    is_array = value is not None and not isinstance(value, (str, dict)) and hasattr(value, "__len__")
    return _hash(np.asarray(value)) if is_array else str(value)


def _files(request: PipelineRequest) -> dict[str, str]:
    graphs = {f"edges {triple}": _contents(graph) for triple, graph in request.sample.relations.graphs.items()}
    return graphs | {f"{each.name} of {each.of!r}": _contents(each.store) for each in request.attributes}


def _contents(store: Mounted[Any]) -> str:
    """Return what stands for a file's contents. Those of GraphZero 0.2 have no checksums, only a size."""
    return f"{store.nbytes} bytes" if store.is_graphzero02 else f"{store.fingerprint:#018x}"


def _whole(store: FeatureStore) -> str:
    return f"{store.record.whole:#018x}" if isinstance(store, FeatureShare) else _contents(store)


def _hosts(store: FeatureStore) -> str:
    hosts = store.num_hosts if isinstance(store, FeatureShare) else 1
    return "all on each host" if hosts == 1 else f"divided among {hosts} hosts"


def _sampling(sample: SampleRequest) -> dict[str, str]:
    facts = {name: str(getattr(sample, name)) for name in _OF_SAMPLE}
    facts["sample_direction"] = sample.direction
    facts["weight_attr"] = str(list(sample.weighted))
    facts["time_attr"] = str(list(sample.edge_time))
    return facts | {f"time_attr: {kind!r}": _hash(times) for kind, times in sample.node_time.items()}


def _seeds(seeds: NodeSeeds | LinkSeeds) -> dict[str, str]:
    facts = {"times": "none" if seeds.times is None else _hash(seeds.times)}
    if isinstance(seeds, NodeSeeds):
        return facts | {"type": seeds.node_type, "ids": "all" if seeds.ids is None else _hash(seeds.ids)}
    return facts | {"type": str(seeds.edge_type), "sources": _hash(seeds.src), "destinations": _hash(seeds.dst)}


def _hash(values: IntArray) -> str:
    digest = hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=8)
    return f"{len(values)} with hash {digest.hexdigest()}"

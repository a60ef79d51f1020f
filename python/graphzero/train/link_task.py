"""Which edges there are to predict: those of the splits, or a share that is held out, and the graph without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import value_error
from graphzero._base.integers import as_seed
from graphzero._dataset.all_edges import all_edges, message_edges, some_edges
from graphzero._dataset.temporary_graphs import TemporaryGraphs
from graphzero._inputs.edge_types import as_relations
from graphzero.dataset import Dataset, EdgeTriple, type_text
from graphzero.negatives import sample_negatives
from graphzero.train.settings import Settings
from graphzero.train.task import check_edges, find_features

MEASURED = ("valid", "test")
_AT_ONCE = 1 << 20  # pairs that are looked up together


@dataclass(frozen=True)
class LinkTask:
    """Link prediction.

    ``links`` are the edges to predict, as two rows, by split; ``negatives`` the destinations, none of them that of an
    edge, among which each edge of a split is ranked. ``messages`` is the data set without the edges of valid and test,
    which models are never shown. ``features`` is as in ``Task``.
    """

    data: Dataset
    edge_type: EdgeTriple
    features: dict[str, tuple[str, int] | None]
    links: Mapping[str, NDArray[np.int64]] = field(repr=False)
    negatives: Mapping[str, NDArray[np.int64]] = field(repr=False)
    messages: Dataset = field(repr=False)
    files: TemporaryGraphs = field(repr=False)  # keeps the graphs of ``messages``
    num_classes: int = 2  # an edge, or none
    class_names: None = None

    @property
    def target(self) -> str:
        """The edge type as it is written on a command line."""
        return ",".join(self.edge_type)

    @property
    def splits(self) -> dict[str, int]:
        """Those of train, valid and test that have edges, and how many."""
        return {name: pairs.shape[1] for name, pairs in self.links.items() if pairs.shape[1]}


def find_link_task(data: Dataset, settings: Settings, edge_type: str | None = None) -> LinkTask:
    """Find the edges to predict, or those of an edge type written ``"user,rates,movie"``, and features.

    Lists the edges of that type in memory, at some 100 bytes each, and writes a temporary graph without those held out.
    """
    check_edges(data)
    triple = _edge_type(data, edge_type)
    graph = data.edges[triple].graph
    features = find_features(data)
    links = _links(data, triple, settings)
    none = np.empty((2, 0), dtype=np.int64)
    hidden = np.concatenate([links.get(name, none) for name in MEASURED], axis=1)
    two_ways = triple[0] == triple[2]
    # An edge may be there twice, or once in each direction: to train on the other one would tell the answer.
    links["train"] = links["train"][:, ~_among(links["train"], hidden, two_ways)]
    if not links["train"].shape[1]:
        raise ValueError(
            f"{data.path}: expected edges of {type_text(triple)} to train on, found none but held-out ones"
        )
    files = TemporaryGraphs()
    seed = as_seed(settings.seed)
    negatives = {
        name: sample_negatives(
            graph, links[name][0], settings.rank_negatives, exclude_edges=True, seed=(seed + number) % 2**64
        )
        for number, name in enumerate(MEASURED)
        if name in links and links[name].shape[1]
    }
    messages = _without(data, triple, hidden, two_ways, files)
    return LinkTask(data, triple, features, links, negatives, messages, files)


def _edge_type(data: Dataset, wanted: str | None) -> EdgeTriple:
    types = {",".join(triple): triple for triple in data.edges}
    if wanted is not None:
        if wanted not in types:
            raise value_error("edge_type", f"expected one of {'; '.join(types)}, found {wanted!r}")
        return types[wanted]
    split = [triple for triple in data.edges if data.has_split("train", triple)]
    if len(types) > 1 and len(split) != 1:
        raise value_error("edge_type", f"expected one of {'; '.join(types)}, found none; say which edges to predict")
    return split[0] if len(split) == 1 else next(iter(data.edges))


def _links(data: Dataset, triple: EdgeTriple, settings: Settings) -> dict[str, NDArray[np.int64]]:
    graph = data.edges[triple].graph
    if data.has_split("train", triple):
        return {
            name: some_edges(graph, data.split(name, triple, writable=False), "links")
            for name in ("train", *MEASURED)
            if name == "train" or data.has_split(name, triple)
        }
    edges = all_edges(graph, "links")
    count = edges.shape[1]
    held = round(count * settings.held_out)
    if held < len(MEASURED):
        raise value_error(
            "held_out",
            f"expected a share that leaves {len(MEASURED)} or more of the {count} edges of {type_text(triple)} to "
            f"measure, found {settings.held_out:g}",
        )
    order = np.random.default_rng(as_seed(settings.seed)).permutation(count)
    parts = {"train": order[held:], "valid": order[: held // 2], "test": order[held // 2 : held]}
    return {name: edges[:, np.sort(ids)] for name, ids in parts.items()}


def _among(pairs: NDArray[np.int64], hidden: NDArray[np.int64], two_ways: bool) -> NDArray[np.bool_]:
    """Return which pairs are hidden ones, or with ``two_ways`` also their reverses."""
    found = np.zeros(pairs.shape[1], dtype=np.bool_)
    if not hidden.size or not pairs.size:
        return found
    # Products of more than 3 billion nodes wrap around; equal pairs have equal keys all the same.
    width = int(max(pairs.max(), hidden.max())) + 1
    both = (hidden, hidden[::-1]) if two_ways else (hidden,)
    keys = np.sort(np.concatenate([src * width + dst for src, dst in both]))
    for first in range(0, len(found), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        wanted = pairs[0, part] * width + pairs[1, part]
        found[part] = keys[np.searchsorted(keys[:-1], wanted)] == wanted
    return found


def _without(
    data: Dataset, triple: EdgeTriple, hidden: NDArray[np.int64], two_ways: bool, files: TemporaryGraphs
) -> Dataset:
    """Return the data set without some edges, and without their reverses, of which PyG's data sets have a type."""
    reverse = as_relations(data).reverse_of(triple)
    left_out = {triple: hidden}
    if reverse is not None and reverse != triple:
        left_out[reverse] = hidden[::-1]
    edges = dict(data.edges)
    for kind, pairs in left_out.items():
        graph = edges[kind].graph
        there, _ = message_edges(graph, "links")
        shown = there[:, ~_among(there, pairs, two_ways)]
        counts = (graph.num_src_nodes, graph.num_dst_nodes) if graph.bipartite else graph.num_src_nodes
        edges[kind] = replace(
            edges[kind], graph=files.write(shown, counts, "both"), attributes={}, in_memory={}, weight=None, time=None
        )
    nodes = {name: replace(node, label=None) for name, node in data.nodes.items()}
    return replace(data, nodes=nodes, edges=edges)

"""Batches of edges with their sampled neighbourhoods, under the names of PyG's ``LinkNeighborLoader``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphzero._base.argument_errors import type_error, value_error
from graphzero._inputs.pipeline_request import LinkNegatives
from graphzero._inputs.seeds import LinkSeeds, input_ids, read_links, refuse_without_edges, seed_times
from graphzero.loaders._batch.parts import Parts
from graphzero.loaders._batch.tensors import as_tensor
from graphzero.loaders._data.node_times import as_node_times
from graphzero.loaders._process.request_facts import fact_of
from graphzero.loaders.loader import Loader
from graphzero.loaders.options import LoaderKeywords
from graphzero.loaders.pyg.links import labels_with_negatives, times_with_negatives
from graphzero.pipeline import Batch

if TYPE_CHECKING:
    from typing_extensions import Unpack


class LinkNeighborLoader(Loader):
    """Iterates over batches of edges with the sampled neighbourhoods of their ends.

    Takes the arguments of ``torch_geometric.loader.LinkNeighborLoader`` and returns the same batches, from files of any
    size.

    Args:
        data: As in [`NeighborLoader`][graphzero.loaders.NeighborLoader].
        num_neighbors: Neighbours per hop, -1 for all: a list, a dict by edge type, or PyG's ``NumNeighbors``.
        edge_label_index: Sources and destinations; with several types ``(edge_type, (src, dst))``, where an edge type
            that the data does not have is not sampled; of a data set also the name of a split of its edges, or
            ``(edge_type, split)``. Default: all edges, at 16 bytes of memory each.
        edge_label: A label for each edge. With binary negatives, which are labelled 0, labels that begin at 0 are
            raised by 1, and edges without labels are 1.
        edge_label_time: A time for each edge; nothing newer is sampled. Needs ``time_attr``.
        replace: Draw with replacement.
        subgraph_type: Which edges to return, as in [`sample_neighbors`][graphzero.sample_neighbors].
        disjoint: Give every seed a tree of its own.
        temporal_strategy: ``"last"`` takes the newest neighbours instead of random ones.
        neg_sampling: ``"binary"``, ``"triplet"``, PyG's ``NegativeSampling``, or its parts: mode, amount, weights of
            sources and of destinations.
        neg_sampling_ratio: ``r`` stands for ``neg_sampling=("binary", r)``.
        time_attr: As in [`NeighborLoader`][graphzero.loaders.NeighborLoader].
        weight_attr: As in [`NeighborLoader`][graphzero.loaders.NeighborLoader].
        transform: Called with each batch; returns what the loader returns.
        transform_sampler_output: Called with PyG's ``SamplerOutput`` before features are read.
        exclude_positives: Never return an edge of the graph as a negative. PyG may.
        exclude_seed_edges: Do not sample the edges to be predicted. PyG samples them, which leaks labels.
        exclude_reverse: With ``exclude_seed_edges``, do not sample their reverses either.
        options: Those of [`LoaderOptions`][graphzero.loaders.LoaderOptions].

    Raises:
        IndexError: An end is not a node of the graph.
        TypeError: There is no such option.
        ValueError: The data has no such split, type, times or weights.

    Examples:
        >>> from graphzero import Graph
        >>> loader = LinkNeighborLoader(Graph(tiny_gl), [-1], edge_label_index=[[0, 3], [2, 0]], batch_size=2)
        >>> batch = next(iter(loader))
        >>> batch.n_id, batch.edge_label_index
        (tensor([0, 2, 3, 1]), tensor([[0, 2],
                [1, 0]]))
    """

    _pyg_name = "LinkNeighborLoader"

    def __init__(
        self,
        data: Any,
        num_neighbors: Any,
        edge_label_index: Any = None,
        edge_label: Any = None,
        edge_label_time: Any = None,
        replace: bool = False,
        subgraph_type: Any = "directional",
        disjoint: bool = False,
        temporal_strategy: Any = "uniform",
        neg_sampling: Any = None,
        neg_sampling_ratio: float | None = None,
        time_attr: str | None = None,
        weight_attr: str | None = None,
        transform: Callable[[Any], Any] | None = None,
        transform_sampler_output: Callable[[Any], Any] | None = None,
        *,
        exclude_positives: bool = False,
        exclude_seed_edges: bool = False,
        exclude_reverse: bool = False,
        **options: Unpack[LoaderKeywords],
    ) -> None:
        read, graph_data = self._read(data, num_neighbors, time_attr, weight_attr, options)
        if (edge_label_time is not None) != (time_attr is not None):
            raise ValueError("edge_label_time, time_attr: expected both or none of them, found one")
        relations = graph_data.relations
        self._type, src, dst = read_links(edge_label_index, relations, graph_data, "edge_label_index")
        needing = {"exclude_positives": exclude_positives, "exclude_seed_edges": exclude_seed_edges}
        refuse_without_edges(relations, self._type, needing)
        self._negatives, self._amount, weights = _negatives(neg_sampling, neg_sampling_ratio)
        self._label = _labels(edge_label, self._negatives, len(src))
        times = as_node_times(graph_data, time_attr, read.time_window)
        self._time = None if edge_label_time is None else seed_times(edge_label_time, len(src), "edge_label_time")
        self._input_id = input_ids(read.input_id, len(src))
        sample = self._sample(
            read, graph_data, times, subgraph_type, replace=replace, disjoint=disjoint, temporal=self._time is not None,
            temporal_strategy=temporal_strategy, exclude_reverse=exclude_reverse,
        )  # fmt: skip
        seeds = LinkSeeds(self._type, src, dst, self._time)
        negatives = LinkNegatives(self._negatives, self._amount, weights, exclude_positives, exclude_seed_edges)
        self.edge_label_index = edge_label_index
        self.edge_label = edge_label
        self.edge_label_time = edge_label_time
        self.neg_sampling = neg_sampling
        request = read._pipeline_request(sample, seeds, negatives)
        super().__init__(
            data, graph_data, read, edge_label_index, len(src), request, transform, transform_sampler_output
        )

    def _facts_of_batches(self) -> dict[str, str]:
        return super()._facts_of_batches() | {"edge_label": fact_of(self._label)}

    @property
    def link_sampler(self) -> Any:
        """A [`NeighborSampler`][graphzero.loaders.NeighborSampler] with the same arguments."""
        return self._sampler(exclude_positives=self._request.negatives.exclude_edges)

    def _describe_seeds(self, batch: Batch, parts: Parts) -> None:
        assert batch.src_index is not None
        assert batch.dst_index is not None
        places, num_links = batch.input_id, batch.num_seeds
        src, dst = as_tensor(batch.src_index), as_tensor(batch.dst_index)
        of_src, of_dst = parts.nodes[self._type[0]], parts.nodes[self._type[2]]
        of_edge = parts.edges.setdefault(self._type if parts.is_hetero else self._data.relations.edge_type, {})
        of_edge["input_id"] = as_tensor(places if self._input_id is None else self._input_id[places])
        times = None if self._time is None else as_tensor(self._time[places])
        if self._negatives == "triplet":
            of_src["src_index"] = src
            of_dst["dst_pos_index"] = dst[:num_links]
            of_dst["dst_neg_index"] = dst[num_links:].view(num_links, -1).squeeze(-1)
            if times is not None:
                of_src["seed_time"] = of_dst["seed_time"] = times
        else:
            of_edge["edge_label_index"] = torch.stack([src, dst])
            label = self._label_of(places, len(src) - num_links)
            if label is not None:
                of_edge["edge_label"] = label
            if times is not None:
                of_edge["edge_label_time"] = times_with_negatives(times, len(src))
        if "batch" in of_src:
            links = self._link_of_tree(num_links, len(src), len(dst))
            for values in parts.nodes.values():
                values["batch"] = links[values["batch"]]

    def _label_of(self, places: NDArray[np.int64], num_negatives: int) -> torch.Tensor | None:
        if self._label is None:
            if self._negatives is None:
                return None
            label = torch.ones(len(places))
        else:
            label = self._label[torch.from_numpy(places)]
        return labels_with_negatives(label, num_negatives)

    def _link_of_tree(self, num_links: int, num_src: int, num_dst: int) -> torch.Tensor:
        """Return which link each tree of a disjoint sample belongs to: every end of every pair has its own tree."""
        types = self._data.relations.node_types
        halves = [torch.arange(count) % num_links for count in (num_src, num_dst)]
        if types.index(self._type[0]) > types.index(self._type[2]):
            halves.reverse()
        return torch.cat(halves)


def _negatives(given: Any, ratio: float | None) -> tuple[Any, float, Any]:
    """Return kind, amount and law of the negatives."""
    if ratio:
        given = ("binary", ratio)
    if given is None:
        return None, 1, "uniform"
    if isinstance(given, str):
        given = (given,)
    names = ("mode", "amount", "src_weight", "dst_weight")
    if isinstance(given, (tuple, list)):
        given = dict(zip(names, given, strict=False))
    if not isinstance(given, dict):
        if not hasattr(given, "mode"):
            raise type_error("neg_sampling", f"expected 'binary', 'triplet' or a NegativeSampling, found {given!r}")
        given = {name: getattr(given, name) for name in names}
    unknown = [name for name in given if name not in names]
    if unknown:
        raise value_error("neg_sampling", f"expected some of {names}, found {unknown[0]!r}")
    mode = getattr(given.get("mode"), "value", given.get("mode"))
    if mode not in ("binary", "triplet"):
        raise value_error("neg_sampling", f"expected mode 'binary' or 'triplet', found {mode!r}")
    weights = given.get("src_weight"), given.get("dst_weight")
    return mode, given.get("amount", 1), weights if mode == "binary" else weights[1]


def _labels(given: Any, negatives: str | None, count: int) -> torch.Tensor | None:
    if given is None:
        return None
    if negatives == "triplet":
        raise value_error(
            "edge_label",
            "expected none with triplets; src_index, dst_pos_index and dst_neg_index of a batch tell "
            "edges from negatives",
        )
    label = torch.as_tensor(given)
    if label.ndim == 0 or len(label) != count:
        raise value_error("edge_label", f"expected {count}, one per edge, found shape {tuple(label.shape)}")
    # 0 stands for a negative.
    return label + 1 if negatives == "binary" and count and label.min() == 0 else label

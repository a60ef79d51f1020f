"""Neighbour sampling for PyG's own loaders."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.sampler import (
    BaseSampler,
    EdgeSamplerInput,
    NegativeSampling,
    NodeSamplerInput,
    NumNeighbors,
)
from torch_geometric.sampler.base import SubgraphType

from graphzero._base.argument_errors import check_choice, value_error
from graphzero._base.arrays import int64_vector
from graphzero._base.integers import as_seed
from graphzero._inputs.edge_types import as_triple
from graphzero._inputs.fanouts import read_num_neighbors
from graphzero._inputs.sample_request import SampleRequest
from graphzero._inputs.seeds import refuse_without_edges
from graphzero.graph import Direction
from graphzero.loaders._batch.sampler_outputs import sampler_output
from graphzero.loaders._batch.tensors import as_tensor
from graphzero.loaders._data.edge_values import weighted_types
from graphzero.loaders._data.node_times import as_node_times
from graphzero.loaders._data.subgraph_types import subgraph_type_of
from graphzero.loaders.pyg.links import Negatives, Side, ends_of, link_metadata, links_of
from graphzero.loaders.pyg.loader_data import as_loader_data
from graphzero.sampling import HeteroNeighborhood, Neighborhood, sample

_DIRECTIONS: dict[str, Direction] = {"forward": "in", "backward": "out"}


class NeighborSampler(BaseSampler):  # type: ignore[misc]
    """Samples neighbourhoods for PyG's loaders straight from mapped graphs.

    Takes the arguments of PyG's ``NeighborSampler``. Give it to ``NodeLoader`` or ``LinkLoader``, or as
    ``neighbor_sampler=`` to ``NeighborLoader`` and ``LinkNeighborLoader``. Edge ids are those of the edges as they were
    written.

    Args:
        data: A data set, a graph, graphs by edge type, the [`PyGFeatureStore`][graphzero.loaders.PyGFeatureStore] and
            [`GraphStore`][graphzero.loaders.GraphStore] of the loader, or what else
            [`NeighborLoader`][graphzero.loaders.NeighborLoader] takes.
        num_neighbors: Neighbours per hop, -1 for all: a list, a dict by edge type, or PyG's ``NumNeighbors``.
        subgraph_type: Which edges to return, as in [`sample_neighbors`][graphzero.sample_neighbors].
        replace: Draw with replacement.
        disjoint: Give every seed a tree of its own.
        temporal_strategy: ``"last"`` takes the newest neighbours instead of random ones.
        time_attr: As in [`NeighborLoader`][graphzero.loaders.NeighborLoader].
        weight_attr: As in [`NeighborLoader`][graphzero.loaders.NeighborLoader].
        is_sorted: Ignored: files are sorted.
        share_memory: Ignored: all processes share the files.
        directed: PyG's option before ``subgraph_type``: ``False`` is ``"induced"``.
        sample_direction: ``"forward"`` follows edges backwards, as PyG calls it; ``"backward"`` the other way.
        time_window: Leave out what is older than the seed's time by more than this.
        exclude_positives: Never draw an edge of the graph as a negative of link loaders.
        seed: The sample of a batch depends on the seed and that batch alone, in any worker and epoch. Without one,
            torch's generator decides, so ``torch.manual_seed`` repeats a run.

    Examples:
        >>> import graphzero as gz
        >>> sampler = NeighborSampler(gz.Graph(tiny_gl), [-1, -1])             # 0→1  0→2  1→2  3→0
        >>> out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([2])))
        >>> out.node, out.edge, out.num_sampled_nodes
        (tensor([2, 0, 1, 3]), tensor([1, 2, 3, 0]), [1, 2, 1])
    """

    def __init__(
        self,
        data: Any,
        num_neighbors: Any,
        subgraph_type: Any = "directional",
        replace: bool = False,
        disjoint: bool = False,
        temporal_strategy: Literal["uniform", "last"] = "uniform",
        time_attr: str | None = None,
        weight_attr: str | None = None,
        is_sorted: bool = False,
        share_memory: bool = False,
        directed: bool = True,
        sample_direction: Literal["forward", "backward"] = "forward",
        *,
        time_window: int | None = None,
        exclude_positives: bool = False,
        seed: int | None = None,
    ) -> None:
        check_choice(sample_direction, "sample_direction", *_DIRECTIONS)
        self.data = as_loader_data(
            data, weight_attr=weight_attr, time_attr=time_attr, sample_direction=sample_direction
        )
        self.is_sorted = is_sorted
        self.share_memory = share_memory
        self.replace = replace
        self.temporal_strategy = temporal_strategy
        self.weight_attr = weight_attr
        self.time_window = time_window
        self.exclude_positives = exclude_positives
        self.sample_direction = sample_direction
        self.seed = None if seed is None else as_seed(seed)
        self.keep_orig_edges = False
        self._disjoint = disjoint
        self._times = as_node_times(self.data, time_attr, time_window)
        self.num_neighbors = num_neighbors
        self._check_indexes()
        self._weighted = weighted_types(weight_attr, self.data)
        # Refuses bad options now, and not in a worker.
        kind = subgraph_type_of(subgraph_type, directed)
        self._request(kind, temporal=False, seed=0)
        self.subgraph_type = SubgraphType(kind)

    @property
    def num_neighbors(self) -> Any:
        """Neighbours per hop as PyG's ``NumNeighbors``. May be set to a list or a dict, too."""
        return self._num_neighbors

    @num_neighbors.setter
    def num_neighbors(self, num_neighbors: Any) -> None:
        self._fanouts = read_num_neighbors(num_neighbors, self.data.relations)
        is_pygs = isinstance(num_neighbors, NumNeighbors)
        self._num_neighbors = num_neighbors if is_pygs else NumNeighbors(num_neighbors)

    @property
    def is_hetero(self) -> bool:
        """Whether there is more than one kind of node or edge."""
        return self.data.is_hetero

    @property
    def is_temporal(self) -> bool:
        """Whether samples respect times."""
        return self._times is not None

    @property
    def disjoint(self) -> bool:
        """Whether each seed has a tree of its own, as it must in temporal samples."""
        return self._disjoint or self.is_temporal

    @disjoint.setter
    def disjoint(self, disjoint: bool) -> None:
        self._disjoint = disjoint

    @property
    def num_nodes(self) -> int | dict[str, int]:
        """The number of nodes, by type if there are several."""
        counts = self.data.relations.num_nodes
        return dict(counts) if self.is_hetero else counts[self.data.relations.node_types[0]]

    @property
    def node_time(self) -> Tensor | dict[str, Tensor] | None:
        """The times of nodes, by type if there are several; ``None`` if edges have them instead."""
        if self._times is None or not self._times.sources:
            return None
        times = {kind: as_tensor(self._times.vectors[kind]) for kind in self._times.sources}
        return times if self.is_hetero else next(iter(times.values()))

    def sample_from_nodes(self, index: Any, **kwargs: Any) -> Any:
        """Sample around nodes.

        Args:
            index: A ``NodeSamplerInput``.
            kwargs: Ignored; part of PyG's interface.

        Returns:
            PyG's ``SamplerOutput`` or ``HeteroSamplerOutput``.
        """
        inputs = NodeSamplerInput.cast(index)
        kind = self._node_type(inputs.input_type)
        out = self._sample_by_type({kind: inputs.node}, None if inputs.time is None else {kind: inputs.time})
        out.metadata = (inputs.input_id, inputs.time)
        return out

    def sample_from_edges(self, index: Any, neg_sampling: Any = None) -> Any:
        """Sample around links, and around negatives beside them.

        Args:
            index: An ``EdgeSamplerInput``.
            neg_sampling: PyG's ``NegativeSampling``, or what it is made of. Default: no negatives.

        Returns:
            PyG's ``SamplerOutput`` or ``HeteroSamplerOutput``.
        """
        inputs, wanted = EdgeSamplerInput.cast(index), NegativeSampling.cast(neg_sampling)
        src_type, dst_type = self._ends(inputs.input_type)
        disjoint = self.disjoint
        if wanted is not None and wanted.is_triplet() and inputs.label is not None:
            raise value_error("edge_label", "expected none with triplets, which src_index and dst_neg_index tell apart")
        negatives = None if wanted is None else self._negatives(inputs, wanted, src_type, dst_type)
        links = links_of(inputs, negatives, disjoint=disjoint)
        ends = ends_of(links, src_type, dst_type, disjoint=disjoint)
        out = self._sample_by_type(ends.seeds, ends.times)
        if disjoint:
            link = torch.cat([ends.links[kind] for kind in self.data.relations.node_types if kind in ends.links])
            out.batch = {kind: link[trees] for kind, trees in out.batch.items()} if self.is_hetero else link[out.batch]
        out.metadata = link_metadata(links, ends, inputs.input_id, disjoint=disjoint)
        return out

    def _sample(self, seed: Any, seed_time: Any = None, **kwargs: Any) -> Any:
        """Sample around seeds as PyG's own functions hand them over: by type if there are several."""
        kind = self.data.relations.node_types[0]
        if self.is_hetero:
            return self._sample_by_type(seed, seed_time)
        return self._sample_by_type({kind: seed}, None if seed_time is None else {kind: seed_time})

    def _sample_by_type(self, seeds: Mapping[str, Tensor], seed_time: Mapping[str, Tensor] | None) -> Any:
        times = self._seed_times(seeds, seed_time)
        key = self._key(seeds, times or {})
        kind = self.subgraph_type.value
        hood = self._hood(seeds, times, kind, key)
        if not (self.keep_orig_edges and kind == "bidirectional"):
            return sampler_output(hood)
        directional = sampler_output(self._hood(seeds, times, "directional", key))
        out = sampler_output(hood)
        out.orig_row, out.orig_col = directional.row, directional.col
        out.num_sampled_nodes, out.num_sampled_edges = directional.num_sampled_nodes, directional.num_sampled_edges
        return out

    def _hood(
        self, seeds: Mapping[str, Tensor], times: Mapping[str, Any] | None, subgraph_type: str, key: int
    ) -> Neighborhood | HeteroNeighborhood:
        request = self._request(subgraph_type, temporal=times is not None, seed=key)
        return sample(request, seeds, times or {})

    def _request(self, subgraph_type: Any, *, temporal: bool, seed: int) -> SampleRequest:
        times = self._times if temporal else None
        return SampleRequest(
            self.data.relations,
            self._fanouts,
            direction=_DIRECTIONS[self.sample_direction],
            replace=self.replace,
            weighted=self._weighted,
            disjoint=self.disjoint,
            temporal=temporal,
            node_time=None if times is None else times.node_time,
            edge_time=None if times is None else times.edge_types,
            temporal_strategy=self.temporal_strategy,
            time_window=self.time_window,
            subgraph_type=subgraph_type,
            seed=seed,
        )

    def _key(self, *parts: Mapping[str, Any]) -> int:
        if self.seed is None:
            return int(torch.randint(2**63 - 1, ()))
        digest = hashlib.blake2b(self.seed.to_bytes(8, "little"), digest_size=8)
        for part in parts:
            for name, values in part.items():
                digest.update(f"{name}:{len(values)}:".encode())
                digest.update(np.ascontiguousarray(values, dtype=np.int64).tobytes())
        return int.from_bytes(digest.digest(), "little")

    def _negatives(self, inputs: Any, wanted: Any, src_type: str, dst_type: str) -> Negatives:
        if self._node_times and inputs.time is None:
            raise value_error(
                "edge_label_time", "expected a time per link, which negatives must be older than, found None"
            )
        relations = self.data.relations
        without = None
        if self.exclude_positives:
            triple = as_triple(inputs.input_type) if self.is_hetero else relations.edge_type
            refuse_without_edges(relations, triple, {"exclude_positives": True})
            without = relations.graphs[triple]

        def side(kind: str, weight: Tensor | None) -> Side:
            times = self._node_times.get(kind)
            return Side(relations.num_nodes[kind], weight, None if times is None else as_tensor(times))

        def key() -> int:
            return self._key({"negatives of": inputs.row, "to": inputs.col})

        return Negatives(
            src=side(src_type, wanted.src_weight),
            dst=side(dst_type, wanted.dst_weight),
            amount=wanted.amount,
            triplet=wanted.is_triplet(),
            without=without,
            generator=None if self.seed is None else torch.Generator().manual_seed(key() >> 1),
            key=key,
        )

    def _seed_times(self, seeds: Mapping[str, Tensor], given: Mapping[str, Tensor] | None) -> Mapping[str, Any] | None:
        name = "input_time, edge_label_time"
        if self._times is None and given is not None:
            raise value_error(
                name,
                "found times, but the sampler has no time_attr; give it one, and no neighbour will be newer "
                "than its seed",
            )
        if self._times is None or given is not None:
            return given
        return {kind: self._times.of_seeds(kind, int64_vector(ids, "seeds"), name) for kind, ids in seeds.items()}

    @property
    def _node_times(self) -> dict[str, NDArray[np.int64]]:
        return {} if self._times is None else self._times.vectors

    def _check_indexes(self) -> None:
        direction = _DIRECTIONS[self.sample_direction]
        for graph in self.data.relations.graphs.values():
            if direction not in graph.indexes:
                raise value_error(
                    "sample_direction",
                    f"{self.sample_direction!r} needs the {direction!r} index, and {graph.path} has "
                    f"only {graph.indexes[0]!r}; write the graph with index='both'",
                )

    def _node_type(self, given: str | None) -> str:
        kinds = self.data.relations.node_types
        if given is None and not self.is_hetero:
            return kinds[0]
        if given not in kinds:
            raise value_error("input_nodes", f"expected (node type, ids) with one of {kinds}, found {given!r}")
        return given

    def _ends(self, given: Any) -> tuple[str, str]:
        kinds = self.data.relations.node_types
        if given is None and not self.is_hetero:
            return kinds[0], kinds[0]
        if given is None or len(given) != 3 or given[0] not in kinds or given[2] not in kinds:
            raise value_error(
                "edge_label_index",
                f"expected (edge type, ids) with one of {list(self.data.relations.graphs)}, found {given}",
            )
        return given[0], given[2]

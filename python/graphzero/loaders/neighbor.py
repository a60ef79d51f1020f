"""Batches of nodes with their sampled neighbourhoods, under the names of PyG's ``NeighborLoader``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphzero._base.argument_errors import value_error
from graphzero._inputs.seeds import NodeSeeds, check_nodes, input_ids, read_nodes, seed_times
from graphzero.loaders._batch.parts import Parts
from graphzero.loaders._batch.tensors import as_tensor
from graphzero.loaders._data.node_times import as_node_times
from graphzero.loaders.loader import Loader
from graphzero.loaders.options import LoaderKeywords
from graphzero.pipeline import Batch

if TYPE_CHECKING:
    from typing_extensions import Unpack


class NeighborLoader(Loader):
    """Iterates over batches of nodes with their sampled neighbourhoods.

    Takes the arguments of ``torch_geometric.loader.NeighborLoader`` and returns the same batches, from files of any
    size.

    Args:
        data: A [data set][graphzero.open], a [`Graph`][graphzero.Graph], or ``(graph, features)``; with several types,
            dicts of graphs and stores by type. Also PyG's ``Data``, ``HeteroData`` or ``(feature_store, graph_store)``,
            whose edges are written to temporary files and whose rows stay where they are.
        num_neighbors: Neighbours per hop, -1 for all: a list, a dict by edge type, or PyG's ``NumNeighbors``.
        input_nodes: A mask, node ids, the name of a split, or ``None`` for all nodes; with several types a node type,
            ``(node_type, ids)``, or a split that only one node type has.
        input_time: A time for each seed; nothing newer is sampled. Default: the seed's own.
        replace: Draw with replacement.
        subgraph_type: Which edges to return, as in [`sample_neighbors`][graphzero.sample_neighbors].
        disjoint: Give every seed a tree of its own.
        temporal_strategy: ``"last"`` takes the newest neighbours instead of random ones.
        time_attr: The attribute that holds the times of nodes, which need not be among the features; makes the sample
            temporal. Where neighbours have none, the times stored with the edges count, unless these are known to be of
            another name. What has no times at all is not limited.
        weight_attr: The name of the weights stored with the edges, to draw by these; any name if theirs is not known.
            Edge types without weights draw uniformly.
        transform: Called with each batch; returns what the loader returns.
        transform_sampler_output: Called with PyG's ``SamplerOutput`` before features are read.
        options: Those of [`LoaderOptions`][graphzero.loaders.LoaderOptions]. Arguments of a ``DataLoader`` that have no
            effect here are accepted with a note.

    Raises:
        IndexError: A seed is not a node of the graph.
        TypeError: There is no such option.
        ValueError: The data has no such split, type, times or weights.

    Examples:
        >>> from graphzero import FeatureStore, Graph
        >>> loader = NeighborLoader((Graph(tiny_gl), FeatureStore(tiny_gd)), [-1], input_nodes=[0, 2], batch_size=2)
        >>> batch = next(iter(loader))
        >>> batch.n_id, batch.x.shape, batch.edge_index, batch.batch_size
        (tensor([0, 2, 3, 1]), torch.Size([4, 3]), tensor([[2, 0, 3],
                [0, 1, 1]]), 2)
    """

    _pyg_name = "NeighborLoader"

    def __init__(
        self,
        data: Any,
        num_neighbors: Any,
        input_nodes: Any = None,
        input_time: Any = None,
        replace: bool = False,
        subgraph_type: Any = "directional",
        disjoint: bool = False,
        temporal_strategy: Any = "uniform",
        time_attr: str | None = None,
        weight_attr: str | None = None,
        transform: Callable[[Any], Any] | None = None,
        transform_sampler_output: Callable[[Any], Any] | None = None,
        **options: Unpack[LoaderKeywords],
    ) -> None:
        read, graph_data = self._read(data, num_neighbors, time_attr, weight_attr, options)
        if input_time is not None and time_attr is None:
            raise value_error("input_time", "expected time_attr with it, which says what times it is compared with")
        relations = graph_data.relations
        self._type, ids, is_mask = read_nodes(input_nodes, relations, graph_data, "input_nodes")
        num_nodes = relations.num_nodes[self._type]
        if ids is not None:
            check_nodes(ids, num_nodes, "input_nodes")
        count = num_nodes if ids is None else len(ids)
        times = as_node_times(graph_data, time_attr, read.time_window)
        self._input_time = None if input_time is None else seed_times(input_time, count, "input_time")
        seed_time = self._input_time
        if times is not None and seed_time is None:
            seed_time = times.of_seeds(self._type, ids, "input_time")
        self._input_id = ids if is_mask and read.input_id is None else input_ids(read.input_id, count)
        sample = self._sample(
            read, graph_data, times, subgraph_type, replace=replace, disjoint=disjoint, temporal=seed_time is not None,
            temporal_strategy=temporal_strategy,
        )  # fmt: skip
        seeds = NodeSeeds(self._type, ids, seed_time)
        self.input_nodes = input_nodes
        self.input_time = input_time
        request = read._pipeline_request(sample, seeds)
        super().__init__(data, graph_data, read, input_nodes, count, request, transform, transform_sampler_output)

    @property
    def node_sampler(self) -> Any:
        """A [`NeighborSampler`][graphzero.loaders.NeighborSampler] with the same arguments."""
        return self._sampler()

    def _describe_seeds(self, batch: Batch, parts: Parts) -> None:
        values = parts.nodes[self._type]
        places = batch.input_id
        values["input_id"] = as_tensor(places if self._input_id is None else self._input_id[places])
        values["batch_size"] = len(places)
        if self._input_time is not None:
            values["seed_time"] = as_tensor(self._input_time[places])

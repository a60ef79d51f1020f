"""What a loader is given: a data set, or graphs and stores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from graphzero.dataset import Dataset
from graphzero.features import FeatureStore
from graphzero.graph import Graph
from graphzero.pipeline_inputs import Attributes, attributes_of
from graphzero.relations import Relations, as_relations


@dataclass(frozen=True)
class GraphData:
    """Graphs by edge type, and what is known of nodes and edges. ``graph`` is what samplers take."""

    graph: Any
    relations: Relations
    attributes: Attributes

    @property
    def is_hetero(self) -> bool:
        """Whether there is more than one kind of node or edge."""
        return self.relations.is_hetero

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(as_graph_data, features=self.attributes), (self.graph,)

    def label_of(self, node_type: str) -> str | None:
        """Return the attribute that a data set names as the label of a node type."""
        return self.graph.nodes[node_type].label if isinstance(self.graph, Dataset) else None

    def attributes_by_name(self, of: Any) -> dict[str, FeatureStore]:
        """Return the stores of a node type or an edge type."""
        return {attribute.name: attribute.store for attribute in self.attributes if attribute.of == of}

    def stores_of(self, node_type: str) -> dict[str, FeatureStore]:
        """Return all stores of a node type, also those of a data set that do not come with a batch."""
        stored = self.graph.nodes[node_type].attributes if isinstance(self.graph, Dataset) else {}
        return {**stored, **self.attributes_by_name(node_type)}

    def types_with_split(self, name: str, types: Iterable[Any]) -> list[Any]:
        """Return those of some node types or edge types that have such a split."""
        return [of for of in types if isinstance(self.graph, Dataset) and self.graph.has_split(name, of)]

    def check_open(self) -> None:
        """Refuse files that were closed."""
        stores: list[Graph | FeatureStore] = [*self.relations.graphs.values()]
        stores += [attribute.store for attribute in self.attributes]
        for store in stores:
            if store.closed:
                raise ValueError(
                    f"data: {store.path}: this {type(store).__name__} is closed; open the data again and make a new "
                    "loader of it"
                )


def as_graph_data(data: Any, *, features: Any = None, edge_features: Any = None) -> GraphData:
    """Read a user's ``data``: a data set, a graph, or ``(graph, features)`` with graphs and stores by type."""
    if isinstance(data, GraphData):
        return data
    graph = data
    if isinstance(data, (tuple, list)) and len(data) == 2:
        graph, stores = data if _is_graph(data[0]) else (data[1], data[0])
        if features is not None:
            raise ValueError("data, features: expected stores in one of them, found them in both")
        features = stores
    if not _is_graph(graph):
        raise TypeError(
            "data: expected a data set (graphzero.open), a Graph, or (Graph, FeatureStore), "
            f"found {type(data).__name__}; graphzero.convert_dataset makes a data set of PyG's"
        )
    relations = as_relations(graph)
    return GraphData(graph, relations, attributes_of(graph, relations, features, edge_features))


def _is_graph(value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value) and all(isinstance(graph, Graph) for graph in value.values())
    return isinstance(value, (Graph, Dataset))

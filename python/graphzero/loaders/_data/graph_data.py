"""What a loader is given: a data set, or graphs and stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphzero._base.argument_errors import type_error, value_error
from graphzero._dataset.feature_share import FeatureShare
from graphzero._dataset.named_tensors import take_edits
from graphzero._inputs.attributes import Attribute, Attributes, attributes_of
from graphzero._inputs.edge_types import Relations, as_relations
from graphzero._inputs.seeds import DatasetSplits, Splits
from graphzero.dataset import Dataset, EdgeTriple, EdgeType, NodeType, TypeName
from graphzero.features import FeatureStore
from graphzero.graph import Graph
from graphzero.loaders._batch.late_rows import Key, MemoryRows, UnstoredValues
from graphzero.loaders._exchange.shared_rows import share_name


@dataclass(frozen=True)
class GraphData(Splits):
    """Graphs by edge type, and what is known of nodes and edges. ``graph`` is what samplers take."""

    graph: Any
    relations: Relations
    attributes: Attributes
    unstored: UnstoredValues = field(default_factory=UnstoredValues)

    @property
    def is_hetero(self) -> bool:
        """Whether there is more than one kind of node or edge."""
        return self.relations.is_hetero

    @property
    def device(self) -> Any:
        """Where batches go by default."""
        return None

    @property
    def edge_devices(self) -> dict[EdgeTriple, Any]:
        """The devices that hold a user's own edges, by edge type; those of a batch go there, too."""
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_graph, (self.graph, self.attributes)

    def refreshed(self) -> GraphData:
        """Return the data as a user has changed it since; this object if nothing changed."""
        return self

    def empty_batch(self) -> Any:
        """Return an object for PyG's batches of the class that a user gave; ``None`` for PyG's own."""
        return None

    def label_of(self, node_type: str) -> str | None:
        """Return the attribute that a data set names as the label of a node type."""
        return None

    def attributes_by_name(self, of: Any) -> dict[str, FeatureStore]:
        """Return the stores of a node type or an edge type."""
        return {attribute.name: attribute.store for attribute in self.attributes if attribute.of == of}

    def stores_of(self, node_type: str) -> dict[str, FeatureStore]:
        """Return all stores of a node type, also those of a data set that do not come with a batch."""
        return self.attributes_by_name(node_type)

    @property
    def shares(self) -> dict[str, FeatureShare]:
        """The attributes of which this host has a share, under the names that messages have for them."""
        return {
            share_name(str(attribute.of), attribute.name): attribute.store
            for attribute in self.attributes
            if isinstance(attribute.store, FeatureShare)
        }

    def in_memory_of(self, node_type: str) -> Mapping[str, Any]:
        """Return the tensors with a row per node that a user assigned."""
        return {}

    def assigned(self) -> list[Mapping[str, Any]]:
        """Return what a user assigned, by node type and by edge type."""
        return []

    def check_open(self) -> None:
        """Refuse files that were closed."""
        stores: list[Graph | FeatureStore] = [*self.relations.graphs.values()]
        stores += [attribute.store for attribute in self.attributes]
        for store in stores:
            if store.closed:
                raise value_error(
                    "data",
                    f"{store.path}: this {type(store).__name__} is closed; open the data again and make a new "
                    "loader of it",
                )


@dataclass(frozen=True)
class DatasetData(DatasetSplits, GraphData):
    """A data set, as it was when it was read: a user may assign and delete attributes."""

    features: Any = None
    edge_features: Any = None
    state: tuple[Any, ...] = ()

    def assigned(self) -> list[Mapping[str, Any]]:
        nodes, edges = self.state[:2]
        return [kind.in_memory for kinds in (nodes, edges) for kind in kinds.values()]

    @property
    def dataset(self) -> Dataset:  # type: ignore[override]
        """The data set itself."""
        found: Dataset = self.graph
        return found

    @property
    def device(self) -> Any:
        return self.dataset.device

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_dataset, (self.dataset, self.features, self.edge_features)

    def refreshed(self) -> GraphData:
        take_edits(self.dataset)
        same = all(one is other for one, other in zip(self.state, _state(self.dataset), strict=True))
        return self if same else _of_dataset(self.dataset, self.features, self.edge_features)

    def label_of(self, node_type: str) -> str | None:
        return self.dataset.nodes[node_type].label

    def stores_of(self, node_type: str) -> dict[str, FeatureStore]:
        kind = self.dataset.nodes[node_type]
        stored = {name: store for name, store in kind.attributes.items() if name not in kind.in_memory}
        return {**stored, **self.attributes_by_name(node_type)}

    @property
    def shares(self) -> dict[str, FeatureShare]:
        """Also those that do not come with a batch: loaders of one data set have one exchange."""
        with_dataset = {
            share_name(of, name): store
            for of, node in self.dataset.nodes.items()
            for name, store in node.attributes.items()
            if isinstance(store, FeatureShare)
        }
        return {**with_dataset, **super().shares}

    def in_memory_of(self, node_type: str) -> Mapping[str, Any]:
        return self.dataset.nodes[node_type].in_memory


def _state(dataset: Dataset) -> tuple[Any, ...]:
    """Return a value that differs once a user has changed the data set."""
    return dataset.nodes, dataset.edges, dataset.other, dataset.device


def _of_graph(graph: Any, attributes: Attributes) -> GraphData:
    return GraphData(graph, as_relations(graph), attributes)


def _of_dataset(dataset: Dataset, features: Any, edge_features: Any) -> GraphData:
    take_edits(dataset)
    relations, state = as_relations(dataset), _state(dataset)
    if isinstance(features, Attributes):
        return DatasetData(dataset, relations, features, UnstoredValues(), features, edge_features, state)
    there = {name for node in dataset.nodes.values() for name in _names(node)} | set(dataset.other)
    of_nodes = chosen(features, there, "features")
    there = {name for edge in dataset.edges.values() for name in _names(edge)}
    of_edges = chosen(edge_features, there, "edge_features")
    attributes, in_memory = Attributes(), {}
    columns: list[Key] = []
    other: dict[TypeName | None, Any] = {
        None: {name: dataset.other[name] for name in dataset.other if name in of_nodes}
    }
    kinds: list[tuple[TypeName, NodeType | EdgeType]] = [*dataset.nodes.items(), *dataset.edges.items()]
    for of, kind in kinds:
        shown = of_edges if isinstance(of, tuple) else of_nodes
        _check_rows(kind)
        in_memory.update({(of, name): (values, 0) for name, values in kind.in_memory.items()})
        columns += [(of, name) for name in kind.in_memory if name in shown]
        other[of] = {name: value for name, value in kind.other.items() if name in shown}
        instead = {*kind.in_memory, *kind.other}
        stored = [name for name in kind.attributes if name in shown and name not in instead]
        attributes += [Attribute(name, of, kind.attributes[name]) for name in stored]
    unstored = UnstoredValues(MemoryRows(in_memory), columns, other)
    return DatasetData(dataset, relations, attributes, unstored, features, edge_features, state)


def _check_rows(kind: NodeType | EdgeType) -> None:
    """Refuse attributes of edges that belong to other edges than those assigned since."""
    count = kind.num_nodes if isinstance(kind, NodeType) else kind.graph.num_input_edges
    for name, rows in (*kind.in_memory.items(), *kind.attributes.items()):
        if len(rows) != count:
            raise ValueError(
                f"{name} of {kind.name!r}: expected {count} rows, found {len(rows)}; assign it anew, or delete it"
            )


def _names(kind: NodeType | EdgeType) -> set[str]:
    return {*kind.attributes, *kind.in_memory, *kind.other}


def chosen(wanted: Any, there: set[str], what: str) -> set[str]:
    """Return those names of attributes that are wanted; ``None``: all of them."""
    if wanted is None:
        return there
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, (list, tuple, set)) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what}: expected names of the data set's attributes, found {wanted!r}")
    for name in names:
        if name not in there:
            raise KeyError(f"{what}: no attribute {name!r}; there are {sorted(there)}")
    return set(names)


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
        raise type_error(
            "data",
            "expected a data set (graphzero.open), a Graph, or (Graph, FeatureStore), "
            f"found {type(data).__name__}; graphzero.convert_dataset makes a data set of PyG's",
        )
    if isinstance(graph, Dataset):
        return _of_dataset(graph, features, edge_features)
    relations = as_relations(graph)
    return GraphData(graph, relations, attributes_of(graph, relations, features, edge_features))


def _is_graph(value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value) and all(isinstance(graph, Graph) for graph in value.values())
    return isinstance(value, (Graph, Dataset))

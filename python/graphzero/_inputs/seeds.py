"""The nodes and links that batches are made for: ids, masks, splits, times, and what stands for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphzero._base.arrays import IntArray, int64_vector, time_vector
from graphzero._inputs.edge_types import Relations, as_triple
from graphzero.dataset import Dataset, EdgeTriple


def by_node_type(values: Any, relations: Relations, name: str) -> dict[str, Any]:
    """Return what belongs to each node type."""
    if values is None:
        return {}
    if not relations.is_hetero:
        return {relations.node_types[0]: values}
    if not isinstance(values, Mapping):
        raise TypeError(f"{name}: expected a dict by node type, found {type(values).__name__}")
    unknown = [key for key in values if key not in relations.num_nodes]
    if unknown:
        raise ValueError(f"{name}: no node type {unknown[0]!r}; there are {relations.node_types}")
    return dict(values)


def type_seeds(relations: Relations, seeds: Any, seed_time: Any, node_time: Any) -> list[Any]:
    if seeds is None:
        raise TypeError("seeds: expected node ids, found None")
    nodes = by_node_type(seeds, relations, "seeds")
    times = by_node_type(seed_time, relations, "seed_time")
    all_times = by_node_type(node_time, relations, "node_time")
    result = []
    for name, count in relations.num_nodes.items():
        ids = int64_vector(nodes.get(name, ()), "seeds" if not relations.is_hetero else f"seeds[{name!r}]")
        given = all_times.get(name)
        if given is not None:
            given = time_vector(given, "node_time")
            if len(given) != count:
                raise ValueError(f"node_time: expected {count} times, one per node, found {len(given)}")
        result.append((ids, time_vector(times[name], "seed_time") if name in times else None, given, count))
    return result


def _ids_or_mask(seeds: Any, count: int, name: str) -> IntArray:
    mask = np.asarray(seeds) if str(getattr(seeds, "dtype", "")) in ("bool", "torch.bool") else None
    if mask is None:
        return int64_vector(seeds, name)
    if mask.shape != (count,):
        raise ValueError(f"{name}: expected a mask of {count} nodes, found {mask.shape}")
    return np.flatnonzero(mask).astype(np.int64, copy=False)


def _is_triple(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == 3 and all(isinstance(part, str) for part in value)


def node_seeds(
    graph: Any, relations: Relations, seeds: Any, seed_time: Any
) -> tuple[int, IntArray | None, IntArray | None]:
    """Return type, ids and times of the nodes that batches are made of; without ids it is all nodes."""
    names = relations.node_types
    name = names[0]
    if isinstance(seeds, Mapping):
        if len(seeds) != 1:
            raise ValueError(f"seeds: expected ids of one node type, found {list(seeds)}")
        name, seeds = next(iter(seeds.items()))
    elif isinstance(seeds, tuple) and len(seeds) == 2 and isinstance(seeds[0], str):
        name, seeds = seeds
    elif isinstance(seeds, str) and seeds in names and not isinstance(graph, Dataset):
        name, seeds = seeds, None
    elif len(names) > 1:
        raise ValueError(f"seeds: expected (node type, ids) with one of {names}, found {type(seeds).__name__}")
    if name not in names:
        raise ValueError(f"seeds: no node type {name!r}; there are {names}")
    if isinstance(seeds, str):
        if not isinstance(graph, Dataset):
            raise TypeError(f"seeds: expected node ids, found {seeds!r}; splits have names in data sets only")
        seeds = graph.split(seeds, name, writable=False)
    ids = None if seeds is None else _ids_or_mask(seeds, relations.num_nodes[name], "seeds")
    times = None if seed_time is None else time_vector(seed_time, "seed_time")
    return names.index(name), ids, times


def link_seeds(
    relations: Relations, links: Any, seed_time: Any, needing: Mapping[str, bool]
) -> tuple[int, int, int | None, IntArray, IntArray, IntArray | None]:
    """Return both node types, relation, sources, destinations and times of the links that batches are made of.

    A type between two node types that is none of the graph's has no relation; ``needing`` are the options, by name,
    that cannot do without one.
    """
    triples, kinds = list(relations.graphs), relations.node_types
    triple = relations.edge_type
    if isinstance(links, tuple) and len(links) == 2 and _is_triple(links[0]):
        triple, links = as_triple(links[0]), links[1]
    elif len(triples) > 1 or (relations.is_hetero and not triples):
        raise ValueError(f"links: expected (edge type, (src, dst)) with one of {triples}, or one between {kinds}")
    if triple[0] not in kinds or triple[2] not in kinds:
        raise ValueError(f"links: no edge type {triple}; there are {triples}, and the node types {kinds}")
    refuse_without_edges(relations, triple, needing)
    if not hasattr(links, "__len__") or len(links) != 2:
        raise TypeError(f"links: expected (src, dst), found {type(links).__name__}")
    times = None if seed_time is None else time_vector(seed_time, "seed_time")
    src, dst = int64_vector(links[0], "links[0]"), int64_vector(links[1], "links[1]")
    relation = triples.index(triple) if triple in triples else None
    return kinds.index(triple[0]), kinds.index(triple[2]), relation, src, dst, times


def refuse_without_edges(relations: Relations, triple: EdgeTriple, needing: Mapping[str, bool]) -> None:
    """Refuse options, given by name, that need the edges of a type that there are none of."""
    wanted = [name for name, value in needing.items() if value]
    if wanted and triple not in relations.graphs:
        raise ValueError(f"{wanted[0]}: no edges of {triple} to exclude or count; there are {list(relations.graphs)}")


def node_types(relations: Relations, node_time: Any, seed_time: Any) -> list[Any]:
    """Return the number of nodes of each type, and their times."""
    if node_time is not None and seed_time is None:
        raise ValueError("node_time: expected seed_time with it: node times are compared with those of the seeds")
    given = by_node_type(node_time, relations, "node_time")
    result: list[Any] = []
    for name, count in relations.num_nodes.items():
        times = None
        if name in given:
            times = time_vector(given[name], "node_time")
            if len(times) != count:
                raise ValueError(f"node_time: expected {count} times, one per node, found {len(times)}")
        result.append((count, times))
    return result


def check_nodes(ids: IntArray, num_nodes: int, name: str) -> None:
    """Refuse ids of nodes that are not there."""
    if len(ids) and not (ids.min() >= 0 and ids.max() < num_nodes):
        at = int(np.argmax((ids < 0) | (ids >= num_nodes)))
        raise IndexError(f"{name}[{at}]: node {ids[at]} is not in the graph, which has {num_nodes} nodes")


def seed_times(given: Any, count: int, name: str) -> IntArray:
    """Read the times of seeds."""
    times = time_vector(given, name)
    if len(times) != count:
        raise ValueError(f"{name}: expected {count} times, one per seed, found {len(times)}")
    return times


def input_ids(given: Any, count: int) -> IntArray | None:
    """Read what stands for each seed."""
    if given is None:
        return None
    ids = int64_vector(given, "input_id")
    if len(ids) != count:
        raise ValueError(f"input_id: expected {count}, one per seed, found {len(ids)}")
    return ids

"""Topology: the mounted graph, and writing one from arrays."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphzero import _core
from graphzero._base.argument_errors import Part, Setting, check_choice, error_of, flag, value_error
from graphzero._base.arrays import float32_vector, int64_vector, plain, time_vector
from graphzero._base.integers import as_seed, integer
from graphzero._base.memory_sizes import byte_text, conversion_budget
from graphzero._files.folder import check_free_space, spill_folder
from graphzero._files.mounted import Mounted, one_path, path_bytes, verify_if_asked
from graphzero._files.storage import target_here
from graphzero.memory import MemoryReport, memory_report

Direction = Literal["out", "in"]

# Bytes an edge that hold all records of both indexes, with weight and time, and blocks that are not full.
_WRITER_MEMORY = 256
# Beyond so many ids per edge the ids of an edge list are taken to be sparse.
_SPARSE = 64

_DIRECTIONS = {"out": _core.Direction.OUT, "in": _core.Direction.IN}


def as_direction(direction: str) -> _core.Direction:
    """Turn ``"out"`` or ``"in"`` into the core's word for it."""
    try:
        return _DIRECTIONS[direction]
    except KeyError:
        raise value_error("direction", f"expected 'out' or 'in', found {direction!r}") from None


@dataclass(frozen=True)
class Index:
    """One side of a graph as read-only views of the file.

    The neighbours of node ``v`` are ``indices[indptr[v]:indptr[v + 1]]``.

    Attributes:
        indptr: Where the list of each node starts, and the end of the last one.
        indices: The neighbours, list after list.
        edge_ids: The edge id of each entry of ``indices``; ``None`` if it is the position of the entry.
        weights: The weight of each entry; ``None`` if edges have none.
        times: The timestamp of each entry; ``None`` if edges have none.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32] | NDArray[np.int64]
    edge_ids: NDArray[np.int32] | NDArray[np.int64] | None
    weights: NDArray[np.float32] | None
    times: NDArray[np.int64] | None


class Graph(Mounted[_core.Topology]):
    """A mounted ``.gl`` file.

    Opening takes under a millisecond and no memory, whatever the size. Files of GraphZero 0.2 open too.

    Args:
        path: The file.
        verify: ``"full"`` reads the whole file first and proves every id and offset in it.
        filename: GraphZero 0.2's name for ``path``.

    Raises:
        FormatError: The file is not a valid ``.gl`` file.
        OSError: The file cannot be opened.

    Examples:
        >>> g = Graph(tiny_gl)                                  # 0→1  0→2  1→2  3→0
        >>> g.num_nodes, g.num_edges
        (4, 4)
        >>> g.neighbors(0)
        array([1, 2], dtype=int32)
        >>> g.degree([0, 1, 2, 3])
        array([2, 1, 0, 1])
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        verify: Literal["header", "full"] = "header",
        filename: str | os.PathLike[str] | None = None,
    ) -> None:
        name = one_path(path, filename)
        core = _core.Topology(path_bytes(name))
        verify_if_asked(name, verify, _core.verify_graph)
        super().__init__(name, core)

    @property
    def num_nodes(self) -> int:
        """The number of nodes. A bipartite graph has two numbers, so this raises ``ValueError``."""
        if self.bipartite:
            raise ValueError(f"{self._path}: is bipartite; use num_src_nodes and num_dst_nodes")
        return self._core.num_src_nodes

    @property
    def num_src_nodes(self) -> int:
        """The number of nodes that edges start from."""
        return self._core.num_src_nodes

    @property
    def num_dst_nodes(self) -> int:
        """The number of nodes that edges lead to."""
        return self._core.num_dst_nodes

    @property
    def num_edges(self) -> int:
        """The number of stored edges; an undirected graph stores each input edge twice."""
        return self._core.num_edges

    @property
    def num_input_edges(self) -> int:
        """The number of edges the graph was made from; edge ids are below this."""
        return self._core.num_input_edges

    @property
    def directed(self) -> bool:
        """Whether an edge may exist without its reverse."""
        return self._core.directed

    @property
    def bipartite(self) -> bool:
        """Whether sources and destinations are different kinds of node."""
        return self._core.bipartite

    @property
    def indexes(self) -> tuple[Direction, ...]:
        """The directions in which neighbours can be looked up."""
        names: tuple[Direction, ...] = ("out", "in")
        return tuple(name for name in names if self._core.has(_DIRECTIONS[name]))

    @property
    def is_sorted(self) -> bool:
        """Whether each list of neighbours is sorted, as in all files but those of GraphZero 0.2."""
        return self._core.sorted

    @property
    def has_weights(self) -> bool:
        """Whether edges have weights."""
        return self.index(self.indexes[0]).weights is not None

    @property
    def has_times(self) -> bool:
        """Whether edges have timestamps."""
        return self.index(self.indexes[0]).times is not None

    @property
    def id_dtype(self) -> np.dtype[Any]:
        """The dtype ids are stored in: int32 while they fit, else int64."""
        return self.index(self.indexes[0]).indices.dtype

    def index(self, direction: Direction = "out") -> Index:
        """Return one side of the graph as arrays.

        Args:
            direction: ``"out"`` for CSR, ``"in"`` for CSC.
        """
        side = as_direction(direction)
        core = self._core
        core.check_intact()
        return Index(core.indptr(side), core.indices(side), core.edge_ids(side), core.weights(side), core.times(side))

    @property
    def indptr(self) -> NDArray[np.int64]:
        """Where each node's list of out-neighbours starts."""
        return self.index().indptr

    @property
    def indices(self) -> NDArray[np.int32] | NDArray[np.int64]:
        """All lists of out-neighbours, one after the other."""
        return self.index().indices

    @property
    def edge_ids(self) -> NDArray[np.int32] | NDArray[np.int64] | None:
        """The edge id of each entry of ``indices``; ``None`` if it is the position of the entry."""
        return self.index().edge_ids

    @property
    def weights(self) -> NDArray[np.float32] | None:
        """The weight of each entry of ``indices``; ``None`` if edges have none."""
        return self.index().weights

    @property
    def times(self) -> NDArray[np.int64] | None:
        """The timestamp of each entry of ``indices``; ``None`` if edges have none."""
        return self.index().times

    def degree(self, nodes: ArrayLike, direction: Direction = "out") -> NDArray[np.int64]:
        """Return the number of neighbours of each of ``nodes``.

        Args:
            nodes: Node ids.
            direction: ``"out"`` counts the edges that leave a node, ``"in"`` those that arrive.

        Raises:
            IndexError: An id is not a node of the graph.
        """
        return plain(self._core.degrees(as_direction(direction), int64_vector(nodes, "nodes")))

    def has_edges(self, src: ArrayLike, dst: ArrayLike) -> NDArray[np.bool_]:
        """Return for each ``i`` whether there is an edge ``src[i] → dst[i]``.

        Searches the shorter of the two lists that would hold the edge, if both are stored: by bisection, or from end to
        end if edges have timestamps and in files of GraphZero 0.2.

        Args:
            src: Ids of sources.
            dst: Ids of destinations, one per source.

        Raises:
            IndexError: An id is not a node of the graph.

        Examples:
            >>> Graph(tiny_gl).has_edges([0, 2], [2, 0])        # 0→1  0→2  1→2  3→0
            array([ True, False])
        """
        found = self._core.has_edges(int64_vector(src, "src"), int64_vector(dst, "dst"))
        return found.view(np.bool_)

    def neighbors(self, node: int, direction: Direction = "out") -> NDArray[np.int32] | NDArray[np.int64]:
        """Return the sorted neighbours of a node, as a view of the file.

        Args:
            node: The node id.
            direction: ``"out"`` for the nodes it has edges to, ``"in"`` for those that have edges to it.

        Raises:
            IndexError: There is no such node.
        """
        side = as_direction(direction)
        core = self._core
        return plain(core.indices(side, core.edges_of(side, integer(node, "node"))))

    def get_degree(self, node_id: int) -> int:
        """Return the out-degree of a node, under GraphZero 0.2's name.

        Args:
            node_id: The node id.
        """
        return int(self.degree([integer(node_id, "node_id")])[0])

    def get_neighbours(self, node_id: int) -> NDArray[np.int64]:
        """Return a copy of the out-neighbours of a node, under GraphZero 0.2's name.

        Args:
            node_id: The node id.
        """
        return self.neighbors(node_id).astype(np.int64)

    def get_weights(self, node_id: int) -> NDArray[np.float32]:
        """Return a copy of the weights of the edges that leave a node, under GraphZero 0.2's name.

        Args:
            node_id: The node id.

        Raises:
            ValueError: The graph has no weights.
        """
        core = self._core
        side = _core.Direction.OUT
        weights = core.weights(side, core.edges_of(side, integer(node_id, "node_id")))
        if weights is None:
            raise ValueError(f"{self._path}: has no weights; write the graph with weight= to store them")
        return np.array(weights)

    def sample_neighbours(self, start_node: int, K: int, *, seed: int | None = None) -> NDArray[np.int64]:
        """Return ``K`` different out-neighbours of a node, or all of them in stored order if it has fewer.

        Each of several parallel edges may be drawn, so a neighbour can come more than once.

        Args:
            start_node: The node id.
            K: The number of neighbours.
            seed: The same seed gives the same neighbours. Without one every call differs.
        """
        fanout = min(_fanout(K), self.get_degree(start_node))
        return self.batch_random_fanout([start_node], fanout, seed=seed).ravel()

    @overload
    def batch_random_fanout(
        self,
        start_nodes: ArrayLike,
        K: int,
        *,
        pad: int | Literal["self"] = ...,
        return_counts: Literal[False] = ...,
        seed: int | None = ...,
    ) -> NDArray[np.int64]: ...

    @overload
    def batch_random_fanout(
        self,
        start_nodes: ArrayLike,
        K: int,
        *,
        pad: int | Literal["self"] = ...,
        return_counts: Literal[True],
        seed: int | None = ...,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...

    def batch_random_fanout(
        self,
        start_nodes: ArrayLike,
        K: int,
        *,
        pad: int | Literal["self"] = -1,
        return_counts: bool = False,
        seed: int | None = None,
    ) -> Any:
        """Return ``K`` different out-neighbours of each node as an ``(n, K)`` array. Weights are ignored.

        A node with at most ``K`` neighbours gets all of them in stored order; otherwise every subset in every order is
        equally likely.

        Args:
            start_nodes: Node ids.
            K: The number of neighbours of each.
            pad: What fills the rest of a row. Beware that -1 is a valid index, of the last row of an array; ``"self"``
                repeats the node itself, so that every entry is a node.
            return_counts: Also return how many entries of each row are neighbours.
            seed: The same seed gives the same neighbours for any number of threads. Without one every call differs.

        Raises:
            IndexError: An id is not a node of the graph.

        Examples:
            >>> Graph(tiny_gl).batch_random_fanout([0, 2], 3)   # 0→1  0→2  1→2  3→0
            array([[ 1,  2, -1],
                   [-1, -1, -1]])
            >>> rows, counts = Graph(tiny_gl).batch_random_fanout([0, 2], 3, pad="self", return_counts=True)
            >>> rows
            array([[1, 2, 0],
                   [2, 2, 2]])
            >>> np.arange(3) < counts[:, None]
            array([[ True,  True, False],
                   [False, False, False]])
        """
        nodes = int64_vector(start_nodes, "start_nodes")
        fanout = _fanout(K)
        if isinstance(pad, str) and pad != "self":
            raise value_error("pad", f"expected an integer or 'self', found {pad!r}")
        if isinstance(pad, str) and self.bipartite:
            raise value_error(
                "pad",
                f"expected an integer, found 'self': {self._path} is bipartite, so a node is not of the kind of "
                "its neighbours",
            )
        padding = -1 if isinstance(pad, str) else integer(pad, "pad")
        if not -(2**63) <= padding < 2**63:
            raise value_error("pad", f"expected an integer of 64 bits, found {padding}")
        rows, counts = _core.sample_fanout(self._core, _core.Direction.OUT, nodes, fanout, padding, as_seed(seed))
        table = plain(rows).reshape(len(nodes), fanout)
        if isinstance(pad, str):
            np.copyto(table, nodes[:, None], where=table == padding)
        return (table, plain(counts)) if return_counts else table

    def batch_random_walk(
        self, start_nodes: ArrayLike, walk_length: int, p: float = 1.0, q: float = 1.0, *, seed: int | None = None
    ) -> NDArray[np.int64]:
        """Return walks, by weight if edges have weights, under GraphZero 0.2's name.

        [`random_walk`][graphzero.random_walk] has more options.

        Args:
            start_nodes: Node ids.
            walk_length: The number of steps.
            p: The return parameter of node2vec.
            q: The in-out parameter of node2vec.
            seed: The same seed gives the same walks. Without one every call differs.
        """
        from graphzero.walks import random_walk  # it takes graphs, so it imports this module

        return random_walk(self, start_nodes, walk_length, p=p, q=q, weighted=self.has_weights, seed=seed)

    def batch_random_walk_uniform(
        self, start_nodes: ArrayLike, walk_length: int, *, seed: int | None = None
    ) -> NDArray[np.int64]:
        """Return walks on which every edge of a node is equally likely, under GraphZero 0.2's name.

        Args:
            start_nodes: Node ids.
            walk_length: The number of steps.
            seed: The same seed gives the same walks. Without one every call differs.
        """
        from graphzero.walks import random_walk

        return random_walk(self, start_nodes, walk_length, seed=seed)

    def preload(self) -> None:
        """Read the whole file into the page cache now.

        Worth it before long training on a graph that fits in RAM: nothing waits for the device any more, and where the
        file system caches in huge pages, sampling is about a fifth faster. The kernel can reclaim the cache at any
        time.

        Raises:
            MemoryError: The file does not fit in available memory.
        """
        self._core.preload()

    def memory_report(self) -> MemoryReport:
        """Return [`memory_report`][graphzero.memory_report] for this file alone."""
        return memory_report(self)

    def __repr__(self) -> str:
        if self.closed:
            return f"Graph({self._path!r}, closed)"
        if self.bipartite:
            nodes = f"{self.num_src_nodes:,} → {self.num_dst_nodes:,} nodes"
        else:
            nodes = f"{self.num_nodes:,} nodes"
        facts = [nodes, f"{self.num_edges:,} edges", "directed" if self.directed else "undirected"]
        if self.directed:
            facts.append("+".join(self.indexes) + " index")
        facts.append(f"{self.id_dtype} ids")
        facts += ["weighted"] * self.has_weights + ["timed"] * self.has_times
        return f"Graph({self._path!r}: {', '.join(facts)}, {byte_text(self.nbytes)})"

    def _repr_html_(self) -> str:
        from graphzero._look.pages import graph_html  # which only notebooks need

        return graph_html(self)


def write_graph(
    path: str | os.PathLike[str],
    src: ArrayLike,
    dst: ArrayLike,
    *,
    num_nodes: int | tuple[int, int] | None = None,
    weight: ArrayLike | None = None,
    time: ArrayLike | None = None,
    directed: bool = True,
    index: Literal["both", "out", "in"] = "both",
) -> None:
    """Write the edges ``src[i] → dst[i]`` to a ``.gl`` file, which appears whole or not at all.

    The edge id of an edge is its position ``i``. Takes at most half of the memory that is available, and 8 GB; what
    does not fit waits in a temporary file beside ``path``, or in the folder that ``GRAPHZERO_TMPDIR`` names.

    Args:
        path: The file to write.
        src: Ids of sources.
        dst: Ids of destinations.
        num_nodes: The number of nodes, or ``(sources, destinations)`` of a bipartite graph. Default: the largest id
            plus 1.
        weight: One number per edge.
        time: One integer or datetime64 per edge.
        directed: ``False`` stores each edge both ways under one edge id (a self-loop twice); one index then serves both
            directions.
        index: Which lists to store: of out-neighbours, of in-neighbours, or both.

    Raises:
        IndexError: An id is negative, or not below ``num_nodes``.
        ValueError: Arrays differ in length, or ids look sparse and ``num_nodes`` does not say that they are not.

    Examples:
        >>> write_graph("pair.gl", [0, 1], [1, 0], weight=[0.5, 2.0])
        >>> Graph("pair.gl").weights
        array([0.5, 2. ], dtype=float32)
    """
    sources = int64_vector(src, "src")
    weights = None if weight is None else float32_vector(weight, "weight")
    times = None if time is None else time_vector(time, "time")
    options = writer_options(num_nodes, index, directed)
    options.weights, options.times = weight is not None, time is not None
    options.num_rows = len(sources)
    options.memory = min(conversion_budget(), max(64 << 20, _WRITER_MEMORY * len(sources)))
    target = target_here(path)
    options.temporary_folder = path_bytes(spill_folder(target))
    converter = _core.EdgeConverter(options)
    converter.add_edges(sources, int64_vector(dst, "dst"), weights, times)
    done = converter.done()
    found = done.largest_id + 1 if len(sources) else 0
    if num_nodes is None and len(sources):
        refuse_sparse_ids(
            done.largest_id, len(sources), "src, dst",
            Setting("num_nodes"), " if they are meant to be dense; convert_edges numbers them with ids='map'",
        )  # fmt: skip
    nodes = [found if num_nodes is None else count for count in (options.num_src_nodes, options.num_dst_nodes)]
    check_free_space(target, graph_bytes((nodes[0], nodes[1]), len(sources), index if directed else "out"))
    converter.finish(path_bytes(path))


def writer_options(num_nodes: int | tuple[int, int] | None, index: str, directed: bool) -> _core.EdgeConverterOptions:
    """Read the options that all writers of graphs share."""
    check_choice(index, "index", "both", "out", "in")
    options = _core.EdgeConverterOptions()
    options.directed = flag(directed, "directed")
    options.out_index, options.in_index = index != "in", index != "out"
    if num_nodes is not None:
        options.bipartite = isinstance(num_nodes, (tuple, list))
        pair = tuple(num_nodes) if isinstance(num_nodes, (tuple, list)) else (num_nodes, num_nodes)
        if len(pair) != 2:
            raise value_error("num_nodes", f"expected a number or a pair, found {num_nodes!r}")
        options.num_src_nodes, options.num_dst_nodes = map(_node_count, pair)
    return options


def refuse_sparse_ids(largest_id: int, num_edges: int, name: str, *advice: Part) -> None:
    """Refuse ids of which an index would have far more than there are edges, where nobody said how many there are."""
    if largest_id >= _SPARSE * (num_edges + 1024):
        raise error_of(
            ValueError,
            f"{name}: the largest id is {largest_id}, but there are only {num_edges} edges: the ids look sparse, "
            f"and an index over all of them would take {byte_text(8 * largest_id)}; give ",
            *advice,
        )


def graph_bytes(num_nodes: tuple[int, int], num_edges: int, index: str) -> int:
    """Return how many bytes a ``.gl`` with these numbers of sources, destinations and edges has at least."""
    offsets = {"out": num_nodes[0], "in": num_nodes[1], "both": sum(num_nodes)}
    return 8 * offsets[index] + 4 * num_edges * (2 if index == "both" else 1)


def _fanout(value: Any) -> int:
    count = integer(value, "K")
    if count < 0:
        raise ValueError(f"K: expected a number of neighbours that is not negative, found {count}")
    return min(count, 2**62)


def _node_count(value: Any) -> int:
    count = integer(value, "num_nodes")
    if not 0 <= count <= 2**59:
        raise value_error("num_nodes", f"expected 0 to 2^59, found {count}")
    return count

"""Small random graphs to sample from, and samples in the shape of the oracle's."""

from dataclasses import dataclass

import hypothesis.strategies as st

import graphzero as gz
import oracle

NODE, EDGE = "node", ("node", "to", "node")


@dataclass
class Case:
    """A multigraph with self-loops and isolated nodes. The oracle reads the same fields as ``write_graph``."""

    num_nodes: int
    src: list
    dst: list
    time: list | None = None
    weight: list | None = None
    directed: bool = True

    def graph(self):
        gz.write_graph(
            "case.gl",
            self.src,
            self.dst,
            num_nodes=self.num_nodes,
            time=self.time,
            weight=self.weight,
            directed=self.directed,
        )
        return gz.Graph("case.gl")

    def list_of(self, node, direction):
        return oracle.list_of(
            node, self.src, self.dst, direction=direction, directed=self.directed, time=self.time or None
        )

    def entries(self, direction, allowed=lambda node, neighbour, edge, tree: True):
        """What the oracle follows: the entries for which ``allowed(node, neighbour, edge, tree)``."""

        def entries_of(_, node, tree, __):
            return [entry for entry in self.list_of(node, direction) if allowed(node, *entry, tree)]

        return entries_of


@st.composite
def cases(draw, *, timed=False, weighted=False, directed=None):
    num_nodes = draw(st.integers(1, 6))
    ids = st.integers(0, num_nodes - 1)
    pairs = draw(st.lists(st.tuples(ids, ids), max_size=14))
    size = {"min_size": len(pairs), "max_size": len(pairs)}
    return Case(
        num_nodes,
        [src for src, _ in pairs],
        [dst for _, dst in pairs],
        draw(st.lists(st.integers(-2, 3), **size)) if timed else None,
        draw(st.lists(st.sampled_from([0.0, 0.5, 2.0]), **size)) if weighted else None,
        draw(st.booleans()) if directed is None else directed,
    )


DIRECTIONS = st.sampled_from(["in", "out"])


def seeds_of(draw, case, max_size=4):
    return draw(st.lists(st.integers(0, case.num_nodes - 1), max_size=max_size))


def shape(hood, direction):
    """A sample in the oracle's shape."""
    if isinstance(hood, gz.Neighborhood):
        hood = gz.HeteroNeighborhood(
            {NODE: hood.node},
            {EDGE: hood.row},
            {EDGE: hood.col},
            {EDGE: hood.edge},
            None if hood.batch is None else {NODE: hood.batch},
            {NODE: hood.num_sampled_nodes},
            None if hood.num_sampled_edges is None else {EDGE: hood.num_sampled_edges},
        )
    near, far = (hood.col, hood.row) if direction == "in" else (hood.row, hood.col)
    trees = hood.batch or {kind: 0 * ids for kind, ids in hood.node.items()}
    return oracle.Sampled(
        {kind: ids.tolist() for kind, ids in hood.node.items()},
        {kind: ids.tolist() for kind, ids in trees.items()},
        {
            triple: list(zip(near[triple].tolist(), far[triple].tolist(), edges.tolist(), strict=True))
            for triple, edges in hood.edge.items()
        },
        hood.num_sampled_nodes,
        hood.num_sampled_edges,
    )

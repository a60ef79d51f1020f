"""Links as PyG samples around them: negatives beside them, and where their ends are in the sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from graphzero._base.argument_errors import value_error
from graphzero.graph import Graph
from graphzero.negatives import sample_negative_pairs, sample_negatives

# As often as PyG, a negative that is younger than its link is drawn anew; then it is the oldest node.
_TIME_TRIES = 5
# As often a negative that is an edge is drawn anew, where the draws are by weight or time; then it is an error.
_EDGE_TRIES = 100
# torch.multinomial takes no more weights.
_MOST_WEIGHTS = 1 << 24


@dataclass(frozen=True)
class Side:
    """One end of links: how many nodes there are, and their weights as negatives and times, if they have any."""

    num_nodes: int
    weight: Tensor | None
    node_time: Tensor | None

    def draw(self, count: int, generator: torch.Generator | None) -> Tensor:
        """Draw nodes with replacement, by weight."""
        if self.weight is None:
            return torch.randint(self.num_nodes, (count,), generator=generator)
        if self.weight.shape != (self.num_nodes,):
            raise value_error(
                "neg_sampling",
                f"expected a weight for each of {self.num_nodes} nodes, found shape {tuple(self.weight.shape)}",
            )
        if self.num_nodes <= _MOST_WEIGHTS:
            return torch.multinomial(self.weight, count, replacement=True, generator=generator)
        sums = self.weight.double().cumsum(0)
        drawn = torch.rand(count, dtype=torch.float64, generator=generator) * sums[-1]
        return torch.searchsorted(sums, drawn, right=True)

    def draw_before(self, times: Tensor | None, count: int, generator: torch.Generator | None) -> Tensor:
        """Draw nodes that are not newer than given times; after some tries the oldest node stands in."""
        nodes = self.draw(count, generator)
        if self.node_time is None or times is None:
            return nodes
        late = self.node_time[nodes] > times
        for _ in range(_TIME_TRIES):
            if not late.any():
                return nodes
            nodes[late] = self.draw(int(late.sum()), generator)
            late = self.node_time[nodes] > times
        nodes[late] = self.node_time.argmin()
        return nodes


@dataclass(frozen=True)
class Negatives:
    """How negatives are drawn. With ``without`` none of them is an edge of that graph."""

    src: Side
    dst: Side
    amount: float
    triplet: bool
    without: Graph | None
    generator: torch.Generator | None
    key: Callable[[], int]

    def pairs(self, num_links: int, times: Tensor | None) -> tuple[Tensor, Tensor]:
        """Draw sources and destinations; the negative ``i`` stands beside the link ``i % num_links``."""
        count = math.ceil(num_links * self.amount)
        if self.without is not None and self._is_uniform:
            src, dst = sample_negative_pairs(self.without, count, exclude_edges=True, seed=self.key())
            return torch.from_numpy(src), torch.from_numpy(dst)
        times = None if times is None else times[torch.arange(count) % num_links]
        ends = torch.stack([side.draw_before(times, count, self.generator) for side in (self.src, self.dst)])

        def redraw(at: Tensor) -> None:
            for end, side in zip(ends, (self.src, self.dst), strict=True):
                end[at] = side.draw_before(None if times is None else times[at], len(at), self.generator)

        self._leave_edges_out(ends[0], ends[1], redraw)
        return ends[0], ends[1]

    def destinations(self, src: Tensor, times: Tensor | None, by_link: bool) -> Tensor:
        """Draw ``amount`` destinations for each source, one source after the other, or ``by_link`` in turn."""
        amount, count = int(self.amount), len(src) * int(self.amount)
        if self.without is not None and self._is_uniform:
            table = torch.from_numpy(sample_negatives(self.without, src, amount, exclude_edges=True, seed=self.key()))
            return table.t().flatten() if by_link else table.flatten()
        link = torch.arange(count) % len(src) if by_link else torch.arange(count) // amount
        times = None if times is None else times[link]
        dst = self.dst.draw_before(times, count, self.generator)

        def redraw(at: Tensor) -> None:
            dst[at] = self.dst.draw_before(None if times is None else times[at], len(at), self.generator)

        self._leave_edges_out(src[link], dst, redraw)
        return dst

    @property
    def _is_uniform(self) -> bool:
        sides = (self.dst,) if self.triplet else (self.src, self.dst)
        return all(side.weight is None and side.node_time is None for side in sides)

    def _leave_edges_out(self, src: Tensor, dst: Tensor, redraw: Callable[[Tensor], None]) -> None:
        if self.without is None:
            return
        for _ in range(_EDGE_TRIES):
            taken = torch.from_numpy(self.without.has_edges(src, dst)).nonzero().flatten()
            if len(taken) == 0:
                return
            redraw(taken)
        raise value_error(
            "exclude_positives",
            f"{self.without.path}: found no negative without an edge in {_EDGE_TRIES} draws, last "
            f"{int(src[taken[0]])} → {int(dst[taken[0]])}; use fewer weights of 0, later times, or "
            "exclude_positives=False",
        )


@dataclass(frozen=True)
class Links:
    """Links to sample around: those given, then negatives. Triplets have negatives at one end only."""

    src: Tensor
    dst: Tensor
    src_time: Tensor | None
    dst_time: Tensor | None
    label: Tensor | None
    num_given: int
    triplet: bool


def links_of(inputs: Any, negatives: Negatives | None, *, disjoint: bool) -> Links:
    """Put negatives behind the links of PyG's ``EdgeSamplerInput``."""
    src, dst, time, label = inputs.row.long(), inputs.col.long(), inputs.time, inputs.label
    num_given = len(src)
    if negatives is None:
        return Links(src, dst, time, time, label, num_given, triplet=False)
    if negatives.triplet:
        dst = torch.cat([dst, negatives.destinations(src, time, by_link=disjoint)])
        dst_time = None if time is None else time.repeat(1 + int(negatives.amount))
        return Links(src, dst, time, dst_time, None, num_given, triplet=True)
    more_src, more_dst = negatives.pairs(num_given, time)
    src, dst = torch.cat([src, more_src]), torch.cat([dst, more_dst])
    label = labels_with_negatives(torch.ones(num_given) if label is None else label, len(more_src))
    time = None if time is None else times_with_negatives(time, len(src))
    return Links(src, dst, time, time, label, num_given, triplet=False)


def labels_with_negatives(label: Tensor, num_negatives: int) -> Tensor:
    """Return the labels of links and of negatives behind them, which is 0."""
    return torch.cat([label, label.new_zeros((num_negatives, *label.shape[1:]))])


def times_with_negatives(time: Tensor, count: int) -> Tensor:
    """Return the times of ``count`` links and negatives: a negative has that of its link."""
    return time[torch.arange(count) % max(len(time), 1)]


@dataclass(frozen=True)
class Ends:
    """The ends of links as seeds by node type, and where each end will be among the nodes of the sample."""

    seeds: dict[str, Tensor]
    times: dict[str, Tensor] | None
    links: dict[str, Tensor]  # the link, or that beside a negative, of each seed; of disjoint samples only
    src_place: Tensor
    dst_place: Tensor


def ends_of(links: Links, src_type: str, dst_type: str, *, disjoint: bool) -> Ends:
    """Return the seeds of links: each end on its own if the sample is disjoint, else each node once, by id."""
    parts = (
        {src_type: [links.src], dst_type: [links.dst]} if src_type != dst_type else {src_type: [links.src, links.dst]}
    )
    nodes = {kind: torch.cat(ends) for kind, ends in parts.items()}
    places = {kind: torch.arange(len(ends)) for kind, ends in nodes.items()}
    times, link = None, {}
    if links.src_time is not None and links.dst_time is not None:
        times = {src_type: links.src_time, dst_type: links.dst_time}
        if src_type == dst_type:
            times[src_type] = torch.cat([links.src_time, links.dst_time])
    if disjoint:
        num_links = max(links.num_given, 1)
        link = {kind: torch.cat([torch.arange(len(end)) % num_links for end in ends]) for kind, ends in parts.items()}
    else:
        for kind, ends in nodes.items():
            nodes[kind], places[kind] = torch.unique(ends, return_inverse=True)
    before = len(links.src) if src_type == dst_type else 0
    return Ends(nodes, times, link, places[src_type][: len(links.src)], places[dst_type][before:])


def link_metadata(links: Links, ends: Ends, input_id: Tensor | None, *, disjoint: bool) -> tuple[Any, ...]:
    """Return what PyG's ``LinkLoader`` puts into a batch beside the sample."""
    if not links.triplet:
        return input_id, torch.stack([ends.src_place, ends.dst_place]), links.label, links.src_time
    given, negative = ends.dst_place[: links.num_given], ends.dst_place[links.num_given :]
    amount = len(negative) // max(links.num_given, 1)
    table = negative.view(amount, -1).t() if disjoint else negative.view(-1, amount)
    return input_id, ends.src_place, given, table.squeeze(-1), links.src_time

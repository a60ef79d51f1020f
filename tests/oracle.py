"""Slow, obvious Python versions of every algorithm."""

import itertools
import math
from dataclasses import dataclass


def list_of(node, src, dst, *, direction="out", directed=True, time=None):
    """The (neighbour, edge id) entries of one node, in stored order."""
    if direction == "in":
        src, dst = dst, src
    entries = [(neighbour, edge) for edge, (owner, neighbour) in enumerate(zip(src, dst, strict=True)) if owner == node]
    if not directed:
        entries += [
            (owner, edge) for edge, (owner, neighbour) in enumerate(zip(src, dst, strict=True)) if neighbour == node
        ]
    return sorted(entries, key=lambda entry: ((time[entry[1]],) if time is not None else ()) + entry)


def index_of(num_nodes, src, dst, **options):
    """The indptr, indices and edge ids of one index, as lists."""
    lists = [list_of(node, src, dst, **options) for node in range(num_nodes)]
    indptr = [0]
    for entries in lists:
        indptr.append(indptr[-1] + len(entries))
    return (
        indptr,
        [entry[0] for entries in lists for entry in entries],
        [entry[1] for entries in lists for entry in entries],
    )


def weight_sums(indptr, weights):
    """For each entry at a multiple of 16, the sum of the weights before it in its list."""
    starts, sums, total = set(indptr), [], 0.0
    for at, weight in enumerate(weights):
        if at in starts:
            total = 0.0
        if at % 16 == 0:
            sums.append(total)
        total += float(weight)
    return sums


def edge_set(src, dst, *, directed=True):
    """The pairs that are edges."""
    edges = set(zip(src, dst, strict=True))
    return edges if directed else edges | {(v, u) for u, v in edges}


def negative_weights(num_nodes, src, dst, *, side="in", by="uniform", power=0.75, directed=True):
    """The weight each node has as a negative: destinations for ``side="in"``, sources for ``"out"``."""
    if isinstance(by, tuple):
        by = by[0 if side == "out" else 1]
    elif not isinstance(by, str) and side == "out":
        by = None
    if by is None or (isinstance(by, str) and by == "uniform"):
        return [1.0] * num_nodes
    if not isinstance(by, str):
        return [float(weight) for weight in by]
    ends = list(src) + list(dst) if not directed else list(dst if side == "in" else src)
    return [float(ends.count(node)) ** power if node in ends else 0.0 for node in range(num_nodes)]


def normalised(weights):
    """Weights as probabilities."""
    return [weight / sum(weights) for weight in weights]


def negative_law(sources, num_nodes, src, dst, *, exclude_edges=False, directed=True, **law):
    """The probability of each destination; none of ``sources`` has an edge to it if edges are excluded."""
    edges = edge_set(src, dst, directed=directed)
    weights = negative_weights(num_nodes, src, dst, directed=directed, **law)
    for node in range(num_nodes):
        if exclude_edges and any((source, node) in edges for source in sources):
            weights[node] = 0.0
    return normalised(weights)


def negative_pair_law(num_src, num_dst, src, dst, *, exclude_edges=False, directed=True, **law):
    """The probability of each pair, source by source."""
    edges = edge_set(src, dst, directed=directed)
    sources = negative_weights(num_src, src, dst, side="out", directed=directed, **law)
    destinations = negative_weights(num_dst, src, dst, side="in", directed=directed, **law)
    return normalised(
        [
            0.0 if exclude_edges and (u, v) in edges else sources[u] * destinations[v]
            for u in range(num_src)
            for v in range(num_dst)
        ]
    )


def stream(seed, *words):
    """The draws of a key, as docs/design/randomness.md defines them."""

    def mix(x):
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
        return x ^ (x >> 31)

    gamma = 0x9E3779B97F4A7C15
    state = mix((seed + gamma) % 2**64)
    for word in words:
        state = mix(((state ^ word) + gamma) % 2**64)
    while True:
        state = (state + gamma) % 2**64
        yield mix(state)


def below(draws, bound):
    """An integer below ``bound``, without bias."""
    while True:
        product = next(draws) * bound
        if product % 2**64 >= 2**64 % bound:
            return product >> 64


NEGATIVES = 3  # the first word of their keys


def uniform_negative(seed, position, number, num_nodes, refused):
    """Draw ``number`` for the source at ``position`` that has edges to ``refused``, by trying again."""
    draws = stream(seed, NEGATIVES, position, number)
    while True:
        node = below(draws, num_nodes)
        if node not in refused:
            return node


def weighted_node(draws, weights):
    """The node at which the running sum passes a uniform share of the whole."""
    target = (next(draws) >> 11) * 2.0**-53 * list(itertools.accumulate(weights))[-1]
    return next(node for node, total in enumerate(itertools.accumulate(weights)) if total > target)


def step_law(lists, node, previous=None, *, p=1.0, q=1.0):
    """The chance of each next node. ``lists[v]`` are the (neighbour, weight) entries of ``v``."""
    near = {neighbour for neighbour, _ in lists[previous]} if previous is not None else set()
    mass = {}
    for neighbour, weight in lists[node]:
        if previous is None:
            bias = 1.0
        elif neighbour == previous:
            bias = 1 / p
        else:
            bias = 1.0 if neighbour in near else 1 / q
        mass[neighbour] = mass.get(neighbour, 0.0) + bias * weight
    total = sum(mass.values())
    return {neighbour: part / total for neighbour, part in mass.items() if part > 0}


@dataclass
class Sampled:
    """A neighbourhood: nodes by type; edges by edge type, as (near, far, edge id) in local ids."""

    nodes: dict
    trees: dict
    edges: dict
    num_sampled_nodes: dict
    num_sampled_edges: dict


def neighborhood(edge_types, seeds, num_hops, entries_of, *, direction="in", disjoint=False):
    """Follow all of ``entries_of(edge type, node, tree, hop)``, which are (neighbour, edge id), from ``seeds`` by type."""
    near, far = (2, 0) if direction == "in" else (0, 2)
    number = itertools.count()
    nodes = {kind: list(ids) for kind, ids in seeds.items()}
    trees = {kind: [next(number) if disjoint else 0 for _ in ids] for kind, ids in seeds.items()}
    edges = {triple: [] for triple in edge_types}
    num_nodes = {kind: [len(ids)] for kind, ids in nodes.items()}
    num_edges = {triple: [] for triple in edge_types}
    begin = dict.fromkeys(nodes, 0)
    for hop in range(num_hops):
        end = {kind: len(ids) for kind, ids in nodes.items()}
        for triple in edge_types:
            before = len(edges[triple])
            for local in range(begin[triple[near]], end[triple[near]]):
                tree = trees[triple[near]][local]
                for neighbour, edge in entries_of(triple, nodes[triple[near]][local], tree, hop):
                    if (neighbour, tree) not in zip(nodes[triple[far]], trees[triple[far]], strict=True):
                        nodes[triple[far]].append(neighbour)
                        trees[triple[far]].append(tree)
                    edges[triple].append(
                        (local, local_id(nodes[triple[far]], trees[triple[far]], neighbour, tree), edge)
                    )
            num_edges[triple].append(len(edges[triple]) - before)
        for kind, ids in nodes.items():
            num_nodes[kind].append(len(ids) - end[kind])
        begin = end
    return Sampled(nodes, trees, edges, num_nodes, num_edges)


def local_id(nodes, trees, node, tree):
    """The first place of a node in its tree; None if it is not there."""
    pairs = list(zip(nodes, trees, strict=True))
    return pairs.index((node, tree)) if (node, tree) in pairs else None


def induced(sampled, entries_of, *, direction="in"):
    """The edges between sampled nodes, node by node."""
    near, far = (2, 0) if direction == "in" else (0, 2)
    edges = {triple: [] for triple in sampled.edges}
    for triple, found in edges.items():
        for local, node in enumerate(sampled.nodes[triple[near]]):
            tree = sampled.trees[triple[near]][local]
            for neighbour, edge in entries_of(triple, node, tree, None):
                place = local_id(sampled.nodes[triple[far]], sampled.trees[triple[far]], neighbour, tree)
                if place is not None:
                    found.append((local, place, edge))
    return edges


def mirrored(edges):
    """Edges of one type both ways, one per pair of nodes, that with the lowest edge id."""
    both = sorted([*edges, *((far, near, edge) for near, far, edge in edges)])
    return [edge for i, edge in enumerate(both) if i == 0 or edge[:2] != both[i - 1][:2]]


def newest(entries, count, time_of):
    """The ``count`` last entries in the order of their times, in the order of the list; later ones win ties."""
    if count == -1 or count >= len(entries):
        return entries
    by_time = sorted(range(len(entries)), key=lambda i: (time_of(entries[i]), i))
    return [entries[i] for i in sorted(by_time[len(entries) - count :])]


def successive_law(weights, count):
    """The probability of each set of ``count`` positions, drawn one by one in proportion to what is left."""
    law = {}
    positive = [i for i, weight in enumerate(weights) if weight > 0]
    for order in itertools.permutations(positive, min(count, len(positive))):
        chance, left = 1.0, sum(weights)
        for position in order:
            chance *= weights[position] / left
            left = sum(weights[i] for i in positive if i not in order[: order.index(position) + 1])
        law[frozenset(order)] = law.get(frozenset(order), 0.0) + chance
    return law


def neighbor_counts(src, dst, num_nodes, *, directed=True, direction="in"):
    """How often each node is named by the lists of one direction: sources by the in lists."""
    counts = [0] * num_nodes
    for u, v in zip(src, dst, strict=True):
        counts[u if direction == "in" else v] += 1
        if not directed:
            counts[v if direction == "in" else u] += 1
    return counts


def hottest_first(counts):
    """Ids by falling count, equal ones by id."""
    return sorted(range(len(counts)), key=lambda node: (-counts[node], node))


def part_of(order, rank, world_size, *, drop_uneven=False):
    """Every ``world_size``-th of ``order``, as many for each rank: the first again, or the last left out."""
    count = len(order) // world_size if drop_uneven else -(-len(order) // world_size)
    return [order[(place * world_size + rank) % len(order)] for place in range(count)]


class Draws:
    """The stream of a key, as docs/design/randomness.md says."""

    MASK, GAMMA = 2**64 - 1, 0x9E3779B97F4A7C15

    def __init__(self, seed, *words):
        self.state = self.mix(seed + self.GAMMA)
        for word in words:
            self.state = self.mix((self.state ^ word) + self.GAMMA)

    @classmethod
    def mix(cls, x):
        x &= cls.MASK
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & cls.MASK
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & cls.MASK
        return x ^ (x >> 31)

    def next(self):
        self.state += self.GAMMA
        return self.mix(self.state)

    def below(self, bound):
        while True:
            product = self.next() * bound
            if product & self.MASK >= 2**64 % bound:
                return product >> 64

    def uniform(self):
        return (self.next() >> 11) / 2**53


SYNTHESIS, PLACES, EDGES, CENTROIDS, NOISE, SPLITS = 6, 1, 2, 3, 4, 5


def node_of_place(num_nodes, seed, kind=0, drawn=PLACES):
    """The node at each place, as a list."""
    rows = int(num_nodes**0.5)
    rows += rows * rows < num_nodes
    columns = -(-num_nodes // rows)
    keys = [Draws(seed, SYNTHESIS, drawn, kind, i).state for i in range(4)]

    def shift(i, x, bound):
        return Draws.mix(x + keys[i]) * bound >> 64

    def once(x):
        row, column = divmod(x, columns)
        for i in (0, 2):
            row = (row + shift(i, column, rows)) % rows
            column = (column + shift(i + 1, row, columns)) % columns
        return row * columns + column

    nodes = []
    for place in range(num_nodes):
        node = once(place)
        while node >= num_nodes:
            node = once(node)
        nodes.append(node)
    return nodes


def block_edges(num_src, num_dst, num_edges, *, seed, kind=0, ends=(0, 0), classes, skew, homophily):
    """The edges of a degree-corrected block model, as pairs of nodes."""
    src_nodes, dst_nodes = node_of_place(num_src, seed, ends[0]), node_of_place(num_dst, seed, ends[1])

    def place(rng, num_nodes, of_class):
        u, size = rng.uniform(), len(range(of_class, num_nodes, classes))
        share = float(size)
        for _ in range(skew):
            share *= u
        return int(share) * classes + of_class

    edges = []
    for edge in range(num_edges):
        rng = Draws(seed, SYNTHESIS, EDGES, kind, edge)
        own = rng.below(classes)
        src = place(rng, num_src, own)
        stays, other = rng.uniform() < homophily, rng.below(classes)
        edges.append((src_nodes[src], dst_nodes[place(rng, num_dst, own if stays else other)]))
    return edges


def rmat_edges(num_nodes, num_edges, *, seed):
    """The edges of an R-MAT graph, as pairs of nodes."""
    nodes, levels = node_of_place(num_nodes, seed), (num_nodes - 1).bit_length()
    edges = []
    for edge in range(num_edges):
        rng = Draws(seed, SYNTHESIS, EDGES, 0, edge)
        while True:
            words = [rng.next() for _ in range(-(-levels // 4))]
            draws = [words[i // 4] >> 16 * (i % 4) & 0xFFFF for i in range(levels)]
            src = dst = 0
            for draw in draws:
                quadrant = (draw >= 37356) + (draw >= 37356 + 12452) + (draw >= 37356 + 2 * 12452)
                src, dst = 2 * src + quadrant // 2, 2 * dst + quadrant % 2
            if max(src, dst) < num_nodes:
                break
        edges.append((nodes[src], nodes[dst]))
    return edges


def attachment_edges(num_nodes, num_edges, *, seed):
    """The edges of preferential attachment, by filling the list of edge ends from its beginning."""
    nodes = node_of_place(num_nodes, seed)
    brought = [num_edges // num_nodes + (node < num_edges % num_nodes) for node in range(num_nodes)]
    ends = []
    for node, count in enumerate(brought):
        for _ in range(count):
            ends.append(node)
            position = len(ends)
            ends.append(ends[Draws(seed, SYNTHESIS, EDGES, 0, position).below(position)])
    return [(nodes[src], nodes[dst]) for src, dst in zip(ends[::2], ends[1::2], strict=True)]


def synthetic_row(node, of_class, *, seed, kind=0, width):
    """The sums of four bytes that are the noise of a row, and the signs of its class's centroid."""
    rng = Draws(seed, SYNTHESIS, NOISE, kind, node)
    sums, signs = [], []
    for column in range(width):
        if column % 2 == 0:
            draw = rng.next()
        sums.append(sum((draw >> 32 * (column % 2) & 0xFFFFFFFF).to_bytes(4, "little")))
        word = Draws(seed, SYNTHESIS, CENTROIDS, of_class, column // 64).state
        signs.append(1 if word >> column % 64 & 1 else -1)
    return sums, signs


def blocks(row, col, edge, num_sampled_nodes, num_sampled_edges):
    """The (source, destination, edge id) of each layer's edges by destination, and its numbers of nodes."""
    layers = []
    for hops in range(len(num_sampled_edges), 0, -1):
        kept = range(sum(num_sampled_edges[:hops]))
        edges = sorted(((int(row[i]), int(col[i]), int(edge[i]), i) for i in kept), key=lambda e: (e[1], e[3]))
        layers.append(([e[:3] for e in edges], sum(num_sampled_nodes[: hops + 1]), sum(num_sampled_nodes[:hops])))
    return layers


def windows(walks, context_size):
    """Every stretch of ``context_size`` nodes of each walk; all that begin at the walks' first node come first."""
    length = len(walks[0])
    return [walk[at : at + context_size] for at in range(length - context_size + 1) for walk in walks]


def skip_gram_loss(vectors, positive, negative):
    """Mean of -log σ over pairs of a window's first node and each other, plus that of -log(1 - σ) over random ones."""

    def mean(rows, sign):
        losses = []
        for first, *others in rows:
            for other in others:
                product = sum(a * b for a, b in zip(vectors[first], vectors[other], strict=True))
                losses.append(math.log1p(math.exp(-sign * product)))
        return sum(losses) / len(losses)

    return mean(positive, 1) + mean(negative, -1)


def degree_distribution(degrees):
    """Triples (least, largest, how many of ``degrees`` are between them), from 0 over powers of two."""
    parts, least, largest = [], 0, 0
    while any(degree >= least for degree in degrees):
        parts.append((least, largest, sum(least <= degree <= largest for degree in degrees)))
        least, largest = largest + 1, 2 * largest + 1
    return parts


def edge_homophily(src, dst, labels):
    """Share of the edges between labelled nodes that join two of one class."""
    known = [(labels[a], labels[b]) for a, b in zip(src, dst, strict=True) if labels[a] >= 0 and labels[b] >= 0]
    return sum(one == other for one, other in known) / len(known)


def rounded_integer(number, digits):
    """The integer of ``digits`` binary digits, and zeros behind them, that is nearest; the even one of two."""
    step = 1 << max(0, abs(number).bit_length() - digits)
    below, rest = divmod(number, step)
    return step * (below + (2 * rest > step or (2 * rest == step and below % 2 == 1)))

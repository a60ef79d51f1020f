"""Slow, obvious Python versions of every algorithm."""


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

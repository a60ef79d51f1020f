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

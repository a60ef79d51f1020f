"""Whether draws and walks by weight have the mean weight that their law gives."""

import numpy as np


def wrong_draws(graph, hood, fanouts):
    """What is wrong with the weights of a weighted sample, or nothing.

    Of a long list a few draws barely change what is left, so the mean weight drawn is near that of a first draw, the
    sum of squares over the sum. Uniform draws would be a quarter below it.
    """
    index = graph.index("in")
    long = np.diff(index.indptr) >= 20 * max(fanouts)
    into = hood.node[hood.col]
    drawn = long[into]
    nodes, counts = np.unique(into[drawn], return_counts=True)
    lists = [index.weights[index.indptr[v] : index.indptr[v + 1]].astype(np.float64) for v in nodes]
    expected = np.average([(w @ w) / w.sum() for w in lists], weights=counts)
    found = index.weights[hood.edge[drawn]].mean()
    return None if abs(found / expected - 1) < 0.08 else f"mean weight {found:.3f}, expected {expected:.3f}"


def wrong_steps(index, walks, law):
    """What is wrong with the first weights taken, or nothing: by weight they are larger than without.

    The mean weight of the first step is, list by list, the sum of squares over the sum by weight, else the plain
    mean. Parallel edges share an end, so starts whose step has several are left out.
    """
    found, expected = [], []
    for start, end in walks[:2000, :2]:
        edges = slice(index.indptr[start], index.indptr[start + 1])
        weights = index.weights[edges].astype(np.float64)
        same = np.flatnonzero(index.indices[edges] == end)
        if len(weights) >= 16 and len(same) == 1:
            found.append(weights[same[0]])
            expected.append(weights @ weights / weights.sum() if law == "weighted" else weights.mean())
    ratio = np.mean(found) / np.mean(expected)
    return None if abs(ratio - 1) < 0.1 else f"first steps have {ratio:.2f} of the weight expected"

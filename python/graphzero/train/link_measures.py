"""How well scores tell edges from pairs that are none: AUC, mean reciprocal rank, hits. Ties count half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero.train.settings import HITS_AT


@dataclass(frozen=True)
class LinkMeasures:
    """All from 0 to 1, where 1 is best.

    ``auc`` is the chance that an edge scores higher than a pair that is none. The rank of an edge is its place among
    the pairs that have its source: ``mrr`` is the mean of 1/rank, ``hits`` the share of ranks up to ``HITS_AT``.
    """

    auc: float
    mrr: float
    hits: float


def link_measures(edges: NDArray[Any], negatives: NDArray[Any]) -> LinkMeasures:
    """Measure the scores of edges, of shape ``(n,)``, and of the pairs that each is ranked among, ``(n, k)``."""
    rank = ranks(edges, negatives)
    return LinkMeasures(auc(edges, negatives), float((1 / rank).mean()), float((rank <= HITS_AT).mean()))


def auc(positive: NDArray[Any], negative: NDArray[Any]) -> float:
    """Return the area under the ROC curve, exactly: the share of pairs of both kinds that are in order."""
    ordered = np.sort(negative, axis=None)
    below = np.searchsorted(ordered, positive, side="left").sum(dtype=np.int64)
    up_to = np.searchsorted(ordered, positive, side="right").sum(dtype=np.int64)
    return (int(below) + int(up_to)) / (2 * positive.size * ordered.size)


def ranks(edges: NDArray[Any], negatives: NDArray[Any]) -> NDArray[np.float64]:
    """Return the place of each edge among its negatives, from 1; of equal scores it is in the middle."""
    above = (negatives > edges[:, None]).sum(axis=1)
    equal = (negatives == edges[:, None]).sum(axis=1)
    return np.asarray(1 + above + equal / 2, dtype=np.float64)

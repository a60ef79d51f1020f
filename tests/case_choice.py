"""Fewer cases than a Cartesian product that still try every combination of a few parameters."""

from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import Any

import pytest


def meeting(
    values: dict[str, Sequence[Any]], together: int = 2, ids: Callable[[Any], str] | None = None, indirect: Any = False
) -> pytest.MarkDecorator:
    """Parametrize a test so that any ``together`` parameters take all their values with each other in some case.

    Each case is that of the product which adds most combinations; of several the first, so the choice is always the same.
    A defect that needs one more parameter to show is what such a choice can miss: say so by a larger ``together``.

    >>> meeting({"a": [1, 2], "b": [3, 4], "c": [5, 6]}).args
    (['a', 'b', 'c'], [(1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)])
    """
    groups = list(combinations(range(len(values)), together))
    places = [range(len(choices)) for choices in values.values()]
    cases = [(case, {(group, tuple(case[at] for at in group)) for group in groups}) for case in product(*places)]
    missing = set().union(*(covered for _, covered in cases))
    chosen = []
    while missing:
        best, covered = max(cases, key=lambda case: len(case[1] & missing))
        chosen.append(tuple(choices[at] for choices, at in zip(values.values(), best, strict=True)))
        missing -= covered
    return pytest.mark.parametrize(list(values), chosen, ids=ids, indirect=indirect)

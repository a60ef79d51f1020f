"""Frequencies against exact laws. Seeds are fixed, so a test that passes once always passes."""

import numpy as np
from scipy import stats

P = 1e-4


def p_value(drawn, law):
    """Of the chi-square test that ``drawn`` came from ``law``; what is impossible must not be drawn at all."""
    law = np.array(law)
    counts = np.bincount(np.ravel(drawn), minlength=len(law))
    assert len(counts) == len(law)
    assert counts[law == 0].sum() == 0, np.flatnonzero((law == 0) & (counts > 0))
    if (law > 0).sum() == 1:
        return 1.0
    return stats.chisquare(counts[law > 0], law[law > 0] * counts.sum()).pvalue


def assert_law(observed, law):
    """``observed`` values follow ``law`` {value: probability}: chi-square, with rare values thrown together."""
    values, counts = np.unique(np.asarray(observed), return_counts=True)
    found = dict(zip(values.tolist(), counts.tolist(), strict=True))
    assert set(found) <= {value for value, chance in law.items() if chance > 0}
    total = sum(found.values())
    assert abs(sum(law.values()) - 1) < 1e-9
    cells = [(found.get(value, 0), total * chance) for value, chance in law.items()]
    rare = [cell for cell in cells if cell[1] < 5]
    cells = [cell for cell in cells if cell[1] >= 5]
    if sum(cell[1] for cell in rare) >= 5:
        cells.append((sum(cell[0] for cell in rare), sum(cell[1] for cell in rare)))
    else:  # too rare for chi-square; a draw of them is then a draw that hardly ever happens
        assert stats.poisson.sf(sum(cell[0] for cell in rare) - 1, sum(cell[1] for cell in rare)) > P
    if len(cells) > 1:
        observed_counts, expected = np.array(cells).T
        assert stats.chisquare(observed_counts, expected * observed_counts.sum() / expected.sum()).pvalue > P
    else:
        assert len(law) - len(rare) == 1  # one value has all the weight there is


def assert_uniform(observed, values):
    values = list(values)
    assert_law(observed, dict.fromkeys(values, 1 / len(values)))


def assert_uniform_inclusion(counts, num_samples, fanout):
    """How often each of a list's items is in a uniform subset: the exact covariance makes it a chi-square."""
    size = len(counts)
    chance = fanout / size
    variance = num_samples * chance * (1 - chance) * size / (size - 1)
    assert counts.sum() == num_samples * fanout
    assert stats.chi2.sf(((counts - num_samples * chance) ** 2).sum() / variance, size - 1) > P


def table(first, second):
    """How often each pair of values comes together."""
    rows, first = np.unique(first, return_inverse=True)
    columns, second = np.unique(second, return_inverse=True)
    return np.bincount(first * len(columns) + second, minlength=len(rows) * len(columns)).reshape(
        len(rows), len(columns)
    )


def assert_independent(first, second):
    assert stats.chi2_contingency(table(first, second)).pvalue > P


def assert_dependent(first, second):
    assert stats.chi2_contingency(table(first, second)).pvalue < 1e-12

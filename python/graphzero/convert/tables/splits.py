"""Splits: which rows each has, by what a table says, by shares at random, or by time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import value_error
from graphzero._base.dtypes import DataType
from graphzero._dataset.split_names import usual_split_name
from graphzero.convert.arrow_files import pyarrow
from graphzero.convert.row_writer import RowWriter
from graphzero.convert.tables.arrow_types import compute, decoded
from graphzero.convert.tables.spec import SplitSpec
from graphzero.convert.tables.table import Table
from graphzero.features import FeatureStore

# Rows that are divided at a time.
_BLOCK = 1 << 20
# A row has the number of its split plus 1, or this if it is in none: rows that are absent from a file are zero.
NO_SPLIT = 0
_MOST_SPLITS = 255
# NumPy draws hypergeometric numbers from less than this many items.
_MOST_NUMPY_DRAWS_FROM = 10**9


class _SplitOutput:
    """The split of each row, as numbers."""

    name = "split"
    stored = DataType.UINT8
    row_shape: tuple[int, ...] = ()
    quantised = False
    missing = float(NO_SPLIT)

    def __init__(self, columns: list[str], where: Callable[[int], str]) -> None:
        self.column_names = columns
        self._where = where
        self.names: list[str] = []


class NamedSplits(_SplitOutput):
    """A column that names the split of each row. ``val`` and ``dev`` are ``valid``; nothing is in no split."""

    def convert(self, batch: Any, first: int) -> tuple[NDArray[np.uint8], None]:
        """Return the split of each row."""
        return self._codes(batch.column(self.column_names[0]), first), None

    def _codes(self, array: Any, first: int) -> NDArray[np.uint8]:
        arrow = pyarrow()
        array = decoded(array)
        if arrow.types.is_boolean(array.type) or arrow.types.is_floating(array.type):
            raise value_error(
                "split",
                f"column {self.column_names[0]!r}: expected names such as train, valid and test, found {array.type}; "
                "columns that say whether a row is in a split are given by name: {'train': 'is_train'}",
                where=self._where(first),
            )
        encoded = array.cast(arrow.string()).dictionary_encode()
        numbers = [self._number(name) for name in encoded.dictionary.to_pylist()]
        if len(self.names) > _MOST_SPLITS:
            raise value_error(
                "split",
                f"column {self.column_names[0]!r}: expected the names of at most {_MOST_SPLITS} splits, found more",
                where=self._where(first),
            )
        places = encoded.indices.cast(arrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        codes: NDArray[np.uint8] = np.array([*numbers, NO_SPLIT], np.uint8)[places]
        return codes

    def _number(self, name: str) -> int:
        usual = usual_split_name(name.strip())
        if usual_split_name(usual.lower()) in ("train", "valid", "test"):
            usual = usual_split_name(usual.lower())
        if not usual:
            return NO_SPLIT
        if usual not in self.names:
            self.names.append(usual)
        return self.names.index(usual) + 1


class MaskedSplits(_SplitOutput):
    """A column for each split, which says whether a row is in it."""

    def __init__(self, columns: Mapping[str, str], where: Callable[[int], str]) -> None:
        super().__init__(list(columns.values()), where)
        self.names = list(columns)

    def convert(self, batch: Any, first: int) -> tuple[NDArray[np.uint8], None]:
        """Return the split of each row."""
        codes = np.zeros(batch.num_rows, np.uint8)
        for number, column in enumerate(self.column_names):
            inside = self._mask(decoded(batch.column(column)), column, first)
            twice = np.flatnonzero(inside & (codes != NO_SPLIT))
            if len(twice):
                at = int(twice[0])
                both = self.names[codes[at] - 1], self.names[number]
                raise value_error(
                    "split",
                    f"expected a row in one split, found it in {both[0]} and {both[1]}",
                    where=self._where(first + at),
                )
            codes[inside] = number + 1
        return codes, None

    def _mask(self, array: Any, column: str, first: int) -> NDArray[np.bool_]:
        arrow = pyarrow()
        if not arrow.types.is_boolean(array.type):
            try:
                text = compute().utf8_lower(array.cast(arrow.string()))
                array = compute().if_else(compute().equal(text, ""), None, text).cast(arrow.bool_())
            except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError):
                raise value_error(
                    "split", f"column {column!r}: expected true or false, found {array.type}", where=self._where(first)
                ) from None
        inside: NDArray[np.bool_] = array.fill_null(False).to_numpy(zero_copy_only=False)
        return inside


def split_output(split: SplitSpec | None, table: Table) -> NamedSplits | MaskedSplits | None:
    """Return what columns of a table say about splits; ``None`` if none does."""
    if split is None:
        return None
    if split.column is not None:
        return NamedSplits([table.column(split.column, "split")], table.place)
    members = split.members or {}
    if members and all(isinstance(value, str) and value in table.types for value in members.values()):
        return MaskedSplits(members, table.place)
    return None


def among(present: Iterable[NDArray[np.bool_]], codes: Iterator[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    """Yield the split of each row, block by block, where ``codes`` are those of the rows that are ``present`` alone."""
    ready = np.empty(0, np.uint8)
    for block in present:
        count = int(block.sum())
        while len(ready) < count:
            ready = np.append(ready, next(codes))
        found = np.full(len(block), NO_SPLIT, np.uint8)
        found[block], ready = ready[:count], ready[count:]
        yield found


def shared_at_random(count: int, shares: Mapping[str, float], seed: int) -> Iterator[NDArray[np.uint8]]:
    """Yield the split of each row, block by block: every division with these counts is equally likely."""
    left = np.array(counts_of(count, list(shares.values())))
    draws = np.random.default_rng(seed)
    for start in range(0, count, _BLOCK):
        taken = _drawn(left, min(_BLOCK, count - start), draws)
        left = left - taken
        numbers = np.array([*range(1, len(shares) + 1), NO_SPLIT], np.uint8)
        yield draws.permutation(np.repeat(numbers, taken))


def _drawn(left: NDArray[np.int64], count: int, draws: np.random.Generator) -> NDArray[np.int64]:
    """Return how many of ``count`` rows, drawn without replacement, fall to each of the counts that are left."""
    total = int(left.sum())
    if total < _MOST_NUMPY_DRAWS_FROM:
        return draws.multivariate_hypergeometric(left, count, method="marginals")
    places = np.unique(draws.integers(0, total, count))
    while len(places) < count:
        places = np.unique(np.append(places, draws.integers(0, total, count - len(places))))
    return np.bincount(np.searchsorted(np.cumsum(left), places, side="right"), minlength=len(left))


def counts_of(count: int, shares: list[float]) -> list[int]:
    """Return how many rows each share has, and how many none has. Ends of shares are rounded, not the shares."""
    ends = [round(count * min(1.0, sum(shares[: i + 1]))) for i in range(len(shares))]
    return [*np.diff([0, *ends]).tolist(), count - ends[-1]]


def shared_by_time(
    times: FeatureStore, shares: Mapping[str, float], present: Callable[[], Iterable[NDArray[np.bool_]]] | None = None
) -> Iterator[NDArray[np.uint8]]:
    """Yield the split of each row, block by block, the oldest rows in the first; those not ``present`` are in none.

    Rows of one time stay together, in the split that the first of them is in: no split knows the future of an earlier
    one.
    """
    values = times.get_tensor(writable=False, access="sequential")

    def blocks() -> Iterator[NDArray[np.int64]]:
        if present is None:
            yield from _blocks(values)
        else:
            yield from (block[there] for block, there in zip(_blocks(values), present(), strict=True))

    count = sum(len(block) for block in blocks())
    ends = np.cumsum(counts_of(count, list(shares.values()))[:-1])
    # The last time in each split: the smallest number that so many rows are not above.
    limits = np.array([_nth_smallest(blocks, int(end) - 1) for end in ends if end > 0], np.int64)
    skipped = int((ends == 0).sum())

    def codes() -> Iterator[NDArray[np.uint8]]:
        for block in blocks():
            numbers = np.searchsorted(limits, block, side="left") + skipped
            yield np.where(numbers < len(ends), numbers + 1, NO_SPLIT).astype(np.uint8)

    return codes() if present is None else among(present(), codes())


def _blocks(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    return (np.asarray(values[start : start + _BLOCK]) for start in range(0, len(values), _BLOCK))


def _nth_smallest(blocks: Callable[[], Iterator[NDArray[np.int64]]], n: int) -> int:
    """Return the ``n``-th smallest of numbers on disk, sixteen bits at a time from the highest."""
    prefix = 0
    for shift in (48, 32, 16, 0):
        counts = np.zeros(1 << 16, np.int64)
        for block in blocks():
            keys = np.ascontiguousarray(block).view(np.uint64) ^ np.uint64(1 << 63)  # negative numbers first
            if shift < 48:
                keys = keys[keys >> np.uint64(shift + 16) == np.uint64(prefix)]
            counts += np.bincount((keys >> np.uint64(shift)).astype(np.int64) & 0xFFFF, minlength=1 << 16)
        ends = np.cumsum(counts)
        digit = int(np.searchsorted(ends, n, side="right"))
        n -= int(ends[digit] - counts[digit])
        prefix = prefix << 16 | digit
    return prefix - (1 << 63)


def labelled(labels: FeatureStore) -> Iterator[NDArray[np.bool_]]:
    """Yield whether each row has a class, block by block."""
    return (block >= 0 for block in _blocks(labels.get_tensor(writable=False, access="sequential")))


def present_blocks(present: NDArray[np.bool_]) -> Iterator[NDArray[np.bool_]]:
    """Yield whether each node is in its table, block by block."""
    return _blocks(present)


def stored_codes(codes: FeatureStore) -> Iterator[NDArray[np.uint8]]:
    """Yield the split of each row from a file."""
    return _blocks(codes.get_tensor(writable=False, access="sequential"))


def write_members(
    codes: Iterable[NDArray[np.uint8]], names: list[str], path_of: Callable[[str], str]
) -> dict[str, str]:
    """Write the rows of each split, in order, to a file of its own. Return the files by split."""
    paths = {name: path_of(name) for name in names}
    with ExitStack() as stack:
        writers = [
            stack.enter_context(RowWriter(path, DataType.INT64, (), quantised=False, num_rows=0))
            for path in paths.values()
        ]
        first = 0
        for block in codes:
            for number, writer in enumerate(writers, 1):
                writer.append(np.flatnonzero(block == number) + first, None)
            first += len(block)
        for writer in writers:
            writer.finish()
    return paths

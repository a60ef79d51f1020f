"""An attribute of which this host has a range of rows, and those that all hosts have."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.arrays import int64_vector
from graphzero._base.dtypes import DataType, as_data_type, name_of, numpy_dtype
from graphzero._base.memory_sizes import byte_text
from graphzero._core import FormatError, RowCopy
from graphzero._files.manifest_records import ShareRecord
from graphzero.features import READERS, FeatureStore, Reader

_NO_IDS = np.empty(0, dtype=np.int64)


class FeatureShare(FeatureStore):
    """What a host has of an attribute that several hosts divide. It has the shape of the whole.

    Rows that are here can be read; loaders bring those of other hosts with their batches. What would need all rows is
    refused: the base class asks for ``_core``.
    """

    def __init__(
        self, record: ShareRecord, own: FeatureStore, hot_ids: FeatureStore | None, hot: FeatureStore | None
    ) -> None:
        self._path, self._absolute_path, self._open_core = own._path, own._absolute_path, own._open_core
        self._gatherer = None
        self.record = record
        self.own, self.hot_ids, self.hot = own, hot_ids, hot
        self._shares: _core.RowShares | None = None

    @property
    def _core(self) -> NoReturn:
        raise ValueError(
            f"{self._path}: expected all rows, found those of host {self.record.host} of {self.num_hosts}: loaders "
            "bring those of other hosts with batches, under torchrun; open a copy of the whole data set for the rest"
        )

    @property
    def num_hosts(self) -> int:
        """How many hosts divide the rows."""
        return len(self.record.ranges) - 1

    def parts(self) -> list[FeatureStore]:
        """Return the files of this host."""
        return [part for part in (self.own, self.hot_ids, self.hot) if part is not None]

    def reopened(self) -> FeatureShare:
        """Return a share on the same files that is closed on its own."""
        own, *hot = (FeatureStore(part._absolute_path) for part in self.parts())
        hot_ids, hot_rows = hot or (None, None)
        return FeatureShare(self.record, own, hot_ids, hot_rows)

    @property
    def closed(self) -> bool:
        return self.own.closed

    @property
    def nbytes(self) -> int:
        """The size of the files that are here."""
        return sum(part.nbytes for part in self.parts())

    @property
    def fingerprint(self) -> int:
        return self.own.fingerprint

    @property
    def is_graphzero02(self) -> bool:
        return False

    def resident_bytes(self) -> int | None:
        found = [part.resident_bytes() for part in self.parts()]
        return None if None in found else sum(count for count in found if count is not None)

    def close(self) -> None:
        for part in self.parts():
            part.close()

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.record.ranges[-1], *self.own.shape[1:])

    @property
    def dtype(self) -> str:
        return self.own.dtype

    @property
    def data_type(self) -> DataType:
        return self.own.data_type

    @property
    def quantised(self) -> bool:
        return self.own.quantised

    @property
    def scales(self) -> NDArray[np.float32] | None:
        return self._core if self.quantised else None

    @property
    def reordered(self) -> bool:
        return False

    @property
    def row_map(self) -> None:
        return None

    @property
    def row_bytes(self) -> int:
        return self.own.row_bytes

    def split(self, ids: NDArray[np.int64]) -> tuple[list[int], NDArray[np.int64], NDArray[np.int64]]:
        """Say where rows are.

        Returns:
            How many all hosts have, and how many each host; their numbers there, in this order; and for each of ``ids``
            its place among these.
        """
        if self._shares is None:
            hot = _NO_IDS if self.hot_ids is None else self.hot_ids.get_tensor(writable=False)
            try:
                self._shares = _core.RowShares(self.record.ranges, hot)
            except ValueError as error:
                raise FormatError(f"{self.parts()[-2].path}: {error}") from None
        return self._shares.split(ids)

    def read(self, rows: NDArray[np.int64], into: RowBuffer, begin: int, *, hot: bool, reader: Reader) -> None:
        """Copy rows of this host's range, or those that all hosts have, by their numbers there."""
        if not len(rows):
            return
        store = self.hot if hot else self.own
        assert store is not None
        data, scales = into.part(begin, begin + len(rows))
        store._open_gatherer().gather_into(rows, data, READERS[reader], None)
        if scales is not None:
            scales[:] = store._core.scales_of(rows)

    def row_copy(self, dtype: Any, *, with_scales: bool) -> tuple[RowCopy, tuple[Any, tuple[int, ...]]]:
        """Return how rows become those of a batch, and the element type and shape of these."""
        if with_scales:
            return RowCopy.with_scales(self.feature_dim), (np.dtype(np.int8), (self.feature_dim + 4,))
        wanted = None if dtype is None else as_data_type(dtype)
        copy = RowCopy(self.data_type, self.quantised, self.feature_dim, wanted)
        return copy, (numpy_dtype(self.data_type if wanted is None else wanted), self.shape[1:])

    def gather(self, ids: Any, out: Any = None, *, reader: Reader = "auto", dtype: Any = None) -> Any:
        """Return a copy of rows that are here, as [`FeatureStore.gather`][graphzero.FeatureStore.gather] does."""
        wanted = int64_vector(ids, "ids")
        counts, rows, places = self.split(wanted)
        for host, count in enumerate(counts[1:]):
            if count and host != self.record.host:
                ranges = self.record.ranges
                first = int(wanted[np.argmax((wanted >= ranges[host]) & (wanted < ranges[host + 1]))])
                raise ValueError(
                    f"{self._path}: row {first} is on host {host}, and here are those of host {self.record.host}: "
                    "loaders bring rows of other hosts with batches, under torchrun"
                )
        into = RowBuffer(self, len(wanted))
        self.read(rows[: counts[0]], into, 0, hot=True, reader=reader)
        self.read(rows[counts[0] :], into, counts[0], hot=False, reader=reader)
        found = into.placed(places, dtype)
        if out is None:
            return found
        array = np.asarray(out)
        if array.shape != found.shape or array.dtype != found.dtype:
            raise ValueError(
                f"out: expected shape {found.shape} of {name_of(as_data_type(found.dtype))}, found {array.shape} of "
                f"{array.dtype}"
            )
        array[...] = found
        return out

    def get_data(self, node_id: int) -> NDArray[Any]:
        """Return a copy of one row that is here."""
        row: NDArray[Any] = self.gather([node_id], dtype="float32" if self.quantised else None)
        return row.reshape(self.shape[1:] or (1,))

    def scales_of(self, ids: Any) -> NDArray[np.float32]:
        """Refuse: scales come with the rows of batches."""
        return self._core

    def gather_stats(self) -> dict[str, Any]:
        """Return what was read of this host's range."""
        return self.own.gather_stats()

    def __reduce__(self) -> tuple[Any, ...]:
        return FeatureShare, (self.record, self.own, self.hot_ids, self.hot)

    def __repr__(self) -> str:
        if self.closed:
            return f"FeatureShare({self._path!r}, closed)"
        row = " × ".join(map(str, (*self.shape[1:], self.dtype)))
        hot = "" if self.hot is None else f" and {self.hot.num_rows:,} that all have"
        return (
            f"FeatureShare({self._path!r}: {self.own.num_rows:,} of {self.num_rows:,} rows of {row}, those of host "
            f"{self.record.host} of {self.num_hosts}{hot}, {byte_text(self.nbytes)})"
        )


class RowBuffer:
    """Rows as they are stored, in any order, on their way into a batch."""

    def __init__(self, share: FeatureShare, count: int) -> None:
        self._share = share
        self._width = share.row_bytes
        self._rows = _core.row_memory(count * self._width)
        self._scales = np.empty(count if share.quantised else 0, dtype=np.float32)

    def part(self, begin: int, end: int) -> tuple[NDArray[np.uint8], NDArray[np.float32] | None]:
        """Return the memory of some rows, and of their scales if they have any."""
        return self._rows[begin * self._width : end * self._width], self._scales[
            begin:end
        ] if self._share.quantised else None

    def placed(self, places: NDArray[np.int64], dtype: Any, *, with_scales: bool = False) -> NDArray[Any]:
        """Return the rows at these places, converted."""
        copy, (item, row) = self._share.row_copy(dtype, with_scales=with_scales)
        placed: NDArray[Any] = _core.place_rows(copy, self._rows, self._scales, places)
        found: NDArray[Any] = placed.view(item).reshape(len(places), *row)
        return found

"""Features: the mounted array of rows, and writing one from memory."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphzero import _core
from graphzero._base.argument_errors import check_choice, type_error, value_error
from graphzero._base.arrays import as_numpy, cpu_tensor, int64_vector, plain, true_or_false
from graphzero._base.dtypes import BFLOAT16_BITS, DataType, as_data_type, name_of, numpy_dtype
from graphzero._base.integers import integer
from graphzero._base.lazy_imports import load
from graphzero._base.memory_sizes import byte_text
from graphzero._files.folder import check_free_space
from graphzero._files.mounted import Mounted, one_path, path_bytes, verify_if_asked
from graphzero._files.storage import target_here
from graphzero.memory import MemoryReport, memory_report
from graphzero.row_order import check_order, reorder, row_places

if TYPE_CHECKING:
    import torch

    from graphzero.graph import Graph

Access = Literal["random", "sequential", "normal"]
Order = Literal["id", "stored"]
Reader = Literal["auto", "mmap", "direct", "pread"]
Out = TypeVar("Out")

_ADVICE = {
    "random": _core.Advice.RANDOM,
    "sequential": _core.Advice.SEQUENTIAL,
    "normal": _core.Advice.NORMAL,
}
READERS = {
    "auto": _core.ReaderKind.AUTO,
    "mmap": _core.ReaderKind.MMAP,
    "direct": _core.ReaderKind.DIRECT,
    "pread": _core.ReaderKind.PREAD,
}


class FeatureStore(Mounted[_core.Features]):
    """A mounted ``.gd`` file: one array of rows.

    Opening takes under a millisecond and no memory, whatever the size. Files of GraphZero 0.2 open too.

    Args:
        path: The file.
        verify: ``"full"`` reads the whole file first and proves its checksums.
        filename: GraphZero 0.2's name for ``path``.

    Raises:
        FormatError: The file is not a valid ``.gd`` file.
        OSError: The file cannot be opened.

    Examples:
        >>> fs = FeatureStore(tiny_gd)
        >>> fs.shape, fs.dtype
        ((4, 3), 'float32')
        >>> fs.get_tensor()[2]
        array([6., 7., 8.], dtype=float32)
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        verify: Literal["header", "full"] = "header",
        filename: str | os.PathLike[str] | None = None,
    ) -> None:
        name = one_path(path, filename)
        core = _core.Features(path_bytes(name))
        verify_if_asked(name, verify, _core.verify_features)
        super().__init__(name, core)
        self._gatherer: _core.Gatherer | None = _core.Gatherer(core)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array, rows first."""
        return self._core.shape

    @property
    def dtype(self) -> str:
        """The name of the stored element type, such as ``"float32"`` or ``"bfloat16"``."""
        return name_of(self._core.dtype)

    @property
    def data_type(self) -> DataType:
        """The stored element type as GraphZero 0.2's enumeration."""
        return self._core.dtype

    @property
    def quantised(self) -> bool:
        """Whether items are stored as int8, to be multiplied by the scale of their row."""
        return self._core.quantised

    @property
    def scales(self) -> NDArray[np.float32] | None:
        """The float32 scale of each row, as a view of the file; ``None`` if not quantised.

        A view of a reordered file would not go by id, so it raises ``ValueError``; use ``scales_of()``.
        """
        if not self.quantised:
            return None
        if self.reordered:
            raise ValueError(
                f"{self._path}: its rows are stored hottest first, and so are their scales: use scales_of(ids)"
            )
        return self._core.scales()

    def scales_of(self, ids: Any) -> NDArray[np.float32]:
        """Return a copy of the scales of some rows of a quantised array.

        Args:
            ids: Row ids.
        """
        return self._core.scales_of(int64_vector(ids, "ids"))

    @property
    def reordered(self) -> bool:
        """Whether rows are stored in another order than that of their ids, as [`reorder`][graphzero.reorder] does."""
        return self._core.reordered

    @property
    def row_map(self) -> NDArray[np.int32] | NDArray[np.int64] | None:
        """The stored row of each id, as a read-only view of the file; ``None`` if not reordered."""
        places = self._core.row_map()
        return None if places is None else plain(places)

    @property
    def num_rows(self) -> int:
        """The number of rows, one per node or edge."""
        return self.shape[0]

    @property
    def num_nodes(self) -> int:
        """The number of rows, under GraphZero 0.2's name."""
        return self.shape[0]

    @property
    def feature_dim(self) -> int:
        """The number of items in a row."""
        return int(np.prod(self.shape[1:], dtype=np.int64))

    @property
    def row_bytes(self) -> int:
        """The size of one row in the file, in bytes."""
        return self._core.row_bytes

    def __len__(self) -> int:
        return self.num_rows

    def get_tensor(self, *, writable: bool = True, access: Access = "random", order: Order = "id") -> NDArray[Any]:
        """Return the whole array without reading it: a view of the mapped file.

        Writes are private to this process, take memory for the pages they touch and never reach the file; all views of
        this store see them. The view stays valid after the store is closed. bfloat16 comes as the uint16 of its bits,
        since NumPy has no such type; use ``as_torch()``. A quantised array comes as its int8 items, to be multiplied by
        ``scales``.

        Args:
            writable: ``False`` gives a view that refuses writes. So does a system that refuses copy-on-write mappings
                of this size (strict overcommit, ``ulimit -d``).
            access: How you will read: ``"random"`` rows, or a ``"sequential"`` scan, for which the kernel reads ahead.
            order: ``"stored"`` gives the rows of a reordered file as they are stored: the row of ``id`` is
                ``row_map[id]``. No view of such a file goes by id.

        Raises:
            ValueError: The file is reordered and ``order`` is ``"id"``.
        """
        check_choice(access, "access", "random", "sequential", "normal")
        check_choice(order, "order", "id", "stored")
        core = self._core
        if core.reordered and order == "id":
            raise ValueError(
                f"{self._path}: its rows are stored hottest first, so no view of it goes by id: use gather(ids), or "
                'get_tensor(order="stored") with row_map'
            )
        if writable:
            try:
                return plain(core.writable_tensor(_ADVICE[access]))
            except OSError as error:
                if error.errno not in _REFUSED_MAPPING:
                    raise
        return plain(core.read_only_tensor(_ADVICE[access]))

    def as_torch(self, *, access: Access = "random", order: Order = "id") -> torch.Tensor:
        """Return ``get_tensor()`` as a torch tensor, bfloat16 included. Needs torch.

        Args:
            access: As in ``get_tensor()``.
            order: As in ``get_tensor()``.
        """
        loaded = load("torch")
        tensor: torch.Tensor = loaded.from_numpy(self.get_tensor(access=access, order=order))
        return tensor.view(loaded.bfloat16) if self.data_type is DataType.BFLOAT16 else tensor

    def get_data(self, node_id: int) -> NDArray[Any]:
        """Return a copy of one row, of a quantised array as float32 values.

        Args:
            node_id: The row id.

        Raises:
            IndexError: There is no such row.
        """
        place = integer(node_id, "node_id")
        row = self._core.row(place).view(numpy_dtype(self.data_type)).reshape(self.shape[1:] or (1,))
        return row.astype(np.float32) * self.scales_of([place]) if self.quantised else row

    @overload
    def gather(self, ids: Any, out: None = None, *, reader: Reader = "auto", dtype: Any = None) -> NDArray[Any]: ...
    @overload
    def gather(self, ids: Any, out: Out, *, reader: Reader = "auto", dtype: Any = None) -> Out: ...
    def gather(self, ids: Any, out: Any = None, *, reader: Reader = "auto", dtype: Any = None) -> Any:
        """Return a copy of the rows ``ids``, in that order.

        Args:
            ids: Row ids: a list, a NumPy array or a torch tensor. May repeat.
            out: A NumPy array, or a torch tensor on the CPU, that takes the rows. Default: a new array.
            reader: ``"mmap"`` reads through the page cache, ``"direct"`` from the device with io_uring, ``"pread"``
                from the device with threads. All give the same bytes; one that this system lacks is replaced by the
                next best. ``"auto"`` chooses at the first call, by the size of the file and the memory available;
                ``gather_stats()`` says what and why.
            dtype: Convert items while copying: float16, bfloat16, float64, int8, uint8 and bool to float32, the int8 of
                a quantised array to its float32 values, float32 to float16 or bfloat16 (ties to even), int32 and int16
                to int64. Default: as ``get_tensor()`` gives them, with real bfloat16 in an ``out`` of torch's.

        Returns:
            ``out``, or a new NumPy array with a row per id.

        Raises:
            IndexError: An id is not a row of the file.

        Examples:
            >>> FeatureStore(tiny_gd).gather([2, 0, 2])
            array([[6., 7., 8.],
                   [0., 1., 2.],
                   [6., 7., 8.]], dtype=float32)
            >>> FeatureStore(tiny_gd).gather([1], dtype="float16")
            array([[3., 4., 5.]], dtype=float16)
        """
        check_choice(reader, "reader", *READERS)
        gatherer, kind = self._open_gatherer(), READERS[reader]
        rows = int64_vector(ids, "ids")
        shape = (len(rows), *self.shape[1:])
        wanted = None if dtype is None else as_data_type(dtype)
        given = self.data_type if wanted is None else wanted
        if out is None:
            return gatherer.gather(rows, kind, wanted).view(numpy_dtype(given)).reshape(shape)
        unlike = "items are not converted without dtype=" if wanted is None else f"dtype= is {name_of(wanted)}"
        gatherer.gather_into(rows, _writable_bytes(out, shape, given, unlike), kind, wanted)
        return out

    def gather_stats(self) -> dict[str, Any]:
        """Return what ``gather()`` has done since the file was mounted.

        Returns:
            ``rows`` that were asked for, and ``direct_rows`` of them from the direct and pread readers. Of the latter:
            ``unique_rows`` that differ within a call (of a large one, within each 2^20 ids, or each 8 MB of rows to
            convert), ``device_reads``, ``device_bytes``, and ``read_amplification``, the bytes read per byte of a
            unique row. Of the last call: its ``reader``, the ``reason`` for that, and ``read_gap``, the most bytes the
            reader reads in vain to save a separate read. ``None`` stands for what is not known yet, or not known of a
            mapping.
        """
        gatherer = self._open_gatherer()
        counts, choice = gatherer.counts, gatherer.choice
        wanted = counts.unique_rows * self.row_bytes
        used = choice.kind is not _core.ReaderKind.AUTO
        planned = choice.kind in (_core.ReaderKind.DIRECT, _core.ReaderKind.PREAD)
        return {
            "rows": counts.rows,
            "direct_rows": counts.direct_rows,
            "unique_rows": counts.unique_rows,
            "device_reads": counts.device_reads,
            "device_bytes": counts.device_bytes,
            "read_amplification": counts.device_bytes / wanted if wanted else None,
            "reader": choice.kind.name.lower() if used else None,
            "reason": os.fsdecode(choice.reason) if used else None,
            "read_gap": choice.read_gap if planned else None,
        }

    def _open_gatherer(self) -> _core.Gatherer:
        gatherer = self._gatherer
        return _core.Gatherer(self._core) if gatherer is None else gatherer  # a closed store raises

    def close(self) -> None:
        """Close the file. Arrays taken from it stay valid. May be called again."""
        self._gatherer = None
        super().close()

    def memory_report(self) -> MemoryReport:
        """Return [`memory_report`][graphzero.memory_report] for this file alone."""
        return memory_report(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        tensor = self.get_tensor()
        if copy is False and dtype is not None and np.dtype(dtype) != tensor.dtype:
            raise ValueError(f"{self._path}: {self.dtype} cannot become {np.dtype(dtype)} without a copy")
        return np.array(tensor, dtype=dtype) if copy else np.asarray(tensor, dtype=dtype)

    def __repr__(self) -> str:
        if self.closed:
            return f"FeatureStore({self._path!r}, closed)"
        row = " × ".join(f"{extent:,}" for extent in self.shape[1:])
        items = f"quantised {self.dtype}" if self.quantised else self.dtype
        kind = f"{row} {items}" if row else items
        order = ", hottest first" if self.reordered else ""
        return f"FeatureStore({self._path!r}: {self.num_rows:,} rows of {kind}{order}, {byte_text(self.nbytes)})"

    def _repr_html_(self) -> str:
        from graphzero._look.pages import features_html  # which only notebooks need

        return features_html(self)


def write_features(
    path: str | os.PathLike[str],
    array: ArrayLike,
    *,
    dtype: Any = None,
    order: Any = None,
    graph: Graph | None = None,
) -> None:
    """Write an array, rows first, to a ``.gd`` file, which appears whole or not at all.

    Args:
        path: The file to write.
        array: A NumPy array (of a memory-mapped one blocks of rows are copied, never the whole), a torch tensor or a
            list.
        dtype: Store another type of the same kind: float64 as float16 or bfloat16, int64 as int32. A uint16 array with
            ``dtype="bfloat16"`` is taken as bits.
        order: Store rows in another order than that of their ids: all ids, hottest first, or ``"hot"`` with a
            ``graph``, as [`reorder`][graphzero.reorder] does.
        graph: The graph that says which rows are hot.

    Raises:
        TypeError: The array cannot be stored as ``dtype``.
        ValueError: An integer does not fit ``dtype``.

    Examples:
        >>> write_features("x.gd", np.eye(3), dtype="float32")
        >>> FeatureStore("x.gd").get_data(1)
        array([0., 1., 0.], dtype=float32)
    """
    source, stored = _with_stored_type(array, dtype)
    check_order(order, graph)
    places = None if order is None else row_places(order, graph, len(source), "array")
    _write(path, source, stored, range(len(source)) if places is None else places.order(), places)


def write_permuted(path: str | os.PathLike[str], values: Any, rows: NDArray[np.int64]) -> None:
    """Write row ``rows[i]`` of an array, a tensor, a list or a mounted store as row ``i``, block by block.

    ``rows`` names each row once. A store that has its rows hottest first has the same ones first in the new file.
    """
    if not isinstance(values, FeatureStore):
        source, stored = _with_stored_type(values, None)
        _write(path, source, stored, rows, None)
        return
    writer = _core.GdWriter(path_bytes(path), values.data_type, list(values.shape))
    at_once = _rows_per_block(values.row_bytes)
    for start in range(0, len(rows), at_once):
        writer.append(values.gather(rows[start : start + at_once]).reshape(-1).view(np.uint8))
    if values.quantised:
        writer.append_scales(np.empty(0, dtype=np.float32))  # also of a store without rows
    for start in range(0, len(rows) if values.quantised else 0, at_once):
        writer.append_scales(values.scales_of(rows[start : start + at_once]))
    writer.finish()
    if values.row_map is not None:
        stored_at = values.row_map[rows]
        reorder(path, path, order=np.argsort(stored_at, kind="stable"))


def _with_stored_type(array: Any, dtype: Any) -> tuple[NDArray[Any], DataType]:
    if str(getattr(array, "dtype", "")) == "torch.bfloat16":
        array = _bits_of_bfloat16(array)
        dtype = "bfloat16" if dtype is None else dtype
    source = as_numpy(array, "array")
    if source.ndim == 0:
        raise value_error("array", "expected at least one dimension, found a scalar")
    return source, as_data_type(source.dtype if dtype is None else dtype)


def _write(
    path: str | os.PathLike[str],
    source: NDArray[Any],
    stored: DataType,
    ids: range | NDArray[np.int64],
    places: _core.RowPlaces | None,
) -> None:
    row_items = int(np.prod(source.shape[1:], dtype=np.int64))
    check_free_space(target_here(path), len(ids) * row_items * numpy_dtype(stored).itemsize)
    writer = _core.GdWriter(path_bytes(path), stored, [len(ids), *source.shape[1:]])
    at_once = _rows_per_block(source.itemsize * row_items)
    for start in range(0, len(ids), at_once):
        rows = ids[start : start + at_once]
        block = source[rows.start : rows.stop] if isinstance(rows, range) else source[rows]
        writer.append(np.ascontiguousarray(_converted(block, stored, rows)).reshape(-1).view(np.uint8))
    if places is not None:
        writer.append_row_map(places)
    writer.finish()


def _rows_per_block(row_bytes: int) -> int:
    return max(1, _BLOCK_BYTES // max(1, row_bytes))


_BLOCK_BYTES = 16 << 20

# What mmap answers under strict overcommit or RLIMIT_DATA.
_REFUSED_MAPPING = frozenset({errno.ENOMEM, errno.EAGAIN})


def _writable_bytes(out: Any, shape: tuple[int, ...], given: DataType, unlike: str) -> NDArray[np.uint8]:
    """Return the memory of ``out`` after proving that gathered rows fit it exactly.

    ``unlike`` ends the message about items of another type.
    """
    array = out
    if hasattr(out, "detach"):  # a torch tensor
        if out.device.type != "cpu":
            raise value_error("out", f"expected a tensor on the CPU, found one on {out.device}")
        if str(out.dtype) == "torch.bfloat16" and given is DataType.BFLOAT16:
            import torch

            out = out.view(torch.int16)
        array = out.detach().numpy()
        if given is DataType.BFLOAT16 and array.dtype == np.int16:
            array = array.view(BFLOAT16_BITS)
    if not isinstance(array, np.ndarray):
        raise type_error("out", f"expected a NumPy array or a torch tensor, found {type(out).__name__}")
    if array.shape != shape:
        raise value_error("out", f"expected shape {shape}, found {array.shape}")
    if array.dtype != numpy_dtype(given):
        raise type_error("out", f"expected {numpy_dtype(given)}, found {array.dtype}; {unlike}")
    if not array.flags.c_contiguous:
        raise value_error("out", "expected a C-contiguous array, found strides that leave gaps or swap axes")
    if not array.flags.writeable:
        raise value_error("out", "expected a writable array, found a read-only one")
    memory: NDArray[np.uint8] = array.reshape(-1).view(np.uint8)
    return memory


def _bits_of_bfloat16(tensor: Any) -> NDArray[np.uint16]:
    import torch

    bits: NDArray[np.uint16] = cpu_tensor(tensor, "array").contiguous().view(torch.int16).numpy().view(np.uint16)
    return bits


def _converted(block: NDArray[Any], stored: DataType, rows: range | NDArray[np.int64]) -> NDArray[Any]:
    """Return the block, these rows, in its stored type; refuse what would change the kind of number or not fit."""
    block = true_or_false(block)
    target = numpy_dtype(stored)
    if stored is DataType.BFLOAT16:
        return block if block.dtype == BFLOAT16_BITS else rounded_to_bfloat16(block)
    if block.dtype.kind not in "iufb" or not np.can_cast(block.dtype, target, casting="same_kind"):
        raise type_error("array", f"{block.dtype} cannot be stored as {name_of(stored)}; convert it first")
    if target.kind in "iu" and not np.can_cast(block.dtype, target, casting="safe"):
        limits = np.iinfo(target)
        wrong = (block < limits.min) | (block > limits.max)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            place = ", ".join(str(i) for i in (rows[at[0]], *at[1:]))
            raise ValueError(f"array[{place}]: {block[at]} does not fit {name_of(stored)}")
    with np.errstate(over="ignore"):
        return block.astype(target, copy=False)


def rounded_to_bfloat16(block: NDArray[Any]) -> NDArray[np.uint16]:
    """Round to the nearest bfloat16, ties to even; a NaN stays one."""
    if block.dtype.kind != "f":
        raise type_error("array", f"{block.dtype} cannot be stored as bfloat16; convert it to float32 first")
    with np.errstate(over="ignore"):
        floats = np.ascontiguousarray(block, dtype=np.float32)
    bits = floats.view(np.uint32)
    if block.dtype.itemsize > 4:
        bits = _without_false_ties(block, floats)
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    halves: NDArray[np.uint16] = np.where(np.isnan(floats), np.uint16(0x7FC0), rounded.astype(np.uint16))
    return halves


def _without_false_ties(block: NDArray[Any], floats: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Return the bits of ``floats``, moved back towards ``block`` where rounding to float32 has made a tie."""
    bits: NDArray[np.uint32] = floats.view(np.uint32)
    tie = (bits & np.uint32(0xFFFF)) == np.uint32(0x8000)
    if not tie.any():
        return bits
    wide, narrow = np.abs(block[tie]), np.abs(floats[tie]).astype(np.float64)
    moved: NDArray[np.uint32] = bits.copy()
    moved[tie] += (wide > narrow).astype(np.uint32) - (wide < narrow).astype(np.uint32)
    return moved


def floats_of_bfloat16(bits: NDArray[Any]) -> NDArray[np.float32]:
    """Return the float32 values of bfloat16 bits."""
    floats: NDArray[np.float32] = (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return floats

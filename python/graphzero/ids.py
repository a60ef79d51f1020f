"""Id dictionaries: the labels of nodes, strings or sparse integers, and their ids 0 … N-1."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.argument_errors import check_choice, type_error, value_error
from graphzero._base.arrays import as_numpy, int64_vector, plain
from graphzero._base.integers import integer
from graphzero._base.memory_sizes import byte_text, conversion_budget
from graphzero._files.mounted import Mounted, path_bytes, verify_if_asked
from graphzero._files.storage import path_here, target_here
from graphzero.memory import MemoryReport, memory_report

if TYPE_CHECKING:
    from typing_extensions import Self

Kind = Literal["integer", "string"]

# The core's names of them.
KINDS = {"integer": _core.LabelKind.INTEGER, "string": _core.LabelKind.STRING}

# Labels turned into bytes at a time: text of Python takes more room than its bytes.
_BLOCK = 1 << 18


class IdDictionary(Mounted[_core.IdDictionary]):
    """A mounted ``.gi`` file: which label has which id, both ways.

    Ids are ranks among the sorted labels: integers by value, strings by their UTF-8 bytes. Opening takes under a
    millisecond and no memory, whatever the size.

    Args:
        path: The file.
        verify: ``"full"`` reads the whole file first and proves its checksums and order.

    Raises:
        FormatError: The file is not a valid ``.gi`` file.
        OSError: The file cannot be opened.

    Examples:
        >>> write_ids("movies.gi", ["tt0133093", "tt0068646", "tt0133093"])
        >>> d = IdDictionary("movies.gi")
        >>> len(d), d.index("tt0133093"), d.label(0), "tt0000001" in d
        (2, 1, 'tt0068646', False)
        >>> d.indices([["tt0133093", "tt0068646"], ["tt0133093", "tt0133093"]])
        array([[1, 0],
               [1, 1]])
    """

    def __init__(self, path: str | os.PathLike[str], *, verify: Literal["header", "full"] = "header") -> None:
        name = path_here(path)
        core = _core.IdDictionary(path_bytes(name))
        verify_if_asked(name, verify, _core.verify_ids)
        super().__init__(name, core)

    @property
    def kind(self) -> Kind:
        """The kind of labels: ``"integer"`` or ``"string"``."""
        return "integer" if self._core.kind is _core.LabelKind.INTEGER else "string"

    def __len__(self) -> int:
        return self._core.num_labels

    def index(self, label: Any) -> int:
        """Return the id of a label.

        Args:
            label: An integer or text, of the dictionary's kind.

        Raises:
            KeyError: There is no such label.
        """
        if self.kind == "integer":
            return int(self.indices([integer(label, "label")])[0])
        if not isinstance(label, (str, bytes)):
            raise type_error("label", f"expected text, found {label!r}")
        return int(self.indices([label])[0])

    def indices(self, labels: Any, *, default: int | None = None) -> NDArray[np.int64]:
        """Return the ids of labels, in an array of the same shape.

        Args:
            labels: A list, a NumPy array, a torch tensor or an Arrow array.
            default: The id of labels that are not in the dictionary. If not given, these are an error.

        Raises:
            KeyError: A label is not in the dictionary, and there is no ``default``.
        """
        core = self._core
        packed = _packed(labels, self.kind, "labels")
        if packed.integers is not None:
            ids = core.translate_integers(packed.integers, default is None)
        else:
            ids = core.translate_strings(packed.bytes, packed.offsets, default is None)
        ids = plain(ids)
        if default is not None and default != -1:
            ids[ids == -1] = default
        return ids.reshape(packed.shape)

    def label(self, id: int) -> int | str:
        """Return the label of an id.

        Args:
            id: The node id.

        Raises:
            IndexError: There is no such id.
        """
        found: int | str = self.labels([integer(id, "id")])[0]
        return int(found) if self.kind == "integer" else found

    def labels(self, ids: Any) -> NDArray[Any]:
        """Return the labels of ids: int64, or Python strings in an array of objects.

        Args:
            ids: Node ids, in an array of any shape.

        Raises:
            IndexError: An id is not in the dictionary.
        """
        core = self._core
        array = as_numpy(ids, "ids")
        vector = int64_vector(array.reshape(-1), "ids")
        if self.kind == "integer":
            return plain(core.integers(vector)).reshape(array.shape)
        out = np.empty(len(vector), dtype=object)
        out[:] = core.strings(vector)
        return out.reshape(array.shape)

    def __contains__(self, label: object) -> bool:
        try:
            self.index(label)
        except (KeyError, TypeError, ValueError, IndexError):
            if self.closed:
                raise
            return False
        return True

    def memory_report(self) -> MemoryReport:
        """Return [`memory_report`][graphzero.memory_report] for this file alone."""
        return memory_report(self)

    def __repr__(self) -> str:
        if self.closed:
            return f"IdDictionary({self._path!r}, closed)"
        return f"IdDictionary({self._path!r}: {len(self):,} {self.kind} labels, {byte_text(self.nbytes)})"

    def _repr_html_(self) -> str:
        from graphzero._look.pages import ids_html  # which only notebooks need

        return ids_html(self)


class IdReport(NamedTuple):
    """What an [`IdBuilder`][graphzero.ids.IdBuilder] did.

    Attributes:
        num_added: Labels that were added, repeated ones included.
        num_labels: Different labels among them.
        num_runs: Sorted runs that did not fit in memory and went to disk.
    """

    num_added: int
    num_labels: int
    num_runs: int


class IdBuilder:
    """Writes a ``.gi`` file from batches of labels in bounded memory.

    Labels come in any order and any number of times, such as both ends of every edge; the result depends on the set of
    labels alone. The file appears whole at ``finish()`` or the end of a ``with`` block, or not at all. One thread at a
    time may add labels, others get a ``RuntimeError``; a call uses several threads itself.

    Args:
        path: The file to write.
        kind: The kind of labels: ``"integer"`` or ``"string"``.
        memory: Bytes to hold, a number or a size such as ``"2GB"``. Default: half of what is available, at most 8 GB.
            Labels beyond that go, sorted, to a nameless file.
        tmp_dir: The folder of that file. Default: the folder of ``path``.

    Examples:
        >>> with IdBuilder("users.gi", "integer", memory="64MB") as builder:
        ...     builder.add([7_000_000_000, 12])
        ...     builder.add([12, -3])
        >>> IdDictionary("users.gi").labels([0, 1, 2])
        array([        -3,         12, 7000000000])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        kind: Kind,
        *,
        memory: int | str | None = None,
        tmp_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        check_choice(kind, "kind", "integer", "string")
        self._path = target_here(path)
        self._kind: Kind = kind
        folder = b"" if tmp_dir is None else path_bytes(tmp_dir)
        self._core: _core.IdBuilder | None = _core.IdBuilder(
            path_bytes(path), KINDS[kind], conversion_budget(memory), folder
        )

    def add(self, labels: Any) -> None:
        """Add labels.

        Args:
            labels: A list, a NumPy array, a torch tensor or an Arrow array.
        """
        core = self._open()
        if self._kind == "integer" or not isinstance(labels, (list, np.ndarray)):
            self._add(core, labels)
            return
        for start in range(0, len(labels), _BLOCK):
            self._add(core, labels[start : start + _BLOCK])

    def _add(self, core: _core.IdBuilder, labels: Any) -> None:
        packed = _packed(labels, self._kind, "labels")
        if packed.integers is not None:
            core.add_integers(packed.integers)
        else:
            core.add_strings(packed.bytes, packed.offsets)

    def finish(self) -> IdReport:
        """Return a report after merging what was added and putting the file in place."""
        core = self._open()
        self._core = None
        report = core.finish()
        return IdReport(report.num_added, report.num_labels, report.num_runs)

    def abort(self) -> None:
        """Leave the target as it was. May be called again."""
        self._core = None

    def _open(self) -> _core.IdBuilder:
        if self._core is None:
            raise ValueError(f"{self._path}: the builder is finished")
        return self._core

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self._core is not None:
            self.finish()
        self.abort()


def write_ids(path: str | os.PathLike[str], labels: Any) -> None:
    """Write a dictionary of labels in memory. Repeated labels are kept once.

    Args:
        path: The file to write.
        labels: Text (a list, a NumPy array of text or objects, an Arrow array) or integers (the same, or a torch
            tensor). An empty list makes a dictionary of strings.

    Examples:
        >>> write_ids("sparse.gi", np.array([90, 10, 50, 10]))
        >>> IdDictionary("sparse.gi").indices([10, 50, 90])
        array([0, 1, 2])
    """
    with IdBuilder(path, kind_of(labels)) as builder:
        builder.add(labels)


def kind_of(labels: Any) -> Kind:
    """Return the kind of dictionary that labels need.

    Args:
        labels: As in ``write_ids()``.
    """
    if _is_arrow(labels):
        return "integer" if "int" in str(getattr(labels.type, "value_type", labels.type)) else "string"
    dtype = getattr(labels, "dtype", None)
    if dtype is not None and str(dtype) != "object":
        return "integer" if "int" in str(dtype) else "string"
    first = labels
    while isinstance(first, (list, tuple, np.ndarray)) and len(first):
        first = first[0]
    return "integer" if isinstance(first, (int, np.integer)) else "string"


class _Packed(NamedTuple):
    """Labels as the core takes them."""

    shape: tuple[int, ...]
    integers: NDArray[np.int64] | None
    bytes: NDArray[np.uint8]
    offsets: NDArray[np.int64]


_NO_BYTES = np.empty(0, dtype=np.uint8)
_NO_OFFSETS = np.zeros(1, dtype=np.int64)


def _packed(labels: Any, kind: Kind, name: str) -> _Packed:
    if _is_arrow(labels):
        if labels.null_count:
            raise value_error(name, f"expected no nulls, found {labels.null_count}")
        if hasattr(labels.type, "value_type"):  # a dictionary of Arrow's own
            labels = labels.cast(labels.type.value_type)
        if kind == "string":
            return _packed_arrow(labels, name)
        labels = labels.to_numpy()
    if kind == "integer":
        array = as_numpy(labels, name)
        if array.dtype == object:
            array = _integers_of_objects(array, name)
        return _Packed(array.shape, int64_vector(array.reshape(-1), name), _NO_BYTES, _NO_OFFSETS)
    if isinstance(labels, list) and all(isinstance(label, (str, bytes)) for label in labels):
        # Not through NumPy, which cuts NULs off the end of text and pads the rest.
        flat, shape = labels, (len(labels),)
    else:
        array = _text_array(labels, name)
        flat, shape = array.reshape(-1).tolist(), array.shape
    return _Packed(shape, None, *_core.pack_labels(flat, name))


def packed_labels(
    labels: Any, kind: Kind, name: str
) -> NDArray[np.int64] | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return labels as the core takes them: integers, or UTF-8 bytes and offsets.

    Args:
        labels: As in ``write_ids()``.
        kind: The kind of dictionary they are for.
        name: What messages call them.
    """
    packed = _packed(labels, kind, name)
    return (packed.bytes, packed.offsets) if packed.integers is None else packed.integers


def _text_array(labels: Any, name: str) -> NDArray[Any]:
    if isinstance(labels, (str, bytes)):
        raise type_error(name, f"expected several labels, found one: {labels!r}")
    if isinstance(labels, np.ndarray):
        array = labels
    elif isinstance(labels, (list, tuple)):
        array = np.array(labels, dtype=object)
    else:
        array = as_numpy(labels, name)
    if array.size and array.dtype.kind not in "OSUT":
        raise type_error(name, f"expected text, found {array.dtype}")
    return array if array.size else array.astype(object)


def _integers_of_objects(array: NDArray[Any], name: str) -> NDArray[np.int64]:
    out = np.empty(array.shape, dtype=np.int64)
    for at, value in enumerate(array.reshape(-1)):
        number = integer(value, f"{name}[{at}]")
        if not -(2**63) <= number < 2**63:
            raise ValueError(f"{name}[{at}]: expected an integer of 64 bits, found {number}")
        out.reshape(-1)[at] = number
    return out


def _is_arrow(labels: Any) -> bool:
    return type(labels).__module__.split(".")[0] == "pyarrow"


def _packed_arrow(labels: Any, name: str) -> _Packed:
    """Take the buffers of an Arrow string array as they are."""
    pa: Any = sys.modules["pyarrow"]  # loaded already: the array is one of it
    if isinstance(labels, pa.ChunkedArray):
        labels = labels.combine_chunks()
    if isinstance(labels, pa.ChunkedArray):  # where one array cannot hold it all
        labels = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in labels.chunks])
    if not (pa.types.is_large_string(labels.type) or pa.types.is_large_binary(labels.type)):
        wide = pa.large_binary() if pa.types.is_binary(labels.type) else pa.large_string()
        try:
            labels = labels.cast(wide)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            raise type_error(name, f"expected text, found {labels.type}") from None
    if len(labels) == 0:
        return _Packed((0,), None, _NO_BYTES, _NO_OFFSETS)
    _, offsets, data = labels.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64, count=len(labels) + 1, offset=8 * labels.offset)
    content = _NO_BYTES if data is None else np.frombuffer(data, dtype=np.uint8)
    return _Packed((len(labels),), None, content, starts)

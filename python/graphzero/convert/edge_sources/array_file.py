"""Arrays in files, read block by block: ``.npy``, members of ``.npz``, and raw bytes without a header."""

from __future__ import annotations

import io
import math
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphzero._core import FormatError
from graphzero._files.folder import check_free_space, check_regular
from graphzero._files.storage import open_bytes, size_of

if TYPE_CHECKING:
    import zipfile  # where it is used it is imported: that takes longer than all of graphzero.convert.edge_sources

NPY_MAGIC = b"\x93NUMPY"

_LONGEST_HEADER = 10_000  # bytes, as for NumPy
_LAST = 0x10FFFF  # of Unicode; Python fails where NumPy hands out more

_LOCAL_HEADER = 30  # bytes of a zip member's own header, before its name
_COPY_BYTES = 16 << 20
_READ_BYTES = 1 << 20  # at once: inflating takes a few times as much


@dataclass(frozen=True)
class ArrayFile:
    """Where an array lies: in a file at an offset, or in a member of a zip file, perhaps deflated."""

    name: str  # opens error messages
    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran_order: bool
    offset: int  # of the first item; in a deflated member, of its bytes
    member: str | None = None  # of a .npz file
    deflated: bool = False

    @property
    def size(self) -> int:
        """The number of items."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of all items."""
        return self.size * self.dtype.itemsize

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open it for ``read_items()``, at the first item."""
        with refusing_broken_zips(self.name):
            if not self.deflated:
                with open_bytes(self.path) as file:
                    file.seek(self.offset)
                    yield file
            else:
                import zipfile

                with zipfile.ZipFile(self.path) as archive, archive.open(f"{self.member}.npy") as file:
                    file.read(self.offset)
                    yield file

    def memmap(self) -> NDArray[Any]:
        """Map it; not for deflated ones."""
        if self.deflated:
            raise ValueError(f"{self.name}: is deflated and cannot be mapped")
        if self.size == 0:
            return np.empty(self.shape, self.dtype)
        order: Any = "F" if self.fortran_order else "C"
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape, order)

    def mapped(self, temporary: str) -> NDArray[Any]:
        """Map it; a deflated one is first inflated to the file ``temporary``."""
        if not self.deflated:
            return self.memmap()
        check_free_space(temporary, self.nbytes)
        with self.open() as source, open(temporary, "wb") as target:
            left = self.nbytes
            while left:
                block = read_items(source, min(left, _COPY_BYTES), np.dtype(np.uint8), self.name)
                target.write(block.data)
                left -= len(block)
        return ArrayFile(self.name, temporary, self.dtype, self.shape, self.fortran_order, 0).memmap()


def read_items(file: IO[bytes], count: int, dtype: np.dtype[Any], name: str) -> NDArray[Any]:
    """Read the next ``count`` items."""
    items = np.empty(count, dtype)
    view = items.view(np.uint8).data
    done = 0
    while done < len(view):
        read = file.readinto(view[done : done + _READ_BYTES])  # type: ignore[attr-defined]
        if not read:
            raise FormatError(f"{name}: ends too early: expected {len(view) - done} more bytes, found none")
        done += read
    if dtype.kind == "U" and items.size and items.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder)).max() > _LAST:
        raise FormatError(f"{name}: expected text, found a character beyond U+10FFFF")
    return items


@contextmanager
def refusing_broken_zips(name: str) -> Iterator[None]:
    """Say which file it is that does not inflate."""
    import lzma
    import zipfile

    try:
        yield
    except FormatError:
        raise
    except NotImplementedError as error:  # a compression zipfile does not know
        raise FormatError(f"{name}: expected a stored or deflated member, found: {error}") from error
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, UnicodeDecodeError, struct.error) as error:
        raise FormatError(f"{name}: expected a zip file that is whole, found: {error or 'its end'}") from error
    except (OSError, ValueError) as error:  # of bz2, and of seeking to where a directory leads
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise FormatError(f"{name}: expected a zip file that is whole, found: {error}") from error


def npy_file(path: str, *, dtype: Any = None, num_rows: int | None = None) -> ArrayFile:
    """Find the array of a ``.npy`` file.

    Some files named ``.npy`` have no header, only items. They need ``dtype`` and ``num_rows``; the
    number of columns follows from the size of the file.
    """
    check_regular(path)
    with open_bytes(path) as file:
        size = size_of(path)
        start = file.read(len(NPY_MAGIC))
        if start == NPY_MAGIC:
            file.seek(0)
            found = _npy_header(file, path)
        elif dtype is not None and num_rows is not None:
            found = _headerless(path, np.dtype(dtype), num_rows, size)
        else:
            raise FormatError(f"{path}: expected a .npy file, which starts with {NPY_MAGIC!r}, found {start!r}")
    if size - found.offset < found.nbytes:
        raise FormatError(
            f"{path}: ends too early: expected {found.offset + found.nbytes} bytes for "
            f"{found.dtype} {found.shape}, found {size}"
        )
    return found


def _headerless(path: str, dtype: np.dtype[Any], num_rows: int, size: int) -> ArrayFile:
    row_bytes, rest = divmod(size, max(num_rows, 1))
    columns, part = divmod(row_bytes, dtype.itemsize)
    if rest or part or not columns:
        raise FormatError(
            f"{path}: has no .npy header: expected {num_rows} rows of {dtype} items, found {size} bytes, "
            f"which is not a multiple of {num_rows * dtype.itemsize}"
        )
    shape = (num_rows,) if columns == 1 else (num_rows, columns)
    return ArrayFile(path, path, dtype, shape, False, 0)


def _npy_header(file: IO[bytes], name: str) -> ArrayFile:
    formats = np.lib.format
    # NumPy reads as much as the length claims, up to 4 GB of a member that inflates, before it looks at it.
    start = file.read(12)
    field = 2 if start[6:8] == b"\1\0" else 4
    length = int.from_bytes(start[8 : 8 + field], "little")
    if length > _LONGEST_HEADER:
        raise FormatError(f"{name}: expected the header of a .npy file, found: one of {length} bytes")
    header = io.BytesIO(start + file.read(max(0, 8 + field + length - len(start))))
    try:
        version = formats.read_magic(header)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version}")
        read = formats.read_array_header_1_0 if version == (1, 0) else formats.read_array_header_2_0
        shape, fortran_order, dtype = read(header)
    except Exception as error:  # it is parsed as Python, which fails in many ways
        raise FormatError(f"{name}: expected the header of a .npy file, found: {error}") from error
    if dtype.hasobject:
        raise FormatError(f"{name}: expected numbers, found pickled objects, which are never loaded")
    if dtype.kind == "V" or not dtype.itemsize:
        raise FormatError(f"{name}: expected numbers or text, found items of {dtype}")
    if min(shape, default=0) < 0:
        raise FormatError(f"{name}: expected extents that are not negative, found shape {shape}")
    if 0 in shape and math.prod(filter(None, shape)) * dtype.itemsize >= 2**63:  # the file size sets no bound
        raise FormatError(f"{name}: expected extents that an array can have, found shape {shape}")
    return ArrayFile(name, name, dtype, shape, fortran_order, header.tell())


def npz_members(path: str) -> list[str]:
    """List the arrays of a ``.npz`` file."""
    import zipfile

    check_regular(path)
    with refusing_broken_zips(path), zipfile.ZipFile(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


def npz_file(path: str, member: str) -> ArrayFile:
    """Find one array of a ``.npz`` file: a stored member at its offset, a deflated one to be streamed."""
    import zipfile

    name = f"{path}[{member}]"
    check_regular(path)
    with refusing_broken_zips(path), zipfile.ZipFile(path) as archive:
        try:
            info = archive.getinfo(f"{member}.npy")
        except KeyError:
            there = ", ".join(npz_members(path)) or "none"
            raise ValueError(f"{path}: expected one of its arrays, {there}, found {member!r}") from None
        if info.flag_bits & 1:
            raise FormatError(f"{name}: expected a member without a password, found one with")
        with archive.open(info) as file:
            header = _npy_header(file, name)
    if header.offset + header.nbytes > info.file_size:
        raise FormatError(
            f"{name}: ends too early: expected {header.offset + header.nbytes} bytes for "
            f"{header.dtype} {header.shape}, found {info.file_size}"
        )
    deflated = info.compress_type != zipfile.ZIP_STORED
    offset = header.offset if deflated else header.offset + _data_offset(path, name, info)
    return replace(header, path=path, offset=offset, member=member, deflated=deflated)


def _data_offset(path: str, name: str, info: zipfile.ZipInfo) -> int:
    """Return where the bytes of a stored member start: its own header says, not the directory."""
    with open(path, "rb") as file:
        file.seek(info.header_offset)
        header = file.read(_LOCAL_HEADER)
        size = os.fstat(file.fileno()).st_size
    if len(header) < _LOCAL_HEADER:
        raise FormatError(f"{name}: expected a zip member at byte {info.header_offset}, found the end of the file")
    name_length, extra_length = struct.unpack_from("<HH", header, 26)
    offset: int = info.header_offset + _LOCAL_HEADER + name_length + extra_length
    if offset + info.file_size > size:
        raise FormatError(f"{name}: ends too early: expected {offset + info.file_size} bytes, found {size}")
    return offset

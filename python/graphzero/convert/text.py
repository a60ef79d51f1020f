"""Text files: which there are, how they are compressed, what is no text, and their bytes in blocks of whole lines."""

from __future__ import annotations

import bz2
import contextlib
import glob
import gzip
import io
import lzma
import os
import queue
import select
import stat
import sys
import threading
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import IO, Any, NoReturn

import numpy as np

from graphzero import _core
from graphzero._base.argument_errors import Setting, check_choice, error_of, flag, type_error, value_error
from graphzero._base.old_names import renamed_keywords
from graphzero._files.storage import StoredPath, first_bytes, open_stored, path_here

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}

# Bytes that are looked at together for the ends of lines.
_SCAN = 1 << 20

# What is written where a value is missing: it names no column.
_MISSING = frozenset(["na", "n/a", "nan", "null", "none", "nil", "?", "-", "."])

_OWN = {
    b"GRAPHZGL": "a graph (.gl)",
    b"graphlit": "a graph (.gl)",
    b"GRAPHZGD": "features (.gd)",
    b"GZDATA26": "features (.gd)",
    b"GRAPHZGI": "an id dictionary (.gi)",
}


@dataclass(frozen=True)
class BadLine:
    """A line of text that was skipped.

    Attributes:
        line: Its number, from 1.
        text: What it says.
        reason: Why it is not an edge or a row.
    """

    line: int
    text: str
    reason: str


def is_chosen(value: str, name: str, yes: str, no: str) -> bool:
    """Read which of two things to do with what is found: whether ``yes``."""
    check_choice(value, name, no, yes)
    return value == yes


# Bad lines had a keyword of another style.
take_on_bad_line = renamed_keywords(on_bad_line=("bad_lines", lambda value: "raise" if value == "error" else value))


def text_paths(source: Any) -> list[str] | None:
    """Return the files that ``source`` names: one path, a list of them, or a glob, in sorted order."""
    if isinstance(source, (list, tuple)) and source and all(isinstance(item, (str, os.PathLike)) for item in source):
        return [path_here(item) for item in source]
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = path_here(source)
    return [path] if isinstance(path, StoredPath) else matching(path)


def matching(path: str) -> list[str]:
    """Return the files of a pattern, in sorted order; of any other path, the path itself."""
    if os.path.exists(path) or not glob.has_magic(path):
        return [path]
    found = sorted(glob.glob(path, recursive=True))
    if not found:
        raise FileNotFoundError(f"{path}: expected files that match, found none")
    return found


def compression_of(path: str) -> str | None:
    """Tell by the first bytes, not by the name. A pipe cannot be looked at and counts as plain."""
    if not _can_be_looked_at(path):
        return None
    start = first_bytes(path, 6)
    return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)


def refuse_own_file(path: str) -> None:
    """Refuse to convert a graphzero file; anything else is taken for text."""
    if not _can_be_looked_at(path):
        return
    held = _OWN.get(first_bytes(path, 8))
    if held is not None:
        raise ValueError(f"{path}: expected text, found {held}, which is converted already")


def _can_be_looked_at(path: str) -> bool:
    return isinstance(path, StoredPath) or os.path.isfile(path)


def refuse_open_text(source: Any) -> None:
    """Refuse a file that was opened as text: bytes are read."""
    if isinstance(source, io.TextIOBase):
        name = getattr(source, "name", type(source).__name__)
        raise TypeError(
            f"{name}: expected a file opened for bytes, as by open(path, 'rb') or io.BytesIO, found one for text"
        )


def check_delimiter(delimiter: str | None) -> None:
    """Refuse what cannot stand between two fields."""
    if delimiter is None:
        return
    if not isinstance(delimiter, str):
        raise type_error("delimiter", f"expected one character, found {delimiter!r}")
    if len(delimiter.encode(errors="surrogatepass")) != 1:
        raise value_error("delimiter", f"expected one ASCII character, found {delimiter!r}")
    if delimiter.isdigit() or delimiter in '"\n\r\0':
        raise value_error(
            "delimiter", f"expected a character that no number, quote or line end has, found {delimiter!r}"
        )


def check_text_options(header: object, comment: object) -> None:
    """Refuse what says nothing about how a text begins."""
    if header is not None:
        flag(header, "header")
    if comment is not None and not isinstance(comment, str):
        raise type_error("comment", f"expected characters that begin a line to ignore, such as '#', found {comment!r}")


def is_missing(field: str) -> bool:
    """Whether a field has no value; what a header calls a column never looks like that."""
    return not field or field.lower() in _MISSING


def refuse_doubtful_header(name: str, line: str) -> NoReturn:
    """Refuse a first line that may be data: it must not get lost."""
    raise error_of(
        ValueError,
        f"{name}: cannot tell whether the first line, {line}, is a header: give ",
        Setting("header", True), " or ", Setting("header", False),
    )  # fmt: skip


def open_text(path: str) -> IO[bytes]:
    """Open a file for reading, decompressed on the way."""
    compression = compression_of(path)
    packed: Any = open_stored(path) if isinstance(path, StoredPath) else path
    if compression == "gzip":
        return gzip.open(packed, "rb")  # type: ignore[no-any-return]
    if compression == "bzip2":
        return bz2.open(packed, "rb")  # type: ignore[no-any-return]
    if compression == "xz":
        return lzma.open(packed, "rb")
    if compression == "zstd":
        return _open_zstd(packed, path)
    return packed if isinstance(path, StoredPath) else open(path, "rb")


def next_line(file: IO[bytes], offset: int) -> int:
    """Return where the first line begins that begins behind ``offset``; the end of the file if none does."""
    file.seek(offset)
    while block := file.read(_SCAN):
        newline = block.find(b"\n")
        if newline >= 0:
            return offset + newline + 1
        offset += len(block)
    return offset


def count_newlines(file: IO[bytes], begin: int, end: int) -> int:
    """Count the lines that end within a range."""
    file.seek(begin)
    return sum(file.read(min(_SCAN, end - at)).count(b"\n") for at in range(begin, end, _SCAN))


class FirstBytes(io.RawIOBase):
    """So many bytes of an open file, from where it stands."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes."""
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data


def line_ranges(path: str, begin: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut a file, from ``begin`` on, into ranges of about ``size`` bytes that hold whole lines."""
    end = os.path.getsize(path)
    with open(path, "rb") as file:
        while begin < end:
            stop = next_line(file, begin + size - 1) if begin + size < end else end
            yield begin, stop
            begin = stop


def _open_zstd(packed: Any, name: str) -> IO[bytes]:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14

        return zstd.open(packed, "rb")  # type: ignore[no-any-return, unused-ignore]
    except ImportError:
        pass
    try:
        import zstandard  # type: ignore[import-not-found, unused-ignore]

        return zstandard.open(packed, "rb")  # type: ignore[no-any-return, unused-ignore]
    except ImportError:
        pass
    try:
        import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

        return pyarrow.input_stream(packed, compression="zstd")  # type: ignore[no-any-return, unused-ignore]
    except ImportError:
        raise ModuleNotFoundError(
            f"{name}: is compressed with zstd, which needs Python 3.14 or: pip install zstandard"
        ) from None


def line_blocks(stream: IO[bytes], name: str, size: int) -> Generator[bytes, None, None]:
    """Yield the bytes of ``stream`` in blocks of whole lines, about ``size`` bytes each.

    A thread reads and decompresses the next block while the caller works on the last one.
    """
    blocks: queue.Queue[bytes | BaseException | None] = queue.Queue(maxsize=1)
    stopped = threading.Event()

    def read() -> None:
        try:
            for block in _whole_lines(stream, name, size, stopped):
                if not _put(blocks, block, stopped):
                    return
            _put(blocks, None, stopped)
        except BaseException as error:  # handed to the consumer, whatever it is
            _put(blocks, error, stopped)

    reader = threading.Thread(target=read, name=f"graphzero reading {name}", daemon=True)
    reader.start()
    try:
        while (block := blocks.get()) is not None:
            if isinstance(block, OSError) and block.filename is not None:  # of storage, which says what is wrong
                raise block
            if isinstance(block, (EOFError, OSError, zlib.error, lzma.LZMAError)):
                raise OSError(f"{name}: cannot be decompressed, it is damaged or cut short: {block}") from block
            if isinstance(block, BaseException):
                raise block
            yield block
    finally:
        stopped.set()
        with contextlib.suppress(queue.Empty):
            blocks.get_nowait()
        reader.join()


def first_data(
    blocks: Iterator[bytes], sniff: Callable[[bytes, int], _core.TextFormat]
) -> tuple[_core.TextFormat, bytes, int]:
    """Read blocks up to the first line of data; ``sniff`` gets a text and the number of lines before it.

    Returns the format, the text it is of, and how many bytes of comments were skipped before that. A header stays,
    right before the block with the data. Without any data the format has no columns.
    """
    header, done = b"", 0
    form = sniff(b"", 0)
    for block in blocks:
        done += len(block)
        text = header + block
        form = sniff(text, form.lines_before_data - bool(header))
        if form.num_columns:
            return form, text, done - len(text)
        header = form.header_line
    return form, b"", done


def _put(blocks: queue.Queue[Any], item: Any, stopped: threading.Event) -> bool:
    while not stopped.is_set():
        with contextlib.suppress(queue.Full):
            blocks.put(item, timeout=0.1)
            return True
    return False


def _refuse_compressed(data: bytes, name: str) -> None:
    """Refuse bytes that come compressed where nobody decompresses them."""
    for magic, kind in _MAGIC.items():
        if data.startswith(magic) and (kind != "bzip2" or data[4:10] == b"1AY&SY"):  # text may begin with BZh
            raise ValueError(
                f"{name}: expected text, found data compressed with {kind}; decompress it first, or give the path of a "
                "file that is compressed once"
            )


def _whole_lines(stream: IO[bytes], name: str, size: int, stopped: threading.Event) -> Iterator[bytes]:
    waits = _may_wait(stream)
    rest, lines = b"", 0
    longest = _core.longest_line(size)
    while data := _read_when_ready(stream, size, stopped) if waits else stream.read(size):
        data = bytes(data)
        if not lines and not rest:
            _refuse_compressed(data, name)
        cut = data.rfind(b"\n") + 1
        if len(rest) + (data.find(b"\n") if cut else len(data)) > longest:
            _core.refuse_long_line(os.fsencode(name), lines + 1, longest)
        lines += int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))
        if cut == 0 and b"\r" in data[:-1]:  # lines of old Macs, which the parser refuses
            yield rest + data
            rest = b""
        elif cut == 0:
            rest += data
        else:
            yield rest + data[:cut]
            rest = data[cut:]
    if rest:
        yield rest


def _may_wait(stream: IO[bytes]) -> bool:
    """Whether it is a pipe or a terminal, whose other end may stay silent for ever, and can be asked if it is."""
    if sys.platform == "win32" or not isinstance(stream, io.BufferedReader):
        return False  # Windows can ask that of a socket only
    with contextlib.suppress(OSError):  # a reader of something without a descriptor
        return not stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    return False


def _read_when_ready(stream: IO[bytes], size: int, stopped: threading.Event) -> bytes:
    """Read ``size`` bytes, or what is left; ends soon after ``stopped``, which a plain read would not."""
    parts = []
    while size and not stopped.is_set():
        if select.select([stream], [], [], 0.1)[0]:
            parts.append(stream.read1(size))  # type: ignore[attr-defined]
            if not parts[-1]:
                break
            size -= len(parts[-1])
    return b"".join(parts)

"""Object storage: URLs such as ``s3://bucket/key``, read and written through pyarrow. Credentials are never shown."""

from __future__ import annotations

import errno
import functools
import glob
import importlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.visible import visible
from graphzero._files.folder import check_regular, replacing_file

# A question mark is a pattern's too: settings have names and values.
_SETTING = r"\?(?=[A-Za-z_][A-Za-z0-9_.~%-]*=)"
_QUERY = re.compile(_SETTING)
# pathlib makes one slash of two; what has a user or settings behind it is a URL still. fsspec joins URLs with "::".
_URL = re.compile(
    rf"\s*(?P<scheme>(?:s3|gs|gcs)(?=:/)|[A-Za-z][A-Za-z0-9+.:-]+(?=://|:/[^/]*@|:/.*{_SETTING}))://?(?P<rest>.*)",
    re.DOTALL,
)
_WEB = re.compile(r"\s*(?:[^/]*::)?https?:/", re.IGNORECASE)  # where a question mark is never a pattern's
_URL_IN_TEXT = re.compile(r"(?<![A-Za-z0-9+.:-])[A-Za-z][A-Za-z0-9+.:-]+:/[^\s'\"]+")
_BUCKETS = ("s3", "gs", "gcs")  # of which none has a port
_S3_PLACES = ("region", "scheme", "endpoint_override")
_S3_SETTINGS = (*_S3_PLACES, "session_token")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID")
_SHORTEST_SECRET = 4  # characters: shorter ones are parts of words
_DENIED = re.compile(r"ACCESS_DENIED|INVALID_ACCESS_KEY|INVALID_CLIENT|SIGNATURE|FORBIDDEN|Forbidden|\b40[13]\b")
_READ_AHEAD = 8 << 20  # bytes of a request
# pyarrow uploads 10 MiB at a time, and S3 takes 10,000 pieces of an upload (apache/arrow#41506).
LARGEST_S3_OBJECT = 10_000 * (10 << 20)


class StoredPath(str):
    """A file or folder in storage. As text it is its URL without credentials, which may be shown and kept."""

    filesystem: Any  # of pyarrow
    key: str  # its path there
    secrets: tuple[str, ...]
    settings: str  # of its URL, those that say where the storage is: "?region=…"

    def __new__(
        cls, shown: str, filesystem: Any, key: str, secrets: tuple[str, ...] = (), settings: str = ""
    ) -> StoredPath:
        path = super().__new__(cls, shown)
        path.filesystem, path.key, path.secrets, path.settings = filesystem, key, secrets, settings
        return path

    def __reduce__(self) -> tuple[Any, ...]:
        return located, (self.address,)

    @property
    def address(self) -> str:
        """The URL by which others find it, with credentials of their own."""
        return str.__str__(self) + self.settings

    def __truediv__(self, relative: str) -> StoredPath:
        """Return a path below this one."""
        path, query = _split_query(self.key)
        return self._other(f"{path.rstrip('/')}/{relative}{query}")

    def folder_and_name(self) -> tuple[StoredPath, str]:
        """Return the path above this one, and its own name."""
        path, query = _split_query(self.key)
        above, _, name = path.rstrip("/").rpartition("/")
        return self._other(above + query), name

    def _other(self, key: str) -> StoredPath:
        if is_url(key):  # as fsspec has it of http, with user, password and query
            chain, link, _ = self.rpartition("::")
            return StoredPath(f"{chain}{link}{shown_url(key)}", self.filesystem, key, self.secrets, self.settings)
        before = self.removesuffix(self.key.rstrip("/") if not self.endswith(self.key) else self.key)
        shown = f"{before}{key}" if before != self else f"{self.partition('://')[0]}://{key.lstrip('/')}"
        return StoredPath(shown, self.filesystem, key, self.secrets, self.settings)


def _split_query(key: str) -> tuple[str, str]:
    """Return a key without the query that belongs to each file, where keys are URLs, and that query."""
    path, mark, query = key.partition("?") if _WEB.match(key) else (key, "", "")
    return path, mark + query


def is_url(value: object) -> bool:
    """Whether it is a URL, or a path that was made of one."""
    return isinstance(value, (str, os.PathLike)) and _URL.match(os.fsdecode(value)) is not None


def shown_url(url: str) -> str:
    """Return a URL without user, password and settings."""
    found = _URL.match(url)
    if found is None or isinstance(url, StoredPath):
        return url
    rest, query = _rest_and_query(url, found["rest"])
    authority, slash, key = rest.partition("/")
    host = authority.rpartition("@")[2]
    # A password with a slash or a question mark that is not written as %2F or %3F, or the URL inside a chain.
    if ":" in host and (found["scheme"].lower() in _BUCKETS or "@" in key + query or "::" in host):
        return f"{found['scheme']}://…"
    if _query_is_in_user(rest, query):
        return f"{found['scheme']}://…"
    return f"{found['scheme']}://{host}{slash}{key}"


def _rest_and_query(url: str, rest: str) -> tuple[str, str]:
    """Divide what is behind the scheme of a URL at the mark before its settings."""
    if _WEB.match(url):
        before, _, query = rest.partition("?")
        return before, query
    before, *queries = _QUERY.split(rest, maxsplit=1)
    return before, "".join(queries)


def _query_is_in_user(rest: str, query: str) -> bool:
    """Whether a question mark is before the @ of a host, so that it may be part of a password."""
    return "/" not in rest and "@" in query.partition("/")[0]


def without_credentials(text: str) -> str:
    """Return what a message says, with every URL in it as ``shown_url()`` shows it."""
    return _URL_IN_TEXT.sub(lambda found: shown_url(found[0]), text)


def path_text(path: str | os.PathLike[str], argument: str = "path") -> str:
    """Return a path or a URL as text. Refuses what is neither, in a message that names the argument."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise type_error(argument, f"expected a path, found {type(path).__name__}") from None
    if "\0" in text:
        raise value_error(argument, f"expected no NUL byte, found {shown_url(text)!r}")
    return text


def path_here(path: str | os.PathLike[str], argument: str = "path") -> str:
    """Return the path of a file or folder of this machine as text. Refuses a URL, whose secrets no message may show.

    Whoever takes a path from a user, and does not take URLs, begins with this, or with ``target_here()``. A path in
    storage stays as it is: it has no secrets, and whoever made one of a URL knows.
    """
    text = path_text(path, argument)
    if is_url(text) and not isinstance(text, StoredPath):
        raise ValueError(
            f"{shown_url(text)}: expected a path of this machine, found a URL; bring the data set here with "
            "gz.stage(url, folder), or graphzero stage"
        )
    return text


def target_here(path: str | os.PathLike[str], argument: str = "path") -> str:
    """Return the path of a file or folder to write on this machine as text. Refuses a URL."""
    text = path_text(path, argument)
    if is_url(text):
        raise ValueError(
            f"{shown_url(text)}: expected a path of this machine to write, found a URL; write it here, and bring the "
            "data set there with gz.push(folder, url), or graphzero push"
        )
    return text


def located(url: str | os.PathLike[str], argument: str = "path") -> StoredPath:
    """Return the place of a URL, or of a path of this machine. Reads nothing."""
    # Takes longer than all else that mounting a data set imports.
    from urllib.parse import parse_qsl, unquote, urlencode

    text = path_text(url, argument)
    if isinstance(text, StoredPath):
        return text
    found = _URL.match(text)
    if found is None:
        path = os.path.abspath(text)
        return StoredPath(path, _pyarrow_fs().LocalFileSystem(), path)
    scheme = found["scheme"].lower()
    rest, query = _rest_and_query(text, found["rest"])
    if _query_is_in_user(rest, query):
        raise ValueError(
            f"{scheme}://…: expected ? in a password written as %3F, and @ in a setting as %40, found a ? before the @"
        )
    authority, _, key = rest.partition("/")
    userinfo, _, host = authority.rpartition("@")
    user = tuple(map(unquote, userinfo.split(":", 1)))
    if scheme in (*_BUCKETS, "file") and ":" in host:
        raise ValueError(
            f"{scheme}://…: expected a bucket, or user:password@bucket with / in a password written as %2F, found a "
            "colon in its place"
        )
    settings = dict(parse_qsl(query, keep_blank_values=True))
    # What others say may have them as they were written.
    secrets = tuple(filter(None, dict.fromkeys((*user, *settings.values(), *userinfo.split(":", 1), query))))
    shown = shown_url(text)
    if scheme != "file":
        _check_names(shown, rest, f"{host}/{key}")
    if scheme == "s3":
        places = {name: settings[name] for name in _S3_PLACES if name in settings}
        return StoredPath(
            shown, _s3(shown, user, host, settings, secrets), f"{host}/{key}" if key else host, secrets,
            f"?{urlencode(places)}" if places else "",
        )  # fmt: skip
    if scheme == "file":
        if host not in ("", "localhost"):
            raise ValueError(f"{shown}: expected three slashes before the path of a file, found the host {host}")
        path = os.path.normpath(unquote(f"/{key}"))
        return StoredPath(f"file://{path}", _pyarrow_fs().LocalFileSystem(), path)
    nowhere = StoredPath(shown, None, "", secrets)
    if scheme in ("gs", "gcs"):
        with naming(nowhere, Exception):
            uri = f"gs://{authority}?{query}" if query else f"gs://{authority}"
            filesystem, _ = _pyarrow_fs().FileSystem.from_uri(uri)
        return StoredPath(shown, filesystem, f"{host}/{key}" if key else host, secrets)
    filesystem, path = _fsspec(text, scheme, nowhere)
    return StoredPath(shown, filesystem, path, secrets)


def _pyarrow_fs() -> Any:
    try:
        return importlib.import_module("pyarrow.fs")
    except ImportError as error:
        raise ImportError(f"object storage needs pyarrow: pip install 'graphzero[arrow]' ({error})") from error


def _check_names(shown: str, rest: str, names: str) -> None:
    """Refuse a URL that storage would take for another one, or not at all."""
    if visible(rest) != rest:
        raise ValueError(
            f"{visible(shown)}: expected a URL without control characters, such as the end of a line, found one that "
            "has them"
        )
    for part in (".", ".."):
        if part in names.split("/"):
            raise ValueError(f"{shown}: expected the names of folders in the path of a URL, found {part}; write it out")


def _s3(shown: str, user: tuple[str, ...], bucket: str, settings: dict[str, str], secrets: tuple[str, ...]) -> Any:
    for name in settings:
        if name not in _S3_SETTINGS:
            raise ValueError(f"{shown}: expected the settings {', '.join(_S3_SETTINGS)}, found {name}")
    if not bucket:
        raise ValueError(f"{shown}: expected the name of a bucket, found none")
    if "@" in settings.get("endpoint_override", ""):
        raise ValueError(f"{shown}: expected host:port as endpoint_override, found a user before @")
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    scheme, _, address = endpoint.rpartition("://")
    options: dict[str, Any] = {"scheme": scheme or None, "endpoint_override": address.rstrip("/") or None, **settings}
    if "region" not in options:
        given = next((os.environ[name] for name in _REGIONS if os.environ.get(name)), None)
        options["region"] = given or (None if options["endpoint_override"] else _region_of(bucket))
    if user[0]:
        options["access_key"], options["secret_key"] = user[0], user[-1]
    if options["scheme"] not in (None, "http", "https"):
        raise ValueError(f"{shown}: expected http or https as the scheme of the endpoint, found another")
    if "session_token" in settings and not user[0]:
        raise ValueError(f"{shown}: expected user:password before @, to which session_token= belongs, found none")
    try:
        # Writing in the background takes a whole file into memory if the disk is faster than the network.
        return _pyarrow_fs().S3FileSystem(**options, background_writes=False)
    except (ValueError, OSError) as error:
        said = _without(error, StoredPath(shown, None, "", secrets))
        raise ValueError(f"{shown}: expected settings that storage takes, found: {said}") from None


@functools.lru_cache(maxsize=64)
def _region_of(bucket: str) -> str | None:
    with suppress(OSError, ValueError):
        return str(_pyarrow_fs().resolve_s3_region(bucket))
    return None


def _fsspec(url: str, scheme: str, shown: StoredPath) -> tuple[Any, str]:
    try:
        fsspec = importlib.import_module("fsspec.core")
    except ImportError as error:
        raise ImportError(f"{shown}: {scheme}:// needs fsspec: pip install fsspec ({error})") from None
    try:
        filesystem, path = fsspec.url_to_fs(url)
    except ImportError as error:  # names the package that this scheme needs
        raise ImportError(f"{shown}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{shown}: expected a scheme that fsspec knows, found: {_without(error, shown)}") from None
    fs = _pyarrow_fs()
    return fs.PyFileSystem(fs.FSSpecHandler(filesystem)), str(path)


@contextmanager
def naming(path: str, kind: type[Exception] = OSError) -> Iterator[None]:
    """Name the file that storage could not give, and leave out secrets that its message may hold."""
    try:
        yield
    except kind as error:
        if not isinstance(path, StoredPath) or getattr(error, "filename", None) == path:
            raise
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(errno.ENOENT, "expected a file there, found none", str(path)) from None
        text = _without(error, path)
        advice = "; check the credentials, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the environment"
        number = getattr(error, "errno", None) or errno.EIO
        if _DENIED.search(text):
            number, text = errno.EACCES, text + advice
        raise OSError(number, f"storage says: {text}", str(path)) from None


def _without(error: Exception, path: StoredPath) -> str:
    """Return what an error says, without secrets."""
    text = without_credentials(" ".join(str(error).split()))
    for secret in (*path.secrets, *(os.environ.get(name, "") for name in _SECRETS)):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "…")
    return text


def size_of(path: str) -> int:
    """Return the size of a file, in storage or not."""
    return int(facts_of([path])[0].size) if isinstance(path, StoredPath) else os.stat(path).st_size


def facts_of(paths: Sequence[StoredPath]) -> list[Any]:
    """Return size and time of change of files in one storage, all of which must be there."""
    fs = _pyarrow_fs()
    found = found_at(paths)
    for path, facts in zip(paths, found, strict=True):
        if facts.type == fs.FileType.NotFound:
            raise FileNotFoundError(errno.ENOENT, "expected a file there, found none", str(path))
        if facts.type != fs.FileType.File:
            raise IsADirectoryError(errno.EISDIR, "is a folder, expected a file", str(path))
    return found


def found_at(paths: Sequence[StoredPath]) -> list[Any]:
    """Return what pyarrow knows about each of several paths in one storage, also of those that are not there."""
    if not paths:
        return []
    with naming(paths[0], Exception):
        found: list[Any] = paths[0].filesystem.get_file_info([path.key for path in paths])
    return found


def is_there(path: StoredPath) -> bool:
    """Whether there is a file."""
    return bool(found_at([path])[0].is_file)


def first_bytes(path: str, count: int) -> bytes:
    """Return the beginning of a file, in storage or not."""
    if not isinstance(path, StoredPath):
        with open(path, "rb") as file:
            return file.read(count)
    return read_range(path, 0, count)


def _refuse_pipe(path: StoredPath) -> None:
    """Refuse what pyarrow would wait for, on a disk."""
    if path.filesystem.type_name == "local":
        check_regular(path.key)


def read_range(path: StoredPath, begin: int, count: int) -> bytes:
    """Return ``count`` bytes from ``begin`` on, or as many as there are."""
    _refuse_pipe(path)
    with naming(path, Exception), path.filesystem.open_input_file(path.key) as file:
        file.seek(begin)
        return bytes(file.read(count))


def open_ranges(path: StoredPath) -> Any:
    """Open a file of which parts are read, for pyarrow."""
    _refuse_pipe(path)
    with naming(path, Exception):
        return path.filesystem.open_input_file(path.key)


def open_bytes(path: str) -> IO[bytes]:
    """Open a file for reading, in storage or not."""
    return open_stored(path) if isinstance(path, StoredPath) else open(path, "rb")


def open_stored(path: StoredPath) -> IO[bytes]:
    """Open a file that is read from its beginning to its end."""
    return io.BufferedReader(_Stream(path, open_ranges(path)), _READ_AHEAD)


class _Stream(io.RawIOBase):
    """Bytes of a file in storage, whose errors name it."""

    def __init__(self, path: StoredPath, file: Any) -> None:
        self._path = path
        self.name = str(path)
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with naming(self._path, Exception):
            return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any) -> int:
        with naming(self._path, Exception):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def is_data_name(name: str) -> bool:
    """Whether a file or folder below one of data is data: Spark and others write more, whose names show it."""
    return not name.startswith((".", "_"))


def listed(path: StoredPath, endings: tuple[str, ...] = (".parquet", ".pq")) -> list[StoredPath]:
    """Return the files that a pattern matches, those of a folder that have an ending, or the file itself; sorted."""
    fs = _pyarrow_fs()
    if not glob.has_magic(path.key) or is_there(path):
        if found_at([path])[0].type != fs.FileType.Directory:
            return [path]
        above = len(path.key.rstrip("/")) + 1
        found = [
            key
            for key in _keys(path, path.key, recursive=True)
            if key.lower().endswith(endings) and all(map(is_data_name, key[above:].split("/")))
        ]
        if not found:
            raise FileNotFoundError(
                errno.ENOENT, f"expected files that end in {endings[0]} there, found none", str(path)
            )
        return [path._other(key) for key in found]
    fixed = re.split(r"[*?\[]", path.key, maxsplit=1)[0].rpartition("/")[0]
    pattern = _pattern(path.key)
    deep = "/" in path.key[len(fixed) + 1 :]
    found = [key for key in _keys(path, fixed or "/", recursive=deep) if pattern.fullmatch(key)]
    if not found:
        raise FileNotFoundError(errno.ENOENT, "expected files that match, found none", str(path))
    return [path._other(key) for key in found]


def _keys(path: StoredPath, folder: str, *, recursive: bool) -> list[str]:
    fs = _pyarrow_fs()
    with naming(path, Exception):
        selector = fs.FileSelector(folder, recursive=recursive, allow_not_found=True)
        return sorted(facts.path for facts in path.filesystem.get_file_info(selector) if facts.is_file)


def _pattern(text: str) -> re.Pattern[str]:
    """Translate a pattern as a shell reads it: a star matches neither a slash nor a dot that begins a name."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\])", text)
    shown = r"(?!\.)[^/]*"  # a name that is not hidden
    words = {"**/": f"(?:{shown}/)*", "**": f"{shown}(?:/{shown})*", "*": "[^/]*", "?": "[^/]"}
    made, begins = "", True
    for part in filter(None, parts):
        made += r"(?!\.)" if begins and part[0] in "*?[" and part[:2] != "**" else ""
        made += words.get(part) or _literal(part)
        begins = part.endswith("/")
    return re.compile(made, re.DOTALL)


def _literal(part: str) -> str:
    if part.startswith("[") and part.endswith("]") and len(part) > 2:
        inner = part[1:-1].replace("\\", r"\\")
        return f"[{'^' + inner[1:] if inner[0] == '!' else inner}]"
    return re.escape(part)


def make_folder_of(path: StoredPath) -> None:
    """Make the folders above a file, where storage has folders."""
    if path.filesystem.type_name not in ("s3", "gcs"):
        with naming(path, Exception):
            path.filesystem.create_dir(os.path.dirname(path.key), recursive=True)


def check_object_size(path: StoredPath, size: int) -> None:
    """Refuse a file that would fail in the middle of its upload."""
    if path.filesystem.type_name == "s3" and size > LARGEST_S3_OBJECT:
        raise OSError(
            errno.EFBIG,
            f"expected at most {LARGEST_S3_OBJECT} bytes, which is what pyarrow can upload to S3 in one file, found "
            f"{size}; store attributes in parts, and a graph by a conversion in shards",
            str(path),
        )


def write_stored(path: StoredPath, blocks: Iterator[bytes]) -> None:
    """Write a file of blocks. In object storage and on a disk it appears when it is whole."""
    make_folder_of(path)
    if path.filesystem.type_name == "local":
        with replacing_file(path.key) as here:
            for block in blocks:
                here.write(block)
        return
    with naming(path, Exception):
        file = path.filesystem.open_output_stream(path.key, compression=None)  # by default, by the ending
    try:
        for block in blocks:
            with naming(path, Exception):
                file.write(block)
    except BaseException:
        with suppress(Exception):  # a stream can be ended only by making a file of what there is
            file.close()
            path.filesystem.delete_file(path.key)
        raise
    with naming(path, Exception):
        file.close()


def remove_stored(path: StoredPath) -> None:
    """Remove a file."""
    with naming(path, Exception):
        path.filesystem.delete_file(path.key)

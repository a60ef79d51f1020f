"""Small JSON files of steps, which end with a checksum of themselves and of their name."""

from __future__ import annotations

import json
from typing import Any

from graphzero._core import FormatError

_MARK = b',\n "checksum": "'
_END = b'"\n}'


def sealed(told: dict[str, Any], name: str) -> bytes:
    """Return an object in JSON as the bytes of the file ``name``."""
    content = json.dumps(told, indent=1).encode().removesuffix(b"\n}")
    return content + _MARK + checksum_of(content, name).encode() + _END


def looks_sealed(content: bytes) -> bool:
    """Whether a file ends as ``sealed()`` ends one, perhaps with another checksum, as it was edited or damaged."""
    return content.rpartition(_MARK)[1] != b""


def checksum_of(content: bytes, name: str) -> str:
    """Return the checksum of what comes before it. With the name, so that the file of another step is not taken."""
    import hashlib  # slow to load

    return hashlib.sha256(name.encode() + b"\n" + content).hexdigest()


def parsed(content: bytes, path: str, advice: str) -> dict[str, Any]:
    """Return what a file says in JSON, or refuse it, with what to do. Its checksum is not proven yet."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: expected JSON, found a damaged file: {error}; {advice}") from None
    if not isinstance(found, dict):
        raise FormatError(f"{path}: expected an object in JSON, found {type(found).__name__}; {advice}")
    return found


def proven_checksum(content: bytes, name: str, path: str, advice: str) -> str:
    """Return the checksum of a file, or refuse one that is not as ``sealed()`` made it."""
    before, mark, end = content.rpartition(_MARK)
    found = checksum_of(before, name)
    if not mark or end != found.encode() + _END:
        raise FormatError(
            f"{path}: expected a file that ends with its own checksum, found one that is damaged, was edited, or had "
            f"another name; {advice}"
        )
    return found

"""Into how many shards a conversion may be cut."""

from __future__ import annotations

from graphzero._base.argument_errors import value_error
from graphzero._base.integers import integer, integer_from

_MOST_SHARDS = 10_000  # each is a file, and each step looks for all of them


def shard_count(shards: int) -> int:
    """Read ``shards``, the number of parts that somebody asks for."""
    if integer_from(shards, 1, "shards") > _MOST_SHARDS:
        raise value_error("shards", f"expected 1 to {_MOST_SHARDS:,}, found {integer(shards, 'shards'):,}")
    return integer(shards, "shards")

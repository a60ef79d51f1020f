"""What users write behind the options of ``graphzero convert``, as the functions take it."""

from __future__ import annotations

from typing import Any

from graphzero._base.argument_errors import value_error


def column(text: str | None) -> int | str | None:
    """Read a column: a position if it is a number, else a name."""
    return int(text) if text is not None and text.isdigit() else text


def columns(text: str | None) -> Any:
    """Read ``a,b``: a list of columns. One alone makes a vector, with a comma behind it a matrix."""
    if text is None or "," not in text:
        return column(text)
    names = text.removesuffix(",").split(",")
    if not all(names):
        raise value_error("columns", f"expected names or positions with commas between them, found {text!r}")
    return [column(name) for name in names]


def shape(text: str | None) -> tuple[int, ...] | None:
    """Read ``100,16``."""
    if text is None:
        return None
    try:
        return tuple(int(extent) for extent in text.split(","))
    except ValueError:
        raise value_error(
            "shape", f"expected numbers with commas between them, such as 100,16, found {text!r}"
        ) from None


def node_counts(text: str | None) -> Any:
    """Read ``100``, the ``100,20`` of a bipartite graph, or the ``paper=100,author=20`` of node types."""
    if text is None:
        return None
    words = text.split(",")
    try:
        if "=" in text:
            pairs = [word.rsplit("=", 1) for word in words]
            return {name: int(count) for name, count in pairs}
        counts = tuple(int(word) for word in words)
    except ValueError:
        counts = ()
    if len(counts) not in (1, 2):
        expected = "a number, 100,20 for a bipartite graph, or paper=100,author=20 for types"
        raise value_error("num_nodes", f"expected {expected}, found {text!r}")
    return counts[0] if len(counts) == 1 else counts

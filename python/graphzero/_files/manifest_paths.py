"""What our writers call the files of a data set folder. docs/formats/dataset.md specifies it."""

from __future__ import annotations

MANIFEST = "graphzero.json"


def attribute_path(of: str | tuple[str, str, str], name: str) -> str:
    """Return the path of an attribute in the folder."""
    folder = f"edges/{type_path(of)}" if isinstance(of, tuple) else f"nodes/{file_name(of)}"
    return f"{folder}/{file_name(name)}.gd"


def hot_path(of: str, name: str, part: str) -> str:
    """Return the path of the ids of rows that all hosts have, or of these rows."""
    return f"nodes/{file_name(of)}/{file_name(name)}.hot.{part}.gd"


def ids_path(of: str) -> str:
    """Return the path of the id dictionary of a node type."""
    return f"nodes/{file_name(of)}/ids.gi"


def graph_path(of: tuple[str, str, str]) -> str:
    """Return the path of the edges of an edge type."""
    return f"edges/{type_path(of)}/graph.gl"


def split_path(of: str | tuple[str, str, str], name: str) -> str:
    """Return the path of a split of a type."""
    return f"splits/{file_name(name)}/{type_path(of)}.gd"


def other_path(of: str | tuple[str, str, str] | None, name: str) -> str:
    """Return the path of a tensor without a row per node or edge; of the whole data set, if ``of`` is ``None``."""
    return "/".join(["other", *([] if of is None else [type_path(of)]), f"{file_name(name)}.gd"])


def file_name(name: str) -> str:
    """Turn any name of a type or attribute into one that is safe in a path.

    Examples:
        >>> file_name("paper"), file_name("../x y")
        ('paper', '%2E%2E%2Fx%20y')
    """
    if not isinstance(name, str):
        raise TypeError(f"expected a name, found {name!r}")
    if not name:
        raise ValueError("expected a name, found an empty one")
    if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
        raise ValueError(f"expected a name that is text, found {name!r}")
    import urllib.parse  # takes longer than all else that mounting a data set imports

    return urllib.parse.quote(name, safe="").replace(".", "%2E")


def type_path(kind: str | tuple[str, str, str]) -> str:
    """Turn a node type or an edge type into a name that is safe in a path, and that no other type has.

    Examples:
        >>> type_path(("user", "rates", "movie")), type_path(("a", "b__c", "d"))
        ('user__rates__movie', 'a__b%5F%5Fc__d')
    """
    names = [file_name(part) for part in ([kind] if isinstance(kind, str) else kind)]
    # What might be taken for the separator is written otherwise.
    return "__".join(
        name.replace("_", "%5F") if "__" in name or name[0] == "_" or name[-1] == "_" else name for name in names
    )

"""Names that users pass: one, or several."""

from __future__ import annotations

from collections.abc import Iterable

from graphzero._base.argument_errors import type_error


def names_of(given: Iterable[str] | str, argument: str) -> tuple[str, ...]:
    """Turn one name, or several, into a tuple of them."""
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable):
        raise type_error(argument, f"expected a name, or a list of names, found {given!r}")
    names = tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise type_error(argument, f"expected names, found {name!r} among them")
    return names

"""Errors that name arguments. They say which, so that the command line can write its own options instead.

``error.argument`` is the name of the argument at fault. ``error.parts`` is the message, cut at every argument it names;
joined, they are ``str(error)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

_NO_VALUE: Any = ...


@dataclass(frozen=True)
class Argument:
    """An argument that a message names: ``memory``."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Setting:
    """An argument with a value, in a message: ``header=False``, or ``src=`` if the value is the user's to choose."""

    name: str
    value: Any = _NO_VALUE

    @property
    def has_value(self) -> bool:
        return self.value is not _NO_VALUE

    def __str__(self) -> str:
        return f"{self.name}={self.value!r}" if self.has_value else f"{self.name}="


Part: TypeAlias = str | Argument | Setting
_Error = TypeVar("_Error", bound=Exception)


def value_error(argument: str, *problem: Part, where: str = "") -> ValueError:
    """Return the error ``argument: problem``; ``where`` names the file first."""
    return error_of(ValueError, f"{where}: " if where else "", Argument(argument), ": ", *problem)


def type_error(argument: str, *problem: Part, where: str = "") -> TypeError:
    """Return the error ``argument: problem``; ``where`` names the file first."""
    return error_of(TypeError, f"{where}: " if where else "", Argument(argument), ": ", *problem)


def error_of(kind: Callable[[str], _Error], *parts: Part) -> _Error:
    """Return an error that says all ``parts``. It is about the first argument among them."""
    error = kind("".join(map(str, parts)))
    error.__dict__["parts"] = parts
    error.__dict__["argument"] = next((part.name for part in parts if not isinstance(part, str)), None)
    return error


def parts_of(error: Exception) -> tuple[Part, ...]:
    """Return the message of any error in parts. Those of the core know the argument at fault alone."""
    if "parts" in error.__dict__:
        return tuple(error.__dict__["parts"])
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    argument = error.__dict__.get("argument")
    return (text,) if argument is None else (Argument(argument), text.removeprefix(argument))


def flag(value: object, argument: str) -> bool:
    """Read what is either true or false, of Python or NumPy; text such as ``"no"`` is neither."""
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise type_error(argument, f"expected True or False, found {value!r}")


def check_choice(value: object, argument: str, *choices: str) -> None:
    """Refuse what is not among the values that an argument can have."""
    if value not in choices:
        *first, last = map(repr, choices)
        raise value_error(argument, f"expected {', '.join(first)} or {last}, found {value!r}")

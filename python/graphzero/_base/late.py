"""Values that are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

Class = TypeVar("Class", bound=type)
Value = TypeVar("Value")


class _Late:
    """A field that holds a value, or a function that makes it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self._name!r}")
        value = instance.__dict__[self._name]
        if callable(value):
            value = instance.__dict__[self._name] = value()
        return value

    def __set__(self, instance: object, value: Any) -> None:
        instance.__dict__[self._name] = value


def late_field(name: str) -> Callable[[Class], Class]:
    """Let a field of a data class be set to a function that makes its value when that is first asked for.

    Examples:
        >>> from dataclasses import dataclass
        >>> @late_field("total")
        ... @dataclass(frozen=True)
        ... class Sum:
        ...     total: int
        >>> Sum(total=late(lambda: 1 + 2)).total
        3
    """

    def change(cls: Class) -> Class:
        setattr(cls, name, _Late(name))
        return cls

    return change


def late(make: Callable[[], Value]) -> Value:
    """Return what a late field is set to; type checkers see the value."""
    return cast(Value, make)


def is_made(instance: object, name: str) -> bool:
    """Return whether a late field has its value."""
    return not callable(instance.__dict__[name])


def made_state(instance: object) -> dict[str, Any]:
    """Return all fields with their values: what another process gets."""
    return {name: getattr(instance, name) for name in instance.__dict__}

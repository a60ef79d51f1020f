"""A memory limit that the kernel enforces, by the first means that this process may use."""

from __future__ import annotations

from typing import TypeAlias

from graphzero._tools.cgroup import ControlGroup
from graphzero._tools.user_scope import UserScope

MemoryLimit: TypeAlias = ControlGroup | UserScope


def memory_limit(limit: int) -> MemoryLimit:
    """Return a control group of our own, which root may make; else scopes of the user's systemd.

    Raises ``PermissionError`` that says why there is neither.
    """
    try:
        return ControlGroup(limit)
    except PermissionError as no_group:
        try:
            return UserScope(limit)
        except PermissionError as no_scope:
            raise PermissionError(f"{no_group}, and systemd gives it no scope ({no_scope})") from None

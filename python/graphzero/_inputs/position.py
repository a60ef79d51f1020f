"""The position of an iteration, as ``state_dict()`` returns it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphzero._base.argument_errors import type_error


def position_from(state: Any) -> dict[str, Any]:
    """Read what a user gives as a position. What is in it is left to the pipeline to judge."""
    if not isinstance(state, Mapping):
        raise type_error(
            "state",
            f"expected the dict that state_dict() returns, found {type(state).__name__}; a rank without a checkpoint "
            "goes on from that of another",
        )
    return dict(state)

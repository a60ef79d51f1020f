"""What splits are called."""

from __future__ import annotations


def usual_split_name(name: str) -> str:
    """Return the name that we have for a split that others call differently."""
    return {"val": "valid", "validation": "valid", "dev": "valid"}.get(name, name)

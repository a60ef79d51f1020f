"""Settings in a small TOML, YAML or JSON file."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

from graphzero._base.argument_errors import value_error
from graphzero._core import FormatError
from graphzero._files.folder import check_regular
from graphzero._files.storage import path_here
from graphzero._files.yaml_file import read_yaml

_ENDINGS = (".toml", ".yaml", ".yml", ".json")
_LARGEST = 1 << 20  # bytes


def ending_of(path: str, argument: str) -> str:
    """Return how a file of settings ends, or refuse it; ``argument`` is what it was given as."""
    ending = os.path.splitext(path_here(path))[1].lower()
    if ending not in _ENDINGS:
        raise value_error(argument, f"expected a name that ends in .toml, .yaml or .json, found {path!r}")
    return ending


def read_settings(path: str, argument: str) -> dict[str, Any]:
    """Return what a file says, by name. ``argument`` is what it was given as."""
    ending = ending_of(path, argument)
    check_regular(path)
    if ending in (".yaml", ".yml"):
        try:
            return read_yaml(path, "YAML files")
        except FormatError as error:  # it is no data of ours that is damaged
            raise ValueError(str(error)) from None
    with open(path, "rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"{path}: expected at most {_LARGEST} bytes, found more")
    try:
        document = json.loads(content) if ending == ".json" else _parse_toml(path, content.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected UTF-8, found: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: expected {ending[1:].upper()}, found: {error}") from None
    if not isinstance(document, dict):
        raise ValueError(f"{path}: expected settings by name, found a {type(document).__name__}")
    return document


def _parse_toml(path: str, text: str) -> Any:
    try:
        toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    except ImportError as error:
        raise ImportError(
            f"{path}: TOML needs Python 3.11, or tomli: pip install tomli; or write YAML or JSON ({error})"
        ) from error
    return toml.loads(text)

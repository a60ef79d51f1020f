"""Small YAML files from untrusted sources: plain values, no larger in memory than on disk."""

from __future__ import annotations

import importlib
from typing import Any

from graphzero._core import FormatError
from graphzero._files.folder import check_regular

_LARGEST = 1 << 20  # bytes
_MOST_VALUES = 1 << 20  # with those that aliases repeat


def read_yaml(path: str, what: str = "GraphBolt data sets") -> dict[str, Any]:
    """Read a file that holds a mapping. ``what`` needs PyYAML, says the error if it is not there."""
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError as error:
        raise ImportError(f"{path}: {what} need PyYAML: pip install pyyaml ({error})") from error
    check_regular(path)
    with open(path, "rb") as file:
        text = file.read(_LARGEST + 1)
    if len(text) > _LARGEST:
        raise FormatError(f"{path}: expected at most {_LARGEST} bytes, found more")
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is not None and _count_values(root, yaml, {}) > _MOST_VALUES:
            raise FormatError(f"{path}: expected at most {_MOST_VALUES} values, found more, as aliases repeat them")
        document = None if root is None else loader.construct_document(root)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{path}: expected YAML, found: {error}") from error
    if not isinstance(document, dict) or not all(isinstance(key, str) for key in document):
        raise FormatError(f"{path}: expected a mapping of names, found {type(document).__name__}")
    return document


def _count_values(node: Any, yaml: Any, known: dict[int, int]) -> int:
    """Count the values below a node, each as often as it is referred to; one that holds itself is refused."""
    if id(node) not in known:
        known[id(node)] = _MOST_VALUES + 1  # until it is known: met again on the way down, it holds itself
        parts = [] if isinstance(node, yaml.ScalarNode) else node.value
        if isinstance(node, yaml.MappingNode):
            parts = [part for pair in node.value for part in pair]
        known[id(node)] = 1 + sum(_count_values(part, yaml, known) for part in parts)
    return known[id(node)]

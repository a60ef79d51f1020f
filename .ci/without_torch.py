"""A plugin for pytest where PyTorch is not installed: a test that asks for it is skipped, and the report names it.

`test_wheel.py` loads it (`-p without_torch`). Whoever imports PyTorch, PyG or Lightning, in a test or in graphzero,
gets pytest's skip instead of an error. Tests that import graphzero in a child process are not reached by this; they are
listed in CHILDREN.
"""

import sys
from collections.abc import Sequence
from types import ModuleType

import pytest

NEED_TORCH = ("torch", "torch_geometric", "lightning", "pytorch_lightning")
# Files whose tests run commands, scripts or examples that train, in processes of their own.
CHILDREN = ("test_demo.py", "test_docs.py", "test_examples.py", "test_pyg_scripts.py")


class _Skips:
    """Looks for modules before any other finder, and knows only those that need PyTorch."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name.partition(".")[0] in NEED_TORCH:
            pytest.skip(f"needs {name}, which is not installed", allow_module_level=True)


def pytest_configure() -> None:
    sys.meta_path.insert(0, _Skips())


def pytest_ignore_collect(collection_path) -> bool | None:
    name = collection_path.name
    return True if name in CHILDREN or name.startswith("test_cli_train") else None

"""torch where it is installed, else None: what needs no torch is tested without, as in a Windows Python under wine."""

import importlib.metadata

import pytest

# Not whether the module is found: .ci/without_torch.py skips who looks for it.
torch = importlib.import_module("torch") if any(importlib.metadata.Distribution.discover(name="torch")) else None
needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")

"""torch where it is installed, else None: what needs no torch is tested without, as in a Windows Python under wine."""

import importlib.util

import pytest

torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")

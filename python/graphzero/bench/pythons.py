"""Which rivals are installed, and in which Python."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# What a rival needs: all of these; of alternatives in a tuple one.
NEEDS: dict[str, tuple[str | tuple[str, ...], ...]] = {
    "torch-sparse": ("torch", "torch_sparse"),
    "pyg-lib": ("torch", "pyg_lib"),
    "GraphBolt": ("torch", "dgl"),
    "torch-cluster": ("torch", "torch_cluster"),
    "DGL": ("torch", "dgl"),
    "PecanPy": ("pecanpy", "numba_progress"),
    "np.memmap": ("numpy",),
    "torch, all in RAM": ("torch",),
    "polars + scipy": ("polars", "scipy"),
    "NumPy": ("numpy",),
    "PyG NeighborLoader": ("torch", "torch_geometric", ("torch_sparse", "pyg_lib")),
}
GRAPHZERO02 = "GraphZero 0.2"
_LOOK = """
import importlib.metadata, importlib.util, json, sys
names = dict(importlib.metadata.packages_distributions()) if sys.version_info >= (3, 10) else {}
def version(name):
    try:
        return importlib.metadata.version((names.get(name) or [name])[0])
    except Exception:
        return "unknown"
print(json.dumps({name: version(name) for name in sys.argv[1:] if importlib.util.find_spec(name)}))
"""


def installed(python: str, modules: Sequence[str]) -> dict[str, str]:
    """Return the versions of those of ``modules`` that ``python`` has. Raises ``ValueError`` if it does not run."""
    try:
        done = subprocess.run(
            [python, "-I", "-c", _LOOK, *modules], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError as error:
        raise ValueError(f"{python}: expected a Python to run, found {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise ValueError(f"{python}: expected a Python to run, found no answer within a minute") from None
    try:
        found: dict[str, str] = json.loads(done.stdout)
    except ValueError:
        lines = done.stderr.strip().splitlines()
        raise ValueError(
            f"{python}: expected a Python to run, found {lines[-1] if lines else f'exit code {done.returncode}'}"
        ) from None
    return found


@dataclass(frozen=True)
class Pythons:
    """Pythons that may have rivals, with the versions of what they have; the first that has all is taken."""

    found: Mapping[str, Mapping[str, str]]
    graphzero02: str | None = None

    @classmethod
    def look(cls, rivals: str | None, graphzero02: str | None) -> Pythons:
        """Look into the Pythons given, and into this one."""
        modules = sorted({name for need in NEEDS.values() for one in need for name in _alternatives(one)})
        pythons = dict.fromkeys([rivals or sys.executable, sys.executable])
        if graphzero02 is not None:
            there = installed(graphzero02, ["graphzero"]).get("graphzero", "no graphzero")
            if not there.startswith("0.2"):
                raise ValueError(f"{graphzero02}: expected a Python that has GraphZero 0.2, found {there}")
        return cls({python: installed(python, modules) for python in pythons}, graphzero02)

    def of(self, rival: str) -> str | None:
        """Return the Python that has ``rival``; ``None`` if none has."""
        if rival == GRAPHZERO02:
            return self.graphzero02
        for python, there in self.found.items():
            if all(any(name in there for name in _alternatives(one)) for one in NEEDS[rival]):
                return python
        return None

    def version(self, rival: str) -> str | None:
        """Return the version of ``rival`` as people would name it; ``None`` if there is none."""
        python = self.of(rival)
        if python is None or rival == GRAPHZERO02:
            return None
        names = [name for one in NEEDS[rival] for name in _alternatives(one) if name in self.found[python]]
        return ", ".join(f"{name} {self.found[python][name]}" for name in names)


def rival_named(what: str) -> str:
    """Return the rival that a row names; more words may say how it is used."""
    return next(name for name in (*NEEDS, GRAPHZERO02) if what == name or what.startswith(f"{name}, "))


def _alternatives(need: str | tuple[str, ...]) -> tuple[str, ...]:
    return (need,) if isinstance(need, str) else need

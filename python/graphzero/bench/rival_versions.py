"""The names of rivals with their versions, which their own processes tell."""

from __future__ import annotations

from collections.abc import Mapping

# By rival: the parts of its name, each with the module that has the version.
_PARTS: dict[str, tuple[tuple[str, str], ...]] = {
    "torch-sparse": (("torch-sparse", "torch_sparse"),),
    "pyg-lib": (("pyg-lib", "pyg_lib"),),
    "GraphBolt": (("GraphBolt of DGL", "dgl"),),
    "torch-cluster": (("torch-cluster", "torch_cluster"),),
    "DGL": (("DGL", "dgl"),),
    "PecanPy": (("PecanPy", "pecanpy"),),
    "np.memmap": (("np.memmap of NumPy", "numpy"),),
    "torch, all in RAM": (("torch", "torch"),),
    "polars + scipy": (("polars", "polars"), ("scipy", "scipy")),
    "NumPy": (("NumPy", "numpy"),),
    "PyG NeighborLoader": (("PyG", "torch_geometric"),),
    "GraphZero 0.2": (("GraphZero", "graphzero"),),
}
# PyG takes the first of these that it could load.
_SAMPLERS_OF_PYG = (("pyg-lib", "pyg_lib"), ("torch-sparse", "torch_sparse"))


def with_version(rival: str, versions: Mapping[str, str]) -> str:
    """Return the name of a rival with its version, as far as its process told.

    Examples:
        >>> with_version("torch-sparse", {"torch": "2.4.0+cpu", "torch_sparse": "0.6.18+pt24cpu"})
        'torch-sparse 0.6.18'
        >>> with_version("PyG NeighborLoader", {"torch_geometric": "2.8.1", "torch_sparse": "0.6.18"})
        'PyG 2.8.1 with torch-sparse 0.6.18'
    """
    name = " + ".join(_named(*part, versions) for part in _PARTS[rival])
    samplers = _SAMPLERS_OF_PYG if rival == "PyG NeighborLoader" else ()
    used = next((_named(*part, versions) for part in samplers if part[1] in versions), None)
    return name if used is None else f"{name} with {used}"


def _named(name: str, module: str, versions: Mapping[str, str]) -> str:
    found = versions.get(module, "").split("+")[0]  # what follows says for which torch it was built
    return f"{name} {found}".rstrip()

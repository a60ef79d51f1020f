"""Batches as PyTorch and PyTorch Geometric take them. Names load their module, and torch, when they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphzero._base.lazy_imports import load

if TYPE_CHECKING:
    from graphzero.loaders._batch.forms import TorchBatch as TorchBatch
    from graphzero.loaders.layerwise import inference as inference
    from graphzero.loaders.lightning import LightningDataModule as LightningDataModule
    from graphzero.loaders.link import LinkNeighborLoader as LinkNeighborLoader
    from graphzero.loaders.metapath2vec import MetaPath2Vec as MetaPath2Vec
    from graphzero.loaders.neighbor import NeighborLoader as NeighborLoader
    from graphzero.loaders.node2vec import Node2Vec as Node2Vec
    from graphzero.loaders.options import LoaderOptions as LoaderOptions
    from graphzero.loaders.pyg.sampler import NeighborSampler as NeighborSampler
    from graphzero.loaders.pyg.stores import GraphStore as GraphStore
    from graphzero.loaders.pyg.stores import PyGFeatureStore as PyGFeatureStore
    from graphzero.loaders.random_walks import RandomWalks as RandomWalks

# The module that each name lives in.
_HOMES = {
    "GraphStore": "pyg.stores",
    "LightningDataModule": "lightning",
    "LinkNeighborLoader": "link",
    "LoaderOptions": "options",
    "MetaPath2Vec": "metapath2vec",
    "NeighborLoader": "neighbor",
    "NeighborSampler": "pyg.sampler",
    "Node2Vec": "node2vec",
    "PyGFeatureStore": "pyg.stores",
    "RandomWalks": "random_walks",
    "TorchBatch": "_batch.forms",
    "inference": "layerwise",
}

__all__ = sorted(_HOMES)

_HOMES["FeatureStore"] = "pyg.stores"  # an old name, which warns


# Type checkers would take any name for one that this function knows.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(load(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__

"""Batches as PyTorch and PyTorch Geometric take them. Names load their module, and torch, when they are used."""

from __future__ import annotations

from typing import Any

from graphzero._base.lazy_imports import load

# The module that each name lives in.
_HOMES = {
    "FeatureStore": "pyg.stores",
    "GraphStore": "pyg.stores",
    "LightningDataModule": "lightning",
    "LinkNeighborLoader": "link",
    "LoaderOptions": "options",
    "MetaPath2Vec": "metapath2vec",
    "NeighborLoader": "neighbor",
    "NeighborSampler": "pyg.sampler",
    "Node2Vec": "node2vec",
    "RandomWalks": "random_walks",
    "TorchBatch": "_batch.forms",
    "inference": "layerwise",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(load(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__

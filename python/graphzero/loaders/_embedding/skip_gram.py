"""Embeddings trained on windows of walks: what Node2Vec and MetaPath2Vec have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.integers import integer_from
from graphzero._core import Key
from graphzero.loaders._process.keys import SeedSequence

# Keeps logarithms finite; PyG's value, so that losses are equal.
_EPSILON = 1e-15
# What DataLoader makes batches of ids with.
_BATCHING = ("batch_size", "shuffle", "sampler", "batch_sampler", "drop_last")


class Windows(Protocol):
    """Draws what a model is trained on. Workers are sent this, and not the model with its table."""

    def positive(self, starts: Tensor, seed: int) -> Tensor:
        """Return windows of walks from ``starts``, one per row."""

    def negative(self, starts: Tensor, seed: int) -> Tensor:
        """Return windows that begin at ``starts`` and go on at random nodes."""


class SkipGram(torch.nn.Module):
    """A table of embeddings, in memory, that learns to tell windows of walks from random ones.

    Skip-gram with negative sampling (Mikolov et al.: Distributed Representations of Words and Phrases and
    their Compositionality, NeurIPS 2013): the first node of a window against each of the others.
    """

    embedding: torch.nn.Embedding

    def __init__(
        self, windows: Windows, num_starts: int, num_rows: int, embedding_dim: Any, sparse: bool, seed: Any
    ) -> None:
        super().__init__()
        self.embedding_dim = integer_from(embedding_dim, 1, "embedding_dim")
        self._windows = windows
        self._num_starts = num_starts
        self._seeds = SeedSequence(seed)
        self.embedding = torch.nn.Embedding(num_rows, self.embedding_dim, sparse=bool(sparse))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all embeddings anew."""
        self.embedding.reset_parameters()

    def loader(self, **kwargs: Any) -> DataLoader[tuple[Tensor, Tensor]]:
        """Return a ``DataLoader`` over batches of start nodes that gives ``(pos_rw, neg_rw)`` for ``loss()``.

        Batches are the same for any number of workers.

        Args:
            kwargs: The options of ``DataLoader``, except ``collate_fn``.
        """
        if "collate_fn" in kwargs:
            raise type_error("collate_fn", "expected none, because the loader returns finished samples, found one")
        batching = {name: kwargs.pop(name) for name in _BATCHING if name in kwargs}
        generator = kwargs.get("generator")
        if generator is None and self._seeds.seed is not None:
            generator = torch.Generator().manual_seed(self._seeds.draw())
        starts: Any = DataLoader(range(self._num_starts), generator=generator, **batching)  # type: ignore[arg-type]
        batches = _SeededBatches(starts.batch_sampler or starts.sampler, self._seeds)
        return DataLoader(_Samples(self._windows), batch_size=None, sampler=batches, collate_fn=_as_it_is, **kwargs)

    def loss(self, pos_rw: Tensor, neg_rw: Tensor) -> Tensor:
        """Return the loss of a batch.

        Args:
            pos_rw: Windows of walks, one per row.
            neg_rw: Random windows, one per row.
        """
        positive = torch.log(self._likeness(pos_rw) + _EPSILON).mean()
        negative = torch.log(1 - self._likeness(neg_rw) + _EPSILON).mean()
        return -positive - negative

    def _likeness(self, windows: Tensor) -> Tensor:
        """Return how alike the first node of a window and each of the others are, from 0 to 1."""
        first, others = self.embedding(windows[:, :1]), self.embedding(windows[:, 1:])
        return torch.sigmoid((first * others).sum(dim=-1))

    def test(
        self,
        train_z: Tensor,
        train_y: Tensor,
        test_z: Tensor,
        test_y: Tensor,
        solver: str = "lbfgs",
        *args: Any,
        **kwargs: Any,
    ) -> float:
        """Return the accuracy of scikit-learn's logistic regression on embeddings.

        Args:
            train_z: Embeddings to train on.
            train_y: Their labels.
            test_z: Embeddings to test on.
            test_y: Their labels.
            solver: An option of ``LogisticRegression``.
            args: Further ones.
            kwargs: Further ones by name.
        """
        try:
            linear_model = import_module("sklearn.linear_model")
        except ImportError as error:
            raise ImportError("test: needs scikit-learn, which is not installed: pip install scikit-learn") from error
        arrays = [tensor.detach().cpu().numpy() for tensor in (train_z, train_y, test_z, test_y)]
        model = linear_model.LogisticRegression(*args, solver=solver, **kwargs).fit(*arrays[:2])
        return float(model.score(*arrays[2:]))


def one_graph(graph: Any, of_pyg: Any, name: str) -> Any:
    """Return the graph, given under our name for it or under PyG's."""
    if graph is not None and of_pyg is not None:
        raise TypeError(f"graph, {name}: expected one of them, found both; {name} is PyG's name of graph")
    return graph if of_pyg is None else of_pyg


def cut_windows(walks: Tensor, context_size: int) -> Tensor:
    """Return every stretch of ``context_size`` columns: those from the first column first, then from the next."""
    return walks.unfold(1, context_size, 1).transpose(0, 1).reshape(-1, context_size)


def as_context_size(value: Any, num_columns: int) -> int:
    """Read a ``context_size`` for walks of ``num_columns`` nodes."""
    size = integer_from(value, 2, "context_size")  # one node alone has nothing to be compared with
    if size > num_columns:
        raise value_error(
            "context_size", f"expected at most {num_columns}, the number of nodes of a walk, found {size}"
        )
    return size


def as_ids(batch: Any) -> Tensor:
    """Read a batch of node ids: a tensor or a list."""
    ids = torch.as_tensor(batch)
    if ids.numel() == 0:  # torch takes an empty list for floats
        return torch.empty(0, dtype=torch.int64, device=ids.device)
    if ids.dim() != 1 or ids.is_floating_point() or ids.dtype == torch.bool:
        raise type_error("batch", f"expected node ids in one dimension, found {ids.dtype} of shape {tuple(ids.shape)}")
    return ids.to(torch.int64)


class _SeededBatches:
    """Batches of start nodes, each with a seed that this process draws, whichever worker samples it."""

    def __init__(self, batches: Any, seeds: SeedSequence) -> None:
        self._batches = batches
        self._seeds = seeds

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[tuple[int, Iterable[int]]]:
        seed = self._seeds.draw()
        for number, starts in enumerate(self._batches):
            yield Key(seed).with_word(number).state, [starts] if isinstance(starts, int) else starts


class _Samples(Dataset[tuple[Tensor, Tensor]]):
    """Both kinds of window, by seed and start nodes."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows

    def __getitem__(self, key: tuple[int, Any]) -> tuple[Tensor, Tensor]:
        seed, starts = key
        ids = as_ids(starts)
        return self._windows.positive(ids, seed), self._windows.negative(ids, seed)


def _as_it_is(sample: Any) -> Any:
    return sample

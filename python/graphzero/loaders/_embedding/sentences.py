"""Walks as words, as gensim's Word2Vec and others take them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from graphzero._base.argument_errors import type_error, value_error
from graphzero.ids import IdDictionary


class Sentences:
    """Lists of words, one per walk; made by ``RandomWalks.sentences()``. May be iterated any number of times."""

    def __init__(
        self,
        walks: Iterable[torch.Tensor],
        num_walks: int,
        types: Sequence[str] | None,
        ids: IdDictionary | Mapping[str, IdDictionary] | None,
    ) -> None:
        if types is None and not (ids is None or isinstance(ids, IdDictionary)):
            raise type_error("ids", f"expected an IdDictionary, found {type(ids).__name__}")
        if types is not None and not (ids is None or isinstance(ids, Mapping)):
            raise type_error("ids", f"expected a dict of IdDictionary by node type, found {type(ids).__name__}")
        there = sorted(set(types or ()))
        for name in ids if isinstance(ids, Mapping) else ():
            if name not in there:
                raise value_error("ids", f"no node type {name!r} on the metapath; there are {there}")
        self._walks = walks
        self._num_walks = num_walks
        self._types = types
        self._ids = ids

    def __len__(self) -> int:
        return self._num_walks

    def __iter__(self) -> Iterator[list[str]]:
        for batch in self._walks:
            yield from self._words(batch.numpy())

    def _words(self, walks: Any) -> Iterable[list[str]]:
        if self._types is None:
            table = walks if self._ids is None else self._ids.labels(walks)  # type: ignore[union-attr]
            return (list(map(str, row)) for row in table.tolist())
        columns = [self._column(name, nodes) for name, nodes in zip(self._types, walks.T, strict=True)]
        return ([word for word in row if word is not None] for row in zip(*columns, strict=True))

    def _column(self, name: str, nodes: Any) -> list[str | None]:
        """Name the nodes of one type; -1, which follows a dead end, is no word."""
        ids = self._ids.get(name) if isinstance(self._ids, Mapping) else None
        there = nodes >= 0
        labels = iter((nodes[there] if ids is None else ids.labels(nodes[there])).tolist())
        return [f"{name}:{next(labels)}" if known else None for known in there.tolist()]

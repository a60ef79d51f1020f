"""Random walks for training loops: an iterable data set of tensors, and sentences for gensim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch.utils.data import IterableDataset, get_worker_info

from graphzero._base.argument_errors import value_error
from graphzero._base.arrays import int64_vector
from graphzero._base.integers import integer, integer_from
from graphzero._core import Key, Purpose
from graphzero._inputs.seeds import check_nodes
from graphzero.dataset import Dataset, EdgeTriple
from graphzero.graph import Direction, Graph
from graphzero.ids import IdDictionary
from graphzero.loaders._embedding.sentences import Sentences
from graphzero.loaders._process.epoch_order import EpochOrder
from graphzero.loaders._process.ranks import divided_ranks, shared_seed
from graphzero.loaders._process.worker_epochs import WorkerEpochs
from graphzero.walks import GraphsByType, random_walk


class RandomWalks(IterableDataset[torch.Tensor]):
    """An epoch of random walks as int64 tensors ``(batch_size, walk_length + 1)``.

    Iterate over it, or give it to ``DataLoader(walks, batch_size=None, num_workers=k)``, which gives the same batches
    in the same order. Each iteration is the next epoch, with other walks; workers count theirs apart from iterations
    without them. Memory is that of a batch, whatever the number of nodes.

    Args:
        graph: As in [`random_walk`][graphzero.random_walk], like the options of the same name.
        walk_length: The number of steps.
        starts: Ids of start nodes. Default: all nodes; with a ``metapath`` all of the type it begins with.
        walks_per_node: The number of walks from each start.
        batch_size: The number of walks of a batch.
        p: The return parameter of node2vec.
        q: The in-out parameter of node2vec.
        weighted: Follow edges in proportion to their weights.
        restart: The probability that a step goes back to the start.
        metapath: The edge types to follow.
        direction: ``"out"`` follows edges forwards, ``"in"`` backwards.
        shuffle: Take starts in an order that depends on ``seed`` and epoch.
        seed: The same seed gives the same walks. Without one it is drawn from torch's default generator.
        rank: Which of ``world_size`` processes this is, that divide the starts. All take the same number of steps; if
            walks cannot be divided, fewer than ``world_size`` starts come once more. Default: that of
            ``torch.distributed``.
        world_size: The number of processes. Default: that of ``torch.distributed``.
        distributed: Whether the ranks of ``torch.distributed`` divide the starts. Default: they divide all nodes, but
            not ``starts`` that are given.

    Examples:
        >>> from graphzero import Graph
        >>> walks = RandomWalks(Graph(tiny_gl), 3, batch_size=2, shuffle=False, seed=0)     # 0→1  0→2  1→2  3→0
        >>> len(walks)
        2
        >>> for batch in walks:
        ...     print(batch.tolist())
        [[0, 2, 2, 2], [1, 2, 2, 2]]
        [[2, 2, 2, 2], [3, 0, 1, 2]]
    """

    def __init__(
        self,
        graph: Graph | Dataset | GraphsByType,
        walk_length: int,
        *,
        starts: ArrayLike | None = None,
        walks_per_node: int = 1,
        batch_size: int = 1024,
        p: float = 1.0,
        q: float = 1.0,
        weighted: bool = False,
        restart: float = 0.0,
        metapath: Sequence[EdgeTriple] | None = None,
        direction: Direction = "out",
        shuffle: bool = True,
        seed: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        distributed: bool | None = None,
    ) -> None:
        self._graph = graph
        self._options: dict[str, Any] = {
            "walk_length": walk_length,
            "p": p,
            "q": q,
            "weighted": weighted,
            "restart": restart,
            "metapath": metapath,
            "direction": direction,
        }
        random_walk(graph, [], **self._options)  # a wrong option is an error now, not in a worker
        num_nodes = _num_starts(graph, metapath)
        self._starts = None if starts is None else int64_vector(starts, "starts")
        if self._starts is not None:
            check_nodes(self._starts, num_nodes, "starts")
        self._num_starts = num_nodes if self._starts is None else len(self._starts)
        self._num_walks = self._num_starts * integer_from(walks_per_node, 1, "walks_per_node")
        self._batch_size = integer_from(batch_size, 1, "batch_size")
        self._shuffle = bool(shuffle)
        ranks = divided_ranks(starts, self._num_starts, rank, world_size, distributed)
        self._rank, self._world_size = ranks.rank, ranks.world_size
        self._seed = ranks.seed_of_draws(shared_seed(seed, self._world_size))
        self._share = -(-self._num_walks // self._world_size)  # walks of each rank
        self._epoch = 0  # the one that the next iteration here will be
        self._worker_epochs = WorkerEpochs()

    @property
    def seed(self) -> int:
        """The seed that was given, or drawn."""
        return self._seed

    @property
    def num_walks(self) -> int:
        """The number of walks of an epoch on this rank."""
        return self._share

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration that of an epoch, also in workers that are running.

        Args:
            epoch: Its number, from 0.
        """
        number = integer(epoch, "epoch")
        if not 0 <= number < 2**63:
            raise value_error("epoch", f"expected 0 to 2^63 - 1, found {number}")
        self._epoch = number
        self._worker_epochs.set(number)

    def __len__(self) -> int:
        """Return the number of batches of an epoch on this rank."""
        return -(-self._share // self._batch_size)

    def __iter__(self) -> Iterator[torch.Tensor]:
        worker = get_worker_info()
        if worker is None:
            epoch, first, stride = self._epoch, 0, 1
            self._epoch += 1
        else:
            first, stride = worker.id, worker.num_workers
            epoch = self._worker_epochs.begin(first, stride)
        order = EpochOrder(self._num_walks, shuffle=self._shuffle, seed=self._seed, epoch=epoch)
        for number in range(first, len(self), stride):
            yield self._batch(order, epoch, number)

    def _batch(self, order: EpochOrder, epoch: int, number: int) -> torch.Tensor:
        begin = number * self._batch_size
        places = np.arange(begin, min(begin + self._batch_size, self._share), dtype=np.int64)
        starts = order.at((places + self._rank * self._share) % self._num_walks) % self._num_starts
        if self._starts is not None:
            starts = self._starts[starts]
        key = Key(self._seed, Purpose.WALK_BATCHES).with_word(epoch).with_word(self._rank * len(self) + number)
        return torch.from_numpy(random_walk(self._graph, starts, seed=key.state, **self._options))

    def sentences(self, ids: IdDictionary | Mapping[str, IdDictionary] | None = None) -> Sentences:
        """Return the walks as lists of words, which may be iterated any number of times, as gensim does.

        Each iteration is the next epoch. On a metapath, words begin with their type, as in ``paper:7``, and what comes
        after a dead end is left out.

        Args:
            ids: The dictionary whose labels are the words; on a metapath a dict by type. Default: node ids are the
                words.

        Examples:
            >>> from graphzero import Graph
            >>> walks = RandomWalks(Graph(tiny_gl), 2, starts=[3], seed=0)
            >>> list(walks.sentences())
            [['3', '0', '1']]
        """
        path = self._options["metapath"]
        length = self._options["walk_length"]
        types = None
        if path is not None:
            types = [path[0][0], *(path[step % len(path)][2] for step in range(length))]
        return Sentences(self, self.num_walks, types, ids)

    def __repr__(self) -> str:
        part = "" if self._world_size == 1 else f", rank {self._rank} of {self._world_size}"
        length = self._options["walk_length"]
        return f"RandomWalks({self.num_walks:,} walks of {length} steps, {len(self):,} batches{part})"


def _num_starts(graph: Any, metapath: Sequence[EdgeTriple] | None) -> int:
    if metapath is None:
        return int((graph.graph if isinstance(graph, Dataset) else graph).num_nodes)
    edges: Mapping[Any, Any] = graph.edges if isinstance(graph, Dataset) else graph
    first = edges[tuple(metapath[0])]
    return int((first if isinstance(first, Graph) else first.graph).num_src_nodes)

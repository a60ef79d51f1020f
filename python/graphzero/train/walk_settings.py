"""What a user may set of embeddings that are trained on walks. Free of torch, so that help answers at once."""

from __future__ import annotations

from dataclasses import dataclass

from graphzero._base.argument_errors import value_error
from graphzero._base.integers import as_seed, integer_from


@dataclass(frozen=True)
class WalkSettings:
    """node2vec (Grover, Leskovec, 2016): how long, how many and which walks, and how they are trained on.

    Attributes:
        hidden: Numbers of an embedding.
        walk_length: Nodes of a walk, its start included.
        context_size: Nodes of a window of a walk; the first is trained against the others.
        walks: Walks from each node in an epoch.
        p: Walks go back with weight 1/p.
        q: Walks go further away with weight 1/q.
        negatives: Random windows for each window of a walk.
    """

    hidden: int = 128
    walk_length: int = 20
    context_size: int = 10
    walks: int = 10
    p: float = 1.0
    q: float = 1.0
    negatives: int = 1
    epochs: int = 5
    batch_size: int = 128
    learning_rate: float = 0.01
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name, least in (
            ("hidden", 1), ("walk_length", 2), ("context_size", 2), ("walks", 1), ("negatives", 1), ("epochs", 1),
            ("batch_size", 1),
        ):  # fmt: skip
            integer_from(getattr(self, name), least, name)
        if self.context_size > self.walk_length:
            raise value_error(
                "context_size", f"expected at most {self.walk_length}, the length of a walk, found {self.context_size}"
            )
        for name in ("p", "q", "learning_rate"):
            if not 0 < getattr(self, name) <= 1e6:
                raise value_error(name, f"expected a number above 0, at most 1e6, found {getattr(self, name):g}")
        as_seed(self.seed)

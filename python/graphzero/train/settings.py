"""What a user may set of a training. Free of torch, so that help answers at once."""

from __future__ import annotations

from dataclasses import dataclass
from sys import float_info
from typing import Any, Literal, get_args

from graphzero._base.argument_errors import type_error, value_error
from graphzero._base.integers import as_seed, integer
from graphzero._base.memory_sizes import byte_count

ModelName = Literal["sage", "gcn", "gat"]
TaskName = Literal["nodes", "links"]

# Links: an edge that ranks among the first so many is a hit.
HITS_AT = 10

# What decides neither the weights nor how far they are: a run may go on with others.
FREE = ("epochs", "memory", "reader", "threads", "device")
_COUNTS = ("hidden", "heads", "epochs", "batch_size", "negatives", "rank_negatives")


@dataclass(frozen=True)
class Settings:
    """A model, how it is trained, and how much memory its data may take.

    Attributes:
        fanouts: Neighbours to draw per node at each hop, -1 for all; the model has a layer for each.
        memory: Bytes that loaders may hold together: cached rows, batches ahead. The model is not included.
        reader: As in ``graphzero.Pipeline``.
        threads: Threads of the loaders.
        task: What is learned: the classes of nodes, or which pairs of nodes are edges.
        held_out: Share of the edges that ``links`` measures on, half for valid and half for test, without own splits.
        negatives: Pairs that are no edges for each edge that is trained on.
        rank_negatives: Pairs that are no edges for each edge that is measured.
    """

    model: ModelName = "sage"
    fanouts: tuple[int, ...] = (15, 10)
    hidden: int = 256
    dropout: float = 0.5
    heads: int = 4
    epochs: int = 10
    batch_size: int = 1024
    learning_rate: float = 0.003
    weight_decay: float = 0.0
    seed: int = 0
    memory: int | str | None = None
    reader: Any = "auto"
    threads: int | None = None
    device: str = "cpu"
    task: TaskName = "nodes"
    held_out: float = 0.1
    negatives: int = 1
    rank_negatives: int = 20

    def __post_init__(self) -> None:
        for name in _COUNTS:
            integer(getattr(self, name), name)
        for name in ("dropout", "learning_rate", "weight_decay", "held_out"):
            value = getattr(self, name)
            if not isinstance(value, float) and (type(value) is not int or abs(value) > float_info.max):
                raise value_error(name, f"expected a number, found {str(value)[:40]}")
        for name in ("model", "reader", "device", "task"):
            if not isinstance(value := getattr(self, name), str):
                raise type_error(name, f"expected a name, found {value!r}")
        if self.memory is not None and not isinstance(self.memory, (int, str)):
            raise type_error("memory", f"expected a number of bytes, found {self.memory!r}")
        if self.model not in get_args(ModelName):
            raise value_error("model", f"expected one of {', '.join(get_args(ModelName))}, found {self.model!r}")
        if self.task not in get_args(TaskName):
            raise value_error("task", f"expected one of {', '.join(get_args(TaskName))}, found {self.task!r}")
        if not self.fanouts:
            raise value_error("fanouts", "expected a number per hop such as 15,10, found none")
        for fanout in self.fanouts:
            if integer(fanout, "fanouts") != -1 and fanout < 1:
                raise value_error("fanouts", f"expected -1 for all neighbours, or 1 or more, found {fanout}")
        for name in _COUNTS:
            if getattr(self, name) < 1:
                raise value_error(name, f"expected 1 or more, found {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise value_error("dropout", f"expected a share from 0 to below 1, found {self.dropout:g}")
        if not 0 < self.held_out < 1:
            raise value_error("held_out", f"expected a share above 0 and below 1, found {self.held_out:g}")
        # Larger ones are no float32 any more once Adam has multiplied them.
        if not 0 < self.learning_rate <= 1e6:
            raise value_error("learning_rate", f"expected a number above 0, at most 1e6, found {self.learning_rate:g}")
        if not 0 <= self.weight_decay <= 1e6:
            raise value_error("weight_decay", f"expected 0 or more, at most 1e6, found {self.weight_decay:g}")
        if self.model == "gat" and self.hidden % self.heads:
            raise value_error("hidden", f"expected a multiple of heads, {self.heads}, found {self.hidden}")
        if self.threads is not None:
            integer(self.threads, "threads")
        as_seed(self.seed)
        if self.memory is not None and byte_count(self.memory) < 1:
            raise value_error("memory", f"expected a number of bytes, found {self.memory}")

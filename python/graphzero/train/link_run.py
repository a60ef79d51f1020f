"""A training that learns to tell edges from pairs of nodes that are none."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from graphzero.loaders import LinkNeighborLoader
from graphzero.loaders.loader import Loader
from graphzero.train.link_measures import link_measures
from graphzero.train.link_task import LinkTask
from graphzero.train.run import EpochResult, Run, Step, Sums


@dataclass(frozen=True)
class LinkEpochResult(EpochResult):
    """An epoch is done. Accuracies are shares of pairs that were told right: a score above 0 is an edge."""

    valid_auc: float | None
    valid_mrr: float | None
    valid_hits: float | None

    @property
    def valid_text(self) -> str | None:
        """How good the model was on the split valid, as people read it."""
        return None if self.valid_auc is None else f"AUC {self.valid_auc:.4f}, MRR {self.valid_mrr:.4f}"


class LinkRun(Run):
    """Trains a model on a link task, as ``Run`` does on nodes; AUC says how good it is.

    Negatives of a training batch are drawn anew. Those that an edge is measured against stay the same.
    """

    result_type: ClassVar[type[EpochResult]] = LinkEpochResult
    measure: ClassVar[str] = "valid_auc"

    task: LinkTask  # type: ignore[assignment]

    def _loader(self, split: str, *, trains: bool, **more: Any) -> Loader:
        task, settings = self.task, self.settings
        options = {**self._loader_options(trains), **more}
        if trains:
            pairs: Any = tuple(task.links["train"])
            options |= {
                "neg_sampling": ("binary", settings.negatives),
                "exclude_positives": True,
                "exclude_seed_edges": True,
                "exclude_reverse": True,
            }
        else:
            pairs, options["edge_label"] = self._ranked(split)
            options["batch_size"] = settings.batch_size  # pairs; one that trains has more, with its negatives
        given = (task.edge_type, pairs) if task.data.is_hetero else pairs
        return LinkNeighborLoader(task.messages, list(settings.fanouts), edge_label_index=given, **options)

    def _ranked(self, split: str) -> tuple[Any, Tensor]:
        """Return each edge of a split with the pairs that it is ranked among right after it, and their labels."""
        (src, dst), negatives = self.task.links[split], self.task.negatives[split]
        width = 1 + negatives.shape[1]
        labels = torch.zeros(len(src), width)
        labels[:, 0] = 1
        return (np.repeat(src, width), np.column_stack([dst, negatives]).reshape(-1)), labels.reshape(-1)

    def evaluate(self, split: str) -> Generator[Step, None, float]:
        """Measure the model as it is on a split; the AUC is what the generator returns."""
        found: list[Tensor] = []
        sums = yield from self._go_through(split, lambda scores, labels: found.append(scores.cpu()))
        scores = torch.cat(found).reshape(self.task.splits[split], -1).numpy()
        measures = link_measures(scores[:, 0], scores[:, 1:])
        self.measured[split] = {"accuracy": sums.right / sums.seeds, **asdict(measures)}
        return measures.auc

    def _result(self, sums: Sums, valid: float | None) -> EpochResult:
        plain = super()._result(sums, valid)
        found = {} if valid is None else self.measured["valid"]
        measured = {f"valid_{name}": found.get(name) for name in ("accuracy", "auc", "mrr", "hits")}
        parts: dict[str, Any] = {**asdict(plain), **measured}
        return LinkEpochResult(**parts)

    def _loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        return binary_cross_entropy_with_logits(scores, labels)

    def _guesses(self, scores: Tensor) -> Tensor:
        return (scores > 0).float()

    def _labels(self, batch: Any) -> Tensor:
        links = batch[self.task.edge_type] if self.task.data.is_hetero else batch
        labels: Tensor = links.edge_label
        return labels

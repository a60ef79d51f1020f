"""What ``graphzero train`` makes of a model besides its measures: predictions, and a report of the classes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphzero._base.argument_errors import check_choice, value_error
from graphzero.cli.console import spinner
from graphzero.cli.train_begin import import_torch
from graphzero.cli.train_summary import report_of

if TYPE_CHECKING:
    from graphzero.train.run import Run


@dataclass(frozen=True)
class Wanted:
    """The options that ask for them."""

    out: Path | None
    split: str | None
    scores: bool
    how: str
    report: bool

    def check_out(self) -> None:
        """Refuse a file that cannot be written, before anything else."""
        check_choice(self.how, "inference", "sample", "layers")
        if self.out is not None:
            import_torch()
            from graphzero.train.predictions import check_out

            check_out(self.out)

    def check(self, run: Run) -> None:
        """Refuse what this run cannot give, before it trains."""
        self.check_out()
        if run.settings.task == "links":
            for name, asked in (("predict", self.out is not None), ("report", self.report)):
                if asked:
                    raise value_error(name, "expected none with links: it is about the classes of nodes")
        if self.out is not None:
            from graphzero.train.predictions import check_inference, check_split

            check_inference(run, self.how)
            check_split(run.task.data, run.task.target, self.split)

    def add_to(self, document: dict[str, Any], run: Run) -> None:
        """Make what is asked for, with the weights that the run has now, and say so in the document."""
        if self.report:
            split = list(run.task.splits)[-1]
            if split not in run.measured or split != "test":  # what was counted last may be of other weights
                for _ in run.evaluate(split):
                    pass
            document["report"] = report_of(run, split)
        if self.out is not None:
            from graphzero.train.predictions import predict

            with spinner("predicting"):
                count = predict(run, self.out, split=self.split, scores=self.scores, how=self.how)
            document["predictions"] = {"path": os.fspath(self.out), "num_nodes": count, "split": self.split}

"""What all parts share: the data, the Pythons of rivals, and how a contestant is asked."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from graphzero._tools.page_cache import drop_from_page_cache, read_from_device
from graphzero.bench import contestants
from graphzero.bench.contestants import NOT_INSTALLED, Answer
from graphzero.bench.data import Data
from graphzero.bench.figures import Figure, compare, row_of, wrong_in
from graphzero.bench.plan import Plan
from graphzero.bench.pythons import Pythons, rival_named


@dataclass
class Contest:
    """One run: who may take part, on which data, with how many threads."""

    plan: Plan
    data: Data
    pythons: Pythons
    threads: int
    tell: Callable[[str, float], None] = lambda text, seconds: None  # what is under way, and how long it should take
    groups: bool | str = True  # whether control groups may be made, or why not
    part: str = ""  # the one under way
    notes: list[str] = field(default_factory=list)

    def given(self, **more: Any) -> dict[str, Any]:
        """Return the arguments that every contestant gets."""
        common = {"folder": self.data.scratch, "result": self.data.scratch_file("result.npz")}
        return common | {"seconds": self.plan.seconds} | more

    def caps(self) -> list[tuple[int, int]]:
        """Return the caps as (percent, bytes)."""
        return [(percent, self.data.feature_bytes * percent // 100) for percent in self.plan.caps]

    def is_there(self, figure: Figure) -> bool:
        """Whether the contestant of a figure can be asked at all."""
        return figure.left_out is None and (figure.ours or self.pythons.of(rival_named(figure.what)) is not None)

    def measure(self, figure: Figure) -> dict[str, Any]:
        """Ask, check and return the row."""
        self.tell(f"{self.part}: {figure.what}, {figure.task}", figure.seconds() if self.is_there(figure) else 0.0)
        answer = self._ask(figure)
        wrong = wrong_in(figure) if answer.found is not None else None
        return row_of(figure, answer, wrong)

    def _ask(self, figure: Figure) -> Answer:
        if figure.left_out is not None:
            return Answer(None, figure.left_out)
        name = figure.what if figure.ours else rival_named(figure.what)
        python = sys.executable if figure.ours else self.pythons.of(name)
        if python is None:
            self._note(f"{name}: {NOT_INSTALLED}")
            return Answer(None, NOT_INSTALLED)
        if figure.cap is not None and not figure.ours and self.groups is not True:
            return Answer(None, f"not run, for nothing would limit it: {self.groups}")
        for left in ("result", "losses", "target"):
            with suppress(KeyError, FileNotFoundError):
                os.remove(figure.given[left])  # of a contestant that did not come to its end
        for path in figure.cold:
            drop_from_page_cache(path)
            read_from_device(path)
        given = {**figure.given, "threads": figure.threads, "limited": figure.cap is not None}
        # Asking for the page cache of files keeps them mapped, which does not keep them there: nothing is touched.
        page_cache = self.data.resident if figure.ours and not figure.cold else None
        answer = contestants.ask(
            contestants.program(figure.program, given, python, ours=figure.ours),
            timeout=self.plan.patience,
            patience=self.plan.patience if figure.ours else self.plan.capped_patience,
            environment=contestants.surroundings(figure.threads, ours=figure.ours),
            cap=figure.cap,
            threads=figure.threads,
            page_cache=page_cache,
        )
        if answer.note is not None and answer.note.startswith(NOT_INSTALLED):
            self._note(f"{name}: {answer.note}")
        return answer

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def rows(self, figures: Sequence[Figure]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return the rows of the table and the points of the plots by axis, after measuring all."""
        rows: list[dict[str, Any]] = []
        points: dict[str, list[tuple[int, float]]] = {}
        for figure in figures:
            row = self.measure(figure)
            if figure.in_table:
                rows.append(row)
            for axis, place in figure.scale:
                if row["value"] is not None:
                    points.setdefault(axis, []).append((place, row["value"]))
        compare(rows)
        unit = figures[0].unit if figures else ""
        return rows, {
            axis: [
                {"what": "graphzero", "x": [x for x, _ in sorted(of)], "y": [y for _, y in sorted(of)], "unit": unit}
            ]
            for axis, of in points.items()
        }

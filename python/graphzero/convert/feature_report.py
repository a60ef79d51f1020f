"""What a conversion of features tells about itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphzero._base.memory_sizes import byte_text
from graphzero._base.old_names import renamed_fields
from graphzero._base.visible import visible
from graphzero._look.reports import ShownReport
from graphzero.convert.row_sources.values import Loss
from graphzero.convert.text import BadLine


@renamed_fields(bad_lines="num_bad_lines")
@dataclass(frozen=True)
class FeatureReport(ShownReport):
    """What a conversion read, found and wrote. Sizes are in bytes.

    Attributes:
        source: The name of the source.
        path: The file written.
        shape: The shape of the array, rows first.
        dtype: The stored type.
        bytes_in: The size of the source; ``None`` if it is not known.
        bytes_out: The size of the file.
        absent_rows: Rows that no id named; they are zero.
        num_bad_lines: Lines skipped.
        first_bad_lines: The first of them.
        minimum: The smallest number; ``None`` if numbers were copied unseen.
        maximum: The largest number; ``None`` if numbers were copied unseen.
        loss: What rounding did; ``None`` if every number is stored as it was.
        seconds: How long it took.
        peak_memory: The most memory of the process seen meanwhile.
        dry_run: Nothing was written; shape and sizes are estimates.
    """

    source: str
    path: str
    shape: tuple[int, ...]
    dtype: str
    bytes_in: int | None
    bytes_out: int
    absent_rows: int
    num_bad_lines: int
    first_bad_lines: tuple[BadLine, ...]
    minimum: float | None
    maximum: float | None
    loss: Loss | None
    seconds: float
    peak_memory: int
    dry_run: bool = False

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.shape[0]

    @property
    def columns(self) -> int:
        """The number of items in a row."""
        return int(np.prod(self.shape[1:], dtype=np.int64))

    def __str__(self) -> str:
        items = " × ".join(f"{extent:,}" for extent in self.shape[1:])
        size = "unknown size" if self.bytes_in is None else byte_text(self.bytes_in)
        about = "about " if self.dry_run else ""
        lines = [
            f"{self.source} → {self.path}" + (" (dry run)" if self.dry_run else ""),
            f"rows       {about}{self.rows:,} of {items + ' ' if items else ''}{self.dtype}",
            f"bytes      {size} in, {about}{byte_text(self.bytes_out)} out",
        ]
        if self.absent_rows:
            lines.append(f"absent     {self.absent_rows:,} rows, which are zero")
        if self.minimum is not None:
            lines.append(f"range      {self.minimum:g} to {self.maximum:g}")
        if self.loss is not None:
            lines.append(f"loss       {self.loss}")
        if self.num_bad_lines:
            lines.append(f"bad lines  {self.num_bad_lines:,} skipped")
            lines += [f"  line {bad.line}: {bad.reason}: {bad.text}" for bad in self.first_bad_lines[:5]]
        if not self.dry_run:
            rate = "" if self.bytes_in is None else f", {byte_text(self.bytes_in / max(self.seconds, 1e-9))}/s"
            lines.append(f"time       {self.seconds:.2f} s{rate}, {byte_text(self.peak_memory)} of memory at most")
        return "\n".join(map(visible, lines))

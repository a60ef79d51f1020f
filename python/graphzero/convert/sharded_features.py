"""A conversion of features in steps that any number of machines can run: through files in a folder that all see.

``plan_features()`` once, ``convert_rows()`` for each task, and ``commit_features()`` once. Where rows say their own
places, ``place_rows()`` for each part comes between. Steps may run in any order, at the same time, and again, as those
of ``graphzero.convert.sharded``. The file is the one that ``convert_features()`` writes, byte for byte.
"""

from __future__ import annotations

import os
import time as clock
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from graphzero import _core
from graphzero._files.folder import new_file
from graphzero._files.mounted import path_bytes
from graphzero._files.progress import Progress
from graphzero.convert._shards.job import Stage, Step, run_here
from graphzero.convert._shards.pieces import counting_for_errors
from graphzero.convert._shards.plan import naming_steps, place
from graphzero.convert._shards.row_commit import check_row_target, commit_parts
from graphzero.convert._shards.row_plan import Facts, FeatureShardPlan, RowPlan, write_row_plan
from graphzero.convert._shards.row_records import RecordWriter, read_records, record_type
from graphzero.convert.feature_report import FeatureReport
from graphzero.convert.feature_request import FeatureRequest, row_budget
from graphzero.convert.row_conversion import RowConversion
from graphzero.convert.row_sources.blocks import Columns
from graphzero.convert.row_sources.text import TextFeatures
from graphzero.convert.step_files import StepFiles
from graphzero.convert.text import is_chosen
from graphzero.ids import IdDictionary
from graphzero.threads import using_threads

__all__ = ["FeatureShardPlan", "commit_features", "convert_rows", "place_rows", "plan_features", "run_features"]

_TASK_BITS = 44  # of the line of a record that say where it is in its task
_KEPT_REFUSALS = 100
_NO_BYTES = np.empty(0, np.uint8)


def plan_features(
    source: Any,
    folder: str | os.PathLike[str],
    *,
    shards: int,
    dtype: Any = None,
    shape: tuple[int, ...] | None = None,
    source_dtype: Any = None,
    key: str | None = None,
    columns: Columns = None,
    id_column: str | int | None = None,
    ids: str | os.PathLike[str] | IdDictionary | None = None,
    num_rows: int | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    bad_lines: Literal["raise", "skip"] = "raise",
) -> FeatureShardPlan:
    """Plan a conversion of features in shards: cut a file into tasks, and keep what every step has to know.

    What is said here in few words is the same as in [`convert_features`][graphzero.convert_features]. Only the first
    lines of a text, and headers and footers of other files, are read.

    Args:
        source: A file, or a URL, whose credentials the plan does not keep. Plain text of a disk, Parquet, ``.npy``,
            stored members of ``.npz`` and raw items are cut; any other file is read by one task.
        folder: The folder for the plan and the files of the steps, or a URL, as in
            [`plan_shards`][graphzero.convert.sharded.plan_shards].
        shards: Into how many parts to cut the rows, at most 10,000. A Parquet file is cut between row groups.
        dtype: The stored type.
        shape: The shape of the result.
        source_dtype: The type of the items of a raw file.
        key: Which array of an ``.npz``, or which entry of a ``.pt``.
        columns: The columns of a row.
        id_column: The column that says which row it is. Needs ``num_rows`` or ``ids``.
        ids: A ``.gi`` file, which all machines see, if ``id_column`` holds labels.
        num_rows: The number of rows to expect.
        header: Whether a text begins with a header.
        delimiter: What separates the columns of a text.
        bad_lines: ``"raise"`` or ``"skip"``.

    Returns:
        The plan.

    Raises:
        ValueError: Options do not suit the source.
        TypeError: The source is not a file, or numbers cannot be stored as ``dtype``.

    Examples:
        >>> np.save("x.npy", np.eye(5))
        >>> plan = plan_features("x.npy", "steps", shards=2, dtype="float16")
        >>> for task in range(plan.num_tasks):
        ...     convert_rows("steps", task)
        >>> commit_features("steps", "x.gd").shape
        (5, 5)
    """
    request = FeatureRequest(
        dtype, shape, source_dtype, key, columns, id_column, num_rows, header, delimiter,
        is_chosen(bad_lines, "bad_lines", "skip", "raise"),
    )  # fmt: skip
    return write_row_plan(source, folder, request, ids, shards)


def convert_rows(
    folder: str | os.PathLike[str], task: int, *, memory: int | str | None = None, threads: int | None = None
) -> None:
    """Convert the rows of one task: to a part of the file, or grouped by part if they say their own places.

    Args:
        folder: The folder of the plan.
        task: Which task, from 0 on.
        memory: Bytes to hold. Default: as in [`convert_features`][graphzero.convert_features].
        threads: The number of threads.

    Raises:
        ValueError: A line is malformed, a number does not fit, or the file has changed since it was planned.
        OSError: A file cannot be read or written.
    """
    plan = RowPlan(folder)
    budget = row_budget(memory)
    files = plan.files
    name = plan.part(task) if plan.ranges is None else plan.records(task)

    with files.scratch() as scratch, using_threads(threads):
        with plan.unchanged_pieces(task, name) as pieces:
            [piece] = pieces

            def convert(counts_before: bool) -> Facts:
                job = plan.conversion(piece, budget, threads, counts_before=counts_before)
                written = files.written(name, scratch)
                if plan.ranges is None:
                    job.run(written, lambda done, total: None)
                    return Facts(job.rows, job.num_bad, job.values.tally)
                return _grouped(plan, job, written, scratch)

            facts = counting_for_errors(pieces, convert)
        plan.finish(name, scratch, facts)


def _grouped(plan: RowPlan, job: RowConversion, path: str, scratch: str) -> Facts:
    """Write the rows of a task in the order of the parts that they belong to."""
    import tempfile  # slow to load

    assert plan.ranges is not None
    num_rows = plan.ranges[-1][1]
    kind = record_type(job.row_bytes, quantised=job.quantised)
    with tempfile.TemporaryFile(dir=scratch) as waiting, new_file(path) as new, open(new, "wb") as out:
        records = RecordWriter([end for _, end in plan.ranges], kind, job.memory // 4, waiting)
        for ids, lines, items, scales in job.placed(lambda done, total: None):
            good = (ids >= 0) & (ids < num_rows)
            if good.all():
                records.add(ids, lines, items, scales)
                continue
            bad = np.flatnonzero(~good)
            for at in bad[:_KEPT_REFUSALS]:
                job.refuse_row(int(lines[at]), int(ids[at]), is_second=False)
            job.num_bad += max(0, len(bad) - _KEPT_REFUSALS)
            rows = items.reshape(len(ids), -1)[good].reshape(-1)
            records.add(ids[good], lines[good], rows, None if scales is None else scales[good])
        runs = records.finish(out)
    return Facts(sum(count for count, _ in runs), job.num_bad, job.values.tally, runs)


def place_rows(
    folder: str | os.PathLike[str], part: int, *, memory: int | str | None = None, threads: int | None = None
) -> None:
    """Put rows that say their own places there, from the files of all tasks, as a part of the file.

    Args:
        folder: The folder of the plan.
        part: Which part, from 0 on.
        memory: Bytes to hold. Default: as in [`convert_features`][graphzero.convert_features].
        threads: The number of threads.

    Raises:
        ValueError: An id has two rows, or the file of a task is damaged.
        OSError: A file cannot be read or written; that of a task is missing.
    """
    plan = RowPlan(folder)
    if plan.ranges is None:
        raise ValueError(f"{plan.folder}: expected a plan with id_column=, found one whose rows are in order")
    begin, end = plan.ranges[place(part, len(plan.ranges), "part")]
    budget = row_budget(memory)
    files, name = plan.files, plan.part(part)
    sources = [plan.records(task) for task in range(len(plan.pieces))]
    for task, source in enumerate(sources):
        plan.expect(source, f"convert_rows(folder, {task})")
    with files.scratch() as scratch, using_threads(threads):
        job = plan.conversion(plan.pieces[0][0], budget, threads)
        kind = record_type(job.row_bytes, quantised=job.quantised)
        placer = _core.RowPlacer(
            path_bytes(files.written(name, scratch)), job.stored, job.row_shape, job.quantised, budget // 2
        )
        try:
            refusals = _Refusals(plan, begin)
            for task, source in enumerate(sources):
                with naming_steps({files.path(source): f"convert_rows(folder, {task})"}):
                    for records in read_records(files, source, kind, plan.facts(source).runs, part):
                        lines = records["line"] | np.int64(task << _TASK_BITS)
                        items = np.ascontiguousarray(records["row"]).view(np.uint8) if job.row_bytes else _NO_BYTES
                        scales = np.ascontiguousarray(records["scale"]) if job.quantised else None
                        placer.add(records["id"] - begin, lines, items, scales, end - begin)
                refusals.note(placer.take_refused())  # not before the checksum was compared: a line may be damaged
            placer.close(end - begin)
            while placer.write_range():
                refusals.note(placer.take_refused())
            placer.finish()
            facts = Facts(placer.num_given, refusals.count)
        finally:
            del placer  # which removes what is not finished
        plan.finish(name, scratch, facts)


class _Refusals:
    """Rows whose id had one before: counted, or refused with the line of the source."""

    def __init__(self, plan: RowPlan, begin: int) -> None:
        self._plan, self._begin = plan, begin
        self.count = 0

    def note(self, refused: _core.RefusedRows) -> None:
        self.count += refused.count
        if refused.first and not self._plan.request.skip_bad_lines:
            row = refused.first[0]
            task, line = row.line >> _TASK_BITS, row.line & ((1 << _TASK_BITS) - 1)
            [piece] = self._plan.pieces[task]
            job = self._plan.conversion(piece, row_budget(None), None, counts_before=True)
            if isinstance(job.source, TextFeatures):
                line += job.source.first_line
            job.refuse_row(line, row.id + self._begin, is_second=True)


def commit_features(
    folder: str | os.PathLike[str], path: str | os.PathLike[str], *, threads: int | None = None
) -> FeatureReport:
    """Put all parts together as one file, which appears whole or not at all.

    Nothing is removed from the folder.

    Args:
        folder: The folder of the plan.
        path: The ``.gd`` file to write. Or a URL such as ``s3://bucket/name/x.gd``: the attribute ``x`` of the nodes of
            the data set at ``s3://bucket/name``, a new one if none is there. Parts stay parts, under a manifest that
            is written last, and ``stage`` puts them together. They are not copied if the folder of the plan is below
            the data set. An attribute in parts is replaced, any other is not.
        threads: The number of threads.

    Returns:
        A report. Bad lines are counted, not shown.

    Raises:
        ValueError: A part is damaged; the source, or the data set, has another number of rows.
        OSError: A file cannot be read or written; a part is missing.
    """
    return commit_parts(RowPlan(folder), path, begin=clock.perf_counter(), threads=threads)


def run_features(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: Progress = False,
) -> FeatureReport:
    """Run the steps of a plan that are not done yet, here and one after the other.

    Args:
        folder: The folder of the plan.
        path: As in ``commit_features()``.
        memory: Bytes that a step may hold. Default: as in [`convert_features`][graphzero.convert_features].
        threads: The number of threads.
        progress: ``True`` shows bars. A function is called with what is done and all there is of each step in turn.

    Returns:
        A report, as of ``commit_features()``.
    """
    begin = clock.perf_counter()
    return run_here(RowJob(RowPlan(folder), path), begin=begin, memory=memory, threads=threads, progress=progress)


@dataclass(frozen=True)
class RowJob:
    """A plan of features, and what its parts become."""

    plan: RowPlan
    path: str | os.PathLike[str]

    @property
    def files(self) -> StepFiles:
        """The folder of the plan."""
        return self.plan.files

    def check_target(self) -> None:
        """Refuse a target that ``commit()`` would refuse."""
        check_row_target(self.plan, self.path)

    def stages(self) -> Iterator[Stage]:
        """Yield the stages before the commit, with the steps that have no file yet."""
        plan, has = self.plan, self.plan.is_done
        names = map(plan.part if plan.ranges is None else plan.records, range(len(plan.pieces)))
        missing = [Step(convert_rows, (task,)) for task, name in enumerate(names) if not has(name)]
        yield Stage("converting rows", "tasks", missing)
        if plan.ranges is not None:
            missing = [Step(place_rows, (part,)) for part in range(plan.num_parts) if not has(plan.part(part))]
            yield Stage("placing rows", "parts", missing)

    def commit(self, begin: float, threads: int | None = None) -> FeatureReport:
        """Put all parts together."""
        return commit_parts(self.plan, self.path, begin=begin, threads=threads)

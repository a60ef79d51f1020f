"""Converting feature tables of any format and any size to ``.gd`` files, in bounded memory."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from typing import Any, Literal

from graphzero._base.argument_errors import Argument, Setting, error_of, type_error, value_error
from graphzero._base.dtypes import as_data_type
from graphzero._files.folder import hidden_folder, new_file, spill_folder, temporary_folder
from graphzero._files.progress import Progress, watching
from graphzero._files.storage import is_url, path_text, shown_url, target_here
from graphzero.convert._shards.row_plan import RowPlan, refuse_other_files, write_row_plan
from graphzero.convert.engines import check_engine, run_with, steps_folder
from graphzero.convert.feature_report import FeatureReport
from graphzero.convert.feature_request import FeatureRequest, row_budget
from graphzero.convert.label_lookup import LabelLookup
from graphzero.convert.row_sources.blocks import Columns
from graphzero.convert.sharded_features import RowJob
from graphzero.convert.stored import SameFiles, one_stored_path
from graphzero.convert.text import is_chosen, take_on_bad_line
from graphzero.graph import Graph
from graphzero.ids import IdDictionary
from graphzero.row_order import check_order, reorder

__all__ = ["FeatureReport", "convert_csv_to_gd", "convert_features"]


@take_on_bad_line
def convert_features(
    source: Any,
    path: str | os.PathLike[str],
    *,
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
    order: Any = None,
    graph: Graph | None = None,
    memory: str | int | None = None,
    threads: int | None = None,
    shards: int | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    progress: Progress = False,
    dry_run: bool = False,
) -> FeatureReport:
    """Convert a table of numbers of any size to a ``.gd`` file, which appears whole or not at all.

    Args:
        source: A path (``.npy``, ``.npz``, ``.gd``, ``.pt``, Parquet, Arrow, text, which may be gzip or zstd, or raw
            items), an array, a tensor, a sparse matrix, a table with ``__arrow_c_stream__``, or an iterable of blocks
            of rows. Text, ``.npy``, Parquet, Arrow and raw items may be in object storage: ``s3://bucket/x.npy``.
        path: The file to write. With ``shards``, also a URL such as ``s3://bucket/name/x.gd``: the attribute ``x`` of
            the nodes of a data set there, in parts, which ``stage`` puts together.
        dtype: The stored type; needed for text. ``"int8-quantised"`` stores int8 and a float32 scale per row. Floats
            become integers only if they are whole. Default: that of the source.
        shape: The shape of the result, rows first; ``-1`` rows are counted. Needed for a raw file.
        source_dtype: The type of the items of a raw file. Default: ``dtype``.
        key: Which array of an ``.npz``, or which entry of a ``.pt``.
        columns: The columns of a row, by name or position: a list, or one of them for a vector. Default: all.
        id_column: The column that says which row it is. Rows may come in any order; absent ones are zero, and a second
            one with the same id is a bad line.
        ids: A ``.gi`` file, or a mounted [`IdDictionary`][graphzero.IdDictionary], if ``id_column`` holds labels: row
            ``k`` of the result is that of the ``k``-th label. A label that it does not have makes a bad line.
        num_rows: The number of rows to expect. With an ``id_column``, absent rows are added.
        header: Whether a text begins with a header. Default: guessed.
        delimiter: What separates the columns of a text; ``" "`` stands for any run of blanks. Default: guessed.
        bad_lines: ``"raise"`` names file, line and text of the first malformed line, ``"skip"`` counts them in the
            report.
        order: Store rows hottest first, as [`reorder`][graphzero.reorder] does: ``"hot"`` with a ``graph``, or all ids,
            hottest first. Takes twice the size of the file on disk meanwhile.
        graph: The graph that says which rows are hot.
        memory: Bytes to hold, a number or a size such as ``"2GB"``. Default: half of what is available, at most 8 GB.
        threads: The number of threads that parse text. Default: [`num_threads`][graphzero.num_threads].
        shards: The number of parts in which to make the file, by the steps of ``graphzero.convert.sharded_features``;
            fewer if the source has fewer row groups, or is not cut. The file is the same, byte for byte. Needs a file,
            and with an ``id_column`` the ``num_rows``, or ``ids``. Default: no parts.
        engine: What runs the steps of a conversion in shards, as in [`convert_edges`][graphzero.convert_edges].
        address: ``host:port`` of the head of the Ray cluster, as there.
        work_dir: The folder for files of the steps, or a URL, as there.
        progress: ``True`` shows bars, in a notebook as well. A function is called with bytes done and bytes in all, as
            in [`convert_edges`][graphzero.convert_edges]; with ``shards``, with steps.
        dry_run: Look at the source and estimate, but write nothing.

    Returns:
        A report.

    Raises:
        FormatError: A line is malformed, or the source has not the expected number of rows.
        TypeError: Numbers cannot be stored as ``dtype``.
        OSError: A file cannot be read or written.

    Examples:
        >>> np.save("x.npy", np.eye(3))
        >>> convert_features("x.npy", "x.gd", dtype="float16").loss
        Loss(max_error=0.0, rms_error=0.0, overflows=0)
    """
    begin = time.perf_counter()
    target = path_text(path) if shards is not None else target_here(path)
    budget = row_budget(memory)
    check_order(order, graph)
    check_engine(engine, shards, address, work_dir, target)
    if isinstance(source, (list, tuple)) and not source:
        raise value_error("source", "expected rows, found an empty list; no rows of four numbers are np.empty((0, 4))")
    if isinstance(source, (list, tuple)) and all(isinstance(one, (str, os.PathLike)) for one in source):
        paths = "1 path; pass the path itself" if len(source) == 1 else f"{len(source)} paths; join these files to one"
        raise type_error("source", f"expected one file of features, or rows, found a list of {paths}")
    request = FeatureRequest(
        dtype, shape, source_dtype, key, columns, id_column, num_rows, header, delimiter,
        is_chosen(bad_lines, "bad_lines", "skip", "raise"),
    )  # fmt: skip
    if shards is not None and order is not None:
        raise error_of(
            ValueError, Argument("order"), ": expected none with ", Setting("shards", shards),
            "; convert the rows first, and then reorder the file",
        )  # fmt: skip
    if shards is not None and not dry_run:
        folder = temporary_folder() if is_url(target) else spill_folder(target)
        with steps_folder(engine, work_dir, target, folder) as steps:
            write_row_plan(source, steps, request, ids, shards)
            return run_with(
                engine, RowJob(RowPlan(steps), target), begin=begin, address=address, memory=memory, threads=threads,
                progress=progress,
            )  # fmt: skip
    source = one_stored_path(source)
    target = shown_url(target)  # of a dry run: no report has credentials
    refuse_other_files(source, target)
    job = request.conversion(
        source, target, lookup=None if ids is None else LabelLookup(ids), memory=budget, threads=threads
    )
    job.ordered = order is not None
    if dry_run:
        return job.estimate(begin)
    files = SameFiles(source)
    with (
        new_file(target) if callable(progress) or files else nullcontext(target) as new_path,
        hidden_folder(target) if job.ordered else nullcontext() as waiting,
    ):
        first = new_path if waiting is None else os.path.join(waiting, "by-id.gd")
        if callable(progress):
            job.run(first, progress)
        else:
            with watching(progress, os.path.basename(target), job.source.nbytes, "bytes", lambda: job.done):
                job.run(first, lambda done, total: None)
        files.check()
        if job.ordered:
            given = None if isinstance(order, str) else order
            reorder(first, new_path, graph, order=given, memory=memory, progress=progress)
    return job.report(begin)


def convert_csv_to_gd(
    csv_path: str | os.PathLike[str] | None = None,
    out_path: str | os.PathLike[str] | None = None,
    dtype: Any = None,
    *,
    input_csv: str | os.PathLike[str] | None = None,
    output_bin: str | os.PathLike[str] | None = None,
) -> None:
    """Convert text whose first column is the node id, under GraphZero 0.2's name.

    Absent rows are zero. What 0.2 took for some other number is an error, and so is a second row for one id.
    [`convert_features`][graphzero.convert_features] has more options.

    Args:
        csv_path: The text.
        out_path: The file to write.
        dtype: The stored type.
        input_csv: Another name for ``csv_path``.
        output_bin: Another name for ``out_path``.

    Examples:
        >>> np.savetxt("x.csv", [[0, 0.5, 1.5], [2, 3, 4]], delimiter=",", fmt="%g")
        >>> convert_csv_to_gd("x.csv", "x.gd", "float32")
    """
    source = [name for name in (csv_path, input_csv) if name is not None]
    target = [name for name in (out_path, output_bin) if name is not None]
    if len(source) != 1 or len(target) != 1:
        raise TypeError("expected one csv_path and one out_path")
    if dtype is None:
        raise type_error("dtype", "expected an element type such as DataType.FLOAT32, found none")
    convert_features(source[0], target[0], dtype=as_data_type(dtype), id_column=0)

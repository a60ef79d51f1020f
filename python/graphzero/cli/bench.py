"""``graphzero bench``: measure this machine, beside rivals. docs/guide/benchmark-your-machine.md lists the JSON."""

from __future__ import annotations

import errno
import json as json_format
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphzero._base.memory_sizes import byte_text
from graphzero._files.storage import path_here, target_here
from graphzero.cli.console import JsonOption, print_json

if TYPE_CHECKING:
    from graphzero.bench.plan import Plan

_RIVALS, _GRAPHZERO02 = "RIVALS_PYTHON", "GRAPHZERO02_PYTHON"


def bench(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]",
            help="A data set folder, or where to make and keep one. Default: make one here and remove it.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Less data and time: under 3 minutes on two cores.")] = False,
    only: Annotated[
        str | None,
        typer.Option(metavar="PARTS", help="Some of sampling,walks,gather,conversion,batches,training. Default: all."),
    ] = None,
    memory_caps: Annotated[
        str | None, typer.Option(metavar="PERCENTS", help="Caps, in percent of the features' size. Default: 20,10.")
    ] = None,
    rivals: Annotated[
        str | None, typer.Option(metavar="PYTHON", help=f"A Python that has rivals. Default: {_RIVALS}, or this one.")
    ] = None,
    graphzero02: Annotated[
        str | None, typer.Option(metavar="PYTHON", help=f"A Python that has GraphZero 0.2. Default: {_GRAPHZERO02}.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write bench.json and bench.html into this folder.")
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as HTML to this file.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads for each contestant. Default: all cores.")] = None,
    json: JsonOption = False,
) -> int:
    """Measure this machine: sampling, walks, gather, conversion, batches and training, beside rivals."""
    from graphzero.bench.plan import FULL, QUICK

    plan = QUICK if quick else FULL
    plan = plan if memory_caps is None else replace(plan, caps=as_caps(memory_caps))
    folder_of_results = None if output is None else Path(target_here(output))
    if html is not None and not Path(target_here(html)).absolute().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder; make it first", os.fspath(html.absolute().parent))
    pages = [path for path in (html, None if output is None else output / "bench.html") if path is not None]
    if pages:
        from graphzero.bench.html_report import environment, html_report

        environment()  # report a missing library now, not after minutes of measuring
    if folder_of_results is not None:
        folder_of_results.mkdir(parents=True, exist_ok=True)
    document = run(
        plan,
        folder=None if folder is None else path_here(folder),
        parts=as_parts(only),
        rivals=rivals or os.environ.get(_RIVALS) or None,
        graphzero02=graphzero02 or os.environ.get(_GRAPHZERO02) or None,
        threads=threads,
    )
    if output is not None:
        (output / "bench.json").write_text(json_format.dumps(document, indent=1, ensure_ascii=False))
    for page in pages:
        page.write_text(html_report(document), encoding="utf-8")
    if json:
        print_json(document)
        return 0
    from graphzero.cli.bench_table import print_headlines, print_tables

    print_tables(document)
    print_headlines(document)
    for note in document["notes"]:
        print(f"  {note}")
    if not pages:
        print("\nWith --output DIR this is also written as DIR/bench.json and, with plots, as DIR/bench.html.")
    return 0


def run(
    plan: Plan, *, folder: str | None, parts: list[str], rivals: str | None, graphzero02: str | None,
    threads: int | None,
) -> dict[str, Any]:  # fmt: skip
    """Make or open the data, measure, and return the document. Removes data that it made in a temporary folder."""
    import graphzero as gz
    from graphzero._tools.machine import control_groups
    from graphzero.bench.contest import Contest
    from graphzero.bench.data import Data
    from graphzero.bench.document import make_document, prepare
    from graphzero.bench.pythons import Pythons

    pythons = Pythons.look(rivals, graphzero02)
    free = shutil.disk_usage(".").free
    if free < plan.data_bytes:
        raise ValueError(
            f"{os.getcwd()}: expected {byte_text(plan.data_bytes)} free on this disk for data and its copies, found "
            f"{byte_text(free)}; run it in another folder{'' if plan.quick else ', or with --quick'}"
        )
    # Not where temporary files usually are: that is often memory, and here the disk is measured.
    with tempfile.TemporaryDirectory(prefix="graphzero-bench-", dir=".") as scratch, _progress() as progress:
        scratch = os.path.abspath(scratch)
        progress.tell(f"data: about {plan.data_seconds:.0f} s", 0.0)
        data = Data(os.path.abspath(folder) if folder is not None else os.path.join(scratch, "data"), scratch, plan)
        contest = Contest(plan, data, pythons, threads or gz.num_threads(), progress.tell, control_groups())
        seconds = prepare(contest, parts)
        progress.begin(f"{data.describe()}: measuring takes about {_duration(seconds)}", seconds)
        return make_document(contest, parts, shlex.join(["graphzero", *sys.argv[1:]]))


def as_parts(text: str | None) -> list[str]:
    """Read ``--only``."""
    from graphzero.bench.plan import PARTS

    names = list(PARTS) if text is None else [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise ValueError(f"--only: expected some of {','.join(PARTS)}, found {unknown[0]!r}")
    return [name for name in PARTS if name in names]


def as_caps(text: str) -> tuple[int, ...]:
    """Read ``--memory-caps``."""
    try:
        caps = tuple(int(one) for one in text.split(","))
    except ValueError:
        caps = ()
    if not caps or not all(1 <= cap <= 100 for cap in caps):
        raise ValueError(f"--memory-caps: expected percents from 1 to 100 such as 20,10, found {text!r}")
    return caps


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"


class _Progress:
    """Says on standard error what is running. ``show`` gets text, seconds done and the total, or no number."""

    def __init__(self, show: Callable[[str, float | None, float | None], None]) -> None:
        self._show = show
        self._done = self._under_way = 0.0
        self._total: float | None = None

    def begin(self, text: str, seconds: float) -> None:
        """Say once how long it will take."""
        print(text, file=sys.stderr)
        self._total = seconds

    def tell(self, text: str, seconds: float) -> None:
        """Say what begins now, and how long it should take."""
        self._done += self._under_way
        self._under_way = seconds
        self._show(text, None if self._total is None else self._done, self._total)


@contextmanager
def _progress() -> Iterator[_Progress]:
    if not sys.stderr.isatty():
        yield _Progress(lambda text, done, total: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield _Progress(lambda text, done, total: bar.update(task, description=text, completed=done, total=total))

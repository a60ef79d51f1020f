"""What runs the steps of a conversion in shards, and in which folder, as users ask for it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from graphzero._base.argument_errors import Argument, Setting, check_choice, error_of, value_error
from graphzero._files.folder import hidden_folder
from graphzero._files.progress import Progress
from graphzero._files.storage import is_url, located, target_here
from graphzero.convert._shards.job import Job, Report, run_here
from graphzero.convert._shards.work_folder import work_folder
from graphzero.convert.ray_engine import check_address, run_job


def check_engine(engine: str, shards: int | None, address: str | None, work_dir: Any, target: str) -> None:
    """Refuse options of an engine that do not go together."""
    check_choice(engine, "engine", "local", "ray")
    for name, given in (("engine", engine == "ray"), ("address", address), ("work_dir", work_dir)):
        if given and shards is None:
            raise error_of(ValueError, Argument(name), ": expected ", Setting("shards"), " with it, found none")
    if address is not None:
        check_address(address)
    if address is not None and engine != "ray":
        raise error_of(
            ValueError, Argument("address"), ": expected ", Setting("engine", "ray"), " with it, found ",
            Setting("engine", engine),
        )  # fmt: skip
    if engine == "ray" and is_url(target) and work_dir is None:
        raise value_error("work_dir", "expected a folder that all nodes see, as the target is a URL, found none")


@contextlib.contextmanager
def steps_folder(engine: str, work_dir: str | os.PathLike[str] | None, target: str, spill_folder: str) -> Iterator[str]:
    """Give a folder for the files of steps. One that was named stays if the block fails; in storage, it always does."""
    if work_dir is not None and is_url(work_dir):
        yield located(work_dir)  # which is not locked: files of another plan have other names
    elif engine == "ray" or work_dir is not None:
        named = "" if work_dir is None else target_here(work_dir, "work_dir")
        with work_folder(named or f"{target}.steps") as folder:
            yield folder
    else:
        with hidden_folder(os.path.join(spill_folder, os.path.basename(target))) as folder:
            yield folder


def run_with(
    engine: str,
    job: Job[Report],
    *,
    begin: float,
    address: str | None,
    memory: int | str | None,
    threads: int | None,
    progress: Progress,
) -> Report:
    """Run a job with the engine of that name."""
    if engine == "ray":
        return run_job(job, begin=begin, address=address, memory=memory, threads=threads, progress=progress)
    return run_here(job, begin=begin, memory=memory, threads=threads, progress=progress)
